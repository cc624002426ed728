//! The symbols of the CUDA driver API for the linker, and the driver itself at run time.
//!
//! A program that calls the driver API is usually linked with `libcuda`: it does not build where that library is missing, and does
//! not start there. This crate has a function of its own for each entry in [`NAMES`]. Each hands its call to the driver through a
//! slot, which [`open`] fills from `libcuda.so.1`, or [`resolve`] from somewhere else. So the program builds without a toolkit,
//! starts without a driver, and learns of it from [`Unavailable`].
//!
//! It must not know what the calls are for.
//!
//! # Empty slots
//!
//! A call whose slot is empty touches none of its arguments. It returns `CUDA_ERROR_NO_DEVICE` (100) where no driver was opened,
//! and `CUDA_ERROR_NOT_FOUND` (500) where the driver has no such entry.
//!
//! # Result codes
//!
//! In `cust_raw` 0.11.3 a result is an enumeration of Rust, made for CUDA 11.4. A value that it does not list is undefined
//! behaviour, and newer drivers have such values. They arrive as `CUDA_ERROR_UNKNOWN` (999).
//!
//! What a driver writes through a pointer is not looked at. Of the entries in [`NAMES`], `cuMemPoolGetAccess` alone writes an
//! enumeration there, with the values 0, 1 and 3 that `cust_raw` lists; and `cuPointerGetAttribute` does for
//! `CU_POINTER_ATTRIBUTE_MEMORY_TYPE`. A caller who wants to be safe from values to come passes the address of an integer.
//!
//! # Which entries
//!
//! Those that a program with streams, events, modules and memory pools calls, and no others: `cust` has functions that call about
//! fifty more (textures, arrays, graphs, occupancy). A linker drops the functions that are not called before it looks for what
//! they call. A program that does call one of them fails to link, with the name of the entry: add a line for it to `entries.rs`.
//! The same happens with `-C link-dead-code`, which keeps every function.

#![allow(unsafe_code, reason = "it is the border to a library in another language")]

#[macro_use]
mod entries;

use entries::{HostFunction, IpcEventHandle};
use libloading::Library;
use std::cell::Cell;
use std::error::Error;
use std::ffi::{c_char, c_int, c_uchar, c_uint, c_ulonglong, c_void};
use std::fmt;
use std::mem;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use std::sync::{Mutex, PoisonError};

/// The name under which Linux finds the driver.
const LIBRARY: &str = "libcuda.so.1";

const NO_DEVICE: c_int = 100;
const NOT_FOUND: c_int = 500;
const UNKNOWN: c_int = 999;

/// Whether the slots have been filled.
static FILLED: AtomicBool = AtomicBool::new(false);

/// What came of the search for a driver; locked while slots are filled.
static OPENED: Mutex<Option<Result<(), Unavailable>>> = Mutex::new(None);

/// One exported function an entry, its slot, and its name.
macro_rules! trampolines {
    ($(fn $name:ident($($argument:ident: $type:ty),* $(,)?);)*) => {
        #[allow(non_camel_case_types, reason = "they are named as CUDA names them")]
        #[derive(Clone, Copy)]
        enum Entry { $($name),* }

        /// The entries that are provided, as a driver exports them.
        pub const NAMES: &[&str] = &[$(stringify!($name)),*];

        static SLOTS: [AtomicPtr<c_void>; NAMES.len()] =
            [const { AtomicPtr::new(ptr::null_mut()) }; NAMES.len()];

        $(
            // SAFETY: the name is that of the driver's entry, and this is what provides it.
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name($($argument: $type),*) -> c_int {
                let Some(function) = slot(Entry::$name) else { return missing() };
                // SAFETY: a filled slot holds the entry of this name, so a function of this signature.
                let function: unsafe extern "C" fn($($type),*) -> c_int = unsafe { mem::transmute(function) };
                // SAFETY: the caller keeps the entry's own promises.
                listed(unsafe { function($($argument),*) })
            }
        )*
    };
}

entries!(trampolines);

fn slot(entry: Entry) -> Option<NonNull<c_void>> {
    NonNull::new(SLOTS[entry as usize].load(Ordering::Acquire))
}

fn missing() -> c_int {
    if is_open() { NOT_FOUND } else { NO_DEVICE }
}

/// The code itself where `cust_raw` lists it in `cudaError_enum`.
fn listed(code: c_int) -> c_int {
    if code != 0 {
        FAILED.set(u32::try_from(code).ok());
    }
    match code {
        0..=8 | 34 | 100..=102 | 200..=202 | 205..=224 | 300..=304 | 400 | 401 | 500 | 600 => code,
        700..=705 | 708..=720 | 800..=809 | 900..=911 => code,
        _ => UNKNOWN,
    }
}

