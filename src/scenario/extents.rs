//! What is known of memory before the run: how large each name's memory is, what kind it is, and so which places are
//! certainly wrong. It is kept along the walk over the lives of names, and says nothing where a size depends on the run.

use super::check::Checker;
use super::held::{By, Kind};
use super::{Formula, Place, codes};
use crate::base::{Bytes, Diagnostic, IndexVec, PoolId, Span};
use crate::trace::{Resource, Setup};

/// What is known of the memory that a name stands for.
#[derive(Clone, Copy)]
struct Extent {
    /// `None`: it depends on the run.
    kind: Option<Kind>,
    /// Which memory: two names of the same have the same number.
    memory: u64,
    /// Its first byte in that memory, and how many there are.
    from: Option<u64>,
    size: Option<u64>,
}

/// A place that is certainly wrong.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Wrong {
    /// The part ends here, and the memory there.
    Outside { to: u64, size: u64 },
    /// The memory cannot be reached by who touches it.
    OutOfReach(Kind),
    /// The sizes of the two sides of a copy.
    Sizes { to: u64, from: u64 },
    /// The two sides of a copy have bytes in common.
    Overlap,
}

/// What is known of all names.
pub(super) struct Extents {
    known: Vec<Option<Extent>>,
    allocations: u64,
    /// What the memory of each pool is.
    pools: IndexVec<PoolId, Option<Kind>>,
}

impl Extents {
    /// Of so many names, with the buffers of the host.
    pub(super) fn new(checker: &Checker<'_>, bases: &[usize]) -> Self {
        let mut known = vec![None; checker.names.buffers.len()];
        let mut allocations = 0;
        for (buffer, base) in checker.buffers.iter().zip(bases) {
            let Some(host) = buffer.host else { continue };
            for known in known.iter_mut().skip(*base).take(buffer.last as usize + 1) {
                allocations += 1;
                let (from, size) = (Some(0), Some(host.size.0));
                *known = Some(Extent { kind: Some(host.kind), memory: allocations, from, size });
            }
        }
        Self { known, allocations, pools: kinds_of_pools(&checker.setup) }
    }

    /// What the memory of a pool is; without one, that of the current pool of a device.
    pub(super) fn kind_of(&self, pool: Option<PoolId>) -> Option<Kind> {
        pool.map_or(Some(Kind::Device), |pool| self.pools[pool])
    }

    /// The name stands for a new allocation.
    pub(super) fn allocated(&mut self, name: usize, size: &Formula, kind: Option<Kind>) {
        self.allocations += 1;
        let (memory, size) = (self.allocations, constant(size));
        self.known[name] = Some(Extent { kind, memory, from: Some(0), size });
    }

    /// The name stands for a part of another one.
    pub(super) fn viewed(&mut self, name: usize, of: usize, place: &Place) -> Option<Wrong> {
        let part = self.part(of, place);
        self.known[name] = part.and_then(Result::ok);
        part.and_then(Result::err)
    }

    /// Nothing is certain about the name any more.
    pub(super) fn forget(&mut self, name: usize) {
        if let Some(known) = self.known.get_mut(name) {
            *known = None;
        }
    }

    /// A place is touched.
    pub(super) fn touched(&self, name: usize, place: &Place, by: By) -> Option<Wrong> {
        match self.part(name, place)? {
            Ok(extent) => extent.kind.filter(|kind| !by.reaches(*kind)).map(Wrong::OutOfReach),
            Err(wrong) => Some(wrong),
        }
    }

    /// One place is copied to another one.
    pub(super) fn copied(&self, to: (usize, &Place), from: (usize, &Place)) -> Option<Wrong> {
        let [Ok(to), Ok(from)] = [self.part(to.0, to.1)?, self.part(from.0, from.1)?] else { return None };
        let (to_size, from_size) = (to.size?, from.size?);
        if to_size != from_size {
            return Some(Wrong::Sizes { to: to_size, from: from_size });
        }
        let (to_from, from_from) = (to.from?, from.from?);
        let meet = to_from < from_from + from_size && from_from < to_from + to_size;
        (to.memory == from.memory && meet).then_some(Wrong::Overlap)
    }

    fn part(&self, name: usize, place: &Place) -> Option<Result<Extent, Wrong>> {
        let whole = self.known[name]?;
        let Some(part) = &place.part else { return Some(Ok(whole)) };
        let (from, to) = (constant(&part.0), constant(&part.1));
        if let (Some(to), Some(size)) = (to, whole.size)
            && to > size
        {
            return Some(Err(Wrong::Outside { to, size }));
        }
        let start = whole.from.zip(from).and_then(|(start, from)| start.checked_add(from));
        let size = from.zip(to).and_then(|(from, to)| to.checked_sub(from));
        Some(Ok(Extent { from: start, size, ..whole }))
    }
}

/// A name that is created may come to stand for a pool elsewhere.
fn kinds_of_pools(setup: &Setup) -> IndexVec<PoolId, Option<Kind>> {
    let is_on_host = |pool: &crate::trace::PoolSetup| pool.location.device().is_none();
    let kind = |(id, pool)| match is_on_host(pool) {
        _ if setup.created.contains(&Resource::Pool(id)) && setup.pools.iter().any(is_on_host) => None,
        true => Some(Kind::HostPool),
        false => Some(Kind::Device),
    };
    setup.pools.iter_enumerated().map(kind).collect()
}

fn constant(formula: &Formula) -> Option<u64> {
    match formula {
        Formula::Constant(value) => u64::try_from(*value).ok(),
        _ => None,
    }
}

/// What to say about a place.
pub(super) fn explain(name: &str, at: Span, wrong: Wrong) -> Diagnostic {
    match wrong {
        Wrong::Outside { to, size } => {
            let (to, size) = (Bytes(to), Bytes(size));
            let message = format!("`{name}` has {size}, and this part ends at {to}");
            Diagnostic::error(
                codes::PART_OUT_OF_RANGE,
                message,
                at,
                format!("expected an end of at most {size}"),
            )
        }
        Wrong::OutOfReach(Kind::Device) => {
            let message = format!("`{name}` is device memory, which the host cannot reach");
            let label = "expected memory of the host, or managed memory";
            Diagnostic::error(codes::OUT_OF_REACH, message, at, label)
                .help("copy it to a `host_buffer` first: `copy h from x`")
        }
        Wrong::OutOfReach(kind) => {
            let message = format!("`{name}` is {}, which a device cannot reach", kind.name());
            let label = "expected device memory, managed memory or pinned memory";
            Diagnostic::error(codes::OUT_OF_REACH, message, at, label)
                .help("a `host_buffer` that is `pinned` can be reached; a copy reaches any")
        }
        Wrong::Sizes { to, from } => {
            let (to, from) = (Bytes(to), Bytes(from));
            let message = format!("{from} are copied to {to}");
            Diagnostic::error(codes::SIZE_MISMATCH, message, at, format!("expected {from}"))
                .help("name a part of the larger one, such as `x[0..4KiB]`")
        }
        Wrong::Overlap => {
            let message = format!("this copy writes bytes of `{name}` that it reads");
            Diagnostic::error(codes::OVERLAPPING_COPY, message, at, "expected bytes apart from these")
        }
    }
}
