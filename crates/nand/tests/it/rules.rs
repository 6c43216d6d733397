//! The rules of the `Nand` trait, one by one, as the simulated chip set keeps them.

use crate::common::{PAGES, Seen, chips, everything, host, page, see, shape, spare_of, times, write};
use phelsuma_nand::sim::SimConfig;
use phelsuma_nand::{Block, Content, EraseError, Nand, Page, PageRead, ProgramError, SimNand, SpareRead};

/// Does something that must be refused, and compares the flash before with the flash after.
fn refused<E: PartialEq + std::fmt::Debug>(
    nand: &mut SimNand,
    expected: E,
    run: impl FnOnce(&mut SimNand) -> Option<E>,
) {
    let before = everything(nand);
    let stats = *nand.stats();
    assert_eq!(run(nand), Some(expected));
    assert_eq!(everything(nand), before, "a refused operation has changed the flash");
    assert_eq!(*nand.stats(), stats, "a refused operation was counted");
}

#[test]
fn a_page_is_programmed_once_after_each_erase() {
    let mut nand = chips();
    write(&mut nand, 1, 0, 11).unwrap();
    write(&mut nand, 1, 1, 12).unwrap();
    for index in 0..2 {
        let at = page(&nand, 1, index);
        refused(&mut nand, ProgramError::NotErased(at), |n| write(n, 1, index, 13).err());
    }
    nand.erase(Block(1), host()).unwrap();
    write(&mut nand, 1, 0, 14).unwrap();
    let first = page(&nand, 1, 0);
    assert!(matches!(see(&mut nand, first), Seen::Hollow(14, _)));
}

#[test]
fn pages_left_out_stay_blank_and_are_never_filled_until_the_erase() {
    let mut nand = chips();
    write(&mut nand, 2, 0, 1).unwrap();
    write(&mut nand, 2, 5, 2).unwrap();
    for index in 1..5 {
        let at = page(&nand, 2, index);
        assert_eq!(see(&mut nand, at), Seen::Erased);
        assert_eq!(nand.read_spare(at, host()).0, SpareRead::Erased);
        refused(&mut nand, ProgramError::OutOfOrder(at), |n| write(n, 2, index, 3).err());
    }
    write(&mut nand, 2, 7, 4).unwrap();
    let six = page(&nand, 2, 6);
    refused(&mut nand, ProgramError::OutOfOrder(six), |n| write(n, 2, 6, 3).err());
    nand.erase(Block(2), host()).unwrap();
    for index in 0..PAGES {
        write(&mut nand, 2, index, 5).unwrap();
    }
}

#[test]
fn a_block_may_begin_with_any_page() {
    let mut nand = chips();
    write(&mut nand, 0, 6, 9).unwrap();
    let before = page(&nand, 0, 5);
    refused(&mut nand, ProgramError::OutOfOrder(before), |n| write(n, 0, 5, 1).err());
    assert!(matches!(see(&mut nand, page(&chips(), 0, 6)), Seen::Hollow(9, _)));
}

#[test]
fn a_page_that_is_not_on_the_chip_is_refused_and_reads_as_unreadable() {
    let mut nand = chips();
    for beyond in [Page(4 * PAGES), Page(u32::MAX), Page(1 << 20)] {
        let content = Content::Hollow(1);
        refused(&mut nand, ProgramError::NoSuchPage(beyond), |n| {
            n.program(beyond, content, &spare_of(content, 0, 1), host()).err()
        });
        assert_eq!(nand.read(beyond, host()).0, PageRead::Unreadable);
        assert_eq!(nand.read_spare(beyond, host()).0, SpareRead::Unreadable);
    }
    refused(&mut nand, EraseError::NoSuchBlock(Block(4)), |n| n.erase(Block(4), host()).err());
    refused(&mut nand, EraseError::NoSuchBlock(Block(u32::MAX)), |n| n.erase(Block(u32::MAX), host()).err());
    assert_eq!(nand.stats().total().reads, 0, "what is not there is not read");
}

