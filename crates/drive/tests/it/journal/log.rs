//! The log: pages are appended at its head, in groups that end with a checkpoint, and collected from its tail.

use super::layout::{Checkpoint, Group, Meta, NOBODY, NOWHERE};
use super::{JournalFtl, RESERVE_BLOCKS, TORN_GROUP};
use phelsuma_ftl::FtlError;
use phelsuma_nand::{Block, Content, Kind, Nand, Op, PageRead, Purpose, Spare};

/// A page's data by value.
pub(super) enum Held {
    Hollow(u64),
    Bytes(Vec<u8>),
}

impl Held {
    pub(super) fn of(content: Content<'_>) -> Self {
        match content {
            Content::Hollow(tag) => Self::Hollow(tag),
            Content::Bytes(bytes) => Self::Bytes(bytes.to_vec()),
        }
    }

    pub(super) fn content(&self) -> Content<'_> {
        match self {
            Self::Hollow(tag) => Content::Hollow(*tag),
            Self::Bytes(bytes) => Content::Bytes(bytes),
        }
    }
}

impl JournalFtl {
    /// Nothing overlaps: each operation waits for the one before it.
    pub(super) fn op(&self, purpose: Purpose) -> Op {
        Op::new(self.done, purpose)
    }

    /// The group that this place is in, by its checkpoint page.
    pub(super) fn read_group<N: Nand>(&mut self, nand: &mut N, place: u32, purpose: Purpose) -> Group {
        let place = self.layout.checkpoint_of(place);
        let (read, done) = nand.read(self.layout.page(place), self.op(purpose));
        self.done = done;
        self.layout.look(place, read)
    }

    /// Blocks that the log can go on to.
    pub(super) fn free_blocks(&self) -> u32 {
        let blocks = self.layout.geometry.blocks();
        let next = self.layout.block(self.head) + u32::from(!self.head_begins_block());
        (self.layout.block(self.tail) + blocks - next % blocks) % blocks
    }

    fn head_begins_block(&self) -> bool {
        self.layout.begins_block(self.head) && self.open.is_empty()
    }

    fn spare(&self, kind: Kind, key: u32, data_crc: u32) -> Spare {
        let seq = u64::from(self.epoch) * u64::from(self.layout.places()) + u64::from(self.head);
        Spare { kind, stream: 0, key, version: seq, seq, data_crc, aux: 0 }
    }

    /// A block is erased right before its first page is programmed, whatever it looks like.
    fn open_block<N: Nand>(&mut self, nand: &mut N) -> Result<(), FtlError> {
        if self.head_begins_block() {
            if self.free_blocks() == 0 {
                return Err(FtlError::Full { bad_blocks: 0 });
            }
            self.done = nand.erase(Block(self.layout.block(self.head)), self.op(Purpose::Gc))?;
        }
        Ok(())
    }

