//! `media`: the multimedia traces of μ-FTL's paper (EMSOFT 2008, Table 2).
//!
//! The paper is Lee et al., "μ-FTL: A Memory-Efficient Flash Translation Layer Supporting Multiple Mapping
//! Granularities".
//!
//! 6 GB of pictures, MP3 files or movies are copied to an 8 GB FAT32 partition. Then ten times 2 GB of them are deleted
//! and 2 GB copied. Mean file sizes are the paper's: 1.9, 4.4 and 681 MB.
//!
//! **Scale.** On a drive of fewer logical bytes than 8 GiB the volume is the drive. The paper's 6, 4 and 2 GB are three
//! quarters, a half and a quarter of its clusters then. Files keep their mean size, up to a twelfth of the volume,
//! which is about the share of the movies in the paper. So pictures and MP3 files become fewer on a smaller drive, and
//! movies smaller. On a larger drive the volume is its first 8 GiB.
//!
//! Where the paper is silent, this is assumed:
//! - GB and MB are 2^30 and 2^20 bytes, and data are written in requests of 64 KiB. 26 GB then are 425,984 requests.
//!   The paper counts 430,025 for the movies, metadata included.
//! - The distribution of sizes is lognormal with σ = 0.35 (pictures of one camera), 0.4 (songs) and 0.1 (movies, made
//!   to fit a CD). That sizes of files are lognormal is Douceur's and Bolosky's finding; the values of σ are
//!   assumptions. The last file of a batch fills what is left of it.
//! - Files to delete are any, equally likely, until no other one would bring it nearer to 2 GB. Then as much is copied
//!   as brings the volume back to 6 GB. On request the oldest files go, or folders of up to 100 files that were copied
//!   one after the other ([`DeletionOrder`]): what a person deletes is seldom any file.
//! - Names: `DSC01234.JPG` is a short one (one directory entry); songs and movies have up to 39 characters (four).
//! - The host writes metadata back once a second. In a second a copy gets 8 MiB done, or a hundred deletions. FSInfo is
//!   written once a batch.

use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::fat::{Copying, FatVolume, File};
use super::requests::Requests;
use super::sizes::Sizes;
use super::volume::{CLUSTER_BYTES, volume_bytes};
use crate::TraceError;
use crate::request::{PageRequest, Source};
use crate::workload::address::below;

const VOLUME_BYTES_MIN: u64 = 4 << 20;
const VOLUME_BYTES_MAX: u64 = 8 << 30;
/// The largest mean size as a part of the volume: 681 MB of 8 GB.
const FILES_PER_VOLUME_MIN: u64 = 12;
const COPIED_PER_SECOND: u64 = 8 << 20;
const DELETED_PER_SECOND: u32 = 100;
/// Files that are copied to one folder.
const FOLDER_FILES: u32 = 100;

/// How often files are deleted and copied, by default.
pub(in crate::workload) const ROUNDS: u32 = 10;

/// The kind of the copied files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MediaKind {
    /// Pictures of 1.9 MB.
    Pictures,
    /// Songs of 4.4 MB.
    Mp3,
    /// Movies of 681 MB.
    Movies,
}

impl MediaKind {
    /// As a specification has it: `pic`, `mp3` or `mov`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            MediaKind::Pictures => "pic",
            MediaKind::Mp3 => "mp3",
            MediaKind::Movies => "mov",
        }
    }

    pub(in crate::workload) fn named(name: &str) -> Option<Self> {
        [MediaKind::Pictures, MediaKind::Mp3, MediaKind::Movies].into_iter().find(|kind| kind.name() == name)
    }

    /// Mean size in bytes, spread σ, entries of the directory that its name takes.
    fn files(self) -> (u64, f64, u64) {
        let mb = |tenths: u64| (tenths << 20) / 10;
        match self {
            MediaKind::Pictures => (mb(19), 0.35, 1),
            MediaKind::Mp3 => (mb(44), 0.4, 4),
            MediaKind::Movies => (mb(6810), 0.1, 4),
        }
    }
}

/// Which files are deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeletionOrder {
    /// Any, equally likely.
    Random,
    /// Those that were copied first.
    Oldest,
    /// Any folder, equally likely by its files, from its first file on.
    Folders,
}

impl DeletionOrder {
    pub(in crate::workload) const ALL: [Self; 3] = [Self::Random, Self::Oldest, Self::Folders];

    /// As a specification has it: `random`, `oldest` or `folders`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Random => "random",
            Self::Oldest => "oldest",
            Self::Folders => "folders",
        }
    }
}

/// A multimedia workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Media {
    /// The kind of the copied files.
    pub kind: MediaKind,
    /// Whether deleted files are trimmed; not in the paper.
    pub trim: bool,
    /// How often files are deleted and copied after the first copy; ten in the paper.
    pub rounds: u32,
    /// Which files are deleted; the paper does not say.
    pub delete: DeletionOrder,
}

impl Media {
    pub(in crate::workload) fn source(
        self,
        logical_pages: u64,
        page_bytes: u32,
        seed: u64,
    ) -> Result<Box<dyn Source + Send>, String> {
        Ok(Box::new(Scenario::new(self, logical_pages, page_bytes, seed)?))
    }
}

