//! A drive of a plugin that is mounted, as any other FTL.

use crate::arena::{Arena, Copy};
use crate::interface::{BLANK, Chip, FULL, NOT_FORMATTED, Nand, OK, UNREADABLE};
use crate::library::Functions;
use core::ffi::c_void;
use phelsuma_drive::lab::CutNand;
use phelsuma_ftl::{
    Counter, Finding, Ftl, FtlError, HostData, HostPage, RamLedger, ReadSink, RecoveryReport, RecoveryStep, Shape,
    Step, WriteRequest,
};
use phelsuma_nand::{Content, LogicalPage, Nand as _, Purpose, Time};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A copy of a drive.
#[derive(Debug)]
pub(crate) struct Session {
    functions: Functions,
    logical_pages: u32,
    /// A host page.
    page: Vec<u64>,
    arena: Arc<Mutex<Arena>>,
    copy: Copy,
}

/// How a drive comes into being.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Make {
    Format,
    Mount,
}

impl Session {
    /// Formats or mounts; the moment it is ready, or a report.
    pub(crate) fn make(
        functions: &Functions,
        nand: &mut CutNand,
        (chip, logical_pages, page_bytes): (Chip, u32, u32),
        make: Make,
        at: Time,
    ) -> Result<(Self, RecoveryReport), FtlError> {
        // SAFETY: the library is loaded, and its functions are of the types that the header says.
        let bytes = unsafe { (functions.memory_bytes)(&raw const chip, logical_pages) };
        if bytes > MEMORY_MAX {
            return Err(FtlError::Unsupported("the plugin asks for more than a gigabyte of memory"));
        }
        let mut session = Self {
            functions: functions.clone(),
            logical_pages,
            page: vec![0; page_bytes as usize / 8],
            arena: Arc::new(Mutex::new(Arena::new(chip, logical_pages, bytes))),
            copy: 0,
        };
        let (function, purpose) = match make {
            Make::Format => (functions.format, Purpose::Format),
            Make::Mount => (functions.mount, Purpose::Recovery),
        };
        let called = session.call(nand, purpose, at, |_, memory, table, _| {
            // SAFETY: as above; the memory has as many bytes as it asked for, and the table stays where it is.
            unsafe { function(memory, table, logical_pages) }
        })?;
        let Called { result, at: done, counts: [reads, spare_reads, programs] } = called;
        session.ok(nand, result)?;
        let nanos = done.0.saturating_sub(at.0);
        let steps = vec![RecoveryStep { name: "mount", reads, spare_reads, programs, nanos }];
        Ok((session, RecoveryReport { steps, done, ..RecoveryReport::default() }))
    }

    /// Calls the plugin with the flash lent.
    fn call(
        &mut self,
        nand: &mut CutNand,
        purpose: Purpose,
        at: Time,
        function: impl FnOnce(&Functions, *mut c_void, *const Nand, &mut [u64]) -> i32,
    ) -> Result<Called, FtlError> {
        let mut arena = locked(&self.arena);
        let (memory, table) = arena.of(self.copy);
        arena.lent().begin(nand, purpose, at);
        let result = function(&self.functions, memory, table, &mut self.page);
        let broken = arena.lent().end();
        let (at, counts) = (arena.lent().at, arena.lent().counts);
        let is_whole = arena.is_whole();
        drop(arena);
        assert!(is_whole, "the plugin has written behind its memory");
        if let Err(rule) = broken {
            // As the laboratory has it of any FTL: it is found and counted, and the others go on.
            panic!("a rule of flash is violated: {rule}");
        }
        Ok(Called { result, at, counts })
    }

    /// What a plugin returns, as an error.
    fn ok(&self, nand: &CutNand, result: i32) -> Result<(), FtlError> {
        match result {
            OK => Ok(()),
            FULL => {
                let blocks = (0..nand.geometry().blocks()).map(phelsuma_nand::Block);
                Err(FtlError::Full { bad_blocks: blocks.filter(|block| nand.is_bad(*block)).count() as u32 })
            }
            NOT_FORMATTED => Err(FtlError::Blank),
            UNREADABLE => Err(FtlError::Unsupported("the plugin says that a page cannot be read")),
            _ => Err(FtlError::Unsupported("the plugin says that it has failed")),
        }
    }

    fn check_range(&self, first: LogicalPage, pages: u32) -> Result<(), FtlError> {
        let logical_pages = self.logical_pages;
        let end = u64::from(first.0) + u64::from(pages);
        if end > u64::from(logical_pages) {
            return Err(FtlError::OutOfRange { first: first.0.into(), last: end - 1, logical_pages });
        }
        Ok(())
    }
}

/// More memory than any plugin needs for a drive that the laboratory goes through.
const MEMORY_MAX: usize = 1 << 30;

/// What a page's buffer holds before a read.
const NOTHING: u64 = 0x6e6f_7468_696e_6721;

/// What a call has come to.
struct Called {
    result: i32,
    /// When the last operation on flash was complete.
    at: Time,
    /// Pages read in full, spare areas read alone, pages programmed.
    counts: [u64; 3],
}

fn locked(arena: &Mutex<Arena>) -> MutexGuard<'_, Arena> {
    arena.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Drop for Session {
    fn drop(&mut self) {
        locked(&self.arena).forget(self.copy);
    }
}

