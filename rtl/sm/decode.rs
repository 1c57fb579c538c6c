//! Decoding: what issue needs to know of each instruction, worked out once per launch.

use isa::lanes::{AluFn, AluOp};
use isa::program::{Inst, Op, Program, RegMask, Unit};
use isa::types::{Space, Type};

use super::config::{ClassTiming, OpTiming, PipeConfig, SmConfig};
use crate::kernel::Encoding;

/// Where an instruction goes from issue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) enum Pipe {
    /// Integer and single precision, one pipe per scheduler.
    #[default]
    Sp,
    /// Special functions.
    Sfu,
    /// Double precision.
    Dp,
    /// Shared memory.
    Shared,
    /// Kernel parameters.
    Param,
    /// Device memory, through the address unit.
    Global,
    /// Done at issue.
    Control,
    /// `bar.sync`: done at issue, once the warp's stores are acknowledged.
    Barrier,
}

/// Number of pipes.
pub(super) const PIPES: usize = 8;

impl Encoding for Pipe {
    const WIDTH: u32 = 3;
    const NAMES: &'static [&'static str] = &["SP", "SFU", "DP", "SHARED", "PARAM", "GLOBAL", "CONTROL", "BARRIER"];
    fn code(self) -> u8 {
        self as u8
    }
}

impl Pipe {
    /// Whether the instruction takes the one memory issue port of the core.
    pub(super) fn is_memory(self) -> bool {
        matches!(self, Self::Shared | Self::Param | Self::Global)
    }

    /// Whether a result travels through the in-flight table and the result bus.
    pub(super) fn has_result(self) -> bool {
        matches!(self, Self::Sp | Self::Sfu | Self::Dp | Self::Shared | Self::Param)
    }
}

/// One row of the decode table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Decoded {
    /// Where it goes.
    pub(super) pipe: Pipe,
    /// Registers read or written: what a hazard is checked on.
    pub(super) uses: RegMask,
    /// Cycles from issue to writeback, without bank conflicts.
    pub(super) latency: u16,
    /// Cycles for which it keeps its pipe.
    pub(super) interval: u16,
}

/// The decode table of a program.
pub(super) fn decode(program: &Program, config: &SmConfig) -> Box<[Decoded]> {
    let row = |inst: &Inst| {
        let pipe = pipe_of(inst);
        let timing = timing_of(inst, pipe, config);
        let mut uses = inst.reads;
        uses.insert(&inst.writes);
        Decoded { pipe, uses, latency: config.pipes.operand_read + timing.latency, interval: timing.interval }
    };
    program.insts.iter().map(row).collect()
}

fn pipe_of(inst: &Inst) -> Pipe {
    if let Some(mem) = inst.mem() {
        return match mem.space {
            Space::Shared => Pipe::Shared,
            Space::Param => Pipe::Param,
            Space::Global => Pipe::Global,
        };
    }
    match (inst.op, inst.unit) {
        (Op::Barrier { .. }, _) => Pipe::Barrier,
        (_, Unit::Sfu) => Pipe::Sfu,
        (_, Unit::Dp) => Pipe::Dp,
        (_, Unit::Control) => Pipe::Control,
        (_, Unit::Sp | Unit::Mem) => Pipe::Sp,
    }
}

fn timing_of(inst: &Inst, pipe: Pipe, config: &SmConfig) -> OpTiming {
    let pipes = &config.pipes;
    match pipe {
        Pipe::Shared => OpTiming { latency: config.shared.latency, interval: 1 },
        Pipe::Param => pipes.param,
        Pipe::Global | Pipe::Control | Pipe::Barrier => OpTiming { latency: 1, interval: 1 },
        Pipe::Sp | Pipe::Sfu | Pipe::Dp => match &inst.op {
            Op::Alu(op) => alu_timing(op, pipes),
            Op::Compare(op) => class_of(op.ty, pipes).add,
            Op::Convert(op) if op.from == Type::F64 => pipes.dp.add,
            Op::Convert(op) => class_of(op.to, pipes).add,
            _ => pipes.int.add,
        },
    }
}

fn class_of(ty: Type, pipes: &PipeConfig) -> &ClassTiming {
    match ty {
        Type::F64 => &pipes.dp,
        Type::F32 => &pipes.fp,
        _ => &pipes.int,
    }
}

fn alu_timing(op: &AluOp, pipes: &PipeConfig) -> OpTiming {
    use AluFn::*;
    let class = class_of(op.ty, pipes);
    match op.f {
        Min | Max => class.minmax,
        Mul | MulHi | MulWide => class.mul,
        Mad | MadHi | MadWide | Fma => class.mad,
        Div | Rem => class.div,
        Sqrt | Rcp | Rsqrt if op.ty == Type::F64 => class.div,
        Sqrt | Rcp | Rsqrt | Ex2 | Lg2 | Sin | Cos => pipes.sfu,
        Add | Sub | Abs | Neg | And | Or | Xor | Not | Shl | Shr | Bfe | Popc | Clz | Brev | FunnelLeft
        | FunnelRight => class.add,
    }
}
