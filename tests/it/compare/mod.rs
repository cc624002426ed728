//! Two runs side by side: equal ones have no difference, known pairs differ where they are known to, and which side is the left
//! one does not matter.

#[cfg(feature = "cli")]
mod command;
mod device;
mod memory;

use crate::budget;
use millpond::base::StmtId;
use millpond::compare::{Class, Common, Comparison, Difference, Held, Recorder, Seen, Trace, What, compare};
use millpond::engine;
use millpond::explore::generate::{Bugs, Options, scenario};
use millpond::profile::Profile;
use millpond::scenario::Program;
use millpond::trace::Model;
use std::fs;

/// Runs of more statements take too long for a test that makes many.
const LENGTH_MAX: u64 = 20_000;

fn record(program: &Program, seed: u64) -> Trace {
    let mut recorder = Recorder::of_simulation();
    engine::run(program, seed, &mut recorder);
    recorder.finish().expect("it is short")
}

fn load(text: &str) -> Program {
    load_all(text).swap_remove(0)
}

fn load_all(text: &str) -> Vec<Program> {
    let (programs, diagnostics) = millpond::load_all(text, &Profile::default());
    assert!(!programs.is_empty(), "{diagnostics:?}\n{text}");
    programs
}

fn on(program: &Program, model: Model) -> Program {
    let mut program = program.clone();
    program.setup.model = model;
    program
}

/// Two variants of a text; `None` is the text as it stands.
fn variants(text: &str, left: Option<&str>, right: Option<&str>) -> (Comparison, Program) {
    let programs = load_all(text);
    let [left, right] = [left, right].map(|name| {
        let found = programs.iter().find(|program| program.variant.as_deref() == name);
        found.unwrap_or_else(|| panic!("{name:?} is a variant of\n{text}"))
    });
    let common = Common::of(left, right, |start| start);
    let trace = common.of_right(record(right, 0));
    (compare(&record(left, 0), &trace, left, &common), left.clone())
}

fn line(program: &Program, stmt: StmtId) -> u32 {
    program.statements[stmt].line
}

/// The line, what is different, the class, and the line that it follows.
type Told = (u32, &'static str, &'static str, Option<u32>);

fn told(comparison: &Comparison, program: &Program) -> Vec<Told> {
    let told = |difference: &Difference| {
        let Difference { key, what, class, follows, .. } = difference;
        (line(program, key.stmt), what.name(), class.name(), follows.map(|stmt| line(program, stmt)))
    };
    comparison.differences.iter().map(told).collect()
}

/// The shipped scenarios that can be run, with their paths.
fn scenarios() -> Vec<(String, Vec<Program>)> {
    let mut folders = vec![format!("{}/scenarios", env!("CARGO_MANIFEST_DIR"))];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder can be read") {
            let path = entry.expect("an entry can be read").path().display().to_string();
            match () {
                () if path.ends_with("invalid") => {}
                () if path.ends_with(".scn") => {
                    let text = fs::read_to_string(&path).expect("a file can be read");
                    found.push((path, load_all(&text)));
                }
                () => folders.push(path),
            }
        }
    }
    assert!(found.len() > 200, "{}", found.len());
    found.sort_by(|one, other| one.0.cmp(&other.0));
    found
}

/// Of a made-up program: mostly of several streams, some with bugs.
fn made(number: u64) -> String {
    let bugs = if number.is_multiple_of(3) { Bugs::Rate(10) } else { Bugs::None };
    let options =
        Options { seed: number, operations: 20 + number % 150, streams: 1 + (number % 5) as usize, bugs };
    scenario(&options).expect("there is one").text
}

/// What the comparison of the same runs says with left and right exchanged.
fn mirrored(comparison: &Comparison) -> Comparison {
    let swap = |difference: &Difference| {
        let held = difference.held.map(|held| Held { left: held.right, right: held.left, ..held });
        let (left, right) = (difference.right.clone(), difference.left.clone());
        Difference { left, right, held, ..difference.clone() }
    };
    let [left, right] = comparison.alone.clone();
    let differences = comparison.differences.iter().map(swap).collect();
    Comparison { differences, alone: [right, left], ..comparison.clone() }
}

#[test]
fn a_run_is_no_different_from_itself() {
    let mut allocations = 0;
    for (path, programs) in scenarios() {
        for program in programs.iter().filter(|program| program.length <= LENGTH_MAX) {
            for model in Model::ALL {
                let program = on(program, model);
                let [left, right] = [(); 2].map(|()| record(&program, 0));
                let comparison = compare(&left, &right, &program, &Common::all());
                assert_eq!(comparison.differences, [], "{path}");
                assert_eq!(comparison.turned, None, "{path}");
                allocations += comparison.compared.allocations;
            }
        }
    }
    assert!(allocations > 2_000, "{allocations}");
}

