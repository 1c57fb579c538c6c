//! # Recorded streams
//! Supplies the steps that a trace recorded for each warp of a kernel. A step replaces the program counter,
//! the SIMT stack and address registers: it gives the next instruction, its lanes and their addresses.
//!
//! Neither the trace nor the position of a warp in it exists in hardware. The index of a warp's next
//! instruction and its active lanes are copied to the SIMT stack, as for a program.

use std::fmt;
use std::sync::Arc;

use isa::recorded::{Code, Cta, Step, Warp};
use serde::{Deserialize, Serialize};

use crate::l1::access::LANES;
use crate::sm::MAX_WARPS;

/// Initial capacity of each warp's list of loads in flight.
const USUAL_LOADS: usize = 16;

/// Source of the CTAs of a traced kernel.
pub trait CtaSource: fmt::Debug + Send + Sync {
    /// Returns CTA `number` of the grid; called once per CTA. CTAs that start in the same cycle may be
    /// requested in any order. Calls `learn` with all instructions known so far, including those of this CTA.
    /// Returns `None` if the trace lacks the CTA; the source then records the reason.
    fn take(&self, number: u32, learn: &mut dyn FnMut(&Code)) -> Option<Arc<Cta>>;
}

/// Next instruction of a warp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sm) struct Next {
    /// Index of the instruction in the code of the kernel.
    pub operation: u32,
    /// Mask of the lanes that execute the instruction.
    pub mask: u32,
}

/// Load in flight of one warp, with the number of the recorded step that issued it.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Load {
    step: u32,
    operation: u32,
    /// Number of replies that have arrived for this load; each beat of the load gets one reply.
    beats: u8,
    /// Number of the copy group to which an asynchronous copy belongs; `None` for other loads.
    group: Option<u32>,
}

/// Position of a warp in its recorded steps, and its loads in flight.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Stream {
    /// CTA of the warp, until the CTA has ended. Not saved in checkpoints, because it can be read from the
    /// trace again.
    #[serde(skip)]
    cta: Option<Arc<Cta>>,
    /// Index of the warp among the recorded warps of the CTA.
    place: usize,
    /// Index of the next recorded step.
    step: u32,
    loads: Vec<Load>,
    /// Number of groups of asynchronous copies that the warp has committed.
    groups: u32,
    /// Number of the first group of asynchronous copies for which the warp does not wait: it waits for all
    /// groups with a lower number. `None` if the warp waits for no copies.
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

    /// True if the warp waits for a group of asynchronous copies, at least one of which is still in flight.
    fn waits(&self) -> bool {
        self.awaited.is_some_and(|last| self.loads.iter().any(|load| load.group.is_some_and(|group| group < last)))
    }
}

