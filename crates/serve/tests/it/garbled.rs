//! Images of which bytes were changed: what opens them never panics, and what opens closes and opens again. The same as
//! `fuzz/fuzz_targets/image.rs` with fewer and blinder tries; findings of that become tests here.

use crate::{boxed, bytes_of};
use phelsuma_ftl::{Config, Hint, HostData, HostPage, Preset, WriteRequest};
use phelsuma_nand::{Geometry, LogicalPage, Purpose, Time};
use phelsuma_serve::image::{CreateOptions, Durability, ImageNand};
use proptest::prelude::*;
use std::sync::OnceLock;

fn images() -> &'static [Vec<u8>; 2] {
    static IMAGES: OnceLock<[Vec<u8>; 2]> = OnceLock::new();
    IMAGES.get_or_init(|| {
        let geometry = Geometry::new(512, 8, 24, 1, 1).unwrap();
        let config = Config::new("page", Preset::named("page").unwrap().composition, 60, 1);
        let options = CreateOptions { spare_slots: Some(3), ..CreateOptions::default() };
        let bytes = vec![0; ImageNand::file_bytes_of(&geometry, &options).unwrap() as usize];
        let mut nand = ImageNand::create_on(boxed(bytes), &geometry, &config, &options).unwrap();
        let (mut ftl, _) = nand.format().unwrap();
        for n in 0..300u32 {
            let bytes = [n as u8; 512];
            let data = HostData::Bytes(&bytes);
            let request = WriteRequest { first: LogicalPage(n * 7 % 60), pages: 1, data, hint: Hint::None };
            ftl.write(&mut nand, &request, Time::ZERO).unwrap();
        }
        nand.sync().unwrap();
        let open = bytes_of(&nand.into_storage());
        let closed = ImageNand::open_on(boxed(open.clone()), Durability::Flush).unwrap().close().unwrap();
        [bytes_of(&closed), open]
    })
}

/// Whether it was an image.
fn opened(bytes: Vec<u8>) -> bool {
    let Ok(mut nand) = ImageNand::open_on(boxed(bytes), Durability::Flush).map_err(|error| {
        assert!(!error.to_string().contains('\n'));
    }) else {
        return false;
    };
    nand.damage(drop);
    nand.census().unwrap();
    let config = nand.config().clone();
    if let Ok((mut ftl, _)) = nand.recover() {
        ftl.check(&mut nand);
        let mut sink = |_: LogicalPage, _: HostPage<'_>| {};
        let _ = ftl.read(&mut nand, LogicalPage(0), config.logical_pages, Purpose::Host, Time::ZERO, &mut sink);
        let _ = ftl.close(&mut nand, Time::ZERO);
    }
    let storage = nand.close().unwrap();
    ImageNand::open_on(storage, Durability::Flush).unwrap();
    true
}

fn cases() -> u32 {
    if std::env::var_os("PHELSUMA_THOROUGH").is_some_and(|v| v == "1") { 200_000 } else { 2_000 }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn images_with_other_bytes_in_them_are_refused_or_opened(
        which in 0..2usize,
        seal in prop::bool::weighted(0.8),
        edits in prop::collection::vec((prop_oneof![0..200usize, 4_096..4_300usize, 0..40_000usize], any::<u8>()), 0..12),
    ) {
        let mut image = images()[which].clone();
        for (at, value) in edits {
            image[at] = value;
        }
        if seal {
            for copy in image[..8192].chunks_mut(4096) {
                let crc = crc32fast::hash(&copy[..4092]);
                copy[4092..].copy_from_slice(&crc.to_le_bytes());
            }
        }
        opened(image);
    }

    #[test]
    fn bytes_that_are_no_image_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..20_000)) {
        prop_assert!(!opened(bytes));
    }
}

#[test]
fn records_that_went_bad_cost_no_more_than_themselves() {
    let [closed, _] = images();
    // Marks of bad blocks stand behind the headers, then the records of slots, then those of pages.
    let pages = 8192 + 4096 + 4096;
    let mut image = closed.clone();
    (0..27 * 8).for_each(|page| image[pages + page * 64 + 60] ^= 0xff);
    assert!(opened(image), "not one page can be read, and yet it is an image");
}
