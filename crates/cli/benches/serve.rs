//! How fast a served drive is, beside nbdkit's own disk in memory: random writes of 4 KiB at depth 32 over a unix
//! socket, with fio. First on drives that are fresh, then on drives that are full and collect.
//!
//! Machines are noisy, so the servers take turns, and each round compares them with the memory of that same round. A
//! second memory beside the first one shows what the noise alone makes of two servers that are the same.
//! `PHELSUMA_BENCH_RUNS` sets how many rounds (default 7).

#![allow(clippy::unwrap_used)]

#[path = "../tests/it/common/mod.rs"]
mod common;
#[path = "../tests/it/nbd/mod.rs"]
mod nbd;

use common::prints;
use nbd::{Folder, PATIENCE, Server, succeeds, there};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Flash of a drive; what of it the host sees is the size of the memory beside it.
const FLASH: &str = "1GiB";
const RATIO: f64 = 0.70;
const FTLS: [&str; 2] = ["page", "geckoftl"];
/// What is written to a fresh drive, a page each: a quarter of its flash, so that nothing is collected.
const FRESH_MIB: u32 = 256;
/// Seconds of a round on drives that are full.
const SECONDS: u32 = 2;
/// A drive is to do at least this share of what memory does, divided by its write amplification where it collects.
const SHARE: f64 = 0.60;

/// A server of either kind.
enum Kind {
    Memory { child: Child, folder: Folder },
    Drive(Server),
}

impl Kind {
    /// A disk in memory of this size.
    fn memory(name: &str, bytes: u64) -> Self {
        let folder = Folder::new(name);
        let socket = folder.file("socket");
        let child = Command::new("nbdkit")
            .args(["--foreground", "--unix", socket.to_str().unwrap(), "memory", &bytes.to_string()])
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let begun = Instant::now();
        while !socket.exists() && begun.elapsed() < PATIENCE {
            sleep(Duration::from_millis(5));
        }
        Self::Memory { child, folder }
    }

    fn drive(ftl: &str) -> Self {
        Self::Drive(Server::start(
            ftl,
            &format!("--memory {FLASH} --ratio {RATIO} --ftl {ftl} --control FOLDER/control"),
        ))
    }

    fn folder(&self) -> &Folder {
        match self {
            Self::Memory { folder, .. } => folder,
            Self::Drive(server) => &server.folder,
        }
    }

    fn bytes(&self) -> u64 {
        succeeds("nbdinfo", &["--size", &self.uri()]).trim().parse().unwrap()
    }

    fn uri(&self) -> String {
        format!("nbd+unix:///?socket={}", self.folder().file("socket").display())
    }

    /// Thousands of requests a second.
    fn fio(&self, how: &str) -> f64 {
        let (uri, aux) = (format!("--uri={}", self.uri()), format!("--aux-path={}", self.folder().file("").display()));
        let fixed = "--name=b --ioengine=nbd --iodepth=32 --output-format=json";
        let args: Vec<&str> = fixed.split_whitespace().chain(how.split_whitespace()).chain([&*uri, &*aux]).collect();
        let said = succeeds("fio", &args);
        let said: serde_json::Value = serde_json::from_str(&said[said.find('{').unwrap()..]).unwrap();
        said["jobs"][0]["write"]["iops"].as_f64().unwrap() / 1e3
    }

    /// Programs so far, and those of them that were pages of the host.
    fn programs(&self) -> (u64, u64) {
        let Self::Drive(server) = self else { return (0, 0) };
        let said = prints(&format!("plug {} status", server.folder.file("control").display()));
        let numbers: Vec<u64> = said
            .split_once("since the last one ")
            .map(|(_, counts)| counts.split_whitespace().filter_map(|word| word.parse().ok()).collect())
            .unwrap_or_default();
        (numbers[0], numbers[1])
    }
}

