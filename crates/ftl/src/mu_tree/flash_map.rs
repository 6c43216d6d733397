//! A µ-Tree on blocks of its own: an ordered map that survives power cuts, without an FTL.
//!
//! The paper assumes that the power never fails. This is added here:
//!
//! - **The root** is found: every page with a root says so in its spare area, and is programmed last of the pages that
//!   it needs. The newest that can be read, with everything below it, is the map. So a flush of the write cache is
//!   atomic, and without a write cache each update is.
//! - **Stale pages stay** until the next root is on flash; only then may their blocks be erased.
//! - **The last page is suspect** and may have been read well for the last time. Opening a map writes its root anew. No
//!   block is erased before that which an older root would need.
//!
//! One operation follows another; nothing overlaps. It costs a spare area read for each page when it is opened, reading
//! the tree's pages once, and one program.

use super::{Layout, MuTree, PageStore, TreeError};
use alloc::collections::{BTreeSet, VecDeque};
use alloc::vec;
use alloc::vec::Vec;
use phelsuma_nand::state::Preserve;
use phelsuma_nand::{
    Block, Content, EraseError, Geometry, Kind, Nand, Op, Page, ProgramError, Purpose, Spare, SpareRead, Time,
};
use thiserror::Error;

/// Pages of RAM for a map.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FlashMapCaches {
    /// Of the read cache; one at least.
    pub read_pages: usize,
    /// Of the write cache. With none each update is durable when it is done, otherwise at the next flush.
    pub write_pages: usize,
}

/// What can go wrong in a map.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum FlashMapError {
    /// There is no room: more entries than fit the blocks, or too many bad blocks.
    #[error("no block is left")]
    Full,
    /// A page that the map needs cannot be read.
    #[error("page {0} of the map cannot be read")]
    Unreadable(u32),
    /// The tree is as high as pages of this size let it be.
    #[error("pages of this size do not hold more entries for certain")]
    TooMany,
    /// Pages are too small for a tree.
    #[error("pages of {0} bytes are too small for a tree")]
    TooSmall(u32),
}

impl From<TreeError<FlashMapError>> for FlashMapError {
    fn from(error: TreeError<FlashMapError>) -> Self {
        match error {
            TreeError::Unreadable(page) => Self::Unreadable(page),
            TreeError::TooMany => Self::TooMany,
            TreeError::Store(error) => error,
        }
    }
}

/// In the spare area's `aux`: the page has a root; a recovery wrote it.
const IS_ROOT: u32 = 1;
const BY_RECOVERY: u32 = 2;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Preserve)]
enum Use {
    Free,
    Open,
    Closed,
    Bad,
}

/// The blocks of a map.
#[derive(Clone, Debug, Preserve)]
struct Ground {
    geometry: Geometry,
    uses: Vec<(Block, Use)>,
    /// Live pages of each block.
    live: Vec<u32>,
    free: VecDeque<usize>,
    open: Option<(usize, u32)>,
    /// Stale when the next root is on flash.
    stale: Vec<u32>,
    /// Not to be erased yet.
    held: BTreeSet<usize>,
    failing: BTreeSet<usize>,
    seq: u64,
    now: Time,
    recovering: bool,
    /// Pages with a root that a recovery has read: it may have been the last time that they read well.
    kept: Vec<(u32, Vec<u8>)>,
}

struct GroundStore<'a, N: Nand> {
    ground: &'a mut Ground,
    nand: &'a mut N,
}

impl<N: Nand> PageStore for GroundStore<'_, N> {
    type Error = FlashMapError;

    fn read(&mut self, at: u32, out: &mut [u8]) -> bool {
        if let Some((_, bytes)) = self.ground.kept.iter().find(|(page, _)| *page == at) {
            out.copy_from_slice(bytes);
            return true;
        }
        let (read, ready) = self.nand.read(Page(at), Op::new(self.ground.now, Purpose::Map));
        self.ground.now = self.ground.now.max(ready);
        match read.verified() {
            Some((Content::Bytes(bytes), spare)) if spare.kind == Kind::Tree && bytes.len() == out.len() => {
                out.copy_from_slice(bytes);
                if self.ground.recovering && spare.aux & IS_ROOT != 0 {
                    self.ground.kept.push((at, bytes.to_vec()));
                }
                true
            }
            _ => false,
        }
    }

    fn append(&mut self, key: u32, bytes: &[u8], is_root: bool) -> Result<u32, FlashMapError> {
        let at = self.ground.append(self.nand, key, bytes, is_root)?;
        if is_root {
            self.ground.let_stale_go(self.nand);
        }
        Ok(at)
    }

    fn release(&mut self, at: u32) {
        self.ground.stale.push(at);
    }
}

