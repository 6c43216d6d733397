//! The metadata of a drive that only serves, held whole: no page of it is read again once it is stale.

use crate::state::Preserve;
use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

/// Pages that are allocated together.
const SLAB: usize = 64;

/// Pages by place.
#[derive(Clone, Default, Debug, Preserve)]
pub(super) struct Live {
    slabs: Vec<Box<[u8]>>,
    /// By place: the CRC stored with the data.
    crcs: Vec<u32>,
    free: Vec<u32>,
}

impl Live {
    /// Holds a page; at which place.
    pub(super) fn hold(&mut self, bytes: &[u8], crc: u32) -> u32 {
        let place = self.free.pop().unwrap_or_else(|| {
            let place = self.crcs.len();
            if place.is_multiple_of(SLAB) {
                self.slabs.push(vec![0; SLAB * bytes.len()].into());
            }
            self.crcs.push(0);
            place as u32
        });
        let (slab, from) = (place as usize / SLAB, place as usize % SLAB * bytes.len());
        if let Some(room) = self.slabs.get_mut(slab).and_then(|slab| slab.get_mut(from..from + bytes.len())) {
            room.copy_from_slice(bytes);
        }
        self.crcs[place as usize] = crc;
        place
    }

    /// The page at a place, and its CRC.
    #[inline]
    pub(super) fn get(&self, place: u32, page_bytes: usize) -> (&[u8], u32) {
        let (slab, from) = (place as usize / SLAB, place as usize % SLAB * page_bytes);
        let bytes = self.slabs.get(slab).and_then(|slab| slab.get(from..from + page_bytes));
        (bytes.unwrap_or(&[]), self.crcs.get(place as usize).copied().unwrap_or(0))
    }

    /// The place can be given to another page.
    pub(super) fn let_go(&mut self, place: u32) {
        self.free.push(place);
    }

    /// Bytes of memory besides the data themselves.
    pub(super) fn heap_bytes(&self) -> u64 {
        ((self.crcs.capacity() + self.free.capacity()) * size_of::<u32>()) as u64
    }
}
