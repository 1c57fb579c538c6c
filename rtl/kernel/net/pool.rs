//! # Pools
//! Stores all links of a netlist that carry the same type of beat in one pool.

use std::any::{Any, TypeId};

use serde::{Deserialize, Serialize};

use super::ports::{In, Many, Out};
use crate::kernel::{Chan, Describe, Ends, Payload, Rx, RxBank, Simulator, Tx, TxBank};

/// All links of a netlist that carry the same type of beat.
#[derive(Serialize, Deserialize)]
#[serde(bound = "")]
pub struct Pool<T: Payload>(pub(super) Vec<Chan<T>>);

impl<T: Payload> Default for Pool<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Payload> Pool<T> {
    /// Returns the receiving end of the link at an input port.
    #[inline(always)]
    pub fn rx(&mut self, port: &In<T>) -> Rx<'_, T> {
        self.0[port.0 as usize].rx()
    }

    /// Returns the sending end of the link at an output port.
    #[inline(always)]
    pub fn tx(&mut self, port: &Out<T>) -> Tx<'_, T> {
        self.0[port.0 as usize].tx()
    }

    /// Returns the receiving ends of all links at a port with any number of links.
    #[inline(always)]
    pub fn rx_bank<'a>(&'a mut self, ports: &'a Many<In<T>>) -> RxBank<'a, T> {
        RxBank::of(&mut self.0[ports.range()])
    }

    /// Returns the sending ends of all links at a port with any number of links.
    #[inline(always)]
    pub fn tx_bank<'a>(&'a mut self, ports: &'a Many<Out<T>>) -> TxBank<'a, T> {
        TxBank::among(&mut self.0, &ports.ids)
    }

    /// Returns the receiving ends at `from` and the sending ends at `to`, for a hardware block that forwards
    /// beats.
    #[inline(always)]
    pub fn ends<'a>(&'a mut self, from: &'a Many<In<T>>, to: &'a Many<Out<T>>) -> Ends<'a, T> {
        Ends::among(&mut self.0, from.range(), &to.ids)
    }

    /// Returns the receiving end of the link at `from` and the sending end of the link at `to`.
    #[inline]
    pub fn both(&mut self, from: &In<T>, to: &Out<T>) -> (Rx<'_, T>, Tx<'_, T>) {
        let Ok([from, to]) = self.0.get_disjoint_mut([from.0 as usize, to.0 as usize]) else {
            unreachable!("a block sends to itself")
        };
        (from.rx(), to.tx())
    }

    /// Returns the link at an input port, for observers outside the model.
    #[must_use]
    pub fn at(&self, port: &In<T>) -> &Chan<T> {
        &self.0[port.0 as usize]
    }

    /// Returns all links at a port with any number of links, for observers outside the model.
    pub fn all_at<'a>(&'a self, ports: &'a Many<In<T>>) -> impl Iterator<Item = &'a Chan<T>> {
        self.0[ports.range()].iter()
    }

    /// Returns the link at an output port, for observers outside the model.
    #[must_use]
    pub fn from(&self, port: &Out<T>) -> &Chan<T> {
        &self.0[port.0 as usize]
    }

    /// Returns all links at an output port with any number of links, for observers outside the model.
    pub fn all_from<'a>(&'a self, ports: &'a Many<Out<T>>) -> impl Iterator<Item = &'a Chan<T>> {
        ports.ids.iter().map(|&id| &self.0[id as usize])
    }

    /// Exchanges messages between the two copies of a link from one island to another. `self` contains the
    /// sender's copy, `receivers` the receiver's copy.
    #[inline(always)]
    pub fn meet(&mut self, receivers: &mut Self, crossing: Crossing, [senders, theirs]: [&mut Simulator; 2]) {
        let Crossing { from, to, .. } = crossing;
        self.0[from as usize].synchronize(&mut receivers.0[to as usize], senders, theirs);
    }
}

/// Link from one island to another. `pool` is the number of the link's pool. `from` and `to` are the numbers
/// of the link in that pool: in the sender's island, and in the receiver's island.
#[derive(Clone, Copy, Debug)]
pub struct Crossing {
    pub(super) pool: u32,
    pub(super) from: u32,
    pub(super) to: u32,
}

impl Crossing {
    /// Returns the number of the pool that contains the link.
    #[must_use]
    #[inline(always)]
    pub fn pool(self) -> u32 {
        self.pool
    }
}

/// Island of a link's sender, and island of its receiver.
pub(super) type Owners = [usize; 2];

