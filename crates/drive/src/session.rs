//! A drive that is driven step by step, each step decided when the one before is done.
//!
//! A run is made of this, and adds its protocol.

use crate::capacity::{formatted, settle_capacity};
use crate::config::{RunConfig, RunError};
use crate::drive::Drive;
use crate::machine::{peak_rss_bytes, thread_cpu_seconds};
use crate::measure::Measurement;
use crate::result::{Machine, RecoveryResult, RunResult};
use crate::run::{Reporter, fill, recovery_result};
use phelsuma_ftl::{BlockLook, GeckoLook};
use phelsuma_nand::{Block, Geometry, Kind, Nand, Op as FlashOp, Purpose, SpareRead, Time};
use phelsuma_trace::{Op, PageRequest};
use std::time::Instant;

/// A result's description of its requests.
const STEP_BY_STEP: &str = "step by step";

/// The place of a logical page that has no data.
pub const NOWHERE: u32 = u32::MAX;

/// The content of a physical page, seen from outside.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum PageState {
    /// Erased.
    Erased = 0,
    /// User data that something newer has replaced, or that was trimmed.
    Stale = 1,
    /// User data that the host can read.
    Live = 2,
    /// Not the host's: translation pages, validity, tombstones, the drive's description.
    Metadata = 3,
    /// Its spare area cannot be read, or its block is bad.
    Unreadable = 4,
}

/// A drive, and its counts since [`begin_counting`](Self::begin_counting).
pub struct Session {
    config: RunConfig,
    geometry: Geometry,
    drive: Drive,
    measurement: Measurement,
    /// After how many pages written there is something to be noted.
    next_look: u64,
    began: Instant,
    cpu_seconds: f64,
}

impl Session {
    /// A drive as `config` has it, filled as that says; nothing has been counted. Its input makes no requests.
    ///
    /// # Errors
    /// [`RunError::Input`] for a drive that cannot be, [`RunError::Stopped`] where `reporter` says so.
    pub fn new(config: &RunConfig, reporter: Reporter<'_>) -> Result<Self, RunError> {
        let began = Instant::now();
        let cpu = thread_cpu_seconds();
        let mut settled = [config.clone()];
        let geometry = config.shape.geometry(settle_capacity(&mut settled, |_| Ok(()))?)?;
        let [config] = settled;
        if config.composition.knowledge().is_some() {
            return Err(RunError::Input(format!(
                "{} is told what the host is going to do, which nobody knows step by step; a run would be right",
                config.ftl
            )));
        }
        let mut drive = formatted(&config, &geometry)?.to_be_cut();
        if config.distributions {
            drive = drive.watched();
        }
        fill(&mut drive, &config, config.shape.logical_pages(&geometry), reporter)?;
        drive.begin_counting(config.arrival);
        let measurement = Measurement::begin(&mut drive, config.interval);
        let next_look = measurement.next_look();
        let cpu_seconds = thread_cpu_seconds() - cpu;
        Ok(Self { config, geometry, drive, measurement, next_look, began, cpu_seconds })
    }

    /// Logical pages: the range of requests.
    pub fn logical_pages(&self) -> u32 {
        self.config.shape.logical_pages(&self.geometry)
    }

    /// The flash.
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// The drive.
    pub fn drive(&self) -> &Drive {
        &self.drive
    }

    /// The name of the FTL.
    pub fn ftl(&self) -> &str {
        &self.config.ftl
    }

    /// Does all of these, in order; how many pages could not be read.
    ///
    /// # Errors
    /// - [`RunError::Input`] for a request that is none, before it is done and after those before it were.
    /// - [`RunError::Failed`] where the FTL refuses.
    /// - [`RunError::Stopped`] where `go_on`, which is called now and then, is false.
    pub fn submit(
        &mut self,
        requests: impl Iterator<Item = PageRequest>,
        go_on: &dyn Fn() -> bool,
    ) -> Result<u64, RunError> {
        let cpu = thread_cpu_seconds();
        let unreadable = self.drive.unreadable_pages();
        let mut outcome = Ok(());
        for (n, request) in requests.enumerate() {
            outcome = match n % 256 == 255 && !go_on() {
                true => Err(RunError::Stopped),
                false => self.ask(&request),
            };
            if outcome.is_err() {
                break;
            }
        }
        self.cpu_seconds += thread_cpu_seconds() - cpu;
        outcome.map(|()| self.drive.unreadable_pages() - unreadable)
    }

    fn ask(&mut self, request: &PageRequest) -> Result<(), RunError> {
        let logical_pages = u64::from(self.logical_pages());
        let fits = request.first.checked_add(request.pages.into()).is_some_and(|end| end <= logical_pages);
        if request.op != Op::Flush && (request.pages == 0 || !fits) {
            return Err(RunError::Input(format!(
                "{} of {} pages from page {}: at least one page, and all below {logical_pages}, would be right",
                request.op.name(),
                request.pages,
                request.first
            )));
        }
        self.drive.submit(request)?;
        if self.drive.counts().write_pages >= self.next_look {
            self.measurement.look(&mut self.drive);
            self.next_look = self.measurement.next_look();
        }
        Ok(())
    }

