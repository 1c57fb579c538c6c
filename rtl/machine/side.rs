//! The side band of a throttle: channels between each L1D, its core and the coordinator. A machine has
//! those that its scheme needs, and none without one.

use std::slice::IterMut;

use super::wiring::open;
use crate::kernel::{BlockId, Chan, ChanSpec};
use crate::throttle::config::{Scheme, ThrottleConfig};
use crate::throttle::message::{CoreSide, L1Side, Miss, Order, PeriodEnd, Report};

/// All channels, by SM; a kind that the scheme does not need has none.
pub(super) struct SideBand {
    pub(super) misses: Vec<Chan<Miss>>,
    pub(super) periods: Vec<Chan<PeriodEnd>>,
    pub(super) reports: Vec<Chan<Report>>,
    pub(super) orders: Vec<Chan<Order>>,
}

/// The blocks at the ends of the channels.
pub(super) struct Ends<'a> {
    pub(super) core: &'a dyn Fn(u32) -> BlockId,
    pub(super) l1: &'a dyn Fn(u32) -> BlockId,
    pub(super) coordinator: BlockId,
}

impl SideBand {
    /// The side band of `num_sms` SMs, whose clock has a period of so many ticks.
    pub(super) fn new(config: &ThrottleConfig, num_sms: u32, period: u64, ends: &Ends<'_>) -> Self {
        let Ends { core, l1, coordinator } = *ends;
        let sms = |needed: bool| if needed { 0..num_sms } else { 0..0 };
        let (is_any, is_dwt) = (config.scheme != Scheme::None, config.scheme == Scheme::DwtCs);
        let near = |path, from, to| ChanSpec { path, depth: 2, latency: 1, credit: 1, from, to };
        let far = |path, from, to| {
            let latency = u64::from(config.dwt.latency) * period;
            ChanSpec { path, depth: config.dwt.latency + 3, latency, credit: period, from, to }
        };
        let miss = |i| near(format!("sm{i}.core.misses"), l1(i), core(i));
        let end = |i| near(format!("sm{i}.l1.period"), core(i), l1(i));
        let report = |i| far(format!("coordinator.report{i}"), core(i), coordinator);
        let order = |i| far(format!("sm{i}.core.order"), coordinator, core(i));
        Self {
            misses: open(sms(is_any).map(miss).collect(), &()),
            periods: open(sms(is_dwt).map(end).collect(), &()),
            reports: open(sms(is_dwt).map(report).collect(), &()),
            orders: open(sms(is_dwt).map(order).collect(), &()),
        }
    }

    /// The ends of each core in turn, then nothing.
    pub(super) fn cores(&mut self) -> CoreEnds<'_> {
        let Self { misses, periods, reports, orders } = self;
        CoreEnds {
            misses: misses.iter_mut(),
            periods: periods.iter_mut(),
            reports: reports.iter_mut(),
            orders: orders.iter_mut(),
        }
    }

    /// The ends of each L1D in turn, then nothing.
    pub(super) fn l1s(&mut self) -> L1Ends<'_> {
        L1Ends { misses: self.misses.iter_mut(), periods: self.periods.iter_mut() }
    }
}

/// Ends of the cores.
pub(super) struct CoreEnds<'a> {
    misses: IterMut<'a, Chan<Miss>>,
    periods: IterMut<'a, Chan<PeriodEnd>>,
    reports: IterMut<'a, Chan<Report>>,
    orders: IterMut<'a, Chan<Order>>,
}

impl<'a> CoreEnds<'a> {
    /// Those of the next core.
    #[inline(always)]
    pub(super) fn lend(&mut self) -> Option<CoreSide<'a>> {
        let misses = self.misses.next()?.rx();
        Some(CoreSide {
            misses,
            period: self.periods.next().map(Chan::tx),
            report: self.reports.next().map(Chan::tx),
            order: self.orders.next().map(Chan::rx),
        })
    }
}

/// Ends of the L1Ds.
pub(super) struct L1Ends<'a> {
    misses: IterMut<'a, Chan<Miss>>,
    periods: IterMut<'a, Chan<PeriodEnd>>,
}

impl<'a> L1Ends<'a> {
    /// Those of the next L1D.
    #[inline(always)]
    pub(super) fn lend(&mut self) -> Option<L1Side<'a>> {
        let misses = self.misses.next()?.tx();
        Some(L1Side { misses, period: self.periods.next().map(Chan::rx) })
    }
}
