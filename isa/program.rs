//! # A lowered kernel
//! Holds a kernel in the form in which the machine executes it: a flat list of instructions, indexed by the
//! program counter. Every name is resolved to a register, an immediate or a branch target.
//!
//! [`Program`] serves two forms, distinguished by [`Form`]:
//!
//! * **virtual**, from lowering: a register index names one value of any width, as in the PTX text. The
//!   functional interpreter runs this form.
//! * **physical**, from [`crate::alloc::allocate`]: a register index names a 32-bit word. A 64-bit value
//!   takes the words `index` and `index + 1` (low half first, `index` even). The clocked SM runs this form.
//!   Only this form has [`Inst::reads`] and [`Inst::writes`].
//!
//! A value narrower than its register is in the low bits, and the upper bits are undefined. An instruction
//! uses only the bits of its operand type.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::lanes::{AluOp, AtomicFn, CarryOp, CompareOp, ConvertOp, WarpOp};
use crate::map::LOCAL_BYTES;
use crate::tensor::TensorOp;
use crate::texture::{SurfaceOp, TexOp, Texture};
use crate::types::{CacheOp, Logic, Scope, Space, Special, Type};

/// Number of 32-bit registers per thread that a program in physical form can address.
pub const MAX_WORDS: u16 = 255;
/// Number of predicates per thread that a program in physical form can address.
pub const MAX_PREDS: u16 = 31;
/// Reconvergence pc of a branch whose paths meet only at the end of the thread. No instruction has this pc,
/// so the corresponding entry of the reconvergence stack is removed only when its lanes exit.
pub const NO_PC: u32 = u32::MAX;

/// Meaning of the register indices in a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Virtual form: one index per value, whatever its width.
    Virtual,
    /// Physical form: one index per 32-bit word.
    Physical,
}

/// Default size of the stack of a thread in bytes, for functions that call themselves. CUDA has the same
/// default (`cudaLimitStackSize`).
pub const STACK_BYTES: u32 = 1024;
/// Maximum size of the stack of a thread in bytes: half of the local memory that a thread can have. The other
/// half is left for variables.
pub const MAX_STACK_BYTES: u32 = LOCAL_BYTES as u32 / 2;

/// Kernel that is ready to run.
#[derive(Clone, Debug, PartialEq)]
pub struct Program {
    /// Name of the kernel, from its `.entry` directive.
    pub name: String,
    /// Name of the source file, as given to the parser.
    pub file: Arc<str>,
    /// Meaning of register indices in this program: values or 32-bit words.
    pub form: Form,
    /// Parameters in the order of their declaration.
    pub params: Vec<Param>,
    /// Size of the parameter block in bytes.
    pub param_bytes: u32,
    /// Instructions, indexed by pc. The list is never empty, and its last instruction never falls through.
    pub insts: Vec<Inst>,
    /// Number of registers used: values in virtual form, 32-bit words in physical form.
    pub regs: u16,
    /// Number of predicates used.
    pub preds: u16,
    /// In virtual form, the source names of the registers, followed by the source names of the predicates. A
    /// value without a name in the source has an empty name. The list is empty in physical form.
    pub names: Arc<[String]>,
    /// Size of the static shared memory in bytes. Dynamic shared memory starts at this offset (see
    /// `shared_align`).
    pub shared_bytes: u32,
    /// Largest alignment of a shared variable in bytes, at least 1. If there is a dynamic array,
    /// `shared_bytes` is a multiple of the alignment of this array.
    pub shared_align: u32,
    /// Size of a thread's local memory in bytes, a multiple of 16. The stack and the spilled values are
    /// included.
    pub local_bytes: u32,
    /// Size of the stack in bytes, a multiple of 16: [`STACK_BYTES`], unless [`Program::resize_stack`] has set
    /// another size. 0 if no function of the kernel calls itself.
    pub stack_bytes: u32,
    /// Size of the spilled values in local memory in bytes: see [`crate::spill`].
    pub spill_bytes: u32,
    /// Size of the constants of the module in bytes.
    pub const_bytes: u32,
    /// Device address of the constants of the module; set by [`Program::link`].
    pub const_base: u64,
    /// Textures of the launch file, in the order of their handles; set by [`Program::link`].
    pub textures: Arc<[Texture]>,
    /// Operands to which [`Program::link`] must still add an address.
    pub relocations: Vec<Relocation>,
    /// Legal launch shapes, from `.reqntid`, `.maxntid` and `.reqnctapercluster`.
    pub limits: LaunchLimits,
    /// Maximum number of 32-bit registers per thread, from `.maxnreg`.
    pub max_regs: Option<u32>,
    /// Minimum number of CTAs that an SM should hold, from `.minnctapersm`.
    pub min_ctas: Option<u32>,
}

