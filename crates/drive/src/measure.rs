//! The measured part of a run: the state of the drive when it began, and the changes since.

use crate::bytes::show_bytes;
use crate::config::{FoldChoice, Input, RunConfig};
use crate::drive::Drive;
use crate::result::{
    ChannelResult, Channels, CompositionNames, EraseCounts, FlashCounts, GeometryResult, HostCounts, Latencies,
    Latency, Machine, ManagementSeconds, PointOfDrive, RamBytes, RamColumn, ReadsWeighted, RunResult, SeriesPoint,
    Throughput, VictimChoices, WriteAmplification,
};
use crate::write_part::{WritePart, write_part};
use phelsuma_ftl::{Counter, RamLedger};
use phelsuma_nand::{Block, ChannelStats, FlashStats, Geometry, Nand, Purpose, Time, Timing};
use std::collections::BTreeMap;

/// How many moments are kept to judge whether the drive is steady.
const MOMENTS_MAX: usize = 256;

/// Points of a series, at the most: then two and two become one.
const POINTS_MAX: usize = 1 << 18;

/// Each two points as one.
fn halved(series: &[SeriesPoint]) -> Vec<SeriesPoint> {
    let (mut from, mut began) = (0, 0.0);
    let joined = series.chunks_exact(2).map(|two| {
        let (one, other) = (two[0], two[1]);
        let pages = [one.write_pages - from, other.write_pages - one.write_pages].map(|pages| pages as f64);
        from = other.write_pages;
        let seconds = [one.simulated_seconds - began, other.simulated_seconds - one.simulated_seconds];
        began = other.simulated_seconds;
        let programs = one.write_amplification * pages[0] + other.write_amplification * pages[1];
        SeriesPoint {
            write_amplification: programs / (pages[0] + pages[1]),
            erases: one.erases + other.erases,
            validity_reads: one.validity_reads + other.validity_reads,
            validity_programs: one.validity_programs + other.validity_programs,
            of_drive: one.of_drive.zip(other.of_drive).map(|(one, other)| merged(&one, &other, seconds)),
            ..other
        }
    });
    joined.collect()
}

/// Two points that took so many seconds as one. Means and rates are exact, a percentile is the larger of both.
fn merged(one: &PointOfDrive, other: &PointOfDrive, seconds: [f64; 2]) -> PointOfDrive {
    let weighted = |a: f64, b: f64, [x, y]: [f64; 2]| if x + y > 0.0 { (a * x + b * y) / (x + y) } else { 0.0 };
    let rate = |of: fn(&Throughput) -> f64| weighted(of(&one.throughput), of(&other.throughput), seconds);
    let latency = |a: Option<Latency>, b: Option<Latency>, counts: [u64; 2]| match (a, b) {
        (Some(a), Some(b)) => Some(Latency {
            mean: weighted(a.mean, b.mean, counts.map(|count| count as f64)),
            p50: a.p50.max(b.p50),
            p99: a.p99.max(b.p99),
            p999: a.p999.max(b.p999),
            max: a.max.max(b.max),
        }),
        (a, b) => a.or(b),
    };
    let (a, b) = (&one.latency_us, &other.latency_us);
    let ([reads, writes], [reads_after, writes_after]) = (one.requests, other.requests);
    PointOfDrive {
        throughput: Throughput {
            read_mb_per_second: rate(|of| of.read_mb_per_second),
            write_mb_per_second: rate(|of| of.write_mb_per_second),
            requests_per_second: rate(|of| of.requests_per_second),
        },
        latency_us: Latencies {
            read: latency(a.read, b.read, [reads, reads_after]),
            write: latency(a.write, b.write, [writes, writes_after]),
        },
        requests: [reads + reads_after, writes + writes_after],
    }
}

/// The write amplification of the last two halves of a steady run differs by less.
const STEADY: f64 = 0.005;

/// Programs and host pages written since the drive was made, or since counting began.
#[derive(Clone, Copy)]
pub(crate) struct Mark {
    programs: u64,
    write_pages: u64,
}

