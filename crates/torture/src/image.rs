//! Makes a file the image of a state.
//!
//! A check may have written anything to it, so all of it is compared. Only what differs is written: to free all pages
//! and to take others costs more.

use crate::model::Cursor;
use rustix::fs::{FallocateFlags, SeekFrom, fallocate, seek};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// What is read at once where all is written: a chunk at a time is mostly system calls.
const AHEAD_BYTES_MAX: usize = 1 << 18;

/// Makes it.
pub(crate) fn put(file: &File, size: u64, cursor: &Cursor<'_>) -> io::Result<()> {
    match over(file, size, cursor) {
        // Not every file system can make holes.
        Err(error) if error.kind() == io::ErrorKind::Unsupported => fresh(file, size, cursor),
        done => done,
    }
}

/// In an empty file.
fn fresh(file: &File, size: u64, cursor: &Cursor<'_>) -> io::Result<()> {
    file.set_len(0)?;
    file.set_len(size)?;
    cursor.each(|offset, bytes| file.write_all_at(bytes, offset))
}

/// Over what the file holds.
fn over(file: &File, size: u64, cursor: &Cursor<'_>) -> io::Result<()> {
    file.set_len(size)?;
    let (mut held, mut done) = (Held { file, size, start: 0, bytes: Vec::new() }, 0);
    cursor.each(|offset, bytes| -> io::Result<()> {
        zero(file, done, offset)?;
        done = offset + bytes.len() as u64;
        for (part, at) in bytes.chunks(AHEAD_BYTES_MAX).zip((offset..).step_by(AHEAD_BYTES_MAX)) {
            if held.at(at, part.len())? != part {
                file.write_all_at(part, at)?;
            }
        }
        Ok(())
    })?;
    zero(file, done, size)
}

/// What a file holds, read ahead where one place after the other is asked for.
struct Held<'f> {
    file: &'f File,
    size: u64,
    start: u64,
    bytes: Vec<u8>,
}

impl Held<'_> {
    fn at(&mut self, offset: u64, length: usize) -> io::Result<&[u8]> {
        let end = self.start + self.bytes.len() as u64;
        if offset < self.start || offset + length as u64 > end {
            let ahead = if offset == end { (self.bytes.len() * 2).min(AHEAD_BYTES_MAX) } else { 0 };
            self.bytes.resize(ahead.max(length).min((self.size - offset) as usize), 0);
            self.start = offset;
            self.file.read_exact_at(&mut self.bytes, offset)?;
        }
        let from = (offset - self.start) as usize;
        Ok(self.bytes.get(from..from + length).unwrap_or(&[]))
    }
}

/// Makes a hole of what holds data.
fn zero(file: &File, from: u64, to: u64) -> io::Result<()> {
    if from == to {
        return Ok(());
    }
    let data = match seek(file, SeekFrom::Data(from)) {
        Ok(data) => data,
        Err(rustix::io::Errno::NXIO) => to,
        Err(error) => return Err(error.into()),
    };
    if data < to {
        fallocate(file, FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, data, to - data)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Atoms, Content, Event, Lost, Policy, Run, Shape, State};
    use std::io::Read;

    const SIZE: u64 = 1 << 20;

    fn run() -> Run {
        let mut base = Content::default();
        base.write(0, &[9; 300_000]);
        base.write(700_000, &[8; 10_000]);
        let write = |offset: u64, byte| Event::Write { offset, data: vec![byte; 2048].into() };
        let events = vec![
            write(1024, 1),
            write(400_384, 2),
            Event::Trim { offset: 8192, length: 100_352 },
            write(9216, 3),
            write(SIZE - 2048, 4),
        ];
        Run { shape: Shape { size: SIZE, unit: 512, atomic_write: 512 }, base, end: events.len(), events }
    }

    #[test]
    fn what_a_check_wrote_is_undone_whatever_it_was() {
        let path = std::env::temp_dir().join(format!("phelsuma-torture-image.{}", std::process::id()));
        let file = File::options().create_new(true).read(true).write(true).open(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let run = run();
        let mut cursor = Cursor::new(&run, Policy::Subset);
        for number in 0..64u64 {
            // A check that writes here and there, or cuts the file, or lengthens it.
            let at = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) % SIZE;
            file.write_all_at(&vec![7; 5000 + (at % 50_000) as usize], at).unwrap();
            match number % 8 {
                2 => file.set_len(at).unwrap(),
                5 => file.set_len(2 * SIZE).unwrap(),
                _ => {}
            }
            let lost = (1..=5).filter(|event| number >> event & 1 == 1);
            let lost: Lost = lost.map(|event| (event, Atoms::first(run.atoms(event)))).collect();
            cursor.set(&State { cut: 5, lost });
            put(&file, SIZE, &cursor).unwrap();
            let mut expected = vec![0; SIZE as usize];
            let given: io::Result<()> = cursor.each(|offset, bytes| {
                expected[offset as usize..][..bytes.len()].copy_from_slice(bytes);
                Ok(())
            });
            given.unwrap();
            let mut found = Vec::new();
            rustix::fs::seek(&file, SeekFrom::Start(0)).unwrap();
            (&file).read_to_end(&mut found).unwrap();
            assert!(found == expected, "{number}");
        }
    }
}
