//! # Throttling of warps
//! Limits the warps that may issue, so that each active warp gets a larger share of the L1D. Each scheme is
//! one file: its parameters, and the hardware that it adds to cores, L1Ds and the machine. Core, LSU and
//! wiring use a scheme only through the traits below. The core applies the decisions of a scheme to the pools
//! of its schedulers.
//!
//! ```text
//!   sm i   l1 ──misses──▶ core ──report──▶ hub
//!             ◀──period──      ◀──order───
//! ```
//!
//! | kind     | source                        | what is throttled                       | components       |
//! |----------|-------------------------------|-----------------------------------------|------------------|
//! | `dwt-cs` | khairy2015 section 4.2        | all but the oldest warps of a scheduler | [`dwt_cs::monitor`], [`dwt_cs::coordinator`] |
//! | `ccws`   | khairy2015 section 5, Table 4 | loads of warps that lost no locality    | [`ccws::victims`], [`ccws::scores`] |
//!
//! | hook of a core | when                                                                    |
//! |----------------|-------------------------------------------------------------------------|
//! | `load`, `end_kernel` | a kernel is loaded, has ended                                     |
//! | `tick`         | a cycle begins: a period may have ended with the previous cycle         |
//! | `on_order`     | an order of the hub has arrived                                         |
//! | `on_miss`      | the core receives a miss of its L1D                                     |
//! | `start`        | a warp begins                                                           |
//! | `admit`        | a cycle ends: decides which warps may issue in the next cycle           |
//! | `due`          | the core is about to sleep: returns the cycle in which it must be awake |
//! | `record`, `describe` | digests, waveforms and counters                                   |
//!
//! A fixed limit, khairy2015's SWT (static warp throttling), is `sm.warp_limit` and needs no scheme. Warps
//! that wait at a barrier or have ended do not count toward a limit on the oldest warps. Otherwise a barrier
//! might wait for throttled warps forever.

automod::dir!(pub "throttle");

use std::fmt::Debug;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;

use derive::watched;

use self::message::{Miss, Order, PeriodEnd, Report};
use self::side::HubIo;
use crate::choice::Choice;
use crate::config::Rules;
use crate::kernel::{Describe, Edge, Sleep};

/// Core that a scheme is instantiated for.
#[derive(Clone, Copy, Debug)]
pub struct CorePlace<'a> {
    /// Hierarchical path of the core: `sm3.core`.
    pub path: &'a str,
    /// Number of warp slots.
    pub warps: u32,
    /// Number of schedulers, over which the warp slots are interleaved.
    pub schedulers: u32,
}

impl CorePlace<'_> {
    /// Returns the number of warps per scheduler; a limit of this value throttles no warp.
    #[must_use]
    pub fn most(&self) -> u8 {
        (self.warps / self.schedulers) as u8
    }
}

/// L1D that a scheme is instantiated for.
#[derive(Clone, Copy, Debug)]
pub struct L1Place<'a> {
    /// Hierarchical path of the cache: `sm3.l1`.
    pub path: &'a str,
    /// Number of sets.
    pub sets: u32,
    /// Number of ways.
    pub ways: u32,
    /// Width of a line address in bits.
    pub line_bits: u32,
    /// Number of warp slots of the core.
    pub warps: u32,
}

/// Configuration of a scheme: its parameters are the keys of `throttle` other than `kind`.
#[typetag::serde(tag = "kind")]
pub trait Scheme: Debug + Send + Sync + UnwindSafe + RefUnwindSafe {
    /// Returns the component for a core; `None` if the scheme throttles no warp.
    fn core(&self, place: &CorePlace<'_>) -> Option<Box<dyn Hooks>>;

    /// Checks the parameters of the scheme, for a machine with the given number of SMs.
    fn validate(&self, _num_sms: u32, _rules: &mut Rules) {}

    /// Returns the component for an L1D; `None` if the scheme needs none.
    fn l1(&self, _place: &L1Place<'_>) -> Option<Box<dyn Losses>> {
        None
    }

    /// Returns the hub for a machine with the given number of cores like `_core`; `None` if the scheme needs
    /// none. The path of `_core` is that of the hub.
    fn hub(&self, _num_sms: u32, _core: &CorePlace<'_>) -> Option<Box<dyn Hub>> {
        None
    }

    /// True if the scheme sends ends of periods to the L1D, whose streaming monitor then does not time
    /// periods itself.
    fn ends_periods(&self) -> bool {
        false
    }
}

/// Throttle scheme selected for the machine.
pub type ThrottleConfig = Choice<dyn Scheme>;

impl<S: Scheme + 'static> From<S> for ThrottleConfig {
    fn from(scheme: S) -> Self {
        Self::new(Arc::new(scheme))
    }
}

