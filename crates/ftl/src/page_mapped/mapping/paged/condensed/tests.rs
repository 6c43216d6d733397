use super::*;
use crate::page_mapped::mapping::{LOST, MISLAID, NOWHERE, TRIMMED, TRIMMED_FROM};

const ENTRIES: u32 = 1024;

/// One of `n`.
fn random(state: &mut u64, n: u32) -> u32 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    ((*state >> 33) % u64::from(n)) as u32
}

/// Tables as drives have them: written in one go, in steps, in two streams, at random, with marks, and with pages of
/// each written anew.
fn tables() -> Vec<Vec<u32>> {
    let mut state = 7;
    let marks = [NOWHERE, TRIMMED, LOST, MISLAID, TRIMMED_FROM | 77, TRIMMED_FROM | 78, MISLAID - 1];
    let mut tables: Vec<Vec<u32>> = vec![
        (0..ENTRIES).map(|at| 5_000 + at).collect(),
        (0..ENTRIES).map(|at| 5_000 + at / 4 + at % 4 * 9_000).collect(),
        (0..ENTRIES).map(|at| 5_000 + at * 3).collect(),
        (0..ENTRIES).map(|_| random(&mut state, 1 << 30)).collect(),
        (0..ENTRIES).map(|at| marks[(at / 9) as usize % marks.len()]).collect(),
        (0..ENTRIES).map(|at| if at % 7 < 5 { 6_000 + at } else { 900_000 + at * 2 }).collect(),
        (0..ENTRIES).map(|at| if at % 40 < 3 { 6_000 + at } else { NOWHERE }).collect(),
        vec![NOWHERE; ENTRIES as usize],
        vec![TRIMMED; ENTRIES as usize],
    ];
    for table in tables.clone() {
        for rare in [200, 20, 3] {
            let mut written = 900_000;
            let mut table = table.clone();
            for entry in &mut table {
                if random(&mut state, rare) == 0 {
                    written += 1;
                    *entry = if random(&mut state, 9) == 0 { marks[random(&mut state, 7) as usize] } else { written };
                }
            }
            tables.push(table);
        }
    }
    // Marks at the ends of groups, any behind any.
    for (first, second) in marks.iter().flat_map(|first| marks.map(|second| (*first, second))) {
        tables.push((0..ENTRIES).map(|at| if at % 256 < 9 { first } else { second }).collect());
        tables.push((0..ENTRIES).map(|_| if random(&mut state, 2) == 0 { first } else { second }).collect());
    }
    tables
}

/// As a translation page has them.
fn bytes_of(table: &[u32]) -> Vec<u8> {
    table.iter().flat_map(|entry| entry.to_le_bytes()).collect()
}

#[test]
fn each_form_has_the_entries_of_its_translation_page() {
    for (number, table) in tables().iter().enumerate() {
        // Pages of flash of 512 bytes, of four KiB and, of some, of 64.
        let whole = if number % 4 == 0 { table.repeat(16) } else { Vec::new() };
        for (condense, table) in [Condense::Runs, Condense::Segments]
            .into_iter()
            .flat_map(|condense| [&table[..128], table, &whole].map(|table| (condense, table)))
        {
            let form = Form::of(condense, table, u64::MAX).unwrap();
            let entries: Vec<u32> = (0..table.len() as u32).map(|at| form.entry(at).unwrap()).collect();
            assert_eq!(entries, *table, "{condense:?} of table {number}, {} entries", table.len());
        }
        let models = Form::of(Condense::Models, table, u64::MAX).unwrap();
        for (at, entry) in (0..).zip(table) {
            assert!(models.entry(at).is_none_or(|named| named == *entry), "table {number}: entry {at}");
        }
        assert!(models.bytes() <= ENTRIES / 8 + 64);
    }
}

#[test]
fn what_was_written_in_one_go_takes_few_bytes() {
    let [in_one_go, in_steps] = [&tables()[0], &tables()[2]];
    let rare = tables().iter().position(|table| table[..3] == in_one_go[..3] && table != in_one_go).unwrap();
    let bytes = |condense, table: &[u32]| Form::of(condense, table, u64::MAX).unwrap().bytes();
    assert_eq!(bytes(Condense::Runs, in_one_go), 128 + 4);
    assert_eq!(bytes(Condense::Segments, in_one_go), 4 * (8 + 4));
    assert_eq!(bytes(Condense::Models, in_one_go), 128 + 8);
    let named = |table: &[u32]| {
        let models = Form::of(Condense::Models, table, u64::MAX).unwrap();
        (0..ENTRIES).filter(|at| models.entry(*at).is_some()).count()
    };
    assert_eq!(named(in_one_go), ENTRIES as usize);
    assert_eq!(named(in_steps), ENTRIES as usize, "a line can be steeper");
    // A page in two hundred was written anew: the line goes on behind it.
    assert!(named(&tables()[rare]) > 900, "{}", named(&tables()[rare]));
}

#[test]
fn logical_pages_far_apart_take_one_segment() {
    // Every third was written in one go, with a page of others between.
    let mut apart = vec![NOWHERE; ENTRIES as usize];
    (0..80).for_each(|page| apart[page as usize * 3] = 100 + page);
    assert_eq!(Form::of(Condense::Segments, &apart, u64::MAX).unwrap().bytes(), 8 + 4 * 4);
    // At no regular distance: in the conflict resolution buffer.
    let mut irregular = vec![NOWHERE; ENTRIES as usize];
    (0..15).for_each(|page: u32| irregular[(page * page) as usize] = 100 + page);
    assert_eq!(Form::of(Condense::Segments, &irregular, u64::MAX).unwrap().bytes(), 8 + 15 + 4 * 4);
    // Written in one go; then some were written elsewhere: with them, the segment has its gaps and its last page.
    let mut in_step: Vec<u32> = (0..256).map(|page| 100 + page).collect();
    [7, 8, 90].into_iter().for_each(|page| in_step[page] = NOWHERE);
    assert_eq!(Form::of(Condense::Segments, &in_step, u64::MAX).unwrap().bytes(), 8 + 4 + 4);
    // Most were: it has what is left.
    let few: Vec<u32> =
        (0..256).map(|page| if [0, 5, 13, 21].contains(&page) { 100 + page } else { NOWHERE }).collect();
    assert_eq!(Form::of(Condense::Segments, &few, u64::MAX).unwrap().bytes(), 8 + 4 + 4);
}

