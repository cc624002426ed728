//! The rules about what the allocator does: reuse, physical memory, graphs; and what is said about mistakes.

use super::{Rule, outside, partly, rule, shown};

/// Rules 38 to 52.
pub(super) const REUSE: &[Rule] = &[
    rule(
        38,
        "Freed memory is tried before more is taken from the system.",
        "CUDA Programming Guide 4.3.4.4",
        shown("scenarios/guide/phase_then_trim.scn"),
    ),
    rule(
        39,
        "What a stream has freed serves its next allocation at once, while the work before the free still runs; no policy
switches that off.",
        "CUDA Programming Guide 4.3.4.4; hip-tests, MemPoolApi_BasicReuse",
        shown("scenarios/basics/same_stream.scn"),
    ),
    rule(
        40,
        "A free that a synchronise has shown to be complete serves every stream, with all policies off.",
        "CUDA Programming Guide 4.3.4.5",
        shown("scenarios/sync/observed_through_an_event.scn"),
    ),
    rule(
        41,
        "With follow_event on, memory freed in another stream serves an allocation that is ordered after the free, by events
or by the legacy default stream; it is tried before the pool grows.",
        "CUDA driver API, CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES; CUDA Programming Guide 4.3.4.4.1",
        shown("scenarios/reuse/follow_event/on.scn"),
    ),
    rule(
        42,
        "With opportunistic on, memory serves whose free has completed by the call of the allocation; what comes of it
depends on timing.",
        "CUDA Programming Guide 4.3.4.4.2, 4.3.4.4.4",
        shown("scenarios/reuse/opportunistic/on.scn"),
    ),
    rule(
        43,
        "Switching opportunistic reuse off switches off neither what is observed nor what events order.",
        "CUDA Programming Guide 4.3.4.4.2",
        shown("scenarios/sync/observed_through_an_event.scn"),
    ),
    rule(
        44,
        "With internal on, and only when no more memory can be mapped, memory serves whose free is still pending in another
stream; the driver inserts the wait.",
        "CUDA Programming Guide 4.3.4.4.3",
        shown("scenarios/reuse/internal/growth_first.scn"),
    ),
    rule(
        45,
        "A wait that the driver inserts is a real one: later work of the allocating stream comes after the other's free.",
        "CUDA Programming Guide 4.3.4.4.4",
        shown("scenarios/reuse/internal/serialises.scn"),
    ),
    rule(
        46,
        "Memory is handed out again only where correct uses of both allocations cannot overlap in time, which events,
the legacy default stream and inserted waits may all prove.",
        "CUDA driver API, stream ordered memory allocator, overview",
        shown("scenarios/events/recorded_before_the_free.scn"),
    ),
    rule(
        47,
        "Which policies there are, and in which order they are tried, may change with the driver.",
        "CUDA Programming Guide 4.3.4.4",
        outside("a freedom of the driver; the order here is fixed, see scenarios/reuse/one_class_after_the_other.scn"),
    ),
    rule(
        48,
        "The policies hold for default and for explicit pools, and mean nothing for imported ones.",
        "CUDA Programming Guide 4.3.4.4, 4.3.3.4.5",
        shown("scenarios/ipc/what_an_imported_pool_refuses.scn"),
    ),
    rule(
        49,
        "With opportunistic and internal off, the order of the host's calls alone decides what serves an allocation.",
        "openxla/xla, gpu_cudamallocasync_allocator.cc, TF_DETERMINISTIC_ALLOCATOR",
        shown("scenarios/reuse/the_same_for_every_timing.scn"),
    ),
    rule(
        50,
        "Opportunistic reuse is defective on drivers below 11.5.",
        "CCCL, ensure_disable_reuse",
        shown("scenarios/invalid/opportunistic_on_old_driver.scn"),
    ),
    rule(
        51,
        "Memory freed on a stream that joined all its users serves other streams only by an order or opportunistically.",
        "pytorch, CUDAMallocAsyncAllocator.cpp, free_impl",
        shown("scenarios/reuse/freed_on_a_joining_stream.scn"),
    ),
    rule(
        52,
        "When memory is out, a synchronise and a second try can succeed.",
        "tensorflow/tensorflow#50699; rapidsai/rmm#1245",
        shown("scenarios/limits/else_retries.scn"),
    ),
];

