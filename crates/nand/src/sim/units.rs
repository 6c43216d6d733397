//! Busy times of chips that program several pages at once, sense several at once, or can be interrupted.
//!
//! A program unit is what one operation writes: the pages of several planes, and those of one-shot cells. The
//! controller collects its pages in a buffer that a power cut does not empty, as drives with capacitors do. Then it
//! moves them over the channel, and the die is busy once. There are two buffers a die beside the units that are not
//! full: where both are being programmed, a page waits.
//!
//! A program and an erase keep all planes of a die busy; each plane senses for itself.
//!
//! A die takes what is ready first, as its controller would: an operation that waits for data from another die leaves
//! room for others. Units of a block are programmed in their order.
//!
//! Simplified: the register of a plane holds what was sensed last until its die programs or erases, or it senses again.
//! What a read suspends goes on in the next room that its die has.

use super::meter::{Kind, Meters};
use super::schedule::Schedule;
use crate::state::Preserve;
use crate::{Op, Time, Timing};
use alloc::vec;
use alloc::vec::Vec;

/// Where an operation is.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    pub(crate) die: u32,
    pub(crate) channel: u32,
    pub(crate) block: u32,
    /// The page in its block; 0 for an erase.
    pub(crate) index: u32,
    /// Pages that the block has room for in one-bit mode; 0 where it is in none.
    pub(crate) one_bit: u32,
}

/// Units that are full or will be, whose times are kept.
const FULL_MAX: usize = 8;

/// A unit of a block that is collected or programmed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Preserve)]
struct Unit {
    block: u32,
    number: u32,
}

/// One plane of a die: what senses by itself.
#[derive(Clone, Debug, Default, Preserve)]
struct Plane {
    /// When it senses, and moves out what it sensed.
    reads: Schedule,
    /// What was sensed last: a block, which part of it, and when it has been moved out.
    register: Option<(u32, u32, Time)>,
}

/// One die.
#[derive(Clone, Debug, Default, Preserve)]
struct Die {
    /// When it programs and erases.
    changes: Schedule,
    planes: Vec<Plane>,
    /// The units that were full last: when each was, and when it is in the cells.
    full: Vec<(Unit, Time, Time)>,
    /// Units with pages in the buffer and room for more.
    open: Vec<Unit>,
    /// Blocks that are written in part, and when the last of their full units is in the cells.
    written: Vec<(u32, Time)>,
}

/// All dies.
#[derive(Clone, Debug, Preserve)]
pub(crate) struct Units {
    dies: Vec<Die>,
    channels: Vec<Schedule>,
    pages_per_block: u32,
}

impl Units {
    pub(crate) fn new(dies: u32, channels: u32, pages_per_block: u32, timing: &Timing) -> Self {
        let die = Die { planes: vec![Plane::default(); timing.planes.max(1) as usize], ..Die::default() };
        let (dies, channels) = (vec![die; dies as usize], vec![Schedule::default(); channels as usize]);
        Self { dies, channels, pages_per_block }
    }

    /// Takes a page. When it is safe, and how long the die has become busy by it.
    pub(crate) fn program(
        &mut self,
        place: Place,
        op: Op,
        timing: &Timing,
        mut meters: Option<&mut Meters>,
    ) -> (Time, u64) {
        let at = op.at;
        let one_bit = (place.one_bit > 0).then(|| timing.in_one_bit_mode());
        let timing = one_bit.as_ref().unwrap_or(timing);
        let (die, channel) = (&mut self.dies[place.die as usize], &mut self.channels[place.channel as usize]);
        let unit = Unit { block: place.block, number: place.index / timing.unit_pages };
        // A unit of the block that the program has passed over is padded.
        let passed = die.open.iter().position(|open| open.block == unit.block && open.number != unit.number);
        if let Some(meters) = &mut meters {
            meters.collects(unit.block, unit.number, op.purpose);
        }
        let mut busy = 0;
        if let Some(passed) = passed {
            let passed = die.open.swap_remove(passed);
            let (_, taken) = die.write((passed, place), at, timing, channel, meters.as_deref_mut());
            busy += taken;
        }
        let start = die.buffer_free(at);
        let end = if place.one_bit > 0 { place.one_bit } else { self.pages_per_block };
        let is_last = (place.index + 1).is_multiple_of(timing.unit_pages) || place.index + 1 == end;
        if is_last {
            die.open.retain(|open| *open != unit);
            let (done, taken) = die.write((unit, place), start, timing, channel, meters.as_deref_mut());
            busy += taken;
            if place.index + 1 == end {
                die.written.retain(|(block, _)| *block != place.block);
            }
            if timing.unit_pages == 1 {
                // It is collected nowhere, so it is safe when it is in the cells.
                if let Some(meters) = meters {
                    meters.host_page(op.purpose, done, timing.transfer_ns + timing.program_ns);
                }
                return (done, busy);
            }
        } else if !die.open.contains(&unit) {
            die.open.push(unit);
        }
        if let Some(meters) = meters {
            meters.host_page(op.purpose, start, 0);
        }
        (start, busy)
    }

