//! Whom acknowledged writes outlive.

use std::str::FromStr;

/// The failures that a flushed write survives.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Durability {
    /// The death of the process and of the host: `fdatasync` at [`ImageNand::sync`](super::ImageNand::sync), and before
    /// a slot of the file is used again.
    #[default]
    Flush,
    /// The death of the process alone: `fdatasync` only when the image is closed. After the host's crash the image may
    /// be of no use. For measurements.
    Process,
}

impl Durability {
    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Flush => "flush",
            Self::Process => "process",
        }
    }
}

impl FromStr for Durability {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let all = [Self::Flush, Self::Process];
        all.into_iter()
            .find(|durability| durability.name() == text)
            .ok_or_else(|| format!("unknown durability '{}'; known are flush, process", text.escape_debug()))
    }
}
