//! The cost of a run to the machine: CPU time and memory.

use rustix::time::{ClockId, clock_gettime};

/// CPU time of this thread so far, in seconds.
pub(crate) fn thread_cpu_seconds() -> f64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    now.tv_sec as f64 + now.tv_nsec as f64 / 1e9
}

/// The most memory this process ever held, in bytes; None where the system does not say.
pub(crate) fn peak_rss_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|l| l.starts_with("VmHWM:"))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib * 1024)
}
