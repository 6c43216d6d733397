//! Nothing is left behind: no process, no mount, no loop device, no folder.

use crate::common::{has_ext4, has_fuse, raw, tried};
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
