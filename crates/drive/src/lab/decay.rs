//! Pages that decay, long after they were written and without any power cut.
//!
//! Also what a host may expect then.

use super::model::{Decayed, Doubt, Model};
use super::subject::Subject;
use phelsuma_nand::sim::Decay;
use phelsuma_nand::{Block, Content, Kind, Nand, Op, Page, PageRead, Purpose, SimNand, Spare, SpareRead, Time};

/// A page decays: the one with this number among those that are written and of metadata, or of the host (modulo how
/// many there are).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Decays {
    pub(crate) metadata: bool,
    pub(crate) number: u32,
    pub(crate) decay: Decay,
}

/// The written pages.
struct Written {
    pages: Vec<(Page, Spare)>,
    /// The last readable page of each block, and pages that are the only readable ones of theirs, or will be after the next
    /// cut: a page that one has met may read well until then.
    last: Vec<Page>,
    alone: Vec<Page>,
    /// Last pages whose data are bad. Every recovery from a cut that was not announced takes them for torn, so they are
    /// no version of anything: an older one counts.
    torn: Vec<Page>,
}

const AT_REST: Op = Op { at: Time::ZERO, purpose: Purpose::Recovery };

impl Written {
    fn on(sim: &mut SimNand, is_announced: bool) -> Self {
        let geometry = *sim.geometry();
        let (mut pages, mut last, mut alone) = (Vec::new(), Vec::new(), Vec::new());
        let mut later = sim.clone();
        later.power_cycle();
        let mut stays = |page: &Page| matches!(later.read_spare(*page, AT_REST).0, SpareRead::Written(_));
        for block in (0..geometry.blocks()).map(Block) {
            let before = pages.len();
            for page in (0..geometry.pages_per_block()).map(|index| geometry.page(block, index)) {
                if let SpareRead::Written(spare) = sim.read_spare(page, AT_REST).0 {
                    pages.push((page, spare));
                }
            }
            let of_block: Vec<Page> = pages[before..].iter().map(|(page, _)| *page).collect();
            last.extend(of_block.last());
            let mut staying = of_block.iter().filter(|page| stays(page));
            alone.extend(staying.next().filter(|_| staying.next().is_none()));
        }
        let is_torn = |page: &Page| !is_announced && sim.read(*page, AT_REST).0.verified().is_none();
        let torn = last.iter().copied().filter(is_torn).collect();
        Self { pages, last, alone, torn }
    }

    /// Whether no other translation page in this one's block is the newest of its kind.
    fn is_alone_in_use(&self, sim: &SimNand, page: Page) -> bool {
        let geometry = sim.geometry();
        let beside = |other: &&(Page, Spare)| {
            other.0 != page
                && other.1.kind == Kind::Translation
                && geometry.block_of(other.0) == geometry.block_of(page)
        };
        let mut others = self.pages.iter().filter(beside);
        !others.any(|(_, spare)| self.newest_of(spare.key) == Some((spare.version, spare.seq)))
    }

    /// Where this page is one of a block of translation pages, or of what a battery saved, which stands among them:
    /// when the readable one behind it was programmed, in program order, and the latest if there is none.
    fn among_translation_pages(&self, sim: &SimNand, page: Page) -> Option<u64> {
        let geometry = sim.geometry();
        let of_block = || self.pages.iter().filter(|(other, _)| geometry.block_of(*other) == geometry.block_of(page));
        let behind = of_block().filter(|(other, _)| *other > page).map(|(_, spare)| spare.seq).min();
        let is_translation = |(_, spare): &&(Page, Spare)| spare.kind == Kind::Translation;
        let by = |stream| self.pages.iter().filter(is_translation).any(|(_, spare)| spare.stream == stream);
        let mut others = of_block().filter(|page| !is_translation(page));
        let is_saved = |(_, spare): &(Page, Spare)| spare.kind == Kind::Bitmap && by(spare.stream);
        others.all(is_saved).then_some(behind.unwrap_or(u64::MAX))
    }

    /// Whether none of its kind and key was written later; one that was torn does not count.
    fn is_newest(&self, page: Page, spare: &Spare) -> bool {
        let mut others = self.pages.iter().filter(|(other, of)| {
            (of.kind, of.key) == (spare.kind, spare.key) && *other != page && !self.torn.contains(other)
        });
        others.all(|(_, of)| (of.version, of.seq) < (spare.version, spare.seq))
    }

    /// Of the copies of a translation page the newest: when it was synchronized, and when programmed.
    fn newest_of(&self, translation_page: u32) -> Option<(u64, u64)> {
        let is_copy = |(page, spare): &&(Page, Spare)| {
            (spare.kind, spare.key) == (Kind::Translation, translation_page) && !self.torn.contains(page)
        };
        self.pages.iter().filter(is_copy).map(|(_, spare)| (spare.version, spare.seq)).max()
    }
}

