//! Testbench of a DRAM channel: a source of requests, a sink of replies, and a record of the commands on the
//! command bus.

use std::collections::HashMap;
use std::fmt;
use std::slice::from_mut;

use golden::dram::checker::{Checker, Violation};
use golden::dram::command as judged;
use rtl::dram::channel::{DramChannel, DramIo};
use rtl::dram::command::Command;
use rtl::dram::config::{DramConfig, Refresh};
use rtl::dram::counts::Counts;
use rtl::dram::message::{BURST_BYTES, DramReply, DramRequest, DramShape};
use rtl::dram::watch::ChannelEvent;
use rtl::kernel::{Block, BlockId, Blocks, Chan, Describe, DescribeExt, Edge, Mode, RxBank, Sleep, TxBank};

use crate::kit::{BenchSimulator, Sink, Source, Stall, link};
use warpsieve::config::{Request, ResolvedMachine};
use warpsieve::dram::judge;

/// Number of cycles from the clock edge at which the source sends its first request to the edge at which the
/// channel can accept it.
pub const LEAD: u64 = 1;
/// Number of SMs that request bursts.
pub const NUM_SMS: u32 = 5;

/// Returns the DRAM configuration under which the reference command streams were recorded.
pub fn reference() -> DramConfig {
    preset("gddr5-reference")
}

/// Returns the DRAM configuration of a machine preset.
pub fn preset(machine: &str) -> DramConfig {
    let request = Request { machine: machine.to_owned(), ..Request::default() };
    ResolvedMachine::new(&request).expect("the preset is valid").config.dram
}

/// DRAM request with the first cycle in which the source offers it.
#[derive(Clone)]
pub struct TimedRequest {
    pub cycle: u64,
    pub request: DramRequest,
}

/// Prints a request on a single line, since a failing random test prints hundreds of requests.
impl fmt::Debug for TimedRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let DramRequest { write, burst, byte_mask, data, .. } = &self.request;
        let op = if *write { 'W' } else { 'R' };
        write!(f, "{} {op} {burst:#x} mask {byte_mask:#x} first byte {}", self.cycle, data[0])
    }
}

/// Creates a request for the full burst at a byte address, offered from `cycle` on.
pub fn offer(cycle: u64, write: bool, address: u64) -> TimedRequest {
    let byte_mask = if write { u64::MAX } else { 0 };
    TimedRequest { cycle, request: DramRequest { write, burst: address / 64, byte_mask, ..DramRequest::default() } }
}

/// Returns the initial contents of a burst in memory, before any write.
fn initial(burst: u64) -> [u8; BURST_BYTES] {
    std::array::from_fn(|i| (burst.wrapping_mul(31) + i as u64) as u8)
}

struct Bench {
    source: Source<DramRequest>,
    dut: DramChannel,
    sink: Sink<DramReply>,
    req: Chan<DramRequest>,
    rsp: Chan<DramReply>,
}

const SOURCE: BlockId = BlockId { domain: 0, slot: 0 };
const DUT: BlockId = BlockId { domain: 0, slot: 1 };
const SINK: BlockId = BlockId { domain: 0, slot: 2 };
const PERIODS: [u32; 1] = [50];

impl Bench {
    fn new(config: &DramConfig, offers: &[TimedRequest], sink: Stall) -> Self {
        let mut dut = DramChannel::new(config, "dram0", NUM_SMS);
        for TimedRequest { request, .. } in offers {
            let burst = request.burst;
            dut.store_mut().map(burst..burst + 1).unwrap();
            let bytes = config.burst_bytes() as usize;
            dut.store_mut().poke(burst, 0, &initial(burst)[..bytes]).unwrap();
        }
        dut.record();
        dut.observe();
        let requests = (0u32..).zip(offers);
        let requests = requests.map(|(id, offer)| DramRequest { id, tag: !(id as u16), ..offer.request.clone() });
        let cycles = offers.iter().map(|offer| offer.cycle).collect();
        let requester_bits = config.requester_bits(NUM_SMS);
        let shape = DramShape { burst_bits: config.burst_bits(), acknowledges: true, requester_bits };
        Self {
            source: Source::new(requests, Stall::NotBefore(cycles)),
            dut,
            sink: Sink::new(sink),
            req: link("dram0.req", 2, &PERIODS, SOURCE, DUT, shape),
            rsp: link("dram0.rsp", 2, &PERIODS, DUT, SINK, shape),
        }
    }

    /// True if every request has been served. The test must then end the simulation. A channel with refresh
    /// never stays idle, because it always schedules the next refresh.
    fn is_done(&self) -> bool {
        self.source.left() == 0 && self.req.is_empty() && self.dut.is_idle() && self.rsp.is_empty()
    }
}

impl Blocks for Bench {
    fn population(&self) -> Vec<u8> {
        vec![3]
    }

    fn eval(&mut self, block: BlockId, at: &mut Edge<'_>) -> Sleep {
        match block {
            SOURCE => self.source.eval(self.req.tx(), at),
            SINK => self.sink.eval(self.rsp.rx(), at),
            _ => {
                let Self { dut, req, rsp, .. } = self;
                dut.eval(DramIo { req: RxBank::of(from_mut(req)), rsp: TxBank::of(from_mut(rsp)) }, at)
            }
        }
    }

    fn describe(&self, block: BlockId, to: &mut dyn Describe) {
        match block {
            SOURCE => to.part("source", |to| self.source.describe(to)),
            SINK => to.part("sink", |to| self.sink.describe(to)),
            _ => to.part("dram", |to| {
                self.req.describe("req", None, to);
                self.dut.describe(to);
            }),
        }
    }
}

