//! The bytes of an allocation, or of a buffer of the host: which were touched, by whom and how.
//!
//! Of what one stream or host thread did to a byte, the latest read and the latest write say everything: what is after these is
//! after the others. What is before a later write, whatever the timing is, is let go of. So a range keeps no more than two
//! touches a stream. It must not know what is right or wrong.

use super::clock::{Clock, Mark, Stands};
use crate::base::StmtId;
use crate::trace::Access;
use smallvec::SmallVec;

/// That memory was touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Touch {
    pub(super) mark: Mark,
    pub(super) stmt: StmtId,
    pub(super) writes: bool,
    /// Whether by another process, which has imported the memory.
    pub(super) is_imported: bool,
}

/// Bytes that were touched alike.
#[derive(Clone, Debug)]
struct Segment {
    touches: SmallVec<[Touch; 2]>,
    /// The byte after the last one.
    end: u64,
    is_written: bool,
}

/// Bytes that were not all touched alike, or not by one stream or host thread alone.
#[derive(Clone, Debug)]
struct Segments {
    first: Segment,
    rest: Vec<Segment>,
}

impl Segments {
    fn all_mut(&mut self) -> impl Iterator<Item = &mut Segment> {
        std::iter::once(&mut self.first).chain(&mut self.rest)
    }

    fn touches(&self) -> impl Iterator<Item = &Touch> {
        std::iter::once(&self.first).chain(&self.rest).flat_map(|segment| &segment.touches)
    }

    fn segment_mut(&mut self, nth: usize) -> &mut Segment {
        match nth.checked_sub(1) {
            None => &mut self.first,
            Some(nth) => &mut self.rest[nth],
        }
    }

    /// The number of the segment that begins at this byte.
    fn split(&mut self, at: u64) -> usize {
        let nth = match self.first.end <= at {
            true => 1 + self.rest.partition_point(|segment| segment.end <= at),
            false => 0,
        };
        let start = nth.checked_sub(1).map_or(0, |before| self.segment_mut(before).end);
        if start == at || nth > self.rest.len() {
            return nth;
        }
        let segment = self.segment_mut(nth);
        let after = segment.clone();
        segment.end = at;
        self.rest.insert(nth, after);
        nth + 1
    }
}

/// The bytes of an allocation, or of a buffer of the host. Most are touched as a whole, by one stream alone.
#[derive(Clone, Debug)]
#[repr(C)]
pub(super) struct Extent {
    /// The only touch there is to keep, of all bytes, unless there are segments.
    only: Option<Touch>,
    /// In bytes.
    size: u64,
    segments: Option<Box<Segments>>,
    is_written: bool,
    /// Whether the segments say what touched it. They are kept for later where they do not.
    has_segments: bool,
}

impl Extent {
    pub(super) fn new(size: u64, is_written: bool) -> Self {
        Self { only: None, size, segments: None, is_written, has_segments: false }
    }

    /// How many bytes there are.
    #[inline(always)]
    pub(super) fn size(&self) -> u64 {
        self.size
    }

    /// Bytes are touched by what has this clock; `meets` is told of each touch that conflicts with it, and how the two stand.
    /// Says whether bytes are read that nothing has written.
    pub(super) fn touch(
        &mut self,
        (from, to): (u64, u64),
        access: Access,
        touch: Touch,
        clock: &Clock,
        mut meets: impl FnMut(Touch, Stands),
    ) -> bool {
        let mut is_unwritten = false;
        let segments = self.segments();
        let first = segments.split(from);
        let last = if from < to { segments.split(to) } else { first };
        for segment in segments.all_mut().skip(first).take(last - first) {
            is_unwritten |= access == Access::Read && !segment.is_written;
            segment.is_written |= touch.writes;
            segment.touches.retain(|known| {
                let stands = if known.mark.agent == touch.mark.agent {
                    Stands::Before
                } else {
                    clock.stands(known.mark)
                };
                if stands != Stands::Before && (known.writes || touch.writes) {
                    meets(*known, stands);
                }
                // What comes after this one comes after that one too, and meets this one where it would meet that one.
                stands != Stands::Before || known.writes && !touch.writes
            });
            segment.touches.push(touch);
        }
        self.fold();
        is_unwritten
    }

    /// Its bytes as segments, which they are from now on.
    fn segments(&mut self) -> &mut Segments {
        let Self { only, size, segments, is_written, has_segments } = self;
        let first = || Segment { touches: SmallVec::new(), end: 0, is_written: false };
        let segments =
            segments.get_or_insert_with(|| Box::new(Segments { first: first(), rest: Vec::new() }));
        if !*has_segments {
            let Segments { first, rest } = &mut **segments;
            rest.clear();
            first.touches.clear();
            first.touches.extend(only.take());
            (first.end, first.is_written) = (*size, *is_written);
            *has_segments = true;
        }
        segments
    }

    /// Does without segments, where one touch of all bytes is all there is to keep.
    fn fold(&mut self) {
        if let Some(Segments { first, rest }) = self.segments.as_deref()
            && let ([only], []) = (first.touches.as_slice(), rest.as_slice())
        {
            (self.only, self.is_written, self.has_segments) = (Some(*only), first.is_written, false);
        }
    }

    /// All bytes are touched by the stream or the host thread that alone has touched them so far: then this is all there is to
    /// keep, and nothing can be wrong with it. Says whether it is so.
    #[inline(always)]
    pub(super) fn touch_again(&mut self, (from, to): (u64, u64), touch: Touch) -> bool {
        if (from, to) != (0, self.size) || self.has_segments {
            return false;
        }
        let is_all = match self.only {
            None => touch.writes,
            Some(known) => {
                known.mark.agent == touch.mark.agent && (touch.writes || self.is_written && !known.writes)
            }
        };
        if is_all {
            self.only = Some(touch);
            self.is_written |= touch.writes;
        }
        is_all
    }

    /// The bytes of another allocation, which nothing has touched.
    #[inline(always)]
    pub(super) fn renew(&mut self, new_size: u64) {
        let Self { only, size, segments: _, is_written, has_segments } = self;
        (*only, *size, *is_written, *has_segments) = (None, new_size, false, false);
    }

    /// The segments, where they say what touched it.
    fn known_segments(&self) -> Option<&Segments> {
        self.segments.as_deref().filter(|_| self.has_segments)
    }

    /// Whether this holds of everything that touched it, as far as it is kept.
    #[inline(always)]
    pub(super) fn all(&self, mut holds: impl FnMut(&Touch) -> bool) -> bool {
        if self.has_segments { self.touches().all(holds) } else { self.only.as_ref().is_none_or(&mut holds) }
    }

    /// Everything that touched it, as far as it is kept.
    pub(super) fn touches(&self) -> impl Iterator<Item = &Touch> {
        self.only.iter().chain(self.known_segments().into_iter().flat_map(Segments::touches))
    }
}
