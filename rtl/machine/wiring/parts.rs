//! # Parts
//! The blocks of a machine by their roles, and their ids by clock domain.

use crate::kernel::BlockId;

/// Clock domain of SM cores, LSUs and the dispatcher.
pub const CORE: u8 = 0;
/// Clock domain of the crossbars.
pub const XBAR: u8 = 1;
/// Clock domain of the L2 banks.
pub const L2: u8 = 2;
/// Clock domain of the DRAM channels.
pub const DRAM: u8 = 3;

/// A block of the machine by its role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Core of an SM.
    Core(usize),
    /// Load-store unit and L1D of an SM.
    Lsu(usize),
    /// CTA dispatcher.
    Dispatcher,
    /// Coordinator of a throttle that has one.
    Coordinator,
    /// Request crossbar.
    RequestXbar,
    /// Reply crossbar.
    ReplyXbar,
    /// Crossbar of the recalls, where the L2 keeps the L1s coherent.
    InvXbar,
    /// Crossbar of the answers to them.
    AckXbar,
    /// Crossbar of the forwards, where there is a sharing tracker.
    ForwardXbar,
    /// Crossbar of the answers to them.
    AnswerXbar,
    /// Bank of the sharing tracker, of a partition.
    Tracker(usize),
    /// L2 bank of a partition.
    L2(usize),
    /// DRAM channel, those of a partition side by side.
    Dram(usize),
    /// SM dueling.
    Dueling,
}

/// Blocks of the crossbars' clock domain, in the order of their slots.
pub(super) const XBARS: [Part; 6] =
    [Part::RequestXbar, Part::ReplyXbar, Part::InvXbar, Part::AckXbar, Part::ForwardXbar, Part::AnswerXbar];

/// The id of a part in a machine of so many SMs and partitions.
pub(super) fn block_id(num_sms: u32, num_partitions: u32, part: Part) -> BlockId {
    let sms = num_sms as usize;
    let (domain, slot) = match part {
        Part::Core(i) => (CORE, i),
        Part::Lsu(i) => (CORE, sms + i),
        Part::Dispatcher => (CORE, 2 * sms),
        Part::Coordinator => (CORE, 2 * sms + 1),
        Part::Dueling => (CORE, 2 * sms + 2),
        Part::RequestXbar => (XBAR, 0),
        Part::ReplyXbar => (XBAR, 1),
        Part::InvXbar => (XBAR, 2),
        Part::AckXbar => (XBAR, 3),
        Part::ForwardXbar => (XBAR, 4),
        Part::AnswerXbar => (XBAR, 5),
        Part::L2(i) => (L2, i),
        Part::Tracker(i) => (L2, num_partitions as usize + i),
        Part::Dram(i) => (DRAM, i),
    };
    BlockId { domain, slot: slot as u8 }
}
