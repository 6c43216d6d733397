//! The page of a drive that is being served, and the same for programs.
//!
//! A tool that is not installed is skipped, with a line.

use crate::common::{phelsuma, skipped, words};
use crate::nbd::{Folder, PATIENCE, Server, client, succeeds, there};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

const SMALL: &str = "--memory 64MiB --ratio 0.5 --http 0";

/// An answer: the status, the head as it came, and the body.
struct Answer {
    status: u16,
    head: String,
    body: Vec<u8>,
}

impl Answer {
    fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    fn json(&self) -> Value {
        assert_eq!(self.status, 200, "{}", self.head);
        serde_json::from_slice(&self.body).unwrap()
    }
}

/// The address in `http://ADDRESS/`.
fn address(url: &str) -> &str {
    url.strip_prefix("http://").unwrap().strip_suffix('/').unwrap()
}

/// Sends these bytes, and takes what comes until the server closes the connection.
fn exchange(url: &str, bytes: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(address(url)).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    // Who is told that it is too much may still be writing.
    let _ = stream.write_all(bytes);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    answer
}

fn ask(url: &str, method: &str, path: &str, host: &str) -> Answer {
    let answer = exchange(url, format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\n\r\n").as_bytes());
    let end = answer.windows(4).position(|at| at == b"\r\n\r\n").expect("a head") + 4;
    let head = String::from_utf8(answer[..end].to_vec()).unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    Answer { status, head, body: answer[end..].to_vec() }
}

fn get(url: &str, path: &str) -> Answer {
    ask(url, "GET", path, address(url))
}

fn number_of(body: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(body[at..at + 4].try_into().unwrap())
}

#[test]
fn the_page_is_there_and_other_paths_are_not() {
    if !there(&["nbdkit"]) {
        return;
    }
    let server = Server::start("page", &format!("{SMALL} --ftl geckoftl"));
    let url = server.says("page");
    let page = get(&url, "/");
    assert_eq!(page.status, 200);
    assert!(page.head.to_lowercase().contains("content-security-policy: default-src 'none'"), "{}", page.head);
    for asset in ["page.js", "page.css", "uPlot.js", "uPlot.css"] {
        assert!(page.text().contains(&format!("\"{asset}\"")), "{asset} is asked for");
        assert_eq!(get(&url, &format!("/{asset}")).status, 200, "{asset}");
    }
    // Nothing comes from elsewhere. (uPlot's licence line names its home.)
    for file in ["/", "/page.js", "/page.css", "/uPlot.css"] {
        let text = get(&url, file);
        assert!(!text.text().contains("//www") && !text.text().contains("http:") && !text.text().contains("https:"));
    }
    let head = ask(&url, "HEAD", "/", address(&url));
    assert_eq!((head.status, head.body.len()), (200, 0));
    assert!(head.head.to_lowercase().contains(&format!("content-length: {}", page.body.len())), "{}", head.head);
    for (method, path, host, status) in [
        ("GET", "/nothing", "localhost", 404),
        ("GET", "/../page.js", "localhost", 404),
        ("GET", "/map?cells=0", "localhost", 400),
        ("GET", "/map?cells=99999999", "localhost", 400),
        ("POST", "/", "localhost", 405),
        ("DELETE", "/state.json", "localhost", 405),
        ("GET", "/", "example.org", 403),
        ("GET", "/state.json", "example.org:80", 403),
        ("GET", "/state.json", "localhost:1", 200),
        ("GET", "/state.json", "[::1]", 200),
    ] {
        assert_eq!(ask(&url, method, path, host).status, status, "{method} {path} at {host}");
    }
    server.stop();
    assert!(TcpStream::connect(address(&url)).is_err(), "it is gone with the server");
}

#[test]
fn figures_and_map_are_those_of_the_drive() {
    if !there(&["nbdkit", "qemu-io"]) {
        return;
    }
    for (ftl, kinds) in [
        ("page", vec!["anchor", "free", "user"]),
        ("geckoftl", vec!["anchor", "free", "gecko", "translation", "user"]),
        ("dftl", vec!["anchor", "free", "translation", "user"]),
    ] {
        let server = Server::start("figures", &format!("{SMALL} --ftl {ftl}"));
        let url = server.says("page");
        let before = get(&url, "/state.json").json();
        assert_eq!((&before["schema"], &before["state"]), (&"phelsuma.served/1".into(), &"serving".into()));
        let mut args = vec!["-f", "raw"];
        // Twice all of it, so that blocks are collected; the last is a trim.
        for _ in 0..2 {
            args.extend(["-c", "write 0 31m"]);
        }
        args.extend(["-c", "read 0 64k", "-c", "discard 0 1m", "-c", "flush", &server.uri]);
        succeeds("qemu-io", &args);
        // What was seen last may be a second old.
        let begun = Instant::now();
        let after = loop {
            // Taken before the question: an answer that travels for long would pass for a younger one.
            let elapsed = begun.elapsed();
            let state = get(&url, "/state.json").json();
            if state["age_seconds"].as_f64().unwrap() < elapsed.as_secs_f64() {
                break state;
            }
            assert!(elapsed < PATIENCE);
            std::thread::sleep(Duration::from_millis(50));
        };
        let requests = &after["requests"];
        assert_eq!(requests["written_bytes"], 62 << 20, "{ftl}: {requests}");
        assert!(requests["read_bytes"].as_u64().unwrap() >= 64 << 10, "{requests}");
        assert_eq!(requests["trimmed_bytes"], 1 << 20, "{requests}");
        assert_eq!((&requests["trims"], &requests["failed"]), (&1.into(), &0.into()), "{requests}");
        assert_eq!(after["flash"]["host"]["programs"], (62 << 20) / 4096);
        assert!(after["write_amplification"]["total"].as_f64().unwrap() >= 1.0);
        // Every block is of one kind, and what counts as live is what the host has written and not trimmed.
        let blocks = after["blocks"].as_array().unwrap();
        let sum = |key: &str| blocks.iter().map(|of| of[key].as_u64().unwrap()).sum::<u64>();
        assert_eq!(sum("blocks"), 128, "{ftl}");
        let names: BTreeSet<&str> = blocks.iter().map(|of| of["kind"].as_str().unwrap()).collect();
        let held_and_such = ["held", "tombstone"];
        let found: Vec<&str> = names.iter().copied().filter(|name| !held_and_such.contains(name)).collect();
        assert_eq!(found, kinds, "{ftl}");
        let of = |kind: &str, key: &str| {
            blocks.iter().find(|of| of["kind"] == kind).map_or(0, |of| of[key].as_u64().unwrap())
        };
        let live = of("user", "live_pages");
        assert!((30 << 8..=31 << 8).contains(&live) || ftl == "geckoftl" && live >= 30 << 8, "{ftl}: {live}");
        assert_eq!(of("free", "blocks") + of("held", "blocks"), after["counters"]["free_blocks"], "{ftl}");
        let bars = after["erases"]["histogram"].as_array().unwrap();
        assert_eq!(bars.iter().map(|bar| bar["blocks"].as_u64().unwrap()).sum::<u64>(), 128);
        assert_eq!(after["gecko"].is_object(), ftl == "geckoftl");
        // The map says the same, block by block.
        let map = get(&url, "/map?cells=128").body;
        assert_eq!([0, 4, 8].map(|at| number_of(&map, at)), [128, 1, 128]);
        assert_eq!(map.len(), 16 + 128 * 8);
        let user = map[16..].chunks(8).filter(|cell| cell[0] == 2).count() as u64;
        assert_eq!(user, of("user", "blocks"), "{ftl}");
        let few = get(&url, "/map?cells=10").body;
        assert_eq!([0, 4, 8].map(|at| number_of(&few, at)), [128, 13, 10]);
        server.stop();
    }
}

/// What stands in the text format, by name and labels; it is as strict as the format's description.
fn parsed(text: &str) -> BTreeMap<String, f64> {
    let (mut types, mut helped, mut values) = (BTreeMap::new(), BTreeSet::new(), BTreeMap::new());
    let is_name = |name: &str| {
        name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') && !name.starts_with(|c: char| c.is_ascii_digit())
    };
    assert!(text.ends_with('\n'));
    let mut current = String::new();
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let (name, help) = rest.split_once(' ').unwrap();
            assert!(helped.insert(name.to_string()) && !help.is_empty(), "{line}");
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').unwrap();
            assert!(helped.contains(name) && matches!(kind, "counter" | "gauge"), "{line}");
            assert_eq!(kind == "counter", name.ends_with("_total"), "{line}");
            assert!(types.insert(name.to_string(), kind).is_none(), "{line}");
            current = name.to_string();
        } else {
            let (id, value) = line.rsplit_once(' ').unwrap();
            let name = id.split('{').next().unwrap();
            assert!(is_name(name) && name.starts_with("phelsuma_") && name == current, "{line}");
            if let Some(labels) = id.strip_prefix(name).filter(|labels| !labels.is_empty()) {
                let labels = labels.strip_prefix('{').and_then(|labels| labels.strip_suffix('}')).unwrap();
                for label in labels.split(',') {
                    let (name, value) = label.split_once('=').unwrap();
                    assert!(is_name(name) && value.starts_with('"') && value.ends_with('"'), "{line}");
                }
            }
            assert!(values.insert(id.to_string(), value.parse().unwrap()).is_none(), "{line} is there twice");
        }
    }
    values
}

