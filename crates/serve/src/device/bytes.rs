//! The drive as bytes: requests of any offset and length, on an FTL that has whole pages.

use super::plug::{Cut, Flash, PowerFailed};
use super::{DeviceError, Off, Opened};
use phelsuma_ftl::{CacheLook, Cached, Ftl, Hint, HostData, HostPage, Step, WriteCache, WriteRequest};
use phelsuma_nand::{Content, LogicalPage, Nand, Purpose, Time};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Pages of zeroes that are written at a time.
const ZERO_PAGES: usize = 64;

/// Pages whose mapping is looked up for one answer: as many as the largest read has at 4 KiB a page. A demand-paged FTL
/// may have to read a translation page for each.
const MAPPED_PAGES_MAX: u64 = 8192;
/// Pages that are looked up before it is asked whether that is enough.
const MAPPED_PAGES: u64 = 64;

/// Bytes that are all of mapped pages, or all of pages that are not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Extent {
    /// The first byte.
    pub offset: u64,
    /// How many.
    pub length: u64,
    /// Whether their pages are mapped. Those that are not read as zeroes, and take no room.
    pub is_mapped: bool,
}

/// What becomes of the bytes of a range.
#[derive(Clone, Copy)]
enum Change<'a> {
    /// These bytes.
    Data(&'a [u8]),
    /// Zeroes, on flash.
    Zeroes,
    /// Zeroes; whole pages are discarded.
    Discard,
}

/// A range of bytes as pages.
#[derive(Clone, Copy)]
struct Range {
    offset: u64,
    end: u64,
    page_bytes: u64,
}

impl Range {
    fn first(&self) -> u64 {
        self.offset / self.page_bytes
    }

    /// The last page; the range is not empty.
    fn last(&self) -> u64 {
        (self.end - 1) / self.page_bytes
    }

    /// The part of `page` that lies in the range, from its own first byte on.
    fn part_of(&self, page: u64) -> (usize, usize) {
        let start = page * self.page_bytes;
        ((self.offset.max(start) - start) as usize, (self.end.min(start + self.page_bytes) - start) as usize)
    }

    fn is_whole(&self, page: u64) -> bool {
        self.part_of(page) == (0, self.page_bytes as usize)
    }

    /// How far into the range byte `byte` of `page` is.
    fn at(&self, page: u64, byte: usize) -> usize {
        (page * self.page_bytes + byte as u64 - self.offset) as usize
    }
}

/// A drive that is read and written in bytes. It owns the flash and the FTL on it, does one request at a time, and
/// allocates nothing of its own for one.
///
/// Every method takes the moment at which the request arrives, and returns that at which it is done. Without a clock
/// that is [`Time::ZERO`] throughout.
///
/// An FTL that panics is treated as one whose power has failed. The device goes off, and the next recovery finds the
/// acknowledged data.
pub struct Device<N: Flash> {
    flash: N,
    ftl: Box<dyn Ftl<N>>,
    battery: bool,
    page_bytes: u64,
    size_bytes: u64,
    /// The first and the last page of a request that changes only parts of them.
    head: Box<[u8]>,
    tail: Box<[u8]>,
    zeroes: Box<[u8]>,
    /// On a drive with a battery: the operation after which the cut is announced.
    announced: Option<u64>,
    off: Option<Off>,
}

impl<N: Flash> Device<N> {
    /// The drive that has mounted.
    pub fn new(opened: Opened<N>) -> Self {
        let Opened { flash, ftl, battery, .. } = opened;
        let page_bytes = Nand::geometry(&flash).page_bytes() as usize;
        let size_bytes = u64::from(ftl.shape().logical_pages) * page_bytes as u64;
        let zeroes = |pages: usize| vec![0; pages * page_bytes].into_boxed_slice();
        Self {
            flash,
            ftl,
            battery,
            page_bytes: page_bytes as u64,
            size_bytes,
            head: zeroes(1),
            tail: zeroes(1),
            zeroes: zeroes(ZERO_PAGES),
            announced: None,
            off: None,
        }
    }

    /// Bytes that the host sees.
    pub fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    /// Bytes of a page.
    pub fn page_bytes(&self) -> u32 {
        self.page_bytes as u32
    }

    /// Why it answers no more, if it does not.
    pub fn off(&self) -> Option<&Off> {
        self.off.as_ref()
    }

