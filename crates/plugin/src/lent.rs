//! The simulated chip as C sees it, lent for the length of a call.
//!
//! No panic may leave these functions: C code has none. What breaks a rule is noted, and reported when the call is over.

use crate::interface::{BAD, Chip, Nand, OK, SPARE_BYTES};
use core::ffi::c_void;
use core::ptr;
use phelsuma_drive::lab::CutNand;
use phelsuma_nand::{
    Block, Content, EraseError, Kind, Nand as _, Op, Page, PageRead, ProgramError, Purpose, Spare, SpareRead, Time,
};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Operations of a call until it is taken for one that never ends, times the pages of the chip.
const CALL_MAX: u64 = 64;

/// After so many broken rules a call does not end by itself.
const BREACHES_MAX: u64 = 10_000_000;

/// A chip that is lent.
#[derive(Debug)]
pub(crate) struct Lent {
    chip: Chip,
    logical_pages: u32,
    /// Null between calls.
    nand: *mut CutNand,
    purpose: Purpose,
    /// When the last operation was complete.
    pub(crate) at: Time,
    /// Pages read in full, spare areas read alone, pages programmed: of the last call.
    pub(crate) counts: [u64; 3],
    operations: u64,
    /// How often the call has broken one.
    breaches: u64,
    /// What rule was broken first.
    broken: Option<String>,
}

impl Lent {
    pub(crate) fn new(chip: Chip, logical_pages: u32) -> Self {
        let (purpose, at) = (Purpose::Host, Time::ZERO);
        Self {
            chip,
            logical_pages,
            nand: ptr::null_mut(),
            purpose,
            at,
            counts: [0; 3],
            operations: 0,
            breaches: 0,
            broken: None,
        }
    }

    /// What a plugin gets. `lent` has to stay where it is for as long as that is used.
    pub(crate) fn table(lent: *mut Self, chip: Chip) -> Nand {
        Nand { chip, context: lent.cast(), read, program, erase, is_bad, mark_bad }
    }

    /// Lends `nand` from now on.
    pub(crate) fn begin(&mut self, nand: &mut CutNand, purpose: Purpose, at: Time) {
        (self.nand, self.purpose, self.at) = (nand, purpose, at);
        (self.counts, self.operations, self.breaches) = ([0; 3], 0, 0);
    }

    /// Takes it back. A rule that was broken meanwhile is a defect of the plugin.
    pub(crate) fn end(&mut self) -> Result<(), String> {
        self.nand = ptr::null_mut();
        self.broken.take().map_or(Ok(()), Err)
    }

    fn breaks(&mut self, rule: impl Into<String>) -> i32 {
        self.breaches += 1;
        let rule = self.broken.get_or_insert_with(|| rule.into());
        if self.breaches > BREACHES_MAX {
            // It goes on for ever, and only an end of the process ends it.
            eprintln!("phelsuma: a plugin goes on although a rule of flash is violated: {rule}");
            std::process::exit(1);
        }
        BAD
    }

    fn op(&self) -> Op {
        Op::new(self.at, self.purpose)
    }

    /// One more operation, with the chip.
    fn chip(&mut self) -> Result<&mut CutNand, i32> {
        if self.nand.is_null() {
            return Err(self.breaks("the flash is used while no call is under way"));
        }
        self.operations += 1;
        let pages = u64::from(self.chip.pages_per_block) * u64::from(self.chip.blocks);
        if self.operations > CALL_MAX * pages {
            return Err(self.breaks(format!("a call does not end: it has used the flash {} times", self.operations)));
        }
        // SAFETY: it was lent by `begin`, and `end` comes before the loan is over. The plugin's call holds the arena, so
        // nobody else has this reference.
        Ok(unsafe { &mut *self.nand })
    }

    fn is_page(&self, page: u32) -> bool {
        page < self.chip.pages_per_block * self.chip.blocks
    }

