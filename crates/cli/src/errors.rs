//! How a command ends: its exit code, and one line on stderr.
//!
//! Exit code 0 is done, 1 a check that failed or a run that was not completed, 2 wrong usage or input, 130 a signal where
//! what was done until then counts.

use phelsuma_claims::ClaimsError;
use phelsuma_drive::RunError;
use phelsuma_drive::lab::LabError;
use phelsuma_ftl::{ConfigError, FtlError};
use phelsuma_limits::LimitError;
use phelsuma_nand::GeometryError;
use phelsuma_options::{Blames, one_line};
use phelsuma_serve::device::OpenError;
use phelsuma_trace::{TraceError, WorkloadError};
use std::io::{self, Write as _};
use std::process::ExitCode;

/// Why a command did not do what it was asked.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// Wrong usage or input.
    Input(String),
    /// A check failed, or the run was not completed.
    Failed(String),
    /// A check failed and the results, already printed, say so.
    Shown,
    /// A signal stopped it, and what was done until then is printed.
    Interrupted,
    /// Nobody reads the output any more.
    ClosedPipe,
}

/// How commands end.
pub(crate) type Outcome<T = ()> = Result<T, Failure>;

impl Failure {
    /// The output cannot be written.
    pub(crate) fn output(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::ClosedPipe,
            _ => Self::Failed(format!("the output cannot be written: {error}")),
        }
    }

    /// Says it, and gives the exit code.
    pub(crate) fn report(&self) -> ExitCode {
        let (code, text) = match self {
            Self::Input(text) => (2, text),
            Self::Failed(text) => (1, text),
            Self::Shown => return ExitCode::from(1),
            Self::Interrupted => return ExitCode::from(130),
            Self::ClosedPipe => return ExitCode::SUCCESS,
        };
        // Where stderr is closed too there is nobody left to tell.
        let _ = writeln!(io::stderr(), "phelsuma: {}", one_line(text));
        ExitCode::from(code)
    }
}

impl From<phelsuma_options::Failure> for Failure {
    fn from(failure: phelsuma_options::Failure) -> Self {
        match failure {
            phelsuma_options::Failure::Input(text) => Self::Input(text),
            phelsuma_options::Failure::Failed(text) => Self::Failed(text),
        }
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        phelsuma_options::Failure::from(error).into()
    }
}

impl Blames for Failure {
    fn input(&self) -> Option<&str> {
        match self {
            Self::Input(text) => Some(text),
            _ => None,
        }
    }
}

impl From<OpenError> for Failure {
    fn from(error: OpenError) -> Self {
        match error {
            OpenError::Input(text) => Self::Input(text),
            OpenError::Failed(text) => Self::Failed(text),
        }
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Input(text) => Self::Input(text),
            RunError::Failed(text) => Self::Failed(text),
            RunError::Stopped => Self::Failed("stopped before it was done".to_string()),
        }
    }
}

impl From<LabError> for Failure {
    fn from(error: LabError) -> Self {
        let text = error.to_string();
        match error {
            LabError::NoSuchBranch(_) | LabError::Depth(_) | LabError::NotPromised(..) | LabError::NoFault(..) => {
                Self::Input(text)
            }
            LabError::Workload(FtlError::Unsupported(why)) => Self::Input(why.to_string()),
            LabError::Workload(_) => Self::Failed(text),
        }
    }
}

impl From<TraceError> for Failure {
    fn from(error: TraceError) -> Self {
        match &error {
            TraceError::Write(source) => Self::output(source),
            TraceError::Unwritable { .. } => {
                Self::Input(format!("{error}, or --drop-unwritable to leave such requests out"))
            }
            _ => Self::Input(error.to_string()),
        }
    }
}

macro_rules! input_errors {
    ($($error:ty),*) => {
        $(impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                Self::Input(error.to_string())
            }
        })*
    };
}

input_errors!(ClaimsError, GeometryError, LimitError, WorkloadError);
