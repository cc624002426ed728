//! What is said about made-up findings of small programs.

use super::*;
use crate::base::{BufferId, StreamId};
use crate::oracle::Recording;
use crate::profile::Profile;
use crate::trace::Ticket;

const HAZARD: &str = "\
stream compute, cleanup
event ready
kernel train(x: read_write) takes 50us

compute: x = alloc 1MiB
compute: record ready
cleanup: wait ready
compute: train(x)
cleanup: free x
cleanup: y = alloc 1MiB
cleanup: train(y)
cleanup: free y
sync device
";

fn program(text: &str) -> Program {
    crate::load(text, &Profile::default()).0.expect("a valid scenario")
}

fn at(program: &Program, line: u32) -> StmtId {
    let statements = program.statements.iter_enumerated();
    statements.filter(|(_, statement)| statement.line == line).map(|(id, _)| id).next().expect("a statement")
}

fn operation(program: &Program, line: u32, stream: usize, seq: u32) -> Moment {
    let point = Point::Operation(Ticket { stream: StreamId::new(stream), seq });
    Moment { stmt: at(program, line), point }
}

fn named(program: &Program, name: &str) -> Option<BufferId> {
    program.names.buffers.iter_enumerated().find(|(_, known)| *known == name).map(|(id, _)| id)
}

/// A finding about an order that is missing between two lines, and what a run tells about it.
fn missing(
    program: &Program,
    kind: FindingKind,
    from: Moment,
    to: Moment,
    name: &str,
) -> (Finding, Explanation) {
    let mut recording = Recording::new(&program.setup);
    crate::engine::run(program, 0, &mut recording);
    let stmt = from.stmt.max(to.stmt);
    let mut finding = Finding::made_up(kind, stmt, named(program, name));
    let alloc = Some(trace::AllocId { slot: 0, serial: 1 });
    let missing = Missing { from, to, alloc };
    finding.missing = Some(missing);
    finding.certainty = Some(Certainty::Possible);
    (finding, recording.explain(&missing).expect("both were recorded"))
}

fn stream_of(program: &Program, name: &str) -> usize {
    program.names.streams.iter().position(|known| known == name).expect("a stream")
}

#[test]
fn a_use_that_nothing_orders_before_the_free() {
    let program = program(HAZARD);
    let [compute, cleanup] = ["compute", "cleanup"].map(|name| stream_of(&program, name));
    let from = operation(&program, 8, compute, 3);
    let to = operation(&program, 9, cleanup, 2);
    let (mut finding, explanation) = missing(&program, FindingKind::UseAfterFree, from, to, "x");
    finding.others = vec![(Role::Allocation, Some(at(&program, 5))), (Role::Use, Some(from.stmt))];
    let steps: Vec<StmtId> = explanation.nearest.iter().map(|link| link.stmt).collect();
    assert_eq!(steps, [6, 7, 9].map(|line| at(&program, line)));
    let told = Told { finding: &finding, explanation: Some(explanation), fix: None };
    let told = explained(&program, &[told]).remove(0);
    assert_eq!(told.message, "`x` is freed on cleanup while `train(x)` may still use it");
    let labels: Vec<(&str, &str)> = std::iter::once(&told.primary)
        .chain(&told.secondary)
        .map(|label| (&HAZARD[label.span.range()], label.message.as_str()))
        .collect();
    assert_eq!(
        labels,
        [
            ("free x", "frees x on cleanup; not ordered after line 8"),
            ("x = alloc 1MiB", "allocates x on compute"),
            ("train(x)", "uses x on compute"),
            ("record ready", "recorded before line 8, so it does not cover it"),
            ("wait ready", "waits for that record"),
        ]
    );
    let facts: Vec<(&str, &str)> = told.facts.iter().map(|fact| (fact.name, fact.text.as_str())).collect();
    assert_eq!(
        facts,
        [
            ("missing", "8 train(x) -> 9 free x"),
            ("nearest", "6 record ready -> 7 wait ready -> 9 free x"),
            ("timing", "possible: nothing orders the two, so that some timing breaks"),
            (
                "this run",
                "train(x) ran from 0us to 50us, free x at 0us: in the wrong order; line 10 gave x's memory to y \
                 (same_stream); train(x) and train(y) both had it from 0us to 50us"
            ),
            (
                "rule",
                "every use must be ordered before the free\n(CUDA Programming Guide 4.3.2.2; `millpond explain R16`)"
            ),
            ("to do", "record an event after the use, and wait for it before the free"),
            ("mute or expect", "`expect finding use_after_free on x`"),
        ]
    );
}

#[test]
fn two_lines_that_say_the_same_are_told_apart() {
    let program = program(&HAZARD.replace("train(y)", "train(x)").replace("cleanup: free x\n", "\n"));
    let [compute, cleanup] = ["compute", "cleanup"].map(|name| stream_of(&program, name));
    let (from, to) = (operation(&program, 8, compute, 3), operation(&program, 11, cleanup, 3));
    let (finding, explanation) = missing(&program, FindingKind::Race, from, to, "x");
    let told = Told { finding: &finding, explanation: Some(explanation), fix: None };
    let told = explained(&program, &[told]).remove(0);
    assert_eq!(told.message, "`train(x)` on compute and on cleanup touch `x`, and nothing orders them");
    let this_run = told.facts.iter().find(|fact| fact.name == "this run").expect("it was recorded");
    assert_eq!(this_run.text, "line 8 ran from 0us to 50us, line 11 ran from 0us to 50us: at the same time");
}

#[test]
fn a_warning_is_told_in_fewer_words_than_an_error() {
    let program = program(HAZARD);
    let mut finding = Finding::made_up(FindingKind::RedundantWait, at(&program, 7), None);
    finding.others = vec![(Role::Record, Some(at(&program, 6)))];
    let told = explained(&program, &[Told::new(&finding)]).remove(0);
    assert_eq!((told.severity, told.secondary.len()), (Severity::Lint, 1));
    let names: Vec<&str> = told.facts.iter().map(|fact| fact.name).collect();
    assert_eq!(names, ["rule", "to do", "mute or expect"]);
    finding.expected = Some(at(&program, 13));
    assert_eq!(explained(&program, &[Told::new(&finding)])[0].severity, Severity::Note);
}

#[test]
fn a_fix_of_several_findings_is_shown_once() {
    let program = program(HAZARD);
    let finding = Finding::made_up(FindingKind::Leak, at(&program, 5), named(&program, "x"));
    let edits = vec![crate::base::Edit { span: Span::new(0, 0), text: "x".to_owned() }];
    let fix = Some(Help { text: "free it".to_owned(), edits, facts: Vec::new() });
    let told = || Told { finding: &finding, explanation: None, fix: fix.clone() };
    let told = explained(&program, &[told(), told()]);
    assert_eq!(told[0].help, fix);
    let again = told[1].help.as_ref().expect("a word about it");
    assert_eq!((again.text.as_str(), again.edits.len()), (FIXED_ABOVE, 0));
}
