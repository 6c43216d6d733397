//! Drives that are served over NBD, with clients made by others.
//!
//! A client that is not installed is skipped, with a line.

use crate::common::{prints, refused_with, skipped, words};
use crate::nbd::{Folder, PATIENCE, Server, channels, client, is_one_of_many, succeeds, there};
use phelsuma_ftl::PRESETS;
use phelsuma_trace::{Op, OpenOptions, TraceFile};
use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const SMALL: &str = "--memory 64MiB --ratio 0.5";

#[test]
fn clients_are_told_what_the_drive_can() {
    if !there(&["nbdkit", "nbdinfo"]) {
        return;
    }
    let server = Server::start("told", &format!("{SMALL} --page 8KiB"));
    let info: serde_json::Value = serde_json::from_str(&succeeds("nbdinfo", &["--json", &server.uri])).unwrap();
    let export = &info["exports"][0];
    assert_eq!(export["export-size"], 32 << 20);
    for (what, is) in [
        ("is_rotational", false),
        ("is_read_only", false),
        ("can_fast_zero", true),
        ("can_flush", true),
        ("can_fua", true),
        ("can_multi_conn", true),
        ("can_trim", true),
        ("can_zero", true),
    ] {
        assert_eq!(export[what], is, "{what}");
    }
    assert!(export["contexts"].to_string().contains("base:allocation"), "{export}");
    for (what, bytes) in [("block_size_minimum", 1), ("block_size_preferred", 8192), ("block_size_maximum", 32 << 20)] {
        assert_eq!(export[what], bytes, "{what}");
    }
    server.stop();
}

#[test]
fn parts_of_pages_are_read_and_written_by_qemu() {
    if !there(&["nbdkit", "qemu-io"]) {
        return;
    }
    for ftl in ["page", "geckoftl", "dftl"] {
        let server = Server::start("qemu", &format!("{SMALL} --ftl {ftl}"));
        let commands = [
            "write -P 1 0 100k",
            "write -P 2 1000 5000",
            "read -P 1 0 1000",
            "read -P 2 1000 5000",
            "read -P 1 6000 60k",
            "discard 5000 20000",
            "read -P 2 5000 1000",
            "read -P 1 6000 2192",
            "read -P 0 8192 16384",
            "read -P 1 24576 1000",
            "write -z 40001 9",
            "read -P 0 40001 9",
            "read -P 1 40010 100",
            "write -z -u 50000 30001",
            "read -P 0 50000 30001",
            "read -P 1 80001 1000",
            "write -f -P 9 33554000 432",
            "flush",
            "read -P 9 33554000 432",
        ];
        let mut args = vec!["-f", "raw"];
        commands.iter().for_each(|command| args.extend(["-c", command]));
        args.push(&server.uri);
        let said = succeeds("qemu-io", &args);
        assert!(!said.contains("verification failed") && !said.contains("error"), "{ftl}: {said}");
        server.stop();
    }
}

#[test]
fn a_file_copied_in_over_several_connections_comes_out_as_it_was() {
    if !there(&["nbdkit", "nbdcopy"]) {
        return;
    }
    let server = Server::start("copy", &format!("{SMALL} --ftl geckoftl"));
    let (from, to) = (server.folder.file("in"), server.folder.file("out"));
    let bytes: Vec<u8> = (0..32u64 << 17).flat_map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes()).collect();
    assert_eq!(bytes.len(), 32 << 20);
    fs::write(&from, &bytes).unwrap();
    let connections = "--connections=4";
    succeeds("nbdcopy", &[connections, "--flush", from.to_str().unwrap(), &server.uri]);
    succeeds("nbdcopy", &[connections, &server.uri, to.to_str().unwrap()]);
    assert!(fs::read(&to).unwrap() == bytes);
    server.stop();
}

