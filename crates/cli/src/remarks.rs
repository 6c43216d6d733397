//! What a reader of a result should know before comparing it with others.

use crate::table::count;
use phelsuma_drive::RunResult;

/// Requests of the trace that the drive never saw.
pub(crate) fn dropped(result: &RunResult) -> Option<String> {
    let host = &result.host;
    let (small, outside) = (host.dropped_trims_without_whole_page, host.dropped_trims_outside_footprint);
    let mut why = Vec::new();
    if small > 0 {
        why.push(format!("{} that trim no whole page", count(small)));
    }
    if outside > 0 {
        why.push(format!("{} that trim only pages never read or written", count(outside)));
    }
    (!why.is_empty())
        .then(|| format!("dropped of {} requests of the trace: {}", count(host.trace_requests), why.join(", ")))
}

/// Of a drive so small that reserve and open blocks take more than a quarter of its spare space.
pub(crate) fn small_drive(result: &RunResult) -> Option<String> {
    let g = &result.geometry;
    let taken = 1.0 - (1.0 - g.effective_ratio) / (1.0 - g.ratio);
    (taken > 0.25).then(|| {
        format!(
            "small drive: reserve and open blocks take {:.0} % of the spare space, so compare with larger drives and limits \
             at the effective ratio ({:.4}), not at {:.4}",
            taken * 100.0,
            g.effective_ratio,
            g.ratio
        )
    })
}
