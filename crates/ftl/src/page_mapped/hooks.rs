//! The hooks of the recovery scheme in the composition's work.

use super::mapping::{LastPlace, Mapping};
use super::meta_io::MetaIo;
use super::move_buffer::Moving;
use super::parts::{PageMapped, mapping_io, validity_io};
use super::validity::Validity;
use crate::FtlError;
use crate::barriers::Barrier;
use crate::medium::marks::{PointsBack, SpareMarks};
use phelsuma_nand::{Block, LogicalPage, Nand, Time};

impl PageMapped {
    /// The marks for the spare area of a page that the host writes now.
    #[inline]
    pub(super) fn marks_of(&mut self, key: LogicalPage) -> SpareMarks {
        if self.durability.points_back() {
            self.point_back(self.mapping.last_place(key))
        } else if self.sorting.asks.lives {
            SpareMarks::with_life(self.placement.life())
        } else {
            SpareMarks::NONE
        }
    }

    /// The back pointer for the spare area of a user page that is programmed now and takes the place of `before`. A
    /// flush of the validity store does not claim to cover that before it was reported.
    #[inline]
    pub(super) fn point_back(&mut self, before: LastPlace) -> SpareMarks {
        if !self.durability.points_back() || !self.blocks.keeps(Barrier::PagesPointBack) {
            return SpareMarks::NONE;
        }
        self.durability.begin_reporting(&self.blocks, self.blocks.clock.seq());
        SpareMarks::point_back(match before {
            LastPlace::Nowhere => PointsBack::Nowhere,
            LastPlace::At(page) => PointsBack::At(page),
            LastPlace::Mislaid => {
                // A stale page that is never reported: from now on only the mapping decides which pages are live.
                self.validity.set_damaged();
                PointsBack::AtMislaid
            }
        })
    }

    /// The marks for the spare area of a page that is moved.
    #[inline]
    pub(super) fn marks_of_moved(&mut self, page: &Moving) -> SpareMarks {
        if self.sorting.asks.lives {
            return SpareMarks::of_copy(&page.spare);
        }
        self.point_back(LastPlace::At(page.from))
    }

    /// A page of the host's is written, and everything that it made stale is reported. When it may be acknowledged.
    #[inline]
    pub(super) fn page_written<N: Nand>(&mut self, nand: &mut N, key: LogicalPage, at: Time) -> Result<Time, FtlError> {
        debug_assert!(self.before.is_empty(), "{key} is written before all stale pages are reported");
        self.durability.reported();
        let mapping = &self.mapping;
        if self.durability.integrity.page_written(|| mapping.part_of(key), at) {
            self.flush_request(nand, at)
        } else {
            Ok(at)
        }
    }

    /// All pages of a request are written. When it may be acknowledged.
    #[inline]
    pub(super) fn request_written<N: Nand>(&mut self, nand: &mut N, at: Time) -> Result<Time, FtlError> {
        if self.tree.is_some() {
            self.mapping.request_written(mapping_io!(self, nand, at))?;
            self.settle(nand, at)?;
        }
        if self.durability.integrity.request().is_empty() { Ok(at) } else { self.flush_request(nand, at) }
    }

    /// Logical pages were trimmed.
    pub(super) fn pages_trimmed(&mut self) {
        if self.durability.points_back() && self.mapping.is_damaged() {
            // A mislaid page may be among the trimmed ones.
            self.validity.set_damaged();
        }
    }

    /// Nothing is live in a victim any more: does what a recovery needs before it may be erased.
    pub(super) fn prepare_release<N: Nand>(&mut self, nand: &mut N, victim: Block, at: Time) -> Result<(), FtlError> {
        let young = self.durability.needs_checkpoint_before(victim) && self.blocks.keeps(Barrier::YoungFlushed);
        let damage = self.validity.has_untold_damage() && self.blocks.keeps(Barrier::DamageWritten);
        if young || damage || self.gives_up_pages() {
            self.validity.checkpoint(validity_io!(self, nand, at))?;
            self.hear_news(nand, at)?;
        }
        Ok(())
    }

    /// Whether pages were dropped because the table does not name them that the next start may find in it again: the
    /// log is to say so first.
    fn gives_up_pages(&mut self) -> bool {
        let gives_up = self.durability.points_back() && self.mapping.is_damaged();
        if gives_up {
            self.validity.set_damaged();
        }
        gives_up
    }

    /// Gives a block back in which nothing is live.
    pub(super) fn release<N: Nand>(&mut self, nand: &mut N, block: Block, at: Time) -> Result<(), FtlError> {
        self.durability.release(&mut self.blocks, block);
        if self.durability.points_back() {
            // It is reported to the log before it is erased.
            self.hear_news(nand, at)?;
        }
        Ok(())
    }
}

impl<M: Mapping, V: Validity> PageMapped<M, V> {
    /// Flushes the validity store where blocks wait for it, or a recovery would have to look back too far.
    #[inline]
    pub(super) fn flush_if_wanted<N: Nand>(&mut self, nand: &mut N, at: Time) -> Result<(), FtlError> {
        if self.durability.wants_checkpoint(&self.blocks) {
            self.hear_news(nand, at)?;
            self.validity.checkpoint(validity_io!(self, nand, at))?;
            self.hear_news(nand, at)?;
        }
        Ok(())
    }
}
