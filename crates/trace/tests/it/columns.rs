//! Files whose heading or whose reader names the columns: what counts, in which units, and what is refused.

use crate::samples::{error, read, read_with};
use phelsuma_trace::{ColumnSpec, Format, Op, OpenOptions, Request, TimeUnit};

fn spec(columns: &str) -> ColumnSpec {
    columns.parse().unwrap()
}

fn by(columns: ColumnSpec) -> OpenOptions {
    OpenOptions { columns: Some(columns), ..OpenOptions::default() }
}

fn strict(options: OpenOptions) -> OpenOptions {
    OpenOptions { strict: true, ..options }
}

/// Time in microseconds, operation, first byte, bytes.
fn shown(requests: &[Request]) -> Vec<(u64, Op, u64, u64)> {
    let of = |request: &Request| (request.time_ns / 1000, request.op, request.offset_bytes, request.size_bytes);
    requests.iter().map(of).collect()
}

#[test]
fn a_heading_is_stronger_than_the_shape_of_lines() {
    let expected = [(1000, Op::Write, 4096, 4096), (2000, Op::Read, 8192, 8192)];
    for text in [
        // As Alibaba's, as SPC, as BIOtracer's first columns.
        "time_us,op,offset_bytes,size_bytes,latency_us\n1000,W,4096,4096,85\n2000,R,8192,8192,60\n",
        "time_us,lba,size_bytes,op,latency_us\n1000,8,4096,W,85\n2000,16,8192,R,60\n",
        "latency_us\ttime_us\toffset_bytes\tsize_bytes\top\n1\t1000\t4096\t4096\tW\n0\t2000\t8192\t8192\tR\n",
        "sep=;\ntime_us;op;offset;size\n1000;W;4096;4096\n2000;R;8192;8192\n",
    ] {
        let (requests, report) = read(text);
        assert_eq!(shown(&requests), expected, "{text}");
        assert_eq!((report.files[0].format, report.devices), (Format::Columns, 1), "{text}");
        assert_eq!(report.warnings, [""; 0], "{text}");
    }
}

#[test]
fn a_heading_that_names_something_twice_is_refused_with_columns_that_fit() {
    for (heading, said, columns) in [
        (
            "ts_us,op,start_lba,size_sectors,lba_count",
            "2 sizes: `size_sectors`, `lba_count`",
            "time:us,op,lba:512,size:512,-",
        ),
        ("op;lba;byte_offset;size;time_ms", "2 addresses: `lba`, `byte_offset`", "op,lba:512,-,size,time:ms"),
        (
            "time_us,disk,lun,op,lba,size_bytes,len",
            "2 sizes: `size_bytes`, `len`",
            "time:us,device,-,op,lba:512,size,-",
        ),
        ("issue_us submit_us op offset len", "2 times: `issue_us`, `submit_us`", "time:us,-,op,offset,size"),
    ] {
        let separator = if heading.contains(' ') {
            " "
        } else if heading.contains(';') {
            ";"
        } else {
            ","
        };
        let line = heading.split([',', ';', ' ']).map(|name| if name == "op" { "W" } else { "8" });
        let text = format!("{heading}\n{}\n", line.collect::<Vec<_>>().join(separator));
        let error = error(&text);
        assert!(error.contains(&format!("the heading names {said};")), "{error}");
        assert!(error.contains(&format!("--columns {columns} takes the first")), "{error}");
        let (requests, _) = read_with(&text, &by(spec(columns))).unwrap();
        assert_eq!(requests.len(), 1, "{text}");
    }
}

#[test]
fn headings_of_formats_stay_theirs() {
    for (text, format) in [
        ("Timestamp,Hostname,DiskNumber,Type,Offset,Size\n128166372003061629,hm,0,Write,0,4096\n", Format::Msr),
        ("device_id,opcode,offset,length,timestamp\n1,W,0,4096,7\n", Format::Alibaba),
        ("Timestamp,Offset,Size,IOType,VolumeID\n7,0,8,1,3\n", Format::Tencent),
        ("version,time,op,size,lbn,rt\n2,100,28,4096,8,5\n2,200,2a,4096,8,5\n", Format::VscsiCsv),
        ("asu,lba,size,opcode,timestamp\n0,8,4096,W,0.5\n", Format::Spc),
        ("time_us,device,op,offset_bytes,size_bytes\n0,0,write,0,512\n", Format::Csv),
    ] {
        assert_eq!(read(text).1.files[0].format, format, "{text}");
    }
}

