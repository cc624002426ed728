//! The kinds of diagnostics that giving a text its meaning can give.

use crate::base::Code;

pub(super) const UNKNOWN_NAME: Code = Code("unknown_name");
pub(super) const WRONG_KIND: Code = Code("wrong_kind");
pub(super) const DUPLICATE_NAME: Code = Code("duplicate_name");
pub(super) const USED_BEFORE_DECLARATION: Code = Code("used_before_declaration");
pub(super) const USED_BEFORE_ALLOCATION: Code = Code("used_before_allocation");
pub(super) const STILL_EXISTS: Code = Code("still_exists");
pub(super) const STILL_LIVE: Code = Code("still_live");
pub(super) const WRONG_ARGUMENT_COUNT: Code = Code("wrong_argument_count");
pub(super) const WRONG_PART_COUNT: Code = Code("wrong_part_count");
pub(super) const ALLOCATED_BY_TWO_THREADS: Code = Code("allocated_by_two_threads");
pub(super) const WRONG_UNIT: Code = Code("wrong_unit");
pub(super) const UNKNOWN_ATTRIBUTE: Code = Code("unknown_attribute");
pub(super) const UNKNOWN_POLICY: Code = Code("unknown_policy");
pub(super) const UNKNOWN_ERROR: Code = Code("unknown_error");
pub(super) const UNKNOWN_FINDING: Code = Code("unknown_finding");
pub(super) const NOT_ALLOWABLE: Code = Code("not_allowable");
pub(super) const UNKNOWN_SETTING: Code = Code("unknown_setting");
pub(super) const DUPLICATE_SETTING: Code = Code("duplicate_setting");
pub(super) const NOT_CONSTANT: Code = Code("not_constant");
pub(super) const VALUE_OUT_OF_RANGE: Code = Code("value_out_of_range");
pub(super) const VALUE_OVERFLOW: Code = Code("value_overflow");
pub(super) const DIVISION_BY_ZERO: Code = Code("division_by_zero");
pub(super) const EMPTY_RANGE: Code = Code("empty_range");
pub(super) const REVERSED_BOUNDS: Code = Code("reversed_bounds");
pub(super) const INDEX_OUT_OF_RANGE: Code = Code("index_out_of_range");
pub(super) const WRONG_INDEX: Code = Code("wrong_index");
pub(super) const DEVICE_NEEDED: Code = Code("device_needed");
pub(super) const MISPLACED_DECLARATION: Code = Code("misplaced_declaration");
pub(super) const NOT_IN_A_GRAPH: Code = Code("not_in_a_graph");
pub(super) const RUN_TOO_LONG: Code = Code("run_too_long");
pub(super) const TOO_MANY_NAMES: Code = Code("too_many_names");
pub(super) const UNTIMED_MOMENT: Code = Code("untimed_moment");
pub(super) const UNCLEAR_LAUNCH: Code = Code("unclear_launch");
pub(super) const EMPTY_PART: Code = Code("empty_part");
pub(super) const PART_OUT_OF_RANGE: Code = Code("part_out_of_range");
pub(super) const OUT_OF_REACH: Code = Code("out_of_reach");
pub(super) const SIZE_MISMATCH: Code = Code("size_mismatch");
pub(super) const OVERLAPPING_COPY: Code = Code("overlapping_copy");
pub(super) const UNAWAITED_SIGNAL: Code = Code("unawaited_signal");
pub(super) const OPPORTUNISTIC_ON_OLD_DRIVER: Code = Code("opportunistic_on_old_driver");
pub(super) const IMPOSSIBLE_POOL: Code = Code("impossible_pool");
pub(super) const UNKNOWN_MODEL: Code = Code("unknown_model");

