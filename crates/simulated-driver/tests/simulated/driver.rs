//! The entries as typed functions, and one driver for one test at a time.
#![allow(unsafe_code)]

use simulated_driver::{Configuration, lookup, reset};
use std::ffi::{c_char, c_int, c_void};
use std::sync::{Mutex, MutexGuard, PoisonError};

pub(crate) const SUCCESS: c_int = 0;
pub(crate) const INVALID_VALUE: c_int = 1;
pub(crate) const OUT_OF_MEMORY: c_int = 2;
pub(crate) const NOT_INITIALIZED: c_int = 3;
pub(crate) const NO_DEVICE: c_int = 100;
pub(crate) const INVALID_DEVICE: c_int = 101;
pub(crate) const INVALID_IMAGE: c_int = 200;
pub(crate) const INVALID_CONTEXT: c_int = 201;
pub(crate) const INVALID_PTX: c_int = 218;
pub(crate) const INVALID_HANDLE: c_int = 400;
pub(crate) const NOT_FOUND: c_int = 500;
pub(crate) const NOT_READY: c_int = 600;
pub(crate) const CONTEXT_IS_DESTROYED: c_int = 709;
pub(crate) const NOT_PERMITTED: c_int = 800;
pub(crate) const NOT_SUPPORTED: c_int = 801;

pub(crate) const KIB: usize = 1 << 10;
pub(crate) const MIB: usize = 1 << 20;

/// `CUmemLocation`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Location {
    pub(crate) kind: c_int,
    pub(crate) id: c_int,
}

/// `CUmemAccessDesc`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Access {
    pub(crate) location: Location,
    pub(crate) flags: c_int,
}

/// `CUmemPoolProps`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Props {
    pub(crate) alloc_type: c_int,
    pub(crate) handle_types: c_int,
    pub(crate) location: Location,
    pub(crate) attributes: usize,
    pub(crate) max_size: usize,
    pub(crate) usage: u16,
    pub(crate) reserved: [u8; 54],
}

/// The 64 bytes of a handle or of the data of a pointer.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Words(pub(crate) [u64; 8]);

impl Props {
    /// A pool of a device.
    pub(crate) fn on(device: c_int) -> Self {
        Self {
            alloc_type: 1,
            handle_types: 0,
            location: Location { kind: 1, id: device },
            attributes: 0,
            max_size: 0,
            usage: 0,
            reserved: [0; 54],
        }
    }
}

/// A typed function for each entry. They are safe to call here since each pointer that a test passes is null or valid.
macro_rules! bindings {
    ($(fn $name:ident = $entry:literal ($($argument:ident: $type:ty),*);)*) => {
        $(#[allow(clippy::too_many_arguments)]
        pub(crate) fn $name($($argument: $type),*) -> c_int {
            type Entry = unsafe extern "C" fn($($type),*) -> c_int;
            let address = lookup($entry).expect($entry);
            // SAFETY: the entry has this signature, and the test passes pointers that are null or valid.
            unsafe { std::mem::transmute::<*mut c_void, Entry>(address.as_ptr())($($argument),*) }
        })*
    };
}

