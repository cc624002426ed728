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

const DUPLICATE_NAME: Code = Code("duplicate_name");
const DUPLICATE_SETTING: Code = Code("duplicate_setting");
const MISPLACED_DECLARATION: Code = Code("misplaced_declaration");
/// There is no model of that name.
const UNKNOWN_MODEL: Code = Code("unknown_model");

/// Every code that nothing else gives, with what it means.
pub const CODES: &[(Code, &str)] = &[(UNKNOWN_MODEL, "There is no allocator model of that name.")];

/// The models that a variant can choose.
const MODELS: [&str; 1] = ["cuda"];

/// The program of a text as it stands, or one of its variants.
#[derive(Clone, Debug)]
pub struct Twin<'f> {
    /// The variant; `None` for the program as it stands.
    pub variant: Option<&'f Variant>,
    /// Its statements.
    pub file: Cow<'f, File>,
    /// The lines that it goes without.
    pub omitted: Vec<&'f Item>,
}

/// The program as it stands, then each variant, and what is wrong with the changes that they make.
pub fn twins<'f>(file: &'f File, text: &str) -> (Vec<Twin<'f>>, Vec<Diagnostic>) {
    let mut diagnostics = Vec::new();
    let mut variants: Vec<&Variant> = Vec::new();
    for item in &file.items {
        match &item.content {
            Content::Statement(Statement::Variant(variant)) => variants.push(variant),
            _ => misplaced(item, &mut diagnostics),
        }
    }
    if variants.is_empty() {
        let base = Twin { variant: None, file: Cow::Borrowed(file), omitted: Vec::new() };
        return (vec![base], diagnostics);
    }
    let is_variant = |item: &Item| matches!(item.content, Content::Statement(Statement::Variant(_)));
    let mut base = file.clone();
    base.items.retain(|item| !is_variant(item));
    let mut program = base.clone();
    without_judgement(&mut program.items);
    let mut twins = vec![Twin { variant: None, file: Cow::Owned(base), omitted: Vec::new() }];
    for (nth, variant) in variants.iter().enumerate() {
        if let Some(first) = variants[..nth].iter().find(|first| first.name.text == variant.name.text) {
            let message = format!("there is a variant `{}` already", variant.name.text);
            let span = variant.name.span;
            let diagnostic = Diagnostic::error(DUPLICATE_NAME, message, span, "give it another name");
            diagnostics.push(diagnostic.also(first.name.span, "declared here"));
        }
        let mut changed = Changed {
            source: file,
            text,
            file: program.clone(),
            omitted: Vec::new(),
            diagnostics: Vec::new(),
        };
        changed.make(variant);
        diagnostics.append(&mut changed.diagnostics);
        let (file, omitted) = (Cow::Owned(changed.file), changed.omitted);
        twins.push(Twin { variant: Some(variant), file, omitted });
    }
    (twins, diagnostics)
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

/// Removes expectations and snapshots, in blocks too.
fn without_judgement(items: &mut Vec<Item>) {
    let judges = |content: &Content| {
        matches!(content, Content::Statement(Statement::Expect(_) | Statement::Snapshot(_)))
    };
    items.retain(|item| !judges(&item.content));
    for_each_body(items, &mut |items| items.retain(|item| !judges(&item.content)));
}

/// Visits the items of each block, however deep.
fn for_each_body(items: &mut [Item], visit: &mut impl FnMut(&mut Vec<Item>)) {
    for item in items {
        let body = match &mut item.content {
            Content::Statement(statement) => statement.body_mut(),
            Content::Broken(body) => body.as_mut(),
            _ => None,
        };
        if let Some(body) = body {
            visit(&mut body.items);
            for_each_body(&mut body.items, visit);
        }
    }
}

/// The label of a line.
fn label(item: &Item) -> Option<&Name> {
    match &item.content {
        Content::Statement(Statement::Call(call)) => call.label.as_ref(),
        _ => None,
    }
}

/// Every item of a text that is in no variant.
fn all_items<'f>(items: &'f [Item], found: &mut Vec<&'f Item>) {
    for item in items {
        found.push(item);
        match &item.content {
            Content::Statement(Statement::Variant(_)) => {}
            Content::Statement(statement) => {
                all_items(statement.body().map_or(&[], |body| &body.items), found);
            }
            Content::Broken(Some(body)) => all_items(&body.items, found),
            _ => {}
        }
    }
}

