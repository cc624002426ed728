//! The findings of a run, and what else fails, as SARIF 2.1.0 (OASIS, "Static Analysis Results Interchange Format"), which code
//! hosts and editors read.
//!
//! It says what is in which property. What was found, and in which words, others know.

use super::findings::words::{Words, about};
use super::findings::{Told, diagnostic};
use super::meetings::{Meeting, meetings};
use super::names::Book;
use super::{Failing, Origin};
use crate::base::{Edit, Help, Label, LineIndex, Span, StmtId, stable_hash};
use crate::oracle::{Certainty, Met};
use crate::scenario::Program;
use crate::trace::{FindingKind, Severity};
use serde_json::{Value, json};

/// What the document follows.
const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// A run as it is to be written.
#[derive(Clone, Debug)]
pub struct Sarif<'a> {
    /// The program.
    pub program: &'a Program,
    /// Its text.
    pub text: &'a str,
    /// Where it comes from.
    pub origin: Origin,
    /// Every finding, with what is known about it.
    pub told: Vec<Told<'a>>,
    /// What fails; findings among it are left out here.
    pub failures: &'a [Failing],
    /// Where kernels of a run on hardware have met in their memory.
    pub met: &'a [Met],
    /// How many expectations are open, since hardware does not tell whether they hold.
    pub open: usize,
    /// The exit status of the run.
    pub status: u8,
}

impl Sarif<'_> {
    /// The whole document.
    pub fn document(&self) -> String {
        let mut codes: Vec<&'static str> = FindingKind::ALL.iter().map(|kind| kind.name()).collect();
        for failing in self.failures() {
            if !codes.contains(&failing.code) {
                codes.push(failing.code);
            }
        }
        Page { of: self, index: LineIndex::new(self.text), codes }.document()
    }

    /// What fails and is no finding.
    fn failures(&self) -> impl Iterator<Item = &Failing> {
        self.failures.iter().filter(|failing| FindingKind::ALL.iter().all(|kind| kind.name() != failing.code))
    }
}

/// The document in the making.
struct Page<'a> {
    of: &'a Sarif<'a>,
    index: LineIndex,
    /// The codes that a result may have, in the order of their rules.
    codes: Vec<&'static str>,
}

