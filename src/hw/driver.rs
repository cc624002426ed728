//! The calls of the driver that the backend makes, as functions that cannot be called wrongly.
//!
//! One function an entry of the CUDA driver API, of which each has the name without its prefix. It must not know scenarios. The
//! handles that it gives out are plain numbers; who destroys one does not use it again.

#![allow(unsafe_code, reason = "the driver is a library in C")]

use super::structures::{Access, Location, PoolProperties};
use cust::sys;
use std::ffi::{c_int, c_uint, c_void};
use std::fmt;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::{from_mut, from_ref, null_mut};

/// Why a call failed: a `CUresult` other than success.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CudaError(pub u32);

impl CudaError {
    pub(super) const NO_DEVICE: CudaError = CudaError(100);
    pub(super) const NOT_READY: CudaError = CudaError(600);

    fn check(result: sys::CUresult) -> Result<(), CudaError> {
        match result as u32 {
            0 => Ok(()),
            code => Err(CudaError::of(code)),
        }
    }

    /// With the driver's own code, where crate `cust` has no name for it.
    fn of(code: u32) -> Self {
        CudaError(if code == 999 { cuda_link::failed().unwrap_or(999) } else { code })
    }

    /// CUDA's name for it, of those that the backend can meet.
    pub fn name(self) -> Option<&'static str> {
        Some(match self.0 {
            1 => "CUDA_ERROR_INVALID_VALUE",
            2 => "CUDA_ERROR_OUT_OF_MEMORY",
            3 => "CUDA_ERROR_NOT_INITIALIZED",
            4 => "CUDA_ERROR_DEINITIALIZED",
            34 => "CUDA_ERROR_STUB_LIBRARY",
            35 => "CUDA_ERROR_INSUFFICIENT_DRIVER",
            46 => "CUDA_ERROR_DEVICE_UNAVAILABLE",
            100 => "CUDA_ERROR_NO_DEVICE",
            101 => "CUDA_ERROR_INVALID_DEVICE",
            200 => "CUDA_ERROR_INVALID_IMAGE",
            201 => "CUDA_ERROR_INVALID_CONTEXT",
            209 => "CUDA_ERROR_NO_BINARY_FOR_GPU",
            217 => "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED",
            218 => "CUDA_ERROR_INVALID_PTX",
            221 => "CUDA_ERROR_JIT_COMPILER_NOT_FOUND",
            222 => "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
            304 => "CUDA_ERROR_OPERATING_SYSTEM",
            400 => "CUDA_ERROR_INVALID_HANDLE",
            500 => "CUDA_ERROR_NOT_FOUND",
            600 => "CUDA_ERROR_NOT_READY",
            700 => "CUDA_ERROR_ILLEGAL_ADDRESS",
            702 => "CUDA_ERROR_LAUNCH_TIMEOUT",
            709 => "CUDA_ERROR_CONTEXT_IS_DESTROYED",
            715 => "CUDA_ERROR_ILLEGAL_INSTRUCTION",
            716 => "CUDA_ERROR_MISALIGNED_ADDRESS",
            719 => "CUDA_ERROR_LAUNCH_FAILED",
            800 => "CUDA_ERROR_NOT_PERMITTED",
            801 => "CUDA_ERROR_NOT_SUPPORTED",
            802 => "CUDA_ERROR_SYSTEM_NOT_READY",
            803 => "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
            804 => "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE",
            999 => "CUDA_ERROR_UNKNOWN",
            _ => return None,
        })
    }
}

impl fmt::Display for CudaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "CUDA error {}", self.0),
        }
    }
}

impl From<cust::error::CudaError> for CudaError {
    fn from(error: cust::error::CudaError) -> Self {
        CudaError::of(error as u32)
    }
}

/// What stands for an allocation in another process.
pub(super) type PointerData = sys::CUmemPoolPtrExportData;

