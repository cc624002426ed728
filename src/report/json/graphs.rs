//! The objects of graphs.

use super::calls::{CallLine, call_line};
use crate::base::DeviceId;
use crate::report::names::Book;
use crate::scenario::Program;
use crate::trace::{AllocId, Call, GraphCall, GraphPoolState, Range};
use serde::Serialize;

/// A node that a launch puts into a stream.
#[derive(Serialize)]
pub(super) struct NodeLine<'a> {
    call: CallLine<'a>,
    /// What it brings to life.
    #[serde(skip_serializing_if = "Option::is_none")]
    block: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    serial: Option<u32>,
}

pub(super) fn node_line<'a>(book: &Book<'a>, call: &Call, alloc: Option<(AllocId, Range)>) -> NodeLine<'a> {
    let alloc = alloc.map(|(alloc, _)| alloc);
    let (block, serial) = (alloc.map(|alloc| book.block(alloc)), alloc.map(|alloc| alloc.serial));
    NodeLine { call: call_line(book, call), block, serial }
}

/// The memory of graphs on a device.
#[derive(Serialize)]
pub(super) struct GraphPoolLine<'a> {
    device: &'a str,
    used: u64,
    used_high: u64,
    reserved: u64,
    reserved_high: u64,
}

pub(super) fn pool_line<'a>(book: &Book<'a>, device: DeviceId, state: &GraphPoolState) -> GraphPoolLine<'a> {
    let program: &'a Program = book.program;
    GraphPoolLine {
        device: &program.names.owners[device],
        used: state.used.0,
        used_high: state.used_high.0,
        reserved: state.reserved.0,
        reserved_high: state.reserved_high.0,
    }
}

/// Those of all devices, by their order.
pub(super) fn pool_lines<'a>(book: &Book<'a>, states: &[GraphPoolState]) -> Vec<GraphPoolLine<'a>> {
    let devices = states.iter().enumerate();
    devices.map(|(device, state)| pool_line(book, DeviceId::from(device), state)).collect()
}

/// A call about graphs.
pub(super) fn graph_line<'a>(book: &Book<'a>, call: &GraphCall) -> CallLine<'a> {
    let program: &'a Program = book.program;
    let names = &program.names;
    match call {
        GraphCall::Begin(graph) => CallLine::BeginGraph { graph: &names.graphs[*graph] },
        GraphCall::Node { graph, node } => {
            CallLine::Node { graph: &names.graphs[*graph], call: Box::new(call_line(book, node)) }
        }
        GraphCall::Instantiate { exec, graph, auto_free } => CallLine::Instantiate {
            name: &names.execs[*exec],
            graph: &names.graphs[*graph],
            auto_free: *auto_free,
        },
        GraphCall::Launch { stream, exec } => {
            CallLine::LaunchGraph { stream: book.stream(*stream), name: &names.execs[*exec] }
        }
        GraphCall::Upload { stream, exec } => {
            CallLine::Upload { stream: book.stream(*stream), name: &names.execs[*exec] }
        }
        GraphCall::Trim(device) => CallLine::TrimGraphs { device: &names.owners[*device] },
        GraphCall::Set { device, figure, value } => {
            CallLine::SetGraphs { device: &names.owners[*device], attribute: figure.name(), value: *value }
        }
    }
}
