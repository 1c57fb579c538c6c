//! # Execution pipes and result bus
//! Carry results from operand read to writeback, and arbitrate the result bus. When a pipe accepts an
//! instruction, it reserves a writeback cycle on the result bus, in a calendar with one row per future cycle.
//! The result waits in the pipe until that cycle. The model keeps the results in flight of all pipes and
//! stages in one table.
//!
//! Part of `rtl/sm/core.rs`.
//! Twin: `golden/interp.rs`, whole kernels.
//! Bench: its own tests and `tb/sm/timing.rs`.

use serde::{Deserialize, Serialize};
use serde_big_array::BigArray;

use super::alu::Words;
use crate::kernel::{AnyEdge, Array, ArraySpec, Collide, Describe, DescribeExt, FieldsExt, Logic, Payload, Storage};
use crate::l1::access::LANES;
use crate::sm::SmConfig;
use crate::sm::front::decode::{PIPES, Pipe};
use crate::sm::front::issue::{HalfOrder, Issue};
use crate::sm::front::scheduler::MAX_SCHEDULERS;
use crate::sm::host::image::RESULT_WORDS;

/// Number of future cycles that the result bus calendar spans [core cycles].
pub(in crate::sm) const CALENDAR_CYCLES: usize = 1024;
/// Maximum number of results in flight.
const FLIGHTS: usize = 64;

/// Result in flight between issue and writeback.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(in crate::sm) struct Flight {
    pub warp: u8,
    /// Half of a 64-lane warp: 0 or 1. The field `more` is true if this is the lower half and the upper half
    /// issues next.
    pub half: u8,
    pub more: bool,
    /// First register row of the warp or half. It could be derived from the warp slot; the copy speeds up the
    /// simulation.
    pub rows: u16,
    pub pc: u32,
    /// Mask of the lanes in which the instruction acts.
    pub mask: u32,
    /// Predicate results as lane masks, in the order of the destinations.
    pub preds: [u32; 2],
    /// Writeback cycle of the result.
    due: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Payload)]
struct ResultRow(#[payload(name = "lane")] [[u32; LANES]; RESULT_WORDS]);

/// Results that retire in one cycle. Each byte is an index in the table of results in flight; the result
/// scheduled last is in the lowest byte. Unused bytes are 0xff.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::sm) struct RetiringResults(u64);

impl RetiringResults {
    const NONE: Self = Self(u64::MAX);

    /// Returns the number of results that retire.
    #[inline(always)]
    pub fn count(self) -> u32 {
        8 - self.0.leading_ones() / 8
    }

    #[inline(always)]
    fn add(&mut self, slot: u8) {
        self.0 = self.0 << 8 | u64::from(slot);
    }
}

impl Iterator for RetiringResults {
    type Item = u8;

    #[inline(always)]
    fn next(&mut self) -> Option<u8> {
        let slot = self.0 as u8;
        self.0 = self.0 >> 8 | 0xff << 56;
        (usize::from(slot) < FLIGHTS).then_some(slot)
    }
}

/// Execution pipes of an SM and their results in flight.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::sm) struct Pipes {
    bus: u8,
    /// Bit of a calendar entry that shows whether the result bus has room in the entry's cycle. An entry has
    /// one byte per result. The bit is the top bit of the last byte that the width of the bus permits. It is
    /// 1 while this byte is unused (0xff), and 0 once the byte holds the index of a result.
    room: u64,
    /// For each pipe and scheduler, first cycle in which the pipe accepts an instruction of the scheduler.
    /// Used only if the SM has no operand collectors. Schedulers that share a pipe use the pipe's first
    /// entry.
    #[serde(with = "BigArray")]
    free: [u64; MAX_SCHEDULERS * PIPES],
    /// For each pipe, mask that is applied to a scheduler's number to obtain an entry number in the table
    /// `free`. It is `MAX_SCHEDULERS - 1` if each scheduler has its own entry, and 0 if all schedulers use
    /// entry 0.
    places: [u8; PIPES],
    schedulers: usize,
    sub_cores: bool,
    /// Number of 32-lane halves per warp.
    halves: u32,
    /// Pipes that instructions occupy for their initiation interval. Waveforms and digests show the state of
    /// these pipes.
    shown: Vec<Pipe>,
    #[serde(with = "BigArray")]
    flights: [Flight; FLIGHTS],
    busy: u64,
    results: Array<ResultRow>,
    /// Results that retire in each cycle, indexed by cycle modulo the calendar span.
    #[serde(with = "BigArray")]
    calendar: [RetiringResults; CALENDAR_CYCLES],
}

