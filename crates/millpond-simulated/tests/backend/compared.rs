//! What `compare --backend cuda` says beside the differences, and what it refuses.

use crate::command::{Ran, millpond, scenario};

fn compare(file: &str, input: &str, more: &[&str]) -> Ran {
    millpond(&[&["compare", file, "--backend", "cuda"], more].concat(), input, &[])
}

/// The last line of `--format json`.
fn summary(file: &str, input: &str, more: &[&str]) -> String {
    let ran = compare(file, input, &[&["--format", "json"], more].concat());
    ran.out.lines().last().unwrap_or_default().to_owned()
}

/// How many overlaps the data have.
fn overlaps(file: &str, input: &str) -> u64 {
    let summary = summary(file, input, &[]);
    let all = summary.split_once(r#""overlaps":["#).map_or("", |(_, overlaps)| overlaps);
    all.matches(r#""expected":"#).count() as u64
}

/// Writers in two streams without an order, in so many lines each, and each line so often.
fn writers(lines: usize, turns: usize) -> String {
    let declared = "stream a, b\nkernel fill(out: write) takes 10us\na: x = alloc 1MiB\nsync a\n";
    let meeting = "a: fill(x)\nb: fill(x)\n".repeat(lines);
    format!("{declared}repeat i in 0..{turns} {{\n{meeting}}}\nsync gpu0\na: free x\n")
}

/// In `text`, how often each overlap is told of.
fn told(text: &str) -> Vec<u64> {
    let lines = text.lines().filter_map(|line| line.strip_prefix("error[overlap]: line "));
    let often = lines.map(|line| match line.split_once(" times: ") {
        Some((before, _)) => before.rsplit(' ').next().and_then(|times| times.parse().ok()).unwrap_or(0),
        None => 1,
    });
    often.collect()
}

/// `docs/compare.md`: whatever is allowed, and the last lines begin with their number.
#[test]
fn overlaps_fail_and_are_counted() {
    let file = scenario("hazards/race.scn");
    for allow in ["unspecified", "differs"] {
        let ran = compare(&file, "", &["--allow", allow]);
        assert_eq!((ran.status, ran.err.as_str()), (1, ""), "{}", ran.out);
        assert!(ran.out.contains("\n1 overlap, no difference: "), "{}", ran.out);
    }
    let text = writers(1, 40);
    let ran = compare("-", &text, &[]);
    let all = overlaps("-", &text);
    assert!(all > 40, "{all}");
    assert_eq!(told(&ran.out).iter().sum::<u64>(), all, "{}", ran.out);
    assert!(told(&ran.out).len() <= 8 && !ran.out.contains(".. and"), "{}", ran.out);
    assert!(ran.out.contains(&format!("\n{all} overlaps, no difference: ")), "{}", ran.out);
}

#[test]
fn overlaps_that_are_left_out_are_counted_too() {
    let text = writers(12, 3);
    let ran = compare("-", &text, &[]);
    let all = overlaps("-", &text);
    let shown = told(&ran.out);
    assert_eq!(shown.len(), 8, "{}", ran.out);
    let rest = all - shown.iter().sum::<u64>();
    assert!(
        ran.out.contains(&format!("    .. and {rest} more overlaps; --format json has all\n")),
        "{}",
        ran.out
    );
    assert!(ran.out.lines().all(|line| line.chars().count() <= 80), "{}", ran.out);
}
