//! The same seed gives the same flash, the same figures and the same crash report.
//!
//! That holds in debug and release builds, on 64-bit and 32-bit machines, and on any number of threads. Every FTL of
//! this project is compared with values that are stored in `determinism.json`. `make determinism` does so with each
//! kind of build.
//!
//! With `PHELSUMA_UPDATE_GOLDEN=1` the values are written anew. Where they change, stored replay ids and figures may no
//! longer be what they were: say why in the commit.
//!
//! The state of an FTL in RAM is counted as it lies there, and takes less where a word is 32 bits. Those figures are
//! stored for each size of a word. To write values anew, do so with a build of each.
//!
//! Not covered: big-endian machines, traces that are compressed with zstd, and what a run costs the machine.

use phelsuma_drive::lab::{Fault, LabConfig, Points, Sweep, Workload};
use phelsuma_drive::{Arrival, Input, RunConfig, run};
use phelsuma_ftl::{Config, Ftl, Hint, HostData, HostPage, Knowledge, PRESETS, Preset, WriteRequest, format, recover};
use phelsuma_nand::sim::{EraseFault, ProgramFault, SimConfig};
use phelsuma_nand::{
    Block, Content, EraseError, Geometry, LogicalPage, Nand, Op, Page, PageRead, ProgramError, Purpose, SimNand, Spare,
    SpareRead, Time, Timing,
};
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::num::NonZero;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

const STORED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/determinism.json");

/// Where the result of each FTL's run is left, a file for each: `diff -r` shows what a change has moved in them.
const RUNS: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/determinism");

/// A preset with a cache that holds a part of a small drive, and with as many blocks open as there is room for there.
fn config(preset: &Preset, logical_pages: u32) -> Config {
    let mut composition = preset.composition;
    if composition.has_cache() {
        composition.set("mapping.cache", "64").unwrap();
    }
    if composition.knowledge() == Some(Knowledge::Deaths) {
        composition.set("oracle.windows", "6").unwrap();
    }
    if let Some(Knowledge::Classes(_)) = composition.knowledge() {
        composition.set("quota.classes", "2").unwrap();
    }
    Config::new(preset.name, composition, logical_pages, 1)
}

/// 64-bit FNV-1a over everything that is put in.
#[derive(Clone, Copy)]
struct Course(u64);

impl Course {
    fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    fn put(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
        }
    }
}

/// A chip set whose power fails at a program or an erase. The FTL goes on, on flash that is of no more interest.
struct Plug {
    sim: SimNand,
    /// The power fails when so many programs and erases more are done, and this is what becomes of the one in progress.
    cut: Option<(u32, ProgramFault, EraseFault, u64)>,
    /// The flash as the cut has left it.
    left: Option<SimNand>,
}

impl Plug {
    fn new(sim: SimNand) -> Self {
        Self { sim, cut: None, left: None }
    }

    fn about_to(&mut self, change: impl FnOnce(&mut SimNand, ProgramFault, EraseFault, u64)) {
        match &mut self.cut {
            Some((0, program, erase, seed)) => {
                let mut left = self.sim.clone();
                left.power_cycle();
                change(&mut left, *program, *erase, *seed);
                self.left = Some(left);
                self.cut = None;
            }
            Some((operations, ..)) => *operations -= 1,
            None => {}
        }
    }
}

impl Nand for Plug {
    fn geometry(&self) -> &Geometry {
        self.sim.geometry()
    }

    fn read(&mut self, page: Page, op: Op) -> (PageRead<'_>, Time) {
        self.sim.read(page, op)
    }

    fn read_spare(&mut self, page: Page, op: Op) -> (SpareRead, Time) {
        self.sim.read_spare(page, op)
    }

    fn program(&mut self, page: Page, content: Content<'_>, spare: &Spare, op: Op) -> Result<Time, ProgramError> {
        self.about_to(|sim, fault, _, seed| {
            // An operation that the chip refuses changes nothing.
            let _ = sim.cut_program(page, content, spare, fault, seed);
        });
        self.sim.program(page, content, spare, op)
    }

    fn erase(&mut self, block: Block, op: Op) -> Result<Time, EraseError> {
        self.about_to(|sim, _, fault, seed| {
            let _ = sim.cut_erase(block, fault, seed);
        });
        self.sim.erase(block, op)
    }

