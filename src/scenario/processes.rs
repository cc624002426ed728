//! Processes, and what they share.
//!
//! A process has names of its own, and so are its streams, events and pools; devices, kernels and values are those of the text
//! around. What is exported has a name that all processes know. Signals and barriers reach across processes too.

use super::blocks::Block;
use super::check::Checker;
use super::names::{Kind, NameTable};
use super::threads::Within;
use super::{Action, Chosen, ExportOf, ImportInto, Outcome, codes};
use crate::base::{DeviceId, Diagnostic, PoolId, ProcessId, SignalId, Span, nearest};
use crate::syntax::ast::{self, ImportPlace, Path};
use crate::trace::{
    Attributes, DeviceSet, DeviceSetup, EventSetup, HandleType, Location, PoolSetup, Resource,
};
use std::collections::{BTreeMap, BTreeSet};

/// The process that is read.
pub(super) struct Process {
    pub(super) id: ProcessId,
    /// What stands before its names in reports; empty for the one that begins.
    prefix: String,
    /// The devices as it knows them.
    pub(super) devices: Vec<DeviceId>,
    /// The names of the text around that are not its own.
    pub(super) hidden: BTreeSet<String>,
}

impl Process {
    /// The one that begins the program.
    pub(super) fn first() -> Self {
        let (prefix, devices, hidden) = (String::new(), Vec::new(), BTreeSet::new());
        Self { id: ProcessId::new(0), prefix, devices, hidden }
    }
}

/// Everything that is exported or imported, by its name.
pub(super) type Shares = BTreeMap<String, Share>;

/// What is exported under a name, and imported.
pub(super) struct Share {
    signal: SignalId,
    exported: Option<Shared>,
    imported: Vec<Shared>,
    /// An export under that name has a mistake.
    is_uncertain: bool,
}

/// A pool, a buffer or an event.
#[derive(Clone, Copy)]
struct Shared {
    kind: Kind,
    /// Of a pool, where it is.
    location: Option<Location>,
    span: Span,
}

