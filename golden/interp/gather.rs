//! Threads that wait for each other: at barriers, and in exchanges between the lanes of a
//! warp. Looked at only when no thread can run.
//!
//! An exchange that does not name its members takes place between the lanes that come to it
//! together. Threads run on their own here, so that some may have run ahead: of several places
//! at which lanes of a warp wait, the one from which the others can be reached goes first, as
//! it does where lanes that part meet again at the first point common to their paths. In a
//! loop that holds several such places it is the first in program order.

use isa::cfg::Cfg;
use isa::lanes::{WarpInputs, WarpOp, warp};
use isa::program::{BarrierKind, Op, Program};

use super::code::Decoded;
use super::{Cta, FaultKind, InterpError, State};

const LANES: usize = 32;
const BARRIERS: usize = 16;

/// What barriers have seen of threads that did not wait.
#[derive(Clone, Debug)]
pub(super) struct Gather {
    /// Threads that arrived and went on.
    arrived: [u32; BARRIERS],
    /// The paths of the kernel, if it has exchanges between lanes.
    cfg: Option<Cfg>,
}

impl Gather {
    pub(super) fn new(program: &Program) -> Gather {
        let exchanges = program.insts.iter().any(|inst| matches!(inst.op, Op::Warp(_)));
        Gather { arrived: [0; BARRIERS], cfg: exchanges.then(|| Cfg::new(&program.insts)) }
    }

    pub(super) fn reset(&mut self) {
        self.arrived = [0; BARRIERS];
    }
}

/// Lanes of a warp that meet: the first thread of the warp, and the lanes as a mask.
struct Group {
    first: usize,
    lanes: u32,
}

