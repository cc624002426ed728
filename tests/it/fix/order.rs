//! What is ordered before what in a small program, found by walking lists: an order of its own, for programs of one host thread
//! without loops.

use std::collections::{BTreeMap, BTreeSet};

/// One line and what comes before it.
struct Step {
    line: String,
    before: BTreeSet<usize>,
}

/// The order of a program so far.
#[derive(Default)]
pub(super) struct Order {
    steps: Vec<Step>,
    /// Of each stream, its latest operation.
    last: BTreeMap<String, usize>,
    events: BTreeMap<String, usize>,
    /// What the host has seen complete, and what it has done itself.
    known: BTreeSet<usize>,
}

impl Order {
    pub(super) fn of<'l>(lines: impl IntoIterator<Item = &'l str>) -> Self {
        let mut order = Self::default();
        lines.into_iter().for_each(|line| order.line(line.trim()));
        order
    }

    /// Everything before some steps, and they themselves.
    fn closed(&self, from: impl IntoIterator<Item = usize>) -> BTreeSet<usize> {
        let mut all = BTreeSet::new();
        for step in from {
            all.insert(step);
            all.extend(&self.steps[step].before);
        }
        all
    }

    fn line(&mut self, line: &str) {
        let declares = ["stream ", "event ", "kernel ", "pool ", "host_buffer ", "scenario ", "#"];
        if line.is_empty() || declares.iter().any(|word| line.starts_with(word)) {
            return;
        }
        if let Some(target) = line.strip_prefix("sync ") {
            let seen = match self.events.get(target) {
                Some(record) => Some(*record),
                None => self.last.get(target).copied(),
            };
            let seen = self.closed(seen);
            self.known.extend(seen);
            return;
        }
        let step = self.steps.len();
        let Some((stream, operation)) = line.split_once(": ") else {
            // The host itself reads or writes.
            self.steps.push(Step { line: line.to_owned(), before: self.known.clone() });
            self.known.insert(step);
            return;
        };
        let mut after: Vec<usize> = self.known.iter().copied().collect();
        after.extend(self.before_next(stream));
        let event = operation.strip_prefix("wait ").and_then(|event| self.events.get(event));
        after.extend(event);
        let before = self.closed(after);
        self.steps.push(Step { line: line.to_owned(), before });
        self.last.insert(stream.to_owned(), step);
        if let Some(event) = operation.strip_prefix("record ") {
            self.events.insert(event.to_owned(), step);
        }
    }

    /// The latest operations that the next one of a stream comes after by the rule of streams.
    fn before_next(&self, stream: &str) -> Vec<usize> {
        let of_others = |name: &&String| stream == "legacy" || *name == "legacy" || *name == stream;
        self.last.keys().filter(of_others).map(|name| self.last[name]).collect()
    }

    /// Whether a line comes before whatever a stream would do next; `None`: before what the host would do.
    pub(super) fn is_before(&self, line: &str, stream: Option<&str>) -> bool {
        let mut all = self.known.clone();
        if let Some(stream) = stream {
            all.extend(self.before_next(stream));
        }
        let all = self.closed(all);
        self.steps.iter().position(|step| step.line == line).is_some_and(|step| all.contains(&step))
    }

    /// All pairs of lines, the first before the second, among those that do some work.
    pub(super) fn pairs(&self) -> BTreeSet<(&str, &str)> {
        let works = |step: &&Step| !step.line.contains(": record ") && !step.line.contains(": wait ");
        let mut pairs = BTreeSet::new();
        for step in self.steps.iter().filter(works) {
            let before = step.before.iter().map(|other| &self.steps[*other]).filter(works);
            pairs.extend(before.map(|other| (other.line.as_str(), step.line.as_str())));
        }
        pairs
    }
}
