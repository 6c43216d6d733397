//! DAC, Dynamic dAta Clustering: regions of flash from cold to hot, each with an open block.
//!
//! It is Chiang's, as Dual Greedy's section II-B has it. Data move up when they are written again while they are young,
//! and down when collection finds them old.
//!
//! Young is younger than the region's threshold. An age is counted from when the page came to its region: when the host
//! wrote it, or when collection moved it down. A page that is written again while it is old stays in its region. So
//! does a young page in a victim.
//!
//! Where times of pages come from (`dac.page-times`):
//! - `ram`: four bytes a page in RAM. The paper counts one for each flash page. Here it is one for each logical page,
//!   which has one flash page that is live. A power cut forgets them: everything counts as old until it is written
//!   again, and sinks a region each time it is collected.
//! - `spare`: the version in the spare area. A collection reads it with the page, and for a host write the old copy's
//!   spare area is read. It is when the host wrote the page last. So a page that has moved down is as old as before and
//!   moves down again at the next collection.
//!
//! Where the paper is silent: pages without an old copy come to the coldest region. So do those whose old copy is not
//! in a lazy mapping (`placement.unknown=class`). Thresholds are in percent of the drive's logical pages, so that they
//! mean the same on drives of all sizes.

use super::unknown::UNKNOWN;
use crate::blocks::{Moments, View, Wants};
use crate::policy::{Asks, Context, HostWrite, MovedPage, OldCopy, Placement, PlacementSpec, State};
use crate::spec::{Chosen, Param};
use crate::{Counter, RamLedger};
use alloc::boxed::Box;
use alloc::vec::Vec;
use phelsuma_nand::LogicalPage;
use phelsuma_nand::state::Preserve;

/// The most regions that there can be.
const REGIONS_MAX: usize = 8;

const REGIONS: Param =
    Param::number("dac.regions", 2, REGIONS_MAX as u32, 4, "regions of dac, from cold to hot").always_shown();

const THRESHOLDS: Param = Param::list(
    "dac.thresholds",
    REGIONS_MAX,
    1,
    10_000,
    50,
    "the age below which data are young, of the logical pages written by the host: of each region of dac, the coldest first; the last one given is that of all that follow",
)
.unit("percent")
.always_shown();

const PAGE_TIMES: Param = Param::words(
    "dac.page-times",
    &["ram", "spare"],
    "whether dac has a page's age from a table in RAM or from the old copy's spare area",
);

pub(crate) static SPEC: PlacementSpec = PlacementSpec::new(
    "dac",
    "regions from cold to hot by ages of pages (DAC)",
    |context| context.number(&REGIONS) as u8,
    |context| Box::new(Dac::new(context)),
)
.params(&[REGIONS, THRESHOLDS, PAGE_TIMES, UNKNOWN])
.wants(|_| Wants::NOTHING.clock())
.asks(|values| {
    let asks = if values.is(&PAGE_TIMES, "spare") { Asks::NOTHING.pages().old_spares() } else { Asks::NOTHING.pages() };
    if values.is(&UNKNOWN, "fetch") { asks.fetches() } else { asks }
});

/// DAC without a table of pages: their times from spare areas, and where a lazy mapping does not know the old copy, from
/// that of the translation page.
pub(crate) const FROM_FLASH: Chosen<PlacementSpec> = SPEC.chosen().with(1 + REGIONS_MAX, 1).with(2 + REGIONS_MAX, 1);

/// Regions, the coldest first.
#[derive(Clone, Preserve)]
struct Dac {
    regions: u8,
    /// By region: ages below are young, in pages that the host writes.
    young_below: [u64; REGIONS_MAX],
    times: PageMoments,
    moved_up: u64,
    moved_down: u64,
}

/// When pages came to their regions.
#[derive(Clone, Preserve)]
enum PageMoments {
    Ram { moments: Moments, began: bool, hand: usize },
    Spare,
}

