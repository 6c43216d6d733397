//! Where the time of a drive with buffers, a link or firmware went: by part of the drive, and of a mean request.
//!
//! Only moments that the simulation has are added up. A request's time is cut at these: its arrival, the FTL's receipt,
//! the FTL's completion, and the host's.

use crate::link::{Link, LinkState};
use crate::result::{ChannelShares, DieShares, LinkShares, RequestTime, RequestTimes, TimeSpent};
use crate::write_part::{WritePart, write_part};
use phelsuma_nand::sim::{HostPage, Kind, Work};
use phelsuma_nand::state::Preserve;
use phelsuma_nand::{Purpose, SimNand, Time};
use phelsuma_trace::{Op, PageRequest};

/// The moments of one request.
pub(crate) struct Moments {
    pub(crate) arrived: Time,
    /// The FTL has it.
    pub(crate) taken: Time,
    /// The FTL has completed it.
    pub(crate) served: Time,
    /// The host has the answer.
    pub(crate) given: Time,
    /// The page of it that was done last.
    pub(crate) last: HostPage,
}

/// Sums over requests of a kind, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, Preserve)]
struct Sums {
    requests: u64,
    firmware: u128,
    link: u128,
    link_waiting: u128,
    waiting: u128,
    flash: u128,
}

/// Sums over the requests since counting began.
#[derive(Clone, Copy, Debug, Default, Preserve)]
pub(crate) struct Spent {
    reads: Sums,
    writes: Sums,
}

impl Spent {
    /// Adds a request.
    pub(crate) fn note(&mut self, request: &PageRequest, link: Option<&Link>, moments: &Moments) {
        let sums = match request.op {
            Op::Read => &mut self.reads,
            Op::Write => &mut self.writes,
            Op::Trim | Op::Flush => return,
        };
        let Moments { arrived, taken, served, given, last } = moments;
        let (firmware, moving) = link.map_or((0, 0), |link| link.times(request));
        let outside = (taken.0 - arrived.0) + (given.0 - served.0);
        let flash = last.work_ns.min(served.0 - taken.0);
        sums.requests += 1;
        sums.firmware += u128::from(firmware);
        sums.link += u128::from(moving);
        sums.link_waiting += u128::from(outside - firmware - moving);
        sums.flash += u128::from(flash);
        sums.waiting += u128::from(served.0 - taken.0 - flash);
    }

    /// Where the time from `began` to `ended` went.
    pub(crate) fn result(
        &self,
        nand: &SimNand,
        link: Option<&LinkState>,
        (began, ended): (Time, Time),
    ) -> Option<TimeSpent> {
        let work = nand.work_until(ended)?;
        let elapsed = ended.0 - began.0;
        let busy = |ns: u64| share(ns, elapsed);
        let each: Vec<f64> = work.channels.iter().map(|ns| busy(*ns)).collect();
        let firmware = self.reads.firmware + self.writes.firmware;
        Some(TimeSpent {
            dies: dies(&work, elapsed),
            channels: ChannelShares { busy: each.iter().sum::<f64>() / each.len().max(1) as f64, each },
            link: link.map(|link| LinkShares {
                busy: busy(link.busy_until(ended)),
                firmware_requests_mean: firmware as f64 / elapsed.max(1) as f64,
            }),
            request_us: RequestTimes { read: self.reads.mean(), write: self.writes.mean() },
        })
    }
}

impl Sums {
    fn mean(&self) -> Option<RequestTime> {
        let mean = |ns: u128| ns as f64 / self.requests as f64 / 1e3;
        (self.requests > 0).then(|| RequestTime {
            firmware: mean(self.firmware),
            link: mean(self.link),
            link_waiting: mean(self.link_waiting),
            flash: mean(self.flash),
            waiting: mean(self.waiting),
        })
    }
}

/// So many nanoseconds of a span.
fn share(ns: u64, elapsed: u64) -> f64 {
    ns as f64 / elapsed.max(1) as f64
}

/// The mean over dies of the share of the time for which their cells worked, by cause.
fn dies(work: &Work, elapsed: u64) -> DieShares {
    let count = work.busy().count().max(1) as u64;
    let of = |is_of: &dyn Fn(Purpose, Kind) -> bool| {
        let causes = Purpose::ALL.iter().flat_map(|purpose| Kind::ALL.map(|kind| (*purpose, kind)));
        let ns: u64 = causes.filter(|(purpose, kind)| is_of(*purpose, *kind)).flat_map(|(p, k)| work.of(p, k)).sum();
        share(ns, elapsed * count)
    };
    let of_host = |purpose| matches!(purpose, Purpose::Host | Purpose::Rmw);
    let moves = |purpose| write_part(purpose) == WritePart::User && !of_host(purpose);
    let part = |part| of(&|purpose, kind| write_part(purpose) == part && kind != Kind::Erase);
    DieShares {
        busy: share(work.busy().sum(), elapsed * count),
        host_reads: of(&|purpose, kind| of_host(purpose) && kind == Kind::Sense),
        host_programs: of(&|purpose, kind| of_host(purpose) && kind == Kind::Program),
        collection_reads: of(&|purpose, kind| moves(purpose) && kind == Kind::Sense),
        collection_programs: of(&|purpose, kind| moves(purpose) && kind == Kind::Program),
        erases: of(&|_, kind| kind == Kind::Erase),
        translation: part(WritePart::Translation),
        validity: part(WritePart::Validity),
        other: part(WritePart::Other),
    }
}
