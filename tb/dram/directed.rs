//! Directed tests of a DRAM channel: fixed requests, and the exact commands that the channel must send for
//! them, cycle by cycle.

use std::iter::Peekable;
use std::slice::from_mut;

use rtl::dram::channel::{DramChannel, DramIo};
use rtl::dram::command::CommandKind;
use rtl::dram::config::{CommandBus, DramConfig, DramTiming, Refresh, WriteDrain};
use rtl::dram::counts::Counts;
use rtl::dram::message::{DramReply, DramRequest, DramShape};
use rtl::dram::policy::fcfs::Fcfs;
use rtl::dram::policy::fr_fcfs::FrFcfs;
use rtl::kernel::{Block, BlockId, Chan, ChanSpec, Edge, Mode, Payload, RxBank, Sleep, TxBank, Wake};

use super::bench::{LEAD, Run, TimedRequest, checker_commands, offer, reference, run, run_checked};
use crate::kit::Stall;

/// Request of a directed test: the first cycle in which the source offers it, `R` (read) or `W` (write), and
/// the address as group, bank, row and column.
pub type Step = (u64, char, [u64; 4]);

pub fn offers(steps: &[Step]) -> Vec<TimedRequest> {
    let byte = |[group, bank, row, column]: [u64; 4]| row << 16 | bank << 14 | group << 12 | column << 6;
    steps.iter().map(|&(cycle, op, place)| offer(cycle, op == 'W', byte(place))).collect()
}

/// Formats the commands on the command bus as lines of the form `cycle COMMAND group.bank`.
pub fn bus(config: &DramConfig, run: &Run) -> Vec<String> {
    let line = |judged: golden::dram::command::Command| {
        let name = format!("{:?}", judged.kind).to_uppercase();
        let bank = judged.bank.map_or(String::new(), |bank| format!(" {}.{}", bank.group, bank.bank));
        format!("{} {name}{bank}", judged.cycle)
    };
    checker_commands(config, run).into_iter().map(line).collect()
}

pub fn commands(config: &DramConfig, steps: &[Step]) -> Vec<String> {
    bus(config, &run_checked(config, &offers(steps), Stall::Never))
}

/// Checks that the channel sends its last command exactly in cycle `cycle`, and that one timing parameter
/// determines this cycle. `grow` increases the parameter by one. The last command must then come one cycle
/// later.
fn assert_earliest(steps: &[Step], cycle: u64, grow: fn(&mut DramTiming)) {
    let mut config = reference();
    let last = |config: &DramConfig| run_checked(config, &offers(steps), Stall::Never).commands.pop().unwrap();
    assert_eq!(last(&config).cycle, cycle);
    grow(&mut config.timing);
    assert_eq!(last(&config).cycle, cycle + 1);
}

#[test]
fn an_idle_row_miss_a_hit_and_a_conflict_take_their_cycles() {
    let steps = [(0, 'R', [0, 0, 1, 0]), (100, 'R', [0, 0, 1, 1]), (200, 'R', [0, 0, 2, 0])];
    let config = reference();
    let run = run_checked(&config, &offers(&steps), Stall::Never);
    assert_eq!(
        bus(&config, &run),
        ["1 ACT 0.0", "13 RD 0.0", "101 RD 0.0", "201 PRE 0.0", "213 ACT 0.0", "225 RD 0.0"]
    );
    let done: Vec<u64> = run.replies.iter().map(|(cycle, _)| *cycle).collect();
    assert_eq!(done, [27, 115, 239]);
}

#[test]
fn a_read_waits_trcd_after_its_activate() {
    assert_earliest(&[(0, 'R', [0, 0, 1, 0])], 13, |t| t.rcd_rd += 1);
}

#[test]
fn a_write_waits_its_shorter_trcd_after_its_activate() {
    assert_earliest(&[(0, 'W', [0, 0, 1, 0])], 11, |t| t.rcd_wr += 1);
}

#[test]
fn an_activate_of_another_bank_waits_trrd() {
    // Expected commands: an ACT to each bank, in cycles 1 and 7, and last the RD of the second bank in cycle
    // 19.
    assert_earliest(&[(0, 'R', [0, 0, 1, 0]), (0, 'R', [1, 0, 1, 0])], 19, |t| (t.rrd_s, t.rrd_l) = (7, 7));
}

#[test]
fn a_read_of_the_same_group_waits_tccd_long() {
    assert_earliest(&[(0, 'R', [0, 0, 1, 0]), (0, 'R', [0, 0, 1, 1])], 16, |t| t.ccd_l += 1);
}

#[test]
fn a_read_after_a_write_waits_for_the_turnaround() {
    assert_earliest(&[(0, 'W', [0, 0, 1, 0]), (0, 'R', [0, 0, 1, 1])], 11 + 6 + 5, |t| t.wtr_l += 1);
}

