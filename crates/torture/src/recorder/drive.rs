//! What the recorded drive holds, and the log of what it was asked.

use crate::model::{Content, Event, Run, Shape};
use std::fs::File;
use std::io::Read;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A mark has at most so many bytes.
pub(crate) const MARK_BYTES_MAX: usize = 4096;

/// The kernel asks for at most so much at once.
pub(super) const WRITE_BYTES_MAX: u32 = 1 << 20;
/// Of a buffer that does not begin with a page, it takes less than a page less, and cuts the write there, within a unit
/// even. So a write of at least so much may go on in the next one.
const CUT_BYTES_MIN: usize = WRITE_BYTES_MAX as usize - 4095;

/// Bounds of a log.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Bytes of its data and marks, and of its events.
    pub(crate) log_bytes: u64,
    /// Bytes that the drive may hold when recording begins.
    pub(crate) base_bytes: u64,
}

/// Why a drive records no more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Over {
    /// The log is as large as it may be.
    Log,
    /// The drive holds as much as it may before recording begins.
    Base,
    /// A line on the pipe is longer than a mark may be.
    Mark,
    /// A line on the pipe is no text.
    NoText,
}

/// The drive. Its lock is what puts events in an order.
#[derive(Debug)]
pub(crate) struct Drive {
    shape: Shape,
    limits: Limits,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    content: Content,
    base: Content,
    events: Vec<Event>,
    log_bytes: u64,
    has_begun: bool,
    is_recording: bool,
    end: Option<usize>,
    over: Option<Over>,
    /// Where the last event ended, if it may be the first part of a write that the kernel has cut.
    cut: Option<u64>,
    /// Marks that are written to a pipe, and what came of a line that is not complete.
    pipe: Option<File>,
    line: Vec<u8>,
}

impl Drive {
    /// Of zeros, with a pipe for marks that does not block.
    pub(crate) fn new(shape: Shape, limits: Limits, pipe: File) -> Self {
        let inner = Inner { pipe: Some(pipe), ..Inner::default() };
        Self { shape, limits, inner: Mutex::new(inner) }
    }

