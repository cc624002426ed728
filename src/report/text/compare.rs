//! Two runs side by side for people: each difference at its line, what it was on either side, and at its end what documents
//! say about it.

use super::Options;
use super::table::{columns_of, heading, shorten, wrap};
use crate::base::{Bytes, Nanos, grouped};
use crate::compare::{Class, Comparison, Deviation, Difference, Figures, Held, Key, Outcome, Seen};
use crate::oracle::Broken;
use crate::report::compare::SideBySide;
use crate::scenario::{Action, Demand, Instruction, Statement, Unit};
use crate::trace::Reading;

/// So many differences are shown that documents leave open, and so many others.
const OPEN_MAX: usize = 10;
const SHOWN_MAX: usize = 50;
/// So many blocks are named that an allocation reuses.
const BLOCKS_MAX: usize = 3;
/// So many lines are listed that only one side has.
const LINES_LISTED_MAX: usize = 12;

impl SideBySide<'_> {
    /// The report as text.
    pub fn text(&self, options: Options) -> String {
        let width = options.width.max(60);
        let [left, right] = &self.sides;
        let mut lines =
            vec![heading(&left.program.title, &left.origin.path, "", width).trim_end().to_owned()];
        for (name, side) in [("left", left), ("right", right)] {
            lines.extend(wrap(&format!("  {name:<5}  {}", side.facts()), 9, width));
        }
        let (mut shown, mut open, mut folded) = (0, 0, [0; 3]);
        for difference in &self.comparison.differences {
            let count = if difference.class == Class::Unspecified { &mut open } else { &mut shown };
            let limit = if difference.class == Class::Unspecified { OPEN_MAX } else { SHOWN_MAX };
            if *count == limit {
                folded[difference.class as usize] += 1;
                continue;
            }
            *count += 1;
            lines.push(String::new());
            lines.extend(self.difference(difference, width));
        }
        for (class, count) in Class::ALL.into_iter().zip(folded).filter(|(_, count)| *count > 0) {
            let more = format!(
                ".. and {} more: {}; --format json has all",
                counted(count, "difference"),
                class.name()
            );
            lines.extend([String::new(), more]);
        }
        lines.extend(super::met::lines(right.program, self.met, width));
        lines.extend(self.stops(width));
        lines.push(String::new());
        lines.extend(self.closing(width));
        if options.colour {
            let title = 1;
            lines.iter_mut().skip(title).for_each(|line| *line = paint(line));
        }
        lines.iter().map(|line| format!("{line}\n")).collect()
    }

    /// A difference: its line, and what it was on either side.
    fn difference(&self, difference: &Difference, width: usize) -> Vec<String> {
        let Difference { key, class, times, follows, .. } = difference;
        let mut judged = class.name().to_owned();
        if let Some(stmt) = follows.filter(|stmt| *stmt != key.stmt) {
            judged += &format!(", follows line {}", self.line(stmt));
        }
        if *times > 1 {
            judged = format!("{} times, {judged}", grouped(*times));
        }
        let nth = if key.nth > 1 { format!(" (call {})", grouped(key.nth.into())) } else { String::new() };
        let thread = self.thread(*key).map(|thread| format!(" in {thread}")).unwrap_or_default();
        let text = self.text_of(key.stmt);
        let place = format!("line {}{thread}{nth}: {text}", self.line(key.stmt));
        let place = shorten(&place, width.saturating_sub(columns_of(&judged) + 2));
        let gap = width.saturating_sub(columns_of(&place) + columns_of(&judged));
        let mut lines = vec![format!("{place}{}{judged}", " ".repeat(gap.max(2)))];
        let seen =
            |exact| [&difference.left, &difference.right].map(|seen| self.seen(difference, seen, exact));
        let rounded = seen(false);
        let seen = if rounded[0] == rounded[1] { seen(true) } else { rounded };
        let held = difference.held.as_ref().map(|held| self.figures(held));
        lines.extend(sides(seen, held, width));
        lines
    }

    /// The figures that differ by another amount than before. Blanks in what belongs together are such that no line is broken there.
    fn figures(&self, held: &Held) -> [String; 2] {
        let pool = self.pool(held.pool);
        let sides = [held.left, held.right];
        let [left, right] = sides.map(|figures| figures.named().map(|(_, bytes)| bytes.human()));
        sides.map(|figures: Figures| {
            let alike = left.iter().zip(&right).map(|(left, right)| left == right);
            let named = figures.named().into_iter().zip(alike).zip(held.changed);
            let named = named.filter(|(_, changed)| *changed).map(|(((name, bytes), alike), _)| {
                format!("{name} {}", amount(bytes.0.into(), Unit::Bytes, alike))
            });
            format!("{pool}: {}", named.collect::<Vec<_>>().join(", "))
                .replace(' ', "\u{a0}")
                .replace(",\u{a0}", ", ")
        })
    }

    /// What was seen on one side; `exact`: so that two that are not the same do not look the same.
    fn seen(&self, difference: &Difference, seen: &Seen, exact: bool) -> String {
        match seen {
            Seen::Made(true) => "is made".to_owned(),
            Seen::Made(false) => "is not made".to_owned(),
            Seen::Outcome(Outcome::Succeeded) => "succeeds".to_owned(),
            Seen::Outcome(Outcome::Failed(failure)) => format!("fails: {failure}"),
            Seen::Outcome(Outcome::Skipped) => "is skipped".to_owned(),
            Seen::Outcome(Outcome::Stuck) => "never returns".to_owned(),
            Seen::Memory { reuses, grows } => self.memory(reuses, *grows, exact),
            Seen::Pool => String::new(),
            Seen::Value(value) => amount(*value, self.unit(difference.key), exact),
            Seen::Values(value, with) => {
                let unit = self.unit(difference.key);
                let is_same = match (&difference.left, &difference.right) {
                    (Seen::Values(_, left), Seen::Values(_, right)) => left == right,
                    _ => false,
                };
                let value = amount(*value, unit, exact);
                if is_same { value } else { format!("{value}, compared with {}", amount(*with, unit, exact)) }
            }
            Seen::Readiness(readiness) => readiness.name().to_owned(),
            Seen::EndsBefore { before, other } => {
                let when = if *before { "before" } else { "after" };
                format!(
                    "ends {when} line {}{}: {}",
                    self.line(other.stmt),
                    self.whose(*other),
                    self.text_of(other.stmt)
                )
            }
        }
    }

    /// The thread of a call, and which of several calls it is.
    fn whose(&self, key: Key) -> String {
        let thread = self.thread(key).map(|thread| format!(" in {thread}")).unwrap_or_default();
        let nth = if key.nth > 1 { format!(", call {}", grouped(key.nth.into())) } else { String::new() };
        format!("{thread}{nth}")
    }

    fn memory(&self, reuses: &[(Key, Bytes)], grows: Bytes, all: bool) -> String {
        if reuses.is_empty() {
            return match grows {
                Bytes::ZERO => "new memory".to_owned(),
                grows => format!("grows by {}", grows.human()),
            };
        }
        let shown = if all { reuses.len() } else { BLOCKS_MAX };
        let named = reuses.iter().take(shown).map(|(key, _)| {
            format!("{} (line {}{})", self.block(key.stmt), self.line(key.stmt), self.whose(*key))
        });
        let more = reuses.len().saturating_sub(shown);
        let more = (more > 0).then(|| format!("{} more", grouped(more as u64)));
        let named: Vec<String> = named.chain(more).collect();
        format!("reuses {}", named.join(", "))
    }

    /// The unit of what a call reads.
    fn unit(&self, key: Key) -> Unit {
        let program = self.sides[0].program;
        let expect = program.expects.iter().find(|line| line.stmt == key.stmt);
        if let Some(Demand::Compare { unit, .. }) = expect.map(|line| line.demand) {
            return unit;
        }
        let reading = program.code.iter().find_map(|instruction| match instruction {
            Instruction::Call { stmt, action: Action::Elapsed { .. } } if *stmt == key.stmt => {
                Some(Unit::Nanos)
            }
            Instruction::Call { stmt, action: Action::Read { reading, .. } } if *stmt == key.stmt => {
                Some(unit_of(*reading))
            }
            _ => None,
        });
        reading.unwrap_or(Unit::Count)
    }

    /// Where a side was given up.
    fn stops(&self, width: usize) -> Vec<String> {
        let mut lines = Vec::new();
        for (name, side) in ["left", "right"].into_iter().zip(&self.sides) {
            let Some(Broken { stmt, reason }) = &side.stopped else { continue };
            let Statement { line, text, .. } = &side.program.statements[*stmt];
            lines.push(String::new());
            lines.extend(wrap(&format!("error: the {name} side stopped at line {line}: {text}"), 2, width));
            lines.extend(wrap(&format!("  {reason}"), 2, width));
        }
        lines
    }

    /// What is wrong beside the differences, at the beginning of a line.
    fn beside(&self) -> String {
        let [left, right] = self.sides.each_ref().map(|side| side.stopped.is_some());
        let stopped = match (left, right) {
            (true, true) => "both sides stopped early, ",
            (true, false) => "the left side stopped early, ",
            (false, true) => "the right side stopped early, ",
            (false, false) => "",
        };
        let met = match self.met.len() {
            0 => String::new(),
            count => format!("{}, ", counted(count as u64, "overlap")),
        };
        met + stopped
    }

    /// What came of it, and what was compared.
    fn closing(&self, width: usize) -> Vec<String> {
        let Comparison { differences, turned, compared, .. } = self.comparison;
        let what = [
            counted(compared.calls, "call"),
            counted(compared.allocations, "allocation"),
            format!("{} of {}", counted(compared.states, "state"), counted(compared.pools, "pool")),
            counted(compared.values, "value"),
            counted(compared.operations, "operation"),
        ];
        let what = what.join(", ");
        let beside = self.beside();
        let mut lines = match differences.first() {
            None => wrap(&format!("{beside}no difference: {what} compared"), 2, width),
            Some(first) => {
                let classes = Class::ALL.into_iter().rev().map(|class| (self.comparison.of(class), class));
                let classes = classes.filter(|(count, _)| *count > 0);
                let classes: Vec<String> = classes
                    .map(|(count, class)| format!("{} {}", grouped(count as u64), class.name()))
                    .collect();
                let count = counted(differences.len() as u64, "difference");
                let line = self.line(first.key.stmt);
                let text = format!("{beside}{count} ({}), the first at line {line}", classes.join(", "));
                let mut lines = wrap(&text, 2, width);
                lines.extend(wrap(&format!("compared: {what}"), 2, width));
                lines
            }
        };
        if let Some(stmt) = turned {
            let text = format!(
                "from line {} on host threads call in another order: what follows may come from that",
                self.line(*stmt)
            );
            lines.extend(wrap(&text, 2, width));
        }
        for (nth, side) in ["left", "right"].into_iter().enumerate() {
            let alone = self.lines_alone(nth);
            if !alone.is_empty() {
                lines.extend(wrap(
                    &format!("on the {side} only, not compared: {}", listed(&alone)),
                    2,
                    width,
                ));
            }
        }
        lines.extend(self.comparison.deviations.iter().flat_map(|cause| wrap(&note(*cause), 2, width)));
        lines
    }
}

