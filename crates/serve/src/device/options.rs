//! The options of a server: `KEY=VALUE` words, as nbdkit passes them to a plugin.

use super::{CachePolicy, Faults, MemoryDrive, OpenError, PolicyAndSeed, Serving, WriteCache};
use crate::image::Durability;
use phelsuma_drive::DriveShape;
use phelsuma_ftl::{Config, Preset};
use phelsuma_nand::{TIMINGS, Timing};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

/// What a cut leaves of a write cache, by default: the most that a program must be ready for.
pub const SERVED_POLICY: PolicyAndSeed = PolicyAndSeed(CachePolicy::Subset, 1);
/// How long there are no requests before the FTL works for itself, by default.
pub const IDLE_DEFAULT: Duration = Duration::from_millis(100);

/// A drive in memory, as it is requested.
#[derive(Clone, Debug)]
pub struct MemoryOptions {
    /// Its shape; `capacity_bytes` is the flash.
    pub shape: DriveShape,
    /// The FTL's name.
    pub ftl: String,
    /// The timing's name.
    pub timing: String,
    /// Seed of everything random in the FTL.
    pub seed: u64,
    /// Changes of the FTL, by parameter.
    pub settings: Vec<(String, String)>,
}

impl Default for MemoryOptions {
    fn default() -> Self {
        Self {
            shape: DriveShape::default(),
            ftl: "page".into(),
            timing: TIMINGS[0].0.into(),
            seed: 1,
            settings: Vec::new(),
        }
    }
}

impl MemoryOptions {
    /// The drive.
    ///
    /// # Errors
    /// [`OpenError::Input`]: it cannot be.
    pub fn drive(&self) -> Result<MemoryDrive, OpenError> {
        let wrong = |error: &dyn std::fmt::Display| OpenError::Input(error.to_string());
        let preset = Preset::named(&self.ftl).map_err(|error| wrong(&error))?;
        let mut composition = preset.composition;
        let settings: Vec<(&str, &str)> = self.settings.iter().map(|(key, value)| (&**key, &**value)).collect();
        composition.set_all(&settings).map_err(|error| wrong(&error))?;
        if let Some(why) = composition.why_oracle() {
            return Err(OpenError::Input(format!("{} cannot be served: {why}", self.ftl)));
        }
        let capacity = self.shape.capacity_bytes.unwrap_or_default();
        let geometry = self.shape.geometry(capacity).map_err(|error| wrong(&error))?;
        let logical_pages = self.shape.logical_pages(&geometry);
        if logical_pages == 0 {
            return Err(OpenError::Input(format!(
                "ratio {} leaves no logical page; use a larger ratio",
                self.shape.ratio
            )));
        }
        composition.check_on(&geometry, logical_pages).map_err(|error| wrong(&error))?;
        let timing = Timing::preset(&self.timing).ok_or_else(|| {
            let known: Vec<&str> = TIMINGS.iter().map(|(name, ..)| *name).collect();
            OpenError::Input(format!("unknown timing '{}'; known are {}", self.timing.escape_debug(), known.join(", ")))
        })?;
        Ok(MemoryDrive { geometry, timing, config: Config::new(preset.name, composition, logical_pages, self.seed) })
    }
}

/// Where the drive is.
#[derive(Clone, Debug)]
pub enum Backing {
    /// In an image file.
    Image(PathBuf),
    /// In memory.
    Memory(MemoryOptions),
}

/// All options of a server.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where the drive is, when that was said.
    pub backing: Option<Backing>,
    /// The failures that a flushed write survives, of a drive in an image.
    pub durability: Durability,
    /// Cuts and clock.
    pub serving: Serving,
    /// The file that requests are recorded to.
    pub record: Option<PathBuf>,
    /// The control socket.
    pub control: Option<PathBuf>,
    /// The socket that clients connect to, which is removed at the end.
    pub socket: Option<PathBuf>,
    /// The address that clients connect to, for observers.
    pub uri: Option<String>,
    /// Where a page shows the drive at work.
    pub http: Option<SocketAddr>,
    /// How long there are no requests before the FTL works for itself.
    pub idle: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            backing: None,
            durability: Durability::default(),
            serving: Serving::default(),
            record: None,
            control: None,
            socket: None,
            uri: None,
            http: None,
            idle: IDLE_DEFAULT,
        }
    }
}