impl Mark {
    /// Where the drive stands.
    pub(crate) fn of(drive: &Drive) -> Self {
        Self { programs: drive.nand().stats().total().programs, write_pages: drive.counts().write_pages }
    }
}

impl Mark {
    /// Programs since then for each of so many host pages written; none of none.
    pub(crate) fn amplification(&self, drive: &Drive, write_pages: u64) -> Option<f64> {
        let programs = drive.nand().stats().total().programs - self.programs;
        (write_pages > 0).then(|| per_page(programs, write_pages))
    }
}

/// Programs after so many host pages written.
#[derive(Clone, Copy)]
struct Moment {
    write_pages: u64,
    programs: u64,
}

/// The measured part of a run.
#[derive(Clone)]
pub(crate) struct Measurement {
    stats: FlashStats,
    channels: Vec<ChannelStats>,
    erases: Vec<u32>,
    counters: Vec<Counter>,
    began: Time,
    interval: Option<u64>,
    series: Vec<SeriesPoint>,
    series_from: (u64, FlashStats),
    /// The host's counts and the moment of the last point.
    point_from: (HostCounts, Time),
    moments: Vec<Moment>,
    spacing: u64,
    /// The largest of these moments and the end, by the papers' column. A merge under way takes RAM, for one.
    ram: RamLedger,
    /// Programs per host page of the loop before, of a trace that is replayed.
    loop_before: Option<f64>,
}

impl Measurement {
    pub(crate) fn begin(drive: &mut Drive, interval: Option<u64>) -> Self {
        if interval.is_some() && drive.is_metered() {
            drive.keep_intervals();
        }
        let nand = drive.nand();
        let blocks = nand.geometry().blocks();
        Self {
            stats: *nand.stats(),
            channels: nand.channel_stats().to_vec(),
            erases: (0..blocks).map(|b| nand.erases_of(Block(b))).collect(),
            counters: drive.ftl().counters(),
            began: drive.idle(),
            interval,
            series: Vec::new(),
            series_from: (0, *nand.stats()),
            point_from: (HostCounts::default(), drive.idle()),
            moments: Vec::new(),
            spacing: 64,
            ram: drive.ftl().ram(),
            loop_before: None,
        }
    }

    /// The same after a loop of the trace that began at this mark.
    pub(crate) fn after_loop(self, began: Mark, drive: &Drive) -> Self {
        let now = Mark::of(drive);
        let (programs, written) = (now.programs - began.programs, now.write_pages - began.write_pages);
        Self { loop_before: (written > 0).then(|| per_page(programs, written)), ..self }
    }

    /// After how many host pages written the next look is due.
    pub(crate) fn next_look(&self) -> u64 {
        let moment = self.moments.last().map_or(0, |m| m.write_pages) + self.spacing;
        let point = self.interval.map_or(u64::MAX, |i| self.series_from.0 + i);
        moment.min(point)
    }

    /// Notes where things stand, if it is time for that.
    pub(crate) fn look(&mut self, drive: &mut Drive) {
        let written = drive.counts().write_pages;
        let now = *drive.nand().stats();
        if written >= self.moments.last().map_or(0, |m| m.write_pages) + self.spacing {
            let programs = now.total().programs - self.stats.total().programs;
            self.moments.push(Moment { write_pages: written, programs });
            self.note_ram(drive);
            if self.moments.len() == MOMENTS_MAX {
                let mut nth = 0;
                self.moments.retain(|_| {
                    nth += 1;
                    nth % 2 == 0
                });
                self.spacing *= 2;
            }
        }
        if self.interval.is_some_and(|i| written >= self.series_from.0 + i) {
            self.point(drive);
            drive.begin_interval();
        }
    }

    fn note_ram(&mut self, drive: &Drive) {
        let now = drive.ftl().ram();
        if now.papers_total() >= self.ram.papers_total() {
            self.ram = now;
        }
    }

