//! The requests of a volume: ranges of bytes become requests of pages, in the order of the calls.

use std::collections::VecDeque;

use super::volume::SECTOR_BYTES;
use crate::request::{Op, PageRequest};

/// The largest transfer that Windows sent to a disk in those years: the most frequent size of large writes in every
/// DiskMon trace of a desktop that is public.
pub(super) const TRANSFER_BYTES_MAX: u64 = 64 << 10;

/// How fast a host goes about it, where that is stated.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    /// From each request to the next, in nanoseconds.
    pub(super) request_ns: u64,
    /// And for each byte of it, in nanoseconds.
    pub(super) byte_ns: u64,
}

/// Requests that are still to be handed out.
#[derive(Debug)]
pub(super) struct Requests {
    queue: VecDeque<PageRequest>,
    page_bytes: u64,
    volume_bytes: u64,
    pace: Option<Pace>,
    now_ns: u64,
}

impl Requests {
    /// Without a pace all times are 0.
    pub(super) fn new(page_bytes: u32, volume_bytes: u64, pace: Option<Pace>) -> Self {
        Requests { queue: VecDeque::new(), page_bytes: u64::from(page_bytes), volume_bytes, pace, now_ns: 0 }
    }

    pub(super) fn next(&mut self) -> Option<PageRequest> {
        self.queue.pop_front()
    }

    /// There are no requests for so long.
    pub(super) fn idle(&mut self, ns: u64) {
        self.now_ns = self.now_ns.saturating_add(ns);
    }

    /// Writes a range of whole sectors, not empty, in transfers as large as can be.
    pub(super) fn write(&mut self, offset_bytes: u64, bytes: u64) {
        debug_assert!(bytes > 0 && (offset_bytes | bytes).is_multiple_of(SECTOR_BYTES));
        let end = offset_bytes + bytes;
        assert!(end <= self.volume_bytes, "a write behind the end of the volume");
        let mut at = offset_bytes;
        while at < end {
            let until = end.min(at + TRANSFER_BYTES_MAX);
            let (first, after) = (at / self.page_bytes, until.div_ceil(self.page_bytes));
            let (begins_inside, ends_inside) =
                (!at.is_multiple_of(self.page_bytes), !until.is_multiple_of(self.page_bytes));
            let one = after - first == 1;
            self.push(
                PageRequest {
                    at_ns: self.now_ns,
                    op: Op::Write,
                    first,
                    // At most one transfer in pages of at least a sector.
                    pages: (after - first) as u32,
                    partial_first: begins_inside || (one && ends_inside),
                    partial_last: !one && ends_inside,
                    handle: 0,
                },
                until - at,
            );
            at = until;
        }
    }

    /// Trims the whole pages of a range.
    pub(super) fn trim(&mut self, offset_bytes: u64, bytes: u64) {
        let end = offset_bytes + bytes;
        assert!(end <= self.volume_bytes, "a trim behind the end of the volume");
        let (first, after) = (offset_bytes.div_ceil(self.page_bytes), end / self.page_bytes);
        let Some(pages) = after.checked_sub(first).filter(|&pages| pages > 0) else { return };
        let pages = u32::try_from(pages).unwrap_or(u32::MAX);
        let request = PageRequest {
            at_ns: self.now_ns,
            op: Op::Trim,
            first,
            pages,
            partial_first: false,
            partial_last: false,
            handle: 0,
        };
        self.push(request, 0);
    }

    fn push(&mut self, request: PageRequest, bytes: u64) {
        self.queue.push_back(request);
        if let Some(pace) = self.pace {
            self.idle(pace.request_ns + pace.byte_ns * bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(page_bytes: u32, offset: u64, bytes: u64) -> Vec<(u64, u32, bool, bool)> {
        let mut requests = Requests::new(page_bytes, 1 << 30, None);
        requests.write(offset, bytes);
        std::iter::from_fn(|| requests.next()).map(|r| (r.first, r.pages, r.partial_first, r.partial_last)).collect()
    }

    #[test]
    fn writes_are_cut_into_transfers_and_know_which_pages_they_cover_in_part() {
        assert_eq!(written(4096, 8192, 4096), [(2, 1, false, false)]);
        assert_eq!(written(4096, 512, 512), [(0, 1, true, false)]);
        assert_eq!(written(4096, 0, 512), [(0, 1, true, false)]);
        assert_eq!(written(4096, 3584, 1024), [(0, 2, true, true)]);
        assert_eq!(written(4096, 0, (64 << 10) + 512), [(0, 16, false, false), (16, 1, true, false)]);
        assert_eq!(written(512, 512, 1024), [(1, 2, false, false)]);
        assert_eq!(written(1 << 20, 1 << 20, 128 << 10), [(1, 1, true, false), (1, 1, true, false)]);
    }

    #[test]
    fn trims_round_inward() {
        let mut requests = Requests::new(4096, 1 << 30, None);
        requests.trim(512, 4096);
        assert_eq!(requests.next(), None);
        requests.trim(512, 8192);
        assert_eq!(requests.next().map(|r| (r.op, r.first, r.pages)), Some((Op::Trim, 1, 1)));
    }
}
