//! The power of a drive in an image file is cut under several clients, again and again.
//!
//! Every acknowledged write is there, and `check` finds nothing. This is a process of its own: one that is started
//! beside it would hold the file for a moment.

use crate::nbd::{Folder, cycles, is_asked_for, is_in_order, is_one_of_many, made};
use phelsuma_ftl::{PRESETS, Preset};
use phelsuma_serve::device::{CutPlan, DeviceError, Host, ImageDrive, Served, Serving};
use phelsuma_serve::image::Durability;
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::sync::{Arc, Mutex};
use std::thread::scope;

const PAGE: usize = 4096;
const PAGES: u64 = (64 << 20) / PAGE as u64;

/// Somebody who keeps what the server has to say.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<(Vec<String>, Option<u8>)>>);

impl Kept {
    fn cuts(&self) -> usize {
        self.0.lock().unwrap().0.iter().filter(|line| line.contains("and the drive mounted again")).count()
    }

    fn ended(&self) -> bool {
        self.0.lock().unwrap().1.is_some()
    }
}

impl Host for Kept {
    fn log(&self, line: &str) {
        self.0.lock().unwrap().0.push(line.to_string());
    }

    fn drop_connections(&self) {}

    fn exit(&self, code: u8) {
        self.0.lock().unwrap().1 = Some(code);
    }
}

/// A client with pages of its own, and what each of them may hold.
struct Checker {
    first: u64,
    may: Vec<Vec<u64>>,
    trimmed: Vec<usize>,
    random: Xoshiro256PlusPlus,
    step: u64,
    acknowledged: u64,
}

impl Checker {
    fn new(n: u64, of: u64) -> Self {
        let pages = PAGES / of;
        let random = Xoshiro256PlusPlus::seed_from_u64(n);
        let may = vec![vec![0]; pages as usize];
        Self { first: n * pages, may, trimmed: Vec::new(), random, step: 0, acknowledged: 0 }
    }

    fn chance(&mut self, below: u64) -> u64 {
        self.random.next_u64() % below
    }

    fn bytes(&self, page: usize, count: usize) -> Vec<u8> {
        (page..page + count).flat_map(|page| self.tag(page).to_le_bytes().repeat(PAGE / 8)).collect()
    }

    fn tag(&self, page: usize) -> u64 {
        self.step << 20 | (self.first + page as u64)
    }

    fn at(&self, page: usize) -> u64 {
        (self.first + page as u64) * PAGE as u64
    }

    /// Requests until the power fails or there were enough cuts.
    fn load(&mut self, served: &Served, host: &Kept, cuts: usize) -> Result<(), DeviceError> {
        let connection = served.connect();
        while host.cuts() < cuts && !host.ended() {
            self.step += 1;
            let count = [1, 1, 1, 2, 8][self.chance(5) as usize];
            let page = self.chance((self.may.len() - count) as u64) as usize;
            let fua = self.chance(50) == 0;
            match self.chance(100) {
                0 => {
                    served.flush(&connection)?;
                    self.trimmed.drain(..).for_each(|page| self.may[page] = vec![0]);
                }
                1..6 => {
                    self.trimmed.retain(|trimmed| !(page..page + count).contains(trimmed));
                    self.may[page..page + count].iter_mut().for_each(|may| may.push(0));
                    served.trim(&connection, self.at(page), (count * PAGE) as u64, fua)?;
                    match fua {
                        // That is a flush.
                        true => {
                            self.may[page..page + count].fill(vec![0]);
                            self.trimmed.drain(..).for_each(|page| self.may[page] = vec![0]);
                        }
                        false => self.trimmed.extend(page..page + count),
                    }
                }
                _ => {
                    self.trimmed.retain(|trimmed| !(page..page + count).contains(trimmed));
                    (page..page + count).for_each(|page| {
                        let tag = self.tag(page);
                        self.may[page].push(tag);
                    });
                    served.write(&connection, self.at(page), &self.bytes(page, count), fua)?;
                    (page..page + count).for_each(|page| self.may[page] = vec![self.tag(page)]);
                }
            }
            self.acknowledged += 1;
        }
        Ok(())
    }

