//! A range of bytes as pieces of host pages.

/// The part of a range that is in one page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Piece {
    pub(crate) page: u32,
    /// Its first byte in the page.
    pub(crate) from: usize,
    pub(crate) bytes: usize,
}

/// The pieces of a range, in order.
pub(crate) struct Pieces {
    at: u64,
    left: usize,
    page_bytes: u32,
}

impl Pieces {
    pub(crate) fn of(at: u64, bytes: usize, page_bytes: u32) -> Self {
        Self { at, left: bytes, page_bytes }
    }
}

impl Iterator for Pieces {
    type Item = Piece;

    fn next(&mut self) -> Option<Piece> {
        let page = self.at.checked_div(self.page_bytes.into()).filter(|_| self.left > 0)?;
        let from = (self.at % u64::from(self.page_bytes)) as u32;
        let bytes = self.left.min((self.page_bytes - from) as usize);
        self.at += bytes as u64;
        self.left -= bytes;
        Some(Piece { page: u32::try_from(page).ok()?, from: from as usize, bytes })
    }
}
