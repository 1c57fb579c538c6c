//! # DRAM channels of a machine in isolation
//! Runs a trace of requests through the DRAM channels without the rest of the machine. A feeder sends the
//! requests in trace order, at most one per cycle. No request is sent before the cycle that the trace states.
//! If the link to a request's channel is full, the request is retried in the next cycle; all later requests
//! wait until it has been sent. Lines are interleaved over the channels as in the machine. Replies are always
//! accepted.
//!
//! Cycle 0 is the first cycle in which a channel can accept a request.

use std::collections::VecDeque;
use std::slice::from_mut;
use std::sync::atomic::{AtomicUsize, Ordering};

use rtl::dram::channel::{DramChannel, DramIo};
use rtl::dram::command::{Command, CommandKind};
use rtl::dram::counts::Counts;
use rtl::dram::message::{DramReply, DramRequest, DramShape};
use rtl::kernel::{Block, BlockId, Blocks, Chan, Describe, DescribeExt, Edge, Mode, RxBank, Simulator, Sleep, TxBank};
use rtl::machine::MachineConfig;

use super::trace::TraceRequest;
use rtl::kernel::link;

/// Latency in cycles of the link from the feeder to a DRAM channel: from the edge at which a request is sent
/// to the first edge at which the channel can accept it.
const LEAD: u64 = 1;
/// Number of simulated clock edges between two progress reports.
const PROGRESS_EVERY: u64 = 1 << 18;
/// Number of cycles without progress after which the DRAM channels are considered stuck. Progress means that
/// a request is accepted or served; only cycles in which requests wait are counted. Every timing constraint
/// between two commands is much shorter.
const PATIENCE: u64 = 1 << 24;
const PERIODS: [u32; 1] = [1];
const FEEDER: u8 = 0;

/// Event of a DRAM trace run that is reported to the caller.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// Command on the command bus of a DRAM channel. Commands are reported in order of time. Within a cycle,
    /// a row command precedes a column command.
    Command {
        /// Index of the DRAM channel.
        channel: usize,
        /// Command with its cycle, bank, row and column.
        command: &'a Command,
    },
    /// DRAM request that was served. Served requests are reported in trace order, even if a later request was
    /// served earlier.
    Served(ServedRequest),
    /// Progress of the run.
    Progress {
        /// Current cycle of the run.
        cycle: u64,
        /// Number of requests of the trace sent so far.
        taken: u64,
    },
}

/// DRAM request that was served, with its times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServedRequest {
    /// Index of the request in the trace.
    pub index: u64,
    /// Index of the DRAM channel that served the request.
    pub channel: usize,
    /// Cycle in which the channel accepted the request.
    pub accept: u64,
    /// First cycle after the request's last data transfer. A read is complete when its data have left the
    /// channel, a write when its data are in the memory.
    pub complete: u64,
}

/// Result of running a DRAM trace.
#[derive(Clone, Debug, PartialEq)]
pub struct RunResult {
    /// Duration of the run in cycles: until the last data transfer has ended, or until the interruption.
    pub cycles: u64,
    /// Performance counters of each DRAM channel.
    pub channels: Vec<Counts>,
    /// Total number of DRAM commands on all channels.
    pub commands: u64,
    /// Number of requests that were not served, either because the run was interrupted or because no channel
    /// made progress.
    pub unserved: u64,
}

/// Returns the DRAM channel to which an address is mapped, and the index of the burst within that channel.
pub(super) fn locate(config: &MachineConfig, address: u64) -> (usize, u64) {
    let burst_bytes = config.dram.burst_bytes();
    config.channels(burst_bytes).place(address / u64::from(burst_bytes))
}

/// DRAM channel with its request link and its reply link.
struct Port {
    dut: DramChannel,
    req: Chan<DramRequest>,
    rsp: Chan<DramReply>,
    /// Trace indices of the requests on the link that the channel has not accepted yet.
    sent: VecDeque<u64>,
}

/// Request that the feeder has sent and that has not yet been reported as served.
#[derive(Clone, Copy, Debug, Default)]
struct Pending {
    channel: usize,
    accept: u64,
    complete: Option<u64>,
}

