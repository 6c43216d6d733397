//! Everything to one stream.

use crate::blocks::View;
use crate::policy::{MovedPage, Placement, PlacementSpec};
use alloc::boxed::Box;
use phelsuma_nand::state::Preserve;

pub(crate) static SPEC: PlacementSpec =
    PlacementSpec::new("one-stream", "everything to one", |_| 1, |_| Box::new(OneStream));

#[derive(Clone, Copy, Preserve)]
struct OneStream;

impl Placement for OneStream {
    fn moved(&mut self, _view: &View<'_>, _page: &MovedPage) -> u8 {
        0
    }
}
