//! A chip in RAM whose power can fail.

use phelsuma_mcu::{Chip, Failed, Flash, META_BYTES, Uncorrectable};

/// What a power cut leaves of the operation that it meets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Cut {
    /// Nothing was done.
    NotStarted,
    /// All was done, and nobody heard of it.
    Done,
    /// A program: a page that cannot be read. An erase: half of the block.
    Torn,
    /// A program: it reads well until the next power cut, and then not any more. An erase: the block looks erased.
    Unstable,
}

pub(crate) const CUTS: [Cut; 4] = [Cut::NotStarted, Cut::Done, Cut::Torn, Cut::Unstable];

#[derive(Clone)]
enum Cell {
    Erased,
    Written(Box<[u8]>, [u8; META_BYTES]),
    Unreadable,
}

#[derive(Clone)]
pub(crate) struct RamChip {
    pub(crate) shape: Chip,
    cells: Vec<Cell>,
    bad: Vec<bool>,
    /// Programs and erases until the power fails.
    pub(crate) left: u64,
    pub(crate) cut: Cut,
    pub(crate) is_off: bool,
    /// Every program and erase fails.
    pub(crate) is_worn_out: bool,
    /// Pages that read well until the power fails once more, and whether it may be the next time.
    unstable: Vec<(u32, bool)>,
    /// Operations so far.
    pub(crate) reads: u64,
    pub(crate) spare_reads: u64,
    pub(crate) programs: u64,
    pub(crate) erases: u64,
}

impl RamChip {
    pub(crate) fn new(shape: Chip) -> Self {
        Self {
            shape,
            cells: vec![Cell::Erased; shape.pages() as usize],
            bad: vec![false; shape.blocks as usize],
            left: u64::MAX,
            cut: Cut::NotStarted,
            is_off: false,
            is_worn_out: false,
            unstable: Vec::new(),
            reads: 0,
            spare_reads: 0,
            programs: 0,
            erases: 0,
        }
    }

    /// Reads, reads of metadata alone, programs, erases.
    pub(crate) fn counts(&self) -> [u64; 4] {
        [self.reads, self.spare_reads, self.programs, self.erases]
    }

    pub(crate) fn power_on(&mut self) {
        // The power cut that left it so is the first.
        for (page, _) in self.unstable.extract_if(.., |(_, is_next)| *is_next) {
            self.cells[page as usize] = Cell::Unreadable;
        }
        self.unstable.iter_mut().for_each(|(_, is_next)| *is_next = true);
        self.is_off = false;
        self.left = u64::MAX;
    }

    pub(crate) fn arm(&mut self, left: u64, cut: Cut) {
        (self.left, self.cut) = (left, cut);
    }

    fn fails(&mut self) -> bool {
        self.left -= 1;
        if self.left == 0 {
            self.is_off = true;
        }
        self.is_off
    }
}

impl Flash for RamChip {
    fn read(
        &mut self,
        page: u32,
        column: u32,
        data: &mut [u8],
        spare: Option<&mut [u8; META_BYTES]>,
    ) -> Result<u32, Uncorrectable> {
        if self.is_off {
            return Err(Uncorrectable);
        }
        if data.len() <= META_BYTES {
            self.spare_reads += 1
        } else {
            self.reads += 1
        }
        match &self.cells[page as usize] {
            Cell::Erased => {
                data.fill(0xff);
                spare.into_iter().for_each(|spare| spare.fill(0xff));
                Ok(0)
            }
            Cell::Written(bytes, own) => {
                data.copy_from_slice(&bytes[column as usize..column as usize + data.len()]);
                spare.into_iter().for_each(|spare| *spare = *own);
                Ok(0)
            }
            Cell::Unreadable => Err(Uncorrectable),
        }
    }

    fn program(&mut self, page: u32, data: &[u8], spare: Option<&[u8; META_BYTES]>) -> Result<(), Failed> {
        if self.is_off {
            return Err(Failed);
        }
        assert_eq!(data.len(), self.shape.page_bytes as usize);
        let block = page / self.shape.pages_per_block;
        assert!(!self.bad[block as usize], "block {block} is bad");
        let end = (block + 1) * self.shape.pages_per_block;
        let is_erased = |cell: &Cell| matches!(cell, Cell::Erased);
        assert!(
            self.cells[page as usize..end as usize].iter().all(is_erased),
            "page {page} is not erased, or out of order"
        );
        self.programs += 1;
        if self.is_worn_out {
            self.cells[page as usize] = Cell::Unreadable;
            return Err(Failed);
        }
        let written = Cell::Written(data.into(), *spare.unwrap_or(&[0xff; META_BYTES]));
        let off = self.fails();
        self.cells[page as usize] = match (off, self.cut) {
            (true, Cut::NotStarted) => Cell::Erased,
            (true, Cut::Torn) => Cell::Unreadable,
            (true, Cut::Unstable) => {
                self.unstable.push((page, false));
                written
            }
            _ => written,
        };
        if off { Err(Failed) } else { Ok(()) }
    }

    fn erase(&mut self, block: u32) -> Result<(), Failed> {
        if self.is_off {
            return Err(Failed);
        }
        assert!(!self.bad[block as usize], "block {block} is bad");
        self.erases += 1;
        if self.is_worn_out {
            return Err(Failed);
        }
        let ppb = self.shape.pages_per_block as usize;
        self.unstable.retain(|(page, _)| *page as usize / ppb != block as usize);
        let cells = &mut self.cells[block as usize * ppb..][..ppb];
        self.left -= 1;
        if self.left == 0 {
            self.is_off = true;
        }
        match (self.is_off, self.cut) {
            (true, Cut::NotStarted) => {}
            (true, Cut::Torn) => cells[..ppb / 2].fill(Cell::Erased),
            _ => cells.fill(Cell::Erased),
        }
        if self.is_off { Err(Failed) } else { Ok(()) }
    }

    fn is_bad(&mut self, block: u32) -> bool {
        self.bad[block as usize]
    }

    fn mark_bad(&mut self, block: u32) {
        if !self.is_off {
            self.bad[block as usize] = true;
        }
    }
}

/// Numbers by chance.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, end: u32) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % u64::from(end)) as u32
    }
}

/// A host page that says which write it is of.
pub(crate) fn data(bytes: u32, page: u32, write: u32) -> Vec<u8> {
    let word = (u64::from(page) << 32 | u64::from(write)).to_le_bytes();
    word.iter().copied().cycle().take(bytes as usize).collect()
}
