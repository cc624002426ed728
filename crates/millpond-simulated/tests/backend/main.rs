//! The hardware backend through crate `cust`, on the simulated driver: what a scenario does there is what the simulation says.
//!
//! That proves the plumbing, and nothing about a real driver, since the simulated one decides by the same model.

mod command;
mod compared;
mod faults;
mod generated;
mod kernel;
mod order;
mod played;
mod ptx;
mod reported;
mod scenarios;
