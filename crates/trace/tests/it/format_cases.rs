//! Small files as people have them, one or more for each kind, and what they hold.

use std::io::Cursor;
use std::path::{Path, PathBuf};

use crate::samples::{blktrace_record, blktrace2_record, error_of, read_as, request, since_earliest};
use phelsuma_trace::{
    BlkparseEvent, Format, Note, Op, OpenOptions, Request, SkipReason, Skipped, TraceFile, reader_from,
};

use Op::{Flush, Read, Trim, Write};

/// The path of a case's own file.
fn case(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases").join(name)
}

/// The format of a file, its requests and what was left out.
fn read_case(name: &str, options: &OpenOptions) -> (Format, Vec<Request>, Skipped) {
    let mut trace = TraceFile::open(case(name), options).unwrap();
    let requests = since_earliest(trace.by_ref().map(Result::unwrap).collect());
    (trace.format(), requests, trace.skipped().clone())
}

/// The same of a text.
fn read_text(text: &str, options: &OpenOptions) -> (Format, Vec<Request>, Skipped) {
    let mut trace = reader_from(Cursor::new(text.as_bytes().to_vec()), "t", options).unwrap();
    let requests = since_earliest(trace.by_ref().map(Result::unwrap).collect());
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
fn an_event_is_chosen_where_there_are_several() {
    let text = "8,0 1 1 0.1 7 Q W 8 + 8 [a]\n8,0 1 2 0.2 7 D W 8 + 8 [a]\n8,0 1 3 0.3 7 C W 8 + 8 [0]\n";
    for (name, time) in [("issued", 2), ("queued", 1), ("C", 3)] {
        let options = OpenOptions { blkparse_event: Some(name.parse().unwrap()), ..OpenOptions::default() };
        let trace = reader_from(Cursor::new(text), "t", &options).unwrap();
        assert_eq!(trace.map(|request| request.unwrap().time_ns / 100_000_000).collect::<Vec<_>>(), [time]);
    }
    assert!("done".parse::<BlkparseEvent>().unwrap_err().contains("issued, queued or completed would be right"));
    let options = OpenOptions { blkparse_event: Some(BlkparseEvent::Issued), ..OpenOptions::default() };
    let csv = "time_us,device,op,offset_bytes,size_bytes\n0,0,write,0,8192\n";
    let error = reader_from(Cursor::new(csv), "t", &options).unwrap_err().to_string();
    assert!(error.contains("csv has one event a request"), "{error}");
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

#[test]
fn ftrace_is_read_with_and_without_priorities() {
    let (format, requests, skipped) = read_case("ftrace-block-rq/trace.txt", &usual());
    assert_eq!(format, Format::Ftrace);
    assert_eq!((of(&requests, Write), of(&requests, Read)), ((1, 4096), (1, 8192)));
    assert_eq!((of(&requests, Flush).0, of(&requests, Trim)), (1, (1, 1 << 20)));
    assert_eq!((skipped.count(SkipReason::OtherEvent), skipped.count(SkipReason::Comment)), (1, 4));
}

#[test]
fn nvme_commands_count_blocks_from_0_in_the_size_that_is_said() {
    let (format, requests, _) = read_case("ftrace-block-rq/nvme.txt", &usual());
    assert_eq!(format, Format::Ftrace);
    assert_eq!(requests, [request(0, 0, Write, 918_149_376 * 512, 8 * 512)]);
    let (_, requests, _) = read_case("ftrace-block-rq/nvme.txt", &OpenOptions { sector_bytes: Some(4096), ..usual() });
    assert_eq!(requests, [request(0, 0, Write, 918_149_376 * 4096, 8 * 4096)]);
}

#[test]
fn the_best_event_of_a_trace_stands_for_its_requests() {
    let line = |time: &str, event: &str| format!("<idle>-0 [003] d.h1. {time}: {event}\n");
    let nvme = "nvme_setup_cmd: nvme0: disk=nvme0n1, qid=4, cmdid=1, nsid=1, flags=0x0, meta=0x0, \
                cmd=(nvme_cmd_write slba=64, len=7, ctrl=0x0, dsmgmt=0, reftag=0)";
    let events = [
        line("1.1", "block_rq_issue: 259,0 WS 4096 () 64 + 8 none,0,0 [x]"),
        line("1.2", nvme),
        line("1.3", "block_bio_queue: 259,0 WS 64 + 8 [x)y]"),
        line("1.4", "block_rq_insert: 259,0 WS 4096 () 64 + 8 [x]"),
        line("1.5", "block_rq_complete: 259,0 WS () 64 + 8 none,0,0 [0]"),
        line("1.6", "block_bio_complete: 259,0 WS 64 + 8 [0]"),
        line("1.7", "nvme_complete_rq: nvme0: disk=nvme0n1, qid=4, cmdid=1, res=0x0, retries=0, flags=0x0, status=0x0"),
    ];
    for first in 0..6 {
        let text = events[first..].concat();
        let (format, requests, skipped) = read_text(&text, &usual());
        assert_eq!((format, requests.len(), requests[0].size_bytes), (Format::Ftrace, 1, 4096), "{text}");
        assert_eq!((requests[0].op, requests[0].offset_bytes), (Write, 64 * 512));
        assert_eq!(skipped.count(SkipReason::OtherEvent), 6 - first as u64);
    }
    for (event, kept) in [(BlkparseEvent::Queued, 1.3), (BlkparseEvent::Completed, 1.5)] {
        // Of a trace with two events of other times the first one tells which is taken.
        let text =
            [line("9.0", "block_rq_issue: 259,0 N 0 () 0 + 0 [x]"), events.concat(), line("2.3", "x: y")].concat();
        let marked = text.replace(&kept.to_string(), "7.5");
        let options = OpenOptions { blkparse_event: Some(event), ..usual() };
        assert_eq!(read_text(&marked, &options).1.len(), 1);
    }
}

#[test]
fn trace_cmd_and_perf_write_the_same_events() {
    let text = "cpus=8\n\
                \x20        app x-2000  [001]  1234.100001: block_rq_issue:       8,0 WS 4096 () 8 + 8 [app x]\n\
                \x20  kworker/u16:3 25003 [004] 543348.164811123:   block:block_rq_issue: 259,0 RM 4096 () 2564656 + 8 [kworker/u16:3]\n\
                \x20        app x-2000  [001]  543349.164811123: block_rq_requeue:   259,0 RM () 2564656 + 8 [0]\n\
                \x20  kworker/u16:3 25003 [004] 543349.164811123:   block:block_rq_issue: 259,0 RM 4096 () 2564656 + 8 [kworker/u16:3]\n";
    let (_, requests, skipped) = read_text(text, &usual());
    assert_eq!(requests.len(), 2);
    assert_eq!(requests[1], request(542_114_064_810_123, 259 << 20, Read, 2_564_656 * 512, 4096));
    assert_eq!((skipped.count(SkipReason::Requeued), skipped.count(SkipReason::RecorderLine)), (1, 1));
}

#[test]
fn an_nvme_trim_without_its_ranges_is_counted() {
    let line = |command: &str| {
        format!("a-1 [0] .... 1.5: nvme_setup_cmd: qid=1, nsid=3, cmdid=2, flags=0x0, meta=0x0, cmd=({command})\n")
    };
    let text = [
        line("nvme_cmd_dsm nr=0, attributes=4"),
        line("nvme_admin_identify cns=1, ctrlid=0"),
        line("nvme_cmd_zone_append slba=64, len=0, ctrl=0x0, dsmgmt=0, reftag=0"),
        line("nvme_cmd_flush cdw10=00 00"),
    ];
    let (_, requests, skipped) = read_text(&text.concat(), &usual());
    assert_eq!((of(&requests, Write), of(&requests, Flush).0), ((1, 512), 1));
    assert_eq!((skipped.count(SkipReason::RangeUnknown), skipped.count(SkipReason::OtherCommand)), (1, 1));
    let error = error_of([&text[3], &line("nvme_cmd_read slba=x, len=1")[..]].concat().as_bytes(), None);
    assert!(error.contains("the logical block (slba) is not a whole number: x"), "{error}");
}

#[test]
fn vscsi_as_csv_is_read() {
    let (format, requests, _) = read_case("vscsi-as-csv/vscsi.csv", &usual());
    assert_eq!(format, Format::VscsiCsv);
    assert_eq!((of(&requests, Write), of(&requests, Read)), ((2, 66_048), (1, 6656)));
    assert_eq!(requests[1], request(101_000, 0, Read, 40_409_911 * 512, 6656));
}

#[test]
fn scsi_operations_are_hexadecimal_or_decimal() {
    for (text, writes, reads) in [
        ("1,10,0x2a,512,8\n1,11,0x28,512,8\n", 1, 1),
        ("1,10,42,512,8\n1,11,40,512,8\n1,12,138,512,16\n", 2, 1),
        ("VERSION,TIME,OP,SIZE,LBN\n2,10,8A,512,8\n2,11,88,512,8\n2,12,28,512,8\n", 1, 2),
        ("1,10,28,512,8\n1,11,28,512,16\n", 0, 2),
    ] {
        let (format, requests, _) = read_text(text, &OpenOptions { format: Some(Format::VscsiCsv), ..usual() });
        assert_eq!(
            (format, of(&requests, Write).0, of(&requests, Read).0),
            (Format::VscsiCsv, writes, reads),
            "{text}"
        );
    }
    let error = error_of(b"1,10,2a,512,8\n1,10,2g,512,8\n", None);
    assert!(error.starts_with("t:2: `1,10,2g,512,8`: the operation is 2g where a SCSI code such as 2a"), "{error}");
}

#[test]
fn midas_is_read() {
    let (format, requests, skipped) = read_case("midas-four-columns/trace.txt", &usual());
    assert_eq!(format, Format::Midas);
    assert_eq!((of(&requests, Write), of(&requests, Read)), ((3, 3 * 4096), (1, 8192)));
    assert_eq!((of(&requests, Trim), skipped.total()), ((1, 8192), 0));
    assert_eq!(requests[3], request(78_040, 0, Read, 5 * 4096, 8192));
}

#[test]
fn midas_in_other_shapes_is_read_or_refused() {
    let (_, requests, skipped) = read_text("0.1\t1\t7\t512\r\n0.2\t2\t7\t512\r\n\r\n0.3\t0\t8\t4096\r\n", &usual());
    assert_eq!(requests, [request(0, 0, Write, 7 * 4096, 512), request(200_000_000, 0, Read, 8 * 4096, 4096)]);
    assert_eq!((skipped.count(SkipReason::OtherCommand), skipped.count(SkipReason::BlankLine)), (1, 1));
    let options = OpenOptions { sector_bytes: Some(512), ..usual() };
    assert_eq!(read_text("0 1 8 512\n", &options).1, [request(0, 0, Write, 4096, 512)]);
    let error = error_of(b"0.1 1 0 4096\n0.2 4 0 4096\n", None);
    assert!(error.starts_with("t:2: `0.2 4 0 4096`: the type is 4 where 0, 1 or 3 belongs"), "{error}");
}

#[test]
fn sync_file_range_is_a_hint_and_no_flush() {
    let (format, requests, skipped) = read_case("fio-sync-file-range/sfr.log", &usual());
    assert_eq!(format, Format::FioV3);
    assert_eq!((of(&requests, Write), requests.len()), ((16, 16 * 4096), 16));
    assert_eq!((skipped.count(SkipReason::WriteOutHint), skipped.count(SkipReason::FileAction)), (1, 2));
    assert_eq!(requests[8].time_ns - requests[7].time_ns, 30_000, "the hint takes its time");
}

#[test]
fn names_of_fio_files_may_hold_blanks() {
    let v3 = "fio version 3 iolog\n1 /my disk/a file add\n2 /my disk/a file open\n3 /my disk/a file write 0 4096\n\
              4 /my disk/a file sync 0 0\n5 open read 4096 512\n6 /my disk/a file datasync\n7 /my disk/a file syncfs 0 0\n\
              8 /my disk/a file close\n";
    let (_, requests, skipped) = read_text(v3, &usual());
    assert_eq!(requests[..2], [request(0, 0, Write, 0, 4096), request(1000, 0, Flush, 0, 0)]);
    assert_eq!(
        requests[2..],
        [request(2000, 1, Read, 4096, 512), request(3000, 0, Flush, 0, 0), request(4000, 0, Flush, 0, 0)]
    );
    assert_eq!(skipped.count(SkipReason::FileAction), 3);

    let v2 = "fio version 2 iolog\n/my disk/a add\n/my disk/a wait 150 0\n/my disk/a trim 0 4096\n/my disk/a wait 50\n\
              /my disk/a sync_file_range 0 0\n/my disk/a read 0 512\n";
    let (_, requests, skipped) = read_text(v2, &usual());
    assert_eq!(requests, [request(0, 0, Trim, 0, 4096), request(50_000, 0, Read, 0, 512)]);
    assert_eq!(skipped.count(SkipReason::WriteOutHint), 1);
}

#[test]
fn what_is_no_fio_action_is_named() {
    let of = |line: &str| error_of(format!("fio version 3 iolog\n1 a write 0 512\n{line}\n").as_bytes(), None);
    assert!(
        of("2 a b erase 0 512").starts_with("t:3: the action is erase; add, open, close,"),
        "{}",
        of("2 a b erase 0 512")
    );
    assert!(of("2 a write 512").starts_with("t:3: write needs an offset and a length"), "{}", of("2 a write 512"));
    assert!(of("2 a").starts_with("t:3: `2 a`: 2 columns where at least 3 belong"), "{}", of("2 a"));
    assert!(of("2 add").starts_with("t:3: `2 add`: 2 columns"), "{}", of("2 add"));
}

#[test]
fn biosnoop_is_read_with_its_optional_columns() {
    let text = "TIME(s)     COMM           PID    DISK    T SECTOR     BYTES  QUE(ms) LAT(ms)\n\
                0.000000    kworker/u72:1  13379  nvme1n1 W 1142400    4096      0.01    0.55\n\
                0.000771    my sync        22177  nvme0n1 R 41963894   3072      0.11    0.47\n\
                Possibly lost 3 samples\n";
    let (format, requests, skipped) = read_text(text, &usual());
    assert_eq!(format, Format::BioSnoop);
    assert_eq!(
        requests,
        [request(0, 0, Write, 1_142_400 * 512, 4096), request(771_000, 1, Read, 41_963_894 * 512, 3072)]
    );
    assert_eq!(skipped.count(SkipReason::RecorderLine), 1);
    assert!(Format::BioSnoop.caveat().unwrap().contains("completions"));

    // The tool in C prints the kernel's letters, with -P the one in Python a pattern.
    let text = "0.1 a 7 sda WS 8 4096 0.740\n0.2 b 7 sda FF -1 0 -1.000 0.1\n0.3 b 7 sda D 16 1048576 12\n0.4 0 7 sda R 8 512 Random 0.2\n";
    let (_, requests, _) = read_text(text, &usual());
    assert_eq!(requests.iter().map(|request| request.op).collect::<Vec<_>>(), [Write, Flush, Trim, Read]);
}

#[test]
fn bpftraces_biosnoop_has_nothing_to_read() {
    for text in [
        "TIME(ms)     DISK    COMM             PID    LAT(ms)\n611 nvme0n1 bash 4179 10\n",
        "TIME(ms) COMM PID LAT(ms)\n",
    ] {
        let error = error_of(text.as_bytes(), None);
        assert_eq!(
            error,
            "t: bpftrace's biosnoop prints no addresses and no sizes; the output of bcc's biosnoop would be right"
        );
    }
}

#[test]
fn windows_disk_events_are_found_without_a_header_and_by_its_columns() {
    let plain = "DiskRead, 2664955, p1 ( 980), 6852, 0xfffffade6b0a2010, 0x6c80556e00, 0x00010000, 183, 3, 0x000043, 183, 0, Unknown, 0xff, f\n\
                 FileIoRead, 2664956, p1 ( 980), 6852, 1, 0x1, 0x2, 0x3\n\
                 DiskWrite, 2664957, p, q ( 980), 6852, 0xf\n";
    let error = error_of(plain.as_bytes(), None);
    assert!(error.contains("t:3: ") && error.contains("columns where at least 9 belong"), "{error}");
    let commas = "DiskWrite, 100, p, q (9), r ( 980), 6852, 0xf, 0x1000, 0x2000, 5, 2, 0x0, 5, 0, Unknown, 0xff, a (1)\n\
                  DiskFlush, 200, p, q ( -1), 6852, 0xf, 5, 4\nDiskRead, 300, System, 4, 0xf, 0x200, 0x400, 5, 1, a (1)\n";
    let (_, requests, _) = read_text(&format!("BeginHeader\nEndHeader\n{commas}"), &usual());
    assert_eq!(requests[0], request(0, 2, Write, 0x1000, 0x2000), "commas in the name of a process");
    assert_eq!(requests[1], request(100_000, 4, Flush, 0, 0));
    assert_eq!(requests[2], request(200_000, 1, Read, 0x200, 0x400), "a name without a number, and one of a file with");
    let (format, requests, skipped) = read_text(&plain[..plain.find("DiskWrite").unwrap()], &usual());
    assert_eq!((format, &requests[..]), (Format::Etw, &[request(0, 3, Read, 0x6c_8055_6e00, 65536)][..]));
    assert_eq!(skipped.count(SkipReason::OtherEvent), 1);

    let moved = "BeginHeader\nDiskWrite, TimeStamp, Process Name ( PID), ThreadID, CPU, IrpPtr, ByteOffset, IOSize, ElapsedTime, DiskNum\n\
                 EndHeader\nDiskWrite, 1, a (1), 2, 0, 0xf, 0x1000, 0x200, 9, 5\nDiskWrite, 3, a (1), 2, 0, 0xf, 8192, 512, 9, 5\n";
    let (_, requests, _) = read_text(moved, &usual());
    assert_eq!(requests, [request(0, 5, Write, 4096, 512), request(2000, 5, Write, 8192, 512)]);
}

#[test]
fn sectors_of_4_kib_and_other_units_of_time_are_said_by_options() {
    let options = OpenOptions { sector_bytes: Some(4096), ..usual() };
    let (format, requests, _) = read_case("sector-4k-and-time-units/lba4k.txt", &options);
    assert_eq!((format, of(&requests, Write)), (Format::DiskSim, (20, 20 * 4096)));
    assert_eq!(requests[1], request(1000, 0, Write, 7 * 4096, 4096));

    let read_in = |unit: &str| {
        let options = OpenOptions { time_unit: Some(unit.parse().unwrap()), ..usual() };
        read_case("sector-4k-and-time-units/filetime-ticks.txt", &options).1.last().unwrap().time_ns
    };
    assert_eq!((read_in("filetime"), read_in("100ns")), (197_454_600, 197_454_600));
    assert_eq!((read_in("ns"), read_in("ps")), (1_974_546, 1_974));
}

#[test]
fn a_size_of_a_sector_counts_for_every_format_that_has_sectors_and_is_refused_for_others() {
    for sample in crate::samples::all() {
        let open = |bytes| {
            let options = OpenOptions { format: Some(sample.format), sector_bytes: Some(bytes), ..usual() };
            reader_from(Cursor::new(sample.bytes.clone()), "t", &options)
        };
        if !sample.format.has_sectors() {
            let error = open(512).unwrap_err().to_string();
            let right = if sample.format == Format::Columns {
                "--columns states the units of addresses and sizes, such as lba:4096 or size:4KiB, so --sector says nothing"
                    .to_owned()
            } else {
                format!("{} has addresses and sizes in bytes, so a size of a sector says nothing", sample.format)
            };
            assert_eq!(error, right);
            continue;
        }
        if sample.format == Format::BioTracer {
            // Its two sizes would contradict each other.
            continue;
        }
        let offsets = |bytes| open(bytes).unwrap().map(|request| request.unwrap().offset_bytes).max().unwrap();
        assert_eq!(offsets(2048), 2 * offsets(1024), "{}", sample.format);
        for bad in [0, 3, 4097, 1 << 21] {
            let error = open(bad).unwrap_err().to_string();
            assert!(error.contains("a power of two up to 1048576 would be right"), "{error}");
        }
    }
}

#[test]
fn msr_without_response_times_is_read() {
    let (format, requests, _) = read_case("quoted-csv/msr_6col.csv", &usual());
    assert_eq!(format, Format::Msr);
    assert_eq!((of(&requests, Write), of(&requests, Read)), ((3, 12_800), (2, 5120)));
}

#[test]
fn oracle_general_is_found_only_where_its_next_accesses_are_right() {
    let record = crate::samples::oracle_record;
    let found = |records: &[Vec<u8>]| {
        let trace = reader_from(Cursor::new(records.concat()), "t", &usual());
        trace.is_ok_and(|trace| trace.format() == Format::OracleGeneral)
    };
    assert!(found(&[record(1, 7, 512, 2), record(1, 9, 512, -1), record(1, 7, 512, -1)]), "places from 0");
    assert!(found(&[record(1, 7, 512, 3), record(1, 9, 512, -1), record(1, 7, 512, -1)]), "places from 1");
    assert!(found(&[record(1, 7, 512, -1), record(1, 9, 512, i64::MAX)]), "no object twice");
    assert!(!found(&[record(1, 7, 512, 1), record(1, 9, 512, -1), record(1, 7, 512, -1)]), "another object");
    assert!(!found(&[record(2, 7, 512, 2), record(1, 9, 512, -1), record(3, 7, 512, -1)]), "back in time");
    assert!(!found(&[record(1, 7, 512, 0), record(1, 7, 512, 0)]), "a next access that precedes");
    assert!(!found(&[record(1, 7, 1 << 31, -1)]), "a size that no block has");
    assert!(!found(&[vec![0; 2400]]), "zeros");
    assert!(Format::OracleGeneral.caveat().unwrap().contains("every request is taken for a read"));
}

#[test]
fn oracle_general_of_hashed_objects_is_refused() {
    let record = crate::samples::oracle_record;
    let bytes = [record(1, u64::MAX / 3, 512, 2), record(1, 9, 512, -1), record(1, u64::MAX / 3, 512, -1)].concat();
    let error = error_of(&bytes, None);
    assert!(error.contains("2 absurd addresses or sizes outnumber 1 usable requests"), "{error}");
}

#[test]
fn flags_over_1_are_counted() {
    let (format, requests, skipped) = read_case("disksim-flag-2/mqsim.trace", &usual());
    assert_eq!((format, of(&requests, Write).0, of(&requests, Read).0, skipped.total()), (Format::DiskSim, 3, 1, 0));
    let notes = |text: &str| {
        let mut trace = reader_from(Cursor::new(text.as_bytes().to_vec()), "t", &usual()).unwrap();
        assert!(trace.by_ref().all(|request| request.is_ok()));
        trace.notes()
    };
    let text = std::fs::read_to_string(case("disksim-flag-2/mqsim.trace")).unwrap();
    assert_eq!(notes(&text), [(Note::FlagOverOne, 2)]);
    assert_eq!(notes("1.5 0 9 8 3\n2.5 0 9 8 16\n3.5 0 9 8 1\n"), [(Note::FlagOverOne, 2)]);
    assert_eq!(notes("1.5 0 9 8 0\n2.5 0 9 8 1\n"), []);
    assert_eq!(notes("8,0 1 3 0.3 7 C W 16 + 8 [0]\n8,0 1 3 0.3 7 C W 24 + 8 [0]\n"), [(Note::Completion, 2)]);
    assert_eq!(
        Note::FlagOverOne.to_string(),
        "requests with a flag over 1, odd ones taken for reads, even ones for writes"
    );
}

#[test]
fn column_names_of_cloud_traces_are_no_records() {
    for (text, format) in [
        ("device_id,opcode,offset,length,timestamp\n3,W,0,4096,1577808000000001\n", Format::Alibaba),
        ("Timestamp,Offset,Size,IOType,VolumeID\n1538323200,6338688,8,1,1627\n", Format::Tencent),
    ] {
        let twice = text.repeat(2);
        let (found, requests, skipped) = read_text(&twice, &usual());
        assert_eq!((found, requests.len(), skipped.total()), (format, 2, 0), "{twice}");
    }
}

#[test]
fn spdk_of_old_versions_has_no_ranges() {
    let text = "76:  36995.652 b00 BDEV_IO_START       type:  2      id:    i23\n76:  36995.700 b00 BDEV_IO_START  type: 5 id: i24\n\
                76:  36996.652 b00 BDEV_IO_START       type:  13 offset: 8 len: 8\n";
    let (format, requests, skipped) = read_text(text, &usual());
    assert_eq!((format, &requests[..]), (Format::Spdk, &[request(0, 0, Write, 4096, 4096)][..]));
    assert_eq!((skipped.count(SkipReason::RangeUnknown), skipped.count(SkipReason::OtherCommand)), (1, 1));
    let error = error_of(format!("{text}76: 36997 b00 BDEV_IO_START type: x\n").as_bytes(), None);
    assert!(error.contains("t:4: ") && error.contains("the type is not a whole number: x"), "{error}");
}

#[test]
fn an_nvme_target_has_the_same_commands() {
    let text = "kworker/0:1H-1056  [000] ....    65.454270: nvmet_req_init: nvmet1: disk=/dev/sda, qid=1, cmdid=0, nsid=1, \
                flags=0x40, meta=0x0, cmd=(nvme_cmd_write, slba=8, len=7, ctrl=0x0, dsmgmt=0, reftag=0)\n\
                kworker/0:1H-1056  [000] ....    65.454271: nvmet_req_complete: nvmet1: qid=1, cmdid=0, res=0xff\n";
    let (format, requests, _) = read_text(text, &usual());
    assert_eq!((format, &requests[..]), (Format::Ftrace, &[request(0, 0, Write, 4096, 4096)][..]));
}
