//! The calls of a run as data: the object `call` of the event of that name.
//!
//! It must not know how an object is written.

use super::names::Book;
use crate::scenario::{Names, Program};
use crate::trace::{Call, Figure, Reading, Takes, Target};
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
    Read { of: &'a str, figure: &'static str },
    Malloc { device: &'a str, size: u64, managed: bool },
    PlainFree { block: String, serial: u32 },
    Signal { name: &'a str },
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

/// A call, with the names that hold before it.
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
            until: match takes {
                Takes::Until(signal) => Some(&names.signals[*signal]),
                Takes::For(_) => None,
            },
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
        Call::Read(reading) | Call::Peek(reading) => {
            CallLine::Read { of: read_of(names, *reading), figure: reading.name() }
        }
        Call::Malloc { device, size, managed } => {
            CallLine::Malloc { device: &names.devices[*device], size: size.0, managed: *managed }
        }
        Call::PlainFree { alloc } => CallLine::PlainFree { block: book.block(*alloc), serial: alloc.serial },
        Call::Signal(signal) => CallLine::Signal { name: &names.signals[*signal] },
        Call::Expect { .. } => CallLine::Expect,
        Call::Snapshot(_) => CallLine::Snapshot,
    }
}

/// What a figure is one of.
fn read_of(names: &Names, reading: Reading) -> &str {
    match reading {
        Reading::Pool(pool, _) => &names.pools[pool],
        Reading::Device(device, _) => &names.devices[device],
    }
}
