//! The whole sweep as text against the committed file.
//!
//! With `PHELSUMA_UPDATE_GOLDEN=1` the file is written instead; look at the difference before committing it.

use std::fmt::Write as _;
use std::path::Path;

use phelsuma_limits::table;

#[test]
fn the_sweep_prints_what_it_printed() {
    let mut text = String::new();
    for table in table::sweep().unwrap() {
        writeln!(text, "{table}").unwrap();
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/sweep.txt");
    if std::env::var_os("PHELSUMA_UPDATE_GOLDEN").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &text).unwrap();
    }
    let golden = std::fs::read_to_string(&path).unwrap();
    assert_eq!(text, golden, "run with PHELSUMA_UPDATE_GOLDEN=1 if the change is meant");
}
