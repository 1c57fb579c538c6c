//! # Crossbar of one direction
//! Transfers packets from N inputs to M outputs in flits (32 bytes in khairy2015 Table 1), one flit per cycle
//! on every input and output. Requests and replies have separate crossbars. The crossbar uses wormhole
//! switching: an output stays allocated to the granted input until the packet's tail has passed.
//!
//! | port      | dir | payload | contract                                                        |
//! |-----------|-----|---------|-----------------------------------------------------------------|
//! | `from[i]` | in  | packet  | accepted when the wires of input `i` are free and its buffer has room for the whole packet |
//! | `to[o]`   | out | packet  | sent when the tail flit passes; credit is checked when the output is granted     |
//!
//! Latency: a packet of F flits accepted in cycle `c` is sent in cycle `c + F` at the earliest. Its header
//! requests the output in `c + 1`, and the tail follows F - 1 cycles later.
//!
//! Ordering and stalls: packets of one (input, output) pair keep their order, because each input is a queue.
//! A head packet that waits for a busy output blocks the packets behind it. A granted packet never stalls:
//! its flits arrive back to back. Until its tail has been sent, no other packet uses the output, so the
//! credit that was present at the grant is still present. There is no cyclic wait: a head packet waits only
//! for packets that are being transferred, or for credit from its receiver.
//!
//! Area, in falling order: M multiplexers of one flit from N inputs, N buffers of flits.

mod switch;

use serde::{Deserialize, Serialize};
use switch::Switch;

use super::config::XbarConfig;
use super::packet::Packet;
use crate::cells::lines::{Lines, Wide};
use crate::kernel::{AnyEdge, Block, Counted, Describe, Edge, Ends, HasPorts, In, Many, Out, Ports, Sleep};

/// Maximum number of inputs of a crossbar, and also of outputs.
pub const MAX_PORTS: u32 = Wide::MAX;

/// Statistics of one output of a crossbar.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize, Counted)]
pub struct OutputStats {
    /// Number of packets sent.
    pub packets: u64,
    /// Number of flits sent, which equals the number of cycles in which the output was busy.
    pub flits: u64,
    /// Number of bytes transferred, including the unused bytes of partially filled flits.
    #[counted(bytes)]
    pub bytes: u64,
    /// Number of cycles in which a packet waited at an idle output because the receiver was full.
    #[counted(cycles)]
    pub blocked: u64,
    /// Bytes forwarded between routers on the path to this output, including the unused bytes of partially
    /// filled flits; 0 for a crossbar.
    #[counted(bytes)]
    pub hop_bytes: u64,
}

/// Counter of an output: counts the packets sent, and the cycles in which a full receiver blocks the output.
/// Not part of the hardware.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct OutputCount {
    stats: OutputStats,
    blocked_since: Option<u64>,
}

impl OutputCount {
    /// Returns the statistics so far.
    pub fn stats(&self) -> &OutputStats {
        &self.stats
    }

    /// True if a packet waits at the output because the receiver is full.
    pub fn is_blocked(&self) -> bool {
        self.blocked_since.is_some()
    }

    /// Records that a packet waits in cycle `cycle` because the receiver is full.
    #[inline(always)]
    pub fn block(&mut self, cycle: u64) {
        self.blocked_since.get_or_insert(cycle);
    }

    /// Records that the output was granted to a packet in cycle `cycle`, which ends the wait for a full
    /// receiver.
    #[inline(always)]
    pub fn grant(&mut self, cycle: u64) {
        if let Some(since) = self.blocked_since.take() {
            self.stats.blocked += cycle - since;
        }
    }

    /// Counts a packet of `flits` flits that the output sends.
    #[inline(always)]
    pub fn send(&mut self, flits: u32, flit_bytes: u32) {
        self.stats.packets += 1;
        self.stats.flits += u64::from(flits);
        self.stats.bytes += u64::from(flits) * u64::from(flit_bytes);
    }

    /// Counts the stall cycles before `cycle` for a stall that has not ended; called at the end of a run.
    pub fn settle(&mut self, cycle: u64) {
        if let Some(since) = &mut self.blocked_since {
            self.stats.blocked += cycle.saturating_sub(*since);
            *since = cycle;
        }
    }
}

