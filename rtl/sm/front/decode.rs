//! Decode: precomputes, once per launch, everything that issue and writeback need from each instruction.

use isa::lanes::{AluFn, AluOp};
use isa::program::{BarrierKind, Dst, Inst, MemOp, Op, RegMask, Src, Unit};
use isa::tensor::TensorOp;
use isa::types::{Space, Type};
use serde::{Deserialize, Serialize};

use crate::kernel::{Encoding, Reason};
use crate::l1::access::LANES;
use crate::sm::KernelImage;
use crate::sm::config::{ClassTiming, OpTiming, PipeConfig, SmConfig};
use crate::sm::execute::alu::{Compute, is_wide};
use crate::sm::execute::operands::{Constants, Identity, Operand};
use crate::sm::host::image::RESULT_WORDS;
use crate::sm::memory::address_unit::extend;
use crate::sm::memory::check::check;

/// Unit to which an instruction issues: an execution pipe, or another unit such as the address unit or the
/// barriers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Encoding, Reason)]
#[width(4)]
pub enum Pipe {
    /// Integer and single-precision operations, one pipe per scheduler.
    #[default]
    Sp,
    /// Special functions (SFU): roots and transcendental functions.
    Sfu,
    /// Double-precision operations.
    Dp,
    /// Accesses to shared memory.
    Shared,
    /// Loads of kernel parameters.
    Param,
    /// Device memory, through the address unit.
    Global,
    /// Control instructions, which complete at issue.
    Control,
    /// Barriers and fences, which complete at issue once the warp's stores are acknowledged.
    Barrier,
    /// Matrix products, one pipe per scheduler; only in SMs with tensor cores.
    Tensor,
    /// Integer operations, one pipe per scheduler; only in SMs with separate integer pipes.
    Int,
}

/// Number of pipes, including control and barriers.
pub(in crate::sm) const PIPES: usize = Pipe::ALL.len();

impl Pipe {
    /// True if the SM has this pipe.
    #[must_use]
    pub fn exists(self, pipes: &PipeConfig) -> bool {
        self.is_among(pipes.has_tensor(), pipes.int_pipe)
    }

    /// True if an SM has this pipe, given whether it has tensor cores and separate integer pipes.
    pub(in crate::sm) fn is_among(self, tensor: bool, int_pipe: bool) -> bool {
        match self {
            Self::Tensor => tensor,
            Self::Int => int_pipe,
            _ => true,
        }
    }

    /// True if the instructions of this pipe use the single memory issue port of the core.
    pub(in crate::sm) fn is_memory(self) -> bool {
        matches!(self, Self::Shared | Self::Param | Self::Global)
    }

    /// True if an instruction occupies the pipe for its initiation interval, during which the pipe accepts no
    /// other instruction.
    pub(in crate::sm) fn is_kept(self) -> bool {
        matches!(self, Self::Sp | Self::Int | Self::Sfu | Self::Dp | Self::Shared | Self::Tensor)
    }

    /// True if results of this pipe are stored in the in-flight table and written back over the result bus.
    pub(in crate::sm) fn has_result(self) -> bool {
        matches!(self, Self::Sp | Self::Int | Self::Sfu | Self::Dp | Self::Shared | Self::Param | Self::Tensor)
    }

    /// True if each scheduler has its own pipe of this kind. `sub_cores` is true if each scheduler is a
    /// sub-core.
    pub(in crate::sm) fn is_own(self, sub_cores: bool) -> bool {
        match self {
            Self::Sp | Self::Int | Self::Tensor => true,
            Self::Sfu | Self::Dp => sub_cores,
            Self::Shared | Self::Param | Self::Global | Self::Control | Self::Barrier => false,
        }
    }
}

/// Decoded instruction: one row of the decode table.
#[derive(Clone, Debug)]
pub(in crate::sm) struct DecodedInst {
    /// Instruction as lowered from PTX or from a trace.
    pub inst: Inst,
    /// Pipe that executes the instruction.
    pub pipe: Pipe,
    /// Method by which the model computes the result.
    pub compute: Compute,
    /// True if the first destination has 64 bits.
    pub wide: bool,
    /// Cycles from issue to writeback, without bank conflicts [core cycles].
    pub latency: u16,
    /// Cycles for which the instruction occupies its pipe [core cycles].
    pub interval: u16,
    /// True if the writeback cycle is known only after issue, because of bank conflicts in shared memory or
    /// in the register file. The result then waits for a free slot of the result bus, instead of reserving a
    /// slot before issue.
    pub queues: bool,
    /// True if the instruction may use the result bus or shared memory, although most instructions of its
    /// pipe use neither. Whether it does is known only at issue, because it depends on the lane addresses or
    /// on the state of a barrier.
    pub late: bool,
    /// Registers read or written, which the scoreboard checks for hazards. A fence waits for all registers.
    pub uses: RegMask,
    /// Sources of the input operands.
    pub srcs: [Operand; 6],
    /// Source of the base address of a memory instruction.
    pub base: Operand,
    /// Size of a memory access per lane in bytes.
    pub bytes: u8,
    /// Result words of a parameter load at a constant offset, equal in every lane of every warp. Valid only
    /// if `compute` is [`Compute::Spread`].
    pub loads: [u32; RESULT_WORDS],
    /// True if the instruction writes any register or predicate.
    pub writes: bool,
    /// Number of register rows that the instruction reads for its operands.
    pub reads: u8,
    /// Destination registers of the result words. Only the first `words` entries are valid.
    pub rows: [u16; RESULT_WORDS],
    pub words: u8,
    /// For each of the first two destinations: the predicate, or `None` if the destination is not a
    /// predicate. The field `has_preds` is true if any destination is a predicate.
    pub preds: [Option<u16>; 2],
    pub has_preds: bool,
}

