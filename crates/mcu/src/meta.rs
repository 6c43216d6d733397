//! The sixteen bytes that stand beside every page.

use crate::flash::META_BYTES;

/// What a page holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A host page; the key is its number.
    User = 0,
    /// A translation page; the key is its number.
    Translation = 1,
    /// A page of a run of Logarithmic Gecko.
    Gecko = 2,
    /// A part of a checkpoint; the key is its number.
    Checkpoint = 3,
}

/// Keys are smaller.
pub(crate) const KEYS: u32 = 1 << 28;

/// A page's metadata, decoded: what stands in its spare area, or in its last bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Meta {
    /// What the page holds.
    pub kind: Kind,
    /// The stream whose block it was written to: 0 to 3.
    pub stream: u32,
    /// Its number, by kind: 28 bits.
    pub key: u32,
    /// Number of the program, in 48 bits. The upper 32 of them are the session.
    pub seq: u64,
    /// A number for the data, and what they are of.
    pub sum: u32,
}

impl Meta {
    /// The bytes, little-endian: key (28 bits), kind (2) and stream (2); seq (48); a check of the other fourteen (16);
    /// the sum of the data (32).
    pub fn encode(&self) -> [u8; META_BYTES] {
        let head = (self.key & (KEYS - 1)) | (self.kind as u32) << 28 | self.stream << 30;
        let [h0, h1, h2, h3] = head.to_le_bytes();
        let [q0, q1, q2, q3, q4, q5, _, _] = self.seq.to_le_bytes();
        let [s0, s1, s2, s3] = self.sum.to_le_bytes();
        let [c0, c1] = check(head, self.seq, self.sum).to_le_bytes();
        [h0, h1, h2, h3, q0, q1, q2, q3, q4, q5, c0, c1, s0, s1, s2, s3]
    }

    /// What the bytes say, if they are metadata.
    pub fn decode(bytes: &[u8; META_BYTES]) -> Option<Self> {
        let [h0, h1, h2, h3, q0, q1, q2, q3, q4, q5, c0, c1, s0, s1, s2, s3] = *bytes;
        let head = u32::from_le_bytes([h0, h1, h2, h3]);
        let seq = u64::from_le_bytes([q0, q1, q2, q3, q4, q5, 0, 0]);
        let sum = u32::from_le_bytes([s0, s1, s2, s3]);
        let kind = match head >> 28 & 3 {
            0 => Kind::User,
            1 => Kind::Translation,
            2 => Kind::Gecko,
            _ => Kind::Checkpoint,
        };
        let checks = check(head, seq, sum) == u16::from_le_bytes([c0, c1]);
        checks.then_some(Self { kind, stream: head >> 30, key: head & (KEYS - 1), seq, sum })
    }
}

/// Multiplies by an odd number: another word, another result.
const ODD: u32 = 0x9e37_79b1;

fn mix(state: u32, word: u32) -> u32 {
    (state.rotate_left(5) ^ word).wrapping_mul(ODD)
}

fn check(head: u32, seq: u64, sum: u32) -> u16 {
    let mixed = mix(mix(mix(mix(ODD, head), seq as u32), (seq >> 32) as u32), sum);
    (mixed ^ mixed >> 16) as u16
}

/// A number for a page's data and what they are of. It tells data of a torn page, which ECC takes for good, from others;
/// of bits that turn over ECC takes care. A word is a rotation, an exclusive or and a multiplication.
pub(crate) fn sum(kind: Kind, key: u32, data: &[u8]) -> u32 {
    let (words, _) = data.as_chunks::<4>();
    let first = mix(mix(ODD, kind as u32), key);
    let state = words.iter().fold(first, |state, word| mix(state, u32::from_le_bytes(*word)));
    state ^ state >> 15
}

#[cfg(test)]
mod tests {
    use super::*;

    const META: Meta = Meta { kind: Kind::User, stream: 1, key: 0x0abc_def0, seq: 0x1234_5678_9abc, sum: 0xdead_beef };

    #[test]
    fn what_is_encoded_is_decoded() {
        assert_eq!(Meta::decode(&META.encode()), Some(META));
        let other = Meta { kind: Kind::Checkpoint, stream: 0, key: KEYS - 1, seq: (1 << 48) - 1, sum: 0 };
        assert_eq!(Meta::decode(&other.encode()), Some(other));
    }

    #[test]
    fn no_flipped_bit_goes_unseen() {
        for bit in 0..8 * META_BYTES {
            let mut bytes = META.encode();
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Meta::decode(&bytes), None, "bit {bit}");
        }
    }

    #[test]
    fn erased_and_zero_bytes_are_no_metadata() {
        assert_eq!(Meta::decode(&[0xff; META_BYTES]), None);
        assert_eq!(Meta::decode(&[0; META_BYTES]), None);
    }

    #[test]
    fn a_changed_word_or_key_changes_the_sum() {
        let mut data = [7; 512];
        let whole = sum(Kind::User, 5, &data);
        assert_ne!(whole, sum(Kind::User, 6, &data));
        assert_ne!(whole, sum(Kind::Translation, 5, &data));
        for at in 0..data.len() {
            data[at] ^= 0x10;
            assert_ne!(whole, sum(Kind::User, 5, &data), "byte {at}");
            data[at] ^= 0x10;
        }
    }
}
