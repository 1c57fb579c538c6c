//! The side band of one SM: the channels by which its L1D, its core and the coordinator tell each other
//! what a throttle must know. They are few and narrow, and wires of their own, so that no scheme waits for
//! the traffic that it is to relieve.

use super::config::{Scheme, ThrottleConfig};
use super::message::{Miss, Order, PeriodEnd, Report};
use crate::kernel::{BlockId, Chan, ChanSpec};

/// The blocks at the ends.
#[derive(Clone, Copy, Debug)]
pub struct Ends {
    /// Core of the SM.
    pub core: BlockId,
    /// Its LSU with the L1D.
    pub l1: BlockId,
    /// Coordinator of all SMs.
    pub coordinator: BlockId,
}

/// The channels of an SM. Those with the coordinator, and that of the periods, carry something only if the
/// scheme has one.
pub struct SideBand {
    /// L1D to core: loads that missed.
    pub misses: Chan<Miss>,
    /// Core to L1D: ends of periods.
    pub periods: Chan<PeriodEnd>,
    /// Core to coordinator: counts.
    pub reports: Chan<Report>,
    /// Coordinator to core: limits.
    pub orders: Chan<Order>,
}

impl SideBand {
    /// The side band of SM `sm`, whose clock has a period of so many ticks; `None` if the scheme needs none.
    #[must_use]
    pub fn new(config: &ThrottleConfig, sm: u32, period: u64, ends: Ends) -> Option<Self> {
        let Ends { core, l1, coordinator } = ends;
        let near = |path, from, to| ChanSpec { path, depth: 2, latency: 1, credit: 1, from, to };
        let far = |path, from, to| {
            let latency = u64::from(config.dwt.latency) * period;
            ChanSpec { path, depth: config.dwt.latency + 3, latency, credit: period, from, to }
        };
        (config.scheme != Scheme::None).then(|| Self {
            misses: Chan::new(near(format!("sm{sm}.core.misses"), l1, core), ()),
            periods: Chan::new(near(format!("sm{sm}.l1.periods"), core, l1), ()),
            reports: Chan::new(far(format!("coordinator.reports{sm}"), core, coordinator), ()),
            orders: Chan::new(far(format!("sm{sm}.core.orders"), coordinator, core), ()),
        })
    }

    /// Starts to keep digests of all beats.
    pub fn record(&mut self) {
        let Self { misses, periods, reports, orders } = self;
        misses.record();
        periods.record();
        reports.record();
        orders.record();
    }

    /// Digest of all beats so far.
    #[must_use]
    pub fn history(&self) -> u64 {
        let Self { misses, periods, reports, orders } = self;
        let all = [misses.history(), periods.history(), reports.history(), orders.history()];
        all.into_iter().fold(0, |sum: u64, history| sum.rotate_left(7) ^ history)
    }

    /// True when no channel holds a beat.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let Self { misses, periods, reports, orders } = self;
        misses.is_empty() && periods.is_empty() && reports.is_empty() && orders.is_empty()
    }
}
