//! What a heading or values leave in doubt, which must not pass in silence: volumes, commas, hexadecimal numbers, digits
//! of times.

use crate::samples::{error, read, read_with, says, says_not};
use phelsuma_trace::{ColumnSpec, InputReport, OpenOptions, Request};

fn by(columns: &str) -> OpenOptions {
    OpenOptions { columns: Some(columns.parse().unwrap()), ..OpenOptions::default() }
}

/// A file of thirty records.
fn lines(heading: &str, line: impl Fn(u64) -> String) -> String {
    (0..30).fold(format!("{heading}\n"), |text, n| text + &line(n) + "\n")
}

/// One with a column of this name and of values.
fn of_volumes(name: &str, value: impl Fn(u64) -> String) -> (Vec<Request>, InputReport) {
    let text = lines(&format!("time_us,{name},op,offset,size"), |n| {
        format!("{},{},W,{},4096", n * 10, value(n), n % 7 * 4096)
    });
    read(&text)
}

#[test]
fn volumes_are_told_apart_whatever_their_column_is_called() {
    for name in [
        "bdev",
        "fd",
        "partition",
        "disk",
        "volume",
        "dev_id",
        "vm",
        "lun",
        "namespace",
        "block_device",
        "blockDevice",
        "blkdev",
        "part",
        "VolumeName",
        "dev no",
        "vmdk",
    ] {
        let (_, report) = of_volumes(name, |n| (n % 3).to_string());
        assert_eq!((report.devices, report.warnings), (3, Vec::new()), "{name}");
    }
    // Of any name where values are drives.
    for value in ["sda", "/dev/nvme0n1p", "8:", "dm-", "disk_"] {
        let (_, report) = of_volumes("x", |n| format!("{value}{}", n % 2 + 1));
        assert_eq!((report.devices, report.warnings), (2, Vec::new()), "{value}");
    }
    let (_, report) = of_volumes("where it went", |n| ["C:", "D:"][n as usize % 2].to_owned());
    assert_eq!((report.devices, report.warnings), (2, Vec::new()));
}

#[test]
fn devices_of_many_names_are_seen() {
    let of = |count: u64, value: &dyn Fn(u64) -> String| {
        let lines = (0..count).map(|n| format!("{},{},W,{},4096\n", n * 10, value(n), n % 7 * 4096));
        read(&lines.fold("time_us,x,op,offset,size\n".to_owned(), |text, line| text + &line)).1
    };
    let among = |names: &'static [&'static str]| move |n: u64| names[n as usize % names.len()].to_owned();
    for (count, value) in [
        (1500, &(|n: u64| (n * 7919 % 256).to_string()) as &dyn Fn(u64) -> String),
        (1500, &|n| (n * 7919 % 257).to_string()),
        (1500, &|n| format!("v{}", n * 7919 % 400)),
        (60, &|n| ((1u64 << 40) + n * 7 % 3).to_string()),
        // One of them is also a word for an operation, or begins as a date does.
        (60, &among(&["a", "b", "d"])),
        (60, &among(&["C", "D", "E"])),
        (60, &among(&["pool-mar-1", "pool-may-1"])),
        (60, &among(&["jan-1", "mar-2", "b"])),
        // Each comes once more, at the end.
        (60, &|n| format!("v{}", n % 30)),
    ] {
        says(&of(count, value), "column `x` looks like devices (");
    }
    for (count, value) in [
        (60, &among(&["R", "W"]) as &dyn Fn(u64) -> String),
        (60, &among(&["read", "write", "x"])),
        (60, &|n| format!("0xffff8881{:08x}", n % 5)),
        (60, &among(&["Mar 1 12:00:00", "Mar 1 12:00:01"])),
        (1500, &|n| (n * 7919 % 1201).to_string()),
    ] {
        says_not(&of(count, value), "looks like devices");
    }
}

