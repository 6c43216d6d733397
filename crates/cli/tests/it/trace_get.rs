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
/// The hash of the same with 4096 comments behind.
const LONG_SHA256: &str = "a551b966cad6513db3c413ac4d86b9333f8efeb51d20f2c24a76c901e74294f8";

/// Waits until something holds; not for ever.
fn wait_for(what: &str, holds: impl Fn() -> bool) {
    for _ in 0..4000 {
        if holds() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    panic!("waited too long for {what}");
}

/// A file of the server.
#[derive(Clone)]
struct Served {
    content: String,
    /// Bytes after which it hangs up, once.
    hangs_up_after: Option<usize>,
    takes_ranges: bool,
    /// Whether it says how long the file is.
    says_length: bool,
    /// Whether it stops in the middle and keeps the connection.
    stalls: bool,
}

impl Served {
    fn whole(content: &str) -> Self {
        let content = content.to_string();
        Self { content, hangs_up_after: None, takes_ranges: true, says_length: true, stalls: false }
    }
}

/// A server on the loopback interface, and which ranges of which files it was asked for.
struct Server {
    address: String,
    asked: Arc<Mutex<Vec<(String, usize)>>>,
    files: Arc<Mutex<BTreeMap<String, Served>>>,
    stalled: Arc<Mutex<Vec<TcpStream>>>,
}

impl Server {
    fn new(files: impl IntoIterator<Item = (&'static str, Served)>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let files = files.into_iter().map(|(name, file)| (name.to_string(), file)).collect();
        let (asked, files) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Mutex::new(files)));
        let stalled = Arc::new(Mutex::new(Vec::new()));
        let server =
            Self { address, asked: Arc::clone(&asked), files: Arc::clone(&files), stalled: Arc::clone(&stalled) };
        // It ends with the test's process.
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let kept = answer(client.unwrap(), &asked, &mut files.lock().unwrap());
                stalled.lock().unwrap().extend(kept);
            }
        });
        server
    }

    /// From which byte on each file was asked for, since the last call.
    fn asked(&self) -> Vec<(String, usize)> {
        std::mem::take(&mut *self.asked.lock().unwrap())
    }
}

