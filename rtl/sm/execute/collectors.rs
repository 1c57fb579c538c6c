//! # Operand collectors
//! Stand between issue and the pipes where the register file has banks. A bank gives one row a cycle, a
//! register of all lanes of a warp; an issued instruction waits in a collector until it has all that it
//! reads, then until its pipe takes it. Rows are dealt out to the banks in turn. Results reach their
//! banks through ports of their own.
//!
//! | port      | dir | payload     | contract                                                          |
//! |-----------|-----|-------------|-------------------------------------------------------------------|
//! | `collect` | in  | instruction | only while a collector of its class is free                       |
//! | `pipe`    | out | instruction | in the order of issue for each pipe, at its initiation intervals  |
//!
//! Latency: none for an instruction whose registers lie in different banks that nobody else wants,
//! beyond the `operand_read` cycles that every instruction takes. A bank serves those who want it in
//! the order of their issue, and within an instruction by register number, so that the cycle of every
//! read is known at issue: a bank is a timer, and so is a collector.
//!
//! Ordering and stalls: the schedulers share the collectors of a class: those of the SP, integer and tensor pipes, those
//! of the SFU and DP pipes, which take one instruction a cycle, and those of shared memory, parameters and
//! the address unit; or, where collectors are generic, there is one class of all. With sub-cores each scheduler has an equal
//! part of banks and collectors to itself. While a class has none free, its instructions are not issued (`PipeBusy`). Without
//! banks there are no collectors, and a pipe that is taken keeps instructions from being issued.
//!
//! Area: the operands that wait, then the crossbar that brings them from the banks.
//!
//! Sources: the units and numbers are those of GPGPU-Sim's GTX 480; its collectors take one operand a
//! cycle each, and reads and writes share the port of a bank there.
//!
//! Part of `rtl/sm/core.rs`.
//! Twin: `golden/interp.rs`, whole kernels.
//! Bench: its own tests and `tb/sm/timing.rs`.

use isa::program::RegMask;
use serde::{Deserialize, Serialize};

use super::register_file::Word;
use crate::kernel::{AnyEdge, Array, ArraySpec, Collide, Describe, DescribeExt, FieldsExt, Logic, Storage};
use crate::l1::access::LANES;
use crate::sm::front::decode::{Decoded, PIPES, Pipe};
use crate::sm::front::issue::Issue;
use crate::sm::front::scheduler::MAX_SCHEDULERS;
use crate::sm::{SmConfig, SmCore};

/// Most banks.
pub(in crate::sm) const MAX_BANKS: usize = 32;
/// Most collectors of a class.
pub(in crate::sm) const MAX_UNITS: usize = 8;
/// Rows that a collector has place for: three operands of 64 bits.
const COLLECTED_ROWS: u32 = 6;
/// How far ahead of a pipe instructions are taken, in cycles: a result must be due within the calendar.
const HORIZON: u64 = 128;

/// Pipes that share collectors.
enum Class {
    Sp,
    Sfu,
    Memory,
}

/// Number of classes.
const CLASSES: usize = 3;
/// Class number of pipes that instructions reach without a collector.
const NO_CLASS: usize = CLASSES;
/// Pipes that instructions reach through collectors: those of a class where collectors are generic.
const COLLECTED: [Pipe; 8] =
    [Pipe::Sp, Pipe::Int, Pipe::Tensor, Pipe::Sfu, Pipe::Dp, Pipe::Shared, Pipe::Param, Pipe::Global];