/// Limits on the launches of a kernel, from its directives. The functions that check a launch return the
/// legal shape, and the directive that sets the limit, if the launch violates it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LaunchLimits {
    /// The only legal shape of a CTA in threads, from `.reqntid`.
    pub required_block: Option<[u32; 3]>,
    /// Shape of a CTA in threads, from `.maxntid`; no CTA may have more threads than this shape.
    pub largest_block: Option<[u32; 3]>,
    /// Shape of a cluster in CTAs, from `.reqnctapercluster`: the grid consists of whole clusters.
    pub cluster: Option<[u32; 3]>,
}

impl LaunchLimits {
    /// Checks the shape of the CTAs of a launch.
    ///
    /// # Errors
    /// Returns an error if the launch violates a directive: the legal shape, and the directive.
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
    /// Returns an error if the launch violates a directive: the legal shape, and the directive.
    pub fn check_grid(&self, grid: [u32; 3]) -> Result<(), (String, &'static str)> {
        let Some(cluster) = self.cluster else { return Ok(()) };
        match grid.iter().zip(cluster).all(|(&ctas, extent)| ctas.is_multiple_of(extent.max(1))) {
            true => Ok(()),
            false => Err((format!("a multiple of {cluster:?} along each axis"), ".reqnctapercluster")),
        }
    }
}

/// Operand to which an address of the module's data must be added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Relocation {
    /// Pc of the instruction.
    pub pc: u32,
    /// Operand to which the address is added.
    pub place: RelocatedOperand,
    /// Target whose address is added to the operand: a variable, the constants, or a texture reference.
    pub target: Target,
}

/// Operand to which a relocation adds an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RelocatedOperand {
    /// Immediate value (`Src::Imm`) of the source operand with this index.
    Source(u8),
    /// Constant part of an address: [`MemOp::offset`].
    Offset,
}

/// Data that get an address when a program is loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// Variable with this index in `ptx::data::ModuleData::globals`.
    Global(u16),
    /// Constants of the module.
    Constants,
    /// Texture reference with this index in `ptx::data::ModuleData::textures`. The value that is added is the
    /// handle of the texture.
    Texture(u16),
}

/// Addresses of the data of a module.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Addresses {
    /// Address of each variable in `ptx::data::ModuleData::globals`.
    pub globals: Vec<u64>,
    /// Device address of the constants.
    pub constants: u64,
    /// Handle of each texture reference in `ptx::data::ModuleData::textures`: 1 plus the index of its texture
    /// in `bound`. `None` if no texture is bound to the reference.
    pub textures: Vec<Option<u64>>,
    /// All textures to which a handle can refer.
    pub bound: Arc<[Texture]>,
}

/// Error for a kernel that uses a texture reference without a bound buffer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: kernel `{kernel}` reads a texture reference that no buffer is bound to")]
pub struct LinkError {
    /// Name of the source file.
    pub file: Arc<str>,
    /// Line of the instruction in the source file.
    pub line: u32,
    /// Name of the kernel.
    pub kernel: String,
}

impl Addresses {
    /// Returns the address of a variable or of the constants, or the handle of a texture reference. Returns
    /// `None` if `target` has none, such as a texture reference without a texture.
    pub fn of(&self, target: Target) -> Option<u64> {
        match target {
            Target::Global(number) => self.globals.get(usize::from(number)).copied(),
            Target::Constants => Some(self.constants),
            Target::Texture(number) => self.textures.get(usize::from(number)).copied().flatten(),
        }
    }
}

