//! What the words of reports mean: classes of memory, figures of a pool, failures of calls, findings.

/// A word, and what there is to say about it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Word {
    /// The word.
    pub(super) word: &'static str,
    /// What kind of word it is.
    pub(super) kind: Kind,
    /// What it means. The first sentence stands alone in lists.
    pub(super) text: &'static str,
    /// A shipped scenario that shows it.
    pub(super) shown: &'static str,
    /// What the command takes beside it.
    pub(super) more: &'static str,
}

/// What a word stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A class of memory that can serve an allocation.
    Class,
    /// A figure of a pool, in bytes.
    Figure,
    /// A figure of a pool that counts.
    Count,
    /// A figure of a device.
    DeviceFigure,
    /// What serves an allocation outside of pools.
    Outside,
    /// Why a call fails, or a run.
    Failure,
    /// What is wrong with a program.
    Finding,
    /// What an exploration tells.
    Exploration,
    /// What a comparison tells, or a run on hardware.
    Comparison,
}

const fn class(word: &'static str, text: &'static str, shown: &'static str) -> Word {
    Word { word, kind: Kind::Class, text, shown, more: "" }
}

const fn figure(word: &'static str, text: &'static str, shown: &'static str) -> Word {
    Word { word, kind: Kind::Figure, text, shown, more: "" }
}

const fn count(word: &'static str, text: &'static str, shown: &'static str) -> Word {
    Word { word, kind: Kind::Count, text, shown, more: "" }
}

const fn device_figure(word: &'static str, text: &'static str, shown: &'static str) -> Word {
    Word { word, kind: Kind::DeviceFigure, text, shown, more: "" }
}

const fn outside(word: &'static str, text: &'static str, shown: &'static str) -> Word {
    Word { word, kind: Kind::Outside, text, shown, more: "" }
}

const fn failure(word: &'static str, text: &'static str, shown: &'static str) -> Word {
    Word { word, kind: Kind::Failure, text, shown, more: "" }
}

const fn finding(word: &'static str, text: &'static str, shown: &'static str) -> Word {
    Word { word, kind: Kind::Finding, text, shown, more: "" }
}

const fn exploration(word: &'static str, text: &'static str, shown: &'static str) -> Word {
    Word { word, kind: Kind::Exploration, text, shown, more: "" }
}

