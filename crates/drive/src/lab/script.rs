//! The workload of a crash experiment: writes, trims and flushes, drawn from a seed.

use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// One request of the host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Request {
    /// Pages written, all with one tag.
    Write {
        /// First logical page.
        first: u32,
        /// How many.
        pages: u32,
    },
    /// Pages discarded.
    Trim {
        /// First logical page.
        first: u32,
        /// How many.
        pages: u32,
    },
    /// Everything made durable.
    Flush,
}

/// What the host does in an experiment.
pub(crate) struct Script {
    pub(crate) requests: Vec<Request>,
    /// So many requests come before the workload.
    pub(crate) preconditioning: usize,
}

impl Script {
    /// A workload of `writes` write requests, on a drive that is preconditioned: filled in runs, and then written like
    /// the workload itself until as many pages have been written as the flash has. So collection is at work from the
    /// workload's first request on.
    pub(crate) fn new(physical_pages: u64, logical_pages: u32, writes: u32, seed: u64) -> Self {
        const RUN: u32 = 8;
        let mut requests: Vec<Request> = (0..logical_pages)
            .step_by(RUN as usize)
            .map(|first| Request::Write { first, pages: RUN.min(logical_pages - first) })
            .collect();
        let mut draw = Draw { rng: Xoshiro256PlusPlus::seed_from_u64(seed ^ 0x5c21), logical_pages };
        let mut pages_written = u64::from(logical_pages);
        while pages_written < physical_pages {
            let request = draw.request(true);
            if let Request::Write { pages, .. } = request {
                pages_written += u64::from(pages);
            }
            requests.push(request);
        }
        let preconditioning = requests.len();
        let mut written = 0;
        while written < writes {
            // Stretches with many flushes, and stretches with hardly any: trims stay pending over many collections.
            let request = draw.request((written / FLUSHES_CHANGE).is_multiple_of(2));
            written += u32::from(matches!(request, Request::Write { .. }));
            requests.push(request);
        }
        Self { requests, preconditioning }
    }

    /// Whether the workload's request `number` is the first of one of so many equal parts.
    pub(crate) fn begins_part(&self, number: usize, parts: u32) -> bool {
        let all = (self.requests.len() - self.preconditioning) as u64;
        let part_of = |n: usize| (n as u64 * u64::from(parts)).div_ceil(all.max(1));
        number.checked_sub(self.preconditioning).is_some_and(|n| part_of(n) < part_of(n + 1))
    }
}

/// After how many writes of the workload the flushes become many or few.
const FLUSHES_CHANGE: u32 = 600;

struct Draw {
    rng: Xoshiro256PlusPlus,
    logical_pages: u32,
}

impl Draw {
    fn below(&mut self, n: u32) -> u32 {
        (((self.rng.next_u64() >> 32) * u64::from(n.max(1))) >> 32) as u32
    }

    /// Mostly single pages, half of them in a fifth of the space, with runs of up to eight pages, trims of up to
    /// sixteen, and flushes in between.
    fn request(&mut self, many_flushes: bool) -> Request {
        let all = self.logical_pages;
        loop {
            let space = if self.below(2) == 0 { all.div_ceil(5) } else { all };
            let first = self.below(space);
            match self.below(100) {
                0..=79 => return Request::Write { first, pages: 1 },
                80..=87 => return Request::Write { first, pages: (1 + self.below(8)).min(all - first) },
                88..=95 => return Request::Trim { first, pages: (1 + self.below(16)).min(all - first) },
                n if (n < 99 && many_flushes) || (n == 99 && self.below(16) == 0) => return Request::Flush,
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_drive_is_full_before_the_workload_begins_and_a_longer_workload_begins_with_the_shorter_one() {
        let (short, long) = (Script::new(1000, 600, 30, 1), Script::new(1000, 600, 300, 1));
        assert_eq!(short.preconditioning, long.preconditioning);
        assert_eq!(short.requests, long.requests[..short.requests.len()]);
        let written = |requests: &[Request]| -> (u32, u32) {
            let pages = |r: &Request| if let Request::Write { pages, .. } = r { Some(*pages) } else { None };
            let each: Vec<u32> = requests.iter().filter_map(pages).collect();
            (each.len() as u32, each.iter().sum())
        };
        assert!(written(&short.requests[..short.preconditioning]).1 >= 1000);
        assert_eq!(written(&short.requests[short.preconditioning..]).0, 30);
    }

    #[test]
    fn the_workload_alone_is_divided_into_parts() {
        let script = Script::new(1000, 600, 100, 1);
        let begins =
            |parts| -> Vec<usize> { (0..script.requests.len()).filter(|n| script.begins_part(*n, parts)).collect() };
        assert!(begins(0).is_empty());
        let four = begins(4);
        assert_eq!(four.len(), 4);
        assert!(four[0] >= script.preconditioning);
    }
}
