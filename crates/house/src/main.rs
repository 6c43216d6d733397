//! Reads the sources of the workspace and prints how the house stands: `make house`.
//!
//! What is counted, what it was, and what it is to be stand in one table (`table.rs`), whose limits the tests hold. What
//! folders must not import is in `walls.rs`. Names are followed as far as the text of the sources leads (`modules.rs`).

mod graph;
mod house;
#[cfg(test)]
mod ideas;
mod measure;
mod modules;
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
