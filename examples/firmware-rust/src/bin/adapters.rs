//! The adapters for other crates, each of whose functions a register calls: none of their paths may panic.

#![no_std]
#![no_main]

#[path = "../size.rs"]
#[allow(dead_code, reason = "the other programs have more in common")]
mod size;

use core::panic::PanicInfo;
use embedded_sdmmc_types::{Block, BlockDevice, BlockIdx};
use embedded_storage::nor_flash::{NorFlash, ReadNorFlash};
use phelsuma_mcu::{Chip, Config, Drive, Gecko};
use phelsuma_mcu_storage::{Disk, Error, Fat, Nor};
use size::{NotCounted, get, mounted, set};

const CONFIG: Config = Config::new(Chip::W25N01GV, 49_152, 1_024);
const BYTES: usize = match CONFIG.memory_bytes::<Gecko>() {
    Ok(bytes) => bytes,
    Err(_) => panic!("the configuration cannot be"),
};

static mut MEMORY: [u8; BYTES] = [0; BYTES];
static mut PAGE: [u8; 2048] = [0; 2048];
static mut DATA: [u8; 8192] = [0; 8192];

type Mounted = Disk<Gecko, &'static mut [u8], NotCounted, &'static mut [u8]>;

/// Does what the register says.
fn call(mut disk: Mounted, data: &mut [u8]) -> Result<Mounted, Error> {
    let (at, count) = (get(21), get(22));
    let Some(data) = data.get_mut(..count as usize) else { return Ok(disk) };
    data.iter_mut().for_each(|byte| *byte = get(23) as u8);
    let what = get(20);
    let done = match what {
        0 => disk.read(u64::from(at) * 512, data),
        1 => disk.write(u64::from(at) * 512, data),
        2 => disk.trim(at, count),
        3 => disk.sync(),
        4 => disk.maintain(count).map(|more| set(24, u32::from(more))),
        5..8 => {
            let mut nor = Nor::<_, 4, 4096>::new(disk)?;
            let done = match what {
                5 => nor.read(at, data),
                6 => nor.write(at, data),
                _ => nor.erase(at, count),
            };
            disk = nor.into_inner();
            done
        }
        _ => {
            let fat = Fat::new(disk)?;
            let mut blocks = [const { Block { contents: [0; 512] } }; 3];
            let done = match what {
                8 => fat.read(&mut blocks, BlockIdx(at)),
                _ => fat.write(&blocks, BlockIdx(at)),
            };
            blocks.iter().flat_map(|block| block.contents).for_each(|byte| set(23, byte.into()));
            disk = fat.into_inner();
            done
        }
    };
    data.iter().for_each(|byte| set(23, u32::from(*byte)));
    set(26, u32::from(done.is_err()));
    Ok(disk)
}

fn run(drive: Drive<Gecko, &'static mut [u8]>) -> Result<(), Error> {
    // SAFETY: this runs once.
    let (page, data) = unsafe { (&mut *(&raw mut PAGE), &mut *(&raw mut DATA)) };
    let mut disk = Disk::new(drive, NotCounted, &mut page[..])?;
    loop {
        disk = call(disk, data)?;
    }
}

#[cortex_m_rt::entry]
fn main() -> ! {
    // SAFETY: this runs once, and lends the memory again when the former drive is gone.
    let memory = || unsafe { &mut *(&raw mut MEMORY) }.as_mut_slice();
    if let Ok(drive) = mounted::<Gecko>(&CONFIG, memory) {
        let _ = run(drive);
    }
    loop {}
}

#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    loop {}
}
