//! Replay of traced kernels: the steps of fetch, issue and retirement that differ from those of a PTX
//! program.
//!
//! The program counter of a warp is the index of a recorded instruction, and its active mask is that of the
//! recorded step. Both are set at each step. All other hardware works as for a program: buffers, schedulers,
//! scoreboard, pipes, bank conflicts, barriers and the address unit. No register is read or written, because
//! a trace has no values. Load data is checked against the contents that memory must have at the loaded
//! addresses ([`crate::recorded`]).

use std::sync::Arc;

use isa::lanes::AtomicFn;
use isa::program::{MemOp, Op};
use isa::types::Space;

use super::recorded::{COPIES, Role, TracedInstruction};
use super::stream::Next;
use crate::cells::atomic::AtomicOp;
use crate::kernel::{AnyEdge, Rx};
use crate::l1::access::{LANES, WarpReply};
use crate::recorded;
use crate::sm::SmCore;
use crate::sm::core::Loaded;
use crate::sm::execute::operands::Base;
use crate::sm::front::decode::{DecodedInst, Pipe};
use crate::sm::front::issue::{Head, Issue};
use crate::sm::front::scheduler::MAX_SCHEDULERS;
use crate::sm::memory::address_unit::{BEAT_BYTES, StoreData};
use crate::sm::memory::shared_memory::BankUse;
use crate::sm::warp::barrier::Arrival;
use crate::sm::warp::warps::Warps;

/// Maximum distance in bytes from an instruction to its successor; a larger distance is a jump. Instructions
/// take 8 or 16 bytes; scheduling control words lie between 8-byte instructions.
const SEQUENTIAL_BYTES: u32 = 16;

impl SmCore {
    /// Starts the warps of CTA `number` of the grid in a CTA slot.
    #[inline(never)]
    pub(in crate::sm) fn start_recorded(&mut self, loaded: &mut Loaded, number: u32, slot: u8) {
        let Some(recorded) = &loaded.recorded else { return };
        let source = Arc::clone(&recorded.source);
        let (config, identity) = (&self.config, self.identity);
        let cta = source.take(number, &mut |code| loaded.learn(code, config, identity));
        let Some(recorded) = &loaded.recorded else { return };
        self.scoreboard.size(recorded.words);
        for index in 0..self.ctas.share().warps {
            let warp = self.ctas.first_warp(slot) + index;
            match cta.as_ref().and_then(|cta| self.streams.start(warp, cta, index)) {
                Some(next) => self.set_next(warp, next, &recorded.places[next.operation as usize]),
                None => self.warps.exit(warp),
            }
        }
        if self.warps.live() & self.ctas.warps(slot) == 0 {
            self.ctas.finish(slot);
        }
    }

    /// Restores the CTA of a CTA slot from its source, after loading a checkpoint.
    pub(crate) fn restore_recorded(&mut self, number: u32, slot: u8) {
        let Some(mut loaded) = self.loaded.take() else { return };
        if let Some(recorded) = &loaded.recorded {
            let source = Arc::clone(&recorded.source);
            let (config, identity) = (&self.config, self.identity);
            let cta = source.take(number, &mut |code| loaded.learn(code, config, identity));
            for (index, cta) in (0..self.ctas.share().warps).zip(cta.iter().cycle()) {
                self.streams.restore(self.ctas.first_warp(slot) + index, cta, index);
            }
        }
        self.loaded = Some(loaded);
    }

    /// Sets the next instruction of a warp; `place` holds the properties of the instruction. If the
    /// instruction must wait for asynchronous copies, reserves the pseudo-predicate that represents them.
    #[inline(always)]
    fn set_next(&mut self, warp: u8, Next { operation, mask }: Next, place: &TracedInstruction) {
        self.stacks.set(warp, operation, mask.into());
        if let Role::Wait(allowed) = place.role
            && self.streams.await_groups(warp, allowed)
        {
            self.scoreboard.reserve(warp, &COPIES, true);
        }
    }

