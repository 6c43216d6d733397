//! A FAT32-like volume: boot sectors, two file allocation tables, one directory, files.
//!
//! After Microsoft's "FAT: General Overview of On-Disk Format" 1.03 (2000). A table has four bytes for each cluster and
//! is there twice. A directory entry has 32 bytes, and a long name takes one more for every 13 characters. FSInfo has a
//! hint where to look for free clusters. Space for a file is taken when it is created, as a copying program announces
//! the size. Metadata stay in the host's memory until [`FatVolume::write_back`] writes the sectors that have changed,
//! the first table before the second.
//!
//! Simplified: all files are in the root directory. Clusters begin at the start of a page of the drive, as formatters
//! for flash align them. Nothing is read.

use std::collections::BTreeSet;

use super::next_free::NextFree;
use super::requests::Requests;
use super::volume::{CLUSTER_BYTES, Run, SECTOR_BYTES, clusters_of};

/// Boot sector, FSInfo, their copies.
const RESERVED_SECTORS: u64 = 32;
const FSINFO_SECTOR: u64 = 1;
const TABLES: u64 = 2;
const TABLE_ENTRY_BYTES: u64 = 4;
/// The first two entries of a table stand for no cluster.
const TABLE_ENTRIES_BEFORE: u64 = 2;
const DIRECTORY_ENTRY_BYTES: u64 = 32;

/// A file on the volume.
#[derive(Debug)]
pub(super) struct File {
    pub(super) bytes: u64,
    runs: Vec<Run>,
    /// Its place in the directory.
    slot: u32,
}

impl File {
    pub(super) fn clusters(&self) -> u32 {
        self.runs.iter().map(|run| run.clusters).sum()
    }
}

/// A file that is being written from its begin to its end.
#[derive(Debug)]
pub(super) struct Copying {
    file: File,
    /// The next run, and how many bytes of it are written.
    run: usize,
    within_bytes: u64,
    left_bytes: u64,
}

/// The volume.
#[derive(Debug)]
pub(super) struct FatVolume {
    clusters: NextFree,
    data_clusters: u32,
    table_sectors: u64,
    data_bytes: u64,
    /// Bytes of a file's directory entry with its long name.
    slot_bytes: u64,
    /// The directory's clusters, in order.
    directory: Vec<u32>,
    slots: u32,
    free_slots: BTreeSet<u32>,
    /// Sectors of a table, counted from its first, that have changed.
    changed_table: BTreeSet<u64>,
    /// Sectors of the directory, counted from the volume's first.
    changed_directory: BTreeSet<u64>,
    fsinfo_changed: bool,
}

impl FatVolume {
    /// A volume of so many bytes, just formatted; each file takes so many directory entries.
    pub(super) fn new(volume_bytes: u64, page_bytes: u64, entries_per_file: u64) -> Self {
        let align = page_bytes.max(CLUSTER_BYTES);
        // The tables are as long as all clusters would need, were there no tables.
        let table_bytes = (volume_bytes / CLUSTER_BYTES + TABLE_ENTRIES_BEFORE) * TABLE_ENTRY_BYTES;
        let table_sectors = table_bytes.div_ceil(SECTOR_BYTES);
        let before = (RESERVED_SECTORS + TABLES * table_sectors) * SECTOR_BYTES;
        let data_bytes = before.next_multiple_of(align);
        let data_clusters = clusters_of_rest(volume_bytes, data_bytes);
        let mut volume = FatVolume {
            clusters: NextFree::new(data_clusters),
            data_clusters,
            table_sectors,
            data_bytes,
            slot_bytes: entries_per_file * DIRECTORY_ENTRY_BYTES,
            directory: Vec::new(),
            slots: 0,
            free_slots: BTreeSet::new(),
            changed_table: BTreeSet::new(),
            changed_directory: BTreeSet::new(),
            fsinfo_changed: false,
        };
        volume.grow_directory();
        volume
    }

    /// Clusters for files and directory.
    pub(super) fn data_clusters(&self) -> u32 {
        self.data_clusters
    }

    /// Makes room for a file, and its directory entry; as large as there is room for.
    pub(super) fn create(&mut self, bytes: u64) -> Copying {
        let slot = self.take_slot();
        let mut runs = Vec::new();
        let mut left = clusters_of(bytes);
        while left > 0 {
            let Some(run) = self.clusters.take(left) else { break };
            left -= run.clusters;
            self.change_table(run);
            runs.push(run);
        }
        self.change_slot(slot);
        let room = runs.iter().map(|run| u64::from(run.clusters)).sum::<u64>() * CLUSTER_BYTES;
        let file = File { bytes: bytes.min(room), runs, slot };
        let left_bytes = file.bytes.next_multiple_of(SECTOR_BYTES);
        Copying { file, run: 0, within_bytes: 0, left_bytes }
    }

