//! Data for programs: a header, one object an event, a verdict. Streamed, so that a long run needs no memory.
//!
//! Sizes are bytes and times are virtual nanoseconds, all as integers. The order of the fields never changes.

mod calls;
mod explanation;
mod graphs;
mod recovery;
mod verdict;

use crate::base::{Nanos, PoolId};
use crate::explore::Strategy;
use crate::explore::recover::Recovery;
use crate::oracle::Verdict;
use crate::report::Origin;
use crate::report::Told;
use crate::report::document::{Document, Notation};
use crate::report::names::Book;
use crate::report::text::Compared;
use crate::scenario::Program;
use crate::trace::{
    Account, Candidate, Cause, Deadlock, Decision, Detail, DeviceState, Event, Kind, Ledger, Operands,
    PendingFree, Policy, PoolPicture, PoolState, Refusal, Refusals, Sink, Ticket, Waiter,
};
use calls::{CallLine, call_line};
use graphs::{GraphPoolLine, NodeLine};
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::{self, Write};
pub(in crate::report) use verdict::OverlapLine;
use verdict::ending;

/// The version of this format. It grows with every change that a reader could notice.
pub const SCHEMA: u32 = 3;

/// The sink that writes a line an event: JSON lines, or the same as one RON document.
#[derive(Debug)]
pub struct Lines<'p, W> {
    book: Book<'p>,
    document: Document<W>,
    /// Whether the run was made on hardware, which does not tell all that a simulation knows.
    is_of_hardware: bool,
}

impl<'p, W: Write> Lines<'p, W> {
    /// Writes the header.
    pub fn new(program: &'p Program, origin: &Origin, notation: Notation, out: W) -> Self {
        let header = Header {
            schema: SCHEMA,
            millpond: env!("CARGO_PKG_VERSION"),
            scenario: &program.title,
            variant: program.variant.as_deref(),
            path: &origin.path,
            model: &origin.model,
            profile: &origin.profile,
            seed: origin.seed,
            jitter: Some(origin.jitter).filter(|percent| *percent > 0),
            strategy: Some(origin.strategy).filter(|one| *one != Strategy::Random).map(|one| one.to_string()),
            untimed: origin.untimed.then_some(true),
            hardware: origin.hardware.as_deref(),
        };
        let document = Document::new(notation, &header, "events", out);
        Self { book: Book::new(program), document, is_of_hardware: origin.hardware.is_some() }
    }

    /// Writes the verdict, with what there is to tell about each of its findings.
    ///
    /// # Errors
    ///
    /// The first write that failed.
    pub fn finish(
        self,
        end: Nanos,
        verdict: &Verdict,
        told: &[Told<'_>],
        recovery: &Recovery,
        compared: &Compared,
    ) -> io::Result<W> {
        let line = ending(&self.book, end, verdict, told, recovery, compared);
        self.document.finish(Some(("verdict", &line)))
    }
}

impl<W: Write> Sink for Lines<'_, W> {
    fn wants(&self, detail: Detail) -> bool {
        detail != Detail::Order
    }

    fn event(&mut self, event: &Event<'_>) {
        let Some(body) = body(&self.book, event, self.is_of_hardware) else { return };
        // Of a decision, the names before it matter: whose bytes it takes. Of a free, too.
        let line = Line {
            at: event.at.0,
            line: self.book.line(event.stmt),
            thread: (event.host.index() > 0).then(|| self.book.thread(event.host)),
            operation: event.ticket.map(|ticket| operation(&self.book, ticket)),
            body,
        };
        self.document.element(&line);
        self.book.event(event);
    }
}

#[derive(Serialize)]
struct Header<'a> {
    schema: u32,
    millpond: &'a str,
    scenario: &'a str,
    /// Missing for the scenario as it stands.
    #[serde(skip_serializing_if = "Option::is_none")]
    variant: Option<&'a str>,
    path: &'a str,
    model: &'a str,
    profile: &'a str,
    seed: u64,
    /// Missing where nothing constant varies.
    #[serde(skip_serializing_if = "Option::is_none")]
    jitter: Option<u8>,
    /// Missing where each choice is drawn for itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    strategy: Option<String>,
    /// Missing where durations are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    untimed: Option<bool>,
    /// Missing in a simulation.
    #[serde(skip_serializing_if = "Option::is_none")]
    hardware: Option<&'a str>,
}

