//! Runs that are followed by their times alone: each of them is held against the run that the machine makes with its seed, call by
//! call, and what an exploration makes of them against a count of its own.

use crate::budget;
use crate::exhaustive::made;
use millpond::base::{Draws, Nanos, PoolId, StmtId};
use millpond::engine::{self, Courses, Ending};
use millpond::explore::campaign::{self, Plan};
use millpond::explore::generate::{Bugs, Options, scenario};
use millpond::oracle::Expectations;
use millpond::profile::Profile;
use millpond::scenario::Program;
use millpond::trace::{Detail, Event, Kind, Policy, Sink};
use std::collections::BTreeMap;
use std::num::NonZeroUsize;

/// All that a run tells, but for times and for what devices have done.
#[derive(Default)]
struct Told(Vec<String>);

impl Sink for Told {
    fn wants(&self, detail: Detail) -> bool {
        // By which timing an allocation would have been served otherwise, hangs on the timing.
        detail != Detail::Refusals
    }

    fn event(&mut self, event: &Event<'_>) {
        let Event { host, stmt, ticket, kind, .. } = event;
        if !matches!(kind, Kind::Start | Kind::End | Kind::Grown { .. }) {
            self.0.push(format!("{host:?} {stmt:?} {ticket:?} {kind:?}"));
        }
    }
}

/// What the machine makes of a seed: what is told, the verdict and the end.
fn run(program: &Program, seed: u64) -> (Vec<String>, String, Ending) {
    let (mut judge, mut told) = (Expectations::new(program), Told::default());
    let ending = engine::run(program, seed, (&mut judge, &mut told));
    let verdict = judge.finish(None);
    (told.0, format!("{verdict:?}"), ending)
}

fn load(text: &str) -> Program {
    let (program, diagnostics) = millpond::load(text, &Profile::default());
    program.unwrap_or_else(|| panic!("{diagnostics:?}\n{text}"))
}

/// Follows the runs of a program; returns how many there were to follow, and how many courses.
fn follow(program: &Program, seeds: u64, text: &str) -> Option<(u64, usize)> {
    let mut courses = Courses::of(program)?;
    let (mut known, mut followed) = (Vec::new(), 0);
    for seed in 0..seeds {
        let made = run(program, seed);
        if let Some((course, at)) = courses.follow(seed) {
            followed += 1;
            let (told, verdict, stop): &(Vec<String>, String, _) = &known[course];
            assert_eq!(at, made.2.at, "seed {seed}:\n{text}");
            assert!((told, verdict, stop) == (&made.0, &made.1, &made.2.stop), "seed {seed}:\n{text}");
            continue;
        }
        let mut told = Told::default();
        let (ending, course) = courses.run(seed, &mut told);
        assert_eq!(course, Some(known.len()), "seed {seed}:\n{text}");
        assert!((told.0.as_slice(), &ending) == (made.0.as_slice(), &made.2), "seed {seed}:\n{text}");
        known.push((made.0, made.1, made.2.stop));
    }
    Some((followed, known.len()))
}

/// Follows the runs of made-up programs; returns how many programs can be followed and how many of these have several courses, how
/// many runs were followed, and how many courses there are.
fn follow_all(seeds: u64, programs: impl Iterator<Item = (Program, String)>) -> [u64; 4] {
    let (mut all, mut fit, mut several, mut followed, mut made) = (0, 0, 0, 0, 0);
    for (program, text) in programs {
        all += 1;
        let Some((runs, courses)) = follow(&program, seeds, &text) else { continue };
        fit += 1;
        several += u64::from(courses > 1);
        followed += runs;
        made += courses as u64;
    }
    println!("{fit} of {all} programs fit, {several} with several courses; {followed} followed, {made} made");
    assert!(followed > made, "there is something to follow");
    [fit, several, followed, made]
}