impl Drop for Kind {
    fn drop(&mut self) {
        if let Self::Memory { child, .. } = self {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Lowest, median and highest.
fn spread(figures: &[f64]) -> (f64, f64, f64) {
    let mut sorted = figures.to_vec();
    sorted.sort_by(f64::total_cmp);
    (sorted[0], sorted[sorted.len() / 2], sorted[sorted.len() - 1])
}

/// The figures of each server, the first one memory; what there is to say of write amplification.
fn report(title: &str, names: &[&str], figures: &[Vec<f64>], amplification: &[Option<f64>], collects: bool) -> bool {
    println!("\n{title}\n");
    println!("{:<16}{:>24}{:>28}{:>8}{:>9}", "", "thousand requests/s", "of memory in its round", "WA", "target");
    println!("{:<16}{:>24}{:>28}", "", "lowest median highest", "lowest median highest");
    let mut met = true;
    for ((name, of), wa) in names.iter().zip(figures).zip(amplification) {
        let shares: Vec<f64> = of.iter().zip(&figures[0]).map(|(own, memory)| own / memory).collect();
        let ((a, b, c), (d, e, f)) = (spread(of), spread(&shares));
        let target = wa.map(|wa| if collects { SHARE / wa } else { SHARE });
        met &= target.is_none_or(|target| e >= target);
        println!(
            "{name:<16}{:>24}{:>28}{:>8}{:>9}",
            format!("{a:.1}   {b:.1}   {c:.1}"),
            format!("{d:.2}   {e:.2}   {f:.2}"),
            wa.map_or(String::new(), |wa| format!("{wa:.3}")),
            target.map_or(String::new(), |target| format!("{target:.2}"))
        );
    }
    met
}

fn main() {
    if !there(&["nbdkit", "nbdinfo", "fio"]) {
        return;
    }
    let runs: usize = std::env::var("PHELSUMA_BENCH_RUNS").ok().and_then(|runs| runs.parse().ok()).unwrap_or(7).max(1);
    let names = ["memory", "memory again", FTLS[0], FTLS[1]];
    println!(
        "random writes of 4 KiB at depth 32 over a unix socket, {runs} rounds; {FLASH} of flash at ratio {RATIO:.2} \
         beside nbdkit's memory of the same size"
    );
    let bytes = Kind::drive(FTLS[0]).bytes();
    let start = |n: usize| if n < 2 { Kind::memory(&format!("memory{n}"), bytes) } else { Kind::drive(FTLS[n - 2]) };

    let mut fresh = vec![Vec::new(); names.len()];
    let mut programs = vec![(0, 0); names.len()];
    for round in 0..runs {
        for turn in 0..names.len() {
            let n = (turn + round) % names.len();
            let server = start(n);
            fresh[n].push(server.fio(&format!("--rw=randwrite --bs=4k --size={bytes} --io_size={FRESH_MIB}m")));
            let (all, host) = server.programs();
            programs[n] = (programs[n].0 + all, programs[n].1 + host);
        }
    }
    let amplification = |programs: &[(u64, u64)]| -> Vec<Option<f64>> {
        programs.iter().map(|(all, host)| (*host > 0).then(|| *all as f64 / *host as f64)).collect()
    };
    let title = format!("Fresh: {FRESH_MIB} MiB are written to a drive that is empty; a new server for each figure");
    let mut met = report(&title, &names, &fresh, &amplification(&programs), false);

    let servers: Vec<Kind> = (0..names.len()).map(start).collect();
    for server in &servers {
        server.fio(&format!("--rw=write --bs=64k --size={bytes}"));
    }
    // Half a drive at a time, so that it can be seen whether write amplification still changes.
    let mut before = vec![(0, 0); names.len()];
    let mut halves = vec![Vec::new(); names.len()];
    for _ in 0..4 {
        for (n, server) in servers.iter().enumerate() {
            before[n] = server.programs();
            server.fio(&format!(
                "--rw=randwrite --norandommap --randrepeat=0 --bs=4k --size={bytes} --io_size={}",
                bytes / 2
            ));
            let (all, host) = server.programs();
            halves[n].push((all - before[n].0, host - before[n].1));
            before[n] = (all, host);
        }
    }
    let mut steady = vec![Vec::new(); names.len()];
    for round in 0..runs {
        for turn in 0..names.len() {
            let n = (turn + round) % names.len();
            let how = format!("--rw=randwrite --norandommap --randrepeat=0 --bs=4k --size={bytes} --time_based");
            steady[n].push(servers[n].fio(&format!("{how} --runtime={SECONDS}")));
        }
    }
    let measured: Vec<(u64, u64)> = servers
        .iter()
        .zip(&before)
        .map(|(server, before)| {
            let (all, host) = server.programs();
            (all - before.0, host - before.1)
        })
        .collect();
    let title = format!("Full: filled, two drives' worth of random overwrites, then {SECONDS} s a round");
    met &= report(&title, &names, &steady, &amplification(&measured), true);
    for (name, halves) in names.iter().zip(&halves).skip(2) {
        let was: Vec<String> = amplification(halves).iter().map(|wa| format!("{:.3}", wa.unwrap_or(0.0))).collect();
        println!("{name}: write amplification of each half drive before that: {}", was.join(", "));
    }
    println!(
        "\n'memory again' beside 'memory' is the noise; the target, {SHARE:.2}, divided by WA on drives that are full, is for the median of the shares"
    );
    println!("{}", if met { "every target is met" } else { "a target is missed" });
}
