//! `millpond explore --maximise`: the worst case of one scenario, with a run that has it.

use super::Scenario;
use super::explore::{self, Explore};
use super::outside::{self, Complaint};
use super::progress::Progress;
use crate::base::{PoolId, nearest};
use crate::explore::campaign::Campaign;
use crate::explore::exhaustive;
use crate::explore::{Choices, Strategy};
use crate::report::{Measure, Searched, Worst};
use crate::scenario::Program;
use crate::trace::Figure;
use std::time::Instant;

/// What is to be as great as possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// A figure of a pool at the end.
    Figure(PoolId, Figure),
    /// The time of the end.
    End,
}

impl What {
    /// Reads `POOL.FIGURE` or `end`.
    pub(super) fn of(word: &str, program: &Program) -> Result<Self, Complaint> {
        let pools = &program.names.pools;
        let Some((pool, figure)) = word.rsplit_once('.').filter(|_| word != "end") else {
            if word == "end" {
                return Ok(What::End);
            }
            let message =
                format!("`{word}` cannot be maximised: give `end`, or a figure such as `p.reserved_high`");
            return Err(Complaint::wrong(message));
        };
        let near = |word: &str, known: Vec<&str>| match nearest(word, known.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None if known.len() == 1 => format!("there is only {}", known[0]),
            None => format!("there are {}", known.join(", ")),
        };
        let found = pools.iter_enumerated().find(|(_, name)| name.as_str() == pool);
        let Some((pool, _)) = found else {
            let known = near(pool, pools.iter().map(String::as_str).collect());
            return Err(Complaint::wrong(format!("there is no pool `{pool}`: {known}")));
        };
        let Some(figure) = Figure::ALL.into_iter().find(|one| one.name() == figure) else {
            let known = near(figure, Figure::ALL.map(Figure::name).to_vec());
            return Err(Complaint::wrong(format!("a pool has no figure `{figure}`: {known}")));
        };
        Ok(What::Figure(pool, figure))
    }
}

/// The greatest value of a figure among all timings.
pub(super) fn of_all<'a>(
    explore: &Explore,
    (word, pool, figure): (&str, PoolId, Figure),
    scenario: &Scenario,
    program: &'a Program,
) -> Result<Worst<'a>, Complaint> {
    let (limits, started, stopped) = (explore.untimed.limits(), Instant::now(), explore::listen());
    let progress = Progress::of(usize::try_from(limits.nodes).unwrap_or(usize::MAX));
    let maximum = exhaustive::maximise(program, pool, figure, limits, &|calls| {
        progress.done(usize::try_from(calls).unwrap_or(usize::MAX));
        stopped.get().is_none()
    });
    progress.end();
    let Some(maximum) = maximum else {
        let message = "no run came to its end before the limit: --limit takes a larger one";
        return Err(Complaint::impossible(message));
    };
    explore::tell_rate(maximum.coverage.nodes, "calls", started.elapsed());
    let schedule = scenario.schedule(program, Choices::Untimed(maximum.witness));
    Ok(Worst {
        program,
        origin: scenario.origin(program, 0),
        what: word.to_owned(),
        measure: match figure {
            Figure::Maps | Figure::Unmaps => Measure::Count,
            figure if figure.is_switch() => Measure::Count,
            _ => Measure::Bytes,
        },
        value: maximum.value,
        searched: Searched::All(maximum.coverage, limits),
        shown_with: format!("{}{}", outside::quoted(&explore.file), explore.shown_with(&schedule)),
        schedule: schedule.to_string(),
    })
}

/// The latest end in the runs of a campaign.
pub(super) fn of_runs<'a>(
    explore: &Explore,
    campaign: &Campaign,
    scenario: &Scenario,
    program: &'a Program,
) -> Result<Worst<'a>, Complaint> {
    let Some(most) = campaign.end.most() else {
        return Err(Complaint::impossible("no run was made"));
    };
    let schedule =
        scenario.schedule(program, Choices::Drawn { strategy: Strategy::of(program), seed: most.seed });
    Ok(Worst {
        program,
        origin: scenario.origin(program, most.seed),
        what: "end".to_owned(),
        measure: Measure::Nanos,
        value: most.value,
        searched: Searched::Runs(campaign.runs),
        shown_with: format!("{}{}", outside::quoted(&explore.file), explore.shown_with(&schedule)),
        schedule: schedule.to_string(),
    })
}
