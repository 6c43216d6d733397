//! Files of unknown columns, as people have them: read as they are, or by what their error says alone.

use crate::samples::{error, read, read_with};
use phelsuma_trace::{ColumnSpec, Op, OpenOptions, Request};

/// What is read of a file with the options that its error has, which are these.
fn read_as_told(text: &str, right: &str) -> Vec<Request> {
    let error = error(text);
    assert!(error.contains(&format!("; {right} may be right")), "{error}");
    let mut options = right.split(" --").map(|option| option.trim_start_matches("--").split_once(' ').unwrap());
    let mut spec: ColumnSpec = options.next().unwrap().1.parse().unwrap();
    for (option, value) in options {
        spec = match option {
            "ops" => spec.with_ops(value.trim_matches('\'')).unwrap(),
            "skip-lines" => spec.with_skip_lines(value.parse().unwrap()),
            other => panic!("{other}"),
        };
    }
    let options = OpenOptions { columns: Some(spec), ..OpenOptions::default() };
    read_with(text, &options).unwrap_or_else(|error| panic!("{text}: {error}")).0
}

/// Time in microseconds, operation, first byte, bytes.
fn shown(requests: &[Request]) -> Vec<(u64, Op, u64, u64)> {
    let of = |request: &Request| (request.time_ns / 1000, request.op, request.offset_bytes, request.size_bytes);
    requests.iter().map(of).collect()
}

const TWO: [(u64, Op, u64, u64); 2] = [(1000, Op::Write, 4096, 4096), (2000, Op::Read, 1 << 20, 512)];

#[test]
fn values_have_their_units_with_them() {
    for text in [
        "time_us,op,offset,size\n1000,W,4K,4KiB\n2000,R,1M,512\n",
        "time_us op lba len\n1000 W 4k 4096B\n2000 R 1024kB 512b\n",
        "time_us;op;sector;length_kb\n1000;W;4 KiB;4k\n2000;R;1.0 MiB;0.5K\n",
    ] {
        let (requests, report) = read(text);
        assert_eq!((shown(&requests), report.warnings), (TWO.to_vec(), Vec::new()), "{text}");
    }
    let bare = "0.001 W 4K 4K\n0.002 R 1M 512\n0.003 R 8K 1K\n";
    assert_eq!(shown(&read_as_told(bare, "--columns time:s,op,offset,size"))[..2], TWO);
    let timed = "1ms W 4K 4K\n0.002s R 1M 512\n";
    assert_eq!(shown(&read(&format!("time_ns op offset size\n{timed}")).0), TWO);
    let report = read(&format!("time op offset size\n{timed}")).1;
    assert_eq!((report.files[0].time_unit_guessed, report.warnings), (false, Vec::new()));
    let bare = format!("{timed}3ms R 8K 1K\n");
    assert_eq!(shown(&read_as_told(&bare, "--columns time:s,op,offset,size"))[..2], TWO);
    assert!(error("time_us,op,offset,size\n1,W,4X,512\n").contains("the address is not a whole number: 4X"));
}

#[test]
fn lines_may_name_each_value() {
    for text in [
        "ts=0.001 op=W lba=8 len=4096\nts=0.002 op=R lba=2048 len=512\n",
        "ts=0.001, op=W, lba=8, len=4096\nts=0.002, op=R, lba=2048, len=512\n",
        "ts=0.001\top=W\tlba=8\tlen=4K\nlen=512\tlba=2048\top=R\tts=0.002\n",
        "time_us: 1000, op: W, offset: 4096, size: 4096\ntime_us: 2000, op: R, offset: 1048576, size: 512\n",
        "0.001 op=W lba=8 len=4096\n0.002 op=R lba=2048 len=512\n",
        "INFO disk1 ts=0.001 op=W lba=8 len=4096 q=1\nINFO disk1 ts=0.002 op=R lba=2048 len=512\n",
        "{\"ts\":0.001,\"op\":\"W\",\"lba\":8,\"len\":4096}\n{\"ts\":2e-3,\"op\":\"R\",\"lba\":2048,\"len\":512}\n",
        "{ \"op\": \"W\", \"size\": 4096, \"start_lba\": 8, \"time_us\": 1000 }\n\
         { \"op\": \"R\", \"size\": 512, \"start_lba\": 2048, \"time_us\": 2000 }\n",
        "[\n{\"ts\":0.001,\"op\":\"W\",\"lba\":8,\"len\":4096},\n{\"ts\":0.002,\"op\":\"R\",\"lba\":2048,\"len\":512}\n]\n",
        "[{\"ts\":0.001,\"op\":\"W\",\"lba\":8,\"len\":4096},\n {\"ts\":0.002,\"op\":\"R\",\"lba\":2048,\"len\":512}]\n",
    ] {
        let (requests, report) = read(text);
        assert_eq!((shown(&requests), report.warnings), (TWO.to_vec(), Vec::new()), "{text}");
    }
    let (requests, report) = read("ts=1 op=W lba=8 len=512\nts=2 op=flush\nts=3 op=R lba=8 len=512 new=1\n");
    assert_eq!((requests.len(), requests[1].op), (3, Op::Flush));
    assert!(report.warnings[0].ends_with("which are passed over: 1"), "{report:?}");
    let lacks = error("dev=1 ts=1 op=W lba=8 len=512\ndev=1 ts=2 op=W lba=8\n");
    assert!(lacks.starts_with("t:2: a write has no size"), "{lacks}");
}

