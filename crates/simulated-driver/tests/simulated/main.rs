//! The simulated driver through its entries: what the documents say, bad use, and virtual time.

mod api;
mod basics;
mod calls;
mod driver;
mod entries;
mod limits;
mod machine;
mod random;