bindings! {
    fn init = "cuInit"(flags: u32);
    fn driver_version = "cuDriverGetVersion"(version: *mut c_int);
    fn error_name = "cuGetErrorName"(error: c_int, name: *mut *const c_char);
    fn error_string = "cuGetErrorString"(error: c_int, text: *mut *const c_char);
    fn proc_address = "cuGetProcAddress"(symbol: *const c_char, entry: *mut *const c_void, version: c_int, flags: u64);
    fn proc_address_v2 = "cuGetProcAddress_v2"(symbol: *const c_char, entry: *mut *const c_void, version: c_int, flags: u64, status: *mut c_int);
    fn device_get = "cuDeviceGet"(device: *mut c_int, ordinal: c_int);
    fn device_count = "cuDeviceGetCount"(count: *mut c_int);
    fn device_name = "cuDeviceGetName"(name: *mut c_char, length: c_int, device: c_int);
    fn device_attribute = "cuDeviceGetAttribute"(value: *mut c_int, attribute: c_int, device: c_int);
    fn device_memory = "cuDeviceTotalMem_v2"(bytes: *mut usize, device: c_int);
    fn can_access_peer = "cuDeviceCanAccessPeer"(can: *mut c_int, device: c_int, peer: c_int);
    fn retain = "cuDevicePrimaryCtxRetain"(context: *mut u64, device: c_int);
    fn release = "cuDevicePrimaryCtxRelease_v2"(device: c_int);
    fn context_reset = "cuDevicePrimaryCtxReset_v2"(device: c_int);
    fn context_set_flags = "cuDevicePrimaryCtxSetFlags_v2"(device: c_int, flags: u32);
    fn context_state = "cuDevicePrimaryCtxGetState"(device: c_int, flags: *mut u32, active: *mut c_int);
    fn set_current = "cuCtxSetCurrent"(context: u64);
    fn get_current = "cuCtxGetCurrent"(context: *mut u64);
    fn push_current = "cuCtxPushCurrent_v2"(context: u64);
    fn pop_current = "cuCtxPopCurrent_v2"(context: *mut u64);
    fn context_device = "cuCtxGetDevice"(device: *mut c_int);
    fn context_flags = "cuCtxGetFlags"(flags: *mut u32);
    fn api_version = "cuCtxGetApiVersion"(context: u64, version: *mut u32);
    fn priority_range = "cuCtxGetStreamPriorityRange"(least: *mut c_int, greatest: *mut c_int);
    fn context_synchronize = "cuCtxSynchronize"();
    fn stream_create = "cuStreamCreate"(stream: *mut u64, flags: u32);
    fn stream_create_with_priority = "cuStreamCreateWithPriority"(stream: *mut u64, flags: u32, priority: c_int);
    fn stream_destroy = "cuStreamDestroy_v2"(stream: u64);
    fn stream_synchronize = "cuStreamSynchronize"(stream: u64);
    fn stream_query = "cuStreamQuery"(stream: u64);
    fn stream_wait_event = "cuStreamWaitEvent"(stream: u64, event: u64, flags: u32);
    fn stream_flags = "cuStreamGetFlags"(stream: u64, flags: *mut u32);
    fn stream_priority = "cuStreamGetPriority"(stream: u64, priority: *mut c_int);
    fn stream_context = "cuStreamGetCtx"(stream: u64, context: *mut u64);
    fn stream_is_capturing = "cuStreamIsCapturing"(stream: u64, status: *mut c_int);
    fn event_create = "cuEventCreate"(event: *mut u64, flags: u32);
    fn event_destroy = "cuEventDestroy_v2"(event: u64);
    fn event_record = "cuEventRecord"(event: u64, stream: u64);
    fn event_query = "cuEventQuery"(event: u64);
    fn event_synchronize = "cuEventSynchronize"(event: u64);
    fn event_elapsed = "cuEventElapsedTime"(milliseconds: *mut f32, start: u64, end: u64);
    fn ipc_get_event = "cuIpcGetEventHandle"(handle: *mut Words, event: u64);
    fn ipc_open_event = "cuIpcOpenEventHandle"(event: *mut u64, handle: Words);
    fn mem_info = "cuMemGetInfo_v2"(free: *mut usize, total: *mut usize);
    fn mem_alloc = "cuMemAlloc_v2"(pointer: *mut u64, size: usize);
    fn mem_alloc_managed = "cuMemAllocManaged"(pointer: *mut u64, size: usize, flags: u32);
    fn mem_alloc_host = "cuMemAllocHost_v2"(pointer: *mut *mut u8, size: usize);
    fn mem_host_alloc = "cuMemHostAlloc"(pointer: *mut *mut u8, size: usize, flags: u32);
    fn mem_free = "cuMemFree_v2"(pointer: u64);
    fn mem_free_host = "cuMemFreeHost"(pointer: *mut u8);
    fn alloc_async = "cuMemAllocAsync"(pointer: *mut u64, size: usize, stream: u64);
    fn alloc_from_pool = "cuMemAllocFromPoolAsync"(pointer: *mut u64, size: usize, pool: u64, stream: u64);
    fn free_async = "cuMemFreeAsync"(pointer: u64, stream: u64);
    fn pool_create = "cuMemPoolCreate"(pool: *mut u64, props: *const Props);
    fn pool_destroy = "cuMemPoolDestroy"(pool: u64);
    fn pool_set = "cuMemPoolSetAttribute"(pool: u64, attribute: c_int, value: *mut u64);
    fn pool_get = "cuMemPoolGetAttribute"(pool: u64, attribute: c_int, value: *mut u64);
    fn pool_trim = "cuMemPoolTrimTo"(pool: u64, keep: usize);
    fn pool_set_access = "cuMemPoolSetAccess"(pool: u64, list: *const Access, count: usize);
    fn pool_get_access = "cuMemPoolGetAccess"(flags: *mut c_int, pool: u64, location: *const Location);
    fn pool_export = "cuMemPoolExportToShareableHandle"(handle: *mut c_int, pool: u64, kind: c_int, flags: u64);
    fn pool_import = "cuMemPoolImportFromShareableHandle"(pool: *mut u64, handle: usize, kind: c_int, flags: u64);
    fn pointer_export = "cuMemPoolExportPointer"(data: *mut Words, pointer: u64);
    fn pointer_import = "cuMemPoolImportPointer"(pointer: *mut u64, pool: u64, data: *const Words);
    fn default_pool = "cuDeviceGetDefaultMemPool"(pool: *mut u64, device: c_int);
    fn get_pool = "cuDeviceGetMemPool"(pool: *mut u64, device: c_int);
    fn set_pool = "cuDeviceSetMemPool"(device: c_int, pool: u64);
    fn graph_get = "cuDeviceGetGraphMemAttribute"(device: c_int, attribute: c_int, value: *mut u64);
    fn graph_set = "cuDeviceSetGraphMemAttribute"(device: c_int, attribute: c_int, value: *mut u64);
    fn graph_trim = "cuDeviceGraphMemTrim"(device: c_int);
    fn module_load = "cuModuleLoadData"(module: *mut u64, image: *const c_char);
    fn module_load_ex = "cuModuleLoadDataEx"(module: *mut u64, image: *const c_char, count: u32, options: *const c_int, values: *const u64);
    fn module_unload = "cuModuleUnload"(module: u64);
    fn module_function = "cuModuleGetFunction"(function: *mut u64, module: u64, name: *const c_char);
    fn launch_kernel = "cuLaunchKernel"(function: u64, gx: u32, gy: u32, gz: u32, bx: u32, by: u32, bz: u32, shared: u32, stream: u64, parameters: *const *const c_void, extra: *const *const c_void);
    fn launch_host = "cuLaunchHostFunc"(stream: u64, function: Option<unsafe extern "C" fn(*mut c_void)>, data: *mut c_void);
    fn memcpy = "cuMemcpy"(to: u64, from: u64, size: usize);
    fn memcpy_async = "cuMemcpyAsync"(to: u64, from: u64, size: usize, stream: u64);
    fn memcpy_htod = "cuMemcpyHtoD_v2"(to: u64, from: *const u8, size: usize);
    fn memcpy_dtoh = "cuMemcpyDtoH_v2"(to: *mut u8, from: u64, size: usize);
    fn memcpy_htod_async = "cuMemcpyHtoDAsync_v2"(to: u64, from: *const u8, size: usize, stream: u64);
    fn memcpy_dtoh_async = "cuMemcpyDtoHAsync_v2"(to: *mut u8, from: u64, size: usize, stream: u64);
    fn memcpy_dtod = "cuMemcpyDtoD_v2"(to: u64, from: u64, size: usize);
    fn memcpy_dtod_async = "cuMemcpyDtoDAsync_v2"(to: u64, from: u64, size: usize, stream: u64);
    fn memset_d8 = "cuMemsetD8_v2"(to: u64, value: u8, count: usize);
    fn memset_d8_async = "cuMemsetD8Async"(to: u64, value: u8, count: usize, stream: u64);
    fn memset_d32_async = "cuMemsetD32Async"(to: u64, value: u32, count: usize, stream: u64);
    fn pointer_attribute = "cuPointerGetAttribute"(value: *mut u64, attribute: c_int, pointer: u64);
}

