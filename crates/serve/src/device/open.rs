//! Things that can be served: they open as flash with an FTL on it.

use super::Flash;
use phelsuma_ftl::{Ftl, RecoveryReport};
use phelsuma_nand::Time;
use thiserror::Error;

/// A drive that has mounted.
pub struct Opened<N> {
    /// Its flash.
    pub flash: N,
    /// The FTL on it.
    pub ftl: Box<dyn Ftl<N>>,
    /// The FTL's name.
    pub name: String,
    /// Whether the FTL's parts hold a battery, so that power cuts are announced to it.
    pub battery: bool,
    /// The moment it is ready: requests do not arrive earlier.
    pub ready: Time,
    /// Its description and how it mounted, in one line for the server's operator.
    pub about: String,
}

/// The message where a recovery came to more than its FTL states, which is a defect of the FTL.
pub(crate) fn beyond_its_bound(report: &RecoveryReport) -> &'static str {
    if report.is_within_bound() { "" } else { "; its recovery exceeded its bound" }
}

/// Why a drive does not mount.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum OpenError {
    /// The request cannot be: wrong usage or input.
    #[error("{0}")]
    Input(String),
    /// It should have mounted.
    #[error("{0}")]
    Failed(String),
}

/// Something that opens as a drive: a description of one in memory, the path of an image.
pub trait Open {
    /// The flash that it opens as.
    type Flash: Flash;

    /// Makes the drive, or mounts the one on its flash.
    ///
    /// # Errors
    /// [`OpenError`].
    fn open(&self) -> Result<Opened<Self::Flash>, OpenError>;

    /// Mounts the drive again after a power cut; `flash` is as the cut left it. Where everything is in a file, that is
    /// opened anew.
    ///
    /// # Errors
    /// [`OpenError`].
    fn power_on(&self, flash: Self::Flash) -> Result<Opened<Self::Flash>, OpenError> {
        drop(flash);
        self.open()
    }
}
