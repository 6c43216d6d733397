//! The data of pages that have some: tags for hollow pages that carry one, bytes for the rest.

use crate::{Block, Content, Geometry, Page};
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

type Bytes = Option<(u32, Arc<[u8]>)>;

/// Data by page. Bytes are shared between copies of a chip until one of them erases the block.
#[derive(Clone, Debug)]
pub(crate) struct Payload {
    /// Tags by page; empty where every hollow page carries tag 0.
    tags: Vec<u64>,
    /// By block, then by index: data CRC and bytes. Empty until the first page of bytes.
    blocks: Vec<Option<Box<[Bytes]>>>,
    bytes_now: u64,
    bytes_peak: u64,
}

impl Payload {
    pub(crate) fn new(geometry: &Geometry, tagged: bool) -> Self {
        let tags = if tagged { vec![0; geometry.page_numbers()] } else { Vec::new() };
        Self { tags, blocks: Vec::new(), bytes_now: 0, bytes_peak: 0 }
    }

    /// Whether a hollow page with this tag can be held without its bytes.
    #[inline]
    pub(crate) fn holds_hollow(&self, tag: u64) -> bool {
        tag == 0 || !self.tags.is_empty()
    }

    #[inline]
    pub(crate) fn store_hollow(&mut self, page: Page, tag: u64) {
        if let Some(slot) = self.tags.get_mut(page.index()) {
            *slot = tag;
        }
    }

    pub(crate) fn store_bytes(&mut self, geometry: &Geometry, page: Page, crc: u32, bytes: Arc<[u8]>) {
        if self.blocks.is_empty() {
            self.blocks.resize_with(geometry.blocks() as usize, || None);
        }
        self.bytes_now += bytes.len() as u64;
        self.bytes_peak = self.bytes_peak.max(self.bytes_now);
        let pages = geometry.pages_per_block() as usize;
        let block = self.blocks[geometry.block_of(page).index()].get_or_insert_with(|| vec![None; pages].into());
        block[geometry.index_of(page) as usize] = Some((crc, bytes));
    }

    /// Data and their CRC as stored with them.
    #[inline]
    pub(crate) fn get(&self, geometry: &Geometry, page: Page) -> (Content<'_>, u32) {
        if let Some(Some(block)) = self.blocks.get(geometry.block_of(page).index())
            && let Some((crc, bytes)) = &block[geometry.index_of(page) as usize]
        {
            return (Content::Bytes(bytes), *crc);
        }
        let content = Content::Hollow(self.tags.get(page.index()).copied().unwrap_or(0));
        (content, content.crc())
    }

    #[inline]
    pub(crate) fn erase(&mut self, block: Block) {
        if let Some(slot) = self.blocks.get_mut(block.index())
            && let Some(pages) = slot.take()
        {
            self.bytes_now -= pages.iter().flatten().map(|(_, b)| b.len() as u64).sum::<u64>();
        }
    }

    /// Bytes of page data held, at the most.
    pub(crate) fn bytes_peak(&self) -> u64 {
        self.bytes_peak
    }

    /// Host memory besides the data themselves, in bytes.
    pub(crate) fn heap_bytes(&self) -> u64 {
        (self.tags.capacity() * 8 + self.blocks.capacity() * size_of::<Option<Box<[Bytes]>>>()) as u64
    }
}
