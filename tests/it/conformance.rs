//! What Millpond takes from documents, tests and reports, and what shows it: `docs/conformance.md`.
//!
//! The page is made of the rules of the crate, of the cases here, of what scenarios say in their opening comment and of the
//! faults in `tests/mutants`. With `MILLPOND_BLESS` set it is rewritten.

mod cases;
mod guide;

use crate::tidy::tree::{self, File};
use millpond::cli::{Rule, Standing, rules};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/conformance.md");
/// Where the simulated driver is called as only a program in C can call it.
const API: &str = "crates/simulated-driver/tests/simulated/api.rs";

/// Of 62 cases C and 15 cases N.
const CASES_WITHOUT_A_SCENARIO: usize = 3;
const RULES_WITH_A_MUTANT: usize = 84;
/// The last one of the field reports that scenarios may name as cases.
const FIELD_REPORTS: u32 = 91;
/// These are about mistakes of a program, so that only a scenario with a mistake can show them.
const ABOUT_MISTAKES: &[u8] = &[14, 15, 16, 18, 21, 75, 88, 89, 90, 95];

/// Name, what it is about, where it is from, and how far there is a scenario.
struct Case(&'static str, &'static str, &'static str, Status);

#[derive(Clone, Copy)]
enum Status {
    Scenario,
    /// There is one, but a part of the case is not in it, for a reason.
    ScenarioBut(&'static str),
    /// There is one, and beside it a test about this part, which only a program in C can get wrong.
    ScenarioAndApi(&'static str),
    /// All of it is about what only a program in C can pass.
    Api(&'static str),
    AmdOnly(&'static str),
}

impl Status {
    fn has_scenario(self) -> bool {
        matches!(self, Self::Scenario | Self::ScenarioBut(_) | Self::ScenarioAndApi(_))
    }

    /// Whether something of it is left to tests of the simulated driver.
    fn needs_api(self) -> bool {
        matches!(self, Self::ScenarioAndApi(_) | Self::Api(_))
    }

    fn words(self) -> String {
        match self {
            Self::Scenario => "scenario".to_owned(),
            Self::ScenarioBut(part) => format!("scenario; not in it: {part}"),
            Self::ScenarioAndApi(part) => format!("scenario; api: {part}"),
            Self::Api(part) => format!("api: {part}"),
            Self::AmdOnly(why) => format!("AMD only: {why}"),
        }
    }

    /// The same, with these links to tests of the simulated driver.
    fn words_with(self, tests: &str) -> String {
        match () {
            () if tests.is_empty() => self.words(),
            () if self.needs_api() => format!("{}: {tests}", self.words()),
            () => format!("{}; api: {tests}", self.words()),
        }
    }
}

/// A scenario, with the names in its opening comment.
struct Shows {
    path: String,
    names: Vec<String>,
    expects_findings: bool,
}

/// A recorded fault: its name, the rule that it breaks, and the scenario that notices.
struct Mutant {
    name: String,
    rule: Option<String>,
    fails: String,
}

fn scenarios() -> Vec<Shows> {
    let read = |file: File| {
        let is_scenario = file.path.starts_with("scenarios/") && file.path.ends_with(".scn");
        let origin = file.text.lines().find_map(|line| line.strip_prefix("# rules: "))?;
        let (names, _) = origin.split_once("source: ")?;
        let fields = ["-", "cases:", "guide:"];
        let names = names.split_whitespace().filter(|word| !fields.contains(word)).map(str::to_owned);
        let expects_findings = file.text.lines().any(|line| line.trim_start().starts_with("expect finding "));
        is_scenario.then(|| Shows { names: names.collect(), expects_findings, path: file.path })
    };
    tree::tracked().into_iter().filter_map(read).collect()
}

fn mutants() -> Vec<Mutant> {
    let read = |file: File| {
        let name = file.path.strip_prefix("tests/mutants/")?.strip_suffix(".patch")?.to_owned();
        let field =
            |field: &str| file.text.lines().find_map(|line| line.strip_prefix(field)).map(str::to_owned);
        Some(Mutant { name, rule: field("rule: "), fails: field("fails: ").unwrap_or_default() })
    };
    tree::tracked().into_iter().filter_map(read).collect()
}

/// The names of the tests that call the simulated driver; that of a test of case C29 begins with `c29_`.
fn api_tests() -> Vec<String> {
    let file = tree::tracked().into_iter().find(|file| file.path == API).expect("it is there");
    let lines: Vec<&str> = file.text.lines().collect();
    let tests = lines.windows(2).filter(|pair| pair[0] == "#[test]");
    let names = tests.filter_map(|pair| pair[1].strip_prefix("fn ")?.split_once('('));
    names.map(|(name, _)| name.to_owned()).collect()
}

/// The case that a test is named after, if it is named after one.
fn case_of(test: &str) -> Option<String> {
    let number = test.strip_prefix('c')?.split('_').next()?;
    number.parse().ok().map(|number: u32| format!("C{number}"))
}

/// The tests of a case, as links.
fn api_links(name: &str, tests: &[String]) -> String {
    let of_case = tests.iter().filter(|test| case_of(test).as_deref() == Some(name));
    of_case.map(|test| format!("[{test}](../{API})")).collect::<Vec<_>>().join(", ")
}

fn cases() -> impl Iterator<Item = &'static Case> {
    [cases::OF_POOLS, cases::OF_SHARING, cases::OF_GRAPHS, cases::DERIVED].into_iter().flatten()
}

fn name_of(rule: &Rule) -> String {
    format!("R{}", rule.number)
}

/// The scenarios that name a rule or a case, as links.
fn links(name: &str, scenarios: &[Shows]) -> String {
    let naming = scenarios.iter().filter(|scenario| scenario.names.iter().any(|other| other == name));
    let link = |scenario: &Shows| {
        let short = scenario.path.trim_start_matches("scenarios/").trim_end_matches(".scn");
        format!("[{short}](../{})", scenario.path)
    };
    naming.map(link).collect::<Vec<_>>().join(", ")
}

fn standing(rule: &Rule) -> String {
    match rule.standing {
        Standing::Shown(_) => "shown".to_owned(),
        Standing::Partly(_, but) => format!("in part: {but}"),
        Standing::OutOfScope(reason) => format!("out of scope: {reason}"),
    }
}

fn case_table(cases: impl Iterator<Item = &'static Case>, scenarios: &[Shows]) -> String {
    let mut table =
        "| | What it is about | Source | Scenarios | Status |\n|---|---|---|---|---|\n".to_owned();
    let tests = api_tests();
    for Case(name, text, source, status) in cases {
        let (scenarios, status) = (links(name, scenarios), status.words_with(&api_links(name, &tests)));
        writeln!(table, "| {name} | {text} | {source} | {scenarios} | {status} |").expect("text");
    }
    table
}

fn rule_table(scenarios: &[Shows], mutants: &[Mutant]) -> String {
    let mut table =
        "| | What it says | Source | Scenarios | Status | Broken by |\n|---|---|---|---|---|---|\n"
            .to_owned();
    for rule in rules() {
        let name = name_of(rule);
        let breaking = mutants.iter().filter(|mutant| mutant.rule.as_ref() == Some(&name));
        let breaking: Vec<String> =
            breaking.map(|mutant| format!("[{0}](../tests/mutants/{0}.patch)", mutant.name)).collect();
        let text = rule.text.replace('\n', " ");
        let cells = [
            name.clone(),
            text,
            rule.source.to_owned(),
            links(&name, scenarios),
            standing(rule),
            breaking.join(", "),
        ];
        writeln!(table, "| {} |", cells.join(" | ")).expect("text");
    }
    table
}

fn rules_with_a_mutant(mutants: &[Mutant]) -> usize {
    mutants.iter().filter_map(|mutant| mutant.rule.as_ref()).collect::<BTreeSet<_>>().len()
}

fn page(scenarios: &[Shows], mutants: &[Mutant]) -> String {
    let standings = rules().fold([0; 3], |mut counts, rule| {
        counts[match rule.standing {
            Standing::Shown(_) => 0,
            Standing::Partly(..) => 1,
            Standing::OutOfScope(_) => 2,
        }] += 1;
        counts
    });
    let [shown, partly, outside] = standings;
    let broken = rules_with_a_mutant(mutants);
    let total = cases().count();
    let with_scenario = cases().filter(|case| case.3.has_scenario()).count();
    let with_api = cases().filter(|case| !case.3.has_scenario() && case.3.needs_api()).count();
    format!(
        "\
# What Millpond takes from where, and what shows it

Millpond claims to behave as CUDA's documents say. This page lists what they say, rule by rule and case by case, with the
scenario that fails when it is not so. It is written by a test out of the rules that `millpond explain R41` prints, the
opening comments of the scenarios and the recorded faults, and the test fails when the page is behind:
`MILLPOND_BLESS=1 cargo test conformance` rewrites it.

Nothing here was run on a GPU. A rule is as good as its source: a document of CUDA, a test or a sample, or a report from
the field as `owner/repository#number`.

## Rules

{shown} rules are shown, {partly} in part, {outside} are out of scope. {broken} have a fault in `tests/mutants` that
breaks them, and `.ci/mutants` checks that the scenario named there notices. Rules about mistakes of a program count as
shown only by a scenario that expects a finding.

{rules}
## Cases

Cases C are taken from public tests, samples and reports, cases N follow from the documents. {with_scenario} of {total} have a scenario,
{with_api} more a test of the simulated driver.
*api* is what only a program in C can get wrong, such as null pointers, with the test that calls the simulated driver so; *AMD
only* is not asserted for CUDA.

{cases}
## Samples of the guide

The samples of the CUDA Programming Guide's chapter 4.3, each a scenario below `scenarios/guide`.

{samples}",
        rules = rule_table(scenarios, mutants),
        cases = case_table(cases(), scenarios),
        samples = case_table(guide::SAMPLES.iter(), scenarios),
    )
}

#[test]
fn the_page_is_what_rules_cases_and_scenarios_say() {
    let new = page(&scenarios(), &mutants());
    if std::env::var_os("MILLPOND_BLESS").is_some() {
        fs::write(PAGE, &new).expect("docs/conformance.md can be written");
        return;
    }
    let old = fs::read_to_string(PAGE).expect("docs/conformance.md is there");
    assert!(old == new, "docs/conformance.md is behind; MILLPOND_BLESS=1 cargo test conformance rewrites it");
}

#[test]
fn scenarios_name_only_what_there_is() {
    let mut known: BTreeSet<String> = rules().map(name_of).collect();
    known.extend(cases().chain(guide::SAMPLES).map(|case| case.0.to_owned()));
    known.extend((1..=FIELD_REPORTS).map(|number| format!("B{number}")));
    for scenario in scenarios() {
        for name in &scenario.names {
            assert!(known.contains(name), "{}: there is no `{name}`", scenario.path);
        }
        assert_eq!(
            scenario.names.iter().collect::<BTreeSet<_>>().len(),
            scenario.names.len(),
            "{}",
            scenario.path
        );
    }
}

#[test]
fn a_rule_is_shown_by_scenarios_that_name_it_or_it_has_a_reason() {
    let scenarios = scenarios();
    let mut wrong = String::new();
    for rule in rules() {
        let name = name_of(rule);
        let naming: Vec<&Shows> =
            scenarios.iter().filter(|scenario| scenario.names.contains(&name)).collect();
        let paths: Vec<&str> = naming.iter().map(|scenario| scenario.path.as_str()).collect();
        match rule.standing {
            Standing::Shown(path) | Standing::Partly(path, _) if !paths.contains(&path) => {
                wrong += &format!("{name}: {path} does not name it; these do: {paths:?}\n");
            }
            Standing::Shown(path) if ABOUT_MISTAKES.contains(&rule.number) => {
                let example = naming.iter().find(|scenario| scenario.path == path);
                if example.is_none_or(|scenario| !scenario.expects_findings) {
                    wrong += &format!("{name}: it is about mistakes, and {path} expects no finding\n");
                }
            }
            Standing::Shown(_) | Standing::Partly(..) => {}
            Standing::OutOfScope(why) => {
                assert!(!why.is_empty(), "{name}");
                if !paths.is_empty() {
                    wrong += &format!("{name}: nothing shows it, says the table, but {paths:?} name it\n");
                }
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "src/cli/explain/rules and the opening comments of scenarios disagree:\n{wrong}"
    );
}

#[test]
fn a_case_has_a_scenario_or_a_reason() {
    let scenarios = scenarios();
    for Case(name, _, _, status) in cases().chain(guide::SAMPLES) {
        let shown = links(name, &scenarios);
        assert_eq!(
            status.has_scenario(),
            !shown.is_empty(),
            "{name}: {}; scenarios: {shown}",
            status.words()
        );
    }
    let numbered = |letter: char, count: usize| (1..=count).map(move |number| format!("{letter}{number}"));
    let names: Vec<&str> = cases().map(|case| case.0).collect();
    assert_eq!(names, numbered('C', 62).chain(numbered('N', 15)).collect::<Vec<_>>());
    let samples: Vec<&str> = guide::SAMPLES.iter().map(|case| case.0).collect();
    assert_eq!(samples, numbered('G', 17).collect::<Vec<_>>());
    let without = cases().filter(|case| !case.3.has_scenario()).count();
    assert_eq!(without, CASES_WITHOUT_A_SCENARIO, "cases without a scenario; the number may only go down");
}

#[test]
fn what_only_a_program_in_c_can_get_wrong_has_a_test() {
    let tests = api_tests();
    assert!(tests.len() > 10, "{tests:?}");
    for Case(name, _, _, status) in cases() {
        let links = api_links(name, &tests);
        assert!(!status.needs_api() || !links.is_empty(), "{name}: {}; no test in {API}", status.words());
    }
    let known: BTreeSet<&str> = cases().map(|case| case.0).collect();
    for (test, case) in tests.iter().filter_map(|test| Some((test, case_of(test)?))) {
        assert!(known.contains(&case[..]), "{test} in {API}: there is no case {case}");
    }
}

#[test]
fn a_mutant_breaks_a_rule_that_its_scenario_shows() {
    let scenarios: BTreeMap<String, Shows> =
        scenarios().into_iter().map(|scenario| (scenario.path.clone(), scenario)).collect();
    let mutants = mutants();
    for Mutant { name, rule, fails } in &mutants {
        if fails.starts_with("test ") {
            assert_eq!(*rule, None, "{name}: a rule is shown by a scenario");
            continue;
        }
        let scenario = scenarios.get(fails).unwrap_or_else(|| panic!("{name}: there is no {fails}"));
        let Some(rule) = rule else { continue };
        assert!(scenario.names.contains(rule), "{name}: {fails} does not name {rule}");
    }
    assert_eq!(
        rules_with_a_mutant(&mutants),
        RULES_WITH_A_MUTANT,
        "rules with a mutant; the number may only go up"
    );
}