impl Dac {
    /// Thresholds are in percent of the logical pages.
    fn new(context: &Context) -> Self {
        let pages = context.logical_pages;
        let times = match context.is(&PAGE_TIMES, "spare") {
            true => PageMoments::Spare,
            false => PageMoments::Ram { moments: Moments::new(pages as usize), began: false, hand: 0 },
        };
        let mut young_below = [0; REGIONS_MAX];
        for (below, percent) in young_below.iter_mut().zip(context.values().list(&THRESHOLDS)) {
            *below = u64::from(pages) * u64::from(*percent) / 100;
        }
        debug_assert!(context.number(&REGIONS) as usize <= REGIONS_MAX, "there are regions without a threshold");
        Self { regions: context.number(&REGIONS) as u8, young_below, times, moved_up: 0, moved_down: 0 }
    }

    fn is_young(&self, region: u8, age: u64) -> bool {
        age < self.young_below[usize::from(region)]
    }

    /// The region of a stream: what others than this placement wrote is cold.
    fn region(&self, stream: u8) -> u8 {
        if stream < self.regions { stream } else { 0 }
    }

    /// A page comes to a region.
    fn comes(&mut self, page: LogicalPage, now: u64) {
        if let PageMoments::Ram { moments, .. } = &mut self.times {
            moments.set(page.0 as usize, now);
        }
    }
}

impl Placement for Dac {
    fn host(&mut self, view: &View<'_>, write: &HostWrite) -> u8 {
        if let PageMoments::Ram { moments, began, hand } = &mut self.times {
            if !*began {
                moments.forget(view.now());
                *began = true;
            }
            moments.visit(*hand, view.now());
            *hand = if *hand + 1 == moments.len() { 0 } else { *hand + 1 };
        }
        let region = match write.old {
            OldCopy::None | OldCopy::Unknown => 0,
            OldCopy::Known(block) => {
                let region = self.region(view.stream_of(block));
                let age = match &self.times {
                    PageMoments::Ram { moments, .. } => Some(moments.age(write.page.0 as usize, view.now()).into()),
                    PageMoments::Spare => write.old_spare.map(|spare| view.age_of_version(spare.version)),
                };
                let is_young = age.is_some_and(|age| self.is_young(region, age));
                let up = is_young && region + 1 < self.regions;
                self.moved_up += u64::from(up);
                region + u8::from(up)
            }
        };
        self.comes(write.page, view.now());
        region
    }

    fn moved(&mut self, view: &View<'_>, page: &MovedPage) -> u8 {
        let region = self.region(page.stream);
        let age = match &self.times {
            PageMoments::Ram { moments, began: true, .. } => moments.age(page.page.0 as usize, view.now()).into(),
            PageMoments::Ram { .. } => u64::MAX,
            PageMoments::Spare => view.age_of_version(page.spare.version),
        };
        if region == 0 || self.is_young(region, age) {
            return region;
        }
        self.moved_down += 1;
        self.comes(page.page, view.now());
        region - 1
    }

    fn counters(&self, out: &mut Vec<Counter>) {
        out.push(Counter::sum("placement_moved_up", self.moved_up));
        out.push(Counter::sum("placement_moved_down", self.moved_down));
    }
}

