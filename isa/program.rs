//! # A lowered kernel
//! What the machine executes: a flat list of instructions whose index is the program
//! counter, with every name already resolved to a register, an immediate or a target.
//!
//! One type serves two forms, told apart by [`Form`]:
//!
//! * **virtual**, from lowering: a register index names one value of any width, as in the
//!   PTX text. The functional interpreter runs this form.
//! * **physical**, from [`crate::alloc::allocate`]: a register index names a 32-bit word, a
//!   64-bit value takes the words `index` and `index + 1` (low half first, `index` even).
//!   The clocked SM runs this form; only here are [`Inst::reads`] and [`Inst::writes`] filled.
//!
//! A narrower value sits in the low bits of its register. Its upper bits carry no meaning:
//! whoever reads a typed operand looks at the bits of that type only.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::lanes::{AluOp, AtomicFn, CarryOp, CompareOp, ConvertOp, WarpOp};
use crate::tensor::TensorOp;
use crate::texture::{TexOp, Texture};
use crate::types::{CacheOp, Logic, Scope, Space, Special, Type};

/// Words of the register file that one thread can name in the physical form.
pub const MAX_WORDS: u16 = 255;
/// Predicates that one thread can name in the physical form.
pub const MAX_PREDS: u16 = 31;
/// Reconvergence pc of a branch whose paths meet only at the end of the thread. No pc ever
/// equals it, so that an entry which waits for it is removed by exits alone.
pub const NO_PC: u32 = u32::MAX;

/// How registers are numbered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// One index per value.
    Virtual,
    /// One index per 32-bit word.
    Physical,
}

/// A kernel ready to run.
#[derive(Clone, Debug, PartialEq)]
pub struct Program {
    /// Name of the `.entry`.
    pub name: String,
    /// Source file, as it was named to the parser.
    pub file: Arc<str>,
    /// How `regs` and register operands count.
    pub form: Form,
    /// Parameters in order.
    pub params: Vec<Param>,
    /// Size of the parameter block in bytes.
    pub param_bytes: u32,
    /// The instructions; pc is the index. Never empty, and the last one never falls through.
    pub insts: Vec<Inst>,
    /// Registers used: values in the virtual form, 32-bit words in the physical form.
    pub regs: u16,
    /// Predicates used.
    pub preds: u16,
    /// Virtual form: names in the source of the registers and then of the predicates; empty for a value that the source
    /// does not name. Physical form: none.
    pub names: Arc<[String]>,
    /// Statically allocated shared bytes. Dynamic shared memory starts here (see
    /// `shared_align`).
    pub shared_bytes: u32,
    /// Largest alignment of a shared variable, at least 1; `shared_bytes` is a multiple of
    /// the alignment of the dynamic array, if there is one.
    pub shared_align: u32,
    /// Bytes of local memory that a thread needs, a multiple of 16.
    pub local_bytes: u32,
    /// Bytes of constants of the module.
    pub const_bytes: u32,
    /// Address in device memory of the module's constants; set by [`Program::link`].
    pub const_base: u64,
    /// Textures of the launch file, in the order of their handles; set by [`Program::link`].
    pub textures: Arc<[Texture]>,
    /// Operands that [`Program::link`] has still to complete.
    pub relocations: Vec<Relocation>,
    /// Launches that it takes, from `.reqntid`, `.maxntid` and `.reqnctapercluster`.
    pub limits: LaunchLimits,
    /// Most 32-bit registers of a thread, from `.maxnreg`.
    pub max_regs: Option<u32>,
    /// CTAs that an SM should hold at least, from `.minnctapersm`.
    pub min_ctas: Option<u32>,
}

/// What the directives of a kernel say about its launches. Each check tells what is legal and the directive that says
/// so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LaunchLimits {
    /// The only legal CTA shape, from `.reqntid`.
    pub required_block: Option<[u32; 3]>,
    /// A CTA shape that has the most legal threads, from `.maxntid`.
    pub largest_block: Option<[u32; 3]>,
    /// CTAs of a cluster, from `.reqnctapercluster`: the grid consists of whole clusters.
    pub cluster: Option<[u32; 3]>,
}

