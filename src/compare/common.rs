//! What two programs have in common: which statement of one is which of the other, and so for host threads and pools.
//!
//! A variant leaves lines out, and a value that is set may put one in. Such lines are on one side only, and are not compared.

use super::trace::{Does, Key, Made, Read, Trace};
use crate::base::{HostId, PoolId, StmtId};
use crate::scenario::Program;
use crate::trace::Reading;
use std::collections::BTreeMap;

/// How the ids of one program, the right one, are those of another, the left one. What only the right one has, gets ids beyond.
#[derive(Clone, Debug, Default)]
pub struct Common {
    statements: Ids<StmtId>,
    hosts: Ids<HostId>,
    pools: Ids<PoolId>,
    /// The statements of the left program alone, and those of the right one.
    alone: [Vec<StmtId>; 2],
}

/// For each id of the right program, the one that both know it by.
#[derive(Clone, Debug)]
struct Ids<Id> {
    /// How many the left program has.
    left: usize,
    /// `None`: both have the same.
    of_right: Option<Vec<Id>>,
    /// Of those of the left one, whether the right one has it.
    is_common: Vec<bool>,
}

impl<Id> Default for Ids<Id> {
    fn default() -> Self {
        Self { left: 0, of_right: None, is_common: Vec::new() }
    }
}

impl<Id: Copy + From<usize> + Into<usize>> Ids<Id> {
    /// Pairs what has the same name; names that stand for several are paired in their order.
    fn by<N: Ord>(left: impl Iterator<Item = N>, right: impl Iterator<Item = N>) -> Self {
        let mut named: BTreeMap<N, Vec<usize>> = BTreeMap::new();
        let mut count = 0;
        for name in left {
            named.entry(name).or_default().push(count);
            count += 1;
        }
        named.values_mut().for_each(|places| places.reverse());
        let (mut is_common, mut beyond) = (vec![false; count], count);
        let of_right = right.map(|name| match named.get_mut(&name).and_then(Vec::pop) {
            Some(place) => {
                is_common[place] = true;
                Id::from(place)
            }
            None => {
                beyond += 1;
                Id::from(beyond - 1)
            }
        });
        let of_right = Some(of_right.collect());
        Self { left: count, of_right, is_common }
    }

    fn of_right(&self, id: Id) -> Id {
        let known = self.of_right.as_ref().and_then(|ids| ids.get(id.into()));
        known.copied().unwrap_or(id)
    }

    fn is_common(&self, id: Id) -> bool {
        self.of_right.is_none() || self.is_common.get(id.into()).copied().unwrap_or(false)
    }

    /// The id of the right program for one that only it has.
    fn right_alone(&self, id: Id) -> Option<Id> {
        let place = id.into();
        let ids = self.of_right.as_ref().filter(|_| place >= self.left)?;
        ids.iter().position(|known| (*known).into() == place).map(Id::from)
    }
}

impl Common {
    /// The same program on both sides.
    pub fn all() -> Self {
        Self::default()
    }

    /// Two programs of nearly the same text; `moved` says where a place of the left text is in the right one.
    pub fn of(left: &Program, right: &Program, moved: impl Fn(u32) -> u32) -> Self {
        let statements = Ids::by(
            left.statements.iter().map(|statement| moved(statement.span.start)),
            right.statements.iter().map(|statement| statement.span.start),
        );
        let on_left = left.statements.indices().filter(|stmt| !statements.is_common(*stmt)).collect();
        let is_beyond = |stmt: &StmtId| statements.of_right(*stmt).index() >= left.statements.len();
        let on_right = right.statements.indices().filter(is_beyond).collect();
        Self {
            alone: [on_left, on_right],
            statements,
            hosts: Ids::by(left.names.hosts.iter(), right.names.hosts.iter()),
            pools: Ids::by(left.names.pools.iter(), right.names.pools.iter()),
        }
    }

    /// The statements that only the left program has, and those that only the right one has, with its own ids.
    pub fn alone(&self) -> &[Vec<StmtId>; 2] {
        &self.alone
    }

    /// Whether both programs have a statement.
    pub(super) fn has(&self, stmt: StmtId) -> bool {
        self.statements.is_common(stmt)
    }

    /// The statement of the right program that has this id since only that program has it.
    pub fn right_alone(&self, stmt: StmtId) -> Option<StmtId> {
        self.statements.right_alone(stmt)
    }

    /// The same for a pool.
    pub fn right_alone_pool(&self, pool: PoolId) -> Option<PoolId> {
        self.pools.right_alone(pool)
    }

    /// The run of the right program with the ids that both know.
    #[must_use]
    pub fn of_right(&self, mut trace: Trace) -> Trace {
        if self.statements.of_right.is_none() {
            return trace;
        }
        trace.calls.iter_mut().for_each(|made| self.rename(made));
        let states = std::mem::take(&mut trace.states).into_iter();
        trace.states = states.map(|(pool, states)| (self.pools.of_right(pool), states)).collect();
        let shrinks = std::mem::take(&mut trace.shrinks).into_iter();
        trace.shrinks = shrinks.map(|(pool, calls)| (self.pools.of_right(pool), calls)).collect();
        trace
    }

    fn key(&self, key: Key) -> Key {
        Key { host: self.hosts.of_right(key.host), stmt: self.statements.of_right(key.stmt), nth: key.nth }
    }

    fn rename(&self, made: &mut Made) {
        made.key = self.key(made.key);
        made.pool = made.pool.map(|pool| self.pools.of_right(pool));
        for (key, _) in made.got.iter_mut().flat_map(|got| &mut got.reuses) {
            *key = self.key(*key);
        }
        match (&mut made.does, &mut made.read) {
            (Does::Read(Reading::Pool(pool, _) | Reading::Access(pool, _)), _) => {
                *pool = self.pools.of_right(*pool);
            }
            // What is read is the number of a pool.
            (Does::Read(Reading::CurrentPool(_)), Some(Read::Value(value))) => {
                if let Ok(pool) = usize::try_from(*value) {
                    let pool: usize = self.pools.of_right(pool.into()).into();
                    *value = pool as i128;
                }
            }
            _ => {}
        }
    }
}
