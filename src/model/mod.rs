//! Allocators: pure folds over calls. One holds all pools of all devices, since they share capacity.
//!
//! A model sees cuts of progress, never time, graphs or names.

pub mod cuda;
pub mod graphs;
pub mod oxicuda;
pub mod stream_order;

pub use graphs::GraphMemory;

use crate::base::{Bytes, DeviceId, PoolId, StreamId};
use crate::trace::{
    Account, AllocId, Attribute, Call, Cut, Decision, DeviceState, Failure, PoolPicture, PoolSetup,
    PoolState, Readiness, Refusals, Target, Ticket,
};

/// What is known about progress at a call, one counter a stream each.
#[derive(Clone, Copy, Debug)]
pub struct Known<'a> {
    /// Ordered before this call's operation: events, the legacy default stream, host synchronisation, inserted waits.
    pub ordered: &'a Cut,
    /// Completed by now, by this run's timing.
    pub done: &'a Cut,
    /// Of that, what the calling host has seen complete, and so is complete in every timing that gets here.
    pub seen: &'a Cut,
    /// Proven complete by a host synchronisation that has returned.
    pub observed: &'a Cut,
}

/// A request for memory.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// The pool.
    pub pool: PoolId,
    /// The size asked for.
    pub size: Bytes,
    /// The operation that the allocation will be, in the allocating stream.
    pub at: Ticket,
}

/// An allocation that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Denied {
    /// Why.
    pub failure: Failure,
    /// What the pool gave back to the device all the same.
    pub unmapped: Bytes,
}

impl From<Failure> for Denied {
    fn from(failure: Failure) -> Self {
        Self { failure, unmapped: Bytes::ZERO }
    }
}

/// Whose memory a free gave back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freed {
    /// Nobody's: it was the null pointer.
    Nothing,
    /// That of a pool.
    Pool {
        /// The pool.
        pool: PoolId,
        /// What the pool gave back to the device with this call.
        unmapped: Bytes,
    },
    /// That of a device, outside of pools.
    Outside(DeviceId),
    /// That of the graphs of a device.
    Graphs(DeviceId),
}

/// Whose memory a live allocation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// That of a pool.
    Pool(PoolId),
    /// That of a device, outside of pools, as its process knows it.
    Outside(DeviceId),
    /// That of a node of a graph, on a device.
    Graph(DeviceId),
}

/// The frees on which it hangs how a request is served.
#[derive(Clone, Debug, Default)]
pub struct Candidates {
    /// With any of these complete, that of others in `together` does not matter.
    pub alone: Vec<Ticket>,
    /// Each of these may matter, with others or without.
    pub together: Vec<Ticket>,
}

impl Candidates {
    /// None.
    pub fn clear(&mut self) {
        self.alone.clear();
        self.together.clear();
    }
}

