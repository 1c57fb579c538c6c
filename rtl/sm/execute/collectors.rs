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
#[derive(Clone, Copy, Debug)]
enum Class {
    Sp,
    Sfu,
    Memory,
}

/// Number of classes.
const CLASSES: usize = 3;
/// Pipes that instructions reach through collectors: those of a class where collectors are generic.
const COLLECTED: [Pipe; 8] =
    [Pipe::Sp, Pipe::Int, Pipe::Tensor, Pipe::Sfu, Pipe::Dp, Pipe::Shared, Pipe::Param, Pipe::Global];

impl Class {
    fn of(pipe: Pipe) -> Self {
        match pipe {
            Pipe::Sfu | Pipe::Dp => Self::Sfu,
            Pipe::Shared | Pipe::Param | Pipe::Global => Self::Memory,
            Pipe::Sp | Pipe::Int | Pipe::Tensor | Pipe::Control | Pipe::Barrier => Self::Sp,
        }
    }

    fn pipes(self) -> &'static [Pipe] {
        match self {
            Self::Sp => &[Pipe::Sp, Pipe::Int, Pipe::Tensor],
            Self::Sfu => &[Pipe::Sfu, Pipe::Dp],
            Self::Memory => &[Pipe::Shared, Pipe::Param, Pipe::Global],
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
    /// Collectors of each class of a sub-core.
    counts: [u8; CLASSES],
    /// First cycle in which each bank can be read.
    bank_free: [[u64; MAX_BANKS]; MAX_SCHEDULERS],
    /// First cycle in which each collector of each class can be filled; never if there is no such collector.
    unit_free: [[[u64; MAX_UNITS]; CLASSES]; MAX_SCHEDULERS],
    /// First cycle in which each pipe takes what has been collected, the same for all who share it.
    entry: [[u64; PIPES]; MAX_SCHEDULERS],
    /// From which cycle on the register in front of each pipe is free, where there are such registers.
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
        if self.sub_cores { scheduler % MAX_SCHEDULERS } else { 0 }
    }

