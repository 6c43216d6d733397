//! A file system and databases on a served drive, as in ordinary use.
//!
//! nbdfuse makes a file of the drive, the kernel's loop device a block device of that, ext4 goes on top. Then the same
//! with the plug pulled in the middle of it. Needs root, for loop devices and mounts.

use crate::common::{prints, skipped};
use crate::nbd::{Folder, PATIENCE, Server, client, cycles, is_in_order, made, succeeds, there};
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

/// What this needs besides root.
const PROGRAMS: [&str; 9] =
    ["nbdkit", "nbdfuse", "fusermount3", "losetup", "mkfs.ext4", "e2fsck", "mount", "fstrim", "sqlite3"];

/// Whether all of it is there; a line says what is not.
fn can_mount() -> bool {
    let root = succeeds("id", &["-u"]).trim() == "0";
    let devices = ["/dev/fuse", "/dev/loop-control"].iter().all(|path| Path::new(path).exists());
    if !root || !devices {
        skipped("mounting takes root, /dev/fuse and /dev/loop-control");
    }
    root && devices && there(&PROGRAMS)
}

/// A served drive as a block device, undone in any case.
struct Bridge {
    fuse: Child,
    file: PathBuf,
    device: String,
    /// Where the file system of it is mounted, if it is.
    mounted: Option<PathBuf>,
}

impl Bridge {
    fn new(server: &Server) -> Self {
        let folder = server.folder.file("fuse");
        fs::create_dir_all(&folder).unwrap();
        // Where its server goes it ends with an assertion of its own, which tells nothing of the drive.
        let fuse =
            Command::new("nbdfuse").arg(&folder).arg(&server.uri).stdin(Stdio::null()).stderr(Stdio::null()).spawn();
        let fuse = fuse.unwrap();
        let file = folder.join("nbd");
        let mut bridge = Self { fuse, file, device: String::new(), mounted: None };
        let begun = Instant::now();
        while fs::metadata(&bridge.file).is_err() {
            assert!(begun.elapsed() < PATIENCE && bridge.fuse.try_wait().unwrap().is_none(), "nbdfuse does not begin");
            sleep(Duration::from_millis(10));
        }
        let file = bridge.file.to_str().unwrap().to_string();
        bridge.device = succeeds("losetup", &["-f", "--show", "--direct-io=on", &file]).trim().to_string();
        bridge
    }

    fn mount(&mut self, on: &Path) {
        fs::create_dir_all(on).unwrap();
        succeeds("mount", &["-t", "ext4", &self.device, on.to_str().unwrap()]);
        self.mounted = Some(on.to_path_buf());
    }

    fn unmount(&mut self) {
        if let Some(folder) = self.mounted.take() {
            succeeds("umount", &[folder]);
        }
    }

    /// Nothing is wrong with the file system, and nothing is mended.
    fn is_clean(&self) {
        succeeds("e2fsck", &["-f", "-n", &self.device]);
    }

    /// Undoes all of it, and expects that it can be.
    fn end(mut self) {
        assert!(self.undo());
    }

    fn undo(&mut self) -> bool {
        let folder = self.file.parent().unwrap().to_path_buf();
        let mut done = true;
        let mut undo = |program: &str, args: &[&str]| done &= client(program, args).status.success();
        if let Some(folder) = self.mounted.take() {
            undo("umount", &[folder.to_str().unwrap()]);
        }
        if !self.device.is_empty() {
            undo("losetup", &["-d", &std::mem::take(&mut self.device)]);
            // Ends nbdfuse; where it has ended already there may be nothing to undo.
            let _ = client("fusermount3", &["-u", "-z", folder.to_str().unwrap()]);
            let begun = Instant::now();
            while self.fuse.try_wait().unwrap().is_none() && begun.elapsed() < PATIENCE {
                sleep(Duration::from_millis(10));
            }
        }
        let _ = self.fuse.kill();
        let _ = self.fuse.wait();
        done
    }
}

impl Drop for Bridge {
    fn drop(&mut self) {
        if !self.device.is_empty() || self.mounted.is_some() {
            self.undo();
        }
        let _ = client("fusermount3", &["-u", "-z", "-q", self.file.parent().unwrap().to_str().unwrap()]);
    }
}

fn serve(folder: Folder, more: &str) -> Server {
    let (image, socket) = (folder.file("drive.img"), folder.file("socket"));
    Server::with(folder, &format!("{} --socket {} {more}", image.display(), socket.display()))
}

