//! The control socket of a server: it takes one line and answers with one.
//!
//! ```text
//! cut [after N]      cut the power now, or after N programs and erases; the server ends
//! cycle [after N]    the same, but the drive mounts again
//! never              cancel all cuts that are planned
//! status             print the state of the drive
//! ```

use super::Served;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::Builder;
use std::time::{Duration, Instant};

/// A line that is longer is none of ours.
const LINE_MAX: usize = 256;
/// Who is slower is not waited for.
const PATIENCE: Duration = Duration::from_secs(5);
/// While one is waited for, whether the drive is closed is looked at so often.
const LOOK_UP: Duration = Duration::from_millis(100);

/// So many connections are served at a time. Others have to try again.
const CLIENTS_MAX: usize = 16;

/// Answers, each on a thread of its own, until the drive is closed and [`wake`] connects. A silent client is let go
/// before this returns.
pub fn listen(listener: &UnixListener, served: &Served) {
    let clients = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for client in listener.incoming() {
            if served.is_closed() {
                return;
            }
            let Ok(client) = client else { continue };
            if clients.fetch_add(1, Ordering::Relaxed) >= CLIENTS_MAX {
                let _ = writeln!(&client, "error: {CLIENTS_MAX} other clients are connected; try again");
                clients.fetch_sub(1, Ordering::Relaxed);
                continue;
            }
            let clients = &clients;
            let answering = Builder::new().name("control client".into()).spawn_scoped(scope, move || {
                // A client that went away does not need the answer.
                let _ = answer(&client, served);
                clients.fetch_sub(1, Ordering::Relaxed);
            });
            if answering.is_err() {
                clients.fetch_sub(1, Ordering::Relaxed);
            }
        }
    });
}

/// Has [`listen`] on the socket at `path` look whether the drive is closed.
pub fn wake(path: &Path) {
    let _ = UnixStream::connect(path);
}

/// Sends a request to the server whose control socket is at `path`, and gives its answer.
///
/// # Errors
/// There is no server, or no answer.
pub fn ask(path: &Path, line: &str) -> io::Result<String> {
    let mut stream = UnixStream::connect(path)?;
    stream.set_read_timeout(Some(PATIENCE * 12))?;
    writeln!(stream, "{line}")?;
    let mut answer = String::new();
    BufReader::new(stream).take(4096).read_line(&mut answer)?;
    Ok(answer.trim_end().to_string())
}

/// Its line; the end of the connection is an end of the line as well.
fn line_of(mut client: &UnixStream, served: &Served) -> io::Result<String> {
    let until = Instant::now() + PATIENCE;
    let mut bytes = Vec::with_capacity(LINE_MAX);
    while bytes.len() < LINE_MAX && !bytes.contains(&b'\n') {
        if Instant::now() >= until || served.is_closed() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        client.set_read_timeout(Some(LOOK_UP))?;
        let mut some = [0; LINE_MAX];
        match client.read(&mut some[..LINE_MAX - bytes.len()]) {
            Ok(0) => break,
            Ok(read) => bytes.extend_from_slice(&some[..read]),
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(String::from_utf8_lossy(&bytes).lines().next().unwrap_or_default().to_string())
}

fn answer(mut client: &UnixStream, served: &Served) -> io::Result<()> {
    let line = line_of(client, served)?;
    let said = match Command::read(line.trim()) {
        Err(wrong) => format!("error: {wrong}"),
        Ok(Command::Status) => served.status(),
        Ok(Command::Never) => {
            served.stay_on();
            "ok: planned cuts are cancelled".to_string()
        }
        Ok(Command::Cut { after: None, comes_back }) => {
            // If the process ends with it, there is no time to answer later.
            if !comes_back {
                writeln!(client, "ok: the power is cut")?;
            }
            served.cut(None, comes_back);
            served.status()
        }
        Ok(Command::Cut { after: Some(operations), comes_back }) => {
            served.cut(Some(operations), comes_back);
            format!("ok: the power is cut after {operations} programs and erases")
        }
    };
    writeln!(client, "{said}")
}

#[derive(PartialEq, Eq, Debug)]
enum Command {
    Cut { after: Option<u64>, comes_back: bool },
    Never,
    Status,
}

impl Command {
    fn read(line: &str) -> Result<Self, String> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let wrong = "this is not a command; use cut, cut after N, cycle, cycle after N, never or status";
        match words[..] {
            ["never"] => Ok(Self::Never),
            ["status"] => Ok(Self::Status),
            [what @ ("cut" | "cycle")] => Ok(Self::Cut { after: None, comes_back: what == "cycle" }),
            [what @ ("cut" | "cycle"), "after", n] => {
                let after = n.parse().map_err(|_| wrong)?;
                Ok(Self::Cut { after: Some(after), comes_back: what == "cycle" })
            }
            _ => Err(wrong.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_read_and_others_are_not() {
        assert_eq!(Command::read("cut"), Ok(Command::Cut { after: None, comes_back: false }));
        assert_eq!(Command::read("cycle after 7"), Ok(Command::Cut { after: Some(7), comes_back: true }));
        for wrong in ["", "cut 7", "cut after", "cut after x", "cycle after -1", "status now", "halt"] {
            assert!(Command::read(wrong).is_err(), "{wrong}");
        }
    }
}
