//! # Events of a DRAM channel
//! Reports each request, command and reply of a channel to its checker. When disabled, it costs the simulator
//! one branch per event.

use super::command::Command;

/// Event of a DRAM channel. In one cycle, a reply precedes commands, and commands precede a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChannelEvent {
    /// The channel sent a burst on a reply link, which frees an entry of the reply buffer.
    Sent {
        /// Cycle of the command clock.
        cycle: u64,
    },
    /// The channel issued a command.
    Issued {
        /// Command on the command bus.
        command: Command,
        /// Queue slot of the request for which the command is issued; `None` for PREA and REF.
        slot: Option<usize>,
    },
    /// The channel accepted a request into its queue.
    Accepted {
        /// Cycle of the command clock.
        cycle: u64,
        /// Queue slot that holds the request until its RD or WR.
        slot: usize,
        /// True for a write, false for a read.
        write: bool,
        /// Burst address within the channel.
        burst: u64,
        /// Requester: 0 for the L2 itself, otherwise the number of the SM plus 1. Always 0 if the policy does
        /// not rank requests.
        requester: u16,
    },
}

impl ChannelEvent {
    /// Returns the cycle of the command clock in which the event occurs.
    #[must_use]
    pub fn cycle(&self) -> u64 {
        match *self {
            Self::Sent { cycle } | Self::Accepted { cycle, .. } => cycle,
            Self::Issued { command, .. } => command.cycle,
        }
    }
}
