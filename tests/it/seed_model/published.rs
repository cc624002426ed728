//! The published crate, asked in Millpond's types.

use super::calls::Model;
use millpond::model::stream_order::{CudaError, CudaResult, ModelAllocation, ModelLimits, StreamOrderId};
use oxicuda_driver::stream_ordered_model as oxicuda;

pub(super) struct Published(oxicuda::StreamOrderModel);

impl Published {
    pub(super) fn new(limits: ModelLimits) -> Self {
        let ModelLimits { max_pool_size, release_threshold } = limits;
        Self(oxicuda::StreamOrderModel::new(oxicuda::ModelLimits { max_pool_size, release_threshold }))
    }
}

fn id(stream: StreamOrderId) -> oxicuda::StreamOrderId {
    oxicuda::StreamOrderId(stream.0)
}

fn error(error: oxicuda_driver::CudaError) -> CudaError {
    match error {
        oxicuda_driver::CudaError::InvalidValue => CudaError::InvalidValue,
        oxicuda_driver::CudaError::OutOfMemory => CudaError::OutOfMemory,
        other => panic!("an error that the model does not have: {other:?}"),
    }
}

fn to_theirs(alloc: &ModelAllocation) -> oxicuda::ModelAllocation {
    let ModelAllocation { ptr, size, capacity, stream, ready_seq } = *alloc;
    oxicuda::ModelAllocation { ptr, size, capacity, stream: id(stream), ready_seq }
}

fn to_ours(alloc: oxicuda::ModelAllocation) -> ModelAllocation {
    let oxicuda::ModelAllocation { ptr, size, capacity, stream, ready_seq } = alloc;
    ModelAllocation { ptr, size, capacity, stream: StreamOrderId(stream.0), ready_seq }
}

impl Model for Published {
    fn alloc(&mut self, size: usize, stream: StreamOrderId) -> CudaResult<ModelAllocation> {
        self.0.alloc(size, id(stream)).map(to_ours).map_err(error)
    }
    fn free(&mut self, ptr: u64, stream: StreamOrderId) -> CudaResult<()> {
        self.0.free(ptr, id(stream)).map_err(error)
    }
    fn synchronize(&mut self, stream: StreamOrderId) {
        self.0.synchronize(id(stream));
    }
    fn record_event(&mut self, stream: StreamOrderId) -> u64 {
        self.0.record_event(id(stream))
    }
    fn trim_to(&mut self, keep: usize) {
        self.0.trim_to(keep);
    }
    fn set_release_threshold(&mut self, threshold: usize) {
        self.0.set_release_threshold(threshold);
    }
    fn reset_peaks(&mut self) {
        self.0.reset_peaks();
    }
    fn is_live(&self, ptr: u64) -> bool {
        self.0.is_live(ptr)
    }
    fn is_ready_same_stream(&self, alloc: &ModelAllocation) -> bool {
        self.0.is_ready_same_stream(&to_theirs(alloc))
    }
    fn is_ready_cross_stream(&self, alloc: &ModelAllocation, consumer: StreamOrderId, wait_seq: u64) -> bool {
        self.0.is_ready_cross_stream(&to_theirs(alloc), id(consumer), wait_seq)
    }
    fn figures(&self) -> [usize; 8] {
        let model = &self.0;
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
}
