//! How a drive in an image stopped last, and whether that cost data.

use super::{ImageNand, RollBack, Storage};
use phelsuma_ftl::RecoveryReport;

/// The last stop of a drive, as its image and its recovery tell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LastStop {
    /// It was closed cleanly.
    InGoodOrder,
    /// A power cut, or the end of the process or of its host. What was acknowledged is there.
    Unclean(RollBack),
    /// A power cut after which the FTL's battery saved what only RAM held.
    Saved(RollBack),
    /// A stop that the FTL's battery did not hear of, after pages were programmed: what only RAM held is lost.
    Unsaved(RollBack),
}

/// What a stop costs that a battery did not hear of.
pub const BATTERY_SAVED_NOTHING: &str = "its battery did not hear of the last stop (server killed, host crashed, or \
    disk full): what only its RAM held is lost, flushed writes included";

impl LastStop {
    /// That of the drive in this image, which this recovery has brought up.
    ///
    /// An FTL whose battery saved nothing has lost what was acknowledged since the drive was opened, unless nothing was
    /// programmed since. Trims alone program nothing: that they are lost nothing tells.
    pub fn of<S: Storage>(nand: &ImageNand<S>, report: &RecoveryReport) -> Self {
        match (nand.rolled_back(), report.battery_saved) {
            (None, _) => Self::InGoodOrder,
            (Some(back), Some(true)) => Self::Saved(*back),
            (Some(back), Some(false)) if back.programs > 0 => Self::Unsaved(*back),
            (Some(back), _) => Self::Unclean(*back),
        }
    }

    /// Its name in JSON.
    pub fn name(&self) -> &'static str {
        match self {
            Self::InGoodOrder => "in-good-order",
            Self::Unclean(_) => "unclean",
            Self::Saved(_) => "saved-by-battery",
            Self::Unsaved(_) => "not-saved-by-battery",
        }
    }
}
