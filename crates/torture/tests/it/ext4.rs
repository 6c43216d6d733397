//! Programs on an ext4.

use crate::common::{ext4, has_ext4, tried};
use phelsuma_torture::model::{Event, Policy};
use phelsuma_torture::{Config, FailureKind, Files, saved, torture};
use std::sync::atomic::AtomicBool;

/// Replaces a file by renaming. Marks go by the socket: `sync` comes before each of them where the cache keeps all.
fn renames(before: &str, after: &str) -> String {
    format!(
        r#"cd "$PHELSUMA_MOUNT" || exit 1
        for n in 1 2 3 4; do
            printf "version $n\n%3000d\nend\n" 0 >new || exit 1
            {before}
            mv new settings
            {after}
            {MARK}
        done"#
    )
}

const MARK: &str = r#"python3 -c 'import os, socket, sys
s = socket.socket(socket.AF_UNIX); s.connect(os.environ["PHELSUMA_MARK_SOCKET"])
s.sendall((sys.argv[1] + "\n").encode()); assert s.recv(3) == b"ok\n"' $n || exit 1"#;

const WHOLE: &str = r#"n=$(tail -n 1 "$PHELSUMA_MARKS"); f="$PHELSUMA_MOUNT/settings"
    [ -e "$f" ] || { echo "no settings"; [ -z "$n" ]; exit; }
    [ "$(tail -n 1 "$f")" = end ] || { echo "not whole"; exit 1; }
    is=$(head -n 1 "$f" | cut -d' ' -f2); 
    [ "$is" -ge "${n:-0}" ] || { echo "version $is, $n was acknowledged"; exit 1; }"#;

#[test]
fn a_rename_with_every_sync_survives_and_one_without_is_found() {
    if !has_ext4() {
        return;
    }
    let careful = renames("sync new", "sync .");
    let report = tried(&ext4(&careful, WHOLE)).unwrap();
    assert!(!report.has_failed() && report.states > 20, "{}", report.text());
    let lies = tried(&Config { policy: Policy::Lies, ..ext4(&careful, WHOLE) }).unwrap();
    assert!(lies.has_failed(), "{}", lies.text());
    let careless = renames("", "");
    let report = tried(&ext4(&careless, WHOLE)).unwrap();
    assert!(report.has_failed() && report.failures.iter().all(|f| f.lost.len() <= 3), "{}", report.text());
    let all = tried(&Config { policy: Policy::All, ..ext4(&careless, WHOLE) }).unwrap();
    assert!(!all.has_failed(), "{}", all.text());
}

#[test]
fn what_was_lost_is_named_by_its_file() {
    if !has_ext4() {
        return;
    }
    // In place, so that the file's blocks stay where they are, and out of the page cache by direct I/O.
    let setup = r#"dd if=/dev/zero of="$PHELSUMA_MOUNT/data" bs=4096 count=8 2>/dev/null"#;
    let write = r#"printf "%4096d" 1 | dd of="$PHELSUMA_MOUNT/data" bs=4096 seek=5 \
            conv=notrunc iflag=fullblock oflag=direct 2>/dev/null &&
        echo written >&$PHELSUMA_MARK_FD"#;
    let check =
        r#"[ ! -s "$PHELSUMA_MARKS" ] || dd if="$PHELSUMA_MOUNT/data" bs=4096 skip=5 count=1 2>/dev/null | grep -q 1"#;
    let report = tried(&Config { setup: Some(setup.to_string()), ..ext4(write, check) }).unwrap();
    let lost = &report.failures[0].lost[0];
    assert_eq!((lost.place.as_deref(), lost.file_offset), (Some("file /data"), Some(20_480)), "{}", report.text());
    let said = &report.failures[0].explanation[0];
    assert!(said.contains("(file /data, bytes 20,480 to 24,575) and mark `written`"), "{said}");
}

