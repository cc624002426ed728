//! A simulated CUDA driver: documented entry points of the driver API, over Millpond's machine, in virtual time.
//!
//! There is one driver in a process, behind one lock. No symbol is exported: [`lookup`] gives the address of an entry. Nothing
//! that CUDA's documents do not describe is there, and `cuGetExportTable` is not.
//!
//! Virtual time moves in calls alone, and in [`pass`], which is what time is to the program that calls: how long anything takes
//! on the clock of the machine plays no part. So what a single thread gets depends on its calls and on nothing else. Where calls
//! cost nothing, a loop that asks `cuStreamQuery` again and again has to pass time, or it never ends: what completes at a time
//! is seen only after it.
//!
//! The host reaches page-locked and managed memory at the addresses that it gets, but no memory of pools, not even of those on
//! the host: that is for copies and kernels.

mod configuration;
mod entries;
mod error;
mod faults;
mod kernel;
mod memory;
mod pointers;
mod ptx;
mod state;

pub use configuration::Configuration;
pub use faults::{Faults, UnknownFault, VARIABLE};
pub use kernel::{Kernel, Parameters};
pub use memory::DeviceMemory;
pub use state::limits::{EVENTS_MAX, EXPORTS_MAX, POOLS_MAX, STREAMS_MAX, THREADS_MAX};

use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::{Arc, Once};

/// The names of all entries.
pub const NAMES: &[&str] = &entries::NAMES;

/// The address of an entry: a C function with the signature that the documents of the driver API give it. Only whole names are
/// found, such as `cuMemAlloc_v2`; which one is meant by `cuMemAlloc`, `cuGetProcAddress` tells.
pub fn lookup(name: &str) -> Option<NonNull<c_void>> {
    entries::all().find(|(known, _)| *known == name).and_then(|(_, entry)| NonNull::new(entry.cast_mut()))
}

/// The entries that crate `cuda-link` provides to the linker are those of this driver from now on: for programs that are linked with
/// it, before they look for another one.
#[allow(unsafe_code)]
pub fn connect() {
    static CONNECTED: Once = Once::new();
    // SAFETY: the entries have the signatures that the documents of the driver API give them, and are there for the rest of the
    // process. That no driver gave anything out before is so in a process that calls this first.
    CONNECTED.call_once(|| unsafe { cuda_link::resolve(lookup) });
}

/// Makes everything as it is before the first call of a fresh process, with these devices. Kernels that were defined and
/// functions of the host that have not run are forgotten; calls of other threads that have not returned fail.
pub fn reset(configuration: Configuration) {
    state::reset(configuration);
}

/// The host does something else for so long. In a function that the driver calls (`cuLaunchHostFunc`): the function runs so
/// much longer. A kernel does not pass time so: it says how long it takes.
pub fn pass(nanos: u64) {
    state::pass(nanos);
}

/// The virtual time, in nanoseconds since the reset. In a function that the driver calls: the time that it has got to.
pub fn now() -> u64 {
    state::now()
}

/// What the entry of this name does, in modules loaded before or after. One that nobody has defined takes no time and touches
/// nothing.
pub fn define_kernel(name: &str, kernel: Arc<dyn Kernel>) {
    state::define_kernel(name, kernel);
}

/// Waits for another thread of the program, in a function that the driver calls. Calls of other threads go on only while such
/// a function waits so, or once it has returned. Anywhere else it only calls.
pub fn waiting<T>(wait: impl FnOnce() -> T) -> T {
    state::waiting(wait)
}
