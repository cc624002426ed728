//! The command line with the backend.

use crate::played::{scenarios, turn};
use millpond::base::{Bytes, Nanos};
use millpond::hw;
use millpond::trace::HostCosts;
use millpond_simulated::SimulatedHost;
use simulated_driver::{Configuration, Faults};
use std::fs;
use std::io::{ErrorKind, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// What a command has done.
pub(crate) struct Ran {
    pub(crate) status: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// Runs a command with a text as its input, and with these variables.
pub(crate) fn millpond(arguments: &[&str], input: &str, variables: &[(&str, &str)]) -> Ran {
    let mut command = Command::new(env!("CARGO_BIN_EXE_millpond-simulated"));
    command.args(arguments).envs(variables.iter().copied()).env("NO_COLOR", "1");
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program is built");
    let mut writer = child.stdin.take().expect("it is a pipe");
    // One that ends at once does not read its input.
    if let Err(error) = writer.write_all(input.as_bytes()) {
        assert_eq!(error.kind(), ErrorKind::BrokenPipe, "{error}");
    }
    drop(writer);
    let output = child.wait_with_output().expect("it ends");
    let text = |bytes| String::from_utf8(bytes).expect("it prints text");
    Ran { status: output.status.code().unwrap_or(-1), out: text(output.stdout), err: text(output.stderr) }
}

pub(crate) fn scenario(name: &str) -> String {
    scenarios().join(name).display().to_string()
}

#[test]
fn a_run_on_hardware_reports_as_any_run() {
    let ran = millpond(&["run", &scenario("guide/follow_event.scn"), "--backend", "cuda"], "", &[]);
    assert_eq!((ran.status, ran.err.as_str()), (0, ""), "{}", ran.out);
    for part in [
        "on Millpond simulated device 0, driver 13.0, seed 0",
        "16  y      consumer  64 MiB  -          x, freed at line 13",
        "  producer  |12 fill(x)##############|13 14",
        "  consumer  |15 wait freed...........|17 fill(y)##############|18",
        "    21  y reuses x via follow_event     holds",
        "holds: 2 expectations, 1 snapshot not compared   (2 allocations, 20us)",
    ] {
        assert!(ran.out.contains(part), "{part}\n{}", ran.out);
    }
    // What only a simulation knows is neither held nor missed.
    let ran = millpond(&["run", &scenario("hazards/use_before_alloc.scn"), "--backend", "cuda"], "", &[]);
    assert_eq!(ran.status, 0, "{}", ran.out);
    assert!(ran.out.contains("finding use_before_alloc on x  open: such a run does not tell"), "{}", ran.out);
}

#[test]
fn an_expectation_that_does_not_hold_there_fails() {
    let text = "stream a\npool p\na: x = alloc 1MiB from p\na: free x\nexpect p.reserved == 1MiB\nexpect p.cached == 0B\n";
    let ran = millpond(&["run", "-", "--backend", "cuda"], text, &[]);
    assert_eq!(ran.status, 1, "{}", ran.out);
    for part in [
        "error[expectation]: line 5: p.reserved == 1MiB",
        "  actual    32MiB",
        "    6  p.cached == 0B      open: such a run does not tell",
        "fails: 1 of 2 expectations, 1 expectation open   (1 allocation, 0us)",
    ] {
        assert!(ran.out.contains(part), "{part}\n{}", ran.out);
    }
}

#[test]
fn what_hardware_does_not_run_is_told_with_its_lines() {
    let ran = millpond(&["run", &scenario("graphs/auto_free.scn"), "--backend", "cuda"], "", &[]);
    assert_eq!((ran.status, ran.out.as_str()), (3, ""), "{}", ran.err);
    assert!(ran.err.starts_with("error[not_on_hardware]: hardware does not run this\n"), "{}", ran.err);
    assert!(ran.err.contains("^ graphs are only simulated"), "{}", ran.err);
    assert!(ran.err.lines().all(|line| line.chars().count() <= 120), "{}", ran.err);
}

#[test]
fn what_hangs_there_ends() {
    let text = "stream a\na: host await go\nsync a\nsignal go\n";
    let ran = millpond(&["run", "-", "--backend", "cuda"], text, &[]);
    assert_eq!(ran.status, 1, "{}", ran.out);
    assert!(ran.out.contains("error[deadlock]: what these wait for never comes"), "{}", ran.out);
}

#[test]
fn both_sides_are_told() {
    let file = scenario("guide/opportunistic.scn");
    let ran = millpond(&["compare", &file, "--backend", "cuda", "--with", "seed=3"], "", &[]);
    assert_eq!((ran.status, ran.err.as_str()), (0, ""), "{}", ran.out);
    let expected =
        "  left   cuda, default, seed 0\n  right  on Millpond simulated device 0, driver 13.0, seed 3\n";
    assert!(ran.out.contains(expected), "{}", ran.out);
    let ran = millpond(&["compare", &file, "--backend", "cuda", "--format", "json"], "", &[]);
    assert!(
        ran.out.contains(r#""backend":"cuda""#)
            && ran.out.contains(r#""hardware":"Millpond simulated device 0, driver 13.0""#),
        "{}",
        ran.out
    );
}

#[test]
fn a_device_is_measured() {
    let file = std::env::temp_dir().join(format!("millpond-measured-{}.ron", std::process::id()));
    let name = file.display().to_string();
    fs::remove_file(&file).ok();
    let arguments = ["compare", &scenario("guide/basic.scn"), "--backend", "cuda", "--calibrate", &name];
    let ran = millpond(&arguments, "", &[]);
    let text = fs::read_to_string(&file).expect("it is written");
    // What is there is not overwritten.
    let again = millpond(&arguments, "", &[]);
    fs::remove_file(&file).ok();
    assert_eq!(ran.status, 0, "{}{}", ran.out, ran.err);
    assert!(text.starts_with("// Measured on Millpond simulated device 0, driver 13.0."), "{text}");
    assert!(text.contains("growth: \"32MiB\",\n        granule: \"2MiB\","), "{text}");
    assert_eq!(again.status, 2, "{}", again.out);
    let way_out =
        format!("{name} exists already: give --calibrate another name, or `--profile {name}` to use");
    let said = again.err.replace("\n  ", " ");
    assert!(said.starts_with(&format!("error: {way_out}")), "{said}");
    let alone = millpond(
        &["compare", &scenario("guide/basic.scn"), "--calibrate", &name, "--with", "seed=1"],
        "",
        &[],
    );
    assert_eq!((alone.status, PathBuf::from(&name).exists()), (2, false), "{}", alone.err);
}

/// On a driver whose numbers are known.
#[test]
fn what_is_measured_is_what_the_driver_does() {
    let _turn = turn();
    let host = SimulatedHost::new(Faults::default());
    let host_costs = HostCosts { submit: Nanos::us(4), call: Nanos(700), queue_depth: None };
    let mut configuration = Configuration { host: host_costs, ..Configuration::default() };
    configuration.rules.growth = Bytes::mib(64);
    configuration.rules.granule = Bytes::mib(4);
    configuration.rules.alignment = Bytes(1024);
    configuration.rules.zero_size_succeeds = false;
    simulated_driver::reset(configuration);
    let measured = hw::calibrate(&host).expect("the driver is there");
    assert_eq!((measured.growth, measured.granule), (Bytes::mib(64), Bytes::mib(4)));
    assert_eq!((measured.alignment, measured.zero_size_succeeds), (Bytes(1024), false));
    assert_eq!((measured.memory, measured.driver, measured.memory_pools), (Bytes::gib(80), 13_000, true));
    assert_eq!((measured.submit, measured.call), (Nanos::us(4), Nanos(700)));
    // The kernel is not defined there, so that it takes no time.
    assert_eq!(measured.round_trip, Nanos(4_700));
}
