//! # Warp scheduling schemes
//! Reference models of the schemes by which a scheduler selects a ready warp. A model processes the events of
//! one scheduler and returns the warp that must issue. The `kind` key of a configuration selects the scheme,
//! both in the hardware and in the reference model. A warp is identified by the number of its slot in the SM.

automod::dir!(pub "sm/scheduler");

use std::collections::BTreeSet;
use std::fmt::Debug;

/// Configuration of a warp scheduling scheme. It can create the reference model of the scheme.
#[typetag::deserialize(tag = "kind")]
pub trait Scheme: Debug + Send {
    /// Creates the reference model of one scheduler.
    fn twin(&self) -> Box<dyn Policy>;
}

/// Reference model of one warp scheduler.
pub trait Policy: Debug + Send {
    /// Updates the model after a warp has been launched. Its program has `_length` instructions.
    fn launch(&mut self, cycle: u64, warp: u8, _length: u64);

    /// Updates the model after a warp has issued the instruction at `_position` of its program; `_next` is
    /// the position of its next instruction.
    fn issue(&mut self, cycle: u64, warp: u8, _position: u64, _next: u64);

    /// Updates the model at the end of a cycle. `_running` holds the warps that have not ended. `_waiting`
    /// holds the warps that wait at a barrier or for device memory; they are in `_running`, too.
    fn end_cycle(&mut self, _running: &BTreeSet<u8>, _waiting: &BTreeSet<u8>) {}

    /// Returns the warp among the warps of `ready` that issues next; `None` if the scheme lets none of them
    /// issue.
    fn choose(&self, ready: &BTreeSet<u8>) -> Option<u8>;
}

/// Launched warps, from oldest to youngest, and the warp that was issued last.
#[derive(Clone, Debug, Default)]
struct Launched {
    order: Vec<u8>,
    /// Slot of the warp issued last; `None` if another warp has since been launched into this slot.
    last: Option<u8>,
}

impl Launched {
    fn launch(&mut self, warp: u8) {
        self.order.retain(|&other| other != warp);
        self.order.push(warp);
        self.last = self.last.filter(|&last| last != warp);
    }

    /// Returns the warp issued last if it is ready.
    fn preferred(&self, ready: &BTreeSet<u8>) -> Option<u8> {
        self.last.filter(|last| ready.contains(last))
    }

    /// Returns the ready warps, from oldest to youngest.
    fn ready(&self, ready: &BTreeSet<u8>) -> impl DoubleEndedIterator<Item = u8> {
        self.order.iter().copied().filter(|warp| ready.contains(warp))
    }
}

/// Returns the first warp of `ready` after slot `last`; if there is none, the lowest warp of `ready`.
fn next_in_turn(last: u8, ready: &BTreeSet<u8>) -> Option<u8> {
    ready.range(last + 1..).next().or(ready.first()).copied()
}