/// Rules 53 to 67.
pub(super) const MEMORY: &[Rule] = &[
    rule(
        53,
        "A pool that holds more than its threshold gives memory back at the next synchronise of a stream, an event or a
device, and not at a free; the threshold is 0 at first, and the largest number keeps all.",
        "CUDA driver API, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD; CUDA Programming Guide 4.3.4.2",
        shown("scenarios/sync/threshold_acts_at_a_synchronise.scn"),
    ),
    rule(
        54,
        "The threshold is no limit: between synchronises a pool may hold more.",
        "JuliaGPU/CUDA.jl#1540; pytorch, CUDAMallocAsyncAllocator.cpp, setMemoryFraction",
        shown("scenarios/limits/threshold_is_no_cap.scn"),
    ),
    rule(
        55,
        "What a synchronise gives back is what exceeds the threshold, not all that is unused.",
        "JuliaGPU/CUDA.jl#1540",
        shown("scenarios/sync/released_down_to_the_threshold.scn"),
    ),
    rule(
        56,
        "A chunk of physical memory can be given back only when nothing in it is in use.",
        "CUDA samples, streamOrderedAllocation; CCCL, memory_pools.cu, trim_to",
        shown("scenarios/sync/one_byte_keeps_a_chunk.scn"),
    ),
    rule(
        57,
        "A synchronise waits, makes the frees that it has shown complete available, then looks at the threshold and gives
back.",
        "CUDA Programming Guide 4.3.4.5",
        shown("scenarios/sync/threshold_acts_at_a_synchronise.scn"),
    ),
    rule(
        58,
        "In one report polling and a synchronise of the legacy stream gave no memory back where a synchronise of the stream
did.",
        "JuliaGPU/CUDA.jl#1157",
        shown("scenarios/sync/legacy_stream_orders_only.scn"),
    ),
    rule(
        59,
        "A trim does nothing where less is reserved than it is told to keep; otherwise it gives back what it can, and never
goes below that.",
        "CUDA driver API, cuMemPoolTrimTo",
        shown("scenarios/trim/never_below.scn"),
    ),
    rule(
        60,
        "A trim does not wait, and leaves chunks that hold live memory or a free that no synchronise has observed.",
        "CUDA driver API, cuMemPoolTrimTo; hip-tests, TrimTo_Positive_Basic; pytorch/executorch#22312",
        shown("scenarios/trim/pending_is_not_idle.scn"),
    ),
    rule(
        61,
        "What a pool keeps is not there for plain memory, for other pools and for other processes until it is given back.",
        "cupy, TestMemoryAsyncPool",
        shown("scenarios/ipc/own_names.scn"),
    ),
    rule(
        62,
        "Used are the bytes that are handed out and not reusable; reserved is the physical memory that a pool holds.",
        "CUDA Programming Guide 4.3.4.3",
        shown("scenarios/basics/same_stream.scn"),
    ),
    rule(
        63,
        "The used figure counts bytes as they were requested, without rounding.",
        "hip-tests, TwoAllocs; rapidsai/rmm#1245",
        shown("scenarios/basics/alignment.scn"),
    ),
    rule(
        64,
        "A pool grows by units of 32 MiB, by smaller ones where its maximum size leaves less.",
        "CUDA.jl documentation, memory management; rapidsai/rmm#1245; cuda-python, test_memory.py",
        shown("scenarios/basics/growth_unit.scn"),
    ),
    rule(
        65,
        "Addresses within a chunk are multiples of 512 bytes, and its first one is a multiple of 32 MiB.",
        "rapidsai/rmm#2156; JuliaGPU/CUDA.jl#780; NVlabs/cutile-rs#252",
        shown("scenarios/basics/addresses.scn"),
    ),
    rule(
        66,
        "The driver remaps unused memory of a pool to make one range of it, and still some requests fail with much unused.",
        "pytorch/pytorch#110194; rapidsai/rmm#1245",
        shown("scenarios/profile/remap.scn"),
    ),
    rule(
        67,
        "The address of a live allocation never changes; after the free another allocation may have it.",
        "CUDA Programming Guide, graph memory nodes; hip-tests, MemPoolApi_BasicReuse",
        shown("scenarios/basics/addresses.scn"),
    ),
];

