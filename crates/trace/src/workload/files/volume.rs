//! A volume on a drive: its clusters, and how much of the drive it takes.

/// Bytes of a cluster: the default of both FAT32 (on volumes of up to 8 GB) and NTFS.
pub(super) const CLUSTER_BYTES: u64 = 4096;
pub(super) const SECTOR_BYTES: u64 = 512;

/// Clusters that lie side by side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) first: u32,
    pub(super) clusters: u32,
}

impl Run {
    pub(super) fn end(self) -> u32 {
        self.first + self.clusters
    }
}

/// How many clusters hold so many bytes, at least one.
pub(super) fn clusters_of(bytes: u64) -> u32 {
    u32::try_from(bytes.div_ceil(CLUSTER_BYTES)).unwrap_or(u32::MAX).max(1)
}

/// The bytes of a drive that a volume takes: all of it, up to `most`.
///
/// # Errors
/// The drive is too small, or its pages are none.
pub(super) fn volume_bytes(logical_pages: u64, page_bytes: u32, least: u64, most: u64) -> Result<u64, String> {
    const PAGES_MIN: u64 = 64;
    crate::bounds::check_page_bytes(page_bytes).map_err(|error| error.to_string())?;
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
