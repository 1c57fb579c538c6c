//! Issue: each scheduler chooses a warp, whose head instruction is dispatched.

use isa::program::{Inst, MemOp, Op};
use isa::types::Space;

use super::SmCore;
use super::address_unit::{check, extend, fault, store_data};
use super::alu::{Words, execute, is_wide, put};
use super::core::Loaded;
use super::decode::Pipe;
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

impl SmCore {
    /// Lets every scheduler issue; true if one did.
    pub(super) fn issue(&mut self, loaded: &Loaded, at: &mut Edge<'_>) -> bool {
        let mut any = false;
        let mut shared = Shared { port_taken: false, at_barrier: self.barriers.waiting() };
        let schedulers = self.schedulers.len();
        for turn in 0..schedulers {
            // The first claim on what schedulers share alternates, so that none starves.
            let scheduler = (turn + at.cycle as usize) % schedulers;
            let reason = match self.choose(loaded, scheduler, at.cycle, shared) {
                Ok(warp) => {
                    let pc = self.stacks.pc(warp);
                    shared.port_taken |= loaded.table[pc as usize].pipe.is_memory();
                    self.dispatch(loaded, at, scheduler, warp);
                    self.stalls.show(scheduler, warp, pc);
                    any = true;
                    StallReason::Issued
                }
                Err(stall) => stall.reason,
            };
            self.stalls.charge(scheduler, reason);
        }
        self.stalls.charged(at.cycle);
        any
    }

