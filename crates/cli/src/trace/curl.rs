//! A file over http, by curl, which has the proxies, certificates and protocols of the machine.

use super::place::Place;
use crate::errors::{Failure, Outcome};
use phelsuma_options::{ListedTrace, count, size};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::fs::File;
use std::io::{self, IsTerminal};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;

/// What curl says if a server cannot go on where an earlier call stopped.
const CANNOT_RESUME: [i32; 2] = [33, 36];
/// What curl says of an answer that is an error, and that answer where there is nothing behind what is there.
const ANSWERED: i32 = 22;
const NOTHING_BEHIND: &str = "416";
/// What curl says if what it writes cannot be written.
const UNWRITABLE: i32 = 23;
/// What curl says of a file that is larger than it should be.
const TOO_LARGE: i32 = 63;

/// How often curl is looked at.
const LOOK: Duration = Duration::from_millis(20);

/// Signals that ask to stop. While curl runs they end it, and then the command; otherwise they do what they always do.
pub(super) struct Stop {
    told: Arc<AtomicBool>,
    idle: Arc<AtomicBool>,
}

impl Stop {
    pub(super) fn new() -> Outcome<Self> {
        let (told, idle) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(true)));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            signal_hook::flag::register_conditional_default(signal, Arc::clone(&idle))
                .and_then(|_| signal_hook::flag::register(signal, Arc::clone(&told)))
                .map_err(|error| Failure::Failed(format!("the signal handler cannot be installed: {error}")))?;
        }
        Ok(Self { told, idle })
    }

    /// Whether one came.
    pub(super) fn told(&self) -> bool {
        self.told.load(SeqCst)
    }
}

/// How curl ended.
enum End {
    Itself,
    Told,
    TooLarge,
}

/// Has curl fetch what is missing of the part, which is locked.
pub(super) fn download(trace: &ListedTrace, place: &Place, lock: &File, stop: &Stop) -> Outcome {
    let there = place.part_bytes();
    if trace.bytes == Some(there) {
        return Ok(());
    }
    if trace.bytes.is_some_and(|bytes| there > bytes) {
        return again(trace, place, lock, stop);
    }
    let mut curl = Command::new("curl");
    curl.args(["--fail", "--location", "--globoff", "--retry", "3", "--connect-timeout", "30", "--speed-time", "60"]);
    // Neither a list nor a server that forwards leads to files of this machine.
    curl.args(["--proto", "=http,https", "--continue-at", "-", "--write-out", "%{http_code}"]);
    if let Some(bytes) = trace.bytes {
        curl.args(["--max-filesize", &bytes.to_string()]);
    }
    let shown = io::stderr().is_terminal();
    curl.args(if shown { &["--progress-bar"][..] } else { &["--silent", "--show-error"] });
    curl.arg("--output").arg(&place.part).arg("--url").arg(&trace.url);
    // It reads nothing: this is how it has the lock too.
    curl.stdin(lock.try_clone().map_err(|error| place.unwritable(&error))?).stdout(Stdio::piped());
    if !shown {
        curl.stderr(Stdio::piped());
    }
    let lost = |error: io::Error| {
        let way = by_hand(trace, place);
        Failure::Failed(format!("curl cannot be run ({error}), and traces are fetched by it{way}"))
    };
    stop.idle.store(false, SeqCst);
    let ended = curl.spawn().and_then(|mut child| {
        let end = wait(&mut child, trace, place, stop);
        Ok((end?, child.wait_with_output()?))
    });
    stop.idle.store(true, SeqCst);
    let (end, ran) = ended.map_err(lost)?;
    let answer = String::from_utf8_lossy(&ran.stdout);
    match (end, ran.status.code()) {
        (End::Told, _) => Err(Failure::Failed(format!("{}: interrupted{}", trace.name, goes_on(trace, place)))),
        (End::TooLarge, _) | (_, Some(TOO_LARGE)) => {
            lock.set_len(0).map_err(|error| place.unwritable(&error))?;
            Err(Failure::Failed(format!(
                "{}: {} has more than the {} bytes that the list says, and is not kept",
                trace.name,
                trace.url,
                trace.bytes.map_or_else(String::new, count)
            )))
        }
        (_, Some(0)) => Ok(()),
        (_, Some(code)) if there > 0 && CANNOT_RESUME.contains(&code) => again(trace, place, lock, stop),
        (_, Some(ANSWERED)) if there > 0 && answer.ends_with(NOTHING_BEHIND) => again(trace, place, lock, stop),
        (_, code) => {
            let said = String::from_utf8_lossy(&ran.stderr);
            let why = said.lines().rfind(|line| !line.is_empty()).map_or(String::new(), |line| format!(": {line}"));
            if code == Some(UNWRITABLE) {
                return Err(place.unwritable(&format!(
                    "what is fetched of {}{why}{}",
                    trace.name,
                    goes_on(trace, place)
                )));
            }
            let (way, url) = (by_hand(trace, place), &trace.url);
            Err(Failure::Failed(format!(
                "{}: cannot be fetched from {url}{why}{}{way}",
                trace.name,
                goes_on(trace, place)
            )))
        }
    }
}

/// From the beginning.
pub(super) fn again(trace: &ListedTrace, place: &Place, lock: &File, stop: &Stop) -> Outcome {
    lock.set_len(0).map_err(|error| place.unwritable(&error))?;
    download(trace, place, lock, stop)
}

/// Until curl has ended, or has to.
fn wait(child: &mut Child, trace: &ListedTrace, place: &Place, stop: &Stop) -> io::Result<End> {
    loop {
        let ended = child.try_wait()?.is_some();
        let end = match (stop.told(), trace.bytes) {
            (true, _) => End::Told,
            (_, Some(bytes)) if place.part_bytes() > bytes => End::TooLarge,
            _ if ended => return Ok(End::Itself),
            _ => {
                std::thread::sleep(LOOK);
                continue;
            }
        };
        if !ended {
            child.kill()?;
        }
        return Ok(end);
    }
}

/// What is there of it, where the next call goes on from that.
fn goes_on(trace: &ListedTrace, place: &Place) -> String {
    match place.part_bytes() {
        0 => String::new(),
        bytes if trace.sha256.is_some() => format!("; {} are there, and the same command goes on", size::show(bytes)),
        _ => "; the same command begins anew, as the list has no hash".to_string(),
    }
}

/// The other way to get it.
fn by_hand(trace: &ListedTrace, place: &Place) -> String {
    let hash = trace.sha256.as_ref().map_or(String::new(), |hash| format!(" (SHA-256 {hash})"));
    format!("; fetched by other means{hash} it goes to {}, and then this command again", place.by_hand.display())
}