    /// The same drive behind a write cache.
    #[must_use]
    pub fn cached(self, how: WriteCache) -> Self {
        let ftl = Box::new(Cached::new(self.ftl, how, Nand::geometry(&self.flash)));
        Self { ftl, battery: self.battery || !how.is_volatile(), ..self }
    }

    /// Its write cache at this moment, if it has one.
    pub fn write_cache(&mut self) -> Option<CacheLook> {
        self.ftl.write_cache().map(|cache| cache.look())
    }

    /// Writes out so many pages of the write cache, one by one, as their turns are; how many it were.
    pub(super) fn write_out(&mut self, pages: u64, at: Time) -> u64 {
        let one = |device: &mut Self| {
            let cache = device.ftl.write_cache();
            cache.map_or(Ok(false), |cache| Ok(cache.write_out_one(&mut device.flash, at)?))
        };
        (0..pages).take_while(|_| self.powered(at, one).unwrap_or(false)).count() as u64
    }

    /// The FTL.
    pub fn ftl(&mut self) -> &mut dyn Ftl<N> {
        self.ftl.as_mut()
    }

    /// The flash.
    pub fn flash(&mut self) -> &mut N {
        &mut self.flash
    }

    /// Pulls the plug for good, in whatever state the drive is; the flash is left.
    pub fn into_flash(mut self) -> N {
        self.flash.switch_off();
        self.flash
    }

    /// Reads `buf.len()` bytes from `offset` on.
    ///
    /// # Errors
    /// [`DeviceError::Unreadable`] if the range touches a page that cannot be read: `buf` may hold anything then.
    /// [`DeviceError::OutOfRange`], [`DeviceError::Off`].
    pub fn read(&mut self, offset: u64, buf: &mut [u8], at: Time) -> Result<Time, DeviceError> {
        let Some(range) = self.range(offset, buf.len() as u64)? else { return Ok(at) };
        self.powered(at, |device| device.read_range(range, buf, at))
    }

    /// Says which bytes of a range are mapped, in extents that follow one another from `offset` on. They may end before
    /// the range does: the answer is for as many pages as a large read has, and `only_first` needs but the first extent.
    /// Pages are found as by a read, which reads translation pages where the mapping is on flash.
    ///
    /// # Errors
    /// [`DeviceError::OutOfRange`], [`DeviceError::Off`].
    pub fn extents(
        &mut self,
        offset: u64,
        length: u64,
        only_first: bool,
        at: Time,
        found: &mut dyn FnMut(Extent),
    ) -> Result<Time, DeviceError> {
        let Some(range) = self.range(offset, length)? else { return Ok(at) };
        self.powered(at, |device| device.find_extents(range, only_first, at, found))
    }

    /// Writes `buf` from `offset` on. With `fua` it is safe when it is done, also from a crash of the machine; without,
    /// it is on flash.
    ///
    /// A page that is written in part is read first; one that cannot be read is an error, and nothing is written.
    ///
    /// # Errors
    /// [`DeviceError::Unreadable`], [`DeviceError::Ftl`] (some pages may be written then, others not),
    /// [`DeviceError::Sync`], [`DeviceError::OutOfRange`], [`DeviceError::Off`].
    pub fn write(&mut self, offset: u64, buf: &[u8], fua: bool, at: Time) -> Result<Time, DeviceError> {
        let Some(range) = self.range(offset, buf.len() as u64)? else { return Ok(at) };
        self.powered(at, |device| {
            let done = device.change(range, Change::Data(buf), at)?;
            if fua { device.force(range, false, done) } else { Ok(done) }
        })
    }

    /// Discards the whole pages of a range: they read as zeroes. The ends that are parts of pages stay as they are.
    ///
    /// # Errors
    /// As [`Device::write`], but for what cannot be read.
    pub fn trim(&mut self, offset: u64, length: u64, fua: bool, at: Time) -> Result<Time, DeviceError> {
        let Some(range) = self.range(offset, length)? else { return Ok(at) };
        self.powered(at, |device| {
            let first = range.offset.div_ceil(range.page_bytes);
            let end = range.end / range.page_bytes;
            let done = device.discard(first, end.saturating_sub(first), at)?;
            if fua { device.force(range, true, done) } else { Ok(done) }
        })
    }

