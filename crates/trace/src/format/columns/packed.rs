//! Numbers that may be times of day without marks, as 235859.9 is: two digits each of hours, minutes and seconds.

use super::passed::{all_rows, cells_of};
use super::settled::Settled;
use super::{Clock, Column, date};
use crate::error::excerpt;
use crate::format::TimeUnit;

/// That times which a heading gives no unit may be times of day: none has 60 seconds or more where others pass a minute.
pub(super) fn remark(settled: &Settled, text: &[u8]) -> Option<String> {
    let in_seconds = matches!(settled.spec.time(), Some(None | Some(Clock::Unit(TimeUnit::S))));
    let at = settled.spec.columns.iter().position(|column| matches!(column, Column::Time(_)))?;
    if !(settled.time_guessed && in_seconds) || settled.spec.has_day() {
        return None;
    }
    let rows = all_rows(settled, text);
    let mut minutes = 0;
    let mut last = None;
    for cell in cells_of(&rows, at) {
        if !date::is_packed(cell) || date::ns_since_1970(cell).is_err() {
            return None;
        }
        let minute = cell.get(..4);
        minutes += u32::from(last.is_some_and(|last| last != minute));
        last = Some(minute);
    }
    let first = cells_of(&rows, at).next().filter(|_| minutes > 0)?;
    let pair = |from: usize| String::from_utf8_lossy(first.get(from..from + 2).unwrap_or_default()).into_owned();
    let (hour, minute, second) = (pair(0), pair(2), String::from_utf8_lossy(first.get(4..)?).into_owned());
    let mut with_dates = settled.spec.clone();
    with_dates.columns.get_mut(at).into_iter().for_each(|column| *column = Column::Time(Some(Clock::Date)));
    Some(format!(
        "times such as {} may be times of day, {hour}:{minute}:{second}, and are taken for seconds, of which none has 60 or \
         more in its last two digits: --columns {with_dates} takes the former, and --time-unit s the latter",
        excerpt(first)
    ))
}
