//! What a policy has to be told that no real host knows. An FTL that is told is an *oracle*: a bound to hold others
//! against, and no FTL to store data with.

/// What the hints of the host's writes are to say ([`Hint`](crate::Hint)).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Knowledge {
    /// Which of so many classes each page is of ([`Hint::Class`](crate::Hint::Class)).
    Classes(u8),
    /// When each page dies ([`Hint::Death`](crate::Hint::Death)).
    Deaths,
}
