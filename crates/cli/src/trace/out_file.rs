//! The trace file that is written, or standard output.
//!
//! The file is there when it is complete and not before. It is compressed if its name ends in .gz or .zst. Standard
//! output is plain.

use crate::errors::{Failure, Outcome};
use crate::output::{self, WithSchema};
use crate::remarks;
use phelsuma_options::count;
use phelsuma_trace::convert::Written;
use phelsuma_trace::{Compressed, Compression, Format, InputReport, TraceError};
use serde::Serialize;
use std::fs::{self, File};
use std::io::{BufWriter, Write, stdout};
use std::path::{Path, PathBuf};

/// Where a trace goes.
pub(super) struct OutFile<'a> {
    path: &'a Path,
    /// The file that is written and then takes the name; none for standard output and devices.
    partial: Option<PathBuf>,
    compression: Compression,
}

#[derive(Serialize)]
struct Said<'a> {
    file: std::borrow::Cow<'a, str>,
    format: Format,
    #[serde(flatten)]
    written: Written,
    /// What was read; none where a workload is written.
    #[serde(skip_serializing_if = "Option::is_none")]
    input: Option<InputReport>,
}

impl<'a> OutFile<'a> {
    /// Where `path` says; nothing is created yet.
    pub(super) fn new(path: &'a Path, json: bool) -> Outcome<Self> {
        if path.as_os_str() == "-" {
            if json {
                return Err(Failure::Input(
                    "--json and the trace cannot both go to standard output; write the trace to a file".to_string(),
                ));
            }
            return Ok(Self { path, partial: None, compression: Compression::None });
        }
        let compression = Compression::of(path)?;
        let wrong = |what: &str| Err(Failure::Input(format!("{}: {what}", path.display())));
        match fs::metadata(path) {
            Ok(meta) if meta.is_dir() => wrong("this is a directory; use the name of a file"),
            Ok(meta) if !meta.is_file() => Ok(Self { path, partial: None, compression }),
            _ => {
                let Some(name) = path.file_name() else {
                    return wrong("the path does not end in the name of a file; use one that does");
                };
                if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty() && !folder.is_dir())
                {
                    return wrong(&format!("there is no folder {}; create it or use another", folder.display()));
                }
                let mut name = name.to_os_string();
                name.push(format!(".partial-{}", std::process::id()));
                Ok(Self { path, partial: Some(path.with_file_name(name)), compression })
            }
        }
    }

    /// Whether it goes to standard output, which cannot be written twice.
    pub(super) fn is_stdout(&self) -> bool {
        self.path.as_os_str() == "-"
    }

    /// Writes the trace and says what was written.
    pub(super) fn write(
        &self,
        format: Format,
        json: bool,
        write: impl FnOnce(&mut dyn Write) -> Outcome<(Written, Option<InputReport>)>,
    ) -> Outcome {
        if self.is_stdout() {
            let (written, input) = write(&mut BufWriter::new(stdout().lock()))?;
            input.iter().flat_map(said_of).for_each(|line| output::remark(&line));
            if written.dropped > 0 {
                output::remark(&format!("left out: {} requests that {format} cannot express", written.dropped));
            }
            if written.dropped_handles > 0 {
                output::remark(&format!("left out: {} placement handles", written.dropped_handles));
            }
            return Ok(());
        }
        let target = self.partial.as_deref().unwrap_or(self.path);
        let wrong = |error: std::io::Error| Failure::Input(format!("{}: {error}", self.path.display()));
        let file = if self.partial.is_some() { File::create(target) } else { File::options().write(true).open(target) };
        let buffered = BufWriter::new(file.map_err(wrong)?);
        let outcome = compressed(buffered, self.compression, write);
        let outcome = match (outcome, &self.partial) {
            (Ok(written), Some(partial)) => fs::rename(partial, self.path).map(|()| written).map_err(wrong),
            (outcome, _) => outcome,
        };
        if let (Err(_), Some(partial)) = (&outcome, &self.partial) {
            // What is incomplete goes; where that fails too, its name says what it is.
            let _ = fs::remove_file(partial);
        }
        let (written, input) = outcome?;
        if json {
            let said = Said { file: self.path.to_string_lossy(), format, written, input };
            return output::json(&WithSchema { schema: "phelsuma.trace-written/1", value: said });
        }
        let said: String = input.iter().flat_map(said_of).map(|line| line + "\n").collect();
        let mut left_out = match written.dropped {
            0 => String::new(),
            n => format!("; left out: {} that {format} cannot express", count(n)),
        };
        if written.dropped_handles > 0 {
            left_out += &format!("; left out: {} placement handles", count(written.dropped_handles));
        }
        let file = self.path.display();
        output::print(&format!("{said}{file}: {} requests ({format}){left_out}\n", count(written.requests)))
    }
}

/// What was read, beside what is written.
fn said_of(input: &InputReport) -> Vec<String> {
    std::iter::once(remarks::read_of(input)).chain(remarks::warnings(input)).collect()
}

/// Writes the trace through a compressor, to its end.
fn compressed<T>(
    out: impl Write,
    compression: Compression,
    write: impl FnOnce(&mut dyn Write) -> Outcome<T>,
) -> Outcome<T> {
    let mut out = Compressed::new(out, compression).map_err(TraceError::Write)?;
    let written = write(&mut out)?;
    out.finish().map_err(TraceError::Write)?;
    Ok(written)
}
