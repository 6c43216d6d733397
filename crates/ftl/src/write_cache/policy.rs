//! A write cache as it is asked for: its size, and what a power cut leaves of it.

use alloc::format;
use alloc::string::String;
use core::fmt;
use core::str::FromStr;

/// Which of the writes that are only in the cache a power cut may leave.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum CachePolicy {
    /// Any of them: the oldest page is written out first, as soon as half of the cache is dirty. What drives on sale do.
    #[default]
    Fifo,
    /// Any of them: pages are held as long as there is room, and written out in an order drawn by lot.
    Subset,
    /// Any of them: pages are held as long as there is room. Then all of them are written out in the order of their numbers,
    /// one after the other as room is needed, and those that came meanwhile are next. LeaFTL's buffer (ASPLOS '23).
    Sorted,
    /// Those up to a moment: pages are written out in the order in which they came, and each is made durable before the
    /// next.
    Prefix,
    /// Any of them, and of the flushed ones too: a flush is answered, and nothing is done.
    Lies,
    /// All of them: capacitors pay for writing them out. The order is that of [`CachePolicy::Fifo`].
    Protected,
}

impl CachePolicy {
    const NAMES: [(&'static str, Self); 6] = [
        ("fifo", Self::Fifo),
        ("subset", Self::Subset),
        ("sorted", Self::Sorted),
        ("prefix", Self::Prefix),
        ("lies", Self::Lies),
        ("protected", Self::Protected),
    ];

    /// Its name, as in `--cache-policy`.
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, policy)| *policy == self).map_or("", |(name, _)| name)
    }

    /// Whether a page leaves the cache as soon as half of it is dirty, or when there is no room.
    pub(super) fn is_eager(self) -> bool {
        matches!(self, Self::Fifo | Self::Protected)
    }

    /// Whether neighbours may be written out before older pages.
    pub(super) fn keeps_order(self) -> bool {
        self == Self::Prefix
    }
}

/// A write cache, as it is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WriteCache {
    /// Its size in bytes of data; it has room for one page at least.
    pub bytes: u64,
    /// What a cut leaves.
    pub policy: CachePolicy,
    /// Seed of what it leaves to chance.
    pub seed: u64,
}

impl WriteCache {
    /// Whether a power cut may take acknowledged writes with it.
    pub fn is_volatile(&self) -> bool {
        self.policy != CachePolicy::Protected
    }

    /// Pages that it has room for.
    pub(super) fn pages(&self, page_bytes: u32) -> u32 {
        u32::try_from(self.bytes / u64::from(page_bytes.max(1))).unwrap_or(u32::MAX).max(1)
    }
}

/// What a cache does at a cut, and its seed: `POLICY` or `POLICY:SEED`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PolicyAndSeed(pub CachePolicy, pub u64);

impl FromStr for PolicyAndSeed {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, seed) = text.split_once(':').unwrap_or((text, "1"));
        let policy = CachePolicy::NAMES.iter().find(|(known, _)| *known == name).map(|(_, policy)| *policy);
        match (policy, seed.parse()) {
            (Some(policy), Ok(seed)) => Ok(Self(policy, seed)),
            _ => Err(format!(
                "'{}' is not a policy of a write cache; use fifo, subset, sorted, prefix, lies or protected, or one of them \
                 with a seed: subset:7",
                text.escape_debug()
            )),
        }
    }
}

impl fmt::Display for PolicyAndSeed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.0.name(), self.1)
    }
}
