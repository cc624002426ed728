//! Small random programs: what they are made of, how they are drawn, and their text.
//!
//! It knows nothing of what is wrong with them.

use millpond::base::Draws;
use std::fmt::Write;

/// What may stand before the operations: a line that declares a name, where one of them has it.
const HEAD: [(&str, &str); 10] = [
    (" host_pool", "pool host_pool on host { release_threshold = max, reuse = [] }\n"),
    (" host_pool", "grant host_pool to gpu0\n"),
    ("b[", "stream b[2]\n"),
    ("n[", "stream n[2] non_blocking\n"),
    ("e[", "event e[2]\n"),
    ("h", "host_buffer h 2MiB pinned\n"),
    (" one(", "kernel one(x: read) takes 1us..9us\n"),
    (" read_read(", "kernel read_read(x: read, y: read) takes 1us..9us\n"),
    (" read_write(", "kernel read_write(x: read, y: write) takes 1us..9us\n"),
    (" write_write(", "kernel write_write(x: write, y: write) takes 1us..9us\n"),
];
/// By what the pool of the device may give freed memory again, beside one stream and the host's eyes. Where it may do so with a
/// wait, it has room for no more than what lives at a time.
const REUSE: [&str; 3] = ["reuse = []", "reuse = [opportunistic]", "max_size = "];
/// All streams that a program may use.
const STREAMS: [&str; 5] = ["b[0]", "b[1]", "n[0]", "n[1]", "legacy"];
pub(super) const LEGACY: usize = 4;
/// All buffers that a program may use: two of a device, one of a pool that the host reaches, one outside of pools, and the
/// host's own.
pub(super) const BUFFERS: [&str; 5] = ["x", "y", "z", "managed", "h"];
const MANAGED: usize = 3;
const OWN: usize = 4;
/// How many operations a program has at most.
pub(super) const OPERATIONS_MAX: usize = 9;

/// A use of bytes of a buffer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Use {
    pub(super) buffer: usize,
    /// The first byte, and the one after the last.
    pub(super) part: (u32, u32),
    pub(super) writes: bool,
}

/// What the host waits for, or asks about.
#[derive(Clone, Copy, Debug)]
pub(super) enum Target {
    Stream(usize),
    Event(usize),
    Device,
}

/// What a line of a program does.
#[derive(Clone, Debug)]
pub(super) enum Action {
    Alloc(usize),
    Free(usize),
    /// A kernel in a stream, or the host itself.
    Use(Vec<Use>),
    /// A copy that the host waits for, in the legacy default stream.
    Copy([Use; 2]),
    Record(usize),
    Wait(usize),
    Sync(Target),
    Poll(Target),
    Query(Target),
    /// Long enough for everything that may start to be done.
    Sleep,
    Signal,
    Await,
}

/// Which host thread makes a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Thread {
    /// The first one, before it starts the second one.
    Alone,
    Second,
    /// The first one, since then.
    First,
}

/// A line: what it does, and in which stream; `None`: the host does it.
#[derive(Clone, Debug)]
pub(super) struct Operation {
    pub(super) thread: Thread,
    pub(super) stream: Option<usize>,
    pub(super) action: Action,
}

/// The lines of a program, of both threads in the order of the text or in that of the calls.
#[derive(Clone, Debug, Default)]
pub(super) struct Small {
    pub(super) operations: Vec<Operation>,
    /// Which of the ways.
    pub(super) reuse: usize,
}

/// Whether operations of the two streams follow each other in the order of their calls: one stream, or the legacy default
/// stream and a blocking one (CUDA driver API, "Stream synchronization behavior").
pub(super) fn are_one_queue(one: usize, other: usize) -> bool {
    let is_blocking = |stream: usize| STREAMS[stream].starts_with('b');
    one == other || (one == LEGACY && is_blocking(other)) || (other == LEGACY && is_blocking(one))
}

impl Small {
    /// The text.
    pub(super) fn text(&self) -> String {
        let body = self.body();
        Self::head(&body) + &self.pool() + &body
    }

    fn pool(&self) -> String {
        let is_used = |buffer: &usize| {
            let is_alloc =
                |operation: &Operation| matches!(operation.action, Action::Alloc(of) if of == *buffer);
            self.operations.iter().any(is_alloc)
        };
        let room = match self.reuse {
            2 => format!("{}MiB", 2 * (0..2).filter(is_used).count().max(1)),
            _ => String::new(),
        };
        format!("pool device_pool {{ release_threshold = max, {}{room} }}\n", REUSE[self.reuse])
    }

    fn head(body: &str) -> String {
        HEAD.iter().filter(|(word, _)| body.contains(word)).map(|(_, line)| *line).collect()
    }