    /// What it is.
    pub(crate) fn shape(&self) -> Shape {
        self.shape
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads.
    pub(crate) fn read(&self, offset: u64, buffer: &mut [u8]) {
        self.lock().content.read(offset, buffer);
    }

    /// Writes, in whole units: what a program leaves of the first and the last one stays as it is.
    pub(crate) fn write(&self, offset: u64, data: &[u8]) {
        let unit = u64::from(self.shape.unit);
        let begin = offset / unit * unit;
        let end = (offset + data.len() as u64).div_ceil(unit) * unit;
        let mut inner = self.lock();
        inner.drain(&self.limits);
        inner.content.write(offset, data);
        if !inner.has_begun && inner.content.bytes() > self.limits.base_bytes {
            inner.over.get_or_insert(Over::Base);
        }
        if inner.is_recording && end > begin {
            let mut whole = vec![0; (end - begin) as usize];
            inner.content.read(begin, &mut whole);
            let goes_on = inner.cut == Some(offset);
            match goes_on {
                true => inner.append(begin, &whole, &self.limits),
                false => inner.log(Event::Write { offset: begin, data: whole.into() }, &self.limits),
            }
            // From the second part on, the buffer begins with a page.
            let is_cut = data.len() >= CUT_BYTES_MIN && (goes_on || data.len() < WRITE_BYTES_MAX as usize);
            inner.cut = is_cut.then_some(offset + data.len() as u64);
        }
    }

    /// Makes zeros. Units at the ends that are not whole are written.
    pub(crate) fn zero(&self, offset: u64, length: u64) {
        let unit = u64::from(self.shape.unit);
        let (begin, end) = (offset.div_ceil(unit) * unit, (offset + length) / unit * unit);
        if begin >= end {
            return self.write(offset, &vec![0; length as usize]);
        }
        if offset < begin {
            self.write(offset, &vec![0; (begin - offset) as usize]);
        }
        if offset + length > end {
            self.write(end, &vec![0; (offset + length - end) as usize]);
        }
        let mut inner = self.lock();
        inner.drain(&self.limits);
        inner.content.zero(begin, end - begin);
        inner.log(Event::Trim { offset: begin, length: end - begin }, &self.limits);
    }

    /// Flushes.
    pub(crate) fn flush(&self) {
        let mut inner = self.lock();
        inner.drain(&self.limits);
        // Two in a row are as one.
        if inner.events.last() != Some(&Event::Flush) {
            inner.log(Event::Flush, &self.limits);
        }
    }

    /// Takes what is in the pipe.
    pub(crate) fn drain(&self) {
        self.lock().drain(&self.limits);
    }

    /// A mark that did not come by the pipe. Those in the pipe are before it.
    /// False: it records no more.
    pub(crate) fn mark(&self, text: &[u8]) -> bool {
        let mut inner = self.lock();
        inner.drain(&self.limits);
        inner.mark(text, &self.limits);
        inner.over.is_none()
    }

    /// Why it records no more, if so.
    pub(crate) fn over(&self) -> Option<Over> {
        self.lock().over
    }

    /// Whether it records no more.
    pub(crate) fn is_over(&self) -> bool {
        self.over().is_some()
    }

    /// From now on it is recorded; what there is is durable.
    pub(crate) fn begin(&self) {
        let mut inner = self.lock();
        inner.drain(&self.limits);
        // A line that is not complete is no part of the workload's first mark.
        inner.line.clear();
        inner.base = inner.content.clone();
        (inner.has_begun, inner.is_recording) = (true, true);
    }

    /// The workload has ended. What comes now only helps to name files.
    pub(crate) fn end(&self) {
        let mut inner = self.lock();
        inner.drain(&self.limits);
        inner.end = Some(inner.events.len());
    }

    /// What was recorded.
    pub(crate) fn run(&self) -> Run {
        let mut inner = self.lock();
        let events = std::mem::take(&mut inner.events);
        let end = inner.end.unwrap_or(events.len());
        inner.is_recording = false;
        Run { shape: self.shape, base: std::mem::take(&mut inner.base), events, end }
    }
}

impl Inner {
    /// The rest of a write that the kernel has cut, in whole units. It begins in the last unit of the first part, or
    /// behind it.
    fn append(&mut self, begin: u64, whole: &[u8], limits: &Limits) {
        let Some(Event::Write { offset, data }) = self.events.pop() else { return };
        self.log_bytes -= data.len() as u64 + size_of::<Event>() as u64;
        let mut all = data.into_vec();
        all.truncate((begin - offset) as usize);
        all.extend_from_slice(whole);
        self.log(Event::Write { offset, data: all.into() }, limits);
    }

    fn log(&mut self, event: Event, limits: &Limits) {
        self.cut = None;
        if !self.is_recording || self.over.is_some() {
            return;
        }
        self.log_bytes += event.log_bytes();
        if self.log_bytes > limits.log_bytes {
            self.over = Some(Over::Log);
        } else {
            self.events.push(event);
        }
    }

    fn drain(&mut self, limits: &Limits) {
        let Some(mut pipe) = self.pipe.take() else { return };
        let mut buffer = [0; 4096];
        // It does not block: an error is that there is nothing now.
        while let Ok(length @ 1..) = pipe.read(&mut buffer) {
            for byte in buffer.iter().take(length) {
                if *byte == b'\n' {
                    let line = std::mem::take(&mut self.line);
                    self.mark(&line, limits);
                } else if self.line.len() <= MARK_BYTES_MAX {
                    self.line.push(*byte);
                }
            }
        }
        self.pipe = Some(pipe);
    }

