//! Which parts write the same bits of a spare area, and so cannot be together.

use crate::config::{PageParts, PowerPart, ValidityPart, WearPart};
use crate::medium::marks::{BACK_POINTER, DAMAGE, ERASE_COUNT, LIFE, Owner, SCAN_MARK};
use alloc::format;
use alloc::string::String;

impl PageParts {
    /// Who else writes into spare areas, besides wear levelling, on a drive that survives power cuts like this.
    fn marks_of_power(&self) -> &'static [Owner] {
        match (self.power, self.validity) {
            (PowerPart::GeckoRec { .. }, _) => &[DAMAGE],
            (PowerPart::Synchronize, ValidityPart::PageValidityLog) => &[SCAN_MARK, BACK_POINTER],
            (PowerPart::Synchronize, _) => &[SCAN_MARK],
            (PowerPart::Scan | PowerPart::Battery | PowerPart::Fast | PowerPart::Nothing, _) => &[],
        }
    }

    /// What another part keeps in the bits of a spare area that the recovery needs, and which part that is.
    pub(crate) fn shares_bits(&self) -> Option<(&'static str, String)> {
        let shares = |with: Owner| !self.marks_of_power().iter().all(|owner| owner.is_apart_from(with));
        if self.wear != WearPart::Nothing && shares(ERASE_COUNT) {
            return Some(("erase counts", "wear=levelling".into()));
        }
        (self.placement.asks().lives && shares(LIFE)).then(|| ("lives", format!("placement={}", self.placement.name())))
    }
}
