//! A drive that was filled and warmed up, in a file: what took hours is done once.
//!
//! The file holds the state of the flash and of the FTL's RAM, and the simulated times. It does not hold what the
//! requests before it say again: the workload's position, the logical pages that hold data, an oracle's hints. Those
//! requests are drawn anew, which takes a small part of the time.
//!
//! | bytes | what |
//! | --- | --- |
//! | 0–7 | `PHELSTAT` |
//! | 8–11 | version of this layout, little-endian |
//! | 12– | one zstd frame with a checksum: the build, the configuration by name, the state |
//!
//! A state is bytes that only the build knows which wrote it. So a file of another build is refused, and one of another
//! configuration with the name of what differs. A file is read twice. The first time shows that it is whole.

use crate::config::{Arrival, Input, RunConfig, RunError};
use crate::saving::Saving;
use phelsuma_nand::Geometry;
use phelsuma_nand::state::{Load, Preserve, StateError, StateIn, StateOut};
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use zstd::stream::read::Decoder;
use zstd::stream::write::Encoder;

const MAGIC: &[u8; 8] = b"PHELSTAT";
const VERSION: u32 = 1;
/// States are alike over and over; more effort gains little.
const LEVEL: i32 = 1;
/// Of a window that a file may ask for, in bytes: 2 to the power of this.
const WINDOW_LOG_MAX: u32 = 27;
/// Of a text in the head, in bytes.
const TEXT_MAX: usize = 1 << 16;

impl Saving<'_> {
    /// Refuses a run whose drive cannot be saved.
    pub(crate) fn check(&self, config: &RunConfig) -> Result<(), RunError> {
        if self.from.is_none() && self.to.is_none() {
            return Ok(());
        }
        let why = match &config.input {
            Input::Trace { .. } => "a trace warms a drive up by its loops: only the drive of a workload can be saved",
            Input::Workload(_) if config.distributions => "lifetimes that began before are not saved with a drive",
            Input::Workload(_) => return Ok(()),
        };
        Err(RunError::Input(why.into()))
    }
}

/// What the state rests on, by name: it is good where all of this is the same.
fn conditions(config: &RunConfig, geometry: &Geometry) -> Vec<(String, String)> {
    let shape = &config.shape;
    let [mapping, validity, victim, placement] = config.composition.names();
    let [metadata, power, collection] = config.composition.other_names();
    let workload = match &config.input {
        Input::Workload(workload) => workload.to_string(),
        Input::Trace { trace, .. } => trace.name(),
    };
    let arrival = match config.arrival {
        Arrival::QueueDepth(depth) => format!("queue depth {depth}"),
        Arrival::Timestamps => "open loop".into(),
    };
    let mut all: Vec<(String, String)> = [
        ("ftl", config.ftl.clone()),
        ("mapping", mapping),
        ("validity", validity),
        ("victim", victim),
        ("placement", placement),
        ("metadata", metadata),
        ("power", power),
        ("collection", collection),
        ("SLC cache", config.composition.page_mapped().and_then(|parts| parts.slc.name()).unwrap_or_default()),
        ("wear", config.composition.name_of_wear().unwrap_or_default()),
        ("capacity", geometry.capacity_bytes().to_string()),
        ("ratio", shape.ratio.to_string()),
        ("page size", shape.page_bytes.to_string()),
        ("pages per block", shape.pages_per_block.to_string()),
        ("channels", shape.channels.to_string()),
        ("dies", shape.dies_per_channel.to_string()),
        ("timing", format!("{:?}", config.timing)),
        ("link", format!("{:?}", config.link)),
        ("write cache", config.write_cache.map_or_else(String::new, |cache| format!("{cache:?}"))),
        ("workload", workload),
        ("fill", format!("{:?}", config.fill)),
        ("warm-up", config.warmup.to_string()),
        ("arrival", arrival),
        ("seed", config.seed.to_string()),
        ("cut at the end", config.cut_at_end.to_string()),
    ]
    .map(|(name, text)| (name.to_string(), text))
    .into();
    if config.composition.knowledge().is_some() {
        // What an oracle is told rests on all of the run.
        all.push(("passes".into(), config.passes.to_string()));
    }
    all.extend(config.composition.settings().into_iter().map(|(name, value)| (name.to_string(), value)));
    all
}

