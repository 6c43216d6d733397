//! Programs on a raw drive.

use crate::common::{RECORDS, has_fuse, has_program, raw, records, tried};
use phelsuma_torture::model::Policy;
use phelsuma_torture::{Config, FailureKind, Files, TortureError, saved, torture, unsynced};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

#[test]
fn a_program_that_syncs_survives_and_one_that_does_not_is_found() {
    if !has_fuse() {
        return;
    }
    let report = tried(&raw(&records(",fsync"), RECORDS)).unwrap();
    assert!(!report.has_failed(), "{}", report.text());
    assert!(report.is_done && report.is_complete && report.states > 5, "{}", report.text());
    assert_eq!((report.recorded.writes, report.recorded.flushes, report.recorded.marks), (5, 5, 5));

    let report = tried(&raw(&records(""), RECORDS)).unwrap();
    let failure = &report.failures[0];
    assert_eq!((failure.kind, failure.lost.len()), (FailureKind::Check, 1), "{}", report.text());
    assert!(failure.output.contains("is not there"), "{}", failure.output);
    assert!(failure.explanation[0].contains("no flush came between write"), "{:?}", failure.explanation);
    let xml = report.junit("records");
    assert!(xml.contains("<failure") && xml.contains("tests=\"6\" failures=\"2\""), "{xml}");
}

#[test]
fn a_drive_that_lies_breaks_the_safe_program_and_one_that_keeps_all_mends_the_other() {
    if !has_fuse() {
        return;
    }
    let lies = tried(&Config { policy: Policy::Lies, ..raw(&records(",fsync"), RECORDS) }).unwrap();
    assert!(lies.has_failed(), "{}", lies.text());
    let all = tried(&Config { policy: Policy::All, ..raw(&records(""), RECORDS) }).unwrap();
    assert!(!all.has_failed(), "{}", all.text());
    let protected = tried(&Config { policy: Policy::Protected, ..raw(&records(""), RECORDS) }).unwrap();
    assert!(!protected.has_failed(), "{}", protected.text());
    // In order is not enough: what was acknowledged may be what is cut off.
    let prefix = tried(&Config { policy: Policy::Prefix, ..raw(&records(""), RECORDS) }).unwrap();
    assert!(prefix.has_failed(), "{}", prefix.text());
}

#[test]
fn writes_that_are_atomic_are_not_torn() {
    if !has_fuse() {
        return;
    }
    let workload = r#"printf "%1024d" 7 | dd of="$PHELSUMA_DEVICE" bs=1024 conv=notrunc 2>/dev/null"#;
    let whole =
        r#"n=$(tr -d '\0' <"$PHELSUMA_DEVICE" | wc -c); [ $n = 0 ] || [ $n = 1024 ] || { echo "torn: $n"; exit 1; }"#;
    let torn = tried(&raw(workload, whole)).unwrap();
    assert_eq!(torn.failures[0].lost[0].lost, 512, "{}", torn.text());
    let said = &torn.failures[0].explanation[0];
    assert!(said.contains("bytes 0 to 1,023, of which 512 to 1,023 were lost") || said.contains("0 to 511"), "{said}");
    let mut config = raw(workload, whole);
    config.shape.atomic_write = 1024;
    assert!(!tried(&config).unwrap().has_failed());
}

#[test]
fn a_saved_run_is_checked_again_and_a_state_is_replayed() {
    if !has_fuse() {
        return;
    }
    let path = std::env::temp_dir().join(format!("phelsuma-torture-test.{}.run", std::process::id()));
    let (config, stop) = (raw(&records(""), RECORDS), AtomicBool::new(false));
    let files = Files { save: Some(path.clone()), ..Files::default() };
    let first = torture(&config, &files, &stop, &|_| {}).unwrap();
    let files = Files { from: Some(path.clone()), ..Files::default() };
    let again = Config { workload: None, ..config };
    let second = torture(&again, &files, &stop, &|_| {}).unwrap();
    assert!(second.has_failed());
    assert_eq!(first.recorded, second.recorded);
    let replayed = |id: &str| torture(&again, &Files { replay: Some(id.to_string()), ..files.clone() }, &stop, &|_| {});
    assert!(replayed(&first.failures[0].ids[0]).unwrap().has_failed());
    let right = replayed("2").unwrap();
    assert!(!right.has_failed());
    let said =
        "state 2: nothing is wrong; 0 writes lost, 1 kept that were pending\n  - write 1 (bytes 1,024 to 2,047) was";
    assert!(right.text().contains(said), "{}", right.text());
    assert_eq!(right.replayed.unwrap().kept.len(), 1);
    assert!(matches!(replayed("2-7"), Err(TortureError::Input(text)) if text.contains("event 7 is no request")));
    let found = unsynced(&path, 64 << 20).unwrap();
    assert_eq!((found.writes.len(), found.writes[0].mark.as_str()), (5, "1"));
    let bytes = std::fs::read(&path).unwrap();
    for cut in [10, bytes.len() / 2, bytes.len() - 1] {
        assert!(saved::read(&bytes[..cut], 64 << 20).is_err(), "{cut}");
    }
    std::fs::remove_file(path).unwrap();
}