    fn point(&mut self, drive: &mut Drive) {
        let written = drive.counts().write_pages;
        let now = *drive.nand().stats();
        let (from, then) = self.series_from;
        let stats = now.since(&then);
        let (since, validity) = (stats.total(), stats.of(Purpose::Validity));
        let of_drive = self.point_of_drive(drive);
        self.series.push(SeriesPoint {
            write_pages: written,
            write_amplification: per_page(since.programs, written - from),
            erases: since.erases,
            validity_reads: validity.reads,
            validity_programs: validity.programs,
            simulated_seconds: (drive.idle().0 - self.began.0) as f64 / 1e9,
            of_drive,
        });
        self.series_from = (written, now);
        if self.series.len() == POINTS_MAX {
            self.series = halved(&self.series);
            self.interval = self.interval.map(|pages| pages.saturating_mul(2));
        }
    }

    /// Rates and latencies since the last point.
    fn point_of_drive(&mut self, drive: &mut Drive) -> Option<PointOfDrive> {
        let (counts, now) = (*drive.counts(), drive.idle());
        let (before, then) = core::mem::replace(&mut self.point_from, (counts, now));
        let requests = drive.interval_requests()?;
        let latency_us = drive.interval_latencies()?;
        let since = HostCounts {
            read_pages: counts.read_pages - before.read_pages,
            write_pages: counts.write_pages - before.write_pages,
            requests: counts.requests - before.requests,
            ..HostCounts::default()
        };
        let throughput = throughput(&since, drive.nand().geometry(), now.0 - then.0);
        Some(PointOfDrive { throughput, latency_us, requests })
    }

    /// By how much the last loop of a trace exceeds the one before, and else the second half the first, given what stands at
    /// the end. Halves of a trace may be unlike each other on a drive that is steady.
    fn drift(&self, written: u64, programs: u64) -> Option<f64> {
        if let Some(before) = self.loop_before {
            return (written > 0).then(|| per_page(programs, written) / before - 1.0);
        }
        let half = self.moments.iter().min_by_key(|m| m.write_pages.abs_diff(written / 2))?;
        let first = half.programs as f64 / half.write_pages as f64;
        let last = (programs - half.programs) as f64 / written.checked_sub(half.write_pages).filter(|n| *n > 0)? as f64;
        Some(last / first - 1.0)
    }

    pub(crate) fn finish(mut self, drive: &mut Drive, config: &RunConfig, geometry: &Geometry) -> RunResult {
        let host = *drive.counts();
        if self.interval.is_some() && host.write_pages > self.series_from.0 {
            self.point(drive);
        }
        self.note_ram(drive);
        let stats = drive.nand().stats().since(&self.stats);
        let total = stats.total();
        let delta = config.timing.delta();
        let (workload, fold, loops) = match &config.input {
            Input::Workload(workload) => (workload.to_string(), None, None),
            Input::Trace { trace, fold, loops } => {
                let fold = match fold {
                    FoldChoice::Compact => "compact",
                    FoldChoice::Wrap => "wrap",
                };
                (trace.name(), Some(fold.to_string()), Some(*loops))
            }
        };
        let mut counters = self.counters(drive);
        let victim_choices = take_victim_choices(&mut counters);
        // A drive that is not full yet writes every page once, and that proves nothing.
        let collected = counters.get("collections") != Some(&0);
        let drift = if collected { self.drift(host.write_pages, total.programs) } else { None };
        RunResult {
            schema: "phelsuma.run/1",
            ftl: config.ftl.clone(),
            composition: composition_names(config),
            seed: config.seed,
            oracle: config.composition.knowledge().is_some(),
            geometry: geometry_result(drive, geometry),
            workload,
            fold,
            input: None,
            loops,
            timing: config.timing_name.clone(),
            times_are_of_flash_alone: config.times_are_of_flash_alone(),
            delta,
            steady: drift.map(|drift| drift.abs() < STEADY),
            drift,
            host,
            flash: stats
                .iter()
                .map(|(purpose, c)| {
                    let counts = FlashCounts {
                        reads: c.reads,
                        spare_reads: c.spare_reads,
                        programs: c.programs,
                        erases: c.erases,
                    };
                    (purpose.name().to_string(), counts)
                })
                .collect(),
            write_amplification: write_amplification(&stats, host.write_pages, delta),
            management_seconds: management_seconds(&stats, &config.timing),
            ram_bytes: ram(&self.ram),
            erases: self.erases(drive, geometry),
            victim_choices,
            counters,
            series: self.series,
            channels: channels(drive, &self.channels, geometry, drive.idle().0 - self.began.0),
            latency_us: drive.latencies(),
            throughput: throughput(&host, geometry, drive.idle().0 - self.began.0),
            time: drive.time_spent(self.began),
            distributions: drive.distributions(),
            simulated_seconds: (drive.idle().0 - self.began.0) as f64 / 1e9,
            backlog_seconds: drive.backlog_ns().map(|ns| ns as f64 / 1e9),
            recovery: None,
            machine: Machine::default(),
        }
    }