#[test]
fn columns_that_look_like_devices_are_said() {
    for name in ["spindle", "tenant", "file", "pool", "x", "bucket"] {
        for value in [&(|n: u64| (n % 2).to_string()) as &dyn Fn(u64) -> String, &|n| format!("a{}", n % 3)] {
            let (_, report) = of_volumes(name, value);
            says(&report, &format!("column `{name}` looks like devices ("));
            says(&report, ", all of which are taken for one: --columns time:us,device:name,op,offset,size tells them");
        }
    }
    let text = lines("time_us,spindle,op,offset,size", |n| format!("{},{},W,0,512", n * 10, n % 2));
    let (_, report) = read_with(text.split_once('\n').unwrap().1, &by("time:us,device:name,op,offset,size")).unwrap();
    assert_eq!((report.devices, report.warnings), (2, Vec::new()));
    // Beside a host it may be one of the host's.
    let text = lines("time_us,host,store,op,offset,size", |n| format!("{n},h{},s{},W,0,4096", n % 2, n % 4));
    says(
        &read(&text).1,
        "`store` looks like devices (`s0`, `s1`, `s2`, …), which that of devices does not tell apart: --columns",
    );
    let sure = text.replace("host", "disk");
    assert_eq!(read(&sure).1.warnings, [""; 0]);
    for (name, value) in [
        ("pid", &(|n: u64| (n % 2 + 700).to_string()) as &dyn Fn(u64) -> String),
        ("cpu", &|n| (n % 2).to_string()),
        ("sync_flag", &|n| (n % 2).to_string()),
        ("x", &|n| (n / 5).to_string()),
        ("x", &|n| (n * 7919 % 31).to_string()),
        ("x", &|n| format!("{}.5", n % 3)),
        ("x", &|_| "1".to_owned()),
    ] {
        assert_eq!(of_volumes(name, value).1.warnings, [""; 0], "{name}");
    }
}

#[test]
fn commas_mean_one_thing_in_a_line() {
    let of = |text: &str| read(&format!("time_ms;op;offset;size\n{text}"));
    // Times and addresses are of one locale.
    let (requests, report) = of("1,317;W;1,317;4,096\n2,400;W;26,492,928;4,096\n");
    assert_eq!((requests[0].time_ns, requests[0].offset_bytes), (1_317_000_000, 1317));
    says_not(&report, "commas");
    let (requests, _) = of("1,317;W;1317;4096\n2,400;W;0;4096\n");
    assert_eq!(requests[0].time_ns, 1_317_000);
    // Or they are not, which is said.
    let (requests, report) = of("0,317;W;1,317;4096\n1,400;W;0;4096\n");
    assert_eq!((requests[1].time_ns, requests[0].offset_bytes), (1_400_000, 1317));
    says(&report, "whole numbers with commas between thousands, beside times whose commas are taken for decimal ones");
    let late = format!("{}1,500;W;4,096;4096\n", "1,400;W;0;4096\n".repeat(5000));
    says(&of(&late).1, "no commas in whole numbers, would leave no doubt: 1");
    for (text, said) in [("1,317;W;4,096;512\n", "1,5;W;0;512\n"), ("1,5;W;0;512\n", "1,234,567;W;0;512\n")]
        .map(|(first, last)| (format!("{}{last}", first.repeat(5000)), ", and those of other numbers "))
    {
        let error = error(&format!("time_ms;op;offset;size\n{text}"));
        assert!(error.starts_with("t:5002: the comma of the time 1,") && error.contains(said), "{error}");
    }
    // Also within quotes.
    let error = error("time;op;offset;size\n\"1,5\";W;1,5;512\n");
    assert!(error.contains("the address is not a whole number: 1,5"), "{error}");
}

#[test]
fn commas_within_quotes_mean_what_others_show() {
    let of = |time: [&str; 3]| {
        let [a, b, c] = time;
        format!("time_s,op,offset,size\n\"{a}\",W,4096,512\n\"{b}\",R,0,512\n\"{c}\",R,0,512\n")
    };
    let (requests, report) = read(&of(["0,500", "1,250", "2,750"]));
    assert_eq!((requests[2].time_ns - requests[0].time_ns, report.warnings), (2_250_000_000, Vec::new()));
    let (requests, report) = read(&of(["1,000,500", "1,001,250", "1,002,000"]));
    assert_eq!((requests[2].time_ns - requests[0].time_ns, report.warnings), (1_500_000_000_000, Vec::new()));
    let json = |time: &str| format!("{{\"ts\":\"{time}\",\"op\":\"W\",\"offset\":0,\"size\":512}}\n");
    let (requests, _) = read(&[json("0,500"), json("1,250")].concat());
    assert_eq!(requests[1].time_ns - requests[0].time_ns, 750_000_000);
    // Nothing shows it.
    says(&read(&of(["1,250", "2,500", "3,125"])).1, "times whose commas may be decimal ones or group thousands");
    let lines = (1..10).map(|n| format!("{n},{n}50;W;{n};1\n"));
    let (_, report) = read(&lines.fold("time_us;op;lba;sectors\n".to_owned(), |text, line| text + &line));
    says(&report, "times whose commas may be decimal ones or group thousands, taken for decimal ones");
    let lines = (1..10).map(|n| format!("{n},{n}50;W;{n},512;1\n"));
    let (_, report) = read(&lines.fold("time_us;op;lba;sectors\n".to_owned(), |text, line| text + &line));
    says_not(&report, "commas");
    // What comes late is no less.
    let late = "\"1,250\",W,4096,512\n".repeat(5000) + "\"0,500\",W,4096,512\n";
    let said = error(&format!("time_s,op,offset,size\n{late}"));
    assert!(said.starts_with("t:5002: the comma of the time 0,500 is decimal"), "{said}");
}

