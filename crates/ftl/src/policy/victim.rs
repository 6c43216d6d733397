//! Victim: which block is collected next.
//!
//! A policy never touches flash. The hooks below report its candidates to it. It sees the counters, and the notes on
//! blocks that it requests (`blocks/notes.rs`).

use super::{Context, State};
use crate::Counter;
use crate::blocks::{Counters, View, Wants};
use crate::spec::{Chosen, Param, Spec, Values};
use alloc::boxed::Box;
use alloc::vec::Vec;
use phelsuma_nand::Block;

/// A victim, and the cost of finding it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Choice {
    pub(crate) block: Block,
    pub(crate) examined: u32,
}

impl Choice {
    /// This block. Blocks that were looked at for it: one whose counter, time or place in a list was read. A minimum of
    /// a group of blocks counts as one.
    pub fn new(block: Block, examined: u32) -> Self {
        Self { block, examined }
    }
}

/// The victim part of a page-mapped FTL.
pub trait Victim: State + VictimCopy + Send {
    /// `block` is full, or will not be written any further: a candidate from now on.
    #[inline]
    fn closed(&mut self, counters: &Counters, block: Block) {
        let _ = (counters, block);
    }

    /// A page of `block` was invalidated; the counter says so already. Also called for blocks that are no candidates.
    #[inline]
    fn invalidated(&mut self, counters: &Counters, block: Block) {
        let _ = (counters, block);
    }

    /// A page of `block` died: the host wrote it anew, or trimmed it. The counter and the notes do not say so yet. Called
    /// for those that [want](Wants::deaths) it.
    #[inline]
    fn died(&mut self, view: &View<'_>, block: Block) {
        let _ = (view, block);
    }

    /// `block` is a candidate no longer.
    #[inline]
    fn taken(&mut self, counters: &Counters, block: Block) {
        let _ = (counters, block);
    }

    /// The next victim; none where there is no candidate. The choice changes nothing that would make a second one
    /// differ, but for what is drawn by chance.
    fn choose(&mut self, view: &View<'_>) -> Option<Choice>;

    /// Its counters, each under a name that nothing else has.
    fn counters(&self, out: &mut Vec<Counter>) {
        let _ = out;
    }
}

/// Another one in the same state: every policy is `Clone`.
#[doc(hidden)]
pub trait VictimCopy {
    /// Another one.
    fn copied(&self) -> Box<dyn Victim>;
}

impl<V: Victim + Clone + 'static> VictimCopy for V {
    fn copied(&self) -> Box<dyn Victim> {
        Box::new(self.clone())
    }
}

impl Clone for Box<dyn Victim> {
    fn clone(&self) -> Self {
        (**self).copied()
    }
}

/// How large a sample of the blocks is whose live pages are counted alone, and how many others are queried before each
/// collection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SampleOf {
    /// Blocks in the sample; 0 for the default.
    pub(crate) blocks: u32,
    pub(crate) looks: u32,
}

/// A victim part's statement of itself.
#[derive(Clone, Copy, Debug)]
pub struct VictimSpec {
    pub(crate) spec: Spec,
    build: fn(&Context) -> Box<dyn Victim>,
    wants: fn(&Values) -> Wants,
    samples: Option<fn(&Values) -> SampleOf>,
    pub(crate) pairs_with: Option<(&'static str, &'static str)>,
}

impl VictimSpec {
    /// The part called `name`, with its description in a line, and how it is made.
    pub const fn new(name: &'static str, about: &'static str, build: fn(&Context) -> Box<dyn Victim>) -> Self {
        Self { spec: Spec::new(name, about), build, wants: |_| Wants::NOTHING, samples: None, pairs_with: None }
    }

    /// With these parameters.
    pub const fn params(mut self, params: &'static [Param]) -> Self {
        self.spec.params = params;
        self
    }

    /// With this noted of blocks.
    pub const fn wants(self, wants: fn(&Values) -> Wants) -> Self {
        Self { wants, ..self }
    }

    /// Only together with the placement part of this name, and why: the policy's description has it.
    pub const fn pairs_with(self, placement: &'static str, why: &'static str) -> Self {
        Self { pairs_with: Some((placement, why)), ..self }
    }

    /// RAM counts the live pages of a sample of the blocks alone.
    pub(super) const fn samples(self, samples: fn(&Values) -> SampleOf) -> Self {
        Self { samples: Some(samples), ..self }
    }

    /// The part with its defaults.
    pub const fn chosen(&'static self) -> Chosen<Self> {
        Chosen::new(self, &self.spec)
    }
}

impl Chosen<VictimSpec> {
    pub(crate) fn build(&self, context: &Context) -> Box<dyn Victim> {
        (self.part().build)(&Context { values: **self, ..*context })
    }

    pub(crate) fn wants(&self) -> Wants {
        (self.part().wants)(self)
    }

    /// The sample whose live pages are counted alone; none where all blocks are.
    pub(crate) fn sample(&self) -> Option<SampleOf> {
        self.part().samples.map(|samples| samples(self))
    }
}
