//! A key-value store as RocksDB lays it out: a write-ahead log, and sorted files in levels.
//!
//! ```text
//!  first page                                                       last page
//!  | log: a ring of 4 files | files, each of one level, anywhere              |
//!
//!  puts -> log (handle 1)
//!       -> memory, full -> a file of level 0 (handle 2)
//!                          4 of them -> level 1 (handle 3) -> level 2 (handle 4) ...
//! ```
//!
//! - **Puts** are uniform over the keys. They go to the log, and to memory. Memory that is full becomes a file of level 0.
//! - **Levels**: the last one has a share of the drive, and each above it a tenth of the next, down to four files. Level 0
//!   is due when it has four files, another level when it has more than its size. The one furthest over it comes first.
//! - **A compaction** merges all of level 0 with all of level 1. Of a deeper level it merges one file, in turn, with those of
//!   the next level whose keys overlap. It writes new files, then deletes the old ones, which are trimmed. If no keys
//!   overlap, the file changes its level and is not written.
//! - The last level has every key already: what is merged into it makes it no larger.
//!
//! Log, flush and compaction write at the same time, with equal shares of the drive. Puts wait where two memories are full,
//! level 0 has 20 files, or another level twice its size.
//!
//! A file has 64 MiB, as `target_file_size_base` of RocksDB. On a small drive it is a 1,024th of the drive. Four files,
//! tenths, and 20 files are RocksDB's defaults. The store begins with its last level full and nothing above. Files
//! take the space that was free for longest.
//!
//! Simplified: all files have equal size, keys of a file are evenly spread, and nothing is read.

use std::collections::VecDeque;
use std::fmt;

use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::address::below;
use super::permutation::Permutation;
use crate::TraceError;
use crate::request::{Op, PageRequest, Source};

/// The size of a file, where the drive is large.
const FILE_BYTES: u64 = 64 << 20;
/// The least files of a drive, and the most.
const FILES_MIN: u64 = 1 << 10;
const FILES_MAX: u64 = 1 << 20;
/// The largest write of a file, and a write of the log.
const TRANSFER_BYTES: u64 = 256 << 10;
const LOG_BYTES: u64 = 16 << 10;
/// The log is a ring of so many files.
const LOG_FILES: u64 = 4;
/// Files of level 0 that are merged, and with which puts wait.
const LEVEL0_MERGED: usize = 4;
const LEVEL0_MAX: usize = 20;
/// Full memories with which puts wait.
const MEMORIES_MAX: u64 = 2;
/// How much larger each level is than the one above.
const MULTIPLIER: u64 = 10;
/// The smallest level below level 0 has at least so many files.
const BASE_FILES: u64 = 4;
/// With so many times its size of a level, puts wait.
const OVER_MAX: u64 = 2;
/// Space beside the other levels: for files of level 0, and for outputs while those are there.
const ROOM_FILES: u64 = 2 * LEVEL0_MAX as u64;

/// The handle of the log; that of level L is L more than `LEVEL0`.
const LOG: u8 = 1;
const LEVEL0: u8 = 2;

/// Keys are fractions of this.
const KEYS: u64 = 1 << 32;

/// A log-structured merge tree; endless.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Lsm {
    /// Percent of the drive that the last level has; 1 to 75.
    pub full_percent: f64,
    /// Whether deleted files are trimmed.
    pub trim: bool,
}

impl Default for Lsm {
    fn default() -> Self {
        Lsm { full_percent: 70.0, trim: true }
    }
}

impl Lsm {
    /// The most that the last level may have, in percent of the drive.
    pub(super) const FULL_MAX: f64 = 75.0;

