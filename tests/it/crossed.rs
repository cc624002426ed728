//! Random programs in which the features meet: threads, streams that come and go, blocks that handle failures, copies,
//! memory in and outside of pools, signals, barriers, collectives.
//!
//! They are made such that every wait comes to an end. So each has to run to its end, with books that add up, and with the
//! same events again and in the usual form.

use crate::budget;
use crate::machine::Recorder;
use millpond::base::Draws;
use millpond::engine;
use millpond::oracle::Accounting;
use millpond::profile::Profile;
use millpond::scenario::Program;
use std::fmt::Write;

const HEAD: &str = "\
device gpu0 { memory = 160MiB }
device gpu1 { memory = 96MiB }
pool p on gpu0 { release_threshold = 32MiB }
pool q on gpu0 { release_threshold = max, max_size = 96MiB }
pool r on gpu1
stream s[3] on gpu0
stream n[2] on gpu0 non_blocking
stream d on gpu1
stream c[2] on gpu0 non_blocking
event e[4]
host_buffer h 1MiB pinned
host_buffer g 1MiB pageable
kernel k(x: read_write) takes 1us..9us
kernel stall() takes 1us
collective meet of 2 takes 2us..5us
view head = h[0..64KiB]
";

/// A text in the making.
struct Text<'d> {
    draws: &'d mut Draws,
    text: String,
    /// The thread whose lines are written: 0 is the one that runs the file.
    thread: usize,
    /// The names that this thread allocates, and whether they are allocated somewhere above.
    allocated: [bool; 3],
    /// Whether the stream and the pool that this thread creates exist.
    exists: [bool; 2],
    /// Whether anything was created above, so that its name is known.
    known: [bool; 2],
    depth: u64,
}

impl Text<'_> {
    fn below(&mut self, count: u64) -> u64 {
        self.draws.below(count)
    }

    fn line(&mut self, line: &str) {
        let _ = writeln!(self.text, "{line}");
    }

    fn stream(&mut self) -> String {
        let thread = self.thread;
        match self.below(12) {
            0..4 => format!("s[{}]", self.below(3)),
            4 | 5 => format!("n[{}]", self.below(2)),
            6 => "d".to_owned(),
            7 => "gpu0.legacy".to_owned(),
            8 => "gpu0.per_thread".to_owned(),
            9 => "gpu1.per_thread".to_owned(),
            10 if self.known[0] => format!("own{thread}"),
            _ => "gpu1.legacy".to_owned(),
        }
    }

    /// A buffer of this thread, if it has allocated one.
    fn buffer(&mut self) -> Option<String> {
        let nth = self.below(3) as usize;
        self.allocated[nth].then(|| format!("x{}_{nth}", self.thread))
    }

    fn pool(&mut self) -> String {
        match self.below(6) {
            0 => " from p".to_owned(),
            1 => " from q".to_owned(),
            2 => " from r".to_owned(),
            3 if self.known[1] => format!(" from own_pool{}", self.thread),
            _ => String::new(),
        }
    }

    /// Some error that is accepted, a block that handles one, or nothing.
    fn outcome(&mut self, error: &str) {
        match self.below(4) {
            0 => self.line(&format!(" or_fails {error}")),
            1 if self.depth < 3 => {
                self.line(&format!(" else {error} {{"));
                self.block();
                self.line("}");
            }
            _ => self.line(""),
        }
    }

    fn block(&mut self) {
        self.depth += 1;
        for _ in 0..self.below(3) {
            self.some();
        }
        self.depth -= 1;
    }

    fn alloc(&mut self) {
        let nth = self.below(3) as usize;
        let name = format!("x{}_{nth}", self.thread);
        let size = [1, 2, 7, 33, 64][self.below(5) as usize];
        if self.allocated[nth] {
            self.line(&format!("free {name} or_fails invalid_value"));
        }
        match self.below(6) {
            0 => {
                let _ = write!(self.text, "{name} = malloc {size}MiB on gpu{}", self.draws.below(2));
            }
            1 => {
                let _ = write!(self.text, "{name} = malloc {size}MiB managed on gpu0");
            }
            _ => {
                let (stream, pool) = (self.stream(), self.pool());
                let _ = write!(self.text, "{stream}: {name} = alloc {size}MiB{pool}");
            }
        }
        self.allocated[nth] = true;
        // What is not certainly there may be allocated again.
        self.line(" or_fails out_of_memory");
    }

    fn copy(&mut self, buffer: &str) {
        let stream = self.stream();
        let prefix = if self.below(2) == 0 { String::new() } else { format!("{stream}: ") };
        let host = ["h[0..64KiB]", "g[0..64KiB]", "head"][self.below(3) as usize];
        let (to, from) = match self.below(3) {
            0 => (format!("{buffer}[0..64KiB]"), host.to_owned()),
            1 => (host.to_owned(), format!("{buffer}[64KiB..128KiB]")),
            _ => (format!("{buffer}[0..64KiB]"), format!("{buffer}[64KiB..128KiB]")),
        };
        self.line(&format!("{prefix}copy {to} from {from} takes 3us"));
    }

    fn resources(&mut self) {
        let thread = self.thread;
        let nth = self.below(2) as usize;
        let (kind, name) =
            [("stream", format!("own{thread}")), ("pool", format!("own_pool{thread}"))][nth].clone();
        if self.exists[nth] {
            self.line(&format!("destroy {name}"));
        } else {
            let reusing = if self.known[nth] && self.below(2) == 0 {
                format!(" reusing {name}")
            } else {
                String::new()
            };
            self.line(&format!("create {kind} {name} on gpu{}{reusing}", thread % 2));
            self.known[nth] = true;
        }
        self.exists[nth] = !self.exists[nth];
    }

    fn some(&mut self) {
        let (stream, event) = (self.stream(), self.below(4));
        let buffer = self.buffer();
        match (self.below(20), buffer) {
            (0..4, _) => self.alloc(),
            (4..7, Some(buffer)) => {
                let prefix = if self.below(4) == 0 { String::new() } else { format!("{stream}: ") };
                let _ = write!(self.text, "{prefix}free {buffer}");
                self.outcome("invalid_value");
            }
            (7, Some(buffer)) => self.line(&format!("{stream}: k({buffer}[0..1KiB])")),
            (8, Some(buffer)) => self.copy(&buffer),
            (9, Some(buffer)) => self.line(&format!("{stream}: memset {buffer} takes 1us")),
            (10, _) => self.line(&format!("{stream}: record e[{event}]")),
            (11, _) => self.line(&format!("{stream}: wait e[{event}]")),
            (12, _) => {
                let target = ["sync device", "sync gpu1"][self.below(2) as usize];
                self.line(target);
            }
            (13, _) => {
                let _ = write!(self.text, "sync {stream}");
                self.outcome("invalid_resource_handle");
            }
            (14, _) => {
                let _ = write!(self.text, "query {stream}");
                self.outcome("not_ready");
            }
            (15, _) => self.line(&format!("poll e[{event}] until done")),
            (16, _) if self.depth == 0 => self.resources(),
            (17, _) if self.depth < 3 => {
                self.line(&format!("repeat i{} in 0..2 {{", self.depth));
                self.block();
                self.line("}");
            }
            (18, _) => self.line(&format!("{stream}: host(h: read) takes 2us")),
            (19, _) => self.line(
                ["set gpu0.pool = q", "trim p to 0B", "sleep 4us", "set gpu0.pool = p"][event as usize],
            ),
            _ => self.line(&format!("{stream}: host takes 1us")),
        }
    }

    fn some_lines(&mut self, most: u64) {
        for _ in 0..self.draws.between(1, most) {
            self.some();
        }
    }

    /// Lines that never block, so that they may stand before what others wait for is given.
    fn together(&mut self) {
        for _ in 0..self.below(3) {
            self.line("c[0]: meet()\nc[1]: meet()");
        }
    }
}

