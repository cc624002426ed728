//! The ground everything stands on: ids, exact units, source spans, diagnostics as data, the one random source.
//!
//! It knows nothing about CUDA, scenarios or reports, and imports nothing of this crate.

mod clone;
mod diagnostic;
mod digest;
mod ids;
mod nearest;
mod random;
mod span;
mod units;

pub(crate) use clone::reuse_on_clone;
pub use diagnostic::{Code, Diagnostic, Edit, Fact, Help, Label, MISTAKES_MAX, Severity};
pub use digest::{fold, fold_counters, mix, words};
pub use ids::{
    BarrierId, BufferId, CollectiveId, DeviceId, EventId, ExecId, ExpectId, GraphId, HostBufferId, HostId,
    KernelId, PoolId, ProcessId, SignalId, SnapshotId, StmtId, StreamId,
};
pub use index_vec::{Idx, IndexVec, index_vec};
pub use nearest::nearest;
pub use random::{Draws, Seed, stable_hash};
pub use span::{LineIndex, Span};
pub use units::{Bytes, Nanos, ParseUnitError, grouped};