impl Pipes {
    pub fn new(path: &str, config: &SmConfig) -> Self {
        let spec = ArraySpec {
            path: format!("{path}.results"),
            storage: Storage::Flops,
            rows: FLIGHTS as u32,
            columns: 1,
            reads: config.pipes.result_bus.into(),
            writes: config.schedulers,
            collide: Collide::New,
        };
        Self {
            bus: config.pipes.result_bus,
            room: 0x80 << (8 * (config.pipes.result_bus - 1)),
            free: [0; MAX_SCHEDULERS * PIPES],
            // With sub-cores, each scheduler has its own entry in the table `free`, even for a pipe that all
            // schedulers share. For such a pipe, `keep` updates the entries of all schedulers.
            places: Pipe::ALL
                .map(|pipe| if config.sub_cores || pipe.is_own(false) { MAX_SCHEDULERS as u8 - 1 } else { 0 }),
            sub_cores: config.sub_cores,
            schedulers: config.schedulers as usize,
            halves: config.halves(),
            shown: Pipe::ALL.into_iter().filter(|pipe| pipe.is_kept() && pipe.exists(&config.pipes)).collect(),
            flights: [Flight::default(); FLIGHTS],
            busy: 0,
            results: Array::new(spec, ()),
            calendar: [RetiringResults::NONE; CALENDAR_CYCLES],
        }
    }

    /// Returns the first cycle in which a pipe accepts an instruction of a scheduler.
    #[inline(always)]
    pub fn free_at(&self, pipe: Pipe, scheduler: usize) -> u64 {
        self.free[self.place(pipe, scheduler)]
    }

    /// Sets the first cycle in which a pipe accepts an instruction of a scheduler.
    #[inline(always)]
    pub fn open(&mut self, pipe: Pipe, scheduler: usize, from: u64) {
        self.free[self.place(pipe, scheduler)] = from;
    }

    /// Sets the first cycle in which a pipe accepts its next instruction, for all schedulers that share the
    /// pipe.
    #[inline(always)]
    pub fn keep(&mut self, pipe: Pipe, scheduler: usize, from: u64) {
        self.open(pipe, scheduler, from);
        if self.sub_cores && !pipe.is_own(true) {
            (0..self.schedulers).for_each(|scheduler| self.open(pipe, scheduler, from));
        }
    }

    /// Returns the index of the entry for a pipe and a scheduler in the table `free`, which holds the first
    /// cycle in which each pipe is free.
    #[inline(always)]
    fn place(&self, pipe: Pipe, scheduler: usize) -> usize {
        pipe as usize * MAX_SCHEDULERS + (scheduler & usize::from(self.places[pipe as usize])) % MAX_SCHEDULERS
    }

    /// True if the in-flight table is full.
    pub fn is_full(&self) -> bool {
        self.busy == u64::MAX
    }

    /// True if no result is in flight.
    pub fn is_empty(&self) -> bool {
        self.busy == 0
    }

    /// True if the result bus has room for another result in cycle `cycle`.
    #[inline(always)]
    pub fn has_room(&self, cycle: u64) -> bool {
        self.calendar[cycle as usize % CALENDAR_CYCLES].0 & self.room != 0
    }

    /// Returns the first cycle, at or after `cycle`, in which the result bus has room.
    pub fn first_room(&self, cycle: u64) -> u64 {
        (cycle..).find(|&cycle| self.has_room(cycle)).unwrap_or(cycle)
    }

