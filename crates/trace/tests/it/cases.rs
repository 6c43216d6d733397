//! Small files as other people have them. Each stands for a kind, which two more files of another shape show.

use std::io::Cursor;
use std::path::PathBuf;

use phelsuma_trace::{
    ColumnSpec, END_BYTES_MAX, Filters, Format, InputReport, Op, OpenOptions, Request, TimeUnit, TraceFile, reader_from,
};

use crate::samples::since_earliest;

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/cases").join(name)
}

/// What is in a trace: its requests since the earliest, and what is said of it.
fn of(mut trace: TraceFile) -> (Vec<Request>, InputReport) {
    let requests = trace.by_ref().map(|request| request.unwrap()).collect();
    (since_earliest(requests), trace.report())
}

fn read_with(name: &str, options: &OpenOptions) -> (Vec<Request>, InputReport) {
    of(TraceFile::open(path(name), options).unwrap())
}

fn read(name: &str) -> (Vec<Request>, InputReport) {
    read_with(name, &OpenOptions::default())
}

fn text_as(text: impl Into<Vec<u8>>, format: Option<Format>) -> (Vec<Request>, InputReport) {
    let options = OpenOptions { format, ..OpenOptions::default() };
    of(reader_from(Cursor::new(text.into()), "t", &options).unwrap())
}

fn text(text: impl Into<Vec<u8>>) -> (Vec<Request>, InputReport) {
    text_as(text, None)
}

/// Requests and bytes of one kind.
fn sum(requests: &[Request], op: Op) -> (usize, u64) {
    let of_op = || requests.iter().filter(|request| request.op == op);
    (of_op().count(), of_op().map(|request| request.size_bytes).sum())
}

fn says(report: &InputReport, what: &str) -> bool {
    report.warnings.iter().any(|warning| warning.contains(what))
}

const MSR: &str = "128166372003061629,hm,0,Write,7014912,4096,26\n128166372016382155,hm,0,Read,1074696192,4096,113\n";

#[test]
fn a_byte_order_mark_costs_no_record() {
    let (requests, report) = read("bom-first-record/msr_bom.csv");
    assert_eq!((requests.len(), report.records), (5, 5));
    assert_eq!(sum(&requests, Op::Write), (3, 12_800));
    assert_eq!(report.duration_ns, 4_332_052_600);
    assert_eq!(report.warnings, [""; 0]);
    let utf16 = |text: &str| -> Vec<u8> {
        [0xfeff].into_iter().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect()
    };
    assert_eq!(text(utf16(MSR)).0, text(MSR).0);
    let own = "\u{feff}time_us,device,op,offset_bytes,size_bytes\r\n0,0,write,0,512\r\n";
    assert_eq!(text(own).0.len(), 1);
}

#[test]
fn columns_after_the_last_are_passed_over_and_counted() {
    let (requests, report) = read("disksim-extra-columns/six.ascii");
    assert_eq!((requests.len(), report.files[0].format), (4, Format::DiskSim));
    assert!(says(&report, "passed over in 4 records"), "{report:?}");
    let (requests, report) = text(MSR.replace(",26", ",26,x,y"));
    assert_eq!((requests.len(), report.files[0].format), (2, Format::Msr));
    assert!(says(&report, "passed over in 1 records"), "{report:?}");
    let nine = "7 0 8 8 1 a b c d\n8 0 16 8 1 a b c d\n";
    assert_eq!(text_as(nine, Some(Format::DiskSim)).0.len(), 2);
    let guess = reader_from(Cursor::new(nine), "t", &OpenOptions::default());
    assert!(guess.is_err(), "four columns more are too many for a guess");
}

#[test]
fn bytes_that_are_taken_for_sectors_are_doubted() {
    let (_, report) = read("five-columns-in-bytes/whole-ms.txt");
    assert!(says(&report, "each address and each size is a multiple of 512"), "{report:?}");
    assert!(says(&report, "--format replayer"), "{report:?}");
    let replayer = OpenOptions { format: Some(Format::Replayer), ..OpenOptions::default() };
    let (requests, _) = read_with("five-columns-in-bytes/comma.csv", &replayer);
    assert_eq!(requests[0].size_bytes, 4096);
    let sectors = "time_us,device,op,offset_bytes,size_bytes\n0,0,write,8,8\n1,0,read,16,8\n2,0,write,64,16\n";
    assert!(says(&text(sectors).1, "smaller than a sector"), "sectors for bytes");
    let (requests, report) = text("0 0 4096 8 0\n5 0 8192 8 0\n9 0 16384 16 1\n");
    assert_eq!(requests[0].size_bytes, 4096);
    assert_eq!(report.warnings, [""; 0], "sectors of a file system are multiples of 8");
}

