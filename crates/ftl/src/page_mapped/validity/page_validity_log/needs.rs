//! How long the log can become, and how much it can write in a row.
//!
//! Let L be the entries that count, all different: no more than there are pages, P. Cleaning takes r pages out for the
//! room of one that new entries take. So a turn of a log of S entries leaves no more than S / r + L. All may count only
//! in the first L that are cleaned. So at no time in the turn can more than L / r have come beyond S.
//!
//! Without repeats the log so has no more than r / (r − 1) P + P / r entries. A log beyond r / (r − 1) P has repeats,
//! or is in the middle of such a turn. Then repeats are looked for, and the same bound holds with them.

use super::PageValidityLog;
use super::cleaning::PAGES_PER_PAGE;
use super::page::{self, PAGE_NUMBERS_MAX};
use crate::FtlError;
use crate::page_mapped::needs::Needs;
use phelsuma_nand::Geometry;
use phelsuma_nand::state::Preserve;

/// Pages that a flush adds before it cleans, besides the pages that have left a victim: its last, one that came early,
/// and those that round up.
const PAGES_MORE: u64 = 6;

/// How long the log should be, in pages.
#[derive(Clone, Copy, Debug, Preserve)]
pub(super) struct Bounds {
    /// X: beyond it the log is cleaned.
    pub(super) pages_max: u64,
    /// A log of different entries comes to no more, but for a short time.
    pub(super) different_max: u64,
}

fn different_max(geometry: &Geometry, entries_per_page: u64) -> u64 {
    (geometry.pages() * PAGES_PER_PAGE).div_ceil((PAGES_PER_PAGE - 1) * entries_per_page)
}

impl Bounds {
    pub(super) fn new(geometry: &Geometry, logical_pages: u32, entries_per_page: usize) -> Self {
        let v = entries_per_page as u64;
        let different_max = different_max(geometry, v);
        // Where most of the drive is spare, 2 D is more than the log ever needs.
        let x = 2 * (geometry.pages() - u64::from(logical_pages).min(geometry.pages()));
        Self { pages_max: x.div_ceil(v).min(different_max).max(1), different_max }
    }
}

impl PageValidityLog {
    /// What it needs where one collection can report so many pages as stale. With `synchronizations`, of which it can
    /// do so many, flushes are requested as well. That happens when blocks are held, marks are due, or as many
    /// synchronizations were done as there are entries in the buffer.
    ///
    /// # Errors
    /// A page has no room for a few entries, or there are more pages than an entry can name.
    pub(crate) fn needs(geometry: &Geometry, reports: u64, synchronizations: Option<u64>) -> Result<Needs, FtlError> {
        let v = page::entries_per_page(geometry.page_bytes()) as u64;
        if v < 8 {
            return Err(FtlError::Unsupported("a page is too small for eight entries of a page validity log"));
        }
        if geometry.page_numbers() > PAGE_NUMBERS_MAX {
            return Err(FtlError::Unsupported("a page validity log can name two billion pages"));
        }
        // A page that leaves a victim may have to be reported as well.
        let leaving = u64::from(geometry.pages_per_block());
        let meanwhile = geometry.pages().div_ceil(v * PAGES_PER_PAGE) + leaving.div_ceil(v) + PAGES_MORE;
        let live_pages = different_max(geometry, v) + meanwhile;
        let entries = reports + leaving;
        let early = synchronizations.map_or(0, |n| n / v + 3);
        Ok(Needs { live_pages, programs: Self::programs(v, entries, 1 + early), ..Needs::default() })
    }

