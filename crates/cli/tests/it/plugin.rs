//! FTLs from shared libraries under `crash` and `soak`.

use crate::common::{file, json, phelsuma, prints, refused_with, words};
use std::path::PathBuf;
use std::process::Command;

/// The example of a plugin, built with these options of the compiler.
fn page_table(name: &str, options: &[&str]) -> PathBuf {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let library = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let built = Command::new("cc")
        .args(["-std=c11", "-O1", "-fPIC", "-shared", "-I"])
        .arg(root.join("crates/plugin/include"))
        .args(options)
        .arg(root.join("examples/plugins/page_table.c"))
        .arg("-o")
        .arg(&library)
        .status();
    assert!(built.unwrap().success());
    library
}

#[test]
fn a_plugin_is_tried_beside_an_ftl_of_this_project() {
    let library = page_table("beside.so", &[]);
    let command = format!("crash --ftl page --plugin {} --writes 30 --cuts 10", library.display());
    let reports = json(&format!("{command} --json"));
    let names: Vec<&str> = reports.as_array().unwrap().iter().map(|report| report["ftl"].as_str().unwrap()).collect();
    assert_eq!(names, ["page", "page-table"]);
    for report in reports.as_array().unwrap() {
        assert!(report["cuts"].as_u64().unwrap() > 50 && report["lost"] == 0 && report["stuck"] == 0, "{report}");
    }
    assert!(prints(&command).contains("page-table"));
    let soak = json(&format!("soak --plugin {} --pages-per-block 16 --cycles 50 --json", library.display()));
    assert!(
        soak[0]["ftl"] == "page-table" && soak[0]["failed"] == 0 && soak[0]["cycles"].as_u64().unwrap() >= 50,
        "{soak}"
    );
}

#[test]
fn a_failure_of_a_plugin_is_replayed_by_its_id() {
    let library = page_table("trusts.so", &["-DTRUSTS_LAST_PAGE"]);
    let crash = format!("crash --plugin {} --pages-per-block 16 --ratio 0.4 --writes 60", library.display());
    let found = phelsuma(&words(&format!("{crash} --cuts 60 --json")));
    assert_eq!(found.status.code(), Some(1));
    let reports: serde_json::Value = serde_json::from_slice(&found.stdout).unwrap();
    let (id, why) = (&reports[0]["failures"][0]["id"], &reports[0]["failures"][0]["message"]);
    let again = phelsuma(&words(&format!("{crash} --replay {}", id.as_str().unwrap())));
    let text = String::from_utf8(again.stdout).unwrap();
    assert!(again.status.code() == Some(1) && text.contains(why.as_str().unwrap()), "{text}");
}

#[test]
fn what_is_no_plugin_is_refused() {
    let library = page_table("refused.so", &[]);
    let library = library.display();
    let no_library = file("no_library.so", b"text");
    for (line, expected) in [
        ("crash --plugin no/such.so".into(), "no/such.so: No such file"),
        (format!("crash --plugin {}", no_library.display()), "file too short"),
        (format!("soak --plugin {}", no_library.display()), "file too short"),
        (format!("crash --plugin {library} --plugin {library}"), "'page-table' is there already"),
        (format!("crash --plugin {library} --ratio 0.9"), "page-table: 1843 logical pages do not fit"),
        (format!("soak --plugin {library} --ratio 0.95"), "logical pages do not fit; the largest ratio"),
        (format!("crash --plugin {library} --channels 2"), "plugins have one die"),
        (format!("crash --plugin {library} --cache 1KiB"), "--ftl"),
        (format!("crash --plugin {library} --set victim=fifo"), "--ftl"),
    ] {
        let refused = refused_with(2, &words(&line));
        assert!(refused.contains(expected), "{line}: {refused}");
    }
}
