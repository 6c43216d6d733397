//! Putting a drive together: a blank one, and one of which nothing is known yet.

use super::collecting::{Collecting, Sampling};
use super::durability::{
    Battery, Durability, FastRecovery, GeckoRec, Integrity, ScanFrom, Survival, Synchronizing, YoungBlocks,
};
use super::mapping::{AnyMapping, Mapping, MuMapping, PagedMapping, RamMapping};
use super::mending::Mending;
use super::parts::{PageConfig, PageMapped, PageTally};
use super::shape::{cache_entries, layout_of_tree};
use super::sorting::{Sorting, context};
use super::streams::Streams;
use super::validity::{
    AnyValidity, BitmapCache, FlashBitmap, LogarithmicGecko, PageValidityLog, RamBitmap, Tuning, Validity,
};
use crate::blocks::{Blocks, Wear};
use crate::config::{MappingPart, MetadataPart, PowerPart, ValidityPart, WearPart};
use crate::ftl::Ftl;
use crate::medium::{Clock, FirstPages, anchor};
use crate::{FtlError, RecoveryReport};
use alloc::boxed::Box;
use alloc::vec::Vec;
use phelsuma_nand::{Block, Geometry, Nand, Time};

/// Makes a blank drive.
///
/// # Errors
/// It does not fit, or what the flash refuses.
pub(crate) fn format<N: Nand>(
    nand: &mut N,
    config: &PageConfig,
    at: Time,
) -> Result<(Box<dyn Ftl<N>>, Time), FtlError> {
    let (ftl, done) = PageMapped::format(nand, config, at)?;
    Ok((ftl.boxed(config), done))
}

/// Mounts the drive that is on `nand`.
///
/// # Errors
/// It is none of this configuration, or what the flash refuses.
pub(crate) fn recover<N: Nand>(
    nand: &mut N,
    config: &PageConfig,
    at: Time,
) -> Result<(Box<dyn Ftl<N>>, RecoveryReport), FtlError> {
    let (ftl, report) = PageMapped::recover(nand, config, at)?;
    Ok((ftl.boxed(config), report))
}

impl PageMapped {
    /// It, and what mends it.
    fn boxed<N: Nand>(self, config: &PageConfig) -> Box<dyn Ftl<N>> {
        match config.composition.mapping {
            MappingPart::MuTree { .. } => Box::new(Mending::new(self, config)),
            MappingPart::RamTable | MappingPart::Paged { .. } => Box::new(self),
        }
    }

    /// A blank drive.
    pub(super) fn format<N: Nand>(nand: &mut N, config: &PageConfig, at: Time) -> Result<(Self, Time), FtlError> {
        let geometry = *nand.geometry();
        let bad = |nand: &N| (0..geometry.blocks()).filter(|b| nand.is_bad(Block(*b))).count() as u32;
        Self::shape_that_fits(&geometry, config, bad(nand))?;
        let (anchors, done) = anchor::format(nand, config, at)?;
        // Erasing may have found more of them.
        Self::shape_that_fits(&geometry, config, bad(nand))?;
        let mut ftl = Self::empty(&geometry, config, anchors, Clock::new(geometry.dies(), 0, 0))?;
        ftl.blocks.found_bad(bad(nand));
        if let Some(wear) = &mut ftl.blocks.wear {
            wear.formatted();
        }
        for block in ftl.usable_blocks(nand) {
            ftl.blocks.release(block);
        }
        ftl.keep_sample(None);
        ftl.blocks.note_first_pages(&FirstPages::default(), 0);
        Ok((ftl, done))
    }

