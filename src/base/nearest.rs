//! "Did you mean": the word of a list that a mistyped word was most likely meant to be.

/// The candidate nearest to `word`, if one is near enough to be worth a suggestion. Among equals, the first.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = (word.chars().count() / 3).max(1);
    candidates
        .into_iter()
        .filter(|candidate| candidate.len().abs_diff(word.len()) <= 4 * limit)
        .map(|candidate| (distance(word, candidate), candidate))
        .filter(|(distance, candidate)| *distance <= limit && *distance < candidate.chars().count())
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// How many insertions, deletions, replacements and swaps of neighbours lead from one word to the other. Letter case
/// counts nothing.
fn distance(left: &str, right: &str) -> usize {
    let lower = |word: &str| -> Vec<char> { word.chars().map(|c| c.to_ascii_lowercase()).collect() };
    let (left, right) = (lower(left), lower(right));
    let mut before = Vec::new();
    let mut above: Vec<usize> = (0..=right.len()).collect();
    for row in 1..=left.len() {
        let mut current = vec![row];
        for column in 1..=right.len() {
            let replaced = above[column - 1] + usize::from(left[row - 1] != right[column - 1]);
            let mut best = replaced.min(above[column] + 1).min(current[column - 1] + 1);
            let swapped = row > 1
                && column > 1
                && left[row - 1] == right[column - 2]
                && left[row - 2] == right[column - 1];
            if swapped {
                best = best.min(before[column - 2] + 1);
            }
            current.push(best);
        }
        before = std::mem::replace(&mut above, current);
    }
    above[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_words_are_found_and_far_ones_are_not() {
        let words = ["alloc", "free", "record", "wait", "follow_event"];
        for (typed, meant) in [
            ("alok", None),
            ("aloc", Some("alloc")),
            ("freee", Some("free")),
            ("fere", Some("free")),
            ("WAIT", Some("wait")),
            ("follow_evnts", Some("follow_event")),
            ("x", None),
            ("", None),
        ] {
            assert_eq!(nearest(typed, words), meant, "{typed}");
        }
    }
}
