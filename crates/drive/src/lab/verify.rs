//! The check after a power cut: a branch is recovered, read in full, recovered once more, written over twice and
//! checked again.

use super::cut_nand::CutNand;
use super::failure::{Checked, FailureKind, failure};
use super::model::{Decayed, Expectation, Model, Wrong, tag};
use super::power_fail::save;
use super::subject::Subject;
use super::taken_back::{Taken, TakenBack};
use phelsuma_ftl::{
    Disagreement, Finding, Ftl, FtlError, Hint, HostData, HostPage, RecoveryReport, RecoveryStep, WriteRequest,
};
use phelsuma_nand::{Content, LogicalPage, OpCounts, Purpose, SimNand, Time};
use std::sync::Arc;

/// Brings the drive up after a cut; the moment it is ready in simulated time is how long that took.
pub(crate) fn bring_up(nand: &mut CutNand, subject: &dyn Subject) -> Checked<(Box<dyn Ftl<CutNand>>, Time)> {
    bring_up_when(nand, subject, "the drive does not come up")
}

fn bring_up_when(nand: &mut CutNand, subject: &dyn Subject, failing: &str) -> Checked<(Box<dyn Ftl<CutNand>>, Time)> {
    let before = Counted::on(&nand.sim);
    match subject.recover(nand, Time::ZERO) {
        Ok((ftl, report)) => {
            within_bound(&before, &nand.sim, &report)?;
            Ok((ftl, report.done))
        }
        Err(error) => failure(FailureKind::Stuck, format!("{failing}: {error}")),
    }
}

/// The flash's counters before a recovery: the recovery need not be believed.
pub(crate) struct Counted {
    operations: OpCounts,
    failed_programs: u64,
}

impl Counted {
    pub(crate) fn on(sim: &SimNand) -> Self {
        Self { operations: sim.stats().total(), failed_programs: sim.failed_programs() }
    }
}

/// Whether a recovery costs no more than it states, and has reported all of its reads and programs. The exception is
/// failed programs, which spoil a block: nothing states what is done about that.
pub(crate) fn within_bound(before: &Counted, sim: &SimNand, report: &RecoveryReport) -> Checked<()> {
    let now = Counted::on(sim);
    let (came_to, failed) = (now.operations - before.operations, now.failed_programs - before.failed_programs);
    let (told, bound) = (report.total(), report.bound);
    let of = |what: &str, came_to: u64, told: u64, bound: u64| {
        let is_too_much = came_to > bound;
        // A report without steps is exempt.
        let is_hidden = failed == 0 && came_to != told && !report.steps.is_empty();
        (is_too_much || is_hidden).then(|| format!("{came_to} {what}, {told} are told of and {bound} are stated"))
    };
    let reads = of("pages read", came_to.reads, told.reads, bound.reads);
    let spare_reads = of("spare areas read", came_to.spare_reads, told.spare_reads, bound.spare_reads);
    let programs = of("programs that did not fail", came_to.programs - failed, told.programs, bound.programs);
    let parts: Vec<String> = reads.into_iter().chain(spare_reads).chain(programs).collect();
    if parts.is_empty() {
        return Ok(());
    }
    let step = |step: &RecoveryStep| {
        format!("{}: {} reads, {} of spare areas, {} programs", step.name, step.reads, step.spare_reads, step.programs)
    };
    let steps: Vec<String> = report.steps.iter().map(step).collect();
    let (parts, steps) = (parts.join("; "), steps.join("; "));
    failure(FailureKind::Stuck, format!("the recovery is not what it says: {parts} ({steps})"))
}

/// Switches the drive off: where it has a battery, that is announced.
fn power_cycle(ftl: &mut dyn Ftl<CutNand>, nand: &mut CutNand, at: Time) -> Checked<()> {
    save(ftl, nand, at)?;
    nand.power_cycle();
    Ok(())
}

