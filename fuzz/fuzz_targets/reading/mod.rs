//! What must hold of every reader, whatever it is fed.

use std::io::Cursor;

use phelsuma_trace::{END_BYTES_MAX, Format, Op, OpenOptions, SIZE_BYTES_MAX, TimeUnit, reader_from};

/// Beginnings of what may be longer than it is here: gzip, zstd, xz, bzip2 and lz4, in archives as well.
const COMPRESSED: [&[u8]; 5] = [b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"\xfd7zXZ", b"BZh", b"\x04\x22\x4d\x18"];

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
    let holds = |magic: &[u8]| bytes.windows(magic.len()).any(|window| window == magic);
    let report = reader.report();
    assert!(report.split > 0 || report.requests == yielded);
    let all = report.records + reader.skipped().total();
    assert!(COMPRESSED.into_iter().any(holds) || all <= 2 * (bytes.len() as u64 + 1));
}

/// Reads bytes as a format, with its own units and with others.
pub fn as_format(bytes: &[u8], format: Format) {
    let options = OpenOptions { format: Some(format), ..OpenOptions::default() };
    read_all(bytes, &options);
    let sector_bytes = format.has_sectors().then_some(4096);
    read_all(bytes, &OpenOptions { time_unit: Some(TimeUnit::S), sector_bytes, ..options });
}