/// Decodes a kernel for one SM. Returns its decode table and the constants that the table refers to.
pub(in crate::sm) fn decode(
    image: &KernelImage,
    config: &SmConfig,
    identity: Identity,
) -> (Box<[DecodedInst]>, Constants) {
    let mut constants = Constants::new();
    let mut row = |inst: &Inst| {
        let pipe = pipe_of(inst, &config.pipes);
        let timing = timing_of(inst, pipe, config);
        let passes = if let Pipe::Sp | Pipe::Int | Pipe::Sfu | Pipe::Dp = pipe { config.passes() } else { 1 };
        let mut uses = inst.reads;
        uses.insert(&inst.writes);
        if let Op::Fence(_) = inst.op {
            uses = RegMask { words: [u64::MAX; 4], preds: u32::MAX };
        }
        let base = inst.mem().and_then(|mem| mem.base).map_or(Src::None, Src::Reg);
        let (rows, words) = result_rows(inst);
        let srcs = inst.srcs.map(|src| constants.operand(&src, image, identity));
        let base = constants.operand(&base, image, identity);
        let reads = srcs.iter().chain([&base]).map(Operand::reads).sum();
        let loads = inst.mem().and_then(|mem| constant_loads(inst, mem, image));
        let pred = |dst: &Dst| if let Dst::Pred(pred) = dst { Some(*pred) } else { None };
        DecodedInst {
            inst: inst.clone(),
            pipe,
            compute: if loads.is_some() { Compute::Spread } else { Compute::of(inst) },
            wide: is_wide(&inst.dsts[0]),
            latency: config.pipes.operand_read + timing.latency + passes - 1,
            interval: timing.interval * passes,
            queues: pipe == Pipe::Shared || config.operands.banks > 0,
            late: is_late(inst),
            uses,
            srcs,
            base,
            bytes: inst.mem().map_or(0, MemOp::bytes) as u8,
            loads: loads.unwrap_or_default(),
            writes: !inst.writes.is_empty(),
            reads,
            rows,
            words,
            preds: [pred(&inst.dsts[0]), pred(&inst.dsts[1])],
            has_preds: inst.writes.preds != 0,
        }
    };
    let table = image.program.insts.iter().map(&mut row).collect();
    (table, constants)
}

/// Returns the destination registers of the result words, in order, and their number.
fn result_rows(inst: &Inst) -> ([u16; RESULT_WORDS], u8) {
    let mut rows = [0; RESULT_WORDS];
    let mut words = 0;
    for reg in inst.dest_regs() {
        for index in reg.index..=reg.index + u16::from(reg.wide) {
            rows[words] = index;
            words += 1;
        }
    }
    (rows, words as u8)
}

/// Returns the result words of a legal load of a parameter at a constant offset. The words are equal in every
/// lane of every warp. Returns `None` for other instructions.
fn constant_loads(inst: &Inst, mem: &MemOp, image: &KernelImage) -> Option<[u32; RESULT_WORDS]> {
    let legal = check(image, mem, &[mem.address(0); LANES], u32::MAX).is_ok();
    if mem.space != Space::Param || mem.base.is_some() || !legal || !matches!(inst.op, Op::Load(_)) {
        return None;
    }
    let mut loads = [0; RESULT_WORDS];
    let mut word = 0;
    for (element, dst) in inst.dsts.iter().take(usize::from(mem.lanes)).enumerate() {
        if let Dst::Reg(reg) = dst {
            let at = mem.address(0) as usize + element * mem.ty.bytes() as usize;
            let value = extend(image.param(at, mem.ty.bytes()), mem.ty);
            loads[word] = value as u32;
            word += 1;
            if reg.wide {
                loads[word] = (value >> 32) as u32;
                word += 1;
            }
        }
    }
    Some(loads)
}

