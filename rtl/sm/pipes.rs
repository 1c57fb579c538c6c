//! # Execution pipes and result bus
//! Carries results from operand read to writeback. An instruction that a pipe takes reserves its
//! writeback cycle on the result bus at once, in a calendar with one row per future cycle; until
//! then its result waits in the pipe. The model keeps all results on their way in one table,
//! whatever stage of whatever pipe they are in.

use super::SmConfig;
use super::alu::Words;
use super::decode::Pipe;
use super::image::RESULT_WORDS;
use crate::kernel::{
    Array, ArraySpec, Collide, Describe, DescribeExt, Edge, Fields, FieldsExt, Logic, Payload, Storage,
};
use crate::l1::access::LANES;

/// Cycles that the calendar spans.
pub(super) const CALENDAR_CYCLES: usize = 1024;
/// Most results on their way.
const FLIGHTS: usize = 64;
/// Most results a cycle.
const MAX_BUS: usize = 4;

/// A result on its way.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Flight {
    pub(super) warp: u8,
    pub(super) pc: u32,
    /// Lanes in which the instruction acts.
    pub(super) mask: u32,
    /// Predicate results.
    pub(super) preds: [u32; 2],
    /// Writeback cycle.
    due: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct ResultRow([[u32; LANES]; RESULT_WORDS]);

impl Payload for ResultRow {
    type Shape = ();
    fn fields<F: Fields + ?Sized>(&self, (): &(), to: &mut F) {
        let Self(words) = self;
        for word in words {
            for lane in word {
                to.bits("lane", *lane);
            }
        }
    }
}

/// Which results leave in which cycle.
#[derive(Clone, Debug)]
struct Calendar {
    rows: Box<[[u8; MAX_BUS]; CALENDAR_CYCLES]>,
    count: Box<[u8; CALENDAR_CYCLES]>,
    filled: [u64; CALENDAR_CYCLES / 64],
}

/// The pipes of an SM.
#[derive(Clone, Debug)]
pub(super) struct Pipes {
    bus: u8,
    /// First cycle in which each scheduler's SP pipe takes an instruction.
    sp_free: Box<[u64]>,
    sfu_free: u64,
    dp_free: u64,
    shared_free: u64,
    flights: Box<[Flight; FLIGHTS]>,
    busy: u64,
    results: Array<ResultRow>,
    calendar: Calendar,
}

impl Pipes {
    pub(super) fn new(path: &str, config: &SmConfig) -> Self {
        let spec = ArraySpec {
            path: format!("{path}.results"),
            storage: Storage::Flops,
            rows: FLIGHTS as u32,
            columns: 1,
            reads: config.pipes.result_bus.into(),
            writes: config.schedulers,
            collide: Collide::New,
        };
        let calendar = Calendar {
            rows: Box::new([[0; MAX_BUS]; CALENDAR_CYCLES]),
            count: Box::new([0; CALENDAR_CYCLES]),
            filled: [0; CALENDAR_CYCLES / 64],
        };
        Self {
            bus: config.pipes.result_bus,
            sp_free: vec![0; config.schedulers as usize].into(),
            sfu_free: 0,
            dp_free: 0,
            shared_free: 0,
            flights: Box::new([Flight::default(); FLIGHTS]),
            busy: 0,
            results: Array::new(spec, ()),
            calendar,
        }
    }

    /// First cycle in which a pipe takes an instruction of a scheduler.
    pub(super) fn free_at(&self, pipe: Pipe, scheduler: usize) -> u64 {
        match pipe {
            Pipe::Sp => self.sp_free[scheduler],
            Pipe::Sfu => self.sfu_free,
            Pipe::Dp => self.dp_free,
            Pipe::Shared => self.shared_free,
            Pipe::Param | Pipe::Global | Pipe::Control | Pipe::Barrier => 0,
        }
    }

    /// Keeps a pipe until the given cycle.
    pub(super) fn occupy(&mut self, pipe: Pipe, scheduler: usize, until: u64) {
        match pipe {
            Pipe::Sp => self.sp_free[scheduler] = until,
            Pipe::Sfu => self.sfu_free = until,
            Pipe::Dp => self.dp_free = until,
            Pipe::Shared => self.shared_free = until,
            Pipe::Param | Pipe::Global | Pipe::Control | Pipe::Barrier => {}
        }
    }

    /// True if no further result can be on its way.
    pub(super) fn is_full(&self) -> bool {
        self.busy == u64::MAX
    }

    /// True if nothing is on its way.
    pub(super) fn is_empty(&self) -> bool {
        self.busy == 0
    }

    /// True if the result bus has room in a cycle.
    pub(super) fn has_room(&self, cycle: u64) -> bool {
        self.calendar.count[cycle as usize % CALENDAR_CYCLES] < self.bus
    }

    /// The first cycle from `cycle` on in which the result bus has room.
    pub(super) fn first_room(&self, cycle: u64) -> u64 {
        (cycle..).find(|&cycle| self.has_room(cycle)).unwrap_or(cycle)
    }

