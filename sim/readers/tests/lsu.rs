//! Tests of the waveform of a load-store unit, of its view for GTKWave, and of its queues.

use std::collections::VecDeque;
use std::io::Cursor;

use rtl::kernel::{
    Block, BlockId, Blocks, Chan, ChanSpec, Clocks, Describe, DescribeExt, Edge, FieldsExt, Mode, Payload, Simulator,
    Sleep,
};
use rtl::l1::access::{AccessKind, AccessShape, LANES, WarpAccess, WarpReply};
use rtl::l1::config::{L1Config, LsuConfig};
use rtl::l1::lsu::{Lsu, LsuIo, LsuPlace};
use rtl::noc::interleave::Interleave;
use rtl::noc::packet::{PacketShape, Reply, ReplyKind, Request, RequestKind};
use rtl::replacement::priority::HintShape;
use waves::scope::Glob;
use waves::view::View;

use super::{ReadBack, look_at};
use crate::config::preset;
use crate::readers::{ChangedBlocks, QueueHead, WaveSpec, Waveform, queues};

const LSU: BlockId = BlockId { domain: 0, slot: 0 };
const HOST: BlockId = BlockId { domain: 0, slot: 1 };
const ENTRIES: &[&str] = &["slot", "row", "entry"];
/// Latency of the simulated memory in cycles.
const MEMORY: u64 = 20;

/// Load-store unit in a test bench. The test plays the role of the core, which sends pseudo-random accesses,
/// and of the memory.
struct Bench {
    lsu: Lsu,
    core_req: Chan<WarpAccess>,
    core_rsp: Chan<WarpReply>,
    mem_req: Chan<Request>,
    mem_rsp: Chan<Reply>,
    /// Replies of the memory, each with the cycle in which it is sent.
    memory: VecDeque<(u64, Reply)>,
    random: u64,
    sent: u8,
}

impl Bench {
    fn new() -> Self {
        let l1 = L1Config { sets: 4, ways: 2, mshr_entries: 4, mshr_merges: 2, miss_queue: 4, ..preset("fermi").l1 };
        let lsu = LsuConfig { slots: 4, access_queue: 4, request_latency: 1, reply_latency: 1 };
        let access = AccessShape {
            addr_bits: 32,
            pc_bits: 16,
            halves: 1,
            counts_warps: false,
            wide: false,
            hints: HintShape::NONE,
        };
        let packet =
            PacketShape { tracked: false, hints: false, line_bits: 25, line_bytes: 128, sm_bits: 4, partition_bits: 3 };
        let place = LsuPlace {
            path: "sm0.l1".to_owned(),
            sm: 0,
            interleave: Interleave::new(6, 128, 128),
            line_bits: 25,
            access,
            is_recalled: false,
            is_tracked: false,
            has_instructions: false,
        };
        Self {
            lsu: Lsu::new(place, &l1, [&l1.cache(), &l1.cache()], &lsu),
            core_req: link("core_req", HOST, LSU, access),
            core_rsp: link("core_rsp", LSU, HOST, access),
            mem_req: link("mem_req", LSU, HOST, packet),
            mem_rsp: link("mem_rsp", HOST, LSU, packet),
            memory: VecDeque::new(),
            random: 1,
            sent: 0,
        }
    }

    fn access(&mut self) -> WarpAccess {
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let base = (self.random >> 40) % 32 * 64;
        WarpAccess {
            kind: if self.random >> 61 == 0 { AccessKind::Store } else { AccessKind::Load },
            warp: self.sent % 48,
            pc: u32::from(self.sent) * 8,
            size_log2: 2,
            mask: u32::MAX,
            address: std::array::from_fn(|lane| base + 4 * lane as u64),
            data: [[self.random as u32; LANES], [0; LANES]],
            ..WarpAccess::default()
        }
    }

    fn host(&mut self, at: &mut Edge<'_>) {
        if self.core_req.tx().is_ready(at) && self.sent < 200 {
            let access = self.access();
            self.core_req.tx().push(at, access);
            self.sent += 1;
        }
        if self.core_rsp.rx().peek(at).is_some() {
            self.core_rsp.rx().pop(at);
        }
        if self.mem_req.rx().peek(at).is_some() {
            let Request { kind, id, line, sm, ticket, sectors, .. } = self.mem_req.rx().pop(at);
            let kind = if kind == RequestKind::Read { ReplyKind::Data } else { ReplyKind::Ack };
            let reply = Reply { kind, id, line, sm, ticket, sectors, data: [line as u8; 128], ..Reply::default() };
            self.memory.push_back((at.cycle + MEMORY, reply));
        }
        if self.memory.front().is_some_and(|(due, _)| *due <= at.cycle)
            && self.mem_rsp.tx().is_ready(at)
            && let Some((_, reply)) = self.memory.pop_front()
        {
            self.mem_rsp.tx().push(at, reply);
        }
    }
}

fn link<T: Payload>(name: &str, from: BlockId, to: BlockId, shape: T::Shape) -> Chan<T> {
    let spec = ChanSpec { path: format!("bench.{name}"), depth: 2, latency: 1, credit: 1, from, to };
    Chan::new(spec, shape)
}

