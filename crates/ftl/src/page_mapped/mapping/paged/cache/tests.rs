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

const EVERY: [Evict; 4] = [Evict::Lru, Evict::CleanFirst, Evict::Fullest, Evict::TwoLevel];

/// The cache, and what it must hold besides clean entries. Its dirty entries become clean by translation pages, or all
/// together.
fn held_against_a_map(capacity: u32, keys: u32, entries_per_page: u32, (evict, together): (Evict, bool)) {
    let mut cache = MappingCache::new(capacity, 2, keys.div_ceil(entries_per_page), entries_per_page, evict);
    if together {
        cache.clean_together(capacity / 2);
    }
    let mut dirty: BTreeMap<u32, u32> = BTreeMap::new();
    let mut draw = draws(capacity);
    for value in 0..6 * capacity.max(2_000) {
        let key = draw(keys);
        let slot = cache.find(key).unwrap_or_else(|| {
            let (mut coming, mut synchronized) = (Coming::of(key), 0);
            while let Some(goes) = cache.must_go(&mut coming) {
                if cache.is_dirty(goes) && together {
                    cache.sorted_dirty();
                    let of_cache = cache.dirty().iter().map(|slot| (cache.key(*slot), cache.value(*slot)));
                    assert!(of_cache.eq(core::mem::take(&mut dirty)), "those that are dirty, by key");
                    cache.clean_all();
                    assert!((0..keys.div_ceil(entries_per_page)).all(|part| !cache.has_dirty(part)));
                    assert!(cache.dirty().is_empty() && !cache.is_dirty(goes));
                    synchronized += 1;
                } else if cache.is_dirty(goes) {
                    let part = cache.key(goes) / entries_per_page;
                    let of_part: BTreeSet<u32> = cache.dirty_of(part).map(|slot| cache.key(slot)).collect();
                    let first = part * entries_per_page;
                    let wanted: BTreeSet<u32> =
                        dirty.range(first..first + entries_per_page).map(|(key, _)| *key).collect();
                    assert_eq!(of_part, wanted);
                    assert_eq!(cache.clean(part) as usize, wanted.len());
                    dirty.retain(|key, _| !wanted.contains(key));
                    assert!(!cache.has_dirty(part) && !cache.is_dirty(goes));
                    synchronized += 1;
                }
                if !cache.leave(goes) {
                    break;
                }
            }
            assert!(synchronized <= 1, "an entry costs {synchronized} synchronizations");
            cache.insert(key, value)
        });
        cache.touch(slot);
        if draw(3) > 0 {
            cache.set_dirty(slot, value);
            dirty.insert(key, value);
        }
        if value % 16 == 0 {
            assert!(cache.iter().count() as u32 <= capacity && cache.is_sound());
        }
        assert_eq!(cache.dirty_count() as usize, dirty.len());
    }
    for (key, value) in dirty {
        assert!(cache.find(key).is_some_and(|slot| cache.is_dirty(slot) && cache.value(slot) == value));
    }
}

#[test]
fn no_dirty_entry_is_lost_and_a_translation_page_finds_its_own() {
    for evict in EVERY {
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
        for evict in EVERY {
            let cache = MappingCache::new(capacity, 0, 8, 1_024, evict);
            let mut seen = BTreeSet::new();
            let mut at = Slot::FIRST;
            while seen.insert(at.0) {
                at = cache.after(at);
            }
            assert_eq!((seen.len(), at), (capacity as usize, Slot::FIRST));
        }
    }
}

#[test]
fn what_a_recovery_finds_has_room_and_what_is_too_much_leaves() {
    EVERY.into_iter().for_each(found_and_left);
}

fn found_and_left(evict: Evict) {
    let (capacity, spare) = (20, 3);
    let mut cache = MappingCache::new(capacity, spare, 30, 8, evict);
    let bytes = |cache: &MappingCache| {
        let mut ledger = RamLedger::default();
        cache.ram(&mut ledger);
        ledger.all_total()
    };
    cache.clean_together(capacity);
    (0..capacity + spare).for_each(|key| cache.insert_found(7 * key, key));
    assert!(cache.has_no_room());
    let mut copy = cache.clone();
    assert_eq!(cache.sorted_dirty().len() as u32, capacity + spare);
    cache.clean_all();
    while cache.last_surplus().is_some() {
        cache.remove_surplus();
    }
    assert!((0..30).all(|part| !cache.has_dirty(part)) && !cache.has_unsure() && cache.iter().count() <= 20);
    copy.together = None;
    cache.together = None;
    let before = bytes(&cache);
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
    assert!(copy.iter().count() <= 20 && bytes(&copy) == before);
}