struct Scenario {
    media: Media,
    volume: FatVolume,
    /// In the order in which they were copied, unless any may be deleted; each with its folder.
    files: Vec<(u32, File)>,
    copied_files: u32,
    /// The folder that is being deleted.
    folder: Option<u32>,
    /// Clusters of files, and how many there are after a copy and after a deletion.
    live: u32,
    full: u32,
    emptied: u32,
    sizes: Sizes,
    doing: Doing,
    rounds_left: u32,
    /// Since metadata were last written back.
    copied_bytes: u64,
    random: Xoshiro256PlusPlus,
    out: Requests,
}

enum Doing {
    /// Copying, and a file in the middle of it.
    Copy(Option<Copying>),
    /// Deleting, and whether anything is yet.
    Delete(bool),
    Nothing,
}

impl Scenario {
    fn new(media: Media, logical_pages: u64, page_bytes: u32, seed: u64) -> Result<Self, String> {
        let bytes = volume_bytes(logical_pages, page_bytes, VOLUME_BYTES_MIN, VOLUME_BYTES_MAX)?;
        let (mean, sigma, entries) = media.kind.files();
        let mean = mean.min(bytes / FILES_PER_VOLUME_MIN);
        let volume = FatVolume::new(bytes, u64::from(page_bytes), entries);
        let clusters = volume.data_clusters();
        Ok(Scenario {
            media,
            full: clusters / 4 * 3,
            emptied: clusters / 2,
            volume,
            files: Vec::new(),
            copied_files: 0,
            folder: None,
            live: 0,
            sizes: Sizes::with_mean(mean, sigma, 4 * mean),
            doing: Doing::Copy(None),
            rounds_left: media.rounds,
            copied_bytes: 0,
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
            out: Requests::new(page_bytes, bytes, None),
        })
    }

    /// Does the work of a second, or less.
    fn step(&mut self) {
        self.doing = match std::mem::replace(&mut self.doing, Doing::Nothing) {
            Doing::Copy(copying) => self.copy(copying),
            Doing::Delete(begun) => self.delete(begun),
            Doing::Nothing => Doing::Nothing,
        };
    }

    fn copy(&mut self, copying: Option<Copying>) -> Doing {
        let copying = match copying {
            Some(copying) => copying,
            None if self.live >= self.full => return self.batch_done(),
            None => {
                let left = u64::from(self.full - self.live) * CLUSTER_BYTES;
                self.volume.create(self.sizes.draw(&mut self.random).min(left))
            }
        };
        let (written, copying) = self.volume.write(copying, COPIED_PER_SECOND - self.copied_bytes, &mut self.out);
        // In whole clusters: the end of one file is no reason for the next one to be written in pieces that begin
        // inside a page.
        self.copied_bytes += written.next_multiple_of(CLUSTER_BYTES);
        if self.copied_bytes >= COPIED_PER_SECOND {
            self.copied_bytes = 0;
            self.volume.write_back(&mut self.out);
        }
        match copying {
            Err(copying) => Doing::Copy(Some(copying)),
            Ok(file) => {
                self.live += file.clusters();
                self.files.push((self.copied_files / FOLDER_FILES, file));
                self.copied_files += 1;
                Doing::Copy(None)
            }
        }
    }

    fn batch_done(&mut self) -> Doing {
        self.copied_bytes = 0;
        self.volume.write_back(&mut self.out);
        self.volume.write_fsinfo(&mut self.out);
        match self.rounds_left.checked_sub(1) {
            Some(left) => {
                self.rounds_left = left;
                Doing::Delete(false)
            }
            None => Doing::Nothing,
        }
    }

    fn delete(&mut self, mut begun: bool) -> Doing {
        for _ in 0..DELETED_PER_SECOND {
            if self.files.is_empty() || self.live <= self.emptied {
                return self.deleted();
            }
            let which = self.next_to_delete();
            let (folder, file) = match self.media.delete {
                DeletionOrder::Random => self.files.swap_remove(which),
                DeletionOrder::Oldest | DeletionOrder::Folders => self.files.remove(which),
            };
            let (before, after) = (self.live, self.live - file.clusters());
            if begun && self.emptied.saturating_sub(after) > before - self.emptied {
                let place = if self.media.delete == DeletionOrder::Random { self.files.len() } else { which };
                self.files.insert(place, (folder, file));
                return self.deleted();
            }
            begun = true;
            self.live = after;
            self.volume.delete(file, self.media.trim, &mut self.out);
        }
        self.volume.write_back(&mut self.out);
        Doing::Delete(begun)
    }

    /// The place of the file to delete, where there is one.
    fn next_to_delete(&mut self) -> usize {
        let any = |random: &mut Xoshiro256PlusPlus, files: &[(u32, File)]| below(files.len() as u64, random) as usize;
        match self.media.delete {
            DeletionOrder::Random => any(&mut self.random, &self.files),
            DeletionOrder::Oldest => 0,
            DeletionOrder::Folders => {
                let first_of = |folder, files: &[(u32, File)]| files.iter().position(|(of, _)| *of == folder);
                if let Some(first) = self.folder.and_then(|folder| first_of(folder, &self.files)) {
                    return first;
                }
                let one = any(&mut self.random, &self.files);
                self.folder = self.files.get(one).map(|(folder, _)| *folder);
                self.folder.and_then(|folder| first_of(folder, &self.files)).unwrap_or(one)
            }
        }
    }

