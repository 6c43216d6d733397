//! Recovery from translation pages alone: it synchronizes as others do (`synchronize/recover.rs`), without user pages.
//!
//! Only the table counts; `integrity.rs` says when which entries are in it.
//!
//! Of user blocks it reads the first spare area. That shows which entries name a page that has been erased since. A
//! translation page may not say any more which one it was. Then those that may have been it are lost, with all of their
//! entries. User pages cannot replace them. They would bring back data that were in flight at some cut, or not flushed,
//! and have been shown to be gone.

use super::FastRecovery;
use crate::blocks::Spread;
use crate::page_mapped::durability::common::{Described, Mount};
use crate::page_mapped::durability::synchronize::{FoundEntries, Gathered, LiveByTable};
use crate::page_mapped::durability::{ScanFrom, Survival};
use crate::page_mapped::mapping::PagedMapping;
use crate::page_mapped::parts::PageMapped;
use crate::page_mapped::validity::RamBitmap;
use crate::{FtlError, RecoveryReport};
use phelsuma_nand::Nand;

/// Mounts a drive with a demand-paged mapping and a bitmap in RAM.
pub(crate) fn recover<N: Nand>(mut described: Described<'_, N>) -> Result<(PageMapped, RecoveryReport), FtlError> {
    let geometry = described.geometry();
    let (paged, bitmap): (PagedMapping, RamBitmap) = described.parts()?;
    let scheme = Survival::Fast(FastRecovery::new(geometry.pages_per_block()));
    let mut ftl = described.drive((paged, bitmap, scheme), Some(Spread::OneDie))?;
    let usable = described.usable();
    let Described { nand, mut steps, .. } = described;
    let mut drive = Mount { ftl: &mut ftl, nand, steps: &mut steps };

    drive.begin("blocks information directory");
    let mut g = Gathered::<LiveByTable>::new(&mut drive, &usable);

    drive.begin("global mapping directory");
    let mut translation = g.scan_translation(&mut drive);
    // What an erase that was cut had held is not lost, and user pages cannot tell it from what is.
    g.take_for_cut_erases(&geometry, &translation);
    let mut found = FoundEntries::new(ScanFrom::NOTHING);
    // Pages behind the first ones of blocks that were open.
    let unseen = u64::from(drive.ftl.shape.open_blocks) * u64::from(geometry.pages_per_block());
    let (version, seq) = g.clocks();
    drive.ftl.blocks.begin_session(version + unseen, seq + unseen);
    g.keep_suspects(&mut translation, &mut found);
    // Besides the newest version that is sure only the newest two come to count, sure or not. A version is programmed
    // when all before it is on flash, copies that a recovery has made of the version before included. (User pages would
    // show which counts.)
    let newest_but_one = |versions: &[u64]| versions.iter().rev().nth(1).copied().unwrap_or(0);
    let fallbacks = g.find_fallbacks(&mut drive, &translation, &found, newest_but_one);

    drive.begin("read the translation table");
    g.read_table(&mut drive, &translation, &found, true);
    let mut holding = g.settle_blocks(&mut drive, &fallbacks);
    let until_synchronized = g.held_until_synchronized(&mut holding);
    drive.hear_news()?;

    drive.begin("copies of what may have been in flight");
    g.enter_translation_pages(&mut drive, &translation, &mut holding)?;
    match g.copy_suspects(&mut drive, &mut found, &mut holding) {
        // So many blocks have grown bad that none is left: what is there can be read, and a read compares its key.
        Err(FtlError::Full { .. }) => drive.stop_writing(),
        copied => copied?,
    }
    drive.let_kept_go();
    for block in holding {
        drive.ftl.blocks.release(block);
    }
    drive.hear_news()?;

    drive.begin("synchronize");
    g.add_lost(&mut found);
    match drive.synchronize_found(&found) {
        // As above.
        Err(FtlError::Full { .. }) => drive.stop_writing(),
        synchronized => synchronized?,
    }
    let scratch = g.end(&mut drive, until_synchronized, &translation, &found);
    Ok(ftl.mounted(steps, scratch))
}