impl State for Dac {
    fn enter(&self, ledger: &mut RamLedger) {
        ledger.structure("placement.thresholds", size_of::<[u64; REGIONS_MAX]>() as u64);
        if let PageMoments::Ram { moments, .. } = &self.times {
            ledger.structure("placement.page_times", moments.bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocks::scene::Scene;
    use crate::ftl::Hint;
    use phelsuma_nand::{Block, Kind, Page, Spare};

    /// Of 1,000 logical pages.
    fn dac(settings: &[(&str, &str)]) -> Dac {
        let mut chosen = SPEC.chosen();
        for (name, value) in settings {
            let (param, numbers) = chosen.find(name).unwrap();
            assert_eq!(param.read(value, numbers), Ok(()));
        }
        let values = *chosen;
        Dac::new(&Context {
            blocks: 8,
            pages_per_block: 4,
            page_bytes: 4096,
            dies: 1,
            logical_pages: 1_000,
            seed: 1,
            values,
        })
    }

    fn scene(streams: u8) -> Scene {
        Scene::new(8, 4, streams, SPEC.chosen().wants())
    }

    fn write(dac: &mut Dac, scene: &Scene, page: u32, old: OldCopy, old_spare: Option<Spare>) -> u8 {
        dac.host(&scene.view(), &HostWrite { page: LogicalPage(page), old, old_spare, old_life: 0, hint: Hint::None })
    }

    fn spare(version: u64) -> Spare {
        Spare { kind: Kind::User, stream: 0, key: 7, version, seq: 1, data_crc: 0, aux: 0 }
    }

    fn moved(dac: &mut Dac, scene: &Scene, stream: u8, version: u64) -> u8 {
        let page = MovedPage { page: LogicalPage(7), from: Page(0), stream, spare: spare(version), life: 0 };
        dac.moved(&scene.view(), &page)
    }

    /// Three regions; of 1,000 logical pages, young is below 100, 200 and 300.
    #[test]
    fn young_data_move_up_when_written_and_old_data_down_when_collected() {
        let mut dac = dac(&[("dac.regions", "3"), ("dac.thresholds", "10/20/30")]);
        let mut scene = scene(3);
        // Blocks 0, 1 and 2 are those of the three regions.
        scene.at(1_000).write(0, 0).write(1, 1).write(2, 2);
        assert_eq!(write(&mut dac, &scene, 7, OldCopy::None, None), 0);
        scene.at(1_100);
        assert_eq!(write(&mut dac, &scene, 7, OldCopy::Known(Block(0)), None), 0, "100 is not below 100");
        scene.at(1_199);
        assert_eq!(write(&mut dac, &scene, 7, OldCopy::Known(Block(0)), None), 1, "99 is");
        scene.at(1_398);
        assert_eq!(write(&mut dac, &scene, 7, OldCopy::Known(Block(1)), None), 2, "199 of 200");
        scene.at(1_399);
        assert_eq!(write(&mut dac, &scene, 7, OldCopy::Known(Block(2)), None), 2, "there is none above");
        // Collected: young stays and keeps its time, old goes down and begins anew.
        scene.at(1_600);
        assert_eq!(moved(&mut dac, &scene, 2, 0), 2, "201 of 300");
        scene.at(1_699);
        assert_eq!(moved(&mut dac, &scene, 2, 0), 1, "300 since it was written");
        scene.at(1_898);
        assert_eq!(moved(&mut dac, &scene, 1, 0), 1, "199 since it came down");
        scene.at(1_899);
        assert_eq!(moved(&mut dac, &scene, 1, 0), 0);
        scene.at(9_000);
        assert_eq!(moved(&mut dac, &scene, 0, 0), 0, "there is none below");
        assert_eq!((dac.moved_up, dac.moved_down), (2, 2));
    }

    #[test]
    fn with_times_from_spare_areas_an_age_is_since_the_hosts_write() {
        let mut dac = dac(&[("dac.regions", "3"), ("dac.thresholds", "10"), ("dac.page-times", "spare")]);
        let mut scene = scene(3);
        scene.write(0, 0).write(1, 1);
        // The drive's last version is 1,000.
        scene.blocks.clock = crate::medium::Clock::new(1, 1_000, 0);
        assert_eq!(write(&mut dac, &scene, 7, OldCopy::Known(Block(0)), Some(spare(901))), 1);
        assert_eq!(write(&mut dac, &scene, 7, OldCopy::Known(Block(0)), Some(spare(900))), 0);
        assert_eq!(write(&mut dac, &scene, 7, OldCopy::Known(Block(1)), None), 1, "an old copy that cannot be read");
        assert_eq!((moved(&mut dac, &scene, 2, 901), moved(&mut dac, &scene, 2, 900)), (2, 1));
        assert_eq!(moved(&mut dac, &scene, 9, 950), 0, "a stream of somebody else");
    }

    #[test]
    fn after_a_power_cut_everything_is_old() {
        let mut dac = dac(&[("dac.regions", "2"), ("dac.thresholds", "100")]);
        let mut scene = scene(2);
        // Moments of four bytes have started over by then.
        scene.at((1 << 32) + 10).write(0, 0);
        assert_eq!(moved(&mut dac, &scene, 1, 5), 0);
        assert_eq!(write(&mut dac, &scene, 7, OldCopy::Known(Block(0)), None), 0);
        assert_eq!(write(&mut dac, &scene, 7, OldCopy::Known(Block(0)), None), 1);
        let mut ledger = RamLedger::default();
        dac.enter(&mut ledger);
        assert!(ledger.papers().any(|entry| entry == ("placement.page_times", 4_000)));
    }
}