    /// Makes a range read as zeroes. With `may_trim` its whole pages are discarded; without, zeroes are written.
    ///
    /// # Errors
    /// As [`Device::write`]; [`DeviceError::NotFast`] if it is to be `fast` and has to write.
    pub fn write_zeroes(
        &mut self,
        offset: u64,
        length: u64,
        may_trim: bool,
        fast: bool,
        fua: bool,
        at: Time,
    ) -> Result<Time, DeviceError> {
        let Some(range) = self.range(offset, length)? else { return Ok(at) };
        if fast && !may_trim {
            return Err(DeviceError::NotFast);
        }
        self.powered(at, |device| {
            let change = if may_trim { Change::Discard } else { Change::Zeroes };
            let done = device.change(range, change, at)?;
            if fua { device.force(range, may_trim, done) } else { Ok(done) }
        })
    }

    /// Makes everything acknowledged durable: trims as well, and against a crash of the machine.
    ///
    /// # Errors
    /// [`DeviceError::Ftl`], [`DeviceError::Sync`], [`DeviceError::Off`].
    pub fn flush(&mut self, at: Time) -> Result<Time, DeviceError> {
        self.powered(at, |device| device.flush_all(at))
    }

    /// Lets the FTL do a piece of work while there are no requests. Whether there was one.
    ///
    /// # Errors
    /// [`DeviceError::Ftl`], [`DeviceError::Off`].
    pub fn background(&mut self, at: Time) -> Result<bool, DeviceError> {
        self.powered(at, |device| Ok(device.ftl.background_step(&mut device.flash, at)? != Step::Nothing))
    }

    /// Stops in good order.
    ///
    /// # Errors
    /// As [`Device::flush`]; it is off in any case.
    pub fn close(&mut self, at: Time) -> Result<(), DeviceError> {
        let closed = self.powered(at, |device| {
            device.ftl.close(&mut device.flash, at)?;
            device.sync()
        });
        if closed.is_ok()
            && let Err(error) = self.flash.close()
        {
            self.off = Some(self.why_off());
            return Err(DeviceError::Sync(error));
        }
        self.off.get_or_insert(Off::Closed);
        closed
    }

    /// The power will fail: `operations` programs and erases from now are done, and the one after them meets the cut,
    /// with these faults. A drive with a battery finishes the request in progress and saves its RAM first.
    pub fn cut_after(&mut self, operations: u64, cut: Cut) {
        let operation = self.flash.operations().saturating_add(operations);
        if self.battery {
            self.announced = Some(operation);
        } else {
            self.flash.arm(Some(Cut { operation, ..cut }));
        }
    }

    /// Nothing is going to cut the power any more.
    pub fn stay_on(&mut self) {
        self.announced = None;
        self.flash.arm(None);
    }

    /// The power fails now, between two requests.
    pub fn cut_now(&mut self, at: Time) {
        if self.off.is_none() {
            self.cut(at);
        }
    }

    /// The range, if it is not empty.
    fn range(&self, offset: u64, length: u64) -> Result<Option<Range>, DeviceError> {
        let end = offset.saturating_add(length);
        if end > self.size_bytes {
            return Err(DeviceError::OutOfRange { offset, end, size_bytes: self.size_bytes });
        }
        Ok((length > 0).then_some(Range { offset, end, page_bytes: self.page_bytes }))
    }