    /// Adds a result to the table of results in flight and schedules its writeback for cycle `due`. `fill`
    /// computes the words of the result and returns its predicates.
    ///
    /// # Panics
    /// Panics if the table or the bus has no room, or the cycle is beyond the calendar.
    #[inline(always)]
    pub fn start(
        &mut self,
        at: &impl AnyEdge,
        &Issue { warp, half, turn, rows, pc, mask, .. }: &Issue,
        due: u64,
        fill: impl FnOnce(&mut Words) -> [u32; 2],
    ) {
        let slot = (!self.busy).trailing_zeros();
        let ahead = due - at.cycle();
        if !(1..CALENDAR_CYCLES as u64).contains(&ahead) || slot >= FLIGHTS as u32 || !self.has_room(due) {
            self.no_room(at, (warp, pc), ahead);
        }
        let mut preds = [0; 2];
        self.results.take_writes(at, 1);
        self.results.change(at, slot as usize, |ResultRow(words)| preds = fill(words));
        self.busy |= 1 << slot;
        let more = turn == HalfOrder::First;
        self.flights[slot as usize % FLIGHTS] = Flight { warp, half, more, rows, pc, mask, preds, due };
        self.calendar[due as usize % CALENDAR_CYCLES].add(slot as u8);
    }

    #[cold]
    #[inline(never)]
    fn no_room(&self, at: &impl AnyEdge, (warp, pc): (u8, u32), ahead: u64) -> ! {
        let (cycle, path) = (at.cycle(), &self.results.spec().path);
        panic!("cycle {cycle}, {path}: no room for the result of warp {warp} pc {pc} in {ahead} cycles")
    }

    /// True if any result has its writeback in `cycle`.
    #[inline(always)]
    pub fn are_due(&self, cycle: u64) -> bool {
        self.calendar[cycle as usize % CALENDAR_CYCLES] != RetiringResults::NONE
    }

    /// Removes the results that retire in this cycle from the calendar, and returns them. Also occupies the
    /// read ports through which later calls of `retire` read the results one by one.
    #[inline(always)]
    pub fn due(&mut self, at: &impl AnyEdge) -> RetiringResults {
        let due = std::mem::replace(&mut self.calendar[at.cycle() as usize % CALENDAR_CYCLES], RetiringResults::NONE);
        self.results.take_reads(at, due.count());
        due
    }

    /// Removes a result that retires in this cycle from the table of results in flight, and returns it.
    #[inline(always)]
    pub fn retire(&mut self, at: &impl AnyEdge, slot: u8) -> (&Flight, &Words) {
        let flight = &self.flights[usize::from(slot) % FLIGHTS];
        if flight.due != at.cycle() {
            self.late(at, flight);
        }
        self.busy &= !(1 << slot);
        (flight, &self.results.cell_at(slot.into()).0)
    }

    #[cold]
    #[inline(never)]
    fn late(&self, at: &impl AnyEdge, &Flight { warp, due, .. }: &Flight) -> ! {
        let (cycle, path) = (at.cycle(), &self.results.spec().path);
        panic!("cycle {cycle}, {path}: result of warp {warp} that was due in cycle {due}")
    }

    /// Returns the first cycle after `cycle` in which a result is written back; `u64::MAX` if no result is in
    /// flight. Results with writeback in `cycle` must have retired.
    pub fn next_due(&self, cycle: u64) -> u64 {
        let mut next = u64::MAX;
        let mut busy = self.busy;
        while busy != 0 {
            next = next.min(self.flights[busy.trailing_zeros() as usize % FLIGHTS].due);
            busy &= busy - 1;
        }
        debug_assert!(next > cycle, "a result due in cycle {next} is still there after cycle {cycle}");
        next
    }

    pub fn record(&mut self) {
        self.results.record();
    }

