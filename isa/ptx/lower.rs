//! # Lowering
//! Translates one kernel of the syntax tree to a [`Program`]. Names become registers, immediates and branch
//! targets, and modifiers become fields of operations. An instruction that the machine cannot execute causes
//! an error with the position of that instruction.
//!
//! * Functions are inlined at each call; a function that calls itself gets a stack in local memory. A call
//!   through a pointer becomes a selection among the functions whose addresses are taken. Parameters become
//!   registers.
//! * Shared variables that the kernel and its functions name are laid out in the order of declaration, file
//!   level first. Dynamic shared memory (`.extern .shared x[]`) begins after the last of them. Local
//!   variables of a function follow those of its caller.
//! * An instruction without a corresponding operation of the machine becomes several operations, all under
//!   the same guard.

mod arith;
mod atomic;
mod bits;
mod call;
mod carry;
mod control;
mod copy;
mod directives;
pub(super) mod layout;
mod mbarrier;
mod memory;
mod modifiers;
mod moves;
mod operands;
mod packed;
mod params;
mod recursion;
mod scope;
mod tensor;
mod texture;
mod video;
mod warp;
mod wmma;

use std::cell::OnceCell;
use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};

use self::call::Frame;
use self::control::Jump;
use self::layout::{Layout, lay_out, parameters};
use self::modifiers::Modifiers;
use self::params::{ParamPlace, Piece};
use self::recursion::{Region, recursive_functions};
use self::scope::{NameLookup, Scope, Scopes};
use super::ast::{Function, Instruction, Module, Span, Statement, Storage, Variable};
use super::data::Symbols;
use super::forms::{self, Verdict};
use super::{PtxError, Source};
use input::format_count;
use isa::cfg::resolve_reconvergence;
use isa::program::{Form, Guard, Inst, Op, Program, Reg, RelocatedOperand, Relocation, STACK_BYTES, Target};

/// Maximum number of instructions of a kernel.
pub const MAX_INSTRUCTIONS: usize = 1 << 18;
/// Maximum number of errors that are collected. An error in the body of a function is collected once for each
/// inlined call of the function.
const MAX_REFUSALS: usize = 1 << 10;
/// Maximum number of statements processed. A statement of a function counts once for each inlined call.
const MAX_STATEMENTS: usize = 1 << 21;

/// Lowers the kernel `name` of `module` to virtual registers. To lower several kernels, use
/// [`PreparedModule`].
pub fn lower(source: &Source, module: &Module<'_>, name: &str) -> Result<Program, PtxError> {
    PreparedModule::new(source, module)?.lower(name)
}

/// Parsed file with the tables that all of its kernels share. With these tables, the time to lower a kernel
/// is proportional to the size of this kernel, not of the file.
pub struct PreparedModule<'a> {
    source: &'a Source,
    module: &'a Module<'a>,
    symbols: Symbols<'a>,
    /// Kernels of the file by name.
    kernels: FxHashMap<&'a str, &'a Function<'a>>,
    /// Variables in shared memory that are declared at file level, indexed by name.
    shared: FxHashMap<&'a str, Vec<&'a Variable<'a>>>,
    /// All names that are declared at file level.
    names: Rc<Scope<'a>>,
    /// `.local` variables that are declared at file level: for each variable the position of its declaration
    /// and its offset in bytes. The second element is the total size of these variables in bytes.
    locals: (Vec<(u32, u32)>, u32),
    /// Offset in the text of the first byte of each line.
    lines: Vec<u32>,
    /// Functions whose addresses the program takes; computed at first use.
    addressed: OnceCell<Vec<&'a Function<'a>>>,
    /// Addresses of the functions that can call themselves; computed at first use.
    recursive: OnceCell<FxHashSet<u64>>,
}

