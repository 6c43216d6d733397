//! Where requests go as time goes by: a square of slices of the requests, and of the addresses (µ-FTL, figure 6).
//!
//! How many requests come and how high they go shows at the end. So slices begin as single requests and pages, and twice
//! as many go into one whenever they do not suffice.

use crate::request::Request;

/// Slices of the summary, each way.
const SIDE: u64 = 16;
/// Slices that are counted, each way.
const FINE: u64 = 256;

pub(super) struct Counter {
    page_bytes: u64,
    requests_of_slice: u64,
    /// A multiple of a page.
    bytes_of_slice: u64,
    /// Pages by slice of the addresses, and in it by slice of the requests.
    pages: Vec<u64>,
}

impl Counter {
    pub(super) fn new(page_bytes: u32) -> Self {
        let page_bytes = u64::from(page_bytes);
        Self { page_bytes, requests_of_slice: 1, bytes_of_slice: page_bytes, pages: vec![0; (FINE * FINE) as usize] }
    }

    /// A read or a write, which is the trace's request of this number.
    pub(super) fn add(&mut self, number: u64, request: &Request) {
        let end = request.offset_bytes + request.size_bytes;
        while number / self.requests_of_slice >= FINE {
            self.requests_of_slice *= 2;
            self.pages = Self::halved(&self.pages, |row, column| (row, column / 2));
        }
        while end.saturating_sub(1) / self.bytes_of_slice >= FINE {
            self.bytes_of_slice *= 2;
            self.pages = Self::halved(&self.pages, |row, column| (row / 2, column));
        }
        let column = number / self.requests_of_slice;
        let (mut at, bytes) = (request.offset_bytes, self.bytes_of_slice);
        while at < end {
            let row = at / bytes;
            let until = end.min((row + 1) * bytes);
            let pages = until.div_ceil(self.page_bytes) - at / self.page_bytes;
            self.pages.get_mut((row * FINE + column) as usize).into_iter().for_each(|count| *count += pages);
            at = until;
        }
    }

    fn halved(pages: &[u64], to: impl Fn(u64, u64) -> (u64, u64)) -> Vec<u64> {
        let mut halved = vec![0; pages.len()];
        for (place, count) in (0..).zip(pages) {
            let (row, column) = to(place / FINE, place % FINE);
            halved.get_mut((row * FINE + column) as usize).into_iter().for_each(|sum| *sum += count);
        }
        halved
    }

    /// Pages by slice of the addresses up to the highest byte, the lowest first, and in it by slice of the requests.
    pub(super) fn summary(&self, requests: u64, highest_byte: u64) -> Vec<u64> {
        let mut places = vec![0; (SIDE * SIDE) as usize];
        let slice = |n: u64, of: u64, all: u64| {
            (u128::from(n) * u128::from(of) * u128::from(SIDE) / u128::from(all.max(1))).min((SIDE - 1).into()) as u64
        };
        for (place, count) in (0..).zip(&self.pages) {
            let row = slice(place / FINE, self.bytes_of_slice, highest_byte);
            let column = slice(place % FINE, self.requests_of_slice, requests);
            places.get_mut((row * SIDE + column) as usize).into_iter().for_each(|sum: &mut u64| *sum += count);
        }
        places
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Op;

    fn write(offset_bytes: u64, size_bytes: u64) -> Request {
        Request { time_ns: 0, device: 0, op: Op::Write, offset_bytes, size_bytes, handle: 0 }
    }

    #[test]
    fn what_is_written_in_order_is_on_the_diagonal_however_much_it_is() {
        for requests in [16, 4096, 100_000] {
            let mut counter = Counter::new(4096);
            (0..requests).for_each(|n| counter.add(n, &write(n * 8192, 8192)));
            let places = counter.summary(requests, requests * 8192);
            assert_eq!(places.iter().sum::<u64>(), 2 * requests);
            let off = (0..SIDE * SIDE).filter(|place| (place / SIDE).abs_diff(place % SIDE) > 1);
            assert_eq!(off.map(|place| places[place as usize]).sum::<u64>(), 0, "{requests}");
            let on = (0..SIDE).map(|n| places[(n * SIDE + n) as usize]).sum::<u64>();
            assert!(on * 10 > 18 * requests, "{on} of {requests}");
        }
    }

    #[test]
    fn pages_touched_in_part_count_and_a_long_request_is_in_each_slice_that_it_touches() {
        let mut counter = Counter::new(4096);
        counter.add(0, &write(4095, 2));
        counter.add(1, &write(0, 1 << 30));
        let places = counter.summary(2, 1 << 30);
        assert_eq!(places.iter().sum::<u64>(), 2 + (1 << 18));
        assert_eq!((places[0], places[8], places[15 * 16 + 8]), (2, 1 << 14, 1 << 14));
    }
}
