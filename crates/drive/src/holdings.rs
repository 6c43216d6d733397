//! Which logical pages hold data, from the host's side: a recovery is checked against it.
//!
//! It is a bit a logical page, kept only where the power is going to be cut. The bit says only that a page has *some*
//! data of the host's. The data of a run are all alike, so a page that came back older than it was is not noticed here.
//! The crash laboratory tells versions apart.

use phelsuma_ftl::HostPage;
use phelsuma_nand::Content;
use phelsuma_trace::{Op, PageRequest};

/// Which logical pages hold data.
pub(crate) struct Holdings {
    bits: Vec<u64>,
    /// There were trims since the last flush: these may be undone by a cut.
    trims_pending: bool,
}

impl Holdings {
    /// Of a drive of so many logical pages, none of which holds any.
    pub(crate) fn none(logical_pages: u32) -> Self {
        Self { bits: vec![0; logical_pages.div_ceil(64) as usize], trims_pending: false }
    }

    /// A request is done.
    pub(crate) fn note(&mut self, request: &PageRequest) {
        match request.op {
            Op::Read => {}
            Op::Write => self.set(request, true),
            Op::Trim => {
                self.set(request, false);
                self.trims_pending = true;
            }
            Op::Flush => self.trims_pending = false,
        }
    }

    fn set(&mut self, request: &PageRequest, holds_data: bool) {
        for page in request.first..request.first + u64::from(request.pages) {
            self.note_page(page as u32, holds_data);
        }
    }

    /// The finding about a page: that it holds data, or not.
    pub(crate) fn note_page(&mut self, page: u32, holds_data: bool) {
        let (word, bit) = (page as usize / 64, 1 << (page % 64));
        match holds_data {
            true => self.bits[word] |= bit,
            false => self.bits[word] &= !bit,
        }
    }

    /// Whether a page holds data.
    pub(crate) fn holds_data(&self, page: u32) -> bool {
        self.bits[page as usize / 64] >> (page % 64) & 1 == 1
    }

    /// Compares a page as it reads after a recovery with its record here.
    pub(crate) fn compare(&self, page: u32, read: HostPage<'_>, found: &mut Differences) {
        match (self.holds_data(page), read) {
            (true, HostPage::Data(Content::Hollow(0))) | (false, HostPage::Zeros) => {}
            (_, HostPage::Unreadable) => found.unreadable += 1,
            (true, HostPage::Zeros) => found.lost += 1,
            // An FTL may keep a trim in RAM until the next flush.
            (false, HostPage::Data(Content::Hollow(0))) if self.trims_pending => {}
            (false, HostPage::Data(_)) => found.came_back += 1,
            (true, HostPage::Data(_)) => found.strange += 1,
        }
    }
}

/// How many pages of a recovered drive are wrong.
#[derive(Default)]
pub(crate) struct Differences {
    lost: u64,
    came_back: u64,
    unreadable: u64,
    strange: u64,
}

impl Differences {
    /// How many pages that held data are zeros or read errors; they are no difference any more.
    pub(crate) fn take_lost(&mut self) -> u64 {
        core::mem::take(&mut self.lost) + core::mem::take(&mut self.unreadable)
    }

    /// The error, in one line, if there is one.
    pub(crate) fn finding(&self) -> Option<String> {
        let kinds = [
            (self.lost, "lost"),
            (self.came_back, "back though never written, or trimmed and flushed"),
            (self.unreadable, "unreadable"),
            (self.strange, "not the host's data"),
        ];
        let found: Vec<String> = kinds.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}")).collect();
        (!found.is_empty()).then(|| format!("after the power was cut pages are not as they were: {}", found.join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DATA: HostPage<'_> = HostPage::Data(Content::Hollow(0));

    fn request(op: Op, first: u64, pages: u32) -> PageRequest {
        PageRequest { at_ns: 0, op, first, pages, partial_first: false, partial_last: false, handle: 0 }
    }

    fn finding(holdings: &Holdings, page: u32, read: HostPage<'_>) -> Option<String> {
        let mut found = Differences::default();
        holdings.compare(page, read, &mut found);
        found.finding()
    }

    #[test]
    fn only_a_trim_that_was_not_flushed_may_be_undone() {
        let mut holdings = Holdings::none(100);
        holdings.note(&request(Op::Write, 60, 10));
        assert!(finding(&holdings, 63, DATA).is_none() && finding(&holdings, 64, DATA).is_none());
        assert!(finding(&holdings, 64, HostPage::Zeros).unwrap().contains("1 lost"));
        assert!(finding(&holdings, 64, HostPage::Unreadable).unwrap().contains("1 unreadable"));
        assert!(finding(&holdings, 59, DATA).unwrap().contains("1 back"), "never written");
        holdings.note(&request(Op::Trim, 64, 1));
        assert!(finding(&holdings, 64, DATA).is_none() && finding(&holdings, 64, HostPage::Zeros).is_none());
        assert!(finding(&holdings, 65, HostPage::Zeros).is_some());
        holdings.note(&request(Op::Flush, 0, 0));
        assert!(finding(&holdings, 64, DATA).unwrap().contains("1 back"));
    }
}