/// What is in the file of this number.
fn content(n: u64) -> Vec<u8> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(n);
    let mut bytes = vec![0; 1 + random.next_u64() as usize % 60_000];
    random.fill_bytes(&mut bytes);
    bytes
}

fn sqlite(database: &Path, commands: &str) -> String {
    succeeds("sqlite3", &[database.to_str().unwrap(), commands])
}

/// How many logical pages hold data, as `check` counts them.
fn pages_with_data(image: &Path) -> u64 {
    let said = prints(&format!("check {} --json", image.display()));
    let said: serde_json::Value = serde_json::from_str(&said).unwrap();
    said["pages"]["data"].as_u64().unwrap_or_else(|| panic!("{said}"))
}

#[test]
fn files_and_a_database_on_ext4_are_there_after_unmounting_and_what_was_trimmed_is_not_kept() {
    if !can_mount() {
        return;
    }
    for ftl in ["page", "geckoftl", "dftl"] {
        let folder = Folder::new(&format!("ext4-{ftl}"));
        let image = made(&folder, ftl);
        let server = serve(folder, "");
        let on = server.folder.file("mnt");
        let mut bridge = Bridge::new(&server);
        succeeds("mkfs.ext4", &["-q", &bridge.device]);
        bridge.mount(&on);
        (0..600).for_each(|n| fs::write(on.join(n.to_string()), content(n)).unwrap());
        let rows = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000) \
                    INSERT INTO t SELECT i, hex(i * 7919) FROM n;";
        let create = "PRAGMA journal_mode = WAL; CREATE TABLE t (i INTEGER PRIMARY KEY, v TEXT);";
        sqlite(&on.join("db"), &format!("{create} {rows} UPDATE t SET v = v || 'x' WHERE i % 3 = 0;"));
        succeeds("sync", &["-f", on.to_str().unwrap()]);
        (0..600).filter(|n| n % 4 != 0).for_each(|n| fs::remove_file(on.join(n.to_string())).unwrap());
        succeeds("sync", &["-f", on.to_str().unwrap()]);
        bridge.unmount();
        bridge.end();
        let folder = server.stop();
        is_in_order(&image);
        let before = pages_with_data(&image);

        let server = serve(folder, "");
        let mut bridge = Bridge::new(&server);
        bridge.is_clean();
        bridge.mount(&on);
        let trimmed = succeeds("fstrim", &["-v", on.to_str().unwrap()]);
        bridge.unmount();
        bridge.is_clean();
        bridge.mount(&on);
        for n in (0..600).filter(|n| n % 4 == 0) {
            assert!(fs::read(on.join(n.to_string())).unwrap() == content(n), "{ftl}: file {n}");
        }
        let said = sqlite(&on.join("db"), "PRAGMA integrity_check; SELECT count(*), sum(i), sum(v LIKE '%x') FROM t;");
        assert_eq!(said, "ok\n5000|12502500|1666\n", "{ftl}");
        bridge.end();
        let folder = server.stop();
        is_in_order(&image);
        let after = pages_with_data(&image);
        // 450 files of 30 kB on average are some 3,400 pages.
        assert!(after + 3_000 < before, "{ftl}: {before} pages with data, then {after}; {trimmed}");
        drop(folder);
    }
}

/// Inserts rows, each a transaction of its own, and says of each that is committed.
const INSERTING: &str = r#"
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("PRAGMA journal_mode = WAL")
db.execute("PRAGMA synchronous = FULL")
db.execute("CREATE TABLE IF NOT EXISTS t (i INTEGER PRIMARY KEY, v BLOB)")
(i,) = db.execute("SELECT coalesce(max(i), 0) FROM t").fetchone()
while True:
    i += 1
    db.execute("INSERT INTO t VALUES (?, randomblob(3000))", (i,))
    print(i, flush=True)
    # So that there is room.
    db.execute("DELETE FROM t WHERE i = ?", (i - 1000,))
"#;

/// Whether the file of this number may have been removed by the time that there are so many: every second one but for
/// the last few, and all but for the last few hundred.
fn may_be_removed(n: u64, files: u64) -> bool {
    n + 40 <= files && n.is_multiple_of(2) || n + 400 <= files
}

/// Writes files until that fails; how many are on the drive since `fsync` has said so.
fn write_files(on: &Path, from: u64) -> u64 {
    for n in from.. {
        let path = on.join(format!("f{n}"));
        let written = File::create(path).and_then(|mut file| {
            file.write_all(&content(n))?;
            file.sync_all()
        });
        let full = written.as_ref().is_err_and(|error| error.kind() == ErrorKind::StorageFull);
        assert!(!full, "there is no room for file {n}, and the power has not failed yet");
        // So that there is room.
        let age = if n.is_multiple_of(2) { 40 } else { 400 };
        let room = n < age || fs::remove_file(on.join(format!("f{}", n - age))).is_ok();
        if written.is_err() || !room {
            return if written.is_err() { n } else { n + 1 };
        }
        assert!(n < from + 2_000, "the power is to fail before that");
    }
    unreachable!("the loop has no end")
}