/// What may be behind differences that say nothing about the driver.
fn note(deviation: Deviation) -> String {
    let cause = match deviation {
        Deviation::SignalOfAFunction => {
            "a host thread awaits the signal of a function in a stream, and a driver does not know what it learns from that"
        }
        Deviation::OneProcess => {
            "all processes share the one of the driver: what one has seen complete is seen by all, and a device is synchronised for all"
        }
        Deviation::SecondFree => {
            "a driver knows memory by its address, so that a second free is one of whoever has the memory now"
        }
    };
    format!("note: {cause} (docs/hardware.md)")
}

fn unit_of(reading: Reading) -> Unit {
    match reading {
        reading if reading.is_switch() => Unit::Switch,
        reading if reading.is_count() => Unit::Count,
        _ => Unit::Bytes,
    }
}

/// A value for people; `exact`: to the last byte or nanosecond.
fn amount(value: i128, unit: Unit, exact: bool) -> String {
    match (unit, u64::try_from(value)) {
        (Unit::Bytes, Ok(value)) if exact => format!("{} B", grouped(value)),
        (Unit::Nanos, Ok(value)) if exact => format!("{}ns", grouped(value)),
        (Unit::Bytes, Ok(value)) => Bytes(value).human(),
        (Unit::Nanos, Ok(value)) => Nanos(value).human(),
        (Unit::Switch, Ok(value)) => if value == 0 { "off" } else { "on" }.to_owned(),
        (_, Ok(value)) => grouped(value),
        (_, Err(_)) => value.to_string(),
    }
}

