//! `phelsuma check`: whether a drive in an image file is in order. It works on a view, and changes nothing.

use crate::create::image_failure;
use crate::errors::{Failure, Outcome};
use crate::table::number;
use crate::{output, table};
use phelsuma_ftl::{Ftl, HostPage, RecoveryReport};
use phelsuma_nand::{LogicalPage, Nand, Purpose, Time};
use phelsuma_options::{count, memory, size};
use phelsuma_serve::image::{BATTERY_SAVED_NOTHING, ImageNand, LastStop};
use serde_json::{Value, json};
use std::path::PathBuf;

/// Options of `check`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The image file
    image: PathBuf,
    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
}

/// Findings that are kept; the others are counted.
const FINDINGS_MAX: usize = 1_000;
/// Logical pages that are read at once.
const AT_ONCE: u32 = 256;

/// What is wrong, a line each.
#[derive(Default)]
struct Findings {
    lines: Vec<String>,
    total: u64,
}

impl Findings {
    fn add(&mut self, line: String) {
        self.total += 1;
        if self.lines.len() < FINDINGS_MAX {
            self.lines.push(line);
        }
    }
}

/// Logical pages by what they read as.
#[derive(Default)]
struct Pages {
    data: u64,
    zeros: u64,
    unreadable: u64,
}

/// Runs it.
pub(crate) fn main(args: &Args) -> Outcome {
    let mut nand = ImageNand::view(&args.image).map_err(|error| image_failure(&args.image, &error))?;
    memory::affordable(nand.geometry())?;
    let mut findings = Findings::default();
    nand.damage(|line| findings.add(line));
    let config = nand.config().clone();
    let (mut pages, mut report, mut is_lost) = (Pages::default(), None, false);
    match nand.recover() {
        Err(error) => findings.add(format!("{} does not mount: {error}", config.name)),
        Ok((mut ftl, recovery)) => {
            if !recovery.is_within_bound() {
                let (total, bound) = (recovery.total(), recovery.bound);
                findings.add(format!("the recovery exceeded its bound: it took {total:?}, the bound is {bound:?}"));
            }
            is_lost = matches!(LastStop::of(&nand, &recovery), LastStop::Unsaved(_));
            if is_lost {
                findings.add(BATTERY_SAVED_NOTHING.to_string());
            }
            report = Some(recovery);
            ftl.check(&mut nand).into_iter().for_each(|finding| findings.add(finding.line));
            pages = read_all(ftl.as_mut(), &mut nand, config.logical_pages, &mut findings)?;
        }
    }
    if let Some(error) = nand.failure() {
        return Err(Failure::Failed(format!("{}: {error}", args.image.display())));
    }
    if args.json {
        output::json(&as_json(args, &nand, &pages, report.as_ref(), &findings))?;
    } else {
        let mut text = as_text(args, &nand, &pages, report.as_ref(), &findings);
        text += match (is_lost, findings.total) {
            (false, 0) => "nothing is wrong\n",
            (true, 1) => "the structures agree; acknowledged data are lost\n",
            _ => "",
        };
        output::print(&text)?;
    }
    if findings.total == 0 { Ok(()) } else { Err(Failure::Shown) }
}

fn read_all(
    ftl: &mut dyn Ftl<ImageNand>,
    nand: &mut ImageNand,
    logical: u32,
    findings: &mut Findings,
) -> Outcome<Pages> {
    let mut pages = Pages::default();
    for first in (0..logical).step_by(AT_ONCE as usize) {
        let mut sink = |page: LogicalPage, data: HostPage<'_>| match data {
            HostPage::Data(_) => pages.data += 1,
            HostPage::Zeros => pages.zeros += 1,
            HostPage::Unreadable => {
                pages.unreadable += 1;
                findings.add(format!("{page} cannot be read"));
            }
        };
        let at_once = AT_ONCE.min(logical - first);
        ftl.read(nand, LogicalPage(first), at_once, Purpose::Host, Time::ZERO, &mut sink)
            .map_err(|error| Failure::Failed(error.to_string()))?;
    }
    Ok(pages)
}

fn as_json(
    args: &Args,
    nand: &ImageNand,
    pages: &Pages,
    report: Option<&RecoveryReport>,
    findings: &Findings,
) -> Value {
    let steps = |report: &RecoveryReport| -> Vec<Value> {
        let step = |s: &phelsuma_ftl::RecoveryStep| json!({ "name": s.name, "reads": s.reads, "spare_reads": s.spare_reads, "programs": s.programs });
        report.steps.iter().map(step).collect()
    };
    json!({
        "schema": "phelsuma.check/1",
        "image": args.image.display().to_string(),
        "ftl": nand.config().name,
        "closed": nand.rolled_back().is_none(),
        "last_stop": report.map(|report| LastStop::of(nand, report).name()),
        "rolled_back": nand.rolled_back().map(|back| json!({
            "kept": back.kept, "undone": back.undone, "torn_records": back.torn_records,
        })),
        "pages": { "data": pages.data, "zeros": pages.zeros, "unreadable": pages.unreadable },
        "recovery": report.map(steps),
        "findings": findings.lines,
        "findings_total": findings.total,
    })
}

fn as_text(
    args: &Args,
    nand: &ImageNand,
    pages: &Pages,
    report: Option<&RecoveryReport>,
    findings: &Findings,
) -> String {
    let mut text = format!("{}: {}, ", args.image.display(), nand.config().name);
    text += &match nand.rolled_back() {
        None => "closed cleanly\n".to_string(),
        Some(back) => format!("not closed cleanly ({back})\n"),
    };
    if let Some(report) = report {
        let mut steps = table::numbers(&["recovery step", "reads", "spare reads", "programs"]);
        for step in &report.steps {
            steps.add_row([step.name.to_string(), count(step.reads), count(step.spare_reads), count(step.programs)]);
        }
        let logical = pages.data + pages.zeros + pages.unreadable;
        let share = 100.0 * pages.data as f64 / logical.max(1) as f64;
        text += &format!(
            "{steps}\nlogical pages: {} hold data ({} %, {}), {} read as zeros, {} cannot be read\n",
            count(pages.data),
            number(share),
            size::show(pages.data * u64::from(nand.geometry().page_bytes())),
            count(pages.zeros),
            count(pages.unreadable)
        );
    }
    for line in &findings.lines {
        text += &format!("finding: {line}\n");
    }
    let more = findings.total - findings.lines.len() as u64;
    if more > 0 {
        text += &format!("and {} more\n", count(more));
    }
    text
}
