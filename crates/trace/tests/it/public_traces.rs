//! Public traces of every format that has one, against the statistics that were measured on the files
//! by other means. Where the traces are missing, the test says how many it skipped.

#![expect(clippy::explicit_write, reason = "tests that pass are shown nothing of what is printed otherwise")]

use std::io::Write;
use std::path::PathBuf;

use phelsuma_trace::{
    DropReason, Fold, Format, InfoOptions, OpenOptions, PageSource, SkipReason, Source, TimeUnit, TraceFile, TraceInfo,
    fold::FoldOptions,
};

struct Expected {
    file: &'static str,
    format: Format,
    /// Reads, writes, trims.
    requests: [u64; 3],
    /// In units of 10^6 bytes, to the nearest whole.
    read_written_mb: [u64; 2],
    pages_written: u64,
    unique_pages_written: u64,
    footprint_mib: f64,
    /// To the nearest hundredth.
    overwrite_percent: u64,
    duration_s: f64,
    devices: u64,
    span_gib: f64,
    /// p50, p90, p99, max of writes.
    write_kib: [f64; 4],
    unaligned_sequential_percent: [u64; 2],
    times_backwards: u64,
    skipped: &'static [(SkipReason, u64)],
}

macro_rules! expect {
    ($file:literal $format:ident $requests:tt $mb:tt $written:literal $unique:literal $footprint:literal
     $ratio:literal $duration:literal $devices:literal $span:literal $kib:tt $percent:tt $backwards:literal $skipped:tt) => {
        Expected {
            file: $file,
            format: Format::$format,
            requests: $requests,
            read_written_mb: $mb,
            pages_written: $written,
            unique_pages_written: $unique,
            footprint_mib: $footprint,
            overwrite_percent: $ratio,
            duration_s: $duration,
            devices: $devices,
            span_gib: $span,
            write_kib: $kib,
            unaligned_sequential_percent: $percent,
            times_backwards: $backwards,
            skipped: &$skipped,
        }
    };
}

use SkipReason::{Absurd, ArchiveLeftover, BlankLine, JunkBeforeFirst, OtherEvent, RecorderLine};

