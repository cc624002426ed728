//! What expectations are about, as known where they stand.

use super::{Bound, Broken, Thread};
use crate::base::BufferId;
use crate::scenario::outcomes::Outcomes;
use crate::scenario::{Action, Called, Chosen};
use crate::trace::{Call, Operands, Placement};

impl Thread {
    /// An expectation, with what it is about.
    pub(super) fn expectation(
        &self,
        action: &Action,
        buffers: &[Bound],
        outcomes: &Outcomes,
    ) -> Result<Call, Broken> {
        Ok(match action {
            Action::Compare { expect, left, right } => {
                let (left, right) = (self.evaluate(left)?, self.evaluate(right)?);
                Call::Expect { expect: *expect, operands: Operands::Values { left, right } }
            }
            Action::Relate { expect, subject, object } => {
                Call::Expect { expect: *expect, operands: self.placements(subject, object, buffers)? }
            }
            Action::ExpectReady { expect, subject, on } => match self.placement(subject, buffers)? {
                Some(placement) => {
                    Call::ExpectReady { expect: *expect, alloc: placement.alloc, on: self.chosen(on)? }
                }
                None => Call::Expect {
                    expect: *expect,
                    operands: Operands::Placements { subject: None, object: None },
                },
            },
            Action::ExpectEnded { expect, call } => {
                let (stmt, ended) = match call {
                    Called::Statement(stmt) => outcomes.of_statement(*stmt),
                    Called::Allocation(buffer) => outcomes.of_allocation(self.chosen(buffer)?),
                };
                Call::Expect { expect: *expect, operands: Operands::Ended { stmt, ended } }
            }
            _ => unreachable!("only such actions come here"),
        })
    }

    fn placements(
        &self,
        subject: &Chosen<BufferId>,
        object: &Chosen<BufferId>,
        buffers: &[Bound],
    ) -> Result<Operands, Broken> {
        let [subject, object] = [subject, object].map(|buffer| self.placement(buffer, buffers));
        Ok(Operands::Placements { subject: subject?, object: object? })
    }

    fn placement(
        &self,
        buffer: &Chosen<BufferId>,
        buffers: &[Bound],
    ) -> Result<Option<Box<Placement>>, Broken> {
        Ok(match &buffers[self.chosen(buffer)?.index()] {
            Bound::Held(held) => held.placement.clone().map(Box::new),
            Bound::Absent | Bound::Never => None,
        })
    }
}