#[test]
fn an_entry_takes_twelve_bytes_at_the_most() {
    for (capacity, translation_pages) in [(1_024, 700), (1_433, 1_433), (524_288, 400_000)] {
        let mut ledger = RamLedger::default();
        MappingCache::new(capacity, 32, translation_pages, 1_024, Evict::Lru).ram(&mut ledger);
        assert!(ledger.all_total() <= 12 * u64::from(capacity), "{capacity}: {}", ledger.all_total());
    }
}

/// A cache in which these were used, in order.
fn used(asked: u32, keys: impl IntoIterator<Item = u32>) -> MappingCache {
    let mut cache = MappingCache::new(MappingCache::entries_in(asked, Evict::TwoLevel), 0, 100, 128, Evict::TwoLevel);
    for key in keys {
        match cache.find(key) {
            Some(slot) => cache.touch(slot),
            None => {
                let mut coming = Coming::of(key);
                while let Some(slot) = cache.must_go(&mut coming) {
                    cache.leave(slot);
                }
                cache.insert(key, key);
                assert!(cache.is_sound());
            }
        }
    }
    cache
}

#[test]
fn a_cache_of_two_levels_holds_what_its_bytes_hold() {
    // 800 bytes: entries of six, and eight for each of their translation pages.
    assert_eq!(used(100, 0..100).iter().count(), 100);
    assert_eq!(used(100, 0..300).iter().count(), (800 - 2 * 8) / 6);
    assert_eq!(used(100, (0..100).map(|page| 128 * page)).iter().count(), 800 / (6 + 8));
}

#[test]
fn of_the_coldest_translation_page_a_clean_entry_goes_first() {
    let goes = |cache: &MappingCache| cache.must_go(&mut Coming::of(500)).map(|slot| cache.key(slot));
    // 130 entries of two translation pages take 796 of 800 bytes. All of the first were used before all of the second.
    let mut cache = used(100, (0..65).chain(128..193));
    assert_eq!(goes(&cache), Some(0));
    for key in 0..64 {
        cache.set_dirty(cache.find(key).unwrap(), 1);
    }
    assert_eq!(goes(&cache), Some(64));
    cache.set_dirty(cache.find(64).unwrap(), 1);
    let first = cache.must_go(&mut Coming::of(500)).unwrap();
    assert!(cache.key(first) == 0 && cache.is_dirty(first));
    // What was synchronized goes on leaving, whatever is coldest by then.
    let mut coming = Coming::of(500);
    assert_eq!(cache.must_go(&mut coming), Some(first));
    assert_eq!(cache.clean(0), 65);
    (165..265).step_by(100).for_each(|_| cache.touch(cache.find(64).unwrap()));
    cache.leave(first);
    assert_eq!(cache.must_go(&mut coming).map(|slot| cache.key(slot)), Some(1));
}

#[test]
fn a_cache_of_two_levels_takes_no_more_than_its_bytes_however_it_is_used() {
    // Batches of translation pages: the first entry of each, then the second of each.
    let mut cache = used(100, []);
    for batch in 0..50 {
        for key in (0..2).flat_map(|entry| (0..60).map(move |page| (60 * batch + page) % 100 * 128 + entry)) {
            if cache.find(key).is_none() {
                let mut coming = Coming::of(key);
                let mut synchronized = 0;
                while let Some(slot) = cache.must_go(&mut coming) {
                    if cache.is_dirty(slot) {
                        cache.clean(cache.key(slot) / 128);
                        synchronized += 1;
                    }
                    cache.leave(slot);
                }
                assert!(synchronized <= 1);
                let slot = cache.insert(key, key);
                cache.set_dirty(slot, key);
            }
            assert!(cache.is_sound());
        }
    }
}

#[test]
fn a_run_is_taken_for_one_while_translation_pages_leave_and_none_comes() {
    // Random accesses: pages come, and none leaves.
    let mut cache = used(100, (0..20).map(|page| 128 * page));
    cache.insert(2_688, 1);
    assert_eq!(cache.run_before(2_689), 0);
    // One page's entries push many others out.
    let cache = used(100, (0..50).map(|page| 128 * page).chain(7_680..7_770));
    assert_eq!((cache.run_before(7_770), cache.run_before(7_720), cache.run_before(7_680)), (90, 40, 0));
}
