//! The result of a run: `phelsuma.run/1`.

use phelsuma_trace::InputReport;
use serde::Serialize;
use std::collections::BTreeMap;

/// The parts of the FTL.
#[derive(Clone, Debug, Serialize)]
pub struct CompositionNames {
    /// Where each logical page is.
    pub mapping: String,
    /// Which physical pages are live.
    pub validity: String,
    /// Which block is collected next.
    pub victim: String,
    /// Which stream a page is written to.
    pub placement: String,
    /// What becomes of blocks of metadata.
    pub metadata: String,
    /// How a power cut is survived.
    pub power: String,
    /// How blocks are collected.
    pub collection: String,
    /// How wear is levelled; only there if it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wear: Option<String>,
    /// The SLC cache; only there if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slc: Option<String>,
    /// The write cache above the FTL, its policy and its size; only there if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write_cache: Option<String>,
}

/// The drive.
#[derive(Clone, Debug, Serialize)]
pub struct GeometryResult {
    /// Physical bytes.
    pub capacity_bytes: u64,
    /// Logical bytes.
    pub logical_bytes: u64,
    /// Bytes of a page.
    pub page_bytes: u32,
    /// Pages of a block.
    pub pages_per_block: u32,
    /// Blocks.
    pub blocks: u32,
    /// Channels.
    pub channels: u32,
    /// Dies on each channel.
    pub dies: u32,
    /// Logical over physical pages.
    pub ratio: f64,
    /// Logical pages over the physical ones that collection can use: without reserve, open, fixed and bad blocks. What
    /// metadata and stale pages not identified yet take is within these: no block is held back for them. Of a log-block
    /// FTL they are those of its log blocks and of a block for each logical one.
    pub effective_ratio: f64,
    /// Blocks kept free.
    pub reserve_blocks: u32,
    /// Blocks open for writing at the most.
    pub open_blocks: u32,
    /// Those of them that are log blocks.
    pub log_blocks: u32,
    /// Blocks that a log-block FTL with so many log blocks never uses: 0 of others.
    pub unused_blocks: u32,
    /// Pages that metadata may program during one collection, at the most.
    pub metadata_programs_per_collection: u32,
}

/// The host's requests while they were counted.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug, Serialize)]
pub struct HostCounts {
    /// Pages read.
    pub read_pages: u64,
    /// Pages written.
    pub write_pages: u64,
    /// Pages discarded.
    pub trim_pages: u64,
    /// Requests, flushes included.
    pub requests: u64,
    /// Pages of which a request wrote only a part.
    pub partial_pages: u64,
    /// Requests of the trace, those that are dropped included; 0 for a workload.
    pub trace_requests: u64,
    /// Of these, trims that cover no whole page: they reach no page of the drive.
    pub dropped_trims_without_whole_page: u64,
    /// Of these, trims of pages that are never read or written. They have no place on a drive that is as large as the
    /// footprint (compact folding only).
    pub dropped_trims_outside_footprint: u64,
}

/// Flash operations for one purpose.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug, Serialize)]
pub struct FlashCounts {
    /// Pages read, data and spare.
    pub reads: u64,
    /// Spare areas read alone.
    pub spare_reads: u64,
    /// Pages programmed.
    pub programs: u64,
    /// Blocks erased.
    pub erases: u64,
}

/// Programs per host page written, by cause; none of them is there without host writes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct WriteAmplification {
    /// All programs.
    pub total: f64,
    /// User data: host, gc, merge, wear, rmw, placement.
    pub user: f64,
    /// Translation pages.
    pub translation: f64,
    /// Validity metadata.
    pub validity: f64,
    /// Everything else.
    pub other: f64,
    /// The GeckoFTL paper's: programs, the host's included, + reads/δ + spare reads/(32 δ), the host's reads left out.
    pub by_reads_weighted: f64,
    /// What `by_reads_weighted` is made of.
    pub reads_weighted: ReadsWeighted,
}

/// The parts of [`WriteAmplification::by_reads_weighted`], by cause as those of the total: they add up to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct ReadsWeighted {
    /// User data, the host's programs included and its reads left out.
    pub user: f64,
    /// Translation pages.
    pub translation: f64,
    /// Validity metadata.
    pub validity: f64,
    /// Everything else.
    pub other: f64,
}

