//! Builds a plugin of C sources.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The shared library of this source, with these options of the compiler.
pub(crate) fn library(name: &str, source: &Path, options: &[&str]) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.so"));
    let built = Command::new("cc")
        .args(["-std=c11", "-O1", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared", "-I"])
        .arg(root.join("include"))
        .args(options)
        .arg(source)
        .arg("-o")
        .arg(&out)
        .output()
        .expect("a C compiler");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    out
}

/// The example of a plugin.
pub(crate) fn page_table(name: &str, options: &[&str]) -> PathBuf {
    library(name, &Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/plugins/page_table.c"), options)
}

/// A plugin of this text.
pub(crate) fn text(name: &str, text: &str) -> PathBuf {
    let source = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.c"));
    std::fs::write(&source, text).unwrap();
    library(name, &source, &[])
}
