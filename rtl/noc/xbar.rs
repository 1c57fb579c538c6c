//! # Crossbar of one direction
//! Carries packets from N inputs to M outputs in flits (32 bytes in khairy2015 Table 1), one flit a cycle on every
//! input and output; one block for requests, one for replies. Wormhole: an
//! output stays with the input it was granted until that packet's tail has passed.
//!
//! | port      | dir | payload | contract                                                        |
//! |-----------|-----|---------|-----------------------------------------------------------------|
//! | `from[i]` | in  | packet  | taken when the wires of input `i` are free and its buffer has room for all of it |
//! | `to[o]`   | out | packet  | sent when the tail flit passes; room is checked when the output is granted       |
//!
//! Latency: a packet of F flits taken in cycle `c` is sent in cycle `c + F` at the earliest: its
//! header asks for the output in `c + 1`, the tail follows F - 1 cycles later.
//!
//! Ordering and stalls: packets of one (input, output) pair keep their order, because each input
//! is a queue; a head packet that waits for a busy output blocks those behind it. A granted packet
//! never stops: its flits enter back to back, and nobody else sends on the granted output, so the
//! room seen at the grant is still there at the tail. Nothing waits in a circle inside: the
//! receiver's room is the only thing a head packet can wait for, besides packets that move.
//!
//! Area order: M multiplexers of N flits, N buffers of flits.

mod switch;

use serde::{Deserialize, Serialize};
use switch::Switch;

use super::config::XbarConfig;
use super::packet::Packet;
use crate::cells::lines::{Lines, Wide};
use crate::kernel::{AnyEdge, Block, Counted, Describe, Edge, Ends, HasPorts, In, Many, Out, Ports, Sleep};

/// The most inputs, and the most outputs.
pub const MOST_PORTS: u32 = Wide::MOST;

/// What went through one output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize, Counted)]
pub struct OutputStats {
    /// Packets sent.
    pub packets: u64,
    /// Flits sent: the cycles in which the output was busy.
    pub flits: u64,
    /// Bytes on the wires, those of flits that are not full included.
    #[counted(bytes)]
    pub bytes: u64,
    /// Cycles in which the output was idle with a packet waiting, because its receiver was full.
    #[counted(cycles)]
    pub blocked: u64,
    /// Bytes that routers passed on to each other on the way to this output, those of flits that are not full included; none in
    /// a crossbar.
    #[counted(bytes)]
    pub hop_bytes: u64,
}

/// Counts what leaves by an output, and the cycles in which the output is blocked: statistics, no hardware.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct OutputCount {
    stats: OutputStats,
    blocked_since: Option<u64>,
}

impl OutputCount {
    /// The counts so far.
    pub fn stats(&self) -> &OutputStats {
        &self.stats
    }

    /// True if the output has been blocked since an earlier cycle.
    pub fn is_blocked(&self) -> bool {
        self.blocked_since.is_some()
    }

    /// Notes that a packet waits for a receiver that is full.
    #[inline(always)]
    pub fn block(&mut self, cycle: u64) {
        self.blocked_since.get_or_insert(cycle);
    }

    /// Notes that the output was granted.
    #[inline(always)]
    pub fn grant(&mut self, cycle: u64) {
        if let Some(since) = self.blocked_since.take() {
            self.stats.blocked += cycle - since;
        }
    }

    /// Counts a packet that leaves.
    #[inline(always)]
    pub fn send(&mut self, flits: u32, flit_bytes: u32) {
        self.stats.packets += 1;
        self.stats.flits += u64::from(flits);
        self.stats.bytes += u64::from(flits) * u64::from(flit_bytes);
    }

    /// Charges the cycles of a stall that still lasts, at the end of a run.
    pub fn settle(&mut self, cycle: u64) {
        if let Some(since) = &mut self.blocked_since {
            self.stats.blocked += cycle.saturating_sub(*since);
            *since = cycle;
        }
    }
}

/// Ports of a crossbar.
#[derive(Default, Ports)]
pub struct XbarPorts<P: Packet + 'static> {
    /// One end an input.
    pub from: Many<In<P>>,
    /// One an output.
    pub to: Many<Out<P>>,
}

impl<P: Packet + 'static> HasPorts for Xbar<P> {
    type Ports = XbarPorts<P>;
}

/// Channel ends of a crossbar.
pub struct XbarIo<'a, P: Packet> {
    /// One channel per input, and one per output.
    pub ends: Ends<'a, P>,
}

/// The crossbar. One of many ports takes the host longer.
#[derive(Clone, Serialize, Deserialize)]
#[serde(bound = "")]
pub struct Xbar<P: Packet>(Size<P>);

#[derive(Clone, Serialize, Deserialize)]
#[serde(bound = "")]
enum Size<P: Packet> {
    /// Up to 64 inputs and outputs.
    Small(Switch<P, u64>),
    /// Up to 128.
    Large(Switch<P, u128>),
    /// Up to [`MOST_PORTS`]: L1s that supply each other share the crossbar of the L2 banks.
    Largest(Switch<P, Wide>),
}

impl<P: Packet> Xbar<P> {
    /// An empty crossbar.
    ///
    /// # Panics
    /// If there are no or more than 256 inputs or outputs: the machine's wiring is wrong.
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

    /// What went through output `output`.
    #[must_use]
    pub fn stats(&self, output: usize) -> &OutputStats {
        match &self.0 {
            Size::Small(switch) => switch.stats(output),
            Size::Large(switch) => switch.stats(output),
            Size::Largest(switch) => switch.stats(output),
        }
    }

    /// True if no packet is inside.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        match &self.0 {
            Size::Small(switch) => switch.is_idle(),
            Size::Large(switch) => switch.is_idle(),
            Size::Largest(switch) => switch.is_idle(),
        }
    }

    /// Charges the cycles of a stall that still lasts, at the end of a run.
    pub fn settle(&mut self, cycle: u64) {
        match &mut self.0 {
            Size::Small(switch) => switch.settle(cycle),
            Size::Large(switch) => switch.settle(cycle),
            Size::Largest(switch) => switch.settle(cycle),
        }
    }
}

impl<P: Packet + 'static> Xbar<P> {
    /// One clock edge, checked or not.
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