impl Class {
    /// Returns the class number of a pipe.
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

/// The collectors and the read ports of the banks.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::sm) struct Collectors {
    /// Banks of a sub-core.
    banks: u32,
    schedulers: u32,
    /// Each scheduler has banks and collectors to itself.
    sub_cores: bool,
    /// Any collector takes any instruction: all are of the first class.
    generic: bool,
    /// Class number of each pipe.
    classes: [u8; PIPES],
    /// Mask on a scheduler's number that gives its sub-core: all ones with sub-cores, else zero.
    own_part: u8,
    /// Mask on a scheduler's number that gives its place in front of each pipe: all ones if it has the pipe to itself.
    own_entry: [u8; PIPES],
    /// Collectors of each class of a sub-core.
    counts: [u8; CLASSES],
    /// First cycle in which each bank can be read.
    bank_free: [[u64; MAX_BANKS]; MAX_SCHEDULERS],
    /// First cycle in which each collector of each class can be filled; never if there is no such collector.
    unit_free: [[[u64; MAX_UNITS]; CLASSES]; MAX_SCHEDULERS],
    /// The collector of each class that can be filled first.
    first_free: [[u8; CLASSES]; MAX_SCHEDULERS],
    /// First cycle in which each class takes an instruction: a collector is free, and so is the port that SFU and DP
    /// share. Zero for `NO_CLASS`.
    class_free: [[u64; CLASSES + 1]; MAX_SCHEDULERS],
    /// First cycle in which each pipe takes a collected instruction. Schedulers that share a pipe share the first entry.
    entry: [[u64; PIPES]; MAX_SCHEDULERS],
    /// First cycle in which the register in front of each pipe is free, if there are such registers. Schedulers that share
    /// a pipe share the first entry.
    latch: Option<Box<[[u64; PIPES]; MAX_SCHEDULERS]>>,
    /// The flip-flops in which operands wait, in collectors and in front of pipes, listed for their size: what an instruction reads is read,
    /// and its result on its way, when it is issued.
    operands: Array<Word>,
    /// Pipes that it collects for.
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
            first_free: [[0; CLASSES]; MAX_SCHEDULERS],
            class_free: [[0; CLASSES + 1]; MAX_SCHEDULERS],
            counts,
            bank_free: [[0; MAX_BANKS]; MAX_SCHEDULERS],
            unit_free: [counts.map(|count| std::array::from_fn(|unit| if unit < count.into() { 0 } else { u64::MAX }));
                MAX_SCHEDULERS],
            entry: [[0; PIPES]; MAX_SCHEDULERS],
            latch: operands.latches.then(Box::default),
            operands: Array::new(spec, ()),
            shown,
        }
    }

    /// Which banks and collectors a scheduler uses.
    #[inline(always)]
    fn part(&self, scheduler: usize) -> usize {
        (scheduler & usize::from(self.own_part)) % MAX_SCHEDULERS
    }

    /// Index of the entry in which a scheduler's instructions wait for a pipe.
    #[inline(always)]
    fn place(&self, pipe: Pipe, scheduler: usize) -> usize {
        (scheduler & usize::from(self.own_entry[pipe as usize])) % MAX_SCHEDULERS
    }

    /// Returns the class number of the collectors of a pipe.
    #[inline(always)]
    fn class_of(&self, pipe: Pipe) -> usize {
        usize::from(self.classes[pipe as usize]) % (CLASSES + 1)
    }

    /// True if every operand is there in time.
    #[inline(always)]
    pub fn are_off(&self) -> bool {
        self.banks == 0
    }

    /// True if a pipe that all schedulers share has taken what was issued for it last.
    #[inline(always)]
    pub fn have_given(&self, pipe: Pipe, cycle: u64) -> bool {
        self.entry[0][pipe as usize] <= cycle
    }

    /// Reads registers of a scheduler's warp whose rows start at `rows`, from `cycle` on; returns the cycle of the
    /// last read.
    #[inline(always)]
    fn read(&mut self, cycle: u64, scheduler: usize, rows: u32, registers: &RegMask) -> u64 {
        let mut last = cycle;
        let part = self.part(scheduler);
        let banks = &mut self.bank_free[part];
        // The number of banks is a power of two.
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

    /// Lets a pipe take an instruction issued in `cycle` for `interval` cycles, of which all has been read by `ready`. Returns
    /// the cycle in which it does. The instruction keeps its collector until the end of that cycle, or of the one in which it goes
    /// to the register in front of the pipe.
    #[inline(always)]
    fn enter(&mut self, pipe: Pipe, scheduler: usize, cycle: u64, ready: u64, interval: u64) -> u64 {
        let place = self.place(pipe, scheduler);
        let entry = &mut self.entry[place][pipe as usize];
        let start = ready.max(*entry);
        *entry = start + interval;
        let mut leaves = start;
        if let Some(latch) = &mut self.latch {
            // Free in the cycle in which the pipe takes what is in it.
            let latch = &mut latch[place][pipe as usize];
            leaves = leaves.min(ready.max(*latch));
            *latch = start;
        }
        self.fill(self.class_of(pipe), self.part(scheduler), cycle, leaves + 1);
        start
    }

    /// Fills the collector of a class that is free first, in `cycle`, until it is free again in cycle `free`.
    #[inline(always)]
    fn fill(&mut self, class: usize, part: usize, cycle: u64, free: u64) {
        let class = class.min(CLASSES - 1);
        let units = &mut self.unit_free[part][class];
        let first = &mut self.first_free[part][class];
        units[usize::from(*first) % MAX_UNITS] = free;
        let mut earliest = units[0];
        *first = 0;
        for (unit, free) in (1..).zip(&units[1..]) {
            if *free < earliest {
                (earliest, *first) = (*free, unit);
            }
        }
        let port = if class == Class::Sfu as usize { cycle + 1 } else { 0 };
        self.class_free[part][class] = earliest.max(port);
    }

    /// Returns the first cycle in which an instruction of a scheduler for `pipe` can be issued.
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

    /// The banks and collectors of a sub-core, numbered through.
    fn describe_part(&self, part: u32, to: &mut dyn Describe) {
        let Self { banks, counts, bank_free, unit_free, .. } = self;
        for (bank, free) in (part * banks..(part + 1) * banks).zip(&bank_free[part as usize]) {
            to.parts("bank", bank, |to| to.bits("free_at", *free));
        }
        let names = if self.generic { ["unit", "", ""] } else { ["sp_unit", "sfu_unit", "memory_unit"] };
        for ((name, units), count) in names.into_iter().zip(&unit_free[part as usize]).zip(counts) {
            let count = u32::from(*count);
            for (unit, free) in (part * count..(part + 1) * count).zip(units) {
                to.parts(name, unit, |to| to.bits("free_at", *free));
            }
        }
    }
}

