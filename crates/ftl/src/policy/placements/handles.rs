//! Handles: the host says which pages belong together, as in NVMe's Flexible Data Placement (FDP, TP4146).
//!
//! A write carries a placement handle ([`Hint::Handle`]), which FDP calls a placement identifier and multi-stream drives
//! a stream. Pages of each handle go to an open block of their own. Hosts do send this with the request, so the placement
//! is no oracle. A page without a handle is of handle 0, and so is one whose handle the drive does not have. FDP treats an
//! invalid identifier so, and notes it; here it is counted.
//!
//! Pages that collection moves are isolated in one of FDP's two ways (`handles.isolation`):
//!
//! ```text
//!                  host writes         moved pages
//!  persistent      0  1  2 .. n-1      n  n+1 .. 2n-1     a stream for each handle
//!  initial         0  1  2 .. n-1      n                  one stream for all
//! ```
//!
//! - FDP's reclaim unit is a block here, and there is one reclaim group.
//! - The handle of a moved page is that of its block. Nothing of it is in RAM or in the page's own spare area. After a
//!   power cut, the stream of a block is that of its first page's spare area.
//! - Three things mix handles also under persistent isolation: an emergency, in which streams share open blocks; copies that
//!   a recovery makes, which are of handle 0; and wear levelling, which moves cold pages of all handles to one block.

use crate::Counter;
use crate::blocks::{View, Wants};
use crate::ftl::Hint;
use crate::policy::{Asks, HostWrite, MovedPage, Placement, PlacementSpec};
use crate::spec::Param;
use alloc::boxed::Box;
use alloc::vec::Vec;
use phelsuma_nand::state::Preserve;

const COUNT: Param = Param::number("handles.count", 1, 32, 8, "placement handles of handles; handle 0 is the default");

const ISOLATION: Param = Param::words(
    "handles.isolation",
    &["persistent", "initial"],
    "whether pages that collection moves keep apart by handle, as FDP calls it",
);

pub(crate) static SPEC: PlacementSpec = PlacementSpec::new(
    "handles",
    "one for each placement handle of the host (NVMe FDP)",
    |context| Handles::new(context.number(&COUNT) as u8, context.is(&ISOLATION, "persistent")).streams(),
    |context| Box::new(Handles::new(context.number(&COUNT) as u8, context.is(&ISOLATION, "persistent"))),
)
.params(&[COUNT, ISOLATION])
.wants(|_| Wants::NOTHING.clock())
.asks(|_| Asks::NOTHING.pages())
.handles(|values| values.number(&COUNT) as u8);

/// A stream for each handle, and those of moved pages behind them.
#[derive(Clone, Copy, Preserve)]
struct Handles {
    count: u8,
    persistent: bool,
    /// Pages written with a handle that the drive does not have.
    invalid: u64,
}

impl Handles {
    fn new(count: u8, persistent: bool) -> Self {
        Self { count, persistent, invalid: 0 }
    }

    fn streams(self) -> u8 {
        self.count + if self.persistent { self.count } else { 1 }
    }

    /// The handle of the pages of a stream, if they are of one: not of shared blocks, nor of others' streams.
    fn handle_of(self, stream: u8) -> Option<u8> {
        (stream < self.streams() && (self.persistent || stream < self.count)).then(|| stream % self.count)
    }

    /// The stream of what is moved from this one.
    fn of_moved(self, stream: u8) -> u8 {
        let handle = if self.persistent { self.handle_of(stream).unwrap_or(0) } else { 0 };
        self.count + handle
    }
}

impl Placement for Handles {
    fn host(&mut self, _view: &View<'_>, write: &HostWrite) -> u8 {
        match write.hint {
            Hint::Handle(handle) if handle < self.count => handle,
            Hint::Handle(_) => {
                self.invalid += 1;
                0
            }
            _ => 0,
        }
    }

    fn moved(&mut self, _view: &View<'_>, page: &MovedPage) -> u8 {
        self.of_moved(page.stream)
    }

    fn counters(&self, out: &mut Vec<Counter>) {
        out.push(Counter::sum("placement_invalid_handles", self.invalid));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moved_pages_keep_apart_or_come_together() {
        let persistent = Handles::new(3, true);
        assert_eq!(persistent.streams(), 6);
        assert_eq!([0, 1, 2, 3, 4, 5].map(|stream| persistent.of_moved(stream)), [3, 4, 5, 3, 4, 5]);
        // A stream of something else.
        assert_eq!(persistent.of_moved(77), 3);
        let initial = Handles::new(3, false);
        assert_eq!(initial.streams(), 4);
        assert!([0, 1, 2, 3, 77].iter().all(|stream| initial.of_moved(*stream) == 3));
        assert_eq!(Handles::new(1, true).streams(), 2);
    }
}