fn counted(count: u64, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", grouped(count))
}

/// What was seen on the two sides, and what a pool held there: beside it where there is room, else below.
fn sides(seen: [String; 2], held: Option<[String; 2]>, width: usize) -> Vec<String> {
    let held = held.unwrap_or_default();
    let column = seen.iter().map(|seen| columns_of(seen)).max().unwrap_or(0);
    let gap = if column == 0 { 0 } else { column + 3 };
    let has_room = held.iter().all(|held| 9 + gap + columns_of(held) <= width);
    let mut lines = Vec::new();
    for ((name, seen), held) in ["left", "right"].into_iter().zip(seen).zip(held) {
        if has_room && !held.is_empty() {
            lines.push(format!("  {name:<5}  {seen:<gap$}{held}"));
            continue;
        }
        lines.extend(wrap(&format!("  {name:<5}  {seen}"), 11, width));
        if !held.is_empty() {
            lines.extend(wrap(&format!("{}{held}", " ".repeat(9)), 11, width));
        }
    }
    lines.iter().map(|line| line.replace('\u{a0}', " ").trim_end().to_owned()).collect()
}

/// The numbers of lines, the first ones of many.
fn listed(lines: &[u32]) -> String {
    let noun = if lines.len() == 1 { "line" } else { "lines" };
    let shown = lines.iter().take(LINES_LISTED_MAX).map(ToString::to_string);
    let more = lines.len().saturating_sub(LINES_LISTED_MAX);
    let more = (more > 0).then(|| format!("{} more", grouped(more as u64)));
    format!("{noun} {}", shown.chain(more).collect::<Vec<_>>().join(", "))
}

