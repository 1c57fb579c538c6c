//! Issue: each scheduler chooses a warp, whose head instruction is dispatched.

use isa::program::{Dst, Guard, Inst, MemOp, Op};
use isa::types::Space;

use super::SmCore;
use super::address_unit::{StoreData, check, extend, fault, store_data};
use super::alu::{Words, execute, merge, put};
use super::core::Loaded;
use super::decode::{Decoded, Pipe};
use super::operands::Operands;
use super::shared_memory::SharedMemory;
use super::stall::StallReason;
use crate::kernel::Edge;
use crate::l1::access::LANES;

/// Why a scheduler issues nothing, and until when at least, unless an event comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stall {
    pub(super) reason: StallReason,
    pub(super) until: u64,
}

/// What a scheduler finds in a cycle besides its own warps.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shared {
    /// Another scheduler has used the memory issue port.
    pub(super) port_taken: bool,
    /// Warps at a barrier at the start of the cycle.
    pub(super) at_barrier: u64,
}

/// Warps whose head instruction waits for nothing of its own warp, at the start of a cycle.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ready {
    /// All of them.
    all: u64,
    /// Those that find the address unit busy.
    blocked: u64,
}

impl SmCore {
    /// Lets every scheduler issue; true if one did.
    pub(super) fn issue(&mut self, loaded: &Loaded, at: &mut Edge<'_>) -> bool {
        let mut any = false;
        let mut shared = Shared { port_taken: false, at_barrier: self.barriers.waiting() };
        let ready = self.ready();
        let schedulers = self.schedulers.len();
        // The first claim on what schedulers share alternates, so that none starves.
        let mut scheduler = at.cycle as usize % schedulers;
        for _ in 0..schedulers {
            let chosen = match self.first(loaded, scheduler, at.cycle, ready, shared) {
                Some(warp) => Ok(warp),
                None => self.choose_other(loaded, scheduler, at.cycle, ready.all, shared),
            };
            match chosen {
                Ok(warp) => {
                    let pc = self.stacks.pc(warp);
                    let decoded = &loaded.table[pc as usize];
                    shared.port_taken |= decoded.pipe.is_memory();
                    self.dispatch(loaded, at, (scheduler, warp, pc), decoded);
                    self.stalls.issue(scheduler, warp, pc);
                    any = true;
                }
                Err(stall) => self.stalls.charge(scheduler, stall.reason),
            }
            scheduler += 1;
            if scheduler == schedulers {
                scheduler = 0;
            }
        }
        self.stalls.charged(at.cycle);
        any
    }

    /// Warps whose head instruction waits for no operand and at no barrier.
    #[inline]
    pub(super) fn ready(&self) -> Ready {
        let draining = self.heads[Pipe::Barrier as usize] & self.warps.storing();
        let all = self.fetch.head() & !self.scoreboard.hazard() & !self.barriers.waiting() & !draining;
        let blocked = if self.address_unit.is_busy() { all & self.heads[Pipe::Global as usize] } else { 0 };
        Ready { all, blocked }
    }

    /// The warp that a scheduler issues in `cycle`, one of `ready`.
    #[inline]
    pub(super) fn choose(
        &self,
        loaded: &Loaded,
        scheduler: usize,
        cycle: u64,
        ready: Ready,
        shared: Shared,
    ) -> Result<u8, Stall> {
        match self.first(loaded, scheduler, cycle, ready, shared) {
            Some(warp) => Ok(warp),
            None => self.choose_other(loaded, scheduler, cycle, ready.all, shared),
        }
    }

    /// The first in order of the warps that are ready, if it can go on, as it nearly always can.
    #[inline(always)]
    fn first(&self, loaded: &Loaded, scheduler: usize, cycle: u64, ready: Ready, shared: Shared) -> Option<u8> {
        let of = &self.schedulers[scheduler];
        let ready = ready.all & !ready.blocked & of.group();
        if ready == 0 || self.fault.is_some() {
            return None;
        }
        let first = of.pick(ready, &self.ages);
        let decoded = &loaded.table[self.stacks.pc(first) as usize];
        self.takes(decoded, scheduler, cycle, shared).then_some(first)
    }