    /// Writes on, at most so many bytes; how many were written, and the file if that was all of it.
    pub(super) fn write(
        &mut self,
        mut copying: Copying,
        most: u64,
        out: &mut Requests,
    ) -> (u64, Result<File, Copying>) {
        let mut written = 0;
        while written < most && copying.left_bytes > 0 {
            let Some(run) = copying.file.runs.get(copying.run) else { break };
            let left_in_run = u64::from(run.clusters) * CLUSTER_BYTES - copying.within_bytes;
            let bytes = left_in_run.min(copying.left_bytes).min(most - written);
            out.write(self.offset_of(run.first) + copying.within_bytes, bytes);
            written += bytes;
            copying.left_bytes -= bytes;
            copying.within_bytes += bytes;
            if bytes == left_in_run {
                copying.run += 1;
                copying.within_bytes = 0;
            }
        }
        if copying.left_bytes > 0 && written > 0 {
            return (written, Err(copying));
        }
        // Closed: the entry says when it was last written.
        self.change_slot(copying.file.slot);
        (written, Ok(copying.file))
    }

    /// Deletes a file.
    pub(super) fn delete(&mut self, file: File, trim: bool, out: &mut Requests) {
        for run in file.runs {
            self.clusters.give(run);
            self.change_table(run);
            if trim {
                out.trim(self.offset_of(run.first), u64::from(run.clusters) * CLUSTER_BYTES);
            }
        }
        self.change_slot(file.slot);
        self.free_slots.insert(file.slot);
    }

    /// Writes the metadata that have changed.
    pub(super) fn write_back(&mut self, out: &mut Requests) {
        let changed = std::mem::take(&mut self.changed_table);
        for table in 0..TABLES {
            let begin = RESERVED_SECTORS + table * self.table_sectors;
            write_sectors(changed.iter().map(|sector| begin + sector), out);
        }
        write_sectors(std::mem::take(&mut self.changed_directory).into_iter(), out);
    }

    /// Writes FSInfo if clusters were taken or given back since.
    pub(super) fn write_fsinfo(&mut self, out: &mut Requests) {
        if std::mem::take(&mut self.fsinfo_changed) {
            out.write(FSINFO_SECTOR * SECTOR_BYTES, SECTOR_BYTES);
        }
    }

    fn offset_of(&self, cluster: u32) -> u64 {
        self.data_bytes + u64::from(cluster) * CLUSTER_BYTES
    }

    fn change_table(&mut self, run: Run) {
        let sector = |cluster: u32| (u64::from(cluster) + TABLE_ENTRIES_BEFORE) * TABLE_ENTRY_BYTES / SECTOR_BYTES;
        self.changed_table.extend(sector(run.first)..=sector(run.end() - 1));
        self.fsinfo_changed = true;
    }

    /// The lowest free place in the directory.
    fn take_slot(&mut self) -> u32 {
        if let Some(slot) = self.free_slots.pop_first() {
            return slot;
        }
        if (u64::from(self.slots) + 1) * self.slot_bytes > self.directory.len() as u64 * CLUSTER_BYTES {
            self.grow_directory();
        }
        self.slots += 1;
        self.slots - 1
    }

    fn grow_directory(&mut self) {
        // A volume is never so full that there is none: see `media`.
        if let Some(run) = self.clusters.take(1) {
            self.directory.push(run.first);
            self.change_table(run);
        }
    }

    fn change_slot(&mut self, slot: u32) {
        let begin = u64::from(slot) * self.slot_bytes;
        for sector in begin / SECTOR_BYTES..=(begin + self.slot_bytes - 1) / SECTOR_BYTES {
            let within = sector * SECTOR_BYTES;
            if let Some(&cluster) = self.directory.get((within / CLUSTER_BYTES) as usize) {
                self.changed_directory.insert((self.offset_of(cluster) + within % CLUSTER_BYTES) / SECTOR_BYTES);
            }
        }
    }
}

/// Whole clusters from `begin` to the end of the volume.
fn clusters_of_rest(volume_bytes: u64, begin: u64) -> u32 {
    u32::try_from(volume_bytes.saturating_sub(begin) / CLUSTER_BYTES).unwrap_or(u32::MAX)
}