    /// The class of a pipe's collectors, and the pipes of that class.
    #[inline(always)]
    fn class_of(&self, pipe: Pipe) -> (Class, &'static [Pipe]) {
        match Class::of(pipe) {
            _ if self.generic => (Class::Sp, &COLLECTED),
            class => (class, class.pipes()),
        }
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
    fn read(&mut self, cycle: u64, scheduler: usize, rows: u32, registers: &RegMask) -> u64 {
        let mut last = cycle;
        let part = self.part(scheduler);
        for (first, word) in (0..).step_by(64).zip(registers.words) {
            let mut rest = word;
            while rest != 0 {
                let row = rows + first + rest.trailing_zeros();
                rest &= rest - 1;
                let free = &mut self.bank_free[part][(row % self.banks) as usize];
                let read = cycle.max(*free);
                *free = read + 1;
                last = last.max(read);
            }
        }
        last
    }

    /// Lets a pipe take an instruction for `interval` cycles, of which all has been read by `ready`. Returns
    /// the cycle in which it does. The instruction keeps its collector until the end of that cycle, or of the one in which it goes
    /// to the register in front of the pipe.
    fn enter(&mut self, pipe: Pipe, scheduler: usize, ready: u64, interval: u64) -> u64 {
        let start = ready.max(self.entry[scheduler % MAX_SCHEDULERS][pipe as usize]);
        let mut leaves = start;
        for index in (0..MAX_SCHEDULERS).filter(|&index| !pipe.is_own(self.sub_cores) || index == scheduler) {
            self.entry[index][pipe as usize] = start + interval;
            if let Some(latch) = &mut self.latch {
                // Free in the cycle in which the pipe takes what is in it.
                leaves = leaves.min(ready.max(latch[index][pipe as usize]));
                latch[index][pipe as usize] = start;
            }
        }
        let ((class, _), part) = (self.class_of(pipe), self.part(scheduler));
        let units = &mut self.unit_free[part][class as usize];
        let first = earliest(units);
        if let Some(unit) = units.iter_mut().find(|unit| **unit == first) {
            *unit = leaves + 1;
        }
        start
    }

    /// The first cycle in which a class has a collector for an instruction of a scheduler, where one for the scheduler
    /// `taken` got one in `cycle`.
    #[inline(always)]
    fn collector_from(&self, class: Class, scheduler: usize, taken: usize, cycle: u64) -> u64 {
        let part = self.part(scheduler);
        let port = if let Class::Sfu = class
            && part == self.part(taken)
        {
            cycle + 1
        } else {
            0
        };
        earliest(&self.unit_free[part][class as usize]).max(port)
    }

    /// The first cycle in which an instruction of a scheduler for `pipe` can be issued, where there is a collector from
    /// `collector` on.
    #[inline(always)]
    fn opens(&self, pipe: Pipe, scheduler: usize, collector: u64) -> u64 {
        collector.max(self.entry[scheduler % MAX_SCHEDULERS][pipe as usize].saturating_sub(HORIZON))
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

/// The cycle in which the first of some collectors is free.
#[inline(always)]
fn earliest(units: &[u64; MAX_UNITS]) -> u64 {
    units.iter().fold(u64::MAX, |first, &unit| first.min(unit))
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
        let start = self.collectors.enter(pipe, scheduler, ready, interval.into());
        let (class, pipes) = self.collectors.class_of(pipe);
        // A sub-core's collectors and pipes are nobody else's, but a pipe that all share is.
        let alone = self.config.sub_cores && pipe.is_own(true);
        let others = if alone { scheduler..scheduler + 1 } else { 0..self.config.schedulers as usize };
        for other in others {
            let collector = self.collectors.collector_from(class, other, scheduler, at.cycle());
            for &pipe in pipes {
                if self.pipes.has_place(pipe, other) {
                    self.pipes.open(pipe, other, self.collectors.opens(pipe, other, collector));
                }
            }
        }
        start
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
        assert_eq!(collectors.enter(Pipe::Sp, 0, 105, 2), 105);
        assert_eq!(collectors.enter(Pipe::Sp, 0, 102, 2), 107);
        assert_eq!(collectors.enter(Pipe::Sp, 1, 102, 2), 102);
        assert_eq!(collectors.enter(Pipe::Dp, 0, 102, 8), 102);
        assert_eq!(collectors.enter(Pipe::Dp, 1, 102, 8), 110);
    }

    /// The first cycle after 100 in which an instruction can be issued.
    fn opens(collectors: &Collectors, pipe: Pipe, scheduler: usize) -> u64 {
        collectors.opens(pipe, scheduler, collectors.collector_from(collectors.class_of(pipe).0, scheduler, 0, 100))
    }

    #[test]
    fn issue_goes_on_when_the_first_collector_is_free() {
        let mut collectors = collectors(4, 2);
        collectors.enter(Pipe::Sp, 0, 105, 1);
        assert!(opens(&collectors, Pipe::Sp, 0) <= 101);
        collectors.enter(Pipe::Sp, 1, 103, 1);
        assert_eq!([0, 1].map(|scheduler| opens(&collectors, Pipe::Sp, scheduler)), [104, 104]);
    }

    #[test]
    fn nothing_is_collected_too_long_ahead_of_its_pipe() {
        let mut collectors = collectors(4, 6);
        collectors.enter(Pipe::Dp, 0, 100, 400);
        assert_eq!(opens(&collectors, Pipe::Dp, 1), 500 - HORIZON);
        assert_eq!(opens(&collectors, Pipe::Sfu, 1), 101);
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
        let free = |collectors: &Collectors| earliest(&collectors.unit_free[0][Class::Sp as usize]);
        // The pipe takes the first at once, keeps it for 10 cycles, and has the second in front of it until then.
        assert_eq!((collectors.enter(Pipe::Sp, 0, 100, 10), free(&collectors)), (100, 101));
        assert_eq!((collectors.enter(Pipe::Sp, 0, 101, 10), free(&collectors)), (110, 102));
        // The third keeps the collector until the second goes.
        assert_eq!((collectors.enter(Pipe::Sp, 0, 102, 10), free(&collectors)), (120, 111));
    }
}
