//! `desktop`: the writes of a personal computer, after the PC workload of Dual Greedy's paper.
//!
//! That is a desktop with Windows XP and NTFS on 40 GB (section V-A). The paper observes that lifetimes of pages are
//! bimodal (section III-B, figure 3).
//!
//! The paper's trace is not public. Its workload is made here of the parts that μ-FTL's paper names in one like it
//! (figure 6): metadata at the beginning of the volume, fragments of temporary Internet files, long contiguous files.
//! An aged volume (`ntfs`) is written in *bursts*. Each is one of these. Then the lazy writer writes back the metadata
//! that have changed:
//!
//! | of 100 bursts | what |
//! | --- | --- |
//! | 45 | *registry*: the header of a hive and of its log, and up to three of its pages, a few of them very popular |
//! | 30 | *browser*: up to 12 files for the cache, and its index; what is over the cache's quota goes, oldest first |
//! | 15 | *temporary*: a file that is deleted some bursts later |
//! | 6 | *document*: a file of a few is written anew, and the old one deleted |
//! | 4 | *download*: the next MiB of a long file; where long files are over their quota, any one is deleted |
//!
//! Shares and sizes were chosen such that bursts and transfers are as in public DiskMon traces of desktops. That
//! lifetimes come out bimodal is a result. The trace `desktop_diskmon_mayun2` has these figures; its bursts are apart
//! by more than half a second:
//!
//! | | |
//! | --- | --- |
//! | writes of a burst | half have up to 5, 90 % up to 20, 99 % up to 93 |
//! | size of a write | half have 4 KiB and a fifth 64 KiB, the largest there is |
//!
//! Files are lognormal in size (Douceur and Bolosky, SIGMETRICS 1999). At the beginning half of the volume is full,
//! which they found on average. It was fuller before, so the rest is in holes.
//!
//! **Time.** Bursts are apart by a bounded Pareto distribution from 0.5 to 60 s with α = 1.2. Its median, 90th and 99th
//! percentile are 0.9, 3.3 and 18.5 s; that trace has 1.0, 3.4 and 29. Within a burst a request comes 1 ms after the
//! one before, and 50 ns for each of its bytes. `--open-loop` lets requests arrive so.
//!
//! **Scale.** The volume is the drive, up to 40 GiB. Cache (a 32nd), long files (an eighth) and metadata scale with it;
//! bursts do not. So cold pages live the longer the larger the drive is, and hot ones as long as ever.

use std::collections::VecDeque;

use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::ntfs::{File, NtfsVolume};
use super::requests::{Pace, Requests};
use super::sizes::Sizes;
use super::volume::{CLUSTER_BYTES, clusters_of, volume_bytes};
use crate::TraceError;
use crate::request::{PageRequest, Source};
use crate::workload::address::{below, unit_interval};

const VOLUME_BYTES_MIN: u64 = 32 << 20;
const VOLUME_BYTES_MAX: u64 = 40 << 30;

const IDLE_MIN_NS: f64 = 0.5e9;
const IDLE_MAX_NS: f64 = 60e9;
const IDLE_ALPHA: f64 = 1.2;
const PACE: Pace = Pace { request_ns: 1_000_000, byte_ns: 50 };

/// Blocks of directory indexes: the four directories of the cache, and two for all else.
const CACHE_INDEXES: u64 = 4;
const TEMPORARY_INDEX: u32 = 4;
const DOCUMENT_INDEX: u32 = 5;
const INDEXES: u32 = 6;

const HIVES: u64 = 3;
/// Of these pages of a hive, the first are the most popular.
const HIVE_HOT_PAGES: f64 = 32.0;
const TEMPORARIES_MAX: usize = 32;
const DOWNLOAD_CLUSTERS_PER_BURST: u32 = (1 << 20) / CLUSTER_BYTES as u32;
/// Documents that are worked on.
const DOCUMENTS: usize = 24;

