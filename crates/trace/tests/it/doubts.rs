//! What is doubted of a guess, and what is not.

use crate::samples::{error, read_with, says, says_not};
use phelsuma_trace::{Format, InputReport, Op, OpenOptions, SkipReason, TimeUnit};

fn report(text: &str) -> InputReport {
    read_with(text, &OpenOptions::default()).unwrap().1
}

#[test]
fn five_columns_are_doubted_both_ways() {
    // 256 KiB at multiples of it, in sectors, as another program writes them.
    let aligned = "0.000000 0 512 512 0\n0.001000 0 1024 512 0\n0.001500 0 1536 1024 0\n";
    let doubted = report(aligned);
    assert_eq!(doubted.files[0].format, Format::Replayer);
    says(&doubted, "may be sectors and not bytes: --format disksim");
    let marked = report(&aligned.replacen("512 0\n", "512 0 # disksim, ms\n", 1));
    assert_eq!((marked.files[0].format, &marked.warnings[..]), (Format::DiskSim, &[][..]), "{marked:?}");
    let named = OpenOptions { format: Some(Format::Replayer), ..OpenOptions::default() };
    assert_eq!(read_with(aligned, &named).unwrap().1.warnings, [""; 0]);
    for sound in
        ["0.1 0 8192 4096 0\n0.2 0 0 4096 1\n0.3 0 4096 4096 1\n", "0.1 0 512 512 0\n0.2 0 0 65536 1\n0.3 0 0 512 1\n"]
    {
        assert_eq!(report(sound).files[0].format, Format::Replayer);
        assert_eq!(report(sound).warnings, [""; 0]);
    }
}

#[test]
fn a_size_of_a_sector_that_is_named_is_not_doubted() {
    let pages = "0 0 64 64 0\n1000 0 128 64 0\n2000 0 640 64 1\n";
    let sector = OpenOptions { sector_bytes: Some(4096), ..OpenOptions::default() };
    assert_eq!(read_with(pages, &sector).unwrap().1.warnings, [""; 0]);
    assert_eq!(report(pages).warnings, [""; 0]);
    says(&report("0 0 4096 4096 0\n1 0 8192 512 0\n2 0 0 512 0\n"), "--format replayer");
}

#[test]
fn times_that_are_too_dense_or_too_long_are_doubted() {
    let lines = |step: u64| (0..200).map(|n| format!("{} 0 {} 8 0\n", n * step, n * 24)).collect::<String>();
    says(&report(&lines(7)), "with times in ns there are 143575017 requests a second, which is many: --time-unit");
    says_not(&report(&lines(7000)), "requests a second");
    let millis = OpenOptions { time_unit: Some(TimeUnit::Ns), ..OpenOptions::default() };
    assert_eq!(read_with(&lines(7), &millis).unwrap().1.warnings, [""; 0], "a person says so");
    says(
        &report("1700000000.5,hm,0,Write,0,4096,1\n1700000001.5,hm,0,Read,0,4096,1\n"),
        "they may be seconds since 1970: --time-unit s",
    );
    assert_eq!(report("0,hm,0,Write,0,4096,1\n1000,hm,0,Read,0,4096,1\n").warnings, [""; 0]);
    says(
        &report("0 1 51744 4096\n13564800 0 8 4096\n13564900 0 8 4096\n"),
        "with times in s the trace lasts 157 days, which is long: --time-unit names another unit, --columns other columns",
    );
    // Commas make five numbers Tencent's.
    says(&report("0,0,4096,1,0\n9000000,0,8192,1,1\n"), "the trace lasts 104 days");
}

#[test]
fn four_numbers_of_which_most_are_no_requests_are_no_midas_trace() {
    let line = |n: u64| format!("{} {} {} 8\n", n * 3, n % 4, n * 17);
    let few = (0..40).map(|n| if n % 4 == 2 { String::new() } else { line(n) }).collect::<String>();
    assert_eq!(report(&few).files[0].format, Format::Midas);
    let most =
        (0..40).map(|n| format!("{} {} {} 8\n", n * 3, if n % 3 == 0 { 1 } else { 2 }, n * 17)).collect::<String>();
    assert!(error(&most).contains("--columns"), "{}", error(&most));
    // What the beginning does not show is said at the end.
    let late = few.repeat(200) + &"1 2 3 8\n".repeat(9000);
    says(&report(&late), "so the guess of midas may be wrong: --format names another, --columns any columns");
}

