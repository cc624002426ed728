//! The places of host threads in a program: yields the calls of each one by one, and takes the answers in.
//!
//! The engine and the hardware backend walk programs with it. It must not know how a call is carried out.

mod existence;
mod expected;
mod graphs;
mod shared;

use super::broken::Broken;
use super::handles::{Creation, Handles};
use super::held::{By, Held, Kind, Placed, copied};
use super::outcomes::Outcomes;
use super::{Action, Chosen, Formula, Instruction, Operator, Place, Program, Register, SyncTarget};
use crate::base::{BufferId, Bytes, HostId, Idx, IndexVec, Nanos, StmtId, reuse_on_clone};
use crate::trace::{Access, Call, Failure, Reply, Target, Use};
use smallvec::SmallVec;
use std::collections::BTreeSet;

/// What comes next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Make the call of this statement and [`Cursor::answer`] it.
    Call(StmtId),
    /// The statement is skipped, since the allocation of this buffer had failed.
    Skipped(StmtId, BufferId),
    /// The program cannot go on.
    Broken(StmtId, Broken),
    /// The thread has ended.
    Done,
}

/// The places of all host threads in their program, and the names that they share.
#[derive(Debug)]
pub struct Cursor {
    threads: IndexVec<HostId, Thread>,
    buffers: Vec<Bound>,
    handles: Handles,
    outcomes: Outcomes,
}

/// A host thread's place.
#[derive(Debug)]
struct Thread {
    next: usize,
    registers: Vec<i128>,
    /// Those whose latest read failed.
    lacking: BTreeSet<Register>,
    /// Where the answer to the call that was yielded last goes.
    expects: Expects,
    /// How the call that was yielded last failed.
    failed: Option<Failure>,
    latest: StmtId,
    is_running: bool,
}

/// What a buffer name stands for.
#[derive(Clone, Copy, Debug)]
enum Bound {
    /// Nothing yet.
    Never,
    /// Nothing, since its allocation failed, or was in a block that was not carried out.
    Absent,
    /// Its latest allocation, a part of one, or a buffer of the host.
    Held(Held),
}

/// What an answer is for.
#[derive(Clone, Copy, Debug)]
enum Expects {
    Nothing,
    /// Memory of this kind gets this name.
    Placement(BufferId, Kind),
    Freed(BufferId),
    Value(Register),
    Created(Creation),
    /// A thread begins at this instruction.
    Beginning(HostId, usize),
}

reuse_on_clone!(Thread { next, registers, lacking, expects, failed, latest, is_running });
reuse_on_clone!(Cursor { threads, buffers, handles, outcomes });

/// Why an action yields no call.
enum Obstacle {
    Absent(BufferId),
    Broken(Broken),
}

impl From<Broken> for Obstacle {
    fn from(broken: Broken) -> Self {
        Obstacle::Broken(broken)
    }
}

impl Cursor {
    /// At the start of a program.
    pub fn new(program: &Program) -> Self {
        let thread = |_| Thread {
            next: 0,
            registers: vec![0; program.registers],
            lacking: BTreeSet::new(),
            expects: Expects::Nothing,
            failed: None,
            latest: StmtId::new(0),
            is_running: false,
        };
        let mut buffers = vec![Bound::Never; program.names.buffers.len()];
        for (id, host) in program.host_buffers.iter_enumerated() {
            buffers[host.name.index()] = Bound::Held(Held::host(id, host.size, host.pinned));
        }
        program.conditional.iter().for_each(|name| buffers[name.index()] = Bound::Absent);
        let handles = Handles::new(&program.setup, program.creates);
        let outcomes = Outcomes::new(program);
        Self { threads: (0..program.setup.hosts).map(thread).collect(), buffers, handles, outcomes }
    }

    /// The name that the answer to the latest call of a thread will be given to, if that call allocates.
    pub fn naming(&self, host: HostId) -> Option<BufferId> {
        match self.threads[host].expects {
            Expects::Placement(buffer, _) => Some(buffer),
            _ => None,
        }
    }

