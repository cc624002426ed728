//! Statements that say less: sizes of one unit, durations of one microsecond, and nothing that is not needed.
//!
//! All that may be said more simply is tried at once, and by halves where that fails.

use super::hunt::Hunt;
use crate::base::{Bytes, Edit, Nanos, Span};
use crate::edit::insert;
use crate::explore::site::{Site, Sites};
use crate::syntax::ast::{
    Call, CallKind, Created, Expression, ExpressionKind, Law, Literal, Operation, Pool, Setting, Settings,
    Statement, Takes,
};
use std::collections::BTreeSet;

/// What memory is handed out in (CUDA allocates no less), so that nothing smaller is any simpler.
const SIZE: &str = "512B";
/// A size for what has to be larger: that of a chunk of a pool.
const LARGER_SIZE: &str = "2MiB";
const DURATION: &str = "1us";

/// A way to say something more simply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Change {
    /// No label.
    Label,
    /// Nothing about the success of a call.
    Outcome,
    /// Nothing in the braces that is as usual: without this setting.
    Setting(usize),
    /// Memory of the default pool.
    Pool,
    /// A stream or an event without what stands behind its name.
    Options,
    /// The usual duration of a call.
    Takes,
    /// The shortest duration.
    Duration,
    /// The smallest size.
    Size,
    /// All of a buffer for a part of it.
    Part,
}

const CHANGES: [Change; 8] = [
    Change::Label,
    Change::Outcome,
    Change::Pool,
    Change::Options,
    Change::Takes,
    Change::Duration,
    Change::Size,
    Change::Part,
];

/// What is tried for what none of these changes could be made to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Lesser {
    /// A constant duration: the shortest one of several.
    Shortest,
    /// The longest one.
    Longest,
    /// A size that is larger than the smallest one.
    Size,
}

/// A change of a statement, which is known by its line and by how manyeth of these it is.
type Unit = (Change, String, usize);

/// Says everything as simply as possible.
pub(super) fn simplify(hunt: &mut Hunt<'_, '_>) {
    let mut refused: BTreeSet<Unit> = BTreeSet::new();
    loop {
        let units: Vec<Unit> = units(hunt).into_iter().filter(|unit| !refused.contains(unit)).collect();
        if units.is_empty() || !halves(hunt, &units, &mut refused) {
            break;
        }
    }
    for lesser in [Lesser::Shortest, Lesser::Longest, Lesser::Size] {
        let mut nth = 0;
        while let Some(edits) = lesser_of(hunt, nth, lesser) {
            hunt.attempt(&edits);
            nth += 1;
        }
    }
}

/// Makes changes, all of them or those of a half; whether there were some.
fn halves(hunt: &mut Hunt<'_, '_>, units: &[Unit], refused: &mut BTreeSet<Unit>) -> bool {
    let edits = edits(hunt, units);
    if hunt.attempt(&edits) {
        return true;
    }
    if let [unit] = units {
        refused.insert(unit.clone());
        return false;
    }
    let (one, other) = units.split_at(units.len() / 2);
    !hunt.is_over && (halves(hunt, one, refused) || halves(hunt, other, refused))
}

/// All changes that there are, those of one kind after the other.
fn units(hunt: &Hunt<'_, '_>) -> Vec<Unit> {
    let sites = Sites::of(&hunt.file, &hunt.text);
    let mut units = Vec::new();
    for site in &sites.all {
        let settings = site.statement().and_then(settings).map_or(0, |settings| settings.iter().count());
        let changes = CHANGES.into_iter().chain((0..settings).map(Change::Setting));
        let real = changes.filter(|change| changed(&sites, site, &[*change]).is_some());
        let unit = |change| (change, sites.of_span(site.item.span).to_owned(), nth_of_equal(&sites, site));
        units.extend(real.map(unit));
    }
    units.sort();
    units
}

/// How many lines above this one are equal to it.
fn nth_of_equal(sites: &Sites<'_>, site: &Site<'_>) -> usize {
    let line = sites.of_span(site.item.span);
    sites.all[..site.nth].iter().filter(|other| sites.of_span(other.item.span) == line).count()
}

