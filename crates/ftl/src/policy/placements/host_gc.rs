//! Host writes to one stream, moved pages to another: PL+greedy of the Dual Greedy paper (its section V).

use crate::blocks::View;
use crate::policy::{MovedPage, Placement, PlacementSpec};
use alloc::boxed::Box;
use phelsuma_nand::state::Preserve;

pub(crate) static SPEC: PlacementSpec =
    PlacementSpec::new("host-gc", "host writes to one, moved pages to another", |_| 2, |_| Box::new(HostGc));

#[derive(Clone, Copy, Preserve)]
struct HostGc;

impl Placement for HostGc {
    fn moved(&mut self, _view: &View<'_>, _page: &MovedPage) -> u8 {
        1
    }
}
