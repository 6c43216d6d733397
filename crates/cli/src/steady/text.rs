//! A steady-state test as tables: the rounds and their window, and a matrix of what was measured.

use crate::remarks;
use crate::table::{self, number};
use comfy_table::Table;
use phelsuma_drive::steady::{Load, Measured, Part, Pattern, RANGE_MAX, Round, SLOPE_MAX, SteadyResult, WINDOW};
use phelsuma_drive::{Latency, RunConfig};
use phelsuma_options::{count, size};
use std::fmt::Write;

/// The widest that lines of prose are.
const WIDTH_MAX: usize = 98;
/// Rows of a table of rounds at the most; of more rounds, some are left out.
const ROWS_MAX: usize = 40;

/// The whole text.
pub(super) fn of(result: &SteadyResult, drive: &RunConfig, chosen: &str) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = write(&mut text, result, drive, chosen);
    text
}

fn write(out: &mut String, result: &SteadyResult, drive: &RunConfig, chosen: &str) -> std::fmt::Result {
    let g = &result.geometry;
    let mut say = |line: String| writeln!(out, "{}", table::wrapped(&line, WIDTH_MAX));
    say(format!("{}: test of {}, after SNIA's PTS", result.ftl, about(result.test)))?;
    if let Some(remark) = remarks::changed_names(&result.ftl, &result.composition) {
        say(remark)?;
    }
    say(format!(
        "drive: {} flash{chosen}, {} logical (ratio {:.4}, effective {:.4}); channels: {}, dies on each: {}",
        size::show(g.capacity_bytes),
        size::show(g.logical_bytes),
        g.ratio,
        g.effective_ratio,
        g.channels,
        g.dies
    ))?;
    for remark in [remarks::small_blocks(drive), remarks::one_by_one(drive)].into_iter().flatten() {
        say(remark)?;
    }
    let times = match result.times_are_of_flash_alone {
        true => ", times of flash alone: no buffer, firmware or link",
        false => "",
    };
    say(format!("timing {}{times}; queue depth {}, seed {}", result.timing, result.queue_depth, result.seed))?;
    let length = match (result.load_capacities, result.load_seconds) {
        (Some(share), _) => {
            format!("until it has moved {share} of the logical capacity, and more than the buffers hold")
        }
        (None, seconds) => format!("for {} simulated seconds", seconds.unwrap_or_default()),
    };
    say(format!("each load of a round goes on {length}; the specification takes 60 s"))?;
    for part in &result.parts {
        writeln!(out)?;
        write_part(out, result, part)?;
    }
    Ok(())
}

fn about(test: &str) -> &str {
    match test {
        "iops" => "IOPS",
        "write-saturation" => "write saturation",
        other => other,
    }
}

/// The unit of the tracked value.
pub(super) fn unit(part: &Part) -> &'static str {
    match part.tracked_value {
        "mb_per_second" => "MB/s",
        "latency_us.write.mean" => "mean µs",
        _ => "IOPS",
    }
}

/// A load in words.
pub(super) fn named(load: &Load) -> String {
    let pattern = match load.pattern {
        Pattern::Random => "random",
        Pattern::Sequential => "sequential",
    };
    let what = match load.read_percent {
        0 => "writes".to_string(),
        100 => "reads".to_string(),
        percent => format!("{percent} % reads"),
    };
    format!("{pattern} {what} of {}", size::show(load.block_bytes))
}

fn write_part(out: &mut String, result: &SteadyResult, part: &Part) -> std::fmt::Result {
    let before = match part.preconditioning_block_bytes {
        Some(bytes) => format!(
            "purged, then {:.2} capacities written in sequence, {} a request",
            part.preconditioning_capacities,
            size::show(bytes)
        ),
        None => "purged, nothing written before".to_string(),
    };
    let tracked = format!("{before}; tracked: {}, {}", named(&part.tracked), unit(part));
    writeln!(out, "{}", table::wrapped(&tracked, WIDTH_MAX))?;
    if part.steady.is_none() {
        writeln!(out, "{}", saturation(part))?;
        return Ok(());
    }
    writeln!(out, "{}", rounds(part))?;
    writeln!(out, "{}", table::wrapped(&verdict(result, part), WIDTH_MAX))?;
    let last = part.rounds.len().min(WINDOW);
    writeln!(out, "of the last {last} rounds, the mean; of maxima, the largest:")?;
    for table in matrices(result.test, &part.loads) {
        writeln!(out, "{table}")?;
    }
    Ok(())
}

/// The rounds with the tracked value.
fn rounds(part: &Part) -> Table {
    let mut table = table::numbers(&["round", "capacities written", "simulated s", unit(part), "in the window"]);
    for round in &part.rounds {
        let inside = part.window.is_some_and(|w| (w.first_round..=w.last_round).contains(&round.round));
        table.add_row([
            round.round.to_string(),
            format!("{:.2}", round.capacities_written),
            format!("{:.3}", round.simulated_seconds),
            number(round.tracked),
            if inside { "yes" } else { "" }.to_string(),
        ]);
    }
    table
}

