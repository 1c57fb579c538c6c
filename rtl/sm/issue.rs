//! Issue: each scheduler chooses a warp, whose head instruction is dispatched.

use isa::program::{Dst, Guard, Inst, MemOp, Op};
use isa::types::Space;

use super::address_unit::{StoreData, check, extend, fault, is_plain, store_data};
use super::alu::{Compute, Words, execute, put};
use super::core::Loaded;
use super::decode::{Decoded, Pipe};
use super::operands::{Base, Operands};
use super::scheduler::MAX_SCHEDULERS;
use super::shared_memory::SharedMemory;
use super::stall::StallReason;
use super::{Fault, KernelImage, SmCore};
use crate::kernel::Edge;
use crate::l1::access::LANES;

/// Warps whose head instruction waits for nothing of its own warp, at the start of a cycle.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ready {
    /// All of them.
    pub(super) all: u64,
    /// Those that do not find the address unit busy.
    pub(super) open: u64,
}

/// An instruction that a scheduler issues.
#[derive(Clone, Copy, Debug)]
struct Issue {
    scheduler: usize,
    warp: u8,
    pc: u32,
    /// Lanes in which it acts.
    mask: u32,
}

impl SmCore {
    /// Lets every scheduler issue; true if one did.
    pub(super) fn issue(&mut self, loaded: &Loaded, at: &mut Edge<'_>) -> bool {
        let Ready { all, mut open } = self.ready();
        let at_barrier = self.barriers.waiting();
        let schedulers = self.config.schedulers as usize;
        let mut issued = false;
        for turn in 0..schedulers {
            // The first claim on what schedulers share alternates, so that none starves.
            let scheduler = (at.cycle as usize + turn) & (schedulers - 1);
            let mine = open & self.group(scheduler);
            let pipe = if mine == 0 { None } else { self.issue_one(loaded, at, scheduler, mine) };
            match pipe {
                Some(pipe) => {
                    issued = true;
                    if pipe.is_memory() {
                        // The one memory issue port is taken; at a fault nothing goes on.
                        open &= if self.fault.is_some() { 0 } else { !self.memory_heads() };
                    }
                }
                None => self.stalls.charge(scheduler, self.stall_reason(scheduler, all, at_barrier)),
            }
        }
        self.stalls.charged(at.cycle);
        issued
    }

    /// Warps that a scheduler serves.
    pub(super) fn group(&self, scheduler: usize) -> u64 {
        self.schedulers[scheduler % MAX_SCHEDULERS].group()
    }

    /// Lets a scheduler issue one of its warps of `open`, which are not none; returns the pipe that
    /// it went to.
    #[inline(always)]
    fn issue_one(&mut self, loaded: &Loaded, at: &Edge<'_>, scheduler: usize, open: u64) -> Option<Pipe> {
        let (warp, decoded) = self.choose(loaded, scheduler, at.cycle, open)?;
        self.dispatch(loaded, at, scheduler, warp, decoded);
        Some(decoded.pipe)
    }

    /// Warps whose head instruction waits for no operand and at no barrier.
    #[inline(always)]
    pub(super) fn ready(&self) -> Ready {
        let draining = self.heads[Pipe::Barrier as usize] & self.warps.storing();
        let all = self.fetch.head() & !(self.scoreboard.hazard() | self.barriers.waiting() | draining);
        let all = if self.fault.is_some() { 0 } else { all };
        let open = if self.address_unit.is_busy() { all & !self.heads[Pipe::Global as usize] } else { all };
        Ready { all, open }
    }

    /// Warps whose head instruction takes the memory issue port.
    fn memory_heads(&self) -> u64 {
        self.heads[Pipe::Shared as usize] | self.heads[Pipe::Param as usize] | self.heads[Pipe::Global as usize]
    }

