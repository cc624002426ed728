//! Declarations: devices, pools, streams, events, kernels, named values.

use super::check::{Checker, Kernel};
use super::life::POOLS_MAX;
use super::names::{Binding, Kind, Meaning, Row};
use super::profile::Stated;
use super::threads::Within;
use super::value::Value;
use super::{Chosen, Instruction, Outcome, Unit, codes};
use crate::base::{Bytes, DeviceId, Diagnostic, HostId, KernelId, Nanos, Span, StreamId, nearest};
use crate::syntax::ast::{self, Setting, SettingValue, Settings};
use crate::trace::{
    Access, Attributes, DeviceSet, DeviceSetup, HandleType, Law, Model, PoolSetup, Reuse, Setup, StreamKind,
    StreamSetup,
};
use std::collections::BTreeMap;

/// How many streams there may be. Progress is told by one counter a stream.
pub(super) const STREAMS_MAX: u64 = 4_096;
/// How many devices there may be.
const DEVICES_MAX: usize = DeviceSet::DEVICES_MAX;
/// How many counters there may be: events, signals, threads, devices and pools keep one or more for each stream.
const COUNTERS_MAX: u64 = 1 << 26;
/// What a pool keeps for a stream, in counters.
const COUNTERS_OF_A_POOL: usize = 64;

/// The model of that name, which is written there.
///
/// # Errors
///
/// There is none.
pub fn model_named(name: &str, span: Span) -> Result<Model, Box<Diagnostic>> {
    Model::named(name).ok_or_else(|| {
        let models = Model::ALL.map(Model::name);
        let message = format!("there is no model called `{name}`");
        let diagnostic = Diagnostic::error(codes::UNKNOWN_MODEL, message, span, "");
        Box::new(match nearest(name, models) {
            Some(near) => diagnostic.fix(format!("did you mean `{near}`?"), span, near),
            None => diagnostic.help(format!("there are `{}`", models.join("` and `"))),
        })
    })
}