    /// Its requests to a drive, or why it has no room there.
    pub(super) fn source(
        &self,
        logical_pages: u64,
        page_bytes: u32,
        seed: u64,
    ) -> Result<Box<dyn Source + Send>, String> {
        let page_bytes = u64::from(page_bytes.max(1));
        let usual_pages = (FILE_BYTES / page_bytes).min(logical_pages / FILES_MIN);
        let file_pages = usual_pages.max(logical_pages.div_ceil(FILES_MAX)).clamp(1, u64::from(u32::MAX));
        let slots = (logical_pages / file_pages).saturating_sub(LOG_FILES);
        let last = ((logical_pages / file_pages) as f64 * (self.full_percent / 100.0)) as u64;
        let mut sizes = vec![last];
        while let Some(size) = sizes.last().map(|size| size / MULTIPLIER).filter(|size| *size >= BASE_FILES) {
            sizes.push(size);
        }
        // A merge of level 0 writes the level below anew.
        let base = sizes.last().copied().unwrap_or_default();
        let room = OVER_MAX * (sizes.iter().skip(1).sum::<u64>() + base) + ROOM_FILES;
        if last < BASE_FILES || last + room > slots {
            return Err(format!(
                "{last} files of {file_pages} pages in the last level need {} in all, and {logical_pages} pages have room for {slots}",
                last + room
            ));
        }
        sizes.reverse();
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let place = Permutation::new(slots, seed);
        let mut free: VecDeque<u64> = (0..slots).map(|slot| place.at(slot)).collect();
        let mut levels = vec![Vec::new(); sizes.len()];
        let filled = (0..last).filter_map(|n| {
            let keys = |n: u64| n * KEYS / last;
            free.pop_front().map(|slot| Table { begin: keys(n), end: keys(n + 1), slot })
        });
        if let Some(deepest) = levels.last_mut() {
            *deepest = filled.collect();
        }
        let pages_of = |bytes: u64| (bytes / page_bytes).clamp(1, file_pages);
        Ok(Box::new(Store {
            file_pages,
            log_pages: pages_of(LOG_BYTES),
            transfer_pages: pages_of(TRANSFER_BYTES),
            trim: self.trim,
            cursors: sizes.iter().map(|_| below(KEYS, &mut random)).collect(),
            sizes,
            levels,
            level0: Vec::new(),
            free,
            log: Log { at: 0, in_memory: 0, full_memories: 0, served: 0 },
            flush: None,
            compaction: None,
            requests: VecDeque::new(),
        }))
    }
}

impl fmt::Display for Lsm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut options = Vec::new();
        if self.full_percent != Lsm::default().full_percent {
            options.push(format!("full={}", self.full_percent));
        }
        if !self.trim {
            options.push("no-trim".to_owned());
        }
        match options.is_empty() {
            true => f.write_str("lsm"),
            false => write!(f, "lsm:{}", options.join(",")),
        }
    }
}

/// A sorted file: the keys that it spans, and its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Table {
    begin: u64,
    end: u64,
    slot: u64,
}

/// The write-ahead log.
#[derive(Debug)]
struct Log {
    /// The next page of the ring.
    at: u64,
    /// Pages of puts in the memory that is being filled.
    in_memory: u64,
    /// Memories that wait to be written.
    full_memories: u64,
    /// Pages written, less what others wrote while it waited.
    served: u64,
}

/// Files that are being written.
#[derive(Debug)]
struct Job {
    /// The files' level, 0 or from 1 on.
    level: usize,
    outputs: Vec<Table>,
    /// The files that are deleted afterwards, with their levels.
    inputs: Vec<(usize, Table)>,
    /// The pages of the outputs that are written.
    written: u64,
    served: u64,
}

#[derive(Debug)]
struct Store {
    file_pages: u64,
    log_pages: u64,
    transfer_pages: u64,
    trim: bool,
    /// Levels from 1 on: how many files each has at the most, its files by key, and which key is merged next.
    sizes: Vec<u64>,
    levels: Vec<Vec<Table>>,
    cursors: Vec<u64>,
    /// The oldest first.
    level0: Vec<Table>,
    free: VecDeque<u64>,
    log: Log,
    flush: Option<Job>,
    compaction: Option<Job>,
    /// Trims that are to be handed out.
    requests: VecDeque<PageRequest>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Writer {
    Log,
    Flush,
    Compaction,
}

impl Store {
    fn request(op: Op, first: u64, pages: u64, handle: u8) -> PageRequest {
        // At most a file of 2^32 - 1 pages.
        let pages = pages as u32;
        PageRequest { at_ns: 0, op, first, pages, partial_first: false, partial_last: false, handle }
    }