    fn is_bad(&self, block: Block) -> bool {
        self.sim.is_bad(block)
    }

    fn mark_bad(&mut self, block: Block) {
        self.sim.mark_bad(block);
    }
}

/// A drive that is written, trimmed, flushed, read and cut, as chance has it.
struct Drive {
    config: Config,
    ftl: Box<dyn Ftl<Plug>>,
    nand: Plug,
    at: Time,
    rng: Xoshiro256PlusPlus,
    course: Course,
    scratch_bytes_max: u64,
    cuts: u32,
    operations: [u64; 4],
}

impl Drive {
    fn new(config: Config, geometry: Geometry) -> Self {
        let timing = Timing::preset("gecko").unwrap();
        let sim = SimNand::new(&SimConfig { tagged: true, fingerprint: true, ..SimConfig::new(geometry, timing) });
        let mut nand = Plug::new(sim);
        let (ftl, at) = format(&mut nand, &config, Time::ZERO).unwrap();
        let (rng, course) = (Xoshiro256PlusPlus::seed_from_u64(7), Course::new());
        Self { config, ftl, nand, at, rng, course, scratch_bytes_max: 0, cuts: 0, operations: [0; 4] }
    }

    fn below(&mut self, n: u32) -> u32 {
        (((self.rng.next_u64() >> 32) * u64::from(n)) >> 32) as u32
    }

    fn fingerprint(&self) -> u128 {
        self.nand.sim.fingerprint().unwrap()
    }

    fn request(&mut self) {
        let all = self.config.logical_pages;
        // Half of the requests are in a fifth of the space.
        let space = if self.below(2) == 0 { all / 5 } else { all };
        let first = self.below(space);
        let pages = 1 + self.below(8).min(all - first - 1);
        let (ftl, nand, at) = (self.ftl.as_mut(), &mut self.nand, self.at);
        let done = match self.rng.next_u64() % 64 {
            0..2 => ftl.flush(nand, at),
            2..6 => ftl.trim(nand, LogicalPage(first), pages, at),
            6..10 => {
                let mut bytes = vec![0; (pages * nand.geometry().page_bytes()) as usize];
                self.rng.fill_bytes(&mut bytes);
                let data = HostData::Bytes(&bytes);
                ftl.write(nand, &WriteRequest { first: LogicalPage(first), pages, data, hint: Hint::None }, at)
            }
            chance => {
                let data = HostData::Hollow(self.rng.next_u64() ^ chance);
                ftl.write(nand, &WriteRequest { first: LogicalPage(first), pages, data, hint: Hint::None }, at)
            }
        };
        // After a cut the FTL meets flash that is no more.
        match done {
            Ok(done) => self.at = done,
            Err(error) => assert!(self.nand.left.is_some(), "{error}"),
        }
    }

    fn arm(&mut self, operations: u32) {
        let program = ProgramFault::ALL[self.below(ProgramFault::ALL.len() as u32) as usize];
        let erase = EraseFault::ALL[self.below(EraseFault::ALL.len() as u32) as usize];
        self.nand.cut = Some((self.below(operations), program, erase, self.rng.next_u64()));
    }

    /// The power fails, as this FTL survives it, and comes back.
    fn cut(&mut self) {
        if self.config.composition.has_battery() {
            self.at = self.ftl.power_fail(&mut self.nand, self.at).unwrap();
            self.nand.sim.power_cycle();
        } else {
            self.arm(20);
            while self.nand.left.is_none() {
                self.request();
            }
        }
        self.power_on();
    }

    /// Brings the drive up on the flash that the cut has left; recoveries may be cut as well.
    fn power_on(&mut self) {
        for again in (0..3).rev() {
            self.cuts += 1;
            self.count();
            if let Some(left) = self.nand.left.take() {
                self.nand = Plug::new(left);
            }
            self.course.put(&self.fingerprint().to_le_bytes());
            if again > 0 && !self.config.composition.has_battery() && self.below(2) == 0 {
                self.arm(12);
            }
            let recovered = recover(&mut self.nand, &self.config, Time::ZERO);
            if self.nand.left.is_some() {
                continue;
            }
            self.nand.cut = None;
            let (ftl, report) = recovered.unwrap();
            (self.ftl, self.at) = (ftl, report.done);
            self.scratch_bytes_max = self.scratch_bytes_max.max(report.scratch_bytes);
            self.course.put(format!("{:?}", report.steps).as_bytes());
            self.read_everything();
            return;
        }
        unreachable!("the last recovery is not cut");
    }