impl Checker<'_> {
    /// Without a line about a device, there is one.
    pub(super) fn default_device(&mut self) {
        if !self.table.has_devices {
            let device = self.new_device("gpu0", Stated::default());
            let meaning = Some(Meaning::Device(device));
            self.table.bind("gpu0", Binding { kind: Kind::Device, meaning, span: None });
        }
    }

    pub(super) fn declare_title(&mut self, title: &ast::Name) {
        match self.title.as_ref().map(|first| first.span) {
            None => self.title = Some(title.clone()),
            Some(first) => {
                let diagnostic = Diagnostic::error(
                    codes::DUPLICATE_SETTING,
                    "a scenario has one title",
                    title.span,
                    "this is a second one",
                );
                self.tell(diagnostic.also(first, "the first one"));
            }
        }
    }

    pub(super) fn declare_model(&mut self, model: &ast::Name) {
        if let Some(first) = self.model.replace(model.span) {
            let message = "a scenario has one model";
            let diagnostic =
                Diagnostic::error(codes::DUPLICATE_SETTING, message, model.span, "this is a second one");
            return self.tell(diagnostic.also(first, "the first one"));
        }
        match model_named(&model.text, model.span) {
            Ok(known) => self.setup.model = known,
            Err(diagnostic) => self.tell(*diagnostic),
        }
    }

    pub(super) fn declare_device(&mut self, device: &ast::Device) {
        let (mut stated, mut peers) = (Stated::default(), Vec::new());
        let known = ["memory", "peers", "driver", "memory_pools", "oversubscribe"];
        for (setting, name) in self.settings(&device.settings, "device", &known) {
            if name == "peers" {
                peers = self.peer_names(setting);
                continue;
            }
            self.device_setting(&mut stated, setting, name);
        }
        if self.table.get(&device.name.text).is_some() {
            self.bind(&device.name, Kind::Device, None);
            return;
        }
        if self.setup.devices.len() == DEVICES_MAX {
            let message = format!("`{}` brings the number of devices above {DEVICES_MAX}", device.name.text);
            self.error(codes::TOO_MANY_NAMES, message, device.name.span, "");
        }
        let id = self.new_device(&device.name.text, stated);
        self.peers.extend(peers.into_iter().map(|peer| (id, peer)));
        self.bind(&device.name, Kind::Device, Some(Meaning::Device(id)));
    }

    fn new_device(&mut self, name: &str, stated: Stated) -> DeviceId {
        let mut setup = DeviceSetup::new(self.profile.memory);
        stated.complete(&mut setup, &self.profile);
        let device = self.setup.devices.push(setup);
        self.stated.push((device, stated));
        self.process.devices.push(device);
        self.names.devices.push(name.to_owned());
        self.names.owners.push(name.to_owned());
        self.default_pools.push(self.setup.pools.push(PoolSetup::on(device)));
        self.names.pools.push(format!("{name}.default_pool"));
        device
    }

    pub(super) fn declare_pool(&mut self, pool: &ast::Pool) {
        let setup = self.pool_setup(pool).filter(|setup| self.is_possible(pool, setup));
        if self.setup.pools.len() as u64 >= POOLS_MAX {
            let message = format!("`{}` brings the number of pools above {POOLS_MAX}", pool.name.text);
            self.error(codes::TOO_MANY_NAMES, message, pool.name.span, "");
        }
        let meaning = setup.map(|setup| {
            let called = self.reported(&pool.name.text);
            self.names.pools.push(called);
            Meaning::Pool(self.setup.pools.push(setup))
        });
        self.bind(&pool.name, Kind::Pool, meaning);
    }

    /// What the line of a pool says about it.
    pub(super) fn pool_setup(&mut self, pool: &ast::Pool) -> Option<PoolSetup> {
        let location = self.location(pool);
        let mut attributes = Attributes::default();
        let (mut max_size, mut handle) = (None, HandleType::None);
        let known = ["release_threshold", "max_size", "reuse", "handle"];
        for (setting, name) in self.settings(&pool.settings, "pool", &known) {
            if name == "reuse" {
                attributes.reuse = self.reuse(setting).unwrap_or(attributes.reuse);
                continue;
            }
            if name == "handle" {
                handle = self.handle_type(setting).unwrap_or(handle);
                continue;
            }
            let Some(value) = self.setting_value(setting, "a size such as `1GiB`") else { continue };
            let Some(size) = self.constant_size(value) else { continue };
            match name {
                "release_threshold" => attributes.release_threshold = size,
                // As in CUDA, 0 is no limit of its own.
                _ => max_size = Some(size).filter(|size| *size != Bytes::ZERO),
            }
        }
        let (imported, process) = (false, self.process.id);
        Some(PoolSetup { location: location?, attributes, max_size, handle, imported, process })
    }

    /// The settings of known names, each at most once.
    pub(super) fn settings<'s>(
        &mut self,
        settings: &'s Settings,
        owner: &str,
        known: &[&'static str],
    ) -> Vec<(&'s Setting, &'static str)> {
        let mut seen: BTreeMap<&str, Span> = BTreeMap::new();
        let mut valid = Vec::new();
        for setting in settings.iter() {
            let what = format!("setting of a {owner} called");
            let known = known.iter().map(|name| (*name, *name));
            let Some(name) = self.word(&setting.name, codes::UNKNOWN_SETTING, &what, known) else { continue };
            if let Some(first) = seen.insert(name, setting.name.span) {
                let message = format!("`{name}` is set twice");
                let diagnostic = Diagnostic::error(codes::DUPLICATE_SETTING, message, setting.name.span, "");
                self.tell(diagnostic.also(first, "the first time"));
                continue;
            }
            valid.push((setting, name));
        }
        valid
    }

    pub(super) fn setting_value<'s>(
        &mut self,
        setting: &'s Setting,
        wanted: &str,
    ) -> Option<&'s ast::Expression> {
        match &setting.value {
            SettingValue::Expression(value) => Some(value),
            SettingValue::List { span, .. } => {
                let message = format!("`{}` takes one value, not a list", setting.name.text);
                self.error(codes::WRONG_UNIT, message, *span, &format!("expected {wanted}"));
                None
            }
        }
    }

    fn reuse(&mut self, setting: &Setting) -> Option<Reuse> {
        let mut reuse = Reuse { follow_event: false, opportunistic: false, internal: false };
        let words = match &setting.value {
            SettingValue::List { words, .. } => words,
            SettingValue::Expression(value) => {
                let label = "expected a list such as `[follow_event, internal]`";
                let message = "`reuse` takes a list of policies";
                let diagnostic = Diagnostic::error(codes::WRONG_UNIT, message, value.span, label);
                let list = format!("[{}]", &self.text[value.span.range()]);
                self.tell(match value.kind {
                    ast::ExpressionKind::Path(_) => diagnostic.fix("write a list", value.span, list),
                    _ => diagnostic,
                });
                return None;
            }
        };
        for word in words {
            let known = [("follow_event", 0), ("opportunistic", 1), ("internal", 2)];
            match self.word(word, codes::UNKNOWN_POLICY, "reuse policy", known)? {
                0 => reuse.follow_event = true,
                1 => reuse.opportunistic = true,
                _ => reuse.internal = true,
            }
        }
        Some(reuse)
    }

    /// The device that a line names, or the only one.
    pub(super) fn device(&mut self, name: Option<&ast::Name>, declared: Span) -> Option<DeviceId> {
        if let Some(name) = name {
            return match self.resolve(name, &[Kind::Device])? {
                Meaning::Device(device) => Some(device),
                _ => None,
            };
        }
        match self.process.devices.as_slice() {
            [only] => Some(*only),
            // Its declaration has a mistake, or comes later.
            [] => {
                if !self.table.has_broken_lines {
                    let label = "the declaration of a device must come first";
                    self.error(codes::DEVICE_NEEDED, "there is no device yet", declared, label);
                }
                None
            }
            _ => {
                let names = self.process.devices.iter().map(|device| &self.names.devices[*device]);
                let names = names.map(|name| format!("`on {name}`"));
                let help = format!("write {} behind the name", super::check::one_of(names));
                let message = "there are several devices";
                let diagnostic = Diagnostic::error(codes::DEVICE_NEEDED, message, declared, "on which one?");
                self.tell(diagnostic.help(help));
                None
            }
        }
    }

    pub(super) fn declare_streams(&mut self, streams: &ast::Streams) {
        let place = streams.names.first().map_or(Span::default(), |declared| declared.name.span);
        let device = self.device(streams.device.as_ref(), place);
        let setup = self.stream_setup(device, streams.kind, streams.priority.as_ref());
        for declared in &streams.names {
            let count = self.array(declared, self.setup.streams.len() as u64, STREAMS_MAX);
            let meaning = setup.zip(count).map(|(setup, count)| {
                let base = StreamId::from_usize(self.setup.streams.len());
                for name in element_names(declared, count) {
                    self.setup.streams.push(setup);
                    let called = self.reported(&name);
                    self.names.streams.push(called);
                }
                Meaning::Stream(Row { base, count })
            });
            self.bind(&declared.name, Kind::Stream, meaning);
        }
    }

    /// What a line says about a stream. A priority beyond those that devices have becomes the nearest one, as in CUDA.
    pub(super) fn stream_setup(
        &mut self,
        device: Option<DeviceId>,
        kind: Option<ast::StreamKind>,
        priority: Option<&ast::Name>,
    ) -> Option<StreamSetup> {
        let kind = match kind {
            Some(ast::StreamKind::NonBlocking) => StreamKind::NonBlocking,
            _ => StreamKind::Blocking,
        };
        let mut setup = StreamSetup::new(device?, kind);
        if let Some(priority) = priority {
            let Ok(number) = priority.text.parse::<i32>() else {
                let label = "expected a number of 32 bits, such as -1";
                let message = format!("{} is no priority of a stream", priority.text);
                self.error(codes::VALUE_OUT_OF_RANGE, message, priority.span, label);
                return None;
            };
            let (greatest, least) = StreamSetup::PRIORITIES.into_inner();
            setup.priority = number.clamp(greatest, least);
        }
        Some(setup)
    }

    /// Tells it when there are too many things that know where each stream is, for all their counters to be kept.
    pub(super) fn count_counters(&mut self, last: Span) {
        let Setup { devices, pools, streams, hosts, collectives, .. } = &self.setup;
        let rows =
            self.names.events.len() + self.names.signals.len() + collectives.len() + hosts + devices.len();
        let rows = (rows + COUNTERS_OF_A_POOL * pools.len()) as u64;
        let counters = rows.saturating_mul(streams.len() as u64);
        if counters > COUNTERS_MAX && !self.has_too_many_counters {
            self.has_too_many_counters = true;
            let (events, pools, streams) = (self.names.events.len(), pools.len(), streams.len());
            let message = "there are too many events, pools and streams together";
            let label = format!("{events} events and signals, {pools} pools, {streams} streams by here");
            let diagnostic = Diagnostic::error(codes::TOO_MANY_NAMES, message, last, label);
            self.tell(diagnostic.note("each of them keeps a counter for each stream"));
        }
    }

    /// A default stream, which exists from its first use on. Each thread has its own `per_thread`, and another one each time
    /// that it is started.
    pub(super) fn default_stream(
        &mut self,
        device: DeviceId,
        word: &'static str,
        span: Span,
    ) -> Option<Chosen<StreamId>> {
        let within = self.within.last().filter(|_| word == "per_thread").cloned();
        let host = within.as_ref().map_or(HostId::from_usize(0), |within| within.row.base);
        let index = within.as_ref().and_then(Within::start);
        if let Some(base) = self.default_streams.get(&(device, word, host)) {
            return Some(Chosen { base: *base, index: index.map(Box::new) });
        }
        let count = within.as_ref().map_or(1, |_| self.turns_of_thread());
        if count > STREAMS_MAX.saturating_sub(self.setup.streams.len() as u64) {
            let message = format!("`{word}` brings the number of streams above {STREAMS_MAX}");
            let label = format!("the thread is started {count} times, each time with a stream of its own");
            self.error(codes::TOO_MANY_NAMES, message, span, &label);
            return None;
        }
        let base = StreamId::from_usize(self.setup.streams.len());
        let of_device = match self.first_device() == Some(device) {
            true => word.to_owned(),
            false => format!("{}.{word}", self.names.devices[device]),
        };
        for start in 0..count {
            let kind = if word == "legacy" { StreamKind::Legacy } else { StreamKind::PerThread };
            self.setup.streams.push(StreamSetup::new(device, kind));
            let name = match &within {
                None => self.reported(&of_device),
                Some(within) => {
                    let called = format!("{}.{of_device}", self.names.hosts[within.host(start)]);
                    self.generation(called, 0)
                }
            };
            self.names.streams.push(name);
        }
        self.default_streams.insert((device, word, host), base);
        Some(Chosen { base, index: index.map(Box::new) })
    }

    /// How often the thread that is read is started, with all loops unrolled.
    fn turns_of_thread(&self) -> u64 {
        let loops = self.within.last().into_iter().flat_map(|within| &within.loops);
        loops.fold(1, |starts: u64, (_, turns)| starts.saturating_mul(turns.end - turns.start)).max(1)
    }

    /// The number of elements; `Some(None)` for a name without brackets, `None` for a mistake.
    pub(super) fn array(&mut self, declared: &ast::Declared, before: u64, most: u64) -> Option<Option<u64>> {
        let Some(expression) = &declared.count else { return Some(None) };
        let count = self.constant_count(expression)?;
        if count == 0 {
            let label = "expected at least 1";
            self.error(
                codes::VALUE_OUT_OF_RANGE,
                "an array has at least one element",
                expression.span,
                label,
            );
            return None;
        }
        if count > most.saturating_sub(before) {
            let most = crate::base::grouped(most);
            let message = format!("`{}` brings their number above {most}", declared.name.text);
            self.error(codes::TOO_MANY_NAMES, message, expression.span, &format!("{most} are the most"));
            return None;
        }
        Some(Some(count))
    }

    pub(super) fn declare_kernel(&mut self, kernel: &ast::Kernel) {
        let law = self.law(&kernel.takes);
        let uses = self.parameters(&kernel.parameters);
        let id = KernelId::from_usize(self.kernels.len());
        if self.bind(&kernel.name, Kind::Kernel, Some(Meaning::Kernel(id))) {
            let last = kernel.parameters.last().map_or(kernel.name.span, |last| last.name.span);
            self.kernels.push(Kernel { uses, parameters: kernel.name.span.to(last), law });
            self.names.kernels.push(kernel.name.text.clone());
        }
    }

    /// What is done with each parameter.
    pub(super) fn parameters(&mut self, parameters: &[ast::Parameter]) -> Vec<Access> {
        let mut seen: BTreeMap<&str, Span> = BTreeMap::new();
        for parameter in parameters {
            if let Some(first) = seen.insert(&parameter.name.text, parameter.name.span) {
                let message = format!("two parameters are called `{}`", parameter.name.text);
                let diagnostic = Diagnostic::error(codes::DUPLICATE_NAME, message, parameter.name.span, "");
                self.tell(diagnostic.also(first, "the first one"));
            }
        }
        parameters.iter().map(|parameter| access(parameter.access)).collect()
    }

    pub(super) fn law(&mut self, law: &ast::Law) -> Option<Law> {
        let (low, high) = match law {
            ast::Law::Constant(value) => return self.constant_duration(value).map(Law::Constant),
            ast::Law::Range(low, high) | ast::Law::Uniform(low, high) => (low, high),
            ast::Law::Normal(mean, deviation) => {
                let (mean, deviation) = (self.constant_duration(mean), self.constant_duration(deviation));
                return Some(Law::Normal { mean: mean?, deviation: deviation? });
            }
            ast::Law::Around(middle, percent) => return self.around(middle, percent),
        };
        let span = low.span.to(high.span);
        let (low, high) = (self.constant_duration(low), self.constant_duration(high));
        let (low, high): (Nanos, Nanos) = (low?, high?);
        if low >= high {
            let label = "the longest duration must be above the shortest";
            let message = format!("there is nothing to draw between {low} and {high}");
            self.error(codes::EMPTY_RANGE, message, span, label);
            return None;
        }
        Some(Law::Uniform { low, high })
    }

    /// `10us +- 20%`: everything from 8us to 12us.
    fn around(&mut self, middle: &ast::Expression, percent: &ast::Name) -> Option<Law> {
        let duration = self.constant_duration(middle)?;
        let part = percent.text.trim_end_matches('%').parse::<u8>().ok().filter(|part| *part <= 100);
        let Some(part) = part else {
            let label = "expected at most `100%`";
            self.error(codes::VALUE_OUT_OF_RANGE, "a duration cannot be negative", percent.span, label);
            return None;
        };
        Some(Law::around(duration, part))
    }

    pub(super) fn declare_value(&mut self, span: Span, declared: &ast::Let) {
        let stmt = self.begin(span, Outcome::Succeeds);
        let value = self.value_with_reads(&declared.value, stmt).map(|value| {
            if value.as_constant().is_some() {
                return value;
            }
            let register = self.register();
            self.code.push(Instruction::Let { stmt, register, value: value.formula });
            Value { formula: super::Formula::Register(register), ..value }
        });
        self.bind(&declared.name, Kind::Value, value.map(Meaning::Value));
    }

    pub(super) fn memory_size(&mut self, value: &ast::Expression) -> Option<Bytes> {
        let size = self.constant_size(value)?;
        let (message, label) = match size {
            Bytes::ZERO => ("a device has some memory", "expected at least 1B".to_owned()),
            size if size > DeviceSetup::MEMORY_MAX => {
                ("no device has so much memory", format!("expected at most {}", DeviceSetup::MEMORY_MAX))
            }
            size => return Some(size),
        };
        self.error(codes::VALUE_OUT_OF_RANGE, message, value.span, &label);
        None
    }

    pub(super) fn constant_size(&mut self, value: &ast::Expression) -> Option<Bytes> {
        self.constant_natural(value, Unit::Bytes).map(Bytes)
    }

    pub(super) fn constant_duration(&mut self, value: &ast::Expression) -> Option<Nanos> {
        self.constant_natural(value, Unit::Nanos).map(Nanos)
    }

    pub(super) fn constant_count(&mut self, value: &ast::Expression) -> Option<u64> {
        self.constant_natural(value, Unit::Count)
    }
}

/// `worker[0]`, `worker[1]` of an array, else just the name.
pub(super) fn element_names(declared: &ast::Declared, count: Option<u64>) -> impl Iterator<Item = String> {
    let name = declared.name.text.as_str();
    (0..count.unwrap_or(1)).map(move |index| match count {
        Some(_) => format!("{name}[{index}]"),
        None => name.to_owned(),
    })
}

/// What is done with memory.
pub(super) fn access(access: ast::Access) -> Access {
    match access {
        ast::Access::Read => Access::Read,
        ast::Access::Write => Access::Write,
        ast::Access::ReadWrite => Access::ReadWrite,
    }
}
