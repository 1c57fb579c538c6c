//! # Operand collectors
//! Hold issued instructions between issue and the pipes while register file banks deliver their operands. A
//! bank delivers one row per cycle: one register of all lanes of a warp. An instruction waits in a collector
//! until all its operands have been read, then until its pipe accepts it. Rows are interleaved across the
//! banks. Results are written through separate bank ports.
//!
//! | port      | dir | payload     | contract                                                          |
//! |-----------|-----|-------------|-------------------------------------------------------------------|
//! | `collect` | in  | instruction | only while a collector of its class is free                       |
//! | `pipe`    | out | instruction | in issue order for each pipe, at its initiation interval          |
//!
//! Latency: no cycles beyond `operand_read` for an instruction whose registers lie in different, idle banks.
//! A bank serves reads in issue order, and within an instruction by register number. The cycle of every read
//! is thus known at issue, so banks and collectors are modeled as timers.
//!
//! Ordering and stalls: the schedulers share the collectors of each class. There are three classes. The first
//! serves the SP, integer and tensor pipes. The second serves the SFU and DP pipes, and accepts one
//! instruction per cycle. The third serves shared memory, parameters and the address unit. Generic collectors
//! form a single class. With sub-cores each scheduler has an equal share of the banks and collectors. While a
//! class has no free collector, its instructions do not issue (`PipeBusy`). Without banks there are no
//! collectors, and a busy pipe stalls issue directly.
//!
//! Area: waiting operands, then the crossbar from the banks to the collectors.
//!
//! Sources: the units and their numbers are those of GPGPU-Sim's GTX 480 configuration. Unlike in this model,
//! a GPGPU-Sim collector receives one operand per cycle, and reads and writes share the port of a bank.
//!
//! Part of `rtl/sm/core.rs`.
//! Twin: `golden/interp.rs`, whole kernels.
//! Bench: its own tests and `tb/sm/timing.rs`.

use isa::program::RegMask;
use serde::{Deserialize, Serialize};

use super::register_file::Word;
use crate::kernel::{AnyEdge, Array, ArraySpec, Collide, Describe, DescribeExt, FieldsExt, Logic, Storage};
use crate::l1::access::LANES;
use crate::sm::front::decode::{DecodedInst, PIPES, Pipe};
use crate::sm::front::issue::Issue;
use crate::sm::front::scheduler::MAX_SCHEDULERS;
use crate::sm::{SmConfig, SmCore};

/// Maximum number of register file banks.
pub(in crate::sm) const MAX_BANKS: usize = 32;
/// Maximum number of collectors per class.
pub(in crate::sm) const MAX_UNITS: usize = 8;
/// Number of register rows that a collector holds: six, for three operands of 64 bits.
const COLLECTED_ROWS: u32 = 6;
/// Maximum time from the issue of an instruction to its acceptance by the pipe [core cycles]. This limit
/// keeps every writeback cycle within the span of the result bus calendar.
const HORIZON: u64 = 128;

/// Class of pipes that share operand collectors.
enum Class {
    Sp,
    Sfu,
    Memory,
}

/// Number of classes of operand collectors.
const CLASSES: usize = 3;
/// Class number of pipes that have no operand collectors.
const NO_CLASS: usize = CLASSES;
/// Pipes that have operand collectors. If the collectors are generic, all these pipes belong to a single
/// class.
const COLLECTED: [Pipe; 8] =
    [Pipe::Sp, Pipe::Int, Pipe::Tensor, Pipe::Sfu, Pipe::Dp, Pipe::Shared, Pipe::Param, Pipe::Global];

impl Class {
    /// Returns the number of the collector class to which a pipe belongs.
    fn of(pipe: Pipe, generic: bool) -> usize {
        match pipe {
            Pipe::Control | Pipe::Barrier => NO_CLASS,
            _ if generic => Self::Sp as usize,
            Pipe::Sp | Pipe::Int | Pipe::Tensor => Self::Sp as usize,
            Pipe::Sfu | Pipe::Dp => Self::Sfu as usize,
            Pipe::Shared | Pipe::Param | Pipe::Global => Self::Memory as usize,
        }
    }
}

/// First cycle in which a collector is free, with the number of the collector in the lowest bits. The minimum
/// is therefore the collector that becomes free first; of several, it is the one with the lowest number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct Collector(u64);

impl Collector {
    fn new(free: u64, number: usize) -> Self {
        Self(free * MAX_UNITS as u64 + number as u64)
    }

    fn free(self) -> u64 {
        self.0 / MAX_UNITS as u64
    }

