//! Model of the memory that serves the instruction caches in a testbench, with golden models of the caches.

use golden::sm::icache::word;
use rtl::cells::line::LINE_BYTES;
use rtl::kernel::{Block, BlockId, Chan, ChanSpec, Describe, Edge, FieldsExt, RxBank, Sleep, TxBank, digest_of};
use rtl::l1::instructions::{FetchIo, InstructionLineReply, InstructionLineRequest};
use rtl::noc::packet::PacketShape;
use rtl::sm::{InstructionStore, SmConfig, SmCore};
use warpsieve::check::icache::FetchLockstep;

/// Field widths of the messages that request and deliver instruction lines.
pub const SHAPE: PacketShape = PacketShape {
    tracked: false,
    hints: false,
    line_bits: 25,
    line_bytes: LINE_BYTES as u32,
    sm_bits: 1,
    partition_bits: 1,
};

/// Links of all cores' instruction caches, the memory that serves the caches, and a golden model of each
/// cache.
pub struct InstructionMemory {
    wanted: Vec<Chan<InstructionLineRequest>>,
    brought: Vec<Chan<InstructionLineReply>>,
    memory: LineMemory,
    twins: Vec<FetchLockstep>,
}

/// Memory model that replies to each request for an instruction line after a random latency, in any order.
struct LineMemory {
    seed: u64,
    /// Minimum and maximum latency of an instruction line, in cycles.
    delay: (u64, u64),
    /// For each core, the outstanding requests, each with the cycle in which the reply is sent.
    pending: Vec<Vec<(u64, InstructionLineRequest)>>,
    /// For each core, a hash of all its requests and their cycles.
    asked: Vec<u64>,
}

impl InstructionMemory {
    /// Connects the configured instruction cache of each core to memory. Returns `None` if the configuration
    /// has no instruction cache.
    pub fn new(
        config: &SmConfig,
        cores: &mut [SmCore],
        (memory, core_id): (BlockId, fn(usize) -> BlockId),
        (seed, delay): (u64, (u64, u64)),
    ) -> Option<Self> {
        let InstructionStore::Cache(icache) = &config.icache else { return None };
        for core in &mut *cores {
            core.set_instruction_cache(SHAPE);
            core.observe();
        }
        let spec = |name: &str, sm: usize, from, to| ChanSpec {
            path: format!("sm{sm}.{name}"),
            depth: icache.mshr_entries.max(2),
            latency: 1,
            credit: 1,
            from,
            to,
        };
        let sms = 0..cores.len();
        let twin = |sm| FetchLockstep::new(&format!("sm{sm}.icache"), icache, SHAPE.line_bytes, 32).unwrap();
        Some(Self {
            wanted: sms.clone().map(|sm| Chan::new(spec("wanted", sm, core_id(sm), memory), SHAPE)).collect(),
            brought: sms.clone().map(|sm| Chan::new(spec("brought", sm, memory, core_id(sm)), SHAPE)).collect(),
            memory: LineMemory { seed, delay, pending: vec![Vec::new(); cores.len()], asked: vec![0; cores.len()] },
            twins: sms.map(twin).collect(),
        })
    }

    /// Returns the ends of the links that one core's instruction cache uses.
    pub fn of_core(&mut self, sm: usize) -> FetchIo<'_> {
        FetchIo { wanted: self.wanted[sm].tx(), brought: self.brought[sm].rx() }
    }

    pub fn eval(&mut self, at: &mut Edge<'_>) -> Sleep {
        self.memory.eval((RxBank::of(&mut self.wanted), TxBank::of(&mut self.brought)), at)
    }

    /// Compares the instruction caches with their golden models after each cycle.
    pub fn follow(&mut self, cores: &mut [SmCore], cycle: u64) {
        for (core, twin) in cores.iter_mut().zip(&mut self.twins) {
            if let Some(seen) = core.take_fetches() {
                twin.step(cycle, &seen).unwrap();
            }
        }
    }

    /// Called when all warps have ended. Checks that no warp still waits for an instruction line.
    pub fn end(&self) {
        self.twins.iter().for_each(|twin| twin.end().unwrap());
    }

    /// Returns for each core a hash of all its requests for instruction lines.
    pub fn request_digests(&self) -> &[u64] {
        &self.memory.asked
    }

    pub fn describe(&self, to: &mut dyn Describe) {
        self.memory.describe(to);
    }

    pub fn describe_link(&self, sm: usize, to: &mut dyn Describe) {
        self.brought[sm].describe("brought", None, to);
    }
}

impl Block for LineMemory {
    type Io<'a> = (RxBank<'a, InstructionLineRequest>, TxBank<'a, InstructionLineReply>);

    fn eval(&mut self, (mut wanted, mut brought): Self::Io<'_>, at: &mut Edge<'_>) -> Sleep {
        let mut busy = false;
        for sm in 0..self.pending.len() {
            if wanted.at(sm).peek(at).is_some() {
                let request = wanted.at(sm).pop(at);
                let (least, most) = self.delay;
                let drawn = digest_of(&(self.seed, sm, request.id)) % (most - least + 1);
                self.asked[sm] = digest_of(&(self.asked[sm], at.cycle, request.line));
                self.pending[sm].push((at.cycle + least + drawn, request));
            }
            let due = self.pending[sm].iter().position(|(due, _)| *due <= at.cycle);
            if let Some(due) = due.filter(|_| brought.at(sm).is_ready(at)) {
                let (_, InstructionLineRequest { id, line }) = self.pending[sm].remove(due);
                let first = line * LINE_BYTES as u64;
                let data = std::array::from_fn(|byte| word(first + byte as u64).to_le_bytes()[byte % 4]);
                brought.at(sm).push(at, InstructionLineReply { id, line, data });
            }
            busy |= !self.pending[sm].is_empty() || wanted.at(sm).has_beat(at);
        }
        if busy { Sleep::Next } else { Sleep::UntilEvent }
    }

    fn describe(&self, to: &mut dyn Describe) {
        let Self { seed: _, delay: _, pending, asked } = self;
        for (pending, asked) in pending.iter().zip(asked) {
            to.bits("pending", pending.len() as u64);
            to.bits("asked", *asked);
        }
    }
}