/// What an entry of the driver answers.
pub(super) type Answer<T> = Result<T, CudaError>;

/// A stream's handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stream(usize);

/// An event's handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Event(usize);

/// A pool's handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pool(usize);

/// A kernel's handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Function(pub(super) usize);

impl Stream {
    /// The legacy default stream of the current context (`CU_STREAM_LEGACY`).
    pub(super) const LEGACY: Stream = Stream(1);
    /// The default stream of the calling thread in the current context (`CU_STREAM_PER_THREAD`).
    pub(super) const PER_THREAD: Stream = Stream(2);

    fn raw(self) -> sys::CUstream {
        self.0 as sys::CUstream
    }
}

impl Event {
    fn raw(self) -> sys::CUevent {
        self.0 as sys::CUevent
    }
}

impl Pool {
    fn raw(self) -> sys::CUmemoryPool {
        self.0 as sys::CUmemoryPool
    }
}

// What goes for every block below: handles are numbers that the driver checks or that the session has from it, and pointers
// are to values that outlive the call.

pub(super) fn driver_version() -> Answer<u32> {
    let mut version: c_int = 0;
    // SAFETY: the pointer is to a value of this frame.
    CudaError::check(unsafe { sys::cuDriverGetVersion(&mut version) })?;
    Ok(version.unsigned_abs())
}

pub(super) fn device_attribute(device: c_int, attribute: sys::CUdevice_attribute) -> Answer<i32> {
    let mut value: c_int = 0;
    // SAFETY: the pointer is to a value of this frame.
    CudaError::check(unsafe { sys::cuDeviceGetAttribute(&mut value, attribute, device) })?;
    Ok(value)
}

pub(super) fn can_access_peer(device: c_int, peer: c_int) -> Answer<bool> {
    let mut can: c_int = 0;
    // SAFETY: the pointer is to a value of this frame.
    CudaError::check(unsafe { sys::cuDeviceCanAccessPeer(&mut can, device, peer) })?;
    Ok(can != 0)
}

/// The free bytes and all bytes of the current context's device.
pub(super) fn memory_info() -> Answer<(u64, u64)> {
    let (mut free, mut total) = (0_usize, 0_usize);
    // SAFETY: the pointers are to values of this frame.
    CudaError::check(unsafe { sys::cuMemGetInfo_v2(&mut free, &mut total) })?;
    Ok((free as u64, total as u64))
}

/// Makes a context the current one of the calling thread.
pub(super) fn set_current(context: usize) -> Answer<()> {
    // SAFETY: a context that the session holds.
    CudaError::check(unsafe { sys::cuCtxSetCurrent(context as sys::CUcontext) })
}

pub(super) fn synchronise_context() -> Answer<()> {
    // SAFETY: it takes nothing.
    CudaError::check(unsafe { sys::cuCtxSynchronize() })
}

pub(super) fn create_stream(non_blocking: bool, priority: i32) -> Answer<Stream> {
    let mut stream: sys::CUstream = null_mut();
    // SAFETY: the pointer is to a value of this frame.
    CudaError::check(unsafe {
        sys::cuStreamCreateWithPriority(&mut stream, c_uint::from(non_blocking), priority)
    })?;
    Ok(Stream(stream as usize))
}

pub(super) fn destroy_stream(stream: Stream) -> Answer<()> {
    // SAFETY: the session destroys a stream once.
    CudaError::check(unsafe { sys::cuStreamDestroy_v2(stream.raw()) })
}

pub(super) fn synchronise_stream(stream: Stream) -> Answer<()> {
    // SAFETY: a stream that exists.
    CudaError::check(unsafe { sys::cuStreamSynchronize(stream.raw()) })
}

/// Whether all of it has completed.
pub(super) fn query_stream(stream: Stream) -> Answer<bool> {
    // SAFETY: a stream that exists.
    ready(CudaError::check(unsafe { sys::cuStreamQuery(stream.raw()) }))
}

