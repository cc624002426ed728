//! The backend of a build that has one.

use super::turns::turns;
use super::{Observe, machine::ThisMachine};
use crate::base::{Code, Diagnostic, Nanos, StmtId};
use crate::cli::{Complaint, Scenario, Status, outside};
use crate::engine::{Chooser, Seeded};
use crate::hw::{self, Host, Run, Unsupported};
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

/// What a run on hardware has shown.
#[derive(Clone, Debug)]
pub(in crate::cli) struct Played {
    run: Arc<Run>,
    met: Vec<Met>,
    on: String,
}

impl Played {
    pub(in crate::cli) fn replay(&self, sink: &mut impl Sink) {
        self.run.log.replay(sink);
    }

    /// The same, without times that were inferred.
    pub(in crate::cli) fn replay_told(&self, sink: &mut impl Sink) {
        self.run.log.replay_told(sink);
    }

    /// The statements of expectations that hardware says nothing about.
    pub(in crate::cli) fn silent(&self) -> &[StmtId] {
        &self.run.silent
    }

    /// Why it was given up, if it was.
    pub(in crate::cli) fn broken(&self) -> Option<Broken> {
        self.run.stop.as_ref().map(|stop| Broken { stmt: stop.stmt, reason: stop.reason.clone() })
    }

    /// The devices, and their driver.
    pub(in crate::cli) fn on(&self) -> &str {
        &self.on
    }

    pub(in crate::cli) fn end(&self) -> Nanos {
        self.run.log.end()
    }

    /// Where kernels have met in their memory.
    pub(in crate::cli) fn met(&self) -> &[Met] {
        &self.met
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
    });
    Ok(Ok(Played { met: met.collect(), on: named(&run.devices), run: Arc::new(run) }))
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
