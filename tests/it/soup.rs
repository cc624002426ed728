//! Any text is read, told about, formatted and run without a panic and within limits, whatever stands in it.

use crate::budget;
use crate::soup_check::examine;
use crate::soup_texts::Kitchen;
use millpond::base::Draws;
use millpond::profile::Profile;
use std::any::Any;
use std::collections::BTreeMap;
use std::panic::catch_unwind;

/// The same texts in each run. Another number gives others.
const SEED: u64 = 20_260_101;
const TEXTS: u64 = 200;

#[test]
fn any_text_is_told_about_or_run() {
    let kitchen = Kitchen::new();
    let mut came = [0; 4];
    // One text for each kind of fault, so that one fault does not hide the others.
    let mut faults: BTreeMap<String, (u64, String)> = BTreeMap::new();
    for nth in 0..budget(TEXTS) {
        let text = kitchen.text(&mut Draws::new(SEED, nth));
        match catch_unwind(|| examine(&text)) {
            Ok(how_far) => came[how_far as usize] += 1,
            Err(fault) => {
                faults.entry(kind_of(fault.as_ref())).or_insert((nth, text));
            }
        }
    }
    for (kind, (nth, text)) in &faults {
        println!("--- {kind}\n--- text {nth}:\n{text}\n---");
    }
    assert!(faults.is_empty(), "{:#?}", faults.keys());
    // A test of texts that are all rejected at once would test little.
    let [rejected, formatted, _, run] = came;
    assert!(rejected > TEXTS / 4 && formatted > TEXTS / 20 && run > TEXTS / 20, "{came:?}");
}

/// The first words of a fault.
fn kind_of(fault: &(dyn Any + Send)) -> String {
    let said = fault.downcast_ref::<String>().map(String::as_str).or(fault.downcast_ref::<&str>().copied());
    said.unwrap_or("a panic").chars().take(60).collect()
}

/// Whoever adds a statement or an operation adds it to what is suggested.
#[test]
fn a_mistyped_word_is_recognised() {
    let kitchen = Kitchen::new();
    let (statements, operations) = (kitchen.first_words("statement"), kitchen.first_words("operation"));
    assert!(statements.len() > 15 && operations.len() > 2, "{statements:?} {operations:?}");
    let statements = statements.into_iter().map(|word| (word, "STATEMENTS", ""));
    for (word, list, before) in
        statements.chain(operations.into_iter().map(|word| (word, "OPERATIONS", "s: ")))
    {
        let last = word.chars().last().expect("a word has letters");
        let text = format!("{before}{word}{last} x\n");
        let (_, diagnostics) = millpond::load(&text, &Profile::default());
        let meant = format!("did you mean `{word}`?");
        let is_meant = diagnostics.iter().flat_map(|found| &found.help).any(|help| help.text == meant);
        assert!(is_meant, "add `{word}` to {list} in src/syntax/usage.rs: {text}{diagnostics:?}");
    }
}
