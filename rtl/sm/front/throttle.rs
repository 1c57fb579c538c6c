//! Applies the decisions of a warp throttle ([`crate::throttle`]) to the pool of each scheduler, which is the
//! set of warps that may issue. The pools for a cycle are computed from the state at the end of the previous
//! cycle, so that they are also valid when a core wakes from sleep. This module also reports launches, issues
//! and stalls to warp scheduling schemes that rank warps.

use isa::program::Op;
use isa::types::Space;
use serde::{Deserialize, Serialize};

use super::decode::Pipe;
use super::scheduler::Scheduler;
use crate::kernel::{AnyEdge, Sleep};
use crate::sm::config::SmConfig;
use crate::sm::core::Loaded;
use crate::sm::scheduler::WarpIssue;
use crate::sm::{SmCore, SmIo};
use crate::throttle::side::CoreSide;
use crate::throttle::{CorePlace, CycleState, Hooks, IssueLimit, ThrottleConfig};

/// Static warp limit of the configuration: the oldest n warps of each scheduler may issue.
#[derive(Debug, Serialize, Deserialize)]
struct Limit(u32);

#[typetag::serde]
impl Hooks for Limit {
    fn admit(&mut self, _seen: &CycleState) -> IssueLimit {
        IssueLimit::Oldest(self.0)
    }
}

/// Returns the static warp limit of the configuration as a throttle, if there is one.
pub(in crate::sm) fn limit(config: &SmConfig) -> Option<Box<dyn Hooks>> {
    (config.warp_limit != 0).then(|| Box::new(Limit(config.warp_limit)) as Box<dyn Hooks>)
}

impl SmCore {
    /// Installs the throttle scheme of the machine in the core.
    pub fn set_throttle(&mut self, config: &ThrottleConfig) {
        let place = CorePlace { path: &self.path, warps: self.config.warps, schedulers: self.config.schedulers };
        let Some(throttle) = config.watched_hooks(&place) else { return };
        self.throttle = Some(throttle);
        self.schedulers.iter_mut().for_each(Scheduler::throttle);
        self.pooled = true;
    }

    /// Notifies the throttle and the warp schedulers that the kernel has ended; `cycle` is the last cycle of
    /// the kernel.
    pub fn end_kernel(&mut self, cycle: u64) {
        self.schedulers.iter_mut().filter_map(Scheduler::hooks_mut).for_each(|hooks| hooks.clear());
        if let Some(throttle) = &mut self.throttle {
            throttle.end_kernel(cycle);
        }
    }

    /// Evaluates one clock edge. `side` contains the throttle's links to the L1D, and to the hub that
    /// coordinates the throttles of all SMs. It is `None` if the throttle has no links.
    #[inline(always)]
    pub(crate) fn eval_with_side_band(
        &mut self,
        io: SmIo<'_>,
        side: Option<CoreSide<'_>>,
        at: &mut impl AnyEdge,
    ) -> Sleep {
        match side {
            None => self.eval_any(io, at),
            Some(side) => self.eval_throttled(io, side, at),
        }
    }

    /// Evaluates one clock edge of a core with throttle links to the L1D and the hub. Messages on these links
    /// are processed first and always accepted.
    fn eval_throttled(&mut self, io: SmIo<'_>, side: CoreSide<'_>, at: &mut impl AnyEdge) -> Sleep {
        let more = self.loaded.is_some() && self.begin_throttle(side, at);
        let sleep = self.eval_any(io, at);
        if more { Sleep::Next } else { sleep }
    }

    /// Receives messages on the throttle links, and sends the messages that report the end of a monitoring
    /// period. Returns true if more messages wait on the links.
    fn begin_throttle(&mut self, side: CoreSide<'_>, at: &mut impl AnyEdge) -> bool {
        let Some(throttle) = &mut self.throttle else { return false };
        let CoreSide { mut misses, periods, reports, orders } = side;
        if let Some(tick) = throttle.tick(at.cycle()) {
            if let Some(mut periods) = periods {
                periods.push(at, tick.period);
            }
            if let (Some(report), Some(mut reports)) = (tick.report, reports) {
                reports.push(at, report);
            }
        }
        let mut more = false;
        if let Some(mut orders) = orders
            && orders.has_beat(at)
        {
            throttle.on_order(orders.pop(at), at.cycle());
            more = orders.has_beat(at);
        }
        if misses.has_beat(at) {
            throttle.on_miss(misses.pop(at), at.cycle(), self.warps.live());
            more |= misses.has_beat(at);
        }
        more
    }

