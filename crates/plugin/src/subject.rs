//! A plugin as a subject of the crash laboratory.

use crate::interface::{Chip, DETECTS_DECAY, LOSES_UNSYNCED, NO_BAD_BLOCKS};
use crate::library::{Functions, LoadError};
use crate::session::{Make, Session};
use phelsuma_drive::lab::{CutNand, Defect, Fault, Promise, Ready, Subject};
use phelsuma_ftl::{FtlError, RecoveryReport};
use phelsuma_nand::{Geometry, Time};
use std::path::Path;

/// A library that is loaded.
#[derive(Clone, Debug)]
pub struct Plugin(Functions);

impl Plugin {
    /// Loads a library. It runs in this process, so it can do whatever this process can.
    ///
    /// # Errors
    /// The file is no plugin.
    pub fn load(path: &Path) -> Result<Self, LoadError> {
        Functions::load(path).map(Self)
    }

    /// Its name in reports.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The most host pages that it has on a chip of this shape.
    ///
    /// # Errors
    /// It does not suit the chip.
    pub fn most_logical_pages(&self, geometry: &Geometry) -> Result<u32, Unsuited> {
        self.sizes(geometry).map(|(_, most)| most)
    }

    /// Bytes of a host page, and the most of them.
    fn sizes(&self, geometry: &Geometry) -> Result<(u32, u32), Unsuited> {
        if geometry.dies() != 1 {
            return Err(self.unsuited(format!("plugins have one die, and there are {}", geometry.dies())));
        }
        let chip = chip_of(geometry);
        // SAFETY: the library is loaded, and its functions are of the types that the header says.
        let (page_bytes, most) =
            unsafe { ((self.0.host_page_bytes)(&raw const chip), (self.0.most_logical_pages)(&raw const chip)) };
        if page_bytes == 0 || most == 0 {
            return Err(self.unsuited("it does not fit this chip".into()));
        }
        if page_bytes > chip.page_bytes || !page_bytes.is_multiple_of(8) {
            return Err(self.unsuited(format!("a host page of {page_bytes} bytes is no multiple of 8 within a page")));
        }
        Ok((page_bytes, most))
    }

    /// A drive of so many host pages on a chip of this shape.
    ///
    /// # Errors
    /// It does not suit the chip, or so many do not fit.
    pub fn on(&self, geometry: &Geometry, logical_pages: u32) -> Result<PluginSubject, Unsuited> {
        let (page_bytes, most) = self.sizes(geometry)?;
        if logical_pages > most {
            let ratio = (f64::from(most) / geometry.pages() as f64 * 1e4).floor() / 1e4;
            return Err(self.unsuited(format!(
                "{logical_pages} logical pages do not fit; the largest ratio that fits is {ratio:.4}"
            )));
        }
        Ok(PluginSubject { functions: self.0.clone(), chip: chip_of(geometry), logical_pages, page_bytes })
    }

    fn unsuited(&self, why: String) -> Unsuited {
        Unsuited { name: self.0.name.clone(), why }
    }
}

fn chip_of(geometry: &Geometry) -> Chip {
    Chip { page_bytes: geometry.page_bytes(), pages_per_block: geometry.pages_per_block(), blocks: geometry.blocks() }
}

/// Why a plugin is not tried on a chip.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{name}: {why}")]
pub struct Unsuited {
    name: String,
    why: String,
}

/// A drive of a plugin, to be tried.
#[derive(Clone, Debug)]
pub struct PluginSubject {
    functions: Functions,
    chip: Chip,
    logical_pages: u32,
    /// Bytes of a host page.
    page_bytes: u32,
}

impl PluginSubject {
    fn make(&self, nand: &mut CutNand, make: Make, at: Time) -> Result<(Session, RecoveryReport), FtlError> {
        Session::make(&self.functions, nand, (self.chip, self.logical_pages, self.page_bytes), make, at)
    }

    fn has(&self, flag: u32) -> bool {
        self.functions.flags & flag != 0
    }
}

impl Subject for PluginSubject {
    fn name(&self) -> &str {
        &self.functions.name
    }

    fn about(&self) -> String {
        format!("plugin, flags {}", self.functions.flags)
    }

    fn logical_pages(&self) -> u32 {
        self.logical_pages
    }

    fn format(&self, nand: &mut CutNand, at: Time) -> Ready<Time> {
        let (session, report) = self.make(nand, Make::Format, at)?;
        Ok((Box::new(session), report.done))
    }

    fn recover(&self, nand: &mut CutNand, at: Time) -> Ready<RecoveryReport> {
        let (session, report) = self.make(nand, Make::Mount, at)?;
        Ok((Box::new(session), report))
    }

    fn may_lose_what_is_not_flushed(&self) -> bool {
        self.has(LOSES_UNSYNCED)
    }

    fn promise(&self, fault: Fault) -> Promise {
        match fault {
            Fault::Defect(Defect::Fails) if self.has(NO_BAD_BLOCKS) => {
                Promise::Nothing("the plugin promises nothing where operations fail")
            }
            Fault::Defect(Defect::HostDecays | Defect::MetadataDecays) => match self.has(DETECTS_DECAY) {
                true => Promise::Detected,
                false => Promise::Nothing("the plugin promises nothing of pages that decay"),
            },
            _ if self.has(LOSES_UNSYNCED) => Promise::Flushed,
            _ => Promise::Kept,
        }
    }
}
