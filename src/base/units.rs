//! Sizes and durations as exact integers, and the one way in which both are written and read.

use std::fmt;
use std::str::FromStr;

/// A size or an address distance in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub u64);

/// A time or a duration in virtual nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nanos(pub u64);

/// Why a size or a duration could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParseUnitError {
    /// The text is not a number followed by a unit.
    Malformed,
    /// The value is not a whole number of bytes or nanoseconds (`0.3B`, `1.0001ns`).
    NotWhole,
    /// The value is above 2^64-1.
    TooLarge,
}

const SIZES: [(&str, u64); 5] =
    [("B", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("TiB", 1 << 40)];
const DURATIONS: [(&str, u64); 4] = [("ns", 1), ("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000)];

impl Bytes {
    /// No bytes.
    pub const ZERO: Bytes = Bytes(0);
    /// 2^64-1 bytes; as a release threshold: keep everything.
    pub const MAX: Bytes = Bytes(u64::MAX);

    /// `n` KiB (1,024 bytes each).
    pub const fn kib(n: u64) -> Bytes {
        Bytes(n << 10)
    }

    /// `n` MiB (1,048,576 bytes each).
    pub const fn mib(n: u64) -> Bytes {
        Bytes(n << 20)
    }

    /// `n` GiB (1,073,741,824 bytes each).
    pub const fn gib(n: u64) -> Bytes {
        Bytes(n << 30)
    }

    /// The smallest multiple of `unit` that is not below this size; `None` above 2^64-1.
    pub fn checked_round_up(self, unit: Bytes) -> Option<Bytes> {
        self.0.checked_next_multiple_of(unit.0).map(Bytes)
    }

    /// The size in the largest unit that expresses it with at most two decimals, for people: `64 MiB`, `4.25 KiB`.
    pub fn human(self) -> String {
        human(self.0, &SIZES)
    }
}

impl Nanos {
    /// The start of a run.
    pub const ZERO: Nanos = Nanos(0);

    /// `n` microseconds.
    pub const fn us(n: u64) -> Nanos {
        Nanos(n * 1_000)
    }

    /// The later time, saturating at the end of virtual time (2^64-1 ns, 584 years).
    pub const fn after(self, duration: Nanos) -> Nanos {
        Nanos(self.0.saturating_add(duration.0))
    }

    /// The duration in the largest unit that expresses it with at most two decimals, for people: `10us`, `1.25ms`.
    pub fn human(self) -> String {
        human(self.0, &DURATIONS).replace(' ', "")
    }
}

fn human(value: u64, units: &[(&str, u64)]) -> String {
    let (name, unit) = *units.iter().rev().find(|(_, unit)| value >= *unit).unwrap_or(&units[0]);
    let hundredths = (u128::from(value) * 100 + u128::from(unit) / 2) / u128::from(unit);
    let (whole, rest) = (hundredths / 100, hundredths % 100);
    match rest {
        0 => format!("{whole} {name}"),
        rest if rest % 10 == 0 => format!("{whole}.{} {name}", rest / 10),
        rest => format!("{whole}.{rest:02} {name}"),
    }
}

/// Exact, in the largest unit that divides the value: what a scenario would write.
fn exact(value: u64, units: &[(&str, u64)], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let (name, unit) =
        *units.iter().rev().find(|(_, unit)| value != 0 && value.is_multiple_of(*unit)).unwrap_or(&units[0]);
    f.pad(&format!("{}{name}", value / unit))
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        exact(self.0, &SIZES, f)
    }
}

impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        exact(self.0, &DURATIONS, f)
    }
}

fn parse(text: &str, units: &[(&str, u64)]) -> Result<u64, ParseUnitError> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').ok_or(ParseUnitError::Malformed)?;
    let (number, name) = text.split_at(digits);
    let unit = units.iter().find(|(n, _)| *n == name).ok_or(ParseUnitError::Malformed)?.1;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    if !is_number(whole) || !is_number(fraction) {
        return Err(ParseUnitError::Malformed);
    }
    let fraction = fraction.trim_end_matches('0');
    if fraction.len() > 18 {
        return Err(ParseUnitError::NotWhole);
    }
    let whole: u128 = whole.parse().map_err(|_| ParseUnitError::TooLarge)?;
    let scale = 10u128.pow(fraction.len() as u32);
    let numerator: u128 = if fraction.is_empty() { 0 } else { fraction.parse().expect("at most 18 digits") };
    let part = numerator * u128::from(unit);
    if !part.is_multiple_of(scale) {
        return Err(ParseUnitError::NotWhole);
    }
    let value = whole.checked_mul(u128::from(unit)).and_then(|value| value.checked_add(part / scale));
    value.and_then(|value| u64::try_from(value).ok()).ok_or(ParseUnitError::TooLarge)
}

impl FromStr for Bytes {
    type Err = ParseUnitError;

    /// Reads `512B`, `1.5KiB`, `80GiB`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse(text, &SIZES).map(Bytes)
    }
}

impl FromStr for Nanos {
    type Err = ParseUnitError;

    /// Reads `250ns`, `10us`, `1.5ms`, `2s`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse(text, &DURATIONS).map(Nanos)
    }
}

/// A number as people read it: `1,000,000`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let place = |at: usize| if at > 0 && (digits.len() - at).is_multiple_of(3) { "," } else { "" };
    digits.char_indices().map(|(at, digit)| format!("{}{digit}", place(at))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_it_writes() {
        for value in [0, 1, 512, 1023, 1024, 1536, 64 << 20, (64 << 20) + 1, 80 << 30, u64::MAX] {
            assert_eq!(Bytes(value).to_string().parse(), Ok(Bytes(value)));
            assert_eq!(Nanos(value).to_string().parse(), Ok(Nanos(value)));
        }
    }

    #[test]
    fn fractions_must_be_whole() {
        assert_eq!("1.5KiB".parse(), Ok(Bytes(1536)));
        assert_eq!("1.5ms".parse(), Ok(Nanos(1_500_000)));
        assert_eq!("1.50000000000000000000ms".parse(), Ok(Nanos(1_500_000)));
        assert_eq!("0.3B".parse::<Bytes>(), Err(ParseUnitError::NotWhole));
        assert_eq!("18446744073709551616B".parse::<Bytes>(), Err(ParseUnitError::TooLarge));
        assert_eq!(
            "99999999999999999999999999999999999999999B".parse::<Bytes>(),
            Err(ParseUnitError::TooLarge)
        );
        for malformed in ["", "B", "1", "1.B", ".5B", "1.2.3B", "1 B", "1KB", "1e3B"] {
            assert_eq!(malformed.parse::<Bytes>(), Err(ParseUnitError::Malformed), "{malformed}");
        }
    }

    #[test]
    fn people_get_two_decimals() {
        assert_eq!(Bytes(0).human(), "0 B");
        assert_eq!(Bytes((32 << 20) + (4 << 10)).human(), "32 MiB");
        assert_eq!(Bytes(4352).human(), "4.25 KiB");
        assert_eq!(Nanos(12_500).human(), "12.5us");
    }
}
