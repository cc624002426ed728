//! The objects of calls.

use crate::report::names::Book;
use crate::scenario::Program;
use crate::trace::{Call, Figure, Takes, Target};
use serde::Serialize;

#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(super) enum CallLine<'a> {
    Alloc { stream: &'a str, pool: &'a str, size: u64 },
    Free { stream: &'a str, block: String, serial: u32 },
    Launch { stream: &'a str, kernel: &'a str, uses: Vec<String>, until: Option<&'a str> },
    Record { stream: &'a str, name: &'a str },
    Wait { stream: &'a str, name: &'a str },
    Sync { target: &'a str },
    Query { target: &'a str },
    Poll { target: &'a str },
    Sleep { nanos: u64 },
    Trim { pool: &'a str, keep: u64 },
    Set { pool: &'a str, attribute: &'static str, value: u64 },
    Read { pool: &'a str, figure: &'static str },
    HostFunction { stream: &'a str, until: Option<&'a str>, gives: Option<&'a str> },
    Collective { stream: &'a str, collective: &'a str, uses: Vec<String> },
    Signal { name: &'a str },
    Await { name: &'a str },
    Spawn { thread: &'a str },
    Exit,
    Join { thread: &'a str },
    Barrier { name: &'a str },
    Expect,
    Snapshot,
}

fn target_name<'a>(book: &Book<'a>, target: &Target) -> &'a str {
    let names = &book.program.names;
    match target {
        Target::Stream(stream) => book.stream(*stream),
        Target::Event(event) => &names.events[*event],
        Target::Device(device) => &names.devices[*device],
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
        Call::Alloc { stream, pool, size } => {
            CallLine::Alloc { stream: book.stream(*stream), pool: &names.pools[*pool], size: size.0 }
        }
        Call::Free { stream, alloc } => {
            CallLine::Free { stream: book.stream(*stream), block: book.block(*alloc), serial: alloc.serial }
        }
        Call::Launch { stream, kernel, takes, uses } => CallLine::Launch {
            stream: book.stream(*stream),
            kernel: &names.kernels[*kernel],
            uses: uses.iter().map(|used| book.block(used.alloc)).collect(),
            until: awaited_signal(program, takes),
        },
        Call::Record { stream, event } => {
            CallLine::Record { stream: book.stream(*stream), name: &names.events[*event] }
        }
        Call::Wait { stream, event } => {
            CallLine::Wait { stream: book.stream(*stream), name: &names.events[*event] }
        }
        Call::Sync(target) => CallLine::Sync { target: target_name(book, target) },
        Call::Query(target) => CallLine::Query { target: target_name(book, target) },
        Call::Poll(target) => CallLine::Poll { target: target_name(book, target) },
        Call::Sleep(nanos) => CallLine::Sleep { nanos: nanos.0 },
        Call::Trim { pool, keep } => CallLine::Trim { pool: &names.pools[*pool], keep: keep.0 },
        Call::Set { pool, attribute, value } => CallLine::Set {
            pool: &names.pools[*pool],
            attribute: Figure::Attribute(*attribute).name(),
            value: *value,
        },
        Call::Read { pool, figure } | Call::Peek { pool, figure } => {
            CallLine::Read { pool: &names.pools[*pool], figure: figure.name() }
        }
        Call::HostFunction { stream, takes, gives } => CallLine::HostFunction {
            stream: book.stream(*stream),
            until: awaited_signal(program, takes),
            gives: gives.map(|signal| names.signals[signal].as_str()),
        },
        Call::Collective { stream, collective, uses } => CallLine::Collective {
            stream: book.stream(*stream),
            collective: &names.collectives[*collective],
            uses: uses.iter().map(|used| book.block(used.alloc)).collect(),
        },
        Call::Signal(signal) => CallLine::Signal { name: &names.signals[*signal] },
        Call::Await(signal) => CallLine::Await { name: &names.signals[*signal] },
        Call::Spawn(host) => CallLine::Spawn { thread: &names.hosts[*host] },
        Call::Exit => CallLine::Exit,
        Call::Join(host) => CallLine::Join { thread: &names.hosts[*host] },
        Call::Barrier(barrier) => CallLine::Barrier { name: &names.barriers[*barrier] },
        Call::Expect { .. } => CallLine::Expect,
        Call::Snapshot(_) => CallLine::Snapshot,
    }
}
