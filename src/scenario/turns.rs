//! How often host threads can have their turn once there are several, counted before the run.

use super::{Chosen, Instruction, Program, Register};
use crate::base::{HostId, IndexVec};

impl Program {
    /// For each host thread, how many calls it makes at most once a thread has been started: the loops unrolled, every `else`
    /// block carried out, and the end of a thread counted as a call. Before that there is nobody to take turns with.
    pub fn turns(&self) -> IndexVec<HostId, u64> {
        let threads = (0..self.setup.hosts).map(|_| 0).collect();
        let registers = vec![0; self.registers];
        let mut count = Count { code: &self.code, registers, threads, is_alone: true };
        let main = HostId::from_raw(0);
        let turns = count.block(0, self.code.len(), main);
        count.add(main, turns);
        count.turn(main);
        count.threads
    }
}

struct Count<'p> {
    code: &'p [Instruction],
    /// The loop variables, and what hangs on nothing else.
    registers: Vec<i128>,
    threads: IndexVec<HostId, u64>,
    /// Whether no thread has been started yet.
    is_alone: bool,
}

impl Count<'_> {
    fn add(&mut self, host: HostId, turns: u64) {
        self.threads[host] = self.threads[host].saturating_add(turns);
    }

    /// A turn of a thread that may have to share.
    fn turn(&mut self, host: HostId) {
        self.add(host, u64::from(!self.is_alone));
    }

    /// Counts the turns of the threads that are started by some instructions, and returns those of the thread itself.
    fn block(&mut self, from: usize, to: usize, host: HostId) -> u64 {
        let (mut at, mut own) = (from, 0u64);
        while at < to {
            match &self.code[at] {
                Instruction::Call { .. } | Instruction::View { .. } => {
                    own = own.saturating_add(u64::from(!self.is_alone));
                }
                Instruction::Let { register, value, .. } => {
                    let read = |register: Register| Ok(self.registers[register.0 as usize]);
                    if let Ok(value) = value.value(&read) {
                        self.registers[register.0 as usize] = value;
                    }
                }
                Instruction::Repeat { register, from, to, end } => {
                    own =
                        own.saturating_add(self.turns_of_loop(*register, (*from, *to), (at + 1, *end), host));
                    at = *end;
                }
                Instruction::Spawn { thread, end, .. } => {
                    own = own.saturating_add(u64::from(!self.is_alone));
                    self.is_alone = false;
                    let child = self.chosen(thread);
                    let turns = self.block(at + 1, *end, child);
                    self.add(child, turns);
                    self.turn(child);
                    at = *end;
                }
                Instruction::Otherwise { .. }
                | Instruction::Address { .. }
                | Instruction::Again { .. }
                | Instruction::Exit { .. } => {}
            }
            at += 1;
        }
        own
    }

    /// A loop is gone through turn by turn where it starts threads, since which ones it starts may hang on the turn.
    fn turns_of_loop(
        &mut self,
        register: Register,
        values: (u64, u64),
        body: (usize, usize),
        host: HostId,
    ) -> u64 {
        let (from, to) = values;
        let starts = |instruction: &Instruction| matches!(instruction, Instruction::Spawn { .. });
        if !self.code[body.0..body.1].iter().any(starts) {
            let once = if from < to { self.block(body.0, body.1, host) } else { 0 };
            return once.saturating_mul(to.saturating_sub(from));
        }
        (from..to).fold(0u64, |own, value| {
            self.registers[register.0 as usize] = i128::from(value);
            own.saturating_add(self.block(body.0, body.1, host))
        })
    }

    fn chosen(&self, thread: &Chosen<HostId>) -> HostId {
        let read = |register: Register| Ok(self.registers[register.0 as usize]);
        let index = thread.index.as_ref().and_then(|index| index.value(&read).ok()).unwrap_or(0);
        let host = thread.base.index() + usize::try_from(index).unwrap_or(0);
        HostId::from_usize(host.min(self.threads.len() - 1))
    }
}
