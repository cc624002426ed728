//! What each kind of finding is called in words, why it matters, what to do about it, and the rule that it breaks.
//!
//! It owns sentences. What was found, and where, is not its affair.

use crate::trace::FindingKind;

/// What there is to say about a kind of finding, whatever was found.
#[derive(Clone, Copy, Debug)]
pub(in crate::report) struct Words {
    /// What it is, in a sentence without a full stop.
    pub(in crate::report) what: &'static str,
    /// What to do about it.
    pub(in crate::report) mend: &'static str,
    /// The rule, in a few words.
    pub(in crate::report) rule: &'static str,
    /// The document that has it, and the section.
    pub(in crate::report) source: &'static str,
    /// Its number for `millpond explain`, if it has one.
    pub(in crate::report) number: Option<u8>,
}

const fn words(
    what: &'static str,
    mend: &'static str,
    rule: &'static str,
    source: &'static str,
    number: Option<u8>,
) -> Words {
    Words { what, mend, rule, source, number }
}

const GUIDE_FREE: &str = "CUDA Programming Guide 4.3.2.2";
const DRIVER: &str = "CUDA driver API";

/// What there is to say about a kind.
pub(in crate::report) const fn about(kind: FindingKind) -> Words {
    match kind {
        FindingKind::UseBeforeAlloc
        | FindingKind::FreeBeforeAlloc
        | FindingKind::UseAfterFree
        | FindingKind::DoubleFree
        | FindingKind::InvalidFree
        | FindingKind::FreedBeforeImporter => about_lifetime(kind),
        FindingKind::Race
        | FindingKind::HostRace
        | FindingKind::AccessDenied
        | FindingKind::Deadlock
        | FindingKind::UseOfDestroyed => about_use(kind),
        FindingKind::OrderedByLuck
        | FindingKind::UninitialisedRead
        | FindingKind::Leak
        | FindingKind::Overlap => about_warning(kind),
        _ => about_lint(kind),
    }
}

const fn about_lifetime(kind: FindingKind) -> Words {
    match kind {
        FindingKind::UseBeforeAlloc => words(
            "Memory is used, and nothing orders that after its allocation",
            "record an event after the allocation, and wait for it before the use",
            "a use on another stream must be ordered after the allocation",
            "CUDA Programming Guide 4.3.2.1",
            Some(15),
        ),
        FindingKind::FreeBeforeAlloc => words(
            "Memory is freed, and nothing orders that after its allocation",
            "record an event after the allocation, and wait for it before the free",
            "a free must be ordered after the allocation",
            GUIDE_FREE,
            Some(16),
        ),
        FindingKind::UseAfterFree => words(
            "Memory is used, and nothing orders that before its free",
            "record an event after the use, and wait for it before the free",
            "every use must be ordered before the free",
            GUIDE_FREE,
            Some(16),
        ),
        FindingKind::DoubleFree => words(
            "What is freed was freed before",
            "remove one of the two frees",
            "a second free of the same memory is an error",
            "CUDA runtime API, cudaFree",
            Some(22),
        ),
        FindingKind::InvalidFree => words(
            "What is freed cannot be freed so",
            "free it where, and as, it was allocated",
            "memory is freed by the call that goes with its allocation",
            "CUDA runtime API, cudaFree, cudaFreeAsync",
            None,
        ),
        _ => words(
            "An exporter frees memory, and nothing orders that after the free of an importer",
            "let the importer free first, and tell the exporter by an event or a signal",
            "an importer frees before the exporter does",
            "CUDA driver API, cuMemPoolImportPointer",
            Some(75),
        ),
    }
}

