//! Every format: found by content, read exactly, plain and compressed, and refused clearly.

use std::io::{Cursor, Write};

use crate::samples::{error_of, read_as, request};
use phelsuma_trace::{Format, Op, OpenOptions, SkipReason, TimeUnit, TraceFile, reader_from};

fn gz(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zst(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 3).unwrap()
}

#[test]
fn every_format_is_found_by_content_and_read_exactly() {
    for sample in crate::samples::all() {
        let reader = reader_from(Cursor::new(sample.bytes.clone()), "t", &OpenOptions::default()).unwrap();
        assert_eq!(reader.format(), sample.format);
        let requests = crate::samples::since_earliest(reader.map(|request| request.unwrap()).collect());
        assert_eq!(requests, sample.requests, "{}", sample.format);
        assert_eq!(read_as(&sample.bytes, Some(sample.format)).unwrap(), sample.requests, "{}", sample.format);
    }
}

#[test]
fn every_format_has_a_sample() {
    for format in Format::all() {
        assert!(crate::samples::all().iter().any(|sample| sample.format == *format), "{format}");
    }
}

#[test]
fn compressed_traces_are_read_directly() {
    for sample in crate::samples::all() {
        assert_eq!(read_as(&gz(&sample.bytes), None).unwrap(), sample.requests, "{}", sample.format);
        assert_eq!(read_as(&zst(&sample.bytes), None).unwrap(), sample.requests, "{}", sample.format);
    }
}

#[test]
fn a_gzip_file_of_two_members_is_read_to_its_end() {
    let both = [gz(b"1.5 0 8 8 0\n"), gz(b"2.5 0 16 8 1\n")].concat();
    assert_eq!(read_as(&both, None).unwrap().len(), 2);
}

#[test]
fn names_parse_back_and_unknown_ones_list_the_right_ones() {
    for format in Format::all() {
        assert_eq!(format.name().parse::<Format>().unwrap(), *format);
        assert!(!format.description().is_empty() && !format.record().is_empty());
    }
    let error = "disksum".parse::<Format>().unwrap_err().to_string();
    assert!(error.contains("`disksum`") && error.contains("disksim") && error.contains("hp-srt"), "{error}");
}

#[test]
fn a_time_unit_overrides_what_is_detected() {
    let options = OpenOptions { time_unit: Some(TimeUnit::Us), ..OpenOptions::default() };
    let reader = reader_from(Cursor::new("0 0 280605840 2 1\n979 0 287641400 128 1\n"), "t", &options).unwrap();
    let times: Vec<u64> = reader.map(|request| request.unwrap().time_ns).collect();
    assert_eq!(times, [0, 979_000]);
}

#[test]
fn a_fraction_that_contradicts_the_guessed_unit_is_refused() {
    let whole: String = (0..4000).map(|at| format!("{at}000000 0 {} 8 0\n", at * 8)).collect();
    let error = error_of(format!("{whole}4000000000.5 0 8 8 0\n").as_bytes(), None);
    assert!(error.starts_with("t:4001: the time has a fraction and those before had none"), "{error}");
}

#[test]
fn a_skippable_zstd_frame_in_front_is_skipped() {
    let frame = [&[0x50, 0x2a, 0x4d, 0x18, 4, 0, 0, 0, 1, 2, 3, 4][..], &zst(b"1.5 0 8 8 0\n")].concat();
    assert_eq!(read_as(&frame, None).unwrap().len(), 1);
}

#[test]
fn what_is_skipped_is_counted_by_reason() {
    let text =
        "a heading\n1.0 0 8 8 0\n\n2.0 0 8 0 0\n3.0 0 16565000000000000000 8 0\n4.0 0 8 9999999999 0\n5.0 0 8 8 1\n";
    let mut reader = reader_from(Cursor::new(text), "t", &OpenOptions::default()).unwrap();
    assert_eq!(reader.by_ref().filter(Result::is_ok).count(), 2);
    let skipped = reader.skipped();
    assert_eq!(skipped.count(SkipReason::JunkBeforeFirst), 1);
    assert_eq!(skipped.count(SkipReason::BlankLine), 1);
    assert_eq!(skipped.count(SkipReason::SizeZero), 1);
    assert_eq!(skipped.count(SkipReason::Absurd), 2);
    assert_eq!(
        skipped.to_string(),
        "lines before the first record: 1, blank lines: 1, requests of size zero: 1, absurd addresses or sizes: 2"
    );
}

#[test]
fn the_first_corrupt_records_of_a_diskmon_log_are_skipped() {
    let text = "0\t0.484119\t0.00530243\t0\tWrite\t8486082789636758048\t2742488\t\n\
                1\t0.613500\t0.00968933\t0\tWrite\t34767\t80\t\n";
    assert_eq!(read_as(text.as_bytes(), None).unwrap(), [request(0, 0, Op::Write, 34767 * 512, 40960)]);
}

