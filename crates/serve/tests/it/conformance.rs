//! An image and a simulated chip set take the same operations, power cuts included, and must say the same.
//!
//! Not tested: time (an image has none) and blocks that wear out (an image has no such limit).

use phelsuma_ftl::{Config, Preset};
use phelsuma_nand::sim::{EraseFault, ProgramFault, SimConfig};
use phelsuma_nand::{
    Block, Content, Geometry, Kind, Nand, Op, Page, PageRead, ProgramError, Purpose, SimNand, Spare, SpareRead,
    TIMINGS, Time,
};
use phelsuma_serve::image::{CreateOptions, Durability, FaultPlan, ImageNand};
use proptest::prelude::*;
use std::collections::BTreeSet;

const PAGES: u32 = 6;
const BLOCKS: u32 = 5;

type Image = ImageNand<Vec<u8>>;

fn shape() -> Geometry {
    Geometry::new(512, PAGES, BLOCKS.into(), 1, 1).unwrap()
}

fn blank() -> Image {
    let config = Config::new("page", Preset::named("page").unwrap().composition, 8, 1);
    // So few that slots are used again all the time.
    let options = CreateOptions { spare_slots: Some(2), ..CreateOptions::default() };
    let bytes = vec![0; ImageNand::file_bytes_of(&shape(), &options).unwrap() as usize];
    Image::create_on(bytes, &shape(), &config, &options).unwrap()
}

fn op() -> Op {
    Op::new(Time::ZERO, Purpose::Host)
}

#[derive(Clone, Copy, Debug)]
enum Data {
    Hollow(u64),
    Bytes(u8),
}

#[derive(Clone, Copy, Debug)]
enum Action {
    /// The page, the data, and whether the spare area's CRC of them is right.
    Program(u32, Data, bool),
    Erase(u32),
    MarkBad(u32),
    Read(u32),
    Sync,
    /// The image is closed cleanly (or the process dies) and opened again.
    Reopen(bool),
    CutProgram(u32, Data, ProgramFault, u64),
    CutErase(u32, EraseFault, u64),
}

fn data() -> impl Strategy<Value = Data> {
    prop_oneof![(0..3u64).prop_map(Data::Hollow), any::<u8>().prop_map(Data::Bytes)]
}

fn action() -> impl Strategy<Value = Action> {
    // Some are not on the chip.
    let page = 0..BLOCKS * 8 + 9;
    let block = 0..BLOCKS + 1;
    prop_oneof![
        20 => (page.clone(), data(), prop::bool::weighted(0.9)).prop_map(|(p, d, fits)| Action::Program(p, d, fits)),
        4 => block.clone().prop_map(Action::Erase),
        1 => (0..BLOCKS * 20).prop_map(Action::MarkBad),
        6 => page.clone().prop_map(Action::Read),
        1 => Just(Action::Sync),
        2 => any::<bool>().prop_map(Action::Reopen),
        4 => (page, data(), 0..ProgramFault::ALL.len(), any::<u64>())
            .prop_map(|(p, d, f, s)| Action::CutProgram(p, d, ProgramFault::ALL[f], s)),
        2 => (block, 0..EraseFault::ALL.len(), any::<u64>())
            .prop_map(|(b, f, s)| Action::CutErase(b, EraseFault::ALL[f], s)),
    ]
}

/// The result of a read, by value.
fn see(nand: &mut impl Nand, page: Page) -> (String, SpareRead) {
    let spare = nand.read_spare(page, op()).0;
    let seen = match nand.read(page, op()).0 {
        PageRead::Written { content: Content::Bytes(b), spare, .. } => {
            format!("{:08x} {} {spare:?}", crc32fast::hash(b), b.len())
        }
        PageRead::Written { content, spare, .. } => format!("{content} {spare:?}"),
        other => format!("{other:?}"),
    };
    (seen, spare)
}

struct Pair {
    image: Option<Image>,
    sim: SimNand,
    seq: u64,
    /// Blocks of which a page has looked erased: which of two errors its pages give is not compared.
    blurred: BTreeSet<u32>,
    torn_erase: BTreeSet<u32>,
}

impl Pair {
    fn image(&mut self) -> &mut Image {
        self.image.as_mut().unwrap()
    }

    fn reopen(&mut self, in_good_order: bool) {
        let image = self.image.take().unwrap();
        let bytes = if in_good_order { image.close().unwrap() } else { image.into_storage() };
        self.image = Some(Image::open_on(bytes, Durability::Flush).unwrap());
    }

    fn spare(&mut self, content: Content<'_>, page: u32, fits: bool) -> Spare {
        self.seq += 1;
        let data_crc = content.crc() ^ u32::from(!fits);
        Spare { kind: Kind::User, stream: 1, key: page, version: self.seq, seq: self.seq, data_crc, aux: page }
    }

    fn program(&mut self, page: u32, content: Content<'_>, fits: bool, cut: Option<(ProgramFault, u64)>) {
        let at = Page(page);
        let block = shape().block_of(at).0;
        if self.blurred.contains(&block) && self.torn_erase.contains(&block) {
            return;
        }
        let spare = self.spare(content, page, fits);
        if let Some((program, seed)) = cut {
            let after = self.image().operations();
            self.image().set_fault_plan(Some(FaultPlan { after, program, erase: EraseFault::NotStarted, seed }));
        }
        let mine = self.image().program(at, content, &spare, op());
        if self.image().is_off() {
            let (fault, seed) = cut.expect("only the plug puts it off");
            assert_eq!(mine, Err(ProgramError::NoSuchPage(at)));
            assert_eq!(self.image().read(at, op()).0, PageRead::Unreadable);
            self.sim.power_cycle();
            self.sim.cut_program(at, content, &spare, fault, seed).unwrap();
            if fault == ProgramFault::LooksErased {
                self.blurred.insert(block);
            }
            return self.reopen(true);
        }
        self.image().set_fault_plan(None);
        let theirs = self.sim.program(at, content, &spare, op());
        match (mine, theirs) {
            (Ok(_), Ok(_)) => {}
            (
                Err(ProgramError::NotErased(_) | ProgramError::OutOfOrder(_)),
                Err(ProgramError::NotErased(_) | ProgramError::OutOfOrder(_)),
            ) if self.blurred.contains(&block) => {}
            (mine, theirs) => assert_eq!(mine.err(), theirs.err()),
        }
    }

