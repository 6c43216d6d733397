//! What C sees: the flash that is lent, and the functions of a plugin.

use core::ffi::{c_char, c_void};

/// It was done.
pub const OK: i32 = 0;

/// Of a read: the page was never written, or is trimmed. The laboratory takes it for zeros.
pub const BLANK: i32 = 1;

/// Of a read: the data of the page are lost. It is a finding, unless the plugin promises nothing there.
pub const UNREADABLE: i32 = -1;

/// There is no room: too many blocks are bad.
pub const FULL: i32 = -2;

/// Of a mount: there is no drive on the flash.
pub const NOT_FORMATTED: i32 = -3;

/// Any other failure.
pub const FAILED: i32 = -4;

/// What a program returns when the block has failed. It is to be marked as bad.
pub const BAD: i32 = -1;

/// Bytes of the spare area beside each page.
pub const SPARE_BYTES: usize = 16;

/// A flag: a power cut may take back what was written since the last `sync`.
pub const LOSES_UNSYNCED: u32 = 1;

/// A flag: a page that decays is a read error for the pages concerned and no others. Without it a loss is counted apart; data
/// that were never written there are a finding all the same.
pub const DETECTS_DECAY: u32 = 2;

/// A flag: no promise is made where a program or an erase fails.
pub const NO_BAD_BLOCKS: u32 = 4;

/// The shape of a chip.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Chip {
    /// Bytes of a page without its spare area.
    pub page_bytes: u32,
    /// Pages of a block.
    pub pages_per_block: u32,
    /// Blocks, bad ones included.
    pub blocks: u32,
}

/// A simulated chip that is lent to a plugin. Pages are numbered through all blocks.
///
/// Its rules are those of NAND flash; what breaks one is a finding:
/// 1. A page is programmed once after an erase of its block, pages of a block in ascending order.
/// 2. A program has all bytes of a page.
/// 3. A bad block is neither programmed nor erased.
///
/// The table stays where it is for as long as the drive lives. Its functions may be called while the plugin is called, and
/// at no other time.
#[repr(C)]
#[derive(Debug)]
pub struct Nand {
    /// The shape of the chip.
    pub chip: Chip,
    /// The first argument of each of these functions.
    pub context: *mut c_void,
    /// Reads `bytes` of a page from `column` on, and its 16 bytes of spare area where `spare` is not NULL. `data` is
    /// NULL where `bytes` is 0. An erased page reads as ones. Returns how many bits ECC has corrected; below 0: more
    /// than it corrects, and nothing was read.
    pub read: unsafe extern "C" fn(
        context: *mut c_void,
        page: u32,
        column: u32,
        data: *mut u8,
        bytes: u32,
        spare: *mut u8,
    ) -> i32,
    /// Programs a page, and its spare area where `spare` is not NULL. Returns 0, or below 0 if it has failed.
    pub program:
        unsafe extern "C" fn(context: *mut c_void, page: u32, data: *const u8, bytes: u32, spare: *const u8) -> i32,
    /// Erases a block. Returns 0, or below 0 if it has failed.
    pub erase: unsafe extern "C" fn(context: *mut c_void, block: u32) -> i32,
    /// Whether a block is bad, from the factory or by `mark_bad`: 0 or 1.
    pub is_bad: unsafe extern "C" fn(context: *mut c_void, block: u32) -> i32,
    /// Retires a block for good. Its pages can still be read.
    pub mark_bad: unsafe extern "C" fn(context: *mut c_void, block: u32),
}

/// An FTL. No function may be NULL but `maintain`.
///
/// **All its state is in `memory`.** It has no variables of its own, and calls no `malloc`: the laboratory copies memory,
/// and runs several drives at a time. It may hold pointers into itself, because it stays where it is. When the power is
/// cut, the memory is gone. Only the flash is left.
///
/// Host pages are numbered from 0. All functions return PHELSUMA_PLUGIN_OK or one of the errors.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Plugin {
    /// Its name in reports, which ends with a zero.
    pub name: *const c_char,
    /// What it does not promise: a sum of flags.
    pub flags: u32,
    /// Bytes of a host page on this chip: a multiple of 8, at the most those of a page. 0: the chip does not suit.
    pub host_page_bytes: Option<unsafe extern "C" fn(chip: *const Chip) -> u32>,
    /// The most host pages on this chip.
    pub most_logical_pages: Option<unsafe extern "C" fn(chip: *const Chip) -> u32>,
    /// Bytes of memory of a drive with so many host pages. The memory begins at a multiple of 16, and holds zeros.
    pub memory_bytes: Option<unsafe extern "C" fn(chip: *const Chip, logical_pages: u32) -> usize>,
    /// Makes a blank drive on a blank chip, some of whose blocks may be bad.
    pub format: Option<unsafe extern "C" fn(memory: *mut c_void, nand: *const Nand, logical_pages: u32) -> i32>,
    /// Mounts the drive that is on the chip, from the chip alone.
    pub mount: Option<unsafe extern "C" fn(memory: *mut c_void, nand: *const Nand, logical_pages: u32) -> i32>,
    /// Reads a host page.
    pub read: Option<unsafe extern "C" fn(memory: *mut c_void, page: u32, data: *mut u8) -> i32>,
    /// Writes a host page.
    pub write: Option<unsafe extern "C" fn(memory: *mut c_void, page: u32, data: *const u8) -> i32>,
    /// Discards host pages: they are blank. A power cut before the next `sync` may bring back what they held.
    pub trim: Option<unsafe extern "C" fn(memory: *mut c_void, first: u32, pages: u32) -> i32>,
    /// Makes durable what is not yet.
    pub sync: Option<unsafe extern "C" fn(memory: *mut c_void) -> i32>,
    /// Does a little work while the host is idle. Returns 1 if it did, 0 if there is none. NULL: there never is.
    pub maintain: Option<unsafe extern "C" fn(memory: *mut c_void) -> i32>,
}

/// The one function that a library exports; the number is that of this interface.
pub(crate) type Entry = unsafe extern "C" fn() -> *const Plugin;

/// Its name.
pub(crate) const ENTRY: &[u8] = b"phelsuma_plugin_v1\0";
