//! Everything in an image, counted: blocks by their content, wear, and content that is not as it should be.

use super::gecko_runs::{Run, Runs};
use super::layout::MARK_BYTES;
use super::nand::{BAD, DIRTY};
use super::record::{PageRecord, Read, mark_of};
use super::{ImageError, ImageNand, Storage};
use phelsuma_nand::{Block, Content, Kind, Nand, Op, Purpose, SpareRead, Time};

/// Blocks that hold pages of one kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BlocksOf {
    /// The kind of their pages; none where the pages are of several kinds.
    pub kind: Option<Kind>,
    /// How many.
    pub blocks: u32,
    /// Those of them whose last page is programmed.
    pub full: u32,
    /// Pages of theirs that can be read.
    pub pages: u64,
}

/// How often blocks were erased.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Wear {
    /// All erases.
    pub total: u64,
    /// Of the block that was erased least.
    pub min: u32,
    /// Of the block that was erased most.
    pub max: u32,
    /// The mean.
    pub mean: f64,
    /// The standard deviation.
    pub stddev: f64,
}

impl Wear {
    /// That of blocks which were erased so often, one for each.
    pub fn of(erases: impl ExactSizeIterator<Item = u32> + Clone) -> Self {
        let blocks = erases.len().max(1) as f64;
        let total: u64 = erases.clone().map(u64::from).sum();
        let mean = total as f64 / blocks;
        let squares: f64 = erases.clone().map(|n| (f64::from(n) - mean).powi(2)).sum();
        Self {
            total,
            min: erases.clone().min().unwrap_or(0),
            max: erases.max().unwrap_or(0),
            mean,
            stddev: (squares / blocks).sqrt(),
        }
    }
}

/// The content of an image.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Census {
    /// Blocks by their content, in the order of the kinds, those of several kinds last.
    pub blocks: Vec<BlocksOf>,
    /// Blocks in which nothing can be read, bad ones apart.
    pub blank_blocks: u32,
    /// Bad blocks, with any content.
    pub bad_blocks: u32,
    /// Blocks whose erase was torn.
    pub torn_blocks: u32,
    /// Pages that read as unreadable.
    pub unreadable_pages: u64,
    /// Wear.
    pub wear: Wear,
    /// The runs of Logarithmic Gecko, newest first; empty where there are none.
    pub gecko_runs: Vec<Run>,
}

impl<S: Storage> ImageNand<S> {
    /// Counts the content of the image. It reads every page record, and the data of pages of runs.
    ///
    /// # Errors
    /// [`ImageError::Io`], where the image is off.
    pub fn census(&mut self) -> Result<Census, ImageError> {
        let geometry = *self.geometry();
        let mut census = Census::default();
        let mut kinds: Vec<BlocksOf> = Vec::new();
        let mut runs = Runs::default();
        for block in (0..geometry.blocks()).map(Block) {
            let mut kind: Option<Option<Kind>> = None;
            let (mut pages, mut last) = (0, false);
            for index in 0..geometry.pages_per_block() {
                let page = geometry.page(block, index);
                match self.read_spare(page, Op::new(Time::ZERO, Purpose::Recovery)).0 {
                    SpareRead::Written(spare) => {
                        kind = Some(kind.map_or(Some(spare.kind), |kind| kind.filter(|kind| *kind == spare.kind)));
                        pages += 1;
                        last = index + 1 == geometry.pages_per_block();
                        if spare.kind == Kind::Gecko
                            && let Some((Content::Bytes(bytes), _)) =
                                self.read(page, Op::new(Time::ZERO, Purpose::Recovery)).0.verified()
                        {
                            runs.page(&spare, bytes);
                        }
                    }
                    SpareRead::Unreadable => census.unreadable_pages += 1,
                    SpareRead::Erased => {}
                }
            }
            let flags = self.blocks[block.index()].flags;
            census.bad_blocks += u32::from(flags & BAD != 0);
            census.torn_blocks += u32::from(flags & DIRTY != 0);
            let Some(kind) = kind else {
                census.blank_blocks += u32::from(flags & BAD == 0);
                continue;
            };
            let at = kinds.iter().position(|of| of.kind == kind).unwrap_or_else(|| {
                kinds.push(BlocksOf { kind, blocks: 0, full: 0, pages: 0 });
                kinds.len() - 1
            });
            let of = &mut kinds[at];
            (of.blocks, of.full, of.pages) = (of.blocks + 1, of.full + u32::from(last), of.pages + pages);
        }
        kinds.sort_by_key(|of| (of.kind.is_none(), of.kind));
        census.blocks = kinds;
        census.wear = self.wear();
        census.gecko_runs = runs.that_count();
        self.sync()?;
        Ok(census)
    }

    /// How often blocks were erased.
    pub fn wear(&self) -> Wear {
        Wear::of(self.blocks.iter().map(|state| state.erases))
    }

    /// Compares every page's record and data with their checksums: a line for each that the file does not give back as
    /// it was written. A page that a power cut or the plug has torn is not among them.
    pub fn damage(&mut self, mut found: impl FnMut(String)) {
        let geometry = *self.geometry();
        let mut data = vec![0; geometry.page_bytes() as usize];
        for block in (0..geometry.blocks()).map(Block) {
            let mut mark = [0; MARK_BYTES];
            if self.storage.read_at(self.layout.mark_at(block.0), &mut mark).is_err()
                || mark != [0; MARK_BYTES] && mark != mark_of(block.0)
            {
                found(format!("the bad-block mark of {block} is damaged; the block counts as bad"));
            }
            if self.look_at(block).is_none() {
                found(format!("the records of {block} cannot be read"));
                continue;
            }
            for index in 0..geometry.pages_per_block() {
                let page = geometry.page(block, index);
                match self.record(block, index) {
                    Read::Bad => found(format!("the record of {page} does not fit its checksum")),
                    Read::Is(record) if record.state.holds_data() && !self.holds(block, index, &record, &mut data) => {
                        found(format!("the data of {page} do not fit the checksum in its record"));
                    }
                    Read::Is(_) | Read::Blank => {}
                }
            }
        }
    }

    fn holds(&mut self, block: Block, index: u32, record: &PageRecord, data: &mut [u8]) -> bool {
        let at = self.layout.data_at(self.blocks[block.index()].slot, index);
        self.counts.reads += 1;
        self.storage.read_at(at, data).is_ok() && crc32fast::hash(data) == record.data_crc
    }
}
