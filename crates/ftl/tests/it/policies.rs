//! Policies that answer with what cannot be: nothing is lost by it, the drive goes on, and it is counted.

use crate::common::{Host, Step, below, chips, parts_of, plugged, small};
use phelsuma_ftl::policy::{
    Asks, Block, Choice, Context, Counters, HostWrite, MovedPage, Placement, PlacementSpec, Table, Victim, VictimSpec,
    View, Wants, state,
};
use phelsuma_ftl::{Composition, Config, FtlError, PageParts, format};
use phelsuma_nand::Time;
use phelsuma_nand::state::Preserve;
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

/// Names no candidate, in one way or another.
#[derive(Clone, Copy, Preserve)]
enum Wrong {
    NoBlock,
    Nothing,
    Taken(Block),
    Fullest,
}

impl Victim for Wrong {
    fn taken(&mut self, _counters: &Counters, block: Block) {
        if let Self::Taken(last) = self {
            *last = block;
        }
    }

    fn choose(&mut self, view: &View<'_>) -> Option<Choice> {
        match *self {
            Self::NoBlock => Some(Choice::new(Block(u32::MAX), u32::MAX)),
            Self::Nothing => None,
            Self::Taken(block) => Some(Choice::new(block, 0)),
            // A candidate, but one that gains nothing as long as there is a full one.
            Self::Fullest => {
                view.candidates().max_by_key(|(_, live)| *live).map(|(block, _)| Choice::new(block, view.blocks()))
            }
        }
    }
}

static NO_BLOCK: VictimSpec = VictimSpec::new("no-block", "a block that there is not", |_| Box::new(Wrong::NoBlock));
static NOTHING: VictimSpec = VictimSpec::new("nothing", "none, whatever there is", |_| Box::new(Wrong::Nothing));
static TAKEN: VictimSpec = VictimSpec::new("taken", "the last again", |_| Box::new(Wrong::Taken(Block(0))));
static FULLEST: VictimSpec = VictimSpec::new("fullest", "the most live pages", |_| Box::new(Wrong::Fullest));

state! {
    /// Names streams that there are not, and looks at blocks that there are not.
    struct Astray {
        asked: Table<u8>,
    }
}

impl Placement for Astray {
    fn host(&mut self, view: &View<'_>, _write: &HostWrite) -> u8 {
        self.asked[0] = self.asked[0].wrapping_add(1);
        let beyond = Block(u32::MAX);
        let seen = view.since_first_write(beyond) + view.erases(beyond) + u32::from(view.counters().live(beyond));
        assert!(seen > 0 && !view.counters().is_candidate(beyond) && !view.is_metadata(beyond));
        self.asked[0]
    }

    fn moved(&mut self, _view: &View<'_>, _page: &MovedPage) -> u8 {
        u8::MAX
    }

    fn recovered(&self) -> u8 {
        2
    }

    fn collecting(&mut self, _view: &View<'_>, _victim: Block) -> u32 {
        u32::MAX
    }
}

fn astray(_context: &Context) -> Box<dyn Placement> {
    Box::new(Astray { asked: Table::new("placement.asked", 1, 0) })
}

static ASTRAY: PlacementSpec = PlacementSpec::new("astray", "streams that there are not", |_| 2, astray)
    .asks(|_| Asks::NOTHING.pages().places())
    .wants(|_| Wants::NOTHING.times().erases());

fn host(ftl: &str, change: impl Fn(PageParts) -> PageParts) -> Host {
    let Composition::PageMapped(parts) = parts_of(ftl) else { panic!("{ftl}") };
    let composition = Composition::PageMapped(change(parts));
    let mut config = Config::new(ftl, composition, u32::MAX, 1);
    let geometry = small(16, 192, 1, 1);
    let Err(FtlError::DoesNotFit { usable_pages, .. }) = format(&mut plugged(geometry), &config, Time::ZERO) else {
        panic!("{ftl}")
    };
    config.logical_pages = usable_pages as u32 / 2;
    Host::new(chips(geometry), config, 1)
}

