//! Files on a chip whose plug is pulled: littlefs on an FTL on raw flash.
//!
//! An argument says how many programs and erases are done until the power fails: 12 where there is none. Firmware has a
//! driver of its own in the place of the chip in RAM, and statics in the place of the vectors.

#[path = "../../mcu/tests/it/chip.rs"]
#[allow(dead_code, unreachable_pub, reason = "tests share it")]
mod chip;

use chip::{Cut, RamChip};
use littlefs2::consts::{U4, U512};
use littlefs2::fs::Filesystem;
use littlefs2::io::Result;
use littlefs2::path;
use littlefs2::path::Path;
use phelsuma_mcu::{Chip, Config, Drive, Gecko, MetaPlace};
use phelsuma_mcu_storage::{Disk, LittleFs, Shape};

const CHIP: Chip = Chip { page_bytes: 512, pages_per_block: 16, blocks: 64, meta: MetaPlace::Spare };

/// 192 KiB of files on a chip of 512 KiB.
const CONFIG: Config = Config::new(CHIP, 384, 32);

const MEMORY_BYTES: usize = match CONFIG.memory_bytes::<Gecko>() {
    Ok(bytes) => bytes,
    Err(_) => panic!("the configuration does not fit the chip"),
};

/// What littlefs is compiled for.
struct Sizes;

impl Shape for Sizes {
    const PAGE_BYTES: usize = CHIP.data_bytes() as usize;
    const BLOCK_BYTES: usize = 2048;
    const BLOCKS: usize = 96;
    type CacheBytes = U512;
    type LookaheadWords = U4;
}

type Storage = LittleFs<Disk<Gecko, Vec<u8>, RamChip, [u8; Sizes::PAGE_BYTES]>, Sizes>;

/// The drive on a chip, formatted or mounted.
fn storage(mut chip: RamChip, is_new: bool) -> std::result::Result<Storage, String> {
    let memory = vec![0; MEMORY_BYTES];
    let drive = match is_new {
        true => Drive::format(&mut chip, &CONFIG, memory),
        false => Drive::mount(&mut chip, &CONFIG, memory),
    };
    let disk = Disk::new(drive.map_err(|error| format!("{error:?}"))?, chip, [0; Sizes::PAGE_BYTES]);
    disk.and_then(LittleFs::new).map_err(|error| error.to_string())
}

/// Each call is durable when it returns. How many returned.
fn script(fs: &Filesystem<'_, Storage>) -> usize {
    let calls: [(&str, &dyn Fn() -> Result<()>); 4] = [
        ("write 3,000 bytes of new", &|| fs.write(path!("new"), &[1; 3000])),
        ("rename new to settings", &|| fs.rename(path!("new"), path!("settings"))),
        ("write 5,000 bytes of log", &|| fs.write(path!("log"), &[2; 5000])),
        ("write 100 bytes of log", &|| fs.write(path!("log"), &[3; 100])),
    ];
    calls.iter().take_while(|(name, call)| call().inspect(|()| println!("{name}: returned")).is_ok()).count()
}

fn list(fs: &Filesystem<'_, Storage>) -> Result<()> {
    fs.read_dir_and_then(Path::from_bytes_with_nul(b"/\0").unwrap_or(path!("")), |entries| {
        for entry in entries {
            let entry = entry?;
            if entry.file_type().is_file() {
                println!("  {}: {} bytes", entry.file_name(), entry.metadata().len());
            }
        }
        Ok(())
    })
}

fn main() -> std::result::Result<(), String> {
    let left = std::env::args().nth(1).map_or(Ok(12), |word| word.parse()).map_err(|error| format!("{error}"))?;
    let failed = |error| format!("{error:?}");
    let mut new = storage(RamChip::new(CHIP), true)?;
    Filesystem::format(&mut new).map_err(failed)?;
    Filesystem::mount_and_then(&mut new, |fs| fs.write(path!("settings"), &[0; 700])).map_err(failed)?;
    let (drive, mut chip, buffer) = new.into_inner().into_parts();
    chip.arm(left, Cut::Torn);
    let disk = Disk::new(drive, chip, buffer).and_then(LittleFs::new);
    let mut cut = disk.map_err(|error| error.to_string())?;
    let returned = Filesystem::mount_and_then(&mut cut, |fs| Ok(script(fs))).map_err(failed)?;
    let (_, mut chip, _) = cut.into_inner().into_parts();
    println!("the power {} after {returned} calls; on flash are", if chip.is_off { "failed" } else { "held" });
    chip.power_on();
    Filesystem::mount_and_then(&mut storage(chip, false)?, list).map_err(failed)
}
