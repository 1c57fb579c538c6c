//! Lowering of functions that call themselves, directly or through other functions. Such a function is
//! inlined once, where the kernel or a function outside of the cycle calls it. A call of a function that is
//! being inlined becomes a branch back to its beginning, and its end becomes a branch to the caller.
//!
//! All frames in local memory of the inlined function, and of the functions that it calls, form one *block*.
//! Each recursive call uses a further block, behind that of its caller: the stack. A register holds the
//! offset of the current block. A recursive call:
//!
//! 1. saves in the block of the caller those registers and predicates that the caller still needs;
//! 2. advances to the next block, and copies the arguments to the parameters of the function;
//! 3. sets a register to the number of the call, and branches to the beginning of the function.
//!
//! At its end, the function compares this register with the numbers of the calls. Number 0 is the call from
//! outside. Each other call then:
//!
//! 4. copies the result, returns to the block of the caller, and restores the registers and predicates;
//! 5. branches to the instruction after the call.
//!
//! Lanes of a warp may be at different depths: a call is control flow like any other. On a GPU, functions
//! that are not inlined follow a calling convention, which saves other registers and in another order.

use std::mem;
use std::rc::Rc;

use rustc_hash::FxHashSet;

use super::super::PtxError;
use super::super::ast::{Function, Module, Operand, OperandKind, Storage, Variable};
use super::call::Argument;
use super::control::open_branch;
use super::layout::{calls, extent, place_local};
use super::params::ParamPlace;
use super::{Lowering, PreparedModule};
use isa::alloc::{Live, live_values};
use isa::lanes::{AluFn, AluOp, CompareOp};
use isa::map::LOCAL_BYTES;
use isa::program::{Dst, Guard, Inst, MemOp, NO_PC, Op, Reg, Src};
use isa::types::{CacheOp, Cmp, Space, Type};

/// Smallest alignment of a block of the stack, in bytes.
const BLOCK_ALIGN: u32 = 16;

/// Location of a parameter or a result of a recursive function, or of a copy of one.
#[derive(Clone, Copy, Debug)]
enum Home {
    Reg(Reg, Type),
    Pred(u16),
    /// Local memory, at this offset in the current block.
    Local {
        at: u32,
        bytes: u32,
    },
}

/// Recursive function that is being inlined.
pub(super) struct Activation {
    /// Pc of the first instruction of the body.
    entry: usize,
    /// Register with the number of the call to which the function returns.
    caller: Reg,
    params: Vec<Home>,
    results: Vec<Home>,
}

/// Call of a function that is being inlined.
struct Recursion {
    /// Number of the inlined call that is called again.
    instance: u32,
    /// Pc of the branch that replaces the call. The caller continues at the next pc.
    site: usize,
    /// Pc of the branch with which the function returns to this call; set at the end of the function.
    back: usize,
    position: (u32, u32),
    arguments: Vec<Argument>,
    received: Vec<Home>,
    called: Rc<Activation>,
}

/// Instructions of the outermost recursive function that is being inlined. Functions that it calls, recursive
/// or not, use the same stack.
pub(super) struct Region {
    /// Register with the offset of the current block.
    pub(super) block: Reg,
    /// Pc of the first instruction.
    first: usize,
    /// Register and predicate indices from which on values belong to the region.
    first_reg: u16,
    first_pred: u16,
    /// Offset in local memory at which the first block begins, and the largest offset in use.
    start: u32,
    pub(super) top: u32,
    pub(super) align: u32,
    calls: Vec<Recursion>,
    /// Number of functions that are being lowered outside of the region.
    pub(super) depth: usize,
}

