//! # Router
//! Forwards packets in flits from its inputs to its outputs, as a crossbar does, in a mesh, a ring or a
//! two-level network. An output leads to another router or to a site (an SM or a memory partition). A packet
//! is forwarded as soon as its header has arrived and the next router has room for the whole packet. This is
//! virtual cut-through (Dally and Towles, *Principles and Practices of Interconnection Networks*, section
//! 13.2.2). The virtual channels of a link share the link's wires, but each has its own buffer.
//!
//! | port      | dir | payload | contract                                                        |
//! |-----------|-----|---------|-----------------------------------------------------------------|
//! | `from[i]` | in  | packet  | accepted when the wires of input `i` are free and its buffer has room for the whole packet |
//! | `to[o]`   | out | packet  | to a router: sent with the header flit; to a site: with the tail flit; credit is checked when the output is granted |
//!
//! In one cycle, in this order:
//! 1. Inputs accept packets, one header each.
//! 2. Each free set of wires is granted to one input whose header arrived in an earlier cycle.
//! 3. Packets whose tail flits pass in this cycle leave the router.
//!
//! Latency: a packet accepted in cycle `c` is forwarded to a router in `c + 1` at the earliest. A packet of F
//! flits is sent to a site in `c + F`. If the packet passes N routers, and each hop takes one cycle, it
//! reaches its site 2N + F - 2 cycles after the first router accepted it.
//!
//! Ordering and stalls: packets of one input keep their order. A stalled head packet blocks the packets
//! behind it on its own virtual channel, but not those on other channels. A granted packet never stalls: its
//! flits follow back to back.
//!
//! Area, in falling order: for each output link, a multiplexer of one flit from all inputs, and an arbiter;
//! for each input, a buffer of flits.
//!
//! Twin: `golden/noc/flits.rs`.

use arbitrary_int::traits::Integer;
use arbitrary_int::u3;
use serde::{Deserialize, Serialize};

use super::buffer::{InputBuffer, TakeResult};
use super::config::XbarConfig;
use super::packet::Packet;
use super::topology::Topology;
use super::xbar::{OutputCount, OutputStats, XbarIo};
use crate::cells::arbiter::RoundRobin;
use crate::cells::lines::Lines;
use crate::kernel::{AnyEdge, Block, Counted, Describe, DescribeExt, Edge, FieldsExt, Logic, RxBank, Sleep, TxBank};

/// Place of a router in its network: its number and path, its number of inputs from sites, and the router to
/// which each destination is attached.
#[derive(Clone, Debug)]
pub struct RouterPlace {
    /// Hierarchical path, by which hardware descriptions and messages name the router.
    pub path: String,
    /// Number of inputs from sites (SMs or memory partitions). In the list of inputs, those from neighboring
    /// routers come first.
    pub inputs: usize,
    /// Number of the router to which each destination of the network is attached.
    pub destinations: Vec<usize>,
    /// Number of this router in the network.
    pub router: usize,
}

/// Packet whose flits are passing over a set of wires, to a neighboring router or to a site.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct ActiveTransfer {
    input: u8,
    /// Virtual channel of the packet, as an index into the outputs that share these wires.
    channel: u8,
    tail_at: u64,
}

