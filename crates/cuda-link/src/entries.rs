//! The entries of the CUDA driver API that are provided, each with its parameters. It is a list for macros: `src` makes functions
//! of it, and the tests compare it with what `cust_raw` declares. It must not know what is done with it.
//!
//! Source: the CUDA driver API's reference (the chapters of the headings below) and `cuda.h`, as `cust_raw` 0.11.3 declares it.
//! Where `cuda.h` redirects a name to a newer entry, such as `cuMemAlloc` to `cuMemAlloc_v2`, the name is that of the entry.
//! Handles and structures passed by address are `*mut c_void`, addresses of device memory `u64`, enumerations `c_int`.

use std::ffi::{c_char, c_void};

/// `CUhostFn`.
pub(crate) type HostFunction = Option<unsafe extern "C" fn(*mut c_void)>;

/// `CUipcEventHandle`, the one structure that is passed by value.
#[repr(C)]
pub(crate) struct IpcEventHandle {
    reserved: [c_char; 64],
}

/// Hands the list to another macro.
macro_rules! entries {
    ($then:ident) => {
        $then! {
            // Error handling
            fn cuGetErrorName(error: c_int, text: *mut *const c_char);
            fn cuGetErrorString(error: c_int, text: *mut *const c_char);

            // Initialization, version management
            fn cuInit(flags: c_uint);
            fn cuDriverGetVersion(version: *mut c_int);

            // Device management
            fn cuDeviceGet(device: *mut c_int, ordinal: c_int);
            fn cuDeviceGetAttribute(value: *mut c_int, attribute: c_int, device: c_int);
            fn cuDeviceGetCount(count: *mut c_int);
            fn cuDeviceGetDefaultMemPool(pool: *mut *mut c_void, device: c_int);
            fn cuDeviceGetMemPool(pool: *mut *mut c_void, device: c_int);
            fn cuDeviceGetName(name: *mut c_char, length: c_int, device: c_int);
            fn cuDeviceSetMemPool(device: c_int, pool: *mut c_void);
            fn cuDeviceTotalMem_v2(bytes: *mut usize, device: c_int);

            // Primary context management
            fn cuDevicePrimaryCtxRelease_v2(device: c_int);
            fn cuDevicePrimaryCtxReset_v2(device: c_int);
            fn cuDevicePrimaryCtxRetain(context: *mut *mut c_void, device: c_int);
            fn cuDevicePrimaryCtxSetFlags_v2(device: c_int, flags: c_uint);

            // Context management
            fn cuCtxGetCurrent(context: *mut *mut c_void);
            fn cuCtxGetDevice(device: *mut c_int);
            fn cuCtxGetStreamPriorityRange(least: *mut c_int, greatest: *mut c_int);
            fn cuCtxPopCurrent_v2(context: *mut *mut c_void);
            fn cuCtxPushCurrent_v2(context: *mut c_void);
            fn cuCtxSetCurrent(context: *mut c_void);
            fn cuCtxSynchronize();

            // Module management
            fn cuModuleGetFunction(function: *mut *mut c_void, module: *mut c_void, name: *const c_char);
            fn cuModuleLoadData(module: *mut *mut c_void, image: *const c_void);
            fn cuModuleLoadDataEx(
                module: *mut *mut c_void,
                image: *const c_void,
                count: c_uint,
                options: *mut c_int,
                values: *mut *mut c_void,
            );
            fn cuModuleUnload(module: *mut c_void);

            // Memory management
            fn cuIpcGetEventHandle(handle: *mut IpcEventHandle, event: *mut c_void);
            fn cuIpcOpenEventHandle(event: *mut *mut c_void, handle: IpcEventHandle);
            fn cuMemAlloc_v2(address: *mut u64, bytes: usize);
            fn cuMemAllocHost_v2(address: *mut *mut c_void, bytes: usize);
            fn cuMemAllocManaged(address: *mut u64, bytes: usize, flags: c_uint);
            fn cuMemFree_v2(address: u64);
            fn cuMemFreeHost(address: *mut c_void);
            fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize);
            fn cuMemcpy(to: u64, from: u64, bytes: usize);
            fn cuMemcpyAsync(to: u64, from: u64, bytes: usize, stream: *mut c_void);
            fn cuMemcpyDtoDAsync_v2(to: u64, from: u64, bytes: usize, stream: *mut c_void);
            fn cuMemcpyDtoH_v2(to: *mut c_void, from: u64, bytes: usize);
            fn cuMemcpyDtoHAsync_v2(to: *mut c_void, from: u64, bytes: usize, stream: *mut c_void);
            fn cuMemcpyHtoD_v2(to: u64, from: *const c_void, bytes: usize);
            fn cuMemcpyHtoDAsync_v2(to: u64, from: *const c_void, bytes: usize, stream: *mut c_void);
            fn cuMemsetD32Async(address: u64, value: c_uint, count: usize, stream: *mut c_void);
            fn cuMemsetD8_v2(address: u64, value: c_uchar, count: usize);
            fn cuMemsetD8Async(address: u64, value: c_uchar, count: usize, stream: *mut c_void);

            // Stream ordered memory allocator
            fn cuMemAllocAsync(address: *mut u64, bytes: usize, stream: *mut c_void);
            fn cuMemAllocFromPoolAsync(
                address: *mut u64,
                bytes: usize,
                pool: *mut c_void,
                stream: *mut c_void,
            );
            fn cuMemFreeAsync(address: u64, stream: *mut c_void);
            fn cuMemPoolCreate(pool: *mut *mut c_void, properties: *const c_void);
            fn cuMemPoolDestroy(pool: *mut c_void);
            fn cuMemPoolExportPointer(data: *mut c_void, address: u64);
            fn cuMemPoolExportToShareableHandle(
                handle: *mut c_void,
                pool: *mut c_void,
                kind: c_int,
                flags: c_ulonglong,
            );
            fn cuMemPoolGetAccess(flags: *mut c_int, pool: *mut c_void, location: *mut c_void);
            fn cuMemPoolGetAttribute(pool: *mut c_void, attribute: c_int, value: *mut c_void);
            fn cuMemPoolImportFromShareableHandle(
                pool: *mut *mut c_void,
                handle: *mut c_void,
                kind: c_int,
                flags: c_ulonglong,
            );
            fn cuMemPoolImportPointer(address: *mut u64, pool: *mut c_void, data: *mut c_void);
            fn cuMemPoolSetAccess(pool: *mut c_void, descriptions: *const c_void, count: usize);
            fn cuMemPoolSetAttribute(pool: *mut c_void, attribute: c_int, value: *mut c_void);
            fn cuMemPoolTrimTo(pool: *mut c_void, keep: usize);

            // Unified addressing
            fn cuPointerGetAttribute(value: *mut c_void, attribute: c_int, address: u64);

            // Stream management
            fn cuStreamCreate(stream: *mut *mut c_void, flags: c_uint);
            fn cuStreamCreateWithPriority(stream: *mut *mut c_void, flags: c_uint, priority: c_int);
            fn cuStreamDestroy_v2(stream: *mut c_void);
            fn cuStreamQuery(stream: *mut c_void);
            fn cuStreamSynchronize(stream: *mut c_void);
            fn cuStreamWaitEvent(stream: *mut c_void, event: *mut c_void, flags: c_uint);

            // Event management
            fn cuEventCreate(event: *mut *mut c_void, flags: c_uint);
            fn cuEventDestroy_v2(event: *mut c_void);
            fn cuEventElapsedTime(milliseconds: *mut f32, start: *mut c_void, end: *mut c_void);
            fn cuEventQuery(event: *mut c_void);
            fn cuEventRecord(event: *mut c_void, stream: *mut c_void);
            fn cuEventSynchronize(event: *mut c_void);

            // Execution control
            fn cuLaunchHostFunc(stream: *mut c_void, function: HostFunction, data: *mut c_void);
            fn cuLaunchKernel(
                function: *mut c_void,
                grid_x: c_uint,
                grid_y: c_uint,
                grid_z: c_uint,
                block_x: c_uint,
                block_y: c_uint,
                block_z: c_uint,
                shared_bytes: c_uint,
                stream: *mut c_void,
                parameters: *mut *mut c_void,
                extra: *mut *mut c_void,
            );

            // Graph management
            fn cuDeviceGetGraphMemAttribute(device: c_int, attribute: c_int, value: *mut c_void);
            fn cuDeviceGraphMemTrim(device: c_int);
            fn cuDeviceSetGraphMemAttribute(device: c_int, attribute: c_int, value: *mut c_void);

            // Peer context memory access
            fn cuDeviceCanAccessPeer(can: *mut c_int, device: c_int, peer: c_int);
        }
    };
}
