//! Writing the tombstone pages: what makes trims survive.

use super::PageMapped;
use crate::FtlError;
use crate::blocks::NewPage;
use phelsuma_nand::{Content, Kind, Nand, Purpose, Time};

impl PageMapped {
    /// Writes the tombstone pages of all pending regions. Not before everything so far is on flash: a tombstone page
    /// leaves out what has been rewritten since, and must not outlive the rewriting.
    pub(super) fn write_pending_trims<N: Nand>(
        &mut self,
        nand: &mut N,
        label: u8,
        purpose: Purpose,
        at: Time,
    ) -> Result<Time, FtlError> {
        let mut done = at;
        let at = at.max(self.blocks.clock.horizon());
        while let Some(region) = self.trims.take_pending() {
            done = done.max(self.write_tombstone(nand, region, label, purpose, at)?);
        }
        Ok(done)
    }

    /// Writes the tombstone page of one region anew, or drops it where nothing in the region is trimmed any more.
    pub(super) fn write_tombstone<N: Nand>(
        &mut self,
        nand: &mut N,
        region: u32,
        label: u8,
        purpose: Purpose,
        at: Time,
    ) -> Result<Time, FtlError> {
        let mut done = at;
        let mut to = None;
        if self.trims.make_bitmap(self.mapping.as_ref(), region) {
            let content = Content::Bytes(&self.trims.bitmap);
            let page = NewPage {
                kind: Kind::Tombstone,
                key: region,
                version: self.blocks.clock.next_version(),
                content,
                data_crc: content.crc(),
            };
            let (written, safe) = self.blocks.append(nand, self.trim_stream, label, &page, purpose, at)?;
            self.tally.tombstones_written += 1;
            to = Some(written);
            done = safe;
            self.hear_of_closed();
        }
        if let Some(before) = self.trims.set_page(region, to) {
            self.drop_count(before);
        }
        Ok(done)
    }
}
