//! Writes a made-up scenario, in the usual form, with a comment where a mistake is and where it shows.

use super::plant::Edit;
use super::program::{Buffer, Call, Change, DEFAULT_POOL, Home, MAIN, Pool, Program, Takes, Target, Use};
use super::{Bugs, Options, Planted};
use crate::base::{Bytes, Nanos};
use crate::trace::{Access, StreamKind};
use std::fmt::Write;

/// The names of the reuse policies in settings and attributes.
const POLICIES: [&str; 3] = ["follow_event", "opportunistic", "internal"];

/// What a line stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Of {
    Statement(usize),
    /// What is added by, or missing since, an edit.
    Edit(usize),
    Nothing,
}

/// The lines of a text so far.
struct Writer<'p> {
    program: &'p Program,
    edits: &'p [Edit],
    lines: Vec<(String, Of)>,
}

/// The text, and where its mistakes are.
pub(super) fn write(program: &Program, options: &Options, edits: &[Edit]) -> (String, Vec<Planted>) {
    let mut writer = Writer { program, edits, lines: Vec::new() };
    writer.body();
    let body = std::mem::take(&mut writer.lines);
    writer.head(options, &body);
    writer.lines.extend(body);
    let raw: String = writer.lines.iter().map(|(line, _)| format!("{line}\n")).collect();
    let text = crate::syntax::format(&raw).unwrap_or(raw);
    let at = |of: Of| {
        let nth = writer.lines.iter().position(|(_, other)| *other == of);
        nth.map_or(0, |nth| nth as u32 + 1)
    };
    let planted = edits.iter().enumerate().map(|(nth, edit)| {
        let line = at(Of::Edit(nth));
        let found_at = edit.found_at.map_or(line, |statement| at(Of::Statement(statement)));
        Planted { mistake: edit.mistake, line, finding: edit.finding, found_at }
    });
    (text, planted.collect())
}

/// The command that makes it.
fn command(options: &Options) -> String {
    let Options { seed, operations, streams, bugs } = options;
    let bugs = match bugs {
        Bugs::None | Bugs::Rate(0) => String::new(),
        Bugs::Rate(rate) => format!(" --bugs {rate}"),
        Bugs::One(mistake) => format!(" --plant {mistake}"),
    };
    format!("millpond generate --seed {seed} --ops {operations} --streams {streams}{bugs}")
}

