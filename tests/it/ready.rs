//! `ready on` against reachability: random programs whose expectations are written down from a naive account, which keeps
//! every operation for ever and walks back along all edges (CUDA driver API, `cuMemAllocAsync`: use in another stream has
//! to be ordered after the allocation).

use crate::budget;
use millpond::base::Draws;
use millpond::engine::run;
use millpond::oracle::Expectations;
use millpond::profile::Profile;
use std::collections::BTreeSet;
use std::fmt::Write;

const HEAD: &str = "\
pool p { release_threshold = max, reuse = [] }
stream s[2]
stream n[2] non_blocking
event e[3]
kernel k() takes 1us..9us
";
const STREAMS: [&str; 5] = ["s[0]", "s[1]", "n[0]", "n[1]", "legacy"];
const BLOCKING: std::ops::Range<usize> = 0..2;
const LEGACY: usize = 4;

/// What became of a buffer.
#[derive(Clone, Copy, PartialEq)]
enum Is {
    /// Allocated by this operation.
    Allocated(usize),
    /// Allocated outside of pools.
    Plain,
    Freed,
}

#[derive(Default)]
struct Account {
    text: String,
    /// For each operation, those directly before it.
    before: Vec<Vec<usize>>,
    last: [Option<usize>; STREAMS.len()],
    records: [Option<usize>; 3],
    /// What the host has seen complete.
    seen: Vec<usize>,
    buffers: [Option<Is>; 4],
    /// How many expectations say that a buffer is not ready, and that it is.
    expected: [u64; 2],
}

impl Account {
    fn line(&mut self, line: &str) {
        let _ = writeln!(self.text, "{line}");
    }

    /// What is directly before the next operation of a stream.
    fn next_after(&self, stream: usize) -> Vec<usize> {
        let fences = match stream {
            LEGACY => &self.last[BLOCKING],
            _ if BLOCKING.contains(&stream) => &self.last[LEGACY..],
            _ => &[],
        };
        let before = self.last[stream].iter().chain(fences.iter().flatten()).chain(&self.seen);
        before.copied().collect()
    }

    fn submit(&mut self, stream: usize, after: Option<usize>, operation: &str) -> usize {
        self.line(&format!("{}: {operation}", STREAMS[stream]));
        let mut before = self.next_after(stream);
        before.extend(after);
        self.before.push(before);
        self.last[stream] = Some(self.before.len() - 1);
        self.before.len() - 1
    }

    fn is_ready(&self, buffer: Is, stream: usize) -> bool {
        let Is::Allocated(by) = buffer else { return buffer == Is::Plain };
        let (mut found, mut open) = (BTreeSet::new(), self.next_after(stream));
        while let Some(operation) = open.pop() {
            if found.insert(operation) {
                open.extend(&self.before[operation]);
            }
        }
        found.contains(&by)
    }

    fn memory(&mut self, nth: usize, stream: usize, draws: &mut Draws) {
        let is_live = self.buffers[nth].is_some_and(|is| is != Is::Freed);
        self.buffers[nth] = Some(match (is_live, draws.below(4)) {
            (false, 0) => {
                self.line(&format!("x[{nth}] = malloc 4KiB"));
                Is::Plain
            }
            (false, _) => Is::Allocated(self.submit(stream, None, &format!("x[{nth}] = alloc 4KiB from p"))),
            (true, 0) => {
                self.line(&format!("free x[{nth}]"));
                Is::Freed
            }
            (true, _) => {
                self.submit(stream, None, &format!("free x[{nth}]"));
                Is::Freed
            }
        });
    }

    /// The host waits, and sees what it waited for.
    fn host_waits(&mut self, stream: usize, event: usize, draws: &mut Draws) {
        let (target, complete): (_, Vec<_>) = match draws.below(5) {
            0 => ("device".to_owned(), self.last.to_vec()),
            1 | 2 => (format!("e[{event}]"), vec![self.records[event]]),
            _ if stream == LEGACY => {
                let blocking = self.last[BLOCKING].iter().chain([&self.last[LEGACY]]);
                (STREAMS[stream].to_owned(), blocking.copied().collect())
            }
            _ => (STREAMS[stream].to_owned(), vec![self.last[stream]]),
        };
        match target == "device" || draws.below(2) == 0 {
            true => self.line(&format!("sync {target}")),
            false => self.line(&format!("poll {target} until done")),
        }
        self.seen.extend(complete.into_iter().flatten());
    }

    fn step(&mut self, draws: &mut Draws) {
        let stream = draws.below(STREAMS.len() as u64) as usize;
        let [nth, event] = [4, 3].map(|count| draws.below(count) as usize);
        match draws.below(16) {
            0..5 => self.memory(nth, stream, draws),
            5..8 => self.records[event] = Some(self.submit(stream, None, &format!("record e[{event}]"))),
            8..12 => {
                let record = self.records[event];
                self.submit(stream, record, &format!("wait e[{event}]"));
            }
            12 => self.host_waits(stream, event, draws),
            _ => {
                self.submit(stream, None, "k()");
            }
        }
        for (nth, is) in self.buffers.into_iter().enumerate() {
            let Some(is) = is else { continue };
            let stream = draws.below(STREAMS.len() as u64) as usize;
            let is_ready = self.is_ready(is, stream);
            self.expected[usize::from(is_ready)] += 1;
            let not = if is_ready { "" } else { "not " };
            self.line(&format!("expect x[{nth}] {not}ready on {}", STREAMS[stream]));
        }
    }
}

#[test]
fn a_buffer_is_ready_where_its_allocation_can_be_reached() {
    let mut expected = [0, 0];
    for seed in 0..budget(60) {
        let mut draws = Draws::new(seed, 4);
        let mut account = Account { text: HEAD.to_owned(), ..Account::default() };
        for _ in 0..40 {
            account.step(&mut draws);
        }
        let (program, diagnostics) = millpond::load(&account.text, &Profile::default());
        assert_eq!(diagnostics, [], "{}", account.text);
        let program = program.expect("there is no mistake in it");
        let mut judge = Expectations::new(&program);
        assert_eq!(run(&program, seed, &mut judge).stop, None);
        let verdict = judge.finish(None);
        for (id, judged) in verdict.expectations.iter_enumerated() {
            let line = program.statements[program.expects[id].stmt].line;
            assert!(judged.holds(), "line {line}: {:?} in\n{}", judged.first, account.text);
        }
        expected = [0, 1].map(|nth| expected[nth] + account.expected[nth]);
    }
    let [not_ready, ready] = expected;
    assert!(not_ready > ready / 4 && ready > not_ready / 4, "{ready} are ready, {not_ready} are not");
}
