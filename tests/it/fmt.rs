//! The usual form of a scenario: nothing is lost, nothing changes twice, and the program runs as before.

use crate::budget;
use millpond::base::Draws;
use millpond::syntax::format;
use std::fs;
use std::path::{Path, PathBuf};

/// Every shipped scenario that can be read, with its text.
fn shipped() -> Vec<(PathBuf, String)> {
    fn below(folder: &Path, found: &mut Vec<(PathBuf, String)>) {
        let entries = fs::read_dir(folder).expect("a folder can be read").flatten();
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        paths.sort();
        for path in paths {
            if path.is_dir() {
                below(&path, found);
            } else {
                let text = fs::read_to_string(&path).expect("a scenario can be read");
                found.extend(format(&text).is_ok().then_some((path, text)));
            }
        }
    }
    let mut found = Vec::new();
    below(&Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios"), &mut found);
    assert!(found.len() > 50, "only {} scenarios can be read", found.len());
    found
}

/// What is left of a text without what the form may change: white space, and commas at the ends of lines.
fn squeezed(text: &str) -> String {
    let mut out = String::new();
    for line in text.trim_start_matches('\u{feff}').lines() {
        let mut quoted = false;
        let hash = line.char_indices().find(|(_, sign)| {
            quoted ^= *sign == '"';
            *sign == '#' && !quoted
        });
        let (statement, comment) = line.split_at(hash.map_or(line.len(), |(at, _)| at));
        let statement: String = statement.chars().filter(|sign| !sign.is_whitespace()).collect();
        let statement = statement.replace(",}", "}");
        out.push_str(statement.strip_suffix(',').unwrap_or(&statement));
        out.push_str(comment.trim_end());
        out.push('\n');
    }
    out.split('\n').filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
}

/// The form of a text that can be read, after all that must be so of any form.
fn checked(text: &str) -> Option<String> {
    let formatted = format(text).ok()?;
    assert_eq!(format(&formatted).as_deref(), Ok(formatted.as_str()), "twice: {text:?}");
    assert_eq!(squeezed(&formatted), squeezed(text), "nothing is lost: {text:?}");
    assert!(!formatted.contains("\n\n\n"), "{formatted:?}");
    assert!(!formatted.starts_with('\n') && !formatted.ends_with("\n\n"), "{formatted:?}");
    Some(formatted)
}

#[test]
fn the_usual_form_by_example() {
    for (text, expected) in [
        ("", ""),
        ("\n\n", ""),
        ("\u{feff}sync a", "sync a\n"),
        ("\n\nsync\ta \r\n\r\n\n\nsync b\n\n", "sync a\n\nsync b\n"),
        (
            "a:x=alloc 1MiB*2 from p fails  out_of_memory",
            "a: x = alloc 1MiB * 2 from p fails out_of_memory\n",
        ),
        ("w[ i+1 ] : f( b[i%4],b[ (i + 1)%4 ] )until go", "w[i + 1]: f(b[i % 4], b[(i + 1) % 4]) until go\n"),
        ("device gpu0{memory=1GiB,}", "device gpu0 { memory = 1GiB }\n"),
        ("device gpu0 { }\npool p on gpu0 {\n\n}", "device gpu0 {}\npool p on gpu0 {\n}\n"),
        (
            "pool p {\n\n   # why\nreuse=[ ],# last\n\n\n max_size = 1GiB\n\n}# end",
            "pool p {\n  # why\n  reuse = []  # last\n\n  max_size = 1GiB\n}  # end\n",
        ),
        (
            "repeat i in 0 .. n-1 {\nrepeat j in i..4 {   #turn\nsync a\n}\n\n}",
            "repeat i in 0..n - 1 {\n  repeat j in i..4 {  #turn\n    sync a\n  }\n}\n",
        ),
        (
            "stream a,b[4]on gpu0 non_blocking\nkernel k(x:read,y:read_write)takes uniform(1us,2us)",
            "stream a, b[4] on gpu0 non_blocking\nkernel k(x: read, y: read_write) takes uniform(1us, 2us)\n",
        ),
        (
            "sync a # one\ns: free x #two\n\nsync device# three",
            // Comments of neighbouring lines share a column; a blank line ends the neighbourhood.
            "sync a     # one\ns: free x  #two\n\nsync device  # three\n",
        ),
        ("expect y not  reuses x via internal", "expect y not reuses x via internal\n"),
        ("stream a on gpu0 priority  -1", "stream a on gpu0 priority -1\n"),
        ("create  stream a priority 0  reusing b", "create stream a priority 0 reusing b\n"),
        ("event e,f[2]on gpu1{interprocess}", "event e, f[2] on gpu1 { interprocess }\n"),
        ("create event e on gpu1 reusing f", "create event e on gpu1 reusing f\n"),
        ("let t=elapsed e to f[1]as l fails not_ready", "let t = elapsed e to f[1] as l fails not_ready\n"),
        ("s: k()takes 10us+-20%", "s: k() takes 10us +- 20%\n"),
        ("s:k()as late fails invalid_value", "s: k() as late fails invalid_value\n"),
        ("expect  finding f  on x [ 0 ] at  late 2  times", "expect finding f on x[0] at late 2 times\n"),
        ("expect no  findings", "expect no findings\n"),
        ("expect  no leaks", "expect no leaks\n"),
        ("allow leak  on x[ 1 ]", "allow leak on x[1]\n"),
        ("expect late ends>=end early", "expect late ends >= end early\n"),
        ("expect late starts>end early", "expect late starts > end early\n"),
        ("expect late ends !=start early", "expect late ends != start early\n"),
        ("x=malloc 4KiB  managed on gpu1", "x = malloc 4KiB managed on gpu1\n"),
        ("host_buffer h,g[ 2 ]64MiB pinned", "host_buffer h, g[2] 64MiB pinned\n"),
        ("view a[i]=slab[ 0 ..1MiB ]", "view a[i] = slab[0..1MiB]\n"),
        (
            "s:copy h from x[i][0..n*2]takes 1us..2us as c",
            "s: copy h from x[i][0..n * 2] takes 1us..2us as c\n",
        ),
        (
            "copy  h from x\nmemset x [0..1B]\nread  h\nwrite h",
            "copy h from x\nmemset x[0..1B]\nread h\nwrite h\n",
        ),
        ("free  x  fails invalid_value", "free x fails invalid_value\n"),
        ("poll  s  until  done", "poll s until done\n"),
        ("expect p.used<=max", "expect p.used <= max\n"),
        ("let n = (1)+((2*3))", "let n = (1) + ((2 * 3))\n"),
    ] {
        assert_eq!(checked(text).as_deref(), Some(expected), "{text:?}");
    }
}

#[test]
fn what_cannot_be_read_has_no_form() {
    for text in ["sync", "repeat i in 0..3 {", "}", "let n = 1KB"] {
        assert!(format(text).is_err(), "{text}");
    }
}

#[test]
fn lines_at_the_limit_can_still_be_read() {
    let long = format!("repeat i in 0..1 {{\nlet n=1{} # end\n}}\n", "+1".repeat(2_000));
    let formatted = checked(&long).expect("it is under the limit");
    assert!(formatted.contains("\nlet n=1+1"), "it stays as it was");
    let comments = format!("sync a # x\nlet n = 1{} # y\n", " + 1".repeat(1_000));
    assert!(checked(&comments).expect("under the limit").starts_with("sync a  # x\n"));
}

#[test]
fn shipped_scenarios_are_in_the_usual_form() {
    for (path, text) in shipped() {
        let formatted = checked(&text).expect("it can be read");
        let invalid = path.iter().any(|part| part == "invalid");
        assert!(invalid || formatted == text, "{}: run `millpond fmt scenarios`", path.display());
    }
}

/// The same statement, written differently.
fn written_differently(text: &str, draws: &mut Draws) -> String {
    let mut out = String::new();
    for line in text.lines() {
        if line.trim_start().starts_with('#') || line.contains('"') {
            out.extend([line, "\n"]);
            continue;
        }
        let spaces = |draws: &mut Draws| ["", " ", "\t", "   "][draws.below(4) as usize];
        out.push_str(spaces(draws));
        let (code, comment) = line.split_at(line.find('#').unwrap_or(line.len()));
        for sign in code.trim_start().chars() {
            let stands_alone =
                ":,=()[]{}+*/%".contains(sign) && !line.contains("expect ") && !line.contains("+-");
            match sign {
                ' ' => out.push_str([" ", "  ", "\t"][draws.below(3) as usize]),
                sign if stands_alone && !line.contains('#') => {
                    out.push_str(spaces(draws));
                    out.push(sign);
                    out.push_str(spaces(draws));
                }
                sign => out.push(sign),
            }
        }
        out.push_str(comment);
        out.push_str(spaces(draws));
        out.push_str(["\n", "\r\n"][draws.below(2) as usize]);
        if line.is_empty() {
            out.push_str(&"\n".repeat(draws.below(3) as usize));
        }
    }
    out
}

#[test]
fn spaces_do_not_matter() {
    let shipped = shipped();
    let mut draws = Draws::new(11, 0);
    for _ in 0..budget(200) {
        let (path, text) = &shipped[draws.below(shipped.len() as u64) as usize];
        let mutated = written_differently(text, &mut draws);
        assert_eq!(format(&mutated), format(text), "{}:\n{mutated}", path.display());
    }
}

#[test]
fn any_text_that_can_be_read_keeps_all_it_has() {
    let shipped = shipped();
    let pieces =
        ["", " ", "\n", "#", "# ", ",", "(", ")", "\t", "1", "x", "\"", "{", "}", "..", "é", "\r", "\u{a0}"];
    let mut draws = Draws::new(12, 0);
    let mut read = 0;
    for _ in 0..budget(3_000) {
        let (_, text) = &shipped[draws.below(shipped.len() as u64) as usize];
        // A window of lines, so that one mutation does not stand for a whole file.
        let lines: Vec<&str> = text.lines().collect();
        let from = draws.below(lines.len() as u64) as usize;
        let mut mutated = lines[from..lines.len().min(from + 8)].join("\n");
        for _ in 0..=draws.below(2) {
            let places: Vec<usize> = mutated.char_indices().map(|(at, _)| at).collect();
            let Some(at) = places.get(draws.below(places.len().max(1) as u64) as usize) else { continue };
            let length = mutated[*at..].chars().next().map_or(0, char::len_utf8) * draws.below(2) as usize;
            let piece = pieces[draws.below(pieces.len() as u64) as usize];
            mutated.replace_range(*at..at + length, piece);
        }
        read += u64::from(checked(&mutated).is_some());
    }
    assert!(read > budget(3_000) / 8, "only {read} texts could be read");
}
