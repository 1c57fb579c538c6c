//! Testbench of the L2 bank, with a small model of the DRAM channel.
//!
//! | testpoint           | intent                                                                                            | test |
//! |---------------------|---------------------------------------------------------------------------------------------------|-----|
//! | flat memory         | every read returns the bytes of the flat memory model, every request is answered once             | `contents::under_random_stalls_*` |
//! | final state         | bank and memory together hold the bytes of the flat model, nothing is lost or written twice       | `contents::under_random_stalls_*` |
//! | golden model        | hits, misses, victims and writebacks equal the golden bank's                                      | `contents::one_request_*` |
//! | earliest reply      | a hit is answered in the cycle of its contract, hits at one per cycle                             | `timing::a_hit_*`, `timing::hits_*` |
//! | miss                | a miss cycle by cycle: bursts, early acknowledgment, replay in order                              | `timing::a_miss_*` |
//! | atomics             | words change as in the golden bank, and old values are returned; sums, locks                      | `atomics` |
//! | atomic buffer       | cycle by cycle with and without it; hits and flushes equal the golden buffer's                    | `atomic_buffer` |
//! | whole-line write    | allocates without a fetch, or with one if every missing write fetches                             | `contents::a_write_of_a_whole_line_*` |
//! | byte masks          | fetches and writebacks equal the golden model's if missing writes fetch nothing                   | `partial` |
//! | sectors             | bursts fetched and written, and the sectors that each request waits for, equal the golden model's | `sectors` |
//! | replacement         | every policy evicts as its golden model says, and has the state that its paper gives it           | `replacement` |
//! | way partitioning    | with every partition, hits, misses and evictions equal the golden bank's, also with lines in flight | `partition` |
//! | MSHR policies       | an SM at its limit stalls, another one does not, as in the golden bank                            | `mshr_policy` |
//! | stale memory        | a line fetched right after its eviction has the bytes written back                                | `contents::a_line_fetched_*` |
//! | stalls              | every reason to refuse a request occurs and is counted                                            | `stalls` |
//! | split lines         | with lines shorter than the L1s', a request for any sectors is answered once                      | `contents::l1_lines_*` |
//! | host access         | peek and poke see cached lines, dirty or being evicted                                            | `contents::the_host_*` |
//! | Figure 2            | the three replacements of candel2018 to the cycle, conventional and with an FRC                   | `figure2` |
//! | transient flow      | one case for each rule of the flow and of the FRC                                                 | `transient` |
//! | prefetches          | fetches, victims and uses equal the golden bank's; each reason to drop; kernel end                | `prefetch` |
//! | bypassing           | a bank under a bypass scheme allocates and bypasses as the golden model does; order, dirty lines  | `bypass` |
//! | FRC under load      | any size, any bank: data, writebacks, recalls, evaluation modes, golden model                     | `frc` |
//! | counters of the FRC | each counter is reached without an FRC, with a small and with a large one                         | `soak::coverage::random_banks_*` |

#[cfg(test)]
mod atomic_buffer;
#[cfg(test)]
mod atomics;
#[cfg(test)]
mod bypass;
#[cfg(test)]
mod contents;
#[cfg(test)]
mod figure2;
mod flat;
pub(crate) mod frc;
mod l1s;
mod memory;
#[cfg(test)]
mod mshr_policy;
#[cfg(test)]
mod partial;
#[cfg(test)]
mod partition;
#[cfg(test)]
mod prefetch;
#[cfg(test)]
mod replacement;
#[cfg(test)]
mod sectors;
#[cfg(test)]
mod stalls;
#[cfg(test)]
mod timing;
#[cfg(test)]
mod transient;

use std::slice::from_mut;

use crate::kit::{Bench, Random, Sink, Source, link};
use l1s::{L1s, L1sIo};
use memory::{Memory, MemoryIo};
use rtl::cells::line::LINE_BYTES;
use rtl::dram::message::{DramReply, DramRequest, DramShape};
use rtl::index::IndexConfig;
use rtl::index::i_poly::IPoly;
use rtl::index::linear::Linear;
use rtl::kernel::{Block, BlockId, Blocks, Chan, Describe, DescribeExt, Edge, RxBank, Sleep, TxBank, digest_of};
use rtl::l2::bypass::none::NoBypass;
use rtl::l2::partition::none::NoPartition;
use rtl::l2::prefetch::PrefetchLimits;
use rtl::l2::prefetch::none::NoPrefetcher;
use rtl::l2::{
    BankPlace, Coherence, FrcConfig, HostCopies, Invalidate, InvalidateAck, L2Bank, L2Config, L2Io, OverlappedConfig,
    RecallIo, RecallShape, TransientConfig,
};
use rtl::mshr_policy::none::NoMshrPolicy;
use rtl::noc::interleave::Interleave;
use rtl::noc::packet::{PacketShape, Reply, Request, RequestKind};
use rtl::replacement::lru::Lru;

