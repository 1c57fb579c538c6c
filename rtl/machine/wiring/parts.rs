//! # Parts
//! The blocks of a machine by their roles, and their ids by clock domain.

use std::ops::Range;

use crate::kernel::BlockId;

/// Clock domain of SM cores, LSUs and the dispatcher.
pub const CORE: u8 = 0;
/// Clock domain of the crossbars.
pub const XBAR: u8 = 1;
/// Clock domain of the L2 banks.
pub const L2: u8 = 2;
/// Clock domain of the DRAM channels.
pub const DRAM: u8 = 3;

/// Names of these domains' clocks, in this order.
pub const CLOCKS: [&str; 4] = ["core_clk", "xbar_clk", "l2_clk", "dram_clk"];

/// SMs of a group, which share a domain of 128 blocks: two an SM, and the first group's with those beside the SMs. Of
/// further groups each has a domain of its own, with the clock of `CORE`, behind the others.
const GROUP: usize = 60;

/// Groups of so many SMs.
pub(in crate::machine) fn num_groups(num_sms: u32) -> usize {
    (num_sms as usize).div_ceil(GROUP)
}

/// Domain of a group of SMs.
pub(super) fn domain_of(group: usize) -> u8 {
    if group == 0 { CORE } else { DRAM + group as u8 }
}

/// The group of SMs in a domain, if there is one.
pub(super) fn group_of(domain: u8) -> Option<usize> {
    match domain {
        CORE => Some(0),
        XBAR | L2 | DRAM => None,
        more => Some(usize::from(more - DRAM)),
    }
}

/// The SMs of a group, of so many.
pub(super) fn sms_of(num_sms: usize, group: usize) -> Range<usize> {
    let first = group * GROUP;
    first..num_sms.min(first + GROUP)
}

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
    let sms = |group| sms_of(num_sms as usize, group).len();
    let (domain, slot) = match part {
        Part::Core(i) => (domain_of(i / GROUP), i % GROUP),
        Part::Lsu(i) => (domain_of(i / GROUP), sms(i / GROUP) + i % GROUP),
        Part::Dispatcher => (CORE, 2 * sms(0)),
        Part::Coordinator => (CORE, 2 * sms(0) + 1),
        Part::Dueling => (CORE, 2 * sms(0) + 2),
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
