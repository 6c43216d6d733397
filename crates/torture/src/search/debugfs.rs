//! Whose the blocks of an ext4 are, as `debugfs` says of its image.

use crate::command::Job;
use crate::error::Outcome;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// It reads lines of 8 KiB.
const LINE_BYTES_MAX: usize = 8000;
/// On a damaged image it may take very long.
const TIME_MAX: Duration = Duration::from_secs(60);
/// Inode of the journal.
const JOURNAL: u64 = 8;
/// Inode of the root directory.
const ROOT: u64 = 2;

/// What a block belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) name: String,
    /// Where in the file the block begins, in bytes.
    pub(super) file_offset: Option<u64>,
}

/// Where consecutive blocks of a file are.
struct BlocksOfFile {
    /// First block in the file.
    logical: u64,
    /// On the drive.
    physical: RangeInclusive<u64>,
}

/// An image to ask about.
pub(super) struct Ext4<'a> {
    image: &'a Path,
    stop: &'a AtomicBool,
    pub(super) block_bytes: u64,
    /// Where what belongs to no file is.
    metadata: Vec<(RangeInclusive<u64>, &'static str)>,
}

impl<'a> Ext4<'a> {
    /// None: `debugfs` cannot say anything.
    pub(super) fn new(image: &'a Path, stop: &'a AtomicBool) -> Outcome<Option<Self>> {
        let mut ext4 = Self { image, stop, block_bytes: 0, metadata: Vec::new() };
        let said = ext4.ask(&["stats".to_string()])?;
        let Some(text) = said.first() else { return Ok(None) };
        let line = text.lines().find_map(|line| line.strip_prefix("Block size:"));
        let Some(Ok(block_bytes @ 1..)) = line.map(|bytes| bytes.trim().parse()) else { return Ok(None) };
        (ext4.block_bytes, ext4.metadata) = (block_bytes, metadata(text));
        Ok(Some(ext4))
    }

    /// What these blocks belong to, as far as it is known.
    pub(super) fn places(&self, blocks: &BTreeSet<u64>) -> Outcome<BTreeMap<u64, Place>> {
        let mut inode_of: BTreeMap<u64, u64> = BTreeMap::new();
        for text in self.ask(&in_portions("icheck", blocks))? {
            for line in text.lines() {
                let mut words = line.split_whitespace();
                if let (Some(Ok(block)), Some(Ok(inode))) = (words.next().map(str::parse), words.next().map(str::parse))
                {
                    inode_of.insert(block, inode);
                }
            }
        }
        let inodes: BTreeSet<u64> = inode_of.values().copied().collect();
        let mut path_of: BTreeMap<u64, String> = BTreeMap::new();
        for text in self.ask(&in_portions("ncheck", &inodes))? {
            for (inode, path) in text.lines().filter_map(|line| line.split_once('\t')) {
                if let Ok(inode) = inode.trim().parse() {
                    path_of.entry(inode).or_insert_with(|| path.trim().replacen("//", "/", 1));
                }
            }
        }
        let stats: Vec<String> = inodes.iter().map(|inode| format!("stat <{inode}>")).collect();
        let shape_of: BTreeMap<u64, _> =
            inodes.iter().copied().zip(self.ask(&stats)?.iter().map(|text| shape(text))).collect();
        let place = |block: u64| {
            let Some(inode) = inode_of.get(&block) else {
                let (_, name) = self.metadata.iter().find(|(blocks, _)| blocks.contains(&block))?;
                return Some(Place { name: (*name).to_string(), file_offset: None });
            };
            let (is_folder, extents) = shape_of.get(inode)?;
            let name = match (*inode, path_of.get(inode)) {
                (JOURNAL, _) => "journal".to_string(),
                (_, Some(path)) if *is_folder => format!("directory {path}"),
                (ROOT, None) => "directory /".to_string(),
                (_, Some(path)) => format!("file {path}"),
                (inode, None) => format!("a file without a name, inode {inode}"),
            };
            let extent = extents.iter().find(|extent| extent.physical.contains(&block));
            let offset = extent.map(|extent| (extent.logical + block - extent.physical.start()) * self.block_bytes);
            let is_file = *inode != JOURNAL && *inode != ROOT && !is_folder;
            Some(Place { name, file_offset: offset.filter(|_| is_file) })
        };
        Ok(blocks.iter().filter_map(|block| Some((*block, place(*block)?))).collect())
    }

