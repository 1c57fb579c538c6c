//! Configuration of an SM core.

use serde::{Deserialize, Serialize};

use super::OptionalHardware;
use super::execute::collectors::{MAX_BANKS, MAX_UNITS};
use super::execute::pipes::CALENDAR_CYCLES;
use super::front::scheduler::MAX_SCHEDULERS;
use super::scheduler::{SchedulerConfig, Scheme};
use super::{MAX_CTAS, MAX_WARPS};
use crate::cells::lru::MAX_WAYS;
use crate::config::{Rules, Side};
use crate::index::IndexConfig;
use crate::index::linear::Linear;
use crate::l1::access::LANES;

/// Maximum number of 32-bit registers per SM: 1 MB of registers, four times as much as in current GPUs.
const MAX_REGISTERS: u32 = 1 << 18;
/// Maximum shared memory per SM in bytes.
const MAX_SHARED_BYTES: u32 = 1 << 20;
/// Maximum capacity of an instruction cache [bytes of line data].
const MAX_INSTRUCTION_BYTES: u64 = 1 << 20;

/// Source of the pipe latencies and initiation intervals of traced instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TraceTiming {
    /// A traced instruction has the timing of the PTX operation that does the same work.
    Pipes,
    /// A traced instruction has the timing that Accel-Sim assigns to the GPU generation whose binaries the
    /// trace records. If Accel-Sim has no such GPU, the instruction has the timing of the corresponding PTX
    /// operation.
    BinaryVersion,
}

/// Timing of one class of operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct OpTiming {
    /// Latency from operand read to writeback [core cycles].
    pub latency: u16,
    /// Initiation interval: cycles until the pipe can accept its next warp instruction [core cycles].
    pub interval: u16,
}

/// Timings of the operations on one data type, by operation class. The classes are those of GPGPU-Sim's
/// opcode latencies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ClassTiming {
    /// Timing of additions, logic, shifts, moves, comparisons and conversions.
    pub add: OpTiming,
    /// Timing of minimum and maximum.
    pub minmax: OpTiming,
    /// Timing of multiplications.
    pub mul: OpTiming,
    /// Timing of multiply-adds.
    pub mad: OpTiming,
    /// Timing of divisions and remainders.
    pub div: OpTiming,
}

/// Timings of the execution pipes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct PipeConfig {
    /// Time to read the operands of an instruction before it enters any pipe [core cycles].
    pub operand_read: u16,
    /// Width of the result bus [warp results per cycle] (GPGPU-Sim's pipeline width of EX_WB).
    pub result_bus: u8,
    /// Timing of integer operations.
    pub int: ClassTiming,
    /// Timing of single-precision operations.
    pub fp: ClassTiming,
    /// Timing of double-precision operations.
    pub dp: ClassTiming,
    /// Timing of roots and transcendental functions.
    pub sfu: OpTiming,
    /// True if integer operations have a separate pipe, one per scheduler, instead of sharing the
    /// single-precision pipe.
    pub int_pipe: bool,
    /// Timing of loads of kernel parameters. On real GPUs, these parameters are in constant memory.
    pub param: OpTiming,
    /// Timing of a matrix-multiply step with 256 multiplications. An m8n8k4 instruction consists of four such
    /// steps. A step with n times 256 multiplications occupies the tensor pipe (one per scheduler) for n
    /// initiation intervals, and its latency is longer by n - 1 intervals. If latency and interval are 0, the
    /// machine has no tensor pipes and rejects kernels with `mma` or `wmma`.
    pub tensor: OpTiming,
}

/// Register file banks and operand collectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct OperandConfig {
    /// Number of register file banks, each with one read per cycle; 0 models a register file without bank
    /// conflicts.
    pub banks: u32,
    /// Number of operand collectors of the SP, integer and tensor pipes.
    pub sp_collectors: u8,
    /// Number of operand collectors of the SFU and DP pipes.
    pub sfu_collectors: u8,
    /// Number of operand collectors of shared memory, kernel parameters and the address unit.
    pub memory_collectors: u8,
    /// Number of generic operand collectors, which all pipes share. If 0, the SP, SFU and memory pipes have
    /// separate collectors; otherwise the generic collectors replace these.
    pub generic_collectors: u8,
    /// True if each pipe has an input register (GPGPU-Sim's OC_EX pipeline registers). Once an instruction
    /// has all its operands, it moves to the input register as soon as this is free, and its operand
    /// collector becomes free.
    pub latches: bool,
}