/// Rules 79 to 88.
pub(super) const NODES: &[Rule] = &[
    rule(
        79,
        "An allocation that is captured belongs to its graph; the pool only lends its properties.",
        "CUDA driver API, cuMemAllocAsync",
        shown("scenarios/graphs/owned_by_the_graph.scn"),
    ),
    rule(
        80,
        "The address of an allocation node is fixed when the node is made, for all launches, though not its physical memory;
its lifetime begins when the device reaches the node, and ends at a free node, at a free in a stream, or at once with one
by the host.",
        "CUDA Programming Guide, graph memory nodes (legacy 16.3)",
        shown("scenarios/graphs/life_of_an_allocation.scn"),
    ),
    rule(
        81,
        "What its graph frees cannot be freed elsewhere; what it does not free is freed in a stream, by the host, by another
graph, or at a relaunch with auto-free.",
        "CUDA driver API, cuGraphAddMemAllocNode",
        shown("scenarios/graphs/freed_in_each_way.scn"),
    ),
    rule(
        82,
        "A graph with an allocation that was not freed cannot be launched again, unless it was instantiated with auto-free,
which frees it in stream order first; destroying a graph frees nothing.",
        "CUDA Programming Guide, graph memory nodes (legacy 16.3.3, 16.3.4)",
        shown("scenarios/graphs/relaunched_unfreed.scn"),
    ),
    rule(
        83,
        "A graph with memory nodes loses no node and no edge, is not cloned, has one instance at a time, and becomes a child
graph only by giving up its ownership.",
        "CUDA driver API, cuGraphAddMemAllocNode",
        partly("scenarios/graphs/refused.scn", "the language has no line that clones or edits a graph, and no child graphs"),
    ),
    rule(
        84,
        "The access to a captured allocation is that of its pool at the capture.",
        "CUDA Programming Guide, graph memory nodes (legacy 16.7.2)",
        shown("scenarios/graphs/access_at_the_capture.scn"),
    ),
    rule(
        85,
        "In a graph an allocation may have the address of one whose free comes before it; graphs have addresses of their own
and share physical memory where they cannot overlap.",
        "CUDA Programming Guide, graph memory nodes (legacy 16.4); CUDA samples, graphMemoryFootprint",
        shown("scenarios/graphs/one_stream.scn"),
    ),
    rule(
        86,
        "Instantiating maps nothing; a launch or an upload does, and again where the stream changes, after a trim, or while
another graph holds the memory.",
        "CUDA Programming Guide, graph memory nodes (legacy 16.5)",
        shown("scenarios/graphs/another_stream.scn"),
    ),
    rule(
        87,
        "Graphs of a device have a pool of their own with four figures; only its own trim gives memory back, and spares what
was not freed and graphs that run.",
        "CUDA Programming Guide, graph memory nodes (legacy 16.6); CUDA driver API, cuDeviceGraphMemTrim",
        shown("scenarios/graphs/trim_spares_what_is_in_use.scn"),
    ),
    rule(
        88,
        "A handshake through memory does not order a free after a kernel: the end of the whole kernel must come before it.",
        "CUDA Programming Guide, graph memory nodes (legacy 16.3.3)",
        shown("scenarios/hazards/handshake_orders_nothing.scn"),
    ),
];

/// Rules 89 to 95.
pub(super) const REPORTS: &[Rule] = &[
    rule(
        89,
        "Use before allocation: memory is used, or freed, on another stream with no order after its allocation.",
        "Compute Sanitizer manual 3.9, stream-ordered race detection",
        shown("scenarios/hazards/use_before_alloc.scn"),
    ),
    rule(
        90,
        "Use after free: memory is used on another stream with no order before its free.",
        "Compute Sanitizer manual 3.9, stream-ordered race detection",
        shown("scenarios/hazards/use_after_free.scn"),
    ),
    rule(
        91,
        "The report of a use before allocation says that the address is potentially accessed before it is allocated.",
        "a public log of Compute Sanitizer",
        outside(TEXT),
    ),
    rule(
        92,
        "The report of a free before allocation says that the address is potentially freed before it is allocated.",
        "rapidsai/rmm#2156",
        outside(TEXT),
    ),
    rule(
        93,
        "The report of a use after free says that the address is potentially accessed after it is freed.",
        "NVlabs/cutile-rs#252",
        outside(TEXT),
    ),
    rule(
        94,
        "Each report names two calls: the use or the free, and the allocation.",
        "Compute Sanitizer, release notes; rapidsai/rmm#2156; NVlabs/cutile-rs#252",
        outside(TEXT),
    ),
    rule(
        95,
        "The verdict is about order: it is given also where the run happened to go well.",
        "rapidsai/rmm#2156",
        partly(
            "scenarios/ipc/freed_before_importer.scn",
            "so far one finding is judged: freed_before_importer",
        ),
    ),
];

const TEXT: &str = "the words of another tool";