    fn number(self) -> usize {
        self.0 as usize % MAX_UNITS
    }
}

/// Operand collectors and read ports of the register file banks.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::sm) struct Collectors {
    /// Number of banks per sub-core.
    banks: u32,
    schedulers: u32,
    /// True if each scheduler has its own banks and collectors.
    sub_cores: bool,
    /// True if the collectors are generic: each accepts any instruction, and all belong to the first class.
    generic: bool,
    /// Number of the collector class of each pipe.
    classes: [u8; PIPES],
    /// Mask applied to a scheduler's number to obtain its sub-core: all ones with sub-cores, else 0.
    own_part: u8,
    /// For each pipe, mask that is applied to a scheduler's number to obtain the scheduler's row in the
    /// tables `entry` and `latch`. It is all ones if each scheduler has its own pipe; it is 0 if all
    /// schedulers share the pipe and thus row 0.
    own_entry: [u8; PIPES],
    /// Number of collectors of each class per sub-core.
    counts: [u8; CLASSES],
    /// First cycle in which each bank is free for a read, per sub-core.
    bank_free: [[u64; MAX_BANKS]; MAX_SCHEDULERS],
    /// Collectors per sub-core and class, in the order of their numbers. Collectors that do not exist never
    /// become free.
    units: [[[Collector; MAX_UNITS]; CLASSES]; MAX_SCHEDULERS],
    /// For each sub-core and class, the collector that becomes free first.
    first_free: [[Collector; CLASSES]; MAX_SCHEDULERS],
    /// Earliest cycle in which an instruction can enter a collector, for each sub-core and class of pipes.
    /// From this cycle on, a collector and the entry port of the class are both free. SFU and DP form one
    /// class, because their collectors share an entry port. The value is 0 for `NO_CLASS`, whose pipes need
    /// no collector.
    class_free: [[u64; CLASSES + 1]; MAX_SCHEDULERS],
    /// For each scheduler and pipe, first cycle in which the pipe accepts an instruction whose operands have
    /// been read. If schedulers share a pipe, row 0 holds its value.
    entry: [[u64; PIPES]; MAX_SCHEDULERS],
    /// For each scheduler and pipe, first cycle in which the pipe's input register is free. If schedulers
    /// share a pipe, row 0 holds its value. `None` if pipes have no input registers.
    latch: Option<Box<[[u64; PIPES]; MAX_SCHEDULERS]>>,
    /// Flip-flops for waiting operands, in collectors and pipe input registers. This array serves only the
    /// area estimate, because the model reads operands and computes results already at issue.
    operands: Array<Word>,
    /// Pipes of this SM that have operand collectors.
    shown: Vec<Pipe>,
}

impl Collectors {
    pub fn new(path: &str, config: &SmConfig) -> Self {
        let &SmConfig { operands, schedulers, sub_cores, .. } = config;
        let parts = config.num_sub_cores();
        let (banks, counts) = (operands.banks / parts, operands.collectors(parts));
        let rows = parts * counts.iter().map(|count| u32::from(*count)).sum::<u32>();
        let shown: Vec<Pipe> = COLLECTED.into_iter().filter(|pipe| pipe.exists(&config.pipes)).collect();
        let places = |pipe: &Pipe| if pipe.is_own(sub_cores) { schedulers } else { 1 };
        let latches = if operands.latches { shown.iter().map(places).sum() } else { 0 };
        let spec = ArraySpec {
            path: format!("{path}.operands"),
            storage: Storage::Flops,
            rows: if banks == 0 { 0 } else { rows + latches },
            columns: COLLECTED_ROWS,
            reads: rows + latches,
            writes: operands.banks,
            collide: Collide::New,
        };
        Self {
            banks,
            schedulers,
            sub_cores,
            generic: operands.generic_collectors > 0,
            classes: Pipe::ALL.map(|pipe| Class::of(pipe, operands.generic_collectors > 0) as u8),
            own_part: if sub_cores { u8::MAX } else { 0 },
            own_entry: Pipe::ALL.map(|pipe| if pipe.is_own(sub_cores) { u8::MAX } else { 0 }),
            units: [counts.map(|count| {
                let free = |number| if number < usize::from(count) { 0 } else { u64::MAX / MAX_UNITS as u64 };
                std::array::from_fn(|number| Collector::new(free(number), number))
            }); MAX_SCHEDULERS],
            first_free: [[Collector::new(0, 0); CLASSES]; MAX_SCHEDULERS],
            class_free: [[0; CLASSES + 1]; MAX_SCHEDULERS],
            counts,
            bank_free: [[0; MAX_BANKS]; MAX_SCHEDULERS],
            entry: [[0; PIPES]; MAX_SCHEDULERS],
            latch: operands.latches.then(Box::default),
            operands: Array::new(spec, ()),
            shown,
        }
    }

