//! Whether a drive keeps a block log (`blocks/block_log`), as it can be set.

use crate::spec::values;

values! { BlockLogPart "Whether GeckoRec keeps a block log." {
    Auto "auto" "On drives of 65,536 blocks and more, unless wear levelling or a policy needs every block's first spare area \
        at a mount."
    On "on" "On any drive."
    Off "off" "On none."
} }
