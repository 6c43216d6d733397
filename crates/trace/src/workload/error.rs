//! Errors of a workload.

/// A workload specification that makes no sense, or a drive it cannot run on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("workload `{spec}`: {what}")]
pub struct WorkloadError {
    /// The specification.
    pub spec: String,
    /// The error and what would be right.
    pub what: String,
}