    fn counters(&self, drive: &Drive) -> BTreeMap<String, u64> {
        let before: BTreeMap<&str, u64> = self.counters.iter().map(|c| (c.name, c.value)).collect();
        let since = |counter: &Counter| match before.get(counter.name) {
            Some(before) if !counter.is_level => counter.value - before,
            _ => counter.value,
        };
        drive.ftl().counters().iter().map(|counter| (counter.name.to_string(), since(counter))).collect()
    }

    fn erases(&self, drive: &Drive, geometry: &Geometry) -> EraseCounts {
        let nand = drive.nand();
        // The blocks that hold the drive's description are never written again: they are not among those that wear.
        // They are the first that are good, wherever those are.
        let fixed = drive.ftl().shape().fixed_blocks as usize;
        let good = (0..geometry.blocks()).map(Block).filter(|b| !nand.is_bad(*b));
        let each: Vec<u32> = good.skip(fixed).map(|b| nand.erases_of(b) - self.erases[b.index()]).collect();
        let total: u64 = each.iter().map(|e| u64::from(*e)).sum();
        let mean = total as f64 / each.len().max(1) as f64;
        let variance = each.iter().map(|e| (f64::from(*e) - mean).powi(2)).sum::<f64>() / each.len().max(1) as f64;
        EraseCounts {
            total,
            min: each.iter().copied().min().unwrap_or(0),
            max: each.iter().copied().max().unwrap_or(0),
            mean,
            stddev: variance.sqrt(),
        }
    }
}

/// What each channel has done since `before` was taken, in so many nanoseconds.
fn channels(drive: &Drive, before: &[ChannelStats], geometry: &Geometry, elapsed_ns: u64) -> Channels {
    let since = || drive.nand().channel_stats().iter().zip(before).map(|(now, before)| *now - *before);
    let die_ns = (elapsed_ns * u64::from(geometry.dies_per_channel())).max(1) as f64;
    let work = drive.nand().work_until(drive.idle()).map(|work| work.busy().collect::<Vec<u64>>());
    let of_dies = |channel: usize| {
        let dies = work.iter().flat_map(|dies| dies.iter().zip(0..));
        dies.filter(|(_, die)| geometry.channel_of(*die) as usize == channel).map(|(ns, _)| ns).sum::<u64>()
    };
    let each: Vec<ChannelResult> = since()
        .enumerate()
        .map(|(channel, stats)| ChannelResult {
            host_reads: stats.host_reads,
            host_programs: stats.host_programs,
            busy: if work.is_some() { of_dies(channel) } else { stats.busy_ns } as f64 / die_ns,
        })
        .collect();
    let spread = |of: fn(ChannelStats) -> u64| {
        let (least, most) = (since().map(of).min()?, since().map(of).max()?);
        (least > 0).then(|| most as f64 / least as f64 - 1.0)
    };
    let busy = || each.iter().map(|channel| channel.busy);
    Channels {
        host_spread: spread(|stats| stats.host_reads + stats.host_programs),
        host_programs_spread: spread(|stats| stats.host_programs),
        busy_spread: busy().fold(0.0, f64::max) - busy().fold(f64::INFINITY, f64::min),
        each,
    }
}

