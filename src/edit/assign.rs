//! One value of a scenario replaced by another: a setting of a pool or a device, or what a `let` gives a name to.
//!
//! The assignment comes from outside of the text, such as a command line, so its mistakes have places in a text of its own.

use super::declared::{Declared, POLICIES, POOL_SETTINGS, Settable, Target, UNEXPECTED, known};
use super::place;
use crate::base::{Diagnostic, Edit, Span};
use crate::syntax::ast::{File, Item, Pool};

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

/// The edits that give a name one of the values, and where the value stands after them, if it stands there as written. A profile
/// has the settings that are named.
///
/// # Errors
///
/// A name that stands for nothing that can be set; its place is one in the text of the assignment.
pub fn assign(
    file: &File,
    text: &str,
    profile_settings: &[&str],
    to: &Assignment,
    nth: usize,
) -> Result<(Vec<Edit>, Option<Span>), Box<Diagnostic>> {
    let target = Target { name: to.name(), span: to.name };
    let value = to.value(nth);
    let edits = match Declared::of(file, profile_settings).settable(&target)? {
        Settable::Value(old) => vec![place::replace(old.value.span, value)],
        Settable::Pool(item, pool, setting) => return in_pool(text, item, pool, setting, to, nth),
        Settable::Device(item, device, setting) => {
            place::setting(text, item, &device.settings, setting, value)
        }
        Settable::Profile(Some((item, settings)), setting) => {
            place::setting(text, item, settings, setting, value)
        }
        Settable::Profile(None, setting) => {
            vec![place::line_before_all(text, &format!("profile {{ {setting} = {value} }}"))]
        }
        Settable::OnlyDevice(setting) => {
            vec![place::line_before_all(text, &format!("device gpu0 {{ {setting} = {value} }}"))]
        }
        Settable::DefaultPool(device) => {
            let line = format!("set {} = {value}", to.name());
            vec![match device {
                Some((item, _)) => place::line_after(text, item, &line),
                None => place::line_before_all(text, &line),
            }]
        }
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
    let target = Target { name: to.name(), span: to.name };
    known(setting, &[threshold, max_size, POLICIES[0], POLICIES[1], POLICIES[2]], "a pool", &target)?;
    let edits = place::setting(text, item, &pool.settings, setting, value);
    let at = place::position(&edits, value);
    Ok((edits, at))
}
