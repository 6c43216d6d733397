//! `phelsuma serve`: a drive as a block device over NBD.
//!
//! nbdkit is the server. It is found here, given the plugin, the drive and an address, and takes the place of this
//! process.

mod address;
mod find;

use crate::create::image_failure;
use crate::errors::{Failure, Outcome};
use address::Address;
use phelsuma_drive::DriveShape;
use phelsuma_ftl::Preset;
use phelsuma_nand::Geometry;
use phelsuma_options::{
    Setting, TimingArg, WriteCacheArgs, check_cache_is_used, memory, ratio, set_cache, setting, size, timing,
};
use phelsuma_serve::device::options::{Backing, IDLE_DEFAULT, MemoryOptions, Options, SERVED_POLICY, scale};
use phelsuma_serve::device::{CutPlan, Faults, ImageDrive, Serving};
use phelsuma_serve::image::{Durability, ImageNand};
use std::ffi::OsString;
use std::net::{IpAddr, SocketAddr};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Options of `serve`.
#[derive(clap::Args)]
#[command(group(clap::ArgGroup::new("drive").required(true).args(["image", "memory"])))]
pub(crate) struct Args {
    /// The image file
    #[arg(value_name = "IMAGE")]
    image: Option<PathBuf>,
    /// Serve a drive in memory instead, on SIZE bytes of flash; its data are lost when the server ends
    #[arg(long, value_name = "SIZE", value_parser = size::parse)]
    memory: Option<u64>,
    /// What flushed writes to an image survive: `flush` a crash of the host or the server, `process` only a crash of the
    /// server [default: flush]
    #[arg(long, value_name = "WHAT", conflicts_with = "memory", value_parser = |text: &str| text.parse::<Durability>())]
    durability: Option<Durability>,
    #[command(flatten)]
    of_memory: MemoryArgs,
    /// Socket that clients connect to [default: IMAGE.nbd; with --memory, phelsuma.nbd]
    #[arg(long, value_name = "PATH", conflicts_with_all = ["port", "address"])]
    socket: Option<PathBuf>,
    /// TCP port that clients connect to, on this machine only unless --address is given
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    port: Option<u16>,
    /// IP address that clients of other machines connect to, with --port
    #[arg(long, value_name = "A", requires = "port")]
    address: Option<IpAddr>,
    /// Show the drive at work on a web page at this port, on this machine only unless ADDRESS is given. Port 0 is any
    /// free port
    #[arg(long, value_name = "[ADDRESS:]PORT", value_parser = address::http)]
    http: Option<SocketAddr>,
    /// Record every request to this new file, as a trace for `phelsuma run --trace`, compressed if it ends in .gz or .zst
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Cut the power after OPS programs and erases; the server ends with exit code 3. OPS:SEED also seeds the fault
    #[arg(long, value_name = "OPS", conflicts_with = "cut_every", value_parser = cut_after)]
    cut_after: Option<CutPlan>,
    /// Cut the power again and again, and mount each time. LEAST..MOST:SEED draws the programs and erases between cuts
    #[arg(long, value_name = "RANGE:SEED", value_parser = cut_every)]
    cut_every: Option<CutPlan>,
    /// Faults that a cut can cause, separated by commas (see `phelsuma list`), all equally likely [default: all]
    #[arg(long, value_name = "LIST", value_parser = |text: &str| text.parse::<Faults>())]
    faults: Option<Faults>,
    /// Control socket of the server, for `phelsuma plug`
    #[arg(long, value_name = "PATH")]
    control: Option<PathBuf>,
    /// Make requests take SCALE times as long as on the simulated flash, for --memory
    #[arg(long, value_name = "SCALE", conflicts_with = "image", value_parser = scale)]
    realtime: Option<f64>,
    #[command(flatten)]
    cache: WriteCacheArgs,
    /// Milliseconds without a request before the FTL works in the background (last++ then merges log blocks)
    #[arg(long, value_name = "MS", default_value_t = IDLE_DEFAULT.as_millis() as u64, value_parser = clap::value_parser!(u64).range(1..=3_600_000))]
    idle: u64,
    /// Options, filters and filter parameters for nbdkit
    #[arg(last = true, value_name = "NBDKIT OPTIONS")]
    nbdkit: Vec<OsString>,
}