/// The names of the parts.
pub(crate) fn composition_names(config: &RunConfig) -> CompositionNames {
    let composition = &config.composition;
    let [mapping, validity, victim, placement] = composition.names();
    let [metadata, power, collection] = composition.other_names();
    let (wear, slc) = (composition.name_of_wear(), composition.page_mapped().and_then(|parts| parts.slc.name()));
    let write_cache = config.write_cache.map(|cache| format!("{}({})", cache.policy.name(), show_bytes(cache.bytes)));
    CompositionNames { mapping, validity, victim, placement, metadata, power, collection, wear, slc, write_cache }
}

/// Takes figures that have a place of their own out of the counters.
fn take_victim_choices(counters: &mut BTreeMap<String, u64>) -> Option<VictimChoices> {
    let count = counters.remove("victim_choices").filter(|count| *count > 0);
    let (examined, max) = (counters.remove("blocks_examined")?, counters.remove("blocks_examined_max")?);
    let count = count?;
    Some(VictimChoices { count, blocks_examined_mean: examined as f64 / count as f64, blocks_examined_max: max })
}

pub(crate) fn geometry_result(drive: &Drive, geometry: &Geometry) -> GeometryResult {
    let shape = drive.ftl().shape();
    let nand = drive.nand();
    let bad = (0..geometry.blocks()).filter(|b| nand.is_bad(Block(*b))).count() as u64;
    let pages_per_block = u64::from(geometry.pages_per_block());
    // Space that is set aside for metadata and for unidentified stale pages stays in: those are bounds and no blocks
    // that collection has to do without. Their real use shows in the write amplification.
    let usable = u64::from(geometry.blocks())
        - u64::from(shape.reserve_blocks)
        - u64::from(shape.open_blocks)
        - u64::from(shape.fixed_blocks)
        - bad;
    let logical = f64::from(shape.logical_pages);
    // A log-block FTL has a block for each logical one, and its log blocks.
    let used = u64::from(shape.logical_pages).div_ceil(pages_per_block) + u64::from(shape.log_blocks);
    let (usable, unused) = match shape.log_blocks {
        0 => (usable, 0),
        log => (used, (usable + u64::from(log)).saturating_sub(used + u64::from(shape.metadata_blocks))),
    };
    GeometryResult {
        capacity_bytes: geometry.capacity_bytes(),
        logical_bytes: u64::from(shape.logical_pages) * u64::from(geometry.page_bytes()),
        page_bytes: geometry.page_bytes(),
        pages_per_block: geometry.pages_per_block(),
        blocks: geometry.blocks(),
        channels: geometry.channels(),
        dies: geometry.dies_per_channel(),
        ratio: logical / geometry.pages() as f64,
        effective_ratio: logical / (usable * pages_per_block) as f64,
        reserve_blocks: shape.reserve_blocks,
        open_blocks: shape.open_blocks,
        log_blocks: shape.log_blocks,
        unused_blocks: unused as u32,
        metadata_programs_per_collection: shape.metadata_programs_per_collection,
    }
}

/// Programs per host page written.
fn per_page(programs: u64, write_pages: u64) -> f64 {
    programs as f64 / write_pages as f64
}

fn write_amplification(stats: &FlashStats, write_pages: u64, delta: f64) -> Option<WriteAmplification> {
    if write_pages == 0 {
        return None;
    }
    let part = |part| {
        let programs =
            stats.iter().filter(|(purpose, _)| write_part(*purpose) == part).map(|(_, counts)| counts.programs);
        per_page(programs.sum(), write_pages)
    };
    let all = stats.total();
    let weighted = |part| {
        let of_part = stats.iter().filter(|(purpose, _)| write_part(*purpose) == part);
        let sum: f64 = of_part
            .map(|(purpose, counts)| match purpose {
                // The host's own reads are no amplification of its writes.
                Purpose::Host => counts.programs as f64,
                _ => counts.programs as f64 + (counts.reads as f64 + counts.spare_reads as f64 / 32.0) / delta,
            })
            .sum();
        sum / write_pages as f64
    };
    let reads_weighted = ReadsWeighted {
        user: weighted(WritePart::User),
        translation: weighted(WritePart::Translation),
        validity: weighted(WritePart::Validity),
        other: weighted(WritePart::Other),
    };
    let ReadsWeighted { user, translation, validity, other } = reads_weighted;
    Some(WriteAmplification {
        total: per_page(all.programs, write_pages),
        user: part(WritePart::User),
        translation: part(WritePart::Translation),
        validity: part(WritePart::Validity),
        other: part(WritePart::Other),
        by_reads_weighted: user + translation + validity + other,
        reads_weighted,
    })
}