#[rustfmt::skip]
const EXPECTED: &[Expected] = &[
    expect!("vm_cloudphysics.vscsi.zst" VscsiV1 [46_974, 66_898, 0] [1797, 2409] 656_169 208_696 1051.6 314 7200.1 1 31.27 [40.0, 68.0, 68.0, 68.0] [100, 53] 0 []),
    expect!("desktop_diskmon_mayun2.txt.zst" DiskMon [36_705, 50_455, 0] [815, 944] 281_814 133_688 821.5 211 11719.8 1 132.52 [4.0, 64.0, 64.0, 64.0] [100, 16] 0 []),
    expect!("workstation_hp_ajw_1week.srt.zst" HpSrt [13_040, 31_479, 0] [62, 202] 54_827 3_856 28.7 1422 603064.6 2 0.31 [8.0, 8.0, 8.0, 256.0] [29, 2] 0 []),
    expect!("bench_postmark.trace.zst" DiskSim [51_780, 10_477, 0] [5236, 8937] 2_181_870 1_532_457 5989.8 142 490.4 1 21.32 [236.0, 2956.0, 4096.0, 4096.0] [0, 27] 0 []),
    expect!("bench_iozone_100k.trace.zst" DiskSim [0, 100_000, 0] [0, 36_856] 8_997_978 271_320 1059.8 3316 936.4 1 15.98 [256.0, 256.0, 4096.0, 4096.0] [0, 51] 0 []),
    expect!("server_msnfs_150k.trace.zst" DiskSim [130_483, 19_516, 0] [2438, 184] 45_018 43_513 2101.7 103 143.1 1 169.58 [8.0, 8.0, 16.0, 1024.0] [0, 0] 0 []),
    expect!("server_dtrs_5min.trace.zst" DiskSim [113_123, 13_920, 0] [6437, 761] 185_789 184_051 4969.8 101 300.0 1 153.21 [64.0, 64.0, 64.0, 64.0] [0, 18] 0 []),
    expect!("oltp_financial1_50k_4k.trace.zst" FlashSim [29_199, 20_801, 0] [223, 135] 51_908 8_890 121.7 584 853.4 1 0.48 [4.0, 8.0, 48.0, 48.0] [91, 2] 0 []),
    expect!("mobile_nexus5_installing.txt.zst" BioTracer [312, 17_640, 0] [7, 1688] 414_822 265_188 1042.0 156 977.8 1 27.21 [4.0, 48.0, 2740.5, 22144.5] [17, 23] 352 []),
    expect!("desktop_flashsim_4k.trace.zst" FlashSim [12_467, 20_060, 0] [323, 786] 192_619 143_898 763.3 134 8877.2 1 156.25 [64.0, 64.0, 64.0, 64.0] [4, 45] 0 []),
    expect!("media_jpeg_copy_4k.trace.zst" FlashSim [35_344, 11_776, 0] [2302, 2322] 578_724 567_706 4413.4 102 810.1 1 425.30 [52.0, 512.0, 512.0, 512.0] [100, 29] 0 []),
    expect!("llm_opt7b_offload.trace.zst" DiskSim [31_873, 5_000, 0] [3152, 2427] 592_453 592_453 5320.1 100 34.3 1 952.82 [512.0, 512.0, 512.0, 512.0] [0, 92] 0 [(BlankLine, 1)]),
    expect!("oltp_financial1_10k.ascii.zst" DiskSim [4_077, 5_923, 0] [25, 30] 12_406 3_734 28.6 332 259.6 22 3.91 [3.0, 8.0, 48.0, 48.0] [100, 3] 0 []),
    expect!("oltp_tpcc_7k.trace.zst" DiskSim [4_381, 2_618, 0] [36, 23] 7_995 7_879 80.0 101 0.1 16 2675.89 [8.0, 8.0, 31.0, 60.0] [88, 1] 0 []),
    expect!("search_websearch1_25k.trace.zst" DiskSim [24_779, 4, 0] [382, 0] 8 4 363.4 200 60.1 6 73.72 [8.0, 8.0, 8.0, 8.0] [0, 0] 0 []),
    expect!("desktop_diskmon_mayun.txt.zst" DiskMon [14_180, 10_664, 0] [123, 234] 67_797 38_568 269.5 176 6529.9 1 60.60 [4.0, 64.0, 64.0, 64.0] [99, 23] 0 []),
    expect!("desktop_diskmon_p2p.txt.zst" DiskMon [266, 10_787, 0] [4, 159] 45_647 17_525 72.1 260 1144.8 1 187.31 [4.0, 12.0, 256.0, 1024.0] [63, 3] 0 [(Absurd, 2)]),
    expect!("desktop_diskmon_systemdisk1.trace.zst" DiskSim [3_332, 23_996, 0] [2262, 998] 266_518 144_553 805.7 184 8627.8 1 1.00 [4.0, 24.0, 1024.0, 2048.0] [95, 8] 0 []),
    expect!("server_msr_rw20_10k.trace.zst" Replayer [2_020, 7_980, 0] [4, 51] 14_264 5_815 28.8 245 242.9 1 13.91 [4.0, 16.0, 44.0, 64.0] [31, 3] 0 []),
    expect!("server_msr_burst_10k.trace.zst" Replayer [8_316, 1_684, 0] [36, 95] 23_105 23_100 113.4 100 1.0 1 11.77 [60.0, 64.0, 64.0, 64.0] [0, 1] 0 []),
    expect!("mobile_nexus5_movie.txt.zst" BioTracer [4_523, 258, 0] [129, 5] 1_108 1_009 127.0 110 997.5 1 28.08 [4.0, 36.0, 512.0, 512.0] [3, 24] 33 []),
    expect!("mobile_nexus5_call.txt.zst" BioTracer [17, 1_552, 0] [0, 28] 7_080 4_803 18.9 147 3700.0 1 24.75 [4.0, 36.5, 100.5, 1536.5] [18, 28] 9 []),
    expect!("server_fiu_cheetah_10k.blkparse.zst" Fiu [8_896, 1_101, 0] [36, 5] 1_101 893 35.9 123 23.6 1 277.07 [4.0, 4.0, 4.0, 4.0] [0, 74] 0 [(ArchiveLeftover, 3), (JunkBeforeFirst, 1)]),
    expect!("blkparse_f2fs_java.txt.zst" Blkparse [4_722, 1_005, 0] [537, 440] 107_385 101_756 908.2 106 1651.0 1 2.55 [192.0, 1280.0, 1280.0, 1280.0] [0, 60] 392 []),
    expect!("sqlite_wal_ext4_wiscsee.txt.zst" WiscSee [4, 5_003, 1] [0, 69] 16_874 2_170 8.5 778 1.4 1 0.50 [12.0, 24.0, 36.0, 128.0] [0, 7] 0 []),
];

