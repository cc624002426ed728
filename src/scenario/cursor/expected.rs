//! What expectations are about, as known where they stand.

use super::{Bound, Broken, Thread};
use crate::base::BufferId;
use crate::scenario::held::Placed;
use crate::scenario::outcomes::Outcomes;
use crate::scenario::{Action, Called, Chosen};
use crate::trace::{Call, Operands};

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
            Action::Relate { expect, subject, object } => Call::Expect {
                expect: *expect,
                operands: self.placements([subject, object], buffers, outcomes)?,
            },
            Action::ExpectReady { expect, subject, on } => match self.placed(subject, buffers)?.1 {
                Some(placed) => {
                    Call::ExpectReady { expect: *expect, alloc: placed.alloc, on: self.chosen(on)? }
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
        of: [&Chosen<BufferId>; 2],
        buffers: &[Bound],
        outcomes: &Outcomes,
    ) -> Result<Operands, Broken> {
        let [subject, object] = of.map(|buffer| {
            let (name, placed) = self.placed(buffer, buffers)?;
            Ok(placed.map(|placed| Box::new(placed.placement(outcomes.waits_of(name)))))
        });
        Ok(Operands::Placements { subject: subject?, object: object? })
    }

    fn placed<'b>(
        &self,
        buffer: &Chosen<BufferId>,
        buffers: &'b [Bound],
    ) -> Result<(BufferId, Option<&'b Placed>), Broken> {
        let name = self.chosen(buffer)?;
        Ok(match &buffers[name.index()] {
            Bound::Held(held) => (name, held.placed.as_ref()),
            Bound::Absent | Bound::Never => (name, None),
        })
    }
}
