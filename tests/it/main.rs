//! Every test but the scenarios, as modules of one binary, so that they are linked once.

mod tidy;
