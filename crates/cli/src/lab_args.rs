//! Options that the commands of the laboratory share: FTLs on drives small enough to go through everything.

use phelsuma_options::{
    Setting, TimingArg, WriteCacheArgs, check_cache_is_used, distinct, each, memory, remarks as remarks_on_settings,
    set_cache, set_parts, setting, size, timing,
};

use crate::errors::{Failure, Outcome};
use crate::tried::Tried;
use phelsuma_drive::{comes_up, does_not_fit};
use phelsuma_ftl::{CachePolicy, Config, ConfigError, ENTRY_BYTES, FtlError, PolicyAndSeed, Preset};
use phelsuma_nand::Geometry;
use phelsuma_plugin::Plugin;
use std::path::PathBuf;

/// The cache of mapping entries where none is asked for: the drive is small, and entries are to be evicted.
const CACHE_BYTES: u64 = 512;
/// What a cut leaves of a write cache, by default: as little as it can in any order.
const LAB_POLICY: PolicyAndSeed = PolicyAndSeed(CachePolicy::Subset, 1);
/// The least that a cache takes.
const CACHE_BYTES_MIN: u64 = 16 * ENTRY_BYTES;

/// Options of every command of the laboratory.
#[derive(clap::Args)]
pub(crate) struct LabArgs {
    /// The FTLs, separated by commas (see `phelsuma list`)
    #[arg(long, value_name = "NAMES", value_delimiter = ',', required_unless_present = "plugin")]
    ftl: Vec<String>,
    /// An FTL from a shared library, which runs in this process; may be repeated. crates/plugin/include/phelsuma_plugin.h
    /// is its interface
    #[arg(long, value_name = "FILE")]
    plugin: Vec<PathBuf>,
    /// Seed of the workload, and of faults with a random outcome
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Size of a page
    #[arg(long, value_name = "SIZE", default_value = "512", value_parser = size::parse_page)]
    pub(crate) page: u32,
    /// Channels [default: 1, or those of the drive that --timing names]
    #[arg(long, value_name = "N")]
    channels: Option<u32>,
    /// Dies on each channel [default: 1, or those of the drive that --timing names]
    #[arg(long, value_name = "N")]
    dies: Option<u32>,
    /// How long flash operations take: a name (see `phelsuma list`), or a .toml file of constants
    #[arg(long, value_name = "NAME|FILE", default_value = "gecko", value_parser = timing)]
    pub(crate) timing: TimingArg,
    /// Size of the cache of mapping entries, at 8 bytes an entry, for FTLs that have one [default: 512 B]
    #[arg(long, value_name = "SIZE", value_parser = size::parse, requires = "ftl")]
    cache: Option<u64>,
    #[command(flatten)]
    write_cache: WriteCacheArgs,
    /// Change a part or parameter of the FTL (see `phelsuma list`); may be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = setting, requires = "ftl")]
    set: Vec<Setting>,
    /// How many threads work at a time [default: as many as there are cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    threads: Option<u32>,
    /// Print JSON instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

impl LabArgs {
    pub(crate) fn geometry(&self, blocks: u64, pages_per_block: u32) -> Outcome<Geometry> {
        let of_drive = self.timing.dies();
        let (channels, dies) = (self.channels.or(of_drive.0).unwrap_or(1), self.dies.or(of_drive.1).unwrap_or(1));
        let geometry = Geometry::new(self.page, pages_per_block, blocks, channels, dies)?;
        // What is cut, and a branch of it in each thread; a branch is cut again while it recovers.
        memory::copies_affordable(&geometry, 1 + 2 * self.threads() as u64)?;
        Ok(geometry)
    }

    pub(crate) fn threads(&self) -> usize {
        let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
        self.threads.map_or(cores, |n| n as usize)
    }

    /// An FTL as it is asked for, and what is set that it lacks the part for.
    pub(crate) fn ftl(
        &self,
        name: &str,
        geometry: &Geometry,
        logical_pages: u32,
    ) -> Outcome<(Config, Vec<ConfigError>)> {
        let preset = Preset::named(name)?;
        let mut composition = preset.composition;
        let lacking = set_parts(&mut composition, &self.set, self.cache)?;
        // The usual default holds all entries of so small a drive, and nothing would ever be evicted.
        if let (None, Some(0)) = (self.cache, composition.cache_entries()) {
            let most = u64::from(logical_pages) * ENTRY_BYTES;
            set_cache(&mut composition, CACHE_BYTES.min(most.max(CACHE_BYTES_MIN)))?;
        }
        composition.check_on(geometry, logical_pages)?;
        let config = Config::new(preset.name, composition, logical_pages, self.seed);
        Ok((config.cached(self.write_cache.cache(LAB_POLICY)), lacking))
    }

    /// An experiment for each FTL and each plugin, and remarks on what is set for some of the FTLs alone.
    pub(crate) fn each<T>(
        &self,
        of: impl Fn(&str) -> Outcome<(T, Vec<ConfigError>)>,
        of_plugin: impl Fn(&Plugin) -> Outcome<T>,
        tried: impl Fn(&T) -> &Tried,
    ) -> Outcome<(Vec<T>, Vec<String>)> {
        let names = distinct(&self.ftl)?;
        let (mut made, lacking): (Vec<T>, Vec<_>) = each(&names, of)?.into_iter().unzip();
        let not_set = match lacking.is_empty() {
            true => Vec::new(),
            false => remarks_on_settings(names.iter().map(String::as_str).zip(lacking.iter().map(Vec::as_slice)))?,
        };
        let own = made.iter().filter_map(|made| tried(made).own());
        check_cache_is_used(self.cache, own.map(|config| &config.composition))?;
        let mut names = names;
        for path in &self.plugin {
            let plugin = Plugin::load(path).map_err(|error| Failure::Input(error.to_string()))?;
            if names.iter().any(|name| name == plugin.name()) {
                let (name, path) = (plugin.name(), path.display());
                return Err(Failure::Input(format!("{path}: an FTL of the name '{name}' is there already")));
            }
            names.push(plugin.name().into());
            made.push(of_plugin(&plugin)?);
        }
        Ok((made, not_set))
    }
}

/// Blocks of the flash, where they are enough.
pub(crate) const BLOCKS: u64 = 64;
/// Where more than these would be needed, something else is wrong.
pub(crate) const BLOCKS_MAX: u64 = 1024;

/// Whether the drive has room for what the FTL needs for itself; other reasons not to come up are told by the
/// experiment. A plugin said so when it was made.
pub(crate) fn fits(geometry: &Geometry, ftl: &Tried) -> bool {
    ftl.own().is_none_or(|ftl| room(geometry, ftl).is_ok())
}

/// Why an FTL does not fit, with what would.
pub(crate) fn why_not(geometry: &Geometry, ftl: &Tried, error: &FtlError) -> String {
    ftl.own().map_or_else(|| error.to_string(), |ftl| does_not_fit(geometry, ftl, error))
}

/// Where a drive has no room for what the FTL needs for itself, the largest ratio that fits.
pub(crate) fn room(geometry: &Geometry, ftl: &Config) -> Result<(), f64> {
    match comes_up(geometry, ftl) {
        Err(FtlError::DoesNotFit { largest_ratio, .. }) => Err(largest_ratio),
        _ => Ok(()),
    }
}
