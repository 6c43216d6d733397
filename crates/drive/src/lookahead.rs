//! A few requests of a workload drawn ahead of their turn, so that the machine fetches what they need together.
//!
//! On a large drive a random write waits for memory two or three times, one wait after the other. The waits of sixteen
//! requests can overlap if their loads are begun together. The FTL is shown the pages through
//! [`Ftl::warm`](phelsuma_ftl::Ftl::warm), which cannot change it: nothing that it does depends on what comes next.

use crate::drive::Drive;
use phelsuma_nand::LogicalPage;
use phelsuma_trace::{PageRequest, Source, TraceError};

/// How many requests are drawn at a time.
const AHEAD: usize = 16;

/// An endless source, a few requests at a time.
pub(crate) struct Lookahead<'a> {
    source: &'a mut dyn Source,
    drawn: Vec<PageRequest>,
    /// The next of these.
    at: usize,
    pages: Vec<LogicalPage>,
}

impl<'a> Lookahead<'a> {
    pub(crate) fn new(source: &'a mut dyn Source) -> Self {
        Self { source, drawn: Vec::with_capacity(AHEAD), at: 0, pages: Vec::with_capacity(AHEAD) }
    }

    /// The next request; None where the source has ended.
    #[inline]
    pub(crate) fn next(&mut self, drive: &Drive) -> Result<Option<&PageRequest>, TraceError> {
        if self.at == self.drawn.len() {
            self.draw(drive)?;
        }
        self.at += 1;
        Ok(self.drawn.get(self.at - 1))
    }

    #[inline(never)]
    fn draw(&mut self, drive: &Drive) -> Result<(), TraceError> {
        self.pages.clear();
        self.drawn.clear();
        self.at = 0;
        while self.drawn.len() < AHEAD {
            let Some(request) = self.source.next_request()? else { break };
            self.pages.push(LogicalPage(u32::try_from(request.first).unwrap_or(u32::MAX)));
            self.drawn.push(request);
        }
        drive.ftl().warm(drive.nand(), &self.pages);
        Ok(())
    }
}