    /// Sends a result on its way; `fill` computes it and returns the predicates.
    ///
    /// # Panics
    /// If the table or the bus has no room, or the cycle is beyond the calendar.
    pub(super) fn start(
        &mut self,
        at: &Edge<'_>,
        (warp, pc, mask): (u8, u32, u32),
        due: u64,
        fill: impl FnOnce(&mut Words) -> [u32; 2],
    ) {
        let slot = (!self.busy).trailing_zeros();
        let ahead = due - at.cycle;
        assert!(
            (1..CALENDAR_CYCLES as u64).contains(&ahead) && slot < FLIGHTS as u32 && self.has_room(due),
            "cycle {}, {}: no room for the result of warp {warp} pc {pc} in {ahead} cycles",
            at.cycle,
            self.results.spec().path
        );
        let mut preds = [0; 2];
        self.results.update(at, slot, 0, |ResultRow(words)| preds = fill(words));
        self.busy |= 1 << slot;
        self.flights[slot as usize] = Flight { warp, pc, mask, preds, due };
        let row = due as usize % CALENDAR_CYCLES;
        let calendar = &mut self.calendar;
        calendar.rows[row][usize::from(calendar.count[row])] = slot as u8;
        calendar.count[row] += 1;
        calendar.filled[row / 64] |= 1 << (row % 64);
    }

    /// Takes one result whose writeback cycle is now.
    pub(super) fn retire(&mut self, at: &Edge<'_>) -> Option<(Flight, &Words)> {
        let row = at.cycle as usize % CALENDAR_CYCLES;
        let calendar = &mut self.calendar;
        let left = calendar.count[row].checked_sub(1)?;
        let slot = calendar.rows[row][usize::from(left)];
        calendar.count[row] = left;
        if left == 0 {
            calendar.filled[row / 64] &= !(1 << (row % 64));
        }
        self.busy &= !(1 << slot);
        let flight = self.flights[usize::from(slot)];
        assert_eq!(flight.due, at.cycle, "{}: result of warp {} late", self.results.spec().path, flight.warp);
        Some((flight, &self.results.read(at, slot.into())[0].0))
    }

    /// The first writeback cycle after `cycle`; `u64::MAX` if nothing is on its way.
    pub(super) fn next_due(&self, cycle: u64) -> u64 {
        const WORDS: usize = CALENDAR_CYCLES / 64;
        if self.busy == 0 {
            return u64::MAX;
        }
        let start = (cycle + 1) as usize % CALENDAR_CYCLES;
        for step in 0..=WORDS {
            let word = (start / 64 + step) % WORDS;
            let below = !(u64::MAX << (start % 64));
            let bits = match step {
                0 => self.calendar.filled[word] & !below,
                WORDS => self.calendar.filled[word] & below,
                _ => self.calendar.filled[word],
            };
            if bits != 0 {
                let row = word * 64 + bits.trailing_zeros() as usize;
                return cycle + 1 + ((row + CALENDAR_CYCLES - start) % CALENDAR_CYCLES) as u64;
            }
        }
        u64::MAX
    }

    pub(super) fn record(&mut self) {
        self.results.record();
    }

    pub(super) fn describe(&self, to: &mut dyn Describe) {
        // The calendar follows from the writeback cycles of the results on their way.
        let Self { bus, sp_free, sfu_free, dp_free, shared_free, flights, busy, results, calendar: _ } = self;
        for (scheduler, free) in sp_free.iter().enumerate() {
            to.parts("sp", scheduler as u32, |to| to.bits("free_at", *free));
        }
        to.bits("sfu_free_at", *sfu_free);
        to.bits("dp_free_at", *dp_free);
        to.bits("shared_free_at", *shared_free);
        to.bits("busy", *busy);
        for (slot, Flight { warp, pc, mask, preds: [first, second], due }) in flights.iter().enumerate() {
            to.parts("flight", slot as u32, |to| {
                to.sized("warp", u64::from(*warp), 6);
                to.bits("pc", *pc);
                to.bits("mask", *mask);
                to.bits("pred0", *first);
                to.bits("pred1", *second);
                to.bits("due", *due);
            });
        }
        to.array("results", results);
        let span = u32::from(*bus) * CALENDAR_CYCLES as u32;
        to.logic("bus_room", Logic::Mux { ways: span, width: 1 });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Wake;
    use crate::sm::core::tests::fermi;

    #[test]
    fn a_result_retires_in_its_cycle_and_not_before() {
        let mut pipes = Pipes::new("sm0", &fermi());
        let mut wake = Wake::new(&[1]);
        pipes.start(&Edge::new(1000, 1000, &mut wake), (3, 7, 1), 1030, |words| {
            words[0][5] = 9;
            [0; 2]
        });
        assert!(pipes.retire(&Edge::new(1029, 1029, &mut wake)).is_none());
        let at = Edge::new(1030, 1030, &mut wake);
        let (flight, words) = pipes.retire(&at).unwrap();
        assert_eq!((flight.warp, flight.pc, words[0][5]), (3, 7, 9));
        assert!(pipes.is_empty());
    }

    #[test]
    fn the_bus_takes_as_many_results_a_cycle_as_it_is_wide() {
        let mut pipes = Pipes::new("sm0", &fermi());
        let mut wake = Wake::new(&[1]);
        for warp in 0..2 {
            assert_eq!(pipes.first_room(50), 50);
            pipes.start(&Edge::new(40, 40, &mut wake), (warp, 0, 1), 50, |_| [0; 2]);
        }
        assert!(!pipes.has_room(50));
        assert_eq!(pipes.first_room(50), 51);
    }

    #[test]
    fn the_next_writeback_is_found_at_any_distance_across_the_end_of_the_ring() {
        for start in [0, 1, 62, 63, 64, 900, 1023, 5000] {
            for ahead in 1..1023 {
                let mut pipes = Pipes::new("sm0", &fermi());
                let mut wake = Wake::new(&[1]);
                pipes.start(&Edge::new(start, start, &mut wake), (0, 0, 1), start + ahead, |_| [0; 2]);
                assert_eq!(pipes.next_due(start), start + ahead);
            }
        }
    }
}