#[test]
fn prometheus_can_read_the_metrics() {
    if !there(&["nbdkit", "qemu-io"]) {
        return;
    }
    let server = Server::start("metrics", &format!("{SMALL} --ftl geckoftl"));
    let url = server.says("page");
    succeeds("qemu-io", &["-f", "raw", "-c", "write 0 8m", &server.uri]);
    let answer = get(&url, "/metrics");
    assert!(answer.head.to_lowercase().contains("content-type: text/plain; version=0.0.4"), "{}", answer.head);
    let values = parsed(answer.text());
    for (id, value) in [
        ("phelsuma_request_bytes_total{kind=\"write\"}", 8 << 20),
        ("phelsuma_flash_page_programs_total{purpose=\"host\"}", 2048),
        ("phelsuma_drive_state{state=\"serving\"}", 1),
        ("phelsuma_drive_state{state=\"read-only\"}", 0),
        ("phelsuma_power_ons_total", 1),
        ("phelsuma_drive_size_bytes{of=\"host\"}", 32 << 20),
    ] {
        assert_eq!(values.get(id), Some(&f64::from(value)), "{id}");
    }
    let documented =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/page.md")).unwrap();
    for id in values.keys() {
        let name = id.split('{').next().unwrap();
        let said = name.starts_with("phelsuma_ftl_") || documented.contains(&format!("`{name}"));
        assert!(said, "{name} is not in docs/reference/page.md");
    }
    let folder = server.stop();
    let Some(python) = python(&["prometheus_client"]) else { return };
    let (file, script) = (folder.file("metrics"), folder.file("parse.py"));
    std::fs::write(&file, &answer.body).unwrap();
    std::fs::write(
        &script,
        "import sys\nfrom prometheus_client.parser import text_string_to_metric_families as read\n\
         print(sum(len(family.samples) for family in read(open(sys.argv[1]).read())))\n",
    )
    .unwrap();
    let samples = succeeds(python.to_str().unwrap(), &[&script, &file]);
    assert_eq!(samples.trim().parse::<usize>().unwrap(), values.len());
}

