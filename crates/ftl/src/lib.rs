//! Flash translation layers over any [`Nand`](phelsuma_nand::Nand).
//!
//! The same code is simulated, serves real bytes and runs in firmware (`no_std` with `alloc`). All state of an FTL is
//! in its declared RAM ([`RamLedger`]) or read from flash.
//!
//! This crate must not depend on which `Nand` it stands on, how time passes, or where requests come from.

#![cfg_attr(not(feature = "std"), no_std)]

extern crate alloc;

mod barriers;
mod blocks;
mod cache_part;
mod config;
mod counter;
mod error;
mod finding;
mod ftl;
mod gecko_part;
mod log_block;
mod look;
mod medium;
pub mod mu_tree;
mod page_mapped;
pub mod policy;
mod presets;
mod ram;
mod recovery_report;
#[cfg(feature = "std")]
mod registry;
mod slc_part;
mod spec;
mod write_cache;

/// The program of the guide, which compiles and runs.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/firmware.md")]
struct FirmwareGuide;

#[cfg(phelsuma_mutants)]
pub use barriers::Barrier;
pub use cache_part::{Condense, Evict, Prefetch};
pub use config::{
    CollectionPart, Composition, Config, ConfigError, DirectoryPart, DirtyLimit, ENTRY_BYTES, FastParts,
    FastSequential, IntegrityPart, LastBackground, LastParts, LogInstances, LogParts, LogScheme, MappingPart,
    MergeCosts, MetadataPart, OnMiss, PageParts, PowerPart, SuperblockParts, Switch, Synchronize, TrimPages,
    ValidityPart, WearPart, parameters,
};
pub use counter::Counter;
pub use error::{FtlError, SetAside};
pub use finding::{Disagreement, Finding};
pub use ftl::{Ftl, Hint, HostData, HostPage, ReadSink, Shape, Step, WriteBuffer, WriteRequest};
pub use gecko_part::{GeckoMerge, GeckoPages};
pub use look::{BlockLook, BlockState, CacheLook, ExtentLook, GeckoLook, LogLook, RunLook};
pub use medium::anchor::ANCHOR_BLOCKS;
pub use policy::Knowledge;
pub use presets::{PRESETS, Preset, format, recover};
pub use ram::RamLedger;
pub use recovery_report::{RecoveryBound, RecoveryReport, RecoveryStep};
#[cfg(feature = "std")]
pub use registry::{Registry, RegistryError};
pub use slc_part::{SlcPart, SlcRoom, WhenFull};
pub use spec::Parameter;
pub use write_cache::{CachePolicy, Cached, PolicyAndSeed, WriteCache};