thread_local! {
    static FAILED: Cell<Option<u32>> = const { Cell::new(None) };
}

/// The code with which a call of this thread has failed last, as the driver gave it: `cust_raw` does not list every code, and
/// `cust` has no names for some that are listed, so that both tell `CUDA_ERROR_UNKNOWN` (999). Asked for once.
pub fn failed() -> Option<u32> {
    FAILED.take()
}

/// There is no driver on this machine, and why, in one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unavailable {
    reason: String,
}

impl Unavailable {
    fn new(reason: &str) -> Self {
        Self { reason: reason.split_whitespace().collect::<Vec<_>>().join(" ") }
    }
}

impl fmt::Display for Unavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no CUDA driver: {}", self.reason)
    }
}

impl Error for Unavailable {}

/// Opens the driver, `libcuda.so.1`, for the rest of the process. Looks for it once: later calls give the first answer, and
/// after [`resolve`] there is nothing to look for.
///
/// # Errors
///
/// Where the system's loader does not find or accept the library, and on systems other than Linux.
pub fn open() -> Result<(), Unavailable> {
    OPENED.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(load).clone()
}

/// Fills the slots from somewhere else than the system's driver, such as a simulated one. What `lookup` does not know is
/// missing, whether or not it was there before. A simulated driver in the same program must not export the names in [`NAMES`]
/// itself: the linker would have two of each.
///
/// # Safety
///
/// What `lookup` gives for a name must be a function with the parameters and the result of the driver's entry of that name, and
/// must stay one for the rest of the process. What a driver before this one gave out, such as a context, must not be used with
/// an entry any more.
pub unsafe fn resolve(lookup: impl Fn(&str) -> Option<NonNull<c_void>>) {
    let mut opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
    fill(lookup);
    *opened = Some(Ok(()));
}

/// Whether the entries have a driver behind them: [`open`] succeeded, or [`resolve`] was called.
pub fn is_open() -> bool {
    FILLED.load(Ordering::Acquire)
}

fn load() -> Result<(), Unavailable> {
    if !cfg!(target_os = "linux") {
        return Err(Unavailable::new("it is looked for on Linux only"));
    }
    // SAFETY: the driver's initialisers are made to run in any process that loads it.
    let library = unsafe { Library::new(LIBRARY) }.map_err(|error| {
        // The loader's own words are in the source of the error.
        reason(&error.source().map_or_else(|| error.to_string(), ToString::to_string))
    })?;
    // SAFETY: nothing is called through the pointer here.
    let lookup =
        |name: &str| unsafe { library.get::<*mut c_void>(name) }.ok().and_then(|found| NonNull::new(*found));
    fill(lookup);
    // The slots point into it.
    mem::forget(library);
    Ok(())
}

/// What the loader's words come to.
fn reason(words: &str) -> Unavailable {
    if words.contains(LIBRARY) && words.ends_with("No such file or directory") {
        Unavailable::new(&format!("the loader finds no {LIBRARY}"))
    } else if words.contains(LIBRARY) {
        Unavailable::new(words)
    } else {
        Unavailable::new(&format!("{LIBRARY}: {words}"))
    }
}

fn fill(lookup: impl Fn(&str) -> Option<NonNull<c_void>>) {
    for (name, slot) in NAMES.iter().zip(&SLOTS) {
        slot.store(lookup(name).map_or(ptr::null_mut(), NonNull::as_ptr), Ordering::Release);
    }
    FILLED.store(true, Ordering::Release);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_of_several_lines_becomes_one() {
        let unavailable = Unavailable::new("libcuda.so.1:\n  wrong\tELF class\r\n");
        assert_eq!(unavailable.to_string(), "no CUDA driver: libcuda.so.1: wrong ELF class");
    }

    /// The words are those of two loaders, of glibc and of musl.
    #[test]
    fn a_library_that_is_not_there_is_not_one_that_does_not_load() {
        for (words, expected) in [
            (
                "libcuda.so.1: cannot open shared object file: No such file or directory",
                "the loader finds no libcuda.so.1",
            ),
            (
                "Error loading shared library libcuda.so.1: No such file or directory",
                "the loader finds no libcuda.so.1",
            ),
            (
                "libother.so.2: cannot open shared object file: No such file or directory",
                "libcuda.so.1: libother.so.2: cannot open shared object file: No such file or directory",
            ),
            ("libcuda.so.1: file too short", "libcuda.so.1: file too short"),
        ] {
            assert_eq!(reason(words).reason, expected);
        }
    }
}
