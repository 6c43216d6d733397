//! The owners of the bits of `aux`, the four bytes of a spare area that are the FTL's.
//!
//! Each owner declares its bits here: of which kinds of pages, and whether of a block's first page alone. No other file
//! reads or writes `aux` of a drive's pages; a [`FlashMap`](crate::mu_tree::FlashMap) has blocks of its own. Owners
//! that can be parts of one drive have no bit in common, which the compiler checks below. Parts whose owners would
//! share a bit are refused together: by name (`config/power.rs`), and when a drive is put together
//! (`page_mapped/compose.rs`).
//!
//! ```text
//!                       bit 31 30       24 23                     0
//!  any kind, first page   |  .  . . . . . |      erase count      |  wear levelling
//!  translation page       |D|. . . . . . .|. . . . . . . . . . . .|  GeckoRec: D, damage
//!  translation page       |.| in place of |. . . . . . . . . . . .|  battery: one that could not be read
//!  translation page       | oldest open   |        after          |  synchronize: 16 bits each
//!  user page              |     the page that it made stale       |  synchronize, page validity log
//!  user page              |     life      |. . . . . . . . . . . .|  placements that keep lives
//! ```

use phelsuma_nand::{Kind, Page, Spare};

/// Bits of `aux` that belong to one part of an FTL.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Owner {
    /// The one kind of page that carries them; none for every kind.
    kind: Option<Kind>,
    /// Whether a block's first page alone carries them.
    first_page_alone: bool,
    bits: u32,
}

/// How often the block was erased (`blocks/wear.rs`). It stops at its largest value.
pub(crate) const ERASE_COUNT: Owner = Owner { kind: None, first_page_alone: true, bits: 0x00ff_ffff };
/// Whether some translation page could not be read before this one was written (`gecko_rec/lost.rs`).
pub(crate) const DAMAGE: Owner = Owner { kind: Some(Kind::Translation), first_page_alone: false, bits: 1 << 31 };
/// From where on a recovery has to scan (`mapping/paged/scan_mark.rs`).
pub(crate) const SCAN_MARK: Owner = Owner { kind: Some(Kind::Translation), first_page_alone: false, bits: u32::MAX };
/// The page that a user page made stale, for a recovery that fills a page validity log.
pub(crate) const BACK_POINTER: Owner = Owner { kind: Some(Kind::User), first_page_alone: false, bits: u32::MAX };

/// The unreadable page in whose place a translation page was written (`mapping/paged/unreadable.rs`).
pub(crate) const IN_PLACE_OF: Owner =
    Owner { kind: Some(Kind::Translation), first_page_alone: false, bits: 0x7f << IN_PLACE_AT };

const IN_PLACE_AT: u32 = 24;

/// Seven bits of a page's number that tell it from most others, and from no page.
fn shortened(page: Page) -> u32 {
    page.0 % 127 + 1
}

/// The pages in whose places others were programmed, as far as seven bits tell: when the last one was synchronized.
#[derive(Clone, Debug)]
pub(crate) struct InPlaceOf([u64; 128]);

impl InPlaceOf {
    pub(crate) fn none() -> Self {
        Self([0; 128])
    }

    /// A page was read that has these marks, and was synchronized then.
    pub(crate) fn note(&mut self, marks: SpareMarks, version: u64) {
        let of = &mut self.0[((marks.0 & IN_PLACE_OF.bits) >> IN_PLACE_AT) as usize];
        *of = version.max(*of);
    }

    /// Whether one of them may be this page, which was programmed behind that moment. A block may have been erased since,
    /// and written anew.
    pub(crate) fn may_be(&self, unreadable: Page, after: u64) -> bool {
        self.0[shortened(unreadable) as usize] > after
    }
}

/// How long a user page is likely to live, as its placement encodes it (`policy/placements/lifetimes.rs`).
pub(crate) const LIFE: Owner = Owner { kind: Some(Kind::User), first_page_alone: false, bits: 0xff << LIFE_AT };

/// The lowest bit of a life.
const LIFE_AT: u32 = 24;

/// Damage as drives of version 0.1 wrote it, which had no erase counts beside it.
const DAMAGE_BEFORE: u32 = 1;

const _: () = assert!(ERASE_COUNT.is_apart_from(DAMAGE), "wear levelling and GeckoRec can be parts of one drive");
const _: () = assert!(ERASE_COUNT.is_apart_from(IN_PLACE_OF), "wear levelling goes with a battery");
const _: () = assert!(ERASE_COUNT.is_apart_from(LIFE), "a placement that keeps lives goes with wear levelling");
const _: () = assert!(SCAN_MARK.is_apart_from(BACK_POINTER), "a page validity log is synchronized with both");

impl Owner {
    /// Whether no page carries a bit of both.
    pub(crate) const fn is_apart_from(self, other: Self) -> bool {
        let one_kind = match (self.kind, other.kind) {
            (Some(one), Some(other)) => one as u8 == other as u8,
            _ => true,
        };
        !one_kind || self.bits & other.bits == 0
    }
}

/// What `aux` of one page says, or is to say.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct SpareMarks(u32);

/// The page whose place a user page took that points back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PointsBack {
    /// No page.
    Nowhere,
    /// A page that cannot be found any more.
    AtMislaid,
    /// This page.
    At(Page),
}

const NOWHERE: u32 = u32::MAX;
const MISLAID: u32 = u32::MAX - 1;

impl SpareMarks {
    /// A page of which nothing has to be said.
    pub(crate) const NONE: Self = Self(0);

    /// Those of a page that was read.
    #[inline]
    pub(crate) fn of(spare: &Spare) -> Self {
        Self(spare.aux)
    }

