#![doc = include_str!("ARCHITECTURE.md")]

pub mod base;
#[cfg(feature = "cli")]
pub mod cli;
pub mod engine;
pub mod model;
pub mod oracle;
pub mod order;
pub mod report;
pub mod scenario;
pub mod trace;
