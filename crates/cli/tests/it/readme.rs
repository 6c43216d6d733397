//! The README's commands print what it shows, to the character, but for times of the machine.

use crate::common::{prints, words};
use crate::nbd::{Folder, Server, there};
use std::path::Path;
use std::process::Command;

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// Commands that the README shows with what they print.
fn shown() -> Vec<(String, String)> {
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    let blocks = readme.split("```\n$ ").skip(1).map(|block| block.split_once("```").unwrap().0);
    blocks.map(|block| block.split_once('\n').unwrap()).map(|(line, text)| (line.into(), text.into())).collect()
}

/// A table without its last column, which holds seconds of the machine that printed it.
fn without_times(text: &str) -> String {
    let is_timed = text.contains(" time s ");
    let line = |line: &str| match line.rfind(['┬', '┆', '╪', '┴']) {
        Some(end) if is_timed => line[..end].to_string(),
        _ => line.to_string(),
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// The arguments that `make TARGET` gives to the command.
fn of_make(target: &str) -> String {
    let out = Command::new("make").args(["--no-print-directory", "-n", target]).current_dir(root()).output().unwrap();
    let text = String::from_utf8(out.stdout).unwrap();
    let (_, line) = text.rsplit_once(" -- ").unwrap_or_else(|| panic!("{text}"));
    line.trim().replace("traces/", &format!("{}/traces/", root().display()))
}

#[test]
fn its_commands_print_what_it_shows() {
    let shown = shown();
    assert!(shown.len() >= 2, "{shown:?}");
    for (line, text) in shown {
        let args = match line.strip_prefix("make ") {
            Some(target) => of_make(target),
            None => line.strip_prefix("phelsuma ").unwrap().to_string(),
        };
        assert_eq!(without_times(&prints(&args)), without_times(&text), "{line}");
    }
}

/// The drive that it serves is made, served, cut and checked, in a folder of the test's own.
#[test]
fn its_drive_is_served_cut_and_checked() {
    if !there(&["nbdkit"]) {
        return;
    }
    let folder = Folder::new("readme");
    let place = |word: String| match word.as_str() {
        "drive.img" | "/tmp/s" | "/tmp/c" => folder.file(word.rsplit('/').next().unwrap()).display().to_string(),
        _ => word,
    };
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    let of = |command: &str| {
        let mut lines = readme.lines().filter_map(|line| line.strip_prefix("phelsuma ")?.split('#').next());
        let line = lines.find(|line| line.starts_with(command)).unwrap_or_else(|| panic!("{command}"));
        line.split_whitespace().map(|word| place(word.to_string())).collect::<Vec<_>>().join(" ")
    };
    let [create, serve, plug, check] = ["create", "serve", "plug", "check"].map(of);
    prints(&create);
    let server = Server::with(folder, serve.strip_prefix("serve ").unwrap());
    prints(&plug);
    let (status, error, folder) = server.ended();
    assert_eq!(status.code(), Some(3), "{error}");
    assert!(prints(&check).contains("nothing is wrong"));
    drop(folder);
}

/// Of those that serve: that there are such commands and options.
#[test]
fn its_other_commands_are_there() {
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    let lines = readme.lines().filter_map(|line| line.strip_prefix("phelsuma "));
    let mut tried = 0;
    for line in lines {
        let words = words(line.split('#').next().unwrap());
        let help = prints(&format!("{} --help", words[0]));
        for option in words.iter().filter(|word| word.starts_with("--")) {
            assert!(help.contains(option), "{} has no {option}", words[0]);
            tried += 1;
        }
    }
    assert!(tried >= 4, "{tried}");
}