/// Shared memory (scratchpad) of an SM.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct SharedConfig {
    /// Capacity in bytes (li2015 Table 2, khairy2015 Table 1: 48 KB).
    pub bytes: u32,
    /// Number of shared memory banks, each 4 bytes wide.
    pub banks: u32,
    /// Latency of a conflict-free access from operand read to writeback [core cycles].
    pub latency: u16,
    /// Sizes of shared memory that can be taken from the L1 data memory, in bytes, in ascending order. A
    /// launch uses the smallest size that holds the shared memory of all CTAs on an SM, and the L1 has
    /// correspondingly fewer ways. If the list is empty, shared memory has its own storage.
    pub carve_outs: Vec<u32>,
}

impl SharedConfig {
    /// Returns the part of the L1 capacity, in bytes, that becomes shared memory for a kernel with `bytes`
    /// bytes of shared memory per SM. This is the smallest carve-out of at least `bytes` bytes, or the
    /// largest carve-out if all are smaller. Returns 0 if there are no carve-outs.
    #[must_use]
    pub fn carve_out(&self, bytes: u64) -> u32 {
        let fits = |carve_out: &&u32| u64::from(**carve_out) >= bytes;
        self.carve_outs.iter().find(fits).or(self.carve_outs.last()).copied().unwrap_or(0)
    }
}

/// Source of the instructions that the fetch stage reads.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum InstructionStore {
    /// Perfect instruction store: every fetch hits.
    // The variant has braces so that the parser library serde rejects unknown keys. In a variant without
    // braces, serde would ignore unknown keys.
    Perfect {},
    /// Instruction cache. The LSU sends its misses to the L2.
    Cache(InstructionCacheConfig),
}

/// Instruction cache (L1I). Its lines are as long as those of the L1 data cache.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct InstructionCacheConfig {
    /// Number of sets of the instruction cache.
    pub sets: u32,
    /// Number of ways per set of the instruction cache.
    pub ways: u32,
    /// Number of MSHR entries, which limits the number of instruction lines in flight. Any number of warps
    /// can wait for one line.
    pub mshr_entries: u32,
    /// Set index function, which maps line addresses to sets.
    pub index: IndexConfig,
    /// Size in bytes of each instruction of a PTX program, from which the addresses of instructions follow.
    /// Instructions of a trace have the addresses that the trace gives.
    pub instruction_bytes: u32,
}

/// Instruction cache of GPGPU-Sim's GTX 480 configuration.
impl Default for InstructionCacheConfig {
    fn default() -> Self {
        Self { sets: 4, ways: 4, mshr_entries: 2, index: Linear {}.into(), instruction_bytes: 8 }
    }
}

/// Configuration of an SM core.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct SmConfig {
    /// Number of warp slots per SM (li2015 Table 2: 48).
    pub warps: u32,
    /// Number of lanes per warp: 32, or 64 for the wavefronts of candel2018.
    pub warp_lanes: u32,
    /// Number of lanes that a pipe processes per cycle.
    pub simd_width: u32,
    /// Maximum number of resident threads per SM (1536 in Fermi).
    pub threads: u32,
    /// Maximum number of resident CTAs per SM (8 in Fermi).
    pub ctas: u32,
    /// Number of 32-bit registers per SM (32768 in Fermi).
    pub registers: u32,
    /// Number of warp schedulers per SM. Warp slot `w` belongs to the scheduler with the number `w` modulo
    /// `schedulers`.
    pub schedulers: u32,
    /// True if each scheduler is a sub-core with its own pipes, one of each kind, and an equal share of the
    /// register banks and collectors. All sub-cores of an SM still share the shared memory, the pipe for
    /// kernel parameters and the address unit.
    pub sub_cores: bool,
    /// Scheme by which a warp scheduler selects the ready warp to issue.
    pub scheduler: SchedulerConfig,
    /// Static warp throttling (khairy2015 section 5): maximum number of warps per scheduler that may issue; 0
    /// means no limit. The limit selects the oldest warps, without those that wait at a barrier or have
    /// ended.
    pub warp_limit: u32,
    /// Source of the timing of traced instructions.
    pub trace_timing: TraceTiming,
    /// Source of instructions for the fetch stage.
    pub icache: InstructionStore,
    /// Number of entries of each warp's instruction buffer: 2, or 4 with a perfect instruction store. A fetch fills
    /// two entries. With two entries, a single warp issues two instructions in four cycles; with four, one in every
    /// cycle.
    pub instruction_buffer: u32,
    /// Execution pipes and their timing.
    pub pipes: PipeConfig,
    /// Register file banks and operand collectors.
    pub operands: OperandConfig,
    /// Shared memory (scratchpad) of the SM.
    pub shared: SharedConfig,
}