#[test]
fn keys_that_say_nothing_leave_the_shape_of_values() {
    let line = |n: u64, op: &str| format!("zeit=0.{n:03} was={op} wo={} viel=8\n", n * 7919 % 1000 * 8);
    let lines = (1..20).map(|n| line(n, if n % 3 == 0 { "R" } else { "W" })).collect::<String>();
    let requests = read_as_told(&lines, "--columns time:s,op,lba:512,size:512");
    let few = lines.replace("zeit=", "").replace("was=", "");
    assert_eq!(read_as_told(&few, "--columns time:s,op,lba:512,size:512"), requests);
    assert_eq!((requests.len(), shown(&requests)[0]), (19, (1000, Op::Write, 919 * 8 * 512, 4096)));
    let json = lines.lines().map(|line| format!("{{\"{}}}\n", line.replace('=', "\":\"").replace(' ', "\",\"") + "\""));
    assert_eq!(read_as_told(&json.collect::<String>(), "--columns time:s,op,lba:512,size:512"), requests);
}

#[test]
fn json_of_another_shape_has_the_command_that_makes_lines_of_it() {
    let columns = OpenOptions { columns: Some("time,op,lba,size".parse().unwrap()), ..OpenOptions::default() };
    for (text, right) in [
        ("{\"ts\":1,\"io\":{\"op\":\"R\",\"lba\":8,\"len\":8}}\n", "`jq -c '(first("),
        ("{\n  \"ts\": 1,\n  \"op\": \"R\",\n  \"lba\": 8,\n  \"len\": 8\n}\n", "`jq -c '(first("),
        (
            "[{\"ts\":1,\"op\":\"R\",\"lba\":8,\"len\":8},{\"ts\":2,\"op\":\"R\",\"lba\":8,\"len\":8}]\n",
            "`jq -c '(first(",
        ),
        ("[\n  {\n    \"ts\": 1,\n    \"op\": \"R\"\n  }\n]\n", "`jq -c '(first("),
        ("[0.1,\"R\",8,8]\n[0.2,\"R\",8,8]\n", "`jq -r 'if (.[0]|type)"),
    ] {
        let said = error(text);
        assert!(
            said.starts_with("t: of JSON, lines are read that are an object of values") && said.contains(right),
            "{said}"
        );
        assert!(said.contains("' t | phelsuma trace convert - OUT.csv.zst --to csv` makes "), "{said}");
        assert_eq!(read_with(text, &columns).unwrap_err(), said);
    }
    let log = "[0.001] disk0: op=W lba=8 len=4096\n[0.002] disk0: op=R lba=2048 len=512\n";
    assert_eq!(read(log).0.len(), 2, "brackets are no JSON");
}

#[test]
fn days_and_times_of_day_may_be_in_two_columns() {
    let day = 19_723 * 86_400_000_000;
    let noon = 12 * 3_600_000_000;
    let right = [(day + noon + 123_000, Op::Write, 4096, 4096), (day + noon + 1_000_000, Op::Read, 1 << 20, 512)];
    for (text, columns) in [
        (
            "date,time,op,offset,size\n2024-01-01,12:00:00.123,W,4096,4096\n2024-01-01,12:00:01,R,1048576,512\n",
            "date,time:date,op,offset,size",
        ),
        (
            "Time Op LBA Size\n2024-01-01 12:00:00.123 W 8 4096\n2024-01-01 12:00:01 R 2048 512\n",
            "date,time:date,op,lba:512,size",
        ),
        (
            "op;size;clock time;Day;offset\nW;4096;12:00:00,123;2024/01/01;4096\nR;512;12:00:01;2024/01/01;1048576\n",
            "op,size,time:date,date,offset",
        ),
        (
            "timestamp,clock,op,offset,size\n2024-01-01,12:00:00.123Z,W,4096,4096\n2024-01-01,12:00:01Z,R,1048576,512\n",
            "date,time:date,op,offset,size",
        ),
        (
            "date=2024-01-01 time=12:00:00.123 op=W lba=8 len=4096\ndate=2024-01-01 time=12:00:01 op=R lba=2048 len=512\n",
            "date,time:date,op,lba:512,size",
        ),
    ] {
        let (requests, report) = read(text);
        assert_eq!((shown(&requests), report.warnings), (right.to_vec(), Vec::new()), "{text}");
        assert_eq!(report.files[0].columns.as_ref().unwrap().columns, columns, "{text}");
    }
    let bare = "2024-01-01 12:00:00.123 W 4096 4096\n2024-01-01 12:00:01 R 1048576 512\n2024-01-01 12:00:02 R 0 512\n";
    assert_eq!(shown(&read_as_told(bare, "--columns date,time:date,op,offset,size"))[..2], right);
    let commas = bare.replace(' ', ",");
    assert_eq!(shown(&read_as_told(&commas, "--columns date,time:date,op,offset,size"))[..2], right);
    // As a person may say who sees one column.
    let one = OpenOptions { columns: Some("time,op,offset,size".parse().unwrap()), ..OpenOptions::default() };
    assert_eq!(shown(&read_with(bare, &one).unwrap().0)[..2], right);
    // A date beside another time, and one alone.
    assert_eq!(read("date,time_us,op,offset,size\n2024-01-01,7,W,0,512\n").0[0].time_ns, 7000);
    assert_eq!(shown(&read("date,op,offset,size\n2024-01-01 12:00:00.123,W,4096,4096\n").0)[0], right[0]);
    // Dates that are passed over are said.
    for (text, said) in [
        ("01/02/2024,12:00:00,W,0,512", "dates beside times are passed over: the date may be day and month or"),
        (
            "20240102,120000,W,0,512",
            "dates beside times are passed over: not both are as 2024-03-09 and 23:59:55: 20240102",
        ),
    ] {
        let (_, report) = read(&format!("date,time,op,offset,size\n{text}\n"));
        assert!(report.warnings[0].contains(said), "{report:?}");
    }
    assert!("date,op,offset,size".parse::<ColumnSpec>().is_err());
    assert!("date,time:us,op,offset,size".parse::<ColumnSpec>().is_err());
}

