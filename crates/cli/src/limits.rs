//! `phelsuma limits`: the figures of the analytic models for one ratio and block size.

use crate::errors::{Failure, Outcome};
use crate::output::{self, WithSchema};
use crate::table;
use phelsuma_ftl::ENTRY_BYTES;
use phelsuma_limits::gecko_ram::{GeckoRam, gecko_ram};
use phelsuma_limits::gecko_recovery::{RecoveryCosts, RecoverySeconds, recovery_seconds};
use phelsuma_limits::{Gecko, GeckoCosts, HotCold, LimitError, Limits, Merge, gecko};
use phelsuma_nand::GeometryError;
use phelsuma_options::{count, ratio, size};
use serde::Serialize;

/// The paper's cache of mapping entries, in bytes.
const CACHE_DEFAULT_BYTES: u64 = 4 << 20;

/// Options of `limits`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Logical over usable physical pages, which exclude reserve and open blocks. `phelsuma run` prints this as the
    /// effective ratio; it is greater than the --ratio of the drive
    #[arg(long, value_parser = ratio)]
    ratio: f64,
    /// Pages of a block
    #[arg(long, value_name = "N", default_value_t = 128)]
    pages_per_block: u32,
    /// Skewed writes: 80/20 sends 80 percent of the writes to 20 percent of the space
    #[arg(long, value_name = "WRITES/SPACE", value_parser = hot)]
    hot: Option<HotCold>,
    /// Also evaluate the GeckoFTL paper's formulas for a drive of SIZE physical bytes: costs, RAM, recovery
    #[arg(long, value_name = "SIZE", value_parser = size::parse)]
    gecko: Option<u64>,
    /// Size of a page, for --gecko
    #[arg(long, value_name = "SIZE", default_value = "4KiB", value_parser = size::parse_page, requires = "gecko")]
    page: u32,
    /// Size of the cache of mapping entries, at 8 bytes an entry, for --gecko [default: 4MiB, or an entry for each
    /// logical page if that is less]
    #[arg(long, value_name = "SIZE", value_parser = size::parse, requires = "gecko")]
    cache: Option<u64>,
    /// Parts of a block's bitmap (the paper's S), for --gecko [default: one for each 32 pages, or the next larger
    /// divisor of --pages-per-block]
    #[arg(long, value_name = "N", requires = "gecko", value_parser = clap::value_parser!(u32).range(1..))]
    partitions: Option<u32>,
    /// Merge runs two at a time instead of all at once, for --gecko
    #[arg(long, requires = "gecko")]
    two_way: bool,
    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
}

/// What the models say.
#[derive(Serialize)]
pub(crate) struct Said {
    #[serde(flatten)]
    limits: Limits,
    gecko: Option<GeckoSaid>,
}

/// What the GeckoFTL paper's formulas say.
#[derive(Serialize)]
struct GeckoSaid {
    drive: Gecko,
    cache_entries: u64,
    costs: GeckoCosts,
    ram: GeckoRam,
    recovery_seconds: RecoverySeconds,
}

impl Args {
    /// The models' answers.
    pub(crate) fn compute(&self) -> Outcome<WithSchema<Said>> {
        let limits = Limits::compute(self.ratio, self.pages_per_block, self.hot)?;
        let gecko = self.gecko.map(|capacity| self.gecko_said(capacity)).transpose()?;
        Ok(WithSchema { schema: "phelsuma.limits/1", value: Said { limits, gecko } })
    }

    fn gecko_said(&self, capacity: u64) -> Outcome<GeckoSaid> {
        if !self.page.is_power_of_two() || !(512..=65_536).contains(&self.page) {
            return Err(GeometryError::PageBytes(self.page).into());
        }
        // That there are two pages in a block or more is known by now.
        let block = u64::from(self.page) * u64::from(self.pages_per_block);
        let drive = Gecko {
            page_bytes: self.page,
            pages_per_block: self.pages_per_block,
            blocks: capacity / block,
            ratio: self.ratio,
            partitions: self.partitions.unwrap_or_else(|| parts(self.pages_per_block)),
            ..Gecko::paper(1, if self.two_way { Merge::TwoWay } else { Merge::MultiWay })
        };
        let costs = gecko(&drive).map_err(|error| match error {
            LimitError::Gecko { name: "partitions", rule, .. } => Failure::Input(format!(
                "--partitions {}: {rule}, and they are {}",
                drive.partitions, self.pages_per_block
            )),
            LimitError::Gecko { .. } => Failure::Input(format!(
                "--gecko {}, in blocks of {}, at ratio {}: {error}",
                size::show(capacity),
                size::show(block),
                self.ratio
            )),
            error => error.into(),
        })?;
        let cache_entries = self.cache_entries(&drive)?;
        Ok(GeckoSaid {
            drive,
            cache_entries,
            costs,
            ram: gecko_ram(&drive)?,
            recovery_seconds: recovery_seconds(&drive, &RecoveryCosts { cache_entries, ..RecoveryCosts::paper() })?,
        })
    }