/// A Python that has these modules: the one that `make page-browser` makes. If there is none, says so.
fn python(modules: &[&str]) -> Option<PathBuf> {
    let target = Path::new(env!("CARGO_BIN_EXE_phelsuma")).parent()?.parent()?;
    let python = target.join("page-venv/bin/python");
    let import = format!("import {}", modules.join(", "));
    let works = Command::new(&python).args(["-c", &import]).output().is_ok_and(|output| output.status.success());
    if !works {
        skipped(&format!("there is no Python with {} here (`make page-browser` makes one)", modules.join(" and ")));
    }
    works.then_some(python)
}

#[test]
fn a_port_that_somebody_has_is_said_in_one_line() {
    if !there(&["nbdkit"]) {
        return;
    }
    let folder = Folder::new("taken");
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let serve = |http: String| {
        let output =
            phelsuma(&words(&format!("serve --memory 64MiB --socket {} --http {http}", folder.file("s").display())));
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let (code, error) = serve(port.to_string());
    assert_eq!((code, error.lines().count()), (Some(2), 1), "{error}");
    assert!(error.contains(&format!("--http 127.0.0.1:{port}")) && error.contains("in use"), "{error}");
    let (code, error) = serve("localhost:80".into());
    assert_eq!((code, error.lines().count()), (Some(2), 1), "{error}");
    assert!(error.contains("ADDRESS:PORT"), "{error}");
    // An address that others can reach is taken with a warning. Nobody has this one, so nothing is served.
    let (code, error) = serve("192.0.2.1:80".into());
    assert_eq!((code, error.lines().count()), (Some(2), 2), "{error}");
    assert!(error.contains("warning: every host that reaches 192.0.2.1 can see"), "{error}");
}

/// A line of `/proc/ID/status`.
fn status_of(id: u32, key: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(key)).unwrap();
    line.trim_start_matches(':').split_whitespace().next().unwrap().parse().unwrap()
}

