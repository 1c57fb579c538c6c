//! # Wiring of the instruction caches
//! The links between the instruction cache of each core and the LSU that takes its misses to memory.

use serde::{Deserialize, Serialize};

use super::wiring::{Channels, open};
use crate::kernel::{Chan, ChanSpec};
use crate::l1::instructions::{FetchIo, LineBrought, LineWanted, SupplierIo};
use crate::noc::packet::PacketShape;

/// The links of all SMs.
#[derive(Serialize, Deserialize)]
pub(super) struct Fetching {
    wanted: Vec<Chan<LineWanted>>,
    brought: Vec<Chan<LineBrought>>,
}

/// Those of one SM.
pub(super) struct FetchLinks<'m> {
    wanted: &'m mut Chan<LineWanted>,
    brought: &'m mut Chan<LineBrought>,
}

impl Fetching {
    /// Links to the LSUs and back.
    pub fn new(wanted: Vec<ChanSpec>, brought: Vec<ChanSpec>, shape: &PacketShape) -> Self {
        Self { wanted: open(wanted, shape), brought: open(brought, shape) }
    }

    /// The links of an SM.
    pub fn of(&mut self, sm: usize) -> FetchLinks<'_> {
        FetchLinks { wanted: &mut self.wanted[sm], brought: &mut self.brought[sm] }
    }

    /// The links of every SM.
    pub fn all(&mut self) -> impl Iterator<Item = FetchLinks<'_>> {
        self.wanted.iter_mut().zip(&mut self.brought).map(|(wanted, brought)| FetchLinks { wanted, brought })
    }

    /// The link to an LSU.
    pub fn wanted(&self, sm: usize) -> &Chan<LineWanted> {
        &self.wanted[sm]
    }

    /// The link to a core.
    pub fn brought(&self, sm: usize) -> &Chan<LineBrought> {
        &self.brought[sm]
    }

    /// Every channel, like by like.
    pub fn channels(&self) -> [&dyn Channels; 2] {
        [&self.wanted, &self.brought]
    }

    /// The same, to be changed.
    pub fn channels_mut(&mut self) -> [&mut dyn Channels; 2] {
        [&mut self.wanted, &mut self.brought]
    }
}

impl<'m> FetchLinks<'m> {
    /// The ends of the core.
    pub fn of_core(&mut self) -> FetchIo<'_> {
        FetchIo { wanted: self.wanted.tx(), brought: self.brought.rx() }
    }

    /// The ends of the LSU.
    pub fn of_lsu(&mut self) -> SupplierIo<'_> {
        SupplierIo { wanted: self.wanted.rx(), brought: self.brought.tx() }
    }
}
