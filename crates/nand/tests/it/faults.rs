//! What a power cut leaves of a program or an erase, fault by fault.

use crate::common::{PAGES, Seen, chips, everything, host, page, see, spare_of, write};
use phelsuma_nand::sim::{Decay, EraseFault, ProgramFault};
use phelsuma_nand::{Block, Content, EraseError, Nand, Page, PageRead, ProgramError, SimNand, Spare, SpareRead};
use std::collections::BTreeMap;

const BYTES: [u8; 512] = {
    let mut bytes = [0; 512];
    let mut n = 0;
    while n < 512 {
        bytes[n] = (n * 13 % 251) as u8;
        n += 1;
    }
    bytes
};

/// Hollow, tagged, bytes, and bytes that are almost blank.
fn contents() -> [Content<'static>; 6] {
    const ONES: [u8; 512] = [0xff; 512];
    const NEARLY: [u8; 512] = {
        let mut bytes = [0xff; 512];
        bytes[0] = 0x7f;
        bytes
    };
    [
        Content::Hollow(0),
        Content::Hollow(1),
        Content::Hollow(u64::MAX),
        Content::Bytes(&BYTES),
        Content::Bytes(&ONES),
        Content::Bytes(&NEARLY),
    ]
}

/// A block with two pages, the third met by a power cut; the page, and its content if it were whole.
fn cut(content: Content<'_>, fault: ProgramFault, seed: u64) -> (SimNand, Page, Seen, Spare) {
    let mut nand = chips();
    write(&mut nand, 1, 0, 5).unwrap();
    write(&mut nand, 1, 1, 6).unwrap();
    let to = page(&nand, 1, 2);
    let spare = spare_of(content, 2, 200);
    nand.cut_program(to, content, &spare, fault, seed).unwrap();
    let whole = match content {
        Content::Hollow(tag) => Seen::Hollow(tag, spare),
        Content::Bytes(bytes) => Seen::Bytes(bytes.to_vec(), spare),
    };
    (nand, to, whole, spare)
}

fn neighbours_are_whole(nand: &mut SimNand) {
    for (index, tag) in [(0, 5), (1, 6)] {
        let at = page(nand, 1, index);
        assert!(matches!(see(nand, at), Seen::Hollow(t, _) if t == tag), "a fault has spread to page {index}");
    }
}

#[test]
fn a_program_not_started_left_the_flash_as_it_was() {
    for content in contents() {
        let (mut nand, to, ..) = cut(content, ProgramFault::NotStarted, 1);
        let mut other = chips();
        write(&mut other, 1, 0, 5).unwrap();
        write(&mut other, 1, 1, 6).unwrap();
        assert_eq!(everything(&nand), everything(&other));
        assert_eq!(see(&mut nand, to), Seen::Erased);
        write(&mut nand, 1, 2, 7).unwrap();
    }
}

#[test]
fn a_program_done_and_not_acknowledged_is_a_program_done() {
    for content in contents() {
        let (mut nand, to, whole, spare) = cut(content, ProgramFault::Unacknowledged, 1);
        for _ in 0..2 {
            assert_eq!(see(&mut nand, to), whole);
            nand.power_cycle();
        }
        let mut other = chips();
        write(&mut other, 1, 0, 5).unwrap();
        write(&mut other, 1, 1, 6).unwrap();
        other.program(to, content, &spare, host()).unwrap();
        assert_eq!(everything(&nand), everything(&other));
    }
}

#[test]
fn a_torn_program_that_is_seen_reads_as_unreadable_for_good() {
    for content in contents() {
        let (mut nand, to, ..) = cut(content, ProgramFault::TornSeen, 1);
        for _ in 0..2 {
            assert_eq!(see(&mut nand, to), Seen::Unreadable);
            assert_eq!(nand.read_spare(to, host()).0, SpareRead::Unreadable);
            nand.power_cycle();
        }
        assert_eq!(write(&mut nand, 1, 2, 7), Err(ProgramError::NotErased(to)));
        write(&mut nand, 1, 3, 7).unwrap();
        neighbours_are_whole(&mut nand);
    }
}

