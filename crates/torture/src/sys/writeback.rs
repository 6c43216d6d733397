//! Has the kernel write pages back, in an order that nobody asked for.

use super::apart::apart;
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::SplitMix64;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, fstat, open, openat, statat};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;

/// Entries of folders that are looked at.
const ENTRIES_MAX: usize = 10_000;
/// Bytes of a page.
const PAGE: u64 = 4096;

/// Writes random ranges of random files below a mount back, and waits for them. There is no flush.
pub(crate) fn some(mount: &Path, seed: u64) -> io::Result<()> {
    apart(|| {
        let mut random = SplitMix64::seed_from_u64(seed);
        // A file system's times would be writes of their own.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NOATIME | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let mut folders = vec![open(mount, flags | OFlags::DIRECTORY, Mode::empty())?];
        let device = fstat(&folders[0])?.st_dev;
        let mut entries = 0;
        while let Some(folder) = folders.pop() {
            let mut names = Vec::new();
            for entry in Dir::read_from(&folder)? {
                names.push(entry?.file_name().to_owned());
            }
            // The order in a folder is that of hashes, which differ from one file system to the next.
            names.sort_unstable();
            for name in names.iter().filter(|name| !matches!(name.to_bytes(), b"." | b"..")) {
                entries += 1;
                if entries > ENTRIES_MAX {
                    return Ok(());
                }
                let Ok(stat) = statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
                if stat.st_dev != device {
                    continue;
                }
                match FileType::from_raw_mode(stat.st_mode) {
                    FileType::Directory => folders.extend(openat(&folder, name, flags, Mode::empty()).ok()),
                    FileType::RegularFile if random.next_u64().is_multiple_of(2) => {
                        let range = range(stat.st_size as u64, &mut random);
                        if let Ok(file) = openat(&folder, name, flags, Mode::empty()) {
                            write_back(&file, range)?;
                        }
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    })
}

/// All of a file, or some pages of it: offset and bytes.
fn range(size: u64, random: &mut SplitMix64) -> (u64, u64) {
    let pages = size.div_ceil(PAGE).max(1);
    if random.next_u64().is_multiple_of(2) {
        return (0, pages * PAGE);
    }
    let first = random.next_u64() % pages;
    let count = 1 + random.next_u64() % (pages - first);
    (first * PAGE, count * PAGE)
}

/// There is no safe `sync_file_range`.
#[allow(unsafe_code)]
fn write_back(file: &OwnedFd, (offset, bytes): (u64, u64)) -> io::Result<()> {
    let all = libc::SYNC_FILE_RANGE_WAIT_BEFORE | libc::SYNC_FILE_RANGE_WRITE | libc::SYNC_FILE_RANGE_WAIT_AFTER;
    // SAFETY: it takes values, and a descriptor that is open.
    match unsafe { libc::sync_file_range(file.as_raw_fd(), offset as i64, bytes as i64, all) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
