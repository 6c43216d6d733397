//! How fast a drive in an image is, and how often it needs an `fdatasync`: fills a drive, then writes it over at
//! random.
//!
//! `cargo bench -p phelsuma-serve --bench image_speed -- FOLDER [FTL [MIB [flush|process [FLUSH_EACH]]]]`

#![allow(clippy::unwrap_used, missing_docs)]

use phelsuma_ftl::{Config, Ftl, Hint, HostData, HostPage, Preset, WriteRequest};
use phelsuma_nand::{Geometry, LogicalPage, Nand, Op, Purpose, Time};
use phelsuma_serve::image::{CreateOptions, Durability, ImageNand};
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::path::PathBuf;
use std::time::Instant;

const PAGE: u32 = 4096;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let word = |n: usize, otherwise: &str| words.get(n).cloned().unwrap_or_else(|| otherwise.to_string());
    let path = PathBuf::from(word(0, "/tmp")).join("image_speed.img");
    let preset = Preset::named(&word(1, "page")).unwrap();
    let logical_pages: u32 = word(2, "512").parse::<u32>().unwrap() * 256;
    let durability = if word(3, "flush") == "process" { Durability::Process } else { Durability::Flush };
    let flush_each: u64 = word(4, "0").parse().unwrap();

    let blocks = (f64::from(logical_pages) / 0.70 / 128.0).ceil() as u64;
    let geometry = Geometry::new(PAGE, 128, blocks, 1, 1).unwrap();
    let config = Config::new(preset.name, preset.composition, logical_pages, 1);
    let _ = std::fs::remove_file(&path);
    let options = CreateOptions { spare_slots: None, durability };
    let mut nand = ImageNand::create(&path, &geometry, &config, &options).unwrap();
    let (mut ftl, _) = nand.format().unwrap();
    let memory = nand.heap_bytes();
    println!("{} pages of flash, {} spare slots, {memory} bytes of memory", geometry.pages(), nand.spare_slots());

    let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
    let mut page = vec![0; PAGE as usize];
    rng.fill_bytes(&mut page);
    let mut write = |nand: &mut ImageNand, ftl: &mut Box<dyn Ftl<ImageNand>>, first: u32, n: u64| {
        page[..8].copy_from_slice(&n.to_le_bytes());
        let request =
            WriteRequest { first: LogicalPage(first), pages: 1, data: HostData::Bytes(&page), hint: Hint::None };
        ftl.write(nand, &request, Time::ZERO).unwrap();
        if flush_each > 0 && n.is_multiple_of(flush_each) {
            ftl.flush(nand, Time::ZERO).unwrap();
            nand.sync().unwrap();
        }
    };
    for first in 0..logical_pages {
        write(&mut nand, &mut ftl, first, 1);
    }
    // Until it is as full as it will be.
    for n in 0..u64::from(logical_pages) {
        let first = (rng.next_u64() % u64::from(logical_pages)) as u32;
        write(&mut nand, &mut ftl, first, n + 1);
    }
    let (stats, file, begin) = (*nand.stats(), nand.file_counts(), Instant::now());
    for n in 0..u64::from(logical_pages) {
        let first = (rng.next_u64() % u64::from(logical_pages)) as u32;
        write(&mut nand, &mut ftl, first, n + 1);
    }
    let seconds = begin.elapsed().as_secs_f64();
    let (done, now) = (nand.stats().since(&stats).total(), nand.file_counts());
    let pages = f64::from(logical_pages);
    let per = |n: u64| n as f64 / pages;
    println!("random writes: {:.0} host pages/s, WA {:.3}", pages / seconds, per(done.programs));
    println!(
        "  a host page: {:.3} writes of the file ({:.3} a program), {:.3} reads, {:.6} fdatasyncs, {:.6} of them for slots",
        per(now.writes - file.writes),
        (now.writes - file.writes) as f64 / done.programs as f64,
        per(now.reads - file.reads),
        per(now.syncs - file.syncs),
        per(now.syncs_for_slots - file.syncs_for_slots)
    );

    let begin = Instant::now();
    let mut sink = |_: LogicalPage, data: HostPage<'_>| assert!(!matches!(data, HostPage::Unreadable));
    let before = nand.file_counts().reads;
    for _ in 0..logical_pages {
        let first = LogicalPage((rng.next_u64() % u64::from(logical_pages)) as u32);
        ftl.read(&mut nand, first, 1, Purpose::Host, Time::ZERO, &mut sink).unwrap();
    }
    let seconds = begin.elapsed().as_secs_f64();
    println!(
        "random reads: {:.0} host pages/s, {:.3} reads of the file each",
        pages / seconds,
        per(nand.file_counts().reads - before)
    );

    let begin = Instant::now();
    let op = Op::new(Time::ZERO, Purpose::Recovery);
    for block in (0..geometry.blocks()).map(phelsuma_nand::Block) {
        for index in 0..128 {
            nand.read_spare(geometry.page(block, index), op);
        }
    }
    println!("spare areas in order: {:.0} a second", geometry.pages() as f64 / begin.elapsed().as_secs_f64());

    // As a process that dies leaves it.
    drop(ftl);
    drop(nand.into_storage());
    for what in ["an unclean end", "a close"] {
        let begin = Instant::now();
        let mut nand = ImageNand::open(&path, durability).unwrap();
        let opened = begin.elapsed().as_secs_f64();
        let (mut ftl, _) = nand.recover().unwrap();
        let recovered = begin.elapsed().as_secs_f64() - opened;
        println!("after {what}: opened in {opened:.3} s, recovered in {recovered:.3} s, {:?}", nand.rolled_back());
        ftl.close(&mut nand, Time::ZERO).unwrap();
        nand.close().unwrap();
    }
    std::fs::remove_file(&path).unwrap();
}