#[test]
fn operations_without_a_meaning_are_named_all_at_once() {
    for text in [
        "time_us,offset_bytes,size_bytes,op,device\n1000,4096,4096,1,7\n2000,8192,8192,0,7\n",
        "time_us op offset_bytes size_bytes\n1000 1 4096 4096\n2000 0 8192 8192\n",
        "device time_ms offset_bytes size_bytes op\n0 1 4096 4096 1\n0 2 8192 8192 0\n",
    ] {
        let error = error(text);
        assert!(
            error.starts_with("t:2: the operations 1, 0 have no meaning yet; --ops would give them one"),
            "{error}"
        );
        assert!(error.ends_with("--ops OP=1,OP=0, where OP is read, write, trim, flush or skip"), "{error}");
        let ops = ColumnSpec::default().with_ops("read=0,write=1").unwrap();
        let (requests, _) = read_with(text, &by(ops)).unwrap();
        assert_eq!(shown(&requests), [(1000, Op::Write, 4096, 4096), (2000, Op::Read, 8192, 8192)]);
    }
    let words = "op,offset,size\nReadBlk,0,512\nWriteBlk,0,512\nnop,0,0\nR,0,512\n";
    let error = error(words);
    assert!(error.contains("--ops read=ReadBlk,write=WriteBlk,OP=nop, where"), "{error}");
    let ops = ColumnSpec::default().with_ops("read=ReadBlk,write=WriteBlk,skip=nop").unwrap();
    assert_eq!(read_with(words, &by(ops)).unwrap().0.len(), 3, "the usual words keep their meaning");
    let codes = "op,offset,size\n0x28,0,512\n0x8A,0,512\nIRP_READ,0,512\nirp_write,0,512\n";
    assert_eq!(shown(&read(codes).0).iter().map(|request| request.1.code()).collect::<Vec<_>>(), [0, 1, 0, 1]);
    let decimal = read_with("op,offset,size\n40,0,512\n42,0,512\n", &OpenOptions::default()).unwrap_err();
    assert!(decimal.ends_with("--ops read=40,write=42"), "{decimal}");
}

#[test]
fn units_in_headings_are_read() {
    for (time, expected) in [
        ("time_usec", 7_000),
        ("Time (µs)", 7_000),
        ("time(msec)", 7_000_000),
        ("Timestamp [sec]", 7_000_000_000),
        ("time_ns", 7),
        ("start_nsec", 7),
        ("time_100ns", 700),
        ("Time (100ns)", 700),
        ("timestampUs", 7_000),
        ("time_ps", 0),
    ] {
        let (requests, report) = read(&format!("{time},op,offset_bytes,size_bytes\n7,w,0,512\n"));
        assert_eq!((requests[0].time_ns, report.files[0].time_unit_guessed), (expected, false), "{time}");
    }
    for (address, size, expected) in [
        ("offset_kb", "size_kib", (3 << 10, 2 << 10)),
        ("offset(KiB)", "sizeKiB", (3 << 10, 2 << 10)),
        ("lba_4k", "size_4kib", (3 * 4096, 2 * 4096)),
        ("4k_lba", "pages", (3 * 4096, 2 * 4096)),
        ("offset (MiB)", "length_mb", (3 << 20, 2 << 20)),
        ("offset_pages", "nr_sectors", (3 * 4096, 1024)),
        ("start_sector", "sector_count", (3 * 512, 1024)),
        ("offset_512", "bytes", (3 * 512, 2)),
    ] {
        let (requests, report) = read(&format!("time_us,op,{address},{size}\n7,w,3,2\n"));
        assert_eq!((requests[0].offset_bytes, requests[0].size_bytes), expected, "{address},{size}");
        let columns = report.files[0].columns.as_ref().unwrap();
        assert!(!columns.address_unit_guessed && !columns.size_unit_guessed, "{address},{size}");
    }
}