/// What is said of a drive in memory; an image says it of itself.
#[derive(clap::Args)]
struct MemoryArgs {
    /// The FTL (see `phelsuma list`), for --memory [default: page]
    #[arg(long, value_name = "NAME", conflicts_with = "image")]
    ftl: Option<String>,
    /// Logical over physical pages, for --memory [default: 0.70]
    #[arg(long, conflicts_with = "image", value_parser = ratio)]
    ratio: Option<f64>,
    /// Size of a page, for --memory [default: 4KiB]
    #[arg(long, value_name = "SIZE", conflicts_with = "image", value_parser = size::parse_page)]
    page: Option<u32>,
    /// Pages of a block, for --memory [default: 128]
    #[arg(long, value_name = "N", conflicts_with = "image")]
    pages_per_block: Option<u32>,
    /// Channels, for --memory [default: 1]
    #[arg(long, value_name = "N", conflicts_with = "image")]
    channels: Option<u32>,
    /// Dies on each channel, for --memory [default: 1]
    #[arg(long, value_name = "N", conflicts_with = "image")]
    dies: Option<u32>,
    /// How long flash operations take (see `phelsuma list`), for --memory [default: gecko]
    #[arg(long, value_name = "NAME", conflicts_with = "image", value_parser = timing)]
    timing: Option<TimingArg>,
    /// Seed of everything random, for --memory [default: 1]
    #[arg(long, conflicts_with = "image")]
    seed: Option<u64>,
    /// Size of the cache of mapping entries, at 8 bytes an entry, for --memory and FTLs that have one [default: 1/512 of
    /// the table, at least 1,024 entries]
    #[arg(long, value_name = "SIZE", conflicts_with = "image", value_parser = size::parse)]
    cache: Option<u64>,
    /// Change a part or parameter of the FTL (see `phelsuma list`), for --memory; may be repeated
    #[arg(long, value_name = "KEY=VALUE", conflicts_with = "image", value_parser = setting)]
    set: Vec<Setting>,
}

fn cut_after(text: &str) -> Result<CutPlan, String> {
    match text.parse()? {
        plan @ CutPlan::After { .. } => Ok(plan),
        CutPlan::Every { .. } => Err("use a number, OPS or OPS:SEED; a range is for --cut-every".into()),
    }
}

fn cut_every(text: &str) -> Result<CutPlan, String> {
    match text.parse()? {
        plan @ CutPlan::Every { .. } => Ok(plan),
        CutPlan::After { .. } => Err("use a range and a seed, LEAST..MOST:SEED; a number is for --cut-after".into()),
    }
}

/// Becomes nbdkit.
pub(crate) fn main(args: &Args) -> Outcome {
    let backing = args.backing()?;
    let address = args.address()?;
    let nbdkit = find::nbdkit()?;
    let plugin = find::plugin()?;
    address.prepare()?;
    args.http.into_iter().for_each(address::prepare_http);
    if let Some(control) = &args.control {
        let control = absolute(control)?;
        if address.socket() == Some(control.as_path()) {
            return Err(Failure::Input(format!(
                "--control and --socket are the same socket, {0}; use two paths",
                control.display()
            )));
        }
        Address::Socket(control).prepare()?;
    }
    let options = Options {
        backing: Some(backing),
        durability: args.durability.unwrap_or_default(),
        serving: Serving {
            cuts: args.cut_after.or(args.cut_every),
            faults: args.faults.clone().unwrap_or_default(),
            realtime: args.realtime,
            cache: args.cache.cache(SERVED_POLICY),
        },
        record: args.record.as_deref().map(absolute).transpose()?,
        control: args.control.as_deref().map(absolute).transpose()?,
        socket: address.socket().map(Path::to_path_buf),
        uri: Some(address.uri(&args.nbdkit)),
        http: args.http,
        idle: Duration::from_millis(args.idle),
    };
    let mut command = Command::new(&nbdkit);
    command.arg("--foreground").args(address.options()).arg(plugin).args(options.words()).args(&args.nbdkit);
    // On success there is nobody left to go on here.
    let error = command.exec();
    Err(Failure::Failed(format!("{}: {error}", nbdkit.display())))
}

