//! Z.
#![allow(clippy::unwrap_used)]
mod common;
use common::{Host, Step, below, chips, config, most_pages, small};
use rand_core::SeedableRng;
fn dump(host: &mut Host, bad: u32, key: Option<u32>) {
    use phelsuma_nand::*;
    let at = |p| p;
    let _ = at(1);
    let g = *host.plug.geometry();
    let op = Op::new(Time::ZERO, Purpose::Recovery);
    let page = if let Some(k) = key { k } else { match host.plug.read_spare(Page(bad), op).0 {
        SpareRead::Written(s) => s.key,
        o => {
            println!("{o:?}");
            return;
        }
    } };
    println!("key {page}");
    let per = g.page_bytes() / 4;
    for b in 0..g.blocks() {
        for i in 0..g.pages_per_block() {
            let p = g.page(Block(b), i);
            if let SpareRead::Written(s) = host.plug.read_spare(p, op).0 {
                if s.kind == Kind::Translation && s.key == page / per {
                    let e = match host.plug.read(p, op).0.verified_as(Kind::Translation, page / per) {
                        Some(b) => {
                            let at = (page % per) as usize * 4;
                            u32::from_le_bytes([b[at], b[at + 1], b[at + 2], b[at + 3]]) as i64
                        }
                        None => -1,
                    };
                    println!("tp b{b}.{i} v{} s{} st{} -> {e}", s.version, s.seq, s.stream);
                }
                if s.kind == Kind::User && s.key == page {
                    println!("user b{b}.{i} page {} v{} s{} st{}", p.0, s.version, s.seq, s.stream);
                }
                if s.kind == Kind::Gecko && s.key & !(1 << 31) == 0 {
                    if let PageRead::Written { content: Content::Bytes(b2), .. } = host.plug.read(p, op).0 {
                        let u = |at: usize| u64::from_le_bytes(b2[at..at + 8].try_into().unwrap());
                        println!(
                            "gecko b{b}.{i} run {} s{} flushes {}..{} frozen {} after {} oldest {}",
                            s.version,
                            s.seq,
                            u(8),
                            u(16),
                            u(24),
                            u(32),
                            u(40)
                        );
                    }
                }
            }
        }
    }
}
#[test]
fn zz() {
    for (ppb, blocks, ch, dies) in
        [(32u32, 64u64, 1u32, 1u32), (32, 64, 1, 4), (32, 48, 2, 1), (16, 60, 2, 2), (37, 40, 1, 1)]
    {
        for seed in 0..400u64 {
            let mut rng = rand_xoshiro::Xoshiro256PlusPlus::seed_from_u64(seed);
            let g = small(ppb, blocks, ch, dies);
            let most = most_pages("geckoftl", g);
            let most = if seed % 4 < 2 { most } else { 2 * most };
            let mut host = Host::new(chips(g), config("geckoftl", most / 2), 1);
            host.waits = seed % 2 == 0;
            if seed % 8 < 4 {
                host.overwrite().unwrap();
            }
            let mut log = Vec::new();
            let r = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                for _ in 0..250 {
                    let narrow = below(&mut rng, 2) == 0;
                    let first = below(&mut rng, if narrow { 12 } else { u64::from(most / 2) }) as u32;
                    let pages = (1 + below(&mut rng, 40) as u32).min(most / 2 - first);
                    let step = match below(&mut rng, 20) {
                        0 => Step::Cut,
                        1..4 => Step::Trim { first, pages },
                        4 => Step::Read { first, pages },
                        _ => Step::Write { first, pages, bytes: false },
                    };
                    log.push(step);
                    host.step(&step).unwrap();
                    let f = host.ftl.as_mut().unwrap().check(&mut host.plug);
                    if !f.is_empty() {
                        println!("{f:?}");
                        if let Some(p) = f[0]
                            .rsplit("Some(Page(")
                            .next()
                            .and_then(|t| t.split(')').next())
                            .and_then(|t| t.parse::<u32>().ok())
                        {
                            dump(&mut host, p, None);
                        }
                        panic!();
                    }
                }
            }));
            if r.is_err() {
                let f = host.ftl.as_mut().unwrap().check(&mut host.plug);
                if let Some(k) = f.first().and_then(|f| f.strip_prefix("logical page ")).and_then(|t| t.split(' ').next()).and_then(|t| t.parse::<u32>().ok()) { dump(&mut host, 0, Some(k)); }
                println!("FIND {f:?}");
                if let Some(p) = f
                    .first()
                    .and_then(|f| f.rsplit("Some(Page(").next())
                    .and_then(|t| t.split(')').next())
                    .and_then(|t| t.parse::<u32>().ok())
                {
                    dump(&mut host, p, None);
                }

                println!(
                    "seed {seed} dies {dies}: {} steps; last cuts at {:?}; last {:?}",
                    log.len(),
                    log.iter().enumerate().filter(|(_, s)| matches!(s, Step::Cut)).map(|(i, _)| i).collect::<Vec<_>>(),
                    log.last()
                );
                panic!();
            }
        }
    }
}
