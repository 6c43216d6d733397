//! Loop devices: block devices over a file, which the kernel removes when nobody has them open any more.

// The kernel's interface is an ioctl.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long one waits for what still has it open.
const BUSY_MAX: Duration = Duration::from_secs(5);

const LOOP_CTL_GET_FREE: libc::c_ulong = 0x4C82;
const LOOP_CONFIGURE: libc::c_ulong = 0x4C0A;
const LO_FLAGS_AUTOCLEAR: u32 = 4;
const LO_FLAGS_DIRECT_IO: u32 = 16;
/// Another process may take the free one first.
const TRIES: u32 = 100;

/// `struct loop_info64` of the kernel.
#[repr(C)]
struct Info {
    device: u64,
    inode: u64,
    rdevice: u64,
    offset: u64,
    size_limit: u64,
    number: u32,
    encrypt_type: u32,
    encrypt_key_size: u32,
    flags: u32,
    file_name: [u8; 64],
    crypt_name: [u8; 64],
    encrypt_key: [u8; 32],
    init: [u64; 2],
}

/// `struct loop_config` of the kernel.
#[repr(C)]
struct Configuration {
    file: u32,
    block_size: u32,
    info: Info,
    reserved: [u64; 8],
}

/// A loop device. It is there for as long as this is, or something is mounted from it.
#[derive(Debug)]
pub(crate) struct Loop {
    /// The kernel removes it when this is closed, and nothing is mounted from it.
    device: File,
    path: PathBuf,
    /// The file, as the kernel calls it.
    backing: PathBuf,
}

impl Loop {
    /// Over a file.
    pub(crate) fn over(file: &Path, block_bytes: u32, is_direct: bool) -> io::Result<Self> {
        let backing = File::options().read(true).write(true).open(file)?;
        let control = File::options().read(true).write(true).open("/dev/loop-control")?;
        let mut flags = LO_FLAGS_AUTOCLEAR | if is_direct { LO_FLAGS_DIRECT_IO } else { 0 };
        for _ in 0..TRIES {
            // SAFETY: an ioctl that takes no argument.
            let number = unsafe { libc::ioctl(control.as_raw_fd(), LOOP_CTL_GET_FREE as _) };
            if number < 0 {
                return Err(io::Error::last_os_error());
            }
            let path = PathBuf::from(format!("/dev/loop{number}"));
            let device = File::options().read(true).write(true).open(&path)?;
            // SAFETY: plain numbers and bytes, for which zero is a value.
            let mut configuration: Configuration = unsafe { std::mem::zeroed() };
            configuration.file = backing.as_raw_fd() as u32;
            configuration.block_size = block_bytes;
            configuration.info.flags = flags;
            // SAFETY: the argument is the struct that the kernel takes, and lives until the call returns.
            if unsafe { libc::ioctl(device.as_raw_fd(), LOOP_CONFIGURE as _, &raw const configuration) } == 0 {
                let backing = file.canonicalize()?;
                return Ok(Self { device, path, backing });
            }
            let error = io::Error::last_os_error();
            match error.raw_os_error() {
                Some(libc::EBUSY) => {}
                Some(libc::EINVAL) if flags & LO_FLAGS_DIRECT_IO != 0 => flags &= !LO_FLAGS_DIRECT_IO,
                _ => return Err(error),
            }
        }
        Err(io::Error::from_raw_os_error(libc::EBUSY))
    }

    /// Closes it. Whether the kernel has removed it, once what was just being closed is closed.
    pub(crate) fn close(self) -> bool {
        let Self { device, path, backing } = self;
        drop(device);
        let name = path.file_name().unwrap_or_default();
        let of_kernel = Path::new("/sys/block").join(name).join("loop/backing_file");
        let began = Instant::now();
        // Another process may have the same number by now.
        while std::fs::read_to_string(&of_kernel).is_ok_and(|file| Path::new(file.trim_end_matches('\n')) == backing) {
            if began.elapsed() > BUSY_MAX {
                return false;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        true
    }

    /// Its file in `/dev`.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}
