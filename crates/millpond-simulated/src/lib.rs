//! Millpond with a simulated driver behind its hardware backend. `run --backend cuda` and `compare --backend cuda` go the whole
//! way through crate `cust`, without a GPU.
//!
//! What that shows is that the backend makes the calls that a program means, and that it notices a driver that does something
//! else. It shows nothing about a real driver: this one decides by the same model as the simulation.

mod kernel;

pub use kernel::Spin;

use millpond::base::Nanos;
use millpond::hw::{Host, KERNEL};
use millpond::scenario::Program;
use simulated_driver::{Configuration, Faults};
use std::sync::Arc;

/// The host whose time is that of the simulated driver.
#[derive(Clone, Copy, Debug)]
pub struct SimulatedHost {
    faults: Faults,
}

impl SimulatedHost {
    /// A host with a driver that is wrong in these ways.
    pub fn new(faults: Faults) -> Self {
        simulated_driver::connect();
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
