//! The kinds of diagnostics that reading a text can give.

use crate::base::Code;

/// A word or sign stands where the language expects another one.
pub(super) const UNEXPECTED: Code = Code("unexpected");
/// A line begins with a word that begins no statement.
pub(super) const UNKNOWN_STATEMENT: Code = Code("unknown_statement");
/// A number has a unit that does not exist, or is not a whole number of bytes or nanoseconds.
pub(super) const BAD_NUMBER: Code = Code("bad_number");
/// A block is opened and never closed.
pub(super) const UNCLOSED_BLOCK: Code = Code("unclosed_block");
/// A `}` closes nothing.
pub(super) const UNMATCHED_BRACE: Code = Code("unmatched_brace");
/// Blocks, parentheses or brackets are nested too deep.
pub(super) const NESTING_TOO_DEEP: Code = Code("nesting_too_deep");
/// A line is too long.
pub(super) const LINE_TOO_LONG: Code = Code("line_too_long");
/// A text is too large.
pub(super) const FILE_TOO_LARGE: Code = Code("file_too_large");
/// A text is written in a version of the language that is not read here.
pub(super) const UNKNOWN_VERSION: Code = Code("unknown_version");
/// The version of the language stands behind another statement.
pub(super) const MISPLACED_VERSION: Code = Code("misplaced_version");

/// Every code of this part, with what it means.
pub const TABLE: &[(Code, &str)] = &[
    (UNEXPECTED, "A word or sign stands where the language expects another one."),
    (UNKNOWN_STATEMENT, "A line begins with a word that begins no statement."),
    (
        BAD_NUMBER,
        "A number has a unit that does not exist, or is not a whole number of bytes or nanoseconds.",
    ),
    (UNCLOSED_BLOCK, "A block is opened with `{` and never closed."),
    (UNMATCHED_BRACE, "A `}` closes no block."),
    (NESTING_TOO_DEEP, "Blocks, parentheses or brackets are nested more than 64 deep."),
    (LINE_TOO_LONG, "A line is longer than 4,096 bytes."),
    (FILE_TOO_LARGE, "A text is larger than 16 MiB."),
    (UNKNOWN_VERSION, "A text is written in a version of the language that is not read here."),
    (MISPLACED_VERSION, "The version of the language stands behind another statement, or is stated twice."),
];
