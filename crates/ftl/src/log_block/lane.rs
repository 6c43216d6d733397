//! A channel of a drive as flash of its own: how its blocks and keys are numbered, and the [`Nand`] that translates.
//!
//! Blocks are dealt to dies in turn and dies to channels. So those of channel c are c, c + channels, c + 2 channels and
//! so on: block j of the channel is block `j channels + c` of the drive, on die `j mod dies` of the channel. Page
//! indexes are the same. Where the drive's blocks do not divide by its channels, the first channels have one more.
//!
//! **Keys** in spare areas are translated as addresses are: key k of the channel is `k channels + c` on flash. So the
//! spare area of a user page has the logical page as the host counts it, also for a reader that ignores channels.
//! Instances number parts of their maps by themselves, and yet no two on the drive have the same kind and key. The
//! content of map pages is in the numbers of their channel: only that channel reads them.

use crate::FtlError;
use alloc::vec::Vec;
use phelsuma_nand::state::Preserve;
use phelsuma_nand::{
    Block, Content, EraseError, Geometry, Nand, Op, Page, PageRead, ProgramError, Spare, SpareRead, Time,
};

/// A channel of a drive, or all of a drive that one FTL has, which is translated to itself.
#[derive(Clone, Copy, Debug, Preserve)]
pub(super) struct Lane {
    number: u32,
    of: u32,
    /// The channel's own.
    geometry: Geometry,
    drive: Geometry,
}

impl Lane {
    /// All of a drive.
    pub(super) fn whole(geometry: &Geometry) -> Self {
        Self { number: 0, of: 1, geometry: *geometry, drive: *geometry }
    }

    /// One channel of a drive.
    ///
    /// # Errors
    /// [`FtlError::Unsupported`]: it has too few blocks for an FTL.
    pub(super) fn of(drive: &Geometry, number: u32) -> Result<Self, FtlError> {
        let of = drive.channels();
        let blocks = (drive.blocks() - number).div_ceil(of);
        let (page_bytes, pages, dies) = (drive.page_bytes(), drive.pages_per_block(), drive.dies_per_channel());
        let geometry = Geometry::new(page_bytes, pages, blocks.into(), 1, dies).map_err(|_| {
            FtlError::Unsupported(
                "an FTL for each channel, and fewer than four blocks on a channel: more blocks or fewer channels would be right",
            )
        })?;
        debug_assert_eq!(geometry.page_numbers_per_block(), drive.page_numbers_per_block());
        Ok(Self { number, of, geometry, drive: *drive })
    }

    /// All channels of a drive.
    ///
    /// # Errors
    /// As [`Lane::of`].
    pub(super) fn all(drive: &Geometry) -> Result<Vec<Self>, FtlError> {
        (0..drive.channels()).map(|number| Self::of(drive, number)).collect()
    }

    /// Which channel it is.
    pub(super) fn number(&self) -> u32 {
        self.number
    }

    /// Of how many.
    pub(super) fn channels(&self) -> u32 {
        self.of
    }

    pub(super) fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// Logical pages of the channel, of so many of the drive: those that leave its number when divided by the channels.
    pub(super) fn logical_pages(&self, all: u32) -> u32 {
        self.keys_below(all)
    }

    /// How many of its keys are below this one of the drive's: the first of its own that is not.
    pub(super) fn keys_below(&self, key: u32) -> u32 {
        key.saturating_sub(self.number).div_ceil(self.of)
    }

    /// The most logical pages of a drive of which this channel has so many at the most.
    pub(super) fn drive_pages(&self, most: u64) -> u64 {
        most * u64::from(self.of) + u64::from(self.number)
    }

    /// A block of the channel's, as the drive counts them.
    pub(super) fn block(&self, own: Block) -> Block {
        Block(own.0 * self.of + self.number)
    }

    /// A page of the channel's, as the drive counts them.
    #[inline]
    pub(super) fn page(&self, own: Page) -> Page {
        debug_assert!(self.geometry.contains(own), "{own} is no page of channel {}", self.number);
        self.drive.page(self.block(self.geometry.block_of(own)), self.geometry.index_of(own))
    }

    /// A key of the channel's as it stands on flash.
    #[inline]
    pub(super) fn key(&self, own: u32) -> u32 {
        own.wrapping_mul(self.of).wrapping_add(self.number)
    }