fn ready(answer: Answer<()>) -> Answer<bool> {
    match answer {
        Ok(()) => Ok(true),
        Err(CudaError::NOT_READY) => Ok(false),
        Err(code) => Err(code),
    }
}

pub(super) fn create_event(timing: bool, interprocess: bool) -> Answer<Event> {
    let mut event: sys::CUevent = null_mut();
    let flags = if timing { 0 } else { 2 } | if interprocess { 4 } else { 0 };
    // SAFETY: the pointer is to a value of this frame.
    CudaError::check(unsafe { sys::cuEventCreate(&mut event, flags) })?;
    Ok(Event(event as usize))
}

pub(super) fn destroy_event(event: Event) -> Answer<()> {
    // SAFETY: the session destroys an event once.
    CudaError::check(unsafe { sys::cuEventDestroy_v2(event.raw()) })
}

pub(super) fn record(event: Event, stream: Stream) -> Answer<()> {
    // SAFETY: both exist.
    CudaError::check(unsafe { sys::cuEventRecord(event.raw(), stream.raw()) })
}

pub(super) fn wait(stream: Stream, event: Event) -> Answer<()> {
    // SAFETY: both exist.
    CudaError::check(unsafe { sys::cuStreamWaitEvent(stream.raw(), event.raw(), 0) })
}

pub(super) fn synchronise_event(event: Event) -> Answer<()> {
    // SAFETY: an event that exists.
    CudaError::check(unsafe { sys::cuEventSynchronize(event.raw()) })
}

pub(super) fn query_event(event: Event) -> Answer<bool> {
    // SAFETY: an event that exists.
    ready(CudaError::check(unsafe { sys::cuEventQuery(event.raw()) }))
}

/// In milliseconds, as the driver tells it.
pub(super) fn elapsed(from: Event, to: Event) -> Answer<f32> {
    let mut milliseconds = 0.0;
    // SAFETY: both exist, and the pointer is to a value of this frame.
    CudaError::check(unsafe { sys::cuEventElapsedTime(&mut milliseconds, from.raw(), to.raw()) })?;
    Ok(milliseconds)
}

/// Whether the event can be opened by another process; what that process would get is of no use in this one.
pub(super) fn event_handle(event: Event) -> Answer<()> {
    let mut handle = sys::CUipcEventHandle { reserved: [0; 64] };
    // SAFETY: an event that exists, and the pointer is to a value of this frame.
    CudaError::check(unsafe { sys::cuIpcGetEventHandle(&mut handle, event.raw()) })
}

/// From a pool, or from the current one of the stream's device.
pub(super) fn alloc(size: u64, pool: Option<Pool>, stream: Stream) -> Answer<u64> {
    let mut address = 0;
    let size = usize::try_from(size).unwrap_or(usize::MAX);
    // SAFETY: the pointer is to a value of this frame, and the handles are of things that exist.
    CudaError::check(unsafe {
        match pool {
            Some(pool) => sys::cuMemAllocFromPoolAsync(&mut address, size, pool.raw(), stream.raw()),
            None => sys::cuMemAllocAsync(&mut address, size, stream.raw()),
        }
    })?;
    Ok(address)
}

pub(super) fn free(address: u64, stream: Stream) -> Answer<()> {
    // SAFETY: the driver checks the address; nothing of this program lies in what is freed.
    CudaError::check(unsafe { sys::cuMemFreeAsync(address, stream.raw()) })
}

/// Memory outside of pools; `managed`: `cuMemAllocManaged`, attached to all devices.
pub(super) fn malloc(size: u64, managed: bool) -> Answer<u64> {
    let mut address = 0;
    let size = usize::try_from(size).unwrap_or(usize::MAX);
    // SAFETY: the pointer is to a value of this frame.
    CudaError::check(unsafe {
        match managed {
            true => sys::cuMemAllocManaged(&mut address, size, 1),
            false => sys::cuMemAlloc_v2(&mut address, size),
        }
    })?;
    Ok(address)
}

