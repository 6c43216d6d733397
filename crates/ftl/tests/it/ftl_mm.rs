//! FTL-MM: where the pages of a request go, what they cost, and that channels have nothing to do with each other.

use crate::common::{Host, Plug, Step, below, chips, config, most_pages, plugged, small};
use phelsuma_ftl::{Config, FtlError, Hint, HostData, HostPage, PRESETS, WriteRequest, format, recover};
use phelsuma_nand::sim::SimConfig;
use phelsuma_nand::{Block, Content, Kind, LogicalPage, Nand, Op, Purpose, SimNand, SpareRead, Time, Timing};
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

/// The presets, each with what an instance of it is.
fn presets() -> impl Iterator<Item = (&'static str, &'static str)> {
    PRESETS.iter().filter_map(|preset| Some((preset.name, preset.name.strip_prefix("ftl-mm:")?)))
}

fn request(first: u32, pages: u32, data: HostData<'_>) -> WriteRequest<'_> {
    WriteRequest { first: LogicalPage(first), pages, data, hint: Hint::None }
}

/// Every user page on flash: its block, its key, its content.
fn user_pages(nand: &mut Plug) -> Vec<(Block, u32, u64)> {
    let geometry = *nand.geometry();
    let op = Op::new(Time::ZERO, Purpose::Recovery);
    let mut found = Vec::new();
    for block in (0..geometry.blocks()).map(Block) {
        for index in 0..geometry.pages_per_block() {
            let page = geometry.page(block, index);
            if let SpareRead::Written(spare) = nand.read_spare(page, op).0
                && spare.kind == Kind::User
                && let Some((Content::Hollow(tag), _)) = nand.read(page, op).0.verified()
            {
                found.push((block, spare.key, tag));
            }
        }
    }
    found
}

#[test]
fn the_presets_are_those_of_single_channel_hybrids() {
    let names: Vec<_> = presets().collect();
    let each = ["block", "bast", "fast", "superblock"].map(|of| (format!("ftl-mm:{of}"), of));
    assert!(each.iter().map(|(name, of)| (name.as_str(), *of)).eq(names));
}

#[test]
fn logical_page_l_is_on_channel_l_mod_channels() {
    // 67 blocks: channels 0 to 2 have 17 and channel 3 has 16.
    for (geometry, (ftl, _)) in [small(8, 128, 4, 1), small(8, 131, 4, 1), small(16, 96, 3, 2)]
        .into_iter()
        .flat_map(|geometry| presets().map(move |of| (geometry, of)))
    {
        let pages = most_pages(ftl, geometry).min(200);
        let mut nand = plugged(geometry);
        let (mut drive, mut at) = format(&mut nand, &config(ftl, pages), Time::ZERO).unwrap();
        // Page 7 is not written. Tags are 1000 and the page.
        for (first, count) in [(0, 7), (8, 1), (9, pages - 9)] {
            let data = HostData::Numbered(1000 + u64::from(first));
            at = drive.write(&mut nand, &request(first, count, data), at).unwrap();
        }
        let mut seen = vec![false; pages as usize];
        for (block, key, tag) in user_pages(&mut nand) {
            // Where page 7 would be its instance may have put zeros, for blocks begin with their first page.
            if tag != 0 {
                assert_eq!(tag, 1000 + u64::from(key), "{ftl}");
                seen[key as usize] = true;
            }
            let channel = geometry.channel_of(geometry.die_of(block));
            assert_eq!(key % geometry.channels(), channel, "{ftl}: page {key} is in {block}");
        }
        let expected: Vec<bool> = (0..pages).map(|page| page != 7).collect();
        assert_eq!(seen, expected, "{ftl}");
    }
}

#[test]
fn each_page_of_a_request_gets_its_own_bytes_and_is_read_in_order() {
    for (ftl, _) in presets() {
        let mut nand = plugged(small(16, 96, 3, 1));
        let (mut drive, at) = format(&mut nand, &config(ftl, 200), Time::ZERO).unwrap();
        let byte_of = |page: u32| (page * 7 + 3) as u8;
        let bytes: Vec<u8> = (50..61).flat_map(|page| [byte_of(page); 512]).collect();
        drive.write(&mut nand, &request(50, 11, HostData::Bytes(&bytes)), at).unwrap();
        let mut expected = 48..63;
        let mut sink = |page: LogicalPage, data: HostPage<'_>| {
            assert_eq!(Some(page.0), expected.next());
            match data {
                HostPage::Zeros => assert!(!(50..61).contains(&page.0)),
                HostPage::Data(Content::Bytes(bytes)) => assert_eq!(bytes, [byte_of(page.0); 512]),
                other => panic!("{ftl}: {page} reads as {other:?}"),
            }
        };
        drive.read(&mut nand, LogicalPage(48), 15, Purpose::Host, at, &mut sink).unwrap();
        assert_eq!(expected.next(), None);
        for (first, pages) in [(200, 1), (199, 2), (u32::MAX, u32::MAX), (201, 0), (1, u32::MAX)] {
            let request = request(first, pages, HostData::Hollow(1));
            assert!(matches!(drive.write(&mut nand, &request, at), Err(FtlError::OutOfRange { .. })));
            assert!(matches!(drive.trim(&mut nand, request.first, pages, at), Err(FtlError::OutOfRange { .. })));
        }
        for nothing in [0, 199, 200] {
            assert_eq!(drive.write(&mut nand, &request(nothing, 0, HostData::Hollow(1)), at), Ok(at));
            assert_eq!(drive.trim(&mut nand, LogicalPage(nothing), 0, at), Ok(at));
        }
        let wrong = request(50, 11, HostData::Bytes(&bytes[512..]));
        assert!(matches!(drive.write(&mut nand, &wrong, at), Err(FtlError::Length { pages: 11, .. })));
    }
}