    fn read_everything(&mut self) {
        let course = &mut self.course;
        let mut sink = |page: LogicalPage, read: HostPage<'_>| {
            course.put(&page.0.to_le_bytes());
            match read {
                HostPage::Zeros => course.put(&[0]),
                HostPage::Data(Content::Hollow(tag)) => course.put(&tag.to_le_bytes()),
                HostPage::Data(Content::Bytes(bytes)) => course.put(bytes),
                HostPage::Unreadable => course.put(&[1]),
            }
        };
        let pages = self.config.logical_pages;
        self.at = self.ftl.read(&mut self.nand, LogicalPage(0), pages, Purpose::Host, self.at, &mut sink).unwrap();
    }

    /// The operations of this flash so far go into the course. A copy has the statistics of its original.
    fn count(&mut self) {
        let total = self.nand.sim.stats().total();
        self.operations = [total.reads, total.spare_reads, total.programs, total.erases];
        self.course.put(&self.at.0.to_le_bytes());
    }
}

/// The result of a drive's life, and its RAM.
fn image(config: Config, geometry: Geometry) -> (Value, Value) {
    let survives = config.composition.why_not_survivable().is_none();
    let mut drive = Drive::new(config, geometry);
    for number in 1..=1_200 {
        drive.request();
        drive.course.put(&drive.fingerprint().to_le_bytes());
        if survives && number % 40 == 0 {
            drive.cut();
        }
    }
    drive.read_everything();
    drive.count();
    let erases: Vec<u32> = (0..geometry.blocks()).map(|block| drive.nand.sim.erases_of(Block(block))).collect();
    drive.course.put(format!("{erases:?}").as_bytes());
    let [reads, spare_reads, programs, erases] = drive.operations;
    assert_eq!(survives, drive.cuts > 0);
    let ram = drive.ftl.ram();
    let image = json!({
        "fingerprint": format!("{:032x}", drive.fingerprint()),
        "course": format!("{:016x}", drive.course.0),
        "cuts": drive.cuts,
        "nanoseconds": drive.at.0,
        "reads": reads,
        "spare_reads": spare_reads,
        "programs": programs,
        "erases": erases,
    });
    let ram = json!({
        "papers": ram.papers_total(),
        "all": ram.all_total(),
        "recovery": drive.scratch_bytes_max,
    });
    (image, ram)
}

/// The report of a crash sweep; the same on every number of threads. In the usual mode one number is tried with each
/// FTL.
fn crash(config: &Config, geometry: Geometry) -> Value {
    let sweep = |threads| {
        let config = LabConfig {
            geometry,
            timing: Timing::preset("gecko").unwrap(),
            ftl: config.clone(),
            workload: Workload::Mixed,
            writes: 60,
            points: Points::Some(8),
            faults: Fault::all(),
            depth: 2,
            seed: 1,
            threads,
        };
        serde_json::to_value(Sweep::new(&config).run().unwrap()).unwrap()
    };
    let number = PRESETS.iter().position(|preset| preset.name == config.name).unwrap();
    if std::env::var_os("PHELSUMA_THOROUGH").is_none() {
        return sweep([1, 3][number % 2]);
    }
    let one = sweep(1);
    assert_eq!(one, sweep(3), "on three threads");
    one
}

/// The result of a run: a hash, and the FTL's counters by name. Its cost to the machine is in neither. The result itself
/// is left in `RUNS`, since a hash does not say which figure has moved.
fn figures(preset: &Preset) -> (Value, Value) {
    let workload = phelsuma_trace::Workload::parse("mixed:read=30,trim=5,flush=1,bytes=512-20480:zipf:0.9").unwrap();
    let mut config = RunConfig::new(preset.name, Input::Workload(workload)).unwrap();
    config.composition = self::config(preset, 0).composition;
    config.shape.capacity_bytes = Some(64 << 20);
    config.shape.ratio = 0.5;
    config.interval = Some(1_000);
    config.arrival = Arrival::QueueDepth(4);
    config.cut_at_end = true;
    let mut result = serde_json::to_value(run(&config, &|_| true).unwrap()).unwrap();
    for of_the_machine in ["machine", "ram_bytes"] {
        result.as_object_mut().unwrap().remove(of_the_machine).unwrap();
    }
    result["recovery"].as_object_mut().unwrap().remove("scratch_bytes").unwrap();
    std::fs::create_dir_all(RUNS).unwrap();
    std::fs::write(format!("{RUNS}/{}.json", preset.name), format!("{result:#}\n")).unwrap();
    // In the hash, a counter that is new would be no different from a figure that has moved.
    let counters = result.as_object_mut().unwrap().remove("counters").unwrap();
    let mut course = Course::new();
    course.put(result.to_string().as_bytes());
    (json!(format!("{:016x}", course.0)), counters)
}