impl Writer<'_> {
    fn push(&mut self, line: impl Into<String>) {
        self.lines.push((line.into(), Of::Nothing));
    }

    /// The comment, the title and the declarations of what is used.
    fn head(&mut self, options: &Options, body: &[(String, Of)]) {
        let words: std::collections::BTreeSet<&str> = body
            .iter()
            .flat_map(|(line, _)| line.split(|c: char| !c.is_ascii_alphanumeric() && c != '_'))
            .collect();
        self.push(format!("# Made by: {}", command(options)));
        self.push(match self.edits.len() {
            0 => "# Nothing is wrong with it, whatever the timing is.".to_owned(),
            1 => "# 1 bug is planted in it: a comment says where it is, and where it shows.".to_owned(),
            several => {
                format!(
                    "# {several} bugs are planted in it: comments say where they are, and where they show."
                )
            }
        });
        self.push(format!("scenario \"made up, seed {}\"", options.seed));
        self.push("");
        self.push(format!("device gpu0 {{ memory = {} }}", Bytes(self.program.memory)));
        for (nth, pool) in self.program.pools.iter().enumerate().skip(1) {
            if words.contains(pool_name(nth).as_str()) {
                self.push(pool_line(nth, pool));
            }
        }
        self.streams(&words);
        let events: Vec<String> = (0..self.program.events).map(|event| format!("e{}", event + 1)).collect();
        let events: Vec<String> = events.into_iter().filter(|event| words.contains(event.as_str())).collect();
        for row in events.chunks(20) {
            self.push(format!("event {}", row.join(", ")));
        }
        for (number, Buffer { size, home }) in self.program.buffers.iter().enumerate() {
            let name = buffer_name(number, *home);
            if *home == Home::Pinned && words.contains(name.as_str()) {
                self.push(format!("host_buffer {name} {} pinned", Bytes(*size)));
            }
        }
        for kernel in self.program.kernels.iter().filter(|kernel| words.contains(kernel.name)) {
            let parameters = kernel.parameters.iter();
            let parameters = parameters.map(|(name, access)| format!("{name}: {}", word(*access)));
            let parameters = parameters.collect::<Vec<_>>().join(", ");
            self.push(format!("kernel {}({parameters}) takes {}", kernel.name, takes(kernel.takes)));
        }
        self.push("");
    }

    fn streams(&mut self, words: &std::collections::BTreeSet<&str>) {
        for (behind, kind, has_priority) in [
            ("", StreamKind::Blocking, false),
            (" priority -1", StreamKind::Blocking, true),
            (" non_blocking", StreamKind::NonBlocking, false),
            (" non_blocking priority -1", StreamKind::NonBlocking, true),
        ] {
            let streams = self.program.streams.iter().enumerate();
            let alike =
                streams.filter(|(_, stream)| (stream.kind, stream.has_priority) == (kind, has_priority));
            let names: Vec<String> = alike.map(|(nth, _)| self.stream(nth)).collect();
            let names: Vec<String> = names.into_iter().filter(|name| words.contains(name.as_str())).collect();
            for row in names.chunks(20) {
                self.push(format!("stream {}{behind}", row.join(", ")));
            }
        }
    }

    /// The statements: those of a host thread stand where it is started.
    fn body(&mut self) {
        let mut texts: Vec<Vec<(String, Of)>> = vec![Vec::new()];
        // Where in the text of the first thread the block of each place is to go.
        let mut places: Vec<(usize, usize)> = Vec::new();
        let mut open: [usize; super::program::SLOTS] = [0; super::program::SLOTS];
        for (nth, statement) in self.program.statements.iter().enumerate() {
            let lines = self.statement(nth, &statement.call);
            match statement.call {
                Call::Spawn { slot, .. } => {
                    open[slot] = texts.len();
                    places.push((texts[MAIN].len(), texts.len()));
                    texts.push(lines);
                }
                Call::Join { slot, .. } => {
                    texts[open[slot]].push(("}".to_owned(), Of::Nothing));
                    texts[MAIN].extend(lines);
                }
                _ => texts[open[statement.slot]].extend(lines),
            }
        }
        let main = std::mem::take(&mut texts[MAIN]);
        let mut places = places.into_iter().peekable();
        for (nth, line) in main.into_iter().enumerate() {
            while let Some((_, text)) = places.next_if(|(at, _)| *at == nth) {
                self.lines.append(&mut texts[text]);
            }
            self.lines.push(line);
        }
    }

    /// The line of a statement, with what is added before it, and with the comments.
    fn statement(&self, nth: usize, call: &Call) -> Vec<(String, Of)> {
        let mut lines = Vec::new();
        let mut line = self.call(call);
        let mut of = Of::Statement(nth);
        for (number, edit) in self.edits.iter().enumerate() {
            let bug = number + 1;
            if edit.statement == nth {
                match &edit.added {
                    Some(added) => {
                        let text = format!("{}  # bug {bug}: {}", self.call(added), edit.finding);
                        lines.push((text, Of::Edit(number)));
                    }
                    None => {
                        line = format!("# bug {bug}: \"{line}\" is missing here");
                        of = Of::Edit(number);
                    }
                }
            }
        }
        let shown = self.edits.iter().enumerate().filter(|(_, edit)| edit.found_at == Some(nth));
        let shown: Vec<String> =
            shown.map(|(number, edit)| format!("bug {}: {}", number + 1, edit.finding)).collect();
        if !shown.is_empty() {
            let _ = write!(line, "  # {}", shown.join(", "));
        }
        lines.push((line, of));
        lines
    }

    fn stream(&self, nth: usize) -> String {
        match self.program.streams[nth].kind {
            StreamKind::Legacy => "legacy".to_owned(),
            StreamKind::PerThread => "per_thread".to_owned(),
            StreamKind::Blocking | StreamKind::NonBlocking => format!("s{}", nth + 1),
        }
    }

    fn buffer(&self, buffer: usize) -> String {
        buffer_name(buffer, self.program.buffers[buffer].home)
    }

    fn used(&self, used: Use) -> String {
        let name = self.buffer(used.buffer);
        match used.part {
            (0, end) if end == self.program.buffers[used.buffer].size => name,
            (0, to) => format!("{name}[0..{}]", Bytes(to)),
            (from, to) => format!("{name}[{}..{}]", Bytes(from), Bytes(to)),
        }
    }

    fn target(&self, target: Target) -> String {
        match target {
            Target::Stream(stream) => self.stream(stream),
            Target::Event(event) => event_name(event),
            Target::Device => "device".to_owned(),
        }
    }

    fn call(&self, call: &Call) -> String {
        let words = self.words(call);
        match call.stream() {
            Some(stream) => format!("{}: {words}", self.stream(stream)),
            None => words,
        }
    }

    /// A call without its stream.
    fn words(&self, call: &Call) -> String {
        let size = |buffer: usize| Bytes(self.program.buffers[buffer].size);
        let list = |uses: &[Use]| uses.iter().map(|used| self.used(*used)).collect::<Vec<_>>().join(", ");
        match call {
            Call::Alloc { buffer, pool, .. } => {
                let from =
                    if *pool == DEFAULT_POOL { String::new() } else { format!(" from {}", pool_name(*pool)) };
                format!("{} = alloc {}{from}", self.buffer(*buffer), size(*buffer))
            }
            Call::Malloc { buffer } => {
                let is_managed = self.program.buffers[*buffer].home == Home::Managed;
                let behind = if is_managed { " managed" } else { "" };
                format!("{} = malloc {}{behind}", self.buffer(*buffer), size(*buffer))
            }
            Call::Free { buffer, .. } => format!("free {}", self.buffer(*buffer)),
            Call::Launch { kernel, uses, takes, .. } => {
                let name = self.program.kernels[*kernel].name;
                let takes = takes.map_or(String::new(), |takes| format!(" takes {}", Nanos(takes)));
                format!("{name}({}){takes}", list(uses))
            }
            Call::Copy { to, from, takes, .. } => {
                format!("copy {} from {} takes {}", self.used(*to), self.used(*from), Nanos(*takes))
            }
            Call::Memset { at, takes, .. } => format!("memset {} takes {}", self.used(*at), Nanos(*takes)),
            Call::HostFunction { takes, uses, gives, .. } => {
                let uses = uses.iter().map(|used| format!("{}: {}", self.used(*used), word(used.access)));
                let uses = uses.collect::<Vec<_>>().join(", ");
                let uses = if uses.is_empty() { uses } else { format!("({uses})") };
                let gives = gives.map_or(String::new(), |signal| format!(" signal {}", signal_name(signal)));
                format!("host{uses} takes {}{gives}", Nanos(*takes))
            }
            Call::Touch(used) => format!("{} {}", word(used.access), self.used(*used)),
            call => self.plain(call),
        }
    }

    /// A call that names no memory.
    fn plain(&self, call: &Call) -> String {
        match call {
            Call::Record { event, .. } => format!("record {}", event_name(*event)),
            Call::Wait { event, .. } => format!("wait {}", event_name(*event)),
            Call::Sync(target) => format!("sync {}", self.target(*target)),
            Call::Poll(target) => format!("poll {} until done", self.target(*target)),
            Call::Query(target) => format!("query {} or_fails not_ready", self.target(*target)),
            Call::Sleep(time) => format!("sleep {}", Nanos(*time)),
            Call::Change { pool, change } => {
                let pool = pool_name(*pool);
                match change {
                    Change::Trim(keep) => format!("trim {pool} to {}", bytes(*keep)),
                    Change::Threshold(threshold) => {
                        format!("set {pool}.release_threshold = {}", bytes(*threshold))
                    }
                    Change::Policy(policy, is_on) => {
                        format!("set {pool}.{} = {}", POLICIES[*policy], if *is_on { "on" } else { "off" })
                    }
                    Change::ResetHigh(mark) => format!("reset {pool}.{mark}"),
                }
            }
            Call::Signal(signal) => format!("signal {}", signal_name(*signal)),
            Call::Await(signal) => format!("await {}", signal_name(*signal)),
            Call::Spawn { thread, .. } => format!("thread t{thread} {{"),
            Call::Join { thread, .. } => format!("join t{thread}"),
            Call::Repeat(turns) => format!("repeat i in 0..{turns} {{"),
            _ => "}".to_owned(),
        }
    }
}

