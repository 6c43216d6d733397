//! The host's requests, one after the other: the fill, then a workload.

use crate::hints::Hints;
use crate::settings::{Host, Settings};
use phelsuma_drive::lab::{Request, script};
use phelsuma_ftl::{Config, Hint};
use phelsuma_nand::Geometry;
use phelsuma_trace::{Op, PageRequest, Source};

/// Write requests of a script of the laboratory's to begin with; twice as many each time that they do not suffice.
const WRITES: u32 = 4096;

/// Write requests of a script at the most: all of it is in memory. It ends there.
const WRITES_MAX: u32 = if cfg!(test) { 1 << 14 } else { 1 << 20 };

/// Pages of a request of the fill, as runs have it. An oracle is told of each page.
const FILL: u32 = 64;

enum From {
    Workload(Box<dyn Source + Send>),
    Script { requests: Vec<Request>, writes: u32, name: phelsuma_drive::lab::Workload },
}

/// Requests, from the first one on.
pub(crate) struct Requests {
    settings: Settings,
    config: Config,
    geometry: Geometry,
    from: From,
    /// Requests of the fill.
    fill: u64,
    fill_pages: u32,
    taken: u64,
    hints: Hints,
}

impl Requests {
    /// Those of `workload` on this drive; with the fill before them, or without.
    pub(crate) fn new(
        settings: &Settings,
        config: &Config,
        geometry: &Geometry,
        workload: &str,
        is_filled: bool,
    ) -> Result<Self, String> {
        let logical_pages = config.logical_pages;
        let host = settings.host(workload)?;
        let hints = Hints::of(config, settings, &host, is_filled)?;
        let fill_pages = if hints.is_of_pages() { 1 } else { FILL };
        let of = |source| {
            let fill = if is_filled { 0 } else { logical_pages.div_ceil(fill_pages).into() };
            (From::Workload(source), fill)
        };
        let (from, fill) = match &host {
            Host::Run(workload) => of(workload.source(logical_pages.into(), settings.page_bytes, settings.seed)),
            Host::Trace(trace) => of(Box::new(trace.source(logical_pages, settings.page_bytes)?)),
            Host::Lab(name) => {
                let (requests, before) = script(*name, geometry, config, WRITES, settings.seed);
                let from = From::Script { requests, writes: WRITES, name: *name };
                (from, if is_filled { 0 } else { before as u64 })
            }
        };
        let (settings, config) = (settings.clone(), config.clone());
        let mut made = Self { settings, config, geometry: *geometry, from, fill, fill_pages, taken: 0, hints };
        if let (Host::Lab(_), true) = (&host, is_filled) {
            made.skip_preconditioning();
        }
        Ok(made)
    }

    fn skip_preconditioning(&mut self) {
        let From::Script { requests, name, .. } = &mut self.from else { return };
        let (_, before) = script(*name, &self.geometry, &self.config, 1, self.settings.seed);
        requests.drain(..before.min(requests.len()));
    }

    /// How many of them fill the drive.
    pub(crate) fn fill(&self) -> u64 {
        self.fill
    }

    /// How many were taken.
    pub(crate) fn taken(&self) -> u64 {
        self.taken
    }

    /// Why no more come, once none does.
    pub(crate) fn why_ended(&self) -> String {
        match &self.from {
            From::Workload(_) => "The trace is at its end.".into(),
            From::Script { name, .. } => format!(
                "lab:{} is at its end: the page draws {WRITES_MAX} writes of such a workload, and no more.",
                name.name()
            ),
        }
    }

    /// Passes over so many.
    pub(crate) fn pass_over(&mut self, requests: u64) -> Result<(), String> {
        for _ in 0..requests {
            self.next()?;
        }
        Ok(())
    }

    /// The next one, and what the host says with it; none at the end of a workload that has one.
    pub(crate) fn next(&mut self) -> Result<Option<(Request, Option<Hint>)>, String> {
        let nth = self.taken;
        let next = match &mut self.from {
            From::Workload(_) if nth < self.fill => {
                let first = nth as u32 * self.fill_pages;
                let pages = self.fill_pages.min(self.config.logical_pages - first);
                Some((Request::Write { first, pages }, 0))
            }
            From::Workload(source) => source
                .next_request()
                .map_err(|error| error.to_string())?
                .map(|request| (as_asked(&request), request.handle)),
            From::Script { requests, writes, name } => {
                if nth as usize >= requests.len() {
                    if *writes >= WRITES_MAX {
                        return Ok(None);
                    }
                    *writes *= 2;
                    let (longer, before) = script(*name, &self.geometry, &self.config, *writes, self.settings.seed);
                    *requests = longer;
                    if self.fill == 0 {
                        requests.drain(..before);
                    }
                }
                self.taken += 1;
                return Ok(requests.get(nth as usize).map(|request| (*request, None)));
            }
        };
        self.taken += 1;
        Ok(next.map(|(request, handle)| {
            let hint = self.hints.next(&request, handle);
            (request, Some(hint))
        }))
    }
}

/// Pages that are written in part are written: the page shows what flash does, and reading them first does little of it.
fn as_asked(request: &PageRequest) -> Request {
    let (first, pages) = (request.first as u32, request.pages);
    match request.op {
        Op::Write => Request::Write { first, pages },
        Op::Read => Request::Read { first, pages },
        Op::Trim => Request::Trim { first, pages },
        Op::Flush => Request::Flush,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_of_the_laboratory_grows_to_its_limit_and_ends() {
        let settings = Settings { workload: "lab:mixed".into(), blocks: 64, ..Settings::default() };
        let geometry = settings.geometry().unwrap();
        let config = settings.config(&geometry).unwrap();
        for is_filled in [false, true] {
            let mut requests = Requests::new(&settings, &config, &geometry, &settings.workload, is_filled).unwrap();
            let mut writes = 0;
            while let Some((request, _)) = requests.next().unwrap() {
                let is_of_workload = requests.taken() > requests.fill();
                writes += u32::from(is_of_workload && matches!(request, Request::Write { .. }));
            }
            assert_eq!(writes, WRITES_MAX);
            assert_eq!(requests.next(), Ok(None));
            assert!(requests.why_ended().starts_with("lab:mixed is at its end"));
        }
    }
}