/// Wires from a router to one neighboring router or to one site (SM or memory partition).
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Wire {
    /// Outputs that share these wires: one per virtual channel of a link, or the single output to a site.
    outputs: std::ops::Range<usize>,
    arbiter: RoundRobin,
    /// Packet on the wires; `None` while the wires are free.
    passing: Option<ActiveTransfer>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Output {
    /// Inputs whose head packet requests this output, one bit per input.
    requests: u64,
    /// Statistics of an output to a site; unused for outputs to routers.
    count: OutputCount,
}

/// Router of a mesh, a ring or a two-level network.
#[derive(Clone, Serialize, Deserialize)]
#[serde(bound = "")]
pub struct Router<P: Packet> {
    path: String,
    flit_bytes: u32,
    inputs: Vec<InputBuffer<P>>,
    outputs: Vec<Output>,
    wires: Vec<Wire>,
    /// Number of outputs to neighboring routers. In the list of outputs, they come before the outputs to
    /// sites.
    to_neighbours: usize,
    /// Number of the output for each destination; fixed wiring in hardware, not a register.
    routes: Vec<u8>,
    /// Statistic: bytes forwarded to other routers, per destination.
    hop_bytes: Vec<u64>,
}

impl<P: Packet> Router<P> {
    /// Creates an empty router.
    ///
    /// # Panics
    /// Panics if the router has more than 64 inputs, since the wiring of the machine is then wrong.
    #[must_use]
    pub fn new(place: RouterPlace, config: &XbarConfig, topology: &Topology, shape: &P::Shape) -> Self {
        let RouterPlace { path, inputs, destinations, router } = place;
        let channels = topology.channels();
        let neighbours = topology.neighbours(router).len();
        let to_neighbours = neighbours * channels;
        let mut sites = 0;
        let routes =
            destinations.iter().enumerate().map(|(destination, &to)| match topology.hop(router, to, destination) {
                Some(hop) => (hop.neighbour * channels + hop.channel) as u8,
                None => {
                    sites += 1;
                    (to_neighbours + sites - 1) as u8
                }
            });
        let routes: Vec<u8> = routes.collect();
        let inputs = to_neighbours + inputs;
        assert!(inputs <= u64::BITS as usize, "{path}: {inputs} inputs, expected up to 64: one bit per input");
        let wire = |outputs| Wire { outputs, arbiter: RoundRobin::new(inputs.max(1) as u32), passing: None };
        let to_routers = (0..neighbours).map(|neighbour| neighbour * channels..(neighbour + 1) * channels);
        let to_sites = (to_neighbours..to_neighbours + sites).map(|output| output..output + 1);
        let input = |i| InputBuffer::new(format!("{path}.input{i}.flits"), config, shape.clone());
        Self {
            flit_bytes: config.flit_bytes,
            inputs: (0..inputs).map(input).collect(),
            outputs: vec![Output::default(); to_neighbours + sites],
            wires: to_routers.chain(to_sites).map(wire).collect(),
            to_neighbours,
            hop_bytes: vec![0; routes.len()],
            routes,
            path,
        }
    }

    /// Returns the statistics of a destination: bytes forwarded to other routers, and packets delivered if
    /// the destination is attached to this router.
    #[must_use]
    pub fn stats(&self, destination: usize) -> OutputStats {
        let output = usize::from(self.routes[destination]);
        let sent =
            if output < self.to_neighbours { OutputStats::default() } else { *self.outputs[output].count.stats() };
        OutputStats { hop_bytes: self.hop_bytes[destination], ..sent }
    }

    /// True if the router holds no packet.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.inputs.iter().all(InputBuffer::is_empty)
    }

    /// Counts the stall cycles before `cycle` for stalls that have not ended; called at the end of a run.
    pub fn settle(&mut self, cycle: u64) {
        self.outputs.iter_mut().for_each(|output| output.count.settle(cycle));
    }

    /// Accepts the packets whose input wires are free and that fit into the input buffer. Returns a mask of
    /// the inputs whose buffer was empty, so that the accepted packet is now its head.
    fn take(&mut self, from: &mut RxBank<'_, P>, at: &mut impl AnyEdge, wake: &mut Wake) -> u64 {
        let mut entered = 0;
        for i in 0..self.inputs.len() {
            match self.inputs[i].take(&mut from.at(i), self.flit_bytes, at) {
                TakeResult::Nothing => {}
                TakeResult::At(cycle) => wake.at(cycle),
                TakeResult::AfterGrant => wake.roomless |= 1 << i,
                TakeResult::Entered { head, next } => {
                    if let Some(cycle) = next {
                        wake.at(cycle);
                    }
                    if let Some(destination) = head {
                        entered |= 1 << i;
                        self.request(at.cycle(), i, destination);
                    }
                }
            }
        }
        entered
    }

    /// Grants each free set of wires to one of the inputs in the mask `asking`. The granted input must
    /// request an output of these wires that has credit.
    fn grant(&mut self, asking: u64, to: &mut TxBank<'_, P>, at: &mut impl AnyEdge, wake: &mut Wake) {
        let Self { inputs, outputs, wires, hop_bytes, .. } = self;
        let flit_bytes = u64::from(self.flit_bytes);
        for wire in wires.iter_mut().filter(|wire| wire.passing.is_none()) {
            let mut eligible = 0;
            for o in wire.outputs.clone() {
                let asks = outputs[o].requests & asking;
                if asks != 0 && to.at(o).is_ready(at) {
                    eligible |= asks;
                } else if asks != 0 && o >= self.to_neighbours {
                    outputs[o].count.block(at.cycle());
                }
            }
            let Some(i) = wire.arbiter.grant(eligible) else { continue };
            let Some(o) = wire.outputs.clone().find(|&o| outputs[o].requests & 1 << i != 0) else { continue };
            let (output, input) = (&mut outputs[o], &mut inputs[i as usize]);
            output.requests &= !(1 << i);
            output.count.grant(at.cycle());
            let tail_at = input.leave(at.cycle());
            wire.passing = Some(ActiveTransfer { input: i as u8, channel: (o - wire.outputs.start) as u8, tail_at });
            wake.granted |= 1 << i;
            if o < self.to_neighbours
                && let Some(packet) = input.head()
            {
                hop_bytes[packet.destination()] += (tail_at - at.cycle() + 1) * flit_bytes;
                to.at(o).push_with(at, |beat| beat.clone_from(packet));
            }
        }
    }

    /// Removes the packets whose tail flits pass in this cycle. A packet to a site is sent now; a packet to a
    /// router was sent earlier, with its header.
    fn send(&mut self, to: &mut TxBank<'_, P>, at: &mut impl AnyEdge) {
        for w in 0..self.wires.len() {
            let wire = &mut self.wires[w];
            let passed = wire.passing.take_if(|passing| passing.tail_at == at.cycle());
            let Some(ActiveTransfer { input: i, channel, .. }) = passed else { continue };
            let (o, input) = (wire.outputs.start + usize::from(channel), &mut self.inputs[usize::from(i)]);
            if o < self.to_neighbours {
                input.release(at.cycle());
            } else {
                let (cycle, count) = (at.cycle(), &mut self.outputs[o].count);
                to.at(o).push_with(at, |beat| count.send(input.pop(cycle, beat), self.flit_bytes));
            }
            if let Some(next) = input.head() {
                let destination = next.destination();
                self.request(at.cycle(), i.into(), destination);
            }
        }
    }

    /// Raises the request of a new head packet for its output; the arbiter sees the request in the next
    /// cycle.
    fn request(&mut self, cycle: u64, i: usize, destination: usize) {
        let Some(&output) = self.routes.get(destination) else {
            let (path, all) = (&self.path, self.routes.len());
            panic!("cycle {cycle}, {path}: a packet at input {i} requests destination {destination} of {all}")
        };
        self.outputs[usize::from(output)].requests |= 1 << i;
    }

    /// True if the router must be evaluated in the next cycle: free wires can be granted, or a packet waits
    /// for a site that has no room and the statistics have not recorded this stall yet.
    fn has_more(&self, to: &mut TxBank<'_, P>, at: &mut impl AnyEdge) -> bool {
        let mut free = self.wires.iter().filter(|wire| wire.passing.is_none()).flat_map(|wire| wire.outputs.clone());
        free.any(|o| {
            let is_noted = o < self.to_neighbours || self.outputs[o].count.is_blocked();
            self.outputs[o].requests != 0 && (!to.at(o).is_blocked(at) || !is_noted)
        })
    }

    /// Evaluates one clock edge, with or without run-time checks of the port contracts.
    pub(crate) fn eval_any(&mut self, mut io: XbarIo<'_, P>, at: &mut impl AnyEdge) -> Sleep {
        let mut wake = Wake { cycle: u64::MAX, roomless: 0, granted: 0 };
        let entered = self.take(&mut io.ends.from(), at, &mut wake);
        self.grant(!entered, &mut io.ends.to(), at, &mut wake);
        self.send(&mut io.ends.to(), at);
        if wake.roomless & wake.granted != 0 || self.has_more(&mut io.ends.to(), at) {
            return Sleep::Next;
        }
        let tails = self.wires.iter().filter_map(|wire| Some(wire.passing?.tail_at));
        match tails.fold(wake.cycle, u64::min) {
            u64::MAX => Sleep::UntilEvent,
            cycle => Sleep::At(cycle),
        }
    }
}

