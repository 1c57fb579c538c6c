//! Testbench of the SM core: two cores, a CTA dispatcher and a memory, all on one clock.

use std::sync::Arc;

use golden::interp;
use golden::memory::FlatMemory;
use isa::alloc::allocate;
use isa::lanes::global_atomic;
use isa::program::{Addresses, Program};
use isa::texture::Texture;
use ptx::Source;
use ptx::data::data;
use rtl::kernel::{
    Block, BlockId, Blocks, Chan, ChanSpec, Describe, DescribeExt, Edge, FieldsExt, Mode, RxBank, Sleep, TxBank,
    digest_of,
};
use rtl::l1::access::{AccessKind, AccessShape, LANES, MemorySpace, WarpAccess, WarpReply, WarpReplyKind};
use rtl::replacement::priority::HintShape;
use rtl::sm::scheduler::greedy_then_oldest::GreedyThenOldest;
use rtl::sm::{
    AddressMap, ClassTiming, Counters, CtaDone, CtaLaunch, Dispatcher, DispatcherIo, InstructionStore, KernelImage,
    NamedRange, OpTiming, OperandConfig, PipeConfig, SharedConfig, SmConfig, SmCore, SmIo, StallReason, TraceTiming,
};

use super::lines::InstructionMemory;
use crate::kit::BenchSimulator;

/// Number of SM cores in the testbench.
const SMS: usize = 2;
/// Address of the buffer `out`, into which kernels write their results.
pub const OUT: u64 = 0x1000_0000;
/// Address of the buffer `input`, which kernels read.
pub const INPUT: u64 = 0x2000_0000;
/// Address of the constants that the PTX file defines.
const CONSTANTS: u64 = 0x3000_0000;
/// Base address of local memory.
const LOCAL: u64 = 0x4000_0000;

pub const DISPATCHER: BlockId = BlockId { domain: 0, slot: 0 };
const MEMORY: BlockId = BlockId { domain: 0, slot: 1 };
/// Address of the kernel's instructions.
const CODE: u64 = 0x5000_0000;
/// Id of the hardware block that serves the misses of the instruction caches, if the cores have such caches.
const LINES: BlockId = BlockId { domain: 0, slot: 2 + SMS as u8 };

fn core_id(sm: usize) -> BlockId {
    BlockId { domain: 0, slot: sm as u8 + 2 }
}

/// Kernel under test, with its launch parameters and the configuration of the cores.
#[derive(Clone)]
pub struct Kernel {
    pub ptx: String,
    pub params: Vec<u8>,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub dynamic_shared: u32,
    pub memory: FlatMemory,
    pub config: SmConfig,
    /// Textures by handle. Every texture name in the PTX file refers to the first handle.
    pub textures: Vec<Texture>,
    /// Maximum random delay of a memory reply, in cycles.
    pub delay: u64,
    /// Minimum and maximum latency of an instruction line from memory, in cycles.
    pub line_delay: (u64, u64),
    pub seed: u64,
}

impl Kernel {
    /// Creates a kernel `k` with the given body, the parameters `out` and `input`, and many registers of each
    /// kind. When the body begins, `%rd0` and `%rd1` hold the parameters. `%r0` holds the index of the thread
    /// in the grid, and `%rd2` the address of the thread's 64 bytes in `out`.
    pub fn new(body: &str) -> Self {
        Self::bare(&format!(
            "ld.param.u64 %rd0, [out]; ld.param.u64 %rd1, [input];
             mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mad.lo.u32 %r0, %r1, %r2, %r0;
             mul.wide.u32 %rd2, %r0, 64; add.u64 %rd2, %rd0, %rd2;
             {body}"
        ))
    }

    /// Creates a kernel without the prologue that loads the parameters. No register has a value when the body
    /// begins.
    pub fn bare(body: &str) -> Self {
        let ptx = format!(
            ".version 7.1\n.target sm_35\n.address_size 64\n
             .visible .entry k(.param .u64 out, .param .u64 input) {{
             .reg .pred %p<16>; .reg .b16 %rs<16>; .reg .b32 %r<64>; .reg .b64 %rd<32>;
             .reg .f32 %f<32>; .reg .f64 %fd<16>;\n{body}\nret;\n}}\n"
        );
        let mut memory = FlatMemory::new();
        memory.place("out", OUT, vec![0; 1 << 16]).unwrap();
        memory.place("input", INPUT, (0..1u32 << 16).map(|i| (i * 151 + (i >> 8) * 7 + 3) as u8).collect()).unwrap();
        Self {
            ptx,
            params: [OUT.to_le_bytes(), INPUT.to_le_bytes()].concat(),
            grid: [1, 1, 1],
            block: [32, 1, 1],
            dynamic_shared: 0,
            memory,
            config: fermi(),
            textures: Vec::new(),
            delay: 60,
            line_delay: (1, 60),
            seed: 1,
        }
    }