/// Answers; the connection if it is to be kept.
fn answer(
    mut client: TcpStream,
    asked: &Mutex<Vec<(String, usize)>>,
    files: &mut BTreeMap<String, Served>,
) -> Option<TcpStream> {
    let lines: Vec<String> =
        BufReader::new(&client).lines().map(Result::unwrap).take_while(|line| !line.is_empty()).collect();
    let name = lines.first()?.split(['/', ' ']).nth(2)?;
    let from =
        lines.iter().find_map(|line| line.to_ascii_lowercase().strip_prefix("range: bytes=").map(str::to_string));
    let from: usize = from.map_or(0, |range| range.trim_end_matches('-').parse().unwrap());
    asked.lock().unwrap().push((name.to_string(), from));
    let Some(file) = files.get_mut(name) else {
        client.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").unwrap();
        return None;
    };
    let length = file.content.len();
    let head = match from {
        from if from > 0 && file.takes_ranges && from >= length => {
            client.write_all(b"HTTP/1.1 416 Too Far\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").unwrap();
            return None;
        }
        from if from > 0 && file.takes_ranges => {
            format!(
                "206 Partial Content\r\nContent-Range: bytes {from}-{}/{length}\r\nContent-Length: {}",
                length - 1,
                length - from
            )
        }
        _ if !file.says_length => "200 OK".to_string(),
        _ => format!("200 OK\r\nContent-Length: {length}"),
    };
    let from = if file.takes_ranges { from } else { 0 };
    let to = if file.stalls { length / 2 } else { file.hangs_up_after.take().unwrap_or(length) };
    let _ = client.write_all(format!("HTTP/1.1 {head}\r\nConnection: close\r\n\r\n").as_bytes());
    let _ = client.write_all(&file.content.as_bytes()[from..to]);
    file.stalls.then_some(client)
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
        self.command(line).output().unwrap()
    }

    fn command(&self, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_phelsuma"));
        command.args(words(line)).env("HOME", &self.0).stdin(Stdio::null());
        for variable in ["XDG_CONFIG_HOME", "XDG_DATA_HOME", "PHELSUMA_TRACES", "http_proxy", "HTTP_PROXY", "all_proxy"]
        {
            command.env_remove(variable);
        }
        command.env("no_proxy", "127.0.0.1").current_dir(&self.0);
        command
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
    let hash = format!("sha256 = \"{SHA256}\"\nrequests = 3\nbytes = {}", TRACE.len());
    let home = Home::new("get-good", &entry(&server, "good", &hash));
    let error = home.refuses("run --ftl page --capacity 64MiB --trace test/good");
    assert!(error.contains("good.csv.zst; `phelsuma trace get test/good` gets it"), "{error}");
    let said = home.prints("trace get test/good");
    assert!(said.starts_with("test/good: 3 requests in "), "{said}");
    assert_eq!(server.asked(), [("good".to_string(), 0)]);
    assert_eq!(hidden(&home.traces()), [""; 0]);
    // Compressed, as its name says.
    assert_eq!(fs::read(home.traces().join("good.csv.zst")).unwrap()[..4], [0x28, 0xb5, 0x2f, 0xfd]);
    assert!(home.prints("trace get test/good").contains("is there, 3 requests"));
    assert!(server.asked().is_empty(), "what is there is not fetched again");
    assert!(home.prints("trace info test/good").contains("3 requests"));
    home.prints("run --ftl page --capacity 64MiB --trace test/good");
    let listed: serde_json::Value = serde_json::from_str(&home.prints("trace get --json")).unwrap();
    let listed = listed["traces"].as_array().unwrap();
    assert!(listed.len() > 20 && listed.iter().any(|trace| trace["name"] == "test/good" && trace["there"] == true));
    for line in ["trace get test/goot", "trace info test/goot", "run --ftl page --capacity 64MiB --trace test/goot"] {
        let error = home.refuses(line);
        assert!(error.contains("'test/good' is most like it"), "{error}");
    }
    // JSON alone.
    let out = home.run("trace get test/good --json");
    assert!(out.status.success() && out.stderr.is_empty(), "{}", String::from_utf8_lossy(&out.stderr));
    let listed: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    assert_eq!(listed["traces"][0]["there"], true);
    assert!(home.prints("trace get").contains(&format!("{} B", TRACE.len())));
}

#[test]
fn options_of_the_list_go_with_the_name() {
    if !has_curl() {
        return;
    }
    // Times in no unit, and columns in an order that nothing has.
    let timed = "0 0 8 8 0\n1000 0 16 8 0\n2000 0 24 8 1\n";
    let own = "a;4096;0;5\nb;4096;4096;6\n";
    let server =
        Server::new([("timed", Served::whole(timed)), ("own", Served::whole(own)), ("good", Served::whole(TRACE))]);
    let list = [
        ("timed", "requests = 3\noptions = { time-unit = \"ms\" }"),
        ("own", "requests = 2\noptions = { columns = \"op,size,offset,time:s\", ops = \"read=a,write=b\" }"),
        ("good", ""),
    ];
    let home = Home::new("get-options", &list.map(|(name, further)| entry(&server, name, further)).concat());
    for (name, _) in list {
        home.prints(&format!("trace get test/{name}"));
    }
    let says = |line: &str| -> serde_json::Value { serde_json::from_str(&home.prints(line)).unwrap() };
    assert_eq!(says("trace info test/timed --json")["duration_ns"], 2_000_000_000u64);
    assert_eq!(
        says("trace info test/timed --time-unit us --json")["duration_ns"],
        2_000_000,
        "what is given is the stronger"
    );
    let path = home.traces().join("timed.csv.zst").display().to_string();
    assert_ne!(says(&format!("trace info {path} --json"))["duration_ns"], 2_000_000_000u64, "options go with the name");
    assert_eq!(says("trace info test/own --json")["writes"], 1);
    home.refuses(&format!("trace info {}", home.traces().join("own.csv.zst").display()));
    let run = says("run --ftl page --capacity 64MiB --trace test/own --json");
    assert_eq!((&run["input"]["requests"], &run["input"]["duration_ns"]), (&2.into(), &1_000_000_000.into()));
    assert!(home.prints("trace convert test/own out.csv --to csv").contains("2 requests"));
    let all = says("trace get --json");
    let timed = all["traces"].as_array().unwrap().iter().find(|trace| trace["name"] == "test/timed").unwrap();
    assert_eq!(timed["options"], "--time-unit ms");
    // One set of options goes for all that are merged.
    let error = home.refuses("trace info test/timed test/good");
    assert!(error.contains("test/timed is read with --time-unit ms and test/good with no options"), "{error}");
    assert_eq!(says("trace info test/timed test/good --time-unit us --json")["requests"], 6);
}

