//! # Register allocation
//! Maps the virtual registers of a program to 32-bit words of the register file, by a linear scan over live
//! intervals.
//!
//! Each lane has its own copy of a register, and an instruction writes only the copies of its active lanes.
//! For one lane, the program is a plain control flow graph, and liveness along that graph suffices, whether
//! or not other lanes diverge. A guarded write may leave the old value in place, so it is treated as a read
//! as well.
//!
//! A live value becomes an interval of program positions, from the first to the last position at which the
//! value is live. If a value is live around a loop, its interval covers the whole loop. The scan visits
//! intervals in the order of their first positions. Each interval gets the lowest free word, or the lowest
//! free even pair of words if the value has 64 bits.
//!
//! If there are more values than words, [`crate::spill`] must first move some of them to local memory.

use crate::cfg::Cfg;
use crate::program::{Dst, Form, Inst, MAX_PREDS, MAX_WORDS, Program, Reg, RegMask, Src};

/// Error for a program that needs more registers than an instruction can address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{file}:{line}: kernel `{kernel}` needs more than {limit} {what} at this point, expected at most {limit}: a thread \
     cannot address more"
)]
pub struct AllocError {
    /// Name of the source file.
    pub file: String,
    /// Source line at which the registers run out.
    pub line: u32,
    /// Name of the kernel.
    pub kernel: String,
    /// Kind of register that runs out: `32-bit registers` or `predicates`.
    pub what: &'static str,
    /// Number of registers of the kind `what` that an instruction can address.
    pub limit: u16,
}

impl AllocError {
    /// Returns the error that registers of the kind `what` run out at a position of a program.
    pub(crate) fn new(program: &Program, position: u32, what: &'static str, limit: u16) -> Self {
        let line = program.insts[position as usize / 2].line;
        Self { file: program.file.to_string(), line, kernel: program.name.clone(), what, limit }
    }
}

/// Interval of positions at which a value is live, both ends included. The instruction at `pc` reads at
/// position `2 * pc` and writes at `2 * pc + 1`. A result can therefore reuse the register of an operand that
/// the instruction reads for the last time, unless the instruction holds its operands until it has written
/// all its results ([`Inst::holds_sources`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Interval {
    pub(crate) value: u16,
    pub(crate) wide: bool,
    pub(crate) first: u32,
    pub(crate) last: u32,
}

/// Program counters (pcs) of the instructions that read or write a value.
#[derive(Clone, Debug, Default)]
pub(crate) struct Accesses {
    /// Pcs of all reads and of guarded writes. The old value must be live there, because a guarded write may
    /// leave it in place.
    pub(crate) reads: Vec<u32>,
    pub(crate) writes: Vec<u32>,
    /// Pcs of unguarded writes. Before such a write, the old value is dead.
    kills: Vec<u32>,
    /// Pcs of the instructions that still read the value while they write their results.
    held: Vec<u32>,
    wide: bool,
}

/// Assigns physical registers to a program in virtual form. Returns an unchanged copy of a program that is
/// already in physical form.
pub fn allocate(program: &Program) -> Result<Program, AllocError> {
    if program.form == Form::Physical {
        return Ok(program.clone());
    }
    let cfg = Cfg::new(&program.insts);
    let (words, preds) = accesses(&program.insts, (program.regs, program.preds));
    let fail = |position: u32, what, limit| AllocError::new(program, position, what, limit);
    let (word_of, regs) =
        scan(&intervals(&cfg, &words), words.len(), MAX_WORDS).map_err(|at| fail(at, "32-bit registers", MAX_WORDS))?;
    let (pred_of, num_preds) =
        scan(&intervals(&cfg, &preds), preds.len(), MAX_PREDS).map_err(|at| fail(at, "predicates", MAX_PREDS))?;

    let mut out = program.clone();
    out.form = Form::Physical;
    out.regs = regs;
    out.preds = num_preds;
    out.names = [].into();
    for inst in &mut out.insts {
        rename(inst, &word_of, &pred_of);
    }
    Ok(out)
}

