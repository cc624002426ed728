//! Gives any text to the reader, the formatter and a run. What must hold of it is what the tests of soups demand.
//!
//! To run it for a while, with nothing but shipped scenarios to begin from: `.ci/fuzz 1000000`. A text that breaks
//! something is left below `fuzz/artifacts`; to run it alone: `cargo +nightly fuzz run any_text fuzz/artifacts/any_text/FILE`.

#![no_main]

#[path = "../../tests/it/soup_check.rs"]
mod soup_check;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    soup_check::examine(text);
});
