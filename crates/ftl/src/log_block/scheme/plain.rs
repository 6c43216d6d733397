//! Plain block mapping (LAST++ section 2.1, after Ban): each page has a fixed offset in the block of its logical block.
//!
//! An overwrite copies that block, but not at once. The pages in front of the one written are copied, then it is
//! written, and the new block stays open. A host that goes on with a later page of the same logical block only has the
//! pages in between copied. The rest is copied when the host writes anywhere else. Until then the new block is a log
//! block in place. Completing it is a partial merge, or a switch merge where nothing was copied. The paper does not
//! mention this. Without it a sequential overwrite of a block would copy it once for each page.

use super::super::ground::Ground;
use super::super::log_index::HashIndex;
use super::super::shape::HybridSizes;
use super::{PartOf, Scheme};
use crate::barriers::Barriers;
use crate::{FtlError, RamLedger};
use phelsuma_nand::state::Preserve;
use phelsuma_nand::{Content, Geometry, Nand, Time};

#[derive(Clone, Default, Debug, Preserve)]
pub(in super::super) struct Plain {
    /// The slot of the block that is being copied.
    open: Option<u32>,
}

impl Scheme for Plain {
    type Parts = ();
    type Index = HashIndex;

    fn new((): &(), _geometry: &Geometry, _sizes: &HybridSizes) -> Self {
        Self::default()
    }

    fn index((): &(), geometry: &Geometry, sizes: &HybridSizes, _barriers: Barriers) -> HashIndex {
        HashIndex::of_owned(geometry, sizes)
    }

    fn write<N: Nand>(
        &mut self,
        ground: &mut Ground<HashIndex>,
        nand: &mut N,
        key: u32,
        _part: PartOf,
        content: Content<'_>,
        at: Time,
    ) -> Result<Time, FtlError> {
        let (logical_block, offset) = ground.split(key);
        let mut at = at;
        // Each round that fails retires a block.
        loop {
            if let Some(slot) = self.open {
                let state = ground.log.get(slot);
                if state.owner != logical_block || offset < state.next || state.closed {
                    at = ground.merge_owned(nand, slot, at)?;
                    self.open = None;
                }
            }
            let slot = match self.open {
                Some(slot) => slot,
                None => {
                    debug_assert_eq!(ground.log.len(), 0, "a block is copied while another one is");
                    let (slot, ready) = ground.open_log_block(nand, logical_block, at)?;
                    at = ready;
                    *self.open.insert(slot)
                }
            };
            if ground.copy_until(nand, slot, offset, at)?
                && let Some(done) = ground.append(nand, slot, offset, key, content, at)?
            {
                return Ok(done);
            }
        }
    }

    /// None of them can be gone on with.
    fn recovered<N: Nand>(&mut self, ground: &mut Ground<HashIndex>, nand: &mut N, at: Time) -> Result<Time, FtlError> {
        let mut at = at;
        while let Some(slot) = { ground.log.slots().next() } {
            at = ground.merge_shared(nand, slot, at)?;
        }
        Ok(at)
    }

    fn knows(&self, ground: &Ground<HashIndex>) -> bool {
        ground.log.slots().eq(self.open)
    }

    fn ram(&self, ledger: &mut RamLedger) {
        ledger.structure("scheme.open", 4);
    }
}