#[test]
fn a_damaged_line_of_blkparse_is_no_line_of_its_own() {
    let sound = "8,0 0 1 0.1 10 D W 0 + 8 [x]\n8,0 0 2 0.2 10 D W 8 + 8 [x]\n";
    let own = "CPU0 (sda):\n Reads Queued:           0,        0KiB\t Writes Queued:           2,        8KiB\n\
               Total (sda):\n Reads Requeued:         0\t\t Writes Requeued:         0\n\n\
               Throughput (R/W): 0KiB/s / 40KiB/s\nEvents (sda): 2 entries\nSkips: 0 forward (0 -   0.0%)\n";
    let (requests, said) = read_with(&format!("{sound}{own}"), &OpenOptions::default()).unwrap();
    assert_eq!((requests.len(), said.warnings.len()), (2, 0));
    for damaged in ["8.0 0 3 0.3 10 D W 16 + 8 [x]", "8,x 0 3 0.3 10 D W 16 + 8 [x]", "0 3 0.3 10 7 D W 16 + 8 [x]"] {
        let said = error(&format!("{sound}{damaged}\n{sound}"));
        assert!(said.starts_with(&format!("t:3: `{damaged}`: no `major,minor` in front")), "{said}");
        // In front of the first record it may be what an archive left.
        says(&report(&format!("{damaged}\n{sound}")), "line 1 is left out");
    }
}

#[test]
fn nvme_trims_and_blocks_are_said() {
    let nvme =
        |command: &str| format!(" a-1 [000] ..... 1.0: nvme_setup_cmd: nvme0: disk=nvme0n1, qid=1, cmd=({command})\n");
    let text = nvme("nvme_cmd_write slba=8, len=7") + &nvme("nvme_cmd_dsm nr=0, attributes=4");
    let said = report(&text);
    says(&said, "left out: 1 requests without their range");
    says(&said, "taken for 512 bytes, where --sector names another: 1");
    let sector = OpenOptions { sector_bytes: Some(4096), ..OpenOptions::default() };
    says_not(&read_with(&text, &sector).unwrap().1, "taken for 512 bytes");
    let block = " a-1 [000] ..... 1.0: block_rq_issue: 8,0 W 4096 () 2048 + 8 [a]\n";
    assert_eq!(report(block).warnings, [""; 0]);
}

#[test]
fn a_task_may_be_called_as_times_are() {
    let text = " 12: foo bar-33 [000] ..... 1.000000: block_rq_issue: 8,0 W 4096 () 2048 + 8 [12: foo bar]\n\
                3.5: 7-3 [001] d..1. 2.000000: block:block_rq_issue: 8,0 R 4096 () 2056 + 8 [3.5: 7]\n";
    let (requests, _) = read_with(text, &OpenOptions::default()).unwrap();
    assert_eq!(requests.iter().map(|request| request.time_ns).collect::<Vec<_>>(), [1_000_000_000, 2_000_000_000]);
}

#[test]
fn marks_where_files_were_joined_are_passed_over() {
    let msr =
        "\u{feff}128166372003061629,hm,0,Write,7014912,4096,26\n128166372016382155,hm,0,Read,1074696192,4096,113\n";
    let (requests, said) = read_with(&msr.repeat(3), &OpenOptions::default()).unwrap();
    assert_eq!((requests.len(), said.left_out.total()), (6, 0));
    let csv = "\u{feff}time_us,device,op,offset_bytes,size_bytes\n0,0,write,0,4096\n";
    assert_eq!(read_with(&csv.repeat(2), &OpenOptions::default()).unwrap().0.len(), 2);
    let blkparse = "\u{feff}8,0 0 1 0.1 10 D W 0 + 8 [x]\n8,0 0 2 0.2 10 D W 8 + 8 [x]\n";
    let (requests, said) = read_with(&blkparse.repeat(2), &OpenOptions::default()).unwrap();
    assert_eq!((requests.len(), said.left_out.count(SkipReason::RecorderLine)), (4, 0));
}

#[test]
fn a_unit_of_times_is_refused_where_records_fix_it() {
    for format in [Format::Blktrace, Format::HpSrt] {
        let options = OpenOptions { format: Some(format), time_unit: Some(TimeUnit::Us), ..OpenOptions::default() };
        let said = read_with("x", &options).unwrap_err();
        assert_eq!(said, format!("{format} has times in a fixed unit, so another one cannot be"));
    }
}

