//! An NTFS-like volume: a master file table, a journal, an allocation bitmap, directory indexes, files of extents.
//!
//! After B. Carrier, "File System Forensic Analysis" (2005), chapters 11 to 13:
//! - each file has a record of 1 KiB in the `$MFT`, the lowest free one;
//! - a directory is an index of 4 KiB blocks;
//! - `$Bitmap` has a bit for each cluster;
//! - changes of metadata are logged in `$LogFile`, round and round, before they are written in place;
//! - extents are chosen by best fit (`best_fit`).
//!
//! Metadata stay in the host's memory until [`NtfsVolume::write_back`] writes the pages that have changed. The journal
//! comes first, its last page anew each time until it is full.
//!
//! Simplified:
//! - metadata lie at the beginning of the volume and do not grow (`$MFT` a 64th of it, `$LogFile` a 256th, at most 64
//!   MiB);
//! - a record of the journal takes [`LOGGED_BYTES`] for a file created, grown or deleted;
//! - small files are not kept in their records;
//! - nothing is read.

use std::collections::BTreeSet;

use super::best_fit::BestFit;
use super::requests::Requests;
use super::volume::{CLUSTER_BYTES, Run};

const RECORD_BYTES: u64 = 1024;
const RECORDS_PER_CLUSTER: u32 = (CLUSTER_BYTES / RECORD_BYTES) as u32;
/// Records that the file system has for itself.
const SYSTEM_RECORDS: u32 = 24;
/// The journal's bytes for a change of a file's metadata: some records of one to a few hundred bytes.
const LOGGED_BYTES: u64 = 1200;
/// The first two pages of the journal say where it begins.
const RESTART_PAGES: u32 = 2;
/// The journal's restart page is written each time that metadata have been written back so often.
const WRITE_BACKS_PER_CHECKPOINT: u32 = 5;
const JOURNAL_CLUSTERS_MAX: u32 = (64 << 20) / CLUSTER_BYTES as u32;
const CLUSTERS_PER_BITMAP_CLUSTER: u32 = CLUSTER_BYTES as u32 * 8;

/// A file on the volume.
#[derive(Debug)]
pub(super) struct File {
    runs: Vec<Run>,
    record: u32,
    /// The block of its directory's index that names it.
    index: u32,
}

impl File {
    pub(super) fn clusters(&self) -> u32 {
        self.runs.iter().map(|run| run.clusters).sum()
    }
}

/// The volume.
#[derive(Debug)]
pub(super) struct NtfsVolume {
    free: BestFit,
    clusters: u32,
    records: u32,
    /// Records that were given back; above `records_begun` none was ever in use.
    free_records: BTreeSet<u32>,
    records_begun: u32,
    mft: u32,
    bitmap: u32,
    journal: Run,
    /// Where the next record of the journal goes, and where the last write ended, in bytes since it was made.
    journal_at: u64,
    journal_written: u64,
    write_backs: u32,
    indexes: Run,
    /// Clusters of metadata that have changed.
    changed: BTreeSet<u32>,
    trim: bool,
}

impl NtfsVolume {
    /// A volume of so many bytes, at least 32 MiB, with so many index blocks, just formatted.
    pub(super) fn new(volume_bytes: u64, index_blocks: u32, trim: bool) -> Self {
        let clusters = u32::try_from(volume_bytes / CLUSTER_BYTES).unwrap_or(u32::MAX);
        let mut next = 4;
        let mut region = |clusters: u32| {
            let run = Run { first: next, clusters };
            next += clusters;
            run
        };
        let mft = region(clusters / 64);
        let journal = region((clusters / 256).clamp(RESTART_PAGES + 16, JOURNAL_CLUSTERS_MAX));
        let bitmap = region(clusters.div_ceil(CLUSTERS_PER_BITMAP_CLUSTER));
        let indexes = region(index_blocks);
        NtfsVolume {
            free: BestFit::new(Run { first: next, clusters: clusters - next }),
            clusters,
            records: mft.clusters * RECORDS_PER_CLUSTER,
            free_records: BTreeSet::new(),
            records_begun: SYSTEM_RECORDS,
            mft: mft.first,
            bitmap: bitmap.first,
            journal,
            journal_at: 0,
            journal_written: 0,
            write_backs: 0,
            indexes,
            changed: BTreeSet::new(),
            trim,
        }
    }

