//! A server for the length of a test, and the clients that there are on this machine.

#![allow(dead_code, reason = "the bench takes a part of it")]

use crate::common::{prints, skipped};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread::{JoinHandle, sleep, spawn};
use std::time::{Duration, Instant};

/// How long anything may take.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Where programs of the system are: others in front of them can hide a Python that has libnbd.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin";

/// Whether these programs are there. If not, says which are not, and the test has nothing to do.
pub(crate) fn there(programs: &[&str]) -> bool {
    let found = |name: &str| PATH.split(':').any(|folder| Path::new(folder).join(name).is_file());
    let mut missing: Vec<&str> = programs.iter().copied().filter(|name| !found(name)).collect();
    if missing.is_empty() && programs.contains(&"nbdsh") {
        // It is there where the library for it need not be.
        let works = Command::new("nbdsh").env("PATH", PATH).args(["-c", "pass"]).output();
        if !works.is_ok_and(|output| output.status.success()) {
            missing.push("nbdsh's Python library");
        }
    }
    if !missing.is_empty() {
        skipped(&format!("there is no {} here (`make nbd-clients` installs them)", missing.join(", no ")));
    }
    missing.is_empty()
}

/// A folder that is gone with the test. Its path is short: sockets' paths have to be.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("phelsuma-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A server.
pub(crate) struct Server {
    pub uri: String,
    /// What it is and how it came up, in one line.
    pub about: String,
    lines: Receiver<String>,
    child: Child,
    /// What it says on stderr: read as it comes, for a pipe that nobody reads holds its writer up.
    error: JoinHandle<String>,
    pub folder: Folder,
}

impl Server {
    /// Serves a drive in memory on a socket, with these options besides.
    pub(crate) fn start(name: &str, options: &str) -> Self {
        let folder = Folder::new(name);
        let socket = folder.file("socket");
        let options = options.replace("FOLDER", folder.0.to_str().unwrap());
        Self::with(folder, &format!("--socket {} {options}", socket.display()))
    }

    /// Serves with these options, of which one says where.
    pub(crate) fn with(folder: Folder, options: &str) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_phelsuma"))
            .arg("serve")
            .args(options.split_whitespace())
            .env("PATH", PATH)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (said, lines) = channel();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        spawn(move || stdout.lines().map_while(Result::ok).try_for_each(|line| said.send(line)));
        let mut stderr = child.stderr.take().unwrap();
        let error = spawn(move || {
            let mut error = String::new();
            let _ = stderr.read_to_string(&mut error);
            error
        });
        let begun = Instant::now();
        let mut about = String::new();
        loop {
            match lines.recv_timeout(PATIENCE.saturating_sub(begun.elapsed())) {
                Ok(line) if line.starts_with("nbd") => return Self { uri: line, about, lines, child, error, folder },
                Ok(line) => {
                    assert!(!line.contains("exceeded its bound"), "{options}: {line}");
                    about = line;
                }
                Err(_) => {
                    let _ = child.kill();
                    panic!("{options}: it does not serve: {}", error.join().unwrap());
                }
            }
        }
    }

    /// What it says where clients connect to, in the line that begins with this word.
    pub(crate) fn says(&self, word: &str) -> String {
        let mut lines = std::iter::from_fn(|| self.lines.recv_timeout(PATIENCE).ok());
        let found = lines.find_map(|line| Some(line.trim_start().strip_prefix(word)?.trim().to_string()));
        found.unwrap_or_else(|| panic!("it says nothing of {word}"))
    }

    /// Its process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn terminate(&self) {
        self.signal("-TERM");
    }

    pub(crate) fn signal(&self, which: &str) {
        let sent = Command::new("kill").args([which, &self.child.id().to_string()]).status();
        assert!(sent.is_ok_and(|status| status.success()));
    }

    /// Waits until it has ended. How, and what it had said on stderr.
    pub(crate) fn ended(mut self) -> (ExitStatus, String, Folder) {
        let status = wait(&mut self.child, "the server");
        let error = std::mem::replace(&mut self.error, spawn(String::new)).join().unwrap();
        assert!(!error.contains("exceeded its bound"), "{error}");
        let folder = std::mem::replace(&mut self.folder, Folder(PathBuf::from("/nonexistent")));
        (status, error, folder)
    }

    /// Asks it to end in good order, and expects that it does.
    pub(crate) fn stop(self) -> Folder {
        self.terminate();
        let (status, error, folder) = self.ended();
        assert_eq!(status.code(), Some(0), "{error}");
        assert!(!folder.file("socket").exists(), "its socket is gone");
        folder
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let ended = self.child.try_wait();
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            // Where a client waits in vain, what the server has said last tells why.
            let error = std::mem::replace(&mut self.error, spawn(String::new)).join().unwrap_or_default();
            let lines: Vec<&str> = error.lines().collect();
            let last = &lines[lines.len().saturating_sub(8)..];
            eprintln!("the server had ended: {ended:?}; the last that it said:\n{}", last.join("\n"));
        }
    }
}

