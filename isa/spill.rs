//! # Register spilling
//! Moves values of a program to local memory, so that it needs at most a given number of registers. A spilled
//! value is loaded before each instruction that reads it, and stored after each instruction that writes it.
//! The loads and stores are instructions like any other: they take time, and they access the L1D.
//!
//! The scan of [`crate::alloc`] determines where registers run out. There, the value with the least cost is
//! spilled: the number of its accesses, each weighted by 10 for each loop around it, divided by the length of
//! the rest of its live interval. `ptxas` spills by other rules, which are not published.
//!
//! An access needs a register for a moment, so that an instruction with many operands sets a lower limit. If
//! a program cannot keep to the given number of registers, it gets as few more as possible.

use crate::alloc::{Accesses, AllocError, Interval, Words, accesses, intervals, scan};
use crate::cfg::{Cfg, resolve_reconvergence};
use crate::map::LOCAL_BYTES;
use crate::program::{Dst, Form, Inst, MAX_WORDS, MemOp, Op, Program, Reg, Src};
use crate::types::{CacheOp, Space, Type};

/// Weight of an access per loop around it, and the largest number of loops that count.
const LOOP_WEIGHT: u64 = 10;
const MAX_LOOPS: u32 = 6;

/// Returns a program in virtual form that needs at most `limit` registers of 32 bits, if that is possible,
/// and at most [`MAX_WORDS`] in any case. Other limits than [`MAX_WORDS`] are rounded down to an even number.
/// The result is a program in virtual form, too.
///
/// # Errors
/// Returns an error if a program needs more than [`MAX_WORDS`] registers even with spilling, or if its local
/// memory would become too large. A program with a stack is not changed, because the stack must remain at the
/// end of local memory; the error is returned if such a program needs more than [`MAX_WORDS`] registers.
pub fn spill(mut program: Program, limit: u16) -> Result<Program, AllocError> {
    // With an even number of registers, or with all of them, the scan of `allocate` places values as this one
    // does, although it knows no limit.
    let may_spill = program.stack_bytes == 0;
    let mut limit = if may_spill && limit < MAX_WORDS { (limit & !1).max(2) } else { MAX_WORDS };
    // Registers with smaller indices existed before this function was called; the others hold a spilled value
    // for one instruction, and must not be spilled.
    let original = program.regs;
    while program.form == Form::Virtual {
        let cfg = Cfg::new(&program.insts);
        let (values, _) = accesses(&program.insts, (program.regs, program.preds));
        let intervals = intervals(&cfg, &values);
        let Err(position) = scan(&intervals, values.len(), limit) else { break };
        let costs = find_costs(&program.insts, &values, original);
        match if may_spill { choose(&intervals, &costs, limit) } else { Err(position) } {
            Ok(spilled) => move_to_memory(&mut program, &spilled)?,
            Err(_) if limit < MAX_WORDS => limit = (limit + 2).min(MAX_WORDS),
            Err(position) => return Err(AllocError::new(&program, position, "32-bit registers", limit)),
        }
    }
    Ok(program)
}

/// Returns the cost of spilling each value: the weighted number of the inserted loads and stores. `None` for a
/// value that must not be spilled.
fn find_costs(insts: &[Inst], values: &[Accesses], original: u16) -> Vec<Option<u64>> {
    // The instructions from the target of a backward branch to that branch form a loop.
    let mut entered = vec![0i32; insts.len() + 1];
    for (pc, inst) in insts.iter().enumerate() {
        if let Op::Branch { target, .. } = inst.op
            && target as usize <= pc
        {
            entered[target as usize] += 1;
            entered[pc + 1] -= 1;
        }
    }
    let mut loops = 0;
    let weights: Vec<u64> = entered
        .iter()
        .map(|change| {
            loops += change;
            LOOP_WEIGHT.pow(loops.unsigned_abs().min(MAX_LOOPS))
        })
        .collect();
    let cost = |value: &Accesses| value.reads.iter().chain(&value.writes).map(|&pc| weights[pc as usize]).sum();
    values.iter().enumerate().map(|(index, value)| (index < original.into()).then(|| cost(value))).collect()
}

/// Returns the intervals whose values are spilled, so that `limit` registers suffice for the others. If that
/// is impossible, returns the position at which it is.
fn choose(intervals: &[Interval], costs: &[Option<u64>], limit: u16) -> Result<Vec<Interval>, u32> {
    let mut words = Words::new(intervals, limit);
    let mut spilled = Vec::new();
    for (index, interval) in intervals.iter().enumerate() {
        if let Some(at) = words.find_free(interval) {
            words.assign(at, index);
            continue;
        }
        let price = |candidate: &Interval| {
            let rest = f64::from(candidate.last - interval.first + 1);
            costs[usize::from(candidate.value)].map(|cost| cost as f64 / rest)
        };
        // A 64-bit value may replace two 32-bit values.
        let of_place = |at: usize| {
            let mut there: Vec<u32> = (at..=at + usize::from(interval.wide))
                .filter_map(|word| words.occupant(word, interval.first))
                .collect();
            there.dedup();
            let total: Option<f64> = there.iter().map(|&other| price(&intervals[other as usize])).sum();
            total.map(|total| (total, at, there))
        };
        let cheapest = words.places(interval.wide).filter_map(of_place).min_by(|one, other| one.0.total_cmp(&other.0));
        match (cheapest, price(interval)) {
            (Some((total, at, there)), own) if own.is_none_or(|own| total < own) => {
                for other in there {
                    words.free(other);
                    spilled.push(intervals[other as usize]);
                }
                words.assign(at, index);
            }
            (_, Some(_)) => spilled.push(*interval),
            (_, None) => return Err(interval.first),
        }
    }
    Ok(spilled)
}

