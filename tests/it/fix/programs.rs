//! Random clean programs from which one edge is removed: what `fix` makes of them.

use super::order::Order;
use super::{findings, fixed};
use crate::budget;
use millpond::base::Draws;
use millpond::oracle::{Finding, Point};
use millpond::trace::{FindingKind, Severity};

/// What the program does with a buffer so far.
struct Buffer {
    name: String,
    /// The lines about it: the stream, the line, and whether it writes.
    lines: Vec<(String, String, bool)>,
}

/// A program while it is made.
struct Maker<'d> {
    draws: &'d mut Draws,
    streams: Vec<&'static str>,
    lines: Vec<String>,
    buffers: Vec<Buffer>,
    made: usize,
    events: usize,
    /// The copy into the buffer of the host, which is made once and read once.
    copied: Option<(String, String)>,
    has_copied: bool,
}

impl Maker<'_> {
    fn draw(&mut self, below: usize) -> usize {
        self.draws.below(below as u64) as usize
    }

    fn stream(&mut self) -> String {
        let nth = self.draw(self.streams.len());
        self.streams[nth].to_owned()
    }

    fn order(&self) -> Order {
        Order::of(self.lines.iter().map(String::as_str))
    }

    /// Makes an edge from a line to what the stream, or the host, does next, if there is none.
    fn edge(&mut self, (first, line): (&str, &str), stream: Option<&str>) {
        if self.order().is_before(line, stream) {
            return;
        }
        let Some(stream) = stream.filter(|_| self.draw(100) >= 15) else {
            return self.lines.push(format!("sync {first}"));
        };
        let at = self.lines.iter().position(|other| other == line).expect("it is one of the lines");
        let recorded = self.lines[at..].iter().find_map(|other| {
            let (own, event) = other.split_once(": record ")?;
            (own == first).then(|| event.to_owned())
        });
        match recorded {
            Some(event) if self.draw(2) == 0 => self.lines.push(format!("{stream}: wait {event}")),
            _ => {
                // Once in a while an event is recorded again.
                let events = self.events;
                let is_new = events == 0 || self.draw(4) > 0;
                let event = if is_new { events } else { self.draw(events) };
                self.events = self.events.max(event + 1);
                let record = format!("{first}: record e{event}");
                match is_new && self.draw(2) == 0 {
                    true => self.lines.insert(at + 1, record),
                    false => self.lines.push(record),
                }
                self.lines.push(format!("{stream}: wait e{event}"));
            }
        }
        // An event that was recorded again may have captured less.
        if !self.order().is_before(line, Some(stream)) {
            self.lines.push(format!("sync {first}"));
        }
    }

    /// A line about a buffer, after all that it has to come after.
    fn about(&mut self, nth: usize, stream: &str, line: String, writes: bool) {
        let before: Vec<_> =
            self.buffers[nth].lines.iter().filter(|(.., wrote)| writes || *wrote).cloned().collect();
        for (first, earlier, _) in before {
            self.edge((&first, &earlier), Some(stream));
        }
        self.buffers[nth].lines.push((stream.to_owned(), line.clone(), writes));
        self.lines.push(line);
    }

    fn alloc(&mut self) {
        let (stream, name) = (self.stream(), format!("x{}", self.made));
        self.made += 1;
        let line = format!("{stream}: {name} = alloc 1MiB");
        self.lines.push(line.clone());
        self.buffers.push(Buffer { name, lines: vec![(stream.clone(), line, true)] });
        let nth = self.buffers.len() - 1;
        self.launch(nth, &stream, true);
    }

    /// Each launch takes a time of its own, so that no two lines are equal.
    fn launch(&mut self, nth: usize, stream: &str, writes: bool) {
        let (name, takes) = (self.buffers[nth].name.clone(), 1000 + self.made);
        self.made += 1;
        let kernel = if writes { "fill" } else { "sum" };
        self.about(nth, stream, format!("{stream}: {kernel}({name}) takes {takes}ns"), writes);
    }

    fn free(&mut self, nth: usize) {
        let (stream, name) = (self.stream(), self.buffers[nth].name.clone());
        self.about(nth, &stream, format!("{stream}: free {name}"), true);
        self.buffers.remove(nth);
    }

    fn step(&mut self) {
        let live = self.buffers.len();
        match self.draw(10) {
            _ if live == 0 => self.alloc(),
            0 if live < 3 => self.alloc(),
            1 => {
                let nth = self.draw(live);
                self.free(nth);
            }
            2 if !self.has_copied => {
                let (nth, stream) = (self.draw(live), self.stream());
                let line = format!("{stream}: copy h from {} takes 900ns", self.buffers[nth].name);
                self.about(nth, &stream, line.clone(), false);
                self.copied = Some((stream, line));
                self.has_copied = true;
            }
            3 if self.copied.is_some() => {
                let (stream, line) = self.copied.take().expect("it is there");
                self.edge((&stream, &line), None);
                self.lines.push("read h".to_owned());
            }
            _ => {
                let (nth, stream, writes) = (self.draw(live), self.stream(), self.draw(3) == 0);
                self.launch(nth, &stream, writes);
            }
        }
    }
}

