//! Errors below a device, and the answers that its clients get.

use crate::common::{PAGE, device, drive, pattern};
use phelsuma_ftl::{Counter, Finding, Ftl, FtlError, RamLedger, ReadSink, Shape, WriteRequest};
use phelsuma_nand::sim::{Decay, EraseFault, ProgramFault, SimConfig};
use phelsuma_nand::{Action, Event, LogicalPage, Observer, Page, Purpose, SimNand, Time};
use phelsuma_serve::device::{
    Cut, Device, DeviceError, Host, MemoryDrive, MemoryFlash, Off, Open, OpenError, Opened, Plug, Served, Serving,
};
use std::sync::{Arc, Mutex};

const AT: Time = Time::ZERO;

/// Notes the pages that are programmed for the host.
struct Programs(Arc<Mutex<Vec<Page>>>);

impl Observer for Programs {
    fn observe(&mut self, event: &Event) {
        if let (Action::Program(page), Purpose::Host) = (event.action, event.purpose) {
            self.0.lock().unwrap().push(page);
        }
    }
}

#[test]
fn a_page_that_cannot_be_read_fails_the_requests_that_touch_it_and_no_other() {
    for ftl in ["page", "geckoftl", "dftl"] {
        let mut device = device(&drive(ftl));
        let programs = Arc::new(Mutex::new(Vec::new()));
        device.flash().sim().observe(Some(Box::new(Programs(programs.clone()))));
        let data = pattern(1, 0, 8 * PAGE);
        device.write(0, &data, false, AT).unwrap();
        let third = programs.lock().unwrap()[2];
        device.flash().sim().decay(third, Decay::Uncorrectable);
        let mut buf = vec![0; 8 * PAGE];
        let page = PAGE as u64;

        let whole = device.read(0, &mut buf, AT);
        assert!(matches!(whole, Err(DeviceError::Unreadable { page: 2 })), "{ftl}: {whole:?}");
        assert_eq!(whole.unwrap_err().errno(), 5);
        device.read(0, &mut buf[..2 * PAGE], AT).unwrap();
        device.read(3 * page, &mut buf[3 * PAGE..], AT).unwrap();
        assert!(buf[..2 * PAGE] == data[..2 * PAGE] && buf[3 * PAGE..] == data[3 * PAGE..], "{ftl}");
        assert!(device.read(2 * page + 7, &mut buf[..1], AT).is_err(), "{ftl}: a byte of it");

        // Written in part, whichever end of the request it is: an error, and what lies beside it stays.
        for (offset, length) in [(page, PAGE + 9), (2 * page + 9, 2 * PAGE), (2 * page + 1, 5)] {
            let refused = device.write(offset, &vec![0xee; length], false, AT);
            assert!(matches!(refused, Err(DeviceError::Unreadable { page: 2 })), "{ftl}: {refused:?}");
        }
        assert!(device.write_zeroes(page, page + 9, true, false, false, AT).is_err(), "{ftl}");
        device.read(page, &mut buf[..PAGE], AT).unwrap();
        assert!(buf[..PAGE] == data[PAGE..2 * PAGE], "{ftl}: nothing was written");
        device.read(3 * page, &mut buf[..PAGE], AT).unwrap();
        assert!(buf[..PAGE] == data[3 * PAGE..4 * PAGE], "{ftl}: nothing was written");

        // Written in full it is whole again.
        device.write(2 * page, &data[..PAGE], false, AT).unwrap();
        device.read(2 * page, &mut buf[..PAGE], AT).unwrap();
        assert!(buf[..PAGE] == data[..PAGE], "{ftl}");
    }
}

