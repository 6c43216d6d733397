//! What can be wrong with parts and parameters.

use super::ENTRY_BYTES;
use alloc::string::String;
use thiserror::Error;

/// A parameter that is not one, or a value it cannot have.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum ConfigError {
    /// No such parameter.
    #[error("unknown parameter '{name}'; known are {known}")]
    UnknownParameter {
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
    /// A value that the parameter cannot have.
    #[error("'{name}' cannot be '{value}': {right}")]
    BadValue {
        /// The parameter.
        name: String,
        /// The value asked for.
        value: String,
        /// What would be right.
        right: String,
    },
    /// A parameter of a part that is not there.
    #[error("'{name}' cannot be '{value}': {only}")]
    NoSuchPart {
        /// The parameter.
        name: String,
        /// The value asked for.
        value: String,
        /// Which part has it.
        only: String,
    },
    /// One parameter, given more than once.
    #[error("'{0}' is set more than once; once would be right")]
    Repeated(String),
    /// More parts of a block's bitmap than the block has pages.
    #[error(
        "'gecko.partitions' cannot be '{partitions}': a block has {pages_per_block} pages and cannot have more parts"
    )]
    Partitions {
        /// S, as asked for.
        partitions: u32,
        /// Pages of a block.
        pages_per_block: u32,
    },
    /// A cache larger than the mapping table.
    #[error(
        "a cache of {entries} mapping entries and {logical_pages} logical pages: a cache of at most as many entries ({} \
         bytes) would be right",
        u64::from(*logical_pages) * ENTRY_BYTES
    )]
    Cache {
        /// C, as asked for.
        entries: u32,
        /// Logical pages of the drive.
        logical_pages: u32,
    },
    /// A sample of more blocks than there are.
    #[error("'victim.sample' cannot be '{sample}': the drive has {blocks} blocks and a sample of it no more")]
    Sample {
        /// Blocks in the sample, as asked for.
        sample: u32,
        /// Blocks of the drive.
        blocks: u32,
    },
    /// More log blocks than the drive has blocks.
    #[error("{log_blocks} log blocks (log.blocks) cannot be had: the drive has {blocks} blocks in all")]
    LogBlocks {
        /// Log blocks, as asked for.
        log_blocks: u32,
        /// Blocks of the drive.
        blocks: u32,
    },
    /// Fewer than two of something for each of the channels that it is dealt to.
    #[error(
        "'{name}' cannot be '{number}': it is dealt to the FTLs of {channels} channels, at least two each; {} or more would \
         be right",
        2 * channels
    )]
    TooFewForChannels {
        /// The parameter.
        name: &'static str,
        /// What was asked for.
        number: u32,
        /// Channels of the drive.
        channels: u32,
    },
    /// Too few log blocks for a sequential one and two random ones on each channel.
    #[error(
        "'log.blocks' cannot be '{log_blocks}': last++ has a sequential log block and two random ones on each of {channels} \
         channels; {} or more would be right",
        3 * channels
    )]
    TooFewForSegments {
        /// Log blocks, as asked for.
        log_blocks: u32,
        /// Channels of the drive.
        channels: u32,
    },
    /// No such preset.
    #[error("unknown FTL '{name}'; known are {known}")]
    UnknownPreset {
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
}