/// Writes sectors in ascending order, neighbours together.
fn write_sectors(sectors: impl Iterator<Item = u64>, out: &mut Requests) {
    let mut pending: Option<(u64, u64)> = None;
    for sector in sectors {
        pending = match pending {
            Some((first, count)) if first + count == sector => Some((first, count + 1)),
            other => {
                write_some(other, out);
                Some((sector, 1))
            }
        };
    }
    write_some(pending, out);
}

fn write_some(sectors: Option<(u64, u64)>, out: &mut Requests) {
    if let Some((first, count)) = sectors {
        out.write(first * SECTOR_BYTES, count * SECTOR_BYTES);
    }
}

#[cfg(test)]
mod tests {
    use rand_core::{RngCore, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;

    const VOLUME: u64 = 16 << 20;

    /// Sectors that were written since the last look.
    fn sectors(out: &mut Requests) -> Vec<(u64, u64)> {
        let requests = std::iter::from_fn(|| out.next());
        requests.map(|request| (request.first, u64::from(request.pages))).collect()
    }

    #[test]
    fn a_file_is_written_with_both_tables_and_its_directory_entry() {
        let mut out = Requests::new(512, VOLUME, None);
        let mut volume = FatVolume::new(VOLUME, 512, 1);
        volume.write_back(&mut out);
        sectors(&mut out);
        // Tables of 4,098 entries: 33 sectors each; clusters begin at the next multiple of 4 KiB.
        let copying = volume.create(100_000);
        let (written, file) = volume.write(copying, 64 << 10, &mut out);
        assert_eq!((written, sectors(&mut out)), (64 << 10, vec![(104 + 8, 128)]));
        let (written, file) = volume.write(file.unwrap_err(), 64 << 10, &mut out);
        assert_eq!((written, sectors(&mut out)), (34_816, vec![(104 + 8 + 128, 68)]));
        let file = file.unwrap();
        assert_eq!((file.bytes, file.clusters()), (100_000, 25));
        volume.write_back(&mut out);
        assert_eq!(sectors(&mut out), [(32, 1), (32 + 33, 1), (104, 1)]);
        volume.write_fsinfo(&mut out);
        volume.write_fsinfo(&mut out);
        assert_eq!(sectors(&mut out), [(1, 1)]);
        volume.delete(file, true, &mut out);
        assert_eq!(sectors(&mut out), [(104 + 8, 200)], "the trim");
        volume.write_back(&mut out);
        assert_eq!(sectors(&mut out), [(32, 1), (32 + 33, 1), (104, 1)]);
    }

    #[test]
    fn entries_of_deleted_files_are_used_again_and_the_directory_grows() {
        let mut out = Requests::new(4096, VOLUME, None);
        let mut volume = FatVolume::new(VOLUME, 4096, 4);
        let file = |volume: &mut FatVolume, out: &mut Requests| {
            let copying = volume.create(1);
            volume.write(copying, 1 << 20, out).1.unwrap()
        };
        let mut files: Vec<File> = (0..32).map(|_| file(&mut volume, &mut out)).collect();
        assert_eq!(volume.directory.len(), 1);
        volume.delete(files.remove(7), false, &mut out);
        assert_eq!(file(&mut volume, &mut out).slot, 7);
        assert_eq!(volume.directory.len(), 1);
        assert_eq!(file(&mut volume, &mut out).slot, 32);
        assert_eq!(volume.directory.len(), 2);
    }

    #[test]
    fn clusters_of_files_never_overlap_and_none_is_lost() {
        let mut out = Requests::new(4096, VOLUME, None);
        let mut volume = FatVolume::new(VOLUME, 4096, 4);
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut files: Vec<File> = Vec::new();
        for _ in 0..5000 {
            if files.len() < 2 || random.next_u64().is_multiple_of(2) {
                let copying = volume.create(random.next_u64() % 600_000);
                files.push(volume.write(copying, u64::MAX, &mut out).1.unwrap());
            } else {
                let which = random.next_u64() as usize % files.len();
                volume.delete(files.swap_remove(which), false, &mut out);
            }
            let mut owned = vec![false; volume.data_clusters() as usize];
            let directory = volume.directory.iter().map(|&first| Run { first, clusters: 1 });
            for cluster in
                files.iter().flat_map(|file| file.runs.clone()).chain(directory).flat_map(|run| run.first..run.end())
            {
                assert!(!std::mem::replace(&mut owned[cluster as usize], true), "{cluster} belongs to two");
            }
            let used = owned.iter().filter(|&&owned| owned).count() as u32;
            assert_eq!(used + volume.clusters.free(), volume.data_clusters());
            while out.next().is_some() {}
        }
    }
}
