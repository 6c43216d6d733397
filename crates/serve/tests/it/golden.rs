//! `ImageNand`s that were made once are opened by every later version: `tests/golden/`.
//!
//! `flash.img` is made by operations of flash alone, and today's code must write the same to the last byte. The headers'
//! parameters alone may have more lines. Images with drives on them must mount and read; how an FTL writes may change.
//! `PHELSUMA_UPDATE_GOLDEN=1` writes all of them anew. Only a change of the format's version calls for that.

use crate::{boxed, bytes_of};
use phelsuma_ftl::{Config, Hint, HostData, HostPage, Preset, WriteRequest};
use phelsuma_nand::sim::{EraseFault, ProgramFault};
use phelsuma_nand::{Block, Content, Geometry, Kind, LogicalPage, Nand, Op, PageRead, Purpose, Spare, SpareRead, Time};
use phelsuma_serve::image::{CreateOptions, Durability, FaultPlan, ImageNand};
use std::path::PathBuf;

const PAGE: usize = 512;
const HEADER: usize = 4096;
/// Where a header's name and parameters begin, behind two bytes of their length.
const TEXT_AT: usize = 76;

/// The kinds of pages that there were then: one that was added since changes nothing of what these are written as.
const KINDS: [Kind; 7] =
    [Kind::User, Kind::Tombstone, Kind::Anchor, Kind::Translation, Kind::Bitmap, Kind::Gecko, Kind::ValidityLog];

fn file(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(format!("{name}.img.zst"))
}

fn golden(name: &str, made_today: impl FnOnce() -> Vec<u8>) -> Vec<u8> {
    if std::env::var_os("PHELSUMA_UPDATE_GOLDEN").is_some_and(|v| v == "1") {
        std::fs::create_dir_all(file(name).parent().unwrap()).unwrap();
        std::fs::write(file(name), zstd::encode_all(made_today().as_slice(), 19).unwrap()).unwrap();
    }
    zstd::decode_all(std::fs::read(file(name)).unwrap().as_slice()).unwrap()
}

fn created(name: &str, geometry: &Geometry, config: &Config, spare_slots: u32) -> ImageNand {
    let options = CreateOptions { spare_slots: Some(spare_slots), ..CreateOptions::default() };
    let bytes = vec![0; ImageNand::file_bytes_of(geometry, &options).unwrap() as usize];
    assert_eq!(config.name, name);
    ImageNand::create_on(boxed(bytes), geometry, config, &options).unwrap()
}

fn op() -> Op {
    Op::new(Time::ZERO, Purpose::Host)
}

fn opened(bytes: Vec<u8>) -> ImageNand {
    ImageNand::open_on(boxed(bytes), Durability::Flush).unwrap()
}

/// A page of data: eight bytes in a pattern of their own.
fn data(n: u64) -> Vec<u8> {
    (0..PAGE as u64 / 8).flat_map(|word| (n << 32 | word).to_le_bytes()).collect()
}

