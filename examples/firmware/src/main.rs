//! A firmware with an FTL: entry, heap, mounting, a write and a read. The driver is yours to fill in (`chip.rs`).

#![no_std]
#![no_main]

extern crate alloc;

mod chip;

use alloc::boxed::Box;
use chip::Chip;
use cortex_m_rt::entry;
use embedded_alloc::LlffHeap;
use panic_halt as _;
use phelsuma_ftl::{Config, Ftl, FtlError, Hint, HostData, HostPage, WriteRequest, format, recover};
use phelsuma_nand::{LogicalPage, Purpose, Time};

/// A sixth more than `Ftl::ram` counts.
const HEAP_BYTES: usize = 64 << 10;

#[global_allocator]
static HEAP: LlffHeap = LlffHeap::empty();

/// Brings up what is on the chip, and formats a blank one. A lost drive is for its owner to format.
fn mount(chip: &mut Chip, config: &Config) -> Result<Box<dyn Ftl<Chip>>, FtlError> {
    match recover(chip, config, Time::ZERO) {
        Ok((ftl, _report)) => Ok(ftl),
        Err(FtlError::Blank) => Ok(format(chip, config, Time::ZERO)?.0),
        Err(error) => Err(error),
    }
}

#[entry]
fn main() -> ! {
    // SAFETY: once, before the first allocation.
    unsafe {
        embedded_alloc::init!(HEAP, HEAP_BYTES);
    }
    let mut chip = Chip::new();
    let config = Config::preset("page", 2_000, 1).expect("`page` is a preset");
    let mut ftl = mount(&mut chip, &config).expect("the chip holds this drive, or none");
    let data = [7; chip::PAGE_BYTES];
    let first = LogicalPage(3);
    let request = WriteRequest { first, pages: 1, data: HostData::Bytes(&data), hint: Hint::None };
    ftl.write(&mut chip, &request, Time::ZERO).expect("the flash is not worn out");
    let mut page = [0; chip::PAGE_BYTES];
    let mut sink = |_: LogicalPage, read: HostPage<'_>| match read {
        HostPage::Data(content) => content.copy_to(&mut page),
        HostPage::Zeros => page.fill(0),
        HostPage::Unreadable => panic!("tell the host of a read error"),
    };
    ftl.read(&mut chip, first, 1, Purpose::Host, Time::ZERO, &mut sink).expect("the drive has this page");
    loop {
        // Serve your host here, and while it is idle:
        let _ = ftl.background_step(&mut chip, Time::ZERO);
    }
}
