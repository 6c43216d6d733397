//! What an onlooker sees of an FTL is what there is, and looking changes nothing.

use crate::common::{Host, chips, config, small};
use phelsuma_ftl::{BlockLook, BlockState, PRESETS};
use phelsuma_nand::{Block, Kind};

const LOGICAL: u32 = 500;
const BLOCKS: usize = 100;

#[test]
fn every_block_is_seen_as_what_it_is() {
    for preset in PRESETS.iter().filter(|preset| !preset.composition.is_per_channel()) {
        let geometry = small(16, BLOCKS as u64, 1, 1);
        let mut host = Host::new(chips(geometry), config(preset.name, LOGICAL), 3);
        for round in 0..6 {
            for first in 0..LOGICAL {
                host.write((first * 7 + round) % LOGICAL, 1, false).unwrap();
            }
        }
        let ftl = host.ftl.as_ref().unwrap();
        let (ram, counters) = (format!("{:?}", ftl.ram()), ftl.counters());
        let mut looks = vec![BlockLook::default(); BLOCKS];
        assert!(ftl.look_at_blocks(Block(0), &mut looks), "{}", preset.name);
        // In pieces it is the same, and behind the last block there is nothing.
        let mut pieces = vec![BlockLook::default(); BLOCKS + 4];
        for (first, out) in (0..).step_by(10).zip(pieces.chunks_mut(10)) {
            assert!(ftl.look_at_blocks(Block(first), out));
        }
        assert_eq!(pieces[..BLOCKS], looks);
        assert_eq!(pieces[BLOCKS..], [BlockLook::default(); 4]);

        let of = |name| counters.iter().find(|counter| counter.name == name).map_or(0, |counter| counter.value);
        let count = |wanted: &dyn Fn(&&BlockLook) -> bool| looks.iter().filter(wanted).count() as u64;
        let free = count(&|look| matches!(look.state, BlockState::Free | BlockState::Held));
        assert_eq!(free, of("free_blocks"), "{}", preset.name);
        assert_eq!(count(&|look| look.kind == Some(Kind::Anchor)), 2, "{}", preset.name);
        assert_eq!(count(&|look| look.state == BlockState::Bad), of("bad_blocks"), "{}", preset.name);
        let live = |kind| {
            let of_kind = looks.iter().filter(|look| look.kind == Some(kind));
            of_kind.map(|look| u64::from(look.live_pages.unwrap_or(0))).sum::<u64>()
        };
        let composition = &preset.composition;
        match composition.names()[0].contains("lazy") {
            // Those of data blocks are not counted: log blocks hold at most all that was written.
            _ if composition.page_mapped().is_none() => {
                assert!((1..=LOGICAL.into()).contains(&live(Kind::User)), "{}: {}", preset.name, live(Kind::User));
                let of_map = looks.iter().filter(|look| look.kind == Some(Kind::Map));
                assert!(of_map.map(|look| look.live_pages.unwrap()).sum::<u16>() > 0, "{}", preset.name);
                assert!(count(&|look| look.state == BlockState::Open) > 0, "{}", preset.name);
            }
            // Unidentified stale pages count as live.
            true => assert!(live(Kind::User) >= LOGICAL.into(), "{}: {}", preset.name, live(Kind::User)),
            false => assert_eq!(live(Kind::User), LOGICAL.into(), "{}", preset.name),
        }
        let gecko = ftl.look_at_gecko();
        assert_eq!(gecko.is_some(), live(Kind::Gecko) > 0, "{}", preset.name);
        if let Some(gecko) = gecko {
            let pages: u64 = gecko.runs.iter().map(|run| u64::from(run.pages)).sum();
            assert_eq!((gecko.runs.len() as u64, pages), (of("gecko_runs"), of("gecko_pages")));
            assert_eq!(pages, live(Kind::Gecko));
            assert_eq!(gecko.runs[0].flushes.1, of("gecko_flushes"));
            assert!(gecko.buffered_entries <= gecko.buffer_entries);
        }
        assert_eq!((format!("{:?}", ftl.ram()), ftl.counters()), (ram, counters), "{}", preset.name);
    }
}
