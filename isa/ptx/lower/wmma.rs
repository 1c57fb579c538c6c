//! Lowering of `wmma`: loads and stores of matrices, and matrix products. For a load or a store, each lane
//! computes the addresses of its elements, and uses the widest accesses that [`Tiling::layout`] allows.

use super::super::PtxError;
use super::super::ast::Instruction;
use super::Lowering;
use super::modifiers::Modifiers;
use super::operands::Width;
use super::tensor::{Fragments, MAJORS};
use isa::lanes::{AluFn, AluOp};
use isa::program::{Dst, Inst, MemOp, Op, Reg, RelocatedOperand as Relocated, Src};
use isa::tensor::{Bit, ElementPosition, Factor, Layout, Matrix, MatrixOrder, Sum, TILINGS, Tiling, volta_form};
use isa::types::{CacheOp, Space, Special, Type};

use Type::{B16, B32, B64, U32};

const HELP: &str = "supported are wmma.load.a .load.b .load.c .mma .store.d, .sync.aligned, .m16n16k16 .m32n8k16 \
                    .m8n32k16, A and B of .f16, C and D both of .f16 or both of .f32";

/// PTX names of the element types of an accumulator.
const SUMS: [(&str, Sum); 2] = [("f16", Sum::F16), ("f32", Sum::F32)];

/// Matrix in memory, from the point of view of one lane that loads or stores some of its elements.
struct Memory {
    /// Memory access whose address is that of the lane's first element.
    mem: MemOp,
    /// Distance in elements between the starts of two adjacent rows (row-major matrix) or columns
    /// (column-major matrix).
    stride: Src,
    major: MatrixOrder,
    layout: Layout,
    /// Size of an element in bytes: 2 or 4.
    bytes: u32,
}

