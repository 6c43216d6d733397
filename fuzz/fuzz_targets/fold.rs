//! Arbitrary requests, as own CSV, through both foldings and the statistics.
#![no_main]

use std::fmt::Write;
use std::io::Cursor;

use libfuzzer_sys::fuzz_target;
use phelsuma_trace::fold::FoldOptions;
use phelsuma_trace::{Fold, InfoOptions, OpenOptions, PageSource, Source, TraceInfo, reader_from};

fuzz_target!(|input: (u32, Vec<(u16, u8, u8, u64, u32)>)| {
    let (logical_pages, fields) = input;
    let mut text = String::from("time_us,device,op,offset_bytes,size_bytes\n");
    for (time, device, op, offset, size) in fields {
        let device = device % 8;
        // Small and large addresses; sizes that keep one input fast.
        let offset = if op & 0x80 == 0 { offset % (1 << 24) } else { offset >> 2 };
        let size = size >> 8;
        let _ = match op % 4 {
            0 => writeln!(text, "{time},{device},read,{offset},{size}"),
            1 => writeln!(text, "{time},{device},write,{offset},{size}"),
            2 => writeln!(text, "{time},{device},trim,{offset},{}", u64::from(size) << (op >> 4)),
            _ => writeln!(text, "{time},{device},flush,0,0"),
        };
    }
    let open = move || reader_from(Cursor::new(text.clone().into_bytes()), "fuzz", &OpenOptions::default());
    let options = InfoOptions { page_bytes: 65_536, warmup_pages: 0 };
    if let Ok(mut trace) = open()
        && let Ok(info) = TraceInfo::gather(&mut trace, &options)
    {
        assert_eq!(info.requests, info.reads + info.writes + info.trims + info.flushes);
        assert!(info.unique_pages_written <= info.unique_pages && info.unique_pages_written <= info.pages_written);
    }
    for fold in [Fold::Compact, Fold::Wrap { logical_pages: u64::from(logical_pages >> 16) }] {
        let options = FoldOptions { page_bytes: 65_536, fold, loops: 2 };
        let Ok(mut source) = PageSource::from_opener(Box::new(open.clone()), options) else { continue };
        while let Some(request) = source.next_request().expect("the trace was read once before") {
            assert!(request.first + u64::from(request.pages) <= source.logical_pages());
        }
        source.counts().assert_balanced();
        assert_eq!(source.counts().read, 2 * source.requests_per_loop());
    }
});
