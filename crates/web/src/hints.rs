//! What the host says with its writes: placement handles, and to an oracle what no host knows.

use crate::settings::{Host, Settings};
use phelsuma_drive::lab::Request;
use phelsuma_ftl::{Config, Hint, Knowledge};
use phelsuma_trace::{Op, Source};
use std::collections::VecDeque;

/// An oracle sees so many logical capacities of writes ahead.
const AHEAD: u64 = 8;

/// Requests that are read for one hint at the most. A host that does not write in so many writes no more: its pages stay.
const READ_MAX: u64 = 1 << 20;

/// Hints for requests in their order.
pub(crate) enum Hints {
    /// Handles, where the host has some.
    Handles,
    /// By logical page.
    Classes(Vec<u8>),
    /// When pages die.
    Deaths(Box<Future>),
}

impl Hints {
    pub(crate) fn of(config: &Config, settings: &Settings, host: &Host, is_filled: bool) -> Result<Self, String> {
        let logical_pages = u64::from(config.logical_pages);
        let of = |source| Self::Deaths(Box::new(Future::new(source, config.logical_pages, is_filled)));
        let Some(knowledge) = config.composition.knowledge() else { return Ok(Self::Handles) };
        match (knowledge, host) {
            (_, Host::Lab(_)) => Ok(Self::Handles),
            (Knowledge::Classes(_), Host::Trace(_)) => {
                Err("a trace has no classes of pages that an oracle could be told".into())
            }
            (Knowledge::Classes(classes), Host::Run(workload)) => {
                let of_pages = workload.classes(logical_pages, classes, settings.seed);
                let of_pages = of_pages.map_err(|error| error.to_string())?;
                Ok(Self::Classes(
                    of_pages.ok_or(format!("{workload} has no classes of pages that an oracle could be told"))?,
                ))
            }
            (Knowledge::Deaths, Host::Run(workload)) => {
                Ok(of(workload.source(logical_pages, settings.page_bytes, settings.seed)))
            }
            (Knowledge::Deaths, Host::Trace(trace)) => {
                Ok(of(Box::new(trace.source(config.logical_pages, settings.page_bytes)?)))
            }
        }
    }

    /// Whether each page has its own: then it is written in a request of its own.
    pub(crate) fn is_of_pages(&self) -> bool {
        !matches!(self, Self::Handles)
    }

    /// The hint for this request's first page.
    pub(crate) fn next(&mut self, request: &Request, handle: u8) -> Hint {
        let Request::Write { first, .. } = *request else { return Hint::None };
        match self {
            Self::Handles if handle == 0 => Hint::None,
            Self::Handles => Hint::Handle(handle),
            Self::Classes(classes) => classes.get(first as usize).map_or(Hint::None, |class| Hint::Class(*class)),
            Self::Deaths(future) => future.next(),
        }
    }
}

/// The workload's writes to come.
pub(crate) struct Future {
    source: Box<dyn Source + Send>,
    logical_pages: u64,
    /// The page of each write to come, and how many writes later it is written again, as far as that is known.
    to_come: VecDeque<u64>,
    /// By page: the number of its last write that is known.
    last: Vec<u64>,
    /// Writes of which `to_come` has none any more.
    gone: u64,
    /// Whether no write comes any more.
    is_over: bool,
}

impl Future {
    fn new(source: Box<dyn Source + Send>, logical_pages: u32, is_filled: bool) -> Self {
        let last = vec![u64::MAX; logical_pages as usize];
        let (logical_pages, to_come) = (u64::from(logical_pages), VecDeque::new());
        let mut made = Self { source, logical_pages, to_come, last, gone: 0, is_over: false };
        if !is_filled {
            (0..made.logical_pages).for_each(|page| made.see(page));
        }
        made
    }

    /// `page` is written next, behind all that is known.
    fn see(&mut self, page: u64) {
        let number = self.gone + self.to_come.len() as u64;
        if let Some(last) = self.last.get_mut(page as usize) {
            let before = std::mem::replace(last, number);
            let known = before.checked_sub(self.gone).and_then(|at| self.to_come.get_mut(at as usize));
            known.into_iter().for_each(|lifetime| *lifetime = number - before);
        }
        self.to_come.push_back(0);
    }

    /// Reads on until enough is known, and no further than [`READ_MAX`]; whether that makes sense once more.
    fn read_ahead(&mut self) -> bool {
        let enough = AHEAD * self.logical_pages;
        let mut has_written = self.to_come.len() as u64 >= enough;
        for _ in 0..READ_MAX {
            if self.to_come.len() as u64 >= enough {
                break;
            }
            let Ok(Some(request)) = self.source.next_request() else { return false };
            if request.op == Op::Write {
                (request.first..request.first + u64::from(request.pages)).for_each(|page| self.see(page));
                has_written = true;
            }
        }
        has_written
    }

    /// The hint of the next write.
    fn next(&mut self) -> Hint {
        if !self.is_over {
            self.is_over = !self.read_ahead();
        }
        self.gone += 1;
        match self.to_come.pop_front() {
            None | Some(0) => Hint::NEVER,
            Some(lifetime) => Hint::Death(lifetime),
        }
    }
}
