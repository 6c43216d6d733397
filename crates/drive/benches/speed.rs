//! Speed and memory of the simulation under uniform random writes: `page` and `geckoftl` at 4 GiB and at 256 GiB,
//! `pl-greedy` and `phelsuma` at 4 GiB.
//!
//! Each run fills the drive, overwrites it once uncounted and then measures a pass (`geckoftl` on the large drive: a
//! fifth of one). The figure is host pages per CPU second of the measured part. Machines are noisy, so several runs are
//! made, the small and the large drive in turn. The best, the median and the worst are printed. `PHELSUMA_BENCH_RUNS`
//! sets how many (default 5).

use phelsuma_drive::{Input, RunConfig, RunResult, run};
use phelsuma_trace::Workload;

const GIB: u64 = 1 << 30;

fn measure(ftl: &str, capacity_bytes: u64) -> RunResult {
    let mut config = RunConfig::new(ftl, Input::Workload(Workload::Uniform)).expect("a preset");
    config.shape.capacity_bytes = Some(capacity_bytes);
    config.warmup = 1.0;
    if ftl == "geckoftl" {
        // About 1.4 entries for each translation page.
        let translation_pages = (capacity_bytes as f64 * 0.70 / 4096.0 / 1024.0).ceil();
        config.composition.set("mapping.cache", &format!("{:.0}", translation_pages * 1.4)).expect("a cache");
        config.passes = if capacity_bytes > 4 * GIB { 0.2 } else { 1.0 };
    }
    run(&config, &|_| true).expect("a run that fits")
}

const CASES: [(&str, u64); 6] = [
    ("page", 4 * GIB),
    ("pl-greedy", 4 * GIB),
    ("geckoftl", 4 * GIB),
    ("phelsuma", 4 * GIB),
    ("page", 256 * GIB),
    ("geckoftl", 256 * GIB),
];

fn main() {
    let runs: usize = std::env::var("PHELSUMA_BENCH_RUNS").ok().and_then(|r| r.parse().ok()).unwrap_or(5);
    println!("{runs} runs each, uniform random writes, ratio 0.70, 4 KiB pages, 128 a block, one core");
    println!(
        "{:<12}{:>10}{:>9}{:>24}{:>24}",
        "FTL", "capacity", "WA", "M host pages/CPU second", "bytes/physical page"
    );
    println!("{:<12}{:>10}{:>9}{:>24}{:>24}", "", "", "", "worst  median  best", "");
    for (ftl, capacity) in CASES {
        let results: Vec<RunResult> = (0..runs.max(1)).map(|_| measure(ftl, capacity)).collect();
        let mut speeds: Vec<f64> = results.iter().map(|r| r.machine.host_pages_per_second / 1e6).collect();
        speeds.sort_by(f64::total_cmp);
        let result = &results[0];
        let pages = (result.geometry.capacity_bytes / u64::from(result.geometry.page_bytes)) as f64;
        println!(
            "{:<12}{:>10}{:>9.4}{:>24}{:>24.2}",
            ftl,
            format!("{} GiB", capacity / GIB),
            result.write_amplification.map_or(0.0, |w| w.total),
            format!("{:.2}  {:.2}  {:.2}", speeds[0], speeds[speeds.len() / 2], speeds[speeds.len() - 1]),
            result.machine.simulation_bytes as f64 / pages,
        );
        if capacity == 256 * GIB
            && let Some(peak) = result.machine.peak_rss_bytes
        {
            println!("the whole process at its peak: {:.2} bytes per physical page", peak as f64 / pages);
        }
    }
}