#[test]
fn units_that_no_heading_names_are_guesses() {
    let (_, report) = read("time_fortnight,op,offset_bytes,size_bytes\n7,w,0,512\n");
    assert!(report.files[0].time_unit_guessed);
    let text =
        "t: column `time_fortnight`: `fortnight` is no known unit, so seconds are a guess; --time-unit settles it";
    assert_eq!(report.warnings, [text]);
    let (_, report) = read("time_us,op,offset_furlong,size_bytes\n7,w,0,512\n");
    assert!(
        report.warnings[0]
            .contains("`furlong` is no known unit, so bytes are a guess; --columns time:us,op,offset,size")
    );
    let (_, report) = read("Timestamp,Op,Offset,Size\n1,W,0,4096\n4000000,R,4096,4096\n");
    assert!(report.files[0].time_unit_guessed && report.warnings[0].contains("lasts 46 days"), "{report:?}");
    let dense: String = (1..200).map(|n| format!("{:.8},W,0,512\n", f64::from(n) * 1e-8)).collect();
    let (_, report) = read(&format!("time,op,offset,size\n{dense}"));
    assert!(report.warnings[0].contains("requests a second, which is many"), "{report:?}");
    let (_, report) = read("time_us,op,lba,size\n1,write,0,8\n2,read,8,8\n3,read,16,1024\n");
    assert!(report.warnings[0].contains("sizes are taken for bytes, as the heading names no unit"), "{report:?}");
    let (_, report) = read("time_us,op,block,blocks\n1,write,1,8\n");
    let columns = report.files[0].columns.clone().unwrap();
    assert_eq!((columns.address_unit_bytes, columns.address_unit_guessed), (512, true));
    let filetime = "Timestamp,Op,Offset,Size\n128166372003061629,W,0,4096\n";
    assert_eq!(read(filetime).1.files[0].time_unit, TimeUnit::HundredNs);
    let epoch = read("Timestamp,Op,Offset,Size\n1700000000123,W,0,4096\n").1;
    assert_eq!((epoch.files[0].time_unit, epoch.files[0].time_unit_guessed), (TimeUnit::Ms, true));
}

#[test]
fn a_separator_that_is_named_is_the_only_one() {
    let text = "1,5;8,0;W;4096;512\n2,25;8,16;R;8192;512\n";
    let semicolon = spec("time:ms,device,op,offset,size").with_separator(";").unwrap();
    let (requests, report) = read_with(text, &strict(by(semicolon))).unwrap();
    assert_eq!(shown(&requests), [(1500, Op::Write, 4096, 512), (2250, Op::Read, 8192, 512)]);
    assert_eq!(report.devices, 2);
    let heading = "time_ms;device;op;offset;size\n5,355;8,0;W;0;512\n";
    assert_eq!(shown(&read(heading).0)[0].0, 5355);
    let (requests, report) = read("0;4096;512;W;1,5\n0;8192;512;R;2,75\n");
    assert_eq!((report.files[0].format, shown(&requests)[0].0), (Format::Spc, 1_500_000));
    let blanks = OpenOptions { format: Some(Format::Replayer), ..OpenOptions::default() };
    assert_eq!(shown(&read_with("0,5 0 4096 512 0\n1,5 0 8192 512 1\n", &blanks).unwrap().0)[1].0, 1500);
}

#[test]
fn quotes_are_no_doubt_and_group_thousands() {
    let quoted = strict(OpenOptions::default());
    let own = "\"time_us\",\"device\",\"op\",\"offset_bytes\",\"size_bytes\"\n\"0\",\"0\",\"write\",\"0\",\"512\"\n";
    assert!(read_with(own, &quoted).is_ok());
    let grouped = "time_us,op,offset,size\n\"1,500.5\",W,\"26,492,928\",\"4,096\"\n";
    assert_eq!(shown(&read_with(grouped, &quoted).unwrap().0), [(1500, Op::Write, 26_492_928, 4096)]);
    let msr = "128166372003061629,\"h,m\",0,Write,\"26,492,928\",4096,26\n";
    assert_eq!(shown(&read(msr).0)[0].2, 26_492_928);
    let named = "1,\"a,b\",W,0,512\n2,\"a,c\",W,0,512\n";
    assert_eq!(read_with(named, &by(spec("time:us,device,op,offset,size"))).unwrap().1.devices, 2);
}

#[test]
fn only_a_flush_may_lack_its_range() {
    let text = "time_us,op,offset,size\n0,flush,,\n";
    assert_eq!(read(text).0.len(), 1);
    for (line, lacks) in [("1,write,,4096", "address"), ("1,read,4096,", "size"), ("1,trim,,", "address")] {
        let error = error(&format!("{text}{line}\n"));
        assert!(
            error.starts_with("t:3: a ") && error.contains(&format!("has no {lacks}, which only a flush")),
            "{error}"
        );
    }
}

