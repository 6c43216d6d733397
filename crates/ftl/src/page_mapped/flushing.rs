//! Flushing translation pages that need not go yet (`durability/integrity.rs` has why).

use super::durability::FlushCause;
use super::mapping::Mapping;
use super::meta_io::MetaIo;
use super::parts::{PageMapped, mapping_io};
use crate::FtlError;
use crate::barriers::Barrier;
use phelsuma_nand::{Nand, Time};

impl PageMapped {
    /// Flushes the request in progress. When it may be acknowledged.
    pub(super) fn flush_request<N: Nand>(&mut self, nand: &mut N, at: Time) -> Result<Time, FtlError> {
        if !self.blocks.keeps(Barrier::EntriesBeforeAcknowledged) {
            self.durability.integrity.request_flushed();
            return Ok(at);
        }
        for part in self.durability.integrity.request() {
            self.flush_one(nand, part, FlushCause::Host, at)?;
        }
        self.durability.integrity.request_flushed();
        // Others may have written some of them: a collection meanwhile, or the cache, for want of room.
        Ok(at.max(self.blocks.clock.horizon()))
    }

    /// Flushes a translation page if it is dirty, with the reserve full before.
    fn flush_one<N: Nand>(&mut self, nand: &mut N, part: u32, cause: FlushCause, at: Time) -> Result<(), FtlError> {
        if !self.mapping.is_dirty(part) {
            return Ok(());
        }
        if self.lacks_space() {
            // It may flush this one. A full drive acknowledges its writes from the rest of its reserve, and refuses the
            // next request.
            let made = self.make_space(nand, at);
            if cause != FlushCause::Host {
                made?;
            }
        }
        self.flush_now(nand, part, cause, at)
    }

    /// The same from free blocks.
    fn flush_now<N: Nand>(&mut self, nand: &mut N, part: u32, cause: FlushCause, at: Time) -> Result<(), FtlError> {
        if !self.mapping.is_dirty(part) {
            return Ok(());
        }
        self.mapping.synchronize_part(mapping_io!(self, nand, at), part, &mut self.before)?;
        debug_assert!(!self.mapping.is_dirty(part), "a translation page is dirty right after it was written");
        self.durability.integrity.count(cause);
        self.settle(nand, at)
    }

    /// All that is dirty. When that is done.
    fn flush_all<N: Nand>(&mut self, nand: &mut N, cause: FlushCause, at: Time) -> Result<Time, FtlError> {
        for part in 0..self.mapping.parts() {
            self.flush_one(nand, part, cause, at)?;
        }
        self.durability.integrity.all_flushed();
        Ok(at.max(self.blocks.clock.horizon()))
    }

    /// The host requests that everything be durable. A recovery by scanning finds unflushed writes. When it is done.
    pub(super) fn flush_for_host<N: Nand>(&mut self, nand: &mut N, at: Time) -> Result<Time, FtlError> {
        if self.durability.integrity.flushes_for_host() { self.flush_all(nand, FlushCause::Flush, at) } else { Ok(at) }
    }

    /// What TIMEOUT has to do by now; none where nothing is.
    pub(super) fn flush_what_is_due<N: Nand>(&mut self, nand: &mut N, at: Time) -> Result<Option<Time>, FtlError> {
        if self.durability.integrity.due().is_none_or(|due| due > at) {
            return Ok(None);
        }
        self.durability.integrity.count_timeout();
        self.flush_all(nand, FlushCause::Timeout, at).map(Some)
    }

    /// A victim is about to be released. Entries that a recovery from translation pages alone would look for in it are
    /// flushed first. The victim is not erased before that is on flash.
    pub(super) fn flush_before_release<N: Nand>(&mut self, nand: &mut N, at: Time) -> Result<(), FtlError> {
        if !self.durability.flushes_before_release() {
            self.durability.integrity.changed(at);
            return Ok(());
        }
        if self.blocks.keeps(Barrier::RequestFlushedBeforeReuse) {
            for part in self.durability.integrity.request() {
                self.flush_now(nand, part, FlushCause::Collection, at)?;
            }
        }
        if self.blocks.keeps(Barrier::MovedFlushed) {
            // Those that cannot be flushed now stay for the next victim: this one may come again.
            while let Some(part) = self.durability.moved_to_flush() {
                self.flush_now(nand, part, FlushCause::Collection, at)?;
                self.durability.moved_flushed();
            }
        }
        self.durability.victim_released();
        Ok(())
    }
}
