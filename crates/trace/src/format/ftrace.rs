//! Linux's trace events of block requests and NVMe commands, as ftrace (`trace`, `trace_pipe`),
//! trace-cmd and perf script print them: `task-pid [cpu] flags seconds: event: …`.
//!
//! ```text
//! block_rq_issue: maj,min RWBS bytes (command) sector + sectors [ioprio] [task]
//! block_rq_complete: maj,min RWBS (command) sector + sectors [ioprio] [error]
//! block_bio_queue: maj,min RWBS sector + sectors [task]
//! nvme_setup_cmd: nvme0: disk=nvme0n1, qid=1, …, cmd=(nvme_cmd_write slba=8, len=7, …)
//! nvmet_req_init: nvmet1: disk=/dev/sda, qid=1, …, cmd=(nvme_cmd_write, slba=8, len=7, …)
//! ```
//!
//! One kind of event stands for the request. [`KINDS`] lists them; the first of those that the first
//! 64 KiB hold is taken, or the first of those for the event that an option names. A request that is
//! issued, requeued and issued again counts once. Sectors of block requests are 512 bytes whatever the
//! drive's are. Those of NVMe commands are the drive's logical blocks, of which the trace does not say
//! the size. An append to a zone is written at the zone's beginning, where completions are not taken.

use super::event::BlkparseEvent;
use super::line_parser::LineParser;
use super::names::Names;
use super::{Item, TimeUnit, blkparse, rwbs};
use crate::noted::{self, Note};
use crate::number::{self, Flaw, split_blank};
use crate::record::Stage;
use crate::request::Op;
use crate::skipped::SkipReason;

/// The events that may stand for requests, the best first, and what each is to blktrace.
const KINDS: &[(&[u8], BlkparseEvent)] = &[
    USUAL,
    (NVME, BlkparseEvent::Issued),
    (NVME_TARGET, BlkparseEvent::Issued),
    (b"block_bio_queue", BlkparseEvent::Queued),
    (b"block_io_start", BlkparseEvent::Queued),
    (b"block_rq_insert", BlkparseEvent::Queued),
    (b"block_rq_complete", BlkparseEvent::Completed),
    (b"block_io_done", BlkparseEvent::Completed),
    (b"block_bio_complete", BlkparseEvent::Completed),
];
const NVME: &[u8] = b"nvme_setup_cmd";
const NVME_TARGET: &[u8] = b"nvmet_req_init";
const USUAL: (&[u8], BlkparseEvent) = (b"block_rq_issue", BlkparseEvent::Issued);

/// The event that stands for a request.
#[derive(Clone, Copy)]
pub(crate) struct Kind {
    name: &'static [u8],
    pub(crate) event: BlkparseEvent,
}

impl Kind {
    /// Going by a sample and what an option says.
    pub(crate) fn of(sample: &[u8], event: Option<BlkparseEvent>) -> Self {
        let mut seen = [false; KINDS.len()];
        for line in sample.split(|&byte| byte == b'\n') {
            let Some(line) = Line::of(line) else { continue };
            for (seen, (name, _)) in seen.iter_mut().zip(KINDS) {
                *seen |= line.event == *name;
            }
        }
        let allowed = |kind: BlkparseEvent| event.is_none_or(|event| event == kind);
        let mut kinds = KINDS.iter().zip(seen).filter(|((_, kind), _)| allowed(*kind));
        let first = kinds.clone().next();
        let (name, event) = kinds.find(|(_, seen)| *seen).or(first).map_or(USUAL, |(kind, _)| *kind);
        Kind { name, event }
    }
}

/// A line in its parts.
struct Line<'a> {
    time: &'a [u8],
    event: &'a [u8],
    /// What follows the event's name.
    rest: &'a [u8],
}

impl<'a> Line<'a> {
    /// The first word of digits that ends in a colon, and precedes another word that ends in one, is the time. That
    /// other word is the event. Names of tasks in front of them may hold blanks and colons.
    fn of(line: &'a [u8]) -> Option<Self> {
        let mut rest = line;
        while !rest.is_empty() {
            let (word, after) = first_word(rest);
            if let Some(time) = word.strip_suffix(b":")
                && is_time(time)
                && let (event, fields) = first_word(after)
                && let Some(event) = event.strip_suffix(b":")
            {
                // perf names the system, too.
                let event = memchr::memrchr(b':', event).map_or(event, |at| event.get(at + 1..).unwrap_or_default());
                return Some(Line { time, event, rest: fields.trim_ascii() });
            }
            rest = after;
        }
        None
    }
}

