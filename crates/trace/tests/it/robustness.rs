//! Bytes that are no trace: never a panic, never a request out of bounds, always an end.

use std::io::{BufReader, Cursor, Read};

use phelsuma_trace::fold::FoldOptions;
use phelsuma_trace::{
    BlkparseEvent, END_BYTES_MAX, Filters, Fold, Format, InfoOptions, Op, OpenOptions, PageSource, SIZE_BYTES_MAX,
    SkipReason, Source, TimeUnit, TraceError, TraceFile, TraceInfo, Workload, reader_from,
};
use proptest::prelude::*;

/// Reads everything and checks what every reader promises.
fn read_all(bytes: &[u8], options: &OpenOptions) {
    read_of(reader_from(Cursor::new(bytes.to_vec()), "t", options), bytes.len().max(unpacked(bytes)), options);
}

/// What a packed stream comes to, up to where it is damaged: a byte that is repeated makes it much longer.
fn unpacked(bytes: &[u8]) -> usize {
    length(flate2::bufread::MultiGzDecoder::new(bytes)).max(unpacked_zstd(bytes))
}

#[cfg(feature = "zstd")]
fn unpacked_zstd(bytes: &[u8]) -> usize {
    zstd::Decoder::new(bytes).map_or(0, length)
}

#[cfg(not(feature = "zstd"))]
fn unpacked_zstd(_: &[u8]) -> usize {
    0
}

fn length(stream: impl Read) -> usize {
    BufReader::new(stream).bytes().take_while(Result::is_ok).count()
}

fn read_of(opened: Result<TraceFile, TraceError>, bytes: usize, options: &OpenOptions) {
    let mut reader = match opened {
        Ok(reader) => reader,
        Err(error) => return assert!(!error.to_string().contains('\n')),
    };
    let (mut yielded, mut failed, mut last_ns) = (0, false, 0);
    let Filters { devices, first, span_ns, addresses, drop_trims, shift_bytes } = &options.filters;
    for request in &mut reader {
        match request {
            Ok(request) => {
                yielded += 1;
                assert!(devices.is_empty() || devices.contains(&request.device), "{request:?}");
                assert!(!drop_trims || request.op != Op::Trim, "{request:?}");
                assert!(request.op == Op::Flush || request.offset_bytes >= *shift_bytes, "{request:?}");
                assert!(!options.sort || request.time_ns >= last_ns, "{request:?} after {last_ns}");
                last_ns = request.time_ns;
                assert_eq!(request.size_bytes == 0, request.op == Op::Flush, "{request:?}");
                assert!(request.offset_bytes + request.size_bytes <= END_BYTES_MAX, "{request:?}");
                assert!(request.op == Op::Trim || request.size_bytes <= SIZE_BYTES_MAX, "{request:?}");
            }
            Err(error) => {
                failed = true;
                let error = error.to_string();
                assert!(!error.contains('\n') && error.len() < 1000, "{error}");
            }
        }
    }
    assert!(reader.next().is_none());
    assert_eq!(reader.requests(), yielded);
    // No reader makes more of the file than it holds, but for pieces of what is too large to be asked at once. What it does
    // not yield it counts.
    let report = reader.report();
    let is_text = |reason| {
        use SkipReason::{ArchiveLeftover, BlankLine, Comment, Heading, JunkAfterLast, JunkBeforeFirst, RecorderLine};
        matches!(
            reason,
            ArchiveLeftover | BlankLine | Comment | Heading | JunkAfterLast | JunkBeforeFirst | RecorderLine
        )
    };
    let left_out = report.left_out.iter().filter(|(reason, _)| !is_text(*reason)).map(|(_, count)| count).sum::<u64>();
    if !failed && report.split == 0 && first.is_none() {
        assert_eq!(yielded, report.records - left_out, "{report:?}");
    }
    if let (Some(span), false) = (span_ns, options.sort) {
        assert!(yielded == 0 || report.duration_ns <= span.end - span.start, "{report:?}");
    }
    assert!(addresses.is_some() || first.is_none_or(|first| report.split > 0 || yielded <= first));
    assert!(yielded <= (report.records - report.split) + report.split * 1024);
    assert!(report.records + report.left_out.total() <= 2 * (bytes as u64 + 1));
}

fn has_events(format: Format) -> bool {
    matches!(format, Format::Blkparse | Format::Blktrace | Format::Ftrace)
}