impl Program {
    /// Adds the addresses of the module's data to the operands that depend on them. The program may be in
    /// virtual or in physical form.
    pub fn link(&mut self, addresses: &Addresses) -> Result<(), LinkError> {
        for Relocation { pc, place, target } in std::mem::take(&mut self.relocations) {
            let inst = &mut self.insts[pc as usize];
            let Some(value) = addresses.of(target) else {
                return Err(LinkError { file: self.file.clone(), line: inst.line, kernel: self.name.clone() });
            };
            match place {
                RelocatedOperand::Source(at) => {
                    if let Src::Imm(bits) = &mut inst.srcs[usize::from(at)] {
                        *bits = bits.wrapping_add(value);
                    }
                }
                RelocatedOperand::Offset => {
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
    /// Sets the size of the stack in bytes, rounded up to a multiple of 16, and at least 16. Does nothing if the
    /// kernel has no stack.
    pub fn resize_stack(&mut self, bytes: u32) {
        if self.stack_bytes > 0 {
            let bytes = bytes.max(1).next_multiple_of(16);
            self.local_bytes = self.local_bytes - self.stack_bytes + bytes;
            self.stack_bytes = bytes;
        }
    }

    /// Returns the texture or surface that a handle selects, and its index in `textures`. Returns `None` if the
    /// handle selects none.
    #[must_use]
    pub fn texture(&self, handle: u64) -> Option<(usize, &Texture)> {
        let index = usize::try_from(handle.checked_sub(1)?).ok()?;
        Some((index, self.textures.get(index)?))
    }

    /// True if a thread at `pc` exits without doing anything else: only no-ops and unguarded branches precede
    /// an unguarded exit.
    #[must_use]
    pub fn is_end(&self, pc: u32) -> bool {
        let mut next = pc;
        // The number of iterations is limited, so that the search ends even if unguarded branches form an
        // endless loop.
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

/// Parameter of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Param {
    /// Name of the parameter in the source.
    pub name: String,
    /// Type of the parameter, or of one element if it is an array.
    pub ty: Type,
    /// Offset in the parameter block in bytes.
    pub offset: u32,
    /// Size of the parameter in bytes; for an array, such as a struct passed by value, the size of the whole
    /// array.
    pub bytes: u32,
    /// Alignment in bytes.
    pub align: u32,
}

/// Instruction of a lowered kernel.
///
/// Operands fill `dsts` and `srcs` from the front; the unused places are `None`. Each variant of [`Op`]
/// documents the meaning of its operands.
#[derive(Clone, Debug, PartialEq)]
pub struct Inst {
    /// Operation with its modifiers.
    pub op: Op,
    /// Execution unit of the operation: a copy of [`Op::unit`], so that the issue stage need not decode the
    /// operation.
    pub unit: Unit,
    /// Guard predicate that selects the lanes that execute; `None` if all active lanes execute.
    pub guard: Option<Guard>,
    /// Destination operands.
    pub dsts: [Dst; 4],
    /// Source operands, without the address of a memory operation (see [`MemOp::base`]). A step of a matrix
    /// product has six source operands; other operations have at most four.
    pub srcs: [Src; 6],
    /// Physical registers that the instruction reads, including the registers of the guard and of the
    /// address; set only in physical form.
    pub reads: RegMask,
    /// Physical registers that the instruction writes; set only in physical form.
    pub writes: RegMask,
    /// Line in the source file, counted from 1.
    pub line: u32,
    /// Column in the source line, counted from 1.
    pub column: u32,
}

/// Register operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Reg {
    /// Index of the value (virtual form) or of its first word (physical form).
    pub index: u16,
    /// True if the value has 64 bits.
    pub wide: bool,
}

/// Destination operand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dst {
    /// No destination: `_` in the source, or padding.
    #[default]
    None,
    /// Result in a register.
    Reg(Reg),
    /// Result in the predicate with this index.
    Pred(u16),
}

/// Source operand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Src {
    /// No source: padding.
    #[default]
    None,
    /// Value of a register.
    Reg(Reg),
    /// Value of a predicate, possibly inverted.
    Pred(Guard),
    /// Constant in the width of the operand type, zero extended to 64 bits.
    Imm(u64),
    /// Value of a special register.
    Special(Special),
}

/// Predicate, possibly inverted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Guard {
    /// Index of the predicate.
    pub pred: u16,
    /// True if the value of the predicate is inverted.
    pub negated: bool,
}

/// Operation of an instruction. There is one variant per path through the pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// `dsts[0] = f(srcs[0..3])` in every lane: [`crate::lanes::alu`].
    Alu(AluOp),
    /// `dsts[0] = compare(srcs[0], srcs[1])`, and `dsts[1]` is the complement. If `combine` is set, it
    /// combines each of these two results with predicate `srcs[2]` (or `Imm` 0 or 1):
    /// [`crate::lanes::compare`] and [`CompareOp::combine_masks`].
    Compare(CompareOp),
    /// `dsts[0] = srcs[2] ? srcs[0] : srcs[1]`, with predicate `srcs[2]` (or `Imm` 0 or 1).
    Select(Type),
    /// `dsts[0] = srcs[0]`. The number of words copied depends on the width of the destination.
    Mov(Type),
    /// `dsts[0] = convert(srcs[0])`: [`crate::lanes::convert`].
    Convert(ConvertOp),
    /// Predicate operation: `dsts[0] = srcs[0]`, or `dsts[0]` is the logic operation on `srcs[0]` and
    /// `srcs[1]`. Sources are predicates, or `Imm` 0 or 1.
    Pred(Option<Logic>),
    /// Concatenation: `dsts[0]` consists of all `srcs`, each of `part_bits` bits, with `srcs[0]` in the
    /// lowest bits.
    Pack {
        /// Width of one source in bits: 8, 16 or 32.
        part_bits: u8,
    },
    /// Splits `srcs[0]` into pieces of `part_bits` bits and writes them to `dsts`. The lowest bits go to
    /// `dsts[0]`.
    Unpack {
        /// Width of one destination in bits: 8, 16 or 32.
        part_bits: u8,
    },
    /// Load from memory to the registers `dsts`, one element per register.
    Load(MemOp),
    /// Store of the registers `srcs` to memory, one element per register.
    Store(MemOp),
    /// Branch to `target` in the lanes that the guard selects.
    Branch {
        /// Pc of the branch target.
        target: u32,
        /// Reconvergence pc: the pc of the immediate post-dominator, or [`NO_PC`].
        reconverge: u32,
        /// True if the source promises that all lanes take the same path (`bra.uni`).
        uniform: bool,
    },
    /// `dsts[0] = srcs[0] + srcs[1] + srcs[2]`, or the difference; predicate `dsts[1]` is the carry or borrow
    /// out. The carry or borrow in is predicate `srcs[2]`, or `Imm` 0: [`crate::lanes::carry_add`].
    CarryAdd(CarryOp),
    /// Atomic read-modify-write: `dsts[0]` gets the old value from memory, and memory gets `f(old, srcs[0],
    /// srcs[1])`, for the lanes in ascending order: [`crate::lanes::atomic`]. Without a destination it is a
    /// reduction, which needs no reply.
    Atomic(AtomicFn, MemOp),
    /// Load of 8 x 8 matrices of 16-bit elements from shared memory. In every lane, `dsts[0..count]` get one
    /// register per matrix; [`crate::tensor::EIGHT_BY_EIGHT`] defines which elements a lane gets. Lane `8 i +
    /// r` supplies the address of row `r` of matrix `i`; a row has 16 bytes. The addresses of lanes beyond
    /// the last row are ignored. All lanes of the warp must be active.
    LoadMatrix(MatrixLoad, MemOp),
    /// Step of a matrix product: `dsts[0..2] = srcs[4..6] + srcs[0..2] * srcs[2..4]`:
    /// [`crate::lanes::tensor`]. All lanes of the warp must be active.
    Tensor(TensorOp),
    /// Exchange between the lanes of a warp: [`crate::lanes::warp`]. [`WarpOp`] documents `dsts` and `srcs`.
    Warp(WarpOp),
    /// Texture fetch: `dsts[0..4]` are the four components of a texel. `srcs[0]` is the texture handle,
    /// `srcs[1..4]` are the coordinates x, y and z: [`TexOp`].
    Texture(TexOp),
    /// Address of an access to a surface: `dsts[0]` is the 64-bit device address, and predicate `dsts[1]` is
    /// true if the access lies inside the surface. Outside, the address is 0. `srcs[0]` is the handle of the
    /// surface, `srcs[1..4]` are the coordinates: [`SurfaceOp`]. A load, store or atomic of global memory
    /// follows.
    SurfaceAddress(SurfaceOp),
    /// Memory fence: the threads in the scope observe the accesses before the fence earlier than the accesses
    /// after it.
    Fence(Scope),
    /// CTA barrier: waits until every thread of the CTA that has not exited has arrived. All lanes of the
    /// warp that have not exited must arrive together; otherwise the launch ends with a
    /// [`crate::lanes::ConvergenceFault`].
    Barrier {
        /// Number of the barrier, 0 to 15.
        id: u8,
    },
    /// Barrier with operands. `srcs[0]` is the barrier number (modulo 16). `srcs[1]` is the number of
    /// participating threads; if it is `None`, all threads of the CTA participate. `srcs[2]` is the predicate
    /// of a reduction, whose result goes to `dsts[0]`. As with [`Op::Barrier`], a warp arrives as a whole; it
    /// always counts as 32 threads.
    BarrierWith(BarrierKind),
    /// Exit of the thread.
    Exit,
    /// Trap: the kernel reports an error, which ends the launch with a fault.
    Trap,
    /// No operation.
    Nop,
}