    /// Does `work` while there is power, and goes off where there is none afterwards.
    fn powered<T>(
        &mut self,
        at: Time,
        work: impl FnOnce(&mut Self) -> Result<T, DeviceError>,
    ) -> Result<T, DeviceError> {
        if let Some(off) = &self.off {
            return Err(DeviceError::Off(off.clone()));
        }
        // An FTL that has unwound is in no state to be called again, and is not: the device is off then.
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            while self.ftl.due().is_some_and(|due| due <= at)
                && self.ftl.background_step(&mut self.flash, at)? != Step::Nothing
            {}
            work(self)
        }));
        match outcome {
            Ok(outcome) if self.announced.is_some_and(|operation| self.flash.operations() > operation) => {
                // The request is done, and may be shown or not: the client gets no answer any more.
                drop(outcome);
                self.cut(at);
            }
            Ok(outcome) if !self.flash.is_off() => return outcome,
            Ok(_) => self.off = Some(self.why_off()),
            Err(panic) => self.unwound(panic.as_ref()),
        }
        Err(DeviceError::Off(self.off.clone().unwrap_or(Off::Cut(None))))
    }

    /// The reason why the flash is off.
    fn why_off(&self) -> Off {
        self.flash.failure().map_or(Off::Cut(None), Off::Failed)
    }

    /// The power fails between two requests; a battery saves the state that is in RAM alone.
    fn cut(&mut self, at: Time) {
        self.off = Some(Off::Cut(None));
        let saved = catch_unwind(AssertUnwindSafe(|| self.ftl.power_fail(&mut self.flash, at)));
        match saved {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => self.off = Some(Off::Cut(Some(error.to_string()))),
            Err(panic) => self.unwound(panic.as_ref()),
        }
        if let Some(failure) = self.flash.failure() {
            self.off = Some(Off::Failed(failure));
        }
        self.flash.switch_off();
    }

    fn unwound(&mut self, panic: &(dyn Any + Send)) {
        self.flash.switch_off();
        self.off = Some(if panic.is::<PowerFailed>() {
            self.why_off()
        } else {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            Off::Panicked(text.or(panic.downcast_ref::<&str>().copied()).unwrap_or_default().to_string())
        });
    }

    fn read_range(&mut self, range: Range, buf: &mut [u8], at: Time) -> Result<Time, DeviceError> {
        let mut unreadable = None;
        let scratch = &mut self.head;
        let mut sink = |page: LogicalPage, data: HostPage<'_>| {
            let (from, to) = range.part_of(page.0.into());
            let out = range.at(page.0.into(), from);
            let out = &mut buf[out..out + (to - from)];
            match data {
                HostPage::Zeros => out.fill(0),
                HostPage::Data(Content::Bytes(bytes)) => out.copy_from_slice(&bytes[from..to]),
                HostPage::Data(hollow) => {
                    hollow.copy_to(scratch);
                    out.copy_from_slice(&scratch[from..to]);
                }
                HostPage::Unreadable => _ = unreadable.get_or_insert(page.0),
            }
        };
        let (first, pages) = (page_number(range.first()), (range.last() - range.first() + 1) as u32);
        let done = self.ftl.read(&mut self.flash, first, pages, Purpose::Host, at, &mut sink)?;
        unreadable.map_or(Ok(done), |page| Err(DeviceError::Unreadable { page }))
    }

    fn find_extents(
        &mut self,
        range: Range,
        only_first: bool,
        at: Time,
        found: &mut dyn FnMut(Extent),
    ) -> Result<Time, DeviceError> {
        let (mut page, mut done) = (range.first(), at);
        let end = (range.last() + 1).min(page + MAPPED_PAGES_MAX);
        let mut extent: Option<Extent> = None;
        let mut is_first = true;
        while page < end && (is_first || !only_first) {
            let some = (end - page).min(MAPPED_PAGES);
            let mut sink = |key: LogicalPage, is_mapped: bool| {
                let (from, to) = range.part_of(key.0.into());
                let (offset, length) = (u64::from(key.0) * range.page_bytes + from as u64, (to - from) as u64);
                match &mut extent {
                    Some(extent) if extent.is_mapped == is_mapped => extent.length += length,
                    before => {
                        if let Some(before) = before.replace(Extent { offset, length, is_mapped }) {
                            is_first = false;
                            found(before);
                        }
                    }
                }
            };
            done = done.max(self.ftl.find_mapped(&mut self.flash, page_number(page), some as u32, at, &mut sink)?);
            page += some;
        }
        extent.into_iter().for_each(found);
        Ok(done)
    }

    /// Changes a range: pages of which a part stays are read first, all of them before anything is written.
    fn change(&mut self, range: Range, change: Change<'_>, at: Time) -> Result<Time, DeviceError> {
        let (first, last) = (range.first(), range.last());
        let head = (!range.is_whole(first)).then_some(first);
        let tail = (last != first && !range.is_whole(last)).then_some(last);
        let mut ready = at;
        for (page, is_tail) in [(head, false), (tail, true)] {
            let Some(page) = page else { continue };
            ready = ready.max(self.read_old(page, is_tail, at)?);
            let buffer = if is_tail { &mut self.tail } else { &mut self.head };
            let (from, to) = range.part_of(page);
            match change {
                Change::Data(data) => {
                    let data_from = range.at(page, from);
                    buffer[from..to].copy_from_slice(&data[data_from..data_from + (to - from)]);
                }
                Change::Zeroes | Change::Discard => buffer[from..to].fill(0),
            }
        }
        let mut done = ready;
        if let Some(page) = head {
            done = done.max(write(&mut *self.ftl, &mut self.flash, page, 1, &self.head, ready)?);
        }
        let whole_first = first + u64::from(head.is_some());
        let whole = (last + 1 - u64::from(tail.is_some())).saturating_sub(whole_first);
        if whole > 0 {
            done = done.max(self.change_whole(range, whole_first, whole, change, ready)?);
        }
        if let Some(page) = tail {
            done = done.max(write(&mut *self.ftl, &mut self.flash, page, 1, &self.tail, ready)?);
        }
        Ok(done)
    }

    fn change_whole(
        &mut self,
        range: Range,
        first: u64,
        pages: u64,
        change: Change<'_>,
        at: Time,
    ) -> Result<Time, DeviceError> {
        match change {
            Change::Data(data) => {
                let from = range.at(first, 0);
                let bytes = &data[from..from + (pages * self.page_bytes) as usize];
                write(&mut *self.ftl, &mut self.flash, first, pages, bytes, at)
            }
            Change::Discard => self.discard(first, pages, at),
            Change::Zeroes => {
                let (mut page, end, mut done) = (first, first + pages, at);
                while page < end {
                    let some = (end - page).min(ZERO_PAGES as u64);
                    let zeroes = &self.zeroes[..(some * self.page_bytes) as usize];
                    done = done.max(write(&mut *self.ftl, &mut self.flash, page, some, zeroes, at)?);
                    page += some;
                }
                Ok(done)
            }
        }
    }

    fn discard(&mut self, first: u64, pages: u64, at: Time) -> Result<Time, DeviceError> {
        match pages {
            0 => Ok(at),
            pages => Ok(self.ftl.trim(&mut self.flash, page_number(first), pages as u32, at)?),
        }
    }

    /// The old content of a page of which a part stays.
    fn read_old(&mut self, page: u64, is_tail: bool, at: Time) -> Result<Time, DeviceError> {
        let buffer = if is_tail { &mut self.tail } else { &mut self.head };
        let mut unreadable = false;
        let mut sink = |_: LogicalPage, data: HostPage<'_>| match data {
            HostPage::Zeros => buffer.fill(0),
            HostPage::Data(content) => content.copy_to(buffer),
            HostPage::Unreadable => unreadable = true,
        };
        let done = self.ftl.read(&mut self.flash, page_number(page), 1, Purpose::Rmw, at, &mut sink)?;
        if unreadable { Err(DeviceError::Unreadable { page: page as u32 }) } else { Ok(done) }
    }

    /// Makes a range durable that was written, or discarded in part.
    fn force(&mut self, range: Range, is_trimmed: bool, at: Time) -> Result<Time, DeviceError> {
        let (first, pages) = (page_number(range.first()), (range.last() - range.first() + 1) as u32);
        let done = if let Some(cache) = self.ftl.write_cache() {
            cache.force(&mut self.flash, first, pages, at)?
        } else if is_trimmed || self.ftl.is_safe_when_flushed() {
            // A trim is durable with a flush only.
            self.ftl.flush(&mut self.flash, at)?
        } else {
            // The FTL acknowledges data that are on flash.
            at
        };
        self.sync().map(|()| done)
    }

    fn flush_all(&mut self, at: Time) -> Result<Time, DeviceError> {
        let done = self.ftl.flush(&mut self.flash, at)?;
        self.sync()?;
        Ok(done)
    }

    fn sync(&mut self) -> Result<(), DeviceError> {
        self.flash.sync().map_err(DeviceError::Sync)
    }
}

/// A page of a range within the device, whose pages have numbers of 32 bits.
fn page_number(page: u64) -> LogicalPage {
    LogicalPage(page as u32)
}

fn write<N: Flash>(
    ftl: &mut dyn Ftl<N>,
    flash: &mut N,
    first: u64,
    pages: u64,
    bytes: &[u8],
    at: Time,
) -> Result<Time, DeviceError> {
    let data = HostData::Bytes(bytes);
    Ok(ftl.write(
        flash,
        &WriteRequest { first: page_number(first), pages: pages as u32, data, hint: Hint::None },
        at,
    )?)
}