#[test]
fn a_b_behind_digits_may_be_one_of_them() {
    let of = |addresses: [&str; 3]| {
        let [a, b, c] = addresses;
        read(&format!("time_us,op,lba,sectors\n1,W,{a},8\n2,W,{b},8\n3,R,{c},8\n"))
    };
    let (requests, report) = of(["10b", "1000", "2000"]);
    says(&report, "numbers with a b behind them, taken for bytes, in a column that has others without");
    says(&report, "such as lba:512:hex, takes all of them for hexadecimal: 1");
    assert_eq!(requests[1].offset_bytes, 1000 * 512);
    let late = format!("time_us,op,lba,sectors\n{}2,W,10B,8\n", "1,W,1000,8\n".repeat(9000));
    says(&read(&late).1, "numbers with a b behind them");
    // Where each has its unit it is one.
    let (requests, report) = of(["512b", "1024b", "0"]);
    assert_eq!((requests[1].offset_bytes, report.warnings), (1024, Vec::new()));
    assert_eq!(of(["4k", "512b", "0"]).1.warnings, [""; 0]);
}

#[test]
fn hexadecimal_addresses_are_no_decimal_ones() {
    for heading in ["lba(hex)", "LBA [hex]", "hex_lba", "lba_hexadecimal", "lba (0x)"] {
        let (requests, report) =
            read(&format!("time_us,op,{heading},size\n1,W,1000,4096\n2,W,1a00h,4096\n3,R,0x10,512\n"));
        let offsets: Vec<u64> = requests.iter().map(|request| request.offset_bytes / 512).collect();
        assert_eq!((offsets, report.warnings), (vec![0x1000, 0x1a00, 0x10], Vec::new()), "{heading}");
        assert_eq!(report.files[0].columns.as_ref().unwrap().columns, "time:us,op,lba:512:hex,size", "{heading}");
    }
    let text = "time_us,op,lba,size\n1,W,1000,4096\n2,W,2000,4096\n3,R,1a00,4096\n";
    let first = "time_us,op,lba,size\n1,W,1a00,4096\n2,W,2000,4096\n";
    for (text, line) in [(text, 4), (first, 2)] {
        let error = error(text);
        assert!(error.starts_with(&format!("t:{line}: the address is not a whole number, and hexadecimal")), "{error}");
        assert!(error.ends_with("--columns time:us,op,lba:512:hex,size takes each address for hexadecimal"), "{error}");
    }
    let lines = text.split_once('\n').unwrap().1;
    let (requests, _) = read_with(lines, &by("time:us,op,lba:hex,size")).unwrap();
    assert_eq!(requests[0].offset_bytes, 0x1000 * 512);
    let sized = read_with("1 W 0 1000\n2 W 0 1a00\n", &by("time:us,op,offset,size")).unwrap_err();
    assert!(sized.ends_with("--columns time:us,op,offset,size:hex takes each size for hexadecimal"), "{sized}");
    for spec in ["op,lba:512:hex,size-1:4096:hex", "op,offset:hex,size:hex"] {
        assert_eq!(spec.parse::<ColumnSpec>().unwrap().to_string(), spec);
    }
    assert!("op,lba:hexa,size".parse::<ColumnSpec>().is_err() && "op,lba:hex:512,size".parse::<ColumnSpec>().is_err());
}

#[test]
fn a_mark_on_some_lines_is_said() {
    let of = |addresses: [&str; 3]| {
        let [a, b, c] = addresses;
        read(&format!("time_us,op,offset,size\n1,W,{a},4096\n2,W,{b},4096\n3,R,{c},4096\n")).1
    };
    says(&of(["0x1000", "4096", "0x3000"]), "numbers in hexadecimal behind 0x, in a column that has others without it");
    says(&of(["8192", "4096", "0x3000"]), "such as lba:512:hex, takes all of them for hexadecimal: 1");
    // Some programs leave it out before zero.
    assert_eq!(of(["0", "0x1000", "0x3000"]).warnings, [""; 0]);
}

