//! The power fails at any operation, also of mounts.

use crate::chip::{CUTS, RamChip, Random, data};
use crate::use_case::{SMALL, config};
use phelsuma_mcu::{Chip, Config, Drive, Error, Gecko, MetaPlace, Parts, RamTable, Smallest};

/// What a page may read as: the writes that are possible, 0 for zeros.
type Possible = Vec<Vec<u32>>;

struct Host {
    flash: RamChip,
    config: Config,
    possible: Possible,
    writes: u32,
    random: Random,
}

impl Host {
    fn new<P: Parts>(chip: Chip, seed: u64) -> Self {
        let config = config::<P>(chip, 32);
        let possible = vec![vec![0]; config.logical_pages as usize];
        Self { flash: RamChip::new(chip), config, possible, writes: 0, random: Random(seed) }
    }

    fn fork(&self) -> Self {
        let Self { flash, config, possible, writes, random } = self;
        let (flash, possible) = (flash.clone(), possible.clone());
        Self { flash, config: *config, possible, writes: *writes, random: Random(random.0) }
    }

    fn memory<P: Parts>(&self) -> Vec<u8> {
        vec![0; self.config.memory_bytes::<P>().unwrap()]
    }

    /// Requests until the power fails, or so many.
    fn session<P: Parts>(&mut self, drive: &mut Drive<P, Vec<u8>>, requests: u32) {
        let bytes = self.config.chip.data_bytes();
        for _ in 0..requests {
            // Some pages are hot.
            let pages =
                if self.random.below(3) > 0 { 24.min(self.config.logical_pages) } else { self.config.logical_pages };
            let page = self.random.below(pages);
            match self.random.below(12) {
                0 => {
                    let done = drive.trim(&mut self.flash, page, 1);
                    self.possible[page as usize].push(0);
                    if self.flash.is_off {
                        return;
                    }
                    done.unwrap();
                }
                1 => {
                    let done = drive.sync(&mut self.flash);
                    if self.flash.is_off {
                        return;
                    }
                    done.unwrap();
                    for possible in self.possible.iter_mut().filter(|possible| possible.last() == Some(&0)) {
                        *possible = vec![0];
                    }
                }
                _ => {
                    self.writes += 1;
                    let done = drive.write(&mut self.flash, page, &data(bytes, page, self.writes));
                    if self.flash.is_off {
                        self.possible[page as usize].push(self.writes);
                        return;
                    }
                    done.unwrap_or_else(|error| panic!("{error:?}: {:?}", drive.info()));
                    self.possible[page as usize] = vec![self.writes];
                }
            }
        }
    }

    /// Every page reads as one of what is possible, and stays so.
    fn compare<P: Parts>(&mut self, drive: &mut Drive<P, Vec<u8>>, what: &str) {
        let bytes = self.config.chip.data_bytes();
        let mut out = vec![0; bytes as usize];
        for page in 0..self.config.logical_pages {
            let read = drive.read(&mut self.flash, page, &mut out);
            let possible = &mut self.possible[page as usize];
            assert_eq!(read, Ok(()), "{what}: page {page} of {possible:?}");
            let is = |write: u32| out == if write == 0 { vec![0; bytes as usize] } else { data(bytes, page, write) };
            let found = possible.iter().copied().rev().find(|write| is(*write));
            let Some(found) = found else {
                panic!("{what}: page {page} reads {:?}, possible are {possible:?}", &out[..8])
            };
            *possible = vec![found];
        }
    }
}

fn lives<P: Parts>(chip: Chip, seed: u64, sessions: u32) {
    let mut host = Host::new::<P>(chip, seed);
    let memory = host.memory::<P>();
    Drive::<P, _>::format(&mut host.flash, &host.config, memory).unwrap();
    for session in 0..sessions {
        let cut = CUTS[host.random.below(4) as usize];
        // Often so soon that the mount is cut.
        let most = [6, 30, 300][host.random.below(3) as usize];
        let left = 1 + host.random.below(most);
        host.flash.arm(left.into(), cut);
        let memory = host.memory::<P>();
        let mounted = Drive::<P, _>::mount(&mut host.flash, &host.config, memory);
        let what = format!("seed {seed}, session {session}, {cut:?} in {left}");
        if !host.flash.is_off {
            let mut drive = mounted.unwrap_or_else(|error| panic!("{what}: {error:?}"));
            assert!(!drive.info().read_only, "{what}: {:?}", drive.info());
            host.compare(&mut drive, &what);
            host.session(&mut drive, 10_000);
        }
        host.flash.power_on();
    }
    let memory = host.memory::<P>();
    let mut drive = Drive::<P, _>::mount(&mut host.flash, &host.config, memory).unwrap();
    host.compare(&mut drive, "at the end");
    host.session(&mut drive, 2_000);
    host.compare(&mut drive, "after the end");
}