#[test]
fn a_torn_program_that_is_not_seen_has_its_spare_area_and_never_verifies() {
    for content in contents() {
        for seed in 0..500 {
            let (mut nand, to, whole, spare) = cut(content, ProgramFault::TornUnseen, seed);
            for _ in 0..2 {
                assert_eq!(nand.read_spare(to, host()).0, SpareRead::Written(spare));
                let seen = see(&mut nand, to);
                assert_ne!(seen, whole, "seed {seed}");
                assert!(matches!(seen, Seen::Hollow(_, s) | Seen::Bytes(_, s) if s == spare));
                assert_eq!(nand.read(to, host()).0.verified(), None, "seed {seed}: torn, and its CRC fits");
                nand.power_cycle();
            }
            neighbours_are_whole(&mut nand);
        }
    }
}

#[test]
fn a_program_with_a_torn_spare_area_cannot_be_read() {
    for content in contents() {
        let (mut nand, to, ..) = cut(content, ProgramFault::TornSpare, 1);
        for _ in 0..2 {
            assert_eq!(see(&mut nand, to), Seen::Unreadable);
            assert_eq!(nand.read_spare(to, host()).0, SpareRead::Unreadable);
            nand.power_cycle();
        }
        neighbours_are_whole(&mut nand);
    }
}

#[test]
fn a_page_that_looks_erased_is_ruined_by_the_next_program_and_mended_by_the_erase() {
    for content in contents() {
        let (mut nand, to, ..) = cut(content, ProgramFault::LooksErased, 1);
        for _ in 0..2 {
            assert_eq!(see(&mut nand, to), Seen::Erased);
            assert_eq!(nand.read_spare(to, host()).0, SpareRead::Erased);
            nand.power_cycle();
        }
        let mut skipping = nand.clone();
        write(&mut nand, 1, 2, 7).unwrap();
        assert_eq!(see(&mut nand, to), Seen::Unreadable, "the chip says done, and it is not");
        neighbours_are_whole(&mut nand);
        nand.erase(Block(1), host()).unwrap();
        write(&mut nand, 1, 0, 7).unwrap();
        write(&mut nand, 1, 1, 7).unwrap();
        write(&mut nand, 1, 2, 7).unwrap();
        assert!(matches!(see(&mut nand, to), Seen::Hollow(7, _)));

        write(&mut skipping, 1, 3, 8).unwrap();
        assert_eq!(see(&mut skipping, to), Seen::Erased);
        let after = page(&skipping, 1, 3);
        assert!(matches!(see(&mut skipping, after), Seen::Hollow(8, _)));
        assert!(write(&mut skipping, 1, 2, 9).is_err(), "it lies before a programmed page now");
    }
}

#[test]
fn an_unstable_page_reads_well_until_the_power_fails_again() {
    for content in contents() {
        let (mut nand, to, whole, spare) = cut(content, ProgramFault::Unstable, 1);
        for _ in 0..5 {
            assert_eq!(see(&mut nand, to), whole);
            assert_eq!(nand.read_spare(to, host()).0, SpareRead::Written(spare));
        }
        nand.power_cycle();
        for _ in 0..2 {
            assert_eq!(see(&mut nand, to), Seen::Unreadable);
            assert_eq!(nand.read_spare(to, host()).0, SpareRead::Unreadable);
            nand.power_cycle();
        }
        neighbours_are_whole(&mut nand);
    }
}

#[test]
fn a_page_unstable_once_reads_well_once() {
    for content in contents() {
        let (mut nand, to, whole, spare) = cut(content, ProgramFault::UnstableOnce, 1);
        for _ in 0..3 {
            assert_eq!(nand.read_spare(to, host()).0, SpareRead::Written(spare), "a spare area read is no page read");
        }
        assert_eq!(see(&mut nand, to), whole);
        for _ in 0..2 {
            assert_eq!(see(&mut nand, to), Seen::Unreadable);
            assert_eq!(nand.read_spare(to, host()).0, SpareRead::Unreadable);
            nand.power_cycle();
        }
        neighbours_are_whole(&mut nand);
    }
}

