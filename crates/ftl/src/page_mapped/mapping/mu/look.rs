//! The extents of a tree, for an onlooker (µ-FTL figures 11 and 12).

use super::MuMapping;
use crate::ExtentLook;
use crate::mu_tree::{MuTree, PageStore};
use crate::page_mapped::mapping::Place;
use alloc::vec::Vec;
use phelsuma_nand::{Content, Kind, LogicalPage, Nand, Op, Page, Purpose, Time};

/// Reads pages of the tree, and writes none.
struct Onlooker<'a, N>(&'a mut N);

impl<N: Nand> PageStore for Onlooker<'_, N> {
    type Error = ();

    fn read(&mut self, at: u32, out: &mut [u8]) -> bool {
        match self.0.read(Page(at), Op::new(Time::ZERO, Purpose::Translation)).0.verified() {
            Some((Content::Bytes(bytes), spare)) if spare.kind == Kind::Tree && bytes.len() == out.len() => {
                out.copy_from_slice(bytes);
                true
            }
            _ => false,
        }
    }

    fn append(&mut self, _key: u32, _bytes: &[u8], _is_root: bool) -> Result<u32, Self::Error> {
        Err(())
    }

    fn release(&mut self, _at: u32) {}
}

impl MuMapping {
    /// The extents in the tree that name pages, in the order of these, up to where it cannot be read. Extents that are
    /// not in the tree yet are not among them.
    pub(crate) fn look<N: Nand>(&self, nand: &mut N, tree: &MuTree) -> Vec<ExtentLook> {
        let (mut tree, mut store) = (tree.clone(), Onlooker(nand));
        let mut looks = Vec::new();
        // What can be read is shown.
        let _ = tree.for_each(&mut store, 0..self.logical_pages, |entry| {
            if let Some(extent) = self.records.extent(entry).filter(|extent| matches!(extent.place, Place::At(_))) {
                looks.push(ExtentLook { first: LogicalPage(extent.first), pages: extent.pages });
            }
        });
        looks
    }
}