/// Returns the accesses to each value of a program in virtual form: first of the `regs` registers, then of
/// the `preds` predicates.
pub(crate) fn accesses(insts: &[Inst], (regs, preds): (u16, u16)) -> (Vec<Accesses>, Vec<Accesses>) {
    let mut words = vec![Accesses::default(); usize::from(regs)];
    let mut truths = vec![Accesses::default(); usize::from(preds)];
    for (pc, inst) in insts.iter().enumerate() {
        let pc = pc as u32;
        for reg in inst.source_regs() {
            words[usize::from(reg.index)].read(pc, reg.wide);
            if inst.holds_sources() {
                words[usize::from(reg.index)].held.push(pc);
            }
        }
        for pred in inst.source_preds() {
            truths[usize::from(pred)].read(pc, false);
        }
        let guarded = inst.guard.is_some();
        for reg in inst.dest_regs() {
            words[usize::from(reg.index)].write(pc, reg.wide, guarded);
        }
        for pred in inst.dest_preds() {
            truths[usize::from(pred)].write(pc, false, guarded);
        }
    }
    (words, truths)
}

/// Values that are live before an instruction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Live {
    /// Registers, in ascending order of their indices.
    pub regs: Vec<Reg>,
    /// Predicates, in ascending order.
    pub preds: Vec<u16>,
}

/// Returns the values that are live before each of the instructions at `pcs`, which are in ascending order, in
/// a program in virtual form with `regs` registers and `preds` predicates.
#[must_use]
pub fn live_values(insts: &[Inst], (regs, preds): (u16, u16), pcs: &[u32]) -> Vec<Live> {
    let cfg = Cfg::new(insts);
    let (words, truths) = accesses(insts, (regs, preds));
    let mut live = vec![Live::default(); pcs.len()];
    let mut work = Vec::new();
    let mut visited = vec![u32::MAX; cfg.blocks.len()];
    let mut find = |value: usize, touches: &Accesses| {
        let mut found = Vec::new();
        walk(&cfg, touches, (value as u32, &mut visited, &mut work), |first, last| {
            found.extend(pcs.partition_point(|pc| 2 * pc < first)..pcs.partition_point(|pc| 2 * pc <= last));
        });
        found.sort_unstable();
        found.dedup();
        found
    };
    for (index, touches) in words.iter().enumerate() {
        let reg = Reg { index: index as u16, wide: touches.wide };
        find(index, touches).into_iter().for_each(|at| live[at].regs.push(reg));
    }
    for (pred, touches) in truths.iter().enumerate() {
        find(words.len() + pred, touches).into_iter().for_each(|at| live[at].preds.push(pred as u16));
    }
    live
}

/// Walks back from every read of a value, through all predecessors of its basic block, until an unguarded
/// write of the value. Calls `found` with the first and the last position of each range at which the value is
/// live. For each basic block, `visited` holds the number of the last value for which a walk reached the end
/// of the block, so that each block is visited once per value; `number` is the number of the walked value.
fn walk(
    cfg: &Cfg,
    touches: &Accesses,
    (number, visited, work): (u32, &mut [u32], &mut Vec<(u32, u32)>),
    mut found: impl FnMut(u32, u32),
) {
    work.extend(touches.reads.iter().map(|&pc| (cfg.block_of(pc), pc)));
    while let Some((b, before)) = work.pop() {
        let block = &cfg.blocks[b as usize];
        // Values that are live at the end of a block are live up to the write of its last instruction.
        let last = if before == block.end { 2 * before - 1 } else { 2 * before };
        let upto = touches.kills.partition_point(|&k| k < before);
        if upto > 0 && touches.kills[upto - 1] >= block.start {
            found(2 * touches.kills[upto - 1] + 1, last);
            continue;
        }
        found(2 * block.start, last);
        for &p in &block.preds {
            if visited[p as usize] != number {
                visited[p as usize] = number;
                work.push((p, cfg.blocks[p as usize].end));
            }
        }
    }
}

impl Accesses {
    fn read(&mut self, pc: u32, wide: bool) {
        self.reads.push(pc);
        self.wide |= wide;
    }

    fn write(&mut self, pc: u32, wide: bool, guarded: bool) {
        if guarded {
            self.reads.push(pc);
        } else {
            self.kills.push(pc);
        }
        self.writes.push(pc);
        self.wide |= wide;
    }
}

/// Returns the live intervals of all values that are read or written.
pub(crate) fn intervals(cfg: &Cfg, values: &[Accesses]) -> Vec<Interval> {
    let mut visited = vec![u32::MAX; cfg.blocks.len()];
    let mut work = Vec::new();
    let mut found = Vec::with_capacity(values.len());
    for (value, touches) in values.iter().enumerate() {
        let mut first = u32::MAX;
        let mut last = 0;
        for &pc in &touches.writes {
            first = first.min(2 * pc + 1);
            last = last.max(2 * pc + 1);
        }
        walk(cfg, touches, (value as u32, &mut visited, &mut work), |from, upto| {
            first = first.min(from);
            last = last.max(upto);
        });
        last = touches.held.iter().fold(last, |last, pc| last.max(2 * pc + 1));
        if first != u32::MAX {
            found.push(Interval { value: value as u16, wide: touches.wide, first, last });
        }
    }
    found.sort_by_key(|i| (i.first, i.value));
    found
}