#[test]
fn whole_lives_of_cuts_lose_nothing() {
    for meta in [MetaPlace::Spare, MetaPlace::InPage] {
        let chip = Chip { meta, ..SMALL };
        for seed in 0..if std::env::var_os("PHELSUMA_THOROUGH").is_some() { 1_000 } else { 8 } {
            lives::<Gecko>(chip, seed, 60);
            lives::<Smallest>(chip, seed, 60);
            lives::<RamTable>(chip, seed, 60);
        }
    }
}

/// A session's numbers come to an end: another one begins, and the power fails at any operation around that.
fn long_session<P: Parts>() {
    let mut host = Host::new::<P>(SMALL, 5);
    let memory = host.memory::<P>();
    let mut drive = Drive::<P, _>::format(&mut host.flash, &host.config, memory).unwrap();
    // Short of 0xe000 programs by some that fit into a few hundred operations.
    while host.flash.counts()[2] < 0xe000 - 40 {
        host.session(&mut drive, 1);
    }
    for left in 1..160 {
        for cut in CUTS {
            let mut now = host.fork();
            let mut drive = drive.clone();
            now.flash.arm(left, cut);
            now.session(&mut drive, 1_000);
            assert!(now.flash.is_off);
            now.flash.power_on();
            let memory = now.memory::<P>();
            let mut drive = Drive::<P, _>::mount(&mut now.flash, &now.config, memory).unwrap();
            now.compare(&mut drive, &format!("{cut:?} in {left}"));
        }
    }
}

#[test]
fn a_session_that_grows_too_long_is_followed_by_another() {
    long_session::<Gecko>();
    long_session::<Smallest>();
    long_session::<RamTable>();
}

/// A host that only reads, of a drive that writes blocks anew which are read often: idle work alone goes on for long.
fn only_read<P: Parts>(meta: MetaPlace) {
    let mut host = Host::new::<P>(Chip { meta, ..SMALL }, 9);
    host.config = Config { logical_pages: 120, window: 4, disturb_reads: 64, ..host.config };
    host.possible.truncate(120);
    let memory = host.memory::<P>();
    let mut drive = Drive::<P, _>::format(&mut host.flash, &host.config, memory).unwrap();
    host.session(&mut drive, 600);
    let erases = host.flash.erases;
    for round in 0..400 {
        let left = 1 + host.random.below(60);
        let cut = CUTS[host.random.below(4) as usize];
        if round % 8 == 7 {
            host.flash.arm(left.into(), cut);
        }
        while !host.flash.is_off && (round % 8 == 7 || host.random.below(200) > 0) {
            let page = host.random.below(24);
            let mut out = vec![0; host.config.chip.data_bytes() as usize];
            let _ = drive.read(&mut host.flash, page, &mut out);
            let _ = drive.maintain(&mut host.flash, 8);
        }
        if host.flash.is_off {
            host.flash.power_on();
            let memory = host.memory::<P>();
            drive = Drive::mount(&mut host.flash, &host.config, memory).unwrap();
            host.compare(&mut drive, &format!("round {round}, {cut:?} in {left}"));
            host.session(&mut drive, 60);
        }
    }
    assert!(host.flash.erases > erases + 200, "{} erases", host.flash.erases - erases);
}

#[test]
fn idle_work_alone_is_cut() {
    for meta in [MetaPlace::Spare, MetaPlace::InPage] {
        only_read::<Gecko>(meta);
        only_read::<Smallest>(meta);
        only_read::<RamTable>(meta);
    }
}

