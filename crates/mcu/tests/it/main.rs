//! Drives on a chip in RAM.

mod chip;
mod cuts;
mod use_case;
