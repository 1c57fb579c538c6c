//! # Kinds of hardware blocks
//! Stores all hardware blocks of one kind (Rust type) next to each other. A machine then dispatches on the
//! type of a block once per kind and edge, not once per block.

use std::any::{Any, TypeId};
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::pool::Links;
use super::ports::{HasPorts, Ports, Renumber};
use crate::kernel::{AnyEdge, Block, BlockId, Describe, Due, Sleep, SlotMask};

/// Hardware block of a netlist; `L` is the type that contains all links of the netlist.
pub trait Unit<L>: HasPorts + Block + Send + 'static {
    /// Executes one clock edge of the hardware block, given the ends of the links at its ports.
    fn edge(&mut self, ports: &Self::Ports, links: &mut L, at: &mut impl AnyEdge) -> Sleep;

    /// True if the hardware block requests attention from the simulator, which must inspect it after this
    /// edge.
    #[inline(always)]
    fn calls(&self) -> bool {
        false
    }

    /// Starts to maintain digests of the hardware block's memories.
    fn record(&mut self) {}

    /// True if nothing is in flight in the hardware block.
    fn is_idle(&self) -> bool;

    /// Adds the cycles that the hardware block has slept to its statistics, up to `cycle` of its clock.
    fn settle(&mut self, _cycle: u64) {}
}

/// Hardware block with its ports. A saved state contains the block only; its ports are restored by building
/// the netlist.
#[derive(Serialize, Deserialize)]
#[serde(transparent, bound(serialize = "B: Serialize", deserialize = "B: DeserializeOwned"))]
pub struct BlockWithPorts<B: HasPorts> {
    block: B,
    #[serde(skip)]
    pub(super) ports: B::Ports,
}

impl<B: HasPorts> BlockWithPorts<B> {
    /// Returns the ports of the hardware block.
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

/// All hardware blocks of one kind. Each is boxed, so that its address does not change.
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

/// Consecutive hardware blocks of one kind in the same 64-slot half of a clock domain's timing wheel.
#[derive(Clone, Copy, Debug)]
pub struct BlockRange {
    pub(super) kind: usize,
    pub(super) domain: u8,
    pub(super) slot: u8,
    /// Number of the first hardware block of the range, counted within its kind. The field `count` is the
    /// number of blocks in the range.
    pub(super) first: usize,
    pub(super) count: usize,
    seats: SlotMask,
    /// Number (modulo 2^64) that must be added to a block's bit position in the 64-slot half to get its
    /// number within the kind.
    base: usize,
}

impl BlockRange {
    pub(super) fn new(kind: usize, (domain, slot): (u8, u8), first: usize, count: usize) -> Self {
        let base = first.wrapping_sub(usize::from(slot % 64));
        Self { kind, domain, slot, first, count, seats: SlotMask::of(slot, count as u8), base }
    }

    /// Returns the ids by which the timing wheels identify the hardware blocks of the range.
    pub(super) fn ids(&self) -> impl Iterator<Item = BlockId> + use<> {
        let Self { domain, slot, count, .. } = *self;
        (0..count as u8).map(move |block| BlockId { domain, slot: slot + block })
    }

    /// Returns which hardware blocks of the range are scheduled for the current edge, one bit per block.
    #[inline(always)]
    pub(super) fn among(&self, due: &Due) -> u64 {
        due.among(self.seats)
    }
}

impl<B: Unit<L>, L: Links> Of<B, L> {
    /// Adds a hardware block whose ports are not connected yet.
    pub(super) fn push(&mut self, block: B) {
        self.blocks.push(Box::new(BlockWithPorts { block, ports: B::Ports::default() }));
    }

    /// Executes one clock edge of the scheduled hardware blocks of a range; a bit mask selects the scheduled
    /// blocks. Returns the number of the first block that requests attention from the simulator, if any.
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

    /// Lists the registers, memories and logic of hardware block number `block`.
    pub fn describe(&self, block: usize, to: &mut dyn Describe) {
        self.blocks[block].describe(to);
    }

    /// Starts to maintain digests of the memories of all hardware blocks.
    pub fn record(&mut self) {
        self.blocks.iter_mut().for_each(|block| block.record());
    }

