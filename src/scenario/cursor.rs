//! A host thread's place in a program: yields its calls one by one, and takes the answers in.
//!
//! The engine and the hardware backend walk programs with it. It must not know how a call is carried out.

use super::{Action, Chosen, Formula, Instruction, Operator, Program, Register, SyncTarget};
use crate::base::{BufferId, Bytes, Idx, Nanos, StmtId, reuse_on_clone};
use crate::trace::{Call, Failure, Operands, Placement, Reply, Target, Use};
use std::fmt;

/// What comes next.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Make this call and [`Cursor::answer`] it.
    Call(StmtId, Call),
    /// The statement is skipped, since the allocation of this buffer had failed.
    Skipped(StmtId, BufferId),
    /// The program cannot go on.
    Broken(StmtId, Broken),
    /// The thread has ended.
    Done,
}

/// Why a program cannot go on: a value that depends on what was read cannot be computed, or does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Broken {
    /// A division by zero.
    DivisionByZero,
    /// An intermediate value beyond 2^127.
    Overflow,
    /// A size, a duration or an attribute that is negative or above 2^64-1.
    OutOfRange(i128),
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Broken::DivisionByZero => write!(f, "division by zero"),
            Broken::Overflow => write!(f, "a value beyond 2^127"),
            Broken::OutOfRange(value) => write!(f, "{value} is not within 0 and 2^64-1"),
        }
    }
}

/// A host thread's place in its program.
#[derive(Debug)]
pub struct Cursor {
    next: usize,
    registers: Vec<i128>,
    /// What each buffer name stands for. `None`: nothing yet, or its allocation failed.
    buffers: Vec<Option<Placement>>,
    /// Where the answer to the call that was yielded last goes.
    expects: Expects,
    /// How the call that was yielded last failed.
    failed: Option<Failure>,
}

/// What an answer is for.
#[derive(Clone, Copy, Debug)]
enum Expects {
    Nothing,
    Placement(BufferId),
    Freed(BufferId),
    Value(Register),
}