impl Cta<'_> {
    /// No thread can run: lets some go on. False if all are done.
    pub(super) fn release(&mut self) -> Result<bool, InterpError> {
        if self.threads.iter().all(|thread| thread.state == State::Done) {
            return Ok(false);
        }
        let mut met = false;
        for first in (0..self.threads.len()).step_by(LANES) {
            // Those that meet run on before the next group of the warp is looked for.
            met |= self.meet(first);
        }
        if met {
            return Ok(true);
        }
        for id in 0..BARRIERS as u8 {
            if self.complete(id) {
                self.open(id);
                return Ok(true);
            }
        }
        Err(self.stuck())
    }

    /// Carries out an exchange of the warp that begins at `first`, if one can take place.
    pub(super) fn meet(&mut self, first: usize) -> bool {
        let group = self.group(first);
        group.iter().for_each(|group| self.exchange(group));
        group.is_some()
    }

    /// The instruction at which a waiting thread waits.
    fn waits_at(&self, number: usize) -> &Decoded {
        &self.code.insts[self.threads[number].pc as usize - 1]
    }

    fn source(&self, number: usize, at: usize) -> u64 {
        let frame = self.code.frame.len();
        self.waits_at(number).srcs[at].read(&self.values[number * frame..][..frame])
    }

    /// Lanes of the warp that begins at `first` in the given state, as a mask.
    fn lanes(&self, first: usize, is: impl Fn(usize, State) -> bool) -> u32 {
        let warp = self.threads[first..].iter().take(LANES).enumerate();
        warp.filter(|(lane, thread)| is(first + lane, thread.state)).fold(0, |mask, (lane, _)| mask | 1 << lane)
    }

    /// Lanes of a warp that can carry out an exchange now.
    fn group(&self, first: usize) -> Option<Group> {
        let meeting = self.lanes(first, |_, state| state == State::Meeting);
        let live = self.lanes(first, |_, state| state != State::Done);
        let mut unnamed: Vec<u32> = Vec::new();
        for lane in (0..LANES).filter(|lane| meeting >> lane & 1 != 0) {
            let number = first + lane;
            let Op::Warp(op) = self.waits_at(number).op else { continue };
            let pc = self.threads[number].pc;
            let Some(at) = op.members() else {
                if !unnamed.contains(&pc) {
                    unnamed.push(pc);
                }
                continue;
            };
            let members = self.source(number, at) as u32;
            let lanes = self.lanes(first, |other, state| {
                let same = state == State::Meeting
                    && matches!(self.waits_at(other).op, Op::Warp(o) if o == op)
                    && (op == WarpOp::Sync || self.threads[other].pc == pc);
                same && self.source(other, at) as u32 == members
            });
            if lanes & members & live == members & live {
                return Some(Group { first, lanes });
            }
        }
        unnamed.sort_unstable();
        let goes_first = |pc: &&u32| {
            let behind = |other: &u32| self.reaches(*other, **pc) && !self.reaches(**pc, *other);
            !unnamed.iter().any(|other| other != *pc && behind(other))
        };
        let pc = *unnamed.iter().find(goes_first)?;
        let lanes = self.lanes(first, |other, state| state == State::Meeting && self.threads[other].pc == pc);
        Some(Group { first, lanes })
    }

    /// Whether a thread at `from` can come to `to`.
    fn reaches(&self, from: u32, to: u32) -> bool {
        let Some(cfg) = &self.gather.cfg else { return from < to };
        let (start, goal) = (cfg.block_of(from - 1), cfg.block_of(to - 1));
        if start == goal && from < to {
            return true;
        }
        let mut seen = vec![false; cfg.blocks.len()];
        let mut work = cfg.blocks[start as usize].succs.clone();
        while let Some(block) = work.pop() {
            if block == goal {
                return true;
            }
            if !std::mem::replace(&mut seen[block as usize], true) {
                work.extend(&cfg.blocks[block as usize].succs);
            }
        }
        false
    }

    /// Carries out an exchange; its lanes go on.
    fn exchange(&mut self, group: &Group) {
        let frame = self.code.frame.len();
        let &Group { first, lanes } = group;
        let (mut a, mut b, mut c, mut pred) = ([0; LANES], [0; LANES], [0; LANES], 0);
        let taking_part = |lane: &usize| lanes >> lane & 1 != 0;
        for lane in (0..LANES).filter(taking_part) {
            let values = &self.values[(first + lane) * frame..][..frame];
            let [x, y, z, _] = self.waits_at(first + lane).srcs;
            a[lane] = x.read(values);
            (b[lane], c[lane]) = (y.read(values) as u32, z.read(values) as u32);
            pred |= u32::from(x.truth(values)) << lane;
        }
        let one = first + lanes.trailing_zeros() as usize;
        let Op::Warp(op) = self.waits_at(one).op else { return };
        let result = warp(&op, lanes, WarpInputs { a: &a, b: &b, c: &c, pred });
        for lane in (0..LANES).filter(taking_part) {
            let inst = &self.code.insts[self.threads[first + lane].pc as usize - 1];
            let values = &mut self.values[(first + lane) * frame..][..frame];
            let holds = u64::from(result.preds >> lane & 1);
            let votes = matches!(op, WarpOp::Vote { mode, .. } if mode != isa::lanes::VoteMode::Ballot);
            inst.dsts[0].write(values, if votes { holds } else { result.values[lane] });
            inst.dsts[1].write(values, holds);
            self.threads[first + lane].state = State::Running;
        }
    }

    /// A thread arrives at a barrier and goes on. The lanes that its warp lacks arrive with its
    /// first.
    pub(super) fn arrive(&mut self, number: usize, id: u8) {
        let absent = match number % LANES {
            0 => LANES.saturating_sub(self.threads.len() - number),
            _ => 0,
        };
        self.gather.arrived[usize::from(id)] += 1 + absent as u32;
    }

    /// Threads that a waiting thread expects at its barrier, if it says so.
    fn expected(&self, number: usize) -> Option<u32> {
        let inst = self.waits_at(number);
        let counted = matches!(inst.op, Op::BarrierWith(_)) && inst.has_count;
        counted.then(|| self.source(number, 1) as u32)
    }

    /// Whether all that a barrier waits for are there.
    fn complete(&self, id: u8) -> bool {
        let waits = |state: State| state == State::Waiting(id);
        let Some(one) = self.threads.iter().position(|thread| waits(thread.state)) else {
            return false;
        };
        let arrived = self.gather.arrived[usize::from(id)];
        let Some(expected) = self.expected(one) else {
            return self.threads.iter().all(|thread| waits(thread.state) || thread.state == State::Done);
        };
        let here: u32 = (0..self.threads.len())
            .step_by(LANES)
            .map(|first| {
                let waiting = self.lanes(first, |_, state| waits(state));
                let live = self.lanes(first, |_, state| state != State::Done);
                if waiting == live && waiting != 0 { LANES as u32 } else { waiting.count_ones() }
            })
            .sum();
        here + arrived >= expected
    }

    /// Lets the threads at a barrier go on, with the result of its reduction.
    fn open(&mut self, id: u8) {
        let frame = self.code.frame.len();
        let (mut held, mut all) = (0u64, 0u64);
        let waiting: Vec<usize> =
            (0..self.threads.len()).filter(|&number| self.threads[number].state == State::Waiting(id)).collect();
        for &number in &waiting {
            let values = &self.values[number * frame..][..frame];
            let inst = self.waits_at(number);
            held += u64::from(matches!(inst.op, Op::BarrierWith(_)) && inst.srcs[2].truth(values));
            all += 1;
        }
        for number in waiting {
            let inst = &self.code.insts[self.threads[number].pc as usize - 1];
            let result = match inst.op {
                Op::BarrierWith(BarrierKind::All) => u64::from(held == all),
                Op::BarrierWith(BarrierKind::Any) => u64::from(held > 0),
                _ => held,
            };
            inst.dsts[0].write(&mut self.values[number * frame..][..frame], result);
            self.threads[number].state = State::Running;
        }
        self.gather.arrived[usize::from(id)] = 0;
    }

    /// Nothing can go on: names a thread that waits in vain.
    fn stuck(&self) -> InterpError {
        let mut barrier = None;
        for (number, thread) in self.threads.iter().enumerate() {
            match thread.state {
                State::Meeting => return self.fault(number, thread.pc - 1, FaultKind::Waits),
                State::Waiting(id) if *barrier.get_or_insert(id) != id => {
                    return self.fault(number, thread.pc - 1, FaultKind::Barrier(id));
                }
                _ => {}
            }
        }
        let waits = |state: State| matches!(state, State::Waiting(_));
        let number = self.threads.iter().position(|thread| waits(thread.state)).unwrap_or(0);
        self.fault(number, self.threads[number].pc.saturating_sub(1), FaultKind::Waits)
    }
}

#[cfg(test)]
#[path = "gather_tests.rs"]
mod tests;
