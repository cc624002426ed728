//! Calls that failed since they make no sense: what they name was freed or destroyed before, or is out of reach.
//!
//! Whether and how they fail is the driver's word; what it means is told here.

use super::Hazards;
use super::memory::{Memory, Record};
use crate::base::{DeviceId, EventId, PoolId, StmtId, reuse_on_clone};
use crate::oracle::findings::{Findings, Found, Role};
use crate::trace::{
    AllocId, Call, Exported, Failure, FindingKind, GraphCall, Imported, Reading, Resource, Target, Use,
};
use smallvec::SmallVec;
use std::collections::BTreeMap;

/// What is known of things that calls name.
#[derive(Debug, Default)]
pub(super) struct Misuse {
    /// What was destroyed and not created again, and by which statement.
    destroyed: BTreeMap<Resource, StmtId>,
    /// Whether anything was ever destroyed.
    has_destroyed: bool,
    /// The pool that the call in progress may not touch so, and the device.
    out_of_reach: Option<(PoolId, DeviceId)>,
}

reuse_on_clone!(Misuse { destroyed, has_destroyed, out_of_reach });

/// A call that failed.
#[derive(Clone, Copy, Debug)]
pub(super) struct FailedCall<'a> {
    pub(super) stmt: StmtId,
    pub(super) failure: Failure,
    pub(super) call: &'a Call,
    /// What has destroyed something that it names.
    pub(super) destroyed: Option<StmtId>,
}

impl Misuse {
    /// Something exists from now on.
    pub(super) fn created(&mut self, resource: Resource) {
        self.destroyed.remove(&resource);
    }

    /// Something exists no more.
    pub(super) fn destroyed(&mut self, resource: Resource, stmt: StmtId) {
        self.destroyed.insert(resource, stmt);
        self.has_destroyed = true;
    }

    /// The call in progress touches memory that it may not.
    pub(super) fn out_of_reach(&mut self, pool: PoolId, device: DeviceId) {
        self.out_of_reach = Some((pool, device));
    }

    /// Whether a call can name anything that was destroyed.
    pub(super) fn is_possible(&self) -> bool {
        self.has_destroyed
    }

    /// The statement that has destroyed something that a call names.
    pub(super) fn names_destroyed(&self, call: &Call) -> Option<StmtId> {
        named(call).into_iter().flatten().find_map(|resource| self.destroyed.get(&resource).copied())
    }

    /// A call names an event of another process, which has destroyed it: the call does not fail, and what it does is undefined
    /// (CUDA driver API, `cuIpcGetEventHandle`).
    pub(super) fn names_destroyed_export(
        &self,
        stmt: StmtId,
        call: &Call,
        imported: &BTreeMap<EventId, EventId>,
        findings: &mut Findings,
    ) {
        let of = |resource: Resource| match resource {
            Resource::Event(event) => imported.get(&event).map(|of| Resource::Event(*of)),
            _ => None,
        };
        let sources = named(call).into_iter().flatten().filter_map(of);
        let destroyed = sources.into_iter().find_map(|source| self.destroyed.get(&source).copied());
        if let Some(destroyed) = destroyed.filter(|_| !matches!(call, Call::Destroy(_))) {
            findings.add(Found {
                others: &[(Role::Destroy, Some(destroyed))],
                ..Found::plain(FindingKind::UseOfDestroyed, stmt)
            });
        }
    }

    /// What the failure of a call means.
    pub(super) fn failed(&mut self, failed: &FailedCall<'_>, memory: &Memory, findings: &mut Findings) {
        let FailedCall { stmt, failure, call, destroyed } = *failed;
        let out_of_reach = self.out_of_reach.take();
        if let Some(destroyed) = destroyed {
            findings.add(Found {
                others: &[(Role::Destroy, Some(destroyed))],
                ..Found::plain(FindingKind::UseOfDestroyed, stmt)
            });
        } else if let (Some(freed), Failure::InvalidValue) = (freed(call), failure) {
            no_free(stmt, freed, memory, findings);
        } else if let (Some(touched), Failure::InvalidValue | Failure::IllegalAddress) =
            (touched(call), failure)
        {
            no_access(stmt, out_of_reach.map(|(pool, _)| pool), &touched, memory, findings);
        }
    }
}