#[test]
fn a_write_after_a_read_waits_for_the_bus() {
    let steps = [(0, 'R', [0, 0, 1, 0]), (100, 'R', [0, 0, 1, 1]), (100, 'W', [0, 0, 1, 2])];
    assert_earliest(&steps, 101 + 12 + 2 + 2 - 4, |t| t.cl += 1);
}

#[test]
fn a_precharge_waits_for_the_write_recovery() {
    // Expected commands: WR in cycle 101, PRE 18 cycles later, then ACT and RD after 12 cycles each.
    let steps = [(0, 'R', [0, 0, 1, 0]), (100, 'W', [0, 0, 1, 1]), (101, 'R', [0, 0, 2, 0])];
    assert_earliest(&steps, 101 + 18 + 12 + 12, |t| t.wr += 1);
}

#[test]
fn the_fifth_activate_waits_for_the_window_of_four() {
    let steps: Vec<Step> = (0..5).map(|i| (0, 'R', [i % 4, i / 4, 1, 0])).collect();
    let mut config = reference();
    config.timing.faw = 40;
    let acts: Vec<String> = commands(&config, &steps).into_iter().filter(|line| line.contains("ACT")).collect();
    assert_eq!(acts, ["1 ACT 0.0", "7 ACT 1.0", "14 ACT 2.0", "20 ACT 3.0", "41 ACT 0.1"]);
}

#[test]
fn first_come_first_served_closes_a_row_that_a_younger_request_would_hit() {
    let steps = [(0, 'R', [0, 0, 1, 0]), (0, 'R', [0, 0, 2, 0]), (0, 'R', [0, 0, 1, 1])];
    let fr_fcfs = run_checked(&reference(), &offers(&steps), Stall::Never);
    let config = DramConfig { policy: Fcfs {}.into(), ..reference() };
    let fcfs = run_checked(&config, &offers(&steps), Stall::Never);
    assert_eq!((fr_fcfs.counts.activates, fcfs.counts.activates), (2, 3));
    let order: Vec<u32> = fcfs.replies.iter().map(|(_, reply)| reply.id).collect();
    assert_eq!(order, [0, 1, 2]);
}

/// Returns a list of requests, of which the second can starve. The first is to row 1, and the second to row 2
/// of the same bank. A stream of hits on row 1 follows.
fn starving(op: char) -> Vec<TimedRequest> {
    let mut steps = vec![(0, op, [0, 0, 1, 0]), (0, op, [0, 0, 2, 0])];
    steps.extend((0..200).map(|i| (0, op, [0, 0, 1, 1 + i % 63])));
    offers(&steps)
}

#[test]
fn a_hit_cap_lets_a_starving_request_wait_for_that_many_hits_only() {
    for op in ['R', 'W'] {
        for cap in [1, 4, 16] {
            let config = DramConfig { policy: FrFcfs { hit_cap: cap }.into(), ..reference() };
            let run = run_checked(&config, &starving(op), Stall::Never);
            let columns = run.commands.iter().filter(|c| matches!(c.kind, CommandKind::Rd | CommandKind::Wr));
            let before = columns.take_while(|command| command.id != 1).count();
            assert_eq!(before, 1 + cap as usize, "{op}, cap {cap}");
        }
    }
}

#[test]
fn without_a_hit_cap_the_starving_request_waits_for_the_end_of_the_stream() {
    let run = run_checked(&reference(), &starving('R'), Stall::Never);
    let last = run.commands.iter().rfind(|command| command.kind == CommandKind::Rd);
    assert_eq!(last.unwrap().id, 1);
}

#[test]
fn a_hit_cap_never_closes_a_row_between_its_activate_and_the_first_column() {
    let config = DramConfig { policy: FrFcfs { hit_cap: 1 }.into(), ..reference() };
    let run = run_checked(&config, &starving('R'), Stall::Never);
    let mut fresh = false;
    for command in &run.commands {
        assert!(!(fresh && command.kind == CommandKind::Pre), "row closed unused at {}", command.cycle);
        fresh = command.kind == CommandKind::Act;
    }
}

fn refreshing() -> DramConfig {
    DramConfig { refresh: Refresh::AllBank, ..reference() }
}

#[test]
fn an_idle_channel_is_refreshed_at_every_interval() {
    let offers = offers(&[(0, 'R', [0, 0, 1, 0]), (20_000, 'R', [0, 0, 1, 1])]);
    let run = run_checked(&refreshing(), &offers, Stall::Never);
    let refreshes: Vec<u64> =
        run.commands.iter().filter(|c| c.kind == CommandKind::Ref).map(|c| c.cycle + LEAD).collect();
    // The first refresh is 12 cycles late, because the open row must be precharged first, which takes tRP.
    assert_eq!(refreshes, [3604 + 12, 2 * 3604, 3 * 3604, 4 * 3604, 5 * 3604]);
    assert_eq!(run.counts.refreshes, 5);
}

