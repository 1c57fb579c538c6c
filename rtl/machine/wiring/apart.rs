//! # The two sides apart
//! SMs and crossbars on one side, L2 banks and DRAM channels on the other, have nothing in common but the links of fixed
//! delay between crossbars and banks. For as long as that delay each side can run without hearing of the other, on a
//! thread of its own: what has crossed meanwhile is told afterwards, before it could have been seen, and every edge is what it
//! is when both run together.
//!
//! Not for machines with more between the sides than these links: a sharing tracker, or recalls.

use std::mem::take;

use super::memory::Memory;
use super::{CORE, DRAM, L2, Machine};
use crate::kernel::{AnyEdge, BlockId, Blocks, Chan, Describe, Due, Edge, FastEdge, Simulator, Sleep};
use crate::noc::packet::{Reply, Request};

/// The side of the memory while it runs apart from its machine, with the simulator of its clock domains.
pub struct Apart {
    side: MemorySide,
    sim: Simulator,
}

struct MemorySide {
    memory: Memory,
    /// Where requests come out.
    to_l2: Vec<Chan<Request>>,
    /// Where replies go in.
    from_l2: Vec<Chan<Reply>>,
}

impl Machine {
    /// Ticks for which the sides can run apart, or 0 if they cannot.
    #[must_use]
    pub fn distance(&self) -> u64 {
        if self.recalls.is_some() || self.tracking.is_some() {
            return 0;
        }
        let links = self.to_l2.iter().map(Chan::distance).chain(self.from_l2.iter().map(Chan::distance));
        links.min().unwrap_or(0)
    }

    /// Lets the side of the memory go. What is left simulates the rest, for [`Self::distance`] ticks at a time; until
    /// [`Self::rejoin`] it has no memory to be looked at.
    ///
    /// # Panics
    /// If the machine has no such distance.
    pub fn separate(&mut self, sim: &mut Simulator) -> Apart {
        assert!(self.distance() > 0, "a machine whose sides cannot run apart");
        // Beats on their way are with whoever takes them; the copies are for the senders.
        let to_l2 = self.to_l2.clone();
        let side = MemorySide {
            memory: take(&mut self.memory),
            to_l2: std::mem::replace(&mut self.to_l2, to_l2),
            from_l2: self.from_l2.clone(),
        };
        Apart { side, sim: sim.separate(&[L2, DRAM]) }
    }

    /// Tells each side what the other has sent and taken, both having run until `until`.
    pub fn meet(&mut self, sim: &mut Simulator, apart: &mut Apart, until: u64) {
        let Apart { side, sim: theirs } = apart;
        for (sender, receiver) in self.to_l2.iter_mut().zip(&mut side.to_l2) {
            sender.meet(receiver, until, sim.wake(), theirs.wake());
        }
        for (sender, receiver) in side.from_l2.iter_mut().zip(&mut self.from_l2) {
            sender.meet(receiver, until, theirs.wake(), sim.wake());
        }
    }

    /// True if the kernel that runs certainly has not ended within so many ticks: a core has more warps than its schedulers
    /// can have issue their last instruction by then.
    #[must_use]
    pub fn has_warps_for(&self, ticks: u64) -> bool {
        let cycles = ticks / u64::from(self.clocks.period(usize::from(CORE))) + 1;
        let most = cycles * u64::from(self.config.sm.schedulers);
        self.cores.iter().any(|core| u64::from(core.live_warps().count_ones()) > most)
    }

    /// Takes back what [`Self::separate`] let go, after a meeting.
    pub fn rejoin(&mut self, sim: &mut Simulator, apart: Apart) {
        let Apart { side, sim: theirs } = apart;
        self.memory = side.memory;
        self.to_l2 = side.to_l2;
        sim.rejoin(theirs);
    }
}

impl Apart {
    /// The next tick at which something of this side is due.
    #[must_use]
    pub fn next_tick(&self) -> Option<u64> {
        self.sim.next_tick()
    }

    /// Runs this side up to a tick.
    pub fn run(&mut self, until: u64) {
        while self.sim.step_before(until, &mut self.side).is_some() {}
    }

    /// True if the kernel that runs certainly has not ended before `until`: some request, to all of which there are
    /// answers, will not even have come to the memory by then.
    #[must_use]
    pub fn is_awaited(&self, until: u64) -> bool {
        self.side.to_l2.iter().any(|link| link.youngest() >= until)
    }
}

impl MemorySide {
    #[inline(always)]
    fn eval_any(&mut self, due: &mut Due, at: &mut impl AnyEdge) {
        let Self { memory, to_l2, from_l2 } = self;
        if due.domain() == L2 {
            memory.eval_banks(to_l2, from_l2, None, due, at);
        } else {
            memory.eval_drams(due, at);
        }
    }
}

impl Blocks for MemorySide {
    fn population(&self) -> Vec<u8> {
        vec![0, 0, self.memory.banks.len() as u8, self.memory.drams.len() as u8]
    }

    fn eval(&mut self, block: BlockId, at: &mut Edge<'_>) -> Sleep {
        unreachable!("block {block:?} alone at tick {}: sides run apart the fast way only", at.tick)
    }

    fn eval_due(&mut self, due: &mut Due, at: &mut Edge<'_>) {
        self.eval_any(due, at);
    }

    fn eval_due_fast(&mut self, due: &mut Due, at: &mut FastEdge<'_>) {
        self.eval_any(due, at);
    }

    fn describe(&self, block: BlockId, _: &mut dyn Describe) {
        unreachable!("block {block:?}: a machine is described when its sides are together")
    }
}