/// A program is paired with itself line by line.
#[test]
fn a_program_has_everything_in_common_with_itself() {
    for (path, programs) in scenarios() {
        let program = &programs[0];
        let common = Common::of(program, program, |start| start);
        assert!(common.alone().iter().all(Vec::is_empty), "{path}");
        if program.length <= LENGTH_MAX {
            let right = common.of_right(record(program, 0));
            assert_eq!(compare(&record(program, 0), &right, program, &common).differences, [], "{path}");
        }
    }
}

/// With the policy off, or without the order that it needs, b gets other memory; nothing else is different.
#[test]
fn twins_differ_at_the_allocation_that_they_are_about() {
    let follow_event = include_str!("../../../scenarios/reuse/follow_event/twins.scn");
    let (comparison, program) = variants(follow_event, None, Some("unordered"));
    assert_eq!(told(&comparison, &program), [(17, "memory", "differs", None)]);
    // The wait, and what is expected.
    let [left, right] = &comparison.alone;
    let left: Vec<u32> = left.iter().map(|stmt| line(&program, *stmt)).collect();
    assert_eq!((left, right.len()), (vec![16, 19, 20, 21], 2));

    // Without the policy, it hangs on whether the free has completed by then, which it has not.
    let (comparison, program) = variants(follow_event, None, Some("off"));
    assert_eq!(told(&comparison, &program), [(17, "memory", "timing", None)]);

    let opportunistic = include_str!("../../../scenarios/reuse/opportunistic/twins.scn");
    for twin in ["off", "early"] {
        let (comparison, program) = variants(opportunistic, None, Some(twin));
        assert_eq!(told(&comparison, &program), [(15, "memory", "timing", None)], "{twin}");
    }
}

/// What the pool holds behind it belongs to that difference, and what comes later follows.
#[test]
fn what_comes_after_a_difference_follows_it() {
    let internal = include_str!("../../../scenarios/reuse/internal/twins.scn");
    let (comparison, program) = variants(internal, None, Some("off"));
    let expected = [
        (13, "memory", "differs", None),
        (14, "value", "differs", Some(13)),
        (16, "memory", "differs", Some(13)),
    ];
    assert_eq!(told(&comparison, &program), expected);
    let held = comparison.differences[0].held.expect("the pool holds something else");
    assert_eq!((held.left.used.0, held.right.used.0), (64 << 20, 0));
    assert_eq!(held.changed, [false, false, true, false]);
}

const TIMING: &str = include_str!("../../../scenarios/reuse/opportunistic/depends_on_timing.scn");

#[test]
fn what_hangs_on_the_timing_is_told_to() {
    let program = load(TIMING);
    // By the scenario, the seed decides: some give the free memory, and others do not.
    let runs: Vec<Trace> = (0..20).map(|seed| record(&program, seed)).collect();
    let mut pairs = [0; 2];
    for other in &runs[1..] {
        let comparison = compare(&runs[0], other, &program, &Common::all());
        let told = told(&comparison, &program);
        pairs[usize::from(told.is_empty())] += 1;
        if !told.is_empty() {
            let values = [17, 18].map(|line| (line, "value", "timing", Some(13)));
            assert_eq!(told, [&[(13, "memory", "timing", None)][..], &values].concat());
        }
    }
    assert!(pairs[0] > 2 && pairs[1] > 2, "{pairs:?}");
}

/// Either block fits, and no document says which one is taken.
#[test]
fn which_of_several_blocks_is_taken_is_unspecified() {
    let text = "\
pool p { release_threshold = max, reuse = [follow_event] }
stream s
s: a = alloc 32MiB from p
s: b = alloc 32MiB from p
s: free a as first
s: free b as second
s: c = alloc 32MiB from p
s: d = alloc 32MiB from p
variant first {
  omit second
}
variant second {
  omit first
}
";
    let (comparison, program) = variants(text, Some("first"), Some("second"));
    assert_eq!(told(&comparison, &program), [(7, "memory", "unspecified", None)]);
    let lines = |seen: &Seen| match seen {
        Seen::Memory { reuses, .. } => {
            reuses.iter().map(|(key, bytes)| (line(&program, key.stmt), bytes.0)).collect::<Vec<_>>()
        }
        other => panic!("it gets memory: {other:?}"),
    };
    let Difference { left, right, .. } = &comparison.differences[0];
    assert_eq!((lines(left), lines(right)), (vec![(3, 32 << 20)], vec![(4, 32 << 20)]));
}