/// Kind of a barrier with operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BarrierKind {
    /// Arrives and waits.
    Sync,
    /// Arrives and continues without waiting.
    Arrive,
    /// Arrives, waits, and returns a predicate that is true if `srcs[2]` is true in all threads.
    All,
    /// Arrives, waits, and returns a predicate that is true if `srcs[2]` is true in any thread.
    Any,
    /// Arrives, waits, and returns the number of threads in which `srcs[2]` is true, as a 32-bit number.
    Count,
}

/// Maximum number of threads per CTA (PTX ISA, limits of the target).
pub const MAX_CTA_THREADS: u32 = 1024;
/// Number of threads by which an arriving warp increases the count of a barrier, even if fewer lanes are
/// active.
pub const BARRIER_WARP: u32 = 32;

impl BarrierKind {
    /// True if a barrier can expect `count` threads in a CTA of `threads` threads. `count` must be a multiple
    /// of the warp size, and at most `threads` rounded up to whole warps. A count of 0 stands for all
    /// threads; it is illegal for a warp that arrives without waiting.
    #[must_use]
    pub fn takes_count(self, count: u32, threads: u32) -> bool {
        let is_counted = count != 0 || self != BarrierKind::Arrive;
        is_counted && count.is_multiple_of(BARRIER_WARP) && count <= threads.next_multiple_of(BARRIER_WARP)
    }
}