#[test]
fn a_check_that_cannot_run_stops_everything_and_one_that_hangs_is_a_failure() {
    if !has_fuse() {
        return;
    }
    for check in ["./there-is-none", "exit 125"] {
        let error = tried(&raw(&records(""), check)).unwrap_err();
        assert!(error.to_string().starts_with("the check could not decide, with exit code 12"), "{error}");
    }
    let mut config = raw("true", "sleep 1000");
    config.timeout = Duration::from_millis(200);
    let report = tried(&config).unwrap();
    assert_eq!(report.failures[0].kind, FailureKind::CheckTimeout, "{}", report.text());
    let config = Config { recover: Some("echo no; exit 3".to_string()), ..raw("true", "true") };
    let report = tried(&config).unwrap();
    assert_eq!(report.failures[0].kind, FailureKind::Recover);
    let error = tried(&raw("echo broken; exit 4", "true")).unwrap_err();
    assert_eq!(error.to_string(), "the workload ended with exit code 4: broken");
}

#[test]
fn a_log_that_grows_too_large_is_an_error_and_a_full_drive_is_the_programs_matter() {
    if !has_fuse() {
        return;
    }
    let fill = r#"dd if=/dev/zero of="$PHELSUMA_DEVICE" bs=4096 conv=notrunc 2>&1; [ $? = 1 ]"#;
    assert!(!tried(&raw(fill, "true")).unwrap().has_failed());
    let error = tried(&Config { log_limit: 32 << 10, ..raw(fill, "true") }).unwrap_err();
    assert!(error.to_string().contains("--log-limit"), "{error}");
}

#[test]
fn a_drive_that_holds_too_much_before_the_workload_is_an_error_which_says_so() {
    if !has_fuse() {
        return;
    }
    // Whether the command notices or not.
    for end in ["", "; true"] {
        let fill =
            r#"head -c 70000000 /dev/zero | tr '\0' 7 | dd of="$PHELSUMA_DEVICE" bs=1M conv=notrunc 2>/dev/null"#;
        let mut config = Config { setup: Some(format!("{fill}{end}")), log_limit: 1 << 20, ..raw("true", "true") };
        config.shape.size = 128 << 20;
        let error = tried(&config).unwrap_err();
        assert!(error.to_string().starts_with("the drive held more than 64 MiB before the workload"), "{error}");
    }
}

#[test]
fn a_write_that_is_synchronous_is_durable_when_it_returns() {
    if !has_fuse() {
        return;
    }
    let report = tried(&raw(&records(" oflag=dsync"), RECORDS)).unwrap();
    assert!(!report.has_failed() && report.recorded.flushes == 5, "{}", report.text());
    if has_program("python3") {
        let workload = r#"python3 -c 'import os
file = os.open(os.environ["PHELSUMA_DEVICE"], os.O_RDWR)
os.pwritev(file, [b"1" * 1024], 0)
os.pwritev(file, [b"2" * 1024], 1024, os.RWF_DSYNC)
os.pwritev(file, [b"3" * 1024], 2048)'"#;
        let report = tried(&raw(workload, "true")).unwrap();
        assert_eq!((report.recorded.writes, report.recorded.flushes), (3, 1), "{}", report.text());
    }
}

#[test]
fn a_large_write_of_any_buffer_is_cut_within_no_unit() {
    if !has_fuse() || !has_program("python3") {
        return;
    }
    // The bytes of a Python object do not begin with a page.
    let workload = r#"python3 -c 'import os
file = os.open(os.environ["PHELSUMA_DEVICE"], os.O_RDWR)
os.pwrite(file, b"1" * (3 << 20), 0)'"#;
    let mut config = raw(workload, "true");
    config.shape.size = 4 << 20;
    let report = tried(&config).unwrap();
    assert_eq!((report.recorded.writes, report.recorded.bytes), (1, 3 << 20), "{}", report.text());
}

