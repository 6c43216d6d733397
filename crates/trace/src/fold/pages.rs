//! From bytes to whole pages of one device.

use crate::request::{Op, Request};

/// The pages of one device that a request covers, at least one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PageRange {
    pub(crate) first: u64,
    pub(crate) pages: u64,
    /// Part of the first page is not covered.
    pub(crate) partial_first: bool,
    /// Part of the last page is not covered.
    pub(crate) partial_last: bool,
}

/// The pages that a request touches or, for a trim, covers in full. `None` for a flush and for a trim
/// without a whole page. Requires a range that a reader let pass: at most 2^63 for its end.
pub(crate) fn pages_of(request: &Request, page_bytes: u32) -> Option<PageRange> {
    let page_bytes = u64::from(page_bytes);
    let end = request.offset_bytes.checked_add(request.size_bytes)?;
    let (first, past) = match request.op {
        Op::Flush => return None,
        Op::Trim => (request.offset_bytes.div_ceil(page_bytes), end / page_bytes),
        Op::Read | Op::Write => (request.offset_bytes / page_bytes, end.div_ceil(page_bytes)),
    };
    let pages = past.checked_sub(first).filter(|&pages| pages > 0)?;
    let data = request.op != Op::Trim;
    Some(PageRange {
        first,
        pages,
        partial_first: data && !request.offset_bytes.is_multiple_of(page_bytes),
        partial_last: data && !end.is_multiple_of(page_bytes),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(op: Op, offset_bytes: u64, size_bytes: u64) -> Request {
        Request { time_ns: 0, device: 0, op, offset_bytes, size_bytes, handle: 0 }
    }

    fn range(first: u64, pages: u64, partial_first: bool, partial_last: bool) -> Option<PageRange> {
        Some(PageRange { first, pages, partial_first, partial_last })
    }

    #[test]
    fn a_write_touches_every_page_it_overlaps() {
        assert_eq!(pages_of(&request(Op::Write, 4096, 4096), 4096), range(1, 1, false, false));
        assert_eq!(pages_of(&request(Op::Write, 4095, 2), 4096), range(0, 2, true, true));
        assert_eq!(pages_of(&request(Op::Write, 512, 8192), 4096), range(0, 3, true, true));
        assert_eq!(pages_of(&request(Op::Read, 0, 512), 4096), range(0, 1, false, true));
    }

    #[test]
    fn a_trim_covers_only_whole_pages() {
        assert_eq!(pages_of(&request(Op::Trim, 512, 8192), 4096), range(1, 1, false, false));
        assert_eq!(pages_of(&request(Op::Trim, 512, 4096), 4096), None);
        assert_eq!(pages_of(&request(Op::Trim, 4096, 8192), 4096), range(1, 2, false, false));
    }

    #[test]
    fn the_last_byte_of_the_address_space_is_a_page() {
        let request = request(Op::Write, (1 << 63) - 512, 512);
        assert_eq!(pages_of(&request, 4096), range((1 << 51) - 1, 1, true, false));
    }
}
