//! The hints that an oracle gets with each write: the class of the page, or when it dies.
//!
//! No real host has either. Here it follows from the whole input, which is gone through once before the run.
//!
//! - **Classes** come from the workload's own definition. The pages of a trace, and of a workload of files, are ranked
//!   by how often it writes them.
//! - **Deaths** are exact: the run's writes, fill and warm-up included, are gone through in order. For each write four
//!   bytes hold how many more follow until its page is written again or discarded. A workload would go on after the
//!   run, so it is examined for [`BEYOND`] logical capacities more. A page that is not written by then, or by the end
//!   of a trace, stays. More than [`WRITES_MAX`] writes are not examined.

use crate::config::{Input, RunConfig, RunError, input_error};
use crate::requests::{fill_requests, open_trace, workload_targets};
use crate::told::{Lifetimes, Told};
use phelsuma_ftl::Knowledge;
use phelsuma_trace::{Op, PageRequest, Source};

/// The most pages written in a run whose future is known: 1 GiB of lifetimes.
const WRITES_MAX: usize = 1 << 28;

/// Logical capacities that a workload is known for after the end of a run.
const BEYOND: u64 = 8;

/// Goes through the future.
struct Foresight {
    lifetimes: Lifetimes,
    /// By logical page: the number of its last write, from 1 on, if it holds data.
    last: Vec<u32>,
}

impl Foresight {
    fn new(logical_pages: u32) -> Self {
        Self { lifetimes: Lifetimes::default(), last: vec![0; logical_pages as usize] }
    }

    /// The page is written for the `number`-th time that a page is, or discarded before that.
    fn dies(&mut self, page: u64, number: u32) {
        let last = self.last.get_mut(page as usize).map(std::mem::take).unwrap_or(0);
        if last > 0
            && let Some(lifetime) = self.lifetimes.of_writes.get_mut(last as usize - 1)
        {
            *lifetime = number - last;
        }
    }

    fn see(&mut self, request: &PageRequest) -> Result<(), RunError> {
        let pages = request.first..request.first + u64::from(request.pages);
        match request.op {
            Op::Read | Op::Flush => {}
            Op::Trim => {
                let next = self.lifetimes.of_writes.len() as u32 + 1;
                pages.for_each(|page| self.dies(page, next));
            }
            Op::Write => {
                for page in pages {
                    if self.lifetimes.of_writes.len() == WRITES_MAX {
                        return Err(RunError::Input(format!(
                            "the run writes more than {WRITES_MAX} pages, of which an oracle cannot be told; a smaller \
                             drive or fewer passes would be right"
                        )));
                    }
                    let number = self.lifetimes.of_writes.len() as u32 + 1;
                    self.dies(page, number);
                    self.lifetimes.of_writes.push(0);
                    if let Some(last) = self.last.get_mut(page as usize) {
                        *last = number;
                    }
                }
            }
        }
        Ok(())
    }
}

/// Shows `see` every request that a run will make.
fn foresee(
    config: &RunConfig,
    logical_pages: u32,
    mut see: impl FnMut(&PageRequest) -> Result<(), RunError>,
) -> Result<(), RunError> {
    fill_requests(config, logical_pages, &mut see)?;
    match &config.input {
        Input::Workload(workload) => {
            let mut source = workload.source(u64::from(logical_pages), config.shape.page_bytes, config.seed);
            let [warmup, passes] = workload_targets(config, workload, logical_pages)?;
            for target in [warmup, passes, BEYOND * u64::from(logical_pages)] {
                let (mut written, mut others) = (0, 0);
                while written < target && (written > 0 || others < target) {
                    let Some(request) = source.next_request().map_err(input_error)? else { break };
                    match request.op {
                        Op::Write => written += u64::from(request.pages),
                        Op::Read | Op::Trim => others += u64::from(request.pages),
                        Op::Flush => {}
                    }
                    see(&request)?;
                }
            }
        }
        Input::Trace { trace, fold, loops } => {
            let mut source = open_trace(config, trace, *fold, *loops, logical_pages)?;
            while let Some(request) = source.next_request().map_err(input_error)? {
                see(&request)?;
            }
        }
    }
    Ok(())
}

