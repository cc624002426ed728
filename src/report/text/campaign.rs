//! The report of an exploration for people: its outcomes with a line that repeats each, how figures are spread, how
//! allocations were served, and how much is not seen yet.

use super::aspects::{INDENT, choice, in_common, told};
use super::table::{Align, Section, Table, heading, lay_out, time, wrap};
use super::{LINES_MAX, counted};
use crate::base::{Bytes, Nanos, grouped};
use crate::explore::campaign::{Aspect, Outcome, Seen, Served, Spread, UNSEEN_MAX};
use crate::explore::{Bound, Strategy};
use crate::report::campaign::{Ended, Explored};
use crate::trace::Policy;
use std::collections::{BTreeMap, BTreeSet};

/// No further outcome is shown than those that fill so many lines.
const OUTCOME_LINES_MAX: usize = 28;

impl Explored<'_> {
    /// The whole report, at most 60 lines but for the outcomes.
    pub fn text(&self, width: usize) -> String {
        let mut lines = vec![self.heading(width)];
        let outcomes = self.outcomes(width);
        let sections = [self.spreads(width), self.allocations(width)].into_iter().flatten().collect();
        let closing = self.closing(width);
        let left = LINES_MAX.saturating_sub(outcomes.len() + closing.len() + 3).max(LINES_MAX / 3);
        lines.extend(outcomes);
        lines.extend(lay_out(sections, left));
        lines.push(String::new());
        lines.extend(closing);
        lines.iter().map(|line| format!("{line}\n")).collect()
    }

    fn heading(&self, width: usize) -> String {
        let origin = &self.origin;
        let (first, runs) = (self.campaign.base, self.campaign.runs);
        let last = first.wrapping_add(runs.saturating_sub(1));
        let mut facts = format!("{}, {}, {}", origin.model, origin.profile, origin.strategy);
        facts.push_str(&match runs {
            0 => String::new(),
            1 => format!(", seed {first}"),
            _ => format!(", seeds {first} to {last}"),
        });
        if origin.jitter > 0 {
            facts.push_str(&format!(", jitter {}%", origin.jitter));
        }
        facts.extend(self.program.variant.iter().map(|variant| format!(", variant {variant}")));
        heading(&self.program.title, &origin.path, &facts, width)
    }

    /// What every run has in common is told once.
    fn outcomes(&self, width: usize) -> Vec<String> {
        let all = self.campaign.by_runs();
        let common = in_common(all.iter().map(|(outcome, _)| *outcome));
        let mut lines = Vec::new();
        // How allocations are served has a table of its own.
        let shared = common.iter().copied().filter(|aspect| !matches!(aspect, Aspect::Served(..)));
        let shared = told(self.program, shared.collect(), width);
        if all.len() > 1 && !shared.is_empty() {
            lines.extend([String::new(), "In every run".to_owned()]);
            lines.extend(shared);
        }
        let is_told = |aspect: &&Aspect| all.len() > 1 || matches!(aspect, Aspect::Served(..));
        let common = common.into_iter().filter(is_told).collect();
        lines.extend([String::new(), "Outcomes".to_owned()]);
        let mut shown = BTreeMap::new();
        let mut filled = 0;
        for nth in choice(all.len(), |nth| all[nth].1.holds) {
            let (outcome, seen) = all[nth];
            let own = self.outcome(nth, outcome, seen, &common, width);
            filled += own.len();
            if shown.is_empty() || filled <= OUTCOME_LINES_MAX {
                shown.insert(nth, own);
            }
        }
        let (hidden, more) = (all.len() - shown.len(), all.iter().enumerate());
        let runs: u64 =
            more.filter(|(nth, _)| !shown.contains_key(nth)).map(|(_, (_, seen))| seen.runs).sum();
        lines.extend(shown.into_values().flatten());
        if hidden > 0 {
            let (hidden, runs) = (grouped(hidden as u64), runs_of(runs));
            lines.push(format!("  .. and {hidden} more outcomes, of {runs}: --format json has all of them"));
        }
        lines
    }

    fn outcome(
        &self,
        nth: usize,
        Outcome(aspects): &Outcome,
        seen: Seen,
        common: &BTreeSet<&Aspect>,
        width: usize,
    ) -> Vec<String> {
        let word = if seen.holds { "holds" } else { "fails" };
        let share = share(seen.runs, self.campaign.runs);
        let mut lines = vec![format!("{:>3}  {share}, {}: {word}", nth + 1, runs_of(seen.runs))];
        let own: Vec<&Aspect> = aspects.iter().filter(|aspect| !common.contains(aspect)).collect();
        lines.extend(told(self.program, own, width));
        lines.push(format!("{INDENT}{}", self.replay(seen)));
        lines
    }

    fn spreads(&self, width: usize) -> Option<Section> {
        let columns = ["least", "1 %", "50 %", "99 %", "most"].map(|name| (name, Align::Right));
        let first = [("of all runs", Align::Left)];
        let columns: Vec<_> = first.into_iter().chain(columns).chain([("most at", Align::Left)]).collect();
        let mut table = Table::new(&columns);
        let mut row = |name: &str, spread: &Spread, shown: fn(u64) -> String| {
            let (Some(least), Some(most)) = (spread.least(), spread.most()) else { return };
            let between = [1, 50, 99].map(|percent| spread.percentile(percent).unwrap_or_default());
            let values = [least.value].into_iter().chain(between).chain([most.value]).map(shown);
            let at = format!("seed {}", most.seed);
            table.row([name.to_owned()].into_iter().chain(values).chain([at]).collect());
        };
        self.pools()
            .for_each(|(name, spread)| row(&format!("{name}.reserved_high"), spread, |b| Bytes(b).human()));
        row("end", &self.campaign.end, |at| time(Nanos(at)));
        (self.campaign.runs > 0).then(|| Section::of_table("Figures".to_owned(), &table, width, "pools"))
    }

    fn allocations(&self, width: usize) -> Option<Section> {
        let columns = [
            ("line", Align::Right),
            ("allocation", Align::Flexible),
            ("calls", Align::Right),
            ("served by", Align::Left),
            ("share", Align::Right),
        ];
        let mut table = Table::new(&columns);
        for (stmt, served) in &self.campaign.served {
            let (line, text) = self.line(*stmt);
            let mut first = [line.to_string(), text.to_owned(), grouped(served.calls())];
            for (by, share) in shares(served) {
                table.row(std::mem::take(&mut first).into_iter().chain([by.to_owned(), share]).collect());
            }
        }
        let any = !self.campaign.served.is_empty();
        any.then(|| Section::of_table("Allocations".to_owned(), &table, width, "lines"))
    }

    /// What is known, how sure that is, and the verdict.
    fn closing(&self, width: usize) -> Vec<String> {
        let campaign = self.campaign;
        let (runs, once) = (campaign.runs, campaign.seen_once());
        let outcomes = counted(campaign.outcomes.len(), "outcome");
        let seen = match campaign.outcomes.len() {
            0 | 1 => format!("seen: {outcomes} in {}", runs_of(runs)),
            _ => {
                let latest = grouped(campaign.latest_new());
                format!("seen: {outcomes} in {}, the latest new one in run {latest}", runs_of(runs))
            }
        };
        let singles = match once {
            0 => "none was that of a single run".to_owned(),
            1 => "one was that of a single run".to_owned(),
            several => format!("{} were those of a single run", grouped(several)),
        };
        let unseen = format!(
            "unseen: {singles}, so that about {} of further runs have another one",
            share(once, runs)
        );
        let mut lines = wrap(&seen, 2, width);
        if runs > 0 {
            lines.extend(wrap(&format!("{unseen} (Good-Turing)"), 2, width));
        }
        lines.extend(self.bound(width));
        lines.extend(self.ended(width));
        lines.push(match (runs, campaign.failing) {
            (0, _) => "nothing is known: no run was made".to_owned(),
            (_, 0) => format!(
                "holds: {}",
                if runs == 1 { "1 run".to_owned() } else { format!("all {}", runs_of(runs)) }
            ),
            (_, failing) => {
                format!("fails: {} of {}, {}", grouped(failing), runs_of(runs), share(failing, runs))
            }
        });
        lines
    }

    /// What each run is promised to find.
    fn bound(&self, width: usize) -> Vec<String> {
        let Strategy::Pct { .. } = self.origin.strategy else { return Vec::new() };
        let words = match Bound::of(self.program) {
            None => "bound: none, since there is one host thread: priorities decide nothing".to_owned(),
            Some(bound) => {
                let Bound { threads, calls, depth } = bound;
                let runs = bound.runs().map_or("2^64 or more".to_owned(), grouped);
                format!(
                    "bound: what {} of calls make happen, a run finds with a probability of at least 1 in {runs}: \
                     1/(n k^(d-1)) with n = {threads} host threads, k = {} calls that they make at most once \
                     there are several (loops unrolled, `else` blocks carried out), d = {depth}",
                    counted(usize::from(depth), "ordering"),
                    grouped(calls)
                )
            }
        };
        wrap(&words, 2, width)
    }

    fn ended(&self, width: usize) -> Vec<String> {
        let why = match self.ended {
            Ended::Complete => return Vec::new(),
            Ended::Stable => format!(
                "stable: at most 1 of {} runs is expected to have another outcome, and the latter half had none",
                grouped(UNSEEN_MAX)
            ),
            Ended::NotStable => "not stable: more runs are expected to have other outcomes".to_owned(),
            Ended::TimeIsUp => "the time is over".to_owned(),
            Ended::Interrupted => "interrupted: this is what was known by then".to_owned(),
        };
        let Self { file, options, campaign, .. } = self;
        let mut lines = wrap(&why, 2, width);
        lines.push("the same again:".to_owned());
        lines.push(format!("  millpond explore {file} --seeds {}{options}", campaign.runs));
        lines
    }
}

