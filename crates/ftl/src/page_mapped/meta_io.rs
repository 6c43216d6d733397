//! A part's access to the flash: it reads its own pages, appends to its own stream, and says which pages are stale.
//!
//! The composition lends it for one call. A part never chooses a block, never erases, and never starts a collection: an
//! append takes a free block from the reserve, which is filled up before the next host page.

use super::durability::{Durability, ScanFrom, Unreported};
use super::runs::MergePages;
use crate::FtlError;
use crate::barriers::Barrier;
use crate::blocks::{BlockUse, Blocks};
use crate::medium::NewPage;
use crate::medium::marks::SpareMarks;
use crate::mu_tree::{MuTree, PageStore, TreeError};
use phelsuma_nand::{Block, Content, Geometry, Kind, Nand, Op, Page, PageRead, Purpose, Spare, SpareRead, Time};

/// The flash, lent to a part.
pub(crate) struct MetaIo<'a, N: Nand> {
    nand: &'a mut N,
    blocks: &'a mut Blocks,
    durability: &'a mut Durability,
    stream: u8,
    purpose: Purpose,
    now: Time,
    done: Time,
    /// Whether what follows waits for a page that is read.
    waits: bool,
    /// The tree of the composition, if it has one.
    tree: Option<&'a mut MuTree>,
    /// The pages that merges have in hand.
    merge_pages: Option<&'a mut MergePages>,
}

impl<'a, N: Nand> MetaIo<'a, N> {
    /// Flash for the part that writes to `stream`; nothing starts before `at`.
    pub(crate) fn new(
        nand: &'a mut N,
        (blocks, durability): (&'a mut Blocks, &'a mut Durability),
        stream: u8,
        purpose: Purpose,
        at: Time,
    ) -> Self {
        Self {
            nand,
            blocks,
            durability,
            stream,
            purpose,
            now: at,
            done: at,
            waits: true,
            tree: None,
            merge_pages: None,
        }
    }

    /// Reads alone, of which none waits for another: which pages are read is decided before.
    pub(crate) fn side_by_side(mut self) -> Self {
        self.waits = false;
        self
    }

    /// Lends the tree as well.
    pub(crate) fn with_tree(mut self, tree: Option<&'a mut MuTree>) -> Self {
        self.tree = tree;
        self
    }

    /// Lends the pages of merges as well.
    pub(crate) fn with_merge_pages(mut self, pages: &'a mut MergePages) -> Self {
        self.merge_pages = Some(pages);
        self
    }

    /// Has a merge do something with these pages.
    #[inline]
    pub(crate) fn merge_pages<R>(&mut self, act: impl FnOnce(&mut MergePages, &mut Self) -> R) -> R {
        debug_assert!(self.merge_pages.is_some(), "the pages of merges are lent already, or there are none");
        let Some(pages) = self.merge_pages.take() else { return act(&mut MergePages::default(), self) };
        let done = act(pages, self);
        self.merge_pages = Some(pages);
        done
    }

    /// Has the tree do something. Where there is none, it is as if it could not be read.
    pub(crate) fn tree<R>(
        &mut self,
        act: impl FnOnce(&mut MuTree, &mut Self) -> Result<R, TreeError<FtlError>>,
    ) -> Result<R, TreeError<FtlError>> {
        debug_assert!(self.tree.is_some(), "the tree is lent already, or there is none");
        let tree = self.tree.take().ok_or(TreeError::Unreadable(u32::MAX))?;
        let done = act(tree, self);
        self.tree = Some(tree);
        done
    }

    /// Pages may be reported stale that were reported before.
    pub(crate) fn may_report_again(&mut self) {
        self.blocks.counters.may_be_low = true;
    }

    pub(crate) fn geometry(&self) -> &Geometry {
        self.blocks.geometry()
    }

    /// A page of this part's, if it has the kind and key that the part expects. The next operation starts when it is
    /// there.
    #[inline]
    pub(crate) fn read(&mut self, page: Page, kind: Kind, key: u32) -> Option<&[u8]> {
        self.read_version(page, kind, key).map(|(bytes, _)| bytes)
    }

    /// As [`MetaIo::read`], with the content's version.
    #[inline]
    pub(crate) fn read_version(&mut self, page: Page, kind: Kind, key: u32) -> Option<(&[u8], u64)> {
        let verifies = self.blocks.keeps(Barrier::MetadataVerified);
        let read = match self.read_any(page) {
            PageRead::Written { content, spare, .. } if !verifies => Some((content, spare)),
            read => read.verified(),
        };
        match read {
            Some((Content::Bytes(bytes), spare)) if spare.kind == kind && spare.key == key => {
                Some((bytes, spare.version))
            }
            _ => None,
        }
    }