    /// The warp that a scheduler issues if the first of those that are ready cannot go on.
    #[inline(never)]
    fn choose_other(
        &self,
        loaded: &Loaded,
        scheduler: usize,
        cycle: u64,
        all: u64,
        shared: Shared,
    ) -> Result<u8, Stall> {
        let ready = all & self.schedulers[scheduler].group();
        if self.fault.is_some() {
            return Err(Stall { reason: StallReason::Halted, until: u64::MAX });
        }
        if ready == 0 {
            let reason = self.unready_reason(self.schedulers[scheduler].group(), shared.at_barrier);
            return Err(Stall { reason, until: u64::MAX });
        }
        let heads = |pipe: Pipe| self.heads[pipe as usize];
        let lsu_full = self.address_unit.is_busy();
        if lsu_full && ready & !heads(Pipe::Global) == 0 {
            let until = if shared.port_taken { cycle + 1 } else { u64::MAX };
            return Err(Stall { reason: StallReason::LsuFull, until });
        }
        let mut stall = Stall { reason: StallReason::PipeBusy, until: u64::MAX };
        let mut blocked = 0;
        for pipe in [Pipe::Sp, Pipe::Sfu, Pipe::Dp, Pipe::Shared] {
            let free = self.pipes.free_at(pipe, scheduler);
            if free > cycle && ready & heads(pipe) != 0 {
                blocked |= heads(pipe);
                stall.until = stall.until.min(free);
            }
        }
        if shared.port_taken {
            blocked |= heads(Pipe::Shared) | heads(Pipe::Param) | heads(Pipe::Global);
            stall.until = cycle + 1;
        }
        if lsu_full && ready & heads(Pipe::Global) != 0 {
            blocked |= heads(Pipe::Global);
            stall.reason = StallReason::LsuFull;
        }
        if self.pipes.is_full() {
            let results = [Pipe::Sp, Pipe::Sfu, Pipe::Dp, Pipe::Shared, Pipe::Param];
            blocked |= results.into_iter().fold(0, |mask, pipe| mask | heads(pipe));
        }
        let mut open = ready & !blocked;
        while open != 0 {
            let warp = self.schedulers[scheduler].pick(open, &self.ages);
            if self.has_bus(&loaded.table[self.stacks.pc(warp) as usize], cycle) {
                return Ok(warp);
            }
            open &= !(1 << warp);
            stall.until = cycle + 1;
        }
        Err(stall)
    }

    /// Whether an instruction of a ready warp can go on in `cycle`.
    #[inline]
    fn takes(&self, decoded: &Decoded, scheduler: usize, cycle: u64, shared: Shared) -> bool {
        let pipe = decoded.pipe;
        self.pipes.free_at(pipe, scheduler) <= cycle
            && !(shared.port_taken && pipe.is_memory())
            && !(pipe == Pipe::Global && self.address_unit.is_busy())
            && !(pipe.has_result() && self.pipes.is_full())
            && self.has_bus(decoded, cycle)
    }

    /// Whether the result bus has room for the result of an instruction issued in `cycle`.
    #[inline]
    fn has_bus(&self, decoded: &Decoded, cycle: u64) -> bool {
        // Conflicts in shared memory show only with the addresses: its results queue for the bus.
        let queues = !decoded.pipe.has_result() || decoded.pipe == Pipe::Shared;
        queues || self.pipes.has_room(cycle + u64::from(decoded.latency))
    }

    /// Why no warp of a group is ready.
    fn unready_reason(&self, group: u64, waiting: u64) -> StallReason {
        let live = self.warps.live() & group & !waiting;
        let hazard = self.scoreboard.hazard() & live;
        let memory = self.scoreboard.hazard_memory() & live;
        if hazard & !memory != 0 {
            StallReason::ScoreboardAlu
        } else if live & !self.fetch.head() != 0 {
            StallReason::Fetch
        } else if memory != 0 {
            StallReason::ScoreboardMemory
        } else if live != 0 {
            StallReason::StoreDrain
        } else if waiting & group != 0 {
            StallReason::Barrier
        } else {
            StallReason::NoWarp
        }
    }

