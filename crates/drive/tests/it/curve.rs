//! Uniform random writes land on the curves of the analytic models, at the ratio that garbage collection really has.
//!
//! By default a few small drives; with `PHELSUMA_THOROUGH=1` the whole matrix at 16 GiB.

use phelsuma_drive::{Input, RunConfig, run};
use phelsuma_trace::Workload;
use std::io::Write;
use std::thread;

/// A measurement may be off by this much.
const TOLERANCE: f64 = 0.005;

#[derive(Clone, Copy)]
struct Case {
    ftl: &'static str,
    ratio: f64,
    pages_per_block: u32,
    gib: u64,
    warmup: f64,
}

impl Case {
    /// Measured write amplification and the model's.
    fn measure(self) -> (f64, f64) {
        let mut config = RunConfig::new(self.ftl, Input::Workload(Workload::Uniform)).unwrap();
        config.shape.ratio = self.ratio;
        config.shape.pages_per_block = self.pages_per_block;
        config.shape.capacity_bytes = Some(self.gib << 30);
        config.warmup = self.warmup;
        let result = run(&config, &|_| true).unwrap();
        let effective = result.geometry.effective_ratio;
        let model = match self.ftl {
            "page" => phelsuma_limits::greedy(effective, self.pages_per_block),
            "fifo" => phelsuma_limits::lru(effective),
            "d-choices" => phelsuma_limits::d_choices(effective, self.pages_per_block, 10),
            other => panic!("no model of {other}"),
        };
        (result.write_amplification.unwrap().total, model.unwrap())
    }

    fn check(self) {
        let (measured, model) = self.measure();
        let off = measured / model - 1.0;
        let Self { ftl, ratio, pages_per_block, gib, .. } = self;
        let line = format!(
            "{ftl} at ratio {ratio}, {pages_per_block} pages per block, {gib} GiB: measured {measured:.4}, model {model:.4}, off by {:+.2} %",
            off * 100.0
        );
        println!("{line}");
        assert!(off.abs() < TOLERANCE, "{line}");
    }
}

/// All of them, as many at a time as there are cores.
fn check_all(cases: &[Case]) {
    let threads = thread::available_parallelism().map_or(1, |n| n.get());
    let next = std::sync::atomic::AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(case) = cases.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed)) {
                    case.check();
                }
            });
        }
    });
}

#[test]
fn small_drives_land_on_the_curves() {
    let case = |ftl, ratio| Case { ftl, ratio, pages_per_block: 128, gib: 4, warmup: 2.0 };
    check_all(&[case("page", 0.70), case("fifo", 0.70), case("d-choices", 0.70)]);
}

/// With a sixteenth of the counters in RAM.
fn sampled(looks: &str) -> (f64, f64) {
    let mut config = RunConfig::new("page", Input::Workload(Workload::Uniform)).unwrap();
    config.shape.capacity_bytes = Some(4 << 30);
    for (name, value) in [("victim", "sampled"), ("victim.looks", looks)] {
        config.composition.set(name, value).unwrap();
    }
    let result = run(&config, &|_| true).unwrap();
    (result.write_amplification.unwrap().total, result.geometry.effective_ratio)
}

/// No policy is better than greedy under uniform writes. One that looks at four blocks for each that it collects should
/// be better than the best of ten drawn at random, because it remembers.
#[test]
fn a_sample_of_the_counters_lies_between_greedy_and_d_choices() {
    let (four, ratio) = sampled("4");
    let (sixteen, _) = sampled("16");
    let greedy = phelsuma_limits::greedy(ratio, 128).unwrap();
    let d_choices = phelsuma_limits::d_choices(ratio, 128, 10).unwrap();
    let line = format!("greedy {greedy:.4}, 16 looks {sixteen:.4}, 4 looks {four:.4}, d-choices {d_choices:.4}");
    println!("{line}");
    assert!(sixteen > greedy * (1.0 - TOLERANCE) && sixteen < greedy * (1.0 + TOLERANCE), "{line}");
    assert!(sixteen < four && four < d_choices * (1.0 - TOLERANCE), "{line}");
}

#[test]
fn the_whole_matrix_lands_on_the_curves() {
    if std::env::var_os("PHELSUMA_THOROUGH").is_none() {
        writeln!(std::io::stderr(), "skipped: 15 drives of 16 GiB, PHELSUMA_THOROUGH=1 runs them").unwrap();
        return;
    }
    let mut cases = Vec::new();
    for ratio in [0.70, 0.80, 0.90] {
        // Convergence takes the longer the less spare there is.
        let warmup = if ratio > 0.85 { 5.0 } else { 3.0 };
        for pages_per_block in [64, 128, 256] {
            cases.push(Case { ftl: "page", ratio, pages_per_block, gib: 16, warmup });
        }
        for ftl in ["fifo", "d-choices"] {
            cases.push(Case { ftl, ratio, pages_per_block: 128, gib: 16, warmup });
        }
    }
    check_all(&cases);
}