    /// Returns the number of the sub-core whose banks and collectors a scheduler uses; 0 without sub-cores.
    #[inline(always)]
    fn part(&self, scheduler: usize) -> usize {
        (scheduler & usize::from(self.own_part)) % MAX_SCHEDULERS
    }

    /// Returns the index of a scheduler's row for `pipe` in the tables `entry` and `latch`; 0 if all
    /// schedulers share `pipe`.
    #[inline(always)]
    fn place(&self, pipe: Pipe, scheduler: usize) -> usize {
        (scheduler & usize::from(self.own_entry[pipe as usize])) % MAX_SCHEDULERS
    }

    /// Returns the number of the class whose collectors a pipe uses.
    #[inline(always)]
    fn class_of(&self, pipe: Pipe) -> usize {
        usize::from(self.classes[pipe as usize]) % (CLASSES + 1)
    }

    /// True if the register file has no banks, so that the SM has no collectors.
    #[inline(always)]
    pub fn are_off(&self) -> bool {
        self.banks == 0
    }

    /// True if, by `cycle`, `pipe` has accepted the last instruction issued to it and can accept another. All
    /// schedulers must share `pipe`.
    #[inline(always)]
    pub fn has_accepted(&self, pipe: Pipe, cycle: u64) -> bool {
        self.entry[0][pipe as usize] <= cycle
    }

    /// Schedules the bank reads of the registers of a warp, from `cycle` on; `rows` is the first register row
    /// of the warp. Returns the cycle of the last read.
    #[inline(always)]
    fn read(&mut self, cycle: u64, scheduler: usize, rows: u32, registers: &RegMask) -> u64 {
        let mut last = cycle;
        let part = self.part(scheduler);
        let banks = &mut self.bank_free[part];
        // The number of banks is a power of two, so `bank` is the mask that extracts a bank number from a row
        // number.
        let bank = self.banks.wrapping_sub(1);
        for (first, word) in (0..).step_by(64).zip(registers.words) {
            let mut rest = word;
            while rest != 0 {
                let row = rows + first + rest.trailing_zeros();
                rest &= rest - 1;
                let free = &mut banks[(row & bank) as usize % MAX_BANKS];
                let read = cycle.max(*free);
                *free = read + 1;
                last = last.max(read);
            }
        }
        last
    }

    /// Schedules an instruction on a pipe, which it occupies for `interval` cycles. The instruction issues in
    /// `cycle`, and its last operand is read in cycle `ready`. Returns the cycle in which the pipe accepts
    /// the instruction. The instruction occupies its collector up to and including that cycle. If it moves to
    /// the pipe's input register earlier, it frees the collector after the cycle of the move.
    #[inline(always)]
    fn enter(&mut self, pipe: Pipe, scheduler: usize, cycle: u64, ready: u64, interval: u64) -> u64 {
        let place = self.place(pipe, scheduler);
        let entry = &mut self.entry[place][pipe as usize];
        let start = ready.max(*entry);
        *entry = start + interval;
        let mut leaves = start;
        if let Some(latch) = &mut self.latch {
            // The input register of the pipe becomes free in the cycle in which the pipe accepts the
            // instruction.
            let latch = &mut latch[place][pipe as usize];
            leaves = leaves.min(ready.max(*latch));
            *latch = start;
        }
        self.fill(self.class_of(pipe), self.part(scheduler), cycle, leaves + 1);
        start
    }

    /// Occupies a collector of a class from `cycle` on; the collector is free again in cycle `free`. Selects
    /// the collector that becomes free first.
    #[inline(always)]
    fn fill(&mut self, class: usize, part: usize, cycle: u64, free: u64) {
        let class = class.min(CLASSES - 1);
        let units = &mut self.units[part][class];
        let first = &mut self.first_free[part][class];
        let number = first.number();
        units[number] = Collector::new(free, number);
        *first = units.iter().fold(units[0], |first, unit| first.min(*unit));
        let port = if class == Class::Sfu as usize { cycle + 1 } else { 0 };
        self.class_free[part][class] = first.free().max(port);
    }

