//! Events.
//!
//! Rules: CUDA driver API, "Event Management".

use super::entries;
use crate::error::Error;
use crate::pointers::Out;
use crate::state::Caller;
use millpond::trace::{Call, Reply, Target};
use std::ffi::{c_uint, c_void};

/// `CU_EVENT_BLOCKING_SYNC`, which says how a thread waits, and so nothing here.
const BLOCKING_SYNC: c_uint = 1;
/// `CU_EVENT_DISABLE_TIMING`.
const DISABLE_TIMING: c_uint = 2;
/// `CU_EVENT_INTERPROCESS`.
const INTERPROCESS: c_uint = 4;

entries! {
    /// An event for other processes keeps no times.
    fn cuEventCreate(event: Out<u64>, flags: c_uint) {
        let (event, mut caller) = (event.required()?, Caller::new()?);
        let (has_times, is_shared) = (flags & DISABLE_TIMING == 0, flags & INTERPROCESS != 0);
        if flags & !(BLOCKING_SYNC | DISABLE_TIMING | INTERPROCESS) != 0 || is_shared && has_times {
            return Err(Error::INVALID_VALUE);
        }
        let device = caller.current_device()?;
        event.set(caller.create_event(device, has_times, is_shared)?);
        Ok(())
    }

    fn cuEventDestroy_v2(event: u64) {
        Caller::new()?.destroy_event(event)
    }

    fn cuEventRecord(event: u64, stream: u64) {
        let mut caller = Caller::new()?;
        let (event, stream) = (caller.event(event)?.id, caller.stream(stream)?.id);
        caller.make(&Call::Record { stream, event }).map(drop)
    }

    fn cuEventQuery(event: u64) {
        let mut caller = Caller::new()?;
        let target = Target::Event(caller.event(event)?.id);
        caller.make(&Call::Query(target)).map(drop)
    }

    fn cuEventSynchronize(event: u64) {
        let mut caller = Caller::new()?;
        let target = Target::Event(caller.event(event)?.id);
        caller.synchronise(target)
    }

    fn cuEventElapsedTime(milliseconds: Out<f32>, start: u64, end: u64) {
        let (milliseconds, mut caller) = (milliseconds.required()?, Caller::new()?);
        let (from, to) = (caller.event(start)?, caller.event(end)?);
        if !from.has_times || !to.has_times {
            return Err(Error::INVALID_HANDLE);
        }
        if let Reply::Value(nanos) = caller.make(&Call::Elapsed { from: from.id, to: to.id })? {
            milliseconds.set((nanos as f64 / 1e6) as f32);
        }
        Ok(())
    }
}
