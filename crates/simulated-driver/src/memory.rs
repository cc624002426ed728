//! The bytes of device memory by address, of page-locked and managed memory too, as kernels and copies see them.
//!
//! Pages that nobody has written read as zero and take no room. Addresses that were never handed out are nowhere: what touches
//! them is dropped and counted.
#![allow(unsafe_code)]

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::collections::BTreeMap;
use std::ptr::NonNull;

const PAGE: u64 = 4_096;
/// Copies go in pieces of this size.
const PIECE: u64 = 1 << 16;

/// The memory that devices see.
#[derive(Debug, Default)]
pub struct DeviceMemory {
    pages: BTreeMap<u64, Box<[u8; PAGE as usize]>>,
    /// Every range that was ever handed out: its start and its end.
    known: BTreeMap<u64, u64>,
    /// Imports, by their start: their end, and the start of what they are.
    imports: BTreeMap<u64, (u64, u64)>,
    /// The memory of the host that the driver has handed out.
    host: BTreeMap<u64, HostBuffer>,
    dropped: u64,
}

/// Where some bytes are.
enum Place {
    Pages(u64),
    Host(*mut u8),
    Nowhere,
}

impl DeviceMemory {
    /// Memory of which these ranges, each with its start and its size, are handed out: for who tries a kernel without a driver.
    pub fn of(ranges: impl IntoIterator<Item = (u64, u64)>) -> Self {
        let mut memory = Self::default();
        ranges.into_iter().for_each(|(start, size)| memory.map(start, size));
        memory
    }

    /// Reads bytes from an address on.
    pub fn read(&mut self, address: u64, into: &mut [u8]) {
        let mut left = into;
        let mut at = address;
        while !left.is_empty() {
            let (place, run) = self.locate(at, left.len() as u64);
            let (piece, rest) = left.split_at_mut(run as usize);
            match place {
                Place::Pages(at) => self.read_pages(at, piece),
                // SAFETY: the buffer has these bytes, and lives while it is in the table; as on a device, whoever writes to
                // it at the same time has a race of his own.
                Place::Host(from) => unsafe {
                    piece.as_mut_ptr().copy_from_nonoverlapping(from, piece.len());
                },
                Place::Nowhere => {
                    piece.fill(0);
                    self.dropped += run;
                }
            }
            (left, at) = (rest, at.wrapping_add(run));
        }
    }

    /// Writes bytes from an address on.
    pub fn write(&mut self, address: u64, bytes: &[u8]) {
        let mut left = bytes;
        let mut at = address;
        while !left.is_empty() {
            let (place, run) = self.locate(at, left.len() as u64);
            let (piece, rest) = left.split_at(run as usize);
            match place {
                Place::Pages(at) => self.write_pages(at, piece),
                // SAFETY: as for a read.
                Place::Host(into) => unsafe { into.copy_from_nonoverlapping(piece.as_ptr(), piece.len()) },
                Place::Nowhere => self.dropped += run,
            }
            (left, at) = (rest, at.wrapping_add(run));
        }
    }

    /// The number of 8 bytes at an address.
    pub fn u64_at(&mut self, address: u64) -> u64 {
        let mut bytes = [0; 8];
        self.read(address, &mut bytes);
        u64::from_le_bytes(bytes)
    }

    /// Writes a number of 8 bytes.
    pub fn set_u64_at(&mut self, address: u64, value: u64) {
        self.write(address, &value.to_le_bytes());
    }

    /// How many bytes were read or written where no memory ever was.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Copies bytes from one address to another one, as if all were read first within each piece.
    pub(crate) fn copy(&mut self, to: u64, from: u64, size: u64) {
        pieces(size, |at, length| {
            let (from, to) = (from.wrapping_add(at), to.wrapping_add(at));
            if self.is_blank(from, length) && self.is_blank(to, length) {
                return;
            }
            let mut piece = vec![0; length];
            self.read(from, &mut piece);
            self.write(to, &piece);
        });
    }

    /// Reads bytes piece by piece.
    pub(crate) fn read_out(&mut self, from: u64, size: u64, mut take: impl FnMut(usize, &[u8])) {
        pieces(size, |at, length| {
            let mut piece = vec![0; length];
            self.read(from.wrapping_add(at), &mut piece);
            take(at as usize, &piece);
        });
    }

