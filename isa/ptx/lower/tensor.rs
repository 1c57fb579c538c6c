//! Lowering of matrix products, `mma.sync`, of `ldmatrix`, which loads their operands, and of `movmatrix`,
//! which transposes them.

use super::super::PtxError;
use super::super::ast::{Instruction, Operand, OperandKind};
use super::Lowering;
use super::modifiers::Modifiers;
use super::operands::Width;
use input::format_count;
use isa::lanes::{AluFn, AluOp, WarpOp};
use isa::map;
use isa::program::{Dst, Inst, MatrixLoad, MemOp, Op, Reg, Src};
use isa::tensor::{BitProduct, FORMS, Factor, Form, MatrixOrder, Sum};
use isa::types::{CacheOp, Space, Type};

use Type::{B32, B64};

/// Modifiers that state whether a matrix is stored in row-major or column-major order.
pub(super) const MAJORS: [(&str, MatrixOrder); 2] = [("row", MatrixOrder::Row), ("col", MatrixOrder::Column)];

/// PTX names of the element types of the factors A and B.
const FACTORS: [(&str, Factor); 12] = [
    ("f16", Factor::F16),
    ("bf16", Factor::Bf16),
    ("tf32", Factor::Tf32),
    ("e4m3", Factor::E4m3),
    ("e5m2", Factor::E5m2),
    ("s8", Factor::S8),
    ("u8", Factor::U8),
    ("f64", Factor::F64),
    ("s4", Factor::S4),
    ("u4", Factor::U4),
    // Factors of single bits: instructions with `.and.popc` or `.xor.popc`.
    ("b1.and", Factor::B1(BitProduct::And)),
    ("b1.xor", Factor::B1(BitProduct::Xor)),
];

/// Help text of error messages, which lists the supported forms of `mma`. A test checks that it agrees with
/// the table of forms.
const MMA_HELP: &str = "supported are mma.sync.aligned .m8n8k4 with any .row and .col, .m16n8k8.row.col and .m16n8k16.row.col, \
                        each with .f32.f16.f16.f32 or .f16.f16.f16.f16, and the last two with .f32.bf16.bf16.f32; \
                        .m16n8k4 and .m16n8k8 with .f32.tf32.tf32.f32; .m8n8k16, .m16n8k16 and .m16n8k32 with .s32, .s8 or .u8 \
                        factors, and .satfinite or not; .m8n8k32, .m16n8k32 and .m16n8k64 likewise with .s4 or .u4 factors; \
                        .m8n8k128, .m16n8k128 and .m16n8k256 with .s32.b1.b1.s32 and .and.popc or .xor.popc; \
                        .m16n8k16 and .m16n8k32 with .f32 or .f16 and factors of .e4m3 or .e5m2; \
                        .m8n8k4, .m16n8k4, .m16n8k8 and .m16n8k16 .row.col with .f64.f64.f64.f64";
const MOVMATRIX_HELP: &str = "supported is movmatrix.sync.aligned.m8n8.trans.b16";
const LDMATRIX_HELP: &str = "supported is ldmatrix.sync.aligned.m8n8 with .x1, .x2 or .x4, with or without .trans, .b16, \
     of .shared or of a generic address";

/// Returns the element type of C and D with the PTX name `name`.
fn sum_of(name: &str, mods: &mut Modifiers<'_>) -> Option<Sum> {
    match name {
        "f16" => Some(Sum::F16),
        "f32" => Some(Sum::F32),
        "f64" => Some(Sum::F64),
        "s32" => Some(Sum::S32 { saturates: mods.take("satfinite") }),
        _ => None,
    }
}

