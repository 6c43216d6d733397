//! Requests of any offset and length to served drives under every FTL, and cuts of their power, against an array of
//! bytes; and the words that a server is started and spoken to with.
#![no_main]

use libfuzzer_sys::fuzz_target;
use phelsuma_ftl::{Config, PRESETS};
use phelsuma_nand::sim::{EraseFault, ProgramFault};
use phelsuma_nand::{Geometry, TIMINGS, Time};
use phelsuma_serve::device::options::{Options, scale};
use phelsuma_serve::device::{Cut, CutPlan, Device, DeviceError, Faults, MemoryDrive, Open};
use phelsuma_serve::image::Durability;

const PAGE: usize = 512;
const PAGES: usize = 300;
const SIZE: usize = PAGES * PAGE;
const AT: Time = Time::ZERO;

/// What each byte may be: as it is now, or as it was while a trim or a request that a cut met is not sure.
struct Model {
    now: Vec<u8>,
    /// What each page may be besides.
    or: Vec<Vec<Vec<u8>>>,
}

impl Model {
    fn page(&self, page: usize) -> &[u8] {
        &self.now[page * PAGE..(page + 1) * PAGE]
    }

    /// These bytes become `value`; what the pages were is possible until that is sure.
    fn set(&mut self, from: usize, bytes: &[u8]) {
        for page in from / PAGE..(from + bytes.len()).div_ceil(PAGE) {
            let old = self.page(page).to_vec();
            self.or[page].push(old);
        }
        self.now[from..from + bytes.len()].copy_from_slice(bytes);
    }

    fn sure(&mut self, from: usize, len: usize) {
        self.or[from / PAGE..(from + len).div_ceil(PAGE)].iter_mut().for_each(Vec::clear);
    }

    fn found(&mut self, bytes: &[u8]) {
        for page in 0..PAGES {
            let found = &bytes[page * PAGE..(page + 1) * PAGE];
            let may = found == self.page(page) || self.or[page].iter().any(|old| old == found);
            assert!(may, "page {page} is neither what it was nor what it was to be");
        }
        self.now.copy_from_slice(bytes);
        self.sure(0, SIZE);
    }
}

fn words(text: &str) {
    let one_line = |error: String| assert!(!error.contains('\n'));
    let _ = text.parse::<CutPlan>().map_err(one_line);
    let _ = text.parse::<Faults>().map_err(one_line);
    let _ = text.parse::<Durability>();
    let _ = scale(text).map(|scale| assert!(scale > 0.0 && scale.is_finite()));
    let mut options = Options::default();
    for pair in text.split(' ').take(16) {
        let Some((key, value)) = pair.split_once('=') else { continue };
        let _ = options.set(key, value).map_err(one_line);
    }
    // What it has understood it passes on such that it is understood again.
    let mut again = Options::default();
    for word in options.words() {
        let (key, value) = word.split_once('=').expect("key=value");
        again.set(key, value).expect("what was said before");
    }
    assert_eq!(again.words(), options.words());
}

fuzz_target!(|input: (u8, String, Vec<(u8, u32, u16)>)| {
    let (which, text, steps) = input;
    words(&text);
    let preset = &PRESETS[usize::from(which) % PRESETS.len()];
    let mut composition = preset.composition;
    if composition.has_cache() {
        composition.set("mapping.cache", "32").expect("a cache");
    }
    let geometry = Geometry::new(PAGE as u32, 16, 64, 1, 1).expect("a small drive");
    let config = Config::new(preset.name, composition, PAGES as u32, 1);
    let drive = MemoryDrive { geometry, timing: TIMINGS[0].2, config };
    let mut device = Device::new(drive.open().expect("it fits"));
    let mut model = Model { now: vec![0; SIZE], or: vec![Vec::new(); PAGES] };
    for (kind, offset, length) in steps.into_iter().take(200) {
        let (flag, kind) = (kind & 1 == 1, kind >> 1);
        let (offset, length) = (offset as usize % (SIZE + 2 * PAGE), usize::from(length) % (20 * PAGE));
        let out = offset + length > SIZE;
        let data: Vec<u8> = (0..length).map(|n| (n as u8).wrapping_mul(7) ^ offset as u8 ^ kind).collect();
        let (whole_from, whole_to) = (offset.div_ceil(PAGE) * PAGE, (offset + length) / PAGE * PAGE);
        let done = match kind % 16 {
            0..8 => {
                if !out && length > 0 {
                    model.set(offset, &data);
                }
                device.write(offset as u64, &data, flag, AT).map(|_| (offset, length, false))
            }
            8 | 9 => {
                let mut buf = vec![0; length];
                let read = device.read(offset as u64, &mut buf, AT);
                assert!(read.is_err() || length == 0 || buf == model.now[offset..offset + length], "it reads wrong");
                read.map(|_| (0, 0, false))
            }
            10 | 11 => {
                if !out && whole_from < whole_to {
                    model.set(whole_from, &vec![0; whole_to - whole_from]);
                }
                device.trim(offset as u64, length as u64, flag, AT).map(|_| (0, 0, flag && length > 0))
            }
            12 => {
                if !out && length > 0 {
                    model.set(offset, &vec![0; length]);
                }
                // Without may_trim the zeroes are written, and as safe as any write.
                let done = device.write_zeroes(offset as u64, length as u64, flag, false, flag, AT);
                done.map(|_| if flag { (0, 0, length > 0) } else { (offset, length, false) })
            }
            13 => device.flush(AT).map(|_| (0, 0, true)),
            14 => device.background(AT).map(|_| (0, 0, false)),
            _ => {
                let program = ProgramFault::ALL[offset % ProgramFault::ALL.len()];
                let erase = EraseFault::ALL[length % EraseFault::ALL.len()];
                let cut = Cut { operation: 0, program, erase, seed: offset as u64 };
                device.cut_after(length as u64 % 300, cut);
                Ok((0, 0, false))
            }
        };
        match done {
            Ok((from, len, flushed)) => {
                assert!(!out || !matches!(kind % 16, 0..=12), "{offset} and {length} are out of range");
                if flushed {
                    model.sure(0, SIZE);
                } else if len > 0 {
                    model.sure(from, len);
                }
            }
            Err(DeviceError::Off(_)) => {
                device = Device::new(drive.power_on(device.into_flash()).expect("it comes up"));
                let mut found = vec![0; SIZE];
                device.read(0, &mut found, AT).expect("everything can be read");
                model.found(&found);
            }
            Err(DeviceError::OutOfRange { .. }) => assert!(out, "{offset} and {length} are in range"),
            Err(error) => panic!("{error}"),
        }
    }
});
