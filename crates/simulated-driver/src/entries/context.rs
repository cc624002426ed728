//! The primary contexts of devices, and the stack of current contexts of each thread. There are no other contexts.
//!
//! Rules: CUDA driver API, "Primary Context Management", "Context Management".

use super::entries;
use crate::error::Error;
use crate::pointers::Out;
use crate::state::{Caller, State};
use millpond::base::DeviceId;
use millpond::trace::{Call, StreamSetup, Target};
use std::ffi::{c_int, c_uint, c_void};

/// All flags that a context can have: `CU_CTX_FLAGS_MASK` of the first drivers with pools.
const FLAGS: c_uint = 0x1f;
/// How a thread waits, which is one of these or none: spin, yield, block.
const WAITS: c_uint = 0x7;
/// What every context since CUDA 4 answers.
const API_VERSION: c_uint = 3_020;

fn device(state: &State, ordinal: c_int) -> Result<DeviceId, Error> {
    state.device(ordinal).ok_or(Error::INVALID_DEVICE)
}

entries! {
    fn cuDevicePrimaryCtxRetain(context: Out<u64>, device: c_int) {
        let (out, mut caller) = (context.required()?, Caller::new()?);
        let device = self::device(&caller, device)?;
        let context = &mut caller.contexts[device.index()];
        context.retained = context.retained.checked_add(1).ok_or(Error::OUT_OF_MEMORY)?;
        out.set(context.handle);
        Ok(())
    }

    /// The last release ends what belongs to the context.
    fn cuDevicePrimaryCtxRelease_v2(device: c_int) {
        let mut caller = Caller::new()?;
        let device = self::device(&caller, device)?;
        match caller.contexts[device.index()].retained {
            0 => return Err(Error::INVALID_CONTEXT),
            1 => caller.reset_device(device)?,
            _ => {}
        }
        let context = &mut caller.contexts[device.index()];
        context.retained = context.retained.saturating_sub(1);
        Ok(())
    }

    fn cuDevicePrimaryCtxReset_v2(device: c_int) {
        let mut caller = Caller::new()?;
        let device = self::device(&caller, device)?;
        caller.reset_device(device)
    }

    fn cuDevicePrimaryCtxSetFlags_v2(device: c_int, flags: c_uint) {
        let mut caller = Caller::new()?;
        let device = self::device(&caller, device)?;
        if flags & !FLAGS != 0 || (flags & WAITS).count_ones() > 1 {
            return Err(Error::INVALID_VALUE);
        }
        caller.contexts[device.index()].flags = flags;
        Ok(())
    }

    fn cuDevicePrimaryCtxGetState(device: c_int, flags: Out<c_uint>, active: Out<c_int>) {
        let (flags, active, caller) = (flags.required()?, active.required()?, Caller::new()?);
        let context = caller.contexts[self::device(&caller, device)?.index()];
        flags.set(context.flags);
        active.set(c_int::from(context.retained > 0));
        Ok(())
    }

    fn cuCtxSetCurrent(context: u64) {
        let mut caller = Caller::new()?;
        if context != 0 {
            caller.device_of_context(context).ok_or(Error::INVALID_CONTEXT)?;
        }
        let host = caller.host();
        let stack = caller.hosts.contexts(host);
        stack.pop();
        stack.extend((context != 0).then_some(context));
        Ok(())
    }

    fn cuCtxGetCurrent(context: Out<u64>) {
        let (context, caller) = (context.required()?, Caller::new()?);
        context.set(caller.hosts.current(caller.host()).unwrap_or(0));
        Ok(())
    }

    fn cuCtxPushCurrent_v2(context: u64) {
        let mut caller = Caller::new()?;
        caller.device_of_context(context).ok_or(Error::INVALID_CONTEXT)?;
        let host = caller.host();
        caller.hosts.contexts(host).push(context);
        Ok(())
    }

    fn cuCtxPopCurrent_v2(context: Out<u64>) {
        let mut caller = Caller::new()?;
        let host = caller.host();
        context.set(caller.hosts.contexts(host).pop().ok_or(Error::INVALID_CONTEXT)?);
        Ok(())
    }

    fn cuCtxGetDevice(device: Out<c_int>) {
        let (device, caller) = (device.required()?, Caller::new()?);
        device.set(caller.current_device()?.index() as c_int);
        Ok(())
    }

    fn cuCtxGetFlags(flags: Out<c_uint>) {
        let (flags, caller) = (flags.required()?, Caller::new()?);
        flags.set(caller.contexts[caller.current_device()?.index()].flags);
        Ok(())
    }

    /// Of the current context, where none is named.
    fn cuCtxGetApiVersion(context: u64, version: Out<c_uint>) {
        let (version, caller) = (version.required()?, Caller::new()?);
        match context {
            0 => caller.current_device().map(drop)?,
            named => caller.device_of_context(named).map(drop).ok_or(Error::INVALID_CONTEXT)?,
        }
        version.set(API_VERSION);
        Ok(())
    }

    fn cuCtxGetStreamPriorityRange(least: Out<c_int>, greatest: Out<c_int>) {
        Caller::new()?.current_device()?;
        least.set(*StreamSetup::PRIORITIES.end());
        greatest.set(*StreamSetup::PRIORITIES.start());
        Ok(())
    }

    fn cuCtxSynchronize() {
        let mut caller = Caller::new()?;
        let target = Target::Device(caller.current_device()?);
        caller.synchronise(target)
    }
}

impl Caller {
    /// Waits for work, from which the allocator learns.
    pub(super) fn synchronise(&mut self, target: Target) -> Result<(), Error> {
        let observes = !self.faults.sync_observes_nothing;
        let call = if observes { Call::Sync(target) } else { Call::Poll(target) };
        self.make(&call).map(drop)
    }
}
