//! A plugin as a subject of the crash laboratory.

use crate::interface::{Chip, DETECTS_DECAY, LOSES_UNSYNCED, NO_BAD_BLOCKS};
use crate::library::{Functions, LoadError};
use crate::session::{Make, Session};
use phelsuma_drive::lab::{CutNand, Defect, Fault, Promise, Ready, Subject};
use phelsuma_ftl::{FtlError, RecoveryReport};
use phelsuma_nand::{Geometry, Time};
use std::path::Path;

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
    /// Loads a library, which runs in this process, and has it on a chip of this shape with so many host pages.
    ///
    /// # Errors
    /// The file is no plugin ([`LoadError`]), or does not suit the chip: what is wrong, and the most host pages that
    /// fit.
    pub fn load(path: &Path, geometry: &Geometry, logical_pages: u32) -> Result<Self, PluginError> {
        let functions = Functions::load(path)?;
        let name = functions.name.clone();
        let unsuited = |why: String| PluginError::Unsuited { name: name.clone(), why };
        if geometry.dies() != 1 {
            return Err(unsuited(format!("plugins have one die, and there are {}", geometry.dies())));
        }
        let chip = Chip {
            page_bytes: geometry.page_bytes(),
            pages_per_block: geometry.pages_per_block(),
            blocks: geometry.blocks(),
        };
        // SAFETY: the library is loaded, and its functions are of the types that the header says.
        let (page_bytes, most) =
            unsafe { ((functions.host_page_bytes)(&raw const chip), (functions.most_logical_pages)(&raw const chip)) };
        if page_bytes == 0 || most == 0 {
            return Err(unsuited("it does not fit this chip".into()));
        }
        if page_bytes > chip.page_bytes || !page_bytes.is_multiple_of(8) {
            return Err(unsuited(format!("a host page of {page_bytes} bytes is no multiple of 8 within a page")));
        }
        if logical_pages > most {
            let pages = geometry.pages();
            let ratio = (f64::from(most) / pages as f64 * 1e4).floor() / 1e4;
            return Err(unsuited(format!(
                "{logical_pages} logical pages do not fit; the largest ratio that fits is {ratio:.4}"
            )));
        }
        Ok(Self { functions, chip, logical_pages, page_bytes })
    }

    fn make(&self, nand: &mut CutNand, make: Make, at: Time) -> Result<(Session, RecoveryReport), FtlError> {
        Session::make(&self.functions, nand, (self.chip, self.logical_pages, self.page_bytes), make, at)
    }

    fn has(&self, flag: u32) -> bool {
        self.functions.flags & flag != 0
    }
}

/// Why a plugin is not tried.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PluginError {
    /// The file is no plugin.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// It does not suit the chip.
    #[error("{name}: {why}")]
    Unsuited {
        /// Its name.
        name: String,
        /// What is wrong.
        why: String,
    },
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
