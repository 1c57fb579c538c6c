//! # Pending queue of an L2 bank
//! Holds requests of the transient flow that wait for a way, for an entry of the FRC (fetch and replacement
//! cache), or for the end of an eviction of their line. A request repeats its lookup when an event in its set
//! may let the lookup succeed.
//! | port     | dir | payload      | contract                                                    |
//! |----------|-----|--------------|-------------------------------------------------------------|
//! | `push`   | in  | request, set | the queue has room                                          |
//! | `wake`   | in  | set          | a resource became free for the set                          |
//! | `start`  | in  | cycle        | a lookup may begin; the oldest awake request begins it      |
//! | `due`    | out | request      | request whose lookup is over                                |
//! | `remove` | in  |              | the request was served; the next request of its set is awake |
//! | `refuse` | in  |              | the request was not served; it keeps its place and waits    |
//!
//! Order: in each set, only the oldest request is ever awake or being looked up. Each set is therefore served
//! first come, first served, and sets do not wait for each other. A request stays in the queue until it is
//! served. Younger requests for its line, and younger misses of its set, queue behind it.
//!
//! Part of `rtl/l2/bank.rs`.
//! Twin: `golden/l2/frc.rs`.
//! Bench: its own tests and `tb/l2/frc.rs`.

use serde::{Deserialize, Serialize};

use super::super::super::lookup_pipeline::due_bits;
use crate::kernel::{Describe, DescribeExt, Encoding, FieldsExt, Logic, Payload, width_of};
use crate::noc::packet::{PacketShape, Request};

/// State of a request in the pending queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Encoding)]
#[width(2)]
enum Step {
    /// The request waits for a way, for an entry of the FRC (fetch and replacement cache), or for the end of
    /// an eviction.
    #[default]
    Waiting,
    /// The request may repeat its lookup, because a resource became free.
    Awake,
    /// The request's repeated lookup is in progress.
    Looking,
}

/// Entry of the pending queue: a request without its payload.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Entry {
    /// Index of the request's payload in `requests`.
    slot: u16,
    line: u64,
    set: u32,
    step: Step,
    /// Cycle in which the repeated lookup completes.
    due: u64,
    /// Cycle of the request's first lookup; for statistics only, not modeled as hardware.
    missed: u64,
}

/// Pending queue, oldest request first. When an entry is removed, younger entries move up.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Pending {
    entries: Vec<Entry>,
    /// Payloads of the requests. They never move, because copying them would slow the simulator down.
    requests: Box<[Request]>,
    /// Indices of `requests` that are free.
    free: Vec<u16>,
    /// Number of awake requests, which may repeat their lookup. A request whose repeated lookup has begun is
    /// counted in `lookups` instead.
    awake: u32,
    lookups: u32,
    /// Latency of a lookup in cycles.
    latency: u32,
    set_bits: u32,
    shape: PacketShape,
    /// Placeholder request that waveforms show for free entries of the pending queue.
    empty: Request,
}

impl Pending {
    /// Returns an empty pending queue with room for `depth` requests.
    pub fn new(depth: u32, latency: u32, set_bits: u32, shape: PacketShape) -> Self {
        Self {
            entries: Vec::with_capacity(depth as usize),
            requests: vec![Request::default(); depth as usize].into(),
            free: (0..depth as u16).rev().collect(),
            awake: 0,
            lookups: 0,
            latency,
            set_bits,
            shape,
            empty: Request::default(),
        }
    }

    /// True if the queue is empty.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// True if the queue has room for another request.
    pub fn has_room(&self) -> bool {
        !self.free.is_empty()
    }

    /// True if a request for line `line` is in the queue.
    pub fn holds_line(&self, line: u64) -> bool {
        self.entries.iter().any(|entry| entry.line == line)
    }

    /// True if a request for a line of set `set` is in the queue.
    pub fn holds_set(&self, set: u32) -> bool {
        self.entries.iter().any(|entry| entry.set == set)
    }

    /// Enqueues a request that could not be served after its lookup in cycle `cycle`.
    pub fn push(&mut self, request: &Request, set: u32, cycle: u64) {
        let Some(slot) = self.free.pop() else { panic!("push to a full pending queue of {}", self.requests.len()) };
        self.requests[usize::from(slot)].clone_from(request);
        self.entries.push(Entry { slot, line: request.line, set, step: Step::Waiting, due: 0, missed: cycle });
    }

    /// Lets the oldest request of set `set` repeat its lookup, because a resource for the set became free.
    pub fn wake(&mut self, set: u32) {
        let oldest = self.entries.iter_mut().find(|entry| entry.set == set);
        if let Some(oldest) = oldest.filter(|oldest| oldest.step == Step::Waiting) {
            oldest.step = Step::Awake;
            self.awake += 1;
        }
    }

    /// Wakes the oldest request of each set for which `meant` returns true, so that it repeats its lookup.
    pub fn wake_where(&mut self, meant: impl Fn(u32) -> bool) {
        for place in 0..self.entries.len() {
            let Entry { set, step, .. } = self.entries[place];
            if step == Step::Waiting && meant(set) && !self.entries[..place].iter().any(|older| older.set == set) {
                self.entries[place].step = Step::Awake;
                self.awake += 1;
            }
        }
    }

    /// True if at least one request may repeat its lookup.
    pub fn is_awake(&self) -> bool {
        self.awake > 0
    }

