//! Benefit to cost as the log-structured file system has it (Rosenblum and Ousterhout, SOSP 1991): the block of the largest
//! (1 - u) a / (1 + u), where u is the live share of a block and a its age. Here the age is counted in collections since
//! the block was closed.

use phelsuma_ftl::policy::{self, Block, Choice, Counters, Param, Table, Victim, VictimSpec, View, state};

/// The version of the contract that this was written for.
const _: () = assert!(policy::VERSION == 1);

const OLDEST: Param = Param::number("lfs.oldest", 1, 1_000_000, 1_000, "collections beyond which all ages are alike");

/// What it says of itself, and how it is made for a drive.
pub(crate) static SPEC: VictimSpec = VictimSpec::new("lfs", "benefit to cost as LFS has it", |context| {
    Box::new(Lfs {
        closed: Table::new("victim.closed_at", context.blocks as usize, 0),
        collections: 0,
        oldest: context.number(&OLDEST).into(),
    })
})
.params(&[OLDEST]);

state! {
    /// What it keeps in RAM. The ledger counts each field.
    struct Lfs {
        /// By block: how many had been collected when it was closed.
        closed: Table<u64>,
        collections: u64,
        oldest: u64,
    }
}

impl Victim for Lfs {
    fn closed(&mut self, _counters: &Counters, block: Block) {
        self.closed[block.index()] = self.collections;
    }

    fn taken(&mut self, _counters: &Counters, _block: Block) {
        self.collections += 1;
    }

    fn choose(&mut self, view: &View<'_>) -> Option<Choice> {
        let pages = u64::from(view.pages_per_block());
        // Benefit and cost, so that none is divided by the other: results are the same on every machine.
        let worth = |(block, live): (Block, u32)| {
            let age = (self.collections - self.closed[block.index()]).clamp(1, self.oldest);
            (block, (pages - u64::from(live)) * age, pages + u64::from(live))
        };
        let better = |a: &(Block, u64, u64), b: &(Block, u64, u64)| (a.1 * b.2).cmp(&(b.1 * a.2));
        let (block, ..) = view.candidates().map(worth).max_by(better)?;
        Some(Choice::new(block, view.blocks()))
    }
}
