//! Several files as one trace, and what is said of each.

use std::path::PathBuf;

use crate::samples::{blktrace_record, says, says_not};
use phelsuma_trace::{BlkparseEvent, Filters, InputReport, Note, Op, OpenOptions, Request, SkipReason, TraceFile};

/// A folder with these files.
struct Files(tempfile::TempDir);

impl Files {
    fn new(files: &[(&str, &[u8])]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (file, content) in files {
            std::fs::write(folder.path().join(file), content).unwrap();
        }
        Files(folder)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn read(&self, names: &[&str], options: &OpenOptions) -> (Vec<Request>, InputReport) {
        let paths: Vec<PathBuf> = names.iter().map(|name| self.path(name)).collect();
        let mut trace = TraceFile::open_all(&paths, options).unwrap();
        let requests = trace.by_ref().map(|request| request.unwrap()).collect();
        (requests, trace.report())
    }

    fn merged(&self, names: &[&str]) -> (Vec<Request>, InputReport) {
        self.read(names, &OpenOptions::default())
    }
}

fn devices(requests: &[Request]) -> Vec<u32> {
    requests.iter().map(|request| request.device).collect()
}

#[test]
fn drives_of_different_names_are_different_in_all_files() {
    let files = Files::new(&[
        ("prxy_0.csv", b"128166372000000000,prxy,0,Write,0,4096,1\n"),
        ("usr_0.csv", b"128166372000000001,usr,0,Write,0,4096,1\n128166372000000002,prxy,1,Read,0,4096,1\n"),
        ("a.log", b"fio version 3 iolog\n1 /dev/sda add\n2 /dev/sda write 0 4096\n"),
        ("b.log", b"fio version 3 iolog\n1 /dev/sdb add\n3 /dev/sdb write 0 4096\n4 /dev/sda write 0 4096\n"),
        ("a.bio", b"TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)\n0.1 a 1 sda W 8 4096 0.7\n"),
        ("b.bio", b"TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)\n0.2 a 1 sdb W 8 4096 0.7\n"),
        (
            "a.ft",
            b" a-1 [000] ..... 1.0: nvme_setup_cmd: nvme0: disk=nvme0n1, qid=1, cmd=(nvme_cmd_read slba=8, len=7)\n",
        ),
        (
            "b.ft",
            b" a-1 [000] ..... 2.0: nvme_setup_cmd: nvme1: disk=nvme1n1, qid=1, cmd=(nvme_cmd_read slba=8, len=7)\n",
        ),
        ("a.cols", b"time_s,disk,op,offset_bytes,size_bytes\n1,sda,W,0,4096\n"),
        ("b.cols", b"time_s,disk,op,offset_bytes,size_bytes\n2,sdb,W,0,4096\n"),
        ("a.spdk", b"0: 1.0 b00 BDEV_IO_START id: i4 type: 2 ctx: 0x7 offset:120 len: 2\n"),
        ("b.spdk", b"0: 2.0 b01 BDEV_IO_START id: i4 type: 2 ctx: 0x7 offset:120 len: 2\n"),
    ]);
    let (requests, report) = files.merged(&["prxy_0.csv", "usr_0.csv"]);
    assert_eq!((devices(&requests), report.devices), (vec![0, 65_536, 1], 3));
    assert_eq!(report.warnings, [""; 0]);
    let (requests, _) = files.merged(&["a.log", "b.log"]);
    assert_eq!(devices(&requests), [0, 1, 0]);
    for kind in ["bio", "ft", "cols", "spdk"] {
        let (requests, report) = files.merged(&[&format!("a.{kind}"), &format!("b.{kind}")]);
        assert_eq!((devices(&requests), report.devices, report.shared_devices), (vec![0, 1], 2, 0), "{kind}");
    }
    let (requests, _) = files.merged(&["usr_0.csv"]);
    assert_eq!(devices(&requests), [0, 65_537], "a trace of one file is numbered by itself");
}

const ISSUED: &[u8] = b"8,0 0 1 0.1 10 Q W 0 + 8 [x]\n8,0 0 2 0.2 10 D W 0 + 8 [x]\n8,0 0 3 0.3 10 C W 0 + 8 [0]\n";
const COMPLETED: &[u8] = b"9,0 0 1 0.5 10 C W 0 + 8 [0]\n9,0 0 2 0.6 10 C W 8 + 8 [0]\n";

#[test]
fn each_recording_has_its_own_event() {
    let joined = [ISSUED, COMPLETED].concat();
    let files = Files::new(&[("sda.txt", ISSUED), ("md0.txt", COMPLETED), ("joined.txt", &joined)]);
    let (requests, report) = files.merged(&["sda.txt", "md0.txt"]);
    assert_eq!(devices(&requests), [8 << 20, 9 << 20, 9 << 20]);
    says(&report, "requests known by their completions, whose times they have: 2");
    says_not(&report, "--event");
    // In one file one event stands for requests, so what is left out is said.
    let (requests, report) = files.merged(&["joined.txt"]);
    assert_eq!(devices(&requests), [8 << 20]);
    says(&report, "devices with other events and without a request: 1, events of these: 2; --event takes another");
    let queued = OpenOptions { blkparse_event: Some(BlkparseEvent::Queued), ..OpenOptions::default() };
    let (_, report) = files.read(&["joined.txt"], &queued);
    says(&report, "without a request: 1, events of these: 2;");
    let (_, report) = files.merged(&["sda.txt"]);
    assert_eq!(report.warnings, [""; 0]);
    let first = OpenOptions { filters: Filters { first: Some(1), ..Filters::default() }, ..OpenOptions::default() };
    let queue_first = b"9,0 0 1 0.1 10 Q W 0 + 8 [x]\n8,0 0 2 0.2 10 D W 0 + 8 [x]\n9,0 0 3 0.3 10 D W 0 + 8 [x]\n";
    let files = Files::new(&[("two.txt", queue_first)]);
    says_not(&files.read(&["two.txt"], &first).1, "--event");
    says_not(&files.merged(&["two.txt"]).1, "--event");
}

/// A record of blktrace's version 7.
fn blktrace(time_ns: u64, sector: u64, bytes: u32, action: u32, device: u32) -> Vec<u8> {
    let mut record = Vec::new();
    record.extend(0x6561_7407_u32.to_le_bytes());
    record.extend(0_u32.to_le_bytes());
    record.extend(time_ns.to_le_bytes());
    record.extend(sector.to_le_bytes());
    record.extend(bytes.to_le_bytes());
    record.extend(action.to_le_bytes());
    record.extend(1_u32.to_le_bytes());
    record.extend(device.to_le_bytes());
    record.extend([0; 8]);
    record
}

const WRITE: u32 = 2 << 16;
const FLUSH: u32 = 4 << 16;
const ISSUE: u32 = 7;
const REQUEUE: u32 = 6;
const COMPLETE: u32 = 8;
const SDA: u32 = 8 << 20;
const MD0: u32 = 9 << 20;

#[test]
fn files_of_one_recording_share_the_event() {
    let issued = blktrace(1, 0, 4096, WRITE | ISSUE, SDA);
    let completed = blktrace(2, 0, 4096, WRITE | COMPLETE, SDA);
    let other = blktrace(5, 0, 4096, WRITE | COMPLETE, MD0);
    let files = Files::new(&[
        ("a.blktrace.0", &issued),
        ("a.blktrace.1", &completed),
        ("a.blktrace.2", b""),
        ("b.blktrace.0", &other),
        ("cpu0", &issued),
        ("cpu1", &completed),
    ]);
    for names in [&["a.blktrace.0", "a.blktrace.1", "a.blktrace.2"][..], &["a"], &["cpu1", "cpu0"]] {
        let (requests, report) = files.merged(names);
        assert_eq!((requests.len(), report.files.len(), report.shared_devices), (1, 2, 0), "{names:?}");
        assert_eq!(report.warnings, [""; 0], "{names:?}");
    }
    assert_eq!(devices(&files.merged(&["a", "b"]).0), [SDA, MD0]);
    let joined = [issued, completed, other].concat();
    let files = Files::new(&[("all", &joined)]);
    says(&files.merged(&["all"]).1, "without a request: 1, events of these: 1;");
}

#[test]
fn a_flush_that_is_put_back_is_one_flush() {
    let flush = |time, event| blktrace(time, u64::MAX, 0, FLUSH | event, SDA);
    let twice = [flush(1, ISSUE), flush(2, REQUEUE), flush(3, ISSUE), flush(4, COMPLETE), flush(5, ISSUE)].concat();
    let text = "8,0 0 1 0.0 10 D FF 18446744073709551615 + 0 [x]\n8,0 0 2 0.1 10 R FF 18446744073709551615 + 0 [0]\n\
                8,0 0 3 0.2 10 D FF 18446744073709551615 + 0 [x]\n8,0 0 4 0.3 10 C FF 0 [0]\n8,0 0 5 0.4 10 D FN [x]\n\
                8,0 0 6 0.5 10 R FN [x]\n8,0 0 7 0.6 10 D FN [x]\n8,0 0 8 0.7 10 D FWFSM 8 + 8 [x]\n\
                8,0 0 9 0.8 10 C FWFSM 8 + 8 [x]\n8,0 0 9 0.8 10 D FN [x]\n";
    let ftrace = " a-1 [0] ..... 1.0: block_rq_issue: 8,0 FF 0 () 18446744073709551615 + 0 [a]\n\
                  a-1 [0] ..... 1.1: block_rq_requeue: 8,0 FF () 18446744073709551615 + 0 [0]\n\
                  a-1 [0] ..... 1.2: block_rq_issue: 8,0 FF 0 () 18446744073709551615 + 0 [a]\n\
                  a-1 [0] ..... 1.3: block_rq_complete: 8,0 FF () 18446744073709551615 + 0 [0]\n";
    let files = Files::new(&[("binary", &twice), ("text", text.as_bytes()), ("ftrace", ftrace.as_bytes())]);
    let of = |name| {
        let (requests, report) = files.merged(&[name]);
        let flushes = requests.iter().filter(|request| request.op == Op::Flush).count();
        (requests.len(), flushes, report.left_out.count(SkipReason::Requeued))
    };
    assert_eq!(of("binary"), (2, 2, 1));
    // The halves of a write with a flush before and after it are flushes of their own.
    assert_eq!(of("text"), (4, 3, 2));
    assert_eq!(of("ftrace"), (1, 1, 1));
}

#[test]
fn each_file_is_doubted_by_itself() {
    let long = b"0 0 8 8 0\n9000000000000000 0 16 8 0\n";
    let bytes = b"0 0 4096 4096 0\n1 0 8192 4096 0\n2 0 4194304 4096 1\n";
    let files = Files::new(&[("long.txt", long), ("bytes.txt", bytes), ("sda.txt", ISSUED)]);
    let (_, report) = files.merged(&["bytes.txt", "sda.txt", "long.txt"]);
    says(&report, "bytes.txt: each address and each size is a multiple of 512");
    says(&report, "long.txt: with times in ns the trace lasts 104 days");
    assert_eq!(report.shared_devices, 1, "device 0 of two files is one, which is said");
}

#[test]
fn files_that_do_not_belong_together_are_said() {
    let msr: &[u8] =
        b"128166372003061629,hm,0,Write,7014912,4096,26\n128166372016382155,hm,0,Read,1074696192,4096,113\n";
    let files = Files::new(&[("hm_0.csv", msr), ("sda.txt", ISSUED), ("md0.txt", COMPLETED)]);
    let (_, report) = files.merged(&["hm_0.csv", "sda.txt", "md0.txt"]);
    says(&report, "hm_0.csv begins 148340 days after ");
    says(&report, "md0.txt ends: their times have different beginnings");
    says_not(&files.merged(&["sda.txt", "md0.txt"]).1, "beginnings");
    let (requests, report) = files.merged(&["hm_0.csv", "./hm_0.csv"]);
    assert_eq!(requests.len(), 4);
    says(&report, "the file is named twice");
    says_not(&files.merged(&["sda.txt", "md0.txt"]).1, "twice");
}

#[test]
fn what_is_said_of_files_does_not_depend_on_filters() {
    let one = b"time_s,device,op,offset,size\n1,0,W,0,4096\n2,0,W,4096,4096\n9000000,0,R,0,4096\n";
    let other = b"time_s,device,op,offset,size\n1700000001,1,W,0,4096\n1700000002,1,W,4096,4096\n";
    let guessed = b"time,device,op,lba,size\n1,0,W,0,8\n2,1,W,8,8\n9000000,1,W,8,8\n";
    let back = b"time_s,device,op,offset,size\n1,0,W,0,4096\n3,0,W,0,4096\n2,0,R,4096,4096\n";
    let files = Files::new(&[("one.csv", one), ("other.csv", other), ("guessed.csv", guessed), ("back.csv", back)]);
    let filters = || {
        let all = Filters::default;
        [
            all(),
            Filters { first: Some(1), ..all() },
            Filters { span_ns: Some(0..1_000_000_000), ..all() },
            Filters { devices: vec![0], ..all() },
            Filters { addresses: Some(0..512), ..all() },
            Filters { shift_bytes: 512, ..all() },
        ]
    };
    for filters in filters() {
        for sort in [false, true] {
            let options = OpenOptions { filters: filters.clone(), sort, ..OpenOptions::default() };
            let (_, report) = files.read(&["one.csv", "other.csv"], &options);
            says(&report, "other.csv begins 19");
            says(&report, "one.csv ends: their times have different beginnings");
            let whole = filters.first.is_none() && filters.addresses.is_none();
            let (_, report) = files.read(&["back.csv"], &options);
            assert_eq!(report.back_in_time > 0, whole, "{filters:?}");
            if filters.first.is_none() {
                let (_, report) = files.read(&["guessed.csv"], &options);
                says(&report, "the trace lasts 104 days");
                says(&report, "sizes are taken for bytes, as the heading names no unit");
            }
        }
    }
    let line = |n: u64| format!("{n},{n},W,{},4096\n", n * 4096);
    let many = (0..40).map(line).fold("time_us,device,op,offset,size\n".to_owned(), |text, line| text + &line);
    let files = Files::new(&[("many.csv", many.as_bytes())]);
    let options = OpenOptions { filters: Filters { devices: vec![7], ..Filters::default() }, ..OpenOptions::default() };
    let (requests, report) = files.read(&["many.csv"], &options);
    assert_eq!((requests.len(), report.devices), (1, 1));
    says(&report, "there are as many devices as requests, 40");
}

#[test]
fn a_clock_that_goes_back_is_said_wherever_a_span_begins() {
    let heading = "time_us,device,op,offset_bytes,size_bytes\n";
    let back = format!("{heading}5000000,0,write,0,4096\n1000,0,write,4096,4096\n2000,0,write,8192,4096\n");
    let sound = format!("{heading}0,0,write,0,4096\n3000,0,write,4096,4096\n6000000,0,write,4096,4096\n");
    // Of the first device alone the clock does not go back.
    let apart =
        format!("{heading}9000,1,write,0,4096\n1000,0,write,4096,4096\n2000,0,write,8192,4096\n10000,0,write,0,4096\n");
    let files = Files::new(&[("back", back.as_bytes()), ("sound", sound.as_bytes()), ("apart", apart.as_bytes())]);
    let read = |names: &[&str], filters| files.read(names, &OpenOptions { filters, ..OpenOptions::default() }).1;
    let span = || Filters { span_ns: Some(0..2_000_000_000), ..Filters::default() };
    for names in [&["back"][..], &["back", "sound"], &["sound", "back"]] {
        for filters in [
            Filters::default(),
            span(),
            Filters { devices: vec![0], ..Filters::default() },
            Filters { devices: vec![0], ..span() },
            Filters { shift_bytes: 512, ..Filters::default() },
            Filters { addresses: Some(0..4096), ..span() },
        ] {
            let report = read(names, filters);
            assert_eq!(report.back_in_time, 1, "{names:?}");
            says(&report, "requests earlier than the one before them: 1; --sort orders them");
        }
    }
    let of_one = |filters| read(&["apart"], Filters { devices: vec![0], ..filters });
    assert_eq!(of_one(Filters::default()).warnings, [""; 0]);
    says(&of_one(span()), "requests earlier than the one before them: 1");
    assert_eq!(read(&["sound"], span()).warnings, [""; 0]);
}

#[test]
fn what_a_recorder_lost_is_counted_over_all_files() {
    let issue = |time: u32| format!(" a-1 [000] ..... {time}.0: block_rq_issue: 8,0 W 4096 () {} + 8 [a]\n", time * 8);
    let ftrace = format!("{}CPU:0 [LOST 123456 EVENTS]\nCPU:1 [LOST EVENTS]\n{}", issue(1), issue(2));
    let bio = "TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)\n0.1 a 1 sda W 8 4096 0.7\nPossibly lost 120 samples\n";
    let files = Files::new(&[("ftrace", ftrace.as_bytes()), ("bio", bio.as_bytes())]);
    says(&files.merged(&["ftrace"]).1, "events that the recorder lost: 123457");
    says(&files.merged(&["bio"]).1, "events that the recorder lost: 120");
    says(&files.merged(&["bio", "ftrace"]).1, "events that the recorder lost: 123577");
    let mut trace = TraceFile::open(files.path("ftrace"), &OpenOptions::default()).unwrap();
    assert_eq!(trace.by_ref().count(), 2);
    assert_eq!(trace.notes(), [(Note::Lost, 123_457)]);
    let strict = OpenOptions { strict: true, ..OpenOptions::default() };
    let last = TraceFile::open(files.path("bio"), &strict).unwrap().last().unwrap();
    assert!(last.unwrap_err().to_string().contains("--strict takes no warning"));
}

#[test]
fn a_span_has_no_request_from_before_it() {
    let text = b"time_us,device,op,offset_bytes,size_bytes\n10000000,0,write,0,4096\n0,0,write,4096,4096\n\
                 5000000,1,write,8192,4096\n10500000,0,write,12288,4096\n";
    let files = Files::new(&[("t.csv", text)]);
    let span = |start: u64, end: u64, sort| {
        let span_ns = Some(start * 1_000_000_000..end * 1_000_000_000);
        let filters = Filters { span_ns, ..Filters::default() };
        let (requests, report) = files.read(&["t.csv"], &OpenOptions { filters, sort, ..OpenOptions::default() });
        let pages: Vec<u64> = requests.iter().map(|request| request.offset_bytes / 4096).collect();
        (pages, report)
    };
    let (pages, report) = span(0, 1, false);
    assert_eq!((pages, report.back_in_time), (vec![0, 3], 1));
    says(&report, "requests earlier than the one before them: 1; --sort orders them");
    // In order of time it begins at the earliest request, and everything said is of the span.
    let (pages, report) = span(0, 6, true);
    assert_eq!(pages, [1, 2]);
    assert_eq!((report.requests, report.devices, report.duration_ns), (2, 2, 5_000_000_000));
    assert_eq!((report.back_in_time, report.left_out.count(SkipReason::Filtered)), (1, 2));
    assert_eq!(span(6, 11, true).0, [0, 3]);
    let filters = Filters { span_ns: Some(4_000_000_000..u64::MAX), first: Some(1), ..Filters::default() };
    let options = OpenOptions { filters, sort: true, ..OpenOptions::default() };
    let (requests, _) = files.read(&["t.csv"], &options);
    assert_eq!(requests.iter().map(|request| request.offset_bytes / 4096).collect::<Vec<_>>(), [2]);
}

#[test]
fn compressed_files_of_a_recording_are_found_by_its_name() {
    // gzip of nothing but stored bytes would do; any content tells which file it is.
    let issued = blktrace(1, 0, 4096, WRITE | ISSUE, SDA);
    let mut packed = Vec::new();
    let mut out = phelsuma_trace::Compressed::new(&mut packed, phelsuma_trace::Compression::Gzip).unwrap();
    std::io::Write::write_all(&mut out, &issued).unwrap();
    out.finish().unwrap();
    let files = Files::new(&[("a.blktrace.0.gz", &packed), ("a.blktrace.1.gz", &packed)]);
    assert_eq!(files.merged(&["a"]).0.len(), 2);
    says(&files.merged(&["a.blktrace.0.gz"]).1, "1 more files of the same recording");
}

#[test]
fn what_one_cpu_issues_another_may_put_back_and_complete() {
    const ISSUED: u32 = 7 | 1 << 22;
    const REQUEUED: u32 = 6 | 1 << 21;
    const COMPLETED: u32 = 8 | 1 << 23;
    let record = |event, time, sector| blktrace_record(false, 2 << 16 | event, time, sector, 4096, &[]);
    let issues = [record(ISSUED, 10, 8), record(ISSUED, 30, 8), record(ISSUED, 50, 8), record(ISSUED, 60, 64)].concat();
    let ends = [record(REQUEUED, 20, 8), record(COMPLETED, 40, 8), record(COMPLETED, 70, 8), record(COMPLETED, 80, 64)];
    let ends = ends.concat();
    let files = Files::new(&[("disk.blktrace.0", &ends), ("disk.blktrace.1", &issues), ("disk.blktrace.2", &[])]);
    let (requests, report) = files.merged(&["disk"]);
    assert_eq!(requests.iter().map(|request| request.time_ns).collect::<Vec<_>>(), [10, 50, 60]);
    assert_eq!((report.left_out.count(SkipReason::Requeued), report.left_out.count(SkipReason::OtherEvent)), (1, 4));
    let completed = OpenOptions { blkparse_event: Some(BlkparseEvent::Completed), ..OpenOptions::default() };
    let (requests, _) = files.read(&["disk"], &completed);
    assert_eq!(requests.iter().map(|request| request.time_ns).collect::<Vec<_>>(), [40, 70, 80]);
}
