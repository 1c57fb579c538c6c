//! # Throttling of warps
//! Fewer warps at a time leave each more of the L1D. A scheme is one file here: its keys, and the hardware that it brings
//! to the core of an SM, to its L1D and to the machine. Core, LSU and wiring know the traits below alone; the schedulers
//! find what a scheme decides in their pools.
//!
//! ```text
//!   sm i   l1 ──misses──▶ core ──report──▶ hub
//!             ◀──period──      ◀──order───
//! ```
//!
//! | kind     | source                        | what is held back                       | parts                              |
//! |----------|-------------------------------|-----------------------------------------|------------------------------------|
//! | `dwt-cs` | khairy2015 section 4.2        | all but the oldest warps of a scheduler | [`dwt_cs::monitor`], [`dwt_cs::coordinator`] |
//! | `ccws`   | khairy2015 section 5, Table 4 | loads of warps that lost no locality    | [`ccws::victims`], [`ccws::scores`] |
//!
//! | hook of a core | when                                                                    |
//! |----------------|-------------------------------------------------------------------------|
//! | `load`, `end_kernel` | a kernel begins, has ended                                        |
//! | `tick`         | a cycle begins: a period may have ended with the one before              |
//! | `obey`         | the hub's order has arrived                                              |
//! | `missed`       | the core learns of a miss of its L1D                                     |
//! | `start`        | a warp begins                                                            |
//! | `admit`        | a cycle ends: which warps may issue what in the next                     |
//! | `due`          | nothing moves: when it must be asked again                               |
//! | `record`, `describe` | digests, waves and counts                                          |
//!
//! A fixed limit, khairy2015's SWT, is `sm.warp_limit` and needs no scheme. A warp at a barrier or at its end takes no
//! place among the oldest: the warps that it waits for might be those held back.

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
use crate::sm::{SchedulerPolicy, SmConfig};

/// The core that a scheme is for.
#[derive(Clone, Copy, Debug)]
pub struct CorePlace<'a> {
    /// Path of the core: `sm3.core`.
    pub path: &'a str,
    /// Its warp slots.
    pub warps: u32,
    /// Its schedulers, among which the slots go round.
    pub schedulers: u32,
}

impl CorePlace<'_> {
    /// Warps of a scheduler: a limit of as many holds nobody back.
    #[must_use]
    pub fn most(&self) -> u8 {
        (self.warps / self.schedulers) as u8
    }
}

/// The L1D that a scheme is for.
#[derive(Clone, Copy, Debug)]
pub struct L1Place<'a> {
    /// Path of the cache: `sm3.l1`.
    pub path: &'a str,
    /// Its sets.
    pub sets: u32,
    /// Lines of a set.
    pub ways: u32,
    /// Bits of a line address.
    pub line_bits: u32,
    /// Warp slots of the core.
    pub warps: u32,
}

/// The configuration of a scheme: its keys in `throttle`, beside `kind`.
#[typetag::serde(tag = "kind")]
pub trait Scheme: Debug + Send + Sync + UnwindSafe + RefUnwindSafe {
    /// What it brings to a core; `None` if it holds nobody back.
    fn core(&self, place: &CorePlace<'_>) -> Option<Box<dyn Hooks>>;

    /// Checks its keys, for so many SMs.
    fn validate(&self, _num_sms: u32, _rules: &mut Rules) {}

    /// What it brings to an L1D.
    fn l1(&self, _place: &L1Place<'_>) -> Option<Box<dyn Losses>> {
        None
    }

    /// What it brings to a machine of so many cores like this one, whose path is that of the hub.
    fn hub(&self, _num_sms: u32, _core: &CorePlace<'_>) -> Option<Box<dyn Hub>> {
        None
    }

    /// Whether it tells the L1D when periods end, which then has none of its own.
    fn ends_periods(&self) -> bool {
        false
    }
}

/// The slot.
pub type ThrottleConfig = Choice<dyn Scheme>;

impl<S: Scheme + 'static> From<S> for ThrottleConfig {
    fn from(scheme: S) -> Self {
        Self::new(Arc::new(scheme))
    }
}

