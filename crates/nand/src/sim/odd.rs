//! Pages that the columns cannot hold: torn, unstable, or unlike their block's others. And those that are left out,
//! which they can.

use super::columns::ODD;
use super::fingerprint::{self, Oddity};
use super::{Readers, SimNand};
use crate::state::Preserve;
use crate::{Block, Content, Page, PageRead, Spare, SpareRead};
use alloc::boxed::Box;
use alloc::sync::Arc;

/// Data held by value.
#[derive(Clone, Debug, Preserve)]
enum Held {
    Hollow(u64),
    Bytes(Arc<[u8]>),
}

impl Held {
    fn as_content(&self) -> Content<'_> {
        match self {
            Self::Hollow(tag) => Content::Hollow(*tag),
            Self::Bytes(bytes) => Content::Bytes(bytes),
        }
    }
}

/// How long a page reads well.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Preserve)]
pub(crate) enum Lasts {
    /// As long as flash does.
    Forever,
    /// Until the power fails again.
    UntilPowerFails,
    /// For so many more reads.
    Reads(u8),
}

/// A page held whole.
#[derive(Clone, Debug, Preserve)]
pub(crate) enum OddPage {
    /// Reads as erased, is not.
    LooksErased,
    /// ECC gives up.
    Unreadable,
    /// A page with its data; no spare area where that is garbled.
    Written(Box<Written>),
}

#[derive(Clone, Debug, Preserve)]
pub(crate) struct Written {
    content: Held,
    spare: Option<Spare>,
    lasts: Lasts,
}

impl OddPage {
    /// Its share in the chip's fingerprint.
    pub(crate) fn hash(&self, page: Page) -> u128 {
        match self {
            Self::LooksErased => fingerprint::odd(page, Oddity::LooksErased),
            Self::Unreadable => fingerprint::odd(page, Oddity::Unreadable),
            Self::Written(w) => {
                let Some(spare) = &w.spare else { return fingerprint::odd(page, Oddity::Unreadable) };
                let lasts = match w.lasts {
                    Lasts::Forever => 0,
                    Lasts::UntilPowerFails => fingerprint::odd(page, Oddity::LastsUntilPowerFails),
                    Lasts::Reads(0) => return fingerprint::odd(page, Oddity::Unreadable),
                    Lasts::Reads(n) => fingerprint::odd(page, Oddity::LastsReads(n)),
                };
                fingerprint::written(page, w.content.as_content(), spare) ^ lasts
            }
        }
    }

    pub(crate) fn written(content: Content<'_>, spare: Option<Spare>) -> Self {
        Self::lasting(content, spare, Lasts::Forever)
    }

    pub(crate) fn lasting(content: Content<'_>, spare: Option<Spare>, lasts: Lasts) -> Self {
        let content = match content {
            Content::Hollow(tag) => Held::Hollow(tag),
            Content::Bytes(bytes) => Held::Bytes(Arc::from(bytes)),
        };
        Self::Written(Box::new(Written { content, spare, lasts }))
    }

    pub(crate) fn spare_read(&self) -> SpareRead {
        match self {
            Self::LooksErased => SpareRead::Erased,
            Self::Unreadable => SpareRead::Unreadable,
            Self::Written(w) if w.lasts == Lasts::Reads(0) => SpareRead::Unreadable,
            Self::Written(w) => w.spare.map_or(SpareRead::Unreadable, SpareRead::Written),
        }
    }

    fn page_read(&self) -> PageRead<'_> {
        match self {
            Self::LooksErased => PageRead::Erased,
            Self::Unreadable => PageRead::Unreadable,
            Self::Written(w) => {
                let content = w.content.as_content();
                w.spare.map_or(PageRead::Unreadable, |spare| PageRead::Written {
                    content,
                    spare,
                    corrected: 0,
                    checked: false,
                })
            }
        }
    }

    /// Whether the next power failure makes it unreadable.
    pub(crate) fn ends_with_power(&self) -> bool {
        matches!(self, Self::Written(w) if w.lasts != Lasts::Forever)
    }
}