/// The registers in front of the pipes: until when each is taken, and the operands in it.
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
    /// Sends an instruction to a pipe, which it keeps for `interval` cycles. Returns the cycle from which
    /// its latency counts: that of its issue if nothing held it back since.
    #[inline(always)]
    pub(in crate::sm) fn start(
        &mut self,
        at: &impl AnyEdge,
        &Issue { scheduler, warp, half, .. }: &Issue,
        (pipe, interval): (Pipe, u16),
        decoded: &Decoded,
    ) -> u64 {
        if self.collectors.are_off() {
            if pipe.is_kept() {
                self.pipes.keep(pipe, scheduler, at.cycle() + u64::from(interval));
            }
            return at.cycle();
        }
        self.collect(at, scheduler, (warp, half), (pipe, interval), decoded)
    }

    /// Sends an instruction to a pipe by way of a collector.
    #[inline(never)]
    fn collect(
        &mut self,
        at: &impl AnyEdge,
        scheduler: usize,
        (warp, half): (u8, u8),
        (pipe, interval): (Pipe, u16),
        decoded: &Decoded,
    ) -> u64 {
        let rows = self.first_row(warp, half).into();
        let ready = self.collectors.read(at.cycle(), scheduler, rows, &decoded.inst.reads);
        self.counters.operand_conflicts += ready - at.cycle();
        self.collectors.enter(pipe, scheduler, at.cycle(), ready, interval.into())
    }

    /// Returns the first cycle in which a pipe, or a collector in front of it, takes an instruction of a scheduler.
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
        // Bank of each row: 10 -> 2, 11 -> 3, 14 -> 2, 18 -> 2.
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
        let free = |collectors: &Collectors| collectors.unit_free[0][Class::Sp as usize][0];
        // The pipe takes the first at once, keeps it for 10 cycles, and has the second in front of it until then.
        assert_eq!((collectors.enter(Pipe::Sp, 0, 100, 100, 10), free(&collectors)), (100, 101));
        assert_eq!((collectors.enter(Pipe::Sp, 0, 101, 101, 10), free(&collectors)), (110, 102));
        // The third keeps the collector until the second goes.
        assert_eq!((collectors.enter(Pipe::Sp, 0, 102, 102, 10), free(&collectors)), (120, 111));
    }
}
