//! One drive for all clients: a lock, a clock, a recorder, a plug, and work for idle times.
//!
//! Clients may use several connections at once. There is one [`Device`] behind one lock, and a connection keeps nothing
//! to itself. So all connections read what one has acknowledged, and a flush on any makes it durable.

use super::clock::Clock;
use super::cuts::{CutPlan, Cuts, Faults};
use super::disk::{Disk, Drive};
use super::look::{OfDrive, StateCell};
use super::{
    BlockSeen, DeviceError, Extent, Look, Off, Open, OpenError, Opened, Recorder, RequestCounts, State, WriteCache,
    Zeroes,
};
use phelsuma_ftl::{FtlError, Shape};
use phelsuma_nand::{Block, Geometry, Nand, Purpose, Time};
use phelsuma_trace::Op;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Exit code of a server whose power was cut on request.
pub const EXIT_CUT: u8 = 3;
/// Exit code of a server whose FTL has panicked, or which did not complete its requests.
pub const EXIT_FAILED: u8 = 1;

/// A server's services for its drive.
pub trait Host: Send + Sync {
    /// Reports to the server's operator, in one line.
    fn log(&self, line: &str);

    /// Drops every connection, without an answer to its requests.
    fn drop_connections(&self);

    /// Ends the process, at once.
    fn exit(&self, code: u8);
}

/// The state behind the lock.
struct Locked {
    disk: Box<dyn Disk>,
    clock: Clock,
    recorder: Option<Recorder>,
    counts: RequestCounts,
    cuts: Cuts,
    /// Whether the drive mounts again after the cut that is armed.
    comes_back: bool,
    /// How often the power came on.
    life: u64,
    ended: bool,
}

/// A connection, which ends with the power.
#[derive(Clone, Copy, Debug)]
pub struct Connection {
    life: u64,
}

/// How a drive is served.
#[derive(Clone, Debug, Default)]
pub struct Serving {
    /// When the power is cut.
    pub cuts: Option<CutPlan>,
    /// What that leaves.
    pub faults: Faults,
    /// Real over simulated time, if requests are to take as long as they would.
    pub realtime: Option<f64>,
    /// A volatile write cache between the clients and the drive.
    pub cache: Option<WriteCache>,
}

/// A drive that clients are served from.
pub struct Served {
    locked: Mutex<Locked>,
    host: Box<dyn Host>,
    size_bytes: u64,
    page_bytes: u32,
    geometry: Geometry,
    shape: Shape,
    name: String,
    /// Of the last time that it came up.
    about: Mutex<String>,
    begun: Instant,
    state: StateCell,
    /// Requests that wait for the lock.
    waiting: AtomicU32,
    in_progress: AtomicU32,
    requests: AtomicU64,
    stop: Mutex<bool>,
    stopped: Condvar,
}

