//! The side band of one SM: the channels by which its L1D, its core and the hub of all cores tell each other
//! what a throttle must know. They are few and narrow, and wires of their own, so that no scheme waits for
//! the traffic that it is to relieve.

use serde::{Deserialize, Serialize};

use super::message::{Miss, Order, PeriodEnd, Report};
use super::{Hub, ThrottleConfig};
use crate::kernel::{BlockId, Chan, ChanSpec};

/// The blocks at the ends.
#[derive(Clone, Copy, Debug)]
pub struct Ends {
    /// Core of the SM.
    pub core: BlockId,
    /// Its LSU with the L1D.
    pub l1: BlockId,
    /// Hub of all cores.
    pub hub: BlockId,
}

/// The channels between a core and the hub.
#[derive(Clone, Serialize, Deserialize)]
pub struct HubLinks {
    /// Core to hub: counts.
    pub reports: Chan<Report>,
    /// Hub to core: limits.
    pub orders: Chan<Order>,
}

/// The channels of an SM.
#[derive(Clone, Serialize, Deserialize)]
pub struct SideBand {
    /// L1D to core: loads that missed.
    pub misses: Chan<Miss>,
    /// Core to L1D: ends of periods, if the scheme tells them.
    pub periods: Option<Chan<PeriodEnd>>,
    /// With the hub, if the scheme has one.
    pub hub: Option<HubLinks>,
}

impl SideBand {
    /// The side band of SM `sm`, whose clock has a period of so many ticks, in a machine with this hub; `None` if the
    /// scheme needs none.
    #[must_use]
    pub fn new(config: &ThrottleConfig, hub: Option<&dyn Hub>, sm: u32, period: u64, ends: Ends) -> Option<Self> {
        let Ends { core, l1, hub: hub_id } = ends;
        let near = |path, from, to| ChanSpec { path, depth: 2, latency: 1, credit: 1, from, to };
        let links = |hub: &dyn Hub| {
            let (cycles, latency) = (hub.latency(), u64::from(hub.latency()) * period);
            let far = |path, from, to| ChanSpec { path, depth: 2 * cycles + 2, latency, credit: latency, from, to };
            HubLinks {
                reports: Chan::new(far(format!("coordinator.reports{sm}"), core, hub_id), ()),
                orders: Chan::new(far(format!("sm{sm}.core.orders"), hub_id, core), ()),
            }
        };
        config.is_on().then(|| Self {
            misses: Chan::new(near(format!("sm{sm}.core.misses"), l1, core), ()),
            periods: config.ends_periods().then(|| Chan::new(near(format!("sm{sm}.l1.periods"), core, l1), ())),
            hub: hub.map(links),
        })
    }

    /// Starts to keep digests of all beats.
    pub fn record(&mut self) {
        let Self { misses, periods, hub } = self;
        misses.record();
        if let Some(periods) = periods {
            periods.record();
        }
        if let Some(HubLinks { reports, orders }) = hub {
            reports.record();
            orders.record();
        }
    }

    /// Digest of all beats so far.
    #[must_use]
    pub fn history(&self) -> u64 {
        let Self { misses, periods, hub } = self;
        let far = hub.iter().flat_map(|HubLinks { reports, orders }| [reports.history(), orders.history()]);
        let all = [misses.history()].into_iter().chain(periods.iter().map(Chan::history)).chain(far);
        all.fold(0, |sum: u64, history| sum.rotate_left(7) ^ history)
    }

    /// True when no channel holds a beat.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let Self { misses, periods, hub } = self;
        let is_far_empty = |HubLinks { reports, orders }: &HubLinks| reports.is_empty() && orders.is_empty();
        misses.is_empty() && periods.as_ref().is_none_or(Chan::is_empty) && hub.as_ref().is_none_or(is_far_empty)
    }
}
