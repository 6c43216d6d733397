//! What the tests of the FTLs share: a chip set with a plug that can be pulled, and a host that remembers every answer.

mod host;
mod plug;

pub(crate) use host::{Host, Step};
pub(crate) use plug::Plug;

use phelsuma_ftl::{Composition, Config, FtlError, MappingPart, MetadataPart, PRESETS, Preset, ValidityPart, format};
use phelsuma_nand::sim::SimConfig;
use phelsuma_nand::{Geometry, SimNand, Time, Timing};
use rand_core::RngCore;

/// Whether the long mode is on.
pub(crate) fn thorough() -> bool {
    std::env::var_os("PHELSUMA_THOROUGH").is_some_and(|v| v == "1")
}

/// `quick` in the usual mode, `long` in the thorough one.
pub(crate) fn scaled(quick: u32, long: u32) -> u32 {
    if thorough() { long } else { quick }
}

/// Pages of 512 bytes.
pub(crate) fn small(pages_per_block: u32, blocks: u64, channels: u32, dies_per_channel: u32) -> Geometry {
    Geometry::new(512, pages_per_block, blocks, channels, dies_per_channel).unwrap()
}

/// A chip set that can hold tags, of the usual times.
pub(crate) fn chips(geometry: Geometry) -> SimNand {
    SimNand::new(&SimConfig { tagged: true, ..SimConfig::new(geometry, Timing::preset("gecko").unwrap()) })
}

/// The same with a plug that is never pulled.
pub(crate) fn plugged(geometry: Geometry) -> Plug {
    chips(geometry).into()
}

/// With a cache that is small for a small drive, where there is one.
fn small_cache(mut composition: Composition) -> Composition {
    if composition.has_cache() {
        composition.set("mapping.cache", "24").unwrap();
    }
    composition
}

/// The parts of a preset, or of `PRESET` with some of these behind it:
/// - `+wear` levels wear as eagerly as can be;
/// - `+sample` counts the live pages of a few blocks alone and queries as few others as can be;
/// - `+runs` has runs of Logarithmic Gecko that are long for a small drive;
/// - `+two-way` merges them two by two;
/// - `+dense` has dense pages in them;
/// - `+tree` has a B+-tree of several levels and a cache of two nodes;
/// - `+dual` has Dual Greedy's victims and placement;
/// - `+fetch` reads an old copy's entry that those do not have;
/// - `+slices` collects in slices;
/// - `+batches` collects in batches;
/// - `+groups` collects groups of translation pages at once;
/// - `+log` has GeckoRec's block log;
/// - `+dac` has DAC's regions by spare areas.
pub(crate) fn parts_of(name: &str) -> Composition {
    if name == "last++" {
        // Requests here are short.
        let mut composition = Preset::named(name).unwrap().composition;
        composition.set("last.threshold", "4").unwrap();
        return composition;
    }
    let mut words = name.split('+');
    let mut composition = small_cache(Preset::named(words.next().unwrap()).unwrap().composition);
    for word in words {
        let parameters = match word {
            "wear" => [("wear", "levelling"), ("wear.threshold", "1"), ("wear.looks", "8")],
            "sample" => SAMPLE,
            "runs" => [("gecko.partitions", "16"); 3],
            "two-way" => [("gecko.merge", "two-way"); 3],
            "dense" => [("gecko.pages", "dense"); 3],
            "tree" => [("mapping.directory", "b-tree"), ("mapping.fanout", "3"), ("mapping.nodes", "2")],
            "dual" => [("victim", "dual-greedy"), ("placement", "dual-greedy"), ("placement.on-random", "greedy")],
            "log" => [("power.block-log", "on"); 3],
            "mapping-log" => [("mapping.log", "20"); 3],
            "long-log" => [("mapping.log", "250"); 3],
            "slices" => [("collection", "slices"); 3],
            "batches" => [("collection", "batches"); 3],
            "groups" => [("collection", "groups"), ("victim", "group"), ("placement", "groups")],
            "lifetimes" => LIFETIMES,
            "fetch" => [("placement.unknown", "fetch"); 3],
            "dac" => [("victim", "cat"), ("placement", "dac"), ("dac.page-times", "spare")],
            other => panic!("no variant {other} of a preset"),
        };
        parameters.iter().for_each(|(name, value)| composition.set(name, value).unwrap());
    }
    composition
}

/// As small a sample as there is.
pub(crate) const SAMPLE: [(&str, &str); 3] = [("victim", "sampled"), ("victim.sample", "16"), ("victim.looks", "1")];

/// Classes by lifetimes, and the victim that is learned.
const LIFETIMES: [(&str, &str); 3] =
    [("placement", "lifetimes"), ("placement.unknown", "fetch"), ("victim", "cost-benefit-learned")];