/// The hints that the run's FTL needs; nothing if it is no oracle.
///
/// # Errors
/// [`RunError::Input`]: the input cannot be read, or is too long.
pub(crate) fn learn(config: &RunConfig, logical_pages: u32) -> Result<Option<Told>, RunError> {
    let Some(knowledge) = config.composition.knowledge() else { return Ok(None) };
    Ok(Some(match (knowledge, &config.input) {
        (Knowledge::Classes(classes), input) => {
            let defined = match input {
                Input::Workload(workload) => workload.classes(logical_pages.into(), classes, config.seed),
                Input::Trace { .. } => Ok(None),
            };
            let defined = defined.map_err(|error| RunError::Input(error.to_string()))?;
            Told::Classes(match defined {
                Some(classes) => classes,
                None => classes_by_writes(&writes(config, logical_pages)?, classes),
            })
        }
        (Knowledge::Deaths, _) => {
            let mut foresight = Foresight::new(logical_pages);
            foresee(config, logical_pages, |request| foresight.see(request))?;
            Told::Deaths(foresight.lifetimes)
        }
    }))
}

/// How often a run writes each logical page, its fill among that.
fn writes(config: &RunConfig, logical_pages: u32) -> Result<Vec<u32>, RunError> {
    let mut writes = vec![0u32; logical_pages as usize];
    foresee(config, logical_pages, |request| {
        if request.op == Op::Write {
            for page in request.first..request.first + u64::from(request.pages) {
                writes.get_mut(page as usize).into_iter().for_each(|writes| *writes = writes.saturating_add(1));
            }
        }
        Ok(())
    })?;
    Ok(writes)
}

/// The classes of pages that are written so often.
fn classes_by_writes(writes: &[u32], classes: u8) -> Vec<u8> {
    let mut by_rank: Vec<u32> = (0..writes.len() as u32).collect();
    by_rank.sort_by_key(|page| (std::cmp::Reverse(writes[*page as usize]), *page));
    let mut of_pages = vec![0; writes.len()];
    for (rank, page) in by_rank.iter().enumerate() {
        of_pages[*page as usize] = phelsuma_trace::workload::class_of_rank(rank as u64, writes.len() as u64, classes);
    }
    of_pages
}

#[cfg(test)]
mod tests {
    use super::*;
    use phelsuma_ftl::Hint;

    fn request(op: Op, first: u64, pages: u32) -> PageRequest {
        PageRequest { at_ns: 0, op, first, pages, partial_first: false, partial_last: false, handle: 0 }
    }

    #[test]
    fn a_page_lives_until_it_is_written_or_discarded() {
        let mut foresight = Foresight::new(8);
        let requests = [
            request(Op::Write, 0, 3),
            request(Op::Read, 0, 3),
            request(Op::Write, 1, 1),
            request(Op::Trim, 0, 2),
            request(Op::Flush, 0, 0),
            request(Op::Write, 2, 1),
            request(Op::Write, 0, 1),
        ];
        requests.iter().for_each(|request| foresight.see(request).unwrap());
        // 0 dies with the trim, when the fifth page is next; 1 with its second write; 2 with its own, the fifth.
        assert_eq!(foresight.lifetimes.of_writes, [4, 2, 2, 1, 0, 0]);
        let mut told = Told::Deaths(foresight.lifetimes);
        let hints: Vec<Hint> = [0, 1, 2, 1, 2, 0].iter().map(|page| told.next(*page)).collect();
        let death = Hint::Death;
        assert_eq!(hints, [death(4), death(2), death(2), death(1), Hint::NEVER, Hint::NEVER]);
    }

    #[test]
    fn pages_of_a_trace_are_ranked_by_how_often_it_writes_them() {
        assert_eq!(classes_by_writes(&[0, 9, 1, 1, 7, 0, 0, 0], 3), [2, 0, 1, 1, 0, 2, 2, 2]);
    }
}
