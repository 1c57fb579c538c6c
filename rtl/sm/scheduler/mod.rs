//! # Warp scheduling schemes
//! Determine which ready warp a scheduler of an SM issues. Each scheme is one file in this folder, with its
//! keys, its state, and the hooks that update the state. The scheduler that calls the scheme
//! (`rtl/sm/front/scheduler.rs`) determines the ready warps. A throttle or warp limit may exclude some of
//! them.
//!
//! | kind                   | issues the ready warp                                        | source                     |
//! |------------------------|--------------------------------------------------------------|----------------------------|
//! | `greedy-then-oldest`   | issued last, otherwise the one launched first                | Rogers et al., MICRO 2012  |
//! | `greedy-then-youngest` | issued last, otherwise the one launched last                 | Huerta et al., 2025        |
//! | `loose-round-robin`    | in the next slot after that of the warp issued last          | GPGPU-Sim                  |
//! | `two-level`            | by round robin in a pool of six warps that do not wait long  | Narasiman et al., MICRO 2011 |
//! | `caws`                 | that is most critical: the farthest from its end             | Lee and Wu, PACT 2014      |
//!
//! The first four schemes of this table need no ranks: the scheduler implements them without hooks. All other
//! schemes rank the warps, and the ready warp with the highest rank issues. Among equal ranks, the warp
//! launched first wins.
//!
//! | hook        | when                                                                                |
//! |-------------|-------------------------------------------------------------------------------------|
//! | `rank`      | for each ready warp that may issue, when the scheduler selects a warp               |
//! | `on_launch` | in the cycle in which a warp starts in a slot; the warp can issue 3 cycles later    |
//! | `on_stall`  | when a sequence of cycles without an issue, all for the same reason, has ended      |
//! | `on_issue`  | at the end of the cycle in which the scheduler has issued an instruction            |
//! | `clear`     | when the kernel has ended, in every SM                                              |
//! | `record`, `describe` | for digests; for waveforms and area counts                                 |
//! | `counters`     | when statistics are read: counters of the scheme's own                           |
//!
//! In one cycle, the order of the calls is `rank`, `on_launch`, `on_stall`, `on_issue`. A core sleeps while
//! no warp can issue, and calls no hook during the sleep. Before it sleeps, it calls `on_stall` for the
//! sequence of stall cycles that has ended. A hook must not measure time by counting its calls; it gets the
//! cycle as an argument. `on_stall` and `on_issue` together cover each cycle of the scheduler exactly once,
//! up to the start of the stall sequence that has not ended yet.
//!
//! A rank may change only in a hook. One object serves one scheduler, and its hooks number the warp slots of
//! that scheduler only. With two schedulers, for example, warp slot 7 of the SM is warp 3 of scheduler 1.
//!
//! Part of `rtl/sm/core.rs`.
//! Bench: `tb/sm/scheduler.rs`.

automod::dir!(pub "sm/scheduler");

use std::fmt::Debug;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;

use derive::watched;
use serde::{Deserialize, Serialize};

use super::{Pipe, StallReason};
use crate::choice::Choice;
use crate::config::Rules;
use crate::kernel::{CounterReader, Describe, DescribeExt, Logic};

/// Identifies the scheduler for which a scheme is created.
#[derive(Clone, Copy, Debug)]
pub struct SchedulerPlace<'a> {
    /// Hierarchical path of the scheduler, such as `sm3.core.scheduler1`.
    pub path: &'a str,
    /// Number of warp slots of the scheduler, at least 1.
    pub warps: u32,
}

/// Configuration of a warp scheduler: its parameters are the keys of `sm.scheduler` other than `kind`.
#[typetag::serde(tag = "kind")]
pub trait Scheme: Debug + Send + Sync + UnwindSafe + RefUnwindSafe {
    /// Creates the rule by which one scheduler selects warps, including the state of the scheme.
    fn order(&self, place: &SchedulerPlace<'_>) -> Order;

    /// Checks the parameters of the scheme.
    fn validate(&self, _rules: &mut Rules) {}
}

/// Rule that determines which ready warp a scheduler issues.
#[derive(Debug)]
pub enum Order {
    /// A rule of the scheduler itself, which needs no state of a scheme.
    BuiltIn(Rule),
    /// The ready warp with the highest rank; among equal ranks, the one launched first.
    Ranked(Box<dyn Hooks>),
}

/// Rule that the scheduler itself implements. Every issue reads it, so it is only one byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Rule {
    /// The warp issued last if it is ready, otherwise the ready warp that was launched first.
    GreedyThenOldest,
    /// The warp issued last if it is ready, otherwise the ready warp that was launched last.
    GreedyThenYoungest,
    /// The ready warp in the next slot after the one issued last.
    LooseRoundRobin,
    /// Round robin in a pool of a few warps. The other warps queue, and a warp of the pool that waits long
    /// moves to the tail of the queue.
    TwoLevel,
}

