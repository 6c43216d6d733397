//! How much can be in flight: what recovery takes for suspects rests on it.

use crate::common::{below, config, most_pages, plugged, scanned, small};
use phelsuma_ftl::{Hint, HostData, WriteRequest, format};
use phelsuma_nand::{LogicalPage, Time};
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

#[test]
fn when_a_program_starts_all_but_the_last_few_before_it_are_done() {
    for preset in scanned() {
        for (channels, dies) in [(1, 1), (1, 4), (2, 2), (4, 2)] {
            let geometry = small(16, 40 + 24 * u64::from(channels * dies), channels, dies);
            let logical = most_pages(preset.name, geometry);
            let mut nand = plugged(geometry);
            let (mut ftl, mut at) = format(&mut nand, &config(preset.name, logical), Time::ZERO).unwrap();
            nand.programs = Some(Vec::new());
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
            for _ in 0..4 * logical {
                let first = LogicalPage(below(&mut rng, u64::from(logical - 4)) as u32);
                let pages = 1 + below(&mut rng, 4) as u32;
                let request = WriteRequest { first, pages, data: HostData::Hollow(1), hint: Hint::None };
                let done = ftl.write(&mut nand, &request, at).unwrap();
                // Some requests are made while others are under way.
                if below(&mut rng, 8) == 0 {
                    at = done;
                }
            }
            // The pages that a cut can meet at once: twice the dies, or one on a single die.
            let window = if geometry.dies() == 1 { 1 } else { 2 * geometry.dies() as usize };
            let mut done_before = Time::ZERO;
            let programs = nand.programs.unwrap();
            for n in window..programs.len() {
                done_before = done_before.max(programs[n - window].2);
                let (seq, start, _) = programs[n];
                assert!(
                    done_before <= start,
                    "{} on {channels} x {dies} dies: the program with seq {seq} may start at {start}, and one at least {window} \
                     before it is under way until {done_before}",
                    preset.name
                );
            }
        }
    }
}