    /// Those of a translation page, some of which could not be read before it.
    pub(crate) fn damage(is_damaged: bool) -> Self {
        Self(if is_damaged { DAMAGE.bits } else { 0 })
    }

    /// Whether a translation page says that some could not be read before it, on a drive with or without erase counts.
    pub(crate) fn tells_of_damage(self, has_erase_counts: bool) -> bool {
        self.0 & DAMAGE.bits != 0 || !has_erase_counts && self.0 & DAMAGE_BEFORE != 0
    }

    /// Those of a translation page that says from where on to scan, as `scan_mark.rs` encodes it.
    pub(crate) fn scan_mark(encoded: u32) -> Self {
        Self(encoded)
    }

    /// What such a translation page says.
    pub(crate) fn as_scan_mark(self) -> u32 {
        self.0
    }

    /// Those of a user page that points back.
    #[inline]
    pub(crate) fn point_back(to: PointsBack) -> Self {
        Self(match to {
            PointsBack::Nowhere => NOWHERE,
            PointsBack::AtMislaid => MISLAID,
            PointsBack::At(page) => {
                debug_assert!(page.0 < MISLAID, "{page} has the number of a mark");
                page.0
            }
        })
    }

    /// Where such a user page points. The page may be none of the drive's.
    pub(crate) fn points_back(self) -> PointsBack {
        match self.0 {
            NOWHERE => PointsBack::Nowhere,
            MISLAID => PointsBack::AtMislaid,
            page => PointsBack::At(Page(page)),
        }
    }

    /// Those of a user page that says how long it is likely to live.
    #[inline]
    pub(crate) fn with_life(life: u8) -> Self {
        Self(u32::from(life) << LIFE_AT)
    }

    /// What such a page says. 0 where nothing was said.
    #[inline]
    pub(crate) fn life(self) -> u8 {
        (self.0 >> LIFE_AT) as u8
    }

    /// That of a page in its copy.
    #[inline]
    pub(crate) fn of_copy(spare: &Spare) -> Self {
        Self::with_life(Self::of(spare).life())
    }

    /// The erase count in a block's first page, on a drive that keeps them there. 0 where none was written.
    #[inline]
    pub(crate) fn erase_count(self) -> u32 {
        self.0 & ERASE_COUNT.bits
    }

    /// The same marks on a drive that keeps erase counts: with this one in a block's first page, with none elsewhere. A
    /// copy's marks may have the count of the block that it came from.
    #[inline]
    pub(crate) fn with_erase_count(self, erases: Option<u32>) -> Self {
        Self(self.0 & !ERASE_COUNT.bits | erases.unwrap_or(0).min(ERASE_COUNT.bits))
    }

    /// The same marks of a page that is written in the place of one that cannot be read.
    pub(crate) fn in_place_of(self, unreadable: Page) -> Self {
        Self(self.0 & !IN_PLACE_OF.bits | shortened(unreadable) << IN_PLACE_AT)
    }

    /// As it is programmed.
    #[inline]
    pub(crate) fn aux(self) -> u32 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_erase_count_and_damage_stand_side_by_side() {
        for erases in [0, 1, 12_345, u32::MAX] {
            let marks = SpareMarks::damage(true).with_erase_count(Some(erases));
            assert!(marks.tells_of_damage(true));
            assert_eq!(marks.erase_count(), erases.min(0x00ff_ffff));
            assert!(!SpareMarks::damage(false).with_erase_count(Some(erases)).tells_of_damage(true), "{erases}");
        }
        let copied = SpareMarks::damage(true).with_erase_count(Some(7)).with_erase_count(None);
        assert_eq!((copied.tells_of_damage(true), copied.erase_count()), (true, 0));
    }

    #[test]
    fn damage_of_older_drives_is_understood_where_nothing_else_can_be_meant() {
        assert!(SpareMarks(1).tells_of_damage(false));
        assert!(!SpareMarks(1).tells_of_damage(true));
    }

    #[test]
    fn a_life_and_an_erase_count_stand_side_by_side() {
        let marks = SpareMarks::with_life(0xa5).with_erase_count(Some(u32::MAX));
        assert_eq!((marks.life(), marks.erase_count()), (0xa5, 0x00ff_ffff));
        assert_eq!(marks.with_erase_count(None), SpareMarks::with_life(0xa5));
    }

    #[test]
    fn a_page_is_in_the_place_of_one_at_the_most() {
        let mut none = InPlaceOf::none();
        none.note(SpareMarks::NONE.with_erase_count(Some(u32::MAX)), 9);
        assert!((0..1000).all(|page| !none.may_be(Page(page), 0)));
        for (page, erases) in [(Page(0), 0), (Page(126), 7), (Page(127), u32::MAX), (Page(u32::MAX), 12_345)] {
            let marks = SpareMarks::NONE.in_place_of(Page(3)).in_place_of(page).with_erase_count(Some(erases));
            let mut one = none.clone();
            one.note(marks, 7);
            one.note(marks, 5);
            assert!(one.may_be(page, 6) && marks.erase_count() == erases.min(0x00ff_ffff));
            assert!(!one.may_be(page, 7), "what was programmed later is another page");
            assert!((1..=100).all(|by| !one.may_be(Page(page.0 ^ by), 0)), "{page}");
        }
    }

    #[test]
    fn back_pointers_come_back() {
        for to in [PointsBack::Nowhere, PointsBack::AtMislaid, PointsBack::At(Page(0)), PointsBack::At(Page(77))] {
            assert_eq!(SpareMarks::point_back(to).points_back(), to);
        }
    }
}
