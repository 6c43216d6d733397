//! The model against a naive one that was written without it: bytes of a small drive, and all states by brute force.
//!
//! It does not test the recorder, nor whether a kernel asks what this model takes it to ask.

use phelsuma_torture::model::{
    Content, Cursor, Depth, Event, Extent, IdError, Plan, Policy, Run, Shape, State, moments,
};
use proptest::prelude::*;
use std::collections::{BTreeSet, HashMap};

const UNIT: u64 = 512;
const UNITS: u64 = 6;

/// What a state is to whoever looks at it: the content, a byte a unit, and how many marks have been passed.
type Seen = (Vec<u8>, usize);

fn run(events: Vec<Event>, atomic_write: u32) -> Run {
    let mut base = Content::default();
    base.write(UNIT, &[9; UNIT as usize]);
    let end = events.len();
    Run { shape: Shape { size: UNIT * UNITS, unit: UNIT as u32, atomic_write }, base, events, end }
}

/// Each kind of event, on a drive that held something.
pub(crate) fn small_run() -> Run {
    let write = |unit: u64| Event::Write { offset: unit * UNIT, data: vec![unit as u8; 2 * UNIT as usize].into() };
    let trim = Event::Trim { offset: 0, length: 2 * UNIT };
    let mut run =
        run(vec![write(0), Event::Mark("one".to_string()), Event::Flush, write(3), trim, write(2), Event::Flush], 512);
    // As small as a recorded one can be.
    run.shape.size = 4096;
    run
}

#[test]
fn a_text_of_a_state_ascends_and_names_nothing_twice() {
    let write = |unit: u64| Event::Write { offset: unit * UNIT, data: vec![1; 3 * UNIT as usize].into() };
    let run = run(vec![write(0), write(3)], 512);
    let of = |id| State::of_id(id, &run, Policy::Subset);
    assert_eq!(of("2-1:0.2,2").unwrap().id(&run, Policy::Subset), "2-1:0.2,2");
    for id in ["2-1:2.0", "2-1:0_1.1", "2-1:0.0", "2-2,1", "2-1,1", "2-1_2,2:0", "2+1:1,1:2"] {
        assert!(matches!(of(id), Err(IdError::Form(text)) if text == id), "{id}");
    }
}

/// The rules of a block device, said once more: what each pending request would write, in parts that are never torn.
fn allowed(run: &Run, lies: bool) -> BTreeSet<Seen> {
    let mut all = BTreeSet::new();
    for cut in 0..=run.events.len() {
        let mut durable: Vec<u8> = (0..UNITS).map(|unit| if unit == 1 { 9 } else { 0 }).collect();
        let mut parts: Vec<Vec<(usize, u8)>> = Vec::new();
        let mut marks = 0;
        for event in &run.events[..cut] {
            let (offset, length, value) = match event {
                Event::Flush if lies => continue,
                Event::Flush => {
                    for (unit, value) in parts.drain(..).flatten() {
                        durable[unit] = value;
                    }
                    continue;
                }
                Event::Mark(_) => {
                    marks += 1;
                    continue;
                }
                Event::Write { offset, data } => (*offset, data.len() as u64, data[0]),
                Event::Trim { offset, length } => (*offset, *length, 0),
            };
            let units: Vec<(usize, u8)> =
                (offset / UNIT..(offset + length) / UNIT).map(|unit| (unit as usize, value)).collect();
            let atomic = u64::from(run.shape.atomic_write);
            let is_atomic = value != 0 && length <= atomic && offset % atomic + length <= atomic;
            if is_atomic {
                parts.push(units);
            } else {
                parts.extend(units.into_iter().map(|unit| vec![unit]));
            }
        }
        for kept in 0..1u32 << parts.len() {
            let mut content = durable.clone();
            for (_, part) in parts.iter().enumerate().filter(|(at, _)| kept >> at & 1 == 1) {
                part.iter().for_each(|(unit, value)| content[*unit] = *value);
            }
            all.insert((content, marks));
        }
    }
    all
}

/// The states of the plans, as whoever looks at them sees them; equal ones must have equal identities.
fn planned(run: &Run, policy: Policy, depth: Depth) -> BTreeSet<Seen> {
    let mut seen = BTreeSet::new();
    let mut identities = HashMap::new();
    let mut cursor = Cursor::new(run, policy);
    let moments = moments(run, policy);
    let extents = Extent::of_all(run, policy, &moments, depth);
    for (moment, extent) in moments.into_iter().zip(extents) {
        let plan = Plan::new(run, policy, moment, depth);
        assert_eq!(plan.extent(), extent);
        for index in 0..plan.len() {
            let state = plan.state(index).unwrap();
            let id = state.id(run, policy);
            assert_eq!(State::of_id(&id, run, policy).as_ref(), Ok(&state), "{id}");
            let identity = cursor.set(&state);
            let mut content = vec![0; UNITS as usize];
            let given: Result<(), ()> = cursor.each(|offset, bytes| {
                for (at, byte) in bytes.iter().enumerate() {
                    let unit = ((offset as usize) + at) / UNIT as usize;
                    content[unit] = *byte;
                }
                Ok(())
            });
            given.unwrap();
            let one: Seen = (content, run.marks(state.cut).count());
            let known = identities.entry(identity).or_insert_with(|| one.clone());
            assert_eq!(*known, one, "one identity, two states");
            seen.insert(one);
        }
        assert_eq!(plan.state(plan.len()), None);
    }
    assert_eq!(identities.len(), seen.len(), "one state, two identities");
    seen
}