#[test]
fn a_trim_takes_the_pages_of_every_channel_and_no_others() {
    for (ftl, _) in presets() {
        let mut host = Host::new(chips(small(8, 160, 4, 1)), config(ftl, 300), 1);
        host.write(0, 300, false).unwrap();
        for (first, pages) in [(0, 1), (5, 2), (17, 3), (31, 4), (50, 5), (97, 41), (160, 64), (299, 1)] {
            host.trim(first, pages).unwrap();
            host.compare_all();
        }
        host.flush().unwrap();
        host.step(&Step::Cut).unwrap();
        host.compare_all();
        host.check();
    }
}

#[test]
fn a_request_takes_as_long_as_what_falls_to_one_channel() {
    // 1 ms a program; on four channels a request of eight pages is two programs long, one of nine three.
    let program = Timing::preset("gecko").unwrap().program_ns;
    for (ftl, of) in presets().filter(|(_, of)| *of != "block") {
        for (channels, pages, programs) in [(1, 8, 8), (4, 8, 2), (4, 9, 3), (4, 1, 1), (8, 8, 1), (8, 16, 2)] {
            let mut nand = plugged(small(32, 32 * u64::from(channels), channels, 1));
            let (mut drive, at) = format(&mut nand, &config(ftl, 300), Time::ZERO).unwrap();
            // The blocks that the next pages go to are begun.
            let at = drive.write(&mut nand, &request(0, 8 * channels, HostData::Hollow(1)), at).unwrap();
            let done = drive.write(&mut nand, &request(8 * channels, pages, HostData::Hollow(1)), at).unwrap();
            assert_eq!(done.0 - at.0, programs * program, "{of} on {channels} channels, {pages} pages");
        }
    }
}

