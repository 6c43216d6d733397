//! Structures of RAM as bytes of pages, and the content of a seal: how both families write down the state of RAM.
//!
//! All of it holds only while nothing has been programmed since. `page_mapped/durability/battery/save.rs` and
//! `log_block/snapshot.rs` say which structures they write, where, and when they believe them.

/// A structure that can be saved.
pub(crate) trait Saved {
    /// How many bytes that takes.
    fn saved_bytes(&self) -> u64;
    /// Fills `page` with its bytes from `from` on.
    fn save(&self, from: u64, page: &mut [u8]);
    /// Takes its bytes from `from` on out of `page`.
    fn restore(&mut self, from: u64, page: &[u8]);
}

/// Fills `page` with the bytes of `words` from `from` on.
pub(crate) fn put_words(words: &[u32], from: u64, page: &mut [u8]) {
    debug_assert!(from.is_multiple_of(4), "a page begins in the middle of a word");
    page.fill(0xff);
    for (word, to) in words.iter().skip(from as usize / 4).zip(page.chunks_exact_mut(4)) {
        to.copy_from_slice(&word.to_le_bytes());
    }
}

/// The reverse of [`put_words`].
pub(crate) fn take_words(words: &mut [u32], from: u64, page: &[u8]) {
    debug_assert!(from.is_multiple_of(4), "a page begins in the middle of a word");
    for (word, bytes) in words.iter_mut().skip(from as usize / 4).zip(page.chunks_exact(4)) {
        *word = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    }
}

/// The content of a seal: the moment after which the saved pages were written, and how many pages of the drive are
/// live.
pub(crate) fn sealed(seal: &[u8]) -> Option<(u64, u64)> {
    let word = |from: usize| Some(u64::from_le_bytes(seal.get(from..from + 8)?.try_into().ok()?));
    Some((word(0)?, word(8)?))
}
