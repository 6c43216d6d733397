//! Pages that the columns cannot hold: left out, torn, unstable, or unlike their block's others.

use super::SimNand;
use super::columns::ODD;
use crate::{Block, Content, Page, PageRead, Spare, SpareRead};
use alloc::boxed::Box;
use alloc::sync::Arc;

/// Data held by value.
#[derive(Clone, Debug)]
enum Held {
    Hollow(u64),
    Bytes(Arc<[u8]>),
}

/// How long a page reads well.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Lasts {
    /// As long as flash does.
    Forever,
    /// Until the power fails again.
    Session,
    /// For so many more reads.
    Reads(u8),
}

/// A page held whole.
#[derive(Clone, Debug)]
pub(crate) enum OddPage {
    /// Left out by an ascending program: blank, and to stay so.
    LeftOut,
    /// Reads as erased, is not.
    LooksErased,
    /// ECC gives up.
    Unreadable,
    /// A page with its data; no spare area where that is garbled.
    Written(Box<Written>),
}

#[derive(Clone, Debug)]
pub(crate) struct Written {
    content: Held,
    spare: Option<Spare>,
    lasts: Lasts,
}

impl OddPage {
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
            Self::LeftOut | Self::LooksErased => SpareRead::Erased,
            Self::Unreadable => SpareRead::Unreadable,
            Self::Written(w) if w.lasts == Lasts::Reads(0) => SpareRead::Unreadable,
            Self::Written(w) => w.spare.map_or(SpareRead::Unreadable, SpareRead::Written),
        }
    }

    fn page_read(&self) -> PageRead<'_> {
        match self {
            Self::LeftOut | Self::LooksErased => PageRead::Erased,
            Self::Unreadable => PageRead::Unreadable,
            Self::Written(w) => {
                let content = match &w.content {
                    Held::Hollow(tag) => Content::Hollow(*tag),
                    Held::Bytes(bytes) => Content::Bytes(bytes),
                };
                w.spare.map_or(PageRead::Unreadable, |spare| PageRead::Written { content, spare, corrected: 0 })
            }
        }
    }

    /// The power has failed again: what did not last is gone. Whether anything was.
    pub(crate) fn end_session(&mut self) -> bool {
        let goes = matches!(self, Self::Written(w) if w.lasts != Lasts::Forever);
        if goes {
            *self = Self::Unreadable;
        }
        goes
    }
}

impl SimNand {
    /// Reads an odd page; one that lasts for a number of reads lasts for one less after it.
    pub(super) fn read_odd(&mut self, page: Page) -> PageRead<'_> {
        let Some(odd) = self.odd.get_mut(&page.0) else { return PageRead::Unreadable };
        if let OddPage::Written(w) = odd
            && let Lasts::Reads(left) = &mut w.lasts
        {
            if *left == 0 {
                return PageRead::Unreadable;
            }
            *left -= 1;
            if let Some(fingerprint) = &mut self.fingerprint {
                fingerprint.disturb(self.geometry.block_of(page), 0x61);
            }
        }
        odd.page_read()
    }

    pub(super) fn put_odd(&mut self, page: Page, odd: OddPage) {
        let block = self.geometry.block_of(page);
        self.columns.blocks[block.index()].flags |= ODD;
        self.odd.insert(page.0, odd);
    }

    /// Writes a page into a block where pages are left out or odd: none of the fast path's assumptions hold.
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
        let mut became = OddPage::written(content, Some(*spare));
        for skipped in next..index {
            let page = self.geometry.page(block, skipped);
            if !self.odd.contains_key(&page.0) {
                self.put_odd(page, OddPage::LeftOut);
            }
        }
        if matches!(self.odd.get(&page.0), Some(OddPage::LooksErased)) {
            became = OddPage::Unreadable;
        }
        self.put_odd(page, became);
        self.columns.blocks[block.index()].next = (index + 1) as u16;
        if let Some(fingerprint) = &mut self.fingerprint {
            fingerprint.program(block, index, content, spare);
        }
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
        if let Some(fingerprint) = &mut self.fingerprint {
            fingerprint.erase(block);
        }
    }
}
