//! Knowledge that a policy needs and no real host has.
//!
//! An FTL that gets it is an *oracle*: a bound to compare others with, and no FTL to store data with.

/// The hints that host writes need ([`Hint`](crate::Hint)).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Knowledge {
    /// Which of so many classes each page is of ([`Hint::Class`](crate::Hint::Class)).
    Classes(u8),
    /// When each page dies ([`Hint::Death`](crate::Hint::Death)).
    Deaths,
}
