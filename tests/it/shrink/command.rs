//! `millpond explore --shrink` from outside: the text that it writes, where it writes it, and what it says where nothing fails.

use crate::cli::{Folder, err, out, status};
use std::fs;
use std::process::Output;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");
const SHRINK_ME: &str = "scenarios/explore/shrink_me.scn";

/// What `shrink_me.scn` comes down to: what its header says, with what orders the use after the allocation.
const LEFT: &str = "\
stream upload, compute
event uploaded
kernel filter(src: read) takes 1us

upload: frame = alloc 512B
upload: record uploaded
compute: wait uploaded
compute: filter(frame)
upload: free frame
";

/// A free that another stream does not wait for, beside a buffer that nobody frees.
const WRONG: &str = "\
stream s, t
kernel k(x: write) takes 2us..9us
s: x = alloc 1MiB
t: y = alloc 1MiB
t: k(y)
s: k(x)
t: free x
sync device
";

fn millpond(arguments: &[&str]) -> Output {
    let folder = Folder::new("shrink");
    folder.command(arguments).current_dir(ROOT).output().expect("millpond starts")
}

/// The text without the comment at its top, and that.
fn parts(text: &str) -> (String, String) {
    let (comment, rest) = text.split_once("\n\n").expect("a blank line is behind the comment");
    assert!(comment.lines().all(|line| line.starts_with("# ")), "{text}");
    (comment.to_owned(), rest.to_owned())
}

#[test]
fn the_result_is_told_and_is_always_the_same() {
    let arguments = ["explore", SHRINK_ME, "--shrink", "--finding", "use_after_free"];
    let output = millpond(&arguments);
    assert_eq!(status(&output), 1, "{}", err(&output));
    let (comment, text) = parts(&out(&output));
    assert_eq!(text, LEFT);
    let lines: Vec<&str> = comment.lines().collect();
    assert_eq!(
        lines[0],
        format!(
            "# Made by: millpond {}",
            ["explore", SHRINK_ME, "--shrink --finding use_after_free"].join(" ")
        )
    );
    assert_eq!(lines[1], "# Kept: use_after_free (possible)");
    assert!(lines[2].starts_with("# 8 of 32 lines are left, after "), "{comment}");
    assert_eq!(lines[3..], ["# Without any one of them that is gone, or another error comes."]);
    let told = err(&output);
    assert!(told.starts_with("use_after_free (possible), 8 of 32 lines, "), "{told}");
    for jobs in ["1", "3"] {
        assert_eq!(out(&millpond(&[&arguments[..], &["--jobs", jobs]].concat())), out(&output));
    }
}

#[test]
fn a_new_file_is_written_and_no_old_one() {
    let folder = Folder::new("shrink");
    folder.file("wrong.scn", WRONG);
    let shrink = |place: &str| folder.millpond(&["explore", "wrong.scn", "--shrink", "-o", place]);
    let output = shrink("min.scn");
    assert_eq!(status(&output), 1, "{}", err(&output));
    let text = fs::read_to_string(folder.path("min.scn")).expect("it was written");
    let told = out(&output);
    assert!(told.starts_with("wrote min.scn: free_before_alloc (possible), 3 of 8 lines, "), "{told}");
    assert!(told.ends_with("\nnext: millpond run min.scn\n"), "{told}");
    assert_eq!(parts(&text).1, "stream s, t\n\ns: x = alloc 512B\nt: free x\n");
    assert_eq!(status(&folder.millpond(&["fmt", "--check", "min.scn"])), 0);
    let run = folder.millpond(&["run", "min.scn"]);
    assert_eq!(status(&run), 1);
    assert!(out(&run).contains("error[free_before_alloc]"), "{}", out(&run));

    for (place, why) in [
        ("min.scn", "error: min.scn exists already\n"),
        ("wrong.scn", "error: wrong.scn exists already\n"),
        ("none/min.scn", "error: cannot write none/min.scn: no such file or directory\n"),
    ] {
        let output = shrink(place);
        assert_eq!((status(&output), err(&output).as_str()), (2, why));
    }
    assert_eq!(fs::read_to_string(folder.path("wrong.scn")).expect("it is there"), WRONG);
    assert_eq!(fs::read_to_string(folder.path("min.scn")).expect("it is there"), text);
    let standard = shrink("-");
    assert_eq!(out(&standard), text);
}

