//! The power fails with notice, where a drive has a battery: the FTL's programs stay within its budget.

use super::cut_nand::CutNand;
use super::failure::{Checked, FailureKind, failure};
use phelsuma_ftl::Ftl;
use phelsuma_nand::Time;

/// The programs that the battery pays for: the FTL is of no use afterwards but for a recovery.
pub(crate) fn save(ftl: &mut dyn Ftl<CutNand>, nand: &mut CutNand, at: Time) -> Checked<()> {
    let before = nand.sim.stats().total().programs;
    if let Err(error) = ftl.power_fail(nand, at) {
        return failure(FailureKind::Lost, format!("the battery cannot save everything: {error}"));
    }
    let programs = nand.sim.stats().total().programs - before;
    let budget = u64::from(ftl.shape().battery_programs);
    if programs > budget {
        return failure(FailureKind::Lost, format!("the battery pays for {budget} programs, and {programs} were done"));
    }
    Ok(())
}
