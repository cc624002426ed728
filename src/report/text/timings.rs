//! The report of a search through all timings for people: its outcomes with a line that repeats each, and how far it came.

use super::aspects::{INDENT, choice, in_common, told};
use super::table::{Align, Section, Table, heading, lay_out, wrap};
use super::{LINES_MAX, counted};
use crate::base::{Bytes, grouped};
use crate::explore::campaign::{Aspect, Outcome};
use crate::explore::exhaustive::{Coverage, Limit, Limits};
use crate::explore::untimed::Found;
use crate::report::timings::Timings;
use std::collections::BTreeSet;

impl Timings<'_> {
    /// The whole report, at most 60 lines but for the outcomes.
    pub fn text(&self, width: usize) -> String {
        let origin = &self.origin;
        let mut facts = format!("{}, {}, untimed", origin.model, origin.profile);
        facts.extend(self.program.variant.iter().map(|variant| format!(", variant {variant}")));
        let mut lines = vec![heading(&self.program.title, &origin.path, &facts, width)];
        let outcomes = self.outcomes(width);
        let closing = self.closing(width);
        let left = LINES_MAX.saturating_sub(outcomes.len() + closing.len() + 3).max(LINES_MAX / 3);
        lines.extend(outcomes);
        lines.extend(lay_out(self.figures(width).into_iter().collect(), left));
        lines.push(String::new());
        lines.extend(closing);
        lines.iter().map(|line| format!("{line}\n")).collect()
    }

    /// What all of them have in common is told once.
    fn outcomes(&self, width: usize) -> Vec<String> {
        let all = self.untimed.sorted();
        let common = in_common(all.iter().map(|(outcome, _)| *outcome));
        let mut lines = Vec::new();
        // A limit may come before the end of the first run.
        if all.is_empty() {
            return lines;
        }
        if all.len() > 1 && !common.is_empty() {
            lines.extend([String::new(), "In every timing".to_owned()]);
            lines.extend(told(self.program, common.iter().copied().collect(), width));
        }
        lines.extend([String::new(), "Outcomes".to_owned()]);
        let hidden = if all.len() > 1 { common } else { BTreeSet::new() };
        let mut chosen = choice(all.len(), |nth| all[nth].1.holds);
        chosen.sort_unstable();
        for nth in &chosen {
            let (outcome, found) = all[*nth];
            lines.extend(self.outcome(*nth, outcome, found, &hidden, width));
        }
        let more = all.len() - chosen.len();
        if more > 0 {
            lines.push(format!(
                "  .. and {} more outcomes: --format json has all of them",
                grouped(more as u64)
            ));
        }
        lines
    }

    fn outcome(
        &self,
        nth: usize,
        Outcome(aspects): &Outcome,
        found: &Found,
        common: &BTreeSet<&Aspect>,
        width: usize,
    ) -> Vec<String> {
        let mut lines = vec![format!("{:>3}  {}", nth + 1, if found.holds { "holds" } else { "fails" })];
        let own = aspects.iter().filter(|aspect| !common.contains(aspect)).collect();
        lines.extend(told(self.program, own, width));
        lines.push(format!("{INDENT}{}", self.replay(found)));
        lines
    }

    fn figures(&self, width: usize) -> Option<Section> {
        let columns = [("of all timings", Align::Left), ("least", Align::Right), ("most", Align::Right)];
        let mut table = Table::new(&columns);
        for (name, ends) in self.pools() {
            let [least, most] = ends.map(|value| Bytes(value).human());
            table.row(vec![format!("{name}.reserved_high"), least, most]);
        }
        let is_any = self.pools().next().is_some();
        is_any.then(|| Section::of_table("Figures".to_owned(), &table, width, "pools"))
    }

    /// How far it came, and the verdict.
    fn closing(&self, width: usize) -> Vec<String> {
        let coverage = &self.untimed.coverage;
        let count = self.untimed.outcomes.len();
        let outcomes =
            if count == 1 { counted(1, "outcome") } else { format!("{} outcomes", grouped(count as u64)) };
        let mut lines = covered(coverage, self.limits, Some(&outcomes), width);
        let failing = grouped(self.untimed.failing() as u64);
        lines.push(match (self.holds(), coverage.is_complete()) {
            (true, true) => "holds: in every timing of this model and profile".to_owned(),
            (true, false) => "undecided: what was found holds, and there may be more".to_owned(),
            (false, _) => format!("fails: {failing} of {outcomes}"),
        });
        lines
    }
}

/// What a search has gone through, in words; `outcomes`: what it has found, if that was to be counted.
pub(in crate::report) fn covered(
    coverage: &Coverage,
    limits: Limits,
    outcomes: Option<&str>,
    width: usize,
) -> Vec<String> {
    let Coverage { nodes, states, reached, .. } = *coverage;
    let calls = if nodes == 1 { "1 call".to_owned() } else { format!("{} calls", grouped(nodes)) };
    let seen = if states == 1 { "1 state".to_owned() } else { format!("{} states", grouped(states)) };
    let work = format!("{calls}, {seen} with several ways to go on");
    let mut lines = match reached {
        None => {
            let exactly = outcomes.map(|outcomes| format!(", with exactly {outcomes}")).unwrap_or_default();
            wrap(&format!("covered: every timing{exactly} ({work})"), 2, width)
        }
        Some(limit) => {
            let so_far = outcomes.map(|outcomes| format!("{outcomes} so far; ")).unwrap_or_default();
            wrap(&format!("not covered: {so_far}{} ({work})", stopped_by(limit, limits)), 2, width)
        }
    };
    if coverage.asks_for_times {
        let text = "times: the scenario asks when something happens or how long it takes. Nothing takes time here, so \
                    nothing is known of what hangs on that";
        lines.extend(wrap(text, 2, width));
    }
    lines
}

/// Why a search says nothing of what it has not found.
pub fn stopped(coverage: &Coverage, limits: Limits) -> String {
    match coverage.reached {
        Some(limit) => stopped_by(limit, limits),
        None => "the scenario asks how long something takes, and nothing takes time there".to_owned(),
    }
}

/// Why a search has not gone through everything.
fn stopped_by(limit: Limit, limits: Limits) -> String {
    match limit {
        Limit::Nodes => {
            format!("the limit of {} calls is reached, --limit takes a larger one", grouped(limits.nodes))
        }
        Limit::States => {
            format!("the limit of {} states is reached, --limit takes a larger one", grouped(limits.states))
        }
        Limit::Cuts => "at one call devices may have got on in too many ways".to_owned(),
        Limit::Stopped => "it was stopped".to_owned(),
    }
}
