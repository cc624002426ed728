//! The errors that entries answer with: their numbers, names and texts.
//!
//! Source: CUDA driver API, `CUresult`.

use millpond::trace::Failure;
use std::ffi::{CStr, c_int};

/// A `CUresult` other than success.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Error(c_int);

/// The number of success.
pub(crate) const SUCCESS: c_int = 0;

macro_rules! errors {
    ($($name:ident = $code:literal, $cuda:literal, $text:literal;)*) => {
        impl Error {
            $(pub(crate) const $name: Error = Error($code);)*
        }

        const KNOWN: &[(c_int, &CStr, &CStr)] =
            &[(SUCCESS, c"CUDA_SUCCESS", c"no error"), $(($code, $cuda, $text)),*];
    };
}

errors! {
    INVALID_VALUE = 1, c"CUDA_ERROR_INVALID_VALUE", c"invalid argument";
    OUT_OF_MEMORY = 2, c"CUDA_ERROR_OUT_OF_MEMORY", c"out of memory";
    NOT_INITIALIZED = 3, c"CUDA_ERROR_NOT_INITIALIZED", c"initialization error";
    DEINITIALIZED = 4, c"CUDA_ERROR_DEINITIALIZED", c"driver shutting down";
    NO_DEVICE = 100, c"CUDA_ERROR_NO_DEVICE", c"no CUDA-capable device is detected";
    INVALID_DEVICE = 101, c"CUDA_ERROR_INVALID_DEVICE", c"invalid device ordinal";
    INVALID_IMAGE = 200, c"CUDA_ERROR_INVALID_IMAGE", c"device kernel image is invalid";
    INVALID_CONTEXT = 201, c"CUDA_ERROR_INVALID_CONTEXT", c"invalid device context";
    INVALID_PTX = 218, c"CUDA_ERROR_INVALID_PTX", c"a PTX JIT compilation failed";
    INVALID_HANDLE = 400, c"CUDA_ERROR_INVALID_HANDLE", c"invalid resource handle";
    NOT_FOUND = 500, c"CUDA_ERROR_NOT_FOUND", c"named symbol not found";
    NOT_READY = 600, c"CUDA_ERROR_NOT_READY", c"device not ready";
    ILLEGAL_ADDRESS = 700, c"CUDA_ERROR_ILLEGAL_ADDRESS", c"an illegal memory access was encountered";
    CONTEXT_IS_DESTROYED = 709, c"CUDA_ERROR_CONTEXT_IS_DESTROYED", c"context is destroyed";
    NOT_PERMITTED = 800, c"CUDA_ERROR_NOT_PERMITTED", c"operation not permitted";
    NOT_SUPPORTED = 801, c"CUDA_ERROR_NOT_SUPPORTED", c"operation not supported";
}

impl Error {
    /// Its name and its text; `None` for a number that no entry answers.
    pub(crate) fn described(code: c_int) -> Option<(&'static CStr, &'static CStr)> {
        KNOWN.iter().find(|(known, ..)| *known == code).map(|(_, name, text)| (*name, *text))
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::OutOfMemory => Self::OUT_OF_MEMORY,
            Failure::InvalidValue => Self::INVALID_VALUE,
            Failure::NotReady => Self::NOT_READY,
            Failure::InvalidResourceHandle => Self::INVALID_HANDLE,
            Failure::InvalidDevice => Self::INVALID_DEVICE,
            Failure::IllegalAddress => Self::ILLEGAL_ADDRESS,
            Failure::NotSupported => Self::NOT_SUPPORTED,
        }
    }
}

/// What an entry returns.
pub(crate) fn status(result: Result<(), Error>) -> c_int {
    result.map_or_else(|Error(code)| code, |()| SUCCESS)
}
