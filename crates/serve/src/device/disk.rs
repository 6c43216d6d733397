//! A drive behind the lock, whatever its flash is: its operations while it is on, how it mounts again, and what a cut
//! leaves of its write cache.

use super::look::{CacheLook, OfDrive};
use super::{BlockSeen, Cut, Device, DeviceError, Extent, Flash, Off, Open, OpenError, Opened};
use phelsuma_ftl::{BlockLook, WriteCache};
use phelsuma_nand::{Block, FlashStats, Time};
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A drive of any kind.
pub(super) trait Disk: Send {
    fn read(&mut self, offset: u64, buf: &mut [u8], at: Time) -> Result<Time, DeviceError>;
    fn extents(
        &mut self,
        offset: u64,
        length: u64,
        only_first: bool,
        at: Time,
        found: &mut dyn FnMut(Extent),
    ) -> Result<Time, DeviceError>;
    fn write(&mut self, offset: u64, buf: &[u8], fua: bool, at: Time) -> Result<Time, DeviceError>;
    fn trim(&mut self, offset: u64, length: u64, fua: bool, at: Time) -> Result<Time, DeviceError>;
    fn write_zeroes(&mut self, offset: u64, length: u64, how: Zeroes, at: Time) -> Result<Time, DeviceError>;
    fn flush(&mut self, at: Time) -> Result<Time, DeviceError>;
    fn background(&mut self, at: Time) -> Result<bool, DeviceError>;
    fn close(&mut self, at: Time) -> Result<(), DeviceError>;
    fn cut_after(&mut self, operations: u64, cut: Cut);
    fn stay_on(&mut self);
    fn cut_now(&mut self, at: Time);
    fn off(&self) -> Option<Off>;
    /// What its flash has done since the power came on.
    fn flash(&mut self) -> FlashStats;
    /// Its visible state; of one that is off, nothing.
    fn look(&mut self) -> OfDrive;
    /// The blocks from `first` on. Whether there is anything to be seen of them.
    fn look_at_blocks(&mut self, first: Block, out: &mut [BlockSeen]) -> bool;
    /// How many of how many pages that were in a volatile cache only the last cut has left; none without such a cache.
    fn kept_at_cut(&mut self) -> Option<(u64, u64)>;
    /// The power comes back. When it is ready, and its description of itself.
    fn power_on(&mut self) -> Result<(Time, String), OpenError>;
}

/// How zeroes are to be had.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Zeroes {
    /// Whole pages may be discarded.
    pub may_trim: bool,
    /// Only if nothing has to be written for it.
    pub fast: bool,
    /// Durable when done.
    pub fua: bool,
}

/// A drive and where it comes from.
pub(super) struct Drive<O: Open> {
    source: O,
    /// None while it mounts again, and if it does not.
    device: Option<Device<O::Flash>>,
    cache: Option<OfCache>,
}

/// What the drive has of its write cache, from one mount to the next.
struct OfCache {
    how: WriteCache,
    /// How much a cut between two requests leaves.
    lot: Xoshiro256PlusPlus,
    /// What the last such cut left of how many dirty pages.
    kept: Option<(u64, u64)>,
}

impl<O: Open> Drive<O> {
    /// A drive that has opened, behind a write cache if there is to be one.
    pub(super) fn new(source: O, opened: Opened<O::Flash>, cache: Option<WriteCache>) -> Self {
        let of = |how: WriteCache| OfCache { how, lot: Xoshiro256PlusPlus::seed_from_u64(how.seed), kept: None };
        let mut drive = Self { source, device: None, cache: cache.map(of) };
        drive.mounted(opened);
        drive
    }

    fn mounted(&mut self, opened: Opened<O::Flash>) {
        let device = Device::new(opened);
        self.device = Some(match &mut self.cache {
            None => device,
            // No two lives draw the same.
            Some(cache) => device.cached(WriteCache { seed: cache.lot.next_u64(), ..cache.how }),
        });
    }

    fn on(&mut self) -> Result<&mut Device<O::Flash>, DeviceError> {
        self.device.as_mut().ok_or(DeviceError::Off(Off::Cut(None)))
    }
}

impl<O: Open + Send> Disk for Drive<O> {
    fn read(&mut self, offset: u64, buf: &mut [u8], at: Time) -> Result<Time, DeviceError> {
        self.on()?.read(offset, buf, at)
    }

