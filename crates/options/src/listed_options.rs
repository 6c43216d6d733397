//! What the list of traces says of how one is read, where the file does not say it.

use crate::size::parse_sector;
use phelsuma_trace::{BlkparseEvent, ColumnSpec, Format, TimeUnit};
use serde::de::Error;
use serde::{Deserialize, Deserializer};
use std::fmt;
use std::str::FromStr;

/// Options that a trace needs, called as those of the command.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[serde(expecting = "options have to be a table, such as { time-unit = \"us\" }")]
pub struct ListedOptions {
    #[serde(deserialize_with = "parsed")]
    pub(crate) format: Option<Format>,
    pub(crate) columns: Option<String>,
    pub(crate) separator: Option<String>,
    pub(crate) skip_lines: Option<u64>,
    pub(crate) ops: Option<String>,
    #[serde(deserialize_with = "parsed")]
    pub(crate) time_unit: Option<TimeUnit>,
    #[serde(deserialize_with = "sector_bytes")]
    pub(crate) sector: Option<u32>,
    #[serde(deserialize_with = "parsed")]
    pub(crate) event: Option<BlkparseEvent>,
}

impl ListedOptions {
    /// Whether these can be together.
    pub(crate) fn check(&self) -> Result<(), String> {
        let of_columns = self.separator.is_some() || self.skip_lines.is_some() || self.ops.is_some();
        match &self.columns {
            Some(_) if self.format.is_some() => Err("options have a format or columns, not both".to_string()),
            None if of_columns => Err("options have separator, skip-lines and ops with columns alone".to_string()),
            // A name is that of a file, which is read when it is asked for.
            Some(columns) if columns.contains(',') => {
                let mut spec = columns.parse::<ColumnSpec>();
                if let Some(separator) = &self.separator {
                    spec = spec.and_then(|spec| spec.with_separator(separator));
                }
                if let Some(ops) = &self.ops {
                    spec = spec.and_then(|spec| spec.with_ops(ops));
                }
                spec.map(drop).map_err(|error| error.to_string())
            }
            _ => Ok(()),
        }
    }
}

/// As words of a command; empty for none.
impl fmt::Display for ListedOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let options = [
            ("format", self.format.map(|format| format.to_string())),
            ("columns", self.columns.clone()),
            ("separator", self.separator.clone()),
            ("skip-lines", self.skip_lines.map(|lines| lines.to_string())),
            ("ops", self.ops.clone()),
            ("time-unit", self.time_unit.map(|unit| unit.to_string())),
            ("sector", self.sector.map(|bytes| bytes.to_string())),
            ("event", self.event.map(|event| event.to_string())),
        ];
        let given = options.into_iter().filter_map(|(name, value)| Some(format!("--{name} {}", value?)));
        f.write_str(&given.collect::<Vec<_>>().join(" "))
    }
}

fn parsed<'de, D: Deserializer<'de>, T: FromStr<Err: fmt::Display>>(value: D) -> Result<Option<T>, D::Error> {
    String::deserialize(value)?.parse().map(Some).map_err(Error::custom)
}

fn sector_bytes<'de, D: Deserializer<'de>>(value: D) -> Result<Option<u32>, D::Error> {
    parse_sector(&String::deserialize(value)?).map(Some).map_err(Error::custom)
}
