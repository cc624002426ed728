//! The state of the model as plain data, in an order that depends on nothing but the calls.

use super::{ModelLimits, StreamOrderId};
use serde::Serialize;

/// Everything that later answers depend on.
///
/// Two models that were called alike have equal states, with equal texts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ModelState {
    /// The limits in force.
    pub limits: ModelLimits,
    /// The address that the next new block gets.
    pub next_address: u64,
    /// Bytes of live, pending and free blocks.
    pub reserved: usize,
    /// Bytes of live blocks.
    pub used: usize,
    /// The most bytes reserved since the last reset.
    pub reserved_high: usize,
    /// The most bytes used since the last reset.
    pub used_high: usize,
    /// Live allocations.
    pub active: usize,
    /// The most live allocations since the last reset.
    pub peak_active: usize,
    /// The streams that were ever named, by id.
    pub streams: Vec<StreamState>,
    /// The live blocks, by address.
    pub live: Vec<BlockState>,
    /// The free blocks, in the order of the list.
    pub free: Vec<BlockState>,
    /// The frees that are not complete, by stream and then by sequence number.
    pub pending: Vec<PendingState>,
}

/// A stream's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct StreamState {
    /// The stream.
    pub stream: StreamOrderId,
    /// The sequence number of its next operation.
    pub submitted: u64,
    /// Operations with lower sequence numbers are complete.
    pub reached: u64,
}

/// A block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct BlockState {
    /// Its address.
    pub ptr: u64,
    /// Its bytes.
    pub capacity: usize,
}

/// A free that is not complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct PendingState {
    /// The stream of the free.
    pub stream: StreamOrderId,
    /// Its sequence number there.
    pub seq: u64,
    /// The block that it gives back.
    pub block: BlockState,
}