fn edits(hunt: &Hunt<'_, '_>, units: &[Unit]) -> Vec<Edit> {
    let sites = Sites::of(&hunt.file, &hunt.text);
    let edit = |site: &Site<'_>| {
        let (line, nth) = (sites.of_span(site.item.span), nth_of_equal(&sites, site));
        let own = units.iter().filter(|(_, of, at)| of == line && *at == nth).map(|(change, ..)| *change);
        let changes: Vec<Change> = own.collect();
        changed(&sites, site, &changes)
    };
    sites.all.iter().filter_map(edit).collect()
}

/// A statement with changes; `None`: they change nothing.
fn changed(sites: &Sites<'_>, site: &Site<'_>, changes: &[Change]) -> Option<Edit> {
    let mut statement = site.statement()?.clone();
    let mut span = site.item.span;
    // The last setting goes first, so that the others keep their places.
    for change in changes.iter().rev() {
        match change {
            Change::Setting(nth) => {
                let settings = settings_mut(&mut statement)?;
                let mut left: Vec<Setting> = settings.iter().cloned().collect();
                if *nth < left.len() {
                    left.remove(*nth);
                }
                *settings = if left.is_empty() { Settings::None } else { Settings::Inline(left) };
                span = Span::new(span.start, insert::end(site.item));
            }
            Change::Size | Change::Part => {}
            change => simplified(&mut statement, *change),
        }
    }
    let is_sized = has_sizes(&statement);
    let mut written = statement.to_string();
    if is_sized && changes.contains(&Change::Part) {
        written = without_parts(&written);
    }
    if is_sized && changes.contains(&Change::Size) {
        written = with_sizes(&written, SIZE);
    }
    (written != sites.of_span(span)).then_some(Edit { span, text: written })
}

fn simplified(statement: &mut Statement, change: Change) {
    match (change, &mut *statement) {
        (Change::Label, Statement::Call(call)) => call.label = None,
        (Change::Outcome, Statement::Call(call)) if call.handler().is_none() => call.outcome = None,
        (Change::Pool, Statement::Call(call)) => {
            if let Some(Operation::Alloc { pool, .. }) = operation(call) {
                *pool = None;
            }
        }
        (Change::Options, Statement::Streams(streams)) => {
            (streams.kind, streams.priority, streams.device) = (None, None, None);
        }
        (Change::Options, Statement::Events(events)) => (events.device, events.interprocess) = (None, false),
        (Change::Takes, Statement::Call(call)) => match operation(call) {
            Some(Operation::Copy(copy)) => copy.takes = None,
            Some(Operation::Memset(memset)) => memset.takes = None,
            Some(Operation::Launch { takes: takes @ Some(Takes::For(_)), .. }) => *takes = None,
            _ => {}
        },
        (Change::Duration, Statement::Call(call)) => match &mut call.kind {
            CallKind::Sleep(time) => *time = shortest(),
            _ => laws(statement).into_iter().for_each(|law| *law = Law::Constant(shortest())),
        },
        (Change::Duration, statement) => {
            laws(statement).into_iter().for_each(|law| *law = Law::Constant(shortest()));
        }
        _ => {}
    }
}

fn operation(call: &mut Call) -> Option<&mut Operation> {
    match &mut call.kind {
        CallKind::Queued { operation, .. } => Some(operation),
        _ => None,
    }
}

fn shortest() -> Expression {
    let kind = ExpressionKind::Literal(DURATION.to_owned(), Literal::Duration(Nanos::us(1)));
    Expression { span: Span::default(), kind }
}

/// The durations that a statement states.
fn laws(statement: &mut Statement) -> Vec<&mut Law> {
    let takes = match statement {
        Statement::Kernel(kernel) => return vec![&mut kernel.takes],
        Statement::Collective(collective) => return vec![&mut collective.takes],
        Statement::Call(call) => match operation(call) {
            Some(Operation::Copy(copy)) => return copy.takes.iter_mut().collect(),
            Some(Operation::Memset(memset)) => return memset.takes.iter_mut().collect(),
            Some(Operation::Launch { takes, .. }) => takes,
            Some(Operation::Host(function)) => &mut function.takes,
            _ => return Vec::new(),
        },
        _ => return Vec::new(),
    };
    match takes {
        Some(Takes::For(law)) => vec![law],
        Some(Takes::Until(_)) | None => Vec::new(),
    }
}