/// Every fault, a bad block, hollow pages, slots that were used again, sessions that did not end well.
fn flash() -> Vec<u8> {
    let geometry = Geometry::new(PAGE as u32, 6, 16, 2, 1).unwrap();
    let mut composition = Preset::named("geckoftl").unwrap().composition;
    composition.set_all(&[("mapping.cache", "99"), ("gecko.size-ratio", "3"), ("wear", "levelling")]).unwrap();
    let config = Config::new("geckoftl", composition, 40, 0x1234_5678_9abc_def0);
    let mut nand = created("geckoftl", &geometry, &config, 3);
    let mut seq = 0;
    let mut program = |nand: &mut ImageNand, block: u32, index: u32| {
        seq += 1;
        let bytes = data(seq);
        let content = if seq.is_multiple_of(5) { Content::Hollow(seq) } else { Content::Bytes(&bytes) };
        let kind = KINDS[seq as usize % KINDS.len()];
        let spare = Spare {
            kind,
            stream: 3,
            key: seq as u32,
            version: seq + 1,
            seq,
            data_crc: content.crc(),
            aux: 7 * seq as u32,
        };
        nand.program(geometry.page(Block(block), index), content, &spare, op()).is_ok()
    };
    for round in 0..3 {
        for block in 0..10 {
            nand.erase(Block(block), op()).unwrap();
            for index in 0..6 - round {
                assert!(program(&mut nand, block, index + round * (block % 2)));
            }
        }
    }
    nand.sync().unwrap();
    nand.mark_bad(Block(15));
    for (n, fault) in (0..).zip(ProgramFault::ALL) {
        let block = n % 5;
        nand.erase(Block(block), op()).unwrap();
        assert!(program(&mut nand, block, 0));
        let after = nand.operations();
        nand.set_fault_plan(Some(FaultPlan {
            after,
            program: *fault,
            erase: EraseFault::NotStarted,
            seed: 6 + u64::from(n),
        }));
        assert!(!program(&mut nand, block, 1) && nand.is_off());
        nand = opened(bytes_of(&nand.into_storage()));
    }
    for (n, fault) in (10..).zip(EraseFault::ALL) {
        assert!(program(&mut nand, n, 0) && program(&mut nand, n, 2));
        let after = nand.operations();
        let plan = FaultPlan { after, program: ProgramFault::NotStarted, erase: *fault, seed: 3 };
        nand.set_fault_plan(Some(plan));
        assert!(nand.erase(Block(n), op()).is_err() && nand.is_off());
        nand = opened(bytes_of(&nand.into_storage()));
    }
    bytes_of(&nand.close().unwrap())
}

/// Everything that can be read, as text.
fn listing(nand: &mut ImageNand) -> String {
    let geometry = *nand.geometry();
    let mut text = String::new();
    for block in (0..geometry.blocks()).map(Block) {
        text += &format!("{block}: bad {}, erases {}\n", nand.is_bad(block), nand.erases_of(block));
        for index in 0..geometry.pages_per_block() {
            let page = geometry.page(block, index);
            let spare = nand.read_spare(page, op()).0;
            let read = match nand.read(page, op()).0 {
                PageRead::Written { content, .. } => format!("{content}, crc {:08x}", content.crc()),
                other => format!("{other:?}"),
            };
            let spare = match spare {
                SpareRead::Written(s) => {
                    format!("{:?} {} {} {} {} {:08x} {}", s.kind, s.stream, s.key, s.version, s.seq, s.data_crc, s.aux)
                }
                other => format!("{other:?}"),
            };
            text += &format!("  {index}: {read}; {spare}\n");
        }
    }
    text
}

#[test]
fn what_is_written_today_is_what_was_written_then() {
    let (mut then, mut today) = (golden("flash", flash), flash());
    assert_eq!(then.len(), today.len());
    // Two headers. A part that got a parameter since has a line more, and the bytes that count and check the lines follow.
    for header in [0, HEADER] {
        let [then, today] = [&mut then, &mut today].map(|image| &mut image[header..header + HEADER]);
        let lines = |header: &[u8]| -> Vec<String> {
            let text = String::from_utf8(header[TEXT_AT..HEADER - 4].to_vec()).unwrap();
            text.trim_end_matches('\0').lines().map(str::to_owned).collect()
        };
        let today_has = lines(today);
        assert!(lines(then).iter().all(|line| today_has.contains(line)), "{today_has:?}");
        [then, today].into_iter().for_each(|header| header[TEXT_AT - 2..].fill(0));
    }
    let differs = then.iter().zip(&today).position(|(a, b)| a != b);
    assert_eq!(differs, None, "the first byte that differs");
}

#[test]
fn flash_that_was_written_then_reads_as_it_did() {
    let listed = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/flash.txt");
    let mut nand = opened(golden("flash", flash));
    assert!(nand.rolled_back().is_none());
    let config = nand.config();
    assert_eq!((config.name.as_str(), config.seed, config.logical_pages), ("geckoftl", 0x1234_5678_9abc_def0, 40));
    assert_eq!(config.composition.cache_entries(), Some(99));
    let today = listing(&mut nand);
    if std::env::var_os("PHELSUMA_UPDATE_GOLDEN").is_some_and(|v| v == "1") {
        std::fs::write(&listed, &today).unwrap();
    }
    assert_eq!(today, std::fs::read_to_string(listed).unwrap());
    assert!(today.contains("hollow") && today.contains("Unreadable") && today.contains("bad true"));
}

