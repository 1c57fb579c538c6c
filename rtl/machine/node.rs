//! Hardware blocks from which networks are built: one crossbar, or several routers.

use serde::{Deserialize, Serialize};

use crate::kernel::{AnyEdge, Block, Describe, Edge, HasPorts, Sleep};
use crate::noc::packet::Packet;
use crate::noc::router::Router;
use crate::noc::xbar::{OutputStats, Xbar, XbarIo, XbarPorts};

/// Hardware block of a network that carries packets of type `P`.
#[derive(Clone, Serialize, Deserialize)]
#[serde(bound = "")]
#[expect(clippy::large_enum_variant, reason = "each is boxed anyway")]
pub enum Node<P: Packet> {
    /// Crossbar, the only block of its network.
    Crossbar(Xbar<P>),
    /// One router of a mesh, a ring or a two-level network.
    Router(Router<P>),
}

impl<P: Packet + 'static> HasPorts for Node<P> {
    type Ports = XbarPorts<P>;
}

impl<P: Packet> Node<P> {
    /// Returns the counts that this hardware block contributes to the counters of network output `output`.
    #[must_use]
    pub fn stats(&self, output: usize) -> OutputStats {
        match self {
            Self::Crossbar(crossbar) => *crossbar.stats(output),
            Self::Router(router) => router.stats(output),
        }
    }

    /// True if no packet is in flight in this hardware block.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        match self {
            Self::Crossbar(crossbar) => crossbar.is_idle(),
            Self::Router(router) => router.is_idle(),
        }
    }

    /// At the end of a run, adds the cycles of stalls that are still in progress to the counters.
    pub fn settle(&mut self, cycle: u64) {
        match self {
            Self::Crossbar(crossbar) => crossbar.settle(cycle),
            Self::Router(router) => router.settle(cycle),
        }
    }
}

impl<P: Packet + 'static> Node<P> {
    /// Executes one clock edge, with or without contract checks. Returns when the block must be evaluated
    /// next.
    #[inline]
    pub(crate) fn eval_any(&mut self, io: XbarIo<'_, P>, at: &mut impl AnyEdge) -> Sleep {
        match self {
            Self::Crossbar(crossbar) => crossbar.eval_any(io, at),
            Self::Router(router) => router.eval_any(io, at),
        }
    }
}

impl<P: Packet + 'static> Block for Node<P> {
    type Io<'a> = XbarIo<'a, P>;

    fn eval(&mut self, io: XbarIo<'_, P>, at: &mut Edge<'_>) -> Sleep {
        self.eval_any(io, at)
    }

    fn describe(&self, to: &mut dyn Describe) {
        match self {
            Self::Crossbar(crossbar) => crossbar.describe(to),
            Self::Router(router) => router.describe(to),
        }
    }
}
