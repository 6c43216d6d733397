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

/// A workload in which `writes` write requests stand: mostly single pages, half of them to a fifth of the space, with
/// runs of up to eight pages, trims of up to sixteen, and flushes in between. It begins by filling the drive in runs, so
/// that collection is at work for nearly all of it.
pub(crate) fn script(logical_pages: u32, writes: u32, seed: u64) -> Vec<Request> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed ^ 0x5c21);
    let mut below = |n: u32| (((rng.next_u64() >> 32) * u64::from(n.max(1))) >> 32) as u32;
    let mut requests = Vec::new();
    let mut written = 0;
    let mut next = 0;
    while written < writes {
        if next < logical_pages {
            let pages = 8.min(logical_pages - next);
            requests.push(Request::Write { first: next, pages });
            next += pages;
            written += 1;
            continue;
        }
        let space = if below(2) == 0 { logical_pages.div_ceil(5) } else { logical_pages };
        let first = below(space);
        match below(100) {
            0..=79 => requests.push(Request::Write { first, pages: 1 }),
            80..=87 => requests.push(Request::Write { first, pages: (1 + below(8)).min(logical_pages - first) }),
            88..=95 => {
                requests.push(Request::Trim { first, pages: (1 + below(16)).min(logical_pages - first) });
                continue;
            }
            // Stretches with many flushes, and stretches with hardly any: trims stay pending over many collections.
            n if n == 99 || written / 600 % 2 == 0 => {
                if n < 99 || below(16) == 0 {
                    requests.push(Request::Flush);
                }
                continue;
            }
            _ => continue,
        }
        written += 1;
    }
    requests
}
