//! Initialisation, versions, errors, and the addresses of entries.
//!
//! Rules: CUDA driver API, "Initialization", "Version Management", "Error Handling", "Driver Entry Point Access".

use super::entries;
use crate::error::Error;
use crate::pointers::{Out, Text};
use crate::state::Caller;
use std::ffi::{c_char, c_int, c_uint, c_void};

/// What a driver without a device says of its version: 13.0.
const VERSION: u32 = 13_000;
/// The first version whose `cuGetProcAddress` tells why it finds nothing.
const STATUS_SINCE: c_int = 12_000;
/// `CU_GET_PROC_ADDRESS_SUCCESS`, `CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND`.
const FOUND: [c_int; 2] = [1, 0];

/// The entry that a program means that was compiled for this version.
fn meant(name: &str, version: c_int) -> Option<super::Entry> {
    let named = |name: &str| super::all().find(|(known, _)| *known == name);
    let latest = |suffix: &str| named(&format!("{name}{suffix}"));
    match name {
        "cuGetProcAddress" if version < STATUS_SINCE => named(name),
        _ => latest("_v2").or_else(|| named(name)),
    }
}

fn find(symbol: Text, entry: Out<*const c_void>, version: c_int) -> Result<bool, Error> {
    let (symbol, entry) = (symbol.bytes()?, entry.required()?);
    let found = std::str::from_utf8(&symbol).ok().and_then(|name| meant(name, version));
    entry.set(found.map_or(std::ptr::null(), |(_, address)| address));
    Ok(found.is_some())
}

entries! {
    /// Without a device it answers `CUDA_ERROR_NO_DEVICE`.
    fn cuInit(flags: c_uint) {
        let mut caller = Caller::uninitialised()?;
        if flags != 0 {
            return Err(Error::INVALID_VALUE);
        }
        if caller.devices.is_empty() {
            return Err(Error::NO_DEVICE);
        }
        caller.is_initialised = true;
        Ok(())
    }

    fn cuDriverGetVersion(version: Out<c_int>) {
        let (version, caller) = (version.required()?, Caller::uninitialised()?);
        let first = caller.devices.first().map_or(VERSION, |device| device.driver);
        version.set(c_int::try_from(first).unwrap_or(c_int::MAX));
        Ok(())
    }

    fn cuGetErrorName(error: c_int, name: Out<*const c_char>) {
        let described = Error::described(error);
        name.required()?.set(described.map_or(std::ptr::null(), |(name, _)| name.as_ptr()));
        described.map(drop).ok_or(Error::INVALID_VALUE)
    }

    fn cuGetErrorString(error: c_int, text: Out<*const c_char>) {
        let described = Error::described(error);
        text.required()?.set(described.map_or(std::ptr::null(), |(_, text)| text.as_ptr()));
        described.map(drop).ok_or(Error::INVALID_VALUE)
    }

    fn cuGetProcAddress(symbol: Text, entry: Out<*const c_void>, version: c_int, _flags: u64) {
        if find(symbol, entry, version)? { Ok(()) } else { Err(Error::NOT_FOUND) }
    }

    fn cuGetProcAddress_v2(
        symbol: Text,
        entry: Out<*const c_void>,
        version: c_int,
        _flags: u64,
        status: Out<c_int>,
    ) {
        let is_found = find(symbol, entry, version)?;
        status.set(FOUND[usize::from(is_found)]);
        if is_found { Ok(()) } else { Err(Error::NOT_FOUND) }
    }
}
