//! A file in memory that notes its writes, and the remains of them after a crash.
//!
//! All tests beside this one have their image on it: FTLs are compiled for one kind of image.

use crate::image::Storage;
use rand_core::RngCore;
use std::io;

/// The unit that a host writes to its disk at once.
const SECTOR: u64 = 512;

/// Something that was done to the file.
#[derive(Clone)]
pub(super) enum Event {
    Write { at: u64, bytes: Vec<u8> },
    Sync,
}

/// A file in memory that notes its operations.
pub(super) struct Recorder {
    pub(super) bytes: Vec<u8>,
    pub(super) events: Vec<Event>,
    /// Writes until the disk is full.
    pub(super) room: Option<u32>,
}

impl Recorder {
    pub(super) fn new(bytes: Vec<u8>) -> Self {
        Self { bytes, events: Vec::new(), room: None }
    }
}

impl Storage for Recorder {
    fn len(&self) -> io::Result<u64> {
        Storage::len(&self.bytes)
    }

    fn read_at(&self, at: u64, out: &mut [u8]) -> io::Result<()> {
        self.bytes.read_at(at, out)
    }

    fn write_at(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        if let Some(room) = &mut self.room {
            *room = room.checked_sub(1).ok_or(io::ErrorKind::StorageFull)?;
        }
        self.bytes.write_at(at, bytes)?;
        self.events.push(Event::Write { at, bytes: bytes.to_vec() });
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        self.events.push(Event::Sync);
        Ok(())
    }
}

fn put(image: &mut [u8], at: u64, bytes: &[u8]) {
    let at = at as usize;
    image[at..at + bytes.len()].copy_from_slice(bytes);
}

/// How a crash chooses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Crash {
    /// The process dies: every write before is there, and of this one a part.
    Process,
    /// The host dies: of each sector some of the writes since the last `fdatasync`, the first ones, are there.
    SectorsInOrder,
    /// Any pieces are there, whatever their order: worse than disks are.
    AnyPieces,
    /// All but one write.
    OneMissing,
    /// Nothing but one write.
    OneThere,
    /// The writes to one half of the file, and not to the other one: records without their data, and the like.
    HalfOfFile,
}

impl Crash {
    pub(super) const OF_HOST: [Self; 5] =
        [Self::SectorsInOrder, Self::AnyPieces, Self::OneMissing, Self::OneThere, Self::HalfOfFile];
}

/// The file after the first events, as it surely was on disk then, and the writes since.
pub(super) struct Replay<'a> {
    pub(super) events: &'a [Event],
    pub(super) done: usize,
    now: Vec<u8>,
    durable: Vec<u8>,
    /// The event behind the last `fdatasync`.
    unsynced_from: usize,
}

impl<'a> Replay<'a> {
    pub(super) fn new(base: &[u8], events: &'a [Event]) -> Self {
        Self { events, done: 0, now: base.to_vec(), durable: base.to_vec(), unsynced_from: 0 }
    }

    pub(super) fn go_to(&mut self, event: usize) {
        while self.done < event {
            match &self.events[self.done] {
                Event::Write { at, bytes } => put(&mut self.now, *at, bytes),
                Event::Sync => {
                    for event in &self.events[self.unsynced_from..self.done] {
                        if let Event::Write { at, bytes } = event {
                            put(&mut self.durable, *at, bytes);
                        }
                    }
                    self.unsynced_from = self.done + 1;
                }
            }
            self.done += 1;
        }
    }

    /// What such a crash leaves.
    pub(super) fn crash(&self, crash: Crash, rng: &mut impl RngCore) -> Vec<u8> {
        let mut below = |n: usize| (rng.next_u64() % n.max(1) as u64) as usize;
        if crash == Crash::Process {
            let mut image = self.now.clone();
            if let Some(Event::Write { at, bytes }) = self.events.get(self.done) {
                put(&mut image, *at, &bytes[..below(bytes.len() + 1)]);
            }
            return image;
        }
        // The one that is in progress may be there as well.
        let until = (self.done + 1).min(self.events.len());
        let writes: Vec<(u64, &[u8])> = self.events[self.unsynced_from..until]
            .iter()
            .filter_map(|event| match event {
                Event::Write { at, bytes } => Some((*at, bytes.as_slice())),
                Event::Sync => None,
            })
            .collect();
        let mut image = self.durable.clone();
        let (one, middle, side) = (below(writes.len()), below(image.len()) as u64, below(2) == 0);
        let likely = [5, 50, 90][below(3)];
        let mut closed = std::collections::BTreeSet::new();
        for (n, (at, bytes)) in writes.into_iter().enumerate() {
            let mut from = 0;
            while from < bytes.len() {
                let place = at + from as u64;
                let sector = place / SECTOR;
                let len = ((SECTOR - place % SECTOR) as usize).min(bytes.len() - from);
                let there = match crash {
                    Crash::Process => true,
                    Crash::AnyPieces => below(100) < likely,
                    Crash::OneMissing => n != one,
                    Crash::OneThere => n == one,
                    Crash::HalfOfFile => (place < middle) == side,
                    Crash::SectorsInOrder => {
                        if below(100) >= likely {
                            closed.insert(sector);
                        }
                        !closed.contains(&sector)
                    }
                };
                if there {
                    put(&mut image, place, &bytes[from..from + len]);
                }
                from += len;
            }
        }
        image
    }
}
