//! What the host may expect: a plain map from logical page to its last write.
//!
//! Every page written carries a tag that says which logical page it is and which write it was. Tag 0 is zeros.

use super::script::Request;
use std::sync::Arc;

/// The decay so far.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(crate) enum Decayed {
    #[default]
    Nothing,
    /// Pages of the host.
    Host,
    /// Also pages that say which pages are stale; of user pages only the mapping table says where they are.
    Validity,
    /// Also other metadata.
    Metadata,
}

/// What one logical page may read as.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Expected {
    /// Its content while the power is on.
    now: u64,
    /// Further possible content after a power cut: a trim not yet flushed brought back.
    or: Option<u64>,
    /// That has decayed, or what a cut may take the page back to: further possible content, should it come back.
    or_doubt: Doubt,
    /// It was written since the last flush, or trimmed, where that may be taken back.
    since: Option<Since>,
    /// A cut has taken it back, and it is a read error until it is written again.
    gone: bool,
    doubt: Doubt,
}

/// The possible content of a page that was written since the last flush, or trimmed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Since {
    /// Zeros: it was trimmed, or never written, when the last flush was done, or since.
    zeros: bool,
    /// The tag that it had then, or the first since.
    from: u64,
}

impl Expected {
    /// The doubt about what a cut may take the page back to, once it is written or trimmed.
    fn doubt_behind(&self, since: Option<Since>) -> Doubt {
        since.map_or(Doubt::None, |_| self.doubt.max(self.or_doubt))
    }
}

impl Since {
    /// A page that holds this is written, with this tag.
    fn written(before: &Expected, tag: u64) -> Self {
        match before.since {
            Some(since) => since,
            None if before.gone => Self { zeros: false, from: tag },
            None if before.now == 0 => Self { zeros: true, from: tag },
            None => Self { zeros: false, from: before.now },
        }
    }

    fn allows(self, page: u32, read: Option<u64>, loses: Loses) -> bool {
        match read {
            None => loses.of_ftl(),
            Some(0) => self.zeros,
            Some(read) => once_written_here(page, read) && read >= self.from,
        }
    }
}

/// Which writes that were not flushed a cut may take back.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Loses {
    /// None.
    #[default]
    Nothing,
    /// Those of an FTL that says so: each may be a read error. Trims stay.
    OfFtl,
    /// Those in a volatile cache, trims included: each page is as it was at some moment since the flush.
    OfCache {
        /// The FTL below says so as well.
        of_ftl: bool,
    },
}

impl Loses {
    /// Whether the FTL itself may lose some.
    pub(crate) fn of_ftl(self) -> bool {
        matches!(self, Self::OfFtl | Self::OfCache { of_ftl: true })
    }

    fn of_cache(self) -> bool {
        matches!(self, Self::OfCache { .. })
    }
}

/// Further possible content of a page, because a page of flash has decayed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(crate) enum Doubt {
    /// Nothing else.
    #[default]
    None,
    /// A read error.
    Unreadable,
    /// Also anything older: nothing on flash says any more that there was something newer.
    Forgotten,
}

/// The answers that the host got, page by page.
#[derive(Clone, Debug)]
pub(crate) struct Model {
    pages: Vec<Expected>,
    hash: u128,
    decayed: Decayed,
    loses: Loses,
}

/// A request that was in progress when the power failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct InProgress {
    pub(crate) request: Request,
    pub(crate) tag: u64,
}

/// What may be found after a power cut: the model and the request in progress.
#[derive(Clone, Debug)]
pub(crate) struct Expectation {
    pub(crate) model: Arc<Model>,
    pub(crate) in_progress: Option<InProgress>,
}

/// How a page that was read differs from the expectation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Wrong {
    /// An older content, zeros, or nothing readable.
    Lost,
    /// Something that was never written there.
    Corrupt,
}

/// Whether a page that reads as this reads as zeros, or as data that were written there once.
fn once_written_here(page: u32, read: u64) -> bool {
    read == 0 || (read as u32 == page && read >> 32 > 0 && read >> 32 < 1 << 31)
}

impl Doubt {
    fn allows(self, page: u32, read: Option<u64>) -> bool {
        match self {
            Self::None => false,
            Self::Unreadable => read.is_none(),
            Self::Forgotten => read.is_none_or(|read| once_written_here(page, read)),
        }
    }
}

impl Wrong {
    /// Of a page that must not read as this.
    fn of(page: u32, read: u64) -> Self {
        if once_written_here(page, read) { Self::Lost } else { Self::Corrupt }
    }
}

/// The tag of `page` in the write with this number.
pub(crate) fn tag(write: u32, page: u32) -> u64 {
    u64::from(write + 1) << 32 | u64::from(page)
}