    /// Appends a page; ends the group if it is full then.
    pub(super) fn append<N: Nand>(
        &mut self,
        nand: &mut N,
        (content, data_crc): (Content<'_>, u32),
        meta: Meta,
        purpose: Purpose,
    ) -> Result<(), FtlError> {
        self.open_block(nand)?;
        let spare = self.spare(Kind::User, meta.id, data_crc);
        self.done = nand.program(self.layout.page(self.head), content, &spare, self.op(purpose))?;
        self.root = self.head;
        self.open.push(meta);
        self.head += 1;
        self.changed = true;
        if self.open.len() as u32 == self.layout.group - 1 {
            self.checkpoint(nand)?;
        }
        Ok(())
    }

    /// Appends a copy of a page that is in the log; the data's checksum goes with them unchecked.
    pub(super) fn append_copy<N: Nand>(
        &mut self,
        nand: &mut N,
        place: u32,
        meta: Meta,
        purpose: Purpose,
    ) -> Result<(), FtlError> {
        let (read, done) = nand.read(self.layout.page(place), self.op(purpose));
        self.done = done;
        let PageRead::Written { content, spare, .. } = read else { return Err(FtlError::Lost) };
        let (held, crc) = (Held::of(content), spare.data_crc);
        self.append(nand, (held.content(), crc), meta, purpose)
    }

    /// Ends the group: from here on a recovery finds its pages. Slots that nothing was written to are left out.
    pub(super) fn checkpoint<N: Nand>(&mut self, nand: &mut N) -> Result<(), FtlError> {
        self.open_block(nand)?;
        let group = self.layout.group_of(self.head);
        let (epoch, tail, root, live) = (self.epoch, self.tail, self.root, self.live);
        let bytes = self.layout.encode(&Checkpoint { epoch, tail, root, live, metas: std::mem::take(&mut self.open) });
        self.head = self.layout.checkpoint_of(group);
        let content = Content::Bytes(&bytes);
        let spare = self.spare(Kind::Translation, self.head, content.crc());
        self.done = nand.program(self.layout.page(self.head), content, &spare, self.op(Purpose::Checkpoint))?;
        self.changed = false;
        self.go_to(self.head + 1);
        Ok(())
    }

    /// Has the log go on at this place, one group or block further; around the chip, if that is where it ends.
    pub(super) fn go_to(&mut self, place: u32) {
        self.head = place;
        if self.head == self.layout.places() {
            self.head = 0;
            self.epoch += 1;
        }
    }

    /// Whether the tail has come to the block that is being written.
    fn nothing_to_collect(&self) -> bool {
        let blocks = self.layout.geometry.blocks();
        let block = self.layout.block(self.head) + if self.head_begins_block() { blocks - 1 } else { 0 };
        self.layout.block(self.tail) == block % blocks
    }

    /// Moves the tail one place on; a page there that is live is copied to the head. Says whether anything could be
    /// done.
    pub(super) fn collect_one<N: Nand>(&mut self, nand: &mut N) -> Result<bool, FtlError> {
        if self.nothing_to_collect() {
            return Ok(false);
        }
        let group = self.layout.group_of(self.tail);
        if self.tail == group || self.tail_group.is_none() {
            self.tail_group = match self.read_group(nand, group, Purpose::Gc) {
                Group::Complete(checkpoint) => Some(checkpoint.metas),
                Group::Blank => Some(Vec::new()),
                // The flaw. A cut has met this checkpoint page, so nothing in the group counts: recovery went on behind
                // it.
                Group::Unreadable if !self.skips_torn_groups => return Err(TORN_GROUP),
                Group::Unreadable => Some(Vec::new()),
            };
        }
        let slot = (self.tail - group) as usize;
        let id = self.tail_group.as_ref().and_then(|metas| metas.get(slot)).map_or(NOBODY, |meta| meta.id);
        if id == NOBODY {
            // Nor is there anything behind it: groups are filled from the front.
            self.tail = group + self.layout.group;
        } else {
            let way = self.way_to(nand, id)?;
            if way.place == Some(self.tail) {
                self.append_copy(nand, self.tail, way.meta, Purpose::Gc)?;
            }
            self.tail += 1;
        }
        if self.tail == self.layout.places() {
            self.tail = 0;
        }
        Ok(true)
    }

    /// Collects until the reserve is full.
    pub(super) fn make_space<N: Nand>(&mut self, nand: &mut N) -> Result<(), FtlError> {
        while self.free_blocks() < RESERVE_BLOCKS {
            if !self.collect_one(nand)? {
                return Err(FtlError::Full { bad_blocks: 0 });
            }
        }
        Ok(())
    }

    /// Makes everything durable. What room is left in the group is used for collection.
    pub(super) fn sync<N: Nand>(&mut self, nand: &mut N) -> Result<(), FtlError> {
        while self.changed && !self.open.is_empty() && self.collect_one(nand)? {}
        if self.changed { self.checkpoint(nand) } else { Ok(()) }
    }

    /// The tree is empty.
    pub(super) fn clear(&mut self) {
        self.root = NOWHERE;
        self.changed = true;
    }
}