/// Recorded steps of the warps in all warp slots, with the position of each warp in its steps.
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

    /// Starts warp `index` of a CTA in warp slot `warp`. Returns the first instruction of the warp, or `None`
    /// if the trace has no such warp.
    pub fn start(&mut self, warp: u8, cta: &Arc<Cta>, index: u8) -> Option<Next> {
        let place = cta.warps.iter().position(|warp| warp.id == u32::from(index))?;
        let stream = self.get(warp);
        stream.cta = Some(Arc::clone(cta));
        stream.loads.clear();
        (stream.place, stream.step, stream.groups, stream.awaited) = (place, 0, 0, None);
        stream.next()
    }

    /// Restores the CTA of warp slot `warp` after loading a checkpoint, if the slot ran warp `index` of that
    /// CTA.
    pub fn restore(&mut self, warp: u8, cta: &Arc<Cta>, index: u8) {
        let stream = self.get(warp);
        if cta.warps.get(stream.place).is_some_and(|warp| warp.id == u32::from(index)) {
            stream.cta = Some(Arc::clone(cta));
        }
    }

    /// Iterates over the instructions of all recorded steps of a warp, as indices in the code of the kernel.
    pub fn operations(&self, warp: u8) -> impl Iterator<Item = u32> {
        let steps = self.streams[usize::from(warp) % MAX_WARPS].warp().into_iter().flat_map(Warp::steps);
        steps.map(|step| step.operation)
    }

    /// Releases the recorded CTA of the warp slots in the mask `warps`.
    pub fn end(&mut self, mut warps: u64) {
        while warps != 0 {
            self.get(warps.trailing_zeros() as u8).cta = None;
            warps &= warps - 1;
        }
    }

    /// Advances a warp to its next recorded step and returns the instruction, or `None` after the last step.
    pub fn advance(&mut self, warp: u8) -> Option<Next> {
        let stream = self.get(warp);
        stream.step += 1;
        stream.next()
    }

    /// True if the warp has a recorded step `count` steps after the next one.
    pub fn has_ahead(&self, warp: u8, count: u32) -> bool {
        let stream = &self.streams[usize::from(warp) % MAX_WARPS];
        stream.at(stream.step + count).is_some()
    }

    /// Returns the instruction of the recorded step after the next one; `None` if there is no such step.
    pub fn second(&self, warp: u8) -> Option<u32> {
        let stream = &self.streams[usize::from(warp) % MAX_WARPS];
        stream.at(stream.step + 1).map(|(_, step)| step.operation)
    }

    /// Reads the lane addresses of the next recorded step. Returns false if the trace has no addresses for
    /// the step.
    pub fn addresses(&self, warp: u8, addresses: &mut [u64; LANES]) -> bool {
        let stream = &self.streams[usize::from(warp) % MAX_WARPS];
        stream.at(stream.step).is_some_and(|(warp, step)| warp.unpack(step, addresses))
    }

    /// Returns the index of the next recorded step, and the index of the warp among the recorded warps of its
    /// CTA.
    pub fn position(&self, warp: u8) -> (u32, usize) {
        let stream = &self.streams[usize::from(warp) % MAX_WARPS];
        (stream.step, stream.place)
    }

    /// Records that the load of the next recorded step is in flight.
    pub fn loads(&mut self, warp: u8, operation: u32, is_copy: bool) {
        let stream = self.get(warp);
        let group = is_copy.then_some(stream.groups);
        stream.loads.push(Load { step: stream.step, operation, beats: 0, group });
    }

    /// Records a reply to a load instruction that has `beats` beats. Attributes the reply to a load in flight
    /// of this instruction for whose lane addresses `fits` returns true. Returns true if the reply completes
    /// this load, and `None` if there is no such load.
    pub fn on_reply(
        &mut self,
        warp: u8,
        operation: u32,
        beats: u8,
        mut fits: impl FnMut(&[u64; LANES]) -> bool,
    ) -> Option<bool> {
        let stream = &self.streams[usize::from(warp) % MAX_WARPS];
        let mut addresses = [0; LANES];
        // Two loads of the same instruction can be in flight only if the instruction writes no register.
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

    /// Commits a group of asynchronous copies.
    pub fn end_group(&mut self, warp: u8) {
        self.get(warp).groups += 1;
    }

    /// Starts a wait for all committed groups of asynchronous copies except the last `allowed` ones. Returns
    /// true if the warp must wait.
    pub fn await_groups(&mut self, warp: u8, allowed: u32) -> bool {
        let stream = self.get(warp);
        stream.awaited = Some(stream.groups.saturating_sub(allowed));
        if !stream.waits() {
            stream.awaited = None;
        }
        stream.awaited.is_some()
    }

    /// True if the copy groups for which the warp waits have completed. In this case, also ends the wait, so
    /// that the next call returns false.
    pub fn poll_groups(&mut self, warp: u8) -> bool {
        let stream = self.get(warp);
        let arrived = stream.awaited.is_some() && !stream.waits();
        if arrived {
            stream.awaited = None;
        }
        arrived
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

    fn start_streams() -> Streams {
        let mut streams = Streams::new();
        assert_eq!(streams.start(5, &cta(), 3), Some(Next { operation: 0, mask: 1 }));
        streams
    }

    #[test]
    fn a_warp_walks_along_its_steps_to_their_end() {
        let mut streams = start_streams();
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
        let mut streams = start_streams();
        streams.loads(5, 0, false);
        assert_eq!(streams.on_reply(5, 1, 1, |_| true), None);
        assert_eq!(streams.on_reply(5, 0, 1, |addresses| addresses[0] != 0), None);
        assert_eq!(streams.on_reply(5, 0, 1, |addresses| addresses[0] == 0), Some(true));
        assert_eq!(streams.on_reply(5, 0, 1, |_| true), None);
    }

    #[test]
    fn a_wait_ends_when_all_but_the_allowed_groups_have_come() {
        let mut streams = start_streams();
        for _ in 0..2 {
            streams.loads(5, 0, true);
            streams.end_group(5);
        }
        assert!(!streams.await_groups(5, 2));
        assert!(streams.await_groups(5, 1));
        assert!(!streams.poll_groups(5));
        streams.on_reply(5, 0, 1, |_| true);
        assert!(streams.poll_groups(5));
        assert!(!streams.poll_groups(5));
    }
}
