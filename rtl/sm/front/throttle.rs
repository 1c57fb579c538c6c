//! Throttle of a core: what [`crate::throttle`] decides, as pools of the schedulers. The pools are set at
//! the end of a cycle for the next, on the new state, so that a core that sleeps has them right when it
//! wakes.

use isa::program::Op;
use isa::types::Space;

use super::decode::Pipe;
use crate::kernel::{Block, Describe, DescribeExt, Edge, Sleep};
use crate::sm::config::{SchedulerPolicy, SmConfig};
use crate::sm::core::Loaded;
use crate::sm::{SmCore, SmIo};
use crate::throttle::config::{Scheme, ThrottleConfig};
use crate::throttle::monitor::{Monitor, Phase};
use crate::throttle::scores::Scores;
use crate::throttle::side::SideBand;

/// Who says which warps may issue.
#[derive(Clone, Debug)]
pub(in crate::sm) enum Throttle {
    /// Nobody.
    None,
    /// The configuration: so many warps of a scheduler.
    Limit(u32),
    /// The coordinator.
    Dwt(Box<Monitor>),
    /// The locality that each warp loses.
    Ccws(Box<Scores>),
}

impl Throttle {
    /// The limit of the configuration, if it has one.
    pub fn limit(config: &SmConfig) -> Self {
        if config.warp_limit == 0 { Self::None } else { Self::Limit(config.warp_limit) }
    }

    /// A kernel is loaded.
    pub fn load(&mut self, key: u16) {
        if let Self::Dwt(monitor) = self {
            monitor.load(key);
        }
    }

    /// A warp begins.
    pub fn start(&mut self, warp: u8) {
        if let Self::Ccws(scores) = self {
            scores.start(warp);
        }
    }

    /// The cycle in which the core must be awake for it.
    pub fn due(&self) -> u64 {
        match self {
            Self::None | Self::Limit(_) => u64::MAX,
            Self::Dwt(monitor) => monitor.due().unwrap_or(u64::MAX),
            // The pools of the first other cycle are set in the one before.
            Self::Ccws(scores) => scores.until().map_or(u64::MAX, |cycle| cycle - 1),
        }
    }

    pub fn describe(&self, to: &mut dyn Describe) {
        match self {
            Self::None | Self::Limit(_) => {}
            Self::Dwt(monitor) => to.part("dwt", |to| monitor.describe(to)),
            Self::Ccws(scores) => to.part("ccws", |to| scores.describe(to)),
        }
    }
}

impl SmCore {
    /// Puts the core under the scheme of a machine.
    pub fn set_throttle(&mut self, config: &ThrottleConfig) {
        let most = self.config.warps / self.config.schedulers;
        self.throttle = match config.scheme {
            Scheme::None => return,
            Scheme::DwtCs => Throttle::Dwt(Box::new(Monitor::new(&config.dwt, most as u8))),
            Scheme::Ccws => Throttle::Ccws(Box::new(Scores::new(&config.ccws, self.config.warps))),
        };
        self.schedulers = self.schedulers.map(|scheduler| scheduler.throttled());
        self.pooled = true;
    }

    /// Warps of a scheduler that may issue, and where the search for their number is, under a throttle
    /// that searches.
    #[must_use]
    pub fn warp_limit(&self) -> Option<(Phase, u8)> {
        match &self.throttle {
            Throttle::Dwt(monitor) => Some((monitor.phase(), monitor.limit())),
            _ => None,
        }
    }

    /// The kernel has ended, `cycle` being the last one.
    pub fn end_kernel(&mut self, cycle: u64) {
        if let Throttle::Dwt(monitor) = &mut self.throttle {
            monitor.end_kernel(cycle);
        }
    }

    /// One clock edge of a core with a side band: what that brings comes before all else, and is always
    /// taken at once.
    pub fn eval_throttled(&mut self, io: SmIo<'_>, side: &mut SideBand, at: &mut Edge<'_>) -> Sleep {
        let more = self.loaded.is_some() && self.begin_throttle(side, at);
        let sleep = self.eval(io, at);
        if more { Sleep::Next } else { sleep }
    }

    /// Takes what the side band brings, and sends what a period's end gives. Returns whether more waits.
    fn begin_throttle(&mut self, side: &mut SideBand, at: &mut Edge<'_>) -> bool {
        let mut misses = side.misses.rx();
        let mut orders = side.orders.rx();
        match &mut self.throttle {
            Throttle::None | Throttle::Limit(_) => {}
            Throttle::Dwt(monitor) => {
                if let Some(tick) = monitor.tick(at.cycle) {
                    side.periods.tx().push(at, tick.period);
                    if let Some(report) = tick.report {
                        side.reports.tx().push(at, report);
                    }
                }
                if orders.waiting(at) {
                    monitor.obey(orders.pop(at), at.cycle);
                }
                if misses.waiting(at) {
                    misses.drop_head(at);
                    monitor.count_miss();
                }
            }
            Throttle::Ccws(scores) => {
                if misses.waiting(at) {
                    let miss = misses.pop(at);
                    if miss.lost {
                        scores.lost(miss.warp, at.cycle, self.warps.live());
                    }
                }
            }
        }
        misses.waiting(at) || orders.waiting(at)
    }

    /// Sets the pools of the cycle after `cycle`, in which schedulers `issued` or not.
    #[inline(never)]
    pub(in crate::sm) fn set_pools(&mut self, loaded: &Loaded, cycle: u64, issued: bool) {
        if self.config.policy == SchedulerPolicy::TwoLevel {
            return self.refill_pools();
        }
        let schedulers = self.config.schedulers as usize;
        let limit = match &mut self.throttle {
            Throttle::None => return,
            Throttle::Limit(limit) => *limit,
            Throttle::Dwt(monitor) => {
                monitor.count_to(self.counters.thread_instructions);
                u32::from(monitor.limit())
            }
            Throttle::Ccws(scores) => {
                let all = if issued { schedulers } else { 0 };
                (0..all).filter_map(|of| self.stalls.issued(of)).for_each(|warp| scores.issued(warp));
                let admitted = scores.admit(cycle + 1, self.warps.live());
                let blocked = self.loading(loaded) & !admitted;
                self.schedulers[..schedulers].iter_mut().for_each(|scheduler| scheduler.block(blocked));
                return;
            }
        };
        let able = self.warps.live() & !self.barriers.waiting();
        for scheduler in &mut self.schedulers[..schedulers] {
            scheduler.limit(limit, able, &self.ages);
        }
    }

    /// Warps whose head instruction loads from global or local memory.
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
