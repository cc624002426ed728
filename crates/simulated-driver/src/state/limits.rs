//! How many of each thing there may be at once. Beyond, a call fails with `CUDA_ERROR_OUT_OF_MEMORY`.
//!
//! What was destroyed counts for as long as work, memory or another process still holds on to it: a stream, until a
//! synchronise has observed all of its work.

/// Streams, with one per-thread default stream for each thread and device that uses it, and without the legacy default streams.
pub const STREAMS_MAX: usize = 128;
/// Events.
pub const EVENTS_MAX: usize = 1_024;
/// Pools, without the default ones.
pub const POOLS_MAX: usize = 64;
/// Threads of the host that have called and not ended.
pub const THREADS_MAX: usize = 64;
/// Pools, pointers and events that are offered to other processes.
pub const EXPORTS_MAX: usize = 1_024;
