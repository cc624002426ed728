//! The variants of a text: trees of their own, with places in the same text, so that mistakes are told where they are made.
//!
//! A variant is the program with its changes made, without the expectations and snapshots of the text, and with its own at
//! the end. Whether such a tree makes sense is for others to check.

use super::declared::{Declared, POLICIES, POOL_SETTINGS, Settable, Target, UNEXPECTED, UNKNOWN_NAME, known};
use super::place;
use crate::base::{Code, Diagnostic, Span, nearest};
use crate::syntax::ast::{
    Call, CallKind, Change, Content, Device, Expression, ExpressionKind, File, Item, Name, Operation, Path,
    Segment, Setting, SettingValue, Settings, Statement, Variant,
};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

const DUPLICATE_NAME: Code = Code("duplicate_name");
const DUPLICATE_SETTING: Code = Code("duplicate_setting");
const MISPLACED_DECLARATION: Code = Code("misplaced_declaration");
const TOO_MANY_NAMES: Code = Code("too_many_names");
/// How many variants a text may have.
pub const VARIANTS_MAX: usize = 32;

/// A text and the variants in it.
#[derive(Debug)]
pub struct Variants<'f> {
    file: &'f File,
    text: &'f str,
    variants: Vec<&'f Variant>,
    declared: Declared<'f>,
    /// The lines of each label.
    labels: BTreeMap<&'f str, Vec<&'f Item>>,
    /// The words of lines that could not be read: one of them may declare anything.
    broken: BTreeSet<&'f str>,
}

/// A variant as a program of its own.
#[derive(Clone, Debug)]
pub struct Twin<'f> {
    /// Its statements.
    pub file: File,
    /// The names that it goes without, with their lines.
    pub omitted: BTreeMap<&'f str, Span>,
}

impl<'f> Variants<'f> {
    /// Finds the variants, and what is wrong with where they stand. A profile has the settings that are named.
    pub fn of(file: &'f File, text: &'f str, profile_settings: &'f [&'f str]) -> (Self, Vec<Diagnostic>) {
        let mut found = Self {
            file,
            text,
            variants: Vec::new(),
            declared: Declared::default(),
            labels: BTreeMap::new(),
            broken: BTreeSet::new(),
        };
        let mut diagnostics = Vec::new();
        let mut names: BTreeMap<&str, Span> = BTreeMap::new();
        for item in &file.items {
            let Content::Statement(Statement::Variant(variant)) = &item.content else {
                misplaced(item, &mut diagnostics);
                continue;
            };
            let name = &variant.name;
            if let Some(first) = names.insert(&name.text, name.span) {
                let message = format!("there is a variant `{}` already", name.text);
                let diagnostic =
                    Diagnostic::error(DUPLICATE_NAME, message, name.span, "give it another name");
                diagnostics.push(diagnostic.also(first, "declared here"));
            }
            if found.variants.len() == VARIANTS_MAX {
                let message = format!("this text has more than {VARIANTS_MAX} variants");
                diagnostics.push(Diagnostic::error(TOO_MANY_NAMES, message, item.span, ""));
                break;
            }
            found.variants.push(variant);
        }
        if !found.variants.is_empty() {
            found.declared = Declared::of(file, profile_settings);
            found.survey(&file.items);
        }
        (found, diagnostics)
    }

    fn survey(&mut self, items: &'f [Item]) {
        for item in items {
            if let Some(label) = label(item) {
                self.labels.entry(&label.text).or_default().push(item);
            }
            let body = match &item.content {
                Content::Statement(statement) => statement.body(),
                Content::Broken(body) => {
                    let words =
                        self.text[item.span.range()].split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
                    self.broken.extend(words);
                    body.as_ref()
                }
                _ => None,
            };
            self.survey(body.map_or(&[], |body| &body.items));
        }
    }

    /// The variants in the order of the text.
    pub fn iter(&self) -> impl Iterator<Item = &'f Variant> {
        self.variants.iter().copied()
    }

    /// The program as it stands.
    pub fn base(&self) -> Cow<'f, File> {
        if self.variants.is_empty() {
            return Cow::Borrowed(self.file);
        }
        let is_variant = |item: &&Item| matches!(item.content, Content::Statement(Statement::Variant(_)));
        Cow::Owned(File { items: self.file.items.iter().filter(|item| !is_variant(item)).cloned().collect() })
    }

    /// A variant, and what is wrong with its changes.
    pub fn twin(&self, variant: &'f Variant) -> (Twin<'f>, Vec<Diagnostic>) {
        let mut changes = Changes { source: self, made: Made::default(), diagnostics: Vec::new() };
        changes.read(variant);
        let (mut made, diagnostics) = (changes.made, changes.diagnostics);
        let mut items = self.base().into_owned().items;
        made.apply(&mut items);
        let has_profile = |item: &Item| matches!(item.content, Content::Statement(Statement::Profile(_)));
        let profile = made.profile_at.filter(|_| !items.iter().any(has_profile));
        let mut all: Vec<Item> = Vec::new();
        all.extend(profile.map(|at| line(at, Statement::Profile(Settings::Inline(made.profile)))));
        all.extend(made.only_device.map(|(at, name, settings)| {
            line(at, Statement::Device(Device { name, settings: Settings::Inline(settings) }))
        }));
        all.extend(made.first);
        let states_model = |item: &Item| matches!(item.content, Content::Statement(Statement::Model(_)));
        all.extend(made.model.filter(|_| !items.iter().any(states_model)));
        for item in items {
            let device = match &item.content {
                Content::Statement(Statement::Device(device)) => Some(device.name.span.start),
                _ => None,
            };
            all.push(item);
            all.extend(device.and_then(|device| made.after_devices.remove(&device)).into_iter().flatten());
        }
        all.extend(variant.body.items.iter().filter(|item| judges(item) || allows(item)).cloned());
        let omitted = made.omitted.iter().flat_map(|item| declares(item)).collect();
        (Twin { file: File { items: all }, omitted }, diagnostics)
    }
}

