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

/// A small scenario under a number, of one host thread; now and then without a wait, of which a driver knows nothing.
fn program(number: u64) -> Option<Program> {
    let mut draws = Draws::new(number, 20);
    let bugs = if draws.below(4) == 0 { Bugs::One(Mistake::MissingWait) } else { Bugs::None };
    let (operations, streams) = (draws.between(4, 40), draws.between(1, 5) as usize);
    let made = scenario(&Options { seed: number, operations, streams, bugs }).ok()?;
    let program = programs(&made.text).swap_remove(0);
    (program.setup.hosts == 1 && hw::unsupported(&program).is_empty()).then_some(program)
}

#[test]
fn made_up_scenarios_do_what_the_simulation_says_however_long_the_caller_takes() {
    let _turn = turn();
    let budget =
        if std::env::var_os("MILLPOND_FULL").is_some_and(|value| value == "1") { 10_000 } else { 200 };
    let (mut count, mut allocations, mut overlaps) = (0, 0, 0);
    for number in 0.. {
        if count == budget {
            break;
        }
        let Some(program) = program(number) else { continue };
        count += 1;
        let run = play(&program, number, &sound(), options(&program, number));
        let comparison = compared(&program, number, &run);
        let is_open = |class| class != Class::Differs && polls(&program);
        let differs = comparison.differences.iter().any(|difference| !is_open(difference.class));
        assert!(!differs, "{number}: {}", differing(&program, &comparison).join("\n"));
        allocations += comparison.compared.allocations;
        overlaps += u64::from(!run.overlaps.is_empty());
        let dawdles: Arc<dyn Host> =
            Arc::new(Dawdles { host: sound(), delays: Mutex::new(Draws::new(number, 21)) });
        let again = play(&program, number, &dawdles, options(&program, number));
        let (one, other) = (shown(&run), shown(&again));
        let apart = one.iter().zip(&other).find(|(one, other)| one != other);
        assert_eq!((apart, one.len()), (None, other.len()), "{number}");
    }
    println!("{count} made-up scenarios, {allocations} allocations; in {overlaps} of them kernels have met");
    assert!(allocations > count && overlaps > 0, "{allocations} {overlaps}");
}
