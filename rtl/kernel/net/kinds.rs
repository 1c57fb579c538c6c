//! # Kinds of blocks
//! Stores all blocks of one kind next to each other. A machine then dispatches on the type of a block once
//! per kind and edge, not once per block.

use std::any::{Any, TypeId};
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::pool::Links;
use super::ports::{HasPorts, Ports, Renumber};
use crate::kernel::{AnyEdge, Block, BlockId, Describe, Due, Sleep, SlotMask};

/// Block of a netlist whose links are `L`.
pub trait Unit<L>: HasPorts + Block + Send + 'static {
    /// Executes one clock edge, with the link ends of the block's ports.
    fn edge(&mut self, ports: &Self::Ports, links: &mut L, at: &mut impl AnyEdge) -> Sleep;

    /// True if the block calls the host, which must inspect it after this edge.
    #[inline(always)]
    fn calls(&self) -> bool {
        false
    }

    /// Starts to maintain digests of the block's memories.
    fn record(&mut self) {}

    /// True if the block holds nothing in flight.
    fn is_idle(&self) -> bool;

    /// Charges the cycles that the block has slept and not counted yet, up to `cycle` of its clock.
    fn settle(&mut self, _cycle: u64) {}
}

/// Block with its ports. A saved state contains the block only: the ports follow from building the netlist.
#[derive(Serialize, Deserialize)]
#[serde(transparent, bound(serialize = "B: Serialize", deserialize = "B: DeserializeOwned"))]
pub struct BlockWithPorts<B: HasPorts> {
    block: B,
    #[serde(skip)]
    pub(super) ports: B::Ports,
}

impl<B: HasPorts> BlockWithPorts<B> {
    /// Returns the ports of the block.
    pub fn ports(&self) -> &B::Ports {
        &self.ports
    }
}

impl<B: HasPorts> Deref for BlockWithPorts<B> {
    type Target = B;
    #[inline(always)]
    fn deref(&self) -> &B {
        &self.block
    }
}

impl<B: HasPorts> DerefMut for BlockWithPorts<B> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut B {
        &mut self.block
    }
}

/// Blocks of one kind, each boxed so that its address is stable.
#[derive(Serialize, Deserialize)]
#[serde(transparent, bound(serialize = "B: Serialize", deserialize = "B: DeserializeOwned"))]
pub struct Of<B: Unit<L>, L> {
    pub(super) blocks: Vec<Box<BlockWithPorts<B>>>,
    #[serde(skip)]
    links: PhantomData<fn(L)>,
}

impl<B: Unit<L>, L> Default for Of<B, L> {
    fn default() -> Self {
        Self { blocks: Vec::new(), links: PhantomData }
    }
}

/// Consecutive blocks of one kind in one half of a domain's wake-wheel slots.
#[derive(Clone, Copy, Debug)]
pub struct BlockRange {
    pub(super) kind: usize,
    pub(super) domain: u8,
    pub(super) slot: u8,
    /// Number of the first block within its kind, and number of blocks.
    pub(super) first: usize,
    pub(super) count: usize,
    seats: SlotMask,
    /// Number of a block within its kind minus its bit in the half of the domain, modulo 2^64.
    base: usize,
}

impl BlockRange {
    pub(super) fn new(kind: usize, (domain, slot): (u8, u8), first: usize, count: usize) -> Self {
        let base = first.wrapping_sub(usize::from(slot % 64));
        Self { kind, domain, slot, first, count, seats: SlotMask::of(slot, count as u8), base }
    }

    /// Returns the ids of the blocks in the wake wheels.
    pub(super) fn ids(&self) -> impl Iterator<Item = BlockId> + use<> {
        let Self { domain, slot, count, .. } = *self;
        (0..count as u8).map(move |block| BlockId { domain, slot: slot + block })
    }

    /// Returns the blocks that are due, one bit per block.
    #[inline(always)]
    pub(super) fn among(&self, due: &Due) -> u64 {
        due.among(self.seats)
    }
}

impl<B: Unit<L>, L: Links> Of<B, L> {
    /// Adds a block whose ports are not connected.
    pub(super) fn push(&mut self, block: B) {
        self.blocks.push(Box::new(BlockWithPorts { block, ports: B::Ports::default() }));
    }

