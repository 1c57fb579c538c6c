//! # Kinds of blocks
//! Blocks of one kind stand side by side, so that a machine asks once a kind and edge for what it does not know the type of.

use std::any::{Any, TypeId};
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::pool::Links;
use super::ports::{HasPorts, Ports, Renumber};
use crate::kernel::{AnyEdge, Block, BlockId, Describe, Due, Seats, Sleep};

/// A block of a netlist whose links are `L`.
pub trait Unit<L>: HasPorts + Block + Send + 'static {
    /// One clock edge, with the ends of its ports.
    fn edge(&mut self, ports: &Self::Ports, links: &mut L, at: &mut impl AnyEdge) -> Sleep;

    /// True if the host is to look at it after this edge.
    #[inline(always)]
    fn calls(&self) -> bool {
        false
    }

    /// Starts to keep digests of its memories.
    fn record(&mut self) {}
}

/// A block with its ports. Saved is the block: its ports follow from how the netlist was built.
#[derive(Serialize, Deserialize)]
#[serde(transparent, bound(serialize = "B: Serialize", deserialize = "B: DeserializeOwned"))]
pub struct Wired<B: HasPorts> {
    block: B,
    #[serde(skip)]
    pub(super) ports: B::Ports,
}

impl<B: HasPorts> Wired<B> {
    /// Its ports.
    pub fn ports(&self) -> &B::Ports {
        &self.ports
    }
}

impl<B: HasPorts> Deref for Wired<B> {
    type Target = B;
    #[inline(always)]
    fn deref(&self) -> &B {
        &self.block
    }
}

impl<B: HasPorts> DerefMut for Wired<B> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut B {
        &mut self.block
    }
}

/// Blocks of one kind, each in its place in memory.
#[derive(Serialize, Deserialize)]
#[serde(transparent, bound(serialize = "B: Serialize", deserialize = "B: DeserializeOwned"))]
pub struct Of<B: Unit<L>, L> {
    pub(super) blocks: Vec<Box<Wired<B>>>,
    #[serde(skip)]
    links: PhantomData<fn(L)>,
}

impl<B: Unit<L>, L> Default for Of<B, L> {
    fn default() -> Self {
        Self { blocks: Vec::new(), links: PhantomData }
    }
}

/// Some blocks of a kind, side by side in a domain of the wake wheels and in one half of it.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    pub(super) kind: usize,
    pub(super) domain: u8,
    pub(super) slot: u8,
    /// The first of the blocks, by its number in the kind, and how many there are.
    pub(super) first: usize,
    pub(super) count: usize,
    seats: Seats,
    /// Number of a block minus its bit in the half of the domain, modulo 2^64.
    base: usize,
}

impl Place {
    pub(super) fn new(kind: usize, (domain, slot): (u8, u8), first: usize, count: usize) -> Self {
        let base = first.wrapping_sub(usize::from(slot % 64));
        Self { kind, domain, slot, first, count, seats: Seats::of(slot, count as u8), base }
    }

    /// The blocks, in the wake wheels.
    pub(super) fn ids(&self) -> impl Iterator<Item = BlockId> + use<> {
        let Self { domain, slot, count, .. } = *self;
        (0..count as u8).map(move |block| BlockId { domain, slot: slot + block })
    }

    /// The blocks that are due, a bit for each.
    #[inline(always)]
    pub(super) fn among(&self, due: &Due) -> u64 {
        due.among(self.seats)
    }
}

impl<B: Unit<L>, L: Links> Of<B, L> {
    /// Adds a block whose ports are not connected.
    pub(super) fn push(&mut self, block: B) {
        self.blocks.push(Box::new(Wired { block, ports: B::Ports::default() }));
    }

    /// One edge of those of a place that are due, of which there is a bit for each. Returns the first that calls the host.
    #[inline(always)]
    pub fn eval(
        &mut self,
        (place, mut left): (&Place, u64),
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
            let Wired { block, ports } = &mut **wired;
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

    /// Lists what a block is made of.
    pub fn describe(&self, block: usize, to: &mut dyn Describe) {
        self.blocks[block].describe(to);
    }

    /// Starts to keep digests of all memories.
    pub fn record(&mut self) {
        self.blocks.iter_mut().for_each(|block| block.record());
    }

    /// The first block that calls the host.
    #[must_use]
    pub fn caller(&self) -> Option<usize> {
        self.blocks.iter().position(|block| block.calls())
    }

    /// How many blocks there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.blocks.len()
    }

    /// Gives the links of all ports other numbers.
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

    /// Takes saved blocks in place of its own; false if there are more or fewer.
    pub fn adopt(&mut self, saved: Self) -> bool {
        let fits = saved.blocks.len() == self.blocks.len();
        for (own, saved) in self.blocks.iter_mut().zip(saved.blocks) {
            own.block = saved.block;
        }
        fits
    }
}

/// A kind of blocks, whatever they are. Derived for an enum of [`Of`]s: [`derive::Kinds`].
pub trait Kind<L>: Sized + Send {
    /// One edge of those of a place that are due, of which there is a bit for each. Returns the first that calls the host.
    fn eval(&mut self, place: (&Place, u64), links: &mut L, due: &mut Due, at: &mut impl AnyEdge) -> Option<usize>;
    /// Lists what a block is made of.
    fn describe(&self, block: usize, to: &mut dyn Describe);
    /// Starts to keep digests of all memories.
    fn record(&mut self);
    /// The first block that calls the host.
    fn caller(&self) -> Option<usize>;
    /// How many blocks there are.
    fn count(&self) -> usize;
    /// Gives the links of all ports other numbers.
    fn renumber(&mut self, new: &dyn Fn(TypeId, u32) -> u32);
    /// Distributes the blocks, with their ports, to `count` islands.
    fn split(&mut self, island_of: &[usize], count: usize) -> Vec<Self>;
    /// Takes the blocks back from all islands.
    fn unite(&mut self, island_of: &[usize], parts: Vec<Self>);
    /// Takes saved blocks in place of its own; false if they are others.
    fn adopt(&mut self, saved: Self) -> bool;
    /// The blocks, by their type.
    fn as_any(&self) -> &dyn Any;
    /// The same, to be changed.
    fn as_any_mut(&mut self) -> &mut dyn Any;
}
