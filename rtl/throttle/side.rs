//! Throttle links of an SM, which connect its L1D, its core and the hub, the hardware block to which all
//! cores report. The links are few and narrow. They are separate from the memory network, so that no throttle
//! scheme waits for the traffic that it is meant to reduce.

use super::message::{Miss, Order, PeriodEnd, Report};
use crate::kernel::{In, Many, Out, Ports, Rx, RxBank, Tx, TxBank};

/// Ends of a core's throttle links, which are separate from the memory network.
pub struct CoreSide<'a> {
    /// Load misses from the L1D.
    pub misses: Rx<'a, Miss>,
    /// Messages to the L1D that a period has ended; `None` if the scheme does not send them.
    pub periods: Option<Tx<'a, PeriodEnd>>,
    /// Reports of counts to the hub; `None` if the scheme has no hub.
    pub reports: Option<Tx<'a, Report>>,
    /// Orders from the hub, which set limits on warps; `None` if the scheme has no hub.
    pub orders: Option<Rx<'a, Order>>,
}

/// Ends of an L1D's throttle links, which are separate from the memory network.
pub struct L1Side<'a> {
    /// Load misses that the L1D reports to the core.
    pub misses: Tx<'a, Miss>,
    /// Messages from the core that a period has ended; `None` if the scheme does not send them.
    pub periods: Option<Rx<'a, PeriodEnd>>,
}

/// Ports of the hub of a throttle: one link per SM in each direction.
#[derive(Default, Ports)]
pub struct HubPorts {
    /// Reports of counts from the cores.
    pub reports: Many<In<Report>>,
    /// Orders to the cores, which set limits on warps.
    pub orders: Many<Out<Order>>,
}

/// Ends of the hub's throttle links: one link per core in each direction.
pub struct HubIo<'a> {
    /// Reports of counts from the cores.
    pub reports: RxBank<'a, Report>,
    /// Orders to the cores, which set limits on warps.
    pub orders: TxBank<'a, Order>,
}