    /// Lists the pipes and the results in flight for waveforms, digests and area estimates. `free_at` returns
    /// the first cycle in which a pipe accepts an instruction of a scheduler.
    pub fn describe(&self, free_at: &dyn Fn(Pipe, usize) -> u64, to: &mut dyn Describe) {
        // The calendar of the result bus is omitted, because it follows from the writeback cycles of the
        // results in flight.
        let Self { bus, free: _, places, schedulers, halves, shown, flights, busy, results, .. } = self;
        for &pipe in shown {
            let free_at = |scheduler| free_at(pipe, scheduler);
            if places[pipe as usize] == 0 {
                to.part(pipe.name(), |to| to.bits("free_at", free_at(0)));
                continue;
            }
            for scheduler in 0..*schedulers {
                to.parts(pipe.name(), scheduler as u32, |to| to.bits("free_at", free_at(scheduler)));
            }
        }
        to.bits("busy", *busy);
        to.entries("flight", flights, |flight, to| {
            let Flight { warp, half, more, rows: _, pc, mask, preds: [first, second], due } = flight;
            to.sized("warp", u64::from(*warp), 6);
            if *halves > 1 {
                to.flag("half", *half != 0);
                to.flag("more", *more);
            }
            to.bits("pc", *pc);
            to.bits("mask", *mask);
            to.bits("pred0", *first);
            to.bits("pred1", *second);
            to.bits("due", *due);
        });
        to.array("results", results);
        let span = u32::from(*bus) * CALENDAR_CYCLES as u32;
        to.logic("bus_room", Logic::Mux { ways: span, width: 1 });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::{Edge, Wake};
    use crate::sm::core::tests::fermi;

    fn of(warp: u8, pc: u32) -> Issue {
        Issue::whole(0, warp, pc, 1)
    }

    #[test]
    fn a_result_retires_in_its_cycle_and_not_before() {
        let mut pipes = Pipes::new("sm0", &fermi());
        let mut wake = Wake::new(&[1]);
        pipes.start(&Edge::new(1000, 1000, &mut wake), &of(3, 7), 1030, |words| {
            words[0][5] = 9;
            [0; 2]
        });
        assert!(!pipes.are_due(1029) && pipes.are_due(1030));
        let at = Edge::new(1030, 1030, &mut wake);
        let mut due = pipes.due(&at);
        let (flight, words) = pipes.retire(&at, due.next().unwrap());
        assert_eq!((flight.warp, flight.pc, words[0][5]), (3, 7, 9));
        assert!(pipes.is_empty());
    }

    #[test]
    fn the_bus_takes_as_many_results_a_cycle_as_it_is_wide() {
        let mut pipes = Pipes::new("sm0", &fermi());
        let mut wake = Wake::new(&[1]);
        for warp in 0..2 {
            assert_eq!(pipes.first_room(50), 50);
            pipes.start(&Edge::new(40, 40, &mut wake), &of(warp, 0), 50, |_| [0; 2]);
        }
        assert!(!pipes.has_room(50));
        assert_eq!(pipes.first_room(50), 51);
    }

    #[test]
    fn results_due_together_retire_together() {
        let mut pipes = Pipes::new("sm0", &fermi());
        let mut wake = Wake::new(&[1]);
        for warp in [4, 9] {
            pipes.start(&Edge::new(40, 40, &mut wake), &of(warp, 0), 50, |_| [0; 2]);
        }
        let at = Edge::new(50, 50, &mut wake);
        let mut warps = Vec::new();
        let due = pipes.due(&at);
        assert_eq!(due.count(), 2);
        for slot in due {
            warps.push(pipes.retire(&at, slot).0.warp);
        }
        warps.sort_unstable();
        assert_eq!(warps, [4, 9]);
        assert!(pipes.is_empty());
    }

    #[test]
    #[should_panic(expected = "cycle 40, sm0.results: no room for the result of warp 5 pc 6 in 10 cycles")]
    fn a_result_that_the_bus_cannot_take_is_refused() {
        let mut pipes = Pipes::new("sm0", &fermi());
        let mut wake = Wake::new(&[1]);
        for warp in 3..6 {
            pipes.start(&Edge::new(40, 40, &mut wake), &of(warp, 6), 50, |_| [0; 2]);
        }
    }

    #[test]
    fn the_next_writeback_is_the_soonest_of_those_on_their_way() {
        let mut pipes = Pipes::new("sm0", &fermi());
        let mut wake = Wake::new(&[1]);
        assert_eq!(pipes.next_due(1020), u64::MAX);
        for (cycle, due) in [(1018, 1500), (1019, 1030), (1020, 2040)] {
            pipes.start(&Edge::new(cycle, cycle, &mut wake), &of(0, 0), due, |_| [0; 2]);
        }
        assert_eq!(pipes.next_due(1020), 1030);
    }

    #[test]
    fn the_next_writeback_is_found_at_any_distance_across_the_end_of_the_ring() {
        for start in [0, 1, 62, 63, 64, 900, 1023, 5000] {
            for ahead in 1..1023 {
                let mut pipes = Pipes::new("sm0", &fermi());
                let mut wake = Wake::new(&[1]);
                pipes.start(&Edge::new(start, start, &mut wake), &of(0, 0), start + ahead, |_| [0; 2]);
                assert_eq!(pipes.next_due(start), start + ahead);
            }
        }
    }
}
