//! Of which programs it is known that their runs differ in nothing but times where questions are answered alike.

use crate::scenario::{Action, Demand, Instruction, Program};
use crate::trace::{Model, Reading, Takes};

/// Runs of longer programs seldom go alike.
const LENGTH_MAX: u64 = 4_096;

/// Whether a program has one host thread, its calls wait for nothing but streams, and what devices have done makes no difference to
/// them but to allocations and queries.
pub(super) fn is_fit(program: &Program) -> bool {
    let setup = &program.setup;
    let asks_for_times =
        |demand: &Demand| matches!(demand, Demand::Moments { .. } | Demand::DependsOnTiming { .. });
    setup.model == Model::Cuda
        && setup.hosts == 1
        && setup.host.queue_depth.is_none()
        && program.length <= LENGTH_MAX
        && !program.expects.iter().any(|line| asks_for_times(&line.demand))
        && program.code.iter().all(|instruction| match instruction {
            Instruction::Call { action, .. } => is_action_fit(action),
            Instruction::Spawn { .. } | Instruction::Exit { .. } => false,
            _ => true,
        })
}

fn is_action_fit(action: &Action) -> bool {
    match action {
        Action::Launch { takes, .. } => matches!(takes, Takes::For(_)),
        Action::Peek { reading, .. } | Action::Read { reading, .. } => {
            !matches!(reading, Reading::Graphs(..))
        }
        Action::Alloc { .. }
        | Action::Free { .. }
        | Action::Copy { .. }
        | Action::Memset { .. }
        | Action::Touch { .. }
        | Action::Record { .. }
        | Action::Wait { .. }
        | Action::Sync(_)
        | Action::Poll(_)
        | Action::Query(_)
        | Action::Sleep(_)
        | Action::Trim { .. }
        | Action::Set { .. }
        | Action::SetPool { .. }
        | Action::Compare { .. }
        | Action::Relate { .. }
        | Action::ExpectEnded { .. }
        | Action::Snapshot(_) => true,
        _ => false,
    }
}
