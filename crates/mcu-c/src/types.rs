//! What C sees: plain structures, errors and constants.

use crate::Chosen;
use core::ffi::c_void;
use phelsuma_mcu as mcu;

/// What the memory of a drive begins at a multiple of.
pub const ALIGN: usize = 8;

/// Bytes of metadata beside each page.
pub const SPARE_BYTES: usize = 16;

/// The metadata stand in the spare area, where ECC protects them. A host page is as long as a flash page.
pub const META_SPARE: u32 = 0;

/// The metadata are the last bytes of the page, where there is no spare area to be had. A host page is 16 bytes shorter.
pub const META_IN_PAGE: u32 = 1;

/// A good `window` of a `phelsuma_config`.
pub const WINDOW: u32 = 24;

/// A chip, and the drive that is to be on it. The chip and `logical_pages` stay as they are from the format on.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Config {
    /// Bytes of a page without its spare area: a power of two, 512 to 16,384.
    pub page_bytes: u32,
    /// Pages of a block: a power of two, 4 to 256.
    pub pages_per_block: u32,
    /// Blocks, bad ones included: 8 to 65,536.
    pub blocks: u32,
    /// Where metadata stand: PHELSUMA_META_SPARE or PHELSUMA_META_IN_PAGE.
    pub meta_place: u32,
    /// Host pages: phelsuma_most_logical_pages() fit.
    pub logical_pages: u32,
    /// Room for mapping entries that are not on flash yet: a power of two, at least 16. Eight bytes of memory each. With
    /// fewer there is room for fewer host pages; 1,024 suit 128 MiB.
    pub dirty_slots: u32,
    /// Blocks that may be opened until a dirty entry is written: at least 4. PHELSUMA_WINDOW is a good one. It does not shrink.
    pub window: u32,
    /// Blocks that may be bad or grow bad. A fiftieth of all is usual.
    pub bad_blocks: u32,
    /// Bits that ECC corrects in a page from which on its block is written anew. 0: never.
    pub refresh_bits: u32,
    /// Reads of a block, about, from which on it is written anew. 0: they are not counted.
    pub disturb_reads: u32,
}

impl Config {
    /// The same for the FTL.
    pub(crate) fn of_drive(&self) -> Result<mcu::Config, Error> {
        let meta = match self.meta_place {
            META_SPARE => mcu::MetaPlace::Spare,
            META_IN_PAGE => mcu::MetaPlace::InPage,
            _ => return Err(Error::Chip),
        };
        let chip =
            mcu::Chip { page_bytes: self.page_bytes, pages_per_block: self.pages_per_block, blocks: self.blocks, meta };
        Ok(mcu::Config {
            window: self.window,
            bad_blocks: self.bad_blocks,
            refresh_bits: self.refresh_bits,
            disturb_reads: self.disturb_reads,
            ..mcu::Config::new(chip, self.logical_pages, self.dirty_slots)
        })
    }

    /// The most host pages, 0 if the rest of the configuration cannot be.
    pub(crate) fn most_logical_pages(&self) -> u32 {
        let Ok(config) = self.of_drive() else { return 0 };
        // The search for the most takes a chip for granted that can be.
        let smallest = mcu::Config { logical_pages: 1, ..config };
        smallest.memory_bytes::<Chosen>().map_or(0, |_| config.most_logical_pages::<Chosen>())
    }
}

/// A driver for one chip. It is copied when a drive is mounted. No function may be NULL.
///
/// Pages are numbered through all blocks: block times `pages_per_block`, plus the page in the block. The rules that it keeps:
/// 1. Each operation is complete when its call returns. A power cut meets one operation at the most.
/// 2. A page is programmed once after an erase of its block, pages of a block in ascending order.
/// 3. Data and spare area are programmed together, and have an ECC each, or one in common.
/// 4. An erased page reads as ones, its spare area too.
/// 5. A bad block stays bad over power cuts.
/// 6. The chip's write protection is off before a drive is formatted or mounted.
///
/// A function may let other threads run while the chip is busy. It may leave by `longjmp`, as if the power had failed: then
/// the drive is mounted anew. A chip has one mounted drive.
///
/// None of these functions may call the drive: it answers PHELSUMA_ERROR_BUSY.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Functions {
    /// The first argument of each of these functions. It may be NULL.
    pub context: *mut c_void,
    /// Reads `bytes` of a page from `column` on, and its 16 bytes of spare area where `spare` is not NULL.
    /// `data` is NULL where `bytes` is 0. Returns how many bits ECC has corrected; below 0: more than it corrects, and the
    /// data are gone for good. What may read well later, such as a bus that fails, is to be read again in the driver.
    pub read: Option<
        unsafe extern "C" fn(
            context: *mut c_void,
            page: u32,
            column: u32,
            data: *mut u8,
            bytes: u32,
            spare: *mut u8,
        ) -> i32,
    >,
    /// Programs all bytes of a page, and its spare area where `spare` is not NULL. Returns 0, or anything else for a failure.
    pub program: Option<
        unsafe extern "C" fn(context: *mut c_void, page: u32, data: *const u8, bytes: u32, spare: *const u8) -> i32,
    >,
    /// Erases a block. Returns 0, or anything else for a failure.
    pub erase: Option<unsafe extern "C" fn(context: *mut c_void, block: u32) -> i32>,
    /// Whether a block is bad, from the factory or by `mark_bad`: 0 or anything else.
    pub is_bad: Option<unsafe extern "C" fn(context: *mut c_void, block: u32) -> i32>,
    /// Retires a block for good. Its pages are read until the next checkpoint is written.
    pub mark_bad: Option<unsafe extern "C" fn(context: *mut c_void, block: u32)>,
}