#[test]
fn times_of_day_are_times_and_other_dates_are_said() {
    let lines = "12:00:00.001 W 4096 4096\n12:00:00.002 R 1048576 512\n12:00:00.003 R 0 512\n";
    let noon = 12 * 3_600_000_000;
    let right = TWO.map(|(time, op, offset, size)| (noon + time, op, offset, size));
    assert_eq!(shown(&read_as_told(lines, "--columns time:date,op,offset,size"))[..2], right);
    assert_eq!(shown(&read(&format!("time op offset size\n{lines}")).0)[..2], right);
    let half = "01:00:00 PM W 4096 4096\n01:00:01 PM R 1048576 512\n01:00:02 PM R 0 512\n";
    assert!(
        error(half).contains("the time of day has AM or PM apart: PM; `sed -E 's/(:[0-9][0-9.,]*)[ \\t]+("),
        "{}",
        error(half)
    );
    for (date, said) in [
        ("01/02/2024 12:00:00", "the date may be day and month or month and day: 01/02/2024 12:00:00; `sed -E "),
        ("Jan  1 12:00:00", "the date has its month in letters: Jan  1 12:00:00; as 2024-03-09 23:59:55"),
    ] {
        let text = format!("{date},W,4096,4096\n{date},R,1048576,512\n{date},R,0,512\n");
        assert!(error(&format!("time,op,offset,size\n{text}")).contains(said), "{}", error(&text));
        assert!(error(&text).contains(said), "{}", error(&text));
        assert_eq!(read_as_told(&text, "--columns -,op,offset,size").len(), 3);
    }
}

#[test]
fn columns_are_suggested_whatever_the_language_of_a_heading() {
    let line = |n: u64, read: &str, write: &str| {
        let op = if n.is_multiple_of(3) { read } else { write };
        format!("{};sd{};{op};{};{}\n", n * 1000 + n % 7, n % 2, n * 7919 % 1000 * 4096, 4096 << (n % 2))
    };
    for (heading, read, write, ops) in [
        ("Zeitpunkt;Platte;Vorgang;Adresse;L\u{e4}nge", "Lesen", "Schreiben", " --ops read=Lesen,write=Schreiben"),
        ("Heure;Disque;Demande;Adresse;Taille", "Lecture", "\u{c9}criture", " --ops read=Lecture,write=\u{c9}criture"),
        ("\u{65f6}\u{95f4};\u{8bbe}\u{5907};\u{64cd}\u{4f5c};\u{504f}\u{79fb};\u{5927}\u{5c0f}", "R", "W", ""),
        ("a;b;c;d;e", "gem", "hent", " --ops read=gem,write=hent"),
        ("a;b;c;d;e", "0", "1", " --ops read=0,write=1"),
    ] {
        let text = (0..30).map(|n| line(n, read, write)).fold(format!("{heading}\n"), |text, line| text + &line);
        let said = error(&text);
        assert!(said.contains(" may be right: this is a guess by what values look like"), "{said}");
        let requests = read_as_told(&text, &format!("--columns time:ms,device,op,offset,size{ops} --skip-lines 1"));
        assert_eq!((requests.len(), requests[0].op, requests[1].op), (30, Op::Read, Op::Write), "{text}");
        assert_eq!(said.ends_with("; which word is a read is a guess"), read == "gem", "{said}");
    }
    let several = (0..30).map(|n| format!("{n}.5 {} {} 8\n", ["hent", "gem", "t\u{f8}m"][n % 3], n * 7919 % 1000));
    let said = error(&several.collect::<String>());
    assert!(said.contains("--columns time:s,op,lba:512,size:512 --ops OP=gem,OP=hent,OP=t\u{f8}m may be"), "{said}");
    assert!(said.ends_with("; OP is read, write, trim, flush or skip"), "{said}");
}

#[test]
fn a_heading_may_be_a_comment() {
    for text in [
        "# time_us;op;lba;len\n1000;W;8;4096\n2000;R;2048;512\n",
        "#time_us,op,offset,size\n1000,W,4096,4096\n2000,R,1048576,512\n",
        "# made by a script\n#\n# time_us op lba len\n1000 W 8 4096\n2000 R 2048 512\n",
        "## time (us), op, lba, len\n1000,W,8,4096\n# half\n2000,R,2048,512\n",
        "sep=|\n# time_us|op|lba|len\n1000|W|8|4096\n2000|R|2048|512\n",
    ] {
        let (requests, report) = read(text);
        assert_eq!((shown(&requests), report.warnings), (TWO.to_vec(), Vec::new()), "{text}");
    }
    // What is no heading of these columns, or none of a request, is a comment.
    for comment in ["# the time, op, offset and size of each", "# zeit,was,wo,viel", "# op,lba,len"] {
        let text = format!("{comment}\n1000,W,4096,4096\n2000,R,1048576,512\n3000,R,0,512\n");
        assert!(error(&text).contains("; --columns time:ms,op,offset,size may be right"), "{}", error(&text));
    }
    let unknown = "# time_us;what;lba;len\n1000;W;8;4096\n2000;R;2048;512\n3000;R;0;512\n";
    assert_eq!(shown(&read_as_told(unknown, "--columns time:us,op,lba:512,size"))[..2], TWO);
    let dated = "# time op lba len\n2024-01-01 00:00:00.001 W 8 4096\n2024-01-01 00:00:00.002 R 2048 512\n";
    assert_eq!(shown(&read(dated).0)[1].2, 1 << 20);
}