/// Sorted or not, all or some of the requests.
fn taking() -> impl Strategy<Value = OpenOptions> {
    let devices = prop::collection::vec(0..3u32, 0..2);
    let times = (0..3_000_000_000u64, 1..1u64 << 40);
    let span = prop::option::of(times.prop_map(|(start, length)| start..start + length));
    let addresses = prop::option::of((0..1u64 << 34).prop_map(|start| start..start << 4));
    let shift = prop_oneof![Just(0), Just(512), any::<u64>()];
    let filters = (devices, prop::option::of(0..9u64), span, addresses, any::<bool>(), shift).prop_map(
        |(devices, first, span_ns, addresses, drop_trims, shift_bytes)| Filters {
            devices,
            first,
            span_ns,
            addresses,
            drop_trims,
            shift_bytes,
        },
    );
    (filters, any::<bool>()).prop_map(|(filters, sort)| OpenOptions { filters, sort, ..OpenOptions::default() })
}

fn read_as_everything(bytes: &[u8]) {
    read_all(bytes, &OpenOptions::default());
    for &format in Format::all() {
        let options = OpenOptions {
            format: Some(format),
            time_unit: (!matches!(format, Format::HpSrt | Format::Blktrace)).then_some(TimeUnit::S),
            blkparse_event: has_events(format).then_some(BlkparseEvent::Queued),
            sector_bytes: format.has_sectors().then_some(4096),
            ..OpenOptions::default()
        };
        read_all(bytes, &options);
        read_all(bytes, &OpenOptions { format: Some(format), ..OpenOptions::default() });
    }
}

/// A change to a file: overwrite, insert or remove some bytes.
#[derive(Debug, Clone)]
enum Change {
    Overwrite(prop::sample::Index, Vec<u8>),
    Insert(prop::sample::Index, Vec<u8>),
    Remove(prop::sample::Index, usize),
    Repeat(prop::sample::Index, usize),
}

fn change() -> impl Strategy<Value = Change> {
    let piece = prop_oneof![
        prop::collection::vec(any::<u8>(), 1..6),
        Just(b"-".to_vec()),
        Just(b"\n".to_vec()),
        Just(b"\t".to_vec()),
        Just(b"0".to_vec()),
        Just(b".".to_vec()),
        Just(b",".to_vec()),
        Just(b"1e300".to_vec()),
        Just(b"18446744073709551615".to_vec()),
        Just(b"18446744073709551616".to_vec()),
        Just(vec![0xff; 8]),
        Just(vec![0; 8]),
    ];
    let index = any::<prop::sample::Index>;
    prop_oneof![
        (index(), piece.clone()).prop_map(|(at, piece)| Change::Overwrite(at, piece)),
        (index(), piece).prop_map(|(at, piece)| Change::Insert(at, piece)),
        (index(), 1..40usize).prop_map(|(at, count)| Change::Remove(at, count)),
        (index(), 1..40usize).prop_map(|(at, count)| Change::Repeat(at, count)),
    ]
}

fn apply(bytes: &mut Vec<u8>, change: &Change) {
    let at = |index: &prop::sample::Index| index.index(bytes.len() + 1);
    match change {
        Change::Overwrite(index, piece) => {
            let at = at(index);
            let end = (at + piece.len()).min(bytes.len());
            bytes.splice(at..end, piece.iter().copied());
        }
        Change::Insert(index, piece) => {
            let at = at(index);
            bytes.splice(at..at, piece.iter().copied());
        }
        Change::Remove(index, count) => {
            let at = at(index);
            bytes.drain(at..(at + count).min(bytes.len()));
        }
        Change::Repeat(index, count) => {
            let at = at(index);
            let piece = bytes[at..(at + count).min(bytes.len())].to_vec();
            bytes.splice(at..at, piece.repeat(3));
        }
    }
}

#[test]
fn a_short_gzip_stream_may_hold_many_blank_lines() {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    std::io::Write::write_all(&mut packer, &[b'\n'; 20_000]).unwrap();
    let packed = packer.finish().unwrap();
    assert!(packed.len() < 200);
    read_as_everything(&packed);
    read_as_everything(&packed[..packed.len() - 9]);
}

