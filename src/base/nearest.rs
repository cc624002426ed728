//! "Did you mean": the word of a list that a mistyped word was most likely meant to be.

/// Longer words are not compared: nobody types them by hand.
const LETTERS_MAX: usize = 64;
/// So many candidates are looked at, which are more than a person ever wrote.
const CANDIDATES_MAX: usize = 10_000;

/// Shorter parts have too many words in common.
const PART_LETTERS_MIN: usize = 4;

/// The candidate nearest to `word`, if one is near enough to be worth a suggestion. Among equals, the first. Without one,
/// the longest that is a part of the word or has it as a part: `ReservedMemCurrent`, `threshold`.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if word.len() > LETTERS_MAX {
        return None;
    }
    let candidates: Vec<&str> = candidates.into_iter().take(CANDIDATES_MAX).collect();
    let limit = (word.chars().count() / 3).max(1);
    let near = candidates
        .iter()
        .copied()
        .filter(|candidate| candidate.len().abs_diff(word.len()) <= 4 * limit)
        .map(|candidate| (distance(word, candidate), candidate))
        .filter(|(distance, candidate)| *distance <= limit && *distance < candidate.chars().count())
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate);
    near.or_else(|| {
        let letters = letters(word);
        let is_part = |candidate: &&&str| {
            let other = self::letters(candidate);
            let (short, long) =
                if other.len() < letters.len() { (&other, &letters) } else { (&letters, &other) };
            short.len() >= PART_LETTERS_MIN && long.contains(short.as_str())
        };
        candidates.iter().filter(is_part).max_by_key(|candidate| candidate.len()).copied()
    })
}

/// A word as it sounds, whatever stands between its parts.
fn letters(word: &str) -> String {
    word.chars().filter(|sign| *sign != '_').map(|sign| sign.to_ascii_lowercase()).collect()
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
            ("cudaMemPoolReuseFollowEventDependencies", Some("follow_event")),
            ("events", None),
            ("event", Some("follow_event")),
            ("x", None),
            ("", None),
        ] {
            assert_eq!(nearest(typed, words), meant, "{typed}");
        }
    }
}
