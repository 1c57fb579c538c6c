//! # Pools
//! All links of a netlist that carry the same beats stand side by side in one pool.

use std::any::{Any, TypeId};

use serde::{Deserialize, Serialize};

use super::ports::{In, Many, Out};
use crate::kernel::{Chan, Describe, Ends, Payload, Rx, RxBank, Simulator, Tx, TxBank};

/// All links that carry the same beats.
#[derive(Serialize, Deserialize)]
#[serde(bound = "")]
pub struct Pool<T: Payload>(pub(super) Vec<Chan<T>>);

impl<T: Payload> Default for Pool<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Payload> Pool<T> {
    /// Lends a receiving end.
    #[inline(always)]
    pub fn rx(&mut self, port: &In<T>) -> Rx<'_, T> {
        self.0[port.0 as usize].rx()
    }

    /// Lends a sending end.
    #[inline(always)]
    pub fn tx(&mut self, port: &Out<T>) -> Tx<'_, T> {
        self.0[port.0 as usize].tx()
    }

    /// Lends the receiving ends of a port that may have several.
    #[inline(always)]
    pub fn rx_bank<'a>(&'a mut self, ports: &'a Many<In<T>>) -> RxBank<'a, T> {
        RxBank::of(&mut self.0[ports.range()])
    }

    /// Lends the sending ends of a port that may have several.
    #[inline(always)]
    pub fn tx_bank<'a>(&'a mut self, ports: &'a Many<Out<T>>) -> TxBank<'a, T> {
        TxBank::among(&mut self.0, &ports.ids)
    }

    /// Lends the ends of a block that passes on what it receives.
    #[inline(always)]
    pub fn ends<'a>(&'a mut self, from: &'a Many<In<T>>, to: &'a Many<Out<T>>) -> Ends<'a, T> {
        Ends::among(&mut self.0, from.range(), &to.ids)
    }

    /// Lends a receiving and a sending end.
    #[inline]
    pub fn both(&mut self, from: &In<T>, to: &Out<T>) -> (Rx<'_, T>, Tx<'_, T>) {
        let Ok([from, to]) = self.0.get_disjoint_mut([from.0 as usize, to.0 as usize]) else {
            unreachable!("a block sends to itself")
        };
        (from.rx(), to.tx())
    }

    /// The link at an input, for those who watch.
    #[must_use]
    pub fn at(&self, port: &In<T>) -> &Chan<T> {
        &self.0[port.0 as usize]
    }

    /// The links at an input that may have several, for those who watch.
    pub fn all_at<'a>(&'a self, ports: &'a Many<In<T>>) -> impl Iterator<Item = &'a Chan<T>> {
        self.0[ports.range()].iter()
    }

    /// Tells the ends of a link that was cut what the other end has done: this is the sender's.
    #[inline(always)]
    pub fn meet(&mut self, receivers: &mut Self, crossing: Crossing, [senders, theirs]: [&mut Simulator; 2]) {
        let Crossing { from, to, .. } = crossing;
        self.0[from as usize].meet(&mut receivers.0[to as usize], senders, theirs);
    }
}

/// A link that leads from an island to another: its pool, and its numbers here and there.
#[derive(Clone, Copy, Debug)]
pub struct Crossing {
    pub(super) pool: u32,
    pub(super) from: u32,
    pub(super) to: u32,
}

impl Crossing {
    /// The pool, by its number.
    #[must_use]
    #[inline(always)]
    pub fn pool(self) -> u32 {
        self.pool
    }
}

/// The islands of a link: of its sender and of its receiver.
pub(super) type Owners = [usize; 2];

/// A pool, whatever its links carry.
pub trait AnyPool: Any {
    /// Starts to keep digests of all beats.
    fn record(&mut self);
    /// Digest of all beats so far.
    fn history(&self) -> u64;
    /// True if no link holds a beat.
    fn is_empty(&self) -> bool;
    /// Links.
    fn len(&self) -> usize;
    /// Lists a link.
    fn describe(&self, link: u32, name: &'static str, index: Option<u32>, to: &mut dyn Describe);
    /// What the links carry.
    fn beats(&self) -> TypeId;
    /// Puts the links into another order.
    fn sort(&mut self, order: &[u32]);
    /// Hands out the links to the pools of islands: each to that of its receiver, and where it is cut a copy to that of its
    /// sender.
    fn split(&mut self, owners: &[[usize; 2]], to: &mut [&mut dyn AnyPool]);
    /// Takes the links back.
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

/// The same pool of another island.
fn of_kind<T: Payload + 'static>(pool: &mut dyn AnyPool) -> &mut Pool<T> {
    let Some(pool) = (pool as &mut dyn Any).downcast_mut() else { unreachable!("pools of one number carry the same") };
    pool
}

/// The pools of a netlist. Derived: [`derive::Links`].
pub trait Links: Default + Send + 'static {
    /// Pools.
    const COUNT: usize;
    /// One of them, by its number.
    fn any(&self, pool: usize) -> &dyn AnyPool;
    /// The same, to be changed.
    fn any_mut(&mut self, pool: usize) -> &mut dyn AnyPool;
    /// Tells both sides of a link that was cut what the other has done: `self` has the sender's end.
    fn meet(&mut self, receivers: &mut Self, crossing: Crossing, sims: [&mut Simulator; 2]);
}

/// Pools among which is one of these beats.
pub trait Carries<T: Payload>: Links {
    /// Its number.
    const POOL: usize;
    /// The pool.
    fn pool(&mut self) -> &mut Pool<T>;
}
