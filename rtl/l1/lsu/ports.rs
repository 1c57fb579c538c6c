//! The channel ends of an LSU, and where it stands.

use serde::{Deserialize, Serialize};

use super::super::access::{AccessShape, WarpAccess, WarpReply};
use super::super::dueling::{Mode, Seen};
use crate::kernel::{Rx, Tx};
use crate::l2::RecalledIo;
use crate::noc::interleave::Interleave;
use crate::noc::packet::{Reply, Request};
use crate::tracker::SupplyIo;

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