#[test]
fn refreshes_keep_their_number_under_a_stream_of_hits() {
    let offers: Vec<TimedRequest> = (0..8000).map(|i| offer(0, i % 5 == 0, i % 64 * 64)).collect();
    let run = run_checked(&refreshing(), &offers, Stall::Never);
    assert!(run.cycles > 5 * 3604);
    assert_eq!(run.counts.refreshes, run.cycles / 3604);
    let refreshes: Vec<u64> = run.commands.iter().filter(|c| c.kind == CommandKind::Ref).map(|c| c.cycle).collect();
    assert!(refreshes.windows(2).all(|pair| pair[1] - pair[0] < 3604 + 200), "{refreshes:?}");
}

/// Returns the reference configuration with a write drain. The drain starts when 4 writes are queued, and
/// stops when 1 write is left.
fn gathering(idle: u32) -> DramConfig {
    DramConfig { write_drain: WriteDrain::Watermarks { high: 4, low: 1, idle }, ..reference() }
}

/// Returns the column commands of a run in order, as a string of `R` and `W`.
fn columns(run: &Run) -> String {
    let kind = |command: &rtl::dram::command::Command| match command.kind {
        CommandKind::Rd => Some('R'),
        CommandKind::Wr => Some('W'),
        _ => None,
    };
    run.commands.iter().filter_map(kind).collect()
}

#[test]
fn reads_pass_the_writes_that_a_drain_gathers_until_the_high_mark() {
    let mut steps: Vec<Step> = vec![(0, 'R', [0, 0, 1, 0])];
    steps.extend((0..3).map(|i| (20, 'W', [0, 0, 1, 1 + i])));
    steps.extend((0..4).map(|i| (20, 'R', [0, 0, 1, 10 + i])));
    assert_eq!(columns(&run_checked(&gathering(100), &offers(&steps), Stall::Never)), "RRRRRWWW");
    // A fourth waiting write starts the write drain, which stops when one write is left.
    steps.insert(4, (20, 'W', [0, 0, 1, 20]));
    assert_eq!(columns(&run_checked(&gathering(100), &offers(&steps), Stall::Never)), "RWWWRRRRW");
}

#[test]
fn writes_wait_for_the_idle_time_when_no_read_is_there() {
    let steps = [(0, 'W', [0, 0, 1, 0])];
    let at = |idle| run_checked(&gathering(idle), &offers(&steps), Stall::Never).commands[0].cycle;
    assert_eq!([at(0), at(50)], [1, 50 - LEAD]);
}

#[test]
fn a_drain_closes_a_row_that_only_requests_out_of_turn_hit() {
    // The write hits the open row 1, but the channel is in read mode. The read, which needs row 2 of the same
    // bank, therefore goes first.
    let steps = [(0, 'R', [0, 0, 1, 0]), (60, 'W', [0, 0, 1, 1]), (60, 'R', [0, 0, 2, 0])];
    assert_eq!(columns(&run_checked(&gathering(100), &offers(&steps), Stall::Never)), "RRW");
}

/// DRAM channel whose clock edges a test evaluates one by one. Rows 0 and 1 are mapped, and no reply is ever
/// received.
struct ByHand {
    dut: DramChannel,
    req: Chan<DramRequest>,
    rsp: Chan<DramReply>,
    wake: Wake,
}

fn link<T: Payload<Shape = DramShape>>(path: &str, config: &DramConfig) -> Chan<T> {
    let id = BlockId { domain: 0, slot: 0 };
    let spec = ChanSpec { path: path.to_owned(), depth: 2, latency: 1, credit: 1, from: id, to: id };
    Chan::new(spec, DramShape { burst_bits: config.burst_bits(), acknowledges: true, requester_bits: None })
}

impl ByHand {
    fn new(config: &DramConfig) -> Self {
        let mut dut = DramChannel::new(config, "dram0", 1);
        dut.store_mut().map(0..2 << 10).unwrap();
        Self { dut, req: link("dram0.req", config), rsp: link("dram0.rsp", config), wake: Wake::new(&[1]) }
    }

    /// Evaluates one clock edge of the channel. Sends the next request if the request link has room.
    fn edge(&mut self, cycle: u64, requests: &mut Peekable<impl Iterator<Item = TimedRequest>>) -> Sleep {
        let Self { dut, req, rsp, wake } = self;
        let mut at = Edge::new(cycle, cycle, wake);
        let sleep = dut.eval(DramIo { req: RxBank::of(from_mut(req)), rsp: TxBank::of(from_mut(rsp)) }, &mut at);
        if requests.peek().is_some() && req.tx().is_ready(&mut at) {
            req.tx().push(&mut at, requests.next().unwrap().request);
        }
        sleep
    }
}

