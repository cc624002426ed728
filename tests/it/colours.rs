//! The grammar for editors has the words of the language, can be read, and colours a scenario in a sensible way.

use fancy_regex::Regex;
use serde_json::Value;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

const LANGUAGE: &str = include_str!("../../grammar/millpond.pest");
const COLOURS: &str = include_str!("../../grammar/millpond.tmLanguage.json");
/// Where an editor finds the words, and which ones belong there.
const GROUPS: [(&str, &str); 8] = [
    ("declaration", "begins a declaration"),
    ("call", "begins a call of the host or an expectation"),
    ("operation", "begins an operation of a stream"),
    ("expectation", "stands in an expectation, behind its subject"),
    ("modifier", "is a kind of stream or of access"),
    ("law", "draws a duration"),
    ("constant", "is a value"),
    ("clause", "stands anywhere else in a statement"),
];

fn colours() -> Value {
    serde_json::from_str(COLOURS).expect("the grammar for editors is JSON")
}

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).unwrap_or_else(|error| panic!("{pattern}: {error}"))
}

/// The words that a group lists.
fn words_of(group: &Value) -> BTreeSet<String> {
    let pattern = ["match", "begin"].iter().find_map(|key| group[key].as_str()).expect("a group matches");
    let list = regex(r"\((?:\?:)?([a-z_]+(?:\|[a-z_]+)+)\)").captures(pattern).expect("a pattern of ours");
    let list = list.unwrap_or_else(|| panic!("`{pattern}` has no list of words"));
    list[1].split('|').map(str::to_owned).collect()
}

#[test]
fn editors_know_the_words_of_the_language() {
    let colours = colours();
    let language: BTreeSet<&str> =
        LANGUAGE.lines().filter_map(|line| line.strip_prefix("kw_")?.split_whitespace().next()).collect();
    assert!(language.len() > 40, "{language:?}");
    let mut listed: BTreeMap<String, &str> = BTreeMap::new();
    let mut faults = Vec::new();
    for (group, _) in GROUPS {
        for word in words_of(&colours["repository"][group]) {
            if !language.contains(word.as_str()) {
                faults.push(format!("remove `{word}` from `{group}`: the language has no such word"));
            }
            if let Some(other) = listed.insert(word.clone(), group) {
                faults.push(format!("`{word}` is in `{other}` and in `{group}`: remove one"));
            }
        }
    }
    let places = GROUPS.map(|(group, what)| format!("  `{group}` if it {what}")).join("\n");
    for word in language.iter().filter(|word| !listed.contains_key(**word)) {
        faults.push(format!("add `{word}` to the list of one of these groups:\n{places}"));
    }
    assert!(faults.is_empty(), "in grammar/millpond.tmLanguage.json:\n{}", faults.join("\n"));
}

/// A grammar for editors as an editor uses it, a line at a time.
struct Editor {
    grammar: Value,
    patterns: RefCell<BTreeMap<String, Regex>>,
}

impl Editor {
    fn new() -> Self {
        Self { grammar: colours(), patterns: RefCell::default() }
    }

    /// Where a pattern matches first, and what its groups cover.
    fn found(&self, pattern: &str, line: &str, at: usize) -> Option<Groups> {
        let mut patterns = self.patterns.borrow_mut();
        let regex = patterns.entry(pattern.to_owned()).or_insert_with(|| regex(pattern));
        let captures = regex.captures_from_pos(line, at).expect("a pattern that can be matched")?;
        Some(captures.iter().map(|group| group.map(|group| group.range())).collect())
    }

    /// The innermost colour of each byte of a line.
    fn colour(&self, line: &str) -> Vec<String> {
        let mut scopes = vec![String::new(); line.len()];
        self.walk(&self.grammar["patterns"], line, 0, None, &mut scopes);
        scopes
    }