impl Ground {
    fn new<N: Nand>(nand: &N, blocks: &[Block]) -> Self {
        let geometry = *nand.geometry();
        let uses = blocks.iter().map(|block| (*block, if nand.is_bad(*block) { Use::Bad } else { Use::Free }));
        Self {
            geometry,
            uses: uses.collect(),
            live: vec![0; blocks.len()],
            free: VecDeque::new(),
            open: None,
            stale: Vec::new(),
            held: BTreeSet::new(),
            failing: BTreeSet::new(),
            seq: 0,
            now: Time::ZERO,
            recovering: false,
            kept: Vec::new(),
        }
    }

    fn index_of(&self, page: u32) -> Option<usize> {
        let block = self.geometry.block_of(Page(page));
        self.uses.iter().position(|(other, _)| *other == block)
    }

    /// Pages that were given up are stale now, and blocks without a live one are free.
    fn let_stale_go<N: Nand>(&mut self, nand: &mut N) {
        for page in core::mem::take(&mut self.stale) {
            if let Some(index) = self.index_of(page) {
                debug_assert!(self.live[index] > 0, "{page} is stale in a block without a live page");
                self.live[index] = self.live[index].saturating_sub(1);
                self.free_if_empty(nand, index);
            }
        }
    }

    fn free_if_empty<N: Nand>(&mut self, nand: &mut N, index: usize) {
        if self.live[index] == 0 && self.uses[index].1 == Use::Closed {
            if self.failing.remove(&index) {
                nand.mark_bad(self.uses[index].0);
                self.uses[index].1 = Use::Bad;
            } else {
                debug_assert!(!self.free.contains(&index), "a block is free twice");
                self.uses[index].1 = Use::Free;
                self.free.push_back(index);
            }
        }
    }

    fn close<N: Nand>(&mut self, nand: &mut N) {
        if let Some((index, _)) = self.open.take() {
            self.uses[index].1 = Use::Closed;
            self.free_if_empty(nand, index);
        }
    }

    /// A block that is erased, and the next page in it.
    fn open<N: Nand>(&mut self, nand: &mut N) -> Result<(usize, u32), FlashMapError> {
        if let Some((index, next)) = self.open {
            if next < self.geometry.pages_per_block() {
                return Ok((index, next));
            }
            self.close(nand);
        }
        loop {
            // Held blocks are taken where there is nothing else: a map that opens is worth more.
            let at = self.free.iter().position(|index| !self.held.contains(index)).unwrap_or(0);
            let index = self.free.remove(at).ok_or(FlashMapError::Full)?;
            debug_assert!(self.uses[index].1 == Use::Free, "a block that is not free is opened");
            debug_assert!(self.live[index] == 0, "a block with a live page is erased");
            match nand.erase(self.uses[index].0, Op::new(self.now, Purpose::Map)) {
                Ok(done) => {
                    self.now = self.now.max(done);
                    self.uses[index].1 = Use::Open;
                    self.open = Some((index, 0));
                    return Ok((index, 0));
                }
                Err(EraseError::Failed(_)) => {
                    nand.mark_bad(self.uses[index].0);
                    self.uses[index].1 = Use::Bad;
                }
                Err(_) => return Err(FlashMapError::Full),
            }
        }
    }

    fn append<N: Nand>(&mut self, nand: &mut N, key: u32, bytes: &[u8], is_root: bool) -> Result<u32, FlashMapError> {
        let content = Content::Bytes(bytes);
        loop {
            let (index, next) = self.open(nand)?;
            let page = self.geometry.page(self.uses[index].0, next);
            self.seq += 1;
            let recovery = if self.recovering { BY_RECOVERY } else { 0 };
            let aux = recovery | if is_root { IS_ROOT } else { 0 };
            let (version, seq) = (self.seq, self.seq);
            let spare = Spare { kind: Kind::Tree, stream: 0, key, version, seq, data_crc: content.crc(), aux };
            self.open = Some((index, next + 1));
            match nand.program(page, content, &spare, Op::new(self.now, Purpose::Map)) {
                Ok(done) => {
                    self.now = self.now.max(done);
                    self.live[index] += 1;
                    debug_assert!(self.live[index] <= next + 1, "a block has more live pages than were programmed");
                    return Ok(page.0);
                }
                Err(ProgramError::Failed(_)) => {
                    self.failing.insert(index);
                    self.close(nand);
                }
                Err(_) => return Err(FlashMapError::Full),
            }
        }
    }
}

