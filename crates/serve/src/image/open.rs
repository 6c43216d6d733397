//! Making an image, and opening one.

use super::header::Header;
use super::layout::{HEADER_BYTES, Layout, header_at};
use super::nand::{BAD, BlockState, DIRTY, FileCounts, Off, UNKNOWN};
use super::record::{RECORD_BYTES, Read, SlotRecord};
use super::rollback::Rolling;
use super::{Durability, ImageError, ImageFile, ImageNand, Overlay, Storage};
use phelsuma_ftl::{Config, Ftl, FtlError, RecoveryReport};
use phelsuma_nand::{FlashStats, Geometry, Time};
use std::collections::VecDeque;
use std::path::Path;

/// The most spare slots that are taken by default. A crash has to look at the writes since the slots were used up last.
/// That is 64 MiB for each 128 of them at 512 KiB a block.
pub const SPARE_SLOTS_MAX: u32 = 1024;

/// How far numbers skip ahead after an unclean end: more than operations can follow a header.
const SKIP: u64 = 1 << 32;

/// The spare slots of a drive of so many blocks by default: a 64th of them, from 8 to [`SPARE_SLOTS_MAX`].
pub fn spare_slots(blocks: u32) -> u32 {
    (blocks / 64).clamp(8, SPARE_SLOTS_MAX)
}

/// How an image is made.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CreateOptions {
    /// Slots beyond one for each block, at least 1; [`spare_slots`] by default. With more of them an `fdatasync` is
    /// needed more rarely.
    pub spare_slots: Option<u32>,
    /// Until it is closed. A drive that is yet to be formatted has nothing to lose.
    pub durability: Durability,
}

impl ImageNand {
    /// The length of such an image, in bytes.
    ///
    /// # Errors
    /// [`ImageError::Absurd`]: too many slots.
    pub fn file_bytes_of(geometry: &Geometry, options: &CreateOptions) -> Result<u64, ImageError> {
        Ok(layout_of(geometry, options)?.file_bytes)
    }

    /// Makes an image of blank flash, in a file that was not there; it takes no room on the disk yet. `config` is that
    /// with which the FTL is going to be formatted.
    ///
    /// # Errors
    /// [`ImageError`]: a file of this name, a shape that is too large, or the system's error.
    pub fn create(
        path: &Path,
        geometry: &Geometry,
        config: &Config,
        options: &CreateOptions,
    ) -> Result<Self, ImageError> {
        let bytes = Self::file_bytes_of(geometry, options)?;
        let file = ImageFile::create(path, bytes)?;
        let image = Self::create_on(Box::new(file), geometry, config, options);
        if image.is_err() {
            // A half-made file is removed; that it cannot be is no better news.
            let _ = std::fs::remove_file(path);
        }
        image
    }

    /// Opens an image to work on: no other process has it open.
    ///
    /// # Errors
    /// [`ImageError`].
    pub fn open(path: &Path, durability: Durability) -> Result<Self, ImageError> {
        Self::open_on(Box::new(ImageFile::open(path)?), durability)
    }

    /// The description in the image at `path`; it is looked at and not opened, whatever its end was.
    ///
    /// # Errors
    /// [`ImageError`].
    pub fn describe(path: &Path) -> Result<(Geometry, Config), ImageError> {
        ImageNand::describe_on(&ImageFile::open_to_read(path)?)
    }
    /// Opens an image to look at. Changes of it, an unclean end's roll-back included, stay in memory.
    ///
    /// # Errors
    /// [`ImageError`].
    pub fn view(path: &Path) -> Result<Self, ImageError> {
        Self::open_on(Box::new(Overlay::new(ImageFile::open_to_read(path)?)), Durability::Process)
    }

    /// Has the FTL that the image was made for format it.
    ///
    /// # Errors
    /// As [`phelsuma_ftl::format`].
    pub fn format(&mut self) -> Result<(Box<dyn Ftl<Self>>, Time), FtlError> {
        let config = self.config().clone();
        phelsuma_ftl::format(self, &config, Time::ZERO)
    }

