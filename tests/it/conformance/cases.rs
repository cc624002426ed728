//! The cases that public tests, reports and documents give: what each is about, where it is from, and why it has no scenario
//! where it has none.

use super::Case;
use super::Status::{AmdOnly, Api, Scenario, ScenarioAndApi, ScenarioBut};

/// Cases of public tests, samples and reports, about streams and pools.
pub(super) const OF_POOLS: &[Case] = &[
    Case(
        "C1",
        "freed and allocated again in one stream while its kernel runs: the same address",
        "hip-tests, MemPoolApi_BasicReuse",
        Scenario,
    ),
    Case("C2", "the same on the default pool", "hip-tests, MemPoolApi_Default", Scenario),
    Case(
        "C3",
        "all policies off, another stream, after the free has completed: another address",
        "hip-tests, MemPoolApi_Opportunistic",
        Scenario,
    ),
    Case(
        "C4",
        "all policies off, the same stream: the same address",
        "hip-tests, MemPoolApi_Opportunistic",
        Scenario,
    ),
    Case(
        "C5",
        "opportunistic, another stream, after the free has completed: the same address",
        "hip-tests, MemPoolApi_Opportunistic",
        Scenario,
    ),
    Case(
        "C6",
        "opportunistic, another stream, before the free is reached: another address",
        "hip-tests, MemPoolApi_Opportunistic",
        Scenario,
    ),
    Case(
        "C7",
        "follow_event, an event between free and allocation: the same address",
        "hip-tests, MemPoolApi_SetAttribute_EventDependencies",
        Scenario,
    ),
    Case(
        "C8",
        "the same with follow_event off: another address",
        "hip-tests, MemPoolApi_SetAttribute_EventDependencies",
        Scenario,
    ),
    Case(
        "C9",
        "a trim under a threshold, before and after the synchronise",
        "hip-tests, BasicTrim, TrimTo_Positive_Basic",
        Scenario,
    ),
    Case(
        "C10",
        "threshold 0; the pool is destroyed while an allocation is live",
        "hip-tests, MemPoolApi_BasicAlloc",
        Scenario,
    ),
    Case("C11", "one small allocation, freed: nothing is used", "hip-tests, OneAlloc", Scenario),
    Case("C12", "two allocations, freed one after the other", "hip-tests, TwoAllocs", Scenario),
    Case(
        "C13",
        "figures and high marks over twenty allocations",
        "hip-tests, GetAttribute_UsageStatistics",
        Scenario,
    ),
    Case("C14", "high marks reset on an emptied pool: 0", "hip-tests, ResetMemHighAttr", Scenario),
    Case(
        "C15",
        "high marks reset while memory is live: the current values",
        "CCCL, memory_pools.cu",
        Scenario,
    ),
    Case(
        "C16",
        "high marks take no value but 0, current figures none",
        "hip-tests, catch/unit/memory; CCCL, memory_pools.cu",
        ScenarioAndApi("unknown numbers of attributes"),
    ),
    Case(
        "C17",
        "defaults of created and default pools; each attribute written and read back",
        "hip-tests, catch/unit/memory; CCCL, memory_pools.cu",
        Scenario,
    ),
    Case(
        "C18",
        "the used figure of a pool counts its own allocations only",
        "hip-tests, GetAttribute_UsedMem, hipMalloc_DefMempool",
        Scenario,
    ),
    Case(
        "C19",
        "an allocation raises the reserved figure to its size at least",
        "hip-tests, GetAttribute_ReservedMem",
        Scenario,
    ),
    Case("C20", "two allocations in a chunk: it stays while one is live", "CCCL, memory_pools.cu", Scenario),
    Case(
        "C21",
        "8 KiB used, 32 MiB reserved; released after synchronise and trim",
        "CUDA.jl documentation, memory management",
        Scenario,
    ),
    Case("C22", "a synchronise releases down to a threshold of 9 GB", "JuliaGPU/CUDA.jl#1540", Scenario),
    Case(
        "C23",
        "70 % freed to a pool: plain memory of 30 % fits only after synchronise and trim; and the reverse",
        "cupy, TestMemoryAsyncPool",
        Scenario,
    ),
    Case(
        "C24",
        "a trim of 256 MiB gives 0 bytes back before the synchronise, all after it",
        "pytorch/executorch#22312",
        Scenario,
    ),
    Case(
        "C25",
        "five rounds, each after a trim to less",
        "hip-tests, TrimTo_VaryingMinBytesToHold",
        Scenario,
    ),
    Case(
        "C26",
        "a maximum size refuses what exceeds it; without one both fit",
        "hip-tests, MemPoolCreate_With_maxSize, MemPoolCreate_Without_maxSize",
        Scenario,
    ),
    Case(
        "C27",
        "destroying a pool twice, or the default pool, is an error",
        "hip-tests, catch/unit/memory",
        ScenarioAndApi("the null pool"),
    ),
    Case(
        "C28",
        "the current pool is set; destroying it makes the default pool current",
        "hip-tests, catch/unit/memory",
        ScenarioBut("managed pools are out of scope"),
    ),
    Case(
        "C29",
        "wrong arguments of the creation of a pool",
        "hip-tests, catch/unit/memory",
        Api("null pointers, numbers of types and devices"),
    ),
    Case(
        "C30",
        "wrong arguments of default and current pool",
        "hip-tests, catch/unit/device",
        Api("null pointers, numbers of devices"),
    ),
    Case(
        "C31",
        "wrong arguments of an allocation; the largest size is out of memory",
        "hip-tests, MallocFromPoolAsync_Negative",
        ScenarioAndApi("null pointers, bad handles"),
    ),
    Case(
        "C32",
        "a second free after the synchronise is an error",
        "hip-tests, hipFreeAsync_Negative_Parameters",
        ScenarioAndApi("bad handles (the test runs on AMD devices only)"),
    ),
    Case(
        "C33",
        "three streams: allocated, used, freed, with events between",
        "hip-tests, MultStream_Sync; CUDA Programming Guide 4.3.2.1",
        Scenario,
    ),
    Case(
        "C34",
        "two streams wait for each other's allocation and free each other's memory",
        "hip-tests, StreamEvent_CrissCross",
        Scenario,
    ),
    Case(
        "C35",
        "plain memory freed in a stream, and memory of a pool freed by the host",
        "hip-tests, ByUsinghipMalloc, ByUsinghipFree",
        Scenario,
    ),
    Case(
        "C36",
        "several streams, default streams and threads use one pool",
        "hip-tests, DefaultStreams_Concurrent, MThread_*",
        Scenario,
    ),
    Case(
        "C37",
        "five rounds over two streams with each policy on and off",
        "hip-tests, ReuseFollowEventDependencies and its kin",
        Scenario,
    ),
];