    /// Pages that are programmed at the most for so many new entries, with so many flushes that come early. A buffer
    /// that was nearly full when it began is a page more, and so is what cleaning keeps of it.
    fn programs(entries_per_page: u64, entries: u64, early: u64) -> u64 {
        (entries.div_ceil(entries_per_page) + early + 1) * (1 + PAGES_PER_PAGE) + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ftl::{Ftl, Hint, HostData, WriteRequest};
    use crate::page_mapped::meta_io::MetaIo;
    use crate::page_mapped::parts::{PageMapped, validity_io};
    use crate::page_mapped::validity::{AnyValidity, Validity};
    use crate::{Config, PageParts, Preset, ValidityPart};
    use alloc::vec::Vec;
    use phelsuma_nand::sim::SimConfig;
    use phelsuma_nand::{Block, LogicalPage, Page, Purpose, SimNand, Time, Timing};

    struct Drive {
        nand: SimNand,
        ftl: PageMapped,
        random: u64,
    }

    impl Drive {
        fn new(pages_per_block: u32, logical_pages: u32, prepare: impl Fn(&mut Config<PageParts>)) -> Self {
            let geometry = Geometry::new(512, pages_per_block, 16_384 / u64::from(pages_per_block), 1, 1).unwrap();
            let page = Preset::named("page").unwrap().composition.page_mapped().unwrap();
            let mut composition = PageParts { validity: ValidityPart::PageValidityLog, ..page };
            composition.power = crate::PowerPart::Nothing;
            let mut nand = SimNand::new(&SimConfig::new(geometry, Timing::preset("gecko").unwrap()));
            let mut config = Config::new("any", composition, logical_pages, 1);
            prepare(&mut config);
            let (ftl, _) = PageMapped::format(&mut nand, &config, Time::ZERO).unwrap();
            Self { nand, ftl, random: 1 }
        }

        fn log(&self) -> &PageValidityLog {
            let AnyValidity::Log(log) = &self.ftl.validity else { panic!("it has no log") };
            log
        }

        fn pages(&self) -> u64 {
            self.log().pages.len() as u64
        }

        fn below(&mut self, n: usize) -> usize {
            self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (self.random >> 33) as usize % n
        }

        fn write(&mut self, page: u32) {
            let write =
                WriteRequest { first: LogicalPage(page), pages: 1, data: HostData::Hollow(0), hint: Hint::None };
            self.ftl.write(&mut self.nand, &write, Time::ZERO).unwrap();
        }

        fn overwrite(&mut self) {
            for _ in 0..self.ftl.shape.logical_pages {
                let page = self.below(self.ftl.shape.logical_pages as usize);
                self.write(page as u32);
            }
        }

        fn programs(&self) -> u64 {
            self.nand.stats().of(Purpose::Validity).programs - self.ftl.tally.metadata_pages_moved
        }

        /// The pages that are stale in the log.
        fn stale(&mut self) -> Vec<Page> {
            let geometry = *self.ftl.blocks.geometry();
            let mut stale = Vec::new();
            let (ftl, nand) = (&mut self.ftl, &mut self.nand);
            for block in (0..geometry.blocks()).map(Block) {
                if !ftl.blocks.is_in_use(block) {
                    continue;
                }
                let mut live = Vec::new();
                ftl.validity.live_in(validity_io!(ftl, nand, Time::ZERO), block, &mut live);
                let all = 0..geometry.pages_per_block() as u16;
                stale.extend(all.filter(|i| !live.contains(i)).map(|i| geometry.page(block, i.into())));
            }
            stale
        }

        /// Reports stale pages again, as recoveries do. It returns the most pages that the log came to have, and the
        /// most that it programmed for the reports of one collection.
        fn report_again(&mut self, reports: usize) -> (u64, u64) {
            let (mut longest, mut most) = (0, 0);
            let mut reported = 0;
            while reported < reports {
                let stale = self.stale();
                for page in &stale {
                    reported += 1;
                    let before = self.programs();
                    let (ftl, nand) = (&mut self.ftl, &mut self.nand);
                    ftl.validity.invalidate(validity_io!(ftl, nand, Time::ZERO), *page).unwrap();
                    most = most.max(self.programs() - before);
                    longest = longest.max(self.pages());
                    if longest > 2 * self.limit() {
                        return (longest, most);
                    }
                    self.ftl.hear_news(&mut self.nand, Time::ZERO).unwrap();
                    if self.ftl.blocks.free() < self.ftl.shape.reserve_blocks {
                        self.ftl.make_space(&mut self.nand, Time::ZERO).unwrap();
                        // Whose blocks were collected are not stale any more.
                        break;
                    }
                }
            }
            (longest, most)
        }

        fn limit(&self) -> u64 {
            let geometry = self.ftl.blocks.geometry();
            PageValidityLog::needs(geometry, 0, None).unwrap().live_pages
        }
    }

    #[test]
    fn reports_that_are_repeated_for_ever_neither_turn_the_log_for_ever_nor_outgrow_its_room() {
        // A buffer of 38 entries; blocks with more pages, and with fewer.
        for pages_per_block in [16, 128] {
            let mut drive = Drive::new(pages_per_block, 10_000, |_| {});
            (0..10_000).for_each(|page| drive.write(page));
            drive.overwrite();
            let (longest, most) = drive.report_again(150_000);
            let bound = PageValidityLog::programs(38, 1, 0);
            assert!(longest <= drive.limit(), "{longest} pages, and {} are set aside", drive.limit());
            assert!(most <= bound, "{most} pages are programmed for one entry, and {bound} stated");
            assert!(drive.log().cleaning.repeats() > 1000, "repeats are dropped");
            assert!(longest * 5 > drive.limit() * 4, "it came to {longest} of {} pages", drive.limit());
            drive.overwrite();
            assert_eq!(drive.ftl.check(&mut drive.nand), []);
        }
    }

    #[test]
    fn no_collection_programs_more_than_is_stated_and_the_log_stays_near_x() {
        let mut drive = Drive::new(32, 13_000, |_| {});
        (0..13_000).for_each(|page| drive.write(page));
        let per_collection = u64::from(drive.ftl.shape.metadata_programs_per_collection);
        let x = Bounds::new(drive.ftl.blocks.geometry(), 13_000, 38).pages_max;
        for n in 0..60_000 {
            if drive.ftl.blocks.free() < drive.ftl.shape.reserve_blocks {
                let (collections, before) = (drive.ftl.tally.collections, drive.programs());
                drive.ftl.make_space(&mut drive.nand, Time::ZERO).unwrap();
                let (collections, programs) = (drive.ftl.tally.collections - collections, drive.programs() - before);
                assert!(programs <= collections * per_collection, "{programs} in {collections} collections");
            }
            let page = drive.below(13_000);
            drive.write(page as u32);
            if n > 20_000 {
                assert!(drive.pages() <= x + 4, "{} pages where X is {x}", drive.pages());
            }
        }
        // Appendix E: on average an entry is inserted again at the most once.
        let tally = drive.log();
        assert!(tally.cleaning.reinserted() <= tally.tally.inserts, "half of what is cleaned is obsolete, or more");
    }

    #[cfg(phelsuma_mutants)]
    mod mutants {
        use super::*;
        use crate::barriers::Barrier;

        #[test]
        fn repeats_that_nobody_looks_for_outgrow_what_is_set_aside_for_the_log() {
            for pages_per_block in [16, 128] {
                let forget = |config: &mut Config<PageParts>| config.forgets = Some(Barrier::RepeatsDropped);
                let mut forgetful = Drive::new(pages_per_block, 10_000, forget);
                (0..10_000).for_each(|page| forgetful.write(page));
                forgetful.overwrite();
                let outgrown = forgetful.report_again(150_000).0;
                assert!(outgrown > forgetful.limit(), "{outgrown} of {}", forgetful.limit());
            }
        }
    }
}