fn settings(statement: &Statement) -> Option<&Settings> {
    match statement {
        Statement::Device(device) => Some(&device.settings),
        Statement::Pool(pool) => Some(&pool.settings),
        Statement::Profile(settings) => Some(settings),
        Statement::Call(call) => match &call.kind {
            CallKind::Create(create) => create.resource.settings(),
            _ => None,
        },
        _ => None,
    }
}

fn settings_mut(statement: &mut Statement) -> Option<&mut Settings> {
    match statement {
        Statement::Device(device) => Some(&mut device.settings),
        Statement::Pool(pool) => Some(&mut pool.settings),
        Statement::Profile(settings) => Some(settings),
        Statement::Call(call) => match &mut call.kind {
            CallKind::Create(create) => match &mut create.resource {
                Created::Pool(Pool { settings, .. }) => Some(settings),
                Created::Stream { .. } | Created::Event { .. } => None,
            },
            _ => None,
        },
        _ => None,
    }
}

/// Whether the sizes of a statement are those of memory that is touched, rather than limits or what is expected.
fn has_sizes(statement: &Statement) -> bool {
    match statement {
        Statement::HostBuffers(_) | Statement::View(_) | Statement::Asynchronous(_) => true,
        Statement::Call(call) => !matches!(
            call.kind,
            CallKind::Trim { .. } | CallKind::Set { .. } | CallKind::Reserve { .. } | CallKind::Create(_)
        ),
        _ => false,
    }
}

/// A line with one size for all of its sizes.
fn with_sizes(line: &str, size: &str) -> String {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let (mut out, mut rest) = (String::new(), line);
    while let Some(start) = rest.find(is_part) {
        let end = rest[start..].find(|c| !is_part(c)).map_or(rest.len(), |end| start + end);
        let word = &rest[start..end];
        let is_size = word.parse::<Bytes>().is_ok() && word.starts_with(|c: char| c.is_ascii_digit());
        out.push_str(&rest[..start]);
        out.push_str(if is_size { size } else { word });
        rest = &rest[end..];
    }
    out + rest
}

/// A line without the brackets that name a part of a buffer.
fn without_parts(line: &str) -> String {
    let (mut out, mut rest) = (String::new(), line);
    while let Some(open) = rest.find('[') {
        let Some(close) = rest[open..].find(']').map(|close| open + close + 1) else { break };
        let is_part = rest[open..close].contains("..");
        out.push_str(&rest[..if is_part { open } else { close }]);
        rest = &rest[close..];
    }
    out + rest
}

/// What else may be simpler about a statement; `None`: there is no such statement.
fn lesser_of(hunt: &Hunt<'_, '_>, nth: usize, lesser: Lesser) -> Option<Vec<Edit>> {
    let sites = Sites::of(&hunt.file, &hunt.text);
    let site = sites.all.get(nth)?;
    let Some(mut statement) = site.statement().cloned() else { return Some(Vec::new()) };
    let text = match lesser {
        Lesser::Size if has_sizes(&statement) => {
            let line = statement.to_string();
            let is_smallest = with_sizes(&line, SIZE) == line;
            if is_smallest { line } else { with_sizes(&line, LARGER_SIZE) }
        }
        Lesser::Size => return Some(Vec::new()),
        Lesser::Shortest | Lesser::Longest => {
            for law in laws(&mut statement) {
                let ends = match law {
                    Law::Range(low, high) | Law::Uniform(low, high) => [low.clone(), high.clone()],
                    Law::Normal(middle, _) | Law::Around(middle, _) => [middle.clone(), middle.clone()],
                    Law::Constant(_) => continue,
                };
                let [low, high] = ends;
                *law = Law::Constant(if lesser == Lesser::Shortest { low } else { high });
            }
            statement.to_string()
        }
    };
    let is_new = text != sites.of_span(site.item.span);
    Some(is_new.then_some(Edit { span: site.item.span, text }).into_iter().collect())
}
