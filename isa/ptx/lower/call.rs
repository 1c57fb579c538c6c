//! Lowering of calls: the body of the function is inlined in place of the instruction.

use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::super::PtxError;
use super::super::ast::{Function, Instruction, Name, Operand, OperandKind, Statement, Storage, Variable};
use super::Lowering;
use super::control::open_branch;
use super::layout::extent;
use super::modifiers::Modifiers;
use super::operands::Width;
use super::params::ParamPlace;
use super::recursion::Activation;
use input::format_count;
use isa::lanes::CompareOp;
use isa::program::{Dst, Guard, Inst, Op, Src};
use isa::types::{Cmp, Type};

/// Maximum nesting of calls.
const MAX_CALLS: usize = 64;

/// State of a function while it is lowered: the kernel itself, or an inlined function.
pub(super) struct Frame<'a> {
    function: &'a Function<'a>,
    pub(super) instance: u32,
    /// Pcs of the branches that replace the function's `ret` instructions; they lead to the end of the
    /// function.
    returns: Vec<usize>,
    /// Set while a function that can call itself is being inlined.
    pub(super) activation: Option<Rc<Activation>>,
    /// Lists of branch targets from `.branchtargets`, indexed by the label that names the list.
    pub(super) tables: FxHashMap<&'a str, &'a [Name<'a>]>,
}

/// Argument of a call, from which the value of a parameter is taken.
pub(super) enum Argument {
    /// A `.param` variable of the caller. The parameter uses the same registers as this variable.
    Pieces(usize),
    /// Value of a register or a constant.
    Value(Src),
}

