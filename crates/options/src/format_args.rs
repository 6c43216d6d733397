//! Options of whatever reads a trace: what the file does not say itself, and which requests are asked for.

use crate::failure::{Failure, Outcome};
use crate::listed_options::ListedOptions;
use crate::size;
use crate::trace_place::{found, settings};
use clap::Args;
use phelsuma_trace::{BlkparseEvent, ColumnSpec, Filters, Format, OpenOptions, TimeUnit, TraceError};
use serde::Deserialize;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// What a trace file does not say itself, and what of it is asked for.
#[derive(Args, Clone, Debug, Default, PartialEq)]
#[command(next_help_heading = "Options of traces")]
pub struct FormatArgs {
    /// Trace format, where detection is wrong (see `phelsuma list`)
    #[arg(long, value_name = "FORMAT", value_parser = format)]
    pub format: Option<Format>,
    /// What each column is, such as time:us,device,op,lba:512,size:512 with - for one to pass over; or NAME of a file
    /// NAME.toml with columns, separator, skip-lines and ops, here or in ~/.config/phelsuma/columns
    #[arg(long, value_name = "COLUMNS", conflicts_with = "format", allow_hyphen_values = true)]
    columns: Option<String>,
    /// What separates the columns: a character, tab or blank [default: as the lines show]
    #[arg(long, value_name = "CHARACTER", allow_hyphen_values = true)]
    separator: Option<String>,
    /// Lines before the first record, such as a heading
    #[arg(long, value_name = "N")]
    skip_lines: Option<u64>,
    /// Names of operations besides the usual words, such as read=0,write=1,skip=2, for --columns or a heading
    #[arg(long, value_name = "OP=NAME|NAME,...")]
    ops: Option<String>,
    /// Unit of the trace's times: s, ms, us, 100ns (or filetime), ns or ps
    #[arg(long, value_name = "UNIT", value_parser = time_unit)]
    pub time_unit: Option<TimeUnit>,
    /// Size of the trace's sectors, such as 512 or 4KiB [default: the format's]
    #[arg(long, value_name = "SIZE", value_parser = size::parse_sector)]
    pub sector: Option<u32>,
    /// Which event of a request stands for it, for blkparse, blktrace and ftrace: issued, queued or completed
    #[arg(long, value_name = "EVENT")]
    event: Option<BlkparseEvent>,
    /// Sort requests by time, in bounded memory and temporary files
    #[arg(long)]
    sort: bool,
    /// Only requests of this device; may be given several times
    #[arg(long, value_name = "N")]
    only_device: Vec<u32>,
    /// Only the first N requests
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    first: Option<u64>,
    /// Only requests from one second to another after the first request (with --sort, the earliest), such as 0..3600
    #[arg(long, value_name = "FROM..TO", value_parser = span)]
    span: Option<Range<u64>>,
    /// Only requests that begin from one byte to before another, such as 0..10GiB
    #[arg(long, value_name = "FROM..TO", value_parser = addresses)]
    addresses: Option<Range<u64>>,
    /// Leave trims out
    #[arg(long)]
    drop_trims: bool,
    /// Move all requests up by so much, such as 512 where a partition begins at sector 63; --addresses are the trace's own
    #[arg(long, value_name = "SIZE", value_parser = size::parse)]
    shift: Option<u64>,
    /// Fail where the trace's reader has a warning
    #[arg(long)]
    strict: bool,
}

impl FormatArgs {
    /// The files that paths or names of the list stand for, and how all of them are opened.
    ///
    /// # Errors
    /// A trace of the list that is not there; several that need different options; columns that cannot be.
    pub fn files(&self, paths: &[PathBuf]) -> Outcome<(Vec<PathBuf>, OpenOptions)> {
        let mut files = Vec::with_capacity(paths.len());
        let mut of_first: Option<(&Path, ListedOptions, Self)> = None;
        for path in paths {
            let found = found(path)?;
            let here = self.over(&found.options);
            files.push(found.path);
            let (first, options, all) = of_first.get_or_insert_with(|| (path, found.options.clone(), here.clone()));
            if *all != here {
                let said = |options: &ListedOptions| match options.to_string() {
                    none if none.is_empty() => "no options".to_string(),
                    some => some,
                };
                return Err(Failure::Input(format!(
                    "{} is read with {} and {} with {}; the same for all that are merged would be right, given here",
                    first.display(),
                    said(options),
                    path.display(),
                    said(&found.options)
                )));
            }
        }
        let all = of_first.map_or_else(|| self.clone(), |(.., all)| all);
        Ok((files, all.open_options()?))
    }

    /// How a trace of the list is opened where nothing else is asked for.
    ///
    /// # Errors
    /// Columns that cannot be.
    pub fn of_listed(options: &ListedOptions) -> Outcome<OpenOptions> {
        Self::default().over(options).open_options()
    }

