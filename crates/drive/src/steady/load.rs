//! One load of a round: requests of one size, some of which read, until enough is measured.

use super::result::{Load, Measured, Pattern};
use super::{Length, Test};
use crate::config::{Arrival, RunError};
use crate::drive::Drive;
use crate::measure::{Mark, throughput};
use phelsuma_nand::Nand;
use phelsuma_trace::{Op, PageRequest};
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A load has at least so many requests, and so many times the queue depth: else its rates were of its begin and end.
const REQUESTS_MIN: u64 = 64;
const TIMES_QUEUE_DEPTH: u64 = 4;
/// It moves so many times what the drive's buffers hold: else it would measure these.
const TIMES_BUFFERED: u64 = 20;
/// Requests that may take no time before a load is given up.
const IDLE_REQUESTS_MAX: u64 = 1 << 20;
/// A load that is measured by time has at most so many requests.
const REQUESTS_MAX: u64 = 1 << 30;
/// Requests between two looks at who waits for the result.
const REQUESTS_PER_LOOK: u64 = 1 << 12;

/// Mixes of the IOPS test, in percent of reads.
const READ_PERCENT: [u32; 7] = [100, 95, 65, 50, 35, 5, 0];
/// Block sizes of the IOPS test in bytes, in its order.
const BLOCK_BYTES: [u64; 8] = [1 << 20, 128 << 10, 64 << 10, 32 << 10, 16 << 10, 8 << 10, 4 << 10, 512];
/// The block size whose random writes are tracked.
const TRACKED_BYTES: u64 = 4 << 10;
/// A drive that has fewer blocks of a size is not measured with that size.
const BLOCKS_MIN: u64 = 16;

/// Whether blocks of so many bytes are whole pages, and the drive has enough of them.
fn fits(block_bytes: u64, page_bytes: u64, logical_pages: u64) -> bool {
    block_bytes.is_multiple_of(page_bytes) && block_bytes / page_bytes * BLOCKS_MIN <= logical_pages
}

/// The least whole number of pages that is at least so large, in bytes.
fn at_least(bytes: u64, page_bytes: u64) -> u64 {
    bytes.next_multiple_of(page_bytes)
}

/// The random writes that are tracked: of 4 KiB, or of a page if that is larger.
fn tracked(page_bytes: u64) -> Load {
    Load { pattern: Pattern::Random, read_percent: 0, block_bytes: at_least(TRACKED_BYTES, page_bytes) }
}

/// The parts of a test: the bytes of the writes before, the loads of a round, and the load that is tracked.
pub(crate) fn parts(test: Test, page_bytes: u64, logical_pages: u64) -> Vec<(Option<u64>, Vec<Load>, Load)> {
    let random = |read_percent, block_bytes| Load { pattern: Pattern::Random, read_percent, block_bytes };
    let mut sizes: Vec<u64> = BLOCK_BYTES.into_iter().filter(|b| fits(*b, page_bytes, logical_pages)).collect();
    let of_writes = tracked(page_bytes);
    if !sizes.contains(&of_writes.block_bytes) {
        sizes.push(of_writes.block_bytes);
    }
    let large = |bytes: u64| if fits(bytes, page_bytes, logical_pages) { bytes } else { page_bytes };
    match test {
        Test::Iops => {
            let loads = READ_PERCENT.iter().flat_map(|percent| sizes.iter().map(|bytes| random(*percent, *bytes)));
            vec![(Some(large(128 << 10)), loads.collect(), of_writes)]
        }
        Test::Latency => {
            sizes.retain(|bytes| *bytes <= 8 << 10 || *bytes == of_writes.block_bytes);
            let loads = [100, 65, 0].iter().flat_map(|percent| sizes.iter().map(|bytes| random(*percent, *bytes)));
            vec![(Some(large(128 << 10)), loads.collect(), of_writes)]
        }
        Test::WriteSaturation => vec![(None, vec![of_writes], of_writes)],
        Test::Throughput => {
            let mut sizes: Vec<u64> = [1 << 20, 128 << 10].map(large).to_vec();
            sizes.dedup();
            let part = |bytes: u64| {
                let load = |read_percent| Load { pattern: Pattern::Sequential, read_percent, block_bytes: bytes };
                (Some(bytes), vec![load(100), load(0)], load(0))
            };
            sizes.into_iter().map(part).collect()
        }
    }
}

