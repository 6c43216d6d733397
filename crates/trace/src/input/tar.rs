//! The one file in a tar archive, as a stream.
//!
//! Directories, links, longer names and what macOS adds are passed over. The beginning is searched for a second file, so
//! that an archive of several small ones is refused before any of it is read. Behind a large file they are looked for
//! when it ends. Behind the end of an archive another one may follow, as where two were joined.

use std::borrow::Borrow;
use std::io::{self, BufReader, Read, copy, sink};
use std::sync::Arc;

use ::tar::{EntryType, Header, PaxExtensions};

use super::members::{self, Names, is_of_macos, name_of};
use super::said::{refused, wrong};
use super::stream::{BUFFER_BYTES, Stream, peek, read_up_to};
use super::way::{Step, Way};

const BLOCK_BYTES: u64 = 512;
/// How much of the beginning is searched.
const SEARCHED_BYTES: usize = 4 << 20;
/// How much of a name or of attributes is read.
const ATTRIBUTES_BYTES_MAX: u64 = 1 << 20;
/// How much is passed over in all, so that an archive of nothing comes to an end.
const PASSED_BYTES_MAX: u64 = 256 << 20;

/// Is this the header of a member? With the magic of tar it is, if need be a damaged one; without, as the first tar
/// wrote it, if its checksum is right.
pub(super) fn begins(head: &[u8]) -> bool {
    head.get(257..262) == Some(b"ustar") || header_of(head).is_some_and(|header| is_sound(&header))
}

fn header_of(bytes: &[u8]) -> Option<Header> {
    let mut header = Header::new_old();
    let block = bytes.get(..header.as_bytes().len())?;
    header.as_mut_bytes().copy_from_slice(block);
    Some(header)
}

/// The sum of a header's bytes, its own taken for blanks. Old programs add them with a sign.
fn is_sound(header: &Header) -> bool {
    let Ok(stated) = header.cksum() else { return false };
    let bytes = header.as_bytes();
    let counted = |at: usize, byte: u8| if (148..156).contains(&at) { b' ' } else { byte };
    let unsigned: u32 = bytes.iter().enumerate().map(|(at, &byte)| u32::from(counted(at, byte))).sum();
    let signed: i32 = bytes.iter().enumerate().map(|(at, &byte)| i32::from(counted(at, byte).cast_signed())).sum();
    stated == unsigned || i64::from(stated) == i64::from(signed)
}

/// The one file in the archive, and the way to it. None, and the stream as it came, where the archive's middle is
/// missing.
pub(super) fn member(stream: Stream, way: &Way) -> io::Result<(Stream, Option<Way>)> {
    let (begin, stream) = peek(stream, SEARCHED_BYTES)?;
    let mut beginning = Archive::new(begin.as_slice(), way);
    // What is wrong with the beginning is told when it is read.
    if let Ok(Some(file)) = beginning.next_file() {
        if begin.len() < SEARCHED_BYTES && is_without_middle(beginning.stream, file.size) {
            return Ok((stream, None));
        }
        if let Ok(Some(several)) = beginning.pass(file.size, file.size).and_then(|()| beginning.several(&file)) {
            return Err(several);
        }
    }
    let mut archive = Archive::new(stream, way.clone());
    let Some(file) = archive.next_file()? else { return Err(members::none("tar")) };
    let inner = way.then(archive.step(file.name.to_string()));
    let member = Member { archive, left: file.size, file, done: false };
    Ok((Box::new(BufReader::with_capacity(BUFFER_BYTES, member)), Some(inner)))
}

/// Lines that were taken out of an archive, with its header and its end still around them: too few for the file that
/// they are of, and zeros behind them. Readers know such lines.
fn is_without_middle(rest: &[u8], size: u64) -> bool {
    let zeros = rest.iter().rev().take_while(|byte| **byte == 0).count() as u64;
    (rest.len() as u64) < size && zeros >= 2 * BLOCK_BYTES
}

fn cut_short() -> io::Error {
    wrong("the tar archive is cut short".into())
}

fn damaged(what: &str) -> io::Error {
    wrong(format!("the tar archive is damaged ({what})"))
}

/// A file of an archive, whose bytes come next.
struct Entry {
    name: Arc<str>,
    size: u64,
}

/// What members in front of a file say of it.
#[derive(Default)]
struct Attributes {
    name: Option<Arc<str>>,
    size: Option<u64>,
    sparse: bool,
}

struct Archive<R, W> {
    stream: R,
    passed_bytes: u64,
    way: W,
    /// The file that was found last.
    latest: Option<Arc<str>>,
    /// Archives were joined: one follows the end of another.
    joined: bool,
}

impl<R, W> Archive<R, W> {
    fn new(stream: R, way: W) -> Self {
        Archive { stream, passed_bytes: 0, way, latest: None, joined: false }
    }
}

impl<R: Read, W: Borrow<Way>> Archive<R, W> {
    /// The next file with anything in it; none at the archive's end.
    fn next_file(&mut self) -> io::Result<Option<Entry>> {
        let mut said = Attributes::default();
        while let Some(header) = self.next_header()? {
            let size = header.entry_size().map_err(|_| damaged("a size is no number"))?;
            match header.entry_type() {
                EntryType::GNULongName => said.name = Some(name_of(trimmed(&self.attributes(size)?))),
                EntryType::XHeader => said.add(&self.attributes(size)?),
                EntryType::XGlobalHeader | EntryType::GNULongLink => self.pass(size, size)?,
                kind => {
                    let name = said.name.take().unwrap_or_else(|| name_of(&header.path_bytes()));
                    let size = said.size.unwrap_or(size);
                    let sparse = kind == EntryType::GNUSparse || said.sparse;
                    said = Attributes::default();
                    if sparse {
                        let commands = self.way.borrow().then(self.step(name.to_string())).commands();
                        return Err(refused(format!("the tar archive holds {name} with holes; {commands} reads it")));
                    }
                    // The first tar marks a directory by its name alone.
                    let is_file = matches!(kind, EntryType::Regular | EntryType::Continuous) && !name.ends_with('/');
                    if is_file && size > 0 && !is_of_macos(&name) {
                        self.latest = Some(Arc::clone(&name));
                        return Ok(Some(Entry { name, size }));
                    }
                    // A link may state the size of what it leads to, which does not follow it.
                    let follows = if matches!(kind, EntryType::Link | EntryType::Symlink) { 0 } else { size };
                    self.pass(follows, follows)?;
                }
            }
        }
        Ok(None)
    }

