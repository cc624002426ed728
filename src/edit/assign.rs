//! One value of a scenario replaced by another: a setting of a pool or a device, or what a `let` gives a name to.
//!
//! The assignment comes from outside of the text, such as a command line, so its mistakes have places in a text of its own.

use super::place;
use crate::base::{Code, Diagnostic, Edit, Span, nearest};
use crate::syntax::ast::{Body, Content, Device, Expression, File, Item, Let, Pool, Statement};

const UNEXPECTED: Code = Code("unexpected");
const UNKNOWN_NAME: Code = Code("unknown_name");
const UNKNOWN_SETTING: Code = Code("unknown_setting");
const WRONG_KIND: Code = Code("wrong_kind");

/// The settings of a pool that take a value.
const POOL_SETTINGS: [&str; 2] = ["release_threshold", "max_size"];
/// The policies of a pool, each on or off.
const POLICIES: [&str; 3] = ["follow_event", "opportunistic", "internal"];

/// `scratch.release_threshold=0B,64MiB,max`, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    /// Its text.
    pub text: String,
    /// The name in it.
    pub name: Span,
    /// The values in it.
    pub values: Vec<Span>,
}

impl Assignment {
    /// What is set: `scratch.release_threshold`.
    pub fn name(&self) -> &str {
        &self.text[self.name.range()]
    }

    /// One of the values, as written.
    pub fn value(&self, nth: usize) -> &str {
        &self.text[self.values[nth].range()]
    }
}

/// Takes `NAME=V,V,..` apart.
///
/// # Errors
///
/// No name, no values, or something that could not stand in a line of a scenario.
pub fn read_assignment(text: &str) -> Result<Assignment, Box<Diagnostic>> {
    let all = Span::new(0, text.len() as u32);
    let Some((name, values)) = text.split_once('=') else {
        let diagnostic = Diagnostic::error(UNEXPECTED, "this sets nothing", all, "expected `NAME=VALUE,..`");
        return Err(diagnostic
            .help("such as `scratch.release_threshold=0B,64MiB,max` or `turns=10,100`")
            .into());
    };
    let is_fine = |c: char| c.is_ascii_alphanumeric() || "_.+-*/%() ".contains(c);
    let mut spans = Vec::new();
    let mut start = name.len() + 1;
    for value in values.split(',') {
        let blank = value.len() - value.trim_start().len();
        let span = Span::new((start + blank) as u32, (start + blank + value.trim().len()) as u32);
        if value.trim().is_empty() {
            let label = "expected a value such as `64MiB`, `max`, `on` or `10`";
            return Err(Diagnostic::error(UNEXPECTED, "a value is missing", span, label).into());
        }
        if let Some(at) = value.find(|c| !is_fine(c)) {
            let sign = value[at..].chars().next().map_or(0, char::len_utf8);
            let place = Span::new((start + at) as u32, (start + at + sign) as u32);
            let label = "expected a value such as `64MiB`, `max`, `on` or `10`";
            return Err(Diagnostic::error(UNEXPECTED, "this sign stands in no value", place, label).into());
        }
        spans.push(span);
        start += value.len() + 1;
    }
    let blank = name.len() - name.trim_start().len();
    let name = Span::new(blank as u32, (blank + name.trim().len()) as u32);
    Ok(Assignment { text: text.to_owned(), name, values: spans })
}

/// The edits that give a name one of the values, and where the value stands after them, if it stands there as written.
///
/// # Errors
///
/// A name that stands for nothing that can be set; its place is one in the text of the assignment.
pub fn assign(
    file: &File,
    text: &str,
    to: &Assignment,
    nth: usize,
) -> Result<(Vec<Edit>, Option<Span>), Box<Diagnostic>> {
    let mut declared = Declared::default();
    declared.read(&file.items);
    let value = to.value(nth);
    let parts: Vec<&str> = to.name().split('.').collect();
    let edits = match parts.as_slice() {
        [name] => match declared.value(name) {
            Some(expression) => vec![place::replace(expression.span, value)],
            None => return Err(declared.no_value(to).into()),
        },
        [owner, setting] => match (declared.pool(owner), declared.device(owner)) {
            (Some((item, pool)), _) => return in_pool(text, item, pool, setting, to, nth),
            (None, Some((item, device))) => {
                known(setting, &["memory"], "a device", to)?;
                place::setting(text, item, &device.settings, setting, value)
            }
            (None, None) if *owner == "gpu0" && !declared.has_devices() => {
                known(setting, &["memory"], "a device", to)?;
                vec![place::line_before_all(text, &format!("device gpu0 {{ memory = {value} }}"))]
            }
            (None, None) => return Err(declared.no_owner(owner, to).into()),
        },
        [device, "default_pool", setting] => {
            let line = format!("set {device}.default_pool.{setting} = {value}");
            let edit = match declared.device(device) {
                Some((item, _)) => place::line_after(text, item, &line),
                None if *device == "gpu0" && !declared.has_devices() => place::line_before_all(text, &line),
                None => return Err(declared.no_owner(device, to).into()),
            };
            known(
                setting,
                &["release_threshold", POLICIES[0], POLICIES[1], POLICIES[2]],
                "a default pool",
                to,
            )?;
            vec![edit]
        }
        _ => return Err(declared.no_value(to).into()),
    };
    let at = place::position(&edits, value);
    Ok((edits, at))
}

