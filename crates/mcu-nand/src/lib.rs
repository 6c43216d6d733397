//! The FTL for microcontrollers ([`phelsuma_mcu`]) on simulated chips: the very code that firmware has is a subject of
//! the crash laboratory ([`Subject`](phelsuma_drive::lab::Subject)).

mod chip;
mod ftl;
mod subject;

pub use chip::ChipOn;
pub use ftl::FtlOn;
pub use subject::{Mcu, McuSubject};
