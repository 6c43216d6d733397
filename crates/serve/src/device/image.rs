//! A drive in an image file: [`ImageNand`] with a hand at its plug, and what opens as one.

use super::open::beyond_its_bound;
use super::plug::{Cut, Flash, Plug, power_fails};
use super::{Open, OpenError, Opened};
use crate::image::{
    AnyStorage, BATTERY_SAVED_NOTHING, Durability, FaultPlan, ImageError, ImageFile, ImageNand, LastStop,
};
use phelsuma_drive::show_bytes;
use phelsuma_ftl::{Composition, recover};
use phelsuma_nand::{
    Block, Content, EraseError, FlashStats, Geometry, Nand, Op, Page, PageRead, ProgramError, Spare, SpareRead, Time,
};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

/// The flash of an image. Cuts are fault plans of the image. Where [`ImageNand`] refuses, this unwinds: so an FTL does
/// no more once the image is off.
pub struct ImageFlash {
    nand: ImageNand,
}

impl ImageFlash {
    /// The flash of this image, which is open.
    pub fn new(nand: ImageNand) -> Self {
        Self { nand }
    }

    /// The image.
    pub fn image(&self) -> &ImageNand {
        &self.nand
    }

    /// The image, as it was left.
    pub fn into_image(self) -> ImageNand {
        self.nand
    }

    /// A chip without power does nothing.
    #[inline]
    fn powered(&self) {
        if self.nand.is_off() {
            power_fails();
        }
    }

    fn result(&self) -> io::Result<()> {
        match self.nand.failure() {
            Some(ImageError::Io { source, .. }) => {
                Err(source.raw_os_error().map_or_else(|| source.kind().into(), io::Error::from_raw_os_error))
            }
            Some(error) => Err(io::Error::other(error.to_string())),
            None => Ok(()),
        }
    }
}

impl Nand for ImageFlash {
    #[inline]
    fn geometry(&self) -> &Geometry {
        self.nand.geometry()
    }

    fn read(&mut self, page: Page, op: Op) -> (PageRead<'_>, Time) {
        self.powered();
        self.nand.read(page, op)
    }

    fn read_spare(&mut self, page: Page, op: Op) -> (SpareRead, Time) {
        self.powered();
        self.nand.read_spare(page, op)
    }

    fn program(&mut self, page: Page, content: Content<'_>, spare: &Spare, op: Op) -> Result<Time, ProgramError> {
        self.powered();
        let done = self.nand.program(page, content, spare, op);
        self.powered();
        done
    }

    fn erase(&mut self, block: Block, op: Op) -> Result<Time, EraseError> {
        self.powered();
        let done = self.nand.erase(block, op);
        self.powered();
        done
    }

    fn is_bad(&self, block: Block) -> bool {
        self.nand.is_bad(block)
    }

    fn warm(&self, pages: &[Page]) {
        self.nand.warm(pages);
    }

    fn mark_bad(&mut self, block: Block) {
        self.powered();
        self.nand.mark_bad(block);
        self.powered();
    }
}

impl Plug for ImageFlash {
    fn operations(&self) -> u64 {
        self.nand.operations()
    }

    fn arm(&mut self, cut: Option<Cut>) {
        let plan = |Cut { operation, program, erase, seed }| FaultPlan { after: operation, program, erase, seed };
        self.nand.set_fault_plan(cut.map(plan));
    }

    fn switch_off(&mut self) {
        self.nand.pull_plug();
    }

    fn is_off(&self) -> bool {
        self.nand.is_off()
    }
}

impl Flash for ImageFlash {
    fn sync(&mut self) -> io::Result<()> {
        let _ = self.nand.sync();
        self.result()
    }

    fn close(&mut self) -> io::Result<()> {
        self.nand.finish();
        self.result()
    }

    fn stats(&self) -> FlashStats {
        *self.nand.stats()
    }

    fn erases_of(&self, block: Block) -> u32 {
        self.nand.erases_of(block)
    }

    fn failure(&self) -> Option<String> {
        self.nand.failure().map(ToString::to_string)
    }
}

/// A drive in an image file.
#[derive(Clone, Debug)]
pub struct ImageDrive {
    /// The file.
    pub path: PathBuf,
    /// The failures that a flushed write survives.
    pub durability: Durability,
}

