//! `millpond`, with a simulated driver where the hardware backend looks for one. `MILLPOND_SIMULATED_FAULT` names what that driver
//! is to do wrong.

use millpond_simulated::SimulatedHost;
use simulated_driver::Faults;
use std::process::ExitCode;
use std::sync::Arc;

fn main() -> ExitCode {
    match Faults::from_environment() {
        Ok(faults) => {
            millpond::cli::on_host(Arc::new(SimulatedHost::new(faults)));
            millpond::cli::main()
        }
        Err(unknown) => {
            eprintln!("error: {unknown}");
            ExitCode::from(2)
        }
    }
}