/// The key of the values stored for this size of a word alone, and how such keys begin.
const RAM: &str = "RAM, words of ";

fn ram_key() -> String {
    format!("{RAM}{} bits", usize::BITS)
}

fn is_of_other_machines(key: &str) -> bool {
    key.starts_with(RAM) && key != ram_key()
}

/// The stored values of one FTL.
fn computed_of(preset: &Preset) -> Value {
    let (mut of, mut ram) = (Map::new(), Map::new());
    // Many streams and several structures on flash need a larger drive.
    let room = if preset.name == "phelsuma" { 4 } else { 1 };
    for (name, (channels, dies), blocks, logical_pages) in
        [("one die", (1, 1), 64, 400), ("four dies", (2, 2), 128, 600)]
    {
        let geometry = Geometry::new(512, 16, blocks * room, channels, dies).unwrap();
        let (image, bytes) = image(config(preset, logical_pages), geometry);
        of.insert(format!("image on {name}"), image);
        ram.insert(name.into(), bytes);
    }
    of.insert("crash".into(), crash(&config(preset, 400), Geometry::new(512, 16, 64 * room, 1, 1).unwrap()));
    let (figures, counters) = figures(preset);
    of.insert("figures".into(), figures);
    of.insert("counters".into(), counters);
    of.insert(ram_key(), ram.into());
    of.into()
}

/// Of every FTL; each is taken by the processor that is free next.
fn computed() -> Value {
    let (next, all) = (AtomicUsize::new(0), Mutex::new(Map::new()));
    std::thread::scope(|threads| {
        for _ in 0..std::thread::available_parallelism().map_or(1, NonZero::get) {
            threads.spawn(|| {
                while let Some(preset) = PRESETS.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let of = computed_of(preset);
                    all.lock().unwrap().insert(preset.name.into(), of);
                }
            });
        }
    });
    all.into_inner().unwrap().into()
}

fn stored() -> Option<Value> {
    serde_json::from_str(&std::fs::read_to_string(STORED).ok()?).ok()
}

/// Writes the values anew, but for those of machines that this one is not.
fn store(computed: &Value) {
    let mut all = computed.clone();
    for (preset, values) in all.as_object_mut().unwrap() {
        let before = stored().and_then(|stored| stored[preset].as_object().cloned()).unwrap_or_default();
        let others = before.into_iter().filter(|(key, _)| is_of_other_machines(key));
        values.as_object_mut().unwrap().extend(others);
    }
    std::fs::write(STORED, format!("{all:#}\n")).unwrap();
}

/// What differs, a line each.
fn differences(path: &str, stored: &Value, computed: &Value, into: &mut Vec<String>) {
    let (Value::Object(a), Value::Object(b)) = (stored, computed) else {
        if stored != computed {
            into.push(format!("{path}: stored {stored}, computed {computed}"));
        }
        return;
    };
    let keys: BTreeSet<&String> = a.keys().chain(b.keys()).filter(|key| !is_of_other_machines(key)).collect();
    for key in keys {
        differences(&format!("{path}/{key}"), &stored[key], &computed[key], into);
    }
}

#[test]
fn every_kind_of_build_comes_to_the_same() {
    let computed = computed();
    if std::env::var_os("PHELSUMA_UPDATE_GOLDEN").is_some() {
        store(&computed);
    }
    let mut found = Vec::new();
    differences("", &stored().expect(STORED), &computed, &mut found);
    assert!(found.is_empty(), "{} values differ (the runs are in {RUNS}):\n{}", found.len(), found.join("\n"));
}