#[test]
fn on_one_channel_it_is_the_ftl_that_it_is_made_of() {
    let geometry = small(8, 96, 1, 2);
    for (name, of) in presets() {
        // The drive's name is all that differs, so both have the same.
        let named = |preset: &str| Config { name: "same".into(), ..config(preset, 350) };
        let sim = || {
            let timing = Timing::preset("gecko").unwrap();
            Plug::from(SimNand::new(&SimConfig { tagged: true, fingerprint: true, ..SimConfig::new(geometry, timing) }))
        };
        let run = |config: &Config| {
            let mut nand = sim();
            let (mut drive, mut at) = format(&mut nand, config, Time::ZERO).unwrap();
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(5);
            let mut report = None;
            for n in 0..3_000 {
                match Step::by_chance(&mut rng, 350) {
                    Step::Write { first, pages, .. } => {
                        at = drive.write(&mut nand, &request(first, pages, HostData::Numbered(n)), at).unwrap();
                    }
                    Step::Trim { first, pages } => {
                        at = drive.trim(&mut nand, LogicalPage(first), pages, at).unwrap();
                    }
                    Step::Flush => at = drive.flush(&mut nand, at).unwrap(),
                    Step::Read { first, pages } => {
                        let mut sink = |_: LogicalPage, _: HostPage<'_>| {};
                        at = drive.read(&mut nand, LogicalPage(first), pages, Purpose::Host, at, &mut sink).unwrap();
                    }
                    Step::Wait | Step::Cut => {}
                }
                if n % 1_000 == 999 {
                    nand.sim().power_cycle();
                    let (again, recovered) = recover(&mut nand, config, at).unwrap();
                    (drive, at) = (again, recovered.done);
                    report = Some(recovered);
                }
            }
            assert!(drive.check(&mut nand).is_empty());
            let ram: Vec<_> = drive.ram().all().filter(|(name, _)| *name != "index.channels").collect();
            (nand.fingerprint(), at, *nand.stats(), report, drive.counters(), ram, drive.shape())
        };
        assert_eq!(run(&named(name)), run(&named(of)), "{name}");
        // So one mounts as the other.
        let mut nand = sim();
        format(&mut nand, &named(name), Time::ZERO).unwrap();
        assert!(recover(&mut nand, &named(of), Time::ZERO).is_ok());
    }
}

#[test]
fn on_several_channels_it_is_another_drive() {
    for (name, of) in presets() {
        let named = |preset: &str| Config { name: "same".into(), ..config(preset, 300) };
        let mut nand = plugged(small(16, 64, 2, 1));
        for (one, other) in [(name, of), (of, name)] {
            format(&mut nand, &named(one), Time::ZERO).unwrap();
            let refused = recover(&mut nand, &named(other), Time::ZERO).map(|_| ());
            assert!(matches!(refused, Err(FtlError::OtherDrive { what: "structures", .. })), "{refused:?}");
        }
    }
}

/// The power fails, if it has not yet, and is back.
fn off_and_on(host: &mut Host) {
    host.plug.disarm();
    if host.plug.cut_at().is_none() {
        host.plug.pull(host.at);
    }
    host.power_back();
    host.recover().unwrap();
}

/// Old and new pages of a request side by side, in any order.
#[test]
fn a_cut_in_the_middle_of_a_request_leaves_each_page_old_or_new() {
    for (ftl, of) in presets() {
        let mut mixed = 0;
        // Plain block mapping copies the pages in front of each.
        for operations in 0..if of == "block" { 40 } else { 14 } {
            for seed in 0..4 {
                let mut host = Host::new(chips(small(8, 128, 4, 1)), config(ftl, 200), seed);
                host.write(0, 200, false).unwrap();
                host.write(40, 12, false).unwrap();
                let old = host.read(40, 12);
                host.plug.arm(operations);
                let _ = host.write(40, 12, false);
                off_and_on(&mut host);
                // Each is as it was or as it was to be: the host has read which, and goes on with that.
                host.compare_all();
                let new: Vec<bool> = host.read(40, 12).iter().zip(&old).map(|(now, old)| now != old).collect();
                mixed += u32::from(new.windows(2).any(|pair| pair == [false, true]));
                host.check();
                host.overwrite().unwrap();
            }
        }
        // Channels are not in step: a later page may be there without an earlier one.
        assert!(mixed > 0, "{ftl}");
    }
}

#[test]
fn random_requests_and_cuts_on_drives_whose_blocks_do_not_divide_by_their_channels() {
    for (ftl, _) in presets() {
        for (geometry, seed) in [(small(8, 131, 3, 2), 1), (small(16, 77, 4, 1), 2)] {
            let pages = most_pages(ftl, geometry);
            let mut host = Host::new(chips(geometry), config(ftl, pages), seed);
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
            for round in 0..12 {
                if round % 3 == 2 {
                    host.plug.arm(below(&mut rng, 150));
                }
                for _ in 0..150 {
                    if host.step(&Step::by_chance(&mut rng, pages)).is_err() {
                        break;
                    }
                }
                off_and_on(&mut host);
                host.compare_all();
                host.check();
            }
            host.overwrite().unwrap();
            host.compare_all();
        }
    }
}