/// Management overhead: the time that flash operations took which the FTL asked for and not the host, in seconds (µ-FTL
/// section 5.2). One operation after the other, as if nothing went on at the same time; by cause as
/// [`WriteAmplification`], and all erases count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct ManagementSeconds {
    /// All of it.
    pub total: f64,
    /// Moving user data and erasing blocks for it: gc, merge, wear, rmw, placement.
    pub user: f64,
    /// Translation pages.
    pub translation: f64,
    /// Validity metadata.
    pub validity: f64,
    /// Everything else.
    pub other: f64,
}

/// RAM by structure, and its sum under `total`; bytes.
pub type RamColumn = BTreeMap<String, u64>;

/// Both columns of the RAM ledger, in bytes.
#[derive(Clone, Debug, Serialize)]
pub struct RamBytes {
    /// Structures at packed sizes, as the papers count them.
    pub papers: RamColumn,
    /// Every index, link and buffer as well.
    pub all: RamColumn,
}

/// Erases of the usable blocks while counted.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct EraseCounts {
    /// All of them.
    pub total: u64,
    /// Of the block with the fewest.
    pub min: u32,
    /// Of the block with the most.
    pub max: u32,
    /// On average.
    pub mean: f64,
    /// Standard deviation over blocks.
    pub stddev: f64,
}

/// What a point of the series has besides where [times are not of flash alone](RunResult::times_are_of_flash_alone).
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PointOfDrive {
    /// What the host moved in a second since the point before.
    pub throughput: Throughput,
    /// Latencies since the point before; percentiles to three digits. Where points were merged, each percentile is the
    /// larger of the two.
    pub latency_us: Latencies,
    /// Read requests, and write requests: what means are weighted with.
    #[serde(skip)]
    pub requests: [u64; 2],
}

/// Where the measured time went. Each share is of the time from the begin to the completion of the last request. Work that
/// was accepted before it and done within it counts, and what is done after it does not.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TimeSpent {
    /// Of the dies.
    pub dies: DieShares,
    /// Of the channels.
    pub channels: ChannelShares,
    /// Of link and firmware; none if the timing has none.
    pub link: Option<LinkShares>,
    /// Of a mean request.
    pub request_us: RequestTimes,
}

/// Mean share of the time for which a die's cells were at work, by cause. A program of pages for several causes counts by
/// their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct DieShares {
    /// All of them: the sum of the others.
    pub busy: f64,
    /// Sensing pages that the host reads, or writes in part.
    pub host_reads: f64,
    /// Programming pages that the host writes.
    pub host_programs: f64,
    /// Sensing pages that are moved: gc, merge, wear, placement.
    pub collection_reads: f64,
    /// Programming them.
    pub collection_programs: f64,
    /// All erases.
    pub erases: f64,
    /// Sensing and programming translation pages.
    pub translation: f64,
    /// The same of validity metadata.
    pub validity: f64,
    /// The same of everything else.
    pub other: f64,
}

/// Shares of the time for which channels moved pages.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ChannelShares {
    /// Their mean.
    pub busy: f64,
    /// By channel.
    pub each: Vec<f64>,
}

/// The host's side.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LinkShares {
    /// Share of the time for which the link moved pages.
    pub busy: f64,
    /// Requests that were in the firmware, on average. It is a pipeline without a bound, so it has no share.
    pub firmware_requests_mean: f64,
}

/// Where the time of a mean request went, in microseconds: the parts add up to the mean latency.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RequestTime {
    /// Firmware.
    pub firmware: f64,
    /// Moving its pages over the link.
    pub link: f64,
    /// Waiting for the link.
    pub link_waiting: f64,
    /// Cells and channel, of the page that was done last; nothing if that was in a buffer.
    pub flash: f64,
    /// Waiting in the drive until then: for dies, channels and buffers, collections, and metadata.
    pub waiting: f64,
}

/// [`RequestTime`] of reads and writes; none where there was no such request.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RequestTimes {
    /// Of read requests.
    pub read: Option<RequestTime>,
    /// Of write requests.
    pub write: Option<RequestTime>,
}

