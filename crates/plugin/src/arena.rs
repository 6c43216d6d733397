//! The memory of a drive, and its copies.
//!
//! A state may hold pointers into itself, so a copy of its bytes would be of no use elsewhere. The copies of a drive take
//! turns: before a call the bytes of the copy that is called come to the place where they belong.

use crate::interface::{Chip, Nand};
use crate::lent::Lent;
use core::ffi::c_void;
use std::collections::HashMap;
use std::mem;

/// Memory of which 16 bytes at a time are aligned, as the header says.
type Bytes = Box<[u128]>;

/// What stands behind the memory: a plugin that writes there writes too far.
const GUARD: u128 = 0x6775_6172_645f_6775_6172_645f_6775_6172;

/// How much of it.
const GUARDS: usize = 4;

/// A copy of a drive.
pub(crate) type Copy = u64;

/// The memory of a drive, with the flash that is lent to it. It stays where it is.
#[derive(Debug)]
pub(crate) struct Arena {
    memory: Bytes,
    table: Box<Nand>,
    lent: *mut Lent,
    /// Whose bytes stand in `memory`.
    here: Copy,
    /// Those of the others.
    elsewhere: HashMap<Copy, Bytes>,
    next: Copy,
}

// SAFETY: the pointers lead to what the arena owns, and to a chip that is lent for a call. Who calls has the arena alone.
unsafe impl Send for Arena {}

impl Arena {
    /// Memory for a first copy, number 0: zeros.
    pub(crate) fn new(chip: Chip, logical_pages: u32, bytes: usize) -> Self {
        let lent = Box::into_raw(Box::new(Lent::new(chip, logical_pages)));
        let mut memory = vec![0; bytes.div_ceil(size_of::<u128>()) + GUARDS];
        let own = memory.len() - GUARDS;
        memory[own..].fill(GUARD);
        let memory = memory.into_boxed_slice();
        Self { memory, table: Box::new(Lent::table(lent, chip)), lent, here: 0, elsewhere: HashMap::new(), next: 1 }
    }

    /// The flash that is lent. A plugin that is called has the only other way to it.
    pub(crate) fn lent(&mut self) -> &mut Lent {
        // SAFETY: it is the box of `new`, which `drop` takes back. No call of the plugin is under way, because that would
        // have the arena.
        unsafe { &mut *self.lent }
    }

    /// The memory and the table for a call of this copy.
    pub(crate) fn of(&mut self, copy: Copy) -> (*mut c_void, *const Nand) {
        if copy != self.here {
            let theirs = self.elsewhere.remove(&copy).expect("a copy that is called lives");
            // In place: pointers lead here.
            let before = self.memory.clone();
            self.memory.copy_from_slice(&theirs);
            self.elsewhere.insert(mem::replace(&mut self.here, copy), before);
        }
        (self.memory.as_mut_ptr().cast(), &raw const *self.table)
    }

    /// One more like this one.
    pub(crate) fn copy(&mut self, of: Copy) -> Copy {
        let bytes = if of == self.here { &self.memory } else { &self.elsewhere[&of] };
        let (copy, bytes) = (self.next, bytes.clone());
        self.next += 1;
        self.elsewhere.insert(copy, bytes);
        copy
    }

    /// This one is of no more interest. The bytes of the one that is here stay until another one is called.
    pub(crate) fn forget(&mut self, copy: Copy) {
        self.elsewhere.remove(&copy);
    }

    /// Whether what stands behind the memory is as it was.
    pub(crate) fn is_whole(&self) -> bool {
        self.memory[self.memory.len() - GUARDS..].iter().all(|guard| *guard == GUARD)
    }

    /// Bytes of a copy.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&self.memory[..self.memory.len() - GUARDS])
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        // SAFETY: it is the box of `new`, and nobody else has it.
        drop(unsafe { Box::from_raw(self.lent) });
    }
}
