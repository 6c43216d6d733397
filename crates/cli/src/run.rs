//! `phelsuma run`: one FTL, one input, a summary.

use crate::errors::Outcome;
use crate::progress::Bars;
use crate::table::number;
use crate::{output, remarks, spent, table};
use phelsuma_claims::SOURCES;
use phelsuma_drive::{Distribution, Distributions, FlashCounts, Latency, RecoveryResult, RunConfig, RunResult, Saving};
use phelsuma_options::{RunArgs, count, size};
use phelsuma_trace::histogram::{Modes, Picture, modes};
use std::fmt::Write;
use std::path::PathBuf;

/// Options of `run`.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) of: RunArgs,
    /// Save the drive to this file after fill and warm-up, for runs with --from
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
    /// Begin with the drive of this file, in place of fill and warm-up; all options of the drive must be the same
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
}

/// Runs it.
pub(crate) fn main(args: &Args) -> Outcome {
    let (config, _) = &args.of.config()?;
    let bar = Bars::new().add(&config.ftl);
    let saving = Saving { build: SOURCES, from: args.from.as_deref(), to: args.save.as_deref() };
    let result = phelsuma_drive::run_saving(config, &saving, &|progress| {
        bar.show(&progress);
        true
    });
    bar.done();
    let result = result?;
    if args.json { output::json(&result) } else { output::print(&as_text(&result, config, args.of.drive.chosen())) }
}

fn as_text(result: &RunResult, config: &RunConfig, chosen: &str) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = write_text(&mut text, result, config, chosen);
    let prose = |line: &str| line.starts_with(char::is_alphabetic);
    let lines =
        text.lines().map(|line| if prose(line) { table::wrapped(line, table::PROSE_WIDTH_MAX) } else { line.into() });
    lines.collect::<Vec<String>>().join("\n") + "\n"
}