fn wait(child: &mut Child, what: &str) -> ExitStatus {
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        if begun.elapsed() > PATIENCE {
            let _ = child.kill();
            panic!("{what} does not end");
        }
        sleep(Duration::from_millis(5));
    }
}

/// Runs a client to its end.
pub(crate) fn client<S: AsRef<std::ffi::OsStr>>(program: &str, args: &[S]) -> Output {
    let mut command = Command::new("timeout");
    command.arg(PATIENCE.as_secs().to_string()).arg(program).args(args);
    command.env("PATH", PATH).stdin(Stdio::null()).output().unwrap()
}

/// Runs a client and expects success; what it printed.
pub(crate) fn succeeds<S: AsRef<std::ffi::OsStr>>(program: &str, args: &[S]) -> String {
    let output = client(program, args);
    let (out, error) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{program}: {} {out} {error}", output.status);
    out.into_owned()
}

/// Whether the long mode is to look at this preset: at all, or at those that PHELSUMA_FTLS names, separated by commas.
pub(crate) fn is_asked_for(ftl: &str) -> bool {
    std::env::var("PHELSUMA_FTLS").map_or(true, |names| names.is_empty() || names.split(',').any(|name| name == ftl))
}

/// Cycles of a preset: more of those that are made for this, and of all where that is asked for.
pub(crate) fn cycles(ftl: &str) -> u32 {
    let thorough = std::env::var_os("PHELSUMA_THOROUGH").is_some_and(|v| v == "1");
    match (thorough, ftl) {
        (false, "geckoftl") => 10,
        (false, _) => 2,
        (true, "geckoftl" | "phelsuma") => 1_000,
        (true, _) => 100,
    }
}

/// Those that stand for others when it is not the long mode: a server calls all FTLs alike.
const SOME: [&str; 12] = [
    "page",
    "dual-greedy",
    "dftl",
    "dftl-req",
    "lazyftl",
    "ib-ftl",
    "mu-ftl-pvb",
    "geckoftl",
    "fast",
    "superblock",
    "last++",
    "ftl-mm:fast",
];

/// Whether another preset stands for this one.
pub(crate) fn is_one_of_many(preset: &phelsuma_ftl::Preset) -> bool {
    let thorough = std::env::var_os("PHELSUMA_THOROUGH").is_some_and(|v| v == "1");
    !thorough && !SOME.contains(&preset.name)
}

/// The shape of the drive that this preset is tried on.
pub(crate) fn channels(ftl: &str) -> &'static str {
    match ftl {
        // Its log and the default cache leave no room on a drive of 64 MiB.
        "phelsuma" => "--cache 4KiB",
        _ if ftl.starts_with("ftl-mm:") => "--channels 2",
        _ => "",
    }
}

/// An image of a drive of this preset.
pub(crate) fn made(folder: &Folder, ftl: &str) -> PathBuf {
    let image = folder.file("drive.img");
    prints(&format!("create {} --size 64MiB --ftl {ftl} {}", image.display(), channels(ftl)));
    image
}

/// `check` finds nothing; the drive was stopped in good order.
pub(crate) fn is_in_order(image: &Path) {
    let said = prints(&format!("check {}", image.display()));
    assert!(said.contains("nothing is wrong") && said.contains("closed cleanly"), "{said}");
    assert!(!said.contains("not closed cleanly"), "{said}");
}
