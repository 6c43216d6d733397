//! The inputs that are answered: the ranges that the models check, and that an error names.

/// The largest number of pages per block that the models take.
pub const MAX_PAGES_PER_BLOCK: u32 = 1 << 16;

/// The largest d; far below it d-choices is greedy for all that can be measured.
pub const MAX_CHOICES: u32 = 1 << 16;

/// The largest exponent; beyond it one page takes all writes that matter.
pub const MAX_ZIPF_EXPONENT: f64 = 8.0;

/// The smallest share of spare pages that is answered; below it WA is beyond 10⁸ and of no use to anyone.
pub(crate) const SPARE_MIN: f64 = 1e-9;