/// A drive that was written, overwritten and trimmed, and whose process then died.
fn drive(preset: &str, blocks: u64) -> Vec<u8> {
    let geometry = Geometry::new(PAGE as u32, 8, blocks, 1, 1).unwrap();
    let mut composition = Preset::named(preset).unwrap().composition;
    // A small cache leaves room for the host's pages.
    let _ = composition.set("mapping.cache", "32");
    let config = Config::new(preset, composition, (geometry.pages() / 2) as u32, 1);
    let mut nand = created(preset, &geometry, &config, 8);
    let (mut ftl, _) = nand.format().unwrap();
    let pages = config.logical_pages;
    for n in 0..3 * pages {
        let bytes = data(u64::from(n) + 1);
        let first = LogicalPage(page_of(n, pages));
        let request = WriteRequest { first, pages: 1, data: HostData::Bytes(&bytes), hint: Hint::None };
        ftl.write(&mut nand, &request, Time::ZERO).unwrap();
    }
    ftl.trim(&mut nand, LogicalPage(0), 3, Time::ZERO).unwrap();
    ftl.flush(&mut nand, Time::ZERO).unwrap();
    nand.sync().unwrap();
    bytes_of(&nand.into_storage())
}

/// The logical page of the write with this number.
fn page_of(write: u32, pages: u32) -> u32 {
    (u64::from(write) * 2_654_435_761 % u64::from(pages)) as u32
}

fn comes_up(preset: &str, blocks: u64) {
    let mut nand = opened(golden(preset, || drive(preset, blocks)));
    assert!(nand.rolled_back().is_some());
    let config = nand.config().clone();
    let (mut ftl, _) = nand.recover().unwrap();
    assert_eq!(ftl.check(&mut nand), []);
    let pages = config.logical_pages;
    let mut expected = vec![0; pages as usize];
    (0..3 * pages).for_each(|n| expected[page_of(n, pages) as usize] = u64::from(n) + 1);
    expected[..3].fill(0);
    let mut wrong = Vec::new();
    let mut sink = |page: LogicalPage, read: HostPage<'_>| {
        let right = match (expected[page.index()], read) {
            (0, HostPage::Zeros) => true,
            (n, HostPage::Data(Content::Bytes(bytes))) => n > 0 && bytes == data(n),
            _ => false,
        };
        if !right {
            wrong.push(page);
        }
    };
    ftl.read(&mut nand, LogicalPage(0), pages, Purpose::Host, Time::ZERO, &mut sink).unwrap();
    assert_eq!(wrong, []);
    ftl.close(&mut nand, Time::ZERO).unwrap();
    nand.close().unwrap();
}

#[test]
fn a_drive_of_page_that_was_written_then_comes_up() {
    comes_up("page", 32);
}

#[test]
fn a_drive_of_geckoftl_that_was_written_then_comes_up() {
    comes_up("geckoftl", 256);
}

#[test]
fn a_census_of_it_counts_the_runs_that_the_ftl_has() {
    let mut nand = opened(golden("geckoftl", || drive("geckoftl", 256)));
    let (ftl, _) = nand.recover().unwrap();
    let census = nand.census().unwrap();
    let counter = |name: &str| ftl.counters().into_iter().find(|c| c.name == name).unwrap().value;
    assert!(counter("gecko_runs") > 0);
    assert_eq!(census.gecko_runs.len() as u64, counter("gecko_runs"));
    let pages: u64 = census.gecko_runs.iter().map(|run| u64::from(run.pages)).sum();
    assert_eq!(pages, counter("gecko_pages"));
    let blocks: u32 = census.blocks.iter().map(|of| of.blocks).sum();
    assert_eq!(blocks + census.blank_blocks, 256);
    assert!(
        census.wear.max > 0 && census.wear.total == u64::from((0..256).map(|b| nand.erases_of(Block(b))).sum::<u32>())
    );
    let mut damage = Vec::new();
    nand.damage(|line| damage.push(line));
    assert_eq!(damage, Vec::<String>::new());
}
