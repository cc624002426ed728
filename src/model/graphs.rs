//! The memory of graphs, as an allocator has it: fixed addresses for allocation nodes, and physical memory for launches.
//!
//! An allocator without it fails every request. Nodes, edges and streams of a graph are not its affair.

use super::Known;
use crate::base::{Bytes, DeviceId};
use crate::trace::{AllocId, Cut, Decision, Failure, GraphFigure, GraphPoolState, Ticket};

/// A graph, as the allocator knows it. A key is given again once its graph is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct GraphKey(pub u32);

/// A node of a graph. Within a graph, its streams are counted from 0, and so are the places of a [`Ticket`] and a [`Cut`].
#[derive(Clone, Copy, Debug)]
pub struct Node<'a> {
    /// The graph.
    pub graph: GraphKey,
    /// Its place in the graph.
    pub at: Ticket,
    /// The nodes of the graph that it comes after.
    pub after: &'a Cut,
}

/// A launch or an upload of a graph.
#[derive(Clone, Copy, Debug)]
pub struct Launch<'a> {
    /// The graph.
    pub graph: GraphKey,
    /// The last operation of the launch, in its stream.
    pub end: Ticket,
    /// The last operation of the launch before of the same executable graph, after which this one runs.
    pub behind: Option<Ticket>,
    /// What is known at the call.
    pub known: Known<'a>,
}

/// An allocator's memory of graphs.
pub trait GraphMemory {
    /// A graph without nodes.
    fn begin_graph(&mut self) -> GraphKey {
        GraphKey(0)
    }

    /// Gives an allocation node its address, which it keeps. Nothing is mapped.
    ///
    /// # Errors
    /// [`Failure::OutOfMemory`] when there are no addresses left; [`Failure::NotSupported`].
    fn alloc_node(&mut self, node: Node<'_>, device: DeviceId, size: Bytes) -> Result<Decision, Failure> {
        let _ = (node, device, size);
        Err(Failure::NotSupported)
    }

    /// Adds a free node.
    ///
    /// # Errors
    /// [`Failure::InvalidValue`] for what is no allocation of a graph, or what has a free node in this graph or in its own;
    /// [`Failure::NotSupported`].
    fn free_node(&mut self, node: Node<'_>, alloc: AllocId) -> Result<(), Failure> {
        let _ = (node, alloc);
        Err(Failure::NotSupported)
    }

    /// Adds the allocations of a graph that outlived a launch and are not freed since.
    fn unfreed(&self, graph: GraphKey, into: &mut Vec<AllocId>) {
        let _ = (graph, into);
    }

    /// Makes memory ready for a launch, and takes note of what the launch allocates and frees. Those of its allocations that
    /// are not freed are freed before, in the stream of the launch; without `auto_free`, the launch fails instead.
    ///
    /// # Errors
    /// [`Failure::InvalidValue`] for an allocation of the graph that is not freed, and for a free node whose allocation is not
    /// live; [`Failure::OutOfMemory`]. Nothing changes.
    fn launch(&mut self, launch: Launch<'_>, auto_free: bool) -> Result<(), Failure> {
        let _ = (launch, auto_free);
        Ok(())
    }

    /// Makes memory ready for a launch that may follow.
    ///
    /// # Errors
    /// [`Failure::OutOfMemory`]. Nothing changes.
    fn upload(&mut self, launch: Launch<'_>) -> Result<(), Failure> {
        let _ = launch;
        Ok(())
    }

    /// The executable graph of this graph is gone: what it has mapped belongs to no graph any more.
    fn unmap_graph(&mut self, graph: GraphKey) {
        let _ = graph;
    }

    /// The graph and its executable graph are gone. Its live allocations stay.
    fn end_graph(&mut self, graph: GraphKey) {
        let _ = graph;
    }

    /// Gives physical memory back that no launch within or before `done` uses and no allocation holds; says how much.
    ///
    /// # Errors
    /// [`Failure::NotSupported`]
    fn trim_graphs(&mut self, device: DeviceId, done: &Cut) -> Result<Bytes, Failure> {
        let _ = (device, done);
        Err(Failure::NotSupported)
    }

    /// Sets an attribute.
    ///
    /// # Errors
    /// [`Failure::InvalidValue`] for everything but 0 and a high mark; [`Failure::NotSupported`]. Nothing changes.
    fn set_graphs(&mut self, device: DeviceId, figure: GraphFigure, value: u64) -> Result<(), Failure> {
        let _ = (device, figure, value);
        Err(Failure::NotSupported)
    }

    /// The figures of the memory of graphs on a device.
    fn graph_pool(&self, device: DeviceId) -> GraphPoolState {
        let _ = device;
        GraphPoolState::default()
    }
}