    /// Waits until the drive is idle, then counts from zero.
    pub fn begin_counting(&mut self) {
        self.drive.begin_counting(self.config.arrival);
        self.measurement = Measurement::begin(&mut self.drive, self.config.interval);
        self.next_look = self.measurement.next_look();
    }

    /// The counts, as a run would give them.
    pub fn result(&mut self) -> RunResult {
        let counted = self.measurement.clone();
        let mut result = counted.finish(&mut self.drive, &self.config, &self.geometry);
        result.workload = STEP_BY_STEP.into();
        result.fold = None;
        let pages = result.host.read_pages + result.host.write_pages;
        result.machine = Machine {
            wall_seconds: self.began.elapsed().as_secs_f64(),
            cpu_seconds: self.cpu_seconds,
            host_pages_per_second: pages as f64 / self.cpu_seconds.max(1e-9),
            peak_rss_bytes: peak_rss_bytes(),
            simulation_bytes: self.drive.nand().heap_bytes() + self.drive.ftl().ram().all_total(),
            payload_bytes: self.drive.nand().payload_bytes_peak(),
        };
        result
    }

    /// Cuts the power while nothing is in progress, mounts the drive again and checks every page of it, as
    /// [`Drive::cut_and_recover`]. Counting begins at zero then, since the FTL's counters began anew with it.
    ///
    /// # Errors
    /// [`RunError::Input`]: the FTL does not survive power cuts. [`RunError::Failed`]: it does not mount, or not as it
    /// was.
    pub fn cut_and_recover(&mut self) -> Result<RecoveryResult, RunError> {
        if let Some(why) = self.config.composition.why_not_survivable() {
            return Err(RunError::Input(format!("{} does not survive power cuts: {why}", self.config.ftl)));
        }
        let cut = self.drive.cut_and_recover()?;
        self.begin_counting();
        Ok(recovery_result(&cut))
    }

    /// Latencies in nanoseconds of writes and of reads since counting began, to four digits, ascending, and how many
    /// requests took as long.
    pub fn latencies(&mut self) -> [Vec<(u64, u64)>; 2] {
        self.drive.recorded_latencies()
    }

    /// How often each block was erased, since the drive was made.
    pub fn erases(&self) -> Vec<u32> {
        let nand = self.drive.nand();
        (0..self.geometry.blocks()).map(|block| nand.erases_of(Block(block))).collect()
    }

    /// The FTL's state of each block, where it has one.
    pub fn blocks(&self) -> Option<Vec<BlockLook>> {
        let mut looks = vec![BlockLook::default(); self.geometry.blocks() as usize];
        self.drive.ftl().look_at_blocks(Block(0), &mut looks).then_some(looks)
    }

    /// Its Logarithmic Gecko, if it has one.
    pub fn gecko(&self) -> Option<GeckoLook> {
        self.drive.ftl().look_at_gecko()
    }

    /// The content of each physical page, by block and page in it. It is an onlooker's view of a copy of the flash,
    /// which no FTL has and for which no operation is counted. Where a cut took a write back that was not flushed, its
    /// copy may still be shown as live.
    ///
    /// # Errors
    /// [`RunError::Input`] where each channel has an FTL of its own: keys of one mean other pages than those of
    /// another.
    pub fn pages(&self) -> Result<Vec<PageState>, RunError> {
        Ok(self.seen()?.0)
    }

    /// Where the data of each logical page are: the number of the physical page by block and page in it, as
    /// [`pages`](Self::pages) counts them, or [`NOWHERE`]. Pages that follow each other there are what an extent can
    /// hold.
    ///
    /// # Errors
    /// As those of [`pages`](Self::pages).
    pub fn places(&self) -> Result<Vec<u32>, RunError> {
        Ok(self.seen()?.1)
    }

