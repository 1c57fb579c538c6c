//! # Router of a mesh or a ring
//! Carries packets from its inputs to its outputs in flits, as a crossbar does, and on to the next router. A packet is passed
//! on as soon as its header is here and the next router has room (virtual cut-through, Dally and Towles, *Principles and
//! Practices of Interconnection Networks*, section 13.2.2). Virtual channels of a link have a buffer each and share its wires.
//!
//! | port      | dir | payload | contract                                                        |
//! |-----------|-----|---------|-----------------------------------------------------------------|
//! | `from[i]` | in  | packet  | taken when the wires of input `i` are free and its buffer has room for all of it |
//! | `to[o]`   | out | packet  | to a router: sent with the header flit; to a site: with the tail flit; room is checked when the output is granted |
//!
//! In one cycle, in this order:
//! 1. inputs take packets, one header each;
//! 2. each wire that is free is granted to one input whose header was here before;
//! 3. packets whose tails pass leave.
//!
//! Latency: a packet taken in cycle `c` is passed on to a router in `c + 1` at the earliest; one of F flits is sent to a site in
//! `c + F`. The last of N routers that are a cycle apart sends it to its site 2N + F - 2 cycles after the first took it.
//!
//! Ordering and stalls: packets of one input keep their order; a head packet that waits blocks those behind it on its virtual
//! channel, and none on another. A granted packet never stops: its flits follow back to back.
//!
//! Area order: for each wire a multiplexer of all inputs of a flit and an arbiter; for each input a buffer of flits.
//!
//! Twin: `golden/noc/flits.rs`.

use arbitrary_int::traits::Integer;
use arbitrary_int::u3;
use serde::{Deserialize, Serialize};

use super::buffer::{InputBuffer, Taken};
use super::config::XbarConfig;
use super::packet::Packet;
use super::topology::Topology;
use super::xbar::{OutputCount, OutputStats, XbarIo};
use crate::cells::arbiter::RoundRobin;
use crate::cells::lines::Lines;
use crate::kernel::{AnyEdge, Block, Counted, Describe, DescribeExt, Edge, FieldsExt, Logic, RxBank, Sleep, TxBank};

/// Position of a router in its network.
#[derive(Clone, Debug)]
pub struct RouterPlace {
    /// Path in descriptions.
    pub path: String,
    /// Inputs from sites; those from neighbours come before them.
    pub inputs: usize,
    /// Router of each destination of the network.
    pub destinations: Vec<usize>,
    /// Number of this router.
    pub router: usize,
}

/// The packet that passes over a wire.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Passing {
    input: u8,
    /// Virtual channel: which of the wire's outputs.
    channel: u8,
    tail_at: u64,
}

/// The wires to a neighbour, or to a site.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Wire {
    /// Outputs that share the wires: one per virtual channel, or the output to a site.
    outputs: std::ops::Range<usize>,
    arbiter: RoundRobin,
    /// None while no packet passes.
    passing: Option<Passing>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Output {
    /// Inputs whose head packet wants this output, a bit each.
    requests: u64,
    /// Counts of an output to a site; unused between routers.
    count: OutputCount,
}

/// The router.
#[derive(Clone, Serialize, Deserialize)]
#[serde(bound = "")]
pub struct Router<P: Packet> {
    path: String,
    flit_bytes: u32,
    inputs: Vec<InputBuffer<P>>,
    outputs: Vec<Output>,
    wires: Vec<Wire>,
    /// Outputs to neighbours; those to sites come behind them.
    to_neighbours: usize,
    /// The output for each destination: wired, no register.
    routes: Vec<u8>,
    /// Bytes passed on to other routers, for each destination: statistics.
    hop_bytes: Vec<u64>,
}

impl<P: Packet> Router<P> {
    /// An empty router.
    ///
    /// # Panics
    /// If it has more than 64 inputs: the machine's wiring is wrong.
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
        assert!(inputs <= u64::BITS as usize, "{path}: {inputs} inputs, expected up to 64: one bit each");
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