/// An ordered map of 32-bit keys to 32-bit records on blocks of its own.
#[derive(Clone, Debug)]
pub struct FlashMap {
    tree: MuTree,
    ground: Ground,
    reserve: usize,
}

/// Lends the flash to the tree.
macro_rules! store {
    ($self:ident, $nand:expr) => {
        &mut GroundStore { ground: &mut $self.ground, nand: $nand }
    };
}

impl FlashMap {
    /// An empty map on these blocks. Their old content is gone.
    ///
    /// # Errors
    /// Pages are too small, or too few blocks are good.
    pub fn format<N: Nand>(nand: &mut N, blocks: &[Block], caches: FlashMapCaches) -> Result<Self, FlashMapError> {
        let mut map = Self::empty(nand, blocks, caches)?;
        for (index, block) in blocks.iter().enumerate() {
            if map.ground.uses[index].1 == Use::Bad {
                continue;
            }
            match nand.erase(*block, Op::new(map.ground.now, Purpose::Map)) {
                Ok(done) => {
                    map.ground.now = map.ground.now.max(done);
                    map.ground.free.push_back(index);
                }
                Err(_) => {
                    nand.mark_bad(*block);
                    map.ground.uses[index].1 = Use::Bad;
                }
            }
        }
        if map.ground.free.len() <= map.reserve { Err(FlashMapError::Full) } else { Ok(map) }
    }

    fn empty<N: Nand>(nand: &N, blocks: &[Block], caches: FlashMapCaches) -> Result<Self, FlashMapError> {
        let page_bytes = nand.geometry().page_bytes();
        let tree = MuTree::new(page_bytes as usize, caches.read_pages, caches.write_pages);
        let tree = tree.ok_or(FlashMapError::TooSmall(page_bytes))?;
        // A collection writes a block's pages, and the content of the write cache.
        let reserve = 2 + caches.write_pages.div_ceil(nand.geometry().pages_per_block() as usize);
        Ok(Self { tree, ground: Ground::new(nand, blocks), reserve })
    }

    /// The map on these blocks, as of its last update. With a write cache it is as of its last flush or a later update.
    /// One that was never written is empty.
    ///
    /// # Errors
    /// Pages are too small, or what was found cannot be written anew. Where the newest root cannot be read, or needs a
    /// page that cannot, the map is that of the root before it. Where none can, it is empty.
    pub fn open<N: Nand>(nand: &mut N, blocks: &[Block], caches: FlashMapCaches) -> Result<Self, FlashMapError> {
        let mut map = Self::empty(nand, blocks, caches)?;
        let mut roots: Vec<(u64, u32, bool)> = Vec::new();
        for (block, _) in map.ground.uses.iter().filter(|(_, usage)| *usage != Use::Bad) {
            for index in 0..map.ground.geometry.pages_per_block() {
                let page = map.ground.geometry.page(*block, index);
                let (read, ready) = nand.read_spare(page, Op::new(map.ground.now, Purpose::Recovery));
                map.ground.now = map.ground.now.max(ready);
                if let SpareRead::Written(spare) = read
                    && spare.kind == Kind::Tree
                {
                    map.ground.seq = map.ground.seq.max(spare.seq);
                    if spare.aux & IS_ROOT != 0 {
                        roots.push((spare.seq, page.0, spare.aux & BY_RECOVERY != 0));
                    }
                }
            }
        }
        roots.sort_unstable_by(|one, other| other.cmp(one));
        map.take_newest(nand, &roots, caches)?;
        Ok(map)
    }

