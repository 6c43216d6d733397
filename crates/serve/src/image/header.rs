//! The header: the description of the drive, and how far the file is surely whole. Two copies, written in turn.

use super::layout::HEADER_BYTES;
use super::record::{u32_at, u64_at};
use super::{ImageError, parts};
use phelsuma_ftl::Config;
use phelsuma_nand::Geometry;

/// The version of the format.
pub(super) const VERSION: u32 = 1;
pub(super) const MAGIC: &[u8; 8] = b"PHELSIMG";
/// More operations and headers than any drive lives to see.
const NUMBER_MAX: u64 = 1 << 62;
const TEXT_AT: usize = 76;
const CRC_AT: usize = HEADER_BYTES - 4;

/// A copy of the header.
///
/// | bytes | field |
/// | --- | --- |
/// | 0–7 | `PHELSIMG` |
/// | 8–11 | version of the format, 1 |
/// | 12–15 | 1 if the image was closed cleanly |
/// | 16–23 | sequence: the copy with the larger one counts; its lowest bit says which copy it is |
/// | 24–31 | `synced`: every operation up to this number is whole and on disk |
/// | 32–35 | session: how often the image was opened to be written |
/// | 36–39 | bytes of a page |
/// | 40–43 | pages of a block |
/// | 44–47 | blocks |
/// | 48–51 | channels |
/// | 52–55 | dies on each channel |
/// | 56–59 | slots |
/// | 60–63 | logical pages |
/// | 64–71 | seed of the FTL |
/// | 72–73 | bytes of the FTL's name |
/// | 74–75 | bytes of its parameters |
/// | 76– | the name, then the parameters as lines `key=value`, UTF-8; zeros behind them |
/// | 4092–4095 | CRC-32 of bytes 0 to 4091 |
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Header {
    pub(super) clean: bool,
    pub(super) sequence: u64,
    pub(super) synced: u64,
    pub(super) session: u32,
    pub(super) geometry: Geometry,
    pub(super) slots: u32,
    pub(super) config: Config,
}

/// The result of reading a copy of the header.
enum Copy {
    Nothing,
    OtherVersion(u32),
    Broken,
    Absurd(ImageError),
    Good(Box<Header>),
}

impl Header {
    /// The bytes of this copy.
    pub(super) fn encode(&self) -> Result<Box<[u8; HEADER_BYTES]>, ImageError> {
        let mut out = Box::new([0; HEADER_BYTES]);
        out[..8].copy_from_slice(MAGIC);
        let g = &self.geometry;
        let dies = [g.channels(), g.dies_per_channel()];
        let shape = [g.page_bytes(), g.pages_per_block(), g.blocks(), dies[0], dies[1], self.slots];
        let numbers = [VERSION, u32::from(self.clean)];
        for (n, number) in numbers.iter().enumerate() {
            out[8 + n * 4..12 + n * 4].copy_from_slice(&number.to_le_bytes());
        }
        out[16..24].copy_from_slice(&self.sequence.to_le_bytes());
        out[24..32].copy_from_slice(&self.synced.to_le_bytes());
        out[32..36].copy_from_slice(&self.session.to_le_bytes());
        for (n, number) in shape.iter().chain([&self.config.logical_pages]).enumerate() {
            out[36 + n * 4..40 + n * 4].copy_from_slice(&number.to_le_bytes());
        }
        out[64..72].copy_from_slice(&self.config.seed.to_le_bytes());
        let (name, settings) = (self.config.name.as_bytes(), parts::as_text(&self.config.composition));
        let text = [name, settings.as_bytes()].concat();
        if text.len() > CRC_AT - TEXT_AT {
            return Err(ImageError::TooLong(text.len()));
        }
        out[72..74].copy_from_slice(&(name.len() as u16).to_le_bytes());
        out[74..76].copy_from_slice(&(settings.len() as u16).to_le_bytes());
        out[TEXT_AT..TEXT_AT + text.len()].copy_from_slice(&text);
        let crc = crc32fast::hash(&out[..CRC_AT]);
        out[CRC_AT..].copy_from_slice(&crc.to_le_bytes());
        Ok(out)
    }

    /// The newer of two copies that can be read.
    pub(super) fn newest(copies: [&[u8; HEADER_BYTES]; 2]) -> Result<Self, ImageError> {
        let mut found: Option<Self> = None;
        let mut wrong = None;
        for copy in copies.map(decode) {
            match copy {
                Copy::Good(header) if found.as_ref().is_none_or(|other| other.sequence < header.sequence) => {
                    found = Some(*header);
                }
                Copy::Good(_) | Copy::Nothing => {}
                // The error of one copy is more useful than that the other one is broken as well.
                Copy::Broken => wrong = wrong.or(Some(ImageError::Header)),
                Copy::OtherVersion(found) => wrong = Some(ImageError::OtherVersion { found, expected: VERSION }),
                Copy::Absurd(error) => wrong = Some(error),
            }
        }
        match (found, wrong) {
            // A later version may have written one copy and left the other.
            (_, Some(error @ ImageError::OtherVersion { .. })) => Err(error),
            (Some(header), _) => Ok(header),
            (None, error) => Err(error.unwrap_or(ImageError::NotAnImage)),
        }
    }
}

