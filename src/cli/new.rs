//! `millpond new`: a first scenario to change, which runs and holds as it is.

use super::outside::{self, Complaint, Status};
use clap::Args;
use std::path::PathBuf;

/// Writes a small scenario to start from
#[derive(Debug, Args)]
#[command(after_help = "\
A file that is there is never overwritten.

Examples:
  millpond new first.scn

Exit status: 0 written, 2 the file exists or cannot be written")]
pub(super) struct New {
    /// The new file; - is standard output
    file: PathBuf,
}

/// What is written, with the title at its place.
const TEMPLATE: &str = r#"# A buffer is filled on one stream, read and freed on another. One line is one call of the host.
millpond 1
scenario "TITLE"

pool scratch on gpu0 { release_threshold = max }
stream producer, consumer
event filled
kernel fill(out: write) takes 10us
kernel sum(src: read) takes 5us..20us  # the seed draws it: millpond run FILE --seed 7

producer: x = alloc 64MiB from scratch
producer: fill(x)
producer: record filled
consumer: wait filled  # sum(x) starts when fill(x) has ended
consumer: sum(x)
consumer: free x
consumer: y = alloc 32MiB from scratch  # which memory does it get?
consumer: free y
sync device

expect y reuses x via same_stream
expect scratch.reserved_high == 64MiB  # and not 96MiB
"#;

impl New {
    pub(super) fn run(&self) -> Result<Status, Complaint> {
        let stem = self.file.file_stem().map(|stem| stem.to_string_lossy().replace('_', " "));
        let title = stem.filter(|stem| stem != "-" && !stem.contains(['"', '\n', '\r']));
        let text = TEMPLATE.replace("TITLE", title.as_deref().unwrap_or("first"));
        if outside::is_standard_input(&self.file) {
            outside::print(&text)?;
            return Ok(Status::Holds);
        }
        outside::create(&self.file, &text)?;
        let file = self.file.display();
        outside::print(&format!("wrote {file}\nnext: millpond run {file}\n"))?;
        Ok(Status::Holds)
    }
}