const fn about_use(kind: FindingKind) -> Words {
    match kind {
        FindingKind::Race => words(
            "Two operations touch the same bytes, one of them writes, and nothing orders them",
            "record an event after the one, and wait for it before the other",
            "a stream orders its own operations, and only events order those of two",
            "CUDA driver API, cuStreamWaitEvent",
            Some(6),
        ),
        FindingKind::HostRace => words(
            "The host and an operation touch the same bytes, one of them writes, and nothing orders them",
            "synchronise before the host touches the memory",
            "the host sees work complete only once it has synchronised or asked",
            "CUDA driver API, cuStreamSynchronize",
            Some(10),
        ),
        FindingKind::AccessDenied => words(
            "A device touches memory that it may not",
            "grant it access to the pool before",
            "the memory of a pool is there for its own device, and for those with access",
            "CUDA Programming Guide 4.3.3.3",
            Some(68),
        ),
        FindingKind::Deadlock => words(
            "Nothing can advance any more, although something should",
            "give the signal, or start the other part, before the call that blocks",
            "who waits needs somebody left to bring what is waited for",
            "CUDA driver API, cuLaunchHostFunc",
            None,
        ),
        _ => words(
            "A call names what was destroyed",
            "destroy it after its last use",
            "a handle must not be used after what it names was destroyed",
            "CUDA driver API, cuStreamDestroy, cuEventDestroy",
            Some(7),
        ),
    }
}

const fn about_warning(kind: FindingKind) -> Words {
    match kind {
        FindingKind::OrderedByLuck => words(
            "Two operations are ordered by the timing of this run, or by a wait of the allocator, and by nothing else",
            "record an event after the one, and wait for it before the other",
            "a use is judged by what is ordered, and never by when it happened to run",
            "Compute Sanitizer manual 3.9",
            Some(21),
        ),
        FindingKind::UninitialisedRead => words(
            "Bytes are read that nothing has written",
            "write them before",
            "what is in newly allocated memory is not defined",
            DRIVER,
            None,
        ),
        FindingKind::Leak => {
            words("Memory is never freed", "free it", "memory lives until it is freed", DRIVER, None)
        }
        _ => words(
            "Two buffers have the same bytes at the same time",
            "mend the finding that it comes from",
            "memory serves again only where uses of both cannot overlap",
            "CUDA Programming Guide 4.3.4.4",
            Some(46),
        ),
    }
}

const fn about_lint(kind: FindingKind) -> Words {
    match kind {
        FindingKind::UnrecordedWait => words(
            "A wait for an event that was never recorded, which waits for nothing",
            "record the event before, or remove the wait",
            "an event that was never recorded stands for no work",
            "CUDA driver API, cuEventRecord",
            Some(4),
        ),
        FindingKind::OverwrittenRecord => words(
            "A record replaces one that nobody has waited for",
            "wait before, record another event, or remove the first record",
            "a wait takes the latest record of the event at its own call",
            "CUDA driver API, cuEventRecord",
            Some(3),
        ),
        FindingKind::RedundantWait => words(
            "A wait or a synchronise adds no order",
            "remove it",
            "what is ordered already needs no second edge",
            "CUDA driver API, cuStreamWaitEvent",
            Some(6),
        ),
        FindingKind::ThresholdInLoop => words(
            "A pool gives memory back at each synchronise and takes it again",
            "raise the release_threshold of the pool",
            "a synchronise gives back what the pool holds above its threshold",
            "CUDA Programming Guide 4.3.4.2",
            Some(53),
        ),
        FindingKind::UnobservedTrim => words(
            "A trim cannot give back what was freed, since the host has not observed that",
            "synchronise before the trim",
            "a trim does not wait, and leaves what no synchronise has observed",
            "CUDA driver API, cuMemPoolTrimTo",
            Some(60),
        ),
        FindingKind::PolicyOff => words(
            "A pool grows where freed memory would have served, were a reuse policy on",
            "switch the policy on",
            "freed memory is tried before more is taken, as far as policies allow",
            "CUDA Programming Guide 4.3.4.4",
            Some(38),
        ),
        _ => words(
            "A pool grows while freed memory lies on a stream that does nothing any more",
            "synchronise that stream, or let the other one wait for it",
            "memory serves another stream only by an order, a policy or a synchronise",
            "CUDA Programming Guide 4.3.4.4",
            Some(51),
        ),
    }
}