    /// Returns the first cycle in which a scheduler can issue an instruction to `pipe`.
    #[inline(always)]
    pub fn open_at(&self, pipe: Pipe, scheduler: usize) -> u64 {
        let collector = self.class_free[self.part(scheduler)][self.class_of(pipe)];
        collector.max(self.entry[self.place(pipe, scheduler)][pipe as usize].saturating_sub(HORIZON))
    }

    pub fn describe(&self, to: &mut dyn Describe) {
        let &Self { banks, schedulers, sub_cores, ref shown, ref operands, ref entry, .. } = self;
        if banks == 0 {
            return;
        }
        let parts = if sub_cores { schedulers } else { 1 };
        for part in 0..parts {
            self.describe_part(part, to);
        }
        if let Some(latch) = &self.latch {
            to.part("latch", |to| describe_latches(shown, latch, (schedulers, sub_cores), to));
        }
        for &pipe in shown {
            let entry_at = |scheduler: u32| entry[scheduler as usize][pipe as usize];
            if !pipe.is_own(sub_cores) {
                to.part(pipe.name(), |to| to.bits("entry_at", entry_at(0)));
                continue;
            }
            for scheduler in 0..schedulers {
                to.parts(pipe.name(), scheduler, |to| to.bits("entry_at", entry_at(scheduler)));
            }
        }
        to.array("operands", operands);
        let collectors: u32 = self.counts.iter().map(|count| parts * u32::from(*count)).sum();
        for _ in 0..collectors {
            to.logic("crossbar", Logic::Mux { ways: banks, width: 32 * LANES as u32 });
        }
    }

    /// Lists the banks and collectors of one sub-core for waveforms and digests. Banks and collectors are
    /// numbered consecutively over all sub-cores.
    fn describe_part(&self, part: u32, to: &mut dyn Describe) {
        let Self { banks, counts, bank_free, units, .. } = self;
        for (bank, free) in (part * banks..(part + 1) * banks).zip(&bank_free[part as usize]) {
            to.parts("bank", bank, |to| to.bits("free_at", *free));
        }
        let names = if self.generic { ["unit", "", ""] } else { ["sp_unit", "sfu_unit", "memory_unit"] };
        for ((name, units), count) in names.into_iter().zip(&units[part as usize]).zip(counts) {
            let count = u32::from(*count);
            for (number, unit) in (part * count..(part + 1) * count).zip(units) {
                to.parts(name, number, |to| to.bits("free_at", unit.free()));
            }
        }
    }
}

/// Lists, for waveforms and digests, the first cycle in which the input register of each pipe is free.
fn describe_latches(
    pipes: &[Pipe],
    latch: &[[u64; PIPES]; MAX_SCHEDULERS],
    (schedulers, sub_cores): (u32, bool),
    to: &mut dyn Describe,
) {
    for &pipe in pipes {
        let count = if pipe.is_own(sub_cores) { schedulers } else { 1 };
        for (scheduler, latch) in (0..count).zip(latch) {
            to.parts(pipe.name(), scheduler, |to| to.bits("free_at", latch[pipe as usize]));
        }
    }
}

impl SmCore {
    /// Issues an instruction to a pipe, which it occupies for `interval` cycles. Returns the cycle in which
    /// the latency of the instruction begins. This is the issue cycle, unless the operand reads or the pipe
    /// delay the instruction.
    #[inline(always)]
    pub(in crate::sm) fn start(
        &mut self,
        at: &impl AnyEdge,
        &Issue { scheduler, warp, half, .. }: &Issue,
        (pipe, interval): (Pipe, u16),
        decoded: &DecodedInst,
    ) -> u64 {
        if self.collectors.are_off() {
            if pipe.is_kept() {
                self.pipes.keep(pipe, scheduler, at.cycle() + u64::from(interval));
            }
            return at.cycle();
        }
        self.collect(at, scheduler, (warp, half), (pipe, interval), decoded)
    }

    /// Issues an instruction to a pipe through a collector.
    #[inline(never)]
    fn collect(
        &mut self,
        at: &impl AnyEdge,
        scheduler: usize,
        (warp, half): (u8, u8),
        (pipe, interval): (Pipe, u16),
        decoded: &DecodedInst,
    ) -> u64 {
        let rows = self.first_row(warp, half).into();
        let ready = self.collectors.read(at.cycle(), scheduler, rows, &decoded.inst.reads);
        self.counters.operand_conflicts += ready - at.cycle();
        self.collectors.enter(pipe, scheduler, at.cycle(), ready, interval.into())
    }

