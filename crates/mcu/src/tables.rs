//! Tables in a slice of bytes.
//!
//! A place outside is a defect of this crate: tests stop there. In firmware nothing panics; such a read gives zeros.

/// Words of 32 bits, little-endian.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Table32 {
    pub(crate) at: usize,
    pub(crate) entries: u32,
}

impl Table32 {
    #[inline]
    pub(crate) fn get(self, memory: &[u8], index: u32) -> u32 {
        debug_assert!(index < self.entries, "entry {index} of {}", self.entries);
        let bytes = memory.get(self.at + 4 * index as usize..).and_then(|rest| rest.first_chunk());
        bytes.map_or(0, |bytes| u32::from_le_bytes(*bytes))
    }

    #[inline]
    pub(crate) fn set(self, memory: &mut [u8], index: u32, value: u32) {
        debug_assert!(index < self.entries, "entry {index} of {}", self.entries);
        if let Some(bytes) = memory.get_mut(self.at + 4 * index as usize..).and_then(|rest| rest.first_chunk_mut()) {
            *bytes = value.to_le_bytes();
        }
    }

    pub(crate) fn fill(self, memory: &mut [u8], value: u32) {
        for index in 0..self.entries {
            self.set(memory, index, value);
        }
    }
}

/// Halves of words, little-endian.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Table16 {
    pub(crate) at: usize,
    pub(crate) entries: u32,
}

impl Table16 {
    #[inline]
    pub(crate) fn get(self, memory: &[u8], index: u32) -> u16 {
        debug_assert!(index < self.entries, "entry {index} of {}", self.entries);
        let bytes = memory.get(self.at + 2 * index as usize..).and_then(|rest| rest.first_chunk());
        bytes.map_or(0, |bytes| u16::from_le_bytes(*bytes))
    }

    #[inline]
    pub(crate) fn set(self, memory: &mut [u8], index: u32, value: u16) {
        debug_assert!(index < self.entries, "entry {index} of {}", self.entries);
        if let Some(bytes) = memory.get_mut(self.at + 2 * index as usize..).and_then(|rest| rest.first_chunk_mut()) {
            *bytes = value.to_le_bytes();
        }
    }

    pub(crate) fn fill(self, memory: &mut [u8], value: u16) {
        for index in 0..self.entries {
            self.set(memory, index, value);
        }
    }
}

/// Bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Bytes {
    pub(crate) at: usize,
    pub(crate) bytes: usize,
}

impl Bytes {
    #[inline]
    pub(crate) fn of(self, memory: &[u8]) -> &[u8] {
        memory.get(self.at..self.at + self.bytes).unwrap_or(&[])
    }

    #[inline]
    pub(crate) fn of_mut(self, memory: &mut [u8]) -> &mut [u8] {
        memory.get_mut(self.at..self.at + self.bytes).unwrap_or(&mut [])
    }

    /// Its first `bytes`.
    #[inline]
    pub(crate) fn first(self, bytes: u32) -> Self {
        Self { at: self.at, bytes: self.bytes.min(bytes as usize) }
    }

    /// Its `bytes` from `from` on.
    #[inline]
    pub(crate) fn part(self, from: u32, bytes: u32) -> Self {
        debug_assert!((from + bytes) as usize <= self.bytes, "{bytes} bytes from {from} of {}", self.bytes);
        Self { at: self.at + from as usize, bytes: bytes as usize }
    }

    /// Its words.
    #[inline]
    pub(crate) fn words(self) -> Table32 {
        Table32 { at: self.at, entries: (self.bytes / 4) as u32 }
    }
}