#[test]
fn lists_say_what_is_wrong_with_them_only_where_they_are_asked() {
    let server = Server::new([]);
    let home = Home::new("get-lists", "[[trace]]\nname = \"a\"\nfile = ");
    fs::write(home.0.join("vm.csv"), TRACE).unwrap();
    fs::create_dir_all(home.0.join("vm")).unwrap();
    fs::write(home.0.join("vm/cloudphysic.blktrace.0"), TRACE).unwrap();
    home.prints("trace info vm.csv");
    home.prints("trace info vm/cloudphysic");
    let error = home.refuses("trace info nothing.csv");
    assert!(error.contains("nothing.csv: cannot be opened") && error.contains("traces.toml: line 3"), "{error}");
    for line in ["trace get", "trace info vm/cloudphysics"] {
        let error = home.refuses(line);
        assert!(error.contains("traces.toml: line 3") && error.lines().count() == 1, "{error}");
    }
    let list = home.0.join(".config/phelsuma/traces.toml");
    fs::write(&list, entry(&server, "a", "") + &entry(&server, "a", "").replace("test/a", "test/b")).unwrap();
    let error = home.refuses("trace get");
    assert!(error.contains("traces.toml: line 7: test/a and test/b have the same file, a.csv.zst"), "{error}");
    // What stands beside is what is meant, however like a name of the list.
    fs::write(&list, "").unwrap();
    home.prints("trace info vm/cloudphysic");
    assert!(home.refuses("trace info vm/cloudphysicz").contains("'vm/cloudphysics' is most like it"));
    assert!(!home.refuses("trace info vm/nothing_like_it").contains("most like it"));
    fs::write(&list, entry(&server, "a", "").replace("\"none\"", "\"a\\nb\\u001b[31m\"")).unwrap();
    assert!(!home.prints("trace get").contains('\u{1b}'));
    let out = home.command("trace get test/a").env("PHELSUMA_TRACES", home.0.join("vm.csv")).output().unwrap();
    let error = String::from_utf8(out.stderr).unwrap();
    assert!(error.contains("vm.csv: is a file, a folder") && error.contains("PHELSUMA_TRACES"), "{error}");
    assert!(home.refuses("trace get test/a --into vm.csv").contains("vm.csv: is a file, a folder"));
}

#[test]
fn what_is_there_is_held_against_the_list() {
    if !has_curl() {
        return;
    }
    let server = Server::new([
        ("good", Served::whole(TRACE)),
        ("short", Served::whole(TRACE)),
        ("plain.csv", Served::whole(TRACE)),
    ]);
    let hash = format!("sha256 = \"{SHA256}\"\nrequests = 3");
    let plain = entry(&server, "plain.csv", &hash).replace("plain.csv.csv.zst", "plain.csv");
    let list = entry(&server, "good", &hash) + &entry(&server, "short", "requests = 4") + &plain;
    let home = Home::new("get-there", &list);
    // A count that differs is an error as often as one likes.
    for _ in 0..2 {
        let error = home.refuses("trace get test/short");
        assert!(error.contains("has 3 requests where the list has 4, and is not kept"), "{error}");
        assert!(error.contains(&server.address) && !error.contains(".packed") && !error.contains(".part"), "{error}");
        assert_eq!(fs::read_dir(home.traces()).unwrap().count(), 0);
    }
    home.prints("trace get test/good test/plain.csv");
    let good = home.traces().join("good.csv.zst");
    let whole = fs::read(&good).unwrap();
    for broken in [&[][..], &whole[..whole.len() / 2], TRACE.as_bytes().strip_suffix(b"200,0,read,0,4096\n").unwrap()] {
        fs::write(&good, broken).unwrap();
        let error = home.refuses("trace get test/good");
        assert!(error.contains("good.csv.zst") && error.contains("fetches it anew"), "{error}");
    }
    // As many requests, of other bytes.
    fs::write(home.traces().join("plain.csv"), TRACE.replace("8192", "4096")).unwrap();
    let error = home.refuses("trace get test/plain.csv");
    assert!(error.contains("SHA-256") && error.contains("fetches it anew"), "{error}");
    fs::remove_file(&good).unwrap();
    assert!(home.prints("trace get test/good").contains("3 requests"));
}