impl SmConfig {
    /// Returns the optional hardware of the SM. It determines which counters the SM has.
    #[must_use]
    pub fn has(&self) -> OptionalHardware {
        OptionalHardware {
            tensor: self.pipes.has_tensor(),
            int_pipe: self.pipes.int_pipe,
            operand_banks: self.operands.banks > 0,
        }
    }

    /// Returns the number of 32-lane halves per warp: 1 or 2.
    #[must_use]
    pub fn halves(&self) -> u32 {
        if self.warp_lanes > LANES as u32 { 2 } else { 1 }
    }

    /// Returns the number of sub-cores of the SM, each with its own register banks and collectors; 1 if the
    /// SM is not divided.
    #[must_use]
    pub fn num_sub_cores(&self) -> u32 {
        if self.sub_cores { self.schedulers } else { 1 }
    }

    /// Returns the number of cycles for which the 32 lanes of one issue occupy a pipe.
    pub(super) fn passes(&self) -> u16 {
        (LANES as u32 / self.simd_width) as u16
    }

    /// Checks that warps, lanes and threads fit together: each thread needs a lane.
    fn validate_threads(&self, rules: &mut Rules) {
        let (threads, warps, lanes) = (self.threads, self.warps, self.warp_lanes.max(1));
        let why = "each thread needs a lane";
        let all = lanes.saturating_mul(MAX_WARPS as u32);
        rules.range("threads", threads.into(), lanes.into()..=all.into(), why);
        if ["warp_lanes", "warps", "threads"].iter().any(|field| rules.is_broken(field)) {
            return;
        }
        let (least, most) = (threads.div_ceil(lanes), warps * lanes);
        let with = format!("with sm.threads = {threads}");
        let mut sides = vec![
            Side::new("threads", threads, format!("{lanes} to {most}")),
            Side::new("warps", warps, format!("{least} to {MAX_WARPS} {with}")),
        ];
        if self.halves() == 1 && threads <= 2 * most {
            sides.push(Side::new("warp_lanes", lanes, format!("64 {with}")));
        }
        rules.expect_relation(threads <= most, sides, why);
    }

    /// Checks that the warp throttle `kind` can be combined with the configured warp scheduler and warp
    /// limit.
    pub(crate) fn validate_throttle(&self, kind: &str, rules: &mut Rules) {
        let is_aged = !self.scheduler.is_two_level();
        let why = "a two-level scheduler orders its warps by their queue, not by their age";
        rules.expect(is_aged, "throttle", kind, "none with a two-level scheduler", why);
        let why = "only one of them may set the warp pools of the schedulers";
        rules.expect(self.warp_limit == 0, "throttle", kind, "none while `sm.warp_limit` is not 0", why);
    }

    /// Checks that the warp limit does not exceed the number of warps of a scheduler, and that the warp
    /// scheduler supports a limit.
    fn validate_warp_limit(&self, rules: &mut Rules) {
        let &Self { warps, schedulers, warp_limit, .. } = self;
        if ["warps", "schedulers"].iter().any(|field| rules.is_broken(field)) {
            return;
        }
        let with = format!("with sm.warp_limit = {warp_limit}");
        let least = u64::from(warp_limit) * u64::from(schedulers);
        let mut sides = vec![Side::new("warp_limit", warp_limit, format!("0 to {}", warps / schedulers))];
        if least <= MAX_WARPS as u64 {
            sides.push(Side::new("warps", warps, format!("{least} to {MAX_WARPS} {with}")));
        }
        if let Some(most) = warps.checked_div(warp_limit).filter(|&most| most > 0) {
            sides.push(Side::new("schedulers", schedulers, format!("{most} or less {with}")));
        }
        rules.expect_relation(
            warp_limit <= warps / schedulers,
            sides,
            "the limit cannot exceed the warps of a scheduler",
        );
        let sides = [
            Side::new("warp_limit", warp_limit, "0 with a two-level scheduler"),
            Side::new("scheduler", self.scheduler.typetag_name(), format!("another {with}")),
        ];
        let is_legal = warp_limit == 0 || !self.scheduler.is_two_level();
        rules.expect_relation(is_legal, sides, "a two-level scheduler orders its warps by queue, not by age");
    }