impl LaunchLimits {
    /// Checks the shape of the CTAs of a launch.
    ///
    /// # Errors
    /// What is legal, and the directive that the shape breaks.
    pub fn check_block(&self, block: [u32; 3]) -> Result<(), (String, &'static str)> {
        if let Some(required) = self.required_block
            && block != required
        {
            return Err((format!("{required:?}"), ".reqntid"));
        }
        if let Some(largest) = self.largest_block {
            let threads = |shape: [u32; 3]| shape.iter().fold(1, |all: u64, &n| all.saturating_mul(n.into()));
            if threads(block) > threads(largest) {
                return Err((format!("at most {} threads, as in {largest:?}", threads(largest)), ".maxntid"));
            }
        }
        Ok(())
    }

    /// Checks the shape of the grid of a launch.
    ///
    /// # Errors
    /// What is legal, and the directive that the shape breaks.
    pub fn check_grid(&self, grid: [u32; 3]) -> Result<(), (String, &'static str)> {
        let Some(cluster) = self.cluster else { return Ok(()) };
        match grid.iter().zip(cluster).all(|(&ctas, extent)| ctas.is_multiple_of(extent.max(1))) {
            true => Ok(()),
            false => Err((format!("a multiple of {cluster:?} along each axis"), ".reqnctapercluster")),
        }
    }
}

/// An operand that depends on where the module's data lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Relocation {
    /// The instruction.
    pub pc: u32,
    /// The operand to which the address is added.
    pub place: Place,
    /// What the address is of.
    pub target: Target,
}

/// An operand that a relocation completes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// `Src::Imm` of this source.
    Source(u8),
    /// [`MemOp::offset`].
    Offset,
}

/// What is placed when a program is loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// The variable with this number in `ptx::data::ModuleData::globals`.
    Global(u16),
    /// The constants.
    Constants,
    /// The texture reference with this number in
    /// `ptx::data::ModuleData::textures`; its value is the handle.
    Texture(u16),
}

/// Where the data of a module lie.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Addresses {
    /// Address of each variable in `ptx::data::ModuleData::globals`.
    pub globals: Vec<u64>,
    /// Address in device memory of the constants.
    pub constants: u64,
    /// Handle for each name in `ptx::data::ModuleData::textures`: 1 plus the number
    /// of the texture in `bound`; `None` if nothing is bound to it.
    pub textures: Vec<Option<u64>>,
    /// All textures that a handle can mean.
    pub bound: Arc<[Texture]>,
}

/// A kernel names something that has no place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: kernel `{kernel}` reads a texture reference that no buffer is bound to")]
pub struct LinkError {
    /// Source file.
    pub file: Arc<str>,
    /// Source line.
    pub line: u32,
    /// Kernel name.
    pub kernel: String,
}

impl Addresses {
    /// The value that a target stands for; `None` if it has no place.
    pub fn of(&self, target: Target) -> Option<u64> {
        match target {
            Target::Global(number) => self.globals.get(usize::from(number)).copied(),
            Target::Constants => Some(self.constants),
            Target::Texture(number) => self.textures.get(usize::from(number)).copied().flatten(),
        }
    }
}

impl Program {
    /// Completes what depends on where the module's data lie. Virtual and physical form alike.
    pub fn link(&mut self, addresses: &Addresses) -> Result<(), LinkError> {
        for Relocation { pc, place, target } in std::mem::take(&mut self.relocations) {
            let inst = &mut self.insts[pc as usize];
            let Some(value) = addresses.of(target) else {
                return Err(LinkError { file: self.file.clone(), line: inst.line, kernel: self.name.clone() });
            };
            match place {
                Place::Source(at) => {
                    if let Src::Imm(bits) = &mut inst.srcs[usize::from(at)] {
                        *bits = bits.wrapping_add(value);
                    }
                }
                Place::Offset => {
                    if let Some(mem) = inst.op.mem_mut() {
                        mem.offset = mem.offset.wrapping_add_unsigned(value);
                    }
                }
            }
        }
        self.const_base = addresses.constants;
        self.textures = addresses.bound.clone();
        Ok(())
    }
}