/// Modifiers of an instruction that loads matrices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MatrixLoad {
    /// Number of matrices: 1, 2 or 4.
    pub count: u8,
    /// True if each matrix is transposed during the load.
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
    /// Returns the mask of the lanes that supply an address. Each of these lanes supplies the address of one
    /// row of a matrix.
    #[must_use]
    pub fn rows(&self) -> u32 {
        u32::MAX >> (32 - 8 * u32::from(self.count))
    }
}

/// Memory access of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemOp {
    /// State space of the address.
    pub space: Space,
    /// Element type. A load sign or zero extends an element to the width of its destination, depending on
    /// this type.
    pub ty: Type,
    /// Number of elements per thread: 1, 2 or 4.
    pub lanes: u8,
    /// Cache operator of the access.
    pub cache: CacheOp,
    /// Eviction priority that the access states for the L2 alone; `None` if the L2 follows `cache`.
    pub l2_priority: Option<CacheOp>,
    /// True if the access is `.volatile`.
    pub volatile: bool,
    /// Register that holds the base address.
    pub base: Option<Reg>,
    /// Constant added to the base address in bytes.
    pub offset: i64,
}

impl MemOp {
    /// Returns the address of the access. `base` is the value of the base register, or 0 if there is none. If
    /// the base register has 32 bits, so has the address.
    #[inline]
    pub fn address(&self, base: u64) -> u64 {
        let sum = base.wrapping_add(self.offset as u64);
        match self.base {
            Some(Reg { wide: false, .. }) => sum & u64::from(u32::MAX),
            _ => sum,
        }
    }

    /// Number of bytes moved per thread, which is also the required alignment of the address.
    #[inline]
    pub fn bytes(&self) -> u32 {
        self.ty.bytes() * u32::from(self.lanes)
    }
}

/// Execution unit of an SM.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unit {
    /// Integer and single-precision unit.
    Sp,
    /// Special function unit: division, remainder, roots and transcendental functions.
    Sfu,
    /// Double-precision unit.
    Dp,
    /// Tensor unit: matrix products.
    Tensor,
    /// Memory unit: loads, stores, atomics and textures.
    Mem,
    /// Control unit: branches, barriers, fences and exits, executed at issue.
    Control,
}

impl Op {
    /// Returns the unit that executes this operation.
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
            Op::CarryAdd(_) | Op::Warp(_) | Op::SurfaceAddress(_) => Unit::Sp,
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

    /// Returns the memory access of a load, store, atomic or matrix load; `None` for other operations.
    #[inline]
    pub fn mem(&self) -> Option<&MemOp> {
        match self {
            Op::Load(mem) | Op::Store(mem) | Op::Atomic(_, mem) | Op::LoadMatrix(_, mem) => Some(mem),
            _ => None,
        }
    }

