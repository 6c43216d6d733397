//! How long dies, channels and links were at work within a span of time, by cause.
//!
//! Work is accepted ahead of its time: a unit in a buffer is programmed after its request has completed. So the last
//! spans are kept, and what lies outside the measured span is not counted.

use super::units::Place;
use crate::state::Preserve;
use crate::{Purpose, Time};
use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;

/// Spans that are kept of each part. So many may lie beyond the end of the measured span; those before are counted.
const RECENT_MAX: usize = 256;

/// What a die does for a purpose.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Kind {
    /// Sensing, what it takes to interrupt a program included.
    Sense,
    /// Programming.
    Program,
    /// Erasing.
    Erase,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Sense, Self::Program, Self::Erase];
}

/// How many causes there are: a purpose and a kind.
const CAUSES: usize = Purpose::COUNT * Kind::ALL.len();

/// The number of a cause.
fn cause(purpose: Purpose, kind: Kind) -> u8 {
    purpose as u8 * Kind::ALL.len() as u8 + kind as u8
}

/// The work of one part of a drive that does one thing at a time.
#[derive(Clone, Debug, Default, Preserve)]
pub struct Meter {
    from: Time,
    /// Nanoseconds since `from`, by cause; as long as the largest cause needs.
    total: Vec<u64>,
    /// Begin, end and cause of the last spans.
    recent: VecDeque<(Time, Time, u8)>,
}

impl Meter {
    /// Notes that it works from `start` to `end`.
    #[inline]
    pub fn note(&mut self, cause: u8, start: Time, end: Time) {
        if end <= start {
            return;
        }
        self.add(cause, start, end);
        if let Some(last) = self.recent.back_mut().filter(|last| last.1 == start && last.2 == cause) {
            last.1 = end;
            return;
        }
        if self.recent.len() >= RECENT_MAX {
            self.recent.pop_front();
        }
        self.recent.push_back((start, end, cause));
    }

    /// Counts from this moment on, what has been accepted before included.
    pub fn begin(&mut self, from: Time) {
        self.from = from;
        self.total.fill(0);
        for at in 0..self.recent.len() {
            if let Some((start, end, cause)) = self.recent.get(at).copied() {
                self.add(cause, start, end);
            }
        }
    }

    /// Nanoseconds by cause from the begin to this moment; a cause that is left out had none.
    pub fn until(&self, end: Time) -> Vec<u64> {
        let mut total = self.total.clone();
        for (start, until, cause) in &self.recent {
            if let Some(total) = total.get_mut(usize::from(*cause)) {
                *total -= self.counted(*start, *until) - self.counted(*start, (*until).min(end));
            }
        }
        total
    }

    fn counted(&self, start: Time, end: Time) -> u64 {
        end.max(self.from).0 - start.max(self.from).0.min(end.max(self.from).0)
    }

    fn add(&mut self, cause: u8, start: Time, end: Time) {
        let at = usize::from(cause);
        if self.total.len() <= at {
            self.total.resize(at + 1, 0);
        }
        self.total[at] += self.counted(start, end);
    }
}

/// Pages for one purpose in the buffer of a unit.
#[derive(Clone, Copy, Debug, Preserve)]
struct Collected {
    block: u32,
    number: u32,
    purpose: Purpose,
    pages: u32,
}

/// The work of all dies and channels.
#[derive(Clone, Debug, Preserve)]
pub(crate) struct Meters {
    /// Of each plane of each die.
    dies: Vec<Meter>,
    planes: usize,
    channels: Vec<Meter>,
    collected: Vec<Collected>,
    last: HostPage,
}

/// The page that was done last for the host.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Preserve)]
pub struct HostPage {
    /// When.
    pub done: Time,
    /// How long cells and channel worked on it, in nanoseconds.
    pub work_ns: u64,
}

/// What dies and channels did in a span of time, in nanoseconds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Work {
    /// Of each plane of each die.
    dies: Vec<Vec<u64>>,
    /// How long each channel moved pages.
    pub channels: Vec<u64>,
}

impl Work {
    /// How long each plane of each die did this.
    pub fn of(&self, purpose: Purpose, kind: Kind) -> impl Iterator<Item = u64> + '_ {
        let at = usize::from(cause(purpose, kind));
        self.dies.iter().map(move |die| die.get(at).copied().unwrap_or(0))
    }

    /// How long the cells of each plane worked.
    pub fn busy(&self) -> impl Iterator<Item = u64> + '_ {
        self.dies.iter().map(|die| die.iter().sum())
    }
}

impl Meters {
    pub(crate) fn new(dies: usize, planes: usize, channels: usize) -> Self {
        let dies = vec![Meter { total: vec![0; CAUSES], ..Meter::default() }; dies * planes];
        Self {
            dies,
            planes,
            channels: vec![Meter::default(); channels],
            collected: Vec::new(),
            last: HostPage::default(),
        }
    }

    pub(crate) fn begin(&mut self, from: Time) {
        self.dies.iter_mut().chain(&mut self.channels).for_each(|meter| meter.begin(from));
    }

    pub(crate) fn until(&self, end: Time) -> Work {
        Work {
            dies: self.dies.iter().map(|die| die.until(end)).collect(),
            channels: self.channels.iter().map(|channel| channel.until(end).iter().sum()).collect(),
        }
    }