#[test]
fn flash_that_is_worn_out_is_no_space_and_still_reads() {
    let MemoryDrive { geometry, timing, config } = drive("page");
    let chips = SimConfig { cycles_max: Some(5), ..SimConfig::new(geometry, timing) };
    let mut flash = MemoryFlash::new(SimNand::new(&chips));
    let (ftl, ready) = phelsuma_ftl::format(&mut flash, &config, AT).unwrap();
    let mut device =
        Device::new(Opened { flash, ftl, battery: false, ready, about: String::new(), name: String::new() });
    let mut last = 0;
    let error = (1..200u8)
        .find_map(|salt| {
            let refused = (0..1000).find_map(|page| {
                let written = device.write((page * PAGE) as u64, &pattern(salt, 0, PAGE), false, AT);
                written.err()
            });
            last = salt;
            refused
        })
        .expect("five cycles are not enough for this");
    assert_eq!(error.errno(), 28, "{error}");
    assert!(device.off().is_none());
    let mut buf = vec![0; PAGE];
    for page in 0..1000 {
        device.read(page * PAGE as u64, &mut buf, AT).unwrap();
        assert!(buf == pattern(last, 0, PAGE) || buf == pattern(last - 1, 0, PAGE), "page {page}");
    }
}

#[test]
fn past_the_end_is_an_error_and_does_nothing() {
    let mut device = device(&drive("page"));
    let size = device.size_bytes();
    for (offset, length) in [(size, 1), (size - 1, 2), (u64::MAX, 1), (0, size as usize + 1)] {
        let refused = device.write(offset, &vec![1; length], false, AT);
        assert!(matches!(refused, Err(DeviceError::OutOfRange { .. })), "{offset} {length}");
        assert_eq!(refused.unwrap_err().errno(), 22);
        assert!(device.trim(offset, length as u64, false, AT).is_err());
        assert!(device.read(offset, &mut vec![0; length], AT).is_err());
    }
    device.write(size, &[], true, AT).unwrap();
    assert_eq!(device.flash().sim().stats().of(Purpose::Host).programs, 0);
}

#[test]
fn zeroes_that_would_be_written_are_not_fast() {
    let mut device = device(&drive("page"));
    let refused = device.write_zeroes(0, PAGE as u64, false, true, false, AT);
    assert_eq!(refused.unwrap_err().errno(), 95);
    device.write_zeroes(0, PAGE as u64, true, true, false, AT).unwrap();
}

/// An FTL that panics at its first write.
struct Panics;

impl Ftl<MemoryFlash> for Panics {
    fn shape(&self) -> Shape {
        Shape {
            logical_pages: 10,
            reserve_blocks: 0,
            open_blocks: 0,
            log_blocks: 0,
            fixed_blocks: 0,
            metadata_blocks: 0,
            unidentified_blocks: 0,
            metadata_programs_per_collection: 0,
            battery_programs: 0,
        }
    }

    fn write(&mut self, _: &mut MemoryFlash, _: &WriteRequest<'_>, _: Time) -> Result<Time, FtlError> {
        std::panic::resume_unwind(Box::new("at sixes and sevens"))
    }

    fn read(
        &mut self,
        _: &mut MemoryFlash,
        _: LogicalPage,
        _: u32,
        _: Purpose,
        at: Time,
        _: &mut dyn ReadSink,
    ) -> Result<Time, FtlError> {
        Ok(at)
    }

    fn trim(&mut self, _: &mut MemoryFlash, _: LogicalPage, _: u32, at: Time) -> Result<Time, FtlError> {
        Ok(at)
    }

    fn flush(&mut self, _: &mut MemoryFlash, at: Time) -> Result<Time, FtlError> {
        Ok(at)
    }

    fn copy(&self) -> Box<dyn Ftl<MemoryFlash>> {
        Box::new(Self)
    }

    fn ram(&self) -> RamLedger {
        RamLedger::default()
    }

    fn counters(&self) -> Vec<Counter> {
        Vec::new()
    }

    fn check(&mut self, _: &mut MemoryFlash) -> Vec<Finding> {
        Vec::new()
    }
}

/// A drive whose FTL panics at its first write.
struct Panicking;

impl Open for Panicking {
    type Flash = MemoryFlash;

    fn open(&self) -> Result<Opened<MemoryFlash>, OpenError> {
        let MemoryDrive { geometry, timing, .. } = drive("page");
        let flash = MemoryFlash::new(SimNand::new(&SimConfig::new(geometry, timing)));
        Ok(Opened { flash, ftl: Box::new(Panics), battery: true, ready: AT, about: String::new(), name: String::new() })
    }
}

