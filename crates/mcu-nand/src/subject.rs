//! The FTL for microcontrollers as a subject of the crash laboratory.

use crate::chip::chip_of;
use crate::ftl::{FtlOn, word};
use phelsuma_drive::lab::{CutNand, Defect, Fault, Promise, Ready, Subject};
use phelsuma_ftl::RecoveryReport;
use phelsuma_mcu::{Config, Gecko, MetaPlace, Parts, RamTable, Smallest};
use phelsuma_nand::{Geometry, Time};

/// Which parts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mcu {
    /// Translation pages, and Logarithmic Gecko.
    Gecko,
    /// Translation pages, and no record of stale pages.
    Smallest,
    /// The table in RAM.
    RamTable,
}

/// A drive for microcontrollers, to be tried.
#[derive(Clone, Debug)]
pub struct McuSubject {
    /// Its parts.
    pub parts: Mcu,
    /// Its configuration.
    pub config: Config,
    name: String,
}

impl McuSubject {
    /// A drive of these parts, as large as its chip allows, or so many logical pages.
    pub fn new(parts: Mcu, geometry: &Geometry, meta: MetaPlace, dirty_slots: u32, logical_pages: Option<u32>) -> Self {
        let config = Config::new(chip_of(geometry, meta), 1, dirty_slots);
        // Of few blocks 2 % are none.
        let config = Config { bad_blocks: config.bad_blocks.max(2), ..config };
        let most = match parts {
            Mcu::Gecko => config.most_logical_pages::<Gecko>(),
            Mcu::Smallest => config.most_logical_pages::<Smallest>(),
            Mcu::RamTable => config.most_logical_pages::<RamTable>(),
        };
        let config = Config { logical_pages: logical_pages.unwrap_or(most), ..config };
        let part = match parts {
            Mcu::Gecko => "gecko",
            Mcu::Smallest => "smallest",
            Mcu::RamTable => "ram-table",
        };
        Self { parts, config, name: format!("mcu-{part}-{}", word(meta)) }
    }
}

impl McuSubject {
    /// Name, chip and size, in a line.
    pub fn config_line(&self) -> String {
        let Config { chip, logical_pages, .. } = self.config;
        let (blocks, pages, bytes) = (chip.blocks, chip.pages_per_block, chip.page_bytes);
        format!("{}, {blocks} blocks of {pages} pages of {bytes} B, {logical_pages} logical pages", self.name)
    }
}

fn format<P: Parts + Send + 'static>(nand: &mut CutNand, config: &Config, at: Time) -> Ready<Time> {
    let (ftl, done) = FtlOn::<P>::format(nand, config, at)?;
    Ok((Box::new(ftl), done))
}

fn mount<P: Parts + Send + 'static>(nand: &mut CutNand, config: &Config, at: Time) -> Ready<RecoveryReport> {
    let (ftl, report) = FtlOn::<P>::mount(nand, config, at)?;
    Ok((Box::new(ftl), report))
}

impl Subject for McuSubject {
    fn name(&self) -> &str {
        &self.name
    }

    fn logical_pages(&self) -> u32 {
        self.config.logical_pages
    }

    fn format(&self, nand: &mut CutNand, at: Time) -> Ready<Time> {
        match self.parts {
            Mcu::Gecko => format::<Gecko>(nand, &self.config, at),
            Mcu::Smallest => format::<Smallest>(nand, &self.config, at),
            Mcu::RamTable => format::<RamTable>(nand, &self.config, at),
        }
    }

    fn recover(&self, nand: &mut CutNand, at: Time) -> Ready<RecoveryReport> {
        match self.parts {
            Mcu::Gecko => mount::<Gecko>(nand, &self.config, at),
            Mcu::Smallest => mount::<Smallest>(nand, &self.config, at),
            Mcu::RamTable => mount::<RamTable>(nand, &self.config, at),
        }
    }

    fn cache_entries(&self) -> Option<u32> {
        (self.parts != Mcu::RamTable).then_some(self.config.dirty_slots / 8 * 7)
    }

    fn promise(&self, fault: Fault) -> Promise {
        match fault {
            Fault::Defect(Defect::HostDecays) => {
                Promise::Nothing("of an entry that was dirty only its page tells, as of GeckoFTL's")
            }
            Fault::Defect(Defect::MetadataDecays) => {
                Promise::Nothing("a checkpoint that goes bad takes later writes with it")
            }
            _ => Promise::Kept,
        }
    }
}
