//! # Lowering
//! Gives one kernel its meaning: names become registers, immediates and targets, modifiers
//! become fields, and what the machine cannot execute is refused with its place.
//!
//! Shared variables that the kernel names are laid out in order of declaration, file level
//! first; dynamic shared memory (`.extern .shared x[]`) begins behind the last of them.
//! `cvta` of the global window is a move: generic and global addresses coincide.

mod arith;
mod layout;
mod memory;
mod modifiers;
mod moves;
mod operands;
mod scope;

use rustc_hash::FxHashMap;

use self::layout::{Layout, lay_out, parameters};
use self::modifiers::Modifiers;
use self::scope::Scopes;
use super::ast::{Function, Instruction, Module, Name, OperandKind, Span, Statement};
use super::{PtxError, Source};
use crate::cfg::resolve_reconvergence;
use crate::program::{Form, Guard, Inst, NO_PC, Op, Program};

/// Most instructions of one kernel.
pub const MAX_INSTRUCTIONS: usize = 1 << 18;

/// Instructions that can be lowered; of each, the forms that the messages of its own errors
/// name.
pub const SUPPORTED: &[&str] = &[
    "abs", "add", "and", "bar", "barrier", "bfe", "bra", "brev", "clz", "cos", "cvt", "cvta", "div", "ex2", "exit",
    "fma", "ld", "lg2", "mad", "max", "min", "mov", "mul", "neg", "not", "or", "popc", "rcp", "rem", "ret", "rsqrt",
    "selp", "setp", "shf", "shl", "shr", "sin", "sqrt", "st", "sub", "xor",
];

/// Lowers the kernel `name` of `module`, to virtual registers.
pub fn lower(source: &Source, module: &Module<'_>, name: &str) -> Result<Program, PtxError> {
    let Some(function) = module.kernels().find(|k| k.name.text == name) else {
        let names: Vec<&str> = module.kernels().map(|k| k.name.text).collect();
        let message = format!("there is no kernel `{name}` in this file");
        let help = match names.as_slice() {
            [] => "the file defines no kernel".to_string(),
            _ => format!("it defines {}", names.join(", ")),
        };
        return Err(PtxError::new(source, Span::default(), "in this file", message).with_help(help));
    };
    if module.address_size != 64 {
        let message = format!("`.address_size {}`, expected 64", module.address_size);
        return Err(PtxError::new(source, function.name.span, "this kernel", message)
            .with_help("addresses of 32 bits are not supported"));
    }
    let mut lowering = Lowering::new(source, module, function)?;
    for statement in &function.body {
        lowering.statement(statement)?;
    }
    lowering.finish(function)
}

/// A branch whose target is not known yet.
struct Jump<'a> {
    pc: usize,
    label: Name<'a>,
    scope: usize,
}

struct Lowering<'a> {
    source: &'a Source,
    layout: Layout<'a>,
    scopes: Scopes<'a>,
    /// Number of each register in use, by the place of its declaration and its number within
    /// the family.
    regs: FxHashMap<(u32, u64), u16>,
    preds: FxHashMap<(u32, u64), u16>,
    insts: Vec<Inst>,
    jumps: Vec<Jump<'a>>,
    /// First byte of every line.
    lines: Vec<u32>,
}

impl<'a> Lowering<'a> {
    fn new(source: &'a Source, module: &'a Module<'a>, function: &'a Function<'a>) -> Result<Self, PtxError> {
        let layout = lay_out(source, module, function)?;
        let mut scopes = Scopes::new();
        for variable in &module.variables {
            scopes.declare(source, variable)?;
        }
        scopes.open();
        for variable in &function.params {
            scopes.declare(source, variable)?;
        }
        let newlines = source.text.bytes().enumerate().filter(|&(_, b)| b == b'\n');
        let lines = std::iter::once(0).chain(newlines.map(|(at, _)| at as u32 + 1));
        Ok(Lowering {
            source,
            layout,
            scopes,
            regs: FxHashMap::default(),
            preds: FxHashMap::default(),
            insts: Vec::new(),
            jumps: Vec::new(),
            lines: lines.collect(),
        })
    }

    fn error(&self, span: Span, label: &'static str, message: impl Into<String>) -> PtxError {
        PtxError::new(self.source, span, label, message.into())
    }

    fn statement(&mut self, statement: &'a Statement<'a>) -> Result<(), PtxError> {
        match statement {
            Statement::Open => self.scopes.open(),
            Statement::Close => self.scopes.close(),
            Statement::Label(name) => {
                let pc = self.insts.len() as u32;
                if !self.scopes.label(name, pc) {
                    let message = format!("label `{}` is defined twice", name.text);
                    return Err(self.error(name.span, "second definition", message));
                }
            }
            Statement::Declare(variable) => self.scopes.declare(self.source, variable)?,
            Statement::Instruction(inst) => self.instruction(inst)?,
        }
        Ok(())
    }

