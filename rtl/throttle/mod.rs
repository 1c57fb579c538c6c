//! # Throttling of warps
//! Limits the warps that may issue, so that each active warp gets a larger share of the L1D. Each scheme is
//! one file, with its parameters and the hardware that the scheme adds to cores, L1Ds and the machine. Core,
//! LSU and wiring use a scheme only through the traits below. The core applies the decisions of the scheme to
//! the warp pools of its schedulers.
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
//! | `record`, `describe` | digests, waveforms and area                                       |
//! | `counters`     | statistics are read: lists the counters that the scheme declares itself |
//!
//! `sm.warp_limit` sets a fixed limit (static warp throttling, SWT, in khairy2015); this needs no scheme.
//! Warps that wait at a barrier or have ended do not count toward a limit on the oldest warps. Otherwise a
//! barrier might wait for throttled warps forever.

automod::dir!(pub "throttle");

use std::fmt::Debug;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;

use derive::watched;

use self::message::{Miss, Order, PeriodEnd, Report};
use self::side::HubIo;
use crate::choice::Choice;
use crate::config::Rules;
use crate::kernel::{CounterReader, Describe, Edge, Sleep};

/// Core for which a throttle scheme creates its hardware.
#[derive(Clone, Copy, Debug)]
pub struct CorePlace<'a> {
    /// Hierarchical path of the core: `sm3.core`.
    pub path: &'a str,
    /// Number of warp slots of the core.
    pub warps: u32,
    /// Number of schedulers of the core. The warp slots are interleaved over them.
    pub schedulers: u32,
}

impl CorePlace<'_> {
    /// Returns the number of warps that each scheduler has. A limit of this value throttles no warp.
    #[must_use]
    pub fn most(&self) -> u8 {
        (self.warps / self.schedulers) as u8
    }
}

/// L1D for which a throttle scheme creates its hardware.
#[derive(Clone, Copy, Debug)]
pub struct L1Place<'a> {
    /// Hierarchical path of the cache, such as `sm3.l1`.
    pub path: &'a str,
    /// Number of sets of the cache.
    pub sets: u32,
    /// Number of ways of the cache.
    pub ways: u32,
    /// Width of a line address in bits.
    pub line_bits: u32,
    /// Number of warp slots of the core to which the cache belongs.
    pub warps: u32,
}

/// Configuration of a throttle scheme. Its parameters are the keys of the table `throttle`, except `kind`,
/// which selects the scheme.
#[typetag::serde(tag = "kind")]
pub trait Scheme: Debug + Send + Sync + UnwindSafe + RefUnwindSafe {
    /// Returns the hardware that the scheme adds to a core; `None` if the scheme throttles no warp.
    fn core(&self, place: &CorePlace<'_>) -> Option<Box<dyn Hooks>>;

    /// Checks the parameters of the scheme, for a machine with the given number of SMs.
    fn validate(&self, _num_sms: u32, _rules: &mut Rules) {}

    /// Returns the hardware that the scheme adds to an L1D; `None` if the scheme adds none.
    fn l1(&self, _place: &L1Place<'_>) -> Option<Box<dyn Losses>> {
        None
    }

    /// Returns the hub, to which all cores report, for `_num_sms` cores with the properties of `_core`.
    /// `_core.path` is the path of the hub. `None` if the scheme has no hub.
    fn hub(&self, _num_sms: u32, _core: &CorePlace<'_>) -> Option<Box<dyn Hub>> {
        None
    }

    /// True if the scheme notifies the L1D of the end of each period. The streaming monitor of the L1D then
    /// does not time periods itself.
    fn ends_periods(&self) -> bool {
        false
    }
}

/// Configuration field that selects the throttle scheme of the machine.
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

    /// Lists the counters of every linked scheme, with default parameters, for the dictionary of counters.
    pub fn list_counters(to: &mut dyn CounterReader) {
        for scheme in Self::linked() {
            if let Some(hooks) = scheme.watched_hooks(&CorePlace { path: "core", warps: 48, schedulers: 2 }) {
                hooks.counters(to);
            }
        }
    }

    /// Returns the hardware that the scheme adds to a core, in a wrapper that records each call of a hook.
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

/// State of a core at the end of a cycle: the input on which its throttle bases its decision. Sets of warps
/// have one bit per warp slot.
#[derive(Clone, Copy, Debug)]
pub struct CycleState {
    /// Number of the cycle that ends.
    pub cycle: u64,
    /// Warps that run: launched and not exited.
    pub live: u64,
    /// Running warps that wait at a barrier.
    pub waiting: u64,
    /// Warps that issued an instruction, for all or for some of its lanes.
    pub issued: u64,
    /// Number of thread instructions that the core has issued since the start of the simulation.
    pub thread_instructions: u64,
}

/// Limit that a throttle sets on the warps that may issue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IssueLimit {
    /// At most this many warps per scheduler may issue: the oldest of those that neither wait at a barrier
    /// nor have ended.
    Oldest(u32),
    /// All warps may issue, but only the warps in the mask may load from global or local memory.
    Load(u64),
    /// Only the warps in the mask may issue. The throttle must eventually admit every warp for which a
    /// barrier waits.
    Issue(u64),
}