struct Bench<'a> {
    config: &'a MachineConfig,
    trace: &'a [TraceRequest],
    /// Trace index of the next request to be sent.
    next: usize,
    /// True if the feeder waits until the cycle that the trace states for the next request.
    waits: bool,
    ports: Vec<Port>,
    /// Identifiers of the requests for which replies arrived at the last clock edge.
    replies: Vec<u32>,
}

impl<'a> Bench<'a> {
    fn new(config: &'a MachineConfig, trace: &'a [TraceRequest]) -> Self {
        let channels = config.num_channels() as u8;
        let sink = id(channels + 1);
        let requester_bits = config.dram.requester_bits(config.num_sms);
        let shape = DramShape { burst_bits: config.dram.burst_bits(), acknowledges: false, requester_bits };
        let port = |channel: u8| {
            let path = format!("channel{channel}");
            let own = id(channel + 1);
            Port {
                dut: DramChannel::new(&config.dram, &path, config.num_sms),
                req: link(&format!("{path}.req"), 2, &PERIODS, id(FEEDER), own, shape),
                rsp: link(&format!("{path}.rsp"), 2, &PERIODS, own, sink, shape),
                sent: VecDeque::new(),
            }
        };
        let ports = (0..channels).map(port).collect();
        Self { config, trace, next: 0, waits: false, ports, replies: Vec::new() }
    }

    fn feed(&mut self, at: &mut Edge<'_>) -> Sleep {
        let Some(&TraceRequest { cycle, write, address }) = self.trace.get(self.next) else {
            return Sleep::UntilEvent;
        };
        if at.cycle < cycle {
            self.waits = true;
            return Sleep::UntilEvent;
        }
        let (channel, burst) = locate(self.config, address);
        let Port { dut, req, sent, .. } = &mut self.ports[channel];
        if !req.tx().is_ready(at) {
            return Sleep::UntilEvent;
        }
        if let Err(error) = dut.store_mut().map(burst..burst + 1) {
            // Mapping the address to a burst cannot fail, because all addresses of the trace were compared
            // with the memory size of this machine.
            panic!("cycle {}, {error}", at.cycle);
        }
        let index = self.next as u64;
        req.tx().push_with(at, |beat| {
            (beat.write, beat.id, beat.burst) = (write, index as u32, burst);
            beat.byte_mask = if write { u64::MAX } else { 0 };
            beat.data[..8].copy_from_slice(&index.to_le_bytes());
        });
        sent.push_back(index);
        self.next += 1;
        Sleep::Next
    }

    fn drain(&mut self, at: &mut Edge<'_>) -> Sleep {
        let mut more = false;
        for port in &mut self.ports {
            if let Some(reply) = port.rsp.rx().peek(at) {
                self.replies.push(reply.id);
                port.rsp.rx().drop_head(at);
            }
            more |= port.rsp.rx().has_beat(at);
        }
        if more { Sleep::Next } else { Sleep::UntilEvent }
    }
}

fn id(slot: u8) -> BlockId {
    BlockId { domain: 0, slot }
}

impl Blocks for Bench<'_> {
    fn population(&self) -> Vec<u8> {
        vec![self.ports.len() as u8 + 2]
    }

    fn eval(&mut self, block: BlockId, at: &mut Edge<'_>) -> Sleep {
        let channel = usize::from(block.slot).wrapping_sub(1);
        match self.ports.get_mut(channel) {
            Some(Port { dut, req, rsp, .. }) => {
                dut.eval(DramIo { req: RxBank::of(from_mut(req)), rsp: TxBank::of(from_mut(rsp)) }, at)
            }
            None if block.slot == FEEDER => self.feed(at),
            None => self.drain(at),
        }
    }

    fn describe(&self, block: BlockId, to: &mut dyn Describe) {
        match self.ports.get(usize::from(block.slot).wrapping_sub(1)) {
            Some(port) => to.parts("channel", u32::from(block.slot) - 1, |to| port.dut.describe(to)),
            None => to.probe_sized("next", self.next as u64, 64),
        }
    }
}

/// Window of consecutive requests of the trace: from the oldest request that is not served yet to the request
/// that was sent last.
#[derive(Default)]
struct Window {
    first: u64,
    pending: VecDeque<Pending>,
}