/// A point of the series: what happened since the one before.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SeriesPoint {
    /// Host pages written so far while counted.
    pub write_pages: u64,
    /// Programs per host page written.
    pub write_amplification: f64,
    /// Blocks erased.
    pub erases: u64,
    /// Reads of pages of validity metadata.
    pub validity_reads: u64,
    /// Programs of these.
    pub validity_programs: u64,
    /// Simulated time so far while counted, in seconds.
    pub simulated_seconds: f64,
    /// Rates and latencies; only where times are not of flash alone.
    #[serde(flatten)]
    pub of_drive: Option<PointOfDrive>,
}

/// The cost of finding the victims that the policy chose.
#[derive(Clone, Copy, Default, Debug, PartialEq, Serialize)]
pub struct VictimChoices {
    /// How many were chosen while counted.
    pub count: u64,
    /// Blocks looked at for one of them, on average.
    pub blocks_examined_mean: f64,
    /// Blocks looked at for one of them, at the most since the mount.
    pub blocks_examined_max: u64,
}

/// Latencies in microseconds; percentiles to three digits.
#[derive(Clone, Copy, Default, Debug, PartialEq, Serialize)]
pub struct Latency {
    /// Mean.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// 99th percentile.
    pub p99: f64,
    /// 99.9th percentile.
    pub p999: f64,
    /// The longest.
    pub max: f64,
}

/// Latencies of reads and writes; none where there was no such request.
#[derive(Clone, Copy, Default, Debug, PartialEq, Serialize)]
pub struct Latencies {
    /// Of read requests.
    pub read: Option<Latency>,
    /// Of write requests.
    pub write: Option<Latency>,
}

/// What the host moved in a second of simulated time; zeros where none passed.
#[derive(Clone, Copy, Default, Debug, PartialEq, Serialize)]
pub struct Throughput {
    /// Megabytes read a second.
    pub read_mb_per_second: f64,
    /// Megabytes written a second.
    pub write_mb_per_second: f64,
    /// Requests a second.
    pub requests_per_second: f64,
}

/// How many values of each magnitude there are, all in host pages written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Distribution {
    /// Entry k counts values from 2^k to 2^(k+1) - 1, the first entry also 0.
    pub histogram_log2: Vec<u64>,
    /// Half of the values are at most this large, to the end of a histogram entry; 0 without any.
    pub p50_at_most: u64,
    /// Likewise 90 %.
    pub p90_at_most: u64,
    /// Likewise 99 %.
    pub p99_at_most: u64,
}

/// What figures 3 and 5 of Dual Greedy's paper show, and figure 11 of µ-FTL's.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Distributions {
    /// From the write of a page to the write or trim that makes it stale.
    pub page_lifetimes: Distribution,
    /// From a page of a block becoming stale to the next one of that block that does.
    pub block_dormant_periods: Distribution,
    /// Pages that were the first of their block to become stale since it was erased: no period ends with them.
    pub first_invalidations: u64,
    /// Mean length in pages of the extents that begin in each 256th of the logical space, 0 where none does (µ-FTL
    /// figure 11). It is there only if the FTL has a µ-Tree.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extent_pages_mean: Option<Vec<f64>>,
}

/// The operations of a channel while it was counted.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ChannelResult {
    /// Pages read for the host.
    pub host_reads: u64,
    /// Pages that the host wrote, where they were programmed first.
    pub host_programs: u64,
    /// Share of the simulated time in which its dies were at work, transfers included: their mean. Where times are not of
    /// flash alone, transfers are not included, and only what lies within the simulated time counts.
    pub busy: f64,
}

/// The channels, and how even they were used (LAST++ figure 17).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Channels {
    /// Pages read and written for the host on the channel with the most, over those on the one with the fewest, less 1.
    /// None where that had none.
    pub host_spread: Option<f64>,
    /// The same of pages written alone.
    pub host_programs_spread: Option<f64>,
    /// [`ChannelResult::busy`] of the channel that was busy most less that of the one that was least.
    pub busy_spread: f64,
    /// By channel.
    pub each: Vec<ChannelResult>,
}

/// One step of a recovery.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RecoveryStepResult {
    /// Its purpose.
    pub name: String,
    /// Pages read in full.
    pub reads: u64,
    /// Spare areas read alone.
    pub spare_reads: u64,
    /// Pages programmed.
    pub programs: u64,
    /// Simulated time, in microseconds.
    pub us: f64,
}

