//! The state of a simulation as bytes: how a drive that was filled and warmed up is saved, and taken back.
//!
//! The bytes are for the build that wrote them, and name nothing. Every type states its own part, by
//! `#[derive(Preserve)]`. Vectors take back the room that they had: the RAM ledger shows it.

pub use phelsuma_state::Preserve;

use crate::{Block, LogicalPage, Page, Time};
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet, BinaryHeap, VecDeque};
use alloc::vec::Vec;

/// Why a state is not saved, or not taken back.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum StateError {
    /// Bytes cannot be written, or there are no more; who writes and reads them knows more.
    #[error("the bytes end")]
    Ends,
    /// They are another state's.
    #[error("the bytes are no state of this kind")]
    NotAState,
    /// There is too little memory for it.
    #[error("there is too little memory for it")]
    Memory,
    /// A part cannot be saved.
    #[error("{0} cannot be saved")]
    Unsaved(&'static str),
}

/// A result of saving or of taking back.
pub type Result<T> = core::result::Result<T, StateError>;

/// Where bytes go.
pub trait StateOut {
    /// Takes these.
    ///
    /// # Errors
    /// [`StateError::Ends`].
    fn put(&mut self, bytes: &[u8]) -> Result<()>;
}

/// Where bytes come from.
pub trait StateIn {
    /// Fills `bytes`.
    ///
    /// # Errors
    /// [`StateError::Ends`].
    fn take(&mut self, bytes: &mut [u8]) -> Result<()>;
}

/// What can be saved, and taken back into what was made by the same configuration.
pub trait Preserve {
    /// Writes it.
    ///
    /// # Errors
    /// Those of `to`.
    fn put_state(&self, to: &mut dyn StateOut) -> Result<()>;

    /// Becomes what was saved.
    ///
    /// # Errors
    /// Those of `from`; [`StateError::NotAState`]. Then this is in no state to be used.
    fn take_state(&mut self, from: &mut dyn StateIn) -> Result<()>;
}

/// What can be made from its saved state alone.
pub trait Load: Sized {
    /// What was saved.
    ///
    /// # Errors
    /// As those of [`Preserve::take_state`].
    fn load(from: &mut dyn StateIn) -> Result<Self>;
}

macro_rules! numbers {
    ($($number:ty),*) => { $(
        impl Preserve for $number {
            #[inline]
            fn put_state(&self, to: &mut dyn StateOut) -> Result<()> {
                to.put(&self.to_le_bytes())
            }

            #[inline]
            fn take_state(&mut self, from: &mut dyn StateIn) -> Result<()> {
                *self = Self::load(from)?;
                Ok(())
            }
        }

        impl Load for $number {
            #[inline]
            fn load(from: &mut dyn StateIn) -> Result<Self> {
                let mut bytes = [0; size_of::<Self>()];
                from.take(&mut bytes)?;
                Ok(Self::from_le_bytes(bytes))
            }
        }
    )* };
}

numbers!(i8, u8, u16, u32, u64, u128, i32, i64, f32, f64);

/// A state that is saved as another one.
macro_rules! saved_as {
    ($([$($generics:tt)*] $of:ty, $saved:expr, $taken:expr;)*) => { $(
        impl<$($generics)*> Preserve for $of {
            fn put_state(&self, to: &mut dyn StateOut) -> Result<()> {
                let saved: fn(&Self, &mut dyn StateOut) -> Result<()> = $saved;
                saved(self, to)
            }

            fn take_state(&mut self, from: &mut dyn StateIn) -> Result<()> {
                *self = Self::load(from)?;
                Ok(())
            }
        }

        impl<$($generics)*> Load for $of {
            fn load(from: &mut dyn StateIn) -> Result<Self> {
                let taken: fn(&mut dyn StateIn) -> Result<Self> = $taken;
                taken(from)
            }
        }
    )* };
}

