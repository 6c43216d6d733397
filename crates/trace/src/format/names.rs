//! Devices that a trace knows by name, numbered in order of appearance.

use crate::number::Flaw;

const NAMES_MAX: usize = 65_536;
const NAME_BYTES_MAX: usize = 4096;

/// The names seen so far.
#[derive(Default)]
pub(crate) struct Names {
    numbers: hashbrown::HashMap<Box<[u8]>, u32>,
}

impl Names {
    /// The number of a name; a new one for a name not seen before. `what` is what the names are of.
    pub(crate) fn device(&mut self, name: &[u8], what: &str) -> Result<u32, Flaw> {
        if let Some(&device) = self.numbers.get(name) {
            return Ok(device);
        }
        if self.numbers.len() >= NAMES_MAX || name.len() > NAME_BYTES_MAX {
            return Err(Flaw::Value(format!("over {NAMES_MAX} {what}, or a name over {NAME_BYTES_MAX} bytes")));
        }
        let device = self.numbers.len() as u32;
        self.numbers.insert(name.into(), device);
        Ok(device)
    }
}
