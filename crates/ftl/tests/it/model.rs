//! Every preset against a plain map of the host's writes, with random requests and power cuts between them.

use crate::common::{Host, Step, chips, config, large_enough, most_pages, scaled, small, surviving};
use proptest::prelude::*;

/// Pages in a block, blocks, channels, dies per channel.
const SHAPES: &[(u32, u64, u32, u32)] =
    &[(32, 32, 1, 1), (32, 64, 1, 4), (32, 48, 2, 1), (16, 60, 2, 2), (37, 40, 1, 1)];

/// A step with its place as a share of the drive, so that it means something on any drive and can shrink.
#[derive(Clone, Debug)]
struct Wish {
    step: Step,
    first: u32,
    pages: u32,
}

fn wish() -> impl Strategy<Value = Wish> {
    // Often the same few pages: a page that is written once only shows little.
    let first = prop_oneof![2 => 0..12u32, 3 => any::<u32>()];
    let pages = prop_oneof![3 => Just(1u32), 1 => 1..40u32];
    let step = prop_oneof![
        12 => any::<bool>().prop_map(|bytes| Step::Write { first: 0, pages: 0, bytes }),
        3 => Just(Step::Trim { first: 0, pages: 0 }),
        1 => Just(Step::Flush),
        2 => Just(Step::Read { first: 0, pages: 0 }),
        1 => Just(Step::Wait),
        1 => Just(Step::Cut),
    ];
    (step, first, pages).prop_map(|(step, first, pages)| Wish { step, first, pages })
}

impl Wish {
    fn on(&self, logical_pages: u32) -> Step {
        let first = self.first % logical_pages;
        let pages = self.pages.min(logical_pages - first);
        match self.step {
            Step::Write { bytes, .. } => Step::Write { first, pages, bytes },
            Step::Trim { .. } => Step::Trim { first, pages },
            Step::Read { .. } => Step::Read { first, pages },
            other => other,
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: scaled(250, 10_000), ..ProptestConfig::default() })]

    #[test]
    fn a_drive_is_a_map_that_survives_power_cuts(
        preset in 0..surviving().len(),
        shape in 0..SHAPES.len(),
        full in any::<bool>(),
        filled in any::<bool>(),
        waits in any::<bool>(),
        wishes in prop::collection::vec(wish(), 1..250),
    ) {
        let (pages_per_block, blocks, channels, dies) = SHAPES[shape];
        let preset = surviving()[preset].name;
        let geometry = large_enough(preset, small(pages_per_block, blocks, channels, dies));
        let most = most_pages(preset, geometry);
        let mut host = Host::new(chips(geometry), config(preset, if full { most } else { most / 2 }), 1);
        host.waits = waits;
        if filled {
            host.overwrite().unwrap();
        }
        for (n, wish) in wishes.iter().enumerate() {
            host.step(&wish.on(host.logical_pages())).unwrap();
            if n % 16 == 0 {
                host.check();
            }
        }
        host.check();
        host.compare_all();
        host.step(&Step::Cut).unwrap();
        host.compare_all();
    }
}

#[test]
fn a_drive_as_full_as_it_goes_can_be_written_over_and_over() {
    for preset in surviving() {
        for (pages_per_block, blocks, channels, dies) in SHAPES {
            let geometry = large_enough(preset.name, small(*pages_per_block, *blocks, *channels, *dies));
            let most = most_pages(preset.name, geometry);
            let mut host = Host::new(chips(geometry), config(preset.name, most), 1);
            for _ in 0..scaled(3, 60) {
                host.overwrite().unwrap();
                host.check();
            }
            host.compare_all();
            host.step(&Step::Cut).unwrap();
            host.overwrite().unwrap();
            host.compare_all();
        }
    }
}
