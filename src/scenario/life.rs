//! `create`, `destroy` and the current pool of a device.
//!
//! Each execution of a `create` makes a thing of its own, with an id of its own; loops are bounded, so that their number is
//! known here. Under which name it goes is the cursor's affair.

use super::check::Checker;
use super::compute::default_stream_word;
use super::declare::STREAMS_MAX;
use super::names::{Kind, Meaning, Row};
use super::{Action, Chosen, Demand, Expect, Formula, Handle, Instruction, codes};
use crate::base::{DeviceId, Diagnostic, EventId, PoolId, Span, StmtId, StreamId};
use crate::syntax::ast::{self, Create, Created, Path};
use crate::trace::{EventSetup, PoolSetup, Reading, Resource, StreamSetup};
use std::collections::{BTreeMap, BTreeSet};

/// How many pools there may be. Each keeps a list a stream.
pub(super) const POOLS_MAX: u64 = 1_024;

/// What `create` and `destroy` lines say so far.
#[derive(Default)]
pub(super) struct Resources {
    /// How many `create` lines there are.
    pub(super) creates: usize,
    /// How many things each name has stood for.
    generations: BTreeMap<String, u64>,
    /// The names whose lives are followed.
    pub(super) named: Vec<Named>,
    /// The names of lines with a mistake, so that nothing is certain about them.
    uncertain: BTreeSet<String>,
}

/// A name of a stream, an event or a pool.
pub(super) struct Named {
    pub(super) resource: Resource,
    pub(super) name: String,
    /// Where it is declared, if it exists from the start.
    pub(super) declared: Option<Span>,
}