    /// Reads a page or its spare area. When that begins, when its bytes are there, and how long the die is busy by it.
    pub(crate) fn read(
        &mut self,
        place: Place,
        op: Op,
        spare_only: bool,
        timing: &Timing,
        mut meters: Option<&mut Meters>,
    ) -> (Time, Time, u64) {
        let at = op.at;
        let one_bit = (place.one_bit > 0).then(|| timing.in_one_bit_mode());
        let timing = one_bit.as_ref().unwrap_or(timing);
        let (die, channel) = (&mut self.dies[place.die as usize], &mut self.channels[place.channel as usize]);
        let unit = Unit { block: place.block, number: place.index / timing.unit_pages };
        let is_buffered = timing.unit_pages > 1
            && (die.open.contains(&unit) || die.full.iter().any(|(full, _, done)| *full == unit && *done > at));
        if is_buffered {
            if let Some(meters) = meters {
                meters.host_page(op.purpose, at, 0);
            }
            return (at, at, 0);
        }
        let (sense, transfer) = match spare_only {
            true => (timing.read_spare_ns, timing.transfer_spare_ns),
            false => (timing.read_ns, timing.transfer_ns),
        };
        let part = place.index / timing.sense_pages;
        let Die { changes, planes, .. } = die;
        let at_plane = part as usize % planes.len();
        let plane = &planes[at_plane];
        // It is in the register if nothing has used that since.
        let in_register = plane.register.filter(|(block, of, done)| {
            let kept = |schedule: &Schedule| schedule.taken_within(*done, at).is_none();
            timing.sense_pages > 1 && (*block, *of) == (place.block, part) && kept(changes) && kept(&plane.reads)
        });
        let mut suspends = false;
        let (start, sensed, busy) = if let Some((.., moved)) = in_register {
            let start = at.max(moved);
            (start, start, 0)
        } else {
            // Pages of one type stand on all planes.
            let of_type = part / timing.planes.max(1) % timing.page_types;
            let difference = timing.sense_differences_ns[of_type as usize];
            let sense = sense.saturating_add_signed(difference.into());
            let start = plane.reads.room(at, sense + transfer);
            let suspended = changes.taken_within(start, start + sense).filter(|_| timing.suspend_ns > 0);
            suspends = suspended.is_some();
            let (start, taken) = match suspended {
                Some(_) => (start, sense + timing.suspend_ns),
                None => (room([&*changes, &plane.reads], at, sense + transfer), sense),
            };
            if let Some(end) = suspended {
                // It goes on for as long behind its end.
                let goes_on = room(planes.iter().map(|plane| &plane.reads).chain([&*changes]), end, taken);
                changes.cover(goes_on, goes_on + taken);
            }
            if let Some(meters) = &mut meters {
                meters.senses(place.die, at_plane, op.purpose, start, start + taken);
            }
            (start, start + taken, taken)
        };
        let plane = &mut planes[at_plane];
        let done = if transfer > 0 { channel.take(sensed, transfer) } else { sensed };
        if let Some(meters) = meters {
            meters.moves(place.channel, done, transfer);
            meters.host_page(op.purpose, done, busy + transfer);
        }
        if !suspends {
            plane.register = Some((place.block, part, done));
        }
        plane.reads.cover(start, done);
        (start, done, busy + transfer)
    }

    /// Erases a block. When it begins and ends.
    pub(crate) fn erase(&mut self, place: Place, op: Op, timing: &Timing, meters: Option<&mut Meters>) -> (Time, Time) {
        let die = &mut self.dies[place.die as usize];
        die.open.retain(|open| open.block != place.block);
        die.written.retain(|(block, _)| *block != place.block);
        let (start, end) = die.change(op.at, timing.erase_ns);
        if let Some(meters) = meters {
            meters.drops(place.block);
            meters.changes(place.die, op.purpose, Kind::Erase, start, end);
        }
        (start, end)
    }

