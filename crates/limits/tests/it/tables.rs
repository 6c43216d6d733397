//! Every analytic figure of the published tables against the computed value.
//!
//! The figures here were printed by others, or derived by hand from the equations. The models must come within half a
//! unit of the last printed digit. Where more is allowed, the reason stands beside it.

use phelsuma_limits::gecko_ram::gecko_ram;
use phelsuma_limits::gecko_recovery::{RecoveryCosts, recovery_seconds};
use phelsuma_limits::{
    Gecko, HotCold, Merge, best_quota, d_choices, desnoyers, gecko, greedy, lru, lru_small_spare, mixed_greedy, random,
    small_spare, zipf_best_split, zipf_mixed_lru,
};

/// Asserts that `value` rounds to the printed text, give or take a hundredth of its last digit for figures
/// that were rounded twice.
#[track_caller]
fn prints_as(value: f64, printed: &str) {
    let decimals = printed.split_once('.').map_or(0, |(_, fraction)| fraction.len());
    let unit = 10f64.powi(-i32::try_from(decimals).expect("a figure as it is printed"));
    let expected: f64 = printed.parse().expect("a figure as it is printed");
    assert!((value - expected).abs() <= 0.51 * unit, "{value} does not print as {printed}");
}

#[track_caller]
fn within(value: f64, expected: f64, share: f64) {
    assert!((value / expected - 1.0).abs() <= share, "{value} is not within {} % of {expected}", 100.0 * share);
}

fn hot(text: &str) -> HotCold {
    text.parse().expect("a hot class")
}

#[test]
fn uniform_writes() {
    // ratio, LRU, greedy at b = 64, 128, 256, d = 10 and d = 2 at b = 128, random. The last of b = 64 is
    // 18.52349: it was rounded to 18.5235 first.
    let rows = [
        (0.70, ["1.8762", "1.8333", "1.8544", "1.8652", "1.8969", "2.423", "3.33"]),
        (0.80, ["2.6927", "2.5993", "2.6449", "2.6684", "2.7141", "3.556", "5"]),
        (0.90, ["5.1787", "4.8213", "4.9922", "5.0832", "5.1479", "6.941", "10"]),
        (0.95, ["10.172", "8.850", "9.461", "9.798", "9.816", "13.59", "20"]),
        (0.98, ["25.169", "18.524", "21.114", "22.967", "22.342", "32.64", "50"]),
    ];
    for (rho, printed) in rows {
        prints_as(lru(rho).unwrap(), printed[0]);
        prints_as(greedy(rho, 64).unwrap(), printed[1]);
        prints_as(greedy(rho, 128).unwrap(), printed[2]);
        prints_as(greedy(rho, 256).unwrap(), printed[3]);
        prints_as(d_choices(rho, 128, 10).unwrap(), printed[4]);
        prints_as(d_choices(rho, 128, 2).unwrap(), printed[5]);
        prints_as(random(rho).unwrap(), printed[6]);
    }
}

#[test]
fn desnoyers_is_within_a_third_of_a_percent_but_for_one_corner() {
    for rho in [0.70, 0.80, 0.90, 0.95, 0.98] {
        for b in [64, 128, 256] {
            let error = desnoyers(rho, b).unwrap() / greedy(rho, b).unwrap() - 1.0;
            if (rho, b) == (0.98, 64) {
                prints_as(100.0 * error, "-2");
            } else {
                assert!(error.abs() <= 0.0035, "{error} at ratio {rho}, {b} pages per block");
            }
        }
    }
}

#[test]
fn the_handy_form_of_lru_is_good_for_small_spare() {
    for (rho, share) in [(0.70, 0.023), (0.80, 0.01), (0.90, 0.0024), (0.95, 0.0006), (0.98, 0.0001)] {
        within(lru_small_spare(rho).unwrap(), lru(rho).unwrap(), share);
    }
}

/// The published optima stand up to 0.22 % above ours, never below by more than rounding. Ours are confirmed
/// by an exhaustive scan (see `best_quota_beats_a_fine_scan` among the properties): greedy's curve has kinks on
/// which the optimum likes to sit, and a coarse search or an interpolated curve misses them upwards.
#[test]
fn best_quota_of_two_classes() {
    let rows =
        [(0.70, 1.479, 1.214), (0.80, 1.967, 1.463), (0.90, 3.454, 2.271), (0.95, 6.304, 3.856), (0.98, 13.79, 8.110)];
    for (rho, eighty, ninety) in rows {
        for (class, published) in [("80/20", eighty), ("90/10", ninety)] {
            let computed = best_quota(rho, 128, hot(class)).unwrap().write_amplification;
            within(computed, published, 0.0025);
            assert!(computed < published + 0.0005, "{computed} should not be above {published}");
        }
    }
}

/// Published up to 0.3 % above ours at 90/10. Ours agree with a brute-force simulation of 4,096 blocks within 0.06 %.
/// So the published ones probably come from a simulation whose reserve was not quite subtracted.
#[test]
fn mixed_greedy_of_two_classes() {
    let rows =
        [(0.70, 2.180, 2.567), (0.80, 2.993, 3.512), (0.90, 5.357, 6.032), (0.95, 9.819, 10.58), (0.98, 21.49, 22.42)];
    for (rho, eighty, ninety) in rows {
        within(mixed_greedy(rho, 128, hot("80/20")).unwrap(), eighty, 0.005);
        within(mixed_greedy(rho, 128, hot("90/10")).unwrap(), ninety, 0.005);
    }
}

