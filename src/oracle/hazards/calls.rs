//! What a call does beside its operation in a stream, and when one that transfers memory returns, as documented.
//!
//! It must not know what was called before.

use super::memory::Handle;
use crate::base::{BarrierId, DeviceId, ExecId, HostId, PoolId, SignalId, StmtId};
use crate::trace::{
    AllocId, Attribute, Call, Exported, GraphCall, Imported, Memory, Range, Resource, Takes, Target, Use,
};

/// A host thread, in the call that it made last.
#[derive(Clone, Debug)]
pub(super) struct Caller {
    pub(super) stmt: StmtId,
    pub(super) doing: Doing,
    /// What a node of a graph allocates.
    pub(super) placed: Option<(AllocId, Range)>,
    pub(super) alloc: Option<Handle>,
    /// What destroyed something that the call names.
    pub(super) destroyed: Option<StmtId>,
}

impl Caller {
    pub(super) fn new() -> Self {
        Self { stmt: StmtId::from_raw(0), doing: Doing::Other, placed: None, alloc: None, destroyed: None }
    }
}

/// What a call does beside its operation in a stream, as far as it matters here.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) enum Doing {
    #[default]
    Other,
    Alloc(Option<PoolId>),
    Malloc(DeviceId),
    PlainFree(AllocId),
    Touch(Use),
    Sync(Target),
    Poll(Target),
    Query(Target),
    Signal(SignalId),
    Export(Exported, SignalId),
    Import(SignalId, Imported),
    Await(SignalId),
    Spawn(HostId),
    Join(HostId),
    Barrier(BarrierId),
    Reset(DeviceId),
    Create(Resource),
    Destroy(Resource),
    Set(PoolId, Attribute, u64),
    Trim(PoolId),
    Launch(ExecId),
    /// Adds a node that allocates, or frees this.
    NodeAlloc,
    NodeFree(AllocId),
}

impl Doing {
    pub(super) fn of(call: &Call) -> Self {
        match call {
            Call::Alloc { pool, .. } => Doing::Alloc(*pool),
            Call::Malloc { device, .. } => Doing::Malloc(*device),
            Call::PlainFree { alloc } => Doing::PlainFree(*alloc),
            Call::Touch(touched) => Doing::Touch(*touched),
            Call::Sync(target) => Doing::Sync(*target),
            Call::Poll(target) => Doing::Poll(*target),
            Call::Query(target) => Doing::Query(*target),
            Call::Trim { pool, .. } => Doing::Trim(*pool),
            Call::Set { pool, attribute, value } => Doing::Set(*pool, *attribute, *value),
            Call::Create { resource, .. } => Doing::Create(*resource),
            Call::Destroy(resource) => Doing::Destroy(*resource),
            Call::ResetDevice(device) => Doing::Reset(*device),
            Call::Export { what, under } => Doing::Export(*what, *under),
            Call::Import { under, into } => Doing::Import(*under, *into),
            Call::Signal(signal) => Doing::Signal(*signal),
            Call::Await(signal) => Doing::Await(*signal),
            Call::Spawn(host) => Doing::Spawn(*host),
            Call::Join(host) => Doing::Join(*host),
            Call::Barrier(barrier) => Doing::Barrier(*barrier),
            Call::Graph(GraphCall::Launch { exec, .. } | GraphCall::Upload { exec, .. }) => {
                Doing::Launch(*exec)
            }
            Call::Graph(GraphCall::Begin(graph)) => Doing::Create(Resource::Graph(*graph)),
            Call::Graph(GraphCall::Instantiate { exec, .. }) => Doing::Create(Resource::Exec(*exec)),
            Call::Graph(GraphCall::Node { node, .. }) => match **node {
                Call::Alloc { .. } => Doing::NodeAlloc,
                Call::Free { alloc, .. } => Doing::NodeFree(alloc),
                _ => Doing::Other,
            },
            _ => Doing::Other,
        }
    }

    /// Whether it counts as soon as it is known not to have failed.
    pub(super) fn counts_at_once(self) -> bool {
        matches!(
            self,
            Doing::PlainFree(_)
                | Doing::Touch(_)
                | Doing::Sync(_)
                | Doing::Signal(_)
                | Doing::Export(..)
                | Doing::Spawn(_)
                | Doing::Barrier(_)
                | Doing::Reset(_)
                | Doing::Create(_)
                | Doing::Destroy(_)
                | Doing::Set(..)
                | Doing::Trim(_)
                | Doing::NodeFree(_)
        )
    }
}

/// When a call that transfers memory returns (CUDA runtime API, "API synchronization behavior").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Returns {
    AtOnce,
    /// What is in pageable memory has been read.
    OnceStaged,
    OnceComplete,
}

pub(super) fn returns(blocking: bool, to: Memory, from: Option<Memory>) -> Returns {
    use Memory::{Device, Managed, Pageable};
    let Some(from) = from else {
        let is_device = matches!(to, Device(_));
        return if blocking && !is_device { Returns::OnceComplete } else { Returns::AtOnce };
    };
    match (to, from) {
        (Device(_), Device(_)) => Returns::AtOnce,
        (Device(_), Pageable(_)) if blocking => Returns::OnceStaged,
        (to, from) if to.is_host() && from.is_host() => Returns::OnceComplete,
        (Pageable(_), Device(_) | Managed(_)) => Returns::OnceComplete,
        _ if blocking => Returns::OnceComplete,
        _ => Returns::AtOnce,
    }
}

/// Whether all that a call does is in its operation, which is in its stream at once and asks for nothing later.
#[inline(always)]
pub(super) fn is_at_once(call: &Call) -> bool {
    match call {
        Call::Launch { takes, .. } => matches!(takes, Takes::For(_)),
        call => is_in_operation(call),
    }
}

/// Whether all that a call does is in its operation.
#[inline(always)]
pub(super) fn is_in_operation(call: &Call) -> bool {
    matches!(call, Call::Launch { .. } | Call::Record { .. } | Call::Wait { .. } | Call::Free { .. })
}