/// The calls that a host got.
#[derive(Clone, Default)]
struct Told(Arc<Mutex<Vec<String>>>);

impl Told {
    fn has(&self, what: &str) -> bool {
        self.0.lock().unwrap().iter().any(|line| line.contains(what))
    }
}

impl Host for Told {
    fn log(&self, line: &str) {
        self.0.lock().unwrap().push(line.to_string());
    }

    fn drop_connections(&self) {
        self.log("dropped");
    }

    fn exit(&self, code: u8) {
        self.log(&format!("exit {code}"));
    }
}

#[test]
fn an_ftl_that_panics_is_without_power_from_then_on() {
    let mut device = Device::new(Panicking.open().unwrap());
    let refused = device.write(0, &[1], false, AT);
    assert!(matches!(&refused, Err(DeviceError::Off(Off::Panicked(text))) if text == "at sixes and sevens"));
    assert_eq!(refused.unwrap_err().errno(), 108);
    assert!(device.flash().is_off(), "not even its battery may touch the flash");
    assert!(matches!(device.read(0, &mut [0], AT), Err(DeviceError::Off(_))));
    assert!(matches!(device.flush(AT), Err(DeviceError::Off(_))));
    assert!(device.close(AT).is_err());
}

#[test]
fn a_server_whose_ftl_panics_ends_with_a_line() {
    let told = Told::default();
    let served = Served::open(Panicking, &Serving::default(), Box::new(told.clone())).unwrap();
    let connection = served.connect();
    assert!(served.write(&connection, 0, &[1], false).is_err());
    assert!(told.has("dropped") && told.has("at sixes and sevens") && told.has("exit 1"), "{:?}", told.0);
}

#[test]
fn what_was_asked_before_a_cut_is_not_done_after_it() {
    let told = Told::default();
    let served = Served::open(drive("page"), &Serving::default(), Box::new(told.clone())).unwrap();
    let before = served.connect();
    served.write(&before, 0, b"here to stay", true).unwrap();
    served.cut(None, true);
    assert!(told.has("dropped") && !told.has("exit"), "{:?}", told.0);
    let refused = served.write(&before, 0, b"a late comer", false);
    assert!(matches!(refused, Err(DeviceError::Off(_))), "its connection went with the power");
    let after = served.connect();
    let mut buf = [0; 12];
    served.read(&after, 0, &mut buf).unwrap();
    assert_eq!(&buf, b"here to stay");
}

#[test]
fn a_cut_that_was_asked_for_once_ends_the_server_and_one_that_comes_again_does_not() {
    for (plan, ends) in [("5:1", true), ("5..5:1", false)] {
        let told = Told::default();
        let how = Serving { cuts: Some(plan.parse().unwrap()), ..Serving::default() };
        let served = Served::open(drive("page"), &how, Box::new(told.clone())).unwrap();
        let connection = served.connect();
        let done = (0..9).take_while(|n| served.write(&connection, n * PAGE as u64, &[1; PAGE], false).is_ok()).count();
        assert!((3..=5).contains(&done), "a block is erased for them, too: {done}");
        assert_eq!(told.has("exit 3"), ends, "{:?}", told.0);
        assert_eq!(served.read(&served.connect(), 0, &mut [0]).is_ok(), !ends);
    }
}

#[test]
fn a_battery_is_told_of_the_cut_when_the_request_in_progress_is_done() {
    let mut device = device(&drive("dftl"));
    let cut = Cut { operation: 0, program: ProgramFault::TornSeen, erase: EraseFault::PartialMixed, seed: 1 };
    device.cut_after(3, cut);
    let refused = device.write(0, &[1; 20 * PAGE], false, AT);
    assert!(matches!(refused, Err(DeviceError::Off(Off::Cut(None)))), "{refused:?}");
    let stats = *device.flash().sim().stats();
    assert_eq!(stats.of(Purpose::Host).programs, 20, "the request is finished");
    assert!(stats.of(Purpose::Battery).programs > 0, "and the battery has paid for what RAM alone knew");
}
