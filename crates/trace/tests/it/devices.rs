//! Devices that several columns name together.

use crate::samples::{read, read_with, says};
use phelsuma_trace::{InputReport, OpenOptions};

/// A file of so many records, which begin as `line` says.
fn of_lines(names: &str, count: u64, line: impl Fn(u64) -> String) -> InputReport {
    let lines = (0..count).map(|n| format!("{n},{},W,{},4096\n", line(n), n % 7 * 4096));
    read(&lines.fold(format!("time_us,{names},op,offset,size\n"), |text, line| text + &line)).1
}

#[test]
fn what_holds_devices_tells_those_of_equal_names_apart() {
    for name in
        ["node", "machine", "hostid", "host", "rack", "cluster", "array", "controller", "instance", "Node ID", "vm"]
    {
        let report = of_lines(&format!("{name},disk"), 2, |n| format!("{},0", ["a", "b"][n as usize]));
        assert_eq!((report.devices, report.warnings), (2, Vec::new()), "{name}");
        let report = of_lines(&format!("disk,{name}"), 40, |n| format!("0,a{}", n % 2));
        assert_eq!((report.devices, report.warnings), (2, Vec::new()), "{name}");
    }
    // Two of these may share a device.
    for name in ["tenant", "pool", "customer"] {
        let report = of_lines(&format!("{name},volume"), 2, |n| format!("{},0", ["a", "b"][n as usize]));
        says(&report, &format!("column `{name}` may have devices of its own"));
        says(&report, "--columns time:us,device:name,device:name,op,offset,size tells them apart");
    }
}

#[test]
fn three_columns_and_more_tell_devices_apart() {
    for (names, count) in
        [("server,vm,disk", 3), ("rack,host,lun", 3), ("bus,target,lun", 3), ("host,bus,target,lun", 4)]
    {
        let line = |n: u64| (0..count).map(|bit| format!("x{}", n >> bit & 1)).collect::<Vec<_>>().join(",");
        let report = of_lines(names, 60, line);
        assert_eq!((report.devices, report.warnings), (1 << count, Vec::new()), "{names}");
    }
    let options = |columns: &str| OpenOptions { columns: Some(columns.parse().unwrap()), ..OpenOptions::default() };
    let (requests, _) =
        read_with("a,0,0,W,0,512\na,1,0,W,0,512\na,0,0,W,0,512\n", &options("device,device,device,op,offset,size"))
            .unwrap();
    assert_eq!(requests.iter().map(|request| request.device).collect::<Vec<_>>(), [0, 1, 0]);
}

#[test]
fn a_device_column_that_changes_late_is_said() {
    for (names, late) in [("host,lun", 0), ("major,minor", 1), ("node,disk", 0), ("server,vm", 1)] {
        // What the beginning of the file shows is read.
        let line = |n: u64| if late == 0 { format!("{n},0") } else { format!("0,{n}") };
        let report = of_lines(names, 400, |n| line(n / 200));
        assert_eq!((report.devices, report.warnings), (2, Vec::new()), "{names}");
        let report = of_lines(names, 10_000, |n| line(n / 5000));
        assert_eq!((report.devices, report.warnings.len()), (1, 1), "{names}");
        says(&report, &format!("have `0` and, behind the file's beginning, `1` in column {}", late + 2));
        says(&report, "--columns time:us,device:name,device:name,op,offset,size tells them apart");
    }
    let report = of_lines("host,lun", 10_000, |n| format!("h{},{}", n % 2, n % 2));
    assert_eq!((report.devices, report.warnings), (2, Vec::new()), "one of each host");
}
