//! The contract of every FTL: the [`Ftl`] trait.

use crate::{BlockLook, CacheLook, Counter, ExtentLook, Finding, FtlError, GeckoLook, RamLedger};
use alloc::boxed::Box;
use alloc::vec::Vec;
use phelsuma_nand::state::Preserve;
#[cfg(feature = "std")]
use phelsuma_nand::state::StateError;
use phelsuma_nand::{Block, Content, LogicalPage, Nand, Purpose, Time};

/// The data of a write.
#[derive(Clone, Copy, Debug)]
pub enum HostData<'a> {
    /// Every page of the request repeats these eight bytes ([`Content::Hollow`]).
    Hollow(u64),
    /// The first page of the request repeats these eight bytes, and each other one the number after that of the page
    /// before it.
    Numbered(u64),
    /// The bytes of all pages of the request, one after the other.
    Bytes(&'a [u8]),
}

impl<'a> HostData<'a> {
    /// The data of the request's page `index`.
    #[inline]
    pub(crate) fn page(&self, index: u32, page_bytes: u32) -> Content<'a> {
        match self {
            Self::Hollow(tag) => Content::Hollow(*tag),
            Self::Numbered(first) => Content::Hollow(first.wrapping_add(u64::from(index))),
            Self::Bytes(bytes) => {
                let start = index as usize * page_bytes as usize;
                Content::Bytes(&bytes[start..start + page_bytes as usize])
            }
        }
    }

    /// The data of the request's page `index`, as those of a request of that page alone.
    #[inline]
    pub(crate) fn alone(&self, index: u32, page_bytes: u32) -> Self {
        match self.page(index, page_bytes) {
            Content::Hollow(tag) => Self::Hollow(tag),
            Content::Bytes(bytes) => Self::Bytes(bytes),
        }
    }
}

/// The host's advice with a request. Nothing that a drive promises rests on it, true or not. All pages of a request
/// have the same.
///
/// Real hosts send handles. None has classes or deaths: a drive in a simulation that gets these is an oracle
/// ([`Composition::knowledge`](crate::Composition::knowledge)).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Preserve)]
#[non_exhaustive]
pub enum Hint {
    /// Nothing.
    #[default]
    None,
    /// The pages are of this class, of those that are written equally often; from 0 on, the one written most often
    /// first.
    Class(u8),
    /// So many pages will the host write from the next one on until these are written again or discarded, the one that
    /// does it included. It is [`Hint::NEVER`] where that is not going to happen.
    Death(u64),
    /// The pages belong with others of this handle: an FDP placement identifier (NVMe TP4146), or the number of a stream
    /// of a multi-stream drive. 0 is the default, as if nothing were said.
    Handle(u8),
}

impl Hint {
    /// A page that stays.
    pub const NEVER: Self = Self::Death(u64::MAX);
}

/// A write: whole pages.
#[derive(Clone, Copy, Debug)]
pub struct WriteRequest<'a> {
    /// First logical page.
    pub first: LogicalPage,
    /// How many pages.
    pub pages: u32,
    /// Their data.
    pub data: HostData<'a>,
    /// What else the host says.
    pub hint: Hint,
}

impl WriteRequest<'_> {
    /// Whether the drive has its pages, and whether its bytes are theirs.
    #[inline]
    pub(crate) fn check(&self, shape: &Shape, page_bytes: u32) -> Result<(), FtlError> {
        shape.check_range(self.first, self.pages)?;
        match self.data {
            HostData::Bytes(bytes) if bytes.len() as u64 != u64::from(self.pages) * u64::from(page_bytes) => {
                Err(FtlError::Length { given: bytes.len(), pages: self.pages, page_bytes })
            }
            _ => Ok(()),
        }
    }
}

/// A host's read of one page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HostPage<'a> {
    /// Never written, or trimmed: zeros.
    Zeros,
    /// The page's data; key and CRC are checked.
    Data(Content<'a>),
    /// The flash does not give the page's data back. A read error for exactly this page.
    Unreadable,
}

impl<'a> From<Content<'a>> for HostPage<'a> {
    fn from(content: Content<'a>) -> Self {
        Self::Data(content)
    }
}

/// Where the pages of a read go.
pub trait ReadSink {
    /// The data of `page`; called once for each page of the request, in order.
    fn page(&mut self, page: LogicalPage, data: HostPage<'_>);
}

impl<F: FnMut(LogicalPage, HostPage<'_>)> ReadSink for F {
    fn page(&mut self, page: LogicalPage, data: HostPage<'_>) {
        self(page, data);
    }
}

/// What a write cache can do besides being an FTL.
pub trait WriteBuffer<N: Nand> {
    /// What is in it.
    fn look(&self) -> CacheLook;

    /// Makes these pages durable, and leaves others in the cache if it may.
    ///
    /// # Errors
    /// [`FtlError::Full`].
    fn force(&mut self, nand: &mut N, first: LogicalPage, pages: u32, at: Time) -> Result<Time, FtlError>;

