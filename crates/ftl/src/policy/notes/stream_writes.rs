//! How often the host wrote to each stream lately: the weights of static quota's classes.

use phelsuma_nand::state::Preserve;

/// The most streams that are distinguished by how often the host writes to them.
pub(in crate::policy) const WRITTEN_STREAMS_MAX: usize = 64;

/// How often the host wrote to each stream; older writes count half as much, again and again.
#[derive(Clone, Debug, Preserve)]
pub(in crate::policy) struct StreamWrites {
    by_stream: [u64; WRITTEN_STREAMS_MAX],
    total: u64,
    /// At this total all are halved: by then the drive was written over twice since the last time.
    most: u64,
}

impl StreamWrites {
    pub(in crate::policy) fn new(blocks: u32, pages_per_block: u32) -> Self {
        let most = 4 * u64::from(blocks) * u64::from(pages_per_block);
        Self { by_stream: [0; WRITTEN_STREAMS_MAX], total: 0, most }
    }

    pub(in crate::policy) fn count(&mut self, stream: u8) {
        let Some(writes) = self.by_stream.get_mut(usize::from(stream)) else { return };
        *writes += 1;
        self.total += 1;
        debug_assert!(self.total <= self.most, "writes of long ago count as much as others");
        if self.total == self.most {
            self.by_stream.iter_mut().for_each(|writes| *writes /= 2);
            self.total = self.by_stream.iter().sum();
        }
    }

    /// How often the host wrote to a stream lately.
    pub(in crate::policy) fn to(&self, stream: u8) -> u64 {
        self.by_stream.get(usize::from(stream)).copied().unwrap_or(0)
    }
}
