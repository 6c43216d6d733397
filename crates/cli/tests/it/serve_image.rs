//! Drives in image files that are served: stopped in good order, killed.
//!
//! Every acknowledged write is there, and `check` finds nothing.

use crate::common::{phelsuma, prints, refused_with, words};
use crate::nbd::{
    Folder, PATIENCE, Server, client, cycles, is_asked_for, is_in_order, is_one_of_many, made, succeeds, there,
};
use phelsuma_ftl::{PRESETS, Preset};
use phelsuma_serve::device::ImageDrive;
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::fs::metadata;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread::{sleep, spawn};
use std::time::Duration;

/// The presets that keep drives in files.
fn kept() -> impl Iterator<Item = &'static Preset> {
    let keeps = |p: &&Preset| !p.composition.may_lose_what_is_not_flushed();
    PRESETS
        .iter()
        .filter(|p| ImageDrive::may_be(p.name, &p.composition).is_ok())
        .filter(keeps)
        .filter(|p| !is_one_of_many(p))
        .filter(|p| is_asked_for(p.name))
}

fn serve(folder: Folder, more: &str) -> Server {
    let (image, socket) = (folder.file("drive.img"), folder.file("socket"));
    Server::with(folder, &format!("{} --socket {} {more}", image.display(), socket.display()))
}

#[test]
fn what_was_written_before_a_stop_is_there_after_the_next_start() {
    if !there(&["nbdkit", "fio"]) {
        return;
    }
    for (ftl, more) in [("page", ""), ("geckoftl", ""), ("dftl", ""), ("geckoftl", "--durability process")] {
        let folder = Folder::new(&format!("stop-{ftl}-{}", more.len()));
        let image = made(&folder, ftl);
        let server = serve(folder, more);
        let fio = |server: &Server, how: &str| {
            let line = "--name=v --ioengine=nbd --size=48m --bs=4k --rw=randwrite --iodepth=16 --verify=crc32c \
                        --verify_fatal=1 --randseed=3 --fsync=500";
            let (uri, aux) =
                (format!("--uri={}", server.uri), format!("--aux-path={}", server.folder.file("").display()));
            let args: Vec<&str> = line.split_whitespace().chain([&*uri, &*aux]).chain(how.split_whitespace()).collect();
            let said = succeeds("fio", &args);
            assert!(said.contains("err= 0"), "{ftl} {how}: {said}");
        };
        fio(&server, "");
        let error = refused_with(2, &words(&format!("check {}", image.display())));
        assert!(error.contains("in use by another process"), "{error}");
        let folder = server.stop();
        is_in_order(&image);
        let server = serve(folder, more);
        fio(&server, "--verify_only");
        let folder = server.stop();
        is_in_order(&image);
        drop(folder);
    }
}

/// Writes, trims and flushes with sixteen requests in progress until the server or its power is gone, waits until it is
/// back, and looks at every page: what was acknowledged is there, and of what was in progress each page is old or new.
/// Where the drive may forget (`forgets`), a page may hold whatever it has held since all were written; no page may hold
/// anything else.
const STOPPED: &str = r#"
import random, sys, time
PAGE, PAGES, DEPTH = 4096, 16384, 16
rng = random.Random(int(seed))
allowed, trimmed, step, acknowledged = {}, {}, 0, 0
def tag(step, page): return (step << 20 | page).to_bytes(8, "little")
ZERO = bytes(8)
def connect():
    for _ in range(3000):
        try:
            h = nbd.NBD(); h.connect_uri(uri); return h
        except nbd.Error: time.sleep(0.02)
    raise SystemExit("nobody serves")
def is_now(page, holds):
    if not forgets: allowed[page] = [holds]
