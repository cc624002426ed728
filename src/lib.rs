#![doc = include_str!("ARCHITECTURE.md")]

pub mod base;
pub mod engine;
pub mod model;
pub mod order;
pub mod scenario;
pub mod trace;