/// A personal computer.
pub(in crate::workload) struct Desktop {
    volume: NtfsVolume,
    /// Each with its log.
    hives: Vec<(File, File)>,
    cache_index: Option<File>,
    cache: VecDeque<File>,
    cache_clusters: u32,
    cache_clusters_max: u32,
    /// Each with the burst in which it is deleted.
    temporaries: Vec<(File, u64)>,
    documents: Vec<File>,
    downloads: Vec<File>,
    downloads_clusters: u32,
    downloads_clusters_max: u32,
    /// The file that is being downloaded, and how many of its clusters are written.
    downloading: Option<(File, u32)>,
    sizes: SizesOfFiles,
    bursts: u64,
    random: Xoshiro256PlusPlus,
    out: Requests,
}

struct SizesOfFiles {
    any: Sizes,
    cached: Sizes,
    temporary: Sizes,
    document: Sizes,
    downloaded: Sizes,
}

impl Desktop {
    pub(in crate::workload) fn source(
        trim: bool,
        logical_pages: u64,
        page_bytes: u32,
        seed: u64,
    ) -> Result<Box<dyn Source + Send>, String> {
        Ok(Box::new(Self::new(trim, logical_pages, page_bytes, seed)?))
    }

    fn new(trim: bool, logical_pages: u64, page_bytes: u32, seed: u64) -> Result<Self, String> {
        let bytes = volume_bytes(logical_pages, page_bytes, VOLUME_BYTES_MIN, VOLUME_BYTES_MAX)?;
        let volume = NtfsVolume::new(bytes, INDEXES, trim);
        let clusters = volume.clusters();
        let largest = bytes / 256;
        let mut desktop = Desktop {
            volume,
            hives: Vec::new(),
            cache_index: None,
            cache: VecDeque::new(),
            cache_clusters: 0,
            cache_clusters_max: clusters / 32,
            temporaries: Vec::new(),
            documents: Vec::new(),
            downloads: Vec::new(),
            downloads_clusters: 0,
            downloads_clusters_max: clusters / 8,
            downloading: None,
            sizes: SizesOfFiles {
                any: Sizes::with_median(8 << 10, 2.4, bytes / 64),
                cached: Sizes::with_median(6 << 10, 1.4, largest),
                temporary: Sizes::with_median(24 << 10, 1.4, largest),
                document: Sizes::with_median(40 << 10, 1.2, largest),
                downloaded: Sizes::with_median((8 << 20).min(bytes / 64), 1.0, bytes / 32),
            },
            bursts: 0,
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
            out: Requests::new(page_bytes, bytes, Some(PACE)),
        };
        desktop.age();
        Ok(desktop)
    }

    /// The content of the volume before the first request, which requests do not write.
    fn age(&mut self) {
        let clusters = self.volume.clusters();
        let hive_clusters = (clusters / 1024).clamp(HIVE_HOT_PAGES as u32, 1024);
        for _ in 0..HIVES {
            let pair = (self.volume.create(hive_clusters, DOCUMENT_INDEX), self.volume.create(8, DOCUMENT_INDEX));
            if let (Some(hive), Some(log)) = pair {
                self.hives.push((hive, log));
            }
        }
        self.cache_index = self.volume.create(16, DOCUMENT_INDEX);
        // It was two thirds full at some time, and files of all ages are deleted since.
        let mut files = Vec::new();
        while self.volume.free_clusters() > clusters / 3 && (files.len() as u64) < u64::from(self.volume.records() / 2)
        {
            let wanted = clusters_of(self.sizes.any.draw(&mut self.random));
            let Some(file) = self.volume.create(wanted, DOCUMENT_INDEX) else { break };
            files.push(file);
        }
        while self.volume.free_clusters() < clusters / 2 && !files.is_empty() {
            let which = below(files.len() as u64, &mut self.random) as usize;
            self.volume.delete(files.swap_remove(which), &mut self.out);
        }
        for _ in 0..DOCUMENTS {
            let wanted = clusters_of(self.sizes.document.draw(&mut self.random));
            self.documents.extend(self.volume.create(wanted, DOCUMENT_INDEX));
        }
        // All that was before the first request.
        self.volume.write_back(&mut self.out);
        while self.out.next().is_some() {}
    }

