//! A chip whose cells survive a reset, and whose power fails.
//!
//! An operation that meets the cut is done in part, or not at all, or in full. Then the machine resets: no code runs on.

use crate::random::Random;
use crate::stack::Painted;
use phelsuma_mcu::{Chip, Failed, Flash, META_BYTES, MetaPlace, Uncorrectable};

pub const SHAPE: Chip = Chip { page_bytes: 512, pages_per_block: 16, blocks: 64, meta: MetaPlace::Spare };

const PAGE_BYTES: usize = SHAPE.page_bytes as usize;
const PAGES: usize = SHAPE.pages() as usize;
const BLOCKS: usize = SHAPE.blocks as usize;
const PAGES_PER_BLOCK: usize = SHAPE.pages_per_block as usize;

const ERASED: u8 = 0;
const WRITTEN: u8 = 1;
const UNREADABLE: u8 = 2;

/// What a power cut leaves of the operation that it meets, by number.
const NOTHING: u32 = 0;
const DONE: u32 = 1;
const TORN: u32 = 2;
/// Faults that there are. The last one: it reads well until the next power cut, and then not any more.
pub const FAULTS: u32 = 4;

/// No page.
const NOWHERE: u32 = u32::MAX;

/// The cells. Any bits of this are some chip.
#[repr(C)]
pub struct Cells {
    data: [[u8; PAGE_BYTES]; PAGES],
    spare: [[u8; META_BYTES]; PAGES],
    cell: [u8; PAGES],
    bad: [u8; BLOCKS],
    /// A page that reads well until the next power cut, and one whose next power cut has come.
    unstable: [u32; 2],
    /// The deepest stack so far, until a cut.
    pub deepest: u32,
    /// Cuts so far, by what was cut: programs, erases.
    pub cuts: [u32; 2],
}

/// The chip with its power.
pub struct Model {
    pub cells: &'static mut Cells,
    /// Programs and erases until the power fails.
    pub left: u32,
    pub fault: u32,
    pub stack: Painted,
}

impl Cells {
    /// A chip as it leaves the factory.
    pub fn erase(&mut self) {
        self.cell.fill(ERASED);
        self.bad.fill(0);
        self.unstable = [NOWHERE; 2];
        self.deepest = 0;
        self.cuts = [0; 2];
    }

    /// A boot after a power cut: what was unstable reads well in this one, and in none that follows.
    pub fn power_on(&mut self) {
        let [newest, older] = self.unstable;
        if let Some(cell) = self.cell.get_mut(older as usize) {
            *cell = UNREADABLE;
        }
        self.unstable = [NOWHERE, newest];
    }
}

impl Model {
    /// A cut by chance, often so soon that it meets the mount.
    pub fn arm(&mut self, random: &mut Random) {
        let most = [6, 30, 300][random.below(3) as usize];
        (self.left, self.fault) = (1 + random.below(most), random.below(FAULTS));
    }

    fn is_cut(&mut self) -> bool {
        self.left -= 1;
        self.left == 0
    }

    /// The power fails.
    fn reset(&mut self, operation: usize) -> ! {
        self.cells.cuts[operation] += 1;
        self.cells.deepest = self.cells.deepest.max(self.stack.depth());
        cortex_m::peripheral::SCB::sys_reset()
    }
}

impl Flash for Model {
    fn read(
        &mut self,
        page: u32,
        column: u32,
        data: &mut [u8],
        spare: Option<&mut [u8; META_BYTES]>,
    ) -> Result<u32, Uncorrectable> {
        let (page, column) = (page as usize, column as usize);
        match self.cells.cell[page] {
            UNREADABLE => return Err(Uncorrectable),
            ERASED => {
                data.fill(0xff);
                spare.into_iter().for_each(|spare| spare.fill(0xff));
            }
            _ => {
                data.copy_from_slice(&self.cells.data[page][column..column + data.len()]);
                spare.into_iter().for_each(|spare| *spare = self.cells.spare[page]);
            }
        }
        Ok(0)
    }

    fn program(&mut self, page: u32, data: &[u8], spare: Option<&[u8; META_BYTES]>) -> Result<(), Failed> {
        let (at, end) = (page as usize, (page as usize | (PAGES_PER_BLOCK - 1)) + 1);
        assert!(
            self.cells.cell[at..end].iter().all(|cell| *cell == ERASED),
            "page {page}: not erased, or out of order"
        );
        assert!(self.cells.bad[at / PAGES_PER_BLOCK] == 0, "page {page} of a bad block");
        let is_cut = self.is_cut();
        if !(is_cut && self.fault == NOTHING) {
            self.cells.data[at].copy_from_slice(data);
            self.cells.spare[at] = *spare.unwrap_or(&[0xff; META_BYTES]);
            self.cells.cell[at] = if is_cut && self.fault == TORN { UNREADABLE } else { WRITTEN };
        }
        if is_cut {
            if self.fault > TORN {
                self.cells.unstable[0] = page;
            }
            self.reset(0);
        }
        Ok(())
    }

    fn erase(&mut self, block: u32) -> Result<(), Failed> {
        let first = block as usize * PAGES_PER_BLOCK;
        assert!(self.cells.bad[block as usize] == 0, "block {block} is bad");
        let is_cut = self.is_cut();
        let pages = match self.fault {
            NOTHING if is_cut => 0,
            TORN if is_cut => PAGES_PER_BLOCK / 2,
            _ => PAGES_PER_BLOCK,
        };
        self.cells.cell[first..first + pages].fill(ERASED);
        if (first..first + pages).contains(&(self.cells.unstable[1] as usize)) {
            self.cells.unstable[1] = NOWHERE;
        }
        if is_cut {
            self.reset(1);
        }
        Ok(())
    }

    fn is_bad(&mut self, block: u32) -> bool {
        self.cells.bad[block as usize] != 0
    }

    fn mark_bad(&mut self, block: u32) {
        self.cells.bad[block as usize] = 1;
    }
}

const _: () = assert!(DONE < TORN && TORN < FAULTS);
