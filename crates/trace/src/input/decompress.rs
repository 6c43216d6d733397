//! Compressed streams: known by their first bytes, and read to the end of their last member or frame.

use std::io::{self, BufReader, Read};

#[cfg(feature = "archives")]
use super::lz4::Frames;
#[cfg(not(all(feature = "archives", feature = "zstd")))]
use super::said::not_built;
use super::said::of_decoder;
use super::stream::{BUFFER_BYTES, Stream};
use super::way::Way;

/// What the outermost stream may ask for to look back at, as a power of two: 128 MiB. What is inside may ask for half of
/// what the stream around it may, so that all of them stay under twice that.
const WINDOW_LOG_MAX: u32 = 27;

/// A kind of compression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Gzip,
    Zstd,
    Xz,
    Bzip2,
    Lz4,
}

impl Kind {
    /// What begins with these bytes.
    pub(super) fn of(head: &[u8]) -> Option<Self> {
        match head {
            [0x1f, 0x8b, ..] => Some(Kind::Gzip),
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Some(Kind::Xz),
            [0x04, 0x22, 0x4d, 0x18, ..] => Some(Kind::Lz4),
            // A level, and the first block or, in an empty stream, the end.
            [b'B', b'Z', b'h', b'1'..=b'9', 0x31, 0x41, 0x59, 0x26, 0x53, 0x59, ..]
            | [b'B', b'Z', b'h', b'1'..=b'9', 0x17, 0x72, 0x45, 0x38, 0x50, 0x90, ..] => Some(Kind::Bzip2),
            _ if is_frame_of_lz4_after_skippable(head) => Some(Kind::Lz4),
            // A frame, or one of the skippable frames that parallel compressors put in front.
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Some(Kind::Zstd),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Kind::Gzip => "gzip",
            Kind::Zstd => "zstd",
            Kind::Xz => "xz",
            Kind::Bzip2 => "bzip2",
            Kind::Lz4 => "lz4",
        }
    }

    /// The command that decompresses it.
    pub(super) fn filter(self) -> &'static str {
        match self {
            Kind::Gzip => "gzip -dc",
            Kind::Zstd => "zstd -dc",
            Kind::Xz => "xz -dc",
            Kind::Bzip2 => "bzip2 -dc",
            Kind::Lz4 => "lz4 -dc",
        }
    }
}

/// zstd and lz4 have the same skippable frames. What follows a short one tells which it is.
fn is_frame_of_lz4_after_skippable(head: &[u8]) -> bool {
    let [0x50..=0x5f, 0x2a, 0x4d, 0x18, a, b, c, d, rest @ ..] = head else { return false };
    let size = usize::try_from(u32::from_le_bytes([*a, *b, *c, *d])).unwrap_or(usize::MAX);
    rest.get(size..).is_some_and(|rest| rest.starts_with(&[0x04, 0x22, 0x4d, 0x18]))
}

/// What is in a stream of this kind inside `depth` others. `way` leads to what is in it.
pub(super) fn decoder(kind: Kind, raw: Stream, depth: u32, way: &Way) -> io::Result<Stream> {
    let window_log = WINDOW_LOG_MAX.saturating_sub(depth);
    match kind {
        Kind::Gzip => Ok(named(flate2::bufread::MultiGzDecoder::new(raw), kind.name(), way)),
        Kind::Zstd => zstd(raw, window_log, way),
        Kind::Xz => xz(raw, window_log, way),
        #[cfg(feature = "archives")]
        Kind::Bzip2 => Ok(named(bzip2::bufread::MultiBzDecoder::new(raw), kind.name(), way)),
        #[cfg(feature = "archives")]
        Kind::Lz4 => Ok(named(Frames::new(raw), kind.name(), way)),
        #[cfg(not(feature = "archives"))]
        Kind::Bzip2 | Kind::Lz4 => Err(not_built(kind.name())),
    }
}

#[cfg(feature = "zstd")]
fn zstd(raw: Stream, window_log: u32, way: &Way) -> io::Result<Stream> {
    let mut decoder = zstd::stream::read::Decoder::with_buffer(raw)?;
    decoder.window_log_max(window_log)?;
    Ok(named(decoder, Kind::Zstd.name(), way))
}

#[cfg(not(feature = "zstd"))]
fn zstd(_: Stream, _: u32, _: &Way) -> io::Result<Stream> {
    Err(not_built(Kind::Zstd.name()))
}

#[cfg(feature = "archives")]
fn xz(raw: Stream, window_log: u32, way: &Way) -> io::Result<Stream> {
    // In KiB, with what the decoder has beside its dictionary.
    let memory = (1 << window_log) / 1024 + 1024;
    Ok(named(lzma_rust2::XzReader::new_mem_limit(raw, true, memory), Kind::Xz.name(), way))
}

#[cfg(not(feature = "archives"))]
fn xz(_: Stream, _: u32, _: &Way) -> io::Result<Stream> {
    Err(not_built(Kind::Xz.name()))
}

/// With errors that say what they mean for the stream.
pub(super) fn named(decoder: impl Read + Send + 'static, kind: &'static str, way: &Way) -> Stream {
    Box::new(BufReader::with_capacity(BUFFER_BYTES, Named { decoder, kind, way: way.clone() }))
}

struct Named<D> {
    decoder: D,
    kind: &'static str,
    way: Way,
}

impl<D: Read> Read for Named<D> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.decoder.read(buffer).map_err(|error| of_decoder(self.kind, &self.way, error))
    }
}
