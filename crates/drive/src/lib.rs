//! A whole drive in simulated time: run protocol, statistics, results and the crash laboratory.

pub mod lab;
