//! Recovery of flash that has no drive, half a drive, or a drive of another FTL.

use crate::common::{Host, Plug, Step, chips, config, plugged, small, surviving, with_metadata};
use phelsuma_ftl::{Config, FtlError, format, recover};
use phelsuma_nand::sim::{Decay, ProgramFault};
use phelsuma_nand::{Block, Content, Geometry, Kind, Nand, Op, PageRead, Purpose, SimNand, Spare, Time};

fn op() -> Op {
    Op::new(Time::ZERO, Purpose::Format)
}

fn error_of(nand: &mut SimNand, config: &Config) -> FtlError {
    nand.power_cycle();
    match recover(&mut Plug::from(nand.clone()), config, Time::ZERO) {
        Err(error) => error,
        Ok(_) => panic!("it recovered"),
    }
}

/// A formatted drive with some data on it.
fn drive(preset: &str, geometry: Geometry) -> SimNand {
    let mut host = Host::new(chips(geometry), config(preset, 300), 1);
    host.write(0, 100, false).unwrap();
    host.plug.copy()
}

/// What stands in the first page of a block.
fn description(nand: &mut SimNand, block: Block) -> (Vec<u8>, Spare) {
    let page = nand.geometry().page(block, 0);
    match nand.read(page, op()).0 {
        PageRead::Written { content: Content::Bytes(bytes), spare, .. } => (bytes.to_vec(), spare),
        other => panic!("{other:?}"),
    }
}

#[test]
fn flash_that_was_never_written_is_blank() {
    for preset in surviving() {
        let mut nand = chips(small(32, 40, 1, 1));
        assert_eq!(error_of(&mut nand, &config(preset.name, 300)), FtlError::Blank);
        nand.mark_bad(Block(0));
        assert_eq!(error_of(&mut nand, &config(preset.name, 300)), FtlError::Blank);
    }
}

#[test]
fn flash_with_data_and_neither_copy_of_the_description_is_lost() {
    for preset in surviving() {
        let geometry = small(32, 64, 1, 1);
        let config = config(preset.name, 300);
        for flip in [false, true] {
            let mut nand = drive(preset.name, geometry);
            let destroy = |nand: &mut SimNand, block| {
                if flip {
                    nand.decay(geometry.page(block, 0), Decay::Data(99));
                } else {
                    nand.erase(block, op()).unwrap();
                }
            };
            for block in [Block(0), Block(1)] {
                destroy(&mut nand, block);
                let mut plug = Plug::from(nand);
                plug.sim().power_cycle();
                assert!(
                    recover(&mut plug, &config, Time::ZERO).is_ok(),
                    "one copy is enough, and makes the other anew"
                );
                nand = plug.copy();
            }
            destroy(&mut nand, Block(0));
            destroy(&mut nand, Block(1));
            assert_eq!(error_of(&mut nand, &config), FtlError::Lost);
        }
    }
}

#[test]
fn a_single_page_of_data_tells_lost_flash_from_blank() {
    let geometry = small(32, 40, 1, 1);
    let mut nand = chips(geometry);
    let content = Content::Hollow(5);
    let spare = Spare { kind: Kind::User, stream: 0, key: 1, version: 1, seq: 1, data_crc: content.crc(), aux: 0 };
    nand.program(geometry.page(Block(39), 31), content, &spare, op()).unwrap();
    assert_eq!(error_of(&mut nand, &config("page", 300)), FtlError::Lost);
}

/// What can become of a copy of the description.
#[derive(Clone, Copy, Debug)]
enum Damage {
    Decays(Decay),
    Erased,
}

const DAMAGES: [Damage; 4] = [
    Damage::Decays(Decay::Uncorrectable),
    Damage::Decays(Decay::Spare(40)),
    Damage::Decays(Decay::Data(99)),
    Damage::Erased,
];

fn damage(nand: &mut SimNand, copy: u32, damage: Damage) {
    match damage {
        Damage::Decays(decay) => nand.decay(nand.geometry().page(Block(copy), 0), decay),
        Damage::Erased => nand.erase(Block(copy), op()).map(|_| ()).unwrap(),
    }
}

/// Whoever formats a blank drive must never format this one over.
#[test]
fn a_drive_that_ever_acknowledged_data_is_lost_and_not_blank() {
    for preset in surviving() {
        let geometry = with_metadata(preset.name, small(32, 64, 1, 1));
        let config = config(preset.name, 300);
        for trims in [false, true] {
            let mut host = Host::new(chips(geometry), config.clone(), 1);
            host.write(7, 1, false).unwrap();
            if trims {
                host.trim(7, 1).unwrap();
                host.flush().unwrap();
            }
            for first in DAMAGES {
                for second in DAMAGES {
                    let mut nand = host.plug.copy();
                    damage(&mut nand, 0, first);
                    damage(&mut nand, 1, second);
                    let error = error_of(&mut nand, &config);
                    assert_eq!(error, FtlError::Lost, "{}: {first:?}, {second:?}", preset.name);
                }
            }
        }
    }
}

