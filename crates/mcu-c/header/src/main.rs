//! Compares the headers for C with what cbindgen makes of the sources; with `--write`, writes them.

use std::path::Path;
use std::process::ExitCode;

/// By header: its crate, its name, and the sources in the order in which they are in it.
const HEADERS: [(&str, &str, &[&str]); 2] = [
    ("mcu-c", "phelsuma.h", &["types", "handle", "calls"]),
    ("plugin", "phelsuma_plugin.h", &["interface"]),
];

fn main() -> ExitCode {
    let writes = std::env::args().any(|argument| argument == "--write");
    for header in HEADERS {
        if let Err(error) = run(header, writes) {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

fn run((of, name, sources): (&str, &str, &[&str]), writes: bool) -> Result<(), String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(of);
    let config = cbindgen::Config::from_file(root.join("cbindgen.toml"))?;
    let sources = sources.iter().map(|source| root.join(format!("src/{source}.rs")));
    let builder = sources.fold(cbindgen::Builder::new().with_config(config), cbindgen::Builder::with_src);
    let mut header = Vec::new();
    builder.generate().map_err(|error| error.to_string())?.write(&mut header);
    let header = without_sections(&String::from_utf8_lossy(&header));
    let path = root.join("include").join(name);
    if writes {
        return std::fs::write(&path, header).map_err(|error| error.to_string());
    }
    match std::fs::read_to_string(&path) {
        Ok(there) if there == header => Ok(()),
        _ => Err(format!("crates/{of}/include/{name} is not that of the sources: make mcu-header writes it")),
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
