//! Traces by name, from a server on this machine: fetched, gone on with, held against their hash, and used.

use crate::common::{skipped, words};
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Arc, Mutex};

/// What the traces are: three requests.
const TRACE: &str =
    "time_us,device,op,offset_bytes,size_bytes\n0,0,write,0,8192\n100,0,write,4096,4096\n200,0,read,0,4096\n";
const SHA256: &str = "9f7e29d24b6dadc8366b2f09de00db6c549d5603556ae5e86a5ea165f896ab01";

/// A file of the server.
#[derive(Clone)]
struct Served {
    content: String,
    /// Bytes after which it hangs up, once.
    hangs_up_after: Option<usize>,
    takes_ranges: bool,
}

impl Served {
    fn whole(content: &str) -> Self {
        Self { content: content.to_string(), hangs_up_after: None, takes_ranges: true }
    }
}

/// A server on the loopback interface, and which ranges of which files it was asked for.
struct Server {
    address: String,
    asked: Arc<Mutex<Vec<(String, usize)>>>,
    files: Arc<Mutex<BTreeMap<String, Served>>>,
}

impl Server {
    fn new(files: impl IntoIterator<Item = (&'static str, Served)>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let files = files.into_iter().map(|(name, file)| (name.to_string(), file)).collect();
        let (asked, files) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Mutex::new(files)));
        let server = Self { address, asked: Arc::clone(&asked), files: Arc::clone(&files) };
        // It ends with the test's process.
        std::thread::spawn(move || {
            for client in listener.incoming() {
                answer(client.unwrap(), &asked, &mut files.lock().unwrap());
            }
        });
        server
    }

    /// From which byte on each file was asked for, since the last call.
    fn asked(&self) -> Vec<(String, usize)> {
        std::mem::take(&mut *self.asked.lock().unwrap())
    }
}

fn answer(mut client: TcpStream, asked: &Mutex<Vec<(String, usize)>>, files: &mut BTreeMap<String, Served>) {
    let lines: Vec<String> =
        BufReader::new(&client).lines().map(Result::unwrap).take_while(|line| !line.is_empty()).collect();
    let Some(name) = lines.first().and_then(|line| line.split(['/', ' ']).nth(2)) else { return };
    let from =
        lines.iter().find_map(|line| line.to_ascii_lowercase().strip_prefix("range: bytes=").map(str::to_string));
    let from: usize = from.map_or(0, |range| range.trim_end_matches('-').parse().unwrap());
    asked.lock().unwrap().push((name.to_string(), from));
    let Some(file) = files.get_mut(name) else {
        client.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").unwrap();
        return;
    };
    let length = file.content.len();
    let head = match from {
        from if from > 0 && file.takes_ranges && from >= length => {
            client.write_all(b"HTTP/1.1 416 Too Far\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").unwrap();
            return;
        }
        from if from > 0 && file.takes_ranges => {
            format!(
                "206 Partial Content\r\nContent-Range: bytes {from}-{}/{length}\r\nContent-Length: {}",
                length - 1,
                length - from
            )
        }
        _ => format!("200 OK\r\nContent-Length: {length}"),
    };
    let from = if file.takes_ranges { from } else { 0 };
    let to = file.hangs_up_after.take().unwrap_or(length);
    let _ = client.write_all(format!("HTTP/1.1 {head}\r\nConnection: close\r\n\r\n").as_bytes());
    let _ = client.write_all(&file.content.as_bytes()[from..to]);
}

/// A home of a test's own, with a list of traces.
struct Home(PathBuf);

impl Home {
    fn new(name: &str, list: &str) -> Self {
        let home = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = fs::remove_dir_all(&home);
        fs::create_dir_all(home.join(".config/phelsuma")).unwrap();
        fs::write(home.join(".config/phelsuma/traces.toml"), list).unwrap();
        Self(home)
    }

    fn traces(&self) -> PathBuf {
        self.0.join(".local/share/phelsuma/traces")
    }