    pub fn grid(mut self, ctas: u32, threads: u32) -> Self {
        self.grid = [ctas, 1, 1];
        self.block = [threads, 1, 1];
        self
    }

    /// Adds declarations to the PTX file of the kernel.
    #[cfg(test)]
    pub fn declare(mut self, declarations: &str) -> Self {
        self.ptx = self.ptx.replacen(".visible .entry", &format!("{declarations} .visible .entry"), 1);
        let source = Source::new("k.ptx", &self.ptx);
        let constants = data(&source, &source.parse().unwrap()).unwrap().constants.bytes;
        if !constants.is_empty() {
            self.memory.place("constants", CONSTANTS, constants).unwrap();
        }
        self
    }

    pub fn program(&self) -> Program {
        let source = Source::new("k.ptx", &self.ptx);
        let mut program = source.kernel("k").unwrap_or_else(|error| panic!("{error:?}\n{}", self.ptx));
        let named = data(&source, &source.parse().unwrap()).unwrap().textures.len();
        let textures = vec![Some(1); named];
        let bound = self.textures.clone().into();
        program.link(&Addresses { globals: Vec::new(), constants: CONSTANTS, textures, bound }).unwrap();
        program
    }

    pub fn image(&self) -> Arc<KernelImage> {
        let program = allocate(&self.program()).unwrap();
        let ranges = self.memory.buffers().iter().map(|buffer| NamedRange {
            name: buffer.name.clone(),
            start: buffer.base,
            bytes: buffer.bytes.len() as u64,
        });
        let map = Arc::new(AddressMap::new(ranges.collect()).unwrap());
        let (params, shared) = (self.params.clone(), self.dynamic_shared);
        let image = KernelImage::new(program, params, self.grid, self.block, shared, 0, map).unwrap();
        Arc::new(image.with_local(LOCAL).with_code(CODE))
    }

    /// Runs the kernel to its end in one evaluation mode of the simulator.
    pub fn run(&self, mode: Mode) -> Bench {
        let (mut bench, mut sim) = self.start(mode);
        while let Some(cycle) = sim.step(&mut bench) {
            let Bench { cores, lines, .. } = &mut bench;
            lines.iter_mut().for_each(|lines| lines.follow(cores, cycle));
            assert!(sim.tick() < 2_000_000, "no end in sight: {:?}", bench.cores[0].waiting());
        }
        bench.lines.iter().for_each(InstructionMemory::end);
        bench.cycles = sim.tick();
        bench.digest = sim.state_digest(&bench);
        bench.cores.iter_mut().for_each(|core| core.settle(sim.tick() + 1));
        bench
    }

    /// Creates a testbench in which the kernel is loaded, and a simulator for it.
    pub fn start(&self, mode: Mode) -> (Bench, BenchSimulator) {
        let mut bench = Bench::new(self);
        let image = self.image();
        let fits: Vec<u32> = bench.cores.iter_mut().map(|core| core.load(image.clone()).unwrap()).collect();
        bench.dispatcher.load(self.grid, fits[0]);
        let sim = BenchSimulator::new(&[1], &bench, mode);
        (bench, sim)
    }

    /// Returns a copy of the kernel for cores with warps of 64 lanes, four schedulers, and pipes of 16 lanes.
    pub fn wide(&self) -> Self {
        let mut wide = self.clone();
        (wide.config.warp_lanes, wide.config.simd_width, wide.config.schedulers) = (64, 16, 4);
        wide
    }

    /// Runs the kernel in every evaluation mode of the simulator. Compares the modes with each other, and the
    /// results with the functional interpreter. Repeats these checks with warps of 64 lanes, for which cycles
    /// may differ.
    pub fn check(&self) -> Bench {
        let mut expected = self.memory.clone();
        let program = self.program();
        let launch = interp::Launch {
            program: &program,
            grid: self.grid,
            block: self.block,
            dynamic_shared: self.dynamic_shared,
            params: &self.params,
            max_instructions: 100_000_000,
        };
        interp::run(&launch, &mut expected).unwrap();
        let all = [
            Mode { evaluate_all: true, ..Mode::default() },
            Mode { lint: true, shuffle: Some(self.seed), ..Mode::default() },
            Mode { shuffle: Some(self.seed + 1), ..Mode::default() },
        ];
        self.wide().check_modes(&all[..2], &expected);
        self.check_modes(&all, &expected)
    }