impl SimNand {
    /// The spare area of a page that the columns cannot hold: with its CRC, for nothing vouches for such a page.
    pub(super) fn with_crc(&self, content: Content<'_>, spare: &Spare) -> Spare {
        let missing = spare.data_crc == 0 && self.readers < Readers::Anyone;
        Spare { data_crc: if missing { content.crc() } else { spare.data_crc }, ..*spare }
    }

    /// Reads an odd page; one that lasts for a number of reads lasts for one less after it.
    pub(super) fn read_odd(&mut self, page: Page) -> PageRead<'_> {
        let Some(odd) = self.odd.get_mut(&page.0) else { return PageRead::Unreadable };
        let before = self.fingerprint.is_some().then(|| odd.hash(page));
        if let OddPage::Written(w) = odd
            && let Lasts::Reads(left) = &mut w.lasts
        {
            if *left == 0 {
                return PageRead::Unreadable;
            }
            *left -= 1;
        }
        if let (Some(fingerprint), Some(before)) = (&mut self.fingerprint, before) {
            fingerprint.toggle(self.geometry.block_of(page), before ^ odd.hash(page));
        }
        odd.page_read()
    }

    /// The page is `odd` from now on, whatever it was.
    pub(super) fn put_odd(&mut self, page: Page, odd: OddPage) {
        let block = self.geometry.block_of(page);
        if self.fingerprint.is_some() {
            let change = self.hash_of(page) ^ odd.hash(page);
            if let Some(fingerprint) = &mut self.fingerprint {
                fingerprint.toggle(block, change);
            }
        }
        self.columns.blocks[block.index()].flags |= ODD;
        self.odd.insert(page.0, odd);
    }

    /// The page's share in the fingerprint now.
    fn hash_of(&self, page: Page) -> u128 {
        let block = self.geometry.block_of(page);
        if let Some(odd) = self.odd.get(&page.0) {
            return odd.hash(page);
        }
        if self.columns.is_left_out(block, page) {
            return fingerprint::odd(page, Oddity::LeftOut);
        }
        if self.geometry.index_of(page) >= u32::from(self.columns.blocks[block.index()].next) {
            return 0;
        }
        let (content, crc) = self.payload.get(page);
        fingerprint::written(page, content, &self.columns.spare(&self.geometry, page, crc))
    }

    /// The pages of the block from `next` up to `index` are passed over: blank, and to stay so. Those that are odd
    /// already are left as they are.
    #[inline(never)]
    pub(super) fn leave_out(&mut self, block: Block, next: u32, index: u32) {
        for page in (next..index).map(|index| self.geometry.page(block, index)) {
            if self.odd.contains_key(&page.0) {
                continue;
            }
            self.columns.leave_out(&self.geometry, page);
            if let Some(fingerprint) = &mut self.fingerprint {
                fingerprint.toggle(block, fingerprint::odd(page, Oddity::LeftOut));
            }
        }
    }

    /// Writes a page into a block where pages are odd: none of the fast path's assumptions hold.
    #[inline(never)]
    pub(super) fn put_beside_others(
        &mut self,
        page: Page,
        block: Block,
        index: u32,
        content: Content<'_>,
        spare: &Spare,
    ) {
        let next = u32::from(self.columns.blocks[block.index()].next);
        let mut became = OddPage::written(content, Some(self.with_crc(content, spare)));
        self.leave_out(block, next, index);
        if matches!(self.odd.get(&page.0), Some(OddPage::LooksErased)) {
            became = OddPage::Unreadable;
        }
        self.put_odd(page, became);
        self.columns.blocks[block.index()].next = (index + 1) as u16;
    }

    /// Makes a block blank.
    pub(super) fn wipe(&mut self, block: Block) {
        if self.columns.blocks[block.index()].flags & ODD != 0 {
            let first = block.index() * self.geometry.page_numbers_per_block();
            for index in 0..self.geometry.pages_per_block() as usize {
                self.odd.remove(&((first + index) as u32));
            }
        }
        self.columns.erase(block);
        self.payload.erase(block);
        let flags = self.columns.blocks[block.index()].flags;
        if let Some(fingerprint) = &mut self.fingerprint {
            fingerprint.erase(block);
            for flag in (0..8).map(|bit| 1 << bit).filter(|flag| flags & flag != 0) {
                fingerprint.toggle(block, fingerprint::mark(block, flag));
            }
        }
    }
}
