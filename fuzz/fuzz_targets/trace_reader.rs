//! Arbitrary bytes as a trace: through detection and through every format.
#![no_main]

mod reading;

use libfuzzer_sys::fuzz_target;
use phelsuma_trace::{Format, OpenOptions};

fuzz_target!(|bytes: &[u8]| {
    reading::read_all(bytes, &OpenOptions::default());
    for &format in Format::all() {
        reading::as_format(bytes, format);
    }
});
