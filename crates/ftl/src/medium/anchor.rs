//! The anchor: the drive's own description, written once at format into two fixed blocks.
//!
//! It distinguishes a blank drive from a lost one, and keeps one FTL from recovering another's drive. It stands in the
//! first page of the first two blocks that are not bad. Nothing else is ever written there.
//!
//! A drive is blank where nothing can stand on it but copies of the description that cannot be read. That is flash as it
//! comes, or a format that was cut while it wrote the first copy. Acknowledged data are in other blocks. As long as one
//! page there is not blank, readable or not, the drive is lost.

use super::Steps;
use crate::config::OnFlash;
use crate::{Config, FtlError};
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;
use phelsuma_nand::{Block, Content, Kind, Nand, Op, PageRead, Purpose, Spare, SpareRead, Time};

/// Blocks that hold the drive's description.
pub const ANCHOR_BLOCKS: u32 = 2;

const MAGIC: &[u8; 8] = b"PHELSUMA";
const LAYOUT: u32 = 1;
const NAME: core::ops::Range<usize> = 36..68;
const STRUCTURES: core::ops::Range<usize> = 68..196;

/// The description's bytes, little-endian:
///
/// | bytes | what |
/// | --- | --- |
/// | 8 | magic |
/// | 4 each | layout, page bytes, pages per block, blocks, channels, dies per channel, logical pages (u32) |
/// | 32 | the FTL's name, padded with zeros |
/// | 128 | the structures that it keeps on flash, padded with zeros |
///
/// The rest of the page is zero.
fn encode<N: Nand, C: OnFlash>(nand: &N, config: &Config<C>) -> Vec<u8> {
    let g = nand.geometry();
    let mut page = vec![0; g.page_bytes() as usize];
    page[..8].copy_from_slice(MAGIC);
    let fields = [
        LAYOUT,
        g.page_bytes(),
        g.pages_per_block(),
        g.blocks(),
        g.channels(),
        g.dies_per_channel(),
        config.logical_pages,
    ];
    for (n, field) in fields.iter().enumerate() {
        page[8 + n * 4..12 + n * 4].copy_from_slice(&field.to_le_bytes());
    }
    for (range, text) in [(NAME, &config.name), (STRUCTURES, &config.composition.structures_on_flash(g))] {
        let text = text.as_bytes();
        let len = text.len().min(range.len());
        page[range.start..range.start + len].copy_from_slice(&text[..len]);
    }
    page
}

/// The first blocks that are not bad.
pub(crate) fn blocks<N: Nand>(nand: &N) -> Vec<Block> {
    (0..nand.geometry().blocks()).map(Block).filter(|b| !nand.is_bad(*b)).take(ANCHOR_BLOCKS as usize).collect()
}

fn spare(copy: usize, data_crc: u32) -> Spare {
    Spare { kind: Kind::Anchor, stream: 0, key: copy as u32, version: 0, seq: 0, data_crc, aux: 0 }
}

/// Erases the whole drive, the old description first, then writes the new one: in between the drive is blank or lost.
pub(crate) fn format<N: Nand, C: OnFlash>(
    nand: &mut N,
    config: &Config<C>,
    at: Time,
) -> Result<(Vec<Block>, Time), FtlError> {
    let old = blocks(nand);
    let mut done = erase_all(nand, old.iter().copied(), at);
    let rest: Vec<Block> = (0..nand.geometry().blocks()).map(Block).filter(|b| !old.contains(b)).collect();
    done = erase_all(nand, rest.into_iter(), done);
    let page = encode(nand, config);
    let content = Content::Bytes(&page);
    // Each round that fails retires a block.
    for _ in 0..nand.geometry().blocks() {
        let anchors = blocks(nand);
        if anchors.len() < ANCHOR_BLOCKS as usize {
            break;
        }
        let mut failed = None;
        for (copy, block) in anchors.iter().enumerate() {
            // A copy may be there from a round in which the other one's block failed.
            done = erase_all(nand, core::iter::once(*block), done);
            let to = nand.geometry().page(*block, 0);
            match nand.program(to, content, &spare(copy, content.crc()), Op::new(done, Purpose::Format)) {
                Ok(written) => done = written,
                Err(_) => {
                    failed = Some(*block);
                    break;
                }
            }
        }
        match failed {
            None => return Ok((anchors, done)),
            Some(block) => nand.mark_bad(block),
        }
    }
    Err(FtlError::Full { bad_blocks: nand.geometry().blocks() })
}

