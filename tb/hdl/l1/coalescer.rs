//! # Lockstep test of the coalescer
//! Drives the SystemVerilog module and the Rust model with the same random inputs, and compares them in every
//! cycle. The following table lists the tested situations, with the code of this file that generates each of
//! them.
//!
//! | testpoint                                                                    | where     |
//! |------------------------------------------------------------------------------|-----------|
//! | loads, stores, constants, atomics, compare-and-swap of every legal size      | `access`  |
//! | lanes that share lines and words, are adjacent, or are scattered             | `access`  |
//! | an instruction is accepted in the cycle in which the last request is sent    | `cycle`   |
//! | operand registers keep their values if the next instruction has no operands  | registers |
//! | the golden coalescer, which sorts bytes, has the same lines, lanes and bytes | `cycle`   |

use std::collections::VecDeque;

use golden::l1::coalescer as twin;
use golden::l1::coalescer::StoreRequest;
use isa::lanes::AtomicFn;
use rtl::kernel::{Describe, Edge, Encoding};
use rtl::l1::access::{AccessKind, LANES, MemorySpace, WarpAccess};
use rtl::l1::coalescer::{Coalescer, LineAccess};

use super::accesses;
use crate::{Bench, Mistake, Ports, Random, Size, TrafficModes};

block! {
    |size, random| Box::new(Unit::new(size, random)),
    [
        Mistake::new("for (int l = LANES - 1; l >= 0; l--) if (waiting_q[l])", "for (int l = 0; l < LANES; l++) if (waiting_q[l])"),
        Mistake::new("differs[l][ADDR_BITS-1:2] == 0", "differs[l][ADDR_BITS-1:3] == 0"),
        Mistake::new("&& !(swaps && differs[l][LINE_LOG2-1])", ""),
        Mistake::new("&& joins[j]) joins[l] = 0;", ") joins[l] = 0;"),
        Mistake::new("<< address_q[l][2:0]", "<< {address_q[l][2:1], 1'b0}"),
        Mistake::new("word = word & ~bits[l] | operand[l]", "word = word | operand[l]"),
        Mistake::new("stores[l] && swaps && at[l]", "stores[l] && is_atomic && at[l]"),
        Mistake::new("if (BY_SECTOR && lanes[l]", "if (BY_SECTOR && waiting_q[l]"),
        Mistake::new("emits ? waiting_q & ~lanes : waiting_q", "emits ? waiting_q & (waiting_q - 1'b1) : waiting_q"),
        Mistake::new("takes && take_kind_i != LOAD", "takes"),
    ]
}

const LINE_BITS: u32 = 25;

struct Unit {
    line_log2: u32,
    by_sector: bool,
    dut: Coalescer,
    taken: WarpAccess,
    /// Requests of the current instruction that the coalescer has not emitted yet.
    due: VecDeque<StoreRequest>,
    moods: TrafficModes<4>,
    random: Random,
}

impl Unit {
    fn new(size: Size, mut random: Random) -> Self {
        let (line_log2, by_sector) = match size {
            Size::Small => (6, true),
            Size::Fermi | Size::Synthesised => (7, false),
            Size::Any => (6 + random.below(2) as u32, random.percent(50)),
        };
        let dut = Coalescer::new(1 << line_log2, LINE_BITS, by_sector);
        let (taken, due) = (WarpAccess::default(), VecDeque::new());
        Self { line_log2, by_sector, dut, taken, due, moods: TrafficModes::default(), random }
    }

