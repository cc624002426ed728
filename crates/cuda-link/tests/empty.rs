//! A process without a driver. It is a test binary of its own: to open a driver is for the rest of the process.

#![allow(unsafe_code, reason = "it calls the entries")]

#[macro_use]
#[path = "../src/entries.rs"]
mod entries;

use cuda_link::{is_open, open};
use entries::{HostFunction, IpcEventHandle};
use std::ffi::{c_char, c_int, c_uchar, c_uint, c_ulonglong, c_void};
use std::mem;

macro_rules! call {
    ($(fn $name:ident($($argument:ident: $type:ty),* $(,)?);)*) => {
        /// What each entry answers to zeros and null pointers.
        fn answers() -> Vec<(&'static str, c_int)> {
            // SAFETY: the types are those of the entry, which zeros are values of. An empty slot reads through no pointer.
            vec![$((stringify!($name), unsafe {
                let entry: unsafe extern "C" fn($($type),*) -> c_int = mem::transmute(cust_raw::$name as *const ());
                entry($(mem::zeroed::<$type>()),*)
            })),*]
        }
    };
}

entries!(call);

#[test]
fn without_a_driver_every_entry_says_no_device() {
    assert!(!is_open());
    for (name, code) in answers() {
        assert_eq!(code, 100, "{name}: CUDA_ERROR_NO_DEVICE");
    }
    match open() {
        // With a driver on this machine there is no more to see here.
        Ok(()) => assert!(is_open()),
        Err(unavailable) => {
            let text = unavailable.to_string();
            assert!(text.starts_with("no CUDA driver: "), "{text}");
            assert!(!text.contains(['\n', '\r']), "one line: {text:?}");
            if cfg!(target_os = "linux") {
                assert!(text.contains("libcuda.so.1"), "{text}");
            }
            assert_eq!(open(), Err(unavailable), "the second answer is the first");
            assert!(!is_open());
            assert!(answers().iter().all(|(_, code)| *code == 100));
        }
    }
}
