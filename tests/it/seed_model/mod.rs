//! `StreamOrderModel` against what it must equal: examples with the numbers of oxicuda-driver 0.5.5, traces recorded with
//! it, and the crate itself.

mod examples;
mod golden;

use millpond::model::stream_order::{ModelLimits, StreamOrderModel};

/// All eight figures, in the order of the recorded traces: reserved, used, the peaks of both, live allocations, the peak
/// of those, free blocks, pending frees.
fn figures(model: &StreamOrderModel) -> [usize; 8] {
    [
        model.reserved(),
        model.used(),
        model.reserved_high(),
        model.used_high(),
        model.active(),
        model.peak_active(),
        model.free_block_count(),
        model.pending_free_count(),
    ]
}

fn model(max_pool_size: usize, release_threshold: usize) -> StreamOrderModel {
    StreamOrderModel::new(ModelLimits { max_pool_size, release_threshold })
}
