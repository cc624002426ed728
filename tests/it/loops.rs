//! Long runs: what they cost grows with what is in flight, never with how many turns there were.

use allocation_counter::measure;
use millpond::engine::run;
use millpond::profile::Profile;
use millpond::trace::Nothing;

/// A shipped scenario with another number of turns.
fn with_turns(name: &str, turns: u64) -> millpond::scenario::Program {
    let path = format!("{}/scenarios/stress/{name}.scn", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).expect("shipped");
    let old = text.lines().find(|line| line.starts_with("let turns = ")).expect("says its turns");
    let text = text.replace(old, &format!("let turns = {turns}"));
    millpond::load(&text, &Profile::default()).0.expect("valid")
}

fn peak(program: &millpond::scenario::Program) -> u64 {
    measure(|| {
        assert_eq!(run(program, 0, Nothing).stop, None);
    })
    .bytes_max
}

#[test]
fn with_a_synchronise_in_each_turn_memory_does_not_depend_on_the_turns() {
    let few = peak(&with_turns("two_streams_synchronised", 200));
    let many = peak(&with_turns("two_streams_synchronised", 4_000));
    assert_eq!(few, many);
    assert!(many < 1 << 20, "{many} bytes");
}

#[test]
fn running_ahead_costs_at_most_200_bytes_an_operation_in_flight() {
    let turns = 4_000;
    let bytes = peak(&with_turns("two_streams_running_ahead", turns));
    assert!(bytes <= turns * 8 * 200, "{} bytes an operation", bytes / (turns * 8));
}
