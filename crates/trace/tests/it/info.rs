//! Statistics against a plain model that holds everything in memory.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Cursor;

use crate::samples::request;
use phelsuma_trace::convert::{WriteOptions, Writer};
use phelsuma_trace::histogram::{Modes, modes};
use phelsuma_trace::{Format, InfoOptions, Op, OpenOptions, Request, TraceInfo, reader_from};
use phelsuma_trace::{Workload, WorkloadExtent};
use proptest::prelude::*;

const PAGE: u64 = 4096;

fn of_pages(page_bytes: u32) -> InfoOptions {
    InfoOptions { page_bytes, warmup_pages: 0 }
}

fn info_of(requests: &[Request]) -> TraceInfo {
    let mut bytes = Vec::new();
    let mut writer = Writer::new(&mut bytes, Format::Csv, &WriteOptions::default()).unwrap();
    for request in requests {
        writer.write(request).unwrap();
    }
    writer.finish().unwrap();
    let mut trace = reader_from(Cursor::new(bytes), "t", &OpenOptions::default()).unwrap();
    TraceInfo::gather(&mut trace, &of_pages(PAGE as u32)).unwrap()
}

#[test]
fn writes_of_a_tebibyte_take_little_memory() {
    let tib = 1u64 << 40;
    let text = format!("time_us,op,offset,size\n1,W,0,{tib}\n2,W,0,{tib}\n3,W,4096,4096\n");
    let mut trace = reader_from(Cursor::new(text.into_bytes()), "t", &OpenOptions::default()).unwrap();
    let info = TraceInfo::gather(&mut trace, &of_pages(4096)).unwrap();
    let pages = 1 << 28;
    assert_eq!((info.pages_written, info.unique_pages_written), (2 * pages + 1, pages));
    assert_eq!(info.lifetimes.histogram_log2.iter().sum::<u64>(), pages + 1);
    assert_eq!((info.lifetimes.histogram_log2[28], info.lifetimes.live_at_end), (pages, pages));
}

/// Of a drive with many short writes as well, wherever these are.
#[test]
fn long_writes_and_trims_beside_short_writes_take_little_time() {
    let (tib, short) = (1u64 << 40, 1u64 << 16);
    let begun = std::time::Instant::now();
    let mut text = "time_us,op,offset,size\n".to_owned();
    let mut add = |op: &str, offset: u64, size: u64| text += &format!("1,{op},{offset},{size}\n");
    for at in 0..short {
        add("W", (1 << 50) + at * 8192, 4096);
    }
    (0..64).for_each(|_| add("W", 0, tib));
    (0..10_000).for_each(|_| add("T", 1 << 50, 1 << 45));
    (0..10_000).for_each(|at| add("T", (1 << 50) + at * 4096, 1 << 45));
    let mut trace = reader_from(Cursor::new(text.into_bytes()), "t", &OpenOptions::default()).unwrap();
    let info = TraceInfo::gather(&mut trace, &of_pages(4096)).unwrap();
    assert_eq!((info.unique_pages_written, info.lifetimes.ended_by_trims), ((1 << 28) + short, short));
    // Page by page it would be minutes.
    assert!(begun.elapsed().as_secs() < 20, "{:?}", begun.elapsed());
}

fn pages_of(request: &Request) -> std::ops::Range<u64> {
    request.offset_bytes / PAGE..(request.offset_bytes + request.size_bytes).div_ceil(PAGE)
}

fn requests() -> impl Strategy<Value = Vec<Request>> {
    let op = prop_oneof![4 => Just(Op::Write), 2 => Just(Op::Read), 1 => Just(Op::Trim), 1 => Just(Op::Flush)];
    // Those of 128 pages and more are counted otherwise.
    let size = prop_oneof![3 => 1..30u64, 1 => 100..300u64];
    let one = (0..1000u64, 0..3u32, op, 0..40u64, size, any::<bool>());
    let one = one.prop_map(|(time_ns, device, op, offset, size, aligned)| {
        let unit = if aligned { PAGE } else { 512 };
        match op {
            Op::Flush => request(time_ns, device, op, 0, 0),
            _ => request(time_ns, device, op, offset * unit, size * unit),
        }
    });
    prop::collection::vec(one, 1..80).prop_map(|mut requests| {
        requests[0].time_ns = 0;
        requests
    })
}