fn page_hash(page: u32, e: &Expected) -> u128 {
    let mut h = 0x6d6f_6465_6c00u128 ^ u128::from(page);
    let since = e.since.map_or(u64::MAX, |since| since.from << 1 | u64::from(since.zeros));
    let states = e.doubt as u64 | (e.or_doubt as u64) << 4 | u64::from(e.gone) << 9;
    for word in [e.now, e.or.map_or(u64::MAX, |t| t ^ 0x5555), states, since] {
        h = (h ^ u128::from(word)).wrapping_mul(0x2545_f491_4f6c_dd1d_9e37_79b9_7f4a_7c15);
        h ^= h >> 61;
    }
    h
}

impl Model {
    pub(crate) fn new(logical_pages: u32) -> Self {
        let pages = vec![Expected::default(); logical_pages as usize];
        let hash = pages.iter().enumerate().fold(0, |h, (n, e)| h ^ page_hash(n as u32, e));
        Self { pages, hash, decayed: Decayed::Nothing, loses: Loses::Nothing }
    }

    /// Of a drive of which a cut may take back these writes.
    #[must_use]
    pub(crate) fn that_loses(mut self, loses: Loses) -> Self {
        self.loses = loses;
        self
    }

    /// What a cut may take back.
    pub(crate) fn loses(&self) -> Loses {
        self.loses
    }

    /// Whether a cut may take anything back.
    pub(crate) fn may_lose(&self) -> bool {
        self.loses != Loses::Nothing
    }

    /// The FTL has flushed everything.
    pub(crate) fn flushed(&mut self) {
        for page in 0..self.logical_pages() {
            let before = self.pages[page as usize];
            if before.since.is_some() {
                let or_doubt = if before.or.is_some() { before.or_doubt } else { Doubt::None };
                self.set(page, Expected { since: None, or_doubt, ..before });
            }
        }
    }

    pub(crate) fn logical_pages(&self) -> u32 {
        self.pages.len() as u32
    }

    /// A hash: equal models have equal ones.
    pub(crate) fn hash(&self) -> u128 {
        self.hash ^ self.decayed as u128
    }

    /// Pages of flash have decayed.
    pub(crate) fn decayed(&mut self, what: Decayed) {
        self.decayed = self.decayed.max(what);
    }

    /// Which pages of flash have decayed so far.
    pub(crate) fn has_decayed(&self) -> Decayed {
        self.decayed
    }

    fn set(&mut self, page: u32, to: Expected) {
        let slot = &mut self.pages[page as usize];
        self.hash ^= page_hash(page, slot) ^ page_hash(page, &to);
        *slot = to;
    }

    /// The request was acknowledged. Page `p` of a write carries the tag of `write` with `p`.
    pub(crate) fn acknowledged(&mut self, request: &Request, write: u32) {
        match *request {
            Request::Write { first, pages } => {
                for page in first..first + pages {
                    self.written(page, tag(write, page));
                }
            }
            Request::Trim { first, pages } => {
                for page in first..first + pages {
                    let before = self.pages[page as usize];
                    // It may be in the cache alone.
                    let since =
                        self.loses.of_cache().then(|| Since { zeros: true, ..Since::written(&before, before.now) });
                    if before.gone {
                        self.set(page, Expected { now: 0, gone: false, since, ..before });
                    } else if before.now != 0 {
                        let (or, or_doubt) = (Some(before.now), before.doubt_behind(since));
                        self.set(page, Expected { now: 0, or, or_doubt, since, ..before });
                    }
                }
            }
            Request::Read { .. } | Request::Cut => {}
            Request::Flush | Request::Close => {
                self.flushed();
                for page in 0..self.logical_pages() {
                    let before = self.pages[page as usize];
                    if before.or.is_some() {
                        // The trim stays. Doubtful content stays so: it may have been on the page that has decayed
                        // since.
                        self.set(page, Expected { or: None, or_doubt: Doubt::None, ..before });
                    }
                }
            }
        }
    }

    /// Whether `page` may read as this with the power on; None stands for a page that cannot be read.
    pub(crate) fn judge(&self, page: u32, read: Option<u64>) -> Result<(), Wrong> {
        let expected = &self.pages[page as usize];
        match read {
            None if expected.gone => Ok(()),
            Some(read) if read == expected.now && !expected.gone => Ok(()),
            read if expected.doubt.allows(page, read) => Ok(()),
            Some(read) => Err(Wrong::of(page, read)),
            None => Err(Wrong::Lost),
        }
    }

