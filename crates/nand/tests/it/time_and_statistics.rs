//! Simulated time, statistics by purpose, and the observer.

use crate::common::{chips, host, page, shape, spare_of, times};
use phelsuma_nand::sim::SimConfig;
use phelsuma_nand::{
    Action, Block, Content, Event, Nand, Observer, Op, OpCounts, ProgramError, Purpose, SimNand, Time, Timing,
};
use std::sync::{Arc, Mutex};

fn program(nand: &mut SimNand, block: u32, index: u32, at: u64) -> Time {
    let to = page(nand, block, index);
    let content = Content::Hollow(0);
    nand.program(to, content, &spare_of(content, 0, 1 + u64::from(index)), Op::new(Time(at), Purpose::Host)).unwrap()
}

#[test]
fn an_operation_starts_no_earlier_than_its_time() {
    let mut nand = chips();
    assert_eq!(program(&mut nand, 0, 0, 10_000), Time(11_000));
    let page = page(&nand, 0, 0);
    assert_eq!(nand.read(page, Op::new(Time(50_000), Purpose::Host)).1, Time(50_100));
    assert_eq!(nand.read_spare(page, Op::new(Time(60_000), Purpose::Host)).1, Time(60_003));
    assert_eq!(nand.erase(Block(0), Op::new(Time(70_000), Purpose::Host)), Ok(Time(75_000)));
}

#[test]
fn a_die_does_one_operation_at_a_time_in_the_order_of_the_calls() {
    let mut nand = chips();
    assert_eq!(program(&mut nand, 0, 0, 0), Time(1000));
    assert_eq!(nand.erase(Block(3), host()), Ok(Time(6000)));
    assert_eq!(nand.read(page(&chips(), 0, 0), host()).1, Time(6100));
    assert_eq!(nand.read_spare(page(&chips(), 0, 0), host()).1, Time(6103));
    assert_eq!(program(&mut nand, 1, 0, 6050), Time(7103));
}

#[test]
fn dies_work_side_by_side() {
    for (channels, dies) in [(4, 1), (1, 4), (2, 2)] {
        let mut nand = SimNand::new(&SimConfig::new(shape(channels, dies), times()));
        for block in 0..4 {
            assert_eq!(program(&mut nand, block, 0, 0), Time(1000), "block {block} of {channels} x {dies}");
        }
        assert_eq!(program(&mut nand, 4, 0, 0), Time(2000), "the first die again");
    }
}

#[test]
fn a_channel_moves_one_page_at_a_time_and_channels_overlap() {
    let timing = Timing { transfer_ns: 40, transfer_spare_ns: 2, ..times() };
    let mut one = SimNand::new(&SimConfig::new(shape(1, 4), timing));
    let done: Vec<Time> = (0..4).map(|block| program(&mut one, block, 0, 0)).collect();
    assert_eq!(done, [Time(1040), Time(1080), Time(1120), Time(1160)]);
    let mut four = SimNand::new(&SimConfig::new(shape(4, 1), timing));
    for block in 0..4 {
        assert_eq!(program(&mut four, block, 0, 0), Time(1040));
    }
}

#[test]
fn a_power_cycle_makes_every_die_idle() {
    let mut nand = chips();
    program(&mut nand, 0, 0, 1 << 40);
    nand.power_cycle();
    assert_eq!(program(&mut nand, 0, 1, 0), Time(1000));
}

#[test]
fn the_end_of_time_is_no_overflow() {
    let mut nand = chips();
    assert_eq!(program(&mut nand, 0, 0, u64::MAX), Time(u64::MAX));
}

#[test]
fn operations_are_counted_under_their_purpose_and_no_other() {
    for purpose in Purpose::ALL {
        let mut nand = chips();
        let op = Op::new(Time::ZERO, *purpose);
        let before = *nand.stats();
        let content = Content::Hollow(0);
        for index in 0..4 {
            let to = page(&nand, 1, index);
            nand.program(to, content, &spare_of(content, 0, 1 + u64::from(index)), op).unwrap();
        }
        for index in 0..3 {
            let at = page(&nand, 1, index);
            nand.read(at, op);
            nand.read(at, op);
            nand.read_spare(at, op);
        }
        nand.erase(Block(0), op).unwrap();
        let counts = OpCounts { reads: 6, spare_reads: 3, programs: 4, erases: 1 };
        for (other, of) in nand.stats().iter() {
            assert_eq!(of, if other == *purpose { counts } else { OpCounts::default() }, "{}", other.name());
        }
        assert_eq!(nand.stats().total(), counts);
        assert_eq!(nand.stats().since(&before).of(*purpose), counts);
    }
}

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<Event>>>);

impl Observer for Log {
    fn observe(&mut self, event: &Event) {
        self.0.lock().unwrap().push(*event);
    }
}

#[test]
fn an_observer_sees_every_operation_with_purpose_and_time_and_copies_are_not_observed() {
    let mut nand = chips();
    let log = Log::default();
    nand.observe(Some(Box::new(log.clone())));
    let content = Content::Hollow(0);
    let at = page(&nand, 1, 0);
    let spare = spare_of(content, 0, 1);
    nand.program(at, content, &spare, Op::new(Time(7), Purpose::Gc)).unwrap();
    nand.read(at, Op::new(Time(2000), Purpose::Rmw));
    nand.read_spare(at, Op::new(Time(3000), Purpose::Recovery));
    nand.erase(Block(1), Op::new(Time(4000), Purpose::Wear)).unwrap();
    let event = |action, purpose, start, done| Event { action, purpose, start: Time(start), done: Time(done) };
    let expected = [
        event(Action::Program(at), Purpose::Gc, 7, 1007),
        event(Action::Read(at), Purpose::Rmw, 2000, 2100),
        event(Action::ReadSpare(at), Purpose::Recovery, 3000, 3003),
        event(Action::Erase(Block(1)), Purpose::Wear, 4000, 9000),
    ];
    assert_eq!(*log.0.lock().unwrap(), expected);

    let mut copy = nand.clone();
    copy.erase(Block(1), host()).unwrap();
    assert_eq!(log.0.lock().unwrap().len(), 4, "the copy is listened to");

    nand.break_at_program(Block(2));
    nand.break_at_erase(Block(3));
    let failing = page(&nand, 2, 0);
    assert_eq!(nand.program(failing, content, &spare, host()), Err(ProgramError::Failed(failing)));
    assert!(nand.erase(Block(3), host()).is_err());
    assert_eq!(log.0.lock().unwrap().len(), 6, "what fails was done, too");
    let beyond = phelsuma_nand::Page(u32::MAX);
    assert!(nand.program(beyond, content, &spare, host()).is_err());
    assert_eq!(log.0.lock().unwrap().len(), 6, "what is refused was not done");

    nand.observe(None);
    nand.erase(Block(1), host()).unwrap();
    assert_eq!(log.0.lock().unwrap().len(), 6);
}