    /// Writes out the page whose turn it is, and no other; whether there was one.
    ///
    /// # Errors
    /// [`FtlError::Full`].
    fn write_out_one(&mut self, nand: &mut N, at: Time) -> Result<bool, FtlError>;
}

/// The result of a background step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// Something, until this moment.
    Did(Time),
    /// There was nothing to do.
    Nothing,
}

/// How an FTL divides the flash.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Preserve)]
pub struct Shape {
    /// Logical pages that the host sees.
    pub logical_pages: u32,
    /// Blocks kept free for collection and for what crashes leave behind, and those of an SLC cache.
    pub reserve_blocks: u32,
    /// Blocks open for writing at the most.
    pub open_blocks: u32,
    /// Those of them that are log blocks, whose pages are the spare space of a log-block FTL: of its other blocks it
    /// uses one for each logical block and no more. None of other FTLs.
    pub log_blocks: u32,
    /// Blocks that hold no data ever (the drive's description, and GeckoRec's block log if there is one).
    pub fixed_blocks: u32,
    /// Blocks set aside for metadata. Those that are left until all of their pages are stale may take no more.
    pub metadata_blocks: u32,
    /// As many blocks as there can be stale user pages that are not identified yet: they take the room of live ones.
    pub unidentified_blocks: u32,
    /// Pages that metadata may program during one collection, at the most.
    pub metadata_programs_per_collection: u32,
    /// Programs on battery when the power fails, at the most. There is one for each translation page that can need it,
    /// those for other state that is in RAM alone, and four that fail. None without a battery.
    pub battery_programs: u32,
}

impl Shape {
    /// Whether the drive has these pages.
    #[inline]
    pub(crate) fn check_range(&self, first: LogicalPage, pages: u32) -> Result<(), FtlError> {
        let last = u64::from(first.0) + u64::from(pages);
        if last > u64::from(self.logical_pages) {
            return Err(FtlError::OutOfRange {
                first: u64::from(first.0),
                last: last - 1,
                logical_pages: self.logical_pages,
            });
        }
        Ok(())
    }
}

/// A flash translation layer. The flash is lent for each call. Times are moments of simulated time; a driver without a
/// clock passes [`Time::ZERO`] throughout.
///
/// What the host may rely on:
/// - A write is **acknowledged** when the returned moment has come, and is then on flash. A power cut does not take it
///   back, unless the FTL [says so](Ftl::is_safe_when_flushed).
/// - Each page is atomic; a request of several pages is not. After a power cut an unacknowledged page is old or new,
///   and what the first recovery shows stays.
/// - A page never written reads as zeros.
/// - A trim is durable at the next completed `flush`. Until then a power cut may bring back the page's last
///   acknowledged content, never another page's and never an older one.
///
/// It may be handed from thread to thread: a server answers its clients from several, one request at a time.
pub trait Ftl<N: Nand>: Send {
    /// How the flash is divided.
    fn shape(&self) -> Shape;