/// The declarations and the lines of a program in which all is ordered that has to be.
fn program(draws: &mut Draws) -> (String, Vec<String>) {
    let count = 2 + draws.below(3) as usize;
    let mut streams = vec!["a", "b", "c", "d"];
    streams.truncate(count);
    if draws.below(5) == 0 {
        streams[count - 1] = "legacy";
    }
    let declared: Vec<&str> = streams.iter().copied().filter(|stream| *stream != "legacy").collect();
    let head = format!("stream {}\n", declared.join(", "));
    let mut maker = Maker {
        draws,
        streams,
        lines: Vec::new(),
        buffers: Vec::new(),
        made: 0,
        events: 0,
        copied: None,
        has_copied: false,
    };
    for _ in 0..4 + maker.draw(6) {
        maker.step();
    }
    while !maker.buffers.is_empty() {
        maker.free(0);
    }
    let mut head = format!(
        "{head}kernel fill(x: write) takes 1us\nkernel sum(x: read) takes 1us\nhost_buffer h 1MiB pinned\n"
    );
    for event in 0..maker.events {
        head.push_str(&format!("event e{event}\n"));
    }
    (head, maker.lines)
}

fn text(head: &str, lines: &[String]) -> String {
    format!("{head}{}\n", lines.join("\n"))
}

/// Whether an order is missing.
fn is_disordered(findings: &[Finding]) -> bool {
    findings.iter().any(|finding| {
        finding.kind.severity() == Severity::Error || finding.kind == FindingKind::OrderedByLuck
    })
}

/// How often what came of it.
#[derive(Debug, Default)]
struct Rates {
    programs: u64,
    fixed: u64,
    no_more_order: u64,
    synchronised: u64,
    /// How often it was a record, a wait, a synchronise that was removed.
    records: u64,
    waits: u64,
    syncs: u64,
}

#[test]
fn a_program_without_one_edge_is_fixed() {
    let (wanted, mut rates, mut seed) = (budget(200), Rates::default(), 0);
    while rates.programs < wanted {
        seed += 1;
        let mut draws = Draws::new(seed, 0);
        let (head, lines) = program(&mut draws);
        let clean = text(&head, &lines);
        if !findings(&clean).is_empty() {
            continue;
        }
        let is_edge = |line: &String| {
            line.contains(": record ") || line.contains(": wait ") || line.starts_with("sync ")
        };
        let edges: Vec<usize> = (0..lines.len()).filter(|nth| is_edge(&lines[*nth])).collect();
        if edges.is_empty() {
            continue;
        }
        let mut broken = lines.clone();
        let removed = broken.remove(edges[draws.below(edges.len() as u64) as usize]);
        let broken = text(&head, &broken);
        let found = findings(&broken);
        if is_disordered(&found) {
            rates.programs += 1;
            rates.records += u64::from(removed.contains(": record "));
            rates.waits += u64::from(removed.contains(": wait "));
            rates.syncs += u64::from(removed.starts_with("sync "));
            judge(&clean, &broken, &found, &mut rates);
        }
    }
    println!("{rates:?}");
    let percent = |count: u64| count * 100 / rates.programs;
    assert!(percent(rates.fixed) > 95, "{rates:?}");
    assert!(percent(rates.no_more_order) > 80, "{rates:?}");
    for kind in [rates.records, rates.waits, rates.syncs] {
        assert!(percent(kind) >= 10, "{rates:?}");
    }
}

fn judge(clean: &str, broken: &str, found: &[Finding], rates: &mut Rates) {
    let fixed = fixed(broken);
    for fix in &fixed.fixes {
        assert_eq!(fix.left, findings(&fix.text).len(), "{broken}\n{}", fix.text);
    }
    let is_told = fixed.left.is_empty();
    assert_eq!(is_told, findings(&fixed.text).is_empty(), "{broken}\n{}", fixed.text);
    rates.fixed += u64::from(is_told);
    if !is_told {
        return;
    }
    let syncs = |text: &str| text.lines().filter(|line| line.starts_with("sync ")).count();
    // An order that only the host lacks is one that no wait of a stream brings.
    let of_host = |finding: &Finding| {
        finding.missing.is_some_and(|missing| matches!(missing.to.point, Point::Host(..)))
    };
    let is_synchronised = syncs(&fixed.text) > syncs(broken) && !found.iter().any(of_host);
    rates.synchronised += u64::from(is_synchronised);
    let (was, is) = (Order::of(clean.lines()), Order::of(fixed.text.lines()));
    let is_no_more = is.pairs().is_subset(&was.pairs());
    rates.no_more_order += u64::from(is_no_more && !is_synchronised);
}