    /// A line, complete or longer than a mark may be.
    fn mark(&mut self, text: &[u8], limits: &Limits) {
        if !self.is_recording || self.end.is_some() {
            return;
        }
        if text.len() > MARK_BYTES_MAX {
            self.over.get_or_insert(Over::Mark);
        }
        match str::from_utf8(text) {
            Ok(text) => self.log(Event::Mark(text.to_string()), limits),
            Err(_) => _ = self.over.get_or_insert(Over::NoText),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drive() -> Drive {
        let (read, _) = std::io::pipe().unwrap();
        let shape = Shape { size: 1 << 20, unit: 512, atomic_write: 512 };
        Drive::new(
            shape,
            Limits { log_bytes: 1 << 20, base_bytes: 64 << 10 },
            File::from(std::os::fd::OwnedFd::from(read)),
        )
    }

    #[test]
    fn a_flush_is_logged_after_a_mark_too() {
        let drive = drive();
        drive.begin();
        drive.write(0, &[1; 512]);
        drive.flush();
        drive.flush();
        drive.mark(b"1");
        drive.flush();
        let whats: Vec<&str> = drive.run().events.iter().map(Event::what).collect();
        assert_eq!(whats, ["write", "flush", "mark", "flush"]);
    }

    #[test]
    fn a_write_that_the_kernel_has_cut_is_one_and_others_stay_apart() {
        let (read, _) = std::io::pipe().unwrap();
        let shape = Shape { size: 1 << 30, unit: 512, atomic_write: 1 << 20 };
        let limits = Limits { log_bytes: 1 << 30, base_bytes: 1 << 20 };
        let drive = Drive::new(shape, limits, File::from(std::os::fd::OwnedFd::from(read)));
        drive.begin();
        let (most, mib) = ((1 << 20) - 48, 1u64 << 20);
        // 2 MiB, of a buffer that begins 48 bytes behind a page; then 1 MiB of one 512 bytes behind.
        drive.write(0, &vec![1; most]);
        drive.write(most as u64, &vec![2; 1 << 20]);
        drive.write(2 * mib - 48, &[3; 48]);
        drive.write(4 * mib, &vec![4; (1 << 20) - 512]);
        drive.write(5 * mib - 512, &[5; 512]);
        // Whole ones, one after the other; and a flush or a mark between.
        drive.write(8 * mib, &vec![6; 1 << 20]);
        drive.write(9 * mib, &vec![6; most]);
        drive.flush();
        drive.write(9 * mib + most as u64, &[7; 48]);
        let run = drive.run();
        let ranges: Vec<_> = run.events.iter().filter_map(Event::range).collect();
        let expected = [(0, 2 * mib), (4 * mib, mib), (8 * mib, mib), (9 * mib, mib), (10 * mib - 512, 512)];
        assert_eq!(ranges, expected);
        assert_eq!((run.atoms(1), run.atoms(2)), (4096, 1));
        let first = run.events[0].bytes(0, 2 << 20).unwrap();
        let count = |value| first.iter().filter(|byte| **byte == value).count();
        assert_eq!((count(1), count(2), count(3)), (most, 1 << 20, 48));
        assert!(first.is_sorted());
    }

    #[test]
    fn what_is_there_before_recording_is_bounded_and_zeros_do_not_count() {
        let drive = drive();
        drive.write(0, &vec![0; 1 << 20]);
        drive.write(0, &[1; 64 << 10]);
        drive.write(0, &[2; 64 << 10]);
        assert_eq!(drive.over(), None);
        drive.write(1 << 19, &[1; 1]);
        assert_eq!(drive.over(), Some(Over::Base));
    }

    #[test]
    fn what_is_logged_are_whole_units() {
        let drive = drive();
        drive.write(0, &[1; 600]);
        drive.begin();
        drive.write(510, &[2; 4]);
        drive.zero(100, 1000);
        drive.flush();
        drive.flush();
        let run = drive.run();
        let ranges: Vec<_> = run.events.iter().map(Event::range).collect();
        assert_eq!(ranges, [Some((0, 1024)), Some((0, 512)), Some((1024, 512)), Some((512, 512)), None]);
        assert_eq!(run.events[0].bytes(0, 1024).unwrap()[508..516], [1, 1, 2, 2, 2, 2, 1, 1]);
        assert_eq!(run.events[1].bytes(0, 512).unwrap()[98..102], [1, 1, 0, 0]);
    }
}
