//! Every file below `scenarios` is a test.

fn main() -> std::process::ExitCode {
    millpond_test::run("scenarios")
}
