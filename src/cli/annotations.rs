//! What fails, as lines that a code host shows beside the text: for GitHub, its workflow commands.

use super::tested::Tested;
use clap::ValueEnum;

/// Who reads them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Annotations {
    /// Workflow commands of GitHub Actions
    Github,
    /// No annotations
    None,
}

impl Annotations {
    /// Those of the machine that this runs on.
    pub(super) fn here() -> Self {
        match std::env::var_os("GITHUB_ACTIONS").is_some_and(|value| value == "true") {
            true => Self::Github,
            false => Self::None,
        }
    }

    /// The lines for one scenario; none for one that passed.
    pub(super) fn of(self, tested: &Tested) -> String {
        match self {
            Self::Github => github(tested),
            Self::None => String::new(),
        }
    }
}

/// What fails in a scenario, as the code host that this runs on reads it; nothing on another machine.
pub fn for_this_machine(tested: &Tested) -> String {
    Annotations::here().of(tested)
}

/// `::error file=..,line=..::..` for each thing that fails.
fn github(tested: &Tested) -> String {
    let mut lines = String::new();
    for remark in &tested.remarks {
        let file = property(&tested.path.display().to_string());
        let line = remark.line.map(|line| format!(",line={line}")).unwrap_or_default();
        let column = remark.column.map(|column| format!(",col={column}")).unwrap_or_default();
        let (title, message) = (property(&remark.title), data(&remark.message));
        lines.push_str(&format!("::error file={file}{line}{column},title={title}::{message}\n"));
    }
    lines
}

/// Escaped as the toolkit of GitHub Actions does it.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_that_mean_something_are_escaped() {
        assert_eq!(data("100%\r\nfree: a, b"), "100%25%0D%0Afree: a, b");
        assert_eq!(property("a,b:c%\n.scn"), "a%2Cb%3Ac%25%0A.scn");
    }
}
