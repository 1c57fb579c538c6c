//! # Wiring of SM dueling
//! The block and its channels, of a machine whose SMs duel: one from each leader, one to every SM.

use super::MachineConfig;
use crate::kernel::{Block, BlockId, Chan, ChanSpec, Describe, DescribeExt, Edge, RxBank, Sleep, TxBank};
use crate::l1::dueling::{Dueling, DuelingIo, LEADERS, Mode, Seen};
use crate::l1::lsu::DuelIo;

/// SM dueling with its channels.
pub(super) struct Duel {
    pub block: Dueling,
    pub seen: Vec<Chan<Seen>>,
    pub mode: Vec<Chan<Mode>>,
}

impl Duel {
    /// Wires the block `own` to the load-store units.
    pub fn new(config: &MachineConfig, own: BlockId, lsu: impl Fn(u32) -> BlockId) -> Self {
        let plain = |path: String, from, to| ChanSpec { path, depth: 2, latency: 1, credit: 1, from, to };
        let seen = |i: u32| Chan::new(plain(format!("dueling.seen{i}"), lsu(i), own), ());
        let mode = |i: u32| Chan::new(plain(format!("sm{i}.l1.mode"), own, lsu(i)), ());
        Self {
            block: Dueling::new(config.l1.dueling, config.num_sms),
            seen: (0..LEADERS as u32).map(seen).collect(),
            mode: (0..config.num_sms).map(mode).collect(),
        }
    }

    pub fn eval(&mut self, at: &mut Edge<'_>) -> Sleep {
        let io = DuelingIo { seen: RxBank(&mut self.seen), mode: TxBank(&mut self.mode) };
        self.block.eval(io, at)
    }

    /// The ends that a load-store unit uses.
    pub fn of_lsu(&mut self, sm: usize) -> DuelIo<'_> {
        DuelIo { mode: self.mode[sm].rx(), seen: self.seen.get_mut(sm).map(Chan::tx) }
    }

    pub fn describe(&self, to: &mut dyn Describe) {
        to.part("dueling", |to| {
            for (i, seen) in (0..).zip(&self.seen) {
                seen.describe("seen", Some(i), to);
            }
            self.block.describe(to);
        });
    }
}
