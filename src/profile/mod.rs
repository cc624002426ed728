//! Profiles: the numbers of a device and a driver that no scenario text says.
//!
//! It reads them; it must not know who uses them.

use crate::base::{Bytes, Nanos, ParseUnitError};
use serde::Deserialize;
use std::fmt;

/// A device and a driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// The physical memory of a device that does not say its own.
    pub memory: Bytes,
    /// The version of the driver of a device that does not say its own, as CUDA counts it: 11020 is 11.2.
    pub driver: u32,
    /// Whether a device that does not say so itself has memory pools.
    pub memory_pools: bool,
    /// Whether a device that does not say so itself hands out more memory than it has.
    pub oversubscribe: bool,
    /// Allocations are rounded up to this, and start at a multiple of it.
    pub alignment: Bytes,
    /// Pools grow in chunks of this size.
    pub growth: Bytes,
    /// Where a whole chunk does not fit any more, in steps of this size.
    pub granule: Bytes,
    /// Whether idle memory of a pool makes room for its growth.
    pub remap: Remap,
    /// Whether a synchronise of the legacy default stream gives memory back.
    pub legacy_sync_releases: bool,
    /// Whether memory never handed out is taken before freed memory.
    pub unused_first: bool,
    /// Whether a plain free of memory outside of pools synchronises its device.
    pub plain_free_syncs: bool,
    /// What comes of an allocation of 0 bytes from a pool.
    pub zero_size: ZeroSize,
    /// Whether the allocator inserts waits also where only the maximum size of a pool forbids it to grow.
    pub internal_on_max_size: bool,
    /// Whether a pool that holds nothing can be made accessible to a device that is no peer.
    pub late_access_check: bool,
    /// Whether the first free of an import ends all imports of the same memory in its process.
    pub first_free_ends_imports: bool,
    /// What a call costs the host that submits an operation.
    pub submit: Nanos,
    /// What each other call costs the host.
    pub call: Nanos,
    /// How many launches a stream may be ahead of its device; a further one blocks the host. `None`: any number.
    pub queue_depth: Option<u32>,
}

/// Which idle memory of a pool is given back to make room for its growth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Remap {
    /// None.
    Off,
    /// Whole chunks.
    Idle,
    /// Whole granules.
    Full,
}

/// What comes of an allocation of 0 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ZeroSize {
    /// The null pointer.
    Success,
    /// The error of that name.
    InvalidValue,
}

/// Chunks are at most so large, so that addresses never run out before memory does.
const GROWTH_MAX: Bytes = Bytes::gib(1024);

/// Why a text is no profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProfileError(String);

impl fmt::Display for ProfileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ProfileError {}

impl Default for Profile {
    /// The profile of `profiles/default.ron`, which is part of the program.
    fn default() -> Self {
        Self::read(EMBEDDED[0].1).expect("a test reads the embedded profiles")
    }
}

/// The profiles that are part of the program, the default one first.
const EMBEDDED: [(&str, &str); 3] = [
    ("default", include_str!("../../profiles/default.ron")),
    ("data_centre", include_str!("../../profiles/data_centre.ron")),
    ("small_card", include_str!("../../profiles/small_card.ron")),
];

impl Profile {
    /// The names of the profiles that are part of the program, the default one first.
    pub fn names() -> impl Iterator<Item = &'static str> {
        EMBEDDED.iter().map(|(name, _)| *name)
    }

    /// The profile of that name that is part of the program.
    pub fn named(name: &str) -> Option<Self> {
        let (_, text) = EMBEDDED.iter().find(|(known, _)| *known == name)?;
        Some(Self::read(text).expect("a test reads the embedded profiles"))
    }

    /// Reads a profile in RON.
    ///
    /// # Errors
    ///
    /// What is wrong with the text, with the line where it is known.
    pub fn read(text: &str) -> Result<Self, ProfileError> {
        let document: Document = ron::from_str(text).map_err(|error| ProfileError(unreadable(&error)))?;
        let Document { memory, driver, memory_pools, oversubscribe, rules, host } = document;
        let profile = Self {
            memory: size("memory", &memory)?,
            driver: Self::version(&driver)
                .ok_or_else(|| ProfileError(format!("driver: `{driver}` is no version such as `11.2`")))?,
            memory_pools,
            oversubscribe,
            alignment: size("rules.alignment", &rules.alignment)?,
            growth: size("rules.growth", &rules.growth)?,
            granule: size("rules.granule", &rules.granule)?,
            remap: rules.remap,
            legacy_sync_releases: rules.legacy_sync_releases,
            unused_first: rules.unused_first,
            plain_free_syncs: rules.plain_free_syncs,
            zero_size: rules.zero_size,
            internal_on_max_size: rules.internal_on_max_size,
            late_access_check: rules.late_access_check,
            first_free_ends_imports: rules.first_free_ends_imports,
            submit: value("host.submit", &host.submit)?,
            call: value("host.call", &host.call)?,
            queue_depth: host.queue_depth,
        };
        profile.check().map_err(|ProfileError(problem)| ProfileError(format!("rules: {problem}")))?;
        Ok(profile)
    }

    /// The names of its settings, as a text has them.
    pub const SETTINGS: [&str; 18] = [
        "memory",
        "driver",
        "memory_pools",
        "oversubscribe",
        "alignment",
        "growth",
        "granule",
        "remap",
        "legacy_sync_releases",
        "unused_first",
        "plain_free_syncs",
        "zero_size",
        "internal_on_max_size",
        "late_access_check",
        "first_free_ends_imports",
        "submit",
        "call",
        "queue_depth",
    ];

    /// A version as CUDA counts it: `11.2` is 11020. `None`: it is none.
    pub fn version(text: &str) -> Option<u32> {
        let (major, minor) = text.split_once('.')?;
        let number =
            |text: &str| text.parse::<u32>().ok().filter(|_| text.bytes().all(|c| c.is_ascii_digit()));
        let (major, minor) = (number(major)?, number(minor)?);
        (major < 1_000 && minor < 100).then_some(major * 1_000 + minor * 10)
    }

    /// Whether the numbers go together.
    ///
    /// # Errors
    ///
    /// What does not.
    pub fn check(&self) -> Result<(), ProfileError> {
        let wrong = |problem: &str| Err(ProfileError(problem.to_owned()));
        if [self.alignment, self.granule, self.growth].contains(&Bytes::ZERO) {
            return wrong("alignment, granule and growth must not be 0");
        }
        if self.queue_depth == Some(0) {
            return wrong("the depth of the queue must not be 0");
        }
        if self.growth > GROWTH_MAX {
            return Err(ProfileError(format!("the growth is at most {GROWTH_MAX}")));
        }
        let divides = |small: Bytes, large: Bytes| large.0.is_multiple_of(small.0);
        if !divides(self.alignment, self.granule) || !divides(self.granule, self.growth) {
            return wrong("the alignment must divide the granule, and the granule the growth");
        }
        Ok(())
    }
}