impl<'a> Lowering<'_, 'a> {
    /// Lowers `wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 {..}, {..}, {..}, {..};`, and also `wmma.load`
    /// and `wmma.store`.
    pub(super) fn wmma(&mut self, inst: &Instruction<'a>, mods: &mut Modifiers<'a>) -> Result<(), PtxError> {
        let unsupported = || self.refuse_unsupported(inst).with_help(HELP);
        let (is_load, is_store) = (mods.take("load"), mods.take("store"));
        let is_mma = mods.take("mma");
        let is_sync = mods.take("sync");
        mods.take("aligned");
        let majors = [mods.take_one(&MAJORS), mods.take_one(&MAJORS)];
        let tiling = TILINGS.iter().find(|tiling| mods.take(tiling.shape));
        let tiling = tiling.filter(|_| is_sync).ok_or_else(unsupported)?;
        match majors {
            [Some(a), Some(b)] if is_mma => {
                let sum = mods.take_one(&SUMS).filter(|sum| mods.take_one(&SUMS) == Some(*sum));
                let sum = sum.ok_or_else(unsupported)?;
                self.wmma_mma(inst, tiling, [a, b], sum)
            }
            [Some(major), None] if is_load || is_store => {
                let part = mods.take_one(&[("a", 'a'), ("b", 'b'), ("c", 'c'), ("d", 'd')]);
                let sum = mods.take_one(&SUMS).ok_or_else(unsupported)?;
                let matrix = match (part, is_load) {
                    (Some('a'), true) if sum == Sum::F16 => Matrix::A(major),
                    (Some('b'), true) if sum == Sum::F16 => Matrix::B(major),
                    (Some('c'), true) | (Some('d'), false) => Matrix::Sum(sum),
                    _ => return Err(unsupported()),
                };
                let space = mods.space();
                let cache = CacheOp::Default;
                let mem = MemOp {
                    space,
                    ty: B32,
                    lanes: 1,
                    cache,
                    l2_priority: None,
                    volatile: false,
                    base: None,
                    offset: 0,
                };
                mods.finish(self)?;
                self.wmma_access(inst, tiling, (matrix, major), (sum, mem), is_load)
            }
            _ => Err(unsupported()),
        }
    }

    fn wmma_mma(
        &mut self,
        inst: &Instruction<'a>,
        tiling: &Tiling,
        majors: [MatrixOrder; 2],
        sum: Sum,
    ) -> Result<(), PtxError> {
        self.operand_count(inst, 4..=4)?;
        let registers = |matrix| tiling.layout(matrix).elements() as usize;
        let sums = registers(Matrix::Sum(sum)) / sum.per_register() as usize;
        let [d, a, b, c] = [0, 1, 2, 3].map(|at| &inst.operands[at]);
        let fragments = Fragments {
            d: self.fragment_dst(d, sums, B32)?,
            a: self.fragment_src(a, registers(Matrix::A(majors[0])) / 2, B32)?,
            b: self.fragment_src(b, registers(Matrix::B(majors[1])) / 2, B32)?,
            c: self.fragment_src(c, sums, B32)?,
        };
        self.multiply(volta_form(majors), ([Factor::F16; 2], sum), &fragments, tiling.slices())
    }

    /// Lowers `wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 {..}, [%rd1], %r1;`, or a store.
    fn wmma_access(
        &mut self,
        inst: &Instruction<'a>,
        tiling: &Tiling,
        (matrix, major): (Matrix, MatrixOrder),
        (sum, mem): (Sum, MemOp),
        is_load: bool,
    ) -> Result<(), PtxError> {
        self.operand_count(inst, 2..=3)?;
        let [fragment, address] = if is_load { [0, 1] } else { [1, 0] };
        let layout = tiling.layout(matrix);
        let count = (layout.elements() / sum.per_register()) as usize;
        let stride = match inst.operands.get(2) {
            Some(operand) => self.src(operand, U32, Width::Exact)?,
            None => Src::Imm(default_stride(tiling, matrix, major)),
        };
        let mem = self.address(&inst.operands[address], mem)?;
        if !matches!(mem.space, Space::Global | Space::Shared | Space::Generic) {
            let message = format!("a matrix in `.{}` memory, expected `.global` or `.shared`", mem.space.name());
            return Err(self.error(inst.span, "this access", message));
        }
        let mem = self.in_register(mem)?;
        let memory = Memory { mem, stride, major, layout, bytes: 4 / sum.per_register() };
        let memory = self.of_lane(memory)?;
        let accesses = self.accesses(&memory)?;
        let fragment = &inst.operands[fragment];
        if is_load {
            let registers = self.fragment_dst(fragment, count, B32)?;
            self.wmma_load(&registers, &accesses)
        } else {
            let registers = self.fragment_src(fragment, count, B32)?;
            self.wmma_store(&registers, &accesses)
        }
    }

    /// Copies an address to a register if the address still needs a relocation. A relocation applies to one
    /// instruction only, but several instructions use the address.
    fn in_register(&mut self, mem: MemOp) -> Result<MemOp, PtxError> {
        let Some((place, _)) = self.pending.last_mut() else { return Ok(mem) };
        *place = Relocated::Source(0);
        let base = self.temporary(true)?;
        let mut address = Inst::new(Op::Mov(B64));
        address.dsts[0] = Dst::Reg(base);
        address.srcs[0] = Src::Imm(mem.offset as u64);
        self.push(address)?;
        Ok(MemOp { base: Some(base), offset: 0, ..mem })
    }

    /// Adds to the address the distance of the lane's first element from the start of the matrix.
    fn of_lane(&mut self, memory: Memory) -> Result<Memory, PtxError> {
        let bits = memory.layout.lane_bits();
        let [lines, within] = [false, true].map(|is_within| {
            bits.map(|bit| match (bit, memory.major) {
                (Bit::Row(far), MatrixOrder::Row) | (Bit::Column(far), MatrixOrder::Column) if !is_within => far,
                (Bit::Column(far), MatrixOrder::Row) | (Bit::Row(far), MatrixOrder::Column) if is_within => far,
                _ => 0,
            })
        });
        let (lines, within) = (self.sum_of_bits(lines)?, self.sum_of_bits(within)?);
        let elements = self.combine(AluFn::Mad, U32, [lines, memory.stride, within])?;
        let mem = self.move_by(&memory.mem, elements, memory.bytes)?;
        Ok(Memory { mem, ..memory })
    }

    /// Generates code that sums the bits of the lane number, each multiplied by its weight: a power of two or
    /// zero.
    fn sum_of_bits(&mut self, weights: [u8; 5]) -> Result<Src, PtxError> {
        let mut sum = Src::Imm(0);
        // Multiplying a bit by its weight is a shift. Bits that are shifted by the same distance share one
        // shift instruction.
        for shift in -4..=4i32 {
            let moves =
                |bit: u32| weights[bit as usize] != 0 && weights[bit as usize].ilog2() as i32 - bit as i32 == shift;
            let mask = (0..5).filter(|&bit| moves(bit)).fold(0, |mask, bit| mask | 1u64 << bit);
            if mask == 0 {
                continue;
            }
            let part = self.combine(AluFn::And, B32, [Src::Special(Special::LaneId), Src::Imm(mask), Src::None])?;
            let far = Src::Imm(shift.unsigned_abs().into());
            let part = match shift {
                0 => part,
                1.. => self.combine(AluFn::Shl, B32, [part, far, Src::None])?,
                _ => self.combine(AluFn::Shr, U32, [part, far, Src::None])?,
            };
            sum = match sum {
                Src::Imm(_) => part,
                _ => self.combine(AluFn::Or, B32, [sum, part, Src::None])?,
            };
        }
        Ok(sum)
    }

    /// Appends an operation, and returns the new 32-bit register that holds its result.
    fn combine(&mut self, f: AluFn, ty: Type, inputs: [Src; 3]) -> Result<Src, PtxError> {
        let to = self.temporary(false)?;
        let mut inst = Inst::new(Op::Alu(AluOp::new(f, ty)));
        inst.dsts[0] = Dst::Reg(to);
        inst.srcs[..3].copy_from_slice(&inputs);
        self.push(inst)?;
        Ok(Src::Reg(to))
    }

    /// Returns the memory access `mem` with its address increased by `elements` elements of `bytes` bytes
    /// each.
    fn move_by(&mut self, mem: &MemOp, elements: Src, bytes: u32) -> Result<MemOp, PtxError> {
        let wide = mem.base.is_none_or(|base| base.wide);
        let to = self.temporary(wide)?;
        let (f, ty) = if wide { (AluFn::MadWide, U32) } else { (AluFn::Mad, U32) };
        let mut inst = Inst::new(Op::Alu(AluOp::new(f, ty)));
        inst.dsts[0] = Dst::Reg(to);
        let base = mem.base.map_or(Src::Imm(0), Src::Reg);
        inst.srcs[..3].copy_from_slice(&[elements, Src::Imm(bytes.into()), base]);
        self.push(inst)?;
        Ok(MemOp { base: Some(to), ..*mem })
    }

    /// Returns the memory accesses that load or store the elements of a lane, in the order of its registers.
    /// An access covers as many consecutive registers as have their elements next to each other in memory. If
    /// even the two halves of a register are apart in memory, each half has its own access.
    fn accesses(&mut self, memory: &Memory) -> Result<Vec<MemOp>, PtxError> {
        let Memory { mem, stride, major, layout, bytes } = memory;
        let at = |element: u32| {
            let ElementPosition { row, column, .. } = layout.place(0, element);
            if *major == MatrixOrder::Row { (row, column) } else { (column, row) }
        };
        let runs = [16, 8, 4, 2].map(|wide| wide / bytes).into_iter().filter(|&run| run > 0);
        let is_run = |&run: &u32| run <= layout.elements() && (0..run).all(|ahead| at(ahead) == (0, ahead as u8));
        let run = runs.into_iter().find(is_run).unwrap_or(1);
        // Each access moves either one half of a register (16 bits), or one or more whole registers (32-bit
        // words).
        let (ty, lanes) = if run * bytes < 4 { (B16, 1) } else { (B32, (run * bytes / 4) as u8) };
        let mut lines = vec![(0, *mem)];
        let mut accesses = Vec::new();
        for first in (0..layout.elements()).step_by(run as usize) {
            let (line, within) = at(first);
            let known = lines.iter().find(|(known, _)| *known == line).map(|(_, mem)| *mem);
            let mem = match known {
                Some(mem) => mem,
                None => {
                    let far = self.combine(AluFn::Mul, U32, [*stride, Src::Imm(line.into()), Src::None])?;
                    let mem = self.move_by(mem, far, *bytes)?;
                    lines.push((line, mem));
                    mem
                }
            };
            let offset = mem.offset.wrapping_add((u32::from(within) * bytes).into());
            accesses.push(MemOp { ty, lanes, offset, ..mem });
        }
        Ok(accesses)
    }

    fn wmma_load(&mut self, registers: &[Reg], accesses: &[MemOp]) -> Result<(), PtxError> {
        if accesses.len() > registers.len() {
            for (register, halves) in registers.iter().zip(accesses.chunks_exact(2)) {
                let mut whole = Inst::new(Op::Pack { part_bits: 16 });
                for (src, half) in whole.srcs.iter_mut().zip(halves) {
                    let part = self.temporary(false)?;
                    let mut load = Inst::new(Op::Load(*half));
                    load.dsts[0] = Dst::Reg(part);
                    self.push(load)?;
                    *src = Src::Reg(part);
                }
                whole.dsts[0] = Dst::Reg(*register);
                self.push(whole)?;
            }
            return Ok(());
        }
        for (registers, access) in registers.chunks_exact(registers.len() / accesses.len()).zip(accesses) {
            let mut load = Inst::new(Op::Load(*access));
            load.dsts.iter_mut().zip(registers).for_each(|(dst, register)| *dst = Dst::Reg(*register));
            self.push(load)?;
        }
        Ok(())
    }

    fn wmma_store(&mut self, registers: &[Src], accesses: &[MemOp]) -> Result<(), PtxError> {
        if accesses.len() > registers.len() {
            for (register, halves) in registers.iter().zip(accesses.chunks_exact(2)) {
                let parts = [self.temporary(false)?, self.temporary(false)?];
                let mut whole = Inst::new(Op::Unpack { part_bits: 16 });
                whole.srcs[0] = *register;
                whole.dsts[..2].copy_from_slice(&parts.map(Dst::Reg));
                self.push(whole)?;
                for (part, half) in parts.into_iter().zip(halves) {
                    let mut store = Inst::new(Op::Store(*half));
                    store.srcs[0] = Src::Reg(part);
                    self.push(store)?;
                }
            }
            return Ok(());
        }
        for (registers, access) in registers.chunks_exact(registers.len() / accesses.len()).zip(accesses) {
            let mut store = Inst::new(Op::Store(*access));
            store.srcs[..registers.len()].copy_from_slice(registers);
            self.push(store)?;
        }
        Ok(())
    }
}

/// Returns the stride of a matrix without gaps: the number of elements in a row, or in a column if the matrix
/// is column-major.
fn default_stride(tiling: &Tiling, matrix: Matrix, major: MatrixOrder) -> u64 {
    let [m, n, k] = tiling.extent;
    let [rows, columns] = match matrix {
        Matrix::A(_) => [m, k],
        Matrix::B(_) => [k, n],
        Matrix::Sum(_) => [m, n],
    };
    u64::from(if major == MatrixOrder::Row { columns } else { rows })
}