impl ThrottleConfig {
    /// Whether it may hold warps back.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.core(&CorePlace { path: "", warps: 1, schedulers: 1 }).is_some()
    }

    /// What the scheme brings to a core, each call of its hooks noted.
    pub(crate) fn watched(&self, place: &CorePlace<'_>) -> Option<Box<dyn Hooks>> {
        self.core(place).map(|hooks| Watched::of(self.typetag_name(), hooks))
    }

    /// Checks its keys, and whether it fits the cores.
    pub(crate) fn validate(&self, num_sms: u32, sm: &SmConfig, rules: &mut Rules) {
        let mut own = Rules::default();
        own.group("throttle", |rules| Scheme::validate(&**self, num_sms, rules));
        let is_on = own.is_kept() && self.is_on();
        rules.merge(own);
        let kind = self.typetag_name();
        let is_aged = sm.policy != SchedulerPolicy::TwoLevel;
        let why = "a two-level scheduler orders its warps by their queue, not by their age";
        rules.expect(!is_on || is_aged, "throttle", kind, "none with a two-level scheduler", why);
        let why = "only one may set the pools of the schedulers";
        rules.expect(!is_on || sm.warp_limit == 0, "throttle", kind, "none while `sm.warp_limit` is not 0", why);
    }
}

/// What a core shows of a cycle that ends. Warps are bits by slot.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    /// The cycle.
    pub cycle: u64,
    /// Warps that run.
    pub live: u64,
    /// Those of them that wait at a barrier.
    pub waiting: u64,
    /// Warps that issued an instruction, or a part of one that is issued in parts.
    pub issued: u64,
    /// Thread instructions that the core ever issued.
    pub thread_instructions: u64,
}

/// What warps may issue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum May {
    /// Of each scheduler, the oldest so many of those that neither wait at a barrier nor have ended.
    Oldest(u32),
    /// All may issue, but only these may load from global or local memory.
    Load(u64),
    /// These alone may issue. Those that others wait for at a barrier must be among them sooner or later.
    Issue(u64),
}

/// What leaves a core at the end of a period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tick {
    /// To the L1D, if the scheme tells it.
    pub period: PeriodEnd,
    /// To the hub, if there is one.
    pub report: Option<Report>,
}

/// What a core asks of a scheme. A core that sleeps asks nothing before the cycle that is due.
#[watched("throttle")]
#[typetag::serde]
pub trait Hooks: Debug + Send {
    /// A kernel is loaded between two launches; the key tells kernels apart.
    fn load(&mut self, _key: u16) {}

    /// A warp begins.
    fn start(&mut self, _warp: u8) {}

    /// Begins a cycle of a running kernel: says what leaves if a period has ended with the cycle before.
    fn tick(&mut self, _cycle: u64) -> Option<Tick> {
        None
    }

    /// Takes an order that has arrived in a cycle.
    fn obey(&mut self, _order: Order, _cycle: u64) {}

    /// A load has missed in the L1D, of which the core learns in this cycle, with these warps running.
    fn missed(&mut self, _miss: Miss, _cycle: u64, _live: u64) {}

    /// What warps may issue in the cycle after the one seen.
    fn admit(&mut self, seen: &Seen) -> May;

    /// The cycle in which the core must be awake, if any.
    fn due(&self) -> Option<u64> {
        None
    }

    /// The kernel has ended, `cycle` being the last one.
    fn end_kernel(&mut self, _cycle: u64) {}

    /// Starts to keep digests of arrays.
    fn record(&mut self) {}

    /// Lists registers, arrays and logic, in a part of their own.
    fn describe(&self, _to: &mut dyn Describe) {}
}

/// What an L1D asks of a scheme, to tell whether a warp has lost the line that it misses.
#[typetag::serde]
pub trait Losses: Debug + Send {
    /// A miss was accepted `of` a warp and a line, which comes to a `place`, set and way, from which `old` gives way.
    /// Returns whether the warp had lost the line.
    fn missed(&mut self, at: &Edge<'_>, place: (u32, u32), old: Option<u64>, of: (u8, u64)) -> bool;

    /// A global store takes the line from everyone.
    fn stored(&mut self, _at: &Edge<'_>, _line: u64) {}

    /// Forgets everything, at the end of a kernel.
    fn clear(&mut self) {}

    /// Starts to keep digests of arrays.
    fn record(&mut self) {}

    /// Lists registers, arrays and logic, in a part of their own.
    fn describe(&self, _to: &mut dyn Describe) {}
}

/// The block of a machine to which all cores report.
#[typetag::serde]
pub trait Hub: Debug + Send {
    /// Core cycles of a message between it and a core.
    fn latency(&self) -> u32;

    /// A kernel is loaded between two launches; the key tells kernels apart.
    fn load(&mut self, _key: u16) {}

    /// Warps of a scheduler that it found best for a kernel.
    fn limit_of(&self, _key: u16) -> Option<u8> {
        None
    }

    /// One clock edge, with the links of all cores.
    fn eval(&mut self, io: HubIo<'_>, at: &mut Edge<'_>) -> Sleep;

    /// Lists registers, arrays and logic.
    fn describe(&self, _to: &mut dyn Describe) {}
}