#[test]
fn times_have_many_names() {
    for name in
        ["datetime", "when", "captured_at", "created", "clock", "begin", "epoch", "STARTs", "moment", "wall clock"]
    {
        let (requests, report) = read(&format!("{name},op,offset,size\n0.001,W,4096,4096\n0.002,R,1048576,512\n"));
        assert_eq!((shown(&requests), report.warnings), (TWO.to_vec(), Vec::new()), "{name}");
    }
    assert_eq!(shown(&read("at=0.001 op=W offset=4K size=4K\nat=0.002 op=R offset=1M size=512\n").0), TWO);
    // Beside another time they are none.
    let (requests, _) = read("created,time_us,when,op,offset,size\nx,1000,y,W,4096,4096\nx,2000,y,R,1048576,512\n");
    assert_eq!(shown(&requests), TWO);
    let days =
        read("date,clock,op,offset,size\n1970-01-01,00:00:00.001,W,4096,4096\n1970-01-01,00:00:00.002,R,1M,512\n");
    assert_eq!(shown(&days.0), TWO);
}

#[test]
fn times_that_no_heading_names_are_said() {
    let warned = |name: &str, value: &dyn Fn(u64) -> String| {
        let line = |n: u64| format!("{},W,{},4096\n", value(n), n * 7919 % 97 * 4096);
        read(&format!("{name},op,offset,size\n{}", (1..9).map(line).collect::<String>())).1.warnings
    };
    for (value, columns) in [
        (&(|n: u64| format!("{}.5", n * 3)) as &dyn Fn(u64) -> String, "time"),
        (&|n: u64| format!("{}", 1_700_000_000_000 + n * n), "time:ms"),
        (&|n| format!("2024-01-01 00:00:0{n}"), "time:date"),
    ] {
        let said = warned("noted", value);
        assert_eq!(
            said,
            [format!(
                "t: no times were found: durations will be 0, though `noted` looks like times; --columns \
                 {columns},op,offset,size reads them"
            )]
        );
    }
    assert!(warned("noted", &|n| format!("0{n}/13/2024 00:00:00"))[0].contains("; the date is month and day: 0"));
    for none in [&(|n: u64| n.to_string()) as &dyn Fn(u64) -> String, &|n| (n % 5).to_string(), &|_| "7".to_owned()] {
        assert_eq!(warned("depth", none), [""; 0]);
    }
    for text in ["timestamp,nsec,op,offset,size\n7,0,W,0,512\n7,3,W,0,512\n", "sec=7 usec=0 op=W lba=0 len=512\n"] {
        let more = text.replace("sec=7", "time=7")
            + &text.lines().last().unwrap().replace("0 op", "9 op").replace("sec=7", "time=7");
        let warnings = read(&more).1.warnings;
        assert!(warnings[0].contains("sec` has parts of seconds, which are passed over"), "{warnings:?}");
    }
    assert_eq!(read("timestamp,nsec,op,offset,size\n7.1,0,W,0,512\n7.2,3,W,0,512\n").1.warnings, [""; 0]);
    let strict = OpenOptions { strict: true, ..OpenOptions::default() };
    let text = "noted,op,offset,size\n1.5,W,0,512\n2.5,W,0,512\n2.5,W,0,512\n9.5,W,0,512\n";
    assert!(read_with(text, &strict).unwrap_err().contains("--strict takes no warning: t: no times were found"));
}

#[test]
fn a_begin_and_an_end_of_each_request_are_said() {
    for (name, begin, end) in
        [("event", "issue", "complete"), ("phase", "submit", "complete"), ("x", "start", "end"), ("ev", "D", "C")]
    {
        let lines = |n: u64| {
            let record = |n: u64, word: &str| format!("{n},{word},W,{},4096\n", n / 10 * 4096);
            record(n * 10, begin) + &record(n * 10 + 5, end)
        };
        let text = format!("time_us,{name},op,offset,size\n{}", (0..9).map(lines).collect::<String>());
        let (_, report) = read(&text);
        let right = format!("t: column `{name}` has {begin} and {end}, so that a request may have several records");
        assert!(report.warnings[0].starts_with(&right), "{report:?}");
        assert!(report.warnings[0].contains(&format!("`grep -vwE '{end}'` leaves out all but one")), "{report:?}");
        let kept: String =
            text.lines().filter(|line| !line.contains(&format!(",{end},"))).map(|l| format!("{l}\n")).collect();
        assert_eq!((read(&kept).1.requests, read(&kept).1.warnings), (9, Vec::new()));
    }
    let other = "time_us,zone,op,offset,size\n1,D,W,0,512\n2,C,W,0,512\n";
    assert_eq!(read(other).1.warnings, [""; 0]);
}

#[test]
fn long_gaps_and_small_sizes_are_doubted() {
    let lines = |heading: &str, step: u64, size: u64| {
        let line = |n: u64| format!("{},W,{},{}\n", n * step, n * 7919 % 1000, size << (n % 3));
        read(&format!("{heading}\n{}", (0..20).map(line).collect::<String>())).1.warnings
    };
    let gaps = lines("time,op,offset_4k,size_4k", 400, 1);
    assert!(
        gaps[0].starts_with("with times in s there are 380 s between requests on average, which is long"),
        "{gaps:?}"
    );
    assert_eq!(lines("time,op,offset_4k,size_4k", 9, 1), [""; 0]);
    assert_eq!(lines("time_s,op,offset_4k,size_4k", 400, 1), [""; 0]);
    let small = lines("time_us,op,lba,length", 7, 512);
    assert!(small[0].contains("--columns time:us,op,lba:512,size:512 takes units of 512 B"), "{small:?}");
    assert_eq!(lines("time_us,op,lba,bytes", 7, 512), [""; 0]);
    assert!(!lines("time_us,op,lba,length", 7, 4096)[0].contains("sizes are"));
}