impl Options {
    /// Takes one word in.
    ///
    /// # Errors
    /// Its error, in one line.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        match key {
            "image" => match &self.backing {
                None => self.backing = Some(Backing::Image(value.into())),
                Some(_) => return Err("image=FILE and memory=BYTES exclude each other; use one of them".into()),
            },
            "memory" => match &self.backing {
                None => {
                    let mut memory = MemoryOptions::default();
                    memory.shape.capacity_bytes = Some(read(key, value)?);
                    self.backing = Some(Backing::Memory(memory));
                }
                Some(_) => return Err("image=FILE and memory=BYTES exclude each other; use one of them".into()),
            },
            "durability" => match &self.backing {
                Some(Backing::Image(_)) => self.durability = value.parse()?,
                _ => return Err("durability= is for an image; put image=FILE before it".into()),
            },
            "record" => self.record = Some(value.into()),
            "control" => self.control = Some(value.into()),
            "socket" => self.socket = Some(value.into()),
            "uri" => self.uri = Some(value.into()),
            "http" => {
                let wrong = |_| format!("http={} is not an address; use ADDRESS:PORT", value.escape_debug());
                self.http = Some(value.parse().map_err(wrong)?);
            }
            "cuts" => self.serving.cuts = Some(value.parse()?),
            "faults" => self.serving.faults = value.parse::<Faults>()?,
            "realtime" => self.serving.realtime = Some(scale(value)?),
            "write-cache" => {
                let PolicyAndSeed(policy, seed) = SERVED_POLICY;
                self.serving.cache = Some(WriteCache { bytes: read(key, value)?, policy, seed });
            }
            "cache-policy" => match (&mut self.serving.cache, value.parse()?) {
                (Some(cache), PolicyAndSeed(policy, seed)) => (cache.policy, cache.seed) = (policy, seed),
                (None, _) => return Err("cache-policy= is for a write cache; put write-cache=BYTES before it".into()),
            },
            "idle-ms" => self.idle = Duration::from_millis(read(key, value)?),
            _ => return self.set_memory(key, value),
        }
        Ok(())
    }

    fn set_memory(&mut self, key: &str, value: &str) -> Result<(), String> {
        let known = ["ftl", "ratio", "page", "pages-per-block", "channels", "dies", "timing", "seed", "set"];
        if !known.contains(&key) {
            return Err(format!("unknown parameter '{}'", key.escape_debug()));
        }
        let Some(Backing::Memory(memory)) = &mut self.backing else {
            return Err(format!("{key}= is for a drive in memory; put memory=BYTES before it"));
        };
        let MemoryOptions { shape, ftl, timing, seed, settings } = memory;
        match key {
            "ftl" => *ftl = value.into(),
            "ratio" => shape.ratio = read(key, value)?,
            "page" => shape.page_bytes = read(key, value)?,
            "pages-per-block" => shape.pages_per_block = read(key, value)?,
            "channels" => shape.channels = read(key, value)?,
            "dies" => shape.dies_per_channel = read(key, value)?,
            "timing" => *timing = value.into(),
            "seed" => *seed = read(key, value)?,
            _ => {
                let (name, value) = value.split_once('=').ok_or("set= has no value; use set=PARAMETER=VALUE")?;
                settings.push((name.into(), value.into()));
            }
        }
        Ok(())
    }

    /// The words that say all this.
    pub fn words(&self) -> Vec<String> {
        let mut words = Vec::new();
        let mut say = |key: &str, value: &dyn std::fmt::Display| words.push(format!("{key}={value}"));
        match &self.backing {
            None => {}
            Some(Backing::Image(path)) => {
                say("image", &path.display());
                say("durability", &self.durability.name());
            }
            Some(Backing::Memory(MemoryOptions { shape, ftl, timing, seed, settings })) => {
                say("memory", &shape.capacity_bytes.unwrap_or_default());
                say("ftl", ftl);
                say("ratio", &shape.ratio);
                say("page", &shape.page_bytes);
                say("pages-per-block", &shape.pages_per_block);
                say("channels", &shape.channels);
                say("dies", &shape.dies_per_channel);
                say("timing", timing);
                say("seed", seed);
                settings.iter().for_each(|(name, value)| say("set", &format!("{name}={value}")));
            }
        }
        let paths = [("record", &self.record), ("control", &self.control), ("socket", &self.socket)];
        for (key, path) in paths {
            if let Some(path) = path {
                say(key, &path.display());
            }
        }
        if let Some(uri) = &self.uri {
            say("uri", uri);
        }
        if let Some(address) = &self.http {
            say("http", address);
        }
        if let Some(plan) = &self.serving.cuts {
            say("cuts", plan);
        }
        if self.serving.faults != Faults::default() {
            say("faults", &self.serving.faults);
        }
        if let Some(scale) = self.serving.realtime {
            say("realtime", &scale);
        }
        if let Some(WriteCache { bytes, policy, seed }) = self.serving.cache {
            say("write-cache", &bytes);
            say("cache-policy", &PolicyAndSeed(policy, seed));
        }
        say("idle-ms", &self.idle.as_millis());
        words
    }
}

