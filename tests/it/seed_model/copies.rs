//! The state of the model as data and as text, copies of it, and its memory.

use super::calls::{Call, Model};
use super::model;
use super::programs::{Program, program};
use crate::budget;
use allocation_counter::measure;
use millpond::model::stream_order::{
    BlockState, ModelLimits, ModelState, PendingState, StreamOrderId, StreamOrderModel, StreamState,
};

const SEEDS: std::ops::Range<u64> = 0..32;

fn play(model: &mut StreamOrderModel, calls: &[Call]) {
    for call in calls {
        call.ask(model);
    }
}

#[test]
fn the_state_is_in_an_order_of_its_own() {
    let mut model = model(0, usize::MAX);
    let [one, two, nine] = [1, 2, 9].map(StreamOrderId);
    let got: Vec<u64> = (1..=6).map(|nth| model.alloc(nth * 512, nine).unwrap().ptr).collect();
    model.free(got[3], two).unwrap();
    model.free(got[1], two).unwrap();
    model.synchronize(two);
    model.free(got[2], two).unwrap();
    model.free(got[5], one).unwrap();
    model.record_event(StreamOrderId::NULL);
    let block = |nth: usize| BlockState { ptr: got[nth], capacity: (nth + 1) * 512 };
    let clock = |stream, submitted, reached| StreamState { stream, submitted, reached };
    let expected = ModelState {
        limits: ModelLimits { max_pool_size: 0, release_threshold: usize::MAX },
        next_address: 0x7f00_0000_0000 + 21 * 512,
        reserved: 21 * 512,
        used: 6 * 512,
        reserved_high: 21 * 512,
        used_high: 21 * 512,
        active: 2,
        peak_active: 6,
        streams: vec![
            clock(StreamOrderId::NULL, 0, 0),
            clock(one, 1, 0),
            clock(two, 3, 2),
            clock(nine, 6, 0),
        ],
        live: vec![block(0), block(4)],
        free: vec![block(3), block(1)],
        pending: vec![
            PendingState { stream: one, seq: 0, block: block(5) },
            PendingState { stream: two, seq: 2, block: block(2) },
        ],
    };
    assert_eq!(model.state(), expected);
    assert_eq!(format!("{model:?}"), format!("StreamOrderModel({expected:?})"));
    let json = serde_json::to_value(&model).unwrap();
    assert_eq!(
        json["pending"][1],
        serde_json::json!({"stream": 2, "seq": 2, "block": {"ptr": got[2], "capacity": 1_536}})
    );
}

#[test]
fn the_same_calls_give_the_same_state_and_text() {
    for seed in SEEDS {
        let Program { limits, calls } = program(seed);
        let mut models = [limits; 2].map(StreamOrderModel::new);
        models.iter_mut().for_each(|model| play(model, &calls));
        let [one, other] = models;
        assert_eq!(one.state(), other.state());
        assert_eq!(format!("{one:?}"), format!("{other:?}"));
    }
}

/// The state has what the figures count.
#[test]
fn the_state_adds_up() {
    let mut adds_up = 0;
    for Program { limits, calls } in SEEDS.map(program) {
        let mut model = StreamOrderModel::new(limits);
        play(&mut model, &calls);
        let state = model.state();
        let [reserved, used, .., active, _, free, pending] = model.figures();
        assert_eq!((state.free.len(), state.pending.len()), (free, pending));
        // Only where the pool is small enough that nothing ever saturated.
        if (1..=1 << 20).contains(&limits.max_pool_size) {
            assert_eq!(state.live.len(), active);
            let sum = |blocks: &[BlockState]| blocks.iter().map(|block| block.capacity).sum::<usize>();
            let in_pending: usize = state.pending.iter().map(|free| free.block.capacity).sum();
            assert_eq!(sum(&state.live), used);
            assert_eq!(sum(&state.live) + sum(&state.free) + in_pending, reserved);
            adds_up += 1;
        }
    }
    assert!(adds_up >= 8, "of {adds_up} programs");
}

#[test]
fn copies_go_on_alike_and_apart() {
    for Program { limits, calls } in SEEDS.map(program) {
        let (before, after) = calls.split_at(calls.len() / 2);
        let mut original = StreamOrderModel::new(limits);
        play(&mut original, before);
        let halfway = original.state();
        let mut copy = original.clone();
        let mut overwritten = StreamOrderModel::new(limits);
        play(&mut overwritten, &calls);
        let end = overwritten.state();
        overwritten.clone_from(&original);
        for copy in [&mut copy, &mut overwritten] {
            assert_eq!(copy.state(), halfway);
            play(copy, after);
            assert_eq!(copy.state(), end);
        }
        assert_eq!(original.state(), halfway, "a copy touched what it was made of");
    }
}

#[test]
fn a_warm_copy_does_not_touch_the_heap() {
    let [mut early, mut target] = [model(0, usize::MAX), model(0, usize::MAX)];
    let alloc = |model: &mut StreamOrderModel, nth: u64| {
        let stream = StreamOrderId(nth % 8);
        (model.alloc(nth as usize % 700 * 512 + 1, stream).unwrap().ptr, stream)
    };
    alloc(&mut early, 0);
    let mut late = early.clone();
    let got: Vec<_> = (1..2_000).map(|nth| alloc(&mut late, nth)).collect();
    for (ptr, stream) in &got[..1_500] {
        late.free(*ptr, *stream).unwrap();
    }
    (0..4).for_each(|stream| late.synchronize(StreamOrderId(stream)));
    assert!(late.free_block_count() > 512 && late.pending_free_count() > 512);
    target.clone_from(&early);
    target.clone_from(&late);
    // What happens in between makes tables no larger than they have been.
    let last = got[1_500];
    target.free(last.0, last.1).unwrap();
    let touched = measure(|| {
        target.clone_from(&late);
        target.clone_from(&late);
    });
    assert_eq!(touched.count_total, 0);
    assert_eq!(target.state(), late.state());
}

/// Sizes that never come again leave nothing behind, and a call needs no heap.
#[test]
fn memory_does_not_grow_with_the_sizes_ever_seen() {
    let mut model = model(0, 0);
    let mut turn = |nth: u64| {
        let stream = StreamOrderId(nth % 4);
        let [first, second] = [0, 1].map(|odd| (2 * nth + odd + 1) as usize * 512);
        let first = model.alloc(first, stream).unwrap();
        let second = model.alloc(second, stream).unwrap();
        model.free(first.ptr, stream).unwrap();
        model.free(second.ptr, stream).unwrap();
        model.synchronize(stream);
    };
    let turns = budget(10_000);
    (0..8).for_each(&mut turn);
    let touched = measure(|| (8..turns).for_each(&mut turn));
    assert_eq!(touched.count_total, 0);
    assert_eq!(model.figures(), [0, 0, model.reserved_high(), model.used_high(), 0, 2, 0, 0]);
}