def load(h):
    global step, acknowledged
    flying, busy = {}, set()
    while True:
        while len(flying) < DEPTH:
            step += 1
            count = rng.choice((1, 1, 1, 2, 8)); first = rng.randrange(PAGES - count)
            span, kind = range(first, first + count), rng.random()
            fua = nbd.CMD_FLAG_FUA if rng.random() < 0.02 else 0
            if kind < 0.01:
                # What is flushed is what was trimmed and acknowledged before.
                flying[h.aio_flush()] = ("flush", tuple(trimmed.items())); continue
            if not busy.isdisjoint(span): continue
            busy.update(span)
            for page in span: trimmed.pop(page, None)
            if kind < 0.06:
                for page in span: allowed.setdefault(page, [ZERO]).append(ZERO)
                cookie = h.aio_trim(count * PAGE, first * PAGE, flags=fua)
                flying[cookie] = ("trim and flush" if fua else "trim", span)
            else:
                for page in span: allowed.setdefault(page, [ZERO]).append(tag(step, page))
                data = bytearray().join(tag(step, page) * (PAGE // 8) for page in span)
                cookie = h.aio_pwrite(nbd.Buffer.from_bytearray(data), first * PAGE, flags=fua)
                flying[cookie] = ("write", span)
        h.poll(-1)
        for cookie in list(flying):
            if not h.aio_command_completed(cookie): continue
            what, span = flying.pop(cookie)
            acknowledged += 1
            if what == "flush":
                for page, when in span:
                    if trimmed.get(page) == when: is_now(page, ZERO); del trimmed[page]
                continue
            busy.difference_update(span)
            for page in span:
                if what == "trim": trimmed[page] = acknowledged
                else: is_now(page, allowed[page][-1])
def verify(h):
    for first in range(0, PAGES, 256):
        data = bytes(h.pread(256 * PAGE, first * PAGE))
        for n in range(256):
            page, found = first + n, data[n * PAGE:n * PAGE + 8]
            if data[n * PAGE:(n + 1) * PAGE] != found * (PAGE // 8):
                raise SystemExit("page %d is torn" % page)
            may = allowed.get(page, [ZERO])
            if found not in may:
                raise SystemExit("page %d holds %r and not one of %r" % (page, found, may[-8:]))
            is_now(page, found)
    trimmed.clear()
def verified():
    # The power may fail meanwhile.
    for _ in range(1000):
        h = connect()
        try: return verify(h)
        except nbd.Error as error:
            if not (h.aio_is_dead() or h.aio_is_closed()): raise SystemExit("reading: %s" % error)
    raise SystemExit("the power does not stay")
for cycle in range(int(rounds)):
    try:
        h = connect()
        print("loading", flush=True)
        load(h)
    except nbd.Error as error:
        if not (h.aio_is_dead() or h.aio_is_closed()): raise SystemExit("writing: %s" % error)
    verified()
    print("verified", acknowledged, flush=True)
sys.stdin.readline()
h, forgets = connect(), False
for page in range(PAGES):
    h.pwrite(tag(step + 1, page) * (PAGE // 8), page * PAGE); is_now(page, tag(step + 1, page))
h.flush()
verify(h)
print("written over", flush=True)
"#;

struct Client {
    child: Child,
    lines: Receiver<String>,
}

impl Client {
    /// Stops a drive at `uri` so often; how, is the test's business.
    fn start(uri: &str, rounds: u32, forgets: bool) -> Self {
        let forgets = if forgets { "True" } else { "False" };
        let program = format!("uri = {uri:?}; rounds = {rounds}; seed = 7; forgets = {forgets}\n{STOPPED}");
        let mut child = Command::new("/usr/bin/env")
            .args(["PATH=/usr/local/bin:/usr/bin:/bin", "nbdsh", "-c", &program])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (said, lines) = channel();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        spawn(move || stdout.lines().map_while(Result::ok).try_for_each(|line| said.send(line)));
        Self { child, lines }
    }

    fn says(&self, begin: &str, what: &str) -> String {
        match self.lines.recv_timeout(PATIENCE) {
            Ok(line) if line.starts_with(begin) => line,
            other => panic!("{what}: {other:?} where '{begin}' was to come"),
        }
    }

    /// Nothing is going to befall the drive any more: it is written over.
    fn goes_on(&mut self, what: &str) {
        self.child.stdin.take().unwrap().write_all(b"\n").unwrap();
        self.says("written over", what);
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// How far it is, where that takes long.
fn progress(ftl: &str, round: u32, rounds: u32, what: &str, said: &str) {
    if rounds >= 100 && (round + 1).is_multiple_of(rounds / 10) {
        println!("{ftl}: {} of {rounds} {what}, {} requests", round + 1, said.trim_start_matches("verified "));
    }
}

/// Kills servers of a drive of this preset in the middle of its load.
fn killed(ftl: &str, forgets: bool) {
    let rounds = cycles(ftl);
    let folder = Folder::new(&format!("kill-{ftl}"));
    let image = made(&folder, ftl);
    let mut server = serve(folder, "");
    let mut client = Client::start(&server.uri, rounds, forgets);
    let mut random = Xoshiro256PlusPlus::seed_from_u64(11);
    let mut said = String::new();
    for round in 0..rounds {
        let what = format!("{ftl}, kill {round}");
        client.says("loading", &what);
        sleep(Duration::from_millis(20 + random.next_u64() % 300));
        server.signal("-KILL");
        let (status, error, folder) = server.ended();
        assert_eq!((status.code(), &*error), (None, ""), "{what}");
        server = serve(folder, "");
        said = client.says("verified", &what);
        progress(ftl, round, rounds, "kills", &said);
    }
    client.goes_on(ftl);
    let folder = server.stop();
    is_in_order(&image);
    println!("{ftl}: {rounds} kills, {said} requests");
    drop(folder);
}

#[test]
fn what_was_acknowledged_before_a_kill_is_there_after_the_next_start() {
    if !there(&["nbdkit", "nbdsh"]) {
        return;
    }
    // A battery does not hear of a kill.
    let presets = kept().filter(|p| !p.composition.has_battery());
    presets.for_each(|preset| killed(preset.name, false));
}

/// What only the RAM knew is gone with the process, flushed or not. That is all: nothing is made up, no page becomes
/// another's, and the drive works.
#[test]
fn a_drive_whose_battery_did_not_hear_of_a_kill_holds_what_was_once_written_and_works() {
    if !there(&["nbdkit", "nbdsh"]) {
        return;
    }
    let presets = kept().filter(|p| p.composition.has_battery());
    presets.for_each(|preset| killed(preset.name, true));
}

#[test]
fn what_was_acknowledged_before_a_cut_is_there_when_the_power_is_back() {
    if !there(&["nbdkit", "nbdsh"]) {
        return;
    }
    for ftl in kept().map(|preset| preset.name) {
        let rounds = cycles(ftl);
        let folder = Folder::new(&format!("cut-{ftl}"));
        let (image, control) = (made(&folder, ftl), folder.file("control"));
        let server = serve(folder, &format!("--cut-every 1..4000:5 --control {}", control.display()));
        let mut client = Client::start(&server.uri, rounds, false);
        let mut said = String::new();
        for round in 0..rounds {
            client.says("loading", ftl);
            said = client.says("verified", &format!("{ftl}, cut {round}"));
            progress(ftl, round, rounds, "cuts", &said);
        }
        assert!(prints(&format!("plug {} never", control.display())).starts_with("ok"));
        client.goes_on(ftl);
        server.terminate();
        let (status, error, folder) = server.ended();
        assert_eq!(status.code(), Some(0), "{ftl}: {error}");
        let cuts = error.matches("the power was cut and the drive mounted again").count();
        assert!(cuts >= rounds as usize, "{ftl}: {error}");
        is_in_order(&image);
        println!("{ftl}: {cuts} cuts, {said} requests");
        drop(folder);
    }
}

/// As on a disk that is full, which `crates/serve/tests/it/image_full.rs` looks at closely.
#[test]
fn a_file_that_may_not_grow_turns_the_drive_off_with_a_line() {
    if !there(&["nbdkit", "qemu-io", "prlimit"]) {
        return;
    }
    let folder = Folder::new("limit");
    made(&folder, "page");
    let server = serve(folder, "");
    succeeds("prlimit", &["--pid", &server.id().to_string(), "--fsize=100000"]);
    let failed = client("qemu-io", &["-f", "raw", "-c", "write -P 7 0 8M", &server.uri]);
    assert!(!failed.status.success());
    let (status, error, folder) = server.ended();
    assert_eq!(status.code(), Some(1), "{status}: {error}");
    assert!(error.contains("File too large"), "{error}");
    let server = serve(folder, "");
    succeeds("qemu-io", &["-f", "raw", "-c", "write -P 7 0 8M", "-c", "read -P 7 0 8M", &server.uri]);
    server.stop();
}

#[test]
fn drives_that_a_kill_would_end_are_not_kept_in_files_and_what_is_no_image_is_refused() {
    let folder = Folder::new("no-image");
    let (image, socket) = (folder.file("drive.img"), folder.file("socket").display().to_string());
    let create = format!("create {} --size 64MiB --ftl dftl --set power=nothing", image.display());
    let error = refused_with(2, &words(&create));
    assert!(error.contains("does not survive power cuts") && metadata(&image).is_err(), "{error}");
    made(&folder, "dftl");
    for (line, what) in [
        (format!("serve /nonexistent --socket {socket}"), "/nonexistent: opening the image"),
        (format!("serve /dev/null --socket {socket}"), "not a drive image"),
        (format!("serve {} --realtime 1 --socket {socket}", image.display()), "cannot be used with"),
        (format!("serve {} --durability hope --socket {socket}", image.display()), "flush, process"),
        (format!("serve --memory 64MiB --durability flush --socket {socket}"), "cannot be used with"),
    ] {
        let error = refused_with(2, &words(&line));
        assert!(error.contains(what), "{line}: {error}");
    }
}

/// What `check` prints, and its exit code.
fn checked(image: &std::path::Path, more: &str) -> (Option<i32>, String) {
    let output = phelsuma(&words(&format!("check {} {more}", image.display())));
    (output.status.code(), String::from_utf8(output.stdout).unwrap())
}

fn last_stop(image: &std::path::Path) -> String {
    let json: serde_json::Value = serde_json::from_str(&checked(image, "--json").1).unwrap();
    json["last_stop"].as_str().unwrap().to_string()
}

#[test]
fn a_battery_that_did_not_hear_of_a_kill_is_an_error_of_check_and_one_that_heard_of_a_cut_is_none() {
    if !there(&["nbdkit", "qemu-io"]) {
        return;
    }
    let write =
        |server: &Server| succeeds("qemu-io", &["-f", "raw", "-c", "write -P 7 0 8M", "-c", "flush", &server.uri]);
    for ftl in ["dftl", "mu-ftl-pvb", "geckoftl"] {
        let loses = ftl != "geckoftl";
        let folder = Folder::new(&format!("unheard-{ftl}"));
        let (image, control) = (made(&folder, ftl), folder.file("control"));
        let more = format!("--control {}", control.display());
        let server = serve(folder, &more);
        assert!(server.about.ends_with("was closed cleanly"), "{}", server.about);
        write(&server);
        server.signal("-KILL");
        let (_, _, folder) = server.ended();
        let (code, said) = checked(&image, "");
        if loses {
            assert_eq!(code, Some(1), "{said}");
            assert!(said.contains("flushed writes included") && !said.contains("nothing is wrong"), "{said}");
            assert!(said.ends_with("the structures agree; acknowledged data are lost\n"), "{said}");
            assert_eq!(last_stop(&image), "not-saved-by-battery");
        } else {
            assert_eq!(code, Some(0), "{said}");
            assert!(said.ends_with("nothing is wrong\n"), "{said}");
            assert_eq!(last_stop(&image), "unclean");
        }
        // The socket that a killed server leaves behind is no obstacle.
        let server = serve(folder, &more);
        assert_eq!(server.about.contains("its battery did not hear of the last stop"), loses, "{}", server.about);
        write(&server);
        let folder = server.stop();
        is_in_order(&image);

        let server = serve(folder, &more);
        write(&server);
        assert!(prints(&format!("plug {} cut", control.display())).starts_with("ok"));
        let (status, error, folder) = server.ended();
        assert_eq!(status.code(), Some(3), "{error}");
        let (code, said) = checked(&image, "");
        assert!(code == Some(0) && said.ends_with("nothing is wrong\n"), "{said}");
        assert_eq!(last_stop(&image), if loses { "saved-by-battery" } else { "unclean" });
        let server = serve(folder, &more);
        assert_eq!(server.about.contains("with what its battery saved"), loses, "{}", server.about);
        assert!(!server.about.contains("lost"), "{}", server.about);
        let said = succeeds("qemu-io", &["-f", "raw", "-c", "read -P 7 0 8M", &server.uri]);
        assert!(!said.contains("verification failed"), "{said}");
        server.stop();
    }
}
