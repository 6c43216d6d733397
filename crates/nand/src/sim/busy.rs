//! Busy times: dies work on one operation at a time, channels move one page at a time.

use super::meter::{Kind, Meters};
use super::units::{Place, Units};
use crate::state::Preserve;
use crate::{ChannelStats, Geometry, Op, Purpose, Time, Timing};
use alloc::vec;
use alloc::vec::Vec;

/// Dies and channels of a drive, each busy until a moment.
#[derive(Clone, Debug, Preserve)]
pub(crate) struct Busy {
    timing: Timing,
    die_free: Vec<Time>,
    channel_free: Vec<Time>,
    stats: Vec<ChannelStats>,
    /// In place of `die_free`, of chips that take it.
    units: Option<Units>,
    /// Who worked when, if that is wanted.
    pub(crate) meters: Option<Meters>,
}

/// When an operation was taken up and when it had completed.
#[derive(Clone, Copy)]
pub(crate) struct Span {
    pub(crate) start: Time,
    pub(crate) done: Time,
}

impl Busy {
    pub(crate) fn new(geometry: &Geometry, timing: Timing) -> Self {
        let has_units = timing.unit_pages > 1
            || timing.sense_pages > 1
            || timing.planes > 1
            || timing.page_types > 1
            || timing.suspend_ns > 0;
        Self {
            units: has_units
                .then(|| Units::new(geometry.dies(), geometry.channels(), geometry.pages_per_block(), &timing)),
            timing,
            meters: None,
            die_free: vec![Time::ZERO; geometry.dies() as usize],
            channel_free: vec![Time::ZERO; geometry.channels() as usize],
            stats: vec![ChannelStats::default(); geometry.channels() as usize],
        }
    }

    /// What each channel has done so far.
    pub(crate) fn stats(&self) -> &[ChannelStats] {
        &self.stats
    }

    /// From now on it is noted who works when.
    pub(crate) fn meter(&mut self) {
        self.meters =
            Some(Meters::new(self.die_free.len(), self.timing.planes.max(1) as usize, self.channel_free.len()));
    }

    pub(crate) fn timing(&self) -> &Timing {
        &self.timing
    }

    /// Sensing, then moving out.
    #[inline]
    pub(crate) fn read(&mut self, place: Place, op: Op, spare_only: bool) -> Span {
        let Place { die, channel, .. } = place;
        if let Some(units) = &mut self.units {
            let (start, done, busy) = units.read(place, op, spare_only, &self.timing, self.meters.as_mut());
            let stats = &mut self.stats[channel as usize];
            stats.host_reads += u64::from(op.purpose == Purpose::Host && !spare_only);
            stats.busy_ns += busy;
            return Span { start, done };
        }
        let one_bit = (place.one_bit > 0).then(|| self.timing.in_one_bit_mode());
        let timing = one_bit.as_ref().unwrap_or(&self.timing);
        let (sense, transfer) = if spare_only {
            (timing.read_spare_ns, timing.transfer_spare_ns)
        } else {
            (timing.read_ns, timing.transfer_ns)
        };
        let stats = &mut self.stats[channel as usize];
        stats.host_reads += u64::from(op.purpose == Purpose::Host && !spare_only);
        stats.busy_ns += sense + transfer;
        let die = &mut self.die_free[die as usize];
        let start = op.at.max(*die);
        let mut done = start + sense;
        if transfer > 0 {
            let channel = &mut self.channel_free[channel as usize];
            done = done.max(*channel) + transfer;
            *channel = done;
        }
        *die = done;
        if let Some(meters) = &mut self.meters {
            meters.read(place, op.purpose, start, done, (sense, transfer));
        }
        Span { start, done }
    }