/// A variant in a block is none: the program around it has no variants.
fn misplaced(item: &Item, diagnostics: &mut Vec<Diagnostic>) {
    let body = match &item.content {
        Content::Statement(statement) => statement.body(),
        Content::Broken(body) => body.as_ref(),
        _ => None,
    };
    for item in body.into_iter().flat_map(|body| &body.items) {
        if let Content::Statement(Statement::Variant(_)) = &item.content {
            let message = "a variant cannot stand in a block";
            let diagnostic = Diagnostic::error(MISPLACED_DECLARATION, message, item.span, "");
            diagnostics.push(diagnostic.help("it is about the whole text: write it at the end"));
        }
        misplaced(item, diagnostics);
    }
}

/// Whether a line is an expectation or a snapshot, which those of a variant replace.
fn judges(item: &Item) -> bool {
    matches!(item.content, Content::Statement(Statement::Expect(_) | Statement::Snapshot(_)))
}

/// Whether a line allows findings.
fn allows(item: &Item) -> bool {
    matches!(item.content, Content::Statement(Statement::Allow(_)))
}

/// The label of a line.
fn label(item: &Item) -> Option<&Name> {
    match &item.content {
        Content::Statement(Statement::Call(call)) => call.label.as_ref(),
        _ => None,
    }
}

/// What a variant makes of the program. A declaration is known by the first byte of its name.
#[derive(Default)]
struct Made<'f> {
    values: BTreeMap<u32, Expression>,
    pools: BTreeMap<u32, Vec<PoolChange>>,
    devices: BTreeMap<u32, Vec<Setting>>,
    /// Those of the device that is there without a line, with its name and the place of the first of them.
    only_device: Option<(&'f Item, Name, Vec<Setting>)>,
    /// The settings of the profile, with the place of the first of them.
    profile: Vec<Setting>,
    profile_at: Option<&'f Item>,
    /// The line that takes the place of that of the text.
    model: Option<Item>,
    /// Lines before all others.
    first: Vec<Item>,
    /// Lines behind those of devices.
    after_devices: BTreeMap<u32, Vec<Item>>,
    labels: BTreeSet<String>,
    omitted: Vec<&'f Item>,
}

/// What becomes of a pool.
enum PoolChange {
    /// A setting gets a value.
    Setting(Setting),
    /// A policy is switched.
    Policy { name: Name, on: bool, at: Span },
}