fn put_text(text: &str, to: &mut dyn StateOut) -> Result<(), StateError> {
    text.len().put_state(to)?;
    to.put(text.as_bytes())
}

fn take_text(from: &mut dyn StateIn) -> Result<String, StateError> {
    let length = usize::load(from)?;
    if length > TEXT_MAX {
        return Err(StateError::NotAState);
    }
    let mut text = vec![0; length];
    from.take(&mut text)?;
    String::from_utf8(text).map_err(|_| StateError::NotAState)
}

/// Writes of the state; an error of the file is kept.
struct Out<W> {
    to: W,
    error: Option<std::io::Error>,
}

impl<W: Write> StateOut for Out<W> {
    #[inline]
    fn put(&mut self, bytes: &[u8]) -> Result<(), StateError> {
        self.to.write_all(bytes).map_err(|error| {
            self.error = Some(error);
            StateError::Ends
        })
    }
}

struct In<R>(R);

impl<R: Read> StateIn for In<R> {
    #[inline]
    fn take(&mut self, bytes: &mut [u8]) -> Result<(), StateError> {
        self.0.read_exact(bytes).map_err(|_| StateError::Ends)
    }
}

/// A file under another name until it is whole; if it never is, it goes.
struct Unfinished(PathBuf);

impl Drop for Unfinished {
    fn drop(&mut self) {
        // It has its name, or what failed is reported already.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Why there can be no file of this name, if it is not for the disk.
fn why_no_file(path: &Path) -> Option<&'static str> {
    if path.is_dir() {
        return Some("it is a directory");
    }
    if path.file_name().is_none() {
        return Some("it is no name of a file");
    }
    (path.exists() && !path.is_file()).then_some("it is there, and no file")
}

/// A file that is being written; it has its name once it is whole.
pub(crate) struct Saver {
    out: Out<BufWriter<Encoder<'static, File>>>,
    path: PathBuf,
    unfinished: Unfinished,
}

impl Saver {
    /// Begins the file: what cannot be written is known before the drive is filled.
    pub(crate) fn begin(path: &Path, build: &str, config: &RunConfig, geometry: &Geometry) -> Result<Self, RunError> {
        if let Some(why) = why_no_file(path) {
            return Err(RunError::Input(format!("{}: {why}", path.display())));
        }
        let mut name = path.as_os_str().to_owned();
        name.push(".part");
        let unfinished = Unfinished(PathBuf::from(name));
        let begun = || -> std::io::Result<Encoder<'static, File>> {
            let mut file = File::create(&unfinished.0)?;
            file.write_all(MAGIC)?;
            file.write_all(&VERSION.to_le_bytes())?;
            let mut encoder = Encoder::new(file, LEVEL)?;
            encoder.include_checksum(true)?;
            Ok(encoder)
        };
        let encoder = begun().map_err(|error| RunError::Input(format!("{}: {error}", unfinished.0.display())))?;
        let out = Out { to: BufWriter::with_capacity(1 << 20, encoder), error: None };
        let mut saver = Self { out, path: path.into(), unfinished };
        saver.put(|to| {
            put_text(build, to)?;
            let conditions = conditions(config, geometry);
            conditions.len().put_state(to)?;
            conditions.iter().try_for_each(|(name, text)| {
                put_text(name, to)?;
                put_text(text, to)
            })
        })?;
        Ok(saver)
    }

    /// Writes a part of the state.
    pub(crate) fn put(
        &mut self,
        part: impl FnOnce(&mut dyn StateOut) -> Result<(), StateError>,
    ) -> Result<(), RunError> {
        part(&mut self.out).map_err(|error| {
            let path = self.path.display();
            match self.out.error.take() {
                Some(of_file) => RunError::Failed(format!("{path}: {of_file}")),
                None => RunError::Failed(format!("{path}: {error}")),
            }
        })
    }