/// Everything after the first recovery. `seen_before` is called once the drive has mounted and shown its pages, with a
/// key of flash and pages shown. It says whether a branch that got to the same has been checked from there on.
pub(crate) fn verify(
    nand: &mut CutNand,
    mut ftl: Box<dyn Ftl<CutNand>>,
    subject: &dyn Subject,
    expectation: &Expectation,
    taken_back: &TakenBack,
    seen_before: &mut dyn FnMut(u128) -> bool,
) -> Checked<()> {
    consistent(ftl.as_mut(), nand, &expectation.model, "after recovery")?;
    let mut model = expectation.model.as_ref().clone();
    let taken = observe(ftl.as_mut(), nand, expectation, &mut model, "after recovery")?;
    if model.may_lose() {
        taken_back.note(taken);
    }

    power_cycle(ftl.as_mut(), nand, Time::ZERO)?;
    // From here on everything follows from the flash and the pages that it showed.
    if seen_before(nand.sim.fingerprint().unwrap_or_default() ^ model.hash()) {
        return Ok(());
    }
    nand.sim.forget_fingerprint();
    let (again, _) = bring_up_when(nand, subject, "it came up once, and then not any more")?;
    ftl = again;
    compare(ftl.as_mut(), nand, &model, "after a second, clean recovery")?;

    // A few writes and another cut: what recovery rejected must stay rejected once it is no longer the last.
    let pages = model.logical_pages();
    for page in [pages / 3, pages / 2, pages - 1] {
        write_one(ftl.as_mut(), nand, &mut model, page, (1 << 30) - 1, Time::ZERO)?;
    }
    power_cycle(ftl.as_mut(), nand, Time::ZERO)?;
    (ftl, _) = bring_up_when(nand, subject, "it does not come up after three more writes")?;
    after_cut(ftl.as_mut(), nand, &mut model, "after three writes and a clean recovery")?;

    let mut at = Time::ZERO;
    for round in 0..2 {
        at = overwrite(ftl.as_mut(), nand, &mut model, round, at)?;
    }
    compare(ftl.as_mut(), nand, &model, "after two overwrites")?;
    consistent(ftl.as_mut(), nand, &model, "after two overwrites")?;

    power_cycle(ftl.as_mut(), nand, at)?;
    let (mut last, _) = bring_up_when(nand, subject, "it does not come up after it was written over twice")?;
    after_cut(last.as_mut(), nand, &mut model, "after two overwrites and a clean recovery")
}

/// Everything after a cut with nothing in flight: as the model has it, unless such a cut may take something back.
fn after_cut(ftl: &mut dyn Ftl<CutNand>, nand: &mut CutNand, model: &mut Model, when: &str) -> Checked<()> {
    if !model.may_lose() {
        return compare(ftl, nand, model, when);
    }
    let expectation = Expectation { model: Arc::new(model.clone()), in_progress: None };
    observe(ftl, nand, &expectation, model, when).map(drop)
}

/// Reads everything after a recovery. The content that it shows, if that may be, stays from then on. The data that the
/// cut took back.
pub(crate) fn observe(
    ftl: &mut dyn Ftl<CutNand>,
    nand: &mut CutNand,
    expectation: &Expectation,
    model: &mut Model,
    when: &str,
) -> Checked<Taken> {
    let mut taken = Taken::default();
    for (page, read) in (0..).zip(read_all(ftl, nand, model)?) {
        if let Err(wrong) = expectation.judge(page, read) {
            return failure(kind_of(wrong), format!("{when} logical page {page} {}", reads_as(read)));
        }
        if expectation.is_taken_back(page, read) {
            *if read.is_some() { &mut taken.older } else { &mut taken.unreadable } += 1;
        }
        model.observed(page, read);
    }
    Ok(taken)
}

fn kind_of(wrong: Wrong) -> FailureKind {
    match wrong {
        Wrong::Lost => FailureKind::Lost,
        Wrong::Corrupt => FailureKind::Corrupt,
    }
}

fn reads_as(read: Option<u64>) -> String {
    match read {
        None => "cannot be read".into(),
        Some(0) => "reads as zeros".into(),
        Some(tag) => format!("reads as page {} of write {}", tag as u32, (tag >> 32).wrapping_sub(1)),
    }
}

/// Every logical page's tag; None where it cannot be read.
pub(crate) fn read_all(ftl: &mut dyn Ftl<CutNand>, nand: &mut CutNand, model: &Model) -> Checked<Vec<Option<u64>>> {
    match read_pages(ftl, nand, 0, model.logical_pages(), Time::ZERO) {
        Ok((found, _)) => Ok(found),
        Err(error) => failure(FailureKind::Stuck, format!("reading fails: {error}")),
    }
}

/// The tags of so many logical pages, None where one cannot be read; and the moment the last one is there.
pub(crate) fn read_pages(
    ftl: &mut dyn Ftl<CutNand>,
    nand: &mut CutNand,
    first: u32,
    pages: u32,
    at: Time,
) -> Result<(Vec<Option<u64>>, Time), FtlError> {
    let mut found = Vec::with_capacity(pages as usize);
    let mut sink = |_: LogicalPage, page: HostPage<'_>| {
        found.push(match page {
            HostPage::Zeros => Some(0),
            HostPage::Data(Content::Hollow(tag)) => Some(tag),
            // The laboratory writes hollow pages only: these bytes are of another page.
            HostPage::Data(Content::Bytes(_)) => Some(u64::MAX),
            HostPage::Unreadable => None,
        });
    };
    let done = ftl.read(nand, LogicalPage(first), pages, Purpose::Host, at, &mut sink)?;
    Ok((found, done))
}