    /// The content that the first recovery shows stays. Doubtful content stays so, whether it could be read or not.
    pub(crate) fn observed(&mut self, page: u32, read: Option<u64>) {
        let before = self.pages[page as usize];
        let (now, doubt) = match read {
            // The trim stays.
            Some(0) => (0, before.doubt),
            Some(read) if read == before.now => (read, before.doubt),
            // Or it was undone, and what came back may have decayed.
            Some(read) => (read, before.doubt.max(before.or_doubt)),
            None => (before.or.unwrap_or(before.now), before.doubt.max(before.or_doubt)),
        };
        let gone = read.is_none() && !doubt.allows(page, None);
        self.set(page, Expected { now, or: None, or_doubt: Doubt::None, since: None, gone, doubt });
    }

    /// The page was written, and the power was not cut.
    pub(crate) fn written(&mut self, page: u32, tag: u64) {
        let before = self.pages[page as usize];
        let since = self.may_lose().then(|| Since::written(&before, tag));
        let or_doubt = before.doubt_behind(since);
        self.set(page, Expected { now: tag, or_doubt, since, ..Expected::default() });
    }

    /// The page's content is doubtful from now on.
    pub(crate) fn doubt(&mut self, page: u32, doubt: Doubt) {
        let before = self.pages[page as usize];
        self.set(page, Expected { doubt: before.doubt.max(doubt), ..before });
    }

    /// Content `tag` of the page has decayed: its present content, or that which an unflushed trim may bring back.
    pub(crate) fn content_decayed(&mut self, page: u32, tag: u64, doubt: Doubt) {
        let before = self.pages[page as usize];
        if before.or == Some(tag) {
            self.set(page, Expected { or_doubt: before.or_doubt.max(doubt), ..before });
        }
        if before.now == tag {
            self.doubt(page, doubt);
        } else if self.loses.of_cache() && before.since.is_some_and(|since| tag >= since.from) {
            self.set(page, Expected { or_doubt: before.or_doubt.max(doubt), ..before });
        }
    }

    /// Whether the page's content is doubtful.
    pub(crate) fn is_in_doubt(&self, page: u32) -> bool {
        self.pages[page as usize].doubt != Doubt::None
    }

    /// The page's content with the power on.
    pub(crate) fn now(&self, page: u32) -> u64 {
        self.pages[page as usize].now
    }
}

