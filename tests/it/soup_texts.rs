//! Texts that nobody would write: words in any order, statements that only the grammar has seen, and spoilt scenarios.
//!
//! Words, signs and statements come from the grammar file, so that a new construct joins by itself.

use millpond::base::Draws;
use millpond::profile::Profile;
use pest_meta::ast::{Expr, Rule};
use pest_meta::parser;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

const GRAMMAR: &str = include_str!("../../grammar/millpond.pest");

/// What made-up statements call things. The first lines of [`DECLARED`] declare some of them.
const NAMES: &[&str] = &[
    "s",
    "s",
    "t",
    "w",
    "p",
    "p",
    "q",
    "e",
    "done",
    "k",
    "k",
    "copy",
    "x",
    "x",
    "y",
    "y",
    "z",
    "i",
    "n",
    "go",
    "gpu0",
    "gpu1",
    "device",
    "legacy",
    "per_thread",
    "default_pool",
    "late",
];
const DECLARED: &[&str] = &[
    "device gpu0 { memory = 256MiB }",
    "device gpu1 { memory = 1GiB }",
    "pool p on gpu0 { release_threshold = max }",
    "pool q on gpu0 { reuse = [], max_size = 64MiB }",
    "stream s, t on gpu0",
    "stream w[2] on gpu0 non_blocking priority -1",
    "event e, done[2]",
    "event there on gpu1",
    "kernel k(a: read_write) takes 10us",
    "kernel copy(a: read, b: write) takes 1us..9us",
    "let n = 3",
];
/// Ways to speak of things, by what they are.
const PATHS: &[&str] = &[
    "s",
    "s",
    "t",
    "w[0]",
    "w[n - 2]",
    "w[i % 2]",
    "x",
    "x",
    "y",
    "z[0]",
    "z[i]",
    "p",
    "q",
    "e",
    "there",
    "done[1]",
    "gpu0",
    "gpu0.default_pool",
    "p.used",
    "q.reserved_high",
    "p.follow_event",
    "p.release_threshold",
    "legacy",
    "per_thread",
    "gpu1.legacy",
    "n",
    "i",
    "go",
];
const WORDS: &[&str] = &[
    "memory",
    "release_threshold",
    "max_size",
    "reuse",
    "follow_event",
    "opportunistic",
    "internal",
    "same_stream",
    "observed",
    "unused",
    "growth",
    "reserved",
    "used_high",
    "padding",
    "pending",
    "address",
    "out_of_memory",
    "invalid_value",
    "not_ready",
];
const NUMBERS: &[&str] = &[
    "0",
    "0",
    "1",
    "2",
    "3",
    "4",
    "63",
    "64",
    "65",
    "512",
    "4096",
    "65536",
    "1000000",
    "100000000",
    "4294967296",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "170141183460469231731687303715884105727",
    "340282366920938463463374607431768211456",
    "1.5",
    "0.3",
    "007",
    "1e3",
    "0x10",
    "00000000000000000000000000000000000000000000000001",
    "99999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999",
];
const UNITS: &[&str] =
    &["B", "KiB", "MiB", "MiB", "GiB", "TiB", "ns", "us", "us", "ms", "s", "", "", "KB", "PiB", "µs"];
/// What no statement has, or only inside of quotes and comments.
const ODDITIES: &[&str] = &[
    "é",
    "日本語",
    "\u{200b}",
    "\u{202e}",
    "\u{feff}",
    "🦀",
    "e\u{301}",
    "\u{a0}",
    "\u{2028}",
    "\0",
    "\u{7}",
    "\u{1b}[31m",
    "\r",
    "\u{b}",
    "\u{7f}",
    "\u{85}",
    "\"",
    "'",
    "`",
    "\\",
    "$",
    "@",
    ";",
    "//",
    "/*",
    "&",
    "|",
    "~",
    "<<<",
    ">>>",
    "#",
    "\"a # b\"",
    "\"\"",
    "+",
    "-",
    "_",
    "__",
    "x_",
    "_1",
];