    fn run(&self, line: &str) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_phelsuma"));
        command.args(words(line)).env("HOME", &self.0).stdin(Stdio::null());
        for variable in ["XDG_CONFIG_HOME", "XDG_DATA_HOME", "PHELSUMA_TRACES", "http_proxy", "HTTP_PROXY", "all_proxy"]
        {
            command.env_remove(variable);
        }
        command.env("no_proxy", "127.0.0.1").output().unwrap()
    }

    fn prints(&self, line: &str) -> String {
        let out = self.run(line);
        assert!(out.status.success(), "{line}: {}", String::from_utf8_lossy(&out.stderr));
        String::from_utf8(out.stdout).unwrap()
    }

    fn refuses(&self, line: &str) -> String {
        let out = self.run(line);
        assert!(matches!(out.status.code(), Some(1 | 2)), "{line}: {:?}", out.status);
        String::from_utf8(out.stderr).unwrap()
    }
}

fn entry(server: &Server, name: &str, further: &str) -> String {
    let address = &server.address;
    format!(
        "[[trace]]\nname = \"test/{name}\"\nfile = \"{name}.csv.zst\"\nurl = \"{address}/{name}\"\nlicence = \"none\"\n{further}\n"
    )
}

fn has_curl() -> bool {
    let has = Command::new("curl").arg("--version").output().is_ok_and(|out| out.status.success());
    if !has {
        skipped("fetching traces, as there is no curl");
    }
    has
}

/// Files that a fetch left behind, beside traces.
fn hidden(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.starts_with('.')).collect()
}

#[test]
fn a_trace_is_fetched_once_and_then_found_by_its_name() {
    if !has_curl() {
        return;
    }
    let server = Server::new([("good", Served::whole(TRACE))]);
    let hash = format!("sha256 = \"{SHA256}\"\nrequests = 3\nbytes = {}\noptions = \"--time-unit us\"", TRACE.len());
    let home = Home::new("get-good", &entry(&server, "good", &hash));
    let error = home.refuses("run --ftl page --capacity 64MiB --trace test/good");
    assert!(error.contains("good.csv.zst; `phelsuma trace get test/good` gets it"), "{error}");
    let said = home.prints("trace get test/good");
    assert!(said.starts_with("test/good: 3 requests in ") && said.contains("it needs --time-unit us"), "{said}");
    assert_eq!(server.asked(), [("good".to_string(), 0)]);
    assert_eq!(hidden(&home.traces()), [""; 0]);
    // Compressed, as its name says.
    assert_eq!(fs::read(home.traces().join("good.csv.zst")).unwrap()[..4], [0x28, 0xb5, 0x2f, 0xfd]);
    assert!(home.prints("trace get test/good").contains("is there"));
    assert!(server.asked().is_empty(), "what is there is not fetched again");
    assert!(home.prints("trace info test/good").contains("3 requests"));
    home.prints("run --ftl page --capacity 64MiB --trace test/good");
    let listed: serde_json::Value = serde_json::from_str(&home.prints("trace get --json")).unwrap();
    let listed = listed["traces"].as_array().unwrap();
    assert!(listed.len() > 20 && listed.iter().any(|trace| trace["name"] == "test/good" && trace["there"] == true));
    let error = home.refuses("trace get test/goot");
    assert!(error.contains("'test/good' is most like it"), "{error}");
}

