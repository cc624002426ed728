//! The order that is nearest to one that is missing, by what makes it.

use super::*;
use crate::base::{HostId, StreamId};
use crate::oracle::Moment;
use crate::profile::Profile;
use crate::scenario::Program;
use crate::trace::Ticket;

/// What a run tells about the order of two operations, each a line with its place in its stream.
fn told(text: &str, from: (u32, &str, u32), to: (u32, &str, u32)) -> (Program, Explanation) {
    let program = crate::load(text, &Profile::default()).0.expect("a valid scenario");
    let mut recording = Recording::new(&program.setup);
    crate::engine::run(&program, 0, &mut recording);
    let moment = |(line, stream, seq): (u32, &str, u32)| {
        let stmt = program.statements.iter().position(|statement| statement.line == line);
        let stream = program.names.streams.iter().position(|known| known == stream).map(StreamId::new);
        let point = match stream {
            Some(stream) => Point::Operation(Ticket { stream, seq }),
            None => Point::Host(HostId::new(0), seq),
        };
        Moment { stmt: StmtId::new(stmt.expect("a statement")), point }
    };
    let missing = Missing { from: moment(from), to: moment(to), alloc: None };
    let told = recording.explain(&missing).expect("both were recorded");
    (program, told)
}

/// Its lines, and by what each comes before the next.
fn nearest(text: &str, from: (u32, &str, u32), to: (u32, &str, u32)) -> Vec<(u32, By)> {
    let (program, told) = told(text, from, to);
    told.nearest.iter().map(|link| (program.statements[link.stmt].line, link.by)).collect()
}

const KERNEL: &str = "kernel k() takes 10us\n";

#[test]
fn each_way_of_order_is_found() {
    for (text, from, to, expected) in [
        // Nothing at all.
        ("stream a, b\na: k()\nb: k()\n", (3, "a", 1), (4, "b", 1), vec![]),
        // An event, and the stream that waits.
        (
            "stream a, b\nevent e\na: record e\nb: wait e\na: k()\nb: k()\n",
            (6, "a", 2),
            (7, "b", 2),
            vec![(4, By::Event), (5, By::Program), (7, By::Program)],
        ),
        // A synchronise, and the host that goes on.
        (
            "stream a, b\na: k()\nsync a\na: k()\nb: k()\n",
            (5, "a", 2),
            (6, "b", 1),
            vec![(3, By::Synchronise), (4, By::Program), (6, By::Program)],
        ),
        // The legacy default stream.
        (
            "stream a, b\na: k()\nlegacy: k()\na: k()\nb: k()\n",
            (5, "a", 2),
            (6, "b", 1),
            vec![(3, By::Legacy), (4, By::Legacy), (6, By::Program)],
        ),
        // A function in a stream gives a signal.
        (
            "stream a, b\na: k()\na: host signal go\nawait go\na: k()\nb: k()\n",
            (6, "a", 3),
            (7, "b", 1),
            vec![(4, By::Signal), (5, By::Program), (7, By::Program)],
        ),
    ] {
        let text = format!("{KERNEL}{text}");
        assert_eq!(nearest(&text, from, to), expected, "{text}");
    }
}

#[test]
fn parts_of_a_collective_bring_what_is_before_each_and_not_each_other() {
    let text =
        format!("{KERNEL}collective c of 2 takes 5us\nstream a, b\na: k()\na: c()\nb: c()\na: k()\nb: k()\n");
    let parts = told(&text, (5, "a", 2), (6, "b", 1)).1;
    assert_eq!(parts.reversed, []);
    assert_eq!(parts.nearest.first().map(|link| link.by), Some(By::Collective));
    let after = nearest(&text, (7, "a", 3), (8, "b", 2));
    assert_eq!(after.first().map(|(line, by)| (*line, *by)), Some((5, By::Collective)));
}

#[test]
fn the_wrong_order_is_told_as_such() {
    let text = format!("{KERNEL}stream a\na: k()\na: k()\n");
    let (program, told) = told(&text, (4, "a", 2), (3, "a", 1));
    let lines: Vec<u32> = told.reversed.iter().map(|link| program.statements[link.stmt].line).collect();
    assert_eq!((lines, told.nearest), (vec![3, 4], vec![]));
}

#[test]
fn what_a_query_sees_is_no_order() {
    let text = format!("{KERNEL}stream a, b\na: k()\nsleep 20us\nquery a\na: k()\nb: k()\n");
    assert_eq!(nearest(&text, (6, "a", 2), (7, "b", 1)), []);
}

#[test]
fn two_ran_at_once_where_neither_had_ended() {
    let ran = |start, end: Option<u64>| Ran { start: Nanos(start), end: end.map(Nanos) };
    let (early, late) = (ran(0, Some(10)), ran(10, Some(20)));
    assert!(early.is_before(late) && !late.is_before(early));
    assert_eq!(early.with(late), None);
    assert_eq!(ran(0, Some(15)).with(late), Some(ran(10, Some(15))));
    assert_eq!(ran(5, None).with(late), Some(ran(10, Some(20))));
    assert_eq!(ran(5, None).with(ran(7, None)), Some(ran(7, None)));
    assert!(!ran(5, None).is_before(ran(7, None)));
}
