//! The `profile` line: numbers and switches of the device and the driver that a text says itself.
//!
//! It knows how each is written; what they mean is the profile's and the allocator's affair.

use super::check::Checker;
use super::{Unit, codes};
use crate::base::{Bytes, Diagnostic, Nanos, Span};
use crate::profile::{self, Profile, ZeroSize};
use crate::syntax::ast::{ExpressionKind, Name, Setting, SettingValue, Settings};
use crate::trace::{DeviceSetup, HostCosts, Remap, Rules};

/// What the line of a device says itself; the profile says the rest.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Stated {
    memory: Option<Bytes>,
    driver: Option<u32>,
    memory_pools: Option<bool>,
    oversubscribe: Option<bool>,
}

impl Stated {
    pub(super) fn complete(&self, device: &mut DeviceSetup, profile: &Profile) {
        device.memory = self.memory.unwrap_or(profile.memory);
        device.driver = self.driver.unwrap_or(profile.driver);
        device.memory_pools = self.memory_pools.unwrap_or(profile.memory_pools);
        device.oversubscribe = self.oversubscribe.unwrap_or(profile.oversubscribe);
    }
}

const REMAP: [(&str, profile::Remap); 3] =
    [("off", profile::Remap::Off), ("idle", profile::Remap::Idle), ("full", profile::Remap::Full)];
const ZERO_SIZE: [(&str, ZeroSize); 2] =
    [("success", ZeroSize::Success), ("invalid_value", ZeroSize::InvalidValue)];