    fn body(&self) -> String {
        let mut text = String::new();
        let mut thread = Thread::Alone;
        for operation in &self.operations {
            let before = std::mem::replace(&mut thread, operation.thread);
            if before != thread {
                text += if before == Thread::Second { "}\n" } else { "" };
                text += if thread == Thread::Second { "thread other {\n" } else { "" };
            }
            let is_copy = matches!(operation.action, Action::Copy(_));
            if let Some(stream) = operation.stream.filter(|_| !is_copy) {
                let _ = write!(text, "{}: ", STREAMS[stream]);
            }
            let _ = writeln!(text, "{}", operation.words());
        }
        text += if thread == Thread::Second { "}\n" } else { "" };
        text += if self.has(Thread::Second) { "join other\n" } else { "" };
        text
    }

    /// Lets one thread wait for the other one, in place of two lines.
    fn meet(&mut self, draws: &mut Draws) {
        let mut of = |thread| {
            let lines =
                self.operations.iter().enumerate().filter(|(_, operation)| operation.thread == thread);
            let lines: Vec<usize> = lines.map(|(nth, _)| nth).collect();
            (!lines.is_empty()).then(|| lines[draws.below(lines.len() as u64) as usize])
        };
        let (Some(one), Some(other)) = (of(Thread::First), of(Thread::Second)) else { return };
        for (nth, action) in [(one.min(other), Action::Signal), (one.max(other), Action::Await)] {
            self.operations[nth].stream = None;
            self.operations[nth].action = action;
        }
    }

    fn has(&self, thread: Thread) -> bool {
        self.operations.iter().any(|operation| operation.thread == thread)
    }

    /// The operation in a line of the text, if it has one.
    pub(super) fn at_line(&self, line: u32) -> Option<usize> {
        let head = Self::head(&self.body()).lines().count() + 1;
        let lines = self.operations.iter().enumerate().map(|(nth, operation)| match operation.thread {
            Thread::Alone => nth,
            Thread::Second => nth + 1,
            Thread::First => nth + 2 * usize::from(self.has(Thread::Second)),
        });
        lines.into_iter().position(|nth| head + nth + 1 == line as usize)
    }

    /// Whether the text has no mistake: buffers are used once they are allocated, and not allocated while they live; a signal
    /// is awaited, and an awaited one is given.
    pub(super) fn is_sound(&self) -> bool {
        let are = |is: fn(&Action) -> bool| self.operations.iter().any(|operation| is(&operation.action));
        if are(|action| matches!(action, Action::Signal)) != are(|action| matches!(action, Action::Await)) {
            return false;
        }
        let (mut known, mut live) = ([false, false, false, false, true], [false; BUFFERS.len()]);
        self.operations.iter().all(|operation| match &operation.action {
            Action::Alloc(buffer) => {
                known[*buffer] = true;
                !std::mem::replace(&mut live[*buffer], true)
            }
            Action::Free(buffer) => {
                live[*buffer] = false;
                known[*buffer]
            }
            _ => operation.uses().iter().all(|one| known[one.buffer]),
        })
    }
}

impl Operation {
    /// The bytes that it uses.
    pub(super) fn uses(&self) -> &[Use] {
        match &self.action {
            Action::Use(uses) => uses,
            Action::Copy(uses) => uses,
            _ => &[],
        }
    }

    fn words(&self) -> String {
        let target = |target: &Target| match target {
            Target::Stream(stream) => STREAMS[*stream].to_owned(),
            Target::Event(event) => format!("e[{event}]"),
            Target::Device => "device".to_owned(),
        };
        match &self.action {
            Action::Alloc(MANAGED) => "managed = malloc 2MiB managed".to_owned(),
            Action::Alloc(2) => "z = alloc 2MiB from host_pool".to_owned(),
            Action::Alloc(buffer) => format!("{} = alloc 2MiB from device_pool", BUFFERS[*buffer]),
            Action::Free(buffer) => format!("free {}", BUFFERS[*buffer]),
            Action::Use(uses) => match (self.stream, uses.as_slice()) {
                (None, uses) => {
                    format!("{} {}", if uses[0].writes { "write" } else { "read" }, uses[0].words())
                }
                (_, [one]) if one.writes => format!("memset {} takes 3us", one.words()),
                (_, [one]) => format!("one({})", one.words()),
                (_, uses) => {
                    let name = ["read_read", "read_write", "write_write"];
                    let writes = uses.iter().filter(|one| one.writes).count();
                    format!("{}({}, {})", name[writes], uses[0].words(), uses[1].words())
                }
            },
            Action::Copy([from, to]) => format!("copy {} from {} takes 3us", to.words(), from.words()),
            Action::Record(event) => format!("record e[{event}]"),
            Action::Wait(event) => format!("wait e[{event}]"),
            Action::Sync(of) => format!("sync {}", target(of)),
            Action::Poll(of) => format!("poll {} until done", target(of)),
            Action::Query(of) => format!("query {} or_fails not_ready", target(of)),
            Action::Sleep => "sleep 1ms".to_owned(),
            Action::Signal => "signal go".to_owned(),
            Action::Await => "await go".to_owned(),
        }
    }
}