#[derive(Serialize)]
struct Line<'a> {
    at: u64,
    line: u32,
    /// Missing for the thread that begins the program.
    #[serde(skip_serializing_if = "Option::is_none")]
    thread: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    operation: Option<Operation<'a>>,
    #[serde(flatten)]
    body: Body<'a>,
}

/// An operation: its stream, and its place in it.
#[derive(Serialize)]
struct Operation<'a> {
    stream: &'a str,
    seq: u32,
}

#[derive(Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum Body<'a> {
    Call {
        text: &'a str,
        call: CallLine<'a>,
    },
    Submitted,
    Waits {
        on: Operation<'a>,
        cause: &'static str,
    },
    Start,
    End,
    Decided(DecisionLine<'a>),
    Refused {
        by: Vec<RefusalLine<'a>>,
        by_timing: bool,
    },
    Named {
        block: &'a str,
    },
    Failed {
        failure: &'static str,
    },
    Account {
        pool: &'a str,
        ledger: LedgerLine,
        pending: Vec<PendingLine<'a>>,
        fragmented: u64,
        other_pools: u64,
        outside: u64,
        room: u64,
    },
    OutOfReach {
        pool: &'a str,
        device: &'a str,
        access: &'static str,
    },
    OtherDevice {
        name: &'a str,
        home: &'a str,
        device: &'a str,
    },
    Seen {
        seen: &'a [u32],
    },
    Synchronised {
        observed: &'a [u32],
    },
    Released {
        pool: &'a str,
        bytes: u64,
    },
    State {
        pool: &'a str,
        state: StateLine,
    },
    Returned {
        device: &'a str,
        bytes: u64,
        freed: Operation<'a>,
    },
    Freed {
        block: String,
        serial: u32,
    },
    Device {
        device: &'a str,
        state: DeviceLine,
    },
    Node(NodeLine<'a>),
    GraphPool(GraphPoolLine<'a>),
    Value {
        value: i128,
    },
    Expect {
        operands: OperandsLine,
    },
    Snapshot {
        name: &'a str,
        #[serde(flatten)]
        pictures: Simulated<PicturesPart<'a>>,
    },
    Skipped {
        block: &'a str,
    },
    Deadlock {
        waiters: Vec<WaiterLine<'a>>,
        cycle: bool,
    },
}

#[derive(Serialize)]
struct DecisionLine<'a> {
    serial: u32,
    address: u64,
    size: u64,
    requested: u64,
    #[serde(flatten)]
    policy: Simulated<PolicyPart>,
    /// Whose bytes it took.
    reuses: Option<String>,
    #[serde(flatten)]
    means: Simulated<MeansPart<'a>>,
}

/// Fields that only a simulation knows; missing on hardware.
type Simulated<T> = Option<T>;

/// The class that has served an allocation.
#[derive(Serialize)]
struct PolicyPart {
    policy: Option<&'static str>,
}

/// What an allocation took beside the memory that was there.
#[derive(Serialize)]
struct MeansPart<'a> {
    waits: Vec<Operation<'a>>,
    mapped: u64,
    unmapped: u64,
}

#[derive(Serialize)]
struct RefusalLine<'a> {
    policy: &'static str,
    reason: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    block: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    freed: Option<Operation<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    room: Option<u64>,
}

#[derive(Serialize)]
struct LedgerLine {
    live: u64,
    padding: u64,
    pending: u64,
    cached: u64,
    unused: u64,
}

#[derive(Serialize)]
struct PendingLine<'a> {
    stream: &'a str,
    bytes: u64,
    frees: Vec<PendingFreeLine>,
}