/// Returns the functions of a module that can call themselves, directly or through others, by their numbers.
/// Functions that a cycle of calls reaches, and from which another is reached, are included.
pub(super) fn recursive_functions(module: &Module<'_>, prepared: &PreparedModule<'_>) -> FxHashSet<u64> {
    let number = |name: &str| module.function_address(name).map(|address| address as usize - 1);
    let mut callees: Vec<Vec<usize>> = vec![Vec::new(); module.functions.len()];
    let mut callers = callees.clone();
    for function in module.functions.iter().filter(|function| function.has_body && !function.is_entry) {
        let Some(caller) = number(function.name.text) else { continue };
        let (mut names, through_pointer) = calls(module, function);
        if through_pointer {
            names.extend(prepared.addressed_functions().iter().map(|function| function.name.text));
        }
        for callee in names.into_iter().filter_map(number) {
            callees[caller].push(callee);
            callers[callee].push(caller);
        }
    }
    let mut is_left = vec![true; callees.len()];
    // Without the functions that call none of the others, and then without those that none of the others
    // calls, again and again, only cycles are left.
    for (edges, reversed) in [(&callees, &callers), (&callers, &callees)] {
        let mut count: Vec<usize> = edges.iter().map(|to| to.iter().filter(|&&to| is_left[to]).count()).collect();
        let mut work: Vec<usize> = (0..count.len()).filter(|&at| is_left[at] && count[at] == 0).collect();
        while let Some(at) = work.pop() {
            is_left[at] = false;
            for &from in reversed[at].iter().filter(|&&from| is_left[from]) {
                count[from] -= 1;
                if count[from] == 0 {
                    work.push(from);
                }
            }
        }
    }
    (0..).zip(is_left).filter_map(|(number, is_left)| is_left.then_some(number + 1)).collect()
}