    /// Power is back: nothing is in progress. What the buffers held is in them again.
    pub(crate) fn reset(&mut self) {
        for die in &mut self.dies {
            let (open, mut planes) = (core::mem::take(&mut die.open), core::mem::take(&mut die.planes));
            planes.fill(Plane::default());
            *die = Die { open, planes, ..Die::default() };
        }
        self.channels.fill(Schedule::default());
    }

    /// The most units that one die has room for beside the two that it programs.
    #[cfg(test)]
    fn open(&self) -> usize {
        self.dies.iter().map(|die| die.open.len()).max().unwrap_or(0)
    }
}

impl Die {
    /// Moves a unit over the channel and into the cells. When it is there, and how long die and channel are busy by it.
    fn write(
        &mut self,
        (unit, place): (Unit, Place),
        at: Time,
        timing: &Timing,
        channel: &mut Schedule,
        meters: Option<&mut Meters>,
    ) -> (Time, u64) {
        let transfer = timing.transfer_ns * u64::from(timing.unit_pages);
        let before = self.written.iter().position(|(block, _)| *block == unit.block);
        let in_turn = before.map_or(at, |before| at.max(self.written[before].1));
        let (ready, mut start) = match timing.cache_program {
            true => (if transfer > 0 { channel.take(at, transfer) } else { at }, in_turn),
            // Without cache programs the die is busy meanwhile: both have to be free.
            false => {
                let nanos = transfer + timing.program_ns;
                let mut begin = self.room(in_turn, nanos);
                while channel.room(begin, transfer) != begin {
                    begin = self.room(channel.room(begin, transfer), nanos);
                }
                channel.cover(begin, begin + transfer);
                self.changes.cover(begin, begin + transfer);
                (begin + transfer, in_turn)
            }
        };
        start = start.max(ready);
        let (start, end) = self.change(start, timing.program_ns);
        if let Some(meters) = meters {
            meters.moves(place.channel, ready, transfer);
            // Without cache programs the die is taken while the unit is moved to it.
            let taken = if timing.cache_program { start } else { Time(ready.0 - transfer) };
            meters.programs(place.die, unit.block, unit.number, taken, end);
        }
        if self.full.len() == FULL_MAX {
            self.full.remove(0);
        }
        self.full.push((unit, at, end));
        match before {
            Some(before) => self.written[before].1 = end,
            None => self.written.push((unit.block, end)),
        }
        (end, transfer + timing.program_ns)
    }

    /// When a unit can be filled from `at` on: not while two full ones wait or are programmed.
    fn buffer_free(&self, mut at: Time) -> Time {
        loop {
            let holds = |(_, full, done): &&(Unit, Time, Time)| *full <= at && at < *done;
            let mut ends = self.full.iter().filter(holds).map(|(.., done)| *done);
            let (Some(one), Some(other)) = (ends.next(), ends.next()) else { return at };
            at = ends.fold(one.min(other), Time::min);
        }
    }

    /// The cells change for so long, not before `at`: when that begins and ends.
    fn change(&mut self, at: Time, nanos: u64) -> (Time, Time) {
        let start = self.room(at, nanos);
        self.changes.cover(start, start + nanos);
        self.planes.iter_mut().for_each(|plane| plane.register = None);
        (start, start + nanos)
    }

    /// The first moment from `at` on from which no plane is busy for so long.
    fn room(&self, at: Time, nanos: u64) -> Time {
        room(self.planes.iter().map(|plane| &plane.reads).chain([&self.changes]), at, nanos)
    }

    /// When it is idle for good.
    #[cfg(test)]
    fn idle(&self) -> Time {
        self.planes.iter().map(|plane| plane.reads.idle()).fold(self.changes.idle(), Time::max)
    }
}

