//! The column store against a plain map of whole pages.

use crate::common::{Seen, chips, host, scaled, see, shape, times};
use phelsuma_nand::sim::SimConfig;
use phelsuma_nand::{Block, CLOCK_MAX, Content, Kind, Nand, Page, SimNand, Spare, SpareRead};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// The data of the next program, relative to the one before it.
#[derive(Clone, Debug)]
struct Next {
    block: u32,
    skip: u32,
    kind: usize,
    stream: u8,
    key: u32,
    version: Jump,
    seq_gap: u64,
    aux: u32,
    data: Data,
    wrong_crc: bool,
}

#[derive(Clone, Debug)]
enum Jump {
    Ahead(u64),
    Back(u64),
}

#[derive(Clone, Debug)]
enum Data {
    Tag(u64),
    Bytes(u8),
}

#[derive(Clone, Debug)]
enum Action {
    Program(Next),
    Erase(u32),
    PowerCycle,
}

fn jump() -> impl Strategy<Value = Jump> {
    prop_oneof![
        6 => (1u64..4).prop_map(Jump::Ahead),
        1 => (1u64..1 << 40).prop_map(Jump::Ahead),
        1 => (30u32..41).prop_map(|bits| Jump::Ahead(1 << bits)),
        1 => (0u64..70_000).prop_map(Jump::Back),
        1 => (0u64..1 << 40).prop_map(Jump::Back),
    ]
}

fn next() -> impl Strategy<Value = Next> {
    let gap = prop_oneof![
        8 => Just(1u64),
        2 => 1u64..5,
        1 => 250u64..260,
        1 => 1u64..1 << 33,
        1 => (1u64 << 32) - 2..(1 << 32) + 2,
    ];
    let skip = prop_oneof![12 => Just(0u32), 1 => 1u32..4];
    let aux = prop_oneof![4 => Just(0u32), 1 => any::<u32>()];
    let data = prop_oneof![2 => Just(Data::Tag(0)), 2 => any::<u64>().prop_map(Data::Tag), 1 => any::<u8>().prop_map(Data::Bytes)];
    // Nearly always the block's own kind and stream, or every page would be an odd one.
    let kind = prop_oneof![20 => Just(0usize), 1 => 0..Kind::ALL.len()];
    let stream = prop_oneof![20 => Just(0u8), 1 => any::<u8>()];
    (0..4u32, skip, kind, stream, any::<u32>(), jump(), gap, aux, data, prop::bool::weighted(0.05)).prop_map(
        |(block, skip, kind, stream, key, version, seq_gap, aux, data, wrong_crc)| Next {
            block,
            skip,
            kind,
            stream,
            key,
            version,
            seq_gap,
            aux,
            data,
            wrong_crc,
        },
    )
}

fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        40 => next().prop_map(Action::Program),
        3 => (0..4u32).prop_map(Action::Erase),
        1 => Just(Action::PowerCycle),
    ]
}

/// The naive model: every programmed page whole.
#[derive(Default)]
struct Model {
    pages: BTreeMap<u32, Seen>,
    next: BTreeMap<u32, u32>,
    version: u64,
    seq: u64,
}

fn run(mut nand: SimNand, actions: &[Action]) -> Result<(), TestCaseError> {
    let geometry = *nand.geometry();
    let mut model = Model { version: 5, seq: 1, ..Model::default() };
    for action in actions {
        match action {
            Action::Program(n) => {
                let next = model.next.entry(n.block).or_default();
                let index = *next + n.skip;
                if index >= geometry.pages_per_block() {
                    continue;
                }
                *next = index + 1;
                model.version = match n.version {
                    Jump::Ahead(by) => (model.version + by).min(CLOCK_MAX),
                    Jump::Back(by) => model.version.saturating_sub(by),
                };
                model.seq = (model.seq + n.seq_gap).min(CLOCK_MAX);
                let bytes;
                let content = match n.data {
                    Data::Tag(tag) => Content::Hollow(tag),
                    Data::Bytes(seed) => {
                        bytes = (0..512u32).map(|i| (i as u8).wrapping_mul(seed | 1) ^ seed).collect::<Vec<_>>();
                        Content::Bytes(&bytes)
                    }
                };
                let spare = Spare {
                    kind: Kind::ALL[n.kind],
                    stream: n.stream,
                    key: n.key,
                    version: model.version,
                    seq: model.seq,
                    data_crc: content.crc() ^ u32::from(n.wrong_crc),
                    aux: n.aux,
                };
                let page = geometry.page(Block(n.block), index);
                prop_assert!(nand.program(page, content, &spare, host()).is_ok());
                let seen = match content {
                    Content::Hollow(tag) => Seen::Hollow(tag, spare),
                    Content::Bytes(bytes) => Seen::Bytes(bytes.to_vec(), spare),
                };
                model.pages.insert(page.0, seen);
            }
            Action::Erase(block) => {
                prop_assert!(nand.erase(Block(*block), host()).is_ok());
                model.next.remove(block);
                model.pages.retain(|page, _| geometry.block_of(Page(*page)) != Block(*block));
            }
            Action::PowerCycle => nand.power_cycle(),
        }
    }
    // A copy holds the same.
    let mut copy = nand.clone();
    for nand in [&mut nand, &mut copy] {
        for block in 0..geometry.blocks() {
            for index in 0..geometry.pages_per_block() {
                let page = geometry.page(Block(block), index);
                let expected = model.pages.get(&page.0).cloned().unwrap_or(Seen::Erased);
                let spare = match &expected {
                    Seen::Hollow(_, spare) | Seen::Bytes(_, spare) => SpareRead::Written(*spare),
                    _ => SpareRead::Erased,
                };
                prop_assert_eq!(
                    nand.read_spare(page, host()).0,
                    spare,
                    "spare area of page {} of block {}",
                    index,
                    block
                );
                prop_assert_eq!(see(nand, page), expected, "page {} of block {}", index, block);
            }
        }
    }
    Ok(())
}

