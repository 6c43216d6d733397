//! A drive in memory: simulated flash that holds bytes, has a plug, and is gone with the process.

use super::open::beyond_its_bound;
use super::plug::{Cut, Flash, Plug, power_fails};
use super::{Open, OpenError, Opened};
use phelsuma_drive::{does_not_fit, show_bytes};
use phelsuma_ftl::{Config, FtlError, format, recover};
use phelsuma_nand::sim::SimConfig;
use phelsuma_nand::{
    Block, Content, EraseError, FlashStats, Geometry, Nand, Op, Page, PageRead, ProgramError, SimNand, Spare,
    SpareRead, Time, Timing,
};

/// Simulated flash with a plug.
pub struct MemoryFlash {
    sim: SimNand,
    operations: u64,
    cut: Option<Cut>,
    off: bool,
    /// The operations before the power came on.
    earlier: FlashStats,
}

impl MemoryFlash {
    /// This flash, with the power on.
    pub fn new(sim: SimNand) -> Self {
        let earlier = *sim.stats();
        Self { sim, operations: 0, cut: None, off: false, earlier }
    }

    /// The power comes back: cells that only seemed to hold have let go, and no cut is planned.
    pub fn power_on(&mut self) {
        self.sim.power_cycle();
        (self.operations, self.cut, self.off) = (0, None, false);
        self.earlier = *self.sim.stats();
    }

    /// The chips.
    pub fn sim(&mut self) -> &mut SimNand {
        &mut self.sim
    }

    /// A chip without power does nothing.
    #[inline]
    fn powered(&self) {
        if self.off {
            power_fails();
        }
    }

    /// An operation begins. The cut that it meets, if there is one.
    #[inline]
    fn begin(&mut self) -> Option<Cut> {
        self.powered();
        let met = self.cut.filter(|cut| cut.operation == self.operations);
        self.operations += 1;
        self.off = met.is_some();
        met
    }
}

impl Nand for MemoryFlash {
    #[inline]
    fn geometry(&self) -> &Geometry {
        self.sim.geometry()
    }

    #[inline]
    fn read(&mut self, page: Page, op: Op) -> (PageRead<'_>, Time) {
        self.powered();
        self.sim.read(page, op)
    }

    #[inline]
    fn read_spare(&mut self, page: Page, op: Op) -> (SpareRead, Time) {
        self.powered();
        self.sim.read_spare(page, op)
    }

    fn program(&mut self, page: Page, content: Content<'_>, spare: &Spare, op: Op) -> Result<Time, ProgramError> {
        if let Some(cut) = self.begin() {
            // An operation that the chip refuses changes nothing, and no caller is left for its error.
            let _ = self.sim.cut_program(page, content, spare, cut.program, cut.seed);
            power_fails();
        }
        self.sim.program(page, content, spare, op)
    }

    fn erase(&mut self, block: Block, op: Op) -> Result<Time, EraseError> {
        if let Some(cut) = self.begin() {
            let _ = self.sim.cut_erase(block, cut.erase, cut.seed);
            power_fails();
        }
        self.sim.erase(block, op)
    }

    fn is_bad(&self, block: Block) -> bool {
        self.sim.is_bad(block)
    }

    fn warm(&self, pages: &[Page]) {
        self.sim.warm(pages);
    }

    fn mark_bad(&mut self, block: Block) {
        self.powered();
        self.sim.mark_bad(block);
    }
}

impl Plug for MemoryFlash {
    fn operations(&self) -> u64 {
        self.operations
    }

    fn arm(&mut self, cut: Option<Cut>) {
        self.cut = cut;
    }

    fn switch_off(&mut self) {
        self.off = true;
    }

    fn is_off(&self) -> bool {
        self.off
    }
}

impl Flash for MemoryFlash {
    fn stats(&self) -> FlashStats {
        self.sim.stats().since(&self.earlier)
    }

    fn erases_of(&self, block: Block) -> u32 {
        if block.0 < self.geometry().blocks() { self.sim.erases_of(block) } else { 0 }
    }
}

/// The configuration of a drive in memory.
#[derive(Clone, Debug)]
pub struct MemoryDrive {
    /// The flash's shape.
    pub geometry: Geometry,
    /// How long its operations take.
    pub timing: Timing,
    /// The FTL.
    pub config: Config,
}

impl MemoryDrive {
    fn opened(
        &self,
        flash: MemoryFlash,
        ftl: Box<dyn phelsuma_ftl::Ftl<MemoryFlash>>,
        ready: Time,
    ) -> Opened<MemoryFlash> {
        let bytes = |pages: u64| show_bytes(pages * u64::from(self.geometry.page_bytes()));
        let about = format!(
            "{}, {} on {} of flash in memory: its data are lost when the server ends",
            self.config.name,
            bytes(self.config.logical_pages.into()),
            bytes(self.geometry.pages())
        );
        let name = self.config.name.clone();
        Opened { flash, ftl, name, battery: self.config.composition.has_battery(), ready, about }
    }
}

fn failed(error: FtlError) -> OpenError {
    OpenError::Failed(error.to_string())
}

impl Open for MemoryDrive {
    type Flash = MemoryFlash;

    /// Formats it.
    fn open(&self) -> Result<Opened<MemoryFlash>, OpenError> {
        let mut flash = MemoryFlash::new(SimNand::new(&SimConfig::new(self.geometry, self.timing)));
        let (ftl, ready) = format(&mut flash, &self.config, Time::ZERO).map_err(|error| match error {
            FtlError::DoesNotFit { .. } => OpenError::Input(does_not_fit(&self.geometry, &self.config, &error)),
            FtlError::Unsupported(why) => OpenError::Input(why.to_string()),
            error => failed(error),
        })?;
        Ok(self.opened(flash, ftl, ready))
    }

    fn power_on(&self, mut flash: MemoryFlash) -> Result<Opened<MemoryFlash>, OpenError> {
        flash.power_on();
        let (ftl, report) = recover(&mut flash, &self.config, Time::ZERO).map_err(failed)?;
        let opened = self.opened(flash, ftl, report.done);
        Ok(Opened { about: opened.about + beyond_its_bound(&report), ..opened })
    }
}
