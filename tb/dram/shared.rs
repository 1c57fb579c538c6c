//! Tests of a DRAM channel that several L2 banks share: arbitration of requests, and routing of data.

use std::collections::{BTreeMap, VecDeque};

use rtl::dram::channel::{DramChannel, DramIo};
use rtl::dram::config::DramConfig;
use rtl::dram::message::{BURST_BYTES, DramReply, DramRequest, DramShape};
use rtl::kernel::{Block, BlockId, Chan, ChanSpec, Edge, Payload, RxBank, Sleep, TxBank, Wake};
use rtl::noc::interleave::Interleave;

use super::bench::reference;
use crate::kit::Random;

/// Number of consecutive bursts that map to the same L2 bank.
const RUN: u64 = 2;
/// Number of bursts that are mapped in memory.
const BURSTS: u64 = 64;

struct SharedChannel {
    dut: DramChannel,
    req: Vec<Chan<DramRequest>>,
    rsp: Vec<Chan<DramReply>>,
    wake: Wake,
    cycle: u64,
    /// Requests that each L2 bank still has to send.
    script: Vec<VecDeque<DramRequest>>,
    /// Replies that each L2 bank has received.
    got: Vec<Vec<DramReply>>,
    /// Number of requests that each L2 bank has sent.
    sent: Vec<u64>,
}

fn links<T: Payload<Shape = DramShape>>(name: &str, banks: u32, config: &DramConfig) -> Vec<Chan<T>> {
    let id = BlockId { domain: 0, slot: 0 };
    let spec = |i| ChanSpec { path: format!("dram0.{name}{i}"), depth: 2, latency: 1, credit: 1, from: id, to: id };
    let shape = DramShape { burst_bits: config.burst_bits(), acknowledges: true, requester_bits: None };
    (0..banks).map(|i| Chan::new(spec(i), shape)).collect()
}

impl SharedChannel {
    fn new(config: &DramConfig, banks: u32) -> Self {
        let sharers = Interleave::new(banks, RUN as u32 * config.burst_bytes(), config.burst_bytes());
        let mut dut = DramChannel::with_sharers(config, "dram0", sharers, 1);
        dut.store_mut().map(0..BURSTS).unwrap();
        let count = banks as usize;
        Self {
            dut,
            req: links("req", banks, config),
            rsp: links("rsp", banks, config),
            wake: Wake::new(&[1]),
            cycle: 0,
            script: vec![VecDeque::new(); count],
            got: vec![Vec::new(); count],
            sent: vec![0; count],
        }
    }

    /// Evaluates one clock edge of the channel and then of the L2 banks. The banks in the bit mask `deaf` do
    /// not receive replies.
    fn edge(&mut self, deaf: u64) -> Sleep {
        let mut at = Edge::new(self.cycle, self.cycle, &mut self.wake);
        let sleep = self.dut.eval(DramIo { req: RxBank::of(&mut self.req), rsp: TxBank::of(&mut self.rsp) }, &mut at);
        for (bank, script) in self.script.iter_mut().enumerate() {
            let mut to = self.req[bank].tx();
            if !script.is_empty() && to.is_ready(&mut at) {
                to.push(&mut at, script.pop_front().unwrap());
                self.sent[bank] += 1;
            }
            let mut from = self.rsp[bank].rx();
            if deaf >> bank & 1 == 0 && from.peek(&at).is_some() {
                self.got[bank].push(from.pop(&mut at));
            }
        }
        self.cycle += 1;
        sleep
    }

    fn is_over(&self) -> bool {
        let is_empty = |queue: &VecDeque<_>| queue.is_empty();
        self.script.iter().all(is_empty) && self.dut.is_idle() && self.req.iter().all(Chan::is_empty)
    }
}

fn read(burst: u64, tag: u16) -> DramRequest {
    DramRequest { burst, tag, id: u32::from(tag), ..DramRequest::default() }
}

#[test]
fn requests_of_all_banks_are_taken_in_turn() {
    // Of every six consecutive bursts, the first two belong to L2 bank 0, the next two to bank 1, and the
    // last two to bank 2.
    let mut bench = SharedChannel::new(&DramConfig { queue_entries: 4, ..reference() }, 3);
    for bank in 0..3 {
        bench.script[bank] = (0..60).map(|tag| read(6 * (u64::from(tag) % 10) + 2 * bank as u64, tag)).collect();
    }
    for cycle in 0..5000 {
        bench.edge(0);
        let (least, most) = (bench.sent.iter().min().unwrap(), bench.sent.iter().max().unwrap());
        assert!(most - least <= 1, "cycle {cycle}: {:?}", bench.sent);
    }
    assert!(bench.is_over());
    for (bank, got) in (0..).zip(&bench.got) {
        // All bursts are in one DRAM row, so the channel must read them in the order in which the requests
        // arrived.
        let expected: Vec<(u64, u16)> = (0..60).map(|tag| (6 * (u64::from(tag) % 10) + 2 * bank, tag)).collect();
        assert_eq!(got.iter().map(|reply| (reply.burst, reply.tag)).collect::<Vec<_>>(), expected, "bank {bank}");
    }
}