/// More with `PHELSUMA_THOROUGH`.
fn cases() -> u32 {
    if std::env::var_os("PHELSUMA_THOROUGH").is_some() { 20_000 } else { 1_000 }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]

    #[test]
    fn arbitrary_bytes_are_refused_or_read(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        read_as_everything(&bytes);
    }

    #[test]
    fn arbitrary_text_is_refused_or_read(text in "([0-9]{1,4}[ ,\t.-]){0,8}[RWDC]?\n?([0-9a-zA-Z]{0,9}[ ,\t+\n]){0,60}") {
        read_as_everything(text.as_bytes());
    }

    #[test]
    fn arbitrary_bytes_behind_a_magic_are_refused_or_read(
        magic in prop::sample::select(vec![
            &b"$$TR_IOREC"[..], b"$$TR_IOREC\x0c\0\0\08\0\x04\0\x01", b"\x07tae", b"eta\x07", b"\x1f\x8b\x08\0",
            b"\x28\xb5\x2f\xfd", b"fio version 2 iolog\n", b"fio version 3 iolog\n",
            b"time_us,device,op,offset_bytes,size_bytes\n", b"Timestamp,Response,IOType,LUN,Offset,Size\n",
        ]),
        bytes in prop::collection::vec(any::<u8>(), 0..600),
    ) {
        read_as_everything(&[magic, &bytes].concat());
    }

    #[test]
    fn mutated_traces_are_refused_or_read(
        which in any::<prop::sample::Index>(),
        changes in prop::collection::vec(change(), 1..5),
        taking in taking(),
    ) {
        let samples = crate::samples::all();
        let sample = &samples[which.index(samples.len())];
        let mut bytes = sample.bytes.clone();
        for change in &changes {
            apply(&mut bytes, change);
        }
        read_all(&bytes, &OpenOptions::default());
        read_all(&bytes, &OpenOptions { format: Some(sample.format), ..OpenOptions::default() });
        read_all(&bytes, &taking);
    }

    #[test]
    fn several_mutated_traces_are_refused_or_read(
        which in prop::collection::vec((any::<prop::sample::Index>(), change()), 2..4),
        taking in taking(),
    ) {
        let samples = crate::samples::all();
        let folder = tempfile::tempdir().unwrap();
        let mut paths = Vec::new();
        let mut bytes_in_all = 0;
        for (at, (which, change)) in which.iter().enumerate() {
            let mut bytes = samples[which.index(samples.len())].bytes.clone();
            apply(&mut bytes, change);
            bytes_in_all += bytes.len();
            paths.push(folder.path().join(at.to_string()));
            std::fs::write(&paths[at], bytes).unwrap();
        }
        read_of(TraceFile::open_all(&paths, &OpenOptions::default()), bytes_in_all, &OpenOptions::default());
        read_of(TraceFile::open_all(&paths, &taking), bytes_in_all, &taking);
    }

    #[test]
    fn mutated_traces_fold_and_are_summarised_without_losing_a_request(
        which in any::<prop::sample::Index>(),
        changes in prop::collection::vec(change(), 1..3),
        logical_pages in 1..5000u64,
    ) {
        let samples = crate::samples::all();
        let mut bytes = samples[which.index(samples.len())].bytes.clone();
        for change in &changes {
            apply(&mut bytes, change);
        }
        let open = move || reader_from(Cursor::new(bytes.clone()), "t", &OpenOptions::default());
        if let Ok(mut trace) = open() {
            let _ = TraceInfo::gather(&mut trace, &InfoOptions { page_bytes: 65536, warmup_pages: 0 });
        }
        for fold in [Fold::Compact, Fold::Wrap { logical_pages }] {
            let options = FoldOptions { page_bytes: 65536, fold, loops: 2 };
            let Ok(mut source) = PageSource::from_opener(Box::new(open.clone()), options) else { continue };
            while let Some(request) = source.next_request().unwrap() {
                prop_assert!(request.first + u64::from(request.pages) <= source.logical_pages());
            }
            source.counts().assert_balanced();
            prop_assert_eq!(source.counts().read, 2 * source.requests_per_loop());
        }
    }

    #[test]
    fn arbitrary_workload_specifications_are_refused_or_run(
        spec in "(mixed:)?((read|trim|flush|pages|bytes)=[0-9.-]{0,6},?){0,3}:?(uniform|sequential|zipf|hotcold|media|desktop|cache|lsm)?:?(pic|mov|,?trim|,rounds=|small=|full=)?[0-9./]{0,8}",
        pages in 0..100u64,
    ) {
        if let Ok(workload) = Workload::parse(&spec) {
            let again = Workload::parse(&workload.to_string());
            prop_assert_eq!(again.as_ref(), Ok(&workload));
            let mut source = workload.source(pages, 4096, 1);
            for _ in 0..50 {
                let Ok(Some(request)) = source.next_request() else { break };
                prop_assert!(request.first + u64::from(request.pages) <= pages);
                prop_assert_eq!(request.pages == 0, request.op == Op::Flush);
            }
        }
    }
}
