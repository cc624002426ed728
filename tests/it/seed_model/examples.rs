//! The cases that oxicuda-driver 0.5.5 tests its model with: the same inputs, the same numbers.

use super::model;
use millpond::model::stream_order::{CudaError, StreamOrderId};

const S: StreamOrderId = StreamOrderId(1);

#[test]
fn a_size_is_rounded_up_to_512() {
    let mut model = model(0, 0);
    let got = model.alloc(1, S).unwrap();
    assert_eq!((got.size, got.capacity, model.reserved(), model.used()), (1, 512, 512, 512));
    assert_ne!(got.ptr, 0);
}

#[test]
fn a_size_of_0_is_refused() {
    assert_eq!(model(0, 0).alloc(0, S), Err(CudaError::InvalidValue));
}

#[test]
fn a_foreign_pointer_is_refused() {
    assert_eq!(model(0, 0).free(0xdead_beef, S), Err(CudaError::InvalidValue));
}

#[test]
fn a_second_free_is_refused() {
    let (mut model, stream) = (model(0, 0), StreamOrderId(7));
    let got = model.alloc(256, stream).unwrap();
    assert_eq!(model.free(got.ptr, stream), Ok(()));
    assert_eq!(model.free(got.ptr, stream), Err(CudaError::InvalidValue));
}

#[test]
fn a_free_is_pending_until_its_stream_is_synchronised() {
    let mut model = model(0, usize::MAX);
    let first = model.alloc(512, S).unwrap();
    model.alloc(512, S).unwrap();
    model.free(first.ptr, S).unwrap();
    assert_eq!((model.pending_free_count(), model.free_block_count()), (1, 0));
    model.synchronize(S);
    assert_eq!((model.pending_free_count(), model.free_block_count()), (0, 1));
}

#[test]
fn the_same_size_uses_a_free_block_again() {
    let mut model = model(0, usize::MAX);
    let first = model.alloc(1_024, S).unwrap();
    model.free(first.ptr, S).unwrap();
    model.synchronize(S);
    let reserved = model.reserved();
    assert_eq!(model.alloc(1_024, S).unwrap().ptr, first.ptr);
    assert_eq!((model.reserved(), model.free_block_count()), (reserved, 0));
}

#[test]
fn in_its_own_stream_memory_is_ready_after_a_synchronisation() {
    let mut model = model(0, 0);
    let got = model.alloc(64, S).unwrap();
    assert!(!model.is_ready_same_stream(&got));
    model.synchronize(S);
    assert!(model.is_ready_same_stream(&got));
}

#[test]
fn in_another_stream_memory_is_ready_after_a_later_event() {
    let (mut model, owner, consumer) = (model(0, 0), StreamOrderId(10), StreamOrderId(20));
    let got = model.alloc(128, owner).unwrap();
    assert!(!model.is_ready_cross_stream(&got, consumer, 0));
    let event = model.record_event(owner);
    assert!(event > got.ready_seq);
    assert!(model.is_ready_cross_stream(&got, consumer, event));
}

#[test]
fn pending_memory_is_reserved_and_not_used() {
    let mut model = model(0, usize::MAX);
    let first = model.alloc(1_000, S).unwrap();
    model.alloc(2_000, S).unwrap();
    assert_eq!((model.used(), model.reserved()), (3_072, 3_072));
    model.free(first.ptr, S).unwrap();
    assert_eq!((model.used(), model.reserved()), (2_048, 3_072));
    model.synchronize(S);
    assert_eq!((model.reserved(), model.free_block_count()), (3_072, 1));
}

#[test]
fn a_trim_gives_free_blocks_back() {
    let mut model = model(0, usize::MAX);
    let got = model.alloc(4_096, S).unwrap();
    model.free(got.ptr, S).unwrap();
    model.synchronize(S);
    assert_eq!((model.reserved(), model.free_block_count()), (4_096, 1));
    model.trim_to(0);
    assert_eq!((model.reserved(), model.free_block_count()), (0, 0));
}

#[test]
fn the_release_threshold_keeps_memory_reserved() {
    let mut model = model(0, 4_096);
    let got = model.alloc(4_096, S).unwrap();
    model.free(got.ptr, S).unwrap();
    model.synchronize(S);
    assert_eq!((model.reserved(), model.free_block_count()), (4_096, 1));
}

#[test]
fn new_blocks_respect_the_largest_size_of_the_pool() {
    let mut model = model(1_024, 0);
    assert!(model.alloc(1_024, S).is_ok());
    assert_eq!(model.alloc(1, S), Err(CudaError::OutOfMemory));
}

#[test]
fn a_smaller_request_takes_a_larger_block_whole() {
    let mut model = model(0, usize::MAX);
    let first = model.alloc(2_048, S).unwrap();
    model.free(first.ptr, S).unwrap();
    model.synchronize(S);
    let second = model.alloc(1_024, S).unwrap();
    assert_eq!((second.ptr, second.capacity), (first.ptr, 2_048));
}

#[test]
fn peaks_are_kept_and_reset() {
    let mut model = model(0, 0);
    let first = model.alloc(1_024, S).unwrap();
    model.alloc(2_048, S).unwrap();
    model.free(first.ptr, S).unwrap();
    model.synchronize(S);
    assert_eq!((model.peak_active(), model.used_high()), (2, 3_072));
    model.reset_peaks();
    assert_eq!((model.peak_active(), model.used_high()), (1, model.used()));
}
