//! The one file in a zip archive, as a stream: found in the directory at the archive's end.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek};

use rawzip::{CompressionMethod, ErrorKind, MAX_CENTRAL_DIRECTORY_RECORD_SIZE, RangeReader, ZipArchive};

use super::decompress::{self, Kind, named};
use super::members::{self, Names, is_of_macos, name_of};
use super::said::{refused, wrong};
use super::stream::{BUFFER_BYTES, Stream, read_up_to};
use super::unread::is_zip;
use super::way::{Step, Way};

/// Does this file begin as a zip archive? It is at its beginning again then.
pub(super) fn begins(file: &mut File) -> io::Result<bool> {
    let head = read_up_to(file, 4)?;
    file.rewind()?;
    Ok(is_zip(&head))
}

/// The one file in the archive, and the way to it.
pub(super) fn member(file: File, way: &Way) -> io::Result<(Stream, Way)> {
    let length = file.metadata()?.len();
    let mut buffer = vec![0; MAX_CENTRAL_DIRECTORY_RECORD_SIZE];
    let archive = ZipArchive::from_file(file, &mut buffer).map_err(unreadable)?;
    let mut names = Names::default();
    let mut first = None;
    let (mut begin, end) = (archive.directory_offset(), archive.end_offset());
    let mut entries = archive.entries(&mut buffer);
    while let Some(entry) = entries.next_entry().map_err(unreadable)? {
        begin = begin.min(entry.local_header_offset());
        let name = name_of(entry.file_path().as_bytes());
        let is_file = !entry.is_dir() && !entry.mode().is_symlink() && !is_of_macos(&name);
        if !is_file || entry.uncompressed_size_hint() == 0 {
            continue;
        }
        names.add(std::sync::Arc::clone(&name));
        if names.are_enough() {
            break;
        }
        first.get_or_insert(Found {
            name: name.to_string(),
            place: entry.wayfinder(),
            method: entry.compression_method(),
            encrypted: entry.flags().is_encrypted(),
            crc: entry.crc32(),
            size: entry.uncompressed_size_hint(),
        });
    }
    // The directory at the end of joined archives is that of one of them.
    if !names.are_several() && (begin > 0 || end < length) {
        return Err(refused(format!(
            "the zip archive has {begin} bytes in front of what its directory names, and {} behind it: archives that were \
             joined are read one by one",
            length.saturating_sub(end)
        )));
    }
    let Some(found) = first else { return Err(members::none("zip")) };
    if names.are_several() {
        let one = way.then(Step::Zip(names.likeliest()));
        return Err(names.too_many("zip", &one.commands()));
    }
    let inner = way.then(Step::Zip(found.name.clone()));
    if found.encrypted {
        let commands = way.then(Step::SevenZip(found.name)).commands();
        return Err(refused(format!("the zip archive is encrypted; {commands} asks for its password and reads it")));
    }
    let (start, end) = archive.get_entry(found.place).map_err(unreadable)?.compressed_data_range();
    let packed = RangeReader::new(archive.into_inner(), start..end);
    let packed: Stream = Box::new(BufReader::with_capacity(BUFFER_BYTES, packed));
    let stream = match found.method {
        CompressionMethod::STORE => packed,
        CompressionMethod::DEFLATE => named(flate2::bufread::DeflateDecoder::new(packed), "deflate", &inner),
        CompressionMethod::BZIP2 => decompress::decoder(Kind::Bzip2, packed, 0, &inner)?,
        CompressionMethod::ZSTD | CompressionMethod::ZSTD_DEPRECATED => {
            decompress::decoder(Kind::Zstd, packed, 0, &inner)?
        }
        CompressionMethod::XZ => decompress::decoder(Kind::Xz, packed, 0, &inner)?,
        method => {
            let commands = way.then(Step::SevenZip(found.name)).commands();
            let number = method.as_u16();
            return Err(refused(format!("the zip archive is compressed by method {number}; {commands} reads it")));
        }
    };
    let sound = Sound { stream, crc: crc32fast::Hasher::new(), read: 0, stated: (found.size, found.crc) };
    Ok((Box::new(BufReader::with_capacity(BUFFER_BYTES, sound)), inner))
}

/// A file as the directory has it.
struct Found {
    name: String,
    place: rawzip::ZipArchiveEntryWayfinder,
    method: CompressionMethod,
    encrypted: bool,
    crc: u32,
    size: u64,
}

fn unreadable(error: rawzip::Error) -> io::Error {
    match error.into_kind() {
        ErrorKind::IO(error) => error,
        ErrorKind::Eof | ErrorKind::MissingEndOfCentralDirectory => {
            wrong("the zip archive is cut short (the directory at its end is missing)".into())
        }
        kind => wrong(format!("the zip archive is damaged ({kind})")),
    }
}

/// A file whose size and checksum are held against those in the directory.
struct Sound {
    stream: Stream,
    crc: crc32fast::Hasher,
    read: u64,
    /// Size and checksum.
    stated: (u64, u32),
}

impl Read for Sound {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.stream.read(buffer)?;
        self.crc.update(buffer.get(..read).unwrap_or_default());
        self.read += read as u64;
        if read > 0 || buffer.is_empty() {
            return Ok(read);
        }
        let (size, crc) = self.stated;
        if self.read < size {
            return Err(wrong(format!("the zip archive is cut short ({} bytes of {size})", self.read)));
        }
        if (self.read, self.crc.clone().finalize()) != (size, crc) {
            return Err(wrong("the zip archive is damaged (the checksum of its file is wrong)".into()));
        }
        Ok(0)
    }
}
