//! The one file in a tar archive, as a stream.
//!
//! Directories, links, longer names and what macOS adds are passed over. A small file is held until the next one is
//! looked for, so that an archive of several is refused before any of it is read. After a large one they are looked for
//! at its end.

use std::io::{self, BufReader, Cursor, Read, copy, sink};
use std::sync::Arc;

use ::tar::{EntryType, Header, PaxExtensions};

use super::members::{self, Names, is_of_macos, name_of};
use super::said::{refused, wrong};
use super::way::{Step, Way};
use super::{BUFFER_BYTES, Failing, Stream, read_up_to};

const BLOCK_BYTES: u64 = 512;
/// Up to this size, a file is held.
const HELD_BYTES_MAX: u64 = 8 << 20;
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

/// The one file in the archive, and the way to it.
pub(super) fn member(stream: Stream, way: &Way) -> io::Result<(Stream, Way)> {
    let mut archive = Archive { stream, passed_bytes: 0, way: way.clone() };
    let Some(file) = archive.next_file()? else { return Err(members::none("tar")) };
    let inner = way.then(Step::Tar(file.name.to_string()));
    if file.size > HELD_BYTES_MAX {
        let left = file.size;
        let rest = Member { archive, file, left, done: false };
        return Ok((Box::new(BufReader::with_capacity(BUFFER_BYTES, rest)), inner));
    }
    // What precedes damage is read; the error comes in its place.
    let mut held = Vec::new();
    let read = archive.stream.by_ref().take(file.size).read_to_end(&mut held);
    let whole = read.and_then(|_| if (held.len() as u64) < file.size { Err(cut_short()) } else { Ok(()) });
    match whole.and_then(|()| archive.end_after(&file)) {
        Ok(()) => Ok((Box::new(Cursor::new(held)), inner)),
        Err(error) if held.is_empty() || super::said::is_refusal(&error) => Err(error),
        Err(error) => Ok((Box::new(Cursor::new(held).chain(Failing(Some(error)))), inner)),
    }
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

struct Archive {
    stream: Stream,
    passed_bytes: u64,
    way: Way,
}

impl Archive {
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
                        let commands = self.way.then(Step::Tar(name.to_string())).commands();
                        return Err(refused(format!("the tar archive holds {name} with holes; {commands} reads it")));
                    }
                    // The first tar marks a directory by its name alone.
                    let is_file = matches!(kind, EntryType::Regular | EntryType::Continuous) && !name.ends_with('/');
                    if is_file && size > 0 && !is_of_macos(&name) {
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

    /// None where a block of zeros marks the end.
    fn next_header(&mut self) -> io::Result<Option<Header>> {
        let block = read_up_to(&mut self.stream, BLOCK_BYTES)?;
        self.count(BLOCK_BYTES)?;
        let Some(header) = header_of(&block) else { return Err(cut_short()) };
        if block.iter().all(|byte| *byte == 0) {
            return Ok(None);
        }
        if is_sound(&header) { Ok(Some(header)) } else { Err(damaged("the checksum of a header is wrong")) }
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

    /// After the one file that was read: no other follows, and the streams around the archive are sound to their end.
    fn end_after(&mut self, file: &Entry) -> io::Result<()> {
        self.pass(file.size, 0)?;
        let Some(mut next) = self.next_file()? else { return self.drain() };
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
        let first = self.way.then(Step::Tar(file.name.to_string()));
        Err(names.too_many("tar", &first.commands()))
    }

    /// What fills the last record, or the rest of a tape.
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

/// A file too large to be held.
struct Member {
    archive: Archive,
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
            return self.archive.end_after(&self.file).map(|()| 0);
        }
        let read = self.archive.stream.by_ref().take(self.left).read(buffer)?;
        self.left -= read as u64;
        if read == 0 { Err(cut_short()) } else { Ok(read) }
    }
}