/// Ports of a crossbar or router.
#[derive(Default, Ports)]
pub struct XbarPorts<P: Packet + 'static> {
    /// Receiving ends, one per input.
    pub from: Many<In<P>>,
    /// Sending ends, one per output.
    pub to: Many<Out<P>>,
}

impl<P: Packet + 'static> HasPorts for Xbar<P> {
    type Ports = XbarPorts<P>;
}

/// Channel ends of a crossbar or router at one clock edge.
pub struct XbarIo<'a, P: Packet> {
    /// Receiving ends, one per input, and sending ends, one per output.
    pub ends: Ends<'a, P>,
}

/// Crossbar. The simulation is slower for a crossbar with more than 64 inputs or outputs.
#[derive(Clone, Serialize, Deserialize)]
#[serde(bound = "")]
pub struct Xbar<P: Packet>(Size<P>);

#[derive(Clone, Serialize, Deserialize)]
#[serde(bound = "")]
enum Size<P: Packet> {
    /// Crossbar with up to 64 inputs and up to 64 outputs.
    Small(Switch<P, u64>),
    /// Crossbar with up to 128 inputs and up to 128 outputs.
    Large(Switch<P, u128>),
    /// Crossbar with up to [`MAX_PORTS`] inputs and up to [`MAX_PORTS`] outputs. The reply crossbar may need
    /// that many, because not only L2 banks use it, but also L1s that supply lines to each other.
    Largest(Switch<P, Wide>),
}

impl<P: Packet> Xbar<P> {
    /// Creates an empty crossbar.
    ///
    /// # Panics
    /// Panics if there are no inputs or outputs, or more than 256 of either, since the wiring of the machine
    /// is then wrong.
    #[must_use]
    pub fn new(path: &str, config: &XbarConfig, inputs: u32, outputs: u32, shape: &P::Shape) -> Self {
        let ports = inputs.max(outputs);
        Self(if ports <= u64::BITS {
            Size::Small(Switch::new(path, config, inputs, outputs, shape))
        } else if ports <= u128::BITS {
            Size::Large(Switch::new(path, config, inputs, outputs, shape))
        } else {
            Size::Largest(Switch::new(path, config, inputs, outputs, shape))
        })
    }

    /// Returns the statistics of an output.
    #[must_use]
    pub fn stats(&self, output: usize) -> &OutputStats {
        match &self.0 {
            Size::Small(switch) => switch.stats(output),
            Size::Large(switch) => switch.stats(output),
            Size::Largest(switch) => switch.stats(output),
        }
    }

    /// True if the crossbar holds no packet.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        match &self.0 {
            Size::Small(switch) => switch.is_idle(),
            Size::Large(switch) => switch.is_idle(),
            Size::Largest(switch) => switch.is_idle(),
        }
    }

    /// Counts the stall cycles before `cycle` for stalls that have not ended; called at the end of a run.
    pub fn settle(&mut self, cycle: u64) {
        match &mut self.0 {
            Size::Small(switch) => switch.settle(cycle),
            Size::Large(switch) => switch.settle(cycle),
            Size::Largest(switch) => switch.settle(cycle),
        }
    }
}

impl<P: Packet + 'static> Xbar<P> {
    /// Evaluates one clock edge, with or without run-time checks of the port contracts.
    #[inline]
    pub(crate) fn eval_any(&mut self, io: XbarIo<'_, P>, at: &mut impl AnyEdge) -> Sleep {
        match &mut self.0 {
            Size::Small(switch) => switch.eval(io, at),
            Size::Large(switch) => switch.eval(io, at),
            Size::Largest(switch) => switch.eval(io, at),
        }
    }
}

impl<P: Packet + 'static> Block for Xbar<P> {
    type Io<'a> = XbarIo<'a, P>;

    fn eval(&mut self, io: XbarIo<'_, P>, at: &mut Edge<'_>) -> Sleep {
        self.eval_any(io, at)
    }

    fn describe(&self, to: &mut dyn Describe) {
        match &self.0 {
            Size::Small(switch) => switch.describe(to),
            Size::Large(switch) => switch.describe(to),
            Size::Largest(switch) => switch.describe(to),
        }
    }
}