impl Checker<'_> {
    /// What it says holds for the whole text, also against a profile that is chosen for a run.
    pub(super) fn declare_profile(&mut self, span: Span, settings: &Settings) {
        if let Some(first) = self.profile_line.replace(span) {
            let message = "a scenario has one `profile`";
            let diagnostic =
                Diagnostic::error(codes::DUPLICATE_SETTING, message, span, "this is a second one");
            return self.tell(diagnostic.also(first, "the first one"));
        }
        let mut profile = self.profile.clone();
        for (setting, name) in self.settings(settings, "profile", &Profile::SETTINGS) {
            self.profile_setting(&mut profile, setting, name);
        }
        if let Err(error) = profile.check() {
            return self.error(codes::VALUE_OUT_OF_RANGE, error.to_string(), span, "");
        }
        self.setup.rules = rules(&profile);
        self.setup.host = costs(&profile);
        for (device, stated) in &self.stated {
            stated.complete(&mut self.setup.devices[*device], &profile);
        }
        for device in self.setup.devices.indices() {
            if let Some(same) = self.setup.devices[device].same_as {
                let DeviceSetup { memory, driver, memory_pools, oversubscribe, .. } =
                    self.setup.devices[same];
                let seen = &mut self.setup.devices[device];
                (seen.memory, seen.driver) = (memory, driver);
                (seen.memory_pools, seen.oversubscribe) = (memory_pools, oversubscribe);
            }
        }
        self.profile = profile;
    }

    /// A setting with a mistake leaves the profile as it is.
    fn profile_setting(&mut self, profile: &mut Profile, setting: &Setting, name: &str) {
        match name {
            "memory" => {
                let value = self.setting_value(setting, "a size such as `80GiB`");
                set(&mut profile.memory, value.and_then(|value| self.memory_size(value)));
            }
            "driver" => set(&mut profile.driver, self.version_of(setting)),
            "memory_pools" => set(&mut profile.memory_pools, self.switch(setting)),
            "oversubscribe" => set(&mut profile.oversubscribe, self.switch(setting)),
            "alignment" => set(&mut profile.alignment, self.size_of(setting)),
            "growth" => set(&mut profile.growth, self.size_of(setting)),
            "granule" => set(&mut profile.granule, self.size_of(setting)),
            "submit" => set(&mut profile.submit, self.duration_of(setting)),
            "call" => set(&mut profile.call, self.duration_of(setting)),
            "queue_depth" => set(&mut profile.queue_depth, self.depth_of(setting)),
            "legacy_sync_releases" => set(&mut profile.legacy_sync_releases, self.switch(setting)),
            "unused_first" => set(&mut profile.unused_first, self.switch(setting)),
            "plain_free_syncs" => set(&mut profile.plain_free_syncs, self.switch(setting)),
            "internal_on_max_size" => set(&mut profile.internal_on_max_size, self.switch(setting)),
            "late_access_check" => set(&mut profile.late_access_check, self.switch(setting)),
            "first_free_ends_imports" => {
                set(&mut profile.first_free_ends_imports, self.switch(setting));
            }
            "zero_size" => set(&mut profile.zero_size, self.choice(setting, &ZERO_SIZE)),
            _ => set(&mut profile.remap, self.choice(setting, &REMAP)),
        }
    }

    /// `11.2`, as CUDA counts it.
    fn version_of(&mut self, setting: &Setting) -> Option<u32> {
        let value = self.setting_value(setting, "a version such as `11.2`")?;
        let version = match &value.kind {
            ExpressionKind::Version(text) => Profile::version(text),
            _ => None,
        };
        if version.is_none() {
            let label = "expected a version such as `11.2`";
            let message = format!("`{}` takes the version of a driver", setting.name.text);
            self.error(codes::WRONG_UNIT, message, value.span, label);
        }
        version
    }

    /// What the line of a device says.
    pub(super) fn device_setting(&mut self, stated: &mut Stated, setting: &Setting, name: &str) {
        match name {
            "driver" => stated.driver = self.version_of(setting),
            "memory_pools" => stated.memory_pools = self.switch(setting),
            "oversubscribe" => stated.oversubscribe = self.switch(setting),
            _ => {
                let value = self.setting_value(setting, "a size such as `80GiB`");
                stated.memory = value.and_then(|value| self.memory_size(value));
            }
        }
    }

    fn size_of(&mut self, setting: &Setting) -> Option<Bytes> {
        let value = self.setting_value(setting, "a size such as `2MiB`")?;
        self.constant_size(value)
    }

    fn duration_of(&mut self, setting: &Setting) -> Option<Nanos> {
        let value = self.setting_value(setting, "a duration such as `2us`")?;
        self.constant_duration(value)
    }

    /// A number of launches, or `off`.
    fn depth_of(&mut self, setting: &Setting) -> Option<Option<u32>> {
        let value = self.setting_value(setting, "a number such as `1024`, or `off`")?;
        if value.kind == ExpressionKind::Switch(false) {
            return Some(None);
        }
        let depth = self.constant_count(value)?;
        let depth = u32::try_from(depth).ok().filter(|depth| *depth > 0);
        if depth.is_none() {
            let label = "expected at least 1 and less than 2^32, or `off`";
            self.error(codes::VALUE_OUT_OF_RANGE, "no queue is so deep", value.span, label);
        }
        depth.map(Some)
    }

    fn switch(&mut self, setting: &Setting) -> Option<bool> {
        let value = self.setting_value(setting, "`on` or `off`")?;
        self.constant_natural(value, Unit::Switch).map(|on| on == 1)
    }

    /// One of a few words.
    fn choice<T: Copy>(&mut self, setting: &Setting, known: &[(&'static str, T)]) -> Option<T> {
        let text = match &setting.value {
            SettingValue::Expression(value) => match &value.kind {
                ExpressionKind::Switch(on) => Some((if *on { "on" } else { "off" }, value.span)),
                ExpressionKind::Path(path) => match path.segments.as_slice() {
                    [word] if word.index.is_none() => Some((word.name.text.as_str(), word.name.span)),
                    _ => None,
                },
                _ => None,
            },
            SettingValue::List { .. } => None,
        };
        let (text, span) = text.unwrap_or_else(|| (self.written(&setting.value), span_of(&setting.value)));
        let word = Name { text: text.to_owned(), span };
        let what = format!("value of `{}` called", setting.name.text);
        self.word(&word, codes::UNKNOWN_SETTING, &what, known.iter().copied())
    }

    fn written(&self, value: &SettingValue) -> &str {
        self.text[span_of(value).range()].trim_end()
    }
}

fn span_of(value: &SettingValue) -> Span {
    match value {
        SettingValue::Expression(value) => value.span,
        SettingValue::List { span, .. } => *span,
    }
}

fn set<T>(place: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *place = value;
    }
}

/// What a profile says about the allocator.
pub(super) fn rules(profile: &Profile) -> Rules {
    Rules {
        alignment: profile.alignment,
        growth: profile.growth,
        granule: profile.granule,
        remap: match profile.remap {
            profile::Remap::Off => Remap::Off,
            profile::Remap::Idle => Remap::Idle,
            profile::Remap::Full => Remap::Full,
        },
        legacy_sync_releases: profile.legacy_sync_releases,
        unused_first: profile.unused_first,
        plain_free_syncs: profile.plain_free_syncs,
        zero_size_succeeds: profile.zero_size == ZeroSize::Success,
        internal_on_max_size: profile.internal_on_max_size,
        late_access_check: profile.late_access_check,
        first_free_ends_imports: profile.first_free_ends_imports,
    }
}

/// What a profile says about the host.
pub(super) fn costs(profile: &Profile) -> HostCosts {
    HostCosts { submit: profile.submit, call: profile.call, queue_depth: profile.queue_depth }
}
