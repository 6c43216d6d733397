//! The cache held against a map of what must be in it.

use super::*;
use alloc::collections::{BTreeMap, BTreeSet};

fn draws(seed: u32) -> impl FnMut(u32) -> u32 {
    let mut state = u64::from(seed) << 1 | 1;
    move |below| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 33) % u64::from(below)) as u32
    }
}

/// The cache, and what it must hold besides clean entries. Its dirty entries become clean by translation pages, or all
/// together.
fn held_against_a_map(capacity: u32, keys: u32, entries_per_page: u32, (evict, together): (Evict, bool)) {
    let mut cache = MappingCache::new(capacity, 2, keys.div_ceil(entries_per_page), entries_per_page);
    cache.evict(evict);
    if together {
        cache.clean_together(capacity / 2);
    }
    let mut dirty: BTreeMap<u32, u32> = BTreeMap::new();
    let mut draw = draws(capacity);
    for value in 0..6 * capacity.max(2_000) {
        let key = draw(keys);
        let slot = cache.find(key).unwrap_or_else(|| {
            let goes = cache.place_for(key);
            if cache.is_dirty(goes) && together {
                cache.sorted_dirty();
                let of_cache = cache.dirty().iter().map(|slot| (cache.key(*slot), cache.value(*slot)));
                assert!(of_cache.eq(core::mem::take(&mut dirty)), "those that are dirty, by key");
                cache.clean_all();
                assert!((0..keys.div_ceil(entries_per_page)).all(|part| !cache.has_dirty(part)));
                assert!(cache.dirty().is_empty() && !cache.is_dirty(cache.place_for(key)));
            } else if cache.is_dirty(goes) {
                let part = cache.key(goes) / entries_per_page;
                let of_part: BTreeSet<u32> = cache.dirty_of(part).map(|slot| cache.key(slot)).collect();
                let first = part * entries_per_page;
                let wanted: BTreeSet<u32> = dirty.range(first..first + entries_per_page).map(|(key, _)| *key).collect();
                assert_eq!(of_part, wanted);
                assert_eq!(cache.clean(part) as usize, wanted.len());
                dirty.retain(|key, _| !wanted.contains(key));
                assert!(!cache.has_dirty(part) && !cache.is_dirty(cache.place_for(key)));
            }
            cache.insert(key, value)
        });
        cache.touch(slot);
        if draw(3) > 0 {
            cache.set_dirty(slot, value);
            dirty.insert(key, value);
        }
        assert!(cache.len() <= capacity);
        assert_eq!(cache.dirty_count() as usize, dirty.len());
    }
    for (key, value) in dirty {
        assert!(cache.find(key).is_some_and(|slot| cache.is_dirty(slot) && cache.value(slot) == value));
    }
}

#[test]
fn no_dirty_entry_is_lost_and_a_translation_page_finds_its_own() {
    for evict in [Evict::Lru, Evict::CleanFirst, Evict::Fullest] {
        for (capacity, keys, entries_per_page) in [(1, 9, 4), (5, 90, 8), (17, 300, 8), (100, 4_000, 16)] {
            held_against_a_map(capacity, keys, entries_per_page, (evict, false));
            held_against_a_map(capacity, keys, entries_per_page, (evict, true));
        }
    }
}

#[test]
fn links_reach_every_place_of_a_large_cache() {
    held_against_a_map(70_000, 400_000, 1_024, (Evict::CleanFirst, false));
    held_against_a_map(70_000, 400_000, 1_024, (Evict::CleanFirst, true));
}

#[test]
fn every_place_is_visited_in_turn() {
    for capacity in [1, 15, 16, 17, 40, 1_433] {
        let cache = MappingCache::new(capacity, 0, 8, 1_024);
        let mut seen = BTreeSet::new();
        let mut at = Slot::FIRST;
        while seen.insert(at.0) {
            at = cache.after(at);
        }
        assert_eq!((seen.len(), at), (capacity as usize, Slot::FIRST));
    }
}

#[test]
fn what_a_recovery_finds_has_room_and_what_is_too_much_leaves() {
    let (capacity, spare) = (20, 3);
    let mut cache = MappingCache::new(capacity, spare, 30, 8);
    let before = cache.sets.len();
    cache.clean_together(capacity);
    (0..capacity + spare).for_each(|key| cache.insert_found(7 * key, key));
    assert!(cache.has_no_room());
    let mut copy = cache.clone();
    assert_eq!(cache.sorted_dirty().len() as u32, capacity + spare);
    cache.clean_all();
    while cache.last_surplus().is_some() {
        cache.remove_surplus();
    }
    assert!((0..30).all(|part| !cache.has_dirty(part)) && !cache.has_unsure() && cache.len() <= capacity);
    copy.together = None;
    for key in 0..capacity + spare {
        let slot = copy.find(7 * key).unwrap();
        assert!(copy.is_unsure(slot) && copy.dirty_of(7 * key / 8).any(|other| other == slot));
    }
    while let Some(slot) = copy.last_surplus() {
        let part = copy.key(slot) / 8;
        let of_part: Vec<Slot> = copy.dirty_of(part).collect();
        of_part.into_iter().for_each(|slot| copy.made_sure(slot));
        copy.clean(part);
        copy.remove_surplus();
    }
    assert!(copy.len() <= capacity && copy.sets.len() == before && copy.sets.capacity() == before);
}

#[test]
fn an_entry_takes_twelve_bytes_at_the_most() {
    for (capacity, translation_pages) in [(1_024, 700), (1_433, 1_433), (524_288, 400_000)] {
        let mut ledger = RamLedger::default();
        MappingCache::new(capacity, 32, translation_pages, 1_024).ram(&mut ledger);
        assert!(ledger.all_total() <= 12 * u64::from(capacity), "{capacity}: {}", ledger.all_total());
    }
}
