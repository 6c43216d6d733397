//! A small journalling FTL after Dhara, as an FTL from outside for the crash laboratory to try.
//!
//! It is made after what is publicly known of Dhara (Daniel Beer's FTL for small microcontrollers). None of its code is
//! from there.
//!
//! Common with Dhara: all pages go to one log that runs around the chip. They come in groups. The last page of a group
//! is its checkpoint, which holds the metadata of the others; until it is written they do not count. The mapping is a
//! radix tree threaded through these metadata (`tree.rs`). Space is collected at the log's tail (`log.rs`). RAM keeps
//! the ends of the log and the metadata of the group that is being written. A recovery finds the last checkpoint by
//! binary search (`resume.rs`).
//!
//! **The flaw**: a checkpoint page that a power cut has met is left behind where the log goes on. When the tail comes
//! to its group, collection reads it. If it is blank, or whole, all is well. If it reads as an ECC error, collection
//! gives up. It reads so the next time, too: the drive shows everything, and can never be written in full again.
//! [`Journal::skips_torn_groups`] mends that: a page that cannot be read was never a checkpoint.
//!
//! Different from Dhara: every request ends with a checkpoint, since here a write that is acknowledged is on flash. So
//! there are rules that Dhara does not have. They are against pages that look blank and are not, and against pages that
//! read well only until the next cut. A recovery goes on in a fresh block, and first writes anew what the last
//! checkpoint holds. A checksum stands in for ECC. Slots that sync has nothing for are left out, not filled. Blocks
//! that go bad are not handled, nothing overlaps, and operations are not as few as they could be.

mod layout;
mod log;
mod resume;
mod tree;

use layout::{DEPTH_MAX, Layout, Meta, NOWHERE};
use phelsuma_drive::lab::{CutNand, Ready, Subject};
use phelsuma_ftl::{
    Counter, Finding, Ftl, FtlError, HostData, HostPage, RamLedger, ReadSink, RecoveryReport, SetAside, Shape,
    WriteRequest,
};
use phelsuma_nand::{Block, Content, Kind, LogicalPage, Nand, Purpose, Time};

/// Blocks that are free after a recovery and before a page of the host. Each cut of a recovery may cost one.
const RESERVE_BLOCKS: u32 = 8;

/// What collection says for ever, with the flaw.
pub(crate) const TORN_GROUP: FtlError =
    FtlError::Unsupported("the checkpoint of a group to be collected is unreadable");

/// The journalling FTL, as it is configured.
#[derive(Clone, Debug)]
pub(crate) struct Journal {
    pub(crate) logical_pages: u32,
    /// Whether collection passes over a group whose checkpoint page cannot be read.
    pub(crate) skips_torn_groups: bool,
}

impl Subject for Journal {
    fn name(&self) -> &str {
        if self.skips_torn_groups { "journal" } else { "journal-with-the-flaw" }
    }

    fn logical_pages(&self) -> u32 {
        self.logical_pages
    }

    fn format(&self, nand: &mut CutNand, at: Time) -> Ready<Time> {
        let mut ftl = JournalFtl::empty(self, self.layout(nand)?, at);
        for block in (0..nand.geometry().blocks()).map(Block) {
            ftl.done = nand.erase(block, ftl.op(Purpose::Format))?;
        }
        // A log that is empty ends in the block before the one in which it begins.
        ftl.tail = ftl.layout.places() - nand.geometry().pages_per_block();
        ftl.checkpoint(nand)?;
        let done = ftl.done;
        Ok((Box::new(ftl), done))
    }

    fn recover(&self, nand: &mut CutNand, at: Time) -> Ready<RecoveryReport> {
        let (ftl, report) = JournalFtl::resume(self, self.layout(nand)?, nand, at)?;
        Ok((Box::new(ftl), report))
    }
}