#[test]
fn a_fetch_that_was_interrupted_goes_on_where_it_stopped() {
    if !has_curl() {
        return;
    }
    let cut = Served { hangs_up_after: Some(60), ..Served::whole(TRACE) };
    let again = Served { takes_ranges: false, ..cut.clone() };
    let changed = Served { hangs_up_after: Some(60), ..Served::whole(&TRACE.replace("8192", "4096")) };
    let server = Server::new([("cut", cut), ("again", again), ("changed", changed)]);
    let hash = format!("sha256 = \"{SHA256}\"\nrequests = 3");
    let list: String = ["cut", "again", "changed"].iter().map(|name| entry(&server, name, &hash)).collect();
    let home = Home::new("get-cut", &list);
    for (name, then) in [("cut", vec![60]), ("again", vec![60, 0])] {
        let error = home.refuses(&format!("trace get test/{name}"));
        assert!(error.contains("cannot be fetched from"), "{error}");
        assert_eq!(server.asked(), [(name.to_string(), 0)]);
        assert!(home.prints(&format!("trace get test/{name}")).contains("3 requests"));
        let asked: Vec<usize> = server.asked().into_iter().map(|(_, from)| from).collect();
        assert_eq!(asked, then, "{name}");
    }
    // The file changes between the two calls: what was fetched of the older is thrown away.
    home.refuses("trace get test/changed");
    server.files.lock().unwrap().insert("changed".to_string(), Served::whole(TRACE));
    assert!(home.prints("trace get test/changed").contains("3 requests"));
    assert_eq!(server.asked().last(), Some(&("changed".to_string(), 0)));
    // All was fetched, and then the power failed: there is nothing behind the last byte.
    fs::write(home.traces().join(".cut.csv.zst.part"), TRACE).unwrap();
    fs::remove_file(home.traces().join("cut.csv.zst")).unwrap();
    assert!(home.prints("trace get test/cut").contains("3 requests"));
    assert_eq!(hidden(&home.traces()), [""; 0]);
}

#[test]
fn what_is_not_what_the_list_has_is_not_kept() {
    if !has_curl() {
        return;
    }
    let served = [
        ("other", Served::whole(&TRACE.replace("8192", "4096"))),
        ("short", Served::whole(TRACE)),
        ("unknown", Served::whole(TRACE)),
        ("noise", Served::whole("no trace at all\n")),
    ];
    let server = Server::new(served);
    let hash = format!("sha256 = \"{SHA256}\"");
    let list = [("other", &*hash), ("short", "requests = 4"), ("unknown", ""), ("noise", ""), ("gone", &*hash)];
    let list: String = list.iter().map(|(name, further)| entry(&server, name, further)).collect();
    let home = Home::new("get-wrong", &list);
    let error = home.refuses("trace get test/other");
    assert!(error.contains("is not what the list has: its SHA-256 is ") && error.contains(SHA256), "{error}");
    let error = home.refuses("trace get test/noise");
    assert!(error.contains(".noise.csv.zst.packed"), "{error}");
    let error = home.refuses("trace get test/gone");
    assert!(error.contains("404") && error.contains("it goes to ") && error.contains(SHA256), "{error}");
    assert!(!["other", "noise", "gone"].iter().any(|name| home.traces().join(format!("{name}.csv.zst")).exists()));
    // Its bytes may be right and a reader's count wrong: the file stays, the count is said.
    let error = home.refuses("trace get test/short");
    assert!(error.contains("has 3 requests, where the list has 4"), "{error}");
    let said = home.prints("trace get test/unknown");
    assert!(said.contains(&format!("sha256 = \"{SHA256}\"")), "{said}");
    // By other means, into the place that the error names.
    let place = home.traces().join("test_gone.gone");
    fs::write(&place, TRACE).unwrap();
    assert!(home.prints("trace get test/gone").contains("3 requests"));
    assert!(place.is_file(), "what somebody put there is theirs");
    let error = home.refuses("trace get msr/prxy_0");
    assert!(error.contains("is fetched by hand") && error.contains("prxy_0.csv.gz"), "{error}");
    fs::write(home.traces().join("own.csv"), TRACE).unwrap();
    let error = home.refuses("trace get --list nowhere.toml");
    assert!(error.contains("nowhere.toml"), "{error}");
}

#[test]
fn without_curl_the_way_by_hand_is_said() {
    let server = Server::new([]);
    let home = Home::new("get-without", &entry(&server, "good", ""));
    let mut command = Command::new(env!("CARGO_BIN_EXE_phelsuma"));
    command.args(["trace", "get", "test/good"]).env("HOME", &home.0).env("PATH", "/nonexistent");
    for variable in ["XDG_CONFIG_HOME", "XDG_DATA_HOME", "PHELSUMA_TRACES"] {
        command.env_remove(variable);
    }
    let out = command.output().unwrap();
    let error = String::from_utf8(out.stderr).unwrap();
    assert!(
        out.status.code() == Some(1) && error.contains("curl cannot be run") && error.contains("it goes to "),
        "{error}"
    );
}
