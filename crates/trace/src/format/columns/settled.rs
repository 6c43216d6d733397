//! Columns of a file of which nothing is open.

use std::sync::Arc;

use super::commas::Commas;
use super::keyed::Keys;
use super::{Clock, Column, ColumnSpec};
use crate::TraceError;
use crate::format::TimeUnit;
use crate::report::ColumnsRead;
use crate::request::Op;

/// Columns of which nothing is open.
#[derive(Debug, Clone)]
pub(crate) struct Settled {
    pub(crate) spec: ColumnSpec,
    /// What the heading calls the columns; none where a person names them.
    pub(super) names: Vec<Vec<u8>>,
    /// The heading names no unit of times.
    pub(crate) time_guessed: bool,
    /// What of the heading was not understood, for a person.
    pub(crate) remarks: Vec<String>,
    /// The same of times, which a unit that is named beside the columns settles.
    pub(crate) remarks_of_times: Vec<String>,
    /// What the column of operations says yes to, where its name is that of a flag.
    pub(super) flag: Option<Op>,
    /// Lines name each value.
    pub(crate) keys: Option<Keys>,
    /// What commas in times mean.
    pub(super) commas: Commas,
}

impl Settled {
    /// The unit of times, where there are any. Dates are read as nanoseconds.
    pub(crate) fn time_unit(&self) -> Option<TimeUnit> {
        match self.spec.time()? {
            Some(Clock::Date) => Some(TimeUnit::Ns),
            Some(Clock::Unit(unit)) => Some(unit),
            None => Some(TimeUnit::S),
        }
    }

    /// Whether a unit that is named beside the columns is theirs.
    pub(crate) fn agrees_with(
        &self,
        time_unit: Option<TimeUnit>,
        columns: Option<&ColumnSpec>,
        file: &Arc<str>,
    ) -> Result<(), TraceError> {
        let Some(named) = time_unit else { return Ok(()) };
        let stated = columns.and_then(ColumnSpec::stated_clock);
        let what = match (stated, self.spec.stated_clock()) {
            (Some(Clock::Unit(stated)), _) if stated != named => {
                format!("--columns has times in {stated} and --time-unit in {named}, one of them would be right")
            }
            (_, Some(Clock::Date)) => "the times are dates, so --time-unit says nothing".to_owned(),
            _ => return Ok(()),
        };
        Err(TraceError::file(file, what))
    }

    /// For the report.
    pub(crate) fn read(&self) -> Option<ColumnsRead> {
        let columns = || self.spec.columns.iter();
        let address =
            columns().find_map(|column| if let Column::Address(unit) = column { Some(*unit) } else { None })?;
        let size = columns().find_map(|column| if let Column::Size(unit) = column { Some(*unit) } else { None })?;
        Some(ColumnsRead {
            columns: self.spec.to_string(),
            address_unit_bytes: address.bytes,
            address_unit_guessed: address.guessed,
            size_unit_bytes: size.bytes,
            size_unit_guessed: size.guessed,
        })
    }
}
