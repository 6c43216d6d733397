//! Devices within devices: columns that name a device only together, as `host` and `lun` do. Where the beginning of a file
//! shows that, all of them are taken; where a later line does, that is said.

use std::collections::BTreeSet;

use hashbrown::HashMap;

use super::passed::all_rows;
use super::settled::Settled;
use super::{Column, ColumnSpec, DEVICE_COLUMNS_MAX, heading};
use crate::error::excerpt;

/// So many devices are watched.
const WATCHED_MAX: usize = 1 << 16;

/// Takes further columns for devices where those that are taken leave different ones alike.
pub(super) fn together(settled: &mut Settled, text: &[u8]) {
    let Some(first) = settled.spec.columns.iter().position(is_device) else { return };
    let rows = all_rows(settled, text);
    let (mut taken, mut devices) = (vec![first], apart(&rows, &[first]));
    for other in (0..settled.names.len()).filter(|at| names_devices(settled, *at)) {
        taken.push(other);
        let more = apart(&rows, &taken);
        if more > devices && taken.len() <= DEVICE_COLUMNS_MAX {
            devices = more;
        } else {
            taken.pop();
        }
    }
    if taken.len() > 1 {
        settled.spec = with_devices(&settled.spec, &taken);
    }
}

/// Columns that may have devices of their own, or share them: nothing shows which.
pub(super) fn remarks(settled: &Settled, text: &[u8]) -> Vec<String> {
    let Settled { spec, names, .. } = settled;
    let taken: Vec<usize> = (0..names.len()).filter(|at| spec.columns.get(*at).is_some_and(is_device)).collect();
    let is_sure = |at: &usize| names.get(*at).is_some_and(|name| heading::is_sure_device(name));
    // Where no device is sure, values of other columns are looked at whatever their names are.
    if taken.is_empty() || taken.len() >= DEVICE_COLUMNS_MAX || (taken.len() == 1 && !taken.iter().any(is_sure)) {
        return Vec::new();
    }
    let rows = all_rows(settled, text);
    let devices = apart(&rows, &taken);
    let found = names.iter().enumerate().filter_map(|(at, name)| {
        let all: Vec<usize> = taken.iter().copied().chain([at]).collect();
        let may = spec.columns.get(at) == Some(&Column::Other) && heading::may_share_devices(name);
        (may && apart(&rows, &all) > devices).then(|| {
            let with_devices = with_devices(spec, &all);
            format!(
                "column `{}` may have devices of its own, and those of equal names are taken for one: --columns \
                 {with_devices} tells them apart, and `-` there passes them over",
                excerpt(name)
            )
        })
    });
    found.collect()
}

/// Marks the columns that name devices and tell none apart, so that later lines are held against them.
pub(super) fn mark(settled: &mut Settled) {
    if !settled.spec.columns.iter().any(is_device) {
        return;
    }
    let others: Vec<usize> = (0..settled.names.len()).filter(|at| names_devices(settled, *at)).collect();
    for at in others.into_iter().take(DEVICE_COLUMNS_MAX) {
        settled.spec.columns.get_mut(at).into_iter().for_each(|column| *column = Column::Within);
    }
}

fn is_device(column: &Column) -> bool {
    matches!(column, Column::Device { .. })
}

/// Whether a column is passed over though its name is one of devices, or of what holds some.
fn names_devices(settled: &Settled, at: usize) -> bool {
    settled.spec.columns.get(at) == Some(&Column::Other)
        && settled.names.get(at).is_some_and(|name| heading::is_device(name) || heading::holds_devices(name))
}

/// How many devices these columns tell apart.
pub(super) fn apart(rows: &[Vec<&[u8]>], columns: &[usize]) -> usize {
    fn cell<'a>(row: &Vec<&'a [u8]>, at: usize) -> Option<&'a [u8]> {
        row.get(at).copied()
    }
    let of = |row| columns.iter().map(|at| cell(row, *at)).collect::<Vec<_>>();
    rows.iter().map(of).collect::<BTreeSet<_>>().len()
}

/// The same columns, with these as those of devices.
pub(super) fn with_devices(spec: &ColumnSpec, devices: &[usize]) -> ColumnSpec {
    let mut spec = spec.clone();
    for at in devices {
        spec.columns.get_mut(*at).into_iter().for_each(|column| *column = Column::Device { names: true });
    }
    spec
}

/// What each device had first in the columns that are watched.
pub(super) struct Watch {
    /// Where these columns are.
    columns: Vec<usize>,
    first: HashMap<u32, Box<[Box<[u8]>]>>,
    remark: Option<String>,
}

impl Watch {
    /// One of the columns that are marked; none where none is.
    pub(super) fn of(spec: &ColumnSpec) -> Option<Self> {
        let marked = spec.columns.iter().enumerate().filter(|(_, column)| **column == Column::Within);
        let columns: Vec<usize> = marked.map(|(at, _)| at).collect();
        (!columns.is_empty()).then(|| Watch { columns, first: HashMap::new(), remark: None })
    }

    /// Looks at a request's cells; whether they show that a device is several.
    pub(super) fn shows(&mut self, device: u32, cells: &[&[u8]], spec: &ColumnSpec) -> bool {
        let Some(first) = self.first.get(&device) else {
            if self.first.len() < WATCHED_MAX {
                self.first.insert(device, cells.iter().map(|cell| Box::from(*cell)).collect());
            }
            return false;
        };
        let Some(at) = first.iter().zip(cells).position(|(first, cell)| **first != **cell) else { return false };
        let Some(column) = self.columns.get(at) else { return false };
        let devices = (0..spec.columns.len()).filter(|at| spec.columns.get(*at).is_some_and(is_device));
        let with_devices = with_devices(spec, &devices.chain([*column]).collect::<Vec<_>>());
        let (was, is) = (first.get(at).map_or(String::new(), |first| excerpt(first)), cells.get(at).copied());
        self.remark = Some(format!(
            "requests of a device have `{was}` and, behind the file's beginning, `{}` in column {}, which are taken for \
             one: --columns {with_devices} tells them apart, and `-` there passes them over",
            excerpt(is.unwrap_or_default()),
            column + 1
        ));
        true
    }

    pub(super) fn into_remark(self) -> Option<String> {
        self.remark
    }
}
