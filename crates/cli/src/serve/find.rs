//! nbdkit, and the plugin for it.

use crate::errors::{Failure, Outcome};
use std::env::{current_exe, split_paths, var_os};
use std::path::PathBuf;

/// The plugin's file.
const PLUGIN: &str = if cfg!(target_os = "macos") { "libphelsuma_nbdkit.dylib" } else { "libphelsuma_nbdkit.so" };

/// nbdkit, from the search path, or where administrators' programs are.
pub(super) fn nbdkit() -> Outcome<PathBuf> {
    let path = var_os("PATH").unwrap_or_default();
    let folders = split_paths(&path).chain(["/usr/sbin".into(), "/usr/local/sbin".into()]);
    let found = folders.map(|folder| folder.join("nbdkit")).find(|file| file.is_file());
    found.ok_or_else(|| {
        Failure::Failed(
            "the server, nbdkit, is not installed; run `apt install nbdkit` (Debian, Ubuntu) or `dnf install nbdkit` \
             (Fedora), or see https://gitlab.com/nbdkit/nbdkit"
                .into(),
        )
    })
}

/// The plugin: where PHELSUMA_PLUGIN says, else beside this program, where cargo builds both (what it builds for another
/// package is in `deps`), else in the `lib` beside its `bin`.
pub(super) fn plugin() -> Outcome<PathBuf> {
    let failed = |text: String| Err(Failure::Failed(text));
    if let Some(path) = var_os("PHELSUMA_PLUGIN").map(PathBuf::from) {
        return match path.is_file() {
            true => Ok(path),
            false => failed(format!("PHELSUMA_PLUGIN: there is no file {}", path.display())),
        };
    }
    let folder = current_exe().ok().and_then(|exe| exe.canonicalize().ok()?.parent().map(PathBuf::from));
    let Some(folder) = folder else {
        return failed("the folder of this program cannot be found; set PHELSUMA_PLUGIN to the plugin's file".into());
    };
    let places = [folder.join("deps").join(PLUGIN), folder.join(PLUGIN), folder.join("../lib/phelsuma").join(PLUGIN)];
    // A build leaves the newest in `deps`.
    places.into_iter().find(|file| file.is_file()).map_or_else(
        || {
            failed(format!(
                "the plugin for nbdkit, {PLUGIN}, is not in {0}, {0}/deps or {0}/../lib/phelsuma; run `make install \
                 PREFIX=...` in Phelsuma's sources, or set PHELSUMA_PLUGIN to the file that `cargo build -p \
                 phelsuma-nbdkit` makes (`cargo install` does not install it)",
                folder.display()
            ))
        },
        Ok,
    )
}
