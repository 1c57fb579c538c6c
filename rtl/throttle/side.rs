//! Throttle links of an SM, which connect its L1D, its core and the hub, the hardware block to which all
//! cores report. The links are few and narrow. They are separate from the memory network, so that throttle
//! messages do not wait behind the traffic that throttling is meant to reduce.

use super::message::{Miss, Order, PeriodEnd, Report};
use crate::kernel::{In, Many, Out, Ports, Rx, RxBank, Tx, TxBank};

/// Ends of a core's throttle links, which are separate from the memory network.
pub struct CoreSide<'a> {
    /// Receiving end for the load misses that the L1D reports.
    pub misses: Rx<'a, Miss>,
    /// Sending end for messages to the L1D that a period has ended; `None` if the scheme does not send them.
    pub periods: Option<Tx<'a, PeriodEnd>>,
    /// Sending end for reports of counts to the hub; `None` if the scheme has no hub.
    pub reports: Option<Tx<'a, Report>>,
    /// Receiving end for orders of the hub, each of which sets a limit on warps; `None` if the scheme has no
    /// hub.
    pub orders: Option<Rx<'a, Order>>,
}

/// Ends of an L1D's throttle links, which are separate from the memory network.
pub struct L1Side<'a> {
    /// Sending end for the load misses that the L1D reports to the core.
    pub misses: Tx<'a, Miss>,
    /// Receiving end for messages of the core that a period has ended; `None` if the scheme does not send
    /// them.
    pub periods: Option<Rx<'a, PeriodEnd>>,
}

/// Ports of the hub of a throttle: one link per SM in each direction.
#[derive(Default, Ports)]
pub struct HubPorts {
    /// Inputs of the count reports that the cores send, one link per core.
    pub reports: Many<In<Report>>,
    /// Outputs of the orders to the cores, each of which sets a limit on warps; one link per core.
    pub orders: Many<Out<Order>>,
}

/// Ends of the hub's throttle links: one link per core in each direction.
pub struct HubIo<'a> {
    /// Receiving ends for the count reports that the cores send, one per core.
    pub reports: RxBank<'a, Report>,
    /// Sending ends for the orders to the cores, each of which sets a limit on warps; one per core.
    pub orders: TxBank<'a, Order>,
}