/// A variant in the making.
struct Changed<'f, 't> {
    /// The text as it stands.
    source: &'f File,
    text: &'t str,
    file: File,
    omitted: Vec<&'f Item>,
    diagnostics: Vec<Diagnostic>,
}

impl<'f> Changed<'f, '_> {
    fn make(&mut self, variant: &'f Variant) {
        let mut made: Vec<(String, Span)> = Vec::new();
        for item in &variant.body.items {
            match &item.content {
                Content::Change(change) => {
                    let key = match change {
                        Change::Model(_) => "model".to_owned(),
                        Change::Set { target, .. } => format!("set {}", written(target, self.text)),
                        Change::Omit(name) => format!("omit {}", name.text),
                    };
                    match made.iter().find(|(earlier, _)| *earlier == key) {
                        Some((_, first)) => self.tell(
                            Diagnostic::error(DUPLICATE_SETTING, "this is changed already", item.span, "")
                                .also(*first, "changed here"),
                        ),
                        None => self.change(item, change),
                    }
                    made.push((key, item.span));
                }
                Content::Statement(Statement::Expect(_) | Statement::Snapshot(_)) => {
                    self.file.items.push(item.clone());
                }
                _ => {}
            }
        }
    }

    fn tell(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
    }

    fn change(&mut self, item: &'f Item, change: &'f Change) {
        match change {
            Change::Model(model) => self.model(model),
            Change::Omit(label) => self.omit(label),
            Change::Set { target, value } => {
                if let Err(diagnostic) = self.set(item, target, value) {
                    // A broken line may be the one that declares it.
                    let first = &target.segments[0].name.text;
                    if !self.is_in_broken_line(first) {
                        self.tell(*diagnostic);
                    }
                }
            }
        }
    }

    fn model(&mut self, model: &Name) {
        if MODELS.contains(&model.text.as_str()) {
            return;
        }
        let message = format!("there is no model called `{}`", model.text);
        let diagnostic = Diagnostic::error(UNKNOWN_MODEL, message, model.span, "");
        self.tell(match nearest(&model.text, MODELS) {
            Some(near) => diagnostic.fix(format!("did you mean `{near}`?"), model.span, near),
            None => diagnostic.help(format!("there is `{}`", MODELS.join("`, `"))),
        });
    }

    fn omit(&mut self, name: &Name) {
        let mut all = Vec::new();
        all_items(&self.source.items, &mut all);
        let is_labelled = |item: &Item| label(item).is_some_and(|label| label.text == name.text);
        let before = self.omitted.len();
        self.omitted.extend(all.iter().filter(|item| is_labelled(item)));
        if self.omitted.len() > before {
            self.file.items.retain(|item| !is_labelled(item));
            for_each_body(&mut self.file.items, &mut |items| items.retain(|item| !is_labelled(item)));
            return;
        }
        if self.is_in_broken_line(&name.text) {
            return;
        }
        let message = format!("no line is called `{}`", name.text);
        let diagnostic = Diagnostic::error(UNKNOWN_NAME, message, name.span, "expected a label");
        let labels = all.iter().filter_map(|item| label(item)).map(|label| label.text.as_str());
        self.tell(match nearest(&name.text, labels) {
            Some(near) => diagnostic.fix(format!("did you mean `{near}`?"), name.span, near),
            None => diagnostic.help(format!("a label stands at the end of its line: `.. as {}`", name.text)),
        });
    }

    fn is_in_broken_line(&self, word: &str) -> bool {
        let mut all = Vec::new();
        all_items(&self.source.items, &mut all);
        let is_letter = |c: char| c.is_ascii_alphanumeric() || c == '_';
        all.iter().filter(|item| matches!(item.content, Content::Broken(_))).any(|item| {
            self.text[item.span.range()].split(|c: char| !is_letter(c)).any(|found| found == word)
        })
    }

    fn set(&mut self, item: &Item, path: &Path, value: &SettingValue) -> Result<(), Box<Diagnostic>> {
        let name = written(path, self.text);
        // The path may end with spaces.
        let (first, last) = (&path.segments[0], &path.segments[path.segments.len() - 1]);
        let target = Target { name: &name, span: first.name.span.to(last.name.span) };
        let source = self.source;
        match Declared::of(source).settable(&target)? {
            Settable::Value(old) => {
                let value = expression(value)?.clone();
                self.in_statement(&mut |statement| match statement {
                    Statement::Let(found) if found.name == old.name => found.value = value.clone(),
                    _ => {}
                });
            }
            Settable::Pool(_, pool, setting) => {
                let new = in_pool(&pool.settings, setting, value, &target)?;
                self.in_statement(&mut |statement| match statement {
                    Statement::Pool(found) if found.name == pool.name => replace(&mut found.settings, &new),
                    _ => {}
                });
            }
            Settable::Device(_, device, setting) => {
                let new = one_setting(setting, expression(value)?, &target);
                self.in_statement(&mut |statement| match statement {
                    Statement::Device(found) if found.name == device.name => {
                        replace(&mut found.settings, &new);
                    }
                    _ => {}
                });
            }
            Settable::OnlyDevice(setting) => {
                let setting = one_setting(setting, expression(value)?, &target);
                let name = path.segments[0].name.clone();
                let device = Device { name, settings: Settings::Inline(vec![setting]) };
                self.file.items.insert(0, line(item, Statement::Device(device)));
            }
            Settable::DefaultPool(_) => {
                let kind = CallKind::Set { attribute: path.clone(), value: expression(value)?.clone() };
                let call = Call { kind, label: None, outcome: None };
                let is_device = |item: &Item| match &item.content {
                    Content::Statement(Statement::Device(device)) => device.name.text == first.name.text,
                    _ => false,
                };
                let at = self.file.items.iter().position(is_device).map_or(0, |at| at + 1);
                self.file.items.insert(at, line(item, Statement::Call(Box::new(call))));
            }
        }
        Ok(())
    }

    /// Visits every statement, in blocks too.
    fn in_statement(&mut self, visit: &mut impl FnMut(&mut Statement)) {
        let mut visit_all = |items: &mut Vec<Item>| {
            for item in items {
                if let Content::Statement(statement) = &mut item.content {
                    visit(statement);
                }
            }
        };
        visit_all(&mut self.file.items);
        for_each_body(&mut self.file.items, &mut visit_all);
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

/// The setting of a pool that takes the place of an old one.
fn in_pool(
    settings: &Settings,
    setting: &str,
    value: &SettingValue,
    to: &Target<'_>,
) -> Result<Setting, Box<Diagnostic>> {
    let named = |name: &str| Name { text: name.to_owned(), span: to.setting(setting) };
    if setting == "reuse" {
        return match value {
            SettingValue::List { .. } => Ok(Setting { name: named("reuse"), value: value.clone() }),
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
        return Ok(one_setting(setting, expression(value)?, to));
    }
    let value = expression(value)?;
    let ExpressionKind::Switch(on) = value.kind else {
        let message = format!("`{setting}` is a switch");
        return Err(Diagnostic::error(UNEXPECTED, message, value.span, "expected `on` or `off`").into());
    };
    let policies = place::policies(settings, &POLICIES);
    let is_on = |name: &&str| if *name == setting { on } else { policies.contains(name) };
    let words = POLICIES.into_iter().filter(is_on).map(named).collect();
    Ok(Setting { name: named("reuse"), value: SettingValue::List { words, span: value.span } })
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

impl Twin<'_> {
    /// The line that this variant omits and that declares a name: a buffer, or a label.
    pub fn omits(&self, name: &str) -> Option<Span> {
        let declares = |item: &&&Item| {
            let buffer = match &item.content {
                Content::Statement(Statement::Call(call)) => match &call.kind {
                    CallKind::Queued { operation: Operation::Alloc { buffer, .. }, .. } => {
                        Some(&buffer.segments[0].name)
                    }
                    _ => None,
                },
                _ => None,
            };
            label(item).into_iter().chain(buffer).any(|declared| declared.text == name)
        };
        self.omitted.iter().find(declares).map(|item| item.span)
    }
}