    /// Returns the next cycle in which the core must be awake for its throttle; `u64::MAX` if there is no
    /// such cycle.
    pub(in crate::sm) fn throttle_due(&self) -> u64 {
        self.throttle.as_ref().and_then(|throttle| throttle.due()).unwrap_or(u64::MAX)
    }

    /// Reports to each scheduler whose scheme ranks warps what it has done in a cycle.
    fn report_cycle(&mut self, loaded: &Loaded, cycle: u64) {
        for (index, scheduler) in self.schedulers[..self.config.schedulers as usize].iter_mut().enumerate() {
            if scheduler.hooks_mut().is_none() {
                return;
            }
            scheduler.report_outcome(cycle, self.stalls.outcome(index));
            if let Some((warp, pc)) = self.stalls.issued(index) {
                scheduler.report_issue(
                    cycle,
                    &WarpIssue {
                        warp,
                        pipe: loaded.table[pc as usize].pipe,
                        position: loaded.position(pc),
                        next: loaded.position(self.stacks.pc(warp)),
                        ends: self.warps.live() >> warp & 1 == 0,
                    },
                );
            }
        }
    }

    /// Reports to each scheduler whose scheme ranks warps the stall reason that applies from `cycle` on,
    /// while the core sleeps.
    #[inline(never)]
    pub(in crate::sm) fn report_sleep(&mut self, cycle: u64) {
        for (index, scheduler) in self.schedulers[..self.config.schedulers as usize].iter_mut().enumerate() {
            if scheduler.hooks_mut().is_none() {
                return;
            }
            scheduler.report_outcome(cycle, self.stalls.outcome(index));
        }
    }

    /// Sets the pools of the schedulers (the warps that may issue) for the cycle after `cycle`; `issued` is
    /// true if any scheduler issued in `cycle`. First reports the events of `cycle` to the schemes that rank
    /// warps.
    #[inline(never)]
    pub(in crate::sm) fn set_pools(&mut self, loaded: &Loaded, cycle: u64, issued: bool) {
        self.report_cycle(loaded, cycle);
        if self.schedulers[0].is_two_level() {
            return self.refill_pools();
        }
        if self.throttle.is_none() {
            return;
        }
        let seen = self.cycle_state(cycle, issued);
        let Some(throttle) = &mut self.throttle else { return };
        let may = throttle.admit(&seen);
        let blocked = match may {
            IssueLimit::Oldest(_) => 0,
            IssueLimit::Load(warps) => self.loading(loaded) & !warps,
            IssueLimit::Issue(warps) => !warps,
        };
        for scheduler in &mut self.schedulers[..self.config.schedulers as usize] {
            match may {
                IssueLimit::Oldest(limit) => scheduler.limit(limit, seen.live & !seen.waiting, &self.ages),
                IssueLimit::Load(_) | IssueLimit::Issue(_) => scheduler.block(blocked),
            }
        }
    }

    /// Returns the state that the throttle observes at the end of a cycle.
    fn cycle_state(&self, cycle: u64, issued: bool) -> CycleState {
        let all = if issued { self.config.schedulers as usize } else { 0 };
        CycleState {
            cycle,
            live: self.warps.live(),
            waiting: self.barriers.waiting(),
            issued: (0..all).filter_map(|of| self.stalls.issued(of)).fold(0, |issued, (warp, _)| issued | 1 << warp),
            thread_instructions: self.counters.thread_instructions,
        }
    }

    /// Returns the mask of the warps whose head instruction loads from global, local or generic memory.
    fn loading(&self, loaded: &Loaded) -> u64 {
        let mut rest = self.heads[Pipe::Global as usize];
        let mut loading = 0;
        while rest != 0 {
            let warp = rest.trailing_zeros() as u8;
            rest &= rest - 1;
            let is_load = match &loaded.table[self.stacks.pc(warp) as usize].inst.op {
                Op::Load(mem) => matches!(mem.space, Space::Global | Space::Local | Space::Generic),
                _ => false,
            };
            loading |= u64::from(is_load) << warp;
        }
        loading
    }
}