/// Whether all plans say that they have all that is allowed.
fn is_complete(run: &Run, policy: Policy, depth: Depth) -> bool {
    Extent::of_all(run, policy, &moments(run, policy), depth).iter().all(|extent| extent.is_complete)
}

/// A drive that does not reorder, unit by unit: at each cut, the content after each unit that was pending.
fn allowed_in_order(run: &Run) -> BTreeSet<Seen> {
    let mut all = BTreeSet::new();
    let mut before: Vec<u8> = (0..UNITS).map(|unit| if unit == 1 { 9 } else { 0 }).collect();
    // What has been there since the last flush.
    let mut since = vec![before.clone()];
    let mut marks = 0;
    all.insert((before.clone(), 0));
    for event in &run.events {
        match event {
            Event::Flush => since = vec![before.clone()],
            Event::Mark(_) => marks += 1,
            Event::Write { .. } | Event::Trim { .. } => {
                let (offset, length) = event.range().unwrap();
                let value = event.bytes(offset, 1).map_or(0, |bytes| bytes[0]);
                for unit in offset / UNIT..(offset + length) / UNIT {
                    before[unit as usize] = value;
                    since.push(before.clone());
                }
            }
        }
        all.extend(since.iter().map(|content| (content.clone(), marks)));
    }
    all
}

fn event() -> impl Strategy<Value = Event> {
    let range = (0..UNITS, 1..=3u64).prop_map(|(from, length)| (from, length.min(UNITS - from)));
    prop_oneof![
        4 => (range.clone(), 1..4u8).prop_map(|((from, length), value)| Event::Write {
            offset: from * UNIT,
            data: vec![value; (length * UNIT) as usize].into(),
        }),
        1 => range.prop_map(|(from, length)| Event::Trim { offset: from * UNIT, length: length * UNIT }),
        2 => Just(Event::Flush),
        2 => Just(Event::Mark("m".to_string())),
    ]
}

fn config() -> ProptestConfig {
    let cases = if std::env::var_os("PHELSUMA_THOROUGH").is_some() { 20_000 } else { 300 };
    ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases) }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn with_few_pending_exactly_the_allowed_states_are_made(
        events in prop::collection::vec(event(), 0..7),
        atomic_write in prop::sample::select(vec![512u32, 1024]),
        lies: bool,
    ) {
        let run = run(events, atomic_write);
        let policy = if lies { Policy::Lies } else { Policy::Subset };
        let depth = Depth { subsets: 20, samples: 0, seed: 1 };
        prop_assert_eq!(planned(&run, policy, depth), allowed(&run, lies));
    }

    #[test]
    fn a_drive_that_does_not_reorder_leaves_exactly_what_came_first(
        events in prop::collection::vec(event(), 0..12),
        samples in 0..40u32,
    ) {
        let run = run(events, 512);
        let (depth, allowed) = (Depth { subsets: 5, samples, seed: 1 }, allowed_in_order(&run));
        let planned = planned(&run, Policy::Prefix, depth);
        prop_assert!(planned.is_subset(&allowed), "{:?}", planned.difference(&allowed));
        if is_complete(&run, Policy::Prefix, depth) {
            prop_assert_eq!(planned, allowed);
        } else {
            prop_assert!(samples < 36);
        }
    }

    #[test]
    fn a_plan_that_is_called_complete_has_all_that_is_allowed(
        events in prop::collection::vec(event(), 0..7),
        subsets in 0..8u32,
        samples in 0..3u32,
    ) {
        let (run, depth) = (run(events, 512), Depth { subsets, samples, seed: 1 });
        let (planned, allowed) = (planned(&run, Policy::Subset, depth), allowed(&run, false));
        prop_assert!(!is_complete(&run, Policy::Subset, depth) || planned == allowed);
    }

    #[test]
    fn with_many_pending_nothing_forbidden_is_made(
        events in prop::collection::vec(event(), 0..12),
        seed: u64,
        prefix: bool,
    ) {
        prop_assume!(events.iter().map(|e| e.range().map_or(0, |(_, length)| length / UNIT)).sum::<u64>() < 14);
        let run = run(events, 512);
        let depth = Depth { subsets: 2, samples: 50, seed };
        let policy = if prefix { Policy::Prefix } else { Policy::Subset };
        let allowed = allowed(&run, false);
        for seen in planned(&run, policy, depth) {
            prop_assert!(allowed.contains(&seen), "{:?}", seen);
        }
    }

    #[test]
    fn a_cache_that_survives_leaves_what_was_written_at_some_moment(events in prop::collection::vec(event(), 0..12)) {
        let run = run(events, 512);
        let depth = Depth { subsets: 5, samples: 50, seed: 1 };
        let mut moments = BTreeSet::new();
        let mut content: Vec<u8> = (0..UNITS).map(|unit| if unit == 1 { 9 } else { 0 }).collect();
        let mut marks = 0;
        moments.insert((content.clone(), 0));
        for event in &run.events {
            if let Some((offset, length)) = event.range() {
                let value = event.bytes(offset, 1).map_or(0, |bytes| bytes[0]);
                (offset / UNIT..(offset + length) / UNIT).for_each(|unit| content[unit as usize] = value);
            }
            marks += usize::from(matches!(event, Event::Mark(_)));
            moments.insert((content.clone(), marks));
        }
        prop_assert_eq!(planned(&run, Policy::Protected, depth), moments);
    }
}
