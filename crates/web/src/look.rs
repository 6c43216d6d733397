//! What one sees of the flash: each page, each block, and where a logical page is and was.
//!
//! It is an onlooker's view of a copy of the flash, which no FTL has and for which no operation is counted.

use crate::engine::Engine;
use phelsuma_ftl::{BlockLook, BlockState, LogLook};
use phelsuma_nand::{Block, Kind, Nand, Op, Page, PageRead, Purpose, SimNand, Spare, Time};
use serde_json::{Value, json};
use std::collections::HashMap;

/// A page of the flash, as a byte says it: one of these, or a kind of metadata with one of the two marks below.
const ERASED: u8 = 0;
const LIVE: u8 = 1;
const STALE: u8 = 2;
/// Its data are not what its spare area says: a power cut met it.
const TORN: u8 = 3;
const UNREADABLE: u8 = 4;
const BAD: u8 = 5;
/// With the kind's number: metadata in use.
const METADATA: u8 = 16;
/// With the kind's number: metadata that something newer has replaced.
const METADATA_STALE: u8 = 32;

/// Bytes of a block behind those of the pages: state and log, kind, live pages and erases.
const BLOCK_BYTES: usize = 8;

/// A copy of the flash, and what is the newest of each content.
struct Seen {
    nand: SimNand,
    spares: Vec<Result<Spare, u8>>,
    blocks: Vec<BlockLook>,
    /// By kind and key: the page that has the newest.
    newest: HashMap<(Kind, u32), (u64, u64, u32)>,
}

const LOOK: Op = Op { at: Time::ZERO, purpose: Purpose::Host };

impl Engine {
    fn see(&self) -> Seen {
        let mut nand = self.now.bench.nand().clone();
        let geometry = self.geometry;
        let mut blocks = vec![BlockLook::default(); geometry.blocks() as usize];
        self.now.bench.ftl().look_at_blocks(Block(0), &mut blocks);
        let mut newest: HashMap<(Kind, u32), (u64, u64, u32)> = HashMap::new();
        let spares = (0..geometry.pages() as u32).map(|n| {
            let page = Page(n);
            let block = geometry.block_of(page);
            if nand.is_bad(block) {
                return Err(BAD);
            }
            match nand.read(page, LOOK).0 {
                PageRead::Erased => Err(ERASED),
                PageRead::Unreadable => Err(UNREADABLE),
                read @ PageRead::Written { .. } => {
                    let Some((_, spare)) = read.verified() else { return Err(TORN) };
                    if is_keyed(spare.kind) {
                        let order = (spare.version, spare.seq, n);
                        let best = newest.entry((spare.kind, spare.key)).or_insert(order);
                        *best = (*best).max(order);
                    }
                    Ok(spare)
                }
            }
        });
        let spares = spares.collect();
        Seen { nand, spares, blocks, newest }
    }

    fn cell(&self, seen: &Seen, n: u32) -> u8 {
        let spare = match &seen.spares[n as usize] {
            Err(cell) => return *cell,
            Ok(spare) => spare,
        };
        let block = self.geometry.block_of(Page(n));
        let is_newest =
            !is_keyed(spare.kind) || seen.newest.get(&(spare.kind, spare.key)).is_some_and(|(_, _, page)| *page == n);
        if spare.kind == Kind::User {
            let is_live = is_newest && spare.key < self.config.logical_pages && self.now.bench.holds_data(spare.key);
            return if is_live { LIVE } else { STALE };
        }
        let is_free = matches!(seen.blocks[block.index()].state, BlockState::Free | BlockState::Held);
        (if is_newest && !is_free { METADATA } else { METADATA_STALE }) + spare.kind as u8
    }

    /// A byte for each page, by block, and eight for each block behind them.
    pub(crate) fn cells(&self) -> Vec<u8> {
        let seen = self.see();
        let mut bytes: Vec<u8> = (0..self.geometry.pages() as u32).map(|n| self.cell(&seen, n)).collect();
        bytes.reserve(seen.blocks.len() * BLOCK_BYTES);
        for (n, look) in seen.blocks.iter().enumerate() {
            let state = match look.state {
                BlockState::Free => 0,
                BlockState::Held => 1,
                BlockState::Open => 2,
                BlockState::Written => 3,
                BlockState::Bad => 4,
            };
            let log = match look.log {
                None => 0,
                Some(LogLook::Log) => 1,
                Some(LogLook::Hot) => 2,
                Some(LogLook::Sequential) => 3,
            };
            bytes.push(state | log << 4);
            bytes.push(look.kind.map_or(0, |kind| kind as u8));
            bytes.extend_from_slice(&look.live_pages.unwrap_or(u16::MAX).to_le_bytes());
            bytes.extend_from_slice(&seen.nand.erases_of(Block(n as u32)).to_le_bytes());
        }
        bytes
    }