impl Checker<'_> {
    /// What reports call a name of this process.
    pub(super) fn reported(&self, name: &str) -> String {
        format!("{}{name}", self.process.prefix)
    }

    pub(super) fn first_device(&self) -> Option<DeviceId> {
        self.process.devices.first().copied()
    }

    pub(super) fn process(&mut self, span: Span, process: &ast::Process) {
        let stmt = self.begin(span, Outcome::Succeeds);
        let name = ast::Segment { name: process.name.clone(), index: None };
        let id =
            ProcessId::from_usize(self.setup.processes.iter().map(|id| id.index()).max().unwrap_or(0) + 1);
        let row =
            self.new_threads(&name, Kind::Process).filter(|_| self.has_room_for_devices(process.name.span));
        let Some((row, _)) = row else { return self.block(Block::Broken, &process.body.items) };
        self.setup.processes[row.base] = id;
        let prefix = format!("{}.", process.name.text);
        let devices = self.devices_of(id, &prefix);
        let known: BTreeMap<DeviceId, DeviceId> =
            self.process.devices.iter().copied().zip(devices.iter().copied()).collect();
        let table = NameTable::of_process(&process.body.items, self.text, &self.table, &known);
        let hidden = self.table.hidden_from(&table);
        let around = std::mem::replace(&mut self.table, table);
        let first = std::mem::replace(&mut self.process, Process { id, prefix, devices, hidden });
        self.spawned(stmt, Chosen { base: row.base, index: None }, |checker| {
            checker.enter(Block::Process);
            checker.within.push(Within { row, index: None, loops: Vec::new() });
            checker.items(&process.body.items);
            checker.within.pop();
            checker.leave();
        });
        self.process = first;
        let own = std::mem::replace(&mut self.table, around);
        self.table.share(own);
    }

    fn has_room_for_devices(&mut self, place: Span) -> bool {
        let most = DeviceSet::DEVICES_MAX;
        let fits = self.setup.devices.len() + self.process.devices.len() <= most;
        if !fits {
            let message = format!("this process brings the number of devices above {most}");
            let diagnostic = Diagnostic::error(codes::TOO_MANY_NAMES, message, place, "");
            self.tell(diagnostic.note("those of each process count"));
        }
        fits
    }

    /// The devices as a further process knows them.
    fn devices_of(&mut self, process: ProcessId, prefix: &str) -> Vec<DeviceId> {
        let devices = self.process.devices.clone();
        let own = |device: &DeviceId| {
            let same = self.setup.devices[*device];
            let setup = DeviceSetup { process, same_as: Some(*device), peers: DeviceSet::NONE, ..same };
            let id = self.setup.devices.push(setup);
            let name = self.names.devices[*device].clone();
            self.names.pools.push(format!("{prefix}{name}.default_pool"));
            self.names.owners.push(format!("{prefix}{name}"));
            self.names.devices.push(name);
            self.default_pools.push(self.setup.pools.push(PoolSetup { process, ..PoolSetup::on(id) }));
            id
        };
        devices.iter().map(own).collect()
    }

    /// A further process knows the same devices as peers.
    pub(super) fn peers_of_processes(&mut self) {
        let devices = self.setup.devices.clone();
        for (id, device) in devices.iter_enumerated() {
            let Some(own) = device.same_as else { continue };
            let of_process = devices.iter_enumerated().filter(|(_, other)| other.process == device.process);
            for (other, setup) in of_process {
                let is_peer = setup.same_as.is_some_and(|same| devices[own].peers.contains(same));
                self.setup.devices[id].peers.set(other, is_peer);
            }
        }
    }

    // ---- Exports and imports

    fn shared(&mut self, under: &ast::Name) -> &mut Share {
        if !self.shares.contains_key(&under.text) {
            let signal = self.names.signals.push(under.text.clone());
            // Nobody has to import it.
            self.signals.push(super::check::Signal { given: None, awaited: true });
            self.names.shares.insert(signal);
            let share = Share { signal, exported: None, imported: Vec::new(), is_uncertain: false };
            self.shares.insert(under.text.clone(), share);
        }
        self.shares.get_mut(&under.text).expect("it is there by now")
    }

    /// `export p as hp`
    pub(super) fn export(&mut self, what: &Path, under: &ast::Name) -> Option<Action> {
        let exported = self.exported(what);
        let span = under.span;
        let share = self.shared(under);
        share.is_uncertain |= exported.is_none();
        let (exported, kind, location) = exported?;
        let signal = share.signal;
        if let Some(first) = share.exported.replace(Shared { kind, location, span }) {
            let message = format!("two lines export something as `{}`", under.text);
            let diagnostic = Diagnostic::error(codes::DUPLICATE_NAME, message, span, "give it another name");
            self.tell(diagnostic.also(first.span, "the first one"));
        }
        Some(Action::Export { what: exported, under: signal })
    }

    fn exported(&mut self, what: &Path) -> Option<(ExportOf, Kind, Option<Location>)> {
        let pool = |checker: &mut Self, pool: PoolId| {
            let location = checker.setup.pools[pool].location;
            Some((ExportOf::Pool(pool), Kind::Pool, Some(location)))
        };
        let [segment] = what.segments.as_slice() else {
            let id = self.pool(what)?;
            return pool(self, id);
        };
        match self.kind_of(&segment.name) {
            Some(Kind::Pool) => {
                let id = self.pool(what)?;
                pool(self, id)
            }
            Some(Kind::Event) => {
                let event = self.event(what)?;
                Some((ExportOf::Event(event), Kind::Event, None))
            }
            Some(Kind::Buffer) => {
                let buffer = self.buffer(what)?;
                Some((ExportOf::Memory(buffer), Kind::Buffer, None))
            }
            _ => {
                self.resolve(&segment.name, &[Kind::Pool, Kind::Buffer, Kind::Event]);
                None
            }
        }
    }

    fn imported(&mut self, under: &ast::Name, kind: Kind, location: Option<Location>) -> SignalId {
        let share = self.shared(under);
        share.imported.push(Shared { kind, location, span: under.span });
        share.signal
    }

    /// `q = import hp on gpu0`, `y = import hx from q`, `r = import hr`
    pub(super) fn import(&mut self, import: &ast::Import) -> Option<Action> {
        let into = match &import.place {
            ImportPlace::From(pool) => {
                self.imported(&import.under, Kind::Buffer, None);
                let (buffer, pool) = (self.allocated(&import.name), self.pool(pool));
                ImportInto::Memory { buffer: buffer?, pool: pool? }
            }
            ImportPlace::On(location) => {
                let location = self.location_of(location, import.name.span);
                self.imported(&import.under, Kind::Pool, location);
                let name = self.only_segment(&import.name, Kind::Pool)?;
                self.no_index(name)?;
                let known = self.created_name(&name.name, Kind::Pool);
                let first = location.and_then(|location| self.import_pools(&name.name, location));
                let (nth, name, first) = self.made(&name.name, Kind::Pool, known, first)?;
                ImportInto::Resource { nth, name, first }
            }
            ImportPlace::Nothing => {
                self.imported(&import.under, Kind::Event, None);
                let name = self.only_segment(&import.name, Kind::Event)?;
                self.no_index(name)?;
                let known = self.created_name(&name.name, Kind::Event);
                let first = self.create_events(&name.name, EventSetup::default());
                let (nth, name, first) = self.made(&name.name, Kind::Event, known, first)?;
                ImportInto::Resource { nth, name, first }
            }
        };
        Some(Action::Import { under: self.shared(&import.under).signal, into })
    }

    fn import_pools(&mut self, name: &ast::Name, location: Location) -> Option<Resource> {
        let setup = PoolSetup {
            location,
            attributes: Attributes::default(),
            max_size: None,
            handle: HandleType::None,
            imported: true,
            process: self.process.id,
        };
        self.new_pools(name, Some(setup))
    }

    /// Each import is of what is exported under that name, if anything is.
    pub(super) fn pair_shares(&mut self) {
        let shares = std::mem::take(&mut self.shares);
        for (name, Share { exported, imported, is_uncertain, .. }) in &shares {
            for import in imported {
                match exported {
                    Some(exported) => self.compare_shared(name, *exported, *import),
                    None if *is_uncertain || self.table.has_broken_lines => {}
                    None => self.no_export(name, import.span, &shares),
                }
            }
        }
    }

    fn no_export(&mut self, name: &str, place: Span, shares: &Shares) {
        let message = format!("nothing is exported as `{name}`");
        let diagnostic = Diagnostic::error(codes::UNKNOWN_NAME, message, place, "expected what is exported");
        let exported = shares.iter().filter(|(_, share)| share.exported.is_some());
        self.tell(match nearest(name, exported.map(|(name, _)| name.as_str())) {
            Some(meant) => diagnostic.fix(format!("did you mean `{meant}`?"), place, meant),
            None => diagnostic.help(format!("another process exports it: `export POOL as {name}`")),
        });
    }

    fn compare_shared(&mut self, name: &str, exported: Shared, import: Shared) {
        let is_here = |location: Location| match location {
            Location::Device(device) => Location::Device(self.setup.physical(device)),
            location => location,
        };
        let (form, message) = match exported.kind {
            kind if kind != import.kind => {
                let (is, wanted) = (kind.with_article(), import.kind.with_article());
                (kind, format!("`{name}` is {is}, and {wanted} is imported here"))
            }
            Kind::Pool if exported.location.map(is_here) != import.location.map(is_here) => {
                (Kind::Pool, format!("the pool `{name}` is not there"))
            }
            _ => return,
        };
        let help = match form {
            Kind::Pool => format!("a pool is imported where it is: `NAME = import {name} on DEVICE`"),
            Kind::Buffer => format!("a buffer is imported from its pool: `NAME = import {name} from POOL`"),
            _ => format!("an event is imported by `NAME = import {name}`"),
        };
        let diagnostic = Diagnostic::error(codes::WRONG_KIND, message, import.span, "");
        self.tell(diagnostic.also(exported.span, "exported here").help(help));
    }

    /// What a name stands for here, or further down.
    pub(super) fn kind_of(&self, name: &ast::Name) -> Option<Kind> {
        self.table.get(&name.text).map(|binding| binding.kind).or_else(|| self.table.later(&name.text))
    }
}