/// Every logical page as the model has it.
pub(crate) fn compare(ftl: &mut dyn Ftl<CutNand>, nand: &mut CutNand, model: &Model, when: &str) -> Checked<()> {
    exactly(model, 0, &read_all(ftl, nand, model)?, when)
}

/// Whether the pages from `first` on read as the model has them, with the power on.
pub(crate) fn exactly(model: &Model, first: u32, found: &[Option<u64>], when: &str) -> Checked<()> {
    for (page, read) in (first..).zip(found) {
        if let Err(wrong) = model.judge(page, *read) {
            let (read, now) = (reads_as(*read), reads_as(Some(model.now(page))));
            return failure(kind_of(wrong), format!("{when} logical page {page} {read} where it {now}"));
        }
    }
    Ok(())
}

/// Whether the FTL's structures agree with each other and with the flash. Where they stand on metadata that has decayed
/// they need not.
pub(crate) fn consistent(ftl: &mut dyn Ftl<CutNand>, nand: &mut CutNand, model: &Model, when: &str) -> Checked<()> {
    let is_expected = |finding: &Finding| match (model.has_decayed(), finding.about) {
        // Pages that a cut has taken back may have been erased since, or in part. A recovery from translation pages
        // alone reads one spare area of a block. Then it finds the block as it was, and pages that are named there are
        // blank.
        (_, Disagreement::MappedErased) => model.loses().of_ftl(),
        (Decayed::Nothing, _) => model.loses().of_ftl() && finding.is_of_unreadable_pages(),
        // A page that is mapped and has decayed is a finding, and here it is to be expected. So is one that has
        // decayed, was given up, and counts as live until its block is collected: the power failed before that was
        // reported to validity.
        (Decayed::Host, _) => finding.is_of_unreadable_pages(),
        // The record that a page is stale is gone, and it is taken for live; nothing that the table names is taken for
        // stale.
        (Decayed::Validity, Disagreement::MappedNotValid) => false,
        // The page that named it is gone. So it is taken for live. Or an older version answers, and names a page that
        // is known to be stale, or is read and found to be another. That no page has two owners, no free block a live
        // page, and each block one use, holds whatever has decayed.
        (Decayed::Validity | Decayed::Metadata, Disagreement::Structure) => false,
        (Decayed::Validity | Decayed::Metadata, _) => true,
    };
    match ftl.check(nand).iter().find(|finding| !is_expected(finding)) {
        None => Ok(()),
        Some(finding) => failure(FailureKind::Corrupt, format!("{when}: {finding}")),
    }
}

/// Writes every logical page once: scattered over the space in the first round, in order in the second. So blocks with
/// many live pages are collected as well as those with few.
fn overwrite(ftl: &mut dyn Ftl<CutNand>, nand: &mut CutNand, model: &mut Model, round: u32, at: Time) -> Checked<Time> {
    let pages = model.logical_pages();
    let stride = if round == 0 { stride_of(pages) } else { 1 };
    // Numbers that no write of the workload has.
    let write = (1 << 30) + round;
    let mut at = at;
    let mut page = round % pages;
    for _ in 0..pages {
        at = write_one(ftl, nand, model, page, write, at)?;
        page = (page + stride) % pages;
    }
    Ok(at)
}

fn write_one(
    ftl: &mut dyn Ftl<CutNand>,
    nand: &mut CutNand,
    model: &mut Model,
    page: u32,
    write: u32,
    at: Time,
) -> Checked<Time> {
    let tag = tag(write, page);
    let request = WriteRequest { first: LogicalPage(page), pages: 1, data: HostData::Hollow(tag), hint: Hint::None };
    match ftl.write(nand, &request, at) {
        Ok(done) => {
            model.written(page, tag);
            Ok(done)
        }
        Err(error) => failure(FailureKind::Stuck, format!("writing logical page {page} fails: {error}")),
    }
}

/// A step near the golden section that visits all pages.
fn stride_of(pages: u32) -> u32 {
    let gcd = |mut a: u32, mut b: u32| {
        while b > 0 {
            (a, b) = (b, a % b);
        }
        a
    };
    let from = (f64::from(pages) * 0.618) as u32;
    (from.max(1)..).find(|s| gcd(*s, pages) == 1).unwrap_or(1)
}
