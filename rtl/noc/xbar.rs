//! # Crossbar of one direction
//! Carries packets from N inputs to M outputs in flits of 32 bytes, one flit a cycle on every
//! input and output (khairy2015 Table 1; one block for requests, one for replies). Wormhole: an
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

use arbitrary_int::traits::Integer;
use arbitrary_int::u3;

use super::buffer::InputBuffer;
use super::packet::{FLIT_BYTES, LINE_BYTES, Packet};
use crate::cells::arbiter::RoundRobin;
use crate::config::Rules;
use crate::kernel::{AnyEdge, Block, Describe, DescribeExt, Edge, FieldsExt, Logic, RxBank, Sleep, TxBank};

/// Parameters of a crossbar.
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
#[serde(deny_unknown_fields)]
pub struct XbarConfig {
    /// Flits of each input buffer (khairy2015 Table 1: 8).
    pub buffer_flits: u32,
}

impl XbarConfig {
    /// Checks the fields.
    pub fn validate(&self, rules: &mut Rules) {
        let longest = 1 + LINE_BYTES as u64 / u64::from(FLIT_BYTES);
        rules.range("buffer_flits", self.buffer_flits.into(), longest..=64, "a packet enters only as a whole");
    }
}

/// No cycle ever comes to this.
const NEVER: u64 = u64::MAX;
/// Cycles that a calendar of tails spans: more than the longest packet has flits.
const CALENDAR: u64 = 8;

/// Which input an output is serving, and until when.
#[derive(Clone, Copy, Debug, Default)]
struct Passing {
    input: u8,
    tail_at: u64,
}

/// What went through one output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
pub struct OutputStats {
    /// Packets sent.
    pub packets: u64,
    /// Flits sent: the cycles in which the output was busy.
    pub flits: u64,
    /// Cycles in which the output was idle with a packet waiting, because its receiver was full.
    pub blocked: u64,
}

impl OutputStats {
    /// Bytes on the output's wires.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.flits * u64::from(FLIT_BYTES)
    }
}

#[derive(Clone, Debug)]
struct Output {
    arbiter: RoundRobin,
    /// Inputs whose head packet wants this output.
    requests: u64,
    passing: Passing,
    stats: OutputStats,
    blocked_since: Option<u64>,
}

/// The crossbar.
#[derive(Clone)]
pub struct Xbar<P: Packet> {
    path: String,
    inputs: Vec<InputBuffer<P>>,
    outputs: Vec<Output>,
    /// Outputs with a packet passing.
    busy: u64,
    /// For each of the next cycles the outputs that a tail passes then: follows from `passing` of the
    /// busy ones, kept for the host's speed.
    tails: [u64; CALENDAR as usize],
    /// Outputs that some head packet waits for.
    wanted: u64,
}

/// Channel ends of a crossbar.
pub struct XbarIo<'a, P: Packet> {
    /// One channel per input.
    pub from: RxBank<'a, P>,
    /// One channel per output.
    pub to: TxBank<'a, P>,
}

impl<P: Packet> Xbar<P> {
    /// An empty crossbar.
    ///
    /// # Panics
    /// If there are no or more than 64 inputs or outputs: the machine's wiring is wrong.
    #[must_use]
    pub fn new(path: &str, config: &XbarConfig, inputs: u32, outputs: u32, shape: &P::Shape) -> Self {
        assert!((1..=64).contains(&outputs), "{path}: {outputs} outputs, expected 1 to 64: one bit each");
        let input = |i| InputBuffer::new(format!("{path}.input{i}.flits"), config.buffer_flits, shape.clone());
        let output = |_| Output {
            arbiter: RoundRobin::new(inputs),
            requests: 0,
            passing: Passing::default(),
            stats: OutputStats::default(),
            blocked_since: None,
        };
        Self {
            path: path.to_owned(),
            inputs: (0..inputs).map(input).collect(),
            outputs: (0..outputs).map(output).collect(),
            busy: 0,
            tails: [0; CALENDAR as usize],
            wanted: 0,
        }
    }

    /// What went through output `output`.
    #[must_use]
    pub fn stats(&self, output: usize) -> &OutputStats {
        &self.outputs[output].stats
    }

