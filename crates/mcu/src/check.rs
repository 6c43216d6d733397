//! A check of a drive's counts against its tables, for tests and laboratories.

use crate::config::Parts;
use crate::drive::{Drive, state};
use crate::entries::{Before, is_page};
use crate::flash::Flash;

/// A block whose count is wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Miscounted {
    /// The block.
    pub block: u32,
    /// Its count, or its state.
    pub kept: u16,
    /// Pages of it that tables name.
    pub named: u16,
    /// Those of them that can be read, and say what they are.
    pub sound: u16,
}

impl<P: Parts, M: AsRef<[u8]> + AsMut<[u8]>> Drive<P, M> {
    /// Compares the count of each block with the tables. It reads all translation pages, and the metadata of all live
    /// pages. `named` and `sound` are room for its own counts: an entry for each block.
    ///
    /// # Errors
    /// The first block with more live pages than are counted, or fewer.
    pub fn check<F: Flash>(&mut self, flash: &mut F, named: &mut [u16], sound: &mut [u16]) -> Result<(), Miscounted> {
        named.fill(0);
        sound.fill(0);
        let mut note = |block: u32, is_sound: bool| {
            let block = block as usize;
            named.get_mut(block).into_iter().for_each(|count| *count += 1);
            sound.get_mut(block).into_iter().for_each(|count| *count += u16::from(is_sound));
        };
        for at in 0..self.pages_of_runs() {
            let page = self.layout.run_pages.get(self.memory(), at);
            note(self.block_of(page), self.read_meta(flash, page).is_ok());
        }
        for part in 0..self.sizes.translation_pages {
            let place = self.layout.directory.get(self.memory(), part);
            if is_page(place) {
                note(self.block_of(place), self.read_meta(flash, place).is_ok());
            }
            for key in self.keys_of(part) {
                let entry = self.entry(key);
                let in_flash = match entry {
                    Some(entry) if entry.before != Before::Counted => None,
                    _ => Some(self.in_translation_page(flash, key)),
                };
                // What an entry takes the place of need not be there any more.
                let own = entry.map(|entry| (entry.place, true));
                let former = in_flash.map(|place| (place, entry.is_none()));
                for (place, is_current) in own.into_iter().chain(former) {
                    if is_page(place) && place < self.config.chip.pages() {
                        note(self.block_of(place), is_current && self.is_of(flash, place, key, self.state.seq));
                    }
                }
            }
        }
        let counts = named.iter().zip(sound.iter());
        for (block, (named, sound)) in (0..self.config.chip.blocks).zip(counts) {
            let kept = self.count(block);
            let live = if kept >= state::FIRST { 0 } else { kept & state::COUNT };
            // In doubt nothing is counted down that cannot be read.
            let most = if self.state.in_doubt { u16::MAX } else { *named };
            if block != self.state.victim.block && !(*sound..=most).contains(&live) {
                return Err(Miscounted { block, kept, named: *named, sound: *sound });
            }
        }
        Ok(())
    }
}