/// True if some form of `mma` multiplies elements of types `a` and `b` and accumulates in type `sum`.
fn can_multiply([a, b]: [Factor; 2], sum: Sum) -> bool {
    match (a, b) {
        (Factor::S8 | Factor::U8, Factor::S8 | Factor::U8) | (Factor::S4 | Factor::U4, Factor::S4 | Factor::U4) => {
            matches!(sum, Sum::S32 { .. })
        }
        (Factor::E4m3 | Factor::E5m2, Factor::E4m3 | Factor::E5m2) | (Factor::F16, Factor::F16) => {
            matches!(sum, Sum::F16 | Sum::F32)
        }
        (Factor::B1(a), Factor::B1(b)) => a == b && sum == Sum::S32 { saturates: false },
        (Factor::F64, Factor::F64) => sum == Sum::F64,
        (Factor::Bf16, Factor::Bf16) | (Factor::Tf32, Factor::Tf32) => sum == Sum::F32,
        _ => false,
    }
}

/// True if a form of `mma` accepts factors of type `factor`. The caller has checked that the width of the
/// elements matches.
fn has_factors(form: &Form, factor: Factor) -> bool {
    match factor {
        Factor::Bf16 => form.products == 1,
        Factor::E4m3 | Factor::E5m2 => form.extent[0] == 16,
        _ => true,
    }
}

/// Registers of the matrices D, A, B and C of a product.
pub(super) struct Fragments {
    pub(super) d: Vec<Reg>,
    pub(super) a: Vec<Src>,
    pub(super) b: Vec<Src>,
    pub(super) c: Vec<Src>,
}

