//! The channel ends of an LSU, and where it stands.

use serde::{Deserialize, Serialize};

use super::super::access::{AccessShape, WarpAccess, WarpReply};
use super::super::dueling::{Mode, Seen};
use super::super::instructions::{LineBrought, LineWanted};
use super::Lsu;
use crate::kernel::{Extra, HasPorts, In, Out, Ports, Rx, Tx};
use crate::l2::{Invalidate, InvalidateAck, RecalledIo};
use crate::noc::interleave::Interleave;
use crate::noc::packet::{Reply, Request};
use crate::throttle::message::{Miss, PeriodEnd};
use crate::tracker::{Answer, Forward, SupplyIo};

/// Ports of a load-store unit.
#[derive(Default, Ports)]
pub struct LsuPorts {
    /// Instructions from the core.
    pub core_req: In<WarpAccess>,
    /// Answers to the core.
    pub core_rsp: Out<WarpReply>,
    /// Requests to the network.
    pub mem_req: Out<Request>,
    /// Replies from the network.
    pub mem_rsp: In<Reply>,
    /// Optional ports, which few machines have.
    pub extra: Extra<LsuExtraPorts>,
}

/// Ports of a load-store unit beside an instruction cache or a throttle, or one that duels, is recalled from or supplies others.
#[derive(Default, Ports)]
pub struct LsuExtraPorts {
    /// Lines of instructions that the core wants, where it has a cache of them.
    pub wanted: In<LineWanted>,
    /// Those that it gets.
    pub brought: Out<LineBrought>,
    /// Loads that missed, under a throttle.
    pub misses: Out<Miss>,
    /// Ends of periods, from the core.
    pub periods: In<PeriodEnd>,
    /// The mode of the L1D, where SMs duel.
    pub mode: In<Mode>,
    /// Loads that it accepted, of an SM that leads.
    pub seen: Out<Seen>,
    /// Recalls by the L2, where it keeps the L1s coherent.
    pub inv: In<Invalidate>,
    /// The answers to them.
    pub inv_ack: Out<InvalidateAck>,
    /// Loads of other SMs, where a sharing tracker passes them on.
    pub forward: In<Forward>,
    /// What became of them.
    pub answer: Out<Answer>,
    /// Lines to other SMs.
    pub supply: Out<Reply>,
}

impl HasPorts for Lsu {
    type Ports = LsuPorts;
}

/// The channel ends of the LSU.
pub struct LsuIo<'a> {
    /// Instructions from the core.
    pub core_req: Rx<'a, WarpAccess>,
    /// Answers to the core.
    pub core_rsp: Tx<'a, WarpReply>,
    /// Requests to the network.
    pub mem_req: Tx<'a, Request>,
    /// Replies from the network.
    pub mem_rsp: Rx<'a, Reply>,
    /// SM dueling, in machines that have it.
    pub duel: Option<DuelIo<'a>>,
    /// Recalls by the L2 and their answers, where it keeps the L1s coherent.
    pub recall: Option<RecalledIo<'a>>,
    /// Wishes of other SMs, where a sharing tracker passes them on.
    pub supply: Option<SupplyIo<'a>>,
}

/// The channel ends of an LSU towards SM dueling.
pub struct DuelIo<'a> {
    /// The mode of the L1D.
    pub mode: Rx<'a, Mode>,
    /// Loads that the L1D accepted, of an SM that leads.
    pub seen: Option<Tx<'a, Seen>>,
}

/// Where the LSU sits in its machine.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LsuPlace {
    /// Full path: `sm3.l1`.
    pub path: String,
    /// Number of its SM.
    pub sm: u8,
    /// Which memory partition a line belongs to.
    pub interleave: Interleave,
    /// Bits of a line address.
    pub line_bits: u32,
    /// Widths of the messages with the core.
    pub access: AccessShape,
    /// The L2 recalls lines.
    pub is_recalled: bool,
    /// A sharing tracker has the L1D supply others.
    pub is_tracked: bool,
    /// The core has an instruction cache.
    pub has_instructions: bool,
}