    /// A drive with nothing in it and nothing in the pool.
    pub(super) fn empty(
        geometry: &Geometry,
        config: &PageConfig,
        anchors: Vec<Block>,
        clock: Clock,
    ) -> Result<Self, FtlError> {
        let shape = Self::shape_of(geometry, config)?;
        let composition = &config.composition;
        let logical_pages = config.logical_pages;
        let context = context(geometry, config);
        let mapping = match composition.mapping {
            MappingPart::RamTable => AnyMapping::Ram(RamMapping::new(geometry, logical_pages)),
            MappingPart::MuTree { .. } => {
                let layout = layout_of_tree(geometry, config)?;
                AnyMapping::Mu(MuMapping::new(
                    geometry,
                    layout,
                    logical_pages,
                    composition.placement.partition(&context),
                ))
            }
            MappingPart::Paged { cache_entries: asked, on_miss, dirty, directory } => {
                let entries = cache_entries(logical_pages, asked);
                let barriers = config.barriers();
                let mut paged = PagedMapping::new(geometry, logical_pages, entries, on_miss, directory, barriers);
                paged.limit_dirty(dirty, composition.power);
                AnyMapping::Paged(paged)
            }
        };
        let mut validity = match composition.validity {
            ValidityPart::RamBitmap => AnyValidity::Ram(RamBitmap::new(geometry)),
            ValidityPart::FlashBitmap => AnyValidity::Flash(FlashBitmap::new(geometry)),
            ValidityPart::MuTree { bitmap_cache } => {
                AnyValidity::Mu(BitmapCache::new(geometry, layout_of_tree(geometry, config)?, bitmap_cache))
            }
            ValidityPart::Gecko { size_ratio, partitions, merge } => {
                let tuning = Tuning::new(geometry, size_ratio, partitions, merge)?;
                AnyValidity::Gecko(LogarithmicGecko::new(geometry, tuning, config.barriers()))
            }
            ValidityPart::PageValidityLog => {
                AnyValidity::Log(PageValidityLog::new(geometry, logical_pages, config.barriers()))
            }
        };
        let sampling = composition.victim.sample().map(|sample| Sampling::new(geometry.blocks(), sample));
        let asks = composition.placement.asks();
        let streams = Streams::of(geometry, config)?;
        let collects_metadata = composition.metadata == MetadataPart::Collected;
        let mut blocks =
            Blocks::new(*geometry, streams.count, streams.mapping, collects_metadata, clock, config.barriers());
        blocks.note(composition.victim.wants().or(composition.placement.wants()));
        if validity.is_on_flash() {
            blocks.news.tell_of_erases();
        }
        if let (WearPart::Levelling { threshold, looks }, Some(cold)) = (composition.wear, streams.cold) {
            blocks.wear = Some(Wear::new(cold, looks, threshold));
        }
        let mut mapping = mapping;
        if asks.fetches {
            mapping.fetch_for_placement();
        }
        let scheme = Self::scheme_of(geometry, config, &mut mapping, &mut validity)?;
        let integrity = Integrity::of(composition);
        Ok(Self {
            shape,
            mapping,
            validity,
            victim: composition.victim.build(&context),
            placement: composition.placement.build(&context),
            sorting: Sorting { asks },
            blocks,
            durability: Durability::new(scheme, integrity),
            collecting: Collecting::new(geometry.pages_per_block(), sampling),
            streams,
            anchors,
            before: Vec::new(),
            tree: Self::tree_of(geometry, config)?,
            tally: PageTally::default(),
        })
    }

    /// What a drive's scheme keeps, and what it asks of the mapping and the validity store.
    fn scheme_of(
        geometry: &Geometry,
        config: &PageConfig,
        mapping: &mut AnyMapping,
        validity: &mut AnyValidity,
    ) -> Result<Survival, FtlError> {
        let barriers = config.barriers();
        Ok(match (config.composition.power, mapping, validity) {
            (PowerPart::Scan, ..) => Survival::Scan,
            (PowerPart::Battery, ..) => Survival::Battery(Battery::new(Self::least_free(geometry, config)?, barriers)),
            (PowerPart::GeckoRec, AnyMapping::Paged(paged), AnyValidity::Gecko(gecko)) => {
                paged.take_checkpoints(ScanFrom::default());
                gecko.tell_of_leaving();
                Survival::GeckoRec(GeckoRec::new(geometry, gecko.buffer_entries(), barriers))
            }
            (PowerPart::Synchronize, AnyMapping::Paged(paged), AnyValidity::Log(log)) => {
                paged.name_trimmed();
                log.tell_of_leaving();
                Survival::Synchronize(Synchronizing::ByLog(YoungBlocks::new(geometry, barriers)))
            }
            (PowerPart::Synchronize, ..) => Survival::Synchronize(Synchronizing::ByTable),
            (PowerPart::Fast, ..) => Survival::Fast(FastRecovery::new(geometry.pages_per_block())),
            (PowerPart::GeckoRec | PowerPart::Nothing, ..) => Survival::Nothing,
        })
    }

    /// Every block that is neither bad nor the description's.
    pub(super) fn usable_blocks<N: Nand>(&self, nand: &N) -> Vec<Block> {
        (0..nand.geometry().blocks()).map(Block).filter(|b| !nand.is_bad(*b) && !self.anchors.contains(b)).collect()
    }
}