impl Args {
    fn backing(&self) -> Outcome<Backing> {
        if let Some(image) = &self.image {
            // What is wrong is said before anything is started.
            let (geometry, config) = ImageNand::describe(image).map_err(|error| image_failure(image, &error))?;
            ImageDrive::may_be(&config.name, &config.composition)?;
            memory::affordable(&geometry)?;
            return Ok(Backing::Image(absolute(image)?));
        }
        let given = &self.of_memory;
        let default = MemoryOptions::default();
        let shape = DriveShape {
            capacity_bytes: self.memory,
            ratio: given.ratio.unwrap_or(default.shape.ratio),
            page_bytes: given.page.unwrap_or(default.shape.page_bytes),
            pages_per_block: given.pages_per_block.unwrap_or(default.shape.pages_per_block),
            channels: given.channels.unwrap_or(default.shape.channels),
            dies_per_channel: given.dies.unwrap_or(default.shape.dies_per_channel),
        };
        let ftl = given.ftl.clone().unwrap_or(default.ftl);
        let mut settings: Vec<(String, String)> =
            given.set.iter().map(|setting| (setting.key.clone(), setting.value.clone())).collect();
        let mut composition = Preset::named(&ftl)?.composition;
        check_cache_is_used(given.cache, std::iter::once(&composition))?;
        if let Some(bytes) = given.cache {
            set_cache(&mut composition, bytes)?;
            let entries = composition.cache_entries().unwrap_or_default();
            settings.push(("mapping.cache".into(), entries.to_string()));
        }
        let timing = given.timing.as_ref().map_or(default.timing, |timing| timing.name.clone());
        let memory = MemoryOptions { shape, ftl, timing, seed: given.seed.unwrap_or(default.seed), settings };
        // What is wrong is said before anything is started.
        let drive = memory.drive()?;
        affordable(&drive.geometry)?;
        let cuts = self.cut_after.is_some() || self.cut_every.is_some();
        match drive.config.composition.why_not_survivable() {
            Some(why) if cuts => {
                Err(Failure::Input(format!("{} does not survive power cuts: {why}", drive.config.name)))
            }
            _ => Ok(Backing::Memory(memory)),
        }
    }

    fn address(&self) -> Outcome<Address> {
        match (self.port, self.address, &self.socket) {
            (Some(port), address, _) => Ok(Address::tcp(address, port)),
            (None, _, Some(socket)) => Ok(Address::Socket(absolute(socket)?)),
            (None, _, None) => {
                let mut beside = self.image.clone().unwrap_or_else(|| "phelsuma".into()).into_os_string();
                beside.push(".nbd");
                Ok(Address::Socket(absolute(Path::new(&beside))?))
            }
        }
    }
}

/// Refuses a drive whose pages do not fit the machine's memory.
fn affordable(geometry: &Geometry) -> Outcome {
    memory::affordable(geometry)?;
    let bytes = geometry.pages() * u64::from(geometry.page_bytes()) + memory::needed(geometry);
    match memory::total() {
        Some(total) if bytes > total => Err(Failure::Input(format!(
            "{} of flash with every page written take {} of memory, and this machine has {}; use a smaller --memory",
            size::show(geometry.pages() * u64::from(geometry.page_bytes())),
            size::show(bytes),
            size::show(total)
        ))),
        _ => Ok(()),
    }
}

/// The path from the root on: nbdkit may work elsewhere. As words for nbdkit are text, it has to be.
fn absolute(path: &Path) -> Outcome<PathBuf> {
    let wrong = |what: &dyn std::fmt::Display| Failure::Input(format!("{}: {what}", path.display()));
    let path = std::path::absolute(path).map_err(|error| wrong(&error))?;
    match path.to_str() {
        Some(_) => Ok(path),
        None => Err(wrong(&"the path is not UTF-8; use one that is")),
    }
}
