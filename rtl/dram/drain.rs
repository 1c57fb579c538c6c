//! # Write drain
//! Decides whether reads or writes are served while both wait. SMs wait only for reads, and each turnaround
//! of the data bus costs idle cycles, so it can pay to serve writes in groups. The controller serves reads
//! until `high` writes wait, and then writes until at most `low` writes wait. It also serves writes if no
//! read has waited for `idle` cycles, so that the last writes do not wait forever.
//!
//! A request of the selected kind (read or write) may have to wait for an older request of the other kind to
//! the same burst. The older request is then served, too. Without this exception, a full queue could
//! deadlock: a read may wait for a write that itself waits for an older read of the same burst. With the
//! exception, at least one request can always be served.
//!
//! Part of `rtl/dram/channel.rs`.
//! Bench: its own tests, `tb/dram/directed.rs` and `tb/dram/policies.rs`.

use serde::{Deserialize, Serialize};

use super::config::{DramConfig, WriteDrain};
use super::queue::Queue;
use crate::kernel::{Describe, FieldsExt, Logic};

/// Waiting requests that the write drain currently allows to be served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServableSlots {
    /// Bit mask of the queue slots whose requests can be served.
    pub slots: u64,
    /// Cycle from which some requests can be served; used only if `slots` is empty.
    pub from: u64,
}

impl ServableSlots {
    /// All requests can be served: the write drain imposes no restriction.
    pub const ALL: Self = Self { slots: u64::MAX, from: u64::MAX };
}

/// Thresholds of the write drain. Serving of writes starts when `high` writes wait, or after `idle` cycles
/// without a waiting read. It ends when at most `low` writes wait.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Marks {
    high: u32,
    low: u32,
    idle: u64,
}

/// State of the write drain, which selects whether reads or writes are served.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Drain {
    /// Thresholds of the write drain; `None` if reads and writes are scheduled alike.
    marks: Option<Marks>,
    /// True while writes are served; it becomes false when at most `low` writes wait.
    draining: bool,
    /// First cycle of the current period without a waiting read; `u64::MAX` while a read waits.
    quiet_since: u64,
}

impl Drain {
    /// Creates the write drain for an empty request queue.
    #[must_use]
    pub fn new(config: &DramConfig) -> Self {
        let marks = match config.write_drain {
            WriteDrain::None => None,
            WriteDrain::Watermarks { high, low, idle } => Some(Marks { high, low, idle: u64::from(idle) }),
        };
        Self { marks, draining: false, quiet_since: 0 }
    }

    /// True if the write drain is enabled; false if reads and writes are scheduled alike.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.marks.is_some()
    }

    /// Returns the requests that can be served from `cycle` on, provided that the queue does not change.
    #[must_use]
    pub fn turn(&self, cycle: u64, queue: &Queue) -> ServableSlots {
        let Some(Marks { idle, .. }) = self.marks else { return ServableSlots::ALL };
        let reads = queue.occupied_slots() & !queue.writes();
        let first = if self.draining {
            queue.writes()
        } else if reads != 0 {
            reads
        } else if cycle >= self.quiet_since + idle {
            queue.writes()
        } else {
            let from = if queue.writes() == 0 { u64::MAX } else { self.quiet_since + idle };
            return ServableSlots { slots: 0, from };
        };
        ServableSlots { slots: first | queue.blockers_of(first), from: u64::MAX }
    }

    /// Updates the state from the number of reads and writes in the queue at `cycle`.
    pub fn update(&mut self, cycle: u64, queue: &Queue) {
        let Some(Marks { high, low, .. }) = self.marks else { return };
        let writes = queue.writes().count_ones();
        self.draining = if self.draining { writes > low } else { writes >= high };
        self.quiet_since =
            if queue.occupied_slots() & !queue.writes() == 0 { self.quiet_since.min(cycle) } else { u64::MAX };
    }

    /// Lists the registers and logic of the write drain for waveforms, digests and area estimates.
    pub fn describe(&self, to: &mut dyn Describe) {
        let Self { marks, draining, quiet_since } = self;
        if let Some(Marks { high, .. }) = marks {
            to.flag("draining", *draining);
            to.bits("quiet_since", *quiet_since);
            to.logic("level", Logic::Less { width: u32::BITS - high.leading_zeros(), count: 2 });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::config::reference;
    use super::super::message::DramRequest;
    use super::*;
    use crate::kernel::{Edge, Wake};

    fn drain(high: u32, low: u32, idle: u32) -> Drain {
        Drain::new(&DramConfig { write_drain: WriteDrain::Watermarks { high, low, idle }, ..reference() })
    }

    /// Creates a queue that holds the given requests. Each request is a pair: true for a write or false for a
    /// read, and the burst address.
    fn queue_with(requests: &[(bool, u64)]) -> Queue {
        let (mut queue, mut wake) = (Queue::new(&reference(), "dram0", 1), Wake::new(&[1]));
        for (cycle, &(write, burst)) in (0..).zip(requests) {
            let request = DramRequest { write, burst, ..DramRequest::default() };
            queue.accept(&Edge::new(cycle, cycle, &mut wake), &request, |_| None);
        }
        queue
    }

    #[test]
    fn without_a_policy_all_requests_are_in_turn() {
        assert_eq!(Drain::new(&reference()).turn(5, &queue_with(&[(true, 1), (false, 2)])), ServableSlots::ALL);
    }

    #[test]
    fn reads_go_until_writes_reach_the_high_mark_and_writes_until_they_are_down_to_the_low_one() {
        let mut drain = drain(3, 1, 0);
        let mut queue = queue_with(&[(true, 1), (false, 2), (true, 3)]);
        drain.update(3, &queue);
        assert_eq!(drain.turn(3, &queue).slots, 0b010);
        let mut wake = Wake::new(&[1]);
        let third = DramRequest { write: true, burst: 4, ..DramRequest::default() };
        queue.accept(&Edge::new(4, 4, &mut wake), &third, |_| None);
        drain.update(5, &queue);
        assert_eq!(drain.turn(5, &queue).slots, 0b1101);
        queue.release(9, 0);
        drain.update(6, &queue);
        assert_eq!(drain.turn(6, &queue).slots, 0b1100);
        queue.release(9, 2);
        drain.update(7, &queue);
        assert_eq!(drain.turn(7, &queue).slots, 0b0010);
    }

    #[test]
    fn writes_go_when_no_read_has_waited_for_the_idle_time() {
        let mut drain = drain(8, 2, 20);
        let mut queue = queue_with(&[(false, 1), (true, 2)]);
        drain.update(2, &queue);
        queue.release(9, 0);
        drain.update(10, &queue);
        assert_eq!(drain.turn(29, &queue), ServableSlots { slots: 0, from: 30 });
        assert_eq!(drain.turn(30, &queue).slots, 0b10);
    }

    #[test]
    fn a_write_that_a_read_of_its_burst_waits_for_is_in_turn_with_it() {
        let mut drain = drain(8, 2, 0);
        let queue = queue_with(&[(true, 7), (true, 9), (false, 7)]);
        drain.update(3, &queue);
        assert_eq!(drain.turn(3, &queue).slots, 0b101);
    }
}
