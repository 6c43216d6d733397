//! µ-Trees: any order of operations against a `BTreeMap`, and pages that hold something else than the tree has written
//! (their checksums would fit), which are an error or a wrong answer, but no panic and no endless loop.
//!
//! Not tested: power cuts, which crates/ftl/tests/it/mu_tree.rs has.
#![no_main]

use std::collections::BTreeMap;

use libfuzzer_sys::fuzz_target;
use phelsuma_ftl::mu_tree::{Layout, MuTree, PageStore, TreeError};

struct Memory {
    pages: Vec<Vec<u8>>,
}

impl PageStore for Memory {
    type Error = ();

    fn read(&mut self, at: u32, out: &mut [u8]) -> bool {
        let Some(bytes) = self.pages.get(at as usize) else { return false };
        out.copy_from_slice(bytes);
        true
    }

    fn append(&mut self, _: u32, bytes: &[u8], _: bool) -> Result<u32, ()> {
        self.pages.push(bytes.to_vec());
        Ok(self.pages.len() as u32 - 1)
    }

    fn release(&mut self, _: u32) {}
}

fuzz_target!(|data: &[u8]| {
    let [page, reads, writes, rest @ ..] = data else { return };
    let bytes = 88 + usize::from(page % 60) * 8;
    let (reads, writes) = (usize::from(reads % 5), usize::from(writes % 5));
    let mut store = Memory { pages: Vec::new() };
    let layout = if page & 128 == 0 { Layout::new(bytes) } else { Layout::wide(bytes) }.expect("large enough");
    let of_record = (1 << layout.record_bits()) - 1;
    let mut tree = MuTree::on(layout, reads, writes);
    let mut model = BTreeMap::new();
    let mut sound = true;
    for step in rest.chunks_exact(4) {
        let (key, record) = (u32::from(step[1]) << 4 | u32::from(step[2]) & 15, u64::from(step[3]) << (page % 33));
        let answer = match step[0] % 8 {
            0 | 1 => tree.remove(&mut store, key).map(|old| old == model.remove(&key)),
            2 => tree.floor(&mut store, key).map(|found| found == model.range(..=key).next_back().map(|(k, v)| (*k, *v))),
            3 => tree.ceiling(&mut store, key).map(|found| found == model.range(key..).next().map(|(k, v)| (*k, *v))),
            4 => tree.flush(&mut store).map(|()| true),
            6 => {
                let (keys, mut found) = (key..key + u32::from(step[3]), Vec::new());
                let shown = tree.for_each(&mut store, keys.clone(), |entry| found.push(entry));
                shown.map(|()| found.into_iter().eq(model.range(keys).map(|(k, v)| (*k, *v))))
            }
            5 if step[0] > 200 && !store.pages.is_empty() => {
                // A byte of some page is another from now on.
                sound = false;
                let at = key as usize % store.pages.len();
                let byte = (usize::from(step[3]) << 4 | usize::from(step[2])) % bytes;
                store.pages[at][byte] ^= step[1] | 1;
                Ok(true)
            }
            _ => match tree.insert(&mut store, key, record & of_record) {
                Ok(old) => Ok(old == model.insert(key, record & of_record)),
                Err(TreeError::TooMany) => Ok(!sound || model.len() as u64 >= tree.layout().capacity()),
                Err(error) => Err(error),
            },
        };
        if sound {
            assert_eq!(answer, Ok(true), "{step:?}");
        }
    }
    let walk = tree.walk(&mut store, 100_000);
    if sound {
        let walk = walk.expect("it can be read");
        assert_eq!((walk.entries, walk.fault), (model.len() as u64, None));
    }
});