/// Words of a register file, to which live intervals are assigned in the order of their first positions.
pub(crate) struct Words<'a> {
    intervals: &'a [Interval],
    /// For each word, the index of the interval that was assigned to it last.
    last: Vec<Option<u32>>,
}

impl<'a> Words<'a> {
    /// Creates a register file of `limit` words, for the values of `intervals`.
    pub(crate) fn new(intervals: &'a [Interval], limit: u16) -> Self {
        Self { intervals, last: vec![None; usize::from(limit)] }
    }

    /// Returns the index of the interval that occupies a word at a position; `None` if the word is free.
    pub(crate) fn occupant(&self, word: usize, position: u32) -> Option<u32> {
        self.last[word].filter(|&index| self.intervals[index as usize].last >= position)
    }

    /// Returns the words at which a value can begin: a 64-bit value takes an aligned pair of words. If the
    /// number of words is odd, the last word belongs to no complete pair.
    pub(crate) fn places(&self, wide: bool) -> impl Iterator<Item = usize> + use<> {
        let step = 1 + usize::from(wide);
        (0..self.last.len() / step * step).step_by(step)
    }

    /// Returns a free place for an interval. For a 32-bit value, prefers a free word whose pair is already
    /// half occupied, so that free pairs stay available for 64-bit values.
    pub(crate) fn find_free(&self, interval: &Interval) -> Option<usize> {
        let free = |word: usize| self.occupant(word, interval.first).is_none();
        let is_pair_free = |word: usize| free(word & !1) && (word | 1) < self.last.len() && free(word | 1);
        let mut places = self.places(interval.wide);
        if interval.wide {
            return places.find(|&word| is_pair_free(word));
        }
        let half = places.find(|&word| free(word) && !is_pair_free(word) && (word | 1) < self.last.len());
        half.or_else(|| self.places(false).find(|&word| free(word)))
    }

    /// Assigns the interval with the given index to the word `at`, or to the pair of words that begins there.
    pub(crate) fn assign(&mut self, at: usize, index: usize) {
        let end = at + usize::from(self.intervals[index].wide);
        self.last[at..=end].fill(Some(index as u32));
    }

    /// Frees all words of an interval.
    pub(crate) fn free(&mut self, index: u32) {
        self.last.iter_mut().filter(|last| **last == Some(index)).for_each(|last| *last = None);
    }
}

/// Assigns a register to each live interval. Returns the register of each value, and the number of registers
/// used. If there are too few registers, returns the program position at which they run out.
pub(crate) fn scan(intervals: &[Interval], values: usize, limit: u16) -> Result<(Vec<u16>, u16), u32> {
    let mut place = vec![0; values];
    let mut words = Words::new(intervals, limit);
    let mut used = 0;
    for (index, interval) in intervals.iter().enumerate() {
        let at = words.find_free(interval).ok_or(interval.first)?;
        words.assign(at, index);
        used = used.max(at as u16 + 1 + u16::from(interval.wide));
        place[usize::from(interval.value)] = at as u16;
    }
    Ok((place, used))
}

/// Replaces the values in an instruction by their registers, and updates the masks of registers that the
/// instruction reads and writes.
fn rename(inst: &mut Inst, word_of: &[u16], pred_of: &[u16]) {
    let pred = |p: &mut u16| *p = pred_of[usize::from(*p)];
    inst.regs_mut().for_each(|reg| reg.index = word_of[usize::from(reg.index)]);
    for src in &mut inst.srcs {
        if let Src::Pred(guard) = src {
            pred(&mut guard.pred);
        }
    }
    for dst in &mut inst.dsts {
        if let Dst::Pred(p) = dst {
            pred(p);
        }
    }
    if let Some(guard) = &mut inst.guard {
        pred(&mut guard.pred);
    }
    let mut reads = RegMask::default();
    inst.source_regs().for_each(|reg| reads.insert_reg(reg));
    inst.source_preds().for_each(|p| reads.insert_pred(p));
    let mut writes = RegMask::default();
    inst.dest_regs().for_each(|reg| writes.insert_reg(reg));
    inst.dest_preds().for_each(|p| writes.insert_pred(p));
    inst.reads = reads;
    inst.writes = writes;
}
