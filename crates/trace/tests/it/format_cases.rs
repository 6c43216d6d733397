//! Small files as people have them, one or more for each kind, and what they hold.

use std::io::Cursor;
use std::path::{Path, PathBuf};

use crate::samples::{blktrace_record, blktrace2_record, error_of, read_as, request};
use phelsuma_trace::{Format, Op, OpenOptions, Request, SkipReason, Skipped, TraceFile, reader_from};

use Op::{Flush, Read, Trim, Write};

/// The path of a case's own file.
fn case(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases").join(name)
}

/// The format of a file, its requests and what was left out.
fn read_case(name: &str, options: &OpenOptions) -> (Format, Vec<Request>, Skipped) {
    let mut trace = TraceFile::open(case(name), options).unwrap();
    let requests = trace.by_ref().map(Result::unwrap).collect();
    (trace.format(), requests, trace.skipped().clone())
}

/// The same of a text.
fn read_text(text: &str, options: &OpenOptions) -> (Format, Vec<Request>, Skipped) {
    let mut trace = reader_from(Cursor::new(text.as_bytes().to_vec()), "t", options).unwrap();
    let requests = trace.by_ref().map(Result::unwrap).collect();
    (trace.format(), requests, trace.skipped().clone())
}

/// How many requests of an op there are, and their bytes.
fn of(requests: &[Request], op: Op) -> (usize, u64) {
    let sizes: Vec<u64> =
        requests.iter().filter(|request| request.op == op).map(|request| request.size_bytes).collect();
    (sizes.len(), sizes.iter().sum())
}

fn usual() -> OpenOptions {
    OpenOptions::default()
}

#[test]
fn a_device_without_a_queue_has_completions_alone() {
    let (format, requests, skipped) = read_case("blkparse-completions-only/brd.txt", &usual());
    assert_eq!(format, Format::Blkparse);
    assert_eq!((of(&requests, Write), requests.len(), skipped.total()), ((20, 20 * 512), 20, 0));
    assert_eq!(requests[1], request(3084, 1 << 20, Write, 20513 * 512, 512));
}

#[test]
fn completions_stand_for_requests_only_where_nothing_else_does() {
    let lines = ["8,0 1 1 0.1 7 Q W 0 + 8 [a]\n", "8,0 1 2 0.2 7 D W 8 + 8 [a]\n", "8,0 1 3 0.3 7 C W 16 + 8 [0]\n"];
    for (text, offset) in [
        (lines.concat(), 4096),
        (lines[..2].concat(), 4096),
        ([lines[2], lines[0]].concat(), 0),
        ([lines[2], "8,0 1 4 0.4 7 U N [a] 1\n"].concat(), 8192),
    ] {
        let (_, requests, skipped) = read_text(&text, &usual());
        assert_eq!((requests.len(), requests[0].offset_bytes), (1, offset), "{text}");
        assert_eq!(skipped.total(), skipped.count(SkipReason::OtherEvent));
    }
}

#[test]
fn blktrace_of_completions_alone_is_read() {
    let completed = 8 | 1 << 23;
    let bytes = [
        blktrace_record(false, completed | 2 << 16, 5, 8, 4096, &[]),
        blktrace_record(false, completed | 1 << 16, 9, 16, 512, &[]),
    ];
    let requests = read_as(&bytes.concat(), None).unwrap();
    assert_eq!(requests, [request(0, 8 << 20 | 16, Write, 4096, 4096), request(4, 8 << 20 | 16, Read, 8192, 512)]);
}

#[test]
fn a_zone_reset_is_a_trim_of_its_range() {
    let (_, requests, skipped) = read_case("blkparse-zone-reset/zns.txt", &usual());
    assert_eq!((of(&requests, Write), of(&requests, Read)), ((1, 4096), (1, 4096)));
    assert_eq!(of(&requests, Trim), (1, 524_288 * 512));
    assert_eq!((skipped.count(SkipReason::OtherCommand), skipped.total()), (1, 1));
}

