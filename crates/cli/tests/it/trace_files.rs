//! Traces that come out of pipes, and several files as one.

use crate::common::{file, prints};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// What is converted from a pipe with a name, which can be read once.
fn converted(name: &str, trace: &'static [u8], out: &str) -> Output {
    let pipe = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_file(&pipe);
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let to = pipe.clone();
    let writer = std::thread::spawn(move || std::fs::write(to, trace));
    let mut command = Command::new(env!("CARGO_BIN_EXE_phelsuma"));
    command.args(["trace", "convert"]).arg(&pipe).args([out, "--to", "csv"]).stdin(Stdio::null());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let begun = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if begun.elapsed() > Duration::from_secs(60) {
            child.kill().unwrap();
            panic!("{name} is read a second time");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    writer.join().unwrap().unwrap();
    child.wait_with_output().unwrap()
}

#[test]
fn a_pipe_is_read_once() {
    let trace = b"time_us,device,op,offset_bytes,size_bytes\n5,0,write,0,4096\n7,0,read,0,512\n";
    let out = converted("forward.fifo", trace, "-");
    let written = "time_us,device,op,offset_bytes,size_bytes\n0,0,write,0,4096\n2,0,read,0,512\n";
    assert_eq!(String::from_utf8(out.stdout).unwrap(), written);
    let back = b"time_us,device,op,offset_bytes,size_bytes\n5,0,write,0,4096\n2,0,read,0,512\n";
    let file = file("back.csv", b"");
    for to in ["-", file.to_str().unwrap()] {
        let error = String::from_utf8(converted("back.fifo", back, to).stderr).unwrap();
        assert!(error.contains("a file, which is read twice, or --sort would be right"), "{error}");
    }
}

#[test]
fn what_was_read_of_several_files_has_each_format_once() {
    let msr = file("several_0.csv", b"128166372003061629,hm,0,Write,7014912,4096,26\n");
    let again = file("several_1.csv", b"128166372003061629,hm,1,Write,7014912,4096,26\n");
    let own = file("several.csv", b"time_us,device,op,offset_bytes,size_bytes\n5,0,write,0,4096\n");
    let [msr, again, own] = [&msr, &again, &own].map(|path| path.display());
    let said = prints(&format!("trace info {msr} {again} {own}"));
    let read = format!(
        "read: 3 files, {msr} and 1 more: msr (guessed), times in 100ns, {own}: csv (guessed), times in us, 3 requests, \
         2 devices, devices that several files share: 1, "
    );
    assert!(said.contains(&read), "{said}");
    assert!(said.contains("their times have different beginnings"), "{said}");
}
