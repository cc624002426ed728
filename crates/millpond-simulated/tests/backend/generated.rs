//! Made-up scenarios: a caller that dawdles changes nothing, since the driver's time moves in calls alone.

use crate::played::{compared, differing, options, play, polls, programs, recorded, sound, turn};
use millpond::base::{Draws, Nanos};
use millpond::compare::Class;
use millpond::explore::generate::{Bugs, Mistake, Options, scenario};
use millpond::hw::{self, Host, Run};
use millpond::scenario::Program;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A host that dawdles before it looks at its clock, which is before each call.
struct Dawdles {
    host: Arc<dyn Host>,
    delays: Mutex<Draws>,
}

impl Host for Dawdles {
    fn begins(&self, program: &Program) {
        self.host.begins(program);
    }

    fn now(&self) -> Nanos {
        let delay = self.delays.lock().expect("no thread panics").between(0, 40_000);
        // Mostly none at all, so that many scenarios can be run.
        if delay < 400 {
            std::thread::sleep(Duration::from_nanos(delay * 100));
        }
        self.host.now()
    }

    fn sleep(&self, duration: Nanos) {
        self.host.sleep(duration);
    }

    fn passes(&self, duration: Nanos) -> bool {
        self.host.passes(duration)
    }

    fn waits(&self, wait: &mut dyn FnMut()) {
        self.host.waits(wait);
    }
}

/// Everything that a run has shown; managed memory lies where the system puts it.
fn shown(run: &Run) -> Vec<String> {
    let shown = format!("{:#?} {:?} {:?}", recorded(run), run.overlaps, run.stop);
    let of_system = |line: &&str| {
        let address =
            line.trim().strip_prefix("start: ").and_then(|rest| rest.trim_end_matches(',').parse().ok());
        address.is_some_and(|address: u64| address >= 1 << 46)
    };
    shown.lines().filter(|line| !of_system(line)).map(str::to_owned).collect()
}

/// A small scenario under a number; now and then without a wait, of which a driver knows nothing.
fn program(number: u64) -> Option<Program> {
    let mut draws = Draws::new(number, 20);
    let bugs = if draws.below(4) == 0 { Bugs::One(Mistake::MissingWait) } else { Bugs::None };
    let (operations, streams) = (draws.between(4, 40), draws.between(1, 5) as usize);
    let made = scenario(&Options { seed: number, operations, streams, bugs }).ok()?;
    let program = programs(&made.text).swap_remove(0);
    hw::unsupported(&program).is_empty().then_some(program)
}

fn budget(full: usize, usual: usize) -> usize {
    if std::env::var_os("MILLPOND_FULL").is_some_and(|value| value == "1") { full } else { usual }
}

/// A run under a number is as its simulation, but for differences of these classes; says how many allocations it has.
fn is_as_simulated(program: &Program, number: u64, run: &Run, open: &[Class]) -> u64 {
    let comparison = compared(program, number, run);
    let differs = comparison.differences.iter().any(|difference| !open.contains(&difference.class));
    assert!(!differs, "{number}: {}", differing(program, &comparison).join("\n"));
    comparison.compared.allocations
}

fn dawdles(number: u64) -> Arc<dyn Host> {
    Arc::new(Dawdles { host: sound(), delays: Mutex::new(Draws::new(number, 21)) })
}

#[test]
fn made_up_scenarios_do_what_the_simulation_says_however_long_the_caller_takes() {
    let _turn = turn();
    let (mut count, mut allocations, mut overlaps) = (0, 0, 0);
    let one = (0..).filter_map(|number| program(number).map(|program| (number, program)));
    for (number, program) in one.filter(|(_, program)| program.setup.hosts == 1).take(budget(10_000, 200)) {
        count += 1;
        let run = play(&program, number, &sound(), options(&program, number));
        let open: &[Class] = if polls(&program) { &[Class::Timing, Class::Unspecified] } else { &[] };
        allocations += is_as_simulated(&program, number, &run, open);
        overlaps += u64::from(!run.overlaps.is_empty());
        let again = play(&program, number, &dawdles(number), options(&program, number));
        let (one, other) = (shown(&run), shown(&again));
        let apart = one.iter().zip(&other).find(|(one, other)| one != other);
        assert_eq!((apart, one.len()), (None, other.len()), "{number}");
    }
    println!("{count} made-up scenarios, {allocations} allocations; in {overlaps} of them kernels have met");
    assert!(allocations > count && overlaps > 0, "{allocations} {overlaps}");
}

/// Host threads take the turns of the simulation, but they do not take its time. Of what a thread learns from a function in a stream
/// a driver knows nothing.
#[test]
fn made_up_threads_do_what_the_simulation_says_however_long_the_caller_takes() {
    let _turn = turn();
    let is_fit = |program: &Program| {
        let texts = || program.statements.iter().map(|statement| statement.text.as_str());
        program.setup.hosts > 1 && !texts().any(|text| text.contains(" host ") && text.contains(" signal "))
    };
    let all = (0..).filter_map(|number| program(number).map(|program| (number, program)));
    let (mut count, mut allocations) = (0, 0);
    for (number, program) in all.filter(|(_, program)| is_fit(program)).take(budget(200, 4)) {
        count += 1;
        for host in [sound(), dawdles(number)] {
            let run = play(&program, number, &host, options(&program, number));
            assert_eq!(run.stop, None, "{number}");
            allocations += is_as_simulated(&program, number, &run, &[Class::Timing, Class::Unspecified]);
        }
    }
    println!("{count} made-up scenarios of several threads, {allocations} allocations");
    assert!(allocations > 2 * count);
}
