//! Small random programs, in the language, for one host thread: memory that is split and merged, freed on other streams, trimmed,
//! asked about and short.

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
    recorded: Vec<bool>,
    named: u64,
}

impl Maker {
    fn stream(&mut self) -> String {
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
        let memory = [96, 128, 1024][self.draws.below(3) as usize];
        self.line(&format!("device gpu0 {{ memory = {memory}MiB }}"));
        for pool in 0..self.pools {
            let threshold = if self.is_one_in(3) { "0B" } else { "max" };
            let mut reuse = vec!["opportunistic"];
            for flag in ["follow_event", "internal"] {
                if self.is_one_in(2) {
                    reuse.push(flag);
                }
            }
            if self.is_one_in(12) {
                reuse.remove(0);
            }
            let limit = match self.draws.below(4) {
                0 => ", max_size = 64MiB",
                1 => ", max_size = 40MiB",
                _ => "",
            };
            let reuse = reuse.join(", ");
            self.line(&format!("pool p{pool} on gpu0 {{ release_threshold = {threshold}, reuse = [{reuse}]{limit} }}"));
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
        let size = [4, 8, 8, 16, 16, 24, 32][self.draws.below(7) as usize];
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

    fn step(&mut self, has_outside: bool) {
        let stream = self.stream();
        match self.draws.below(20) {
            0..=6 => self.alloc(),
            7..=11 if !self.live.is_empty() => self.free(),
            12 => {
                let event = self.draws.below(2);
                self.line(&format!("{stream}: record e{event}"));
                self.recorded[event as usize] = true;
            }
            13 => {
                let event = self.draws.below(2);
                self.line(&format!("{stream}: wait e{event}"));
            }
            14 if !self.live.is_empty() => {
                let at = self.draws.below(self.live.len() as u64) as usize;
                let name = self.live[at].clone();
                self.line(&format!("{stream}: work({name})"));
            }
            15..=16 => self.observe(),
            17 if has_outside => self.memory_outside(),
            _ => self.line(&format!("{stream}: tick()")),
        }
    }
}

/// The program of a number, and its text.
pub(super) fn program(number: u64) -> (Program, String) {
    let mut draws = Draws::new(number, 17);
    let (streams, pools) = (draws.between(2, 3), draws.between(1, 2));
    let steps = if streams == 2 { draws.between(6, 16) } else { draws.between(6, 12) };
    let has_outside = draws.below(4) == 0;
    let mut maker = Maker {
        draws,
        text: String::new(),
        streams,
        pools,
        live: Vec::new(),
        outside: Vec::new(),
        recorded: vec![false; 2],
        named: 0,
    };
    maker.declare();
    for _ in 0..steps {
        maker.step(has_outside);
    }
    let text = maker.text;
    let (program, diagnostics) = millpond::load(&text, &Profile::default());
    (program.unwrap_or_else(|| panic!("{diagnostics:?}\n{text}")), text)
}
