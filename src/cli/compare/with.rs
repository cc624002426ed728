//! What `--with` and `--set` of a comparison say: one value for each name, and on hardware only names that act there.
//!
//! What a name stands for in a scenario is found where it is set. Rules: `docs/compare.md`, "On hardware".

use crate::cli::Complaint;
use crate::edit::DEVICE_SETTINGS;
use std::path::Path;

/// What the right side has of its own.
#[derive(Default)]
pub(super) struct With {
    pub(super) seed: Option<u64>,
    /// A variant, or the scenario as it stands.
    pub(super) variant: Option<Option<String>>,
    /// What is set.
    pub(super) set: Vec<String>,
}

impl With {
    pub(super) fn read(arguments: &[String]) -> Result<Self, Complaint> {
        once("--with", arguments)?;
        let mut with = Self::default();
        for argument in arguments {
            match parts(argument) {
                ("seed", value) => {
                    let wrong = |_| {
                        let message =
                            format!("--with {argument}: a seed is a whole number, such as `seed=7`");
                        Complaint::wrong(message)
                    };
                    with.seed = Some(value.parse().map_err(wrong)?);
                }
                ("variant", value) => {
                    with.variant = Some(Some(value.to_owned()).filter(|name| !name.is_empty()));
                }
                _ => with.set.push(argument.clone()),
            }
        }
        Ok(with)
    }

    /// Refuses what does nothing on hardware.
    pub(super) fn check_for_hardware(&self) -> Result<(), Complaint> {
        let is_idle = |argument: &&String| {
            let (name, _) = parts(argument);
            matches!(name, "model" | "profile") || name.starts_with("profile.") || is_of_device(name)
        };
        match self.set.iter().find(is_idle) {
            None => Ok(()),
            Some(argument) => Err(Complaint::wrong(format!(
                "--with {argument} does nothing on hardware, which has an allocator and devices of its own: with \
                 --backend cuda the names of --with are `seed`, `variant`, those of pools and those of `let`"
            ))),
        }
    }
}

/// The file of another profile that is set, or its name.
pub(super) fn profile(set: &[String]) -> Option<&Path> {
    let profile = set.iter().map(|given| parts(given)).find(|(name, _)| *name == "profile");
    profile.map(|(_, file)| Path::new(file))
}

/// Refuses a name without a value, and one with several.
pub(super) fn once(argument: &str, given: &[String]) -> Result<(), Complaint> {
    if let Some(nothing) = given.iter().find(|given| given.split_once('=').is_none()) {
        return Err(Complaint::wrong(format!(
            "{argument} '{nothing}' sets nothing: write NAME=VALUE, such as `scratch.release_threshold=64MiB`"
        )));
    }
    for given_name in given.iter().map(|given| parts(given).0) {
        let of_name = given.iter().map(|given| parts(given)).filter(|(name, _)| *name == given_name);
        let values: usize = of_name.map(|(_, values)| values.split(',').count()).sum();
        if values > 1 {
            return Err(Complaint::wrong(format!(
                "{argument} takes one value for each name, and `{given_name}` is given {values}"
            )));
        }
    }
    Ok(())
}

/// The name and the value.
fn parts(argument: &str) -> (&str, &str) {
    let (name, value) = argument.split_once('=').unwrap_or((argument, ""));
    (name.trim(), value.trim())
}

/// Whether a name is one of what a device is, such as `gpu0.memory`.
fn is_of_device(name: &str) -> bool {
    let setting = name.split_once('.').map(|(_, setting)| setting);
    setting.is_some_and(|setting| DEVICE_SETTINGS.contains(&setting))
}
