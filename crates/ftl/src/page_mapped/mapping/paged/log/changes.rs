//! Changes of many entries at a time: trims, and entries that a recovery makes anew. They go through the cache.

use super::super::{LOST, MISLAID, PagedMapping, TRIMMED, get, index_of};
use super::{InLog, Overruled};
use crate::FtlError;
use crate::barriers::Barrier;
use crate::page_mapped::mapping::{Place, place_of};
use crate::page_mapped::meta_io::MetaIo;
use alloc::vec::Vec;
use core::ops::Range;
use phelsuma_nand::{LogicalPage, Nand, Page};

impl PagedMapping {
    /// The entry of a logical page in a run, if one has any.
    pub(in super::super) fn entry_in_log<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, key: u32) -> Option<u32> {
        match self.log.as_mut()?.look_up(io, key) {
            InLog::Nothing => None,
            InLog::Entry(entry) => Some(entry),
            InLog::Lost => {
                self.damaged = true;
                Some(MISLAID)
            }
        }
    }

    /// Logical pages that a trim takes at a time, where there is a log.
    pub(in super::super) fn trimmed_at_once(&self) -> u32 {
        self.log.as_ref().map_or(u32::MAX, |log| log.spill_at.div_ceil(2))
    }

    /// Trims logical pages of one translation page. What the cache alone has of them is reported with the next spill.
    pub(in super::super) fn trim_to_log<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        pages: Range<u32>,
        before: &mut Vec<Page>,
    ) -> Result<(), FtlError> {
        self.load_with_log(io, self.translation_page_of(pages.start));
        let is_somewhere = |entry: u32| matches!(place_of(entry), Place::At(_) | Place::Lost);
        let known = |key: &u32| self.cache.find(*key).map(|slot| self.cache.value(slot));
        let entry = |key: &u32| known(key).unwrap_or_else(|| get(&self.page, index_of(*key, self.entries_per_page)));
        // In RAM that the log has for looks at victims.
        let mut going = self.log.as_mut().map_or(Vec::new(), |log| core::mem::take(&mut log.asked));
        going.clear();
        going.extend(pages.filter(|key| is_somewhere(entry(key))));
        for key in going.iter().copied() {
            if let Some(slot) = self.cache.find(key)
                && self.cache.is_dirty(slot)
                && let Place::At(page) = place_of(self.cache.value(slot))
                && let Some(log) = &mut self.log
            {
                if io.keeps(Barrier::TrimmedAfterSpill) {
                    log.trimmed.push(Overruled { key, page, until: u64::MAX });
                } else {
                    before.push(page);
                }
            }
            self.change(io, key, TRIMMED, before)?;
            if let Some(log) = &mut self.log {
                log.has_trims = true;
            }
        }
        self.log.iter_mut().for_each(|log| log.asked = core::mem::take(&mut going));
        Ok(())
    }

    /// An entry is this one from now on.
    fn change<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        key: u32,
        entry: u32,
        before: &mut Vec<Page>,
    ) -> Result<(), FtlError> {
        if self.cache.find(key).is_none() {
            self.make_room(io, key, before)?;
            self.cache.insert(key, entry);
        }
        if let Some(slot) = self.cache.find(key) {
            self.cache.set_dirty(slot, entry);
        }
        Ok(())
    }

    /// Makes logical pages read errors, durably.
    pub(in super::super) fn lose_to_log<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        keys: &[LogicalPage],
        before: &mut Vec<Page>,
    ) -> Result<(), FtlError> {
        for key in keys {
            self.change(io, key.0, LOST, before)?;
        }
        self.spill(io, before)
    }
}