    /// The tree of the newest root that can be read; blocks that older ones need are held until it is written anew.
    fn take_newest<N: Nand>(
        &mut self,
        nand: &mut N,
        roots: &[(u64, u32, bool)],
        caches: FlashMapCaches,
    ) -> Result<(), FlashMapError> {
        let nodes_max = self.ground.geometry.pages() * super::HEIGHT_MAX as u64;
        self.ground.recovering = true;
        let mut taken = None;
        let mut since_sure = 0;
        for (_, page, by_recovery) in roots {
            let empty = Self::empty(nand, &[], caches)?.tree;
            let Ok(mut tree) = empty.open(store!(self, nand), *page) else { continue };
            let Ok(walk) = tree.walk(store!(self, nand), nodes_max) else { continue };
            if walk.fault.is_some() {
                continue;
            }
            let indexes: Vec<usize> = walk.pages.iter().filter_map(|page| self.ground.index_of(*page)).collect();
            if taken.is_none() {
                indexes.iter().for_each(|index| self.ground.live[*index] += 1);
                taken = Some(*page);
                self.tree = tree;
            }
            self.ground.held.extend(indexes);
            // The newest that no recovery wrote may be suspect as well; the one before it is not.
            since_sure += u32::from(!by_recovery);
            if since_sure == 2 {
                break;
            }
        }
        for index in 0..self.ground.uses.len() {
            if self.ground.uses[index].1 == Use::Free {
                self.ground.uses[index].1 = Use::Closed;
                self.ground.free_if_empty(nand, index);
            }
        }
        if let Some(root) = taken {
            // A number that a torn page may have had is not used again.
            self.ground.seq += 1;
            self.tree.relocate(store!(self, nand), root)?;
            self.tree.flush(store!(self, nand))?;
        }
        self.ground.recovering = false;
        self.ground.kept = Vec::new();
        self.ground.held.clear();
        Ok(())
    }

    /// The tree, to look at.
    pub fn tree(&self) -> &MuTree {
        &self.tree
    }

    /// How nodes lie in pages.
    pub fn layout(&self) -> Layout {
        self.tree.layout()
    }

    /// The record of a key.
    ///
    /// # Errors
    /// A page cannot be read.
    pub fn get<N: Nand>(&mut self, nand: &mut N, key: u32) -> Result<Option<u32>, FlashMapError> {
        Ok(self.tree.get(store!(self, nand), key)?.map(|record| record as u32))
    }

    /// The entry of the lowest key from `key` on.
    ///
    /// # Errors
    /// A page cannot be read.
    pub fn next<N: Nand>(&mut self, nand: &mut N, key: u32) -> Result<Option<(u32, u32)>, FlashMapError> {
        Ok(self.tree.ceiling(store!(self, nand), key)?.map(|(key, record)| (key, record as u32)))
    }

    /// Sets a key's record; the one that it had.
    ///
    /// # Errors
    /// [`FlashMapError`].
    pub fn insert<N: Nand>(&mut self, nand: &mut N, key: u32, record: u32) -> Result<Option<u32>, FlashMapError> {
        self.make_space(nand)?;
        Ok(self.tree.insert(store!(self, nand), key, record.into())?.map(|record| record as u32))
    }

    /// Takes a key out; the record that it had.
    ///
    /// # Errors
    /// [`FlashMapError`].
    pub fn remove<N: Nand>(&mut self, nand: &mut N, key: u32) -> Result<Option<u32>, FlashMapError> {
        self.make_space(nand)?;
        Ok(self.tree.remove(store!(self, nand), key)?.map(|record| record as u32))
    }

    /// Makes all updates durable.
    ///
    /// # Errors
    /// [`FlashMapError`].
    pub fn flush<N: Nand>(&mut self, nand: &mut N) -> Result<(), FlashMapError> {
        Ok(self.tree.flush(store!(self, nand))?)
    }

    /// Collects blocks while too few are free, the emptiest first.
    fn make_space<N: Nand>(&mut self, nand: &mut N) -> Result<(), FlashMapError> {
        let pages_per_block = self.ground.geometry.pages_per_block();
        while self.ground.free.len() < self.reserve {
            let closed = (0..self.ground.uses.len()).filter(|index| self.ground.uses[*index].1 == Use::Closed);
            let victim = closed.min_by_key(|index| (!self.ground.failing.contains(index), self.ground.live[*index]));
            let victim = victim.ok_or(FlashMapError::Full)?;
            debug_assert!(self.ground.open.is_none_or(|(open, _)| open != victim), "the open block is collected");
            if self.ground.live[victim] >= pages_per_block && !self.ground.failing.contains(&victim) {
                return Err(FlashMapError::Full);
            }
            let mut unreadable = None;
            for index in 0..pages_per_block {
                let page = self.ground.geometry.page(self.ground.uses[victim].0, index);
                match self.tree.relocate(store!(self, nand), page.0) {
                    Ok(_) => {}
                    // It counts only if it is live.
                    Err(TreeError::Unreadable(at)) if at == page.0 => unreadable = Some(at),
                    Err(error) => return Err(error.into()),
                }
            }
            self.tree.flush(store!(self, nand))?;
            if self.ground.uses[victim].1 == Use::Closed {
                // Something in it is live still.
                return Err(unreadable.map_or(FlashMapError::Full, FlashMapError::Unreadable));
            }
        }
        Ok(())
    }
}