#[test]
fn devices_have_many_names_and_may_be_in_several_columns() {
    for name in ["nsid", "namespace", "vm_id", "hostname", "target", "major", "dev", "device_name"] {
        let (_, report) = read(&format!("time_us,{name},op,offset,size\n1,a,W,0,512\n2,b,W,0,512\n3,a,R,0,512\n"));
        assert_eq!((report.devices, report.warnings), (2, Vec::new()), "{name}");
    }
    for (names, columns) in [
        ("host,lun", "time:us,device:name,device:name,op,offset,size"),
        ("major,minor", "time:us,device:name,device:name,op,offset,size"),
    ] {
        let lines = "1,7,1,W,0,512\n2,7,2,W,0,512\n3,8,1,R,0,512\n4,8,2,R,0,512\n5,7,1,R,0,512\n";
        let (requests, report) = read(&format!("time_us,{names},op,offset,size\n{lines}"));
        assert_eq!((report.devices, report.warnings), (4, Vec::new()), "{names}");
        assert_eq!(report.files[0].columns.as_ref().unwrap().columns, columns);
        let options = OpenOptions { columns: Some(columns.parse().unwrap()), ..OpenOptions::default() };
        assert_eq!(read_with(lines, &options).unwrap().0, requests);
    }
    // One within the other tells as much alone.
    let nested = "time_us,host,lun,op,offset,size\n1,7,1,W,0,512\n2,7,2,W,0,512\n3,8,3,R,0,512\n";
    assert_eq!(read(nested).1.files[0].columns.as_ref().unwrap().columns, "time:us,-,device,op,offset,size");
    assert!("device,device,device,device,op,offset,size".parse::<ColumnSpec>().is_ok());
    let five = "device,device,device,device,device,op,offset,size".parse::<ColumnSpec>().unwrap_err().to_string();
    assert!(five.contains("5 columns are device, four at the most would be right"), "{five}");
}

#[test]
fn advice_takes_what_is_plain() {
    let taken = |heading: &str| error(&format!("{heading}\n1,W,512,512,512\n"));
    assert!(taken("time_us,op,file_size,size,offset").contains("--columns time:us,op,-,size,offset takes `size`, `-`"));
    assert!(taken("time_us,op,file_offset,disk_offset,size").contains("time:us,op,-,offset,size takes `disk_offset`"));
    assert!(taken("time_us,op,offset,address,size").contains("time:us,op,offset,-,size takes the first, `-`"));
    let flag = "time_us,read,offset,size\n0,0,0,512\n1,1,8192,512\n2,1,4096,512\n";
    assert_eq!(
        read_as_told(flag, "--columns time:us,op,offset,size --ops write=0,read=1 --skip-lines 1")[0].op,
        Op::Write
    );
    for (date, said) in [
        (
            "03/15/2024",
            "the date is month and day: 03/15/2024 12:00:00; `sed -E 's#([0-9]{2})[/]([0-9]{2})[/]([0-9]{4})#\\3-\\1-\\2#g'`",
        ),
        (
            "15/03/2024",
            "the date is day and month: 15/03/2024 12:00:00; `sed -E 's#([0-9]{2})[/]([0-9]{2})[/]([0-9]{4})#\\3-\\2-\\1#g'`",
        ),
    ] {
        let said_of = error(&format!("time,op,offset,size\n{date} 12:00:00,W,0,512\n"));
        assert!(said_of.contains(said), "{said_of}");
    }
}

#[test]
fn formats_by_shape_are_doubted_where_times_begin_in_1970() {
    let lines = |time: &dyn Fn(u64) -> String| {
        (0..20).map(|n| format!("0,W,{},4096,{}\n", n * 8192, time(n))).collect::<String>()
    };
    let said = |time: &dyn Fn(u64) -> String| read(&lines(time)).1.warnings;
    let seconds = said(&|n| format!("{}.5", 1_709_647_180 + n));
    assert_eq!(seconds, ["with times in us the trace begins soon after 1970, so they may be in s: --time-unit s"]);
    assert!(said(&|n| (1_709_647_180_000 + n).to_string())[0].ends_with("--time-unit ms"));
    assert_eq!(said(&|n| (1_709_647_180_000_000 + n * 7).to_string()), [""; 0]);
    assert_eq!(said(&|n| (n * 700).to_string()), [""; 0]);
    let spc = (0..20).map(|n| format!("0,{},4096,W,{n}.5\n", n * 7 % 20 * 4096)).collect::<String>();
    assert!(read(&spc).1.warnings[0].ends_with("--columns device,offset,size,op,time"));
}

/// What `--columns` says of each line, without a heading.
fn by(columns: &str) -> OpenOptions {
    OpenOptions { columns: Some(columns.parse().unwrap()), ..OpenOptions::default() }
}