/// Number of ticks after which a run counts as hung.
const LIMIT: u64 = 50_000_000;
/// Clock periods in ticks for testbenches in which the bank, the SM side and the DRAM share one clock.
#[cfg(test)]
const ONE_CLOCK: [u32; 3] = [1, 1, 1];
/// Clock periods of the bank, the SM side and the DRAM in the machine `fermi`, in ticks.
const FERMI_CLOCKS: [u32; 3] = [66, 66, 50];

const BANK: BlockId = BlockId { domain: 0, slot: 0 };
const SOURCE: BlockId = BlockId { domain: 1, slot: 0 };
const SINK: BlockId = BlockId { domain: 1, slot: 1 };
const L1S: BlockId = BlockId { domain: 1, slot: 2 };
const MEMORY: BlockId = BlockId { domain: 2, slot: 0 };

/// Number of the memory partition that contains the bank under test.
const PARTITION: u8 = 2;

/// Returns the position of the bank under test in the address map: bank 2 of 6, with lines of 128 bytes and
/// bursts of 64 bytes.
#[cfg(test)]
fn fermi_place() -> BankPlace {
    place(128, 64)
}

#[cfg(test)]
fn place(line_bytes: u32, burst_bytes: u32) -> BankPlace {
    split_place(line_bytes, line_bytes, burst_bytes)
}

/// Returns the position of the bank under test in the address map. L2 lines have `line_bytes` bytes, and L1
/// lines have `l1_line_bytes` bytes.
fn split_place(l1_line_bytes: u32, line_bytes: u32, burst_bytes: u32) -> BankPlace {
    let line_bits = 32 - l1_line_bytes.ilog2();
    BankPlace {
        packets: PacketShape {
            tracked: false,
            hints: false,
            line_bits,
            line_bytes: l1_line_bytes,
            sm_bits: 4,
            partition_bits: 3,
        },
        interleave: Interleave::new(6, l1_line_bytes, line_bytes),
        partition: PARTITION.into(),
        channels: Interleave::new(1, l1_line_bytes, burst_bytes),
        sharers: Interleave::new(1, l1_line_bytes, burst_bytes),
        line_bytes,
        burst_bytes,
        coherent_l1s: 0,
        requester_bits: None,
        sms: 15,
    }
}

/// Returns the number of DRAM bursts that make up an L1 line.
fn bursts_of(place: BankPlace) -> u32 {
    place.packets.line_bytes / place.burst_bytes
}

/// Returns the configuration of a bank with large queues and only two ways, so that it often evicts lines.
fn small_config() -> L2Config {
    L2Config {
        sets: 1,
        ways: 2,
        line_bytes: 128,
        split_requests: 4,
        index: Linear {}.into(),
        replacement: Lru {}.into(),
        hints: false,
        lookup_latency: 1,
        mshr_entries: 4,
        mshr_merges: 4,
        mshr_policy: NoMshrPolicy {}.into(),
        reply_queue: 8,
        data_ports: 1,
        atomic_buffer: false,
        bypass: NoBypass {}.into(),
        partition: NoPartition {}.into(),
        prefetch: NoPrefetcher {}.into(),
        prefetch_limits: PrefetchLimits { queue: 16, mshr_share: 3, miss_queue_share: 3, page_bytes: 1 << 16 },
        host_copies: HostCopies::Update,
        flow: OverlappedConfig::default().into(),
    }
}

/// Returns the configuration of the transient flow with the given FRC and a pending queue of four entries.
fn transient(frc: FrcConfig) -> TransientConfig {
    let coherence = Coherence::None;
    TransientConfig { pending_queue: 4, serve_transient: true, acknowledged: false, coherence, frc }
}

/// Generates a random index function for a bank of `sets` sets.
fn draw_index(random: &mut Random, sets: u32) -> IndexConfig {
    if sets == 4 && random.percent(50) {
        IPoly { polynomial: 7, addr_bits: 30, reversed: false }.into()
    } else {
        Linear {}.into()
    }
}

struct Rig {
    place: BankPlace,
    /// True if the bank fetches single sectors of a line from memory.
    by_sector: bool,
    periods: [u32; 3],
    source: Source<Request>,
    sink: Sink<Reply>,
    bank: L2Bank,
    memory: Memory,
    l1s: L1s,
    req: Chan<Request>,
    rsp: Chan<Reply>,
    dram_req: Chan<DramRequest>,
    dram_rsp: Chan<DramReply>,
    inv: Chan<Invalidate>,
    inv_ack: Chan<InvalidateAck>,
}

