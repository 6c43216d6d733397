//! An order of use: a list with links both ways, among places of a table.

use phelsuma_nand::state::Preserve;

/// No place.
pub(super) const NONE: u32 = u32::MAX;

/// Neighbours in an order of use.
#[derive(Clone, Copy, Preserve)]
pub(super) struct Links {
    pub(super) newer: u32,
    pub(super) older: u32,
}

/// Both ends of an order of use.
#[derive(Clone, Copy, Preserve)]
pub(super) struct Ends {
    pub(super) newest: u32,
    pub(super) oldest: u32,
}

impl Links {
    pub(super) const NONE: Self = Self { newer: NONE, older: NONE };
}

impl Ends {
    pub(super) const NONE: Self = Self { newest: NONE, oldest: NONE };

    /// Takes `at` out of the order that it is in.
    #[inline]
    pub(super) fn take<T>(&mut self, at: u32, all: &mut [T], links: impl Fn(&mut T) -> &mut Links) {
        let Links { newer, older } = *links(&mut all[at as usize]);
        match newer {
            NONE => self.newest = older,
            newer => links(&mut all[newer as usize]).older = older,
        }
        match older {
            NONE => self.oldest = newer,
            older => links(&mut all[older as usize]).newer = newer,
        }
    }

    #[inline]
    pub(super) fn put_newest<T>(&mut self, at: u32, all: &mut [T], links: impl Fn(&mut T) -> &mut Links) {
        *links(&mut all[at as usize]) = Links { newer: NONE, older: self.newest };
        match self.newest {
            NONE => self.oldest = at,
            newest => links(&mut all[newest as usize]).newer = at,
        }
        self.newest = at;
    }

    pub(super) fn put_oldest<T>(&mut self, at: u32, all: &mut [T], links: impl Fn(&mut T) -> &mut Links) {
        *links(&mut all[at as usize]) = Links { newer: self.oldest, older: NONE };
        match self.oldest {
            NONE => self.newest = at,
            oldest => links(&mut all[oldest as usize]).older = at,
        }
        self.oldest = at;
    }
}