/// An allocator.
///
/// `clone_from` of the `cuda` model does not touch the heap once the target has been as large as the source.
pub trait Allocator: GraphMemory + Clone {
    /// Places an allocation, or fails and hands nothing out.
    ///
    /// # Errors
    /// [`Failure::OutOfMemory`]; [`Failure::InvalidValue`] for a size that the model does not take.
    fn alloc(&mut self, request: Request, known: Known<'_>) -> Result<Decision, Denied>;

    /// Places memory outside of pools on a device, as its process knows it, or fails and changes nothing.
    ///
    /// # Errors
    /// [`Failure::OutOfMemory`]; [`Failure::InvalidValue`] for managed memory of 0 bytes.
    fn malloc(&mut self, device: DeviceId, size: Bytes, managed: bool) -> Result<Decision, Failure>;

    /// Other programs hold so much of a device from now on, in place of what they held before.
    ///
    /// # Errors
    /// [`Failure::OutOfMemory`] where the device does not have it; nothing changes.
    fn reserve(&mut self, device: DeviceId, size: Bytes) -> Result<(), Failure>;

    /// Takes memory back as of the operation `at`; says whose it is.
    ///
    /// # Errors
    /// [`Failure::InvalidValue`] when the allocation is not live.
    fn free(&mut self, alloc: AllocId, at: Ticket) -> Result<Freed, Failure>;

    /// Takes memory back at once, as if everything about it were complete and observed; says whose it is.
    ///
    /// # Errors
    /// [`Failure::InvalidValue`] when the allocation is not live.
    fn plain_free(&mut self, alloc: AllocId) -> Result<Freed, Failure>;

    /// Frees what was allocated outside of pools on a device, as its process knows it; adds what that was.
    fn reset(&mut self, device: DeviceId, freed: &mut Vec<AllocId>);

    /// Whose memory a live allocation is. `None`: it is not live, or this model does not tell; then nobody asks who may touch
    /// it.
    fn origin(&self, alloc: AllocId) -> Option<Origin> {
        let _ = alloc;
        None
    }

    /// Memory of a live allocation of another process comes to an imported pool.
    ///
    /// # Errors
    /// [`Failure::InvalidValue`] when it is not live, or where the model knows no other processes.
    fn import(&mut self, alloc: AllocId, pool: PoolId) -> Result<Decision, Failure> {
        let _ = (alloc, pool);
        Err(Failure::InvalidValue)
    }

    /// Whether [`Allocator::completed`] has anything to do.
    fn awaits_completion(&self) -> bool;

    /// Operations within `done` are complete: memory outside of pools that they freed goes back to its device, which is
    /// told in `returned`.
    fn completed(&mut self, done: &Cut, returned: &mut Vec<(Ticket, DeviceId, Bytes)>);

    /// A call went by that is not for the allocator, such as the record of an event.
    fn heard(&mut self, call: &Call) {
        let _ = call;
    }

    /// A host synchronisation of `target` has returned. Frees within `observed` become available to every stream; then the
    /// pools of the device `releases` give back what their threshold says, which is told in `released`.
    fn synchronised(
        &mut self,
        target: Target,
        releases: Option<DeviceId>,
        observed: &Cut,
        released: &mut Vec<(PoolId, Bytes)>,
    );

    /// Gives idle physical memory of a pool back, so that at least `keep` stays reserved; says how much went.
    fn trim(&mut self, pool: PoolId, keep: Bytes) -> Bytes;

    /// The end of a destroyed pool: all its physical memory goes back, once no allocation of it is live and all its frees are
    /// within `done`. Says how much that was; `None`: something is still in use, and nothing changes.
    fn end(&mut self, pool: PoolId, done: &Cut) -> Option<Bytes>;

    /// Makes another pool of one that has ended or was never used. `false`: something of it is still in use, or this model
    /// cannot do it; nothing changes.
    fn renew(&mut self, pool: PoolId, setup: &PoolSetup) -> bool {
        let _ = (pool, setup);
        false
    }

    /// Sets an attribute.
    ///
    /// # Errors
    /// [`Failure::InvalidValue`] for an attribute or a value that cannot be written; nothing changes.
    fn set(&mut self, pool: PoolId, attribute: Attribute, value: u64) -> Result<(), Failure>;

    /// The figures of a pool.
    fn state(&self, pool: PoolId) -> PoolState;

    /// Where the memory of a device is, with the operations within `done` complete.
    fn device(&self, device: DeviceId, done: &Cut) -> DeviceState;

    /// Where the memory of a pool and its device is, for an allocation that failed.
    fn account(&self, pool: PoolId) -> Account;

    /// Why the classes that are asked before the one that would serve could not, and whether another timing would matter.
    fn refused(&self, request: Request, known: Known<'_>) -> Refusals;

    /// Whether work that the calling host submits to the stream `on` now may use an allocation; `known` is for that stream.
    /// The null pointer has no bytes to wait for, so that it is ready. Never [`Readiness::NoStream`].
    fn readiness(&self, alloc: AllocId, on: StreamId, known: Known<'_>) -> Readiness;

    /// The pool with its blocks.
    fn picture(&self, pool: PoolId) -> PoolPicture;

    /// The frees whose completion decides how a request is served, with what is complete by now; nothing where that is settled.
    fn candidates(&self, request: Request, known: Known<'_>, into: &mut Candidates);

    /// How a request would be served: two answers of one state are equal only if nothing at all would be different.
    fn foretell(&self, request: Request, known: Known<'_>) -> u64;

    /// Adds the operations at whose completion memory outside of pools goes back to its device.
    fn leaving(&self, into: &mut Vec<Ticket>);

    /// Adds the frees that the allocator may still make somebody wait for.
    fn pending(&self, into: &mut Vec<Ticket>);

    /// A hash of everything that later decisions depend on, kept along the way. How often a pool has mapped is not in it: no
    /// decision asks for that, and it would tell apart all turns of a loop.
    fn digest(&self) -> u128;
}