/// The state of a drive.
#[repr(C)]
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Info {
    /// Host pages.
    pub logical_pages: u32,
    /// Bytes of each.
    pub page_bytes: u32,
    /// Blocks that may be opened.
    pub free_blocks: u32,
    /// Blocks that are bad.
    pub bad_blocks: u32,
    /// The drive can only be read: too many blocks are bad.
    pub read_only: bool,
    /// Bytes of memory that the drive uses, with the handle.
    pub memory_bytes: usize,
    /// Pages written by the host since the drive was mounted, as all that follows.
    pub host_writes: u64,
    /// Pages that collections moved.
    pub moved: u64,
    /// Translation pages written.
    pub translation: u64,
    /// Pages of Logarithmic Gecko written.
    pub gecko: u64,
    /// Pages of checkpoints written.
    pub checkpoint: u64,
    /// Blocks erased.
    pub erases: u64,
    /// Programs and erases that failed.
    pub failures: u64,
}

/// Why something was not done.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Error {
    /// It was done.
    None = 0,
    /// A pointer is NULL, or a function of the driver.
    Null = 1,
    /// The memory does not begin at a multiple of PHELSUMA_ALIGN.
    Misaligned = 2,
    /// The memory is smaller than phelsuma_memory_bytes().
    Memory = 3,
    /// There is no mounted drive at this pointer.
    NotMounted = 4,
    /// Another call of this drive is under way: in another thread, or this one is from its driver.
    Busy = 5,
    /// Bytes of a page, pages of a block, blocks or the place of metadata are outside of what they can be.
    Chip = 6,
    /// There are no host pages, or too many of them for the chip, these dirty slots and so many bad blocks.
    LogicalPages = 7,
    /// `dirty_slots` is no power of two, or too small.
    DirtySlots = 8,
    /// `window` is below 4, or above 4,096.
    Window = 9,
    /// More blocks may be bad than there are to spare.
    BadBlocks = 10,
    /// The chip is blank: format it.
    NotFormatted = 11,
    /// Something stands on the chip that this configuration does not read. It was formatted with another shape, other
    /// parts, another place of metadata or number of host pages; or reads fail. To give its data up, format.
    OtherDrive = 12,
    /// The host page is not on the drive.
    OutOfRange = 13,
    /// The data are not as long as a host page.
    Length = 14,
    /// The data stand in the memory of the drive.
    Overlap = 15,
    /// The page cannot be read: its data are lost until it is written again. (A page that was written shortly before a cut
    /// and goes bad later may read as its older version instead.)
    Unreadable = 16,
    /// Too many blocks are bad: the drive can only be read. On a new chip look at its write protection.
    Full = 17,
}

impl From<mcu::Error> for Error {
    fn from(error: mcu::Error) -> Self {
        match error {
            mcu::Error::Config(mcu::ConfigError::Chip) => Self::Chip,
            mcu::Error::Config(mcu::ConfigError::LogicalPages) => Self::LogicalPages,
            mcu::Error::Config(mcu::ConfigError::DirtySlots) => Self::DirtySlots,
            mcu::Error::Config(mcu::ConfigError::Window) => Self::Window,
            mcu::Error::Config(mcu::ConfigError::BadBlocks) => Self::BadBlocks,
            mcu::Error::Memory { .. } => Self::Memory,
            mcu::Error::NotFormatted => Self::NotFormatted,
            mcu::Error::OtherDrive => Self::OtherDrive,
            mcu::Error::OutOfRange => Self::OutOfRange,
            mcu::Error::Length => Self::Length,
            mcu::Error::Unreadable => Self::Unreadable,
            mcu::Error::Full => Self::Full,
        }
    }
}
