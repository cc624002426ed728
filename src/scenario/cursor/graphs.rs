//! The calls about graphs.

use super::{Action, Bound, Expects, Obstacle, Thread};
use crate::scenario::GraphAction;
use crate::scenario::outcomes::Outcomes;
use crate::trace::{Call, GraphCall};

impl Thread {
    pub(super) fn graph(
        &mut self,
        action: &GraphAction,
        buffers: &[Bound],
        outcomes: &Outcomes,
    ) -> Result<GraphCall, Obstacle> {
        Ok(match action {
            GraphAction::Begin(graph) => GraphCall::Begin(self.chosen(graph)?),
            GraphAction::Node { graph, node } => {
                let mut call = Call::Exit;
                self.put(node, buffers, outcomes, &mut call)?;
                // Only the run of the graph frees it.
                if let Action::Free { .. } = **node {
                    self.expects = Expects::Nothing;
                }
                GraphCall::Node { graph: self.chosen(graph)?, node: Box::new(call) }
            }
            GraphAction::Instantiate { exec, graph, auto_free } => {
                let (exec, graph) = (self.chosen(exec)?, self.chosen(graph)?);
                GraphCall::Instantiate { exec, graph, auto_free: *auto_free }
            }
            GraphAction::Launch { stream, exec } => {
                GraphCall::Launch { stream: self.chosen(stream)?, exec: self.chosen(exec)? }
            }
            GraphAction::Upload { stream, exec } => {
                GraphCall::Upload { stream: self.chosen(stream)?, exec: self.chosen(exec)? }
            }
            GraphAction::Trim(device) => GraphCall::Trim(*device),
            GraphAction::Set { device, figure, value } => {
                GraphCall::Set { device: *device, figure: *figure, value: self.natural(value)? }
            }
        })
    }
}