    /// Writes whole pages; returns the moment of acknowledgement.
    ///
    /// # Errors [`FtlError::OutOfRange`], [`FtlError::Length`] before anything is done; [`FtlError::Full`] when the
    /// flash is worn out.
    fn write(&mut self, nand: &mut N, request: &WriteRequest<'_>, at: Time) -> Result<Time, FtlError>;

    /// Reads whole pages into `sink`; returns the moment the last one is there. `cause` is [`Purpose::Host`], or
    /// [`Purpose::Rmw`] where a partial write needs the old page.
    ///
    /// # Errors
    /// [`FtlError::OutOfRange`]. A page that cannot be read is no error of the call: it is reported to the sink.
    fn read(
        &mut self,
        nand: &mut N,
        first: LogicalPage,
        pages: u32,
        cause: Purpose,
        at: Time,
        sink: &mut dyn ReadSink,
    ) -> Result<Time, FtlError>;

    /// Says of each page whether it is mapped, and reads no data for it where the mapping says so; returns the moment the
    /// last answer is there. A page that is not mapped reads as zeros. Whatever [`Ftl::read`] costs to find a page this
    /// costs as well: translation pages are read, and cached.
    ///
    /// # Errors
    /// [`FtlError::OutOfRange`].
    fn find_mapped(
        &mut self,
        nand: &mut N,
        first: LogicalPage,
        pages: u32,
        at: Time,
        found: &mut dyn FnMut(LogicalPage, bool),
    ) -> Result<Time, FtlError> {
        let mut sink = |page: LogicalPage, data: HostPage<'_>| found(page, !matches!(data, HostPage::Zeros));
        self.read(nand, first, pages, Purpose::Host, at, &mut sink)
    }

    /// Discards whole pages: they read as zeros from now on.
    ///
    /// # Errors
    /// As [`Ftl::write`]. A full drive takes trims longer than writes, but not from the space that a battery needs.
    fn trim(&mut self, nand: &mut N, first: LogicalPage, pages: u32, at: Time) -> Result<Time, FtlError>;

    /// Makes everything durable that is not yet, trims included; returns the moment it is.
    ///
    /// # Errors
    /// [`FtlError::Full`].
    fn flush(&mut self, nand: &mut N, at: Time) -> Result<Time, FtlError>;

    /// Whether an acknowledged write is safe from a power cut only with the next completed [`flush`](Ftl::flush), or
    /// with background work that was [due](Ftl::due) and is done. A page that is not safe may be as it was at any
    /// moment since the last one, or a read error. It never reads as another page's.
    fn is_safe_when_flushed(&self) -> bool {
        false
    }

    /// From which moment on [`Ftl::background_step`] has work that must not wait until the host is idle, if there is
    /// such work. A driver with a clock calls it then, and before it hands in a request that comes later. It may change
    /// with each request. A driver without a clock need not call this.
    fn due(&self) -> Option<Time> {
        None
    }

    /// Does a piece of work that can be done while the host is idle, or that is [due](Ftl::due).
    ///
    /// # Errors
    /// [`FtlError::Full`].
    fn background_step(&mut self, nand: &mut N, at: Time) -> Result<Step, FtlError> {
        let _ = (nand, at);
        Ok(Step::Nothing)
    }

    /// Stops in good order: the next start may be faster than after a cut.
    ///
    /// # Errors
    /// [`FtlError::Full`].
    fn close(&mut self, nand: &mut N, at: Time) -> Result<Time, FtlError> {
        self.flush(nand, at)
    }

    /// The power has failed, and the request that was in progress is done. A battery keeps the flash going for
    /// [`Shape::battery_programs`] programs more. Saves the state that is in RAM alone, and starts nothing else. An FTL
    /// without a battery does nothing. The drive is of no use afterwards but for a recovery.
    ///
    /// # Errors
    /// [`FtlError::Full`]: the space set aside is not there. It is enough where no more than four programs and erases
    /// fail on battery.
    fn power_fail(&mut self, nand: &mut N, at: Time) -> Result<Time, FtlError> {
        let _ = nand;
        Ok(at)
    }

    /// Another FTL in the same state, for a copy of the same flash. A laboratory branches with it.
    fn copy(&self) -> Box<dyn Ftl<N>>;

    /// These pages may be requested soon: fetches what the processor will need for them, and changes nothing. A hint to
    /// the machine that runs the FTL, not to the FTL.
    fn warm(&self, nand: &N, pages: &[LogicalPage]) {
        let _ = (nand, pages);
    }

    /// Whether it reports each page of metadata that is stale to the flash ([`Nand::stale`]). A simulation lets go of
    /// their data then.
    fn reports_stale(&self) -> bool {
        false
    }

    /// Its state, to be saved and taken back: by the same FTL of the same build in another process, just formatted in the
    /// same configuration. The flash is saved and taken back with it.
    ///
    /// # Errors
    /// [`StateError::Unsaved`], where it has not stated how, or cannot be saved now.
    #[cfg(feature = "std")]
    fn state(&mut self) -> Result<Box<dyn Preserve + '_>, StateError> {
        Err(StateError::Unsaved("this FTL"))
    }

    /// The write cache above it, if it has one.
    fn write_cache(&mut self) -> Option<&mut dyn WriteBuffer<N>> {
        None
    }

    /// Its RAM.
    fn ram(&self) -> RamLedger;

    /// Its counters besides those of flash operations, by name.
    fn counters(&self) -> Vec<Counter>;

    /// The state of the blocks from `first` on, one for each place in `out`; places behind the last block stay as they
    /// are. Whether it has one at all. For an onlooker: it touches no flash, and changes nothing.
    fn look_at_blocks(&self, first: Block, out: &mut [BlockLook]) -> bool {
        let _ = (first, out);
        false
    }

    /// Its Logarithmic Gecko, if it has one. For an onlooker, as [`Ftl::look_at_blocks`].
    fn look_at_gecko(&self) -> Option<GeckoLook> {
        None
    }

    /// The extents of its µ-Tree in the order of their pages, if it has one. For an onlooker: the FTL stays as it is.
    /// But this reads a great deal of flash, which counts and times it, so `nand` is to be a copy.
    fn look_at_extents(&self, nand: &mut N) -> Option<Vec<ExtentLook>> {
        let _ = nand;
        None
    }

    /// Compares its RAM structures with each other and with the flash; a finding for each disagreement. For tests, and
    /// for a drive that has just been recovered. It reads a great deal of flash at no moment in particular, and the
    /// flash counts and times those reads. So a measurement must end before it. The FTL itself, its counters included,
    /// stays as it is.
    fn check(&mut self, nand: &mut N) -> Vec<Finding>;
}