#[test]
fn missing_times_are_said() {
    let said = error("x W 65536 4096\nx R 8192 8192\nx R 4096 4096\n");
    assert!(said.ends_with("; no times were found: durations will be 0"), "{said}");
    let lines = "1700000001 W 4096 4096\n1700000002 R 8192 4096\n1700000004 R 65536 4096\n";
    let warnings = read_with(lines, &by("-,op,offset,size")).unwrap().1.warnings;
    assert_eq!(
        warnings,
        [
            "t: no times were found: durations will be 0, though column 1 looks like times: `1700000001`; `time` there in \
          --columns reads them"
        ]
    );
    assert_eq!(read_with(lines, &by("time,op,offset,size")).unwrap().1.warnings, [""; 0]);
    let plain = "x W 4096 4096\nx R 8192 4096\nx R 65536 4096\n";
    assert_eq!(read_with(plain, &by("-,op,offset,size")).unwrap().1.warnings, [""; 0]);
}

#[test]
fn loggers_write_words_before_values_with_names() {
    let at = |text: &str| read(text).0.iter().map(|request| request.time_ns % 1_000_000_000_000).collect::<Vec<_>>();
    for text in [
        "2024-01-01 00:00:00.001 dev=sda op=W lba=8 len=4096\n2024-01-01 00:00:00.002 dev=sda op=R lba=2048 len=512\n",
        "2024-01-01 00:00:00,001 INFO io: WRITE vol=1 offset=4096 size=4096\n\
         2024-01-01 00:00:00,002 INFO io: READ vol=1 offset=1M size=512\n",
        "2024-01-01 00:00:00,000 INFO io: begins\n2024-01-01 00:00:00,001 INFO io: write vol=1 offset=4K size=4K\n\
         2024-01-01 00:00:00,002 INFO io: read vol=1 offset=1M size=512\n",
        "INFO [2024-01-01T00:00:00.001Z] op=W lba=8 len=4096\nINFO [2024-01-01T00:00:00.002Z] op=R lba=2048 len=512\n",
        "[1704067200.001] 7 db op=W lba=8 len=4096\n[1704067200.002] 7 db op=R lba=2048 len=512\n",
        "Jan ts=1704067200.001 op=W lba=8 len=4096\nJan ts=1704067200.002 op=R lba=2048 len=512\n",
    ] {
        let requests = read(text).0;
        let of = |request: &Request| (request.op, request.offset_bytes, request.size_bytes);
        assert_eq!(requests.iter().map(of).collect::<Vec<_>>(), TWO.map(|(_, op, at, size)| (op, at, size)), "{text}");
        assert_eq!(at(text), [67_200_001_000_000, 67_200_002_000_000].map(|ns| ns % 1_000_000_000_000), "{text}");
    }
    // The same where a person names the columns.
    let line = "2024-01-01 00:00:00,001 INFO io: hent vol=1 offset=4096 size=4096\n";
    let columns = by("date,time:date,-,-,op,device,offset,size").columns.unwrap().with_ops("read=hent").unwrap();
    let options = OpenOptions { columns: Some(columns), ..OpenOptions::default() };
    assert_eq!(read_with(line, &options).unwrap().0[0].offset_bytes, 4096);
    assert_eq!(read_with(&format!("starting, 3 volumes\n{line}"), &options).unwrap().0.len(), 1);
}

#[test]
fn times_have_brackets_halves_of_days_and_months_by_name() {
    let right = |at: u64| TWO.map(|(time, op, offset, size)| (at + time, op, offset, size));
    let noon = 12 * 3_600_000_000;
    for (one, two, at) in [
        ("[0.001]", "[0.002]", 0),
        ("[    0.001]", "[    0.002]", 0),
        ("12:00:00.001PM", "12:00:00.0020000PM", noon),
        ("[12:00:00.001]", "[12:00:00.002]", noon),
        ("[01/Jan/1970:12:00:00.001]", "[01/Jan/1970:12:00:00.002]", noon),
        ("010000.001", "010000.002", 3_600_000_000),
    ] {
        let text = format!("time op offset size\n{one} W 4096 4096\n{two} R 1048576 512\n");
        let (requests, report) = read(&text);
        assert_eq!((shown(&requests), report.warnings), (right(at).to_vec(), Vec::new()), "{text}");
    }
    let quoted =
        "\"time\",\"op\",\"offset\",\"size\"\n\"1:00:00.0010000 PM\",W,4096,4096\n\"1:00:00.0020000 PM\",R,1M,512\n";
    assert_eq!(shown(&read(quoted).0), right(13 * 3_600_000_000));
    // Lines for people are no headings, and hexadecimal numbers no months.
    let junk =
        "Tracing blocks. Hit Ctrl-C to end.\n[0.001] op=W sector=4096 nr=4096\n[0.002] op=R sector=8192 nr=512\n";
    assert!(error(junk).contains("; --columns time,op,"), "{}", error(junk));
    let hex = "0.1 W 0x000dec8950 0x1000\n0.2 R 0x000dec9950 0x1000\n0.3 W 0x000dec1000 0x1000\n";
    assert!(!error(hex).contains("month"), "{}", error(hex));
}

