//! Tests of the cache model with data. The model itself contains no data, so the tests keep a copy of memory
//! and of each L1, and copy lines between them when the model reports a transfer. The memory-consistency
//! checker checks the value of every load.

use std::collections::BTreeMap;

use super::*;
use crate::consistency::{Checker, PendingLoad, Rule, Violation};
use crate::index::{Function, SetIndex};

fn geometry(bits: u32, ways: usize) -> Geometry {
    Geometry { index: SetIndex::new(Function::Linear { bits }, 7, 40).unwrap(), ways }
}

/// Returns the cache configuration of anssari2012 Table 4.1 with sixteen compute units. The parameters set
/// the number of sets and ways of the L1s.
fn config(sets_bits: u32, ways: usize) -> Config {
    let tracker = TrackerConfig { count: 1, geometry: geometry(sets_bits + 3, 2 * ways), list: SharerList::All };
    Config {
        cus: 16,
        l1: geometry(sets_bits, ways),
        l2: L2Config { banks: 8, bank: geometry(2, 2), fetches_written: false },
        tracker: Some(tracker),
        bypass_l1: false,
        bypass_l2: false,
        protections: Protections::ALL,
    }
}

const TABLE_4_1: fn() -> Config = || config(7, 4);

/// Cache model together with its data; each line holds one word that the tests use.
struct SystemWithData {
    system: Hybrid,
    memory: BTreeMap<u64, u64>,
    copies: BTreeMap<(usize, u64), u64>,
    /// Loads that wait for a line in flight, by compute unit and line, with the value that the line will
    /// deliver.
    waiting: BTreeMap<(usize, u64), (u64, Vec<PendingLoad>)>,
    checker: Checker,
}

/// Byte mask of the only word of a line that the tests use: 4 bytes in sector 1.
const WORD: u128 = 0xf << 40;

impl SystemWithData {
    fn new(config: Config) -> Self {
        Self {
            system: Hybrid::new(config),
            memory: BTreeMap::new(),
            copies: BTreeMap::new(),
            waiting: BTreeMap::new(),
            checker: Checker::new(),
        }
    }

    fn in_memory(&self, line: u64) -> u64 {
        self.memory.get(&line).copied().unwrap_or(0)
    }

    /// Issues a load. Returns the loaded value, or `None` if the load must wait for a line in flight.
    fn begin(&mut self, cu: usize, line: u64, contentious: bool) -> Result<Option<u64>, Violation> {
        let load = self.checker.begin(cu, line);
        let value = match self.system.load(cu, line, WORD, contentious) {
            Source::Refused => return Ok(None),
            Source::OwnPending => {
                let (_, loads) = self.waiting.get_mut(&(cu, line)).expect("the line is on its way");
                loads.push(load);
                return Ok(None);
            }
            Source::Own => self.copies[&(cu, line)],
            Source::Remote(supplier) => self.copies[&(supplier, line)],
            Source::Coherent => self.in_memory(line),
        };
        if self.system.pending.contains_key(&(line, cu)) {
            self.waiting.insert((cu, line), (value, vec![load]));
            return Ok(None);
        }
        self.checker.end(load, value)?;
        Ok(Some(value))
    }

    /// Delivers a line in flight to its L1 and completes the loads that wait for it.
    fn arrive(&mut self, cu: usize, line: u64) -> Result<u64, Violation> {
        let (value, loads) = self.waiting.remove(&(cu, line)).expect("the line is on its way");
        if self.system.fill(cu, line) {
            self.copies.insert((cu, line), value);
        }
        loads.into_iter().try_for_each(|load| self.checker.end(load, value))?;
        Ok(value)
    }

    /// Loads a line. If the load misses, its line is delivered immediately.
    fn load(&mut self, cu: usize, line: u64) -> Result<u64, Violation> {
        match self.begin(cu, line, false)? {
            Some(value) => Ok(value),
            None => self.arrive(cu, line),
        }
    }

    fn store(&mut self, cu: usize, line: u64, value: u64) {
        self.checker.store(cu, line, value);
        if self.system.store(cu, line, WORD) {
            self.copies.insert((cu, line), value);
        }
        self.memory.insert(line, value);
        self.checker.perform(cu, line);
    }