    /// Begins the repeated lookup of the oldest awake request. Returns false if no request is awake.
    pub fn start(&mut self, cycle: u64) -> bool {
        if self.awake == 0 {
            return false;
        }
        let Some(oldest) = self.entries.iter_mut().find(|entry| entry.step == Step::Awake) else { return false };
        oldest.step = Step::Looking;
        oldest.due = cycle + u64::from(self.latency);
        self.awake -= 1;
        self.lookups += 1;
        true
    }

    /// Returns the cycle in which the next repeated lookup completes; `None` if none is in progress.
    pub fn next_due(&self) -> Option<u64> {
        if self.lookups == 0 {
            return None;
        }
        let lookups = self.entries.iter().filter(|entry| entry.step == Step::Looking);
        lookups.map(|entry| entry.due).min()
    }

    /// Returns the queue position of a request whose repeated lookup is complete in cycle `cycle`. If there
    /// are several, returns the one whose lookup began first.
    pub fn due(&self, cycle: u64) -> Option<usize> {
        if self.lookups == 0 {
            return None;
        }
        let over = |entry: &Entry| entry.step == Step::Looking && entry.due <= cycle;
        (0..self.entries.len()).filter(|&place| over(&self.entries[place])).min_by_key(|&place| self.entries[place].due)
    }

    /// Returns the request at position `place` of the pending queue.
    pub fn request(&self, place: usize) -> &Request {
        &self.requests[usize::from(self.entries[place].slot)]
    }

    /// Returns the cycle of the first lookup of the request at queue position `place`.
    pub fn first_lookup_cycle(&self, place: usize) -> u64 {
        self.entries[place].missed
    }

    /// Removes the request at queue position `place`, which was served after its lookup, and wakes the next
    /// request of its set.
    pub fn remove(&mut self, place: usize) {
        let Entry { slot, set, .. } = self.entries.remove(place);
        self.free.push(slot);
        self.lookups -= 1;
        self.wake(set);
    }

    /// Makes the request at queue position `place` wait again, because it could not be served after its
    /// lookup.
    pub fn refuse(&mut self, place: usize) {
        self.entries[place].step = Step::Waiting;
        self.lookups -= 1;
    }

    /// Lists the registers and logic of the pending queue for waveforms, digests and area estimates.
    pub fn describe(&self, to: &mut dyn Describe) {
        let Self { entries, requests, free: _, awake: _, lookups: _, latency: _, set_bits, shape, empty } = self;
        let depth = requests.len() as u32;
        to.sized("level", entries.len() as u64, u32::BITS - depth.leading_zeros());
        to.entries("slot", 0..requests.len(), |place, to| {
            let entry = entries.get(place);
            entry.map_or(empty, |entry| &requests[usize::from(entry.slot)]).fields(shape, to);
            let (set, step, due) =
                entry.map_or_else(Default::default, |&Entry { set, step, due, .. }| (set, step, due));
            to.sized("set", u64::from(set), *set_bits);
            to.state("step", step);
            to.bits("due", due_bits(due));
        });
        to.table_ports(1, depth, width_of::<Request>(shape) + set_bits);
        to.logic("pending_line", Logic::Comparator { width: shape.line_bits, count: depth });
        to.logic("pending_set", Logic::Comparator { width: *set_bits, count: depth });
        to.logic("pending_awake", Logic::PriorityEncoder { inputs: depth });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(sets: &[u32]) -> Pending {
        let mut queue = Pending::new(
            4,
            10,
            6,
            PacketShape { tracked: false, hints: false, line_bits: 25, line_bytes: 128, sm_bits: 4, partition_bits: 3 },
        );
        for (ticket, &set) in (0..).zip(sets) {
            queue.push(&Request { ticket, line: 100 + ticket, ..Request::default() }, set, ticket);
        }
        queue
    }

    /// Begins the lookups of all awake requests. Returns the requests' tickets, in the order in which the
    /// lookups began.
    fn start_all(queue: &mut Pending) -> Vec<u64> {
        let mut tickets = Vec::new();
        while queue.start(50 + tickets.len() as u64) {
            let youngest = queue.entries.iter().filter(|entry| entry.step == Step::Looking).max_by_key(|e| e.due);
            tickets.extend(youngest.map(|entry| queue.requests[usize::from(entry.slot)].ticket));
        }
        tickets
    }

    #[test]
    fn only_the_oldest_request_of_a_set_looks_again() {
        let mut queue = queue(&[7, 7, 8]);
        queue.wake(7);
        queue.wake(7);
        assert_eq!(start_all(&mut queue), [0]);
        queue.wake(7);
        assert!(start_all(&mut queue).is_empty());
    }

    #[test]
    fn sets_that_share_what_came_free_look_again_one_after_the_other() {
        let mut queue = queue(&[7, 8, 7, 15]);
        queue.wake_where(|set| set % 8 == 7);
        assert_eq!(start_all(&mut queue), [0, 3]);
        assert_eq!((queue.due(59), queue.due(60), queue.next_due()), (None, Some(0), Some(60)));
    }

    #[test]
    fn the_next_of_the_set_follows_one_that_was_served_and_not_one_that_was_refused() {
        let mut queue = queue(&[7, 7]);
        queue.wake(7);
        assert_eq!(start_all(&mut queue), [0]);
        queue.refuse(0);
        assert!(start_all(&mut queue).is_empty());
        queue.wake(7);
        assert_eq!(start_all(&mut queue), [0]);
        queue.remove(0);
        assert_eq!(start_all(&mut queue), [1]);
    }

    #[test]
    fn younger_requests_find_those_that_wait_for_their_line_or_set() {
        let queue = queue(&[7]);
        assert!(queue.holds_line(100) && queue.holds_set(7));
        assert!(!queue.holds_line(101) && !queue.holds_set(8));
    }
}