    fn page_of(&self, slot: u64) -> u64 {
        (LOG_FILES + slot) * self.file_pages
    }

    fn handle_of(level: usize) -> u8 {
        LEVEL0.saturating_add(u8::try_from(level).unwrap_or(u8::MAX))
    }

    fn puts_wait(&self) -> bool {
        let is_over = |(tables, size): (&Vec<Table>, &u64)| tables.len() as u64 > OVER_MAX * size;
        self.log.full_memories >= MEMORIES_MAX
            || self.level0.len() >= LEVEL0_MAX
            || self.levels.iter().zip(&self.sizes).any(is_over)
    }

    /// Those that may write now, each with the pages that it has written.
    fn writers(&self) -> impl Iterator<Item = (Writer, u64)> {
        let log = (!self.puts_wait()).then_some((Writer::Log, self.log.served));
        let of = |job: &Option<Job>, writer| job.as_ref().map(|job| (writer, job.served));
        [log, of(&self.flush, Writer::Flush), of(&self.compaction, Writer::Compaction)].into_iter().flatten()
    }

    /// Begins what is due.
    fn begin(&mut self) {
        let least = self.writers().map(|(_, served)| served).min();
        if self.flush.is_none()
            && self.log.full_memories > 0
            && let Some(slot) = self.free.pop_front()
        {
            let served = least.unwrap_or(self.log.served);
            let outputs = vec![Table { begin: 0, end: KEYS, slot }];
            self.flush = Some(Job { level: 0, outputs, inputs: Vec::new(), written: 0, served });
        }
        if self.compaction.is_none() {
            self.compaction = self.due().map(|job| Job { served: least.unwrap_or(self.log.served), ..job });
        }
    }

    /// The next compaction, if one is due and there is room for it.
    fn due(&mut self) -> Option<Job> {
        loop {
            let level0 = self.level0.len() as u64 * 1000 / LEVEL0_MERGED as u64;
            let score = |(tables, size): (&Vec<Table>, &u64)| tables.len() as u64 * 1000 / (*size).max(1);
            let upper = self.levels.iter().zip(&self.sizes).map(score).enumerate();
            let upper = upper.take(self.levels.len().saturating_sub(1)).max_by_key(|(_, score)| *score);
            match upper.filter(|(_, score)| *score > 1000 && *score > level0) {
                None if level0 >= 1000 => return self.merge_level0(),
                None => return None,
                Some((upper, _)) => {
                    let (picked, overlap) = self.pick(upper)?;
                    if !overlap.is_empty() {
                        return self.merge_one(upper, picked, &overlap);
                    }
                    self.levels.get_mut(upper)?.retain(|table| table.slot != picked.slot);
                    let lower = self.levels.get_mut(upper + 1)?;
                    lower.push(picked);
                    lower.sort_by_key(|table| table.begin);
                }
            }
        }
    }

    fn merge_level0(&mut self) -> Option<Job> {
        let below = self.levels.first()?;
        let of_level = |level: usize| move |table: &Table| (level, *table);
        let inputs: Vec<(usize, Table)> =
            self.level0.iter().map(of_level(0)).chain(below.iter().map(of_level(1))).collect();
        let grows = if self.levels.len() == 1 { 0 } else { self.level0.len() };
        self.merge(1, inputs, (0, KEYS), below.len() + grows)
    }

    /// The next file of a level, of index `upper`, and those below it whose keys overlap.
    fn pick(&mut self, upper: usize) -> Option<(Table, Vec<Table>)> {
        let cursor = self.cursors.get_mut(upper)?;
        let tables = self.levels.get(upper)?;
        let picked = *tables.iter().find(|table| table.begin >= *cursor).or(tables.first())?;
        *cursor = picked.end;
        let overlaps = |table: &&Table| table.begin < picked.end && table.end > picked.begin;
        Some((picked, self.levels.get(upper + 1)?.iter().filter(overlaps).copied().collect()))
    }