impl Page<'_> {
    fn document(&self) -> String {
        let book = Book::new(self.of.program);
        let findings = self.of.told.iter().map(|told| self.finding(&book, told));
        let failures = self.of.failures().map(|failing| self.failing(failing));
        let overlaps = meetings(self.of.met).into_iter().map(|meeting| self.overlap(&book, meeting));
        let results: Vec<Value> = findings.chain(overlaps).chain(failures).collect();
        let description = match self.of.status {
            0 if self.of.open > 0 => "nothing fails, and hardware leaves expectations open",
            0 => "the scenario holds",
            3 => "it is not decided whether the scenario holds",
            _ => "the scenario fails",
        };
        let Origin { model, profile, seed, jitter, strategy, untimed, hardware, .. } = &self.of.origin;
        let mut properties = json!({
            "model": model,
            "profile": profile,
            "seed": seed,
            "jitter": jitter,
            "strategy": strategy.to_string(),
        });
        if *untimed {
            properties["untimed"] = true.into();
        }
        if let Some(hardware) = hardware {
            properties["hardware"] = hardware.as_str().into();
        }
        let document = json!({
            "$schema": SCHEMA,
            "version": "2.1.0",
            "runs": [{
                "tool": { "driver": {
                    "name": "millpond",
                    "version": env!("CARGO_PKG_VERSION"),
                    "rules": self.rules(),
                }},
                "invocations": [{
                    "executionSuccessful": true,
                    "exitCode": self.of.status,
                    "exitCodeDescription": description,
                }],
                "artifacts": [{ "location": self.artifact() }],
                "columnKind": "unicodeCodePoints",
                "properties": properties,
                "results": results,
            }],
        });
        format!("{document:#}\n")
    }

    fn rules(&self) -> Vec<Value> {
        let is_of_hardware = self.of.origin.hardware.is_some();
        let kinds = FindingKind::ALL.iter().map(|kind| match kind {
            FindingKind::Overlap if is_of_hardware => met(),
            kind => {
                let Words { what, mend, rule, source, .. } = about(*kind);
                let help =
                    format!("{rule} ({source}). What to do: {mend}. For more: millpond explain {kind}");
                rule_of(kind.name(), what, &help, level(kind.severity()))
            }
        });
        let others = self.codes.iter().skip(FindingKind::ALL.len()).map(|code| {
            let what = match *code {
                "expectation" => "What a line expects is not so",
                "undecided" => "Whether it is so in all timings is not decided",
                "stopped" => "The run was given up before its end",
                _ => "A call fails, and no line says so",
            };
            rule_of(code, what, &format!("For more: millpond explain {code}"), level_of(code))
        });
        kinds.chain(others).collect()
    }

    fn rule_index(&self, code: &str) -> Option<usize> {
        self.codes.iter().position(|known| *known == code)
    }

    fn finding(&self, book: &Book<'_>, told: &Told<'_>) -> Value {
        let finding = told.finding;
        let diagnostic = diagnostic(book, told);
        let code = finding.kind.name();
        let suppressions: Vec<Value> = match finding.expected {
            Some(stmt) => vec![self.expected(book, stmt)],
            None if finding.muted => vec![json!({ "kind": "external", "justification": "allowed" })],
            None => Vec::new(),
        };
        let related = diagnostic.secondary.iter().enumerate().map(|(nth, label)| {
            let mut location = self.location(label);
            location["id"] = json!(nth + 1);
            location
        });
        let statement = &book.program.statements[finding.stmt];
        let mut properties = json!({ "times": finding.times });
        if let Some(certainty) = finding.certainty.map(Certainty::name) {
            properties["certainty"] = json!(certainty);
        }
        for fact in &diagnostic.facts {
            properties[fact.name.replace(' ', "_")] = json!(fact.text.replace('\n', " "));
        }
        let mut result = json!({
            "ruleId": code,
            "ruleIndex": self.rule_index(code),
            "level": level(finding.severity),
            "message": { "text": diagnostic.message },
            "locations": [self.location(&diagnostic.primary)],
            "relatedLocations": related.collect::<Vec<_>>(),
            "suppressions": suppressions,
            // The same finding after lines were added elsewhere.
            "partialFingerprints": { "statement/v1": fingerprint(code, &statement.text) },
            "properties": properties,
        });
        if let Some(Help { text, edits, .. }) = diagnostic.help.filter(|help| !help.edits.is_empty()) {
            let replacements: Vec<Value> = edits.iter().map(|edit| self.replacement(edit)).collect();
            result["fixes"] = json!([{
                "description": { "text": text },
                "artifactChanges": [{ "artifactLocation": self.artifact(), "replacements": replacements }],
            }]);
        }
        result
    }

    /// A suppression by a line that expects it.
    fn expected(&self, book: &Book<'_>, stmt: StmtId) -> Value {
        let label = self.whole(book, stmt, "");
        let justification = format!("expected at line {}", book.line(stmt));
        json!({ "kind": "inSource", "justification": justification, "location": self.location(&label) })
    }

    /// A statement, with a word about it.
    fn whole(&self, book: &Book<'_>, stmt: StmtId, message: &str) -> Label {
        Label { span: book.program.statements[stmt].span, message: message.to_owned() }
    }

    /// Kernels that have met in their memory: the one that has found it, who has written that, and who should have.
    fn overlap(&self, book: &Book<'_>, Meeting { met, times }: Meeting<'_>) -> Value {
        let code = FindingKind::Overlap.name();
        let text = |stmt: StmtId| book.program.statements[stmt].text.as_str();
        let writer = met.found.map(|stmt| (stmt, "has written what was found"));
        let last = (met.expected, "has written there last, of those that are ordered before it");
        let is_other = |(stmt, _): &(StmtId, &str)| *stmt != met.stmt;
        let others = writer.into_iter().chain(Some(last).filter(is_other));
        let related = others.enumerate().map(|(nth, (stmt, message))| {
            let mut location = self.location(&self.whole(book, stmt, message));
            location["id"] = json!(nth + 1);
            location
        });
        let found = met.found.map_or("no kernel of the run".to_owned(), |stmt| format!("`{}`", text(stmt)));
        let place = match met.expected == met.stmt {
            true => "its own".to_owned(),
            false => format!("what `{}` has", text(met.expected)),
        };
        let at = text(met.stmt);
        let message = format!("`{at}` finds in its memory what {found} has written, in place of {place}");
        let suppressions: Vec<Value> =
            met.expected_at.into_iter().map(|stmt| self.expected(book, stmt)).collect();
        json!({
            "ruleId": code,
            "ruleIndex": self.rule_index(code),
            "level": "error",
            "message": { "text": message },
            "locations": [self.location(&self.whole(book, met.stmt, ""))],
            "relatedLocations": related.collect::<Vec<_>>(),
            "suppressions": suppressions,
            "partialFingerprints": { "statement/v1": fingerprint(code, text(met.stmt)) },
            "properties": { "times": times, "when": if met.late { "end" } else { "start" } },
        })
    }

    fn failing(&self, failing: &Failing) -> Value {
        let line = failing.line.unwrap_or(1);
        json!({
            "ruleId": failing.code,
            "ruleIndex": self.rule_index(failing.code),
            "level": level_of(failing.code),
            "message": { "text": failing.text },
            "locations": [{ "physicalLocation": {
                "artifactLocation": self.artifact(), "region": { "startLine": line },
            }}],
            "suppressions": [],
            "partialFingerprints": { "statement/v1": fingerprint(failing.code, &failing.text) },
        })
    }

    fn replacement(&self, edit: &Edit) -> Value {
        json!({ "deletedRegion": self.region(edit.span), "insertedContent": { "text": edit.text } })
    }

    fn location(&self, label: &Label) -> Value {
        let region = self.region(label.span);
        let place = json!({ "artifactLocation": self.artifact(), "region": region });
        match label.message.as_str() {
            "" => json!({ "physicalLocation": place }),
            message => json!({ "physicalLocation": place, "message": { "text": message } }),
        }
    }

    /// Lines and characters are counted from 1; the end is the place after the last one.
    fn region(&self, span: Span) -> Value {
        let column = |byte: u32| {
            let before = self.of.text.get(..byte as usize).unwrap_or_default();
            before[before.rfind('\n').map_or(0, |at| at + 1)..].chars().count() + 1
        };
        json!({
            "startLine": self.index.line(span.start), "startColumn": column(span.start),
            "endLine": self.index.line(span.end), "endColumn": column(span.end),
        })
    }

    fn artifact(&self) -> Value {
        json!({ "uri": uri(&self.of.origin.path) })
    }
}

