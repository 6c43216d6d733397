//! Drives whose pages of metadata hold something else than their FTL has written, with checksums that fit: everything
//! that decodes such a page sees it. What `phelsuma check` does with such an image: the drive comes up or it does not,
//! and is read and looked at.
//!
//! Not tested: writing to such a drive. A checksum that fits is what an FTL goes by; behind one that lies its counters
//! can be anything. A server treats an FTL that panics then as one whose power has failed.
#![no_main]

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use phelsuma_ftl::{Config, Hint, HostData, HostPage, PRESETS, Preset, WriteRequest, format, recover};
use phelsuma_nand::{Geometry, Kind, LogicalPage, Purpose, Spare, Time};
use phelsuma_serve::image::{CreateOptions, Durability, ImageNand};

const PAGE: usize = 512;
const PAGES_PER_BLOCK: usize = 8;
const SPARE_SLOTS: usize = 3;
const RECORD: usize = 64;

/// A drive that was written and lost its power, and where its pages of metadata are: their records and data.
struct Drive {
    image: Vec<u8>,
    /// Each with its place, the offset of its record, and that of its data.
    metadata: Vec<(usize, usize, usize)>,
}

/// A drive under a preset: one that lost its power, or one that was closed.
fn drive(preset: &Preset, is_closed: bool) -> Drive {
    let options = CreateOptions { spare_slots: Some(SPARE_SLOTS as u32), ..CreateOptions::default() };
    // As large as it has to be.
    let (mut nand, config, blocks) = (24..)
        .step_by(8)
        .find_map(|blocks| {
            let geometry = Geometry::new(PAGE as u32, PAGES_PER_BLOCK as u32, blocks, 1, 1).expect("a small drive");
            let logical = (geometry.pages() / 2) as u32;
            let mut composition = preset.composition;
            if composition.has_cache() {
                composition.set("mapping.cache", "16").expect("a cache");
            }
            let config = Config::new(preset.name, composition, logical, 1);
            let bytes = ImageNand::file_bytes_of(&geometry, &options).expect("a small drive");
            let mut nand = ImageNand::create_on(vec![0; bytes as usize], &geometry, &config, &options).expect("small");
            format(&mut nand, &config, Time::ZERO).is_ok().then_some((nand, config, blocks as usize))
        })
        .expect("some size fits");
    let (mut ftl, _) = recover(&mut nand, &config, Time::ZERO).expect("it was just made");
    for n in 0..700u32 {
        let bytes = [n as u8; PAGE];
        let first = LogicalPage(n.wrapping_mul(7919) % config.logical_pages);
        let request = WriteRequest { first, pages: 1, data: HostData::Bytes(&bytes), hint: Hint::None };
        ftl.write(&mut nand, &request, Time::ZERO).expect("a blank drive is written");
        if n % 50 == 0 {
            ftl.trim(&mut nand, first, 1, Time::ZERO).expect("what was written is trimmed");
            ftl.flush(&mut nand, Time::ZERO).expect("it has room");
        }
    }
    let image = if is_closed || config.composition.has_battery() {
        ftl.close(&mut nand, Time::ZERO).expect("it has room");
        nand.close().expect("in memory")
    } else {
        nand.into_storage()
    };
    // docs/IMAGE.md, "The file".
    let slots = blocks + SPARE_SLOTS;
    let next = |at: usize, of: usize| at.next_multiple_of(of);
    let records = next(next(8192 + 8 * blocks, 4096) + RECORD * slots, 4096);
    let data = next(records + RECORD * slots * PAGES_PER_BLOCK, 65_536);
    let metadata = (0..slots * PAGES_PER_BLOCK)
        .map(|place| (place, records + place * RECORD, data + place * PAGE))
        .filter(|(_, record, _)| {
            let spare = Spare::decode(&image[*record..*record + Spare::BYTES]);
            spare.is_ok_and(|spare| spare.kind != Kind::User)
        })
        .collect();
    Drive { image, metadata }
}

fn drives() -> &'static [Drive] {
    static DRIVES: OnceLock<Vec<Drive>> = OnceLock::new();
    // Of LAST++ also one that has a snapshot.
    let closed = PRESETS.iter().filter(|preset| preset.name == "last++").map(|preset| drive(preset, true));
    DRIVES.get_or_init(|| PRESETS.iter().map(|preset| drive(preset, false)).chain(closed).collect())
}

/// Another byte in a page of metadata, or in its spare area, with all checksums as they should be then.
fn change(drive: &Drive, image: &mut [u8], (page, at, value): (u16, u16, u8)) {
    let Some((place, record, data)) = drive.metadata.get(usize::from(page) % drive.metadata.len().max(1)) else {
        return;
    };
    let (place, record, data) = (*place, *record, *data);
    let at = usize::from(at) % (PAGE + 20);
    match at.checked_sub(PAGE) {
        None => image[data + at] = value,
        // Key, version, seq and aux; what kind of page it is stays.
        Some(at) => image[record + if at < 16 { 4 + at } else { 8 + at }] = value,
    }
    let crc = crc32fast::hash(&image[data..data + PAGE]).to_le_bytes();
    image[record + 20..record + 24].copy_from_slice(&crc);
    let spare = crc32fast::hash(&image[record..record + 28]).to_le_bytes();
    image[record + 28..record + 32].copy_from_slice(&spare);
    image[record + 56..record + 60].copy_from_slice(&crc);
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&image[record..record + 60]);
    hasher.update(&(place as u64).to_le_bytes());
    image[record + 60..record + 64].copy_from_slice(&hasher.finalize().to_le_bytes());
}

fuzz_target!(|input: (u8, Vec<(u16, u16, u8)>)| {
    let (which, edits) = input;
    let drive = &drives()[usize::from(which) % drives().len()];
    let mut image = drive.image.clone();
    for edit in edits.into_iter().take(64) {
        change(drive, &mut image, edit);
    }
    let Ok(mut nand) = ImageNand::open_on(image, Durability::Flush) else { return };
    let config = nand.config().clone();
    let Ok((mut ftl, _)) = recover(&mut nand, &config, Time::ZERO) else { return };
    let mut sink = |_: LogicalPage, _: HostPage<'_>| {};
    let _ = ftl.read(&mut nand, LogicalPage(0), config.logical_pages, Purpose::Host, Time::ZERO, &mut sink);
    ftl.check(&mut nand);
});
