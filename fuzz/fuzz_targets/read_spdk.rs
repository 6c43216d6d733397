//! Arbitrary bytes as spdk_trace's output.
#![no_main]

mod reading;

use libfuzzer_sys::fuzz_target;
use phelsuma_trace::{Format, OpenOptions};

fuzz_target!(|bytes: &[u8]| {
    reading::read_all(bytes, &OpenOptions::default());
    reading::as_format(bytes, Format::Spdk);
});
