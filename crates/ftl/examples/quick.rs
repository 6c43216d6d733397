//! Scratch bench.
#![allow(missing_docs)]
use phelsuma_ftl::*;
use phelsuma_nand::sim::SimConfig;
use phelsuma_nand::*;
use rand_core::{RngCore, SeedableRng};
fn main() {
    let gib: u64 = std::env::args().nth(1).map_or(4, |a| a.parse().unwrap());
    let name = std::env::args().nth(2).unwrap_or("page".into());
    let ratio: f64 = std::env::args().nth(3).map_or(0.7, |a| a.parse().unwrap());
    let passes: u64 = std::env::args().nth(4).map_or(2, |a| a.parse().unwrap());
    let g = Geometry::new(4096, 128, (gib << 30) / 4096 / 128, 1, 1).unwrap();
    let mut nand = SimNand::new(&SimConfig::new(g, Timing::preset("gecko").unwrap()));
    let logical = (g.pages() as f64 * ratio) as u32;
    let config = Config::new(&name, Preset::named(&name).unwrap().composition, logical, 1);
    let (mut ftl, mut at) = format(&mut nand, &config, Time::ZERO).unwrap();
    for l in 0..logical {
        at = ftl
            .write(
                &mut nand,
                &WriteRequest { first: LogicalPage(l), pages: 1, data: HostData::Hollow(0), hint: Hint::None },
                at,
            )
            .unwrap();
    }
    let mut rng = rand_xoshiro::Xoshiro256PlusPlus::seed_from_u64(1);
    for pass in 0..passes {
        let before = *nand.stats();
        let t = std::time::Instant::now();
        for _ in 0..logical {
            let l = ((rng.next_u64() >> 32) * logical as u64 >> 32) as u32;
            at = ftl
                .write(
                    &mut nand,
                    &WriteRequest { first: LogicalPage(l), pages: 1, data: HostData::Hollow(0), hint: Hint::None },
                    at,
                )
                .unwrap();
        }
        let s = nand.stats().since(&before);
        let dt = t.elapsed().as_secs_f64();
        let sh = ftl.shape();
        let eff = logical as f64 / ((g.blocks() - sh.reserve_blocks - sh.open_blocks - sh.fixed_blocks) as f64 * 128.0);
        println!(
            "pass {pass}: {:.2} M pages/s, WA {:.4} eff {:.5}",
            logical as f64 / dt / 1e6,
            s.total().programs as f64 / logical as f64,
            eff
        );
    }
    let stat = std::fs::read_to_string("/proc/self/status").unwrap();
    let hwm: f64 =
        stat.lines().find(|l| l.starts_with("VmHWM")).unwrap().split_whitespace().nth(1).unwrap().parse().unwrap();
    println!("bytes per physical page: {:.2}", hwm * 1024.0 / g.pages() as f64);
    println!("{:?}", ftl.check(&mut nand).len());
    println!("{:?}", ftl.counters());
}
