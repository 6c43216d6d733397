//! Pages that were put together for a reader, kept until others take their places.
//!
//! A page that was read once is often read again: every collection queries Gecko's runs. The bound is a page in sixteen
//! thousand of the drive's (at least 256), which is a quarter of a byte of memory a page. A page has one place, so that
//! finding it is one comparison.

use super::NONE;
use alloc::boxed::Box;
use alloc::vec::Vec;

const PAGES_PER_PLACE_LOG2: u32 = 14;
const PLACES_MIN_LOG2: u32 = 8;

/// Pages put together.
#[derive(Clone, Debug)]
pub(super) struct Unpacked {
    /// Empty until the first.
    places: Vec<(u32, Box<[u8]>)>,
    places_log2: u32,
}

impl Unpacked {
    /// For a drive of so many pages.
    pub(super) fn new(pages: u64) -> Self {
        let places_log2 = pages.max(1).ilog2().saturating_sub(PAGES_PER_PLACE_LOG2).max(PLACES_MIN_LOG2);
        Self { places: Vec::new(), places_log2 }
    }

    fn place(&self, page: u32) -> usize {
        // Multiplying spreads pages that follow one another, or lie at the same place of their blocks.
        (page.wrapping_mul(0x9e37_79b1) >> (u32::BITS - self.places_log2)) as usize
    }

    /// Holds `page`, which `put_together` writes into a slice of `bytes` bytes where it is not held already.
    pub(super) fn fill(&mut self, page: u32, bytes: usize, put_together: impl FnOnce(&mut [u8])) {
        if self.places.is_empty() {
            self.places.resize_with(1 << self.places_log2, || (NONE, Box::default()));
        }
        let place = self.place(page);
        let (held, data) = &mut self.places[place];
        if *held != page {
            if data.len() != bytes {
                *data = alloc::vec![0; bytes].into();
            }
            put_together(data);
            *held = page;
        }
    }

    /// The bytes of a page for which [`Unpacked::fill`] was just called.
    pub(super) fn bytes(&self, page: u32) -> &[u8] {
        self.places.get(self.place(page)).map_or(&[], |(_, data)| data)
    }

    /// The page is erased.
    pub(super) fn forget(&mut self, page: u32) {
        let place = self.place(page);
        if let Some((held, _)) = self.places.get_mut(place)
            && *held == page
        {
            *held = NONE;
        }
    }

    /// Bytes of memory.
    pub(super) fn heap_bytes(&self) -> u64 {
        let data: usize = self.places.iter().map(|(_, data)| data.len()).sum();
        (self.places.capacity() * size_of::<(u32, Box<[u8]>)>() + data) as u64
    }
}
