//! The workloads of a crash experiment, by name.
//!
//! Each has other requests, chosen for what they can break. `draw.rs` has what each draws.

/// The host's requests while the power is cut.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Workload {
    /// Writes, trims and flushes.
    #[default]
    Mixed,
    /// The requests of `Mixed`, with reads in between.
    Reads,
    /// Long trims, written over and trimmed again.
    Trims,
    /// Fewer pages than the cache has entries, written over and over.
    Hot,
    /// Long sequential runs.
    Slow,
    /// The requests of `Mixed`, the power cut every few of them.
    Restarts,
    /// The requests of `Mixed`, a flush after each write.
    Flushes,
    /// Requests of a block's pages and more.
    Large,
    /// Nearly everything in a small part of the space.
    Skewed,
    /// The whole drive discarded and written again in part.
    Wiped,
    /// The requests of `Mixed`, the drive closed every few of them, and mostly the power cut then.
    Closes,
}

impl Workload {
    /// All of them, in the order in which they are listed.
    pub const ALL: [Self; 11] = [
        Self::Mixed,
        Self::Reads,
        Self::Trims,
        Self::Hot,
        Self::Slow,
        Self::Restarts,
        Self::Flushes,
        Self::Large,
        Self::Skewed,
        Self::Wiped,
        Self::Closes,
    ];

    /// Those of [`ALL`](Self::ALL) that a soak draws from, from the first on: it ends its cycles in its own way.
    pub(crate) const OF_SOAKS: usize = 10;

    /// Its name on the command line and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mixed => "mixed",
            Self::Reads => "reads",
            Self::Trims => "trims",
            Self::Hot => "hot",
            Self::Slow => "slow",
            Self::Restarts => "restarts",
            Self::Flushes => "flushes",
            Self::Large => "large",
            Self::Skewed => "skewed",
            Self::Wiped => "wiped",
            Self::Closes => "closes",
        }
    }

    /// Its requests and what they can break, in a line.
    pub fn about(self) -> &'static str {
        match self {
            Self::Mixed => {
                "writes, half of them in a fifth of the space, trims, and flushes: many for a while, then few"
            }
            Self::Reads => {
                "the requests of mixed, twice as many reads in between: they evict dirty entries, or keep some"
            }
            Self::Trims => "long trims, rewritten and trimmed again, hardly ever a flush: nothing older may come back",
            Self::Hot => "fewer pages than the cache has entries, over and over: hardly any entry is ever evicted",
            Self::Slow => "long sequential runs, single writes in between: blocks of what is seldom written stay open",
            Self::Restarts => "the requests of mixed, the power cut and the drive recovered every few of them",
            Self::Flushes => "the requests of mixed, a flush after each write: nothing is ever pending for long",
            Self::Large => "requests of a block's pages and more: one request meets collections of several blocks",
            Self::Skewed => {
                "nine writes of ten in a twentieth of the space: victims are nearly empty, or cold for ever"
            }
            Self::Wiped => "the drive discarded whole and written again in part: hardly anything is live, then much",
            Self::Closes => {
                "the requests of mixed, the drive closed every few of them, then mostly switched off: or written on with"
            }
        }
    }

    /// The workload with this name.
    ///
    /// # Errors
    /// One line with the names there are.
    pub fn named(name: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|w| w.name() == name).ok_or_else(|| {
            let names: Vec<&str> = Self::ALL.iter().map(|w| w.name()).collect();
            format!("unknown workload '{name}'; known are {}", names.join(", "))
        })
    }
}
