//! What a made-up scenario consists of: its declarations, and its calls in an order in which they can be made.
//!
//! It must not know why a call is there, nor how it is written.

use crate::trace::{Access, StreamKind};

/// How many host threads there are at a time. The first one is there all the time.
pub(super) const SLOTS: usize = 3;
/// The place of the first host thread.
pub(super) const MAIN: usize = 0;
/// The pool of the device, which needs no declaration.
pub(super) const DEFAULT_POOL: usize = 0;

/// What the host waits for, or asks about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    Stream(usize),
    Event(usize),
    Device,
}

/// Bytes of a buffer, and what is done to them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Use {
    pub(super) buffer: usize,
    /// The first byte, and the one after the last.
    pub(super) part: (u64, u64),
    pub(super) access: Access,
}

/// Whose memory a buffer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Home {
    Pool(usize),
    /// Of `malloc`.
    Outside,
    Managed,
    /// The host's own, which is there all the time.
    Pinned,
}

/// A buffer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Buffer {
    pub(super) size: u64,
    pub(super) home: Home,
}

/// How long something takes, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Takes {
    Constant(u64),
    Range(u64, u64),
    Uniform(u64, u64),
    /// A mean, and a deviation in percent.
    Around(u64, u64),
    /// A mean, and a standard deviation.
    Normal(u64, u64),
}

/// A kernel.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kernel {
    pub(super) name: &'static str,
    pub(super) parameters: &'static [(&'static str, Access)],
    pub(super) takes: Takes,
}

/// What a pool is declared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pool {
    /// Its release threshold; `None`: as CUDA sets it.
    pub(super) threshold: Option<u64>,
    /// Its reuse policies; `None`: as CUDA sets them.
    pub(super) reuse: Option<[bool; 3]>,
    /// Its maximum size.
    pub(super) max_size: Option<u64>,
}

/// A call that changes a pool.
#[derive(Clone, Copy, Debug)]
pub(super) enum Change {
    Trim(u64),
    Threshold(u64),
    Policy(usize, bool),
    ResetHigh(&'static str),
}

/// A stream.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stream {
    pub(super) kind: StreamKind,
    pub(super) has_priority: bool,
}

/// What a line does.
#[derive(Clone, Debug)]
pub(super) enum Call {
    Alloc {
        stream: usize,
        buffer: usize,
        pool: usize,
    },
    Malloc {
        buffer: usize,
    },
    /// By a stream, or by the host at once.
    Free {
        stream: Option<usize>,
        buffer: usize,
    },
    Launch {
        stream: usize,
        kernel: usize,
        uses: Vec<Use>,
        takes: Option<u64>,
    },
    Copy {
        stream: usize,
        to: Use,
        from: Use,
        takes: u64,
    },
    Memset {
        stream: usize,
        at: Use,
        takes: u64,
    },
    /// A function of the host in a stream, which may give a signal when it returns.
    HostFunction {
        stream: usize,
        takes: u64,
        uses: Vec<Use>,
        gives: Option<usize>,
    },
    /// The host itself.
    Touch(Use),
    Record {
        stream: usize,
        event: usize,
    },
    Wait {
        stream: usize,
        event: usize,
    },
    Sync(Target),
    Poll(Target),
    Query(Target),
    Sleep(u64),
    Change {
        pool: usize,
        change: Change,
    },
    Signal(usize),
    Await(usize),
    /// Starts the host thread of a place, under a name.
    Spawn {
        slot: usize,
        thread: usize,
    },
    Join {
        slot: usize,
        thread: usize,
    },
    /// Opens a loop of so many turns, which holds no other one.
    Repeat(u64),
    EndRepeat,
}

impl Call {
    /// Whether it counts as an operation of the scenario: what goes to a stream or to the host, but for what starts, joins and
    /// repeats.
    pub(super) fn counts(&self) -> bool {
        !matches!(self, Call::Spawn { .. } | Call::Join { .. } | Call::Repeat(_) | Call::EndRepeat)
    }

    /// The stream that it goes to.
    pub(super) fn stream(&self) -> Option<usize> {
        match self {
            Call::Alloc { stream, .. }
            | Call::Launch { stream, .. }
            | Call::Copy { stream, .. }
            | Call::Memset { stream, .. }
            | Call::HostFunction { stream, .. }
            | Call::Record { stream, .. }
            | Call::Wait { stream, .. } => Some(*stream),
            Call::Free { stream, .. } => *stream,
            _ => None,
        }
    }

    /// The bytes that it uses.
    pub(super) fn uses(&self) -> Vec<Use> {
        match self {
            Call::Launch { uses, .. } | Call::HostFunction { uses, .. } => uses.clone(),
            Call::Copy { to, from, .. } => vec![*from, *to],
            Call::Memset { at, .. } | Call::Touch(at) => vec![*at],
            _ => Vec::new(),
        }
    }
}

/// A call of a host thread.
#[derive(Clone, Debug)]
pub(super) struct Statement {
    pub(super) slot: usize,
    pub(super) call: Call,
    /// Whether others rely on it for room rather than for order, so that it has to stay.
    pub(super) stays: bool,
}

/// A scenario.
#[derive(Clone, Debug, Default)]
pub(super) struct Program {
    /// The memory of the device.
    pub(super) memory: u64,
    pub(super) streams: Vec<Stream>,
    pub(super) pools: Vec<Pool>,
    pub(super) kernels: Vec<Kernel>,
    pub(super) buffers: Vec<Buffer>,
    pub(super) events: usize,
    pub(super) threads: usize,
    pub(super) signals: usize,
    /// In an order in which they can be made; that of a thread is the order of its text.
    pub(super) statements: Vec<Statement>,
}

/// A statement in a turn of its loop, if it is in one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub(super) statement: usize,
    pub(super) in_loop: bool,
}

impl Program {
    /// The statements as often as they are made.
    pub(super) fn steps(&self) -> Vec<Step> {
        let mut steps = Vec::with_capacity(self.statements.len());
        let mut open: Option<(u64, usize)> = None;
        for (statement, made) in self.statements.iter().enumerate() {
            match made.call {
                Call::Repeat(turns) => open = Some((turns, steps.len())),
                Call::EndRepeat => {
                    let (turns, from) = open.take().unwrap_or((1, steps.len()));
                    let body: Vec<Step> = steps[from..].to_vec();
                    (1..turns).for_each(|_| steps.extend_from_slice(&body));
                }
                _ => steps.push(Step { statement, in_loop: open.is_some() }),
            }
        }
        steps
    }
}