#[test]
fn what_fits_is_what_the_tightest_channel_bears() {
    for (ftl, _) in presets() {
        for (geometry, bad) in [
            (small(16, 96, 3, 1), vec![]),
            (small(16, 97, 3, 1), vec![]),
            (small(16, 98, 3, 1), vec![1, 4, 7]),
            (small(16, 96, 3, 1), vec![0, 1, 2, 3]),
        ] {
            let flash = || {
                let mut nand = chips(geometry);
                bad.iter().for_each(|block| nand.mark_bad(Block(*block)));
                Plug::from(nand)
            };
            let asked = |pages| format(&mut flash(), &config(ftl, pages), Time::ZERO).map(|_| ());
            let Err(FtlError::DoesNotFit { usable_pages, largest_ratio, logical_pages: u32::MAX, .. }) =
                asked(u32::MAX)
            else {
                panic!("{ftl}: four billion pages fit");
            };
            let most = usable_pages as u32;
            assert!(asked(most).is_ok(), "{ftl}: {most} pages do not fit {geometry:?}");
            assert!(matches!(asked(most + 1), Err(FtlError::DoesNotFit { .. })), "{ftl}, {geometry:?}");
            assert!(asked((largest_ratio * geometry.pages() as f64) as u32).is_ok());
            assert!(f64::from(most) / geometry.pages() as f64 - largest_ratio < 0.0001);
        }
        let refused = format(&mut plugged(small(16, 96, 3, 1)), &config(ftl, 2), Time::ZERO).map(|_| ());
        assert!(matches!(refused, Err(FtlError::Unsupported(_))), "{refused:?}");
        let refused = format(&mut plugged(small(16, 96, 3, 1)), &config(ftl, 0), Time::ZERO).map(|_| ());
        assert!(matches!(refused, Err(FtlError::DoesNotFit { .. })), "{refused:?}");
        let refused = format(&mut plugged(small(16, 15, 4, 1)), &config(ftl, 20), Time::ZERO).map(|_| ());
        assert!(matches!(refused, Err(FtlError::Unsupported(_))), "{refused:?}");
    }
}

/// Were each channel described by itself, some could be blank and others as they were.
#[test]
fn a_format_that_is_cut_never_leaves_half_a_drive() {
    let geometry = small(8, 64, 2, 1);
    let config = config("ftl-mm:fast", 120);
    let drive = || {
        let mut nand = plugged(geometry);
        let (mut ftl, at) = format(&mut nand, &config, Time::ZERO).unwrap();
        let at = ftl.write(&mut nand, &request(0, 120, HostData::Hollow(9)), at).unwrap();
        ftl.flush(&mut nand, at).unwrap();
        nand.copy()
    };
    let (mut came_up, mut refused) = (0, 0);
    for operations in 0..70 {
        let mut plug = Plug::new(drive(), operations);
        plug.arm(operations);
        if let Ok((_, done)) = format(&mut plug, &config, Time::ZERO) {
            plug.pull(done);
        }
        plug.restore();
        match recover(&mut plug, &config, Time::ZERO) {
            Ok((mut ftl, _)) => {
                came_up += 1;
                let mut written = 0;
                let mut sink = |_: LogicalPage, page: HostPage<'_>| written += u32::from(page != HostPage::Zeros);
                ftl.read(&mut plug, LogicalPage(0), 120, Purpose::Host, Time::ZERO, &mut sink).unwrap();
                assert!(written == 0 || written == 120, "after {operations} operations {written} pages are there");
            }
            Err(FtlError::Blank | FtlError::Lost) => refused += 1,
            Err(error) => panic!("after {operations} operations: {error}"),
        }
    }
    assert!(came_up > 0 && refused > 60, "{came_up} {refused}");
}

