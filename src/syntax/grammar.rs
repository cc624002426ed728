//! The parser that pest makes of `grammar/millpond.pest`. The one place where pest's macro is used.

#![allow(missing_docs, unreachable_pub)]

use pest_derive::Parser;

#[derive(Debug, Parser)]
#[grammar = "grammar/millpond.pest"]
pub struct Grammar;

impl Rule {
    /// Whether the rule is a fixed word or sign, which means nothing beyond the rule that contains it.
    ///
    /// Those stand at the end of the grammar, and the rules are ordered as there.
    pub fn is_fixed(self) -> bool {
        self >= Rule::kw_millpond
    }

    /// The word, if the rule is a fixed word: `kw_or_fails` is `or_fails`.
    pub fn keyword(self) -> Option<String> {
        format!("{self:?}").strip_prefix("kw_").map(str::to_owned)
    }
}
