//! Counters of an FTL besides those of flash operations.

/// A counter, by name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Counter {
    /// Its name in results.
    pub name: &'static str,
    /// How much.
    pub value: u64,
    /// Whether it is a present level. All others are sums since the mount.
    pub is_level: bool,
}

impl Counter {
    /// A sum since the mount.
    pub fn sum(name: &'static str, value: u64) -> Self {
        Self { name, value, is_level: false }
    }

    /// How things stand now.
    pub fn level(name: &'static str, value: u64) -> Self {
        Self { name, value, is_level: true }
    }
}