    /// The index of the instruction that a thread comes to next, and what its registers hold.
    pub fn place(&self, host: HostId) -> (usize, &[i128]) {
        let thread = &self.threads[host];
        (thread.next, &thread.registers)
    }

    /// Whether a name stands for nothing, since its allocation failed or was not carried out: calls about it are skipped.
    pub fn is_any_absent(&self) -> bool {
        self.buffers.iter().any(|bound| matches!(bound, Bound::Absent))
    }

    /// The statement of a thread's latest call.
    pub fn latest(&self, host: HostId) -> StmtId {
        self.threads[host].latest
    }

    /// What a thread may do from here on, that of threads which it starts included.
    pub fn ahead<'p>(&self, program: &'p Program, host: HostId) -> impl Iterator<Item = &'p Action> {
        let thread = &self.threads[host];
        let (mut from, mut to, mut depth) = (thread.next, thread.next, 0);
        while let Some(instruction) = program.code.get(to) {
            match instruction {
                Instruction::Spawn { .. } => depth += 1,
                Instruction::Exit { .. } if depth == 0 => break,
                Instruction::Exit { .. } => depth -= 1,
                Instruction::Again { register, to: turns, start }
                    if *start < from && thread.registers[register.0 as usize] + 1 < i128::from(*turns) =>
                {
                    from = *start;
                }
                _ => {}
            }
            to += 1;
        }
        let actions = program.code.get(from..to).unwrap_or_default().iter();
        actions.filter_map(|instruction| match instruction {
            Instruction::Call { action, .. } => Some(action),
            _ => None,
        })
    }

    /// Goes on to the next call of a thread, which is put into `call`.
    pub fn next(&mut self, program: &Program, host: HostId, call: &mut Call) -> Step {
        let Self { threads, buffers, .. } = self;
        let thread = &mut threads[host];
        while let Some(instruction) = program.code.get(thread.next) {
            thread.next += 1;
            match instruction {
                Instruction::Call { stmt, action } => return self.make(program, host, *stmt, action, call),
                Instruction::Let { stmt, register, value } => match thread.evaluate(value) {
                    Ok(value) => thread.registers[register.0 as usize] = value,
                    Err(broken) => return thread.break_off(program, *stmt, broken),
                },
                Instruction::Address { stmt, register, of, .. } => {
                    thread.latest = *stmt;
                    match thread.address(of, buffers) {
                        Ok(address) => thread.registers[register.0 as usize] = address.into(),
                        Err(broken) => return thread.break_off(program, *stmt, broken),
                    }
                }
                Instruction::Otherwise { failure, end } => {
                    if thread.failed != Some(*failure) {
                        thread.next = *end;
                    }
                }
                Instruction::View { stmt, name, of } => {
                    thread.latest = *stmt;
                    match thread.view(name, of, buffers) {
                        Ok(()) => {}
                        Err(Obstacle::Absent(buffer)) => return Step::Skipped(*stmt, buffer),
                        Err(Obstacle::Broken(broken)) => return thread.break_off(program, *stmt, broken),
                    }
                }
                Instruction::Repeat { register, from, to, end } => {
                    thread.registers[register.0 as usize] = i128::from(*from);
                    if from >= to {
                        thread.next = end + 1;
                    }
                }
                Instruction::Again { register, to, start } => {
                    let value = &mut thread.registers[register.0 as usize];
                    *value += 1;
                    if *value < i128::from(*to) {
                        thread.next = start + 1;
                    }
                }
                Instruction::Spawn { stmt, thread: chosen, end } => {
                    let begins = thread.next;
                    (thread.next, thread.latest) = (end + 1, *stmt);
                    return match thread.chosen(chosen) {
                        Ok(child) => {
                            *call = Call::Spawn(child);
                            self.spawn(program, host, *stmt, child, begins)
                        }
                        Err(broken) => thread.break_off(program, *stmt, broken),
                    };
                }
                Instruction::Exit { stmt } => {
                    (thread.expects, thread.latest) = (Expects::Nothing, *stmt);
                    (thread.next, thread.is_running) = (program.code.len(), false);
                    *call = Call::Exit;
                    return Step::Call(*stmt);
                }
            }
        }
        Step::Done
    }

    /// The call of an action, or why there is none.
    fn make(
        &mut self,
        program: &Program,
        host: HostId,
        stmt: StmtId,
        action: &Action,
        call: &mut Call,
    ) -> Step {
        let Self { threads, buffers, handles, outcomes } = self;
        let thread = &mut threads[host];
        (thread.expects, thread.failed, thread.latest) = (Expects::Nothing, None, stmt);
        match thread.put(action, buffers, outcomes, call) {
            Ok(()) => {
                thread.settle(program, handles, call);
                Step::Call(stmt)
            }
            Err(Obstacle::Absent(buffer)) => {
                outcomes.skipped(stmt);
                Step::Skipped(stmt, buffer)
            }
            Err(Obstacle::Broken(broken)) => thread.break_off(program, stmt, broken),
        }
    }

    fn spawn(&mut self, program: &Program, host: HostId, stmt: StmtId, child: HostId, begins: usize) -> Step {
        let is_running = self.threads[child].is_running;
        let thread = &mut self.threads[host];
        if is_running {
            return thread.break_off(program, stmt, Broken::StillRuns);
        }
        thread.expects = Expects::Beginning(child, begins);
        Step::Call(stmt)
    }

    /// Takes the answer to the call that a thread yielded last.
    pub fn answer(&mut self, host: HostId, reply: &Result<Reply, Failure>) {
        let naming = self.naming(host);
        let thread = &mut self.threads[host];
        thread.failed = reply.as_ref().err().copied();
        self.outcomes.answered(thread.latest, naming, thread.failed);
        match (thread.expects, reply) {
            (Expects::Nothing, _) => {}
            (Expects::Placement(buffer, kind), Ok(Reply::Allocated(decision))) => {
                self.outcomes.placed(buffer, &decision.waits);
                self.buffers[buffer.index()] = Bound::Held(Held::placed(decision, kind));
            }
            (Expects::Placement(buffer, _), Err(_)) => self.buffers[buffer.index()] = Bound::Absent,
            (Expects::Freed(buffer), Ok(Reply::Freed(ticket))) => {
                if let Bound::Held(Held { placed: Some(placed), .. }) = &mut self.buffers[buffer.index()] {
                    placed.freed = placed.freed.or(*ticket);
                }
            }
            (Expects::Value(register), reply) => thread.read(register, reply),
            (Expects::Created(creation), reply) => self.handles.answer(creation, reply.is_ok()),
            (Expects::Beginning(child, begins), Ok(_)) => {
                let (registers, lacking) = (thread.registers.clone(), thread.lacking.clone());
                let child = &mut self.threads[child];
                (child.next, child.is_running) = (begins, true);
                (child.registers, child.lacking) = (registers, lacking);
            }
            _ => {}
        }
    }
}

