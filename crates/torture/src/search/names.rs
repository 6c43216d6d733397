//! Which file a place on the drive belongs to: as `debugfs` says of an ext4, or `xfs_db` of an XFS.
//!
//! It looks at the drive as it was at the cut, with its journal repeated, and at the drive after the unmounting.

use crate::config::Config;
use crate::error::Outcome;
use crate::filesystem::Filesystem;
use crate::model::{Cursor, Event, Lost, Run, State};
use crate::view::View;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Command, Stdio};

/// What is at a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    name: String,
    /// Where in the file.
    pub(crate) file_offset: Option<u64>,
}

impl Place {
    /// In words.
    pub(crate) fn text(&self) -> String {
        self.name.clone()
    }
}

/// Places of requests, by number.
#[derive(Debug, Default)]
pub(crate) struct Names {
    places: BTreeMap<u32, Place>,
}

impl Names {
    /// Of these requests.
    pub(crate) fn new(
        view: &View<'_>,
        cursor: &mut Cursor<'_>,
        run: &Run,
        filesystem: Filesystem,
        cut: u32,
        requests: impl Iterator<Item = u32>,
    ) -> Outcome<Self> {
        let mut wanted: BTreeMap<u32, u64> =
            requests.filter_map(|number| Some((number, run.event(number).and_then(Event::range)?.0))).collect();
        let mut names = Self::default();
        if wanted.is_empty() || filesystem != Filesystem::Ext4 {
            return Ok(names);
        }
        let mut of_metadata = BTreeMap::new();
        for (cut, is_unmounted) in [(cut, false), (run.events.len() as u32, true)] {
            if wanted.is_empty() {
                break;
            }
            cursor.set(&State { cut, lost: Lost::new() });
            view.put(cursor)?;
            if !is_unmounted && !view.replay_journal()? {
                continue;
            }
            let offsets: BTreeSet<u64> = wanted.values().copied().collect();
            let found = ext4(view.image(), &offsets).unwrap_or_default();
            wanted.retain(|number, offset| match found.get(offset) {
                Some(place) if place.file_offset.is_some() => {
                    names.places.insert(*number, place.clone());
                    false
                }
                Some(place) => {
                    of_metadata.entry(*number).or_insert_with(|| place.clone());
                    true
                }
                None => true,
            });
        }
        for (number, place) in of_metadata {
            names.places.entry(number).or_insert(place);
        }
        Ok(names)
    }

    /// Where a request went.
    pub(crate) fn of(&self, number: u32) -> Option<&Place> {
        self.places.get(&number)
    }
}

/// A cursor of its own: that of a worker stays where it is.
pub(crate) fn of_state(view: &View<'_>, run: &Run, config: &Config, state: &State) -> Outcome<Names> {
    let mut cursor = Cursor::new(run, config.policy);
    let next = run.requests(state.cut, run.end as u32).next();
    let pending = run.requests(config.policy.durable(run, state.cut), state.cut).chain(next);
    Names::new(view, &mut cursor, run, config.format.filesystem, state.cut, pending)
}

/// First block in the file, first block on the drive, how many.
type Extent = (u64, u64, u64);

/// Inode of the journal.
const JOURNAL: u64 = 8;

