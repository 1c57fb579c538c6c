//! Memory instructions at issue: accesses to device memory enter the address unit, while shared memory and
//! parameters are read and written at once.
//!
//! The top byte of a generic address selects the address space. If the lanes of an instruction address
//! different spaces, the instruction issues once per space. Each issue serves all lanes whose space is that
//! of the lowest lane not yet served. The scoreboard delays the next issue of a load until the result of the
//! previous issue has been written.

use isa::lanes::atomic;
use isa::map;
use isa::program::{Dst, Inst, MemOp, Op};
use isa::types::Space;

use super::address_unit::{StoreData, extend, store_data};
use super::check::{check, illegal, is_plain};
use super::shared_memory::{BankUse, SharedMemory};
use crate::cells::atomic::AtomicOp;
use crate::kernel::AnyEdge;
use crate::l1::access::LANES;
use crate::sm::core::Loaded;
use crate::sm::execute::alu::{Words, put};
use crate::sm::execute::operands::{Base, Operands};
use crate::sm::front::decode::{DecodedInst, Pipe};
use crate::sm::front::issue::{HalfOrder, Issue, IssueProgress};
use crate::sm::host::fault::AccessFault;
use crate::sm::{KernelImage, SmCore};

/// Lanes of a generic access that one issue serves: the lanes whose addresses lie in one address space.
struct ResolvedAccess {
    issue: Issue,
    /// Access converted to the address space of the served lanes.
    mem: MemOp,
    /// Addresses of the lanes within their address space.
    address: [u64; LANES],
}

impl ResolvedAccess {
    /// Selects the lanes whose addresses lie in the same address space as the address of the lowest lane of
    /// `issue`. Resolves the addresses of these lanes. An error names the lane, its address and the fault.
    #[inline(never)]
    fn new(issue: &Issue, op: &Op, mem: &MemOp, base: Base<'_>) -> Result<Self, (u8, u64, AccessFault)> {
        let mut address = [0; LANES];
        base.addresses(mem, &mut address);
        let first = issue.mask.trailing_zeros() as usize % LANES;
        let wrong = |fault| (first as u8, address[first], fault);
        let (space, _) = map::resolve(address[first]).ok_or_else(|| wrong(AccessFault::Nowhere))?;
        match (op, space) {
            (Op::Atomic(..), Space::Local | Space::Param) => {
                return Err(wrong(AccessFault::NotAtomic { space: space.name() }));
            }
            (Op::Store(_), Space::Param) => return Err(wrong(AccessFault::ReadOnly { what: "kernel parameters" })),
            _ => {}
        }
        let mut mask = 0;
        for_lanes(issue.mask, |lane| {
            mask |= u32::from(address[lane] >> map::TAG_SHIFT == address[first] >> map::TAG_SHIFT) << lane;
        });
        let address = address.map(|address| address & map::OFFSET_MASK);
        Ok(Self { issue: Issue { turn: HalfOrder::Only, mask, ..*issue }, mem: MemOp { space, ..*mem }, address })
    }
}

