//! # Ports
//! Defines the types of ports. A hardware block declares its ports in its own file, as a struct of [`In`],
//! [`Out`], [`Many`] and [`Extra`] fields that derives [`Ports`]. A port holds only numbers of links; the
//! links themselves are stored in pools. At each clock edge, a block receives the link ends of its own ports,
//! and no others.

use std::any::TypeId;
use std::marker::PhantomData;
use std::ops::Range;

/// Link number of an unconnected port.
const NOWHERE: u32 = u32::MAX;

/// Input port: the receiving end of at most one link.
#[derive(Debug)]
pub struct In<T>(pub(super) u32, PhantomData<fn(T)>);

/// Output port: the sending end of at most one link.
#[derive(Debug)]
pub struct Out<T>(pub(super) u32, PhantomData<fn(T)>);

/// Port with any number of links.
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
    /// True if a link is connected to this input port.
    #[must_use]
    #[inline]
    pub fn is_connected(&self) -> bool {
        self.0 != NOWHERE
    }
}

impl<T> Out<T> {
    /// True if a link is connected to this output port.
    #[must_use]
    #[inline]
    pub fn is_connected(&self) -> bool {
        self.0 != NOWHERE
    }
}

impl<T> Many<In<T>> {
    /// Returns the positions of the input port's links in their pool, where they are adjacent.
    #[inline(always)]
    pub(super) fn range(&self) -> Range<usize> {
        let first = self.ids.first().map_or(0, |&id| id as usize);
        first..first + self.ids.len()
    }
}

/// Optional ports that most hardware blocks of a kind lack. If none of them is connected, checking for them
/// costs one comparison.
#[derive(Debug)]
pub struct Extra<P>(Option<Box<P>>);

impl<P> Default for Extra<P> {
    fn default() -> Self {
        Self(None)
    }
}

impl<P: Default> Extra<P> {
    /// Returns the optional ports, if any of them is connected.
    #[must_use]
    #[inline(always)]
    pub fn get(&self) -> Option<&P> {
        self.0.as_deref()
    }

    /// Returns the optional ports, creating them if necessary, so that a link can be connected.
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

/// Ports of a hardware block. The derive macro [`derive::Ports`] implements this trait.
pub trait Ports: Default + Send + 'static {
    /// Calls `visitor` for each port, in declaration order.
    fn visit(&mut self, visitor: &mut impl PortVisitor);
}

/// Hardware block that has ports.
pub trait HasPorts {
    /// Type of the hardware block's ports.
    type Ports: Ports;
}

/// Visitor of the ports of a hardware block.
pub trait PortVisitor {
    /// Called at the start of each port, before the ends of its links are visited.
    fn port(&mut self);
    /// Called for one link end of the current port, with the number of the link and the type of its beats.
    fn end(&mut self, beats: TypeId, link: &mut u32);
}

/// Port whose link ends can be visited.
pub trait AnyPort {
    /// Calls `visitor` for the port and for each of its link ends.
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

/// Port to which links can be connected.
pub trait Connects {
    /// Type of the beats on the port's links.
    type Beat;
    /// Connects the link with number `link`. Returns false if the port allows only one link and already has
    /// one.
    fn connect(&mut self, link: u32) -> bool;
}

/// Output port, which sends beats.
pub trait Sends: Connects {}
/// Input port, which receives beats.
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

/// Visitor that replaces the link numbers in ports.
pub(super) struct Renumber<'a>(pub &'a dyn Fn(TypeId, u32) -> u32);

impl PortVisitor for Renumber<'_> {
    fn port(&mut self) {}
    fn end(&mut self, beats: TypeId, link: &mut u32) {
        *link = (self.0)(beats, *link);
    }
}

/// Visitor that finds the position of the port to which a given link is connected.
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