#[test]
fn numbers_among_names_of_devices_are_names() {
    let text =
        "time_us,device,op,offset,size\n1,0,write,0,4096\n2,sda,read,0,8192\n3,sdb,read,0,8192\n4,1,read,0,512\n";
    let devices = |requests: Vec<Request>| requests.iter().map(|request| request.device).collect::<Vec<_>>();
    assert_eq!(devices(read(text).0), [0, 1, 2, 3]);
    let numbers = "time_us,device,op,offset,size\n1,7,write,0,4096\n2,3,read,0,8192\n";
    assert_eq!(devices(read(numbers).0), [7, 3]);
    // The name is behind the sample.
    let many = format!("{}9,sda,r,0,512\n", "1,7,w,0,4096\n".repeat(6000));
    let error = read_with(&many, &by(spec("time:us,device,op,offset,size"))).unwrap_err();
    assert!(error.starts_with("t:6001: the device sda is a name, and those before are numbers"), "{error}");
    let named = read_with(&many, &by(spec("time:us,device:name,op,offset,size"))).unwrap();
    assert_eq!(devices(named.0).last(), Some(&1));
}

#[test]
fn skipped_lines_are_lines_of_the_file() {
    let text = "title\n\n1,write,0,4096\n# a comment\n2,read,4096,8192\n#3,read,4096,8192\n";
    let two = spec("time:us,op,offset,size").with_skip_lines(2);
    let (requests, report) = read_with(text, &by(two)).unwrap();
    assert_eq!((requests.len(), report.warnings), (2, Vec::new()));
    let three = spec("time:us,op,offset,size").with_skip_lines(3);
    assert_eq!(read_with(text, &by(three)).unwrap().0.len(), 1);
}

#[test]
fn units_that_contradict_each_other_are_refused() {
    let seconds = |columns| OpenOptions { time_unit: Some(TimeUnit::S), ..by(spec(columns)) };
    let text = "1,write,0,4096\n";
    let error = read_with(text, &seconds("time:us,op,offset,size")).unwrap_err();
    assert!(error.ends_with("--columns has times in us and --time-unit in s, one of them would be right"), "{error}");
    assert!(read_with(text, &seconds("time,op,offset,size")).is_ok());
    assert!(read_with(text, &seconds("time:s,op,offset,size")).is_ok());
    let sector = OpenOptions { sector_bytes: Some(4096), ..by(spec("time,op,lba,size")) };
    let error = read_with(text, &sector).unwrap_err();
    assert!(error.starts_with("--columns states the units of addresses and sizes, such as lba:4096"), "{error}");
    assert_eq!(spec("op,offset:4KiB,size:KiB").to_string(), "op,lba:4096,size:1024");
}

#[test]
fn dates_are_times() {
    let text = "Time,op,offset,size\n2024-03-09 23:59:55.005355,W,0,512\n2024-03-10T00:00:05.005355Z,R,0,512\n";
    let (requests, report) = read_with(text, &strict(OpenOptions::default())).unwrap();
    assert_eq!(requests[0].time_ns, 1_710_028_795_005_355_000);
    assert_eq!((report.duration_ns, report.files[0].time_unit_guessed), (10_000_000_000, false));
    assert_eq!(report.files[0].columns.as_ref().unwrap().columns, "time:date,op,offset,size");
    let lines = text.split_once('\n').unwrap().1;
    for columns in ["time,op,offset,size", "time:date,op,offset,size"] {
        assert_eq!(read_with(lines, &by(spec(columns))).unwrap().0, requests, "{columns}");
    }
    let error = read_with(text, &by(spec("time:us,op,offset,size"))).unwrap_err();
    assert!(error.starts_with("t:2: ") && error.contains("time:date in --columns would read it"), "{error}");
    let unit = OpenOptions { time_unit: Some(TimeUnit::Us), ..OpenOptions::default() };
    assert!(read_with(text, &unit).unwrap_err().ends_with("the times are dates, so --time-unit says nothing"));
}

#[test]
fn the_line_that_is_wrong_is_blamed_and_not_the_heading() {
    for line in ["soon,W,0,512", "1,W,0"] {
        let error = error(&format!("time_us,op,offset,size\n{line}\n"));
        assert!(error.starts_with("t:2: "), "{error}");
    }
    let error = error("Timestamp,op,offset_bytes,size_bytes\n");
    assert!(error.starts_with("t:1: no columns record"), "{error}");
    let more = "time_us,op,offset,size\n1,W,0,512,x\n2,W,0,512\n";
    assert!(read(more).1.warnings[0].ends_with("which are passed over: 1"), "columns after the last");
}

