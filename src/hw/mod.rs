//! Real devices, through NVIDIA's driver. Owns every call of it; must not know how a run was simulated or how it is told.
//!
//! Source: CUDA driver API, "Initialization" and "Device Management".

#![allow(unsafe_code, reason = "the driver is a library in another language")]

use cust::sys::{CUresult, cuDeviceGet, cuDeviceGetCount, cuDeviceGetName, cuInit};
use std::error::Error;
use std::ffi::{CStr, c_char, c_int};
use std::fmt;

/// Why there is no device to run on, in one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unavailable {
    /// There is no driver.
    Driver(cuda_link::Unavailable),
    /// There is one, and this entry of it failed.
    Call(&'static str, CUresult),
}

impl fmt::Display for Unavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Driver(unavailable) => write!(f, "{unavailable}"),
            Self::Call(entry, code) => write!(f, "`{entry}` answers {code:?} ({})", *code as c_int),
        }
    }
}

impl Error for Unavailable {}

/// The names of the devices of this machine, by ordinal.
///
/// # Errors
///
/// Where there is no driver, or none of its devices can be used.
pub fn devices() -> Result<Vec<String>, Unavailable> {
    cuda_link::open().map_err(Unavailable::Driver)?;
    let mut count = 0;
    // SAFETY: the only flags are 0.
    done("cuInit", unsafe { cuInit(0) })?;
    // SAFETY: it writes one integer.
    done("cuDeviceGetCount", unsafe { cuDeviceGetCount(&mut count) })?;
    (0..count).map(name).collect()
}

fn name(ordinal: c_int) -> Result<String, Unavailable> {
    const LENGTH: c_int = 256;
    let mut device = 0;
    let mut name = [0 as c_char; LENGTH as usize];
    // SAFETY: it writes one device.
    done("cuDeviceGet", unsafe { cuDeviceGet(&mut device, ordinal) })?;
    // SAFETY: it writes a text with its end, and no more than it is told.
    done("cuDeviceGetName", unsafe { cuDeviceGetName(name.as_mut_ptr(), LENGTH, device) })?;
    // SAFETY: the text ends where the driver ended it, at the latest at the last 0 of the array.
    let text = unsafe { CStr::from_ptr(name.as_ptr()) };
    Ok(text.to_string_lossy().into_owned())
}

fn done(entry: &'static str, code: CUresult) -> Result<(), Unavailable> {
    match code {
        CUresult::CUDA_SUCCESS => Ok(()),
        code => Err(Unavailable::Call(entry, code)),
    }
}
