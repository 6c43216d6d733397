//! A hash of the sources that a simulated figure depends on: a stored run is good for these sources only.

use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};
use std::{fs, io};

/// The crates whose sources decide what a run gives.
const SIMULATION: [&str; 4] = ["nand", "ftl", "trace", "drive"];

fn main() -> io::Result<()> {
    let mut files = Vec::new();
    for name in SIMULATION {
        let folder = Path::new("..").join(name).join("src");
        println!("cargo::rerun-if-changed={}", folder.display());
        gather(&folder, &mut files)?;
    }
    // Folders list their files in any order.
    files.sort();
    let mut hash = Sha256::new();
    for file in &files {
        hash.update(file.to_string_lossy().replace('\\', "/"));
        hash.update([0]);
        hash.update(fs::read(file)?);
        hash.update([0]);
    }
    let hex: String = hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    println!("cargo::rustc-env=PHELSUMA_SOURCES={hex}");
    Ok(())
}

fn gather(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            gather(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}