static TURN: Mutex<()> = Mutex::new(());

/// The one driver of the process, for one test at a time.
pub(crate) struct Turn(#[allow(dead_code)] MutexGuard<'static, ()>);

/// A driver that nothing was called of.
pub(crate) fn fresh(configuration: Configuration) -> Turn {
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    reset(configuration);
    Turn(turn)
}

/// A driver that was initialised, with the context of its first device current.
pub(crate) fn ready(configuration: Configuration) -> Turn {
    let turn = fresh(configuration);
    assert_eq!(init(0), SUCCESS);
    attach(0);
    turn
}

/// Makes the context of a device current.
pub(crate) fn attach(device: c_int) {
    let mut context = 0;
    assert_eq!(retain(&mut context, device), SUCCESS);
    assert_eq!(set_current(context), SUCCESS);
}

/// What a call writes that succeeds.
#[track_caller]
pub(crate) fn made<T: Default>(call: impl FnOnce(&mut T) -> c_int) -> T {
    let mut value = T::default();
    assert_eq!(call(&mut value), SUCCESS);
    value
}

pub(crate) fn stream() -> u64 {
    made(|stream| stream_create(stream, 1))
}

pub(crate) fn event() -> u64 {
    made(|event| event_create(event, 0))
}

pub(crate) fn pool() -> u64 {
    made(|pool| pool_create(pool, &Props::on(0)))
}

#[track_caller]
pub(crate) fn alloc(size: usize, pool: u64, stream: u64) -> u64 {
    made(|pointer| alloc_from_pool(pointer, size, pool, stream))
}

/// The value of an attribute of a pool.
pub(crate) fn figure(pool: u64, attribute: c_int) -> u64 {
    made(|value| pool_get(pool, attribute, value))
}
