//! The phelsuma command.

fn main() {}
