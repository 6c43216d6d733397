//! What a heading or values leave in doubt of times.

use crate::samples::{error, read, read_with, says, says_not};
use phelsuma_trace::{InputReport, OpenOptions, TimeUnit};

/// A file of so many records with these columns in front.
fn of_lines(names: &str, count: u64, line: impl Fn(u64) -> String) -> String {
    let lines = (0..count).map(|n| format!("{},W,{},4096\n", line(n), n % 7 * 4096));
    lines.fold(format!("{names},op,offset,size\n"), |text, line| text + &line)
}

fn report(names: &str, count: u64, line: impl Fn(u64) -> String) -> InputReport {
    read(&of_lines(names, count, line)).1
}

#[test]
fn seconds_that_may_be_times_of_day_are_doubted() {
    let clock = |n: u64| format!("{:02}{:02}{:02}.{}", 23, 50 + n / 60, n % 60, n % 10);
    let text = of_lines("time", 90, clock);
    says(&read(&text).1, "times such as 235000.0 may be times of day, 23:50:00.0, and are taken for seconds");
    says(&read(&text).1, "--columns time:date,op,offset,size takes the former, and --time-unit s the latter");
    let two = "time,op,offset,size\n235859.9,W,0,4096\n235900.1,W,4096,4096\n";
    says(&read(two).1, "--columns time:date,op,offset,size");
    let seconds = OpenOptions { time_unit: Some(TimeUnit::S), ..OpenOptions::default() };
    assert_eq!(read_with(two, &seconds).unwrap().1.warnings, [""; 0]);
    let dates = OpenOptions { columns: Some("time:date,op,offset,size".parse().unwrap()), ..OpenOptions::default() };
    let (requests, _) = read_with(two.split_once('\n').unwrap().1, &dates).unwrap();
    assert_eq!(requests[1].time_ns - requests[0].time_ns, 200_000_000);
    // These are seconds: a unit says so, or a value does.
    says_not(&read(&text.replacen("time", "time_s", 1)).1, "times of day");
    says_not(&report("time", 90, |n| format!("{}.{}", 235_000 + n, n % 10)), "times of day");
    says_not(&report("time", 30, |n| format!("{}.{}", 235_010 + n, n % 10)), "times of day");
}

#[test]
fn times_with_more_digits_are_found_whose_unit_has_a_name() {
    for (names, unit, scale) in [("time_s,ktime_ns", "ns", 1_000_000), ("time_s,boot_us", "us", 1000)] {
        let report = report(names, 5000, |n| format!("{},{}", 1_700_000_000 + n / 1000, 5_123_456 + n * scale));
        let (time, finer) = names.split_once(',').unwrap();
        says(&report, &format!("column `{finer}` has the times of `{time}` with more digits"));
        says(&report, &format!("--columns -,time:{unit},op,offset,size reads them"));
    }
    for (names, fine) in [
        ("time_s,latency_ns", &(|n: u64| n * 1_000_000) as &dyn Fn(u64) -> u64),
        ("time_s,lock_ns", &|n| n * 7919 % 1000),
        ("time_s,busy_ns", &|n| n * 90_000_000),
    ] {
        says_not(&report(names, 1500, |n| format!("{},{}", 1_700_000_000 + n / 1000, fine(n))), "more digits");
    }
}

#[test]
fn parts_of_seconds_are_known_by_names_or_values() {
    for name in ["nano", "nanosec", "nsec_part", "ns_since_second", "ticks", "fract_ns", "x", "part_2"] {
        let report =
            report(&format!("time_s,{name}"), 60, |n| format!("{},{}", 1_700_000_000 + n / 7, n % 7 * 142_857_142));
        says(&report, &format!("column `{name}` has parts of seconds, which are passed over"));
    }
    // Too few of them to show it.
    let few = |name: &str| report(&format!("time_s,{name}"), 4, |n| format!("{},{}", 1_700_000_000, n * 142_857));
    for name in ["usec", "microsec", "micros", "micro", "fract_us", "us_part", "us_since_second"] {
        says(&few(name), &format!("column `{name}` has parts of seconds"));
    }
    // What is numbered within each second, or anew, is none.
    for part in [&(|n: u64| n % 7) as &dyn Fn(u64) -> u64, &|n| n * 7919 % 1000, &|n| n % 7 * 8] {
        says_not(&report("time_s,x", 60, |n| format!("{},{}", 1_700_000_000 + n / 7, part(n))), "parts of seconds");
    }
}

#[test]
fn hexadecimal_times_are_said() {
    says(
        &report("time_us(hex)", 4, |n| format!("10{n}0")),
        "column `time_us(hex)` has hexadecimal times, which are taken for decimal ones",
    );
}

#[test]
fn times_between_requests_are_summed_first() {
    for name in ["delta_us", "think_us", "gap_us", "inter_arrival_us", "iat_us", "interval (us)"] {
        let report = report(name, 60, |n| (n * 7919 % 1000).to_string());
        says(&report, &format!("though `{name}` looks like times between requests; `awk -F',' -v OFS=',' '"));
        says(&report, &format!("if ($1 == \"{name}\") $1 = \"time_us\""));
    }
    let text = of_lines("delta_us", 60, |n| (n * 7919 % 1000).to_string()).replace(',', " ");
    says(&read(&text).1, "looks like times between requests; `awk '{ if ($1 == ");
    // What grows is no time between requests.
    says(&report("delta_us", 60, |n| (n * 79).to_string()), "--columns time:us,op,offset,size reads them");
}

#[test]
fn times_of_day_pass_midnight() {
    let clock = |n: u64| format!("{:02}:{:02}:{:02}.5", (23 + n / 3600) % 24, n / 60 % 60, n % 60);
    let report = report("time", 60, |n| clock(n * 120));
    says(&report, "times of day that pass midnight");
    says_not(&report, "--sort");
    let back = read("time,op,offset,size\n12:00:01,W,0,512\n12:00:00,W,0,512\n12:00:02,R,0,512\n").1;
    says(&back, "requests earlier than the one before them: 1; --sort orders them");
    says_not(&back, "midnight");
}

#[test]
fn commas_within_quotes_are_seen_where_columns_are_guessed() {
    let lines = (0..30)
        .map(|n| format!("\"0,{:06}\",\"{}\",\"{}\",\"4096\"\n", n * 137, ["R", "W"][n % 2], n * 7919 % 101 * 4096));
    let text = lines.fold("\"Zeit\",\"Vorgang\",\"Offset\",\"Menge\"\n".to_owned(), |text, line| text + &line);
    let said = error(&text);
    assert!(said.contains("--columns time:s,op,offset,size --skip-lines 1 may be right"), "{said}");
}

#[test]
fn a_date_that_is_not_read_is_named_before_its_clock() {
    let said = error("When,Op,Offset,Length\n3/2/2026 7:59:59.0 PM,Write,4096,4\n3/2/2026 7:59:59.1 PM,Write,0,4\n");
    assert!(said.contains("the date may be day and month or month and day: 3/2/2026 7:59:59.0 PM"), "{said}");
}