/// Every code of this part, with what it means.
pub const TABLE: &[(Code, &str)] = &[
    (UNKNOWN_NAME, "A name is used that nothing declares."),
    (
        WRONG_KIND,
        "A name stands for something else than what is needed there, such as a stream for an event.",
    ),
    (DUPLICATE_NAME, "A name is declared again."),
    (USED_BEFORE_DECLARATION, "A name is declared only after its use."),
    (USED_BEFORE_ALLOCATION, "A buffer is used where no allocation of that name precedes it."),
    (STILL_LIVE, "A name gets a new allocation while it still stands for a live one."),
    (
        STILL_EXISTS,
        "A stream, an event, a pool or a graph is created while what has its name or its handle exists.",
    ),
    (WRONG_ARGUMENT_COUNT, "A kernel is called with another number of buffers than it has parameters."),
    (WRONG_PART_COUNT, "A barrier is said to be of another number of threads than elsewhere."),
    (
        ALLOCATED_BY_TWO_THREADS,
        "Two threads give one name an allocation, so that it is not known which one it stands for.",
    ),
    (WRONG_UNIT, "A value has another unit than is needed, or two units do not go together."),
    (UNKNOWN_ATTRIBUTE, "A pool, a device or a buffer has no figure of that name, or it cannot be set."),
    (UNKNOWN_POLICY, "There is no reuse policy or class of that name, or it cannot stand there."),
    (UNKNOWN_MODEL, "There is no allocator model of that name."),
    (UNKNOWN_ERROR, "There is no error of that name."),
    (UNKNOWN_FINDING, "There is no finding of that name."),
    (NOT_ALLOWABLE, "A line allows a finding that is an error."),
    (
        UNKNOWN_SETTING,
        "A device, a pool or the profile has no setting of that name, or the setting no such value.",
    ),
    (DUPLICATE_SETTING, "A setting, the title or the model is given twice."),
    (NOT_CONSTANT, "A value must be known before the run, and depends on it or on a loop."),
    (
        VALUE_OUT_OF_RANGE,
        "A size, duration or count is negative, above 2^64-1, or otherwise not possible there.",
    ),
    (VALUE_OVERFLOW, "A value grows beyond 2^127 while it is computed."),
    (DIVISION_BY_ZERO, "A value is divided by zero."),
    (EMPTY_RANGE, "The longest duration of a range is not above its shortest."),
    (REVERSED_BOUNDS, "A loop ends before it begins."),
    (INDEX_OUT_OF_RANGE, "An index may be outside of its array."),
    (WRONG_INDEX, "An index is missing, or stands where there is no array."),
    (DEVICE_NEEDED, "There are several devices, and the line does not say which one it is about."),
    (IMPOSSIBLE_POOL, "A pool is declared so as CUDA creates none."),
    (MISPLACED_DECLARATION, "A declaration stands inside of a block."),
    (
        NOT_IN_A_GRAPH,
        "The block of a graph has a line that is no operation of a stream, or one that no graph has.",
    ),
    (RUN_TOO_LONG, "The loops make the run longer than 100,000,000 statements."),
    (TOO_MANY_NAMES, "An array is too large, or there are too many names."),
    (UNCLEAR_LAUNCH, "An expectation names a kernel, and not just one line above it launches that kernel."),
    (UNTIMED_MOMENT, "An expectation about all timings asks when something happens."),
    (EMPTY_PART, "A part of a buffer ends where it begins, or before."),
    (PART_OUT_OF_RANGE, "A part ends beyond the end of its buffer."),
    (OUT_OF_REACH, "Memory is touched by who cannot reach it, such as device memory by the host."),
    (SIZE_MISMATCH, "The two sides of a copy have different sizes."),
    (OVERLAPPING_COPY, "A copy writes bytes that it reads."),
    (UNAWAITED_SIGNAL, "A signal is given, and nothing waits for it (a warning)."),
    (
        OPPORTUNISTIC_ON_OLD_DRIVER,
        "A pool reuses opportunistically on a driver before 11.5, where that is defective (a warning).",
    ),
];