/// Results of a test run. All cycles are counted from the first cycle in which the channel could accept a
/// request.
#[derive(Debug, PartialEq)]
pub struct Run {
    pub commands: Vec<Command>,
    /// Cycle in which the channel accepted each request.
    pub accepted: Vec<u64>,
    /// Replies, each with the cycle in which it was sent. The cycles are correct only if the sink never
    /// stalls.
    pub replies: Vec<(u64, DramReply)>,
    pub counts: Counts,
    pub cycles: u64,
    /// Events that the channel reports to its checker. Their cycles, unlike all others here, are counted
    /// from the start of the simulation.
    pub events: Vec<ChannelEvent>,
    /// Hashes of the memory contents, of the requests and the replies with their cycles, and of the channel's
    /// state. The last hash is only computed if the simulation mode enables it.
    pub digests: [u64; 4],
}

/// Runs a list of timed requests on a DRAM channel until every request is served.
///
/// # Panics
/// Panics if the channel hangs.
pub fn run(config: &DramConfig, offers: &[TimedRequest], sink: Stall, mode: Mode) -> Run {
    let mut bench = Bench::new(config, offers, sink);
    let mut sim = BenchSimulator::new(&PERIODS, &bench, mode);
    let limit = offers.last().map_or(0, |offer| offer.cycle) + 2000 * (offers.len() as u64 + 10);
    let (mut commands, mut accepted) = (Vec::<Command>::new(), Vec::new());
    let mut cycle = 0;
    while !bench.is_done() {
        let taken = accepted.len();
        let Some(tick) = sim.step(&mut bench) else { panic!("asleep for ever, {taken} requests taken") };
        cycle = tick / u64::from(PERIODS[0]);
        assert!(cycle < limit, "{taken} of {} requests taken by cycle {cycle}", offers.len());
        let shown = bench.dut.commands_of(cycle).iter();
        commands.extend(shown.map(|command| Command { cycle: cycle - LEAD, ..*command }));
        accepted.resize(bench.source.sent().len() - bench.req.len(), cycle.saturating_sub(LEAD));
    }
    bench.dut.settle(cycle);
    // The sink receives a reply one cycle after it was sent.
    let received = bench.sink.received().iter();
    Run {
        commands,
        accepted,
        replies: received.map(|(cycle, reply)| (cycle - LEAD - 1, reply.clone())).collect(),
        counts: bench.dut.counts(),
        cycles: cycle,
        events: bench.dut.take_seen(),
        digests: [bench.dut.store().digest(), bench.source.digest(), bench.sink.digest(), sim.state_digest(&bench)],
    }
}

/// Runs a list of timed requests, and checks that the commands are legal and that every read returns the
/// right data.
pub fn run_checked(config: &DramConfig, offers: &[TimedRequest], sink: Stall) -> Run {
    let on_time = matches!(sink, Stall::Never);
    let run = run(config, offers, sink, Mode::default());
    let found = violations(config, offers, &run, on_time);
    assert!(found.is_empty(), "{} violations, first: {}", found.len(), found[0]);
    check_data(config, offers, &run);
    run
}

/// Converts the commands of a run to the format that the golden command checker reads.
pub fn checker_commands(config: &DramConfig, run: &Run) -> Vec<judged::Command> {
    run.commands.iter().filter_map(|command| judge::command(config, command)).collect()
}

/// Returns the timing-rule violations that the command checker finds in a run. The rules follow from
/// `config`. The times of the replies are checked only if `on_time` is true, that is, if the sink never
/// stalled.
pub fn violations(config: &DramConfig, offers: &[TimedRequest], run: &Run, on_time: bool) -> Vec<Violation> {
    let refresh = config.refresh == Refresh::AllBank;
    let checker = Checker::new(judge::timing(config), refresh);
    let commands = checker_commands(config, run);
    let mut complete = HashMap::new();
    if on_time {
        complete.extend(run.replies.iter().map(|(cycle, reply)| (u64::from(reply.id), *cycle)));
    }
    let requests: Vec<_> = (0u64..)
        .zip(offers.iter().zip(&run.accepted))
        .map(|(number, (offer, &accept))| judged::Request {
            number,
            op: if offer.request.write { judged::Op::Write } else { judged::Op::Read },
            address: offer.request.burst * u64::from(config.burst_bytes()),
            accept,
            complete: complete.get(&number).copied(),
            service: judged::Service::Column,
        })
        .collect();
    let mut found = checker.check(&commands);
    found.extend(checker.check_requests(&judge::mapping(config), &requests, &commands));
    found
}

/// Checks that every read gets exactly one reply, with the data of the writes before it in the trace.
fn check_data(config: &DramConfig, offers: &[TimedRequest], run: &Run) {
    let bytes = config.burst_bytes() as usize;
    let mut memory: HashMap<u64, [u8; BURST_BYTES]> = HashMap::new();
    let mut expected = HashMap::new();
    for (id, TimedRequest { request, .. }) in (0u32..).zip(offers) {
        let cell = memory.entry(request.burst).or_insert_with(|| initial(request.burst));
        if request.write {
            let masked = (0..bytes).filter(|i| request.byte_mask >> i & 1 != 0);
            masked.for_each(|i| cell[i] = request.data[i]);
        } else {
            expected.insert(id, (request.burst, *cell));
        }
    }
    for (cycle, DramReply { id, burst, tag, is_ack, data }) in &run.replies {
        let (asked, cell) = expected.remove(id).unwrap_or_else(|| panic!("reply {id} at {cycle} was not requested"));
        assert_eq!((*burst, *tag, *is_ack), (asked, !(*id as u16), false), "reply {id}");
        assert_eq!(data[..bytes], cell[..bytes], "data of reply {id} at {cycle}");
    }
    assert!(expected.is_empty(), "{} reads had no reply", expected.len());
}