pub(super) fn plain_free(address: u64) -> Answer<()> {
    // SAFETY: the driver checks the address; nothing of this program lies in what is freed.
    CudaError::check(unsafe { sys::cuMemFree_v2(address) })
}

pub(super) fn create_pool(properties: &PoolProperties) -> Answer<Pool> {
    let mut pool: sys::CUmemoryPool = null_mut();
    // SAFETY: the structure has the layout of `CUmemPoolProps`, and both pointers are to values that outlive the call.
    CudaError::check(unsafe { sys::cuMemPoolCreate(&mut pool, from_ref(properties).cast()) })?;
    Ok(Pool(pool as usize))
}

pub(super) fn destroy_pool(pool: Pool) -> Answer<()> {
    // SAFETY: the session destroys a pool once.
    CudaError::check(unsafe { sys::cuMemPoolDestroy(pool.raw()) })
}

pub(super) fn default_pool(device: c_int) -> Answer<Pool> {
    let mut pool: sys::CUmemoryPool = null_mut();
    // SAFETY: the pointer is to a value of this frame.
    CudaError::check(unsafe { sys::cuDeviceGetDefaultMemPool(&mut pool, device) })?;
    Ok(Pool(pool as usize))
}

pub(super) fn current_pool(device: c_int) -> Answer<Pool> {
    let mut pool: sys::CUmemoryPool = null_mut();
    // SAFETY: the pointer is to a value of this frame.
    CudaError::check(unsafe { sys::cuDeviceGetMemPool(&mut pool, device) })?;
    Ok(Pool(pool as usize))
}

pub(super) fn set_current_pool(device: c_int, pool: Pool) -> Answer<()> {
    // SAFETY: a pool that exists.
    CudaError::check(unsafe { sys::cuDeviceSetMemPool(device, pool.raw()) })
}

pub(super) fn trim(pool: Pool, keep: u64) -> Answer<()> {
    // SAFETY: a pool that exists.
    CudaError::check(unsafe { sys::cuMemPoolTrimTo(pool.raw(), usize::try_from(keep).unwrap_or(usize::MAX)) })
}

/// An attribute of a pool; those of policies are of 32 bits, all others of 64.
pub(super) fn pool_attribute(pool: Pool, attribute: sys::CUmemPool_attribute) -> Answer<u64> {
    let mut value = 0_u64;
    // SAFETY: a pool that exists, and room for the larger of the two kinds of values; the smaller one lies at its start.
    CudaError::check(unsafe {
        sys::cuMemPoolGetAttribute(pool.raw(), attribute, from_mut(&mut value).cast())
    })?;
    Ok(match is_switch(attribute) {
        true => u64::from(u32::from_ne_bytes(first_half(value))),
        false => value,
    })
}

pub(super) fn set_pool_attribute(
    pool: Pool,
    attribute: sys::CUmemPool_attribute,
    mut value: u64,
) -> Answer<()> {
    let mut switch = c_int::try_from(value).unwrap_or(c_int::MAX);
    let pointer: *mut c_void =
        if is_switch(attribute) { from_mut(&mut switch).cast() } else { from_mut(&mut value).cast() };
    // SAFETY: a pool that exists, and a value of the kind that the attribute has.
    CudaError::check(unsafe { sys::cuMemPoolSetAttribute(pool.raw(), attribute, pointer) })
}

fn is_switch(attribute: sys::CUmemPool_attribute) -> bool {
    (attribute as u32) <= sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES as u32
}

fn first_half(value: u64) -> [u8; 4] {
    let [a, b, c, d, ..] = value.to_ne_bytes();
    [a, b, c, d]
}