    /// Returns the first cycle in which a scheduler can issue an instruction to a pipe, or to a collector in
    /// front of the pipe.
    #[inline(always)]
    pub(in crate::sm) fn free_at(&self, pipe: Pipe, scheduler: usize) -> u64 {
        if self.collectors.are_off() {
            self.pipes.free_at(pipe, scheduler)
        } else {
            self.collectors.open_at(pipe, scheduler)
        }
    }
}

#[cfg(test)]
mod tests {
    use isa::program::Reg;

    use super::*;
    use crate::sm::config::OperandConfig;
    use crate::sm::core::tests::fermi;

    fn collectors(banks: u32, sp_collectors: u8) -> Collectors {
        let operands = OperandConfig {
            banks,
            sp_collectors,
            sfu_collectors: 2,
            memory_collectors: 2,
            generic_collectors: 0,
            latches: false,
        };
        Collectors::new("sm0", &SmConfig { operands, schedulers: 2, ..fermi() })
    }

    fn registers(indices: &[u16]) -> RegMask {
        let mut mask = RegMask::default();
        indices.iter().for_each(|&index| mask.insert_reg(Reg { index, wide: false }));
        mask
    }

    #[test]
    fn a_bank_is_read_once_a_cycle_in_the_order_of_issue() {
        let mut collectors = collectors(4, 6);
        // Row r lies in bank r modulo 4: row 10 in bank 2, row 11 in bank 3, row 14 in bank 2, row 18 in bank
        // 2.
        let table = [(100, 10, &[0, 1][..], 100), (100, 10, &[4], 101), (101, 10, &[8, 1], 102), (103, 0, &[2], 103)];
        for (cycle, rows, indices, last) in table {
            assert_eq!(
                collectors.read(cycle, 0, rows, &registers(indices)),
                last,
                "cycle {cycle}, registers {indices:?}"
            );
        }
    }

    #[test]
    fn what_has_been_collected_enters_its_pipe_in_order_and_at_its_interval() {
        let mut collectors = collectors(4, 6);
        assert_eq!(collectors.enter(Pipe::Sp, 0, 100, 105, 2), 105);
        assert_eq!(collectors.enter(Pipe::Sp, 0, 101, 102, 2), 107);
        assert_eq!(collectors.enter(Pipe::Sp, 1, 101, 102, 2), 102);
        assert_eq!(collectors.enter(Pipe::Dp, 0, 101, 102, 8), 102);
        assert_eq!(collectors.enter(Pipe::Dp, 1, 101, 102, 8), 110);
    }

    #[test]
    fn issue_goes_on_when_the_first_collector_is_free() {
        let mut collectors = collectors(4, 2);
        collectors.enter(Pipe::Sp, 0, 100, 105, 1);
        assert!(collectors.open_at(Pipe::Sp, 0) <= 101);
        collectors.enter(Pipe::Sp, 1, 100, 103, 1);
        assert_eq!([0, 1].map(|scheduler| collectors.open_at(Pipe::Sp, scheduler)), [104, 104]);
    }

    #[test]
    fn nothing_is_collected_too_long_ahead_of_its_pipe() {
        let mut collectors = collectors(4, 6);
        collectors.enter(Pipe::Dp, 0, 100, 100, 400);
        assert_eq!(collectors.open_at(Pipe::Dp, 1), 500 - HORIZON);
        assert_eq!(collectors.open_at(Pipe::Sfu, 1), 101);
    }

    #[test]
    fn a_register_in_front_of_the_pipe_frees_the_collector() {
        let operands = OperandConfig {
            banks: 4,
            sp_collectors: 1,
            sfu_collectors: 1,
            memory_collectors: 1,
            generic_collectors: 0,
            latches: true,
        };
        let mut collectors = Collectors::new("sm0", &SmConfig { operands, schedulers: 2, ..fermi() });
        let free = |collectors: &Collectors| collectors.units[0][Class::Sp as usize][0].free();
        // The pipe accepts the first instruction in cycle 100 and is busy until cycle 110. The second
        // instruction waits in the pipe's input register until then, and frees its operand collector in cycle
        // 102.
        assert_eq!((collectors.enter(Pipe::Sp, 0, 100, 100, 10), free(&collectors)), (100, 101));
        assert_eq!((collectors.enter(Pipe::Sp, 0, 101, 101, 10), free(&collectors)), (110, 102));
        // The second instruction leaves the pipe's input register in cycle 110. Until then, the third
        // instruction cannot move there and occupies its operand collector.
        assert_eq!((collectors.enter(Pipe::Sp, 0, 102, 102, 10), free(&collectors)), (120, 111));
    }
}
