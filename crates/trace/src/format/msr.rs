//! MSR Cambridge CSV: `Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime`.
//!
//! Timestamps are Windows file time (100 ns since 1601), offsets and sizes bytes. The last column may be missing.
//!
//! Disks of different hosts are different devices. The device is the disk number plus 65,536 times the host's index in
//! order of appearance. Hence it is the plain disk number in the usual file of one host.

use super::line_parser::{LineParser, Separator};
use super::{Item, TimeUnit};
use crate::format::diskmon::read_or_write;
use crate::number::{self, Flaw, split_comma};

const HOSTS_MAX: usize = 1024;
const HOST_NAME_BYTES_MAX: usize = 256;

pub(crate) struct Msr {
    time: TimeUnit,
    hosts: Vec<Box<[u8]>>,
}

impl Msr {
    pub(crate) fn new(time: TimeUnit) -> Self {
        Msr { time, hosts: Vec::new() }
    }

    fn host(&mut self, name: &[u8]) -> Result<u32, Flaw> {
        let index = match self.hosts.iter().position(|known| **known == *name) {
            Some(index) => index,
            None if self.hosts.len() < HOSTS_MAX && name.len() <= HOST_NAME_BYTES_MAX => {
                self.hosts.push(name.into());
                self.hosts.len() - 1
            }
            None => {
                let what = format!("over {HOSTS_MAX} host names, or one over {HOST_NAME_BYTES_MAX} bytes");
                return Err(Flaw::Value(what));
            }
        };
        Ok((index as u32) << 16)
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
