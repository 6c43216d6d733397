//! What an FTL is put together from, and the parameters that change it.

use alloc::format;
use alloc::string::{String, ToString};
use thiserror::Error;

/// Where each logical page is: the mapping part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MappingPart {
    /// The whole table in RAM.
    RamTable,
}

/// Which physical pages are live: the validity part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ValidityPart {
    /// A bitmap in RAM (PVB).
    RamBitmap,
}

/// Which block is collected next: the victim part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum VictimPart {
    /// The fewest live pages.
    Greedy,
    /// Closed longest ago.
    Fifo,
    /// The fewest live pages among `d` drawn at random.
    DChoices {
        /// How many are drawn.
        d: u32,
    },
}

/// Which stream a page is written to: the placement part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PlacementPart {
    /// Everything to one.
    OneStream,
    /// Host writes to one, moved pages to another.
    HostGc,
}

/// A page-mapped FTL as a composition of four parts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Composition {
    /// Where each logical page is.
    pub mapping: MappingPart,
    /// Which physical pages are live.
    pub validity: ValidityPart,
    /// Which block is collected next.
    pub victim: VictimPart,
    /// Which stream a page is written to.
    pub placement: PlacementPart,
}

/// An FTL with everything it needs to know besides the flash.
#[derive(Clone, PartialEq, Debug)]
pub struct Config {
    /// The name the drive is formatted under: a preset's.
    pub name: String,
    /// Logical pages that the host sees.
    pub logical_pages: u32,
    /// Seed of everything random in the FTL.
    pub seed: u64,
    /// Its parts.
    pub composition: Composition,
    /// The barrier that this FTL forgets: for the proof that the crash laboratory notices.
    #[cfg(feature = "mutants")]
    pub forgets: Option<Barrier>,
}

impl Config {
    /// The FTL called `name` with these parts.
    pub fn new(name: &str, composition: Composition, logical_pages: u32, seed: u64) -> Self {
        Self {
            name: name.to_string(),
            logical_pages,
            seed,
            composition,
            #[cfg(feature = "mutants")]
            forgets: None,
        }
    }

    pub(crate) fn barriers(&self) -> Barriers {
        Barriers {
            #[cfg(feature = "mutants")]
            forgets: self.forgets,
        }
    }
}

/// The barriers that an FTL keeps: all of them, unless it is a test double.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Barriers {
    #[cfg(feature = "mutants")]
    forgets: Option<Barrier>,
}

impl Barriers {
    /// Whether this is a test double that forgets `barrier`.
    #[cfg(feature = "mutants")]
    pub(crate) fn forget(self, barrier: Barrier) -> bool {
        self.forgets == Some(barrier)
    }

    /// No FTL forgets a barrier outside the proof of the laboratory.
    #[cfg(not(feature = "mutants"))]
    #[inline(always)]
    pub(crate) fn forget(self, _barrier: Barrier) -> bool {
        false
    }
}

/// What an FTL must never forget: each is a rule that crash consistency stands on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(not(feature = "mutants"), allow(dead_code, unreachable_pub))]
pub enum Barrier {
    /// A victim is erased only after its live pages are on flash elsewhere.
    CopiesBeforeErase,
    /// Pending trims are on flash before a block that held the trimmed pages can be reused.
    TrimsBeforeReuse,
    /// A flush writes the pending trims.
    TrimsAtFlush,
    /// Recovery reads pages that may have been in flight in full, and believes their CRC.
    SuspectsVerified,
    /// Recovery copies what it believes of them.
    SuspectsCopied,
    /// Blocks that a suspect has made stale are kept until the suspect is copied.
    FallbacksHeld,
    /// A block is erased right before its first program, whatever it looks like.
    EraseBeforeUse,
    /// Version decides between copies of a page.
    VersionOrder,
}

#[cfg(feature = "mutants")]
impl Barrier {
    /// All of them.
    pub const ALL: &'static [Self] = &[
        Self::CopiesBeforeErase,
        Self::TrimsBeforeReuse,
        Self::TrimsAtFlush,
        Self::SuspectsVerified,
        Self::SuspectsCopied,
        Self::FallbacksHeld,
        Self::EraseBeforeUse,
        Self::VersionOrder,
    ];
}

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
        right: &'static str,
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

/// Every parameter: its name, what it can be, what it means.
pub const PARAMETERS: &[(&str, &str, &str)] = &[
    ("mapping", "ram-table", "where each logical page is"),
    ("validity", "ram-bitmap", "which physical pages are live"),
    ("victim", "greedy | fifo | d-choices", "which block is collected next"),
    ("victim.d", "1 to 1000 (default 10)", "blocks drawn by d-choices"),
    ("placement", "one-stream | host-gc", "which stream a page is written to"),
];

impl Composition {
    /// Changes one parameter.
    ///
    /// # Errors
    /// [`ConfigError`]: no such parameter, or a value it cannot have.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), ConfigError> {
        let bad = |right| ConfigError::BadValue { name: name.to_string(), value: value.to_string(), right };
        match (name, value) {
            ("mapping", "ram-table") => self.mapping = MappingPart::RamTable,
            ("mapping", _) => return Err(bad("it can be ram-table")),
            ("validity", "ram-bitmap") => self.validity = ValidityPart::RamBitmap,
            ("validity", _) => return Err(bad("it can be ram-bitmap")),
            ("victim", "greedy") => self.victim = VictimPart::Greedy,
            ("victim", "fifo") => self.victim = VictimPart::Fifo,
            ("victim", "d-choices") => self.victim = VictimPart::DChoices { d: 10 },
            ("victim", _) => return Err(bad("it can be greedy, fifo or d-choices")),
            ("victim.d", _) => match (value.parse(), &mut self.victim) {
                (Ok(value @ 1..=1000), VictimPart::DChoices { d }) => *d = value,
                (Ok(1..=1000), _) => return Err(bad("only the victim part d-choices draws blocks")),
                _ => return Err(bad("it can be a whole number from 1 to 1000")),
            },
            ("placement", "one-stream") => self.placement = PlacementPart::OneStream,
            ("placement", "host-gc") => self.placement = PlacementPart::HostGc,
            ("placement", _) => return Err(bad("it can be one-stream or host-gc")),
            _ => {
                let known = PARAMETERS.iter().map(|(n, ..)| *n).collect::<alloc::vec::Vec<_>>().join(", ");
                return Err(ConfigError::UnknownParameter { name: name.to_string(), known });
            }
        }
        Ok(())
    }

    /// The parts that decide what stands on flash, as a drive's description keeps them: one that was written with others
    /// cannot be recovered. Victim and placement may change from one start to the next.
    pub(crate) fn structures_on_flash(&self) -> String {
        let [mapping, validity, ..] = self.names();
        format!("{mapping} {validity}")
    }

    /// The names of the four parts, as in results: mapping, validity, victim, placement.
    pub fn names(&self) -> [String; 4] {
        let victim = match self.victim {
            VictimPart::Greedy => "greedy".into(),
            VictimPart::Fifo => "fifo".into(),
            VictimPart::DChoices { d } => format!("d-choices(d={d})"),
        };
        let placement = match self.placement {
            PlacementPart::OneStream => "one-stream",
            PlacementPart::HostGc => "host-gc",
        };
        ["ram-table".into(), "ram-bitmap".into(), victim, placement.into()]
    }
}