fn decode(bytes: &[u8; HEADER_BYTES]) -> Copy {
    if bytes[..8] != *MAGIC {
        return Copy::Nothing;
    }
    // Where the checksum stands is known of this version alone.
    let version = u32_at(bytes, 8);
    if version != VERSION {
        return Copy::OtherVersion(version);
    }
    if crc32fast::hash(&bytes[..CRC_AT]) != u32_at(bytes, CRC_AT) {
        return Copy::Broken;
    }
    fields(bytes).map_or_else(Copy::Absurd, |header| Copy::Good(Box::new(header)))
}

fn fields(bytes: &[u8; HEADER_BYTES]) -> Result<Header, ImageError> {
    let number = |n: usize| u32_at(bytes, 36 + n * 4);
    let geometry = Geometry::new(number(0), number(1), number(2).into(), number(3), number(4))?;
    let (slots, logical_pages) = (number(5), number(6));
    if u64::from(logical_pages) > geometry.pages() {
        let error = format!("{logical_pages} logical pages on {} of flash", geometry.pages());
        return Err(ImageError::Absurd(error));
    }
    let (sequence, synced) = (u64_at(bytes, 16), u64_at(bytes, 24));
    if sequence > NUMBER_MAX || synced > NUMBER_MAX {
        return Err(ImageError::Absurd("its operation numbers are used up".to_string()));
    }
    let len = |at: usize| usize::from(u16::from_le_bytes([bytes[at], bytes[at + 1]]));
    let (name_end, end) = (TEXT_AT + len(72), TEXT_AT + len(72) + len(74));
    let text = |range: core::ops::Range<usize>| {
        let text = bytes.get(range).filter(|_| end <= CRC_AT).map(core::str::from_utf8);
        text.and_then(Result::ok).ok_or_else(|| ImageError::Absurd("its texts are not UTF-8 or too long".to_string()))
    };
    let (name, settings) = (text(TEXT_AT..name_end)?, text(name_end..end)?);
    let composition = parts::from_text(settings).map_err(|error| ImageError::Absurd(error.to_string()))?;
    Ok(Header {
        clean: u32_at(bytes, 12) == 1,
        sequence,
        synced,
        session: u32_at(bytes, 32),
        geometry,
        slots,
        config: Config::new(name, composition, logical_pages, u64_at(bytes, 64)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use phelsuma_ftl::Preset;

    fn header(sequence: u64) -> Header {
        let geometry = Geometry::new(512, 8, 64, 1, 1).unwrap();
        let config = Config::new("geckoftl", Preset::named("geckoftl").unwrap().composition, 100, 7);
        Header { clean: sequence.is_multiple_of(3), sequence, synced: 99, session: 3, geometry, slots: 80, config }
    }

    #[test]
    fn the_newer_copy_counts_and_either_does_alone() {
        let (old, new) = (header(4), header(5));
        let (old_bytes, new_bytes) = (old.encode().unwrap(), new.encode().unwrap());
        assert_eq!(Header::newest([&old_bytes, &new_bytes]).unwrap(), new);
        assert_eq!(Header::newest([&new_bytes, &old_bytes]).unwrap(), new);
        for broken in 0..HEADER_BYTES {
            let mut torn = new_bytes.clone();
            torn[broken] ^= 0x10;
            // A version that is none of ours is not guessed at.
            let expected = if (8..12).contains(&broken) { None } else { Some(&old) };
            assert_eq!(Header::newest([&old_bytes, &torn]).ok().as_ref(), expected, "byte {broken}");
            assert!(Header::newest([&torn, &torn]).is_err());
        }
    }

    #[test]
    fn what_is_no_image_or_of_another_version_is_told_apart() {
        let zeros = [0; HEADER_BYTES];
        assert!(matches!(Header::newest([&zeros, &zeros]), Err(ImageError::NotAnImage)));
        let mut later = header(1).encode().unwrap();
        later[8] = 2;
        let error = Header::newest([&zeros, &later]).unwrap_err();
        assert_eq!(error.to_string(), "the image has format 2; this program reads only format 1");
    }

    #[test]
    fn absurd_geometry_is_refused() {
        let with = |at: usize, value: u32| {
            let mut bytes = header(1).encode().unwrap();
            bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
            let crc = crc32fast::hash(&bytes[..CRC_AT]);
            bytes[CRC_AT..].copy_from_slice(&crc.to_le_bytes());
            Header::newest([&bytes, &bytes]).unwrap_err().to_string()
        };
        assert!(with(36, 513).contains("power of two"));
        assert!(with(44, u32::MAX).contains("blocks"));
        assert!(with(60, 513).contains("513 logical pages"));
        assert!(with(28, u32::MAX).contains("operation numbers are used up"));
        assert!(with(72, 0xffff_ffff).contains("texts"));
    }
}