impl Made<'_> {
    fn apply(&self, items: &mut Vec<Item>) {
        items.retain(|item| {
            !judges(item) && !label(item).is_some_and(|label| self.labels.contains(&label.text))
        });
        for item in items {
            if let (Some(model), Content::Statement(Statement::Model(_))) = (&self.model, &item.content) {
                *item = model.clone();
            }
            match &mut item.content {
                Content::Statement(statement) => {
                    self.change(statement);
                    if let Some(body) = statement.body_mut() {
                        self.apply(&mut body.items);
                    }
                }
                Content::Broken(Some(body)) => self.apply(&mut body.items),
                _ => {}
            }
        }
    }

    fn change(&self, statement: &mut Statement) {
        match statement {
            Statement::Let(found) => {
                if let Some(value) = self.values.get(&found.name.span.start) {
                    found.value = value.clone();
                }
            }
            Statement::Profile(settings) => {
                self.profile.iter().for_each(|setting| replace(settings, setting));
            }
            Statement::Device(device) => {
                for setting in self.devices.get(&device.name.span.start).into_iter().flatten() {
                    replace(&mut device.settings, setting);
                }
            }
            Statement::Pool(pool) => {
                for change in self.pools.get(&pool.name.span.start).into_iter().flatten() {
                    match change {
                        PoolChange::Setting(setting) => replace(&mut pool.settings, setting),
                        PoolChange::Policy { name, on, at } => switch(&mut pool.settings, name, *on, *at),
                    }
                }
            }
            _ => {}
        }
    }
}

/// The changes of a variant, as they are read.
struct Changes<'v, 'f> {
    source: &'v Variants<'f>,
    made: Made<'f>,
    diagnostics: Vec<Diagnostic>,
}

impl<'f> Changes<'_, 'f> {
    fn read(&mut self, variant: &'f Variant) {
        let mut seen: BTreeMap<String, Span> = BTreeMap::new();
        for item in &variant.body.items {
            let Content::Change(change) = &item.content else { continue };
            let key = match change {
                Change::Model(_) => "model".to_owned(),
                Change::Set { target, .. } => format!("set {}", written(target, self.source.text)),
                Change::Omit(name) => format!("omit {}", name.text),
            };
            if let Some(first) = seen.insert(key, item.span) {
                let message = "this is changed already";
                let diagnostic = Diagnostic::error(DUPLICATE_SETTING, message, item.span, "");
                self.diagnostics.push(diagnostic.also(first, "changed here"));
                continue;
            }
            match change {
                Change::Model(model) => {
                    self.made.model = Some(line(item, Statement::Model(model.clone())));
                }
                Change::Omit(label) => self.omit(label),
                Change::Set { target, value } => {
                    let is_told = self.source.broken.contains(target.segments[0].name.text.as_str());
                    let set = self.set(item, target, value);
                    self.diagnostics.extend(set.err().filter(|_| !is_told).map(|diagnostic| *diagnostic));
                }
            }
        }
    }

    fn omit(&mut self, name: &Name) {
        let source = self.source;
        if let Some(lines) = source.labels.get(name.text.as_str()) {
            self.made.omitted.extend(lines);
            self.made.labels.insert(name.text.clone());
            return;
        }
        if source.broken.contains(name.text.as_str()) {
            return;
        }
        let message = format!("no line is called `{}`", name.text);
        let diagnostic = Diagnostic::error(UNKNOWN_NAME, message, name.span, "expected a label");
        self.diagnostics.push(match nearest(&name.text, source.labels.keys().copied()) {
            Some(near) => diagnostic.fix(format!("did you mean `{near}`?"), name.span, near),
            None => diagnostic.help(format!("a label stands at the end of its line: `.. as {}`", name.text)),
        });
    }

    fn set(&mut self, item: &'f Item, path: &Path, value: &SettingValue) -> Result<(), Box<Diagnostic>> {
        let name = written(path, self.source.text);
        // The path may end with spaces.
        let (first, last) = (&path.segments[0], &path.segments[path.segments.len() - 1]);
        let target = Target { name: &name, span: first.name.span.to(last.name.span) };
        match self.source.declared.settable(&target)? {
            Settable::Value(old) => {
                self.made.values.insert(old.name.span.start, expression(value)?.clone());
            }
            Settable::Pool(_, pool, setting) => {
                let change = in_pool(setting, value, &target)?;
                self.made.pools.entry(pool.name.span.start).or_default().push(change);
            }
            Settable::Device(_, device, setting) => {
                let setting = one_setting(setting, expression(value)?, &target);
                self.made.devices.entry(device.name.span.start).or_default().push(setting);
            }
            Settable::Profile(_, setting) => {
                self.made.profile.push(one_setting(setting, expression(value)?, &target));
                self.made.profile_at.get_or_insert(item);
            }
            Settable::OnlyDevice(setting) => {
                let setting = one_setting(setting, expression(value)?, &target);
                let name = first.name.clone();
                let only = self.made.only_device.get_or_insert_with(|| (item, name, Vec::new()));
                only.2.push(setting);
            }
            Settable::DefaultPool(device) => {
                let kind = CallKind::Set { attribute: path.clone(), value: expression(value)?.clone() };
                let call = Statement::Call(Box::new(Call { kind, label: None, outcome: None }));
                match device {
                    Some((_, device)) => {
                        let lines = self.made.after_devices.entry(device.name.span.start).or_default();
                        lines.push(line(item, call));
                    }
                    None => self.made.first.push(line(item, call)),
                }
            }
        }
        Ok(())
    }
}

