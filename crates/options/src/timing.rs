//! Timings: presets, and files that have every constant of a drive.
//!
//! A file names what it inherits from, and changes what it has. Sizes and rates in it become pages when the page size
//! is known.

use crate::failure::{Failure, Outcome};
use crate::size;
use phelsuma_drive::Link;
use phelsuma_nand::{TIMINGS, Timing};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Drives that one can buy: name, and the text of their file.
const DRIVES: &[(&str, &str)] = &[
    ("970pro", include_str!("../timings/970pro.toml")),
    ("zn540", include_str!("../timings/zn540.toml")),
    ("tlc-2024", include_str!("../timings/tlc-2024.toml")),
    ("qlc-2024", include_str!("../timings/qlc-2024.toml")),
];

/// How many files may inherit from one another.
const DEPTH_MAX: usize = 8;
/// Bytes of a timing file.
const FILE_BYTES_MAX: u64 = 1 << 20;
/// The longest time in a file, in microseconds.
const MICROS_MAX: f64 = 1e7;

/// A timing with its name.
#[derive(Clone, Debug)]
pub struct TimingArg {
    /// The name: a preset's, or the path of a file.
    pub name: String,
    /// One line: what it is, and where its constants are from.
    pub about: String,
    spec: Spec,
}

/// What a timing is before the page size is known.
#[derive(Clone, Debug)]
struct Spec {
    base: Timing,
    channels: Option<u32>,
    dies_per_channel: Option<u32>,
    unit_bytes: Option<u64>,
    sense_bytes: Option<u64>,
    slc_unit_bytes: Option<u64>,
    bus_mb_per_second: Option<f64>,
    link: Option<LinkFile>,
}

/// What a timing is on a drive with pages of a given size.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// The chips.
    pub chip: Timing,
    /// Firmware and link; none: they take no time.
    pub link: Option<Link>,
}

/// What a drive comes to by its constants alone, without an FTL: times in nanoseconds, rates in megabytes a second.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Peaks {
    /// One read of one page on an idle drive.
    pub read_ns: u64,
    /// One write of one page on an idle drive.
    pub write_ns: u64,
    /// Pages read one after the other, on all dies.
    pub read_mb_per_second: f64,
    /// Pages read at random.
    pub random_read_mb_per_second: f64,
    /// Pages written to an empty drive.
    pub write_mb_per_second: f64,
}

impl Times {
    /// The peaks of a drive with these channels, and dies on each. Each is the least that cells, buses and link give.
    #[must_use]
    pub fn peaks(&self, page_bytes: u32, channels: u32, dies_per_channel: u32) -> Peaks {
        let Self { chip, link } = self;
        let (channels, dies) = (f64::from(channels), f64::from(channels * dies_per_channel));
        let page = f64::from(page_bytes);
        // Megabytes a second of so many bytes in so many nanoseconds.
        let rate = |bytes: f64, ns: f64| if ns > 0.0 { bytes * 1e3 / ns } else { f64::INFINITY };
        let bus = channels * rate(page, chip.transfer_ns as f64);
        let of_link = link.map_or(f64::INFINITY, |link| rate(page, link.page_ns as f64));
        let transfer = chip.transfer_ns as f64;
        let cells = |pages: u32, ns: u64| {
            let moved = f64::from(pages);
            dies * f64::from(chip.planes) * rate(moved * page, ns as f64 + moved * transfer)
        };
        let (program, unit) = (chip.program_ns as f64, f64::from(chip.unit_pages));
        let moving = if chip.cache_program { 0.0 } else { transfer * unit };
        let buffered = chip.unit_pages > 1;
        let of_host = |ns: fn(&Link) -> u64| link.as_ref().map_or(0, ns);
        Peaks {
            read_ns: chip.read_ns + chip.transfer_ns + of_host(|link| link.read_ns + link.page_ns),
            write_ns: of_host(|link| link.write_ns + link.write_page_ns + link.page_ns)
                + if buffered { 0 } else { chip.transfer_ns + chip.program_ns },
            read_mb_per_second: cells(chip.sense_pages, chip.read_ns).min(bus).min(of_link),
            random_read_mb_per_second: cells(1, chip.read_ns).min(bus).min(of_link),
            write_mb_per_second: (dies * rate(unit * page, program + moving)).min(bus).min(of_link),
        }
    }
}