#[test]
fn an_erase_makes_good_whatever_a_program_left() {
    for content in contents() {
        for fault in ProgramFault::ALL {
            let (mut nand, to, ..) = cut(content, *fault, 3);
            nand.erase(Block(1), host()).unwrap();
            assert_eq!(everything(&nand), everything(&chips()), "{}", fault.name());
            for index in 0..3 {
                write(&mut nand, 1, index, 9).unwrap();
            }
            assert!(matches!(see(&mut nand, to), Seen::Hollow(9, _)));
        }
    }
}

#[test]
fn a_cut_program_may_leave_pages_out_like_any_other() {
    for fault in ProgramFault::ALL {
        if *fault == ProgramFault::NotStarted {
            continue;
        }
        let mut nand = chips();
        write(&mut nand, 1, 0, 5).unwrap();
        let content = Content::Hollow(4);
        let to = page(&nand, 1, 3);
        nand.cut_program(to, content, &spare_of(content, 3, 200), *fault, 1).unwrap();
        for index in 1..3 {
            let skipped = page(&nand, 1, index);
            assert_eq!(see(&mut nand, skipped), Seen::Erased);
            assert!(write(&mut nand, 1, index, 9).is_err(), "{}: a gap was filled", fault.name());
        }
    }
}

#[test]
fn a_cut_program_breaks_no_rule_that_a_program_could_not() {
    for fault in ProgramFault::ALL {
        let mut nand = chips();
        write(&mut nand, 1, 0, 5).unwrap();
        write(&mut nand, 1, 2, 5).unwrap();
        nand.mark_bad(Block(2));
        let before = everything(&nand);
        let content = Content::Hollow(4);
        let spare = spare_of(content, 3, 200);
        let mut refused = |to: Page, error: ProgramError| {
            assert_eq!(nand.cut_program(to, content, &spare, *fault, 1), Err(error), "{}", fault.name());
            assert_eq!(everything(&nand), before);
        };
        let at = |block, index| phelsuma_nand::Page(block * PAGES + index);
        refused(at(1, 0), ProgramError::NotErased(at(1, 0)));
        refused(at(1, 1), ProgramError::OutOfOrder(at(1, 1)));
        refused(at(2, 0), ProgramError::Bad(Block(2)));
        refused(at(9, 0), ProgramError::NoSuchPage(at(9, 0)));
    }
}

/// Block 1 full but for its last two pages.
fn written() -> SimNand {
    let mut nand = chips();
    for index in 0..PAGES - 2 {
        write(&mut nand, 1, index, 50 + u64::from(index)).unwrap();
    }
    write(&mut nand, 2, 0, 3).unwrap();
    nand
}

#[test]
fn an_erase_not_started_left_the_flash_as_it_was() {
    let mut nand = written();
    nand.cut_erase(Block(1), EraseFault::NotStarted, 1).unwrap();
    assert_eq!(everything(&nand), everything(&written()));
    write(&mut nand, 1, PAGES - 2, 1).unwrap();
}

#[test]
fn an_erase_done_and_not_acknowledged_is_an_erase_done() {
    let mut nand = written();
    nand.cut_erase(Block(1), EraseFault::Unacknowledged, 1).unwrap();
    let mut other = written();
    other.erase(Block(1), host()).unwrap();
    assert_eq!(everything(&nand), everything(&other));
    write(&mut nand, 1, 0, 1).unwrap();
}

#[test]
fn a_partial_erase_leaves_each_page_as_it_was_or_blank_or_unreadable_until_the_next_erase() {
    let mut kinds = [0; 3];
    for fault in [EraseFault::PartialMixed, EraseFault::PartialFront] {
        for seed in 0..200 {
            let mut nand = written();
            let (before, ..) = everything(&nand);
            nand.cut_erase(Block(1), fault, seed).unwrap();
            for cycle in 0..2 {
                let (after, ..) = everything(&nand);
                for (n, (was, is)) in before.iter().zip(&after).enumerate() {
                    if n as u32 / PAGES != 1 {
                        assert_eq!(was, is, "another block has changed");
                        continue;
                    }
                    let index = n as u32 % PAGES;
                    match &is.0 {
                        Seen::Erased => kinds[0] += 1,
                        Seen::Unreadable => kinds[1] += 1,
                        same => {
                            kinds[2] += 1;
                            assert_eq!(*same, was.0);
                        }
                    }
                    if fault == EraseFault::PartialFront {
                        let expected = if index < PAGES / 2 { &Seen::Erased } else { &was.0 };
                        assert_eq!(&is.0, expected, "page {index} in cycle {cycle}");
                    }
                }
                nand.power_cycle();
            }
            for index in [0, PAGES - 1] {
                let mut copy = nand.clone();
                let at = page(&copy, 1, index);
                assert_eq!(write(&mut copy, 1, index, 1), Err(ProgramError::Failed(at)), "it must be erased first");
            }
            nand.erase(Block(1), host()).unwrap();
            for index in 0..PAGES {
                write(&mut nand, 1, index, 1).unwrap();
            }
        }
    }
    assert!(kinds.iter().all(|n| *n > 100), "as it was, blank and unreadable all occur: {kinds:?}");
}