/// A grammar, and scenarios to spoil.
pub(crate) struct Kitchen {
    rules: BTreeMap<String, Expr>,
    /// Every word and every sign of the grammar.
    fixed: Vec<String>,
    scenarios: Vec<String>,
}

impl Kitchen {
    pub(crate) fn new() -> Self {
        let pairs = parser::parse(parser::Rule::grammar_rules, GRAMMAR).expect("pest reads its grammar");
        let rules = parser::consume_rules(pairs).expect("pest reads its grammar");
        let mut fixed = Vec::new();
        for Rule { expr, .. } in &rules {
            fixed.extend(expr.iter_top_down().filter_map(|part| match part {
                Expr::Str(text) => Some(text),
                _ => None,
            }));
        }
        fixed.sort();
        fixed.dedup();
        let rules = rules.into_iter().map(|rule| (rule.name, rule.expr)).collect();
        let mut scenarios = Vec::new();
        gather(&Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios"), &mut scenarios);
        Self { rules, fixed, scenarios }
    }

    /// The words with which the alternatives of a rule begin.
    pub(crate) fn first_words(&self, rule: &str) -> Vec<&str> {
        let mut rules = Vec::new();
        for part in self.rules[rule].iter_top_down() {
            rules.extend(if let Expr::Ident(name) = part { self.rules.get(&name) } else { None });
        }
        let words = rules.into_iter().filter_map(|mut expression| {
            while let Expr::Seq(first, _) = expression {
                expression = first;
            }
            if let Expr::Ident(name) = expression { name.strip_prefix("kw_") } else { None }
        });
        words.collect()
    }

    /// A text of any kind.
    pub(crate) fn text(&self, draws: &mut Draws) -> String {
        match draws.below(10) {
            0 => self.soup(draws),
            1..5 => self.statements(draws),
            _ => self.spoilt(draws),
        }
    }

    /// Words and signs in any order.
    fn soup(&self, draws: &mut Draws) -> String {
        let mut text = String::new();
        for _ in 0..draws.below(60) {
            text.push_str(&self.token(draws));
            text.push_str(pick(&["", " ", " ", " ", "\t", "\n", "\r\n", ", ", ": "], draws));
        }
        text
    }

    fn token(&self, draws: &mut Draws) -> String {
        match draws.below(8) {
            0 => format!("{}{}", pick(NUMBERS, draws), pick(UNITS, draws)),
            1 => pick(ODDITIES, draws).to_owned(),
            2 => pick(NAMES, draws).to_owned(),
            3 => pick(WORDS, draws).to_owned(),
            _ => self.fixed[draws.below(self.fixed.len() as u64) as usize].clone(),
        }
    }

    /// Statements as the grammar allows them, about things that are declared, or are not.
    fn statements(&self, draws: &mut Draws) -> String {
        let mut text = String::new();
        for line in DECLARED.iter().filter(|_| draws.below(50) > 0).collect::<Vec<_>>() {
            text.extend([line, "\n"]);
        }
        text.push_str("s: x = alloc 1MiB from p\nt: y = alloc 3MiB\ns: z[0] = alloc 2MiB from q\n");
        // Most texts keep only statements that mean something, or else hardly any would run.
        let valid_only = draws.below(4) > 0;
        let is_valid = |text: &str| millpond::load(text, &Profile::default()).0.is_some();
        let mut open = 0;
        for _ in 0..draws.below(40) {
            let mut line = String::new();
            self.derive("statement", &mut line, 0, draws);
            let opens = usize::from(line.ends_with("{ "));
            let longer = format!("{text}{}\n", line.trim_end());
            if valid_only && !is_valid(&(longer.clone() + &"}\n".repeat(open + opens))) {
                continue;
            }
            text = longer;
            open += opens;
            if open > 0 && draws.below(3) == 0 {
                open -= 1;
                text.push_str("}\n");
            }
        }
        text + &"}\n".repeat(open)
    }

    /// Something that a rule of the grammar accepts.
    fn derive(&self, rule: &str, out: &mut String, depth: usize, draws: &mut Draws) {
        match rule {
            "name" => out.extend([pick(NAMES, draws), " "]),
            "path" if draws.below(20) > 0 => out.extend([pick(PATHS, draws), " "]),
            "word" => out.extend([pick(WORDS, draws), " "]),
            "quoted" => out.push_str("\"words, # and { signs\" "),
            "percent" => out.extend([pick(NUMBERS, draws), "% "]),
            "number" if draws.below(3) == 0 => out.extend([pick(NUMBERS, draws), pick(UNITS, draws), " "]),
            "number" => {
                out.push_str(pick(&["0 ", "1 ", "3 ", "4KiB ", "1MiB ", "64MiB ", "5us ", "1ms "], draws))
            }
            // A value inside of values inside of values would never end.
            "expression" if depth > 8 => out.push_str("1MiB "),
            _ => match self.rules.get(rule) {
                Some(expression) => self.walk(expression, out, depth + 1, draws),
                None => out.push(' '),
            },
        }
    }

    fn walk(&self, expression: &Expr, out: &mut String, depth: usize, draws: &mut Draws) {
        match expression {
            Expr::Str(text) => out.extend([text, " "]),
            Expr::Ident(rule) => self.derive(rule, out, depth, draws),
            Expr::Seq(first, then) => {
                self.walk(first, out, depth, draws);
                self.walk(then, out, depth, draws);
            }
            Expr::Choice(..) => {
                let mut ways = Vec::new();
                let mut rest = expression;
                while let Expr::Choice(first, others) = rest {
                    ways.push(&**first);
                    rest = others;
                }
                // A chain of choices may lean to either side.
                while let Some(Expr::Choice(first, other)) = ways.first().copied() {
                    ways.splice(..1, [&**first, &**other]);
                }
                ways.push(rest);
                self.walk(ways[draws.below(ways.len() as u64) as usize], out, depth, draws);
            }
            Expr::Opt(inner) if draws.below(3) == 0 => self.walk(inner, out, depth, draws),
            Expr::Rep(inner) | Expr::RepOnce(inner) => {
                let least = u64::from(matches!(expression, Expr::RepOnce(_)));
                for _ in 0..least + draws.below(5) / 3 {
                    self.walk(inner, out, depth, draws);
                }
            }
            // What must not follow, and what the grammar of scenarios does not use.
            _ => {}
        }
    }

    /// A shipped scenario after a few changes.
    fn spoilt(&self, draws: &mut Draws) -> String {
        let mut text = self.scenario(draws).to_owned();
        for _ in 0..1 + draws.below(3) {
            text = self.changed(text, draws);
        }
        text
    }

    fn scenario(&self, draws: &mut Draws) -> &str {
        &self.scenarios[draws.below(self.scenarios.len() as u64) as usize]
    }

    fn changed(&self, mut text: String, draws: &mut Draws) -> String {
        match draws.below(10) {
            0..3 => self.other_tokens(&text, draws),
            3 | 4 => other_lines(&text, draws),
            5 => {
                let other = self.scenario(draws);
                let (first, second) = (border(&text, draws), border(other, draws));
                text.truncate(first);
                text + &other[second..]
            }
            6 => {
                text.truncate(border(&text, draws));
                text
            }
            7 => {
                text.insert_str(border(&text, draws), pick(ODDITIES, draws));
                text
            }
            8 => other_numbers(&text, draws),
            _ => nested(&text, draws),
        }
    }

    /// Deletes, doubles, swaps or replaces words and signs.
    fn other_tokens(&self, text: &str, draws: &mut Draws) -> String {
        let mut tokens: Vec<String> = tokens(text).map(str::to_owned).collect();
        for _ in 0..1 + draws.below(3) {
            if tokens.is_empty() {
                break;
            }
            let (at, other) = (place(&tokens, draws), place(&tokens, draws));
            match draws.below(5) {
                0 => drop(tokens.remove(at)),
                1 => tokens.insert(at, tokens[at].clone()),
                2 => tokens.swap(at, other),
                3 => tokens[at] = tokens[other].clone(),
                _ => tokens[at] = self.token(draws),
            }
        }
        tokens.concat()
    }
}

fn pick<'a>(list: &[&'a str], draws: &mut Draws) -> &'a str {
    list[draws.below(list.len() as u64) as usize]
}