    fn erase(&mut self, block: u32, cut: Option<(EraseFault, u64)>) {
        if let Some((erase, seed)) = cut {
            let after = self.image().operations();
            self.image().set_fault_plan(Some(FaultPlan { after, program: ProgramFault::NotStarted, erase, seed }));
        }
        let block = Block(block);
        let mine = self.image().erase(block, op());
        let mut done = mine.is_ok();
        if self.image().is_off() {
            let (fault, seed) = cut.expect("only the plug puts it off");
            self.sim.power_cycle();
            self.sim.cut_erase(block, fault, seed).unwrap();
            self.reopen(true);
            done = matches!(fault, EraseFault::Unacknowledged | EraseFault::UnstableErase);
            if matches!(fault, EraseFault::PartialFront | EraseFault::PartialMixed) {
                self.torn_erase.insert(block.0);
            }
        } else {
            self.image().set_fault_plan(None);
            assert_eq!(mine.err(), self.sim.erase(block, op()).err());
        }
        if done {
            self.blurred.remove(&block.0);
            self.torn_erase.remove(&block.0);
        }
    }

    fn compare(&mut self) {
        for block in 0..BLOCKS {
            assert_eq!(self.image().is_bad(Block(block)), self.sim.is_bad(Block(block)));
            assert_eq!(self.image().erases_of(Block(block)), self.sim.erases_of(Block(block)), "block {block}");
            for index in 0..PAGES {
                let page = shape().page(Block(block), index);
                let theirs = see(&mut self.sim, page);
                assert_eq!(see(self.image(), page), theirs, "{page}");
            }
        }
    }
}

fn with_content(data: Data, run: impl FnOnce(Content<'_>)) {
    match data {
        Data::Hollow(tag) => run(Content::Hollow(tag)),
        Data::Bytes(seed) => {
            let bytes: Vec<u8> = (0..512u32).map(|n| (n * 31) as u8 ^ seed).collect();
            run(Content::Bytes(&bytes));
        }
    }
}

fn lives(actions: &[Action]) {
    let config = SimConfig { tagged: true, ..SimConfig::new(shape(), TIMINGS[0].2) };
    let mut pair = Pair {
        image: Some(blank()),
        sim: SimNand::new(&config),
        seq: 0,
        blurred: BTreeSet::new(),
        torn_erase: BTreeSet::new(),
    };
    for action in actions {
        match *action {
            Action::Program(page, data, fits) => with_content(data, |c| pair.program(page, c, fits, None)),
            Action::CutProgram(page, data, fault, seed) => {
                with_content(data, |c| pair.program(page, c, true, Some((fault, seed))));
            }
            Action::Erase(block) => pair.erase(block, None),
            Action::CutErase(block, fault, seed) => pair.erase(block, Some((fault, seed))),
            Action::MarkBad(block) => {
                pair.image().mark_bad(Block(block));
                pair.sim.mark_bad(Block(block));
            }
            Action::Read(page) => {
                let theirs = see(&mut pair.sim, Page(page));
                assert_eq!(see(pair.image(), Page(page)), theirs, "page {page:#x}");
            }
            Action::Sync => pair.image().sync().unwrap(),
            Action::Reopen(in_good_order) => {
                pair.reopen(in_good_order);
                pair.sim.power_cycle();
            }
        }
    }
    pair.compare();
    pair.reopen(false);
    pair.sim.power_cycle();
    pair.compare();
}

fn cases() -> u32 {
    if std::env::var_os("PHELSUMA_THOROUGH").is_some_and(|v| v == "1") { 40_000 } else { 1_500 }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_image_does_what_a_simulated_chip_set_does(actions in prop::collection::vec(action(), 0..120)) {
        lives(&actions);
    }

    #[test]
    fn a_block_that_is_filled_in_order_does_as_well(
        faults in prop::collection::vec((0..ProgramFault::ALL.len(), 0..EraseFault::ALL.len(), any::<u64>()), 1..8)
    ) {
        // Random pages are mostly refused: here every cut meets a page that can be written.
        let mut actions = Vec::new();
        for (program, erase, seed) in faults {
            let block = (seed % u64::from(BLOCKS)) as u32;
            let first = shape().page(Block(block), 0).0;
            let cut_at = (seed >> 8) as u32 % PAGES;
            actions.push(Action::Erase(block));
            actions.extend((0..cut_at).map(|n| Action::Program(first + n, Data::Bytes(n as u8), true)));
            actions.push(Action::CutProgram(first + cut_at, Data::Bytes(9), ProgramFault::ALL[program], seed));
            actions.extend((cut_at..PAGES).map(|n| Action::Program(first + n, Data::Hollow(3), true)));
            actions.push(Action::CutErase(block, EraseFault::ALL[erase], seed));
            actions.extend((0..PAGES).map(|n| Action::Read(first + n)));
            actions.extend((cut_at..PAGES).map(|n| Action::Program(first + n, Data::Bytes(7), true)));
        }
        lives(&actions);
    }
}
