//! Workloads of files: the requests of a file system on which files are copied, changed and deleted.
//!
//! A volume lies on the drive from its first page on. It hands out clusters of 4 KiB to files, remembers which file has
//! which, and writes its own metadata. So where a write goes follows from earlier writes and deletions, as on a real
//! drive. Data that are written there are never kept: memory is in proportion to files and clusters, not to requests.
//!
//! - `media`: a FAT32-like volume to which large files are copied, after the multimedia traces of μ-FTL's paper.
//! - `desktop`: an NTFS-like volume of a personal computer, after the PC workload of Dual Greedy's paper.

mod best_fit;
mod desktop;
mod fat;
mod media;
mod next_free;
mod ntfs;
mod requests;
mod sizes;
mod volume;

pub(super) use desktop::Desktop;
pub(super) use media::ROUNDS;
pub use media::{DeletionOrder, Media, MediaKind};