    /// Performs an atomic exchange with the word of a line.
    fn exchange(&mut self, cu: usize, line: u64, value: u64) -> Result<(), Violation> {
        self.system.atomic(cu, line, WORD, 1);
        let old = self.memory.insert(line, value).unwrap_or(0);
        self.checker.record_coherent(cu, line, Some(old), Some(value))
    }

    fn end_kernel(&mut self) -> Result<(), Violation> {
        while let Some(&(cu, line)) = self.waiting.keys().next() {
            self.arrive(cu, line)?;
        }
        self.system.end_kernel();
        self.checker.end_kernel();
        Ok(())
    }
}

/// Returns the number of the `n`-th line that maps to set 0 of the L1s of Table 4.1. These L1s have 4 ways,
/// so a fifth such line evicts the first.
fn same_set(n: u64) -> u64 {
    n * 128
}

/// Runs the scenario of anssari2012 section 3.2: compute units P and Q share line X; Q writes X, evicts it
/// from its L1, and reads it again.
fn section_3_2(protections: Protections) -> (Result<u64, Rule>, Counts) {
    let (p, q, x) = (0, 1, same_set(0));
    let mut system = SystemWithData::new(Config { protections, ..TABLE_4_1() });
    system.load(p, x).unwrap();
    system.load(q, x).unwrap();
    system.store(q, x, 1);
    for other in 1..=4 {
        system.load(q, same_set(other)).unwrap();
    }
    system.system.deliver_notices();
    assert!(!system.system.holds(q, x), "Q has dropped X");
    let read = system.load(q, x).map_err(|violation| violation.rule);
    (read, *system.system.counts())
}

#[test]
fn the_tracker_that_stores_do_not_touch_returns_the_old_value_and_the_checker_says_so() {
    let (read, counts) = section_3_2(Protections { store_untracks: false, ..Protections::ALL });
    assert_eq!(read, Err(Rule::OwnStore));
    assert_eq!(counts.remote_hits, 2);
}

#[test]
fn the_corrected_tracker_returns_the_new_value() {
    let (read, counts) = section_3_2(Protections::ALL);
    assert_eq!(read, Ok(1));
    assert_eq!(counts.remote_hits, 1, "only the first load of Q");
}

/// Runs a scenario in which compute unit P requests a line before compute unit Q stores to it. P receives the
/// line after that store.
fn fill_race(protections: Protections) -> Result<u64, Rule> {
    let (p, q, x) = (0, 1, same_set(0));
    let mut system = SystemWithData::new(Config { protections, ..TABLE_4_1() });
    assert_eq!(system.begin(p, x, false), Ok(None));
    system.load(q, x).unwrap();
    system.store(q, x, 1);
    for other in 1..=4 {
        system.load(q, same_set(other)).unwrap();
    }
    system.system.deliver_notices();
    system.arrive(p, x).unwrap();
    system.load(q, x).map_err(|violation| violation.rule)
}

#[test]
fn what_goes_to_the_coherent_domain_takes_the_units_own_copy_along() {
    let (own, other, line) = (0, 1, same_set(0));
    let coherent: [fn(&mut Hybrid, usize, u64); 3] = [
        |system, cu, line| system.coherent_load(cu, line, WORD),
        |system, cu, line| system.coherent_store(cu, line, WORD),
        |system, cu, line| system.atomic(cu, line, WORD, 1),
    ];
    for operation in coherent {
        let mut system = SystemWithData::new(TABLE_4_1());
        for cu in [own, other] {
            system.load(cu, line).unwrap();
        }
        operation(&mut system.system, own, line);
        assert_eq!([own, other].map(|cu| system.system.holds(cu, line)), [false, true]);
    }
}

#[test]
fn a_fill_that_a_store_overtook_is_not_listed() {
    assert_eq!(fill_race(Protections::ALL), Ok(1));
}

#[test]
fn a_fill_that_is_listed_though_a_store_overtook_it_returns_the_old_value() {
    let protections = Protections { poisons_fills: false, ..Protections::ALL };
    assert_eq!(fill_race(protections), Err(Rule::OwnStore));
}