/// Warp scheduler that a configuration selects.
pub type SchedulerConfig = Choice<dyn Scheme>;

impl<S: Scheme + 'static> From<S> for SchedulerConfig {
    fn from(scheme: S) -> Self {
        Self::new(Arc::new(scheme))
    }
}

impl SchedulerConfig {
    /// Creates the rule by which one scheduler selects warps. The hooks of a scheme that ranks warps are put
    /// into a wrapper that records each call.
    #[must_use]
    pub fn watch(&self, place: &SchedulerPlace<'_>) -> Order {
        match self.order(place) {
            Order::Ranked(hooks) => Order::Ranked(Watched::of(self.typetag_name(), hooks)),
            order => order,
        }
    }

    /// Lists the counters of every linked scheme, with default parameters, for the dictionary of counters.
    pub fn list_counters(to: &mut dyn CounterReader) {
        for scheme in Self::linked() {
            if let Order::Ranked(hooks) = scheme.watch(&SchedulerPlace { path: "", warps: 24 }) {
                hooks.counters(to);
            }
        }
    }

    /// True if the scheme is two-level scheduling, whose age matrix holds the order of a queue.
    #[must_use]
    pub fn is_two_level(&self) -> bool {
        let mut rules = Rules::default();
        Scheme::validate(&**self, &mut rules);
        rules.is_kept() && matches!(self.order(&SchedulerPlace { path: "", warps: 1 }), Order::BuiltIn(Rule::TwoLevel))
    }
}

/// Warp that starts in a slot of a scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WarpLaunch {
    /// Number of the warp among the slots of the scheduler.
    pub warp: u8,
    /// Number of instructions of the program. For a warp of a traced kernel: one more than the highest
    /// position ([`WarpIssue::position`]) of any instruction that the warp executes.
    pub length: u32,
}

/// Instruction that a scheduler has issued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WarpIssue {
    /// Number of the warp among the slots of the scheduler.
    pub warp: u8,
    /// Pipe to which the instruction was issued.
    pub pipe: Pipe,
    /// Position of the instruction in the program: the instruction's index or, in a traced kernel, its
    /// address divided by 16.
    pub position: u32,
    /// Position of the warp's next instruction. It equals `position` in three cases: the instruction will
    /// issue again for other lanes, the warp has ended, or the instruction is a branch to itself. In a traced
    /// kernel with instructions of 8 bytes, two successive instructions can also have the same position.
    pub next: u32,
    /// True if the warp has ended with this instruction.
    pub ends: bool,
}

/// Sequence of cycles in which a scheduler has issued nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stall {
    /// Number of cycles of the sequence.
    pub cycles: u64,
    /// Reason for which the scheduler issued nothing in these cycles.
    pub reason: StallReason,
}

/// Lists, for area estimates, the logic that finds the warp with the highest rank. There are `warps` warps,
/// and each rank has `bits` bits.
pub fn describe_ranks(warps: u32, bits: u32, to: &mut dyn Describe) {
    to.part("rank", |to| {
        to.logic("higher", Logic::Less { width: bits, count: warps });
        to.logic("highest", Logic::Mux { ways: warps, width: bits });
        to.logic("is_highest", Logic::Comparator { width: bits, count: warps });
    });
}

/// Functions (hooks) of a warp scheduling scheme that a scheduler calls.
#[watched("sm.scheduler")]
#[typetag::serde]
pub trait Hooks: Debug + Send {
    /// Returns the rank of a ready warp; the warp with the highest rank issues.
    fn rank(&self, warp: u8) -> u64;

    /// Reports that a warp starts in a slot.
    fn on_launch(&mut self, _cycle: u64, _launch: &WarpLaunch) {}

    /// Reports that the scheduler issued nothing in a sequence of cycles, all for the same reason. `_cycle`
    /// is the first cycle after the sequence.
    fn on_stall(&mut self, _cycle: u64, _stall: &Stall) {}

    /// Reports that the scheduler issued an instruction in `_cycle`. An instruction that issues several times
    /// for different lanes is reported each time.
    fn on_issue(&mut self, _cycle: u64, _issue: &WarpIssue) {}

    /// Resets the state, after the kernel has ended.
    fn clear(&mut self) {}

    /// Starts to maintain digests (hashes) of the contents of the scheme's arrays.
    fn record(&mut self) {}

    /// Lists the registers, arrays and logic of the scheme, as one component, for waveforms, digests and area
    /// estimates.
    fn describe(&self, _to: &mut dyn Describe) {}

    /// Lists the counters that the scheme declares itself, for the statistics. An implementation must always
    /// list the same keys, and no counter may decrease, not even at the end of a kernel.
    fn counters(&self, _to: &mut dyn CounterReader) {}
}
