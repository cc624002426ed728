//! `millpond graph`: the operations of a run as a graph for Graphviz.

use super::Scenario;
use super::outside::{self, Complaint, Status};
use crate::report::Graph;
use crate::trace::Model;
use clap::Args;
use std::path::PathBuf;

/// Prints the operations of a run as a graph in the DOT language
#[derive(Debug, Args)]
#[command(after_help = "\
Edges are labelled by what orders two operations: stream order, event, legacy
stream, allocator (a wait that it inserted). A dashed edge, reuse, goes from a
free to the allocation that takes its memory. Order that goes through the host,
by a `sync` or a signal, has no edge, nor have the parts of a collective, which
start together. Of a long run, the graph has the first 500 operations.

Examples:
  millpond graph scenarios/guide/follow_event.scn
  millpond graph scenarios/guide/follow_event.scn | dot -Tsvg > graph.svg
  millpond graph scenarios/reuse/follow_event/twins.scn --variant off

Exit status: 0 printed, whatever the scenario expects; 2 the input is wrong or
cannot be read")]
pub(super) struct Operations {
    /// The scenario; - is standard input
    file: PathBuf,
    /// Draws the durations of kernels
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// The graph of a variant rather than that of the scenario as it stands
    #[arg(long, value_name = "NAME")]
    variant: Option<String>,
    /// The allocator, rather than the one that the scenario states [default: cuda]
    #[arg(long, value_name = "MODEL", value_parser = super::models())]
    model: Option<Model>,
}

impl Operations {
    pub(super) fn run(&self) -> Result<Status, Complaint> {
        let scenario = Scenario::read(&self.file)?;
        let Some(programs) = scenario.programs() else { return Ok(Status::Wrong) };
        let program = scenario.chosen(programs, self.variant.as_deref())?;
        let program = super::on_model(program, self.model);
        let mut graph = Graph::new(&program, scenario.origin(&program, self.seed));
        crate::engine::run(&program, self.seed, &mut graph);
        outside::print(&graph.finish())?;
        Ok(Status::Holds)
    }
}
