//! Pages that a sequential request skips in a log block (LAST++ section 4.3).
//!
//! The paper leaves them out, and the merge of the log block is a full one. Here they may be copied there as well, on
//! all channels together, before the request is written behind them. Then the log block may still become a data block.
//!
//! No table says where a copy is: a later read or copy takes the original. A copy has its original's version. So a
//! power cut needs no rule of its own. A recovery counts a copy where no newer version is on flash and its logical
//! block was not merged since. Then it is as good as its original. A recovery takes a sequential log block for one in
//! place only if every page of it counts. While the drive is in use it is the other way round: a log block in place
//! becomes a data block with all that it holds. So it is in place only as long as its copies are the newest.

use super::state::Last;
use super::tables::Tables;
use crate::FtlError;
use crate::log_block::ground::Ground;
use crate::log_block::pool::Role;
use crate::log_block::scheme::PartOf;
use alloc::vec::Vec;
use phelsuma_nand::{Nand, Time};

impl Last {
    /// A sequential request goes on with `key`: copies the pages that it skips in the log blocks of that segment.
    pub(super) fn copy_skipped<N: Nand>(
        &mut self,
        ground: &mut Ground<Tables>,
        nand: &mut N,
        key: u32,
        part: PartOf,
        at: Time,
    ) -> Result<(), FtlError> {
        let segment = ground.split(key).0 / self.channels;
        let (mut behind, mut from, mut before) = (Vec::new(), at, 0);
        for key in key..key + (part.pages - part.index).min(self.channels) {
            let (logical_block, offset) = ground.split(key);
            if logical_block / self.channels != segment {
                break;
            }
            let segments = &ground.log.index.segments;
            let slot = match segments.slot(logical_block) {
                Some(slot) => slot,
                None if offset == 0 => continue,
                // Its own turn finds room for it.
                None if !segments.can_open(logical_block) || ground.pool.free() <= ground.shape.reserve_blocks => break,
                None => {
                    let channel = Some(logical_block % self.channels);
                    match ground.open_log_block_as(nand, logical_block, Role::Sequential, channel, at) {
                        Ok((slot, ready)) => {
                            from = from.max(ready);
                            self.counts.sequential_begun_behind += 1;
                            slot
                        }
                        Err(FtlError::Full { .. }) => break,
                        Err(error) => return Err(error),
                    }
                }
            };
            let state = ground.log.get(slot);
            if !state.closed && offset > state.next {
                behind.push((slot, offset));
                before += state.copied;
            }
        }
        ground.copy_until_in_step(nand, &behind, from)?;
        let copied: u32 = behind.iter().map(|(slot, _)| ground.log.get(*slot).copied).sum();
        self.counts.skipped_copies += u64::from(copied - before);
        Ok(())
    }
}