    /// Looks at every page; what is found stays.
    fn verify(&mut self, served: &Served) -> Result<(), DeviceError> {
        const AT_ONCE: usize = 128;
        let connection = served.connect();
        let mut buf = vec![0; AT_ONCE * PAGE];
        for first in (0..self.may.len()).step_by(AT_ONCE) {
            served.read(&connection, self.at(first), &mut buf)?;
            for (page, bytes) in (first..).zip(buf.chunks(PAGE)) {
                let found = u64::from_le_bytes(bytes[..8].try_into().unwrap());
                let place = self.first + page as u64;
                assert!(bytes == found.to_le_bytes().repeat(PAGE / 8), "page {place} is torn");
                assert!(self.may[page].contains(&found), "page {place}: {found:x}, not {:x?}", self.may[page]);
            }
        }
        // Only now: where the power fails meanwhile, what was read may be of a life that is over.
        for first in (0..self.may.len()).step_by(AT_ONCE) {
            served.read(&connection, self.at(first), &mut buf)?;
            for (page, bytes) in (first..).zip(buf.chunks(PAGE)) {
                self.may[page] = vec![u64::from_le_bytes(bytes[..8].try_into().unwrap())];
            }
        }
        self.trimmed.clear();
        Ok(())
    }

    fn write_over(&mut self, served: &Served) {
        let connection = served.connect();
        self.step += 1;
        for page in 0..self.may.len() {
            served.write(&connection, self.at(page), &self.bytes(page, 1), false).unwrap();
            self.may[page] = vec![self.tag(page)];
        }
    }
}

/// The power cannot fail any more.
fn surely(done: Result<(), DeviceError>) {
    done.unwrap();
}

#[test]
fn what_was_acknowledged_before_a_cut_is_there_when_the_drive_is_back() {
    const CLIENTS: u64 = 4;
    let keeps = |p: &&Preset| !p.composition.may_lose_what_is_not_flushed();
    let kept = PRESETS.iter().filter(|p| ImageDrive::may_be(p.name, &p.composition).is_ok()).filter(keeps);
    let kept = kept.filter(|preset| !is_one_of_many(preset));
    for ftl in kept.map(|preset| preset.name).filter(|ftl| is_asked_for(ftl)) {
        let folder = Folder::new(&format!("cuts-{ftl}"));
        let image = made(&folder, ftl);
        let cuts = cycles(ftl) as usize;
        let host = Kept::default();
        let drive = ImageDrive { path: image.clone(), durability: Durability::Flush };
        let plan = CutPlan::Every { least: 1, most: 4_000, seed: 5 };
        let how = Serving { cuts: Some(plan), ..Serving::default() };
        let served = Served::open(drive, &how, Box::new(host.clone())).unwrap();
        let mut checkers: Vec<Checker> = (0..CLIENTS).map(|n| Checker::new(n, CLIENTS)).collect();
        scope(|scope| {
            for checker in &mut checkers {
                let (served, host) = (&served, &host);
                scope.spawn(move || {
                    while host.cuts() < cuts && !host.ended() {
                        let _ = checker.load(served, host, cuts);
                        // Others write meanwhile, and may meet a cut.
                        while checker.verify(served).is_err() && !host.ended() {}
                    }
                });
            }
        });
        assert!(!host.ended(), "{ftl}: {:?}", host.0.lock().unwrap());
        served.stay_on();
        for checker in &mut checkers {
            surely(checker.verify(&served));
            checker.write_over(&served);
            surely(checker.verify(&served));
        }
        assert!(served.close(), "{ftl}: {:?}", host.0.lock().unwrap());
        drop(served);
        is_in_order(&image);
        let requests: u64 = checkers.iter().map(|checker| checker.acknowledged).sum();
        assert!(requests > 10 * cuts as u64, "{ftl}: {requests} requests");
        println!("{ftl}: {} cuts, {requests} requests", host.cuts());
    }
}
