//! What whoever watches does to a drive between the requests of its host.

use phelsuma_drive::lab::{Fault, Moment, Plug, Request};
use serde::{Deserialize, Serialize};

/// One of these. Each is a step of the drive's history, as a request is.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "act", rename_all = "kebab-case")]
pub(crate) enum Act {
    /// The host goes on with another workload.
    Workload {
        /// As the settings have it.
        workload: String,
    },
    /// The host writes.
    Write {
        /// First logical page.
        first: u32,
        /// How many.
        pages: u32,
    },
    /// The host reads.
    Read {
        /// First logical page.
        first: u32,
        /// How many.
        pages: u32,
    },
    /// The host discards.
    Trim {
        /// First logical page.
        first: u32,
        /// How many.
        pages: u32,
    },
    /// The host has everything made durable.
    Flush,
    /// The power is going to fail in a request.
    Arm {
        /// At which operations.
        moment: String,
        /// So many of them pass before.
        #[serde(default)]
        skip: u32,
        /// What becomes of the operation.
        fault: String,
    },
    /// The power is not going to fail any more.
    Disarm,
    /// The power fails with nothing in flight.
    Pull,
    /// The power is on again.
    Recover,
    /// The power is on again, and fails in the recovery.
    RecoverUntil {
        /// At which operations.
        moment: String,
        /// So many of them pass before.
        #[serde(default)]
        skip: u32,
        /// What becomes of the operation.
        fault: String,
    },
}

impl Act {
    /// The host's request that it is, if it is one.
    pub(crate) fn request(&self) -> Option<Request> {
        match *self {
            Self::Write { first, pages } => Some(Request::Write { first, pages }),
            Self::Read { first, pages } => Some(Request::Read { first, pages }),
            Self::Trim { first, pages } => Some(Request::Trim { first, pages }),
            Self::Flush => Some(Request::Flush),
            _ => None,
        }
    }

    /// Whether the host does it.
    pub(crate) fn is_of_host(&self) -> bool {
        matches!(self, Self::Workload { .. }) || self.request().is_some()
    }

    /// Refuses a request that leaves the drive, and names that mean nothing.
    pub(crate) fn check(&self, logical_pages: u32, seed: u64) -> Result<(), String> {
        let fits = |first: u32, pages: u32| match first.checked_add(pages) {
            Some(end) if pages > 0 && end <= logical_pages => Ok(()),
            _ => Err(format!("{pages} pages from page {first}: at least one, and all below {logical_pages}")),
        };
        match self {
            Self::Write { first, pages } | Self::Read { first, pages } | Self::Trim { first, pages } => {
                fits(*first, *pages)
            }
            Self::Arm { moment, skip, fault } | Self::RecoverUntil { moment, skip, fault } => {
                plug(moment, *skip, fault, seed).map(drop)
            }
            _ => Ok(()),
        }
    }
}

/// A plug by names.
pub(crate) fn plug(moment: &str, skip: u32, fault: &str, seed: u64) -> Result<Plug, String> {
    let named = Moment::ALL.into_iter().find(|known| known.name() == moment);
    let moment = named.ok_or_else(|| {
        let names: Vec<&str> = Moment::ALL.iter().map(|moment| moment.name()).collect();
        format!("unknown moment '{moment}'; known are {}", names.join(", "))
    })?;
    // Two names are of programs and of erases. An erase is meant where the moment is one.
    let faults = Fault::named(fault)?;
    let is_fitting = |fault: &&Fault| match moment {
        Moment::Erase => matches!(fault, Fault::Erase(_)),
        _ => matches!(fault, Fault::Program(_)),
    };
    let found = faults.iter().find(is_fitting).or_else(|| {
        let is_any = moment == Moment::Any;
        faults.iter().find(|fault| is_any && matches!(fault, Fault::Erase(_)))
    });
    let fault = *found.ok_or(format!("{fault} does not befall what the moment '{}' names", moment.name()))?;
    Ok(Plug { moment, skip, fault, seed })
}
