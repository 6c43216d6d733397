//! The FTL for microcontrollers in the crash laboratory.

mod laboratory;
