//! `Storage` of `embedded-storage` and `embedded-storage-async`: bytes at any offset.
//!
//! Offsets have 32 bits there, so of a disk beyond 4 GiB the first 4 GiB can be reached.

use crate::disk::Disk;
use crate::error::Error;
use embedded_storage::{ReadStorage, Storage};
use phelsuma_mcu::{Flash, Parts};

impl<P, M, F, B> ReadStorage for Disk<P, M, F, B>
where
    P: Parts,
    M: AsRef<[u8]> + AsMut<[u8]>,
    F: Flash,
    B: AsMut<[u8]>,
{
    type Error = Error;

    fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), Error> {
        Disk::read(self, offset.into(), bytes)
    }

    fn capacity(&self) -> usize {
        usize::try_from(self.bytes()).unwrap_or(usize::MAX)
    }
}

impl<P, M, F, B> Storage for Disk<P, M, F, B>
where
    P: Parts,
    M: AsRef<[u8]> + AsMut<[u8]>,
    F: Flash,
    B: AsMut<[u8]>,
{
    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), Error> {
        Disk::write(self, offset.into(), bytes)
    }
}

impl<P, M, F, B> embedded_storage_async::ReadStorage for Disk<P, M, F, B>
where
    P: Parts,
    M: AsRef<[u8]> + AsMut<[u8]>,
    F: Flash,
    B: AsMut<[u8]>,
{
    type Error = Error;

    /// Never waits: all of it is done at the first poll.
    async fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), Error> {
        Disk::read(self, offset.into(), bytes)
    }

    fn capacity(&self) -> usize {
        ReadStorage::capacity(self)
    }
}

impl<P, M, F, B> embedded_storage_async::Storage for Disk<P, M, F, B>
where
    P: Parts,
    M: AsRef<[u8]> + AsMut<[u8]>,
    F: Flash,
    B: AsMut<[u8]>,
{
    /// Never waits: all of it is done at the first poll.
    async fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), Error> {
        Disk::write(self, offset.into(), bytes)
    }
}