    /// Checks all fields of the core's configuration, given the line size of the machine in bytes.
    pub fn validate(&self, line_bytes: u32, rules: &mut Rules) {
        if let InstructionStore::Cache(icache) = &self.icache {
            rules.group("icache", |rules| icache.validate(line_bytes, rules));
        }
        let entries = self.instruction_buffer;
        let why = "a fetch fills two entries";
        rules.expect(matches!(entries, 2 | 4), "instruction_buffer", entries, "2 or 4", why);
        let is_perfect = matches!(self.icache, InstructionStore::Perfect {});
        let sides = [
            Side::new("instruction_buffer", entries, "2 with an instruction cache"),
            Side::new("icache", "cache", "perfect with sm.instruction_buffer = 4"),
        ];
        let why = "a fetch from the cache starts at the pc of its warp, so its buffer must be empty";
        rules.expect_relation(is_perfect || entries != 4, sides, why);
        let half = LANES as u32;
        let why = "a warp is 32 lanes or two such halves";
        rules.expect(self.halves() * half == self.warp_lanes, "warp_lanes", self.warp_lanes, "32 or 64", why);
        rules.power_of_two("simd_width", self.simd_width.into(), 8..=half.into(), "32 lanes are issued at a time");
        rules.range("warps", self.warps.into(), 1..=MAX_WARPS as u64, "one bit per warp in the masks of the core");
        self.validate_threads(rules);
        rules.range("ctas", self.ctas.into(), 1..=MAX_CTAS as u64, "one bit per CTA slot");
        rules.expect(
            (1024..=MAX_REGISTERS).contains(&self.registers) && self.registers.is_multiple_of(32),
            "registers",
            self.registers,
            &format!("a multiple of 32 from 1024 to {MAX_REGISTERS}"),
            "a register file row holds one register of all 32 lanes",
        );
        rules.power_of_two(
            "schedulers",
            self.schedulers.into(),
            1..=MAX_SCHEDULERS as u64,
            "the low bits of its id select the scheduler of a warp",
        );
        rules.group("scheduler", |rules| Scheme::validate(&*self.scheduler, rules));
        self.validate_warp_limit(rules);
        rules.group("pipes", |rules| self.pipes.validate(rules));
        rules.group("operands", |rules| self.operands.validate(self.registers, self.num_sub_cores(), rules));
        rules.group("shared", |rules| {
            let shared = &self.shared;
            let row_bytes = 4 * shared.banks.clamp(1, 32);
            rules.power_of_two("banks", shared.banks.into(), 1..=32, "the bank is a bit field of the address");
            rules.expect(
                (1..=MAX_SHARED_BYTES).contains(&shared.bytes) && shared.bytes.is_multiple_of(row_bytes),
                "bytes",
                shared.bytes,
                &format!("a multiple of {row_bytes}, 4 bytes of each bank, up to {MAX_SHARED_BYTES}"),
                "all banks have the same size, at most four times the largest of current GPUs",
            );
            rules.range("latency", shared.latency.into(), 1..=256, "a result in flight must fit the result calendar");
        });
    }
}

impl InstructionCacheConfig {
    fn validate(&self, line_bytes: u32, rules: &mut Rules) {
        let &Self { sets, ways, mshr_entries, ref index, instruction_bytes } = self;
        rules.power_of_two("sets", sets.into(), 1..=4096, "the set index is a bit field");
        rules.range("ways", ways.into(), 1..=MAX_WAYS.into(), "the LRU order of a set has at most 5 bits per way");
        let lines = [("sets", sets), ("ways", ways)];
        rules.bytes(
            &lines,
            line_bytes.into(),
            MAX_INSTRUCTION_BYTES,
            "the host stores every line of the caches of all SMs",
        );
        rules.range("mshr_entries", mshr_entries.into(), 1..=64, "the search has one bit per entry");
        let why = "a line holds a whole number of instructions, which have 4, 8 or 16 bytes on GPUs";
        rules.power_of_two("instruction_bytes", instruction_bytes.into(), 4..=16, why);
        if sets.is_power_of_two() {
            rules.group("index", |rules| index.validate(sets, line_bytes, rules));
        }
    }
}

impl OperandConfig {
    /// Returns the number of operand collectors per sub-core in each class (SP, SFU, memory), for an SM with
    /// `sub_cores` sub-cores.
    pub(super) fn collectors(&self, sub_cores: u32) -> [u8; 3] {
        let own = [self.sp_collectors, self.sfu_collectors, self.memory_collectors];
        let all = if self.generic_collectors > 0 { [self.generic_collectors, 0, 0] } else { own };
        all.map(|count| count / sub_cores as u8)
    }