#[test]
fn what_fio_writes_it_reads_back() {
    if !there(&["nbdkit", "fio"]) {
        return;
    }
    let fixed = "--name=v --ioengine=nbd --size=24m --verify=crc32c --verify_fatal=1 --randseed=3";
    // Requests in progress together never overlap here: a block device may do those in any order.
    for (ftl, how) in [
        ("page", "--rw=randwrite --bs=4k --iodepth=16 --loops=2"),
        ("geckoftl", "--rw=randwrite --bsrange=512-64k --bs_unaligned --iodepth=1"),
        ("geckoftl", "--rw=randtrimwrite --bs=4k --iodepth=1"),
        ("dftl", "--rw=randwrite --bs=4k --iodepth=16 --loops=2"),
    ] {
        let server = Server::start("fio", &format!("{SMALL} --ftl {ftl}"));
        let uri = format!("--uri={}", server.uri);
        let folder = format!("--aux-path={}", server.folder.file("").display());
        let mut args: Vec<&str> = fixed.split_whitespace().chain(how.split_whitespace()).collect();
        args.extend([&*uri, &*folder]);
        let said = succeeds("fio", &args);
        assert!(said.contains("err= 0"), "{ftl}: {said}");
        server.stop();
    }
}

#[test]
fn what_fio_overwrites_it_reads_back_from_every_ftl_that_can_be_served() {
    if !there(&["nbdkit", "fio"]) {
        return;
    }
    let served = PRESETS.iter().filter(|preset| preset.composition.knowledge().is_none());
    for preset in served.filter(|preset| !is_one_of_many(preset)) {
        let of = format!("--memory 64MiB --ratio 0.7 --ftl {} {}", preset.name, channels(preset.name));
        let server = Server::start("fio-all", &of);
        let uri = format!("--uri={}", server.uri);
        let folder = format!("--aux-path={}", server.folder.file("").display());
        // The drive is full and collects: what is verified was moved.
        let line = "--name=v --ioengine=nbd --size=44m --rw=randwrite --bs=4k --iodepth=16 --loops=2 --verify=crc32c \
                    --verify_fatal=1 --randseed=3";
        let args: Vec<&str> = line.split_whitespace().chain([&*uri, &*folder]).collect();
        let said = succeeds("fio", &args);
        assert!(said.contains("err= 0"), "{}: {said}", preset.name);
        server.stop();
    }
}

/// What a recording holds, and whether it ends as it should.
fn recorded(path: &std::path::Path) -> (Vec<(Op, u64, u64)>, bool) {
    let mut requests = Vec::new();
    let mut time = 0;
    for request in TraceFile::open(path, &OpenOptions::default()).unwrap() {
        match request {
            Ok(request) => {
                assert!(request.time_ns >= time, "time goes on");
                time = request.time_ns;
                requests.push((request.op, request.offset_bytes, request.size_bytes));
            }
            Err(_) => return (requests, false),
        }
    }
    (requests, true)
}

#[test]
fn what_was_asked_is_recorded_and_can_be_replayed() {
    if !there(&["nbdkit", "qemu-io"]) {
        return;
    }
    for ending in ["csv", "csv.gz", "csv.zst"] {
        let server = Server::start("record", &format!("{SMALL} --record FOLDER/trace.{ending}"));
        let commands = [
            "write 0 8192",
            "read 1000 50",
            "discard 4096 4096",
            "write -z -u 100 8192",
            "write -z 8192 4096",
            "flush",
        ];
        let mut args = vec!["-f", "raw", "-d", "unmap"];
        commands.iter().for_each(|command| args.extend(["-c", command]));
        args.push(&server.uri);
        succeeds("qemu-io", &args);
        let folder = server.stop();
        let path = folder.file(&format!("trace.{ending}"));
        let (found, whole) = recorded(&path);
        assert!(whole);
        let asked = [
            (Op::Write, 0, 8192),
            (Op::Read, 1000, 50),
            (Op::Trim, 4096, 4096),
            (Op::Write, 100, 3996),
            (Op::Trim, 4096, 4096),
            (Op::Write, 8192, 100),
            (Op::Write, 8192, 4096),
            (Op::Flush, 0, 0),
        ];
        // What qemu asks of its own (to probe, and flushes at its end) is left out.
        let mut rest = found.iter();
        for request in &asked {
            assert!(rest.any(|found| found == request), "{request:?} is not in {found:?}");
        }
        let said = prints(&format!("run --trace {} --ftl page --open-loop", path.display()));
        assert!(said.contains("requests"), "{said}");
        // Nothing is written over.
        let serve = format!("serve {SMALL} --socket {} --record {}", folder.file("s").display(), path.display());
        let error = refused_with(2, &words(&serve));
        assert!(error.contains("the file exists already"), "{error}");
    }
}

