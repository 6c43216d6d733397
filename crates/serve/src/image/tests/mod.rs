//! Tests that need the inside of an image: crashes at every write, with doubles that forget a rule.

#![allow(clippy::unwrap_used)]

mod crash;
mod drive;
mod recorder;

/// The rules that a test double forgets; none of them in a build that is no test.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) struct Forgets {
    /// A slot that was left is not used before a durable header says so.
    pub(super) slots_wait: bool,
    /// Slots are free when the *header* is on disk, not when the operations are.
    pub(super) header_on_disk: bool,
    /// The header is written over its older copy, and the newer one stays.
    pub(super) other_header: bool,
    /// What comes behind the end of the prefix is undone.
    pub(super) rolling_back: bool,
    /// The first missing number ends the prefix.
    pub(super) prefix: bool,
    /// A page counts only if its data are there.
    pub(super) data_checked: bool,
}
