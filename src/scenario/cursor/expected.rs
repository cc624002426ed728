//! What expectations are about, as known where they stand.

use super::{Bound, Broken, Thread};
use crate::base::BufferId;
use crate::scenario::{Action, Chosen};
use crate::trace::{Call, Operands, Placement};

impl Thread {
    pub(super) fn expectation(&self, action: &Action, buffers: &[Bound]) -> Result<Call, Broken> {
        let (expect, operands) = match action {
            Action::Compare { expect, left, right } => {
                let (left, right) = (self.evaluate(left)?, self.evaluate(right)?);
                (*expect, Operands::Values { left, right })
            }
            Action::Relate { expect, subject, object } => {
                (*expect, self.placements(subject, object, buffers)?)
            }
            _ => unreachable!("only such actions come here"),
        };
        Ok(Call::Expect { expect, operands })
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