#[test]
fn one_volume_of_many_is_taken() {
    let options = |devices: Vec<u32>| OpenOptions {
        filters: Filters { devices, ..Filters::default() },
        ..OpenOptions::default()
    };
    let (requests, report) = read_with("multi-volume/alibaba.csv", &options(vec![3]));
    assert_eq!(requests.iter().map(|request| request.device).collect::<Vec<_>>(), [3, 3]);
    assert_eq!((report.requests, report.records, report.devices), (2, 4, 1));
    assert_eq!(read_with("multi-volume/alibaba.csv", &options(vec![4, 7])).0.len(), 2);
    let none = TraceFile::open(path("multi-volume/alibaba.csv"), &options(vec![5])).unwrap();
    let error = none.last().unwrap().unwrap_err().to_string();
    assert!(error.ends_with("the filters leave out each of 4 requests, wider ones would be right"), "{error}");
}

#[test]
fn filters_take_a_beginning_a_span_addresses_and_no_trims() {
    let lines = "time_us,device,op,offset_bytes,size_bytes\n50,0,write,0,512\n0,0,trim,0,512\n70,0,read,4096,512\n\
                 80,0,flush,0,0\n90,0,write,8192,512\n";
    let taken = |filters: Filters| -> Vec<u64> {
        let options = OpenOptions { filters, ..OpenOptions::default() };
        let trace = reader_from(Cursor::new(lines), "t", &options).unwrap();
        trace.map(|request| request.unwrap().time_ns / 1000).collect()
    };
    assert_eq!(taken(Filters::default()), [50, 0, 70, 80, 90]);
    assert_eq!(taken(Filters { first: Some(2), ..Filters::default() }), [50, 0]);
    assert_eq!(taken(Filters { span_ns: Some(20_000..40_000), ..Filters::default() }), [70, 80]);
    assert_eq!(taken(Filters { addresses: Some(4096..8192), ..Filters::default() }), [70, 80]);
    assert_eq!(taken(Filters { drop_trims: true, ..Filters::default() }), [50, 70, 80, 90]);
    assert_eq!(taken(Filters { drop_trims: true, first: Some(2), ..Filters::default() }), [50, 70]);
}

#[test]
fn requests_are_moved_up_but_flushes_and_what_would_be_beyond_every_drive() {
    let lines = format!(
        "time_us,device,op,offset_bytes,size_bytes\n0,0,write,32256,4096\n1,0,flush,0,0\n2,0,trim,{},512\n3,0,read,0,512\n",
        END_BYTES_MAX - 512
    );
    let moved = |filters: Filters| -> Vec<(Op, u64)> {
        let options = OpenOptions { filters, ..OpenOptions::default() };
        let trace = reader_from(Cursor::new(lines.clone()), "t", &options).unwrap();
        trace.map(|request| request.unwrap()).map(|request| (request.op, request.offset_bytes)).collect()
    };
    let shifted = Filters { shift_bytes: 512, ..Filters::default() };
    assert_eq!(moved(shifted.clone()), [(Op::Write, 32768), (Op::Flush, 0), (Op::Read, 512)]);
    // Addresses are the trace's own.
    assert_eq!(moved(Filters { addresses: Some(0..512), ..shifted }), [(Op::Flush, 0), (Op::Read, 512)]);
}

#[test]
fn a_format_that_is_named_needs_no_header() {
    let named = |format| OpenOptions { format: Some(format), ..OpenOptions::default() };
    assert_eq!(read_with("named-format-without-header/own.csv", &named(Format::Csv)).0.len(), 2);
    assert_eq!(read_with("named-format-without-header/systor17.csv", &named(Format::Systor)).0.len(), 6);
    let with_header = "time_us,device,op,offset_bytes,size_bytes\n0,0,read,0,512\n";
    assert_eq!(text_as(with_header, Some(Format::Csv)).0.len(), 1);
    let joined = format!("{with_header}{with_header}");
    assert_eq!(text(joined).0.len(), 2, "a header once more");
    let twice = format!("Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\n{MSR}");
    let (requests, report) = text(format!("{twice}{twice}"));
    assert_eq!(requests.len(), 4);
    assert_eq!(report.left_out.to_string(), "headings: 2");
}

#[test]
fn quotes_and_blanks_around_columns_are_no_part_of_them() {
    for (name, requests) in [("msr_6col.csv", 5), ("msr_quoted.csv", 5), ("own_quoted.csv", 1), ("own_spaces.csv", 1)] {
        assert_eq!(read(&format!("quoted-csv/{name}")).0.len(), requests, "{name}");
    }
    let quoted = MSR.replace(",hm,", ",\"h,m\",");
    assert_eq!(text(quoted).0, text(MSR).0);
    let semicolons = format!("sep=;\r\n{}", MSR.replace(',', ";").replace('\n', "\r\n"));
    assert_eq!(text(semicolons).0, text(MSR).0);
    assert_eq!(text(MSR.replace(',', "\t")).0, text(MSR).0);
    assert_eq!(text(format!("# recorded by hand\n{MSR}# the end\n")).0.len(), 2);
}