fn place<T>(list: &[T], draws: &mut Draws) -> usize {
    draws.below(list.len() as u64) as usize
}

/// A byte between two characters, or an end.
fn border(text: &str, draws: &mut Draws) -> usize {
    let at = draws.below(text.len() as u64 + 1) as usize;
    (at..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len())
}

/// Words with their digits, signs, and the spaces between them; put together they are the text.
fn tokens(text: &str) -> impl Iterator<Item = &str> {
    let is_letter = |sign: char| sign.is_ascii_alphanumeric() || sign == '_' || sign == '.';
    let mut rest = text;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let end = match is_letter(first) {
            true => rest.find(|sign| !is_letter(sign)).unwrap_or(rest.len()),
            false => first.len_utf8(),
        };
        let (token, after) = rest.split_at(end);
        rest = after;
        Some(token)
    })
}

fn other_lines(text: &str, draws: &mut Draws) -> String {
    let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
    if lines.is_empty() {
        return String::new();
    }
    let (at, other) = (place(&lines, draws), place(&lines, draws));
    match draws.below(4) {
        0 => drop(lines.remove(at)),
        1 => lines.insert(other, lines[at]),
        2 => lines.swap(at, other),
        _ => lines[at] = lines[other],
    }
    lines.concat()
}

/// Gives some numbers another value, most often an extreme one; their units stay.
fn other_numbers(text: &str, draws: &mut Draws) -> String {
    let change = |token: &str, draws: &mut Draws| -> Option<String> {
        let digits = token.bytes().take_while(u8::is_ascii_digit).count();
        let changes = digits > 0 && draws.below(3) == 0;
        changes.then(|| format!("{}{}", pick(NUMBERS, draws), &token[digits..]))
    };
    tokens(text).map(|token| change(token, draws).unwrap_or_else(|| token.to_owned())).collect()
}

