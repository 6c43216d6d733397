//! The FTL for microcontrollers as any other FTL.

use crate::chip::{ChipOn, repeated};
use phelsuma_ftl::{
    Counter, Disagreement, Finding, Ftl, FtlError, HostData, HostPage, RamLedger, ReadSink, RecoveryReport,
    RecoveryStep, Shape, Step, WriteRequest,
};
use phelsuma_mcu::{Config, Drive, Error, MetaPlace, Parts};
use phelsuma_nand::{Content, LogicalPage, Nand, Purpose, Time};

/// A drive with memory of its own.
#[derive(Clone)]
pub struct FtlOn<P: Parts> {
    drive: Drive<P, Vec<u8>>,
    config: Config,
    /// A host page.
    page: Vec<u8>,
}

fn memory<P: Parts>(config: &Config) -> Result<Vec<u8>, FtlError> {
    Ok(vec![0; config.memory_bytes::<P>().map_err(|error| refused(Error::Config(error), 0))?])
}

/// The error in the words of all FTLs.
fn refused(error: Error, bad_blocks: u32) -> FtlError {
    match error {
        Error::Full => FtlError::Full { bad_blocks },
        Error::NotFormatted => FtlError::Blank,
        Error::OtherDrive => FtlError::Lost,
        Error::Config(_) => FtlError::Unsupported("this configuration does not fit this chip"),
        _ => FtlError::Unsupported("a request that the drive does not take"),
    }
}

impl<P: Parts> FtlOn<P> {
    /// Makes a blank drive; the moment it is ready.
    ///
    /// # Errors
    /// The configuration cannot be, or too many blocks are bad.
    pub fn format<N: Nand>(nand: &mut N, config: &Config, at: Time) -> Result<(Self, Time), FtlError> {
        let mut chip = ChipOn::new(nand, config.chip.meta, Purpose::Format, at);
        let drive = Drive::format(&mut chip, config, memory::<P>(config)?).map_err(|error| refused(error, 0))?;
        let page = vec![0; config.chip.data_bytes() as usize];
        let at = chip.at;
        Ok((Self { drive, config: *config, page }, at))
    }

    /// Mounts the drive that is on the flash.
    ///
    /// # Errors
    /// There is none of this configuration.
    pub fn mount<N: Nand>(nand: &mut N, config: &Config, at: Time) -> Result<(Self, RecoveryReport), FtlError> {
        let mut chip = ChipOn::new(nand, config.chip.meta, Purpose::Recovery, at);
        let drive = Drive::mount(&mut chip, config, memory::<P>(config)?).map_err(|error| refused(error, 0))?;
        let [reads, spare_reads, programs] = chip.counts;
        let nanos = chip.at.0.saturating_sub(at.0);
        let steps = vec![RecoveryStep { name: "mount", reads, spare_reads, programs, nanos }];
        let report = RecoveryReport { steps, done: chip.at, ..RecoveryReport::default() };
        let page = vec![0; config.chip.data_bytes() as usize];
        Ok((Self { drive, config: *config, page }, report))
    }

    fn bad_blocks(&self) -> u32 {
        self.drive.info().bad_blocks
    }

    fn check_range(&self, first: LogicalPage, pages: u32) -> Result<(), FtlError> {
        let logical_pages = self.config.logical_pages;
        let end = u64::from(first.0) + u64::from(pages);
        if end > u64::from(logical_pages) {
            return Err(FtlError::OutOfRange { first: first.0.into(), last: end - 1, logical_pages });
        }
        Ok(())
    }
}

