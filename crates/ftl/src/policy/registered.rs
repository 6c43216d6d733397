//! The registered policies, by name: those of this crate, and those that another crate's `main` has added.

use super::{PlacementSpec, VictimSpec, placements as of_placement, victims as of_victim};
use alloc::vec::Vec;

/// The policies of another crate's `main`.
#[derive(Clone, Default, Debug)]
pub(crate) struct Brought {
    pub(crate) victims: Vec<&'static VictimSpec>,
    pub(crate) placements: Vec<&'static PlacementSpec>,
}

#[cfg(feature = "std")]
static BROUGHT: std::sync::OnceLock<Brought> = std::sync::OnceLock::new();

/// These as well from now on. Whether it is the first call, and before the first look-up.
#[cfg(feature = "std")]
pub(crate) fn bring(brought: Brought) -> bool {
    BROUGHT.set(brought).is_ok()
}

/// The policies of another crate's `main`. There are none where there is no operating system: a part that is chosen by
/// value needs no name.
fn brought() -> &'static Brought {
    static NOTHING: Brought = Brought { victims: Vec::new(), placements: Vec::new() };
    #[cfg(feature = "std")]
    return BROUGHT.get_or_init(|| NOTHING.clone());
    #[cfg(not(feature = "std"))]
    &NOTHING
}

/// All victim parts.
pub(crate) fn victims() -> impl Iterator<Item = &'static VictimSpec> {
    of_victim::ALL.into_iter().chain(brought().victims.iter().copied())
}

/// All placement parts.
pub(crate) fn placements() -> impl Iterator<Item = &'static PlacementSpec> {
    of_placement::ALL.into_iter().chain(brought().placements.iter().copied())
}
