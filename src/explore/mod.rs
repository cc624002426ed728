//! Many runs in place of one: what other texts would do, each of them run and judged.
//!
//! It must not know how anything looks.

pub mod fix;