impl<P: Parts + Send + 'static, N: Nand> Ftl<N> for FtlOn<P> {
    fn shape(&self) -> Shape {
        Shape {
            logical_pages: self.config.logical_pages,
            reserve_blocks: 0,
            open_blocks: 3,
            log_blocks: 0,
            fixed_blocks: 0,
            metadata_blocks: 0,
            unidentified_blocks: 0,
            metadata_programs_per_collection: 0,
            battery_programs: 0,
        }
    }

    fn write(&mut self, nand: &mut N, request: &WriteRequest<'_>, at: Time) -> Result<Time, FtlError> {
        self.check_range(request.first, request.pages)?;
        let bytes = self.page.len();
        if let HostData::Bytes(given) = request.data
            && given.len() != request.pages as usize * bytes
        {
            let page_bytes = bytes as u32;
            return Err(FtlError::Length { given: given.len(), pages: request.pages, page_bytes });
        }
        let mut chip = ChipOn::new(nand, self.config.chip.meta, Purpose::Host, at);
        for index in 0..request.pages {
            let content = match request.data {
                HostData::Hollow(tag) => Content::Hollow(tag),
                HostData::Numbered(first) => Content::Hollow(first.wrapping_add(index.into())),
                HostData::Bytes(given) => Content::Bytes(&given[index as usize * bytes..][..bytes]),
            };
            content.copy_to(&mut self.page);
            let written = self.drive.write(&mut chip, request.first.0 + index, &self.page);
            written.map_err(|error| refused(error, self.drive.info().bad_blocks))?;
        }
        Ok(chip.at)
    }

    fn read(
        &mut self,
        nand: &mut N,
        first: LogicalPage,
        pages: u32,
        cause: Purpose,
        at: Time,
        sink: &mut dyn ReadSink,
    ) -> Result<Time, FtlError> {
        self.check_range(first, pages)?;
        let mut chip = ChipOn::new(nand, self.config.chip.meta, cause, at);
        for page in first.0..first.0 + pages {
            let is_mapped = self.drive.is_mapped(&mut chip, page);
            let read = self.drive.read(&mut chip, page, &mut self.page);
            let data = match (is_mapped, read) {
                (Ok(false), _) => HostPage::Zeros,
                (_, Ok(())) => HostPage::Data(repeated(&self.page).map_or(Content::Bytes(&self.page), Content::Hollow)),
                (_, Err(Error::Unreadable)) => HostPage::Unreadable,
                (_, Err(error)) => return Err(refused(error, self.bad_blocks())),
            };
            sink.page(LogicalPage(page), data);
        }
        Ok(chip.at)
    }

    fn trim(&mut self, nand: &mut N, first: LogicalPage, pages: u32, at: Time) -> Result<Time, FtlError> {
        self.check_range(first, pages)?;
        let mut chip = ChipOn::new(nand, self.config.chip.meta, Purpose::Host, at);
        self.drive.trim(&mut chip, first.0, pages).map_err(|error| refused(error, self.drive.info().bad_blocks))?;
        Ok(chip.at)
    }

    fn flush(&mut self, nand: &mut N, at: Time) -> Result<Time, FtlError> {
        let mut chip = ChipOn::new(nand, self.config.chip.meta, Purpose::Host, at);
        self.drive.sync(&mut chip).map_err(|error| refused(error, self.drive.info().bad_blocks))?;
        Ok(chip.at)
    }

    fn background_step(&mut self, nand: &mut N, at: Time) -> Result<Step, FtlError> {
        let mut chip = ChipOn::new(nand, self.config.chip.meta, Purpose::Gc, at);
        let more = self.drive.maintain(&mut chip, 1).map_err(|error| refused(error, self.drive.info().bad_blocks))?;
        Ok(if more { Step::Did(chip.at) } else { Step::Nothing })
    }

    fn copy(&self) -> Box<dyn Ftl<N>> {
        Box::new(self.clone())
    }

    fn ram(&self) -> RamLedger {
        let mut ledger = RamLedger::default();
        ledger.structure("memory", self.drive.info().memory_bytes as u64);
        ledger
    }

    fn counters(&self) -> Vec<Counter> {
        let tally = self.drive.info().tally;
        [
            ("pages_moved", tally.moved),
            ("translation_pages", tally.translation),
            ("gecko_pages", tally.gecko),
            ("checkpoint_pages", tally.checkpoint),
            ("failures", tally.failures),
        ]
        .into_iter()
        .map(|(name, value)| Counter::sum(name, value))
        .collect()
    }

    fn check(&mut self, nand: &mut N) -> Vec<Finding> {
        // It reads translation pages through the page buffer, which the drive itself may go on with.
        let mut copy = self.drive.clone();
        let mut chip = ChipOn::new(nand, self.config.chip.meta, Purpose::Recovery, Time::ZERO);
        let blocks = self.config.chip.blocks as usize;
        copy.check(&mut chip, &mut vec![0; blocks], &mut vec![0; blocks])
            .err()
            .map(|wrong| Finding { about: Disagreement::LiveCount, line: format!("{wrong:?}") })
            .into_iter()
            .collect()
    }
}

/// Where the metadata stand, in a word.
pub(crate) fn word(meta: MetaPlace) -> &'static str {
    match meta {
        MetaPlace::Spare => "spare",
        MetaPlace::InPage => "in-page",
    }
}