impl SmCore {
    /// Executes a load, store or atomic. An access to device memory does not complete here, but enters the
    /// address unit.
    #[inline(never)]
    pub(in crate::sm) fn access(
        &mut self,
        loaded: &Loaded,
        at: &impl AnyEdge,
        issue: Issue,
        decoded: &DecodedInst,
        mem: &MemOp,
    ) -> IssueProgress {
        let issue = &issue;
        let image = &*loaded.image;
        let inst = &decoded.inst;
        let parts = (&self.registers, &self.warps, &self.ctas);
        let read = Operands::open(parts, loaded, at, issue, decoded);
        let mut spare = [None; 2];
        let base = read.base(mem, &decoded.base, &mut spare);
        let whole = issue.mask;
        let generic = mem.space == Space::Generic;
        let part;
        let (issue, mem, base) = if generic {
            let rest = Issue { mask: whole & !self.warps.get(issue.warp).served, ..*issue };
            match ResolvedAccess::new(&rest, &inst.op, mem, base) {
                Ok(found) => part = found,
                Err((lane, address, wrong)) => {
                    return self.stop(loaded, issue, decoded, lane, illegal(&inst.op, address, mem.bytes(), wrong));
                }
            }
            (&part.issue, &part.mem, Base::Lanes(&part.address))
        } else {
            (issue, mem, base)
        };
        let &Issue { warp, mask, .. } = issue;
        let is_atomic = matches!(inst.op, Op::Atomic(..));
        let is_store = matches!(inst.op, Op::Store(_));
        match mem.space {
            Space::Global | Space::Const | Space::Local | Space::Generic if !is_atomic => {
                let differing = self.address_unit.form(mem, base);
                let address = self.address_unit.addresses();
                let looked = check_access(image, mem, decoded.bytes, (address, differing), mask);
                let looked =
                    looked.and_then(|()| if is_store { check_writable(image, mem, address, mask) } else { Ok(()) });
                if let Err((lane, address, wrong)) = looked {
                    return self.stop(loaded, issue, decoded, lane, illegal(&inst.op, address, mem.bytes(), wrong));
                }
                let data = is_store.then_some(|data: &mut StoreData| store_data(decoded, mem, &read, data));
                let mut beats = self.address_unit.start(issue, mem, decoded.bytes, data);
                self.start(at, issue, (Pipe::Global, 1), decoded);
                if mem.space != Space::Global {
                    beats = self.convert_space(image, issue, mem.space, decoded.bytes, beats);
                }
                if is_store {
                    self.warps.stores_sent(warp, beats);
                } else {
                    self.warps.loads_sent(warp, beats);
                    self.reserve_load(issue, &inst.writes);
                }
            }
            space => {
                let mut address = [0; LANES];
                let differing = base.addresses(mem, &mut address);
                let looked = check_access(image, mem, decoded.bytes, (&address, differing), mask);
                let looked =
                    looked.and_then(|()| if is_atomic { check_writable(image, mem, &address, mask) } else { Ok(()) });
                if let Err((lane, address, wrong)) = looked {
                    return self.stop(loaded, issue, decoded, lane, illegal(&inst.op, address, mem.bytes(), wrong));
                }
                if is_atomic {
                    let [b, c, ..] = &decoded.srcs;
                    let (b, c) = (read.wide(b), read.wide(c));
                    self.atomic(at, issue, decoded, mem, [&address, &b, &c]);
                } else if space == Space::Param {
                    self.load_params(image, at, issue, decoded, mem, &address);
                } else {
                    let data = is_store.then(|| {
                        let mut data = [[0; LANES]; 4];
                        store_data(decoded, mem, &read, &mut data);
                        data
                    });
                    self.access_shared(at, issue, decoded, mem, (&address, differing), data.as_ref());
                }
            }
        }
        if generic { self.serve(warp, whole, mask) } else { IssueProgress::All }
    }

    /// Records that an instruction with the lanes `whole` has been served in the lanes `mask`. Returns `All`
    /// if no lane of `whole` remains to be served, else `Part`.
    pub(in crate::sm) fn serve(&mut self, warp: u8, whole: u32, mask: u32) -> IssueProgress {
        let served = self.warps.get(warp).served | mask;
        let is_last = whole & !served == 0;
        self.warps.serve(warp, if is_last { 0 } else { served });
        if is_last { IssueProgress::All } else { IssueProgress::Part }
    }

    /// Converts the access that has just entered the address unit to an access to constants or local memory.
    /// Returns its number of beats.
    #[inline(never)]
    fn convert_space(&mut self, image: &KernelImage, issue: &Issue, space: Space, bytes: u8, beats: u8) -> u8 {
        if space == Space::Const {
            self.address_unit.move_to_constants(image.program.const_base);
            return beats;
        }
        let warp = u32::from(issue.warp) * self.config.halves() + u32::from(issue.half);
        let slot = self.identity.sm * self.identity.num_warps + warp;
        self.address_unit.move_to_local(image.local_of(slot), bytes)
    }

    /// Executes an atomic. In shared memory, it executes at once, lane after lane. In device memory, it is
    /// sent through the address unit.
    #[inline(never)]
    fn atomic(
        &mut self,
        at: &impl AnyEdge,
        issue: &Issue,
        decoded: &DecodedInst,
        mem: &MemOp,
        [address, b, c]: [&[u64; LANES]; 3],
    ) {
        let &Issue { warp, mask, .. } = issue;
        let inst = &decoded.inst;
        let Op::Atomic(f, _) = inst.op else { return };
        if mem.space != Space::Shared {
            let op = AtomicOp { f, ty: mem.ty };
            self.address_unit.start_atomic(issue, op, decoded.writes, [address, b, c]);
            self.start(at, issue, (Pipe::Global, 1), decoded);
            self.warps.stores_sent(warp, 1);
            if decoded.writes {
                self.reserve_load(issue, &inst.writes);
            }
            return;
        }
        let cycles = self.shared.atomic_cycles(address, mask, mem.bytes());
        self.counters.shared_conflicts += u64::from(cycles - 1);
        let start = self.start(at, issue, (Pipe::Shared, cycles), decoded);
        let first = self.ctas.shared_base(self.warps.get(warp).cta);
        let mut old = [0; LANES];
        for_lanes(mask, |lane| {
            let place = first + address[lane] as u32;
            old[lane] = self.shared.load(place, mem.ty.bytes());
            let new = atomic(f, mem.ty, old[lane], b[lane], c[lane]);
            self.counters.shared_changes += u64::from(new != old[lane]);
            self.shared.store(place, mem.ty.bytes().min(4), new as u32);
            if mem.ty.bytes() == 8 {
                self.shared.store(place + 4, 4, (new >> 32) as u32);
            }
        });
        if decoded.writes {
            let due = self.pipes.first_room(start + u64::from(decoded.latency) + u64::from(cycles - 1));
            self.pipes.start(at, issue, due, |words| {
                put(words, 0, &inst.dsts[0], &old);
                [0; 2]
            });
            self.reserve(issue, &inst.writes);
        }
    }