#[test]
fn a_bank_that_takes_no_data_holds_up_those_behind_it_and_nothing_is_lost() {
    let mut bench = SharedChannel::new(&reference(), 2);
    bench.script[0] = (0..8).map(|tag| read(u64::from(tag) % 2, tag)).collect();
    bench.script[1] = (0..8).map(|tag| read(2 + u64::from(tag) % 2, tag)).collect();
    for _ in 0..1000 {
        bench.edge(0b01);
    }
    // Two replies to L2 bank 0 fill its link, so the third reply to this bank blocks all replies behind it.
    // Only two replies to bank 1 were in front of the blocked reply.
    assert_eq!([bench.got[0].len(), bench.got[1].len()], [0, 2]);
    for _ in 0..1000 {
        bench.edge(0);
    }
    assert!(bench.is_over());
    assert_eq!([bench.got[0].len(), bench.got[1].len()], [8, 8]);
}

#[test]
fn a_write_is_acknowledged_as_it_is_taken_and_not_taken_before_its_bank_can_be_told() {
    let mut bench = SharedChannel::new(&reference(), 1);
    let write = DramRequest { write: true, tag: 7, acknowledged: true, ..read(1, 7) };
    bench.script[0] = [read(0, 1), read(0, 2), read(0, 3)].into();
    for cycle in 0..2000 {
        if cycle == 1000 {
            bench.script[0].push_back(write.clone());
        }
        bench.edge(0b1);
    }
    // The reply link holds the data of two reads and has no room for the acknowledgment of a write. The
    // channel therefore does not accept the write.
    assert_eq!((bench.sent[0], bench.req[0].len()), (4, 1));
    for _ in 0..1000 {
        bench.edge(0);
    }
    let got: Vec<_> = bench.got[0].iter().map(|reply| (reply.tag, reply.is_ack)).collect();
    assert_eq!(got, [(1, false), (2, false), (3, false), (7, true)]);
    assert!(bench.is_over());
}

/// Checks that each L2 bank reads back the data that it wrote, independently of the other banks.
#[test]
fn every_bank_reads_its_own_bytes_in_random_traffic() {
    for seed in 0..24 {
        let random = &mut Random::new(seed);
        let banks = [2, 4][random.below(2) as usize];
        let mut bench = SharedChannel::new(&DramConfig { reply_entries: 3, ..reference() }, banks);
        // Contents of each burst in memory, and the expected replies of each L2 bank by tag: data of a read,
        // or an acknowledgment of a write.
        let mut memory: BTreeMap<u64, u8> = BTreeMap::new();
        let mut expected: Vec<BTreeMap<u16, (u64, u8, bool)>> = vec![BTreeMap::new(); banks as usize];
        for tag in 0..300u16 {
            let bank = random.below(u64::from(banks));
            let round = RUN * u64::from(banks);
            let burst = random.below(BURSTS / round) * round + bank * RUN + random.below(RUN);
            let write = random.percent(40);
            let value = random.below(256) as u8;
            let acknowledged = write && random.percent(50);
            if write {
                memory.insert(burst, value);
            }
            if acknowledged {
                expected[bank as usize].insert(tag, (burst, 0, true));
            } else if !write {
                expected[bank as usize].insert(tag, (burst, memory.get(&burst).copied().unwrap_or(0), false));
            }
            let byte_mask = if write { u64::MAX } else { 0 };
            let data = [value; BURST_BYTES];
            let request =
                DramRequest { write, id: tag.into(), burst, tag, requester: 0, acknowledged, byte_mask, data };
            bench.script[bank as usize].push_back(request);
        }
        let mut cycles = 0;
        while !bench.is_over()
            || bench.got.iter().map(Vec::len).sum::<usize>() < expected.iter().map(BTreeMap::len).sum()
        {
            bench.edge(random.below(1 << banks));
            cycles += 1;
            assert!(cycles < 100_000, "seed {seed}: nothing moves any more");
        }
        for (bank, (got, expected)) in bench.got.iter().zip(expected).enumerate() {
            let number = got.len();
            let got: BTreeMap<_, _> =
                got.iter().map(|reply| (reply.tag, (reply.burst, reply.data[0], reply.is_ack))).collect();
            assert_eq!(number, got.len(), "seed {seed}, bank {bank}: something came twice");
            assert_eq!(got, expected, "seed {seed}, bank {bank}");
        }
    }
}
