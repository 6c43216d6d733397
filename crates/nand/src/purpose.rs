//! Why a flash operation is done: every read, program and erase is counted under one of these.

use crate::state::Preserve;

macro_rules! purposes {
    ($($name:ident $text:literal $doc:literal),* $(,)?) => {
        /// Why a flash operation is done.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Preserve)]
        #[repr(u8)]
        pub enum Purpose { $(#[doc = $doc] $name),* }

        impl Purpose {
            /// All purposes, in the order of their numbers.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// The purpose's name in results.
            pub fn name(self) -> &'static str {
                match self { $(Self::$name => $text),* }
            }
        }
    };
}

purposes! {
    Host "host" "A page that the host reads or writes.",
    Gc "gc" "Moving live user pages out of a victim, and erasing blocks for reuse.",
    Rmw "rmw" "Reading the old page because the host writes only a part of it.",
    Translation "translation" "Translation pages: the mapping on flash.",
    Validity "validity" "Which physical pages are live: bitmaps, logs, Gecko runs.",
    Merge "merge" "Merges of log blocks into data blocks.",
    Wear "wear" "Wear levelling.",
    Recovery "recovery" "Everything between power-up and the first request.",
    Checkpoint "checkpoint" "State written to make recovery short.",
    Map "map" "Map blocks of the log-block FTLs.",
    Trim "trim" "Tombstones: that a logical page was discarded.",
    Format "format" "Making a blank drive.",
    Battery "battery" "What a battery pays for after the power has failed.",
    Placement "placement" "What policies look up: the page whose place the host's new one takes, and when blocks were written.",
}

impl Purpose {
    /// How many purposes there are.
    pub const COUNT: usize = Self::ALL.len();
}
