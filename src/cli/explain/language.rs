//! What the words of the language do, in a sentence or two, and where the reference has the rest.

/// A word of the language, and what there is to say about it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    /// The word.
    pub(super) word: &'static str,
    /// A line with it; empty where the syntax has a usual one for the word.
    pub(super) usage: &'static str,
    /// What it does. The first line stands alone in lists.
    pub(super) text: &'static str,
    /// The section of the reference that has all of it.
    pub(super) section: &'static str,
}

const fn word(word: &'static str, section: &'static str, text: &'static str) -> Entry {
    Entry { word, usage: "", text, section }
}

const fn form(word: &'static str, usage: &'static str, section: &'static str, text: &'static str) -> Entry {
    Entry { word, usage, text, section }
}

const VALUES: &str = "Lines, words, values";
const DECLARATIONS: &str = "Declarations";
const OPERATIONS: &str = "Operations of a stream";
const CALLS: &str = "Calls of the host";
const ERRORS: &str = "Errors";
const LIFE: &str = "Create and destroy";
const PARTS: &str = "Parts and views";
const COPIES: &str = "Copies, and memory of the host";
const OUTSIDE: &str = "Memory outside of pools";
const ACCESS: &str = "Access of devices";
const ON_HOST: &str = "Pools on the host";
const GRAPHS: &str = "Graphs";
const THREADS: &str = "Host threads";
const PROCESSES: &str = "Processes";
const EXPECTATIONS: &str = "Expectations";
const VARIANTS: &str = "Variants";
const MODELS: &str = "Models";
const PROFILES: &str = "Profiles";