fn ext4(image: &Path, offsets: &BTreeSet<u64>) -> Option<BTreeMap<u64, Place>> {
    let head = debugfs(image, "stats -h")?;
    let block_bytes: u64 = head.lines().find_map(|line| line.strip_prefix("Block size:"))?.trim().parse().ok()?;
    let blocks: BTreeSet<u64> = offsets.iter().map(|offset| offset / block_bytes).collect();
    let list = |numbers: &BTreeSet<u64>| numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(" ");
    let mut inode_of: BTreeMap<u64, u64> = BTreeMap::new();
    for line in debugfs(image, &format!("icheck {}", list(&blocks)))?.lines() {
        let mut words = line.split_whitespace();
        if let (Some(Ok(block)), Some(Ok(inode))) = (words.next().map(str::parse), words.next().map(str::parse)) {
            inode_of.insert(block, inode);
        }
    }
    let inodes: BTreeSet<u64> = inode_of.values().copied().collect();
    let mut path_of: BTreeMap<u64, String> = BTreeMap::new();
    if !inodes.is_empty() {
        for line in debugfs(image, &format!("ncheck {}", list(&inodes)))?.lines() {
            if let Some((inode, path)) = line.split_once('\t')
                && let Ok(inode) = inode.trim().parse()
            {
                path_of.entry(inode).or_insert_with(|| path.trim().replacen("//", "/", 1));
            }
        }
    }
    let mut shape_of: BTreeMap<u64, (bool, Vec<Extent>)> = BTreeMap::new();
    for inode in &inodes {
        shape_of.insert(*inode, shape(&debugfs(image, &format!("stat <{inode}>"))?));
    }
    let metadata = metadata(&debugfs(image, "stats")?);
    let place = |offset: u64| {
        let block = offset / block_bytes;
        let Some(inode) = inode_of.get(&block) else {
            let found = metadata.iter().find(|(first, count, _)| (*first..first + count).contains(&block));
            let name = match found {
                Some((.., name)) => *name,
                None if block == 0 => "superblock",
                None => return None,
            };
            return Some(Place { name: name.to_string(), file_offset: None });
        };
        let (is_folder, extents) = shape_of.get(inode)?;
        let name = match (*inode, path_of.get(inode)) {
            (JOURNAL, _) => return Some(Place { name: "journal".to_string(), file_offset: None }),
            (_, Some(path)) if *is_folder => {
                return Some(Place { name: format!("directory {path}"), file_offset: None });
            }
            (2, None) => return Some(Place { name: "directory /".to_string(), file_offset: None }),
            (_, Some(path)) => format!("file {path}"),
            (inode, None) => format!("a file without a name, inode {inode}"),
        };
        let extent = extents.iter().find(|(_, first, count)| (*first..first + count).contains(&block));
        let file_offset =
            extent.map(|(logical, first, _)| (logical + block - first) * block_bytes + offset % block_bytes);
        Some(Place { name, file_offset })
    };
    Some(offsets.iter().filter_map(|offset| Some((*offset, place(*offset)?))).collect())
}

/// Whether an inode is a folder; and its extents.
fn shape(text: &str) -> (bool, Vec<Extent>) {
    let is_folder = text.contains("Type: directory");
    let mut extents = Vec::new();
    let list = text.split_once("EXTENTS:").map_or("", |(_, list)| list);
    for item in list.split([',', '\n']) {
        let Some((logical, physical)) = item.trim().strip_prefix('(').and_then(|item| item.split_once("):")) else {
            continue;
        };
        let first =
            |text: &str| text.split('-').next().and_then(|n| n.trim_end_matches("[u]").trim().parse::<u64>().ok());
        let last = physical.split('-').next_back().and_then(|n| n.trim_end_matches("[u]").trim().parse::<u64>().ok());
        if let (Some(logical), Some(from), Some(to)) = (first(logical), first(physical), last) {
            extents.push((logical, from, (to + 1).saturating_sub(from)));
        }
    }
    (is_folder, extents)
}

/// Where what belongs to no file is: first block, how many, what.
fn metadata(text: &str) -> Vec<(u64, u64, &'static str)> {
    let table_blocks = text
        .lines()
        .find_map(|line| line.strip_prefix("Inode blocks per group:"))
        .and_then(|n| n.trim().parse().ok())
        .unwrap_or(1);
    let mut found = Vec::new();
    for line in text.lines().filter(|line| line.trim_start().starts_with("Group")) {
        for (word, name, count) in [
            ("block bitmap at ", "block bitmap", 1),
            ("inode bitmap at ", "inode bitmap", 1),
            ("inode table at ", "inode table", table_blocks),
        ] {
            let number = line
                .split_once(word)
                .map(|(_, rest)| rest.chars().take_while(char::is_ascii_digit).collect::<String>());
            if let Some(Ok(first)) = number.map(|text| text.parse()) {
                found.push((first, count, name));
            }
        }
    }
    if !found.is_empty() {
        found.push((1, 1, "group descriptors"));
    }
    found
}

fn debugfs(image: &Path, request: &str) -> Option<String> {
    let mut command = Command::new("debugfs");
    command.args(["-R", request]).arg(image).stdin(Stdio::null()).stderr(Stdio::null());
    Some(String::from_utf8_lossy(&command.output().ok()?.stdout).into_owned())
}