impl Times {
    /// Random writes of one page a second that a drive can sustain, at most, with so many programs per page written.
    ///
    /// Each die programs, reads the live pages of victims, and erases: `amplification` programs, one less reads, and
    /// erases to match. Live pages that one sensing brings are read together. Channels and link bound it as well. All
    /// dies are taken to be at work all of the time, so a drive is below it.
    #[must_use]
    pub fn random_writes_per_second(
        &self,
        (channels, dies_per_channel): (u32, u32),
        amplification: f64,
        pages_per_block: u32,
    ) -> f64 {
        let Self { chip, link } = self;
        let transfer = chip.transfer_ns as f64;
        let (unit, together) = (f64::from(chip.unit_pages), f64::from(chip.sense_pages));
        let moved = amplification - 1.0;
        let live = moved / amplification;
        let senses = if live > 0.0 { (1.0 - (1.0 - live).powf(together)) / (live * together) } else { 0.0 };
        let moving = if chip.cache_program { 0.0 } else { transfer };
        let of_die = amplification * (chip.program_ns as f64 / unit + moving)
            + moved * (senses * chip.read_ns as f64 + transfer) / f64::from(chip.planes.max(1))
            + amplification * chip.erase_ns as f64 / f64::from(pages_per_block);
        let of_channel = (amplification + moved) * transfer;
        let of_link = link.map_or(0.0, |link| link.page_ns as f64);
        let channels = f64::from(channels);
        let ns = (of_die / (channels * f64::from(dies_per_channel))).max(of_channel / channels).max(of_link);
        1e9 / ns
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    about: String,
    inherits: Option<String>,
    #[serde(default)]
    drive: DriveFile,
    #[serde(default)]
    chip: ChipFile,
    bus: Option<BusFile>,
    link: Option<LinkFile>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct DriveFile {
    channels: Option<u32>,
    dies_per_channel: Option<u32>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct ChipFile {
    read_us: Option<f64>,
    read_spare_us: Option<f64>,
    page_types_us: Option<Vec<f64>>,
    program_us: Option<f64>,
    erase_us: Option<f64>,
    suspend_us: Option<f64>,
    cache_program: Option<bool>,
    unit: Option<String>,
    sense: Option<String>,
    planes: Option<u32>,
    slc_read_us: Option<f64>,
    slc_program_us: Option<f64>,
    slc_unit: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BusFile {
    mb_per_second: f64,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct LinkFile {
    mb_per_second: Option<f64>,
    read_us: Option<f64>,
    write_us: Option<f64>,
    write_4kib_us: Option<f64>,
}

/// A timing by its name: a preset, a drive, or the path of a file that ends with `.toml`.
///
/// # Errors
/// It is none of them, or the file is none; with its line.
pub fn timing(name: &str) -> Result<TimingArg, String> {
    named(name, 0)
}

/// All that have a name.
pub fn timings() -> impl Iterator<Item = TimingArg> {
    TIMINGS
        .iter()
        .map(|(name, ..)| *name)
        .chain(DRIVES.iter().map(|(name, _)| *name))
        .filter_map(|name| timing(name).ok())
}

fn named(name: &str, depth: usize) -> Result<TimingArg, String> {
    if let Some((_, about, base)) = TIMINGS.iter().find(|(known, ..)| *known == name) {
        let spec = Spec {
            base: *base,
            channels: None,
            dies_per_channel: None,
            unit_bytes: None,
            sense_bytes: None,
            slc_unit_bytes: None,
            bus_mb_per_second: None,
            link: None,
        };
        return Ok(TimingArg { name: name.to_string(), about: (*about).to_string(), spec });
    }
    if let Some((_, text)) = DRIVES.iter().find(|(known, _)| *known == name) {
        return of_file(name, text, depth);
    }
    if Path::new(name).extension().is_none_or(|extension| extension != "toml") {
        let known: Vec<&str> =
            TIMINGS.iter().map(|(name, ..)| *name).chain(DRIVES.iter().map(|(name, _)| *name)).collect();
        return Err(format!("unknown timing '{name}'; known are {}, and files that end with .toml", known.join(", ")));
    }
    let about = |error: std::io::Error| format!("{name}: {error}");
    let of = std::fs::metadata(name).map_err(about)?;
    if !of.is_file() || of.len() > FILE_BYTES_MAX {
        return Err(format!("{name}: a timing is a file of at most {}", size::show(FILE_BYTES_MAX)));
    }
    of_file(name, &std::fs::read_to_string(name).map_err(about)?, depth)
}

fn of_file(name: &str, text: &str, depth: usize) -> Result<TimingArg, String> {
    let about = |error: String| format!("{name}: {error}");
    let file: File = toml::from_str(text).map_err(|error| {
        let line = error.span().map_or(1, |span| 1 + text[..span.start].matches('\n').count());
        format!("{name}:{line}: {}", error.message().trim())
    })?;
    if depth == DEPTH_MAX {
        return Err(about(format!("more than {DEPTH_MAX} files that inherit from one another")));
    }
    let inherits = file.inherits.as_deref().unwrap_or("gecko");
    // A file beside this one, wherever the command is called.
    let beside = Path::new(name).with_file_name(inherits);
    let is_file = inherits.ends_with(".toml") && Path::new(name).extension().is_some();
    let inherits = if is_file { beside.display().to_string() } else { inherits.to_string() };
    let mut spec = named(&inherits, depth + 1)?.spec;
    spec.change(&file).map_err(about)?;
    let about = if file.about.is_empty() { format!("constants of {name}") } else { file.about };
    Ok(TimingArg { name: name.to_string(), about, spec })
}

/// Microseconds as nanoseconds.
fn nanos(what: &str, micros: f64) -> Result<u64, String> {
    match micros {
        0.0..=MICROS_MAX => Ok((micros * 1e3).round() as u64),
        _ => Err(format!("{what} = {micros}: from 0 to {MICROS_MAX} would be right")),
    }
}

fn rate(what: &str, mb_per_second: f64) -> Result<f64, String> {
    match mb_per_second {
        0.1..=1e9 => Ok(mb_per_second),
        _ => Err(format!("{what}.mb_per_second = {mb_per_second}: from 0.1 to 1e9 would be right")),
    }
}

impl Spec {
    fn change(&mut self, file: &File) -> Result<(), String> {
        let chip = &file.chip;
        let base = &mut self.base;
        let set = |what: &str, micros: Option<f64>, place: &mut u64| -> Result<(), String> {
            micros.map_or(Ok(()), |micros| nanos(what, micros).map(|ns| *place = ns))
        };
        set("chip.read_us", chip.read_us, &mut base.read_ns)?;
        set("chip.program_us", chip.program_us, &mut base.program_ns)?;
        set("chip.slc_read_us", chip.slc_read_us, &mut base.slc_read_ns)?;
        set("chip.slc_program_us", chip.slc_program_us, &mut base.slc_program_ns)?;
        set("chip.erase_us", chip.erase_us, &mut base.erase_ns)?;
        set("chip.suspend_us", chip.suspend_us, &mut base.suspend_ns)?;
        if let Some(types) = &chip.page_types_us {
            if !(1..=4).contains(&types.len()) || chip.read_us.is_some() {
                return Err("chip.page_types_us has 1 to 4 times, and replaces chip.read_us".to_string());
            }
            let types =
                types.iter().map(|micros| nanos("chip.page_types_us", *micros)).collect::<Result<Vec<_>, _>>()?;
            base.read_ns = types.iter().sum::<u64>() / types.len() as u64;
            base.page_types = types.len() as u32;
            base.sense_differences_ns = [0; 4];
            for (difference, of_type) in base.sense_differences_ns.iter_mut().zip(&types) {
                *difference = i32::try_from(*of_type as i64 - base.read_ns as i64)
                    .map_err(|_| "chip.page_types_us: they differ by more than 2 s".to_string())?;
            }
        } else if chip.read_us.is_some() {
            (base.page_types, base.sense_differences_ns) = (1, [0; 4]);
        }
        match chip.read_spare_us {
            Some(micros) => base.read_spare_ns = nanos("chip.read_spare_us", micros)?,
            // What has to be sensed is a page.
            None if chip.read_us.is_some() || chip.page_types_us.is_some() => base.read_spare_ns = base.read_ns,
            None => {}
        }
        base.cache_program = chip.cache_program.unwrap_or(base.cache_program);
        let bytes = |text: &Option<String>| text.as_deref().map(size::parse).transpose();
        self.unit_bytes = bytes(&chip.unit)?.or(self.unit_bytes);
        self.sense_bytes = bytes(&chip.sense)?.or(self.sense_bytes);
        self.slc_unit_bytes = bytes(&chip.slc_unit)?.or(self.slc_unit_bytes);
        if let Some(bus) = &file.bus {
            self.bus_mb_per_second = Some(rate("bus", bus.mb_per_second)?);
        }
        if let Some(link) = &file.link {
            let of = self.link.unwrap_or_default();
            let merged = LinkFile {
                mb_per_second: link.mb_per_second.or(of.mb_per_second),
                read_us: link.read_us.or(of.read_us),
                write_us: link.write_us.or(of.write_us),
                write_4kib_us: link.write_4kib_us.or(of.write_4kib_us),
            };
            let Some(of_link) = merged.mb_per_second else {
                return Err("link.mb_per_second is missing, and inherited from nowhere".to_string());
            };
            rate("link", of_link)?;
            nanos("link.read_us", merged.read_us.unwrap_or(0.0))?;
            nanos("link.write_us", merged.write_us.unwrap_or(0.0))?;
            nanos("link.write_4kib_us", merged.write_4kib_us.unwrap_or(0.0))?;
            self.link = Some(merged);
        }
        let within = |what: &str, number: Option<u32>, most: u32| match number {
            Some(number) if !(1..=most).contains(&number) => {
                Err(format!("drive.{what} = {number}: from 1 to {most} would be right"))
            }
            _ => Ok(()),
        };
        if let Some(planes) = chip.planes {
            if !(1..=16).contains(&planes) {
                return Err(format!("chip.planes = {planes}: from 1 to 16 would be right"));
            }
            self.base.planes = planes;
        }
        within("channels", file.drive.channels, 256)?;
        within("dies_per_channel", file.drive.dies_per_channel, 64)?;
        self.channels = file.drive.channels.or(self.channels);
        self.dies_per_channel = file.drive.dies_per_channel.or(self.dies_per_channel);
        Ok(())
    }
}

impl TimingArg {
    /// Channels, and dies on each, of the drive that it is of; where it is of one.
    #[must_use]
    pub fn dies(&self) -> (Option<u32>, Option<u32>) {
        (self.spec.channels, self.spec.dies_per_channel)
    }

    /// The times on a drive with blocks of so many pages.
    ///
    /// # Errors
    /// As [`on`](Self::on); a unit is larger than a block.
    pub fn on_blocks(&self, page_bytes: u32, pages_per_block: u32) -> Outcome<Times> {
        let times = self.on(page_bytes)?;
        if times.chip.unit_pages > pages_per_block.max(1) {
            return Err(Failure::Input(format!(
                "{}: a unit of {} pages is larger than a block of {pages_per_block}; larger blocks, or pages, would do",
                self.name, times.chip.unit_pages
            )));
        }
        Ok(times)
    }

    /// The times on a drive with pages of so many bytes.
    ///
    /// # Errors
    /// A unit is no whole number of pages.
    pub fn on(&self, page_bytes: u32) -> Outcome<Times> {
        let Spec { unit_bytes, sense_bytes, slc_unit_bytes, bus_mb_per_second, .. } = &self.spec;
        let page = u64::from(page_bytes);
        let pages = |what: &str, bytes: Option<u64>| match bytes {
            None => Ok(1),
            Some(bytes) if bytes >= page && bytes.is_multiple_of(page) && bytes / page <= 1 << 16 => {
                Ok((bytes / page) as u32)
            }
            Some(bytes) => Err(Failure::Input(format!(
                "{}: a {what} of {} is not 1 to 65,536 whole pages of {}",
                self.name,
                size::show(bytes),
                size::show(page)
            ))),
        };
        let mut chip = self.spec.base;
        (chip.unit_pages, chip.sense_pages) = (pages("unit", *unit_bytes)?, pages("sense", *sense_bytes)?);
        chip.slc_unit_pages = pages("slc_unit", *slc_unit_bytes)?;
        if !chip.unit_pages.is_multiple_of(chip.sense_pages) {
            let shown = |pages: u32| size::show(page * u64::from(pages));
            return Err(Failure::Input(format!(
                "{}: chip.unit {} is no whole number of chip.sense {}; either may be inherited",
                self.name,
                shown(chip.unit_pages),
                shown(chip.sense_pages)
            )));
        }
        let spare = page / 32;
        let moving = |bytes: u64, mb_per_second: f64| (bytes as f64 * 1e3 / mb_per_second).round() as u64;
        if let Some(rate) = *bus_mb_per_second {
            (chip.transfer_ns, chip.transfer_spare_ns) = (moving(page, rate), moving(spare, rate));
        }
        let link = self.spec.link.as_ref().map(|link| {
            let ns = |micros: Option<f64>| (micros.unwrap_or(0.0) * 1e3).round() as u64;
            Link {
                read_ns: ns(link.read_us),
                write_ns: ns(link.write_us),
                write_page_ns: ns(link.write_4kib_us.map(|micros| micros * f64::from(page_bytes) / 4096.0)),
                page_ns: link.mb_per_second.map_or(0, |rate| moving(page, rate)),
            }
        });
        Ok(Times { chip, link })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{RunArgs, parsed};
    use phelsuma_drive::{RunResult, run};

    /// A run of `page` with these words, without reports of its progress.
    fn ran(words: &str) -> RunResult {
        of_page(&format!("--capacity 1GiB --ratio 0.8 --warmup 0 {words}"))
    }

    fn of_page(words: &str) -> RunResult {
        let words = format!("--ftl page {words}");
        let args: RunArgs = parsed(words.split_whitespace().map(Into::into)).unwrap();
        let (config, _) = args.config().unwrap();
        run(&config, &|_| true).unwrap()
    }

    fn near(is: f64, wanted: f64, tolerance: f64) {
        assert!((is / wanted - 1.0).abs() < tolerance, "{is} where {wanted} is wanted");
    }

    #[test]
    fn peaks_follow_from_the_constants() {
        // Of 970pro: 16 dies and 8 channels of 800 MB/s; 8 pages of 4 KiB are a unit, and are sensed at once.
        let page_on_bus = 4096.0 / 0.8;
        let Times { chip, link } = timing("970pro").unwrap().on(4096).unwrap();
        assert_eq!((chip.read_ns, chip.program_ns, chip.transfer_ns), (35_760, 185_000, 5_120));
        assert_eq!((chip.unit_pages, chip.sense_pages, chip.sense_differences_ns), (8, 8, [-6_000, 6_000, 0, 0]));
        assert_eq!(link, Some(Link { read_ns: 21_500, write_ns: 4_000, write_page_ns: 460, page_ns: 1_219 }));
        let peaks = timing("970pro").unwrap().on(4096).unwrap().peaks(4096, 8, 2);
        assert_eq!(peaks.read_ns, 21_500 + 35_760 + 5_120 + 1_219);
        assert_eq!(peaks.write_ns, 4_000 + 460 + 1_219);
        near(peaks.write_mb_per_second, 16.0 * 32_768.0 * 1e3 / (185_000.0 + 8.0 * page_on_bus), 1e-9);
        near(peaks.random_read_mb_per_second, 16.0 * 4_096.0 * 1e3 / (35_760.0 + page_on_bus), 1e-9);
        near(peaks.read_mb_per_second, 4_096.0 * 1e3 / 1_219.0, 1e-9);
        // Of a chip that programs page by page, with nothing around it.
        let peaks = timing("slc").unwrap().on(4096).unwrap().peaks(4096, 1, 4);
        assert_eq!((peaks.read_ns, peaks.write_ns), (77_800, 252_800));
        near(peaks.write_mb_per_second, 4.0 * 4_096.0 * 1e3 / 252_800.0, 1e-9);
    }

    /// Figures that Samsung states of the drive of 512 GB: 3,500 and 2,300 MB/s, 370,000 and 500,000 requests a second at
    /// 4 queues of 32.
    #[test]
    fn a_970_pro_is_within_fifteen_percent_of_what_is_stated_of_it() {
        let of = |words: &str| ran(&format!("--timing 970pro {words}")).throughput;
        let reads = of("--passes 0.01 --workload mixed:read=99:uniform --queue-depth 128");
        near(reads.requests_per_second, 370_000.0, 0.15);
        let reads = of("--passes 0.03 --workload mixed:read=99,pages=32-32:sequential --queue-depth 32");
        near(reads.read_mb_per_second, 3_500.0, 0.15);
        let writes = of("--passes 0.2 --fill none --workload uniform --queue-depth 128");
        near(writes.requests_per_second, 500_000.0, 0.15);
        let writes = of("--passes 0.2 --fill none --workload mixed:pages=32-32:sequential --queue-depth 32");
        near(writes.write_mb_per_second, 2_300.0, 0.01);
        // One at a time it is what the constants say.
        let one = ran("--timing 970pro --passes 0.003 --workload mixed:read=99:uniform");
        near(one.latency_us.read.unwrap().mean, 63.599, 0.01);
    }

    /// Of tlc-2024: what Crucial states of the T700 of 2 TB, and 3 GB/s that are reported of it when its SLC cache is full.
    /// Of qlc-2024 no figure is stated that its dies alone decide. Blocks are large, as those of such dies are.
    #[test]
    fn drives_of_2024_come_to_their_peaks() {
        for (name, [reads, random_reads, writes]) in
            [("tlc-2024", [12_400.0, 1_500_000.0, 3_000.0]), ("qlc-2024", [7_100.0, 735_000.0, 960.0])]
        {
            let peaks = timing(name).unwrap().on(4096).unwrap().peaks(4096, 8, 2);
            near(peaks.random_read_mb_per_second, random_reads * 4096.0 / 1e6, 0.05);
            near(peaks.write_mb_per_second, writes, 0.05);
            let of = |words: &str| {
                let drive = "--capacity 4GiB --ratio 0.5 --pages-per-block 3072 --warmup 0";
                of_page(&format!("{drive} --timing {name} {words}")).throughput
            };
            let of_reads = of("--passes 0.2 --workload mixed:read=100:uniform --queue-depth 1024");
            near(of_reads.requests_per_second, random_reads, 0.15);
            let of_reads = of("--passes 0.3 --workload mixed:read=100,pages=32-32:sequential --queue-depth 32");
            near(of_reads.read_mb_per_second, reads, 0.15);
            let of_writes = of("--passes 0.5 --fill none --workload mixed:pages=32-32:sequential --queue-depth 32");
            near(of_writes.write_mb_per_second, writes, 0.15);
        }
    }

    /// With collections side by side, dies are at work for most of the time. They cannot be at work for more.
    #[test]
    fn steady_random_writes_follow_from_the_constants() {
        for (name, dies) in [("970pro", (8, 2)), ("zn540", (8, 4)), ("tlc-2024", (8, 2)), ("qlc-2024", (4, 4))] {
            let words = "--capacity 4GiB --ratio 0.7 --pages-per-block 768 --passes 0.5 --workload uniform \
                         --queue-depth 256 --set collection=batches";
            let result = of_page(&format!("--timing {name} {words}"));
            let amplification = result.write_amplification.unwrap().total;
            let most = timing(name).unwrap().on(4096).unwrap().random_writes_per_second(dies, amplification, 768);
            let share = result.throughput.requests_per_second / most;
            assert!((0.7..1.0).contains(&share), "{name}: {share} of {most} a second, WA {amplification}");
        }
    }

    #[test]
    fn write_amplification_is_that_of_the_same_drive_without_units() {
        let of = |timing: &str| {
            let words = format!("--timing {timing} --channels 8 --dies 2 --passes 1 --workload uniform");
            ran(&words).write_amplification.unwrap().total
        };
        near(of("970pro"), of("gecko"), 0.005);
    }

    #[test]
    fn a_file_inherits_and_what_is_wrong_is_said_with_its_line() {
        let folder = std::env::temp_dir().join(format!("phelsuma-timing.{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.join(name).display().to_string();
            std::fs::write(&path, text).unwrap();
            path
        };
        let own = write("own.toml", "inherits = '970pro'\n[chip]\nprogram_us = 400.5\n[drive]\nchannels = 4\n");
        let own = timing(&own).unwrap();
        let times = own.on(4096).unwrap();
        assert_eq!((times.chip.program_ns, times.chip.unit_pages, own.dies()), (400_500, 8, (Some(4), Some(2))));
        assert!(own.on(65_536).is_err(), "a page is larger than a unit");
        assert!(own.on_blocks(4096, 8).is_ok() && own.on_blocks(4096, 7).is_err());
        let slow = write("slow.toml", "inherits = '970pro'\n[link]\nread_us = 30\n");
        let link = timing(&slow).unwrap().on(4096).unwrap().link.unwrap();
        assert_eq!((link.read_ns, link.write_ns, link.page_ns), (30_000, 4_000, 1_219));
        assert!(timing("/dev/null.toml").is_err() && timing(&folder.display().to_string()).is_err());
        let beside = timing(&write("beside.toml", "inherits = 'slow.toml'\n")).unwrap().on(4096).unwrap();
        assert_eq!(beside.link, Some(link));
        let wrong = [
            ("[chip]\nread_us = 1\nspeed = 2\n", ":3: unknown field `speed`"),
            ("[chip]\nread_us = -1\n", "chip.read_us = -1: from 0 to"),
            ("[chip]\npage_types_us = []\n", "chip.page_types_us has 1 to 4 times"),
            ("[chip]\nunit = 'many'\n", "'many' is no size"),
            ("[bus]\nmb_per_second = 0\n", "bus.mb_per_second = 0"),
            ("inherits = 'nothing'\n", "unknown timing 'nothing'"),
            ("[link]\nread_us = 1\n", "link.mb_per_second is missing"),
            ("[chip]\nplanes = 0\n", "chip.planes = 0: from 1 to 16"),
            ("[drive]\nchannels = 4294967295\n", "drive.channels = 4294967295: from 1 to 256"),
            ("[chip\n", ":1: "),
        ];
        for (text, said) in wrong {
            let error = timing(&write("wrong.toml", text)).unwrap_err();
            assert!(error.contains(said), "{text}: {error}");
        }
        let itself = folder.join("itself.toml").display().to_string();
        std::fs::write(&itself, format!("inherits = '{itself}'\n")).unwrap();
        assert!(timing(&itself).unwrap_err().contains("inherit from one another"));
        std::fs::remove_dir_all(folder).unwrap();
    }
}
