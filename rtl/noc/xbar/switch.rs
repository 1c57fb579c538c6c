//! # Switch
//! Implements the crossbar for any number of inputs and outputs; see [`Xbar`](super::Xbar).

use arbitrary_int::traits::Integer;
use arbitrary_int::u3;
use serde::{Deserialize, Serialize};

use super::{MAX_PORTS, OutputCount, OutputStats, XbarIo};
use crate::cells::arbiter::RoundRobin;
use crate::cells::lines::Lines;
use crate::kernel::{AnyEdge, Counted, Describe, DescribeExt, FieldsExt, Logic, RxBank, Sleep, TxBank};
use crate::noc::buffer::{InputBuffer, TakeResult};
use crate::noc::config::XbarConfig;
use crate::noc::packet::Packet;

/// Stands for "no event": a cycle number that no simulation reaches.
const NEVER: u64 = u64::MAX;
/// Number of cycles that the array `tails` of the crossbar covers; greater than the number of flits in the
/// longest packet.
const CALENDAR: u64 = 8;

/// Input that an output is serving, and the cycle in which the tail of its packet passes.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct ActiveTransfer {
    input: u8,
    tail_at: u64,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(bound = "")]
struct Output<M: Lines> {
    arbiter: RoundRobin,
    /// Mask of the inputs whose head packet requests this output.
    requests: M,
    passing: ActiveTransfer,
    count: OutputCount,
}

/// Crossbar. Sets of inputs and of outputs are bit masks of type `M`, which has one bit per input or output.
#[derive(Clone, Serialize, Deserialize)]
#[serde(bound = "")]
pub(super) struct Switch<P: Packet, M: Lines> {
    path: String,
    flit_bytes: u32,
    inputs: Vec<InputBuffer<P>>,
    outputs: Vec<Output<M>>,
    /// Mask of the outputs that are transferring a packet.
    busy: M,
    /// For each of the next cycles, the mask of the outputs over which the tail of a packet passes in that
    /// cycle. Redundant with `passing` of the busy outputs; kept for simulation speed.
    tails: [M; CALENDAR as usize],
    /// Mask of the outputs that at least one head packet requests.
    wanted: M,
}

impl<P: Packet, M: Lines> Switch<P, M> {
    /// Creates an empty crossbar.
    ///
    /// # Panics
    /// Panics if there are no inputs or outputs, or more than 256 of either, since the wiring of the machine
    /// is then wrong.
    pub(super) fn new(path: &str, config: &XbarConfig, inputs: u32, outputs: u32, shape: &P::Shape) -> Self {
        assert!(
            (1..=MAX_PORTS).contains(&outputs),
            "{path}: {outputs} outputs, expected 1 to {MAX_PORTS}: one bit per output"
        );
        let input = |i| InputBuffer::new(format!("{path}.input{i}.flits"), config, shape.clone());
        let output = |_| Output {
            arbiter: RoundRobin::new(inputs),
            requests: M::NONE,
            passing: ActiveTransfer::default(),
            count: OutputCount::default(),
        };
        Self {
            path: path.to_owned(),
            flit_bytes: config.flit_bytes,
            inputs: (0..inputs).map(input).collect(),
            outputs: (0..outputs).map(output).collect(),
            busy: M::NONE,
            tails: [M::NONE; CALENDAR as usize],
            wanted: M::NONE,
        }
    }

    /// Returns the statistics of an output.
    pub(super) fn stats(&self, output: usize) -> &OutputStats {
        self.outputs[output].count.stats()
    }

    /// True if the crossbar holds no packet.
    pub(super) fn is_idle(&self) -> bool {
        self.inputs.iter().all(InputBuffer::is_empty)
    }

    /// Counts the stall cycles before `cycle` for stalls that have not ended; called at the end of a run.
    pub(super) fn settle(&mut self, cycle: u64) {
        self.outputs.iter_mut().for_each(|output| output.count.settle(cycle));
    }

    /// Accepts the packets whose input wires are free and that fit into the input buffer.
    fn take(&mut self, from: &mut RxBank<'_, P>, at: &mut impl AnyEdge, edge: &mut Outcome<M>) {
        // One pass without branches finds the few inputs whose link has a packet.
        let mut outside = from.each_waiting(at).rev().fold(M::NONE, |outside, waits| outside.shifted_in(waits));
        while let Some(i) = outside.first() {
            let i = i as usize;
            outside = outside.without_first();
            match self.inputs[i].take(&mut from.at(i), self.flit_bytes, at) {
                TakeResult::Nothing => {}
                TakeResult::At(cycle) => edge.wake_at(cycle),
                TakeResult::AfterGrant => edge.roomless |= M::line(i as u32),
                TakeResult::Entered { head, next } => {
                    if let Some(cycle) = next {
                        edge.wake_at(cycle);
                    }
                    if let Some(output) = head {
                        edge.entered |= M::line(i as u32);
                        self.request(at.cycle(), i, output);
                    }
                }
            }
        }
    }

    /// Grants each output in the mask `idle` that has credit to one input whose header arrived in an earlier
    /// cycle.
    fn grant(&mut self, mut idle: M, to: &mut TxBank<'_, P>, at: &mut impl AnyEdge, edge: &mut Outcome<M>) {
        while let Some(o) = idle.first() {
            let o = o as usize;
            idle = idle.without_first();
            let output = &mut self.outputs[o];
            if !to.at(o).is_ready(at) {
                output.count.block(at.cycle());
                edge.stuck |= M::line(o as u32);
                continue;
            }
            let Some(i) = output.arbiter.grant(output.requests & !edge.entered) else { continue };
            output.requests &= !M::line(i);
            if output.requests == M::NONE {
                self.wanted &= !M::line(o as u32);
            }
            self.busy |= M::line(o as u32);
            let tail_at = self.inputs[i as usize].leave(at.cycle());
            output.passing = ActiveTransfer { input: i as u8, tail_at };
            self.tails[(tail_at % CALENDAR) as usize] |= M::line(o as u32);
            output.count.grant(at.cycle());
            edge.granted |= M::line(i);
        }
    }

