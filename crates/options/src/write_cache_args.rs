//! Options of a write cache between host and FTL.

use crate::size;
use clap::Args;
use phelsuma_ftl::{PolicyAndSeed, WriteCache};

/// A write cache, if one is asked for.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct WriteCacheArgs {
    /// A write cache of so much RAM between host and FTL
    #[arg(long, value_name = "SIZE", value_parser = write_cache)]
    write_cache: Option<u64>,
    /// What a power cut leaves of it: fifo, subset, sorted, prefix, lies or protected, or one of them with a seed, as subset:7
    #[arg(long, value_name = "POLICY", requires = "write_cache", value_parser = |text: &str| text.parse::<PolicyAndSeed>())]
    cache_policy: Option<PolicyAndSeed>,
}

impl WriteCacheArgs {
    /// The cache, if there is to be one; with `default` where no policy is asked for.
    pub fn cache(&self, default: PolicyAndSeed) -> Option<WriteCache> {
        let PolicyAndSeed(policy, seed) = self.cache_policy.unwrap_or(default);
        self.write_cache.map(|bytes| WriteCache { bytes, policy, seed })
    }
}

fn write_cache(text: &str) -> Result<u64, String> {
    match size::parse(text)? {
        0 => Err("a write cache of at least one page would be right".into()),
        bytes => Ok(bytes),
    }
}
