//! Folding against a plain model, and its books.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Cursor;

use crate::samples::request;
use phelsuma_trace::convert::{WriteOptions, Writer};
use phelsuma_trace::fold::FoldOptions;
use phelsuma_trace::{
    DropReason, Fold, Format, Op, OpenOptions, PageRequest, PageSource, Request, Source, TraceError, reader_from,
};
use proptest::prelude::*;

const PAGE: u64 = 4096;

fn source(requests: &[Request], fold: Fold, loops: u64) -> Result<PageSource, TraceError> {
    let mut bytes = Vec::new();
    let mut writer = Writer::new(&mut bytes, Format::Csv, &WriteOptions::default())?;
    for request in requests {
        writer.write(request)?;
    }
    writer.finish()?;
    let open = move || reader_from(Cursor::new(bytes.clone()), "t", &OpenOptions::default());
    PageSource::from_opener(Box::new(open), FoldOptions { page_bytes: PAGE as u32, fold, loops })
}

fn drain(source: &mut PageSource) -> Vec<PageRequest> {
    let mut all = Vec::new();
    while let Some(request) = source.next_request().unwrap() {
        all.push(request);
    }
    assert_eq!(source.next_request().unwrap(), None);
    source.counts().assert_balanced();
    assert_eq!(source.counts().page_requests, all.len() as u64);
    all
}

/// Every page that a request touches (or, for a trim, covers), as (page of its device, in part).
fn model_pages(request: &Request) -> Vec<(u64, bool)> {
    let (begin, end) = (request.offset_bytes, request.offset_bytes + request.size_bytes);
    let pages = (begin / PAGE..end.div_ceil(PAGE)).map(|page| (page, page * PAGE < begin || (page + 1) * PAGE > end));
    pages.filter(|&(_, partial)| !(partial && request.op == Op::Trim)).collect()
}

/// The pages of a page request, in the same form.
fn pages_of(request: &PageRequest) -> Vec<(u64, bool)> {
    let pages = request.first..request.first + u64::from(request.pages);
    let last = pages.end.wrapping_sub(1);
    pages
        .map(|page| (page, (page == request.first && request.partial_first) || (page == last && request.partial_last)))
        .collect()
}

fn requests() -> impl Strategy<Value = Vec<Request>> {
    let op = prop_oneof![3 => Just(Op::Write), 2 => Just(Op::Read), 2 => Just(Op::Trim), 1 => Just(Op::Flush)];
    let one = (0..1000u64, 0..4u32, op, 0..200_000u64, 1..60_000u64, any::<bool>());
    let one = one.prop_map(|(time_ns, device, op, offset, size, aligned)| {
        let round = if aligned { PAGE } else { 1 };
        match op {
            Op::Flush => request(time_ns, device, op, 0, 0),
            _ => request(time_ns, device * 100, op, offset / round * round, size.div_ceil(round) * round),
        }
    });
    prop::collection::vec(one, 1..40).prop_map(|mut requests| {
        requests[0].time_ns = 0;
        requests
    })
}

proptest! {
    #[test]
    fn compact_folding_is_a_dense_order_preserving_renaming(requests in requests()) {
        let used: BTreeSet<(u32, u64)> = requests
            .iter()
            .filter(|request| matches!(request.op, Op::Read | Op::Write))
            .flat_map(|request| model_pages(request).into_iter().map(|(page, _)| (request.device, page)))
            .collect();
        let names: BTreeMap<(u32, u64), u64> = used.into_iter().zip(0..).collect();
        let mut source = source(&requests, Fold::Compact, 1).unwrap();
        prop_assert_eq!(source.logical_pages(), names.len() as u64);
        let mut expected = Vec::new();
        for request in &requests {
            let pages: Vec<_> = model_pages(request)
                .into_iter()
                .filter_map(|(page, partial)| names.get(&(request.device, page)).map(|&name| (name, partial)))
                .collect();
            if request.op == Op::Flush || !pages.is_empty() {
                expected.push((request.time_ns, request.op, pages));
            }
        }
        let emitted: Vec<_> =
            drain(&mut source).iter().map(|request| (request.at_ns, request.op, pages_of(request))).collect();
        prop_assert_eq!(emitted, expected);
        let counts = source.counts();
        prop_assert_eq!(counts.read, requests.len() as u64);
    }

    #[test]
    fn wrapping_keeps_devices_apart_and_covers_the_same_pages(requests in requests(), drive in 7..300u64) {
        let devices: BTreeSet<u32> = requests.iter().map(|request| request.device).collect();
        let count = devices.len() as u64;
        let slices: BTreeMap<u32, (u64, u64)> = devices
            .into_iter()
            .zip(0..)
            .map(|(device, index)| (device, (index * drive / count, (index + 1) * drive / count)))
            .collect();
        let mut source = source(&requests, Fold::Wrap { logical_pages: drive }, 1).unwrap();
        prop_assert_eq!(source.logical_pages(), drive);
        let mut emitted = drain(&mut source).into_iter().peekable();
        for request in &requests {
            let (begin, end) = slices[&request.device];
            let expected: Vec<(u64, bool)> = model_pages(request)
                .into_iter()
                .map(|(page, partial)| (begin + page % (end - begin), partial))
                .collect();
            if request.op == Op::Flush {
                prop_assert_eq!(emitted.next().map(|piece| (piece.op, piece.pages)), Some((Op::Flush, 0)));
                continue;
            }
            if request.op == Op::Trim {
                // A trim over the whole slice trims it once; the order within does not matter.
                let expected: BTreeSet<_> = expected.into_iter().collect();
                let mut pages = BTreeSet::new();
                while pages.len() < expected.len() {
                    let piece = emitted.next().unwrap();
                    prop_assert_eq!(piece.op, Op::Trim);
                    pages.extend(pages_of(&piece));
                }
                prop_assert_eq!(pages, expected);
                continue;
            }
            let mut pages = Vec::new();
            while pages.len() < expected.len() {
                let piece = emitted.next().unwrap();
                prop_assert_eq!((piece.op, piece.at_ns), (request.op, request.time_ns));
                prop_assert!(piece.first >= begin && piece.first + u64::from(piece.pages) <= end);
                pages.extend(pages_of(&piece));
            }
            prop_assert_eq!(pages, expected);
        }
        prop_assert_eq!(emitted.next(), None);
    }

    #[test]
    fn loops_repeat_the_trace_and_go_on_in_time(requests in requests(), loops in 1..4u64) {
        let once = drain(&mut source(&requests, Fold::Compact, 1).unwrap());
        let mut source = source(&requests, Fold::Compact, loops).unwrap();
        let many = drain(&mut source);
        prop_assert_eq!(source.loop_number(), loops);
        prop_assert_eq!(source.counts().read, loops * requests.len() as u64);
        prop_assert_eq!(many.len(), once.len() * loops as usize);
        let span = requests.iter().map(|request| request.time_ns).max().unwrap();
        for (at, request) in many.iter().enumerate() {
            let of = once[at % once.len()];
            let loop_start = (at / once.len()) as u64 * span;
            prop_assert_eq!(*request, PageRequest { at_ns: of.at_ns + loop_start, ..of });
        }
    }
}

