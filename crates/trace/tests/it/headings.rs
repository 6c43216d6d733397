//! Numbers in headings, and headings of which a file has several.

use crate::samples::{error, read, says, says_not};

/// The columns of a file with this heading, whose requests are such.
fn columns(heading: &str) -> (String, Vec<String>) {
    let (_, report) = read(&format!("{heading}\n1,W,1032,8192\n2,W,2056,16384\n3,R,4104,8192\n"));
    let unknown = report.warnings.into_iter().filter(|warning| warning.contains("is no known unit"));
    (report.files[0].columns.as_ref().unwrap().columns.clone(), unknown.collect())
}

#[test]
fn a_width_in_a_heading_is_no_unit() {
    for (address, read) in [
        ("LBA48", "lba:512"),
        ("lba28", "lba:512"),
        ("lba_64", "lba:512"),
        ("lba_u64", "lba:512"),
        ("LBA48 (512)", "lba:512"),
        ("lba_4k", "lba:4096"),
        ("lba4096", "lba:4096"),
        ("lba (520)", "lba:520"),
        ("lba_64_4KiB", "lba:4096"),
        ("offset64_bytes", "offset"),
        ("offset_64", "offset"),
        ("offset_64bit", "offset"),
        ("offset_uint64", "offset"),
        ("offset_512", "lba:512"),
    ] {
        let (columns, warnings) = columns(&format!("time_us,op,{address},size_bytes"));
        assert_eq!((columns, warnings), (format!("time:us,op,{read},size"), Vec::new()), "{address}");
    }
    for size in ["size32", "size(32)", "size_64", "len_u32", "length64"] {
        assert_eq!(columns(&format!("time_us,op,offset_bytes,{size}")), ("time:us,op,offset,size".to_owned(), vec![]));
    }
    assert_eq!(columns("timestamp64,op,offset_bytes,size_bytes").0, "time,op,offset,size");
    // Any other number may be a unit that nobody has.
    for (heading, word) in [("time_us,op,lba_100,size_bytes", "100"), ("time_us,op,offset_bytes,size_7", "7")] {
        let (_, report) = read(&format!("{heading}\n1,W,8,4096\n2,W,16,4096\n"));
        says(&report, &format!("`{word}` is no known unit"));
    }
}

#[test]
fn a_heading_with_other_units_is_an_error() {
    let joined = |first: &str, second: &str| format!("{first}\n1,W,8,8\n2,W,16,8\n{second}\n3,W,1,1\n");
    for (first, second) in [
        ("time_us,op,lba_512,size_512", "time_us,op,lba_4096,size_4096"),
        ("time_100ns,op,lba_512,size_512", "time_ns,op,lba_512,size_512"),
        ("time_us,op,lba_512,size_512", "# time_us,op,size_512,lba_512"),
        ("time_us,op,lba_512,size_512", "# time_ms,op,lba_512,size_512"),
        ("# time_us,op,lba_512,size_512", "# time_ms,op,lba_512,size_512"),
        ("# time_us,op,lba_512,size_512", "time_us,op,lba_4096,size_512"),
    ] {
        let said = error(&joined(first, second));
        assert!(said.starts_with("t:4: the heading names other columns than the one before"), "{said}");
    }
    for (first, second) in [
        ("time_us,op,lba_512,size_512", "time_us,op,lba_512,size_512"),
        ("time_us,op,lba_512,size_512", "# page 2 of 7"),
        ("time_us,op,lba_512,size_512", "# time_us,op,lba_512,size_512"),
        ("time_us,op,lba_512,size_512", "# time,what,where,how much"),
        ("# page 1 of 7\ntime_us,op,lba_512,size_512", "# page 2 of 7\ntime_us,op,lba_512,size_512"),
        ("page 1 of 7\ntime_us,op,lba_512,size_512", "page 2 of 7\ntime_us,op,lba_512,size_512"),
    ] {
        let (requests, report) = read(&joined(first, second));
        assert_eq!((requests.len(), requests[2].offset_bytes), (3, 512), "{second}");
        says_not(&report, "heading");
    }
}