impl Rig {
    fn new(
        periods: [u32; 3],
        config: &L2Config,
        place: BankPlace,
        source: Source<Request>,
        sink: Sink<Reply>,
        memory: Memory,
    ) -> Self {
        let config = &L2Config { line_bytes: place.line_bytes, ..config.clone() };
        let mut rules = rtl::config::Rules::default();
        config.validate(place.packets.line_bytes, place.burst_bytes, &mut rules);
        assert_eq!(rules.into_violations(), []);
        let burst_bits = place.local_bits() + place.bursts().ilog2();
        let bursts =
            DramShape { burst_bits, acknowledges: config.acknowledges(), requester_bits: place.requester_bits };
        let PacketShape { line_bits, sm_bits, partition_bits, .. } = place.packets;
        let recalls = RecallShape { line_bits, sm_bits, partition_bits, leaver_bits: 10 };
        let mut bank = L2Bank::new("l2.bank2", config, place);
        bank.record();
        Self {
            req: link("l2.req", 4, &periods, SOURCE, BANK, place.packets),
            rsp: link("l2.rsp", 4, &periods, BANK, SINK, place.packets),
            dram_req: link("l2.dram_req", 4, &periods, BANK, MEMORY, bursts),
            dram_rsp: link("l2.dram_rsp", 4, &periods, MEMORY, BANK, bursts),
            inv: link("l2.inv", 4, &periods, BANK, L1S, recalls),
            inv_ack: link("l2.inv_ack", 4, &periods, L1S, BANK, recalls),
            l1s: L1s::new(1, 1..2),
            place,
            by_sector: config.fetches_sectors(),
            periods,
            source,
            sink,
            bank,
            memory,
        }
    }
}

impl Blocks for Rig {
    fn population(&self) -> Vec<u8> {
        vec![1, 3, 1]
    }

    fn eval(&mut self, block: BlockId, at: &mut Edge<'_>) -> Sleep {
        match block {
            SOURCE => self.source.eval(self.req.tx(), at),
            SINK => self.sink.eval(self.rsp.rx(), at),
            MEMORY => self.memory.eval(MemoryIo { req: self.dram_req.rx(), rsp: self.dram_rsp.tx() }, at),
            L1S => self.l1s.eval(L1sIo { inv: self.inv.rx(), inv_ack: self.inv_ack.tx() }, at),
            _ => {
                let recall = RecallIo { inv: self.inv.tx(), inv_ack: self.inv_ack.rx() };
                let io = L2Io {
                    req: self.req.rx(),
                    rsp: self.rsp.tx(),
                    dram_req: TxBank::of(from_mut(&mut self.dram_req)),
                    dram_rsp: RxBank::of(from_mut(&mut self.dram_rsp)),
                    recall: (self.place.coherent_l1s > 0).then_some(recall),
                };
                self.bank.eval(io, at)
            }
        }
    }

    fn describe(&self, block: BlockId, to: &mut dyn Describe) {
        match block {
            SOURCE => to.part("source", |to| self.source.describe(to)),
            SINK => to.part("sink", |to| self.sink.describe(to)),
            MEMORY => to.part("memory", |to| self.memory.describe(to)),
            L1S => to.part("l1s", |to| self.l1s.describe(to)),
            _ => to.part("l2", |to| {
                self.req.describe("req", None, to);
                self.dram_rsp.describe("dram_rsp", None, to);
                if self.place.coherent_l1s > 0 {
                    self.inv_ack.describe("inv_ack", None, to);
                }
                self.bank.describe(to);
            }),
        }
    }
}

impl Bench for Rig {
    fn periods(&self) -> Vec<u32> {
        self.periods.to_vec()
    }
    fn history(&self) -> u64 {
        digest_of(&(self.source.digest(), self.sink.digest(), self.memory.digest(), self.l1s.digest()))
    }
    fn settle(&mut self, tick: u64) {
        self.bank.settle(tick / u64::from(self.periods[0]));
    }
}

/// Returns the global address of the line with index `local` in bank 2 of 6.
fn line(local: u64) -> u64 {
    local * 6 + 2
}

fn read(local: u64, ticket: u64) -> Request {
    Request { id: ticket as u32, line: line(local), sm: 3, partition: 2, ticket, ..Request::default() }
}

/// Returns a write request that sets each byte selected by `byte_mask` to `value`.
fn write(local: u64, ticket: u64, byte_mask: u128, value: u8) -> Request {
    let data = std::array::from_fn(|byte| if byte_mask >> byte & 1 != 0 { value } else { 0xee });
    Request { kind: RequestKind::Write, byte_mask, data, ..read(local, ticket) }
}

/// Returns the initial memory contents of the L1 line with index `local`, assembled from its DRAM bursts.
fn initial_line(place: BankPlace, local: u64) -> [u8; LINE_BYTES] {
    let mut bytes = [0; LINE_BYTES];
    let burst_bytes = place.burst_bytes as usize;
    for burst in 0..bursts_of(place) as usize {
        let whole = memory::initial_burst(local * u64::from(bursts_of(place)) + burst as u64);
        bytes[burst * burst_bytes..][..burst_bytes].copy_from_slice(&whole[..burst_bytes]);
    }
    bytes
}

#[test]
fn a_bank_with_lines_a_quarter_of_those_of_the_l1_has_two_bits_more_to_tell_them_apart() {
    assert_eq!([128, 64, 32].map(|line_bytes| split_place(128, line_bytes, 32).line_bits()), [25, 26, 27]);
}
