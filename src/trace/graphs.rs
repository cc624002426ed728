//! Graphs: the calls that build, instantiate and launch them, and the figures of the memory that they share on a device.

use super::Call;
use crate::base::{Bytes, DeviceId, ExecId, GraphId, StreamId};

/// A call about graphs.
#[derive(Clone, Debug, PartialEq)]
pub enum GraphCall {
    /// `cudaGraphCreate`, `cudaStreamBeginCapture`: a graph without nodes.
    Begin(GraphId),
    /// Adds a node to a graph, as a captured call does. The stream of the call says which nodes it comes after: those of that
    /// stream in the graph, and what it has waited for there.
    Node {
        /// The graph.
        graph: GraphId,
        /// The call that is captured.
        node: Box<Call>,
    },
    /// `cudaGraphInstantiate`.
    Instantiate {
        /// What comes to exist.
        exec: ExecId,
        /// Of this graph.
        graph: GraphId,
        /// `cudaGraphInstantiateFlagAutoFreeOnLaunch`.
        auto_free: bool,
    },
    /// `cudaGraphLaunch`.
    Launch {
        /// The stream that it is launched into.
        stream: StreamId,
        /// The executable graph.
        exec: ExecId,
    },
    /// `cudaGraphUpload`: what a launch does to memory, without the launch.
    Upload {
        /// The stream in whose order it happens.
        stream: StreamId,
        /// The executable graph.
        exec: ExecId,
    },
    /// `cudaDeviceGraphMemTrim`.
    Trim(DeviceId),
    /// `cudaDeviceSetGraphMemAttribute`.
    Set {
        /// The device.
        device: DeviceId,
        /// Which attribute.
        figure: GraphFigure,
        /// Its new value, in bytes.
        value: u64,
    },
}

impl GraphCall {
    /// Whether it puts operations into a stream.
    pub const fn submits(&self) -> bool {
        matches!(self, GraphCall::Launch { .. } | GraphCall::Upload { .. })
    }
}

/// The attributes of the memory of graphs on a device (`cudaGraphMemAttributeType`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum GraphFigure {
    /// `cudaGraphMemAttrUsedMemCurrent`
    Used,
    /// `cudaGraphMemAttrUsedMemHigh`
    UsedHigh,
    /// `cudaGraphMemAttrReservedMemCurrent`
    Reserved,
    /// `cudaGraphMemAttrReservedMemHigh`
    ReservedHigh,
}

impl GraphFigure {
    /// Every figure, in the order of reports.
    pub const ALL: [GraphFigure; 4] =
        [GraphFigure::Used, GraphFigure::UsedHigh, GraphFigure::Reserved, GraphFigure::ReservedHigh];

    /// The word of the language and of every report.
    pub const fn name(self) -> &'static str {
        match self {
            GraphFigure::Used => "used",
            GraphFigure::UsedHigh => "used_high",
            GraphFigure::Reserved => "reserved",
            GraphFigure::ReservedHigh => "reserved_high",
        }
    }
}

/// The memory of graphs on a device: its graph pool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GraphPoolState {
    /// Physical bytes that are mapped to the addresses of at least one graph.
    pub used: Bytes,
    /// The most that `used` was since it was reset.
    pub used_high: Bytes,
    /// Physical bytes held.
    pub reserved: Bytes,
    /// The most that `reserved` was since it was reset.
    pub reserved_high: Bytes,
}

impl GraphPoolState {
    /// One figure, in bytes.
    pub const fn figure(&self, figure: GraphFigure) -> u64 {
        match figure {
            GraphFigure::Used => self.used.0,
            GraphFigure::UsedHigh => self.used_high.0,
            GraphFigure::Reserved => self.reserved.0,
            GraphFigure::ReservedHigh => self.reserved_high.0,
        }
    }
}

/// The streams of a graph, each with the stream of its own in which its nodes run: branches of a graph run side by side. The
/// nodes of the stream that has the first node run in the stream of the launch instead.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GraphSetup {
    /// The stream that the lines of the graph name, and the one of its own.
    pub lanes: Vec<(StreamId, StreamId)>,
}
