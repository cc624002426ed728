//! The hardware backend: a program on the devices of this machine, through crate `cust`.
//!
//! It walks a program with the same cursor as the engine, makes each call of the driver API, and tells the same kind of events.
//! It must not know the engine or a model, and judges nothing: what a run has shown is compared and reported elsewhere. The
//! driver is found at run time (crate `cuda-link`), so that a program with this backend starts where there is none.
//!
//! Rules: CUDA driver API.

mod calibrate;
mod calls;
mod driver;
mod host;
mod kernels;
mod limits;
mod log;
mod marks;
mod meetings;
mod memory;
mod order;
mod outstanding;
mod readings;
mod resources;
mod session;
mod structures;
mod threads;
mod transfers;
mod turns;
mod waits;

pub use calibrate::{Measured, calibrate};
pub use driver::CudaError;
pub use host::{Durations, Host, Observe};
pub use kernels::{KERNEL, MODULE, Overlap, STAMPS_MAX};
pub use limits::{Unsupported, unsupported};
pub use log::Log;
pub use turns::Turn;

use crate::base::StmtId;
use crate::scenario::Program;
use session::{Machine, Session};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// What a run on hardware has shown.
#[derive(Debug)]
pub struct Run {
    /// The devices that it was made on, in the order of the program.
    pub devices: Vec<Device>,
    /// Its events.
    pub log: Log,
    /// Where kernels have found something else in their memory than what was written there last.
    pub overlaps: Vec<Overlap>,
    /// The statements of expectations about what only a simulation knows.
    pub silent: Vec<StmtId>,
    /// Why it stopped before the end of the program, if it did.
    pub stop: Option<Stop>,
}

/// What a run does beside what the program says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// How often the figures of pools are read.
    pub observe: Observe,
    /// After so long in which nothing happens that a host thread waits for, it is taken not to come.
    pub patience: Duration,
    /// In which order host threads make their calls, and return from those that wait; what is behind comes as it does.
    pub turns: Vec<Turn>,
}

impl Default for Options {
    /// Figures are read after each synchronise, calls are made as they come, and 10 s are long.
    fn default() -> Self {
        Self { observe: Observe::default(), patience: Duration::from_secs(10), turns: Vec::new() }
    }
}

/// Why a run stopped before its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stop {
    /// The statement.
    pub stmt: StmtId,
    /// Why, in a few words.
    pub reason: String,
}

/// A device of this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// As its driver calls it.
    pub name: String,
    /// The version of the driver as CUDA counts it: 12040 is 12.4.
    pub driver: u32,
}

/// Why nothing can be run here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unavailable {
    /// There is no driver, as crate `cuda-link` says it.
    NoDriver(String),
    /// The driver has no device, or does not begin.
    Driver(CudaError),
    /// There are fewer devices than the program has.
    TooFewDevices {
        /// How many there are.
        there: usize,
        /// How many the program has.
        needed: usize,
    },
}

impl fmt::Display for Unavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unavailable::NoDriver(reason) => f.write_str(reason),
            Unavailable::Driver(CudaError::NO_DEVICE) => f.write_str("the CUDA driver finds no device"),
            Unavailable::Driver(code) => write!(f, "the CUDA driver cannot be used: {code}"),
            Unavailable::TooFewDevices { there, needed } => {
                write!(f, "the scenario has {needed} devices, and this machine {there}")
            }
        }
    }
}

impl std::error::Error for Unavailable {}

impl From<CudaError> for Unavailable {
    fn from(code: CudaError) -> Self {
        Unavailable::Driver(code)
    }
}

/// The devices of this machine.
///
/// # Errors
/// There is no driver, or it has no device.
pub fn devices() -> Result<Vec<Device>, Unavailable> {
    cuda_link::open().map_err(|unavailable| Unavailable::NoDriver(unavailable.to_string()))?;
    cust::init(cust::CudaFlags::empty()).map_err(CudaError::from)?;
    let driver = driver::driver_version()?;
    let count = cust::device::Device::num_devices().map_err(CudaError::from)?;
    let device = |nth| {
        let name = cust::device::Device::get_device(nth).and_then(|device| device.name());
        name.map(|name| Device { name, driver }).map_err(|error| Unavailable::Driver(error.into()))
    };
    match count {
        0 => Err(Unavailable::Driver(CudaError::NO_DEVICE)),
        count => (0..count).map(device).collect(),
    }
}

/// Runs a program on the devices of this machine, those that it declares in their order. It is one that [`unsupported`] has
/// nothing to say about.
///
/// # Errors
/// The machine lacks a driver or a device, or the driver does not begin.
pub fn run(
    program: &Program,
    host: Arc<dyn Host>,
    durations: &mut dyn Durations,
    options: Options,
) -> Result<Run, Unavailable> {
    host.begins(program);
    let mut devices = devices()?;
    let there = devices.len();
    let needed = program.setup.devices.iter().filter(|device| device.same_as.is_none()).count();
    if needed > there {
        return Err(Unavailable::TooFewDevices { there, needed });
    }
    let machine = Machine::open(needed)?;
    let session = Session::begin(program, host, durations, options, &machine)?;
    std::thread::scope(|scope| session.thread(scope, threads::MAIN));
    devices.truncate(needed);
    Ok(Run { devices, ..session.end() })
}
