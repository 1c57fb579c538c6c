//! # Recorded streams
//! What the warps of a traced kernel do: each walks along the steps that the trace has for it. A step
//! stands for what program counter, SIMT stack and address registers give otherwise: the next
//! instruction, its lanes, their addresses.
//!
//! None of this is hardware, no more than the file it comes from. What the core itself knows of a warp
//! (the number of its next instruction and the lanes that take part) stands in the SIMT stack.

use std::fmt;
use std::sync::Arc;

use isa::recorded::{Code, Cta, Step, Warp};
use serde::{Deserialize, Serialize};

use crate::l1::access::LANES;
use crate::sm::MAX_WARPS;

/// Loads of a warp for which there is room beforehand.
const USUAL_LOADS: usize = 16;

/// Where the CTAs of a traced kernel come from.
pub trait CtaSource: fmt::Debug + Send + Sync {
    /// The CTA of a number, to be asked for once; `None` if the trace has none, the reason of which the
    /// source keeps. CTAs that start in one cycle may be asked for in any order. `learn` is shown the
    /// instructions known by then, those of this CTA included.
    fn take(&self, number: u32, learn: &mut dyn FnMut(&Code)) -> Option<Arc<Cta>>;
}

/// The next instruction of a warp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sm) struct Next {
    /// Its number in the code of the kernel.
    pub operation: u32,
    /// Lanes that take part.
    pub mask: u32,
}

/// A load on its way.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Load {
    step: u32,
    operation: u32,
    /// Beats answered.
    beats: u8,
    /// Its group, if it is an asynchronous copy.
    group: Option<u32>,
}

/// Where a warp is.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Stream {
    /// Its CTA, until that has ended. Not kept with the state: it is read again.
    #[serde(skip)]
    cta: Option<Arc<Cta>>,
    /// Its place among the warps of the CTA.
    place: usize,
    /// The next step.
    step: u32,
    loads: Vec<Load>,
    /// Groups of copies that it has ended.
    groups: u32,
    /// The groups up to this number are waited for.
    awaited: Option<u32>,
}

impl Stream {
    fn warp(&self) -> Option<&Warp> {
        self.cta.as_deref().map(|cta| &cta.warps[self.place])
    }

    fn at(&self, step: u32) -> Option<(&Warp, &Step)> {
        let warp = self.warp()?;
        Some((warp, warp.steps().get(step as usize)?))
    }

    fn next(&self) -> Option<Next> {
        self.at(self.step).map(|(_, &Step { operation, mask, .. })| Next { operation, mask })
    }

    /// Whether a copy of a group that is waited for is on its way.
    fn waits(&self) -> bool {
        self.awaited.is_some_and(|last| self.loads.iter().any(|load| load.group.is_some_and(|group| group < last)))
    }
}

/// The streams of all warp slots.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::sm) struct Streams {
    streams: Box<[Stream]>,
}

impl Streams {
    pub fn new() -> Self {
        let stream = || Stream {
            cta: None,
            place: 0,
            step: 0,
            loads: Vec::with_capacity(USUAL_LOADS),
            groups: 0,
            awaited: None,
        };
        Self { streams: (0..MAX_WARPS).map(|_| stream()).collect() }
    }

    fn get(&mut self, warp: u8) -> &mut Stream {
        &mut self.streams[usize::from(warp) % MAX_WARPS]
    }

    /// Puts warp `index` of a CTA into a slot; its first instruction, if it has any.
    pub fn start(&mut self, warp: u8, cta: &Arc<Cta>, index: u8) -> Option<Next> {
        let place = cta.warps.iter().position(|warp| warp.id == u32::from(index))?;
        let stream = self.get(warp);
        stream.cta = Some(Arc::clone(cta));
        stream.loads.clear();
        (stream.place, stream.step, stream.groups, stream.awaited) = (place, 0, 0, None);
        stream.next()
    }

    /// Gives a slot that was read back from a saved state its CTA, of which it is warp `index`, if it has one of these.
    pub fn take_up(&mut self, warp: u8, cta: &Arc<Cta>, index: u8) {
        let stream = self.get(warp);
        if cta.warps.get(stream.place).is_some_and(|warp| warp.id == u32::from(index)) {
            stream.cta = Some(Arc::clone(cta));
        }
    }

    /// Forgets the CTA of the given warp slots.
    pub fn end(&mut self, mut warps: u64) {
        while warps != 0 {
            self.get(warps.trailing_zeros() as u8).cta = None;
            warps &= warps - 1;
        }
    }

    /// Goes on to the next step, if there is one.
    pub fn advance(&mut self, warp: u8) -> Option<Next> {
        let stream = self.get(warp);
        stream.step += 1;
        stream.next()
    }

    /// Whether there is a step behind the next one.
    pub fn has_second(&self, warp: u8) -> bool {
        self.second(warp).is_some()
    }

    /// The instruction of the step behind the next one.
    pub fn second(&self, warp: u8) -> Option<u32> {
        let stream = &self.streams[usize::from(warp) % MAX_WARPS];
        stream.at(stream.step + 1).map(|(_, step)| step.operation)
    }

