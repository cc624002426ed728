//! Many runs in place of one: what other texts would do, each of them run and judged.
//!
//! It must not know how anything looks. How a text is read, with its variant and on its model, is said by who asks.

pub mod fix;
pub mod recover;
