//! What a fix that was tried does, and what it costs, in words.

use super::text::time as shown;
use crate::base::{Fact, Help, Nanos, StreamId};
use crate::explore::fix::{Cost, Fix};
use crate::scenario::Names;

/// A fix as what to do about a finding; `apply` is the command that writes it.
pub fn remedy(fix: &Fix, names: &Names, apply: &str) -> Help {
    let fact = |name, text| Fact { name, text };
    let facts = vec![fact("tried", tried(fix, names)), fact("apply", apply.to_owned())];
    Help { text: fix.help.clone(), edits: fix.edits.clone(), facts }
}

/// `0 findings left, none new; cleanup ends at 100us instead of 50us, reserved_high unchanged (32 MiB)`.
pub fn tried(fix: &Fix, names: &Names) -> String {
    let Fix { left, expectations, before, after, .. } = fix;
    let left = if *left == 1 { "1 finding left".to_owned() } else { format!("{left} findings left") };
    let broken = match expectations {
        0 => String::new(),
        1 => "; 1 expectation holds no longer".to_owned(),
        several => format!("; {several} expectations hold no longer"),
    };
    format!("{left}, none new{broken}; {}, {}", time(before, after, names), memory(before, after, names))
}

/// When the stream ends that ends later by most, or else the run.
fn time(before: &Cost, after: &Cost, names: &Names) -> String {
    let later = |stream: &StreamId| -> u64 {
        let end = |cost: &Cost| cost.streams.get(*stream).copied().flatten().map_or(0, |end| end.0);
        end(after).saturating_sub(end(before))
    };
    let slowed = before.streams.indices().filter(|stream| later(stream) > 0);
    // Of equal ones the first.
    let slowed = slowed.min_by_key(|stream| u64::MAX - later(stream));
    let ends =
        |what: &str, is: Nanos, was: Nanos| format!("{what} ends at {} instead of {}", shown(is), shown(was));
    match slowed {
        Some(stream) => {
            let end = |cost: &Cost| cost.streams[stream].unwrap_or_default();
            ends(&names.streams[stream], end(after), end(before))
        }
        None if after.end != before.end => ends("the run", after.end, before.end),
        None => format!("the run ends at {} as before", shown(after.end)),
    }
}

/// The pools that hold more or less, or that none does.
fn memory(before: &Cost, after: &Cost, names: &Names) -> String {
    let both = before.reserved_high.iter_enumerated().zip(after.reserved_high.iter());
    let changed: Vec<String> = both
        .filter(|((_, was), is)| was != is)
        .map(|((pool, was), is)| {
            format!("{}.reserved_high {} instead of {}", names.pools[pool], is.human(), was.human())
        })
        .collect();
    if !changed.is_empty() {
        return changed.join(", ");
    }
    let mut held = before.reserved_high.iter().filter(|bytes| bytes.0 > 0);
    match (held.next(), held.next()) {
        (Some(only), None) => format!("reserved_high unchanged ({})", only.human()),
        _ => "reserved_high unchanged".to_owned(),
    }
}
