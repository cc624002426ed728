//! Modules, their entries, launches of those, and functions of the host.
//!
//! Rules: CUDA driver API, "Module Management", "Execution Control".

use super::entries;
use crate::error::Error;
use crate::kernel::Parameters;
use crate::pointers::{HostFunction, In, Out, Text};
use crate::ptx;
use crate::state::{Caller, Effect, Function, Module, in_kernel};
use millpond::base::{KernelId, Nanos, SignalId};
use millpond::trace::{Call, Law, Takes};
use smallvec::SmallVec;
use std::ffi::{c_int, c_uint, c_void};

/// Nobody asks which kernel it is.
const KERNEL: KernelId = KernelId::from_raw_unchecked(0);
/// The signal that nobody gives: functions of the host end when they have returned.
const NEVER: SignalId = SignalId::from_raw_unchecked(0);
/// Threads of a block, and of each of its dimensions.
const THREADS_MAX: u64 = 1_024;
const BLOCK_MAX: [u32; 3] = [1_024, 1_024, 64];

fn load(module: Out<u64>, image: Text) -> Result<(), Error> {
    let (module, mut caller) = (module.required()?, Caller::new()?);
    let device = caller.current_device()?;
    let entries = ptx::entries(&image.bytes()?)?.into_iter().map(|entry| (entry, None)).collect();
    let handle = caller.modules.insert(Module { device, entries });
    module.set(handle.ok_or(Error::OUT_OF_MEMORY)?);
    Ok(())
}

/// The handle of an entry, which is always the same.
fn function(caller: &mut Caller, handle: u64, name: &[u8]) -> Result<u64, Error> {
    let state = &mut **caller;
    let module = state.modules.get_mut(handle).ok_or(Error::INVALID_HANDLE)?;
    let device = module.device;
    let found = module.entries.iter_mut().find(|(entry, _)| entry.name.as_bytes() == name);
    let (entry, known) = found.ok_or(Error::NOT_FOUND)?;
    if known.is_none() {
        *known = state.functions.insert(Function { device, entry: entry.clone() });
    }
    known.ok_or(Error::OUT_OF_MEMORY)
}

fn launch(caller: &mut Caller, function: Function, stream: u64, parameters: Parameters) -> Result<(), Error> {
    let stream = caller.stream(stream)?;
    if stream.setup.device != function.device {
        return Err(Error::INVALID_HANDLE);
    }
    let kernel = caller.kernels.get(&function.entry.name).cloned();
    let now = caller.machine.now();
    let takes = kernel.as_ref().map_or(0, |kernel| in_kernel(now, || kernel.takes(&parameters)));
    let takes = Takes::For(Law::Constant(Nanos(takes)));
    let call = Call::Launch { stream: stream.id, kernel: KERNEL, takes, uses: SmallVec::new() };
    let effect = kernel.map_or(Effect::Nothing, |kernel| Effect::Kernel(kernel, parameters));
    caller.submit(&call, effect).map(drop)
}

fn is_possible(grid: [u32; 3], block: [u32; 3]) -> bool {
    let threads: u64 = block.iter().map(|side| u64::from(*side)).fold(1, u64::saturating_mul);
    let is_within = block.iter().zip(BLOCK_MAX).all(|(side, most)| *side <= most);
    grid.iter().chain(&block).all(|side| *side > 0) && threads <= THREADS_MAX && is_within
}

entries! {
    /// Of the text, the entries with their parameters count.
    fn cuModuleLoadData(module: Out<u64>, image: In<c_void>) {
        load(module, image.text())
    }

    /// No option has a meaning here.
    fn cuModuleLoadDataEx(
        module: Out<u64>,
        image: In<c_void>,
        count: c_uint,
        options: In<c_int>,
        values: In<u64>,
    ) {
        if count > 0 && (options.is_null() || values.is_null()) {
            return Err(Error::INVALID_VALUE);
        }
        load(module, image.text())
    }

    fn cuModuleUnload(module: u64) {
        let mut caller = Caller::new()?;
        let module = caller.modules.remove(module).ok_or(Error::INVALID_HANDLE)?;
        for function in module.entries.iter().filter_map(|(_, function)| *function) {
            caller.functions.remove(function);
        }
        Ok(())
    }

    fn cuModuleGetFunction(entry: Out<u64>, module: u64, name: Text) {
        let (entry, mut caller) = (entry.required()?, Caller::new()?);
        entry.set(function(&mut caller, module, &name.bytes()?)?);
        Ok(())
    }

    /// Parameters come as a list of pointers; a buffer with all of them is refused.
    fn cuLaunchKernel(
        function: u64,
        grid_x: c_uint,
        grid_y: c_uint,
        grid_z: c_uint,
        block_x: c_uint,
        block_y: c_uint,
        block_z: c_uint,
        _shared: c_uint,
        stream: u64,
        parameters: In<In<u8>>,
        extra: In<In<u8>>,
    ) {
        let mut caller = Caller::new()?;
        let function = caller.functions.get(function).cloned().ok_or(Error::INVALID_HANDLE)?;
        let (grid, block) = ([grid_x, grid_y, grid_z], [block_x, block_y, block_z]);
        if !is_possible(grid, block) || !extra.is_null() {
            return Err(Error::INVALID_VALUE);
        }
        let places = parameters.all(function.entry.sizes.len())?;
        let values = places.iter().zip(&function.entry.sizes).map(|(place, size)| place.bytes(*size));
        let parameters = Parameters::new(values.collect::<Result<_, _>>()?, grid, block);
        launch(&mut caller, function, stream, parameters)
    }

    /// A thread of the driver calls the function, which makes no call of CUDA itself.
    fn cuLaunchHostFunc(
        stream: u64,
        function: Option<unsafe extern "C" fn(*mut c_void)>,
        data: Out<c_void>,
    ) {
        let mut caller = Caller::new()?;
        let stream = caller.stream(stream)?.id;
        let function = HostFunction::new(function.ok_or(Error::INVALID_VALUE)?, data);
        let takes = Takes::Until(NEVER);
        let call = Call::HostFunction { stream, takes, gives: None, uses: SmallVec::new() };
        caller.submit(&call, Effect::Function(function)).map(drop)
    }
}