    /// The content of each physical page, and where the data of each logical page are.
    fn seen(&self) -> Result<(Vec<PageState>, Vec<u32>), RunError> {
        if self.config.composition.is_per_channel() {
            return Err(RunError::Input(format!(
                "{}: each channel has an FTL of its own, and spare areas do not tell the drive's logical pages",
                self.config.ftl
            )));
        }
        let mut nand = self.drive.nand().clone();
        let mut states = vec![PageState::Erased; self.geometry.pages() as usize];
        let mut places = vec![NOWHERE; self.logical_pages() as usize];
        // How new the copy is that `places` names.
        let mut newest = vec![(0, 0); places.len()];
        let per_block = self.geometry.pages_per_block();
        for (n, state) in (0u32..).zip(states.iter_mut()) {
            let block = Block(n / per_block);
            let page = self.geometry.page(block, n % per_block);
            *state = match nand.read_spare(page, FlashOp::new(Time::ZERO, Purpose::Host)).0 {
                _ if nand.is_bad(block) => PageState::Unreadable,
                SpareRead::Erased => PageState::Erased,
                SpareRead::Unreadable => PageState::Unreadable,
                SpareRead::Written(spare) if spare.kind == Kind::User => {
                    let key = spare.key as usize;
                    if let (Some(place), Some(best)) = (places.get_mut(key), newest.get_mut(key)) {
                        let order = (spare.version, spare.seq);
                        if *place == NOWHERE || order > *best {
                            (*place, *best) = (n, order);
                        }
                    }
                    PageState::Stale
                }
                SpareRead::Written(_) => PageState::Metadata,
            };
        }
        for (key, place) in (0u32..).zip(places.iter_mut()) {
            match states.get_mut(*place as usize) {
                Some(state) if self.drive.holds_data(key) => *state = PageState::Live,
                _ => *place = NOWHERE,
            }
        }
        Ok((states, places))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Fill, Input};
    use phelsuma_trace::Workload;

    fn session(ftl: &str) -> Session {
        let mut config = RunConfig::new(ftl, Input::Workload(Workload::Uniform)).unwrap();
        config.shape.capacity_bytes = Some(32 << 20);
        config.shape.pages_per_block = 32;
        config.fill = Fill::None;
        Session::new(&config, &|_| true).unwrap()
    }

    fn request(op: Op, first: u64, pages: u32) -> PageRequest {
        PageRequest { at_ns: 0, op, first, pages, partial_first: false, partial_last: false, handle: 0 }
    }

    fn random_writes(session: &mut Session, writes: u64) {
        let pages = u64::from(session.logical_pages());
        let each = (0..writes).map(|n| request(Op::Write, n.wrapping_mul(2_654_435_761) % pages, 1));
        session.submit(each, &|| true).unwrap();
    }

    fn live(session: &Session) -> usize {
        session.pages().unwrap().iter().filter(|state| **state == PageState::Live).count()
    }

    #[test]
    fn as_many_pages_are_live_as_hold_data() {
        for ftl in ["page", "geckoftl", "fast"] {
            let mut session = session(ftl);
            session.submit([request(Op::Write, 10, 100), request(Op::Trim, 20, 5)].into_iter(), &|| true).unwrap();
            assert_eq!(live(&session), 95, "{ftl}");
            let pages = session.logical_pages();
            session.submit([request(Op::Write, 0, pages)].into_iter(), &|| true).unwrap();
            random_writes(&mut session, 3 * u64::from(pages));
            assert_eq!(live(&session), pages as usize, "{ftl}");
            assert!(session.result().erases.total > 0 && session.erases().iter().any(|erases| *erases > 0));
        }
    }

    #[test]
    fn pages_that_were_written_one_after_the_other_lie_so() {
        let mut session = session("page");
        let both = [request(Op::Write, 0, 1), request(Op::Write, 100, 16), request(Op::Trim, 0, 1)];
        session.submit(both.into_iter(), &|| true).unwrap();
        let places = session.places().unwrap();
        let states = session.pages().unwrap();
        assert_eq!(places.iter().filter(|place| **place != NOWHERE).count(), 16);
        assert!(places[100..116].windows(2).all(|two| two[1] == two[0] + 1), "{:?}", &places[100..116]);
        assert!(places[100..116].iter().all(|place| states[*place as usize] == PageState::Live));
        session.submit([request(Op::Write, 105, 1)].into_iter(), &|| true).unwrap();
        let after = session.places().unwrap();
        assert_ne!(after[105], places[105], "it is written anew");
        assert_eq!((after[104], after[106]), (places[104], places[106]));
    }

    #[test]
    fn a_drive_can_be_cut_again_and_again() {
        let mut session = session("geckoftl");
        let pages = session.logical_pages();
        session.submit([request(Op::Write, 0, pages / 2)].into_iter(), &|| true).unwrap();
        for _ in 0..3 {
            random_writes(&mut session, 2_000);
            let before = live(&session);
            assert!(session.cut_and_recover().unwrap().simulated_us > 0.0);
            assert_eq!(live(&session), before);
            assert_eq!(session.result().host.write_pages, 0, "it counts from zero");
        }
    }

    #[test]
    fn what_cannot_be_asked_for_is_refused_and_what_came_before_is_done() {
        let mut session = session("page");
        let pages = u64::from(session.logical_pages());
        let asked = [request(Op::Write, 0, 4), request(Op::Write, pages - 1, 2)];
        let error = session.submit(asked.into_iter(), &|| true).unwrap_err();
        assert!(matches!(&error, RunError::Input(text) if text.contains("write of 2 pages")), "{error}");
        assert_eq!(session.result().host.write_pages, 4);
        let many = (0..1_000).map(|_| request(Op::Read, 0, 1));
        assert_eq!(session.submit(many, &|| false), Err(RunError::Stopped));
        assert_eq!(session.result().host.read_pages, 255);
    }
}
