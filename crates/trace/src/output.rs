//! The bytes of a trace that is written: compressed where the file's name says so. (A reader decompresses by content,
//! whatever the name.)

use std::io::{self, Write};
use std::path::Path;

use flate2::write::GzEncoder;
#[cfg(feature = "zstd")]
use zstd::stream::write::Encoder as ZstdEncoder;

use crate::TraceError;
use crate::input::printable;

/// How the bytes of a trace are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// Not at all.
    None,
    /// One gzip member.
    Gzip,
    /// One zstd frame, with a checksum.
    Zstd,
}

impl Compression {
    /// What the ending of a file's name asks for: `.gz` or `.zst`, in small letters or capitals; none otherwise.
    ///
    /// # Errors
    /// The ending is of a kind that is only read, or not even that.
    pub fn of(path: &Path) -> Result<Self, TraceError> {
        let ending = |path: &Path| path.extension().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
        let last = ending(path);
        let is_tar = ending(Path::new(path.file_stem().unwrap_or_default())) == "tar";
        match last.as_str() {
            "gz" if !is_tar => Ok(Compression::Gzip),
            "zst" if !is_tar => Ok(Compression::Zstd),
            last if is_tar || NOT_WRITTEN.contains(&last) => {
                let file = printable(&path.to_string_lossy());
                Err(TraceError::file(
                    &file,
                    "files of this ending are not written; .gz, .zst or none of both would be right",
                ))
            }
            _ => Ok(Compression::None),
        }
    }
}

/// Endings of compressed files and archives, which nothing plain should have.
const NOT_WRITTEN: [&str; 33] = [
    "7z", "br", "bz", "bz2", "cab", "gzip", "lrz", "lz", "lz4", "lzh", "lzma", "lzo", "rar", "snappy", "sz", "tar",
    "taz", "tb2", "tbz", "tbz2", "tgz", "tlz", "txz", "tz", "tz2", "tzst", "xz", "z", "zip", "zipx", "zpaq", "zstd",
    "zz",
];

/// An output that is compressed on the way. The same bytes come out of the same bytes: a gzip header has no name and
/// no time.
///
/// A compressed output is complete only after [`finish`](Self::finish). Dropped before, it is cut short, and a reader
/// notices.
pub struct Compressed<W: Write>(Stream<W>);

enum Stream<W: Write> {
    Plain(W),
    Gzip(GzEncoder<W>),
    #[cfg(feature = "zstd")]
    Zstd(ZstdEncoder<'static, W>),
}

impl<W: Write> Compressed<W> {
    /// Begins an output. `out` should be buffered.
    ///
    /// # Errors
    /// The compressor has no memory, or this build has no compressor (feature `zstd`).
    pub fn new(out: W, compression: Compression) -> io::Result<Self> {
        Ok(Compressed(match compression {
            Compression::None => Stream::Plain(out),
            Compression::Gzip => Stream::Gzip(GzEncoder::new(out, flate2::Compression::default())),
            #[cfg(not(feature = "zstd"))]
            Compression::Zstd => return Err(crate::input::without_zstd()),
            #[cfg(feature = "zstd")]
            Compression::Zstd => {
                let mut encoder = ZstdEncoder::new(out, zstd::DEFAULT_COMPRESSION_LEVEL)?;
                encoder.include_checksum(true)?;
                Stream::Zstd(encoder)
            }
        }))
    }

    /// Writes the rest in the compressor and the end of the stream, and flushes the output.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn finish(self) -> io::Result<()> {
        let mut out = match self.0 {
            Stream::Plain(out) => out,
            Stream::Gzip(encoder) => encoder.finish()?,
            #[cfg(feature = "zstd")]
            Stream::Zstd(encoder) => encoder.finish()?,
        };
        out.flush()
    }
}

impl<W: Write> Write for Compressed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.0 {
            Stream::Plain(out) => out.write(bytes),
            Stream::Gzip(encoder) => encoder.write(bytes),
            #[cfg(feature = "zstd")]
            Stream::Zstd(encoder) => encoder.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.0 {
            Stream::Plain(out) => out.flush(),
            Stream::Gzip(encoder) => encoder.flush(),
            #[cfg(feature = "zstd")]
            Stream::Zstd(encoder) => encoder.flush(),
        }
    }
}