/// What served the calls of a statement, with the share of each.
fn shares(served: &Served) -> Vec<(&'static str, String)> {
    let calls = served.calls();
    let by = Policy::ALL.iter().map(|policy| policy.name()).zip(served.by).chain([("failed", served.failed)]);
    by.filter(|(_, count)| *count > 0).map(|(name, count)| (name, share(count, calls))).collect()
}

fn runs_of(runs: u64) -> String {
    if runs == 1 { "1 run".to_owned() } else { format!("{} runs", grouped(runs)) }
}

/// `12.34 %`, rounded, and never to nothing or to all where it is neither.
fn share(part: u64, of: u64) -> String {
    let (part, of) = (u128::from(part), u128::from(of.max(1)));
    let hundredths = (part * 10_000 + of / 2) / of;
    match hundredths {
        0 if part > 0 => "less than 0.01 %".to_owned(),
        10_000 if part < of => "more than 99.99 %".to_owned(),
        _ if hundredths % 100 == 0 => format!("{} %", hundredths / 100),
        _ => format!("{}.{:02} %", hundredths / 100, hundredths % 100),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_never_rounded_to_nothing_or_to_all() {
        let cases = [
            (0, 7, "0 %"),
            (7, 7, "100 %"),
            (1, 3, "33.33 %"),
            (2, 3, "66.67 %"),
            (1, 4, "25 %"),
            (1, 1_000_000, "less than 0.01 %"),
            (999_999, 1_000_000, "more than 99.99 %"),
            (u64::MAX, u64::MAX, "100 %"),
        ];
        for (part, of, expected) in cases {
            assert_eq!(share(part, of), expected);
        }
    }
}
