//! The decay of written pages, long after and without any power cut.

use super::SimNand;
use super::odd::OddPage;
use crate::{Content, Nand, Op, Page, PageRead, Purpose, Spare, Time};

/// The decay of a page, past what the chip's ECC mends.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Decay {
    /// The page, data and spare area, reads as uncorrectable.
    Uncorrectable,
    /// A bit of the spare area flips (its number is taken modulo how many there are); the data stay.
    Spare(u32),
    /// A bit of the data flips (its number is taken modulo how many there are), and ECC is content: only our CRC can
    /// show it.
    Data(u64),
}

impl SimNand {
    /// A page that is written decays. One that is blank, or that reads as nothing any more, stays as it is.
    pub fn decay(&mut self, page: Page, decay: Decay) {
        let (content, spare) = match self.read(page, Op::new(Time::ZERO, Purpose::Recovery)).0 {
            PageRead::Written { content, spare, .. } => (content, spare),
            PageRead::Erased | PageRead::Unreadable => return,
        };
        let decayed = match (decay, content) {
            (Decay::Uncorrectable, _) => OddPage::Unreadable,
            (Decay::Spare(bit), content) => {
                let mut bytes = [0; Spare::BYTES];
                let decoded = spare.encode(&mut bytes).and_then(|()| {
                    bytes[(bit / 8) as usize % Spare::BYTES] ^= 1 << (bit % 8);
                    Spare::decode(&bytes)
                });
                OddPage::written(content, decoded.ok())
            }
            (Decay::Data(bit), Content::Hollow(tag)) => {
                OddPage::written(Content::Hollow(tag ^ 1 << (bit % 64)), Some(spare))
            }
            (Decay::Data(bit), Content::Bytes(bytes)) => {
                let mut bytes = bytes.to_vec();
                let at = (bit / 8 % bytes.len() as u64) as usize;
                bytes[at] ^= 1 << (bit % 8);
                OddPage::written(Content::Bytes(&bytes), Some(spare))
            }
        };
        self.put_odd(page, decayed);
    }
}