/// The pending bytes of the frees of one statement.
#[derive(Serialize)]
struct PendingFreeLine {
    line: u32,
    bytes: u64,
    times: u64,
}

#[derive(Serialize)]
struct StateLine {
    reserved: u64,
    reserved_high: u64,
    used: u64,
    used_high: u64,
    #[serde(flatten)]
    inside: Simulated<InsidePart>,
    release_threshold: u64,
    follow_event: bool,
    opportunistic: bool,
    internal: bool,
}

/// Where the bytes of a pool are, and what it has done for them.
#[derive(Serialize)]
struct InsidePart {
    maps: u64,
    unmaps: u64,
    #[serde(flatten)]
    ledger: LedgerLine,
}

#[derive(Serialize)]
struct DeviceLine {
    memory: u64,
    pools: u64,
    outside: u64,
    leaving: u64,
    free: u64,
    beyond: u64,
}

/// All pools at a snapshot.
#[derive(Serialize)]
struct PicturesPart<'a> {
    pools: Vec<PictureLine<'a>>,
    graph_pools: Vec<GraphPoolLine<'a>>,
}

#[derive(Serialize)]
struct PictureLine<'a> {
    pool: &'a str,
    state: StateLine,
    fragmented: u64,
    blocks: usize,
}

#[derive(Serialize)]
#[serde(untagged)]
enum OperandsLine {
    Values { left: i128, right: i128 },
    Placements { subject: Option<u64>, object: Option<u64> },
    Ended { ended: &'static str },
    Readiness { readiness: &'static str },
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum WaiterLine<'a> {
    Host(&'a str),
    Operation(Operation<'a>),
    Signal(&'a str),
    Parts(&'a str),
    Barrier(&'a str),
}

fn operation<'p>(book: &Book<'p>, ticket: Ticket) -> Operation<'p> {
    Operation { stream: book.stream(ticket.stream), seq: ticket.seq }
}

/// `None`: what is told elsewhere.
fn body<'a>(book: &Book<'a>, event: &Event<'a>, is_of_hardware: bool) -> Option<Body<'a>> {
    let program: &'a Program = book.program;
    let names = &program.names;
    Some(match event.kind {
        Kind::Met | Kind::Ordered { .. } | Kind::Grown { .. } => return None,
        Kind::Call(call) => {
            Body::Call { text: &program.statements[event.stmt].text, call: call_line(book, call) }
        }
        Kind::Submitted(_) => Body::Submitted,
        Kind::Waits { on, cause } => Body::Waits { on: operation(book, on), cause: cause_name(cause) },
        Kind::Start => Body::Start,
        Kind::End => Body::End,
        Kind::Decided(decision) => Body::Decided(decision_line(book, decision, is_of_hardware)),
        Kind::Refused(refusals) => {
            Body::Refused { by: refusal_lines(book, refusals), by_timing: refusals.by_timing }
        }
        Kind::Named(buffer) => Body::Named { block: &names.buffers[buffer] },
        Kind::Failed { failure, .. } => Body::Failed { failure: failure.name() },
        Kind::Account { pool, account } => account_line(book, pool, account),
        Kind::OutOfReach { pool, device, reach } => Body::OutOfReach {
            pool: &names.pools[pool],
            device: &names.devices[device],
            access: reach.name(),
        },
        Kind::OtherDevice { event, home, device } => Body::OtherDevice {
            name: &names.events[event],
            home: &names.devices[home],
            device: &names.devices[device],
        },
        Kind::Seen { seen } => Body::Seen { seen },
        Kind::Synchronised { observed } => Body::Synchronised { observed },
        Kind::Released { pool, bytes } => Body::Released { pool: &names.pools[pool], bytes: bytes.0 },
        Kind::State { pool, state } => {
            Body::State { pool: &names.pools[pool], state: state_line(state, is_of_hardware) }
        }
        Kind::Returned { device, bytes, freed } => {
            Body::Returned { device: &names.devices[device], bytes: bytes.0, freed: operation(book, freed) }
        }
        Kind::Freed(alloc) => Body::Freed { block: book.block(alloc), serial: alloc.serial },
        Kind::Device { device, state } => {
            Body::Device { device: &names.devices[device], state: device_line(*state) }
        }
        Kind::Node { call, alloc } => Body::Node(graphs::node_line(book, call, alloc)),
        Kind::GraphPool { device, state } => Body::GraphPool(graphs::pool_line(book, device, state)),
        Kind::Value(value) => Body::Value { value },
        Kind::Expect { operands, .. } => Body::Expect { operands: operands_line(operands) },
        Kind::Snapshot { snapshot, pools, graphs } => Body::Snapshot {
            name: &program.snapshots[snapshot].name,
            pictures: (!is_of_hardware).then(|| PicturesPart {
                pools: pools.iter().map(|pool| picture_line(book, pool)).collect(),
                graph_pools: graphs::pool_lines(book, graphs),
            }),
        },
        Kind::Skipped(buffer) => Body::Skipped { block: &names.buffers[buffer] },
        Kind::Deadlock(Deadlock { waiters, is_cycle, .. }) => {
            let waiters = waiters.iter().map(|waiter| waiter_line(book, waiter)).collect();
            Body::Deadlock { waiters, cycle: *is_cycle }
        }
    })
}

fn decision_line<'a>(book: &Book<'a>, decision: &Decision, is_of_hardware: bool) -> DecisionLine<'a> {
    DecisionLine {
        serial: decision.alloc.serial,
        address: decision.range.start,
        size: decision.range.size.0,
        requested: decision.requested.0,
        policy: (!is_of_hardware).then(|| PolicyPart { policy: decision.policy.map(Policy::name) }),
        reuses: decision.reuses.map(|alloc| book.block(alloc)),
        means: (!is_of_hardware).then(|| MeansPart {
            waits: decision.waits.iter().map(|wait| operation(book, *wait)).collect(),
            mapped: decision.mapped.0,
            unmapped: decision.unmapped.0,
        }),
    }
}

fn cause_name(cause: Cause) -> &'static str {
    match cause {
        Cause::Event => "event",
        Cause::Legacy => "legacy",
        Cause::Allocator => "allocator",
        Cause::Graph => "graph",
    }
}

fn account_line<'a>(book: &Book<'a>, pool: PoolId, account: &Account) -> Body<'a> {
    let names = &book.program.names;
    Body::Account {
        pool: &names.pools[pool],
        ledger: ledger_line(&account.ledger),
        pending: pending_lines(book, &account.pending),
        fragmented: account.fragmented.0,
        other_pools: account.other_pools.0,
        outside: account.outside.0,
        room: account.room.0,
    }
}