    /// True if no packet is inside.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.inputs.iter().all(InputBuffer::is_empty)
    }

    /// Charges the cycles of a stall that still lasts, at the end of a run.
    pub fn settle(&mut self, cycle: u64) {
        for output in &mut self.outputs {
            if let Some(since) = &mut output.blocked_since {
                output.stats.blocked += cycle.saturating_sub(*since);
                *since = cycle;
            }
        }
    }

    /// Takes packets whose wires and room are there.
    fn take(&mut self, from: &mut RxBank<'_, P>, at: &mut impl AnyEdge, edge: &mut Outcome) {
        // One pass without a branch finds the few inputs that have a packet outside.
        let ends = from.0.iter_mut().rev();
        let mut outside = ends.fold(0u64, |outside, end| outside << 1 | u64::from(end.rx().waiting(at)));
        while outside != 0 {
            let i = outside.trailing_zeros() as usize;
            outside &= outside - 1;
            let input = &mut self.inputs[i];
            if input.wires_free() > at.cycle() {
                edge.wake_at(input.wires_free());
                continue;
            }
            let mut from = from.at(i);
            let Some(packet) = from.peek(at) else { continue };
            let flits = packet.flits();
            match input.room_from(flits) {
                Some(cycle) if cycle <= at.cycle() => {
                    let (new_head, output) = (input.is_empty(), packet.destination());
                    input.enter(at.cycle(), flits, packet);
                    from.drop_head(at);
                    if from.waiting(at) {
                        edge.wake_at(input.wires_free());
                    }
                    if new_head {
                        edge.entered |= 1 << i;
                        self.request(at.cycle(), i, output);
                    }
                }
                Some(cycle) => edge.wake_at(cycle),
                None => edge.roomless |= 1 << i,
            }
        }
    }

    /// Grants outputs of `idle` that have room for a packet; those that are asked for by headers of
    /// earlier cycles.
    fn grant(&mut self, mut idle: u64, to: &mut TxBank<'_, P>, at: &mut impl AnyEdge, edge: &mut Outcome) {
        while idle != 0 {
            let o = idle.trailing_zeros() as usize;
            idle &= idle - 1;
            let output = &mut self.outputs[o];
            if !to.at(o).ready(at) {
                output.blocked_since.get_or_insert(at.cycle());
                edge.stuck |= 1 << o;
                continue;
            }
            let Some(i) = output.arbiter.grant(output.requests & !edge.entered) else { continue };
            output.requests &= !(1 << i);
            if output.requests == 0 {
                self.wanted &= !(1 << o);
            }
            self.busy |= 1 << o;
            let tail_at = self.inputs[i as usize].leave(at.cycle());
            output.passing = Passing { input: i as u8, tail_at };
            self.tails[(tail_at % CALENDAR) as usize] |= 1 << o;
            if let Some(since) = output.blocked_since.take() {
                output.stats.blocked += at.cycle() - since;
            }
            edge.granted |= 1 << i;
        }
    }

    /// Sends the packets whose tails pass in this cycle.
    fn send(&mut self, to: &mut TxBank<'_, P>, at: &mut impl AnyEdge) {
        let mut tails = std::mem::take(&mut self.tails[(at.cycle() % CALENDAR) as usize]);
        self.busy &= !tails;
        while tails != 0 {
            let o = tails.trailing_zeros() as usize;
            tails &= tails - 1;
            let output = &mut self.outputs[o];
            let i = output.passing.input;
            let input = &mut self.inputs[usize::from(i)];
            let cycle = at.cycle();
            to.at(o).push_with(at, |beat| {
                output.stats.packets += 1;
                output.stats.flits += u64::from(input.pop(cycle, beat));
            });
            if let Some(next) = input.head() {
                let wanted = next.destination();
                self.request(at.cycle(), usize::from(i), wanted);
            }
        }
    }

    /// The next cycle in which a tail passes, or `NEVER`.
    fn next_tail(&self, cycle: u64) -> u64 {
        if self.busy == 0 {
            return NEVER;
        }
        let mut ahead = cycle + 1..cycle + CALENDAR;
        ahead.find(|next| self.tails[(next % CALENDAR) as usize] != 0).unwrap_or(NEVER)
    }

    /// Raises the request of a new head packet: the arbiter of its output sees it in the next cycle.
    fn request(&mut self, cycle: u64, i: usize, o: usize) {
        assert!(
            o < self.outputs.len(),
            "cycle {cycle}, {}: a packet at input {i} wants output {o} of {}",
            self.path,
            self.outputs.len()
        );
        self.outputs[o].requests |= 1 << i;
        self.wanted |= 1 << o;
    }
}