#[test]
fn our_own_csv_states_bytes() {
    let small = "time_us,device,op,offset_bytes,size_bytes\n0,0,write,0,100\n1,0,write,100,100\n2,0,read,200,64\n";
    assert!(read_with(small, &strict(OpenOptions::default())).is_ok());
}

/// The `--columns` of the error of an unknown file.
fn suggested(text: &str) -> String {
    let error = error(text);
    let (_, rest) = error.split_once("; --columns ").unwrap_or_else(|| panic!("{error}"));
    rest.split(" may be right").next().unwrap().to_owned()
}

#[test]
fn columns_are_suggested_where_operation_address_and_size_can_be_told() {
    for (text, right) in [
        (
            "17000001 sda W 4096 8\n17000055 sda R 8192 16\n17000101 sdb W 81920 24\n",
            "time:ms,device,op,offset,size:512",
        ),
        ("0.1|r|8|51744\n0.2|w|8|1024\n", "time:s,op,size:512,lba:512"),
        ("0.1 R 0 4096\n0.2 W 4096 8192\n0.9 R 65536 4096\n", "time:s,op,offset,size"),
        ("1 0x28 0 4096\n2 0x2a 8192 4096\n3 0x28 65536 4096\n", "time:ms,op,offset,size"),
        (
            "sep=;\nwhen;what;where;long\n1;W;81920;8192\n2;R;163840;4096\n3;W;0;4096\n",
            "time:ms,op,offset,size --skip-lines 2",
        ),
        (
            "2024-03-09 23:59:55,W,81920,8192\n2024-03-09 23:59:56,R,4096,4096\n2024-03-09 23:59:57,R,8192,4096\n",
            "time:date,op,offset,size",
        ),
    ] {
        assert_eq!(suggested(text), right, "{text}");
    }
}

#[test]
fn names_that_end_in_a_unit_of_time_are_times() {
    let expected = [(1000, Op::Write, 4096, 4096), (2000, Op::Read, 8192, 8192)];
    for (first, other) in [
        ("queued_us", "done_us"),
        ("issuedUs", "finished_us"),
        ("recv (us)", "completed_us"),
        ("stamped_us", "end_us"),
        ("begun_us", "svc_us"),
        ("time_us", "rtt_us"),
    ] {
        let text = format!("{first},{other},op,offset,size\n1000,9,W,4096,4096\n2000,8,R,8192,8192\n");
        let (requests, report) = read(&text);
        assert_eq!((shown(&requests), report.warnings), (expected.to_vec(), Vec::new()), "{text}");
    }
    // No request's begin is among them.
    let (requests, report) = read("done_us,op,offset,size\n1000,W,4096,4096\n2000,R,8192,8192\n");
    assert_eq!(requests[1].time_ns, 0);
    assert_eq!(
        report.warnings,
        [
            "t: no times were found: durations will be 0, though `done_us` looks like times; --columns time:us,op,offset,size reads them"
        ]
    );
    let two = error("stamp_us,other_us,op,offset,size_req,size_done\n1,2,W,0,4096,4096\n");
    assert!(two.contains("2 times: `stamp_us`, `other_us` and 2 sizes: `size_req`, `size_done`"), "{two}");
    assert!(two.contains("--columns time:us,-,op,offset,size,- takes the first of each"), "{two}");
}

#[test]
fn a_start_is_a_time_beside_an_address_and_an_end_is_no_size() {
    let (requests, report) = read("start,end,op,offset,size\n0.5,0.7,W,4096,4096\n1.5,1.6,R,8192,8192\n");
    assert_eq!(shown(&requests), [(500_000, Op::Write, 4096, 4096), (1_500_000, Op::Read, 8192, 8192)]);
    assert!(report.files[0].time_unit_guessed);
    assert_eq!(read("op,start,size\nW,4096,512\n").0[0].offset_bytes, 4096);
    for (heading, end) in [("time_us,op,start,end", "end"), ("time_us,op,StartLBA,EndLBA", "EndLBA")] {
        let error = error(&format!("{heading}\n1,W,4096,8192\n2,R,8192,12288\n"));
        assert!(error.contains(&format!("where requests end (`{end}`) and no sizes")), "{error}");
    }
}