#[test]
fn what_is_left_out_or_split_is_said() {
    let (requests, report) = read("run-silent-about-reader/w2g.csv");
    assert_eq!((requests.len(), report.records, report.split), (3, 2, 1));
    assert!(says(&report, "split: 1 requests over 1 GiB"), "{report:?}");
    let (_, report) = read("run-silent-about-reader/sizezero-tencent.csv");
    assert!(says(&report, "left out: 1 requests of size zero"), "{report:?}");
    let (_, report) = read("run-silent-about-reader/blankop-systor.csv");
    assert!(says(&report, "left out: 2 records without an operation"), "{report:?}");
    let (_, report) = text(format!("a title of two lines\nof words\n{MSR}"));
    assert!(says(&report, "t: line 2 is left out"), "{report:?}");
}

#[test]
fn tabs_do_not_make_a_disksim_trace_flashsim() {
    let (tabs, report) = read("tab-ssdsim/random4k.ascii");
    assert_eq!(report.files[0].format, Format::DiskSim);
    assert_eq!((sum(&tabs, Op::Write), sum(&tabs, Op::Read).0), ((130, 130 * 4096), 70));
    assert_eq!(tabs, read("tab-ssdsim/same-with-blanks.ascii").0);
    let scattered = "100\t0\t88\t16\t0\n900\t0\t7000\t8\t1\n1500\t0\t320\t64\t0\n";
    assert_eq!(text(scattered).1.files[0].format, Format::DiskSim);
    let pages = "1.0\t0\t800\t16\t0\n2.0\t0\t9000\t8\t0\n3.0\t0\t100\t8\t0\n";
    assert_eq!(text(pages).1.files[0].format, Format::DiskSim);
    let flashsim = "0.5\t0\t88\t1\t0\n0.5\t0\t96\t2\t1\n1.5\t0\t320\t3\t0\n";
    assert_eq!(text(flashsim).1.files[0].format, Format::FlashSim);
}

#[test]
fn requests_before_the_first_keep_their_distance() {
    let (requests, report) = read("time-before-first/blkparse.txt");
    assert_eq!((report.duration_ns, report.back_in_time), (1_000_000_000, 1));
    assert_eq!(requests[0].time_ns, 500_000_000);
    let (_, report) = read("time-before-first/msr-descending.csv");
    assert_eq!((report.duration_ns / 1_000_000, report.back_in_time), (4332, 4));
    let sorted = OpenOptions { sort: true, ..OpenOptions::default() };
    let (requests, report) = read_with("time-before-first/msr-descending.csv", &sorted);
    assert!(requests.is_sorted_by_key(|request| request.time_ns));
    assert_eq!((report.back_in_time, report.sorted), (4, true));
    assert!(!says(&report, "--sort"), "{report:?}");
}

#[test]
fn the_files_of_all_cpus_are_one_trace() {
    let (requests, report) = read("blktrace-per-cpu/two");
    assert_eq!((requests.len(), report.files.len(), report.back_in_time), (100, 2, 0));
    let (half, report) = read("blktrace-per-cpu/two.blktrace.0");
    assert!(half.len() < 100 && says(&report, "1 more files of the same recording"), "{report:?}");
    let both = ["blktrace-per-cpu/two.blktrace.1", "blktrace-per-cpu/two.blktrace.0"].map(path);
    let (named, report) = of(TraceFile::open_all(&both, &OpenOptions::default()).unwrap());
    assert_eq!(named, requests, "in order of time, not of names");
    assert_eq!(report.warnings, [""; 0]);
    let mixed = [path("blktrace-per-cpu/two.blktrace.0"), path("bom-first-record/msr_bom.csv")];
    assert_eq!(of(TraceFile::open_all(&mixed, &OpenOptions::default()).unwrap()).0.len(), half.len() + 5);
}

#[test]
fn file_times_are_no_nanoseconds() {
    let (_, report) = read("sector-4k-and-time-units/filetime-ticks.txt");
    assert_eq!((report.files[0].time_unit, report.files[0].time_unit_guessed), (TimeUnit::HundredNs, true));
    let micros = OpenOptions { time_unit: Some(TimeUnit::Ns), ..OpenOptions::default() };
    let (_, named) = read_with("sector-4k-and-time-units/filetime-ticks.txt", &micros);
    assert_eq!(report.duration_ns, named.duration_ns * 100);
    let (_, report) = text("0 0 8 8 0\n9000000000000000 0 16 8 0\n");
    assert!(says(&report, "the trace lasts 104 days"), "{report:?}");
}

