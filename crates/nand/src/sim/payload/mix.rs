//! A hasher for kinds and keys: they are numbers given by the FTL itself, so mixing them is enough.

/// Mixes numbers.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Mix(u64);

/// Makes them.
pub(super) type Hasher = core::hash::BuildHasherDefault<Mix>;

impl core::hash::Hasher for Mix {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u32(&mut self, word: u32) {
        self.write_u64(u64::from(word));
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = (self.0 ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(26);
    }

    fn write_isize(&mut self, word: isize) {
        self.write_u64(word as u64);
    }
}
