//! Small random programs, in the language: memory that is split and merged, freed on other streams, trimmed, asked about and
//! short; pools that are destroyed, the legacy default stream, kernels that wait for a signal, queues that are full; and threads.

use millpond::base::Draws;
use millpond::profile::Profile;
use millpond::scenario::Program;
use std::fmt::Write;

/// What is known of the program while it is made up.
struct Maker {
    draws: Draws,
    text: String,
    streams: u64,
    pools: u64,
    live: Vec<String>,
    outside: Vec<String>,
    named: u64,
    with: Further,
    /// Of the kernel that waits for a signal: whether it is launched, and the signal given.
    signal: [bool; 2],
}

/// What a program has beside the usual.
#[derive(Clone, Copy, Default)]
struct Further {
    /// The legacy default stream.
    legacy: bool,
    /// A kernel that waits for a signal of the host.
    signal: bool,
    /// Devices that take so many operations at once.
    queue: Option<u64>,
    /// Policies that are off from the start, so that only a lint tells what is complete.
    is_off: bool,
}

impl Maker {
    fn new(draws: Draws, streams: u64, pools: u64) -> Self {
        Self {
            draws,
            text: String::new(),
            streams,
            pools,
            live: Vec::new(),
            outside: Vec::new(),
            named: 0,
            with: Further::default(),
            signal: [false; 2],
        }
    }

    fn stream(&mut self) -> String {
        if self.with.legacy && self.is_one_in(4) {
            return "legacy".to_owned();
        }
        format!("s{}", self.draws.below(self.streams))
    }

    fn line(&mut self, line: &str) {
        writeln!(self.text, "{line}").expect("a text takes all");
    }

    fn name(&mut self, prefix: &str) -> String {
        self.named += 1;
        format!("{prefix}{}", self.named)
    }

    fn pool(&mut self) -> String {
        format!("p{}", self.draws.below(self.pools))
    }

    fn is_one_in(&mut self, many: u64) -> bool {
        self.draws.below(many) == 0
    }

    fn declare(&mut self) {
        self.line("scenario \"made up\"");
        if let Some(depth) = self.with.queue {
            self.line(&format!("profile {{ queue_depth = {depth} }}"));
        }
        let memory = [96, 128, 1024][self.draws.below(3) as usize];
        self.line(&format!("device gpu0 {{ memory = {memory}MiB }}"));
        for pool in 0..self.pools {
            let threshold = if self.is_one_in(3) { "0B" } else { "max" };
            let mut reuse = if self.with.is_off { vec![] } else { vec!["opportunistic"] };
            for flag in ["follow_event", "internal"] {
                if self.is_one_in(2) {
                    reuse.push(flag);
                }
            }
            if self.is_one_in(12) && !self.with.is_off {
                reuse.remove(0);
            }
            let limit = match self.draws.below(4) {
                0 => ", max_size = 64MiB",
                1 => ", max_size = 40MiB",
                _ => "",
            };
            let reuse = reuse.join(", ");
            self.line(&format!(
                "pool p{pool} on gpu0 {{ release_threshold = {threshold}, reuse = [{reuse}]{limit} }}"
            ));
        }
        let kinds = ["", " non_blocking"];
        for stream in 0..self.streams {
            let kind = kinds[self.draws.below(2) as usize];
            self.line(&format!("stream s{stream}{kind}"));
        }
        self.line("event e0, e1");
        self.line("kernel work(x: read_write) takes 1us");
        self.line("kernel tick() takes 1us");
    }

    fn alloc(&mut self) {
        let (name, stream, pool) = (self.name("x"), self.stream(), self.pool());
        let size = [4, 8, 8, 12, 16, 16, 24, 32][self.draws.below(8) as usize];
        self.line(&format!("{stream}: {name} = alloc {size}MiB from {pool} or_fails out_of_memory"));
        self.live.push(name);
    }

    fn free(&mut self) {
        let at = self.draws.below(self.live.len() as u64) as usize;
        let (name, stream) = (self.live.swap_remove(at), self.stream());
        self.line(&format!("{stream}: free {name}"));
    }