pub(super) fn set_access(pool: Pool, access: Access) -> Answer<()> {
    // SAFETY: a pool that exists; the structure has the layout of `CUmemAccessDesc`, and there is one.
    CudaError::check(unsafe { sys::cuMemPoolSetAccess(pool.raw(), from_ref(&access).cast(), 1) })
}

/// The flag of what a device may do with the memory of a pool.
pub(super) fn access(pool: Pool, mut location: Location) -> Answer<u32> {
    let mut flags: c_uint = 0;
    // SAFETY: a pool that exists; the structure has the layout of `CUmemLocation`, and the flags that of their enumeration.
    CudaError::check(unsafe {
        sys::cuMemPoolGetAccess(from_mut(&mut flags).cast(), pool.raw(), from_mut(&mut location).cast())
    })?;
    Ok(flags)
}

/// As a file descriptor, which is the caller's to close.
pub(super) fn export_pool(pool: Pool) -> Answer<OwnedFd> {
    use sys::CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR as DESCRIPTOR;
    let mut descriptor: c_int = -1;
    // SAFETY: a pool that exists, and room for what this type of handle is.
    CudaError::check(unsafe {
        sys::cuMemPoolExportToShareableHandle(from_mut(&mut descriptor).cast(), pool.raw(), DESCRIPTOR, 0)
    })?;
    // SAFETY: the driver has opened it for the caller.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

pub(super) fn import_pool(descriptor: BorrowedFd<'_>) -> Answer<Pool> {
    use sys::CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR as DESCRIPTOR;
    let mut pool: sys::CUmemoryPool = null_mut();
    let handle = usize::try_from(descriptor.as_raw_fd()).unwrap_or_default() as *mut c_void;
    // SAFETY: a handle of this type is the descriptor itself in place of a pointer.
    CudaError::check(unsafe { sys::cuMemPoolImportFromShareableHandle(&mut pool, handle, DESCRIPTOR, 0) })?;
    Ok(Pool(pool as usize))
}

pub(super) fn export_pointer(address: u64) -> Answer<PointerData> {
    let mut data = sys::CUmemPoolPtrExportData { reserved: [0; 64] };
    // SAFETY: the driver checks the address, and the pointer is to a value of this frame.
    CudaError::check(unsafe { sys::cuMemPoolExportPointer(&mut data, address) })?;
    Ok(data)
}

pub(super) fn import_pointer(pool: Pool, mut data: PointerData) -> Answer<u64> {
    let mut address = 0;
    // SAFETY: a pool that exists, and data that the driver has made.
    CudaError::check(unsafe { sys::cuMemPoolImportPointer(&mut address, pool.raw(), &mut data) })?;
    Ok(address)
}

/// A launch of one thread, with what its parameters are at; each is as large as the kernel declares it.
pub(super) fn launch(function: Function, stream: Stream, parameters: &mut [*mut c_void]) -> Answer<()> {
    // SAFETY: a function of a module that is loaded; the pointers are to values of the sizes that it declares, which the driver
    // copies before it returns.
    CudaError::check(unsafe {
        let function = function.0 as sys::CUfunction;
        sys::cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream.raw(), parameters.as_mut_ptr(), null_mut())
    })
}

/// A function that the host runs in the order of a stream. It must not call the driver.
pub(super) fn launch_host(stream: Stream, function: Box<dyn FnOnce() + Send>) -> Answer<()> {
    let data = Box::into_raw(Box::new(function)).cast::<c_void>();
    // SAFETY: the driver runs the function at most once, with the data that is given up to it here; after an error of the device it
    // never does, and the data is lost.
    let answer = CudaError::check(unsafe { sys::cuLaunchHostFunc(stream.raw(), Some(run), data) });
    if answer.is_err() {
        // SAFETY: the driver has not taken it, so it is still this program's own.
        drop(unsafe { Box::from_raw(data.cast::<Box<dyn FnOnce() + Send>>()) });
    }
    answer
}