fn write_text(out: &mut String, result: &RunResult, config: &RunConfig, chosen: &str) -> std::fmt::Result {
    let (parts, g) = (&result.composition, &result.geometry);
    writeln!(
        out,
        "{}: {}, {}, {}, {}, metadata {}, power {}, collection {}",
        remarks::named(&result.ftl, result.oracle),
        parts.mapping,
        parts.validity,
        parts.victim,
        parts.placement,
        parts.metadata,
        parts.power,
        parts.collection
    )?;
    if result.oracle {
        writeln!(out, "{}", remarks::ABOUT_ORACLES)?;
    }
    if let Some(remark) = remarks::changed(result) {
        writeln!(out, "{remark}")?;
    }
    writeln!(
        out,
        "drive: {} flash{chosen}, {} logical (ratio {:.4}, effective {:.4}); {} blocks of {} pages of {}; channels: {}, dies on each: {}; reserve {} blocks, {} open",
        size::show(g.capacity_bytes),
        size::show(g.logical_bytes),
        g.ratio,
        g.effective_ratio,
        count(g.blocks.into()),
        g.pages_per_block,
        size::show(g.page_bytes.into()),
        g.channels,
        g.dies,
        g.reserve_blocks,
        g.open_blocks
    )?;
    let about = [
        remarks::small_drive([result]),
        remarks::extreme_ratio(result),
        remarks::unused_blocks(result),
        remarks::one_group(result),
        remarks::small_blocks(config),
        remarks::one_by_one(config),
    ];
    for remark in about.iter().flatten() {
        writeln!(out, "{remark}")?;
    }
    let fold = result.fold.as_ref().map(|fold| format!(", folded: {fold}")).unwrap_or_default();
    writeln!(out, "input: {}{fold}; {}", result.workload, remarks::protocol(config))?;
    for remark in remarks::read(result).into_iter().chain(result.input.iter().flat_map(remarks::warnings)) {
        writeln!(out, "{remark}")?;
    }
    let host = &result.host;
    writeln!(
        out,
        "host: {} requests; pages written {}, read {}, trimmed {}; {} written in part",
        count(host.requests),
        count(host.write_pages),
        count(host.read_pages),
        count(host.trim_pages),
        count(host.partial_pages)
    )?;
    if let Some(remark) = remarks::dropped(result) {
        writeln!(out, "{remark}")?;
    }
    match &result.write_amplification {
        None => writeln!(out, "write amplification: none, the host wrote nothing")?,
        Some(wa) => {
            let steady = match result.steady {
                Some(true) => "steady",
                Some(false) if result.loops > Some(1) => "not steady: the last two loops differ by 0.5 % or more",
                Some(false) => "not steady: the two halves of the counted part differ by 0.5 % or more",
                None if result.counters.get("collections") == Some(&0) => "steadiness unknown: nothing was collected",
                None => "steadiness unknown",
            };
            write!(
                out,
                "write amplification: {:.4} = user {:.4} + translation {:.4} + validity {:.4} + other {:.4}",
                wa.total, wa.user, wa.translation, wa.validity, wa.other
            )?;
            // Where pages are programmed many at a time, one does not cost a program.
            if result.times_are_of_flash_alone {
                write!(
                    out,
                    "; {:.4} with reads weighted as GeckoFTL's paper does, 1/{:.0} of a program each",
                    wa.by_reads_weighted, result.delta
                )?;
            }
            writeln!(out, " ({steady})")?;
        }
    }
    let mut flash = table::numbers(&["purpose", "reads", "spare reads", "programs", "erases"]);
    for (purpose, n) in result.flash.iter().filter(|(_, n)| **n != FlashCounts::default()) {
        flash.add_row([purpose.clone(), count(n.reads), count(n.spare_reads), count(n.programs), count(n.erases)]);
    }
    writeln!(out, "{flash}")?;
    let e = &result.erases;
    writeln!(
        out,
        "erases: {}; per block {} to {}, mean {:.2}, standard deviation {:.2}",
        count(e.total),
        e.min,
        e.max,
        e.mean,
        e.stddev
    )?;
    let mut latency = table::numbers(&["latency, µs", "mean", "p50", "p99", "p99.9", "max"]);
    for (name, l) in [("write", &result.latency_us.write), ("read", &result.latency_us.read)] {
        let Some(Latency { mean, p50, p99, p999, max }) = *l else {
            latency.add_row([name, "-", "-", "-", "-", "-"]);
            continue;
        };
        latency.add_row([name.to_string(), number(mean), number(p50), number(p99), number(p999), number(max)]);
    }
    writeln!(out, "{latency}")?;
    let t = &result.throughput;
    writeln!(
        out,
        "throughput: {} MB/s written, {} MB/s read, {} requests a second{}",
        number(t.write_mb_per_second),
        number(t.read_mb_per_second),
        number(t.requests_per_second),
        if result.times_are_of_flash_alone { "; times are of flash alone: no buffer, firmware or link" } else { "" }
    )?;
    for table in result.time.iter().flat_map(spent::tables) {
        writeln!(out, "{table}")?;
    }
    writeln!(out, "{}", ram(result))?;
    if let Some(choices) = &result.victim_choices {
        writeln!(
            out,
            "victims: {} chosen; blocks examined for each: {} on average, {} at most",
            count(choices.count),
            number(choices.blocks_examined_mean),
            count(choices.blocks_examined_max)
        )?;
    }
    if let Some(merges) = remarks::Merges::of(result) {
        writeln!(out, "{}", merges.show())?;
    }
    if !result.counters.is_empty() {
        let counters: Vec<String> = result.counters.iter().map(|(name, n)| format!("{name} {}", count(*n))).collect();
        writeln!(out, "counters: {}", counters.join(", "))?;
    }
    if !result.series.is_empty() {
        writeln!(out, "{}", spent::series(&result.series))?;
    }
    if let Some(distributions) = &result.distributions {
        let Distributions { page_lifetimes, block_dormant_periods, first_invalidations, .. } = distributions;
        distribution(out, "lifetimes of pages", page_lifetimes)?;
        distribution(out, "dormant periods of blocks", block_dormant_periods)?;
        let first = count(*first_invalidations);
        writeln!(
            out,
            "pages that were the first of their block to become stale, which ends no dormant period: {first}"
        )?;
    }
    if let Some(recovery) = &result.recovery {
        writeln!(out, "{}", recovery_steps(recovery))?;
        if let Some(lost) = recovery.lost_pages {
            let lost = count(lost);
            writeln!(
                out,
                "unflushed writes may be lost: {lost} pages that held data now read as zeros or errors; pages that read \
                 as an older version are counted only by phelsuma crash"
            )?;
        }
        writeln!(out, "the recovery itself used {} of RAM", size::show(recovery.scratch_bytes))?;
    }
    if result.times_are_of_flash_alone {
        let managed = &result.management_seconds;
        writeln!(
            out,
            "management overhead {:.3} s of flash time: collection {:.3}, translation {:.3}, validity {:.3}, other {:.3}",
            managed.total, managed.user, managed.translation, managed.validity, managed.other
        )?;
    }
    let m = &result.machine;
    let rss = m.peak_rss_bytes.map(|b| format!("{} at most", size::show(b)));
    writeln!(
        out,
        "simulated time {:.3} s; took {:.2} s ({:.2} s of CPU), {} host pages a second; memory {}, page data {}",
        result.simulated_seconds,
        m.wall_seconds,
        m.cpu_seconds,
        count(m.host_pages_per_second.max(0.0) as u64),
        rss.unwrap_or_else(|| size::show(m.simulation_bytes)),
        size::show(m.payload_bytes)
    )
}

