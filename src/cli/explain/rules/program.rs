//! The rules about what a program does: streams and events, when memory may be used and freed, pools, access, processes.

use super::{Rule, outside, partly, rule, shown};

/// Rules 1 to 12.
pub(super) const STREAMS: &[Rule] = &[
    rule(
        1,
        "A stream runs its operations in the order of their submission; allocations and frees are operations like others.",
        "CUDA driver API, cuMemAllocAsync, cuMemFreeAsync",
        shown("scenarios/events/moments.scn"),
    ),
    rule(
        2,
        "Recording an event captures what its stream holds at the call; what the stream gets later is not captured.",
        "CUDA driver API, cuEventRecord",
        shown("scenarios/events/recorded_before_the_free.scn"),
    ),
    rule(
        3,
        "A wait, a query or a synchronise takes the latest record of the event at its own call, and no later one.",
        "CUDA driver API, cuEventRecord",
        shown("scenarios/events/record_after_the_wait.scn"),
    ),
    rule(
        4,
        "An event that was never recorded stands for no work: queries succeed and waits wait for nothing; only the time
between two events needs both recorded and complete.",
        "CUDA driver API, cuEventRecord; CUDA runtime API, cudaEventElapsedTime",
        shown("scenarios/events/unrecorded.scn"),
    ),
    rule(
        5,
        "An event is recorded on a stream of its own context; a wait may cross contexts and devices.",
        "CUDA driver API, cuEventRecord, cuStreamWaitEvent",
        shown("scenarios/access/event_of_a_device.scn"),
    ),
    rule(
        6,
        "A wait holds back all later work of its stream until what the event has captured is complete, and never the host.",
        "CUDA driver API, cuStreamWaitEvent",
        shown("scenarios/events/moments.scn"),
    ),
    rule(
        7,
        "Destroying a busy stream or event returns at once and its work still runs; using the handle afterwards is an error.",
        "CUDA driver API, cuStreamDestroy, cuEventDestroy; cupy/cupy#4537",
        shown("scenarios/sync/destroyed_stream.scn"),
    ),
    rule(
        8,
        "An operation of the legacy default stream comes after all before it in the blocking streams of its context, and
they go on after it; non-blocking streams take no part.",
        "CUDA driver API, stream synchronization behavior",
        shown("scenarios/events/legacy_stream_runs_between.scn"),
    ),
    rule(
        9,
        "Each host thread has a per-thread default stream of its own, which is a blocking stream and otherwise like any other.",
        "CUDA driver API, stream synchronization behavior",
        shown("scenarios/threads/per_thread_streams.scn"),
    ),
    rule(
        10,
        "A synchronise waits for all work of its stream, all that its event has captured, or all work of the device; a query
only says whether that is complete.",
        "CUDA driver API, cuStreamSynchronize, cuEventSynchronize, cuCtxSynchronize, cuStreamQuery, cuEventQuery",
        shown("scenarios/sync/what_each_synchronise_waits_for.scn"),
    ),
    rule(
        11,
        "A host function runs after the work before it and holds up the work behind it; it must not call CUDA, and those of
independent streams have no order; its start counts as a synchronise of an event that was recorded just before it.",
        "CUDA driver API, cuLaunchHostFunc",
        partly(
            "scenarios/threads/stalled_stream.scn",
            "a function of the language cannot call CUDA, and functions are never serialised",
        ),
    ),
    rule(
        12,
        "On a default stream an allocation takes its device from the current context; on any other stream the pool or the
stream decides.",
        "CUDA driver API, cuMemAllocAsync; CUDA Programming Guide 4.3.2.1",
        shown("scenarios/basics/the_stream_decides_the_device.scn"),
    ),
];