impl Program {
    /// True if a thread that comes to `pc` does nothing more but exit.
    #[must_use]
    pub fn is_end(&self, pc: u32) -> bool {
        let mut next = pc;
        // A loop of branches takes as many steps at most and never ends.
        for _ in 0..self.insts.len() {
            match self.insts.get(next as usize) {
                Some(Inst { op: Op::Exit, guard: None, .. }) => return true,
                Some(Inst { op: Op::Branch { target, .. }, guard: None, .. }) => next = *target,
                Some(Inst { op: Op::Nop, .. }) => next += 1,
                _ => return false,
            }
        }
        false
    }
}

/// One kernel parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Param {
    /// Name in the source.
    pub name: String,
    /// Element type.
    pub ty: Type,
    /// Offset in the parameter block, in bytes.
    pub offset: u32,
    /// Size in bytes: of one element, or of the array for a struct passed by value.
    pub bytes: u32,
    /// Alignment in bytes.
    pub align: u32,
}

/// One instruction.
///
/// `dsts` and `srcs` are filled from the front and padded with `None`. What they mean for
/// each [`Op`] is said there.
#[derive(Clone, Debug, PartialEq)]
pub struct Inst {
    /// What it does.
    pub op: Op,
    /// The execution unit that takes it: [`Op::unit`], kept so that issue need not decode.
    pub unit: Unit,
    /// Lanes in which it acts; all active lanes if `None`.
    pub guard: Option<Guard>,
    /// Results.
    pub dsts: [Dst; 4],
    /// Inputs, without the address of a memory operation (see [`MemOp::base`]): six for a step of a product of
    /// matrices, at most four otherwise.
    pub srcs: [Src; 6],
    /// Physical form: every register read, guard and address included.
    pub reads: RegMask,
    /// Physical form: every register written.
    pub writes: RegMask,
    /// Line in the source file, from 1.
    pub line: u32,
    /// Column in the source line, from 1.
    pub column: u32,
}

/// A register operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Reg {
    /// Number of the value (virtual) or of its first word (physical).
    pub index: u16,
    /// Whether the value has 64 bits.
    pub wide: bool,
}

/// Where a result goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dst {
    /// No result in this place (`_` in the source, or padding).
    #[default]
    None,
    /// A register.
    Reg(Reg),
    /// A predicate.
    Pred(u16),
}

/// Where an input comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Src {
    /// Padding.
    #[default]
    None,
    /// A register.
    Reg(Reg),
    /// A predicate, possibly inverted.
    Pred(Guard),
    /// A constant, already in the bits of the operand type, zero extended.
    Imm(u64),
    /// A special register.
    Special(Special),
}

/// A predicate and the value it must have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Guard {
    /// Number of the predicate.
    pub pred: u16,
    /// Whether it must be false.
    pub negated: bool,
}

