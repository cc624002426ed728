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
const TEMPLATE: &str = r#"# One line is one call of the host, in the order of the program.
scenario "TITLE"  # what reports call it

pool scratch on gpu0                   # a pool of its own, with CUDA's settings
stream producer, consumer              # two streams; their work runs side by side
event filled                           # orders one after the other
kernel fill(out: write) takes 10us     # what a kernel touches, and how long it runs
kernel sum(src: read) takes 5us..20us  # the seed draws it: millpond run FILE --seed 7

producer: x = alloc 64MiB from scratch  # cudaMallocFromPoolAsync
producer: fill(x)                       # a launch
producer: record filled                 # cudaEventRecord
consumer: wait filled                   # cudaStreamWaitEvent: what follows starts after fill(x)
consumer: sum(x)                        # still uses x, when the next line is called
consumer: free x                        # cudaFreeAsync, in the order of the stream
consumer: y = alloc 32MiB from scratch  # which memory does it get?

expect y reuses x via same_stream  # that of x: its stream orders the free before
expect scratch.reserved == 64MiB   # so the pool has grown once, and not to 96MiB
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