/// Rules 13 to 24.
pub(super) const VALIDITY: &[Rule] = &[
    rule(
        13,
        "An allocation returns its address at the call, before the stream gets there.",
        "CUDA driver API, cuMemAllocAsync; CUDA samples, graphMemoryNodes",
        shown("scenarios/basics/same_stream.scn"),
    ),
    rule(
        14,
        "Memory may be used after its allocation and before its free, as streams execute them; any other use is undefined.",
        "CUDA driver API, stream ordered memory allocator, overview",
        shown("scenarios/hazards/use_after_free.scn"),
    ),
    rule(
        15,
        "A use on another stream must be ordered after the allocation, by an event, a query or a synchronise.",
        "CUDA driver API, cuMemAllocAsync; CUDA Programming Guide 4.3.2.1",
        shown("scenarios/hazards/use_before_alloc.scn"),
    ),
    rule(
        16,
        "A free must be ordered after the allocation and after every use; a use after the free has begun is undefined.",
        "CUDA Programming Guide 4.3.2.2",
        shown("scenarios/hazards/use_after_free.scn"),
    ),
    rule(
        17,
        "Memory may be freed on any stream, one of another device too.",
        "CUDA Programming Guide 4.3.2.2; CUDA samples, streamOrderedAllocationP2P",
        shown("scenarios/access/freed_on_a_stream_of_another_device.scn"),
    ),
    rule(
        18,
        "Work that is submitted after the call of a free has returned must not use the memory, whatever its stream;
nor may its attributes be asked for.",
        "CUDA driver API, cuMemFreeAsync; CUDA Programming Guide 4.3.5.2",
        shown("scenarios/hazards/use_after_free_submitted_later.scn"),
    ),
    rule(
        19,
        "A plain free of memory from a pool waits for nothing: it takes all uses for complete, so that the caller has to
synchronise or to ask first; one of other memory may synchronise.",
        "CUDA driver API, cuMemFree; CUDA Programming Guide 4.3.2.2; kokkos/kokkos#9307",
        shown("scenarios/sync/host_free_waits_for_nothing.scn"),
    ),
    rule(
        20,
        "Plain memory may be freed in stream order, after all uses of it; it goes back to the device when the free completes,
and into no pool.",
        "CUDA Programming Guide 4.3.2.2; Compute Sanitizer API, memory events",
        shown("scenarios/limits/plain_memory_leaves_when_its_free_completes.scn"),
    ),
    rule(
        21,
        "Whether a use is within its window is judged by what is ordered, and never by when it happened to run.",
        "follows from rules 14 to 16; Compute Sanitizer manual 3.9",
        shown("scenarios/hazards/race.scn"),
    ),
    rule(
        22,
        "A second free of the same memory is an error; a free of the null pointer does nothing.",
        "CUDA runtime API, cudaFree",
        shown("scenarios/basics/freed_twice.scn"),
    ),
    rule(
        23,
        "Memory from pools belongs to no context: it outlives the destruction of a context and a reset of the device.",
        "CUDA driver API, cuCtxDestroy; CUDA runtime API, cudaDeviceReset; CUDA Programming Guide 4.3.5.4",
        shown("scenarios/basics/device_reset.scn"),
    ),
    rule(
        24,
        "A copy of memory from a pool should be made while the context of its stream is current.",
        "CUDA Programming Guide 4.3.5.1",
        outside("scenarios have no current context"),
    ),
];

/// Rules 25 to 37.
pub(super) const POOLS: &[Rule] = &[
    rule(
        25,
        "An allocation without a pool takes the current pool of its stream's device, which is the default pool until another
local pool is set.",
        "CUDA driver API, cuDeviceSetMemPool; CUDA Programming Guide 4.3.3",
        shown("scenarios/basics/current_pool.scn"),
    ),
    rule(
        26,
        "An allocation may name a pool of another device than its stream's.",
        "CUDA driver API, cuMemAllocFromPoolAsync",
        shown("scenarios/basics/current_pool_of_another_device.scn"),
    ),
    rule(
        27,
        "The default pool of a device holds its memory, is always accessible from it, cannot be shared between processes and
cannot be destroyed.",
        "CUDA Programming Guide 4.3.3.1; CUDA driver API, cuMemPoolDestroy",
        shown("scenarios/ipc/without_a_handle.scn"),
    ),
    rule(
        28,
        "Destroying a pool returns at once, and what it holds goes once nothing of it lives and every free of it is complete;
the default pool takes the place of a destroyed current one.",
        "CUDA driver API, cuMemPoolDestroy",
        shown("scenarios/basics/destroyed_pool.scn"),
    ),
    rule(
        29,
        "A pool starts with its three policies on and the threshold 0, all of which can be set; its current figures can only
be read, its high marks only be reset.",
        "CUDA driver API, CUmemPool_attribute, cuMemPoolSetAttribute",
        shown("scenarios/basics/attributes.scn"),
    ),
    rule(
        30,
        "Further attributes can only be read: type of the allocations, kinds of handles, location, maximum size, hardware
decompression, locality domain.",
        "CUDA driver API, CUmemPool_attribute",
        outside("they repeat what a pool was made with, beyond what a scenario reads"),
    ),
    rule(
        31,
        "Writing 0 to a high mark makes it the current value, not zero.",
        "CUDA Programming Guide 4.3.4.3; CCCL, memory_pools.cu",
        shown("scenarios/basics/reset_while_live.scn"),
    ),
    rule(
        32,
        "A maximum size other than 0, rounded up, is a limit for what a pool reserves; 0 leaves that to the system.",
        "CUDA driver API, CUmemPoolProps, cuMemPoolCreate",
        shown("scenarios/limits/max_size.scn"),
    ),
    rule(
        33,
        "A pool lies on a device, on the host or on one NUMA node of the host; one on the host
without a node cannot be shared, and the node of the calling thread is no place for one; its device, or else the CPU, is the
first accessor.",
        "CUDA driver API, cuMemPoolCreate",
        shown("scenarios/access/host_pool.scn"),
    ),
    rule(
        34,
        "A pool of managed memory has no handle and no maximum size, and needs devices with concurrent managed access.",
        "CUDA driver API, cuMemPoolCreate",
        outside("managed pools are thinly documented and move memory, which is not modelled"),
    ),
    rule(
        35,
        "Default and current pools can be had by location and type of allocation; for pinned memory of a device they are
those of the device.",
        "CUDA driver API, cuMemGetDefaultMemPool, cuMemGetMemPool, cuMemSetMemPool",
        outside("it differs from the current pool of a device for managed pools only"),
    ),
    rule(
        36,
        "The threshold and the policies belong to each pool by itself.",
        "CUDA driver API, CUmemPool_attribute",
        shown("scenarios/basics/attributes.scn"),
    ),
    rule(
        37,
        "While a stream is captured a pool only lends its properties and its access, and only memory of the graph can be freed
there.",
        "CUDA driver API, cuMemFreeAsync",
        shown("scenarios/graphs/owned_by_the_graph.scn"),
    ),
];

