//! Streams.
//!
//! Rules: CUDA driver API, "Stream Management".

use super::entries;
use crate::error::Error;
use crate::pointers::Out;
use crate::state::Caller;
use millpond::trace::{Call, StreamKind, StreamSetup, Target};
use std::ffi::{c_int, c_uint, c_void};

/// `CU_STREAM_NON_BLOCKING`.
const NON_BLOCKING: c_uint = 1;
/// `CU_EVENT_WAIT_EXTERNAL`, which means something in captures alone.
const WAIT_EXTERNAL: c_uint = 1;

fn create(stream: Out<u64>, flags: c_uint, priority: c_int) -> Result<(), Error> {
    let (stream, mut caller) = (stream.required()?, Caller::new()?);
    if flags & !NON_BLOCKING != 0 {
        return Err(Error::INVALID_VALUE);
    }
    let device = caller.current_device()?;
    let kind = if flags == 0 { StreamKind::Blocking } else { StreamKind::NonBlocking };
    let range = StreamSetup::PRIORITIES;
    let priority = priority.clamp(*range.start(), *range.end());
    stream.set(caller.create_stream(StreamSetup { device, kind, priority })?);
    Ok(())
}

entries! {
    fn cuStreamCreate(stream: Out<u64>, flags: c_uint) {
        create(stream, flags, *StreamSetup::PRIORITIES.end())
    }

    fn cuStreamCreateWithPriority(stream: Out<u64>, flags: c_uint, priority: c_int) {
        create(stream, flags, priority)
    }

    fn cuStreamDestroy_v2(stream: u64) {
        Caller::new()?.destroy_stream(stream)
    }

    fn cuStreamSynchronize(stream: u64) {
        let mut caller = Caller::new()?;
        let target = Target::Stream(caller.stream(stream)?.id);
        caller.synchronise(target)
    }

    fn cuStreamQuery(stream: u64) {
        let mut caller = Caller::new()?;
        let target = Target::Stream(caller.stream(stream)?.id);
        caller.make(&Call::Query(target)).map(drop)
    }

    fn cuStreamWaitEvent(stream: u64, event: u64, flags: c_uint) {
        let mut caller = Caller::new()?;
        let (stream, event) = (caller.stream(stream)?.id, caller.event(event)?.id);
        if flags & !WAIT_EXTERNAL != 0 {
            return Err(Error::INVALID_VALUE);
        }
        if caller.faults.wait_dropped {
            return Ok(());
        }
        caller.make(&Call::Wait { stream, event }).map(drop)
    }

    fn cuStreamGetFlags(stream: u64, flags: Out<c_uint>) {
        let (flags, mut caller) = (flags.required()?, Caller::new()?);
        let is_apart = caller.stream(stream)?.setup.kind == StreamKind::NonBlocking;
        flags.set(c_uint::from(is_apart) * NON_BLOCKING);
        Ok(())
    }

    fn cuStreamGetPriority(stream: u64, priority: Out<c_int>) {
        let (priority, mut caller) = (priority.required()?, Caller::new()?);
        priority.set(caller.stream(stream)?.setup.priority);
        Ok(())
    }

    fn cuStreamGetCtx(stream: u64, context: Out<u64>) {
        let (context, mut caller) = (context.required()?, Caller::new()?);
        let device = caller.stream(stream)?.setup.device;
        context.set(caller.contexts[device.index()].handle);
        Ok(())
    }

    /// No stream is: there are no captures.
    fn cuStreamIsCapturing(stream: u64, status: Out<c_int>) {
        let (status, mut caller) = (status.required()?, Caller::new()?);
        caller.stream(stream)?;
        status.set(0);
        Ok(())
    }
}