/// Moves values of a program to local memory. Values that are never live at the same time share their bytes.
fn move_to_memory(program: &mut Program, spilled: &[Interval]) -> Result<(), AllocError> {
    let mut spilled = spilled.to_vec();
    spilled.sort_by_key(|interval| (interval.first, interval.value));
    let first = spilled.first().map_or(0, |interval| interval.first);
    let (words, used) = scan(&spilled, program.regs.into(), u16::MAX)
        .map_err(|at| AllocError::new(program, at, "32-bit words of spilled values", u16::MAX))?;
    let start = program.local_bytes;
    let mut homes: Vec<Option<Home>> = vec![None; program.regs.into()];
    for Interval { value, wide, .. } in spilled {
        let offset = i64::from(start) + 4 * i64::from(words[usize::from(value)]);
        homes[usize::from(value)] = Some(Home { wide, offset });
    }
    let bytes = (4 * u32::from(used)).next_multiple_of(16);
    program.local_bytes += bytes;
    program.spill_bytes += bytes;
    if u64::from(program.local_bytes) > LOCAL_BYTES {
        return Err(AllocError::new(program, first, "32-bit words of spilled values", used));
    }

    let mut names = program.names[..program.regs.into()].to_vec();
    let mut insts = Vec::with_capacity(program.insts.len() * 2);
    // For each old pc, the pc of the instruction and that of the first load before it.
    let (mut moved, mut starts) = (Vec::new(), Vec::new());
    for mut inst in std::mem::take(&mut program.insts) {
        starts.push(insts.len() as u32);
        let place = |op: Op| Inst { line: inst.line, column: inst.column, ..Inst::new(op) };
        let written: Vec<u16> = inst.dest_regs().map(|reg| reg.index).collect();
        let mut stores = Vec::new();
        let mut held: Vec<(u16, u16)> = Vec::new();
        // The old value is loaded even if a guarded instruction only writes it, since the lanes without the
        // guard store it again.
        let is_guarded = inst.guard.is_some();
        let read: Vec<u16> = inst.source_regs().map(|reg| reg.index).collect();
        for value in read.iter().chain(&written).copied() {
            let Some(home) = homes[usize::from(value)] else { continue };
            if held.iter().any(|(other, _)| *other == value) {
                continue;
            }
            let index = names.len() as u16;
            if index == u16::MAX {
                program.insts = vec![inst];
                return Err(AllocError::new(program, 0, "values", index));
            }
            names.push(names[usize::from(value)].clone());
            held.push((value, index));
            let reg = Reg { index, wide: home.wide };
            if is_guarded || read.contains(&value) {
                insts.push(Inst {
                    dsts: [Dst::Reg(reg), Dst::None, Dst::None, Dst::None],
                    ..place(Op::Load(home.access()))
                });
            }
            if written.contains(&value) {
                let mut store = place(Op::Store(home.access()));
                store.srcs[0] = Src::Reg(reg);
                stores.push(store);
            }
        }
        for reg in inst.regs_mut() {
            if let Some((_, index)) = held.iter().find(|(value, _)| *value == reg.index) {
                reg.index = *index;
            }
        }
        moved.push(insts.len() as u32);
        insts.push(inst);
        insts.append(&mut stores);
    }
    for inst in &mut insts {
        if let Op::Branch { target, .. } = &mut inst.op {
            *target = starts[*target as usize];
        }
    }
    resolve_reconvergence(&mut insts);
    program.relocations.iter_mut().for_each(|relocation| relocation.pc = moved[relocation.pc as usize]);
    let regs = names.len() as u16;
    names.extend_from_slice(&program.names[program.regs.into()..]);
    (program.insts, program.regs, program.names) = (insts, regs, names.into());
    Ok(())
}

/// Place of a spilled value in local memory.
#[derive(Clone, Copy)]
struct Home {
    wide: bool,
    /// Offset in bytes in the local memory of the thread.
    offset: i64,
}

impl Home {
    /// Returns the access to the value.
    fn access(self) -> MemOp {
        let (space, cache, offset) = (Space::Local, CacheOp::Default, self.offset);
        let ty = if self.wide { Type::B64 } else { Type::B32 };
        MemOp { space, ty, lanes: 1, cache, l2_priority: None, volatile: false, base: None, offset }
    }
}