/// Rules 68 to 78.
pub(super) const SHARING: &[Rule] = &[
    rule(
        68,
        "Access to a pool comes from the pool alone; enabling peer access between devices changes nothing for it.",
        "CUDA Programming Guide 4.3.3.3",
        shown("scenarios/guide/peer_access.scn"),
    ),
    rule(
        69,
        "Granting a device access to a pool holds for all its allocations, past and future; its own device cannot lose it,
and a device that is no peer cannot have it.",
        "CUDA Programming Guide 4.3.3.3",
        shown("scenarios/access/out_of_reach.scn"),
    ),
    rule(
        70,
        "A pool can be exported only as the kind of handle that it was made with.",
        "CUDA Programming Guide 4.3.3.4.1; hip-tests, catch/unit/memory; CCCL, memory_pools.cu",
        shown("scenarios/ipc/without_a_handle.scn"),
    ),
    rule(
        71,
        "An imported pool can be reached from its own device only, until the importer grants more; grants of the exporter are
not inherited.",
        "CUDA Programming Guide 4.3.3.4.2; cuda-python, memory_ipc/test_peer_access",
        shown("scenarios/ipc/access_is_not_inherited.scn"),
    ),
    rule(
        72,
        "An imported pool serves no allocations, cannot be made current and cannot be exported again; its figures count what
was imported.",
        "CUDA Programming Guide 4.3.3.4.5; CUDA driver API, cuMemPoolImportFromShareableHandle",
        shown("scenarios/ipc/what_an_imported_pool_refuses.scn"),
    ),
    rule(
        73,
        "Pools that are shared between processes give no memory back: a trim and the threshold have no effect on them.",
        "CUDA Programming Guide 4.3.3.4.4, 4.3.3.4.5",
        shown("scenarios/ipc/gives_nothing_back.scn"),
    ),
    rule(
        74,
        "Importing a pointer does not wait for the allocation; the importer has to order its use after it.",
        "CUDA Programming Guide 4.3.3.4.3",
        shown("scenarios/ipc/import_waits_for_the_export.scn"),
    ),
    rule(
        75,
        "The importer has to free before the exporter: its free is complete, or the free of the exporter is ordered after it;
either side may free by the host.",
        "CUDA driver API, cuMemPoolImportPointer",
        shown("scenarios/ipc/freed_before_importer.scn"),
    ),
    rule(
        76,
        "After its free the importer has no access any more; the exporter may go on using the memory.",
        "CUDA Programming Guide 4.3.3.4.3",
        shown("scenarios/hazards/use_after_free_of_an_import.scn"),
    ),
    rule(
        77,
        "What is exported for a pointer is plain data; who may use it is decided by the handle of the pool.",
        "CUDA Programming Guide 4.3.3.4.3",
        outside("it is about the bytes of a handle, which a scenario does not have"),
    ),
    rule(
        78,
        "An event shared between processes keeps no times; each process can record, wait for, query and synchronise it until
its owner destroys it.",
        "CUDA driver API, cuIpcGetEventHandle",
        shown("scenarios/ipc/no_times.scn"),
    ),
];