impl ThrottleConfig {
    /// True if the scheme may throttle warps.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.core(&CorePlace { path: "", warps: 1, schedulers: 1 }).is_some()
    }

    /// Returns the component for a core, in a wrapper that records each hook call.
    pub(crate) fn watched_hooks(&self, place: &CorePlace<'_>) -> Option<Box<dyn Hooks>> {
        self.core(place).map(|hooks| Watched::of(self.typetag_name(), hooks))
    }

    /// Checks the parameters of the scheme. Returns true if they are valid and the scheme may throttle warps.
    pub(crate) fn validate(&self, num_sms: u32, rules: &mut Rules) -> bool {
        let mut own = Rules::default();
        own.group("throttle", |rules| Scheme::validate(&**self, num_sms, rules));
        let is_on = own.is_kept() && self.is_on();
        rules.merge(own);
        is_on
    }
}

/// State of a core at the end of a cycle, for the throttle. Sets of warps have one bit per warp slot.
#[derive(Clone, Copy, Debug)]
pub struct CycleState {
    /// Cycle at whose end the core has this state.
    pub cycle: u64,
    /// Warps that run: launched and not exited.
    pub live: u64,
    /// Running warps that wait at a barrier.
    pub waiting: u64,
    /// Warps that issued an instruction, or one pass of an instruction that takes several.
    pub issued: u64,
    /// Number of thread instructions that the core has issued since the start of the simulation.
    pub thread_instructions: u64,
}

/// Warps that may issue, by kind of limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IssueLimit {
    /// Number of warps per scheduler that may issue: the oldest that neither wait at a barrier nor have
    /// ended.
    Oldest(u32),
    /// All warps may issue, but only the warps in the mask may load from global or local memory.
    Load(u64),
    /// Only the warps in the mask may issue. Warps that a barrier waits for must be admitted eventually.
    Issue(u64),
}

/// Messages that a core sends at the end of a period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tick {
    /// Message to the L1D, sent if [`Scheme::ends_periods`] returns true.
    pub period: PeriodEnd,
    /// Message to the hub; `None` if there is nothing to report.
    pub report: Option<Report>,
}

/// Hooks through which a core uses its throttle. A sleeping core calls no hook before the cycle that `due`
/// returns.
#[watched("throttle")]
#[typetag::serde]
pub trait Hooks: Debug + Send {
    /// Called when a kernel is loaded between two launches; the key identifies the kernel.
    fn load(&mut self, _key: u16) {}

    /// Called when a warp begins.
    fn start(&mut self, _warp: u8) {}

    /// Begins a cycle of a running kernel; returns the messages to send if a period ended with the previous
    /// cycle.
    fn tick(&mut self, _cycle: u64) -> Option<Tick> {
        None
    }

    /// Receives an order of the hub in the cycle of its arrival.
    fn on_order(&mut self, _order: Order, _cycle: u64) {}

    /// Called when the core receives a load miss of the L1D; `_live` are the warps that run in this cycle.
    fn on_miss(&mut self, _miss: Miss, _cycle: u64, _live: u64) {}

    /// Returns the warps that may issue in the cycle after the one that `seen` describes.
    fn admit(&mut self, seen: &CycleState) -> IssueLimit;

    /// Returns the next cycle in which the core must be awake, if any.
    fn due(&self) -> Option<u64> {
        None
    }

    /// Called when the kernel has ended; `cycle` is its last cycle.
    fn end_kernel(&mut self, _cycle: u64) {}

    /// Starts to keep digests of arrays.
    fn record(&mut self) {}

    /// Lists registers, arrays and logic of the throttle as a component.
    fn describe(&self, _to: &mut dyn Describe) {}
}

/// Hooks through which an L1D detects that a warp misses a line that it lost before.
#[typetag::serde]
pub trait Losses: Debug + Send {
    /// Called for an accepted miss `of` a warp and a line, which fills `place` (set and way) and evicts line
    /// `old`. Returns true if the warp had lost the missed line.
    fn on_miss(&mut self, at: &Edge<'_>, place: (u32, u32), old: Option<u64>, of: (u8, u64)) -> bool;

    /// Called for a global store: removes the line from the victim tags of all warps.
    fn on_store(&mut self, _at: &Edge<'_>, _line: u64) {}

    /// Clears all state, at the end of a kernel.
    fn clear(&mut self) {}

    /// Starts to keep digests of arrays.
    fn record(&mut self) {}

    /// Lists registers, arrays and logic as a component.
    fn describe(&self, _to: &mut dyn Describe) {}
}

/// Block of a machine to which all cores report.
#[typetag::serde]
pub trait Hub: Debug + Send {
    /// Returns the latency of a message between the hub and a core [core cycles].
    fn latency(&self) -> u32;

    /// Called when a kernel is loaded between two launches; the key identifies the kernel.
    fn load(&mut self, _key: u16) {}

    /// Returns the limit found for a kernel, in warps per scheduler, if the hub remembers one.
    fn limit_of(&self, _key: u16) -> Option<u8> {
        None
    }

    /// Evaluates one clock edge, with the links of all cores.
    fn eval(&mut self, io: HubIo<'_>, at: &mut Edge<'_>) -> Sleep;

    /// Lists registers, arrays and logic.
    fn describe(&self, _to: &mut dyn Describe) {}
}