    fn instruction(&mut self, inst: &'a Instruction<'a>) -> Result<(), PtxError> {
        if self.insts.len() == MAX_INSTRUCTIONS {
            let message = format!("the kernel has more than {MAX_INSTRUCTIONS} instructions");
            return Err(self.error(inst.span, "too many", message));
        }
        let mut mods = Modifiers::new(inst);
        let mut lowered = match inst.opcode.text {
            "mov" => self.mov(inst, &mut mods)?,
            "cvta" => self.cvta(inst, &mut mods)?,
            "cvt" => self.cvt(inst, &mut mods)?,
            "selp" => self.selp(inst, &mut mods)?,
            "setp" => self.setp(inst, &mut mods)?,
            "ld" => self.load(inst, &mut mods)?,
            "st" => self.store(inst, &mut mods)?,
            "bra" => self.branch(inst, &mut mods)?,
            "bar" | "barrier" => self.barrier(inst, &mut mods)?,
            "ret" | "exit" => {
                mods.take("uni");
                self.operand_count(inst, 0..=0)?;
                Inst::new(Op::Exit)
            }
            _ => match self.arith(inst, &mut mods)? {
                Some(lowered) => lowered,
                None => return Err(self.unsupported(inst)),
            },
        };
        mods.finish(self)?;
        if let Some((name, negated)) = inst.guard {
            let pred = self.predicate(name)?;
            lowered.guard = Some(Guard { pred, negated });
        }
        let start = inst.opcode.span.start;
        let line = self.lines.partition_point(|&first| first <= start);
        lowered.line = line as u32;
        lowered.column = start - self.lines[line - 1] + 1;
        self.insts.push(lowered);
        Ok(())
    }

    fn unsupported(&self, inst: &Instruction<'a>) -> PtxError {
        let mut form = inst.opcode.text.to_string();
        for modifier in &inst.modifiers {
            form.push('.');
            form.push_str(modifier.text);
        }
        let message = format!("instruction `{form}` is not supported");
        self.error(inst.opcode.span, "this instruction", message)
            .with_help(format!("supported are {}", SUPPORTED.join(" ")))
    }

    /// `bra` with its target left open until every label is known.
    fn branch(&mut self, inst: &'a Instruction<'a>, mods: &mut Modifiers<'a>) -> Result<Inst, PtxError> {
        let uniform = mods.take("uni");
        self.operand_count(inst, 1..=1)?;
        let OperandKind::Name(label, None) = inst.operands[0].kind else {
            return Err(self.error(inst.operands[0].span, "here", "expected a label"));
        };
        let scope = self.scopes.current();
        self.jumps.push(Jump { pc: self.insts.len(), label, scope });
        Ok(Inst::new(Op::Branch { target: 0, reconverge: NO_PC, uniform }))
    }

    /// `bar.sync 0` and the newer spellings of the same.
    fn barrier(&mut self, inst: &'a Instruction<'a>, mods: &mut Modifiers<'a>) -> Result<Inst, PtxError> {
        mods.take("cta");
        if !mods.take("sync") {
            let message = format!("`{}` without `.sync` is not supported", inst.opcode.text);
            return Err(self.error(inst.span, "this instruction", message));
        }
        // All that runs here is convergent at a barrier, or hangs and is reported.
        mods.take("aligned");
        self.operand_count(inst, 1..=2)?;
        if let Some(count) = inst.operands.get(1) {
            let message = "a barrier for a part of the CTA is not supported";
            return Err(self.error(count.span, "thread count", message));
        }
        match inst.operands[0].kind {
            OperandKind::Integer(id @ 0..=15) => Ok(Inst::new(Op::Barrier { id: id as u8 })),
            _ => {
                let message = "expected a barrier number from 0 to 15, known at compile time";
                Err(self.error(inst.operands[0].span, "here", message))
            }
        }
    }

    fn operand_count(&self, inst: &Instruction<'a>, legal: std::ops::RangeInclusive<usize>) -> Result<(), PtxError> {
        let count = inst.operands.len();
        if legal.contains(&count) {
            return Ok(());
        }
        let (low, high) = (legal.start(), legal.end());
        let wanted = match low == high {
            true => format!("{low}"),
            false => format!("{low} to {high}"),
        };
        let message = format!("`{}` has {count} operands, expected {wanted}", inst.opcode.text);
        Err(self.error(inst.span, "this instruction", message))
    }

    fn finish(mut self, function: &Function<'a>) -> Result<Program, PtxError> {
        // A body may end without `ret`, and a label may stand behind the last instruction.
        let end = self.insts.len();
        let open_end = self.insts.last().is_none_or(Inst::falls_through);
        if open_end || self.scopes.has_label_at(end as u32) {
            let mut exit = Inst::new(Op::Exit);
            exit.line = self.insts.last().map_or(1, |last| last.line);
            exit.column = 1;
            self.insts.push(exit);
        }
        for jump in &self.jumps {
            let Some(pc) = self.scopes.find_label(jump.label.text, jump.scope) else {
                let message = format!("label `{}` is not defined", jump.label.text);
                return Err(self.error(jump.label.span, "used here", message));
            };
            if let Op::Branch { target, .. } = &mut self.insts[jump.pc].op {
                *target = pc;
            }
        }
        resolve_reconvergence(&mut self.insts);
        let (params, param_bytes) = parameters(self.source, function)?;
        let limits = function.directives.iter();
        let max_ntid = limits
            .filter(|d| matches!(d.name.text, "maxntid" | "reqntid"))
            .map(|d| {
                let axis = |i| d.values.get(i).map_or(1, |&n| u32::try_from(n).unwrap_or(u32::MAX));
                [axis(0), axis(1), axis(2)]
            })
            .next();
        Ok(Program {
            name: function.name.text.to_string(),
            file: self.source.name.clone(),
            form: Form::Virtual,
            params,
            param_bytes,
            insts: self.insts,
            regs: self.regs.len() as u16,
            preds: self.preds.len() as u16,
            shared_bytes: self.layout.shared_bytes,
            shared_align: self.layout.shared_align,
            max_ntid,
        })
    }
}