impl Use {
    fn words(&self) -> String {
        let name = BUFFERS[self.buffer];
        match self.part {
            (0, 1024) => name.to_owned(),
            (start, end) => format!("{name}[{}KiB..{}KiB]", 2 * start, 2 * end),
        }
    }
}

/// Draws a program. Some are careful about order, some are not.
pub(super) struct Maker<'d> {
    draws: &'d mut Draws,
    small: Small,
    /// The streams that it uses; the first one most.
    streams: Vec<usize>,
    /// The buffers that it uses, with the stream that last did something to each.
    buffers: Vec<(usize, Option<usize>)>,
    known: [bool; BUFFERS.len()],
    live: [bool; BUFFERS.len()],
    /// Out of 10: how often it stays in its stream, and how often it orders streams where it goes to another one.
    loyalty: u64,
    care: u64,
    thread: Thread,
}

impl<'d> Maker<'d> {
    pub(super) fn make(draws: &'d mut Draws) -> Small {
        let mut streams = Vec::new();
        let count = draws.between(2, 4) as usize;
        while streams.len() < count {
            let stream = draws.below(STREAMS.len() as u64) as usize;
            if !streams.contains(&stream) {
                streams.push(stream);
            }
        }
        let mut buffers: Vec<(usize, Option<usize>)> = Vec::new();
        let count = draws.between(1, 2) as usize;
        while buffers.len() < count {
            let buffer = [0, 0, 1, 2, MANAGED, MANAGED, OWN][draws.below(7) as usize];
            if buffers.iter().all(|(known, _)| *known != buffer) {
                buffers.push((buffer, None));
            }
        }
        let loyalty = [0, 5, 8][draws.below(3) as usize];
        let care = [0, 4, 8, 10][draws.below(4) as usize];
        let (known, live) = ([false, false, false, false, true], [false; BUFFERS.len()]);
        let length = draws.between(5, OPERATIONS_MAX as u64) as usize;
        let small = Small { operations: Vec::new(), reuse: draws.below(3) as usize };
        let thread = Thread::Alone;
        let mut maker = Maker { draws, small, streams, buffers, known, live, loyalty, care, thread };
        let alone = if maker.one_in(3) { maker.draws.between(1, 3) as usize } else { length };
        while maker.small.operations.len() < length {
            if maker.small.operations.len() >= alone {
                maker.thread = if maker.one_in(2) { Thread::First } else { Thread::Second };
            }
            maker.step();
        }
        let mut small = maker.small;
        small.operations.truncate(length);
        if alone < length && draws.below(2) == 0 {
            small.meet(draws);
        }
        small.operations.sort_by_key(|operation| operation.thread);
        small
    }

    fn one_in(&mut self, count: u64) -> bool {
        self.draws.below(count) == 0
    }

    fn push(&mut self, stream: Option<usize>, action: Action) {
        self.small.operations.push(Operation { thread: self.thread, stream, action });
    }

    fn any_stream(&mut self) -> usize {
        let nth =
            if self.draws.below(10) < self.loyalty { 0 } else { self.draws.below(self.streams.len() as u64) };
        self.streams[nth as usize]
    }

    fn any_event(&mut self) -> usize {
        self.draws.below(2) as usize
    }

    fn any_target(&mut self) -> Target {
        match self.draws.below(2) {
            0 => Target::Event(self.any_event()),
            _ => Target::Stream(self.any_stream()),
        }
    }