fn pending_lines<'a>(book: &Book<'a>, pending: &[PendingFree]) -> Vec<PendingLine<'a>> {
    let mut lines: Vec<PendingLine<'a>> = Vec::new();
    for of_stream in pending.chunk_by(|one, next| one.at.stream == next.at.stream) {
        let mut frees: BTreeMap<u32, PendingFreeLine> = BTreeMap::new();
        for free in of_stream {
            let freed = book.known(free.alloc).and_then(|known| known.freed);
            let Some(line) = freed.map(|freed| book.line(freed.stmt)) else { continue };
            let sum = frees.entry(line).or_insert(PendingFreeLine { line, bytes: 0, times: 0 });
            sum.bytes = sum.bytes.saturating_add(free.bytes.0);
            sum.times += 1;
        }
        let bytes = of_stream.iter().map(|free| free.bytes.0).fold(0, u64::saturating_add);
        let stream = book.stream(of_stream[0].at.stream);
        lines.push(PendingLine { stream, bytes, frees: frees.into_values().collect() });
    }
    lines
}

fn refusal_lines<'a>(book: &Book<'a>, refusals: &Refusals) -> Vec<RefusalLine<'a>> {
    let refused =
        Policy::ALL.iter().zip(refusals.reasons).filter_map(|(policy, refusal)| Some((policy, refusal?)));
    let line = |(policy, refusal): (&Policy, Refusal)| {
        let (reason, candidate, room): (_, Option<Candidate>, _) = match refusal {
            Refusal::Off => ("off", None, None),
            Refusal::Absent => ("absent", None, None),
            Refusal::MaxSize => ("max_size", None, None),
            Refusal::NoFit => ("no_fit", None, None),
            Refusal::OtherStream(candidate) => ("other_stream", Some(candidate), None),
            Refusal::NotObserved(candidate) => ("not_observed", Some(candidate), None),
            Refusal::NotSynchronised(candidate) => ("not_synchronised", Some(candidate), None),
            Refusal::NotOrdered(candidate) => ("not_ordered", Some(candidate), None),
            Refusal::NotDone(candidate) => ("not_done", Some(candidate), None),
            Refusal::PoolCapacity(room) => ("pool_capacity", None, Some(room.0)),
            Refusal::Capacity(room) => ("capacity", None, Some(room.0)),
        };
        RefusalLine {
            policy: policy.name(),
            reason,
            block: candidate.map(|candidate| book.block(candidate.alloc)),
            freed: candidate.map(|candidate| operation(book, candidate.freed)),
            room,
        }
    };
    refused.map(line).collect()
}

