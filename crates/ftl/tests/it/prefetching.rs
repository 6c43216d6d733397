//! Entries that come into the cache without being missed: what they say, and which.

use crate::common::{Host, below, chips, composition, small};
use phelsuma_ftl::Config;
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

const LOGICAL_PAGES: u32 = 2_000;

fn host(prefetch: &str, on_miss: &str, cache: &str) -> Host {
    let composition = composition(&[
        ("mapping", "paged"),
        ("mapping.on-miss", on_miss),
        ("mapping.cache", cache),
        ("mapping.evict", "two-level"),
        ("mapping.prefetch", prefetch),
    ]);
    let mut host = Host::new(chips(small(32, 160, 1, 1)), Config::new("any", composition, LOGICAL_PAGES, 1), 1);
    host.overwrite().unwrap();
    host
}

/// Requests of up to 60 pages, more than the smallest cache holds, among writes and trims of what was prefetched.
#[test]
fn what_was_prefetched_is_what_was_written_last() {
    for on_miss in ["fetch", "lazy"] {
        for cache in ["16", "64", "500"] {
            let mut host = host("selective", on_miss, cache);
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(5);
            let mut draw = |below_this: u32| below(&mut rng, below_this.into()) as u32;
            for _ in 0..3_000 {
                let first = draw(LOGICAL_PAGES - 60);
                match draw(6) {
                    0 => host.write(first, 1 + draw(60), false).unwrap(),
                    1 => host.write(first, 1, false).unwrap(),
                    2 if draw(4) == 0 => host.trim(first, 1 + draw(20)).unwrap(),
                    _ => host.compare(first, 1 + draw(60)),
                }
            }
            host.check();
            host.compare_all();
            assert!(host.counter("entries_prefetched") > 1_000, "{on_miss}, {cache}");
        }
    }
}

fn misses_of_reading(host: &mut Host, pages: u32) -> u64 {
    let before = host.counter("cache_misses");
    (0..500).for_each(|n| host.compare(n * 3_301 % (LOGICAL_PAGES - pages), pages));
    host.counter("cache_misses") - before
}

#[test]
fn a_request_misses_once_for_each_translation_page() {
    let (mut alone, mut with) = (host("none", "fetch", "64"), host("request", "fetch", "64"));
    let (alone, with) = (misses_of_reading(&mut alone, 16), misses_of_reading(&mut with, 16));
    // Translation pages have 128 entries: a request of 16 pages lies in one or two. Where only dirty entries could go for
    // what is prefetched, it misses more.
    assert!(alone > 6_000 && with < 1_000, "{alone} and {with}");
}

/// Single pages in order, after others at random: their requests bring nothing along.
#[test]
fn a_run_is_prefetched_where_accesses_have_become_sequential() {
    let prefetched = |prefetch: &str| {
        let mut host = host(prefetch, "fetch", "64");
        misses_of_reading(&mut host, 1);
        let before = host.counter("entries_prefetched");
        (0..1_000).for_each(|page| host.compare(page, 1));
        host.counter("entries_prefetched") - before
    };
    assert_eq!(prefetched("request"), 0);
    let selective = prefetched("selective");
    assert!(selective > 300, "{selective}");
}