    fn validate(&self, registers: u32, sub_cores: u32, rules: &mut Rules) {
        let &Self { banks, sp_collectors, sfu_collectors, memory_collectors, generic_collectors, latches: _ } = self;
        rules.expect(
            banks == 0
                || banks.is_power_of_two()
                    && banks as usize <= MAX_BANKS
                    && registers.is_multiple_of(banks * LANES as u32),
            "banks",
            banks,
            "0 or a power of two up to 32 that divides the rows of the register file",
            "the bank is a bit field of the row number; without banks, no operand is late",
        );
        let all = [("sp", sp_collectors), ("sfu", sfu_collectors), ("memory", memory_collectors)];
        for (class, collectors) in all {
            let field = format!("{class}_collectors");
            rules.range(&field, collectors.into(), 1..=MAX_UNITS as u64, "an instruction is issued to a collector");
        }
        let why = "an instruction is issued to a collector";
        rules.range("generic_collectors", generic_collectors.into(), 0..=MAX_UNITS as u64, why);
        if banks == 0 || sub_cores < 2 {
            return;
        }
        let why = "each sub-core has an equal share";
        let a_multiple = format!("a multiple of the {sub_cores} schedulers");
        let with_schedulers = |field: &str, count: u32| {
            let legal = format!("a divisor of {count}, which is sm.operands.{field}");
            [Side::new(field, count, &a_multiple), Side::new("super.schedulers", sub_cores, legal)]
        };
        rules.expect_relation(banks.is_multiple_of(sub_cores), with_schedulers("banks", banks), why);
        let in_use = if generic_collectors > 0 { &[("generic", generic_collectors)][..] } else { &all };
        for (class, collectors) in in_use {
            let collectors = u32::from(*collectors);
            let sides = with_schedulers(&format!("{class}_collectors"), collectors);
            rules.expect_relation(collectors.is_multiple_of(sub_cores), sides, why);
        }
    }
}

impl PipeConfig {
    fn validate(&self, rules: &mut Rules) {
        rules.range(
            "operand_read",
            self.operand_read.into(),
            1..=16,
            "operands are read in a pipeline stage of their own",
        );
        rules.range("result_bus", self.result_bus.into(), 1..=8, "a calendar entry holds up to eight results");
        let classes = [("int", &self.int), ("fp", &self.fp), ("dp", &self.dp)];
        for (name, class) in classes {
            rules.group(name, |rules| {
                let ClassTiming { add, minmax, mul, mad, div } = class;
                for (field, timing) in [("add", add), ("minmax", minmax), ("mul", mul), ("mad", mad), ("div", div)] {
                    timing.validate(field, rules);
                }
            });
        }
        self.sfu.validate("sfu", rules);
        self.param.validate("param", rules);
        rules.group("tensor", |rules| {
            let OpTiming { latency, interval } = self.tensor;
            let why = "the longest step takes 8 intervals, and a result in flight must fit the result calendar";
            let all = [("latency", latency, 128), ("interval", interval, 48)];
            let is_off = |cycles: u16| cycles == 0;
            if is_off(latency) != is_off(interval) {
                let side = |(field, cycles, most): (&str, u16, u64), (other, others, _): (&str, u16, u64)| {
                    let legal = if is_off(others) { "0".to_owned() } else { format!("1 to {most}") };
                    Side::new(field, cycles, format!("{legal} with {other} = {others}"))
                };
                rules.expect_relation(
                    false,
                    [side(all[1], all[0]), side(all[0], all[1])],
                    "both are 0 without tensor pipes",
                );
            }
            for (field, cycles, most) in all {
                rules.range(field, cycles.into(), 0..=most, why);
            }
        });
    }

    /// True if the SM has tensor pipes for matrix products.
    #[must_use]
    pub fn has_tensor(&self) -> bool {
        self.tensor.latency > 0
    }
}

impl OpTiming {
    fn validate(&self, field: &'static str, rules: &mut Rules) {
        let longest = CALENDAR_CYCLES as u64 / 2;
        rules.group(field, |rules| {
            rules.range("latency", self.latency.into(), 1..=longest, "a result in flight must fit the result calendar");
            rules.range(
                "interval",
                self.interval.into(),
                1..=longest,
                "a pipe accepts at most one instruction per cycle",
            );
        });
    }
}
