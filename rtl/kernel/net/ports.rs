//! # Ports
//! A block declares its ports as a struct of these, in its own file, and derives [`Ports`]. A port holds numbers of links; the
//! links themselves stand in pools, from which a block is lent the ends of its own ports for an edge, and no others.

use std::any::TypeId;
use std::marker::PhantomData;
use std::ops::Range;

/// The number of no link.
const NOWHERE: u32 = u32::MAX;

/// An input: the end at which a block receives, or none where nothing is connected.
#[derive(Debug)]
pub struct In<T>(pub(super) u32, PhantomData<fn(T)>);

/// An output: the end at which a block sends, or none where nothing is connected.
#[derive(Debug)]
pub struct Out<T>(pub(super) u32, PhantomData<fn(T)>);

/// A port with as many ends as are connected to it.
#[derive(Debug)]
pub struct Many<End> {
    pub(super) ids: Vec<u32>,
    ends: PhantomData<fn(End)>,
}

impl<T> Default for In<T> {
    fn default() -> Self {
        Self(NOWHERE, PhantomData)
    }
}

impl<T> Default for Out<T> {
    fn default() -> Self {
        Self(NOWHERE, PhantomData)
    }
}

impl<End> Default for Many<End> {
    fn default() -> Self {
        Self { ids: Vec::new(), ends: PhantomData }
    }
}

impl<T> In<T> {
    /// True if a link is connected.
    #[must_use]
    #[inline]
    pub fn is_connected(&self) -> bool {
        self.0 != NOWHERE
    }
}

impl<T> Out<T> {
    /// True if a link is connected.
    #[must_use]
    #[inline]
    pub fn is_connected(&self) -> bool {
        self.0 != NOWHERE
    }
}

impl<T> Many<In<T>> {
    /// The links of an input stand side by side in their pool.
    #[inline(always)]
    pub(super) fn range(&self) -> Range<usize> {
        let first = self.ids.first().map_or(0, |&id| id as usize);
        first..first + self.ids.len()
    }
}

/// Optional ports that most blocks of a kind lack: where there are none, looking for them costs one comparison.
#[derive(Debug)]
pub struct Extra<P>(Option<Box<P>>);

impl<P> Default for Extra<P> {
    fn default() -> Self {
        Self(None)
    }
}

impl<P: Default> Extra<P> {
    /// The ports, if any of them is connected.
    #[must_use]
    #[inline(always)]
    pub fn get(&self) -> Option<&P> {
        self.0.as_deref()
    }

    /// The ports, to connect one.
    pub fn open(&mut self) -> &mut P {
        self.0.get_or_insert_default()
    }
}

impl<P: Ports> AnyPort for Extra<P> {
    fn visit(&mut self, visitor: &mut impl PortVisitor) {
        if let Some(ports) = &mut self.0 {
            ports.visit(visitor);
        }
    }
}

/// The ports of a block. Derived: [`derive::Ports`].
pub trait Ports: Default + Send + 'static {
    /// Visits them in the order of the declaration.
    fn visit(&mut self, visitor: &mut impl PortVisitor);
}

/// A block that has ports.
pub trait HasPorts {
    /// Its ports.
    type Ports: Ports;
}

/// Whoever goes through the ports of a block.
pub trait PortVisitor {
    /// The next port begins.
    fn port(&mut self);
    /// An end of it: the number of its link, which carries these beats.
    fn end(&mut self, beats: TypeId, link: &mut u32);
}

/// A kind of port.
pub trait AnyPort {
    /// Visits its ends.
    fn visit(&mut self, visitor: &mut impl PortVisitor);
}

impl<T: 'static> AnyPort for In<T> {
    fn visit(&mut self, visitor: &mut impl PortVisitor) {
        visitor.port();
        if self.is_connected() {
            visitor.end(TypeId::of::<T>(), &mut self.0);
        }
    }
}

impl<T: 'static> AnyPort for Out<T> {
    fn visit(&mut self, visitor: &mut impl PortVisitor) {
        visitor.port();
        if self.is_connected() {
            visitor.end(TypeId::of::<T>(), &mut self.0);
        }
    }
}

impl<T: 'static> AnyPort for Many<In<T>> {
    fn visit(&mut self, visitor: &mut impl PortVisitor) {
        visitor.port();
        self.ids.iter_mut().for_each(|id| visitor.end(TypeId::of::<T>(), id));
    }
}

impl<T: 'static> AnyPort for Many<Out<T>> {
    fn visit(&mut self, visitor: &mut impl PortVisitor) {
        visitor.port();
        self.ids.iter_mut().for_each(|id| visitor.end(TypeId::of::<T>(), id));
    }
}

/// A port to which links are connected. Returns whether there was room for one.
pub trait Connects {
    /// What its links carry.
    type Beat;
    /// Connects a link, by its number; false if the port has one already.
    fn connect(&mut self, link: u32) -> bool;
}

/// A port that sends.
pub trait Sends: Connects {}
/// A port that receives.
pub trait Receives: Connects {}

impl<T> Connects for In<T> {
    type Beat = T;
    fn connect(&mut self, link: u32) -> bool {
        std::mem::replace(&mut self.0, link) == NOWHERE
    }
}

impl<T> Connects for Out<T> {
    type Beat = T;
    fn connect(&mut self, link: u32) -> bool {
        std::mem::replace(&mut self.0, link) == NOWHERE
    }
}

impl<T> Connects for Many<In<T>> {
    type Beat = T;
    fn connect(&mut self, link: u32) -> bool {
        self.ids.push(link);
        true
    }
}

impl<T> Connects for Many<Out<T>> {
    type Beat = T;
    fn connect(&mut self, link: u32) -> bool {
        self.ids.push(link);
        true
    }
}

impl<T> Sends for Out<T> {}
impl<T> Sends for Many<Out<T>> {}
impl<T> Receives for In<T> {}
impl<T> Receives for Many<In<T>> {}

/// Gives the links of ports other numbers.
pub(super) struct Renumber<'a>(pub &'a dyn Fn(TypeId, u32) -> u32);

impl PortVisitor for Renumber<'_> {
    fn port(&mut self) {}
    fn end(&mut self, beats: TypeId, link: &mut u32) {
        *link = (self.0)(beats, *link);
    }
}

/// Finds the port of a link, by its position.
pub(super) struct Find {
    pub beats: TypeId,
    pub link: u32,
    pub ports: usize,
    pub found: Option<usize>,
}

impl PortVisitor for Find {
    fn port(&mut self) {
        self.ports += 1;
    }
    fn end(&mut self, beats: TypeId, link: &mut u32) {
        if beats == self.beats && *link == self.link {
            self.found = Some(self.ports - 1);
        }
    }
}
