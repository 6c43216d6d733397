//! Inputs without an answer: a typed error with one clear line, never a panic or a figure that is none.

use phelsuma_limits::gecko_ram::gecko_ram;
use phelsuma_limits::{
    Gecko, HotCold, LimitError, Limits, Merge, best_quota, d_choices, desnoyers, effective_ratio, gecko, greedy, lru,
    lru_small_spare, mixed_greedy, mixed_lru, random, small_spare, zipf_best_split, zipf_mixed_lru,
};

const BAD_RATIOS: [f64; 8] = [0.0, -0.0, -0.5, 1.0, 1.5, f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
const BAD_BLOCKS: [u32; 4] = [0, 1, 65_537, u32::MAX];

#[track_caller]
fn says(error: &LimitError, expected: &str) {
    let text = error.to_string();
    assert_eq!(text, expected);
    assert!(!text.contains('\n'));
}

fn hot() -> HotCold {
    HotCold::new(0.8, 0.2).expect("a hot class")
}

#[test]
fn ratios_out_of_range() {
    for rho in BAD_RATIOS {
        let answers = [
            lru(rho),
            lru_small_spare(rho),
            greedy(rho, 128),
            desnoyers(rho, 128),
            d_choices(rho, 128, 2),
            d_choices(rho, 128, 1),
            random(rho),
            best_quota(rho, 128, hot()).map(|quota| quota.write_amplification),
            small_spare(rho, hot()),
            mixed_greedy(rho, 128, hot()),
            zipf_best_split(rho, 1.0, 100),
            zipf_mixed_lru(rho, 1.0, 100),
            mixed_lru(rho, hot()),
            gecko(&Gecko { ratio: rho, ..Gecko::paper(4, Merge::TwoWay) }).map(|costs| costs.write_amplification),
            Limits::compute(rho, 128, None).map(|limits| limits.uniform.greedy),
        ];
        for answer in answers {
            assert!(matches!(answer, Err(LimitError::Ratio(_))), "{answer:?} at {rho}");
        }
    }
    says(
        &lru(1.5).unwrap_err(),
        "ratio 1.5 is out of range: logical over physical pages must lie between 0 and 1, both excluded",
    );
    assert!(matches!(greedy(1.0 - 1e-12, 64), Err(LimitError::RatioTooClose(_))));
    assert!(lru(f64::MIN_POSITIVE).unwrap() >= 1.0);
}

#[test]
fn pages_per_block_out_of_range() {
    for b in BAD_BLOCKS {
        let answers = [
            greedy(0.7, b),
            desnoyers(0.7, b),
            d_choices(0.7, b, 2),
            best_quota(0.7, b, hot()).map(|quota| quota.write_amplification),
            mixed_greedy(0.7, b, hot()),
            gecko(&Gecko { pages_per_block: b, ..Gecko::paper(1, Merge::TwoWay) })
                .map(|costs| costs.write_amplification),
            effective_ratio(10, 100, b, 0, 0),
            Limits::compute(0.7, b, Some(hot())).map(|limits| limits.uniform.greedy),
        ];
        for answer in answers {
            assert_eq!(answer, Err(LimitError::PagesPerBlock(b)));
        }
    }
    says(&greedy(0.7, 1).unwrap_err(), "1 pages per block is out of range: use 2 to 65536");
    says(
        &mixed_greedy(0.7, 4096, hot()).unwrap_err(),
        "4096 pages per block is too many for mixed greedy: use at most 1024",
    );
    let limits = Limits::compute(0.7, 4096, Some(hot())).unwrap();
    assert_eq!(limits.hot.unwrap().mixed_greedy, None, "everything else is still answered");
}

#[test]
fn choices_out_of_range() {
    says(&d_choices(0.7, 64, 0).unwrap_err(), "0 choices is out of range: use 1 to 65536");
    assert_eq!(d_choices(0.7, 64, u32::MAX), Err(LimitError::Choices(u32::MAX)));
}

#[test]
fn zipf_out_of_range() {
    for exponent in [-0.1, 8.1, f64::NAN, f64::INFINITY] {
        assert!(matches!(zipf_best_split(0.7, exponent, 100), Err(LimitError::ZipfExponent(_))));
        assert!(matches!(zipf_mixed_lru(0.7, exponent, 100), Err(LimitError::ZipfExponent(_))));
    }
    says(&zipf_best_split(0.7, 9.0, 100).unwrap_err(), "Zipf exponent 9 is out of range: use 0 to 8");
    for pages in [0, (1 << 48) + 1, u64::MAX] {
        assert_eq!(zipf_best_split(0.7, 1.0, pages), Err(LimitError::Pages(pages)));
    }
}

#[test]
fn hot_classes_are_read_and_printed() {
    let read: HotCold = "80/20".parse().unwrap();
    assert_eq!(read, HotCold::new(0.8, 0.2).unwrap());
    assert_eq!(read.to_string(), "80/20");
    assert!((read.heat() - 16.0).abs() < 1e-12);
    assert_eq!(" 99.5 / 0.7 ".parse::<HotCold>().unwrap().to_string(), "99.5/0.7");
    assert_eq!("50/50".parse::<HotCold>().unwrap().heat(), 1.0);
}

#[test]
fn hot_classes_that_are_none() {
    let error = |text: &str| text.parse::<HotCold>().unwrap_err();
    for text in ["", "80", "80-20", "80/", "/20", "80/20/10", "eighty/20", "80%/20%"] {
        assert_eq!(error(text), LimitError::HotSyntax(text.to_owned()));
    }
    says(&error("80:20"), "hot class \"80:20\" is not WRITES/SPACE in percent, such as 80/20");
    for text in ["0/20", "80/0", "100/20", "80/100", "-80/20", "NaN/20", "80/inf", "1e999/20", "50/1e-300"] {
        assert!(matches!(error(text), LimitError::HotRange { .. }), "{text}");
    }
    says(
        &error("180/20"),
        "hot class 180/20 is out of range: both percentages must lie between 0 and 100, at least 1e-7 from either",
    );
    says(
        &error("20/80"),
        "hot class 20/80 is colder than the rest: give the share of writes first, then that of space",
    );
}

#[test]
fn geckos_that_do_not_fit() {
    let paper = Gecko::paper(4, Merge::TwoWay);
    let refused = |drive: Gecko| {
        let error = gecko(&drive).unwrap_err();
        assert_eq!(gecko_ram(&drive).unwrap_err(), error);
        match error {
            LimitError::Gecko { name, .. } => name,
            other => panic!("{other}"),
        }
    };
    assert_eq!(refused(Gecko { partitions: 0, ..paper }), "partitions");
    assert_eq!(refused(Gecko { partitions: 3, ..paper }), "partitions");
    assert_eq!(refused(Gecko { key_bits: 0, ..paper }), "key bits");
    assert_eq!(refused(Gecko { key_bits: u32::MAX, ..paper }), "key bits");
    assert_eq!(refused(Gecko { delta: f64::INFINITY, ..paper }), "delta");
    assert_eq!(refused(Gecko { delta: 0.0, ..paper }), "delta");
    assert_eq!(refused(Gecko { blocks: 0, ..paper }), "blocks");
    assert_eq!(refused(Gecko { page_bytes: 8, ..paper }), "page bytes");
    // Of drives that cannot be no figure is given: pages without an address, no logical page, no block to collect into.
    assert_eq!(refused(Gecko { blocks: 1, ..paper }), "blocks");
    assert_eq!(refused(Gecko { blocks: (1 << 25) + 1, ..paper }), "pages");
    assert_eq!(refused(Gecko { blocks: u64::MAX, ..paper }), "pages");
    assert_eq!(refused(Gecko { key_bits: 23, ..paper }), "key bits");
    assert_eq!(refused(Gecko { blocks: 4, ratio: 0.001, ..paper }), "logical pages");
    assert_eq!(refused(Gecko { blocks: 3, ..paper }), "spare blocks");
    assert_eq!(refused(Gecko { ratio: 1.0 - 1e-7, ..paper }), "spare blocks");
    for possible in [
        Gecko { blocks: 1 << 25, ..paper },
        Gecko { key_bits: 24, ..paper },
        Gecko { blocks: 4, ratio: 0.002, ..paper },
    ] {
        assert!(gecko(&possible).unwrap().write_amplification.is_finite());
    }
    says(
        &gecko(&Gecko { partitions: 3, ..paper }).unwrap_err(),
        "partitions = 3 is out of range: it must divide the pages per block",
    );
    // A drive so small that everything fits in the buffer has no levels, not fewer than none.
    assert_eq!(gecko(&Gecko { blocks: 4, ..paper }).unwrap().levels, 0.0);
}

#[test]
fn the_effective_ratio_leaves_out_reserve_and_open_blocks() {
    assert_eq!(effective_ratio(700, 110, 10, 7, 3), Ok(0.7));
    says(
        &effective_ratio(1000, 110, 10, 7, 3).unwrap_err(),
        "1000 logical pages do not fit: 1000 physical pages remain after reserve and open blocks",
    );
    assert!(matches!(effective_ratio(1, 2, 10, 3, 0), Err(LimitError::NoSpare { usable_pages: 0, .. })));
    assert!(matches!(effective_ratio(0, 10, 10, 1, 1), Err(LimitError::Ratio(_))));
}
