//! Placement handles of traces: a column of the own CSV, which conversion, sorting, merging and folding keep.

use std::io::Cursor;

use phelsuma_trace::convert::{WriteOptions, convert};
use phelsuma_trace::fold::FoldOptions;
use phelsuma_trace::{Fold, Format, OpenOptions, PageSource, Source, reader_from};

const WITH: &str = "time_us,device,op,offset_bytes,size_bytes,handle\n\
    5,0,write,8192,4096,2\n3,0,write,0,8192,255\n7,0,trim,8192,4096,2\n8,0,read,0,512,0\n9,0,flush,0,0,1\n";
const WITHOUT: &str = "time_us,device,op,offset_bytes,size_bytes\n10,0,write,0,4096\n";

fn handles(text: &str, options: &OpenOptions) -> Result<Vec<u8>, String> {
    let trace = reader_from(Cursor::new(text.as_bytes().to_vec()), "t.csv", options).map_err(|e| e.to_string())?;
    trace.map(|request| request.map(|request| request.handle).map_err(|error| error.to_string())).collect()
}

fn converted(text: &str, format: Format, options: &WriteOptions) -> Result<(String, u64, u64), String> {
    let mut trace = reader_from(Cursor::new(text.as_bytes().to_vec()), "t.csv", &OpenOptions::default()).unwrap();
    let mut out = Vec::new();
    let options = WriteOptions { begin_ns: Some(0), ..*options };
    let written = convert(&mut trace, &mut out, format, &options).map_err(|error| error.to_string())?;
    Ok((String::from_utf8(out).unwrap(), written.dropped, written.dropped_handles))
}

#[test]
fn a_column_of_handles_is_read_and_its_absence_means_none() {
    assert_eq!(handles(WITH, &OpenOptions::default()).unwrap(), [2, 255, 2, 0, 1]);
    assert_eq!(handles(WITHOUT, &OpenOptions::default()).unwrap(), [0]);
    let other_case = WITH.replace("handle", " \"Handle\" ").replace(',', ";");
    assert_eq!(handles(&other_case, &OpenOptions::default()).unwrap(), [2, 255, 2, 0, 1]);
    let joined = format!("{WITHOUT}{WITH}{WITHOUT}");
    assert_eq!(handles(&joined, &OpenOptions::default()).unwrap(), [0, 2, 255, 2, 0, 1, 0]);
}

#[test]
fn sorting_keeps_a_request_and_its_handle_together() {
    let sorted = OpenOptions { sort: true, ..OpenOptions::default() };
    assert_eq!(handles(WITH, &sorted).unwrap(), [255, 2, 2, 0, 1]);
}

#[test]
fn a_wrong_handle_is_an_error_with_file_and_line() {
    for (handle, what) in
        [("256", "0 to 255 would be right"), ("-1", "the handle"), ("hot", "the handle"), ("", "the handle")]
    {
        let error = handles(&WITH.replace(",255\n", &format!(",{handle}\n")), &OpenOptions::default()).unwrap_err();
        assert!(error.starts_with("t.csv:3: ") && error.contains(what), "{handle}: {error}");
    }
    let short = handles(&WITH.replace(",255\n", "\n"), &OpenOptions::default()).unwrap_err();
    assert!(short.starts_with("t.csv:3: ") && short.contains('6'), "{short}");
}

#[test]
fn converting_keeps_handles_where_the_format_has_them() {
    let usual = WriteOptions::default();
    assert_eq!(converted(WITH, Format::Csv, &usual).unwrap(), (WITH.to_owned(), 0, 0));
    assert_eq!(converted(WITHOUT, Format::Csv, &usual).unwrap(), (WITHOUT.to_owned(), 0, 0));
    // Where a file begins without, the column begins with the first handle.
    let joined = format!("{WITHOUT}{WITH}");
    let (again, ..) = converted(&joined, Format::Csv, &usual).unwrap();
    assert_eq!(again, joined);
    assert!(converted(WITHOUT, Format::Csv, &WriteOptions { handles: true, ..usual }).unwrap().0.ends_with("4096,0\n"));

    let error = converted(WITH, Format::FioV3, &usual).unwrap_err();
    assert!(error.contains("request 1: the format has no placement handles; csv would be right"), "{error}");
    let (text, dropped, dropped_handles) =
        converted(WITH, Format::FioV3, &WriteOptions { drop_unwritable: true, ..usual }).unwrap();
    assert!(text.contains("5 dev0 write 8192 4096") && (dropped, dropped_handles) == (0, 4), "{text}");
}

#[test]
fn a_folded_trace_has_the_handle_in_every_piece() {
    for fold in [Fold::Compact, Fold::Wrap { logical_pages: 2 }] {
        let open = || reader_from(Cursor::new(WITH.as_bytes()), "t.csv", &OpenOptions::default());
        let options = FoldOptions { fold, ..FoldOptions::default() };
        let mut source = PageSource::from_opener(Box::new(open), options).unwrap();
        let requests: Vec<_> = std::iter::from_fn(|| source.next_request().unwrap()).collect();
        let handles: Vec<u8> = requests.iter().map(|request| request.handle).collect();
        assert_eq!(handles, [2, 255, 2, 0, 1], "{fold:?}");
    }
}
