//! A side that tells no more than a device does: it is no different from the simulation whose events it tells, and it is where it
//! does something else.

use super::{LENGTH_MAX, line, load, record, scenarios};
use millpond::base::{Bytes, Nanos, StmtId};
use millpond::compare::{Class, Common, Comparison, Recorder, What, compare};
use millpond::engine;
use millpond::scenario::Program;
use millpond::trace::{Decision, Detail, Event, Kind, Range, Sink};

/// Tells what a device could: other addresses, no reasons, no order, and states at some calls only.
struct Device<'c> {
    recorder: Recorder,
    /// The states at one in so many calls are told.
    states: u32,
    count: u32,
    /// Moves the ends of operations.
    ends: &'c dyn Fn(StmtId, Nanos) -> Nanos,
}

impl Sink for Device<'_> {
    fn wants(&self, detail: Detail) -> bool {
        matches!(detail, Detail::Events | Detail::States)
    }

    fn event(&mut self, event: &Event<'_>) {
        match event.kind {
            Kind::Waits { .. } | Kind::Ordered { .. } | Kind::Refused(_) | Kind::Released { .. } => {}
            Kind::State { .. } if !self.count.is_multiple_of(self.states) => {}
            Kind::Call(_) => {
                self.count += 1;
                self.recorder.event(event);
            }
            Kind::Decided(decision) => {
                let Range { start, size } = decision.range;
                // Some models have addresses up to the last one.
                let start = if start < 1 << 62 { start + (1 << 40) } else { start };
                let range = Range { start, size };
                let plain = Decision::plain(decision.alloc, range, decision.requested, Bytes::ZERO);
                self.recorder.event(&Event { kind: Kind::Decided(&plain), ..*event });
            }
            Kind::End => self.recorder.event(&Event { at: (self.ends)(event.stmt, event.at), ..*event }),
            _ => self.recorder.event(event),
        }
    }
}

fn against(program: &Program, states: u32, ends: &dyn Fn(StmtId, Nanos) -> Nanos) -> Comparison {
    let mut device = Device { recorder: Recorder::of_device(), states, count: 0, ends };
    engine::run(program, 0, &mut device);
    let trace = device.recorder.finish().expect("it is short");
    let comparison = compare(&record(program, 0), &trace, program, &Common::all());
    let back = compare(&trace, &record(program, 0), program, &Common::all());
    assert_eq!(super::mirrored(&comparison), back);
    comparison
}

#[test]
fn a_device_that_does_what_the_simulation_does_has_no_difference() {
    let mut states = [0; 2];
    for (path, programs) in scenarios() {
        for program in programs.iter().filter(|program| program.length <= LENGTH_MAX) {
            for (nth, every) in [1, 3].into_iter().enumerate() {
                let comparison = against(program, every, &|_, at| at);
                assert_eq!(comparison.differences, [], "{path}");
                states[nth] += comparison.compared.states;
            }
        }
    }
    assert!(states[1] > 500 && states[1] * 2 < states[0], "{states:?}");
}

const ORDERED: &str = "\
stream a, b, c
event done
kernel k(x: write) takes 10us
a: x = alloc 1MiB
a: k(x)
a: record done
b: wait done
b: host takes 5us
c: host takes 30us
sync gpu0
";

/// What the first line orders before the second one, cannot end after it; of the third one nothing is said.
#[test]
fn ends_are_held_against_the_order() {
    let program = load(ORDERED);
    let late = |of: u32| {
        let program = &program;
        move |stmt: StmtId, at: Nanos| if line(program, stmt) == of { Nanos(at.0 + 18_000) } else { at }
    };
    let told = |comparison: &Comparison| -> Vec<(u32, u32, Class)> {
        let ends = comparison.differences.iter().filter_map(|difference| match difference.what {
            What::Ends(other) => {
                Some((line(&program, difference.key.stmt), line(&program, other), difference.class))
            }
            _ => None,
        });
        ends.collect()
    };
    assert_eq!(told(&against(&program, 1, &|_, at| at)), []);
    // The kernel ends after the record behind it, which comes before the wait and so before the function of the host.
    let broken = told(&against(&program, 1, &late(5)));
    assert!(broken.contains(&(6, 5, Class::Differs)), "{broken:?}");
    assert!(broken.iter().all(|(.., class)| *class == Class::Differs), "{broken:?}");
    // The two functions are in no order.
    assert_eq!(told(&against(&program, 1, &late(8))), [(9, 8, Class::Unspecified)]);
}

/// A function of the host gives its signal before it returns, so that who goes on with that may be faster; what comes before the
/// function is complete nevertheless.
#[test]
fn a_signal_comes_before_the_end_of_its_function() {
    let program = load(SIGNALLED);
    let differs = |of: u32| {
        let ends =
            |stmt: StmtId, at: Nanos| if line(&program, stmt) == of { Nanos(at.0 + 40_000) } else { at };
        let comparison = against(&program, 1, &ends);
        let ends =
            comparison.differences.iter().filter(|difference| matches!(difference.what, What::Ends(_)));
        ends.map(|difference| (line(&program, difference.key.stmt), difference.class)).collect::<Vec<_>>()
    };
    assert_eq!(differs(4), [(6, Class::Unspecified), (7, Class::Differs)]);
    assert_eq!(differs(3), [(4, Class::Differs)]);
}

const SIGNALLED: &str = "\
stream a, b
kernel k() takes 10us
a: k()
a: host takes 5us signal given
await given
b: k()
a: k()
sync gpu0
";
