//! MSR Cambridge CSV: `Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime`.
//!
//! Timestamps are Windows file time (100 ns since 1601), offsets and sizes bytes. The last column may be missing.
//!
//! Disks of different hosts are different devices. The device is the disk number plus 65,536 times the host's index in
//! order of appearance in all files. Hence it is the plain disk number in the usual file of one host.

use super::line_parser::{LineParser, Separator};
use super::names::Names;
use super::{Item, TimeUnit};
use crate::format::diskmon::read_or_write;
use crate::number::{self, Flaw, split_comma};

const HOSTS_MAX: u32 = 1024;

pub(crate) struct Msr {
    time: TimeUnit,
    hosts: Names,
}

impl Msr {
    pub(crate) fn new(time: TimeUnit) -> Self {
        Msr { time, hosts: Names::default() }
    }

    /// With devices numbered as the names of the whole trace are.
    pub(crate) fn numbered(self, hosts: Names) -> Self {
        Msr { hosts, ..self }
    }

    fn host(&mut self, name: &[u8]) -> Result<u32, Flaw> {
        match self.hosts.device(name, "host names")? {
            index if index < HOSTS_MAX => Ok(index << 16),
            _ => Err(Flaw::Value(format!("over {HOSTS_MAX} host names"))),
        }
    }
}

impl LineParser for Msr {
    fn parse(&mut self, line: &[u8]) -> Result<Item, Flaw> {
        let mut columns = [&[][..]; 7];
        number::need_columns(split_comma(line, &mut columns), 6..=7)?;
        let [time, host, disk, op, offset, size, _] = columns;
        let op = read_or_write(op)?;
        let time_ns = number::time(time, self.time.tick(), "the time")?;
        let disk = number::device(disk, "the disk")?;
        let offset = number::whole(offset, "the offset")?;
        let size = number::whole(size, "the size")?;
        if disk > 0xffff {
            return Err(Flaw::Value(format!("disk {disk} is over 65535")));
        }
        let device = self.host(host)? + disk;
        Ok(Item::in_units(time_ns, device, op, (offset, 1), (size, 1)))
    }

    fn separator(&self) -> Separator {
        Separator::Comma
    }

    fn columns(&self) -> Option<usize> {
        Some(7)
    }
}