#[test]
fn names_of_counts_are_sizes_and_those_of_blocks_units() {
    for heading in [
        "ts_us,op,lba,num_lba",
        "ts_us,op,sector,nr_sector",
        "ts_us,op,sector,nr_sector(s)",
        "ts_us,op,slba,nlb",
        "@ts_us,op,lba,number of blocks",
    ] {
        let (requests, report) = read(&format!("{heading}\n1000,W,8,8\n2000,R,2048,1\n"));
        assert_eq!(shown(&requests), TWO, "{heading}: {:?}", report.warnings);
    }
    let timed = "{\"@timestamp\":\"1970-01-01T00:00:00.001Z\",\"op\":\"W\",\"lba\":8,\"blocks\":8,\"block_size\":512}\n\
                 {\"@timestamp\":\"1970-01-01T00:00:00.002Z\",\"op\":\"R\",\"lba\":2048,\"blocks\":1,\"block_size\":512}\n";
    assert_eq!(shown(&read(timed).0), TWO);
    let large = "time_us,op,lba,blocks,block_size\n1000,W,1,1,4096\n2000,R,256,2,4096\n";
    assert_eq!(shown(&read(large).0), [TWO[0], (2000, Op::Read, 1 << 20, 8192)]);
    // One alone is the size of the request.
    assert_eq!(read("time_us,op,offset,block_size_bytes\n1,W,0,4096\n").0[0].size_bytes, 4096);
}

#[test]
fn sizes_less_one_are_read_as_their_heading_says() {
    for heading in ["NLB (0-based)", "nlb (0's based)", "zero-based NLB"] {
        let text = format!("Time (us),Opcode,NSID,SLBA,{heading}\n1000,0x01,1,0x8,0x0007\n2000,0x02,1,0x800,0x0000\n");
        let (requests, report) = read(&text);
        assert_eq!(shown(&requests), TWO, "{heading}");
        assert_eq!(report.files[0].columns.as_ref().unwrap().columns, "time:us,op,device,lba:512,size-1:512");
    }
    let lines = "1000 W 8 7\n2000 R 2048 0\n";
    assert_eq!(shown(&read_with(lines, &by("time:us,op,lba,size-1:512")).unwrap().0), TWO);
    assert_eq!(by("op,offset,size-1").columns.unwrap().to_string(), "op,offset,size-1");
}

#[test]
fn operations_have_the_words_of_systems() {
    for (write, read_) in [
        ("WM", "RA"),
        ("FWFSM", "RAM"),
        ("WRITE(10)", "READ(16)"),
        ("Write_16", "read_10"),
        ("WriteFile", "ReadFile"),
        ("pwrite64", "pread64"),
        ("blk_co_pwritev", "blk_co_preadv"),
        ("'W'", "'R'"),
    ] {
        let text = format!("time_us,op,offset,size\n1000,{write},4096,4096\n2000,{read_},1048576,512\n");
        assert_eq!(shown(&read(&text).0), TWO, "{write}");
    }
    assert!(error("time_us,op,offset,size\n1,d_1,4096,4096\n").contains("no meaning yet"));
    // Of NVMe by its names alone.
    assert!(error("time_us,op,offset,size\n1000,0x01,4096,4096\n").contains("no meaning yet"));
}

#[test]
fn comments_that_name_columns_may_have_units_and_meanings_in_brackets() {
    for text in [
        "# Requests of a server\n# Columns: ts[us] dev opcode(28=read,2a=write) LBA[4KB blocks] length[512 B]\n\
         1000 0 2a 1 8\n2000 0 28 256 1\n",
        "#Fields: time (us) op lba len (bytes)\n1000 W 8 4096\n2000 R 2048 512\n",
    ] {
        let (requests, report) = read(text);
        assert_eq!((shown(&requests), report.warnings), (TWO.to_vec(), Vec::new()), "{text}");
    }
}

#[test]
fn what_is_behind_the_last_record_is_left_out_and_said() {
    let good = "time_us,op,offset,size\n1000,W,4096,4096\n2000,R,1048576,512\n";
    for end in
        ["\\.\n", "(2 rows)\n\n", "+----+---+\n2 rows in set (0.01 sec)\n", "Total,2,0,4608\n", "\\.\n\n--\n-- done\n"]
    {
        let (requests, report) = read(&format!("{good}{end}"));
        assert_eq!(shown(&requests), TWO, "{end}");
        assert!(
            report.warnings[0].starts_with("t: line 4 behind the last record is left out"),
            "{:?}",
            report.warnings
        );
        assert_eq!(report.warnings.len(), 1, "{:?}", report.warnings);
    }
    // Before another record it is an error, and so is a record that is cut.
    for end in ["(2 rows)\n3000,R,0,512\n", "3000,R,0\n", "3000"] {
        assert!(error(&format!("{good}{end}")).starts_with("t:4: `"), "{}", error(&format!("{good}{end}")));
    }
    let many = "x\n".repeat(9);
    assert!(error(&format!("{good}{many}")).starts_with("t:4: `x`"));
}

#[test]
fn pages_repeat_their_headings() {
    let page =
        |number: u64| format!("Report of a disk   page {number}\n\ntime  op  offset  size\n----  --  ------  ----\n");
    let text = format!("{}0.001 W 4096 4096\n{}0.002 R 1048576 512\n", page(9), page(10));
    let (requests, report) = read_with(&text, &by("time,op,offset,size")).unwrap();
    assert_eq!(shown(&requests), TWO, "{:?}", report.warnings);
    let skipping = by("time,op,offset,size").columns.unwrap().with_skip_lines(4);
    let skipping = OpenOptions { columns: Some(skipping), ..OpenOptions::default() };
    assert_eq!(read_with(&text, &skipping).unwrap().0, requests);
    assert!(read_with(&text.replace("page 10", "leaf 10"), &skipping).is_err());
}

#[test]
fn a_first_record_that_cannot_be_read_hides_no_others_like_it() {
    for odd in ["9,write,0,1.8X", "9,write,-,-", "9,W,NA,4096"] {
        let text = format!("time_us,op,offset,size\n{odd}\n1000,W,4096,4096\n{odd}\n2000,R,1048576,512\n");
        assert!(error(&text).starts_with("t:4: "), "{}", error(&text));
    }
}

