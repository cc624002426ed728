//! Fixes: on random programs from which one edge was removed, on small texts, and on the command line; and the edits of lines
//! that they are made of.

mod command;
mod lines;
mod order;
mod programs;
mod small;

use millpond::explore::fix::{Fixed, Limits, Search, fix};
use millpond::oracle::{Expectations, Finding};
use millpond::profile::Profile;
use millpond::scenario::Program;

fn read(text: &str) -> Option<Program> {
    millpond::load(text, &Profile::default()).0
}

/// What is found in a run of a text.
fn findings(text: &str) -> Vec<Finding> {
    let program = read(text).unwrap_or_else(|| panic!("no program:\n{text}"));
    let mut judge = Expectations::new(&program);
    millpond::engine::run(&program, 0, &mut judge);
    judge.finish(None).findings
}

fn fixed(text: &str) -> Fixed {
    let search = Search { read: &read, seed: 0, limits: Limits::default() };
    fix(text, &[], &search).unwrap_or_else(|| panic!("no program:\n{text}"))
}