fn read<T: FromStr>(key: &str, value: &str) -> Result<T, String> {
    value.parse().map_err(|_| format!("{key}={} is not a number; use one", value.escape_debug()))
}

/// Real over simulated time.
///
/// # Errors
/// It is none.
pub fn scale(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(scale) if (1e-6..=1e6).contains(&scale) => Ok(scale),
        _ => Err(format!(
            "'{}' is not a scale of time; use 1 for the times of the flash, or 0.1 for a tenth of them",
            text.escape_debug()
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_say_what_was_said() {
        let said = [
            "memory=1048576",
            "ftl=geckoftl",
            "ratio=0.5",
            "page=512",
            "pages-per-block=32",
            "channels=2",
            "dies=3",
            "timing=tlc",
            "seed=9",
            "set=mapping.cache=64",
            "set=victim=greedy",
            "record=/a b/c.csv.zst",
            "control=/a/control",
            "socket=/a/socket",
            "uri=nbd+unix:///?socket=/a/socket",
            "http=127.0.0.1:8080",
            "cuts=3..9:4",
            "faults=torn-seen,partial-front",
            "realtime=0.25",
            "write-cache=1048576",
            "cache-policy=prefix:7",
            "idle-ms=7",
        ];
        let mut options = Options::default();
        for word in said {
            let (key, value) = word.split_once('=').unwrap();
            options.set(key, value).unwrap();
        }
        assert_eq!(options.words(), said);
        assert!(Options::default().set("ftl", "page").unwrap_err().contains("memory=BYTES"));
        assert!(options.set("image", "x").is_err());
        assert!(options.set("http", "8080").unwrap_err().contains("ADDRESS:PORT"));
        assert!(options.set("nothing", "x").is_err());
        assert!(options.set("cache-policy", "hope").unwrap_err().contains("subset, sorted, prefix, lies or protected"));
        assert!(Options::default().set("cache-policy", "lies").unwrap_err().contains("write-cache=BYTES"));
        assert!(options.set("durability", "flush").unwrap_err().contains("image=FILE"));
        let mut options = Options::default();
        options.set("image", "/a b/drive.img").unwrap();
        assert_eq!(options.words()[..2], ["image=/a b/drive.img", "durability=flush"]);
        options.set("durability", "process").unwrap();
        assert_eq!(options.words()[1], "durability=process");
        assert!(options.set("durability", "hope").unwrap_err().contains("flush, process"));
    }
}