/// A line with colours: what a difference is, stands at its end.
fn paint(line: &str) -> String {
    let whole = |style: &str| format!("{style}{line}\x1b[0m");
    let counts_overlaps = || {
        let rest = line.trim_start_matches(|sign: char| sign == ',' || sign.is_ascii_digit());
        rest.len() < line.len() && rest.starts_with(" overlap")
    };
    let is_of_stop = || line.starts_with("both sides stopped") || line.starts_with("the ");
    if line.starts_with("error") || counts_overlaps() || is_of_stop() {
        return whole("\x1b[1;31m");
    }
    if line.starts_with("    .. and") {
        return whole("\x1b[2m");
    }
    let styles = [("differs", "\x1b[1;31m"), ("timing", "\x1b[1;33m"), ("unspecified", "\x1b[2m")];
    let judged = |word: &str| {
        let at = line.rfind("  ")? + 2;
        line[at..].contains(word).then_some(at)
    };
    if line.starts_with("no difference") {
        return whole("\x1b[1;32m");
    }
    if !line.starts_with("line ") {
        return line.to_owned();
    }
    match styles.iter().find_map(|(word, style)| Some((judged(word)?, style))) {
        Some((at, style)) => format!("\x1b[1m{}\x1b[0m{style}{}\x1b[0m", &line[..at], &line[at..]),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::paint;

    #[test]
    fn what_fails_is_red_and_what_does_not_is_green() {
        let is_in = |style: &str, line: &str| paint(line) == format!("{style}{line}\x1b[0m");
        let (red, green) = ("\x1b[1;31m", "\x1b[1;32m");
        assert!(is_in(red, "error[overlap]: line 3: a: work(x)"));
        assert!(is_in(red, "1 overlap, no difference: 8 calls, 1 allocation"));
        assert!(is_in(red, "5,999 overlaps, 2 differences (2 differs), the first at line 16"));
        assert!(is_in(green, "no difference: 8 calls, 1 allocation"));
        assert_eq!(paint("2 differences (2 differs), the first at line 16").find('\x1b'), None);
    }
}
