//! Kernels: what the program says that an entry of a PTX module does, and the parameters of a launch.

use crate::DeviceMemory;

/// What an entry of a module does, in place of its code.
///
/// The driver is locked meanwhile: a kernel that calls it gets `CUDA_ERROR_NOT_PERMITTED`.
pub trait Kernel: Send + Sync {
    /// How many nanoseconds it runs. Asked at the launch.
    fn takes(&self, parameters: &Parameters) -> u64;

    /// What it does to memory at its start.
    fn starts(&self, parameters: &Parameters, memory: &mut DeviceMemory) {
        let _ = (parameters, memory);
    }

    /// What it does to memory at its end.
    fn ends(&self, parameters: &Parameters, memory: &mut DeviceMemory) {
        let _ = (parameters, memory);
    }
}

/// The parameters of a launch, as they were at its call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameters {
    values: Vec<Box<[u8]>>,
    grid: [u32; 3],
    block: [u32; 3],
}

impl Parameters {
    /// These values, in a grid of these dimensions with blocks of these.
    pub fn new(values: Vec<Box<[u8]>>, grid: [u32; 3], block: [u32; 3]) -> Self {
        Self { values, grid, block }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.values.len()
    }

    /// The bytes of one of them.
    pub fn bytes(&self, nth: usize) -> Option<&[u8]> {
        self.values.get(nth).map(|value| &**value)
    }

    /// One of them that is a number of 8 bytes, as addresses are.
    pub fn u64(&self, nth: usize) -> Option<u64> {
        self.bytes(nth)?.try_into().ok().map(u64::from_le_bytes)
    }

    /// One of them that is a number of 4 bytes.
    pub fn u32(&self, nth: usize) -> Option<u32> {
        self.bytes(nth)?.try_into().ok().map(u32::from_le_bytes)
    }

    /// The dimensions of the grid, in blocks.
    pub fn grid(&self) -> [u32; 3] {
        self.grid
    }

    /// The dimensions of a block, in threads.
    pub fn block(&self) -> [u32; 3] {
        self.block
    }
}