impl Window {
    fn at(&mut self, index: u64) -> &mut Pending {
        &mut self.pending[(index - self.first) as usize]
    }

    /// Returns the trace index of a request in the window. `id` contains only the low bits of the index,
    /// since commands and replies carry only these bits.
    fn index(&self, id: u32) -> u64 {
        self.first + u64::from(id.wrapping_sub(self.first as u32))
    }

    /// Removes and returns the oldest request in the window, if it was served.
    fn pop(&mut self) -> Option<ServedRequest> {
        let &Pending { channel, accept, complete } = self.pending.front()?;
        let complete = complete?;
        self.pending.pop_front();
        self.first += 1;
        Some(ServedRequest { index: self.first - 1, channel, accept, complete })
    }
}

/// Runs a trace until every request is served or `interrupt` is not 0. Passes every event to the callback
/// `tell` as it occurs.
///
/// # Errors
/// If `tell` returns an error, the run stops and returns this error.
pub fn run<E>(
    config: &MachineConfig,
    trace: &[TraceRequest],
    interrupt: &AtomicUsize,
    tell: &mut impl FnMut(Event<'_>) -> Result<(), E>,
) -> Result<RunResult, E> {
    let mut bench = Bench::new(config, trace);
    let mut sim = Simulator::new(&PERIODS, &bench, Mode::default());
    let mut window = Window::default();
    let write_latency = u64::from(config.dram.timing.write_latency());
    let (mut commands, mut edges, mut cycles, mut moved) = (0, 0, 0, 0);
    while (bench.next < trace.len() || !window.pending.is_empty()) && interrupt.load(Ordering::Relaxed) == 0 {
        let Some(tick) = sim.step(&mut bench) else { break };
        if std::mem::take(&mut bench.waits) {
            // Tells the simulator in which cycle the feeder must be evaluated next. Without this, the
            // simulator would evaluate the feeder in many cycles in which no request may be sent yet.
            sim.wake_at(id(FEEDER), trace[bench.next].cycle);
        }
        let now = tick.saturating_sub(LEAD);
        // All requests before `bench.next` have been sent, because requests are sent in trace order.
        let sent = bench.next as u64 - window.first;
        for _ in window.pending.len() as u64..sent {
            window.pending.push_back(Pending::default());
        }
        let mut evaluated = sim.evaluated_blocks(0) >> 1 & ((1 << bench.ports.len()) - 1);
        while evaluated != 0 {
            let channel = evaluated.trailing_zeros() as usize;
            evaluated &= evaluated - 1;
            let Port { dut, req, sent, .. } = &mut bench.ports[channel];
            while sent.len() > req.len() {
                let Some(index) = sent.pop_front() else { break };
                (window.at(index).channel, window.at(index).accept) = (channel, now);
                moved = now;
            }
            for command in dut.commands_of(tick) {
                commands += 1;
                if command.kind.is_column() {
                    moved = now;
                }
                if command.kind == CommandKind::Wr {
                    let index = window.index(command.id);
                    window.at(index).complete = Some(now + write_latency);
                }
                tell(Event::Command { channel, command: &Command { cycle: now, ..*command } })?;
            }
        }
        for id in bench.replies.drain(..) {
            let index = window.index(id);
            // The reply was sent one cycle before it became visible in cycle `now`, so one cycle is
            // subtracted.
            window.at(index).complete = Some(now - 1);
        }
        while let Some(served) = window.pop() {
            cycles = cycles.max(served.complete);
            tell(Event::Served(served))?;
        }
        edges += 1;
        if edges % PROGRESS_EVERY == 0 {
            tell(Event::Progress { cycle: now, taken: bench.next as u64 })?;
            let waits = !window.pending.is_empty();
            if waits && now - moved > PATIENCE {
                break;
            }
        }
    }
    bench.ports.iter_mut().for_each(|port| port.dut.settle(sim.tick() + 1));
    let channels = bench.ports.iter().map(|port| port.dut.counts()).collect();
    let unserved = trace.len() as u64 - window.first;
    if unserved > 0 && interrupt.load(Ordering::Relaxed) != 0 {
        cycles = cycles.max(sim.tick().saturating_sub(LEAD));
    }
    Ok(RunResult { cycles, channels, commands, unserved })
}