/// The list that `phelsuma trace get` fetches from names them all, with their requests.
#[test]
fn each_public_trace_is_on_the_list_of_those_that_can_be_fetched() {
    let list = include_str!("../../../options/src/traces.toml");
    let of = |entry: &str, key: &str| {
        let line = entry.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = "));
        line.unwrap_or_else(|| panic!("{key} in {entry}")).trim_matches('"').to_string()
    };
    let entries = list.split("[[collection]]").next().unwrap().split("[[trace]]").skip(1);
    let named = entries.map(|entry| (of(entry, "file"), of(entry, "requests").parse().unwrap()));
    let expected = EXPECTED.iter().map(|e| (e.file.to_string(), e.requests.iter().sum::<u64>()));
    assert_eq!(named.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
}

/// The folder of the traces; none where there is none and none was required.
fn folder() -> Option<PathBuf> {
    let named = std::env::var_os("PHELSUMA_TRACES").map(PathBuf::from);
    let workspace = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let folder = named.clone().unwrap_or_else(|| workspace.join("../shared/traces/public"));
    (named.is_some() || folder.is_dir()).then_some(folder)
}

fn options_of(expected: &Expected) -> OpenOptions {
    // Whole microseconds: the one file whose time unit is not in it.
    let time_unit = expected.file.starts_with("server_dtrs").then_some(TimeUnit::Us);
    OpenOptions { time_unit, ..OpenOptions::default() }
}

fn for_each_present(check: impl Fn(&Expected, PathBuf)) {
    let Some(folder) = folder() else {
        writeln!(std::io::stderr(), "all {} public traces are missing and were skipped", EXPECTED.len()).unwrap();
        return;
    };
    let mut present = 0;
    for expected in EXPECTED {
        let path = folder.join(expected.file);
        if path.is_file() {
            check(expected, path);
            present += 1;
        }
    }
    assert!(present > 0, "none of the {} public traces is in {}", EXPECTED.len(), folder.display());
    writeln!(
        std::io::stderr(),
        "{} of {} public traces are missing and were skipped",
        EXPECTED.len() - present,
        EXPECTED.len()
    )
    .unwrap();
}

/// Whether `value` rounds to `printed`, which was rounded to steps of `step`.
fn near(value: f64, printed: f64, step: f64) -> bool {
    (value - printed).abs() <= step * 0.501
}

#[test]
fn statistics_of_public_traces_are_as_measured_elsewhere() {
    for_each_present(|expected, path| {
        let mut trace = TraceFile::open(&path, &options_of(expected)).unwrap();
        let info = TraceInfo::gather(&mut trace, &InfoOptions { page_bytes: 4096, warmup_pages: 0 }).unwrap();
        let file = expected.file;
        println!("{file}: {} requests, skipped {}", info.requests, info.skipped);
        assert_eq!(info.format, Some(expected.format), "{file}");
        assert_eq!([info.reads, info.writes, info.trims], expected.requests, "{file}");
        let mb = [info.read_bytes, info.written_bytes].map(|bytes| (bytes + 500_000) / 1_000_000);
        assert_eq!(mb, expected.read_written_mb, "{file}");
        assert_eq!(info.pages_written, expected.pages_written, "{file}");
        assert_eq!(info.unique_pages_written, expected.unique_pages_written, "{file}");
        let footprint_mib = info.footprint_bytes as f64 / (1 << 20) as f64;
        assert!(near(footprint_mib, expected.footprint_mib, 0.1), "{file}: {footprint_mib}");
        let percent = info.overwrite_ratio * 100.0;
        assert!(near(percent, expected.overwrite_percent as f64, 1.0), "{file}: {percent}");
        let duration_s = info.duration_ns as f64 / 1e9;
        assert!(near(duration_s, expected.duration_s, 0.1), "{file}: {duration_s}");
        assert_eq!(info.devices, expected.devices, "{file}");
        let span_gib = info.span_bytes as f64 / (1 << 30) as f64;
        assert!(near(span_gib, expected.span_gib, 0.01), "{file}: {span_gib}");
        let sizes = &info.write_sizes;
        let kib =
            [sizes.p50_bytes, sizes.p90_bytes, sizes.p99_bytes, sizes.max_bytes].map(|bytes| bytes as f64 / 1024.0);
        assert_eq!(kib, expected.write_kib, "{file}");
        let shares = [info.unaligned_write_share, info.sequential_write_share];
        // Sequentiality was measured across devices elsewhere; here each device is followed by itself.
        let comparable = if info.devices == 1 { 2 } else { 1 };
        for (share, percent) in shares.into_iter().zip(expected.unaligned_sequential_percent).take(comparable) {
            assert!(near(share * 100.0, percent as f64, 1.0), "{file}: {share}");
        }
        assert_eq!(info.times_backwards, expected.times_backwards, "{file}");
        for &(reason, count) in expected.skipped {
            assert_eq!(info.skipped.count(reason), count, "{file}: {reason}");
        }
        let allowed = |reason| matches!(reason, OtherEvent | RecorderLine | BlankLine);
        for (reason, _) in info.skipped.iter() {
            let stated = expected.skipped.iter().any(|&(stated, _)| stated == reason);
            assert!(
                stated || (allowed(reason) && matches!(expected.format, Format::Blkparse | Format::WiscSee)),
                "{file}: {reason}"
            );
        }
    });
}

/// A number as the document has it.
fn with_commas(number: u64) -> String {
    let digits = number.to_string();
    let groups: Vec<&str> = digits.as_bytes().rchunks(3).rev().map(|g| std::str::from_utf8(g).unwrap()).collect();
    groups.join(",")
}

#[test]
fn the_table_of_overwrite_ratios_is_what_the_traces_say() {
    let document =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/results/workloads.md")).unwrap();
    let table = document.split("\n## How often pages are overwritten").nth(1).unwrap();
    let rows: Vec<&str> = table.lines().filter(|line| line.starts_with("| `")).collect();
    assert_eq!(rows.len(), EXPECTED.len());
    for_each_present(|expected, path| {
        let mut trace = TraceFile::open(&path, &options_of(expected)).unwrap();
        let info = TraceInfo::gather(&mut trace, &InfoOptions { page_bytes: 4096, warmup_pages: 0 }).unwrap();
        let row = format!(
            "| `{}` | {} | {} | {:.2} | {} | {:.2} |",
            expected.file,
            with_commas(info.pages_written),
            with_commas(info.unique_pages_written),
            info.overwrite_ratio,
            with_commas(info.logical_pages),
            info.writes_per_logical_page
        );
        assert!(rows.contains(&row.as_str()), "docs/results/workloads.md should have {row}");
    });
}

#[test]
fn public_traces_fold_onto_their_footprint_and_lose_no_request() {
    for_each_present(|expected, path| {
        let file = expected.file;
        let mut source = PageSource::open(&path, &options_of(expected), FoldOptions::default()).unwrap();
        let footprint_mib = source.logical_pages() as f64 / 256.0;
        assert!(near(footprint_mib, expected.footprint_mib, 0.1), "{file}: {footprint_mib}");
        let pages = source.logical_pages();
        let mut used = vec![false; pages as usize];
        let mut emitted = 0;
        while let Some(request) = source.next_request().unwrap() {
            for page in request.first..request.first + u64::from(request.pages) {
                used[page as usize] = true;
            }
            emitted += 1;
        }
        assert!(used.iter().all(|&used| used), "{file}: a page of the footprint is never used");
        let counts = source.counts();
        counts.assert_balanced();
        assert_eq!(counts.read, expected.requests.iter().sum::<u64>(), "{file}");
        assert_eq!(counts.emitted, emitted, "{file}");
        assert!(counts.dropped.keys().all(|&reason| reason == DropReason::TrimOutsideFootprint), "{file}");
    });
}

#[test]
fn public_traces_wrap_onto_a_small_drive_and_lose_no_request() {
    for_each_present(|expected, path| {
        let options = FoldOptions { fold: Fold::Wrap { logical_pages: 10_007 }, loops: 2, ..FoldOptions::default() };
        let mut source = PageSource::open(&path, &options_of(expected), options).unwrap();
        let mut latest_ns = 0;
        while let Some(request) = source.next_request().unwrap() {
            assert!(request.first + u64::from(request.pages) <= 10_007, "{request:?}");
            latest_ns = latest_ns.max(request.at_ns);
        }
        let counts = source.counts();
        counts.assert_balanced();
        assert_eq!(source.loop_number(), 2);
        assert_eq!(counts.read, 2 * expected.requests.iter().sum::<u64>(), "{}", expected.file);
        assert!(near(latest_ns as f64 / 1e9, 2.0 * expected.duration_s, 0.2), "{}: {latest_ns}", expected.file);
    });
}