#[test]
fn findings_and_looks_have_the_drives_numbers() {
    for (ftl, of) in presets() {
        let geometry = small(8, 129, 4, 1);
        let mut host = Host::new(chips(geometry), config(ftl, 200), 3);
        host.write(0, 200, false).unwrap();
        host.write(0, 200, false).unwrap();
        // In pieces with any borders, looks are the same.
        let drive = host.ftl.as_ref().unwrap();
        let mut looks = vec![Default::default(); 129];
        assert!(drive.look_at_blocks(Block(0), &mut looks));
        for first in 0..129 {
            let mut piece = vec![Default::default(); 7];
            drive.look_at_blocks(Block(first), &mut piece);
            let there = piece.len().min(129 - first as usize);
            assert_eq!(piece[..there], looks[first as usize..first as usize + there]);
            assert!(piece[there..].iter().all(|look| *look == Default::default()));
        }
        // A map page whose spare area has gone bad: which it is, its drive says.
        let op = Op::new(Time::ZERO, Purpose::Recovery);
        let mut maps = Vec::new();
        for (block, look) in (0..).map(Block).zip(&looks).filter(|(_, look)| look.kind == Some(Kind::Map)) {
            let channel = geometry.channel_of(geometry.die_of(block));
            assert!(look.live_pages.is_some(), "{ftl}: {block}");
            for page in (0..8).map(|index| geometry.page(block, index)) {
                if let SpareRead::Written(spare) = host.plug.read_spare(page, op).0 {
                    assert_eq!(spare.key % 4, channel);
                    maps.push((page, channel));
                }
            }
        }
        assert!((0..4).all(|channel| maps.iter().any(|(_, of)| *of == channel)), "{ftl}: {maps:?}");
        if of == "superblock" {
            continue;
        }
        let mut told = 0;
        for (page, channel) in maps {
            host.plug.spoiled.insert(page);
            let found = host.ftl.as_mut().unwrap().check(&mut host.plug);
            host.plug.spoiled.clear();
            let lines: Vec<String> = found.iter().map(ToString::to_string).collect();
            // Only one that counts is missed.
            told += u32::from(lines.iter().any(|line| line.ends_with(&format!("of the map is not at {page}"))));
            assert!(lines.iter().all(|line| line.starts_with(&format!("channel {channel}: "))), "{ftl}: {lines:?}");
        }
        assert!(told >= 4, "{ftl}: {told}");
    }
}

/// An instance behaves on a drive of one channel's blocks alone as it does on this one.
#[test]
fn ledgers_and_counters_are_sums_by_name() {
    for (ftl, of) in presets() {
        let four = small(8, 256, 4, 1);
        let one = small(8, 64, 1, 1);
        let mut whole = Host::new(chips(four), config(ftl, 400), 1);
        let mut alone = Host::new(chips(one), config(of, 100), 1);
        for round in 0..6 {
            for page in 0..100 {
                let page = (page * 7 + round) % 100;
                whole.write(4 * page, 4, false).unwrap();
                alone.write(page, 1, false).unwrap();
            }
        }
        let counters = |host: &Host| {
            let all = host.ftl.as_ref().unwrap().counters();
            all.into_iter().map(|counter| (counter.name, counter.value)).collect::<Vec<_>>()
        };
        for ((name, sum), (same, value)) in counters(&whole).into_iter().zip(counters(&alone)) {
            assert_eq!(name, same);
            // Two channels have a block less each, which holds the description.
            let described = if name == "free_blocks" { 4 * 2 - 2 } else { 0 };
            assert_eq!(sum, 4 * value + described, "{ftl}: {name}");
        }
        let ram = |host: &Host| host.ftl.as_ref().unwrap().ram();
        assert_eq!(ram(&whole).papers_total(), 4 * ram(&alone).papers_total(), "{ftl}");
        let names = |host: &Host| ram(host).all().map(|(name, _)| name).collect::<Vec<_>>();
        assert_eq!(names(&whole), [names(&alone), vec!["index.channels"]].concat());
        let (all, each) = (whole.ftl.as_ref().unwrap().shape(), alone.ftl.as_ref().unwrap().shape());
        assert_eq!((all.reserve_blocks, all.open_blocks), (4 * each.reserve_blocks, 4 * each.open_blocks));
        assert_eq!((all.fixed_blocks, all.logical_pages), (2, 400));
    }
}
