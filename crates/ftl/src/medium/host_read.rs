//! How a host's read gets its pages: found, read, and checked to have the key that was requested.

use crate::FtlError;
use crate::barriers::{Barrier, Barriers};
use crate::ftl::{HostPage, ReadSink, Shape};
use phelsuma_nand::{Content, Kind, LogicalPage, Nand, Op, Page, PageRead, Purpose, Spare, SpareRead, Time};

/// Where a page is that a host reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Sought {
    /// It was never written, or is trimmed.
    Nowhere,
    /// Nothing says any more where it is.
    Lost,
    /// There.
    At(Page),
    /// There, unless that page is blank or [a hole](FindPages::is_hole): then it was never written.
    AtIfWritten(Page),
}

/// An FTL, as a host's read needs it.
pub(crate) trait FindPages<N: Nand> {
    /// How the flash is divided.
    fn shape(&self) -> Shape;

    /// The barriers that it keeps.
    fn barriers(&self) -> Barriers;

    /// Where a logical page is, and when that is known.
    fn find(&mut self, nand: &mut N, key: LogicalPage, at: Time) -> (Sought, Time);

    /// The reading of a page that a recovery could not write elsewhere.
    #[inline]
    fn kept(&self, page: Page) -> Option<Content<'_>> {
        let _ = page;
        None
    }

    /// Whether a spare area says that the logical page in whose place it stands is not there.
    #[inline]
    fn is_hole(spare: &Spare, key: LogicalPage) -> bool {
        let _ = (spare, key);
        false
    }

    /// A page could not be read.
    fn count_unreadable(&mut self);
}

/// Reads whole pages into `sink`, as [`Ftl::read`](crate::Ftl::read) does.
///
/// # Errors
/// [`FtlError::OutOfRange`].
#[inline]
pub(crate) fn read<N: Nand, F: FindPages<N>>(
    ftl: &mut F,
    nand: &mut N,
    (first, pages): (LogicalPage, u32),
    cause: Purpose,
    at: Time,
    sink: &mut dyn ReadSink,
) -> Result<Time, FtlError> {
    ftl.shape().check_range(first, pages)?;
    let barriers = ftl.barriers();
    let mut done = at;
    for index in 0..pages {
        let key = LogicalPage(first.0 + index);
        let (sought, known) = ftl.find(nand, key, at);
        done = done.max(known);
        let (page, may_be_hole) = match sought {
            Sought::At(page) => (page, false),
            Sought::AtIfWritten(page) => (page, true),
            Sought::Nowhere => {
                sink.page(key, HostPage::Zeros);
                continue;
            }
            Sought::Lost => {
                ftl.count_unreadable();
                sink.page(key, HostPage::Unreadable);
                continue;
            }
        };
        if let Some(content) = ftl.kept(page) {
            sink.page(key, HostPage::Data(content));
            continue;
        }
        let (read, ready) = nand.read(page, Op::new(known, cause));
        done = done.max(ready);
        if may_be_hole && is_absent::<N, F>(&read, key) {
            sink.page(key, HostPage::Zeros);
            continue;
        }
        let read = match read {
            PageRead::Written { content, spare, .. } if !barriers.keeps(Barrier::HostDataVerified) => {
                Some((content, spare))
            }
            read => read.verified(),
        };
        let is_sought = |spare: &Spare| spare.kind == Kind::User && spare.key == key.0;
        match read {
            Some((content, spare)) if is_sought(&spare) || !barriers.keeps(Barrier::OwnerChecked) => {
                sink.page(key, HostPage::Data(content));
            }
            _ => {
                ftl.count_unreadable();
                sink.page(key, HostPage::Unreadable);
            }
        }
    }
    Ok(done)
}

/// Says of each page whether it is mapped, as [`Ftl::find_mapped`](crate::Ftl::find_mapped) does: found as by [`read`].
///
/// # Errors
/// [`FtlError::OutOfRange`].
pub(crate) fn find_mapped<N: Nand, F: FindPages<N>>(
    ftl: &mut F,
    nand: &mut N,
    (first, pages): (LogicalPage, u32),
    at: Time,
    found: &mut dyn FnMut(LogicalPage, bool),
) -> Result<Time, FtlError> {
    ftl.shape().check_range(first, pages)?;
    let mut done = at;
    for index in 0..pages {
        let key = LogicalPage(first.0 + index);
        let (sought, known) = ftl.find(nand, key, at);
        let (is_mapped, ready) = match sought {
            Sought::Nowhere => (false, known),
            // A read error is not zeros.
            Sought::At(_) | Sought::Lost => (true, known),
            Sought::AtIfWritten(page) if ftl.kept(page).is_some() => (true, known),
            Sought::AtIfWritten(page) => is_written::<N, F>(nand, page, key, known),
        };
        done = done.max(ready);
        found(key, is_mapped);
    }
    Ok(done)
}

/// Whether a page read in the place of a logical page shows that this was never written. The spare area alone tells a
/// hole: where flash keeps bytes, its data do not fit the CRC of a tag.
fn is_absent<N: Nand, F: FindPages<N>>(read: &PageRead<'_>, key: LogicalPage) -> bool {
    match read {
        PageRead::Erased => true,
        PageRead::Written { spare, .. } => F::is_hole(spare, key),
        PageRead::Unreadable => false,
    }
}

/// Whether anything was written in the place of a logical page, and when that is known. The spare area says so; only a
/// hole is read in full, for one that cannot be read is a read error.
fn is_written<N: Nand, F: FindPages<N>>(nand: &mut N, page: Page, key: LogicalPage, at: Time) -> (bool, Time) {
    let (spare, ready) = nand.read_spare(page, Op::new(at, Purpose::Host));
    match spare {
        SpareRead::Erased => (false, ready),
        SpareRead::Written(spare) if F::is_hole(&spare, key) => {
            let (read, ready) = nand.read(page, Op::new(ready, Purpose::Host));
            (!is_absent::<N, F>(&read, key), ready)
        }
        SpareRead::Written(_) | SpareRead::Unreadable => (true, ready),
    }
}