impl<'a> PreparedModule<'a> {
    /// Lays out the variables of a file.
    pub fn new(source: &'a Source, module: &'a Module<'a>) -> Result<Self, PtxError> {
        let mut kernels = FxHashMap::default();
        for kernel in module.kernels() {
            kernels.entry(kernel.name.text).or_insert(kernel);
        }
        let mut names = Scope::default();
        let mut shared: FxHashMap<&str, Vec<&Variable<'a>>> = FxHashMap::default();
        for variable in &module.variables {
            names.declare(source, variable)?;
            if variable.storage == Storage::Shared {
                shared.entry(variable.name.text).or_default().push(variable);
            }
        }
        let newlines = source.text.bytes().enumerate().filter(|&(_, b)| b == b'\n');
        Ok(PreparedModule {
            source,
            module,
            symbols: Symbols::new(source, module)?,
            kernels,
            shared,
            names: Rc::new(names),
            locals: layout::locals(source, module.variables.iter(), 0)?,
            lines: std::iter::once(0).chain(newlines.map(|(at, _)| at as u32 + 1)).collect(),
            addressed: OnceCell::new(),
            recursive: OnceCell::new(),
        })
    }

    /// Lowers the kernel `name` to virtual registers.
    pub fn lower(&self, name: &str) -> Result<Program, PtxError> {
        let (mut lowering, function) = Lowering::of(self, name)?;
        lowering.entry(function)?;
        lowering.finish(function)
    }

    /// Returns all errors in the kernel `name`, in the order of the text; empty if [`PreparedModule::lower`]
    /// succeeds. Lowering continues after a rejected instruction, so that later errors are also found.
    pub fn refusals(&self, name: &str) -> Vec<PtxError> {
        let (mut lowering, function) = match Lowering::of(self, name) {
            Ok(begun) => begun,
            Err(error) => return vec![error],
        };
        lowering.refused = Some(Vec::new());
        let stopped = lowering.entry(function).err();
        let mut refused: Vec<PtxError> = lowering.refused.take().into_iter().flatten().chain(stopped).collect();
        if refused.is_empty() {
            // Some errors are found only at the end of the body, such as a branch to an undefined label.
            return lowering.finish(function).err().into_iter().collect();
        }
        refused.sort_by_key(|error| (error.line(), error.column()));
        // A function is lowered again for each call, so an error in the function may be in the list several
        // times.
        refused.dedup_by(|a, b| (a.line(), a.column(), a.message()) == (b.line(), b.column(), b.message()));
        refused
    }

    /// Returns the functions that a call through a pointer can reach.
    fn addressed_functions(&self) -> &[&'a Function<'a>] {
        self.addressed.get_or_init(|| self.module.addressed_functions())
    }

    /// True if the function can call itself, directly or through others.
    fn is_recursive(&self, function: &Function<'a>) -> bool {
        let recursive = self.recursive.get_or_init(|| recursive_functions(self.module, self));
        self.module.function_address(function.name.text).is_some_and(|address| recursive.contains(&address))
    }
}

struct Lowering<'p, 'a> {
    prepared: &'p PreparedModule<'a>,
    source: &'a Source,
    module: &'a Module<'a>,
    layout: Layout,
    scopes: Scopes<'a>,
    /// Stack of the functions that are being lowered: first the kernel, then the nested inlined calls.
    frames: Vec<Frame<'a>>,
    /// Number of function bodies whose lowering has begun; a function counts again for each inlined call.
    /// This number identifies an inlined call, so that each call has its own registers.
    instances: u32,
    /// Register index of each named register in use. The key consists of the number of the inlined call, the
    /// position of the declaration, and the index within the family.
    regs: FxHashMap<(u32, u32, u64), u16>,
    preds: FxHashMap<(u32, u32, u64), u16>,
    num_regs: usize,
    num_preds: usize,
    /// Source names of the registers; registers without a name in the source are absent.
    reg_names: FxHashMap<u16, String>,
    pred_names: FxHashMap<u16, String>,
    /// Predicate that represents the carry flag of PTX; allocated at first use.
    carry: Option<u16>,
    /// Location of each `.param` variable, by number of the inlined call and position of the declaration.
    params: FxHashMap<(u32, u32), ParamPlace>,
    pieces: Vec<Vec<Piece>>,
    /// Offset in bytes of each `.local` variable, by number of the inlined call and position of the
    /// declaration.
    locals: FxHashMap<(u32, u32), u32>,
    /// Size of the local memory of all functions that are being lowered, in bytes. `local_bytes` is the
    /// maximum of this size so far.
    local_top: u32,
    local_bytes: u32,
    /// Set while a recursive function is being inlined.
    region: Option<Region>,
    /// True if the kernel has a recursive call.
    has_stack: bool,
    insts: Vec<Inst>,
    jumps: Vec<Jump<'a>>,
    relocations: Vec<Relocation>,
    /// Relocations that will apply to the next instruction.
    pending: Vec<(RelocatedOperand, Target)>,
    /// Guard of the source instruction that is being lowered. The field `position` has the line and column of
    /// this instruction.
    guard: Option<Guard>,
    position: (u32, u32),
    span: Span,
    statements: usize,
    /// Highest pc so far to which a label or a resolved branch refers.
    labelled: usize,
    /// Errors found so far; `None` if lowering stops at the first error.
    refused: Option<Vec<PtxError>>,
}

