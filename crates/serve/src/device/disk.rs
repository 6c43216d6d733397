//! A drive behind the lock, whatever its flash is: its operations while it is on, and how it mounts again.

use super::look::OfDrive;
use super::{BlockSeen, Cut, Device, DeviceError, Extent, Flash, Off, Open, OpenError};
use phelsuma_ftl::BlockLook;
use phelsuma_nand::{Block, FlashStats, Time};

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
    fn kept_at_cut(&self) -> Option<(u64, u64)> {
        None
    }
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
    pub(super) source: O,
    /// None while it mounts again, and if it does not.
    pub(super) device: Option<Device<O::Flash>>,
}

impl<O: Open> Drive<O> {
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

    fn cut_now(&mut self, at: Time) {
        if let Some(device) = &mut self.device {
            device.cut_now(at);
        }
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
        OfDrive { flash, counters: device.ftl().counters(), gecko: device.ftl().look_at_gecko(), cache: None }
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
        self.device = Some(Device::new(opened));
        Ok((ready, about))
    }
}
