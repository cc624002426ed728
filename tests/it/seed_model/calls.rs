//! Calls and answers as data, so that any model can be asked and a list of calls can be made shorter.

use millpond::model::stream_order::{CudaResult, ModelAllocation, StreamOrderId, StreamOrderModel};

/// A model by the rules of oxicuda-driver 0.5.5, in Millpond's types.
pub(super) trait Model {
    fn alloc(&mut self, size: usize, stream: StreamOrderId) -> CudaResult<ModelAllocation>;
    fn free(&mut self, ptr: u64, stream: StreamOrderId) -> CudaResult<()>;
    fn synchronize(&mut self, stream: StreamOrderId);
    fn record_event(&mut self, stream: StreamOrderId) -> u64;
    fn trim_to(&mut self, keep: usize);
    fn set_release_threshold(&mut self, threshold: usize);
    fn reset_peaks(&mut self);
    fn is_live(&self, ptr: u64) -> bool;
    fn is_ready_same_stream(&self, alloc: &ModelAllocation) -> bool;
    fn is_ready_cross_stream(&self, alloc: &ModelAllocation, consumer: StreamOrderId, wait_seq: u64) -> bool;
    /// All eight, in the order of the recorded traces: reserved, used, the peaks of both, live allocations, the peak of
    /// those, free blocks, pending frees.
    fn figures(&self) -> [usize; 8];
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Call {
    Alloc(usize, StreamOrderId),
    Free(u64, StreamOrderId),
    Synchronize(StreamOrderId),
    RecordEvent(StreamOrderId),
    TrimTo(usize),
    SetReleaseThreshold(usize),
    ResetPeaks,
    IsLive(u64),
    IsReadySameStream(ModelAllocation),
    IsReadyCrossStream(ModelAllocation, StreamOrderId, u64),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Alloc(CudaResult<ModelAllocation>),
    Free(CudaResult<()>),
    Seq(u64),
    Is(bool),
    Done,
}

impl Call {
    pub(super) fn ask(self, model: &mut impl Model) -> (Answer, [usize; 8]) {
        let mut answer = Answer::Done;
        match self {
            Self::Alloc(size, stream) => answer = Answer::Alloc(model.alloc(size, stream)),
            Self::Free(ptr, stream) => answer = Answer::Free(model.free(ptr, stream)),
            Self::Synchronize(stream) => model.synchronize(stream),
            Self::RecordEvent(stream) => answer = Answer::Seq(model.record_event(stream)),
            Self::TrimTo(keep) => model.trim_to(keep),
            Self::SetReleaseThreshold(threshold) => model.set_release_threshold(threshold),
            Self::ResetPeaks => model.reset_peaks(),
            Self::IsLive(ptr) => answer = Answer::Is(model.is_live(ptr)),
            Self::IsReadySameStream(alloc) => answer = Answer::Is(model.is_ready_same_stream(&alloc)),
            Self::IsReadyCrossStream(alloc, consumer, wait_seq) => {
                answer = Answer::Is(model.is_ready_cross_stream(&alloc, consumer, wait_seq));
            }
        }
        (answer, model.figures())
    }
}

impl Model for StreamOrderModel {
    fn alloc(&mut self, size: usize, stream: StreamOrderId) -> CudaResult<ModelAllocation> {
        self.alloc(size, stream)
    }
    fn free(&mut self, ptr: u64, stream: StreamOrderId) -> CudaResult<()> {
        self.free(ptr, stream)
    }
    fn synchronize(&mut self, stream: StreamOrderId) {
        self.synchronize(stream);
    }
    fn record_event(&mut self, stream: StreamOrderId) -> u64 {
        self.record_event(stream)
    }
    fn trim_to(&mut self, keep: usize) {
        self.trim_to(keep);
    }
    fn set_release_threshold(&mut self, threshold: usize) {
        self.set_release_threshold(threshold);
    }
    fn reset_peaks(&mut self) {
        self.reset_peaks();
    }
    fn is_live(&self, ptr: u64) -> bool {
        self.is_live(ptr)
    }
    fn is_ready_same_stream(&self, alloc: &ModelAllocation) -> bool {
        self.is_ready_same_stream(alloc)
    }
    fn is_ready_cross_stream(&self, alloc: &ModelAllocation, consumer: StreamOrderId, wait_seq: u64) -> bool {
        self.is_ready_cross_stream(alloc, consumer, wait_seq)
    }
    fn figures(&self) -> [usize; 8] {
        [
            self.reserved(),
            self.used(),
            self.reserved_high(),
            self.used_high(),
            self.active(),
            self.peak_active(),
            self.free_block_count(),
            self.pending_free_count(),
        ]
    }
}