impl Thread {
    fn break_off(&mut self, program: &Program, stmt: StmtId, broken: Broken) -> Step {
        self.next = program.code.len();
        Step::Broken(stmt, broken)
    }

    /// Puts the call of an action into `call`. Those that programs have most of are written where they belong, and not moved.
    fn put(
        &mut self,
        action: &Action,
        buffers: &[Bound],
        outcomes: &Outcomes,
        call: &mut Call,
    ) -> Result<(), Obstacle> {
        match action {
            Action::Alloc { stream, pool, size, buffer } => {
                self.expects = Expects::Placement(self.chosen(buffer)?, Kind::Device);
                let (stream, size) = (self.chosen(stream)?, Bytes(self.natural(size)?));
                *call = Call::Alloc { stream, pool: *pool, size };
            }
            Action::Free { stream, buffer } => {
                let (name, placed) = self.present(buffer, buffers)?;
                self.expects = Expects::Freed(name);
                *call = Call::Free { stream: self.chosen(stream)?, alloc: placed.alloc };
            }
            Action::Launch { stream, kernel, takes, uses } => {
                let uses = self.uses(uses, By::Device, buffers)?;
                *call = Call::Launch { stream: self.chosen(stream)?, kernel: *kernel, takes: *takes, uses };
            }
            Action::Record { stream, event } => {
                *call = Call::Record { stream: self.chosen(stream)?, event: self.chosen(event)? };
            }
            Action::Wait { stream, event } => {
                *call = Call::Wait { stream: self.chosen(stream)?, event: self.chosen(event)? };
            }
            action => *call = self.other(action, buffers, outcomes)?,
        }
        Ok(())
    }