unsafe extern "C" fn run(data: *mut c_void) {
    // SAFETY: the data is what `launch_host` gave up, and comes back once.
    let function = unsafe { Box::from_raw(data.cast::<Box<dyn FnOnce() + Send>>()) };
    // A panic must not unwind into the driver; the test or the run that it belongs to ends without what it would have done.
    drop(catch_unwind(AssertUnwindSafe(*function)));
}

/// Between which memories a copy goes. Only of page-locked memory does a driver have to know by the address what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// From the host's pageable memory to a device.
    ToDevice,
    /// The other way.
    ToHost,
    /// Between memories that the driver has given out.
    Between,
}

/// Copies in the order of a stream; without one, by a call that runs in the legacy default stream.
pub(super) fn copy(way: Way, to: u64, from: u64, size: u64, stream: Option<Stream>) -> Answer<()> {
    let bytes = size as usize;
    // SAFETY: the session gives the addresses of allocations with so many bytes; memory of the host lives as long as the session.
    CudaError::check(unsafe {
        match (way, stream) {
            (Way::ToDevice, Some(stream)) => {
                sys::cuMemcpyHtoDAsync_v2(to, from as *const c_void, bytes, stream.raw())
            }
            (Way::ToDevice, None) => sys::cuMemcpyHtoD_v2(to, from as *const c_void, bytes),
            (Way::ToHost, Some(stream)) => {
                sys::cuMemcpyDtoHAsync_v2(to as *mut c_void, from, bytes, stream.raw())
            }
            (Way::ToHost, None) => sys::cuMemcpyDtoH_v2(to as *mut c_void, from, bytes),
            (Way::Between, Some(stream)) => sys::cuMemcpyAsync(to, from, bytes, stream.raw()),
            (Way::Between, None) => sys::cuMemcpy(to, from, bytes),
        }
    })
}

/// Copies between buffers of the host, once everything in a stream is complete.
pub(super) fn copy_on_host(to: u64, from: u64, size: u64, stream: Stream) -> Answer<()> {
    synchronise_stream(stream)?;
    // SAFETY: both are buffers of the session with so many bytes, and no two buffers overlap; what a device writes to them at the
    // same time is the race of the program that is run.
    unsafe { std::ptr::copy(from as *const u8, to as *mut u8, size as usize) };
    Ok(())
}

/// Sets bytes to zero; without a stream it is `cuMemsetD8`, which runs in the legacy default stream.
pub(super) fn set_to_zero(at: u64, size: u64, stream: Option<Stream>) -> Answer<()> {
    // SAFETY: the session gives the address of an allocation with so many bytes.
    CudaError::check(unsafe {
        match stream {
            Some(stream) => sys::cuMemsetD8Async(at, 0, size as usize, stream.raw()),
            None => sys::cuMemsetD8_v2(at, 0, size as usize),
        }
    })
}

/// Page-locked memory of the host, which devices reach under the same address.
pub(super) fn malloc_host(size: u64) -> Answer<u64> {
    let mut pointer: *mut c_void = null_mut();
    // SAFETY: the pointer is to a value of this frame.
    CudaError::check(unsafe { sys::cuMemAllocHost_v2(&mut pointer, size as usize) })?;
    Ok(pointer as u64)
}

pub(super) fn free_host(address: u64) -> Answer<()> {
    // SAFETY: what `malloc_host` gave, once.
    CudaError::check(unsafe { sys::cuMemFreeHost(address as *mut c_void) })
}

/// A word of page-locked memory, which a device may write at any time.
pub(super) fn read_word(address: u64) -> u64 {
    // SAFETY: the session has allocated the word, aligned; a volatile read, since a device writes it.
    unsafe { (address as *const u64).read_volatile() }
}

/// Sets a word of page-locked memory that no device uses at this time.
pub(super) fn write_word(address: u64, value: u64) {
    // SAFETY: as of `read_word`.
    unsafe { (address as *mut u64).write_volatile(value) }
}