    /// The same with what the list says beside; what is given here is the stronger.
    fn over(&self, listed: &ListedOptions) -> Self {
        let mut all = self.clone();
        all.time_unit = self.time_unit.or(listed.time_unit);
        all.sector = self.sector.or(listed.sector);
        all.event = self.event.or(listed.event);
        if self.columns.is_none() && self.format.is_none_or(|format| format == Format::Columns) {
            all.format = self.format.or(listed.format);
            all.columns.clone_from(&listed.columns);
            all.separator = self.separator.clone().or_else(|| listed.separator.clone());
            all.skip_lines = self.skip_lines.or(listed.skip_lines);
            all.ops = self.ops.clone().or_else(|| listed.ops.clone());
        }
        all
    }

    /// For opening a trace.
    fn open_options(&self) -> Outcome<OpenOptions> {
        Ok(OpenOptions {
            format: self.format,
            time_unit: self.time_unit,
            sector_bytes: self.sector,
            blkparse_event: self.event,
            columns: self.column_spec()?,
            sort: self.sort,
            filters: Filters {
                devices: self.only_device.clone(),
                first: self.first,
                span_ns: self.span.clone(),
                addresses: self.addresses.clone(),
                drop_trims: self.drop_trims,
                shift_bytes: self.shift.unwrap_or(0),
            },
            strict: self.strict,
        })
    }

    /// The columns that options and the file of columns name; options are the stronger. Without `--columns` the trace's
    /// heading names them.
    fn column_spec(&self) -> Outcome<Option<ColumnSpec>> {
        let about_columns = [
            ("--separator", self.separator.is_some()),
            ("--skip-lines", self.skip_lines.is_some()),
            ("--ops", self.ops.is_some()),
        ];
        let given = about_columns.iter().find(|(_, given)| *given).map(|(option, _)| *option);
        if let (Some(format), Some(option)) = (self.format.filter(|format| *format != Format::Columns), given) {
            return Err(Failure::Input(format!("{option} goes with --columns or a heading, and --format is {format}")));
        }
        let about = |error: TraceError| Failure::Input(format!("--columns: {error}"));
        let (file, mut spec) = match self.columns.as_deref() {
            None if given.is_none() => return Ok(None),
            None => (ColumnsFile::default(), ColumnSpec::default()),
            Some(columns) if columns.contains(',') => (ColumnsFile::default(), columns.parse().map_err(about)?),
            Some(name) => {
                let file = ColumnsFile::named(name)?;
                let spec = file.columns.as_deref().unwrap_or(name).parse().map_err(about)?;
                (file, spec)
            }
        };
        if let Some(separator) = self.separator.as_ref().or(file.separator.as_ref()) {
            spec = spec.with_separator(separator).map_err(about)?;
        }
        if let Some(ops) = self.ops.as_ref().or(file.ops.as_ref()) {
            spec = spec.with_ops(ops).map_err(about)?;
        }
        Ok(Some(spec.with_skip_lines(self.skip_lines.or(file.skip_lines).unwrap_or(0))))
    }

    /// For requests in memory, which are what they are: which of them are asked for.
    ///
    /// # Errors
    /// An option that says what a file has.
    pub fn in_memory(&self) -> Outcome<OpenOptions> {
        match self.of_files().iter().find(|(_, given)| *given) {
            Some((option, _)) => Err(Failure::Input(format!(
                "{option} says what is in a file, and these requests are in memory; without it would be right"
            ))),
            None => self.open_options(),
        }
    }

    /// Refuses options of traces where there is a workload.
    ///
    /// # Errors
    /// One was given.
    pub fn refuse_for_workload(&self) -> Outcome {
        let of_requests = [
            ("--sort", self.sort),
            ("--only-device", !self.only_device.is_empty()),
            ("--first", self.first.is_some()),
            ("--span", self.span.is_some()),
            ("--addresses", self.addresses.is_some()),
            ("--drop-trims", self.drop_trims),
            ("--shift", self.shift.is_some()),
            ("--strict", self.strict),
        ];
        match self.of_files().iter().chain(&of_requests).find(|(_, given)| *given) {
            Some((option, _)) => {
                Err(Failure::Input(format!("{option} is an option of traces, and this is a workload")))
            }
            None => Ok(()),
        }
    }

    /// Options that say what a file does not, and whether they are given.
    fn of_files(&self) -> [(&'static str, bool); 8] {
        [
            ("--format", self.format.is_some()),
            ("--columns", self.columns.is_some()),
            ("--separator", self.separator.is_some()),
            ("--skip-lines", self.skip_lines.is_some()),
            ("--ops", self.ops.is_some()),
            ("--time-unit", self.time_unit.is_some()),
            ("--sector", self.sector.is_some()),
            ("--event", self.event.is_some()),
        ]
    }
}

/// A file that keeps the columns of traces of one kind.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct ColumnsFile {
    columns: Option<String>,
    separator: Option<String>,
    skip_lines: Option<u64>,
    ops: Option<String>,
}