    fn burst(&mut self) {
        self.bursts += 1;
        let idle = bounded_pareto(IDLE_MIN_NS, IDLE_MAX_NS, IDLE_ALPHA, unit_interval(&mut self.random));
        self.out.idle(idle as u64);
        match below(100, &mut self.random) {
            0..45 => self.registry(),
            45..75 => self.browse(),
            75..90 => self.temporary(),
            90..96 => self.document(),
            _ => self.download(),
        }
        self.delete_temporaries();
        self.volume.write_back(&mut self.out);
    }

    fn registry(&mut self) {
        let which = below(HIVES, &mut self.random) as usize;
        let Some((hive, log)) = self.hives.get(which) else { return };
        let pages = hive.clusters();
        self.volume.write(log, 0, 2.min(log.clusters()), &mut self.out);
        for _ in 0..below(4, &mut self.random) {
            let place = unit_interval(&mut self.random);
            // Half of them are among the first eighth.
            let page = (1.0 + place * place * place * HIVE_HOT_PAGES) as u32;
            self.volume.write(hive, page.min(pages - 1), page.min(pages - 1) + 1, &mut self.out);
        }
        self.volume.write(hive, 0, 1, &mut self.out);
    }

    fn browse(&mut self) {
        for _ in 0..1 + below(12, &mut self.random) {
            let wanted = clusters_of(self.sizes.cached.draw(&mut self.random));
            let index = below(CACHE_INDEXES, &mut self.random) as u32;
            let Some(file) = self.volume.create(wanted, index) else {
                self.evict(self.cache_clusters / 2);
                continue;
            };
            self.volume.write(&file, 0, wanted, &mut self.out);
            self.cache_clusters += wanted;
            self.cache.push_back(file);
        }
        if self.cache_clusters > self.cache_clusters_max {
            // A twentieth at a time.
            self.evict(self.cache_clusters_max / 20 * 19);
        }
        if let Some(index) = &self.cache_index {
            self.volume.touch(index);
            self.volume.write(index, 0, 1, &mut self.out);
            let entry = 1 + below(u64::from(index.clusters() - 1), &mut self.random) as u32;
            self.volume.write(index, entry, entry + 1, &mut self.out);
        }
    }

    /// Deletes the oldest of the cache until it takes no more than so much.
    fn evict(&mut self, clusters: u32) {
        while self.cache_clusters > clusters {
            let Some(file) = self.cache.pop_front() else { break };
            self.cache_clusters -= file.clusters();
            self.volume.delete(file, &mut self.out);
        }
    }

    fn temporary(&mut self) {
        if self.temporaries.len() >= TEMPORARIES_MAX {
            return;
        }
        let wanted = clusters_of(self.sizes.temporary.draw(&mut self.random));
        if let Some(file) = self.volume.create(wanted, TEMPORARY_INDEX) {
            self.volume.write(&file, 0, wanted, &mut self.out);
            let until = self.bursts + below(8, &mut self.random);
            self.temporaries.push((file, until));
        }
    }

    fn delete_temporaries(&mut self) {
        let now = self.bursts;
        for (file, _) in self.temporaries.extract_if(.., |(_, until)| *until <= now) {
            self.volume.delete(file, &mut self.out);
        }
    }

    /// As a word processor saves: a new file takes the place of the old one.
    fn document(&mut self) {
        if self.documents.is_empty() {
            return;
        }
        let which = below(self.documents.len() as u64, &mut self.random) as usize;
        let wanted = clusters_of(self.sizes.document.draw(&mut self.random));
        if let Some(file) = self.volume.create(wanted, DOCUMENT_INDEX)
            && let Some(place) = self.documents.get_mut(which)
        {
            self.volume.write(&file, 0, wanted, &mut self.out);
            let old = std::mem::replace(place, file);
            self.volume.delete(old, &mut self.out);
        }
    }

