//! What clients see of the mapping: unmapped ranges are holes and zeros, before and after a cut and a restart.

use crate::common::prints;
use crate::nbd::{Folder, Server, channels, made, succeeds, there};
use serde_json::Value;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// The extents that nbdinfo prints: offset, length, and whether it is a hole that reads as zeros.
fn map(uri: &str) -> Vec<(u64, u64, bool)> {
    let said = succeeds("nbdinfo", &["--map", "--json", uri]);
    let extents: Value = serde_json::from_str(&said).unwrap();
    let mut merged: Vec<(u64, u64, bool)> = Vec::new();
    for extent in extents.as_array().unwrap() {
        let (offset, length) = (extent["offset"].as_u64().unwrap(), extent["length"].as_u64().unwrap());
        let kind = extent["type"].as_u64().unwrap();
        assert!(kind == 0 || kind == 3, "a hole that is no zeros, or zeros that are no hole: {extent}");
        match merged.last_mut() {
            Some(last) if last.2 == (kind == 3) && last.0 + last.1 == offset => last.1 += length,
            _ => merged.push((offset, length, kind == 3)),
        }
    }
    merged
}

/// The same as data alone, in bytes.
fn data(uri: &str) -> Vec<(u64, u64)> {
    map(uri).into_iter().filter(|(_, _, is_hole)| !is_hole).map(|(offset, length, _)| (offset, length)).collect()
}

fn qemu(uri: &str, commands: &[&str]) {
    let mut args = vec!["-f", "raw", "-d", "unmap"];
    commands.iter().for_each(|command| args.extend(["-c", command]));
    args.push(uri);
    let said = succeeds("qemu-io", &args);
    assert!(!said.contains("verification failed") && !said.contains("error"), "{said}");
}

fn serve(folder: Folder, more: &str) -> Server {
    let (image, socket) = (folder.file("drive.img"), folder.file("socket"));
    Server::with(folder, &format!("{} --socket {} {more}", image.display(), socket.display()))
}

#[test]
fn what_is_not_mapped_is_a_hole_after_writes_trims_zeroes_a_cut_and_a_restart() {
    if !there(&["nbdkit", "nbdinfo", "qemu-io"]) {
        return;
    }
    for ftl in ["page", "geckoftl", "dftl", "fast", "ftl-mm:fast"] {
        let folder = Folder::new(&format!("holes-{}", ftl.replace(':', "-")));
        made(&folder, ftl);
        let control = folder.file("control");
        let more = format!("--control {}", control.display());
        let server = serve(folder, &more);
        assert_eq!(map(&server.uri), [(0, 64 * MIB, true)], "{ftl}: a fresh drive");
        qemu(&server.uri, &["write -P 1 1M 2M", "write -P 2 40961 1"]);
        assert_eq!(data(&server.uri), [(40 * KIB, 4 * KIB), (MIB, 2 * MIB)], "{ftl}: whole pages are mapped");
        // Whole pages are unmapped, and parts of pages are as they were, or written.
        qemu(&server.uri, &["discard 1M 100k", "write -z -u 2095104 200k", "write -z 3584k 8k", "flush"]);
        let expected =
            [(40 * KIB, 4 * KIB), (MIB + 100 * KIB, 924 * KIB), (2244 * KIB, 828 * KIB), (3584 * KIB, 8 * KIB)];
        assert_eq!(data(&server.uri), expected, "{ftl}: after trims and zeroes");
        qemu(&server.uri, &["read -P 0 1M 100k", "read -P 0 2046k 200k", "read -P 1 2300k 700k"]);

        assert!(prints(&format!("plug {} cut", control.display())).starts_with("ok"));
        let (status, error, folder) = server.ended();
        assert_eq!(status.code(), Some(3), "{error}");
        let server = serve(folder, &more);
        assert_eq!(data(&server.uri), expected, "{ftl}: after a cut");
        let folder = server.stop();
        let server = serve(folder, "");
        assert_eq!(data(&server.uri), expected, "{ftl}: after a stop");
        qemu(&server.uri, &["discard 0 64M", "flush"]);
        assert_eq!(map(&server.uri), [(0, 64 * MIB, true)], "{ftl}: all is trimmed");
        server.stop();
    }
}

#[test]
fn qemu_maps_and_compares_a_nearly_empty_drive_without_reading_it() {
    if !there(&["nbdkit", "qemu-io", "qemu-img"]) {
        return;
    }
    for ftl in ["page", "geckoftl", "dftl"] {
        let of = format!("--memory 1GiB --ratio 0.5 --ftl {ftl} {} --control FOLDER/control", channels(ftl));
        let server = Server::start("nearly-empty", &of);
        qemu(&server.uri, &["write -P 9 256M 64k", "flush"]);
        let said = succeeds("qemu-img", &["map", "--output=json", "-f", "raw", &server.uri]);
        let extents: Value = serde_json::from_str(&said).unwrap();
        let data: Vec<(u64, u64)> = extents
            .as_array()
            .unwrap()
            .iter()
            .filter(|extent| extent["data"].as_bool().unwrap())
            .map(|extent| (extent["start"].as_u64().unwrap(), extent["length"].as_u64().unwrap()))
            .collect();
        assert_eq!(data, [(256 * MIB, 64 * KIB)], "{ftl}: {said}");
        let asked = |what: &str| {
            let said = prints(&format!("plug {} status", server.folder.file("control").display()));
            let requests = said.strip_prefix("on; ").unwrap().split(' ').next().unwrap();
            requests.parse::<u64>().unwrap_or_else(|error| panic!("{what}: {said}: {error}"))
        };
        // A file of the same content, as good as empty.
        let copy = server.folder.file("copy");
        let file = File::create(&copy).unwrap();
        file.set_len(512 * MIB).unwrap();
        file.write_all_at(&[9; 64 << 10], 256 * MIB).unwrap();
        let (before, begun) = (asked("before"), Instant::now());
        let said = succeeds("qemu-img", &["compare", "-f", "raw", "-F", "raw", &server.uri, copy.to_str().unwrap()]);
        assert!(said.contains("Images are identical"), "{ftl}: {said}");
        // To read all of it would take 256 requests of 2 MiB; a busy machine is slow at anything.
        assert!(asked("after") - before < 100, "{ftl}: {} requests", asked("after") - before);
        assert!(begun.elapsed() < Duration::from_secs(20), "{ftl}: {:?}", begun.elapsed());
        let out = server.folder.file("out");
        succeeds("qemu-img", &["convert", "-f", "raw", "-O", "raw", &server.uri, out.to_str().unwrap()]);
        assert_eq!(fs::metadata(&out).unwrap().len(), 512 * MIB, "{ftl}");
        server.stop();
    }
}