/// Operations, one variant for each path through the pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// `dsts[0] = f(srcs[0..3])` in every lane: [`crate::lanes::alu`].
    Alu(AluOp),
    /// `dsts[0]` (and its complement to `dsts[1]`) `= compare(srcs[0], srcs[1])`, combined
    /// with predicate `srcs[2]` (or `Imm` 0 or 1) if `combine` is set:
    /// [`crate::lanes::compare`] and [`CompareOp::combined`].
    Compare(CompareOp),
    /// `dsts[0] = srcs[2] ? srcs[0] : srcs[1]`, with predicate `srcs[2]` (or `Imm` 0 or 1).
    Select(Type),
    /// `dsts[0] = srcs[0]`, as many words as the destination has.
    Mov(Type),
    /// `dsts[0] = srcs[0]` converted: [`crate::lanes::convert`].
    Convert(ConvertOp),
    /// Predicate `dsts[0] = srcs[0]`, or `srcs[0] logic srcs[1]`. Inputs are predicates, or
    /// `Imm` 0 or 1.
    Pred(Option<Logic>),
    /// `dsts[0]` = parts `srcs[0..]` of `part_bits` each, first part lowest.
    Pack {
        /// Width of one part: 8, 16 or 32.
        part_bits: u8,
    },
    /// Parts `dsts[0..]` of `part_bits` each = `srcs[0]`, lowest part first.
    Unpack {
        /// Width of one part: 8, 16 or 32.
        part_bits: u8,
    },
    /// `dsts[0..lanes] =` memory.
    Load(MemOp),
    /// Memory `= srcs[0..lanes]`.
    Store(MemOp),
    /// Go to `target` in the lanes that the guard selects.
    Branch {
        /// Target pc.
        target: u32,
        /// Where the paths meet again: immediate post-dominator, or [`NO_PC`].
        reconverge: u32,
        /// Whether the source promises that all lanes agree (`bra.uni`).
        uniform: bool,
    },
    /// `dsts[0] = srcs[0] + srcs[1] + srcs[2]` (or the difference), carry or borrow to
    /// predicate `dsts[1]`. The carry in is predicate `srcs[2]`, or `Imm` 0:
    /// [`crate::lanes::carry_add`].
    CarryAdd(CarryOp),
    /// `dsts[0] =` memory, memory `= f(memory, srcs[0], srcs[1])` in one step, lane after lane
    /// in ascending order: [`crate::lanes::atomic`]. Without a destination it is a reduction,
    /// which needs no reply.
    Atomic(AtomicFn, MemOp),
    /// `dsts[0..count] =` matrices of 8 x 8 elements of 16 bits in shared memory, a register of each in every
    /// lane, as [`crate::tensor::EIGHT_BY_EIGHT`] says. Lane `8 i + r` has the address of row `r` of matrix `i`,
    /// 16 bytes; addresses of further lanes are not looked at. Needs all lanes of a warp.
    LoadMatrix(MatrixLoad, MemOp),
    /// `dsts[0..2] = srcs[4..6]` and the products of `srcs[0..2]` and `srcs[2..4]`: [`crate::lanes::tensor`].
    /// Needs all lanes of a warp.
    Tensor(TensorOp),
    /// An exchange between the lanes of a warp: [`crate::lanes::warp`]. `dsts` and `srcs` are
    /// said at [`WarpOp`].
    Warp(WarpOp),
    /// `dsts[0..4]` = a texel. `srcs[0]` is the handle, `srcs[1..4]` the coordinates x, y, z:
    /// [`TexOp`].
    Texture(TexOp),
    /// Memory accesses before this point are seen by the threads of the scope before those
    /// after it.
    Fence(Scope),
    /// Wait until every thread of the CTA that has not exited has arrived. Needs all lanes of the warp that have not
    /// exited, or else the launch ends with a [`crate::lanes::ConvergenceFault`].
    Barrier {
        /// Barrier number, 0 to 15.
        id: u8,
    },
    /// A barrier with operands: number `srcs[0]` (modulo 16), threads that take part
    /// `srcs[1]` (all of the CTA if `None`), predicate `srcs[2]` of a reduction, whose result
    /// goes to `dsts[0]`. Warps count as 32 threads each, and come whole as to [`Op::Barrier`].
    BarrierWith(BarrierKind),
    /// End of the thread.
    Exit,
    /// The kernel says that something went wrong: a fault of the launch.
    Trap,
    /// Nothing.
    Nop,
}

/// What a barrier with operands does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BarrierKind {
    /// Arrive and wait.
    Sync,
    /// Arrive, go on without waiting.
    Arrive,
    /// Arrive, wait, and tell whether the predicate held in all threads: predicate result.
    All,
    /// The same for any thread: predicate result.
    Any,
    /// The same, with the number of threads: 32-bit result.
    Count,
}

/// Most threads of a CTA (PTX ISA, limits of the target).
pub const MAX_CTA_THREADS: u32 = 1024;
/// Threads that a warp counts for at a barrier, whatever lanes of it are active.
pub const BARRIER_WARP: u32 = 32;

