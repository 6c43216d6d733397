//! What a mount finds out last: live pages of each block, and how old dirty entries are.

use crate::config::Parts;
use crate::drive::{Drive, state};
use crate::entries::{Before, Entry, is_page};
use crate::error::Error;
use crate::flash::Flash;
use crate::layout::NONE;

impl<P: Parts, M: AsRef<[u8]> + AsMut<[u8]>> Drive<P, M> {
    /// Everything is known but how many pages of each block are live, and how old dirty entries are.
    pub(crate) fn count_live_pages<F: Flash>(&mut self, flash: &mut F) {
        for block in 0..self.config.chip.blocks {
            let count = self.count(block);
            if count < state::FIRST {
                self.set_count(block, count & !state::COUNT);
            } else if count == state::BAD {
                // It may have grown bad with live pages in it.
                self.set_count(block, state::FAILING);
            }
        }
        for at in 0..self.pages_of_runs() {
            let page = self.layout.run_pages.get(self.memory(), at);
            self.count_page(page);
        }
        self.state.loaded = NONE;
        for part in 0..self.sizes.translation_pages {
            let place = self.layout.directory.get(self.memory(), part);
            if !is_page(place) {
                continue;
            }
            self.count_page(place);
            if self.is_ram_table() {
                continue;
            }
            self.load(flash, part);
            for (index, key) in self.keys_of(part).enumerate() {
                let place = self.loaded_entries().get(self.memory(), index as u32);
                if is_page(place) && self.entry(key).is_none() {
                    self.count_page(place);
                    // Somebody's data, which have gone bad since.
                    self.state.torn = self.state.torn.map(|torn| if torn == place { NONE } else { torn });
                }
            }
        }
        self.begin_service();
        let entries = self.layout.places.entries;
        for slot in 0..entries {
            let Some((key, entry)) = self.entry_in(slot) else { continue };
            if is_page(entry.place) {
                self.count_page(entry.place);
            }
            if self.is_ram_table() {
                if entry.before != Before::Unsure {
                    continue;
                }
                self.set_entry(key, Entry { before: Before::Settled, ..entry });
            }
            let number = self.number_of(self.block_of(entry.place));
            self.note_entry(key, number, (true, !is_page(entry.place)));
        }
        for block in 0..self.config.chip.blocks {
            let count = self.count(block);
            if count == state::FAILING {
                self.set_count(block, state::BAD);
            } else if count < state::FIRST && count & state::COUNT == 0 && !self.is_open(block) {
                self.hold(block);
            }
        }
    }

    /// Pages that the cut has torn are stale. A collection that met them would not know whether they had been somebody's.
    pub(crate) fn report_torn<F: Flash>(&mut self, flash: &mut F) -> Result<(), Error> {
        for page in self.state.torn {
            if is_page(page) {
                self.report_stale(flash, page)?;
            }
        }
        Ok(())
    }

    fn count_page(&mut self, page: u32) {
        if page < self.config.chip.pages() {
            let block = self.block_of(page);
            let mut count = self.count(block);
            if count == state::FREE || count == state::HELD {
                // What took the place of this page cannot be read any more. Nothing that is named is free.
                let of = if count == state::FREE { &mut self.state.free } else { &mut self.state.held };
                *of -= 1;
                count = 0;
                self.doubt();
            }
            if count < state::FIRST {
                self.set_count(block, count + 1);
            }
        }
    }

    /// The number of an opened block, from the oldest that was found on.
    pub(crate) fn number_of(&self, block: u32) -> u32 {
        if let Some(open) = self.state.open.iter().find(|open| open.block == block) {
            return open.number;
        }
        let known = self.state.opens_at_checkpoint;
        let at = (0..known).find(|at| self.recent(*at).is_some_and(|opened| opened.block == block));
        at.map_or(0, |at| known - at - 1)
    }

    /// Numbers of dirty entries are kept from now on.
    pub(crate) fn begin_service(&mut self) {
        let (dirty, oldest) = (self.layout.dirty_of, self.layout.oldest_of);
        dirty.fill(self.memory_mut(), 0);
        oldest.fill(self.memory_mut(), u32::MAX);
        self.state.mounting = false;
    }
}
