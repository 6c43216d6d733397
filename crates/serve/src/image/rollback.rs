//! Opening after an unclean end: the operations that are there without a gap count, the others are undone.
//!
//! Undoing is idempotent. It only turns records of undone operations into zeros. The operation that ended the prefix
//! stays missing or torn in any case. So a crash in the middle of it, and another opening, come to the same prefix.
//! Once it is durable the header says so and skips 2³² numbers ahead, so that no number is used twice.

use super::layout::Layout;
use super::record::{PageRecord, RECORD_BYTES, Read, SlotRecord};
use super::{ImageError, Storage};
use std::fmt;

/// The findings, and the operations that were undone, when an image was opened that had not been closed cleanly.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RollBack {
    /// Operations behind the last durable header that count.
    pub kept: u64,
    /// Operations that were there and do not count, for one before them was missing.
    pub undone: u64,
    /// Records that were being written when the process died.
    pub torn_records: u64,
    /// Pages that were programmed between the last opening and the end, and are still there.
    pub programs: u64,
}

impl fmt::Display for RollBack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} flash operations since the last count in the file's header, ", self.kept)?;
        match self.undone {
            0 => f.write_str("none rolled back"),
            undone => write!(f, "{} rolled back", undone),
        }
    }
}

/// An operation found in the file.
#[derive(Clone, Copy)]
struct Found {
    number: u64,
    slot: u32,
    /// None for an erase.
    page: Option<u32>,
}

const BLANK: [u8; RECORD_BYTES] = [0; RECORD_BYTES];

/// The work of an opening.
pub(super) struct Rolling<'a, S> {
    pub(super) storage: &'a mut S,
    pub(super) layout: &'a Layout,
    pub(super) pages_per_block: u32,
    /// Everything up to this number is whole.
    pub(super) synced: u64,
    /// The one that ended so.
    pub(super) session: u32,
    /// The records of all slots; those that do not count become blank.
    pub(super) slots: &'a mut [Read<SlotRecord>],
    #[cfg(test)]
    pub(super) forgets: super::tests::Forgets,
}