reuse_on_clone!(Cursor { next, registers, buffers, expects, failed });

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
    /// The name that the answer to the latest call will be given to, if that call allocates.
    pub fn naming(&self) -> Option<BufferId> {
        match self.expects {
            Expects::Placement(buffer) => Some(buffer),
            Expects::Nothing | Expects::Freed(_) | Expects::Value(_) => None,
        }
    }

    /// At the start of a program.
    pub fn new(program: &Program) -> Self {
        Self {
            next: 0,
            registers: vec![0; program.registers],
            buffers: vec![None; program.names.buffers.len()],
            expects: Expects::Nothing,
            failed: None,
        }
    }

    /// Goes on to the next call.
    pub fn next(&mut self, program: &Program) -> Step {
        while let Some(instruction) = program.code.get(self.next) {
            self.next += 1;
            match instruction {
                Instruction::Call { stmt, action } => {
                    (self.expects, self.failed) = (Expects::Nothing, None);
                    return match self.call(action) {
                        Ok(call) => Step::Call(*stmt, call),
                        Err(Obstacle::Absent(buffer)) => Step::Skipped(*stmt, buffer),
                        Err(Obstacle::Broken(broken)) => self.break_off(program, *stmt, broken),
                    };
                }
                Instruction::Let { stmt, register, value } => match self.evaluate(value) {
                    Ok(value) => self.registers[register.0 as usize] = value,
                    Err(broken) => return self.break_off(program, *stmt, broken),
                },
                Instruction::Otherwise { failure, end } => {
                    if self.failed != Some(*failure) {
                        self.next = *end;
                    }
                }
                Instruction::Repeat { register, from, to, end } => {
                    self.registers[register.0 as usize] = i128::from(*from);
                    if from >= to {
                        self.next = end + 1;
                    }
                }
                Instruction::Again { register, to, start } => {
                    let value = &mut self.registers[register.0 as usize];
                    *value += 1;
                    if *value < i128::from(*to) {
                        self.next = start + 1;
                    }
                }
            }
        }
        Step::Done
    }

    fn break_off(&mut self, program: &Program, stmt: StmtId, broken: Broken) -> Step {
        self.next = program.code.len();
        Step::Broken(stmt, broken)
    }

    /// Takes the answer to the call that was yielded last.
    pub fn answer(&mut self, reply: &Result<Reply, Failure>) {
        self.failed = reply.as_ref().err().copied();
        match (self.expects, reply) {
            (Expects::Placement(buffer), Ok(Reply::Allocated(decision))) => {
                self.buffers[buffer.index()] = Some(decision.placement());
            }
            (Expects::Placement(buffer), Err(_)) => self.buffers[buffer.index()] = None,
            (Expects::Freed(buffer), Ok(Reply::Freed(ticket))) => {
                if let Some(placement) = &mut self.buffers[buffer.index()] {
                    placement.freed = placement.freed.or(*ticket);
                }
            }
            (Expects::Value(register), Ok(Reply::Value(value))) => {
                self.registers[register.0 as usize] = i128::from(*value);
            }
            _ => {}
        }
        self.expects = Expects::Nothing;
    }

    fn call(&mut self, action: &Action) -> Result<Call, Obstacle> {
        Ok(match action {
            Action::Alloc { stream, pool, size, buffer } => {
                self.expects = Expects::Placement(self.chosen(buffer)?);
                Call::Alloc { stream: self.chosen(stream)?, pool: *pool, size: Bytes(self.natural(size)?) }
            }
            Action::Free { stream, buffer } => {
                let (name, placement) = self.present(buffer)?;
                let alloc = placement.alloc;
                self.expects = Expects::Freed(name);
                Call::Free { stream: self.chosen(stream)?, alloc }
            }
            Action::Launch { stream, kernel, takes, uses } => {
                let uses = uses.iter().map(|(buffer, access)| {
                    let (_, placement) = self.present(buffer)?;
                    Ok(Use { alloc: placement.alloc, access: *access })
                });
                let uses = uses.collect::<Result<_, Obstacle>>()?;
                Call::Launch { stream: self.chosen(stream)?, kernel: *kernel, takes: *takes, uses }
            }
            Action::Record { stream, event } => {
                Call::Record { stream: self.chosen(stream)?, event: self.chosen(event)? }
            }
            Action::Wait { stream, event } => {
                Call::Wait { stream: self.chosen(stream)?, event: self.chosen(event)? }
            }
            Action::Sync(target) => Call::Sync(self.target(target)?),
            Action::Query(target) => Call::Query(self.target(target)?),
            Action::Poll(target) => Call::Poll(self.target(target)?),
            Action::Sleep(duration) => Call::Sleep(Nanos(self.natural(duration)?)),
            Action::Trim { pool, keep } => Call::Trim { pool: *pool, keep: Bytes(self.natural(keep)?) },
            Action::Set { pool, attribute, value } => {
                Call::Set { pool: *pool, attribute: *attribute, value: self.natural(value)? }
            }
            Action::Read { pool, figure, register } => {
                self.expects = Expects::Value(*register);
                Call::Read { pool: *pool, figure: *figure }
            }
            Action::Peek { pool, figure, register } => {
                self.expects = Expects::Value(*register);
                Call::Peek { pool: *pool, figure: *figure }
            }
            Action::Signal(signal) => Call::Signal(*signal),
            Action::Compare { expect, left, right } => {
                let (left, right) = (self.evaluate(left)?, self.evaluate(right)?);
                Call::Expect { expect: *expect, operands: Operands::Values { left, right } }
            }
            Action::Relate { expect, subject, object } => {
                let [subject, object] = [subject, object].map(|buffer| self.placement(buffer));
                let operands = Operands::Placements { subject: subject?, object: object? };
                Call::Expect { expect: *expect, operands }
            }
            Action::Snapshot(snapshot) => Call::Snapshot(*snapshot),
        })
    }

    fn target(&self, target: &SyncTarget) -> Result<Target, Broken> {
        target.resolve(|stream| self.chosen(stream), |event| self.chosen(event))
    }

    fn placement(&self, buffer: &Chosen<BufferId>) -> Result<Option<Box<Placement>>, Broken> {
        Ok(self.buffers[self.chosen(buffer)?.index()].clone().map(Box::new))
    }

    fn present(&self, buffer: &Chosen<BufferId>) -> Result<(BufferId, &Placement), Obstacle> {
        let name = self.chosen(buffer)?;
        self.buffers[name.index()].as_ref().map(|placement| (name, placement)).ok_or(Obstacle::Absent(name))
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
        match formula {
            Formula::Constant(value) => Ok(*value),
            Formula::Register(register) => Ok(self.registers[register.0 as usize]),
            Formula::Binary(operator, sides) => {
                operator.apply(self.evaluate(&sides.0)?, self.evaluate(&sides.1)?)
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