fn verdict(result: &SteadyResult, part: &Part) -> String {
    let Some(window) = &part.window else {
        return format!("not steady: {} rounds are fewer than the {WINDOW} of a window", part.rounds.len());
    };
    let percent = |share: f64| format!("{:.1} %", share * 100.0);
    let figures = format!(
        "mean {} {}; range {} of it (at most {} %), slope {} (at most {} %)",
        number(window.mean),
        unit(part).trim_start_matches("mean "),
        percent(window.range),
        RANGE_MAX * 100.0,
        percent(window.slope),
        SLOPE_MAX * 100.0
    );
    // The rounds count from 1, so this is the one before the window.
    let before = (window.first_round as usize).checked_sub(2).and_then(|n| part.rounds.get(n));
    let written = |of: Option<&Round>| of.map_or(part.preconditioning_capacities, |round| round.capacities_written);
    let spans = written(part.rounds.last()) - written(before);
    let figures = format!("{figures}; the window wrote {spans:.2} capacities");
    match part.steady {
        Some(true) => format!("steady in rounds {} to {}: {figures}", window.first_round, window.last_round),
        _ => format!("not steady after {} rounds, which --rounds allows: {figures}", result.rounds_max),
    }
}

/// Block sizes by shares of reads.
fn matrices(test: &str, loads: &[Measured]) -> Vec<Table> {
    let mut sizes: Vec<u64> = Vec::new();
    let mut mixes: Vec<u32> = Vec::new();
    for of in loads {
        if !sizes.contains(&of.load.block_bytes) {
            sizes.push(of.load.block_bytes);
        }
        if !mixes.contains(&of.load.read_percent) {
            mixes.push(of.load.read_percent);
        }
    }
    sizes.sort_unstable();
    let matrix = |what: &str, value: &dyn Fn(&Measured) -> Option<f64>| {
        let mixes_named = mixes.iter().map(|percent| format!("R/W {percent}/{}", 100 - percent));
        let headings: Vec<String> = std::iter::once(what.to_string()).chain(mixes_named).collect();
        let mut table = table::numbers(&headings.iter().map(String::as_str).collect::<Vec<_>>());
        for bytes in &sizes {
            let mut row = vec![size::show(*bytes)];
            for mix in &mixes {
                let cell = loads.iter().find(|of| of.load.block_bytes == *bytes && of.load.read_percent == *mix);
                row.push(cell.and_then(value).map_or_else(|| "-".to_string(), number));
            }
            table.add_row(row);
        }
        table
    };
    match test {
        "iops" => vec![matrix("IOPS", &|of| Some(of.requests_per_second)), matrix("WA", &|of| of.write_amplification)],
        "throughput" => vec![matrix("MB/s", &|of| Some(of.mb_per_second))],
        _ => vec![
            matrix("read, mean µs", &|of| of.latency_us.read.map(|l| l.mean)),
            matrix("read, max µs", &|of| of.latency_us.read.map(|l| l.max)),
            matrix("write, mean µs", &|of| of.latency_us.write.map(|l| l.mean)),
            matrix("write, max µs", &|of| of.latency_us.write.map(|l| l.max)),
        ],
    }
}

/// The course of a drive that is written from blank on. Where there are many rounds, a row is of several: the mean, and of
/// percentiles the largest.
fn saturation(part: &Part) -> Table {
    let headings =
        ["capacities written", "simulated s", "IOPS", "MB/s", "WA", "mean µs", "p99 µs", "p99.9 µs", "max µs"];
    let mut table = table::numbers(&headings);
    for rounds in part.rounds.chunks(part.rounds.len().div_ceil(ROWS_MAX).max(1)) {
        let Some(last) = rounds.last() else { continue };
        let loads: Vec<&Measured> = rounds.iter().filter_map(|round| round.loads.first()).collect();
        let mean = |value: &dyn Fn(&Measured) -> Option<f64>| {
            let values: Vec<f64> = loads.iter().filter_map(|of| value(of)).collect();
            (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
        };
        let most = |value: fn(&Latency) -> f64| {
            let values = loads.iter().filter_map(|of| of.latency_us.write.as_ref().map(value));
            values.max_by(f64::total_cmp)
        };
        let seconds: f64 = loads.iter().map(|of| of.simulated_seconds).sum();
        let per_second = loads.iter().map(|of| of.requests).sum::<u64>() as f64 / seconds;
        let shown = |value: Option<f64>| value.map_or_else(|| "-".to_string(), number);
        table.add_row([
            format!("{:.2}", last.capacities_written),
            format!("{:.3}", last.simulated_seconds),
            count(per_second as u64),
            number(per_second * part.tracked.block_bytes as f64 / 1e6),
            mean(&|of| of.write_amplification).map_or_else(|| "-".to_string(), |wa| format!("{wa:.3}")),
            shown(mean(&|of| of.latency_us.write.as_ref().map(|l| l.mean))),
            shown(most(|l| l.p99)),
            shown(most(|l| l.p999)),
            shown(most(|l| l.max)),
        ]);
    }
    table
}
