//! The models against a brute-force drive of a few thousand blocks.
//!
//! The models mean infinitely many blocks; at a few thousand they agree within half a percent. The simulated drive
//! keeps no reserve, and its open block is full whenever a victim is chosen: all of its pages count as usable.

use crate::simulator::{Drive, Victim};
use phelsuma_limits::{HotCold, best_quota, d_choices, greedy, lru, mixed_greedy, zipf_mixed_lru};

const BLOCKS: usize = 4096;

#[track_caller]
fn agree(simulated: f64, model: f64) {
    assert!((simulated / model - 1.0).abs() < 0.005, "simulated {simulated}, by the model {model}");
}

/// Simulated WA of uniform writes.
fn uniform(rho: f64, b: usize, victim: Victim) -> f64 {
    let logical = (rho * (BLOCKS * b) as f64) as usize;
    let mut drive = Drive::new(BLOCKS, b, logical, victim);
    drive.measure(20 * logical, 10 * logical, |drive| drive.below(logical))
}

fn hot_and_cold(blocks: usize, rho: f64, b: usize, hot: HotCold) -> f64 {
    let logical = (rho * (blocks * b) as f64) as usize;
    let hot_pages = (hot.space() * logical as f64).round() as usize;
    let mut drive = Drive::new(blocks, b, logical, Victim::Greedy);
    drive.measure(20 * logical, 8 * logical, |drive| {
        let is_hot = drive.below(1 << 40) < (hot.writes() * (1u64 << 40) as f64) as usize;
        if is_hot { drive.below(hot_pages) } else { hot_pages + drive.below(logical - hot_pages) }
    })
}

#[test]
fn greedy_collection() {
    for (rho, b) in [(0.5, 4), (0.7, 16), (0.8, 64), (0.9, 32), (0.95, 16)] {
        let simulated = uniform(rho, b, Victim::Greedy);
        agree(simulated, greedy(rho, b as u32).unwrap());
    }
}

#[test]
fn choices() {
    for (rho, b, d) in [(0.7, 16, 2), (0.9, 32, 2), (0.8, 32, 10), (0.9, 16, 1)] {
        let simulated = uniform(rho, b, Victim::Choices(d));
        agree(simulated, d_choices(rho, b as u32, d).unwrap());
    }
}

#[test]
fn first_in_first_out() {
    for rho in [0.7, 0.9] {
        let simulated = uniform(rho, 64, Victim::Fifo);
        agree(simulated, lru(rho).unwrap());
    }
}

#[test]
fn mixed_classes_under_one_greedy_collector() {
    for (rho, b, class) in
        [(0.7, 16, "80/20"), (0.8, 32, "90/10"), (0.9, 16, "90/10"), (0.9, 8, "95/40"), (0.8, 128, "90/10")]
    {
        let hot = class.parse().unwrap();
        let simulated = hot_and_cold(2048, rho, b, hot);
        agree(simulated, mixed_greedy(rho, b as u32, hot).unwrap());
    }
}

#[test]
fn separate_drives_with_the_best_quota() {
    let hot: HotCold = "90/10".parse().unwrap();
    let quota = best_quota(0.85, 32, hot).unwrap();
    let hot_wa = uniform(quota.hot_ratio, 32, Victim::Greedy);
    let cold_wa = uniform(quota.cold_ratio, 32, Victim::Greedy);
    agree(hot_wa, greedy(quota.hot_ratio, 32).unwrap());
    agree(cold_wa, greedy(quota.cold_ratio, 32).unwrap());
    agree(hot.writes() * hot_wa + (1.0 - hot.writes()) * cold_wa, quota.write_amplification);
}

#[test]
fn zipf_mixed_under_first_in_first_out() {
    let (blocks, b, rho) = (1024, 64, 0.8);
    let logical = (rho * f64::from(blocks * b)) as usize;
    let mut cumulated = vec![0.0];
    for rank in 1..=logical {
        cumulated.push(cumulated[rank - 1] + 1.0 / rank as f64);
    }
    let mut drive = Drive::new(blocks as usize, b as usize, logical, Victim::Fifo);
    let wa = drive.measure(20 * logical, 10 * logical, |drive| {
        let drawn = drive.below(1 << 52) as f64 / (1u64 << 52) as f64 * cumulated[logical];
        cumulated.partition_point(|&sum| sum <= drawn) - 1
    });
    agree(wa, zipf_mixed_lru(rho, 1.0, logical as u64).unwrap());
}
