//! # Testbench of the MSHR
//! Compares the MSHR with a golden model for random sequences of loads, overtaking stores, fills and replays.
//!
//! | testpoint                                                                              | test             |
//! |----------------------------------------------------------------------------------------|------------------|
//! | a load is a primary miss, merges or is refused as in the golden model                  | `any_sequence_*` |
//! | waiters are replayed in the order of fills, then of arrival, each with its set and way | `any_sequence_*` |
//! | a way drains exactly while a line filled into it has waiters                           | `any_sequence_*` |
//! | a fill of a line that is not pending is reported                                       | `any_sequence_*` |
//! | each sector of a line is tracked by the entry that requested it                        | `any_sequence_*` |

use std::collections::BTreeMap;

use golden::l1::event::Sectors;
use golden::l1::mshr as twin;
use golden::l1::mshr::{Verdict, Waits};
use proptest::prelude::*;
use rtl::l1::mshr::{Lookup, Mshr, MshrShape, WHOLE, Waiter};

/// Step of a random test of the MSHR, with its line. The mask of a load selects sectors of the line, and is
/// ignored if lines are not sectored.
#[derive(Clone, Copy, Debug)]
enum Step {
    Load(u64, u8),
    Overtake(u64, u8),
    Fill(u64),
    Leave,
}

/// Load that waits in the MSHR. If several MSHR entries track its sectors, it waits in each of these entries
/// for the sectors of that entry. The test stores sector masks where the hardware stores the lane masks of
/// waiters.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Load {
    slot: u8,
    sectors: u8,
}

impl Waits for Load {
    fn part(self, parts: Sectors) -> Self {
        Self { sectors: self.sectors & parts.0, ..self }
    }
}

const PLACES: u32 = 8;

