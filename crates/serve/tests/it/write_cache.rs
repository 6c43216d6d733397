//! A volatile write cache above FTLs: what a power cut may leave, and what it must, with cuts in the middle of the FTL's
//! operations.

use crate::common::{PAGE, drive};
use phelsuma_ftl::PRESETS;
use phelsuma_nand::Geometry;
use phelsuma_serve::device::{
    CachePolicy, Connection, DeviceError, Host, MemoryDrive, Open, Served, Serving, WriteCache, Zeroes,
};
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::sync::{Arc, Mutex};

/// Keeps what is logged.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<String>>>);

impl Host for Log {
    fn log(&self, line: &str) {
        self.0.lock().unwrap().push(line.into());
    }
    fn drop_connections(&self) {}
    fn exit(&self, _: u8) {}
}

/// The block layer's rules, by pages: what is durable, and what was written since, in order.
struct Model {
    durable: Vec<Vec<u8>>,
    pending: Vec<(usize, Vec<u8>)>,
}

impl Model {
    fn new(pages: usize) -> Self {
        Self { durable: vec![vec![0; PAGE]; pages], pending: Vec::new() }
    }

    /// A page as it is read.
    fn page(&self, page: usize) -> &[u8] {
        self.pending.iter().rev().find(|(of, _)| *of == page).map_or(&self.durable[page], |(_, bytes)| bytes)
    }

    fn write(&mut self, offset: usize, data: &[u8]) {
        let mut from = offset;
        while from < offset + data.len() {
            let page = from / PAGE;
            let to = ((page + 1) * PAGE).min(offset + data.len());
            let mut bytes = self.page(page).to_vec();
            bytes[from - page * PAGE..to - page * PAGE].copy_from_slice(&data[from - offset..to - offset]);
            self.pending.push((page, bytes));
            from = to;
        }
    }

    fn flush(&mut self) {
        for (page, bytes) in self.pending.drain(..) {
            self.durable[page] = bytes;
        }
    }

    /// Whether the drive may be so after a cut; pages of the last request are those from `last` on, if it was not done.
    fn allows(&self, found: &[Vec<u8>], in_order: bool, last: usize) -> Result<(), String> {
        let mut of_page: Vec<Vec<&[u8]>> = self.durable.iter().map(|bytes| vec![&bytes[..]]).collect();
        self.pending.iter().for_each(|(page, bytes)| of_page[*page].push(bytes));
        if let Some(page) = (0..found.len()).find(|page| !of_page[*page].contains(&&found[*page][..])) {
            return Err(format!("page {page} has none of the {} versions that it may have", of_page[page].len()));
        }
        if !in_order {
            return Ok(());
        }
        let mut state: Vec<&[u8]> = self.durable.iter().map(|bytes| &bytes[..]).collect();
        let mut other: usize = (0..found.len()).filter(|page| state[*page] != found[*page]).count();
        for done in 0..=self.pending.len() {
            let torn =
                |page: usize| self.pending[last..].iter().any(|(of, bytes)| *of == page && *bytes == found[page]);
            if other == 0 || done >= last && (0..found.len()).all(|page| state[page] == found[page] || torn(page)) {
                return Ok(());
            }
            if let Some((page, bytes)) = self.pending.get(done) {
                other -= usize::from(state[*page] != found[*page]);
                state[*page] = bytes;
                other += usize::from(state[*page] != found[*page]);
            }
        }
        Err(format!("these are the pages of no moment since the last flush, out of {} writes", self.pending.len()))
    }
}

fn read(served: &Served, pages: usize) -> Vec<Vec<u8>> {
    let mut bytes = vec![0xaa; pages * PAGE];
    served.read(&served.connect(), 0, &mut bytes).unwrap();
    bytes.chunks(PAGE).map(<[u8]>::to_vec).collect()
}

/// What cuts came to.
#[derive(Default)]
struct Seen {
    cuts: u64,
    /// Those that left another state than the last one.
    lost: u64,
    /// Those that left a state of no moment.
    reordered: u64,
}

struct Life {
    policy: CachePolicy,
    /// The rules that the drive is held to, if not those of its policy.
    held_to: CachePolicy,
    seed: u64,
    cuts: u64,
}