impl<'a> Lowering<'_, 'a> {
    /// Begins to lower a function: adds a frame for it and lays out its local variables.
    pub(super) fn begin(&mut self, function: &'a Function<'a>) -> Result<(), PtxError> {
        self.instances += 1;
        let instance = self.instances;
        let mut tables = FxHashMap::default();
        let mut label = None;
        for statement in &function.body {
            match statement {
                Statement::Label(name) => label = Some(name.text),
                Statement::Targets(targets) => {
                    if let Some(label) = label {
                        tables.insert(label, targets.as_slice());
                    }
                }
                _ => {}
            }
        }
        let declared = function.body.iter().filter_map(|statement| match statement {
            Statement::Declare(variable) => Some(variable),
            _ => None,
        });
        for variable in declared.filter(|variable| variable.storage == Storage::Local) {
            let (bytes, align) = extent(self.source, variable)?;
            let at = self.grow_local(variable, bytes, align)?;
            self.locals.insert((instance, variable.name.span.start), at);
        }
        self.frames.push(Frame { function, instance, returns: Vec::new(), activation: None, tables });
        self.scopes.open();
        Ok(())
    }

    /// Lowers `ret`: the end of the thread in a kernel, or a branch to the end of the body in a function.
    pub(super) fn ret(&mut self, inst: &Instruction<'a>, mods: &mut Modifiers<'a>) -> Result<Option<Inst>, PtxError> {
        let uniform = mods.take("uni");
        self.operand_count(inst, 0..=0)?;
        let here = self.insts.len();
        match self.frames.as_mut_slice() {
            [_, .., frame] => {
                frame.returns.push(here);
                Ok(Some(open_branch(uniform)))
            }
            _ => Ok(Some(Inst::new(Op::Exit))),
        }
    }

    /// Lowers `call.uni (retval0), f, (param0, param1);`.
    pub(super) fn call(
        &mut self,
        inst: &'a Instruction<'a>,
        mods: &mut Modifiers<'a>,
    ) -> Result<Option<Inst>, PtxError> {
        mods.take("uni");
        let (returns, rest) = match inst.operands.as_slice() {
            [Operand { kind: OperandKind::List(returns), .. }, rest @ ..] => (returns.as_slice(), rest),
            rest => ([].as_slice(), rest),
        };
        let (name, arguments) = match rest {
            [Operand { kind: OperandKind::Name(name, None), .. }] => (*name, [].as_slice()),
            [
                Operand { kind: OperandKind::Name(name, None), .. },
                Operand { kind: OperandKind::List(arguments), .. },
                ..,
            ] => (*name, arguments.as_slice()),
            [Operand { kind: OperandKind::Name(name, None), .. }, _] => (*name, [].as_slice()),
            _ => return Err(self.error(inst.span, "this call", "expected `call (results), function, (arguments)`")),
        };
        match self.module.function(name.text) {
            Some(function) if function.has_body => self.inline_call(function, name, returns, arguments)?,
            Some(function) => return self.host_call(function.name, returns, name),
            None if self.scopes.find(name.text).is_some() => self.call_through(name, returns, arguments)?,
            None => {
                let message = format!("function `{}` is not declared", name.text);
                return Err(self.error(name.span, "here", message));
            }
        }
        Ok(None)
    }

    /// Lowers a call through a function pointer. The pointer is compared with the address of each function to
    /// which it may point, and each of these functions is inlined. Any other pointer value ends the launch.
    fn call_through(
        &mut self,
        name: Name<'a>,
        returns: &'a [Operand<'a>],
        arguments: &'a [Operand<'a>],
    ) -> Result<(), PtxError> {
        let pointer = self.register(name, Type::B64, Width::Exact)?;
        let fits = |function: &&Function<'a>| {
            let passed = function.params.iter().zip(arguments).chain(function.returns.iter().zip(returns));
            (function.returns.len(), function.params.len()) == (returns.len(), arguments.len())
                && passed.into_iter().all(|(formal, actual)| self.same_size(formal, actual))
        };
        let candidates: Vec<&Function<'a>> = self.prepared.addressed_functions().iter().copied().filter(fits).collect();
        if candidates.is_empty() {
            let message = "no function of this file whose address is taken fits this call through a pointer";
            return Err(self.error(name.span, "here", message));
        }
        let skip = self.skip_unless_guarded()?;
        let mut done = Vec::new();
        for function in candidates {
            let address = self.module.function_address(function.name.text).unwrap_or(0);
            let other = self.new_pred()?;
            let op = CompareOp { cmp: Cmp::Ne, ty: Type::B64, ftz: false, combine: None };
            let mut compare = Inst::new(Op::Compare(op));
            compare.dsts[0] = Dst::Pred(other);
            compare.srcs[..2].copy_from_slice(&[Src::Reg(pointer), Src::Imm(address)]);
            self.push(compare)?;
            let next = self.insts.len();
            self.guard = Some(Guard { pred: other, negated: false });
            self.push(open_branch(false))?;
            self.guard = None;
            self.inline_call(function, name, returns, arguments)?;
            done.push(self.insts.len());
            self.push(open_branch(false))?;
            self.land(Some(next));
        }
        self.push(Inst::new(Op::Trap))?;
        for from in done {
            self.land(Some(from));
        }
        self.land(skip);
        Ok(())
    }

    /// True if the argument `actual` has the same size as the parameter `formal`. Also true if `actual` is
    /// not the name of a declared variable, but, for example, a constant.
    fn same_size(&self, formal: &Variable<'a>, actual: &Operand<'a>) -> bool {
        let OperandKind::Name(name, None) = actual.kind else { return true };
        let Some(found) = self.scopes.find(name.text) else { return true };
        match (extent(self.source, formal), extent(self.source, found.variable)) {
            (Ok((wanted, _)), Ok((given, _))) => wanted == given,
            _ => false,
        }
    }

    /// Checks that a `.param` variable has the same size as the parameter for which it is passed.
    fn check_size(&self, formal: &Variable<'a>, actual: &Operand<'a>) -> Result<(), PtxError> {
        let OperandKind::Name(name, None) = actual.kind else { return Ok(()) };
        let variable = self.scopes.find(name.text).map(|found| found.variable);
        let is_param = variable.is_some_and(|variable| variable.storage == Storage::Param);
        if !is_param || formal.storage != Storage::Param || self.same_size(formal, actual) {
            return Ok(());
        }
        let message = format!("`{}` has another size than the parameter `{}`", name.text, formal.name.text);
        Err(self.error(name.span, "here", message))
    }

    /// Inlines the body of `function`.
    fn inline_call(
        &mut self,
        function: &'a Function<'a>,
        name: Name<'a>,
        returns: &'a [Operand<'a>],
        arguments: &'a [Operand<'a>],
    ) -> Result<(), PtxError> {
        self.check_call(function, name, returns.len(), arguments.len())?;
        let pairs = function.params.iter().zip(arguments).chain(function.returns.iter().zip(returns));
        pairs.into_iter().try_for_each(|(formal, actual)| self.check_size(formal, actual))?;
        let skip = self.skip_unless_guarded()?;
        let passed = function.params.iter().zip(arguments);
        let mut passed: Vec<_> =
            passed.map(|(formal, actual)| self.actual(formal, actual)).collect::<Result<_, _>>()?;
        let active = self.frames.iter().position(|frame| std::ptr::eq(frame.function, function));
        if active.is_some() || self.prepared.is_recursive(function) {
            match active {
                Some(depth) => self.call_again(depth, function, returns, passed)?,
                None => self.inline_recursive(function, returns, passed)?,
            }
            self.land(skip);
            return Ok(());
        }
        let wanted = function.returns.iter().zip(returns);
        let results: Vec<_> = wanted.map(|(formal, actual)| self.result_place(formal, actual)).collect();
        // If a variable is both an argument and a result of the call, the argument is copied first, so that
        // the function sees the old value.
        for actual in &mut passed {
            if let Argument::Pieces(pieces) = actual
                && results.contains(pieces)
            {
                *pieces = self.copy_pieces(*pieces)?;
            }
        }

        let (scope, local_top) = (self.scopes.current(), self.local_top);
        self.scopes.enter_file();
        self.begin(function)?;
        for (formal, actual) in function.params.iter().zip(passed) {
            self.bind(function, formal, actual)?;
        }
        for (formal, place) in function.returns.iter().zip(&results) {
            self.scopes.declare(self.source, formal)?;
            if formal.storage == Storage::Param {
                self.params.insert((self.instance(), formal.name.span.start), ParamPlace::Pieces(*place));
            }
        }
        let (guard, position, span) = (self.guard, self.position, self.span);
        self.body(function)?;
        (self.guard, self.position, self.span) = (guard, position, span);
        self.close_body();
        // The function's declarations of the result registers must still be visible when they are looked up
        // here.
        let mut truths = vec![None; function.returns.len()];
        for ((formal, place), truth) in function.returns.iter().zip(&results).zip(&mut truths) {
            if formal.storage == Storage::Reg && formal.ty == Some(Type::Pred) {
                *truth = Some(self.predicate(formal.name)?);
            } else if formal.storage == Storage::Reg {
                let ty = formal.ty.unwrap_or(Type::B32);
                let value = self.register(formal.name, ty, Width::Exact)?;
                self.put_piece(*place, 0, ty, Src::Reg(value))?;
            }
        }
        self.frames.pop();
        self.scopes.leave(scope);
        self.local_top = local_top;
        for (((formal, actual), place), truth) in function.returns.iter().zip(returns).zip(results).zip(truths) {
            match truth {
                Some(pred) => self.take_truth(actual, pred)?,
                None => self.take_result(formal, actual, place)?,
            }
        }
        self.land(skip);
        Ok(())
    }

    /// Makes every `ret` of the current function branch to the instruction after the inlined body. Removes a
    /// `ret` at the end of the body, which would only branch to the next instruction.
    pub(super) fn close_body(&mut self) {
        let Some(frame) = self.frames.last_mut() else { return };
        let mut returns = std::mem::take(&mut frame.returns);
        let last = self.insts.len().wrapping_sub(1);
        if returns.last() == Some(&last) && self.labelled <= last {
            returns.pop();
            self.insts.pop();
        }
        for from in returns {
            self.land(Some(from));
        }
    }

    fn check_call(
        &self,
        function: &'a Function<'a>,
        name: Name<'a>,
        returns: usize,
        arguments: usize,
    ) -> Result<(), PtxError> {
        if self.frames.len() > MAX_CALLS {
            let message = format!("calls are nested more than {MAX_CALLS} deep");
            return Err(self.error(name.span, "this call", message));
        }
        let (given, wanted) = ((returns, arguments), (function.returns.len(), function.params.len()));
        if given != wanted {
            let results = format_count(given.0 as u64, "result", "results");
            let arguments = format_count(given.1 as u64, "argument", "arguments");
            let message = format!(
                "`{}` is called with {results} and {arguments}, it has {} and {}",
                name.text, wanted.0, wanted.1
            );
            return Err(self.error(name.span, "this call", message));
        }
        Ok(())
    }

    /// Lowers calls of functions that the CUDA driver provides. `vprintf` prints nothing, and a failed
    /// assertion ends the launch.
    fn host_call(
        &mut self,
        declared: Name<'a>,
        returns: &'a [Operand<'a>],
        name: Name<'a>,
    ) -> Result<Option<Inst>, PtxError> {
        match declared.text {
            "vprintf" => {
                for operand in returns {
                    let place = self.result_pieces(operand);
                    self.put_piece(place, 0, Type::B32, Src::Imm(0))?;
                    self.take_register(operand, Type::B32, place)?;
                }
                Ok(None)
            }
            "__assertfail" | "__assert_fail" => Ok(Some(Inst::new(Op::Trap))),
            other => {
                let message = format!("function `{other}` is declared but has no body in this file");
                Err(self.error(name.span, "this call", message))
            }
        }
    }

    /// Evaluates an argument of a call. Names in `operand` are looked up in the caller.
    fn actual(&mut self, formal: &'a Variable<'a>, operand: &'a Operand<'a>) -> Result<Argument, PtxError> {
        if let OperandKind::Name(name, None) = operand.kind
            && let Some(found) = self.scopes.find(name.text)
            && found.variable.storage == Storage::Param
        {
            return match self.param_place(found.variable) {
                ParamPlace::Pieces(pieces) => Ok(Argument::Pieces(pieces)),
                _ => Err(self.error(name.span, "here", "a parameter cannot be passed on without a copy")),
            };
        }
        let ty = formal.ty.unwrap_or(Type::B32);
        if ty == Type::Pred {
            return Ok(Argument::Value(self.pred_src(operand)?));
        }
        let value = self.value_or_symbol(operand, ty, 0)?;
        if self.pending.is_empty() {
            return Ok(Argument::Value(value));
        }
        // The operand contains an address that is filled in when the program is loaded. A pending relocation
        // applies to the next instruction that is appended, so the copy must be appended now.
        let reg = self.temporary(ty.bits() == 64)?;
        let mut copy = Inst::new(Op::Mov(ty));
        copy.dsts[0] = Dst::Reg(reg);
        copy.srcs[0] = value;
        self.push(copy)?;
        Ok(Argument::Value(Src::Reg(reg)))
    }

    /// Binds an argument to a parameter of the function whose lowering has just begun.
    fn bind(&mut self, function: &'a Function<'a>, formal: &'a Variable<'a>, actual: Argument) -> Result<(), PtxError> {
        self.scopes.declare(self.source, formal)?;
        let ty = formal.ty.unwrap_or(Type::B32);
        if formal.storage == Storage::Reg {
            let mut copy = Inst::new(if ty == Type::Pred { Op::Pred(None) } else { Op::Mov(ty) });
            copy.dsts[0] = match ty {
                Type::Pred => Dst::Pred(self.predicate(formal.name)?),
                _ => Dst::Reg(self.register(formal.name, ty, Width::Exact)?),
            };
            copy.srcs[0] = match actual {
                Argument::Value(value) => value,
                Argument::Pieces(pieces) => Src::Reg(self.piece(pieces, 0, ty.bytes())?),
            };
            return self.push(copy);
        }
        let pieces = match actual {
            Argument::Pieces(pieces) => pieces,
            Argument::Value(value) => {
                let pieces = self.new_pieces();
                self.put_piece(pieces, 0, ty, value)?;
                pieces
            }
        };
        let place = if takes_address(function, formal) {
            let (bytes, align) = extent(self.source, formal)?;
            let at = self.grow_local(formal, bytes, align.max(8))?;
            self.spill_pieces(pieces, at)?;
            ParamPlace::Local(at)
        } else {
            ParamPlace::Pieces(pieces)
        };
        self.params.insert((self.instance(), formal.name.span.start), place);
        Ok(())
    }

    /// Returns the index of the list of registers that receives a result. This is the list of the caller's
    /// `.param` variable, or a new list if the result is a register.
    pub(super) fn result_place(&mut self, formal: &Variable<'a>, operand: &'a Operand<'a>) -> usize {
        match formal.storage {
            Storage::Param => self.result_pieces(operand),
            _ => self.new_pieces(),
        }
    }

    fn result_pieces(&mut self, operand: &'a Operand<'a>) -> usize {
        if let OperandKind::Name(name, None) = operand.kind
            && let Some(found) = self.scopes.find(name.text)
            && found.variable.storage == Storage::Param
            && let ParamPlace::Pieces(pieces) = self.param_place(found.variable)
        {
            return pieces;
        }
        self.new_pieces()
    }

    /// Copies a result to its destination in the caller, unless the inlined function has already written it
    /// there.
    pub(super) fn take_result(
        &mut self,
        formal: &Variable<'a>,
        operand: &'a Operand<'a>,
        place: usize,
    ) -> Result<(), PtxError> {
        let ty = formal.ty.unwrap_or(Type::B32);
        if formal.storage == Storage::Reg
            && let OperandKind::Name(name, None) = operand.kind
            && let Some(found) = self.scopes.find(name.text)
            && found.variable.storage == Storage::Param
        {
            let value = self.piece(place, 0, ty.bytes())?;
            let pieces = self.result_pieces(operand);
            return self.put_piece(pieces, 0, ty, Src::Reg(value));
        }
        self.take_register(operand, ty, place)
    }

    /// Copies the predicate result `pred` of a function to the destination predicate of the caller.
    pub(super) fn take_truth(&mut self, operand: &'a Operand<'a>, pred: u16) -> Result<(), PtxError> {
        let mut copy = Inst::new(Op::Pred(None));
        copy.dsts[0] = self.pred_dst(operand)?;
        copy.srcs[0] = Src::Pred(Guard { pred, negated: false });
        self.push(copy)
    }

    fn take_register(&mut self, operand: &'a Operand<'a>, ty: Type, place: usize) -> Result<(), PtxError> {
        if let OperandKind::Name(name, None) = operand.kind
            && let Some(found) = self.scopes.find(name.text)
            && found.variable.storage == Storage::Reg
        {
            let value = self.piece(place, 0, ty.bytes())?;
            let mut copy = Inst::new(Op::Mov(ty));
            copy.dsts[0] = Dst::Reg(self.register(name, ty, Width::Exact)?);
            copy.srcs[0] = Src::Reg(value);
            self.push(copy)?;
        }
        Ok(())
    }
}

/// True if the function takes the address of a parameter, that is, if it uses the parameter for anything
/// other than the address of a load or store.
pub(super) fn takes_address(function: &Function<'_>, formal: &Variable<'_>) -> bool {
    let is_it = |operand: &Operand<'_>| match operand.kind {
        OperandKind::Name(name, _) | OperandKind::Sum(name, _) => name.text == formal.name.text,
        _ => false,
    };
    function.body.iter().any(|statement| match statement {
        Statement::Instruction(inst) => inst.opcode.text != "call" && inst.operands.iter().any(is_it),
        _ => false,
    })
}