#[test]
fn clients_that_are_slow_or_talk_rubbish_hold_up_nobody() {
    if !there(&["nbdkit", "qemu-io"]) {
        return;
    }
    let server = Server::start("rubbish", SMALL);
    let url = server.says("page");
    let write = || {
        let begun = Instant::now();
        succeeds("qemu-io", &["-f", "raw", "-c", "write 0 1m", &server.uri]);
        begun.elapsed()
    };
    write();
    get(&url, "/state.json");
    let of = |key| status_of(server.id(), key);
    let memory = of("VmRSS");
    // Some say nothing, some half a request, some rubbish, and some do not take the answer.
    let mut idle = Vec::new();
    for n in 0..100 {
        let mut stream = TcpStream::connect(address(&url)).unwrap();
        let said: &[u8] = match n % 4 {
            0 => b"",
            1 => b"GET / HTTP/1.1\r\nHost: localhost\r\nX: ",
            2 => b"\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03 no http\r\n\r\n",
            _ => b"GET /uPlot.js HTTP/1.1\r\nHost: localhost\r\n\r\n",
        };
        stream.write_all(said).unwrap();
        idle.push(stream);
    }
    assert!(write() < Duration::from_secs(5), "the drive does not wait for them");
    // nbdkit has some for each client of the drive besides.
    let tasks = std::fs::read_dir(format!("/proc/{}/task", server.id())).unwrap();
    let names = tasks.map(|task| std::fs::read_to_string(task.unwrap().path().join("comm")).unwrap_or_default());
    assert_eq!(names.filter(|name| name.starts_with("page")).count(), 2);
    let grown = of("VmRSS").saturating_sub(memory);
    assert!(grown < 32 << 10, "{grown} KiB more memory");
    // They have no more than their time, and others have their turn.
    let begun = Instant::now();
    assert_eq!(get(&url, "/state.json").status, 200);
    println!("answered after {:?}", begun.elapsed());
    drop(idle);
    for much in [
        "X".repeat(1 << 20),
        format!("GET /{} HTTP/1.1\r\n", "x".repeat(1 << 20)),
        "GET / HTTP/1.1\r\n".to_string() + &"A: b\r\n".repeat(1 << 16),
    ] {
        let answer = exchange(&url, much.as_bytes());
        assert!(answer.is_empty() || answer.starts_with(b"HTTP/1.1 4"), "{:?}", &answer[..40.min(answer.len())]);
    }
    assert_eq!(get(&url, "/").status, 200);
    assert!(of("VmRSS").saturating_sub(memory) < 32 << 10);
    server.stop();
}

#[test]
fn the_page_outlives_cuts_of_the_drives_power() {
    if !there(&["nbdkit", "qemu-io"]) {
        return;
    }
    let server = Server::start("outlives", &format!("{SMALL} --ftl geckoftl --control FOLDER/control"));
    let url = server.says("page");
    let control = server.folder.file("control").display().to_string();
    for cut in 1..=3 {
        succeeds("qemu-io", &["-f", "raw", "-c", "write 0 8m", &server.uri]);
        let output = phelsuma(&words(&format!("plug {control} cycle")));
        assert!(output.status.success());
        let begun = Instant::now();
        loop {
            let state = get(&url, "/state.json").json();
            if state["power_ons"] == cut + 1 {
                assert_eq!(state["state"], "serving");
                // Flash and FTL count anew, and the recovery is what they begin with.
                assert!(state["flash"]["recovery"]["spare_reads"].as_u64().unwrap() > 0);
                assert_eq!(state["requests"]["written_bytes"], (cut * 8) << 20);
                break;
            }
            assert!(begun.elapsed() < PATIENCE, "{state}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
    assert_eq!(get(&url, "/map").status, 200);
    server.stop();
}

#[test]
fn a_browser_shows_the_drive_at_work() {
    if !there(&["nbdkit", "fio", "chromium"]) {
        return;
    }
    let Some(python) = python(&["playwright"]) else { return };
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/page/look.py");
    let shots = std::env::temp_dir().join("phelsuma-page");
    let thorough = std::env::var_os("PHELSUMA_THOROUGH").is_some_and(|value| value == "1");
    for (ftl, panels) in [
        ("geckoftl", "map wa requests gecko cache free wear"),
        ("page", "map wa requests free wear"),
        ("fifo", "map wa requests free wear"),
        ("dftl", "map wa requests cache free wear"),
        ("mu-ftl-pvb", "map wa requests cache free wear"),
    ] {
        if !thorough && ftl != "geckoftl" {
            continue;
        }
        let server = Server::start("browser", &format!("--memory 256MiB --ftl {ftl} --http 0"));
        let url = server.says("page");
        let load = "--name=load --thread --ioengine=nbd --rw=randrw --rwmixread=20 --bs=4k --iodepth=8 --size=160m --time_based \
                    --runtime=600 --rate_iops=2000,8000";
        let mut fio = Command::new("fio")
            .args(load.split_whitespace())
            .arg(format!("--uri={}", server.uri))
            .arg(format!("--aux-path={}", server.folder.file("").display()))
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let mut args = vec![script.to_string(), url, shots.display().to_string(), ftl.to_string()];
        args.extend(panels.split(' ').map(String::from));
        args.push("--every-window".into());
        let output = client(python.to_str().unwrap(), &args);
        let _ = fio.kill();
        let _ = fio.wait();
        let (said, error) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{ftl}: {said}{error}");
        print!("{said}");
        drop(server);
    }
}
