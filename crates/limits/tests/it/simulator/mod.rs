//! A brute-force drive, as plain as can be: an independent check of the models, sharing no code with them.

use rand_core::RngCore;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

/// How a victim is chosen.
#[derive(Clone, Copy)]
pub(crate) enum Victim {
    /// The emptiest block, any of several.
    Greedy,
    /// The emptiest of so many random blocks.
    Choices(u32),
    /// The block written longest ago.
    Fifo,
}

const NOWHERE: u32 = u32::MAX;

/// Blocks of pages, one of them open; a victim's valid pages open the block again and the host fills it.
pub(crate) struct Drive {
    pages_per_block: usize,
    /// Which logical page a physical one holds, or [`NOWHERE`].
    holds: Vec<u32>,
    /// Where a logical page is.
    place: Vec<u32>,
    valid: Vec<usize>,
    /// Closed blocks by their number of valid pages, and each block's position in its list.
    by_valid: Vec<Vec<u32>>,
    position: Vec<usize>,
    open: usize,
    next: usize,
    fifo: usize,
    victim: Victim,
    random: Xoshiro256PlusPlus,
    programs: u64,
}

impl Drive {
    /// A drive filled with `logical` pages, their places shuffled over all but the open block.
    pub(crate) fn new(blocks: usize, pages_per_block: usize, logical: usize, victim: Victim) -> Self {
        let mut drive = Self {
            pages_per_block,
            holds: vec![NOWHERE; blocks * pages_per_block],
            place: vec![NOWHERE; logical],
            valid: vec![0; blocks],
            by_valid: vec![Vec::new(); pages_per_block + 1],
            position: vec![0; blocks],
            open: 0,
            next: 0,
            fifo: 0,
            victim,
            random: Xoshiro256PlusPlus::seed_from_u64(1),
            programs: 0,
        };
        let mut order: Vec<usize> = (pages_per_block..blocks * pages_per_block).collect();
        for last in (1..order.len()).rev() {
            let other = drive.below(last + 1);
            order.swap(last, other);
        }
        for (page, &physical) in order[..logical].iter().enumerate() {
            drive.holds[physical] = page as u32;
            drive.place[page] = physical as u32;
            drive.valid[physical / pages_per_block] += 1;
        }
        for block in 1..blocks {
            drive.list(block);
        }
        drive
    }

    /// Write amplification over `writes` of pages that `choose` names, after `warmup` of the same.
    pub(crate) fn measure(&mut self, warmup: usize, writes: usize, mut choose: impl FnMut(&mut Self) -> usize) -> f64 {
        for count in 0..warmup + writes {
            if count == warmup {
                self.programs = 0;
            }
            let page = choose(self);
            self.write(page);
        }
        self.programs as f64 / writes as f64
    }

    /// A random number below `limit`.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        ((u128::from(self.random.next_u64()) * limit as u128) >> 64) as usize
    }

    fn write(&mut self, page: usize) {
        while self.next == self.pages_per_block {
            self.collect();
        }
        let old = self.place[page] as usize;
        self.holds[old] = NOWHERE;
        let block = old / self.pages_per_block;
        if block == self.open {
            self.valid[block] -= 1;
        } else {
            self.unlist(block);
            self.valid[block] -= 1;
            self.list(block);
        }
        self.program(page as u32);
    }

    fn program(&mut self, page: u32) {
        let physical = self.open * self.pages_per_block + self.next;
        self.next += 1;
        self.holds[physical] = page;
        self.place[page as usize] = physical as u32;
        self.valid[self.open] += 1;
        self.programs += 1;
    }

    fn collect(&mut self) {
        self.list(self.open);
        let victim = self.choose_victim();
        self.unlist(victim);
        let start = victim * self.pages_per_block;
        let pages = self.holds[start..start + self.pages_per_block].to_vec();
        self.holds[start..start + self.pages_per_block].fill(NOWHERE);
        self.valid[victim] = 0;
        (self.open, self.next) = (victim, 0);
        for page in pages.into_iter().filter(|&page| page != NOWHERE) {
            self.program(page);
        }
    }

    fn choose_victim(&mut self) -> usize {
        match self.victim {
            Victim::Greedy => {
                let emptiest = self.by_valid.iter().position(|list| !list.is_empty()).expect("a closed block");
                let index = self.below(self.by_valid[emptiest].len());
                self.by_valid[emptiest][index] as usize
            }
            Victim::Choices(d) => {
                let blocks = self.valid.len();
                (1..d).fold(self.below(blocks), |best, _| {
                    let other = self.below(blocks);
                    if self.valid[other] < self.valid[best] { other } else { best }
                })
            }
            Victim::Fifo => {
                self.fifo = (self.fifo + 1) % self.valid.len();
                self.fifo
            }
        }
    }

    fn list(&mut self, block: usize) {
        let list = &mut self.by_valid[self.valid[block]];
        self.position[block] = list.len();
        list.push(block as u32);
    }

    fn unlist(&mut self, block: usize) {
        let list = &mut self.by_valid[self.valid[block]];
        let position = self.position[block];
        list.swap_remove(position);
        if let Some(&moved) = list.get(position) {
            self.position[moved as usize] = position;
        }
    }
}