/// Streams that hand memory to each other in many ways, by what happens to be complete.
fn crowded(number: u64) -> String {
    let mut draws = Draws::new(number, 24);
    // In nanoseconds, much happens at the same time.
    let unit = ["us", "ns"][draws.below(2) as usize];
    let reuse = ["opportunistic", "opportunistic, follow_event", "opportunistic, internal"];
    let mut text = format!(
        "device gpu0 {{ memory = {}MiB }}\npool p on gpu0 {{ release_threshold = 32MiB, reuse = [{}] }}\nstream s[3]{}\n\
         event e[2]\nkernel work(x: read_write) takes 1{unit}..60{unit}\n",
        [64, 1024][draws.below(2) as usize],
        reuse[draws.below(3) as usize],
        [" non_blocking", ""][draws.below(2) as usize],
    );
    let (mut live, mut fresh): (Vec<u64>, u64) = (Vec::new(), 0);
    for _ in 0..draws.between(20, 60) {
        let (stream, event) = (draws.below(3), draws.below(2));
        let any = |draws: &mut Draws| draws.below(live.len().max(1) as u64) as usize;
        let line = match draws.below(29) {
            0..6 => {
                fresh += 1;
                live.push(fresh);
                format!(
                    "s[{stream}]: x{fresh} = alloc {}MiB from p or_fails out_of_memory",
                    4 * draws.between(1, 2)
                )
            }
            6..11 if !live.is_empty() => format!("s[{stream}]: free x{}", live.swap_remove(any(&mut draws))),
            11..18 if !live.is_empty() => format!("s[{stream}]: work(x{})", live[any(&mut draws)]),
            18 => format!("s[{stream}]: record e[{event}]"),
            19 => format!("s[{stream}]: wait e[{event}]"),
            20 => [format!("sync s[{stream}]"), format!("sync e[{event}]")][draws.below(2) as usize].clone(),
            21 => format!("query s[{stream}] or_fails not_ready"),
            22 => ["trim p to 0B", "set p.opportunistic = off", "set p.opportunistic = on"]
                [draws.below(3) as usize]
                .to_owned(),
            _ => format!("sleep {}{unit}", draws.between(1, 12)),
        };
        text.push_str(&line);
        text.push('\n');
    }
    text
}

#[test]
fn crowded_programs() {
    let program = |number| {
        let text = crowded(number);
        (load(&text), text)
    };
    let [fit, several, followed, made] = follow_all(100, (0..budget(60)).map(program));
    assert!(several * 3 > fit && followed > 2 * made, "there is something to follow");
}

/// What completes at the very time of a call makes no difference to it, nor to what is said of it.
#[test]
fn at_the_same_time() {
    let text = "pool p { reuse = [], release_threshold = max }\nstream a, b non_blocking\n\
        event e\nkernel work(x: write) takes 1ns..4ns\na: x = alloc 32MiB from p\na: work(x)\na: free x\n\
        b: w = alloc 16MiB from p\nb: work(w)\nb: record e\nsync e\nb: y = alloc 32MiB from p\nb: work(y)\nb: free y\nb: free w\n";
    let (followed, courses) = follow(&load(text), 100, text).expect("it can be followed");
    assert_eq!((followed, courses), (98, 2), "the policy would have served it, or not");
}

/// The text with kernels that take their time, and a host that sleeps now and then.
fn slowed(text: &str, takes: &str, number: u64) -> String {
    let mut draws = Draws::new(number, 23);
    let line = |line: &str| {
        let sleeps = line.contains(": ") && draws.below(3) == 0;
        let sleep = if sleeps { format!("sleep {}us\n", draws.between(1, 25)) } else { String::new() };
        format!("{}\n{sleep}", line.replace("takes 1us", takes))
    };
    text.lines().map(line).collect()
}

/// Memory that is split, merged, short and trimmed, with kernels that take their time.
#[test]
fn small_programs() {
    let program = |number| {
        let takes = ["takes 1us..60us", "takes normal(20us, 8us)"][number as usize % 2];
        let text = slowed(&made::program(number).1, takes, number);
        (load(&text), text)
    };
    follow_all(60, (0..budget(60)).map(program));
}

