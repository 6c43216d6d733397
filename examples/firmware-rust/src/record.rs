//! What a host remembers of what was acknowledged. The FTL never sees it.

use crate::flash::SHAPE;

const PAGES: usize = SHAPE.pages() as usize;

/// Writes that a page may hold at the most: acknowledged; trimmed, but not for good; in flight.
const MOST: usize = 4;

/// Numbers of writes that each page may hold, oldest first; 0 stands for zeros. Any bits but `count` are one.
#[repr(C)]
pub struct Record {
    writes: [[u32; MOST]; PAGES],
    count: [u8; PAGES],
    /// Writes so far.
    pub newest: u32,
    /// Pages that were compared.
    pub compared: u32,
}

impl Record {
    /// Nothing was ever written.
    pub fn clear(&mut self) {
        (self.newest, self.compared) = (0, 0);
        for page in 0..PAGES {
            self.set(page as u32, 0);
        }
    }

    /// The page holds this write for certain.
    pub fn set(&mut self, page: u32, write: u32) {
        self.writes[page as usize][0] = write;
        self.count[page as usize] = 1;
    }

    /// The page may hold this write as well.
    pub fn add(&mut self, page: u32, write: u32) {
        let (writes, count) = (&mut self.writes[page as usize], &mut self.count[page as usize]);
        if writes[usize::from(*count) - 1] != write {
            writes[usize::from(*count)] = write;
            *count += 1;
        }
    }

    /// Writes that the page may hold.
    pub fn of(&self, page: u32) -> &[u32] {
        &self.writes[page as usize][..usize::from(self.count[page as usize])]
    }

    /// Trims are for good.
    pub fn sync(&mut self) {
        for page in 0..PAGES as u32 {
            if self.of(page).last() == Some(&0) {
                self.set(page, 0);
            }
        }
    }
}

/// The data of a write: its page and number, time and again. Zeros for write 0.
pub fn fill(data: &mut [u8], page: u32, write: u32) {
    let words = if write == 0 { [0, 0] } else { [page, write] };
    for (chunk, word) in data.chunks_exact_mut(4).zip(words.iter().cycle()) {
        chunk.copy_from_slice(&word.to_le_bytes());
    }
}