    /// The warp of `open`, which are not none, that a scheduler issues in `cycle`, with its
    /// instruction: the first in the scheduler's order that finds pipe and result bus free.
    #[inline(always)]
    fn choose<'l>(&self, loaded: &'l Loaded, scheduler: usize, cycle: u64, open: u64) -> Option<(u8, &'l Decoded)> {
        let (warp, decoded) = self.first(loaded, scheduler, open);
        if self.takes(decoded, scheduler, cycle) {
            return Some((warp, decoded));
        }
        let warp = self.choose_other(loaded, scheduler, cycle, open & !(1 << warp))?;
        Some((warp, &loaded.table[self.stacks.pc(warp) as usize]))
    }

    /// The warp that a scheduler issues if the first cannot go on, as it nearly always can.
    #[inline(never)]
    pub(super) fn choose_other(&self, loaded: &Loaded, scheduler: usize, cycle: u64, mut open: u64) -> Option<u8> {
        while open != 0 {
            let (warp, decoded) = self.first(loaded, scheduler, open);
            if self.takes(decoded, scheduler, cycle) {
                return Some(warp);
            }
            open &= !(1 << warp);
        }
        None
    }

    /// The first of `open` in a scheduler's order, with its instruction.
    #[inline(always)]
    fn first<'l>(&self, loaded: &'l Loaded, scheduler: usize, open: u64) -> (u8, &'l Decoded) {
        let warp = self.schedulers[scheduler % MAX_SCHEDULERS].pick(open, &self.ages);
        (warp, &loaded.table[self.stacks.pc(warp) as usize])
    }

    /// Whether pipe and result bus take an instruction in `cycle`.
    #[inline(always)]
    fn takes(&self, decoded: &Decoded, scheduler: usize, cycle: u64) -> bool {
        let pipe = decoded.pipe;
        // Conflicts in shared memory show only with the addresses: its results queue for the bus.
        !pipe.has_result()
            || self.pipes.free_at(pipe, scheduler) <= cycle
                && !self.pipes.is_full()
                && (pipe == Pipe::Shared || self.pipes.has_room(cycle + u64::from(decoded.latency)))
    }

    /// Why a scheduler issues nothing, with the ready warps and those at a barrier as they were
    /// at the start of the cycle.
    #[inline(never)]
    pub(super) fn stall_reason(&self, scheduler: usize, ready: u64, at_barrier: u64) -> StallReason {
        let group = self.group(scheduler);
        let live = self.warps.live() & group & !at_barrier;
        let hazard = self.scoreboard.hazard() & live;
        let memory = self.scoreboard.hazard_memory() & live;
        if self.fault.is_some() {
            StallReason::Halted
        } else if ready & group & self.heads[Pipe::Global as usize] != 0 && self.address_unit.is_busy() {
            StallReason::LsuFull
        } else if ready & group != 0 {
            StallReason::PipeBusy
        } else if hazard & !memory != 0 {
            StallReason::ScoreboardAlu
        } else if live & !self.fetch.head() != 0 {
            StallReason::Fetch
        } else if memory != 0 {
            StallReason::ScoreboardMemory
        } else if live != 0 {
            StallReason::StoreDrain
        } else if at_barrier & group != 0 {
            StallReason::Barrier
        } else {
            StallReason::NoWarp
        }
    }

    /// The first cycle in which one of a scheduler's warps of `open`, none of which can go on in
    /// `cycle`, may find its pipe or the result bus free, unless a result leaves before.
    #[inline(never)]
    pub(super) fn stalled_until(&self, loaded: &Loaded, scheduler: usize, cycle: u64, open: u64) -> u64 {
        let mut rest = open;
        let mut until = u64::MAX;
        while rest != 0 {
            let warp = rest.trailing_zeros() as u8;
            rest &= rest - 1;
            let free = self.pipes.free_at(loaded.table[self.stacks.pc(warp) as usize].pipe, scheduler);
            if free > cycle {
                until = until.min(free);
            } else if !self.pipes.is_full() {
                until = until.min(cycle + 1);
            }
        }
        until
    }

    /// Carries out an instruction as far as the core does at issue and moves its warp on.
    #[inline(always)]
    fn dispatch(&mut self, loaded: &Loaded, at: &Edge<'_>, scheduler: usize, warp: u8, decoded: &Decoded) {
        let inst = &decoded.inst;
        let (pc, active) = (self.stacks.pc(warp), self.stacks.active(warp));
        self.stalls.issue(scheduler, warp, pc);
        let mask = match inst.guard {
            None => active,
            Some(Guard { pred, negated }) => {
                let lanes = self.registers.pred(at, warp, pred);
                active & if negated { !lanes } else { lanes }
            }
        };
        let mut acting = mask;
        match &inst.op {
            Op::Branch { target, reconverge, .. } => {
                acting = active;
                self.counters.divergent_branches += u64::from(mask != 0 && mask != active);
                self.stacks.branch(at, warp, mask, *target, *reconverge);
            }
            Op::Exit if mask != 0 => self.exit(at, warp, mask),
            Op::Barrier { id } if mask != 0 => {
                let slot = self.warps.get(warp).cta;
                self.barriers.arrive(slot, *id, warp, self.warps.live() & self.ctas.warps(slot));
                self.stacks.advance(at, warp);
            }
            Op::Exit | Op::Barrier { .. } | Op::Nop => self.stacks.advance(at, warp),
            Op::Load(mem) | Op::Store(mem) if !matches!(decoded.compute, Compute::Spread) => {
                if mask != 0 && !self.access(loaded, at, &Issue { scheduler, warp, pc, mask }, decoded, mem) {
                    return;
                }
                self.stacks.advance(at, warp);
            }
            _ => {
                if mask != 0 && decoded.writes {
                    self.compute(loaded, at, warp, mask, decoded);
                    self.pipes.occupy(decoded.pipe, scheduler, at.cycle + u64::from(decoded.interval));
                    self.scoreboard.reserve(warp, &inst.writes, false);
                }
                self.stacks.advance(at, warp);
            }
        }
        self.schedulers[scheduler % MAX_SCHEDULERS].issued(warp);
        self.counters.warp_instructions += 1;
        let threads = if acting == u32::MAX { LANES as u32 } else { acting.count_ones() };
        self.counters.thread_instructions += u64::from(threads);
        self.counters.per_pipe[decoded.pipe as usize] += 1;
        self.heads[decoded.pipe as usize] &= !(1 << warp);
        // The pc of a warp that has ended stays where it was.
        let next = self.stacks.pc(warp);
        if next != pc + 1 {
            self.fetch.flush(warp);
        } else if self.fetch.take(warp) {
            self.show_head(loaded, warp, next);
        }
    }

    /// Sends the result of the instruction at a warp's pc on its way.
    #[inline(always)]
    fn compute(&mut self, loaded: &Loaded, at: &Edge<'_>, warp: u8, mask: u32, decoded: &Decoded) {
        let parts = (&self.registers, &self.warps, &self.ctas);
        let read = Operands::open(parts, loaded, at, warp, decoded);
        let due = at.cycle + u64::from(decoded.latency);
        self.pipes.start(at, (warp, self.stacks.pc(warp), mask), due, |words| execute(decoded, mask, read, words));
    }

    /// Carries out a load or a store as far as the core does. False at a fault.
    #[inline(never)]
    fn access(&mut self, loaded: &Loaded, at: &Edge<'_>, issue: &Issue, decoded: &Decoded, mem: &MemOp) -> bool {
        let &Issue { warp, pc, mask, .. } = issue;
        let image = &*loaded.image;
        let inst = &decoded.inst;
        let parts = (&self.registers, &self.warps, &self.ctas);
        let read = Operands::open(parts, loaded, at, warp, decoded);
        let mut spare = [None; 2];
        let base = read.base(mem, &decoded.base, &mut spare);
        let plain = matches!(base, Base::Wide(pair) if mask == u32::MAX && is_plain(image, mem, decoded.bytes, pair));
        if !plain && let Some(fault) = self.check(image, issue, inst, mem, base) {
            self.fault = Some(fault);
            return false;
        }
        let is_store = matches!(inst.op, Op::Store(_));
        match mem.space {
            Space::Global | Space::Const | Space::Local | Space::Generic => {
                let data = is_store.then_some(|data: &mut StoreData| store_data(decoded, mem, &read, data));
                let beats = self.address_unit.start((warp, pc, mask), mem, decoded.bytes, base, data);
                if is_store {
                    self.warps.stores_sent(warp, beats);
                } else {
                    self.warps.loads_sent(warp, beats);
                    self.scoreboard.reserve(warp, &inst.writes, true);
                }
            }
            Space::Shared => {
                let mut address = [0; LANES];
                base.addresses(mem, &mut address);
                let data = is_store.then(|| {
                    let mut data = [[0; LANES]; 4];
                    store_data(decoded, mem, &read, &mut data);
                    data
                });
                self.access_shared(at, issue, decoded, mem, &address, data.as_ref());
            }
            Space::Param => {
                let mut address = [0; LANES];
                base.addresses(mem, &mut address);
                self.load_params(image, at, issue, decoded, mem, &address);
            }
        }
        true
    }

    /// Carries out a load or a store in shared memory.
    #[inline(never)]
    fn access_shared(
        &mut self,
        at: &Edge<'_>,
        issue: &Issue,
        decoded: &Decoded,
        mem: &MemOp,
        address: &[u64; LANES],
        store: Option<&StoreData>,
    ) {
        let &Issue { scheduler, warp, pc, mask } = issue;
        let inst = &decoded.inst;
        let cycles = self.shared.cycles(address, mask, mem.bytes());
        self.counters.shared_conflicts += u64::from(cycles - 1);
        self.pipes.occupy(Pipe::Shared, scheduler, at.cycle + u64::from(cycles));
        let first = self.ctas.shared_base(self.warps.get(warp).cta);
        if let Some(data) = store {
            store_shared(&mut self.shared, first, mem, address, mask, data);
        } else if decoded.writes {
            let shared = &self.shared;
            let due = self.pipes.first_room(at.cycle + u64::from(decoded.latency) + u64::from(cycles - 1));
            self.pipes.start(at, (warp, pc, mask), due, |words| {
                load_words(inst, mem, mask, words, |lane, ahead| {
                    shared.load(first + address[lane] as u32 + ahead, mem.ty.bytes())
                });
                [0; 2]
            });
            self.scoreboard.reserve(warp, &inst.writes, false);
        }
    }

    /// Carries out a load of parameters.
    #[inline(never)]
    fn load_params(
        &mut self,
        image: &KernelImage,
        at: &Edge<'_>,
        &Issue { warp, pc, mask, .. }: &Issue,
        decoded: &Decoded,
        mem: &MemOp,
        address: &[u64; LANES],
    ) {
        if decoded.writes {
            let inst = &decoded.inst;
            self.pipes.start(at, (warp, pc, mask), at.cycle + u64::from(decoded.latency), |words| {
                load_words(inst, mem, mask, words, |lane, ahead| {
                    image.param(address[lane] as usize + ahead as usize, mem.ty.bytes())
                });
                [0; 2]
            });
            self.scoreboard.reserve(warp, &inst.writes, false);
        }
    }

    /// The fault of an access, if it is one, found lane by lane.
    #[inline(never)]
    fn check(
        &self,
        image: &KernelImage,
        &Issue { warp, pc, mask, .. }: &Issue,
        inst: &Inst,
        mem: &MemOp,
        base: Base<'_>,
    ) -> Option<Fault> {
        let mut address = [0; LANES];
        base.addresses(mem, &mut address);
        let wrong = check(image, mem, &address, mask).err()?;
        Some(fault((self.identity.sm, warp, pc), image, inst, mem, &address, wrong))
    }
}

