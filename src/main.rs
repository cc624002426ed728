//! The `millpond` command.

fn main() -> std::process::ExitCode {
    millpond::cli::main()
}
