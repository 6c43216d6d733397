//! The content of a page: real bytes, or a tag that stands for a page full of it.

use core::fmt;

/// The data of one page.
///
/// `Hollow(tag)` *is* a page that repeats the eight bytes of `tag` from end to end, held without its bytes. It is
/// simulated user data (tag 0 costs no memory at all), and in the crash laboratory a name that distinguishes one write
/// from another. Metadata is always `Bytes`.
///
/// A driver of real chips takes both, and may keep the bytes of both ([`Content::copy_to`]) and give them back as
/// `Bytes`. An FTL whose host writes bytes still programs `Hollow(0)`, in two places:
///
/// - at the beginning of a log-block FTL's data block, where the logical page was never written;
/// - in the place of a page that was to be copied and cannot be read any more.
///
/// As bytes such a page does not fit its [`Spare::data_crc`](crate::Spare::data_crc). The spare area alone identifies
/// the first; the second is to be a read error.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Content<'a> {
    /// A page that repeats these eight bytes.
    Hollow(u64),
    /// A page's bytes.
    Bytes(&'a [u8]),
}

impl Content<'_> {
    /// The CRC-32 of these data that a spare area carries. Of a hollow page it is a fingerprint of the tag with the
    /// same use: another tag gives, but for chance, another value.
    #[inline]
    pub fn crc(&self) -> u32 {
        match self {
            Self::Hollow(tag) => hollow_crc(*tag),
            Self::Bytes(bytes) => crc32fast::hash(bytes),
        }
    }

    /// Writes the page's bytes into `out`, whose length is the page size.
    pub fn copy_to(&self, out: &mut [u8]) {
        match self {
            Self::Hollow(tag) => {
                for chunk in out.chunks_mut(8) {
                    chunk.copy_from_slice(&tag.to_le_bytes()[..chunk.len()]);
                }
            }
            Self::Bytes(bytes) => out.copy_from_slice(bytes),
        }
    }
}

#[inline]
fn hollow_crc(tag: u64) -> u32 {
    let mixed = tag.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 32) as u32 ^ mixed as u32
}

impl fmt::Display for Content<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hollow(tag) => write!(f, "hollow {tag:#x}"),
            Self::Bytes(bytes) => write!(f, "{} bytes", bytes.len()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hollow_page_is_its_tag_repeated() {
        let mut out = [0xffu8; 20];
        Content::Hollow(0x0102_0304_0506_0708).copy_to(&mut out);
        assert_eq!(out, [8, 7, 6, 5, 4, 3, 2, 1, 8, 7, 6, 5, 4, 3, 2, 1, 8, 7, 6, 5]);
    }

    #[test]
    fn tags_have_their_own_crcs() {
        let mut seen = alloc::collections::BTreeSet::new();
        for tag in 0..10_000u64 {
            seen.insert(Content::Hollow(tag).crc());
        }
        assert!(seen.len() > 9_990);
        assert_eq!(Content::Hollow(0).crc(), 0);
    }
}