impl Checker<'_> {
    pub(super) fn set_pool(&mut self, device: &ast::Name, pool: &Path) -> Option<Action> {
        let (device, pool) = (self.resolve(device, &[Kind::Device]), self.pool(pool));
        let Meaning::Device(device) = device? else { return None };
        self.drivers.sets_pool(device);
        Some(Action::SetPool { device, pool: pool? })
    }

    /// The device in `gpu0.pool`.
    pub(super) fn current_pool(&self, value: &ast::Expression) -> Option<DeviceId> {
        let ast::ExpressionKind::Path(path) = &value.kind else { return None };
        let [device, word] = path.segments.as_slice() else { return None };
        let is_plain = device.index.is_none() && word.index.is_none() && word.name.text == "pool";
        match &self.table.get(&device.name.text)?.meaning {
            Some(Meaning::Device(device)) if is_plain => Some(*device),
            _ => None,
        }
    }

    /// `expect gpu0.pool == p`, `expect gpu0.pool != p`
    pub(super) fn expect_pool(
        &mut self,
        stmt: StmtId,
        device: DeviceId,
        comparator: &ast::Name,
        pool: &ast::Expression,
    ) {
        let not = match comparator.text.as_str() {
            "==" => false,
            "!=" => true,
            _ => {
                let label = "expected `==` or `!=`";
                return self.error(codes::WRONG_UNIT, "pools have no order", comparator.span, label);
            }
        };
        let ast::ExpressionKind::Path(path) = &pool.kind else {
            let label = "expected the name of a pool";
            return self.error(codes::WRONG_KIND, "a pool is compared with a pool", pool.span, label);
        };
        let Some(pool) = self.pool(path) else { return };
        let [left, right] = [Reading::CurrentPool(device), Reading::PoolItself(pool)].map(|reading| {
            let register = self.register();
            self.code.push(Instruction::Call { stmt, action: Action::Peek { reading, register } });
            Formula::Register(register)
        });
        let expect = self.expects.push(Expect::new(stmt, Demand::CurrentPool { not }));
        self.code.push(Instruction::Call { stmt, action: Action::Compare { expect, left, right } });
    }

    pub(super) fn create(&mut self, create: &Create) -> Option<Action> {
        let name = create.resource.name();
        let kind = kind_of(&create.resource);
        let reusing = match &create.reusing {
            Some(old) => self.handle(old, &[kind]).map(Some),
            None => Some(None),
        };
        let known = self.created_name(name, kind);
        let first = match &create.resource {
            Created::Stream { device, kind, priority, .. } => {
                let device = self.device(device.as_ref(), name.span);
                let setup = self.stream_setup(device, *kind, priority.as_ref());
                self.create_streams(name, setup)
            }
            Created::Event { device, interprocess, .. } => {
                let device = device.as_ref().map(|device| self.device(Some(device), device.span));
                let setup = EventSetup {
                    device: device.flatten(),
                    interprocess: *interprocess,
                    ..EventSetup::default()
                };
                self.create_events(name, setup)
            }
            Created::Pool(pool) => self.create_pools(pool),
        };
        let (nth, name, first) = self.made(name, kind, known, first)?;
        Some(Action::Create { nth, name, first, reusing: reusing? })
    }

    /// A line gives a name to what it makes: which such line it is, the name, and what that stands for the first time.
    pub(super) fn made(
        &mut self,
        name: &ast::Name,
        kind: Kind,
        known: Option<Option<Resource>>,
        first: Option<Resource>,
    ) -> Option<(usize, Resource, Resource)> {
        let known = known?;
        if known.is_none() {
            let meaning = first.map(|first| match first {
                Resource::Stream(base) => Meaning::Stream(Row { base, count: None }),
                Resource::Event(base) => Meaning::Event(Row { base, count: None }),
                Resource::Pool(pool) => Meaning::Pool(pool),
                Resource::Graph(_) | Resource::Exec(_) => unreachable!("a graph begins with a block"),
            });
            self.bind(name, kind, meaning);
        }
        let first = first?;
        let place = known.unwrap_or(first);
        let declared = self.table.get(&name.text).and_then(|binding| binding.span);
        self.follow(place, &name.text, declared.filter(|_| known.is_some()));
        let nth = self.resources.creates;
        self.resources.creates += 1;
        Some((nth, place, first))
    }

    pub(super) fn destroy(&mut self, path: &Path) -> Option<Action> {
        self.handle(path, &[Kind::Stream, Kind::Event, Kind::Pool, Kind::Graph, Kind::Exec])
            .map(Action::Destroy)
    }

    /// After a mistake, nothing is said about the lives of what the statement names.
    pub(super) fn resources_are_uncertain(&mut self, kind: &ast::CallKind) {
        let names = &mut self.resources.uncertain;
        match kind {
            ast::CallKind::Create(create) => {
                names.insert(create.resource.name().text.clone());
                let old = create.reusing.iter().flat_map(|path| path.segments.first());
                names.extend(old.map(|segment| segment.name.text.clone()));
            }
            ast::CallKind::Destroy(path) => {
                names.extend(path.segments.first().map(|segment| segment.name.text.clone()));
            }
            _ => {}
        }
    }

    /// Whether nothing is certain about the life of a name.
    pub(super) fn is_life_uncertain(&self, named: &Named) -> bool {
        self.resources.uncertain.contains(&named.name) || self.table.is_touched(&named.name)
    }

    /// Follows the life of a name from here on.
    pub(super) fn follow(&mut self, resource: Resource, name: &str, declared: Option<Span>) {
        if self.resources.named.iter().all(|named| named.resource != resource) {
            self.resources.named.push(Named { resource, name: name.to_owned(), declared });
        }
    }

    /// What a name that is to be created stands for so far; `Some(None)` for a new name.
    pub(super) fn created_name(&mut self, name: &ast::Name, kind: Kind) -> Option<Option<Resource>> {
        if default_stream_word(&name.text).is_some() {
            self.bind(name, kind, None);
            return None;
        }
        if self.table.get(&name.text).is_none() {
            return Some(None);
        }
        let (resource, count) = match self.resolve(name, &[kind])? {
            Meaning::Stream(row) => (Resource::Stream(row.base), row.count),
            Meaning::Event(row) => (Resource::Event(row.base), row.count),
            Meaning::Pool(pool) => (Resource::Pool(pool), None),
            _ => return None,
        };
        if count.is_some() {
            let message = format!("`{}` is an array, which exists from the start", name.text);
            self.error(codes::WRONG_INDEX, message, name.span, "expected a name without an index");
            return None;
        }
        Some(Some(resource))
    }

    /// What a name without or with an index holds.
    fn handle(&mut self, path: &Path, kinds: &[Kind]) -> Option<Handle> {
        let last = path.segments.last()?;
        if default_stream_word(&last.name.text).is_some() {
            let message = format!("`{}` is a default stream, which exists always", last.name.text);
            self.error(codes::WRONG_KIND, message, path.span, "expected what can be created and destroyed");
            return None;
        }
        let [segment] = path.segments.as_slice() else { return self.pool(path).map(Handle::Pool) };
        let declared = self.table.get(&segment.name.text).and_then(|binding| binding.span);
        let (handle, resource) = match self.resolve(&segment.name, kinds)? {
            Meaning::Stream(row) => {
                let stream: Chosen<StreamId> = self.element(row, segment)?;
                (Handle::Stream(stream), Resource::Stream(row.base))
            }
            Meaning::Event(row) => {
                let event: Chosen<EventId> = self.element(row, segment)?;
                (Handle::Event(event), Resource::Event(row.base))
            }
            Meaning::Pool(pool) => {
                self.no_index(segment)?;
                (Handle::Pool(pool), Resource::Pool(pool))
            }
            Meaning::Graph(row) => (Handle::Graph(self.element(row, segment)?), Resource::Graph(row.base)),
            Meaning::Exec(row) => (Handle::Exec(self.element(row, segment)?), Resource::Exec(row.base)),
            _ => return None,
        };
        if segment.index.is_none() {
            self.follow(resource, &segment.name.text, declared);
        }
        Some(handle)
    }

    // ---- The things themselves

    fn create_streams(&mut self, name: &ast::Name, setup: Option<StreamSetup>) -> Option<Resource> {
        let count = self.executions(name, self.setup.streams.len(), STREAMS_MAX, "streams")?;
        let first = StreamId::from_usize(self.setup.streams.len());
        let setup = setup?;
        for _ in 0..count {
            let called = self.generation_of(&name.text);
            self.names.streams.push(called);
            let stream = self.setup.streams.push(setup);
            self.setup.created.push(Resource::Stream(stream));
        }
        Some(Resource::Stream(first))
    }

    fn create_pools(&mut self, pool: &ast::Pool) -> Option<Resource> {
        let setup = self.pool_setup(pool);
        self.new_pools(&pool.name, setup)
    }

    pub(super) fn new_pools(&mut self, name: &ast::Name, setup: Option<PoolSetup>) -> Option<Resource> {
        let count = self.executions(name, self.setup.pools.len(), POOLS_MAX, "pools")?;
        let first = PoolId::from_usize(self.setup.pools.len());
        let setup = setup?;
        for _ in 0..count {
            let called = self.generation_of(&name.text);
            self.names.pools.push(called);
            let pool = self.setup.pools.push(setup);
            self.setup.created.push(Resource::Pool(pool));
        }
        Some(Resource::Pool(first))
    }

    /// How often a `create` is carried out, with all loops unrolled.
    pub(super) fn executions(
        &mut self,
        name: &ast::Name,
        before: usize,
        most: u64,
        what: &str,
    ) -> Option<u64> {
        // Also a line that is never reached needs something that its name stands for.
        let count = self.turns.max(1);
        if count > most.saturating_sub(before as u64) {
            let message = format!("`{}` brings the number of {what} above {most}", name.text);
            let label = format!("created {count} times");
            let diagnostic = Diagnostic::error(codes::TOO_MANY_NAMES, message, name.span, label);
            self.tell(diagnostic.note("those that are destroyed count too, with all loops unrolled"));
            return None;
        }
        Some(count)
    }

    /// What reports call the next thing of a name: `s`, then `s(2)`.
    pub(super) fn generation_of(&mut self, name: &str) -> String {
        let known = u64::from(self.table.get(name).is_some());
        let called = self.reported(name);
        self.generation(called, known)
    }

    /// The same for what is called so, of which there are so many already.
    pub(super) fn generation(&mut self, called: String, known: u64) -> String {
        let generation = self.resources.generations.entry(called.clone()).or_insert(known);
        *generation += 1;
        if *generation == 1 { called } else { format!("{called}({generation})") }
    }
}

fn kind_of(resource: &Created) -> Kind {
    match resource {
        Created::Stream { .. } => Kind::Stream,
        Created::Event { .. } => Kind::Event,
        Created::Pool(_) => Kind::Pool,
    }
}
