//! The words that model, engine, oracle and report share: calls, decisions, events, states, sinks.
//!
//! Plain data with ids in it. No names, no source lines, no behaviour beyond small arithmetic.

mod call;
mod cut;
mod decision;
mod device;
mod event;
mod finding;
mod graphs;
mod memory;
mod operands;
mod reach;
mod returns;
mod setup;
mod sink;
mod state;

pub use call::{
    Attribute, Call, Comparison, Exported, Failure, Figure, Imported, Law, Reply, Resource, Takes, Target,
};
pub use cut::{Cut, Ticket, join};
pub use decision::{AllocId, Candidate, Decision, Part, Placement, Policy, Range, Refusal, Refusals};
pub use device::{DeviceFigure, DeviceState, Reading};
pub use event::{Cause, Deadlock, Event, Kind, Waiter};
pub use finding::{FindingKind, Severity};
pub use graphs::{GraphCall, GraphFigure, GraphPoolState, GraphSetup};
pub use memory::{Access, Memory, Use};
pub use operands::{Ended, Operands, Readiness};
pub use reach::{DeviceSet, Reach};
pub use returns::Returns;
pub use setup::{
    Attributes, CollectiveSetup, DeviceSetup, EventSetup, HandleType, HostCosts, Location, Model, PoolSetup,
    Remap, Reuse, Rules, Setup, StreamKind, StreamSetup, Turns,
};
pub use sink::{Detail, Nothing, Sink};
pub use state::{Account, Block, BlockState, Ledger, PendingFree, PoolPicture, PoolState};