#[test]
fn a_supplier_that_dropped_the_line_says_so_and_memory_answers() {
    let (p, q, x) = (0, 1, same_set(0));
    let mut system = SystemWithData::new(TABLE_4_1());
    for line in 0..=4 {
        system.load(p, same_set(line)).unwrap();
    }
    assert!(!system.system.holds(p, x));
    system.load(q, x).unwrap();
    let counts = *system.system.counts();
    assert_eq!((counts.nacks, counts.remote_hits), (1, 0));
}

#[test]
fn suppliers_take_turns_and_the_requester_is_none() {
    let mut system = Hybrid::new(TABLE_4_1());
    for cu in 0..3 {
        system.load(cu, 9, u128::MAX, false);
        system.fill(cu, 9);
    }
    let sources: Vec<_> = (3..7).map(|cu| system.load(cu, 9, u128::MAX, false)).collect();
    // When compute units 1 and 2 loaded the line, the L1s of compute units 0 and 1 supplied it. The
    // round-robin search for the next supplier therefore starts with the L1 of compute unit 2.
    assert_eq!(sources, [Source::Remote(2), Source::Remote(0), Source::Remote(1), Source::Remote(2)]);
}

#[test]
fn isolated_trackers_know_their_own_compute_units_only() {
    let tracker = TrackerConfig { count: 4, ..TABLE_4_1().tracker.unwrap() };
    let mut system = Hybrid::new(Config { tracker: Some(tracker), ..TABLE_4_1() });
    system.load(0, 9, u128::MAX, false);
    system.fill(0, 9);
    assert_eq!(system.load(4, 9, u128::MAX, false), Source::Coherent);
    assert_eq!(system.load(3, 9, u128::MAX, false), Source::Remote(0));
}

#[test]
fn an_entry_with_one_sharer_names_the_last_to_fill() {
    let tracker = TrackerConfig { list: SharerList::Last, ..TABLE_4_1().tracker.unwrap() };
    let mut system = Hybrid::new(Config { tracker: Some(tracker), ..TABLE_4_1() });
    for cu in [2, 5] {
        system.load(cu, 9, u128::MAX, false);
        system.fill(cu, 9);
    }
    assert_eq!(system.load(7, 9, u128::MAX, false), Source::Remote(5));
}

#[test]
fn contention_begins_where_an_instruction_touches_a_warps_whole_part() {
    let config = TABLE_4_1();
    // The L1 has 512 lines. The share of each warp is 8 lines with 64 warps, and 32 lines with 16 warps.
    assert!(!config.is_contentious(7, 64));
    assert!(config.is_contentious(8, 64));
    assert!(!config.is_contentious(31, 16));
    assert!(config.is_contentious(32, 16));
}

#[test]
fn a_contentious_load_moves_its_sectors_only_and_leaves_the_l1_alone() {
    let mut system = Hybrid::new(Config { bypass_l1: true, ..TABLE_4_1() });
    assert_eq!(system.load(0, 9, WORD, true), Source::Coherent);
    assert!(!system.holds(0, 9));
    assert_eq!((system.counts().dram_reads, system.counts().network_bytes), (1, 8 + 8 + 32));
    assert_eq!(system.load(0, 9, WORD, false), Source::Coherent);
    assert!(system.fill(0, 9));
    assert_eq!((system.counts().dram_reads, system.counts().l2_hits), (4, 1));
}

#[test]
fn a_store_fetches_the_sectors_that_it_writes_in_part() {
    let mut system = Hybrid::new(TABLE_4_1());
    system.store(0, 9, WORD | u128::from(u32::MAX) << 64);
    assert_eq!((system.counts().dram_reads, system.counts().l2_accesses), (1, 2));
    let l2 = L2Config { fetches_written: true, ..TABLE_4_1().l2 };
    let mut system = Hybrid::new(Config { l2, ..TABLE_4_1() });
    system.store(0, 9, WORD | u128::from(u32::MAX) << 64);
    assert_eq!((system.counts().dram_reads, system.counts().l2_accesses), (2, 2), "the one written whole too");
    system.store(0, 9, u128::from(u32::MAX) << 64);
    assert_eq!(system.counts().dram_reads, 2, "it is there");
}

