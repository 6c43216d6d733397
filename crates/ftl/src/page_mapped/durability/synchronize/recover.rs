//! Recovery that synchronizes everything before the drive goes on, and makes the bitmap anew from the translation
//! table.
//!
//! This is LazyFTL as GeckoFTL sections 2, 5.3 and 6 have it. Two facts make it exact. A translation page is always
//! written with all of its dirty entries, and its version is the moment of that in program order. So a user page that
//! was programmed later is not in it. One that was programmed earlier is, or was stale by then. The spare area of the
//! translation page synchronized last has a mark (`mapping/paged/scan_mark.rs`): how far back there may be user pages
//! that are in none. The mark is of all dirty entries, the page's own included, so that it holds for the page before
//! should this one be torn.
//!
//! - **Nothing of the table is taken back.** The scan begins at the mark of a translation page that cannot have been in
//!   flight. The state without the suspect pages needs some blocks: these are not erased before the suspect pages are
//!   copied (`fallbacks.rs`).
//! - **A translation page may name a place that was erased since**: where the block's first page is newer than the
//!   translation page, the place holds something else. A page that was live there was moved and is found. Otherwise it
//!   was lost in RAM, and is made a read error for good.
//! - **The table is read before it is written.** So the live pages of all blocks are counted when entries are
//!   synchronized. Where next to nothing is free, blocks that earlier cuts left part-filled are gathered: each cut of a
//!   recovery may leave one.
//! - **A translation page that does not say any more which one it was** leaves an older version as the newest. Its
//!   updates are in the spare areas of user pages. All of them are read then, and the block with the evidence is not
//!   erased before the table is written. Spare areas do not show that a page was trimmed: such a trim may be undone.
//!   Entries of the older version that name another page by now are lost. An erase that was cut may look the same.
//!   Then nothing is found, since a block is erased only when newer versions are on flash.
//! - **Marks move on while entries are synchronized**, those with the oldest page first. There may be a run of cuts
//!   that come sooner than the drive synchronizes anything by itself. It does not add up to ever longer scans.

use super::gathered::{Gathered, PagedDrive};
use super::live_by::LiveBy;
use crate::FtlError;
use crate::blocks::Spread;
use crate::page_mapped::durability::common::Described;
use crate::page_mapped::mapping::PagedMapping;
use crate::page_mapped::parts::PageMapped;
use crate::recovery_report::RecoveryReport;
use phelsuma_nand::Nand;

/// Mounts a drive with a demand-paged mapping.
pub(crate) fn recover<L: LiveBy, N: Nand>(
    mut described: Described<'_, N>,
) -> Result<(PageMapped, RecoveryReport), FtlError> {
    let (mut paged, mut store): (PagedMapping, L::Store) = described.parts()?;
    let scheme = L::begin(&mut paged, &mut store);
    let mut ftl = described.drive((paged, store, scheme), Some(Spread::OneDie))?;
    let usable = described.usable();
    let Described { nand, mut steps, .. } = described;
    let mut drive = PagedDrive { ftl: &mut ftl, nand, steps: &mut steps };

    drive.begin("blocks information directory");
    let mut g = Gathered::<L>::new(&mut drive, &usable);

    drive.begin("global mapping directory");
    let mut translation = g.scan_translation(&mut drive);
    let mut scan_from = translation.scan_from();
    if let Some(heard_until) = L::find(&mut g, &mut drive) {
        scan_from = scan_from.and(heard_until);
    }

    drive.begin("pages written last");
    let mut found = g.scan_user(&mut drive, &translation, scan_from);
    g.scan_for_lost(&mut drive, &translation, &mut found);
    let (version, seq) = g.clocks();
    drive.ftl.blocks.begin_session(version, seq);
    g.keep_suspects(&mut translation, &mut found);
    found.choose(&drive.ftl.mapping, &translation, drive.ftl.blocks.barriers());
    if found.has_learnt() {
        L::learnt(&mut drive);
    }
    L::find_stale(&mut g, &mut drive, &translation, &found);
    let fallbacks = g.find_fallbacks(&mut drive, &translation, &found, |_| 0);

    drive.begin(L::READS);
    L::read(&mut g, &mut drive, &translation, &found);
    g.let_evidence_go(&found);
    let mut holding = g.settle_blocks(&mut drive, &fallbacks);
    let until_synchronized = g.held_until_synchronized(&mut holding);
    L::begin_telling(&mut g, &mut drive);
    drive.hear_news()?;

    drive.begin("copies of what may have been in flight");
    g.enter_translation_pages(&mut drive, &translation, &mut holding)?;
    g.copy_suspects(&mut drive, &mut found, &mut holding)?;
    drive.let_kept_go();
    L::tell(&g, &mut drive, !holding.is_empty())?;
    for block in holding {
        drive.ftl.blocks.release(block);
    }
    drive.hear_news()?;

    drive.begin("synchronize");
    g.add_lost(&mut found);
    drive.synchronize_found(&found)?;
    let scratch = g.end(&mut drive, until_synchronized, &translation, &found);
    Ok(ftl.mounted(steps, scratch))
}
