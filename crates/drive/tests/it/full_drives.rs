//! Drives as full as they may be: every request is done, or refused at the start. They do not collect in circles.

use phelsuma_drive::{Fill, FoldChoice, Input, RunConfig, RunError, RunResult, run};
use phelsuma_ftl::{MappingPart, PRESETS};
use phelsuma_trace::{OpenOptions, TraceOrigin};
use std::fmt::Write;
use std::path::PathBuf;
use std::sync::mpsc::channel;
use std::time::Duration;

/// Of policies that look at every block for each victim, and of those that do not.
const CAPACITIES: [u64; 2] = [8 << 20, 32 << 20];
const PAGE: u64 = 512;
/// Pages of a trim region: as many as a flash page has bits.
const REGION: u64 = PAGE * 8;
/// What takes longer hangs; it takes some seconds.
const PATIENCE: Duration = Duration::from_secs(600);

/// Every logical page is written, one page of each trim region trimmed, and everything rewritten three times.
fn trace_of_touched_regions(logical_pages: u64) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("regions-{logical_pages}.csv"));
    let mut text = String::from("time_us,device,op,offset_bytes,size_bytes\n");
    let mut time = 0;
    let mut line = |op: &str, page: u64, pages: u64| {
        writeln!(text, "{time},0,{op},{},{}", page * PAGE, pages * PAGE).unwrap();
        time += 1;
    };
    for region in 0..logical_pages.div_ceil(REGION) {
        line("trim", (region * REGION + 77).min(logical_pages - 1), 1);
    }
    line("flush", 0, 0);
    for _ in 0..3 {
        for first in (0..logical_pages).step_by(64) {
            line("write", first, 64.min(logical_pages - first));
        }
    }
    std::fs::write(&path, text).unwrap();
    path
}

/// Runs it at the largest number of logical pages up to `ratio` that fits.
fn rewritten_after_trims(ftl: &str, capacity: u64, ratio: f64) -> Result<RunResult, RunError> {
    let logical_pages = (capacity as f64 / PAGE as f64 * ratio) as u64;
    let input = Input::Trace {
        trace: TraceOrigin::Files {
            paths: vec![trace_of_touched_regions(logical_pages)],
            options: OpenOptions::default(),
        },
        fold: FoldChoice::Compact,
        loops: 1,
    };
    let mut config = RunConfig::new(ftl, input)?;
    config.shape.capacity_bytes = Some(capacity);
    config.shape.page_bytes = PAGE as u32;
    config.shape.pages_per_block = 4;
    config.shape.ratio = ratio;
    config.fill = Fill::Sequential;
    // On a thread of its own: a hang is within a single request, where no stop is checked.
    let (tell, told) = channel();
    std::thread::spawn(move || {
        // The receiver is gone once the test has failed.
        let _ = tell.send(run(&config, &|_| true));
    });
    told.recv_timeout(PATIENCE).unwrap_or_else(|_| panic!("{ftl} hangs"))
}

/// The largest ratio that the refusal names.
fn largest(error: &RunError) -> f64 {
    let text = error.to_string();
    let (_, ratio) = text.split_once("the largest ratio that fits is ").unwrap_or_else(|| panic!("{text}"));
    // What would hold the trace comes after it.
    ratio.split(';').next().and_then(|ratio| ratio.trim().parse().ok()).unwrap_or_else(|| panic!("{text}"))
}

fn assert_rewritten(ftls: impl IntoIterator<Item = (&'static str, u64)>) {
    for (ftl, capacity) in ftls {
        // A drive that does not fit is refused, and one that is said to fit does.
        let mut result = rewritten_after_trims(ftl, capacity, 0.9990);
        if let Err(refused @ RunError::Input(_)) = &result {
            result = rewritten_after_trims(ftl, capacity, largest(refused));
        }
        let result = result.unwrap_or_else(|error| panic!("{}: {error}", ftl));
        let pages = result.geometry.logical_bytes / PAGE;
        assert!(result.geometry.ratio > 0.99, "{}: only ratio {} fits", ftl, result.geometry.ratio);
        assert_eq!(result.host.write_pages, 3 * pages, "{}", ftl);
        assert_eq!(result.host.trim_pages, pages.div_ceil(REGION), "{}", ftl);
        assert!(result.flash["trim"].programs > 0, "{}: trims are written", ftl);
    }
}

#[test]
fn a_drive_as_full_as_it_goes_with_every_trim_region_touched_can_be_rewritten() {
    // The others keep their mapping on flash, and trims with it.
    let parts = PRESETS.iter().filter_map(|preset| Some((preset.name, preset.composition.page_mapped()?)));
    let in_ram = parts.filter(|(_, parts)| parts.mapping == MappingPart::RamTable);
    // Not in the long mode some: which trims are written back does not depend on the policy.
    let all = std::env::var_os("PHELSUMA_THOROUGH").is_some();
    let tried = in_ram.filter(|(name, _)| all || ["page", "dual-greedy", "dac", "midas"].contains(name));
    assert_rewritten(tried.map(|(name, parts)| {
        let looks_at_few = ["greedy", "fifo", "d-choices", "dual-greedy"].contains(&parts.victim.name());
        (name, CAPACITIES[usize::from(looks_at_few)])
    }));
}
