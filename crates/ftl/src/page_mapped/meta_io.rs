//! What a part may do with the flash: read its own pages, append to its own stream, and say which are stale.
//!
//! The composition lends it for one call. A part never chooses a block, never erases, and never starts a collection:
//! an append takes a free block from the reserve, which is filled up before the next host page.

use crate::FtlError;
use crate::blocks::{Blocks, NewPage};
use phelsuma_nand::{Content, Geometry, Kind, Nand, Op, Page, PageRead, Purpose, Spare, SpareRead, Time};

/// The flash, lent to a part.
pub(crate) struct MetaIo<'a, N: Nand> {
    nand: &'a mut N,
    blocks: &'a mut Blocks,
    stream: u8,
    purpose: Purpose,
    now: Time,
    done: Time,
}

impl<'a, N: Nand> MetaIo<'a, N> {
    /// Flash for the part that writes to `stream`; nothing starts before `at`.
    pub(crate) fn new(nand: &'a mut N, blocks: &'a mut Blocks, stream: u8, purpose: Purpose, at: Time) -> Self {
        Self { nand, blocks, stream, purpose, now: at, done: at }
    }

    pub(crate) fn geometry(&self) -> &Geometry {
        self.blocks.geometry()
    }

    /// A page of this part's, if it is what the part takes it for: what is done next starts when it is there.
    #[inline]
    pub(crate) fn read(&mut self, page: Page, kind: Kind, key: u32) -> Option<&[u8]> {
        let (read, ready) = self.nand.read(page, Op::new(self.now, self.purpose));
        self.now = self.now.max(ready);
        self.done = self.done.max(ready);
        read.verified_as(kind, key)
    }

    /// As it stands, whatever it is.
    pub(crate) fn read_any(&mut self, page: Page) -> PageRead<'_> {
        let (read, ready) = self.nand.read(page, Op::new(self.now, self.purpose));
        self.now = self.now.max(ready);
        self.done = self.done.max(ready);
        read
    }

    pub(crate) fn read_spare(&mut self, page: Page) -> SpareRead {
        let (read, ready) = self.nand.read_spare(page, Op::new(self.now, self.purpose));
        self.done = self.done.max(ready);
        read
    }

    /// Writes a page to the end of the part's stream; where it is.
    #[inline]
    pub(crate) fn append(&mut self, kind: Kind, key: u32, version: u64, bytes: &[u8]) -> Result<Page, FtlError> {
        let content = Content::Bytes(bytes);
        self.append_labelled(None, &NewPage { kind, key, version, content, data_crc: content.crc() })
    }

    /// Writes a copy of a page that was read as `spare` and `bytes`; its CRC travels along, right or wrong.
    pub(crate) fn append_copy(&mut self, spare: &Spare, bytes: &[u8]) -> Result<Page, FtlError> {
        let content = Content::Bytes(bytes);
        let (kind, key, version, data_crc) = (spare.kind, spare.key, spare.version, spare.data_crc);
        self.append_labelled(None, &NewPage { kind, key, version, content, data_crc })
    }

    /// Writes a page with a label of its own in the spare area, where one is given, instead of the stream's.
    pub(crate) fn append_labelled(&mut self, label: Option<u8>, page: &NewPage<'_>) -> Result<Page, FtlError> {
        let label = label.unwrap_or(self.stream);
        let (to, safe) = self.blocks.append(self.nand, self.stream, label, page, self.purpose, self.now)?;
        self.done = self.done.max(safe);
        Ok(to)
    }

    /// A page of this part's is stale.
    #[inline]
    pub(crate) fn drop_page(&mut self, page: Page) {
        self.blocks.drop_metadata(page);
    }

    /// A new content's version.
    pub(crate) fn next_version(&mut self) -> u64 {
        self.blocks.clock.next_version()
    }

    /// The program order of the last page programmed.
    pub(crate) fn seq(&self) -> u64 {
        self.blocks.clock.seq()
    }

    /// Nothing starts from now on before everything so far is on flash.
    pub(crate) fn barrier(&mut self) {
        self.now = self.now.max(self.blocks.clock.horizon());
    }

    /// When everything read here is there.
    pub(crate) fn read_done(&self) -> Time {
        self.now
    }

    /// When everything done here has completed.
    pub(crate) fn done(&self) -> Time {
        self.done.max(self.now)
    }
}
