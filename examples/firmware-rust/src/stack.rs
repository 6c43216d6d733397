//! How deep the stack was: words below it are painted, and what has another colour later was used.

use core::ptr::{read_volatile, with_exposed_provenance_mut, write_volatile};

const PAINT: u32 = 0x5354_4b21;

/// As deep as anybody looks.
const BYTES: usize = 16 * 1024;

/// A painted stack.
#[derive(Clone, Copy)]
pub struct Painted {
    /// The stack pointer of who painted.
    top: usize,
}

impl Painted {
    /// Paints what is below the caller.
    #[inline(always)]
    pub fn below_here() -> Self {
        let painted = Self { top: cortex_m::register::msp::read() as usize & !3 };
        painted.paint();
        painted
    }

    fn words(self) -> impl Iterator<Item = *mut u32> {
        (self.top - BYTES..self.top).step_by(4).map(with_exposed_provenance_mut)
    }

    #[inline(never)]
    fn paint(self) {
        let own = cortex_m::register::msp::read() as usize - 128;
        for word in self.words().take_while(|word| word.addr() < own) {
            // SAFETY: it is below all frames, that of this function's callees too: in memory that is nobody's.
            unsafe { write_volatile(word, PAINT) };
        }
    }

    /// Bytes that were used below who painted. What has the same colour by chance is not counted.
    #[inline(never)]
    pub fn depth(self) -> u32 {
        // SAFETY: it is memory of the stack, in use or not.
        let used = self.words().find(|word| unsafe { read_volatile(*word) } != PAINT);
        used.map_or(0, |word| self.top - word.addr()) as u32
    }
}
