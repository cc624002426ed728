//! A schedule: what one run depends on, as a word that can be printed, kept and given back.
//!
//! `millpond-0.1.0:9f86d081:cuda:default-3c1f0a22:random:42` names the version that made it, the text of the scenario, the
//! model, the profile, the strategy and the seed. A strategy with a depth is written `pct-3`. What is not as usual follows as
//! `jitter=20%` or `variant=off`. Where a run is not drawn but was found among all timings, `untimed` and its choices stand in
//! place of the strategy and the seed. The same schedule and scenario give the same run; where they do not belong together, it
//! says why.

use super::Strategy;
use super::exhaustive::Witness;
use crate::base::stable_hash;
use crate::profile::Profile;
use crate::scenario::Program;
use crate::syntax;
use crate::trace::Model;
use std::fmt;
use std::str::FromStr;

/// What a run depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// The version of Millpond that made it.
    pub version: String,
    /// A hash of the scenario: of its statements, without comments, blank lines and the way in which spaces are set.
    pub text: u32,
    /// The allocator.
    pub model: Model,
    /// The name of the profile; `None`: it is one of a file.
    pub profile: Option<String>,
    /// A hash of its settings.
    pub settings: u32,
    /// What settles the choices of the run.
    pub choices: Choices,
    /// By how many percents constant durations vary.
    pub jitter: u8,
    /// The variant of the scenario; `None`: as it stands.
    pub variant: Option<String>,
}

/// What settles the choices of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choices {
    /// They are drawn.
    Drawn {
        /// How.
        strategy: Strategy,
        /// By what.
        seed: u64,
    },
    /// They are these. Durations do not matter.
    Untimed(Witness),
}

impl fmt::Display for Choices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Choices::Drawn { strategy, seed } => write!(f, "{strategy}:{seed}"),
            Choices::Untimed(witness) => write!(f, "{UNTIMED}:{witness}"),
        }
    }
}

/// What stands in place of a strategy where choices are told.
const UNTIMED: &str = "untimed";

/// What stands for a profile that has no name.
const OF_A_FILE: &str = "file";

impl Schedule {
    /// The schedule of a run of a program, which was read from this text with this profile. A profile that is part of
    /// Millpond has a name.
    pub fn new(program: &Program, text: &str, profile: (Option<&str>, &Profile), choices: Choices) -> Self {
        let (name, settings) = profile;
        Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            text: hash(&syntax::bare(text)),
            model: program.setup.model,
            profile: name.map(str::to_owned),
            settings: hash(&format!("{settings:?}")),
            choices,
            jitter: program.setup.jitter,
            variant: program.variant.clone(),
        }
    }

    /// The same with other choices.
    #[must_use]
    pub fn with_choices(&self, choices: Choices) -> Self {
        Self { choices, ..self.clone() }
    }

    /// Whether it was made by this version.
    ///
    /// # Errors
    ///
    /// It was not.
    pub fn check_version(&self) -> Result<(), Stale> {
        let own = env!("CARGO_PKG_VERSION");
        let other = || Stale::Version { made_by: self.version.clone(), this: own.to_owned() };
        (self.version == own).then_some(()).ok_or_else(other)
    }

    /// Whether it was made for this text.
    ///
    /// # Errors
    ///
    /// It was not.
    pub fn check_text(&self, text: &str) -> Result<(), Stale> {
        (self.text == hash(&syntax::bare(text))).then_some(()).ok_or(Stale::Text)
    }

    /// Whether it was made with this profile.
    ///
    /// # Errors
    ///
    /// It was not.
    pub fn check_profile(&self, profile: &Profile) -> Result<(), Stale> {
        let other = || Stale::Profile(self.profile.clone());
        (self.settings == hash(&format!("{profile:?}"))).then_some(()).ok_or_else(other)
    }
}

fn hash(text: &str) -> u32 {
    let hash = stable_hash(&[text]);
    (hash >> 32) as u32 ^ hash as u32
}

/// Why a schedule does not belong to what it is to be replayed on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stale {
    /// Another version of Millpond made it, whose runs may be others.
    Version {
        /// That version.
        made_by: String,
        /// This one.
        this: String,
    },
    /// The statements of the scenario are others.
    Text,
    /// The settings of the profile of this name, or of that of a file, are others.
    Profile(Option<String>),
}

