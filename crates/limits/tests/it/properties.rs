//! What must hold for every input: order among the models, monotony, limits of small and large blocks.

use phelsuma_limits::{
    HotCold, Limits, best_quota, d_choices, desnoyers, greedy, lru, mixed_greedy, mixed_lru, random, small_spare,
    zipf_best_split, zipf_mixed_lru,
};
use proptest::prelude::*;

/// Room for rounding in comparisons of computed figures.
const SLACK: f64 = 1.0 + 1e-9;

/// A failure worth keeping becomes a small named test here, not a seed in a file.
fn cases(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

fn ratios() -> impl Strategy<Value = f64> {
    prop_oneof![4 => 0.01..0.995f64, 1 => (2.0..9.0f64).prop_map(|digits| 1.0 - 10f64.powf(-digits))]
}

fn classes() -> impl Strategy<Value = HotCold> {
    (0.01..0.99f64, 0.001..1.0f64).prop_map(|(writes, part)| HotCold::new(writes, writes * part).expect("a hot class"))
}

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn more_choices_are_never_worse(rho in ratios(), b in 2..400u32) {
        let greedy = greedy(rho, b).unwrap();
        let ten = d_choices(rho, b, 10).unwrap();
        let two = d_choices(rho, b, 2).unwrap();
        let one = d_choices(rho, b, 1).unwrap();
        prop_assert!(1.0 <= greedy);
        prop_assert!(greedy <= ten * SLACK, "greedy {greedy}, ten {ten}");
        prop_assert!(ten <= two * SLACK, "ten {ten}, two {two}");
        prop_assert!(two <= one * SLACK, "two {two}, one {one}");
        prop_assert_eq!(one, random(rho).unwrap());
    }

    #[test]
    fn less_spare_costs_more(low in ratios(), high in ratios(), b in 2..400u32, hot in classes()) {
        let (low, high) = if low < high { (low, high) } else { (high, low) };
        let models: [(&str, &dyn Fn(f64) -> f64); 10] = [
            ("lru", &|rho| lru(rho).unwrap()),
            ("greedy", &|rho| greedy(rho, b).unwrap()),
            ("desnoyers", &|rho| desnoyers(rho, b).unwrap()),
            ("d-choices", &|rho| d_choices(rho, b, 5).unwrap()),
            ("random", &|rho| random(rho).unwrap()),
            ("best quota", &|rho| best_quota(rho, b, hot).unwrap().write_amplification),
            ("mixed greedy", &|rho| mixed_greedy(rho, b.min(64), hot).unwrap() / (1.0 + 1e-7)),
            ("mixed lru", &|rho| mixed_lru(rho, hot).unwrap()),
            ("zipf mixed", &|rho| zipf_mixed_lru(rho, 1.0, 10_000).unwrap()),
            ("zipf", &|rho| zipf_best_split(rho, 1.0, 10_000).unwrap()),
        ];
        for (name, model) in models {
            let (less, more) = (model(low), model(high));
            prop_assert!(less <= more * SLACK, "{} at {}: {}, at {}: {}", name, low, less, high, more);
        }
    }

    #[test]
    fn larger_blocks_bring_greedy_up_to_lru(rho in 0.3..0.99f64, b in 2..5000u32) {
        let (smaller, larger) = (greedy(rho, b).unwrap(), greedy(rho, 2 * b).unwrap());
        let limit = lru(rho).unwrap();
        prop_assert!(smaller <= larger * SLACK);
        prop_assert!(larger <= limit * SLACK);
        prop_assert!((greedy(rho, 1 << 16).unwrap() / limit - 1.0).abs() < 0.005);
    }

    #[test]
    fn a_block_yields_a_page_at_least(rho in ratios(), b in 2..400u32) {
        prop_assert!(greedy(rho, b).unwrap() <= f64::from(b));
    }

    #[test]
    fn the_best_quota_is_never_worse_than_uniform(rho in ratios(), b in 2..400u32, hot in classes()) {
        let quota = best_quota(rho, b, hot).unwrap();
        prop_assert!(1.0 <= quota.write_amplification * SLACK);
        prop_assert!(quota.write_amplification <= greedy(rho, b).unwrap() * SLACK);
        // The two parts fill the drive.
        let filled = hot.space() * rho / quota.hot_ratio + (1.0 - hot.space()) * rho / quota.cold_ratio;
        prop_assert!((filled - 1.0).abs() < 1e-9);
    }

    #[test]
    fn best_quota_beats_a_fine_scan(rho in 0.3..0.99f64, b in 2..200u32, hot in classes()) {
        let best = best_quota(rho, b, hot).unwrap().write_amplification;
        let spare = (1.0 - rho) / rho;
        let cold_space = 1.0 - hot.space();
        for step in 1..2000 {
            let share = f64::from(step) / 2000.0;
            let hot_wa = greedy(hot.space() / (hot.space() + share * spare), b).unwrap();
            let cold_wa = greedy(cold_space / (cold_space + (1.0 - share) * spare), b).unwrap();
            let scanned = hot.writes() * hot_wa + (1.0 - hot.writes()) * cold_wa;
            prop_assert!(best <= scanned * (1.0 + 1e-4), "best {} but {} at a share of {}", best, scanned, share);
        }
    }

    #[test]
    fn zipf_is_never_worse_than_uniform(rho in ratios(), exponent in 0.0..8.0f64, pages in 1..1u64 << 48) {
        let split = zipf_best_split(rho, exponent, pages).unwrap();
        prop_assert!(split.is_finite() && 1.0 <= split * SLACK);
        let uniform = lru(rho).unwrap();
        prop_assert!(split <= uniform * SLACK);
        prop_assert!(uniform <= zipf_mixed_lru(rho, exponent, pages).unwrap() * SLACK);
    }
}