proptest! {
    #[test]
    fn statistics_are_those_of_a_plain_model(requests in requests()) {
        let info = info_of(&requests);
        let with = |op: Op| requests.iter().filter(move |request| request.op == op);
        let bytes = |op| with(op).map(|request| request.size_bytes).sum::<u64>();
        let count = |op| with(op).count() as u64;
        prop_assert_eq!([info.reads, info.writes, info.trims, info.flushes],
            [Op::Read, Op::Write, Op::Trim, Op::Flush].map(count));
        prop_assert_eq!([info.read_bytes, info.written_bytes, info.trimmed_bytes],
            [Op::Read, Op::Write, Op::Trim].map(bytes));

        // Lives, page by page.
        let mut clock = 0u64;
        let mut last: BTreeMap<(u32, u64), u64> = BTreeMap::new();
        let mut histogram = [0u64; 64];
        let (mut live, mut trimmed) = (last.clone(), 0u64);
        for request in &requests {
            match request.op {
                Op::Write => {
                    for page in pages_of(request) {
                        last.insert((request.device, page), clock);
                        if let Some(before) = live.insert((request.device, page), clock) {
                            histogram[(clock - before).ilog2() as usize] += 1;
                        }
                        clock += 1;
                    }
                }
                Op::Trim => {
                    for page in request.offset_bytes.div_ceil(PAGE)..(request.offset_bytes + request.size_bytes) / PAGE {
                        if let Some(before) = live.remove(&(request.device, page)) {
                            histogram[(clock - before).ilog2() as usize] += 1;
                            trimmed += 1;
                        }
                    }
                }
                Op::Read | Op::Flush => {}
            }
        }
        prop_assert_eq!(info.lifetimes.ended_by_trims, trimmed);
        prop_assert_eq!(info.pages_written, clock);
        prop_assert_eq!(info.unique_pages_written, last.len() as u64);
        prop_assert_eq!(info.lifetimes.live_at_end, live.len() as u64);
        let used = info.lifetimes.histogram_log2.len();
        prop_assert_eq!(&info.lifetimes.histogram_log2[..], &histogram[..used]);
        prop_assert!(histogram[used..].iter().all(|&count| count == 0));
        let updates = info.write_updates.iter().map(|class| (class.share * class.pages as f64).round() as u64);
        prop_assert_eq!(updates.sum::<u64>(), clock - info.unique_pages_written);
        prop_assert_eq!(info.write_updates.iter().map(|class| class.pages).sum::<u64>(), clock);
        prop_assert_eq!(histogram.iter().sum::<u64>() + live.len() as u64, clock, "every page write ends or stays");

        let touched: BTreeSet<(u32, u64)> = requests.iter()
            .filter(|request| matches!(request.op, Op::Read | Op::Write))
            .flat_map(|request| pages_of(request).map(|page| (request.device, page)))
            .collect();
        prop_assert_eq!(info.unique_pages, touched.len() as u64);
        prop_assert_eq!(info.footprint_bytes, touched.len() as u64 * PAGE);

        let backwards = requests.windows(2).filter(|pair| pair[1].time_ns < pair[0].time_ns).count();
        prop_assert_eq!(info.times_backwards, backwards as u64);
        prop_assert_eq!(info.duration_ns, requests.iter().map(|request| request.time_ns).max().unwrap());
        let devices: BTreeSet<u32> = requests.iter().map(|request| request.device).collect();
        prop_assert_eq!(info.devices, devices.len() as u64);

        let mut sizes: Vec<u64> = with(Op::Write).map(|request| request.size_bytes).collect();
        sizes.sort_unstable();
        if let Some(&largest) = sizes.last() {
            let percentile = |percent: usize| sizes[(sizes.len() * percent).div_ceil(100) - 1];
            prop_assert_eq!(info.write_sizes.max_bytes, largest);
            prop_assert_eq!(info.write_sizes.p50_bytes, percentile(50));
            prop_assert_eq!(info.write_sizes.p90_bytes, percentile(90));
            prop_assert_eq!(info.write_sizes.p99_bytes, percentile(99));
            let unaligned = with(Op::Write).filter(|r| r.offset_bytes % PAGE != 0 || r.size_bytes % PAGE != 0).count();
            prop_assert!((info.unaligned_write_share - unaligned as f64 / sizes.len() as f64).abs() < 1e-12);
            prop_assert!((info.overwrite_ratio - clock as f64 / last.len() as f64).abs() < 1e-12);
        }
    }
}