    /// True if nothing is in flight in any of the hardware blocks.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.blocks.iter().all(|block| B::is_idle(block))
    }

    /// Adds the cycles that the hardware blocks have slept to their statistics, up to `cycle` of their clock.
    pub fn settle(&mut self, cycle: u64) {
        self.blocks.iter_mut().for_each(|block| B::settle(block, cycle));
    }

    /// Returns the number of the first hardware block that requests attention from the simulator, if any.
    #[must_use]
    pub fn caller(&self) -> Option<usize> {
        self.blocks.iter().position(|block| block.calls())
    }

    /// Returns the number of hardware blocks of this kind.
    #[must_use]
    pub fn count(&self) -> usize {
        self.blocks.len()
    }

    /// Replaces the link numbers in all ports by the numbers that `new` returns for them.
    pub fn renumber(&mut self, new: &dyn Fn(TypeId, u32) -> u32) {
        self.blocks.iter_mut().for_each(|wired| wired.ports.visit(&mut Renumber(new)));
    }

    /// Distributes the hardware blocks, with their ports, to `count` islands.
    pub fn split(&mut self, island_of: &[usize], count: usize) -> Vec<Self> {
        let mut parts: Vec<_> = (0..count).map(|_| Self::default()).collect();
        for (block, &island) in std::mem::take(&mut self.blocks).into_iter().zip(island_of) {
            parts[island].blocks.push(block);
        }
        parts
    }

    /// Takes the hardware blocks back from all islands.
    pub fn unite(&mut self, island_of: &[usize], parts: Vec<Self>) {
        let mut parts: Vec<_> = parts.into_iter().map(|part| part.blocks.into_iter()).collect();
        self.blocks.extend(island_of.iter().filter_map(|&island| parts[island].next()));
    }

    /// Replaces the state of all hardware blocks by a saved state. Returns false if the numbers of blocks
    /// differ.
    pub fn adopt(&mut self, saved: Self) -> bool {
        let fits = saved.blocks.len() == self.blocks.len();
        for (own, saved) in self.blocks.iter_mut().zip(saved.blocks) {
            own.block = saved.block;
        }
        fits
    }
}

/// Interface to all hardware blocks of one kind, independent of their type. The derive macro
/// [`derive::Kinds`] implements it for an enum of [`Of`]s.
pub trait Kind<L>: Sized + Send {
    /// Executes one clock edge of the scheduled hardware blocks of a range; a bit mask selects the scheduled
    /// blocks. Returns the number of the first block that requests attention from the simulator, if any.
    fn eval(&mut self, place: (&BlockRange, u64), links: &mut L, due: &mut Due, at: &mut impl AnyEdge)
    -> Option<usize>;
    /// Lists the registers, memories and logic of hardware block number `block`.
    fn describe(&self, block: usize, to: &mut dyn Describe);
    /// Starts to maintain digests of the memories of all hardware blocks.
    fn record(&mut self);
    /// True if nothing is in flight in any of the hardware blocks.
    fn is_idle(&self) -> bool;
    /// Adds the cycles that the hardware blocks have slept to their statistics, up to `cycle` of their clock.
    fn settle(&mut self, cycle: u64);
    /// Returns the number of the first hardware block that requests attention from the simulator, if any.
    fn caller(&self) -> Option<usize>;
    /// Returns the number of hardware blocks of this kind.
    fn count(&self) -> usize;
    /// Replaces the link numbers in all ports by the numbers that `new` returns for them.
    fn renumber(&mut self, new: &dyn Fn(TypeId, u32) -> u32);
    /// Distributes the hardware blocks, with their ports, to `count` islands.
    fn split(&mut self, island_of: &[usize], count: usize) -> Vec<Self>;
    /// Takes the hardware blocks back from all islands.
    fn unite(&mut self, island_of: &[usize], parts: Vec<Self>);
    /// Replaces the state of all hardware blocks by a saved state. Returns false if the kinds or the numbers
    /// of blocks differ.
    fn adopt(&mut self, saved: Self) -> bool;
    /// Returns the hardware blocks in a form that can be downcast to their type.
    fn as_any(&self) -> &dyn Any;
    /// Returns the hardware blocks in a mutable form that can be downcast to their type.
    fn as_any_mut(&mut self) -> &mut dyn Any;
}
