//! Plugins in C, tried by the laboratory; and files that are none.

mod built;
mod laboratory;
mod refused;