fn ledger_line(ledger: &Ledger) -> LedgerLine {
    LedgerLine {
        live: ledger.live.0,
        padding: ledger.padding.0,
        pending: ledger.pending.0,
        cached: ledger.cached.0,
        unused: ledger.unused.0,
    }
}

fn state_line(state: &PoolState, is_of_hardware: bool) -> StateLine {
    StateLine {
        reserved: state.reserved.0,
        reserved_high: state.reserved_high.0,
        used: state.used.0,
        used_high: state.used_high.0,
        inside: (!is_of_hardware).then(|| InsidePart {
            maps: state.maps,
            unmaps: state.unmaps,
            ledger: ledger_line(&state.ledger),
        }),
        release_threshold: state.attributes.release_threshold.0,
        follow_event: state.attributes.reuse.follow_event,
        opportunistic: state.attributes.reuse.opportunistic,
        internal: state.attributes.reuse.internal,
    }
}

fn device_line(state: DeviceState) -> DeviceLine {
    DeviceLine {
        memory: state.memory.0,
        pools: state.pools.0,
        outside: state.outside.0,
        leaving: state.leaving.0,
        free: state.free().0,
        beyond: state.beyond().0,
    }
}

fn picture_line<'a>(book: &Book<'a>, picture: &PoolPicture) -> PictureLine<'a> {
    let program: &'a Program = book.program;
    PictureLine {
        pool: &program.names.pools[picture.pool],
        state: state_line(&picture.state, false),
        fragmented: picture.fragmented.0,
        blocks: picture.blocks.len(),
    }
}

fn operands_line(operands: &Operands) -> OperandsLine {
    match operands {
        Operands::Values { left, right } => OperandsLine::Values { left: *left, right: *right },
        Operands::Placements { subject, object } => OperandsLine::Placements {
            subject: subject.as_ref().map(|placement| placement.range.start),
            object: object.as_ref().map(|placement| placement.range.start),
        },
        Operands::Ended { ended, .. } => OperandsLine::Ended { ended: ended.name() },
        Operands::Readiness { readiness, .. } => OperandsLine::Readiness { readiness: readiness.name() },
    }
}

fn waiter_line<'a>(book: &Book<'a>, waiter: &Waiter) -> WaiterLine<'a> {
    let program: &'a Program = book.program;
    match waiter {
        Waiter::Host(host) => WaiterLine::Host(book.thread(*host)),
        Waiter::Operation(ticket) => WaiterLine::Operation(operation(book, *ticket)),
        Waiter::Signal(signal) => WaiterLine::Signal(&program.names.signals[*signal]),
        Waiter::Barrier(barrier) => WaiterLine::Barrier(&program.names.barriers[*barrier]),
        Waiter::Parts(collective) => WaiterLine::Parts(&program.names.collectives[*collective]),
    }
}