#[test]
fn a_request_that_the_kernel_made_of_many_files_names_them() {
    if !has_ext4() {
        return;
    }
    let workload =
        r#"cd "$PHELSUMA_MOUNT" && mkdir d && for n in 1 2 3 4 5 6 7 8 9; do printf abc >d/$n; done; sync -f ."#;
    let path = std::env::temp_dir().join(format!("phelsuma-torture-test-merged.{}.run", std::process::id()));
    let (config, stop) = (ext4(workload, "true"), AtomicBool::new(false));
    let save = Files { save: Some(path.clone()), ..Files::default() };
    torture(&config, &save, &stop, &|_| {}).unwrap();
    let run = saved::load(&path, 64 << 20).unwrap().0;
    let is_merged = |event: &Event| {
        event.range().is_some_and(|(offset, length)| {
            length > 4096 && event.bytes(offset, 4).is_some_and(|bytes| bytes == b"abc\0")
        })
    };
    let number = run.events.iter().position(is_merged).unwrap() as u32 + 1;
    let replayed = |id: String| {
        let files = Files { from: Some(path.clone()), replay: Some(id), ..Files::default() };
        torture(&config, &files, &stop, &|_| {}).unwrap().replayed.unwrap()
    };
    let kept = replayed(number.to_string()).kept;
    let kept = kept.iter().find(|kept| kept.event == number).unwrap();
    let files = kept.length / 4096;
    assert_eq!((kept.place.as_deref(), kept.place_range), (Some("file /d/1"), (0, 4096)), "{kept:?}");
    assert_eq!((kept.other_places.len() as u64, kept.other_places[0].as_str()), (files - 1, "file /d/2"));
    // Of a torn one, the file that was lost.
    let lost = &replayed(format!("{number}-{number}:8_10")).lost[0];
    assert_eq!((lost.place.as_deref(), lost.place_range), (Some("file /d/2"), (4096, 8192)), "{lost:?}");
    assert!(lost.other_places.is_empty() && lost.file_offset == Some(0), "{lost:?}");
    let files = Files { from: Some(path.clone()), replay: Some(format!("{number}-{number}:8_10")), ..Files::default() };
    let text = torture(&config, &files, &stop, &|_| {}).unwrap().text();
    let said = format!("write {number} of 36,864 bytes (file /d/2, bytes 0 to 4,095, of which 0 to 1,535 were lost)");
    assert!(text.contains(&said), "{text}");
    let text = torture(&config, &Files { replay: Some(number.to_string()), ..files }, &stop, &|_| {}).unwrap().text();
    assert!(text.contains("(file /d/1, bytes 0 to 4,095 and 8 others) was pending"), "{text}");
    std::fs::remove_file(path).unwrap();
}

#[test]
fn a_file_system_that_does_not_mount_is_a_failure_of_its_own() {
    if !has_ext4() {
        return;
    }
    // The program writes over the file system that it stands on.
    let workload = r#"dd if=/dev/zero of="$PHELSUMA_DEVICE" bs=4096 count=1 conv=notrunc,fsync 2>/dev/null"#;
    let report = tried(&ext4(workload, "true")).unwrap();
    assert!(report.failed.contains_key(&FailureKind::Mount), "{}", report.text());
}

#[test]
fn a_saved_run_is_only_checked_under_a_policy_that_it_was_recorded_for() {
    if !has_ext4() {
        return;
    }
    let path = std::env::temp_dir().join(format!("phelsuma-torture-test-policy.{}.run", std::process::id()));
    for (recorded, other, said) in [
        (Policy::All, Policy::Subset, "synced the page cache: it is for --cache-policy all alone"),
        (Policy::Subset, Policy::All, "--cache-policy all takes a run that was recorded with it"),
    ] {
        let config = Config { policy: recorded, ..ext4("true", "true") };
        let tried = |config: &Config, files: &Files| torture(config, files, &AtomicBool::new(false), &|_| {});
        tried(&config, &Files { save: Some(path.clone()), ..Files::default() }).unwrap();
        let from = Files { from: Some(path.clone()), ..Files::default() };
        assert!(!tried(&config, &from).unwrap().has_failed());
        let error = tried(&Config { policy: other, ..config.clone() }, &from).unwrap_err();
        assert!(error.to_string().contains(said), "{error}");
        let mut config = config;
        config.format.mount_options = "nonsense=1".to_string();
        let error = tried(&config, &from).unwrap_err();
        assert!(error.to_string().contains("--mount-options may be wrong"), "{error}");
    }
    std::fs::remove_file(path).unwrap();
}

#[test]
fn what_the_kernel_writes_back_early_breaks_what_relies_on_an_order() {
    if !has_ext4() {
        return;
    }
    // Two files that must be equal, and no sync: without a write-back neither reaches the drive.
    let setup = r#"cd "$PHELSUMA_MOUNT" && printf "%9000d" 0 | tee one >two"#;
    let workload = format!(
        r#"cd "$PHELSUMA_MOUNT" || exit 1
        for n in 1 2 3 4 5 6 7 8 9 10 11 12; do
            printf "%9000d" $n | dd of=one conv=notrunc 2>/dev/null
            printf "%9000d" $n | dd of=two conv=notrunc 2>/dev/null
            {MARK}
        done"#
    );
    let check = r#"cd "$PHELSUMA_MOUNT" && cmp one two"#;
    let tried = |write_back| {
        let config = ext4(&workload, check);
        tried(&Config { setup: Some(setup.to_string()), write_back, ..config }).unwrap()
    };
    let (never, early) = (tried(0), tried(2));
    assert!(!never.has_failed() && never.recorded.writes == 0, "{}", never.text());
    assert!(early.has_failed() && early.recorded.writes > 5, "{}", early.text());
}