/// The same with the legacy default stream and policies that are off; and what is constant varies.
#[test]
fn further_programs() {
    let program = |number| {
        let text = slowed(&made::further(number).1, "takes 20us", number);
        let mut program = load(&text);
        program.setup.jitter = 90;
        (program, text)
    };
    follow_all(60, (0..budget(80)).map(program));
}

/// Whole scenarios, with bugs and without.
#[test]
fn made_up_scenarios() {
    let program = |number: u64| {
        let bugs = if number.is_multiple_of(2) { Bugs::None } else { Bugs::Rate(10) };
        let options = Options { seed: number, operations: 8 + number % 40, streams: 3, bugs };
        let text = scenario(&options).unwrap_or_else(|refusal| panic!("{refusal}")).text;
        let mut program = load(&text);
        program.setup.jitter = 60;
        (program, text)
    };
    follow_all(40, (0..budget(60)).map(program));
}

/// How runs were served, the most that was reserved, and their ends.
#[derive(Default)]
struct Count {
    served: BTreeMap<StmtId, [u64; 7]>,
    reserved: BTreeMap<PoolId, u64>,
}

impl Sink for Count {
    fn wants(&self, detail: Detail) -> bool {
        matches!(detail, Detail::Events | Detail::States)
    }

    fn event(&mut self, event: &Event<'_>) {
        match event.kind {
            Kind::Decided(decision) => {
                if let Some(policy) = decision.policy {
                    let nth = Policy::ALL.iter().position(|one| *one == policy).expect("it is one of all");
                    self.served.entry(event.stmt).or_default()[nth] += 1;
                }
            }
            Kind::State { pool, state } => {
                let high = self.reserved.entry(pool).or_default();
                *high = (*high).max(state.reserved_high.0);
            }
            _ => {}
        }
    }
}

#[test]
fn an_exploration_is_the_sum_of_its_runs() {
    for number in 0..budget(6) {
        let text = crowded(number);
        let program = load(&text);
        let (base, runs) = (u64::MAX - 99, 300);
        let plan = Plan { base, runs, until_stable: false, jobs: NonZeroUsize::MIN };
        let campaign = campaign::run(&program, &plan, &|| true);
        let (mut served, mut ends, mut failing) = (BTreeMap::<StmtId, [u64; 7]>::new(), Vec::new(), 0);
        let mut reserved = vec![Vec::new(); program.setup.pools.len()];
        for nth in 0..runs {
            let (mut judge, mut count) = (Expectations::new(&program), Count::default());
            let ending = engine::run(&program, base.wrapping_add(nth), (&mut judge, &mut count));
            failing += u64::from(!judge.finish(None).holds());
            ends.push(ending.at);
            for (stmt, by) in count.served {
                let own = served.entry(stmt).or_default();
                own.iter_mut().zip(by).for_each(|(own, by)| *own += by);
            }
            for (nth, highs) in reserved.iter_mut().enumerate() {
                highs.push(count.reserved.get(&PoolId::from_usize(nth)).copied().unwrap_or_default());
            }
        }
        assert_eq!((campaign.runs, campaign.failing), (runs, failing), "{text}");
        let by: BTreeMap<StmtId, [u64; 7]> = campaign
            .served
            .iter()
            .map(|(stmt, served)| (*stmt, served.by))
            .filter(|(_, by)| *by != [0; 7])
            .collect();
        assert_eq!(by, served, "{text}");
        ends.sort_unstable();
        let median = |sorted: &[u64]| sorted[sorted.len() / 2 - 1];
        let ends: Vec<u64> = ends.into_iter().map(|Nanos(end)| end).collect();
        assert_eq!(campaign.end.percentile(50), Some(median(&ends)), "{text}");
        assert_eq!(campaign.end.most().map(|most| most.value), ends.last().copied());
        for (spread, mut highs) in campaign.reserved_high.iter().zip(reserved) {
            highs.sort_unstable();
            assert_eq!(spread.percentile(50), Some(median(&highs)), "{text}");
            assert_eq!(spread.least().map(|least| least.value), highs.first().copied());
        }
    }
}