#[test]
fn separation_alone_gains_nothing() {
    // At 90/10, ratio 0.9, b = 128: mixed 6.03, the best quota 2.27; under one global greedy collector
    // separated classes do as uniform writes do (published from a simulation: 4.98).
    within(mixed_greedy(0.9, 128, hot("90/10")).unwrap(), 6.03, 0.005);
    prints_as(best_quota(0.9, 128, hot("90/10")).unwrap().write_amplification, "2.27");
    within(greedy(0.9, 128).unwrap(), 4.98, 0.0035);
}

#[test]
fn the_small_spare_form_of_the_best_quota() {
    // Against the optimum with large blocks, as b is not in the form.
    for class in ["80/20", "90/10"] {
        for (rho, share) in [(0.95, 0.01), (0.98, 0.003)] {
            let exact = best_quota(rho, 1 << 14, hot(class)).unwrap();
            within(small_spare(rho, hot(class)).unwrap(), exact.write_amplification, share);
        }
    }
    // Spare goes with the root of writes times space: for 80/20 and 90/10 that is an even split.
    let quota = best_quota(0.99, 1 << 14, hot("90/10")).unwrap();
    assert!((quota.hot_spare_share - 0.5).abs() < 0.01, "{}", quota.hot_spare_share);
}

/// Published for greedy at b = 128, where there is no model for more than two classes here. (A simulation of 2^18
/// physical pages gives the same figures.) The limit of large blocks lies above, by a tenth at most.
#[test]
fn zipf_mixed_in_the_same_blocks() {
    for (rho, published) in [(0.70, 2.70), (0.80, 3.93), (0.90, 7.41), (0.95, 13.7)] {
        let pages = (rho * f64::from(1 << 18)) as u64;
        let large_blocks = zipf_mixed_lru(rho, 1.0, pages).unwrap();
        assert!(published < large_blocks && large_blocks < 1.1 * published, "{large_blocks} at {rho}");
    }
}

#[test]
fn zipf_with_each_page_its_own_class() {
    let rows = [
        (0.8, ["1.470", "1.932", "3.370", "6.289", "15.09"]),
        (0.99, ["1.214", "1.432", "2.124", "3.548", "7.878"]),
        (1.0, ["1.202", "1.408", "2.064", "3.415", "7.525"]),
        (1.2, ["1.046", "1.096", "1.258", "1.600", "2.664"]),
    ];
    for (exponent, printed) in rows {
        for (rho, printed) in [0.70, 0.80, 0.90, 0.95, 0.98].into_iter().zip(printed) {
            prints_as(zipf_best_split(rho, exponent, 1 << 20).unwrap(), printed);
        }
    }
}

/// Beside measurements of public simulators stands the best static split for their drives, at ratio 0.9313:
/// blocks of 512 pages and 2^20 pages in all for MiDAS, 1,024 blocks of 256 pages for SepBIT. For MiDAS the number
/// of logical pages is not stated to the page, and Zipf's law depends on it a little.
#[test]
fn best_static_splits_for_the_drives_of_public_simulators() {
    let rho = 0.9313;
    let quota = |b, class| best_quota(rho, b, hot(class)).unwrap().write_amplification;
    let zipf = |pages: u32| zipf_best_split(rho, 1.0, (rho * f64::from(pages)) as u64).unwrap();
    prints_as(greedy(rho, 512).unwrap(), "7.35");
    prints_as(quota(512, "80/20"), "4.96");
    prints_as(quota(512, "90/10"), "3.10");
    within(zipf(1 << 20), 2.69, 0.003);
    prints_as(quota(256, "80/20"), "4.89");
    prints_as(zipf(1024 * 256), "2.86");
}

#[test]
fn logarithmic_gecko() {
    let rows = [
        (1, Merge::TwoWay, 203, "0.0766", "0.0967", "91.2"),
        (4, Merge::TwoWay, 504, "0.0323", "0.0484", "95.6"),
        (4, Merge::MultiWay, 504, "0.0171", "0.0318", "97.1"),
    ];
    for (partitions, merge, entries_per_page, programs, wa, saved_percent) in rows {
        let costs = gecko(&Gecko::paper(partitions, merge)).unwrap();
        assert_eq!(costs.entries_per_page, entries_per_page);
        prints_as(costs.programs_per_update, programs);
        prints_as(costs.write_amplification, wa);
        prints_as(100.0 * costs.saved, saved_percent);
        prints_as(costs.bitmap_write_amplification, "1.101");
    }
    let best = gecko(&Gecko::paper(4, Merge::MultiWay)).unwrap();
    prints_as(100.0 * best.saved_on_updates, "98.3");
    let fuller = gecko(&Gecko { ratio: 0.9, ..Gecko::paper(4, Merge::MultiWay) }).unwrap();
    assert!(fuller.saved < best.saved, "less is saved at higher ratios");
}

#[test]
fn gecko_ram_by_the_papers_formulas() {
    let ram = gecko_ram(&Gecko::paper(1, Merge::MultiWay)).unwrap();
    assert_eq!(ram.bitmap_bytes, f64::from(64 << 20));
    prints_as(ram.gecko_bytes() / 1e6, "0.4");
    prints_as(ram.mapping_directory_bytes / f64::from(1 << 20), "1.4");
    prints_as(100.0 * ram.saved_on_validity(), "99.4");
    // "About 85 %" with block counters and mapping directory: 86.7 % with the counters on both sides, 85.0 %
    // when a bitmap in RAM does without them.
    prints_as(100.0 * ram.saved_with_directories(), "86.7");
    prints_as(100.0 * ram.saved_with_own_counters(), "85.0");
}

#[test]
fn recovery_by_the_papers_formulas() {
    let seconds = recovery_seconds(&Gecko::paper(1, Merge::MultiWay), &RecoveryCosts::paper()).unwrap();
    prints_as(seconds.gecko_rec, "21");
    prints_as(seconds.lazy_ftl, "108");
    prints_as(seconds.full_scan / 60.0, "27");
}