    /// All clusters, those of metadata included.
    pub(super) fn clusters(&self) -> u32 {
        self.clusters
    }

    /// Clusters that no file has.
    pub(super) fn free_clusters(&self) -> u32 {
        self.free.free()
    }

    /// Records of files that there can be.
    pub(super) fn records(&self) -> u32 {
        self.records
    }

    /// Takes the space of a file and its record; none where one of them is not there.
    pub(super) fn create(&mut self, clusters: u32, index: u32) -> Option<File> {
        if self.free_records.is_empty() && self.records_begun >= self.records {
            return None;
        }
        let runs = self.free.take(clusters)?;
        let record = self.free_records.pop_first().unwrap_or_else(|| {
            self.records_begun += 1;
            self.records_begun - 1
        });
        let file = File { runs, record, index };
        self.change(&file);
        Some(file)
    }

    /// Writes the clusters `from` to `until` of a file, counted from its first; in place, and without metadata.
    pub(super) fn write(&self, file: &File, from: u32, until: u32, out: &mut Requests) {
        let mut before = 0;
        for run in &file.runs {
            let (first, after) = (from.max(before), until.min(before + run.clusters));
            if first < after {
                out.write(
                    u64::from(run.first + (first - before)) * CLUSTER_BYTES,
                    u64::from(after - first) * CLUSTER_BYTES,
                );
            }
            before += run.clusters;
        }
    }

    /// Notes that a file's times and size have changed.
    pub(super) fn touch(&mut self, file: &File) {
        self.changed.insert(self.mft + file.record / RECORDS_PER_CLUSTER);
        self.journal_at += LOGGED_BYTES / 4;
    }

    /// Deletes a file.
    pub(super) fn delete(&mut self, file: File, out: &mut Requests) {
        self.change(&file);
        self.free_records.insert(file.record);
        for run in file.runs {
            self.free.give(run);
            if self.trim {
                out.trim(u64::from(run.first) * CLUSTER_BYTES, u64::from(run.clusters) * CLUSTER_BYTES);
            }
        }
    }

    /// Writes the changes, the journal first.
    pub(super) fn write_back(&mut self, out: &mut Requests) {
        if self.journal_at > self.journal_written {
            self.write_journal(out);
        }
        let mut pending: Option<Run> = None;
        for cluster in std::mem::take(&mut self.changed) {
            pending = match pending {
                Some(run) if run.end() == cluster => Some(Run { clusters: run.clusters + 1, ..run }),
                other => {
                    write_run(other, out);
                    Some(Run { first: cluster, clusters: 1 })
                }
            };
        }
        write_run(pending, out);
        self.write_backs += 1;
        if self.write_backs.is_multiple_of(WRITE_BACKS_PER_CHECKPOINT) {
            let page = self.write_backs / WRITE_BACKS_PER_CHECKPOINT % RESTART_PAGES;
            write_run(Some(Run { first: self.journal.first + page, clusters: 1 }), out);
        }
    }

    /// From the page that the last write left part-filled to the one that the newest record ends in.
    fn write_journal(&mut self, out: &mut Requests) {
        let ring = self.journal.clusters - RESTART_PAGES;
        let first = self.journal_written / CLUSTER_BYTES;
        let after = self.journal_at.div_ceil(CLUSTER_BYTES);
        // Records older than once round are overwritten already.
        for page in first.max(after.saturating_sub(u64::from(ring)))..after {
            let cluster = self.journal.first + RESTART_PAGES + (page % u64::from(ring)) as u32;
            write_run(Some(Run { first: cluster, clusters: 1 }), out);
        }
        self.journal_written = self.journal_at;
    }

    fn change(&mut self, file: &File) {
        self.changed.insert(self.mft + file.record / RECORDS_PER_CLUSTER);
        self.changed.insert(self.indexes.first + file.index % self.indexes.clusters.max(1));
        for run in &file.runs {
            let page = |cluster: u32| self.bitmap + cluster / CLUSTERS_PER_BITMAP_CLUSTER;
            self.changed.extend(page(run.first)..=page(run.end() - 1));
        }
        self.journal_at += LOGGED_BYTES;
    }
}