/// Interface to a pool of links, independent of the type of its beats.
pub trait AnyPool: Any {
    /// Starts to maintain digests of all beats on the links.
    fn record(&mut self);
    /// Returns the digest of all beats so far.
    fn history(&self) -> u64;
    /// True if no link holds a beat.
    fn is_empty(&self) -> bool;
    /// Returns the number of links in the pool.
    fn len(&self) -> usize;
    /// Lists link number `link` as part of the description of its receiver.
    fn describe(&self, link: u32, name: &'static str, index: Option<u32>, to: &mut dyn Describe);
    /// Returns the type of the beats that the links carry.
    fn beats(&self) -> TypeId;
    /// Reorders the links: link `order[i]` moves to position `i`.
    fn sort(&mut self, order: &[u32]);
    /// Moves each link into the pool of the island that contains its receiver. If the sender is in another
    /// island, that island gets a copy of the link.
    fn split(&mut self, owners: &[[usize; 2]], to: &mut [&mut dyn AnyPool]);
    /// Takes the links back from the pools of the islands, and drops the copies of links that were cut.
    fn unite(&mut self, owners: &[[usize; 2]], from: &mut [&mut dyn AnyPool]);
}

impl<T: Payload + 'static> AnyPool for Pool<T> {
    fn record(&mut self) {
        self.0.iter_mut().for_each(Chan::record);
    }
    fn history(&self) -> u64 {
        self.0.iter().fold(0, |sum: u64, link| sum.rotate_left(7) ^ link.history())
    }
    fn is_empty(&self) -> bool {
        self.0.iter().all(Chan::is_empty)
    }
    fn len(&self) -> usize {
        self.0.len()
    }
    fn describe(&self, link: u32, name: &'static str, index: Option<u32>, to: &mut dyn Describe) {
        self.0[link as usize].describe(name, index, to);
    }
    fn beats(&self) -> TypeId {
        TypeId::of::<T>()
    }
    fn sort(&mut self, order: &[u32]) {
        let mut links: Vec<_> = std::mem::take(&mut self.0).into_iter().map(Some).collect();
        self.0 = order.iter().filter_map(|&id| links[id as usize].take()).collect();
    }
    fn split(&mut self, owners: &[Owners], to: &mut [&mut dyn AnyPool]) {
        for (link, &[sender, receiver]) in std::mem::take(&mut self.0).into_iter().zip(owners) {
            if sender != receiver {
                of_kind::<T>(to[sender]).0.push(link.clone());
            }
            of_kind::<T>(to[receiver]).0.push(link);
        }
    }
    fn unite(&mut self, owners: &[Owners], from: &mut [&mut dyn AnyPool]) {
        let mut from: Vec<_> =
            from.iter_mut().map(|pool| std::mem::take(&mut of_kind::<T>(*pool).0).into_iter()).collect();
        for &[sender, receiver] in owners {
            if sender != receiver {
                from[sender].next();
            }
            self.0.extend(from[receiver].next());
        }
    }
}

/// Returns the pool of a netlist's links with beats of type `T`, for observers outside the model.
#[must_use]
pub fn pool_of<T: Payload + 'static, L: Carries<T>>(links: &L) -> &Pool<T> {
    let Some(pool) = (links.any(<L as Carries<T>>::POOL) as &dyn Any).downcast_ref() else {
        unreachable!("the pool has beats of this type")
    };
    pool
}

/// Returns a pool of another island as a pool with beats of type `T`. The pool must carry beats of this type.
fn of_kind<T: Payload + 'static>(pool: &mut dyn AnyPool) -> &mut Pool<T> {
    let Some(pool) = (pool as &mut dyn Any).downcast_mut() else {
        unreachable!("pools with the same number carry the same payload")
    };
    pool
}

/// All link pools of a netlist. The derive macro [`derive::Links`] implements this trait.
pub trait Links: Default + Send + 'static {
    /// Number of link pools, one for each type of beat.
    const COUNT: usize;
    /// Returns the link pool with number `pool`.
    fn any(&self, pool: usize) -> &dyn AnyPool;
    /// Returns the link pool with number `pool`, for modification.
    fn any_mut(&mut self, pool: usize) -> &mut dyn AnyPool;
    /// Exchanges messages between the two copies of a link from one island to another. `self` contains the
    /// sender's copy, `receivers` the receiver's copy.
    fn meet(&mut self, receivers: &mut Self, crossing: Crossing, sims: [&mut Simulator; 2]);
}

/// Link pools of a netlist, one of which holds the links with beats of type `T`.
pub trait Carries<T: Payload>: Links {
    /// Number of the link pool for beats of type `T`.
    const POOL: usize;
    /// Returns the link pool for beats of type `T`.
    fn pool(&mut self) -> &mut Pool<T>;
}