    /// Applies patterns from a byte on, up to what ends them; answers where that is.
    fn walk(
        &self,
        patterns: &Value,
        line: &str,
        mut at: usize,
        end: Option<&str>,
        out: &mut [String],
    ) -> usize {
        while at <= line.len() {
            let ends = end.and_then(|end| self.found(end, line, at));
            let mut rules = Vec::new();
            self.expand(patterns, &mut rules);
            let first = rules
                .iter()
                .filter_map(|rule| {
                    let pattern = rule["match"].as_str().or(rule["begin"].as_str())?;
                    Some((self.found(pattern, line, at)?, *rule))
                })
                .min_by_key(|(groups, _)| groups[0].clone().map(|range| range.start));
            let start = |groups: &Groups| groups[0].as_ref().map_or(usize::MAX, |range| range.start);
            let Some((groups, rule)) =
                first.filter(|(groups, _)| ends.as_ref().is_none_or(|e| start(groups) < start(e)))
            else {
                return ends.and_then(|ends| ends[0].clone()).map_or(line.len(), |range| range.end);
            };
            let whole = groups[0].clone().expect("a match has a place");
            paint(&rule["name"], whole.clone(), out);
            let captures = if rule["begin"].is_string() { &rule["beginCaptures"] } else { &rule["captures"] };
            for (nth, range) in groups.iter().enumerate() {
                let (Some(range), capture) = (range, &captures[nth.to_string()]) else { continue };
                paint(&capture["name"], range.clone(), out);
                if capture["patterns"].is_array() {
                    self.walk(&capture["patterns"], &line[..range.end], range.start, None, out);
                }
            }
            let after = match rule["end"].as_str() {
                Some(end) => self.walk(&rule["patterns"], line, whole.end, Some(end), out),
                None => whole.end,
            };
            at = after.max(at + usize::from(after == at));
        }
        line.len()
    }

    /// The patterns, with those of the repository in place of their names.
    fn expand<'g>(&'g self, patterns: &'g Value, rules: &mut Vec<&'g Value>) {
        for pattern in patterns.as_array().into_iter().flatten() {
            let Some(name) = pattern["include"].as_str() else {
                rules.push(pattern);
                continue;
            };
            let included = &self.grammar["repository"][name.trim_start_matches('#')];
            assert!(included.is_object(), "{name} is in no repository");
            let is_list = included["match"].is_null() && included["begin"].is_null();
            if is_list { self.expand(&included["patterns"], rules) } else { rules.push(included) }
        }
    }
}

/// What the groups of a pattern cover.
type Groups = Vec<Option<Range<usize>>>;

fn paint(name: &Value, range: Range<usize>, out: &mut [String]) {
    if let Some(name) = name.as_str() {
        out[range].fill(name.trim_end_matches(".millpond").to_owned());
    }
}

#[test]
fn every_pattern_can_be_read() {
    fn walk(value: &Value, count: &mut usize) {
        for (key, value) in value.as_object().into_iter().flatten() {
            if let (true, Some(pattern)) = (["match", "begin", "end"].contains(&key.as_str()), value.as_str())
            {
                regex(pattern);
                *count += 1;
            }
            walk(value, count);
        }
        value.as_array().into_iter().flatten().for_each(|value| walk(value, count));
    }
    let mut count = 0;
    walk(&colours(), &mut count);
    assert!(count > 20, "{count} patterns");
}