fn write_run(run: Option<Run>, out: &mut Requests) {
    if let Some(run) = run {
        out.write(u64::from(run.first) * CLUSTER_BYTES, u64::from(run.clusters) * CLUSTER_BYTES);
    }
}

#[cfg(test)]
mod tests {
    use rand_core::{RngCore, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;

    const VOLUME: u64 = 32 << 20;

    fn pages(out: &mut Requests) -> Vec<(u64, u32)> {
        std::iter::from_fn(|| out.next()).map(|request| (request.first, request.pages)).collect()
    }

    #[test]
    fn a_change_writes_the_journal_then_record_bitmap_and_index() {
        let mut out = Requests::new(4096, VOLUME, None);
        let mut volume = NtfsVolume::new(VOLUME, 8, false);
        // $MFT from 4, $LogFile from 132, $Bitmap at 164, indexes from 165.
        let file = volume.create(20, 3).unwrap();
        volume.write(&file, 0, 20, &mut out);
        assert_eq!(pages(&mut out), [(173, 16), (189, 4)]);
        volume.write(&file, 5, 6, &mut out);
        assert_eq!(pages(&mut out), [(178, 1)]);
        volume.write_back(&mut out);
        assert_eq!(pages(&mut out), [(134, 1), (4 + 6, 1), (164, 1), (168, 1)]);
        volume.touch(&file);
        volume.write_back(&mut out);
        assert_eq!(pages(&mut out), [(134, 1), (4 + 6, 1)], "the journal's last page is written anew");
        volume.delete(file, &mut out);
        assert_eq!(pages(&mut out), []);
        let again = volume.create(20, 3).unwrap();
        assert_eq!((again.record, again.runs[0].first), (SYSTEM_RECORDS, 173));
    }

    #[test]
    fn the_journal_goes_round() {
        let mut out = Requests::new(4096, VOLUME, None);
        let mut volume = NtfsVolume::new(VOLUME, 8, false);
        let mut journal = Vec::new();
        for _ in 0..500 {
            let file = volume.create(1, 0).unwrap();
            volume.delete(file, &mut out);
            volume.write_back(&mut out);
            journal.extend(pages(&mut out).into_iter().filter(|page| (134..164).contains(&page.0)));
        }
        // 500 times 2,400 bytes are 293 pages, and most are written twice.
        assert!(journal.len() > 400, "{}", journal.len());
        for pair in journal.windows(2) {
            let ahead = (pair[1].0 + 30 - pair[0].0) % 30;
            assert!(ahead <= 1, "{pair:?}");
        }
    }

    #[test]
    fn clusters_and_records_of_files_never_overlap_and_none_is_lost() {
        let mut out = Requests::new(4096, VOLUME, None);
        let mut volume = NtfsVolume::new(VOLUME, 8, false);
        let all = volume.free_clusters();
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut files: Vec<File> = Vec::new();
        let mut refused = 0;
        for _ in 0..3000 {
            if !random.next_u64().is_multiple_of(3) {
                match volume.create(1 + (random.next_u64() % 60) as u32, 0) {
                    Some(file) => files.push(file),
                    None => refused += 1,
                }
            } else if !files.is_empty() {
                let which = random.next_u64() as usize % files.len();
                volume.delete(files.swap_remove(which), &mut out);
            }
            let mut owned = vec![false; volume.clusters() as usize];
            for cluster in files.iter().flat_map(|file| file.runs.clone()).flat_map(|run| run.first..run.end()) {
                assert!(cluster >= volume.clusters() - all, "{cluster} is metadata");
                assert!(!std::mem::replace(&mut owned[cluster as usize], true), "{cluster} belongs to two");
            }
            let used: u32 = files.iter().map(File::clusters).sum();
            assert_eq!(used + volume.free_clusters(), all);
            let records: BTreeSet<u32> = files.iter().map(|file| file.record).collect();
            assert_eq!(records.len(), files.len());
            assert!(records.iter().all(|&record| (SYSTEM_RECORDS..volume.records()).contains(&record)));
        }
        assert!(refused > 0, "the volume was never full");
    }
}