/// What the host moved in so many nanoseconds, a second.
pub(crate) fn throughput(host: &HostCounts, geometry: &Geometry, ns: u64) -> Throughput {
    let a_second = |count: f64| if ns == 0 { 0.0 } else { count * 1e9 / ns as f64 };
    let mb = |pages: u64| pages as f64 * f64::from(geometry.page_bytes()) / 1e6;
    Throughput {
        read_mb_per_second: a_second(mb(host.read_pages)),
        write_mb_per_second: a_second(mb(host.write_pages)),
        requests_per_second: a_second(host.requests as f64),
    }
}

fn management_seconds(stats: &FlashStats, timing: &Timing) -> ManagementSeconds {
    let part = |part| {
        let of_part = stats.iter().filter(|(purpose, _)| write_part(*purpose) == part);
        let ns = of_part.map(|(purpose, counts)| {
            let erases = counts.erases * timing.erase_ns;
            match purpose {
                // The host's own requests.
                Purpose::Host => erases,
                _ => {
                    erases
                        + counts.reads * (timing.read_ns + timing.transfer_ns)
                        + counts.spare_reads * (timing.read_spare_ns + timing.transfer_spare_ns)
                        + counts.programs * (timing.program_page_ns() + timing.transfer_ns)
                }
            }
        });
        ns.sum::<u64>()
    };
    let [user, translation, validity, other] =
        [WritePart::User, WritePart::Translation, WritePart::Validity, WritePart::Other].map(part);
    let seconds = |ns: u64| ns as f64 / 1e9;
    ManagementSeconds {
        total: seconds(user + translation + validity + other),
        user: seconds(user),
        translation: seconds(translation),
        validity: seconds(validity),
        other: seconds(other),
    }
}