impl<'a> Lowering<'_, 'a> {
    /// Inlines the body of a function that can call itself.
    pub(super) fn inline_recursive(
        &mut self,
        function: &'a Function<'a>,
        returns: &'a [Operand<'a>],
        passed: Vec<Argument>,
    ) -> Result<(), PtxError> {
        let received = self.receive(function, returns)?;
        let (scope, local_top) = (self.scopes.current(), self.local_top);
        let is_outermost = self.region.is_none();
        if is_outermost {
            self.open_region()?;
        }
        self.scopes.enter_file();
        self.begin(function)?;
        let params = function.params.iter().map(|formal| self.home(function, formal)).collect::<Result<Vec<_>, _>>()?;
        let results =
            function.returns.iter().map(|formal| self.home(function, formal)).collect::<Result<Vec<_>, _>>()?;
        for (home, argument) in params.iter().zip(&passed) {
            self.pass(*home, argument)?;
        }
        let caller = self.temporary(false)?;
        self.put(Dst::Reg(caller), Op::Mov(Type::B32), &[Src::Imm(0)])?;
        let entry = self.insts.len();
        self.labelled = entry;
        let activation = Rc::new(Activation { entry, caller, params, results });
        if let Some(frame) = self.frames.last_mut() {
            frame.activation = Some(activation.clone());
        }
        let (guard, position, span) = (self.guard, self.position, self.span);
        self.body(function)?;
        (self.guard, self.position, self.span) = (guard, position, span);
        self.close_body();
        self.return_to_callers(caller)?;
        for (result, to) in activation.results.iter().zip(&received) {
            self.copy_home(*result, *to, 0)?;
        }
        self.frames.pop();
        self.scopes.leave(scope);
        self.local_top = local_top;
        if is_outermost {
            self.close_region()?;
        }
        self.take_received(function, returns, received)
    }

    /// Lowers a call of the function at position `depth` of the stack of functions that are being inlined.
    pub(super) fn call_again(
        &mut self,
        depth: usize,
        function: &'a Function<'a>,
        returns: &'a [Operand<'a>],
        passed: Vec<Argument>,
    ) -> Result<(), PtxError> {
        let received = self.receive(function, returns)?;
        let instance = self.frames[depth].instance;
        let Some(called) = self.frames[depth].activation.clone() else {
            return Err(self.error(self.span, "this call", "the called function was not known to call itself"));
        };
        // The parameters of the function are also those of its caller, so all arguments are read first.
        let mut arguments = Vec::new();
        for (home, argument) in called.params.iter().zip(passed) {
            arguments.push(self.hold(*home, argument)?);
        }
        let site = self.insts.len();
        self.push(open_branch(false))?;
        self.labelled = self.insts.len();
        let position = self.position;
        let call = Recursion { instance, site, back: site, position, arguments, received: received.clone(), called };
        if let Some(region) = &mut self.region {
            region.calls.push(call);
        }
        self.take_received(function, returns, received)
    }

    /// Opens the stack of the outermost recursive function.
    fn open_region(&mut self) -> Result<(), PtxError> {
        let block = self.temporary(true)?;
        self.put(Dst::Reg(block), Op::Mov(Type::B64), &[Src::Imm(0)])?;
        self.local_top = self.local_top.next_multiple_of(BLOCK_ALIGN);
        self.region = Some(Region {
            block,
            first: self.insts.len(),
            first_reg: self.num_regs as u16,
            first_pred: self.num_preds as u16,
            start: self.local_top,
            top: self.local_top,
            align: BLOCK_ALIGN,
            calls: Vec::new(),
            depth: self.frames.len(),
        });
        Ok(())
    }

    /// Appends the code that saves and restores the registers of each recursive call, behind a branch that
    /// skips it.
    fn close_region(&mut self) -> Result<(), PtxError> {
        let Some(region) = &mut self.region else { return Ok(()) };
        let calls = mem::take(&mut region.calls);
        let region = Region { calls: Vec::new(), ..*region };
        let block = region.block;
        if calls.is_empty() {
            self.region = None;
            return Ok(());
        }
        let live = self.live_after_calls(&region, &calls)?;
        let first_slot = region.top.next_multiple_of(8);
        let slots: Vec<Vec<(Home, u32)>> = live.iter().map(|live| slots(live, &region, first_slot)).collect();
        let end = slots.iter().flatten().map(|(home, at)| at + home.bytes()).max().unwrap_or(first_slot);
        let block_bytes = (end - region.start).next_multiple_of(region.align);
        let end = region.start.saturating_add(block_bytes);
        if u64::from(end) > LOCAL_BYTES {
            return Err(self.error(self.span, "this call", "the variables of the functions exceed local memory"));
        }
        self.local_bytes = self.local_bytes.max(end);
        self.has_stack = true;
        let (position, skip) = (self.position, self.insts.len());
        self.push(open_branch(false))?;
        for (number, (call, slots)) in (1..).zip(calls.iter().zip(&slots)) {
            self.position = call.position;
            let Activation { entry, caller, params, results } = &*call.called;
            self.land(Some(call.site));
            for &(home, at) in slots {
                self.save(home, block, at)?;
            }
            self.add(block, u64::from(block_bytes))?;
            for (param, argument) in params.iter().zip(&call.arguments) {
                self.pass(*param, argument)?;
            }
            self.put(Dst::Reg(*caller), Op::Mov(Type::B32), &[Src::Imm(number)])?;
            self.push(branch_to(*entry))?;

            self.land(Some(call.back));
            for (result, to) in results.iter().zip(&call.received) {
                self.copy_home(*result, *to, block_bytes)?;
            }
            self.add(block, u64::from(block_bytes).wrapping_neg())?;
            for &(home, at) in slots {
                self.restore(home, block, at)?;
            }
            self.push(branch_to(call.site + 1))?;
        }
        self.region = None;
        self.position = position;
        self.land(Some(skip));
        Ok(())
    }

    /// Returns, for each recursive call, the values that are live when it returns.
    fn live_after_calls(&self, region: &Region, calls: &[Recursion]) -> Result<Vec<Live>, PtxError> {
        let (first, end) = (region.first, self.insts.len());
        let mut insts = self.insts[first..end].to_vec();
        for jump in self.jumps.iter().filter(|jump| jump.pc >= first) {
            if let Some(pc) = self.scopes.find_label(jump.label.text, jump.scope) {
                insts[jump.pc - first].op = branch_to(pc as usize).op;
            }
        }
        for inst in &mut insts {
            if let Op::Branch { target, .. } = &mut inst.op {
                // Until its label is found, a branch leads to pc 0.
                *target = target.saturating_sub(first as u32);
            }
        }
        // The first added exit stands for the instructions after the region. The second one stands for the
        // code that returns to a call: it restores all values, so none is live before it.
        let exits = insts.len() as u32;
        insts.extend([Inst::new(Op::Exit), Inst::new(Op::Exit)]);
        // A call leads to the beginning of the function, and to the next instruction once it has returned.
        let counts = u16::try_from(self.num_regs).ok().zip(u16::try_from(self.num_preds + 1).ok());
        let Some((regs, preds)) = counts else {
            return Err(self.error(self.span, "here", "the kernel names too many registers"));
        };
        let either = preds - 1;
        for call in calls {
            let site = &mut insts[call.site - first];
            site.op = branch_to(call.called.entry - first).op;
            site.guard = Some(Guard { pred: either, negated: false });
            insts[call.back - first].op = branch_to(exits as usize + 1).op;
        }
        let after: Vec<u32> = calls.iter().map(|call| (call.site + 1 - first) as u32).collect();
        let mut live = live_values(&insts, (regs, preds), &after);
        for (live, call) in live.iter_mut().zip(calls) {
            // The results of a call are those of its end, so they are not restored.
            let is_result = |home: &Home, value: Src| match home {
                Home::Reg(reg, _) => value == Src::Reg(*reg),
                Home::Pred(pred) => value == Src::Pred(Guard { pred: *pred, negated: false }),
                Home::Local { .. } => false,
            };
            let is_kept = |value: Src| !call.received.iter().any(|home| is_result(home, value));
            live.regs.retain(|reg| is_kept(Src::Reg(*reg)));
            live.preds.retain(|&pred| pred != either && is_kept(Src::Pred(Guard { pred, negated: false })));
        }
        Ok(live)
    }

    /// Appends the branches from the end of a function to the calls that it returns to.
    fn return_to_callers(&mut self, caller: Reg) -> Result<(), PtxError> {
        let instance = self.instance();
        let calls = self.region.iter().flat_map(|region| &region.calls).enumerate();
        let calls: Vec<usize> = calls.filter(|(_, call)| call.instance == instance).map(|(at, _)| at).collect();
        for at in calls {
            let is_it = self.new_pred()?;
            let op = CompareOp { cmp: Cmp::Eq, ty: Type::B32, ftz: false, combine: None };
            self.put(Dst::Pred(is_it), Op::Compare(op), &[Src::Reg(caller), Src::Imm(at as u64 + 1)])?;
            let back = self.insts.len();
            self.guard = Some(Guard { pred: is_it, negated: false });
            self.push(open_branch(false))?;
            self.guard = None;
            if let Some(region) = &mut self.region {
                region.calls[at].back = back;
            }
        }
        Ok(())
    }

    /// Declares a parameter or result of the recursive function whose lowering has just begun. Scalars become
    /// registers. Arrays, and parameters whose address is taken, become variables in local memory.
    fn home(&mut self, function: &'a Function<'a>, formal: &'a Variable<'a>) -> Result<Home, PtxError> {
        self.scopes.declare(self.source, formal)?;
        let ty = formal.ty.unwrap_or(Type::B32);
        if formal.storage == Storage::Reg {
            return match ty {
                Type::Pred => Ok(Home::Pred(self.predicate(formal.name)?)),
                _ => Ok(Home::Reg(self.register(formal.name, ty, super::operands::Width::Exact)?, ty)),
            };
        }
        let (home, place) = if is_array(formal) || super::call::takes_address(function, formal) {
            let (bytes, at) = self.reserve(formal)?;
            (Home::Local { at, bytes }, ParamPlace::Local(at))
        } else {
            let pieces = self.new_pieces();
            (Home::Reg(self.new_piece(pieces, ty)?, ty), ParamPlace::Pieces(pieces))
        };
        self.params.insert((self.instance(), formal.name.span.start), place);
        Ok(home)
    }

    /// Returns the places of the caller that receive the results of a call. A `.param` array of the caller
    /// becomes a variable in its local memory.
    fn receive(&mut self, function: &'a Function<'a>, returns: &'a [Operand<'a>]) -> Result<Vec<Home>, PtxError> {
        let mut received = Vec::new();
        for (formal, actual) in function.returns.iter().zip(returns) {
            let ty = formal.ty.unwrap_or(Type::B32);
            received.push(if ty == Type::Pred {
                Home::Pred(self.new_pred()?)
            } else if is_array(formal) && formal.storage == Storage::Param {
                let (bytes, at) = self.reserve(formal)?;
                self.place_result(actual, at)?;
                Home::Local { at, bytes }
            } else {
                Home::Reg(self.temporary(ty.bits() == 64)?, ty)
            });
        }
        Ok(received)
    }

    /// Makes the `.param` variable that receives the result of a call a variable in local memory.
    fn place_result(&mut self, actual: &'a Operand<'a>, at: u32) -> Result<(), PtxError> {
        let OperandKind::Name(name, None) = actual.kind else { return Ok(()) };
        let Some(found) = self.scopes.find(name.text) else { return Ok(()) };
        if found.variable.storage != Storage::Param {
            return Ok(());
        }
        let key = (self.instance(), found.variable.name.span.start);
        let is_used = match self.params.get(&key) {
            Some(ParamPlace::Pieces(pieces)) => !self.pieces[*pieces].is_empty(),
            Some(_) => true,
            None => false,
        };
        if is_used {
            let message = format!("`{}` receives an array of a recursive function, and is used before", name.text);
            return Err(self.error(name.span, "here", message));
        }
        self.params.insert(key, ParamPlace::Local(at));
        Ok(())
    }

    /// Reserves local memory for a variable. Returns its size and its offset in bytes.
    fn reserve(&mut self, formal: &Variable<'a>) -> Result<(u32, u32), PtxError> {
        let (bytes, align) = extent(self.source, formal)?;
        let at = self.grow_local(formal, bytes, align.max(8))?;
        Ok((bytes as u32, at))
    }

    /// Copies the results that have been received to the operands of the call.
    fn take_received(
        &mut self,
        function: &'a Function<'a>,
        returns: &'a [Operand<'a>],
        received: Vec<Home>,
    ) -> Result<(), PtxError> {
        for ((formal, actual), home) in function.returns.iter().zip(returns).zip(received) {
            match home {
                Home::Pred(pred) => self.take_truth(actual, pred)?,
                Home::Reg(reg, ty) => {
                    let place = self.result_place(formal, actual);
                    self.put_piece(place, 0, ty, Src::Reg(reg))?;
                    self.take_result(formal, actual, place)?;
                }
                Home::Local { .. } => {}
            }
        }
        Ok(())
    }

    /// Copies an argument to a parameter of a recursive function.
    fn pass(&mut self, home: Home, argument: &Argument) -> Result<(), PtxError> {
        match home {
            Home::Pred(pred) => {
                let Argument::Value(value) = argument else { return Ok(()) };
                self.put(Dst::Pred(pred), Op::Pred(None), &[*value])
            }
            Home::Reg(reg, ty) => {
                let value = self.scalar(argument, ty)?;
                self.put(Dst::Reg(reg), Op::Mov(ty), &[value])
            }
            Home::Local { at, bytes } => {
                let pieces = match argument {
                    Argument::Pieces(pieces) => *pieces,
                    Argument::Value(value) => {
                        let pieces = self.new_pieces();
                        let ty = if bytes == 8 { Type::B64 } else { Type::B32 };
                        self.put_piece(pieces, 0, ty, *value)?;
                        pieces
                    }
                };
                self.spill_pieces(pieces, at)
            }
        }
    }

    /// Copies an argument to new registers, so that it stays as it is while other parameters are written.
    fn hold(&mut self, home: Home, argument: Argument) -> Result<Argument, PtxError> {
        match (home, argument) {
            (Home::Pred(_), Argument::Value(value)) => {
                let pred = self.new_pred()?;
                self.put(Dst::Pred(pred), Op::Pred(None), &[value])?;
                Ok(Argument::Value(Src::Pred(Guard { pred, negated: false })))
            }
            (Home::Reg(_, ty), argument) => {
                let value = self.scalar(&argument, ty)?;
                let reg = self.temporary(ty.bits() == 64)?;
                self.put(Dst::Reg(reg), Op::Mov(ty), &[value])?;
                Ok(Argument::Value(Src::Reg(reg)))
            }
            (_, Argument::Pieces(pieces)) => Ok(Argument::Pieces(self.copy_pieces(pieces)?)),
            (Home::Local { .. }, argument) => Ok(argument),
        }
    }

    fn scalar(&mut self, argument: &Argument, ty: Type) -> Result<Src, PtxError> {
        match argument {
            Argument::Value(value) => Ok(*value),
            Argument::Pieces(pieces) => Ok(Src::Reg(self.piece(*pieces, 0, ty.bytes())?)),
        }
    }

    /// Copies a result. Offsets of `to` are those of a block that lies `back` bytes before the current one.
    fn copy_home(&mut self, from: Home, to: Home, back: u32) -> Result<(), PtxError> {
        match (from, to) {
            (Home::Reg(from, ty), Home::Reg(to, _)) => self.put(Dst::Reg(to), Op::Mov(ty), &[Src::Reg(from)]),
            (Home::Pred(pred), Home::Pred(to)) => {
                self.put(Dst::Pred(to), Op::Pred(None), &[Src::Pred(Guard { pred, negated: false })])
            }
            (Home::Local { at: from, bytes }, Home::Local { at: to, .. }) => {
                let mut done = 0;
                while done < bytes {
                    let ty = [Type::B64, Type::B32, Type::B16, Type::B8]
                        .into_iter()
                        .find(|ty| ty.bytes() <= bytes - done)
                        .unwrap_or(Type::B8);
                    let value = self.temporary(ty == Type::B64)?;
                    let base = self.region.as_ref().map(|region| region.block);
                    let load = Op::Load(local(base, i64::from(from + done), ty));
                    self.put(Dst::Reg(value), load, &[])?;
                    let offset = i64::from(to + done) - i64::from(back);
                    self.put(Dst::None, Op::Store(local(base, offset, ty)), &[Src::Reg(value)])?;
                    done += ty.bytes();
                }
                Ok(())
            }
            // Parameters and results of one function have the same kind in all of its calls.
            _ => Ok(()),
        }
    }

    fn save(&mut self, home: Home, block: Reg, at: u32) -> Result<(), PtxError> {
        let (value, ty) = match home {
            Home::Pred(pred) => {
                let truth = self.temporary(false)?;
                let pred = Src::Pred(Guard { pred, negated: false });
                self.put(Dst::Reg(truth), Op::Select(Type::B32), &[Src::Imm(1), Src::Imm(0), pred])?;
                (truth, Type::B32)
            }
            Home::Reg(reg, ty) => (reg, ty),
            Home::Local { .. } => return Ok(()),
        };
        self.put(Dst::None, Op::Store(local(Some(block), at.into(), ty)), &[Src::Reg(value)])
    }

    fn restore(&mut self, home: Home, block: Reg, at: u32) -> Result<(), PtxError> {
        match home {
            Home::Reg(reg, ty) => self.put(Dst::Reg(reg), Op::Load(local(Some(block), at.into(), ty)), &[]),
            Home::Pred(pred) => {
                let truth = self.temporary(false)?;
                self.put(Dst::Reg(truth), Op::Load(local(Some(block), at.into(), Type::B32)), &[])?;
                let op = CompareOp { cmp: Cmp::Ne, ty: Type::B32, ftz: false, combine: None };
                self.put(Dst::Pred(pred), Op::Compare(op), &[Src::Reg(truth), Src::Imm(0)])
            }
            Home::Local { .. } => Ok(()),
        }
    }

    fn add(&mut self, reg: Reg, value: u64) -> Result<(), PtxError> {
        self.put(Dst::Reg(reg), Op::Alu(AluOp::new(AluFn::Add, Type::U64)), &[Src::Reg(reg), Src::Imm(value)])
    }

    /// Appends an operation with at most one result.
    pub(super) fn put(&mut self, dst: Dst, op: Op, srcs: &[Src]) -> Result<(), PtxError> {
        let mut inst = Inst::new(op);
        inst.dsts[0] = dst;
        inst.srcs[..srcs.len()].copy_from_slice(srcs);
        self.push(inst)
    }

    /// Reserves local memory for a variable of the function that is being lowered, and returns its offset.
    pub(super) fn grow_local(&mut self, variable: &Variable<'a>, bytes: u64, align: u64) -> Result<u32, PtxError> {
        let at;
        (at, self.local_top) = place_local(self.source, variable, (bytes, align), self.local_top)?;
        self.local_bytes = self.local_bytes.max(self.local_top);
        if let Some(region) = &mut self.region {
            region.top = region.top.max(self.local_top);
            region.align = region.align.max(align as u32);
        }
        Ok(at)
    }
}