impl Journal {
    fn layout(&self, nand: &CutNand) -> Result<Layout, FtlError> {
        let geometry = *nand.geometry();
        let layout = Layout::new(geometry, self.logical_pages);
        // Beside the reserve, the block that is written, and a block that a cut has cut short. A quarter is for
        // collection.
        let user_blocks = u64::from(geometry.blocks().saturating_sub(RESERVE_BLOCKS + 2));
        let usable_pages = layout.map_or(0, |layout| {
            let group = u64::from(layout.group);
            user_blocks * u64::from(geometry.pages_per_block()) * (group - 1) / group * 3 / 4
        });
        match layout {
            Some(layout) if u64::from(self.logical_pages) <= usable_pages => Ok(layout),
            _ => Err(FtlError::DoesNotFit {
                logical_pages: self.logical_pages,
                set_aside: SetAside {
                    reserve_blocks: RESERVE_BLOCKS,
                    open_blocks: 1,
                    metadata_blocks: 0,
                    unidentified_blocks: 0,
                },
                usable_pages,
                largest_ratio: usable_pages as f64 / geometry.pages() as f64,
            }),
        }
    }
}

/// The journalling FTL, as it runs.
#[derive(Clone)]
struct JournalFtl {
    layout: Layout,
    logical_pages: u32,
    skips_torn_groups: bool,
    /// Where the log goes on, and where it begins.
    head: u32,
    tail: u32,
    epoch: u32,
    /// The root of the tree, and how many logical pages are in it.
    root: u32,
    live: u32,
    /// Metadata of the pages since the last checkpoint, and whether there is anything else that it does not hold.
    open: Vec<Meta>,
    changed: bool,
    /// Metadata of the group at the tail.
    tail_group: Option<Vec<Meta>>,
    /// During a recovery, metadata of the last group that it has found.
    held: Option<(u32, Vec<Meta>)>,
    /// When everything so far is done.
    done: Time,
}

impl JournalFtl {
    fn empty(config: &Journal, layout: Layout, at: Time) -> Self {
        Self {
            layout,
            logical_pages: config.logical_pages,
            skips_torn_groups: config.skips_torn_groups,
            head: 0,
            tail: 0,
            epoch: 0,
            root: NOWHERE,
            live: 0,
            open: Vec::new(),
            changed: false,
            tail_group: None,
            held: None,
            done: at,
        }
    }

    fn in_range(&self, first: LogicalPage, pages: u32) -> Result<std::ops::Range<u32>, FtlError> {
        let end = u64::from(first.0) + u64::from(pages);
        if pages == 0 || end > u64::from(self.logical_pages) {
            let (first, last) = (u64::from(first.0), end.saturating_sub(1));
            return Err(FtlError::OutOfRange { first, last, logical_pages: self.logical_pages });
        }
        Ok(first.0..end as u32)
    }

    fn write_page<N: Nand>(&mut self, nand: &mut N, id: u32, content: Content<'_>) -> Result<(), FtlError> {
        self.make_space(nand)?;
        let way = self.way_to(nand, id)?;
        self.live += u32::from(way.place.is_none());
        self.append(nand, (content, content.crc()), way.meta, Purpose::Host)
    }

    fn trim_page<N: Nand>(&mut self, nand: &mut N, id: u32) -> Result<(), FtlError> {
        self.make_space(nand)?;
        let way = self.way_to(nand, id)?;
        if way.place.is_none() {
            return Ok(());
        }
        self.live -= 1;
        match self.without(nand, &way)? {
            Some((neighbour, meta)) => self.append_copy(nand, neighbour, meta, Purpose::Trim),
            None => {
                self.clear();
                Ok(())
            }
        }
    }

    /// Whether the page at this place is in the log.
    fn is_in_log(&self, place: u32) -> bool {
        let places = self.layout.places();
        let ahead = |place: u32| (place + places - self.tail) % places;
        ahead(place) < ahead(self.head) || self.head == self.tail
    }

    fn findings<N: Nand>(&mut self, nand: &mut N) -> Result<Vec<String>, FtlError> {
        let mut findings = Vec::new();
        let mut live = 0;
        for id in 0..self.logical_pages {
            let Some(place) = self.way_to(nand, id)?.place else { continue };
            live += 1;
            if !self.is_in_log(place) {
                findings.push(format!("logical page {id} is at {place}, the log from {} to {}", self.tail, self.head));
            }
            let (read, _) = nand.read(self.layout.page(place), self.op(Purpose::Host));
            if !read.verified().is_some_and(|(_, spare)| spare.kind == Kind::User && spare.key == id) {
                findings.push(format!("logical page {id} is not at {place}"));
            }
        }
        if live != self.live {
            findings.push(format!("{live} logical pages are mapped, {} were counted", self.live));
        }
        Ok(findings)
    }
}