/// A recovery after a power cut at the end of the run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RecoveryResult {
    /// RAM that the recovery took for itself while it lasted, in bytes.
    pub scratch_bytes: u64,
    /// Pages that a battery paid for after the power had failed, before the recovery.
    pub battery_programs: u64,
    /// Logical pages that held data and are zeros or read errors since the cut, of an FTL that keeps only what was
    /// flushed. Absent for others, which may not lose any. Pages that read as they did earlier are not among them: the
    /// data of a run are all alike.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost_pages: Option<u64>,
    /// Simulated time, in microseconds.
    pub simulated_us: f64,
    /// Its steps.
    pub steps: Vec<RecoveryStepResult>,
}

/// The cost of the run to the machine that simulated it: the one part that differs between runs.
#[derive(Clone, Copy, Default, Debug, PartialEq, Serialize)]
pub struct Machine {
    /// From begin to end, in seconds.
    pub wall_seconds: f64,
    /// CPU time of the whole run, fill and warm-up included, in seconds.
    pub cpu_seconds: f64,
    /// Host pages read and written while counted, per CPU second of that part.
    pub host_pages_per_second: f64,
    /// The most memory the process ever held, in bytes.
    pub peak_rss_bytes: Option<u64>,
    /// The simulated flash's and the FTL's share of it, in bytes, page data apart.
    pub simulation_bytes: u64,
    /// Page data held at the most, in bytes.
    pub payload_bytes: u64,
}

/// The result of a run; `phelsuma.run/1`.
#[derive(Clone, Debug, Serialize)]
pub struct RunResult {
    /// `phelsuma.run/1`.
    pub schema: &'static str,
    /// The FTL.
    pub ftl: String,
    /// Its parts.
    pub composition: CompositionNames,
    /// The seed.
    pub seed: u64,
    /// Whether the FTL got hints that no real one has: the class of each page, or when it dies.
    pub oracle: bool,
    /// The drive.
    pub geometry: GeometryResult,
    /// The workload, or the trace's file name.
    pub workload: String,
    /// How a trace was folded; none for workloads.
    pub fold: Option<String>,
    /// What one pass over a trace read; none for workloads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<InputReport>,
    /// How often a trace was replayed, the last time counted; none for workloads.
    pub loops: Option<u64>,
    /// The timing: a preset, or a file.
    pub timing: String,
    /// Whether times are of flash alone: pages that are programmed one by one, no firmware, no link.
    pub times_are_of_flash_alone: bool,
    /// δ: program over page-read latency.
    pub delta: f64,
    /// Whether `drift` is less than 0.5 % either way; none without host writes, and where nothing was collected.
    pub steady: Option<bool>,
    /// Write amplification of the second half of the counted part over that of the first, less 1. Of a trace that is
    /// replayed, that of the last loop over the one before. None where either has no figure.
    pub drift: Option<f64>,
    /// The host's requests.
    pub host: HostCounts,
    /// Flash operations by purpose.
    pub flash: BTreeMap<String, FlashCounts>,
    /// Programs per host page; none without host writes.
    pub write_amplification: Option<WriteAmplification>,
    /// Time of the flash operations that are not the host's own requests.
    pub management_seconds: ManagementSeconds,
    /// RAM by structure, when the papers' total was largest.
    pub ram_bytes: RamBytes,
    /// Erases.
    pub erases: EraseCounts,
    /// The cost of finding victims; none where the policy chose none.
    pub victim_choices: Option<VictimChoices>,
    /// The FTL's counters while it was measured, by name (levels such as free blocks as they stand at the end).
    pub counters: BTreeMap<String, u64>,
    /// A point every so many host pages written.
    pub series: Vec<SeriesPoint>,
    /// What each channel did.
    pub channels: Channels,
    /// Latencies.
    pub latency_us: Latencies,
    /// What the host moved in a second.
    pub throughput: Throughput,
    /// Where the time went; only where times are not of flash alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<TimeSpent>,
    /// Lifetimes of pages and dormant periods of blocks; only there if they were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distributions: Option<Distributions>,
    /// Simulated time, in seconds.
    pub simulated_seconds: f64,
    /// From the arrival of the last request to the completion of all, where they arrive at their timestamps, in seconds.
    pub backlog_seconds: Option<f64>,
    /// The recovery at the end, if the power was cut.
    pub recovery: Option<RecoveryResult>,
    /// Its cost to the machine.
    pub machine: Machine,
}
