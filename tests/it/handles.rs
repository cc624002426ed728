//! Random programs that create, destroy and use streams, events and pools, against what C variables with handles would do.
//!
//! Each line says how its call must end, as told by a list of variables and a set of handles; the run must hold.

use crate::budget;
use millpond::base::{Bytes, Draws};
use millpond::engine::run;
use millpond::oracle::Expectations;
use millpond::profile::Profile;
use millpond::trace::{Detail, Event, Kind, Sink};
use std::collections::BTreeSet;

/// A kind of things: the word for it, a call that uses one, and how a call without it fails.
const KINDS: [(&str, &str, &str); 3] = [
    ("stream", "query NAME", "invalid_resource_handle"),
    ("event", "sync NAME", "invalid_resource_handle"),
    ("pool", "trim NAME to 0B", "invalid_value"),
];

/// A name, the handle that it holds, and whether a line has destroyed something under that name since it got the handle.
struct Variable {
    name: String,
    handle: Option<u32>,
    was_named_in_destroy: bool,
}

struct Account {
    kind: usize,
    variables: Vec<Variable>,
    /// The handles that stand for something.
    alive: BTreeSet<u32>,
    handles: u32,
    text: String,
    failures: u32,
    reuses: u32,
}

impl Account {
    fn new(kind: usize) -> Self {
        let word = KINDS[kind].0;
        let mut account = Self {
            kind,
            variables: Vec::new(),
            alive: BTreeSet::new(),
            handles: 0,
            text: String::new(),
            failures: 0,
            reuses: 0,
        };
        for name in ["a", "b", "c", "d"] {
            let is_declared = name < "c";
            let handle = is_declared.then(|| account.fresh());
            account.variables.push(Variable { name: name.to_owned(), handle, was_named_in_destroy: false });
            if is_declared {
                account.text.push_str(&format!("{word} {name}\n"));
            }
        }
        account
    }

    fn fresh(&mut self) -> u32 {
        self.handles += 1;
        self.alive.insert(self.handles);
        self.handles
    }

    fn line(&mut self, line: &str, succeeds: bool) {
        self.text.push_str(line);
        if !succeeds {
            self.failures += 1;
            self.text.push_str(&format!(" fails {}", KINDS[self.kind].2));
        }
        self.text.push('\n');
    }

    fn step(&mut self, draws: &mut Draws) {
        let (word, uses, _) = KINDS[self.kind];
        let chosen = draws.below(self.variables.len() as u64) as usize;
        let (name, handle) = (self.variables[chosen].name.clone(), self.variables[chosen].handle);
        let is_alive = handle.is_some_and(|handle| self.alive.contains(&handle));
        match draws.below(3) {
            0 if handle.is_some() => {
                self.line(&format!("destroy {name}"), is_alive);
                if let Some(handle) = handle {
                    self.alive.remove(&handle);
                }
                self.variables[chosen].was_named_in_destroy = true;
            }
            1 if !is_alive || self.variables[chosen].was_named_in_destroy => {
                let old = draws.below(2 * self.variables.len() as u64) as usize;
                let old = self.variables.get(old).and_then(|old| Some((old.name.clone(), old.handle?)));
                let succeeds = old.as_ref().is_none_or(|(_, handle)| !self.alive.contains(handle));
                let reusing = old.as_ref().map(|(old, _)| format!(" reusing {old}")).unwrap_or_default();
                if succeeds {
                    self.line(&format!("create {word} {name}{reusing}"), true);
                    let handle = match old {
                        Some((_, handle)) => {
                            self.reuses += 1;
                            self.alive.insert(handle);
                            handle
                        }
                        None => self.fresh(),
                    };
                    let variable = &mut self.variables[chosen];
                    (variable.handle, variable.was_named_in_destroy) = (Some(handle), false);
                } else if handle.is_some() {
                    self.text.push_str(&format!("create {word} {name}{reusing} fails invalid_value\n"));
                    self.failures += 1;
                }
            }
            _ if handle.is_some() => self.line(&uses.replace("NAME", &name), is_alive),
            _ => {}
        }
    }
}

#[test]
fn names_are_variables_that_hold_handles() {
    let (mut failures, mut reuses) = (0, 0);
    for seed in 0..budget(60) {
        let mut draws = Draws::new(seed, 2);
        let mut account = Account::new((seed % 3) as usize);
        for _ in 0..60 {
            account.step(&mut draws);
        }
        let text = &account.text;
        let (program, diagnostics) = millpond::load(text, &Profile::default());
        assert_eq!(diagnostics, [], "{text}");
        let program = program.expect("there is no mistake in it");
        let mut judge = Expectations::new(&program);
        assert_eq!(run(&program, seed, &mut judge).stop, None, "{text}");
        let verdict = judge.finish(None);
        let lines = |failed: &millpond::oracle::FailedCall| program.statements[failed.stmt].line;
        let unexpected: Vec<u32> = verdict.failed.iter().filter(|f| !f.expected).map(lines).collect();
        let missed: Vec<u32> = verdict.missed.iter().map(|m| program.statements[m.stmt].line).collect();
        assert_eq!((unexpected, missed), (Vec::new(), Vec::new()), "{text}");
        failures += account.failures;
        reuses += account.reuses;
    }
    assert!(failures > 300 && reuses > 100, "{failures} calls failed, {reuses} handles were given again");
}

/// How much each event says that a pool gave back.
#[derive(Default)]
struct Released(Vec<Bytes>);

impl Sink for Released {
    fn wants(&self, _: Detail) -> bool {
        true
    }

    fn event(&mut self, event: &Event<'_>) {
        if let Kind::Released { bytes, .. } = event.kind {
            self.0.push(bytes);
        }
    }
}

#[test]
fn a_destroyed_pool_that_holds_nothing_gives_nothing_back() {
    let text = "pool never\npool emptied\npool full\nstream s\ns: x = alloc 1MiB from emptied\ns: free x\nsync s\n\
                s: y = alloc 1MiB from full\ns: free y\ndestroy never\ndestroy emptied\ndestroy full\n";
    let program = millpond::load(text, &Profile::default()).0.expect("valid");
    let mut released = Released::default();
    assert!(run(&program, 0, &mut released).stop.is_none());
    assert_eq!(released.0, [Bytes::mib(32); 2], "at the synchronise, and with the last pool");
}
