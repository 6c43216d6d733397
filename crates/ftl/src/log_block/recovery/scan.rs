//! The result of a scan of spare areas: what each block was opened for and when, and how far the clocks have come.

use super::super::pool::Role;
use crate::barriers::{Barrier, Barriers};
use crate::medium::{Owned, Session, window};
use alloc::vec;
use alloc::vec::Vec;
use phelsuma_nand::{Block, Geometry, Kind, Nand, Page, PageRead, Spare, SpareRead};

/// The content of a block's first readable page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in super::super) enum Seen {
    /// It is blank, or nothing in it can be read, or it cannot be identified: it holds nothing that counts.
    Nothing,
    Role(Role),
}

pub(in super::super) struct SpareScan {
    geometry: Geometry,
    window: u64,
    pub(in super::super) version_max: u64,
    pub(in super::super) seq_max: u64,
    /// The highest seq of a page that no recovery wrote.
    seq_max_before_recovery: u64,
    seen: Vec<Seen>,
    first_seq: Vec<u64>,
    pub(in super::super) lasts_read: u64,
    pub(in super::super) lasts_bad: u64,
}

impl SpareScan {
    pub(in super::super) fn new(geometry: &Geometry) -> Self {
        let blocks = geometry.blocks() as usize;
        Self {
            geometry: *geometry,
            window: window(geometry.dies()) as u64,
            version_max: 0,
            seq_max: 0,
            seq_max_before_recovery: 0,
            seen: vec![Seen::Nothing; blocks],
            first_seq: vec![0; blocks],
            lasts_read: 0,
            lasts_bad: 0,
        }
    }

    pub(in super::super) fn seen(&self, block: Block) -> Seen {
        self.seen[block.index()]
    }

    pub(in super::super) fn role(&self, block: Block) -> Option<Role> {
        match self.seen(block) {
            Seen::Role(role) => Some(role),
            Seen::Nothing => None,
        }
    }

    /// The seq of a block's first readable page; 0 where there is none.
    pub(in super::super) fn first_seq(&self, block: Block) -> u64 {
        self.first_seq[block.index()]
    }

    /// RAM, in bytes.
    pub(in super::super) fn bytes(&self) -> u64 {
        (self.seen.len() * (size_of::<Seen>() + 8)) as u64
    }

    /// Reads a block's first spare area. A block whose first is blank is blank: no page is written to a block before
    /// its first. Where it cannot be read, the next that can is as good: that one is given back.
    pub(in super::super) fn first<F, N: Nand>(
        &mut self,
        session: &mut Session<'_, F, N>,
        block: Block,
    ) -> Option<Spare> {
        for index in 0..self.geometry.pages_per_block() {
            let page = self.geometry.page(block, index);
            match session.read_spare(page) {
                SpareRead::Erased if index == 0 => return None,
                SpareRead::Erased | SpareRead::Unreadable => {}
                SpareRead::Written(spare) => {
                    self.note(&spare);
                    self.first_seq[block.index()] = spare.seq;
                    let role = Role::of(spare.stream).0;
                    let fits = |role: &Role| match spare.kind {
                        Kind::User => *role == Role::Data || role.is_log(),
                        Kind::Map if *role == Role::Snapshot => true,
                        Kind::Map | Kind::Tombstone => *role == Role::Map,
                        _ => false,
                    };
                    self.seen[block.index()] = role.filter(fits).map_or(Seen::Nothing, Seen::Role);
                    return Some(spare);
                }
            }
        }
        None
    }

    /// Reads the last page of a block in full: its data, if they are what its spare area says. It may be suspect.
    pub(in super::super) fn last<F, N: Nand>(
        &mut self,
        session: &mut Session<'_, F, N>,
        barriers: Barriers,
        page: Page,
        spare: &Spare,
    ) -> Option<Owned> {
        self.lasts_read += 1;
        let is_believed = |scan: &Self| {
            !barriers.keeps(Barrier::SuspectsVerified)
                || !barriers.keeps(Barrier::OldLastPagesVerified) && !scan.is_suspect(spare.seq)
        };
        let data = match session.read(page) {
            PageRead::Written { content, .. } if is_believed(self) => Some(Owned::of(content)),
            read => read.verified().map(|(content, _)| Owned::of(content)),
        };
        self.lasts_bad += u64::from(data.is_none());
        data
    }

    pub(in super::super) fn note(&mut self, spare: &Spare) {
        self.version_max = self.version_max.max(spare.version);
        self.seq_max = self.seq_max.max(spare.seq);
        if !Role::of(spare.stream).1 {
            self.seq_max_before_recovery = self.seq_max_before_recovery.max(spare.seq);
        }
    }

    /// Whether a page is suspect, from the last power cut or from one that met the recovery from an earlier one. It is
    /// among the last that can have been in flight, of all pages found or of those that no recovery wrote. Until the
    /// scan is over, this is whether it may turn out to be. Where the last ones are in an orphan of which only the
    /// first was read, it includes a few more than were in flight.
    pub(in super::super) fn is_suspect(&self, seq: u64) -> bool {
        debug_assert!(seq <= self.seq_max, "seq {seq} was not noted");
        let before = self.seq_max_before_recovery;
        seq + self.window > self.seq_max || (seq <= before && seq + self.window > before)
    }
}