fn with_columns(text: &str, spec: ColumnSpec) -> Result<(Vec<Request>, InputReport), String> {
    let options = OpenOptions { columns: Some(spec), ..OpenOptions::default() };
    let trace = reader_from(Cursor::new(text.to_owned()), "t", &options).map_err(|error| error.to_string())?;
    let mut trace = trace;
    let requests: Result<Vec<Request>, _> = trace.by_ref().collect();
    Ok((since_earliest(requests.map_err(|error| error.to_string())?), trace.report()))
}

fn columns(text: &str) -> ColumnSpec {
    text.parse().unwrap()
}

#[test]
fn any_columns_are_read_as_they_are_named() {
    let lines = "7 x w 16 8\n9 x r 0 1\n";
    let (requests, _) = with_columns(lines, columns("time:us,-,op,lba:512,size:512")).unwrap();
    assert_eq!(
        requests[0],
        Request { time_ns: 0, device: 0, op: Op::Write, offset_bytes: 8192, size_bytes: 4096, handle: 0 }
    );
    assert_eq!((requests[1].time_ns, requests[1].op, requests[1].size_bytes), (2_000, Op::Read, 512));
    let named = columns("op,offset,size").with_ops("read=0,write=1|2,skip=9").unwrap();
    let (requests, report) = with_columns("0;0x1000;512\n2;0;4096.0\n9;0;0\n", named.clone()).unwrap();
    assert_eq!((requests.len(), requests[0].offset_bytes, requests[1].size_bytes), (2, 4096, 4096));
    assert!(says(&report, "left out: 1 other commands"), "{report:?}");
    let error = with_columns("5;0;512\n", named).unwrap_err();
    assert!(error.starts_with("t:1: the operation 5 has no meaning yet; --ops would give it one"), "{error}");
    let bars = columns("size:page,op,lba:page").with_separator("|").unwrap().with_skip_lines(2);
    let (requests, _) = with_columns("a|b\n1|2|3\n2|write|3\n", bars).unwrap();
    assert_eq!((requests[0].offset_bytes, requests[0].size_bytes), (3 * 4096, 2 * 4096));
}

#[test]
fn columns_that_make_no_request_are_refused() {
    for (text, what) in [
        ("time,op,size", "no column is offset or lba, one would be right"),
        ("op,offset,size,lba", "2 columns are offset or lba, one at the most would be right"),
        ("op,offset,size,x", "`x` is no column; time, date, device, op, offset, lba, size, size-1 or - would be right"),
        ("op,offset:0,size", "unit `0` is none; bytes, sector, page or a number of bytes would be right"),
        ("op:s,offset,size", "op has no unit"),
        ("time:y,op,offset,size", "time unit `y` is unknown"),
    ] {
        let error = text.parse::<ColumnSpec>().unwrap_err().to_string();
        assert!(error.contains(what), "{error}");
    }
    let spec = "time:100ns,device,op,lba:4096,size,-";
    assert_eq!(columns(spec).to_string(), spec);
    for wrong in ["write", "write=", "writes=1", "=1", ""] {
        assert!(columns("op,offset,size").with_ops(wrong).is_err(), "{wrong}");
    }
    assert!(columns("op,offset,size").with_separator("ab").is_err());
}

/// Takes the error of an unknown file at its word, as a person does.
fn taken_at_its_word(text: &str) -> Vec<Request> {
    let error = reader_from(Cursor::new(text.to_owned()), "t", &OpenOptions::default()).unwrap_err().to_string();
    let (_, advice) = error.split_once("--columns ").unwrap_or_else(|| panic!("{error}"));
    let mut words = advice.split([' ', ';']);
    let mut spec = columns(words.next().unwrap());
    while let Some(option) = words.next() {
        match option {
            "--ops" => spec = spec.with_ops(words.next().unwrap()).unwrap(),
            "--skip-lines" => spec = spec.with_skip_lines(words.next().unwrap().parse().unwrap()),
            _ => break,
        }
    }
    with_columns(text, spec).unwrap().0
}

#[test]
fn the_error_of_an_unknown_file_names_columns_that_read_it() {
    let lines: String =
        (0..20u64).map(|n| format!("job{}|{}|W|{}|4096|{}\n", n % 2, n * 250, n * 7919 % 100 * 8, n)).collect();
    let requests = taken_at_its_word(&lines);
    assert_eq!((requests.len(), requests[1].offset_bytes, requests[1].size_bytes), (20, 19 * 8 * 512, 4096));
    let lines: String =
        (0..20u64).map(|n| format!("{n}.25, {}, {}, {}\n", n % 2, n * 7919 % 100 * 4096, 4096 << (n % 2))).collect();
    let requests = taken_at_its_word(&format!("when, what, where, how much\n{lines}"));
    assert_eq!(requests.len(), 20);
    assert_eq!((requests[1].op, requests[1].offset_bytes, requests[1].size_bytes), (Op::Write, 19 * 4096, 8192));
}