impl<N: Nand + 'static> Ftl<N> for JournalFtl {
    fn shape(&self) -> Shape {
        Shape {
            logical_pages: self.logical_pages,
            reserve_blocks: RESERVE_BLOCKS,
            open_blocks: 1,
            log_blocks: 0,
            fixed_blocks: 0,
            metadata_blocks: 0,
            unidentified_blocks: 0,
            metadata_programs_per_collection: 0,
            battery_programs: 0,
        }
    }

    fn write(&mut self, nand: &mut N, request: &WriteRequest<'_>, at: Time) -> Result<Time, FtlError> {
        let range = self.in_range(request.first, request.pages)?;
        let page_bytes = self.layout.geometry.page_bytes();
        self.done = self.done.max(at);
        let mut pieces = match request.data {
            HostData::Bytes(bytes) if bytes.len() != request.pages as usize * page_bytes as usize => {
                return Err(FtlError::Length { given: bytes.len(), pages: request.pages, page_bytes });
            }
            HostData::Bytes(bytes) => bytes.chunks_exact(page_bytes as usize),
            HostData::Hollow(_) | HostData::Numbered(_) => [].chunks_exact(1),
        };
        for id in range {
            let content = match request.data {
                HostData::Hollow(tag) => Content::Hollow(tag),
                HostData::Numbered(tag) => Content::Hollow(tag + u64::from(id - request.first.0)),
                HostData::Bytes(_) => Content::Bytes(pieces.next().unwrap_or_default()),
            };
            self.write_page(nand, id, content)?;
        }
        self.sync(nand)?;
        Ok(self.done)
    }

    fn read(
        &mut self,
        nand: &mut N,
        first: LogicalPage,
        pages: u32,
        cause: Purpose,
        at: Time,
        sink: &mut dyn ReadSink,
    ) -> Result<Time, FtlError> {
        let range = self.in_range(first, pages)?;
        self.done = self.done.max(at);
        for id in range {
            let place = match self.way_to(nand, id) {
                Ok(way) => way.place,
                Err(_) => {
                    sink.page(LogicalPage(id), HostPage::Unreadable);
                    continue;
                }
            };
            let Some(place) = place else {
                sink.page(LogicalPage(id), HostPage::Zeros);
                continue;
            };
            let (read, done) = nand.read(self.layout.page(place), self.op(cause));
            self.done = done;
            sink.page(
                LogicalPage(id),
                match read.verified() {
                    Some((content, spare)) if spare.kind == Kind::User && spare.key == id => HostPage::Data(content),
                    _ => HostPage::Unreadable,
                },
            );
        }
        Ok(self.done)
    }

    fn trim(&mut self, nand: &mut N, first: LogicalPage, pages: u32, at: Time) -> Result<Time, FtlError> {
        let range = self.in_range(first, pages)?;
        self.done = self.done.max(at);
        for id in range {
            self.trim_page(nand, id)?;
        }
        self.sync(nand)?;
        Ok(self.done)
    }

    fn flush(&mut self, nand: &mut N, at: Time) -> Result<Time, FtlError> {
        self.done = self.done.max(at);
        self.sync(nand)?;
        Ok(self.done)
    }

    fn copy(&self) -> Box<dyn Ftl<N>> {
        Box::new(self.clone())
    }

    fn ram(&self) -> RamLedger {
        let mut ledger = RamLedger::default();
        let meta = 4 * (1 + DEPTH_MAX as u64);
        ledger.structure("journal", 4 * 6);
        ledger.structure("journal.open_group", meta * u64::from(self.layout.group - 1));
        ledger.index("buffer.tail_group", meta * u64::from(self.layout.group - 1));
        ledger
    }

    fn counters(&self) -> Vec<Counter> {
        Vec::new()
    }

    fn check(&mut self, nand: &mut N) -> Vec<Finding> {
        let done = self.done;
        let findings = self.findings(nand).unwrap_or_else(|error| vec![format!("the tree cannot be walked: {error}")]);
        self.done = done;
        findings.into_iter().map(Finding::from).collect()
    }
}
