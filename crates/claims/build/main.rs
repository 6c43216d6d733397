//! The hash of the code that a simulated figure depends on: a stored run is good for this code only.

mod code;

use code::{Code, SIMULATION};
use std::error::Error;
use std::path::{Path, PathBuf};

fn main() -> Result<(), Box<dyn Error>> {
    let mut code = Code::default();
    for name in SIMULATION {
        println!("cargo::rerun-if-changed={}", source(&[name]).display());
        let mut to_read = vec![name.to_string()];
        while let Some(module) = to_read.pop() {
            let file = file_of(&module);
            let about = |error: &dyn Error| format!("{}: {error}", file.display());
            let text = std::fs::read_to_string(&file).map_err(|error| about(&error))?;
            to_read.extend(code.add(&module, &text).map_err(|error| about(&error))?);
        }
    }
    println!("cargo::rustc-env=PHELSUMA_SOURCES={}", code.hash());
    Ok(())
}

/// Where a module's text is.
fn file_of(module: &str) -> PathBuf {
    let names: Vec<&str> = module.split("::").collect();
    let folder = source(&names);
    match names.len() {
        1 => folder.join("lib.rs"),
        _ => Some(folder.with_extension("rs")).filter(|file| file.exists()).unwrap_or(folder.join("mod.rs")),
    }
}

/// The folder of a crate's modules, or of a module's.
fn source(names: &[&str]) -> PathBuf {
    let (name, modules) = names.split_first().unwrap_or((&"", &[]));
    Path::new("..").join(name).join("src").join(modules.iter().collect::<PathBuf>())
}