#[test]
fn sequential_requests_follow_their_own_device() {
    let requests = [
        request(0, 0, Op::Write, 0, 4096),
        request(1, 1, Op::Write, 1 << 20, 4096),
        request(2, 0, Op::Read, 4096, 4096),
        request(3, 0, Op::Write, 4096, 4096),
        request(4, 1, Op::Write, 0, 4096),
    ];
    let info = info_of(&requests);
    assert_eq!(info.sequential_write_share, 0.25);
    assert_eq!(info.sequential_read_share, 0.0);
    assert_eq!(info.span_bytes, 8192 + (1 << 20) + 4096);
    assert_eq!(info.highest_byte, (1 << 20) + 4096);
}

#[test]
fn writes_are_updates_by_their_size() {
    let page = |n: u64| n * PAGE;
    let info = info_of(&[
        request(0, 0, Op::Write, 0, page(8)),
        request(1, 0, Op::Write, page(3), page(1)),
        request(2, 0, Op::Write, page(20), page(1)),
        // Touches five pages, of which four are there.
        request(3, 0, Op::Write, page(4) + 512, page(4)),
        request(4, 0, Op::Write, page(100), page(5000)),
    ]);
    let of = |class: usize| (info.write_updates[class].requests, info.write_updates[class].share);
    assert_eq!((of(0), of(1), of(3)), ((2, 0.5), (0, 0.0), (2, 4.0 / 13.0)));
    let last = info.write_updates.last().unwrap();
    assert_eq!((last.up_to_pages, last.pages, last.share), (None, 5000, 0.0));
    assert_eq!(info.write_updates[10].up_to_pages, Some(1024));
    assert!(
        info.to_string().contains("share of updates, by the pages of a write: to 1: 50 %, to 8: 31 %, more: 0 %"),
        "{info}"
    );
}

#[test]
fn statistics_are_json_with_names_that_say_units() {
    let info = info_of(&[request(0, 0, Op::Write, 0, 4096), request(7, 0, Op::Write, 0, 4096)]);
    let json = serde_json::to_value(&info).unwrap();
    assert_eq!(json["format"], "csv");
    assert_eq!(json["written_bytes"], 8192);
    assert_eq!(json["overwrite_ratio"], 2.0);
    assert_eq!(json["duration_ns"], 7);
    assert_eq!(json["write_sizes"]["most_frequent"][0]["bytes"], 4096);
    assert_eq!(json["lifetimes"]["histogram_log2"], serde_json::json!([1]));
    assert_eq!(json["skipped"], serde_json::json!({}));
}

#[test]
fn statistics_print_for_a_person() {
    let info = info_of(&[
        request(0, 0, Op::Write, 0, 8192),
        request(1_500_000_000, 0, Op::Write, 4096, 512),
        request(1_500_000_001, 3, Op::Read, 0, 4096),
    ]);
    let text = info.to_string();
    assert_eq!(
        text,
        "t (csv): 3 requests in 1.500 s, devices: 2\n\
         reads: 1 (4.0 KiB), writes: 2 (8.5 KiB), trims: 0, flushes: 0\n\
         pages of 4.0 KiB: 3 written, 2 of them different (8.0 KiB), overwrite ratio 1.50; 3 read or written (12.0 KiB); 1.00 written per page of these\n\
         writes: sizes p50 512 B, p90 8.0 KiB, p99 8.0 KiB, max 8.0 KiB; 50 % unaligned, 0 % sequential\n\
         share of updates, by the pages of a write: to 1: 100 %, to 2: 0 %\n\
         reads: sizes p50 4.0 KiB, p90 4.0 KiB, p99 4.0 KiB, max 4.0 KiB; 0 % unaligned, 0 % sequential\n\
         a written page is overwritten within 1 page writes (half of them), 1 (90 %), 1 (99 %):\n\x20\x20from 2^0  100.0 % ▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪\n\
         address span 12.0 KiB; requests back in time: 0; skipped: nothing"
    );
}

#[test]
fn an_impossible_page_size_is_refused() {
    let open = || reader_from(Cursor::new("1.0 0 8 8 0\n"), "t", &OpenOptions::default()).unwrap();
    for page_bytes in [0, 511, 1000, 3 << 20] {
        let error = TraceInfo::gather(&mut open(), &of_pages(page_bytes)).unwrap_err().to_string();
        let right = "a power of two from 512 to 1048576 would be right";
        assert_eq!(error, format!("a page of {page_bytes} bytes cannot be, {right}"));
    }
}