    fn check_modes(&self, modes: &[Mode], expected: &FlatMemory) -> Bench {
        let bench = self.run(Mode { digest: true, ..Mode::default() });
        let faults: Vec<String> = bench.cores.iter().filter_map(SmCore::fault).map(ToString::to_string).collect();
        assert!(bench.dispatcher.is_done(), "{faults:?}, hangs: {:?}", bench.cores[0].waiting());
        assert!(bench.cores.iter().all(SmCore::is_idle));
        let lanes = self.config.warp_lanes;
        for (got, want) in bench.memory.store.buffers().iter().zip(expected.buffers()) {
            let wrong = got.bytes.iter().zip(&want.bytes).position(|(got, want)| got != want);
            assert_eq!(wrong, None, "first wrong byte of `{}` with {lanes} lanes\n{}", got.name, self.ptx);
        }
        let summary = bench.summary();
        for mode in modes {
            assert_eq!(self.run(Mode { digest: true, ..*mode }).summary(), summary, "{mode:?}\n{}", self.ptx);
        }
        bench
    }
}

/// Results that must be equal in two runs of a kernel.
#[derive(Debug, PartialEq, Eq)]
pub struct Summary {
    cycles: u64,
    digest: u64,
    accesses: Vec<u64>,
    counters: Vec<Counters>,
    stalls: Vec<Vec<u64>>,
    lines_asked: Option<Vec<u64>>,
}

/// Testbench: the cores under test with the dispatcher, the memory and the links.
pub struct Bench {
    pub cores: Vec<SmCore>,
    pub dispatcher: Dispatcher,
    pub memory: Memory,
    pub cycles: u64,
    digest: u64,
    launch: Vec<Chan<CtaLaunch>>,
    done: Vec<Chan<CtaDone>>,
    mem: Vec<Chan<WarpAccess>>,
    wb: Vec<Chan<WarpReply>>,
    lines: Option<InstructionMemory>,
}

impl Bench {
    fn new(kernel: &Kernel) -> Self {
        let spec = |name: &str, sm: usize, from, to| ChanSpec {
            path: format!("sm{sm}.{name}"),
            depth: 2,
            latency: 1,
            credit: 1,
            from,
            to,
        };
        let halves = kernel.config.halves();
        let shape = AccessShape {
            addr_bits: 32,
            pc_bits: 16,
            halves,
            counts_warps: false,
            wide: false,
            hints: HintShape::NONE,
        };
        let mut bench = Self {
            cores: (0..SMS).map(|sm| SmCore::new(&kernel.config, &format!("sm{sm}"), sm as u32, SMS as u32)).collect(),
            dispatcher: Dispatcher::new("dispatcher", SMS),
            memory: Memory::new(kernel),
            cycles: 0,
            digest: 0,
            launch: (0..SMS).map(|sm| Chan::new(spec("launch", sm, DISPATCHER, core_id(sm)), ())).collect(),
            done: (0..SMS).map(|sm| Chan::new(spec("done", sm, core_id(sm), DISPATCHER), ())).collect(),
            mem: (0..SMS).map(|sm| Chan::new(spec("mem", sm, core_id(sm), MEMORY), shape)).collect(),
            wb: (0..SMS).map(|sm| Chan::new(spec("wb", sm, MEMORY, core_id(sm)), shape)).collect(),
            lines: None,
        };
        let (ids, random) = ((LINES, core_id as fn(usize) -> BlockId), (kernel.seed, kernel.line_delay));
        bench.lines = InstructionMemory::new(&kernel.config, &mut bench.cores, ids, random);
        bench.cores.iter_mut().for_each(SmCore::record);
        bench
    }

    fn summary(&self) -> Summary {
        let stalls = |core: &SmCore| StallReason::ALL.map(|reason| core.stall_cycles(reason)).to_vec();
        Summary {
            cycles: self.cycles,
            digest: self.digest,
            accesses: self.memory.accesses.clone(),
            counters: self.cores.iter().map(|core| *core.counters()).collect(),
            stalls: self.cores.iter().map(stalls).collect(),
            lines_asked: self.lines.as_ref().map(|lines| lines.request_digests().to_vec()),
        }
    }

    /// Returns the 32-bit word number `index` of the buffer `out`.
    #[cfg(test)]
    pub fn out(&self, index: usize) -> u32 {
        let bytes = self.memory.store.read(OUT + 4 * index as u64, 4).unwrap();
        u32::from_le_bytes(bytes.try_into().unwrap())
    }
}

