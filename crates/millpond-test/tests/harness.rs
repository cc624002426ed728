//! The harness from outside: this program runs itself, once as a user's `tests/scenarios.rs`.

use libtest_mimic::{Arguments, Failed, Trial};
use millpond_test::Scenario;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Output};

/// Says that the program is to be the harness.
const HARNESS: &str = "MILLPOND_TEST_HARNESS";

const HOLDS: &str = "stream s\ns: x = alloc 1MiB\ns: free x\nexpect gpu0.default_pool.used == 0B\n";

type Test = fn() -> Result<(), Failed>;

fn main() -> ExitCode {
    if std::env::var_os(HARNESS).is_some() {
        return millpond_test::run("scenarios");
    }
    let tests: [(&str, Test); 6] = [
        ("one_test_a_file", one_test_a_file),
        ("what_fails_is_told", what_fails_is_told),
        ("snapshots_are_accepted", snapshots_are_accepted),
        ("an_empty_folder_is_an_error", an_empty_folder_is_an_error),
        ("a_text_runs", a_text_runs),
        ("the_page_shows_the_example", the_page_shows_the_example),
    ];
    let trials = tests.map(|(name, test)| Trial::test(name, test));
    libtest_mimic::run(&Arguments::from_args(), trials.into()).exit_code()
}

/// A package of its own that is removed at the end.
struct Package(PathBuf);

impl Package {
    fn new(name: &str, files: &[(&str, &str)]) -> Result<Self, Failed> {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join(format!("millpond-test-{name}-{}", std::process::id()));
        fs::create_dir_all(path.join("scenarios/deep"))?;
        for (name, text) in files {
            fs::write(path.join("scenarios").join(name), text)?;
        }
        Ok(Self(path))
    }

    /// Runs the harness as `cargo test -- ARGUMENTS` does.
    fn test(&self, arguments: &[&str], environment: &[(&str, &str)]) -> Result<(i32, String), Failed> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(arguments).current_dir(&self.0).env(HARNESS, "1");
        command.env_remove("INSTA_UPDATE").env_remove("GITHUB_ACTIONS").envs(environment.iter().copied());
        let Output { status, stdout, stderr } = command.output()?;
        let text = String::from_utf8(stdout)? + &String::from_utf8(stderr)?;
        Ok((status.code().ok_or("it ends by itself")?, text))
    }
}

impl Drop for Package {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).ok();
    }
}

fn check(holds: bool, said: &str) -> Result<(), Failed> {
    if holds { Ok(()) } else { Err(said.into()) }
}

fn one_test_a_file() -> Result<(), Failed> {
    let files = [("a.scn", HOLDS), ("deep/b.scn", HOLDS), ("deep/c.scn", HOLDS)];
    let package = Package::new("files", &files)?;
    let (status, text) = package.test(&[], &[])?;
    check(status == 0 && text.contains("3 passed; 0 failed"), &text)?;
    let (status, text) = package.test(&["--list"], &[])?;
    let listed: Vec<&str> = text.lines().filter(|line| line.ends_with(": test")).collect();
    check(status == 0, &text)?;
    check(
        listed == ["scenarios/a.scn: test", "scenarios/deep/b.scn: test", "scenarios/deep/c.scn: test"],
        &text,
    )?;
    let (_, text) = package.test(&["deep/"], &[])?;
    check(text.contains("2 passed; 0 failed") && text.contains("1 filtered out"), &text)
}

fn what_fails_is_told() -> Result<(), Failed> {
    let fails = "stream s\ns: x = alloc 1MiB\nexpect gpu0.default_pool.used == 0B\n";
    let files = [("a.scn", HOLDS), ("fails.scn", fails), ("mistake.scn", "sync ss\n")];
    let package = Package::new("fails", &files)?;
    let (status, text) = package.test(&[], &[])?;
    check(status == 101 && text.contains("1 passed; 2 failed"), &text)?;
    check(text.contains("line 3: gpu0.default_pool.used == 0B   fails: it is 1MiB, not 0B"), &text)?;
    check(text.contains("--> scenarios/mistake.scn:1:6"), &text)?;
    check(!text.contains("::error"), &text)?;
    let (_, text) = package.test(&[], &[("GITHUB_ACTIONS", "true")])?;
    check(text.lines().any(|line| line.starts_with("::error file=scenarios/fails.scn,line=3,")), &text)
}

fn snapshots_are_accepted() -> Result<(), Failed> {
    let package = Package::new("snapshots", &[("deep/a.scn", &format!("{HOLDS}snapshot\n"))])?;
    let (status, text) = package.test(&[], &[])?;
    check(
        status == 101 && text.contains("accept it with: millpond test --bless scenarios/deep/a.scn"),
        &text,
    )?;
    check(text.contains("or with: INSTA_UPDATE=always cargo test"), &text)?;
    let (status, text) = package.test(&[], &[("INSTA_UPDATE", "always")])?;
    check(status == 0, &text)?;
    let accepted = fs::read_to_string(package.0.join("snapshots/deep/a.snap"))?;
    check(accepted.contains("input_file: scenarios/deep/a.scn\n"), &accepted)?;
    let (status, text) = package.test(&[], &[("INSTA_UPDATE", "no")])?;
    check(status == 0, &text)
}

fn an_empty_folder_is_an_error() -> Result<(), Failed> {
    let package = Package::new("empty", &[])?;
    let (status, text) = package.test(&[], &[])?;
    check(status == 2 && text == "error: no scenario (*.scn) below scenarios\n", &text)
}

fn a_text_runs() -> Result<(), Failed> {
    let run =
        Scenario::text(format!("{HOLDS}snapshot \"end\"\n")).run().map_err(|error| error.to_string())?;
    check(run.snapshots().contains("name: \"end\"") && run.report().contains("holds: "), run.snapshots())?;
    let wrong = Scenario::text("sync ss\n").run().expect_err("it has a mistake");
    check(wrong.to_string().contains("--> <text>:1:6"), &wrong.to_string())?;
    let fails = Scenario::text(format!("{HOLDS}expect gpu0.default_pool.used == 1B\n"));
    let fails = format!("{:?}", fails.run().expect_err("it does not hold"));
    check(fails.contains("error[expectation]: line 5:"), &fails)?;
    let twins = Scenario::text(
        "pool p\nsnapshot\nvariant off {\n  set p.internal = off\n  expect p.internal == off\n}\n",
    );
    let off = twins.clone().variant("off").run().map_err(|error| error.to_string())?;
    check(off.snapshots().is_empty() && off.report().contains(", variant off"), off.report())?;
    let unknown = twins.variant("on").run().expect_err("there is none").to_string();
    check(unknown == "<text> has no variant `on`, it has off", &unknown)?;
    check(Scenario::file("missing.scn").is_err_and(|error| error.to_string().contains("no such file")), "")
}

/// What the page shows is what the example has, so that it is tested.
fn the_page_shows_the_example() -> Result<(), Failed> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(root.join("README.md"))?;
    for file in ["tests/scenarios.rs", "tests/pool_state.rs"] {
        let text = fs::read_to_string(root.join("example").join(file))?;
        check(page.contains(&format!("```rust,no_run\n{text}```\n")), file)?;
    }
    let manifest = fs::read_to_string(root.join("example/Cargo.toml"))?;
    check(manifest.contains("[[test]]\nname = \"scenarios\"\nharness = false\n"), &manifest)
}
