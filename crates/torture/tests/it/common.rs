//! Small programs in shell, and what they are tried with.

use phelsuma_torture::model::{Depth, Policy, Shape};
use phelsuma_torture::{Budget, Config, Files, Filesystem, Format, Outcome, Report, torture};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Whether drives can be served here; tests that need one say so and pass.
pub(crate) fn has_fuse() -> bool {
    let has = Path::new("/dev/fuse").exists() && (is_root() || Path::new("/usr/bin/fusermount3").exists());
    if !has {
        println!("skipped: there is no FUSE here");
    }
    has
}

/// Whether file systems can be mounted here.
pub(crate) fn has_ext4() -> bool {
    let has = has_fuse() && is_root() && Path::new("/dev/loop-control").exists() && has_program("mkfs.ext4");
    if !has {
        println!("skipped: ext4 takes root, loop devices and mkfs.ext4");
    }
    has
}

pub(crate) fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|data| std::os::unix::fs::MetadataExt::uid(&data) == 0)
}

pub(crate) fn has_program(name: &str) -> bool {
    let found = std::process::Command::new("/bin/sh").args(["-c", &format!("command -v {name}")]).output();
    found.is_ok_and(|output| output.status.success())
}

/// A raw drive of 64 KiB.
pub(crate) fn raw(workload: &str, check: &str) -> Config {
    Config {
        shape: Shape { size: 64 << 10, unit: 512, atomic_write: 512 },
        format: Format::default(),
        setup: None,
        workload: Some(workload.to_string()),
        recover: None,
        check: check.to_string(),
        policy: Policy::Subset,
        write_back: 2,
        depth: Depth { subsets: 5, samples: 10, seed: 1 },
        budget: Budget { states: Some(60), time: None },
        jobs: 2,
        timeout: Duration::from_secs(30),
        log_limit: 64 << 20,
        keep_failing: None,
    }
}

/// An ext4 of 16 MiB.
pub(crate) fn ext4(workload: &str, check: &str) -> Config {
    let config = raw(workload, check);
    let format = Format { filesystem: Filesystem::Ext4, ..Format::default() };
    let budget = Budget { states: Some(40), time: None };
    Config { shape: Shape { size: 16 << 20, ..config.shape }, format, budget, ..config }
}

pub(crate) fn tried(config: &Config) -> Outcome<Report> {
    torture(config, &Files::default(), &AtomicBool::new(false), &|_| {})
}

/// Writes records of 1 KiB and acknowledges each; `sync` is what `dd` does to it.
pub(crate) fn records(sync: &str) -> String {
    format!(
        r#"for n in 1 2 3 4 5; do
            printf "record $n %1015d" 0 | dd of="$PHELSUMA_DEVICE" bs=1024 seek=$n \
                conv=notrunc{sync} 2>/dev/null || exit 1
            echo $n >&$PHELSUMA_MARK_FD
        done"#
    )
}

/// Each acknowledged record is there.
pub(crate) const RECORDS: &str = r#"while read n; do
    found=$(dd if="$PHELSUMA_DEVICE" bs=1024 skip=$n count=1 2>/dev/null | tr -d '\0')
    [ "$found" = "$(printf "record $n %1015d" 0)" ] || { echo "record $n is not there"; exit 1; }
done <"$PHELSUMA_MARKS""#;