#[test]
fn a_recording_can_be_read_as_far_as_it_got_when_its_server_is_killed() {
    if !there(&["nbdkit", "qemu-io"]) {
        return;
    }
    let server = Server::start("killed", &format!("{SMALL} --record FOLDER/trace.csv.zst"));
    succeeds("qemu-io", &["-f", "raw", "-c", "write 12288 4096", "-c", "write 4096 512", &server.uri]);
    let path = server.folder.file("trace.csv.zst");
    // It reaches the file within a second or so, without any end.
    let begun = Instant::now();
    while fs::metadata(&path).unwrap().len() == 0 && begun.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(50));
    }
    std::thread::sleep(Duration::from_millis(1500));
    server.signal("-KILL");
    let (_, _, folder) = server.ended();
    let (found, _) = recorded(&folder.file("trace.csv.zst"));
    assert!(found.contains(&(Op::Write, 12288, 4096)) && found.contains(&(Op::Write, 4096, 512)), "{found:?}");
}

/// A client that writes halves of pages with a known content with FUA, over and over, and connects anew whenever the connection is
/// gone: whatever was acknowledged must be there then, and whatever was not is old or new and stays.
const RECONNECTING: &str = r#"
import time
PAGES, SIZE, ROUNDS = 120, 256, int(rounds)  # two to a page of the drive, which is atomic
sure, maybe, drops, step = {}, {}, 0, 0
def content(n): return (b"%08d" % n) * (SIZE // 8)
def connect():
    for _ in range(600):
        try:
            h = nbd.NBD(); h.connect_uri(uri); return h
        except nbd.Error: time.sleep(0.02)
    raise SystemExit("nobody serves")
h = connect()
while drops < ROUNDS and step < 100000:
    page = (step * 7919) % PAGES
    step += 1
    try:
        maybe[page] = content(step)
        h.pwrite(maybe[page], page * SIZE, nbd.CMD_FLAG_FUA)
        sure[page] = maybe.pop(page)
    except nbd.Error:
        drops += 1
        h = connect()
        again = 0
        while again < PAGES:
            page = again
            try: found = bytes(h.pread(SIZE, page * SIZE))
            except nbd.Error:
                drops += 1; h = connect(); again = 0; continue
            if found != sure.get(page, bytes(SIZE)) and found != maybe.get(page):
                raise SystemExit("step %d, page %d is %r, not %r or %r" % (step, page, found[:8], sure.get(page, b"")[:8], maybe.get(page, b"")[:8]))
            if page in maybe: sure[page] = found; del maybe[page]
            again += 1
print("drops", drops, "steps", step)
"#;

#[test]
fn clients_that_come_back_after_a_cut_find_what_was_acknowledged() {
    if !there(&["nbdkit", "nbdsh"]) {
        return;
    }
    for ftl in ["page", "geckoftl", "dftl"] {
        let server = Server::start(
            "cuts",
            &format!("--memory 8MiB --ratio 0.4 --page 512 --pages-per-block 32 --ftl {ftl} --cut-every 20..200:5"),
        );
        let program = format!("uri = {:?}; rounds = 12\n{RECONNECTING}", server.uri);
        let said = succeeds("nbdsh", &["-c", &program]);
        assert!(said.starts_with("drops 1"), "{ftl}: {said}");
        server.terminate();
        let (status, error, _) = server.ended();
        assert_eq!(status.code(), Some(0), "{ftl}: {error}");
        assert!(error.matches("the power was cut and the drive mounted again").count() >= 12, "{ftl}: {error}");
    }
}

#[test]
fn a_cut_drops_connections_and_ends_the_server_with_a_code_of_its_own() {
    if !there(&["nbdkit", "nbdsh"]) {
        return;
    }
    let server = Server::start("cut", &format!("{SMALL} --cut-after 50 --record FOLDER/trace.csv"));
    let program = format!(
        "h.connect_uri({:?})\nn = 0\ntry:\n  while n < 1000: h.pwrite(bytes(4096), n * 4096); n += 1\n\
         except nbd.Error as error: print('dropped after', n, h.aio_is_dead() or h.aio_is_closed())",
        server.uri
    );
    let said = succeeds("nbdsh", &["-c", &program]);
    assert!(said.starts_with("dropped after 4") && said.contains("True"), "{said}");
    let (status, error, folder) = server.ended();
    assert_eq!(status.code(), Some(3), "{error}");
    assert!(error.contains("the power was cut"), "{error}");
    let (found, whole) = recorded(&folder.file("trace.csv"));
    assert!(whole && found.len() > 40, "what was asked is recorded to its end");
}

#[test]
fn the_plug_is_pulled_by_hand() {
    if !there(&["nbdkit", "qemu-io"]) {
        return;
    }
    let server = Server::start("plug", &format!("{SMALL} --control FOLDER/control"));
    let control = server.folder.file("control");
    let plug = |what: &str| prints(&format!("plug {} {what}", control.display()));
    // Others who say nothing, or nothing yet, are in nobody's way.
    let mut silent: Vec<UnixStream> = (0..3).map(|_| UnixStream::connect(&control).unwrap()).collect();
    silent[1].write_all(b"sta").unwrap();
    let asked = Instant::now();
    assert!(plug("status").starts_with("on; 0 requests; 1 power-on since the server's start; since the last one "));
    assert!(asked.elapsed() < Duration::from_secs(4), "{:?}", asked.elapsed());
    silent[1].write_all(b"tus\n").unwrap();
    let mut answer = String::new();
    silent[1].read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("on; "), "{answer}");
    succeeds("qemu-io", &["-f", "raw", "-c", "write -P 3 0 10000", &server.uri]);
    assert!(plug("cycle").contains("2 power-ons since the server's start"));
    let said = succeeds("qemu-io", &["-f", "raw", "-c", "read -P 3 0 10000", &server.uri]);
    assert!(!said.contains("verification failed"), "{said}");
    assert!(plug("cut --after 1000000").starts_with("ok"));
    assert!(plug("never").starts_with("ok"));
    refused_with(2, &words(&format!("plug {} status --after 3", control.display())));
    assert!(plug("cut").starts_with("ok"));
    let (status, error, folder) = server.ended();
    assert_eq!(status.code(), Some(3), "{error}");
    let error = refused_with(1, &words(&format!("plug {} status", folder.file("control").display())));
    assert!(error.contains("no server listens there (it ends after a cut)"), "{error}");
}

