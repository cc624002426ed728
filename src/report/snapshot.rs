//! The pictures that `snapshot` statements ask for, as one RON text a run: a block a line, so that a difference is small.
//!
//! Which file it goes to, and whether it equals what was accepted, is the command line's affair.

use super::names::Book;
use crate::base::{Bytes, PoolId, SnapshotId};
use crate::scenario::Program;
use crate::trace::{Block, BlockState, Call, Detail, Event, GraphPoolState, Kind, PoolPicture, Sink};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// A `snapshot` statement in a loop is written down so many times.
const TIMES_MAX: u64 = 16;
/// So many blocks of a pool are written down.
const BLOCKS_MAX: usize = 256;

/// The sink that collects the pictures.
#[derive(Clone, Debug)]
pub struct Snapshots<'p> {
    book: Book<'p>,
    times: BTreeMap<SnapshotId, u64>,
    used: BTreeSet<PoolId>,
    text: String,
}

impl<'p> Snapshots<'p> {
    /// Nothing yet.
    pub fn new(program: &'p Program) -> Self {
        Self { book: Book::new(program), times: BTreeMap::new(), used: BTreeSet::new(), text: String::new() }
    }

    /// The text of all pictures; `None` for a program without `snapshot` lines.
    pub fn finish(self) -> Option<String> {
        let program = self.book.program;
        if program.snapshots.is_empty() {
            return None;
        }
        let mut text = format!("[\n{}", self.text);
        for (snapshot, times) in self.times.iter().filter(|(_, times)| **times > TIMES_MAX) {
            let variant = program.variant.as_ref().map(|name| format!("variant {}, ", ron(name)));
            text.push_str(&format!(
                "    // {}nth {}: {} more times\n",
                variant.unwrap_or_default(),
                snapshot.index() + 1,
                times - TIMES_MAX
            ));
        }
        text.push_str("]\n");
        Some(text)
    }

    fn picture(&mut self, snapshot: SnapshotId, pools: &[PoolPicture], graphs: &[GraphPoolState]) {
        let times = self.times.entry(snapshot).or_insert(0);
        *times += 1;
        if *times > TIMES_MAX {
            return;
        }
        // Which `snapshot` line it is, rather than its number: a comment above it changes nothing.
        let nth = snapshot.index() + 1;
        let name = ron(&self.book.program.snapshots[snapshot].name);
        self.text.push_str("    Snapshot(\n");
        if let Some(variant) = &self.book.program.variant {
            self.text.push_str(&format!("        variant: {},\n", ron(variant)));
        }
        self.text.push_str(&format!("        nth: {nth},\n        name: {name},\n        pools: [\n"));
        for picture in pools {
            let declared = !self.book.program.names.pools[picture.pool].contains('.');
            if declared || self.used.contains(&picture.pool) {
                self.text.push_str(&pool_text(&self.book, picture));
            }
        }
        self.text.push_str("        ],\n");
        if !graphs.is_empty() {
            self.text.push_str("        graph_pools: [\n");
            let devices = self.book.program.names.owners.iter();
            for (device, state) in devices.zip(graphs) {
                let (name, figures) = (ron(device), ron(&Figures::of_graphs(state)));
                let text = format!("            GraphPool(device: {name}, figures: {figures}),\n");
                self.text.push_str(&text);
            }
            self.text.push_str("        ],\n");
        }
        self.text.push_str("    ),\n");
    }
}

impl Sink for Snapshots<'_> {
    fn wants(&self, detail: Detail) -> bool {
        let asked = !self.book.program.snapshots.is_empty();
        asked && matches!(detail, Detail::Events | Detail::Pictures)
    }

    fn event(&mut self, event: &Event<'_>) {
        if let Kind::Call(Call::Alloc { pool: Some(pool), .. }) = event.kind {
            self.used.insert(*pool);
        }
        if let Kind::Snapshot { snapshot, pools, graphs } = event.kind {
            self.picture(snapshot, pools, graphs);
        }
        self.book.event(event);
    }
}

/// What a pool is asked for.
#[derive(Serialize)]
struct Figures {
    reserved: String,
    reserved_high: String,
    used: String,
    used_high: String,
}

impl Figures {
    fn of_graphs(state: &GraphPoolState) -> Self {
        Self {
            reserved: state.reserved.to_string(),
            reserved_high: state.reserved_high.to_string(),
            used: state.used.to_string(),
            used_high: state.used_high.to_string(),
        }
    }
}

/// Where its bytes are.
#[derive(Serialize)]
struct Places {
    live: String,
    padding: String,
    pending: String,
    cached: String,
    unused: String,
    fragmented: String,
}

/// A range of addresses.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum BlockLine {
    Live { at: String, size: String, name: String, requested: String },
    Pending { at: String, size: String, was: String, freed_on: String },
    Cached { at: String, size: String, was: String },
    Unused { at: String, size: String },
}

fn pool_text(book: &Book<'_>, picture: &PoolPicture) -> String {
    let (state, ledger) = (&picture.state, &picture.state.ledger);
    let figures = Figures {
        reserved: state.reserved.to_string(),
        reserved_high: state.reserved_high.to_string(),
        used: state.used.to_string(),
        used_high: state.used_high.to_string(),
    };
    let places = Places {
        live: ledger.live.to_string(),
        padding: ledger.padding.to_string(),
        pending: ledger.pending.to_string(),
        cached: ledger.cached.to_string(),
        unused: ledger.unused.to_string(),
        fragmented: picture.fragmented.to_string(),
    };
    let name = ron(&book.program.names.pools[picture.pool]);
    let mut text = format!("            Pool(\n                name: {name},\n");
    text.push_str(&format!("                figures: {},\n", ron(&figures)));
    text.push_str(&format!("                bytes: {},\n", ron(&places)));
    if picture.blocks.is_empty() {
        text.push_str("                blocks: [],\n            ),\n");
        return text;
    }
    text.push_str("                blocks: [\n");
    let lowest = picture.blocks.first().map_or(0, |block| block.start);
    for block in picture.blocks.iter().take(BLOCKS_MAX) {
        text.push_str(&format!("                    {},\n", ron(&block_line(book, block, lowest))));
    }
    if picture.blocks.len() > BLOCKS_MAX {
        text.push_str(&format!("                    // {} more blocks\n", picture.blocks.len() - BLOCKS_MAX));
    }
    text.push_str("                ],\n            ),\n");
    text
}

fn block_line(book: &Book<'_>, block: &Block, lowest: u64) -> BlockLine {
    let at = format!("+{}", Bytes(block.start - lowest));
    let size = block.size.to_string();
    match block.state {
        BlockState::Live { alloc, requested } => {
            BlockLine::Live { at, size, name: book.block(alloc), requested: requested.to_string() }
        }
        BlockState::Freed { alloc, at: freed, observed: false } => BlockLine::Pending {
            at,
            size,
            was: book.block(alloc),
            freed_on: book.stream(freed.stream).to_owned(),
        },
        BlockState::Freed { alloc, .. } => BlockLine::Cached { at, size, was: book.block(alloc) },
        BlockState::Unused => BlockLine::Unused { at, size },
    }
}

/// A leaf in one line. These types hold nothing that RON cannot say.
fn ron(value: &impl Serialize) -> String {
    let config = ron::ser::PrettyConfig::new().depth_limit(0).separator(" ");
    ron::ser::to_string_pretty(value, config).expect("plain data can be written as RON")
}