/// Erases blocks side by side; one that fails is marked bad.
fn erase_all<N: Nand>(nand: &mut N, blocks: impl Iterator<Item = Block>, at: Time) -> Time {
    let mut done = at;
    for block in blocks {
        if !nand.is_bad(block) {
            match nand.erase(block, Op::new(at, Purpose::Format)) {
                Ok(erased) => done = done.max(erased),
                Err(_) => nand.mark_bad(block),
            }
        }
    }
    done
}

/// The description as a recovery found it.
struct Anchors {
    blocks: Vec<Block>,
    reads: u64,
    programs: u64,
    done: Time,
}

/// Reads both copies of the description and compares them with the configuration. A copy that cannot be read is written
/// again: the other one may be suspect.
fn find<N: Nand, C: OnFlash>(nand: &mut N, config: &Config<C>, at: Time) -> Result<Anchors, FtlError> {
    let expected = encode(nand, config);
    let blocks = blocks(nand);
    let mut found = Anchors { blocks, reads: 0, programs: 0, done: at };
    let mut unlike = None;
    let mut bad = Vec::new();
    for (copy, block) in found.blocks.iter().enumerate() {
        let page = nand.geometry().page(*block, 0);
        let (read, done) = nand.read(page, Op::new(found.done, Purpose::Recovery));
        found.reads += 1;
        found.done = done;
        match PageRead::verified(read) {
            Some((Content::Bytes(bytes), Spare { kind: Kind::Anchor, .. })) if bytes == expected => {}
            Some((Content::Bytes(bytes), Spare { kind: Kind::Anchor, .. })) => {
                unlike = Some(difference(bytes, &expected));
            }
            _ => bad.push((copy, *block)),
        }
    }
    match unlike {
        Some(error) => return Err(error),
        None if bad.len() < found.blocks.len() => {}
        None if holds_no_data(nand, &found.blocks, found.done) => return Err(FtlError::Blank),
        None => return Err(FtlError::Lost),
    }
    for (copy, block) in bad {
        let content = Content::Bytes(&expected);
        let to = nand.geometry().page(block, 0);
        // Where the flash refuses, the other copy stands alone, as it did.
        if let Ok(erased) = nand.erase(block, Op::new(found.done, Purpose::Recovery))
            && let Ok(done) = nand.program(to, content, &spare(copy, content.crc()), Op::new(erased, Purpose::Recovery))
        {
            found.programs += 1;
            found.done = done;
        }
    }
    Ok(found)
}

/// The same as the first step of a recovery: the blocks that hold it.
pub(crate) fn find_as_step<N: Nand, C: OnFlash>(
    nand: &mut N,
    config: &Config<C>,
    steps: &mut Steps,
) -> Result<Vec<Block>, FtlError> {
    steps.begin("find the drive's description");
    let anchors = find(nand, config, steps.now)?;
    steps.step.reads += anchors.reads;
    steps.step.programs += anchors.programs;
    steps.now = steps.now.max(anchors.done);
    Ok(anchors.blocks)
}

/// Whether every page is blank, but for what a cut program or erase has left in the blocks of the description.
fn holds_no_data<N: Nand>(nand: &mut N, anchors: &[Block], at: Time) -> bool {
    let g = *nand.geometry();
    let good: Vec<Block> = (0..g.blocks()).map(Block).filter(|block| !nand.is_bad(*block)).collect();
    good.into_iter().all(|block| {
        let described = anchors.contains(&block);
        (0..g.pages_per_block()).all(|index| {
            match nand.read_spare(g.page(block, index), Op::new(at, Purpose::Recovery)).0 {
                SpareRead::Erased => true,
                SpareRead::Unreadable => described,
                SpareRead::Written(spare) => described && index == 0 && spare.kind == Kind::Anchor,
            }
        })
    })
}

fn difference(found: &[u8], expected: &[u8]) -> FtlError {
    const FIELDS: [&str; 7] =
        ["layout", "page bytes", "pages per block", "blocks", "channels", "dies per channel", "logical pages"];
    let number = |page: &[u8], n: usize| {
        page.get(8 + n * 4..12 + n * 4).map_or(0, |b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
    };
    for (n, what) in FIELDS.iter().enumerate() {
        if number(found, n) != number(expected, n) {
            return FtlError::OtherDrive {
                what,
                found: number(found, n).to_string(),
                expected: number(expected, n).to_string(),
            };
        }
    }
    let text = |page: &[u8], range: core::ops::Range<usize>| {
        String::from_utf8_lossy(page.get(range).unwrap_or(&[])).trim_end_matches('\0').to_string()
    };
    let (what, range) =
        if text(found, NAME) == text(expected, NAME) { ("structures", STRUCTURES) } else { ("the FTL", NAME) };
    FtlError::OtherDrive { what, found: text(found, range.clone()), expected: text(expected, range) }
}