    /// Generates a random warp memory instruction. In `close` percent of the cases, its lanes share few
    /// lines, and in `narrow` percent they access few words.
    fn access(&mut self, [close, narrow]: [u64; 2]) -> WarpAccess {
        let random = &mut self.random;
        let (kind, space) = [
            (AccessKind::Load, MemorySpace::Global),
            (AccessKind::Load, MemorySpace::Const),
            (AccessKind::Load, MemorySpace::Texture),
            (AccessKind::Store, MemorySpace::Global),
            (AccessKind::Store, MemorySpace::Local),
            (AccessKind::Atomic, MemorySpace::Global),
            (AccessKind::Reduce, MemorySpace::Global),
        ][random.below(7) as usize];
        let line_bytes = 1 << self.line_log2;
        let lines = if random.percent(close) { 1 + random.below(4) } else { 1 << LINE_BITS };
        let reach = if random.percent(narrow) { 16 } else { line_bytes };
        let base = random.below(1 << LINE_BITS);
        let line = |random: &mut Random| (base + random.below(lines)) & ((1 << LINE_BITS) - 1);
        accesses::draw(random, (kind, space), (self.line_log2, reach), line)
    }

    /// Returns the golden model's line requests for an instruction. The requests are sorted by the lowest
    /// lane that each of them serves.
    fn golden(&self, access: &WarpAccess) -> VecDeque<StoreRequest> {
        let line_bytes = 1 << self.line_log2;
        let width = 1 << access.size_log2;
        let lanes = twin::WarpAccess { active: access.mask, addresses: access.address, width };
        let mut data = [[0; twin::MAX_WIDTH]; LANES];
        for (lane, bytes) in data.iter_mut().enumerate() {
            bytes[..4].copy_from_slice(&access.data[0][lane].to_le_bytes());
            bytes[4..8].copy_from_slice(&access.data[1][lane].to_le_bytes());
        }
        let without_data = |request| StoreRequest { request, bytes: Vec::new() };
        let due = if access.kind.is_atomic() {
            let reach = if access.atomic.f == AtomicFn::CompareSwap { line_bytes / 2 } else { line_bytes };
            twin::coalesce_atomic(&lanes, line_bytes, reach).map(|due| due.into_iter().map(without_data).collect())
        } else if access.space == MemorySpace::Const {
            twin::coalesce_constant(&lanes, line_bytes).map(|due| due.into_iter().map(without_data).collect())
        } else {
            twin::coalesce_store(&lanes, line_bytes, &data)
        };
        let mut due: Vec<_> = due.expect("accesses are aligned");
        due.sort_by_key(|due| due.request.lanes.trailing_zeros());
        due.into()
    }

    fn emit(&mut self, ports: &mut Ports, ready: bool) {
        let line_bytes = 1usize << self.line_log2;
        let valid = self.dut.is_busy();
        // Request that the coalescer offers in this cycle. If the receiver does not accept the request, a
        // copy of the Rust model emits it, so that the state of the model itself does not change.
        let request = valid.then(|| {
            let mut request = LineAccess::default();
            if ready {
                self.dut.emit(&mut request);
            } else {
                self.dut.clone().emit(&mut request);
            }
            request
        });
        let of = |of: fn(&LineAccess) -> u64| request.as_ref().map(of);
        let atomic = request.as_ref().filter(|request| request.kind.is_atomic());
        let is_load = self.taken.kind == AccessKind::Load;
        let bytes = request.as_ref().map(|request| (request.byte_mask.to_le_bytes(), &request.data[..line_bytes]));
        ports.input("emit_ready", 1, ready);
        ports.output("emit_valid", 1, valid);
        ports.output_if("emit_kind", 2, of(|request| request.kind.code().into()));
        ports.output_if("emit_space", 2, of(|request| request.space.code().into()));
        ports.output_if("emit_uncached", 1, of(|request| request.uncached.into()));
        ports.output_if("emit_id", 32, of(|request| request.id.into()));
        ports.output_if("emit_warp", 6, of(|request| request.warp.into()));
        ports.output_if("emit_slot", 6, of(|request| request.slot.into()));
        ports.output_if("emit_line", LINE_BITS, of(|request| request.line));
        ports.output_if("emit_lanes", LANES as u32, of(|request| request.lanes.into()));
        ports.output_if("emit_sectors", 4, of(|request| request.sectors.into()).filter(|_| is_load && self.by_sector));
        ports.output_if("emit_function", 4, atomic.map(|request| request.atomic.f.code()));
        ports.output_if("emit_type", 4, atomic.map(|request| request.atomic.ty.code()));
        ports.wide_output("emit_byte_mask", line_bytes as u32, bytes.as_ref().map(|(mask, _)| &mask[..]));
        ports.wide_output("emit_data", 8 * line_bytes as u32, bytes.as_ref().map(|(_, data)| *data));
        if let Some(request) = request.filter(|_| ready) {
            let due = self.due.pop_front().expect("the golden twin has as many requests");
            assert_eq!((request.line, request.lanes), (due.request.line, due.request.lanes));
            if !is_load {
                assert_eq!(request.byte_mask, due.request.byte_mask);
            }
            if request.kind == AccessKind::Store {
                assert_eq!(&request.data[..line_bytes], due.bytes);
            }
        }
    }