#[test]
fn a_drive_that_never_had_data_is_blank_without_its_description() {
    let geometry = small(32, 40, 1, 1);
    for first in DAMAGES {
        for second in DAMAGES {
            let mut there = plugged(geometry);
            format(&mut there, &config("page", 300), Time::ZERO).unwrap();
            let mut nand = there.copy();
            damage(&mut nand, 0, first);
            damage(&mut nand, 1, second);
            assert_eq!(error_of(&mut nand, &config("page", 300)), FtlError::Blank, "{first:?}, {second:?}");
            // What stands elsewhere in a copy's block is no description.
            nand.power_cycle();
            let content = Content::Hollow(5);
            let spare = Spare { kind: Kind::Anchor, stream: 0, key: 0, version: 0, seq: 0, data_crc: 1, aux: 0 };
            nand.program(geometry.page(Block(1), 1), content, &spare, op()).unwrap();
            assert_eq!(error_of(&mut nand, &config("page", 300)), FtlError::Lost, "{first:?}, {second:?}");
        }
    }
}

#[test]
fn the_description_may_stand_behind_bad_blocks() {
    let geometry = small(32, 40, 1, 1);
    let mut nand = chips(geometry);
    for bad in [0, 1, 2, 4] {
        nand.mark_bad(Block(bad));
    }
    let mut host = Host::new(nand, config("page", 300), 1);
    host.overwrite().unwrap();
    host.step(&Step::Cut).unwrap();
    host.compare_all();
    let (bytes, _) = description(host.plug.sim(), Block(3));
    assert_eq!(&bytes[..8], b"PHELSUMA");
    assert_eq!(description(host.plug.sim(), Block(5)).0, bytes);
}

/// A drive of another shape cannot be put into this geometry's chips: its description is written there by hand.
#[test]
fn a_drive_of_another_shape_or_ftl_is_told_by_what_differs() {
    let here = Geometry::new(512, 32, 40, 2, 1).unwrap();
    let others: [(Geometry, Config, &str, &str, &str); 7] = [
        (Geometry::new(1024, 32, 40, 2, 1).unwrap(), config("page", 60), "page bytes", "1024", "512"),
        (Geometry::new(512, 64, 40, 2, 1).unwrap(), config("page", 60), "pages per block", "64", "32"),
        (Geometry::new(512, 32, 41, 2, 1).unwrap(), config("page", 60), "blocks", "41", "40"),
        (Geometry::new(512, 32, 40, 1, 1).unwrap(), config("page", 60), "channels", "1", "2"),
        (Geometry::new(512, 32, 40, 2, 2).unwrap(), config("page", 60), "dies per channel", "2", "1"),
        (here, config("page", 59), "logical pages", "59", "60"),
        (here, config("fifo", 60), "the FTL", "fifo", "page"),
    ];
    for (geometry, other, what, found, expected) in others {
        let mut there = plugged(geometry);
        format(&mut there, &other, Time::ZERO).unwrap();
        let (mut bytes, spare) = description(there.sim(), Block(0));
        bytes.resize(512, 0);
        let content = Content::Bytes(&bytes);
        let mut nand = chips(here);
        for block in 0..2 {
            let spare = Spare { key: block, data_crc: content.crc(), ..spare };
            nand.program(here.page(Block(block), 0), content, &spare, op()).unwrap();
        }
        match error_of(&mut nand, &config("page", 60)) {
            FtlError::OtherDrive { what: w, found: f, expected: e } => {
                assert_eq!((w, f.as_str(), e.as_str()), (what, found, expected));
            }
            other => panic!("{what}: {other}"),
        }
    }
}

#[test]
fn a_description_of_a_later_layout_or_of_other_structures_is_told() {
    let geometry = small(32, 40, 1, 1);
    for (at, byte, told) in [(8, 2, "layout"), (68, b'x', "structures")] {
        let mut there = drive("page", geometry);
        let (mut bytes, spare) = description(&mut there, Block(0));
        bytes[at] = byte;
        let content = Content::Bytes(&bytes);
        let mut nand = chips(geometry);
        for block in 0..2 {
            let spare = Spare { key: block, data_crc: content.crc(), ..spare };
            nand.program(geometry.page(Block(block), 0), content, &spare, op()).unwrap();
        }
        match error_of(&mut nand, &config("page", 300)) {
            FtlError::OtherDrive { what, .. } => assert_eq!(what, told),
            other => panic!("{told}: {other}"),
        }
    }
}