#[test]
fn a_request_of_one_page_that_is_partial_anywhere_sets_only_partial_first() {
    for (offset, size) in [(0, 512), (512, 512), (3584, 512), (512, 3584)] {
        let requests = [request(0, 0, Op::Write, offset, size)];
        let emitted = drain(&mut source(&requests, Fold::Compact, 1).unwrap());
        assert!(emitted[0].partial_first && !emitted[0].partial_last, "{offset}+{size}");
    }
    let emitted = drain(&mut source(&[request(0, 0, Op::Write, 0, 4608)], Fold::Compact, 1).unwrap());
    assert!(!emitted[0].partial_first && emitted[0].partial_last);
}

#[test]
fn dropped_trims_are_counted_by_reason() {
    let requests = [
        request(0, 0, Op::Write, 0, 4096),
        request(1, 0, Op::Trim, 512, 4096),
        request(2, 0, Op::Trim, 1 << 30, 1 << 40),
        request(3, 5, Op::Trim, 0, 4096),
        request(4, 0, Op::Trim, 0, 1 << 62),
    ];
    let mut source = source(&requests, Fold::Compact, 1).unwrap();
    let emitted = drain(&mut source);
    assert_eq!(emitted.len(), 2);
    assert_eq!((emitted[1].first, emitted[1].pages), (0, 1));
    let counts = source.counts();
    assert_eq!((counts.read, counts.emitted), (5, 2));
    assert_eq!(counts.dropped[&DropReason::TrimWithoutWholePage], 1);
    assert_eq!(counts.dropped[&DropReason::TrimOutsideFootprint], 2);
}

#[test]
fn a_trim_of_2_to_the_50_pages_wraps_onto_the_drive_once() {
    let requests = [request(0, 0, Op::Write, 0, 4096), request(1, 0, Op::Trim, 4096, 1 << 62)];
    let emitted = drain(&mut source(&requests, Fold::Wrap { logical_pages: 10 }, 1).unwrap());
    assert_eq!((emitted[1].first, emitted[1].pages), (0, 10));
    let pages = 1u64 << 33;
    let emitted = drain(&mut source(&requests, Fold::Wrap { logical_pages: pages }, 1).unwrap());
    assert_eq!(emitted.len(), 4, "a drive of 2^33 pages takes three trims of at most 2^32 - 1 pages");
    assert_eq!(emitted[1..].iter().map(|piece| u64::from(piece.pages)).sum::<u64>(), pages);
}

#[test]
fn sources_may_move_to_another_thread() {
    fn sendable<T: Send>() {}
    sendable::<PageSource>();
    sendable::<Box<dyn Source + Send>>();
    sendable::<phelsuma_trace::TraceFile>();
}

#[test]
fn impossible_options_are_refused() {
    let requests = [request(0, 0, Op::Write, 0, 4096), request(0, 1, Op::Write, 0, 4096)];
    let error = |fold, loops| source(&requests, fold, loops).unwrap_err().to_string();
    assert_eq!(error(Fold::Compact, 0), "0 loops cannot be, 1 or more would be right");
    let small = "2 devices do not fit a drive of 1 pages, one page each at least would be right";
    assert_eq!(error(Fold::Wrap { logical_pages: 1 }, 1), small);
}

#[test]
fn a_trace_that_changes_between_passes_is_refused() {
    let texts = [&b"1.0 0 8 8 0\n2.0 0 16 8 0\n"[..], b"1.0 0 8 8 0\n2.0 0 800 8 0\n", b"1.0 0 8 8 0\n"];
    for second in &texts[1..] {
        let mut passes = [texts[0], second].into_iter();
        let open = move || reader_from(Cursor::new(passes.next().unwrap()), "t", &OpenOptions::default());
        let mut source = PageSource::from_opener(Box::new(open), FoldOptions::default()).unwrap();
        let error = std::iter::from_fn(|| source.next_request().transpose()).find_map(Result::err).unwrap();
        assert!(error.to_string().starts_with("t: the trace changed between two passes"), "{error}");
    }
}