    fn take(&mut self, ports: &mut Ports, valid: bool, moods: [u64; 2]) {
        let access = self.access(moods);
        let slot = self.random.below(64) as u8;
        let ready = !self.dut.is_busy();
        let addr_bits = LINE_BITS + self.line_log2;
        let mut address = BitPacker::default();
        access.address.iter().for_each(|at| address.push(*at, addr_bits));
        let [data, compare] = [&access.data, &access.compare].map(|words| {
            let mut packed = BitPacker::default();
            words.as_flattened().iter().for_each(|word| packed.push((*word).into(), 32));
            packed.bytes
        });
        ports.output("take_ready", 1, ready);
        ports.input("take_valid", 1, valid);
        ports.input("take_kind", 2, access.kind.code());
        ports.input("take_space", 2, access.space.code());
        ports.input("take_uncached", 1, access.uncached);
        ports.input("take_warp", 6, access.warp);
        ports.input("take_slot", 6, slot);
        ports.input("take_size_log2", 2, access.size_log2);
        ports.input("take_mask", LANES as u32, access.mask);
        ports.input("take_function", 4, access.atomic.f.code());
        ports.input("take_type", 4, access.atomic.ty.code());
        ports.wide_input("take_address", LANES as u32 * addr_bits, &address.bytes);
        ports.wide_input("take_data", 64 * LANES as u32, &data);
        ports.wide_input("take_compare", 64 * LANES as u32, &compare);
        if valid && ready {
            self.dut.take(&access, slot);
            self.due = self.golden(&access);
            self.taken = access;
        }
    }
}

/// Byte string into which numbers are packed, with the first number in the lowest bits.
#[derive(Default)]
struct BitPacker {
    bytes: Vec<u8>,
    bits: u32,
}

impl BitPacker {
    fn push(&mut self, value: u64, width: u32) {
        for bit in 0..width {
            if self.bits.is_multiple_of(8) {
                self.bytes.push(0);
            }
            self.bytes[self.bits as usize / 8] |= ((value >> bit & 1) as u8) << (self.bits % 8);
            self.bits += 1;
        }
    }
}

impl Bench for Unit {
    fn parameters(&self) -> Vec<(&'static str, String)> {
        vec![
            ("LINE_BITS", LINE_BITS.to_string()),
            ("LINE_LOG2", self.line_log2.to_string()),
            ("BY_SECTOR", u32::from(self.by_sector).to_string()),
        ]
    }

    fn cycle(&mut self, _at: &Edge<'_>, ports: &mut Ports) {
        let [emits, takes, close, narrow] = self.moods.next(&mut self.random);
        let ready = self.random.percent(emits);
        self.emit(ports, ready);
        let valid = self.random.percent(takes);
        self.take(ports, valid, [close, narrow]);
    }

    fn describe(&self, to: &mut dyn Describe) {
        self.dut.describe(to);
    }
}
