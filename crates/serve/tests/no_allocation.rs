//! A device allocates nothing for a request: all allocations are the FTL's and the flash's.

// A global allocator that counts has no other way.
#![allow(unsafe_code, clippy::unwrap_used)]

mod common;

use common::{PAGE, drive};
use phelsuma_ftl::{Counter, Finding, Ftl, FtlError, HostData, HostPage, RamLedger, ReadSink, Shape, WriteRequest};
use phelsuma_nand::sim::SimConfig;
use phelsuma_nand::{Content, LogicalPage, Purpose, SimNand, Time};
use phelsuma_serve::device::{Device, MemoryFlash, Opened};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

struct Counting;

thread_local! {
    /// Of this thread: the harness allocates in a thread of its own, at any time.
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: passes everything on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: as its caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        // SAFETY: as its caller promises.
        unsafe { System.dealloc(place, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

const PAGES: usize = 100;

/// Pages in an array, which allocates nothing.
struct Array(Vec<u8>);

impl Ftl<MemoryFlash> for Array {
    fn shape(&self) -> Shape {
        Shape {
            logical_pages: PAGES as u32,
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

    fn write(&mut self, _: &mut MemoryFlash, request: &WriteRequest<'_>, at: Time) -> Result<Time, FtlError> {
        if let HostData::Bytes(bytes) = request.data {
            let first = request.first.0 as usize * PAGE;
            self.0[first..first + bytes.len()].copy_from_slice(bytes);
        }
        Ok(at)
    }

    fn read(
        &mut self,
        _: &mut MemoryFlash,
        first: LogicalPage,
        pages: u32,
        _: Purpose,
        at: Time,
        sink: &mut dyn ReadSink,
    ) -> Result<Time, FtlError> {
        for page in first.0..first.0 + pages {
            let bytes = &self.0[page as usize * PAGE..(page as usize + 1) * PAGE];
            sink.page(LogicalPage(page), HostPage::Data(Content::Bytes(bytes)));
        }
        Ok(at)
    }

    fn trim(&mut self, _: &mut MemoryFlash, first: LogicalPage, pages: u32, at: Time) -> Result<Time, FtlError> {
        self.0[first.0 as usize * PAGE..(first.0 + pages) as usize * PAGE].fill(0);
        Ok(at)
    }

    fn flush(&mut self, _: &mut MemoryFlash, at: Time) -> Result<Time, FtlError> {
        Ok(at)
    }

    fn copy(&self) -> Box<dyn Ftl<MemoryFlash>> {
        Box::new(Self(self.0.clone()))
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

#[test]
fn requests_of_every_kind_allocate_nothing() {
    let of = drive("page");
    let flash = MemoryFlash::new(SimNand::new(&SimConfig::new(of.geometry, of.timing)));
    let ftl = Box::new(Array(vec![0; PAGES * PAGE]));
    let mut device = Device::new(Opened {
        flash,
        ftl,
        battery: false,
        ready: Time::ZERO,
        about: String::new(),
        name: String::new(),
    });
    let empty = ALLOCATIONS.get();
    let (data, mut buf) = (vec![7; 9 * PAGE], vec![0; 9 * PAGE]);
    let before = ALLOCATIONS.get();
    assert_eq!(before, empty + 2, "both buffers are counted");
    for offset in 0..2 * PAGE as u64 {
        device.write(offset, &data, true, Time::ZERO).unwrap();
        device.read(offset, &mut buf, Time::ZERO).unwrap();
        device.extents(offset, buf.len() as u64, false, Time::ZERO, &mut |_| {}).unwrap();
        device.trim(offset, 5000, true, Time::ZERO).unwrap();
        device.write_zeroes(offset, 3000, offset % 2 == 0, false, true, Time::ZERO).unwrap();
        device.flush(Time::ZERO).unwrap();
    }
    assert_eq!(ALLOCATIONS.get(), before);
}
