//! Which part of write amplification a purpose is of.

use phelsuma_nand::Purpose;

/// A part of write amplification.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WritePart {
    /// User data.
    User,
    /// Translation pages.
    Translation,
    /// Validity metadata.
    Validity,
    /// Everything else.
    Other,
}

/// The part that a program for this purpose counts as in a result's `write_amplification`, and any operation in its
/// `management_seconds`. The parts are all there is: they add up to the total.
pub fn write_part(purpose: Purpose) -> WritePart {
    match purpose {
        Purpose::Host | Purpose::Gc | Purpose::Merge | Purpose::Wear | Purpose::Rmw | Purpose::Placement => {
            WritePart::User
        }
        Purpose::Translation => WritePart::Translation,
        Purpose::Validity => WritePart::Validity,
        Purpose::Recovery | Purpose::Checkpoint | Purpose::Map | Purpose::Trim | Purpose::Format | Purpose::Battery => {
            WritePart::Other
        }
    }
}
