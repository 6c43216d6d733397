//! The flash driver: seven functions of [`Nand`] over what your chip's bus can do.

use phelsuma_nand::{
    Block, Content, EraseError, Geometry, Nand, Op, Page, PageRead, ProgramError, Spare, SpareRead, Time,
};

pub const PAGE_BYTES: usize = 2_048;

pub struct Chip {
    geometry: Geometry,
    buffer: [u8; PAGE_BYTES],
}

/// What the bus gave: none where all is ones, an error where ECC gave up.
type Raw<T> = Result<Option<T>, ()>;

impl Chip {
    pub fn new() -> Self {
        let geometry = Geometry::new(PAGE_BYTES as u32, 64, 64, 1, 1).expect("numbers in range");
        Self { geometry, buffer: [0; PAGE_BYTES] }
    }

    /// Fills `buffer`; gives the bits that ECC has corrected.
    fn bus_read_data(&mut self, _page: Page) -> Raw<u32> {
        todo!("read the data, with ECC")
    }

    /// The 32 bytes behind the factory's mark, with an ECC of their own.
    fn bus_read_spare(&mut self, _page: Page) -> Raw<[u8; Spare::BYTES]> {
        todo!("read the spare area, with ECC")
    }

    /// `buffer` and the spare area in one program; whether the chip reports success.
    fn bus_program(&mut self, _page: Page, _spare: &[u8; Spare::BYTES]) -> bool {
        todo!("program, and wait until it is done")
    }

    fn bus_erase(&mut self, _block: Block) -> bool {
        todo!("erase, and wait until it is done")
    }
}

impl Nand for Chip {
    fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    fn read(&mut self, page: Page, op: Op) -> (PageRead<'_>, Time) {
        let read = if !self.geometry.contains(page) {
            PageRead::Unreadable
        } else {
            match (self.read_spare(page, op).0, self.bus_read_data(page)) {
                (SpareRead::Erased, Ok(None)) => PageRead::Erased,
                (SpareRead::Written(spare), Ok(Some(corrected))) => {
                    PageRead::Written { content: Content::Bytes(&self.buffer), spare, corrected, checked: false }
                }
                // A page of ones is data, too.
                (SpareRead::Written(spare), Ok(None)) => {
                    self.buffer.fill(0xff);
                    PageRead::Written { content: Content::Bytes(&self.buffer), spare, corrected: 0, checked: false }
                }
                _ => PageRead::Unreadable,
            }
        };
        (read, op.at)
    }

    fn read_spare(&mut self, page: Page, op: Op) -> (SpareRead, Time) {
        let read = if !self.geometry.contains(page) {
            SpareRead::Unreadable
        } else {
            match self.bus_read_spare(page) {
                Ok(None) => SpareRead::Erased,
                Ok(Some(bytes)) => Spare::decode(&bytes).map_or(SpareRead::Unreadable, SpareRead::Written),
                Err(()) => SpareRead::Unreadable,
            }
        };
        (read, op.at)
    }

    fn program(&mut self, page: Page, content: Content<'_>, spare: &Spare, op: Op) -> Result<Time, ProgramError> {
        if !self.geometry.contains(page) {
            return Err(ProgramError::NoSuchPage(page));
        }
        let block = self.geometry.block_of(page);
        if self.is_bad(block) {
            return Err(ProgramError::Bad(block));
        }
        // The FTL keeps to the order of pages; a driver under test had better check it.
        match content {
            Content::Bytes(given) if given.len() != PAGE_BYTES => {
                return Err(ProgramError::Length { given: given.len(), page: PAGE_BYTES });
            }
            content => content.copy_to(&mut self.buffer),
        }
        let mut bytes = [0; Spare::BYTES];
        spare.encode(&mut bytes).map_err(|_| ProgramError::Failed(page))?;
        if self.bus_program(page, &bytes) { Ok(op.at) } else { Err(ProgramError::Failed(page)) }
    }

    fn erase(&mut self, block: Block, op: Op) -> Result<Time, EraseError> {
        if block.0 >= self.geometry.blocks() {
            return Err(EraseError::NoSuchBlock(block));
        }
        if self.is_bad(block) {
            return Err(EraseError::Bad(block));
        }
        if self.bus_erase(block) { Ok(op.at) } else { Err(EraseError::Failed(block)) }
    }

    fn is_bad(&self, _block: Block) -> bool {
        todo!("look it up in the table of factory marks and of what `mark_bad` has stored")
    }

    fn mark_bad(&mut self, _block: Block) {
        todo!("store it outside the blocks that the FTL has, before you return")
    }
}
