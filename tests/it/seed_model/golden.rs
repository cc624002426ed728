//! Traces recorded with oxicuda-driver 0.5.5, repeated line by line.

use super::calls::Model;
use super::model;
use millpond::model::stream_order::{StreamOrderId, StreamOrderModel};

const TRACES: [&str; 4] = [
    include_str!("../../golden/oxicuda/trace_1.txt"),
    include_str!("../../golden/oxicuda/trace_2.txt"),
    include_str!("../../golden/oxicuda/trace_3.txt"),
    include_str!("../../golden/oxicuda/trace_4.txt"),
];

fn number(text: &str) -> u64 {
    let (digits, radix) = text.strip_prefix("0x").map_or((text, 10), |digits| (digits, 16));
    u64::from_str_radix(digits, radix).expect("a number")
}

/// A limit in the first line of a trace.
fn limit(head: &str, name: &str) -> usize {
    let word = head.split_whitespace().find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
    number(word.expect("the first line has the limits")) as usize
}

fn answer(model: &mut StreamOrderModel, call: &[&str]) -> String {
    let stream = |name: &str| StreamOrderId(number(name.trim_start_matches('s')));
    match *call {
        ["alloc", size, on] => match model.alloc(number(size) as usize, stream(on)) {
            Ok(got) => format!("ptr={:#x} cap={} seq={}", got.ptr, got.capacity, got.ready_seq),
            Err(error) => format!("{error:?}"),
        },
        ["free", ptr, on] => format!("{:?}", model.free(number(ptr), stream(on))),
        ["sync", on] => format!("{:?}", model.synchronize(stream(on))),
        ["trim", keep] => format!("{:?}", model.trim_to(number(keep) as usize)),
        ["event", on] => model.record_event(stream(on)).to_string(),
        _ => panic!("no call: {call:?}"),
    }
}

#[test]
fn recorded_traces_repeat() {
    let mut calls = 0;
    for (nth, trace) in (1..).zip(TRACES) {
        let mut lines = trace.lines();
        let head = lines.next().expect("a first line");
        let mut model = model(limit(head, "max_pool_size"), limit(head, "release_threshold"));
        for line in lines.filter(|line| !line.starts_with('#')) {
            let (call, _) = line.split_once(" => ").expect("a call and its answer");
            let answer = answer(&mut model, &call.split(' ').collect::<Vec<_>>());
            let after = model.figures().map(|figure| figure.to_string()).join(" ");
            assert_eq!(format!("{call} => {answer} | {after}"), line, "in trace {nth}");
            calls += 1;
        }
    }
    assert_eq!(calls, 1_547);
}