    fn dispatch(
        &mut self,
        loaded: &Loaded,
        at: &mut Edge<'_>,
        (scheduler, warp, pc): (usize, u8, u32),
        decoded: &Decoded,
    ) {
        let inst = &decoded.inst;
        let active = self.stacks.active(warp);
        let mask = match inst.guard {
            None => active,
            Some(Guard { pred, negated }) => {
                let lanes = self.registers.pred(at, warp, pred);
                active & if negated { !lanes } else { lanes }
            }
        };
        match &inst.op {
            Op::Branch { target, reconverge, .. } => {
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
            Op::Load(mem) | Op::Store(mem) => {
                if mask != 0 && !self.access(loaded, at, (scheduler, warp, pc, mask), decoded, mem) {
                    return;
                }
                self.stacks.advance(at, warp);
            }
            _ => {
                if mask != 0 && decoded.writes {
                    let parts = (&self.registers, &self.warps, &self.ctas);
                    let read = Operands::open(parts, loaded, at, warp, decoded);
                    let due = at.cycle + u64::from(decoded.latency);
                    self.pipes.start(at, (warp, pc, mask), due, |words| execute(decoded, &read, words));
                    self.pipes.occupy(decoded.pipe, scheduler, at.cycle + u64::from(decoded.interval));
                    self.scoreboard.reserve(warp, &inst.writes, false);
                }
                self.stacks.advance(at, warp);
            }
        }
        self.schedulers[scheduler].issued(warp);
        let acting = if matches!(inst.op, Op::Branch { .. }) { active } else { mask };
        self.counters.warp_instructions += 1;
        let threads = if acting == u32::MAX { LANES as u32 } else { acting.count_ones() };
        self.counters.thread_instructions += u64::from(threads);
        self.counters.per_pipe[decoded.pipe as usize] += 1;
        if self.warps.live() >> warp & 1 != 0 && self.stacks.pc(warp) == pc + 1 {
            self.fetch.take(warp);
        } else {
            self.fetch.flush(warp);
        }
        self.heads[decoded.pipe as usize] &= !(1 << warp);
        self.refresh_head(loaded, warp);
    }

    /// Carries out a load or a store as far as the core does. False at a fault.
    fn access(
        &mut self,
        loaded: &Loaded,
        at: &Edge<'_>,
        (scheduler, warp, pc, mask): (usize, u8, u32, u32),
        decoded: &Decoded,
        mem: &MemOp,
    ) -> bool {
        let image = &*loaded.image;
        let inst = &decoded.inst;
        let due = at.cycle + u64::from(decoded.latency);
        if let Some(loads) = &decoded.loads {
            if decoded.words > 0 {
                self.pipes.start(at, (warp, pc, mask), due, |words| {
                    for (word, value) in words.iter_mut().zip(&loads[..usize::from(decoded.words)]) {
                        *word = [*value; LANES];
                        if mask != u32::MAX {
                            merge(word, !mask, &[0; LANES]);
                        }
                    }
                    [0; 2]
                });
                self.scoreboard.reserve(warp, &inst.writes, false);
            }
            return true;
        }
        let parts = (&self.registers, &self.warps, &self.ctas);
        let read = Operands::open(parts, loaded, at, warp, decoded);
        let address = read.addresses(mem, &decoded.base);
        if let Err(wrong) = check(image, mem, &address, mask) {
            self.fault = Some(fault((self.identity.sm, warp, pc), image, inst, mem, &address, wrong));
            return false;
        }
        let is_store = matches!(inst.op, Op::Store(_));
        match mem.space {
            Space::Global => {
                let data = is_store.then_some(|data: &mut StoreData| store_data(decoded, mem, &read, data));
                let beats = self.address_unit.start((warp, pc, mask), mem, &address, data);
                if is_store {
                    self.warps.stores_sent(warp, beats);
                } else {
                    self.warps.loads_sent(warp, beats);
                    self.scoreboard.reserve(warp, &inst.writes, true);
                }
            }
            Space::Shared => {
                let cycles = self.shared.cycles(&address, mask, mem.bytes());
                self.counters.shared_conflicts += u64::from(cycles - 1);
                self.pipes.occupy(Pipe::Shared, scheduler, at.cycle + u64::from(cycles));
                let base = self.ctas.shared_base(self.warps.get(warp).cta);
                if is_store {
                    let mut data = [[0; LANES]; 4];
                    store_data(decoded, mem, &read, &mut data);
                    store_shared(&mut self.shared, base, mem, &address, mask, &data);
                } else if decoded.writes {
                    let shared = &self.shared;
                    let due = self.pipes.first_room(due + u64::from(cycles - 1));
                    self.pipes.start(at, (warp, pc, mask), due, |words| {
                        load_words(inst, mem, mask, words, |lane, ahead| {
                            shared.load(base + address[lane] as u32 + ahead, mem.ty.bytes())
                        });
                        [0; 2]
                    });
                    self.scoreboard.reserve(warp, &inst.writes, false);
                }
            }
            Space::Param => {
                if decoded.writes {
                    self.pipes.start(at, (warp, pc, mask), due, |words| {
                        load_words(inst, mem, mask, words, |lane, ahead| {
                            image.param(address[lane] as usize + ahead as usize, mem.ty.bytes())
                        });
                        [0; 2]
                    });
                    self.scoreboard.reserve(warp, &inst.writes, false);
                }
            }
        }
        true
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
