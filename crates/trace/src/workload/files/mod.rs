//! Workloads of files: what a file system makes of files that are copied, changed and deleted.
//!
//! A volume lies on the drive from its first page on. It hands out clusters of 4 KiB to files, remembers which file has
//! which, and writes its own metadata; so where a write goes follows from what was written and deleted before, as on a
//! real drive. What is written there is never kept: memory is in proportion to files and clusters, not to requests.
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

pub(super) use desktop::Desktop;
pub(super) use media::ROUNDS;
pub use media::{Media, MediaKind};

/// Bytes of a cluster: what both FAT32 (on volumes of up to 8 GB) and NTFS take if nobody says otherwise.
const CLUSTER_BYTES: u64 = 4096;
const SECTOR_BYTES: u64 = 512;

/// Clusters that lie side by side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Run {
    first: u32,
    clusters: u32,
}

impl Run {
    fn end(self) -> u32 {
        self.first + self.clusters
    }
}

/// How many clusters hold so many bytes, at least one.
fn clusters_of(bytes: u64) -> u32 {
    u32::try_from(bytes.div_ceil(CLUSTER_BYTES)).unwrap_or(u32::MAX).max(1)
}

/// The bytes of a drive that a volume takes: all of it, up to `most`.
///
/// # Errors
/// The drive is too small, or its pages are none.
fn volume_bytes(logical_pages: u64, page_bytes: u32, least: u64, most: u64) -> Result<u64, String> {
    const PAGES_MIN: u64 = 64;
    crate::fold::check_page_bytes(page_bytes).map_err(|error| error.to_string())?;
    let page_bytes = u64::from(page_bytes);
    let bytes = logical_pages.saturating_mul(page_bytes);
    let least = least.max(PAGES_MIN * page_bytes);
    if bytes < least {
        return Err(format!(
            "{logical_pages} logical pages of {page_bytes} bytes are too little for its files, {} would be right",
            least.div_ceil(page_bytes)
        ));
    }
    Ok(bytes.min(most))
}
