//! Devices that a trace knows by name, numbered in order of appearance over all of its files.

use std::sync::{Arc, Mutex, PoisonError};

use crate::number::Flaw;

const NAMES_MAX: usize = 65_536;
const NAME_BYTES_MAX: usize = 4096;

/// So much all names of a trace may take, in bytes.
const BYTES_MAX: usize = 16 << 20;

/// The names that a file has, which are numbered as those of the other files of its trace.
#[derive(Clone, Default)]
pub(crate) struct Names {
    of_trace: Arc<Mutex<Numbers>>,
    /// The name that came last, and its number.
    last: Option<(Box<[u8]>, u32)>,
}

/// The names seen so far in all files.
#[derive(Default)]
struct Numbers {
    numbers: hashbrown::HashMap<Box<[u8]>, u32>,
    bytes: usize,
}

impl Names {
    /// The number of a name; a new one for a name not seen before. `what` is what the names are of.
    pub(crate) fn device(&mut self, name: &[u8], what: &str) -> Result<u32, Flaw> {
        if let Some((last, device)) = &self.last
            && **last == *name
        {
            return Ok(*device);
        }
        let device = self.of_trace.lock().unwrap_or_else(PoisonError::into_inner).device(name, what)?;
        self.last = Some((name.into(), device));
        Ok(device)
    }
}

impl Numbers {
    fn device(&mut self, name: &[u8], what: &str) -> Result<u32, Flaw> {
        if let Some(&device) = self.numbers.get(name) {
            return Ok(device);
        }
        if self.numbers.len() >= NAMES_MAX || name.len() > NAME_BYTES_MAX || self.bytes + name.len() > BYTES_MAX {
            return Err(Flaw::Value(format!(
                "over {NAMES_MAX} {what}, a name over {NAME_BYTES_MAX} bytes, or names over 16 MiB in all"
            )));
        }
        let device = self.numbers.len() as u32;
        self.bytes += name.len();
        self.numbers.insert(name.into(), device);
        Ok(device)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_a_trace_share_the_numbers_and_other_traces_do_not() {
        let trace = Names::default();
        let (mut first, mut second) = (trace.clone(), trace.clone());
        let mut other = Names::default();
        assert_eq!(first.device(b"a", "disks"), Ok(0));
        assert_eq!(second.device(b"b", "disks"), Ok(1));
        assert_eq!(second.device(b"a", "disks"), Ok(0));
        assert_eq!(first.device(b"b", "disks"), Ok(1));
        assert_eq!(other.device(b"b", "disks"), Ok(0));
    }

    #[test]
    fn names_take_bounded_memory() {
        let mut names = Names::default();
        let name = |n: usize| format!("{n:0>4096}").into_bytes();
        assert!((0..4096).all(|n| names.device(&name(n), "files").is_ok()));
        assert!(matches!(names.device(&name(4096), "files"), Err(Flaw::Value(what)) if what.contains("16 MiB")));
        assert_eq!(names.device(&name(7), "files"), Ok(7));
    }
}
