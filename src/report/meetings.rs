//! Kernels of a run on hardware that have met in their memory, those that are the same again as one.
//!
//! How it looks is the affair of each report.

use crate::oracle::Met;
use std::collections::BTreeMap;

/// Kernels that have met, once or again.
#[derive(Clone, Copy, Debug)]
pub(super) struct Meeting<'a> {
    pub(super) met: &'a Met,
    pub(super) times: u64,
}

/// Each that differs from the others, in the order of their first times.
pub(super) fn meetings(met: &[Met]) -> Vec<Meeting<'_>> {
    let (mut each, mut places) = (Vec::<Meeting<'_>>::new(), BTreeMap::new());
    for met in met {
        let place = *places.entry((met.stmt, met.expected, met.found, met.late)).or_insert(each.len());
        match each.get_mut(place) {
            Some(known) => known.times += 1,
            None => each.push(Meeting { met, times: 1 }),
        }
    }
    each
}
