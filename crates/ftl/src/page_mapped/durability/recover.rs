//! Mounting a drive by the scheme that it survives power cuts with.
//!
//! | scheme | mapping | validity |
//! | --- | --- | --- |
//! | `scan` | table in RAM | bitmap in RAM |
//! | `scan` | µ-Tree, written anew | bitmap in RAM, or bitmap cache |
//! | `battery` | demand-paged | bitmap in RAM or in flash |
//! | `gecko-rec` | demand-paged | Logarithmic Gecko |
//! | `synchronize` | demand-paged | bitmap in RAM, or page validity log |
//! | `fast` | demand-paged | bitmap in RAM |

use super::common::Described;
use super::synchronize::{LiveByLog, LiveByTable};
use super::{battery, fast, gecko_rec, scan, synchronize};
use crate::config::{MappingPart, PowerPart, ValidityPart};
use crate::medium::{Steps, anchor};
use crate::page_mapped::parts::{PageConfig, PageMapped};
use crate::page_mapped::shape::{recovery_bound, shape_of};
use crate::page_mapped::validity::{BitmapCache, FlashBitmap, RamBitmap};
use crate::{FtlError, RecoveryReport};
use phelsuma_nand::{Nand, Time};

const NO_RECOVERY: FtlError = FtlError::Unsupported("there is no recovery for an FTL of these parts");

/// Mounts the drive that is on `nand`.
///
/// # Errors
/// It is none of this configuration, or what the flash refuses.
pub(crate) fn recover<N: Nand>(
    nand: &mut N,
    config: &PageConfig,
    at: Time,
) -> Result<(PageMapped, RecoveryReport), FtlError> {
    if !config.composition.survives_power_cuts() {
        return Err(NO_RECOVERY);
    }
    let geometry = *nand.geometry();
    let mut steps = Steps::new(at);
    let anchors = anchor::find_as_step(nand, config, &mut steps)?;
    let shape = shape_of(&geometry, config)?;
    let (mut ftl, mut report) = by_scheme(Described { nand, config, shape, anchors, steps })?;
    report.bound = recovery_bound(&geometry, config)?;
    if ftl.collecting.sampling.is_some() {
        // Until here all blocks were counted.
        report.scratch_bytes += u64::from(geometry.blocks()) * 2;
        ftl.keep_sample(None);
    }
    Ok((ftl, report))
}

fn by_scheme<N: Nand>(described: Described<'_, N>) -> Result<(PageMapped, RecoveryReport), FtlError> {
    let parts = &described.config.composition;
    match (parts.power, parts.mapping, parts.validity) {
        (PowerPart::Scan, MappingPart::MuTree { .. }, ValidityPart::MuTree { .. }) => {
            scan::recover_tree::<BitmapCache, N>(described)
        }
        (PowerPart::Scan, MappingPart::MuTree { .. }, _) => scan::recover_tree::<RamBitmap, N>(described),
        (PowerPart::Scan, ..) => scan::recover(described),
        (PowerPart::Battery, _, ValidityPart::FlashBitmap) => battery::recover::<FlashBitmap, N>(described),
        (PowerPart::Battery, ..) => battery::recover::<RamBitmap, N>(described),
        (PowerPart::GeckoRec { .. }, ..) => gecko_rec::recover(described),
        (PowerPart::Synchronize, _, ValidityPart::PageValidityLog) => synchronize::recover::<LiveByLog, N>(described),
        (PowerPart::Synchronize, ..) => synchronize::recover::<LiveByTable, N>(described),
        (PowerPart::Fast, ..) => fast::recover(described),
        (PowerPart::Nothing, ..) => Err(NO_RECOVERY),
    }
}
