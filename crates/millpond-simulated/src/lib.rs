//! Millpond with a simulated driver behind its hardware backend. `run --backend cuda` and `compare --backend cuda` go the whole
//! way through crate `cust`, without a GPU.
//!
//! What that shows is that the backend makes the calls that a program means, and that it notices a driver that does something
//! else. It shows nothing about a real driver: this one decides by the same model as the simulation.

mod kernel;

use kernel::Spin;
use millpond::base::Nanos;
use millpond::hw::{Host, KERNEL};
use millpond::scenario::Program;
use simulated_driver::{Configuration, Faults};
use std::sync::{Arc, Once};

/// The host whose time is that of the simulated driver.
#[derive(Clone, Copy, Debug)]
pub struct SimulatedHost {
    faults: Faults,
}

impl SimulatedHost {
    /// A host with a driver that is wrong in these ways.
    pub fn new(faults: Faults) -> Self {
        connect();
        Self { faults }
    }
}

impl Host for SimulatedHost {
    /// Every run has a driver of its own, with the devices of its program.
    fn begins(&self, program: &Program) {
        simulated_driver::reset(Configuration { faults: self.faults, ..Configuration::like(&program.setup) });
        simulated_driver::define_kernel(KERNEL, Arc::new(Spin));
    }

    fn now(&self) -> Nanos {
        Nanos(simulated_driver::now())
    }

    fn sleep(&self, duration: Nanos) {
        simulated_driver::pass(duration.0);
    }

    fn passes(&self, duration: Nanos) -> bool {
        simulated_driver::pass(duration.0);
        true
    }

    fn waits(&self, wait: &mut dyn FnMut()) {
        simulated_driver::waiting(wait);
    }
}

/// The entries of the driver API are those of the simulated driver from now on.
#[allow(unsafe_code, reason = "the entries are C functions")]
fn connect() {
    static CONNECTED: Once = Once::new();
    // SAFETY: the simulated driver's entries have the signatures that the documents of the driver API give them, and are there
    // for the rest of the process. No other driver was used before.
    CONNECTED.call_once(|| unsafe { cuda_link::resolve(simulated_driver::lookup) });
}