    fn other(&mut self, action: &Action, buffers: &[Bound], outcomes: &Outcomes) -> Result<Call, Obstacle> {
        Ok(match action {
            Action::Malloc { .. } | Action::Reserve { .. } => self.outside(action)?,
            Action::PlainFree(buffer) => Call::PlainFree { alloc: self.present(buffer, buffers)?.1.alloc },
            Action::Copy { stream, blocking, takes, to, from } => {
                let (to, from) = self.sides(to, from, buffers)?;
                Call::Copy { stream: self.chosen(stream)?, blocking: *blocking, takes: *takes, to, from }
            }
            Action::Memset { stream, blocking, takes, at } => {
                let at = self.touch(at, Access::Write, By::Device, buffers)?;
                Call::Memset { stream: self.chosen(stream)?, blocking: *blocking, takes: *takes, at }
            }
            Action::Touch { at, access } => Call::Touch(self.touch(at, *access, By::Host, buffers)?),
            Action::Sync(target) => Call::Sync(self.target(target)?),
            Action::Query(target) => Call::Query(self.target(target)?),
            Action::Poll(target) => Call::Poll(self.target(target)?),
            Action::Elapsed { from, to, register } => {
                let (from, to) = (self.chosen(from)?, self.chosen(to)?);
                self.reads(*register, Call::Elapsed { from, to })
            }
            Action::Sleep(duration) => Call::Sleep(Nanos(self.natural(duration)?)),
            Action::Trim { pool, keep } => Call::Trim { pool: *pool, keep: Bytes(self.natural(keep)?) },
            Action::Set { pool, attribute, value } => {
                Call::Set { pool: *pool, attribute: *attribute, value: self.natural(value)? }
            }
            Action::Read { reading, register } => self.reads(*register, Call::Read(*reading)),
            Action::Peek { reading, register } => self.reads(*register, Call::Peek(*reading)),
            Action::Export { .. } | Action::Import { .. } => self.shares(action, buffers)?,
            Action::SetPool { .. }
            | Action::Grant { .. }
            | Action::Create { .. }
            | Action::Destroy(_)
            | Action::ResetDevice(_) => self.existence(action)?,
            Action::HostFunction { stream, uses, takes, gives } => {
                let uses = self.uses(uses, By::Host, buffers)?;
                Call::HostFunction { stream: self.chosen(stream)?, takes: *takes, gives: *gives, uses }
            }
            Action::Collective { stream, collective, uses } => {
                let uses = self.uses(uses, By::Device, buffers)?;
                Call::Collective { stream: self.chosen(stream)?, collective: *collective, uses }
            }
            Action::Graph(action) => Call::Graph(self.graph(action, buffers, outcomes)?),
            Action::Signal(_) | Action::Await(_) | Action::Join(_) | Action::Barrier(_) => {
                self.meets(action)?
            }
            Action::Compare { .. }
            | Action::Relate { .. }
            | Action::ExpectReady { .. }
            | Action::ExpectEnded { .. } => self.expectation(action, buffers, outcomes)?,
            Action::Snapshot(snapshot) => Call::Snapshot(*snapshot),
            Action::Alloc { .. }
            | Action::Free { .. }
            | Action::Launch { .. }
            | Action::Record { .. }
            | Action::Wait { .. } => unreachable!("these are put elsewhere"),
        })
    }