/// Gives the requests of loads to a drive, one load after the other.
pub(crate) struct Host {
    random: Xoshiro256PlusPlus,
    logical_pages: u64,
    queue_depth: u32,
    /// The next block of a sequential load, in pages.
    next: u64,
}

impl Host {
    pub(crate) fn new(seed: u64, logical_pages: u64, queue_depth: u32) -> Self {
        Self { random: Xoshiro256PlusPlus::seed_from_u64(seed ^ 0x57ea), logical_pages, queue_depth, next: 0 }
    }

    fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.random.next_u64()) * u128::from(n)) >> 64) as u64
    }

    fn request(&mut self, load: &Load, pages: u64) -> PageRequest {
        let blocks = self.logical_pages / pages;
        let first = match load.pattern {
            Pattern::Random => self.below(blocks) * pages,
            Pattern::Sequential => {
                let first = if self.next + pages > blocks * pages { 0 } else { self.next };
                self.next = first + pages;
                first
            }
        };
        let op = match load.read_percent {
            0 => Op::Write,
            100 => Op::Read,
            percent if self.below(100) < u64::from(percent) => Op::Read,
            _ => Op::Write,
        };
        PageRequest { at_ns: 0, op, first, pages: pages as u32, partial_first: false, partial_last: false, handle: 0 }
    }

    /// Measures a load. `go_on` is asked now and then.
    pub(crate) fn measure(
        &mut self,
        drive: &mut Drive,
        load: &Load,
        length: Length,
        go_on: &dyn Fn() -> bool,
    ) -> Result<Measured, RunError> {
        let page_bytes = u64::from(drive.nand().geometry().page_bytes());
        let pages = load.block_bytes / page_bytes;
        drive.begin_counting(Arrival::QueueDepth(self.queue_depth));
        let (began, mark) = (drive.idle(), Mark::of(drive));
        // A load of another size begins with a block of its own.
        self.next = 0;
        let buffered = TIMES_BUFFERED * drive.buffered_pages_max();
        let at_least = REQUESTS_MIN.max(TIMES_QUEUE_DEPTH * u64::from(self.queue_depth)).max(buffered.div_ceil(pages));
        let enough = |share: f64| (share * self.logical_pages as f64) as u64;
        let enough = if let Length::Capacities(share) = length { enough(share) } else { 0 };
        let is_long = |drive: &Drive, requests: u64| match length {
            Length::Capacities(_) => requests * pages >= enough,
            Length::Seconds(seconds) => (drive.idle().0 - began.0) as f64 >= seconds * 1e9,
        };
        let mut requests = 0;
        while requests < at_least || !is_long(drive, requests) {
            if requests == REQUESTS_MAX {
                return Err(RunError::Input(format!(
                    "a load of so many seconds has more than {REQUESTS_MAX} requests: fewer would be right"
                )));
            }
            if requests % REQUESTS_PER_LOOK == REQUESTS_PER_LOOK - 1 && !go_on() {
                return Err(RunError::Stopped);
            }
            let request = self.request(load, pages);
            drive.submit(&request)?;
            requests += 1;
            if requests == IDLE_REQUESTS_MAX && drive.idle() == began {
                return Err(RunError::Input(format!(
                    "{IDLE_REQUESTS_MAX} requests took no time: a smaller write cache, or times of a drive, would be right"
                )));
            }
        }
        let elapsed = drive.idle().0 - began.0;
        let counts = *drive.counts();
        let rates = throughput(&counts, drive.nand().geometry(), elapsed);
        Ok(Measured {
            load: *load,
            requests,
            simulated_seconds: elapsed as f64 / 1e9,
            requests_per_second: rates.requests_per_second,
            mb_per_second: rates.read_mb_per_second + rates.write_mb_per_second,
            latency_us: drive.latencies(),
            write_amplification: mark.amplification(drive, counts.write_pages),
        })
    }
}