impl<S: Storage> Rolling<'_, S> {
    /// Does it, and makes it durable.
    pub(super) fn back(&mut self) -> Result<RollBack, ImageError> {
        let (found, torn, synced_programs) = self.scan()?;
        let end = self.prefix(&found)?;
        let (kept, undone): (Vec<Found>, Vec<Found>) = found.iter().partition(|found| found.number <= end);
        let mut report = RollBack {
            kept: kept.len() as u64,
            undone: undone.len() as u64,
            torn_records: torn.len() as u64,
            programs: synced_programs + kept.iter().filter(|found| found.page.is_some()).count() as u64,
        };
        #[cfg(test)]
        if self.forgets.rolling_back {
            return Ok(report);
        }
        // Torn records go first, and durably: so there is never more than one torn record of a slot.
        let mut blanked = 0;
        for torn in &torn {
            // One with pages behind it was not being written: it has gone bad, and stays so.
            if torn.page.is_none_or(|index| !self.has_pages_behind(torn.slot, index, end).unwrap_or(true)) {
                self.blank(torn)?;
                blanked += 1;
            }
        }
        report.torn_records = blanked;
        if blanked > 0 {
            self.sync()?;
        }
        for undone in &undone {
            self.blank(undone)?;
        }
        self.sync()?;
        Ok(report)
    }

    /// Every operation behind `synced` that is there, by its number; records whose checksum does not fit; and how many
    /// programs of the session are there that were `synced`.
    fn scan(&mut self) -> Result<(Vec<Found>, Vec<Found>, u64), ImageError> {
        let (mut found, mut torn) = (Vec::new(), Vec::new());
        let mut synced_programs = 0;
        let mut torn_slots = 0;
        for (slot, record) in (0..).zip(self.slots.iter()) {
            match record {
                Read::Is(record) if record.begun > self.synced => {
                    found.push(Found { number: record.begun, slot, page: None });
                }
                Read::Bad => {
                    torn.push(Found { number: 0, slot, page: None });
                    torn_slots += 1;
                }
                Read::Is(_) | Read::Blank => {}
            }
        }
        if torn_slots > 1 {
            let text = format!("{torn_slots} records of slots cannot be read, but at most one was being written");
            return Err(ImageError::Damaged(text));
        }
        let mut run = vec![0; self.layout.run_bytes()];
        for slot in 0..self.layout.slots {
            self.read_run(slot, &mut run)?;
            // A slot that was never written is nothing but zeros.
            if run.iter().all(|byte| *byte == 0) {
                continue;
            }
            for index in 0..self.pages_per_block {
                match self.in_run(&run, slot, index) {
                    Read::Is(record) if record.number > self.synced && record.begun == self.begun(slot) => {
                        found.push(Found { number: record.number, slot, page: Some(index) });
                    }
                    Read::Bad => torn.push(Found { number: 0, slot, page: Some(index) }),
                    Read::Is(record) => {
                        let counts = record.number > 0 && record.begun == self.begun(slot);
                        synced_programs += u64::from(counts && record.session == self.session);
                    }
                    Read::Blank => {}
                }
            }
        }
        found.sort_unstable_by_key(|found| found.number);
        Ok((found, torn, synced_programs))
    }

    /// The number of the last operation that counts: before the first that is missing, or whose data are not there.
    fn prefix(&mut self, found: &[Found]) -> Result<u64, ImageError> {
        let mut end = self.synced;
        #[cfg(test)]
        if self.forgets.prefix {
            return Ok(found.last().map_or(end, |found| found.number));
        }
        let mut data = Vec::new();
        for found in found {
            if found.number != end + 1 || !self.is_whole(found, &mut data)? {
                break;
            }
            end = found.number;
        }
        Ok(end)
    }

    /// Whether the data that a record speaks of are there.
    fn is_whole(&self, found: &Found, data: &mut Vec<u8>) -> Result<bool, ImageError> {
        let Some(index) = found.page else { return Ok(true) };
        #[cfg(test)]
        if self.forgets.data_checked {
            return Ok(true);
        }
        let mut record = BLANK;
        self.read(self.layout.page_at(found.slot, index), &mut record)?;
        let Read::Is(record) = PageRecord::decode(&record, self.layout.place(found.slot, index)) else {
            return Ok(false);
        };
        // A page that the plug has torn holds what it holds.
        if !record.state.holds_data() {
            return Ok(true);
        }
        data.resize(self.layout.page_bytes(), 0);
        self.read(self.layout.data_at(found.slot, index), data)?;
        Ok(crc32fast::hash(data) == record.data_crc)
    }

    /// Whether a page behind this one counts.
    fn has_pages_behind(&self, slot: u32, index: u32, end: u64) -> Result<bool, ImageError> {
        let mut run = vec![0; self.layout.run_bytes()];
        self.read_run(slot, &mut run)?;
        let counts = |index| {
            let record = self.in_run(&run, slot, index);
            matches!(record, Read::Is(record) if record.number <= end && record.begun == self.begun(slot))
        };
        Ok(self.begun(slot) <= end && (index + 1..self.pages_per_block).any(counts))
    }

    /// The erase that has begun the content of a slot.
    fn begun(&self, slot: u32) -> u64 {
        match self.slots.get(slot as usize) {
            Some(Read::Is(record)) => record.begun,
            _ => 0,
        }
    }

    fn blank(&mut self, found: &Found) -> Result<(), ImageError> {
        let at = match found.page {
            Some(index) => self.layout.page_at(found.slot, index),
            None => {
                if let Some(record) = self.slots.get_mut(found.slot as usize) {
                    *record = Read::Blank;
                }
                self.layout.slot_at(found.slot)
            }
        };
        self.storage.write_at(at, &BLANK).map_err(ImageError::io("undoing operations after a crash"))
    }

    fn in_run(&self, run: &[u8], slot: u32, index: u32) -> Read<PageRecord> {
        let mut bytes = BLANK;
        let at = index as usize * RECORD_BYTES;
        bytes.copy_from_slice(&run[at..at + RECORD_BYTES]);
        PageRecord::decode(&bytes, self.layout.place(slot, index))
    }

    fn read_run(&self, slot: u32, run: &mut [u8]) -> Result<(), ImageError> {
        self.read(self.layout.page_at(slot, 0), run)
    }

    fn read(&self, at: u64, out: &mut [u8]) -> Result<(), ImageError> {
        self.storage.read_at(at, out).map_err(ImageError::io("reading the image"))
    }

    fn sync(&mut self) -> Result<(), ImageError> {
        self.storage.sync().map_err(ImageError::io("making the image durable"))
    }
}
