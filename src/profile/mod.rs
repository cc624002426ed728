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
    /// Allocations are rounded up to this, and start at a multiple of it.
    pub alignment: Bytes,
    /// Pools grow in chunks of this size.
    pub growth: Bytes,
    /// Where a whole chunk does not fit any more, in steps of this size.
    pub granule: Bytes,
    /// Whether idle chunks of a pool make room for its growth.
    pub remap_idle: bool,
    /// Whether a synchronise of the legacy default stream gives memory back.
    pub legacy_sync_releases: bool,
    /// Whether a pool that holds nothing can be made accessible to a device that is no peer.
    pub late_access_check: bool,
    /// Whether the first free of an import ends all imports of the same memory in its process.
    pub first_free_ends_imports: bool,
    /// What a call costs the host that submits an operation.
    pub submit: Nanos,
    /// What each other call costs the host.
    pub call: Nanos,
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
        Self::read(include_str!("../../profiles/default.ron")).expect("a test reads the embedded profile")
    }
}

impl Profile {
    /// Reads a profile in RON.
    ///
    /// # Errors
    ///
    /// What is wrong with the text, with the line where it is known.
    pub fn read(text: &str) -> Result<Self, ProfileError> {
        let document: Document = ron::from_str(text).map_err(|error| ProfileError(error.to_string()))?;
        let Document { memory, rules, host } = document;
        let profile = Self {
            memory: size("memory", &memory)?,
            alignment: size("rules.alignment", &rules.alignment)?,
            growth: size("rules.growth", &rules.growth)?,
            granule: size("rules.granule", &rules.granule)?,
            remap_idle: matches!(rules.remap, Remap::Idle),
            legacy_sync_releases: rules.legacy_sync_releases,
            late_access_check: rules.late_access_check,
            first_free_ends_imports: rules.first_free_ends_imports,
            submit: value("host.submit", &host.submit)?,
            call: value("host.call", &host.call)?,
        };
        if profile.growth > GROWTH_MAX {
            return Err(ProfileError(format!("rules.growth: at most {GROWTH_MAX}")));
        }
        let divides = |small: Bytes, large: Bytes| large.0.is_multiple_of(small.0);
        if !divides(profile.alignment, profile.granule) || !divides(profile.granule, profile.growth) {
            let message = "rules: the alignment must divide the granule, and the granule the growth";
            return Err(ProfileError(message.to_owned()));
        }
        Ok(profile)
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
    late_access_check: bool,
    first_free_ends_imports: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Remap {
    Off,
    Idle,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Host {
    submit: String,
    call: String,
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
    fn mistakes_name_their_field() {
        let text = include_str!("../../profiles/default.ron");
        for (from, to, message) in [
            ("\"512B\"", "\"512\"", "rules.alignment: `512` is not a number with a unit"),
            ("\"80GiB\"", "\"0B\"", "memory: must not be 0"),
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