fn distribution(out: &mut String, of: &str, d: &Distribution) -> std::fmt::Result {
    if d.histogram_log2.is_empty() {
        return writeln!(out, "{of}: none");
    }
    let [p50, p90, p99] = [d.p50_at_most, d.p90_at_most, d.p99_at_most].map(count);
    writeln!(out, "{of}, in host pages written: half are at most {p50}, 90 % {p90}, 99 % {p99}")?;
    writeln!(out, "{}", Picture { entries: &d.histogram_log2 })?;
    if let Some(Modes { low, valley, high }) = modes(&d.histogram_log2) {
        writeln!(out, "two modes, from 2^{low} and from 2^{high}, apart at 2^{valley}")?;
    }
    Ok(())
}

fn ram(result: &RunResult) -> comfy_table::Table {
    let mut table = table::numbers(&["RAM", "as papers count", "all"]);
    let (papers, all) = (&result.ram_bytes.papers, &result.ram_bytes.all);
    let mut names: Vec<&String> = papers.keys().chain(all.keys()).filter(|name| *name != "total").collect();
    names.sort_unstable();
    names.dedup();
    let total = "total".to_string();
    names.push(&total);
    for name in names {
        let show = |column: &phelsuma_drive::RamColumn| column.get(name).map_or_else(String::new, |b| size::show(*b));
        table.add_row([name.clone(), show(papers), show(all)]);
    }
    table
}

fn recovery_steps(recovery: &RecoveryResult) -> comfy_table::Table {
    let mut table = table::numbers(&["recovery step", "reads", "spare reads", "programs", "µs"]);
    let mut sums = (0, 0, 0);
    for step in &recovery.steps {
        sums = (sums.0 + step.reads, sums.1 + step.spare_reads, sums.2 + step.programs);
        let counts = [count(step.reads), count(step.spare_reads), count(step.programs)];
        let [reads, spare_reads, programs] = counts;
        table.add_row([step.name.clone(), reads, spare_reads, programs, number(step.us)]);
    }
    let total = number(recovery.simulated_us);
    table.add_row(["total".to_string(), count(sums.0), count(sums.1), count(sums.2), total]);
    if recovery.battery_programs > 0 {
        let before = "before that, on battery".to_string();
        table.add_row([before, String::new(), String::new(), count(recovery.battery_programs), String::new()]);
    }
    table
}
