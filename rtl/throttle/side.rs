//! The side band of an SM: the ends by which its L1D, its core and the hub of all cores tell each other what a throttle must
//! know. They are few and narrow, and wires of their own, so that no scheme waits for the traffic that it is to relieve.

use super::message::{Miss, Order, PeriodEnd, Report};
use crate::kernel::{In, Many, Out, Ports, Rx, RxBank, Tx, TxBank};

/// Ends of a core.
pub struct CoreSide<'a> {
    /// Loads of the L1D that missed.
    pub misses: Rx<'a, Miss>,
    /// Ends of periods, to the L1D, if the scheme tells them.
    pub periods: Option<Tx<'a, PeriodEnd>>,
    /// Counts to the hub, if the scheme has one.
    pub reports: Option<Tx<'a, Report>>,
    /// Limits from it.
    pub orders: Option<Rx<'a, Order>>,
}

/// Ends of an L1D.
pub struct L1Side<'a> {
    /// Loads that missed.
    pub misses: Tx<'a, Miss>,
    /// Ends of periods, if the scheme tells them.
    pub periods: Option<Rx<'a, PeriodEnd>>,
}

/// Ports of the hub of a throttle, by SM.
#[derive(Default, Ports)]
pub struct HubPorts {
    /// Counts.
    pub reports: Many<In<Report>>,
    /// Limits.
    pub orders: Many<Out<Order>>,
}

/// Ends of the hub, by core.
pub struct HubIo<'a> {
    /// Counts.
    pub reports: RxBank<'a, Report>,
    /// Limits.
    pub orders: TxBank<'a, Order>,
}
