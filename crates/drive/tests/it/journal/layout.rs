//! Where things are in the log, and a checkpoint page byte by byte.

use phelsuma_nand::{Geometry, Kind, Page, PageRead};

/// No page of the log.
pub(super) const NOWHERE: u32 = u32::MAX;
/// No logical page: nothing was written to this slot of a group.
pub(super) const NOBODY: u32 = u32::MAX;
/// Bits of the longest logical page number.
pub(super) const DEPTH_MAX: usize = 32;

const MAGIC: u32 = u32::from_le_bytes(*b"Jrnl");
const HEADER_BYTES: usize = 20;

/// The log's record of a page of user data: its owner, and where the tree goes on from it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Meta {
    pub(super) id: u32,
    /// For each bit of the logical page number, highest first: the newest page whose number has the bits before it in
    /// common with this one's and this bit different.
    pub(super) others: [u32; DEPTH_MAX],
}

impl Meta {
    pub(super) const NONE: Self = Self { id: NOBODY, others: [NOWHERE; DEPTH_MAX] };
}

/// The state of the drive at a checkpoint, and the metadata of the pages in front of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Checkpoint {
    /// How often the log has been around the chip.
    pub(super) epoch: u32,
    /// The oldest place of the log.
    pub(super) tail: u32,
    /// The page written last: the root of the tree.
    pub(super) root: u32,
    /// Logical pages that hold data.
    pub(super) live: u32,
    pub(super) metas: Vec<Meta>,
}

/// The shape of the log. A *place* is a page of the chip, counted through all blocks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    pub(super) geometry: Geometry,
    /// Bits of a logical page number.
    pub(super) depth: usize,
    /// Pages of a group; the last of them is its checkpoint page.
    pub(super) group: u32,
}

impl Layout {
    /// With groups as large as a checkpoint page has room for. None where there is not even room for two pages.
    pub(super) fn new(geometry: Geometry, logical_pages: u32) -> Option<Self> {
        let depth = (logical_pages.max(2).next_power_of_two().trailing_zeros()) as usize;
        let fits = |group: u32| {
            let bytes = HEADER_BYTES + (group as usize - 1) * (1 + depth) * 4;
            geometry.pages_per_block().is_multiple_of(group) && bytes <= geometry.page_bytes() as usize
        };
        let group = [64, 32, 16, 8, 4, 2].into_iter().find(|group| fits(*group))?;
        Some(Self { geometry, depth, group })
    }

    /// Places of the log.
    pub(super) fn places(&self) -> u32 {
        self.geometry.pages() as u32
    }

    pub(super) fn page(&self, place: u32) -> Page {
        let per_block = self.geometry.pages_per_block();
        self.geometry.page(phelsuma_nand::Block(place / per_block), place % per_block)
    }

    pub(super) fn block(&self, place: u32) -> u32 {
        place / self.geometry.pages_per_block()
    }

    pub(super) fn begins_block(&self, place: u32) -> bool {
        place.is_multiple_of(self.geometry.pages_per_block())
    }

    /// The first place of a group.
    pub(super) fn group_of(&self, place: u32) -> u32 {
        place - place % self.group
    }

    /// The place of a group's checkpoint page.
    pub(super) fn checkpoint_of(&self, place: u32) -> u32 {
        self.group_of(place) + self.group - 1
    }

    /// The groups of a block, by their first places.
    pub(super) fn groups(&self, block: u32) -> impl DoubleEndedIterator<Item = u32> + use<> {
        let per_block = self.geometry.pages_per_block();
        (block * per_block..(block + 1) * per_block).step_by(self.group as usize)
    }

    /// The bytes of a checkpoint page, little-endian: magic, epoch, tail, root, live pages; then for each page of the
    /// group its logical page and its `depth` others. All are of four bytes.
    pub(super) fn encode(&self, checkpoint: &Checkpoint) -> Vec<u8> {
        let Checkpoint { epoch, tail, root, live, metas } = checkpoint;
        let slots = (0..self.group as usize - 1).map(|n| metas.get(n).copied().unwrap_or(Meta::NONE));
        let words = [MAGIC, *epoch, *tail, *root, *live].into_iter().chain(slots.flat_map(|meta| {
            let mut words = vec![meta.id];
            words.extend(&meta.others[..self.depth]);
            words
        }));
        let mut bytes: Vec<u8> = words.flat_map(u32::to_le_bytes).collect();
        bytes.resize(self.geometry.page_bytes() as usize, 0xff);
        bytes
    }

    fn decode(&self, bytes: &[u8]) -> Option<Checkpoint> {
        let mut words = bytes.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]));
        if words.next()? != MAGIC {
            return None;
        }
        let (epoch, tail, root, live) = (words.next()?, words.next()?, words.next()?, words.next()?);
        let mut metas = Vec::with_capacity(self.group as usize);
        for _ in 1..self.group {
            let mut meta = Meta { id: words.next()?, ..Meta::NONE };
            for other in &mut meta.others[..self.depth] {
                *other = words.next()?;
            }
            metas.push(meta);
        }
        Some(Checkpoint { epoch, tail, root, live, metas })
    }

    /// What reading the checkpoint page at this place gave.
    pub(super) fn look(&self, place: u32, read: PageRead<'_>) -> Group {
        match read {
            PageRead::Erased => Group::Blank,
            read => {
                let checkpoint = read.verified_as(Kind::Translation, place).and_then(|bytes| self.decode(bytes));
                checkpoint.map_or(Group::Unreadable, Group::Complete)
            }
        }
    }
}

/// A group, by its checkpoint page.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Group {
    /// Its checkpoint page was not programmed.
    Blank,
    /// ECC gives up on it, or what would be the checksum in its bytes does not fit.
    Unreadable,
    Complete(Checkpoint),
}