/// A preset's configuration; see [`parts_of`].
pub(crate) fn config(preset: &str, logical_pages: u32) -> Config {
    Config::new(preset, parts_of(preset), logical_pages, 7)
}

/// Whether a cut that it survives takes nothing back that was acknowledged. An FTL for each channel is the one that it
/// is made of on the drives of most tests, which have one channel. On others `ftl_mm.rs` tries it, and so does every
/// test in the long mode.
fn keeps_everything(preset: &&Preset) -> bool {
    (thorough() || !preset.composition.is_per_channel())
        && preset.composition.survives_power_cuts()
        && !preset.composition.may_lose_what_is_not_flushed()
}

/// The presets that any power cut may meet and that keep everything; of these the one that `PHELSUMA_FTL` names, if it
/// does.
pub(crate) fn scanned() -> Vec<&'static Preset> {
    let any_cut = |p: &&Preset| keeps_everything(p) && !p.composition.has_battery();
    let only = std::env::var("PHELSUMA_FTL").ok();
    let asked_for = |p: &&Preset| only.as_ref().is_none_or(|name| name == p.name);
    PRESETS.iter().filter(any_cut).filter(asked_for).collect()
}

/// Those that keep trims in tombstone pages.
pub(crate) fn with_tombstones() -> Vec<&'static Preset> {
    let in_ram = |p: &&Preset| p.composition.page_mapped().is_some_and(|parts| parts.mapping == MappingPart::RamTable);
    PRESETS.iter().filter(in_ram).collect()
}

/// A larger drive where metadata on flash takes space for itself, or many streams have a block open on each of several
/// dies.
pub(crate) fn with_metadata(preset: &str, geometry: Geometry) -> Geometry {
    let parts = parts_of(preset);
    let of_pages = parts.page_mapped();
    let much =
        of_pages.is_some_and(|parts| parts.metadata == MetadataPart::Left || parts.validity != ValidityPart::RamBitmap);
    let blocks = if much { 3 * geometry.blocks() } else { geometry.blocks() };
    let streams = of_pages.map_or(1, |parts| {
        let number = |name: &str| parts.placement.value(name).unwrap().parse::<u32>().unwrap();
        match parts.placement.name() {
            "host-gc" => 2,
            "dual-greedy" | "dac" => 4,
            "sepbit" => 6,
            "midas" => number("midas.groups") + 1,
            "static-quota" => number("quota.classes"),
            "oracle" => number("oracle.windows"),
            _ => 1,
        }
    });
    let blocks = if streams > 2 && geometry.dies() > 1 { blocks + streams * geometry.dies() } else { blocks };
    // Future knowledge takes a block open for each of its many windows.
    let blocks = if streams > 8 { 2 * blocks } else { blocks };
    small(geometry.pages_per_block(), u64::from(blocks), geometry.channels(), geometry.dies_per_channel())
}

/// The drive, with as many times twice the blocks as it takes for an eighth of it to be of use.
pub(crate) fn large_enough(preset: &str, mut geometry: Geometry) -> Geometry {
    while u64::from(most_pages(preset, geometry)) < geometry.pages() / 8 {
        let (pages_per_block, blocks) = (geometry.pages_per_block(), u64::from(geometry.blocks()) * 2);
        geometry = small(pages_per_block, blocks, geometry.channels(), geometry.dies_per_channel());
    }
    geometry
}

/// The presets that power cuts may meet between requests: those as well that have a battery.
pub(crate) fn surviving() -> Vec<&'static Preset> {
    PRESETS.iter().filter(keeps_everything).collect()
}

/// `page` with these parameters.
pub(crate) fn composition(parameters: &[(&str, &str)]) -> Composition {
    let mut composition = Preset::named("page").unwrap().composition;
    for (name, value) in parameters {
        composition.set(name, value).unwrap();
    }
    composition
}

/// The most logical pages that `preset` takes on this geometry: its own answer to a request for too many.
pub(crate) fn most_pages(preset: &str, geometry: Geometry) -> u32 {
    most_pages_of(parts_of(preset), geometry)
}

/// The most logical pages that an FTL of these parts takes on this geometry.
pub(crate) fn most_pages_of(composition: Composition, geometry: Geometry) -> u32 {
    match format(&mut plugged(geometry), &Config::new("any", composition, u32::MAX, 7), Time::ZERO) {
        Err(FtlError::DoesNotFit { usable_pages, .. }) => u32::try_from(usable_pages).unwrap(),
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("four billion pages fit {geometry:?}"),
    }
}

/// A number below `n`.
pub(crate) fn below(rng: &mut impl RngCore, n: u64) -> u64 {
    assert!(n > 0);
    rng.next_u64() % n
}