/// Cases of public tests, samples and reports, about access, processes and mistakes.
pub(super) const OF_SHARING: &[Case] = &[
    Case(
        "C38",
        "a second device is granted access, uses the memory and frees it on its stream",
        "hip-tests, P2P; CUDA samples, streamOrderedAllocationP2P",
        Scenario,
    ),
    Case(
        "C39",
        "what a grant refuses; the own device",
        "hip-tests, MemPoolSetAccess; CCCL, memory_pools.cu",
        ScenarioAndApi("bad flags, numbers of devices"),
    ),
    Case(
        "C40",
        "an importer has no access of peers until it grants it",
        "cuda-python, memory_ipc/test_peer_access",
        Scenario,
    ),
    Case(
        "C41",
        "imported memory: reachable from its device; from a peer between grant and revocation only",
        "cuda-python, memory_ipc/test_peer_access",
        Scenario,
    ),
    Case(
        "C42",
        "a pointer of another pool cannot be imported; an imported pool serves no allocation",
        "cuda-python, test_errors",
        Scenario,
    ),
    Case(
        "C43",
        "a pool without a kind of handle cannot be exported",
        "hip-tests, catch/unit/memory; CCCL, memory_pools.cu",
        ScenarioAndApi("null arguments"),
    ),
    Case(
        "C44",
        "a parent exports, children import, write and free, the parent frees last",
        "CUDA samples, streamOrderedAllocationIPC; hip-tests, memory pools across processes",
        ScenarioBut("a child of a child: processes stand beside each other"),
    ),
    Case(
        "C45",
        "a pool is destroyed while two of its allocations are live",
        "hip-tests, SetAccess_SetAccess",
        Scenario,
    ),
    Case(
        "C46",
        "a kernel on a stream that is not ordered after the allocation",
        "the program of hip-tests, MemPoolApi_Opportunistic, as it was",
        Scenario,
    ),
    Case(
        "C47",
        "freed on a non-blocking stream that is not ordered after the allocation",
        "rapidsai/rmm#2156",
        Scenario,
    ),
    Case(
        "C48",
        "a copy on a stream that is not ordered after the allocation",
        "a public log of Compute Sanitizer",
        Scenario,
    ),
    Case("C49", "a copy on another stream after the free", "NVlabs/cutile-rs#252", Scenario),
];

