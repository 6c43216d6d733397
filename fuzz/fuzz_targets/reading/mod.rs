//! What must hold of every reader, whatever it is fed.

use std::io::Cursor;

use phelsuma_trace::{END_BYTES_MAX, Format, Op, OpenOptions, SIZE_BYTES_MAX, TimeUnit, reader_from};

/// Reads everything and checks what every reader promises.
pub fn read_all(bytes: &[u8], options: &OpenOptions) {
    let mut reader = match reader_from(Cursor::new(bytes.to_vec()), "fuzz", options) {
        Ok(reader) => reader,
        Err(error) => return assert!(!error.to_string().contains('\n')),
    };
    let mut yielded = 0;
    // A compressed bomb may be long; its requests are all alike.
    for request in reader.by_ref().take(100_000) {
        match request {
            Ok(request) => {
                yielded += 1;
                assert_eq!(request.size_bytes == 0, request.op == Op::Flush);
                assert!(request.offset_bytes + request.size_bytes <= END_BYTES_MAX);
                assert!(request.op == Op::Trim || request.size_bytes <= SIZE_BYTES_MAX);
            }
            Err(error) => assert!(!error.to_string().contains('\n')),
        }
    }
    assert_eq!(reader.requests(), yielded);
    let compressed = bytes.starts_with(&[0x1f, 0x8b]) || bytes.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]);
    assert!(compressed || yielded + reader.skipped().total() <= bytes.len() as u64 + 1);
}

/// Reads bytes as a format, with its own units and with others.
pub fn as_format(bytes: &[u8], format: Format) {
    let options = OpenOptions { format: Some(format), ..OpenOptions::default() };
    read_all(bytes, &options);
    let sector_bytes = format.has_sectors().then_some(4096);
    read_all(bytes, &OpenOptions { time_unit: Some(TimeUnit::S), sector_bytes, ..options });
}