    /// As it stands, whatever it is.
    #[inline]
    pub(crate) fn read_any(&mut self, page: Page) -> PageRead<'_> {
        if let Some(mounting) = self.durability.mounting() {
            let reads_once = self.blocks.keeps(Barrier::MetadataReadOnce);
            if let Some((_, spare, bytes)) = mounting.read_before.iter().find(|(kept, ..)| *kept == page && reads_once)
            {
                return PageRead::Written {
                    content: Content::Bytes(bytes),
                    spare: *spare,
                    corrected: 0,
                    checked: false,
                };
            }
            mounting.counts.reads += 1;
        }
        let (read, ready) = self.nand.read(page, Op::new(self.now, self.purpose));
        if self.waits {
            self.now = self.now.max(ready);
        }
        self.done = self.done.max(ready);
        read
    }

    /// Fetches what a simulation has of these pages from the host's memory, for they are read soon. Nothing changes by it.
    pub(crate) fn warm(&self, pages: impl Iterator<Item = Page>) {
        let mut chunk = [Page(0); 16];
        let mut pages = pages.peekable();
        while pages.peek().is_some() {
            let taken = chunk.iter_mut().zip(&mut pages).map(|(place, page)| *place = page).count();
            self.nand.warm(&chunk[..taken]);
        }
    }

    pub(crate) fn read_spare(&mut self, page: Page) -> SpareRead {
        if let Some(mounting) = self.durability.mounting() {
            mounting.counts.spare_reads += 1;
        }
        let (read, ready) = self.nand.read_spare(page, Op::new(self.now, self.purpose));
        self.done = self.done.max(ready);
        read
    }

    /// Writes a page to the end of the part's stream; where it is.
    #[inline]
    pub(crate) fn append(&mut self, kind: Kind, key: u32, version: u64, bytes: &[u8]) -> Result<Page, FtlError> {
        self.append_with(SpareMarks::NONE, kind, key, version, bytes)
    }

    /// As [`MetaIo::append`], with these marks in the spare area.
    #[inline]
    pub(crate) fn append_with(
        &mut self,
        marks: SpareMarks,
        kind: Kind,
        key: u32,
        version: u64,
        bytes: &[u8],
    ) -> Result<Page, FtlError> {
        let content = Content::Bytes(bytes);
        let data_crc = self.nand.crc(content);
        self.append_page(&NewPage { kind, key, version, content, data_crc, marks })
    }

    /// Writes a copy of a page that was read as `spare` and `bytes`; its CRC and marks travel along, right or wrong.
    pub(crate) fn append_copy(&mut self, spare: &Spare, bytes: &[u8]) -> Result<Page, FtlError> {
        let content = Content::Bytes(bytes);
        let Spare { kind, key, version, data_crc, .. } = *spare;
        self.append_page(&NewPage { kind, key, version, content, data_crc, marks: SpareMarks::of(spare) })
    }

    fn append_page(&mut self, page: &NewPage<'_>) -> Result<Page, FtlError> {
        debug_assert!(self.waits, "a page is programmed before what it is made of is read");
        debug_assert!(self.blocks.is_metadata(self.stream), "metadata go to a stream of the host's");
        let (to, safe) = self.blocks.append(self.nand, self.durability, self.stream, page, self.purpose, self.now)?;
        if let Some(mounting) = self.durability.mounting() {
            mounting.counts.programs += 1;
        }
        self.done = self.done.max(safe);
        Ok(to)
    }

    /// Erases free blocks in advance, as long as too few are blank (`blocks/blank.rs`); nothing starts before that is
    /// done.
    pub(crate) fn keep_blank(&mut self) -> Result<(), FtlError> {
        self.now = self.blocks.keep_blank(self.nand, self.durability, self.purpose, self.now)?;
        Ok(())
    }

    /// A page of this part's is stale.
    #[inline]
    pub(crate) fn drop_page(&mut self, page: Page) {
        self.blocks.drop_metadata(page);
        self.nand.stale(page);
    }

    /// Nothing in a victim is live any more.
    pub(crate) fn drop_rest(&mut self, victim: Block) {
        debug_assert_eq!(self.blocks.use_of(victim), BlockUse::Victim, "{victim} is given up");
        self.blocks.counters.set(victim, 0);
    }

    /// The moments that a recovery would need if the buffer of the validity store were flushed now: when it is frozen,
    /// and from where on to scan.
    pub(crate) fn flush_marks(&self) -> (u64, ScanFrom) {
        self.durability.flush_marks(self.blocks)
    }

    /// The buffer of the validity store is on flash.
    pub(crate) fn flushed(&mut self) {
        self.durability.flushed(self.blocks);
    }

    /// A translation page was synchronized as of `version`.
    #[inline]
    pub(crate) fn synchronized(&mut self, version: u64) {
        self.durability.synchronized(self.blocks, version);
    }

    /// From where on a recovery would have to scan that begins with the writes from now on.
    pub(crate) fn scan_from_now(&self) -> ScanFrom {
        ScanFrom::now(self.blocks)
    }

    /// Everything before is in translation pages.
    pub(crate) fn mark(&mut self, scan_from: ScanFrom) {
        self.durability.mark(scan_from);
    }

    /// Whether a page stands in a block that is written or being written. A table on flash may name any page, with a
    /// checksum that fits: those that the drive has not stand in none.
    pub(crate) fn is_in_use(&self, page: Page) -> bool {
        self.geometry().contains(page) && self.blocks.is_in_use(self.geometry().block_of(page))
    }

    /// The use of a block.
    pub(crate) fn use_of(&self, block: Block) -> BlockUse {
        self.blocks.use_of(block)
    }

    /// Whether a block holds metadata.
    pub(crate) fn is_metadata(&self, block: Block) -> bool {
        self.blocks.is_metadata(self.blocks.stream_of(block))
    }

    /// A new content's version.
    pub(crate) fn next_version(&mut self) -> u64 {
        self.blocks.clock.next_version()
    }

    /// The program order of the last page programmed.
    pub(crate) fn seq(&self) -> u64 {
        self.blocks.clock.seq()
    }

    /// Nothing starts from now on before everything so far is on flash, for the sake of this rule.
    pub(crate) fn barrier(&mut self, barrier: Barrier) {
        if self.blocks.keeps(barrier) {
            self.now = self.now.max(self.blocks.clock.horizon());
        }
    }

    /// Does something for another purpose than the part's.
    pub(crate) fn for_purpose<R>(&mut self, purpose: Purpose, act: impl FnOnce(&mut Self) -> R) -> R {
        let usual = core::mem::replace(&mut self.purpose, purpose);
        let result = act(self);
        self.purpose = usual;
        result
    }

    /// Whether the rule is kept.
    pub(crate) fn keeps(&self, barrier: Barrier) -> bool {
        self.blocks.keeps(barrier)
    }

    /// When everything read here is there.
    pub(crate) fn read_done(&self) -> Time {
        self.now
    }

    /// The caller goes on with what another request has had read, which is there at `time`.
    #[inline]
    pub(crate) fn wait_until(&mut self, time: Time) {
        if self.waits {
            self.now = self.now.max(time);
        }
        self.done = self.done.max(time);
    }

    /// The operations here so far; counting begins anew.
    pub(crate) fn take_counts(&mut self) -> Unreported {
        self.durability.mounting().map(|mounting| core::mem::take(&mut mounting.counts)).unwrap_or_default()
    }

    /// When everything done here has completed.
    pub(crate) fn done(&self) -> Time {
        self.done.max(self.now)
    }
}

/// The tree's pages stand among those of the mapping.
impl<N: Nand> PageStore for MetaIo<'_, N> {
    type Error = FtlError;

    fn read(&mut self, at: u32, out: &mut [u8]) -> bool {
        match self.read_any(Page(at)).verified() {
            Some((Content::Bytes(bytes), spare)) if spare.kind == Kind::Tree && bytes.len() == out.len() => {
                out.copy_from_slice(bytes);
                true
            }
            _ => false,
        }
    }

    fn append(&mut self, key: u32, bytes: &[u8], _is_root: bool) -> Result<u32, FtlError> {
        let version = self.next_version();
        Ok(self.append_with(SpareMarks::NONE, Kind::Tree, key, version, bytes)?.0)
    }

    fn release(&mut self, at: u32) {
        self.drop_page(Page(at));
    }

    fn read_done(&self) -> Time {
        MetaIo::read_done(self)
    }

    fn wait_until(&mut self, time: Time) {
        MetaIo::wait_until(self, time);
    }
}
