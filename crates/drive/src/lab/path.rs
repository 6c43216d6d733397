//! Where the power was cut, how often, and what became of the operation: an id that replays a branch.

use phelsuma_nand::sim::{EraseFault, ProgramFault};
use serde::{Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// What befalls a drive that is in use, besides a power cut.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Defect {
    /// The program or erase fails, and its block is bad from then on.
    Fails,
    /// A page of the host decays before the request.
    HostDecays,
    /// A page of metadata decays before the request.
    MetadataDecays,
}

impl Defect {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Fails, Self::HostDecays, Self::MetadataDecays];

    /// Its name on the command line and in ids.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fails => "fails",
            Self::HostDecays => "host-decays",
            Self::MetadataDecays => "metadata-decays",
        }
    }
}

/// What became of the operations in flight at a cut, or befell the drive.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Fault {
    /// Of a program.
    Program(ProgramFault),
    /// Of an erase.
    Erase(EraseFault),
    /// Of a request, on a drive with a battery: it is done, and so are the programs that the battery pays for.
    Announced,
    /// No cut.
    Defect(Defect),
}

impl Fault {
    /// All that a power cut can make of a program or an erase.
    pub fn all() -> Vec<Self> {
        let programs = ProgramFault::ALL.iter().map(|f| Self::Program(*f));
        programs.chain(EraseFault::ALL.iter().map(|f| Self::Erase(*f))).collect()
    }

    /// All that can befall a drive: of programs and erases, of requests, and defects, in the order in which they are
    /// listed.
    pub fn every() -> impl Iterator<Item = Self> {
        Self::all().into_iter().chain([Self::Announced]).chain(Self::defects())
    }

    /// All defects.
    pub fn defects() -> impl Iterator<Item = Self> {
        Defect::ALL.into_iter().map(Self::Defect)
    }

    /// Whether the power stays on.
    pub fn is_defect(self) -> bool {
        matches!(self, Self::Defect(_))
    }

    /// The fault's name on the command line and in ids. `not-started` and `unacknowledged` name one of each kind.
    pub fn name(self) -> &'static str {
        match self {
            Self::Program(f) => f.name(),
            Self::Erase(f) => f.name(),
            Self::Announced => "announced",
            Self::Defect(d) => d.name(),
        }
    }

    /// The faults with this name.
    ///
    /// # Errors
    /// One line with the names there are.
    pub fn named(name: &str) -> Result<Vec<Self>, String> {
        let found: Vec<Self> = Self::every().filter(|f| f.name() == name).collect();
        if found.is_empty() {
            let mut names: Vec<&str> = Self::every().map(Self::name).collect();
            names.dedup();
            names.sort_unstable();
            names.dedup();
            return Err(format!("unknown fault '{}'; known are {}", name.escape_debug(), names.join(", ")));
        }
        Ok(found)
    }
}

/// One cut: at which program or erase, and what became of it and of the operations in flight beside it. (On a drive of
/// one die there are none.) Operations are counted from 0 since the drive was formatted or mounted. On a drive with a
/// battery it is after which request.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Cut {
    /// The operation.
    pub operation: u32,
    /// Its fate.
    pub fault: &'static str,
    /// Which choice among the fates of operations beside it; 0 is all of them done.
    pub beside: u16,
}

impl Cut {
    /// Whether this is what became of it.
    pub(crate) fn is(&self, fault: Fault) -> bool {
        self.fault == fault.name()
    }
}

/// What stands for no cut at all: the workload itself fails.
const UNCUT: &str = "uncut";

/// The cuts that led to a branch: the first in the workload, the others each in the recovery from the one before. Where
/// the first is a defect, the second is a cut in the workload as well. None at all is the workload as it is.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Path(pub Vec<Cut>);

impl Path {
    /// How many of these are power cuts: what comes first may be a defect.
    pub(crate) fn cuts(&self) -> u32 {
        let is_defect = |cut: &&Cut| Fault::defects().any(|defect| cut.is(defect));
        (self.0.len() - self.0.iter().filter(is_defect).count()) as u32
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str(UNCUT);
        }
        for (n, cut) in self.0.iter().enumerate() {
            let slash = if n > 0 { "/" } else { "" };
            write!(f, "{slash}{}.{}", cut.operation, cut.fault)?;
            if cut.beside > 0 {
                write!(f, ".{}", cut.beside)?;
            }
        }
        Ok(())
    }
}

/// As its id.
impl Serialize for Path {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl FromStr for Path {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bad = || format!("'{text}' is no replay id: it looks like 1234.torn-seen or 1234.torn-seen/1.not-started");
        let mut cuts = Vec::new();
        if text == UNCUT {
            return Ok(Self(cuts));
        }
        for part in text.split('/') {
            let mut fields = part.split('.');
            let operation = fields.next().and_then(|f| f.parse().ok()).ok_or_else(bad)?;
            let fault = Fault::named(fields.next().ok_or_else(bad)?)?.first().map(|f| f.name()).ok_or_else(bad)?;
            let beside = fields.next().map_or(Ok(0), |f| f.parse().map_err(|_| bad()))?;
            if fields.next().is_some() {
                return Err(bad());
            }
            cuts.push(Cut { operation, fault, beside });
        }
        Ok(Self(cuts))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_reads_back_as_itself() {
        for text in
            ["12.torn-seen", "0.not-started.3/7.partial-mixed", "1.unstable/2.unstable/3.unacknowledged", "uncut"]
        {
            assert_eq!(text.parse::<Path>().unwrap().to_string(), text);
        }
        for text in ["", "x.torn-seen", "1", "1.nonsense", "1.torn-seen.", "1.torn-seen.1.2", "uncut/1.unstable"] {
            assert!(text.parse::<Path>().is_err(), "{text}");
        }
    }
}
