//! The rules of stream-ordered allocation, by number: what each says, where it is from, and what shows it.
//!
//! It owns what is said about them. What they make happen is decided elsewhere; scenarios show it, and a test holds the two
//! together.

mod allocator;
mod program;

use super::wrapped;

/// A rule that a public document, test or report gives.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// Its number.
    pub number: u8,
    /// What it says, in one sentence of our own.
    pub text: &'static str,
    /// The document and the section, or `owner/repository#number`.
    pub source: &'static str,
    /// How far it is followed.
    pub standing: Standing,
}

/// How far a rule is followed.
#[derive(Clone, Copy, Debug)]
pub enum Standing {
    /// It is, and this scenario shows it, perhaps among others.
    Shown(&'static str),
    /// This scenario shows it, but for a part of it that is named.
    Partly(&'static str, &'static str),
    /// It is left out, for a reason.
    OutOfScope(&'static str),
}

/// The rules in groups, in the order of their numbers.
const GROUPS: [&[Rule]; 8] = [
    program::STREAMS,
    program::VALIDITY,
    program::POOLS,
    allocator::REUSE,
    allocator::MEMORY,
    program::SHARING,
    allocator::NODES,
    allocator::REPORTS,
];

const fn rule(number: u8, text: &'static str, source: &'static str, standing: Standing) -> Rule {
    Rule { number, text, source, standing }
}

const fn shown(scenario: &'static str) -> Standing {
    Standing::Shown(scenario)
}

const fn partly(scenario: &'static str, but: &'static str) -> Standing {
    Standing::Partly(scenario, but)
}

const fn outside(reason: &'static str) -> Standing {
    Standing::OutOfScope(reason)
}

/// Every rule, in the order of the numbers.
pub fn rules() -> impl Iterator<Item = &'static Rule> {
    GROUPS.into_iter().flatten()
}

/// The number in a word such as `R41`, of a rule or not.
pub(super) fn number(word: &str) -> Option<u64> {
    word.strip_prefix(['R', 'r'])?.parse().ok()
}

/// What there is to say about a rule.
pub(super) fn about(number: u64) -> Option<String> {
    rules().find(|rule| u64::from(rule.number) == number).map(page)
}

fn page(rule: &Rule) -> String {
    let (standing, scenario) = match rule.standing {
        Standing::Shown(scenario) => ("shown by scenarios".to_owned(), Some(scenario)),
        Standing::Partly(scenario, but) => (format!("shown by scenarios in part: {but}"), Some(scenario)),
        Standing::OutOfScope(reason) => (format!("out of scope: {reason}"), None),
    };
    let mut text = format!("R{}: a rule of stream-ordered allocation\n\n", rule.number);
    text.push_str(&wrapped("", rule.text, 0));
    text.push('\n');
    text.push_str(&wrapped("Source: ", rule.source, 8));
    text.push_str(&wrapped("Status: ", &standing, 8));
    if let Some(scenario) = scenario {
        text.push_str(&format!("\nShown by:\n  millpond run {scenario}\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::WIDTH;
    use super::*;

    #[test]
    fn there_are_the_rules_1_to_95_each_with_a_sentence_and_a_source() {
        let numbers: Vec<u8> = rules().map(|rule| rule.number).collect();
        assert_eq!(numbers, (1..=95).collect::<Vec<u8>>());
        for rule in rules() {
            assert!(rule.text.ends_with('.') && rule.text.matches(". ").count() == 0, "{}", rule.text);
            assert!(!rule.source.is_empty() && !rule.source.ends_with('.'), "{}", rule.source);
            let page = page(rule);
            assert!(page.lines().all(|line| line.chars().count() <= WIDTH), "{page}");
        }
    }

    #[test]
    fn a_rule_is_told_by_its_number() {
        assert_eq!(
            about(44).as_deref(),
            Some(
                "R44: a rule of stream-ordered allocation\n\nWith internal on, and only when no more memory can be \
                 mapped, memory serves\nwhose free is still pending in another stream; the driver inserts the wait.\n\n\
                 Source: CUDA Programming Guide 4.3.4.4.3\nStatus: shown by scenarios\n\n\
                 Shown by:\n  millpond run scenarios/reuse/internal/growth_first.scn\n"
            )
        );
        assert!(about(24).is_some_and(|page| page.contains("\nStatus: out of scope: ")));
        assert_eq!((about(0), about(96), number("r7"), number("reset")), (None, None, Some(7), None));
    }
}