    /// A block and its pages; and the place of the logical page that the page at `index` has, if one is asked for.
    pub(crate) fn block(&self, number: u32, index: Option<u32>) -> Result<Value, String> {
        let block = Block(number);
        if number >= self.geometry.blocks() {
            return Err(format!("block {number}: there are {}", self.geometry.blocks()));
        }
        let seen = self.see();
        let look = seen.blocks[block.index()];
        let pages = (0..self.geometry.pages_per_block()).map(|index| {
            let n = self.geometry.page(block, index).0;
            let cell = self.cell(&seen, n);
            match &seen.spares[n as usize] {
                Err(_) => json!({ "cell": cell }),
                Ok(spare) => {
                    let (kind, key, version, seq) = (kind_name(spare.kind), spare.key, spare.version, spare.seq);
                    json!({ "cell": cell, "kind": kind, "key": key, "version": version, "seq": seq })
                }
            }
        });
        let pages: Vec<Value> = pages.collect();
        let chosen = index.filter(|index| *index < self.geometry.pages_per_block());
        let chosen = chosen.and_then(|index| seen.spares[self.geometry.page(block, index).index()].as_ref().ok());
        let is_known = |spare: &&Spare| spare.kind == Kind::User && spare.key < self.config.logical_pages;
        let place = chosen.filter(is_known).map(|spare| self.place(&seen, spare.key));
        Ok(json!({
            "place": place,
            "block": number,
            "state": format!("{:?}", look.state).to_lowercase(),
            "kind": look.kind.map(kind_name),
            "live": look.live_pages,
            "log": look.log.map(|log| format!("{log:?}").to_lowercase()),
            "erases": seen.nand.erases_of(block),
            "pages": pages,
        }))
    }

    /// Where a logical page is, and where older copies of it still are, the newest first.
    pub(crate) fn place_of(&self, logical: u32) -> Result<Value, String> {
        if logical >= self.config.logical_pages {
            return Err(format!("logical page {logical}: there are {}", self.config.logical_pages));
        }
        Ok(self.place(&self.see(), logical))
    }

    fn place(&self, seen: &Seen, logical: u32) -> Value {
        let mut copies: Vec<(u64, u64, u32, u8)> = Vec::new();
        for (n, spare) in (0u32..).zip(&seen.spares) {
            let Ok(spare) = spare else { continue };
            if spare.kind == Kind::User && spare.key == logical {
                copies.push((spare.version, spare.seq, n, self.cell(seen, n)));
            }
        }
        copies.sort_unstable_by(|a, b| b.cmp(a));
        let copies: Vec<Value> = copies
            .iter()
            .map(|(version, seq, n, cell)| {
                let (block, index) = (self.geometry.block_of(Page(*n)).0, self.geometry.index_of(Page(*n)));
                json!({ "page": n, "block": block, "index": index, "version": version, "seq": seq, "live": *cell == LIVE })
            })
            .collect();
        json!({ "logical": logical, "holds": self.now.bench.holds_data(logical), "copies": copies })
    }
}

/// Whether one page alone of this kind and key is in use.
fn is_keyed(kind: Kind) -> bool {
    matches!(kind, Kind::User | Kind::Translation | Kind::Bitmap | Kind::Map)
}

/// What a kind is called on the page.
pub(crate) fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::User => "user",
        Kind::Tombstone => "tombstone",
        Kind::Anchor => "anchor",
        Kind::Translation => "translation",
        Kind::Bitmap => "bitmap",
        Kind::Gecko => "gecko",
        Kind::ValidityLog => "validity-log",
        Kind::Map => "map",
        Kind::Summary => "summary",
        Kind::Tree => "tree",
        Kind::BlockLog => "block-log",
        Kind::MappingLog => "mapping-log",
    }
}