    /// A block of the drive's, as this channel counts its own; none if it is another's.
    pub(super) fn own_block(&self, block: Block) -> Option<Block> {
        (block.0 % self.of == self.number).then_some(Block(block.0 / self.of))
    }

    /// A spare area as it stands on flash.
    #[inline]
    pub(super) fn spare(&self, own: &Spare) -> Spare {
        Spare { key: self.key(own.key), ..*own }
    }

    /// A spare area on flash as this channel has it; none where it is of no page of this channel.
    #[inline]
    fn own_spare(&self, spare: &Spare) -> Option<Spare> {
        (spare.key % self.of == self.number).then_some(Spare { key: spare.key / self.of, ..*spare })
    }

    /// The drive's flash, as this channel's alone.
    #[inline]
    pub(super) fn on<'n, N: Nand>(&self, nand: &'n mut N) -> Channel<'n, N> {
        Channel { nand, lane: *self }
    }
}

/// The flash of one channel. Errors name blocks and pages as the drive counts them: they are for the drive's owner, and
/// no FTL looks at them.
pub(super) struct Channel<'n, N> {
    nand: &'n mut N,
    lane: Lane,
}

impl<N: Nand> Nand for Channel<'_, N> {
    fn geometry(&self) -> &Geometry {
        &self.lane.geometry
    }

    #[inline]
    fn read(&mut self, page: Page, op: Op) -> (PageRead<'_>, Time) {
        if !self.lane.geometry.contains(page) {
            return (PageRead::Unreadable, op.at);
        }
        match self.nand.read(self.lane.page(page), op) {
            (PageRead::Written { content, spare, corrected, checked }, done) => match self.lane.own_spare(&spare) {
                Some(spare) => (PageRead::Written { content, spare, corrected, checked }, done),
                None => (PageRead::Unreadable, done),
            },
            other => other,
        }
    }

    #[inline]
    fn read_spare(&mut self, page: Page, op: Op) -> (SpareRead, Time) {
        if !self.lane.geometry.contains(page) {
            return (SpareRead::Unreadable, op.at);
        }
        match self.nand.read_spare(self.lane.page(page), op) {
            (SpareRead::Written(spare), done) => {
                (self.lane.own_spare(&spare).map_or(SpareRead::Unreadable, SpareRead::Written), done)
            }
            other => other,
        }
    }

    #[inline]
    fn program(&mut self, page: Page, content: Content<'_>, spare: &Spare, op: Op) -> Result<Time, ProgramError> {
        if !self.lane.geometry.contains(page) {
            return Err(ProgramError::NoSuchPage(page));
        }
        self.nand.program(self.lane.page(page), content, &self.lane.spare(spare), op)
    }

    fn erase(&mut self, block: Block, op: Op) -> Result<Time, EraseError> {
        if block.0 >= self.lane.geometry.blocks() {
            return Err(EraseError::NoSuchBlock(block));
        }
        self.nand.erase(self.lane.block(block), op)
    }

    fn is_bad(&self, block: Block) -> bool {
        self.nand.is_bad(self.lane.block(block))
    }

    fn mark_bad(&mut self, block: Block) {
        self.nand.mark_bad(self.lane.block(block));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use phelsuma_nand::sim::SimConfig;
    use phelsuma_nand::{Kind, Purpose, SimNand, Timing};

    const DRIVES: [(u64, u32, u32); 5] = [(64, 1, 1), (64, 2, 1), (67, 3, 2), (65, 8, 2), (19, 4, 1)];

    fn lanes(drive: &Geometry) -> Vec<Lane> {
        Lane::all(drive).unwrap()
    }

    #[test]
    fn each_block_is_one_channels_and_on_the_die_that_the_channel_takes_it_for() {
        for (blocks, channels, dies) in DRIVES {
            let drive = Geometry::new(512, 12, blocks, channels, dies).unwrap();
            let mut seen = vec![0; blocks as usize];
            for lane in lanes(&drive) {
                for own in (0..lane.geometry().blocks()).map(Block) {
                    let block = lane.block(own);
                    seen[block.index()] += 1;
                    assert_eq!(lane.own_block(block), Some(own));
                    let die = drive.die_of(block);
                    assert_eq!(drive.channel_of(die), lane.number);
                    assert_eq!(die / channels, lane.geometry().die_of(own));
                    for index in [0, 11] {
                        let page = lane.page(lane.geometry().page(own, index));
                        assert_eq!(page, drive.page(block, index));
                    }
                }
                let another = Block(lane.number + 1);
                assert_eq!(lane.own_block(another).is_none(), channels > 1);
            }
            assert_eq!(seen, vec![1; blocks as usize], "{blocks} blocks, {channels} channels");
        }
    }

    #[test]
    fn each_logical_page_is_one_channels() {
        for (blocks, channels, dies) in DRIVES {
            let drive = Geometry::new(512, 12, blocks, channels, dies).unwrap();
            for pages in [channels, channels + 1, 100, 101, 102, 103] {
                let mut keys: Vec<u32> = lanes(&drive)
                    .iter()
                    .flat_map(|lane| (0..lane.logical_pages(pages)).map(|own| lane.key(own)))
                    .collect();
                keys.sort_unstable();
                assert_eq!(keys, (0..pages).collect::<Vec<_>>());
                for lane in lanes(&drive) {
                    // As many as there are, and one more would be another's.
                    let own = lane.logical_pages(pages);
                    let most = lane.drive_pages(own.into()) as u32;
                    assert!(lane.logical_pages(most) == own && lane.logical_pages(most + 1) == own + 1);
                }
            }
        }
    }

    #[test]
    fn what_a_channel_writes_says_the_drives_numbers_and_what_is_anothers_is_unreadable() {
        let drive = Geometry::new(512, 16, 16, 2, 1).unwrap();
        let mut nand =
            SimNand::new(&SimConfig { tagged: true, ..SimConfig::new(drive, Timing::preset("gecko").unwrap()) });
        let lanes = lanes(&drive);
        let content = Content::Hollow(5);
        let spare = Spare { kind: Kind::User, stream: 0, key: 21, version: 3, seq: 4, data_crc: content.crc(), aux: 0 };
        let op = Op::new(Time::ZERO, Purpose::Host);
        let own = lanes[1].geometry().page(Block(3), 0);
        lanes[1].on(&mut nand).program(own, content, &spare, op).unwrap();
        assert_eq!(lanes[1].on(&mut nand).read_spare(own, op).0, SpareRead::Written(spare));
        let on_flash = Spare { key: 2 * 21 + 1, ..spare };
        let page = drive.page(Block(7), 0);
        assert_eq!(nand.read_spare(page, op).0, SpareRead::Written(on_flash));
        // An error names its page or block as the drive counts.
        let refused = lanes[1].on(&mut nand).program(own, content, &spare, op);
        assert_eq!(refused, Err(ProgramError::NotErased(page)));
        lanes[1].on(&mut nand).mark_bad(Block(3));
        assert!(nand.is_bad(Block(7)) && !lanes[0].on(&mut nand).is_bad(Block(3)));

        // A page on channel 0 that says that it is of channel 1.
        let page = drive.page(Block(4), 0);
        nand.program(page, content, &on_flash, op).unwrap();
        let own = lanes[0].geometry().page(Block(2), 0);
        assert_eq!(lanes[0].on(&mut nand).read_spare(own, op).0, SpareRead::Unreadable);
        assert_eq!(lanes[0].on(&mut nand).read(own, op).0, PageRead::Unreadable);
        // There are no pages behind the last block.
        let behind = Page(8 << 4);
        assert_eq!(lanes[0].on(&mut nand).read(behind, op).0, PageRead::Unreadable);
        assert_eq!(lanes[0].on(&mut nand).erase(Block(8), op), Err(EraseError::NoSuchBlock(Block(8))));
        let refused = lanes[0].on(&mut nand).program(behind, content, &spare, op);
        assert_eq!(refused, Err(ProgramError::NoSuchPage(behind)));
    }

    #[test]
    fn a_channel_of_three_blocks_is_refused() {
        let drive = Geometry::new(512, 16, 15, 4, 1).unwrap();
        assert!(Lane::of(&drive, 2).is_ok());
        let error = Lane::of(&drive, 3).unwrap_err().to_string();
        assert!(error.contains("fewer than four blocks"), "{error}");
    }
}