/// Messages that a core sends at the end of a monitoring or sampling period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tick {
    /// Message to the L1D, sent if [`Scheme::ends_periods`] returns true.
    pub period: PeriodEnd,
    /// Message to the hub; `None` if there is nothing to report.
    pub report: Option<Report>,
}

/// Hooks through which a core uses its throttle. A sleeping core calls no hook until the cycle that `due`
/// returns.
#[watched("throttle")]
#[typetag::serde]
pub trait Hooks: Debug + Send {
    /// Called when a kernel is loaded between two launches; the key identifies the kernel.
    fn load(&mut self, _key: u16) {}

    /// Called when a warp begins.
    fn start(&mut self, _warp: u8) {}

    /// Called at the start of each cycle of a running kernel. Returns the messages to send if the previous
    /// cycle was the last one of a period.
    fn tick(&mut self, _cycle: u64) -> Option<Tick> {
        None
    }

    /// Receives an order of the hub, which sets a limit on warps, in the cycle of its arrival.
    fn on_order(&mut self, _order: Order, _cycle: u64) {}

    /// Called when the core receives a load miss of the L1D; `_live` is the mask of the warps that run in
    /// this cycle.
    fn on_miss(&mut self, _miss: Miss, _cycle: u64, _live: u64) {}

    /// Returns the warps that may issue in the cycle after the one that `seen` describes.
    fn admit(&mut self, seen: &CycleState) -> IssueLimit;

    /// Returns the next cycle in which the throttle requires the simulator to evaluate the core; `None` if
    /// there is no such cycle.
    fn due(&self) -> Option<u64> {
        None
    }

    /// Called when the kernel has ended; `cycle` is its last cycle.
    fn end_kernel(&mut self, _cycle: u64) {}

    /// Starts to maintain digests (hashes) of the contents of the throttle's arrays.
    fn record(&mut self) {}

    /// Lists the registers, arrays and logic of the throttle, as one component, for waveforms, digests and
    /// area estimates.
    fn describe(&self, _to: &mut dyn Describe) {}

    /// Lists the counters that the scheme declares itself, for the statistics. It must always list the same
    /// keys, and no counter may decrease, not even at the end of a kernel.
    fn counters(&self, _to: &mut dyn CounterReader) {}
}

/// Hooks through which an L1D detects lost locality: a warp misses a line that it had fetched before and that
/// was then evicted.
#[typetag::serde]
pub trait Losses: Debug + Send {
    /// Called for an accepted miss. `of` holds the warp and the missed line, `place` the set and way that the
    /// miss fills, and `old` the evicted line. Returns true if the warp had fetched the missed line before
    /// and the line was then evicted.
    fn on_miss(&mut self, at: &Edge<'_>, place: (u32, u32), old: Option<u64>, of: (u8, u64)) -> bool;

    /// Called for a global store: removes the line from the victim tags of all warps.
    fn on_store(&mut self, _at: &Edge<'_>, _line: u64) {}

    /// Clears all state of the detector, at the end of a kernel.
    fn clear(&mut self) {}

    /// Starts to maintain digests (hashes) of the contents of the arrays.
    fn record(&mut self) {}

    /// Lists the registers, arrays and logic of the detector, as one component, for waveforms, digests and
    /// area estimates.
    fn describe(&self, _to: &mut dyn Describe) {}
}

/// Hub of a throttle: the hardware block to which all cores report their counts.
#[typetag::serde]
pub trait Hub: Debug + Send {
    /// Returns the latency of a message between the hub and a core in core cycles.
    fn latency(&self) -> u32;

    /// Called when a kernel is loaded between two launches; the key identifies the kernel.
    fn load(&mut self, _key: u16) {}

    /// Returns the limit found for a kernel, in warps per scheduler, if the hub remembers one.
    fn limit_of(&self, _key: u16) -> Option<u8> {
        None
    }

    /// Evaluates one clock edge, with the links of all cores.
    fn eval(&mut self, io: HubIo<'_>, at: &mut Edge<'_>) -> Sleep;

    /// Lists the registers, arrays and logic of the hub for waveforms, digests and area estimates.
    fn describe(&self, _to: &mut dyn Describe) {}
}
