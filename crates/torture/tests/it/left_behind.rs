//! Nothing is left behind: no process, no mount, no loop device, no folder.

use crate::common::{ext4, has_ext4, has_fuse, has_program, raw, tried};
use phelsuma_torture::Config;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Waits until something is so.
fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(20), "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Processes with this among their words.
fn processes(word: &str) -> usize {
    let all = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    all.filter(|entry| {
        fs::read(entry.path().join("cmdline")).is_ok_and(|line| line.split(|b| *b == 0).any(|w| w == word.as_bytes()))
    })
    .count()
}

/// Folders, and loop devices, of a process.
fn traces(pid: u32) -> Vec<String> {
    let name = format!("phelsuma-torture.{pid}.");
    let mut found = Vec::new();
    for folder in [Path::new("/dev/shm"), &std::env::temp_dir()] {
        let Ok(entries) = fs::read_dir(folder) else { continue };
        found.extend(
            entries.filter_map(Result::ok).map(|e| e.path().display().to_string()).filter(|p| p.contains(&name)),
        );
    }
    for entry in fs::read_dir("/sys/block").into_iter().flatten().filter_map(Result::ok) {
        let file = fs::read_to_string(entry.path().join("loop/backing_file")).unwrap_or_default();
        if file.contains(&name) {
            found.push(file);
        }
    }
    found.extend(
        fs::read_to_string("/proc/self/mounts").unwrap().lines().filter(|l| l.contains(&name)).map(String::from),
    );
    found
}

/// The crate's command.
fn tool() -> PathBuf {
    std::env::current_exe().unwrap().parent().unwrap().parent().unwrap().join("examples/torture")
}

fn started(words: &[&str]) -> Option<Child> {
    if !tool().exists() {
        println!("skipped: examples are not built");
        return None;
    }
    let mut command = Command::new(tool());
    command.arg("torture").args(words).stdout(Stdio::null()).stderr(Stdio::null());
    Some(command.spawn().unwrap())
}

/// A number that no other process has among its words.
fn own(n: u32) -> String {
    format!("{}.{n}", 100_000 + std::process::id())
}

#[test]
fn daemons_of_a_command_end_with_it() {
    if !has_fuse() {
        return;
    }
    let word = own(1);
    // In a session of its own, and its parent has gone.
    let daemon = format!("(setsid sleep {word} &) ; (setsid sh -c 'sleep {word}; true' &)");
    let report = tried(&Config { recover: Some(daemon.clone()), ..raw(&daemon, &daemon) }).unwrap();
    assert!(!report.has_failed(), "{}", report.text());
    assert_eq!(processes(&word), 0);
}

#[test]
fn a_command_that_kills_its_supervisor_leaves_nothing_behind() {
    if !has_fuse() {
        return;
    }
    let word = own(6);
    let report = tried(&raw("true", &format!("setsid sleep {word} & sleep 0.1; kill -9 $PPID; sleep 100"))).unwrap();
    assert_eq!(report.failures[0].output, "ended by signal 9", "{}", report.text());
    assert_eq!(processes(&word), 0);
}

#[test]
fn a_signal_to_stop_leaves_nothing_behind() {
    if !has_ext4() {
        return;
    }
    for (n, signal, code) in [(2, "-INT", Some(130)), (3, "-TERM", Some(130)), (4, "-KILL", None)] {
        for (part, is_check) in [("check", true), ("workload", false)] {
            let word = format!("{}{}", own(n), u8::from(is_check));
            let hangs = format!("(setsid sleep {word} &) ; sleep {word}");
            let (workload, check) = if is_check { ("true", hangs.as_str()) } else { (hangs.as_str(), "true") };
            let words = ["--fs", "ext4", "--size", "16MiB", "--workload", workload, "--check", check];
            let Some(mut tool) = started(&words) else { return };
            until("it does not begin", || processes(&word) >= 2);
            assert!(!traces(tool.id()).is_empty());
            Command::new("kill").args([signal, &tool.id().to_string()]).status().unwrap();
            until(&format!("{part} {signal}: it does not end"), || tool.try_wait().unwrap().is_some());
            assert_eq!(tool.wait().unwrap().code(), code, "{part} {signal}");
            until(&format!("{part} {signal}: a process is left"), || processes(&word) == 0);
            until(&format!("{part} {signal}: {:?}", traces(tool.id())), || traces(tool.id()).is_empty());
        }
    }
}