    /// A call about memory of a device outside of pools.
    fn outside(&mut self, action: &Action) -> Result<Call, Broken> {
        Ok(match action {
            Action::Malloc { device, size, managed, buffer } => {
                let kind = if *managed { Kind::Managed } else { Kind::Device };
                self.expects = Expects::Placement(self.chosen(buffer)?, kind);
                Call::Malloc { device: *device, size: Bytes(self.natural(size)?), managed: *managed }
            }
            Action::Reserve { device, size } => {
                Call::Reserve { device: *device, size: Bytes(self.natural(size)?) }
            }
            _ => unreachable!("only such actions come here"),
        })
    }

    fn uses(
        &self,
        uses: &[(Place, Access)],
        by: By,
        buffers: &[Bound],
    ) -> Result<SmallVec<[Use; 3]>, Obstacle> {
        // A loop, since most kernels have few parameters, for which to collect results costs more than they do.
        let mut touched = SmallVec::new();
        for (place, access) in uses {
            touched.push(self.touch(place, *access, by, buffers)?);
        }
        Ok(touched)
    }

    /// A call whose answer goes into a register.
    fn reads(&mut self, register: Register, call: Call) -> Call {
        self.expects = Expects::Value(register);
        call
    }

    /// What was read, or that there is nothing.
    fn read(&mut self, register: Register, reply: &Result<Reply, Failure>) {
        if let Ok(Reply::Value(value)) = reply {
            self.registers[register.0 as usize] = *value;
            self.lacking.remove(&register);
        } else {
            self.lacking.insert(register);
        }
    }

    /// The two sides of a copy.
    fn sides(&self, to: &Place, from: &Place, buffers: &[Bound]) -> Result<(Use, Use), Obstacle> {
        let to = self.touch(to, Access::Write, By::Copy, buffers)?;
        let from = self.touch(from, Access::Read, By::Copy, buffers)?;
        copied(&to, &from)?;
        Ok((to, from))
    }

    fn touch(&self, place: &Place, access: Access, by: By, buffers: &[Bound]) -> Result<Use, Obstacle> {
        let (_, held) = self.held(&place.buffer, buffers)?;
        Ok(held.touch(self.part(place)?, access, by)?)
    }

    fn part(&self, place: &Place) -> Result<Option<(u64, u64)>, Broken> {
        let Some(part) = &place.part else { return Ok(None) };
        Ok(Some((self.natural(&part.0)?, self.natural(&part.1)?)))
    }

    fn view(&self, name: &Chosen<BufferId>, of: &Place, buffers: &mut [Bound]) -> Result<(), Obstacle> {
        let name = self.chosen(name)?;
        let part = self.part(of)?;
        let view = self.held(&of.buffer, buffers).and_then(|(_, held)| Ok(held.view(part)?));
        buffers[name.index()] = match &view {
            Ok(view) => Bound::Held(*view),
            Err(_) => Bound::Absent,
        };
        view.map(drop)
    }

    fn target(&self, target: &SyncTarget) -> Result<Target, Broken> {
        target.resolve(|stream| self.chosen(stream), |event| self.chosen(event))
    }

    /// The first address of an allocation. Like the pointer in a program it stays what it is after the free.
    fn address(&self, of: &Chosen<BufferId>, buffers: &[Bound]) -> Result<u64, Broken> {
        match self.present(of, buffers) {
            Ok((_, placed)) => Ok(placed.range.start),
            Err(Obstacle::Absent(_)) => Err(Broken::NoAddress),
            Err(Obstacle::Broken(broken)) => Err(broken),
        }
    }

