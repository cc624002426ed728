//! The samples of the CUDA Programming Guide's chapter on the stream-ordered allocator.

use super::Case;
use super::Status::Scenario;

/// All of them, in the order of the chapter.
pub(super) const SAMPLES: &[Case] = &[
    Case("G1", "allocate, launch, free in one stream", "4.3.2", Scenario),
    Case("G2", "three streams: allocated, used, freed, with events between", "4.3.2.1, 4.3.2.2", Scenario),
    Case("G3", "plain memory, freed in a stream", "4.3.2.2", Scenario),
    Case("G4", "memory of a pool, freed by the host after a synchronise", "4.3.2.2", Scenario),
    Case("G5", "an explicit pool like the default one", "4.3.3.2", Scenario),
    Case("G6", "a pool on a NUMA node of the host, to be shared", "4.3.3.2", Scenario),
    Case("G7", "access of a peer to a pool", "4.3.3.3", Scenario),
    Case("G8", "a pool exported and imported", "4.3.3.4.1, 4.3.3.4.2", Scenario),
    Case("G9", "a pointer exported and imported", "4.3.3.4.3", Scenario),
    Case("G10", "freed on both sides", "4.3.3.4.3", Scenario),
    Case("G11", "what a device and a driver support", "querying for support", Scenario),
    Case("G12", "a release threshold, set twice", "4.3.4.2", Scenario),
    Case("G13", "a phase that needs much memory, then a trim", "4.3.4.2", Scenario),
    Case("G14", "usage statistics, read and reset", "4.3.4.3", Scenario),
    Case("G15", "reuse after an event", "4.3.4.4.1", Scenario),
    Case("G16", "opportunistic reuse", "4.3.4.4.2", Scenario),
    Case("G17", "reuse by a dependency that the driver inserts", "4.3.4.4.3", Scenario),
];