/// Nothing can be written any more, from some moment on: before a mount or before writes that fail, after a cut or not.
fn worn_out<P: Parts>(chip: Chip, slots: u32) {
    let mut host = Host::new::<P>(chip, 3);
    host.config = config::<P>(chip, slots);
    host.possible = vec![vec![0]; host.config.logical_pages as usize];
    let memory = host.memory::<P>();
    let mut drive = Drive::<P, _>::format(&mut host.flash, &host.config, memory.clone()).unwrap();
    for round in 0..120 {
        let requests = 1 + host.random.below(60);
        host.session(&mut drive, requests);
        let mut now = host.fork();
        let mut drive = drive.clone();
        if round % 3 == 0 {
            now.flash.arm(1 + u64::from(now.random.below(60)), CUTS[round % 4]);
            now.session(&mut drive, 1_000);
            now.flash.power_on();
        }
        now.flash.is_worn_out = true;
        if round % 3 == 1 {
            let bytes = chip.data_bytes();
            for page in 0..8 {
                let done = drive.write(&mut now.flash, page, &data(bytes, page, 1 << 30));
                assert_eq!(done, Err(Error::Full));
            }
            assert!(drive.info().read_only);
            // Trims that are not durable may come back.
            now.fork().compare(&mut drive, &format!("worn out while mounted, round {round}"));
        }
        let mut mounted = Drive::<P, _>::mount(&mut now.flash, &now.config, memory.clone()).unwrap();
        assert!(mounted.info().read_only);
        now.compare(&mut mounted, &format!("worn out, round {round}"));
    }
}

#[test]
fn a_chip_that_is_worn_out_is_read_as_it_was() {
    for meta in [MetaPlace::Spare, MetaPlace::InPage] {
        for slots in [16, 64] {
            worn_out::<Gecko>(Chip { meta, ..SMALL }, slots);
            worn_out::<Smallest>(Chip { meta, ..SMALL }, slots);
            worn_out::<RamTable>(Chip { meta, ..SMALL }, slots);
        }
    }
}

/// Mounts with other slots or parts write translation pages, and the next mount counts what came before them.
fn options_change<P: Parts, Q: Parts>(slots: [u32; 3], seed: u64) {
    let mut host = Host::new::<P>(SMALL, seed);
    let of = |slots: u32| Config { dirty_slots: slots, ..host.config };
    let most = slots.map(|slots| of(slots).most_logical_pages::<P>().min(of(slots).most_logical_pages::<Q>()));
    host.config.logical_pages = most.into_iter().min().unwrap();
    host.possible.truncate(host.config.logical_pages as usize);
    host.config.dirty_slots = slots[0];
    let memory = host.memory::<P>();
    let mut drive = Drive::<P, _>::format(&mut host.flash, &host.config, memory).unwrap();
    let requests = 1 + host.random.below(1_500);
    host.session(&mut drive, requests);
    drive.sync(&mut host.flash).unwrap();
    for slots in [slots[1], slots[2]] {
        host.config.dirty_slots = slots;
        let memory = host.memory::<Q>();
        let mut drive = Drive::<Q, _>::mount(&mut host.flash, &host.config, memory).unwrap();
        host.compare(&mut drive, &format!("{slots} slots, seed {seed}"));
        let requests = if seed.is_multiple_of(2) { 0 } else { 20 };
        host.session(&mut drive, requests);
        drive.sync(&mut host.flash).unwrap();
    }
}

#[test]
fn slots_and_parts_may_change_at_a_mount() {
    for seed in 0..12 {
        options_change::<Gecko, Gecko>([256, 16, 16], seed);
        options_change::<Gecko, Gecko>([64, 32, 32], seed);
        options_change::<Gecko, Gecko>([256, 16, 256], seed);
        options_change::<Smallest, Smallest>([256, 16, 16], seed);
        options_change::<RamTable, Smallest>([64, 16, 16], seed);
        options_change::<Smallest, RamTable>([64, 16, 16], seed);
    }
}

#[test]
fn a_window_does_not_shrink() {
    let mut host = Host::new::<Gecko>(SMALL, 1);
    let memory = host.memory::<Gecko>();
    Drive::<Gecko, _>::format(&mut host.flash, &host.config, memory).unwrap();
    for (window, expected) in
        [(40, None), (24, Some(Error::OtherDrive)), (40, None), (41, None), (40, Some(Error::OtherDrive))]
    {
        host.config.window = window;
        let memory = host.memory::<Gecko>();
        assert_eq!(Drive::<Gecko, _>::mount(&mut host.flash, &host.config, memory).err(), expected, "{window}");
    }
}