    /// Writes the same value again and again, so many bytes; the length of the value divides the length of a piece.
    pub(crate) fn fill(&mut self, to: u64, value: &[u8], size: u64) {
        let whole = value.repeat(PIECE as usize / value.len());
        let is_zero = value.iter().all(|byte| *byte == 0);
        pieces(size, |at, length| {
            let to = to.wrapping_add(at);
            if !is_zero || !self.is_blank(to, length) {
                self.write(to, &whole[..length]);
            }
        });
    }

    /// A range is handed out. What was there before stays, but for imports.
    pub(crate) fn map(&mut self, start: u64, size: u64) {
        let (mut first, mut end) = (start, start.saturating_add(size));
        self.imports.retain(|import, (until, _)| *until <= first || *import >= end);
        while let Some((before, until)) = self.known.range(..=end).next_back().map(|(a, b)| (*a, *b)) {
            if until < first {
                break;
            }
            self.known.remove(&before);
            (first, end) = (first.min(before), end.max(until));
        }
        self.known.insert(first, end);
    }

    /// A range is another name for one that was handed out.
    pub(crate) fn import(&mut self, start: u64, size: u64, of: u64) {
        self.map(start, size);
        self.imports.insert(start, (start.saturating_add(size), of));
    }

    /// Memory of the host, which is zero; its address. `None`: there is no more.
    pub(crate) fn allocate_host(&mut self, size: u64) -> Option<u64> {
        let buffer = HostBuffer::new(size)?;
        let start = buffer.start.as_ptr() as u64;
        self.host.insert(start, buffer);
        Some(start)
    }

    /// Memory of the host goes back.
    pub(crate) fn free_host(&mut self, start: u64) {
        self.host.remove(&start);
    }

    /// Where the bytes from an address on are, and how many of them are there together.
    fn locate(&self, address: u64, most: u64) -> (Place, u64) {
        if let Some((start, buffer)) = self.host.range(..=address).next_back()
            && address - start < buffer.size()
        {
            let from = address - start;
            // SAFETY: `from` is within the buffer.
            let place = unsafe { buffer.start.as_ptr().add(from as usize) };
            return (Place::Host(place), most.min(buffer.size() - from));
        }
        if let Some((start, (end, of))) = self.imports.range(..=address).next_back()
            && address < *end
        {
            return (Place::Pages(of + (address - start)), most.min(end - address));
        }
        let import = self.imports.range(address..).next().map(|(start, _)| *start);
        if let Some((_, end)) = self.known.range(..=address).next_back()
            && address < *end
        {
            let end = import.map_or(*end, |import| import.min(*end));
            return (Place::Pages(address), most.min(end - address));
        }
        let starts = [self.known.range(address..).next().map(|(start, _)| *start), import];
        let host = self.host.range(address..).next().map(|(start, _)| *start);
        let next = starts.into_iter().chain([host]).flatten().min().unwrap_or(u64::MAX);
        (Place::Nowhere, most.min((next - address).max(1)))
    }

    /// Whether all of a range is device memory that nobody has written.
    fn is_blank(&self, address: u64, length: usize) -> bool {
        match self.locate(address, length as u64) {
            (Place::Pages(at), run) if run == length as u64 => {
                self.pages.range(at / PAGE..(at + run).div_ceil(PAGE)).next().is_none()
            }
            _ => false,
        }
    }

    fn read_pages(&self, address: u64, into: &mut [u8]) {
        for_each_page(address, into.len(), |page, from, range| {
            let piece = &mut into[range.clone()];
            match self.pages.get(&page) {
                Some(bytes) => piece.copy_from_slice(&bytes[from..from + range.len()]),
                None => piece.fill(0),
            }
        });
    }

    fn write_pages(&mut self, address: u64, bytes: &[u8]) {
        for_each_page(address, bytes.len(), |page, from, range| {
            let piece = &bytes[range.clone()];
            if !self.pages.contains_key(&page) && piece.iter().all(|byte| *byte == 0) {
                return;
            }
            let page = self.pages.entry(page).or_insert_with(|| Box::new([0; PAGE as usize]));
            page[from..from + range.len()].copy_from_slice(piece);
        });
    }
}

/// Calls with each page of a range: its number, where the range begins in it, and which bytes of the range are in it.
fn for_each_page(address: u64, length: usize, mut call: impl FnMut(u64, usize, std::ops::Range<usize>)) {
    let mut done = 0;
    while done < length {
        let at = address + done as u64;
        let from = (at % PAGE) as usize;
        let run = (PAGE as usize - from).min(length - done);
        call(at / PAGE, from, done..done + run);
        done += run;
    }
}