/// What a call is to free, and whether as a node of a graph.
pub(in crate::oracle) fn freed(call: &Call) -> Option<(AllocId, bool)> {
    match call {
        Call::Free { alloc, .. } | Call::PlainFree { alloc } => Some((*alloc, false)),
        Call::Graph(GraphCall::Node { node, .. }) => match **node {
            Call::Free { alloc, .. } => Some((alloc, true)),
            _ => None,
        },
        _ => None,
    }
}

/// What the operation of a call is to touch.
pub(in crate::oracle) fn touched(call: &Call) -> Option<SmallVec<[Use; 3]>> {
    match call {
        Call::Launch { uses, .. } | Call::HostFunction { uses, .. } | Call::Collective { uses, .. } => {
            Some(uses.clone())
        }
        Call::Copy { to, from, .. } => Some(SmallVec::from_slice(&[*to, *from])),
        Call::Memset { at, .. } => Some(SmallVec::from_slice(&[*at])),
        _ => None,
    }
}

/// What a call is to free is freed already, or nothing that can be freed so.
fn no_free(stmt: StmtId, (alloc, is_node): (AllocId, bool), memory: &Memory, findings: &mut Findings) {
    let record = memory.get(alloc);
    let in_graph =
        record.and_then(Record::extras).and_then(|extras| extras.freed_in_graph).filter(|_| is_node);
    let before = in_graph.or(record.and_then(|record| record.freed()).map(|free| free.stmt));
    let allocation = record.map(Hazards::allocation);
    let freed = before.map(|before| (Role::Free, Some(before)));
    let others: SmallVec<[_; 2]> = freed.into_iter().chain(allocation).collect();
    let kind = if before.is_some() { FindingKind::DoubleFree } else { FindingKind::InvalidFree };
    let name = record.and_then(|record| record.name());
    findings.add(Found { others: &others, names: &[name], ..Found::plain(kind, stmt) });
}

/// A device may not touch some of this memory so.
fn no_access(stmt: StmtId, pool: Option<PoolId>, uses: &[Use], memory: &Memory, findings: &mut Findings) {
    let records = uses.iter().filter_map(|used| memory.get(used.memory.alloc()?));
    let record = records.into_iter().find(|record| record.pool() == pool);
    let allocation = record.map(Hazards::allocation);
    findings.add(Found {
        others: allocation.as_slice(),
        names: &[record.and_then(|record| record.name())],
        ..Found::plain(FindingKind::AccessDenied, stmt)
    });
}

/// The things that a call names.
pub(in crate::oracle) fn named(call: &Call) -> [Option<Resource>; 2] {
    let target = |target: &Target| match *target {
        Target::Stream(stream) => Some(Resource::Stream(stream)),
        Target::Event(event) => Some(Resource::Event(event)),
        Target::Device(_) => None,
    };
    match call {
        Call::Alloc { stream, pool, .. } => [Some(Resource::Stream(*stream)), pool.map(Resource::Pool)],
        Call::Free { stream, .. }
        | Call::Launch { stream, .. }
        | Call::Copy { stream, .. }
        | Call::Memset { stream, .. }
        | Call::HostFunction { stream, .. }
        | Call::Collective { stream, .. } => [Some(Resource::Stream(*stream)), None],
        Call::Record { stream, event } | Call::Wait { stream, event } => {
            [Some(Resource::Stream(*stream)), Some(Resource::Event(*event))]
        }
        Call::Sync(of) | Call::Query(of) | Call::Poll(of) => [target(of), None],
        Call::Elapsed { from, to } => [Some(Resource::Event(*from)), Some(Resource::Event(*to))],
        Call::Trim { pool, .. }
        | Call::Set { pool, .. }
        | Call::Read(Reading::Pool(pool, _) | Reading::Access(pool, _))
        | Call::Grant { pool, .. }
        | Call::SetPool { pool, .. }
        | Call::Export { what: Exported::Pool(pool), .. }
        | Call::Import { into: Imported::Memory(pool), .. } => [Some(Resource::Pool(*pool)), None],
        Call::Export { what: Exported::Event(event), .. } => [Some(Resource::Event(*event)), None],
        Call::Destroy(resource) => [Some(*resource), None],
        Call::Graph(GraphCall::Node { graph, .. } | GraphCall::Instantiate { graph, .. }) => {
            [Some(Resource::Graph(*graph)), None]
        }
        Call::Graph(GraphCall::Launch { stream, exec } | GraphCall::Upload { stream, exec }) => {
            [Some(Resource::Stream(*stream)), Some(Resource::Exec(*exec))]
        }
        _ => [None, None],
    }
}