/// The rule of what kernels show on hardware.
fn met() -> Value {
    let code = FindingKind::Overlap.name();
    let what = "A kernel finds in its memory what another one has written";
    let rule = "a kernel finds what the last one has left that wrote there and is ordered before it";
    let help =
        format!("{rule} (docs/hardware.md). What to do: order the two. For more: millpond explain {code}");
    rule_of(code, what, &help, level(Severity::Error))
}

fn rule_of(code: &str, what: &str, help: &str, level: &str) -> Value {
    json!({
        "id": code,
        "shortDescription": { "text": what },
        "help": { "text": help },
        "defaultConfiguration": { "level": level },
    })
}

const fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Lint => "note",
    }
}

/// How bad it is that something fails.
fn level_of(code: &str) -> &'static str {
    if code == "undecided" { "warning" } else { "error" }
}

fn fingerprint(code: &str, text: &str) -> String {
    format!("{:016x}", stable_hash(&[code, text]))
}

/// A path as a reference of a URI (RFC 3986): relative as it is, absolute with its scheme.
fn uri(path: &str) -> String {
    let path = path.replace('\\', "/");
    let mut uri = match path.as_bytes() {
        [b'/', ..] => "file://".to_owned(),
        [drive, b':', ..] if drive.is_ascii_alphabetic() => "file:///".to_owned(),
        _ => String::new(),
    };
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                uri.push(char::from(byte));
            }
            byte => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_uris() {
        for (path, expected) in [
            ("scenarios/a b.scn", "scenarios/a%20b.scn"),
            ("/tmp/ä#.scn", "file:///tmp/%C3%A4%23.scn"),
            ("C:\\x\\y.scn", "file:///C%3A/x/y.scn"),
            ("<stdin>", "%3Cstdin%3E"),
        ] {
            assert_eq!(uri(path), expected);
        }
    }
}
