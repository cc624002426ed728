//! Statements that go: many at once as long as there are many (delta debugging), and in the end each alone, until none can.
//!
//! With what gives a name to something goes what names it, so that what is left is a program.

use super::hunt::Hunt;
use super::names;
use crate::base::Edit;
use crate::explore::site::Sites;
use std::collections::BTreeSet;

/// Takes out ever smaller runs of neighbouring statements, each with what names them.
pub(super) fn together(hunt: &mut Hunt<'_, '_>) {
    let mut size = count(hunt).div_ceil(2);
    while size > 1 {
        let mut end = count(hunt);
        while end > 0 && !hunt.is_over {
            let start = end.saturating_sub(size);
            let edits = of_range(hunt, start, end);
            hunt.attempt(&edits);
            // What went with them stood before or behind.
            end = start.min(count(hunt));
        }
        size /= 2;
    }
}

/// Takes out each statement, and each name of a list, that can go, until none can.
pub(super) fn each(hunt: &mut Hunt<'_, '_>) {
    let mut is_new = true;
    while std::mem::take(&mut is_new) {
        let mut nth = count(hunt);
        while nth > 0 && !hunt.is_over {
            nth -= 1;
            is_new |= alone(hunt, nth).iter().any(|edits| hunt.attempt(edits));
            nth = nth.min(count(hunt));
        }
    }
}

fn count(hunt: &Hunt<'_, '_>) -> usize {
    Sites::of(&hunt.file, &hunt.text).all.len()
}

/// Of these statements those that stand there with all that is in their blocks, and what names them.
fn of_range(hunt: &Hunt<'_, '_>, start: usize, end: usize) -> Vec<Edit> {
    let sites = Sites::of(&hunt.file, &hunt.text);
    let range = start..end.min(sites.all.len());
    let is_whole = |nth: &usize| {
        let inner = sites.all[nth + 1..].iter().take_while(|other| other.is_in(sites.all[*nth].item));
        nth + inner.count() < range.end
    };
    let whole = range.clone().filter(is_whole);
    let gone: BTreeSet<usize> = whole.flat_map(|nth| names::with_users(&sites, nth)).collect();
    names::without(&sites, &gone)
}

/// The ways in which a statement can go: alone, with what names it, or one name of it.
fn alone(hunt: &Hunt<'_, '_>, nth: usize) -> Vec<Vec<Edit>> {
    let sites = Sites::of(&hunt.file, &hunt.text);
    let Some(site) = sites.all.get(nth) else { return Vec::new() };
    let mut ways = vec![names::without(&sites, &BTreeSet::from([nth]))];
    ways.push(names::without(&sites, &names::with_users(&sites, nth)));
    ways.extend(
        names::given(site).iter().filter_map(|name| Some(vec![names::without_names(site, &[*name])?])),
    );
    ways
}
