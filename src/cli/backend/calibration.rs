//! What was measured on a device, as the text of a profile.

use crate::base::Bytes;
use crate::hw::Measured;
use crate::profile::{Profile, ZeroSize};

/// A profile with what was measured, and what the default one says where nothing was.
pub(super) fn profile(measured: &Measured) -> String {
    let Measured { name, memory, driver, memory_pools, round_trip, submit, call, .. } = measured;
    let default = Profile::default();
    let zero_size = if measured.zero_size_succeeds { ZeroSize::Success } else { ZeroSize::InvalidValue };
    let zero_size = if *memory_pools { zero_size } else { default.zero_size };
    let growth = measured_or(measured.growth, default.growth);
    // A device that does not keep to such a maximum size says nothing about its granule.
    let granule = measured_or(measured.granule, default.granule).min(growth);
    let alignment = measured_or(measured.alignment, default.alignment);
    format!(
        "// Measured on {name}, driver {major}.{minor}. What is marked so was not: it is taken from the default profile.
// A launch that does nothing was seen complete {round_trip} after its call began; a profile has no value for that.
(
    memory: \"{memory}\",
    driver: \"{major}.{minor}\",
    memory_pools: {memory_pools},
    oversubscribe: false, // not measured
    rules: (
        alignment: \"{alignment}\",
        growth: \"{growth}\",
        granule: \"{granule}\",
        remap: idle, // not measured
        legacy_sync_releases: {legacy}, // not measured
        unused_first: {unused}, // not measured
        plain_free_syncs: {plain}, // not measured
        zero_size: {zero_size},
        internal_on_max_size: {internal}, // not measured
        late_access_check: {late}, // not measured
        first_free_ends_imports: {imports}, // not measured
    ),
    host: (
        submit: \"{submit}\",
        call: \"{call}\",
        queue_depth: None, // not measured
    ),
)
",
        name = one_line(name),
        major = driver / 1000,
        minor = driver % 1000 / 10,
        round_trip = round_trip.human(),
        memory = bytes(*memory),
        alignment = bytes(alignment),
        growth = bytes(growth),
        granule = bytes(granule),
        legacy = default.legacy_sync_releases,
        unused = default.unused_first,
        plain = default.plain_free_syncs,
        zero_size = match zero_size {
            ZeroSize::Success => "success",
            ZeroSize::InvalidValue => "invalid_value",
        },
        internal = default.internal_on_max_size,
        late = default.late_access_check,
        imports = default.first_free_ends_imports,
        submit = format_args!("{}ns", submit.0),
        call = format_args!("{}ns", call.0),
    )
}

fn measured_or(measured: Bytes, default: Bytes) -> Bytes {
    if measured > Bytes::ZERO { measured } else { default }
}

/// In the largest unit of which it is a whole number.
fn bytes(size: Bytes) -> String {
    let units = [(Bytes::gib(1), "GiB"), (Bytes::mib(1), "MiB"), (Bytes::kib(1), "KiB"), (Bytes(1), "B")];
    let whole = units.iter().find(|(unit, _)| size.0 > 0 && size.0.is_multiple_of(unit.0));
    whole.map_or("0B".to_owned(), |(unit, name)| format!("{}{name}", size.0 / unit.0))
}

/// What a driver calls its device, so that it stays in the comment.
fn one_line(name: &str) -> String {
    name.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Nanos;

    #[test]
    fn what_was_measured_is_a_profile() {
        let measured = Measured {
            name: "a\ndevice".to_owned(),
            memory: Bytes(85_899_345_920),
            driver: 12_040,
            memory_pools: true,
            alignment: Bytes(256),
            growth: Bytes::mib(64),
            granule: Bytes::mib(4),
            zero_size_succeeds: false,
            submit: Nanos(4_321),
            call: Nanos(87),
            round_trip: Nanos(9_000),
        };
        let read = Profile::read(&profile(&measured)).expect("it is a profile");
        let expected = Profile {
            memory: Bytes(85_899_345_920),
            driver: 12_040,
            alignment: Bytes(256),
            growth: Bytes::mib(64),
            granule: Bytes::mib(4),
            zero_size: ZeroSize::InvalidValue,
            submit: Nanos(4_321),
            call: Nanos(87),
            ..Profile::default()
        };
        assert_eq!(read, expected);
        let without = Measured {
            memory_pools: false,
            alignment: Bytes::ZERO,
            growth: Bytes::ZERO,
            granule: Bytes::ZERO,
            ..measured
        };
        let read = Profile::read(&profile(&without)).expect("it is a profile");
        let default = Profile::default();
        assert_eq!(
            (read.memory_pools, read.growth, read.zero_size),
            (false, default.growth, default.zero_size)
        );
    }
}