saved_as! {
    [] bool, |it, to| u8::from(*it).put_state(to), |from| match u8::load(from)? {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(StateError::NotAState),
    };
    [] usize, |it, to| (*it as u64).put_state(to), |from| usize::try_from(u64::load(from)?).map_err(|_| StateError::NotAState);
    [] Block, |it, to| it.0.put_state(to), |from| u32::load(from).map(Block);
    [] Page, |it, to| it.0.put_state(to), |from| u32::load(from).map(Page);
    [] LogicalPage, |it, to| it.0.put_state(to), |from| u32::load(from).map(LogicalPage);
    [] Time, |it, to| it.0.put_state(to), |from| u64::load(from).map(Time);
    [T: Preserve + Load] Option<T>, |it, to| {
        it.is_some().put_state(to)?;
        it.iter().try_for_each(|some| some.put_state(to))
    }, |from| Ok(if bool::load(from)? { Some(T::load(from)?) } else { None });
    [T: Preserve + Load] Vec<T>, |it, to| save_all(it.capacity(), it.len(), it.iter(), to), |from| {
        let (room, many) = (usize::load(from)?, usize::load(from)?);
        let mut all = Vec::new();
        // By what there is, not by what is said: a number that is wrong costs no memory.
        for _ in 0..many {
            if all.len() == all.capacity() {
                let more = (room.max(many) - all.len()).min(ROOM.max(all.len()));
                all.try_reserve_exact(more).map_err(|_| StateError::Memory)?;
            }
            all.push(T::load(from)?);
        }
        all.try_reserve_exact(room.saturating_sub(all.len())).map_err(|_| StateError::Memory)?;
        Ok(all)
    };
    [T: Preserve + Load] VecDeque<T>, |it, to| save_all(it.capacity(), it.len(), it.iter(), to),
        |from| Vec::load(from).map(VecDeque::from);
    [T: Preserve + Load] alloc::sync::Arc<[T]>, |it, to| save_all(it.len(), it.len(), it.iter(), to),
        |from| Vec::load(from).map(Vec::into);
    [T: Preserve + Load + Ord] BinaryHeap<T>, |it, to| save_all(it.capacity(), it.len(), it.iter(), to),
        // As it lies it is a heap already, so it stays as it lies.
        |from| Vec::load(from).map(BinaryHeap::from);
    [T: Preserve + Load] core::cmp::Reverse<T>, |it, to| it.0.put_state(to), |from| T::load(from).map(core::cmp::Reverse);
    [T: Preserve + Load + Copy] core::cell::Cell<T>, |it, to| it.get().put_state(to), |from| T::load(from).map(core::cell::Cell::new);
    [T: Preserve + Load] core::ops::Range<T>, |it, to| { it.start.put_state(to)?; it.end.put_state(to) },
        |from| Ok(T::load(from)?..T::load(from)?);
    [T: Preserve + Load + Ord] BTreeSet<T>, |it, to| save_all(it.len(), it.len(), it.iter(), to),
        |from| Ok(Vec::load(from)?.into_iter().collect());
    [K: Preserve + Load + Ord, V: Preserve + Load] BTreeMap<K, V>, |it, to| {
        it.len().put_state(to)?;
        it.iter().try_for_each(|(key, value)| { key.put_state(to)?; value.put_state(to) })
    }, |from| {
        let many = usize::load(from)?;
        (0..many).map(|_| Ok((K::load(from)?, V::load(from)?))).collect()
    };
    [K: Preserve + Load + Eq + core::hash::Hash, V: Preserve + Load, S: core::hash::BuildHasher + Default]
    hashbrown::HashMap<K, V, S>, |it, to| {
        it.len().put_state(to)?;
        it.iter().try_for_each(|(key, value)| { key.put_state(to)?; value.put_state(to) })
    }, |from| {
        let many = usize::load(from)?;
        (0..many).map(|_| Ok((K::load(from)?, V::load(from)?))).collect()
    };
    [A: Preserve + Load, B: Preserve + Load] (A, B), |it, to| { it.0.put_state(to)?; it.1.put_state(to) },
        |from| Ok((A::load(from)?, B::load(from)?));
    [A: Preserve + Load, B: Preserve + Load, C: Preserve + Load, D: Preserve + Load] (A, B, C, D),
        |it, to| { it.0.put_state(to)?; it.1.put_state(to)?; it.2.put_state(to)?; it.3.put_state(to) },
        |from| Ok((A::load(from)?, B::load(from)?, C::load(from)?, D::load(from)?));
    [A: Preserve + Load, B: Preserve + Load, C: Preserve + Load] (A, B, C),
        |it, to| { it.0.put_state(to)?; it.1.put_state(to)?; it.2.put_state(to) },
        |from| Ok((A::load(from)?, B::load(from)?, C::load(from)?));
    [T: Preserve + Load, const N: usize] [T; N], |it, to| it.iter().try_for_each(|one| one.put_state(to)), |from| {
        let all: Result<Vec<T>> = (0..N).map(|_| T::load(from)).collect();
        all?.try_into().map_err(|_| StateError::NotAState)
    };
}

impl<T: Preserve + ?Sized> Preserve for Box<T> {
    fn put_state(&self, to: &mut dyn StateOut) -> Result<()> {
        (**self).put_state(to)
    }

    fn take_state(&mut self, from: &mut dyn StateIn) -> Result<()> {
        (**self).take_state(from)
    }
}

impl<T: Preserve + ?Sized> Preserve for &mut T {
    fn put_state(&self, to: &mut dyn StateOut) -> Result<()> {
        (**self).put_state(to)
    }

    fn take_state(&mut self, from: &mut dyn StateIn) -> Result<()> {
        (**self).take_state(from)
    }
}

impl<T: Load> Load for Box<T> {
    fn load(from: &mut dyn StateIn) -> Result<Self> {
        T::load(from).map(Self::new)
    }
}

impl<T: Preserve> Preserve for [T] {
    fn put_state(&self, to: &mut dyn StateOut) -> Result<()> {
        save_all(self.len(), self.len(), self.iter(), to)
    }

    fn take_state(&mut self, from: &mut dyn StateIn) -> Result<()> {
        if (usize::load(from)?, usize::load(from)?) != (self.len(), self.len()) {
            return Err(StateError::NotAState);
        }
        self.iter_mut().try_for_each(|one| one.take_state(from))
    }
}

impl<T: Preserve + Load> Load for Box<[T]> {
    fn load(from: &mut dyn StateIn) -> Result<Self> {
        Vec::load(from).map(Vec::into)
    }
}

/// Elements for which there is room at first.
const ROOM: usize = 1 << 16;

fn save_all<'a, T: Preserve + 'a>(
    room: usize,
    many: usize,
    all: impl Iterator<Item = &'a T>,
    to: &mut dyn StateOut,
) -> Result<()> {
    room.put_state(to)?;
    many.put_state(to)?;
    for one in all {
        one.put_state(to)?;
    }
    Ok(())
}

/// Its room alone: it is empty then, and who has it fills it again. For want of a hasher nobody else can.
impl<T> Preserve for hashbrown::HashTable<T> {
    fn put_state(&self, to: &mut dyn StateOut) -> Result<()> {
        self.num_buckets().put_state(to)
    }

    fn take_state(&mut self, from: &mut dyn StateIn) -> Result<()> {
        self.clear();
        let buckets = usize::load(from)?;
        if self.num_buckets() != buckets {
            *self = Self::new();
            self.try_reserve(if buckets < 8 { buckets / 2 } else { buckets / 8 * 7 }, |_| 0)
                .map_err(|_| StateError::Memory)?;
        }
        Ok(())
    }
}