    /// Has the FTL that the image was formatted by recover.
    ///
    /// # Errors
    /// As [`phelsuma_ftl::recover`].
    pub fn recover(&mut self) -> Result<(Box<dyn Ftl<Self>>, RecoveryReport), FtlError> {
        let config = self.config().clone();
        phelsuma_ftl::recover(self, &config, Time::ZERO)
    }
}

impl<S: Storage> ImageNand<S> {
    /// Makes an image on storage that is all zeros and [`ImageNand::file_bytes_of`] long.
    ///
    /// # Errors
    /// [`ImageError`].
    pub fn create_on(
        storage: S,
        geometry: &Geometry,
        config: &Config,
        options: &CreateOptions,
    ) -> Result<Self, ImageError> {
        let layout = layout_of(geometry, options)?;
        check_length(&storage, &layout)?;
        let header = Header {
            clean: false,
            sequence: 0,
            synced: 0,
            session: 1,
            geometry: *geometry,
            slots: layout.slots,
            config: config.clone(),
        };
        header.encode()?;
        let mut image = Self::empty(storage, layout, header, options.durability);
        for (block, state) in (0..).zip(&mut image.blocks) {
            (state.slot, state.next) = (block, 0);
        }
        image.free.extend(layout.blocks..layout.slots);
        image.begin()?;
        Ok(image)
    }

    /// What an image says of itself, as [`ImageNand::describe`].
    ///
    /// # Errors
    /// [`ImageError`].
    pub fn describe_on(storage: &S) -> Result<(Geometry, Config), ImageError> {
        let header = read_header(storage)?;
        Ok((header.geometry, header.config))
    }

    /// Opens an image on any storage.
    ///
    /// # Errors
    /// [`ImageError`].
    pub fn open_on(storage: S, durability: Durability) -> Result<Self, ImageError> {
        Self::open_with(
            storage,
            durability,
            #[cfg(test)]
            super::tests::Forgets::default(),
        )
    }

    pub(super) fn open_with(
        mut storage: S,
        durability: Durability,
        #[cfg(test)] forgets: super::tests::Forgets,
    ) -> Result<Self, ImageError> {
        let mut header = read_header(&storage)?;
        let layout = Layout::new(&header.geometry, header.slots)?;
        check_length(&storage, &layout)?;
        let mut slots = read_slots(&storage, &layout)?;
        let mut rolled_back = None;
        if header.clean {
            if let Some(slot) = slots.iter().position(|record| *record == Read::Bad) {
                return Err(ImageError::Damaged(format!("the record of slot {slot} cannot be read")));
            }
        } else {
            let mut rolling = Rolling {
                storage: &mut storage,
                layout: &layout,
                pages_per_block: header.geometry.pages_per_block(),
                synced: header.synced,
                session: header.session,
                slots: &mut slots,
                #[cfg(test)]
                forgets,
            };
            rolled_back = Some(rolling.back()?);
            header.synced += SKIP;
        }
        header.clean = false;
        header.session = header.session.saturating_add(1);
        let mut image = Self::empty(storage, layout, header, durability);
        #[cfg(test)]
        {
            image.forgets = forgets;
        }
        image.rolled_back = rolled_back;
        image.place_blocks(&slots)?;
        image.read_marks()?;
        image.begin()?;
        Ok(image)
    }

    fn empty(storage: S, layout: Layout, header: Header, durability: Durability) -> Self {
        let state = BlockState { begun: 0, slot: u32::MAX, erases: 0, next: UNKNOWN, flags: 0 };
        let spare = (layout.slots - layout.blocks) as usize;
        Self {
            storage,
            layout,
            synced_on_disk: header.synced,
            durability,
            number: header.synced,
            unsynced: false,
            blocks: vec![state; layout.blocks as usize],
            free: VecDeque::with_capacity(spare),
            left: VecDeque::with_capacity(spare),
            page: vec![0; header.geometry.page_bytes() as usize].into(),
            run: vec![0; layout.run_bytes()].into(),
            run_of: None,
            stats: FlashStats::default(),
            counts: FileCounts::default(),
            operations: 0,
            plan: None,
            off: None,
            rolled_back: None,
            header,
            #[cfg(test)]
            forgets: super::tests::Forgets::default(),
        }
    }