#[test]
fn what_a_check_mounts_is_gone_with_it_and_what_it_unmounts_is_its_own_matter() {
    if !has_ext4() {
        return;
    }
    let precious = std::env::temp_dir().join(format!("phelsuma-torture-test-precious.{}", std::process::id()));
    fs::create_dir(&precious).unwrap();
    fs::write(precious.join("file"), "precious").unwrap();
    let check = format!(
        r#"[ ! -e "{0}/file" ] && exit 9; cd "$PHELSUMA_SCRATCH" && mkdir bound other
        mount --bind "{0}" bound || exit 1
        [ -n "$PHELSUMA_MOUNT" ] || exit 0
        mount "$PHELSUMA_DEVICE" other && umount "$PHELSUMA_MOUNT" && touch other/file"#,
        precious.display()
    );
    for config in [raw("echo 1 >&$PHELSUMA_MARK_FD", &check), ext4("touch $PHELSUMA_MOUNT/a; sync", &check)] {
        let report = tried(&config).unwrap();
        assert!(!report.has_failed() && report.states > 1, "{}", report.text());
    }
    assert_eq!(fs::read_to_string(precious.join("file")).unwrap(), "precious");
    fs::remove_dir_all(precious).unwrap();
}

#[test]
fn a_check_that_leaves_the_device_in_use_stops_everything() {
    if !has_ext4() || !has_program("losetup") {
        return;
    }
    let list = std::env::temp_dir().join(format!("phelsuma-torture-test-loops.{}", std::process::id()));
    let check = format!(r#"losetup -f --show "$PHELSUMA_DEVICE" >>{}"#, list.display());
    let tried = tried(&Config { jobs: 1, ..ext4("true", &check) });
    for device in fs::read_to_string(&list).unwrap().lines() {
        assert!(Command::new("losetup").args(["-d", device]).status().unwrap().success());
    }
    fs::remove_file(list).unwrap();
    let error = tried.unwrap_err().to_string();
    assert!(error.contains("has left /dev/loop") && error.contains("in use"), "{error}");
}

#[test]
fn a_narrow_umask_keeps_no_check_of_another_user_out() {
    if !has_ext4() || !has_program("setpriv") || !tool().exists() {
        return;
    }
    let as_other = "setpriv --reuid 65534 --clear-groups sh -c";
    let check = format!(
        "{as_other} 'touch $PHELSUMA_SCRATCH/here && cat $PHELSUMA_MARKS >/dev/null && dd if=/dev/zero \
        of=$PHELSUMA_DEVICE bs=512 count=1 conv=notrunc'"
    );
    let mut command = Command::new("/bin/sh");
    command.args(["-c", r#"umask 077; exec "$0" torture --size 64KiB --workload "$1" --check "$2""#]).arg(tool());
    command
        .arg(check.replace("cat $PHELSUMA_MARKS >/dev/null", "cd /").replace("touch $PHELSUMA_SCRATCH/here", "true"));
    command.arg(&check);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn a_command_that_says_much_fills_nothing_and_its_last_lines_are_kept() {
    if !has_fuse() {
        return;
    }
    // No file of it: it may not grow one.
    let check = "ulimit -f 1000; yes many | head -c 20000000; echo last >&2; exit 9";
    let mut config = raw("true", check);
    config.budget.states = Some(1);
    let report = tried(&config).unwrap();
    let said = &report.failures[0].output;
    assert!(said.starts_with("ended with exit code 9") && said.ends_with("many\nlast") && said.len() < 5000, "{said}");
}