fn pipe_of(inst: &Inst, pipes: &PipeConfig) -> Pipe {
    if let Some(mem) = inst.mem() {
        return match mem.space {
            Space::Shared => Pipe::Shared,
            Space::Param => Pipe::Param,
            Space::Global | Space::Const | Space::Local | Space::Generic => Pipe::Global,
        };
    }
    match (inst.op, inst.unit) {
        (Op::Texture(_), _) => Pipe::Global,
        (Op::Barrier { .. } | Op::BarrierWith(_) | Op::Fence(_), _) => Pipe::Barrier,
        (_, Unit::Sfu) => Pipe::Sfu,
        (_, Unit::Dp) => Pipe::Dp,
        (_, Unit::Tensor) => Pipe::Tensor,
        (_, Unit::Control) => Pipe::Control,
        (op, Unit::Sp | Unit::Mem) if pipes.int_pipe && !is_single(&op) => Pipe::Int,
        (_, Unit::Sp | Unit::Mem) => Pipe::Sp,
    }
}

/// True if an operation is single-precision floating point; the SP pipe executes it even in SMs with an
/// integer pipe.
fn is_single(op: &Op) -> bool {
    match op {
        Op::Alu(op) => matches!(op.ty, Type::F32 | Type::F32x2),
        Op::Compare(op) => op.ty == Type::F32,
        Op::Convert(op) => op.to == Type::F32,
        _ => false,
    }
}

fn timing_of(inst: &Inst, pipe: Pipe, config: &SmConfig) -> OpTiming {
    let pipes = &config.pipes;
    match pipe {
        Pipe::Shared => OpTiming { latency: config.shared.latency, interval: 1 },
        Pipe::Param => pipes.param,
        // Assumption: a generic access to shared memory or parameters has the latency of shared memory. The
        // same applies to a texture fetch whose lanes all lie outside the texture.
        Pipe::Global if is_late(inst) => OpTiming { latency: config.shared.latency, interval: 1 },
        // Assumption: writing the reduction result of a barrier has the timing of an integer addition.
        Pipe::Barrier if is_late(inst) => pipes.int.add,
        Pipe::Global | Pipe::Control | Pipe::Barrier => OpTiming { latency: 1, interval: 1 },
        Pipe::Sp | Pipe::Int | Pipe::Sfu | Pipe::Dp | Pipe::Tensor => match &inst.op {
            Op::Tensor(op) => tensor_timing(op, &pipes.tensor),
            Op::Alu(op) => alu_timing(op, pipes),
            Op::Compare(op) => class_of(op.ty, pipes).add,
            Op::Convert(op) if op.from == Type::F64 => pipes.dp.add,
            Op::Convert(op) => class_of(op.to, pipes).add,
            _ => pipes.int.add,
        },
    }
}

/// True if the instruction may use the result bus or shared memory, although most instructions of its pipe
/// use neither ([`DecodedInst::late`]).
fn is_late(inst: &Inst) -> bool {
    match inst.op {
        Op::Texture(_) | Op::BarrierWith(BarrierKind::All | BarrierKind::Any | BarrierKind::Count) => true,
        _ => inst.mem().is_some_and(|mem| mem.space == Space::Generic),
    }
}

/// Number of multiplications in the matrix step to which the configured timing of the tensor pipe applies.
const STEP: u32 = 256;

/// Returns the timing of a matrix step. A step with n times `STEP` multiplications occupies the pipe for n
/// initiation intervals.
fn tensor_timing(op: &TensorOp, &OpTiming { latency, interval }: &OpTiming) -> OpTiming {
    let intervals = op.multiplications.div_ceil(STEP);
    let cycles = |intervals: u32| u16::try_from(u32::from(interval) * intervals).unwrap_or(u16::MAX);
    OpTiming { latency: latency.saturating_add(cycles(intervals.saturating_sub(1))), interval: cycles(intervals) }
}

fn class_of(ty: Type, pipes: &PipeConfig) -> &ClassTiming {
    match ty {
        Type::F64 => &pipes.dp,
        Type::F32 | Type::F32x2 => &pipes.fp,
        _ => &pipes.int,
    }
}

fn alu_timing(op: &AluOp, pipes: &PipeConfig) -> OpTiming {
    use AluFn::*;
    let class = class_of(op.ty, pipes);
    match op.f {
        Min | Max | MinNan | MaxNan => class.minmax,
        Mul | MulHi | MulWide | Mul24 | Mul24Hi => class.mul,
        Mad | MadHi | MadWide | Fma | Dot4 { .. } | Dot2 { .. } | Simd(_) => class.mad,
        Div | Rem => class.div,
        Sqrt | Rcp | Rsqrt if op.ty == Type::F64 => class.div,
        Sqrt | Rcp | Rsqrt | Ex2 | Lg2 | Sin | Cos | Tanh => pipes.sfu,
        Add
        | Sub
        | Abs
        | Neg
        | And
        | Or
        | Xor
        | Not
        | Shl
        | Shr
        | Bfe
        | Bfi
        | Bfind { .. }
        | Popc
        | Clz
        | Brev
        | FunnelLeft
        | FunnelRight
        | FunnelLeftClamp
        | FunnelRightClamp
        | Prmt(_)
        | Lop3(_)
        | Fns
        | Sad
        | CopySign
        | ConvertPair
        | PackSaturated { .. }
        | BitMask { .. }
        | ExtendField { .. } => class.add,
    }
}