fn is_time(text: &[u8]) -> bool {
    text.first().is_some_and(u8::is_ascii_digit) && text.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.')
}

/// The first word and what follows it; an empty word at the end.
fn first_word(text: &[u8]) -> (&[u8], &[u8]) {
    let text = text.trim_ascii_start();
    let end = text.iter().position(|byte| matches!(byte, b' ' | b'\t')).unwrap_or(text.len());
    text.split_at_checked(end).unwrap_or((text, &[]))
}

pub(crate) struct Ftrace {
    time: TimeUnit,
    kind: Kind,
    sector_bytes: u64,
    disks: Names,
    completions: u64,
    /// Events that the recorder says it lost.
    lost: u64,
    /// A block of an NVMe drive has the size that is usual, as nothing says otherwise.
    assumes_blocks: bool,
    in_assumed_blocks: u64,
}

/// What a block event says.
struct BlockEvent<'a> {
    device: u32,
    letters: &'a [u8],
    sector: u64,
    sectors: u64,
}

impl Ftrace {
    pub(crate) fn new(time: TimeUnit, kind: Kind, sector_bytes: u64) -> Self {
        Ftrace {
            time,
            kind,
            sector_bytes,
            disks: Names::default(),
            completions: 0,
            lost: 0,
            assumes_blocks: true,
            in_assumed_blocks: 0,
        }
    }

    /// With disks numbered as the names of the whole trace are, and what is known of the size of their blocks.
    pub(crate) fn numbered(self, disks: Names, assumes_blocks: bool) -> Self {
        Ftrace { disks, assumes_blocks, ..self }
    }

    /// Another event than the one that stands for the request: of interest where it ends or repeats one.
    fn other(&self, line: &Line<'_>) -> Item {
        let stage = match line.event {
            b"block_rq_requeue" if self.kind.event == BlkparseEvent::Issued => Stage::PutBack,
            b"block_rq_complete" if self.kind.event == BlkparseEvent::Issued => Stage::Completed,
            _ => return Item::Skip(SkipReason::OtherEvent),
        };
        match (number::time(line.time, self.time.tick(), "the time"), block_event(line.rest)) {
            (Ok(time_ns), Ok(BlockEvent { device, letters, sectors, .. })) if rwbs::is_flush(letters, sectors) => {
                Item::flush(time_ns, device).at(stage)
            }
            (Ok(time_ns), Ok(BlockEvent { device, sector, .. })) => {
                Item::end_of(stage, time_ns, device, (sector, self.sector_bytes))
            }
            _ => Item::Skip(SkipReason::OtherEvent),
        }
    }

    fn block(&mut self, time_ns: u64, rest: &[u8]) -> Result<Item, Flaw> {
        let BlockEvent { device, letters, sector, sectors } = block_event(rest)?;
        let op = rwbs::op_of(letters);
        self.completions += u64::from(op.is_some() && self.kind.event == BlkparseEvent::Completed);
        let item = rwbs::item(time_ns, device, letters, Some((sector, sectors)), self.sector_bytes);
        let repeats = sectors > 0 || rwbs::is_flush(letters, sectors);
        Ok(if self.kind.event == BlkparseEvent::Issued && repeats { item.at(Stage::Issued) } else { item })
    }

    fn nvme(&mut self, time_ns: u64, rest: &[u8]) -> Result<Item, Flaw> {
        let (front, command) = split_at(rest, b"cmd=(").ok_or_else(|| Flaw::Shape("cmd=( is missing".to_owned()))?;
        let (opcode, fields) = first_word(command);
        // The target's events have a comma there.
        let opcode = opcode.strip_suffix(b")").or_else(|| opcode.strip_suffix(b",")).unwrap_or(opcode);
        let op = match opcode {
            b"nvme_cmd_read" => Op::Read,
            b"nvme_cmd_write" | b"nvme_cmd_write_zeroes" | b"nvme_cmd_zone_append" => Op::Write,
            b"nvme_cmd_flush" => Op::Flush,
            // The ranges are in the command's data.
            b"nvme_cmd_dsm" => return Ok(Item::Skip(SkipReason::RangeUnknown)),
            _ => return Ok(Item::Skip(SkipReason::OtherCommand)),
        };
        // Old kernels print no disk, some of them no controller either.
        let controller = first_word(front).0.strip_suffix(b":").unwrap_or_default();
        let name = match (value_of(front, b"disk="), value_of(front, b"nsid=")) {
            (Some(disk), _) => disk.to_vec(),
            (None, Some(namespace)) => [controller, namespace].join(&b'n'),
            (None, None) => controller.to_vec(),
        };
        let device = self.disks.device(&name, "disks")?;
        if op == Op::Flush {
            return Ok(Item::flush(time_ns, device));
        }
        let field = |name: &[u8], what| number::whole(value_of(fields, name).unwrap_or_default(), what);
        let block = field(b"slba=", "the logical block (slba)")?;
        self.in_assumed_blocks += u64::from(self.assumes_blocks);
        // The command counts from 0.
        let blocks = field(b"len=", "the number of blocks (len)")?.saturating_add(1);
        Ok(Item::in_units(time_ns, device, op, (block, self.sector_bytes), (blocks, self.sector_bytes)))
    }
}

