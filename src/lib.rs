#![doc = include_str!("ARCHITECTURE.md")]

pub mod base;
pub mod oracle;
pub mod report;
pub mod scenario;
pub mod trace;