fn event_name(event: usize) -> String {
    format!("e{}", event + 1)
}

fn signal_name(signal: usize) -> String {
    format!("go{signal}")
}

fn pool_name(pool: usize) -> String {
    match pool {
        DEFAULT_POOL => "gpu0.default_pool".to_owned(),
        _ => format!("p{pool}"),
    }
}

fn buffer_name(buffer: usize, home: Home) -> String {
    let letter = match home {
        Home::Pool(_) => 'x',
        Home::Outside => 'y',
        Home::Managed => 'm',
        Home::Pinned => 'h',
    };
    format!("{letter}{}", buffer + 1)
}

fn bytes(size: u64) -> String {
    if size == u64::MAX { "max".to_owned() } else { Bytes(size).to_string() }
}

fn pool_line(nth: usize, pool: &Pool) -> String {
    let threshold = pool.threshold.map(|threshold| format!("release_threshold = {}", bytes(threshold)));
    let reuse = pool.reuse.map(|reuse| {
        let on = POLICIES.iter().zip(reuse).filter(|(_, is_on)| *is_on).map(|(name, _)| *name);
        format!("reuse = [{}]", on.collect::<Vec<_>>().join(", "))
    });
    let max_size = pool.max_size.map(|size| format!("max_size = {}", Bytes(size)));
    let settings: Vec<String> = [threshold, reuse, max_size].into_iter().flatten().collect();
    match settings.is_empty() {
        true => format!("pool {} on gpu0", pool_name(nth)),
        false => format!("pool {} on gpu0 {{ {} }}", pool_name(nth), settings.join(", ")),
    }
}

/// The word of the language for what is done to memory.
const fn word(access: Access) -> &'static str {
    match access {
        Access::Read => "read",
        Access::Write => "write",
        Access::ReadWrite => "read_write",
    }
}

fn takes(takes: Takes) -> String {
    match takes {
        Takes::Constant(time) => Nanos(time).to_string(),
        Takes::Range(from, to) => format!("{}..{}", Nanos(from), Nanos(to)),
        Takes::Uniform(from, to) => format!("uniform({}, {})", Nanos(from), Nanos(to)),
        Takes::Around(mean, percent) => format!("{} +- {percent}%", Nanos(mean)),
        Takes::Normal(mean, deviation) => format!("normal({}, {})", Nanos(mean), Nanos(deviation)),
    }
}