fn value<T: std::str::FromStr<Err = ParseUnitError>>(field: &str, text: &str) -> Result<T, ProfileError> {
    text.parse().map_err(|error| {
        let problem = match error {
            ParseUnitError::Malformed => "is not a number with a unit",
            ParseUnitError::NotWhole => "is not a whole number",
            ParseUnitError::TooLarge => "is larger than 2^64-1",
        };
        ProfileError(format!("{field}: `{text}` {problem}"))
    })
}

/// A size that is not 0.
fn size(field: &str, text: &str) -> Result<Bytes, ProfileError> {
    match value(field, text)? {
        Bytes::ZERO => Err(ProfileError(format!("{field}: must not be 0"))),
        size => Ok(size),
    }
}

/// What stands in the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    memory: String,
    driver: String,
    memory_pools: bool,
    oversubscribe: bool,
    rules: Rules,
    host: Host,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rules {
    alignment: String,
    growth: String,
    granule: String,
    remap: Remap,
    legacy_sync_releases: bool,
    unused_first: bool,
    plain_free_syncs: bool,
    zero_size: ZeroSize,
    internal_on_max_size: bool,
    late_access_check: bool,
    first_free_ends_imports: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Host {
    submit: String,
    call: String,
    queue_depth: Option<u32>,
}

/// What is wrong with a document, without the names of types, which are nobody's affair.
fn unreadable(error: &ron::error::SpannedError) -> String {
    match &error.code {
        ron::Error::MissingStructField { field, .. } => format!("the setting `{field}` is missing"),
        ron::Error::NoSuchStructField { found, .. } => {
            format!("{}: there is no setting `{found}`", error.span.start)
        }
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_is_readable() {
        let profile = Profile::default();
        assert_eq!(profile.memory, Bytes::gib(80));
        assert_eq!((profile.alignment, profile.growth), (Bytes(512), Bytes::mib(32)));
    }

    #[test]
    fn every_embedded_profile_is_readable() {
        let named = |name| Profile::named(name).expect("it is embedded");
        assert_eq!(
            Profile::names().map(named).map(|profile| profile.memory).collect::<Vec<_>>(),
            [Bytes::gib(80), Bytes::gib(80), Bytes::gib(8)]
        );
        assert_eq!(named("default"), Profile::default());
        assert_eq!(named("data_centre").queue_depth, Some(1_024));
        assert_eq!(Profile::named("other"), None);
    }

    #[test]
    fn versions_are_counted_as_cuda_does() {
        assert_eq!(Profile::version("11.2"), Some(11_020));
        assert_eq!(Profile::version("13.0"), Some(13_000));
        for text in ["11", "11.", ".2", "11.2.1", "+1.2", "1000.0"] {
            assert_eq!(Profile::version(text), None, "{text}");
        }
    }

    #[test]
    fn mistakes_name_their_field() {
        let text = include_str!("../../profiles/default.ron");
        for (from, to, message) in [
            ("\"512B\"", "\"512\"", "rules.alignment: `512` is not a number with a unit"),
            ("\"80GiB\"", "\"0B\"", "memory: must not be 0"),
            ("\"13.0\"", "\"13\"", "driver: `13` is no version such as `11.2`"),
            ("    oversubscribe: false,\n", "", "the setting `oversubscribe` is missing"),
            ("remap: idle,", "remap: idle,\n        spin: 3,", "25:9: there is no setting `spin`"),
            (
                "\"512B\"",
                "\"3B\"",
                "rules: the alignment must divide the granule, and the granule the growth",
            ),
        ] {
            let error = Profile::read(&text.replacen(from, to, 1)).unwrap_err();
            assert_eq!(error.to_string(), message);
        }
        assert!(Profile::read("(").is_err());
    }
}
