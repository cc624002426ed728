//! The times and the devices of events, against a naive account above all: random programs whose outcomes are written down from
//! a list of all operations with their ends (CUDA driver API, `cuEventRecord`; CUDA runtime API, `cudaEventElapsedTime`).

use crate::budget;
use millpond::base::Draws;
use millpond::engine::{Stop, run};
use millpond::oracle::Expectations;
use millpond::profile::Profile;
use std::collections::BTreeSet;
use std::fmt::Write;

const HEAD: &str = "\
device gpu0
device gpu1
stream s[2] on gpu0 non_blocking
stream t[2] on gpu1 non_blocking priority -1
event here on gpu0
event there on gpu1
event e[3]
kernel k() takes 1us
";
const STREAMS: [(&str, usize); 4] = [("s[0]", 0), ("s[1]", 0), ("t[0]", 1), ("t[1]", 1)];
const EVENTS: [(&str, Option<usize>); 5] =
    [("here", Some(0)), ("there", Some(1)), ("e[0]", None), ("e[1]", None), ("e[2]", None)];

/// An operation: when it ends, in microseconds, and those directly before it.
struct Operation {
    end: u64,
    before: Vec<usize>,
}

struct Account {
    text: String,
    now: u64,
    operations: Vec<Operation>,
    last: [Option<usize>; STREAMS.len()],
    /// The device of each event, and its latest record.
    events: [(Option<usize>, Option<usize>); EVENTS.len()],
    /// What the host has synchronised with.
    seen: BTreeSet<usize>,
    times: usize,
    /// How many records are refused; times that are refused, not ready, negative and others.
    outcomes: [u64; 5],
}

impl Account {
    fn line(&mut self, line: &str) {
        let _ = writeln!(self.text, "{line}");
    }

    fn submit(&mut self, stream: usize, takes: u64, after: Option<usize>) -> usize {
        let before: Vec<usize> = self.last[stream].into_iter().chain(after).collect();
        let ends = before.iter().map(|operation| self.operations[*operation].end);
        let end = ends.fold(self.now, u64::max) + takes;
        self.operations.push(Operation { end, before });
        self.last[stream] = Some(self.operations.len() - 1);
        self.operations.len() - 1
    }

    fn record(&mut self, stream: usize, event: usize) {
        let (name, device) = STREAMS[stream];
        let home = *self.events[event].0.get_or_insert(device);
        let fails = if home == device { "" } else { " fails invalid_resource_handle" };
        self.line(&format!("{name}: record {}{fails}", EVENTS[event].0));
        if home == device {
            self.events[event].1 = Some(self.submit(stream, 0, None));
        } else {
            self.outcomes[0] += 1;
        }
    }

    fn sync(&mut self, name: &str, target: Option<usize>) {
        self.line(&format!("sync {name}"));
        self.now = target.map_or(self.now, |target| self.now.max(self.operations[target].end));
        let mut open: Vec<usize> = target.into_iter().collect();
        while let Some(operation) = open.pop() {
            if self.seen.insert(operation) {
                open.extend(&self.operations[operation].before);
            }
        }
    }

    fn elapsed(&mut self, from: usize, to: usize) {
        let call = format!("let t{} = elapsed {} to {}", self.times, EVENTS[from].0, EVENTS[to].0);
        let [(home, first), (other, last)] = [self.events[from], self.events[to]];
        // What ends at this very time is not visible yet, but for what the host has waited for.
        let is_over = |record: usize| self.operations[record].end < self.now || self.seen.contains(&record);
        let (outcome, line) = match first.zip(last).filter(|_| home == other) {
            None => (1, format!("{call} fails invalid_resource_handle")),
            Some((first, last)) if !is_over(first) || !is_over(last) => {
                (2, format!("{call} fails not_ready"))
            }
            Some((first, last)) => {
                let [first, last] = [first, last].map(|record| self.operations[record].end);
                let expected = format!("{call}\nexpect t{} == {last}us - {first}us", self.times);
                (if last < first { 3 } else { 4 }, expected)
            }
        };
        self.line(&line);
        self.outcomes[outcome] += 1;
        self.times += 1;
    }

