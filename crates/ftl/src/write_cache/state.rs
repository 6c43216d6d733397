//! The state of a cached FTL, to be saved: its pages and what is on its way.

use super::{Own, Tally};
use alloc::boxed::Box;
use phelsuma_nand::state::{Preserve, Result, StateIn, StateOut};

/// The state of cache and FTL together.
pub(super) struct WholeState<'a> {
    pub(super) below: Box<dyn Preserve + 'a>,
    pub(super) own: &'a mut Own,
}

impl Preserve for WholeState<'_> {
    fn put_state(&self, to: &mut dyn StateOut) -> Result<()> {
        self.below.put_state(to)?;
        let Own { dirty, sorted, in_flight, waited, draws, tally, .. } = &*self.own;
        dirty.put_state(to)?;
        sorted.put_state(to)?;
        in_flight.put_state(to)?;
        waited.put_state(to)?;
        draws.put_state(to)?;
        [tally.absorbed, tally.dropped, tally.read, tally.waits].iter().try_for_each(|count| count.put_state(to))
    }

    fn take_state(&mut self, from: &mut dyn StateIn) -> Result<()> {
        self.below.take_state(from)?;
        let own = &mut *self.own;
        own.dirty.take_state(from)?;
        own.sorted.take_state(from)?;
        own.in_flight.take_state(from)?;
        own.waited.take_state(from)?;
        own.draws.take_state(from)?;
        let Tally { absorbed, dropped, read, waits } = &mut own.tally;
        [absorbed, dropped, read, waits].into_iter().try_for_each(|count| count.take_state(from))
    }
}