impl ColumnsFile {
    /// The file of that name: a path, with or without `.toml`, or one in the user's folder of columns.
    fn named(name: &str) -> Outcome<Self> {
        let with_ending = format!("{name}.toml");
        let kept = settings().map(|folder| folder.join("columns").join(&with_ending));
        let places: Vec<PathBuf> = [Some(name.into()), Some(with_ending.into()), kept].into_iter().flatten().collect();
        let Some(path) = places.iter().find(|path| path.is_file()) else {
            let shown: Vec<String> = places.iter().map(|path| path.display().to_string()).collect();
            return Err(Failure::Input(format!(
                "--columns {name}: columns are separated by commas, as time:us,op,offset,size; or a file with them is one \
                 of {}, and none is there",
                shown.join(", ")
            )));
        };
        let text = std::fs::read_to_string(path);
        let text = text.map_err(|error| Failure::Input(format!("{}: {error}", path.display())))?;
        let file: Self = toml::from_str(&text)
            .map_err(|error| Failure::Input(format!("{}: {}", path.display(), error.message())))?;
        if file.columns.is_none() {
            return Err(Failure::Input(format!(
                "{}: columns is missing, such as \"time:us,op,offset,size\"",
                path.display()
            )));
        }
        Ok(file)
    }
}

/// Two ends of a range.
fn ends(text: &str) -> Result<(&str, &str), String> {
    text.split_once("..")
        .ok_or_else(|| format!("'{text}' is no range; FROM..TO would be right, one of them may be empty"))
}

/// A range of seconds, in nanoseconds.
fn span(text: &str) -> Result<Range<u64>, String> {
    let seconds = |text: &str, empty: u64| match text.parse::<f64>() {
        _ if text.is_empty() => Ok(empty),
        Ok(seconds) if (0.0..1.8e10).contains(&seconds) => Ok((seconds * 1e9) as u64),
        _ => Err(format!("'{text}' is no number of seconds from 0 on")),
    };
    let (from, to) = ends(text)?;
    not_empty(seconds(from, 0)?..seconds(to, u64::MAX)?)
}

/// A range of bytes.
fn addresses(text: &str) -> Result<Range<u64>, String> {
    let bytes = |text: &str, empty: u64| if text.is_empty() { Ok(empty) } else { size::parse(text) };
    let (from, to) = ends(text)?;
    not_empty(bytes(from, 0)?..bytes(to, u64::MAX)?)
}

fn not_empty(range: Range<u64>) -> Result<Range<u64>, String> {
    if range.is_empty() { Err("the range is empty; its end is after its begin".to_string()) } else { Ok(range) }
}

fn format(name: &str) -> Result<Format, String> {
    name.parse::<Format>().map_err(|error| error.to_string())
}

fn time_unit(name: &str) -> Result<TimeUnit, String> {
    name.parse::<TimeUnit>().map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        format: FormatArgs,
    }

    fn parsed(words: &[&str]) -> Result<OpenOptions, String> {
        let command = Command::try_parse_from([&["x"], words].concat()).map_err(|error| error.to_string())?;
        command.format.open_options().map_err(|failure| format!("{failure:?}"))
    }

    #[test]
    fn columns_may_begin_with_one_to_pass_over() {
        let options = parsed(&["--columns", "-,lba:512,op,size", "--separator", "-"]).unwrap();
        assert_eq!(options.columns.unwrap().to_string(), "-,lba:512,op,size");
        assert!(parsed(&["--columns", "-,-,op,offset:4KiB,size,time:date"]).is_ok());
        assert!(parsed(&["--columns", "-,op"]).is_err());
    }

    #[test]
    fn options_of_columns_go_with_a_heading() {
        for words in [&["--ops", "skip=X"][..], &["--separator", ";"], &["--skip-lines", "2"]] {
            assert_eq!(parsed(words).unwrap().columns.unwrap().to_string(), "", "{words:?}");
            let error = parsed(&[words, &["--format", "spc"]].concat()).err().unwrap();
            assert!(error.contains("goes with --columns or a heading"), "{error}");
            assert!(parsed(&[words, &["--format", "columns"]].concat()).is_ok());
        }
        assert!(parsed(&[]).unwrap().columns.is_none());
    }

    #[test]
    fn ranges_may_lack_an_end() {
        assert_eq!(span("0.5..2"), Ok(500_000_000..2_000_000_000));
        assert_eq!(span("..1"), Ok(0..1_000_000_000));
        assert_eq!(addresses("1MiB.."), Ok(1 << 20..u64::MAX));
        assert_eq!(addresses("0..4KiB"), Ok(0..4096));
        for wrong in ["", "5", "2..1", "1..1", "-1..2", "a..b"] {
            assert!(span(wrong).is_err() && addresses(wrong).is_err(), "{wrong}");
        }
    }
}