impl<'p, 'a> Lowering<'p, 'a> {
    /// Finds the kernel `name` and creates the state for lowering it.
    fn of(prepared: &'p PreparedModule<'a>, name: &str) -> Result<(Self, &'a Function<'a>), PtxError> {
        let &PreparedModule { source, module, .. } = prepared;
        let Some(&function) = prepared.kernels.get(name) else {
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
        Ok((Lowering::new(prepared, function)?, function))
    }

    fn new(prepared: &'p PreparedModule<'a>, function: &'a Function<'a>) -> Result<Self, PtxError> {
        let &PreparedModule { source, module, .. } = prepared;
        let layout = lay_out(prepared, function)?;
        let scopes = Scopes::new(prepared.names.clone());
        Ok(Lowering {
            prepared,
            source,
            module,
            layout,
            scopes,
            frames: Vec::new(),
            instances: 0,
            regs: FxHashMap::default(),
            preds: FxHashMap::default(),
            num_regs: 0,
            num_preds: 0,
            reg_names: FxHashMap::default(),
            pred_names: FxHashMap::default(),
            carry: None,
            params: FxHashMap::default(),
            pieces: Vec::new(),
            locals: FxHashMap::default(),
            local_top: 0,
            local_bytes: 0,
            region: None,
            has_stack: false,
            insts: Vec::new(),
            jumps: Vec::new(),
            relocations: Vec::new(),
            pending: Vec::new(),
            guard: None,
            position: (1, 1),
            span: function.name.span,
            statements: 0,
            labelled: 0,
            refused: None,
        })
    }

    fn error(&self, span: Span, label: &'static str, message: impl Into<String>) -> PtxError {
        PtxError::new(self.source, span, label, message.into())
    }

    /// Lowers the body of the kernel.
    fn entry(&mut self, function: &'a Function<'a>) -> Result<(), PtxError> {
        let (fixed, top) = &self.prepared.locals;
        self.locals.extend(fixed.iter().map(|&(place, at)| ((0, place), at)));
        (self.local_top, self.local_bytes) = (*top, *top);
        self.begin(function)?;
        let (params, _) = parameters(self.source, function)?;
        for (variable, param) in function.params.iter().zip(&params) {
            self.params.insert((self.instance(), variable.name.span.start), ParamPlace::Kernel(param.offset));
            self.scopes.declare(self.source, variable)?;
        }
        self.body(function)
    }

    fn body(&mut self, function: &'a Function<'a>) -> Result<(), PtxError> {
        for statement in &function.body {
            let (scope, depth, local_top) = (self.scopes.current(), self.frames.len(), self.local_top);
            if let Err(error) = self.statement(statement) {
                match &mut self.refused {
                    Some(refused) if refused.len() < MAX_REFUSALS && self.statements <= MAX_STATEMENTS => {
                        refused.push(error);
                    }
                    _ => return Err(error),
                }
                // Abandons all inlined calls that the lowering of the rejected statement had begun.
                self.scopes.leave(scope);
                self.frames.truncate(depth);
                self.region.take_if(|region| region.depth >= depth);
                self.local_top = local_top;
                self.pending.clear();
            }
        }
        Ok(())
    }

    fn statement(&mut self, statement: &'a Statement<'a>) -> Result<(), PtxError> {
        self.statements += 1;
        if self.statements > MAX_STATEMENTS {
            let message = format!("the kernel has more than {MAX_STATEMENTS} statements with all its calls inlined");
            return Err(self.error(self.span, "too many", message));
        }
        match statement {
            Statement::Open => self.scopes.open(),
            Statement::Close => self.scopes.close(),
            Statement::Label(name) => {
                self.labelled = self.insts.len();
                if !self.scopes.label(name, self.labelled as u32) {
                    let message = format!("label `{}` is defined twice", name.text);
                    return Err(self.error(name.span, "second definition", message));
                }
            }
            Statement::Declare(variable) => self.scopes.declare(self.source, variable)?,
            // The directive `.branchtargets` itself produces no code. An indirect branch finds the list of
            // targets by the label before the directive.
            Statement::Targets(_) => {}
            Statement::Instruction(inst) => self.instruction(inst)?,
        }
        Ok(())
    }

    fn instruction(&mut self, inst: &'a Instruction<'a>) -> Result<(), PtxError> {
        self.guard = match inst.guard {
            Some((name, negated)) => Some(Guard { pred: self.predicate(name)?, negated }),
            None => None,
        };
        let start = inst.opcode.span.start;
        let lines = &self.prepared.lines;
        let line = lines.partition_point(|&first| first <= start);
        self.position = (line as u32, start - lines[line - 1] + 1);
        self.span = inst.span;
        let mut mods = Modifiers::new(inst);
        let lowered = self.dispatch(inst, &mut mods).and_then(|lowered| mods.finish(self).map(|()| lowered));
        match lowered {
            Ok(Some(lowered)) => self.push(lowered),
            Ok(None) => Ok(()),
            Err(error) => Err(self.judge(inst, error)),
        }
    }

    /// Lowers an instruction by its opcode. If this gives several operations, all but the last are appended.
    /// Returns the last one, which the caller appends.
    fn dispatch(&mut self, inst: &'a Instruction<'a>, mods: &mut Modifiers<'a>) -> Result<Option<Inst>, PtxError> {
        let lowered = match inst.opcode.text {
            "mov" => Some(self.mov(inst, mods)?),
            "cvta" => Some(self.cvta(inst, mods)?),
            "isspacep" => Some(self.isspacep(inst, mods)?),
            "cvt" => Some(self.cvt(inst, mods)?),
            "selp" => Some(self.selp(inst, mods)?),
            "setp" => Some(self.setp(inst, mods)?),
            "set" => Some(self.set(inst, mods)?),
            "slct" => Some(self.slct(inst, mods)?),
            "testp" => Some(self.testp(inst, mods)?),
            "cnot" => Some(self.cnot(inst, mods)?),
            "ld" | "ldu" => self.load(inst, mods)?,
            "st" => self.store(inst, mods)?,
            "atom" | "red" => self.atomic(inst, mods)?,
            "tex" => Some(self.texture(inst, mods)?),
            "suld" | "sust" | "sured" => Some(self.surface(inst, mods)?),
            "shfl" => Some(self.shuffle(inst, mods)?),
            "vote" => Some(self.vote(inst, mods)?),
            "match" => Some(self.matching(inst, mods)?),
            "mma" => {
                self.mma(inst, mods)?;
                None
            }
            "wmma" => {
                self.wmma(inst, mods)?;
                None
            }
            "movmatrix" => Some(self.move_matrix(inst, mods)?),
            "ldmatrix" => Some(self.load_matrix(inst, mods)?),
            "redux" => Some(self.redux(inst, mods)?),
            "elect" => Some(self.elect(inst, mods)?),
            "activemask" => Some(self.active_mask(inst, mods)?),
            "bra" => Some(self.branch(inst, mods)?),
            "brx" => self.indexed_branch(inst, mods)?,
            "call" => self.call(inst, mods)?,
            "bar" | "barrier" => Some(self.barrier(inst, mods)?),
            "membar" | "fence" => Some(self.fence(inst, mods)?),
            "ret" => self.ret(inst, mods)?,
            "exit" => Some(self.plain(inst, Op::Exit)?),
            "trap" => Some(self.plain(inst, Op::Trap)?),
            // Instructions such as `prefetch` and `nanosleep` do not affect the results of a program, so they
            // become no-ops.
            "brkpt" | "nanosleep" | "pmevent" | "prefetch" | "prefetchu" | "applypriority" | "discard"
            | "griddepcontrol" => {
                mods.clear();
                Some(Inst::new(Op::Nop))
            }
            "mbarrier" => self.mbarrier(inst, mods)?,
            "createpolicy" => Some(self.policy(inst, mods)?),
            "cp" => self.copy(inst, mods)?,
            "add" | "min" | "max" if mods.has("u16x2") || mods.has("s16x2") || mods.has("relu") && mods.has("s32") => {
                Some(self.integer_pair(inst, mods)?)
            }
            "addc" | "subc" | "madc" => Some(self.lower_carry(inst, mods)?),
            _ if mods.has("cc") => Some(self.lower_carry(inst, mods)?),
            _ => {
                let mut lowered = self.bits(inst, mods)?;
                if lowered.is_none() {
                    lowered = self.video(inst, mods)?;
                }
                if lowered.is_none() {
                    lowered = self.arith(inst, mods)?;
                }
                if lowered.is_none() {
                    return Err(self.refuse_unsupported(inst));
                }
                lowered
            }
        };
        Ok(lowered)
    }

    /// Returns the error to report for a rejected instruction. If PTX has no such instruction or modifier, or
    /// the machine does not model the instruction, the returned error says so. Otherwise, it is `error`.
    fn judge(&self, inst: &Instruction<'a>, error: PtxError) -> PtxError {
        let opcode = inst.opcode.text;
        let mean = |close: Option<&str>| close.map(|close| format!("did you mean `{close}`?"));
        match forms::classify(opcode, &inst.modifiers) {
            Verdict::NoName => {
                let message = format!("PTX has no instruction `{opcode}`");
                let error = self.error(inst.opcode.span, "this instruction", message);
                match mean(forms::closest_name(opcode)) {
                    Some(help) => error.with_help(help),
                    None => error,
                }
            }
            Verdict::NoModifier(at) => {
                let word = inst.modifiers[at];
                let message = format!("`{opcode}` takes no modifier `.{}`", word.text);
                let error = self.error(word.span, "this modifier", message);
                match mean(forms::closest_modifier(opcode, word.text).map(|word| format!(".{word}")).as_deref()) {
                    Some(help) => error.with_help(help),
                    None => error,
                }
            }
            Verdict::NotModelled(advice) => {
                let message = format!("`{}` is not modeled", form_of(inst));
                // The help text of the original error is appended, because it may list the supported forms.
                let help = match error.help_text() {
                    Some(forms) => format!("{advice}; {forms}"),
                    None => advice.to_string(),
                };
                self.error(inst.opcode.span, "this instruction", message).with_help(help)
            }
            Verdict::NoForm | Verdict::Modelled => error,
        }
    }

    /// Appends an instruction to the program, with the guard and the position of the source instruction.
    fn push(&mut self, mut inst: Inst) -> Result<(), PtxError> {
        if self.insts.len() == MAX_INSTRUCTIONS {
            let message = format!("the kernel has more than {MAX_INSTRUCTIONS} instructions");
            return Err(self.error(self.span, "too many", message));
        }
        inst.guard = self.guard;
        (inst.line, inst.column) = self.position;
        let pc = self.insts.len() as u32;
        let pending = self.pending.drain(..);
        self.relocations.extend(pending.map(|(place, target)| Relocation { pc, place, target }));
        self.insts.push(inst);
        Ok(())
    }

    /// Returns a new register for an intermediate result.
    fn temporary(&mut self, wide: bool) -> Result<Reg, PtxError> {
        Ok(Reg { index: self.new_reg()?, wide })
    }

    fn new_reg(&mut self) -> Result<u16, PtxError> {
        let index = u16::try_from(self.num_regs).ok().filter(|&index| index < u16::MAX);
        self.num_regs += 1;
        index.ok_or_else(|| self.error(self.span, "here", "the kernel names more than 65535 registers"))
    }

    fn new_pred(&mut self) -> Result<u16, PtxError> {
        let index = u16::try_from(self.num_preds).ok().filter(|&index| index < u16::MAX);
        self.num_preds += 1;
        index.ok_or_else(|| self.error(self.span, "here", "the kernel names more than 65535 predicates"))
    }

    fn refuse_unsupported(&self, inst: &Instruction<'a>) -> PtxError {
        let message = format!("instruction `{}` is not supported", form_of(inst));
        self.error(inst.opcode.span, "this instruction", message)
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
        let operands = format_count(count as u64, "operand", "operands");
        let message = format!("`{}` has {operands}, expected {wanted}", inst.opcode.text);
        Err(self.error(inst.span, "this instruction", message))
    }

    fn finish(mut self, function: &'a Function<'a>) -> Result<Program, PtxError> {
        for jump in &self.jumps {
            let Some(pc) = self.scopes.find_label(jump.label.text, jump.scope) else {
                let message = format!("label `{}` is not defined", jump.label.text);
                return Err(self.error(jump.label.span, "used here", message));
            };
            if let Op::Branch { target, .. } = &mut self.insts[jump.pc].op {
                *target = pc;
            }
        }
        // The program needs a final exit if the body ends without `ret`, or if a branch leads to its end.
        let end = self.insts.len() as u32;
        let to_end = |inst: &Inst| matches!(inst.op, Op::Branch { target, .. } if target == end);
        if self.insts.last().is_none_or(Inst::falls_through)
            || self.labelled as u32 == end
            || self.insts.iter().any(to_end)
        {
            let mut exit = Inst::new(Op::Exit);
            exit.line = self.insts.last().map_or(1, |last| last.line);
            exit.column = 1;
            self.insts.push(exit);
        }
        resolve_reconvergence(&mut self.insts);
        let (params, param_bytes) = parameters(self.source, function)?;
        let (limits, max_regs, min_ctas) = directives::read(self.source, function)?;
        let name = |names: &mut FxHashMap<u16, String>, index| names.remove(&(index as u16)).unwrap_or_default();
        let names = (0..self.num_regs).map(|reg| name(&mut self.reg_names, reg));
        let names = names.chain((0..self.num_preds).map(|pred| name(&mut self.pred_names, pred))).collect();
        let stack_bytes = if self.has_stack { STACK_BYTES } else { 0 };
        Ok(Program {
            name: function.name.text.to_string(),
            file: self.source.name.clone(),
            form: Form::Virtual,
            params,
            param_bytes,
            insts: self.insts,
            regs: self.num_regs as u16,
            preds: self.num_preds as u16,
            names,
            shared_bytes: self.layout.shared_bytes,
            shared_align: self.layout.shared_align,
            local_bytes: self.local_bytes.next_multiple_of(16) + stack_bytes,
            stack_bytes,
            spill_bytes: 0,
            const_bytes: self.prepared.symbols.const_bytes,
            const_base: 0,
            textures: [].into(),
            relocations: self.relocations,
            limits,
            max_regs,
            min_ctas,
        })
    }

    /// Number of the function that is being lowered: 1 for the kernel, and a higher number for each inlined
    /// call.
    fn instance(&self) -> u32 {
        self.frames.last().map_or(0, |frame| frame.instance)
    }

    /// Returns the number of the inlined call in which the variable found by a name lookup is declared; 0 for
    /// a variable at file level.
    fn owner(&self, found: &NameLookup<'a>) -> u32 {
        if found.is_outer { 0 } else { self.instance() }
    }
}

/// Returns the opcode and the modifiers of an instruction, joined by dots: `add.rn.f32`.
fn form_of(inst: &Instruction<'_>) -> String {
    let words = std::iter::once(inst.opcode).chain(inst.modifiers.iter().copied());
    words.map(|name| name.text).collect::<Vec<_>>().join(".")
}
