//! `StreamOrderModel` against what it must equal: examples with the numbers of oxicuda-driver 0.5.5, traces recorded with
//! it, and the crate itself under random calls.

mod calls;
mod copies;
mod examples;
mod golden;
mod naive;
mod programs;
mod published;

use millpond::model::stream_order::{ModelLimits, StreamOrderModel};

fn model(max_pool_size: usize, release_threshold: usize) -> StreamOrderModel {
    StreamOrderModel::new(ModelLimits { max_pool_size, release_threshold })
}