/// Rows that were committed until the database could not go on.
fn insert_rows(database: &Path) -> u64 {
    let mut inserting = Command::new("timeout")
        .args([&PATIENCE.as_secs().to_string(), "/usr/bin/python3", "-c", INSERTING, database.to_str().unwrap()])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let lines = BufReader::new(inserting.stdout.take().unwrap()).lines().map_while(Result::ok);
    let last = lines.last().map_or(0, |line| line.parse().unwrap());
    inserting.wait().unwrap();
    last
}

#[test]
fn files_and_transactions_that_were_made_durable_before_the_plug_was_pulled_are_there() {
    if !can_mount() || !there(&["python3"]) {
        return;
    }
    // A battery hears of cuts, and of no kill.
    let all = [("geckoftl", true), ("dftl", false), ("page", true), ("lazyftl", true)];
    let ftls = if cycles("geckoftl") >= 100 { &all[..] } else { &all[..2] };
    for &(ftl, kills) in ftls {
        let folder = Folder::new(&format!("ext4-plug-{ftl}"));
        let image = made(&folder, ftl);
        let mut server = serve(folder, "");
        let mut bridge = Bridge::new(&server);
        succeeds("mkfs.ext4", &["-q", &bridge.device]);
        bridge.end();
        let mut random = Xoshiro256PlusPlus::seed_from_u64(23);
        let (mut files, mut rows) = (0, 0);
        let rounds = if cycles(ftl) >= 100 { 40 } else { 2 };
        for round in 0..rounds {
            let what = format!("{ftl}, round {round}");
            let killed = kills && round % 2 == 0;
            let folder = server.stop();
            let cut = format!("--cut-after {}:{round}", 600 + random.next_u64() % 5_000);
            server = serve(folder, if killed { "" } else { &cut });
            let on = server.folder.file("mnt");
            bridge = Bridge::new(&server);
            bridge.mount(&on);
            let (before, database) = (files, on.join("db"));
            scope(|scope| {
                let writing = scope.spawn(|| write_files(&on, before));
                let inserting = scope.spawn(|| insert_rows(&database));
                if killed {
                    sleep(Duration::from_millis(500 + random.next_u64() % 1_500));
                    server.signal("-KILL");
                }
                files = writing.join().unwrap();
                rows = rows.max(inserting.join().unwrap());
            });
            let (status, error, folder) = server.ended();
            assert_eq!(status.code(), if killed { None } else { Some(3) }, "{what}: {error}");
            bridge.undo();

            server = serve(folder, "");
            bridge = Bridge::new(&server);
            // Replays the journal, and mends what it never asks about; anything else is an error.
            let mended = client("e2fsck", &["-f", "-p", &bridge.device]);
            let said = String::from_utf8_lossy(&mended.stdout).into_owned();
            assert!(mended.status.code().is_some_and(|code| code <= 1), "{what}: {said}");
            bridge.mount(&on);
            for n in 0..files {
                // Those that were removed may be there or not, for that was not made durable.
                match fs::read(on.join(format!("f{n}"))) {
                    Ok(found) => assert!(found == content(n), "{what}: file {n} of {files}"),
                    Err(error) => assert!(may_be_removed(n, files), "{what}: file {n} of {files}: {error}"),
                }
            }
            let said = sqlite(&database, "PRAGMA integrity_check; SELECT count(*), max(i) FROM t;");
            let found: u64 = said.trim().rsplit('|').next().unwrap().parse().unwrap();
            assert!(said.starts_with("ok\n"), "{what}: {said}");
            // One may have been committed of which nothing was said any more.
            assert!((rows..=rows + 1).contains(&found), "{what}: {found} rows, {rows} were said to be there");
            rows = found;
            // A file that was in progress is made anew.
            let _ = fs::remove_file(on.join(format!("f{files}")));
            bridge.unmount();
            bridge.is_clean();
            bridge.end();
        }
        let folder = server.stop();
        is_in_order(&image);
        assert!(files > 0 && rows > 0, "{ftl}: {files} files, {rows} rows");
        println!("{ftl}: {files} files and {rows} transactions were made durable");
        drop(folder);
    }
}