/// Random requests and power cuts; how many answers were replaced since the last one.
fn lives(mut host: Host) -> u64 {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(3);
    let mut replaced = 0;
    for _ in 0..6 {
        host.overwrite().unwrap();
        for _ in 0..600 {
            let step = Step::by_chance(&mut rng, host.logical_pages());
            host.step(&step).unwrap();
        }
        host.check();
        let counters = host.ftl.as_ref().unwrap().counters();
        replaced += counters.iter().find(|counter| counter.name == "policy_answers_replaced").map_or(0, |c| c.value);
        host.compare_all();
        host.step(&Step::Cut).unwrap();
        host.compare_all();
    }
    replaced
}

#[test]
fn a_victim_that_is_no_candidate_is_replaced_and_nothing_is_lost() {
    for ftl in ["page", "geckoftl", "mu-ftl"] {
        for victim in [&NO_BLOCK, &NOTHING, &TAKEN] {
            let replaced = lives(host(ftl, |parts| PageParts { victim: victim.chosen(), ..parts }));
            assert!(replaced > 0, "{ftl} {}", victim.chosen().name());
        }
    }
}

#[test]
fn a_victim_with_nothing_to_gain_does_not_go_on_for_ever() {
    for ftl in ["page", "geckoftl"] {
        lives(host(ftl, |parts| PageParts { victim: FULLEST.chosen(), ..parts }));
    }
}

#[test]
fn a_stream_that_there_is_not_is_replaced_and_nothing_is_lost() {
    for ftl in ["page", "geckoftl", "mu-ftl"] {
        let replaced = lives(host(ftl, |parts| PageParts { placement: ASTRAY.chosen(), ..parts }));
        assert!(replaced > 0, "{ftl}");
    }
}

#[test]
fn a_placement_without_a_stream_is_refused() {
    static NONE: PlacementSpec = PlacementSpec::new("none", "no stream", |_| 0, astray);
    static MANY: PlacementSpec = PlacementSpec::new("many", "too many streams", |_| 241, astray);
    for placement in [&NONE, &MANY] {
        let parts = PageParts { placement: placement.chosen(), ..PageParts::PAGE };
        let config = Config::new("page", Composition::PageMapped(parts), 100, 1);
        let error = format(&mut plugged(small(16, 64, 1, 1)), &config, Time::ZERO).map(|_| ()).unwrap_err();
        assert!(matches!(error, FtlError::Unsupported(_)), "{error}");
    }
}

#[test]
fn what_a_policy_keeps_is_in_the_ledger() {
    let with = host("page", |parts| PageParts { placement: ASTRAY.chosen(), ..parts });
    let ledger = with.ftl.as_ref().unwrap().ram();
    assert!(ledger.papers().any(|entry| entry == ("placement.asked", 1)));
    assert!(ledger.all().any(|(name, bytes)| name == "index.policy_tables" && bytes > 0));
}

/// Uniform writes are not worth the reads of old copies, and skewed ones are.
#[test]
fn old_copies_are_read_while_lives_differ() {
    for (hot, differ) in [(1, 0), (8, 1)] {
        let mut host = Host::with_share("geckoftl+lifetimes", small(16, 512, 1, 1), 0.8);
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(3);
        let pages = host.logical_pages();
        let mut write = |host: &mut Host, drives: u32| {
            for _ in 0..drives * pages {
                // All but a `hot`th of the writes go to a `hot`th of the pages.
                let part = if below(&mut rng, hot) > 0 { u64::from(pages) / hot } else { pages.into() };
                host.write(below(&mut rng, part) as u32, 1, false).unwrap();
            }
        };
        write(&mut host, 6);
        assert_eq!(host.counter("lives_differ"), differ, "{hot}");
        let fetched = host.counter("entries_fetched_for_placement");
        write(&mut host, 1);
        let fetched = (host.counter("entries_fetched_for_placement") - fetched) * 100 / u64::from(pages);
        // A sixteenth of the pages is followed in any case.
        assert!(if differ == 1 { fetched > 20 } else { fetched < 8 }, "{hot}: {fetched} %");
    }
}
