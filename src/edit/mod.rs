//! Edits of a scenario's text that know its syntax tree: what to write where, so that the rest stays as it is.
//!
//! An edit changes bytes; the result is read and checked like any text. It must not know what a name means beyond the
//! declaration that gives it.

mod assign;
mod declared;
pub mod insert;
mod place;
#[cfg(test)]
mod tests;
mod variant;

pub use assign::{Assignment, assign, read_assignment};
pub use declared::DEVICE_SETTINGS;
pub use variant::{Twin, VARIANTS_MAX, Variants};

use crate::base::{Edit, Span};

/// The text with edits made. They must not overlap; those at one place are made in their order.
pub fn apply(text: &str, edits: &[Edit]) -> String {
    let mut ordered: Vec<&Edit> = edits.iter().collect();
    ordered.sort_by_key(|edit| edit.span.start);
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for edit in ordered {
        out.push_str(&text[at..edit.span.start as usize]);
        out.push_str(&edit.text);
        at = edit.span.end as usize;
    }
    out.push_str(&text[at..]);
    out
}

/// Where a place of the old text is after edits that do not touch it.
pub fn moved(span: Span, edits: &[Edit]) -> Span {
    let before = edits.iter().filter(|edit| edit.span.end <= span.start);
    let by: i64 =
        before.map(|edit| edit.text.len() as i64 - i64::from(edit.span.end - edit.span.start)).sum();
    let shift = |byte: u32| (i64::from(byte) + by) as u32;
    Span::new(shift(span.start), shift(span.end))
}