#[test]
fn single_quotes_are_no_part_of_values() {
    for text in [
        "time,op,lba,len,who\n'1970-01-01 00:00:00.001','W',8,'4096','it''s, me'\n'1970-01-01 00:00:00.002','R','2048',512,'x'\n",
        "'time_us' 'op' 'offset' 'size'\n1000 'W' 4096 4096\n'2000' R 1048576 512\n",
        "ts='0.001' op='W' lba='8' len=4096\nts='0.002' op='R' lba=2048 len='512'\n",
    ] {
        assert_eq!(shown(&read(text).0), TWO, "{text}");
    }
    assert_eq!(read("op,offset,size,who\nW,0,512,o'neill\nR,0,512,'tis\n").0.len(), 2);
}

/// So many lines, each by its number, a read every third.
fn lines(of: impl Fn(u64, &str, u64) -> String) -> String {
    (0..20).map(|n| of(n, if n % 3 == 0 { "read" } else { "write" }, n * 7919 % 1000 * 8) + "\n").collect()
}

#[test]
fn words_before_values_are_their_names() {
    let text = lines(|n, op, at| {
        format!("1970-01-01T00:00:00.{:03}Z cpu{}:7)Trace: naa.{} cmd {op} lba {at} len 8 lat 5us", n + 1, n % 2, n % 3)
    });
    let told = read_as_told(&text, "--columns time:date,-,device,-,op,-,lba:512,-,size:512,-,-");
    assert_eq!((told.len(), shown(&told)[1]), (20, (2000, Op::Write, 919 * 4096, 4096)));
    let text = lines(|n, op, at| {
        format!(
            "Apr 12 08:00:00 host prog[7]: {} LUN {} {op} lba {at} blocks 8",
            1_700_000_000_000_000 + n * 500,
            n % 2
        )
    });
    read_as_told(&text, "--columns -,-,-,-,-,time:us,-,device,op,-,lba:512,-,size:512");
    let joined = lines(|n, op, at| format!("77@0.{n:03}:p{op}v blk 0x55 offset {} bytes 4096 flags 0x0", at * 512));
    let said = error(&joined);
    assert!(
        said.contains("; operations are within the first word (`77@0.000:preadv`); `sed 's/[@]/ /;s/[:]/ /'` sets"),
        "{said}"
    );
    let apart = joined.replace(['@', ':'], " ").replace("writev", "writev2");
    read_as_told(&apart, "--columns -,time:s,op,-,device,-,offset,-,size,-,-");
}

#[test]
fn guesses_are_plausible() {
    // Nanoseconds of a machine's own clock, and since 1970.
    let uptime = lines(|n, op, at| format!("{} nvme0n1 {op} {at} 4096", 5_123_283_061_137 + n * 4_000_000));
    assert!(error(&uptime).contains("; --columns time:ns,device,op,lba:512,size may"), "{}", error(&uptime));
    let since = lines(|n, op, at| format!("{} {op} {at} 4096", 1_681_287_062_881_593_456 + n * 4_000_000));
    assert!(error(&since).contains("; --columns time:ns,op,lba:512,size may"), "{}", error(&since));
    let minutes = lines(|n, op, at| format!("{} {op} {at} 4096", 1_681_287_062 + n * 4_000));
    assert!(error(&minutes).contains("; --columns time:us,op,lba:512,size may"), "{}", error(&minutes));
    // A word that is the same in each line is no operation where others differ.
    let level = lines(|n, op, at| format!("D {n}.5 {op} {} 4096", at * 512));
    assert!(error(&level).contains("; --columns -,time:s,op,offset,size may"), "{}", error(&level));
    let constant = lines(|n, _, at| format!("info {n}.5 {} 4096 x{}", at * 512, n % 7));
    assert!(!error(&constant).contains("OP=info"), "{}", error(&constant));
    let processes = lines(|n, op, at| format!("{n}.5 {} {op} {} 4096", 811 + n % 3 * 400, at * 512));
    assert!(error(&processes).ends_with("may be those of processes, which `-` passes over"), "{}", error(&processes));
}

#[test]
fn what_is_no_table_has_a_command_that_makes_one() {
    for (text, said) in [
        (
            "-- a dump\nINSERT INTO `t` VALUES (1,'w',0,512),(2,'r',0,512);\n",
            "t: SQL is no table of requests; `sed -nE ",
        ),
        (
            "\"Time of Day\",\"Operation\",\"Detail\"\n\"8:11:02.4 AM\",\"ReadFile\",\"Offset: 2,937, Length: 4,096, Flags\"\n",
            "t: the CSV of Process Monitor is no table",
        ),
        (
            "7  1681287062.2 pread64(7, \"\\0\"..., 4096, 163552) = 4096\n",
            "t: strace is no table of requests; `sed -nE ",
        ),
        (
            "[ 5.1] sd 2:0:0:0: [sda] CDB: Write(10) 2a 00 06 51 ba 08 00 01 00 00\n",
            "t: the kernel's log of SCSI commands",
        ),
    ] {
        assert!(error(text).starts_with(said), "{}", error(text));
    }
    // As the commands make them.
    let sql = lines(|n, op, at| format!("{n},'1970-01-01 00:00:00.{n:03}','sda','{op}',{},4096", at * 512));
    read_as_told(&sql, "--columns -,time:date,device,op,offset,size");
    let monitored = lines(|n, op, at| format!("8:11:02.{n:07} AM;{op}File;{};4096", at * 512));
    read_as_told(&monitored, "--columns time:date,op,offset,size");
}
