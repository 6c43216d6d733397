//! Compares `include/phelsuma.h` with what cbindgen makes of the sources; with `--write`, writes it.

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let config = cbindgen::Config::from_file(root.join("cbindgen.toml"))?;
    // In this order they are in the header.
    let sources = ["types", "handle", "calls"].map(|name| root.join(format!("src/{name}.rs")));
    let builder = sources.iter().fold(cbindgen::Builder::new().with_config(config), cbindgen::Builder::with_src);
    let mut header = Vec::new();
    builder.generate().map_err(|error| error.to_string())?.write(&mut header);
    let header = without_sections(&String::from_utf8_lossy(&header));
    let path = root.join("include/phelsuma.h");
    if std::env::args().any(|argument| argument == "--write") {
        return std::fs::write(&path, header).map_err(|error| error.to_string());
    }
    match std::fs::read_to_string(&path) {
        Ok(there) if there == header => Ok(()),
        _ => Err("crates/mcu-c/include/phelsuma.h is not that of the sources: make mcu-header writes it".into()),
    }
}

/// Leaves out sections on safety: what such a one says is for who writes Rust.
fn without_sections(header: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    let mut is_in_section = false;
    for line in header.lines() {
        if line.trim() == "* # Safety" {
            is_in_section = true;
            while kept.last().is_some_and(|line| line.trim() == "*") {
                kept.pop();
            }
        }
        is_in_section &= line.trim() != "*/";
        if !is_in_section {
            kept.push(line);
        }
    }
    kept.join("\n") + "\n"
}
