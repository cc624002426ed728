//! The backend of a build that has one.

use super::turns::turns;
use super::{Events, Observe, Played, machine::ThisMachine};
use crate::base::{Code, Diagnostic};
use crate::cli::{Complaint, Scenario, Status, outside};
use crate::engine::{Chooser, Seeded};
use crate::hw::{self, Host, Log, Unsupported};
use crate::oracle::{Broken, Met};

use crate::scenario::Program;
use crate::trace::{Law, Sink};
use std::io;
use std::sync::{Arc, OnceLock};

/// The host that runs go on; this machine, unless a program that embeds the command line has said otherwise.
static HOST: OnceLock<Arc<dyn Host>> = OnceLock::new();

/// Runs on hardware go on this host from now on: for programs with a simulated driver, whose time is not that of this machine.
/// Only the first call counts.
pub fn on_host(host: Arc<dyn Host>) {
    HOST.get_or_init(|| host);
}

/// The host of a run.
fn host() -> Arc<dyn Host> {
    HOST.get().cloned().unwrap_or_else(|| Arc::new(ThisMachine::default()))
}

impl Events for Log {
    fn replay(&self, mut sink: &mut dyn Sink) {
        Log::replay(self, &mut sink);
    }

    fn replay_told(&self, mut sink: &mut dyn Sink) {
        Log::replay_told(self, &mut sink);
    }
}

/// Runs a program on the devices of this machine, with the durations that the seed draws. The inner result is the status of a
/// program that cannot be run there, once that was told.
///
/// # Errors
///
/// There is no driver, or no device.
pub(in crate::cli) fn play(
    scenario: &Scenario,
    program: &Program,
    seed: u64,
    observe: Observe,
) -> Result<Result<Played, Status>, Complaint> {
    let unsupported = hw::unsupported(program);
    if !unsupported.is_empty() {
        let diagnostics: Vec<_> = unsupported.iter().map(|line| told(program, line)).collect();
        outside::print_error(&scenario.rendered(&diagnostics, outside::colour(&io::stderr())));
        return Ok(Err(Status::Impossible));
    }
    let observe = match observe {
        Observe::End => hw::Observe::End,
        Observe::Sync => hw::Observe::Sync,
        Observe::Every => hw::Observe::Every,
    };
    let host = host();
    let mut chooser = Seeded::new(program, seed);
    let mut durations = |stmt, law: &Law| chooser.duration(stmt, law);
    let options = hw::Options { observe, turns: turns(program, seed), ..hw::Options::default() };
    let run = hw::run(program, host, &mut durations, options);
    let run = run.map_err(|unavailable| Complaint::impossible(unavailable.to_string()))?;
    let met = run.overlaps.iter().map(|overlap| Met {
        stmt: overlap.stmt,
        expected: overlap.expected,
        found: overlap.found,
        late: overlap.late,
        expected_at: None,
    });
    Ok(Ok(Played {
        on: named(&run.devices),
        met: met.collect(),
        broken: run.stop.map(|stop| Broken { stmt: stop.stmt, reason: stop.reason }),
        end: run.log.end(),
        events: Arc::new(run.log),
        silent: run.silent,
    }))
}

fn named(devices: &[hw::Device]) -> String {
    let Some(first) = devices.first() else { return String::new() };
    let others = if devices.len() > 1 { format!(" and {} more", devices.len() - 1) } else { String::new() };
    format!("{}{others}, driver {}.{}", first.name, first.driver / 1000, first.driver % 1000 / 10)
}

/// What was measured on the first device of this machine, as a profile.
///
/// # Errors
///
/// There is no driver, or no device.
pub(in crate::cli) fn measured_profile() -> Result<String, Complaint> {
    let host = HOST.get_or_init(|| Arc::new(ThisMachine::default()));
    let measured =
        hw::calibrate(&**host).map_err(|unavailable| Complaint::impossible(unavailable.to_string()))?;
    Ok(super::calibration::profile(&measured))
}

fn told(program: &Program, Unsupported { statements, reason }: &Unsupported) -> Diagnostic {
    let span = program.statements[statements[0]].span;
    let diagnostic = Diagnostic::error(Code("not_on_hardware"), "hardware does not run this", span, *reason);
    match statements.len() - 1 {
        0 => diagnostic,
        1 => diagnostic.note("it goes for 1 more line"),
        others => diagnostic.note(format!("it goes for {others} more lines")),
    }
}
