//! What may be found to be wrong with a program, whatever its calls answered.

use std::fmt;

/// A kind of finding. The names are those of the language and of every report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FindingKind {
    /// Memory is used, and nothing orders that after its allocation (CUDA Programming Guide 4.3.2.1; CUDA driver API,
    /// `cuMemAllocAsync`).
    UseBeforeAlloc,
    /// Memory is freed, and nothing orders that after its allocation (CUDA Programming Guide 4.3.2.2).
    FreeBeforeAlloc,
    /// Memory is used, and nothing orders that before its free, or the call of the free had returned when the use was submitted
    /// (CUDA driver API, `cuMemFreeAsync`; CUDA Programming Guide 4.3.2.2).
    UseAfterFree,
    /// What is freed was freed before (CUDA runtime API, `cudaFree`).
    DoubleFree,
    /// What is freed cannot be freed so (CUDA runtime API, `cudaFree`, `cudaFreeAsync`).
    InvalidFree,
    /// Two operations touch the same bytes, one of them writes, and nothing orders them.
    Race,
    /// The same of an operation and the host, or of two host threads.
    HostRace,
    /// A device touches memory that it may not (CUDA Programming Guide 4.3.3.3).
    AccessDenied,
    /// Nothing can advance any more, although something should.
    Deadlock,
    /// A call names a stream, an event, a pool or a graph that was destroyed.
    UseOfDestroyed,
    /// An exporter frees memory, and nothing orders that after the free of an importer (CUDA driver API,
    /// `cuMemPoolImportPointer`).
    FreedBeforeImporter,
    /// What would be a finding about order is none, but only since the allocator or the timing of this run has ordered the two.
    OrderedByLuck,
    /// Bytes are read that nothing has written.
    UninitialisedRead,
    /// Memory is never freed.
    Leak,
    /// Two buffers have the same bytes at the same time; always the consequence of another finding.
    Overlap,
    /// A wait for an event that was never recorded, which waits for nothing (CUDA driver API, `cuStreamWaitEvent`).
    UnrecordedWait,
    /// A record replaces one that nobody has waited for (CUDA driver API, `cuEventRecord`).
    OverwrittenRecord,
    /// A wait or a synchronise that adds no order.
    RedundantWait,
    /// A pool gives memory back at each synchronise and takes it again (CUDA Programming Guide 4.3.4.2).
    ThresholdInLoop,
    /// A trim cannot give back what was freed, since the host has not observed that (CUDA driver API, `cuMemPoolTrimTo`).
    UnobservedTrim,
    /// A pool grows where freed memory would have served, were a reuse policy on (CUDA Programming Guide 4.3.4.4).
    PolicyOff,
    /// A pool grows while freed memory lies on a stream that does nothing any more (CUDA Programming Guide 4.3.4.4).
    StrandedCache,
}

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The program is wrong.
    Error,
    /// The program may be wrong, or works by chance.
    Warning,
    /// The program does something in vain, or more slowly than it could.
    Lint,
}

impl Severity {
    /// The word of every report.
    pub const fn name(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Lint => "lint",
        }
    }
}

impl FindingKind {
    /// Every kind: errors, then warnings, then lints.
    pub const ALL: [FindingKind; 22] = [
        FindingKind::UseBeforeAlloc,
        FindingKind::FreeBeforeAlloc,
        FindingKind::UseAfterFree,
        FindingKind::DoubleFree,
        FindingKind::InvalidFree,
        FindingKind::Race,
        FindingKind::HostRace,
        FindingKind::AccessDenied,
        FindingKind::Deadlock,
        FindingKind::UseOfDestroyed,
        FindingKind::FreedBeforeImporter,
        FindingKind::OrderedByLuck,
        FindingKind::UninitialisedRead,
        FindingKind::Leak,
        FindingKind::Overlap,
        FindingKind::UnrecordedWait,
        FindingKind::OverwrittenRecord,
        FindingKind::RedundantWait,
        FindingKind::ThresholdInLoop,
        FindingKind::UnobservedTrim,
        FindingKind::PolicyOff,
        FindingKind::StrandedCache,
    ];

    /// The word of the language and of every report.
    pub const fn name(self) -> &'static str {
        match self {
            FindingKind::UseBeforeAlloc => "use_before_alloc",
            FindingKind::FreeBeforeAlloc => "free_before_alloc",
            FindingKind::UseAfterFree => "use_after_free",
            FindingKind::DoubleFree => "double_free",
            FindingKind::InvalidFree => "invalid_free",
            FindingKind::Race => "race",
            FindingKind::HostRace => "host_race",
            FindingKind::AccessDenied => "access_denied",
            FindingKind::Deadlock => "deadlock",
            FindingKind::UseOfDestroyed => "use_of_destroyed",
            FindingKind::FreedBeforeImporter => "freed_before_importer",
            FindingKind::OrderedByLuck => "ordered_by_luck",
            FindingKind::UninitialisedRead => "uninitialised_read",
            FindingKind::Leak => "leak",
            FindingKind::Overlap => "overlap",
            FindingKind::UnrecordedWait => "unrecorded_wait",
            FindingKind::OverwrittenRecord => "overwritten_record",
            FindingKind::RedundantWait => "redundant_wait",
            FindingKind::ThresholdInLoop => "threshold_in_loop",
            FindingKind::UnobservedTrim => "unobserved_trim",
            FindingKind::PolicyOff => "policy_off",
            FindingKind::StrandedCache => "stranded_cache",
        }
    }

    /// How bad it is.
    pub const fn severity(self) -> Severity {
        match self {
            FindingKind::UseBeforeAlloc
            | FindingKind::FreeBeforeAlloc
            | FindingKind::UseAfterFree
            | FindingKind::DoubleFree
            | FindingKind::InvalidFree
            | FindingKind::Race
            | FindingKind::HostRace
            | FindingKind::AccessDenied
            | FindingKind::Deadlock
            | FindingKind::UseOfDestroyed
            | FindingKind::FreedBeforeImporter => Severity::Error,
            FindingKind::OrderedByLuck
            | FindingKind::UninitialisedRead
            | FindingKind::Leak
            | FindingKind::Overlap => Severity::Warning,
            FindingKind::UnrecordedWait
            | FindingKind::OverwrittenRecord
            | FindingKind::RedundantWait
            | FindingKind::ThresholdInLoop
            | FindingKind::UnobservedTrim
            | FindingKind::PolicyOff
            | FindingKind::StrandedCache => Severity::Lint,
        }
    }
}

impl fmt::Display for FindingKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