/// Cases of public tests and samples, about memory nodes of graphs.
pub(super) const OF_GRAPHS: &[Case] = &[
    Case(
        "C50",
        "an allocation that depends on a free in its graph may have the same address",
        "CUDA samples, graphMemoryFootprint",
        Scenario,
    ),
    Case(
        "C51",
        "eight graphs in one stream share 64 MiB, at different addresses",
        "CUDA samples, graphMemoryFootprint",
        Scenario,
    ),
    Case(
        "C52",
        "the same graphs in several streams: 64 MiB more with each launch",
        "CUDA samples, graphMemoryFootprint",
        Scenario,
    ),
    Case(
        "C53",
        "graphs without a free: memory goes back only after the frees and a trim",
        "CUDA samples, graphMemoryFootprint",
        Scenario,
    ),
    Case("C54", "figures and high marks of the memory of two graphs", "hip-tests, DoubleMemory", Scenario),
    Case(
        "C55",
        "figures of a graph that frees what it allocates",
        "hip-tests, GetGraphMemAttribute_ReuseMemory",
        AmdOnly("the test says that it is unclear for NVIDIA devices"),
    ),
    Case(
        "C56",
        "freed memory of a graph counts until a trim; high marks stay",
        "cuda-python, test_graph_memory_resource",
        Scenario,
    ),
    Case(
        "C57",
        "what setting a figure of the graphs' memory refuses",
        "hip-tests, catch/unit/graph",
        ScenarioAndApi("numbers of devices"),
    ),
    Case(
        "C58",
        "what a graph with memory nodes refuses: a second instance, a second free, foreign memory",
        "hip-tests, catch/unit/graph",
        ScenarioBut("the language has no line that clones or edits a graph, and no child graphs"),
    ),
    Case(
        "C59",
        "memory of a graph freed by the graph, by the host, in a stream, by another graph",
        "hip-tests, AddMemAllocNode_Positive",
        Scenario,
    ),
    Case(
        "C60",
        "relaunched three times with auto-free: the same figures each time",
        "hip-tests, FlagAutoFreeOnLaunch_check",
        Scenario,
    ),
    Case(
        "C61",
        "an allocation of 0 bytes in a graph; a captured allocation and free",
        "cuda-python, graph tests; hip-tests, hipFreeAsync_capture",
        Scenario,
    ),
    Case(
        "C62",
        "a graph captured over two streams, with a free between two allocations",
        "CUDA samples, graphMemoryNodes",
        Scenario,
    ),
];

/// Cases that follow from the documents alone; each tells a right model from a likely wrong one.
pub(super) const DERIVED: &[Case] = &[
    Case(
        "N1",
        "a wait for an event that was never recorded orders nothing",
        "CUDA driver API, cuEventRecord",
        Scenario,
    ),
    Case(
        "N2",
        "an event recorded before the free does not cover it",
        "CUDA driver API, cuEventRecord",
        Scenario,
    ),
    Case(
        "N3",
        "the stream that allocated is not ordered after a free on a third stream",
        "CUDA driver API, stream ordered memory allocator, overview",
        Scenario,
    ),
    Case("N4", "order is transitive over a second stream", "CUDA driver API, cuStreamWaitEvent", Scenario),
    Case(
        "N5",
        "the same with the waits in the wrong order: nothing is ordered",
        "CUDA driver API, cuStreamWaitEvent",
        Scenario,
    ),
    Case("N6", "a record after the wait does not move it", "CUDA driver API, cuStreamWaitEvent", Scenario),
    Case(
        "N7",
        "an operation on the legacy stream orders blocking streams, and no non-blocking one",
        "CUDA driver API, stream synchronization behavior",
        Scenario,
    ),
    Case(
        "N8",
        "a synchronise of a stream that has waited for the free makes it available to all",
        "CUDA Programming Guide 4.3.4.5",
        Scenario,
    ),
    Case(
        "N9",
        "memory is full and a free pending: internal on, off, and a second try",
        "CUDA Programming Guide 4.3.4.4.3",
        Scenario,
    ),
    Case(
        "N10",
        "a trim leaves what is freed and was never synchronised",
        "CUDA driver API, cuMemPoolTrimTo",
        Scenario,
    ),
    Case(
        "N11",
        "a plain free while a kernel uses the memory: no wait, a use after the free",
        "CUDA Programming Guide 4.3.2.2",
        Scenario,
    ),
    Case(
        "N12",
        "a kernel submitted to the same stream after the free",
        "CUDA driver API, cuMemFreeAsync",
        Scenario,
    ),
    Case(
        "N13",
        "exactly the threshold is reserved: nothing is released",
        "CUDA driver API, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD",
        Scenario,
    ),
    Case(
        "N14",
        "a synchronise looks at every pool of the device",
        "CUDA Programming Guide 4.3.4.2, 4.3.4.5",
        Scenario,
    ),
    Case(
        "N15",
        "with an event the result is the same for every timing, without one it varies",
        "CUDA Programming Guide 4.3.4.4.2",
        Scenario,
    ),
];
