//! Putting a drive together of its parts, with nothing in it.

use super::collecting::{Collecting, OfSlc, Sampling};
use super::durability::{
    Battery, Durability, FastRecovery, GeckoRec, Integrity, ScanFrom, Survival, Synchronizing, YoungBlocks,
};
use super::mapping::{AnyMapping, Mapping, PagedMapping};
use super::parts::{PageConfig, PageMapped, PageTally};
use super::runs::MergePages;
use super::shape::{batch_blocks, early_blocks, groups_of, layout_of_tree, least_free};
use super::sorting::{Sorting, context};
use super::streams::Streams;
use super::tree::tree_of;
use super::validity::{AnyValidity, LogarithmicGecko, PageValidityLog, Validity};
use crate::FtlError;
use crate::barriers::Barriers;
use crate::blocks::{Blocks, Region, Slc, Wear, region_blocks};
use crate::config::{CollectionPart, MetadataPart, PowerPart, WearPart};
use crate::ftl::Shape;
use crate::medium::Clock;
use crate::slc_part::WhenFull;
use alloc::vec::Vec;
use phelsuma_nand::{Block, Geometry};

impl<M: Mapping, V: Validity> PageMapped<M, V> {
    /// A drive of these parts, with nothing in it and nothing in the pool.
    pub(super) fn of(
        geometry: &Geometry,
        config: &PageConfig,
        shape: Shape,
        anchors: Vec<Block>,
        (mut mapping, validity, scheme): (M, V, Survival),
    ) -> Result<Self, FtlError> {
        let composition = &config.composition;
        let context = context(geometry, config);
        let sampling = composition.victim.sample().map(|sample| Sampling::new(geometry.blocks(), sample));
        let asks = composition.placement.asks();
        let streams = Streams::of(geometry, config)?;
        let collects_metadata = composition.metadata == MetadataPart::Collected;
        let clock = Clock::new(geometry.dies(), 0, 0);
        let mut blocks =
            Blocks::new(*geometry, streams.count, streams.mapping, collects_metadata, clock, config.barriers());
        blocks.note(composition.victim.wants().or(composition.placement.wants()));
        if validity.is_on_flash() {
            blocks.news.tell_of_erases();
        }
        if let (WearPart::Levelling { threshold, looks }, Some(cold)) = (composition.wear, streams.cold) {
            blocks.wear = Some(Wear::new(cold, looks, threshold));
        }
        let slc = composition.slc;
        if let (Some((bits, _)), Some(stream)) = (slc.rule(), streams.slc) {
            let pages = (geometry.pages_per_block() / bits).max(1);
            // What is set aside is for the cache. Another leaves the reserve, and a block of each stream on each die.
            let keeps = if slc.is_dynamic() { shape.reserve_blocks + shape.open_blocks } else { 0 };
            blocks.set_slc(Slc::new(stream, pages, (slc.most(geometry), keeps)));
        }
        let scans_from = matches!(composition.power, PowerPart::GeckoRec { .. } | PowerPart::Synchronize);
        // A stream of cold data has blocks of its own, by their wear.
        if scans_from && asks.shares && streams.cold.is_none() {
            blocks.bound_open();
        }
        if composition.has_block_log() {
            blocks.set_region(Region::behind(geometry, &anchors, region_blocks(geometry)));
        }
        if asks.fetches {
            mapping.fetch_for_placement(true);
        }
        Ok(Self {
            shape,
            mapping,
            validity,
            victim: composition.victim.build(&context),
            placement: composition.placement.build(&context),
            sorting: Sorting { asks, deaths: composition.victim.wants().deaths },
            blocks,
            durability: Durability::new(scheme, Integrity::of(composition)),
            collecting: Collecting::new(
                geometry.pages_per_block(),
                (early_blocks(geometry, composition.collection), batch_blocks(geometry, composition.collection)),
                groups_of(geometry, config),
                OfSlc {
                    set_aside: slc.set_aside(geometry),
                    folds: slc.rule().is_some_and(|(_, full)| full == WhenFull::Fold),
                    gives_way: slc.is_dynamic(),
                },
                sampling,
            ),
            streams,
            anchors,
            before: Vec::new(),
            merge_pages: MergePages::default(),
            tree: tree_of(geometry, config)?,
            tally: PageTally::default(),
        })
    }