    fn step(&mut self, draws: &mut Draws) {
        let stream = draws.below(STREAMS.len() as u64) as usize;
        let [event, other] = [0, 1].map(|_| draws.below(EVENTS.len() as u64) as usize);
        let takes = draws.between(1, 9);
        match draws.below(16) {
            0..3 => {
                self.line(&format!("{}: k() takes {takes}us", STREAMS[stream].0));
                self.submit(stream, takes, None);
            }
            3..7 => self.record(stream, event),
            7..9 => {
                self.line(&format!("{}: wait {}", STREAMS[stream].0, EVENTS[event].0));
                self.submit(stream, 0, self.events[event].1);
            }
            9 => self.sync(STREAMS[stream].0, self.last[stream]),
            10 => self.sync(EVENTS[event].0, self.events[event].1),
            11 => {
                self.line(&format!("sleep {takes}us"));
                self.now += takes;
            }
            _ => self.elapsed(event, other),
        }
    }
}

#[test]
fn events_have_the_times_and_devices_of_a_naive_account() {
    let mut outcomes = [0; 5];
    for seed in 0..budget(60) {
        let mut draws = Draws::new(seed, 12);
        let mut account = Account {
            text: HEAD.to_owned(),
            now: 0,
            operations: Vec::new(),
            last: [None; STREAMS.len()],
            events: EVENTS.map(|(_, device)| (device, None)),
            seen: BTreeSet::new(),
            times: 0,
            outcomes,
        };
        for _ in 0..60 {
            account.step(&mut draws);
        }
        let (program, diagnostics) = millpond::load(&account.text, &Profile::default());
        assert_eq!(diagnostics, [], "{}", account.text);
        let program = program.expect("there is no mistake in it");
        let mut judge = Expectations::new(&program);
        assert_eq!(run(&program, seed, &mut judge).stop, None, "{}", account.text);
        let verdict = judge.finish(None);
        assert!(verdict.holds(), "{verdict:#?} in\n{}", account.text);
        outcomes = account.outcomes;
    }
    assert!(outcomes.iter().all(|count| *count > 20), "{outcomes:?}");
}

/// A time that was refused has no value: who uses it stops the run, in whichever thread.
#[test]
fn a_time_that_was_refused_has_no_value() {
    const REASON: &str = "the call that reads this value failed, so that it has none";
    let refused = "let missing = elapsed here to here or_fails invalid_resource_handle\n";
    for (lines, reason) in [
        ("sleep missing", Some(REASON)),
        ("expect missing + 1us > 0us", Some(REASON)),
        ("let twice = missing * 2", Some(REASON)),
        ("thread other {\nsleep missing\n}", Some(REASON)),
        ("s[0]: record here\nsync here\nlet time = elapsed here to here\nsleep time", None),
    ] {
        let text = format!("{HEAD}{refused}{lines}\n");
        let program = millpond::load(&text, &Profile::default()).0.expect(lines);
        let found = match run(&program, 0, millpond::trace::Nothing).stop {
            Some(Stop::Broken { reason, .. }) => Some(reason),
            stop => stop.map(|stop| format!("{stop:?}")),
        };
        assert_eq!(found.as_deref(), reason, "{lines}");
    }
}

/// As `cudaStreamCreateWithPriority` says of numbers that a device does not have.
#[test]
fn priorities_beyond_those_of_devices_become_the_nearest() {
    let text = "stream a\nstream b[2] priority -3\nstream c priority 2\ncreate stream d priority -2147483648";
    let program = millpond::load(text, &Profile::default()).0.expect("it is right");
    let priorities: Vec<i32> = program.setup.streams.iter().map(|stream| stream.priority).collect();
    assert_eq!(priorities, [0, -3, -3, 0, -5]);
}