/// The first moment from `at` on from which all of these are free for so long.
fn room<'a>(all: impl IntoIterator<Item = &'a Schedule> + Clone, at: Time, nanos: u64) -> Time {
    let mut start = at;
    loop {
        let next = all.clone().into_iter().fold(start, |start, schedule| schedule.room(start, nanos));
        if next == start {
            return start;
        }
        start = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Purpose;

    const CHIP: Timing = Timing {
        transfer_ns: 10,
        unit_pages: 4,
        sense_pages: 2,
        sense_differences_ns: [-20, 20, 0, 0],
        cache_program: true,
        page_types: 2,
        ..Timing::array(100, 30, 1000, 1500)
    };

    fn at(block: u32, index: u32) -> Place {
        Place { die: 0, channel: 0, block, index, one_bit: 0 }
    }

    fn op(at: u64) -> Op {
        Op::new(Time(at), Purpose::Host)
    }

    /// Programs pages, all asked for at `now`; when each is safe.
    fn programs(units: &mut Units, block: u32, pages: core::ops::Range<u32>, now: u64) -> Vec<u64> {
        pages.map(|index| units.program(at(block, index), op(now), &CHIP, None).0.0).collect()
    }

    #[test]
    fn a_die_is_busy_once_a_unit_and_a_page_waits_for_a_buffer() {
        let mut units = Units::new(1, 1, 64, &CHIP);
        // Two units are in the buffers at once; the third begins when the first is in the cells: 40 over the channel.
        assert_eq!(programs(&mut units, 7, 0..8, 0), [0; 8]);
        assert_eq!(programs(&mut units, 7, 8..12, 0), [1040; 4]);
        assert_eq!(programs(&mut units, 7, 12..16, 0), [2040; 4]);
        assert_eq!(units.dies[0].idle(), Time(4040), "the transfers are hidden behind the programs");
        let mut units = Units::new(1, 1, 64, &CHIP);
        let plain = Timing { cache_program: false, ..CHIP };
        (0..16).for_each(|index| {
            units.program(at(7, index), op(0), &plain, None);
        });
        assert_eq!(units.dies[0].idle(), Time(4 * 1040), "without cache programs they are not");
    }

    #[test]
    fn a_unit_that_waits_for_data_holds_nothing_back() {
        let mut units = Units::new(1, 1, 64, &CHIP);
        programs(&mut units, 7, 0..8, 50_000);
        assert_eq!(programs(&mut units, 8, 0..4, 0), [0; 4], "its buffers are free until then");
        assert_eq!(programs(&mut units, 7, 8..12, 0), [0; 4]);
        assert_eq!(units.dies[0].idle(), Time(50_000 + 40 + 3 * 1000), "units of a block keep their order");
    }

    #[test]
    fn what_is_sensed_between_takes_the_register() {
        let mut units = Units::new(1, 1, 64, &CHIP);
        let mut read = |index, now| units.read(at(3, index), op(now), false, &CHIP, None).1.0 - now;
        assert_eq!(read(0, 5000), 90);
        assert_eq!(read(4, 100), 90, "before that");
        assert_eq!(read(5, 6000), 90, "no longer there");
        units.erase(at(9, 0), op(10_000), &CHIP, None);
        let mut read = |index, now| units.read(at(3, index), op(now), false, &CHIP, None).1.0 - now;
        assert_eq!((read(0, 7000), read(1, 8000), read(1, 20_000)), (90, 10, 90), "the erase has taken it");
    }

    #[test]
    fn a_read_while_a_unit_is_moved_suspends_its_program() {
        let mut units = Units::new(1, 1, 64, &CHIP);
        let timing = Timing { suspend_ns: 5, ..CHIP };
        (0..4).for_each(|index| _ = units.program(at(7, index), op(0), &timing, None));
        assert_eq!(units.read(at(2, 0), op(0), false, &timing, None).1, Time(80 + 5 + 10));
        assert_eq!(units.dies[0].idle(), Time(1040 + 85));
    }

    #[test]
    fn the_last_unit_of_a_block_may_be_smaller_and_one_passed_over_is_padded() {
        let mut units = Units::new(1, 1, 6, &CHIP);
        programs(&mut units, 0, 0..6, 0);
        assert_eq!((units.open(), units.dies[0].full.len()), (0, 2));
        let mut units = Units::new(1, 1, 64, &CHIP);
        programs(&mut units, 0, 0..2, 0);
        programs(&mut units, 0, 5..6, 0);
        assert_eq!(units.dies[0].open, [Unit { block: 0, number: 1 }]);
        assert_eq!(units.dies[0].full.len(), 1);
    }

    #[test]
    fn a_page_is_read_from_the_buffer_the_cells_or_the_register() {
        let mut units = Units::new(1, 1, 64, &CHIP);
        let read = |units: &mut Units, index, now| units.read(at(3, index), op(now), false, &CHIP, None).1.0 - now;
        programs(&mut units, 3, 0..5, 0);
        assert_eq!(read(&mut units, 4, 10), 0, "its unit is not full");
        assert_eq!(read(&mut units, 0, 10), 0, "its unit is being programmed");
        assert_eq!(read(&mut units, 0, 5000), 90, "a fast page and its transfer");
        assert_eq!(read(&mut units, 1, 6000), 10, "from the register");
        assert_eq!(read(&mut units, 2, 7000), 130, "a slow page");
        programs(&mut units, 3, 5..8, 8000);
        assert_eq!(read(&mut units, 2, 20_000), 130, "a program takes the register");
    }

    #[test]
    fn a_read_suspends_what_changes_cells_where_it_can() {
        for (suspend_ns, read_done, erase_done) in [(0, 1500 + 90, 1500 + 90), (5, 100 + 5 + 90, 1500 + 85)] {
            let mut units = Units::new(1, 1, 64, &CHIP);
            let timing = Timing { suspend_ns, ..CHIP };
            units.erase(at(1, 0), op(0), &timing, None);
            assert_eq!(units.read(at(2, 0), op(100), false, &timing, None).1, Time(read_done));
            assert_eq!(units.dies[0].idle(), Time(erase_done));
        }
    }

    #[test]
    fn planes_sense_side_by_side_and_change_together() {
        let timing = Timing { planes: 2, transfer_ns: 0, ..CHIP };
        let mut units = Units::new(1, 1, 64, &timing);
        let read = |units: &mut Units, index| units.read(at(3, index), op(0), false, &timing, None).1.0;
        // Parts of two pages are dealt to the planes: two fast ones, then two slow ones.
        let parts = [0, 2, 4, 6].map(|index| read(&mut units, index));
        assert_eq!(parts, [80, 80, 80 + 120, 80 + 120]);
        let (start, end) = units.erase(at(9, 0), op(0), &timing, None);
        assert_eq!((start, end), (Time(200), Time(1700)), "an erase waits for both");
        assert_eq!(read(&mut units, 0), 1780, "and both wait for it");
    }

    #[test]
    fn a_block_in_one_bit_mode_has_times_and_units_of_its_own() {
        let timing = Timing { slc_program_ns: 100, slc_read_ns: 20, slc_unit_pages: 2, ..CHIP };
        let mut units = Units::new(1, 1, 64, &timing);
        let of = |block, index| Place { one_bit: if block == 1 { 5 } else { 0 }, ..at(block, index) };
        (0..2).for_each(|index| _ = units.program(of(1, index), op(0), &timing, None));
        assert_eq!(units.dies[0].idle(), Time(2 * 10 + 100), "a unit of two pages is full");
        (0..4).for_each(|index| _ = units.program(of(2, index), op(1000), &timing, None));
        assert_eq!(units.dies[0].idle(), Time(1000 + 4 * 10 + 1000));
        (2..5).for_each(|index| _ = units.program(of(1, index), op(5000), &timing, None));
        assert_eq!(units.open(), 0, "the last unit of the block is a smaller one");
        let read = |units: &mut Units, block| units.read(of(block, 0), op(9000), false, &timing, None).1.0 - 9000;
        assert_eq!(read(&mut units, 1), 20 + 10);
    }

    #[test]
    fn a_page_that_is_a_unit_of_its_own_is_safe_when_it_is_in_the_cells() {
        let timing = Timing { suspend_ns: 5, ..Timing::array(100, 30, 1000, 1500) };
        let mut units = Units::new(1, 1, 64, &CHIP);
        assert_eq!(units.program(at(0, 0), op(7), &timing, None).0, Time(1007));
        assert_eq!(units.program(at(0, 1), op(7), &timing, None).0, Time(2007));
    }

    #[test]
    fn an_erase_drops_its_blocks_open_unit_and_a_cut_keeps_what_is_buffered() {
        let mut units = Units::new(1, 1, 64, &CHIP);
        programs(&mut units, 0, 0..1, 0);
        programs(&mut units, 1, 0..1, 0);
        units.erase(at(0, 0), op(0), &CHIP, None);
        units.reset();
        assert_eq!(units.dies[0].open, [Unit { block: 1, number: 0 }]);
        assert_eq!(units.dies[0].idle(), Time::ZERO);
    }
}
