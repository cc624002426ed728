//! The verdicts of race detectors: theirs, as their tests and documents give them, against what is found in the scenarios that
//! say the same programs.
//!
//! Of each program the kinds of errors, and none where they say that it is right. What a scenario with variants is, comes first;
//! the lines that a finding names are expected in the scenarios themselves.

use crate::tidy::tree;
use millpond::engine::run;
use millpond::oracle::Expectations;
use millpond::profile::Profile;
use millpond::trace::Severity;
use std::collections::BTreeSet;

/// A scenario, with what is wrong with its program as it stands and with each of its variants.
type Told = (&'static str, &'static [&'static str]);

/// CuSan, by the names of its tests. Their tests 12, 34 and both of 16 are none: they are marked as known to fail there. That of 29
/// is about the wrong value that the race leads to.
const CUSAN: &[Told] = &[
    ("02_event", &["", "host_race"]),
    ("03_cuda_to_mpi", &["", "host_race"]),
    ("04_mpi_to_cuda", &["", "host_race"]),
    ("05_cuda_to_mpi_stream", &["", "host_race"]),
    ("06_cuda_to_mpi_event", &["", "host_race"]),
    ("07_cuda_to_mpi_read", &[""]),
    ("08_cudamemcpy_to_mpi", &[""]),
    ("09_cudamemcpy_default", &[""]),
    ("10_cudahostalloc", &[""]),
    ("11_cuda_to_mpi_struct_of_buff", &["", "host_race"]),
    ("11_struct_of_buff", &["", "race"]),
    ("13_struct_recursion", &["", "race"]),
    ("14_cuda_functor", &["", "host_race"]),
    ("15_cuda_memset_sync", &["", "host_race"]),
    ("15_cuda_memset_sync_nonblocking", &["", "host_race"]),
    ("17_cuda_stream_query_busy_loop", &["", "host_race"]),
    ("18_cuda_event_query_busy_loop", &["", "host_race"]),
    ("18_cuda_event_with_flags_query_busy_loop", &["", "host_race"]),
    ("18_cuda_to_mpi_event_query_busy_loop", &["", "host_race"]),
    ("19_cuda_cudaMemcpyAsyncH2H_implicit_sync", &["", "race"]),
    ("19_cuda_cudaMemcpyAsyncH2H_implicit_sync_nonblocking", &["", "race"]),
    ("19_cuda_to_mpi_send_cudaMemcpyAsyncH2H_implicit_sync", &["", "host_race"]),
    ("20_cuda_default_stream_sync", &["", "host_race"]),
    ("20_cuda_to_mpi_send_ds_sync_w_r", &["", "host_race"]),
    ("21_chunked_streams_example", &[""]),
    ("22_cuda_to_mpi_partial_buff_write", &[""]),
    ("23_cuda_default_stream_post_sync", &["", "host_race"]),
    ("23_cuda_default_stream_post_sync_nonblocking", &["", "host_race"]),
    ("24_cuda_sync_stream_default_blocking", &[""]),
    ("24_cuda_sync_stream_default_nonblocking", &["host_race"]),
    ("25_cuda_default_stream_double_sync", &["", "host_race"]),
    ("26_malloc_pitch", &["", "host_race"]),
    ("27_cuda_memcpy2d_implicit_syn", &["", "race"]),
    ("28_cuda_memset2d_implicit_syn", &["", "race"]),
    ("29_tsan_cuda_to_mpi", &["", "host_race"]),
    ("30_tsan_annotate_cuda_to_mpi", &["", "host_race"]),
    ("31_tsan_cuda_event", &["", "race"]),
    ("32_tsan_async_copy", &["", "race"]),
    ("33_tsan_wait_event", &["", "race"]),
    ("35_struct_null", &["", "host_race"]),
    ("multi_gpu_01_device_sync", &["", "host_race"]),
    ("multi_gpu_02_device_sync_event", &["", "host_race"]),
];

/// PyTorch's CUDA sanitizer, by the names of its tests.
const CSAN: &[Told] = &[
    ("all_reads_checked_failing", &["race"]),
    ("all_reads_checked_passing", &[""]),
    ("branch_sync", &["race"]),
    ("chain_sync", &[""]),
    ("correct_state_merging", &[""]),
    ("deleted_record", &["race", "race use_of_destroyed"]),
    ("device_synchronization_expired", &["race"]),
    ("device_synchronize", &[""]),
    ("empty_kernel_launch", &[""]),
    ("event_synchronize", &["race"]),
    ("expired_record", &["race"]),
    ("multiple_errors", &["race"]),
    ("multiple_wait", &[""]),
    ("new_stream_is_synchronized", &[""]),
    ("reads_check_last_write", &["race"]),
    ("record_override", &["race"]),
    ("simple_error", &["race"]),
    ("simple_passing", &[""]),
    ("simple_sync", &[""]),
    ("stream_synchronize", &["race"]),
];

/// NVIDIA's Compute Sanitizer: the two pictures of its manual, reports that were right, and one that was wrong and is gone.
const COMPUTE_SANITIZER: &[Told] = &[
    ("copied_after_freed", &["use_after_free"]),
    ("copied_before_allocated", &["", "free_before_alloc use_before_alloc"]),
    ("freed_before_available", &["", "free_before_alloc"]),
    ("kernel_on_the_wrong_stream", &["use_before_alloc"]),
    ("non_blocking_stream_created_later", &["use_before_alloc"]),
    ("stream_created_later", &[""]),
    ("use_after_free", &["use_after_free"]),
    ("use_before_alloc", &["use_before_alloc"]),
];

/// The kinds of errors in each program of a text.
fn errors(path: &str, text: &str) -> Vec<String> {
    let (programs, diagnostics) = millpond::load_all(text, &Profile::default());
    assert_eq!(diagnostics, [], "{path}");
    let errors = programs.iter().map(|program| {
        let mut judge = Expectations::new(program);
        assert_eq!(run(program, 0, &mut judge).stop, None, "{path}");
        let findings = judge.finish(None).findings;
        let errors =
            findings.iter().map(|finding| finding.kind).filter(|kind| kind.severity() == Severity::Error);
        let names: BTreeSet<&str> = errors.map(|kind| kind.name()).collect();
        Vec::from_iter(names).join(" ")
    });
    errors.collect()
}

/// Says where the verdicts of a folder differ from theirs, and how many there are.
fn compare(folder: &str, theirs: &[Told]) -> (Vec<String>, usize) {
    let folder = format!("scenarios/hazards/detectors/{folder}/");
    let files: Vec<_> = tree::tracked().into_iter().filter(|file| file.path.starts_with(&folder)).collect();
    let paths: BTreeSet<String> = files.iter().map(|file| file.path.clone()).collect();
    assert_eq!(paths, theirs.iter().map(|(name, _)| format!("{folder}{name}.scn")).collect());
    let mut differences = Vec::new();
    for file in files {
        let ours = errors(&file.path, &file.text);
        let is_it = |(name, _): &&Told| file.path == format!("{folder}{name}.scn");
        let (_, theirs) = theirs.iter().find(is_it).expect("the paths are equal");
        if ours != *theirs {
            differences.push(format!("{}: {ours:?}, and theirs {theirs:?}", file.path));
        }
    }
    (differences, theirs.iter().map(|(_, verdicts)| verdicts.len()).sum())
}

#[test]
fn the_verdicts_of_race_detectors_are_found() {
    let compared = [("cusan", CUSAN), ("csan", CSAN), ("compute_sanitizer", COMPUTE_SANITIZER)]
        .map(|(folder, theirs)| compare(folder, theirs));
    let counts = compared.each_ref().map(|(_, count)| *count);
    let differences: Vec<String> = compared.into_iter().flat_map(|(differences, _)| differences).collect();
    assert!(differences.is_empty(), "{differences:#?}");
    assert_eq!(counts, [76, 21, 10]);
}
