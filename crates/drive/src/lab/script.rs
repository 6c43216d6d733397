//! The script of a crash experiment: the host's actions, drawn from a seed before it begins.

use super::draw::Draw;
use super::workload::Workload;
use std::fmt;

/// One request of the host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Request {
    /// Pages written, each with a tag of its own.
    Write {
        /// First logical page.
        first: u32,
        /// How many.
        pages: u32,
    },
    /// Pages discarded.
    Trim {
        /// First logical page.
        first: u32,
        /// How many.
        pages: u32,
    },
    /// Pages read, and compared with what was written there.
    Read {
        /// First logical page.
        first: u32,
        /// How many.
        pages: u32,
    },
    /// Everything made durable.
    Flush,
    /// The power off once everything is done, and on again; announced where there is a battery. The recovery from it is
    /// part of the script: operations in it are counted, and cut, as all others.
    Cut,
    /// The drive closed cleanly. It stays in use, or the power is [cut](Self::Cut) next.
    Close,
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, first, pages) = match self {
            Self::Write { first, pages } => ("write", first, pages),
            Self::Trim { first, pages } => ("trim", first, pages),
            Self::Read { first, pages } => ("read", first, pages),
            Self::Flush => return f.write_str("flush"),
            Self::Cut => return f.write_str("power off and on"),
            Self::Close => return f.write_str("close"),
        };
        match pages {
            1 => write!(f, "{what} {first}"),
            pages => write!(f, "{what} {first} to {}", first + pages - 1),
        }
    }
}

/// The drive and the workload that a script is drawn for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) workload: Workload,
    pub(crate) physical_pages: u64,
    pub(crate) logical_pages: u32,
    /// Entries of the FTL's cache; some small number where it has none.
    pub(crate) cache_entries: u32,
    /// Write requests of the workload.
    pub(crate) writes: u32,
    pub(crate) seed: u64,
}

/// The host's actions in an experiment.
pub(crate) struct Script {
    pub(crate) requests: Vec<Request>,
    /// So many requests come before the workload.
    pub(crate) preconditioning: usize,
}

impl Script {
    /// A workload on a drive that is preconditioned, the same way for every workload: filled in runs, and then written
    /// like the workload `mixed` until as many pages have been written as the flash has. So collection is at work from
    /// the workload's first request on.
    pub(crate) fn new(plan: &Plan) -> Self {
        const RUN: u32 = 8;
        let logical_pages = plan.logical_pages;
        let mut requests: Vec<Request> = (0..logical_pages)
            .step_by(RUN as usize)
            .map(|first| Request::Write { first, pages: RUN.min(logical_pages - first) })
            .collect();
        let mut draw = Draw::new(logical_pages, plan.seed ^ 0x5c21);
        let mut pages_written = u64::from(logical_pages);
        while pages_written < plan.physical_pages {
            let request = draw.mixed(true);
            if let Request::Write { pages, .. } = request {
                pages_written += u64::from(pages);
            }
            requests.push(request);
        }
        let preconditioning = requests.len();
        draw.workload(plan, &mut requests);
        Self { requests, preconditioning }
    }

