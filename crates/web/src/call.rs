//! A question of the page's, a line of JSON, and its answer.

use crate::act::Act;
use crate::command::command;
use crate::engine::Engine;
use crate::listed::listed;
use crate::settings::{PAGES_MAX, Settings};
use crate::trace::Trace;
use phelsuma_nand::Nand;
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;

/// A line, and bytes where there are some.
#[derive(Clone, Default, Debug)]
pub struct Answer {
    /// An object; where something cannot be, its `error` says why.
    pub line: String,
    /// What stands for itself.
    pub bytes: Vec<u8>,
}

/// What a page has: a drive, and a trace for the next one.
#[derive(Default)]
pub struct Opened {
    engine: Option<Engine>,
    trace: Option<Arc<Trace>>,
}

#[derive(Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case")]
enum Question {
    /// What there is.
    List,
    /// A trace for drives that are opened later; the bytes are the file.
    Trace { name: String },
    /// Another drive.
    Open {
        settings: Settings,
        /// Whether it is to be filled at once.
        #[serde(default)]
        filled: bool,
        /// Whether its ratio may be lowered to what fits.
        #[serde(default)]
        fit: bool,
    },
    /// So many steps at the most; with the pages afterwards, if they are wanted.
    Run {
        steps: u64,
        #[serde(default)]
        look: bool,
    },
    /// One step, and its flash operations as bytes.
    Step,
    /// Something besides the host's requests; its flash operations as bytes.
    Act {
        #[serde(flatten)]
        act: Act,
    },
    /// To where the next request collects, among so many.
    Seek { steps: u64 },
    /// To a step that was reached before.
    Go { step: u64 },
    /// To where the host has done so much.
    Level { host: u64 },
    /// What came behind this step is to come no more.
    Forget,
    /// The pages and blocks as bytes.
    Look,
    /// A block, and where the data of one of its pages are; all of the drive with it, which is of the same moment.
    Block {
        block: u32,
        #[serde(default)]
        index: Option<u32>,
    },
    /// A logical page.
    Page { page: u32 },
    /// The extents of a µ-Tree.
    Extents,
    /// The checks of a sweep, on a copy.
    Examine,
    /// The command that does the same.
    Command,
    /// Numbers that stand for all of the drive.
    Digest,
}

/// Answers a question, to which these bytes belong.
pub fn call(opened: &mut Opened, question: &str, bytes: &[u8]) -> Answer {
    let asked = serde_json::from_str::<Value>(question).map_err(|error| error.to_string());
    let asked = asked.and_then(|asked| {
        numbers_are_right(&asked)?;
        serde_json::from_value(asked).map_err(|error| error.to_string())
    });
    let answered = asked.and_then(|question| answer(opened, question, bytes));
    let (value, bytes) = answered.unwrap_or_else(|error| (json!({ "error": error }), Vec::new()));
    Answer { line: value.to_string(), bytes }
}

/// Whole numbers by their keys: the control that has each, and its range.
const NUMBERS: [(&str, &str, u64, u64); 10] = [
    ("blocks", "blocks", 4, PAGES_MAX / 4),
    ("pages_per_block", "pages of a block", 4, 8192),
    ("page_bytes", "bytes of a page", 512, 65_536),
    ("channels", "channels", 1, 256),
    ("dies", "dies", 1, 64),
    ("cache", "cache", 0, 1 << 20),
    ("seed", "seed", 0, (1 << 53) - 1),
    ("skip", "after", 0, 1_000_000),
    ("page", "page", 0, PAGES_MAX - 1),
    ("step", "history", 0, u64::MAX),
];

/// Says which number is none, or out of its range.
fn numbers_are_right(asked: &Value) -> Result<(), String> {
    for (key, label, least, most) in NUMBERS {
        for value in [asked.get(key), asked.get("settings").and_then(|settings| settings.get(key))] {
            let Some(value) = value else { continue };
            if !value.as_u64().is_some_and(|number| (least..=most).contains(&number)) {
                let shown = if value.is_null() { "no number".into() } else { value.to_string() };
                return Err(format!("{label}: {shown}; a whole number from {least} to {most} would be right"));
            }
        }
    }
    let ratio = asked.get("settings").and_then(|settings| settings.get("ratio"));
    if ratio.is_some_and(|ratio| !ratio.is_number()) {
        return Err("logical / physical: no number; one above 0 and below 1 would be right".into());
    }
    Ok(())
}