    /// Executes a traced instruction at its issue, and advances its warp.
    #[inline(never)]
    pub(in crate::sm) fn dispatch_recorded(
        &mut self,
        loaded: &Loaded,
        at: &impl AnyEdge,
        scheduler: usize,
        Head { warp, pc: operation, decoded }: Head<'_>,
    ) {
        let mask = self.stacks.active(warp) as u32;
        let issue = Issue::whole(scheduler, warp, operation, mask);
        self.stalls.issue(scheduler, warp, operation);
        let pipe = decoded.pipe;
        if mask != 0 {
            match (&decoded.inst.op, pipe) {
                (Op::Load(mem) | Op::Store(mem), Pipe::Global) => {
                    self.send_recorded(loaded, &issue, decoded, mem);
                    self.collect_recorded(at, &issue, decoded);
                }
                (Op::Atomic(f, mem), Pipe::Global) => {
                    self.change_recorded(&issue, decoded, *f, mem);
                    self.collect_recorded(at, &issue, decoded);
                }
                (Op::Load(mem) | Op::Store(mem) | Op::Atomic(_, mem), Pipe::Shared) => {
                    let lanes = loaded.recorded.as_ref().map_or(0, |r| r.places[operation as usize].lanes);
                    self.share_recorded(at, &issue, decoded, mem, mask & lanes);
                }
                (Op::Barrier { id }, _) => {
                    let slot = self.warps.get(warp).cta;
                    let live = self.warps.live() & self.ctas.warps(slot);
                    self.barriers.arrive(slot, *id, warp, live, Arrival::of(mask.into()));
                }
                (_, Pipe::Control | Pipe::Barrier) => {}
                _ => {
                    let start = self.start(at, &issue, (pipe, decoded.interval), decoded);
                    let due = self.pipes.first_room(start + u64::from(decoded.latency));
                    self.send_result(at, &issue, decoded, due);
                }
            }
        }
        self.schedulers[scheduler % MAX_SCHEDULERS].on_issue(warp);
        self.counters.count_issue::<false>(pipe, mask.into());
        self.heads[pipe as usize] &= !(1 << warp);
        self.step(loaded, warp, operation, mask);
    }

    /// Advances a warp to its next recorded step, or ends the warp if there is none. `mask` is the mask of
    /// the lanes that executed the current step.
    #[inline(always)]
    fn step(&mut self, loaded: &Loaded, warp: u8, operation: u32, mask: u32) {
        let Some(recorded) = &loaded.recorded else { return };
        let place = &recorded.places[operation as usize];
        match place.role {
            Role::EndGroup => self.streams.end_group(warp),
            Role::Unmodeled(which) if mask != 0 => self.counters.unmodeled[usize::from(which)] += 1,
            _ => {}
        }
        let Some(next) = self.streams.advance(warp) else {
            self.fetch.flush(warp);
            return self.end_warp(warp);
        };
        let target = &recorded.places[next.operation as usize];
        self.set_next(warp, next, target);
        let ahead = target.pc.wrapping_sub(place.pc);
        if !(1..=SEQUENTIAL_BYTES).contains(&ahead) {
            self.fetch.flush(warp);
        } else if self.fetch.take(warp) {
            self.show_head(loaded, warp, next.operation);
        }
    }

    /// Allocates an operand collector for the access that has entered the address unit. If no access has
    /// entered, does nothing.
    fn collect_recorded(&mut self, at: &impl AnyEdge, issue: &Issue, decoded: &DecodedInst) {
        if self.address_unit.is_busy() {
            self.start(at, issue, (Pipe::Global, 1), decoded);
        }
    }