#[test]
fn numbers_between_the_blocks_name_no_page() {
    let geometry = phelsuma_nand::Geometry::new(512, 5, 4, 1, 1).unwrap();
    let mut nand = SimNand::new(&SimConfig::new(geometry, times()));
    let between = Page(geometry.page(Block(1), 4).0 + 1);
    let content = Content::Hollow(0);
    let spare = spare_of(content, 0, 1);
    assert_eq!(nand.program(between, content, &spare, host()), Err(ProgramError::NoSuchPage(between)));
    assert_eq!(nand.read(between, host()).0, PageRead::Unreadable);
}

#[test]
fn data_are_exactly_a_page_long() {
    let mut nand = chips();
    let to = page(&nand, 0, 0);
    for given in [0, 1, 511, 513, 1024] {
        let bytes = vec![7; given];
        refused(&mut nand, ProgramError::Length { given, page: 512 }, |n| {
            let content = Content::Bytes(&bytes);
            n.program(to, content, &spare_of(content, 0, 1), host()).err()
        });
    }
}

#[test]
fn data_and_spare_area_come_back_as_they_were_written_until_the_erase() {
    let mut nand = chips();
    let bytes: Vec<u8> = (0..512u32).map(|n| (n * 7) as u8).collect();
    let content = Content::Bytes(&bytes);
    let spare = phelsuma_nand::Spare { aux: 77, stream: 3, ..spare_of(content, 9, 1 << 40) };
    let to = page(&nand, 3, 0);
    nand.program(to, content, &spare, host()).unwrap();
    for _ in 0..3 {
        assert_eq!(see(&mut nand, to), Seen::Bytes(bytes.clone(), spare));
        assert_eq!(nand.read_spare(to, host()).0, SpareRead::Written(spare));
        assert_eq!(nand.read(to, host()).0.verified(), Some((Content::Bytes(&bytes), spare)));
        nand.power_cycle();
    }
    nand.erase(Block(3), host()).unwrap();
    assert_eq!(see(&mut nand, to), Seen::Erased);
}

#[test]
fn reads_change_nothing() {
    let mut nand = chips();
    for index in [0, 1, 4] {
        write(&mut nand, 1, index, 5).unwrap();
    }
    let before = everything(&nand);
    for block in 0..4 {
        for index in 0..PAGES {
            let at = page(&nand, block, index);
            see(&mut nand, at);
            let _ = nand.read_spare(at, host());
        }
    }
    assert_eq!(everything(&nand), before);
}

#[test]
fn a_bad_block_stays_bad_and_readable_over_every_power_cut() {
    let mut nand = chips();
    write(&mut nand, 1, 0, 8).unwrap();
    nand.mark_bad(Block(1));
    for _ in 0..3 {
        assert!(nand.is_bad(Block(1)));
        refused(&mut nand, ProgramError::Bad(Block(1)), |n| write(n, 1, 1, 1).err());
        refused(&mut nand, EraseError::Bad(Block(1)), |n| n.erase(Block(1), host()).err());
        let first = page(&nand, 1, 0);
        assert!(matches!(see(&mut nand, first), Seen::Hollow(8, _)));
        let before = everything(&nand);
        nand.mark_bad(Block(1));
        assert_eq!(everything(&nand), before, "bad is bad already");
        nand.power_cycle();
    }
    assert!(!nand.is_bad(Block(0)));
    assert!(nand.is_bad(Block(99)), "a block that is not there is no good one");
}