/// Puts parentheses around a number, or loops around all of it, up to the limit and beyond.
fn nested(text: &str, draws: &mut Draws) -> String {
    let depth = [1, 2, 63, 64, 65, 200][draws.below(6) as usize];
    if draws.below(2) == 0 {
        return format!("{}{text}\n{}", "repeat deep in 0..1 {\n".repeat(depth), "}\n".repeat(depth));
    }
    let tokens: Vec<&str> = tokens(text).collect();
    let is_number = |at: &usize| tokens[*at].starts_with(|sign: char| sign.is_ascii_digit());
    let numbers: Vec<usize> = (0..tokens.len()).filter(is_number).collect();
    if numbers.is_empty() {
        return text.to_owned();
    }
    let at = numbers[place(&numbers, draws)];
    let (before, after) = (tokens[..at].concat(), tokens[at + 1..].concat());
    format!("{before}{}{}{}{after}", "(".repeat(depth), tokens[at], ")".repeat(depth))
}

fn gather(folder: &Path, texts: &mut Vec<String>) {
    let entries = fs::read_dir(folder).expect("a folder can be read").flatten();
    let mut paths: Vec<_> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            gather(&path, texts);
        } else {
            texts.push(fs::read_to_string(&path).expect("a scenario can be read"));
        }
    }
}
