//! The phelsuma command.

use std::process::ExitCode;

fn main() -> ExitCode {
    phelsuma_cli::main()
}