    /// Starts a load or store of device memory in the address unit.
    #[inline(never)]
    fn send_recorded(&mut self, loaded: &Loaded, issue: &Issue, decoded: &DecodedInst, mem: &MemOp) {
        let &Issue { warp, pc: operation, .. } = issue;
        let mut address = [0; LANES];
        if !self.aligned_addresses(warp, decoded.bytes, &mut address) {
            return;
        }
        let is_store = matches!(decoded.inst.op, Op::Store(_));
        let tag = self.tag(warp);
        let fill = |data: &mut StoreData| fill(data, &address, decoded.bytes, tag);
        let data = is_store.then_some(fill);
        self.address_unit.form(mem, Base::Lanes(&address));
        let beats = self.address_unit.start(issue, mem, decoded.bytes, data);
        if mem.space == Space::Const {
            // A trace gives the device memory addresses of constants, so the base address is 0.
            self.address_unit.move_to_constants(0);
        }
        if is_store {
            self.warps.stores_sent(warp, beats);
        } else {
            let is_copy = loaded.recorded.as_ref().is_some_and(|r| r.places[operation as usize].role == Role::Copy);
            self.streams.loads(warp, operation, is_copy);
            self.warps.loads_sent(warp, beats);
            self.scoreboard.reserve(warp, &decoded.inst.writes, true);
        }
    }

    /// Starts an atomic in the address unit. The operand of the atomic is the word that a store would write
    /// to the same address.
    #[inline(never)]
    fn change_recorded(&mut self, issue: &Issue, decoded: &DecodedInst, f: AtomicFn, mem: &MemOp) {
        let &Issue { warp, pc: operation, .. } = issue;
        let mut address = [0; LANES];
        if !self.aligned_addresses(warp, decoded.bytes, &mut address) {
            return;
        }
        let tag = self.tag(warp);
        let words = |at: u64| match decoded.bytes {
            ..4 => u64::from(recorded::bytes(at, tag) as u16),
            _ => u64::from(recorded::word(at + 4, tag)) << 32 | u64::from(recorded::word(at, tag)),
        };
        let operands = [&address, &address.map(words), &[0; LANES]];
        let op = AtomicOp { f, ty: mem.ty };
        self.address_unit.start_atomic(issue, op, decoded.writes, operands);
        self.warps.stores_sent(warp, 1);
        if decoded.writes {
            self.streams.loads(warp, operation, false);
            self.scoreboard.reserve(warp, &decoded.inst.writes, true);
        }
    }

    /// Reads the lane addresses of an access of `bytes` bytes per lane. Rounds each address down to a
    /// multiple of `bytes`. Returns false if the trace has no addresses.
    #[inline(always)]
    fn aligned_addresses(&self, warp: u8, bytes: u8, address: &mut [u64; LANES]) -> bool {
        let is_known = self.streams.addresses(warp, address);
        // Hardware sends only aligned accesses to memory.
        let aligned = !(u64::from(bytes) - 1);
        address.iter_mut().for_each(|address| *address &= aligned);
        is_known
    }

    /// Returns the tag of a store: an 8-bit hash of CTA, warp and step, which distinguishes most stores.
    fn tag(&self, warp: u8) -> u8 {
        let (step, place) = self.streams.position(warp);
        let [x, y, z] = self.ctas.position(self.warps.get(warp).cta);
        let number = [x, y, z, place as u32, step].iter().fold(1, |sum: u32, n| sum.wrapping_mul(31).wrapping_add(*n));
        (number ^ number >> 8) as u8
    }

    /// Executes an access to shared memory: occupies the banks that the addresses of the lanes in `mask`
    /// select.
    #[inline(never)]
    fn share_recorded(&mut self, at: &impl AnyEdge, issue: &Issue, decoded: &DecodedInst, mem: &MemOp, mask: u32) {
        let warp = issue.warp;
        let mut address = [0; LANES];
        if !self.streams.addresses(warp, &mut address) {
            return;
        }
        let differing = address.iter().fold(0, |differing, lane| differing | lane ^ address[0]);
        let cycles = match decoded.inst.op {
            Op::Atomic(..) => self.shared.atomic_cycles(&address, mask, mem.bytes()),
            Op::Store(_) => self.shared.cycles(BankUse::Store, (&address, differing), mask, mem.bytes()),
            _ => self.shared.cycles(BankUse::Load, (&address, differing), mask, mem.bytes()),
        };
        // An access occupies the pipe for at least one cycle, even if no lane accesses a word.
        let cycles = cycles.max(1);
        self.counters.shared_conflicts += u64::from(cycles - 1);
        let start = self.start(at, issue, (Pipe::Shared, cycles), decoded);
        let due = self.pipes.first_room(start + u64::from(decoded.latency) + u64::from(cycles - 1));
        self.send_result(at, issue, decoded, due);
    }