    fn download(&mut self) {
        let (file, from) = match self.downloading.take() {
            Some(begun) => begun,
            None => {
                let wanted = clusters_of(self.sizes.downloaded.draw(&mut self.random));
                while self.downloads_clusters + wanted > self.downloads_clusters_max && !self.downloads.is_empty() {
                    let which = below(self.downloads.len() as u64, &mut self.random) as usize;
                    let old = self.downloads.swap_remove(which);
                    self.downloads_clusters -= old.clusters();
                    self.volume.delete(old, &mut self.out);
                }
                let Some(file) = self.volume.create(wanted, DOCUMENT_INDEX) else { return };
                (file, 0)
            }
        };
        let until = file.clusters().min(from + DOWNLOAD_CLUSTERS_PER_BURST);
        self.volume.write(&file, from, until, &mut self.out);
        self.volume.touch(&file);
        if until < file.clusters() {
            self.downloading = Some((file, until));
        } else {
            self.downloads_clusters += file.clusters();
            self.downloads.push(file);
        }
    }
}

impl Source for Desktop {
    #[inline]
    fn next_request(&mut self) -> Result<Option<PageRequest>, TraceError> {
        loop {
            if let Some(request) = self.out.next() {
                return Ok(Some(request));
            }
            self.burst();
        }
    }
}

/// Inverts the distribution at `at`, from 0 to below 1.
fn bounded_pareto(least: f64, most: f64, alpha: f64, at: f64) -> f64 {
    let tail = libm::pow(least / most, alpha);
    least * libm::pow(1.0 - at * (1.0 - tail), -1.0 / alpha)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_times_have_the_percentiles_that_are_stated() {
        let seconds = |at| bounded_pareto(IDLE_MIN_NS, IDLE_MAX_NS, IDLE_ALPHA, at) / 1e9;
        for (at, right) in [(0.0, 0.5), (0.5, 0.9), (0.9, 3.3), (0.99, 18.5), (1.0, 60.0)] {
            assert!((seconds(at) / right - 1.0).abs() < 0.06, "{at}: {}", seconds(at));
        }
    }

    #[test]
    fn space_is_conserved_and_quotas_hold() {
        for mib in [32, 100, 1024] {
            let mut desktop = Desktop::new(false, mib << 8, 4096, 1).unwrap();
            let of_files = |d: &Desktop| {
                let hives = d.hives.iter().flat_map(|(hive, log)| [hive, log]);
                let others = d.cache.iter().chain(&d.documents).chain(&d.downloads).chain(&d.cache_index);
                let temporaries = d.temporaries.iter().map(|(file, _)| file);
                let downloading = d.downloading.iter().map(|(file, _)| file);
                let files = hives.chain(others).chain(temporaries).chain(downloading);
                files.map(File::clusters).sum::<u32>()
            };
            let all = of_files(&desktop) + desktop.volume.free_clusters();
            let mut writes = 0u64;
            while writes < 200_000 {
                desktop.burst();
                while let Some(request) = desktop.out.next() {
                    writes += u64::from(request.pages);
                }
                assert_eq!(of_files(&desktop) + desktop.volume.free_clusters(), all, "{mib} MiB");
                assert!(desktop.cache_clusters <= desktop.cache_clusters_max, "{mib} MiB");
                assert_eq!(desktop.cache_clusters, desktop.cache.iter().map(File::clusters).sum::<u32>());
                assert!(desktop.downloads_clusters <= desktop.downloads_clusters_max, "{mib} MiB");
                assert!(desktop.volume.free_clusters() > 0, "{mib} MiB");
            }
            assert!(!desktop.downloads.is_empty() && desktop.cache.len() > 10, "{mib} MiB");
        }
    }
}