    /// Mutable version of [`Op::mem`].
    #[inline]
    pub fn mem_mut(&mut self) -> Option<&mut MemOp> {
        match self {
            Op::Load(mem) | Op::Store(mem) | Op::Atomic(_, mem) | Op::LoadMatrix(_, mem) => Some(mem),
            _ => None,
        }
    }
}

/// Set of physical registers: a bit mask with one bit per 32-bit word and per predicate. A scoreboard detects
/// hazards with a few AND operations on such masks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegMask {
    /// Set of 32-bit words: bit `i % 64` of array element `i / 64` stands for word `i`.
    pub words: [u64; 4],
    /// Set of predicates: bit `i` stands for predicate `i`.
    pub preds: u32,
}

impl RegMask {
    /// True if the two sets share a register.
    #[inline]
    pub fn intersects(&self, other: &RegMask) -> bool {
        let words = (self.words[0] & other.words[0])
            | (self.words[1] & other.words[1])
            | (self.words[2] & other.words[2])
            | (self.words[3] & other.words[3]);
        words != 0 || self.preds & other.preds != 0
    }

    /// True if the set is empty.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.words == [0; 4] && self.preds == 0
    }

    /// Inserts every register of `other`.
    #[inline]
    pub fn insert(&mut self, other: &RegMask) {
        for i in 0..self.words.len() {
            self.words[i] |= other.words[i];
        }
        self.preds |= other.preds;
    }

    /// Removes every register of `other`.
    #[inline]
    pub fn remove(&mut self, other: &RegMask) {
        for i in 0..self.words.len() {
            self.words[i] &= !other.words[i];
        }
        self.preds &= !other.preds;
    }

    /// Inserts the one or two words of a physical register.
    pub fn insert_reg(&mut self, reg: Reg) {
        for word in reg.index..=reg.index + u16::from(reg.wide) {
            self.words[usize::from(word / 64) % 4] |= 1 << (word % 64);
        }
    }

    /// Inserts a predicate.
    pub fn insert_pred(&mut self, pred: u16) {
        self.preds |= 1u32 << (pred % 32);
    }
}

impl Inst {
    /// Creates an instruction without a guard and without operands; callers then set the remaining public
    /// fields.
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

    /// Returns the memory access of a load, store, atomic or matrix load; `None` for other instructions.
    #[inline]
    pub fn mem(&self) -> Option<&MemOp> {
        self.op.mem()
    }

    /// Returns the source registers, including the base register of the address.
    pub fn source_regs(&self) -> impl Iterator<Item = Reg> + '_ {
        let operands = self.srcs.iter().filter_map(|src| match src {
            Src::Reg(reg) => Some(*reg),
            _ => None,
        });
        operands.chain(self.mem().and_then(|mem| mem.base))
    }

    /// Returns all register operands, including the base register of the address.
    pub fn regs_mut(&mut self) -> impl Iterator<Item = &mut Reg> {
        let Inst { op, dsts, srcs, .. } = self;
        let sources = srcs.iter_mut().filter_map(|src| match src {
            Src::Reg(reg) => Some(reg),
            _ => None,
        });
        let results = dsts.iter_mut().filter_map(|dst| match dst {
            Dst::Reg(reg) => Some(reg),
            _ => None,
        });
        sources.chain(results).chain(op.mem_mut().and_then(|mem| mem.base.as_mut()))
    }

    /// Returns the source predicates, including the guard.
    pub fn source_preds(&self) -> impl Iterator<Item = u16> + '_ {
        let operands = self.srcs.iter().filter_map(|src| match src {
            Src::Pred(guard) => Some(guard.pred),
            _ => None,
        });
        operands.chain(self.guard.map(|guard| guard.pred))
    }

    /// Returns the destination registers.
    pub fn dest_regs(&self) -> impl Iterator<Item = Reg> + '_ {
        self.dsts.iter().filter_map(|dst| match dst {
            Dst::Reg(reg) => Some(*reg),
            _ => None,
        })
    }

    /// Returns the destination predicates.
    pub fn dest_preds(&self) -> impl Iterator<Item = u16> + '_ {
        self.dsts.iter().filter_map(|dst| match dst {
            Dst::Pred(pred) => Some(*pred),
            _ => None,
        })
    }

    /// True if the instruction may read its operands until it has written all its results. A filtered texture
    /// fetch writes its results once for every texel, and computes the weight of each texel from its
    /// coordinates.
    pub fn holds_sources(&self) -> bool {
        matches!(self.op, Op::Texture(_))
    }

    /// True if control can continue at `pc + 1`.
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
