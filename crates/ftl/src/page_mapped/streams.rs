//! The streams that pages are appended to.

use phelsuma_nand::state::Preserve;

/// The streams that pages are appended to: those of placement, then that of cold data where wear is levelled, then that of
/// an SLC cache, then the mapping's, then validity's if it has one.
#[derive(Clone, Copy, Debug, Preserve)]
pub(super) struct Streams {
    /// How many are placement's: the first ones.
    pub(super) placement: u8,
    pub(super) cold: Option<u8>,
    pub(super) slc: Option<u8>,
    pub(super) mapping: u8,
    pub(super) validity: u8,
    /// How many there are.
    pub(super) count: u8,
    /// Of those of placement, how many open blocks of their own when next to nothing is free. Those of a placement that
    /// sorts host writes share the open blocks then (`Blocks::stream_with_room`).
    pub(super) apart: u8,
}

impl Streams {
    /// Blocks on one die that streams may open from the reserve, whatever was open before a power cut. With free blocks
    /// below the critical ones, streams that share open one where one stream would have opened one, or fewer. Above,
    /// each has its own. A collection that opens more than is counted here comes to the critical ones, and shares.
    pub(super) fn opened_from_reserve(self) -> u32 {
        debug_assert!(
            self.apart <= self.placement && self.placement <= self.mapping,
            "the host's streams are metadata's"
        );
        let own = u32::from(self.cold.is_some()) + u32::from(self.slc.is_some());
        u32::from(self.count - self.mapping) + own + u32::from(self.apart)
    }
}