impl Home {
    /// Size of the value in bytes, as it is saved.
    fn bytes(self) -> u32 {
        match self {
            Home::Reg(Reg { wide: true, .. }, _) => 8,
            Home::Reg(..) | Home::Pred(_) => 4,
            Home::Local { bytes, .. } => bytes,
        }
    }
}

/// Returns the values of the region that a call must save, with their offsets from `first` on: first the
/// 64-bit registers, then the others.
fn slots(live: &Live, region: &Region, first: u32) -> Vec<(Home, u32)> {
    let regs = || live.regs.iter().filter(|reg| reg.index >= region.first_reg);
    let wide = regs().filter(|reg| reg.wide).map(|reg| Home::Reg(*reg, Type::B64));
    let narrow = regs().filter(|reg| !reg.wide).map(|reg| Home::Reg(*reg, Type::B32));
    let preds = live.preds.iter().filter(|pred| **pred >= region.first_pred).map(|pred| Home::Pred(*pred));
    let mut at = first;
    wide.chain(narrow)
        .chain(preds)
        .map(|home| {
            let slot = at;
            at += home.bytes();
            (home, slot)
        })
        .collect()
}

/// Returns an access to the local memory of a thread.
pub(super) fn local(base: Option<Reg>, offset: i64, ty: Type) -> MemOp {
    let (space, cache) = (Space::Local, CacheOp::Default);
    MemOp { space, ty, lanes: 1, cache, l2_priority: None, volatile: false, base, offset }
}

fn branch_to(pc: usize) -> Inst {
    Inst::new(Op::Branch { target: pc as u32, reconverge: NO_PC, uniform: false })
}

fn is_array(formal: &Variable<'_>) -> bool {
    formal.elements.is_some() || formal.vector > 1
}
