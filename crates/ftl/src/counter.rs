//! What an FTL counts besides flash operations.

/// A counter, by name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Counter {
    /// Its name in results.
    pub name: &'static str,
    /// How much.
    pub value: u64,
    /// Whether it says how things stand now. All others are sums since the drive came up.
    pub is_level: bool,
}

impl Counter {
    /// A sum since the drive came up.
    pub fn sum(name: &'static str, value: u64) -> Self {
        Self { name, value, is_level: false }
    }

    /// How things stand now.
    pub fn level(name: &'static str, value: u64) -> Self {
        Self { name, value, is_level: true }
    }
}