/// What a page takes of the host's memory once its block's versions lie `apart` of one another, in bytes.
fn bytes_a_page(apart: u64) -> u64 {
    let geometry = phelsuma_nand::Geometry::new(4096, 64, 64, 1, 1).unwrap();
    let mut nand = SimNand::new(&SimConfig { tagged: true, ..SimConfig::new(geometry, times()) });
    for (block, index) in (0..64).flat_map(|block| (0..64).map(move |index| (block, index))) {
        let (seq, version) = (u64::from(64 * block + index + 1), u64::from((block + index * 7) % 64) * apart + 1);
        let content = Content::Hollow(version << 32 | u64::from(index));
        let data_crc = content.crc();
        let spare = Spare { kind: Kind::User, stream: 0, key: index, version, seq, data_crc, aux: 0 };
        nand.program(geometry.page(Block(block), index), content, &spare, host()).unwrap();
    }
    nand.heap_bytes() / 4096
}

#[test]
fn pages_of_all_ages_side_by_side_take_a_byte_more_each() {
    // What a drive of terabytes comes to: five thousand million writes, the pages of a block from all of them.
    let (near, far) = (bytes_a_page(1), bytes_a_page(5_000_000_000 / 64));
    assert!(far <= near + 1, "{far} bytes a page, {near} where versions are alike");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: scaled(1500, 40_000), ..ProptestConfig::default() })]

    #[test]
    fn a_tagged_chip_reads_what_was_programmed(actions in prop::collection::vec(action(), 1..80)) {
        run(chips(), &actions)?;
    }

    #[test]
    fn a_chip_without_tags_reads_what_was_programmed(actions in prop::collection::vec(action(), 1..80)) {
        run(SimNand::new(&SimConfig::new(shape(1, 1), times())), &actions)?;
    }

    #[test]
    fn a_chip_whose_blocks_are_no_power_of_two_reads_what_was_programmed(
        actions in prop::collection::vec(action(), 1..200),
    ) {
        let geometry = phelsuma_nand::Geometry::new(512, 37, 4, 1, 1).unwrap();
        run(SimNand::new(&SimConfig { tagged: true, ..SimConfig::new(geometry, times()) }), &actions)?;
    }

    #[test]
    fn equal_contents_have_equal_fingerprints_whatever_order_the_blocks_were_written_in(
        nexts in prop::collection::vec((0..4u32, 0..3u64), 1..24),
        erased in prop::collection::vec(0..4u32, 0..3),
    ) {
        let mut straight = chips();
        let mut sorted = chips();
        for block in &erased {
            // A past that an erase has wiped out.
            crate::common::write(&mut sorted, *block, 2, 99).unwrap();
            sorted.erase(Block(*block), host()).unwrap();
        }
        let mut per_block = BTreeMap::new();
        let plan: Vec<(u32, u32, u64)> = nexts.iter().filter_map(|(block, tag)| {
            let next: &mut u32 = per_block.entry(*block).or_default();
            *next += 1;
            (*next <= crate::common::PAGES).then_some((*block, *next - 1, *tag))
        }).collect();
        for (block, index, tag) in &plan {
            crate::common::write(&mut straight, *block, *index, *tag).unwrap();
        }
        let mut by_block = plan.clone();
        by_block.sort_by_key(|(block, index, _)| (std::cmp::Reverse(*block), *index));
        for (block, index, tag) in &by_block {
            crate::common::write(&mut sorted, *block, *index, *tag).unwrap();
        }
        prop_assert_eq!(straight.fingerprint(), sorted.fingerprint());
        // One more page makes them differ.
        let (block, _, tag) = plan[0];
        if per_block[&block] < crate::common::PAGES {
            crate::common::write(&mut sorted, block, per_block[&block], tag).unwrap();
            prop_assert_ne!(straight.fingerprint(), sorted.fingerprint());
        }
    }
}
