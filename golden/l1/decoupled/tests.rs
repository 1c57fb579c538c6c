use super::*;
use crate::index::{Function, SetIndex};
use crate::l1::cache::{Cache, Config as CacheConfig};
use crate::l1::event::{Event, FailOrder, Load, LoadOutcome, Outcome, Sectors, Space, WriteOutcome};

const LI2015: Config = Config {
    tags: 8,
    threshold: 2,
    above: false,
    first: 0,
    ages_twice: false,
    forgets_any: false,
    stores_age: true,
    starts_original: false,
};

fn cache(bits: u32, filter: Option<Config>) -> Cache<()> {
    Cache::new(CacheConfig {
        index: SetIndex::new(Function::Linear { bits }, 7, 32).unwrap(),
        ways: 4,
        mshr_entries: 4,
        mshr_slots: 4,
        miss_queue: 8,
        fail_order: FailOrder::MshrFirst,
        filter,
        updates: false,
        notifies: false,
    })
}

/// Loads a line; on a miss, its fill follows immediately. Returns `byp` for a bypass, `hit` or `miss`.
fn load(cache: &mut Cache<()>, line: u64) -> &'static str {
    if cache.is_filtered(line) {
        cache.step(Event::Bypass { load: Load::of(line), chosen: true }).unwrap();
        return "byp";
    }
    match cache.step(Event::Load { load: Load::of(line), waiter: (), queue_used: 0 }).unwrap() {
        Outcome::Load(LoadOutcome::Hit) => "hit",
        Outcome::Load(LoadOutcome::Miss { .. }) => {
            cache.step(Event::Fill { line, parts: Sectors::WHOLE }).unwrap();
            cache.step(Event::Drain).unwrap();
            "miss"
        }
        other => panic!("{other:?}"),
    }
}

/// Formats the reuse counts of the lines that have a tag in set 0, in alphabetical order of the lines.
fn counts(cache: &Cache<()>) -> String {
    let mut known = cache.known_lines(0).to_vec();
    known.sort_unstable();
    let each = known.iter().map(|(line, count)| format!("{}{count}", (b'A' + *line as u8) as char));
    each.collect::<Vec<_>>().join(" ")
}

#[test]
fn counts_grow_and_fade_as_in_the_worked_example() {
    let mut cache = cache(0, Some(LI2015));
    for (line, outcome, after) in [
        ('A', "byp", "A0"),
        ('B', "byp", "A0 B0"),
        ('A', "byp", "A1 B0"),
        ('A', "miss", "A2 B0"),
        ('A', "hit", "A3 B0"),
        ('B', "byp", "A3 B1"),
        ('B', "miss", "A2 B2"),
        ('C', "byp", "A2 B2 C0"),
        ('C', "byp", "A2 B2 C1"),
        ('C', "miss", "A1 B1 C2"),
        ('D', "byp", "A1 B1 C2 D0"),
        ('D', "byp", "A1 B1 C2 D1"),
        ('D', "miss", "A0 B0 C1 D2"),
        ('E', "byp", "A0 B0 C1 D2 E0"),
        ('E', "byp", "A0 B0 C1 D2 E1"),
        ('E', "miss", "A0 B0 C0 D1 E2"),
        ('E', "hit", "A0 B0 C0 D1 E3"),
        ('F', "byp", "A0 B0 C0 D1 E3 F0"),
        ('G', "byp", "A0 B0 C0 D1 E3 F0 G0"),
        ('H', "byp", "A0 B0 C0 D1 E3 F0 G0 H0"),
        ('I', "byp", "B0 C0 D1 E3 F0 G0 H0 I0"),
        ('J', "byp", "B0 C0 D1 E3 G0 H0 I0 J0"),
    ] {
        let found = load(&mut cache, u64::from(line as u8 - b'A'));
        assert_eq!((line, found, counts(&cache)), (line, outcome, after.to_owned()));
        assert!(cache.is_consistent());
    }
}

#[test]
fn a_store_starts_the_history_of_its_line_anew() {
    let mut cache = cache(0, Some(LI2015));
    for line in [0, 0, 0, 1] {
        load(&mut cache, line);
    }
    assert_eq!(counts(&cache), "A2 B0");
    load(&mut cache, 1);
    let stored = cache.step(Event::Store { line: 0, parts: Sectors::WHOLE, space: Space::Global, queue_used: 0 });
    assert_eq!(stored, Ok(Outcome::Write(WriteOutcome::Evicted)));
    assert_eq!(counts(&cache), "A0 B0");
    assert_eq!(load(&mut cache, 0), "byp");
}

#[test]
fn an_uncached_load_is_not_counted() {
    let mut cache = cache(0, Some(LI2015));
    cache.step(Event::Bypass { load: Load::of(0), chosen: false }).unwrap();
    assert_eq!(counts(&cache), "");
}

#[test]
fn with_threshold_0_every_access_ends_as_in_an_ordinary_cache() {
    let original = Config { threshold: 0, ..LI2015 };
    let (mut filtered, mut plain) = (cache(1, Some(original)), cache(1, None));
    let mut random = 1u64;
    for _ in 0..200_000 {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let line = (random >> 33) % 20;
        if (random >> 60).is_multiple_of(5) {
            let event = Event::Store { line, parts: Sectors::WHOLE, space: Space::Global, queue_used: 0 };
            assert_eq!(filtered.step(event), plain.step(event));
        } else {
            assert_eq!(load(&mut filtered, line), load(&mut plain, line));
        }
    }
    assert!(filtered.is_consistent());
}