fn info_of_workload(spec: &str, logical_pages: u64, pages_written: Option<u64>, warmup_pages: u64) -> TraceInfo {
    let extent = WorkloadExtent { logical_pages, seed: 1, pages_written };
    let options = InfoOptions { page_bytes: PAGE as u32, warmup_pages };
    TraceInfo::of_workload(&Workload::parse(spec).unwrap(), &extent, &options).unwrap()
}

/// Figure 3 of Dual Greedy's paper. Two modes: a valley at most half as high as either peak, and a twentieth of all
/// lives or more on each side of it.
#[test]
fn pages_of_a_desktop_live_short_or_long_and_those_of_uniform_writes_do_not() {
    for pages in [1 << 17, 1 << 20, 10 << 20] {
        // As the paper observes: 100,000 page writes after 400,000; and longer, so that long lives end.
        for (writes, warmup) in [(500_000, 400_000), (2_000_000, 400_000)] {
            let lifetimes = info_of_workload("desktop", pages, Some(writes), warmup).lifetimes;
            let entries = &lifetimes.histogram_log2;
            let found = modes(entries).unwrap_or_else(|| panic!("{pages} pages, {writes} writes: {entries:?}"));
            assert!(found.low <= 9 && found.high >= 13 && found.high - found.low >= 5, "{pages} pages: {found:?}");
        }
        let uniform = info_of_workload("uniform", pages, Some(2_000_000), 400_000).lifetimes;
        assert_eq!(modes(&uniform.histogram_log2), None, "{pages} pages: {:?}", uniform.histogram_log2);
    }
    // The measure is no accident of these: two kinds of pages are two modes.
    let hot_cold = info_of_workload("hotcold:50/0.1", 1 << 17, Some(2_000_000), 0).lifetimes;
    assert_eq!(modes(&hot_cold.histogram_log2).map(|Modes { low, high, .. }| (low, high)), Some((7, 17)));
}

#[test]
fn a_workload_is_counted_to_its_end_or_as_far_as_asked() {
    let media = info_of_workload("media:mov,trim", 1 << 14, None, 0);
    assert!((3.2..3.6).contains(&media.writes_per_logical_page), "{}", media.writes_per_logical_page);
    assert!(media.lifetimes.ended_by_trims > 0 && media.format.is_none() && media.logical_pages == 1 << 14);
    let lives: u64 = media.lifetimes.histogram_log2.iter().sum();
    assert_eq!(lives + media.lifetimes.live_at_end, media.pages_written, "every page write ends or stays");
    let uniform = info_of_workload("uniform", 1000, None, 0);
    assert_eq!((uniform.pages_written, uniform.overwrite_ratio), (4000, 4000.0 / uniform.unique_pages_written as f64));
    assert_eq!(info_of_workload("uniform", 1000, Some(7), 0).pages_written, 7);
    assert_eq!(info_of_workload("mixed:read=100:uniform", 1000, Some(70), 0).pages_read, 70);
    assert_eq!(info_of_workload("mixed:trim=100:uniform", 1000, Some(70), 0).trims, 70);
    let late = info_of_workload("sequential", 100, Some(1000), 900).lifetimes;
    assert_eq!((late.histogram_log2[6], late.live_at_end, late.warmup_pages), (100, 100, 900));
    let extent = WorkloadExtent { logical_pages: u64::MAX, seed: 1, pages_written: None };
    let options = InfoOptions { page_bytes: 4096, warmup_pages: 0 };
    let error = TraceInfo::of_workload(&Workload::Uniform, &extent, &options).unwrap_err().to_string();
    assert!(error.contains("over 2^63 bytes"), "{error}");
}

#[test]
fn a_trim_of_everything_ends_every_life_once() {
    let whole = |at| request(at, 0, Op::Trim, 0, 1 << 40);
    let write = |at, page| request(at, 0, Op::Write, page * PAGE, PAGE);
    let info =
        info_of(&[write(0, 1), write(1, 2), whole(2), whole(3), write(4, 1), request(5, 0, Op::Trim, 2 * PAGE, PAGE)]);
    let lives = info.lifetimes;
    assert_eq!((lives.histogram_log2, lives.ended_by_trims, lives.live_at_end), (vec![1, 1], 2, 1));
    assert_eq!((info.unique_pages_written, info.overwrite_ratio), (2, 1.5));
}