#[test]
fn without_a_hash_nothing_is_gone_on_from() {
    if !has_curl() {
        return;
    }
    let cut = Served { hangs_up_after: Some(60), ..Served::whole(TRACE) };
    let other = TRACE.replace("8192", "4096");
    let server = Server::new([("cut", cut), ("garbage", Served::whole(TRACE))]);
    let list = entry(&server, "cut", "") + &entry(&server, "garbage", &format!("bytes = {}", TRACE.len()));
    let home = Home::new("get-unhashed", &list);
    let error = home.refuses("trace get test/cut");
    assert!(error.contains("the same command begins anew") || !error.contains("goes on"), "{error}");
    assert_eq!(hidden(&home.traces()), [""; 0]);
    // Half of one version and half of another would be a trace as well.
    fs::write(home.traces().join(".cut.csv.zst.part"), &other[..70]).unwrap();
    fs::write(home.traces().join(".garbage.csv.zst.part"), "?".repeat(TRACE.len())).unwrap();
    server.asked();
    assert!(home.prints("trace get test/cut test/garbage").contains("3 requests"));
    assert_eq!(server.asked(), [("cut".to_string(), 0), ("garbage".to_string(), 0)]);
    assert!(home.prints("trace info test/cut").contains("12.0 KiB"));
}

#[test]
fn as_many_bytes_as_the_list_says_are_fetched() {
    if !has_curl() {
        return;
    }
    let unknown = Served { says_length: false, ..Served::whole(TRACE) };
    let server = Server::new([("less", Served::whole(TRACE)), ("more", Served::whole(TRACE)), ("unsaid", unknown)]);
    let (less, more) = (format!("bytes = {}", TRACE.len() + 1), format!("bytes = {}", TRACE.len() - 1));
    let list = entry(&server, "less", &less) + &entry(&server, "more", &more) + &entry(&server, "unsaid", &more);
    let home = Home::new("get-bytes", &list);
    for _ in 0..2 {
        let error = home.refuses("trace get test/less");
        assert!(error.contains("is not what the list has: it has 99 bytes and not 100"), "{error}");
        let error = home.refuses("trace get test/more");
        assert!(error.contains("has more than the 98 bytes that the list says"), "{error}");
        let error = home.refuses("trace get test/unsaid");
        assert!(error.contains("98"), "{error}");
        assert_eq!(fs::read_dir(home.traces()).unwrap().count(), 0);
    }
}

#[test]
fn one_at_a_time_fetches_a_trace() {
    if !has_curl() {
        return;
    }
    // More than curl holds back.
    let long = format!("{TRACE}{}", "# no request\n".repeat(4096));
    let stalled = Served { stalls: true, ..Served::whole(&long) };
    let server = Server::new([("slow", stalled)]);
    let home = Home::new("get-two", &entry(&server, "slow", &format!("sha256 = \"{LONG_SHA256}\"")));
    let part = home.traces().join(".slow.csv.zst.part");
    let begun = || {
        let mut command = home.command("trace get test/slow");
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let stalls = || !server.stalled.lock().unwrap().is_empty() && fs::metadata(&part).is_ok_and(|p| p.len() > 0);
        wait_for("half of the file", stalls);
        child
    };
    let signal = |child: &std::process::Child, name: &str| {
        let sent = Command::new("kill").args([name, &child.id().to_string()]).status().unwrap();
        assert!(sent.success());
    };
    let child = begun();
    let error = home.refuses("trace get test/slow");
    assert!(error.contains("test/slow: another `trace get` is at it"), "{error}");
    signal(&child, "-TERM");
    let out = child.wait_with_output().unwrap();
    let error = String::from_utf8(out.stderr).unwrap();
    assert_eq!(out.status.code(), Some(1), "{error}");
    assert!(error.contains("interrupted; ") && error.contains(" are there, and the same command goes on"), "{error}");
    // Its curl has ended with it; that of one that was killed has not, and keeps the others away.
    server.stalled.lock().unwrap().clear();
    fs::remove_file(&part).unwrap();
    let mut child = begun();
    signal(&child, "-KILL");
    child.wait().unwrap();
    let error = home.refuses("trace get test/slow");
    assert!(error.contains("another `trace get` is at it"), "{error}");
    server.files.lock().unwrap().insert("slow".to_string(), Served::whole(&long));
    server.stalled.lock().unwrap().clear();
    wait_for("the lock", || home.run("trace get test/slow").status.success());
    assert!(home.prints("trace info test/slow").contains("3 requests"));
    assert_eq!(hidden(&home.traces()), [""; 0]);
}