#[test]
fn models_differ_as_their_documents_do() {
    let mut different = 0;
    for (path, programs) in scenarios().into_iter().filter(|(path, _)| path.contains("/scenarios/oxicuda/")) {
        let program = &programs[0];
        let [cuda, oxicuda] = Model::ALL.map(|model| record(&on(program, model), 0));
        let comparison = compare(&cuda, &oxicuda, program, &Common::all());
        different += usize::from(comparison.of(Class::Differs) > 0);
        // The first one can follow nothing.
        if let Some(first) = comparison.differences.first() {
            assert!(first.follows.is_none_or(|stmt| stmt == first.key.stmt), "{path}: {first:?}");
        }
    }
    assert!(different > 15, "{different}");
}

/// What the file says of both: the seed model has no wait, and so no memory that was freed on another stream.
#[test]
fn the_seed_model_does_not_follow_an_event() {
    let program = load(include_str!("../../../scenarios/oxicuda/follow_event.scn"));
    let [cuda, oxicuda] = Model::ALL.map(|model| record(&on(&program, model), 0));
    let comparison = compare(&cuda, &oxicuda, &program, &Common::all());
    let of_b = comparison.differences.iter().find(|difference| line(&program, difference.key.stmt) == 13);
    let Difference { what, class, left, right, held, .. } = of_b.expect("b gets other memory");
    assert_eq!((*what, *class), (What::Memory, Class::Differs));
    let reuses = |seen: &Seen| matches!(seen, Seen::Memory { reuses, .. } if !reuses.is_empty());
    assert!(reuses(left) && !reuses(right), "{left:?} {right:?}");
    assert_eq!(held.expect("and its pool holds more").right.reserved.0, 2 << 10);
}

#[test]
fn which_side_is_the_left_one_does_not_matter() {
    let mut kinds = std::collections::BTreeMap::<(What, Class), usize>::new();
    for number in 0..budget(60) {
        let text = made(number);
        let program = load(&text);
        let runs = [
            record(&program, 0),
            record(&program, number + 1),
            record(&on(&program, Model::Oxicuda), 0),
            record(&on(&program, Model::Oxicuda), number + 1),
        ];
        for (nth, left) in runs.iter().enumerate() {
            for right in &runs[nth + 1..] {
                let there = compare(left, right, &program, &Common::all());
                let back = compare(right, left, &program, &Common::all());
                assert_eq!(mirrored(&there), back, "{text}");
                for difference in &there.differences {
                    let what = match difference.what {
                        What::Pool(_) => What::Pool(0.into()),
                        What::Ends(_) => What::Ends(0.into()),
                        what => what,
                    };
                    *kinds.entry((what, difference.class)).or_default() += 1;
                }
            }
        }
    }
    println!("{kinds:?}");
    assert!(kinds.len() >= 6, "{kinds:?}");
}

/// The same over host threads that call in another order with another seed.
#[test]
fn threads_that_call_in_another_order_explain_what_follows() {
    let mut turned = 0;
    for (path, programs) in scenarios() {
        let program = &programs[0];
        if program.setup.hosts == 1 || program.length > LENGTH_MAX {
            continue;
        }
        let runs: Vec<Trace> = (0..4).map(|seed| record(program, seed)).collect();
        for right in &runs[1..] {
            let there = compare(&runs[0], right, program, &Common::all());
            let back = compare(right, &runs[0], program, &Common::all());
            assert_eq!(mirrored(&there), back, "{path}");
            turned += usize::from(there.turned.is_some());
            // Seeds change nothing but times and turns.
            assert_eq!(there.of(Class::Differs), 0, "{path}: {there:#?}");
        }
    }
    assert!(turned > 5, "{turned}");
}

/// Seeds draw times: whatever they change, documents have room for.
#[test]
fn seeds_never_show_that_a_side_is_wrong() {
    for number in 0..budget(40) {
        let text = made(number);
        let program = load(&text);
        let first = record(&program, 0);
        for seed in 1..4 {
            let comparison = compare(&first, &record(&program, seed), &program, &Common::all());
            assert_eq!(comparison.of(Class::Differs), 0, "seed {seed}: {comparison:#?}\n{text}");
        }
    }
}
