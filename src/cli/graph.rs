//! `millpond graph`: the operations of a run as a graph for Graphviz.

use super::Scenario;
use super::outside::{self, Complaint, Status};
use crate::report::Graph;
use clap::Args;
use std::io;
use std::path::PathBuf;

/// Prints the operations of a run as a graph in the DOT language
#[derive(Debug, Args)]
#[command(after_help = "\
Edges are labelled by what orders two operations: stream order, event, legacy stream, allocator (a wait that it
inserted). A dashed edge, reuse, goes from a free to the allocation that takes its memory. Of a long run, the graph
has the first 500 operations.

Examples:
  millpond graph scenarios/guide/follow_event.scn
  millpond graph scenarios/guide/follow_event.scn | dot -Tsvg > graph.svg

Exit status: 0 printed, whatever the scenario expects; 2 the input is wrong or cannot be read")]
pub(super) struct Operations {
    /// The scenario; - is standard input
    file: PathBuf,
    /// Draws the durations of kernels
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
}

impl Operations {
    pub(super) fn run(&self) -> Result<Status, Complaint> {
        let scenario = Scenario::read(&self.file)?;
        let program = match scenario.load() {
            Ok((program, _)) => program,
            Err(diagnostics) => {
                let colour = outside::colour(&io::stderr());
                outside::print_error(&scenario.rendered(&diagnostics, colour));
                return Ok(Status::Wrong);
            }
        };
        let mut graph = Graph::new(&program, scenario.origin(self.seed));
        crate::engine::run(&program, self.seed, &mut graph);
        outside::print(&graph.finish())?;
        Ok(Status::Holds)
    }
}