    /// The entries of the cache: no more than there are logical pages.
    fn cache_entries(&self, drive: &Gecko) -> Outcome<u64> {
        let logical_pages = (drive.blocks as f64 * f64::from(drive.pages_per_block) * drive.ratio) as u64;
        let Some(bytes) = self.cache else { return Ok((CACHE_DEFAULT_BYTES / ENTRY_BYTES).min(logical_pages)) };
        let entries = bytes / ENTRY_BYTES;
        if entries == 0 || entries > logical_pages {
            return Err(Failure::Input(format!(
                "--cache {} is {} entries of {ENTRY_BYTES} bytes: with {} logical pages, use {ENTRY_BYTES} B to {}",
                size::show(bytes),
                count(entries),
                count(logical_pages),
                size::show(logical_pages * ENTRY_BYTES)
            )));
        }
        Ok(entries)
    }
}

/// The parts of a block's bitmap where nobody gave their number: of 32 pages each, or fewer where that does not divide.
fn parts(pages_per_block: u32) -> u32 {
    let least = pages_per_block.div_ceil(32);
    (least..=pages_per_block).find(|parts| pages_per_block.is_multiple_of(*parts)).unwrap_or(pages_per_block)
}

fn hot(text: &str) -> Result<HotCold, String> {
    text.parse::<HotCold>().map_err(|error| error.to_string())
}

/// Runs it.
pub(crate) fn main(args: &Args) -> Outcome {
    let said = args.compute()?;
    if args.json {
        return output::json(&said);
    }
    let Said { limits, gecko } = said.value;
    output::print(&(as_text(&limits) + &gecko.as_ref().map(gecko_text).unwrap_or_default()))
}

fn as_text(limits: &Limits) -> String {
    let mut rows: Vec<(String, Option<f64>)> = Vec::new();
    let mut add = |name: &str, wa: f64| rows.push((name.to_string(), Some(wa)));
    let uniform = &limits.uniform;
    add("uniform: greedy", uniform.greedy);
    add("uniform: greedy, Desnoyers' closed form", uniform.desnoyers);
    add("uniform: emptiest of 10 random blocks", uniform.d_choices_10);
    add("uniform: emptier of 2 random blocks", uniform.d_choices_2);
    add("uniform: FIFO or LRU, large blocks", uniform.lru);
    add("uniform: a random block", uniform.random);
    if let Some(hot) = &limits.hot {
        let class = hot.class;
        add(&format!("{class}: separated, best fixed quota"), hot.best_quota.write_amplification);
        add(&format!("{class}: best quota, closed form for small spare"), hot.best_quota_small_spare);
        add(&format!("{class}: separated, one greedy collector"), hot.separated_global_greedy);
        if let Some(mixed) = hot.mixed_greedy {
            add(&format!("{class}: mixed, greedy"), mixed);
        }
        add(&format!("{class}: mixed, FIFO or LRU, large blocks"), hot.mixed_lru);
    }
    for zipf in &limits.zipf {
        add(&format!("zipf {}: best split, large blocks", zipf.exponent), zipf.best_split);
        add(&format!("zipf {}: mixed, FIFO or LRU, large blocks", zipf.exponent), zipf.mixed_lru);
    }
    let mut table = table::numbers(&["writes and collector", "WA"]);
    for (name, wa) in rows {
        table.add_row([name, wa.map_or_else(String::new, |wa| format!("{wa:.4}"))]);
    }
    let Limits { ratio, pages_per_block, .. } = limits;
    format!(
        "Write amplification at ratio {ratio} of logical to usable physical pages, {pages_per_block} pages per block\n{table}\n"
    )
}

fn gecko_text(gecko: &GeckoSaid) -> String {
    let GeckoSaid { drive, cache_entries, costs, ram, recovery_seconds: seconds } = gecko;
    let bytes = |bytes: f64| size::show(bytes as u64);
    let mut table = table::numbers(&["GeckoFTL by its paper's formulas", "value"]);
    for (name, value) in [
        ("V, entries in a page", count(costs.entries_per_page)),
        ("L, levels", format!("{:.2}", costs.levels)),
        ("programs per entry", format!("{:.4}", costs.programs_per_entry)),
        ("reads per query", format!("{:.2}", costs.reads_per_query)),
        ("WA of validity, reads weighted", format!("{:.4}", costs.write_amplification)),
        ("the same of a bitmap in flash", format!("{:.4}", costs.bitmap_write_amplification)),
        ("RAM: bitmap, where it is in RAM", bytes(ram.bitmap_bytes)),
        ("RAM: run directories", bytes(ram.run_directories_bytes)),
        ("RAM: Gecko's buffers", bytes(ram.buffers_bytes)),
        ("RAM: valid counters (BVC)", bytes(ram.valid_counters_bytes)),
        ("RAM: mapping directory (GMD)", bytes(ram.mapping_directory_bytes)),
        ("recovery, s: GeckoRec", format!("{:.1}", seconds.gecko_rec)),
        ("recovery, s: LazyFTL", format!("{:.1}", seconds.lazy_ftl)),
        ("recovery, s: all spare areas", format!("{:.1}", seconds.full_scan)),
    ] {
        table.add_row([name.to_string(), value]);
    }
    let (blocks, parts) = (count(drive.blocks), drive.partitions);
    let cache = count(*cache_entries);
    format!("{blocks} blocks, bitmaps in {parts} parts, {cache} cached mapping entries\n{table}\n")
}