    /// The same drive with a mapping and a validity store that are made of those that it has.
    pub(super) fn with<T: Mapping, W: Validity>(self, make: impl FnOnce(M, V) -> (T, W)) -> PageMapped<T, W> {
        let (mapping, validity) = make(self.mapping, self.validity);
        PageMapped {
            shape: self.shape,
            mapping,
            validity,
            victim: self.victim,
            placement: self.placement,
            sorting: self.sorting,
            blocks: self.blocks,
            durability: self.durability,
            collecting: self.collecting,
            streams: self.streams,
            anchors: self.anchors,
            before: self.before,
            merge_pages: self.merge_pages,
            tree: self.tree,
            tally: self.tally,
        }
    }
}

/// The mapping and the validity store of a drive.
pub(super) fn parts_of(geometry: &Geometry, config: &PageConfig) -> Result<(AnyMapping, AnyValidity), FtlError> {
    let mapping = AnyMapping::of(geometry, config, config.composition.placement.partition(&context(geometry, config)))?;
    let validity = AnyValidity::of(geometry, config, || layout_of_tree(geometry, config))?;
    Ok((mapping, validity))
}

/// The state of a drive's scheme while it serves, and its needs of the mapping and the validity store.
pub(super) fn scheme_of(
    geometry: &Geometry,
    config: &PageConfig,
    mapping: &mut AnyMapping,
    validity: &mut AnyValidity,
) -> Result<Survival, FtlError> {
    let barriers = config.barriers();
    let leaves_victims = matches!(config.composition.collection, CollectionPart::Slices | CollectionPart::Groups);
    if let (true, AnyValidity::Gecko(gecko)) = (leaves_victims, &mut *validity) {
        // A victim may be left as it is at any time.
        gecko.tell_of_leaving();
    }
    Ok(match (config.composition.power, mapping, validity) {
        (PowerPart::Scan, ..) => Survival::Scan,
        (PowerPart::Battery, ..) => Survival::Battery(Battery::new(least_free(geometry, config)?, barriers)),
        (PowerPart::GeckoRec { .. }, AnyMapping::Paged(paged), AnyValidity::Gecko(gecko)) => {
            Survival::GeckoRec(gecko_rec(geometry, paged, gecko, barriers))
        }
        (PowerPart::Synchronize, AnyMapping::Paged(paged), AnyValidity::Log(log)) => {
            point_back(paged, log);
            Survival::Synchronize(Synchronizing::ByLog(YoungBlocks::new(geometry)))
        }
        (PowerPart::Synchronize, ..) => Survival::Synchronize(Synchronizing::ByTable),
        (PowerPart::Fast, ..) => Survival::Fast(FastRecovery::new(geometry.pages_per_block())),
        (PowerPart::GeckoRec { .. } | PowerPart::Nothing, ..) => Survival::Nothing,
    })
}

/// GeckoRec over these parts, which do their share from now on.
pub(super) fn gecko_rec(
    geometry: &Geometry,
    paged: &mut PagedMapping,
    gecko: &mut LogarithmicGecko,
    barriers: Barriers,
) -> GeckoRec {
    paged.take_checkpoints(ScanFrom::default());
    gecko.tell_of_leaving();
    let scheme = GeckoRec::new(geometry, gecko.buffer_entries(), barriers);
    if paged.has_log() { scheme.holding_replaced() } else { scheme }
}

/// A recovery is to find the reports that are not in a page validity log yet: these parts do their share from now on.
pub(super) fn point_back(paged: &mut PagedMapping, log: &mut PageValidityLog) {
    paged.name_trimmed();
    log.tell_of_leaving();
}