    fn memory_outside(&mut self) {
        if self.outside.is_empty() || self.is_one_in(2) {
            let name = self.name("m");
            self.line(&format!("{name} = malloc 32MiB or_fails out_of_memory"));
            self.outside.push(name);
        } else {
            let (name, stream) = (self.outside.remove(0), self.stream());
            self.line(&format!("{stream}: free {name}"));
        }
    }

    fn observe(&mut self) {
        let stream = self.stream();
        let event = self.draws.below(2);
        let pool = self.pool();
        match self.draws.below(9) {
            0 => self.line(&format!("query {stream} or_fails not_ready")),
            1 => self.line(&format!("query e{event} or_fails not_ready")),
            2 => self.line(&format!("sync {stream}")),
            3 => self.line(&format!("sync e{event}")),
            4 => self.line(&format!("poll {stream} until done")),
            5 => self.line(&format!("trim {pool} to 0B")),
            6 => self.line(&format!("trim {pool} to 32MiB")),
            7 => {
                let name = self.name("r");
                self.line(&format!("let {name} = {pool}.reserved"));
            }
            _ => {
                let name = self.name("r");
                self.line(&format!("let {name} = gpu0.free"));
            }
        }
    }

    fn by_signal(&mut self) {
        let stream = self.stream();
        match self.signal {
            [false, _] => self.line(&format!("{stream}: tick() until go")),
            [true, false] => self.line("signal go"),
            [true, true] => self.line(&format!("{stream}: tick()")),
        }
        self.signal = [true, self.signal[0]];
    }

    fn observe_streams(&mut self) {
        let stream = self.stream();
        match self.draws.below(3) {
            0 => self.line(&format!("sync {stream}")),
            1 => self.line(&format!("query {stream} or_fails not_ready")),
            _ => self.line(&format!("{stream}: tick()")),
        }
    }

    /// One line. `phase`: first memory is allocated, then freed, then asked for again and observed.
    fn step(&mut self, phase: usize, has_outside: bool) {
        let [allocates, frees, observes] = [[60, 5, 5], [10, 60, 10], [45, 10, 30]][phase];
        let stream = self.stream();
        let event = self.draws.below(2);
        let roll = self.draws.below(100);
        match roll {
            _ if self.with.signal && roll % 10 == 3 => self.by_signal(),
            _ if has_outside && roll.is_multiple_of(8) => self.memory_outside(),
            _ if roll < allocates => self.alloc(),
            _ if roll < allocates + frees && !self.live.is_empty() => self.free(),
            _ if roll < allocates + frees + observes => self.observe(),
            _ => match self.draws.below(4) {
                0 => self.line(&format!("{stream}: record e{event}")),
                1 => self.line(&format!("{stream}: wait e{event}")),
                2 if !self.live.is_empty() => {
                    let at = self.draws.below(self.live.len() as u64) as usize;
                    let name = self.live[at].clone();
                    self.line(&format!("{stream}: work({name})"));
                }
                _ => self.line(&format!("{stream}: tick()")),
            },
        }
    }
}

/// The program of a number, and its text.
pub(crate) fn program(number: u64) -> (Program, String) {
    let mut draws = Draws::new(number, 17);
    let streams = draws.between(2, 3);
    let pools = if draws.below(4) == 0 { 2 } else { 1 };
    let most = if streams == 2 { 7 } else { 6 };
    let phases = [0, 1, 2].map(|_| draws.between(2, most));
    let has_outside = draws.below(4) == 0;
    let mut maker = Maker::new(draws, streams, pools);
    maker.declare();
    for (phase, steps) in phases.into_iter().enumerate() {
        for _ in 0..steps {
            maker.step(phase, has_outside);
        }
    }
    let text = maker.text;
    let (program, diagnostics) = millpond::load(&text, &Profile::default());
    (program.unwrap_or_else(|| panic!("{diagnostics:?}\n{text}")), text)
}