/// All of them, in the order of the reference.
pub(super) const ENTRIES: &[Entry] = &[
    form("max", "set POOL.release_threshold = max", VALUES, "The largest size."),
    word("millpond", DECLARATIONS, "States the version of the language, before every other statement."),
    word("scenario", DECLARATIONS, "Gives the title that reports show."),
    word("device", DECLARATIONS, "Declares a device; without such a line there is `gpu0`."),
    word(
        "pool",
        DECLARATIONS,
        "Declares a pool, cudaMemPoolCreate, that is there from the start.
`set gpu0.pool = p` makes one the current pool of its device, and `expect gpu0.pool == p` looks whether it is.",
    ),
    form(
        "max_size",
        "pool NAME on DEVICE { max_size = 64MiB }",
        DECLARATIONS,
        "A setting of a pool: the most that it may reserve, and 0 is no limit.",
    ),
    form(
        "reuse",
        "pool NAME on DEVICE { reuse = [follow_event, opportunistic, internal] }",
        DECLARATIONS,
        "A setting of a pool: which of its three reuse policies are on.
Without it all are, as in CUDA. `millpond explain follow_event` explains one of them.",
    ),
    form(
        "default_pool",
        "set gpu0.default_pool.release_threshold = max",
        DECLARATIONS,
        "The pool that each device has, cudaDeviceGetDefaultMemPool.",
    ),
    word("stream", DECLARATIONS, "Declares streams, cudaStreamCreate, or an array of them."),
    form(
        "non_blocking",
        "stream NAME non_blocking",
        DECLARATIONS,
        "A stream that the legacy default stream does not wait for, nor the reverse; cudaStreamNonBlocking.",
    ),
    form(
        "priority",
        "stream NAME priority -1",
        DECLARATIONS,
        "How much a device is to prefer the work of a stream, cudaStreamCreateWithPriority: from 0, the least, to -5.
A number outside becomes the nearest one. To CUDA it is a hint that promises no order, so that nothing changes here.",
    ),
    form(
        "legacy",
        "legacy: record EVENT",
        DECLARATIONS,
        "The legacy default stream of the first device; of another one `gpu1.legacy`.
It waits for all blocking streams, and they wait for it.",
    ),
    form(
        "per_thread",
        "per_thread: record EVENT",
        DECLARATIONS,
        "The default stream that each host thread has of its own, cudaStreamPerThread.",
    ),
    word(
        "event",
        DECLARATIONS,
        "Declares events, cudaEventCreate, or an array of them.
An event is recorded on streams of one device: the one behind `on`, or else that of the first stream that records it.",
    ),
    word("kernel", DECLARATIONS, "Declares a kernel: what it touches, and how long it takes."),
    form(
        "takes",
        "kernel NAME(x: write) takes 5us..20us",
        DECLARATIONS,
        "How long a kernel, a copy or a function takes: always `10us`, or drawn by the seed.
`5us..20us` and `10us +- 20%` are alike in their range, `normal(10us, 2us)` has a mean and a deviation.",
    ),
    word(
        "collective",
        DECLARATIONS,
        "Declares an operation of several streams that starts in all of them together.",
    ),
    word("let", DECLARATIONS, "Names a value; a figure of a pool in it is read there."),
    word("repeat", DECLARATIONS, "A loop; its last bound is left out, as in `0..10`, which is 0 to 9."),
    word(
        "alloc",
        OPERATIONS,
        "Allocates in the order of the stream, cudaMallocAsync.
Behind `from` stands the pool, cudaMallocFromPoolAsync; without it, it is the current pool of the device.",
    ),
    form(
        "from",
        "STREAM: NAME = alloc SIZE from POOL",
        OPERATIONS,
        "The pool of an allocation; of a copy, what is read.",
    ),
    word(
        "free",
        OPERATIONS,
        "Frees memory: cudaFreeAsync in the order of the stream, or cudaFree by the host at once.
Behind a stream, the memory is there for others when the stream has got so far.",
    ),
    form(
        "until",
        "STREAM: KERNEL(BUFFER) until SIGNAL",
        OPERATIONS,
        "A launch that runs until the host gives the signal.",
    ),
    word("record", OPERATIONS, "Records an event behind what the stream has so far, cudaEventRecord."),
    word("wait", OPERATIONS, "Makes the stream wait for what an event has recorded, cudaStreamWaitEvent."),
    word(
        "host",
        OPERATIONS,
        "A function that the host runs in the order of the stream, cudaLaunchHostFunc.
It may take time, wait for a signal, and give one when it returns.",
    ),
    form(
        "as",
        "STREAM: KERNEL(BUFFER) as NAME",
        OPERATIONS,
        "Gives a line a label, by which expectations and variants speak of it.",
    ),
    form(
        "label",
        "STREAM: KERNEL(BUFFER) as NAME",
        OPERATIONS,
        "What expectations and variants call a line; it stands behind `as`.",
    ),
    word(
        "sync",
        CALLS,
        "Waits for a stream, an event or a device, cudaStreamSynchronize and its kin.
It proves to the allocator what is complete, and a pool gives back what it holds above its threshold.",
    ),
    word("query", CALLS, "Asks whether all is done, cudaStreamQuery; fails with `not_ready` if not."),
    word("poll", CALLS, "Asks until all is done; unlike `sync` it proves nothing to the allocator."),
    form(
        "elapsed",
        "let NAME = elapsed EVENT to EVENT",
        CALLS,
        "Names the time between two events, cudaEventElapsedTime; fails with `not_ready` before both have happened.
Without a record, or for an event that is `{ interprocess }`, it fails with `invalid_resource_handle`.
So does one between events of two devices. It waits for nothing and orders nothing. Where the second event came first,
the time is negative.",
    ),
    word("sleep", CALLS, "The host does something else for that time."),
    word("trim", CALLS, "Gives back what a pool holds above a size and does not need, cudaMemPoolTrimTo."),
    word("set", CALLS, "Sets an attribute of a pool, or the current pool of a device (`set gpu0.pool = p`)."),
    word(
        "reset",
        CALLS,
        "Sets a high mark back to what is now, as CUDA does; or resets a device, cudaDeviceReset.
`reset gpu0` waits for the device, and destroys its streams, its events and its graphs, and what `malloc` gave. Memory of
pools lives, and so do the pools.",
    ),
    word("signal", CALLS, "Gives a signal: whatever waits for it goes on."),
    word("await", CALLS, "The thread waits until a signal is given, or for what `async` began."),
    word("join", CALLS, "The thread waits until another one has ended."),
    word("barrier", CALLS, "The thread waits until so many threads have come."),
    word(
        "snapshot",
        CALLS,
        "Records all pools, to be compared with what was accepted.
`millpond test --bless FILE` accepts it.",
    ),
    form(
        "fails",
        "STREAM: NAME = alloc SIZE fails out_of_memory",
        ERRORS,
        "Demands that the call fails with that error.
In an expectation, `expect LABEL fails ERROR` says how the latest call of a line ended. Behind `or_fails` that line
accepts both; the text and its variants then each expect one, also `expect LABEL not fails`.",
    ),
    form(
        "or_fails",
        "query STREAM or_fails not_ready",
        ERRORS,
        "Accepts that the call fails with that error.
`expect LABEL fails ERROR` and `expect LABEL not fails` say later what it did.",
    ),
    form(
        "else",
        "STREAM: NAME = alloc SIZE else out_of_memory {",
        ERRORS,
        "Opens a block that is carried out where the call fails with that error.
Where the block allocates the missing buffer, the lines behind it go on with that one.",
    ),
    word("create", LIFE, "Creates a stream, an event or a pool where the line stands."),
    form(
        "reusing",
        "create stream NAME reusing OLD",
        LIFE,
        "Says that the new thing gets the handle of one that was destroyed.",
    ),
    word(
        "destroy",
        LIFE,
        "Destroys a stream, an event or a pool; what was asked of it before still happens.",
    ),
    word("view", PARTS, "Gives a part of a buffer a name of its own."),
    word("host_buffer", COPIES, "Declares memory of the host, pinned or pageable."),
    form(
        "pinned",
        "host_buffer NAME 64MiB pinned",
        COPIES,
        "Memory of the host that devices reach, cudaMallocHost.",
    ),
    form(
        "pageable",
        "host_buffer NAME 64MiB pageable",
        COPIES,
        "Any other memory of the host; copies of it go through the driver, and may wait.",
    ),
    word("copy", COPIES, "Copies memory: cudaMemcpyAsync in a stream, cudaMemcpy without one."),
    word("memset", COPIES, "Writes memory: cudaMemsetAsync in a stream, cudaMemset without one."),
    word("read", COPIES, "The host itself reads its own memory, or managed memory."),
    word("write", COPIES, "The host itself writes its own memory, or managed memory."),
    word(
        "reserve",
        OUTSIDE,
        "Other programs hold so much of a device from this line on, in place of what they held before.
`reserve 0B outside` gives it back. It fails where the device does not have so much; pools do not give way.",
    ),
    form("malloc", "NAME = malloc 4KiB", OUTSIDE, "Allocates outside of pools, cudaMalloc."),
    form("managed", "NAME = malloc 4KiB managed", OUTSIDE, "Allocates memory that host and devices reach."),
    form(
        "peers",
        "device gpu0 { peers = [gpu1] }",
        ACCESS,
        "A setting of a device: the devices that can reach its memory, and whose memory it can reach.
Whether they do is said for each pool, by `grant`.",
    ),
    word(
        "grant",
        ACCESS,
        "Gives a device access to all memory of a pool, cudaMemPoolSetAccess; behind it, `read` is less.",
    ),
    word("revoke", ACCESS, "Takes the access of a device to the memory of a pool away."),
    form(
        "reaches",
        "expect DEVICE reaches POOL",
        ACCESS,
        "Expects that a device has access to a pool, or could have it to the memory of another device.
With `read` or `read_write` behind it, just this access; with `not`, that it has none.",
    ),
    form(
        "host_numa",
        "pool NAME on host_numa 0",
        ON_HOST,
        "A node of the host, on which a pool has its memory, cudaMemLocationTypeHostNuma.
`on host` leaves the node open. Devices reach such memory once they are given access.",
    ),
    form(
        "handle",
        "pool NAME on DEVICE { handle = posix_fd }",
        ON_HOST,
        "A setting of a pool: what it can be shared with other processes by, `posix_fd` or `fabric`.
Without it, or with `none`, it cannot be.",
    ),
    word(
        "graph",
        GRAPHS,
        "A graph: the lines of its block are captured instead of called, and a launch runs them.
Streams in the block tell the branches of the graph apart; what it allocates is memory of the graph.",
    ),
    form(
        "instantiate",
        "NAME = instantiate GRAPH",
        GRAPHS,
        "Makes an executable graph of a graph, cudaGraphInstantiate.
With memory nodes there is one at a time: a second one fails with not_supported.",
    ),
    form(
        "auto_free",
        "NAME = instantiate GRAPH auto_free",
        GRAPHS,
        "A launch frees what the launch before has left, cudaGraphInstantiateFlagAutoFreeOnLaunch.
Without it, a launch while an allocation of the graph lives fails with invalid_value.",
    ),
    word("launch", GRAPHS, "Launches an executable graph into a stream, cudaGraphLaunch."),
    word("upload", GRAPHS, "Maps what a launch of an executable graph would map, cudaGraphUpload."),
    word("thread", THREADS, "Starts a host thread, which does what stands in the block."),
    word(
        "async",
        THREADS,
        "A thread that writes or reads memory of the host meanwhile; `await` waits for it.",
    ),
    word(
        "process",
        PROCESSES,
        "Starts another process, which does what stands in the block.
Its names, streams and pools are its own; devices and kernels are those of the text around.",
    ),
    form(
        "interprocess",
        "event NAME { interprocess }",
        PROCESSES,
        "An event that other processes can open, cudaEventInterprocess.",
    ),
    word(
        "export",
        PROCESSES,
        "Lets other processes import a pool, a buffer or an event under a name.
A pool needs a `handle` for that, and an event `{ interprocess }`.",
    ),
    form(
        "import",
        "NAME = import SHARED on DEVICE",
        PROCESSES,
        "Gives a name to what another process exports, and waits until it has.
Behind it stands `on gpu0` for a pool, `from` and the imported pool for memory, and nothing for an event. It does not
wait for the memory to be ready.",
    ),
    word(
        "expect",
        EXPECTATIONS,
        "States what must be so; the report says whether it is.
It is judged where it stands, without waiting: a `sync` before it waits.",
    ),
    form(
        "address",
        "expect NAME.address % 512B == 0",
        EXPECTATIONS,
        "The first address of a buffer, in bytes; `let a = NAME.address` keeps it.
Addresses are multiples of 512 bytes, and that of a live allocation never changes.",
    ),
    form(
        "reuses",
        "expect NAME reuses OTHER via follow_event",
        EXPECTATIONS,
        "Expects that two allocations share a byte; with `not`, that they share none.",
    ),
    form(
        "ready",
        "expect NAME ready on STREAM",
        EXPECTATIONS,
        "Expects that work put into the stream now may use the buffer: it is live, and the stream is ordered after it.
An event, the legacy default stream, a wait of the allocator or a `sync` make that order. Timing plays no part.",
    ),
    form(
        "depends",
        "expect NAME depends on timing",
        EXPECTATIONS,
        "Expects that with another timing of the devices the allocation would have been served otherwise.
With `not`, that the order of calls, events and waits decides alone.",
    ),
    form("via", "expect NAME via growth", EXPECTATIONS, "Expects the class that serves an allocation."),
    form(
        "starts",
        "expect NAME starts >= end OTHER",
        EXPECTATIONS,
        "Expects how the moments of two operations stand to each other, or to a time; also `ends`.",
    ),
    form(
        "finding",
        "expect finding freed_before_importer on NAME at LABEL 2 times",
        EXPECTATIONS,
        "Expects something that is wrong with the program; judged over the whole run, wherever it is written.
Behind `on` stands what the process calls the memory, behind `at` the label of a line that it is about; each of the
parts may be left out. An error that no line expects fails the run; `millpond explain` lists all findings.",
    ),
    form(
        "findings",
        "expect no findings",
        EXPECTATIONS,
        "Expects that nothing is found to be wrong with the program, no warning and no lint either.
What a line allows does not count.",
    ),
    form("leaks", "expect no leaks", EXPECTATIONS, "Expects that all memory is freed: a leak is an error then, and not a warning."),
    form(
        "always",
        "expect always POOL.reserved_high <= 256MiB",
        EXPECTATIONS,
        "Expects something in every timing of the model and profile, whatever takes how long; any expectation may stand behind it.
A search through all timings decides it, or comes to its limit (`--limit`) and leaves it undecided. `expect always no findings`
is the strongest one. A line that fails shows a command that repeats the timing which does.",
    ),
    form(
        "sometimes",
        "expect sometimes out_of_memory",
        EXPECTATIONS,
        "Expects something in at least one timing; any expectation, an error or a finding may stand behind it.
The report shows a command that repeats such a timing. An error that it speaks of fails no run.",
    ),
    form(
        "never",
        "expect never use_after_free",
        EXPECTATIONS,
        "Expects something in no timing; any expectation, an error or a finding may stand behind it.
`expect always no use_after_free` says the same.",
    ),
    word(
        "allow",
        EXPECTATIONS,
        "Allows a warning or a lint: it is not told, but counted, over the whole run.
Behind `on` stands what the process calls the memory. `millpond run --allow CODE` does the same for one run. An error
cannot be allowed, but expected.",
    ),
    word(
        "variant",
        VARIANTS,
        "The same program changed: other settings and values, lines left out.
It has expectations of its own. `millpond test` runs all variants, `millpond run FILE --variant NAME` one.",
    ),
    form("omit", "omit LABEL", VARIANTS, "In a variant: the lines with that label are left out."),
    form(
        "model",
        "model oxicuda",
        MODELS,
        "The allocator that the program runs on: `cuda`, which is the default, or `oxicuda`.
It stands outside of blocks, or in a variant. `millpond run FILE --model oxicuda` chooses it for one run.",
    ),
    form("cuda", "model cuda", MODELS, "The allocator that follows CUDA's documents; it is the default."),
    form(
        "oxicuda",
        "model oxicuda",
        MODELS,
        "The StreamOrderModel of crate oxicuda-driver 0.5.5: what it answers beside what CUDA would do.
It has no policies: freed memory is used again once the stream of the free has been synchronised, whole blocks at
a time. docs/oxicuda.md has its departures from CUDA, each with a scenario.",
    ),
    word(
        "profile",
        PROFILES,
        "Says numbers and switches of the device and the driver that documents leave open.
It holds for the whole text; a variant says `set profile.remap = off`. profiles/default.ron has the usual values
and where each comes from.",
    ),
    form(
        "remap",
        "profile { remap = full }",
        PROFILES,
        "What a pool gives back to make room for its own growth: nothing (`off`), idle chunks (`idle`), idle parts (`full`).",
    ),
    form(
        "oversubscribe",
        "device gpu0 { oversubscribe = on }",
        PROFILES,
        "Whether a device hands out more memory than it has, instead of failing; also a setting of the profile.
What is beyond is memory of the system, as drivers on Windows do; `gpu0.beyond` says how much. No timing changes.",
    ),
    form(
        "unused_first",
        "profile { unused_first = on }",
        PROFILES,
        "Memory that was never handed out is taken before freed memory.",
    ),
    form(
        "plain_free_syncs",
        "profile { plain_free_syncs = on }",
        PROFILES,
        "A plain `free` of memory outside of pools first synchronises its device.",
    ),
    form(
        "zero_size",
        "profile { zero_size = invalid_value }",
        PROFILES,
        "Whether an allocation of 0 bytes gives the null pointer (`success`) or fails (`invalid_value`).",
    ),
    form(
        "internal_on_max_size",
        "profile { internal_on_max_size = off }",
        PROFILES,
        "Whether a wait is inserted too where only the maximum size of the pool forbids it to grow.",
    ),
    form(
        "legacy_sync_releases",
        "profile { legacy_sync_releases = on }",
        PROFILES,
        "Whether a synchronise of the legacy default stream gives memory above the threshold back.",
    ),
    form(
        "late_access_check",
        "profile { late_access_check = on }",
        PROFILES,
        "Whether access of a device that is no peer fails only at the next allocation, where the pool is empty.",
    ),
    form(
        "first_free_ends_imports",
        "profile { first_free_ends_imports = on }",
        PROFILES,
        "Whether the first free of an import ends all imports of that memory in its process.",
    ),
    form(
        "alignment",
        "profile { alignment = 512B }",
        PROFILES,
        "Allocations are rounded up to it, and start at a multiple of it.",
    ),
    form(
        "granule",
        "profile { granule = 2MiB }",
        PROFILES,
        "The steps in which a pool grows where a whole chunk of `growth` does not fit any more.",
    ),
    form(
        "submit",
        "profile { submit = 2us }",
        PROFILES,
        "What submitting an operation costs the host thread; `call` is what each other call costs.",
    ),
    form(
        "queue_depth",
        "profile { queue_depth = 1024 }",
        PROFILES,
        "How many launches a stream may be ahead of its device; the next one blocks the host. `off` is no limit.
The launch of a graph is one.",
    ),
];
