//! The objects of calls.

use super::graphs::graph_line;
use crate::report::names::Book;
use crate::scenario::{Names, Program};
use crate::trace::{Access, Call, Exported, Figure, Imported, Reading, Resource, Takes, Target, Use};
use serde::Serialize;
use std::borrow::Cow;

#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(super) enum CallLine<'a> {
    Alloc { stream: &'a str, pool: Option<&'a str>, size: u64 },
    Free { stream: &'a str, block: String, serial: u32 },
    Launch { stream: &'a str, kernel: &'a str, uses: Vec<UseLine<'a>>, until: Option<&'a str> },
    Copy { stream: &'a str, blocking: bool, to: UseLine<'a>, from: UseLine<'a> },
    Memset { stream: &'a str, blocking: bool, at: UseLine<'a> },
    Touch { at: UseLine<'a> },
    Record { stream: &'a str, name: &'a str },
    Wait { stream: &'a str, name: &'a str },
    Sync { target: &'a str },
    Query { target: &'a str },
    Poll { target: &'a str },
    Elapsed { from: &'a str, to: &'a str },
    Sleep { nanos: u64 },
    Trim { pool: &'a str, keep: u64 },
    Set { pool: &'a str, attribute: &'static str, value: u64 },
    SetPool { device: &'a str, pool: &'a str },
    Grant { pool: &'a str, device: &'a str, access: &'static str },
    Export { resource: &'static str, name: Cow<'a, str>, under: &'a str },
    Import { resource: &'static str, name: Option<&'a str>, pool: Option<&'a str>, under: &'a str },
    Create { resource: &'static str, name: &'a str, reusing: Option<&'a str> },
    Destroy { resource: &'static str, name: &'a str },
    Read { of: Cow<'a, str>, figure: &'static str },
    ResetDevice { device: &'a str },
    Malloc { device: &'a str, size: u64, managed: bool },
    Reserve { device: &'a str, size: u64 },
    PlainFree { block: String, serial: u32 },
    HostFunction { stream: &'a str, uses: Vec<UseLine<'a>>, until: Option<&'a str>, gives: Option<&'a str> },
    Collective { stream: &'a str, collective: &'a str, uses: Vec<UseLine<'a>> },
    BeginGraph { graph: &'a str },
    Node { graph: &'a str, call: Box<CallLine<'a>> },
    Instantiate { name: &'a str, graph: &'a str, auto_free: bool },
    LaunchGraph { stream: &'a str, name: &'a str },
    Upload { stream: &'a str, name: &'a str },
    TrimGraphs { device: &'a str },
    SetGraphs { device: &'a str, attribute: &'static str, value: u64 },
    Signal { name: &'a str },
    Await { name: &'a str },
    Spawn { thread: &'a str },
    Exit,
    Join { thread: &'a str },
    Barrier { name: &'a str },
    Expect,
    Snapshot,
}

/// Bytes that an operation touches.
#[derive(Serialize)]
pub(super) struct UseLine<'a> {
    block: Cow<'a, str>,
    from: u64,
    size: u64,
    access: &'static str,
}

fn use_line<'a>(book: &Book<'a>, used: &Use) -> UseLine<'a> {
    let access = match used.access {
        Access::Read => "read",
        Access::Write => "write",
        Access::ReadWrite => "read_write",
    };
    UseLine { block: book.memory(used.memory), from: used.from.0, size: used.size.0, access }
}

/// What a figure is one of.
fn read_of(names: &Names, reading: Reading) -> Cow<'_, str> {
    match reading {
        Reading::Pool(pool, _) | Reading::Access(pool, _) | Reading::PoolItself(pool) => {
            Cow::Borrowed(&names.pools[pool])
        }
        Reading::Device(device, _) | Reading::Peer(device, _) | Reading::CurrentPool(device) => {
            Cow::Borrowed(&names.devices[device])
        }
        Reading::Graphs(device, _) => Cow::Owned(format!("{}.graph_pool", names.owners[device])),
    }
}

fn target_name<'a>(book: &Book<'a>, target: &Target) -> &'a str {
    let names = &book.program.names;
    match target {
        Target::Stream(stream) => book.stream(*stream),
        Target::Event(event) => &names.events[*event],
        Target::Device(device) => &names.devices[*device],
    }
}

fn resource_name(program: &Program, resource: Resource) -> (&'static str, &str) {
    let names = &program.names;
    match resource {
        Resource::Stream(stream) => ("stream", &names.streams[stream]),
        Resource::Event(event) => ("event", &names.events[event]),
        Resource::Pool(pool) => ("pool", &names.pools[pool]),
        Resource::Graph(graph) => ("graph", &names.graphs[graph]),
        Resource::Exec(exec) => ("graph_exec", &names.execs[exec]),
    }
}

fn awaited_signal<'a>(program: &'a Program, takes: &Takes) -> Option<&'a str> {
    match takes {
        Takes::Until(signal) => Some(&program.names.signals[*signal]),
        Takes::For(_) => None,
    }
}

pub(super) fn call_line<'a>(book: &Book<'a>, call: &Call) -> CallLine<'a> {
    let program: &'a Program = book.program;
    let names = &program.names;
    match call {
        Call::Alloc { stream, pool, size } => CallLine::Alloc {
            stream: book.stream(*stream),
            pool: pool.map(|pool| names.pools[pool].as_str()),
            size: size.0,
        },
        Call::Free { stream, alloc } => {
            CallLine::Free { stream: book.stream(*stream), block: book.block(*alloc), serial: alloc.serial }
        }
        Call::Launch { stream, kernel, takes, uses } => CallLine::Launch {
            stream: book.stream(*stream),
            kernel: &names.kernels[*kernel],
            uses: uses.iter().map(|used| use_line(book, used)).collect(),
            until: awaited_signal(program, takes),
        },
        Call::Copy { .. } | Call::Memset { .. } | Call::Touch(_) => memory_line(book, call),
        Call::Record { stream, event } => {
            CallLine::Record { stream: book.stream(*stream), name: &names.events[*event] }
        }
        Call::Wait { stream, event } => {
            CallLine::Wait { stream: book.stream(*stream), name: &names.events[*event] }
        }
        Call::Sync(target) => CallLine::Sync { target: target_name(book, target) },
        Call::Query(target) => CallLine::Query { target: target_name(book, target) },
        Call::Poll(target) => CallLine::Poll { target: target_name(book, target) },
        Call::Elapsed { from, to } => {
            CallLine::Elapsed { from: &names.events[*from], to: &names.events[*to] }
        }
        Call::Sleep(nanos) => CallLine::Sleep { nanos: nanos.0 },
        Call::PlainFree { .. }
        | Call::Set { .. }
        | Call::Trim { .. }
        | Call::Reserve { .. }
        | Call::SetPool { .. }
        | Call::Grant { .. }
        | Call::Export { .. }
        | Call::Import { .. }
        | Call::Create { .. }
        | Call::Destroy(_)
        | Call::ResetDevice(_)
        | Call::Malloc { .. } => resource_line(book, call),
        Call::Read(reading) | Call::Peek(reading) => {
            CallLine::Read { of: read_of(names, *reading), figure: reading.name() }
        }
        Call::HostFunction { stream, takes, gives, uses } => CallLine::HostFunction {
            stream: book.stream(*stream),
            uses: uses.iter().map(|used| use_line(book, used)).collect(),
            until: awaited_signal(program, takes),
            gives: gives.map(|signal| names.signals[signal].as_str()),
        },
        Call::Collective { stream, collective, uses } => CallLine::Collective {
            stream: book.stream(*stream),
            collective: &names.collectives[*collective],
            uses: uses.iter().map(|used| use_line(book, used)).collect(),
        },
        Call::Graph(call) => graph_line(book, call),
        Call::Signal(_) | Call::Await(_) | Call::Spawn(_) | Call::Exit | Call::Join(_) | Call::Barrier(_) => {
            meeting_line(names, call)
        }
        Call::Expect { .. } | Call::ExpectReady { .. } => CallLine::Expect,
        Call::Snapshot(_) => CallLine::Snapshot,
    }
}

/// A call that reads or writes memory.
fn memory_line<'a>(book: &Book<'a>, call: &Call) -> CallLine<'a> {
    match call {
        Call::Copy { stream, blocking, to, from, .. } => CallLine::Copy {
            stream: book.stream(*stream),
            blocking: *blocking,
            to: use_line(book, to),
            from: use_line(book, from),
        },
        Call::Memset { stream, blocking, at, .. } => {
            CallLine::Memset { stream: book.stream(*stream), blocking: *blocking, at: use_line(book, at) }
        }
        Call::Touch(at) => CallLine::Touch { at: use_line(book, at) },
        _ => unreachable!("only such calls come here"),
    }
}

/// A call about what exists and what devices give, how it is set and what it keeps.
fn resource_line<'a>(book: &Book<'a>, call: &Call) -> CallLine<'a> {
    let program: &'a Program = book.program;
    let names = &program.names;
    match call {
        Call::Malloc { device, size, managed } => {
            CallLine::Malloc { device: &names.devices[*device], size: size.0, managed: *managed }
        }
        Call::ResetDevice(device) => CallLine::ResetDevice { device: &names.devices[*device] },
        Call::PlainFree { alloc } => CallLine::PlainFree { block: book.block(*alloc), serial: alloc.serial },
        Call::Trim { pool, keep } => CallLine::Trim { pool: &names.pools[*pool], keep: keep.0 },
        Call::Reserve { device, size } => CallLine::Reserve { device: &names.devices[*device], size: size.0 },
        Call::Set { pool, attribute, value } => CallLine::Set {
            pool: &names.pools[*pool],
            attribute: Figure::Attribute(*attribute).name(),
            value: *value,
        },
        Call::SetPool { device, pool } => {
            CallLine::SetPool { device: &names.devices[*device], pool: &names.pools[*pool] }
        }
        Call::Export { what, under } => export_line(book, what, &names.signals[*under]),
        Call::Import { under, into } => import_line(names, into, &names.signals[*under]),
        Call::Grant { pool, device, reach } => CallLine::Grant {
            pool: &names.pools[*pool],
            device: &names.devices[*device],
            access: reach.name(),
        },
        Call::Create { resource, reusing } => {
            let (resource, name) = resource_name(program, *resource);
            let reusing = reusing.map(|old| resource_name(program, old).1);
            CallLine::Create { resource, name, reusing }
        }
        Call::Destroy(resource) => {
            let (resource, name) = resource_name(program, *resource);
            CallLine::Destroy { resource, name }
        }
        _ => unreachable!("only such calls come here"),
    }
}

/// What a process offers to others.
fn export_line<'a>(book: &Book<'a>, what: &Exported, under: &'a str) -> CallLine<'a> {
    let names: &'a Names = &book.program.names;
    let (resource, name) = match what {
        Exported::Pool(pool) => ("pool", Cow::Borrowed(names.pools[*pool].as_str())),
        Exported::Event(event) => ("event", Cow::Borrowed(names.events[*event].as_str())),
        Exported::Memory(alloc) => ("buffer", Cow::Owned(book.block(*alloc))),
    };
    CallLine::Export { resource, name, under }
}

/// What a process makes of it.
fn import_line<'a>(names: &'a Names, into: &Imported, under: &'a str) -> CallLine<'a> {
    let (resource, name, pool) = match into {
        Imported::Pool(pool) => ("pool", Some(names.pools[*pool].as_str()), None),
        Imported::Event(event) => ("event", Some(names.events[*event].as_str()), None),
        Imported::Memory(pool) => ("buffer", None, Some(names.pools[*pool].as_str())),
    };
    CallLine::Import { resource, name, pool, under }
}

/// A call by which host threads meet.
fn meeting_line<'a>(names: &'a Names, call: &Call) -> CallLine<'a> {
    match call {
        Call::Signal(signal) => CallLine::Signal { name: &names.signals[*signal] },
        Call::Await(signal) => CallLine::Await { name: &names.signals[*signal] },
        Call::Spawn(host) => CallLine::Spawn { thread: &names.hosts[*host] },
        Call::Exit => CallLine::Exit,
        Call::Join(host) => CallLine::Join { thread: &names.hosts[*host] },
        Call::Barrier(barrier) => CallLine::Barrier { name: &names.barriers[*barrier] },
        _ => unreachable!("only such calls come here"),
    }
}
