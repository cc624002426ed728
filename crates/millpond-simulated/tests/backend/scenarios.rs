//! The shipped scenarios.

use crate::played::{
    compared, differing, files_below, options, play, polls, programs_of, recorded, scenarios, simulated,
    sound, turn,
};
use millpond::compare::{Class, Trace};
use millpond::explore;
use millpond::hw::{self, Observe, Options};
use millpond::scenario::Program;
use millpond::trace::{FindingKind, Model, Nothing};

/// Every one of the guide and of the reuse policies, however often figures are read.
#[test]
fn guide_and_reuse_do_what_the_simulation_says() {
    let _turn = turn();
    let (host, mut count, mut wrong) = (sound(), 0, Vec::new());
    let files = ["guide", "reuse"].map(|folder| files_below(&scenarios().join(folder))).concat();
    for (name, program) in files.iter().flat_map(|file| programs_of(file)) {
        assert_eq!(hw::unsupported(&program), [], "{name}");
        for observe in [Observe::End, Observe::Sync, Observe::Every] {
            let run = play(&program, 0, &host, Options { observe, ..options(&program, 0) });
            assert_eq!(run.stop, None, "{name}");
            assert_eq!(run.overlaps, [], "{name}");
            let mut comparison = compared(&program, 0, &run);
            assert!(comparison.compared.calls > 0, "{name}");
            // Devices of several driver versions are several machines.
            comparison.differences.retain(|difference| {
                let text = &program.statements[difference.key.stmt].text;
                difference.class != Class::Unspecified || !text.contains("_driver.driver == ")
            });
            wrong.extend(
                differing(&program, &comparison).iter().map(|line| format!("{name}, {observe:?}: {line}")),
            );
            count += 1;
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 200, "{count}");
}

/// What no driver can do as the simulation does, and why.
const APART: [(&str, &str); 4] = [
    ("threads/host_function.scn", "a driver does not know what a thread learns from a function of its own"),
    (
        "oxicuda/double_free.scn",
        "a driver knows memory by its address, so a second free is that of who has it now",
    ),
    (
        "limits/managed_memory_apart.scn",
        "the simulated driver has managed memory in the memory of its process",
    ),
    (
        "ipc/not_observed_by_others.scn",
        "processes share one driver here, which knows what any of them has seen",
    ),
];

/// All others that can run there. Where kernels meet in their memory, the analysis has found that they can.
#[test]
fn all_scenarios_do_what_the_simulation_says() {
    let _turn = turn();
    let (host, mut count, mut overlaps, mut wrong) = (sound(), 0, 0, Vec::new());
    for file in files_below(&scenarios()) {
        if file.starts_with(scenarios().join("invalid")) {
            continue;
        }
        for (name, program) in programs_of(&file) {
            let is_other = program.setup.model != Model::Cuda || program.length > 5_000;
            if is_other || !hw::unsupported(&program).is_empty() {
                continue;
            }
            count += 1;
            let run = play(&program, 0, &host, options(&program, 0));
            if !run.overlaps.is_empty() {
                overlaps += 1;
                assert!(has_race(&program), "{name}: {:?}", run.overlaps);
            }
            let comparison = compared(&program, 0, &run);
            let differs = comparison.differences.iter().any(|difference| match difference.class {
                Class::Differs => true,
                Class::Timing => !polls(&program),
                Class::Unspecified => false,
            });
            let is_apart = APART.iter().any(|(apart, _)| name.starts_with(apart));
            if differs && !is_apart {
                wrong.push(format!("{name}\n  {}", differing(&program, &comparison).join("\n  ")));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(count > 400 && overlaps > 10, "{count} {overlaps}");
}

/// Whether the analysis finds uses of one memory that nothing orders.
fn has_race(program: &Program) -> bool {
    let (verdict, _) = explore::judged(program, 0, Nothing);
    let races = [
        FindingKind::Race,
        FindingKind::UseAfterFree,
        FindingKind::UseBeforeAlloc,
        FindingKind::OrderedByLuck,
    ];
    verdict.findings.iter().any(|finding| races.contains(&finding.kind))
}

/// A scenario that can run there at all has a run there that is as long: nothing is left out.
#[test]
fn each_call_is_made() {
    let _turn = turn();
    let host = sound();
    for file in files_below(&scenarios().join("basics")) {
        for (name, program) in
            programs_of(&file).into_iter().filter(|(_, program)| hw::unsupported(program).is_empty())
        {
            let run = play(&program, 0, &host, options(&program, 0));
            let calls = |trace: Trace| trace.calls.iter().map(|made| made.key).collect::<Vec<_>>();
            assert_eq!(calls(recorded(&run)), calls(simulated(&program, 0)), "{name}");
        }
    }
}
