//! A simulated chip as a driver for microcontrollers would give it: bytes, and sixteen of spare area or none.

use phelsuma_mcu::{Chip, Failed, Flash, Kind, META_BYTES, Meta, MetaPlace, Uncorrectable};
use phelsuma_nand::{
    Block, Content, EraseError, Geometry, Nand, Op, Page, PageRead, ProgramError, Purpose, Spare, SpareRead, Time,
};

/// A driver on a [`Nand`] that is lent for a call. Each operation waits for the one before it.
#[derive(Debug)]
pub struct ChipOn<'n, N> {
    nand: &'n mut N,
    meta: MetaPlace,
    /// When the last operation was complete.
    pub(crate) at: Time,
    purpose: Purpose,
    /// Pages read in full, spare areas read alone, pages programmed.
    pub(crate) counts: [u64; 3],
}

impl<'n, N: Nand> ChipOn<'n, N> {
    /// A driver that begins at this moment.
    pub fn new(nand: &'n mut N, meta: MetaPlace, purpose: Purpose, at: Time) -> Self {
        Self { nand, meta, at, purpose, counts: [0; 3] }
    }

    fn op(&self) -> Op {
        Op::new(self.at, self.purpose)
    }
}

/// The shape of a chip of one die.
pub(crate) fn chip_of(geometry: &Geometry, meta: MetaPlace) -> Chip {
    Chip {
        page_bytes: geometry.page_bytes(),
        pages_per_block: geometry.pages_per_block(),
        blocks: geometry.blocks(),
        meta,
    }
}

/// The spare area that stands for these metadata in a simulation: there each page has one, and the laboratory goes by it.
fn spare_of(meta: &Meta, data_crc: u32) -> Spare {
    let kind = match meta.kind {
        Kind::User => phelsuma_nand::Kind::User,
        Kind::Translation => phelsuma_nand::Kind::Translation,
        Kind::Gecko => phelsuma_nand::Kind::Gecko,
        Kind::Checkpoint => phelsuma_nand::Kind::Summary,
    };
    Spare { kind, stream: meta.stream as u8, key: meta.key, version: meta.seq, seq: meta.seq, data_crc, aux: meta.sum }
}

/// The other way round.
fn meta_of(spare: &Spare) -> Option<Meta> {
    let kind = match spare.kind {
        phelsuma_nand::Kind::User => Kind::User,
        phelsuma_nand::Kind::Translation => Kind::Translation,
        phelsuma_nand::Kind::Gecko => Kind::Gecko,
        phelsuma_nand::Kind::Summary => Kind::Checkpoint,
        _ => return None,
    };
    Some(Meta { kind, stream: spare.stream.into(), key: spare.key, seq: spare.version, sum: spare.aux })
}

/// What a page repeats from end to end, if it does.
pub(crate) fn repeated(page: &[u8]) -> Option<u64> {
    let (words, rest) = page.as_chunks::<8>();
    let first = words.first()?;
    (words.iter().all(|word| word == first) && first.starts_with(rest)).then(|| u64::from_le_bytes(*first))
}

impl<N: Nand> Flash for ChipOn<'_, N> {
    fn read(
        &mut self,
        page: u32,
        column: u32,
        data: &mut [u8],
        spare: Option<&mut [u8; META_BYTES]>,
    ) -> Result<u32, Uncorrectable> {
        let op = self.op();
        if data.is_empty() {
            let (read, done) = self.nand.read_spare(Page(page), op);
            self.at = self.at.max(done);
            self.counts[1] += 1;
            let bytes = match read {
                SpareRead::Written(spare) => meta_of(&spare).map(|meta| meta.encode()),
                SpareRead::Erased => Some([0xff; META_BYTES]),
                SpareRead::Unreadable => None,
            };
            spare.into_iter().zip(bytes).for_each(|(out, bytes)| *out = bytes);
            return bytes.map(|_| 0).ok_or(Uncorrectable);
        }
        let (read, done) = self.nand.read(Page(page), op);
        let given = match read {
            PageRead::Written { content, spare: own, corrected, .. } => {
                match content {
                    Content::Bytes(bytes) => {
                        data.copy_from_slice(&bytes[column as usize..column as usize + data.len()]);
                    }
                    hollow @ Content::Hollow(_) => {
                        let mut whole = vec![0; column as usize + data.len()];
                        hollow.copy_to(&mut whole);
                        data.copy_from_slice(&whole[column as usize..]);
                    }
                }
                let meta = meta_of(&own);
                spare.into_iter().zip(meta).for_each(|(out, meta)| *out = meta.encode());
                Ok(corrected)
            }
            PageRead::Erased => {
                data.fill(0xff);
                spare.into_iter().for_each(|out| out.fill(0xff));
                Ok(0)
            }
            PageRead::Unreadable => Err(Uncorrectable),
        };
        self.at = self.at.max(done);
        self.counts[0] += 1;
        given
    }

    fn program(&mut self, page: u32, data: &[u8], spare: Option<&[u8; META_BYTES]>) -> Result<(), Failed> {
        let tail = match self.meta {
            MetaPlace::Spare => spare,
            MetaPlace::InPage => data.last_chunk(),
        };
        let meta = tail.and_then(Meta::decode).expect("a page is programmed with its metadata");
        // The laboratory finds its data by their tags.
        let tag = (meta.kind == Kind::User).then(|| repeated(data)).flatten();
        let content = tag.map_or(Content::Bytes(data), Content::Hollow);
        let spare = spare_of(&meta, self.nand.crc(content));
        let op = self.op();
        match self.nand.program(Page(page), content, &spare, op) {
            Ok(done) => {
                self.at = self.at.max(done);
                self.counts[2] += 1;
                Ok(())
            }
            Err(ProgramError::Failed(_)) => Err(Failed),
            Err(error) => panic!("a rule of flash is violated: {error}"),
        }
    }

    fn erase(&mut self, block: u32) -> Result<(), Failed> {
        let op = self.op();
        match self.nand.erase(Block(block), op) {
            Ok(done) => {
                self.at = self.at.max(done);
                Ok(())
            }
            Err(EraseError::Failed(_)) => Err(Failed),
            Err(error) => panic!("a rule of flash is violated: {error}"),
        }
    }

    fn is_bad(&mut self, block: u32) -> bool {
        self.nand.is_bad(Block(block))
    }

    fn mark_bad(&mut self, block: u32) {
        self.nand.mark_bad(Block(block));
    }
}