fn steps(lines: u64, most: usize) -> impl Strategy<Value = Vec<Step>> {
    let line = move || 0..lines;
    let sectors = || 1u8..16;
    let step = prop_oneof![
        6 => (line(), sectors()).prop_map(|(line, sectors)| Step::Load(line, sectors)),
        1 => (line(), sectors()).prop_map(|(line, sectors)| Step::Overtake(line, sectors)),
        2 => line().prop_map(Step::Fill),
        3 => Just(Step::Leave),
    ];
    prop::collection::vec(step, 1..most)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn any_sequence_of_events_leads_to_what_the_golden_map_says(
        entries in 1u32..=5,
        merges in 1u32..=4,
        by_sectors in any::<bool>(),
        steps in steps(6, 200),
    ) {
        Bench::new(entries, merges, by_sectors).run(steps)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn any_sequence_of_events_with_hundreds_of_entries_does_too(
        entries in 60u32..=512,
        merges in 1u32..=8,
        by_sectors in any::<bool>(),
        steps in steps(700, 1500),
    ) {
        Bench::new(entries, merges, by_sectors).run(steps)?;
    }
}

/// MSHR under test, with its golden model.
struct Bench {
    dut: Mshr,
    golden: twin::Mshr<Load>,
    by_sectors: bool,
    /// `places` maps each line to the location (set and way) of its data. `asked` maps each line to the masks
    /// of its sectors in flight, in the order in which they were requested.
    places: BTreeMap<u64, u32>,
    asked: BTreeMap<u64, Vec<u8>>,
}

impl Bench {
    fn new(entries: u32, merges: u32, by_sectors: bool) -> Self {
        let sectors = if by_sectors { 4 } else { 1 };
        let shape = MshrShape { line_bits: 25, set_way_bits: PLACES.ilog2(), sectors };
        Self {
            dut: Mshr::new(entries, merges, shape),
            golden: twin::Mshr::new(entries as usize, merges as usize),
            by_sectors,
            places: BTreeMap::new(),
            asked: BTreeMap::new(),
        }
    }

    fn parts(&self, sectors: u8) -> Sectors {
        if self.by_sectors { Sectors(sectors) } else { Sectors::WHOLE }
    }

    fn run(mut self, steps: Vec<Step>) -> Result<(), TestCaseError> {
        for (i, step) in (0u32..).zip(steps) {
            match step {
                Step::Load(line, sectors) => {
                    let sectors = if self.by_sectors { sectors } else { WHOLE };
                    let coming = self.asked.get(&line).map_or(0, |asked| asked.iter().fold(0, |all, of| all | of));
                    prop_assert_eq!(self.dut.pending_sectors(line), coming);
                    // Sectors already in flight merge with the pending request. The other sectors of the load
                    // are requested separately.
                    for sectors in [sectors & coming, sectors & !coming].into_iter().filter(|sectors| *sectors != 0) {
                        self.load(line, sectors, i)?;
                    }
                }
                Step::Overtake(line, sectors) => self.overtake(line, if self.by_sectors { sectors } else { WHOLE })?,
                Step::Fill(line) => self.fill(line)?,
                Step::Leave => {
                    let lanes = |load: Load| Waiter { slot: load.slot, lanes: load.sectors.into() };
                    let left = self.golden.pop();
                    let expected = left.map(|replay| (replay.line, self.places[&replay.line], lanes(replay.waiter)));
                    prop_assert_eq!(self.dut.pop(), expected);
                }
            }
            self.compare()?;
        }
        Ok(())
    }

    /// Sends a load to the MSHR and the golden model. Its sectors are either all in flight or all absent.
    fn load(&mut self, line: u64, sectors: u8, i: u32) -> Result<(), TestCaseError> {
        let parts = self.parts(sectors);
        let load = Load { slot: (i % 64) as u8, sectors: parts.0 };
        let draining = self.golden.is_draining(line, parts);
        let verdict = self.golden.alloc(line, parts, load);
        let by_sectors = self.by_sectors;
        let waiter = |sectors: u8| Waiter {
            slot: load.slot,
            lanes: if by_sectors { sectors.into() } else { Sectors::WHOLE.0.into() },
        };
        let mut entries = Vec::new();
        let mut left = sectors;
        while left != 0 {
            let lookup = self.dut.lookup(line, left);
            let found = match lookup {
                Lookup::Open(entry) | Lookup::Full(entry) => self.dut.sectors_of(entry),
                Lookup::Draining | Lookup::Free(_) | Lookup::None => u8::MAX,
            };
            entries.push((lookup, left & found));
            left &= !found;
        }
        let is_open = |(lookup, _): &(Lookup, u8)| matches!(lookup, Lookup::Open(_));
        match (entries[0].0, verdict) {
            (Lookup::Free(entry), Verdict::Primary) => {
                prop_assert_eq!(self.dut.free_for(line, sectors), Some(entry));
                let place = *self.places.entry(line).or_insert(i % PLACES);
                let waiter = waiter(sectors);
                self.dut.alloc(entry, (line, sectors), place, waiter);
                self.asked.entry(line).or_default().push(sectors);
            }
            (Lookup::Open(_) | Lookup::Full(_), Verdict::Merged) => {
                prop_assert!(entries.iter().all(is_open), "{:?}", entries);
                let waiters: Vec<_> = entries.iter().map(|(_, of_entry)| waiter(*of_entry)).collect();
                for ((lookup, _), waiter) in entries.iter().zip(waiters) {
                    if let Lookup::Open(entry) = lookup {
                        self.dut.merge(*entry, waiter);
                    }
                }
            }
            (Lookup::Open(_) | Lookup::Full(_), Verdict::RefusedMerge) => {
                prop_assert!(!entries.iter().all(is_open), "{:?}", entries);
            }
            (Lookup::Draining, Verdict::RefusedEntry) => {
                prop_assert!(draining);
                prop_assert_eq!(self.dut.free_for(line, sectors), None);
            }
            (Lookup::None, Verdict::RefusedEntry) => prop_assert!(!draining),
            (seen, expected) => prop_assert!(false, "line {line}: {seen:?}, the twin {expected:?}"),
        }
        Ok(())
    }

    fn overtake(&mut self, line: u64, sectors: u8) -> Result<(), TestCaseError> {
        let closed = self.golden.close(line, self.parts(sectors));
        let mut found = false;
        for sector in (0..4).map(|sector| 1 << sector).filter(|sector| sectors & sector != 0) {
            if let Lookup::Open(entry) | Lookup::Full(entry) = self.dut.lookup(line, sector) {
                found = true;
                self.dut.close(entry);
            }
        }
        prop_assert_eq!(closed, found);
        Ok(())
    }

    /// Fills the most recently requested sectors of a line. The fills of a line therefore arrive out of
    /// order.
    fn fill(&mut self, line: u64) -> Result<(), TestCaseError> {
        let sectors = self.asked.get_mut(&line).and_then(Vec::pop);
        let parts = self.parts(sectors.unwrap_or(WHOLE));
        let expected = self.golden.fill(line, parts).ok().map(|_| self.places[&line]);
        prop_assert_eq!(expected.is_some(), sectors.is_some());
        let sectors = sectors.unwrap_or(WHOLE);
        let pending = self.dut.pending_entry(line, sectors);
        prop_assert_eq!(pending.map(|(_, set_way)| set_way), expected);
        if let Some((entry, _)) = pending {
            self.dut.fill_entry(entry);
        }
        Ok(())
    }

    fn compare(&self) -> Result<(), TestCaseError> {
        let Self { dut, golden, places, .. } = self;
        for (place, sectors) in (0..PLACES).flat_map(|place| [1, 2, 4, 8].map(|sector| (place, sector))) {
            let drains = |line: u64| golden.is_draining(line, self.parts(sectors));
            let draining = places.iter().any(|(line, at)| *at == place && drains(*line));
            prop_assert_eq!(dut.drains(place, sectors), draining, "place {}", place);
        }
        prop_assert_eq!(dut.has_ready(), golden.head().is_some());
        prop_assert_eq!(dut.is_empty(), golden.occupancy() == 0);
        prop_assert_eq!(dut.pending_lines() as usize, golden.pending_lines().count());
        Ok(())
    }
}