#[test]
fn requests_take_as_long_as_on_the_flash_where_that_was_asked_for() {
    if !there(&["nbdkit", "nbdsh"]) {
        return;
    }
    // A program takes 1 ms; of eight dies each does its own.
    let server = Server::start("realtime", &format!("{SMALL} --realtime 20 --channels 8"));
    let program = format!(
        "import time\nh.connect_uri({:?})\nh.pwrite(bytes(4096), 0)\nbegun = time.monotonic()\nh.pwrite(bytes(4096), 0)\n\
         print(time.monotonic() - begun)\nbegun = time.monotonic()\n\
         cookies = [h.aio_pwrite(nbd.Buffer.from_bytearray(bytearray(4096)), n * 4096) for n in range(1, 9)]\n\
         while h.aio_in_flight(): h.poll(-1)\nprint(time.monotonic() - begun)",
        server.uri
    );
    let said = succeeds("nbdsh", &["-c", &program]);
    let seconds: Vec<f64> = said.lines().map(|line| line.parse().unwrap()).collect();
    // On a busy machine they may take longer, but never less.
    assert!(seconds[0] >= 0.020, "a program takes 20 ms: {seconds:?}");
    assert!(seconds[1] >= 0.020 && seconds[1] < 8.0 * 0.020, "eight dies work beside each other: {seconds:?}");
    server.stop();
}