#[test]
fn a_block_endures_its_cycles_and_not_one_more() {
    let config = SimConfig { tagged: true, cycles_max: Some(3), ..SimConfig::new(shape(1, 1), times()) };
    let mut nand = SimNand::new(&config);
    for cycle in 0..3 {
        nand.erase(Block(2), host()).unwrap();
        write(&mut nand, 2, 0, cycle).unwrap();
    }
    assert_eq!(nand.erases_of(Block(2)), 3);
    for _ in 0..2 {
        assert_eq!(nand.erase(Block(2), host()), Err(EraseError::Failed(Block(2))));
    }
    let first = page(&nand, 2, 0);
    assert!(matches!(see(&mut nand, first), Seen::Hollow(2, _)), "the failed erase took the data along");
    assert_eq!(nand.erases_of(Block(2)), 3, "a failed erase is no cycle");
    nand.erase(Block(1), host()).unwrap();
}

#[test]
fn a_block_that_grew_bad_fails_its_programs_and_keeps_the_rest_readable() {
    let mut nand = chips();
    write(&mut nand, 1, 0, 1).unwrap();
    nand.break_at_program(Block(1));
    let at = page(&nand, 1, 1);
    assert_eq!(write(&mut nand, 1, 1, 2), Err(ProgramError::Failed(at)));
    assert!(matches!(see(&mut nand, at), Seen::Hollow(2, _)), "it may leave anything: in odd blocks, what it was");
    let first = page(&nand, 1, 0);
    assert!(matches!(see(&mut nand, first), Seen::Hollow(1, _)));
    assert!(!nand.is_bad(Block(1)), "only mark_bad makes a block bad");
    nand.erase(Block(1), host()).unwrap();
    assert_eq!(write(&mut nand, 1, 0, 2), Err(ProgramError::Failed(first)), "it stays grown bad");
    assert_eq!(nand.stats().total().programs, 3, "a failed program takes its time and counts");
}

#[test]
fn a_failed_program_far_into_a_block_leaves_out_what_is_before_it() {
    let mut nand = chips();
    nand.break_at_program(Block(0));
    let (three, one) = (page(&nand, 0, 3), page(&nand, 0, 1));
    assert_eq!(write(&mut nand, 0, 3, 2), Err(ProgramError::Failed(three)));
    assert_eq!(see(&mut nand, three), Seen::Unreadable, "in even blocks, nothing");
    assert_eq!(see(&mut nand, one), Seen::Erased);
}

#[test]
fn a_block_that_grew_bad_fails_its_erases_and_keeps_its_data() {
    let mut nand = chips();
    write(&mut nand, 1, 0, 1).unwrap();
    nand.break_at_erase(Block(1));
    let before = everything(&nand);
    for _ in 0..2 {
        assert_eq!(nand.erase(Block(1), host()), Err(EraseError::Failed(Block(1))));
    }
    assert_eq!(everything(&nand), before);
    write(&mut nand, 1, 1, 2).unwrap();
}

#[test]
fn a_chip_without_tags_keeps_them_all_the_same() {
    let mut nand = SimNand::new(&SimConfig::new(shape(1, 1), times()));
    for index in 0..PAGES {
        write(&mut nand, 0, index, u64::from(index % 3)).unwrap();
    }
    for index in 0..PAGES {
        let at = page(&nand, 0, index);
        assert!(matches!(see(&mut nand, at), Seen::Hollow(tag, _) if tag == u64::from(index % 3)), "page {index}");
    }
}

#[test]
fn copies_go_their_own_ways() {
    let mut nand = chips();
    let bytes = [3; 512];
    let content = Content::Bytes(&bytes);
    let to = page(&nand, 0, 0);
    nand.program(to, content, &spare_of(content, 1, 1), host()).unwrap();
    let before = everything(&nand);
    let mut copy = nand.clone();
    assert_eq!(everything(&copy), before);
    copy.erase(Block(0), host()).unwrap();
    write(&mut copy, 0, 0, 9).unwrap();
    assert_eq!(everything(&nand), before, "the copy's erase has reached the original");
    nand.erase(Block(0), host()).unwrap();
    assert!(matches!(see(&mut copy, to), Seen::Hollow(9, _)));
}
