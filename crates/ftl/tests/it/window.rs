//! How much can be in flight: what recovery takes for suspects rests on it.

use crate::common::{below, chips, config, most_pages, scanned, small};
use phelsuma_ftl::{Hint, HostData, WriteRequest, format};
use phelsuma_nand::{
    Block, Content, EraseError, Geometry, LogicalPage, Nand, Op, Page, PageRead, ProgramError, SimNand, Spare,
    SpareRead, Time,
};
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

/// Writes down every program: its seq, when it may start, and when it is done.
struct Recorder {
    nand: SimNand,
    programs: Vec<(u64, Time, Time)>,
}

impl Nand for Recorder {
    fn geometry(&self) -> &Geometry {
        self.nand.geometry()
    }
    fn read(&mut self, page: Page, op: Op) -> (PageRead<'_>, Time) {
        self.nand.read(page, op)
    }
    fn read_spare(&mut self, page: Page, op: Op) -> (SpareRead, Time) {
        self.nand.read_spare(page, op)
    }
    fn program(&mut self, page: Page, content: Content<'_>, spare: &Spare, op: Op) -> Result<Time, ProgramError> {
        let done = self.nand.program(page, content, spare, op)?;
        self.programs.push((spare.seq, op.at, done));
        Ok(done)
    }
    fn erase(&mut self, block: Block, op: Op) -> Result<Time, EraseError> {
        self.nand.erase(block, op)
    }
    fn is_bad(&self, block: Block) -> bool {
        self.nand.is_bad(block)
    }
    fn mark_bad(&mut self, block: Block) {
        self.nand.mark_bad(block);
    }
}

#[test]
fn when_a_program_starts_all_but_the_last_few_before_it_are_done() {
    for preset in scanned() {
        for (channels, dies) in [(1, 1), (1, 4), (2, 2), (4, 2)] {
            let geometry = small(16, 40 + 24 * u64::from(channels * dies), channels, dies);
            let logical = most_pages(preset.name, geometry);
            let mut nand = Recorder { nand: chips(geometry), programs: Vec::new() };
            let (mut ftl, mut at) = format(&mut nand, &config(preset.name, logical), Time::ZERO).unwrap();
            nand.programs.clear();
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
            for _ in 0..4 * logical {
                let first = LogicalPage(below(&mut rng, u64::from(logical - 4)) as u32);
                let pages = 1 + below(&mut rng, 4) as u32;
                let request = WriteRequest { first, pages, data: HostData::Hollow(1), hint: Hint::None };
                let done = ftl.write(&mut nand, &request, at).unwrap();
                // Some requests are made while others are under way.
                if below(&mut rng, 8) == 0 {
                    at = done;
                }
            }
            // What a cut can meet at once: twice the dies, or one on a single die.
            let window = if geometry.dies() == 1 { 1 } else { 2 * geometry.dies() as usize };
            let mut done_before = Time::ZERO;
            for n in window..nand.programs.len() {
                done_before = done_before.max(nand.programs[n - window].2);
                let (seq, start, _) = nand.programs[n];
                assert!(
                    done_before <= start,
                    "{} on {channels} x {dies} dies: the program with seq {seq} may start at {start}, and one at least {window} \
                     before it is under way until {done_before}",
                    preset.name
                );
            }
        }
    }
}