    /// Schedules the register write of an instruction in cycle `due`, if it writes a register.
    #[inline(always)]
    fn send_result(&mut self, at: &impl AnyEdge, issue: &Issue, decoded: &DecodedInst, due: u64) {
        if decoded.writes {
            self.pipes.start(at, issue, due, |_| [0; 2]);
            self.scoreboard.reserve(issue.warp, &decoded.inst.writes, false);
        }
    }

    /// Processes the reply to a load, or to an atomic that returns the old value. Checks that the reply
    /// carries the data of the requested addresses.
    #[inline(never)]
    pub(in crate::sm) fn take_recorded(&mut self, loaded: &Loaded, wb: &mut Rx<'_, WarpReply>, at: &mut impl AnyEdge) {
        let Some(reply) = wb.peek(at) else { return wb.drop_head(at) };
        let (warp, operation) = (reply.warp, reply.pc);
        let decoded = &loaded.table[operation as usize];
        let is_atomic = matches!(decoded.inst.op, Op::Atomic(..));
        self.count_reply(at, reply, if is_atomic { Warps::complete_store } else { Warps::complete_load });
        let bytes = u32::from(decoded.bytes);
        let beats = decoded.bytes.div_ceil(BEAT_BYTES);
        let answered = self.streams.on_reply(warp, operation, beats, |address| belongs(reply, address, bytes));
        let Some(last) = answered else { self.foreign_data(at, reply) };
        wb.drop_head(at);
        if self.streams.poll_groups(warp) {
            self.release_set(loaded, warp, &COPIES, true);
        }
        if last {
            self.release_set(loaded, warp, &decoded.inst.writes, true);
        }
    }

    #[cold]
    #[inline(never)]
    fn foreign_data(&self, at: &impl AnyEdge, &WarpReply { warp, pc, mask, .. }: &WarpReply) -> ! {
        let (cycle, path) = (at.cycle(), &self.path);
        panic!(
            "cycle {cycle}, {path}: lanes {mask:#010x} of warp {warp} received data of other addresses, instruction \
             {pc}"
        )
    }
}

/// Fills store data with the words that a store with `tag` writes to the lane addresses `address`.
fn fill(data: &mut StoreData, address: &[u64; LANES], bytes: u8, tag: u8) {
    if bytes < 4 {
        data[0] = address.map(|address| recorded::bytes(address, tag));
        return;
    }
    for (at, row) in (0..).step_by(4).zip(data).take(usize::from(bytes) / 4) {
        for (word, address) in row.iter_mut().zip(address) {
            *word = recorded::word(address + at, tag);
        }
    }
}

/// True if a reply carries the data of a load of `bytes` bytes from the lane addresses `address`.
fn belongs(reply: &WarpReply, address: &[u64; LANES], bytes: u32) -> bool {
    let [low, high] = &reply.data;
    if bytes == 4 && reply.mask == u32::MAX {
        // Fast path for most loads: one comparison over all lanes.
        let wrong = |(value, address): (&u32, &u64)| (value ^ recorded::word(*address, 0)) >> 8;
        return low.iter().zip(address).map(wrong).fold(0, |all, wrong| all | wrong) == 0;
    }
    let (ahead, size) = (u64::from(reply.beat) * u64::from(BEAT_BYTES), bytes.min(4));
    let aligned = !(u64::from(bytes) - 1);
    (0..LANES).all(|lane| {
        let at = (address[lane] & aligned) + ahead;
        let fits = recorded::bytes_belong(low[lane], at, size) && (bytes < 8 || recorded::belongs(high[lane], at + 4));
        fits || reply.mask >> lane & 1 == 0
    })
}