/// Random requests, flushes and cuts.
fn live(of: MemoryDrive, life: &Life) -> Result<Seen, String> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(life.seed);
    let mut below = move |bound: u64| random.next_u64() % bound;
    let cache = WriteCache { bytes: 40 * PAGE as u64, policy: life.policy, seed: life.seed };
    let served = Served::open(of, &Serving { cache: Some(cache), ..Serving::default() }, Box::new(Log::default()));
    let served = served.map_err(|error| error.to_string())?;
    let pages = served.size_bytes() as usize / PAGE;
    let (mut model, mut seen, mut connection) = (Model::new(pages), Seen::default(), served.connect());
    let (mut salt, mut power_ons) = (0u8, 1);
    while seen.cuts < life.cuts {
        let offset = if below(4) == 0 { below((pages * PAGE) as u64) } else { below(60) * PAGE as u64 } as usize;
        // Some are larger than the cache.
        let length = match below(12) {
            0 => below(60 * PAGE as u64),
            1..6 => (1 + below(5)) * PAGE as u64,
            _ => 1 + below(2 * PAGE as u64),
        };
        let length = (length as usize).min(pages * PAGE - offset);
        let (what, last) = (below(24), model.pending.len());
        let fua = what < 18 && below(8) == 0;
        salt = salt.wrapping_add(1);
        let whole = offset.div_ceil(PAGE)..((offset + length) / PAGE).max(offset.div_ceil(PAGE));
        let (at, bytes) = (offset as u64, length as u64);
        let in_order = life.held_to == CachePolicy::Prefix;
        let outcome = match what {
            0..14 => {
                let data: Vec<u8> = (0..length).map(|at| (at as u8).wrapping_mul(salt) ^ salt).collect();
                model.write(offset, &data);
                served.write(&connection, at, &data, fua)
            }
            14 | 15 => {
                model.write(whole.start * PAGE, &vec![0; whole.len() * PAGE]);
                served.trim(&connection, at, bytes, fua)
            }
            16 | 17 => {
                model.write(offset, &vec![0; length]);
                served.write_zeroes(&connection, at, bytes, Zeroes { may_trim: salt % 2 == 0, fast: false, fua })
            }
            18 => {
                let outcome = served.flush(&connection);
                if outcome.is_ok() {
                    model.flush();
                }
                outcome
            }
            19 => {
                let mut found = vec![0xaa; length];
                let outcome = served.read(&connection, at, &mut found);
                let now = |at: usize| model.page(at / PAGE)[at % PAGE];
                if outcome.is_ok() && (0..length).any(|index| found[index] != now(offset + index)) {
                    return Err(format!("a read of {length} bytes at {offset} has found something else"));
                }
                outcome
            }
            20 => holes(&served, &connection, &model, at, bytes)?,
            21 => {
                served.cut(None, true);
                Ok(())
            }
            _ => {
                served.cut(Some(below(60)), true);
                Ok(())
            }
        };
        match &outcome {
            // What is durable alone is durable with what was in its way.
            Ok(()) if fua && in_order && model.pending.len() > last => model.flush(),
            Ok(()) if fua => {
                for (page, bytes) in model.pending.split_off(last) {
                    model.pending.retain(|(of, _)| *of != page);
                    model.durable[page] = bytes;
                }
            }
            Ok(()) | Err(DeviceError::Off(_)) => {}
            Err(error) => return Err(error.to_string()),
        }
        if served.look().power_ons == power_ons {
            continue;
        }
        // Not that a read meets the next one.
        power_ons = served.look().power_ons;
        served.stay_on();
        connection = served.connect();
        let found = read(&served, pages);
        let last = if outcome.is_err() { last } else { model.pending.len() };
        model.allows(&found, in_order, last).map_err(|what| format!("cut {}: {what}", seen.cuts))?;
        seen.cuts += 1;
        seen.lost += u64::from((0..pages).any(|page| found[page] != model.page(page)));
        seen.reordered += u64::from(model.allows(&found, true, last).is_err());
        // What the mount has shown stays.
        model = Model { durable: found, pending: Vec::new() };
    }
    Ok(seen)
}