impl LineParser for Ftrace {
    fn notes(&self) -> Vec<(Note, u64)> {
        noted::some(&[
            (Note::Completion, self.completions),
            (Note::BlocksAssumed, self.in_assumed_blocks),
            (Note::Lost, self.lost),
        ])
    }

    fn parse(&mut self, line: &[u8]) -> Result<Item, Flaw> {
        if line.starts_with(b"#") {
            return Ok(Item::Skip(SkipReason::Comment));
        }
        if is_recorders(line) {
            self.lost = self.lost.saturating_add(lost(line));
            return Ok(Item::Skip(SkipReason::RecorderLine));
        }
        let Some(line) = Line::of(line) else {
            return Err(Flaw::Shape("no `seconds: event:` in the line".to_owned()));
        };
        if line.event != self.kind.name {
            return Ok(self.other(&line));
        }
        let time_ns = number::time(line.time, self.time.tick(), "the time")?;
        if matches!(line.event, NVME | NVME_TARGET) {
            self.nvme(time_ns, line.rest)
        } else {
            self.block(time_ns, line.rest)
        }
    }
}

/// Lines of ftrace's and trace-cmd's own: events that were lost, and the number of CPUs.
fn is_recorders(line: &[u8]) -> bool {
    line.starts_with(b"CPU:") || line.starts_with(b"cpus=") || line.starts_with(b"version =")
}

/// How many events such a line says were lost.
fn lost(line: &[u8]) -> u64 {
    match split_at(line, b"[") {
        Some((_, what)) if split_at(what, b"LOST").or_else(|| split_at(what, b"DROPPED")).is_some() => {
            noted::lost_in(what)
        }
        _ => 0,
    }
}

/// `maj,min RWBS [bytes] [(command)] sector + sectors …`.
fn block_event(rest: &[u8]) -> Result<BlockEvent<'_>, Flaw> {
    let (device, rest) = first_word(rest);
    let (letters, rest) = first_word(rest);
    let Some((major, minor)) = blkparse::major_minor(device) else {
        return Err(Flaw::Shape("no `major,minor` after the event".to_owned()));
    };
    let device = blkparse::linux_device(major, minor)?;
    // A command stands behind the bytes or alone, and is printed with blanks.
    let (first, after) = first_word(rest);
    let has_command = first.starts_with(b"(") || after.trim_ascii_start().starts_with(b"(");
    let command = if has_command { split_at(rest, b")") } else { None };
    let rest = command.map_or(rest, |(_, after)| after);
    let mut columns = [&[][..]; 3];
    let count = split_blank(rest, &mut columns);
    let [sector, plus, sectors] = columns;
    if count < 3 || plus != b"+" {
        return Err(Flaw::Shape("no `sector + sectors` in the event".to_owned()));
    }
    let sector = number::whole(sector, "the sector")?;
    let sectors = number::whole(sectors, "the number of sectors")?;
    Ok(BlockEvent { device, letters, sector, sectors })
}

/// What is in front of a mark and what is behind it.
fn split_at<'a>(text: &'a [u8], mark: &[u8]) -> Option<(&'a [u8], &'a [u8])> {
    let at = memchr::memmem::find(text, mark)?;
    Some((text.get(..at)?, text.get(at + mark.len()..)?))
}

/// The value of `name=`, up to a comma, a blank or a bracket.
fn value_of<'a>(text: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let (_, after) = split_at(text, name)?;
    let end = after.iter().position(|byte| matches!(byte, b',' | b' ' | b')')).unwrap_or(after.len());
    after.get(..end)
}

/// Whether a line of a text holds an event that may stand for requests, with its fields.
pub(crate) fn looks_like(text: &[u8]) -> bool {
    text.split(|&byte| byte == b'\n').filter_map(Line::of).any(|line| KINDS.iter().any(|(name, _)| line.event == *name))
}