#[test]
fn an_unstable_erase_looks_blank_and_fails_the_next_program() {
    let mut nand = written();
    nand.cut_erase(Block(1), EraseFault::UnstableErase, 1).unwrap();
    nand.power_cycle();
    for index in 0..PAGES {
        let at = page(&nand, 1, index);
        assert_eq!(see(&mut nand, at), Seen::Erased);
        assert_eq!(nand.read_spare(at, host()).0, SpareRead::Erased);
    }
    let first = page(&nand, 1, 0);
    assert_eq!(write(&mut nand, 1, 0, 1), Err(ProgramError::Failed(first)));
    assert!(
        matches!(see(&mut nand, first), Seen::Hollow(1, _)),
        "a failed program may leave anything: here, what it was"
    );
    nand.erase(Block(1), host()).unwrap();
    write(&mut nand, 1, 0, 1).unwrap();
}

#[test]
fn a_cut_erase_can_be_cut_again() {
    for first in EraseFault::ALL {
        for second in EraseFault::ALL {
            let mut nand = written();
            nand.cut_erase(Block(1), *first, 4).unwrap();
            nand.power_cycle();
            nand.cut_erase(Block(1), *second, 5).unwrap();
            nand.power_cycle();
            nand.erase(Block(1), host()).unwrap();
            let mut fresh = written();
            fresh.erase(Block(1), host()).unwrap();
            assert_eq!(everything(&nand), everything(&fresh), "{} then {}", first.name(), second.name());
        }
    }
}

#[test]
fn a_cut_erase_is_refused_where_an_erase_is() {
    let mut nand = written();
    nand.mark_bad(Block(1));
    let before = everything(&nand);
    for fault in EraseFault::ALL {
        assert_eq!(nand.cut_erase(Block(1), *fault, 1), Err(EraseError::Bad(Block(1))));
        assert_eq!(nand.cut_erase(Block(4), *fault, 1), Err(EraseError::NoSuchBlock(Block(4))));
    }
    assert_eq!(everything(&nand), before);
}

#[test]
fn cuts_are_neither_counted_nor_timed() {
    let mut nand = written();
    let before = *nand.stats();
    let content = Content::Hollow(4);
    let to = page(&nand, 3, 0);
    nand.cut_program(to, content, &spare_of(content, 3, 200), ProgramFault::Unstable, 1).unwrap();
    nand.cut_erase(Block(1), EraseFault::PartialMixed, 1).unwrap();
    assert_eq!(*nand.stats(), before);
}

#[test]
fn faults_that_leave_other_flash_have_other_fingerprints_and_equal_ones_the_same() {
    for content in contents() {
        let mut values: BTreeMap<u128, ProgramFault> = BTreeMap::new();
        for fault in ProgramFault::ALL {
            let value = cut(content, *fault, 1).0.fingerprint().unwrap();
            assert_eq!(value, cut(content, *fault, 1).0.fingerprint().unwrap(), "equal histories");
            if let Some(other) = values.insert(value, *fault) {
                let both_unreadable = [*fault, other].iter().all(|f| {
                    let (mut nand, to, ..) = cut(content, *f, 1);
                    see(&mut nand, to) == Seen::Unreadable
                });
                assert!(both_unreadable, "{} and {} look the same", fault.name(), other.name());
            }
        }
    }
    let mut values: BTreeMap<u128, EraseFault> = BTreeMap::new();
    for fault in EraseFault::ALL {
        let value = || {
            let mut nand = written();
            nand.cut_erase(Block(1), *fault, 1).unwrap();
            nand.fingerprint().unwrap()
        };
        assert_eq!(value(), value());
        let other = values.insert(value(), *fault);
        assert_eq!(other, None, "{} looks like {other:?}", fault.name());
    }
}