#[test]
fn hexadecimal_numbers_are_suggested() {
    let text = lines("a b c d", |n| {
        format!("0.{n:03} {} {:06x} 4096", ["W", "R", "R"][(n % 3) as usize], n * 7919 % 1000 * 4096)
    });
    let said = error(&text);
    assert!(said.contains("; --columns time:s,op,offset:hex,size --skip-lines 1 may be right"), "{said}");
}

/// Lines whose times go on by 1/7 s.
fn told(text: &str) -> String {
    let said = error(text);
    let (_, said) = said.split_once("; --columns ").unwrap_or_else(|| panic!("{said}"));
    said.split(' ').next().unwrap().to_owned()
}

#[test]
fn what_is_suggested_reads_all_digits_of_times() {
    let rest = |n: u64| format!("{} {} 8", ["W", "R", "R"][(n % 3) as usize], n * 7919 % 1000 * 8);
    let us = |n: u64| n * 142_857;
    let second = |n: u64| 1_700_000_000 + us(n) / 1_000_000;
    for (line, right) in [
        (
            &(|n: u64| format!("{} {}.{:06} {}", second(n), second(n), us(n) % 1_000_000, rest(n)))
                as &dyn Fn(u64) -> String,
            "-,time:s,op,lba:512,size:512",
        ),
        (
            &|n| format!("{} {} {}", second(n), 1_700_000_000_000 + us(n) / 1000, rest(n)),
            "-,time:ms,op,lba:512,size:512",
        ),
        (
            &|n| format!("2024-01-01T12:00:{:02} {} {}", us(n) / 1_000_000, 1_704_110_400_000_000 + us(n), rest(n)),
            "-,time:us,op,lba:512,size:512",
        ),
        (&|n| format!("12:00:{:02} {} {}", us(n) / 1_000_000, us(n), rest(n)), "-,time:us,op,lba:512,size:512"),
        (&|n| format!("{} {} {}", us(n) / 1_000_000, us(n), rest(n)), "-,time:us,op,lba:512,size:512"),
    ] {
        let text = lines("", line);
        assert_eq!(told(&text), right, "{text}");
    }
    let twice = lines("time_s,time_us,op,lba,size", |n| format!("{},{},W,0,8", us(n) / 1_000_000, us(n)));
    let said = error(&twice);
    assert!(said.contains("--columns -,time:us,op,lba:512,size takes `time_us`"), "{said}");
    let passed_over = lines("time_s,stamp,op,lba_512,size_512", |n| format!("{},{},W,0,8", us(n) / 1_000_000, us(n)));
    let parts =
        lines("sec,nsec,op,lba_512,size_512", |n| format!("{},{},W,0,8", us(n) / 1_000_000, us(n) % 1_000_000 * 1000));
    says(&read(&parts).1, "column `nsec` has parts of seconds, which are passed over");
    says(
        &read(&passed_over).1,
        "column `stamp` has the times of `time_s` with more digits: --columns -,time:us,op,lba:512,size:512 reads them",
    );
}

#[test]
fn parts_of_seconds_in_a_column_of_their_own_are_joined_first() {
    let rest = |n: u64| format!("{} {} 8", ["W", "R", "R"][(n % 3) as usize], n * 7919 % 1000 * 8);
    let part = |n: u64| n * 142_857 % 1_000_000;
    let second = |n: u64| n * 142_857 / 1_000_000;
    for (line, awk) in [
        (
            &(|n: u64| format!("{} {} {}", 1_700_000_000 + second(n), part(n) * 1000, rest(n)))
                as &dyn Fn(u64) -> String,
            "awk '{ $1 = sprintf(\"%s.%09d\", $1, $2); ",
        ),
        (
            &|n| format!("2024-01-01 12:00:{:02} {} {}", second(n), part(n) / 1000, rest(n)),
            "awk '{ $2 = sprintf(\"%s.%03d\", $2, $3); ",
        ),
        (
            &|n| format!("{} {:06} {}", 1_700_000_000 + second(n), part(n), rest(n)).replace(' ', ";"),
            "awk -F';' -v OFS=';' '{ $1 = sprintf(\"%s.%06d\", $1, $2); ",
        ),
    ] {
        let text = lines("", line);
        let said = error(&text);
        assert!(said.contains(&format!(" has parts of the seconds in the column before it; `{awk}")), "{said}");
    }
}