/// A page decays. What cannot be had from anywhere else is doubtful from then on. Whether any page did.
pub(crate) fn decay(sim: &mut SimNand, model: &mut Model, subject: &dyn Subject, decays: &Decays) -> bool {
    let written = Written::on(sim, subject.has_battery());
    let mut of_kind = written.pages.iter().filter(|(_, spare)| (spare.kind != Kind::User) == decays.metadata);
    let count = of_kind.clone().count();
    let Some((page, spare)) = of_kind.nth(decays.number as usize % count.max(1)).copied() else { return false };
    // A recovery that goes by spare areas takes a block without a readable page for one whose first program was torn,
    // and writes it anew. Then the table names another page there. With a battery such a recovery counts live pages.
    if written.alone.contains(&page) && !subject.has_battery() {
        return false;
    }
    // A run of Gecko's that ends there looks like one that was torn while it was written: nothing says that translation
    // pages count on it.
    if spare.kind == Kind::Gecko && written.last.contains(&page) {
        return false;
    }
    let in_ram = subject.cache_entries().is_none();
    // A block's last page may have been in flight when the power failed (a suspect page).
    let looks_torn = written.last.contains(&page);
    // Where all of a block is stale but for this page, an erase may have been cut. Recoveries that read user pages look
    // for what is lost nevertheless.
    let looks_torn = looks_torn
        || (spare.kind == Kind::Translation
            && subject.recovers_from_metadata_alone()
            && written.is_alone_in_use(sim, page));
    // Then an older version answers. Where the table is not read, a recovery does not see that pages which it names may
    // have been written anew. Nor does it see that pages which it does not name are live no more once they are written
    // anew.
    let is_newest = || written.newest_of(spare.key) == Some((spare.version, spare.seq));
    let is_trusted = spare.kind == Kind::Translation && !subject.has_battery() && !subject.reads_table();
    if looks_torn && is_trusted && is_newest() {
        return false;
    }
    model.decayed(match spare.kind {
        Kind::User => Decayed::Host,
        Kind::Gecko | Kind::ValidityLog | Kind::Bitmap => Decayed::Validity,
        _ => Decayed::Metadata,
    });
    let all = model.logical_pages();
    let entries = sim.geometry().page_bytes() / 4;
    // A cache without a battery: an entry that is not in its translation page yet is in the user page alone.
    let known = written.newest_of(spare.key / entries).is_some_and(|(synchronized, _)| spare.seq < synchronized);
    let only_itself = spare.kind == Kind::User && !known && !subject.has_battery();
    // If the mapping is not on flash, only spare areas say what is where. And bad data that a collection takes along
    // look torn then, too.
    let doubt = if looks_torn || in_ram || only_itself { Doubt::Forgotten } else { Doubt::Unreadable };
    match spare.kind {
        Kind::User => {
            let tag = match sim.read(page, AT_REST).0 {
                PageRead::Written { content: Content::Hollow(tag), .. } => tag,
                _ => 0,
            };
            if spare.key < all {
                model.content_decayed(spare.key, tag, doubt);
            }
        }
        Kind::Translation => {
            let first = spare.key.saturating_mul(entries);
            // An inner node of a tree stands for all; and so does a page that does not say any more which one it was.
            let says_which = first < all && matches!(decays.decay, Decay::Data(_));
            let pages = if says_which { first..(first + entries).min(all) } else { 0..all };
            // There is no other sure record of a trim. Of a page that has decayed itself only the translation page had
            // it.
            let only_here = |page| model.now(page) == 0 || model.is_in_doubt(page);
            let or_forgotten = |page| if only_here(page) { Doubt::Forgotten } else { doubt };
            if written.newest_of(spare.key) == Some((spare.version, spare.seq)) {
                let doubts: Vec<(u32, Doubt)> = pages.map(|page| (page, or_forgotten(page))).collect();
                doubts.into_iter().for_each(|(page, doubt)| model.doubt(page, doubt));
            }
        }
        // Which pages are trimmed nothing else says.
        Kind::Tombstone if written.is_newest(page, &spare) => {
            let trimmed: Vec<u32> = (0..all).filter(|page| model.now(*page) == 0).collect();
            trimmed.into_iter().for_each(|page| model.doubt(page, Doubt::Forgotten));
        }
        _ => {}
    }
    // Where a battery's seal does not hold, or there is none, a page may not say any more what it was. Then it may have
    // been the newest version of any translation page of which none is found that was written later.
    let says_what = matches!(decays.decay, Decay::Data(_));
    if subject.recovers_from_metadata_alone()
        && !says_what
        && let Some(behind) = written.among_translation_pages(sim, page)
    {
        for logical_page in 0..all {
            if written.newest_of(logical_page / entries).is_none_or(|(_, seq)| seq < behind) {
                model.doubt(logical_page, Doubt::Unreadable);
            }
        }
    }
    sim.decay(page, decays.decay);
    true
}