    fn merge_one(&mut self, upper: usize, picked: Table, overlap: &[Table]) -> Option<Job> {
        let keys = overlap
            .iter()
            .fold((picked.begin, picked.end), |(begin, end), table| (begin.min(table.begin), end.max(table.end)));
        let is_last = upper + 2 == self.levels.len();
        let below = overlap.iter().map(|table| (upper + 2, *table));
        let inputs = std::iter::once((upper + 1, picked)).chain(below).collect();
        self.merge(upper + 2, inputs, keys, overlap.len() + usize::from(!is_last))
    }

    /// These files become so many of a level, if there is room.
    fn merge(
        &mut self,
        level: usize,
        inputs: Vec<(usize, Table)>,
        (begin, end): (u64, u64),
        count: usize,
    ) -> Option<Job> {
        if self.free.len() <= count {
            return None;
        }
        let keys = |n: usize| begin + (end - begin) * n as u64 / count.max(1) as u64;
        let slots = self.free.drain(..count);
        let outputs = slots.enumerate().map(|(n, slot)| Table { begin: keys(n), end: keys(n + 1), slot }).collect();
        Some(Job { level, outputs, inputs, written: 0, served: 0 })
    }

    /// The files are there: they are of their level from now on, and those that they stand for are deleted.
    fn finish(&mut self, job: Job) {
        for (level, table) in job.inputs {
            let tables = if level == 0 { Some(&mut self.level0) } else { self.levels.get_mut(level - 1) };
            if let Some(tables) = tables {
                tables.retain(|other| other.slot != table.slot);
            }
            if self.trim {
                let first = self.page_of(table.slot);
                self.requests.push_back(Self::request(Op::Trim, first, self.file_pages, Self::handle_of(level)));
            }
            self.free.push_back(table.slot);
        }
        let tables = if job.level == 0 { Some(&mut self.level0) } else { self.levels.get_mut(job.level - 1) };
        if let Some(tables) = tables {
            tables.extend(job.outputs);
            if job.level > 0 {
                tables.sort_by_key(|table| table.begin);
            }
        }
    }

    fn write_log(&mut self) -> PageRequest {
        let ring = LOG_FILES * self.file_pages;
        let pages = self.log_pages.min(ring - self.log.at).min(self.file_pages - self.log.in_memory);
        let request = Self::request(Op::Write, self.log.at, pages, LOG);
        self.log.at = (self.log.at + pages) % ring;
        self.log.served += pages;
        self.log.in_memory += pages;
        if self.log.in_memory == self.file_pages {
            self.log.in_memory = 0;
            self.log.full_memories += 1;
        }
        request
    }

    /// The next write of a job, and whether it was the last.
    fn write_job(&self, job: &mut Job) -> Option<(PageRequest, bool)> {
        let file = job.outputs.get((job.written / self.file_pages) as usize)?;
        let inside = job.written % self.file_pages;
        let pages = self.transfer_pages.min(self.file_pages - inside);
        let request = Self::request(Op::Write, self.page_of(file.slot) + inside, pages, Self::handle_of(job.level));
        job.written += pages;
        job.served += pages;
        Some((request, job.written == job.outputs.len() as u64 * self.file_pages))
    }
}

impl Source for Store {
    fn next_request(&mut self) -> Result<Option<PageRequest>, TraceError> {
        if let Some(request) = self.requests.pop_front() {
            return Ok(Some(request));
        }
        self.begin();
        let writer = self.writers().min_by_key(|(_, served)| *served).map(|(writer, _)| writer);
        let job = match writer {
            Some(Writer::Flush) => self.flush.take(),
            Some(Writer::Compaction) => self.compaction.take(),
            Some(Writer::Log) | None => None,
        };
        let Some(mut job) = job else {
            // A put that waited begins where the others are.
            return Ok(Some(self.write_log()));
        };
        let Some((request, is_last)) = self.write_job(&mut job) else { return Ok(Some(self.write_log())) };
        match (is_last, job.level) {
            (true, level) => {
                if level == 0 {
                    self.log.full_memories -= 1;
                }
                // Puts that waited do not make up for it.
                self.log.served = self.log.served.max(job.served.saturating_sub(self.transfer_pages));
                self.finish(job);
            }
            (false, 0) => self.flush = Some(job),
            (false, _) => self.compaction = Some(job),
        }
        Ok(Some(request))
    }
}