impl Blocks for Bench {
    fn population(&self) -> Vec<u8> {
        vec![2]
    }
    fn eval(&mut self, block: BlockId, at: &mut Edge<'_>) -> Sleep {
        if block == HOST {
            self.host(at);
            return if self.sent < 200 || !self.memory.is_empty() { Sleep::Next } else { Sleep::UntilEvent };
        }
        let Self { lsu, core_req, core_rsp, mem_req, mem_rsp, .. } = self;
        let (core_req, core_rsp, mem_req, mem_rsp) = (core_req.rx(), core_rsp.tx(), mem_req.tx(), mem_rsp.rx());
        let io = LsuIo { core_req, core_rsp, mem_req, mem_rsp, duel: None, recall: None, supply: None };
        lsu.eval(io, at)
    }
    fn describe(&self, block: BlockId, to: &mut dyn Describe) {
        if block == HOST {
            to.part("host", |to| {
                to.bits("sent", self.sent);
                self.core_rsp.describe("core_rsp", None, to);
                self.mem_req.describe("mem_req", None, to);
            });
        } else {
            to.parts("sm", 0, |to| {
                to.part("l1", |to| {
                    self.lsu.describe(to);
                    self.core_req.describe("core_req", None, to);
                    self.mem_rsp.describe("mem_rsp", None, to);
                });
            });
        }
    }
}

#[test]
fn the_dump_of_an_lsu_holds_what_another_reader_sees_at_any_time() {
    let texts = ["sm0.l1", "**.entry[*]", "sm0.l1.tags.entries[*]", "sm0.l1.data[3]", "sm0.l1.coalescer.address[*]"];
    let globs: Vec<Glob> = texts.iter().map(|text| text.parse().unwrap()).collect();
    let clocks = Clocks::new(&[700_000]).unwrap();
    let mut bench = Bench::new();
    let spec = WaveSpec { globs: &globs, ..WaveSpec::of(&clocks, 0) };
    let mut wave = Waveform::new(Cursor::new(Vec::new()), &bench, spec).unwrap();
    let mut changed = ChangedBlocks::none(&bench);
    let mut sim = Simulator::new(clocks.periods(), &bench, Mode { shuffle: Some(1), ..Mode::default() });
    let mut seen = Vec::new();
    while let Some(tick) = sim.step(&mut bench) {
        changed.take(&mut sim);
        wave.sample(sim.tick(), &changed, &bench).unwrap();
        if tick % 17 == 0 {
            seen.push((wave.time_of(tick), look_at(&bench, ENTRIES)));
        }
    }
    assert!(bench.lsu.is_idle() && bench.sent == 200, "the run comes to its end");
    let read = ReadBack::of(wave.into_inner(sim.tick()).unwrap().get_ref());
    for status in ["machine.sm0.l1.status", "machine.sm0.l1.mshr.entry[2].state", "machine.sm0.l1.data[3].data"] {
        assert!(read.changes[status].len() > 5, "{status} moves");
    }
    for (time, values) in seen {
        for (path, value) in read.at(time) {
            assert_eq!(value, values[&path], "{path} at {time} ps");
        }
    }
}

#[test]
fn the_view_of_the_l1_names_signals_that_exist() {
    let clocks = Clocks::new(&[700_000]).unwrap();
    let spec = WaveSpec::of(&clocks, 0);
    let wave = Waveform::new(Cursor::new(Vec::new()), &Bench::new(), spec).unwrap();
    let scope = wave.tree().find_scope("sm0.l1").unwrap();
    let applied = View::parse_built_in("l1d").unwrap().apply(wave.tree(), wave.selection(), scope);
    assert_eq!(applied.missing, Vec::<String>::new());
}

/// The simulation stops before the memory sends its first reply. The queues of the load-store unit then
/// contain waiting accesses.
#[test]
fn every_queue_that_holds_something_is_listed_with_its_oldest_entry() {
    let clocks = Clocks::new(&[700_000]).unwrap();
    let mut bench = Bench::new();
    let mut sim = Simulator::new(clocks.periods(), &bench, Mode::default());
    for _ in 0..15 {
        sim.step(&mut bench);
    }
    let found = queues(&bench);
    let paths: Vec<_> = found.iter().map(|queue| queue.path.as_str()).collect();
    assert_eq!(paths, ["sm0.l1.queue", "sm0.l1.core_req"], "{found:?}");
    let values = look_at(&bench, ENTRIES);
    for QueueHead { path, level, oldest } in &found {
        assert_eq!(format!("{level:b}"), values[&format!("machine.{path}.level")], "{path}");
        assert!(oldest.starts_with("kind=LOAD space=GLOBAL "), "{path}: {oldest}");
    }
    let line = u64::from_str_radix(&values["machine.sm0.l1.queue.slot[0].line"], 2).unwrap();
    assert!(found[0].oldest.contains(&format!(" line={line:#x} lanes=")), "{:?}", found[0]);
    // Of the addresses of all lanes, the text must contain only the first, and it must contain no data.
    assert_eq!(found[1].oldest.matches("address=").count(), 1, "{:?}", found[1]);
    assert!(!found[1].oldest.contains("data"), "{:?}", found[1]);
}