    /// Whether the workload's request `number` is the first of one of so many equal parts.
    pub(crate) fn begins_part(&self, number: usize, parts: u32) -> bool {
        let all = (self.requests.len() - self.preconditioning) as u64;
        let part_of = |n: usize| (n as u64 * u64::from(parts)).div_ceil(all.max(1));
        number.checked_sub(self.preconditioning).is_some_and(|n| part_of(n) < part_of(n + 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script(workload: Workload, writes: u32) -> Script {
        let plan = Plan { workload, physical_pages: 1000, logical_pages: 600, cache_entries: 64, writes, seed: 1 };
        Script::new(&plan)
    }

    /// Write requests, and pages that they write.
    fn written(requests: &[Request]) -> (u32, u32) {
        let pages = |r: &Request| if let Request::Write { pages, .. } = r { Some(*pages) } else { None };
        let each: Vec<u32> = requests.iter().filter_map(pages).collect();
        (each.len() as u32, each.iter().sum())
    }

    fn count(requests: &[Request], of: impl Fn(&Request) -> bool) -> usize {
        requests.iter().filter(|r| of(r)).count()
    }

    #[test]
    fn the_drive_is_full_before_the_workload_begins_and_a_longer_workload_begins_with_the_shorter_one() {
        for workload in Workload::ALL {
            let (short, long) = (script(workload, 30), script(workload, 300));
            assert_eq!(short.preconditioning, long.preconditioning);
            assert_eq!(short.requests, long.requests[..short.requests.len()], "{workload:?}");
            assert!(written(&short.requests[..short.preconditioning]).1 >= 1000);
            assert_eq!(written(&short.requests[short.preconditioning..]).0, 30, "{workload:?}");
        }
    }

    #[test]
    fn every_request_lies_on_the_drive() {
        for workload in Workload::ALL {
            for request in script(workload, 2_000).requests {
                if let Request::Write { first, pages }
                | Request::Trim { first, pages }
                | Request::Read { first, pages } = request
                {
                    assert!(pages > 0 && first + pages <= 600, "{workload:?}: {request:?}");
                }
            }
        }
    }

    /// Stored ids count the operations of these requests.
    #[test]
    fn the_requests_of_mixed_stay_what_they_were() {
        let mut hash = 0xcbf2_9ce4_8422_2325u64;
        for request in script(Workload::Mixed, 1_500).requests {
            for byte in format!("{request:?}").bytes() {
                hash = (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
            }
        }
        assert_eq!(hash, 0x4b58_7351_c44a_1005);
    }

    #[test]
    fn reads_restarts_and_closes_ask_what_mixed_asks_and_more() {
        let mixed = script(Workload::Mixed, 400);
        for (workload, least) in [(Workload::Reads, 800), (Workload::Restarts, 40), (Workload::Closes, 60)] {
            let script = script(workload, 400);
            let more = |r: &Request| matches!(r, Request::Read { .. } | Request::Cut | Request::Close);
            let others: Vec<Request> = script.requests.iter().filter(|r| !more(r)).copied().collect();
            assert_eq!(others, mixed.requests, "{workload:?}");
            assert!(count(&script.requests, more) > least, "{workload:?}");
            assert_eq!(count(&script.requests[..script.preconditioning], more), 0);
        }
    }

    #[test]
    fn cuts_are_closer_together_than_the_cache_has_entries_and_some_follow_each_other_at_once() {
        let script = script(Workload::Restarts, 400);
        let parts: Vec<u32> = script.requests[script.preconditioning..]
            .split(|r| *r == Request::Cut)
            .map(|part| written(part).1)
            .collect();
        assert!(parts.iter().all(|pages| *pages < 64), "{parts:?}");
        assert!(parts.contains(&0), "{parts:?}");
    }

    #[test]
    fn hot_writes_fewer_pages_than_the_cache_has_entries_and_seldom_others() {
        let script = script(Workload::Hot, 2_000);
        let mut counts = vec![0u32; 600];
        for request in &script.requests[script.preconditioning..] {
            if let Request::Write { first, pages } = *request {
                (first..first + pages).for_each(|page| counts[page as usize] += 1);
            }
        }
        counts.sort_unstable_by(|a, b| b.cmp(a));
        let hot: u32 = counts[..16].iter().sum();
        assert!((1_800..1_990).contains(&hot), "{hot}");
    }

    #[test]
    fn most_of_what_trims_trims_is_written_and_trimmed_again_without_a_flush() {
        let script = script(Workload::Trims, 400);
        let requests = &script.requests[script.preconditioning..];
        let trims = count(requests, |r| matches!(r, Request::Trim { .. }));
        assert!(trims > 150, "{trims}");
        assert!(count(requests, |r| *r == Request::Flush) < 12);
        let mut trimmed = [false; 600];
        let (mut again, mut all) = (0, 0);
        for request in requests {
            match *request {
                Request::Trim { first, pages } => (first..first + pages).for_each(|p| trimmed[p as usize] = true),
                Request::Write { first, pages } => {
                    for page in first..first + pages {
                        all += 1;
                        again += u32::from(std::mem::take(&mut trimmed[page as usize]));
                    }
                }
                _ => {}
            }
        }
        assert!(2 * again > all, "{again} of {all} pages written were trimmed before");
    }

    #[test]
    fn slow_goes_on_where_it_was() {
        let script = script(Workload::Slow, 400);
        let requests = &script.requests[script.preconditioning..];
        let mut next = None;
        let mut goes_on = 0;
        for request in requests {
            let Request::Write { first, pages } = *request else { continue };
            goes_on += u32::from(next.is_none_or(|n| n == first));
            if pages > 1 || next == Some(first) {
                next = Some(if first + pages == 600 { 0 } else { first + pages });
            }
        }
        assert!(goes_on > 300, "{goes_on}");
    }

    #[test]
    fn the_workload_alone_is_divided_into_parts() {
        let script = script(Workload::Mixed, 100);
        let begins =
            |parts| -> Vec<usize> { (0..script.requests.len()).filter(|n| script.begins_part(*n, parts)).collect() };
        assert!(begins(0).is_empty());
        let four = begins(4);
        assert_eq!(four.len(), 4);
        assert!(four[0] >= script.preconditioning);
    }
}