/// All of them; classes in the order in which they are asked.
pub(super) const WORDS: &[Word] = &[
    class(
        "same_stream",
        "Memory that was freed earlier on the same stream.
The order of the stream is enough, so it is taken at once, even while the kernels before the free still run.
No policy switches it off, and timing plays no part.",
        "scenarios/basics/same_stream.scn",
    ),
    class(
        "observed",
        "Memory whose free the host has seen complete, by a `sync`.
Every stream may take it. It is the `cached` part of a pool. No policy switches it off.",
        "scenarios/sync/observed_through_an_event.scn",
    ),
    class(
        "follow_event",
        "Memory that was freed on another stream, after which the allocating stream is already ordered.
The order comes from `record` and `wait`, or from the legacy default stream, and counts when it is there at the
call. The policy cudaMemPoolReuseFollowEventDependencies switches it; in a scenario `reuse = [follow_event]`
and `set p.follow_event = off`. Timing plays no part.",
        "scenarios/reuse/follow_event/on.scn",
    ),
    class(
        "opportunistic",
        "Memory that was freed on another stream, where the free happens to have completed at the call.
Another timing may decide otherwise, which reports mark with `~`. The policy cudaMemPoolReuseAllowOpportunistic
switches it; in a scenario `reuse = [opportunistic]` and `set p.opportunistic = off`.",
        "scenarios/reuse/opportunistic/on.scn",
    ),
    class(
        "unused",
        "Memory that the pool has mapped and not handed out since; as a figure, how many such bytes it has.
A pool grows in large chunks, so that the rest of a chunk serves later allocations.",
        "scenarios/basics/growth_unit.scn",
    ),
    class(
        "growth",
        "New physical memory, mapped for this allocation.
It is asked for after all that can be reused without a wait, and ends at the memory of the device and at the
`max_size` of the pool. `reserved` grows by it.",
        "scenarios/reuse/internal/growth_first.scn",
    ),
    class(
        "internal",
        "Memory that was freed on another stream, for which the allocator makes the allocating stream wait.
It is asked for last, when the pool cannot grow. The wait is an order that no line of the program asks for. The
policy cudaMemPoolReuseAllowInternalDependencies switches it; in a scenario `reuse = [internal]` and
`set p.internal = off`. Test it with `expect y waits for free x`.",
        "scenarios/reuse/internal/on.scn",
    ),
    figure(
        "reserved",
        "Physical bytes that the pool holds, cudaMemPoolAttrReservedMemCurrent.
It is the sum of live, padding, pending, cached and unused bytes. It falls at a `sync`, as far as it exceeds the
`release_threshold`, and at a `trim`.",
        "scenarios/basics/statistics.scn",
    ),
    figure(
        "reserved_high",
        "The most that `reserved` was since it was reset, cudaMemPoolAttrReservedMemHigh.
`reset p.reserved_high` sets it back to what is reserved now.",
        "scenarios/basics/statistics.scn",
    ),
    figure(
        "used",
        "Bytes of live allocations, as they were asked for, cudaMemPoolAttrUsedMemCurrent.
It grows at the call of `alloc` and falls at the call of `free`, whatever the device has done by then.",
        "scenarios/basics/statistics.scn",
    ),
    figure(
        "used_high",
        "The most that `used` was since it was reset, cudaMemPoolAttrUsedMemHigh.
`reset p.used_high` sets it back to what is used now.",
        "scenarios/basics/reset_while_live.scn",
    ),
    count(
        "maps",
        "How often the pool has mapped physical memory.
Each is a trip to the operating system, which takes the host time that reuse saves.",
        "scenarios/guide/synchronised_every_frame.scn",
    ),
    count(
        "unmaps",
        "How often the pool has given physical memory back.
It does so at a `sync` above its threshold, by `trim`, or to make room for growth.",
        "scenarios/guide/synchronised_every_frame.scn",
    ),
    figure(
        "live",
        "Bytes of live allocations, as they were asked for, in an account of where the bytes of a pool are.
As a figure of a pool the same bytes are called `used`, as CUDA calls them.",
        "scenarios/limits/out_of_memory.scn",
    ),
    figure(
        "padding",
        "Bytes that live allocations have beyond what was asked for, since sizes are rounded up.",
        "scenarios/basics/statistics.scn",
    ),
    figure(
        "pending",
        "Bytes that were freed, and whose free the host has not seen complete.
Their own stream may take them again at once, others only by a policy. A `trim` and a threshold leave them alone.",
        "scenarios/trim/pending_is_not_idle.scn",
    ),
    figure(
        "cached",
        "Bytes that were freed, and whose free the host has seen complete, by a `sync`.
Every stream may take them, and they can go back to the device.",
        "scenarios/sync/observed_through_an_event.scn",
    ),
    figure(
        "fragmented",
        "Of the cached and unused bytes, those outside the largest range of such bytes.
An allocation of one piece cannot use them together with that range, which reports call the largest hole.",
        "scenarios/limits/free_memory_in_pieces.scn",
    ),
    figure(
        "release_threshold",
        "How many bytes the pool may keep at a `sync`, cudaMemPoolAttrReleaseThreshold.
It is 0 unless it is set, so that a `sync` gives back all chunks without a live or pending byte; `max` keeps all.",
        "scenarios/guide/release_threshold.scn",
    ),
    device_figure(
        "free",
        "Bytes of a device that nobody holds, cudaMemGetInfo; in a scenario `gpu0.free`.
Together with what pools have reserved and what is outside of pools they are all its memory.",
        "scenarios/basics/plain_malloc_and_free.scn",
    ),
    device_figure(
        "beyond",
        "Bytes that are held beyond the memory of a device; in a scenario `gpu0.beyond`.
With `oversubscribe = on` they are memory of the system, as drivers on Windows do. Else the allocation fails and it is 0,
but for the pools of the model oxicuda, which never ask for the memory of a device.",
        "scenarios/limits/soft_capacity.scn",
    ),
    device_figure(
        "memory",
        "All bytes of a device, cudaMemGetInfo; in a scenario `gpu0.memory`.",
        "scenarios/basics/plain_malloc_and_free.scn",
    ),
    device_figure(
        "driver",
        "The version of a device's driver as a number, cudaDriverGetVersion: 11020 is 11.2.
`device gpu0 { driver = 11.2 }` sets it. Memory pools are there since 11.2.",
        "scenarios/guide/queries.scn",
    ),
    device_figure(
        "memory_pools",
        "Whether a device has memory pools, cudaDevAttrMemoryPoolsSupported: `on` or `off`.
`device gpu0 { memory_pools = off }` has none; then calls about pools and stream-ordered calls fail with not_supported.",
        "scenarios/guide/queries.scn",
    ),
    device_figure(
        "posix_fd",
        "Whether the pools of a device can be shared by file descriptor: `on` or `off`.
It is one of cudaDevAttrMemoryPoolSupportedHandleTypes, which drivers tell since 11.3.",
        "scenarios/guide/queries.scn",
    ),
    device_figure(
        "outside",
        "Bytes that were allocated outside of pools, by `malloc`, and have not come back.
A pool cannot grow into them. Managed memory takes none of the device.",
        "scenarios/limits/outside_pools.scn",
    ),
    device_figure(
        "leaving",
        "Bytes outside of pools that a stream has freed, where the free has not completed yet.
They are the device's again when it has.",
        "scenarios/limits/plain_memory_leaves_when_its_free_completes.scn",
    ),
    outside(
        "graph_pool",
        "The memory of graphs on a device; `gpu0.graph_pool.used` is what graphs that can be launched have mapped, or what lives.
Its other figures are `reserved`, `used_high` and `reserved_high`. Graphs that cannot run at the same time share memory.
Only `trim gpu0.graph_pool` gives it back.",
        "scenarios/graphs/one_stream.scn",
    ),
    outside(
        "malloc",
        "Memory of a device outside of pools, cudaMalloc.
It is taken from the device at the call and goes back with `free x` at once, or with `S: free x` when that completes.",
        "scenarios/basics/plain_malloc_and_free.scn",
    ),
    outside(
        "managed",
        "Memory that host and devices reach, cudaMallocManaged.
It moves between them, so that it takes no memory of a device for good.",
        "scenarios/basics/managed_takes_no_device_memory.scn",
    ),
    failure(
        "out_of_memory",
        "Nothing could serve the allocation, cudaErrorMemoryAllocation: no class of a pool, or the device is full.
The report shows where the bytes of the pool and of the device are. `fails out_of_memory` at the end of the line
expects it, `or_fails out_of_memory` accepts it. Lines about the missing buffer are skipped.
It is recoverable if anything helps that is not more memory: a policy, to wait for frees, a synchronise, a trim, a
lower threshold. Each is tried: the report names those with which the allocation succeeds and nothing else goes wrong.",
        "scenarios/limits/fitting_memory_is_pending.scn",
    ),
    failure(
        "invalid_value",
        "The call cannot be meant so, cudaErrorInvalidValue; for example a second free of the same memory.
`fails invalid_value` at the end of the line expects it.",
        "scenarios/basics/null_and_foreign.scn",
    ),
    failure(
        "not_ready",
        "A `query` found that not all is done yet, cudaErrorNotReady.
`or_fails not_ready` at the end of the line accepts both answers; `poll` asks until all is done.",
        "scenarios/sync/query.scn",
    ),
    failure(
        "invalid_resource_handle",
        "A stream or an event does not exist any more, or not yet, cudaErrorInvalidResourceHandle.
After `destroy s`, or `reset gpu0`, the name `s` still holds the handle, and the program may go on to use it by mistake;
the call changes nothing. Of a pool the same mistake is invalid_value. `fails invalid_resource_handle` at the end of the line expects it.",
        "scenarios/sync/destroyed_stream.scn",
    ),
    failure(
        "invalid_device",
        "A device cannot be given access to a pool, since it is no peer, cudaErrorInvalidDevice.
The devices that can reach each other's memory stand behind `peers`. The access of a pool's own device cannot be taken away
either. `fails invalid_device` at the end of the line expects it.",
        "scenarios/access/no_peer.scn",
    ),
    failure(
        "illegal_address",
        "A kernel touches the memory of a pool that its device has no access to, cudaErrorIllegalAddress.
The device would find it once the kernel runs, and nothing would go on after it; here the launch fails, so that the line
that is wrong says so. `grant p to gpu1` gives access.",
        "scenarios/access/out_of_reach.scn",
    ),
    failure(
        "not_supported",
        "The device, its driver or the allocator cannot do this, cudaErrorNotSupported; such as pools on a device without.
`expect gpu0.memory_pools == on` asks before. A graph that allocates or frees has one executable graph at a time, so
that a second `instantiate` fails. The model oxicuda has no memory of graphs.",
        "scenarios/guide/queries.scn",
    ),
    failure(
        "expectation",
        "An `expect` line does not hold where it stands.
The report shows what was expected and what is, at the first time, and since which call it is so: the last one that
changed the figure, or the allocation that the line is about. An expectation waits for nothing; a `sync` before it
does.",
        "scenarios/basics/statistics.scn",
    ),
    failure(
        "undecided",
        "Whether a line with `always`, `sometimes` or `never` holds is not known.
The search through all timings came to its limit, and no timing that it had seen by then settles the line; `--limit` takes a
larger one. It is so, too, where a value hangs on how long something took. It counts as neither passed nor failed: exit status 3.",
        "scenarios/explore/sometimes.scn",
    ),
    failure(
        "not_on_hardware",
        "A run with `--backend cuda` is refused, since hardware does not run these lines.
Graphs and collectives are only simulated; a reset would end the context of the process; memory of other programs and the choice
of a handle cannot be made up; an export as `fabric` is for several machines; and no driver tells figures such as `pending` or
`cached`, so that a call such as `trim` cannot hang on them. A run of more than 1,000,000 statements is refused too. The status is 3.
docs/hardware.md has the list: \"What is not run\".",
        "scenarios/graphs/auto_free.scn",
    ),
    finding(
        "use_before_alloc",
        "Memory is used, and nothing orders that after its allocation.
The address is known at the call, but the memory is there only once the stream of the allocation has come to it; before,
the use is undefined. Another stream needs `record` behind the allocation and `wait` before the use, or the host waits.
It is judged by order, whatever the timing was. Source: CUDA Programming Guide 4.3.2.1, rule R15.",
        "scenarios/hazards/use_before_alloc.scn",
    ),
    finding(
        "free_before_alloc",
        "Memory is freed, and nothing orders that after its allocation.
It is so where memory is freed on another stream and never used, or used on its own. The stream of the free is to wait for an event
that was recorded behind the allocation, or the host for its stream. Source: CUDA Programming Guide 4.3.2.2, rule R16.",
        "scenarios/hazards/free_before_alloc.scn",
    ),
    finding(
        "use_after_free",
        "Memory is used, and nothing orders that before its free; or it is used once the call of the free has returned.
The memory may serve another allocation from the free on, so that both touch the same bytes. `record` behind the last use and
`wait` before the free order them; an event that was recorded before the use does not cover it. A use that is called
after the free is undefined on the same stream too. Sources: CUDA Programming Guide 4.3.2.2, CUDA driver API,
cuMemFreeAsync, rules R16 and R18.",
        "scenarios/hazards/use_after_free.scn",
    ),
    finding(
        "double_free",
        "What is freed was freed before.
The call fails with invalid_value, or worse: the address may be another buffer's by then. One of the two frees has to go. A line that
says that it fails expects it. Source: CUDA runtime API, cudaFree, rule R22.",
        "scenarios/hazards/double_free.scn",
    ),
    finding(
        "invalid_free",
        "What is freed cannot be freed so: it is not this process's, or a graph frees it itself.
The call fails and frees nothing. Free memory once, by the one that it belongs to: what a graph allocates and frees, is the
graph's. A line that says that it fails expects it. Sources: CUDA runtime API, cudaFree, cudaFreeAsync, rules R20 and R81.",
        "scenarios/hazards/invalid_free.scn",
    ),
    finding(
        "race",
        "Two operations touch the same bytes, one of them writes, and nothing orders them.
What is read or left in memory then depends on the timing. Order the two, by `record` and `wait` or in one stream; or let
them touch parts that do not meet. Operations on different buffers never race, since the allocator keeps these apart.
Sources: CUDA Programming Guide 4.3.2.1, NVIDIA Compute Sanitizer, rule R21.",
        "scenarios/hazards/race.scn",
    ),
    finding(
        "host_race",
        "The host and an operation touch the same bytes, or two host threads do, one of them writes, and nothing orders them.
A copy to pinned memory returns before it is carried out, so that the host has to wait for its stream before it reads. Threads need
a signal, a barrier or a join. Sources: CUDA runtime API, cudaMemcpyAsync, rules R10 and R11.",
        "scenarios/hazards/host_race.scn",
    ),
    finding(
        "access_denied",
        "A device touches memory that it has no access to.
A pool gives access to its own device alone, whatever peers can reach; `grant p to gpu1` gives more. A copy fails at the call, a
kernel faults once it runs. A line that says that it fails expects it. Source: CUDA Programming Guide 4.3.3.3, rules
R68 and R69.",
        "scenarios/hazards/access_denied.scn",
    ),
    finding(
        "deadlock",
        "Nothing can advance any more: each waits for the next, the last for the first.
A kernel that runs `until` a signal and a host that waits for that kernel before it gives the signal are enough. The report
names all that wait, with their lines. The run ends there, so that later lines are not reached. Source: CUDA driver API,
cuStreamSynchronize, rule R10.",
        "scenarios/hazards/deadlock.scn",
    ),
    finding(
        "use_of_destroyed",
        "A call names a stream, an event, a pool or a graph that was destroyed.
The handle is of no use any more; the call fails, or meets what has got the same handle since. Work that was called before
goes on. Destroy it behind the last line that names it. Sources: CUDA driver API, cuStreamDestroy, cuEventDestroy,
rule R7.",
        "scenarios/hazards/use_of_destroyed.scn",
    ),
    finding(
        "freed_before_importer",
        "An exporter frees memory, and nothing orders that after the free of an importer.
The importer is to free first: its free completes, and an event, a signal or the end of the process says so to the exporter.
It is judged by order, whatever the timing was. `expect finding freed_before_importer on x` expects it. Source: CUDA
driver API, cuMemPoolImportPointer, rule R75.",
        "scenarios/hazards/freed_before_importer.scn",
    ),
    finding(
        "ordered_by_luck",
        "Two operations are in order in this run only.
A query found one done, the allocator put in a wait, or memory went on whose free had happened to complete. With another
timing it would be use_after_free, race or the like. A wait of the program's own, `poll` or `sync`, makes the order one that
always holds. Sources: CUDA driver API, cuEventQuery, CUDA Programming Guide 4.3.2.1, rules R15 and R45.",
        "scenarios/hazards/ordered_by_luck.scn",
    ),
    finding(
        "uninitialised_read",
        "Bytes are read that nothing has written.
Memory of a pool has whatever was in it before. Write it first, by a kernel, a copy or a `memset`. Sources: NVIDIA Compute
Sanitizer, initcheck, rule R14.",
        "scenarios/hazards/uninitialised_read.scn",
    ),
    finding(
        "leak",
        "Memory is never freed.
The pool cannot use it again, and a pool that was destroyed lives on until it is. Free it, or say that it is meant: `allow leak on x`.
`expect no leaks` makes it an error. Sources: NVIDIA Compute Sanitizer, leak checking, CUDA driver API,
cuMemPoolDestroy, rule R28.",
        "scenarios/hazards/leak.scn",
    ),
    finding(
        "overlap",
        "Two buffers have the same bytes at the same time.
It is always the consequence of another finding, such as a use after free, and goes with it. Memory that is used again in
order is none. A run on hardware shows it where a kernel finds what another one has written. Sources: CUDA Programming Guide 4.3.2.2, rule R46.",
        "scenarios/hazards/overlap.scn",
    ),
    finding(
        "unrecorded_wait",
        "A wait for an event that was never recorded waits for nothing.
CUDA takes such an event for complete, and says nothing. Record it before the wait is called: a record that comes later does not
count. Sources: CUDA driver API, cuEventRecord, cuStreamWaitEvent, rule R4.",
        "scenarios/hazards/unrecorded_wait.scn",
    ),
    finding(
        "overwritten_record",
        "A record replaces one that nobody has waited for.
A wait means the latest record at its call, so that the earlier one orders nothing. Wait before the event is recorded again,
or take two events. Source: CUDA driver API, cuEventRecord, rule R3.",
        "scenarios/hazards/overwritten_record.scn",
    ),
    finding(
        "redundant_wait",
        "A wait or a synchronise adds no order: all that it waits for was waited for before.
It costs a call, and a synchronise keeps the host from running ahead. It can go, unless it means another event or record.
Source: CUDA driver API, cuStreamWaitEvent, rule R6.",
        "scenarios/hazards/redundant_wait.scn",
    ),
    finding(
        "threshold_in_loop",
        "A pool gives memory back at each synchronise of a loop and takes it again in the next turn.
Each is a trip to the operating system, which takes the host longer than all else. A `release_threshold` of what a turn
needs, or `max`, keeps the memory. Sources: CUDA Programming Guide 4.3.4.2, kornia/kornia-rs#1010, rule R53.",
        "scenarios/hazards/threshold_in_loop.scn",
    ),
    finding(
        "unobserved_trim",
        "A trim cannot give back what was freed, since the host has not seen that complete.
A trim waits for nothing, and such frees count as outstanding. `sync` before it. Sources: CUDA driver API,
cuMemPoolTrimTo, pytorch/executorch#22312, rule R60.",
        "scenarios/hazards/unobserved_trim.scn",
    ),
    finding(
        "policy_off",
        "A pool grows where freed memory would have served, were a reuse policy on.
The pool then needs more memory, though not more time. Switch the policy on: in a scenario `reuse = [follow_event]` and
`set p.follow_event = on`. Source: CUDA Programming Guide 4.3.4.4, rules R41 to R44.",
        "scenarios/hazards/policy_off.scn",
    ),
    finding(
        "stranded_cache",
        "A pool grows while freed memory lies on a stream that does nothing any more.
That stream could take it at once, others only in order after the free, or once it has completed. Let the other stream wait for an
event behind the free, or synchronise. Source: CUDA Programming Guide 4.3.4.4, rules R39 and R42.",
        "scenarios/hazards/stranded_cache.scn",
    ),
    exploration(
        "outcome",
        "What a run came to, as far as a person would call it different from another run.
That is what was found, which calls failed, which expectations did not hold, and by which classes of memory each line that
allocates was served. How often something was so in a loop is no difference, nor are times, addresses and figures:
`millpond explore` tells how these are spread over the runs.",
        "scenarios/explore/who_calls_first.scn",
    ),
    exploration(
        "schedule",
        "What one run depends on, in one word.
It has the version of Millpond, a hash of the scenario, the model, the profile with a hash, the strategy (with its depth), the
seed, and where they are not as usual the jitter and the variant. One that `explore --untimed` has found has `untimed` and its
choices in place of strategy and seed. `millpond replay SCHEDULE FILE` makes the run again. Comments,
blank lines and spaces of the scenario may change; where anything else has, the schedule is refused.",
        "scenarios/explore/a_quarter_of_the_runs.scn",
    ),
    exploration(
        "untimed",
        "Every timing, and not only some: `millpond explore FILE --untimed`.
Nothing is taken to be known of how long anything takes: an operation may complete at any time after what it waits for, and a host
thread may make its next call at any time, also behind a `sleep`. The search branches where a call observes how far devices have got
and where the order of two threads' calls counts. Where it says \"covered\" there is no further outcome, with this model and
profile. It makes at most 10,000,000 calls, or as many as `--limit` says. What hangs on times, such as `starts >= 5us`, is not judged.",
        "scenarios/explore/who_calls_first.scn",
    ),
    exploration(
        "jitter",
        "By how many percents constant durations vary: `--jitter 20%`.
10us then is drawn from 8us to 12us, each nanosecond with the same probability; the bounds are rounded towards the middle.
It goes for kernels, copies, functions and collectives, for `sleep`, and for what calls cost the host by the profile. Durations
that are not constant are drawn as the scenario says.",
        "scenarios/explore/a_quarter_of_the_runs.scn",
    ),
    exploration(
        "pct",
        "Probabilistic concurrency testing: `millpond explore FILE --strategy pct --depth 3`.
Of several host threads that could call, the one of the highest priority does. Priorities are drawn before a run, and so are
the calls, one less than the depth, before which a thread gets a lower one. What takes so many orderings of calls is found by
a run with at least the probability 1/(n k^(d-1)), for n host threads and k calls that they make at most once there are
several. Durations are drawn as ever. Source: S. Burckhardt and others, ASPLOS 2010.",
        "scenarios/stress/borrowed_in_the_rare_case.scn",
    ),
    exploration(
        "unseen",
        "How many further runs would have an outcome that none had so far, as an estimate.
It is the share of the runs whose outcome no other run has: I. J. Good, after A. M. Turing, 1953. With few runs it says little,
and nothing about timings that the durations do not allow.",
        "scenarios/explore/a_quarter_of_the_runs.scn",
    ),
    exploration(
        "stable",
        "An exploration is stable when no new outcome is to be expected.
`--until-stable` looks after each 1,024 runs: at most 1 run in 1,000 may be expected to have another outcome (`unseen`), and
the latter half of the runs must have had none. It is no proof.",
        "scenarios/explore/a_quarter_of_the_runs.scn",
    ),
];