impl BarrierKind {
    /// True if a barrier can expect `count` threads in a CTA of `threads`: whole warps, no more than the CTA has. 0 stands
    /// for all of them, unless a warp arrives without waiting.
    #[must_use]
    pub fn takes_count(self, count: u32, threads: u32) -> bool {
        let is_counted = count != 0 || self != BarrierKind::Arrive;
        is_counted && count.is_multiple_of(BARRIER_WARP) && count <= threads.next_multiple_of(BARRIER_WARP)
    }
}

/// Which matrices are loaded, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MatrixLoad {
    /// Matrices: 1, 2 or 4.
    pub count: u8,
    /// Whether each is transposed on its way.
    pub transposed: bool,
}

impl BarrierKind {
    /// PTX spelling, without types.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            BarrierKind::Sync => "barrier.sync",
            BarrierKind::Arrive => "barrier.arrive",
            BarrierKind::All | BarrierKind::Any | BarrierKind::Count => "barrier.red",
        }
    }
}

impl MatrixLoad {
    /// The lanes that have an address, a row each.
    #[must_use]
    pub fn rows(&self) -> u32 {
        u32::MAX >> (32 - 8 * u32::from(self.count))
    }
}

/// A memory access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemOp {
    /// State space.
    pub space: Space,
    /// Element type; a load extends it to its destination's width by the type's signedness.
    pub ty: Type,
    /// Elements per thread: 1, 2 or 4.
    pub lanes: u8,
    /// Cache operator.
    pub cache: CacheOp,
    /// Whether the access is `.volatile`.
    pub volatile: bool,
    /// Register part of the address.
    pub base: Option<Reg>,
    /// Constant part of the address, in bytes.
    pub offset: i64,
}

impl MemOp {
    /// Address for a base register that holds `base` (pass 0 if there is none). A 32-bit
    /// base gives a 32-bit address.
    #[inline]
    pub fn address(&self, base: u64) -> u64 {
        let sum = base.wrapping_add(self.offset as u64);
        match self.base {
            Some(Reg { wide: false, .. }) => sum & u64::from(u32::MAX),
            _ => sum,
        }
    }

    /// Bytes moved per thread; also the alignment that the address must have.
    #[inline]
    pub fn bytes(&self) -> u32 {
        self.ty.bytes() * u32::from(self.lanes)
    }
}

/// Execution unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unit {
    /// Integer and single precision.
    Sp,
    /// Division, remainder, roots and transcendental functions.
    Sfu,
    /// Double precision.
    Dp,
    /// Products of matrices.
    Tensor,
    /// Loads, stores, atomics and textures.
    Mem,
    /// Branches, barriers, fences, exits: done at issue.
    Control,
}

impl Op {
    /// The unit that executes this operation.
    pub fn unit(&self) -> Unit {
        match self {
            Op::Alu(op) => op.unit(),
            Op::Compare(op) if op.ty == Type::F64 => Unit::Dp,
            Op::Convert(op) if op.to == Type::F64 || op.from == Type::F64 => Unit::Dp,
            Op::Compare(_)
            | Op::Convert(_)
            | Op::Select(_)
            | Op::Mov(_)
            | Op::Pred(_)
            | Op::Pack { .. }
            | Op::Unpack { .. } => Unit::Sp,
            Op::CarryAdd(_) | Op::Warp(_) => Unit::Sp,
            Op::Tensor(_) => Unit::Tensor,
            Op::Load(_) | Op::Store(_) | Op::Atomic(..) | Op::LoadMatrix(..) | Op::Texture(_) => Unit::Mem,
            Op::Branch { .. }
            | Op::Barrier { .. }
            | Op::BarrierWith(_)
            | Op::Fence(_)
            | Op::Exit
            | Op::Trap
            | Op::Nop => Unit::Control,
        }
    }

    /// The memory access of a load, a store, an atomic or matrices.
    #[inline]
    pub fn mem(&self) -> Option<&MemOp> {
        match self {
            Op::Load(mem) | Op::Store(mem) | Op::Atomic(_, mem) | Op::LoadMatrix(_, mem) => Some(mem),
            _ => None,
        }
    }

    /// [`Op::mem`], to be changed.
    #[inline]
    pub fn mem_mut(&mut self) -> Option<&mut MemOp> {
        match self {
            Op::Load(mem) | Op::Store(mem) | Op::Atomic(_, mem) | Op::LoadMatrix(_, mem) => Some(mem),
            _ => None,
        }
    }
}