impl Ftl<CutNand> for Session {
    fn shape(&self) -> Shape {
        Shape {
            logical_pages: self.logical_pages,
            reserve_blocks: 0,
            open_blocks: 0,
            log_blocks: 0,
            fixed_blocks: 0,
            metadata_blocks: 0,
            unidentified_blocks: 0,
            metadata_programs_per_collection: 0,
            battery_programs: 0,
        }
    }

    fn write(&mut self, nand: &mut CutNand, request: &WriteRequest<'_>, at: Time) -> Result<Time, FtlError> {
        self.check_range(request.first, request.pages)?;
        let bytes = self.page.len() * 8;
        if let HostData::Bytes(given) = request.data
            && given.len() != request.pages as usize * bytes
        {
            return Err(FtlError::Length { given: given.len(), pages: request.pages, page_bytes: bytes as u32 });
        }
        let mut at = at;
        for index in 0..request.pages {
            match request.data {
                HostData::Hollow(tag) => self.page.fill(tag.to_le()),
                HostData::Numbered(first) => self.page.fill(first.wrapping_add(index.into()).to_le()),
                HostData::Bytes(given) => {
                    let words = given[index as usize * bytes..][..bytes].as_chunks::<8>().0;
                    self.page.iter_mut().zip(words).for_each(|(to, from)| *to = u64::from_ne_bytes(*from));
                }
            }
            let called = self.call(nand, Purpose::Host, at, |functions, memory, _, page| {
                // SAFETY: the library is loaded, the memory is that of this drive, and the page is as long as it asked for.
                unsafe { (functions.write)(memory, request.first.0 + index, page.as_ptr().cast()) }
            })?;
            at = called.at;
            self.ok(nand, called.result)?;
        }
        Ok(at)
    }

    fn read(
        &mut self,
        nand: &mut CutNand,
        first: LogicalPage,
        pages: u32,
        cause: Purpose,
        at: Time,
        sink: &mut dyn ReadSink,
    ) -> Result<Time, FtlError> {
        self.check_range(first, pages)?;
        let mut at = at;
        for page in first.0..first.0 + pages {
            // What was written last is not to be read from here.
            self.page.iter_mut().zip([NOTHING, !NOTHING].into_iter().cycle()).for_each(|(word, fill)| *word = fill);
            let called = self.call(nand, cause, at, |functions, memory, _, data| {
                // SAFETY: as with a write.
                unsafe { (functions.read)(memory, page, data.as_mut_ptr().cast()) }
            })?;
            at = called.at;
            let words: &[u64] = &self.page;
            let bytes: Vec<u8>;
            let data = match called.result {
                OK if words.iter().all(|word| *word == words[0]) => {
                    HostPage::Data(Content::Hollow(u64::from_le(words[0])))
                }
                OK => {
                    bytes = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
                    HostPage::Data(Content::Bytes(&bytes))
                }
                BLANK => HostPage::Zeros,
                UNREADABLE => HostPage::Unreadable,
                other => return Err(self.ok(nand, other).err().unwrap_or(FtlError::Blank)),
            };
            sink.page(LogicalPage(page), data);
        }
        Ok(at)
    }

    fn trim(&mut self, nand: &mut CutNand, first: LogicalPage, pages: u32, at: Time) -> Result<Time, FtlError> {
        self.check_range(first, pages)?;
        let called = self.call(nand, Purpose::Host, at, |functions, memory, _, _| {
            // SAFETY: as with a write.
            unsafe { (functions.trim)(memory, first.0, pages) }
        })?;
        self.ok(nand, called.result)?;
        Ok(called.at)
    }

    fn flush(&mut self, nand: &mut CutNand, at: Time) -> Result<Time, FtlError> {
        let called = self.call(nand, Purpose::Host, at, |functions, memory, _, _| {
            // SAFETY: as with a write.
            unsafe { (functions.sync)(memory) }
        })?;
        self.ok(nand, called.result)?;
        Ok(called.at)
    }

    fn background_step(&mut self, nand: &mut CutNand, at: Time) -> Result<Step, FtlError> {
        let Some(maintain) = self.functions.maintain else { return Ok(Step::Nothing) };
        let called = self.call(nand, Purpose::Gc, at, |_, memory, _, _| {
            // SAFETY: as with a write.
            unsafe { maintain(memory) }
        })?;
        if called.result == 1 {
            return Ok(Step::Did(called.at));
        }
        self.ok(nand, called.result)?;
        Ok(Step::Nothing)
    }

    fn copy(&self) -> Box<dyn Ftl<CutNand>> {
        let copy = locked(&self.arena).copy(self.copy);
        Box::new(Self {
            functions: self.functions.clone(),
            logical_pages: self.logical_pages,
            page: self.page.clone(),
            arena: Arc::clone(&self.arena),
            copy,
        })
    }

    fn ram(&self) -> RamLedger {
        let mut ledger = RamLedger::default();
        ledger.structure("memory", locked(&self.arena).bytes() as u64);
        ledger
    }

    fn counters(&self) -> Vec<Counter> {
        Vec::new()
    }

    fn check(&mut self, _nand: &mut CutNand) -> Vec<Finding> {
        // What stands in its memory only its author can tell.
        Vec::new()
    }
}