    /// A session begins: its header is durable before anything is written.
    fn begin(&mut self) -> Result<(), ImageError> {
        if self.write_header().and_then(|()| self.synchronize()).is_err()
            && let Some(Off::Failed(error)) = self.off.take()
        {
            return Err(error);
        }
        Ok(())
    }

    /// Puts every block into the slot that its last erase gave it; one that was never erased is in its own.
    fn place_blocks(&mut self, slots: &[Read<SlotRecord>]) -> Result<(), ImageError> {
        for (slot, record) in (0..).zip(slots) {
            let Read::Is(record) = record else { continue };
            let Some(state) = self.blocks.get_mut(record.block as usize) else { continue };
            if state.slot == u32::MAX || state.begun < record.begun {
                let flags = if record.dirty { DIRTY } else { 0 };
                *state = BlockState { begun: record.begun, slot, erases: record.erases, next: UNKNOWN, flags };
            }
        }
        let mut used = vec![false; slots.len()];
        for (block, state) in (0..).zip(&mut self.blocks) {
            if state.slot == u32::MAX {
                if slots.get(block as usize) != Some(&Read::Blank) {
                    return Err(ImageError::Damaged(format!("no slot holds block {block}")));
                }
                state.slot = block;
            }
            used[state.slot as usize] = true;
        }
        self.free.extend((0..self.layout.slots).filter(|slot| !used[*slot as usize]));
        Ok(())
    }

    fn read_marks(&mut self) -> Result<(), ImageError> {
        const AT_ONCE: usize = 512;
        let mut marks = [[0u8; 8]; AT_ONCE];
        for (chunk, blocks) in (0..).zip(self.blocks.chunks_mut(AT_ONCE)) {
            let marks = &mut marks[..blocks.len()];
            let at = self.layout.mark_at(chunk * AT_ONCE as u32);
            self.storage.read_at(at, marks.as_flattened_mut()).map_err(ImageError::io("reading the image"))?;
            for (state, mark) in blocks.iter_mut().zip(marks) {
                if *mark != [0; 8] {
                    state.flags |= BAD;
                }
            }
        }
        Ok(())
    }
}

fn layout_of(geometry: &Geometry, options: &CreateOptions) -> Result<Layout, ImageError> {
    let spare = options.spare_slots.unwrap_or_else(|| spare_slots(geometry.blocks()));
    Layout::new(geometry, geometry.blocks().saturating_add(spare))
}

fn check_length(storage: &impl Storage, layout: &Layout) -> Result<(), ImageError> {
    let found = storage.len().map_err(ImageError::io("reading the image"))?;
    match found == layout.file_bytes {
        true => Ok(()),
        false => Err(ImageError::Length { found, expected: layout.file_bytes }),
    }
}

fn read_header(storage: &impl Storage) -> Result<Header, ImageError> {
    if storage.len().map_err(ImageError::io("reading the image"))? < 2 * HEADER_BYTES as u64 {
        return Err(ImageError::NotAnImage);
    }
    let mut copies = [[0; HEADER_BYTES]; 2];
    for (copy, bytes) in (0..).zip(&mut copies) {
        storage.read_at(header_at(copy), bytes).map_err(ImageError::io("reading the image"))?;
    }
    let [first, second] = &copies;
    Header::newest([first, second])
}

fn read_slots(storage: &impl Storage, layout: &Layout) -> Result<Vec<Read<SlotRecord>>, ImageError> {
    const AT_ONCE: usize = 1024;
    let mut slots = Vec::with_capacity(layout.slots as usize);
    let mut bytes = vec![[0u8; RECORD_BYTES]; AT_ONCE];
    while slots.len() < layout.slots as usize {
        let first = slots.len() as u32;
        let count = AT_ONCE.min((layout.slots - first) as usize);
        let bytes = &mut bytes[..count];
        let read = storage.read_at(layout.slot_at(first), bytes.as_flattened_mut());
        read.map_err(ImageError::io("reading the image"))?;
        slots.extend((first..).zip(bytes).map(|(slot, bytes)| SlotRecord::decode(bytes, slot, layout.blocks)));
    }
    Ok(slots)
}