/// What is said to be a hole reads as zeros.
fn holes(
    served: &Served,
    connection: &Connection,
    model: &Model,
    offset: u64,
    length: u64,
) -> Result<Result<(), DeviceError>, String> {
    let (mut next, mut wrong) = (offset, None);
    let outcome = served.extents(connection, offset, length, false, &mut |extent| {
        if extent.offset != next {
            wrong = Some(format!("an extent begins at {}, and not at {next}", extent.offset));
        }
        next = extent.offset + extent.length;
        for page in extent.offset as usize / PAGE..(next as usize).div_ceil(PAGE) {
            if !extent.is_mapped && model.page(page).iter().any(|byte| *byte != 0) {
                wrong = Some(format!("page {page} is called a hole, and is not zeros"));
            }
        }
    });
    wrong.map_or(Ok(outcome), Err)
}

fn cuts() -> u64 {
    if std::env::var_os("PHELSUMA_THOROUGH").is_some() { 1000 } else { 25 }
}

/// Those that are served, and survive a cut that comes without a word.
fn served_presets((channels, dies): (u32, u32)) -> impl Iterator<Item = (&'static str, MemoryDrive)> {
    PRESETS.iter().filter_map(move |preset| {
        let mut of = drive(preset.name);
        // The smallest that has room for its metadata.
        [64, 80, 96, 128, 256].into_iter().find(|blocks| {
            of.geometry = Geometry::new(PAGE as u32, 32, *blocks, channels, dies).unwrap();
            of.open().is_ok()
        })?;
        let composition = &of.config.composition;
        let is_served = composition.why_oracle().is_none() && composition.why_not_survivable().is_none();
        is_served.then_some((preset.name, of))
    })
}

#[test]
fn after_a_cut_every_ftl_has_what_was_flushed_and_of_the_rest_what_the_policy_allows() {
    let mut presets = 0;
    for (name, of) in served_presets((1, 1)).chain(served_presets((2, 2))) {
        presets += 1;
        for policy in [CachePolicy::Subset, CachePolicy::Prefix] {
            let life = Life { policy, held_to: policy, seed: presets, cuts: cuts() };
            let seen = live(of.clone(), &life).unwrap_or_else(|what| panic!("{name}, {policy:?}: {what}"));
            // A cache that kept everything would be a drive without one. With a battery the request in progress is done,
            // and it may be a flush, or push out the rest.
            let one_in = if of.config.composition.has_battery() { 8 } else { 2 };
            assert!(
                seen.lost * one_in > seen.cuts,
                "{name}, {policy:?}: only {} of {} lost anything",
                seen.lost,
                seen.cuts
            );
            assert_eq!(seen.reordered > 0, policy == CachePolicy::Subset, "{name}, {policy:?}: {}", seen.reordered);
        }
    }
    assert!(presets > 40, "{presets} presets were tried");
}

#[test]
fn a_cache_that_lies_or_brings_writes_out_of_order_is_found_out() {
    for (policy, held_to) in [(CachePolicy::Lies, CachePolicy::Subset), (CachePolicy::Subset, CachePolicy::Prefix)] {
        let what = live(drive("page"), &Life { policy, held_to, seed: 3, cuts: 200 }).err();
        assert!(what.is_some_and(|what| what.starts_with("cut ")), "{policy:?} held to {held_to:?}");
    }
}

#[test]
fn what_a_cut_left_is_said_and_dirty_bytes_are_seen() {
    let cache = WriteCache { bytes: 1 << 20, policy: CachePolicy::Subset, seed: 1 };
    let log = Log::default();
    let how = Serving { cache: Some(cache), ..Serving::default() };
    let served = Served::open(drive("page"), &how, Box::new(log.clone())).unwrap();
    let connection = served.connect();
    let dirty = || served.look().cache.unwrap().dirty_bytes;
    served.write(&connection, 100, &[1; 10 * PAGE], false).unwrap();
    assert_eq!((dirty(), served.look().cache.unwrap().size_bytes), (11 * PAGE as u64, 1 << 20));
    served.flush(&connection).unwrap();
    assert_eq!(dirty(), 0);
    served.write(&connection, 0, &[2; 100 * PAGE], false).unwrap();
    served.cut(None, true);
    let found = read(&served, 100);
    let kept = found.iter().filter(|page| page.iter().all(|byte| *byte == 2)).count();
    let lines = log.0.lock().unwrap();
    let said = format!("the write cache still had 100 dirty pages, and kept {kept} of them");
    assert!(lines.contains(&said), "{said}: {lines:?}");
    assert_eq!(dirty(), 0);
}