impl<'a> Lowering<'_, 'a> {
    /// Lowers `mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1, ..}, {%r1, ..}, {%r5, ..}, {%f1,
    /// ..};`.
    pub(super) fn mma(&mut self, inst: &Instruction<'a>, mods: &mut Modifiers<'a>) -> Result<(), PtxError> {
        let unsupported = || self.refuse_unsupported(inst).with_help(MMA_HELP);
        let words =
            mods.take_all(&["f16", "bf16", "f32", "tf32", "e4m3", "e5m2", "s8", "u8", "s4", "u4", "b1", "s32", "f64"]);
        // Single bits have no product, so the instruction names the operation that replaces it.
        let bits = match words.contains(&"b1") {
            true => mods.take_one(&[("and", "b1.and"), ("xor", "b1.xor")]).filter(|_| mods.take("popc")),
            false => None,
        };
        let factor = |name| {
            let name = if name == "b1" { bits? } else { name };
            FACTORS.iter().find(|(known, _)| *known == name).map(|(_, factor)| *factor)
        };
        let (factors, sum) = match words[..] {
            [d, a, b, c] if d == c => {
                Option::zip(Option::zip(factor(a), factor(b)).map(<[_; 2]>::from), sum_of(d, mods))
            }
            _ => None,
        }
        .filter(|(factors, sum)| can_multiply(*factors, *sum))
        .ok_or_else(unsupported)?;
        let is_whole = mods.take("sync") & mods.take("aligned");
        let majors = [mods.take_one(&MAJORS), mods.take_one(&MAJORS)];
        let is_form = |form: &&Form| {
            let has_shape = mods.has(form.shape) && majors == form.majors.map(Some);
            has_shape && form.factor_bits == factors[0].bits() && has_factors(form, factors[0])
        };
        let form = FORMS.iter().find(is_form).filter(|_| is_whole).ok_or_else(unsupported)?;
        mods.take(form.shape);
        self.operand_count(inst, 4..=4)?;
        let ty = if form.is_double() { B64 } else { B32 };
        let registers = |elements: u32| (elements / form.per_register()) as usize;
        let sums = (form.sums(sum).elements() / sum.per_register()) as usize;
        let [d, a, b, c] = [0, 1, 2, 3].map(|at| &inst.operands[at]);
        let fragments = Fragments {
            d: self.fragment_dst(d, sums, ty)?,
            a: self.fragment_src(a, registers(form.a.elements()), ty)?,
            b: self.fragment_src(b, registers(form.b.elements()), ty)?,
            c: self.fragment_src(c, sums, ty)?,
        };
        self.multiply(form, (factors, sum), &fragments, 1)
    }

    /// Returns the registers of a destination matrix, such as `{%f1, %f2}`. Each has the width of type `ty`.
    pub(super) fn fragment_dst(&mut self, operand: &Operand<'a>, count: usize, ty: Type) -> Result<Vec<Reg>, PtxError> {
        let elements = self.fragment(operand, count)?;
        let reg = |element| match self.dst(element, ty, Width::Exact)? {
            Dst::Reg(reg) => Ok(reg),
            _ => Err(self.error(operand.span, "here", "expected a register for each element of the result")),
        };
        elements.iter().map(reg).collect()
    }

    /// Returns the registers or constants of a source matrix, such as `{%r1, %r2}`. Each has the width of
    /// type `ty`.
    pub(super) fn fragment_src(&mut self, operand: &Operand<'a>, count: usize, ty: Type) -> Result<Vec<Src>, PtxError> {
        let elements = self.fragment(operand, count)?;
        elements.iter().map(|element| self.src(element, ty, Width::Exact)).collect()
    }

    /// Returns the elements of an operand in braces. Their number must be `count`, the number of registers of
    /// the matrix.
    fn fragment<'o>(&self, operand: &'o Operand<'a>, count: usize) -> Result<&'o [Operand<'a>], PtxError> {
        let elements = match &operand.kind {
            OperandKind::Vector(elements) => elements.as_slice(),
            _ => std::slice::from_ref(operand),
        };
        if elements.len() == count {
            return Ok(elements);
        }
        let registers = format_count(elements.len() as u64, "register", "registers");
        let message = format!("a fragment of {registers}, expected {count}");
        Err(self.error(operand.span, "here", message))
    }

    /// Appends the steps of a matrix product. The columns of A are divided into `slices` slices, which are
    /// multiplied one after the other. The registers of a slice follow those of the preceding slice.
    pub(super) fn multiply(
        &mut self,
        form: &'static Form,
        (factors, sum): ([Factor; 2], Sum),
        fragments: &Fragments,
        slices: usize,
    ) -> Result<(), PtxError> {
        let Fragments { d, a, b, c } = fragments;
        // True if a register of D is also a source of a later step. The steps then write temporary registers,
        // which are copied to D at the end.
        let is_read_late = |(at, reg): (usize, &Reg)| {
            let read = Src::Reg(*reg);
            let others = c.iter().enumerate().any(|(other, src)| other != at && *src == read);
            others || a.contains(&read) || b.contains(&read)
        };
        let apart = d.iter().enumerate().any(is_read_late);
        let is_wide = form.is_double();
        let sums: Vec<Reg> =
            if apart { d.iter().map(|_| self.temporary(is_wide)).collect::<Result<_, _>>()? } else { d.clone() };
        let mut is_begun = vec![false; d.len()];
        for slice in 0..slices {
            for op in form.steps(factors, sum) {
                let mut step = Inst::new(Op::Tensor(op));
                let part = |all: &[Src], at: u8| all[slice * (all.len() / slices) + usize::from(at)];
                for at in 0..2 {
                    step.srcs[at] = op.a[at].map_or(Src::None, |number| part(a, number));
                    step.srcs[2 + at] = op.b[at].map_or(Src::None, |number| part(b, number));
                    let Some(number) = op.c[at].map(usize::from) else { continue };
                    // The first step that computes an element adds to C, each later one to the sum so far.
                    let is_later = std::mem::replace(&mut is_begun[number], true);
                    step.srcs[4 + at] = if is_later { Src::Reg(sums[number]) } else { c[number] };
                    step.dsts[at] = Dst::Reg(sums[number]);
                }
                self.push(step)?;
            }
        }
        for (to, from) in d.iter().zip(&sums).filter(|_| apart) {
            let mut copy = Inst::new(Op::Mov(if is_wide { B64 } else { B32 }));
            copy.dsts[0] = Dst::Reg(*to);
            copy.srcs[0] = Src::Reg(*from);
            self.push(copy)?;
        }
        Ok(())
    }

    /// Converts a generic access to an access of shared memory, by subtracting the base of the shared memory
    /// window. An address outside the window becomes an address beyond the end of shared memory, so that the
    /// access faults.
    pub(super) fn in_shared(&mut self, operand: &Operand<'a>, mem: MemOp) -> Result<MemOp, PtxError> {
        if mem.space != Space::Generic {
            return Ok(mem);
        }
        let Some(base) = mem.base.filter(|base| base.wide) else {
            let message = "expected a generic address in a 64-bit register";
            return Err(self.error(operand.span, "here", message).with_help("`.shared` takes 32 bits"));
        };
        let within = self.temporary(true)?;
        let mut xor = Inst::new(Op::Alu(AluOp::new(AluFn::Xor, B64)));
        xor.dsts[0] = Dst::Reg(within);
        xor.srcs[..2].copy_from_slice(&[Src::Reg(base), Src::Imm(map::window(Space::Shared))]);
        self.push(xor)?;
        Ok(MemOp { space: Space::Shared, base: Some(within), ..mem })
    }

    /// Lowers `movmatrix.sync.aligned.m8n8.trans.b16 %r1, %r2;`.
    pub(super) fn move_matrix(&mut self, inst: &Instruction<'a>, mods: &mut Modifiers<'a>) -> Result<Inst, PtxError> {
        let is_whole = mods.take("sync") & mods.take("aligned") & mods.take("m8n8");
        if !(is_whole & mods.take("trans") & mods.take("b16")) {
            return Err(self.refuse_unsupported(inst).with_help(MOVMATRIX_HELP));
        }
        self.operand_count(inst, 2..=2)?;
        let mut lowered = Inst::new(Op::Warp(WarpOp::Transpose));
        lowered.dsts[0] = self.dst(&inst.operands[0], B32, Width::Exact)?;
        lowered.srcs[0] = self.src(&inst.operands[1], B32, Width::Exact)?;
        Ok(lowered)
    }

    /// Lowers `ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%r1, %r2, %r3, %r4}, [%r5];`.
    pub(super) fn load_matrix(&mut self, inst: &Instruction<'a>, mods: &mut Modifiers<'a>) -> Result<Inst, PtxError> {
        let is_whole = mods.take("sync") & mods.take("aligned") & mods.take("m8n8") & mods.take("b16");
        let space = mods.space();
        let count = mods.take_one(&[("x1", 1), ("x2", 2), ("x4", 4)]);
        let Some(count) = count.filter(|_| is_whole && matches!(space, Space::Shared | Space::Generic)) else {
            return Err(self.refuse_unsupported(inst).with_help(LDMATRIX_HELP));
        };
        let transposed = mods.take("trans");
        self.operand_count(inst, 2..=2)?;
        // In `ldmatrix`, each lane that supplies an address accesses one row of a matrix, which has 16 bytes.
        let cache = CacheOp::Default;
        let row = MemOp { space, ty: B32, lanes: 4, cache, l2_priority: None, volatile: false, base: None, offset: 0 };
        let row = self.address(&inst.operands[1], row)?;
        if !matches!(row.space, Space::Shared | Space::Generic) {
            let message = format!("`ldmatrix` from `.{}`, expected `.shared`", row.space.name());
            return Err(self.error(inst.operands[1].span, "here", message));
        }
        let row = self.in_shared(&inst.operands[1], row)?;
        let mut load = Inst::new(Op::LoadMatrix(MatrixLoad { count, transposed }, row));
        let registers = self.fragment_dst(&inst.operands[0], count.into(), B32)?;
        load.dsts.iter_mut().zip(registers).for_each(|(dst, register)| *dst = Dst::Reg(register));
        Ok(load)
    }
}