#[test]
fn what_is_behind_two_dashes_is_for_nbdkit() {
    if !there(&["nbdkit", "nbdinfo"]) {
        return;
    }
    let server = Server::start("filter", &format!("{SMALL} -- --filter=log logfile=FOLDER/log --threads 4"));
    succeeds("nbdinfo", &[&server.uri]);
    let folder = server.stop();
    assert!(fs::read_to_string(folder.file("log")).unwrap().contains("Connect"));
}

#[test]
fn a_port_is_of_this_machine_alone() {
    if !there(&["nbdkit", "nbdinfo"]) {
        return;
    }
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let server = Server::with(Folder::new("port"), &format!("{SMALL} --port {port}"));
    assert_eq!(server.uri, format!("nbd://127.0.0.1:{port}"));
    succeeds("nbdinfo", &[&server.uri]);
    // Every address of 127.0.0.0/8 is this machine's, and this one is not the one that is listened on.
    assert!(std::net::TcpStream::connect(("127.0.0.2", port)).is_err());
    server.terminate();
    let (status, error, _) = server.ended();
    assert_eq!((status.code(), error.contains("warning")), (Some(0), false), "{error}");
}

#[test]
fn a_socket_is_replaced_only_if_nobody_listens() {
    if !there(&["nbdkit", "nbdinfo"]) {
        return;
    }
    let folder = Folder::new("stale");
    let socket = folder.file("socket");
    let serve = format!("serve {SMALL} --socket {}", socket.display());
    {
        let _listening = UnixListener::bind(&socket).unwrap();
        let error = refused_with(2, &words(&serve));
        assert!(error.contains("another server uses this socket"), "{error}");
        assert!(socket.exists());
    }
    // A program that another test was just starting may have the listener for a moment still.
    let gone = (0..500).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        UnixStream::connect(&socket).is_err()
    });
    assert!(gone);
    let server = Server::with(folder, serve.strip_prefix("serve ").unwrap());
    succeeds("nbdinfo", &[&server.uri]);
    let folder = server.stop();
    fs::write(&socket, "something else").unwrap();
    let error = refused_with(2, &words(&serve));
    assert!(error.contains("not a socket"), "{error}");
    assert_eq!(fs::read(&socket).unwrap(), b"something else");
    drop(folder);
}

#[test]
fn a_client_that_stays_does_not_keep_the_server() {
    if !there(&["nbdkit", "nbdsh"]) {
        return;
    }
    let server = Server::start("stays", SMALL);
    let program = format!("import time\nh.connect_uri({:?})\nprint('here', flush=True)\ntime.sleep(60)", server.uri);
    let mut staying = Command::new("/usr/bin/env")
        .args(["PATH=/usr/local/bin:/usr/bin:/bin", "nbdsh", "-c", &program])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(staying.stdout.as_mut().unwrap()), &mut line).unwrap();
    let begun = Instant::now();
    server.stop();
    assert!(begun.elapsed() < Duration::from_secs(30));
    staying.kill().unwrap();
    staying.wait().unwrap();
}