#[test]
fn a_stalled_receiver_stops_reads_but_neither_writes_nor_refresh() {
    for command_bus in [CommandBus::Single, CommandBus::Dual] {
        stalls_reads_alone(&DramConfig { reply_entries: 3, command_bus, ..refreshing() });
    }
}

fn stalls_reads_alone(config: &DramConfig) {
    let mut steps: Vec<Step> = (0..8).map(|i| (0, 'R', [0, 0, 1, i])).collect();
    steps.extend((0..8).map(|i| (0, 'W', [1, 0, 1, i])));
    let (mut bench, mut requests) = (ByHand::new(config), offers(&steps).into_iter().peekable());
    let mut counts = [0; 3];
    for cycle in 0..5000 {
        bench.edge(cycle, &mut requests);
        for command in bench.dut.commands_of(cycle) {
            match command.kind {
                CommandKind::Rd => counts[0] += 1,
                CommandKind::Wr => counts[1] += 1,
                CommandKind::Ref => counts[2] += 1,
                _ => {}
            }
        }
    }
    // Five reads are issued: the reply buffer has room for three bursts, and the reply link for two.
    assert_eq!(counts, [3 + 2, 8, 1]);
}

#[test]
fn an_idle_channel_sleeps_until_an_event_or_its_next_refresh() {
    let mut nothing = Vec::new().into_iter().peekable();
    assert_eq!(ByHand::new(&reference()).edge(0, &mut nothing), Sleep::UntilEvent);
    assert_eq!(ByHand::new(&refreshing()).edge(0, &mut nothing), Sleep::At(3604));
}

#[test]
fn a_waiting_channel_sleeps_until_its_next_command_is_legal() {
    let (mut bench, mut requests) = (ByHand::new(&reference()), offers(&[(0, 'R', [0; 4])]).into_iter().peekable());
    let sleeps: Vec<Sleep> = (0..4).map(|cycle| bench.edge(cycle, &mut requests)).collect();
    // The channel accepts the request in cycle 1 and sends ACT in cycle 2. RD becomes legal in cycle 14, and
    // data arrive in cycle 28.
    assert_eq!(sleeps, [Sleep::UntilEvent, Sleep::Next, Sleep::Next, Sleep::At(14)]);
    assert_eq!(bench.edge(14, &mut requests), Sleep::Next);
    assert_eq!(bench.edge(15, &mut requests), Sleep::At(28));
    assert_eq!(bench.edge(28, &mut requests), Sleep::UntilEvent);
    assert!(bench.dut.is_idle());
}

#[test]
#[should_panic(expected = "cycle 14, dram0: burst 0x800 is not mapped by the host")]
fn a_read_of_memory_that_the_host_has_not_mapped_names_channel_and_cycle() {
    let (mut bench, mut requests) =
        (ByHand::new(&reference()), offers(&[(0, 'R', [0, 0, 2, 0])]).into_iter().peekable());
    for cycle in 0..20 {
        bench.edge(cycle, &mut requests);
    }
}

#[test]
fn statistics_count_what_the_command_bus_shows() {
    let steps = [(0, 'R', [0, 0, 1, 0]), (100, 'R', [0, 0, 1, 1]), (200, 'W', [0, 0, 1, 2]), (300, 'R', [0, 0, 2, 0])];
    let counts = run_checked(&reference(), &offers(&steps), Stall::Never).counts;
    let expected = Counts {
        reads: 3,
        writes: 1,
        row_hits: 2,
        activates: 2,
        precharges: 1,
        refreshes: 0,
        bytes: 4 * 64,
        bus_busy_cycles: 4 * 2,
        // Number of cycles that each of the four requests waits in the queue, from acceptance to its column
        // command.
        queue_occupancy: 13 + 1 + 1 + 25,
        read_latency: 27 + 15 + 39,
        // In each cycle in which a request waits, exactly one bank has waiting requests.
        banks_waiting: 13 + 1 + 1 + 25,
        waiting_cycles: 13 + 1 + 1 + 25,
        read_latencies: [1, 1, 1, 0, 0, 0, 0, 0, 0, 0],
    };
    assert_eq!(counts, expected);
}

#[test]
fn a_32_bit_channel_gives_the_same_commands_with_half_the_bytes() {
    let offers: Vec<TimedRequest> = (0..64).map(|i| offer(0, i % 3 == 0, i * 1024)).collect();
    let narrow = DramConfig { bus_bits: 32, ..reference() };
    let [wide, narrow] = [reference(), narrow].map(|config| run(&config, &offers, Stall::Never, Mode::default()));
    assert_eq!(wide.commands, narrow.commands);
    assert_eq!((wide.counts.bytes, narrow.counts.bytes), (64 * 64, 64 * 32));
}