impl fmt::Display for Stale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stale::Version { made_by, this } => write!(
                f,
                "it was made by millpond {made_by}, and this is {this}, whose runs may be others: explore again"
            ),
            Stale::Text => write!(
                f,
                "the scenario has changed since, or is another one (comments, blank lines and spaces do not count): explore again"
            ),
            Stale::Profile(Some(name)) => write!(f, "it was made with the profile `{name}`, and this one has other settings"),
            Stale::Profile(None) => {
                f.write_str("it was made with the profile of a file, and this one has other settings: name that file with --profile")
            }
        }
    }
}

impl std::error::Error for Stale {}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { version, text, model, profile, settings, choices, jitter, variant } = self;
        let model = model.name();
        let profile = profile.as_deref().unwrap_or(OF_A_FILE);
        write!(f, "millpond-{version}:{text:08x}:{model}:{profile}-{settings:08x}:{choices}")?;
        if *jitter > 0 {
            write!(f, ":jitter={jitter}%")?;
        }
        variant.iter().try_for_each(|variant| write!(f, ":variant={variant}"))
    }
}

/// Why a word is no schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed(String);

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Malformed {}

/// What stands behind `untimed`.
const CHOICES: &str = "what `explore --untimed` prints there, such as `17,5s0-3,9t1`";

/// What a schedule looks like.
const FORM: &str = "millpond-VERSION:TEXT:MODEL:PROFILE:STRATEGY:SEED";

impl FromStr for Schedule {
    type Err = Malformed;

    fn from_str(word: &str) -> Result<Self, Malformed> {
        let parts: Vec<&str> = word.split(':').collect();
        let [version, text, model, profile, strategy, seed, rest @ ..] = parts.as_slice() else {
            let count = parts.len();
            return Err(Malformed(format!(
                "it has {count} of the parts {FORM}: give it whole, as it was printed"
            )));
        };
        let wrong = |part: &str, what: &str| Malformed(format!("`{part}` is not {what}, in {FORM}"));
        let hashed = |part: &str| {
            let is_hash =
                part.len() == 8 && part.bytes().all(|c| c.is_ascii_digit() || (b'a'..=b'f').contains(&c));
            u32::from_str_radix(part, 16).ok().filter(|_| is_hash)
        };
        let number = |part: &str| part.parse::<u64>().ok().filter(|number| number.to_string() == part);
        let profile_of = |part: &str| {
            let (name, settings) = part.rsplit_once('-')?;
            let is_known = name == OF_A_FILE || Profile::names().any(|known| known == name);
            hashed(settings).filter(|_| is_known).map(|settings| (name.to_owned(), settings))
        };
        let (name, settings) =
            profile_of(profile).ok_or_else(|| wrong(profile, "a profile with its hash"))?;
        let version = version.strip_prefix("millpond-").filter(|version| !version.is_empty());
        let choices = match *strategy {
            UNTIMED => Choices::Untimed(seed.parse().map_err(|_| wrong(seed, CHOICES))?),
            _ => Choices::Drawn {
                strategy: Strategy::written(strategy)
                    .ok_or_else(|| wrong(strategy, "a strategy such as `random` or `pct-3`"))?,
                seed: number(seed).ok_or_else(|| wrong(seed, "a seed"))?,
            },
        };
        let mut schedule = Self {
            version: version.ok_or_else(|| wrong(parts[0], "a version of Millpond"))?.to_owned(),
            text: hashed(text).ok_or_else(|| wrong(text, "the hash of a scenario"))?,
            model: Model::named(model).ok_or_else(|| wrong(model, "a model"))?,
            profile: Some(name).filter(|name| name != OF_A_FILE),
            settings,
            choices,
            jitter: 0,
            variant: None,
        };
        for part in rest {
            let given = part.split_once('=');
            match given {
                Some(("jitter", percent)) if schedule.jitter == 0 => {
                    let percent = percent.strip_suffix('%').and_then(number);
                    let percent = percent.and_then(|percent| u8::try_from(percent).ok());
                    let percent = percent.filter(|percent| (1..=100).contains(percent));
                    schedule.jitter = percent.ok_or_else(|| wrong(part, "a jitter such as `jitter=20%`"))?;
                }
                Some(("variant", name)) if schedule.variant.is_none() && !name.is_empty() => {
                    schedule.variant = Some(name.to_owned());
                }
                _ => {
                    return Err(wrong(
                        part,
                        "a part such as `jitter=20%` or `variant=NAME`, once each, behind what stands",
                    ));
                }
            }
        }
        Ok(schedule)
    }
}
