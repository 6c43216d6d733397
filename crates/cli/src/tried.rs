//! What a command of the laboratory tries: an FTL of this project, or a plugin.

use phelsuma_drive::lab::{CutNand, Fault, Promise, Ready, Subject};
use phelsuma_ftl::{Config, Hint, RecoveryReport};
use phelsuma_nand::Time;
use phelsuma_plugin::PluginSubject;

/// A subject.
#[derive(Clone, Debug)]
pub(crate) enum Tried {
    /// By its configuration.
    Own(Config),
    /// From a shared library.
    Plugin(PluginSubject),
}

impl Tried {
    /// The configuration of an FTL of this project.
    pub(crate) fn own(&self) -> Option<&Config> {
        match self {
            Self::Own(config) => Some(config),
            Self::Plugin(_) => None,
        }
    }

    /// With this seed, where it draws anything.
    pub(crate) fn with_seed(self, seed: u64) -> Self {
        match self {
            Self::Own(config) => Self::Own(Config { seed, ..config }),
            plugin @ Self::Plugin(_) => plugin,
        }
    }

    fn subject(&self) -> &dyn Subject {
        match self {
            Self::Own(config) => config,
            Self::Plugin(plugin) => plugin,
        }
    }
}

impl Subject for Tried {
    fn name(&self) -> &str {
        self.subject().name()
    }

    fn about(&self) -> String {
        self.subject().about()
    }

    fn logical_pages(&self) -> u32 {
        self.subject().logical_pages()
    }

    fn format(&self, nand: &mut CutNand, at: Time) -> Ready<Time> {
        self.subject().format(nand, at)
    }

    fn recover(&self, nand: &mut CutNand, at: Time) -> Ready<RecoveryReport> {
        self.subject().recover(nand, at)
    }

    fn cache_entries(&self) -> Option<u32> {
        self.subject().cache_entries()
    }

    fn has_battery(&self) -> bool {
        self.subject().has_battery()
    }

    fn reads_table(&self) -> bool {
        self.subject().reads_table()
    }

    fn may_lose_what_is_not_flushed(&self) -> bool {
        self.subject().may_lose_what_is_not_flushed()
    }

    fn has_volatile_cache(&self) -> bool {
        self.subject().has_volatile_cache()
    }

    fn may_lose_below_cache(&self) -> bool {
        self.subject().may_lose_below_cache()
    }

    fn recovers_from_metadata_alone(&self) -> bool {
        self.subject().recovers_from_metadata_alone()
    }

    fn is_oracle(&self) -> bool {
        self.subject().is_oracle()
    }

    fn hint(&self, page: u32, number: u32) -> Hint {
        self.subject().hint(page, number)
    }

    fn why_not_survivable(&self) -> Option<String> {
        self.subject().why_not_survivable()
    }

    fn promise(&self, fault: Fault) -> Promise {
        self.subject().promise(fault)
    }
}
