//! Which FTL wins a comparison and by what, in one line computed from the results; a lead that may turn is no win.

use crate::remarks;
use phelsuma_drive::RunResult;
use phelsuma_options::{count, size};
use serde::Serialize;

/// What a comparison comes to.
#[derive(Debug, Serialize)]
pub(crate) struct Verdict {
    /// `wins`, `leads`, `tie` or `none`.
    pub(crate) outcome: &'static str,
    /// In words.
    #[serde(rename = "verdict")]
    pub(crate) text: String,
}

impl Verdict {
    fn none(text: String) -> Self {
        Self { outcome: "none", text }
    }
}

/// A drive on which a trace leaves little room.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tighter {
    /// What the trace touches, in bytes.
    pub(crate) footprint_bytes: u64,
    /// Flash, in bytes.
    pub(crate) capacity_bytes: u64,
    /// Logical over physical pages.
    pub(crate) ratio: f64,
}

/// What the verdict looks at.
#[derive(Clone, Debug)]
struct Figures<'a> {
    name: &'a str,
    /// Programs per host page written: in all, of translation, of validity, of other metadata.
    total: f64,
    translation: f64,
    validity: f64,
    other: f64,
    /// Pages moved per host page written.
    moved: f64,
    moved_pages: u64,
    collections: u64,
    pages_per_block: u32,
    merges: Option<remarks::Merges>,
    erases: f64,
    /// Of the host, and of the flash.
    written_pages: u64,
    capacity_pages: u64,
    page_bytes: u64,
    write_mean: f64,
    /// None where nothing was written.
    write_p99: Option<f64>,
    /// How victims are chosen, and where pages are placed; none where there are log blocks.
    parts: Option<[&'a str; 2]>,
    /// How often a trace was replayed.
    loops: Option<u64>,
    /// The share of the drive that was written, where that is too little, and what to do.
    short: Option<(f64, &'static str)>,
    /// As papers count it.
    ram_bytes: u64,
    /// By how much the last loop exceeds the one before, or the second half of the counted part the first; none where that
    /// cannot be told.
    drift: Option<f64>,
    /// The options that make a run longer: before it is counted, and while it is.
    longer: Longer,
}

/// The options that make a run longer.
#[derive(Clone, Copy, Debug)]
struct Longer {
    before: &'static str,
    counted: &'static str,
}

fn longer(result: &RunResult) -> Longer {
    match result.fold {
        Some(_) => Longer { before: "--loops", counted: "--loops" },
        None if remarks::ends(result) => Longer { before: "rounds=N", counted: "rounds=N" },
        None => Longer { before: "--warmup", counted: "--passes" },
    }
}

/// So few pages moved per host page are not what FTLs are told apart by.
const NEXT_TO_NOTHING: f64 = 0.02;
/// The halves of a steady run differ by less: so far apart two of them can be by chance. Figures closer than that tie, and up
/// to twice that one leads.
const STEADY: f64 = 0.005;
/// How many times the difference between its halves a run may still be from its level. Where it approaches that as
/// exp(-t), it is three times with a time constant of one and a half times the counted part.
const STILL_TO_GO: f64 = 3.0;

impl<'a> Figures<'a> {
    fn of(result: &'a RunResult) -> Option<Self> {
        let wa = result.write_amplification?;
        let counter = |name: &str| result.counters.get(name).copied();
        let gc = result.flash.get("gc").map_or(0, |f| f.programs);
        let moved_pages = counter("pages_moved").unwrap_or(gc);
        Some(Self {
            name: &result.ftl,
            total: wa.total,
            translation: wa.translation,
            validity: wa.validity,
            other: wa.other,
            moved: moved_pages as f64 / result.host.write_pages.max(1) as f64,
            moved_pages,
            collections: counter("collections").unwrap_or(0),
            pages_per_block: result.geometry.pages_per_block,
            merges: remarks::Merges::of(result),
            erases: result.erases.total as f64,
            written_pages: result.host.write_pages,
            capacity_pages: result.geometry.capacity_bytes / u64::from(result.geometry.page_bytes),
            page_bytes: u64::from(result.geometry.page_bytes),
            write_mean: result.latency_us.write.map_or(0.0, |l| l.mean),
            write_p99: result.latency_us.write.map(|l| l.p99),
            parts: (!remarks::has_log_blocks(result))
                .then_some([result.composition.victim.as_str(), result.composition.placement.as_str()]),
            loops: result.loops,
            short: remarks::short(result).map(|share| (share, remarks::longer_input(result))),
            ram_bytes: result.ram_bytes.papers.get("total").copied().unwrap_or(0),
            drift: result.drift,
            longer: longer(result),
        })
    }

    /// Whether this one, which is behind, may yet be ahead of `winner`: it is close, or it still comes closer. What drives
    /// both alike, as a trace does whose halves differ, does not bring one closer to the other. But of a trace that ran once
    /// nobody knows whether that was the trace or the drive, which its fill has shaped.
    fn may_turn(&self, winner: &Self) -> bool {
        let (Some(own), Some(winners)) = (self.drift, winner.drift) else { return true };
        let unsettled = own.abs().max(winners.abs());
        if self.loops == Some(1) && unsettled >= STEADY && self.behind(winner) <= unsettled {
            return true;
        }
        if winner.short.is_some() {
            return true;
        }
        let closer = -((1.0 + own) / (1.0 + winners) - 1.0);
        let still_to_go = if closer < STEADY { 0.0 } else { STILL_TO_GO * closer };
        self.behind(winner) <= 2.0 * STEADY + still_to_go
    }

    fn behind(&self, winner: &Self) -> f64 {
        self.total / winner.total - 1.0
    }

    fn ties_with(&self, winner: &Self) -> bool {
        self.behind(winner) < STEADY
    }

    fn live_per_victim(&self) -> Option<f64> {
        (self.collections > 0 && self.merges.is_none()).then(|| self.moved_pages as f64 / self.collections as f64)
    }
}

/// One line on results that are sorted by write amplification. An oracle wins nothing.
/// `tighter` finds a drive that may tell apart what ties here.
pub(crate) fn of(all: &[RunResult], tighter: &dyn Fn() -> Option<Tighter>) -> Verdict {
    let results: Vec<&RunResult> = all.iter().filter(|result| !result.oracle).collect();
    match (&results[..], all.len()) {
        ([], _) => return Verdict::none("Oracles alone, of which none wins.".into()),
        ([only], 1) => return Verdict::none(format!("{} alone: nothing to compare it with.", only.ftl)),
        ([only], _) => return Verdict::none(format!("{} alone: nothing to compare it with but oracles.", only.ftl)),
        _ => {}
    }
    if results.iter().any(|r| r.host.write_pages == 0) {
        return Verdict::none(without_writes(&results));
    }
    let figures: Vec<Figures<'_>> = results.into_iter().filter_map(Figures::of).collect();
    between(&figures, tighter)
}

/// The host wrote nothing.
fn without_writes(results: &[&RunResult]) -> String {
    let mut by_reads: Vec<(&str, f64)> =
        results.iter().map(|r| (r.ftl.as_str(), r.latency_us.read.map_or(0.0, |l| l.mean))).collect();
    by_reads.sort_by(|a, b| a.1.total_cmp(&b.1));
    let nothing = "No winner: the input writes nothing, so there is no write amplification to compare";
    match (by_reads.first(), by_reads.last()) {
        (Some((best, fast)), Some((worst, slow))) if differ(*fast, *slow) => {
            format!("{nothing}; reads take {fast:.1} µs on average with {best}, {slow:.1} µs with {worst}.")
        }
        (Some((_, mean)), _) if *mean > 0.0 => format!("{nothing}, and reads take {mean:.1} µs with each."),
        _ => format!("{nothing}."),
    }
}

fn between(figures: &[Figures<'_>], tighter: &dyn Fn() -> Option<Tighter>) -> Verdict {
    let [winner, runner_up, ..] = figures else { return Verdict::none("Nothing to compare.".to_string()) };
    if runner_up.ties_with(winner) {
        return Verdict { outcome: "tie", text: tie(figures, winner, tighter) };
    }
    let percent = (1.0 - winner.total / runner_up.total) * 100.0;
    let open = open(figures, winner);
    let outcome = if open.is_empty() { "wins" } else { "leads" };
    let text = format!(
        "{} {outcome}: {:.3} programs per host page against {:.3} of {} ({percent:.1} % fewer), {}.{}{}{}",
        winner.name,
        winner.total,
        runner_up.total,
        runner_up.name,
        cause(winner, runner_up),
        ram(figures, winner),
        waits(figures, winner),
        open
    );
    Verdict { outcome, text }
}

/// Who may yet be ahead of the winner, why, and what would tell; empty where nobody.
fn open(figures: &[Figures<'_>], winner: &Figures<'_>) -> String {
    let close: Vec<&Figures<'_>> = figures.iter().skip(1).filter(|f| f.may_turn(winner)).collect();
    if close.is_empty() {
        return String::new();
    }
    let names: Vec<&str> = close.iter().map(|f| f.name).collect();
    let drifts: Vec<String> = std::iter::once(winner)
        .chain(close.iter().copied())
        .filter_map(|f| Some(format!("{:+.1} % of {}", f.drift? * 100.0, f.name)))
        .collect();
    let all_steady = close.iter().chain([&winner]).all(|f| f.drift.is_some_and(|drift| drift.abs() < STEADY));
    let longer = winner.longer;
    let why = if winner.drift.is_none() || close.iter().any(|f| f.drift.is_none()) {
        format!("the run is too short to tell whether it is steady; raise {}", longer.counted)
    } else if let Some((share, what)) = winner.short {
        format!("only {share:.2} of the drive is written while counted; {what}")
    } else if all_steady {
        format!("so small a difference can be chance; raise {}", longer.counted)
    } else {
        let drifts = drifts.join(", ");
        let between = match winner.loops {
            Some(2..) => "from one loop to the next",
            _ => "from one half of the run to the other",
        };
        format!("write amplification still changes {between} ({drifts}); raise {}", longer.before)
    };
    format!(" Whether it stays ahead of {} is open: {why}.", names.join(", "))
}

/// What the winner pays in RAM, where another does with less than half of it.
fn ram(figures: &[Figures<'_>], winner: &Figures<'_>) -> String {
    match figures.iter().min_by_key(|f| f.ram_bytes) {
        Some(least) if least.ram_bytes < winner.ram_bytes / 2 => format!(
            " It takes {} of RAM as papers count it; {} does with {}.",
            size::show(winner.ram_bytes),
            least.name,
            size::show(least.ram_bytes)
        ),
        _ => String::new(),
    }
}

/// What the winner costs in waiting, where writes of another have less than half of its 99th percentile.
fn waits(figures: &[Figures<'_>], winner: &Figures<'_>) -> String {
    let others = figures.iter().filter_map(|f| Some((f.name, f.write_p99.filter(|p99| *p99 > 0.0)?)));
    match (others.min_by(|a, b| a.1.total_cmp(&b.1)), winner.write_p99) {
        (Some((least, fast)), Some(own)) if own > 2.0 * fast => {
            format!(" Its write p99 is {:.1} times that of {least}.", own / fast)
        }
        _ => String::new(),
    }
}

/// The part of the difference that is the largest.
fn cause(winner: &Figures<'_>, runner_up: &Figures<'_>) -> String {
    let parts = [
        ("translation pages", winner.translation, runner_up.translation),
        ("validity metadata", winner.validity, runner_up.validity),
        ("other metadata", winner.other, runner_up.other),
    ];
    let gap = |(_, less, more): &(&str, f64, f64)| more - less;
    let largest = parts.iter().max_by(|a, b| gap(a).total_cmp(&gap(b)));
    let moved = runner_up.moved - winner.moved;
    match largest {
        Some(part) if gap(part) > moved => {
            format!("because {} took {:.3} programs per host page instead of {:.3}", part.0, part.1, part.2)
        }
        _ if moved > 0.0 => {
            let victims = match (winner.live_per_victim(), runner_up.live_per_victim()) {
                (Some(less), Some(more)) => {
                    format!(" (live pages per victim: {less:.1} instead of {more:.1} of {})", winner.pages_per_block)
                }
                (None, Some(more)) => format!(
                    " (it collected nothing; victims of {} held {more:.1} live pages of {})",
                    runner_up.name, winner.pages_per_block
                ),
                _ => String::new(),
            };
            let (less, more) = (winner.moved, runner_up.moved);
            let what = if runner_up.merges.is_some() { "merges" } else { "collection" };
            let merges = between_merges(winner, runner_up);
            let both = if both_differ(winner, runner_up) { "; victim and placement both differ" } else { "" };
            format!("because {what} moved {less:.3} pages per host page instead of {more:.3}{victims}{merges}{both}")
        }
        _ => "by programs that neither collection nor metadata explains".to_string(),
    }
}

/// Whether what is moved has two causes: which victims there are, and which pages stand together.
fn both_differ(a: &Figures<'_>, b: &Figures<'_>) -> bool {
    match (a.parts, b.parts) {
        (Some(a), Some(b)) => a.iter().zip(b).all(|(a, b)| *a != b),
        _ => false,
    }
}

/// What merges of two log-block FTLs, or of the second, came to.
fn between_merges(winner: &Figures<'_>, runner_up: &Figures<'_>) -> String {
    let Some(behind) = &runner_up.merges else { return String::new() };
    let ahead = winner.merges.as_ref();
    let shown = |what: &str, unit: &str, of: &dyn Fn(&remarks::Merges) -> Option<String>| {
        let (ahead, behind) = (ahead.and_then(of), of(behind)?);
        let against = ahead.map(|ahead| format!("{ahead}{unit} instead of ")).unwrap_or_default();
        Some(format!("{what} {against}{behind}{unit}"))
    };
    let parts = [
        shown("full merges:", "", &|merges| Some(count(merges.full))),
        shown("association degree", "", &|merges| Some(format!("{:.1}", merges.association?))),
        shown("log blocks written to", " %", &|merges| Some(format!("{:.0}", merges.used? * 100.0))),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    format!(" ({}{})", if ahead.is_some() { "" } else { "the latter's " }, parts.join(", "))
}

/// One of the figures.
type Measure = fn(&Figures<'_>) -> f64;

/// The first few are next to equal in write amplification.
fn tie(figures: &[Figures<'_>], winner: &Figures<'_>, tighter: &dyn Fn() -> Option<Tighter>) -> String {
    let mut tied: Vec<&Figures<'_>> = figures.iter().filter(|f| f.ties_with(winner)).collect();
    let names: Vec<&str> = tied.iter().map(|f| f.name).collect();
    let shown = |total: f64| format!("{total:.3}");
    let mut line = format!("Tie at write amplification {}", shown(winner.total));
    if let Some(last) = tied.last().map(|f| shown(f.total)).filter(|last| *last != shown(winner.total)) {
        line += &format!(" to {last}");
    }
    line += &format!(": {}", names.join(", "));
    let nothing = tied.iter().all(|f| f.collections == 0 && f.moved_pages == 0);
    let why = match tied.iter().all(|f| f.moved < NEXT_TO_NOTHING) {
        _ if nothing => "; nothing was collected",
        true => "; collection moved next to nothing",
        false => "",
    };
    line += why;
    let advice = match winner.loops {
        Some(loops) => of_a_trace(winner, loops, tighter, why.is_empty()),
        None => of_a_workload(winner, nothing, why.is_empty()),
    };
    if let Some(advice) = advice {
        line += if why.is_empty() { "; " } else { ": " };
        line += &advice;
    }
    let measures: [(&str, Measure); 2] = [("erases", |f| f.erases), ("mean write latency in µs", |f| f.write_mean)];
    for (what, measure) in measures {
        tied.sort_by(|a, b| measure(a).total_cmp(&measure(b)));
        if let (Some(best), Some(worst)) = (tied.first(), tied.last())
            && differ(measure(best), measure(worst))
        {
            let (less, more) = (crate::table::number(measure(best)), crate::table::number(measure(worst)));
            return format!("{line}; {what}: {less} with {} against {more} with {}.", best.name, worst.name);
        }
    }
    format!("{line}; no difference in erases or write latency either.")
}

/// A loop more often than this is no advice.
const LOOPS_MAX: u64 = 100;

/// How often a trace or a workload has to be replayed until it has overwritten so many pages of flash twice: then all of
/// them are collected.
fn times(winner: &Figures<'_>, flash_pages: u64) -> u64 {
    (2 * flash_pages).div_ceil(winner.written_pages.max(1))
}

/// Which options would tell apart what ties with a trace: a drive on which it leaves less room, and as many loops as settle
/// it.
fn of_a_trace(
    winner: &Figures<'_>,
    loops: u64,
    tighter: &dyn Fn() -> Option<Tighter>,
    much_is_moved: bool,
) -> Option<String> {
    let flash = winner.capacity_pages * winner.page_bytes;
    let tighter = tighter().filter(|tighter| (tighter.capacity_bytes as f64) < 0.9 * flash as f64);
    let flash_pages = tighter.map_or(winner.capacity_pages, |tighter| tighter.capacity_bytes / winner.page_bytes);
    let wanted = times(winner, flash_pages).max(4);
    if wanted > LOOPS_MAX {
        return Some("next to nothing was written to a drive of this size".into());
    }
    let more = (wanted > loops).then(|| format!("--loops {wanted}"));
    match (tighter, more) {
        (Some(Tighter { footprint_bytes, capacity_bytes, ratio }), more) => {
            let more = more.map(|more| format!(" {more}")).unwrap_or_default();
            Some(format!(
                "the trace touches {} of {} of flash; --capacity {}MiB --ratio {ratio}{more} leaves less room",
                size::show(footprint_bytes),
                size::show(flash),
                capacity_bytes >> 20
            ))
        }
        (None, Some(more)) => Some(format!("{more} counts a drive that has settled")),
        (None, None) if much_is_moved => None,
        (None, None) => Some("a trace that overwrites more would tell them apart".into()),
    }
}

/// The same of a workload.
fn of_a_workload(winner: &Figures<'_>, nothing_is_collected: bool, much_is_moved: bool) -> Option<String> {
    let fuller = "a higher --ratio or a smaller --capacity would tell them apart";
    match times(winner, winner.capacity_pages) {
        _ if much_is_moved => None,
        101.. if nothing_is_collected => Some("next to nothing was written to a drive of this size".into()),
        times @ 2.. if nothing_is_collected => {
            Some(format!("{times} times as many writes ({}) would tell them apart", winner.longer.counted))
        }
        _ => Some(fuller.into()),
    }
}

/// Whether two measurements differ by more than half a percent.
fn differ(a: f64, b: f64) -> bool {
    (a - b).abs() > 0.005 * a.abs().max(b.abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(name: &str, total: f64, moved_pages: u64, collections: u64) -> Figures<'_> {
        Figures {
            name,
            total,
            translation: 0.0,
            validity: 0.0,
            other: 0.0,
            moved: moved_pages as f64 / 1000.0,
            moved_pages,
            collections,
            pages_per_block: 32,
            merges: None,
            erases: 100.0,
            written_pages: 1000,
            capacity_pages: 4096,
            page_bytes: 4096,
            write_mean: 1000.0,
            write_p99: Some(1000.0),
            parts: Some(["greedy", "one-stream"]),
            loops: None,
            short: None,
            ram_bytes: 4096,
            drift: Some(0.0),
            longer: Longer { before: "--warmup", counted: "--passes" },
        }
    }

    fn between(figures: &[Figures<'_>]) -> String {
        super::between(figures, &|| None).text
    }

    #[test]
    fn a_lead_that_may_turn_is_no_win() {
        let drifting = |total, drift| Figures { drift, ..figures("b", total, 1000, 60) };
        let said = |b| between(&[figures("a", 2.0, 500, 50), b]);
        let line = said(drifting(2.02, Some(-0.02)));
        assert!(line.starts_with("a leads: "), "{line}");
        assert!(
            line.contains("stays ahead of b is open") && line.contains("(+0.0 % of a, -2.0 % of b); raise --warmup."),
            "{line}"
        );
        assert!(said(drifting(2.5, Some(-0.02))).starts_with("a wins: "));
        let line = said(drifting(2.016, Some(0.004)));
        assert!(line.starts_with("a leads: ") && line.ends_with("can be chance; raise --passes."), "{line}");
        assert!(said(drifting(2.03, Some(0.004))).starts_with("a wins: "));
        assert!(said(drifting(2.03, Some(0.1))).starts_with("a wins: "), "it goes the other way");
        let both = [Figures { drift: Some(-0.1), ..figures("a", 2.0, 500, 50) }, drifting(2.03, Some(-0.1))];
        assert!(between(&both).starts_with("a wins: "), "both go the same way");
        let line = said(drifting(2.5, None));
        assert!(line.starts_with("a leads: ") && line.contains("too short to tell"), "{line}");
        // Of a trace that ran once halves tell nothing apart that is closer than they are.
        let once = |loops| {
            let traced = |f| Figures { loops: Some(loops), drift: Some(0.08), ..f };
            between(&[traced(figures("a", 2.0, 500, 50)), traced(figures("b", 2.1, 600, 50))])
        };
        assert!(
            once(1).starts_with("a leads: ") && once(1).contains("one half of the run to the other"),
            "{}",
            once(1)
        );
        assert!(once(2).starts_with("a wins: "), "{}", once(2));
        let short = Figures { short: Some((0.11, "take a longer trace")), ..figures("a", 2.0, 500, 50) };
        let line = between(&[short, figures("b", 4.0, 600, 50)]);
        assert!(line.starts_with("a leads: "), "{line}");
        assert!(
            line.ends_with("open: only 0.11 of the drive is written while counted; take a longer trace."),
            "{line}"
        );
        // One that is further behind, and not the next.
        let line = between(&[
            figures("a", 2.0, 500, 50),
            figures("b", 2.2, 600, 50),
            Figures { name: "c", ..drifting(2.3, Some(-0.1)) },
        ]);
        assert!(line.contains("stays ahead of c is open"), "{line}");
    }

    #[test]
    fn the_winner_wins_for_the_largest_difference() {
        let line = between(&[figures("a", 1.5, 500, 50), figures("b", 2.0, 1000, 60)]);
        assert_eq!(
            line,
            "a wins: 1.500 programs per host page against 2.000 of b (25.0 % fewer), because collection moved 0.500 pages per host page instead of 1.000 (live pages per victim: 10.0 instead of 16.7 of 32)."
        );
        let costly = Figures { translation: 0.8, ..figures("b", 2.0, 200, 60) };
        let line = between(&[figures("a", 1.5, 500, 50), costly]);
        assert!(
            line.contains("because translation pages took 0.000 programs per host page instead of 0.800"),
            "{line}"
        );
        let line = between(&[figures("a", 1.0, 0, 0), figures("b", 2.0, 1000, 60)]);
        assert!(line.contains("it collected nothing; victims of b held 16.7 live pages of 32"), "{line}");
    }

    #[test]
    fn two_causes_are_not_credited_to_one() {
        let costly = |parts| Figures { parts: Some(parts), ..figures("b", 2.0, 1000, 60) };
        let line = |parts| between(&[figures("a", 1.5, 500, 50), costly(parts)]);
        let both = "(live pages per victim: 10.0 instead of 16.7 of 32); victim and placement both differ.";
        assert!(line(["fifo", "host-gc"]).ends_with(both), "{}", line(["fifo", "host-gc"]));
        for one in [["fifo", "one-stream"], ["greedy", "host-gc"], ["greedy", "one-stream"]] {
            assert!(!line(one).contains("differ"), "{}", line(one));
        }
    }

    #[test]
    fn a_winner_whose_writes_wait_long_is_said_to() {
        let quick = |p99| Figures { write_p99: Some(p99), ..figures("b", 2.0, 1000, 60) };
        let line = between(&[figures("a", 1.5, 500, 50), quick(277.0)]);
        assert!(line.ends_with(" Its write p99 is 3.6 times that of b."), "{line}");
        assert!(!between(&[figures("a", 1.5, 500, 50), quick(600.0)]).contains("p99"));
    }

    #[test]
    fn nearer_is_never_more_of_a_win() {
        // A tie up to half a percent, a lead up to one, then a win, wherever the figures stand.
        for level in [1.0, 1.004, 1.0049, 1.0951, 2.4999, 9.9949] {
            for (behind, outcome) in
                [(0.001, "tie"), (0.0049, "tie"), (0.0051, "leads"), (0.0099, "leads"), (0.011, "wins")]
            {
                let two = [figures("a", level, 500, 50), figures("b", level * (1.0 + behind), 600, 50)];
                assert_eq!(super::between(&two, &|| None).outcome, outcome, "{level} {behind}");
            }
        }
    }

    #[test]
    fn a_winner_that_takes_much_more_ram_is_said_to() {
        let thrifty = |ram_bytes| Figures { ram_bytes, ..figures("b", 2.0, 1000, 60) };
        let line = between(&[figures("a", 1.5, 500, 50), thrifty(1024)]);
        assert!(line.ends_with(" It takes 4 KiB of RAM as papers count it; b does with 1 KiB."), "{line}");
        let line = between(&[figures("a", 1.5, 500, 50), thrifty(2048)]);
        assert!(!line.contains("RAM"), "{line}");
    }

    #[test]
    fn a_tie_is_called_a_tie() {
        let line = between(&[figures("a", 1.501, 500, 50), figures("b", 1.502, 502, 50), figures("c", 3.0, 2000, 50)]);
        let tied = "Tie at write amplification 1.501 to 1.502: a, b; no difference in erases or write latency either.";
        assert_eq!(line, tied);
        let fewer = Figures { erases: 80.0, ..figures("b", 1.502, 502, 50) };
        let line = between(&[figures("a", 1.501, 500, 50), fewer]);
        assert!(line.ends_with("erases: 80.0 with b against 100 with a."), "{line}");
        let line = between(&[figures("a", 1.0, 0, 0), figures("b", 1.0, 0, 0)]);
        assert!(line.contains("; nothing was collected: 9 times as many writes (--passes) would tell"), "{line}");
        let of_a_trace = |loops, tighter: Option<Tighter>| {
            let traced = |f| Figures { loops: Some(loops), ..f };
            super::between(&[traced(figures("a", 1.0, 9, 1)), traced(figures("b", 1.0, 9, 1))], &|| tighter).text
        };
        let tighter = Tighter { footprint_bytes: 3 << 20, capacity_bytes: 4 << 20, ratio: 0.9 };
        let line = of_a_trace(1, Some(tighter));
        let advice = "collection moved next to nothing: the trace touches 3 MiB of 16 MiB of flash; --capacity 4MiB --ratio 0.9 \
                      --loops 4 leaves less room;";
        assert!(line.contains(advice), "{line}");
        assert!(
            of_a_trace(1, None).contains(": --loops 9 counts a drive that has settled;"),
            "{}",
            of_a_trace(1, None)
        );
        assert!(of_a_trace(9, None).contains(": a trace that overwrites more would"), "{}", of_a_trace(9, None));
    }
}