/// The program of a number with what the usual ones lack, one thing of it at least, and its text.
pub(crate) fn further(number: u64) -> (Program, String) {
    let mut draws = Draws::new(number, 20);
    let first = draws.below(5);
    let mut has = |nth| first == nth || draws.below(4) == 0;
    let [legacy, signal, destroys, queues, is_off] = [0, 1, 2, 3, 4].map(&mut has);
    let queue = queues.then(|| draws.between(1, 3));
    let phases = [0, 1, 2].map(|_| draws.between(2, 5));
    let mut maker = Maker::new(draws, 2, 1);
    maker.with = Further { legacy, signal, queue, is_off };
    maker.declare();
    for (phase, steps) in phases.into_iter().enumerate() {
        if phase == 2 && destroys {
            maker.line("let before = gpu0.free");
            maker.line("destroy p0");
            for nth in 0..steps {
                maker.line(&format!("let after{nth} = gpu0.free"));
                match maker.live.is_empty() || maker.is_one_in(3) {
                    true => maker.observe_streams(),
                    false => maker.free(),
                }
            }
            continue;
        }
        for _ in 0..steps {
            maker.step(phase, false);
        }
    }
    let text = maker.text;
    let (program, diagnostics) = millpond::load(&text, &Profile::default());
    (program.unwrap_or_else(|| panic!("{diagnostics:?}\n{text}")), text)
}

/// The program of a number with two more host threads that work on the same memory and give each other events, and its text.
pub(super) fn sharing(number: u64) -> (Program, String) {
    let mut draws = Draws::new(number, 21);
    let lengths = [draws.between(1, 4), draws.between(1, 4)];
    let mut maker = Maker::new(draws, 2, 1);
    maker.declare();
    (0..2).for_each(|_| maker.alloc());
    let shared = maker.live.clone();
    for (nth, length) in lengths.into_iter().enumerate() {
        maker.line(&format!("thread t{nth} {{"));
        for _ in 0..length {
            let (stream, event) = (maker.stream(), maker.draws.below(2));
            let name = shared[maker.draws.below(2) as usize].clone();
            match maker.draws.below(6) {
                0 => maker.line(&format!("{stream}: record e{event}")),
                1 => maker.line(&format!("{stream}: wait e{event}")),
                2 | 3 => maker.line(&format!("{stream}: work({name})")),
                // A block is freed by one thread only, since a name that is freed stands for nothing.
                4 if maker.live.contains(&shared[nth]) => {
                    maker.live.retain(|live| *live != shared[nth]);
                    maker.line(&format!("{stream}: free {} or_fails invalid_value", shared[nth]));
                }
                _ => maker.line(&format!("sync {stream}")),
            }
        }
        maker.line("}");
    }
    maker.line("join t0");
    maker.line("join t1");
    let text = maker.text;
    let (program, diagnostics) = millpond::load(&text, &Profile::default());
    (program.unwrap_or_else(|| panic!("{diagnostics:?}\n{text}")), text)
}

/// The program of a number with two more host threads of at most so many lines, and its text.
pub(super) fn threads(number: u64, most: u64) -> (Program, String) {
    let mut draws = Draws::new(number, 18);
    let lengths = [draws.between(1, most), draws.between(1, most)];
    let before = draws.between(1, 3);
    let mut maker = Maker::new(draws, 2, 1);
    maker.declare();
    (0..before).for_each(|_| maker.alloc());
    if maker.is_one_in(2) {
        maker.free();
    }
    let has_signal = maker.is_one_in(3);
    for (nth, length) in lengths.into_iter().enumerate() {
        // A name is one thread's only, so that no line depends on whether another one was carried out.
        let others = maker.live.split_off(maker.live.len() / (2 - nth));
        maker.line(&format!("thread t{nth} {{"));
        if has_signal && nth == 1 {
            maker.line("await go");
        }
        for _ in 0..length {
            let phase = maker.draws.below(3) as usize;
            maker.step(phase, false);
        }
        if has_signal && nth == 0 {
            maker.line("signal go");
        }
        maker.line("}");
        maker.live = others;
    }
    maker.line("join t0");
    maker.line("join t1");
    if maker.is_one_in(2) {
        maker.alloc();
    }
    let text = maker.text;
    let (program, diagnostics) = millpond::load(&text, &Profile::default());
    (program.unwrap_or_else(|| panic!("{diagnostics:?}\n{text}")), text)
}