fn ram(ledger: &RamLedger) -> RamBytes {
    let column = |entries: &mut dyn Iterator<Item = (&'static str, u64)>, total| {
        let mut column: RamColumn = entries.map(|(name, bytes)| (name.to_string(), bytes)).collect();
        column.insert("total".into(), total);
        column
    };
    RamBytes {
        papers: column(&mut ledger.papers(), ledger.papers_total()),
        all: column(&mut ledger.all(), ledger.all_total()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capacity::formatted;
    use phelsuma_ftl::PRESETS;
    use phelsuma_trace::{Op, PageRequest, Workload};

    #[test]
    fn counters_that_are_no_levels_never_fall() {
        for preset in PRESETS.iter().filter(|preset| !preset.composition.is_per_channel()) {
            let mut config = RunConfig::new(preset.name, Input::Workload(Workload::Uniform)).unwrap();
            config.shape.pages_per_block = 16;
            let geometry = config.shape.geometry(64 << 20).unwrap();
            let mut drive = formatted(&config, &geometry).unwrap();
            let logical = config.shape.logical_pages(&geometry);
            let mut before: BTreeMap<&str, u64> = BTreeMap::new();
            for n in 0..8 * logical {
                let (op, pages) = if n % 16 == 0 { (Op::Trim, 3) } else { (Op::Write, 1) };
                let first = u64::from(n.wrapping_mul(2_654_435_761) % (logical - 3));
                let request =
                    PageRequest { at_ns: 0, op, first, pages, partial_first: false, partial_last: false, handle: 0 };
                drive.submit(&request).unwrap();
                // After writes and after trims. A list after each takes long.
                if n % 8 > 0 {
                    continue;
                }
                for counter in drive.ftl().counters() {
                    let before = before.insert(counter.name, counter.value).unwrap_or(0);
                    assert!(counter.value >= before || counter.is_level, "{}: {} fell", preset.name, counter.name);
                }
            }
            assert!(before["collections"] > 0);
        }
    }

    #[test]
    fn the_ram_of_a_result_is_that_of_its_largest_moment() {
        let mut config = RunConfig::new("phelsuma", Input::Workload(Workload::Uniform)).unwrap();
        (config.shape.pages_per_block, config.shape.ratio) = (16, 0.5);
        let geometry = config.shape.geometry(64 << 20).unwrap();
        let mut drive = formatted(&config, &geometry).unwrap();
        let logical = config.shape.logical_pages(&geometry);
        let mut measurement = Measurement::begin(&mut drive, None);
        let (mut n, mut largest) = (0u32, 0);
        let ram = |drive: &Drive| drive.ftl().ram().papers_total();
        // Until it has less than before.
        while n < 2 * logical || ram(&drive) >= largest {
            let first = u64::from(n.wrapping_mul(2_654_435_761) % logical);
            let request = PageRequest {
                at_ns: 0,
                op: Op::Write,
                first,
                pages: 1,
                partial_first: false,
                partial_last: false,
                handle: 0,
            };
            drive.submit(&request).unwrap();
            if drive.counts().write_pages >= measurement.next_look() {
                measurement.look(&mut drive);
                largest = largest.max(ram(&drive));
            }
            n += 1;
            assert!(n < 8 * logical, "it takes the same RAM at all times");
        }
        let end = ram(&drive);
        let result = measurement.finish(&mut drive, &config, &geometry);
        assert_eq!(result.ram_bytes.papers["total"], largest.max(end));
        assert!(end < largest, "{end} bytes at the end, {largest} at the most");
    }

    #[test]
    fn two_points_of_a_series_become_one_that_says_the_same_of_both() {
        let point = |write_pages, write_amplification, erases| SeriesPoint {
            write_pages,
            write_amplification,
            erases,
            validity_reads: 1,
            validity_programs: 2,
            simulated_seconds: write_pages as f64,
            of_drive: None,
        };
        let four = [point(10, 1.0, 1), point(20, 2.0, 2), point(30, 3.0, 3), point(60, 7.0, 4)];
        let two = halved(&four);
        assert_eq!(two.iter().map(|p| (p.write_pages, p.erases)).collect::<Vec<_>>(), [(20, 3), (60, 7)]);
        assert_eq!(two.iter().map(|p| p.write_amplification).collect::<Vec<_>>(), [1.5, 6.0]);
        assert_eq!((two[1].validity_reads, two[1].validity_programs, two[1].simulated_seconds), (2, 4, 60.0));
    }

    #[test]
    fn rates_and_means_of_two_points_are_weighted_and_percentiles_are_the_larger() {
        let point = |write_pages: u64, mb: f64, writes: u64, us: f64| SeriesPoint {
            write_pages,
            write_amplification: 1.0,
            erases: 0,
            validity_reads: 0,
            validity_programs: 0,
            simulated_seconds: write_pages as f64,
            of_drive: Some(PointOfDrive {
                throughput: Throughput { write_mb_per_second: mb, ..Throughput::default() },
                latency_us: Latencies {
                    read: None,
                    write: Some(Latency { mean: us, p50: us, p99: us, p999: us, max: us }),
                },
                requests: [0, writes],
            }),
        };
        let two =
            halved(&[point(10, 8.0, 1, 4.0), point(40, 4.0, 3, 2.0), point(50, 1.0, 1, 1.0), point(60, 3.0, 1, 9.0)]);
        let rates: Vec<f64> = two.iter().map(|p| p.of_drive.unwrap().throughput.write_mb_per_second).collect();
        assert_eq!(rates, [5.0, 2.0]);
        let first = two[0].of_drive.unwrap();
        assert_eq!((first.latency_us.read, first.requests), (None, [0, 4]));
        assert_eq!(first.latency_us.write, Some(Latency { mean: 2.5, p50: 4.0, p99: 4.0, p999: 4.0, max: 4.0 }));
    }
}