    /// Moving in, then programming.
    #[inline]
    pub(crate) fn program(&mut self, place: Place, op: Op) -> Span {
        let Place { die, channel, .. } = place;
        let stats = &mut self.stats[channel as usize];
        stats.host_programs += u64::from(op.purpose == Purpose::Host);
        if let Some(units) = &mut self.units {
            let (done, busy) = units.program(place, op, &self.timing, self.meters.as_mut());
            stats.busy_ns += busy;
            return Span { start: done, done };
        }
        let program_ns =
            if place.one_bit > 0 { self.timing.in_one_bit_mode().program_ns } else { self.timing.program_ns };
        stats.busy_ns += self.timing.transfer_ns + program_ns;
        let die = &mut self.die_free[die as usize];
        let mut start = op.at.max(*die);
        let mut ready = start;
        if self.timing.transfer_ns > 0 {
            let channel = &mut self.channel_free[channel as usize];
            start = start.max(*channel);
            ready = start + self.timing.transfer_ns;
            *channel = ready;
        }
        let done = ready + program_ns;
        *die = done;
        if let Some(meters) = &mut self.meters {
            meters.program(place, op.purpose, ready, done, self.timing.transfer_ns);
        }
        Span { start, done }
    }

    #[inline]
    pub(crate) fn erase(&mut self, place: Place, op: Op) -> Span {
        let Place { die, channel, .. } = place;
        self.stats[channel as usize].busy_ns += self.timing.erase_ns;
        if let Some(units) = &mut self.units {
            let (start, done) = units.erase(place, op, &self.timing, self.meters.as_mut());
            return Span { start, done };
        }
        let die = &mut self.die_free[die as usize];
        let start = op.at.max(*die);
        *die = start + self.timing.erase_ns;
        if let Some(meters) = &mut self.meters {
            meters.changes(place.die, op.purpose, Kind::Erase, start, *die);
        }
        Span { start, done: *die }
    }

    /// Power is back: nothing is in progress.
    pub(crate) fn reset(&mut self) {
        self.die_free.fill(Time::ZERO);
        self.channel_free.fill(Time::ZERO);
        self.units.iter_mut().for_each(Units::reset);
        self.meters.iter_mut().for_each(Meters::reset);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn busy(channels: u32, dies: u32, transfer_ns: u64) -> Busy {
        let geometry = Geometry::new(4096, 128, 64, channels, dies).unwrap();
        Busy::new(&geometry, Timing { transfer_ns, ..Timing::array(100, 3, 1000, 1500) })
    }

    fn on(die: u32, channel: u32) -> Place {
        Place { die, channel, block: die, index: 0, one_bit: 0 }
    }

    fn host(at: u64) -> Op {
        Op::new(Time(at), Purpose::Host)
    }

    #[test]
    fn one_die_does_one_thing_at_a_time() {
        let mut b = busy(1, 1, 0);
        assert_eq!(b.program(on(0, 0), host(5)).done, Time(1005));
        assert_eq!(b.read(on(0, 0), host(10), false).done, Time(1105));
        assert_eq!(b.read(on(0, 0), host(10), true).done, Time(1108));
        assert_eq!(b.erase(on(0, 0), host(9000)).done, Time(10_500));
        assert_eq!(b.stats(), [ChannelStats { host_reads: 1, host_programs: 1, busy_ns: 1000 + 100 + 3 + 1500 }]);
    }

    #[test]
    fn dies_overlap_and_their_channel_does_not() {
        let mut b = busy(1, 2, 10);
        assert_eq!(b.program(on(0, 0), host(0)).done, Time(1010));
        assert_eq!(b.program(on(1, 0), host(0)).done, Time(1020), "the second waits for the bus alone");
        let mut b = busy(2, 1, 10);
        assert_eq!(b.program(on(0, 0), host(0)).done, b.program(on(1, 1), host(0)).done);
        b.read(on(1, 1), Op::new(Time(0), Purpose::Gc), false);
        let programmed = ChannelStats { host_reads: 0, host_programs: 1, busy_ns: 1010 };
        assert_eq!(b.stats(), [programmed, ChannelStats { busy_ns: 1010 + 110, ..programmed }]);
    }
}