#[test]
fn what_a_guess_by_shape_takes_for_granted_is_said() {
    let five = "0.5 0 8 8 0\n1.5 0 16 8 1\n2.5 0 32 24 1\n";
    let assumed = |text: &str| report(text).files[0].assumed.clone();
    assert_eq!(assumed(five).as_deref(), Some("odd flags are reads, addresses and sizes in units of 512 B"));
    assert_eq!(
        assumed("7,8,8,0,1\n8,16,8,1,1\n").as_deref(),
        Some("0 is a read, addresses and sizes in units of 512 B")
    );
    let four = "0 1 51744 4096\n1 0 8 4096\n";
    assert!(assumed(four).is_some_and(|said| said.starts_with("type 0 is a read, addresses in units of 4096 B")));
    // A heading, a mark or a person says so.
    assert_eq!(assumed("Timestamp,Offset,Size,IOType,VolumeID\n7,0,8,1,3\n"), None);
    assert_eq!(assumed(&five.replacen("8 0\n", "8 0 # disksim, ms\n", 1)), None);
    let named = OpenOptions { format: Some(Format::DiskSim), ..OpenOptions::default() };
    assert_eq!(read_with(five, &named).unwrap().1.files[0].assumed, None);
    says(
        &report("10,40493056,16384,0,0\n37,143847424,4096,1,1\n67,136212480,4096,1,0\n"),
        "may be bytes and not sectors: --columns time:s,offset,size,op,device --ops read=0,write=1",
    );
}

#[test]
fn units_that_are_doubted_have_another_one_beside_them() {
    let lines = |heading: &str, size: u64| {
        let line = |n: u64| format!("{n},W,{},{}\n", n * 7919 % 1000, size << (n % 3));
        report(&format!("{heading}\n{}", (0..20).map(line).collect::<String>()))
    };
    says(&lines("time_us,op,lba,blocks", 1), "no multiples of 4 KiB: --columns time:us,op,lba:4096,size:4096 takes");
    says(
        &lines("time_us,op,block,len", 1),
        "no multiples of 512: --columns time:us,op,lba:512,size:4096 takes units of",
    );
    says(
        &lines("time_us,op,block,len", 8),
        "no multiples of 512: --columns time:us,op,lba:512,size:512 takes units of",
    );
    says(&lines("time_us,op,block,bytes", 4096), "where each size is one: --columns time:us,op,lba:4096,size takes");
    says_not(&lines("time_us,op,sector,nsectors", 8), "sizes are taken");
    assert_eq!(lines("time_us,op,lba_4k,len_4k", 1).warnings, [""; 0]);
}

#[test]
fn as_many_devices_as_requests_are_doubted() {
    let lines = |devices: u64, count: u64| {
        let line = |n: u64| format!("{n},{},W,{},4096\n", n % devices, n * 4096);
        report(&format!("time_us,device,op,offset,size\n{}", (0..count).map(line).collect::<String>()))
    };
    says(&lines(20, 20), "there are as many devices as requests, 20");
    assert_eq!(lines(16, 16).warnings, [""; 0]);
    assert_eq!(lines(20, 21).warnings, [""; 0]);
}

#[test]
fn blank_lines_and_comments_are_no_records() {
    for text in ["\n\n \n", "# only\n# comments\n", "\n#\n"] {
        assert_eq!(error(text), "t: has no records: each line is blank or a comment");
    }
}

#[test]
fn sizes_that_are_one_less_are_doubted() {
    let lines = |heading: &str, size: &dyn Fn(u64) -> u64| {
        let line = |n: u64| format!("{n},{},1,0x0{},{},{}\n", n % 4, n % 2 + 1, n * 7919 % 1000, size(n));
        report(&format!("{heading}\n{}", (0..60).map(line).collect::<String>()))
    };
    let nvme = "ts_ns,sqid,nsid,opcode,slba,nlb";
    for size in
        [&(|n: u64| (8u64 << (n % 3)) - 1) as &dyn Fn(u64) -> u64, &|n| [0, 7, 15, 127][n as usize % 4], &|n| n % 3]
    {
        let said = lines(nvme, size);
        says(
            &said,
            "sizes may be one less than they are, as NVMe counts blocks: --columns time:ns,-,device,op,lba:512,size-1:512",
        );
        says_not(&said, "multiples of 4 KiB");
        says_not(&said, "sqid");
    }
    for size in [&(|n: u64| 8u64 << (n % 3)) as &dyn Fn(u64) -> u64, &|n| 1 + n % 3, &|n| if n == 7 { 0 } else { 8 }] {
        says_not(&lines(nvme, size), "one less");
    }
    // What the heading says of operations holds beside columns that are named.
    let columns = "time:ns,-,device,op,lba:512,size-1:512".parse().unwrap();
    let options = OpenOptions { columns: Some(columns), ..OpenOptions::default() };
    let text = format!("{nvme}\n1,1,1,0x02,8,7\n2,1,1,0x01,16,0\n3,1,1,0x00,0,0\n4,1,2,0x09,8,7\n");
    let (requests, said) = read_with(&text, &options).unwrap();
    let found: Vec<_> = requests.iter().map(|request| (request.op, request.size_bytes)).collect();
    assert_eq!(found, [(Op::Read, 4096), (Op::Write, 512), (Op::Flush, 0), (Op::Trim, 4096)], "{said:?}");
}
