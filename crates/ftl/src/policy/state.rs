//! The memory of a policy: only what the ledger counts compiles.
//!
//! A policy owns no memory but [`State`]. That is values that can be copied bit by bit, which have none besides their
//! own bytes, and [`Table`]s, which state their size. A struct of these is made with `state!`. The macro requires that
//! of each field and enters each in the ledger. It has each saved as well: a type of a policy's own derives
//! `phelsuma_nand::state::Preserve`. So no byte has to be declared. A field that the ledger would not count,
//! such as a `Vec`, is an error of the compiler that names it.
//!
//! **What this does not catch:** memory that is not the policy's own, such as a `static` or what a `&'static` reference
//! leads to. Do not keep anything there: two drives would share it, and a branch of the crash laboratory would see
//! another one's changes. Nor does it catch an `impl State` by hand that enters less than there is. The contract has
//! none.

use crate::RamLedger;
use crate::blocks::GroupMinima;
use alloc::boxed::Box;
use alloc::vec;
use core::ops::{Deref, DerefMut};
use phelsuma_nand::state::{Preserve, Result, StateIn, StateOut};

/// Memory that the ledger counts. It is implemented for all that is `Copy` and can be saved, for
/// [`Table`] and for [`GroupMinima`](super::GroupMinima), and by `state!` for a struct of these.
#[diagnostic::on_unimplemented(
    message = "the RAM ledger would not count `{Self}`",
    label = "a policy may keep values that are `Copy` and can be saved, and `policy::Table`",
    note = "a struct of these is made with `policy::state!`"
)]
pub trait State: Preserve {
    /// Enters it in the ledger.
    #[doc(hidden)]
    fn enter(&self, ledger: &mut RamLedger);
}

impl<T: Copy + Preserve> State for T {
    fn enter(&self, ledger: &mut RamLedger) {
        if size_of::<T>() > 0 {
            ledger.structure("policy.values", size_of::<T>() as u64);
        }
    }
}

impl State for GroupMinima {
    fn enter(&self, ledger: &mut RamLedger) {
        ledger.index("index.group_minima", self.bytes());
    }
}

/// A table of a policy: as many values as it was made with. It is a slice otherwise.
#[derive(Clone, Debug)]
pub struct Table<T> {
    name: &'static str,
    values: Box<[T]>,
}

impl<T: Copy> Table<T> {
    /// So many of these values. The ledger has it under this name: `victim.NAME` or `placement.NAME`.
    pub fn new(name: &'static str, len: usize, value: T) -> Self {
        Self { name, values: vec![value; len].into_boxed_slice() }
    }
}

impl<T> Deref for Table<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        &self.values
    }
}

impl<T> DerefMut for Table<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.values
    }
}

impl<T: Preserve> Preserve for Table<T> {
    fn put_state(&self, to: &mut dyn StateOut) -> Result<()> {
        self.values.put_state(to)
    }

    fn take_state(&mut self, from: &mut dyn StateIn) -> Result<()> {
        self.values.take_state(from)
    }
}

impl<T: Copy + Preserve> State for Table<T> {
    fn enter(&self, ledger: &mut RamLedger) {
        ledger.structure(self.name, size_of_val(&*self.values) as u64);
        ledger.index("index.policy_tables", size_of::<Self>() as u64);
    }
}

/// A struct that a policy keeps: each of its fields is [`State`](crate::policy::State).
///
/// ```
/// use phelsuma_ftl::policy::{Table, state};
///
/// state! {
///     /// When each block was closed.
///     pub struct Closed {
///         order: Table<u32>,
///         next: u32,
///     }
/// }
/// let closed = Closed { order: Table::new("victim.closed_order", 64, 0), next: 0 };
/// assert_eq!(closed.order.len() as u32 + closed.next, 64);
/// ```
///
/// What the ledger would not count is refused by the compiler:
///
/// ```compile_fail
/// phelsuma_ftl::policy::state! {
///     struct Closed {
///         order: Vec<u32>,
///     }
/// }
/// ```
#[macro_export]
#[doc(hidden)]
macro_rules! policy_state {
    ($(#[$attribute:meta])* $visible:vis struct $name:ident {
        $($(#[$of_field:meta])* $field_visible:vis $field:ident: $type:ty),* $(,)?
    }) => {
        $(#[$attribute])*
        #[derive(Clone)]
        $visible struct $name {
            $($(#[$of_field])* $field_visible $field: $type),*
        }

        impl $crate::policy::Preserve for $name {
            fn put_state(&self, to: &mut dyn $crate::policy::StateOut) -> $crate::policy::StateResult<()> {
                $($crate::policy::Preserve::put_state(&self.$field, to)?;)*
                Ok(())
            }

            fn take_state(&mut self, from: &mut dyn $crate::policy::StateIn) -> $crate::policy::StateResult<()> {
                $($crate::policy::Preserve::take_state(&mut self.$field, from)?;)*
                Ok(())
            }
        }

        impl $crate::policy::State for $name {
            fn enter(&self, ledger: &mut $crate::RamLedger) {
                $(<$type as $crate::policy::State>::enter(&self.$field, ledger);)*
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    crate::policy_state! {
        struct Mine {
            ages: Table<u16>,
            counts: Table<u64>,
            threshold: u32,
            hot: [u64; 2],
        }
    }

    #[test]
    fn every_byte_is_in_the_ledger() {
        let (ages, counts) = (Table::new("victim.ages", 10, 7), Table::new("victim.counts", 5, 0));
        let mine = Mine { ages, counts, threshold: 4, hot: [0; 2] };
        let mut ledger = RamLedger::default();
        mine.enter(&mut ledger);
        let entries: Vec<_> = ledger.papers().collect();
        assert_eq!(entries, [("victim.ages", 20), ("victim.counts", 40), ("policy.values", 20)]);
        assert_eq!(ledger.all_total() - ledger.papers_total(), 2 * size_of::<Table<u16>>() as u64);
        assert_eq!((mine.ages[3], mine.threshold, mine.hot, mine.counts.len()), (7, 4, [0; 2], 5));
    }
}