/// A setting of a pool. Its policies are words of one list, so that a switch changes the list.
fn in_pool(
    text: &str,
    item: &Item,
    pool: &Pool,
    setting: &str,
    to: &Assignment,
    nth: usize,
) -> Result<(Vec<Edit>, Option<Span>), Box<Diagnostic>> {
    let value = to.value(nth);
    if POLICIES.contains(&setting) {
        let on = match value {
            "on" => true,
            "off" => false,
            _ => {
                let message = format!("`{setting}` is a switch");
                return Err(
                    Diagnostic::error(UNEXPECTED, message, to.values[nth], "expected `on` or `off`").into()
                );
            }
        };
        let policies = place::policies(&pool.settings, &POLICIES);
        let is_on = |name: &&str| if *name == setting { on } else { policies.contains(name) };
        let list: Vec<&str> = POLICIES.into_iter().filter(is_on).collect();
        let edits = place::setting(text, item, &pool.settings, "reuse", &format!("[{}]", list.join(", ")));
        return Ok((edits, None));
    }
    let [threshold, max_size] = POOL_SETTINGS;
    known(setting, &[threshold, max_size, POLICIES[0], POLICIES[1], POLICIES[2]], "a pool", to)?;
    let edits = place::setting(text, item, &pool.settings, setting, value);
    let at = place::position(&edits, value);
    Ok((edits, at))
}

/// Whether a word is one of those that can be set.
fn known(word: &str, words: &[&str], owner: &str, to: &Assignment) -> Result<(), Box<Diagnostic>> {
    if words.contains(&word) {
        return Ok(());
    }
    let span = Span::new(to.name.end - word.len() as u32, to.name.end);
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
#[derive(Default)]
struct Declared<'f> {
    devices: Vec<(&'f Item, &'f Device)>,
    pools: Vec<(&'f Item, &'f Pool)>,
    values: Vec<&'f Let>,
}

impl<'f> Declared<'f> {
    fn read(&mut self, items: &'f [Item]) {
        for item in items {
            let body: Option<&Body> = match &item.content {
                Content::Statement(Statement::Device(device)) => {
                    self.devices.push((item, device));
                    None
                }
                Content::Statement(Statement::Pool(pool)) => {
                    self.pools.push((item, pool));
                    None
                }
                Content::Statement(Statement::Let(value)) => {
                    self.values.push(value);
                    None
                }
                Content::Statement(Statement::Repeat(repeat)) => Some(&repeat.body),
                Content::Statement(Statement::Thread(thread)) => Some(&thread.body),
                _ => None,
            };
            if let Some(body) = body {
                self.read(&body.items);
            }
        }
    }

    fn has_devices(&self) -> bool {
        !self.devices.is_empty()
    }

    fn device(&self, name: &str) -> Option<(&'f Item, &'f Device)> {
        self.devices.iter().find(|(_, device)| device.name.text == name).copied()
    }

    fn pool(&self, name: &str) -> Option<(&'f Item, &'f Pool)> {
        self.pools.iter().find(|(_, pool)| pool.name.text == name).copied()
    }

    fn value(&self, name: &str) -> Option<&'f Expression> {
        self.values.iter().find(|value| value.name.text == name).map(|value| &value.value)
    }

    /// Nothing of this name has a value of its own.
    fn no_value(&self, to: &Assignment) -> Diagnostic {
        let name = to.name();
        let is_owner = self.pool(name).is_some() || self.device(name).is_some();
        if is_owner || name.contains('.') {
            let message = match is_owner {
                true => format!("`{name}` has settings, and none of them is named"),
                false => format!("`{name}` is nothing that can be set"),
            };
            let diagnostic = Diagnostic::error(WRONG_KIND, message, to.name, "expected `POOL.setting`");
            return diagnostic.help("such as `scratch.release_threshold=0B,max`");
        }
        let values = self.values.iter().map(|value| value.name.text.as_str());
        let message = format!("no `let` is called `{name}`");
        let diagnostic =
            Diagnostic::error(UNKNOWN_NAME, message, to.name, "expected a name that a `let` gives");
        match nearest(name, values) {
            Some(near) => diagnostic.fix(format!("did you mean `{near}`?"), to.name, near),
            None => {
                diagnostic.help("a pool's setting is written `POOL.setting`, a device's memory `gpu0.memory`")
            }
        }
    }

    /// There is no pool and no device of this name.
    fn no_owner(&self, owner: &str, to: &Assignment) -> Diagnostic {
        let span = Span::new(to.name.start, to.name.start + owner.len() as u32);
        let pools = self.pools.iter().map(|(_, pool)| pool.name.text.as_str());
        let devices = self.devices.iter().map(|(_, device)| device.name.text.as_str());
        let message = format!("no pool and no device is called `{owner}`");
        let diagnostic = Diagnostic::error(UNKNOWN_NAME, message, span, "");
        match nearest(owner, pools.chain(devices)) {
            Some(near) => diagnostic.fix(format!("did you mean `{near}`?"), span, near),
            None => diagnostic.help("the default pool of a device is `gpu0.default_pool`"),
        }
    }
}
