//! The kinds of diagnostics that reading a text can give.

use crate::base::Code;

macro_rules! codes {
    ($($constant:ident = $name:literal: $meaning:literal),+ $(,)?) => {
        $(#[doc = $meaning] pub(crate) const $constant: Code = Code($name);)+
        /// Every code of this part, with what it means.
        pub const TABLE: &[(Code, &str)] = &[$(($constant, $meaning)),+];
    };
}

codes! {
    UNEXPECTED = "unexpected": "A line has a word or sign where the language expects another one.",
    UNKNOWN_STATEMENT = "unknown_statement": "A line begins with a word that begins no statement.",
    BAD_NUMBER = "bad_number": "A number has no unit that the language knows, or is not a whole number of bytes or nanoseconds.",
    UNCLOSED_BLOCK = "unclosed_block": "A block is opened with `{` and never closed.",
    UNMATCHED_BRACE = "unmatched_brace": "A `}` closes no block.",
    NESTING_TOO_DEEP = "nesting_too_deep": "Blocks, parentheses or brackets are nested more than 64 deep.",
    LINE_TOO_LONG = "line_too_long": "A line is longer than 4,096 bytes.",
    FILE_TOO_LARGE = "file_too_large": "A text is larger than 16 MiB.",
}
