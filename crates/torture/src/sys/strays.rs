//! Processes of a command whose supervisor was killed, found by their environment.

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::ffi::OsStr;
use std::fs;
use std::time::Duration;

/// A killed process is gone a moment later.
const PASSES_MAX: usize = 1000;

/// Kills all processes that have this variable, until there are none.
pub(crate) fn kill(name: &str, value: &OsStr) {
    let wanted = [name.as_bytes(), b"=", value.as_encoded_bytes()].concat();
    for _ in 0..PASSES_MAX {
        let mut is_any_left = false;
        for entry in fs::read_dir("/proc").into_iter().flatten().filter_map(Result::ok) {
            let number = entry.file_name().to_str().and_then(|name| name.parse().ok());
            let Some(pid) = number.and_then(Pid::from_raw).filter(|pid| pid.as_raw_pid() != std::process::id() as i32)
            else {
                continue;
            };
            // It stands for this process, even where its number becomes another one's.
            let Ok(process) = pidfd_open(pid, PidfdFlags::empty()) else { continue };
            let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
            if environment.split(|byte| *byte == 0).any(|variable| variable == wanted) {
                is_any_left = true;
                let _ = pidfd_send_signal(&process, Signal::KILL);
            }
        }
        if !is_any_left {
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}
