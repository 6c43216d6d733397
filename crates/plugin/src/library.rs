//! A shared library, loaded and looked at.

use crate::interface::{Chip, ENTRY, Entry, Nand, Plugin};
use core::ffi::{CStr, c_void};
use libloading::Library;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use thiserror::Error;

/// Why a file is no plugin.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("{}: {why}", path.display())]
pub struct LoadError {
    path: PathBuf,
    why: String,
}

type OfChip<T> = unsafe extern "C" fn(*const Chip) -> T;
type Make = unsafe extern "C" fn(*mut c_void, *const Nand, u32) -> i32;

/// The functions of a plugin, all there. The library stays loaded for as long as this lives.
#[derive(Clone, Debug)]
pub(crate) struct Functions {
    pub(crate) name: String,
    pub(crate) flags: u32,
    pub(crate) host_page_bytes: OfChip<u32>,
    pub(crate) most_logical_pages: OfChip<u32>,
    pub(crate) memory_bytes: unsafe extern "C" fn(*const Chip, u32) -> usize,
    pub(crate) format: Make,
    pub(crate) mount: Make,
    pub(crate) read: unsafe extern "C" fn(*mut c_void, u32, *mut u8) -> i32,
    pub(crate) write: unsafe extern "C" fn(*mut c_void, u32, *const u8) -> i32,
    pub(crate) trim: unsafe extern "C" fn(*mut c_void, u32, u32) -> i32,
    pub(crate) sync: unsafe extern "C" fn(*mut c_void) -> i32,
    pub(crate) maintain: Option<unsafe extern "C" fn(*mut c_void) -> i32>,
    _library: Arc<Library>,
}

/// More than any name has.
const NAME_MAX: usize = 64;

impl Functions {
    /// Loads a library and asks for its plugin.
    ///
    /// It runs in this process: whoever loads it trusts it.
    pub(crate) fn load(path: &Path) -> Result<Self, LoadError> {
        let refused = |why: String| LoadError { path: path.into(), why };
        // A name without a folder would be looked for among the system's libraries.
        let file = std::fs::canonicalize(path).map_err(|error| refused(error.to_string()))?;
        // SAFETY: a library runs code when it is loaded. The caller of this command has named it.
        let library = unsafe { Library::new(file) }.map_err(|error| refused(plain(&error)))?;
        // SAFETY: the header says of which type the function of this name is.
        let table = unsafe {
            let entry = library.get::<Entry>(ENTRY).map_err(|error| refused(plain(&error)))?;
            entry()
        };
        if table.is_null() || !table.is_aligned() {
            return Err(refused("phelsuma_plugin_v1 returns no table".into()));
        }
        // SAFETY: it leads to a table, as the header says, that lives as long as the library.
        let table = unsafe { &*table };
        let missing = |name: &str| refused(format!("its table has no {name}"));
        if table.name.is_null() {
            return Err(missing("name"));
        }
        // SAFETY: it is not NULL, so it leads to text that ends with a zero.
        let name = unsafe { CStr::from_ptr(table.name) }.to_string_lossy().into_owned();
        let is_plain = |c: char| c.is_ascii_graphic() && c != ',';
        if name.is_empty() || name.len() > NAME_MAX || !name.chars().all(is_plain) {
            return Err(refused(format!(
                "its name is not 1 to {NAME_MAX} printable characters without commas and blanks"
            )));
        }
        let Plugin { flags, host_page_bytes, most_logical_pages, memory_bytes, .. } = *table;
        let Plugin { format, mount, read, write, trim, sync, maintain, .. } = *table;
        Ok(Self {
            name,
            flags,
            host_page_bytes: host_page_bytes.ok_or_else(|| missing("host_page_bytes"))?,
            most_logical_pages: most_logical_pages.ok_or_else(|| missing("most_logical_pages"))?,
            memory_bytes: memory_bytes.ok_or_else(|| missing("memory_bytes"))?,
            format: format.ok_or_else(|| missing("format"))?,
            mount: mount.ok_or_else(|| missing("mount"))?,
            read: read.ok_or_else(|| missing("read"))?,
            write: write.ok_or_else(|| missing("write"))?,
            trim: trim.ok_or_else(|| missing("trim"))?,
            sync: sync.ok_or_else(|| missing("sync"))?,
            maintain,
            _library: Arc::new(library),
        })
    }
}

/// The cause, which `libloading` keeps behind its own words.
fn plain(error: &libloading::Error) -> String {
    std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string)
}
