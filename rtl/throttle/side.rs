//! Side band of an SM: links for throttle messages between its L1D, its core and the hub, the block to which
//! all cores report. The links are few and narrow. They are separate from the memory network, so that no
//! scheme waits for the traffic that it is meant to reduce.

use super::message::{Miss, Order, PeriodEnd, Report};
use crate::kernel::{In, Many, Out, Ports, Rx, RxBank, Tx, TxBank};

/// Side-band link ends of a core.
pub struct CoreSide<'a> {
    /// Load misses from the L1D.
    pub misses: Rx<'a, Miss>,
    /// Ends of periods, to the L1D; `None` if the scheme does not send them.
    pub periods: Option<Tx<'a, PeriodEnd>>,
    /// Counts to the hub; `None` if the scheme has no hub.
    pub reports: Option<Tx<'a, Report>>,
    /// Orders from the hub; `None` if the scheme has no hub.
    pub orders: Option<Rx<'a, Order>>,
}

/// Side-band link ends of an L1D.
pub struct L1Side<'a> {
    /// Load misses, to the core.
    pub misses: Tx<'a, Miss>,
    /// Ends of periods, from the core; `None` if the scheme does not send them.
    pub periods: Option<Rx<'a, PeriodEnd>>,
}

/// Ports of the hub of a throttle: one link per SM in each direction.
#[derive(Default, Ports)]
pub struct HubPorts {
    /// Reports of counts from the cores.
    pub reports: Many<In<Report>>,
    /// Orders with limits to the cores.
    pub orders: Many<Out<Order>>,
}

/// Side-band link ends of the hub: one link per core in each direction.
pub struct HubIo<'a> {
    /// Reports of counts from the cores.
    pub reports: RxBank<'a, Report>,
    /// Orders with limits to the cores.
    pub orders: TxBank<'a, Order>,
}
