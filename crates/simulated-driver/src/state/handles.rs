//! Handles: opaque numbers that say what they are of, which place of its table, and how often that place was given away. So an
//! unknown, stale or foreign handle is known as such, and none is the address of anything.
//!
//! Also the places of a setup that things take, and leave to others.

use std::collections::VecDeque;

/// What a handle is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub(crate) enum Tag {
    Context = 0x11,
    Stream,
    Event,
    Pool,
    Module,
    Function,
}

const PLACE_BITS: u32 = 16;
const GENERATION_BITS: u32 = 24;
const GENERATION: u64 = (1 << GENERATION_BITS) - 1;

/// Things of one kind by their handles.
#[derive(Debug)]
pub(crate) struct Table<T> {
    tag: Tag,
    places: Vec<Place<T>>,
    vacant: VecDeque<usize>,
}

#[derive(Debug)]
struct Place<T> {
    generation: u64,
    item: Option<T>,
}

impl<T> Table<T> {
    /// An empty one.
    pub(crate) fn new(tag: Tag) -> Self {
        Self { tag, places: Vec::new(), vacant: VecDeque::new() }
    }

    /// Gives a thing a handle. `None`: there are too many.
    pub(crate) fn insert(&mut self, item: T) -> Option<u64> {
        let place = match self.vacant.pop_front() {
            Some(place) => place,
            None if self.places.len() >> PLACE_BITS == 0 => {
                self.places.push(Place { generation: 0, item: None });
                self.places.len() - 1
            }
            None => return None,
        };
        self.places[place].item = Some(item);
        Some(self.handle(place))
    }

    fn handle(&self, place: usize) -> u64 {
        let Place { generation, .. } = self.places[place];
        (self.tag as u64) << (PLACE_BITS + GENERATION_BITS)
            | (generation & GENERATION) << PLACE_BITS
            | place as u64
    }

    fn place(&self, handle: u64) -> Option<usize> {
        let place = (handle & ((1 << PLACE_BITS) - 1)) as usize;
        let is_it = place < self.places.len() && self.handle(place) == handle;
        (is_it && self.places[place].item.is_some()).then_some(place)
    }

    /// What has a handle.
    pub(crate) fn get(&self, handle: u64) -> Option<&T> {
        self.places[self.place(handle)?].item.as_ref()
    }

    /// What has a handle, to change it.
    pub(crate) fn get_mut(&mut self, handle: u64) -> Option<&mut T> {
        let place = self.place(handle)?;
        self.places[place].item.as_mut()
    }

    /// Takes a handle back.
    pub(crate) fn remove(&mut self, handle: u64) -> Option<T> {
        let nth = self.place(handle)?;
        let place = &mut self.places[nth];
        place.generation += 1;
        self.vacant.push_back(nth);
        place.item.take()
    }

    /// Everything, with its handle.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, &T)> {
        let items = self.places.iter().enumerate();
        items.filter_map(|(nth, place)| Some((self.handle(nth), place.item.as_ref()?)))
    }

    /// The handles of the things for which this holds.
    pub(crate) fn having(&self, is_meant: impl Fn(&T) -> bool) -> Vec<u64> {
        self.iter().filter(|(_, item)| is_meant(item)).map(|(handle, _)| handle).collect()
    }
}

/// The places of a setup for one kind of things.
#[derive(Debug)]
pub(crate) struct Places {
    /// Those that nothing has had yet.
    fresh: std::ops::Range<usize>,
    /// Those whose thing was destroyed, in that order.
    left: VecDeque<usize>,
}

impl Places {
    /// These, all of them fresh.
    pub(crate) fn new(fresh: std::ops::Range<usize>) -> Self {
        Self { fresh, left: VecDeque::new() }
    }

    /// A place that `renew` has made another thing of: a fresh one as long as there are any.
    pub(crate) fn take(&mut self, mut renew: impl FnMut(usize) -> bool) -> Option<usize> {
        if let Some(place) = self.fresh.clone().next()
            && renew(place)
        {
            self.fresh.start += 1;
            return Some(place);
        }
        let nth = self.left.iter().position(|place| renew(*place))?;
        self.left.remove(nth)
    }

    /// A thing is destroyed.
    pub(crate) fn leave(&mut self, place: usize) {
        self.left.push_back(place);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_of_what_is_gone_or_of_another_kind_are_unknown() {
        let (mut streams, mut events) = (Table::new(Tag::Stream), Table::new(Tag::Event));
        let stream = streams.insert('s').expect("there is room");
        let event = events.insert('e').expect("there is room");
        assert!(stream != event && stream > 2 && stream >> 47 == 0);
        assert_eq!((streams.get(stream), streams.get(event)), (Some(&'s'), None));
        assert_eq!((streams.remove(stream), streams.remove(stream)), (Some('s'), None));
        let again = streams.insert('t').expect("there is room");
        assert!(again != stream);
        assert_eq!((streams.get(stream), streams.get(again)), (None, Some(&'t')));
        for foreign in [0, 1, 2, again + 1, again ^ 1 << 47, u64::MAX] {
            assert_eq!(streams.get(foreign), None, "{foreign:#x}");
        }
    }

    #[test]
    fn a_table_has_room_for_as_many_as_a_handle_can_name() {
        let mut table = Table::new(Tag::Module);
        let handles: Vec<_> = (0..1 << PLACE_BITS).map_while(|nth| table.insert(nth)).collect();
        assert_eq!((handles.len(), table.insert(0)), (1 << PLACE_BITS, None));
        assert!(handles.iter().enumerate().all(|(nth, handle)| table.get(*handle) == Some(&nth)));
    }

    #[test]
    fn places_are_fresh_first_and_then_those_left_longest_ago() {
        let mut places = Places::new(3..5);
        assert_eq!(
            [places.take(|_| true), places.take(|_| true), places.take(|_| true)],
            [Some(3), Some(4), None]
        );
        places.leave(4);
        places.leave(3);
        assert_eq!(places.take(|place| place == 3), Some(3), "the other one is still in use");
        assert_eq!([places.take(|_| false), places.take(|_| true)], [None, Some(4)]);
    }
}