#[test]
fn a_column_of_yes_and_no_is_an_operation() {
    for (heading, yes, no, right) in [
        ("is_read", "1", "0", "--ops read=1,write=0"),
        ("isWrite", "true", "false", "--ops write=true,read=false"),
        ("write_flag", "t", "f", "--ops write=t,read=f"),
    ] {
        let text = format!("time_us,{heading},offset,size\n1,{yes},4096,4096\n2,{no},8192,4096\n");
        let error = error(&text);
        assert!(error.ends_with(right), "{error}");
        let ops = ColumnSpec::default().with_ops(right.strip_prefix("--ops ").unwrap()).unwrap();
        let kinds: Vec<Op> = read_with(&text, &by(ops)).unwrap().0.iter().map(|request| request.op).collect();
        assert_eq!(kinds == [Op::Read, Op::Write], heading == "is_read", "{text}");
    }
    assert_eq!(read("time_us,read_write,offset,size\n1,W,0,512\n").0[0].op, Op::Write);
}

#[test]
fn suggestions_keep_what_a_heading_says() {
    let rows = "10,W,4096,4096\n20,R,8192,4096\n50,R,81920,8192\n";
    assert_eq!(suggested(&format!("time_us,kind,offset,size\n{rows}")), "time:us,op,offset,size --skip-lines 1");
    assert_eq!(suggested(&format!("time_ns,op,wo,size\n{rows}")), "time:ns,op,offset,size --skip-lines 1");
    let words = "time_us,vorgang,offset,size\n1,l\u{e4}se,0,512\n2,l\u{e4}se,512,512\n3,schreib es,0,512\n";
    assert_eq!(suggested(words), "time:us,op,offset,size --ops 'read=l\u{e4}se,write=schreib es' --skip-lines 1");
}

#[test]
fn suggestions_tell_numbers_of_lines_completions_and_devices_apart() {
    let line = |n: u64| (n * 7919 % 1000 * 4096, n * 250 + n % 3, 4096 << (n % 2));
    let lines = |of: &dyn Fn(u64) -> String| (0..40).map(|n| of(n) + "\n").collect::<String>();
    let counted = lines(&|n| format!("{n},{},W,{},{}", line(n).1, line(n).0, line(n).2));
    assert_eq!(suggested(&counted), "-,time:ms,op,offset,size");
    let completed = lines(&|n| format!("{},{},W,{},{}", line(n).1, line(n).1 + 80 + n % 7, line(n).0, line(n).2));
    assert_eq!(suggested(&completed), "time:ms,-,op,offset,size");
    let completed = lines(&|n| format!("{},{},W,{},{}", line(n).1 + 80 + n % 7, line(n).1, line(n).0, line(n).2));
    assert_eq!(suggested(&completed), "-,time:ms,op,offset,size");
    let devices = lines(&|n| format!("{},{},W,{},{}", line(n).1, n % 4, line(n).0, line(n).2));
    assert_eq!(suggested(&devices), "time:ms,device,op,offset,size");
    let sequential = lines(&|n| format!("{n};{};{};{}", n % 2, n * 4096, 4096 << (n % 2)));
    assert_eq!(suggested(&sequential), "time:ms,op,offset,size --ops read=0,write=1");
    let codes = lines(&|n| format!("{},{};{};{};{}", n * 9, 5, n % 2, line(n).0, line(n).2));
    assert!(error(&codes).contains("--ops read=0,write=1 may be right"), "{}", error(&codes));
    assert!(error(&codes).ends_with("which number is a read is a guess"), "{}", error(&codes));
}

#[test]
fn options_without_columns_need_a_heading() {
    let ops = ColumnSpec::default().with_ops("read=0,write=1").unwrap();
    let error = read_with("0.1 1 79088 32\n0.3 0 280952 8\n0.4 1 1024 8\n", &by(ops)).unwrap_err();
    assert!(error.starts_with("t: there is no heading, so --columns is needed"), "{error}");
    assert!(error.contains("; --columns time:s,op,"), "{error}");
}

#[test]
fn words_in_errors_are_shown_as_they_are() {
    let text = "op,offset,size\nread \u{e9}crit,0,512\nwrite it's,0,512\n";
    let said = error(text);
    assert!(said.ends_with("--ops 'read=read \u{e9}crit,write=write it'\\''s'"), "{said}");
    let said = error("op,offset,size\nR|W,0,512\n");
    assert!(said.contains("--ops can name no word with a comma or a bar"), "{said}");
    let said = error("op,offset,size\n\u{1b}[0m,0,512\n");
    assert!(!said.contains('\u{1b}'), "{said}");
}