    /// The file is whole, and gets its name.
    pub(crate) fn finish(self) -> Result<(), RunError> {
        let Self { out, path, unfinished } = self;
        let done = || -> std::io::Result<()> {
            let file = out.to.into_inner().map_err(std::io::IntoInnerError::into_error)?.finish()?;
            file.sync_all()?;
            std::fs::rename(&unfinished.0, &path)
        };
        done().map_err(|error| RunError::Failed(format!("{}: {error}", path.display())))
    }
}

/// A file that is being read.
pub(crate) struct Saved {
    from: In<BufReader<Decoder<'static, BufReader<File>>>>,
    path: PathBuf,
}

impl Saved {
    /// Opens the file of a drive of this configuration, which this build has written.
    pub(crate) fn open(path: &Path, build: &str, config: &RunConfig, geometry: &Geometry) -> Result<Self, RunError> {
        let refused = |why: String| RunError::Input(format!("{}: {why}", path.display()));
        let mut file = File::open(path).map_err(|error| refused(error.to_string()))?;
        let mut head = [0; 12];
        if file.read_exact(&mut head).is_err() || &head[..8] != MAGIC {
            return Err(refused("it is no saved drive".into()));
        }
        let version = u32::from_le_bytes([head[8], head[9], head[10], head[11]]);
        if version != VERSION {
            return Err(refused(format!("a saved drive in layout {version}: this build has layout {VERSION}")));
        }
        let damaged = |error: std::io::Error| refused(format!("the file is damaged or cut off: {error}"));
        let frame = |mut file: File| -> std::io::Result<Decoder<'static, BufReader<File>>> {
            file.seek(SeekFrom::Start(head.len() as u64))?;
            let mut frame = Decoder::with_buffer(BufReader::with_capacity(1 << 17, file))?.single_frame();
            frame.window_log_max(WINDOW_LOG_MAX)?;
            Ok(frame)
        };
        let mut whole = file.try_clone().and_then(frame).map_err(damaged)?;
        std::io::copy(&mut whole, &mut std::io::sink()).map_err(damaged)?;
        if !whole.finish().fill_buf().map_err(damaged)?.is_empty() {
            return Err(refused("the file goes on behind the saved drive".into()));
        }
        let from = In(BufReader::with_capacity(1 << 20, frame(file).map_err(damaged)?));
        let mut saved = Self { from, path: path.into() };
        let written_by = saved.take(take_text)?;
        if written_by != build {
            return Err(refused(format!(
                "it was saved by another build ({written_by}), whose states this one ({build}) cannot tell: it is to be \
                 made anew"
            )));
        }
        let expected = conditions(config, geometry);
        let there = saved.take(|from| {
            let many = usize::load(from)?.min(TEXT_MAX);
            (0..many).map(|_| Ok((take_text(from)?, take_text(from)?))).collect::<Result<Vec<_>, StateError>>()
        })?;
        let find = |all: &[(String, String)], name: &str| {
            all.iter().find(|(other, _)| other == name).map(|(_, text)| text.clone())
        };
        for (name, _) in expected.iter().chain(&there) {
            let (own, of_file) = (find(&expected, name), find(&there, name));
            if own != of_file {
                let show = |text: Option<String>| text.unwrap_or_else(|| "without".into());
                return Err(refused(format!(
                    "it is of another drive: {name} is {} there, and {} here",
                    show(of_file),
                    show(own)
                )));
            }
        }
        Ok(saved)
    }

    /// Reads a part of the state.
    pub(crate) fn take<T>(
        &mut self,
        part: impl FnOnce(&mut dyn StateIn) -> Result<T, StateError>,
    ) -> Result<T, RunError> {
        part(&mut self.from).map_err(|error| RunError::Input(format!("{}: {error}", self.path.display())))
    }
}
