//! `create`, `check` and `inspect`: what they print, how they end, and that the last two change nothing.

use crate::common::{json, phelsuma, prints, refused_with, words};
use std::path::PathBuf;

fn fresh(name: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_file(&path);
    path
}

fn refused(line: &str) -> String {
    refused_with(2, &words(line))
}

const SMALL: &str = "--page 512 --pages-per-block 8";

#[test]
fn a_drive_that_was_made_is_in_order_and_looking_at_it_changes_nothing() {
    for ftl in ["page", "geckoftl", "ib-ftl", "dftl"] {
        let path = fresh(&format!("made-{ftl}.img"));
        let path = path.display();
        let cache = if ftl == "page" { "" } else { "--cache 512" };
        let said = prints(&format!("create {path} --size 1MiB --ftl {ftl} {SMALL} {cache}"));
        assert!(said.contains("1 MiB for the host") && said.contains(ftl), "{said}");
        let before = std::fs::read(path.to_string()).unwrap();
        let checked = prints(&format!("check {path}"));
        assert!(checked.contains("nothing is wrong") && checked.contains("2,048 read as zeros"), "{checked}");
        let inspected = prints(&format!("inspect {path}"));
        assert!(inspected.contains("anchor") && inspected.contains("closed cleanly"), "{inspected}");
        let inspected = json(&format!("inspect {path} --json"));
        assert_eq!((&inspected["opened"], &inspected["bad_blocks"]), (&1.into(), &0.into()));
        assert_eq!(inspected["geometry"]["logical_bytes"], 1 << 20);
        assert!(inspected["geometry"]["capacity_bytes"].as_u64().unwrap() > (1 << 20) * 10 / 7);
        assert!(inspected["disk_bytes"].as_u64() < inspected["file_bytes"].as_u64(), "it is mostly holes");
        assert!(std::fs::read(path.to_string()).unwrap() == before, "{ftl}: the file has changed");
    }
}

#[test]
fn what_is_wrong_is_found_a_line_each_and_ends_with_1() {
    let path = fresh("wrong.img");
    prints(&format!("create {} --size 256KiB --ftl page {SMALL}", path.display()));
    let mut bytes = std::fs::read(&path).unwrap();
    // The drive's description stands in the first pages of two blocks, somewhere in the data: every byte of theirs.
    let data = bytes.windows(8).rposition(|w| w == b"PHELSUMA").unwrap();
    bytes[data + 9] ^= 1;
    std::fs::write(&path, &bytes).unwrap();
    let out = phelsuma(&words(&format!("check {}", path.display())));
    let text = String::from_utf8(out.stdout).unwrap();
    assert_eq!((out.status.code(), out.stderr.as_slice()), (Some(1), &b""[..]), "{text}");
    let findings: Vec<&str> = text.lines().filter(|line| line.starts_with("finding: ")).collect();
    assert_eq!(findings.len(), 1, "{text}");
    assert!(findings[0].contains("the data of page"), "{text}");
    // Both of them: the drive does not come up, which is a finding as well.
    let first = bytes.windows(8).position(|w| w == b"PHELSUMA").unwrap();
    assert!(first < data);
    bytes[first + 9] ^= 1;
    std::fs::write(&path, &bytes).unwrap();
    let out = phelsuma(&words(&format!("check {} --json", path.display())));
    let value: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    assert_eq!((out.status.code(), &value["findings_total"]), (Some(1), &3.into()), "{value}");
    assert!(value["findings"][2].as_str().unwrap().contains("does not mount"), "{value}");
    assert!(value["recovery"].is_null());
}

