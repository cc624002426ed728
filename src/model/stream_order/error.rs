//! The errors of the model, by CUDA's names.

use std::fmt;

/// What a call answers.
pub type CudaResult<T> = Result<T, CudaError>;

/// An error of the CUDA driver API that the model gives.
///
/// oxicuda-driver 0.5.5 has a variant for each error of the driver API; its model returns these two.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CudaError {
    /// `CUDA_ERROR_INVALID_VALUE` (1): a size of 0, or a pointer that is not live.
    InvalidValue,
    /// `CUDA_ERROR_OUT_OF_MEMORY` (2): a new block would take the pool above its largest size.
    OutOfMemory,
}

impl fmt::Display for CudaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::InvalidValue => "invalid value: the size is 0, or the pointer is not live",
            Self::OutOfMemory => "out of memory: no free block fits, and the pool may not grow so far",
        })
    }
}

impl std::error::Error for CudaError {}
