//! One FTL, one input.

use crate::drive_args::DriveArgs;
use crate::failure::Outcome;
use phelsuma_drive::RunConfig;
use phelsuma_nand::Geometry;

/// Options of a run.
#[derive(clap::Args)]
pub struct RunArgs {
    /// The FTL (see `phelsuma list`)
    #[arg(long, value_name = "NAME")]
    ftl: String,
    /// Everything else.
    #[command(flatten)]
    pub drive: DriveArgs,
}

impl RunArgs {
    /// The run that is asked for, and the drive it needs.
    ///
    /// # Errors
    /// An FTL, a drive or an input that cannot be.
    pub fn config(&self) -> Outcome<(RunConfig, Geometry)> {
        let mut configs = [self.drive.config(&self.ftl)?];
        let geometry = self.drive.settle(&mut configs)?;
        let [config] = configs;
        Ok((config, geometry))
    }
}
