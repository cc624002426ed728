//! What of a text can be set from elsewhere, and what is said about a name that stands for nothing of that.

use crate::base::{Code, Diagnostic, Span, nearest};
use crate::syntax::ast::{Content, Device, File, Item, Let, Pool, Settings, Statement};
use std::collections::BTreeMap;

pub(super) const UNEXPECTED: Code = Code("unexpected");
pub(super) const UNKNOWN_NAME: Code = Code("unknown_name");
pub(super) const UNKNOWN_SETTING: Code = Code("unknown_setting");
pub(super) const WRONG_KIND: Code = Code("wrong_kind");

/// The settings of a pool that take a value.
pub(super) const POOL_SETTINGS: [&str; 2] = ["release_threshold", "max_size"];
/// The settings of a device that take one value.
pub const DEVICE_SETTINGS: [&str; 4] = ["memory", "driver", "memory_pools", "oversubscribe"];
/// The policies of a pool, each on or off.
pub(super) const POLICIES: [&str; 3] = ["follow_event", "opportunistic", "internal"];

/// A name that is to be set, at its place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Target<'t> {
    /// `scratch.release_threshold`
    pub(super) name: &'t str,
    /// Where it is written.
    pub(super) span: Span,
}

impl Target<'_> {
    /// The place of the first part of the name.
    fn owner(&self, owner: &str) -> Span {
        Span::new(self.span.start, self.span.start + owner.len() as u32)
    }

    /// The place of the last part of the name.
    pub(super) fn setting(&self, setting: &str) -> Span {
        Span::new(self.span.end - setting.len() as u32, self.span.end)
    }
}