impl Expectation {
    /// A hash: equal expectations have equal ones.
    pub(crate) fn hash(&self) -> u128 {
        let in_progress = self.in_progress.map_or(0, |p| {
            let (kind, first, pages) = match p.request {
                Request::Write { first, pages } => (1, first, pages),
                Request::Trim { first, pages } => (2, first, pages),
                Request::Flush | Request::Close | Request::Read { .. } | Request::Cut => (0, 0, 0),
            };
            if kind == 0 {
                0
            } else {
                u128::from(p.tag) << 64 | kind << 62 | u128::from(first) << 31 | u128::from(pages)
            }
        });
        self.model.hash() ^ in_progress.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835)
    }

    /// Whether `page` may read as this after the power cut; None stands for a page that cannot be read.
    pub(crate) fn judge(&self, page: u32, read: Option<u64>) -> Result<(), Wrong> {
        let expected = &self.model.pages[page as usize];
        if expected.doubt.allows(page, read) {
            return Ok(());
        }
        let loses = self.model.loses;
        if expected.since.is_some_and(|since| since.allows(page, read, loses)) || (expected.gone && read.is_none()) {
            return Ok(());
        }
        if expected.or_doubt.allows(page, read) {
            return Ok(());
        }
        let is_written = || matches!(self.in_progress, Some(InProgress { request: Request::Write { .. }, .. }));
        if read.is_none() && loses.of_ftl() && is_written() && self.in_progress(page).is_some() {
            // Its older version need not be there once it is written, acknowledged or not.
            return Ok(());
        }
        let Some(read) = read else { return Err(Wrong::Lost) };
        if (read == expected.now && !expected.gone) || expected.or == Some(read) {
            return Ok(());
        }
        if let Some(new) = self.in_progress(page)
            && new == read
        {
            return Ok(());
        }
        Err(Wrong::of(page, read))
    }

    /// The content that the request in progress gives `page`, if it is one of its pages.
    fn in_progress(&self, page: u32) -> Option<u64> {
        let InProgress { request, tag } = self.in_progress?;
        match request {
            Request::Write { first, pages } if (first..first + pages).contains(&page) => Some(tag | u64::from(page)),
            Request::Trim { first, pages } if (first..first + pages).contains(&page) => Some(0),
            _ => None,
        }
    }

    /// Whether the cut took back acknowledged data of `page`, which reads as this.
    pub(crate) fn is_taken_back(&self, page: u32, read: Option<u64>) -> bool {
        let expected = &self.model.pages[page as usize];
        let is_new = || self.in_progress(page).is_some_and(|new| read == Some(new));
        expected.since.is_some() && read != Some(expected.now) && !is_new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: u32 = 3;

    fn write(model: &mut Model, number: u32) {
        model.acknowledged(&Request::Write { first: PAGE, pages: 1 }, number);
    }

    /// The possible content of the page after a cut: of zeros, nothing readable, and writes 1 to 5 of it.
    fn allowed(model: &Model, in_progress: Option<Request>) -> Vec<&'static str> {
        let in_progress = in_progress.map(|request| InProgress { request, tag: tag(5, 0) });
        let expectation = Expectation { model: Arc::new(model.clone()), in_progress };
        let writes = ["1", "2", "3", "4", "5"].into_iter().zip(1..).map(|(name, n)| (name, Some(tag(n, PAGE))));
        let all = [("zeros", Some(0)), ("nothing", None)].into_iter().chain(writes);
        all.filter(|(_, read)| expectation.judge(PAGE, *read).is_ok()).map(|(name, _)| name).collect()
    }

    #[test]
    fn a_cut_takes_back_what_was_not_flushed_and_nothing_more() {
        let mut model = Model::new(8).that_loses(Loses::OfFtl);
        assert_eq!(allowed(&model, None), ["zeros"]);
        write(&mut model, 1);
        assert_eq!(allowed(&model, None), ["zeros", "nothing", "1", "2", "3", "4", "5"]);
        model.acknowledged(&Request::Flush, 2);
        assert_eq!(allowed(&model, None), ["1"]);
        // Acknowledged or not: a write may be lost with the data whose place it took.
        assert_eq!(allowed(&model, Some(Request::Write { first: PAGE, pages: 1 })), ["nothing", "1", "5"]);
        assert_eq!(allowed(&model, Some(Request::Trim { first: PAGE, pages: 1 })), ["zeros", "1"]);
        write(&mut model, 3);
        assert_eq!(allowed(&model, None), ["nothing", "1", "2", "3", "4", "5"]);
        write(&mut model, 4);
        model.flushed();
        assert_eq!(allowed(&model, None), ["4"]);
        model.acknowledged(&Request::Trim { first: PAGE, pages: 1 }, 4);
        assert_eq!(allowed(&model, None), ["zeros", "4"]);
        // Data from before the trim do not come back once it is written again.
        write(&mut model, 5);
        assert_eq!(allowed(&model, None), ["zeros", "nothing", "5"]);
        let other = Expectation { model: Arc::new(model), in_progress: None };
        assert_eq!(other.judge(PAGE, Some(tag(5, PAGE + 1))), Err(Wrong::Corrupt));
    }

    #[test]
    fn what_a_recovery_has_shown_to_be_gone_stays_gone_until_it_is_written() {
        let mut model = Model::new(8).that_loses(Loses::OfFtl);
        write(&mut model, 1);
        model.observed(PAGE, None);
        assert_eq!(allowed(&model, None), ["nothing"]);
        assert!(model.judge(PAGE, None).is_ok() && model.judge(PAGE, Some(tag(1, PAGE))).is_err());
        write(&mut model, 2);
        assert!(model.judge(PAGE, None).is_err());
        assert_eq!(allowed(&model, None), ["nothing", "2", "3", "4", "5"]);
        model.observed(PAGE, Some(tag(2, PAGE)));
        assert_eq!(allowed(&model, None), ["2"]);
    }

    #[test]
    fn what_a_volatile_cache_loses_shows_the_decayed_page_behind_it_until_a_flush() {
        let mut model = Model::new(8).that_loses(Loses::OfCache { of_ftl: false });
        write(&mut model, 1);
        model.acknowledged(&Request::Flush, 2);
        model.doubt(PAGE, Doubt::Unreadable);
        write(&mut model, 3);
        assert!(model.judge(PAGE, None).is_err());
        assert_eq!(allowed(&model, None), ["nothing", "1", "2", "3", "4", "5"]);
        let mut shown = model.clone();
        shown.observed(PAGE, Some(tag(3, PAGE)));
        assert_eq!(allowed(&shown, None), ["3"]);
        model.acknowledged(&Request::Flush, 4);
        assert_eq!(allowed(&model, None), ["3"]);
    }

    #[test]
    fn where_nothing_may_be_lost_an_acknowledged_write_is_all_there_is() {
        let mut model = Model::new(8);
        write(&mut model, 1);
        write(&mut model, 2);
        assert_eq!(allowed(&model, None), ["2"]);
        assert_eq!(allowed(&model, Some(Request::Write { first: PAGE, pages: 1 })), ["2", "5"]);
    }
}