/// What one edge did, as far as the next wake-up depends on it.
struct Outcome {
    wake: u64,
    /// Inputs whose head packet has its header enter in this cycle.
    entered: u64,
    /// Inputs with a packet outside that has no room until the head packet is granted.
    roomless: u64,
    /// Inputs granted.
    granted: u64,
    /// Outputs wanted whose receiver is full; its next pop wakes the crossbar.
    stuck: u64,
}

impl Outcome {
    fn wake_at(&mut self, cycle: u64) {
        self.wake = self.wake.min(cycle);
    }
}

impl<P: Packet + 'static> Xbar<P> {
    /// One clock edge, checked or not.
    #[inline(never)]
    pub(crate) fn eval_any(&mut self, mut io: XbarIo<'_, P>, at: &mut impl AnyEdge) -> Sleep {
        let mut edge = Outcome { wake: NEVER, entered: 0, roomless: 0, granted: 0, stuck: 0 };
        // Taking comes first: a packet must find the room of the start of the cycle. Whoever asks was
        // asking at the start of the cycle: a header must have arrived before it can ask.
        let idle = self.wanted & !self.busy;
        self.take(&mut io.from, at, &mut edge);
        self.grant(idle, &mut io.to, at, &mut edge);
        self.send(&mut io.to, at);
        if self.wanted & !self.busy & !edge.stuck != 0 || edge.roomless & edge.granted != 0 {
            return Sleep::Next;
        }
        match edge.wake.min(self.next_tail(at.cycle())) {
            NEVER => Sleep::UntilEvent,
            cycle => Sleep::At(cycle),
        }
    }
}

impl<P: Packet + 'static> Block for Xbar<P> {
    type Io<'a> = XbarIo<'a, P>;

    fn eval(&mut self, io: XbarIo<'_, P>, at: &mut Edge<'_>) -> Sleep {
        self.eval_any(io, at)
    }

    fn describe(&self, to: &mut dyn Describe) {
        // `wanted` only says which request registers are not zero.
        let Self { path: _, inputs, outputs, busy, tails: _, wanted: _ } = self;
        to.sized("busy", *busy, outputs.len() as u32);
        for (i, input) in inputs.iter().enumerate() {
            to.parts("input", i as u32, |to| input.describe(to));
        }
        for (o, output) in outputs.iter().enumerate() {
            to.parts("output", o as u32, |to| output.describe(inputs.len() as u32, to));
        }
    }
}

impl Output {
    fn describe(&self, inputs: u32, to: &mut dyn Describe) {
        let Self { arbiter, requests, passing: Passing { input, tail_at }, stats, blocked_since: _ } = self;
        to.part("arbiter", |to| arbiter.describe(to));
        to.sized("requests", *requests, inputs);
        to.sized("input", u64::from(*input), (u32::BITS - (inputs - 1).leading_zeros()).max(1));
        to.bits("tail_at", u3::masked_new(*tail_at));
        to.logic("flit", Logic::Mux { ways: inputs, width: FLIT_BYTES * 8 });
        let OutputStats { packets, flits, blocked } = stats;
        to.stat("packets", *packets);
        to.stat("flits", *flits);
        to.stat("bytes", stats.bytes());
        to.stat("blocked", *blocked);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_shorter_than_a_line_packet_is_refused() {
        let mut rules = Rules::default();
        XbarConfig { buffer_flits: 4 }.validate(&mut rules);
        let found: Vec<String> = rules.into_violations().iter().map(ToString::to_string).collect();
        assert_eq!(found, ["buffer_flits is 4, expected 5 to 64: a packet enters only as a whole"]);
    }
}