impl Blocks for Bench {
    fn population(&self) -> Vec<u8> {
        vec![2 + SMS as u8 + u8::from(self.lines.is_some())]
    }

    fn eval(&mut self, block: BlockId, at: &mut Edge<'_>) -> Sleep {
        match block {
            DISPATCHER => {
                let io = DispatcherIo { launch: TxBank::of(&mut self.launch), done: RxBank::of(&mut self.done) };
                self.dispatcher.eval(io, at)
            }
            MEMORY => self.memory.eval((RxBank::of(&mut self.mem), TxBank::of(&mut self.wb)), at),
            LINES => self.lines.as_mut().map_or(Sleep::UntilEvent, |lines| lines.eval(at)),
            core => {
                let sm = usize::from(core.slot) - 2;
                let io = SmIo {
                    launch: self.launch[sm].rx(),
                    done: self.done[sm].tx(),
                    mem: self.mem[sm].tx(),
                    wb: self.wb[sm].rx(),
                    fetch: self.lines.as_mut().map(|lines| lines.of_core(sm)),
                };
                self.cores[sm].eval(io, at)
            }
        }
    }

    fn describe(&self, block: BlockId, to: &mut dyn Describe) {
        match block {
            DISPATCHER => to.part("dispatcher", |to| self.dispatcher.describe(to)),
            MEMORY => to.part("memory", |to| self.memory.describe(to)),
            LINES => to.part("lines", |to| self.lines.iter().for_each(|lines| lines.describe(to))),
            core => {
                let sm = usize::from(core.slot) - 2;
                to.parts("sm", sm as u32, |to| {
                    to.part("core", |to| {
                        self.launch[sm].describe("launch", None, to);
                        self.wb[sm].describe("wb", None, to);
                        self.lines.iter().for_each(|lines| lines.describe_link(sm, to));
                        self.cores[sm].describe(to);
                    });
                });
            }
        }
    }
}

/// Memory model that performs each access when it accepts it. It replies after a random delay, in any order.
pub struct Memory {
    pub store: FlatMemory,
    seed: u64,
    delay: u64,
    /// For each core, the pending replies, each with the cycle in which it is sent.
    pending: Vec<Vec<(u64, WarpReply)>>,
    accepted: Vec<u64>,
    /// Number of accesses that must bypass the L1 (uncached accesses).
    pub uncached: u64,
    /// Number of accesses to each PTX state space.
    pub spaces: [u64; 4],
    /// Contents of the local memory of all warps.
    local: FlatMemory,
    /// For each core, a hash of all its accesses and their cycles.
    accesses: Vec<u64>,
}

impl Memory {
    fn new(kernel: &Kernel) -> Self {
        let mut local = FlatMemory::new();
        let bytes = kernel.image().local_bytes(SMS as u32 * kernel.config.warps * kernel.config.halves());
        if bytes > 0 {
            local.place("local", LOCAL, vec![0; bytes as usize]).unwrap();
        }
        Self {
            spaces: [0; 4],
            local,
            store: kernel.memory.clone(),
            seed: kernel.seed,
            delay: kernel.delay,
            pending: vec![Vec::new(); SMS],
            accepted: vec![0; SMS],
            uncached: 0,
            accesses: vec![0; SMS],
        }
    }

    fn random(&self, sm: usize, of: u64) -> u64 {
        let mut x = self.seed ^ (sm as u64) << 56 ^ of.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        x = (x ^ x >> 31).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x ^ x >> 29
    }

    fn answer(&mut self, access: &WarpAccess) -> WarpReply {
        let bytes = 1 << access.size_log2;
        let mut reply = WarpReply {
            warp: access.warp,
            half: access.half,
            pc: access.pc,
            beat: access.beat,
            size_log2: access.size_log2,
            mask: access.mask,
            ..WarpReply::default()
        };
        let store = if access.space == MemorySpace::Local { &mut self.local } else { &mut self.store };
        let wide = |words: &[[u32; LANES]; 2], lane: usize| u64::from(words[1][lane]) << 32 | u64::from(words[0][lane]);
        for lane in (0..LANES).filter(|lane| access.mask >> lane & 1 != 0) {
            let address = access.address[lane];
            let mut word = [0; 8];
            word[..bytes as usize].copy_from_slice(store.read(address, bytes).unwrap());
            let old = u64::from_le_bytes(word);
            let value = wide(&access.data, lane);
            let new = match access.kind {
                AccessKind::Load => old,
                AccessKind::Store => value,
                AccessKind::Atomic | AccessKind::Reduce => {
                    let compare = wide(&access.compare, lane);
                    let swaps = access.atomic.f == isa::lanes::AtomicFn::CompareSwap;
                    let (b, c) = if swaps { (compare, value) } else { (value, 0) };
                    global_atomic(access.atomic.f, access.atomic.ty, old, b, c)
                }
            };
            if access.kind != AccessKind::Load {
                store.write(address, bytes).unwrap().copy_from_slice(&new.to_le_bytes()[..bytes as usize]);
            }
            (reply.data[0][lane], reply.data[1][lane]) = (old as u32, (old >> 32) as u32);
        }
        if matches!(access.kind, AccessKind::Store | AccessKind::Reduce) {
            reply.kind = WarpReplyKind::Stored;
        }
        reply
    }
}

