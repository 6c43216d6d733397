//! Bytes that are no image, and images of which bytes were changed.
#![no_main]

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use phelsuma_ftl::{Config, Hint, HostData, HostPage, Preset, WriteRequest, format, recover};
use phelsuma_nand::{Geometry, LogicalPage, Purpose, Time};
use phelsuma_serve::image::{CreateOptions, Durability, ImageNand};

/// Two drives that were written, one closed in good order and one not.
fn images() -> &'static [Vec<u8>; 2] {
    static IMAGES: OnceLock<[Vec<u8>; 2]> = OnceLock::new();
    IMAGES.get_or_init(|| {
        let geometry = Geometry::new(512, 8, 24, 1, 1).expect("a small drive");
        let config = Config::new("page", Preset::named("page").expect("a preset").composition, 60, 1);
        let options = CreateOptions { spare_slots: Some(3), ..CreateOptions::default() };
        let bytes = ImageNand::file_bytes_of(&geometry, &options).expect("a small drive");
        let mut nand =
            ImageNand::create_on(vec![0; bytes as usize], &geometry, &config, &options).expect("a small drive");
        let (mut ftl, _) = format(&mut nand, &config, Time::ZERO).expect("it fits");
        for n in 0..300u32 {
            let bytes = [n as u8; 512];
            let data = HostData::Bytes(&bytes);
            let request = WriteRequest { first: LogicalPage(n * 7 % 60), pages: 1, data, hint: Hint::None };
            ftl.write(&mut nand, &request, Time::ZERO).expect("a blank drive is written");
        }
        nand.sync().expect("in memory");
        let open = nand.into_storage();
        let closed = ImageNand::open_on(open.clone(), Durability::Flush).expect("it was just made").close();
        [closed.expect("in memory"), open]
    })
}

fn opened(bytes: Vec<u8>) {
    let mut nand = match ImageNand::open_on(bytes, Durability::Flush) {
        Ok(nand) => nand,
        Err(error) => {
            assert!(!error.to_string().contains('\n'));
            return;
        }
    };
    nand.damage(drop);
    nand.census().expect("in memory");
    let config = nand.config().clone();
    if let Ok((mut ftl, _)) = recover(&mut nand, &config, Time::ZERO) {
        ftl.check(&mut nand);
        let mut sink = |_: LogicalPage, _: HostPage<'_>| {};
        let _ = ftl.read(&mut nand, LogicalPage(0), config.logical_pages, Purpose::Host, Time::ZERO, &mut sink);
        let _ = ftl.close(&mut nand, Time::ZERO);
    }
    let bytes = nand.close().expect("in memory");
    ImageNand::open_on(bytes, Durability::Flush).expect("what was closed opens");
}

fuzz_target!(|input: (u8, Vec<(u32, u8)>, Vec<u8>)| {
    let (flags, edits, bytes) = input;
    if flags & 1 == 1 {
        return opened(bytes);
    }
    let mut image = images()[usize::from(flags >> 1 & 1)].clone();
    // Most of what decides is in front of the data.
    let len = if flags & 4 == 0 { 40_000.min(image.len()) } else { image.len() };
    for (at, value) in edits {
        image[at as usize % len] = value;
    }
    if flags & 8 == 0 {
        for copy in image[..8192].chunks_mut(4096) {
            let crc = crc32fast::hash(&copy[..4092]);
            copy[4092..].copy_from_slice(&crc.to_le_bytes());
        }
    }
    opened(image);
});
