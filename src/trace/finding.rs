//! What may be found to be wrong with a program, whatever its calls answered.

use std::fmt;

/// A kind of finding. The names are those of the language and of every report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FindingKind {
    /// An exporter frees memory, and nothing orders that after the free of an importer (CUDA driver API,
    /// `cuMemPoolImportPointer`).
    FreedBeforeImporter,
}

impl FindingKind {
    /// Every kind.
    pub const ALL: [FindingKind; 1] = [FindingKind::FreedBeforeImporter];

    /// The word of the language and of every report.
    pub const fn name(self) -> &'static str {
        match self {
            FindingKind::FreedBeforeImporter => "freed_before_importer",
        }
    }
}

impl fmt::Display for FindingKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