    /// The page that was done last for the host since this was taken before.
    pub(crate) fn take_last(&mut self) -> HostPage {
        core::mem::take(&mut self.last)
    }

    pub(crate) fn host_page(&mut self, purpose: Purpose, done: Time, work_ns: u64) {
        if purpose == Purpose::Host && done >= self.last.done {
            self.last = HostPage { done, work_ns };
        }
    }

    /// A page that is sensed and moved out, on a die of one plane. Apart, as most runs have no meters.
    #[cold]
    #[inline(never)]
    pub(crate) fn read(
        &mut self,
        place: Place,
        purpose: Purpose,
        start: Time,
        done: Time,
        (sense, transfer): (u64, u64),
    ) {
        self.senses(place.die, 0, purpose, start, start + sense);
        self.moves(place.channel, done, transfer);
        self.host_page(purpose, done, sense + transfer);
    }

    /// A page that is moved in, and programmed from `ready` on.
    #[cold]
    #[inline(never)]
    pub(crate) fn program(&mut self, place: Place, purpose: Purpose, ready: Time, done: Time, transfer: u64) {
        self.changes(place.die, purpose, Kind::Program, ready, done);
        self.moves(place.channel, ready, transfer);
        self.host_page(purpose, done, done.0 - ready.0 + transfer);
    }

    fn planes_of(&mut self, die: u32) -> &mut [Meter] {
        &mut self.dies[die as usize * self.planes..][..self.planes]
    }

    /// A plane senses.
    pub(crate) fn senses(&mut self, die: u32, plane: usize, purpose: Purpose, start: Time, end: Time) {
        self.planes_of(die)[plane].note(cause(purpose, Kind::Sense), start, end);
    }

    /// A program or an erase keeps all planes of a die busy.
    pub(crate) fn changes(&mut self, die: u32, purpose: Purpose, kind: Kind, start: Time, end: Time) {
        self.planes_of(die).iter_mut().for_each(|plane| plane.note(cause(purpose, kind), start, end));
    }

    /// A channel has moved something by `end`.
    pub(crate) fn moves(&mut self, channel: u32, end: Time, nanos: u64) {
        self.channels[channel as usize].note(0, Time(end.0.saturating_sub(nanos)), end);
    }

    /// A page is in the buffer of a unit.
    pub(crate) fn collects(&mut self, block: u32, number: u32, purpose: Purpose) {
        let same = |of: &&mut Collected| (of.block, of.number, of.purpose) == (block, number, purpose);
        match self.collected.iter_mut().find(same) {
            Some(of) => of.pages += 1,
            None => self.collected.push(Collected { block, number, purpose, pages: 1 }),
        }
    }

    /// The buffer of a unit is emptied without a program.
    pub(crate) fn drops(&mut self, block: u32) {
        self.collected.retain(|of| of.block != block);
    }

    /// A unit is programmed. Each purpose has a share of the time, by its pages.
    pub(crate) fn programs(&mut self, die: u32, block: u32, number: u32, start: Time, end: Time) {
        let is_of = |of: &Collected| (of.block, of.number) == (block, number);
        let pages: u64 = self.collected.iter().filter(|of| is_of(of)).map(|of| u64::from(of.pages)).sum();
        let (mut before, mut at) = (0, start);
        for of in self.collected.iter().filter(|of| is_of(of)) {
            before += u64::from(of.pages);
            let until = start + ((u128::from(end.0 - start.0) * u128::from(before) / u128::from(pages)) as u64);
            let planes = &mut self.dies[die as usize * self.planes..][..self.planes];
            planes.iter_mut().for_each(|plane| plane.note(cause(of.purpose, Kind::Program), at, until));
            at = until;
        }
        self.collected.retain(|of| !is_of(of));
    }

    /// Power is back.
    pub(crate) fn reset(&mut self) {
        self.dies.iter_mut().chain(&mut self.channels).for_each(|meter| meter.recent.clear());
        self.last = HostPage::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_lies_within_is_counted() {
        let mut meter = Meter::default();
        meter.note(1, Time(0), Time(100));
        meter.begin(Time(40));
        assert_eq!(meter.until(Time(70)), [0, 30], "work from before, and beyond");
        meter.note(1, Time(100), Time(150));
        meter.note(0, Time(30), Time(45));
        meter.note(0, Time(200), Time(300));
        assert_eq!(meter.until(Time(70)), [5, 30]);
        assert_eq!(meter.until(Time(250)), [55, 110]);
        assert_eq!(meter.until(Time(1000)), [105, 110]);
    }

    #[test]
    fn a_unit_of_several_purposes_counts_by_their_pages() {
        let mut meters = Meters::new(1, 1, 1);
        for purpose in [Purpose::Host, Purpose::Gc, Purpose::Host, Purpose::Host] {
            meters.collects(3, 7, purpose);
        }
        meters.collects(4, 7, Purpose::Validity);
        meters.programs(0, 3, 7, Time(1000), Time(2000));
        let work = meters.until(Time(5000));
        assert_eq!(work.of(Purpose::Host, Kind::Program).collect::<Vec<_>>(), [750]);
        assert_eq!(work.of(Purpose::Gc, Kind::Program).collect::<Vec<_>>(), [250]);
        assert_eq!(work.busy().collect::<Vec<_>>(), [1000]);
        assert_eq!(meters.collected.len(), 1);
    }
}