    /// # Safety
    /// `data` has room for `bytes`, and `spare` for its sixteen unless it is null.
    unsafe fn read(&mut self, page: u32, column: u32, data: *mut u8, bytes: u32, spare: *mut u8) -> i32 {
        if !self.is_page(page) {
            return self.breaks(format!("page {page} is read: there is none of that number"));
        }
        if column.checked_add(bytes).is_none_or(|end| end > self.chip.page_bytes) {
            return self.breaks(format!("{bytes} bytes from {column} on are read of a page"));
        }
        if (bytes > 0 && data.is_null()) || (bytes == 0 && spare.is_null()) {
            return self.breaks("a read has nowhere to put what it reads");
        }
        let op = self.op();
        let nand = match self.chip() {
            Ok(nand) => nand,
            Err(broken) => return broken,
        };
        let put_spare = |of: [u8; SPARE_BYTES]| {
            if !spare.is_null() {
                // SAFETY: the caller says that it has room.
                unsafe { ptr::copy_nonoverlapping(of.as_ptr(), spare, SPARE_BYTES) };
            }
        };
        if bytes == 0 {
            let (read, done) = nand.read_spare(Page(page), op);
            self.at = self.at.max(done);
            self.counts[1] += 1;
            return match read {
                SpareRead::Written(spare) => {
                    put_spare(bytes_of(&spare));
                    0
                }
                SpareRead::Erased => {
                    put_spare([0xff; SPARE_BYTES]);
                    0
                }
                SpareRead::Unreadable => -1,
            };
        }
        // SAFETY: the caller says that so many bytes are there. They are written before they are a slice.
        let data = unsafe {
            data.write_bytes(0xff, bytes as usize);
            core::slice::from_raw_parts_mut(data, bytes as usize)
        };
        let (read, done) = nand.read(Page(page), op);
        let corrected = match read {
            PageRead::Written { content, spare, corrected, .. } => {
                let column = column as usize;
                match content {
                    Content::Bytes(all) => data.copy_from_slice(&all[column..column + bytes as usize]),
                    hollow @ Content::Hollow(_) => {
                        let mut whole = vec![0; column + bytes as usize];
                        hollow.copy_to(&mut whole);
                        data.copy_from_slice(&whole[column..]);
                    }
                }
                put_spare(bytes_of(&spare));
                i32::try_from(corrected).unwrap_or(i32::MAX)
            }
            PageRead::Erased => {
                put_spare([0xff; SPARE_BYTES]);
                0
            }
            PageRead::Unreadable => -1,
        };
        self.at = self.at.max(done);
        self.counts[0] += 1;
        corrected
    }

    /// # Safety
    /// `data` has `bytes`, and `spare` sixteen unless it is null.
    unsafe fn program(&mut self, page: u32, data: *const u8, bytes: u32, spare: *const u8) -> i32 {
        if !self.is_page(page) {
            return self.breaks(format!("page {page} is programmed: there is none of that number"));
        }
        if bytes != self.chip.page_bytes || data.is_null() {
            return self.breaks(format!("{bytes} bytes are programmed, and a page has {}", self.chip.page_bytes));
        }
        // SAFETY: the caller says that so many bytes are there.
        let data = unsafe { core::slice::from_raw_parts(data, bytes as usize) };
        let mut own = [0xff; SPARE_BYTES];
        if !spare.is_null() {
            // SAFETY: as above.
            unsafe { ptr::copy_nonoverlapping(spare, own.as_mut_ptr(), SPARE_BYTES) };
        }
        let (op, tag) = (self.op(), host_tag(data, self.logical_pages));
        let content = tag.map_or(Content::Bytes(data), Content::Hollow);
        let nand = match self.chip() {
            Ok(nand) => nand,
            Err(broken) => return broken,
        };
        let spare = spare_of(own, tag.map(|tag| tag as u32), nand.crc(content));
        match nand.program(Page(page), content, &spare, op) {
            Ok(done) => {
                self.at = self.at.max(done);
                self.counts[2] += 1;
                OK
            }
            Err(ProgramError::Failed(_)) => BAD,
            Err(error) => self.breaks(error.to_string()),
        }
    }

    fn erase(&mut self, block: u32) -> i32 {
        let op = self.op();
        let nand = match self.chip() {
            Ok(nand) => nand,
            Err(broken) => return broken,
        };
        match nand.erase(Block(block), op) {
            Ok(done) => {
                self.at = self.at.max(done);
                OK
            }
            Err(EraseError::Failed(_)) => BAD,
            Err(error) => self.breaks(error.to_string()),
        }
    }