#[test]
fn every_preset_refuses_every_other_ones_drive_and_leaves_it_alone() {
    let geometry = small(32, 64, 1, 1);
    for preset in surviving() {
        let nand = drive(preset.name, geometry);
        for other in surviving() {
            let mut copy = Plug::from(nand.clone());
            copy.sim().power_cycle();
            let result = recover(&mut copy, &config(other.name, 300), Time::ZERO);
            if other.name == preset.name {
                assert!(result.is_ok());
            } else {
                assert!(matches!(result, Err(FtlError::OtherDrive { what: "the FTL", .. })));
                assert_eq!(copy.stats().total().programs, nand.stats().total().programs);
                assert_eq!(copy.stats().total().erases, nand.stats().total().erases);
            }
        }
    }
}

#[test]
fn a_format_wipes_a_drive_that_was_there() {
    let geometry = small(32, 40, 1, 1);
    let mut plug = Plug::from(drive("fifo", geometry));
    format(&mut plug, &config("page", 250), Time::ZERO).unwrap();
    let mut host = Host::new(plug.copy(), config("page", 250), 1);
    host.step(&Step::Cut).unwrap();
    assert!(host.read(0, 250).iter().all(|tag| *tag == 0));
}

#[test]
fn a_format_cut_anywhere_leaves_a_drive_that_can_be_formatted() {
    let geometry = small(32, 40, 1, 1);
    let config = config("page", 300);
    for seed in 0..8 {
        for operations in 0..44 {
            let mut plug = Plug::new(drive("page", geometry), seed);
            plug.arm(operations);
            assert!(format(&mut plug, &config, Time::ZERO).is_err());
            plug.restore();
            // Before it is complete, the drive is blank, lost, or there: never anything else. It is blank only where
            // no page of the old data can be read any more.
            match recover(&mut plug, &config, Time::ZERO) {
                Ok(_) | Err(FtlError::Lost) => {}
                Err(FtlError::Blank) => assert!(plug.pages_of(Kind::User).is_empty(), "after {operations} operations"),
                Err(error) => panic!("after {operations} operations: {error}"),
            }
            let (mut ftl, at) = format(&mut plug, &config, Time::ZERO).unwrap();
            assert!(ftl.check(&mut plug).is_empty());
            let done = ftl.flush(&mut plug, at).unwrap();
            plug.pull(done);
            plug.restore();
            assert!(recover(&mut plug, &config, Time::ZERO).is_ok());
        }
    }
}

#[test]
fn a_drive_that_came_up_once_comes_up_again_however_its_format_was_cut() {
    let geometry = small(32, 40, 1, 1);
    for fault in ProgramFault::ALL {
        for operations in 40..44 {
            let mut plug = Plug::new(chips(geometry), 1);
            plug.program_faults = vec![*fault];
            let config = config("page", 300);
            plug.arm(operations);
            assert!(format(&mut plug, &config, Time::ZERO).is_err());
            plug.restore();
            let first = recover(&mut plug, &config, Time::ZERO).map(|(_, report)| report.done);
            if let Ok(done) = first {
                plug.pull(done);
                plug.restore();
                let again = recover(&mut plug, &config, Time::ZERO).map(|_| ());
                assert_eq!(again, Ok(()), "{} at operation {operations}", fault.name());
            }
        }
    }
}

/// A first format, cut while it writes either copy, by every fault. What a driver does then: it formats what is blank.
#[test]
fn a_first_format_that_is_cut_while_it_writes_leaves_a_drive_that_is_blank_or_there() {
    let geometry = small(32, 40, 1, 1);
    let mut blank = 0;
    for preset in ["page", "geckoftl", "mu-ftl", "fast", "ftl-mm:fast"] {
        let geometry = with_metadata(preset, geometry);
        // All blocks are erased, then each copy's block once more before the copy is written.
        let first = u64::from(geometry.blocks()) + 1;
        let config = config(preset, 300);
        for (fault, operations) in ProgramFault::ALL.iter().flat_map(|fault| [(fault, first), (fault, first + 2)]) {
            let mut plug = Plug::new(chips(geometry), 1);
            plug.program_faults = vec![*fault];
            let what = format!("{preset}: {} at operation {operations}", fault.name());
            plug.arm(operations);
            assert!(format(&mut plug, &config, Time::ZERO).is_err(), "{what}");
            plug.restore();
            // The recovery may be cut as well, where it writes a copy again.
            for again in 0..3 {
                let mut plug = plug.fork(again);
                plug.program_faults = vec![*fault];
                if again > 0 {
                    plug.arm(again - 1);
                }
                let mut mounted = recover(&mut plug, &config, Time::ZERO).map(|_| ());
                if plug.cut_at().is_some() {
                    plug.restore();
                    mounted = recover(&mut plug, &config, Time::ZERO).map(|_| ());
                }
                if mounted == Err(FtlError::Blank) {
                    blank += 1;
                    plug.disarm();
                    mounted = format(&mut plug, &config, Time::ZERO).map(|_| ());
                }
                assert_eq!(mounted, Ok(()), "{what}");
            }
        }
    }
    assert!(blank > 20, "{blank} drives were blank");
}
