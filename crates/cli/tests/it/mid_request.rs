//! The power fails, or a client goes away, in the middle of a request's header or data; the server goes on.
//!
//! Clients of libraries, which send whole requests, rarely find it there.

use crate::nbd::{Folder, Server, made, there};
use phelsuma_serve::device::control::ask;
use std::io::{Read, Result, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::thread::{sleep, spawn};
use std::time::Duration;

const REQUEST_MAGIC: u32 = 0x2560_9513;
const WRITE: u16 = 1;
const PAYLOAD_BYTES: u32 = 4096;

/// Connects, by the oldest way that the protocol has.
fn connected(path: &Path) -> Result<UnixStream> {
    let mut stream = UnixStream::connect(path)?;
    let mut greeting = [0; 18];
    stream.read_exact(&mut greeting)?;
    assert_eq!(&greeting[..16], b"NBDMAGICIHAVEOPT");
    let (flags, export_name, no_bytes) = (3_u32, 1_u32, 0_u32);
    let parts = [&flags.to_be_bytes(), &b"IHAVEOPT"[..], &export_name.to_be_bytes(), &no_bytes.to_be_bytes()];
    stream.write_all(&parts.concat())?;
    stream.read_exact(&mut [0; 10])?;
    Ok(stream)
}

/// Writes one page after another, each request in pieces, until nobody listens any more.
fn pump(mut stream: &UnixStream) {
    let payload = [7; PAYLOAD_BYTES as usize];
    for cookie in 0_u64.. {
        let offset = cookie % 1024 * u64::from(PAYLOAD_BYTES);
        let head = [&REQUEST_MAGIC.to_be_bytes()[..], &[0, 0], &WRITE.to_be_bytes(), &cookie.to_be_bytes()].concat();
        let request = [&head[..], &offset.to_be_bytes(), &PAYLOAD_BYTES.to_be_bytes(), &payload].concat();
        for piece in request.chunks(1 + request.len() / 3) {
            if stream.write_all(piece).is_err() {
                return;
            }
        }
    }
}

fn times() -> u64 {
    if std::env::var_os("PHELSUMA_THOROUGH").is_some_and(|v| v == "1") { 5_000 } else { 200 }
}

/// Serves a drive in a file, and connects, writes and calls `end` so many times. What the server's plug says then.
fn ends_do_not_end_the_server(name: &str, end: impl Fn(&UnixStream, &Path)) -> String {
    let folder = Folder::new(name);
    let image = made(&folder, "page");
    let (socket, control) = (folder.file("socket"), folder.file("control"));
    let options = format!("{} --socket {} --control {}", image.display(), socket.display(), control.display());
    let server = Server::with(folder, &options);
    for time in 0..times() {
        // Nobody is let in while the drive comes up.
        let stream = connected(&socket).unwrap_or_else(|error| panic!("{name} {time}: {error}"));
        let (mut answers, sender) = (stream.try_clone().unwrap(), spawn(move || pump(&stream)));
        let ending = answers.try_clone().unwrap();
        // An error says as well that the connection is gone.
        let taker = spawn(move || answers.read_to_end(&mut Vec::new()));
        sleep(Duration::from_micros(200 + time % 16 * 150));
        end(&ending, &control);
        let _ = taker.join().unwrap();
        sender.join().unwrap();
    }
    let said = ask(&control, "status").unwrap();
    server.stop();
    said
}

#[test]
fn a_cut_in_the_middle_of_a_request_does_not_end_the_server() {
    if !there(&["nbdkit"]) {
        return;
    }
    let said = ends_do_not_end_the_server("mid-cut", |_, control| {
        assert!(ask(control, "cycle").is_ok_and(|said| said.contains("power-on")));
    });
    assert!(said.contains(&format!("{} power-ons", times() + 1)), "{said}");
}

#[test]
fn a_client_who_goes_away_in_the_middle_of_a_request_does_not_end_the_server() {
    if !there(&["nbdkit"]) {
        return;
    }
    let said = ends_do_not_end_the_server("mid-gone", |stream, _| stream.shutdown(Shutdown::Both).unwrap());
    assert!(said.starts_with("on; "), "{said}");
}
