//! A process whose entries come from this file. The slots are the whole process's, so one test at a time fills them.

#![allow(unsafe_code, reason = "it calls the entries, and stands in for them")]

#[macro_use]
#[path = "../src/entries.rs"]
mod entries;

use cuda_link::{NAMES, is_open, open, resolve};
use cust_raw::CUresult;
use entries::{HostFunction, IpcEventHandle};
use std::collections::BTreeSet;
use std::ffi::{c_char, c_int, c_uchar, c_uint, c_ulonglong, c_void};
use std::mem::{self, MaybeUninit};
use std::ptr::NonNull;
use std::slice;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A call as the driver saw it: the entry, and the bytes of each argument.
type Call = (&'static str, Vec<Vec<u8>>);

static TURN: Mutex<()> = Mutex::new(());
static CALLS: Mutex<Vec<Call>> = Mutex::new(Vec::new());

fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn record(name: &'static str, arguments: Vec<Vec<u8>>) -> c_int {
    CALLS.lock().unwrap().push((name, arguments));
    0
}

fn bytes<T>(argument: &T) -> Vec<u8> {
    // SAFETY: the types of the entries have no padding.
    unsafe { slice::from_raw_parts((&raw const *argument).cast(), size_of::<T>()) }.to_vec()
}

/// A value all of whose bytes are the same.
fn filled<T>(byte: u8) -> T {
    let mut value = MaybeUninit::<T>::uninit();
    // SAFETY: bytes other than 0 make a value of each of the types of the entries. Nothing reads or calls through it.
    unsafe {
        value.as_mut_ptr().write_bytes(byte, 1);
        value.assume_init()
    }
}

macro_rules! stand_ins {
    ($(fn $name:ident($($argument:ident: $type:ty),* $(,)?);)*) => {
        #[allow(non_snake_case, reason = "they are named as CUDA names them")]
        mod stand_ins {
            use super::*;
            $(
                pub(super) unsafe extern "C" fn $name($($argument: $type),*) -> c_int {
                    record(stringify!($name), vec![$(bytes(&$argument)),*])
                }
            )*
        }

        fn stand_in(name: &str) -> Option<NonNull<c_void>> {
            match name {
                $(stringify!($name) => function(stand_ins::$name as *const ()),)*
                _ => None,
            }
        }

        /// Calls each entry with other bytes in each argument; gives what it was called with, and what it answered.
        fn call_each() -> Vec<(Call, c_int)> {
            let mut calls = Vec::new();
            $({
                let last = 0u8;
                $(
                    let last = last + 1;
                    let $argument = filled::<$type>(last);
                )*
                let arguments: Vec<_> = vec![$(bytes(&$argument)),*];
                assert_eq!(arguments.len(), usize::from(last));
                // SAFETY: the types are those of the entry, and the stand-in reads through no pointer.
                let code = unsafe {
                    let entry: unsafe extern "C" fn($($type),*) -> c_int =
                        mem::transmute(cust_raw::$name as *const ());
                    entry($($argument),*)
                };
                calls.push(((stringify!($name), arguments), code));
            })*
            calls
        }
    };
}

entries!(stand_ins);

fn function(address: *const ()) -> Option<NonNull<c_void>> {
    NonNull::new(address.cast_mut().cast())
}

/// Stands in for `cuInit`: answers what it is given.
unsafe extern "C" fn echo(flags: c_uint) -> c_int {
    flags.cast_signed()
}

#[test]
fn every_call_arrives_with_its_arguments_in_order() {
    let _turn = turn();
    // SAFETY: the stand-ins have the parameters of the list.
    unsafe { resolve(stand_in) };
    CALLS.lock().unwrap().clear();
    let sent = call_each();
    let arrived = mem::take(&mut *CALLS.lock().unwrap());
    assert_eq!(sent.len(), NAMES.len());
    assert_eq!(arrived.len(), sent.len());
    for ((sent, code), arrived) in sent.iter().zip(&arrived) {
        assert_eq!((sent, *code), (arrived, 0));
    }
}

#[test]
fn an_entry_that_the_driver_lacks_says_not_found() {
    let _turn = turn();
    // SAFETY: `cuInit` takes an unsigned integer and returns a code.
    unsafe { resolve(|name| if name == "cuInit" { function(echo as *const ()) } else { None }) };
    let mut count = 7;
    // SAFETY: one takes no pointer, and the other's slot is empty.
    let (known, missing) = unsafe { (cust_raw::cuInit(0), cust_raw::cuDeviceGetCount(&mut count)) };
    assert_eq!((known, missing), (CUresult::CUDA_SUCCESS, CUresult::CUDA_ERROR_NOT_FOUND));
    assert_eq!(count, 7, "an argument was touched");

    // SAFETY: it gives no function.
    unsafe { resolve(|_| None) };
    // SAFETY: the slot is empty.
    assert_eq!(
        unsafe { cust_raw::cuInit(0) },
        CUresult::CUDA_ERROR_NOT_FOUND,
        "what was there before is gone"
    );
}

#[test]
fn a_lookup_is_asked_for_every_name_and_opens_the_driver() {
    let _turn = turn();
    let asked = Mutex::new(Vec::new());
    // SAFETY: it gives no function.
    unsafe {
        resolve(|name| {
            asked.lock().unwrap().push(name.to_owned());
            None
        });
    }
    assert_eq!(asked.into_inner().unwrap(), NAMES);
    assert!(is_open());
    assert_eq!(open(), Ok(()), "there is nothing to look for any more");
}

macro_rules! codes {
    ($($name:ident)*) => {
        const CODES: &[CUresult] = &[$(CUresult::$name),*];

        /// Does not compile while one is left out.
        #[expect(dead_code, reason = "only the compiler reads it")]
        fn complete(code: CUresult) {
            match code {
                $(CUresult::$name => (),)*
            }
        }
    };
}

codes! {
    CUDA_SUCCESS CUDA_ERROR_INVALID_VALUE CUDA_ERROR_OUT_OF_MEMORY CUDA_ERROR_NOT_INITIALIZED
    CUDA_ERROR_DEINITIALIZED CUDA_ERROR_PROFILER_DISABLED CUDA_ERROR_PROFILER_NOT_INITIALIZED
    CUDA_ERROR_PROFILER_ALREADY_STARTED CUDA_ERROR_PROFILER_ALREADY_STOPPED CUDA_ERROR_STUB_LIBRARY
    CUDA_ERROR_NO_DEVICE CUDA_ERROR_INVALID_DEVICE CUDA_ERROR_DEVICE_NOT_LICENSED CUDA_ERROR_INVALID_IMAGE
    CUDA_ERROR_INVALID_CONTEXT CUDA_ERROR_CONTEXT_ALREADY_CURRENT CUDA_ERROR_MAP_FAILED
    CUDA_ERROR_UNMAP_FAILED CUDA_ERROR_ARRAY_IS_MAPPED CUDA_ERROR_ALREADY_MAPPED
    CUDA_ERROR_NO_BINARY_FOR_GPU CUDA_ERROR_ALREADY_ACQUIRED CUDA_ERROR_NOT_MAPPED
    CUDA_ERROR_NOT_MAPPED_AS_ARRAY CUDA_ERROR_NOT_MAPPED_AS_POINTER CUDA_ERROR_ECC_UNCORRECTABLE
    CUDA_ERROR_UNSUPPORTED_LIMIT CUDA_ERROR_CONTEXT_ALREADY_IN_USE CUDA_ERROR_PEER_ACCESS_UNSUPPORTED
    CUDA_ERROR_INVALID_PTX CUDA_ERROR_INVALID_GRAPHICS_CONTEXT CUDA_ERROR_NVLINK_UNCORRECTABLE
    CUDA_ERROR_JIT_COMPILER_NOT_FOUND CUDA_ERROR_UNSUPPORTED_PTX_VERSION CUDA_ERROR_JIT_COMPILATION_DISABLED
    CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY CUDA_ERROR_INVALID_SOURCE CUDA_ERROR_FILE_NOT_FOUND
    CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND CUDA_ERROR_SHARED_OBJECT_INIT_FAILED
    CUDA_ERROR_OPERATING_SYSTEM CUDA_ERROR_INVALID_HANDLE CUDA_ERROR_ILLEGAL_STATE CUDA_ERROR_NOT_FOUND
    CUDA_ERROR_NOT_READY CUDA_ERROR_ILLEGAL_ADDRESS CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES
    CUDA_ERROR_LAUNCH_TIMEOUT CUDA_ERROR_LAUNCH_INCOMPATIBLE_TEXTURING
    CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED CUDA_ERROR_PEER_ACCESS_NOT_ENABLED
    CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE CUDA_ERROR_CONTEXT_IS_DESTROYED CUDA_ERROR_ASSERT
    CUDA_ERROR_TOO_MANY_PEERS CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED
    CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED CUDA_ERROR_HARDWARE_STACK_ERROR CUDA_ERROR_ILLEGAL_INSTRUCTION
    CUDA_ERROR_MISALIGNED_ADDRESS CUDA_ERROR_INVALID_ADDRESS_SPACE CUDA_ERROR_INVALID_PC
    CUDA_ERROR_LAUNCH_FAILED CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE CUDA_ERROR_NOT_PERMITTED
    CUDA_ERROR_NOT_SUPPORTED CUDA_ERROR_SYSTEM_NOT_READY CUDA_ERROR_SYSTEM_DRIVER_MISMATCH
    CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE CUDA_ERROR_MPS_CONNECTION_FAILED CUDA_ERROR_MPS_RPC_FAILURE
    CUDA_ERROR_MPS_SERVER_NOT_READY CUDA_ERROR_MPS_MAX_CLIENTS_REACHED
    CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
    CUDA_ERROR_STREAM_CAPTURE_INVALIDATED CUDA_ERROR_STREAM_CAPTURE_MERGE
    CUDA_ERROR_STREAM_CAPTURE_UNMATCHED CUDA_ERROR_STREAM_CAPTURE_UNJOINED
    CUDA_ERROR_STREAM_CAPTURE_ISOLATION CUDA_ERROR_STREAM_CAPTURE_IMPLICIT CUDA_ERROR_CAPTURED_EVENT
    CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD CUDA_ERROR_TIMEOUT CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE
    CUDA_ERROR_EXTERNAL_DEVICE CUDA_ERROR_UNKNOWN
}

#[test]
fn a_code_that_cust_raw_does_not_list_is_unknown() {
    let _turn = turn();
    // SAFETY: `cuInit` takes an unsigned integer and returns a code.
    unsafe { resolve(|name| if name == "cuInit" { function(echo as *const ()) } else { None }) };
    let listed: BTreeSet<c_int> = CODES.iter().map(|code| *code as c_int).collect();
    assert_eq!(listed.len(), CODES.len());
    for code in (-1000..2000).chain([12345, c_int::MIN, c_int::MAX]) {
        // SAFETY: the type is that of the entry but for the result, of which any value is one of an integer.
        let answer = unsafe {
            let entry: unsafe extern "C" fn(c_uint) -> c_int = mem::transmute(cust_raw::cuInit as *const ());
            entry(code.cast_unsigned())
        };
        assert_eq!(answer, if listed.contains(&code) { code } else { 999 }, "for {code}");
    }
}