/// Held against a search that tries each segment of each length.
#[test]
fn no_segments_are_smaller_whose_pages_follow_each_other_on_flash() {
    let mut state = 5;
    for round in 0..600 {
        let (mut at, mut entry, mut placed) = (0, 1_000, Vec::new());
        while at < 250 {
            placed.push((at, entry));
            let step = 1 + random(&mut state, [2, 4, 30][round % 3]);
            at += step;
            entry += if random(&mut state, 3) == 0 { 1 } else { step };
        }
        let n = placed.len();
        let bytes_of = |from: usize, to: usize| {
            let all = |holds: &dyn Fn((u32, u32)) -> bool| {
                placed[from..to].windows(2).all(|pair| holds((pair[1].0 - pair[0].0, pair[1].1 - pair[0].1)))
            };
            let first = placed.get(from + 1).map_or(0, |next| next.0 - placed[from].0);
            let pages = (to - from) as u32;
            let gaps = placed[to - 1].0 - placed[from].0 + 1 - pages;
            [
                (all(&|(apart, pages)| pages == 1 && apart == first), 8),
                (all(&|(_, pages)| pages == 1), 8 + pages),
                (all(&|(apart, pages)| pages == apart), 8 + pages.min(gaps + 1)),
            ]
            .into_iter()
            .filter_map(|(can, bytes)| can.then_some(bytes))
            .min()
        };
        let mut least = vec![0; n + 1];
        for from in (0..n).rev() {
            let with = |to: usize| bytes_of(from, to).map(|bytes| bytes + least[to]);
            least[from] = (from + 1..=n).filter_map(with).min().unwrap();
        }
        let mut table = vec![NOWHERE; 256];
        placed.iter().for_each(|(at, entry)| table[*at as usize] = *entry);
        assert_eq!(Form::of(Condense::Segments, &table, u64::MAX).unwrap().bytes(), least[0] + 4, "{placed:?}");
    }
}

#[test]
fn they_are_what_was_entered_last_within_their_bytes() {
    let (tables, mut state) = (tables(), 3);
    for (condense, dies) in [Condense::Runs, Condense::Segments, Condense::Models]
        .into_iter()
        .flat_map(|condense| [1, 3, 4].map(|dies| (condense, dies)))
    {
        let mut pages = CondensedPages::of(condense, (40, ENTRIES), dies, 12 << 10).unwrap();
        let mut on_flash: Vec<Option<&[u32]>> = vec![None; 40];
        let (mut had, mut most) = (0, 0);
        for version in 1..4_000_u64 {
            let part = random(&mut state, 40);
            match random(&mut state, 4) {
                0 => {
                    let table = &tables[random(&mut state, tables.len() as u32) as usize];
                    pages.enter(part, version, &bytes_of(table));
                    on_flash[part as usize] = Some(table);
                }
                1 if random(&mut state, 8) == 0 => pages.forget(part),
                _ => {
                    let index = random(&mut state, ENTRIES);
                    let key = part * ENTRIES + index;
                    assert_eq!(pages.peek(key), pages.entry(key));
                    if let Some((entry, _)) = pages.entry(key) {
                        had += 1;
                        assert_eq!(
                            entry,
                            on_flash[part as usize].unwrap()[index as usize],
                            "{condense:?}, {dies} dies"
                        );
                    }
                    if let Some((entries, ..)) = pages.whole(part) {
                        assert_eq!(entries.collect::<Vec<u32>>(), on_flash[part as usize].unwrap());
                    }
                }
            }
            let taken: u64 =
                pages.pages.iter().flat_map(|page| &page.form).map(|form| u64::from(HEADER + form.bytes())).sum();
            assert_eq!(taken, pages.taken);
            assert!(taken <= pages.room, "{condense:?} takes {taken} bytes");
            most = most.max(pages.pages.len());
        }
        assert!(had > 100, "{condense:?}, {dies} dies: {had}");
        assert!(most > 2, "{condense:?}, {dies} dies: {most}");
    }
}

#[test]
fn the_page_used_longest_ago_goes_first() {
    let in_one_go = bytes_of(&tables()[0]);
    let mut pages = CondensedPages::of(Condense::Runs, (40, ENTRIES), 1, 3 * (16 + 132)).unwrap();
    (0..3).for_each(|part| pages.enter(part, 1, &in_one_go));
    assert!(pages.entry(0).is_some());
    pages.enter(7, 2, &in_one_go);
    let kept: Vec<u32> = (0..8).filter(|part| pages.peek(part * ENTRIES).is_some()).collect();
    assert_eq!(kept, [0, 2, 7]);
}

#[test]
fn dies_in_turn_are_runs() {
    let four_dies: Vec<u32> = (0..ENTRIES).map(|at| 10_000 * (at % 4) + 77 + at / 4).collect();
    let mut pages = CondensedPages::of(Condense::Runs, (40, ENTRIES), 4, 1 << 20).unwrap();
    pages.enter(0, 1, &bytes_of(&four_dies));
    assert_eq!(pages.taken, u64::from(HEADER) + 128 + 4 * 4);
}