    /// What one `debugfs` says to each of these requests. It is killed when this process is to stop.
    fn ask(&self, requests: &[String]) -> Outcome<Vec<String>> {
        if requests.is_empty() {
            return Ok(Vec::new());
        }
        let beside = |name: &str| -> PathBuf { self.image.with_file_name(name) };
        let (asked, answers) = (beside("asked"), beside("answers"));
        if fs::write(&asked, requests.join("\n") + "\n").is_err() {
            return Ok(Vec::new());
        }
        let job = Job {
            command: "exec debugfs -f \"$ASKED\" \"$IMAGE\" >\"$ANSWERS\" 2>/dev/null",
            environment: &[
                ("ASKED", asked.clone().into()),
                ("ANSWERS", answers.clone().into()),
                ("IMAGE", self.image.into()),
            ],
            timeout: Some(TIME_MAX),
            inherited: None,
        };
        job.run(self.stop)?;
        let text = fs::read(&answers).unwrap_or_default();
        let (_, _) = (fs::remove_file(asked), fs::remove_file(answers));
        Ok(answers_of(requests, &String::from_utf8_lossy(&text)))
    }
}

/// Requests of `debugfs` about these numbers, each as long as a line may be.
fn in_portions(request: &str, numbers: &BTreeSet<u64>) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for number in numbers {
        let number = format!(" {number}");
        match lines.last_mut() {
            Some(line) if line.len() + number.len() <= LINE_BYTES_MAX => *line += &number,
            _ => lines.push(request.to_string() + &number),
        }
    }
    lines
}

/// Each answer stands below its request.
fn answers_of(requests: &[String], text: &str) -> Vec<String> {
    let (mut answers, mut requests): (Vec<String>, _) = (Vec::new(), requests.iter().peekable());
    for line in text.lines() {
        let asked = line.strip_prefix("debugfs: ");
        if asked.is_some() && asked == requests.peek().map(|request| request.as_str()) {
            requests.next();
            answers.push(String::new());
        } else if let Some(answer) = answers.last_mut() {
            *answer += line;
            answer.push('\n');
        }
    }
    answers
}

/// Whether an inode is a folder; and where its blocks are.
fn shape(text: &str) -> (bool, Vec<BlocksOfFile>) {
    let is_folder = text.contains("Type: directory");
    let list = text.split_once("EXTENTS:").map_or("", |(_, list)| list);
    let number = |text: &str| text.trim_end_matches("[u]").trim().parse::<u64>().ok();
    let of_item = |item: &str| {
        let (logical, physical) = item.trim().strip_prefix('(')?.split_once("):")?;
        let (first, last) = physical.split_once('-').unwrap_or((physical, physical));
        let logical = number(logical.split('-').next()?)?;
        Some(BlocksOfFile { logical, physical: number(first)?..=number(last)? })
    };
    (is_folder, list.split([',', '\n']).filter_map(of_item).collect())
}

/// Where what belongs to no file is.
fn metadata(text: &str) -> Vec<(RangeInclusive<u64>, &'static str)> {
    let number = |text: &str| text.trim().parse().ok();
    let table = text.lines().find_map(|line| line.strip_prefix("Inode blocks per group:"));
    let table_blocks: u64 = table.and_then(number).unwrap_or(1);
    let mut found = Vec::new();
    for line in text.lines().filter(|line| line.trim_start().starts_with("Group")) {
        for (word, name, count) in [
            ("block bitmap at ", "block bitmap", 1),
            ("inode bitmap at ", "inode bitmap", 1),
            ("inode table at ", "inode table", table_blocks),
        ] {
            let digits = line.split_once(word).map(|(_, rest)| rest.split(|c: char| !c.is_ascii_digit()).next());
            if let Some(first) = digits.flatten().and_then(number) {
                found.push((first..=first + count.max(1) - 1, name));
            }
        }
    }
    if !found.is_empty() {
        found.push((1..=1, "group descriptors"));
    }
    found.push((0..=0, "superblock"));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_numbers_are_asked_in_portions() {
        let numbers: BTreeSet<u64> = (1_000_000..1_010_000).collect();
        let lines = in_portions("icheck", &numbers);
        assert!(lines.len() == 11 && lines.iter().all(|line| line.len() <= LINE_BYTES_MAX));
        let all = lines.iter().flat_map(|line| line.split(' ').skip(1)).map(|word| word.parse::<u64>().unwrap());
        assert_eq!(all.collect::<BTreeSet<u64>>(), numbers);
    }

    #[test]
    fn answers_stand_below_requests() {
        let requests = ["stat <1>".to_string(), "stat <2>".to_string()];
        let text = "debugfs: stat <1>\na\nb\ndebugfs: stat <2>\ndebugfs: c\n";
        assert_eq!(answers_of(&requests, text), ["a\nb\n", "debugfs: c\n"]);
    }

    #[test]
    fn extents_are_read() {
        let (is_folder, extents) =
            shape("Inode: 12   Type: regular\nEXTENTS:\n(ETB0):9, (0-3):5-8, (7):20, (8-9[u]):30-31\n");
        let extents: Vec<_> = extents.into_iter().map(|extent| (extent.logical, extent.physical)).collect();
        assert_eq!((is_folder, extents), (false, vec![(0, 5..=8), (7, 20..=20), (8, 30..=31)]));
    }
}