fn program(draws: &mut Draws) -> String {
    let threads = draws.below(4) as usize;
    let text = Text {
        draws,
        text: HEAD.to_owned(),
        thread: 0,
        allocated: [false; 3],
        exists: [false; 2],
        known: [false; 2],
        depth: 0,
    };
    let mut text = text;
    text.some_lines(8);
    text.together();
    text.line("s[0]: stall() until go\nc[0]: host signal gone");
    let main = (text.allocated, text.exists, text.known);
    for thread in 1..=threads {
        (text.thread, text.allocated, text.exists, text.known) = (thread, [false; 3], [false; 2], [false; 2]);
        text.line(&format!("thread t{thread} {{"));
        text.some_lines(8);
        if text.below(2) == 0 {
            text.line("await gone");
        }
        text.line(&format!("barrier all of {threads}"));
        text.some_lines(8);
        text.line("}");
    }
    (text.thread, (text.allocated, text.exists, text.known)) = (0, main);
    text.together();
    text.line("signal go");
    text.some_lines(8);
    (1..=threads).for_each(|thread| text.line(&format!("join t{thread}")));
    text.some_lines(4);
    text.line("sync device\nsync gpu1\nsnapshot");
    text.text
}

fn load(text: &str) -> Program {
    let (program, mistakes) = millpond::load(text, &Profile::default());
    program.unwrap_or_else(|| panic!("{text}\n{mistakes:?}"))
}

fn events(text: &str, seed: u64) -> Vec<String> {
    let program = load(text);
    let (mut books, mut recorder) = (Accounting::new(&program.setup), Recorder::default());
    let ending = engine::run(&program, seed, (&mut books, &mut recorder));
    assert_eq!(ending.stop, None, "{text}");
    assert_eq!(books.violations(), [], "seed {seed}\n{text}");
    recorder.0
}

#[test]
fn programs_that_cross_features_run_in_order() {
    let (mut failed, mut handled) = (0, 0);
    for seed in 0..budget(12) {
        let text = program(&mut Draws::new(seed, 11));
        let first = events(&text, seed);
        assert_eq!(first, events(&text, seed), "{text}");
        let formatted =
            millpond::syntax::format(&text).unwrap_or_else(|mistakes| panic!("{text}\n{mistakes:?}"));
        assert_eq!(first, events(&formatted, seed), "{text}");
        failed += first.iter().filter(|event| event.contains("Failed {")).count();
        handled += usize::from(text.contains("else "));
    }
    assert!(failed > 20 && handled > 3, "{failed} {handled}");
}
