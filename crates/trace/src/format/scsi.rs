//! SCSI operation codes, as block requests.

use crate::request::Op;

/// The operation of a SCSI command; `None` for one that is none of ours.
pub(crate) fn op_of(command: u16) -> Option<Op> {
    match command {
        // READ(6), (10), (12), (16)
        0x08 | 0x28 | 0xa8 | 0x88 => Some(Op::Read),
        // WRITE(6), (10), (12), (16)
        0x0a | 0x2a | 0xaa | 0x8a => Some(Op::Write),
        // SYNCHRONIZE CACHE(10), (16)
        0x35 | 0x91 => Some(Op::Flush),
        _ => None,
    }
}