    fn deleted(&mut self) -> Doing {
        self.volume.write_back(&mut self.out);
        Doing::Copy(None)
    }
}

impl Source for Scenario {
    #[inline]
    fn next_request(&mut self) -> Result<Option<PageRequest>, TraceError> {
        loop {
            if let Some(request) = self.out.next() {
                return Ok(Some(request));
            }
            if matches!(self.doing, Doing::Nothing) {
                return Ok(None);
            }
            self.step();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Op;

    /// Requests, and pages written in each batch.
    fn run(kind: MediaKind, logical_pages: u64) -> (u64, Vec<u64>) {
        run_deleting(kind, logical_pages, DeletionOrder::Random)
    }

    fn run_deleting(kind: MediaKind, logical_pages: u64, delete: DeletionOrder) -> (u64, Vec<u64>) {
        let media = Media { kind, trim: false, rounds: ROUNDS, delete };
        let mut scenario = Scenario::new(media, logical_pages, 4096, 1).unwrap();
        let (mut requests, mut batches) = (0, vec![0]);
        let mut rounds_left = scenario.rounds_left;
        while let Some(request) = scenario.next_request().unwrap() {
            assert_eq!(request.op, Op::Write);
            if rounds_left != scenario.rounds_left {
                rounds_left = scenario.rounds_left;
                batches.push(0);
            }
            requests += 1;
            *batches.last_mut().unwrap() += u64::from(request.pages);
        }
        assert_eq!(scenario.live, scenario.full);
        (requests, batches)
    }

    #[test]
    fn whatever_is_deleted_as_much_is_copied_again() {
        for delete in DeletionOrder::ALL {
            let pages = 1 << 18;
            let (_, batches) = run_deleting(MediaKind::Pictures, pages, delete);
            assert_eq!(batches.len(), 11);
            let later = batches[1..].iter().sum::<u64>() as f64 / 10.0 / pages as f64;
            assert!((0.23..0.29).contains(&later), "{}: {later}", delete.name());
        }
    }

    #[test]
    fn the_oldest_or_a_folder_from_its_first_file_on_is_deleted() {
        let deleted = |delete: DeletionOrder| {
            let media = Media { kind: MediaKind::Pictures, trim: false, rounds: 1, delete };
            let mut scenario = Scenario::new(media, 1 << 20, 4096, 1).unwrap();
            while scenario.rounds_left > 0 {
                scenario.step();
            }
            let before: Vec<u32> = scenario.files.iter().map(|(folder, _)| *folder).collect();
            scenario.step();
            let after: Vec<u32> = scenario.files.iter().map(|(folder, _)| *folder).collect();
            let gone = |folder: &u32| {
                let count = |files: &[u32]| files.iter().filter(|of| *of == folder).count();
                count(&before) - count(&after)
            };
            (0..=*before.last().unwrap()).map(|folder| gone(&folder)).collect::<Vec<_>>()
        };
        let oldest = deleted(DeletionOrder::Oldest);
        assert_eq!((oldest[0], oldest.iter().sum::<usize>()), (100, 100), "{oldest:?}");
        let folders = deleted(DeletionOrder::Folders);
        assert_eq!(folders.iter().filter(|gone| **gone > 0).count(), 1, "{folders:?}");
        assert!(deleted(DeletionOrder::Random).iter().filter(|gone| **gone > 0).count() > 5);
    }

    #[test]
    fn six_parts_of_eight_are_copied_and_then_two_each_round() {
        for (kind, name) in [(MediaKind::Pictures, "pic"), (MediaKind::Mp3, "mp3"), (MediaKind::Movies, "mov")] {
            let pages = 1 << 16;
            let (_, batches) = run(kind, pages);
            assert_eq!(batches.len(), 11);
            let first = batches[0] as f64 / pages as f64;
            assert!((0.74..0.80).contains(&first), "{name}: {first}");
            let later = batches[1..].iter().sum::<u64>() as f64 / 10.0 / pages as f64;
            assert!((0.23..0.29).contains(&later), "{name}: {later}");
        }
    }

    /// Table 2 counts the requests of traces that were recorded; ours should be no other workload.
    #[test]
    fn at_full_scale_there_are_about_as_many_requests_as_the_paper_counts() {
        let pages = VOLUME_BYTES_MAX / 4096;
        for (kind, paper) in
            [(MediaKind::Pictures, 465_268.0), (MediaKind::Mp3, 457_836.0), (MediaKind::Movies, 430_025.0)]
        {
            let (requests, _) = run(kind, pages);
            let ratio = requests as f64 / paper;
            println!("{}: {requests} requests, {ratio:.3} of the paper's", kind.name());
            assert!((0.94..1.06).contains(&ratio), "{}: {requests} requests, {paper} in the paper", kind.name());
        }
    }
}
