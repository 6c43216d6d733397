//! What keeps a run from its answer, in one line.

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TortureError {
    /// What was asked cannot be done: wrong usage, or something is missing here.
    #[error("{0}")]
    Input(String),
    /// A signal asked to stop before anything was checked.
    #[error("stopped before anything was checked")]
    Stopped,
}

impl TortureError {
    /// With what it is about in front.
    pub(crate) fn about(what: &str, error: impl std::fmt::Display) -> Self {
        Self::Input(format!("{what}: {error}"))
    }
}

/// An answer, or why there is none.
pub type Outcome<T = ()> = Result<T, TortureError>;