#[test]
fn a_trim_of_a_whole_drive_is_one_request_and_a_write_of_over_a_gibibyte_comes_in_pieces() {
    let csv = |op: &str, size: u64| {
        format!("time_us,device,op,offset_bytes,size_bytes\n0,0,flush,0,0\n0,0,{op},0,{size}\n").into_bytes()
    };
    assert_eq!(read_as(&csv("trim", 1 << 42), None).unwrap().len(), 2);
    assert_eq!(read_as(&csv("trim", (1 << 63) + 1), None).unwrap().len(), 1);
    assert_eq!(read_as(&csv("write", 1 << 30), None).unwrap().len(), 2);
    let pieces = read_as(&csv("write", (2 << 30) + 512), None).unwrap();
    let pieces: Vec<_> = pieces[1..].iter().map(|piece| (piece.offset_bytes, piece.size_bytes)).collect();
    assert_eq!(pieces, [(0, 1 << 30), (1 << 30, 1 << 30), (2 << 30, 512)]);
    assert_eq!(read_as(&csv("read", 1 << 40), None).unwrap().len(), 1025);
    assert_eq!(read_as(&csv("write", (1 << 40) + 512), None).unwrap().len(), 1, "no drive was asked this");
}

#[test]
fn records_back_in_time_keep_their_distance() {
    let requests = read_as(b"5.0 0 8 8 0\n3.0 0 8 8 0\n6.0 0 8 8 0\n4.0 0 8 8 0\n", None).unwrap();
    let times: Vec<u64> = requests.iter().map(|request| request.time_ns / 1_000_000).collect();
    assert_eq!(times, [2, 0, 3, 1]);
}

#[test]
fn a_damaged_line_after_the_first_record_stops_with_file_and_line() {
    let error = error_of(b"1.0 0 8 8 0\n2.0 0 8 8\n3.0 0 8 8 0\n", None);
    assert_eq!(error, "t:2: `2.0 0 8 8`: 4 columns where 5 belong; a disksim record is `time device lba size flag`");
    let error = error_of(b"1.0 0 8 8 0\n2.0 0 eight 8 0\n3.0 0 8 8 0\n", None);
    assert!(error.starts_with("t:2: `2.0 0 eight 8 0`: the address is not a whole number: eight;"), "{error}");
}

#[test]
fn impossible_numbers_stop_with_file_and_line() {
    for (text, what) in [
        ("1.0 0 8 8 0\n1.0 0 -8 8 0\n", "t:2: the address is negative (-8), 0 or more would be right"),
        ("-1.0 0 8 8 0\n", "t:1: the time is negative (-1.0), 0 or more would be right"),
        ("1.0 0 8 99999999999999999999 0\n", "t:1: the size 99999999999999999999 does not fit 64 bits"),
        ("1.0 4294967296 8 8 0\n", "t:1: the device 4294967296 does not fit 32 bits"),
        (
            "99999999999999999.0 0 8 8 0\n",
            "t:1: the time 99999999999999999.0 is over 584 years, the unit may be another",
        ),
    ] {
        assert_eq!(error_of(text.as_bytes(), None), what);
    }
}

#[test]
fn sizes_of_a_biotracer_record_must_agree() {
    let error =
        error_of(b"96\t\t1\t\t512\t\t0\t\t1.0\t\t1\t\t1\t\t1\n96\t\t1\t\t513\t\t0\t\t1.0\t\t1\t\t1\t\t1\n", None);
    assert_eq!(error, "t:2: 1 sectors are not 513 bytes, 512 times as many would be right");
}

#[test]
fn truncated_binary_records_are_refused_with_their_place() {
    for sample in crate::samples::all() {
        let expected = match sample.format {
            Format::VscsiV1 => "t: record 4 at byte 96: the file ends 31 bytes into a record of 32",
            Format::OracleGeneral => "t: no known trace format",
            Format::VscsiV2 => "t: record 2 at byte 40: the file ends 39 bytes into a record of 40",
            Format::HpSrt => "t: record 2 at byte 99: the file ends 55 bytes into a record of 56",
            Format::Blktrace if [sample.bytes[0], sample.bytes[3]].contains(&8) => {
                "t: record 6 at byte 335: the file ends 63 bytes into a record of 64"
            }
            Format::Blktrace => "t: record 7 at byte 301: the file ends 3 bytes into a payload of 4",
            _ => continue,
        };
        let cut = &sample.bytes[..sample.bytes.len() - 1];
        assert!(error_of(cut, None).starts_with(expected), "{}", error_of(cut, None));
    }
    let cut = crate::samples::oracle_record(5, 7, 4096, 2);
    let error = error_of(&cut[..23], Some(Format::OracleGeneral));
    assert_eq!(error, "t: record 1 at byte 0: the file ends 23 bytes into a record of 24");
}

#[test]
fn a_binary_record_of_another_version_is_refused_with_its_place() {
    let mut bytes = crate::samples::vscsi1_record(0x2a, 63, 4096, 1000).repeat(70);
    bytes[65 * 32 + 15] = 9;
    assert_eq!(error_of(&bytes, None), "t: record 66 at byte 2080: the version is 0x0900, 0x01xx would be right");
}