impl Served {
    /// Opens a drive in order to serve it.
    ///
    /// # Errors
    /// [`OpenError`].
    pub fn open<O: Open + Send + 'static>(source: O, how: &Serving, host: Box<dyn Host>) -> Result<Self, OpenError> {
        let opened: Opened<O::Flash> = source.open()?;
        let (ready, about, name) = (opened.ready, opened.about.clone(), opened.name.clone());
        let (geometry, shape) = (*Nand::geometry(&opened.flash), opened.ftl.shape());
        let page_bytes = geometry.page_bytes();
        let size_bytes = u64::from(shape.logical_pages) * u64::from(page_bytes);
        let mut locked = Locked {
            disk: Box::new(Drive::new(source, opened, how.cache)),
            clock: Clock::new(ready, how.realtime),
            recorder: None,
            counts: RequestCounts::default(),
            cuts: Cuts::new(how.cuts, how.faults.clone()),
            comes_back: false,
            life: 1,
            ended: false,
        };
        locked.arm_next();
        Ok(Self {
            locked: Mutex::new(locked),
            host,
            size_bytes,
            page_bytes,
            geometry,
            shape,
            name,
            about: Mutex::new(about),
            begun: Instant::now(),
            state: StateCell::new(State::Serving),
            waiting: AtomicU32::new(0),
            in_progress: AtomicU32::new(0),
            requests: AtomicU64::new(0),
            stop: Mutex::new(false),
            stopped: Condvar::new(),
        })
    }

    /// Bytes that clients see.
    pub fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    /// Bytes of a page.
    pub fn page_bytes(&self) -> u32 {
        self.page_bytes
    }

    /// The flash's shape.
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// How the FTL divides the flash.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The FTL's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its description, and how it mounted last, in one line.
    pub fn about(&self) -> String {
        self.about.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Records every request from now on.
    pub fn record(&self, recorder: Recorder) {
        self.lock().recorder = Some(recorder);
    }

    /// A client connects. While a drive mounts again, this waits.
    pub fn connect(&self) -> Connection {
        Connection { life: self.lock().life }
    }

    /// Reads; see [`Device::read`](super::Device::read).
    ///
    /// # Errors
    /// [`DeviceError`].
    pub fn read(&self, from: &Connection, offset: u64, buf: &mut [u8]) -> Result<(), DeviceError> {
        self.request(from, |locked, at| {
            locked.note(Op::Read, offset, buf.len() as u64);
            locked.counts.read(buf.len() as u64);
            locked.disk.read(offset, buf, at)
        })
    }

    /// Says which bytes are mapped; see [`Device::extents`](super::Device::extents). No data are asked for, so it is not recorded.
    ///
    /// # Errors
    /// [`DeviceError`].
    pub fn extents(
        &self,
        from: &Connection,
        offset: u64,
        length: u64,
        only_first: bool,
        found: &mut dyn FnMut(Extent),
    ) -> Result<(), DeviceError> {
        self.request(from, |locked, at| locked.disk.extents(offset, length, only_first, at, found))
    }

    /// Writes; see [`Device::write`](super::Device::write).
    ///
    /// # Errors
    /// [`DeviceError`].
    pub fn write(&self, from: &Connection, offset: u64, buf: &[u8], fua: bool) -> Result<(), DeviceError> {
        self.request(from, |locked, at| {
            locked.note(Op::Write, offset, buf.len() as u64);
            locked.counts.write(buf.len() as u64);
            let done = locked.disk.write(offset, buf, fua, at)?;
            self.state.writable();
            Ok(done)
        })
    }

    /// Discards; see [`Device::trim`](super::Device::trim).
    ///
    /// # Errors
    /// [`DeviceError`].
    pub fn trim(&self, from: &Connection, offset: u64, length: u64, fua: bool) -> Result<(), DeviceError> {
        self.request(from, |locked, at| {
            locked.note(Op::Trim, offset, length);
            if fua {
                locked.note(Op::Flush, 0, 0);
            }
            locked.counts.trim(length);
            locked.disk.trim(offset, length, fua, at)
        })
    }

    /// Makes zeroes; see [`Device::write_zeroes`](super::Device::write_zeroes). Recorded by its effect: a trim of the whole pages and writes of the
    /// ends, or a write.
    ///
    /// # Errors
    /// [`DeviceError`].
    pub fn write_zeroes(&self, from: &Connection, offset: u64, length: u64, how: Zeroes) -> Result<(), DeviceError> {
        self.request(from, |locked, at| {
            locked.note_zeroes(offset, length, how, self.page_bytes.into());
            locked.counts.zero(length);
            locked.disk.write_zeroes(offset, length, how, at)
        })
    }

    /// Makes everything durable; see [`Device::flush`](super::Device::flush).
    ///
    /// # Errors
    /// [`DeviceError`].
    pub fn flush(&self, from: &Connection) -> Result<(), DeviceError> {
        self.request(from, |locked, at| {
            locked.note(Op::Flush, 0, 0);
            locked.counts.flushes += 1;
            locked.disk.flush(at)
        })
    }

    /// The power fails now, or after so many programs and erases; whether the drive mounts again then.
    pub fn cut(&self, after: Option<u64>, comes_back: bool) {
        let mut locked = self.lock();
        locked.comes_back = comes_back;
        match after {
            Some(operations) => {
                let fault = locked.cuts.fault();
                locked.disk.cut_after(operations, fault);
            }
            None => {
                let at = locked.clock.now();
                locked.disk.cut_now(at);
                self.went_off(&mut locked);
            }
        }
    }

    /// No cut is to come any more.
    pub fn stay_on(&self) {
        let mut locked = self.lock();
        locked.disk.stay_on();
        locked.cuts = Cuts::new(None, Faults::default());
    }

    /// How it does, in one line.
    pub fn status(&self) -> String {
        let mut locked = self.lock();
        let state = locked.disk.off().map_or_else(|| "on".to_string(), |off| off.to_string());
        let requests = self.requests.load(Ordering::Relaxed);
        let flash = locked.disk.flash();
        let (host, all) = (flash.of(Purpose::Host).programs, flash.total());
        format!(
            "{state}; {requests} requests; {} {} since the server's start; since the last one {} programs, {host} of \
             them pages of the host, and {} erases",
            locked.life,
            if locked.life == 1 { "power-on" } else { "power-ons" },
            all.programs,
            all.erases
        )
    }

    /// Whether it serves. This does not wait.
    pub fn state(&self) -> State {
        self.state.get()
    }

    /// Its visible state, without its blocks. The lock is held for the time of copying some counters.
    pub fn look(&self) -> Look {
        let mut locked = self.lock();
        let (requests, power_ons, drive) = (locked.counts, locked.life, locked.disk.look());
        drop(locked);
        let OfDrive { flash, counters, gecko, cache } = drive;
        let (since, in_progress) = (self.begun.elapsed(), self.in_progress());
        let about = self.about();
        Look { about, since, state: self.state(), power_ons, requests, in_progress, flash, counters, gecko, cache }
    }

    /// Looks at all blocks. The lock is held for some of them at a time, so events in between are seen of some and not
    /// of others. Whether there was anything to see: not of a drive that is off, and not of every FTL.
    pub fn look_at_blocks(&self, out: &mut Vec<BlockSeen>) -> bool {
        out.resize(self.geometry.blocks() as usize, BlockSeen::default());
        let starts = (0..self.geometry.blocks()).step_by(BlockSeen::AT_ONCE);
        starts
            .zip(out.chunks_mut(BlockSeen::AT_ONCE))
            .all(|(first, out)| self.lock().disk.look_at_blocks(Block(first), out))
    }

    /// Does the FTL's background work whenever there were no requests for so long, until the drive is closed.
    pub fn work_while_idle(&self, idle: Duration) {
        let mut seen = u64::MAX;
        let mut stop = self.stop.lock().unwrap_or_else(PoisonError::into_inner);
        while !*stop {
            stop = self.stopped.wait_timeout(stop, idle).unwrap_or_else(PoisonError::into_inner).0;
            let now = self.requests.load(Ordering::Relaxed);
            if *stop || now != std::mem::replace(&mut seen, now) {
                continue;
            }
            drop(stop);
            while self.waiting.load(Ordering::Relaxed) == 0 && self.requests.load(Ordering::Relaxed) == seen {
                let mut locked = self.lock();
                if locked.disk.off().is_some() {
                    break;
                }
                let at = locked.clock.now();
                match locked.disk.background(at) {
                    Ok(true) => {}
                    Err(DeviceError::Off(_)) => {
                        self.went_off(&mut locked);
                        break;
                    }
                    Ok(false) => break,
                    Err(error) => {
                        self.host.log(&format!("background work failed: {error}"));
                        break;
                    }
                }
            }
            stop = self.stop.lock().unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Stops in good order, after what is in progress. Whether all requests are done.
    pub fn close(&self) -> bool {
        *self.stop.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.stopped.notify_all();
        let mut locked = self.lock();
        self.state.set(State::Off);
        let at = locked.clock.now();
        locked.disk.stay_on();
        let mut done = true;
        if let Err(error) = locked.disk.close(at) {
            self.host.log(&format!("the drive was not closed cleanly: {error}"));
            done = false;
        }
        self.finish_recording(&mut locked) && done
    }

    /// Requests that are not done, or whose simulated time has not come.
    pub fn in_progress(&self) -> u32 {
        self.in_progress.load(Ordering::Relaxed)
    }

    /// Whether [`Served::close`] was called.
    pub fn is_closed(&self) -> bool {
        *self.stop.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn finish_recording(&self, locked: &mut Locked) -> bool {
        match locked.recorder.take().map(Recorder::finish) {
            None => true,
            Some(Ok(requests)) => {
                self.host.log(&format!("recorded {requests} requests"));
                true
            }
            Some(Err(what)) => {
                self.host.log(&what);
                false
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Locked> {
        // Who has panicked with it is the FTL, and the device is off then.
        self.locked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn request(
        &self,
        from: &Connection,
        work: impl FnOnce(&mut Locked, Time) -> Result<Time, DeviceError>,
    ) -> Result<(), DeviceError> {
        self.in_progress.fetch_add(1, Ordering::Relaxed);
        let outcome = self.do_request(from, work);
        self.in_progress.fetch_sub(1, Ordering::Relaxed);
        outcome
    }

    fn do_request(
        &self,
        from: &Connection,
        work: impl FnOnce(&mut Locked, Time) -> Result<Time, DeviceError>,
    ) -> Result<(), DeviceError> {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        let mut locked = self.lock();
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        self.requests.fetch_add(1, Ordering::Relaxed);
        if locked.life != from.life {
            // The power has failed meanwhile: a request from before is never done after.
            return Err(DeviceError::Off(Off::Cut(None)));
        }
        let at = locked.clock.now();
        match work(&mut locked, at) {
            Ok(done) => {
                let wait = locked.clock.until(done);
                drop(locked);
                if wait > Duration::ZERO {
                    std::thread::sleep(wait);
                }
                Ok(())
            }
            Err(DeviceError::Off(off)) => {
                self.went_off(&mut locked);
                Err(DeviceError::Off(off))
            }
            Err(error) => {
                if matches!(error, DeviceError::Ftl(FtlError::Full { .. })) {
                    self.state.set(State::ReadOnly);
                }
                locked.counts.failed += u64::from(!matches!(error, DeviceError::NotFast));
                drop(locked);
                if !matches!(error, DeviceError::NotFast) {
                    self.host.log(&format!("a request failed: {error}"));
                }
                Err(error)
            }
        }
    }

    /// The device is off. Connections are dropped before the next request, and it mounts again, or that is all.
    fn went_off(&self, locked: &mut Locked) {
        let Some(off) = locked.disk.off() else { return };
        if off == Off::Closed || locked.ended {
            return;
        }
        self.host.drop_connections();
        if let Some((kept, dirty)) = locked.disk.kept_at_cut() {
            self.host.log(&format!("the write cache still had {dirty} dirty pages, and kept {kept} of them"));
        }
        let comes_back = locked.comes_back && matches!(off, Off::Cut(_));
        self.state.set(if comes_back { State::ComingUp } else { State::Off });
        if !comes_back {
            self.host.log(&format!("{off}; the next start recovers the drive"));
            locked.ended = true;
            self.finish_recording(locked);
            self.host.exit(if matches!(off, Off::Cut(_)) { EXIT_CUT } else { EXIT_FAILED });
            return;
        }
        locked.life += 1;
        match locked.disk.power_on() {
            Ok((ready, about)) => {
                self.host.log(&format!("{off} and the drive mounted again: {about}"));
                *self.about.lock().unwrap_or_else(PoisonError::into_inner) = about;
                locked.clock = Clock::new(ready, locked.clock.scale);
                locked.arm_next();
                self.state.set(State::Serving);
            }
            Err(error) => {
                self.state.set(State::Off);
                self.host.log(&format!("{off} and the drive does not mount: {error}"));
                locked.ended = true;
                self.finish_recording(locked);
                self.host.exit(EXIT_FAILED);
            }
        }
    }
}

impl Locked {
    /// The plan's next cut.
    fn arm_next(&mut self) {
        if let Some((operations, comes_back)) = self.cuts.next() {
            self.comes_back = comes_back;
            let fault = self.cuts.fault();
            self.disk.cut_after(operations, fault);
        }
    }

    fn note(&self, op: Op, offset: u64, length: u64) {
        if let Some(recorder) = &self.recorder {
            recorder.note(op, offset, length);
        }
    }

    fn note_zeroes(&self, offset: u64, length: u64, how: Zeroes, page_bytes: u64) {
        if how.fast && !how.may_trim {
            // Refused, whatever the range.
            return;
        }
        let end = offset.saturating_add(length);
        let (first, last) = (offset.div_ceil(page_bytes) * page_bytes, end / page_bytes * page_bytes);
        if !how.may_trim || first >= last {
            return self.note(Op::Write, offset, length);
        }
        self.note(Op::Write, offset, first - offset);
        self.note(Op::Trim, first, last - first);
        self.note(Op::Write, last, end - last);
        if how.fua {
            self.note(Op::Flush, 0, 0);
        }
    }
}