/// Calls with each piece of a range: where it begins, and its length.
fn pieces(size: u64, mut call: impl FnMut(u64, usize)) {
    let mut at = 0;
    while at < size {
        let length = PIECE.min(size - at);
        call(at, length as usize);
        at += length;
    }
}

/// Memory of the host that the driver hands out.
#[derive(Debug)]
struct HostBuffer {
    start: NonNull<u8>,
    layout: Layout,
}

// SAFETY: it is plain memory, which belongs to no thread.
unsafe impl Send for HostBuffer {}

impl HostBuffer {
    fn new(size: u64) -> Option<Self> {
        let layout = Layout::from_size_align(usize::try_from(size).ok()?, PAGE as usize).ok()?;
        if layout.size() == 0 {
            return None;
        }
        // SAFETY: the layout has a size.
        let start = NonNull::new(unsafe { alloc_zeroed(layout) })?;
        Some(Self { start, layout })
    }

    fn size(&self) -> u64 {
        self.layout.size() as u64
    }
}

impl Drop for HostBuffer {
    fn drop(&mut self) {
        // SAFETY: it was allocated with this layout, and is given back once.
        unsafe { dealloc(self.start.as_ptr(), self.layout) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: u64 = 0x3_0200_0000;

    #[test]
    fn what_was_never_written_is_zero_and_what_was_never_there_is_dropped() {
        let mut memory = DeviceMemory::default();
        memory.map(BASE, 8_192);
        memory.map(BASE + 8_192, 100);
        memory.write(BASE + 4_000, &[7; 200]);
        let mut bytes = [1; 300];
        memory.read(BASE + 3_950, &mut bytes);
        assert!(
            bytes.iter().enumerate().all(|(nth, byte)| *byte == if (50..250).contains(&nth) { 7 } else { 0 })
        );
        assert_eq!(memory.dropped(), 0);
        memory.write(BASE + 8_200, &[9; 200]);
        memory.write(u64::MAX - 2, &[9; 5]);
        assert_eq!(memory.dropped(), 113);
        memory.read(BASE - 4, &mut bytes[..8]);
        assert_eq!((bytes[0], memory.dropped()), (0, 117));
    }

    #[test]
    fn an_import_is_what_it_was_made_of_until_its_addresses_are_another_ones() {
        let mut memory = DeviceMemory::default();
        memory.map(BASE, 4_096);
        memory.import(BASE + 65_536, 512, BASE + 512);
        memory.set_u64_at(BASE + 65_544, 5);
        assert_eq!(memory.u64_at(BASE + 520), 5);
        memory.map(BASE + 65_536, 4_096);
        assert_eq!(memory.u64_at(BASE + 65_544), 0);
    }

    #[test]
    fn copies_and_fills_go_across_all_kinds_of_memory() {
        let mut memory = DeviceMemory::default();
        memory.map(BASE, 1 << 20);
        let host = memory.allocate_host(200_000).expect("there is memory");
        memory.fill(BASE + 1, &[1, 2, 3, 4], 200_000);
        memory.copy(host, BASE + 1, 200_000);
        let mut bytes = vec![0; 200_000];
        memory.read_out(host, 200_000, |at, piece| bytes[at..at + piece.len()].copy_from_slice(piece));
        assert!(bytes.chunks(4).all(|four| four == [1, 2, 3, 4]));
        // What is blank is neither copied nor filled, whatever its size.
        memory.map(1 << 40, 1 << 40);
        memory.copy(3 << 39, 1 << 40, 1 << 34);
        memory.fill(1 << 40, &[0], 1 << 34);
        memory.write((1 << 40) + 70_000, &[5]);
        memory.copy(3 << 39, 1 << 40, 1 << 20);
        memory.read((3 << 39) + 70_000, &mut bytes[..2]);
        memory.fill(3 << 39, &[0], 1 << 20);
        memory.read((3 << 39) + 70_000, &mut bytes[1..2]);
        assert_eq!((bytes[0], bytes[1], memory.dropped()), (5, 0, 0));
        memory.free_host(host);
        assert_eq!((memory.u64_at(host), memory.dropped()), (0, 8));
        assert!(memory.allocate_host(0).is_none() && memory.allocate_host(u64::MAX).is_none());
    }
}