#[test]
fn what_cannot_be_served_is_refused_with_what_would_be_right() {
    let folder = Folder::new("refused");
    let socket = folder.file("socket").display().to_string();
    for (line, what) in [
        ("serve".to_string(), "IMAGE"),
        (format!("serve --memory 64MiB image.img --socket {socket}"), "cannot be used with"),
        (format!("serve --memory 1KiB --socket {socket}"), "must be from"),
        (format!("serve --memory 64MiB --ftl nothing --socket {socket}"), "geckoftl"),
        (format!("serve --memory 64MiB --cache 1KiB --socket {socket}"), "--cache"),
        (format!("serve --memory 64MiB --cut-after x --socket {socket}"), "1000:SEED"),
        (format!("serve --memory 64MiB --cut-every 5 --socket {socket}"), "LEAST..MOST:SEED"),
        (format!("serve --memory 64MiB --cut-every 5..4:1 --socket {socket}"), "use 4..5"),
        (format!("serve --memory 64MiB --faults rust --socket {socket}"), "torn-seen"),
        (format!("serve --memory 64MiB --realtime 0 --socket {socket}"), "scale of time"),
        (format!("serve --memory 64MiB --address 0.0.0.0 --socket {socket}"), "--address"),
        ("serve --memory 64MiB --address 0.0.0.0".to_string(), "--port"),
        (format!("serve --memory 64MiB --socket {socket}{}", "x".repeat(200)), "too long"),
        ("serve --memory 900TiB".to_string(), "must be from"),
        (format!("serve image.img --ratio 0.5 --socket {socket}"), "cannot be used with"),
        (format!("serve --memory 64MiB --control {socket} --socket {socket}"), "the same socket"),
        (format!("serve /nonexistent/image.img --socket {socket}"), "/nonexistent/image.img: opening the image"),
    ] {
        let error = refused_with(2, &words(&line));
        assert!(error.contains(what), "{line}: {error}");
    }
}

#[test]
fn without_nbdkit_it_is_said_how_to_get_it() {
    let folder = Folder::new("without");
    if ["/usr/sbin/nbdkit", "/usr/local/sbin/nbdkit"].iter().any(|file| std::path::Path::new(file).exists()) {
        skipped("nbdkit is where it is found without a search path");
        return;
    }
    let output = Command::new(env!("CARGO_BIN_EXE_phelsuma"))
        .args(["serve", "--memory", "64MiB", "--socket"])
        .arg(folder.file("socket"))
        .env("PATH", "/nonexistent")
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!((output.status.code(), error.lines().count()), (Some(1), 1), "{error}");
    assert!(error.contains("apt install nbdkit"), "{error}");
}

#[test]
fn without_the_plugin_it_is_said_where_it_comes_from() {
    if !there(&["nbdkit"]) {
        return;
    }
    let folder = Folder::new("plugin");
    let copy = folder.file("phelsuma");
    fs::copy(env!("CARGO_BIN_EXE_phelsuma"), &copy).unwrap();
    let args = ["serve", "--memory", "64MiB", "--socket", folder.file("socket").to_str().unwrap()].map(String::from);
    let output = client(copy.to_str().unwrap(), &args);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!((output.status.code(), error.lines().count()), (Some(1), 1), "{error}");
    assert!(error.contains("phelsuma-nbdkit"), "{error}");
}

#[test]
fn a_server_that_is_told_to_stop_says_so_and_how_many_clients_it_had() {
    if !there(&["nbdkit", "nbdsh"]) {
        return;
    }
    let server = Server::start("stop", SMALL);
    server.terminate();
    let (_, error, _) = server.ended();
    assert!(error.contains("stopped by SIGTERM, closed cleanly; no client was connected"), "{error}");

    let server = Server::start("stop-with", SMALL);
    let program = format!("import sys\nh.connect_uri({:?})\nprint('in', flush=True)\nsys.stdin.readline()", server.uri);
    let mut client = Command::new("/usr/bin/env")
        .args(["PATH=/usr/local/bin:/usr/bin:/bin", "nbdsh", "-c", &program])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    client.stdout.as_mut().unwrap().read_exact(&mut [0; 2]).unwrap();
    server.signal("-HUP");
    let (status, error, _) = server.ended();
    assert_eq!(status.code(), Some(0), "{error}");
    assert!(error.contains("stopped by SIGHUP, closed cleanly; 1 client was connected"), "{error}");
    drop(client.stdin.take());
    client.wait().unwrap();
}