/// A line of so many bytes.
fn line(bytes: usize) -> String {
    format!(r#"printf "%{bytes}d\n" 7"#)
}

#[test]
fn a_mark_that_is_too_long_is_refused_and_a_line_that_is_not_complete_is_none() {
    if !has_fuse() {
        return;
    }
    let check = r#"[ -z "$(tr -d ' 7\n' <"$PHELSUMA_MARKS")" ]"#;
    let setup = Some("printf before >&$PHELSUMA_MARK_FD".to_string());
    let report = tried(&Config { setup, ..raw(&(line(4096) + " >&$PHELSUMA_MARK_FD"), check) }).unwrap();
    assert!(!report.has_failed() && report.recorded.marks == 1, "{}", report.text());
    let error = tried(&raw(&(line(4097) + " >&$PHELSUMA_MARK_FD"), "true")).unwrap_err();
    assert!(error.to_string().contains("longer than a mark: 4096 bytes"), "{error}");
    let error = tried(&raw(r#"printf 'a\377\n' >&$PHELSUMA_MARK_FD"#, "true")).unwrap_err();
    assert!(error.to_string().ends_with("PHELSUMA_MARK_FD that is not UTF-8"), "{error}");
    if has_program("python3") {
        let sent = |text: &str, answer: &str| {
            format!(
                r#"python3 -c 'import os, socket
s = socket.socket(socket.AF_UNIX); s.connect(os.environ["PHELSUMA_MARK_SOCKET"])
s.sendall({text}); s.shutdown(socket.SHUT_WR); assert s.recv(99) == {answer}'"#
            )
        };
        for (text, answer, marks) in [
            (r#"b"m" * 4096 + b"\n""#, r#"b"ok\n""#, 1),
            (r#"b"m" * 4097 + b"\n""#, r#"b"a mark has at most 4096 bytes\n""#, 0),
            (r#"b"half""#, r#"b"""#, 0),
            (r#"b"\xff\n""#, r#"b"a mark is UTF-8\n""#, 0),
        ] {
            assert_eq!(tried(&raw(&sent(text, answer), "true")).unwrap().recorded.marks, marks, "{text}");
        }
    }
}

#[test]
fn marks_count_as_the_log_does_and_a_run_that_was_recorded_is_read() {
    if !has_fuse() {
        return;
    }
    let workload = format!("for n in 1 2 3 4 5 6 7 8; do {}; done >&$PHELSUMA_MARK_FD", line(4000));
    let error = tried(&Config { log_limit: 32_000, ..raw(&workload, "true") }).unwrap_err();
    assert!(error.to_string().contains("--log-limit"), "{error}");
    // The base is not of the log.
    let setup = Some(r#"dd if=/dev/urandom of="$PHELSUMA_DEVICE" bs=4096 conv=notrunc 2>&1; true"#.to_string());
    let config = Config { setup, log_limit: 33 << 10, ..raw(&workload, "true") };
    let path = std::env::temp_dir().join(format!("phelsuma-torture-test-log.{}.run", std::process::id()));
    let (files, stop) = (Files { save: Some(path.clone()), ..Files::default() }, AtomicBool::new(false));
    torture(&config, &files, &stop, &|_| {}).unwrap();
    let read = saved::load(&path, 33 << 10);
    std::fs::remove_file(&path).unwrap();
    assert_eq!(read.unwrap().0.end, 8);
}

#[test]
fn a_cache_that_keeps_all_is_cut_with_each_mark_passed_and_nothing_after_it() {
    if !has_fuse() {
        return;
    }
    // What the second mark comes after was promised by the first.
    let workload = r#"echo 1 >&$PHELSUMA_MARK_FD; printf x | dd of="$PHELSUMA_DEVICE" conv=notrunc 2>/dev/null
        echo 2 >&$PHELSUMA_MARK_FD"#;
    let check = r#"[ ! -s "$PHELSUMA_MARKS" ] || grep -q x "$PHELSUMA_DEVICE" || { echo "not there"; exit 1; }"#;
    for policy in [Policy::All, Policy::Protected, Policy::Subset] {
        let report = tried(&Config { policy, ..raw(workload, check) }).unwrap();
        assert!(report.has_failed(), "{policy:?}: {}", report.text());
    }
}

#[test]
fn two_errors_on_a_raw_drive_are_two_failures() {
    if !has_fuse() {
        return;
    }
    let put = |at: u32, text: &str| {
        format!(r#"printf {text} | dd of="$PHELSUMA_DEVICE" bs=512 seek={at} conv=notrunc 2>/dev/null; "#)
    };
    let mark = "echo done >&$PHELSUMA_MARK_FD; ";
    let sync = r#"sync "$PHELSUMA_DEVICE"; "#;
    let workload = [put(0, "head"), mark.into(), sync.into(), put(9, "log"), mark.into(), sync.into()].concat();
    let check = r#"n=$(wc -l <"$PHELSUMA_MARKS")
        [ $n -lt 1 ] || grep -q head "$PHELSUMA_DEVICE" || { echo "the head is lost"; exit 1; }
        [ $n -lt 2 ] || grep -q log "$PHELSUMA_DEVICE" || { echo "the log is lost"; exit 1; }"#;
    let report = tried(&raw(&workload, check)).unwrap();
    let said: Vec<&str> = report.failures.iter().map(|failure| failure.output.trim()).collect();
    let has = |text: &str| said.iter().any(|said| said.contains(text));
    assert!(report.failures.len() == 2 && has("head") && has("log"), "{}", report.text());
}
