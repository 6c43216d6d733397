//! Why the winner of a comparison wins, in one line computed from the results.

use crate::remarks;
use phelsuma_drive::RunResult;
use phelsuma_options::{count, size};

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
    write_mean: f64,
    /// As papers count it.
    ram_bytes: u64,
    /// By how much the second half of the counted part exceeds the first; none where that cannot be told.
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
/// The halves of a steady run differ by less: so far apart two of them can be by chance.
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
            write_mean: result.latency_us.write.map_or(0.0, |l| l.mean),
            ram_bytes: result.ram_bytes.papers.get("total").copied().unwrap_or(0),
            drift: result.drift,
            longer: longer(result),
        })
    }

    /// Whether this one, which is behind, may yet be ahead of `winner`: it is close, or it still comes closer. What drives
    /// both alike, as a trace does whose halves differ, does not bring one closer to the other.
    fn may_turn(&self, winner: &Self) -> bool {
        let (Some(own), Some(winners)) = (self.drift, winner.drift) else { return true };
        let closer = -((1.0 + own) / (1.0 + winners) - 1.0);
        let still_to_go = if closer < STEADY { 0.0 } else { STILL_TO_GO * closer };
        self.total / winner.total - 1.0 <= 2.0 * STEADY + still_to_go
    }

    fn live_per_victim(&self) -> Option<f64> {
        (self.collections > 0 && self.merges.is_none()).then(|| self.moved_pages as f64 / self.collections as f64)
    }
}

/// One line on results that are sorted by write amplification. An oracle wins nothing.
pub(crate) fn of(all: &[RunResult]) -> String {
    let results: Vec<&RunResult> = all.iter().filter(|result| !result.oracle).collect();
    match (&results[..], all.len()) {
        ([], _) => return "Only oracles, and an oracle wins nothing.".into(),
        ([only], 1) => return format!("{} alone: nothing to compare it with.", only.ftl),
        ([only], _) => return format!("{} alone: nothing to compare it with but oracles.", only.ftl),
        _ => {}
    }
    if results.iter().any(|r| r.host.write_pages == 0) {
        return without_writes(&results);
    }
    let figures: Vec<Figures<'_>> = results.into_iter().filter_map(Figures::of).collect();
    between(&figures)
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

fn between(figures: &[Figures<'_>]) -> String {
    let [winner, runner_up, ..] = figures else { return "Nothing to compare.".to_string() };
    if three_digits(winner.total) == three_digits(runner_up.total) {
        return tie(figures, winner);
    }
    let percent = (1.0 - winner.total / runner_up.total) * 100.0;
    let open = open(figures, winner);
    format!(
        "{} {}: {:.3} programs per host page against {:.3} of {} ({percent:.1} % fewer), {}.{}{}",
        winner.name,
        if open.is_empty() { "wins" } else { "leads" },
        winner.total,
        runner_up.total,
        runner_up.name,
        cause(winner, runner_up),
        ram(figures, winner),
        open
    )
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
    } else if all_steady {
        format!("so small a difference can be chance; raise {}", longer.counted)
    } else {
        let drifts = drifts.join(", ");
        format!(
            "write amplification still changes from one half of the run to the other ({drifts}); raise {}",
            longer.before
        )
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
            format!("because {what} moved {less:.3} pages per host page instead of {more:.3}{victims}{merges}")
        }
        _ => "by programs that neither collection nor metadata explains".to_string(),
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

/// The first few are equal in write amplification.
fn tie(figures: &[Figures<'_>], winner: &Figures<'_>) -> String {
    let level = three_digits(winner.total);
    let mut tied: Vec<&Figures<'_>> = figures.iter().filter(|f| three_digits(f.total) == level).collect();
    let names: Vec<&str> = tied.iter().map(|f| f.name).collect();
    let mut line = format!("Tie at write amplification {:.3}: {}", winner.total, names.join(", "));
    if tied.iter().any(|f| f.moved_pages > 0) && tied.iter().all(|f| f.moved < NEXT_TO_NOTHING) {
        line += "; collection moved next to nothing: a higher --ratio or a smaller --capacity would tell them apart";
    }
    if tied.iter().all(|f| f.collections == 0 && f.moved_pages == 0) {
        line += "; nothing was collected";
        // What overwrites the flash twice is collected.
        let times = (2 * winner.capacity_pages).div_ceil(winner.written_pages.max(1));
        if times > 100 {
            line += ": next to nothing was written to a drive of this size";
        } else if times > 1 {
            line += &format!(": {times} times as many writes ({}) would tell them apart", winner.longer.counted);
        }
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

/// Whether two measurements differ by more than half a percent.
fn differ(a: f64, b: f64) -> bool {
    (a - b).abs() > 0.005 * a.abs().max(b.abs())
}

/// Three significant digits.
fn three_digits(x: f64) -> String {
    match x.abs() {
        a if a >= 99.95 => format!("{x:.0}"),
        a if a >= 9.995 => format!("{x:.1}"),
        _ => format!("{x:.2}"),
    }
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
            write_mean: 1000.0,
            ram_bytes: 4096,
            drift: Some(0.0),
            longer: Longer { before: "--warmup", counted: "--passes" },
        }
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
        assert_eq!(line, "Tie at write amplification 1.501: a, b; no difference in erases or write latency either.");
        let fewer = Figures { erases: 80.0, ..figures("b", 1.502, 502, 50) };
        let line = between(&[figures("a", 1.501, 500, 50), fewer]);
        assert!(line.ends_with("erases: 80.0 with b against 100 with a."), "{line}");
        let line = between(&[figures("a", 1.0, 0, 0), figures("b", 1.0, 0, 0)]);
        assert!(line.contains("; nothing was collected: 9 times as many writes (--passes) would tell"), "{line}");
    }
}