    fn extents(
        &mut self,
        offset: u64,
        length: u64,
        only_first: bool,
        at: Time,
        found: &mut dyn FnMut(Extent),
    ) -> Result<Time, DeviceError> {
        self.on()?.extents(offset, length, only_first, at, found)
    }

    fn write(&mut self, offset: u64, buf: &[u8], fua: bool, at: Time) -> Result<Time, DeviceError> {
        self.on()?.write(offset, buf, fua, at)
    }

    fn trim(&mut self, offset: u64, length: u64, fua: bool, at: Time) -> Result<Time, DeviceError> {
        self.on()?.trim(offset, length, fua, at)
    }

    fn write_zeroes(&mut self, offset: u64, length: u64, how: Zeroes, at: Time) -> Result<Time, DeviceError> {
        self.on()?.write_zeroes(offset, length, how.may_trim, how.fast, how.fua, at)
    }

    fn flush(&mut self, at: Time) -> Result<Time, DeviceError> {
        self.on()?.flush(at)
    }

    fn background(&mut self, at: Time) -> Result<bool, DeviceError> {
        self.on()?.background(at)
    }

    fn close(&mut self, at: Time) -> Result<(), DeviceError> {
        self.on()?.close(at)
    }

    fn cut_after(&mut self, operations: u64, cut: Cut) {
        if let Some(device) = &mut self.device {
            device.cut_after(operations, cut);
        }
    }

    fn stay_on(&mut self) {
        if let Some(device) = &mut self.device {
            device.stay_on();
        }
    }

    /// Of a volatile cache some pages are written out yet, as their turns are: so many as the lot says.
    fn cut_now(&mut self, at: Time) {
        let Some(device) = &mut self.device else { return };
        if let (Some(cache), Some(look)) = (&mut self.cache, device.write_cache())
            && cache.how.is_volatile()
        {
            let dirty = u64::from(look.dirty);
            cache.kept = Some((device.write_out(cache.lot.next_u64() % (dirty + 1), at), dirty));
        }
        device.cut_now(at);
    }

    fn kept_at_cut(&mut self) -> Option<(u64, u64)> {
        let cache = self.cache.as_ref().filter(|cache| cache.how.is_volatile())?;
        let dirty = self.device.as_mut().and_then(|device| device.write_cache()).map_or(0, |look| look.dirty.into());
        Some(cache.kept.unwrap_or((0, dirty)))
    }

    fn off(&self) -> Option<Off> {
        self.device.as_ref().map_or(Some(Off::Cut(None)), |device| device.off().cloned())
    }

    fn flash(&mut self) -> FlashStats {
        self.device.as_mut().map_or_else(FlashStats::default, |device| device.flash().stats())
    }

    fn look(&mut self) -> OfDrive {
        let Some(device) = self.device.as_mut().filter(|device| device.off().is_none()) else {
            return OfDrive::default();
        };
        let flash = device.flash().stats();
        let page_bytes = u64::from(device.page_bytes());
        let cache = self.cache.as_ref().zip(device.write_cache()).map(|(cache, look)| CacheLook {
            size_bytes: cache.how.bytes,
            dirty_bytes: u64::from(look.dirty) * page_bytes,
        });
        OfDrive { flash, counters: device.ftl().counters(), gecko: device.ftl().look_at_gecko(), cache }
    }

    fn look_at_blocks(&mut self, first: Block, out: &mut [BlockSeen]) -> bool {
        let Some(device) = self.device.as_mut().filter(|device| device.off().is_none()) else { return false };
        let mut looks = [BlockLook::default(); BlockSeen::AT_ONCE];
        let count = BlockSeen::AT_ONCE.min(out.len());
        let out = &mut out[..count];
        let looks = &mut looks[..out.len()];
        if !device.ftl().look_at_blocks(first, looks) {
            return false;
        }
        let flash = device.flash();
        for (block, (seen, look)) in (first.0..).map(Block).zip(out.iter_mut().zip(looks)) {
            *seen = BlockSeen { look: *look, erases: flash.erases_of(block) };
        }
        true
    }

    fn power_on(&mut self) -> Result<(Time, String), OpenError> {
        let opened = match self.device.take() {
            Some(device) => self.source.power_on(device.into_flash())?,
            None => self.source.open()?,
        };
        let (ready, about) = (opened.ready, opened.about.clone());
        if let Some(cache) = &mut self.cache {
            cache.kept = None;
        }
        self.mounted(opened);
        Ok((ready, about))
    }
}