    /// None where blocks of zeros mark the end, and nothing is behind them. What is behind them in archives that were
    /// joined is read as well.
    fn next_header(&mut self) -> io::Result<Option<Header>> {
        let mut ended = false;
        loop {
            let block = read_up_to(&mut self.stream, BLOCK_BYTES)?;
            self.count(BLOCK_BYTES)?;
            let zeros = block.iter().all(|byte| *byte == 0);
            match header_of(&block) {
                None if ended && zeros => return Ok(None),
                None if !ended => return Err(cut_short()),
                Some(_) if zeros => ended = true,
                Some(header) if is_sound(&header) => {
                    self.joined |= ended;
                    return Ok(Some(header));
                }
                Some(_) if !ended => return Err(damaged("the checksum of a header is wrong")),
                _ => return Err(self.more()),
            }
        }
    }

    /// The error of an archive with something behind its end that is no archive.
    fn more(&self) -> io::Error {
        let what = "the tar archive has bytes behind its end that are no archive, which tar passes over";
        let way = self.latest.as_ref().map(|name| self.way.borrow().then(self.step(name.to_string())));
        refused(way.map_or_else(|| what.to_owned(), |way| format!("{what}; {} reads its file", way.commands())))
    }

    /// How a file is reached.
    fn step(&self, name: String) -> Step {
        if self.joined { Step::JoinedTar(name) } else { Step::Tar(name) }
    }

    fn attributes(&mut self, size: u64) -> io::Result<Vec<u8>> {
        if size > ATTRIBUTES_BYTES_MAX {
            return Err(damaged("a file's name or attributes are over 1 MiB"));
        }
        let bytes = read_up_to(&mut self.stream, size)?;
        if (bytes.len() as u64) < size {
            return Err(cut_short());
        }
        self.pass(size, 0)?;
        Ok(bytes)
    }

    /// Passes over what is `left` of a member of this size, and what fills its last block.
    fn pass(&mut self, size: u64, left: u64) -> io::Result<()> {
        let fill = size.next_multiple_of(BLOCK_BYTES) - size;
        let bytes = left.saturating_add(fill);
        self.count(bytes)?;
        if copy(&mut self.stream.by_ref().take(bytes), &mut sink())? < bytes {
            return Err(cut_short());
        }
        Ok(())
    }

    fn count(&mut self, bytes: u64) -> io::Result<()> {
        self.passed_bytes = self.passed_bytes.saturating_add(bytes);
        if self.passed_bytes <= PASSED_BYTES_MAX {
            return Ok(());
        }
        Err(refused("the tar archive has more than 256 MiB beside its file, one trace would be right".into()))
    }

    /// The error of an archive in which another file follows the one that was passed or read.
    fn several(&mut self, file: &Entry) -> io::Result<Option<io::Error>> {
        let Some(mut next) = self.next_file()? else { return Ok(None) };
        let mut names = Names::default();
        names.add(Arc::clone(&file.name));
        names.add(Arc::clone(&next.name));
        // What cannot be passed over now is not named.
        while !names.are_enough() && self.pass(next.size, next.size).is_ok() {
            match self.next_file() {
                Ok(Some(file)) => next = file,
                _ => break,
            }
            names.add(Arc::clone(&next.name));
        }
        let one = self.way.borrow().then(self.step(names.likeliest()));
        Ok(Some(names.too_many("tar", &one.commands())))
    }

    /// What fills the last record: the streams around the archive are sound to their end.
    fn drain(&mut self) -> io::Result<()> {
        let left = PASSED_BYTES_MAX.saturating_sub(self.passed_bytes);
        copy(&mut self.stream.by_ref().take(left), &mut sink()).map(drop)
    }
}

impl Attributes {
    /// From pax records. Those that cannot be read are of no concern.
    fn add(&mut self, records: &[u8]) {
        for record in PaxExtensions::new(records).flatten() {
            match record.key_bytes() {
                b"path" => self.name = Some(name_of(record.value_bytes())),
                b"size" => self.size = record.value().ok().and_then(|size| size.parse().ok()).or(self.size),
                key => self.sparse |= key.starts_with(b"GNU.sparse."),
            }
        }
    }
}

fn trimmed(name: &[u8]) -> &[u8] {
    name.split(|byte| *byte == 0).next().unwrap_or(name)
}

/// A file as it is read.
struct Member {
    archive: Archive<Stream, Way>,
    file: Entry,
    left: u64,
    done: bool,
}

impl Read for Member {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.done || buffer.is_empty() {
            return Ok(0);
        }
        if self.left == 0 {
            self.done = true;
            self.archive.pass(self.file.size, 0)?;
            return match self.archive.several(&self.file)? {
                Some(error) => Err(error),
                None => self.archive.drain().map(|()| 0),
            };
        }
        let read = self.archive.stream.by_ref().take(self.left).read(buffer)?;
        self.left -= read as u64;
        if read == 0 { Err(cut_short()) } else { Ok(read) }
    }
}