/// A set of physical registers: one bit per 32-bit word and per predicate, so that a
/// scoreboard finds a hazard with a handful of ANDs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegMask {
    /// Bit `i % 64` of element `i / 64` is word `i`.
    pub words: [u64; 4],
    /// Bit `i` is predicate `i`.
    pub preds: u32,
}

impl RegMask {
    /// Whether the two sets share a register.
    #[inline]
    pub fn intersects(&self, other: &RegMask) -> bool {
        let words = (self.words[0] & other.words[0])
            | (self.words[1] & other.words[1])
            | (self.words[2] & other.words[2])
            | (self.words[3] & other.words[3]);
        words != 0 || self.preds & other.preds != 0
    }

    /// Whether the set holds nothing.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.words == [0; 4] && self.preds == 0
    }

    /// Adds every register of `other`.
    #[inline]
    pub fn insert(&mut self, other: &RegMask) {
        for i in 0..self.words.len() {
            self.words[i] |= other.words[i];
        }
        self.preds |= other.preds;
    }

    /// Takes every register of `other` away.
    #[inline]
    pub fn remove(&mut self, other: &RegMask) {
        for i in 0..self.words.len() {
            self.words[i] &= !other.words[i];
        }
        self.preds &= !other.preds;
    }

    /// Adds the word or the two words of a physical register.
    pub fn insert_reg(&mut self, reg: Reg) {
        for word in reg.index..=reg.index + u16::from(reg.wide) {
            self.words[usize::from(word / 64) % 4] |= 1 << (word % 64);
        }
    }

    /// Adds a predicate.
    pub fn insert_pred(&mut self, pred: u16) {
        self.preds |= 1u32 << (pred % 32);
    }
}

impl Inst {
    /// An unguarded instruction without operands; the fields are public to fill in the rest.
    pub fn new(op: Op) -> Inst {
        Inst {
            op,
            unit: op.unit(),
            guard: None,
            dsts: [Dst::None; 4],
            srcs: [Src::None; 6],
            reads: RegMask::default(),
            writes: RegMask::default(),
            line: 0,
            column: 0,
        }
    }

    /// The memory access of a load, a store or an atomic.
    #[inline]
    pub fn mem(&self) -> Option<&MemOp> {
        self.op.mem()
    }

    /// Registers that hold an input, the address base included.
    pub fn source_regs(&self) -> impl Iterator<Item = Reg> + '_ {
        let operands = self.srcs.iter().filter_map(|src| match src {
            Src::Reg(reg) => Some(*reg),
            _ => None,
        });
        operands.chain(self.mem().and_then(|mem| mem.base))
    }

    /// Predicates that are an input, the guard included.
    pub fn source_preds(&self) -> impl Iterator<Item = u16> + '_ {
        let operands = self.srcs.iter().filter_map(|src| match src {
            Src::Pred(guard) => Some(guard.pred),
            _ => None,
        });
        operands.chain(self.guard.map(|guard| guard.pred))
    }

    /// Registers that receive a result.
    pub fn dest_regs(&self) -> impl Iterator<Item = Reg> + '_ {
        self.dsts.iter().filter_map(|dst| match dst {
            Dst::Reg(reg) => Some(*reg),
            _ => None,
        })
    }

    /// Predicates that receive a result.
    pub fn dest_preds(&self) -> impl Iterator<Item = u16> + '_ {
        self.dsts.iter().filter_map(|dst| match dst {
            Dst::Pred(pred) => Some(*pred),
            _ => None,
        })
    }

    /// Whether control can go on to `pc + 1`.
    pub fn falls_through(&self) -> bool {
        match self.op {
            Op::Branch { .. } | Op::Exit | Op::Trap => self.guard.is_some(),
            _ => true,
        }
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Unit::Sp => "sp",
            Unit::Sfu => "sfu",
            Unit::Dp => "dp",
            Unit::Tensor => "tensor",
            Unit::Mem => "mem",
            Unit::Control => "control",
        })
    }
}