    /// Executes a load or store in shared memory.
    #[inline(never)]
    fn access_shared(
        &mut self,
        at: &impl AnyEdge,
        issue: &Issue,
        decoded: &DecodedInst,
        mem: &MemOp,
        (address, differing): (&[u64; LANES], u64),
        store: Option<&StoreData>,
    ) {
        let &Issue { warp, mask, .. } = issue;
        let inst = &decoded.inst;
        let usage = if store.is_some() { BankUse::Store } else { BankUse::Load };
        let cycles = self.shared.cycles(usage, (address, differing), mask, decoded.bytes.into());
        self.counters.shared_conflicts += u64::from(cycles - 1);
        let start = self.start(at, issue, (Pipe::Shared, cycles), decoded);
        let first = self.ctas.shared_base(self.warps.get(warp).cta);
        if let Some(data) = store {
            self.counters.shared_changes += 1;
            store_shared(&mut self.shared, first, mem, address, mask, data);
        } else if decoded.writes {
            let shared = &self.shared;
            let due = self.pipes.first_room(start + u64::from(decoded.latency) + u64::from(cycles - 1));
            // Fast path: nearly all loads read one 4-byte word in every lane.
            let plain =
                mask == u32::MAX && decoded.bytes == 4 && mem.lanes == 1 && mem.ty.bytes() == 4 && !decoded.wide;
            self.pipes.start(at, issue, due, |words| {
                if plain && decoded.words == 1 {
                    shared.load_words(first, (address, differing), &mut words[0]);
                    return [0; 2];
                }
                load_words(inst, mem, mask, words, |lane, ahead| {
                    shared.load(first + address[lane] as u32 + ahead, mem.ty.bytes())
                });
                [0; 2]
            });
            self.reserve(issue, &inst.writes);
        }
    }

    /// Executes a load of kernel parameters.
    #[inline(never)]
    fn load_params(
        &mut self,
        image: &KernelImage,
        at: &impl AnyEdge,
        issue: &Issue,
        decoded: &DecodedInst,
        mem: &MemOp,
        address: &[u64; LANES],
    ) {
        if decoded.writes {
            let inst = &decoded.inst;
            let start = self.start(at, issue, (Pipe::Param, decoded.interval), decoded);
            let due = self.pipes.first_room(start + u64::from(decoded.latency));
            self.pipes.start(at, issue, due, |words| {
                load_words(inst, mem, issue.mask, words, |lane, ahead| {
                    image.param(address[lane] as usize + ahead as usize, mem.ty.bytes())
                });
                [0; 2]
            });
            self.reserve(issue, &inst.writes);
        }
    }
}

/// Checks that an access is legal. The addresses of the lanes differ only in the address bits `differing`. An
/// error names the lane, its address and the fault.
#[inline(always)]
pub(in crate::sm) fn check_access(
    image: &KernelImage,
    mem: &MemOp,
    bytes: u8,
    (address, differing): (&[u64; LANES], u64),
    mask: u32,
) -> Result<(), (u8, u64, AccessFault)> {
    if mask == u32::MAX && is_plain(image, mem.space, bytes, address[0], differing) {
        return Ok(());
    }
    check(image, mem, address, mask).map_err(|(lane, wrong)| (lane, address[usize::from(lane)], wrong))
}

/// Checks that no lane writes to constants, which lie in device memory. An error names the lowest lane that
/// writes to them.
#[inline]
fn check_writable(
    image: &KernelImage,
    mem: &MemOp,
    address: &[u64; LANES],
    mask: u32,
) -> Result<(), (u8, u64, AccessFault)> {
    if mem.space != Space::Global || image.map.is_writable() {
        return Ok(());
    }
    let is_constant = |&lane: &usize| mask >> lane & 1 != 0 && image.map.is_read_only(address[lane], mem.bytes());
    let wrong = AccessFault::ReadOnly { what: "constants of a PTX file" };
    (0..LANES).find(is_constant).map_or(Ok(()), |lane| Err((lane as u8, address[lane], wrong)))
}

/// Fills the result words of a load, element by element. `value` returns the bytes that a lane loads at a
/// given byte offset from the lane's address.
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

/// Calls `act` for every lane of `mask`, in ascending order.
#[inline]
pub(in crate::sm) fn for_lanes(mask: u32, mut act: impl FnMut(usize)) {
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