    /// Addresses of the next step; false if the trace has none.
    pub fn addresses(&self, warp: u8, addresses: &mut [u64; LANES]) -> bool {
        let stream = &self.streams[usize::from(warp) % MAX_WARPS];
        stream.at(stream.step).is_some_and(|(warp, step)| warp.unpack(step, addresses))
    }

    /// Number of the next step, and of its warp in its CTA.
    pub fn position(&self, warp: u8) -> (u32, usize) {
        let stream = &self.streams[usize::from(warp) % MAX_WARPS];
        (stream.step, stream.place)
    }

    /// Notes that the next step, a load, is on its way.
    pub fn loads(&mut self, warp: u8, operation: u32, is_copy: bool) {
        let stream = self.get(warp);
        let group = is_copy.then_some(stream.groups);
        stream.loads.push(Load { step: stream.step, operation, beats: 0, group });
    }

    /// Notes a reply to a load of `beats` beats, and whether it is the last; `None` if none of those on their way could
    /// have brought it: `fits` says so for the addresses of one.
    pub fn answered(
        &mut self,
        warp: u8,
        operation: u32,
        beats: u8,
        mut fits: impl FnMut(&[u64; LANES]) -> bool,
    ) -> Option<bool> {
        let stream = &self.streams[usize::from(warp) % MAX_WARPS];
        let mut addresses = [0; LANES];
        // Two of one instruction can be on their way only if it writes no register.
        let found = stream.loads.iter().position(|load| {
            load.operation == operation
                && stream.at(load.step).is_some_and(|(warp, step)| warp.unpack(step, &mut addresses))
                && fits(&addresses)
        });
        let found = found?;
        let loads = &mut self.get(warp).loads;
        loads[found].beats += 1;
        let is_last = loads[found].beats == beats;
        if is_last {
            loads.swap_remove(found);
        }
        Some(is_last)
    }

    /// Ends a group of copies.
    pub fn end_group(&mut self, warp: u8) {
        self.get(warp).groups += 1;
    }

    /// Waits until at most `allowed` groups have copies on their way; true if more have now.
    pub fn await_groups(&mut self, warp: u8, allowed: u32) -> bool {
        let stream = self.get(warp);
        stream.awaited = Some(stream.groups.saturating_sub(allowed));
        if !stream.waits() {
            stream.awaited = None;
        }
        stream.awaited.is_some()
    }

    /// Whether the groups that a warp waits for have come, which is said once.
    pub fn groups_came(&mut self, warp: u8) -> bool {
        let stream = self.get(warp);
        let came = stream.awaited.is_some() && !stream.waits();
        if came {
            stream.awaited = None;
        }
        came
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cta() -> Arc<Cta> {
        let mut warp = Warp::new(3);
        for step in 0..4 {
            warp.push_access(step, 1, &[0x1000 * u64::from(step); LANES]);
        }
        Arc::new(Cta { warps: vec![warp], ..Cta::default() })
    }

    fn started() -> Streams {
        let mut streams = Streams::new();
        assert_eq!(streams.start(5, &cta(), 3), Some(Next { operation: 0, mask: 1 }));
        streams
    }

    #[test]
    fn a_warp_walks_along_its_steps_to_their_end() {
        let mut streams = started();
        let rest: Vec<_> = std::iter::from_fn(|| streams.advance(5)).map(|next| next.operation).collect();
        assert_eq!(rest, [1, 2, 3]);
    }

    #[test]
    fn a_warp_that_the_trace_does_not_have_has_no_steps() {
        assert_eq!(Streams::new().start(5, &cta(), 2), None);
    }

    #[test]
    fn the_trace_of_a_cta_goes_with_its_warps() {
        let cta = cta();
        let mut streams = Streams::new();
        streams.start(5, &cta, 3);
        assert_eq!(Arc::strong_count(&cta), 2);
        streams.end(1 << 5);
        assert_eq!(Arc::strong_count(&cta), 1);
    }

    #[test]
    fn a_reply_must_belong_to_a_load_on_its_way() {
        let mut streams = started();
        streams.loads(5, 0, false);
        assert_eq!(streams.answered(5, 1, 1, |_| true), None);
        assert_eq!(streams.answered(5, 0, 1, |addresses| addresses[0] != 0), None);
        assert_eq!(streams.answered(5, 0, 1, |addresses| addresses[0] == 0), Some(true));
        assert_eq!(streams.answered(5, 0, 1, |_| true), None);
    }

    #[test]
    fn a_wait_ends_when_all_but_the_allowed_groups_have_come() {
        let mut streams = started();
        for _ in 0..2 {
            streams.loads(5, 0, true);
            streams.end_group(5);
        }
        assert!(!streams.await_groups(5, 2));
        assert!(streams.await_groups(5, 1));
        assert!(!streams.groups_came(5));
        streams.answered(5, 0, 1, |_| true);
        assert!(streams.groups_came(5));
        assert!(!streams.groups_came(5));
    }
}