/// A statement at the place of a change.
fn line(item: &Item, statement: Statement) -> Item {
    Item { span: item.span, content: Content::Statement(statement), comment: None }
}

/// A target as it is written, without spaces between its parts.
fn written(path: &Path, text: &str) -> String {
    let part = |segment: &Segment| match &segment.index {
        None => segment.name.text.clone(),
        Some(index) => format!("{}[{}]", segment.name.text, &text[index.span.range()]),
    };
    path.segments.iter().map(part).collect::<Vec<_>>().join(".")
}

/// A value that is no list.
fn expression(value: &SettingValue) -> Result<&Expression, Box<Diagnostic>> {
    match value {
        SettingValue::Expression(value) => Ok(value),
        SettingValue::List { span, .. } => {
            let message = "a list is no value here";
            Err(Diagnostic::error(UNEXPECTED, message, *span, "expected a value such as `64MiB`").into())
        }
    }
}

fn in_pool(setting: &str, value: &SettingValue, to: &Target<'_>) -> Result<PoolChange, Box<Diagnostic>> {
    let named = |name: &str| Name { text: name.to_owned(), span: to.setting(setting) };
    if setting == "reuse" {
        return match value {
            SettingValue::List { .. } => {
                Ok(PoolChange::Setting(Setting { name: named("reuse"), value: value.clone() }))
            }
            SettingValue::Expression(value) => {
                let label = "expected a list such as `[follow_event]`";
                Err(Diagnostic::error(UNEXPECTED, "`reuse` is a list of policies", value.span, label).into())
            }
        };
    }
    if !POLICIES.contains(&setting) {
        let [threshold, max_size] = POOL_SETTINGS;
        let words = ["reuse", threshold, max_size, POLICIES[0], POLICIES[1], POLICIES[2]];
        known(setting, &words, "a pool", to)?;
        return Ok(PoolChange::Setting(one_setting(setting, expression(value)?, to)));
    }
    let value = expression(value)?;
    let ExpressionKind::Switch(on) = value.kind else {
        let message = format!("`{setting}` is a switch");
        return Err(Diagnostic::error(UNEXPECTED, message, value.span, "expected `on` or `off`").into());
    };
    Ok(PoolChange::Policy { name: named(setting), on, at: value.span })
}

/// Switches a policy, whatever was said about the others.
fn switch(settings: &mut Settings, name: &Name, on: bool, at: Span) {
    let policies = place::policies(settings, &POLICIES);
    let is_on = |policy: &&str| if *policy == name.text { on } else { policies.contains(policy) };
    let word = |policy: &str| Name { text: policy.to_owned(), span: name.span };
    let words: Vec<Name> = POLICIES.into_iter().filter(is_on).map(word).collect();
    let value = SettingValue::List { words, span: at };
    replace(settings, &Setting { name: Name { text: "reuse".to_owned(), span: name.span }, value });
}

fn one_setting(setting: &str, value: &Expression, to: &Target<'_>) -> Setting {
    let name = Name { text: setting.to_owned(), span: to.setting(setting) };
    Setting { name, value: SettingValue::Expression(value.clone()) }
}

/// Gives a setting its new value, or adds it.
fn replace(settings: &mut Settings, new: &Setting) {
    let mut old: Vec<Setting> = settings.iter().cloned().collect();
    match old.iter_mut().find(|setting| setting.name.text == new.name.text) {
        Some(setting) => *setting = new.clone(),
        None => old.push(new.clone()),
    }
    *settings = Settings::Inline(old);
}

/// The names that a line declares, such as a buffer and a label, with the place of the line.
fn declares(item: &Item) -> impl Iterator<Item = (&str, Span)> {
    let created = match &item.content {
        Content::Statement(Statement::Call(call)) => match &call.kind {
            CallKind::Queued { operation: Operation::Alloc { buffer, .. }, .. } => {
                Some(&buffer.segments[0].name)
            }
            CallKind::Create(create) => Some(create.resource.name()),
            _ => None,
        },
        _ => None,
    };
    label(item).into_iter().chain(created).map(|name| (name.text.as_str(), item.span))
}