/// Conditions that determine the next clock edge at which the router must be evaluated.
struct Wake {
    cycle: u64,
    /// Mask of the inputs whose link has a packet that must wait: the input buffer has no room until another
    /// packet of the input is granted an output.
    roomless: u64,
    /// Mask of the inputs that received a grant in this cycle.
    granted: u64,
}

impl Wake {
    fn at(&mut self, cycle: u64) {
        self.cycle = self.cycle.min(cycle);
    }
}

impl<P: Packet + 'static> Block for Router<P> {
    type Io<'a> = XbarIo<'a, P>;

    fn eval(&mut self, io: XbarIo<'_, P>, at: &mut Edge<'_>) -> Sleep {
        self.eval_any(io, at)
    }

    fn describe(&self, to: &mut dyn Describe) {
        let Self { path: _, flit_bytes, inputs, outputs, wires, to_neighbours, routes: _, hop_bytes } = self;
        let bits = |values: usize| (usize::BITS - values.saturating_sub(1).leading_zeros()).max(1);
        for (i, input) in inputs.iter().enumerate() {
            to.parts("input", i as u32, |to| input.describe(to));
        }
        for (o, output) in outputs.iter().enumerate() {
            let Output { requests, count } = output;
            to.parts("output", o as u32, |to| {
                requests.describe("requests", inputs.len() as u32, to);
                if o >= *to_neighbours {
                    count.stats().describe(&(), to);
                }
            });
        }
        for (w, Wire { outputs: served, arbiter, passing }) in wires.iter().enumerate() {
            to.parts("wire", w as u32, |to| {
                let ActiveTransfer { input, channel, tail_at } = passing.unwrap_or_default();
                to.flag("busy", passing.is_some());
                to.sized("input", input.into(), bits(inputs.len()));
                if served.len() > 1 {
                    to.sized("channel", channel.into(), bits(served.len()));
                }
                to.bits("tail_at", u3::masked_new(tail_at));
                to.part("arbiter", |to| arbiter.describe(to));
                to.logic("flit", Logic::Mux { ways: inputs.len() as u32, width: 8 * flit_bytes });
            });
        }
        to.stat("hop_bytes", hop_bytes.iter().sum());
    }
}