    /// Sends the packets whose tail flits pass in this cycle.
    fn send(&mut self, to: &mut TxBank<'_, P>, at: &mut impl AnyEdge) {
        let mut tails = std::mem::replace(&mut self.tails[(at.cycle() % CALENDAR) as usize], M::NONE);
        self.busy &= !tails;
        while let Some(o) = tails.first() {
            let o = o as usize;
            tails = tails.without_first();
            let output = &mut self.outputs[o];
            let i = output.passing.input;
            let input = &mut self.inputs[usize::from(i)];
            let cycle = at.cycle();
            to.at(o).push_with(at, |beat| output.count.send(input.pop(cycle, beat), self.flit_bytes));
            if let Some(next) = input.head() {
                let wanted = next.destination();
                self.request(at.cycle(), usize::from(i), wanted);
            }
        }
    }

    /// Returns the next cycle after `cycle` in which the tail of a packet passes; `NEVER` if no output is
    /// busy.
    fn next_tail(&self, cycle: u64) -> u64 {
        if self.busy == M::NONE {
            return NEVER;
        }
        let mut ahead = (1..CALENDAR).map(|cycles| cycle + cycles);
        ahead.find(|next| self.tails[(next % CALENDAR) as usize] != M::NONE).unwrap_or(NEVER)
    }

    /// Raises the request of a new head packet for its output; the arbiter sees the request in the next
    /// cycle.
    fn request(&mut self, cycle: u64, i: usize, o: usize) {
        assert!(
            o < self.outputs.len(),
            "cycle {cycle}, {}: a packet at input {i} requests output {o} of {}",
            self.path,
            self.outputs.len()
        );
        self.outputs[o].requests |= M::line(i as u32);
        self.wanted |= M::line(o as u32);
    }
}

/// Events of one clock edge that determine the next edge at which the crossbar must be evaluated.
struct Outcome<M> {
    wake: u64,
    /// Mask of the inputs at which the header of a packet arrives in this cycle and the packet at once
    /// becomes the head of the input buffer.
    entered: M,
    /// Mask of the inputs whose link has a packet that must wait: the input buffer has no room until another
    /// packet of the input is granted an output.
    roomless: M,
    /// Mask of the inputs that received a grant in this cycle.
    granted: M,
    /// Mask of the requested outputs whose receiver is full. The crossbar wakes when that receiver pops a
    /// packet.
    stuck: M,
}

impl<M> Outcome<M> {
    fn wake_at(&mut self, cycle: u64) {
        self.wake = self.wake.min(cycle);
    }
}

impl<P: Packet + 'static, M: Lines> Switch<P, M> {
    /// Evaluates one clock edge, with or without run-time checks of the port contracts.
    #[inline(never)]
    pub(super) fn eval(&mut self, mut io: XbarIo<'_, P>, at: &mut impl AnyEdge) -> Sleep {
        let none = M::NONE;
        let mut edge = Outcome { wake: NEVER, entered: none, roomless: none, granted: none, stuck: none };
        // The outputs to grant are selected before packets are accepted, because a header that arrives in
        // this cycle requests an output only from the next cycle on. Packets are accepted before any packet
        // leaves, because acceptance depends on the room at the start of the cycle.
        let idle = self.wanted & !self.busy;
        self.take(&mut io.ends.from(), at, &mut edge);
        self.grant(idle, &mut io.ends.to(), at, &mut edge);
        self.send(&mut io.ends.to(), at);
        if self.wanted & !self.busy & !edge.stuck != none || edge.roomless & edge.granted != none {
            return Sleep::Next;
        }
        match edge.wake.min(self.next_tail(at.cycle())) {
            NEVER => Sleep::UntilEvent,
            cycle => Sleep::At(cycle),
        }
    }

    /// Lists the outputs and input buffers of the crossbar for waveforms, digests and area estimates.
    pub(super) fn describe(&self, to: &mut dyn Describe) {
        // `wanted` is redundant: it marks the outputs whose request register is not zero.
        let Self { path: _, flit_bytes, inputs, outputs, busy, tails: _, wanted: _ } = self;
        busy.describe("busy", outputs.len() as u32, to);
        for (i, input) in inputs.iter().enumerate() {
            to.parts("input", i as u32, |to| input.describe(to));
        }
        for (o, output) in outputs.iter().enumerate() {
            to.parts("output", o as u32, |to| output.describe(inputs.len() as u32, 8 * flit_bytes, to));
        }
    }
}

impl<M: Lines> Output<M> {
    fn describe(&self, inputs: u32, flit_bits: u32, to: &mut dyn Describe) {
        let Self { arbiter, requests, passing: ActiveTransfer { input, tail_at }, count } = self;
        to.part("arbiter", |to| arbiter.describe(to));
        requests.describe("requests", inputs, to);
        to.sized("input", u64::from(*input), (u32::BITS - (inputs - 1).leading_zeros()).max(1));
        to.bits("tail_at", u3::masked_new(*tail_at));
        to.logic("flit", Logic::Mux { ways: inputs, width: flit_bits });
        count.stats().describe(&(), to);
    }
}
