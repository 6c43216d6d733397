//! The phelsuma command with a victim policy and a placement of one's own.

mod lfs;
mod write_count;

use phelsuma_ftl::{Composition, PageParts, Preset, Registry};
use std::process::ExitCode;

/// A named FTL of both, so that `compare` can hold it against others.
const MINE: Preset = Preset {
    name: "mine",
    about: "as page, pages sorted by how often they are written, victims by LFS's benefit to cost",
    composition: Composition::PageMapped(PageParts {
        victim: lfs::SPEC.chosen(),
        placement: write_count::SPEC.chosen(),
        ..PageParts::PAGE
    }),
};

fn main() -> ExitCode {
    phelsuma_cli::main_with(Registry::new().victim(&lfs::SPEC).placement(&write_count::SPEC).preset(MINE))
}