#[test]
fn a_scenario_is_coloured() {
    let editor = Editor::new();
    for (line, expected) in [
        ("# A buffer", "# A buffer=comment.line.number-sign"),
        (
            "scenario \"follow-event reuse\" # x",
            "scenario=storage.type \"follow-event reuse\"=string.quoted.double # x=comment.line.number-sign",
        ),
        (
            "device gpu0 { memory = 80GiB }",
            "device=storage.type gpu0=entity.name memory=variable.other.property ==keyword.operator 80=constant.numeric \
             GiB=keyword.other.unit",
        ),
        (
            "pool scratch on gpu0 { release_threshold = 0B, reuse = [follow_event, internal] }",
            "pool=storage.type scratch=entity.name on=keyword.control.clause gpu0=variable.other \
             release_threshold=variable.other.property ==keyword.operator 0=constant.numeric B=keyword.other.unit \
             reuse=variable.other.property ==keyword.operator follow_event=support.constant internal=support.constant",
        ),
        (
            "stream producer, consumer[4] non_blocking",
            "stream=storage.type producer=entity.name consumer=entity.name 4=constant.numeric \
             non_blocking=storage.modifier",
        ),
        (
            "kernel fill(out: write) takes 5us..1.5ms",
            "kernel=storage.type fill=entity.name out=variable.parameter write=storage.modifier \
             takes=keyword.control.clause 5=constant.numeric us=keyword.other.unit ..=keyword.operator \
             1.5=constant.numeric ms=keyword.other.unit",
        ),
        (
            "producer: x[0] = alloc 64MiB from scratch fails out_of_memory",
            "producer=entity.name.namespace.stream :=punctuation.separator.stream x=entity.name.buffer \
             0=constant.numeric ==keyword.operator alloc=keyword.other.operation 64=constant.numeric \
             MiB=keyword.other.unit from=keyword.control.clause fails=keyword.control.clause \
             out_of_memory=support.constant",
        ),
        (
            "  producer: fill(x) as late until go",
            "producer=entity.name.namespace.stream :=punctuation.separator.stream fill=entity.name.function.kernel \
             as=keyword.control.clause late=entity.name.label until=keyword.control.clause",
        ),
        (
            "consumer: wait freed",
            "consumer=entity.name.namespace.stream :=punctuation.separator.stream wait=keyword.other.operation",
        ),
        ("sync device", "sync=keyword.other.call"),
        (
            "expect y not reuses x via follow_event",
            "expect=keyword.other.call not=keyword.operator.expectation reuses=keyword.operator.expectation \
             via=keyword.operator.expectation follow_event=support.constant",
        ),
        (
            "expect scratch.reserved_high == max",
            "expect=keyword.other.call reserved_high=variable.other.property ===keyword.operator \
             max=constant.language",
        ),
        (
            "repeat i in 0..n {",
            "repeat=storage.type i=entity.name in=keyword.control.clause 0=constant.numeric ..=keyword.operator",
        ),
    ] {
        assert_eq!(shown(line, &editor.colour(line)), expected, "{line}");
    }
}

/// What has a colour, as `TEXT=COLOUR`, in order. White space at the edges of a colour is left out.
fn shown(line: &str, scopes: &[String]) -> String {
    let mut parts: Vec<(String, &str)> = Vec::new();
    for (at, sign) in line.char_indices() {
        let (begins, scope) = (at == 0 || scopes[at] != scopes[at - 1], scopes[at].as_str());
        match parts.last_mut().filter(|_| !begins) {
            Some((text, _)) => text.push(sign),
            None => parts.push((sign.to_string(), scope)),
        }
    }
    let parts = parts.iter().filter(|(_, scope)| !scope.is_empty());
    parts.map(|(text, scope)| format!("{}={scope}", text.trim())).collect::<Vec<_>>().join(" ")
}

#[test]
fn shipped_scenarios_leave_no_word_of_the_language_without_a_colour() {
    let editor = Editor::new();
    let text = include_str!("../../scenarios/guide/follow_event.scn");
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    for line in &lines {
        let scopes = editor.colour(line);
        assert!(scopes.iter().any(|scope| !scope.is_empty()), "{line}");
        let number = |at: &usize| line.as_bytes()[*at].is_ascii_digit() && !line.starts_with('#');
        let stands_alone =
            |at: &usize| !line[..*at].ends_with(|sign: char| sign.is_alphanumeric() || sign == '"');
        for at in (0..line.len()).filter(number).filter(stands_alone) {
            assert_eq!(scopes[at], "constant.numeric", "{line}");
        }
    }
    assert!(lines.len() > 15);
}