    /// Executes one edge of the due blocks of a range, given as one bit per block. Returns the first block
    /// that calls the host.
    #[inline(always)]
    pub fn eval(
        &mut self,
        (place, mut left): (&BlockRange, u64),
        links: &mut L,
        due: &mut Due,
        at: &mut impl AnyEdge,
    ) -> Option<usize> {
        let (mut again, mut caller) = (0, None);
        while left != 0 {
            let bit = left.trailing_zeros();
            left &= left - 1;
            let number = place.base.wrapping_add(bit as usize);
            let Some(wired) = self.blocks.get_mut(number) else { break };
            let BlockWithPorts { block, ports } = &mut **wired;
            match block.edge(ports, links, at) {
                Sleep::Next => again |= 1 << bit,
                Sleep::At(cycle) => due.later(place.seats, bit, cycle, at),
                Sleep::UntilEvent => {}
            }
            if block.calls() {
                caller = caller.or(Some(number));
            }
        }
        due.once_more(place.seats, again);
        caller
    }

    /// Lists the registers, memories and logic of a block.
    pub fn describe(&self, block: usize, to: &mut dyn Describe) {
        self.blocks[block].describe(to);
    }

    /// Starts to maintain digests of all memories.
    pub fn record(&mut self) {
        self.blocks.iter_mut().for_each(|block| block.record());
    }

    /// True if no block holds anything in flight.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.blocks.iter().all(|block| B::is_idle(block))
    }

    /// Charges the cycles that blocks have slept and not counted yet, up to `cycle` of their clock.
    pub fn settle(&mut self, cycle: u64) {
        self.blocks.iter_mut().for_each(|block| B::settle(block, cycle));
    }

    /// Returns the first block that calls the host.
    #[must_use]
    pub fn caller(&self) -> Option<usize> {
        self.blocks.iter().position(|block| block.calls())
    }

    /// Returns the number of blocks.
    #[must_use]
    pub fn count(&self) -> usize {
        self.blocks.len()
    }

    /// Renumbers the links of all ports.
    pub fn renumber(&mut self, new: &dyn Fn(TypeId, u32) -> u32) {
        self.blocks.iter_mut().for_each(|wired| wired.ports.visit(&mut Renumber(new)));
    }

    /// Distributes the blocks, with their ports, to `count` islands.
    pub fn split(&mut self, island_of: &[usize], count: usize) -> Vec<Self> {
        let mut parts: Vec<_> = (0..count).map(|_| Self::default()).collect();
        for (block, &island) in std::mem::take(&mut self.blocks).into_iter().zip(island_of) {
            parts[island].blocks.push(block);
        }
        parts
    }

    /// Takes the blocks back from all islands.
    pub fn unite(&mut self, island_of: &[usize], parts: Vec<Self>) {
        let mut parts: Vec<_> = parts.into_iter().map(|part| part.blocks.into_iter()).collect();
        self.blocks.extend(island_of.iter().filter_map(|&island| parts[island].next()));
    }

    /// Replaces the state of all blocks by a saved state; returns false if the numbers of blocks differ.
    pub fn adopt(&mut self, saved: Self) -> bool {
        let fits = saved.blocks.len() == self.blocks.len();
        for (own, saved) in self.blocks.iter_mut().zip(saved.blocks) {
            own.block = saved.block;
        }
        fits
    }
}

/// Interface to all blocks of one kind, independent of their type. Derived for an enum of [`Of`]s:
/// [`derive::Kinds`].
pub trait Kind<L>: Sized + Send {
    /// Executes one edge of the due blocks of a range, given as one bit per block. Returns the first block
    /// that calls the host.
    fn eval(&mut self, place: (&BlockRange, u64), links: &mut L, due: &mut Due, at: &mut impl AnyEdge)
    -> Option<usize>;
    /// Lists the registers, memories and logic of a block.
    fn describe(&self, block: usize, to: &mut dyn Describe);
    /// Starts to maintain digests of all memories.
    fn record(&mut self);
    /// True if no block holds anything in flight.
    fn is_idle(&self) -> bool;
    /// Charges the cycles that blocks have slept and not counted yet, up to `cycle` of their clock.
    fn settle(&mut self, cycle: u64);
    /// Returns the first block that calls the host.
    fn caller(&self) -> Option<usize>;
    /// Returns the number of blocks.
    fn count(&self) -> usize;
    /// Renumbers the links of all ports.
    fn renumber(&mut self, new: &dyn Fn(TypeId, u32) -> u32);
    /// Distributes the blocks, with their ports, to `count` islands.
    fn split(&mut self, island_of: &[usize], count: usize) -> Vec<Self>;
    /// Takes the blocks back from all islands.
    fn unite(&mut self, island_of: &[usize], parts: Vec<Self>);
    /// Replaces the state of all blocks by a saved state; returns false if the kinds or numbers of blocks
    /// differ.
    fn adopt(&mut self, saved: Self) -> bool;
    /// Returns the blocks for a downcast to their type.
    fn as_any(&self) -> &dyn Any;
    /// Returns the blocks for a downcast to their type, mutably.
    fn as_any_mut(&mut self) -> &mut dyn Any;
}
