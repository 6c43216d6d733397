//! Common parts of recoveries.

mod blocks_information;
mod gone_bad;
mod last_page;
mod mount;
mod silent;
mod translation_version;

pub(super) use blocks_information::{BlockInformation, BlocksInformation};
pub(super) use gone_bad::GoneBad;
pub(super) use last_page::{LastPage, Suspect, last_page_data, suspects_that_may_count};
pub(super) use mount::{Described, FoundPage, Mount};
pub(super) use silent::Silent;
pub(super) use translation_version::TranslationVersion;

use phelsuma_nand::{Kind, SpareRead};

/// Whether this is a copy of `key` that was there before `before`, in program order.
pub(super) fn is_older_copy(read: SpareRead, key: u32, before: u64) -> bool {
    matches!(read, SpareRead::Written(spare) if spare.kind == Kind::User && spare.key == key && spare.seq < before)
}

/// The same of a page that was such a copy, unless its block was erased and written again: an erase that was cut leaves
/// nothing that can be read.
pub(super) fn was_older_copy(read: SpareRead, key: u32, before: u64) -> bool {
    !matches!(read, SpareRead::Written(_)) || is_older_copy(read, key, before)
}