/// The L2 of these tests has 8 banks, each with 4 sets of 2 L2 lines. Sector 0 of every L1 line whose number
/// is a multiple of 8 maps to the same set of the same bank.
#[test]
fn what_was_written_is_owed_to_dram_until_it_is_written_back() {
    let mut system = Hybrid::new(TABLE_4_1());
    for line in 0..3 {
        system.store(0, 8 * line, u128::from(u32::MAX));
    }
    system.load(0, 801, WORD, false);
    system.fill(0, 801);
    system.end_kernel();
    assert_eq!((system.counts().dram_writes, system.counts().dram_owed), (1, 2));
    let moved = system.counts().dram_reads + 3;
    assert_eq!(system.counts().dram_bytes_in_the_end(), moved * SECTOR_BYTES as u64);
}

#[test]
fn atomics_stay_in_the_buffer_until_another_access_needs_the_line() {
    let mut system = Hybrid::new(TABLE_4_1());
    system.atomic(0, 9, WORD, 3);
    system.atomic(1, 9, WORD, 2);
    assert_eq!((system.counts().buffer_hits, system.counts().l2_accesses, system.counts().atomics), (1, 1, 5));
    system.coherent_load(2, 9, WORD);
    assert_eq!((system.counts().l2_accesses, system.counts().l2_hits), (3, 2), "sent back, and read");
    system.atomic(1, 9, WORD, 1);
    assert_eq!(system.counts().buffer_hits, 1);
}

/// Runs random operations of sixteen compute units on 12 lines. Lines and eviction notices in flight are
/// delivered at random times.
fn random(config: Config, seed: u64, steps: u32) -> Result<(), Violation> {
    let mut system = SystemWithData::new(config);
    let mut state = seed;
    let mut draw = move |below: u64| {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (state >> 33) % below
    };
    for step in 1..=u64::from(steps) {
        let (cu, line) = (draw(16) as usize, draw(12));
        match draw(100) {
            0..45 => drop(system.begin(cu, line, draw(8) == 0)?),
            45..60 => system.store(cu, line, step),
            60..64 => system.exchange(cu, line, step)?,
            64..95 => {
                let nth = draw(system.waiting.len().max(1) as u64) as usize;
                if let Some(&(cu, line)) = system.waiting.keys().nth(nth) {
                    system.arrive(cu, line)?;
                }
            }
            95..99 => system.system.deliver_notices(),
            _ if draw(20) == 0 => system.end_kernel()?,
            _ => {}
        }
    }
    system.end_kernel()
}

fn small() -> Config {
    Config { bypass_l1: true, ..config(1, 2) }
}

#[test]
fn no_rule_is_broken_under_random_operations_with_any_tracker() {
    for (count, list) in [(1, SharerList::All), (1, SharerList::Last), (2, SharerList::All), (4, SharerList::All)] {
        let tracker = TrackerConfig { count, list, ..small().tracker.unwrap() };
        let config = Config { tracker: Some(tracker), ..small() };
        for seed in 0..5 {
            random(config, seed, 20_000).unwrap();
        }
    }
    random(Config { tracker: None, ..small() }, 0, 20_000).unwrap();
}

#[test]
fn each_protection_taken_away_breaks_its_rule() {
    let all = Protections::ALL;
    let weakened = [
        (Protections { store_untracks: false, ..all }, Rule::OwnStore),
        (Protections { coherent_untracks: false, ..all }, Rule::Coherent),
        (Protections { poisons_fills: false, ..all }, Rule::OwnStore),
        (Protections { drops_overtaken: false, ..all }, Rule::OwnStore),
        (Protections { flushes: false, ..all }, Rule::KernelEnd),
    ];
    for (protections, rule) in weakened {
        let broken = |seed| random(Config { protections, ..small() }, seed, 20_000).err();
        let violations: Vec<_> = (0..5).filter_map(broken).map(|violation| violation.rule).collect();
        assert!(violations.contains(&rule), "{protections:?} broke {violations:?}");
    }
}
