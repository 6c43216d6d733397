//! Errors of parts and parameters.

use alloc::string::String;
use thiserror::Error;

/// A parameter that is not one, or a value it cannot have.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum ConfigError {
    /// No such parameter.
    #[error("unknown parameter '{name}'; known are {known}")]
    UnknownParameter {
        /// The request.
        name: String,
        /// What there is.
        known: String,
    },
    /// A value that the parameter cannot have.
    #[error("'{name}' cannot be '{value}': {right}")]
    BadValue {
        /// The parameter.
        name: String,
        /// The requested value.
        value: String,
        /// What would be right.
        right: String,
    },
    /// A parameter of a part that is not there.
    #[error("'{name}' cannot be '{value}': {only}")]
    NoSuchPart {
        /// The parameter.
        name: String,
        /// The requested value.
        value: String,
        /// Which part has it.
        only: String,
    },
    /// One parameter, given more than once.
    #[error("'{0}' is set more than once; once would be right")]
    Repeated(String),
    /// A value that this drive has no room for; what would be right.
    #[error("{0}")]
    NoRoom(String),
    /// No such preset.
    #[error("unknown FTL '{name}'; known are {known}")]
    UnknownPreset {
        /// The request.
        name: String,
        /// What there is.
        known: String,
    },
}
