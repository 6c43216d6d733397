//! Reads the sources of the workspace and prints how the house stands: `make house`.
//!
//! The table in `table.rs` has each count, its former value and its goal. The tests hold its limits. `walls.rs` has
//! what folders must not import. Names are followed as far as the text of the sources leads (`modules.rs`).

mod graph;
mod house;
#[cfg(test)]
mod ideas;
mod measure;
mod modules;
#[cfg(test)]
mod one_build;
mod source;
mod table;
mod walls;

use house::House;
use std::process::ExitCode;

fn main() -> ExitCode {
    match House::read() {
        Ok(house) => {
            println!("{}", table::print(&house));
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