    /// The warp that a scheduler issues in `cycle`.
    pub(super) fn choose(&self, loaded: &Loaded, scheduler: usize, cycle: u64, shared: Shared) -> Result<u8, Stall> {
        if self.fault.is_some() {
            return Err(Stall { reason: StallReason::Halted, until: u64::MAX });
        }
        let heads = |pipe: Pipe| self.heads[pipe as usize];
        let group = self.schedulers[scheduler].group();
        let draining = heads(Pipe::Barrier) & self.warps.storing();
        let ready = self.fetch.head() & group & !self.scoreboard.hazard() & !shared.at_barrier & !draining;
        if ready == 0 {
            return Err(Stall { reason: self.unready_reason(group, shared.at_barrier), until: u64::MAX });
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
        if self.address_unit.is_busy() && ready & heads(Pipe::Global) != 0 {
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
            let decoded = &loaded.table[self.stacks.pc(warp) as usize];
            // Conflicts in shared memory show only with the addresses: its results queue for the bus.
            let queues = !decoded.pipe.has_result() || decoded.pipe == Pipe::Shared;
            if queues || self.pipes.has_room(cycle + u64::from(decoded.latency)) {
                return Ok(warp);
            }
            open &= !(1 << warp);
            stall.until = cycle + 1;
        }
        Err(stall)
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

    fn dispatch(&mut self, loaded: &Loaded, at: &mut Edge<'_>, scheduler: usize, warp: u8) {
        let pc = self.stacks.pc(warp);
        let inst = &loaded.image.program.insts[pc as usize];
        let decoded = &loaded.table[pc as usize];
        let active = self.stacks.active(warp);
        let mask = match inst.guard {
            None => active,
            Some(guard) => {
                let read = Operands {
                    file: &self.registers,
                    warps: &self.warps,
                    ctas: &self.ctas,
                    image: &loaded.image,
                    identity: self.identity,
                    at,
                    warp,
                };
                active & read.guard(guard)
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
                if mask != 0 && !self.access(loaded, at, (scheduler, warp, mask), inst, mem) {
                    return;
                }
                self.stacks.advance(at, warp);
            }
            _ => {
                if mask != 0 && !inst.writes.is_empty() {
                    let read = Operands {
                        file: &self.registers,
                        warps: &self.warps,
                        ctas: &self.ctas,
                        image: &loaded.image,
                        identity: self.identity,
                        at,
                        warp,
                    };
                    let due = at.cycle + u64::from(decoded.latency);
                    self.pipes.start(at, (warp, pc, mask), due, |words| execute(inst, &read, words));
                    self.pipes.occupy(decoded.pipe, scheduler, at.cycle + u64::from(decoded.interval));
                    self.scoreboard.reserve(warp, &inst.writes, false);
                }
                self.stacks.advance(at, warp);
            }
        }
        self.schedulers[scheduler].issued(warp);
        let acting = if matches!(inst.op, Op::Branch { .. }) { active } else { mask };
        self.counters.warp_instructions += 1;
        self.counters.thread_instructions += u64::from(acting.count_ones());
        self.counters.per_pipe[decoded.pipe as usize] += 1;
        if self.warps.live() >> warp & 1 != 0 && self.stacks.pc(warp) == pc + 1 {
            self.fetch.take(warp);
        } else {
            self.fetch.flush(warp);
        }
        self.refresh_head(loaded, warp);
    }

    /// Carries out a load or a store as far as the core does. False at a fault.
    fn access(
        &mut self,
        loaded: &Loaded,
        at: &Edge<'_>,
        (scheduler, warp, mask): (usize, u8, u32),
        inst: &Inst,
        mem: &MemOp,
    ) -> bool {
        let pc = self.stacks.pc(warp);
        let image = &*loaded.image;
        let decoded = &loaded.table[pc as usize];
        let read = Operands {
            file: &self.registers,
            warps: &self.warps,
            ctas: &self.ctas,
            image: &loaded.image,
            identity: self.identity,
            at,
            warp,
        };
        let address = read.addresses(mem);
        if let Err(wrong) = check(image, mem, &address, mask) {
            self.fault = Some(fault((self.identity.sm, warp, pc), image, inst, mem, &address, wrong));
            return false;
        }
        let is_store = matches!(inst.op, Op::Store(_));
        let due = at.cycle + u64::from(decoded.latency);
        match mem.space {
            Space::Global => {
                let data = is_store.then(|| store_data(inst, mem, &read));
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
                    let data = store_data(inst, mem, &read);
                    store_shared(&mut self.shared, base, mem, &address, mask, &data);
                } else if !inst.writes.is_empty() {
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
                if !inst.writes.is_empty() {
                    self.pipes.start(at, (warp, pc, mask), due, |words| {
                        load_words(inst, mem, mask, words, |lane, ahead| {
                            let from = &image.params[address[lane] as usize + ahead as usize..];
                            let bytes = &from[..mem.ty.bytes() as usize];
                            bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte))
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
fn load_words(inst: &Inst, mem: &MemOp, mask: u32, words: &mut Words, value: impl Fn(usize, u32) -> u64) {
    let mut word = 0;
    for (element, dst) in inst.dsts.iter().take(usize::from(mem.lanes)).enumerate() {
        if !matches!(dst, isa::program::Dst::Reg(_)) {
            continue;
        }
        let ahead = element as u32 * mem.ty.bytes();
        let mut values = [0; LANES];
        let mut lanes = mask;
        while lanes != 0 {
            let lane = lanes.trailing_zeros() as usize;
            lanes &= lanes - 1;
            values[lane] = extend(value(lane, ahead), mem.ty);
        }
        put(words, word, dst, &values);
        word += 1 + usize::from(is_wide(dst));
    }
}

fn store_shared(
    shared: &mut SharedMemory,
    base: u32,
    mem: &MemOp,
    address: &[u64; LANES],
    mask: u32,
    data: &[[u32; LANES]; 4],
) {
    let bytes = mem.bytes();
    let mut lanes = mask;
    while lanes != 0 {
        let lane = lanes.trailing_zeros() as usize;
        lanes &= lanes - 1;
        let at = base + address[lane] as u32;
        for word in 0..bytes.div_ceil(4) {
            let value = u64::from(data[word as usize][lane]);
            shared.store(at + 4 * word, (bytes - 4 * word).min(4), value);
        }
    }
}
