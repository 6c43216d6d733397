//! Where commands run, and what is no answer.

use crate::common::{RECORDS, has_fuse, raw, records, tried};
use phelsuma_torture::{Config, Files, TortureError, junit_of_error, torture};
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

fn refused(config: &Config, files: &Files) -> String {
    match torture(config, files, &AtomicBool::new(false), &|_| {}) {
        Err(TortureError::Input(text)) => text,
        other => panic!("{other:?}"),
    }
}

#[test]
fn commands_run_where_the_caller_is_and_have_a_scratch_folder_of_their_own() {
    if !has_fuse() {
        return;
    }
    let here = std::env::current_dir().unwrap().display().to_string();
    let command = format!(
        r#"[ "$PWD" = "{here}" ] && [ -f Cargo.toml ] || {{ echo "$PWD"; exit 1; }}
        cd "$PHELSUMA_SCRATCH" && [ -z "$(ls)" ] && touch mine"#
    );
    let report = tried(&raw(&command, &command)).unwrap();
    assert!(!report.has_failed() && report.states > 0, "{}", report.text());
    let said = tried(&raw("./there-is-none", "true")).unwrap_err().to_string();
    assert!(said.starts_with("the workload ended with exit code 127: /bin/sh: ") && !said.contains("2:"), "{said}");
}

#[test]
fn an_empty_command_is_refused_and_a_run_that_tests_nothing_says_so() {
    let files = Files::default();
    assert_eq!(refused(&raw("true", " "), &files), "--check is empty: a shell command would be right");
    assert_eq!(refused(&raw("", "true"), &files), "--workload is empty: a shell command would be right");
    if !has_fuse() {
        return;
    }
    let report = tried(&raw("true", "true")).unwrap();
    assert_eq!(report.warnings.len(), 2, "{}", report.text());
    assert!(report.text().contains("WARNING: no request reached the drive"), "{}", report.text());
    let xml = junit_of_error("a<b", "no & never");
    assert!(xml.contains("name=\"a&lt;b: every state\">\n      <error message=\"no &amp; never\"/>"), "{xml}");
    let mut config = raw(&records(""), RECORDS);
    config.budget.time = Some(std::time::Duration::ZERO);
    let report = tried(&config).unwrap();
    assert!(report.text().ends_with("no state was checked\n") && report.error().is_some(), "{}", report.text());
    assert!(report.warnings.is_empty());
}

#[test]
fn destinations_are_looked_at_before_the_run_and_a_full_one_takes_no_result_away() {
    let folder = std::env::temp_dir().join(format!("phelsuma-torture-usage.{}", std::process::id()));
    std::fs::create_dir(&folder).unwrap();
    let mut config = raw(&records(""), RECORDS);
    config.budget.states = Some(12);
    let save = |path: PathBuf| Files { save: Some(path), ..Files::default() };
    let said = refused(&config, &save(folder.clone()));
    assert_eq!(said, format!("{}: a folder is there, and no file can be", folder.display()));
    let said = refused(&config, &save(folder.join("none/run")));
    assert_eq!(said, format!("{0}/none/run: there is no folder {0}/none", folder.display()));
    std::fs::write(folder.join("file"), "").unwrap();
    for (name, end) in
        [("file", "it is not a folder".to_string()), ("a/b", format!("no folder {}/a", folder.display()))]
    {
        let said = refused(&Config { keep_failing: Some(folder.join(name)), ..config.clone() }, &Files::default());
        assert!(said.starts_with(&folder.join(name).display().to_string()) && said.ends_with(&end), "{said}");
    }
    if has_fuse() && std::path::Path::new("/dev/full").exists() {
        let report = torture(&config, &save("/dev/full".into()), &AtomicBool::new(false), &|_| {}).unwrap();
        assert!(report.has_failed() && report.error().unwrap().starts_with("/dev/full: "), "{}", report.text());
        let kept = Config { keep_failing: Some(folder.join("kept")), ..config };
        let image = tried(&kept).unwrap().failures[0].image.clone().unwrap();
        assert_eq!(std::fs::metadata(image).unwrap().len(), kept.shape.size);
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_check_that_fails_on_the_complete_drive_is_told_from_a_power_cut() {
    if !has_fuse() {
        return;
    }
    let report = tried(&raw(&records(""), "echo never; exit 1")).unwrap();
    assert!(report.fails_complete && report.has_failed() && report.states == 1, "{}", report.text());
    let said = "the check fails on the complete drive as well: it, or the workload, is wrong";
    assert!(report.text().contains(&format!("\n{said}\n")), "{}", report.text());
    assert_eq!(report.failures[0].explanation, [said]);
}

#[test]
fn failing_states_are_counted_once_and_the_earliest_is_described() {
    if !has_fuse() {
        return;
    }
    for jobs in [1, 2] {
        let check = format!("({RECORDS}) >/dev/null && exit; echo \"of $PHELSUMA_STATE\"; exit 1");
        let report = tried(&Config { jobs, ..raw(&records(""), &check) }).unwrap();
        let explained: u64 = report.failures.iter().map(|failure| failure.states).sum();
        assert_eq!(explained + report.unexplained, report.failed.values().sum::<u64>(), "{}", report.text());
        for failure in &report.failures {
            assert!(failure.output.ends_with(&format!("of {}", failure.id)), "{}: {}", failure.id, failure.output);
            let mut ids = failure.ids.clone();
            ids.sort_unstable();
            ids.dedup();
            assert_eq!(ids.len(), failure.ids.len(), "{ids:?}");
        }
    }
    // From mark 6 on nothing is written, so what is promised is nowhere.
    let workload = format!("{}; for n in 6 7 8 9; do echo $n >&$PHELSUMA_MARK_FD; done", records(",fsync"));
    let check = r#"[ $(wc -l <"$PHELSUMA_MARKS") -lt 7 ] || [ $(wc -l <"$PHELSUMA_MARKS") -ge 9 ]"#;
    let report = tried(&raw(&workload, check)).unwrap();
    let failure = &report.failures[0];
    assert_eq!((failure.mark.as_deref(), failure.lost.len()), (Some("7"), 0), "{}", report.text());
    assert!(failure.explanation[1].starts_with("the cut before it, --replay "), "{}", report.text());
}

#[test]
fn an_order_that_no_mark_promised_is_said_to_be_one_and_output_cannot_rule_the_terminal() {
    if !has_fuse() {
        return;
    }
    // The second record may be there without the first; a mark comes after both.
    let write =
        |at| format!(r#"printf "%512s" x | dd of="$PHELSUMA_DEVICE" bs=512 seek={at} conv=notrunc 2>/dev/null"#);
    let workload =
        format!("{} && {} && echo both >&$PHELSUMA_MARK_FD && sync \"$PHELSUMA_DEVICE\"", write(0), write(1));
    let check = r#"first=$(dd if="$PHELSUMA_DEVICE" bs=512 count=1 2>/dev/null | tr -d '\0')
        second=$(dd if="$PHELSUMA_DEVICE" bs=512 skip=1 count=1 2>/dev/null | tr -d '\0')
        [ -n "$first" ] || [ -z "$second" ] || { printf "\033[31mred%300s\n" x; exit 1; }"#;
    let report = tried(&raw(&workload, check)).unwrap();
    let text = report.text();
    let failure = &report.failures[0];
    assert_eq!((failure.mark.as_deref(), failure.lost.len()), (None, 1), "{text}");
    assert!(failure.explanation[0].ends_with(": its order is not guarded by a flush"), "{text}");
    assert!(text.contains("| \\u{1b}[31mred") && text.contains("…\n"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() < 260), "{text}");
}