#[test]
fn addresses_are_taken_as_they_are_and_links_are_not_followed() {
    if !has_curl() {
        return;
    }
    let names = ["p[1-2].csv", "q.csv.gz?raw=1", "good"];
    let server = Server::new(names.map(|name| (name, Served::whole(TRACE))));
    let of = |name: &str, file: &str, url: &str| {
        let entry = entry(&server, name, "requests = 3");
        entry
            .replace(&format!("{name}.csv.zst"), file)
            .replace(&format!("{}/{name}", server.address), &format!("{}/{url}", server.address))
    };
    let list = of("p", "p.csv", names[0]) + &of("q", "q.csv.gz", names[1]) + &entry(&server, "good", "");
    let home = Home::new("get-addresses", &list);
    fs::create_dir_all(home.traces()).unwrap();
    let victim = home.0.join("victim");
    fs::write(&victim, "mine").unwrap();
    for hidden in [".good.csv.zst.part", ".good.csv.zst.packed"] {
        std::os::unix::fs::symlink(&victim, home.traces().join(hidden)).unwrap();
    }
    home.prints("trace get test/p test/q test/good");
    assert_eq!(fs::read_to_string(&victim).unwrap(), "mine");
    // What a server packed is kept as it is.
    assert_eq!(fs::read_to_string(home.traces().join("q.csv.gz")).unwrap(), TRACE);
    assert_eq!(hidden(&home.traces()), [""; 0]);
}

#[test]
fn what_a_name_does_not_find_is_taken_by_its_path() {
    if !has_curl() {
        return;
    }
    let server = Server::new([("good", Served::whole(TRACE))]);
    let home = Home::new("get-elsewhere", "");
    fs::write(home.0.join("lab.toml"), entry(&server, "good", "options = { time-unit = \"us\" }")).unwrap();
    let said = home.prints("trace get test/good --list lab.toml");
    let file = home.traces().join("good.csv.zst").display().to_string();
    assert!(said.contains(&format!("--trace {file} --time-unit us takes it")), "{said}");
    home.prints(&format!("run --ftl page --capacity 64MiB --trace {file} --time-unit us"));
    fs::write(home.0.join(".config/phelsuma/traces.toml"), entry(&server, "good", "")).unwrap();
    let said = home.prints("trace get test/good --into here");
    assert!(said.contains("--trace here/good.csv.zst takes it"), "{said}");
    fs::remove_file(&file).unwrap();
    assert!(!home.prints("trace get test/good").contains("--trace"));
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
    assert!(error.contains("test/noise: ") && error.contains(&format!("{}/noise: ", server.address)), "{error}");
    let error = home.refuses("trace get test/gone");
    assert!(error.contains("404") && error.contains("it goes to ") && error.contains(SHA256), "{error}");
    assert!(!["other", "noise", "gone"].iter().any(|name| home.traces().join(format!("{name}.csv.zst")).exists()));
    let error = home.refuses("trace get test/short");
    assert!(error.contains("has 3 requests where the list has 4"), "{error}");
    let said = home.prints("trace get test/unknown");
    assert!(said.contains(&format!("sha256 = \"{SHA256}\"")), "{said}");
    // By other means, into the place that the error names.
    let place = home.traces().join("test_gone.gone");
    fs::write(&place, TRACE).unwrap();
    let said = home.prints("trace get test/gone");
    assert!(said.contains("3 requests") && said.contains("test_gone.gone is not needed any more"), "{said}");
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
