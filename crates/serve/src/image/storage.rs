//! The storage under an image: bytes that are read and written at a place, and made durable.

use std::io;

/// A file, as far as an image needs one. Writes are seen by later reads at once; they are durable after
/// [`Storage::sync`], and until then in no order.
pub trait Storage {
    /// Bytes of the file.
    ///
    /// # Errors
    /// The system's error.
    fn len(&self) -> io::Result<u64>;

    /// Whether it has no bytes.
    ///
    /// # Errors
    /// As [`Storage::len`].
    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }

    /// Fills `out` from byte `at` on.
    ///
    /// # Errors
    /// The system's error; [`io::ErrorKind::UnexpectedEof`] past the end.
    fn read_at(&self, at: u64, out: &mut [u8]) -> io::Result<()>;

    /// Writes `bytes` from byte `at` on; all of it lies before the end.
    ///
    /// # Errors
    /// The system's error; then any part may have been written.
    fn write_at(&mut self, at: u64, bytes: &[u8]) -> io::Result<()>;

    /// Makes everything written so far durable.
    ///
    /// # Errors
    /// The system's error; then writes since the last time may be lost, in any part.
    fn sync(&mut self) -> io::Result<()>;
}

/// What an image stands on, decided when the program runs: FTLs are compiled once, and not for each kind of storage.
pub type AnyStorage = Box<dyn Storage + Send>;

impl<S: Storage + ?Sized> Storage for Box<S> {
    fn len(&self) -> io::Result<u64> {
        (**self).len()
    }

    fn read_at(&self, at: u64, out: &mut [u8]) -> io::Result<()> {
        (**self).read_at(at, out)
    }

    fn write_at(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        (**self).write_at(at, bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        (**self).sync()
    }
}

/// The bytes of a slice of this length at a place, where they are all there.
fn range(at: u64, len: usize, of: usize) -> io::Result<core::ops::Range<usize>> {
    let from = usize::try_from(at).ok();
    let to = from.and_then(|from| from.checked_add(len)).filter(|to| *to <= of);
    from.zip(to).map(|(from, to)| from..to).ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
}

/// An image in memory.
impl Storage for Vec<u8> {
    fn len(&self) -> io::Result<u64> {
        Ok(self.as_slice().len() as u64)
    }

    fn read_at(&self, at: u64, out: &mut [u8]) -> io::Result<()> {
        out.copy_from_slice(&self[range(at, out.len(), self.as_slice().len())?]);
        Ok(())
    }

    fn write_at(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        let range = range(at, bytes.len(), self.as_slice().len())?;
        self[range].copy_from_slice(bytes);
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}
