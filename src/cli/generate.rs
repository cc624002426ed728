//! `millpond generate`: a made-up scenario, clean or with bugs whose places are known.

use super::outside::{self, Complaint, Status};
use crate::explore::generate::{self, Bugs, Mistake, Options};
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use std::path::PathBuf;

/// Writes a made-up scenario, clean or with planted bugs
#[derive(Debug, Args)]
#[command(after_help = "\
The same arguments write the same scenario on every machine. It is valid and in
the usual form. Without bugs nothing is wrong with it: no run of it has an
error, a warning or a call that fails, whatever its timing and the interleaving
of its host threads; lints it may have.

An operation is a call that goes to a stream or to the host, in a loop once for
each turn; declarations do not count, nor what starts and joins threads. Bugs
are planted into the finished scenario, where the finding shows in every run. A
comment marks where a bug is, and the line at which it is found:
  missing_wait, missing_record, missing_sync
                 a line is missing, so that two others have no order
  second_free    what is freed is freed again
  late_use       memory is used after the call that frees it
  missing_free   memory is not freed
  missing_write  memory is not written before it is read

Examples:
  millpond generate --seed 7 --ops 40
  millpond generate --seed 7 --ops 2000 --streams 8 -o made_up.scn
  millpond generate --seed 7 --ops 200 --bugs 2 -o buggy.scn
  millpond generate --seed 7 --ops 200 --plant missing_wait | millpond run -

Exit status: 0 written, 2 an argument is wrong, there is no place for a bug, or
the file exists or cannot be written")]
pub(super) struct Generate {
    /// Which scenario
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// How many operations it has, 1 to 100000
    #[arg(long = "ops", value_name = "M", default_value_t = 60)]
    operations: u64,
    /// How many streams it has, 1 to 64
    #[arg(long, value_name = "S", default_value_t = 3)]
    streams: usize,
    /// Plants so many bugs for each 100 operations, 0 to 20, and at least one unless it is 0; fewer where there is no place
    #[arg(long, value_name = "RATE", default_value_t = 0, conflicts_with = "plant")]
    bugs: u64,
    /// Plants one bug of this kind
    #[arg(long, value_name = "BUG", value_parser = mistakes())]
    plant: Option<Mistake>,
    /// Writes to a new file instead of standard output (-)
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// The argument of `--plant`.
fn mistakes() -> impl TypedValueParser<Value = Mistake> {
    let one_of = PossibleValuesParser::new(Mistake::ALL.map(Mistake::name));
    one_of.map(|name| Mistake::named(&name).expect("the parser knows no other names"))
}

impl Generate {
    pub(super) fn run(&self) -> Result<Status, Complaint> {
        let bugs = self.plant.map_or(Bugs::Rate(self.bugs), Bugs::One);
        let options = Options { seed: self.seed, operations: self.operations, streams: self.streams, bugs };
        let made = generate::scenario(&options).map_err(|refusal| Complaint::wrong(refusal.to_string()))?;
        let Some(file) = self.output.as_deref().filter(|file| !outside::is_standard_input(file)) else {
            outside::print(&made.text)?;
            return Ok(Status::Holds);
        };
        outside::create(file, &made.text)?;
        let bugs = match made.planted.len() {
            0 => String::new(),
            1 => ", with 1 bug".to_owned(),
            several => format!(", with {several} bugs"),
        };
        let file = file.display();
        outside::print(&format!("wrote {file}{bugs}\nnext: millpond run {file}\n"))?;
        Ok(Status::Holds)
    }
}
