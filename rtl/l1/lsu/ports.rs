//! Ports and channel ends of an LSU, and its location in the machine.

use serde::{Deserialize, Serialize};

use super::super::access::{AccessShape, WarpAccess, WarpReply};
use super::super::dueling::{LoadReport, Mode};
use super::super::instructions::{InstructionLineReply, InstructionLineRequest};
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
    /// Memory instructions that the core sends.
    pub core_req: In<WarpAccess>,
    /// Replies to the memory instructions of the core.
    pub core_rsp: Out<WarpReply>,
    /// Requests to memory, which the LSU sends to the network.
    pub mem_req: Out<Request>,
    /// Replies from memory, which the LSU receives from the network.
    pub mem_rsp: In<Reply>,
    /// Optional ports, which only some machines have.
    pub extra: Extra<LsuExtraPorts>,
}

/// Optional ports of a load-store unit: for an instruction cache, a throttle, SM dueling, recalls and line
/// supply.
#[derive(Default, Ports)]
pub struct LsuExtraPorts {
    /// Requests for instruction lines, if the core has an instruction cache.
    pub wanted: In<InstructionLineRequest>,
    /// Requested instruction lines, which the LSU sends to the core.
    pub brought: Out<InstructionLineReply>,
    /// Misses of L1D loads, sent to the throttle of the core.
    pub misses: Out<Miss>,
    /// Messages of the core's throttle that a period of the streaming monitor has ended.
    pub periods: In<PeriodEnd>,
    /// New mode of the L1D, in machines with SM dueling.
    pub mode: In<Mode>,
    /// Reports of the loads that the L1D accepted; only in the two leading SMs of SM dueling.
    pub seen: Out<LoadReport>,
    /// Recalls by the L2, in machines where it keeps the L1s coherent.
    pub inv: In<Invalidate>,
    /// Acknowledgements of recalls, sent to the L2.
    pub inv_ack: Out<InvalidateAck>,
    /// Loads of other SMs that a sharing tracker forwards to this L1D.
    pub forward: In<Forward>,
    /// Results of the forwarded loads, sent to the sharing tracker.
    pub answer: Out<Answer>,
    /// Lines that this L1D supplies to other SMs.
    pub supply: Out<Reply>,
}

impl HasPorts for Lsu {
    type Ports = LsuPorts;
}

/// Channel ends of the LSU at one clock edge.
pub struct LsuIo<'a> {
    /// Memory instructions that the core sends.
    pub core_req: Rx<'a, WarpAccess>,
    /// Replies to the memory instructions of the core.
    pub core_rsp: Tx<'a, WarpReply>,
    /// Requests to memory, which the LSU sends to the network.
    pub mem_req: Tx<'a, Request>,
    /// Replies from memory, which the LSU receives from the network.
    pub mem_rsp: Rx<'a, Reply>,
    /// Channels of SM dueling, in machines that have it.
    pub duel: Option<DuelIo<'a>>,
    /// Recalls by the L2 and their acknowledgements, in machines where it keeps the L1s coherent.
    pub recall: Option<RecalledIo<'a>>,
    /// Forwarded loads of other SMs and the lines supplied to them, in machines with a sharing tracker.
    pub supply: Option<SupplyIo<'a>>,
}

/// Channel ends of an LSU for SM dueling.
pub struct DuelIo<'a> {
    /// New mode, to which the L1D must switch.
    pub mode: Rx<'a, Mode>,
    /// Reports of the loads that the L1D accepted; only in the two leading SMs of SM dueling.
    pub seen: Option<Tx<'a, LoadReport>>,
}

/// Location and surroundings of an LSU in the machine: its path, its SM, the widths of its messages, and the
/// optional units to which it is connected.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LsuPlace {
    /// Hierarchical path of the L1D, such as `sm3.l1`.
    pub path: String,
    /// Number of the SM that contains the LSU.
    pub sm: u8,
    /// Function that maps a line to its memory partition.
    pub interleave: Interleave,
    /// Width of a line address in bits.
    pub line_bits: u32,
    /// Field widths of the messages between core and LSU.
    pub access: AccessShape,
    /// True if the L2 recalls lines from the L1s.
    pub is_recalled: bool,
    /// True if a sharing tracker makes the L1D supply lines to other SMs.
    pub is_tracked: bool,
    /// True if the core has an instruction cache.
    pub has_instructions: bool,
}