#[test]
fn an_append_is_a_write_and_other_zone_operations_are_other_commands() {
    let text = "259,0 3 1 0.1 7 D ZA 64 + 8 [z]\n259,0 3 2 0.2 7 D ZAS 64 + 8 [z]\n259,0 3 3 0.3 7 D ZF 64 + 0 [z]\n\
                259,0 3 4 0.4 7 D ZO 64 + 64 [z]\n259,0 3 5 0.5 7 D ZC 64 + 64 [z]\n259,0 3 6 0.6 7 D ZR 64 + 0 [z]\n";
    let (_, requests, skipped) = read_text(text, &usual());
    assert_eq!((of(&requests, Write), requests.len()), ((2, 8192), 2));
    assert_eq!((skipped.count(SkipReason::OtherCommand), skipped.total()), (4, 4));
}

#[test]
fn a_requeued_request_counts_once() {
    let text = "8,0 1 1 0.1 7 D W 8 + 8 [a]\n8,0 1 2 0.2 7 R W 8 + 8 [0]\n8,0 1 3 0.3 7 D W 8 + 8 [a]\n\
                8,0 1 4 0.4 7 C W 8 + 8 [0]\n8,0 1 5 0.5 7 D W 8 + 8 [a]\n8,0 1 6 0.6 7 C W 8 + 8 [0]\n\
                8,0 1 7 0.7 7 R R 64 + 8 [0]\n8,0 1 8 0.8 7 D R 64 + 8 [a]\n";
    let (_, requests, skipped) = read_text(text, &usual());
    assert_eq!(requests.iter().map(|request| request.time_ns / 100_000_000).collect::<Vec<_>>(), [0, 4, 7]);
    assert_eq!(skipped.count(SkipReason::Requeued), 1);

    const REQUEUED: u32 = 6 | 1 << 21;
    const ISSUED: u32 = 7 | 1 << 22;
    let record = |event, time| blktrace_record(true, 2 << 16 | event, time, 8, 4096, &[]);
    let bytes = [record(ISSUED, 1), record(REQUEUED, 2), record(ISSUED, 3), record(8, 4), record(ISSUED, 5)].concat();
    let times: Vec<u64> = read_as(&bytes, None).unwrap().iter().map(|request| request.time_ns).collect();
    assert_eq!(times, [0, 4]);
}

#[test]
fn blktrace_version_8_is_read() {
    let (format, requests, skipped) = read_case("blktrace-v2/v2.blktrace.0", &usual());
    assert_eq!(format, Format::Blktrace);
    assert_eq!((of(&requests, Write), of(&requests, Read)), ((1, 4096), (1, 8192)));
    assert_eq!(of(&requests, Trim), (1, 1 << 20));
    assert_eq!((skipped.count(SkipReason::OtherEvent), skipped.total()), (1, 1));
}

#[test]
fn a_blktrace_version_that_is_not_known_is_named() {
    let mut bytes = blktrace2_record(false, 7 | 2 << 16, 1, 8, 4096, &[]);
    bytes[0] = 9;
    let error = error_of(&bytes, None);
    assert_eq!(error, "t: record 1 at byte 0: the magic is 0x65617409, 0x65617407 or 0x65617408 would be right");
    // A version that changes within the file is a file of garbage.
    let mixed = [blktrace2_record(false, 7 | 2 << 16, 1, 8, 4096, &[]), blktrace_record(false, 7, 1, 8, 512, &[])];
    let error = error_of(&[mixed.concat(), vec![0; 16]].concat(), None);
    assert_eq!(error, "t: record 2 at byte 64: the magic is 0x65617407, 0x65617408 would be right");
}

#[test]
fn zone_operations_of_blktrace_are_what_they_are() {
    let issued: u64 = 7 | 2 << 16;
    let zone = |bit: u32, bytes| blktrace2_record(true, issued | 1 << (16 + bit), 1, 64, bytes, &[]);
    // Append, reset, reset all, finish, open, close, write zeros.
    let bytes: Vec<u8> = (16..=22).flat_map(|bit| zone(bit, 4096)).chain(zone(17, 0)).chain(zone(18, 0)).collect();
    let mut trace = reader_from(Cursor::new(bytes), "t", &usual()).unwrap();
    let ops: Vec<Op> = trace.by_ref().map(|request| request.unwrap().op).collect();
    assert_eq!(ops, [Write, Trim, Trim, Write]);
    assert_eq!(trace.skipped().count(SkipReason::OtherCommand), 5);
    assert!(!ops.contains(&Flush));
}