/// Fills the result words of a load, element after element; `value` gives the bytes of a lane at
/// a distance from its address.
#[inline]
fn load_words(inst: &Inst, mem: &MemOp, mask: u32, words: &mut Words, value: impl Fn(usize, u32) -> u64) {
    let mut word = 0;
    for (element, dst) in inst.dsts.iter().take(usize::from(mem.lanes)).enumerate() {
        let Dst::Reg(reg) = dst else { continue };
        let ahead = element as u32 * mem.ty.bytes();
        if mem.ty.bytes() == 4 && !reg.wide {
            let row = &mut words[word];
            *row = [0; LANES];
            for_lanes(mask, |lane| row[lane] = value(lane, ahead) as u32);
        } else {
            let mut values = [0; LANES];
            for_lanes(mask, |lane| values[lane] = extend(value(lane, ahead), mem.ty));
            put(words, word, dst, &values);
        }
        word += 1 + usize::from(reg.wide);
    }
}

#[inline]
fn store_shared(
    shared: &mut SharedMemory,
    base: u32,
    mem: &MemOp,
    address: &[u64; LANES],
    mask: u32,
    data: &StoreData,
) {
    let bytes = mem.bytes();
    for word in 0..bytes.div_ceil(4) {
        let row = &data[word as usize];
        let size = (bytes - 4 * word).min(4);
        for_lanes(mask, |lane| shared.store(base + address[lane] as u32 + 4 * word, size, row[lane]));
    }
}

/// Calls `act` for every lane of `mask`, in order.
#[inline]
fn for_lanes(mask: u32, mut act: impl FnMut(usize)) {
    if mask == u32::MAX {
        (0..LANES).for_each(act);
        return;
    }
    let mut lanes = mask;
    while lanes != 0 {
        act(lanes.trailing_zeros() as usize % LANES);
        lanes &= lanes - 1;
    }
}
