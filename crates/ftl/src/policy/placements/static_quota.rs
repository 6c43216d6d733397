//! Static quota: classes of pages that are known beforehand, each in blocks of its own.
//!
//! `victim=static-quota` gives each class its share of the spare space. With it this is what the best static split of
//! `limits` stands for.
//!
//! **No real FTL has this**: the class of a page comes with the host's request ([`Hint::Class`]). So every combination
//! with it counts as an oracle. A page without a hint stays in the class of its old copy, and is of the last class
//! where there is none. Classes beyond the last are taken for that. A workload with fewer classes leaves the others
//! empty. With two classes of a skewed workload that has no classes of its own, policies that infer them do better.
//!
//! A power cut loses from RAM only how often each class was written: the class of a block is that of its first page's
//! spare area. Copies that a recovery makes are of the last class until they are written again.

use crate::RamLedger;
use crate::blocks::{View, Wants};
use crate::ftl::Hint;
use crate::policy::notes::StreamWrites;
use crate::policy::{Asks, HostWrite, Knowledge, MovedPage, OldCopy, Placement, PlacementSpec, State};
use crate::spec::Param;
use alloc::boxed::Box;
use core::any::Any;
use phelsuma_nand::state::Preserve;

const CLASSES: Param =
    Param::number("quota.classes", 1, 32, 16, "classes of static-quota, which the workload names: an oracle");

pub(crate) static SPEC: PlacementSpec = PlacementSpec::new(
    "static-quota",
    "classes that the host names: an oracle",
    |context| context.number(&CLASSES) as u8,
    |context| {
        let writes = StreamWrites::new(context.blocks, context.pages_per_block);
        Box::new(StaticQuota { classes: context.number(&CLASSES) as u8, writes })
    },
)
.params(&[CLASSES])
.wants(|_| Wants::NOTHING.clock())
.asks(|_| Asks::NOTHING.pages())
.knows(|values| Knowledge::Classes(values.number(&CLASSES) as u8));

/// A stream for each class.
#[derive(Clone, Preserve)]
struct StaticQuota {
    classes: u8,
    writes: StreamWrites,
}

impl StaticQuota {
    fn last(&self) -> u8 {
        self.classes - 1
    }

    fn class(&self, hint: Hint, old: Option<u8>) -> u8 {
        match hint {
            Hint::Class(class) => class.min(self.last()),
            _ => old.unwrap_or(self.last()).min(self.last()),
        }
    }
}

impl Placement for StaticQuota {
    fn host(&mut self, view: &View<'_>, write: &HostWrite) -> u8 {
        let old = match write.old {
            OldCopy::Known(block) => Some(view.stream_of(block)),
            OldCopy::None | OldCopy::Unknown => None,
        };
        let class = self.class(write.hint, old);
        self.writes.count(class);
        class
    }

    fn moved(&mut self, _view: &View<'_>, page: &MovedPage) -> u8 {
        self.class(Hint::None, Some(page.stream))
    }

    fn recovered(&self) -> u8 {
        self.last()
    }

    fn notes(&self) -> Option<&dyn Any> {
        Some(&self.writes)
    }
}

impl State for StaticQuota {
    fn enter(&self, ledger: &mut RamLedger) {
        ledger.structure("blocks.writes_by_stream", size_of::<StreamWrites>() as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_names_the_class_and_the_old_copy_does_where_it_is_silent() {
        let quota = StaticQuota { classes: 3, writes: StreamWrites::new(8, 4) };
        assert_eq!(quota.class(Hint::Class(0), Some(2)), 0);
        assert_eq!(quota.class(Hint::Class(9), Some(0)), 2);
        assert_eq!(quota.class(Hint::None, Some(1)), 1);
        // Not written before, or by a stream that is none of these.
        assert_eq!((quota.class(Hint::None, None), quota.class(Hint::None, Some(7))), (2, 2));
        assert_eq!(quota.class(Hint::Death(5), Some(0)), 0);
    }
}
