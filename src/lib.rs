#![doc = include_str!("ARCHITECTURE.md")]

pub mod base;
pub mod scenario;
pub mod trace;