    /// Counts for a destination: bytes forwarded to other routers, and packets delivered if the destination is local.
    #[must_use]
    pub fn stats(&self, destination: usize) -> OutputStats {
        let output = usize::from(self.routes[destination]);
        let sent =
            if output < self.to_neighbours { OutputStats::default() } else { *self.outputs[output].count.stats() };
        OutputStats { hop_bytes: self.hop_bytes[destination], ..sent }
    }

    /// True if no packet is inside.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.inputs.iter().all(InputBuffer::is_empty)
    }

    /// Charges the cycles of a stall that still lasts, at the end of a run.
    pub fn settle(&mut self, cycle: u64) {
        self.outputs.iter_mut().for_each(|output| output.count.settle(cycle));
    }

    /// Takes packets whose wires and room are there; returns the inputs whose header enters in this cycle at the head.
    fn take(&mut self, from: &mut RxBank<'_, P>, at: &mut impl AnyEdge, wake: &mut Wake) -> u64 {
        let mut entered = 0;
        for i in 0..self.inputs.len() {
            match self.inputs[i].take(&mut from.at(i), self.flit_bytes, at) {
                Taken::Nothing => {}
                Taken::At(cycle) => wake.at(cycle),
                Taken::AfterGrant => wake.roomless |= 1 << i,
                Taken::Entered { head, next } => {
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

    /// Grants each wire that is free to one of the inputs in `asking` whose output has room.
    fn grant(&mut self, asking: u64, to: &mut TxBank<'_, P>, at: &mut impl AnyEdge, wake: &mut Wake) {
        let Self { inputs, outputs, wires, hop_bytes, .. } = self;
        let flit_bytes = u64::from(self.flit_bytes);
        for wire in wires.iter_mut().filter(|wire| wire.passing.is_none()) {
            let mut eligible = 0;
            for o in wire.outputs.clone() {
                let asks = outputs[o].requests & asking;
                if asks != 0 && to.at(o).ready(at) {
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
            wire.passing = Some(Passing { input: i as u8, channel: (o - wire.outputs.start) as u8, tail_at });
            wake.granted |= 1 << i;
            if o < self.to_neighbours
                && let Some(packet) = input.head()
            {
                hop_bytes[packet.destination()] += (tail_at - at.cycle() + 1) * flit_bytes;
                to.at(o).push_with(at, |beat| beat.clone_from(packet));
            }
        }
    }

    /// Lets the packets go whose tails pass in this cycle.
    fn send(&mut self, to: &mut TxBank<'_, P>, at: &mut impl AnyEdge) {
        for w in 0..self.wires.len() {
            let wire = &mut self.wires[w];
            let passed = wire.passing.take_if(|passing| passing.tail_at == at.cycle());
            let Some(Passing { input: i, channel, .. }) = passed else { continue };
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

    /// Raises the request of a new head packet: the arbiter of its wire sees it in the next cycle.
    fn request(&mut self, cycle: u64, i: usize, destination: usize) {
        let Some(&output) = self.routes.get(destination) else {
            let (path, all) = (&self.path, self.routes.len());
            panic!("cycle {cycle}, {path}: a packet at input {i} wants destination {destination} of {all}")
        };
        self.outputs[usize::from(output)].requests |= 1 << i;
    }

    /// True if the next cycle grants a wire, or finds a site full that a packet waits for.
    fn has_more(&self, to: &mut TxBank<'_, P>, at: &mut impl AnyEdge) -> bool {
        let mut free = self.wires.iter().filter(|wire| wire.passing.is_none()).flat_map(|wire| wire.outputs.clone());
        free.any(|o| {
            let is_noted = o < self.to_neighbours || self.outputs[o].count.is_blocked();
            self.outputs[o].requests != 0 && (!to.at(o).blocked(at) || !is_noted)
        })
    }

    /// One clock edge, checked or not.
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

/// When the router has something to do next.
struct Wake {
    cycle: u64,
    /// Inputs with a packet outside that has no room until the head packet is granted.
    roomless: u64,
    /// Inputs granted.
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
                let Passing { input, channel, tail_at } = passing.unwrap_or_default();
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