impl Block for Memory {
    type Io<'a> = (RxBank<'a, WarpAccess>, TxBank<'a, WarpReply>);

    fn eval(&mut self, (mut mem, mut wb): Self::Io<'_>, at: &mut Edge<'_>) -> Sleep {
        let mut busy = false;
        for sm in 0..SMS {
            let stalled = self.delay > 1 && self.random(sm, at.cycle).is_multiple_of(3);
            if mem.at(sm).peek(at).is_some() && !stalled {
                let access = mem.at(sm).pop(at);
                let reply = self.answer(&access);
                self.accepted[sm] += 1;
                self.uncached += u64::from(access.uncached);
                self.spaces[access.space as usize] += 1;
                self.accesses[sm] = digest_of(&(self.accesses[sm], at.cycle, access));
                let due = at.cycle + 1 + self.random(sm, self.accepted[sm] << 32) % self.delay;
                self.pending[sm].push((due, reply));
            }
            let first = (0..self.pending[sm].len()).min_by_key(|&index| self.pending[sm][index].0);
            if let Some(first) = first
                && self.pending[sm][first].0 <= at.cycle
                && wb.at(sm).is_ready(at)
            {
                let (_, reply) = self.pending[sm].remove(first);
                wb.at(sm).push(at, reply);
            }
            busy |= !self.pending[sm].is_empty() || mem.at(sm).has_beat(at);
        }
        if busy { Sleep::Next } else { Sleep::UntilEvent }
    }

    fn describe(&self, to: &mut dyn Describe) {
        let Self { store: _, local: _, seed: _, delay: _, pending, accepted, uncached, spaces, accesses } = self;
        to.bits("uncached", *uncached);
        for count in spaces {
            to.bits("space", *count);
        }
        for ((pending, accepted), accesses) in pending.iter().zip(accepted).zip(accesses) {
            to.bits("pending", pending.len() as u64);
            to.bits("accepted", *accepted);
            to.bits("accesses", *accesses);
        }
    }
}

/// Returns the SM configuration of li2015 Table 2, with the instruction latencies of GPGPU-Sim.
pub fn fermi() -> SmConfig {
    let timing = |latency, interval| OpTiming { latency, interval };
    let class = |add, minmax, mul, mad, div| ClassTiming { add, minmax, mul, mad, div };
    SmConfig {
        warps: 48,
        warp_lanes: 32,
        simd_width: 32,
        threads: 1536,
        ctas: 8,
        registers: 32768,
        schedulers: 2,
        sub_cores: false,
        scheduler: GreedyThenOldest {}.into(),
        warp_limit: 0,
        instruction_buffer: 2,
        trace_timing: TraceTiming::Pipes,
        icache: InstructionStore::Perfect {},
        pipes: PipeConfig {
            operand_read: 1,
            result_bus: 2,
            int: class(timing(4, 1), timing(13, 2), timing(4, 2), timing(5, 1), timing(145, 8)),
            fp: class(timing(4, 1), timing(13, 2), timing(4, 1), timing(5, 1), timing(39, 4)),
            dp: class(timing(8, 8), timing(19, 16), timing(8, 8), timing(8, 8), timing(330, 130)),
            sfu: timing(20, 4),
            int_pipe: false,
            param: timing(4, 1),
            tensor: timing(0, 0),
        },
        operands: OperandConfig {
            banks: 0,
            sp_collectors: 6,
            sfu_collectors: 8,
            memory_collectors: 2,
            generic_collectors: 0,
            latches: false,
        },
        shared: SharedConfig { bytes: 48 << 10, banks: 32, latency: 26, carve_outs: Vec::new() },
    }
}