type Answered = Result<(Value, Vec<u8>), String>;

fn answer(opened: &mut Opened, question: Question, bytes: &[u8]) -> Answered {
    let Opened { engine, trace } = opened;
    let engine = match question {
        Question::List => return Ok((listed(), Vec::new())),
        Question::Trace { name } => {
            let read = trace.insert(Arc::new(Trace::read(&name, bytes)?));
            return Ok((read.told(), Vec::new()));
        }
        Question::Open { mut settings, filled, fit } => {
            settings.trace.clone_from(trace);
            let made = if fit { Engine::fitting(&settings) } else { Engine::new(&settings) };
            let made = engine.insert(made?);
            if filled {
                made.run(made.fill)?;
            }
            return Ok((json!({ "drive": made.drive(), "state": made.state() }), made.cells()));
        }
        _ => engine.as_mut().ok_or("there is no drive yet")?,
    };
    let plain = |value: Value| Ok((value, Vec::new()));
    match question {
        Question::List | Question::Trace { .. } | Question::Open { .. } => plain(Value::Null),
        Question::Run { steps, look } => {
            let done = engine.run(steps)?;
            let bytes = if look { engine.cells() } else { Vec::new() };
            Ok((json!({ "done": done, "state": engine.state() }), bytes))
        }
        Question::Step => {
            engine.step_recorded()?;
            recorded(engine)
        }
        Question::Act { act } => {
            engine.act(act)?;
            recorded(engine)
        }
        Question::Seek { steps } => {
            let found = engine.seek(steps)?;
            Ok((json!({ "found": found, "state": engine.state() }), engine.cells()))
        }
        Question::Go { step } => {
            engine.go_to(step)?;
            Ok((json!({ "state": engine.state() }), engine.cells()))
        }
        Question::Level { host } => {
            engine.go_to_host(host)?;
            Ok((json!({ "state": engine.state() }), engine.cells()))
        }
        Question::Forget => {
            engine.forget();
            plain(json!({ "state": engine.state() }))
        }
        Question::Look => Ok((json!({ "state": engine.state() }), engine.cells())),
        Question::Block { block, index } => {
            let (mut told, cells) = (engine.block(block, index)?, engine.cells());
            told["drive"] = engine.state();
            Ok((told, cells))
        }
        Question::Page { page } => {
            let mut told = engine.place_of(page)?;
            told["step"] = engine.now.step.into();
            plain(told)
        }
        Question::Extents => {
            let (ftl, mut nand) = engine.now.bench.look();
            let looks = ftl.look_at_extents(&mut nand);
            plain(json!({ "extents": looks.map(|looks| {
                looks.iter().map(|look| [look.first.0, look.pages]).collect::<Vec<[u32; 2]>>()
            }) }))
        }
        Question::Examine => {
            plain(json!({ "finding": engine.now.bench.examine().err().map(|wrong| wrong.to_string()) }))
        }
        Question::Command => plain(json!({ "command": command(engine) })),
        Question::Digest => plain(digest(engine)),
    }
}

fn recorded(engine: &Engine) -> Answered {
    let (operations, left_out, bytes) = engine.recorded();
    Ok((json!({ "operations": operations, "left_out": left_out, "state": engine.state() }), bytes))
}

/// Equal drives have equal ones, whatever machine they are on: over every page, every count and the FTL's counters.
fn digest(engine: &Engine) -> Value {
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    let mut add = |bytes: &[u8]| {
        for byte in bytes {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
        }
    };
    add(&engine.cells());
    let bench = &engine.now.bench;
    let mut nand = bench.nand().clone();
    for n in 0..nand.geometry().pages() as u32 {
        let op = phelsuma_nand::Op { at: phelsuma_nand::Time::ZERO, purpose: phelsuma_nand::Purpose::Host };
        add(format!("{:?}", nand.read_spare(phelsuma_nand::Page(n), op).0).as_bytes());
    }
    for (purpose, counts) in bench.nand().stats().iter() {
        add(format!("{} {counts:?}", purpose.name()).as_bytes());
    }
    for counter in bench.ftl().counters() {
        add(format!("{} {:?}", counter.name, counter.value).as_bytes());
    }
    json!({ "step": engine.now.step, "time_ns": bench.now().0.to_string(), "hash": format!("{hash:016x}") })
}