#[test]
fn wrong_usage_and_files_that_are_no_images_are_refused_in_a_line() {
    let path = fresh("refused.img");
    let path = path.display();
    let cases = [
        (
            format!("create {path} --size 1000 --ftl page"),
            "1000 bytes are not a whole number of pages of 4 KiB; use 4096",
        ),
        (format!("create {path} --size 0 --ftl page"), "use 4096"),
        (format!("create {path} --size 1MiB --ftl none"), "none"),
        (format!("create {path} --size 1MiB --ftl page --ratio 1"), "between 0 and 1"),
        (format!("create {path} --size 1MiB --ftl page --cache 1KiB"), "--cache"),
        (format!("create {path} --size 1MiB --ftl page --set gecko.merge=two-way"), "gecko"),
        (format!("create {path} --size 1MiB --ftl page --page 100"), "power of two"),
        (format!("create {path} --size 1MiB --ftl geckoftl --ratio 0.9999"), "blocks"),
        (format!("create {path} --size 16384PiB --ftl page"), "unknown unit"),
        (format!("create {path} --size 16000000TiB --ftl page"), "page numbers have 32 bits"),
        ("create /nonexistent/a.img --size 64MiB --ftl page".to_string(), "/nonexistent/a.img: making the image"),
        ("check /nonexistent".to_string(), "/nonexistent: opening the image"),
        ("check /dev/null".to_string(), "/dev/null: this is not a drive image"),
        (format!("inspect {}/Cargo.toml", env!("CARGO_MANIFEST_DIR")), "this is not a drive image"),
        (format!("check {path}"), "refused.img: opening the image"),
    ];
    for (line, says) in cases {
        let said = refused(&line);
        assert!(said.contains(says), "{line}: {said}");
        assert!(!PathBuf::from(path.to_string()).exists(), "{line}: what was half made is still there");
    }
    let made = fresh("there.img");
    prints(&format!("create {} --size 256KiB --ftl page {SMALL}", made.display()));
    let again = refused(&format!("create {} --size 256KiB --ftl page {SMALL}", made.display()));
    assert!(again.contains("the file exists already"), "{again}");
    // Of a `create` that was stopped nothing stays in the way of the next.
    let stopped = fresh("stopped.img");
    let making = PathBuf::from(format!("{}.making", stopped.display()));
    let create = format!("create {} --size 256KiB --ftl page {SMALL}", stopped.display());
    for left in [vec![], vec![0; 5_000], b"PHELSIMG".repeat(600)] {
        std::fs::write(&making, left).unwrap();
        prints(&create);
        assert!(stopped.exists() && !making.exists());
        std::fs::remove_file(&stopped).unwrap();
    }
    // And nothing of somebody else's is taken away.
    std::fs::write(&making, b"my own notes").unwrap();
    assert!(refused(&create).contains("stopped.img.making: the file exists already"));
    assert!(!stopped.exists() && std::fs::read(&making).unwrap() == b"my own notes");
    std::fs::remove_file(&making).unwrap();
}

#[test]
fn a_size_that_is_too_small_is_refused_with_the_smallest_that_fits() {
    let path = fresh("least.img");
    for ftl in ["page", "mu-ftl-pvb", "geckoftl"] {
        let create = |size: &str| format!("create {} --size {size} --ftl {ftl} {SMALL}", path.display());
        let said = refused(&create("4KiB"));
        let (_, least) = said.split_once("at least ").unwrap_or_else(|| panic!("{said}"));
        let least = least.trim_end().split(',').next().unwrap();
        let (number, unit) = least.split_once(' ').unwrap();
        let bytes = (number.parse::<f64>().unwrap() * if unit == "MiB" { 1048576.0 } else { 1024.0 }) as u64;
        // In the larger unit, where two digits behind the point say it exactly.
        let is_exact = bytes >= 1 << 20 && (bytes * 100).is_multiple_of(1 << 20);
        assert_eq!(unit == "MiB", is_exact, "{said}");
        // A block less is too small as well.
        refused(&create(&(bytes - 8 * 512).to_string()));
        prints(&create(&least.replace(' ', "")));
        std::fs::remove_file(&path).unwrap();
    }
}

#[test]
fn an_image_that_somebody_works_on_is_not_looked_at() {
    let path = fresh("in-use.img");
    prints(&format!("create {} --size 256KiB --ftl page {SMALL}", path.display()));
    let nand = phelsuma_serve::image::ImageNand::open(&path, Default::default()).unwrap();
    for command in ["check", "inspect"] {
        let said = refused(&format!("{command} {}", path.display()));
        assert!(said.contains("in use by another process"), "{said}");
    }
    drop(nand);
    // A process that another test begins has the lock as well, until it runs its program.
    let check = format!("check {}", path.display());
    let is_free = || {
        std::thread::sleep(std::time::Duration::from_millis(20));
        phelsuma(&words(&check)).status.success()
    };
    assert!((0..200).any(|_| is_free()), "the lock stays");
    // The process has died: there is something to undo, and nothing is wrong.
    let checked = prints(&check);
    assert!(checked.contains("not closed cleanly") && checked.contains("nothing is wrong"), "{checked}");
}