    fn present<'b>(
        &self,
        buffer: &Chosen<BufferId>,
        buffers: &'b [Bound],
    ) -> Result<(BufferId, &'b Placed), Obstacle> {
        let (name, held) = self.held(buffer, buffers)?;
        held.placed.as_ref().map(|placed| (name, placed)).ok_or(Obstacle::Absent(name))
    }

    fn held<'b>(
        &self,
        buffer: &Chosen<BufferId>,
        buffers: &'b [Bound],
    ) -> Result<(BufferId, &'b Held), Obstacle> {
        let name = self.chosen(buffer)?;
        match &buffers[name.index()] {
            Bound::Held(held) => Ok((name, held)),
            Bound::Absent => Err(Obstacle::Absent(name)),
            Bound::Never => Err(Obstacle::Broken(Broken::NotAllocated)),
        }
    }

    /// The id that an index chooses; that it is in range was checked with the program.
    fn chosen<Id: Idx>(&self, chosen: &Chosen<Id>) -> Result<Id, Broken> {
        Ok(match &chosen.index {
            None => chosen.base,
            Some(index) => Id::from_usize(chosen.base.index() + self.natural(index)? as usize),
        })
    }

    fn natural(&self, formula: &Formula) -> Result<u64, Broken> {
        let value = self.evaluate(formula)?;
        u64::try_from(value).map_err(|_| Broken::OutOfRange(value))
    }

    fn evaluate(&self, formula: &Formula) -> Result<i128, Broken> {
        if let Formula::Constant(value) = formula {
            return Ok(*value);
        }
        formula.value(&|register| match self.lacking.contains(&register) {
            true => Err(Broken::NoValue),
            false => Ok(self.registers[register.0 as usize]),
        })
    }
}

impl Formula {
    /// What it comes to with these contents of the registers.
    ///
    /// # Errors
    /// Those of [`Operator::apply`] and of the registers.
    pub fn value(&self, register: &impl Fn(Register) -> Result<i128, Broken>) -> Result<i128, Broken> {
        match self {
            Formula::Constant(value) => Ok(*value),
            Formula::Register(from) => register(*from),
            Formula::Binary(operator, sides) => {
                operator.apply(sides.0.value(register)?, sides.1.value(register)?)
            }
        }
    }
}

impl Operator {
    /// Combines two values, rounding a quotient down.
    ///
    /// # Errors
    /// [`Broken::DivisionByZero`], [`Broken::Overflow`]
    pub fn apply(self, left: i128, right: i128) -> Result<i128, Broken> {
        let divides = matches!(self, Operator::Divide | Operator::Remainder);
        if divides && right == 0 {
            return Err(Broken::DivisionByZero);
        }
        // Rust rounds a quotient towards zero.
        let is_negative = (left < 0) != (right < 0);
        let below =
            i128::from(divides && is_negative && left.checked_rem(right).is_some_and(|rest| rest != 0));
        let value = match self {
            Operator::Add => left.checked_add(right),
            Operator::Subtract => left.checked_sub(right),
            Operator::Multiply => left.checked_mul(right),
            Operator::Divide => left.checked_div(right).map(|quotient| quotient - below),
            Operator::Remainder => left.checked_rem(right).map(|rest| rest + below * right),
        };
        value.ok_or(Broken::Overflow)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotients_are_rounded_down() {
        let cases = [(7, 2, 3, 1), (-7, 2, -4, 1), (7, -2, -4, -1), (-7, -2, 3, -1), (6, -2, -3, 0)];
        for (left, right, quotient, remainder) in cases {
            assert_eq!(Operator::Divide.apply(left, right), Ok(quotient));
            assert_eq!(Operator::Remainder.apply(left, right), Ok(remainder));
        }
        assert_eq!(Operator::Divide.apply(1, 0), Err(Broken::DivisionByZero));
        assert_eq!(Operator::Divide.apply(i128::MIN, -1), Err(Broken::Overflow));
        assert_eq!(Operator::Multiply.apply(i128::MAX, 2), Err(Broken::Overflow));
    }
}