#[test]
fn a_pipe_is_read_and_arguments_stay() {
    let folder = Folder::new("shrink");
    folder.file("leaks.scn", "stream s, t\ns: x = alloc 1MiB\nt: y = alloc 2MiB\nt: free y\n");
    let output = folder.millpond(&["explore", "leaks.scn", "--shrink", "--deny", "leak", "--base-seed", "7"]);
    let (comment, text) = parts(&out(&output));
    assert_eq!(text, "stream s\n\ns: x = alloc 512B\n");
    assert!(
        comment.starts_with("# Made by: millpond explore leaks.scn --base-seed 7 --deny leak --shrink\n")
    );
    assert!(comment.ends_with("\n# Run it with: --deny leak"), "{comment}");

    let text = "variant two {\n  set n = 3\n  expect p.used == 2MiB\n}\n";
    let text = format!(
        "let n = 2\npool p\nstream s\nrepeat i in 0..n {{\n  s: x[i] = alloc 1MiB from p\n}}\n{text}"
    );
    folder.file("variants.scn", text);
    let output = folder.millpond(&["explore", "variants.scn", "--shrink", "--variant", "two"]);
    let (comment, text) = parts(&out(&output));
    assert!(comment.contains("variants.scn --variant two --shrink\n"), "{comment}");
    assert!(text.ends_with("expect p.used == 2MiB\n"), "{text}");
    let output = folder.millpond(&["explore", "variants.scn", "--shrink"]);
    assert_eq!((status(&output), out(&output).as_str()), (0, ""), "it holds as it stands");
}

#[test]
fn a_seed_stays_where_it_matters() {
    let folder = Folder::new("shrink");
    // Which of two durations of one law is the longer one, the seed decides: of seeds from 0 on, 1 is the first to fail.
    let text = "stream s, t, u\nkernel k() takes uniform(1us, 9us)\nu: k()\ns: k() as one\nt: k() as two\n\
                sync device\nexpect one ends <= end two\n";
    folder.file("seeds.scn", text);
    let failing =
        |file: &str, seed: u64| status(&folder.millpond(&["run", file, "--seed", &seed.to_string()])) == 1;
    let first = (0..).find(|seed| failing("seeds.scn", *seed)).expect("one of them fails");
    let output = folder.millpond(&["explore", "seeds.scn", "--shrink", "-o", "min.scn"]);
    assert_eq!(status(&output), 1, "{}", err(&output));
    let text = fs::read_to_string(folder.path("min.scn")).expect("it was written");
    let (comment, text) = parts(&text);
    assert!(comment.ends_with(&format!("\n# Run it with: --seed {first}")), "{comment}");
    assert!(out(&output).ends_with(&format!("\nnext: millpond run min.scn --seed {first}\n")));
    assert!(text.contains("takes uniform(1us, 9us)\n") && text.lines().count() == 6, "{text}");
    assert!(failing("min.scn", first) && !failing("min.scn", 0));
}

#[test]
fn where_nothing_fails_it_says_so() {
    let folder = Folder::new("shrink");
    folder.file("holds.scn", "stream s\ns: x = alloc 1MiB\nexpect gpu0.default_pool.used == 1MiB\n");
    folder.file("wrong.scn", WRONG);
    folder.file("mistake.scn", "stream s\nsync ss\n");
    let shrink = |file: &str, more: &[&str]| {
        folder.millpond(&[&["explore", file, "--shrink", "-o", "min.scn", "--seeds", "20"], more].concat())
    };
    let output = shrink("holds.scn", &[]);
    let told = out(&output);
    assert_eq!(status(&output), 0, "{told}");
    let [first, second] = told.lines().collect::<Vec<_>>()[..] else { panic!("{told}") };
    assert_eq!(first, "holds.scn: nothing to shrink, since nothing fails (20 runs, seeds 0 to 19)");
    assert_eq!(second, "found, and no error: leak (to shrink that: --finding leak)");

    let output = shrink("wrong.scn", &["--finding", "race"]);
    let told = out(&output);
    assert_eq!(status(&output), 1, "{told}");
    assert!(
        told.contains(
            "nothing fails with race (20 runs, seeds 0 to 19)\nit fails with: free_before_alloc, use_"
        ),
        "{told}"
    );

    for (more, why) in [
        (&["--finding", "use_after_fre"][..], "did you mean `use_after_free`?"),
        (&["--format", "json"], "cannot be used with"),
        (&["--until-stable"], "cannot be used with"),
    ] {
        let output = shrink("wrong.scn", more);
        assert_eq!(status(&output), 2);
        assert!(err(&output).contains(why), "{}", err(&output));
    }
    assert_eq!(status(&folder.millpond(&["explore", "wrong.scn", "--finding", "race"])), 2);
    assert_eq!(status(&shrink("mistake.scn", &[])), 2);
    assert!(!folder.path("min.scn").exists());
}