#[test]
fn what_an_unstable_page_has_left_is_part_of_the_fingerprint() {
    let two_unstable = || {
        let mut nand = chips();
        for index in 0..2 {
            let content = Content::Hollow(4);
            let to = page(&nand, 1, index);
            let spare = spare_of(content, 1, 200 + u64::from(index));
            nand.cut_program(to, content, &spare, ProgramFault::UnstableOnce, 1).unwrap();
        }
        nand
    };
    let (mut one, mut other) = (two_unstable(), two_unstable());
    assert_eq!(one.fingerprint(), other.fingerprint());
    let pages = [page(&one, 1, 0), page(&one, 1, 1)];
    see(&mut one, pages[0]);
    see(&mut other, pages[1]);
    assert_ne!(one.fingerprint(), other.fingerprint(), "another page of the two is gone");
    see(&mut one, pages[1]);
    see(&mut other, pages[0]);
    assert_eq!(one.fingerprint(), other.fingerprint(), "both are gone");
}

#[test]
fn torn_pages_of_different_seeds_have_different_fingerprints() {
    for content in [Content::Hollow(0), Content::Bytes(&BYTES)] {
        for bit in 0..64 {
            let (one, other) =
                (cut(content, ProgramFault::TornUnseen, 6).0, cut(content, ProgramFault::TornUnseen, 6 ^ 1 << bit).0);
            let same = everything(&one).0 == everything(&other).0;
            assert_eq!(one.fingerprint() == other.fingerprint(), same, "bit {bit} of the seed");
        }
    }
}

#[test]
fn a_flipped_bit_is_read_without_complaint_and_never_verifies() {
    for content in contents() {
        for bit in [0, 1, 7, 8, 63, 64, 4095, 4096, 1 << 30] {
            let mut nand = chips();
            let to = page(&nand, 0, 0);
            let spare = spare_of(content, 7, 1);
            nand.program(to, content, &spare, host()).unwrap();
            let before = nand.fingerprint();
            assert!(nand.read(to, host()).0.verified().is_some());
            nand.decay(to, Decay::Data(bit));
            assert_eq!(nand.read_spare(to, host()).0, SpareRead::Written(spare));
            assert_eq!(nand.read(to, host()).0.verified(), None, "bit {bit} of {content}");
            assert_ne!(nand.fingerprint(), before);
            nand.power_cycle();
            assert_eq!(nand.read(to, host()).0.verified(), None);
            nand.erase(Block(0), host()).unwrap();
            assert_eq!(everything(&nand), everything(&chips()));
        }
    }
}

#[test]
fn a_spare_area_with_a_flipped_bit_is_none_and_what_decays_is_unreadable() {
    for content in contents() {
        for bit in (0..Spare::BYTES as u32 * 8).chain([u32::MAX]) {
            let mut nand = chips();
            let to = page(&nand, 0, 0);
            nand.program(to, content, &spare_of(content, 7, 1), host()).unwrap();
            nand.decay(to, Decay::Spare(bit));
            assert_eq!(nand.read_spare(to, host()).0, SpareRead::Unreadable, "bit {bit}");
        }
        let mut nand = chips();
        let to = page(&nand, 0, 0);
        nand.program(to, content, &spare_of(content, 7, 1), host()).unwrap();
        nand.decay(to, Decay::Uncorrectable);
        assert_eq!(nand.read_spare(to, host()).0, SpareRead::Unreadable);
        assert_eq!(nand.read(to, host()).0, PageRead::Unreadable);
    }
}

#[test]
fn a_flip_where_nothing_is_written_changes_nothing() {
    let mut nand = written();
    let before = everything(&nand);
    nand.decay(page(&written(), 3, 3), Decay::Data(5));
    nand.decay(Page(u32::MAX), Decay::Data(5));
    assert_eq!(everything(&nand), before);
}
