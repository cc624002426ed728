//! The cases of the interface.