/// What a target stands for, with the setting that is meant.
#[derive(Clone, Copy, Debug)]
pub(super) enum Settable<'f, 't> {
    /// A named value.
    Value(&'f Let),
    /// A setting of a pool, known or not.
    Pool(&'f Item, &'f Pool, &'t str),
    /// A setting of a device.
    Device(&'f Item, &'f Device, &'t str),
    /// A setting of the device that is there without a line.
    OnlyDevice(&'t str),
    /// A setting of the profile, and its line, if there is one.
    Profile(Option<(&'f Item, &'f Settings)>, &'t str),
    /// A setting of the default pool of a device, and the line of that device, if it has one.
    DefaultPool(Option<(&'f Item, &'f Device)>),
}

/// Whether a word is one of those that can be set.
pub(super) fn known(word: &str, words: &[&str], owner: &str, to: &Target<'_>) -> Result<(), Box<Diagnostic>> {
    if words.contains(&word) {
        return Ok(());
    }
    let span = to.setting(word);
    let message = format!("{owner} has no setting called `{word}` that can be set here");
    let diagnostic = Diagnostic::error(UNKNOWN_SETTING, message, span, "");
    let words: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    Err(match nearest(word, words.iter().map(|word| word.trim_matches('`'))) {
        Some(near) => diagnostic.fix(format!("did you mean `{near}`?"), span, near),
        None => diagnostic.help(format!("there is {}", words.join(", "))),
    }
    .into())
}

/// What a text declares that can be set.
#[derive(Debug, Default)]
pub(super) struct Declared<'f> {
    devices: BTreeMap<&'f str, (&'f Item, &'f Device)>,
    pools: BTreeMap<&'f str, (&'f Item, &'f Pool)>,
    values: BTreeMap<&'f str, &'f Let>,
    profile: Option<(&'f Item, &'f Settings)>,
    /// The names of the settings of a profile.
    profile_settings: &'f [&'f str],
}

impl<'f> Declared<'f> {
    pub(super) fn of(file: &'f File, profile_settings: &'f [&'f str]) -> Self {
        let mut declared = Self { profile_settings, ..Self::default() };
        declared.read(&file.items);
        declared
    }

    fn read(&mut self, items: &'f [Item]) {
        for item in items {
            let Content::Statement(statement) = &item.content else { continue };
            match statement {
                Statement::Profile(settings) => self.profile = self.profile.or(Some((item, settings))),
                Statement::Device(device) => {
                    self.devices.entry(&device.name.text).or_insert((item, device));
                }
                Statement::Pool(pool) => {
                    self.pools.entry(&pool.name.text).or_insert((item, pool));
                }
                Statement::Let(value) => {
                    self.values.entry(&value.name.text).or_insert(value);
                }
                // Its names are its own.
                Statement::Process(_) => {}
                statement => {
                    if let Some(body) = statement.body() {
                        self.read(&body.items);
                    }
                }
            }
        }
    }

    /// What a target stands for, and the setting of it.
    pub(super) fn settable<'t>(&self, to: &Target<'t>) -> Result<Settable<'f, 't>, Box<Diagnostic>> {
        let parts: Vec<&str> = to.name.split('.').collect();
        match parts.as_slice() {
            [name] => match self.value(name) {
                Some(value) => Ok(Settable::Value(value)),
                None => Err(self.no_value(to).into()),
            },
            [owner, setting] => match (self.pool(owner), self.device(owner)) {
                (Some((item, pool)), _) => Ok(Settable::Pool(item, pool, setting)),
                (None, Some((item, device))) => {
                    known(setting, &DEVICE_SETTINGS, "a device", to)?;
                    Ok(Settable::Device(item, device, setting))
                }
                (None, None) if *owner == "profile" => {
                    known(setting, self.profile_settings, "the profile", to)?;
                    Ok(Settable::Profile(self.profile, setting))
                }
                (None, None) if *owner == "gpu0" && !self.has_devices() => {
                    known(setting, &DEVICE_SETTINGS, "a device", to)?;
                    Ok(Settable::OnlyDevice(setting))
                }
                (None, None) => Err(self.no_owner(owner, to).into()),
            },
            [device, "default_pool", setting] => {
                let line = match self.device(device) {
                    Some((item, device)) => Some((item, device)),
                    None if *device == "gpu0" && !self.has_devices() => None,
                    None => return Err(self.no_owner(device, to).into()),
                };
                let settings = ["release_threshold", POLICIES[0], POLICIES[1], POLICIES[2]];
                known(setting, &settings, "a default pool", to)?;
                Ok(Settable::DefaultPool(line))
            }
            _ => Err(self.no_value(to).into()),
        }
    }

    fn has_devices(&self) -> bool {
        !self.devices.is_empty()
    }

    fn device(&self, name: &str) -> Option<(&'f Item, &'f Device)> {
        self.devices.get(name).copied()
    }

    fn pool(&self, name: &str) -> Option<(&'f Item, &'f Pool)> {
        self.pools.get(name).copied()
    }

    fn value(&self, name: &str) -> Option<&'f Let> {
        self.values.get(name).copied()
    }

    /// Nothing of this name has a value of its own.
    fn no_value(&self, to: &Target<'_>) -> Diagnostic {
        let name = to.name;
        let is_owner = self.pool(name).is_some() || self.device(name).is_some();
        if is_owner || name.contains('.') {
            let message = match is_owner {
                true => format!("`{name}` has settings, and none of them is named"),
                false => format!("`{name}` is nothing that can be set"),
            };
            let diagnostic = Diagnostic::error(WRONG_KIND, message, to.span, "expected `POOL.setting`");
            return diagnostic.help("such as `scratch.release_threshold`");
        }
        let values = self.values.keys().copied();
        let message = format!("no `let` is called `{name}`");
        let diagnostic =
            Diagnostic::error(UNKNOWN_NAME, message, to.span, "expected a name that a `let` gives");
        match nearest(name, values) {
            Some(near) => diagnostic.fix(format!("did you mean `{near}`?"), to.span, near),
            None => {
                diagnostic.help("a pool's setting is written `POOL.setting`, a device's memory `gpu0.memory`")
            }
        }
    }

    /// There is no pool and no device of this name.
    fn no_owner(&self, owner: &str, to: &Target<'_>) -> Diagnostic {
        let span = to.owner(owner);
        let pools = self.pools.keys().copied();
        let devices = self.devices.keys().copied();
        let message = format!("no pool and no device is called `{owner}`");
        let diagnostic = Diagnostic::error(UNKNOWN_NAME, message, span, "");
        match nearest(owner, pools.chain(devices)) {
            Some(near) => diagnostic.fix(format!("did you mean `{near}`?"), span, near),
            None => diagnostic.help("the default pool of a device is `gpu0.default_pool`"),
        }
    }
}
