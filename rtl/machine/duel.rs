//! # Wiring of SM dueling
//! The block and its channels, of a machine whose SMs duel: one from each leader, one to every SM.

use serde::{Deserialize, Serialize};

use super::MachineConfig;
use super::wiring::open;
use crate::kernel::{Block, Chan, ChanSpec, Describe, DescribeExt, Edge, RxBank, Sleep, TxBank};
use crate::l1::dueling::{Dueling, DuelingIo, LEADERS, Mode, Seen};
use crate::l1::lsu::DuelIo;

/// SM dueling with its channels.
#[derive(Serialize, Deserialize)]
pub(super) struct Duel {
    pub block: Dueling,
    pub seen: Vec<Chan<Seen>>,
    pub mode: Vec<Chan<Mode>>,
}

impl Duel {
    /// The block with its channels, `seen` from each leader and `mode` to every SM.
    pub fn new(config: &MachineConfig, seen: impl Fn(u32) -> ChanSpec, mode: impl Fn(u32) -> ChanSpec) -> Self {
        Self {
            block: Dueling::new(config.l1.dueling, config.num_sms),
            seen: open((0..LEADERS as u32).map(seen).collect(), &()),
            mode: open((0..config.num_sms).map(mode).collect(), &()),
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