#[test]
fn truncated_compression_is_refused_after_what_can_be_read() {
    let text: String = (0..20_000u64).map(|at| format!("{at}.5 0 {} 8 0\n", at * 7919 % 1_000_003)).collect();
    for (bytes, kind) in [(gz(text.as_bytes()), "gzip"), (zst(text.as_bytes()), "zstd")] {
        let cut = &bytes[..bytes.len() / 2];
        let mut reader = reader_from(Cursor::new(cut.to_vec()), "t", &OpenOptions::default()).unwrap();
        let good = reader.by_ref().take_while(Result::is_ok).count();
        assert!(good > 100, "{good}");
        let error = error_of(cut, None);
        assert!(
            error.starts_with("t: reading line ") && error.contains(&format!("the {kind} stream is cut short")),
            "{error}"
        );
        assert!(reader.next().is_none(), "nothing follows an error");
    }
}

#[test]
fn damaged_compression_is_refused() {
    let mut bytes = gz(b"1.5 0 8 8 0\n");
    let middle = bytes.len() - 6;
    bytes[middle] ^= 0xff;
    assert!(error_of(&bytes, None).contains("gzip stream is"), "{}", error_of(&bytes, None));
    assert!(error_of(&[0x1f, 0x8b, 8, 0], None).contains("gzip stream is cut short"));
    assert!(error_of(&[0x28, 0xb5, 0x2f, 0xfd], None).contains("zstd stream is cut short"));
}

#[test]
fn files_without_a_trace_are_refused() {
    assert_eq!(error_of(b"", None), "t: is empty, a trace has at least one request");
    assert_eq!(error_of(&gz(b""), None), "t: is empty, a trace has at least one request");
    let noise: Vec<u8> = (0..5000u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    assert!(error_of(&noise, None).starts_with("t: no known trace format; it begins `"));
    assert!(
        error_of(b"Dear reader,\nthis is a letter.\n", None)
            .contains("it begins `Dear reader,`, `this is a letter.`; --format names one of")
    );
    assert!(error_of(&[0; 4096], None).starts_with("t: no known trace format"));
}

#[test]
fn a_trace_without_a_usable_request_is_refused() {
    assert_eq!(
        error_of(b"time_us,device,op,offset_bytes,size_bytes\n", None),
        "t: no usable csv request in the file; skipped: nothing"
    );
    assert_eq!(
        error_of(b"1.0 0 8 0 0\n", None),
        "t: no usable disksim request in the file; skipped: requests of size zero: 1"
    );
    assert!(error_of(b"8,0 0 1 0.5 9 I W 8 + 8 [x]\n", None).contains("other events of a request: 1"));
}

#[test]
fn a_wrong_format_is_refused_with_the_first_line() {
    let error = error_of(b"1.0 0 8 8 0\n2.0 0 8 8 0\n", Some(Format::Msr));
    assert!(
        error.starts_with("t:1: no msr record in the file: `1.0 0 8 8 0`: 1 column where 6 to 7 belong"),
        "{error}"
    );
    let error = error_of(b"1.0 0 8 8 0\n", Some(Format::Csv));
    assert!(error.starts_with("t:1: `1.0 0 8 8 0`: 1 column where 5 belong"), "{error}");
    let many = "x\n".repeat(1000);
    let error = error_of(many.as_bytes(), Some(Format::Spc));
    assert!(error.starts_with("t:1: no spc record in the first 64 lines: `x`:"), "{error}");
}

#[test]
fn absurd_records_that_outnumber_the_usable_ones_are_an_error_at_the_end() {
    // Over 1 TiB each, in units of 4 KiB.
    let text = "0.0 0 200626176 4096 0\n1.0 0 3159347200 300000000 0\n2.0 0 3159347200 300000000 0\n";
    let error = error_of(text.as_bytes(), Some(Format::FlashSim));
    assert!(error.contains("2 absurd addresses or sizes outnumber 1 usable requests"), "{error}");
}

#[test]
fn a_line_without_end_is_refused() {
    let long = vec![b'7'; 100_000];
    assert!(error_of(&long, Some(Format::DiskSim)).starts_with("t:1: the line is over 65536 bytes"));
}

#[test]
fn a_directory_and_a_missing_file_are_refused() {
    let open = |path: &str| TraceFile::open(path, &OpenOptions::default()).unwrap_err().to_string();
    assert_eq!(open("/"), "/: is a directory, a trace is a single file");
    assert!(open("/nowhere/at all").starts_with("/nowhere/at all: cannot be opened: "));
}

#[test]
fn a_name_with_control_characters_stays_one_line() {
    let error = reader_from(Cursor::new(Vec::new()), "a\nb", &OpenOptions::default()).unwrap_err();
    assert_eq!(error.to_string(), "a?b: is empty, a trace has at least one request");
}