    /// One more line, or with an order before it up to three.
    fn step(&mut self) {
        let nth = self.draws.below(self.buffers.len() as u64) as usize;
        let (buffer, last) = self.buffers[nth];
        if !self.known[buffer] && self.thread == Thread::Alone {
            return self.alloc(nth);
        }
        if !self.known[buffer] {
            // Only the first thread allocates, and only as long as it is alone.
            let (stream, event) = (self.any_stream(), self.any_event());
            return self.push(Some(stream), Action::Record(event));
        }
        let is_gone = buffer < 2 && !self.live[buffer] && self.small.reuse > 0;
        if is_gone && self.thread == Thread::Alone && self.one_in(2) {
            return self.alloc(nth);
        }
        match self.draws.below(20) {
            0..4 if buffer != OWN => self.free(nth, last),
            4..14 => self.touch(nth, last),
            14 => {
                let (stream, event) = (self.any_stream(), self.any_event());
                self.push(Some(stream), Action::Record(event));
            }
            15 => {
                let (stream, event) = (self.any_stream(), self.any_event());
                self.push(Some(stream), Action::Wait(event));
            }
            16 => {
                let target = if self.one_in(4) { Target::Device } else { self.any_target() };
                self.push(None, Action::Sync(target));
            }
            17 if self.thread == Thread::Alone => {
                let target = self.any_target();
                self.push(None, Action::Poll(target));
            }
            _ if !self.live[buffer] && buffer != OWN && self.thread == Thread::Alone => self.alloc(nth),
            _ => {}
        }
    }

    fn alloc(&mut self, nth: usize) {
        let buffer = self.buffers[nth].0;
        if self.small.reuse > 0 && self.known[buffer] && self.one_in(3) {
            self.push(None, Action::Sleep);
        }
        let stream = (buffer != MANAGED).then(|| self.any_stream());
        self.push(stream, Action::Alloc(buffer));
        (self.known[buffer], self.live[buffer]) = (true, true);
        self.buffers[nth].1 = stream;
    }

    /// Frees; of what is freed already, seldom.
    fn free(&mut self, nth: usize, last: Option<usize>) {
        let buffer = self.buffers[nth].0;
        if !self.live[buffer] && !self.one_in(3) {
            return;
        }
        let by_host = self.one_in(4);
        let stream = (!by_host).then(|| self.any_stream());
        self.order(last, stream);
        self.push(stream, Action::Free(buffer));
        self.live[buffer] = false;
    }

    /// Uses; what is freed already, seldom.
    fn touch(&mut self, nth: usize, last: Option<usize>) {
        let (buffer, freed) = (self.buffers[nth].0, !self.live[self.buffers[nth].0]);
        if freed && buffer != OWN && !self.one_in(4) {
            return;
        }
        if self.one_in(8) && self.copy(nth, last) {
            return;
        }
        let by_host = buffer >= 2 && self.one_in(3);
        let stream = (!by_host).then(|| self.any_stream());
        let mut uses = vec![self.a_use(buffer)];
        let other = self.buffers[self.draws.below(self.buffers.len() as u64) as usize].0;
        if !by_host && self.known[other] && self.one_in(3) {
            uses.push(self.a_use(other));
            uses.sort_by_key(|one| one.writes);
        }
        self.order(last, stream);
        self.push(stream, Action::Use(uses));
        if stream.is_some() {
            self.buffers[nth].1 = stream;
        }
    }

    /// Copies half of the buffer to or from half of another one of those for which the host waits.
    fn copy(&mut self, nth: usize, last: Option<usize>) -> bool {
        let buffer = self.buffers[nth].0;
        let other =
            self.buffers.iter().map(|(other, _)| *other).find(|other| {
                *other != buffer && self.known[*other] && (*other >= MANAGED || buffer >= MANAGED)
            });
        let Some(other) = other else { return false };
        let (from, to) = if self.one_in(2) { (buffer, other) } else { (other, buffer) };
        let mut half = |buffer, writes| {
            let part = if self.one_in(2) { (0, 512) } else { (512, 1024) };
            Use { buffer, part, writes }
        };
        let uses = [half(from, false), half(to, true)];
        self.order(last, Some(LEGACY));
        self.push(Some(LEGACY), Action::Copy(uses));
        self.buffers[nth].1 = None;
        true
    }

    fn a_use(&mut self, buffer: usize) -> Use {
        let part = [(0, 1024), (0, 1024), (0, 512), (512, 1024), (256, 768)][self.draws.below(5) as usize];
        Use { buffer, part, writes: self.one_in(2) }
    }

    /// Orders a stream, or the host, after another stream: mostly rightly.
    fn order(&mut self, from: Option<usize>, to: Option<usize>) {
        let Some(from) = from else { return };
        if Some(from) == to || self.draws.below(10) >= self.care {
            return;
        }
        match to {
            Some(to) if !self.one_in(4) => {
                let event = self.any_event();
                self.push(Some(from), Action::Record(event));
                self.push(Some(to), Action::Wait(event));
            }
            _ => match self.draws.below(6) {
                0 if self.thread == Thread::Alone => self.push(None, Action::Poll(Target::Stream(from))),
                1 | 2 => {
                    self.push(None, Action::Sleep);
                    self.push(None, Action::Query(Target::Stream(from)));
                }
                _ => self.push(None, Action::Sync(Target::Stream(from))),
            },
        }
    }
}