impl ImageDrive {
    /// Whether a drive put together like this can be kept in a file at all. A server may be killed at any time, and a
    /// drive that cannot mount after that is none.
    ///
    /// # Errors
    /// [`OpenError::Input`]: it survives no power cut, or is an oracle.
    pub fn may_be(ftl: &str, composition: &Composition) -> Result<(), OpenError> {
        if let Some(why) = composition.why_oracle() {
            return Err(OpenError::Input(format!("{ftl} cannot be kept in an image: {why}")));
        }
        composition.why_not_survivable().map_or(Ok(()), |why| {
            Err(OpenError::Input(format!("{ftl} does not survive power cuts, so it cannot be kept in an image: {why}")))
        })
    }

    /// An error that only the server's operator gets, with the image's path.
    fn named(&self, error: &dyn std::fmt::Display) -> String {
        format!("{}: {error}", self.path.display())
    }

    /// Opens the image and has the FTL recover. One that was closed cleanly and one that was not are the same to
    /// the FTL; to the image the first is less work.
    fn open_on(&self, file: AnyStorage) -> Result<Opened<ImageFlash>, OpenError> {
        let wrong = |error: ImageError| match &error {
            // The file is there: the machine fails to do its work.
            ImageError::Io { .. } => OpenError::Failed(self.named(&error)),
            _ => OpenError::Input(self.named(&error)),
        };
        let (_, config) = ImageNand::describe_on(&file).map_err(wrong)?;
        Self::may_be(&config.name, &config.composition)?;
        let nand = ImageNand::open_on(file, self.durability).map_err(wrong)?;
        let mut flash = ImageFlash::new(nand);
        // A file that cannot be written unwinds out of the FTL. So does a panic of it, which must not get to the
        // server.
        let recovered = catch_unwind(AssertUnwindSafe(|| recover(&mut flash, &config, Time::ZERO)));
        let failed = |what: &dyn std::fmt::Display| Err(OpenError::Failed(self.named(what)));
        match (recovered, flash.failure()) {
            (_, Some(failure)) => failed(&failure),
            (Ok(Ok((ftl, report))), None) => {
                let battery = config.composition.has_battery();
                let name = config.name.clone();
                let stop = LastStop::of(flash.image(), &report);
                let about = self.about(flash.image(), stop) + beyond_its_bound(&report);
                Ok(Opened { flash, ftl, name, battery, ready: report.done, about })
            }
            (Ok(Err(error)), None) => failed(&format_args!("{} does not mount: {error}", config.name)),
            (Err(_), None) => {
                failed(&format_args!("{} does not mount: the FTL panicked, which is a bug in it", config.name))
            }
        }
    }

    fn about(&self, nand: &ImageNand, stop: LastStop) -> String {
        let config = nand.config();
        let host = u64::from(config.logical_pages) * u64::from(nand.geometry().page_bytes());
        let end = match stop {
            LastStop::InGoodOrder => "was closed cleanly".to_string(),
            LastStop::Unclean(back) => format!("recovered after a power cut or a kill ({back})"),
            LastStop::Saved(back) => format!("recovered after a power cut, with what its battery saved ({back})"),
            LastStop::Unsaved(back) => format!("{BATTERY_SAVED_NOTHING} ({back})"),
        };
        format!(
            "{}, {} on {} of flash in {}: {end}",
            config.name,
            show_bytes(host),
            show_bytes(nand.geometry().capacity_bytes()),
            shown(&self.path)
        )
    }
}

/// The name alone: the line is to be read.
fn shown(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

impl Open for ImageDrive {
    type Flash = ImageFlash;

    fn open(&self) -> Result<Opened<ImageFlash>, OpenError> {
        let file = ImageFile::open(&self.path).map_err(|error| OpenError::Input(self.named(&error)))?;
        self.open_on(Box::new(file))
    }

    /// The state of the file in RAM is gone. The file stays locked, so that no other process takes it meanwhile.
    fn power_on(&self, flash: ImageFlash) -> Result<Opened<ImageFlash>, OpenError> {
        self.open_on(flash.into_image().into_storage())
    }
}
