//! What the report of a run says about it, in words.

use super::cli::{Folder, out};

fn report(name: &str, text: &str, arguments: &[&str]) -> String {
    let folder = Folder::new(name);
    folder.file("told.scn", text);
    out(&folder.millpond(&[&["run", "told.scn"], arguments].concat()))
}

/// A pool may be full where its device is not.
#[test]
fn the_maximum_size_of_a_pool_is_named_as_what_forbids_growth() {
    let declared = "device gpu0 { memory = 1GiB }\npool p { max_size = 32MiB }\nstream s\n";
    let told = |lines: &str| report("maximum", &format!("{declared}{lines} fails out_of_memory\n"), &[]);
    for (lines, growth, room) in [
        (
            "s: x = alloc 64MiB from p",
            "the pool is 32 MiB below its maximum size",
            "32 MiB more (max_size 32 MiB)",
        ),
        (
            "s: x = alloc 32MiB from p\ns: y = alloc 1MiB from p",
            "the pool has its maximum size",
            "0 B more (max_size 32 MiB)",
        ),
        // The default pool has none: what is left is that of the device.
        ("s: x = alloc 2GiB", "only 1 GiB more can be mapped", "1 GiB more"),
        ("s: x = alloc 1GiB\ns: y = alloc 1MiB", "nothing can be mapped any more", "0 B more"),
        // Of the two, the device has less.
        ("s: x = alloc 1GiB\ns: y = alloc 1MiB from p", "nothing can be mapped any more", "0 B more"),
    ] {
        let told = told(lines);
        assert!(told.contains(&format!("growth                  no: {growth}\n")), "{growth}\n{told}");
        assert!(told.contains(&format!("room for {room}\n")), "{room}\n{told}");
    }
}

/// Another allocator than that of the text has no snapshots of its own there.
#[test]
fn snapshots_that_are_compared_with_nothing_are_said_to_be() {
    let text = "stream s\ns: x = alloc 1KiB\nsnapshot\ns: free x\n";
    let told = report("compared", text, &["--model", "oxicuda"]);
    assert!(told.contains("holds: no expectations, 1 snapshot not compared, no findings"), "{told}");
}

/// What a process calls its own is named with the process, and the process is called one.
#[test]
fn what_processes_do_is_told_by_their_names() {
    let text = "\
device gpu0 { memory = 64MiB }
process reader {
  stream s
  repeat i in 0..2 {
    s: z[i] = alloc 1GiB or_fails out_of_memory
  }
  s: y = alloc 1GiB fails out_of_memory
  thread inner {
    await never
  }
  await never
}
";
    let told = report("named", text, &[]);
    for line in [
        "  reader.y   ",
        "  reader.z[i]  ",
        "  reader.z[i], line 5: out_of_memory\n",
        "  process reader, in `await never`\n",
        "  thread reader.inner, in `await never`\n",
    ] {
        assert!(told.contains(line), "{line}\n{told}");
    }
}

/// Names give way before a line gets wider than the page.
#[test]
fn long_names_fit_the_table_of_allocations() {
    let text = "\
process a_process_with_a_long_name {
  stream a_stream_with_a_long_name
  repeat i in 0..120 {
    a_stream_with_a_long_name: a_buffer_with_a_long_name[i] = alloc 1023MiB + 1KiB * i
    a_stream_with_a_long_name: free a_buffer_with_a_long_name[i]
  }
  a_stream_with_a_long_name: another_buffer_with_a_long_name = alloc 1TiB fails out_of_memory
}
";
    let told = report("long", text, &[]);
    let table = told.lines().skip_while(|line| *line != "Allocations").take_while(|line| !line.is_empty());
    let table: Vec<&str> = table.collect();
    assert_eq!(table.len(), 5, "{told}");
    for line in table {
        assert!(line.chars().count() <= 80, "{line}\n{told}");
    }
}