    fn is_bad(&mut self, block: u32) -> i32 {
        if block >= self.chip.blocks {
            return 1;
        }
        self.chip().map_or(1, |nand| nand.is_bad(Block(block)).into())
    }

    fn mark_bad(&mut self, block: u32) {
        if block >= self.chip.blocks {
            self.breaks(format!("block {block} is marked as bad: there is none of that number"));
        } else if let Ok(nand) = self.chip() {
            nand.mark_bad(Block(block));
        }
    }
}

/// The tag that the laboratory has filled a host page with, where the data of a page are one. It finds its data by these.
fn host_tag(data: &[u8], logical_pages: u32) -> Option<u64> {
    let (words, _) = data.as_chunks::<8>();
    let first = words.first()?;
    let tag = u64::from_le_bytes(*first);
    let is_tag = (tag as u32) < logical_pages && tag >> 32 > 0 && tag >> 32 < 1 << 31;
    (is_tag && words.iter().all(|word| word == first)).then_some(tag)
}

/// The sixteen bytes in the spare area that stands for them. What holds no host page is metadata for the laboratory.
fn spare_of(bytes: [u8; SPARE_BYTES], logical_page: Option<u32>, data_crc: u32) -> Spare {
    let number = |from: usize, to: usize| {
        let mut wide = [0; 8];
        wide[..to - from].copy_from_slice(&bytes[from..to]);
        u64::from_le_bytes(wide)
    };
    Spare {
        kind: if logical_page.is_some() { Kind::User } else { Kind::Summary },
        stream: 0,
        key: logical_page.unwrap_or(0),
        version: number(0, 6),
        seq: number(6, 12),
        data_crc,
        aux: number(12, 16) as u32,
    }
}

/// The other way round.
fn bytes_of(spare: &Spare) -> [u8; SPARE_BYTES] {
    let mut bytes = [0; SPARE_BYTES];
    bytes[..6].copy_from_slice(&spare.version.to_le_bytes()[..6]);
    bytes[6..12].copy_from_slice(&spare.seq.to_le_bytes()[..6]);
    bytes[12..].copy_from_slice(&spare.aux.to_le_bytes());
    bytes
}

/// Calls back from C.
fn with<T>(context: *mut c_void, otherwise: T, call: impl FnOnce(&mut Lent) -> T) -> T {
    // SAFETY: the table has this context, and nobody changes that: it leads to a chip that is lent. The plugin was called
    // with the arena locked, so there is no other reference.
    let lent = unsafe { &mut *context.cast::<Lent>() };
    match catch_unwind(AssertUnwindSafe(|| call(lent))) {
        Ok(done) => done,
        Err(panic) => {
            let text = panic.downcast_ref::<String>().cloned().unwrap_or_else(|| "a panic in the simulation".into());
            // SAFETY: as above; the reference of the call is gone.
            unsafe { &mut *context.cast::<Lent>() }.breaks(text);
            otherwise
        }
    }
}

unsafe extern "C" fn read(
    context: *mut c_void,
    page: u32,
    column: u32,
    data: *mut u8,
    bytes: u32,
    spare: *mut u8,
) -> i32 {
    // SAFETY: the header says what the plugin has to give.
    with(context, BAD, |lent| unsafe { lent.read(page, column, data, bytes, spare) })
}

unsafe extern "C" fn program(context: *mut c_void, page: u32, data: *const u8, bytes: u32, spare: *const u8) -> i32 {
    // SAFETY: the header says what the plugin has to give.
    with(context, BAD, |lent| unsafe { lent.program(page, data, bytes, spare) })
}

unsafe extern "C" fn erase(context: *mut c_void, block: u32) -> i32 {
    with(context, BAD, |lent| lent.erase(block))
}

unsafe extern "C" fn is_bad(context: *mut c_void, block: u32) -> i32 {
    with(context, 1, |lent| lent.is_bad(block))
}

unsafe extern "C" fn mark_bad(context: *mut c_void, block: u32) {
    with(context, (), |lent| lent.mark_bad(block));
}