proptest! {
    #![proptest_config(cases(60))]

    #[test]
    fn mixing_is_never_better_than_uniform(rho in ratios(), b in 2..130u32, hot in classes()) {
        let mixed = mixed_greedy(rho, b, hot).unwrap();
        let uniform = greedy(rho, b).unwrap();
        prop_assert!(uniform <= mixed * (1.0 + 1e-7), "uniform {uniform}, mixed {mixed}");
        prop_assert!(mixed <= f64::from(b) * SLACK);
        // Not always below: a hot class that dies out before its block is collected lifts some block sizes above the
        // limit by a tenth of a percent. A simulation confirms it (98.5/9, ratio 0.8, b = 123).
        prop_assert!(mixed <= mixed_lru(rho, hot).unwrap() * 1.01);
    }

    #[test]
    fn mixing_equal_classes_is_uniform(rho in ratios(), b in 2..130u32, share in 0.01..0.99f64) {
        let mixed = mixed_greedy(rho, b, HotCold::new(share, share).unwrap()).unwrap();
        let uniform = greedy(rho, b).unwrap();
        prop_assert!((mixed / uniform - 1.0).abs() < 1e-7, "uniform {uniform}, mixed {mixed}");
    }

    #[test]
    fn everything_at_once_is_finite(rho in ratios(), b in 2..260u32, hot in classes()) {
        let limits = Limits::compute(rho, b, Some(hot)).unwrap();
        let text = serde_json::to_string(&limits).unwrap();
        // A figure that is not finite would be written as null.
        prop_assert!(!text.contains("null"), "{}", text);
        prop_assert!(small_spare(rho, hot).unwrap().is_finite());
    }
}

#[test]
fn larger_blocks_bring_mixed_greedy_up_to_mixed_lru() {
    let hot = "90/10".parse().unwrap();
    for rho in [0.7, 0.9] {
        let limit = mixed_lru(rho, hot).unwrap();
        let mut last = 1.0;
        for b in [4, 16, 64, 256, 1024] {
            let mixed = mixed_greedy(rho, b, hot).unwrap();
            assert!(last < mixed && mixed < limit, "{mixed} at {b} pages per block, limit {limit}");
            last = mixed;
        }
        assert!(last > 0.99 * limit, "{last}, limit {limit}");
    }
}

/// Found by trying: the cold pages of a block hardly change from one collection to the next, and a chain that is
/// merely run never gets there.
#[test]
fn mixing_with_a_frozen_cold_class_answers() {
    for (rho, b, class) in [
        (0.999, 128, "99.999/0.001"),
        (0.9, 128, "99.9/0.1"),
        (0.8, 64, "99.9999/50"),
        (0.7, 16, "99.99999/1"),
        (0.7, 64, "99.9999999/0.0000001"),
        (0.7, 64, "99.9999999/99"),
        (0.7, 64, "50/0.0000001"),
    ] {
        let hot: HotCold = class.parse().unwrap();
        let mixed = mixed_greedy(rho, b, hot).unwrap();
        let limit = mixed_lru(rho, hot).unwrap();
        let uniform = greedy(rho, b).unwrap();
        assert!(uniform <= mixed && mixed <= limit, "{mixed} with {class} at {rho}, limit {limit}");
    }
}

#[test]
fn zipf_with_exponent_zero_is_uniform() {
    for rho in [0.3, 0.7, 0.9, 0.999] {
        let uniform = lru(rho).unwrap();
        let split = zipf_best_split(rho, 0.0, 1 << 20).unwrap();
        assert!((split / uniform - 1.0).abs() < 1e-9, "{split} and {uniform}");
    }
}

/// Found by a property test: with a hundred pages for each logical one, 1 − y rounds to nothing.
#[test]
fn zipf_with_nearly_everything_spare_costs_nothing() {
    for rho in [1e-9, 1e-3, 0.01] {
        let split = zipf_best_split(rho, 1.0158, 233_241_933).unwrap();
        assert!((split - 1.0).abs() < 1e-9, "{split} at {rho}");
    }
}

#[test]
fn many_choices_are_greedy() {
    for rho in [0.5, 0.7, 0.9, 0.98] {
        let (many, greedy) = (d_choices(rho, 64, 1 << 14).unwrap(), greedy(rho, 64).unwrap());
        assert!((many / greedy - 1.0).abs() < 1e-3, "{many} and {greedy}");
    }
}

#[test]
fn blocks_of_two_by_hand() {
    // Up to 1/H_2 = 2/3 blocks empty by themselves. Above, the threshold is one page: of the collected blocks u
    // are empty, 2ρ(1/2 + u) = 1 + u.
    assert_eq!(greedy(0.6, 2).unwrap(), 1.0);
    let rho = 0.8;
    let u = (1.0 - rho) / (2.0 * rho - 1.0);
    assert!((greedy(rho, 2).unwrap() - 2.0 / (1.0 + u)).abs() < 1e-12);
}

#[test]
fn the_extremes_of_block_size_answer() {
    let hot = "80/20".parse().unwrap();
    for rho in [1e-9, 0.1, 0.7, 0.999, 1.0 - 2e-9] {
        for b in [2, phelsuma_limits::MAX_PAGES_PER_BLOCK] {
            assert!(greedy(rho, b).unwrap().is_finite());
            assert!(desnoyers(rho, b).unwrap().is_finite());
            assert!(d_choices(rho, b, phelsuma_limits::MAX_CHOICES).unwrap().is_finite());
            assert!(best_quota(rho, b, hot).unwrap().write_amplification.is_finite());
        }
        assert!(mixed_greedy(rho, 2, hot).unwrap().is_finite());
    }
}
